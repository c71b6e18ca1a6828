/* Of equal neighbours among values that are in order the first ones, for unique. Included by loops.c alone. */
#ifndef KN_LOOPS_KEEP_H
#define KN_LOOPS_KEEP_H

#include "kernels/loops.h"

#if defined __AVX512F__
/* A vector moves to the front without a jump; what it writes behind the ones that stay is read by then. */
#define KEEP(BITS, U)                                                                                                  \
    static size_t keep_##BITS(void *values, size_t n, uint64_t rest, uint64_t most)                                    \
    {                                                                                                                  \
        const size_t lanes = 64 / sizeof(U);                                                                           \
        const __m512i rests = ALL_##BITS((int##BITS##_t)rest), mosts = ALL_##BITS((int##BITS##_t)most);                \
        U *v = values;                                                                                                 \
        size_t count = 0;                                                                                              \
        __m512i last = _mm512_setzero_si512();                                                                         \
        for (size_t i = 0; i < n; i += lanes) {                                                                        \
            const __m512i here = _mm512_loadu_si512(v + i);                                                            \
            const __m512i before = _mm512_alignr_epi##BITS(here, last, 64 / sizeof(U) - 1);                            \
            const some_##BITS nans = _mm512_cmpgt_epu##BITS##_mask(_mm512_and_si512(here, rests), mosts) &             \
                                     _mm512_cmpgt_epu##BITS##_mask(_mm512_and_si512(before, rests), mosts);            \
            some_##BITS differ = _mm512_cmpneq_epi##BITS##_mask(here, before) &                                        \
                                 _mm512_test_epi##BITS##_mask(_mm512_or_si512(here, before), rests) &                  \
                                 SOME_##BITS(n - i < lanes ? n - i : lanes) & (some_##BITS) ~nans;                     \
            differ |= i == 0;                                                                                          \
            _mm512_storeu_si512(v + count, _mm512_maskz_compress_epi##BITS(differ, here));                             \
            count += (size_t)__builtin_popcount(differ);                                                               \
            last = here;                                                                                               \
        }                                                                                                              \
        return count;                                                                                                  \
    }
#else
#define COMPARED 256 /* at a time: by vectors, before they move to the front one by one without a jump */
#define KEEP(BITS, U)                                                                                                  \
    static size_t keep_##BITS(void *values, size_t n, uint64_t rest, uint64_t most)                                    \
    {                                                                                                                  \
        const U rests = (U)rest, mosts = (U)most;                                                                      \
        U *v = values, differ[COMPARED];                                                                               \
        size_t count = 1;                                                                                              \
        for (size_t i = 1, part; i < n; i += part) {                                                                   \
            const U *here = v + i;                                                                                     \
            part = n - i < COMPARED ? n - i : COMPARED;                                                                \
            for (size_t k = 0; k < part; k++) {                                                                        \
                const U a = here[k], b = *(here + k - 1);                                                              \
                differ[k] = (a != b) & (((a | b) & rests) != 0) & !(((a & rests) > mosts) & ((b & rests) > mosts));    \
            }                                                                                                          \
            for (size_t k = 0; k < part; k++) {                                                                        \
                v[count] = here[k];                                                                                    \
                count += (size_t)differ[k];                                                                            \
            }                                                                                                          \
        }                                                                                                              \
        return count;                                                                                                  \
    }
#endif
KEEP(32, uint32_t)
KEEP(64, uint64_t)

#endif
