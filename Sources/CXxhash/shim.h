#ifndef FEEDSTORE_CXXHASH_SHIM_H
#define FEEDSTORE_CXXHASH_SHIM_H

// Header-only: the functions are inlined, so that hashing a short identifier costs no call.
#define XXH_INLINE_ALL
#include <string.h>
#include <xxhash.h>

static inline uint32_t feedstore_xxh32(const void *bytes, size_t count) {
  return XXH32(bytes, count, 0);
}

// Appends one field of a checksum term: a zero byte, and the field's bytes.
static inline unsigned char *feedstore_add_field(unsigned char *end, const void *bytes, size_t count) {
  *end = 0;
  memcpy(end + 1, bytes, count);
  return end + 1 + count;
}

// XXH32 with seed 0 over a letter and two fields of at most 255 bytes.
static inline uint32_t feedstore_xxh32_section(const void *previous, size_t previous_count, const void *id,
                                               size_t id_count) {
  unsigned char buffer[1 + 2 * 256];
  unsigned char *end = buffer;
  *end++ = 's';
  end = feedstore_add_field(end, previous, previous_count);
  end = feedstore_add_field(end, id, id_count);
  return XXH32(buffer, (size_t)(end - buffer), 0);
}

// XXH32 with seed 0 over a letter and four fields of at most 255 bytes.
static inline uint32_t feedstore_xxh32_item(const void *section, size_t section_count, const void *previous,
                                            size_t previous_count, const void *id, size_t id_count,
                                            const void *kind, size_t kind_count) {
  unsigned char buffer[1 + 4 * 256];
  unsigned char *end = buffer;
  *end++ = 'i';
  end = feedstore_add_field(end, section, section_count);
  end = feedstore_add_field(end, previous, previous_count);
  end = feedstore_add_field(end, id, id_count);
  end = feedstore_add_field(end, kind, kind_count);
  return XXH32(buffer, (size_t)(end - buffer), 0);
}

static inline uint64_t feedstore_xxh64(const void *bytes, size_t count, uint64_t seed) {
  return XXH64(bytes, count, seed);
}

static inline uint64_t feedstore_xxh3(const void *bytes, size_t count) {
  return XXH3_64bits(bytes, count);
}

// Prefetches the cache line at an address, which need not be valid.
static inline void feedstore_prefetch(const void *address) { __builtin_prefetch(address); }

// Prefetches memory that will be overwritten soon. Of a large block, only the first lines; the hardware prefetcher
// continues.
static inline void feedstore_prefetch_for_writing(void *address, size_t count) {
  for (size_t at = 0; at < count && at < 256; at += 64) __builtin_prefetch((char *)address + at, 1);
}

// Prefetches a text; of a long one only the first lines, because the hardware prefetcher continues.
static inline void feedstore_prefetch_text(const unsigned char *text, size_t count) {
  for (size_t at = 0; at < count && at < 256; at += 64) __builtin_prefetch(text + at);
}

// Finds the text after `"item":"` within the first bytes of a JSON text, and its length up to the next quote; -1 if
// there is none.
static inline ptrdiff_t feedstore_item_text(const unsigned char *bytes, size_t count, size_t *length) {
  size_t end = count < 256 ? count : 256;
  uint64_t mark, word;
  memcpy(&mark, "\"item\":\"", 8);
  for (size_t at = 0; at + 8 < end; at++) {
    memcpy(&word, bytes + at, 8);
    if (word != mark) continue;
    const unsigned char *text = bytes + at + 8;
    const unsigned char *quote = (const unsigned char *)memchr(text, '"', end - at - 8);
    if (!quote) return -1;
    *length = (size_t)(quote - text);
    return (ptrdiff_t)(at + 8);
  }
  return -1;
}

#endif
