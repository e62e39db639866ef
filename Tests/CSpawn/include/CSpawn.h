// Extensions of glibc to posix_spawn. They need _GNU_SOURCE, which Swift does not define when it imports C.
#pragma once
#include <spawn.h>

/// Has the child close its files from this descriptor on.
int feedstore_spawn_close_from(posix_spawn_file_actions_t *actions, int descriptor);
/// Has the child run in a folder.
int feedstore_spawn_in(posix_spawn_file_actions_t *actions, const char *folder);
