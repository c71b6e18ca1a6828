/* One process-wide wish to stop. A signal handler or another thread calls rt_interrupt; whatever can run long (software
 * GPU, waits for a real one, array loops, Lua's hook) polls rt_interrupted, stops, and reports RT_INTERRUPTED. The
 * session clears it once, when it has come back. Async-signal-safe. */
#ifndef RT_INTERRUPT_H
#define RT_INTERRUPT_H

#include <stdatomic.h>
#include <stdbool.h>
#include "runtime/status.h"

extern atomic_bool rt_interrupt_flag;

static inline void rt_interrupt(void)
{
    atomic_store_explicit(&rt_interrupt_flag, true, memory_order_relaxed);
}
static inline bool rt_interrupted(void)
{
    return atomic_load_explicit(&rt_interrupt_flag, memory_order_relaxed);
}
/* What work says at its end: RT_INTERRUPTED, which fills the error, or RT_OK. */
static inline enum rt_status rt_stopped(struct rt_error *e)
{
    return rt_interrupted() ? rt_fail(e, RT_INTERRUPTED, "interrupted") : RT_OK;
}
static inline void rt_interrupt_clear(void)
{
    atomic_store_explicit(&rt_interrupt_flag, false, memory_order_relaxed);
}

#endif
