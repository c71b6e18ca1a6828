/* Keys of floats, and loops that look for places in rows that are in order: by halves, for many keys at a time, of
 * which none takes a jump. Included by loops.c alone. */
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

/* Keys that sort as unsigned integers do (keys.h), and the values of such keys. */
#define SORTED(name, BITS, SIGNED, INFINITE)                                                                           \
    static void sorted_##name(void *keys, const void *values, bool descending, size_t n)                               \
    {                                                                                                                  \
        const BITS *from = values, all = (BITS) ~(BITS)0, top = all ^ all >> 1, flip = descending ? all : 0;           \
        BITS *to = keys;                                                                                               \
        INDEPENDENT for (size_t i = 0; i < n; i++)                                                                     \
        {                                                                                                              \
            const BITS u = from[i], sign = (BITS)((SIGNED)u >> (8 * sizeof u - 1));                                    \
            const BITS nan = (SIGNED)(u & ~top) > (SIGNED)(INFINITE) ? all : 0;                                        \
            to[i] = (u ^ (sign | top) ^ flip) | nan;                                                                   \
        }                                                                                                              \
    }                                                                                                                  \
    static void unsorted_##name(void *values, const void *keys, bool descending, size_t n)                             \
    {                                                                                                                  \
        const BITS *from = keys, all = (BITS) ~(BITS)0, top = all ^ all >> 1, flip = descending ? all : 0;             \
        const BITS nan = (INFINITE) | ((INFINITE) & -(INFINITE)) >> 1;                                                 \
        BITS *to = values;                                                                                             \
        INDEPENDENT for (size_t i = 0; i < n; i++)                                                                     \
        {                                                                                                              \
            const BITS key = from[i], x = key ^ flip, sign = (BITS)((SIGNED)x >> (8 * sizeof x - 1));                  \
            to[i] = key == all ? nan : x ^ (~sign | top);                                                              \
        }                                                                                                              \
    }
SORTED(32, uint32_t, int32_t, UINT32_C(0x7f800000))
SORTED(64, uint64_t, int64_t, UINT64_C(0x7ff0000000000000))

static void paired_32(uint64_t *pairs, const void *values, bool descending, uint32_t index, size_t n)
{
    const uint32_t *from = values, top = 0x80000000, flip = descending ? ~0U : 0;
    INDEPENDENT for (size_t i = 0; i < n; i++)
    {
        const uint32_t u = from[i], sign = (uint32_t)((int32_t)u >> 31);
        const uint32_t nan = (int32_t)(u & ~top) > 0x7f800000 ? ~0U : 0;
        pairs[i] = (uint64_t)((u ^ (sign | top) ^ flip) | nan) << 32 | (uint32_t)(index + i);
    }
}

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

/* Where many keys are looked for, the first steps read nothing: what can lie in the middle of the row, of its halves,
 * of theirs and so on are tables in registers, with a path of the steps before as the index. Of the last window, whose
 * keys lie side by side, all are compared with one key at a time. */
#if defined __AVX512F__
#define TOP_32                       6 /* so many steps; the last one's table takes two registers */
#define TOP_64                       5
#define CHOOSE_32(table, path)       _mm512_permutexvar_epi32(path, table)
#define CHOOSE_64(table, path)       _mm512_permutexvar_epi64(path, table)
#define CHOOSE_OF_TWO_32(a, path, b) _mm512_permutex2var_epi32(a, path, b)
#define CHOOSE_OF_TWO_64(a, path, b) _mm512_permutex2var_epi64(a, path, b)
#define ADD_32(a, b)                 _mm512_add_epi32(a, b)
#define ADD_64(a, b)                 _mm512_add_epi64(a, b)
#define SOME_32(n)                   (__mmask16)((1U << (n)) - 1)
#define SOME_64(n)                   (__mmask8)((1U << (n)) - 1)
typedef __mmask16 some_32;
typedef __mmask8 some_64;
#define COUNT_AHEAD_32(p, some, key)                                                                                   \
    __builtin_popcount(_mm512_mask_cmplt_epi32_mask(some, _mm512_maskz_loadu_epi32(some, p), _mm512_set1_epi32(key)))
#define COUNT_AHEAD_64(p, some, key)                                                                                   \
    __builtin_popcount(_mm512_mask_cmplt_epi64_mask(some, _mm512_maskz_loadu_epi64(some, p), _mm512_set1_epi64(key)))
#define COUNT_AHEAD_OR_SAME_32(p, some, key)                                                                           \
    __builtin_popcount(_mm512_mask_cmple_epi32_mask(some, _mm512_maskz_loadu_epi32(some, p), _mm512_set1_epi32(key)))
#define COUNT_AHEAD_OR_SAME_64(p, some, key)                                                                           \
    __builtin_popcount(_mm512_mask_cmple_epi64_mask(some, _mm512_maskz_loadu_epi64(some, p), _mm512_set1_epi64(key)))

#elif defined __AVX2__
#define TOP_32                       5
#define TOP_64                       4
#define CHOOSE_32(table, path)       _mm256_permutevar8x32_epi32(table, path)
#define CHOOSE_64(table, path)       _mm256_permutevar8x32_epi32(table, halves_of(path))
#define CHOOSE_OF_TWO_32(a, path, b) OF_TWO(ps, CHOOSE_32(a, path), CHOOSE_32(b, path), _mm256_slli_epi32(path, 28))
#define CHOOSE_OF_TWO_64(a, path, b) OF_TWO(pd, CHOOSE_64(a, path), CHOOSE_64(b, path), _mm256_slli_epi64(path, 61))
#define ADD_32(a, b)                 _mm256_add_epi32(a, b)
#define ADD_64(a, b)                 _mm256_add_epi64(a, b)
#define SOME_32(n)                   _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
#define SOME_64(n)                   _mm256_cmpgt_epi64(_mm256_set1_epi64x((int64_t)(n)), _mm256_setr_epi64x(0, 1, 2, 3))
typedef __m256i some_32, some_64;
/* The numbers of the two halves of each element. */
static inline __m256i halves_of(__m256i path)
{
    const __m256i first = _mm256_add_epi64(path, path);
    return _mm256_or_si256(first, _mm256_slli_epi64(_mm256_add_epi64(first, _mm256_set1_epi64x(1)), 32));
}
/* b where the highest bit is set. */
#define OF_TWO(type, a, b, bits)                                                                                       \
    _mm256_cast##type##_si256(                                                                                         \
        _mm256_blendv_##type(_mm256_castsi256_##type(a), _mm256_castsi256_##type(b), _mm256_castsi256_##type(bits)))
#define COUNT_32(mask) __builtin_popcount((unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(mask)))
#define COUNT_64(mask) __builtin_popcount((unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(mask)))
#define COUNT_AHEAD_32(p, some, key)                                                                                   \
    COUNT_32(_mm256_and_si256(some, _mm256_cmpgt_epi32(_mm256_set1_epi32(key), _mm256_maskload_epi32(p, some))))
#define COUNT_AHEAD_64(p, some, key)                                                                                   \
    COUNT_64(_mm256_and_si256(                                                                                         \
        some, _mm256_cmpgt_epi64(_mm256_set1_epi64x(key), _mm256_maskload_epi64((const long long *)(p), some))))
#define COUNT_AHEAD_OR_SAME_32(p, some, key)                                                                           \
    COUNT_32(_mm256_andnot_si256(_mm256_cmpgt_epi32(_mm256_maskload_epi32(p, some), _mm256_set1_epi32(key)), some))
#define COUNT_AHEAD_OR_SAME_64(p, some, key)                                                                           \
    COUNT_64(_mm256_andnot_si256(                                                                                      \
        _mm256_cmpgt_epi64(_mm256_maskload_epi64((const long long *)(p), some), _mm256_set1_epi64x(key)), some))
#endif

#if defined __AVX2__
#define TOP_VECTORS 4
#define TOP_BLOCK(name, KEY, BITS, TEST)                                                                               \
    static void name(int64_t *places, const KEY *row, size_t n, const KEY *keys, size_t count)                         \
    {                                                                                                                  \
        enum { TOP = TOP_##BITS, LANES = PLACE_BYTES / sizeof(KEY), BLOCK = TOP_VECTORS * LANES };                     \
        KEY starts[1 << TOP] = {0}, tables[(TOP + 1) * LANES] = {0}, found[BLOCK];                                     \
        place_vector table[TOP + 1], halves[TOP];                                                                      \
        for (int t = 0; t < TOP; t++) {                                                                                \
            const size_t half = n / 2;                                                                                 \
            for (size_t path = (size_t)1 << t; path-- > 0;) {                                                          \
                tables[t * LANES + path] = row[(size_t)starts[path] + half - 1];                                       \
                starts[2 * path + 1] = starts[path] + (KEY)half;                                                       \
                starts[2 * path] = starts[path];                                                                       \
            }                                                                                                          \
            halves[t] = ALL_##BITS((KEY)half);                                                                         \
            n -= half;                                                                                                 \
        }                                                                                                              \
        EACH_VECTOR(t, TOP + 1) table[t] = LOAD_PLACES(tables + t * LANES);                                            \
        for (size_t begin = 0; begin < count; begin += BLOCK) {                                                        \
            const size_t i = begin + BLOCK <= count ? begin : count - BLOCK; /* the last ones once more */             \
            place_vector at[TOP_VECTORS];                                                                              \
            size_t rest = n;                                                                                           \
            EACH_VECTOR(k, TOP_VECTORS)                                                                                \
            {                                                                                                          \
                const place_vector key = LOAD_PLACES(keys + i + k * LANES), one = ALL_##BITS(1);                       \
                place_vector path = ALL_##BITS(0);                                                                     \
                at[k] = path;                                                                                          \
                EACH_VECTOR(t, TOP)                                                                                    \
                {                                                                                                      \
                    const place_vector v = t + 1 < TOP ? CHOOSE_##BITS(table[t], path)                                 \
                                                       : CHOOSE_OF_TWO_##BITS(table[t], path, table[t + 1]);           \
                    at[k] = TEST##_##BITS(at[k], v, key, halves[t]);                                                   \
                    path = TEST##_##BITS(ADD_##BITS(path, path), v, key, one);                                         \
                }                                                                                                      \
            }                                                                                                          \
            for (size_t half; rest > 2 * LANES; rest -= half) {                                                        \
                half = rest / 2;                                                                                       \
                const place_vector by = ALL_##BITS((KEY)half);                                                         \
                EACH_VECTOR(k, TOP_VECTORS)                                                                            \
                at[k] =                                                                                                \
                    TEST##_##BITS(at[k], GATHER_##BITS(row + half - 1, at[k]), LOAD_PLACES(keys + i + k * LANES), by); \
            }                                                                                                          \
            memcpy(found, at, sizeof found);                                                                           \
            const some_##BITS one = SOME_##BITS(rest < LANES ? rest : LANES);                                          \
            const some_##BITS two = SOME_##BITS(rest > LANES ? rest - LANES : 0);                                      \
            if (rest <= LANES)                                                                                         \
                for (size_t k = 0; k < BLOCK; k++) {                                                                   \
                    const KEY *window = row + found[k], key = keys[i + k];                                             \
                    places[i + k] = found[k] + COUNT_##TEST##_##BITS(window, one, key) + 1;                            \
                }                                                                                                      \
            else                                                                                                       \
                for (size_t k = 0; k < BLOCK; k++) {                                                                   \
                    const KEY *window = row + found[k], key = keys[i + k];                                             \
                    places[i + k] = found[k] + COUNT_##TEST##_##BITS(window, one, key) +                               \
                                    COUNT_##TEST##_##BITS(window + LANES, two, key) + 1;                               \
                }                                                                                                      \
        }                                                                                                              \
    }
TOP_BLOCK(top_ahead_32, int32_t, 32, AHEAD)
TOP_BLOCK(top_ahead_64, int64_t, 64, AHEAD)
TOP_BLOCK(top_not_behind_32, int32_t, 32, AHEAD_OR_SAME)
TOP_BLOCK(top_not_behind_64, int64_t, 64, AHEAD_OR_SAME)
#define TOP_PART(BITS, KEY)                                                                                            \
    static size_t top_##BITS(int64_t *places, const void *row, size_t n, const void *keys, bool right, size_t count)   \
    {                                                                                                                  \
        const size_t block = TOP_VECTORS * PLACE_BYTES / sizeof(KEY);                                                  \
        if (n < (size_t)1 << TOP_##BITS || count < 4 * block) return 0;                                                \
        (right ? top_not_behind_##BITS : top_ahead_##BITS)(places, row, n, keys, count);                               \
        return count;                                                                                                  \
    }
#else
#define TOP_PART(BITS, KEY)                                                                                            \
    static size_t top_##BITS(int64_t *places, const void *row, size_t n, const void *keys, bool right, size_t count)   \
    {                                                                                                                  \
        (void)places, (void)row, (void)n, (void)keys, (void)right, (void)count;                                        \
        return 0;                                                                                                      \
    }
#endif

#define MANY_VECTORS 8
#define FEW_VECTORS  2
#define PLACES(BITS, KEY)                                                                                              \
    TOP_PART(BITS, KEY)                                                                                                \
    PLACES_BLOCK(few_ahead_##BITS, KEY, BITS, AHEAD, FEW_VECTORS)                                                      \
    PLACES_BLOCK(many_ahead_##BITS, KEY, BITS, AHEAD, MANY_VECTORS)                                                    \
    PLACES_BLOCK(few_not_behind_##BITS, KEY, BITS, AHEAD_OR_SAME, FEW_VECTORS)                                         \
    PLACES_BLOCK(many_not_behind_##BITS, KEY, BITS, AHEAD_OR_SAME, MANY_VECTORS)                                       \
    static void places_##BITS(int64_t *places, const void *row, size_t n, const void *keys, bool right, size_t count)  \
    {                                                                                                                  \
        const size_t lanes = PLACE_BYTES / sizeof(KEY);                                                                \
        for (size_t i = top_##BITS(places, row, n, keys, right, count), part; i < count; i += part) {                  \
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

/* Four at a time, so that values are read less often. */
static void at_least_F64(int64_t *counts, const double *edges, size_t count, const double *values, size_t n)
{
    for (size_t k = 0; k < count; k += 4) {
        const double a = edges[k], b = edges[k + 1 < count ? k + 1 : k], c = edges[k + 2 < count ? k + 2 : k],
                     d = edges[k + 3 < count ? k + 3 : k];
        int64_t sums[4] = {0};
        for (size_t i = 0; i < n; i++) {
            sums[0] += values[i] >= a;
            sums[1] += values[i] >= b;
            sums[2] += values[i] >= c;
            sums[3] += values[i] >= d;
        }
        for (size_t i = 0; i < 4 && k + i < count; i++) counts[k + i] = sums[i];
    }
}

/* On the lines between n points of ascending x; r is the dtype that x and y have in common, and differences are of
 * their own. Where slopes are known, what is read of each line is read one value at a time: gathers are no faster. */
#define LINES(x_y, X, Y, R)                                                                                            \
    static void slopes_##x_y(void *slopes, const struct kn_lines *l)                                                   \
    {                                                                                                                  \
        const X *xs = l->x;                                                                                            \
        const Y *ys = l->y;                                                                                            \
        R *to = slopes;                                                                                                \
        INDEPENDENT for (size_t i = 0; i + 1 < l->n; i++) to[i] = (R)(ys[i + 1] - ys[i]) / (R)(xs[i + 1] - xs[i]);     \
    }                                                                                                                  \
    static void lines_##x_y(void *out, const void *values, const int64_t *places, const struct kn_lines *l,            \
                            size_t count)                                                                              \
    {                                                                                                                  \
        const X *x = values, *xs = l->x, first = xs[0], last = xs[l->n - 1];                                           \
        const Y *ys = l->y;                                                                                            \
        const R left = (R)l->left, right = (R)l->right, end = (R)ys[l->n - 1], *slopes = l->slopes;                    \
        const int64_t n = (int64_t)l->n, lowest = n > 2 ? n - 2 : 0;                                                   \
        R *to = out;                                                                                                   \
        for (size_t i = 0; slopes && i < count; i++) {                                                                 \
            int64_t line = places[i] > 2 ? places[i] - 2 : 0;                                                          \
            line = line < lowest ? line : lowest;                                                                      \
            __asm__("" : "+r"(line)); /* no vectors */                                                                 \
            to[i] = slopes[line] * (R)(x[i] - xs[line]) + (R)ys[line];                                                 \
        }                                                                                                              \
        INDEPENDENT for (size_t i = slopes ? count : 0; i < count; i++)                                                \
        {                                                                                                              \
            const int64_t place = places[i] - 1, two = place < n ? place : n - 1, upper = two > 0 ? two : n > 1;       \
            const int64_t lower = upper > 0 ? upper - 1 : 0;                                                           \
            const R slope = (R)(ys[upper] - ys[lower]) / (R)(xs[upper] - xs[lower]);                                   \
            to[i] = slope * (R)(x[i] - xs[lower]) + (R)ys[lower];                                                      \
        }                                                                                                              \
        INDEPENDENT for (size_t i = 0; i < count; i++)                                                                 \
        {                                                                                                              \
            R y = x[i] == last ? end : to[i];                                                                          \
            y = x[i] > last ? right : y;                                                                               \
            to[i] = x[i] < first ? left : y;                                                                           \
        }                                                                                                              \
    }
LINES(F32_F32, float, float, float)
LINES(F32_F64, float, double, double)
LINES(F64_F32, double, float, double)
LINES(F64_F64, double, double, double)

#endif
