/* The typed inner loops of 8 and 16 bits over values as they lie in memory: what ops.def says of int32, wrapped. This
 * text is included by loops_narrow_base.c, loops_narrow_v3.c and loops_narrow_v4.c, which set KN_NARROW_LEVEL to the
 * name of their table. It is empty when compiled by itself. */
#ifdef KN_NARROW_LEVEL
#include "kernels/loops.h"
#include "kernels/functions.h"
#include "kernels/loops_emit.h"
#include "kernels/quotients.h"

#pragma GCC diagnostic ignored "-Wtype-limits" /* a < 0 of unsigned types, in expressions that serve all types */

#define KN_FN static inline __attribute__((unused))
KN_SIGNED_FUNCTIONS(int32_t, uint32_t, I32)
#define abs_(a)            (a < 0 ? 0 - (U)a : (U)a)
#define floordiv_(a, b)    quotient_i17(a, b)
#define mod_(a, b)         (b == 0 ? 0 : a - quotient_i17(a, b) * b)
#define left_shift_(a, b)  left_shift_I32(a, b)
#define right_shift_(a, b) right_shift_I32(a, b)
#define bits_(a)           bits_I32(a)
#define gcd_(a, b)         gcd_I32(a, b)
#define lcm_(a, b)         lcm_I32(a, b)

/* U is of 32 bits for all: C makes an int of two uint16_t, whose product may overflow. */
#define KN_OP(id, name, arity, rule, ints, floats, symbol, doc, example)                                               \
    EMIT(KN_INTS_##rule, id, INT8, arity, rule, int8_t, uint32_t, ints)                                                \
    EMIT(KN_INTS_##rule, id, INT16, arity, rule, int16_t, uint32_t, ints)                                              \
    EMIT(KN_INTS_##rule, id, UINT8, arity, rule, uint8_t, uint32_t, ints)                                              \
    EMIT(KN_INTS_##rule, id, UINT16, arity, rule, uint16_t, uint32_t, ints)
#include "kernels/ops.def"

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

/* Conversions of elements as they lie in memory: more bits keep the sign, fewer are the lowest ones. */
#define CONVERT(name, FROM, TO, value)                                                                                 \
    static void name(void *out, const void *in, size_t n)                                                              \
    {                                                                                                                  \
        const FROM *from = in;                                                                                         \
        TO *to = out;                                                                                                  \
        INDEPENDENT for (size_t i = 0; i < n; i++) to[i] = (TO)(value);                                                \
    }
CONVERT(bits_8_16, uint8_t, uint16_t, from[i])
CONVERT(bits_8_32, uint8_t, uint32_t, from[i])
CONVERT(bits_16_32, uint16_t, uint32_t, from[i])
CONVERT(sign_8_16, int8_t, int16_t, from[i])
CONVERT(sign_8_32, int8_t, int32_t, from[i])
CONVERT(sign_16_32, int16_t, int32_t, from[i])
CONVERT(bits_8_8, uint8_t, uint8_t, from[i])
CONVERT(bits_16_8, uint16_t, uint8_t, from[i])
CONVERT(bits_32_8, uint32_t, uint8_t, from[i])
CONVERT(bits_64_8, uint64_t, uint8_t, from[i])
CONVERT(bits_16_16, uint16_t, uint16_t, from[i])
CONVERT(bits_32_16, uint32_t, uint16_t, from[i])
CONVERT(bits_64_16, uint64_t, uint16_t, from[i])
CONVERT(true_8, uint8_t, uint8_t, from[i] != 0)
CONVERT(true_16, uint16_t, uint8_t, from[i] != 0)
CONVERT(true_32, uint32_t, uint8_t, from[i] != 0)
CONVERT(true_64, uint64_t, uint8_t, from[i] != 0)
/* A dtype's conversions: to bool, to 8, 16 and 32 bits; to 32 bits only from fewer. */
#define TO_LESS(true, to_8, to_16)                                                                                     \
    [RT_BOOL] = true, [RT_INT8] = to_8, [RT_UINT8] = to_8, [RT_INT16] = to_16, [RT_UINT16] = to_16
#define TO_ANY(true, to_8, to_16, to_32) TO_LESS(true, to_8, to_16), [RT_INT32] = to_32, [RT_UINT32] = to_32

const struct kn_narrow_loops KN_NARROW_LEVEL = {
    .ops =
        {
#define NARROW_ENTRY(exists, id, dtype) [RT_##dtype] = ENTRY(exists, id, dtype)
#define KN_OP(id, name, arity, rule, ints, floats, symbol, doc, example)                                               \
    {NARROW_ENTRY(KN_INTS_##rule, id, INT8), NARROW_ENTRY(KN_INTS_##rule, id, INT16),                                  \
     NARROW_ENTRY(KN_INTS_##rule, id, UINT8), NARROW_ENTRY(KN_INTS_##rule, id, UINT16)},
#include "kernels/ops.def"
        },
#define EXTREME_ENTRY(name, dtype, TYPE) [RT_##dtype] = name##_##dtype,
    .least = {NARROW_TYPES(EXTREME_ENTRY, least)},
    .greatest = {NARROW_TYPES(EXTREME_ENTRY, greatest)},
    .convert = {[RT_BOOL] = {TO_ANY(bits_8_8, bits_8_8, bits_8_16, bits_8_32)},
                [RT_INT8] = {TO_ANY(true_8, bits_8_8, sign_8_16, sign_8_32)},
                [RT_UINT8] = {TO_ANY(true_8, bits_8_8, bits_8_16, bits_8_32)},
                [RT_INT16] = {TO_ANY(true_16, bits_16_8, bits_16_16, sign_16_32)},
                [RT_UINT16] = {TO_ANY(true_16, bits_16_8, bits_16_16, bits_16_32)},
                [RT_INT32] = {TO_LESS(true_32, bits_32_8, bits_32_16)},
                [RT_UINT32] = {TO_LESS(true_32, bits_32_8, bits_32_16)},
                [RT_INT64] = {TO_LESS(true_64, bits_64_8, bits_64_16)},
                [RT_UINT64] = {TO_LESS(true_64, bits_64_8, bits_64_16)}},
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
