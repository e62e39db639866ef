#include "coroutine.h"

#include "known_stack.h"

#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

struct feedstore_coroutine {
  void *stack;
  size_t bytes;
  void (*body)(void *);
  void *argument;
  // Contexts begin a function on its stack; later switches need no call of the system, which `swapcontext` makes.
  jmp_buf own;
  jmp_buf caller;
  bool has_begun;
  bool has_ended;
  struct known_stack own_stack;
  struct known_stack caller_stack;
};

/// Whether the thread is in a coroutine.
static _Thread_local bool is_inside;

static void run(unsigned int high, unsigned int low) {
  feedstore_coroutine *coroutine = (feedstore_coroutine *)(((uintptr_t)high << 32) | (uintptr_t)low);
  known_stack_arrive(&coroutine->own_stack, &coroutine->caller_stack);
  coroutine->body(coroutine->argument);
  coroutine->has_ended = true;
  known_stack_leave(NULL, &coroutine->caller_stack);
  _longjmp(coroutine->caller, 1);
}

feedstore_coroutine *feedstore_coroutine_new(size_t stack_bytes) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  size_t bytes = (stack_bytes + page - 1) / page * page + page;
  feedstore_coroutine *coroutine = calloc(1, sizeof *coroutine);
  if (coroutine == NULL) return NULL;
  coroutine->stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (coroutine->stack == MAP_FAILED) {
    free(coroutine);
    return NULL;
  }
  // An overflow of the stack must crash.
  mprotect(coroutine->stack, page, PROT_NONE);
  coroutine->bytes = bytes;
  coroutine->has_ended = true;
  known_stack_add(&coroutine->own_stack, (char *)coroutine->stack + page, bytes - page);
  return coroutine;
}

void feedstore_coroutine_prepare(feedstore_coroutine *coroutine, void (*body)(void *), void *argument) {
  coroutine->body = body;
  coroutine->argument = argument;
  coroutine->has_begun = false;
  coroutine->has_ended = false;
}

void feedstore_coroutine_resume(feedstore_coroutine *coroutine) {
  known_stack_remember(&coroutine->caller_stack);
  if (_setjmp(coroutine->caller) != 0) {
    is_inside = false;
    known_stack_arrive(&coroutine->caller_stack, &coroutine->own_stack);
    if (coroutine->has_ended) known_stack_end(&coroutine->own_stack);
    return;
  }
  is_inside = true;
  if (coroutine->has_begun) {
    known_stack_leave(&coroutine->caller_stack, &coroutine->own_stack);
    _longjmp(coroutine->own, 1);
  }
  coroutine->has_begun = true;
  known_stack_begin(&coroutine->own_stack);
  ucontext_t context;
  getcontext(&context);
  context.uc_stack.ss_sp = coroutine->stack;
  context.uc_stack.ss_size = coroutine->bytes;
  context.uc_link = NULL;
  uintptr_t pointer = (uintptr_t)coroutine;
  makecontext(&context, (void (*)(void))run, 2, (unsigned int)(pointer >> 32), (unsigned int)pointer);
  known_stack_leave(&coroutine->caller_stack, &coroutine->own_stack);
  setcontext(&context);
}

void feedstore_coroutine_suspend(feedstore_coroutine *coroutine) {
  if (_setjmp(coroutine->own) != 0) {
    known_stack_arrive(&coroutine->own_stack, &coroutine->caller_stack);
    return;
  }
  known_stack_leave(&coroutine->own_stack, &coroutine->caller_stack);
  _longjmp(coroutine->caller, 1);
}

bool feedstore_coroutine_has_ended(const feedstore_coroutine *coroutine) { return coroutine->has_ended; }

void feedstore_coroutine_free(feedstore_coroutine *coroutine) {
  known_stack_remove(&coroutine->own_stack);
  munmap(coroutine->stack, coroutine->bytes);
  free(coroutine);
}

// Swift's executors are two words; the hook is called instead of the function that ends the process, and given that.
typedef __attribute__((swiftcall)) void (*check_isolated)(void *identity, uintptr_t implementation);
extern __attribute__((swiftcall)) void (*swift_task_checkIsolated_hook)(void *, uintptr_t, check_isolated);

static __attribute__((swiftcall)) void check(void *identity, uintptr_t implementation, check_isolated original) {
  if (!is_inside) original(identity, implementation);
}

void feedstore_coroutine_trust_isolation(void) { swift_task_checkIsolated_hook = check; }
