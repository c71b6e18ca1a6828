/* Host threads: one pool for the process, started at first use, never at start-up. The array loops and the software GPU
 * share it, so they never compete. */
#ifndef RT_THREADS_H
#define RT_THREADS_H

#include <stddef.h>

/* How many threads parallel work uses: the CPUs this process may run on (affinity and cgroup quota counted), or
 * LUNARRAY_THREADS, from 1 to 256. The calling thread is one of them. */
int rt_thread_count(void);

/* Calls body(context, begin, end, worker) for pieces that cover [0, n) exactly once, each of `grain` items but the
 * last. Pieces are taken from one atomic counter by all threads, the caller's included; it returns when all are done.
 * `worker` is below rt_thread_count() and names a thread for the time of the call, so it may index scratch memory.
 * Runs on the caller alone when n <= grain, when one thread is configured, or when called from inside another
 * rt_parallel_for (nesting is serial). Cannot fail: if threads cannot be started the caller does all the work. */
void rt_parallel_for(size_t n, size_t grain, void (*body)(void *context, size_t begin, size_t end, int worker),
                     void *context);

/* Between two looks at what another thread is about to change. */
static inline void rt_pause_cpu(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* memmove, by all threads when it is long and the two do not overlap. */
void rt_parallel_copy(void *to, const void *from, size_t bytes);

#endif
