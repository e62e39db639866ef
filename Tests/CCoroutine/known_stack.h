#ifndef FEEDSTORE_KNOWN_STACK_H
#define FEEDSTORE_KNOWN_STACK_H

// Reports switches between stacks to the sanitizers. Other builds contain none of it.

#include <stddef.h>

#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#if __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#elif __has_feature(thread_sanitizer)
#include <sanitizer/tsan_interface.h>
#endif

/// A stack that is switched from and to. The address sanitizer knows it by its memory, the thread sanitizer by a fiber.
struct known_stack {
  const void *bottom;
  size_t bytes;
  void *fake_frames;
  void *fiber;
};

// A switch ends in another function than it begins in, and the thread sanitizer counts returns.
#define FEEDSTORE_SWITCH static inline __attribute__((always_inline))

/// Says that memory becomes a stack, which may hold the only reference to an allocation.
FEEDSTORE_SWITCH void known_stack_add(struct known_stack *stack, void *bottom, size_t bytes) {
  stack->bottom = bottom;
  stack->bytes = bytes;
#if __has_feature(address_sanitizer)
  __lsan_register_root_region(bottom, bytes);
#endif
}

/// Says that the memory is about to be freed, and the fiber, if the stack was left for good.
FEEDSTORE_SWITCH void known_stack_remove(struct known_stack *stack) {
#if __has_feature(address_sanitizer)
  __lsan_unregister_root_region(stack->bottom, stack->bytes);
  __asan_unpoison_memory_region(stack->bottom, stack->bytes);
#elif __has_feature(thread_sanitizer)
  if (stack->fiber != NULL) __tsan_destroy_fiber(stack->fiber);
#endif
  stack->fiber = NULL;
}

/// Says that a function begins on the stack, which has no frames yet.
FEEDSTORE_SWITCH void known_stack_begin(struct known_stack *stack) {
  stack->fake_frames = NULL;
#if __has_feature(address_sanitizer)
  __asan_unpoison_memory_region(stack->bottom, stack->bytes);
#elif __has_feature(thread_sanitizer)
  stack->fiber = __tsan_create_fiber(0);
#endif
}

/// Says that the function on the stack has ended. Not to be called on that stack.
FEEDSTORE_SWITCH void known_stack_end(struct known_stack *stack) {
#if __has_feature(thread_sanitizer)
  __tsan_destroy_fiber(stack->fiber);
#endif
  stack->fiber = NULL;
}

/// Finds out which fiber runs, so that it can be switched to later.
FEEDSTORE_SWITCH void known_stack_remember(struct known_stack *current) {
#if __has_feature(thread_sanitizer)
  current->fiber = __tsan_get_current_fiber();
#else
  (void)current;
#endif
}

/// Comes right before a switch. `from` is NULL if nothing will come back to it.
FEEDSTORE_SWITCH void known_stack_leave(struct known_stack *from, const struct known_stack *to) {
#if __has_feature(address_sanitizer)
  __sanitizer_start_switch_fiber(from == NULL ? NULL : &from->fake_frames, to->bottom, to->bytes);
#elif __has_feature(thread_sanitizer)
  (void)from;
  __tsan_switch_to_fiber(to->fiber, 0);
#else
  (void)from;
  (void)to;
#endif
}

/// Comes right after a switch to `to`, and finds out where the stack is that was left.
FEEDSTORE_SWITCH void known_stack_arrive(struct known_stack *to, struct known_stack *from) {
#if __has_feature(address_sanitizer)
  __sanitizer_finish_switch_fiber(to->fake_frames, &from->bottom, &from->bytes);
#else
  (void)to;
  (void)from;
#endif
}

#endif
