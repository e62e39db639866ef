#pragma once

#include <stdint.h>

/// Calls the body. callgrind collects instructions only in this function, and `counted_allocations` counts only here.
void counted_part(void (*body)(void *context), void *context);

/// The number of allocations within `counted_part`, on its thread: malloc, calloc, realloc and the aligned variants.
uint64_t counted_allocations(void);

/// The total numbers of allocations, and of calls of Swift's random source; both are 0 if this library is not in use.
uint64_t all_allocations(void);
uint64_t all_random_numbers(void);
