/* The typed inner loops of 8 and 16 bits and of uint32 over values as they lie in memory: what ops.def says of the
 * class that they are computed in otherwise, wrapped; and what float16 and bfloat16 need no arithmetic for. This text
 * is included by loops_narrow_base.c, loops_narrow_v3.c and loops_narrow_v4.c, which set KN_NARROW_LEVEL to the name of
 * their table. It is empty when compiled by itself. */
#ifdef KN_NARROW_LEVEL
#include "kernels/loops.h"
#include "kernels/functions.h"
#include "kernels/loops_emit.h"
#include "kernels/quotients.h"
#if defined __AVX2__
#include <immintrin.h>
#endif

#pragma GCC diagnostic ignored "-Wtype-limits" /* a < 0 of unsigned types, in expressions that serve all types */

#define KN_FN static inline __attribute__((unused))
KN_SIGNED_FUNCTIONS(int32_t, uint32_t, I32)
KN_UNSIGNED_FUNCTIONS(uint32_t, uint32_t, U32)
/* Bits of 8 and 16 are counted in as many, of which a vector has most. */
KN_FN uint8_t bits_U8(uint8_t a)
{
    a = (uint8_t)(a - (a >> 1 & 0x55));
    a = (uint8_t)((a & 0x33) + (a >> 2 & 0x33));
    return (uint8_t)((a + (a >> 4)) & 0x0f);
}
KN_FN uint8_t bits_I8(int8_t a)
{
    return bits_U8((uint8_t)(a < 0 ? 0 - a : a));
}
KN_FN uint16_t bits_U16(uint16_t a)
{
    a = (uint16_t)(a - (a >> 1 & 0x5555));
    a = (uint16_t)((a & 0x3333) + (a >> 2 & 0x3333));
    a = (uint16_t)((a + (a >> 4)) & 0x0f0f);
    return (uint16_t)((a + (a >> 8)) & 0x1f);
}
KN_FN uint16_t bits_I16(int16_t a)
{
    return bits_U16((uint16_t)(a < 0 ? 0 - a : a));
}
#define OF_TYPE(f, a)      _Generic((a), uint32_t : f##U32, default : f##I32)
#define QUOTIENT(a, b)     _Generic((a), uint32_t : quotient_u32, default : quotient_i17)(a, b)
#define abs_(a)            (a < 0 ? 0 - (U)a : (U)a)
#define floordiv_(a, b)    QUOTIENT(a, b)
#define mod_(a, b)         (b == 0 ? 0 : a - QUOTIENT(a, b) * b)
#define left_shift_(a, b)  OF_TYPE(left_shift_, a)(a, b)
#define right_shift_(a, b) OF_TYPE(right_shift_, a)(a, b)
#define bits_(a)                                                                                                       \
    _Generic((a), uint8_t : bits_U8, int8_t : bits_I8, uint16_t : bits_U16, int16_t : bits_I16, uint32_t : bits_U32)(a)
#define truth_(a)  (a != 0)
#define gcd_(a, b) OF_TYPE(gcd_, a)(a, b)
#define lcm_(a, b) OF_TYPE(lcm_, a)(a, b)

/* U is of 32 bits for all: C makes an int of two uint16_t, whose product may overflow. */
#define KN_OP(id, name, arity, rule, ints, floats, symbol, doc, example)                                               \
    EMIT(KN_INTS_##rule, id, INT8, arity, rule, int8_t, uint32_t, ints)                                                \
    EMIT(KN_INTS_##rule, id, INT16, arity, rule, int16_t, uint32_t, ints)                                              \
    EMIT(KN_INTS_##rule, id, UINT8, arity, rule, uint8_t, uint32_t, ints)                                              \
    EMIT(KN_INTS_##rule, id, UINT16, arity, rule, uint16_t, uint32_t, ints)                                            \
    EMIT(KN_INTS_##rule, id, UINT32, arity, rule, uint32_t, uint32_t, ints)
#include "kernels/ops.def"
#include "kernels/loops_divisor.h"
#include "kernels/loops_gcd.h"
#include "kernels/loops_lanes.h"

/* Of float16 and bfloat16, of which bits tell: id, arity, rule, value of bits whose greatest finite number is LAST. */
#define SIZE(v) ((v)&0x7fff)
#define BITS_OPS(X, ...)                                                                                               \
    X(NEG, 1, ARITH, a ^ 0x8000, __VA_ARGS__)                                                                          \
    X(ABS, 1, ARITH, SIZE(a), __VA_ARGS__)                                                                             \
    X(CONJ, 1, ARITH, a, __VA_ARGS__)                                                                                  \
    X(COPYSIGN, 2, ARITH, SIZE(a) | (b & 0x8000), __VA_ARGS__)                                                         \
    X(WHERE, 3, WHERE, a ? b : c, __VA_ARGS__)                                                                         \
    X(ISNAN, 1, PREDICATE, SIZE(a) > LAST + 1, __VA_ARGS__)                                                            \
    X(ISINF, 1, PREDICATE, SIZE(a) == LAST + 1, __VA_ARGS__)                                                           \
    X(ISFINITE, 1, PREDICATE, SIZE(a) <= LAST, __VA_ARGS__)                                                            \
    X(ISPOSINF, 1, PREDICATE, a == LAST + 1, __VA_ARGS__)                                                              \
    X(ISNEGINF, 1, PREDICATE, a == (LAST + 1) + 0x8000, __VA_ARGS__)                                                   \
    X(SIGNBIT, 1, PREDICATE, a >> 15, __VA_ARGS__)                                                                     \
    X(ISUNORDERED, 2, PREDICATE, (SIZE(a) > LAST + 1) | (SIZE(b) > LAST + 1), __VA_ARGS__)
#define BITS_LOOP(id, arity, rule, value, dtype) EMIT_1(id, dtype, arity, rule, uint16_t, uint32_t, value)
#define LAST                                     0x7bff
BITS_OPS(BITS_LOOP, FLOAT16)
#undef LAST
#define LAST 0x7f7f
BITS_OPS(BITS_LOOP, BFLOAT16)

#define EXTREME(name, dtype, TYPE, BEFORE)                                                                             \
    static void name##_##dtype(void *best, const void *values, size_t n)                                               \
    {                                                                                                                  \
        const TYPE *from = values;                                                                                     \
        TYPE b = from[0];                                                                                              \
        for (size_t i = 0; i < n; i++) b = from[i] BEFORE b ? from[i] : b;                                             \
        *(int32_t *)best = b;                                                                                          \
    }
#define NARROW_TYPES(X, ...)                                                                                           \
    X(__VA_ARGS__, INT8, int8_t)                                                                                       \
    X(__VA_ARGS__, INT16, int16_t)                                                                                     \
    X(__VA_ARGS__, UINT8, uint8_t)                                                                                     \
    X(__VA_ARGS__, UINT16, uint16_t)
#define LEAST(name, dtype, TYPE)    EXTREME(name, dtype, TYPE, <)
#define GREATEST(name, dtype, TYPE) EXTREME(name, dtype, TYPE, >)
NARROW_TYPES(LEAST, least)
NARROW_TYPES(GREATEST, greatest)

/* Combines rows as they lie in memory, four at a time where there are as many. `one` is what a value v is by itself,
 * `two` what a, which is such already, and the value v are. */
#define EACH(expression) INDEPENDENT for (size_t i = 0; i < n; i++) to[i] = (__typeof__(*to))(expression)
#define ROWS(name, dtype, TYPE, one, two)                                                                              \
    static inline TYPE one_##name##_##dtype(TYPE v)                                                                    \
    {                                                                                                                  \
        return (TYPE)(one);                                                                                            \
    }                                                                                                                  \
    static inline TYPE two_##name##_##dtype(TYPE a, TYPE v)                                                            \
    {                                                                                                                  \
        return (TYPE)(two);                                                                                            \
    }                                                                                                                  \
    static inline TYPE four_##name##_##dtype(TYPE a, TYPE b, TYPE c, TYPE d)                                           \
    {                                                                                                                  \
        return two_##name##_##dtype(two_##name##_##dtype(two_##name##_##dtype(a, b), c), d);                           \
    }                                                                                                                  \
    static void name##_##dtype(void *out, const void *rows, ptrdiff_t stride, size_t count, bool more, size_t n)       \
    {                                                                                                                  \
        const TYPE *a = rows, *b = a + stride, *c = b + stride, *d = c + stride;                                       \
        TYPE *to = out;                                                                                                \
        size_t done = 0;                                                                                               \
        if (!more && count >= 4) {                                                                                     \
            EACH(four_##name##_##dtype(one_##name##_##dtype(a[i]), b[i], c[i], d[i]));                                 \
            done = 4;                                                                                                  \
        } else if (!more) {                                                                                            \
            EACH(one_##name##_##dtype(a[i]));                                                                          \
            done = 1;                                                                                                  \
        }                                                                                                              \
        for (; done + 4 <= count; done += 4) {                                                                         \
            a = (const TYPE *)rows + (ptrdiff_t)done * stride, b = a + stride, c = b + stride, d = c + stride;         \
            EACH(four_##name##_##dtype(two_##name##_##dtype(to[i], a[i]), b[i], c[i], d[i]));                          \
        }                                                                                                              \
        for (; done < count; done++) {                                                                                 \
            a = (const TYPE *)rows + (ptrdiff_t)done * stride;                                                         \
            EACH(two_##name##_##dtype(to[i], a[i]));                                                                   \
        }                                                                                                              \
    }
#define ROWS_LEAST(name, dtype, TYPE)    ROWS(name, dtype, TYPE, v, v < a ? v : a)
#define ROWS_GREATEST(name, dtype, TYPE) ROWS(name, dtype, TYPE, v, v > a ? v : a)
NARROW_TYPES(ROWS_LEAST, rows_least)
NARROW_TYPES(ROWS_GREATEST, rows_greatest)
ROWS(rows_add, BITS8, uint8_t, v, a + v)
ROWS(rows_add, BITS16, uint16_t, v, a + v)
/* Truth in numbers as wide as the elements: none or some bits of those that matter, which the sign of a float does not.
 */
#define TRUTH_TYPES(X)                                                                                                 \
    X(BITS8, uint8_t, UINT8_MAX)                                                                                       \
    X(BITS16, uint16_t, UINT16_MAX)                                                                                    \
    X(BITS32, uint32_t, UINT32_MAX)                                                                                    \
    X(BITS64, uint64_t, UINT64_MAX)                                                                                    \
    X(FLOAT16, uint16_t, INT16_MAX)                                                                                    \
    X(FLOAT32, uint32_t, INT32_MAX)                                                                                    \
    X(FLOAT64, uint64_t, INT64_MAX)
#define ROWS_TRUTH(dtype, TYPE, matter)                                                                                \
    ROWS(rows_any, dtype, TYPE, v &(TYPE)matter, a | (v & (TYPE)matter))                                               \
    ROWS(rows_all, dtype, TYPE, v &(TYPE)matter, (v & (TYPE)matter) == 0 ? 0 : a)
TRUTH_TYPES(ROWS_TRUTH)
#define TRUTHS(name)                                                                                                   \
    {                                                                                                                  \
        [RT_BOOL] = name##_BITS8, [RT_INT8] = name##_BITS8, [RT_UINT8] = name##_BITS8, [RT_INT16] = name##_BITS16,     \
        [RT_UINT16] = name##_BITS16, [RT_INT32] = name##_BITS32, [RT_UINT32] = name##_BITS32,                          \
        [RT_INT64] = name##_BITS64, [RT_UINT64] = name##_BITS64, [RT_FLOAT16] = name##_FLOAT16,                        \
        [RT_BFLOAT16] = name##_FLOAT16, [RT_FLOAT32] = name##_FLOAT32, [RT_FLOAT64] = name##_FLOAT64                   \
    }

/* Each value adds to one of LANES counts as wide as itself, as often as that cannot overflow. */
#define TRUE_LANES 256 /* bytes */
#define COUNT_TRUE(dtype, TYPE, COUNT, is_true)                                                                        \
    static size_t count_true_##dtype(const void *memory, size_t n)                                                     \
    {                                                                                                                  \
        enum { LANES = TRUE_LANES / sizeof(TYPE) };                                                                    \
        const TYPE *from = memory;                                                                                     \
        size_t count = 0, i = 0;                                                                                       \
        while (n - i >= LANES) {                                                                                       \
            COUNT lanes[LANES] = {0};                                                                                  \
            for (size_t round = 0; round < UINT8_MAX && n - i >= LANES; round++, i += LANES)                           \
                for (size_t k = 0; k < LANES; k++) {                                                                   \
                    const TYPE v = from[i + k];                                                                        \
                    lanes[k] = (COUNT)(lanes[k] + (is_true));                                                          \
                }                                                                                                      \
            for (size_t k = 0; k < LANES; k++) count += (size_t)lanes[k];                                              \
        }                                                                                                              \
        for (; i < n; i++) {                                                                                           \
            const TYPE v = from[i];                                                                                    \
            count += (is_true);                                                                                        \
        }                                                                                                              \
        return count;                                                                                                  \
    }
#define COUNTED_TYPES(X)                                                                                               \
    X(INT8, uint8_t, uint8_t, v != 0)                                                                                  \
    X(INT16, uint16_t, uint16_t, v != 0)                                                                               \
    X(INT32, uint32_t, uint32_t, v != 0)                                                                               \
    X(INT64, uint64_t, uint64_t, v != 0)                                                                               \
    X(FLOAT16, uint16_t, uint16_t, (v & 0x7fff) != 0)                                                                  \
    X(FLOAT32, float, uint32_t, v != 0)                                                                                \
    X(FLOAT64, double, uint64_t, v != 0)
COUNTED_TYPES(COUNT_TRUE)

/* As many values at a time as a sum of them cannot overflow. */
#define SUMMED 32768
#define SUM(dtype, TYPE, PART)                                                                                         \
    static size_t sum_##dtype(const void *memory, size_t n)                                                            \
    {                                                                                                                  \
        const TYPE *from = memory;                                                                                     \
        size_t sum = 0;                                                                                                \
        for (size_t some; n > 0; n -= some, from += some) {                                                            \
            PART part = 0;                                                                                             \
            some = n < SUMMED ? n : SUMMED;                                                                            \
            for (size_t i = 0; i < some; i++) part += from[i];                                                         \
            sum += (size_t)part;                                                                                       \
        }                                                                                                              \
        return sum;                                                                                                    \
    }
SUM(INT8, int8_t, int32_t)
SUM(INT16, int16_t, int32_t)
SUM(INT32, int32_t, int64_t)
SUM(UINT8, uint8_t, int32_t)
SUM(UINT16, uint16_t, int32_t)
SUM(UINT32, uint32_t, int64_t)
#if defined __AVX2__
/* Bytes by the instruction that adds up eight of them; `more` makes all of them positive. */
#define SUM_BYTES(dtype, TYPE, more)                                                                                   \
    static size_t sum_bytes_##dtype(const void *memory, size_t n)                                                      \
    {                                                                                                                  \
        const __m256i none = _mm256_setzero_si256(), turn = _mm256_set1_epi8((char)(more));                            \
        const TYPE *from = memory;                                                                                     \
        __m256i sums = none;                                                                                           \
        uint64_t part[4];                                                                                              \
        size_t i = 0;                                                                                                  \
        for (; i + sizeof sums <= n; i += sizeof sums) {                                                               \
            const __m256i some =                                                                                       \
                _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)(const void *)(from + i)), turn);                 \
            sums = _mm256_add_epi64(sums, _mm256_sad_epu8(some, none));                                                \
        }                                                                                                              \
        memcpy(part, &sums, sizeof part);                                                                              \
        return part[0] + part[1] + part[2] + part[3] - i * (more) + sum_##dtype(from + i, n - i);                      \
    }
SUM_BYTES(INT8, int8_t, 128)
SUM_BYTES(UINT8, uint8_t, 0)
#define sum_INT8  sum_bytes_INT8
#define sum_UINT8 sum_bytes_UINT8
#endif

#include "kernels/loops_apart.h"

/* Conversions of elements as they lie in memory: more bits keep the sign, fewer are the lowest ones. */
#define CONVERT(name, FROM, TO, value)                                                                                 \
    static void name(void *out, const void *in, size_t n)                                                              \
    {                                                                                                                  \
        const FROM *from = in;                                                                                         \
        TO *to = out;                                                                                                  \
        INDEPENDENT for (size_t i = 0; i < n; i++)                                                                     \
        {                                                                                                              \
            const FROM v = from[i];                                                                                    \
            to[i] = (TO)(value);                                                                                       \
        }                                                                                                              \
    }
CONVERT(bits_8_16, uint8_t, uint16_t, v)
CONVERT(bits_8_32, uint8_t, uint32_t, v)
CONVERT(bits_16_32, uint16_t, uint32_t, v)
CONVERT(sign_8_16, int8_t, int16_t, v)
CONVERT(sign_8_32, int8_t, int32_t, v)
CONVERT(sign_16_32, int16_t, int32_t, v)
CONVERT(bits_8_8, uint8_t, uint8_t, v)
CONVERT(bits_16_8, uint16_t, uint8_t, v)
CONVERT(bits_32_8, uint32_t, uint8_t, v)
CONVERT(bits_64_8, uint64_t, uint8_t, v)
CONVERT(bits_16_16, uint16_t, uint16_t, v)
CONVERT(bits_32_16, uint32_t, uint16_t, v)
CONVERT(bits_64_16, uint64_t, uint16_t, v)
CONVERT(bits_32_32, uint32_t, uint32_t, v)
CONVERT(bits_64_32, uint64_t, uint32_t, v)
CONVERT(bits_32_64, uint32_t, uint64_t, v)
CONVERT(sign_32_64, int32_t, int64_t, v)
CONVERT(bits_8_64, uint8_t, uint64_t, v)
CONVERT(bits_16_64, uint16_t, uint64_t, v)
CONVERT(sign_8_64, int8_t, int64_t, v)
CONVERT(sign_16_64, int16_t, int64_t, v)
CONVERT(true_8, uint8_t, uint8_t, v != 0)
CONVERT(true_16, uint16_t, uint8_t, v != 0)
CONVERT(true_32, uint32_t, uint8_t, v != 0)
CONVERT(true_64, uint64_t, uint8_t, v != 0)
/* Floats to integers, the same as in loops.c. They are limited in a step of their own: in one with the conversion
 * compilers make selections of the limit's conversions, which take twice the time. */
#define CUT_AT_ONCE 256
#define CUT(FROM, FLOAT, dtype, TYPE, min, max)                                                                        \
    static void FROM##_##dtype(void *out, const void *in, size_t n)                                                    \
    {                                                                                                                  \
        TYPE *to = out;                                                                                                \
        FLOAT limited[CUT_AT_ONCE];                                                                                    \
        for (size_t some; n > 0; n -= some, to += some) {                                                              \
            const FLOAT *from = (const FLOAT *)in + (to - (TYPE *)out);                                                \
            some = n < CUT_AT_ONCE ? n : CUT_AT_ONCE;                                                                  \
            for (size_t i = 0; i < some; i++) {                                                                        \
                const FLOAT v = from[i], low = v < (FLOAT)max ? v : (FLOAT)max;                                        \
                limited[i] = v != v ? 0 : low > (FLOAT)min ? low : (FLOAT)min;                                         \
            }                                                                                                          \
            for (size_t i = 0; i < some; i++) to[i] = (TYPE)limited[i];                                                \
        }                                                                                                              \
    }
#define CUT_TYPES(X, ...)                                                                                              \
    X(__VA_ARGS__, INT8, int8_t, INT8_MIN, INT8_MAX)                                                                   \
    X(__VA_ARGS__, INT16, int16_t, INT16_MIN, INT16_MAX)                                                               \
    X(__VA_ARGS__, UINT8, uint8_t, 0, UINT8_MAX)                                                                       \
    X(__VA_ARGS__, UINT16, uint16_t, 0, UINT16_MAX)
CUT_TYPES(CUT, FLOAT32, float)
CUT_TYPES(CUT, FLOAT64, double)
#if defined __AVX512F__
/* The same by the instructions that convert, which make the least int32 of NaN and of what is less: integers with a
 * sign are then saturated by those that narrow, and of NaN only the lanes are left out. */
#define CUT_WIDE(FROM, FLOAT, S, VECTOR, dtype, TYPE, max, integers)                                                   \
    static void FROM##_##dtype##_wide(void *out, const void *in, size_t n)                                             \
    {                                                                                                                  \
        enum { LANES = 64 / sizeof(FLOAT) };                                                                           \
        const VECTOR most = _mm512_set1_##S((FLOAT)max), least = _mm512_setzero_##S();                                 \
        const FLOAT *from = in;                                                                                        \
        TYPE *to = out;                                                                                                \
        size_t i = 0;                                                                                                  \
        (void)least;                                                                                                   \
        for (; i + LANES <= n; i += LANES) {                                                                           \
            const VECTOR v = _mm512_loadu_##S(from + i);                                                               \
            integers;                                                                                                  \
        }                                                                                                              \
        if (i < n) FROM##_##dtype(to + i, from + i, n - i);                                                            \
    }
#define ORDERED(S)      _mm512_cmp_##S##_mask(v, v, _CMP_ORD_Q)
#define SIGNED(S)       _mm512_maskz_cvtt##S##_epi32(ORDERED(S), _mm512_min_##S(v, most))
#define UNSIGNED(S)     _mm512_cvtt##S##_epi32(_mm512_min_##S(_mm512_max_##S(v, least), most)) /* of NaN the least */
#define STORE_8(v)      _mm_storel_epi64((__m128i *)(void *)(to + i), v)
#define STORE_16(v)     _mm_storeu_si128((__m128i *)(void *)(to + i), v)
#define STORE_32(v)     _mm256_storeu_si256((__m256i *)(void *)(to + i), v)
#define CUT_FLOAT(...)  CUT_WIDE(FLOAT32, float, ps, __m512, __VA_ARGS__)
#define CUT_DOUBLE(...) CUT_WIDE(FLOAT64, double, pd, __m512d, __VA_ARGS__)
CUT_FLOAT(INT8, int8_t, INT8_MAX, STORE_16(_mm512_cvtsepi32_epi8(SIGNED(ps))))
CUT_FLOAT(INT16, int16_t, INT16_MAX, STORE_32(_mm512_cvtsepi32_epi16(SIGNED(ps))))
CUT_FLOAT(UINT8, uint8_t, UINT8_MAX, STORE_16(_mm512_cvtepi32_epi8(UNSIGNED(ps))))
CUT_FLOAT(UINT16, uint16_t, UINT16_MAX, STORE_32(_mm512_cvtepi32_epi16(UNSIGNED(ps))))
CUT_DOUBLE(INT8, int8_t, INT8_MAX, STORE_8(_mm256_cvtsepi32_epi8(SIGNED(pd))))
CUT_DOUBLE(INT16, int16_t, INT16_MAX, STORE_16(_mm256_cvtsepi32_epi16(SIGNED(pd))))
CUT_DOUBLE(UINT8, uint8_t, UINT8_MAX, STORE_8(_mm256_cvtepi32_epi8(UNSIGNED(pd))))
CUT_DOUBLE(UINT16, uint16_t, UINT16_MAX, STORE_16(_mm256_cvtepi32_epi16(UNSIGNED(pd))))
#elif defined __AVX2__
/* Sixteen at a time, limited as above with 0 for NaN and converted to int32, of which two steps pack those that narrow.
 */
#define LIMIT(S, v) _mm256_max_##S(_mm256_min_##S(_mm256_and_##S(v, _mm256_cmp_##S(v, v, _CMP_ORD_Q)), most), least)
#define CUT_WIDE(FROM, FLOAT, S, VECTOR, fours, dtype, TYPE, min, max, store)                                          \
    static void FROM##_##dtype##_wide(void *out, const void *in, size_t n)                                             \
    {                                                                                                                  \
        const VECTOR most = _mm256_set1_##S((FLOAT)max), least = _mm256_set1_##S((FLOAT)min);                          \
        const FLOAT *from = in;                                                                                        \
        TYPE *to = out;                                                                                                \
        size_t i = 0;                                                                                                  \
        for (; i + 16 <= n; i += 16) {                                                                                 \
            fours(from + i);                                                                                           \
            store(to + i);                                                                                             \
        }                                                                                                              \
        if (i < n) FROM##_##dtype(to + i, from + i, n - i);                                                            \
    }
#define FOUR_DOUBLES(p) _mm256_cvttpd_epi32(LIMIT(pd, _mm256_loadu_pd(p)))
#define DOUBLES(p)                                                                                                     \
    const __m128i a = FOUR_DOUBLES(p), b = FOUR_DOUBLES((p) + 4), c = FOUR_DOUBLES((p) + 8), d = FOUR_DOUBLES((p) + 12)
#define EIGHT_FLOATS(p)         _mm256_cvttps_epi32(LIMIT(ps, _mm256_loadu_ps(p)))
#define HALVES_OF(v, low, high) const __m128i low = _mm256_castsi256_si128(v), high = _mm256_extracti128_si256(v, 1)
#define FLOATS(p)                                                                                                      \
    const __m256i ab = EIGHT_FLOATS(p), cd = EIGHT_FLOATS((p) + 8);                                                    \
    HALVES_OF(ab, a, b);                                                                                               \
    HALVES_OF(cd, c, d)
#define STORE(p, v)                        _mm_storeu_si128((__m128i *)(void *)(p), v)
#define STORE_INT8(p)                      STORE(p, _mm_packs_epi16(_mm_packs_epi32(a, b), _mm_packs_epi32(c, d)))
#define STORE_UINT8(p)                     STORE(p, _mm_packus_epi16(_mm_packs_epi32(a, b), _mm_packs_epi32(c, d)))
#define STORE_INT16(p)                     STORE(p, _mm_packs_epi32(a, b)), STORE((p) + 8, _mm_packs_epi32(c, d))
#define STORE_UINT16(p)                    STORE(p, _mm_packus_epi32(a, b)), STORE((p) + 8, _mm_packus_epi32(c, d))
#define CUT_FLOAT(...)                     CUT_WIDE(FLOAT32, float, ps, __m256, FLOATS, __VA_ARGS__)
#define CUT_DOUBLE(...)                    CUT_WIDE(FLOAT64, double, pd, __m256d, DOUBLES, __VA_ARGS__)
#define CUT_TO(CUT, dtype, TYPE, min, max) CUT(dtype, TYPE, min, max, STORE_##dtype)
CUT_TO(CUT_FLOAT, INT8, int8_t, INT8_MIN, INT8_MAX)
CUT_TO(CUT_FLOAT, INT16, int16_t, INT16_MIN, INT16_MAX)
CUT_TO(CUT_FLOAT, UINT8, uint8_t, 0, UINT8_MAX)
CUT_TO(CUT_FLOAT, UINT16, uint16_t, 0, UINT16_MAX)
CUT_TO(CUT_DOUBLE, INT8, int8_t, INT8_MIN, INT8_MAX)
CUT_TO(CUT_DOUBLE, INT16, int16_t, INT16_MIN, INT16_MAX)
CUT_TO(CUT_DOUBLE, UINT8, uint8_t, 0, UINT8_MAX)
CUT_TO(CUT_DOUBLE, UINT16, uint16_t, 0, UINT16_MAX)
#endif
#if defined __AVX2__
#define FLOAT32_INT8   FLOAT32_INT8_wide
#define FLOAT32_INT16  FLOAT32_INT16_wide
#define FLOAT32_UINT8  FLOAT32_UINT8_wide
#define FLOAT32_UINT16 FLOAT32_UINT16_wide
#define FLOAT64_INT8   FLOAT64_INT8_wide
#define FLOAT64_INT16  FLOAT64_INT16_wide
#define FLOAT64_UINT8  FLOAT64_UINT8_wide
#define FLOAT64_UINT16 FLOAT64_UINT16_wide
#endif
CUT(FLOAT64, double, UINT32, uint32_t, 0, UINT32_MAX)
CONVERT(FLOAT32_UINT32, float, uint32_t, SATURATED(uint32_t, 0, UINT32_MAX, 0, 0x1p32f))
#define WITH_FLOATS(dtype, TYPE)                                                                                       \
    CONVERT(dtype##_FLOAT32, TYPE, float, v)                                                                           \
    CONVERT(dtype##_FLOAT64, TYPE, double, v)
WITH_FLOATS(INT8, int8_t)
WITH_FLOATS(INT16, int16_t)
WITH_FLOATS(UINT8, uint8_t)
WITH_FLOATS(UINT16, uint16_t)
WITH_FLOATS(UINT32, uint32_t)
/* A dtype's conversions: to bool, to 8, 16 and 32 bits. */
#define TO_ANY(true, to_8, to_16, to_32)                                                                               \
    [RT_BOOL] = true, [RT_INT8] = to_8, [RT_UINT8] = to_8, [RT_INT16] = to_16, [RT_UINT16] = to_16,                    \
    [RT_INT32] = to_32, [RT_UINT32] = to_32
#define TO_WIDE(to_64)   [RT_INT64] = to_64, [RT_UINT64] = to_64
#define TO_FLOATS(dtype) [RT_FLOAT32] = dtype##_FLOAT32, [RT_FLOAT64] = dtype##_FLOAT64
#define FROM_FLOAT(dtype)                                                                                              \
    [RT_INT8] = dtype##_INT8, [RT_INT16] = dtype##_INT16, [RT_UINT8] = dtype##_UINT8, [RT_UINT16] = dtype##_UINT16,    \
    [RT_UINT32] = dtype##_UINT32

const struct kn_narrow_loops KN_NARROW_LEVEL = {
    .ops =
        {
#define NARROW_ENTRY(exists, id, dtype) [RT_##dtype] = ENTRY(exists, id, dtype)
#define KN_OP(id, name, arity, rule, ints, floats, symbol, doc, example)                                               \
    {NARROW_ENTRY(KN_INTS_##rule, id, INT8), NARROW_ENTRY(KN_INTS_##rule, id, INT16),                                  \
     NARROW_ENTRY(KN_INTS_##rule, id, UINT8), NARROW_ENTRY(KN_INTS_##rule, id, UINT16),                                \
     NARROW_ENTRY(KN_INTS_##rule, id, UINT32)},
#include "kernels/ops.def"
#define BITS_ENTRY(id, arity, rule, value, dtype) [KN_##id][RT_##dtype] = id##_##dtype,
            BITS_OPS(BITS_ENTRY, FLOAT16) BITS_OPS(BITS_ENTRY, BFLOAT16)},
#define EXTREME_ENTRY(name, dtype, TYPE) [RT_##dtype] = name##_##dtype,
    .least = {NARROW_TYPES(EXTREME_ENTRY, least)},
    .greatest = {NARROW_TYPES(EXTREME_ENTRY, greatest)},
    .rows_least = {NARROW_TYPES(EXTREME_ENTRY, rows_least)},
    .rows_greatest = {NARROW_TYPES(EXTREME_ENTRY, rows_greatest)},
    .rows_add = {[RT_INT8] = rows_add_BITS8,
                 [RT_UINT8] = rows_add_BITS8,
                 [RT_INT16] = rows_add_BITS16,
                 [RT_UINT16] = rows_add_BITS16},
    .rows_any = TRUTHS(rows_any),
    .rows_all = TRUTHS(rows_all),
    .gather = {gather_1, gather_2, gather_4, gather_8, gather_16},
    .spread = {spread_1, spread_2, spread_4, spread_8, spread_16},
    .convert =
        {[RT_BOOL] = {TO_ANY(bits_8_8, bits_8_8, bits_8_16, bits_8_32), TO_WIDE(bits_8_64)},
         [RT_INT8] = {TO_ANY(true_8, bits_8_8, sign_8_16, sign_8_32), TO_WIDE(sign_8_64), TO_FLOATS(INT8)},
         [RT_UINT8] = {TO_ANY(true_8, bits_8_8, bits_8_16, bits_8_32), TO_WIDE(bits_8_64), TO_FLOATS(UINT8)},
         [RT_INT16] = {TO_ANY(true_16, bits_16_8, bits_16_16, sign_16_32), TO_WIDE(sign_16_64), TO_FLOATS(INT16)},
         [RT_UINT16] = {TO_ANY(true_16, bits_16_8, bits_16_16, bits_16_32), TO_WIDE(bits_16_64), TO_FLOATS(UINT16)},
         [RT_INT32] = {TO_ANY(true_32, bits_32_8, bits_32_16, bits_32_32), TO_WIDE(sign_32_64)},
         [RT_UINT32] = {TO_ANY(true_32, bits_32_8, bits_32_16, bits_32_32), TO_WIDE(bits_32_64), TO_FLOATS(UINT32)},
         [RT_INT64] = {TO_ANY(true_64, bits_64_8, bits_64_16, bits_64_32)},
         [RT_UINT64] = {TO_ANY(true_64, bits_64_8, bits_64_16, bits_64_32)},
         [RT_FLOAT32] = {FROM_FLOAT(FLOAT32)},
         [RT_FLOAT64] = {FROM_FLOAT(FLOAT64)}},
    .sum = {[RT_INT8] = sum_INT8,
            [RT_INT16] = sum_INT16,
            [RT_INT32] = sum_INT32,
            [RT_UINT8] = sum_UINT8,
            [RT_UINT16] = sum_UINT16,
            [RT_UINT32] = sum_UINT32},
    .count_true = {[RT_BOOL] = count_true_INT8,
                   [RT_INT8] = count_true_INT8,
                   [RT_UINT8] = count_true_INT8,
                   [RT_INT16] = count_true_INT16,
                   [RT_UINT16] = count_true_INT16,
                   [RT_INT32] = count_true_INT32,
                   [RT_UINT32] = count_true_INT32,
                   [RT_INT64] = count_true_INT64,
                   [RT_UINT64] = count_true_INT64,
                   [RT_FLOAT16] = count_true_FLOAT16,
                   [RT_BFLOAT16] = count_true_FLOAT16,
                   [RT_FLOAT32] = count_true_FLOAT32,
                   [RT_FLOAT64] = count_true_FLOAT64},
};
#endif
