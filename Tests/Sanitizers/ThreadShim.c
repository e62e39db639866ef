// For the thread sanitizer: shows it what it cannot see by itself. Preloaded, so that neither librdkafka nor Swift's
// libraries are rebuilt.
//
// - librdkafka uses glibc's C11 threads, of which the sanitizer intercepts nothing. Here they are pthreads, which it does.
// - Swift's Mutex waits in the kernel (FUTEX_LOCK_PI), which then gives it the lock. The sanitizer sees the atomic
//   operations of the fast path, as they are compiled into the caller, but not that.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <threads.h>

_Static_assert(sizeof(mtx_t) >= sizeof(pthread_mutex_t), "a mtx_t has no room for a pthread_mutex_t");
_Static_assert(sizeof(cnd_t) >= sizeof(pthread_cond_t), "a cnd_t has no room for a pthread_cond_t");
_Static_assert(sizeof(once_flag) >= sizeof(pthread_once_t), "a once_flag has no room for a pthread_once_t");

// MARK: C11 threads

static int result(int error) {
  switch (error) {
  case 0: return thrd_success;
  case EBUSY: return thrd_busy;
  case ETIMEDOUT: return thrd_timedout;
  case ENOMEM: return thrd_nomem;
  default: return thrd_error;
  }
}

struct start {
  thrd_start_t function;
  void *argument;
};

static void *run(void *pointer) {
  struct start start = *(struct start *)pointer;
  free(pointer);
  return (void *)(intptr_t)start.function(start.argument);
}

int thrd_create(thrd_t *thread, thrd_start_t function, void *argument) {
  struct start *start = malloc(sizeof *start);
  if (!start) return thrd_nomem;
  *start = (struct start){function, argument};
  int error = pthread_create(thread, NULL, run, start);
  if (error) free(start);
  return result(error);
}

int thrd_join(thrd_t thread, int *code) {
  void *value = NULL;
  int error = pthread_join(thread, &value);
  if (code) *code = (int)(intptr_t)value;
  return result(error);
}

int thrd_detach(thrd_t thread) { return result(pthread_detach(thread)); }

int mtx_init(mtx_t *mutex, int type) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  if (type & mtx_recursive) pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  int error = pthread_mutex_init((pthread_mutex_t *)mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
  return result(error);
}

void mtx_destroy(mtx_t *mutex) { pthread_mutex_destroy((pthread_mutex_t *)mutex); }
int mtx_lock(mtx_t *mutex) { return result(pthread_mutex_lock((pthread_mutex_t *)mutex)); }
int mtx_trylock(mtx_t *mutex) { return result(pthread_mutex_trylock((pthread_mutex_t *)mutex)); }
int mtx_unlock(mtx_t *mutex) { return result(pthread_mutex_unlock((pthread_mutex_t *)mutex)); }

int cnd_init(cnd_t *condition) { return result(pthread_cond_init((pthread_cond_t *)condition, NULL)); }
void cnd_destroy(cnd_t *condition) { pthread_cond_destroy((pthread_cond_t *)condition); }
int cnd_signal(cnd_t *condition) { return result(pthread_cond_signal((pthread_cond_t *)condition)); }
int cnd_broadcast(cnd_t *condition) { return result(pthread_cond_broadcast((pthread_cond_t *)condition)); }

int cnd_wait(cnd_t *condition, mtx_t *mutex) {
  return result(pthread_cond_wait((pthread_cond_t *)condition, (pthread_mutex_t *)mutex));
}

int cnd_timedwait(cnd_t *condition, mtx_t *mutex, const struct timespec *time) {
  return result(pthread_cond_timedwait((pthread_cond_t *)condition, (pthread_mutex_t *)mutex, time));
}

void call_once(once_flag *flag, void (*function)(void)) { pthread_once((pthread_once_t *)flag, function); }

// MARK: Swift's Mutex

// The sanitizer's; absent in programs without it, into which this is preloaded as well.
__attribute__((weak)) void __tsan_acquire(void *address);
__attribute__((weak)) void __tsan_release(void *address);

#define HANDLE "$s15Synchronization12_MutexHandleV"
#define LOCK_SLOW HANDLE "9_lockSlowyys6UInt32VF"
#define UNLOCK_SLOW HANDLE "11_unlockSlowyyF"
#define TRY_LOCK_SLOW HANDLE "12_tryLockSlowSbyF"

#define SELF __attribute__((swift_context)) void *handle
#define SWIFT __attribute__((swiftcall))

typedef SWIFT void (*lock_function)(uint32_t thread, SELF);
typedef SWIFT void (*unlock_function)(SELF);
typedef SWIFT bool (*try_function)(SELF);

SWIFT void lock_slow(uint32_t thread, SELF) __asm__(LOCK_SLOW);
SWIFT void unlock_slow(SELF) __asm__(UNLOCK_SLOW);
SWIFT bool try_lock_slow(SELF) __asm__(TRY_LOCK_SLOW);

static void *next(const char *name) {
  void *function = dlsym(RTLD_NEXT, name);
  if (!function) abort();
  return function;
}

SWIFT void lock_slow(uint32_t thread, SELF) {
  ((lock_function)next(LOCK_SLOW))(thread, handle);
  if (__tsan_acquire) __tsan_acquire(handle);
}

SWIFT void unlock_slow(SELF) {
  if (__tsan_release) __tsan_release(handle);
  ((unlock_function)next(UNLOCK_SLOW))(handle);
}

SWIFT bool try_lock_slow(SELF) {
  bool is_locked = ((try_function)next(TRY_LOCK_SLOW))(handle);
  if (is_locked && __tsan_acquire) __tsan_acquire(handle);
  return is_locked;
}
