#ifndef FEEDSTORE_CMALLOC_SHIM_H
#define FEEDSTORE_CMALLOC_SHIM_H

// What Swift's module of glibc leaves out. Other C libraries have allocators without such settings.

#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

// Has blocks of less than so many bytes come out of the heaps, and up to so many bytes that are free at a heap's end stay.
static inline void feedstore_malloc_keep(int block_bytes, int free_bytes) {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, block_bytes);
  mallopt(M_TRIM_THRESHOLD, free_bytes);
#endif
}

// Gives what is free back to the system.
static inline void feedstore_malloc_trim(void) {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

#endif
