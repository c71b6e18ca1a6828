/* Rows that are quicker where all values of a part are in the range that most are in: loops.c includes this behind the
 * loops of ops.def, which serve what is beyond. A name such as SIN_F32 is the row's loop in the table; each loop here
 * takes it over from the one before it. */
#ifndef KN_LOOPS_PARTED_H
#define KN_LOOPS_PARTED_H

#include "kernels/loops_emit.h"

/* Loops of our own for the parts of a block whose values are all in their range; else those above. `fits` and
 * `assignment` are over from, the first operand, other, the second, and i. */
#define PART 256
#define PARTED(name, beyond, FIRST, SECOND, OUT, fits, assignment)                                                     \
    static void name(void *out, const void *pa, const void *pb, const void *pc, size_t n)                              \
    {                                                                                                                  \
        for (size_t begin = 0; begin < n; begin += PART) {                                                             \
            size_t part = n - begin < PART ? n - begin : PART;                                                         \
            const FIRST *from = (const FIRST *)pa + begin;                                                             \
            const SECOND *other = pb ? (const SECOND *)pb + begin : NULL;                                              \
            OUT *to = (OUT *)out + begin;                                                                              \
            int all = 1;                                                                                               \
            for (size_t i = 0; i < part; i++) all &= fits;                                                             \
            if (!all) {                                                                                                \
                beyond(to, from, other, pc, part);                                                                     \
                continue;                                                                                              \
            }                                                                                                          \
            INDEPENDENT for (size_t i = 0; i < part; i++)                                                              \
            {                                                                                                          \
                assignment;                                                                                            \
            }                                                                                                          \
        }                                                                                                              \
    }

/* Values beyond the limit go to the row's own loop one by one, so that their neighbours are what they are elsewhere. */
#define WITHIN(name, beyond, TYPE, limit, expression)                                                                  \
    static void name##_mixed(void *out, const void *pa, const void *pb, const void *pc, size_t n)                      \
    {                                                                                                                  \
        const TYPE *from = pa;                                                                                         \
        TYPE *to = out;                                                                                                \
        for (size_t i = 0; i < n; i++) {                                                                               \
            const TYPE a = from[i];                                                                                    \
            if (fabs(a) > limit)                                                                                       \
                beyond(to + i, from + i, pb, pc, 1);                                                                   \
            else                                                                                                       \
                to[i] = expression;                                                                                    \
        }                                                                                                              \
    }                                                                                                                  \
    PARTED(name, name##_mixed, TYPE, TYPE, TYPE, !(fabs(from[i]) > limit), const TYPE a = from[i]; to[i] = expression)
WITHIN(sin_f32, SIN_F32, float, TRIG_LIMIT, a == 0 ? a : sin_turned(a, 0))
WITHIN(cos_f32, COS_F32, float, TRIG_LIMIT, sin_turned(a, 1))
WITHIN(tan_f32, TAN_F32, float, TRIG_LIMIT, tan_turned(a))
WITHIN(tan_f64, TAN_F64, double, TAN_LIMIT, tan_turned_f64(a))
WITHIN(erfinv_near_f32, ERFINV_F32, float, ERFINV_LIMIT, (float)erfinv_near((double)a))
WITHIN(erfinv_near_f64, ERFINV_F64, double, ERFINV_LIMIT, erfinv_near(a))
#define SIN_F32    sin_f32
#define COS_F32    cos_f32
#define TAN_F32    tan_f32
#define TAN_F64    tan_f64
#define ERFINV_F32 erfinv_near_f32
#define ERFINV_F64 erfinv_near_f64

/* Logarithms of positive numbers with leading digits. */
#define PLAIN(name, beyond)                                                                                            \
    PARTED(name##_positive, beyond, double, double, double, (from[i] >= 0x1p-1022) & (from[i] < __builtin_inf()),      \
           to[i] = name##_of_parts(parts_of(from[i])))
PLAIN(log, LOG_F64)
PLAIN(log2, LOG2_F64)
PLAIN(log10, LOG10_F64)
#define LOG_F64   log_positive
#define LOG2_F64  log2_positive
#define LOG10_F64 log10_positive

#define FLOORED(T, f)                                                                                                  \
    const T b = other[i], m = f(from[i], b);                                                                           \
    to[i] = ((m > 0) & (b < 0)) | ((m < 0) & (b > 0)) ? m + b : m
#define FEW_F32 (fabsf(from[i] / other[i]) < FEW_BITS_F32) & (fabsf(other[i]) < __builtin_inff())
#define FEW_F64 (fabs(from[i] / other[i]) < FEW_BITS) & (fabs(other[i]) < 0x1p990)
PARTED(fmod_few_f32, FMOD_F32, float, float, float, FEW_F32, to[i] = fmod_f32(from[i], other[i]))
PARTED(fmod_few_f64, FMOD_F64, double, double, double, FEW_F64, to[i] = fmod_f64(from[i], other[i]))
PARTED(mod_few_f32, MOD_F32, float, float, float, FEW_F32, FLOORED(float, fmod_f32))
PARTED(mod_few_f64, MOD_F64, double, double, double, FEW_F64, FLOORED(double, fmod_f64))
#define FMOD_F32 fmod_few_f32
#define FMOD_F64 fmod_few_f64
#define MOD_F32  mod_few_f32
#define MOD_F64  mod_few_f64

/* Powers that are none of the simple ones, before them those of positive numbers, then roots that are written as
 * powers. */
#define OTHER_POWER (other[i] != 2) & (other[i] != -1) & (other[i] != (__typeof__(other[i]))0.5)
PARTED(pow_other_f32, POW_F32, float, float, float, OTHER_POWER, to[i] = pow_f32(from[i], other[i]))
PARTED(pow_other_f64, POW_F64, double, double, double, OTHER_POWER, to[i] = pow_f64(from[i], other[i]))
#define POSITIVE(least) (from[i] >= least) & (from[i] < __builtin_inff()) & (fabs(other[i]) <= 0x1p70f)
PARTED(pow_positive_f32, pow_other_f32, float, float, float, OTHER_POWER &POSITIVE(0x1p-126f),
       to[i] = pow_plain_f32(from[i], other[i]))
PARTED(pow_positive_f64, pow_other_f64, double, double, double, OTHER_POWER &POSITIVE(0x1p-1022),
       to[i] = pow_plain_f64(from[i], other[i]))
PARTED(root_f32, pow_positive_f32, float, float, float, other[i] == 0.5f, to[i] = root_F32(from[i]))
PARTED(root_f64, pow_positive_f64, double, double, double, other[i] == 0.5, to[i] = root_F64(from[i]))
#define POW_F32    root_f32
#define POW_F64    root_f64

#define ANY        1
#define FEW_I64(v) (((uint64_t)(v) + ((uint64_t)1 << 50)) >> 51 == 0)
#define BOTH_I64   FEW_I64(from[i]) & FEW_I64(other[i]) & (other[i] != 0)
PARTED(floordiv_i32, FLOORDIV_I32, int32_t, int32_t, int32_t, ANY, to[i] = quotient_i32(from[i], other[i]))
PARTED(mod_i32, MOD_I32, int32_t, int32_t, int32_t, ANY, const int32_t b = other[i];
       to[i] = b == 0 ? 0 : (int32_t)((uint32_t)from[i] - (uint32_t)quotient_i32(from[i], b) * (uint32_t)b))
PARTED(floordiv_i64, FLOORDIV_I64, int64_t, int64_t, int64_t, BOTH_I64, to[i] = quotient_i64(from[i], other[i]))
PARTED(mod_i64, MOD_I64, int64_t, int64_t, int64_t, BOTH_I64,
       to[i] = from[i] - quotient_i64(from[i], other[i]) * other[i])
#define FLOORDIV_I32 floordiv_i32
#define FLOORDIV_I64 floordiv_i64
#define MOD_I32      mod_i32
#define MOD_I64      mod_i64

#endif
