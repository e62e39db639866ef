#ifndef FEEDSTORE_COROUTINE_H
#define FEEDSTORE_COROUTINE_H

#include <stdbool.h>
#include <stddef.h>

/// A function that runs on a stack of its own and can be left in its middle, to be gone on with later: all on one thread.
typedef struct feedstore_coroutine feedstore_coroutine;

/// Makes one that has not begun yet; NULL if there is no memory for its stack.
feedstore_coroutine *feedstore_coroutine_new(size_t stack_bytes);

/// Gives it something to do, from the beginning: it must not have begun, or have ended.
void feedstore_coroutine_prepare(feedstore_coroutine *coroutine, void (*body)(void *), void *argument);

/// Continues it until it suspends itself or ends. Not from within the same one.
void feedstore_coroutine_resume(feedstore_coroutine *coroutine);

/// Leaves it, from within.
void feedstore_coroutine_suspend(feedstore_coroutine *coroutine);

/// Whether its function has returned.
bool feedstore_coroutine_has_ended(const feedstore_coroutine *coroutine);

/// Frees its stack. The objects of functions that have not returned are never released.
void feedstore_coroutine_free(feedstore_coroutine *coroutine);

/// Has Swift believe from now on that a coroutine runs on every actor's executor: whoever resumes it sees to it that an actor is
/// used by one of them only. Elsewhere Swift checks as before.
void feedstore_coroutine_trust_isolation(void);

#endif
