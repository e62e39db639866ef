#pragma once

#include <stdint.h>

/// Calls the body. callgrind collects instructions in this function only, and `counted_allocations` counts only here.
void counted_part(void (*body)(void *context), void *context);

/// Calls of the allocator for new memory within `counted_part`, by its thread: malloc, calloc, realloc and those with an alignment.
uint64_t counted_allocations(void);

/// Calls of the allocator so far, and of Swift's source of random numbers; both are 0 if this library is not in their way.
uint64_t all_allocations(void);
uint64_t all_random_numbers(void);
