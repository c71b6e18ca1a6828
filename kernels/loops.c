/* The typed inner loops, expanded from ops.def. This text is included by loops_base.c, loops_v3.c and loops_v4.c, which
 * set KN_LEVEL to the name of their table, KN_NARROW and KN_PRODUCT to those of narrow types and of matrix products;
 * the Makefile compiles them with the instruction sets that the names say. It is empty when compiled by itself. */
#ifdef KN_LEVEL
#pragma GCC diagnostic ignored "-Wtype-limits" /* a < 0 of unsigned types, in expressions that serve all types */
#include "kernels/loops.h"
#include "kernels/loops_complex.h"
#include "kernels/loops_emit.h"
#include "kernels/loops_extreme.h"
#include "kernels/loops_names.h"
#include <string.h>
#if defined __F16C__
#include <immintrin.h>
#endif

#define KN_OP(id, name, arity, rule, ints, floats, symbol, doc, example)                                               \
    EMIT(KN_BOOLS_##rule, id, B, arity, rule, uint8_t, uint8_t, ints)                                                  \
    EMIT(KN_INTS_##rule, id, I32, arity, rule, int32_t, uint32_t, ints)                                                \
    EMIT(KN_INTS_##rule, id, I64, arity, rule, int64_t, uint64_t, ints)                                                \
    EMIT(KN_INTS_##rule, id, U64, arity, rule, uint64_t, uint64_t, ints)                                               \
    EMIT(KN_FLOATS_##rule, id, F32, arity, rule, float, uint32_t, floats)                                              \
    EMIT(KN_FLOATS_##rule, id, F64, arity, rule, double, uint64_t, floats)
#define KN_COMPLEX_OP(id, name, arity, rule, ints, floats, symbol, doc, example)                                       \
    KN_OP(id, name, arity, rule, ints, floats, symbol, doc, example)                                                   \
    EMIT_1(id, C64, arity, rule, c64, uint32_t, floats)                                                                \
    EMIT_1(id, C128, arity, rule, c128, uint64_t, floats)
#include "kernels/ops.def"

#define COMPLEX_LOOPS(id, name)                                                                                        \
    LOOP(mul_##id, name, name, OPERANDS_2(name, name), BODY(name, times_##name(a, b)))                                 \
    LOOP(div_##id, name, name, OPERANDS_2(name, name), BODY(name, over_##name(a, b)))                                  \
    LOOP(lerp_##id, name, name, OPERANDS_3(name, name), BODY(name, a + times_##name(c, b - a)))
COMPLEX_LOOPS(C64, c64)
COMPLEX_LOOPS(C128, c128)
#define MUL_C64   mul_C64
#define DIV_C64   div_C64
#define LERP_C64  lerp_C64
#define MUL_C128  mul_C128
#define DIV_C128  div_C128
#define LERP_C128 lerp_C128

/* Loads and stores. MEMORY is the type in memory, TYPE the class's; get and put convert one value `v`. */
#define LOAD(id, MEMORY, TYPE, get)                                                                                    \
    static void load_##id(void *out, const void *memory, ptrdiff_t stride, size_t n)                                   \
    {                                                                                                                  \
        const MEMORY *from = memory;                                                                                   \
        TYPE *to = out;                                                                                                \
        if (stride == 1) {                                                                                             \
            INDEPENDENT for (size_t i = 0; i < n; i++)                                                                 \
            {                                                                                                          \
                const MEMORY v = from[i];                                                                              \
                to[i] = get;                                                                                           \
            }                                                                                                          \
        } else {                                                                                                       \
            INDEPENDENT for (size_t i = 0; i < n; i++)                                                                 \
            {                                                                                                          \
                const MEMORY v = from[(ptrdiff_t)i * stride];                                                          \
                to[i] = get;                                                                                           \
            }                                                                                                          \
        }                                                                                                              \
    }
#define STORE(id, MEMORY, TYPE, put)                                                                                   \
    static void store_##id(void *memory, ptrdiff_t stride, const void *in, size_t n)                                   \
    {                                                                                                                  \
        MEMORY *to = memory;                                                                                           \
        const TYPE *from = in;                                                                                         \
        if (stride == 1) {                                                                                             \
            INDEPENDENT for (size_t i = 0; i < n; i++)                                                                 \
            {                                                                                                          \
                const TYPE v = from[i];                                                                                \
                to[i] = put;                                                                                           \
            }                                                                                                          \
        } else {                                                                                                       \
            INDEPENDENT for (size_t i = 0; i < n; i++)                                                                 \
            {                                                                                                          \
                const TYPE v = from[i];                                                                                \
                to[(ptrdiff_t)i * stride] = put;                                                                       \
            }                                                                                                          \
        }                                                                                                              \
    }
/* How each dtype lies in memory: id, type there, class, class's type, loading, storing. */
#define MEMORY_TYPES(X)                                                                                                \
    X(BOOL, uint8_t, B, uint8_t, v != 0, v)                                                                            \
    X(INT8, int8_t, I32, int32_t, v, (int8_t)v)                                                                        \
    X(INT16, int16_t, I32, int32_t, v, (int16_t)v)                                                                     \
    X(INT32, int32_t, I32, int32_t, v, v)                                                                              \
    X(INT64, int64_t, I64, int64_t, v, v)                                                                              \
    X(UINT8, uint8_t, I32, int32_t, v, (uint8_t)v)                                                                     \
    X(UINT16, uint16_t, I32, int32_t, v, (uint16_t)v)                                                                  \
    X(UINT32, uint32_t, I64, int64_t, v, (uint32_t)v)                                                                  \
    X(UINT64, uint64_t, U64, uint64_t, v, v)                                                                           \
    X(FLOAT16, uint16_t, F32, float, rt_half_to_float(v), rt_half_from_float(v))                                       \
    X(BFLOAT16, uint16_t, F32, float, rt_bfloat_to_float(v), rt_bfloat_from_float(v))                                  \
    X(FLOAT32, float, F32, float, v, v)                                                                                \
    X(FLOAT64, double, F64, double, v, v)                                                                              \
    X(COMPLEX64, c64, C64, c64, v, v)                                                                                  \
    X(COMPLEX128, c128, C128, c128, v, v)
#define X(id, MEMORY, class, TYPE, get, put) LOAD(id, MEMORY, TYPE, get) STORE(id, MEMORY, TYPE, put)
MEMORY_TYPES(X)
#undef X

#if defined __F16C__
/* Of float16 by the instructions that convert, which say the same. */
#define HALVES 8
static void load_half(void *out, const void *memory, ptrdiff_t stride, size_t n)
{
    const uint16_t *from = memory;
    float *to = out;
    size_t i = 0;
    for (; stride == 1 && i + HALVES <= n; i += HALVES)
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from + i))));
    load_FLOAT16(to + i, from + (ptrdiff_t)i * stride, stride, n - i);
}

static void store_half(void *memory, ptrdiff_t stride, const void *in, size_t n)
{
    uint16_t *to = memory;
    const float *from = in;
    size_t i = 0;
    for (; stride == 1 && i + HALVES <= n; i += HALVES)
        _mm_storeu_si128((__m128i *)(to + i), _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
    store_FLOAT16(to + (ptrdiff_t)i * stride, stride, from + i, n - i);
}
#define load_FLOAT16  load_half
#define store_FLOAT16 store_half
#endif

/* Conversions. Floats to integers truncate and saturate, NaN gives 0; integers wrap. */
#define HALF(v)   rt_half_to_float(rt_half_from_float((float)(v)))
#define BFLOAT(v) rt_bfloat_to_float(rt_bfloat_from_float((float)(v)))
/* To each dtype: id, its class's type, the value from an integer v, from a floating v. */
#define TARGETS(X, ...)                                                                                                \
    X(BOOL, uint8_t, v != 0, v != 0, __VA_ARGS__)                                                                      \
    X(INT8, int32_t, (int8_t)v, SATURATED(int32_t, INT8_MIN, INT8_MAX, -0x1p7f, 0x1p7f), __VA_ARGS__)                  \
    X(INT16, int32_t, (int16_t)v, SATURATED(int32_t, INT16_MIN, INT16_MAX, -0x1p15f, 0x1p15f), __VA_ARGS__)            \
    X(INT32, int32_t, (int32_t)v, SATURATED(int32_t, INT32_MIN, INT32_MAX, -0x1p31f, 0x1p31f), __VA_ARGS__)            \
    X(INT64, int64_t, (int64_t)v, SATURATED(int64_t, INT64_MIN, INT64_MAX, -0x1p63f, 0x1p63f), __VA_ARGS__)            \
    X(UINT8, int32_t, (uint8_t)v, SATURATED(int32_t, 0, UINT8_MAX, 0, 0x1p8f), __VA_ARGS__)                            \
    X(UINT16, int32_t, (uint16_t)v, SATURATED(int32_t, 0, UINT16_MAX, 0, 0x1p16f), __VA_ARGS__)                        \
    X(UINT32, int64_t, (uint32_t)v, SATURATED(int64_t, 0, UINT32_MAX, 0, 0x1p32f), __VA_ARGS__)                        \
    X(UINT64, uint64_t, (uint64_t)v, SATURATED(uint64_t, 0, UINT64_MAX, 0, 0x1p64f), __VA_ARGS__)                      \
    X(FLOAT16, float, HALF(v), HALF(v), __VA_ARGS__)                                                                   \
    X(BFLOAT16, float, BFLOAT(v), BFLOAT(v), __VA_ARGS__)                                                              \
    X(FLOAT32, float, (float)v, (float)v, __VA_ARGS__)                                                                 \
    X(FLOAT64, double, (double)v, (double)v, __VA_ARGS__)                                                              \
    COMPLEX_TARGETS(X, __VA_ARGS__)
#define COMPLEX_TARGETS(X, ...)                                                                                        \
    X(COMPLEX64, c64, v, v, __VA_ARGS__)                                                                               \
    X(COMPLEX128, c128, v, v, __VA_ARGS__)
/* Complex numbers become no real ones but truths. */
#define FROM_COMPLEX(X, ...)                                                                                           \
    X(BOOL, uint8_t, v != 0, v != 0, __VA_ARGS__)                                                                      \
    COMPLEX_TARGETS(X, __VA_ARGS__)
#define CONVERT(class, id, FROM, TYPE, value)                                                                          \
    __attribute__((unused)) static void convert_##class##_##id(void *out, const void *in, size_t n)                    \
    {                                                                                                                  \
        const FROM *from = in;                                                                                         \
        TYPE *to = out;                                                                                                \
        INDEPENDENT for (size_t i = 0; i < n; i++)                                                                     \
        {                                                                                                              \
            const FROM v = from[i];                                                                                    \
            to[i] = (TYPE)(value);                                                                                     \
        }                                                                                                              \
    }
#define FROM_INT(id, TYPE, ints, floats, class, FROM)   CONVERT(class, id, FROM, TYPE, ints)
#define FROM_FLOAT(id, TYPE, ints, floats, class, FROM) CONVERT(class, id, FROM, TYPE, floats)
TARGETS(FROM_INT, B, uint8_t)
TARGETS(FROM_INT, I32, int32_t)
TARGETS(FROM_INT, I64, int64_t)
TARGETS(FROM_INT, U64, uint64_t)
TARGETS(FROM_FLOAT, F32, float)
TARGETS(FROM_FLOAT, F64, double)
FROM_COMPLEX(FROM_FLOAT, C64, c64)
FROM_COMPLEX(FROM_FLOAT, C128, c128)

#include "kernels/loops_whole.h"
#include "kernels/loops_parted.h"
#include "kernels/loops_quotients.h"
#include "kernels/loops_steps.h"
#include "kernels/loops_special.h"
#include "kernels/loops_exponents.h"
#include "kernels/loops_gcd.h"
#include "kernels/loops_places.h"
#include "kernels/loops_masks.h"
#include "kernels/loops_lanes.h"
#include "kernels/loops_finite.h"

#include "kernels/loops_keep.h"

#if defined __F16C__
static void round_to_half(void *out, const void *in, size_t n)
{
    const float *from = in;
    float *to = out;
    size_t i = 0;
    for (; i + HALVES <= n; i += HALVES)
        _mm256_storeu_ps(to + i,
                         _mm256_cvtph_ps(_mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT)));
    convert_F32_FLOAT16(to + i, from + i, n - i);
}
#define convert_F32_FLOAT16 round_to_half
#define TO_HALF(class)                                                                                                 \
    static void class##_to_half(void *out, const void *in, size_t n)                                                   \
    {                                                                                                                  \
        convert_##class##_FLOAT32(out, in, n);                                                                         \
        round_to_half(out, out, n);                                                                                    \
    }
TO_HALF(B)
TO_HALF(I32)
TO_HALF(I64)
TO_HALF(U64)
TO_HALF(F64)
#define convert_B_FLOAT16   B_to_half
#define convert_I32_FLOAT16 I32_to_half
#define convert_I64_FLOAT16 I64_to_half
#define convert_U64_FLOAT16 U64_to_half
#define convert_F64_FLOAT16 F64_to_half
#endif

/* Some rows at a time, which is nearly twice as fast as one by one. Of extremes, which are the same in any order of the
 * pairs (of equal ones the last, of NaNs the first), in pairs: those do not wait for each other. */
#define IN_PAIRS_ADD     false
#define IN_PAIRS_MUL     false
#define IN_PAIRS_MINIMUM true
#define IN_PAIRS_MAXIMUM true
#define EACH(expression) INDEPENDENT for (size_t i = 0; i < n; i++) to[i] = expression
#define ROWS(id, class, TYPE, expression)                                                                              \
    static inline TYPE two_##id##_##class(TYPE a, TYPE b)                                                              \
    {                                                                                                                  \
        return expression;                                                                                             \
    }                                                                                                                  \
    static inline TYPE four_##id##_##class(TYPE to, TYPE a, TYPE b, TYPE c, TYPE d)                                    \
    {                                                                                                                  \
        if (IN_PAIRS_##id) {                                                                                           \
            TYPE left = two_##id##_##class(a, b), right = two_##id##_##class(c, d);                                    \
            return two_##id##_##class(to, two_##id##_##class(left, right));                                            \
        }                                                                                                              \
        return two_##id##_##class(two_##id##_##class(two_##id##_##class(two_##id##_##class(to, a), b), c), d);         \
    }                                                                                                                  \
    static void rows_##id##_##class(void *out, const void *rows, ptrdiff_t stride, size_t count, bool more, size_t n)  \
    {                                                                                                                  \
        const TYPE *a = rows, *b = a + stride, *c = b + stride, *d = c + stride, *e = d + stride, *f = e + stride,     \
                   *g = f + stride, *h = g + stride;                                                                   \
        TYPE *to = out;                                                                                                \
        switch (2 * count + more) {                                                                                    \
        case 2: EACH(a[i]); break;                                                                                     \
        case 3: EACH(two_##id##_##class(to[i], a[i])); break;                                                          \
        case 4: EACH(two_##id##_##class(a[i], b[i])); break;                                                           \
        case 5: EACH(two_##id##_##class(two_##id##_##class(to[i], a[i]), b[i])); break;                                \
        case 6: EACH(two_##id##_##class(two_##id##_##class(a[i], b[i]), c[i])); break;                                 \
        case 7: EACH(two_##id##_##class(two_##id##_##class(two_##id##_##class(to[i], a[i]), b[i]), c[i])); break;      \
        case 8: EACH(two_##id##_##class(two_##id##_##class(two_##id##_##class(a[i], b[i]), c[i]), d[i])); break;       \
        case 16:                                                                                                       \
            EACH(two_##id##_##class(                                                                                   \
                two_##id##_##class(two_##id##_##class(four_##id##_##class(a[i], b[i], c[i], d[i], e[i]), f[i]), g[i]), \
                h[i]));                                                                                                \
            break;                                                                                                     \
        case 9: EACH(four_##id##_##class(to[i], a[i], b[i], c[i], d[i])); break;                                       \
        case 17:                                                                                                       \
            EACH(four_##id##_##class(four_##id##_##class(to[i], a[i], b[i], c[i], d[i]), e[i], f[i], g[i], h[i]));     \
            break;                                                                                                     \
        default: rows_##id##_##class(to, a, stride, 4, more, n);                                                       \
            rows_##id##_##class(to, e, stride, count - 4, true, n);                                                    \
        }                                                                                                              \
    }
#define ROWS_OPS(X)                                                                                                    \
    X(ADD, F32, float, a + b)                                                                                          \
    X(ADD, F64, double, a + b)                                                                                         \
    X(ADD, I64, int64_t, (int64_t)((uint64_t)a + (uint64_t)b))                                                         \
    X(ADD, U64, uint64_t, a + b)                                                                                       \
    X(MUL, F32, float, a *b)                                                                                           \
    X(MUL, F64, double, a *b)                                                                                          \
    X(MUL, I64, int64_t, (int64_t)((uint64_t)a * (uint64_t)b))                                                         \
    X(MINIMUM, F32, float, a != a ? a : a < b ? a : b)                                                                 \
    X(MINIMUM, F64, double, a != a ? a : a < b ? a : b)                                                                \
    X(MINIMUM, I32, int32_t, a < b ? a : b)                                                                            \
    X(MINIMUM, I64, int64_t, a < b ? a : b)                                                                            \
    X(MINIMUM, U64, uint64_t, a < b ? a : b)                                                                           \
    X(MAXIMUM, F32, float, a != a ? a : a > b ? a : b)                                                                 \
    X(MAXIMUM, F64, double, a != a ? a : a > b ? a : b)                                                                \
    X(MAXIMUM, I32, int32_t, a > b ? a : b)                                                                            \
    X(MAXIMUM, I64, int64_t, a > b ? a : b)                                                                            \
    X(MAXIMUM, U64, uint64_t, a > b ? a : b)
ROWS_OPS(ROWS)

/* Unrolled, so that the lanes stay in registers. */
#define EACH_LANE(k) _Pragma("GCC unroll 16") for (int k = 0; k < KN_WIDE_LANES; k++)
#define SIDE_BY_SIDE 64  /* values of a row before those of the next one, */
#define ONE_BY_ONE   512 /* but for rows of no more than so many, and for two, whose lanes stay in registers together */
#define SUM_WIDE(class, TYPE, SUM)                                                                                     \
    static void sum_whole_##class(SUM * lanes, const TYPE *values, size_t n)                                           \
    {                                                                                                                  \
        SUM sums[KN_WIDE_LANES];                                                                                       \
        EACH_LANE(k) sums[k] = lanes[k];                                                                               \
        const size_t ahead = KN_AHEAD_IN(n * sizeof(TYPE));                                                            \
        for (size_t i = 0; i < n; i += KN_WIDE_LANES) {                                                                \
            for (size_t k = 0; k < KN_WIDE_LANES * sizeof(TYPE); k += KN_LINE)                                         \
                __builtin_prefetch((const char *)(values + i) + ahead + k);                                            \
            EACH_LANE(k) sums[k] += (SUM)values[i + (size_t)k];                                                        \
        }                                                                                                              \
        EACH_LANE(k) lanes[k] = sums[k];                                                                               \
    }                                                                                                                  \
    static void sum_two_##class(SUM * lanes, const TYPE *values, const TYPE *others, size_t n)                         \
    {                                                                                                                  \
        SUM sums[KN_WIDE_LANES], of_others[KN_WIDE_LANES];                                                             \
        EACH_LANE(k) sums[k] = lanes[k];                                                                               \
        EACH_LANE(k) of_others[k] = lanes[KN_WIDE_LANES + k];                                                          \
        const size_t ahead = KN_AHEAD_IN(n * sizeof(TYPE));                                                            \
        for (size_t i = 0; i < n; i += KN_WIDE_LANES) {                                                                \
            for (size_t k = 0; k < KN_WIDE_LANES * sizeof(TYPE); k += KN_LINE) {                                       \
                __builtin_prefetch((const char *)(values + i) + ahead + k);                                            \
                __builtin_prefetch((const char *)(others + i) + ahead + k);                                            \
            }                                                                                                          \
            EACH_LANE(k) sums[k] += (SUM)values[i + (size_t)k];                                                        \
            EACH_LANE(k) of_others[k] += (SUM)others[i + (size_t)k];                                                   \
        }                                                                                                              \
        EACH_LANE(k) lanes[k] = sums[k];                                                                               \
        EACH_LANE(k) lanes[KN_WIDE_LANES + k] = of_others[k];                                                          \
    }                                                                                                                  \
    static void sum_wide_##class(void *to, size_t seen, const void *from, ptrdiff_t stride, size_t rows, size_t n)     \
    {                                                                                                                  \
        SUM *lanes = to;                                                                                               \
        const TYPE *values = from;                                                                                     \
        for (; seen % KN_WIDE_LANES && n > 0; n--) lanes[seen++ % KN_WIDE_LANES] += (SUM)*values++;                    \
        size_t whole = n / KN_WIDE_LANES * KN_WIDE_LANES, step = n > ONE_BY_ONE ? SIDE_BY_SIDE : whole;                \
        if (rows == 1) step = whole;                                                                                   \
        if (rows == 2) sum_two_##class(lanes, values, values + stride, whole);                                         \
        for (size_t i = 0; rows != 2 && i < whole; i += step)                                                          \
            for (size_t row = 0; row < rows; row++)                                                                    \
                sum_whole_##class(lanes + row * KN_WIDE_LANES, values + (ptrdiff_t)row * stride + (ptrdiff_t)i,        \
                                  whole - i < step ? whole - i : step);                                                \
        for (size_t row = 0; row < rows; row++)                                                                        \
            for (size_t i = whole; i < n; i++)                                                                         \
                lanes[row * KN_WIDE_LANES + i % KN_WIDE_LANES] += (SUM)values[(ptrdiff_t)row * stride + (ptrdiff_t)i]; \
    }
SUM_WIDE(F32, float, double)
SUM_WIDE(F64, double, double)
SUM_WIDE(I64, uint64_t, uint64_t)

#define SUM_PRODUCTS(class, TYPE)                                                                                      \
    static void sum_products_##class(void *to, const void *pa, const void *pb, size_t n)                               \
    {                                                                                                                  \
        const TYPE *a = pa, *b = pb;                                                                                   \
        double *lanes = to, sums[KN_WIDE_LANES];                                                                       \
        const size_t whole = n / KN_WIDE_LANES * KN_WIDE_LANES;                                                        \
        EACH_LANE(k) sums[k] = lanes[k];                                                                               \
        for (size_t i = 0; i < whole; i += KN_WIDE_LANES)                                                              \
            EACH_LANE(k) sums[k] += (double)(a[i + (size_t)k] * b[i + (size_t)k]);                                     \
        EACH_LANE(k) lanes[k] = sums[k];                                                                               \
        for (size_t i = whole; i < n; i++) lanes[i - whole] += (double)(a[i] * b[i]);                                  \
    }
SUM_PRODUCTS(F32, float)
SUM_PRODUCTS(F64, double)

static void index_block(int64_t *block, int64_t first, size_t n)
{
    for (size_t i = 0; i < n; i++) block[i] = first + (int64_t)i;
}

static void sequence_i64(int64_t *block, int64_t start, int64_t step, size_t n)
{
    for (int32_t i = 0; i < (int32_t)n; i++) block[i] = (int64_t)((uint64_t)start + (uint64_t)i * (uint64_t)step);
}

static void sequence_f64(double *block, double start, double step, size_t n)
{
    for (int32_t i = 0; i < (int32_t)n; i++) block[i] = start + (double)i * step;
}

/* Indices. `bad` gets a sign when one is outside: then it, from 0, or its distance from the last one is negative. One
 * that is 0 becomes `length`, which is as far outside as any other. */
#define FROM_ZERO(i)                                                                                                   \
    int64_t given = from[i], v = given + (given > 0 ? -1 : length);                                                    \
    bad |= v | (length - 1 - v);
#define INDICES(name, TYPE)                                                                                            \
    static bool name(int64_t *offsets, const void *index, ptrdiff_t stride, int64_t step, int64_t length, bool more,   \
                     int64_t first, int64_t run, size_t n)                                                             \
    {                                                                                                                  \
        const TYPE *from = index;                                                                                      \
        int64_t bad = 0;                                                                                               \
        if (!offsets && stride == 1) {                                                                                 \
            for (ptrdiff_t i = 0; i < (ptrdiff_t)n; i++) {                                                             \
                FROM_ZERO(i)                                                                                           \
            }                                                                                                          \
        } else if (!offsets) {                                                                                         \
            for (ptrdiff_t i = 0; i < (ptrdiff_t)n; i++) {                                                             \
                FROM_ZERO(i *stride)                                                                                   \
            }                                                                                                          \
        } else if (stride == 1 && step == 1 && run == 0 && !more) {                                                    \
            INDEPENDENT for (ptrdiff_t i = 0; i < (ptrdiff_t)n; i++)                                                   \
            {                                                                                                          \
                FROM_ZERO(i)                                                                                           \
                offsets[i] = (int64_t)((uint64_t)first + (uint64_t)v);                                                 \
            }                                                                                                          \
        } else {                                                                                                       \
            INDEPENDENT for (ptrdiff_t i = 0; i < (ptrdiff_t)n; i++)                                                   \
            {                                                                                                          \
                uint64_t base = more ? (uint64_t)offsets[i] : (uint64_t)(first + i * run);                             \
                FROM_ZERO(i *stride)                                                                                   \
                offsets[i] = (int64_t)(base + (uint64_t)v * (uint64_t)step);                                           \
            }                                                                                                          \
        }                                                                                                              \
        return bad >= 0;                                                                                               \
    }
INDICES(indices_32, int32_t)
INDICES(indices_64, int64_t)

#define COUNTED(name, TYPE)                                                                                            \
    static bool name(const void *index, int64_t length, size_t n)                                                      \
    {                                                                                                                  \
        const TYPE *from = index;                                                                                      \
        uint64_t bad = 0, last = (uint64_t)length - 1;                                                                 \
        for (size_t i = 0; i < n; i++) bad |= ((uint64_t)from[i] - 1) | (last - ((uint64_t)from[i] - 1));              \
        return bad >> 63 == 0;                                                                                         \
    }
COUNTED(counted_32, int32_t)
COUNTED(counted_64, int64_t)

/* By the widest stores that there are. */
static inline void line_past(char *to, const char *from)
{
#if defined __AVX512F__
    _mm512_stream_si512((void *)to, _mm512_loadu_si512(from));
#elif defined __AVX__
    for (size_t i = 0; i < KN_LINE; i += 32)
        _mm256_stream_si256((__m256i *)(to + i), _mm256_loadu_si256((const __m256i *)(from + i)));
#elif defined __SSE2__
    for (size_t i = 0; i < KN_LINE; i += 16)
        _mm_stream_si128((__m128i *)(to + i), _mm_loadu_si128((const __m128i *)(from + i)));
#else
    memcpy(to, from, KN_LINE);
#endif
}

static void past_lines(void *to, const void *from, size_t lines, const struct kn_ahead *ahead, int count)
{
    for (size_t i = 0; i < lines; i++) {
        line_past((char *)to + i * KN_LINE, (const char *)from + i * KN_LINE);
        for (int k = 0; k < count; k++)
            for (size_t j = 0; j < ahead[k].step; j += KN_LINE) __builtin_prefetch(ahead[k].at + i * ahead[k].step + j);
    }
}

/* Complex numbers are chosen as the integers that have their bits: compilers branch where they are chosen as numbers.
 */
static void where_pairs(void *out, const void *pa, const void *pb, const void *pc, size_t n)
{
    const uint8_t *a = pa;
    const uint64_t *b = pb, *c = pc;
    uint64_t *to = out;
    INDEPENDENT for (size_t i = 0; i < n; i++)
    {
        const uint64_t first = -(uint64_t)(a[i] != 0);
        to[2 * i] = (b[2 * i] & first) | (c[2 * i] & ~first);
        to[2 * i + 1] = (b[2 * i + 1] & first) | (c[2 * i + 1] & ~first);
    }
}
#define WHERE_C64  WHERE_U64
#define WHERE_C128 where_pairs

/* The table. */
#define CONVERT_ENTRY(id, TYPE, ints, floats, class, FROM) [RT_##id] = convert_##class##_##id,

const struct kn_loops KN_LEVEL = {
    .ops =
        {
#define REAL_ENTRIES(id, rule)                                                                                         \
    ENTRY(KN_BOOLS_##rule, id, B), ENTRY(KN_INTS_##rule, id, I32), ENTRY(KN_INTS_##rule, id, I64),                     \
        ENTRY(KN_INTS_##rule, id, U64), ENTRY(KN_FLOATS_##rule, id, F32), ENTRY(KN_FLOATS_##rule, id, F64)
#define KN_OP(id, name, arity, rule, ints, floats, symbol, doc, example) {REAL_ENTRIES(id, rule), NULL, NULL},
#define KN_COMPLEX_OP(id, name, arity, rule, ints, floats, symbol, doc, example)                                       \
    {REAL_ENTRIES(id, rule), id##_C64, id##_C128},
#include "kernels/ops.def"
        },
    .narrow = &KN_NARROW,
    .product = &KN_PRODUCT,
#define X(id, MEMORY, class, TYPE, get, put) [RT_##id] = load_##id,
    .load = {MEMORY_TYPES(X)},
#undef X
#define X(id, MEMORY, class, TYPE, get, put) [RT_##id] = store_##id,
    .store = {MEMORY_TYPES(X)},
#undef X
    .convert = {{TARGETS(CONVERT_ENTRY, B, uint8_t)},
                {TARGETS(CONVERT_ENTRY, I32, int32_t)},
                {TARGETS(CONVERT_ENTRY, I64, int64_t)},
                {TARGETS(CONVERT_ENTRY, U64, uint64_t)},
                {TARGETS(CONVERT_ENTRY, F32, float)},
                {TARGETS(CONVERT_ENTRY, F64, double)},
                {FROM_COMPLEX(CONVERT_ENTRY, C64, c64)},
                {FROM_COMPLEX(CONVERT_ENTRY, C128, c128)}},
#define X(id, class, TYPE, expression) [KN_##id][KN_##class] = rows_##id##_##class,
    .rows = {ROWS_OPS(X)},
#undef X
    .least = EXTREMES(least),
    .greatest = EXTREMES(greatest),
    .first = FIRSTS,
    .search_least = SEARCHES(least),
    .search_greatest = SEARCHES(greatest),
    .sum_wide = {[KN_F32] = sum_wide_F32, [KN_F64] = sum_wide_F64, [KN_I64] = sum_wide_I64},
    .sum_products = {[KN_F32] = sum_products_F32, [KN_F64] = sum_products_F64},
    .index = index_block,
    .sequence_i64 = sequence_i64,
    .sequence_f64 = sequence_f64,
    .indices_32 = indices_32,
    .indices_64 = indices_64,
    .counted_32 = counted_32,
    .counted_64 = counted_64,
    .ordered_32 = ordered_F32,
    .ordered_64 = ordered_F64,
    .sorted_32 = sorted_32,
    .sorted_64 = sorted_64,
    .unsorted_32 = unsorted_32,
    .unsorted_64 = unsorted_64,
    .paired_32 = paired_32,
    .keep_32 = keep_32,
    .keep_64 = keep_64,
    .places_32 = places_32,
    .places_64 = places_64,
    .pick = PICKS,
    .pick_places = PICK_PLACES,
    .at_least = at_least_F64,
    .slopes = {{slopes_F32_F32, slopes_F32_F64}, {slopes_F64_F32, slopes_F64_F64}},
    .lines = {{lines_F32_F32, lines_F32_F64}, {lines_F64_F32, lines_F64_F64}},
    .frexp = {frexp_32, frexp_64},
    .past = past_lines,
};
#endif
