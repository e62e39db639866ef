#ifndef FEEDSTORE_CXXHASH_SHIM_H
#define FEEDSTORE_CXXHASH_SHIM_H

// Header-only use: the functions are compiled into their callers, so that hashing a
// short identifier costs no call.
#define XXH_INLINE_ALL
#include <xxhash.h>

static inline uint32_t feedstore_xxh32(const void *bytes, size_t count) {
  return XXH32(bytes, count, 0);
}

static inline uint64_t feedstore_xxh64(const void *bytes, size_t count, uint64_t seed) {
  return XXH64(bytes, count, seed);
}

static inline uint64_t feedstore_xxh3(const void *bytes, size_t count) {
  return XXH3_64bits(bytes, count);
}

#endif
