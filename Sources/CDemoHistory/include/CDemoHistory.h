#ifndef FEEDSTORE_DEMO_HISTORY_H
#define FEEDSTORE_DEMO_HISTORY_H

#include <stddef.h>

/// What `feedstore demo` plays: examples/history.ndjson as of the build.
///
/// - Parameter size: receives its size in bytes.
const unsigned char *_Nonnull feedstore_demo_history(size_t *_Nonnull size);

#endif
