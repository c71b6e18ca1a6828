/* Writing past the cache: what is so large that it would only push other things out of the cache is written to memory
 * line by line, which spares reading each line before it is overwritten. The lines are written by kn_loops.past; who
 * has called that fences before others are told that they are there. */
#ifndef KN_PAST_H
#define KN_PAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#if defined __SSE2__
#include <immintrin.h>
#endif

#define KN_LINE 64                 /* bytes of a cache line */
#define KN_PAST ((size_t)16 << 20) /* bytes from which results are so large */

/* Memory that is read soon: `step` bytes of it for each line that is written, so that it comes meanwhile. */
struct kn_ahead {
    const char *at;
    size_t step;
};

/* Whether a result of so many bytes goes past the cache, to an address where a line begins. */
static inline bool kn_goes_past(const void *to, size_t bytes)
{
    return bytes >= KN_PAST && (uintptr_t)to % KN_LINE == 0;
}

static inline void kn_past_fence(void)
{
#if defined __SSE2__
    _mm_sfence();
#endif
}

#endif
