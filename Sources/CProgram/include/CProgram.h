// Parts of posix_spawn that Swift's module of glibc leaves out.
#pragma once
#include <sys/types.h>

/// Starts a program, which PATH finds, in a process group of its own, with this process's environment and none of its files.
///
/// The arguments end with a null pointer. Sets the ends of pipes from standard output and standard error, which do not block.
/// Returns the process's id, or a negative errno.
pid_t feedstore_start_program(char *const *arguments, int *output, int *errors);
