// Replaces the C library's allocator and Swift's random numbers in a program that links it: a program's own functions
// take precedence over those of shared libraries.

#include "CCounting.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

// glibc's allocator under its other names.
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static _Thread_local int is_counting;
static _Thread_local uint64_t counted;
static _Thread_local uint64_t allocations;
static uint64_t random_numbers;

static void note_allocation(void) {
  allocations++;
  counted += is_counting;
}

void *malloc(size_t size) {
  note_allocation();
  return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
  note_allocation();
  return __libc_calloc(count, size);
}

void *realloc(void *block, size_t size) {
  note_allocation();
  return __libc_realloc(block, size);
}

void *memalign(size_t alignment, size_t size) {
  note_allocation();
  return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **result, size_t alignment, size_t size) {
  if (alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0) return EINVAL;
  void *block = memalign(alignment, size);
  if (block == NULL) return ENOMEM;
  *result = block;
  return 0;
}

// Always the same numbers, so that hash tables are the same in every run: SplitMix64.
void swift_stdlib_random(void *buffer, size_t size) {
  static uint64_t state = 1;
  random_numbers++;
  for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
    state += 0x9E3779B97F4A7C15u;
    uint64_t value = state;
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
    value ^= value >> 31;
    size_t left = size - at;
    memcpy((char *)buffer + at, &value, left < sizeof value ? left : sizeof value);
  }
}

// callgrind refers to it by name, so it must remain a function.
__attribute__((noinline)) void counted_part(void (*body)(void *context), void *context) {
  is_counting = 1;
  body(context);
  is_counting = 0;
}

uint64_t counted_allocations(void) { return counted; }
uint64_t all_allocations(void) { return allocations; }
uint64_t all_random_numbers(void) { return random_numbers; }
