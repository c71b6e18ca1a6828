/* Calls into libraries whose faults are not to end the process. */
#ifndef RT_GUARD_H
#define RT_GUARD_H

/* Calls f(context). Returns 0 when it came back, else the signal by which it ended: SIGSEGV, SIGBUS, SIGFPE or SIGILL
 * for a fault of this thread, a full stack among them, SIGABRT for abort(). What f held by then, locks and memory, is
 * held for ever. Other threads' faults end the process as ever. Calls may not be nested. */
int rt_guarded(void (*f)(void *context), void *context);

#endif
