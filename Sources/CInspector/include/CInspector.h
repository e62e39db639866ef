#ifndef FEEDSTORE_INSPECTOR_H
#define FEEDSTORE_INSPECTOR_H

#include <stddef.h>

/// The inspector's files at the time of the build, index.html first.
///
/// - Parameters:
///   - index: from 0.
///   - content: is set to the file's content, which is valid as long as the process lives.
///   - size: is set to the content's size in bytes.
/// - Returns: the file's path; a null pointer after the last one.
const char *_Nullable feedstore_inspector_file(size_t index, const unsigned char *_Nullable *_Nonnull content, size_t *_Nonnull size);

#endif
