/* Faults: calls into libraries that are not to end the process by them, and threads that no other signal reaches. */
#ifndef RT_GUARD_H
#define RT_GUARD_H

#include <signal.h>

/* Calls f(context). Returns 0 when it came back, else the signal by which it ended: SIGSEGV, SIGBUS, SIGFPE or SIGILL
 * for a fault of this thread, a full stack among them, SIGABRT for abort(). What f held by then, locks and memory, is
 * held for ever. Other threads' faults end the process as ever. Calls may not be nested. */
int rt_guarded(void (*f)(void *context), void *context);

/* Blocks the thread's signals, and those of the threads that it starts until it sets *before again: they are for
 * others. Its own faults are for nobody else; the system ends a process in which they are blocked, whoever would handle
 * them.
 */
void rt_hold_signals(sigset_t *before);

#endif
