#ifndef FEEDSTORE_INSPECTOR_H
#define FEEDSTORE_INSPECTOR_H

#include <stddef.h>

/// A file of web/, as it was when this was compiled.
typedef struct {
  /// Without a path.
  const char *_Nonnull name;
  /// The media type.
  const char *_Nonnull type;
  const unsigned char *_Nonnull bytes;
  /// Bytes.
  size_t size;
} feedstore_inspector_file_t;

/// The files that the inspector needs, index.html first.
///
/// - Parameter index: from 0 on.
/// - Returns: a file that lives as long as the process; a null pointer after the last.
const feedstore_inspector_file_t *_Nullable feedstore_inspector_file(size_t index);

#endif
