#ifndef FEEDSTORE_INSPECTOR_H
#define FEEDSTORE_INSPECTOR_H

#include <stddef.h>

/// A file of the inspector, as of the build.
typedef struct {
  /// The file's name, without a path.
  const char *_Nonnull name;
  /// The media type.
  const char *_Nonnull type;
  const unsigned char *_Nonnull bytes;
  /// The size in bytes.
  size_t size;
} feedstore_inspector_file_t;

/// The files that the inspector needs, index.html first.
///
/// - Parameter index: from 0.
/// - Returns: a file that is valid as long as the process lives; a null pointer after the last one.
const feedstore_inspector_file_t *_Nullable feedstore_inspector_file(size_t index);

#endif
