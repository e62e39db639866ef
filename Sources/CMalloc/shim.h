#ifndef FEEDSTORE_CMALLOC_SHIM_H
#define FEEDSTORE_CMALLOC_SHIM_H

// Functions that Swift's glibc module lacks. Other C libraries have allocators without such settings.

#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#include <sys/timex.h>
#endif

// Allocates blocks below `block_bytes` from the heap, and keeps up to `free_bytes` of free memory at the heap's top.
static inline void feedstore_malloc_keep(int block_bytes, int free_bytes) {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, block_bytes);
  mallopt(M_TRIM_THRESHOLD, free_bytes);
#endif
}

// Extends the heap of this thread by about `bytes`, unless it has as much at its end.
static inline void feedstore_malloc_extend(size_t bytes) {
#ifdef __GLIBC__
  // Volatile, so that the compiler does not remove both calls.
  void *volatile block = malloc(bytes);
  free(block);
#endif
}

// Returns free memory to the system.
static inline void feedstore_malloc_trim(void) {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

// Whether the kernel knows of a program that synchronizes the clock.
static inline int feedstore_clock_is_synchronized(void) {
#ifdef __GLIBC__
  struct timex clock = {0};
  return adjtimex(&clock) != TIME_ERROR;
#else
  return 1;
#endif
}

#endif
