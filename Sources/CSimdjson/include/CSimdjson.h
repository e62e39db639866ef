#ifndef FEEDSTORE_CSIMDJSON_H
#define FEEDSTORE_CSIMDJSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The result of indexing a text.
typedef enum {
  feedstore_json_ok = 0,
  /// Nothing but white space.
  feedstore_json_empty = 1,
  /// Not UTF-8.
  feedstore_json_invalid_utf8 = 2,
  /// An unterminated string, or a control character inside a string.
  feedstore_json_invalid_string = 3,
  /// Longer than simdjson can index (4 GiB), or out of memory.
  feedstore_json_capacity = 4,
} feedstore_json_status;

/// An indexer: simdjson's vectorised first stage with its buffers. Not thread-safe.
typedef struct feedstore_json_indexer feedstore_json_indexer;

/// The name of a kernel that this processor supports, from the fastest at 0; NULL after the last one.
const char *feedstore_json_kernel(size_t number);

/// Creates an indexer; NULL if there is no memory or no kernel of that name. Without a name it uses the fastest kernel,
/// unless the environment variable SIMDJSON_FORCE_IMPLEMENTATION names another.
feedstore_json_indexer *feedstore_json_indexer_create(const char *kernel);
void feedstore_json_indexer_destroy(feedstore_json_indexer *indexer);

/// Checks that the text is UTF-8 and that its strings are terminated, and finds the offsets of all brackets, colons,
/// commas, opening quotes and first bytes of numbers and literals. `count` follows the last offset. The index belongs
/// to the indexer and is valid until the next use. No byte at or after `count` is read.
feedstore_json_status feedstore_json_index(
    feedstore_json_indexer *indexer, const uint8_t *bytes, size_t count,
    const uint32_t **offsets, size_t *offset_count);

/// Frees memory after an unusually large text.
void feedstore_json_indexer_trim(feedstore_json_indexer *indexer, size_t keep_capacity);

bool feedstore_json_is_utf8(const uint8_t *bytes, size_t count);

/// The bytes at which a scan of a string must stop: bit n is set if byte n is a quote, a backslash or a control
/// character.
typedef struct {
  uint64_t stops;
  /// Nonzero if any byte is not ASCII.
  uint64_t not_ascii;
} feedstore_json_marks;

/// Scans 16 bytes at any alignment.
static inline feedstore_json_marks feedstore_json_mark16(const uint8_t *bytes) {
  feedstore_json_marks marks;
#ifdef __SSE2__
  typedef unsigned char block __attribute__((__vector_size__(16)));
  typedef char mask __attribute__((__vector_size__(16)));
  block text;
  __builtin_memcpy(&text, bytes, sizeof text);
  const block zero = {0};
  const block stops = (block)(text == zero + (unsigned char)'"') | (block)(text == zero + (unsigned char)'\\') |
      (block)(text < zero + (unsigned char)' ');
  marks.stops = (uint32_t)__builtin_ia32_pmovmskb128((mask)stops);
  marks.not_ascii = (uint32_t)__builtin_ia32_pmovmskb128((mask)text);
#else
  marks.stops = 0;
  marks.not_ascii = 0;
  for (int half = 0; half < 2; half++) {
    uint64_t text;
    __builtin_memcpy(&text, bytes + 8 * half, sizeof text);
    const uint64_t ones = 0x0101010101010101, lows = 0x7F7F7F7F7F7F7F7F;
    // The top bit of each byte of x | ((x & lows) + lows) is clear if and only if that byte of x is zero.
    const uint64_t quote = text ^ ones * '"', backslash = text ^ ones * '\\', control = text & ones * 0xE0;
    const uint64_t others = (quote | ((quote & lows) + lows)) & (backslash | ((backslash & lows) + lows)) &
        (control | ((control & lows) + lows));
    // Collects the top bits, byte 0 first.
    marks.stops |= ((~others & ~lows) >> 7) * 0x0102040810204080 >> 56 << 8 * half;
    marks.not_ascii |= text & ~lows;
  }
#endif
  return marks;
}

/// Scans 64 bytes at any alignment, with instructions that every processor of the architecture has.
static inline feedstore_json_marks feedstore_json_mark64_portably(const uint8_t *bytes) {
#ifdef __SSE2__
  typedef unsigned char block __attribute__((__vector_size__(16)));
  typedef char mask __attribute__((__vector_size__(16)));
  block text[4], all = {0};
  __builtin_memcpy(text, bytes, sizeof text);
  const block zero = {0};
  uint64_t words[4];
  for (int quarter = 0; quarter < 4; quarter++) {
    const block stops = (block)(text[quarter] == zero + (unsigned char)'"') |
        (block)(text[quarter] == zero + (unsigned char)'\\') | (block)(text[quarter] < zero + (unsigned char)' ');
    words[quarter] = (uint32_t)__builtin_ia32_pmovmskb128((mask)stops);
    all |= text[quarter];
  }
  feedstore_json_marks marks;
  marks.stops = words[0] | words[1] << 16 | (words[2] | words[3] << 16) << 32;
  marks.not_ascii = (uint32_t)__builtin_ia32_pmovmskb128((mask)all);
  return marks;
#else
  feedstore_json_marks marks = {0, 0};
  for (int quarter = 0; quarter < 4; quarter++) {
    const feedstore_json_marks part = feedstore_json_mark16(bytes + 16 * quarter);
    marks.stops |= part.stops << 16 * quarter;
    marks.not_ascii |= part.not_ascii;
  }
  return marks;
#endif
}

/// Scans 64 bytes of a text of 16 bytes or more from a place within it, or as many as are left, with AVX2 if the processor has it.
/// No byte past `count` is read.
feedstore_json_marks feedstore_json_mark_at(const uint8_t *bytes, size_t start, size_t count);

#ifdef __cplusplus
}
#endif

#endif
