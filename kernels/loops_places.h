/* Loops that look for places in rows that are in order: by halves, for many keys at a time, of which none takes a jump.
 * Included by loops.c alone. */
#ifndef KN_LOOPS_PLACES_H
#define KN_LOOPS_PLACES_H

#include "kernels/loops.h"
#include <string.h>

/* Keys that compare as the values do: of both zeros one, of all NaN the greatest. */
#define ORDERED(name, TYPE, BITS, GREATEST)                                                                            \
    static void name(void *keys, const void *values, size_t n)                                                         \
    {                                                                                                                  \
        const TYPE *from = values;                                                                                     \
        BITS *to = keys;                                                                                               \
        INDEPENDENT for (size_t i = 0; i < n; i++)                                                                     \
        {                                                                                                              \
            const TYPE v = from[i] + (TYPE)0;                                                                          \
            BITS bits;                                                                                                 \
            memcpy(&bits, &v, sizeof bits);                                                                            \
            bits ^= bits >> (8 * sizeof bits - 1) & (GREATEST);                                                        \
            to[i] = v != v ? (GREATEST) : bits;                                                                        \
        }                                                                                                              \
    }
ORDERED(ordered_F32, float, int32_t, INT32_MAX)
ORDERED(ordered_F64, double, int64_t, INT64_MAX)

/* A vector of places, from 0, moves on by a number where what lies there in the row is before its key: AHEAD and, where
 * equal ones are before it too, AHEAD_OR_SAME. */
#if defined __AVX512F__
#define PLACE_BYTES 64
typedef __m512i place_vector;
#define LOAD_PLACES(p)                   _mm512_loadu_si512(p)
#define GATHER_32(row, at)               _mm512_i32gather_epi32(at, row, 4)
#define GATHER_64(row, at)               _mm512_i64gather_epi64(at, row, 8)
#define AHEAD_32(at, v, key, by)         _mm512_mask_add_epi32(at, _mm512_cmplt_epi32_mask(v, key), at, by)
#define AHEAD_64(at, v, key, by)         _mm512_mask_add_epi64(at, _mm512_cmplt_epi64_mask(v, key), at, by)
#define AHEAD_OR_SAME_32(at, v, key, by) _mm512_mask_add_epi32(at, _mm512_cmple_epi32_mask(v, key), at, by)
#define AHEAD_OR_SAME_64(at, v, key, by) _mm512_mask_add_epi64(at, _mm512_cmple_epi64_mask(v, key), at, by)
#define ALL_32(v)                        _mm512_set1_epi32(v)
#define ALL_64(v)                        _mm512_set1_epi64(v)
#elif defined __AVX2__
#define PLACE_BYTES                      32
typedef __m256i place_vector;
#define LOAD_PLACES(p)                   _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define GATHER_32(row, at)               _mm256_i32gather_epi32(row, at, 4)
#define GATHER_64(row, at)               _mm256_i64gather_epi64((const long long *)(row), at, 8)
#define AHEAD_32(at, v, key, by)         _mm256_add_epi32(at, _mm256_and_si256(_mm256_cmpgt_epi32(key, v), by))
#define AHEAD_64(at, v, key, by)         _mm256_add_epi64(at, _mm256_and_si256(_mm256_cmpgt_epi64(key, v), by))
#define AHEAD_OR_SAME_32(at, v, key, by) _mm256_add_epi32(at, _mm256_andnot_si256(_mm256_cmpgt_epi32(v, key), by))
#define AHEAD_OR_SAME_64(at, v, key, by) _mm256_add_epi64(at, _mm256_andnot_si256(_mm256_cmpgt_epi64(v, key), by))
#define ALL_32(v)                        _mm256_set1_epi32(v)
#define ALL_64(v)                        _mm256_set1_epi64x(v)
#else
#define PLACE_BYTES 32
typedef int32_t place_32 __attribute__((vector_size(PLACE_BYTES)));
typedef int64_t place_64 __attribute__((vector_size(PLACE_BYTES)));
#endif

/* VECTORS of them at a time, since each step waits for what it reads. */
#if defined PLACE_BYTES && defined __AVX2__
#define PLACES_BLOCK(name, KEY, BITS, TEST, VECTORS)                                                                   \
    static void name(KEY *places, const KEY *row, size_t n, const KEY *keys)                                           \
    {                                                                                                                  \
        place_vector at[VECTORS], key[VECTORS];                                                                        \
        const size_t lanes = PLACE_BYTES / sizeof(KEY);                                                                \
        EACH_VECTOR(k, VECTORS)                                                                                        \
        {                                                                                                              \
            at[k] = ALL_##BITS(0);                                                                                     \
            key[k] = LOAD_PLACES(keys + k * lanes);                                                                    \
        }                                                                                                              \
        for (size_t half; n > 1; n -= half) {                                                                          \
            half = n / 2;                                                                                              \
            const place_vector by = ALL_##BITS((KEY)half);                                                             \
            EACH_VECTOR(k, VECTORS) at[k] = TEST##_##BITS(at[k], GATHER_##BITS(row + half - 1, at[k]), key[k], by);    \
        }                                                                                                              \
        EACH_VECTOR(k, VECTORS)                                                                                        \
        {                                                                                                              \
            at[k] = TEST##_##BITS(at[k], GATHER_##BITS(row, at[k]), key[k], ALL_##BITS(1));                            \
            memcpy(places + k * lanes, &at[k], PLACE_BYTES);                                                           \
        }                                                                                                              \
    }
#define EACH_VECTOR(k, VECTORS) _Pragma("GCC unroll 8") for (size_t k = 0; k < (VECTORS); k++)
#else
#define BEFORE_AHEAD(v, key)         ((v) < (key))
#define BEFORE_AHEAD_OR_SAME(v, key) ((v) <= (key))
#define PLACES_BLOCK(name, KEY, BITS, TEST, VECTORS)                                                                   \
    static void name(KEY *places, const KEY *row, size_t n, const KEY *keys)                                           \
    {                                                                                                                  \
        const size_t count = (VECTORS)*PLACE_BYTES / sizeof(KEY);                                                      \
        for (size_t i = 0; i < count; i++) places[i] = 0;                                                              \
        for (size_t half; n > 1; n -= half) {                                                                          \
            half = n / 2;                                                                                              \
            for (size_t i = 0; i < count; i++)                                                                         \
                places[i] += (KEY)half & -(KEY)BEFORE_##TEST(row[(size_t)places[i] + half - 1], keys[i]);              \
        }                                                                                                              \
        for (size_t i = 0; i < count; i++) places[i] += BEFORE_##TEST(row[places[i]], keys[i]);                        \
    }
#endif

#define MANY_VECTORS 8
#define FEW_VECTORS  2
#define PLACES(BITS, KEY)                                                                                              \
    PLACES_BLOCK(few_ahead_##BITS, KEY, BITS, AHEAD, FEW_VECTORS)                                                      \
    PLACES_BLOCK(many_ahead_##BITS, KEY, BITS, AHEAD, MANY_VECTORS)                                                    \
    PLACES_BLOCK(few_not_behind_##BITS, KEY, BITS, AHEAD_OR_SAME, FEW_VECTORS)                                         \
    PLACES_BLOCK(many_not_behind_##BITS, KEY, BITS, AHEAD_OR_SAME, MANY_VECTORS)                                       \
    static void places_##BITS(int64_t *places, const void *row, size_t n, const void *keys, bool right, size_t count)  \
    {                                                                                                                  \
        const size_t lanes = PLACE_BYTES / sizeof(KEY);                                                                \
        for (size_t i = 0, part; i < count; i += part) {                                                               \
            const KEY *from = (const KEY *)keys + i;                                                                   \
            KEY found[MANY_VECTORS * PLACE_BYTES / sizeof(KEY)],                                                       \
                padded[FEW_VECTORS * PLACE_BYTES / sizeof(KEY)] = {0};                                                 \
            const bool many = count - i >= MANY_VECTORS * lanes;                                                       \
            part = (many ? MANY_VECTORS : FEW_VECTORS) * lanes;                                                        \
            if (count - i < part) {                                                                                    \
                part = count - i;                                                                                      \
                memcpy(padded, from, part * sizeof *from);                                                             \
                from = padded;                                                                                         \
            }                                                                                                          \
            if (many)                                                                                                  \
                (right ? many_not_behind_##BITS : many_ahead_##BITS)(found, row, n, from);                             \
            else                                                                                                       \
                (right ? few_not_behind_##BITS : few_ahead_##BITS)(found, row, n, from);                               \
            for (size_t k = 0; k < part; k++) places[i + k] = (int64_t)found[k] + 1;                                   \
        }                                                                                                              \
    }
PLACES(32, int32_t)
PLACES(64, int64_t)

/* On the lines between n points of ascending x; r is the dtype that x and y have in common, and differences are of
 * their own. */
#define LINES(name, X, Y, R)                                                                                           \
    static void name(void *out, const void *values, const int64_t *places, const struct kn_lines *l, size_t count)     \
    {                                                                                                                  \
        const X *x = values, *xs = l->x, first = xs[0], last = xs[l->n - 1];                                           \
        const Y *ys = l->y;                                                                                            \
        const R left = (R)l->left, right = (R)l->right, end = (R)ys[l->n - 1];                                         \
        const int64_t n = (int64_t)l->n;                                                                               \
        R *to = out;                                                                                                   \
        INDEPENDENT for (size_t i = 0; i < count; i++)                                                                 \
        {                                                                                                              \
            const int64_t place = places[i] - 1, two = place < n ? place : n - 1, upper = two > 0 ? two : n > 1;       \
            const int64_t lower = upper > 0 ? upper - 1 : 0;                                                           \
            const R slope = (R)(ys[upper] - ys[lower]) / (R)(xs[upper] - xs[lower]);                                   \
            R y = slope * (R)(x[i] - xs[lower]) + (R)ys[lower];                                                        \
            y = x[i] == last ? end : y;                                                                                \
            y = x[i] > last ? right : y;                                                                               \
            to[i] = x[i] < first ? left : y;                                                                           \
        }                                                                                                              \
    }
LINES(lines_F32_F32, float, float, float)
LINES(lines_F32_F64, float, double, double)
LINES(lines_F64_F32, double, float, double)
LINES(lines_F64_F64, double, double, double)

#endif
