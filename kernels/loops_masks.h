/* What a mask picks, by permutations of eight elements at a time. Included by loops.c alone. */
#ifndef KN_LOOPS_MASKS_H
#define KN_LOOPS_MASKS_H

#include "kernels/loops.h"
#include <string.h>

#if defined __AVX2__
#define FLAGS 32 /* looked at together */
/* Eight elements are written whether they are wanted or not: the last of those wanted go by way of `last`, since there
 * may be no room behind them. */
#define PICK(name, TYPE, put, value)                                                                                   \
    static inline size_t name##_of(TYPE *to, const TYPE *from, uint32_t flags, const kn_eight *numbers, int64_t first) \
    {                                                                                                                  \
        size_t count = 0;                                                                                              \
        for (size_t k = 0; k < FLAGS; k += 8, flags >>= 8) {                                                           \
            const __m128i at = _mm_loadu_si128((const __m128i *)(const void *)&numbers[flags & 255]);                  \
            put;                                                                                                       \
            count += (size_t)__builtin_popcount(flags & 255);                                                          \
        }                                                                                                              \
        (void)from, (void)first;                                                                                       \
        return count;                                                                                                  \
    }                                                                                                                  \
    static void name(void *out, size_t room, const void *values, const uint8_t *bits, size_t n,                        \
                     const kn_eight *numbers, int64_t first)                                                           \
    {                                                                                                                  \
        const TYPE *from = values;                                                                                     \
        TYPE *to = out, last[FLAGS + 8];                                                                               \
        size_t i = 0, count = 0, left = 0;                                                                             \
        for (; i + FLAGS <= n; i += FLAGS) {                                                                           \
            const __m256i here = _mm256_loadu_si256((const __m256i *)(const void *)(bits + i));                        \
            const __m256i none = _mm256_cmpeq_epi8(here, _mm256_setzero_si256());                                      \
            const uint32_t flags = ~(uint32_t)_mm256_movemask_epi8(none);                                              \
            if (flags == 0) continue;                                                                                  \
            if (room - count >= FLAGS)                                                                                 \
                count += name##_of(to + count, from + i, flags, numbers, first + (int64_t)i);                          \
            else                                                                                                       \
                left += name##_of(last + left, from + i, flags, numbers, first + (int64_t)i);                          \
        }                                                                                                              \
        for (; i < n; i++) {                                                                                           \
            last[left] = value;                                                                                        \
            left += bits[i] != 0;                                                                                      \
        }                                                                                                              \
        memcpy(to + count, last, left * sizeof *to);                                                                   \
    }
#define STORE_128(p, v) _mm_storeu_si128((__m128i *)(void *)(p), v)
#define STORE_256(p, v) _mm256_storeu_si256((__m256i *)(void *)(p), v)
/* at * 0x0202 + 0x0100 are the places of both bytes. */
#define PUT_8                                                                                                          \
    _mm_storel_epi64(                                                                                                  \
        (__m128i *)(void *)(to + count),                                                                               \
        _mm_shuffle_epi8(_mm_loadl_epi64((const __m128i *)(const void *)(from + k)), _mm_packus_epi16(at, at)))
#define PUT_16                                                                                                         \
    STORE_128(to + count,                                                                                              \
              _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)(from + k)),                             \
                               _mm_add_epi16(_mm_mullo_epi16(at, _mm_set1_epi16(0x0202)), _mm_set1_epi16(0x0100))))
#define PUT_32                                                                                                         \
    STORE_256(to + count, _mm256_permutevar8x32_epi32(_mm256_loadu_si256((const __m256i *)(const void *)(from + k)),   \
                                                      _mm256_cvtepu16_epi32(at)))
/* Four elements, as eight halves, and then the other four. */
static inline __m256i pairs_of(__m128i four)
{
    const __m256i even = _mm256_slli_epi64(_mm256_cvtepu16_epi64(four), 1);
    return _mm256_add_epi32(_mm256_or_si256(even, _mm256_slli_epi64(even, 32)), _mm256_set1_epi64x(INT64_C(1) << 32));
}
#define FOUR_64(p, some)                                                                                               \
    STORE_256(p, _mm256_permutevar8x32_epi32(_mm256_loadu_si256((const __m256i *)(const void *)(from + k + (some))),   \
                                             pairs_of(four)))
#define PUT_64                                                                                                         \
    const uint32_t low = flags & 15, high = flags >> 4 & 15;                                                           \
    __m128i four = _mm_loadl_epi64((const __m128i *)(const void *)&numbers[low]);                                      \
    FOUR_64(to + count, 0);                                                                                            \
    four = _mm_loadl_epi64((const __m128i *)(const void *)&numbers[high]);                                             \
    FOUR_64(to + count + __builtin_popcount(low), 4);                                                                  \
    (void)at
#define PUT_PLACE                                                                                                      \
    const __m256i eight = _mm256_set1_epi64x(first + (int64_t)k);                                                      \
    STORE_256(to + count, _mm256_add_epi64(_mm256_cvtepu16_epi64(at), eight));                                         \
    STORE_256(to + count + 4, _mm256_add_epi64(_mm256_cvtepu16_epi64(_mm_unpackhi_epi64(at, at)), eight))
PICK(pick_8, uint8_t, PUT_8, from[i])
PICK(pick_16, uint16_t, PUT_16, from[i])
PICK(pick_32, uint32_t, PUT_32, from[i])
PICK(pick_64, uint64_t, PUT_64, from[i])
PICK(pick_places, int64_t, PUT_PLACE, first + (int64_t)i)
#define PICKS                                                                                                          \
    {                                                                                                                  \
        pick_8, pick_16, pick_32, pick_64                                                                              \
    }
#define PICK_PLACES pick_places
#else
#define PICKS                                                                                                          \
    {                                                                                                                  \
        NULL                                                                                                           \
    }
#define PICK_PLACES NULL
#endif

#endif
