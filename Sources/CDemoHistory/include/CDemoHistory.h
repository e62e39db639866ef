#ifndef FEEDSTORE_DEMO_HISTORY_H
#define FEEDSTORE_DEMO_HISTORY_H

#include <stddef.h>

/// The history that `feedstore demo` plays: examples/history.ndjson at the time of the build.
///
/// - Parameter size: receives its size in bytes.
const unsigned char *_Nonnull feedstore_demo_history(size_t *_Nonnull size);

#endif
