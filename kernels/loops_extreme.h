/* Loops that look for one of many values: the smallest, the largest, the first that is the same. Included by loops.c
 * alone. */
#ifndef KN_LOOPS_EXTREME_H
#define KN_LOOPS_EXTREME_H

#include "kernels/loops.h"
#include <string.h>

/* BEFORE is the comparison for which a value is kept. */
#define KEEP_BEST(a, b, BITS, BEFORE)                                                                                  \
    do {                                                                                                               \
        const BITS first = (BITS)((a)BEFORE(b)) | (BITS)((a) != (a));                                                  \
        (a) = (__typeof__(a))(((BITS)(a)&first) | ((BITS)(b) & ~first));                                               \
    } while (0)
/* The better ones of a vector's two halves. */
#define KEEP_HALF(from, to, BITS, BEFORE)                                                                              \
    do {                                                                                                               \
        __typeof__(to) other;                                                                                          \
        memcpy(&(to), &(from), sizeof other);                                                                          \
        memcpy(&other, (const char *)&(from) + sizeof other, sizeof other);                                            \
        KEEP_BEST(to, other, BITS, BEFORE);                                                                            \
    } while (0)
/* Vectors as wide as there are, since compilers take wider ones apart into single values to compare them. Bits do not
 * depend on it: 64 bytes are combined as one vector of them would be. */
#if defined __AVX512F__
#define LANE_BYTES 64
#elif defined __AVX2__
#define LANE_BYTES 32
#else
#define LANE_BYTES 16
#endif
#define PIECES           (64 / LANE_BYTES)
#define FROM_TO(k, a, b) _Pragma("GCC unroll 16") for (size_t k = (a); k < (b); k++)
/* KEEP_BEST of a whole vector by the instruction for it, which gives the second of two that are equal and, as here a
 * lane that is NaN stays, of all others the same. */
#if defined __AVX512F__
#define KEEP_FLOATS(S, V, op, a, b)                                                                                    \
    (a) = (lanes)_mm512_mask_##op##_##S((V)(a), _mm512_cmp_##S##_mask((V)(a), (V)(a), _CMP_ORD_Q), (V)(a), (V)(b))
#define KEEP_INTS(S, op, a, b)     (a) = (lanes)_mm512_##op##_##S((__m512i)(a), (__m512i)(b))
#define KEEP_F32(op, a, b, BEFORE) KEEP_FLOATS(ps, __m512, op, a, b)
#define KEEP_I32(op, a, b, BEFORE) KEEP_INTS(epi32, op, a, b)
#define KEEP_F64(op, a, b, BEFORE) KEEP_FLOATS(pd, __m512d, op, a, b)
#define KEEP_I64(op, a, b, BEFORE) KEEP_INTS(epi64, op, a, b)
#define KEEP_U64(op, a, b, BEFORE) KEEP_INTS(epu64, op, a, b)
#else
typedef int32_t lane_bits_32 __attribute__((vector_size(LANE_BYTES)));
typedef int64_t lane_bits_64 __attribute__((vector_size(LANE_BYTES)));
#define KEEP_F32(op, a, b, BEFORE) KEEP_BEST(a, b, lane_bits_32, BEFORE)
#define KEEP_I32(op, a, b, BEFORE) KEEP_BEST(a, b, lane_bits_32, BEFORE)
#define KEEP_F64(op, a, b, BEFORE) KEEP_BEST(a, b, lane_bits_64, BEFORE)
#define KEEP_I64(op, a, b, BEFORE) KEEP_BEST(a, b, lane_bits_64, BEFORE)
#define KEEP_U64(op, a, b, BEFORE) KEEP_BEST(a, b, lane_bits_64, BEFORE)
#endif
/* Four times 64 bytes of lanes, which stay in registers; then one, whose last values may be those that it has had
 * already. Of the last lanes those of floats, which take more than an instruction each, are combined in pairs of
 * neighbours. */
#define EXTREME(name, TYPE, BITS, BEFORE, CLASS, op)                                                                   \
    static void name(void *to, const void *values, size_t n)                                                           \
    {                                                                                                                  \
        typedef TYPE lanes __attribute__((vector_size(LANE_BYTES)));                                                   \
        typedef TYPE lanes_2 __attribute__((vector_size(32)));                                                         \
        typedef BITS bits_2 __attribute__((vector_size(32)));                                                          \
        typedef TYPE lanes_4 __attribute__((vector_size(16)));                                                         \
        typedef BITS bits_4 __attribute__((vector_size(16)));                                                          \
        const size_t lane = LANE_BYTES / sizeof(TYPE), width = 64 / sizeof(TYPE), step = 4 * width;                    \
        const bool floats = (TYPE)0.5 != 0;                                                                            \
        const TYPE *from = values;                                                                                     \
        TYPE best = from[0];                                                                                           \
        if (n < width) {                                                                                               \
            for (size_t i = 1; i < n; i++) best = (best BEFORE from[i]) | (best != best) ? best : from[i];             \
            *(TYPE *)to = best;                                                                                        \
            return;                                                                                                    \
        }                                                                                                              \
        lanes all[4 * PIECES], next;                                                                                   \
        lanes_2 half;                                                                                                  \
        lanes_4 quarter;                                                                                               \
        size_t i = width;                                                                                              \
        FROM_TO(k, 0, PIECES) memcpy(&all[k], from + k * lane, sizeof next);                                           \
        if (n >= step) {                                                                                               \
            FROM_TO(k, PIECES, 4 * PIECES) memcpy(&all[k], from + k * lane, sizeof next);                              \
            const size_t ahead = KN_AHEAD_IN(n * sizeof(TYPE));                                                        \
            for (i = step; n - i >= step; i += step) FROM_TO(k, 0, 4 * PIECES)                                         \
                {                                                                                                      \
                    if (floats) __builtin_prefetch((const char *)(from + i + k * lane) + ahead);                       \
                    memcpy(&next, from + i + k * lane, sizeof next);                                                   \
                    KEEP_##CLASS(op, all[k], next, BEFORE);                                                            \
                }                                                                                                      \
            FROM_TO(k, PIECES, 4 * PIECES) KEEP_##CLASS(op, all[k % PIECES], all[k], BEFORE);                          \
        }                                                                                                              \
        for (; i < n; i += width) {                                                                                    \
            const TYPE *at = from + (n - i < width ? n - width : i);                                                   \
            FROM_TO(k, 0, PIECES)                                                                                      \
            {                                                                                                          \
                memcpy(&next, at + k * lane, sizeof next);                                                             \
                KEEP_##CLASS(op, all[k], next, BEFORE);                                                                \
            }                                                                                                          \
        }                                                                                                              \
        KEEP_HALF(all, half, bits_2, BEFORE);                                                                          \
        KEEP_HALF(half, quarter, bits_4, BEFORE);                                                                      \
        const size_t rounds = floats ? width / 8 : 0;                                                                  \
        FROM_TO(round, 0, rounds)                                                                                      \
        {                                                                                                              \
            lanes_4 odd;                                                                                               \
            const lanes_4 four = quarter;                                                                              \
            FROM_TO(k, 0, width / 4) quarter[k] = four[2 * k % (width / 4)], odd[k] = four[(2 * k + 1) % (width / 4)]; \
            KEEP_BEST(quarter, odd, bits_4, BEFORE);                                                                   \
        }                                                                                                              \
        best = quarter[0];                                                                                             \
        for (size_t k = 1; k < (floats ? 1 : width / 4); k++) best = best BEFORE quarter[k] ? best : quarter[k];       \
        *(TYPE *)to = best;                                                                                            \
    }
EXTREME(least_F32, float, int32_t, <, F32, min)
EXTREME(least_F64, double, int64_t, <, F64, min)
EXTREME(least_I32, int32_t, int32_t, <, I32, min)
EXTREME(least_I64, int64_t, int64_t, <, I64, min)
EXTREME(least_U64, uint64_t, int64_t, <, U64, min)
EXTREME(greatest_F32, float, int32_t, >, F32, max)
EXTREME(greatest_F64, double, int64_t, >, F64, max)
EXTREME(greatest_I32, int32_t, int32_t, >, I32, max)
EXTREME(greatest_I64, int64_t, int64_t, >, I64, max)
EXTREME(greatest_U64, uint64_t, int64_t, >, U64, max)
#define EXTREMES(name)                                                                                                 \
    {                                                                                                                  \
        [KN_F32] = name##_F32, [KN_F64] = name##_F64, [KN_I32] = name##_I32, [KN_I64] = name##_I64,                    \
        [KN_U64] = name##_U64                                                                                          \
    }

/* A vector of columns at a time, of which the last may have columns that have seen these rows already: nothing in them
 * is better. The first NaN is the best there is. */
#define SEARCH(name, TYPE, BITS, BEFORE)                                                                               \
    static void name(void *bests, int64_t *where, const void *rows, ptrdiff_t stride, size_t count, int64_t index,     \
                     size_t n)                                                                                         \
    {                                                                                                                  \
        typedef TYPE lanes __attribute__((vector_size(LANE_BYTES)));                                                   \
        typedef BITS bits __attribute__((vector_size(LANE_BYTES)));                                                    \
        const size_t width = LANE_BYTES / sizeof(TYPE);                                                                \
        TYPE *best = bests;                                                                                            \
        for (size_t i = 0, k; n >= width && i < n; i += width) {                                                       \
            lanes kept, next;                                                                                          \
            bits at = {0};                                                                                             \
            BITS places[LANE_BYTES / sizeof(TYPE)];                                                                    \
            if (n - i < width) i = n - width;                                                                          \
            const TYPE *from = (const TYPE *)rows + i;                                                                 \
            memcpy(&kept, best + i, sizeof kept);                                                                      \
            for (k = 0; k < count; k++, from += stride) {                                                              \
                memcpy(&next, from, sizeof next);                                                                      \
                const bits better = (bits)(next BEFORE kept) | ((bits)(next != next) & (bits)(kept == kept));          \
                kept = (lanes)(((bits)next & better) | ((bits)kept & ~better));                                        \
                at = (better & (BITS)(k + 1)) | (at & ~better);                                                        \
            }                                                                                                          \
            memcpy(best + i, &kept, sizeof kept);                                                                      \
            memcpy(places, &at, sizeof places);                                                                        \
            for (k = 0; k < width; k++) where[i + k] = places[k] ? index + places[k] - 1 : where[i + k];               \
        }                                                                                                              \
        for (size_t i = 0; n < width && i < n; i++) {                                                                  \
            const TYPE *from = (const TYPE *)rows + i;                                                                 \
            for (size_t k = 0; k < count; k++, from += stride)                                                         \
                if ((*from BEFORE best[i]) | ((*from != *from) & (best[i] == best[i])))                                \
                    best[i] = *from, where[i] = index + (int64_t)k;                                                    \
        }                                                                                                              \
    }
SEARCH(search_least_F32, float, int32_t, <)
SEARCH(search_least_F64, double, int64_t, <)
SEARCH(search_least_I32, int32_t, int32_t, <)
SEARCH(search_least_I64, int64_t, int64_t, <)
SEARCH(search_least_U64, uint64_t, int64_t, <)
SEARCH(search_greatest_F32, float, int32_t, >)
SEARCH(search_greatest_F64, double, int64_t, >)
SEARCH(search_greatest_I32, int32_t, int32_t, >)
SEARCH(search_greatest_I64, int64_t, int64_t, >)
SEARCH(search_greatest_U64, uint64_t, int64_t, >)
#define SEARCHES(name)                                                                                                 \
    {                                                                                                                  \
        [KN_F32] = search_##name##_F32, [KN_F64] = search_##name##_F64, [KN_I32] = search_##name##_I32,                \
        [KN_I64] = search_##name##_I64, [KN_U64] = search_##name##_U64                                                 \
    }

#if defined __AVX2__
/* FIRST_SAME(from, all) has bit k where the k-th of a vector of elements is the one that is wanted. */
#if defined __AVX512F__
#define FIRST_VECTOR           __m512i
#define FIRST_ALL_32(v)        _mm512_set1_epi32(v)
#define FIRST_ALL_64(v)        _mm512_set1_epi64(v)
#define FIRST_LOAD(from)       _mm512_loadu_si512(from)
#define FIRST_SAME_F32(a, all) _mm512_cmp_ps_mask(_mm512_castsi512_ps(a), _mm512_castsi512_ps(all), _CMP_EQ_OQ)
#define FIRST_SAME_F64(a, all) _mm512_cmp_pd_mask(_mm512_castsi512_pd(a), _mm512_castsi512_pd(all), _CMP_EQ_OQ)
#define FIRST_SAME_I32(a, all) _mm512_cmpeq_epi32_mask(a, all)
#define FIRST_SAME_I64(a, all) _mm512_cmpeq_epi64_mask(a, all)
#else
#define FIRST_VECTOR      __m256i
#define FIRST_ALL_32(v)   _mm256_set1_epi32(v)
#define FIRST_ALL_64(v)   _mm256_set1_epi64x(v)
#define FIRST_LOAD(from)  _mm256_loadu_si256((const __m256i *)(const void *)(from))
#define FIRST_SIGNS_32(v) (uint8_t) _mm256_movemask_ps(v)
#define FIRST_SIGNS_64(v) (uint8_t) _mm256_movemask_pd(v)
#define FIRST_SAME_F32(a, all)                                                                                         \
    FIRST_SIGNS_32(_mm256_cmp_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(all), _CMP_EQ_OQ))
#define FIRST_SAME_F64(a, all)                                                                                         \
    FIRST_SIGNS_64(_mm256_cmp_pd(_mm256_castsi256_pd(a), _mm256_castsi256_pd(all), _CMP_EQ_OQ))
#define FIRST_SAME_I32(a, all) FIRST_SIGNS_32(_mm256_castsi256_ps(_mm256_cmpeq_epi32(a, all)))
#define FIRST_SAME_I64(a, all) FIRST_SIGNS_64(_mm256_castsi256_pd(_mm256_cmpeq_epi64(a, all)))
#endif
/* 64 values at a time become bits of a number, of which the lowest is the first, without a jump that depends on where
 * it is; the last two times at once. The last ones of them may have been looked at before. */
#define FIRST(name, TYPE, WIDTH, CLASS)                                                                                \
    static inline uint64_t name##_of_64(const TYPE *from, FIRST_VECTOR all)                                            \
    {                                                                                                                  \
        const size_t width = sizeof all / sizeof *from;                                                                \
        uint64_t same = 0;                                                                                             \
        _Pragma("GCC unroll 16") for (size_t k = 0; k < 64; k += width) same |=                                        \
            (uint64_t)FIRST_SAME_##CLASS(FIRST_LOAD(from + k), all) << k;                                              \
        return same;                                                                                                   \
    }                                                                                                                  \
    static size_t name(const void *values, const void *wanted, size_t n)                                               \
    {                                                                                                                  \
        const size_t width = sizeof(FIRST_VECTOR) / sizeof(TYPE);                                                      \
        const TYPE *from = values, value = *(const TYPE *)wanted;                                                      \
        int##WIDTH##_t bits;                                                                                           \
        size_t i = 0;                                                                                                  \
        if (value != value || n < width) {                                                                             \
            while (i < n && (value == value ? from[i] != value : from[i] == from[i])) i++;                             \
            return i;                                                                                                  \
        }                                                                                                              \
        memcpy(&bits, &value, sizeof bits);                                                                            \
        const FIRST_VECTOR all = FIRST_ALL_##WIDTH(bits);                                                              \
        uint64_t same = 0;                                                                                             \
        if (n < 64) {                                                                                                  \
            for (size_t k = 0; k < n - width; k += width)                                                              \
                same |= (uint64_t)FIRST_SAME_##CLASS(FIRST_LOAD(from + k), all) << k;                                  \
            same |= (uint64_t)FIRST_SAME_##CLASS(FIRST_LOAD(from + n - width), all) << (n - width);                    \
            return same ? (size_t)__builtin_ctzll(same) : n;                                                           \
        }                                                                                                              \
        for (; n - i > 128; i += 64) {                                                                                 \
            same = name##_of_64(from + i, all);                                                                        \
            if (same) return i + (size_t)__builtin_ctzll(same);                                                        \
        }                                                                                                              \
        const uint64_t before = name##_of_64(from + i, all), behind = name##_of_64(from + n - 64, all);                \
        i = before ? i : n - 64;                                                                                       \
        same = before ? before : behind;                                                                               \
        return same ? i + (size_t)__builtin_ctzll(same) : n;                                                           \
    }
FIRST(first_F32, float, 32, F32)
FIRST(first_F64, double, 64, F64)
FIRST(first_I32, int32_t, 32, I32)
FIRST(first_I64, int64_t, 64, I64)
#else
/* Two vectors at a time say whether any of them has it; then one value after the other is looked at. */
#define FIRST(name, TYPE, BITS)                                                                                        \
    static size_t name(const void *values, const void *wanted, size_t n)                                               \
    {                                                                                                                  \
        typedef TYPE lanes __attribute__((vector_size(64)));                                                           \
        typedef BITS bits __attribute__((vector_size(64)));                                                            \
        const size_t width = 64 / sizeof(TYPE);                                                                        \
        const TYPE *from = values, value = *(const TYPE *)wanted;                                                      \
        size_t i = 0;                                                                                                  \
        if (value != value) {                                                                                          \
            while (i < n && from[i] == from[i]) i++;                                                                   \
            return i;                                                                                                  \
        }                                                                                                              \
        lanes all, a, b;                                                                                               \
        for (size_t k = 0; k < width; k++) all[k] = value;                                                             \
        for (; n - i >= 2 * width; i += 2 * width) {                                                                   \
            memcpy(&a, from + i, sizeof a);                                                                            \
            memcpy(&b, from + i + width, sizeof b);                                                                    \
            const bits same = (bits)(a == all) | (bits)(b == all);                                                     \
            uint64_t words[8], any = 0;                                                                                \
            memcpy(words, &same, sizeof words);                                                                        \
            for (size_t k = 0; k < 8; k++) any |= words[k];                                                            \
            if (any) break;                                                                                            \
        }                                                                                                              \
        while (i < n && from[i] != value) i++;                                                                         \
        return i;                                                                                                      \
    }
FIRST(first_F32, float, int32_t)
FIRST(first_F64, double, int64_t)
FIRST(first_I32, int32_t, int32_t)
FIRST(first_I64, int64_t, int64_t)
#endif
#define FIRSTS                                                                                                         \
    {                                                                                                                  \
        [KN_F32] = first_F32, [KN_F64] = first_F64, [KN_I32] = first_I32, [KN_I64] = first_I64, [KN_U64] = first_I64   \
    }

#endif
