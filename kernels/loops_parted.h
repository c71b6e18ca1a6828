/* Rows that are quicker where all values of a part are in the range that most are in: loops.c includes this behind the
 * loops of ops.def, which serve what is beyond. A name such as SIN_F32 is the row's loop in the table; each loop here
 * takes it over from the one before it. */
#ifndef KN_LOOPS_PARTED_H
#define KN_LOOPS_PARTED_H

#include "kernels/loops_emit.h"

/* Loops of our own for the parts of a block whose values are all in their range; else those above. `fits` and
 * `assignment` are over from, the first operand, other, the second, and i. */
#define PART 256
#define EACH_OF(...)                                                                                                   \
    INDEPENDENT for (size_t i = 0; i < part; i++)                                                                      \
    {                                                                                                                  \
        __VA_ARGS__;                                                                                                   \
    }
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
            EACH_OF(assignment)                                                                                        \
        }                                                                                                              \
    }

/* Functions in two steps, of which the first is done for a whole part before the last begins: a processor works at more
 * elements at once where a step is short. Both are over from, other, i and y, what the step before gave; between them
 * y may go through another row's loop. */
#define IN_STEPS(Y, first, middle, last)                                                                               \
    {                                                                                                                  \
        Y y[PART];                                                                                                     \
        EACH_OF(y[i] = first);                                                                                         \
        middle;                                                                                                        \
        EACH_OF(to[i] = last);                                                                                         \
    }
#define Y_BY(loop) loop(y, y, NULL, NULL, part)
#define STEPS(name, TYPE, Y, first, middle, last)                                                                      \
    static void name(void *out, const void *pa, const void *pb, const void *pc, size_t n)                              \
    {                                                                                                                  \
        (void)pc;                                                                                                      \
        for (size_t begin = 0; begin < n; begin += PART) {                                                             \
            size_t part = n - begin < PART ? n - begin : PART;                                                         \
            const TYPE *from = (const TYPE *)pa + begin, *other = pb ? (const TYPE *)pb + begin : NULL;                \
            TYPE *to = (TYPE *)out + begin;                                                                            \
            (void)other;                                                                                               \
            IN_STEPS(Y, first, middle, last)                                                                           \
        }                                                                                                              \
    }

/* Values outside of the range are done once more by the row's own loop, one by one: their neighbours are what they are
 * elsewhere. An output may be the operand's block. */
#define WITHIN_TURNED(name, TYPE, outside, compute)                                                                    \
    static void name(void *out, const void *pa, size_t n, unsigned turn, kn_op_loop *beyond)                           \
    {                                                                                                                  \
        (void)turn;                                                                                                    \
        for (size_t begin = 0; begin < n; begin += PART) {                                                             \
            size_t part = n - begin < PART ? n - begin : PART;                                                         \
            const TYPE *from = (const TYPE *)pa + begin;                                                               \
            TYPE *to = (TYPE *)out + begin, were[PART];                                                                \
            int all = 1;                                                                                               \
            for (size_t i = 0; i < part; i++) all &= !outside(from[i]);                                                \
            if (!all) memcpy(were, from, part * sizeof *were);                                                         \
            compute;                                                                                                   \
            for (size_t i = 0; i < part && !all; i++)                                                                  \
                if (outside(were[i])) beyond(to + i, were + i, NULL, NULL, 1);                                         \
        }                                                                                                              \
    }
#define WITHIN_BY(name, beyond, TYPE, outside, compute)                                                                \
    WITHIN_TURNED(name##_within, TYPE, outside, compute)                                                               \
    static void name(void *out, const void *pa, const void *pb, const void *pc, size_t n)                              \
    {                                                                                                                  \
        (void)pb, (void)pc;                                                                                            \
        name##_within(out, pa, n, 0, beyond);                                                                          \
    }
#define WITHIN(name, beyond, TYPE, outside, function)                                                                  \
    WITHIN_BY(name, beyond, TYPE, outside, EACH_OF(to[i] = function(from[i])))
/* One loop for sines and cosines, which differ in a quarter turn. */
#define TURNED(name, within, turn, beyond)                                                                             \
    static void name(void *out, const void *pa, const void *pb, const void *pc, size_t n)                              \
    {                                                                                                                  \
        (void)pb, (void)pc;                                                                                            \
        within(out, pa, n, turn, beyond);                                                                              \
    }
#define BEYOND_TRIG(v)       (fabsf(v) > TRIG_LIMIT)
#define BEYOND_TURN(v)       (fabs(v) > TURN_LIMIT)
#define BEYOND_EXP(v)        (fabs(v) > EXP_LIMIT)
#define BEYOND_EXP2(v)       (fabs(v) > 1020)
#define BEYOND_ERFINV(v)     (fabs(v) > ERFINV_LIMIT)
#define BEYOND_ERFINV_F32(v) (fabsf(v) > (float)ERFINV_LIMIT)
#define NOT_LGAMMA(v)        (!((v) >= 0x1p-1022))
WITHIN_TURNED(turned_f32, float, BEYOND_TRIG,
              EACH_OF(to[i] = turn | (from[i] != 0) ? sin_turned(from[i], turn) : from[i]))
WITHIN_TURNED(turned_f64, double, BEYOND_TURN,
              EACH_OF(to[i] = turn | (from[i] != 0) ? sin_turned_f64(from[i], turn) : from[i]))
TURNED(sin_f32, turned_f32, 0, SIN_F32)
TURNED(cos_f32, turned_f32, 1, COS_F32)
TURNED(sin_f64, turned_f64, 0, SIN_F64)
TURNED(cos_f64, turned_f64, 1, COS_F64)
WITHIN(tan_f32, TAN_F32, float, BEYOND_TRIG, tan_turned)
WITHIN(tan_f64, TAN_F64, double, BEYOND_TURN, tan_turned_f64)
WITHIN(exp_f64_near, EXP_F64, double, BEYOND_EXP, exp_near_f64)
WITHIN(exp2_f64_near, EXP2_F64, double, BEYOND_EXP2, exp2_near_f64)
WITHIN_BY(erfinv_near_f64, ERFINV_F64, double, BEYOND_ERFINV,
          IN_STEPS(double, erfinv_first(from[i]), (void)0, erfinv_last(from[i], y[i])))
WITHIN_BY(erfinv_near_f32, ERFINV_F32, float, BEYOND_ERFINV_F32,
          IN_STEPS(double, erfinv_first_wide(from[i]), (void)0, (float)erfinv_last_wide(from[i], y[i])))
WITHIN(lgamma_f32, LGAMMA_F32, float, NOT_LGAMMA, lgamma_positive_f32)
WITHIN(lgamma_f64, LGAMMA_F64, double, NOT_LGAMMA, lgamma_positive)
#define LGAMMA_F32 lgamma_f32
#define LGAMMA_F64 lgamma_f64
#define SIN_F32    sin_f32
#define COS_F32    cos_f32
#define TAN_F32    tan_f32
#define SIN_F64    sin_f64
#define COS_F64    cos_f64
#define TAN_F64    tan_f64
#define EXP_F64    exp_f64_near
#define EXP2_F64   exp2_f64_near
#define ERFINV_F64 erfinv_near_f64
#define ERFINV_F32 erfinv_near_f32

/* Of complex numbers, whose parts are a size and an angle. */
#define BEYOND_PARTS(size, angle, most, limit) (!((fabs(size) <= most) & (fabs(angle) <= limit)))
#define BEYOND_EXP_C64(v)                      BEYOND_PARTS(__real__(v), __imag__(v), 87.0f, TRIG_LIMIT)
#define BEYOND_EXP_C128(v)                     BEYOND_PARTS(__real__(v), __imag__(v), EXP_LIMIT, TURN_LIMIT)
#define BEYOND_SIN_C64(v)                      BEYOND_PARTS(__imag__(v), __real__(v), 87.0f, TRIG_LIMIT)
#define BEYOND_SIN_C128(v)                     BEYOND_PARTS(__imag__(v), __real__(v), EXP_LIMIT, TURN_LIMIT)
WITHIN(exp_c64, EXP_C64, c64, BEYOND_EXP_C64, exp_turned_c64)
WITHIN(sin_c64, SIN_C64, c64, BEYOND_SIN_C64, sin_turned_c64)
WITHIN(cos_c64, COS_C64, c64, BEYOND_SIN_C64, cos_turned_c64)
WITHIN(exp_c128, EXP_C128, c128, BEYOND_EXP_C128, exp_turned_c128)
WITHIN(sin_c128, SIN_C128, c128, BEYOND_SIN_C128, sin_turned_c128)
WITHIN(cos_c128, COS_C128, c128, BEYOND_SIN_C128, cos_turned_c128)
#define EXP_C64  exp_c64
#define SIN_C64  sin_c64
#define COS_C64  cos_c64
#define EXP_C128 exp_c128
#define SIN_C128 sin_c128
#define COS_C128 cos_c128

/* Of float32 the range is one of bits, which `key` has counted from 0, so that the greatest says of all; it is asked
 * more seldom, as the loops are short. */
#define LONG_PART 1024
#define NEAR_BY(name, beyond, key, limit, compute)                                                                     \
    static void name##_near_loop(void *out, const void *pa, const void *pb, const void *pc, size_t n)                  \
    {                                                                                                                  \
        for (size_t begin = 0; begin < n; begin += LONG_PART) {                                                        \
            size_t part = n - begin < LONG_PART ? n - begin : LONG_PART;                                               \
            const float *from = (const float *)pa + begin;                                                             \
            float *to = (float *)out + begin;                                                                          \
            uint32_t greatest = 0;                                                                                     \
            for (size_t i = 0; i < part; i++) {                                                                        \
                const uint32_t bits = rt_float_bits(from[i]), k = key;                                                 \
                greatest = k > greatest ? k : greatest;                                                                \
            }                                                                                                          \
            if (greatest > limit) {                                                                                    \
                beyond(to, from, pb, pc, part);                                                                        \
                continue;                                                                                              \
            }                                                                                                          \
            compute                                                                                                    \
        }                                                                                                              \
    }
#define NEAR(name, beyond, key, limit) NEAR_BY(name, beyond, key, limit, EACH_OF(to[i] = name##_near(from[i])))
#define SIZE_BITS                      bits & 0x7fffffff
#define ABOVE_SMALL                    (bits & 0x7fffffff) - 0x21800000 /* of sizes from 2^-60 to the greatest one */
#define ABOVE_TINY                     bits - 0x800000 /* of positive numbers with leading digits up to the greatest one */
NEAR(exp, EXP_F32, SIZE_BITS, 0x42ae0000)              /* 87 */
NEAR(exp2, EXP2_F32, SIZE_BITS, 0x42fc0000)            /* 126 */
NEAR(log, LOG_F32, ABOVE_TINY, 0x7effffff)
NEAR(log2, LOG2_F32, ABOVE_TINY, 0x7effffff)
NEAR(log10, LOG10_F32, ABOVE_TINY, 0x7effffff)
NEAR_BY(cbrt, CBRT_F32, ABOVE_SMALL, 0x5dffffff, float y[LONG_PART];
        EACH_OF(y[i] = cbrt_first(fabsf(from[i]))) EACH_OF(to[i] = copysignf(cbrt_last(fabsf(from[i]), y[i]), from[i])))
#define EXP_F32   exp_near_loop
#define EXP2_F32  exp2_near_loop
#define LOG_F32   log_near_loop
#define LOG2_F32  log2_near_loop
#define LOG10_F32 log10_near_loop
#define CBRT_F32  cbrt_near_loop

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

STEPS(asinh_steps, double, double, asinh_first(from[i]), (void)0, asinh_last(from[i], y[i]))
STEPS(acosh_steps, double, double, acosh_first(from[i]), (void)0, acosh_last(from[i], y[i]))
STEPS(atanh_steps, double, double, atanh_first(from[i]), (void)0, atanh_last(from[i], y[i]))
STEPS(softplus_steps, double, double, -fabs(from[i]), Y_BY(EXP_F64), (from[i] > 0 ? from[i] : 0) + log1p_and(y[i], 0))
STEPS(logaddexp_steps, double, double, -fabs(from[i] - other[i]), Y_BY(EXP_F64),
      logaddexp_last(from[i], other[i], y[i]))
STEPS(softplus_steps_f32, float, double, power_near(fabsf(from[i]) * -LOG2E), (void)0,
      (float)((from[i] > 0 ? from[i] : 0) + log1p_of(y[i])))
STEPS(logaddexp_steps_f32, float, double, power_near(fabs((double)from[i] - other[i]) * -LOG2E), (void)0,
      logaddexp_last_f32(from[i], other[i], y[i]))
STEPS(logit_steps, double, double, from[i] / (1 - from[i]), Y_BY(LOG_F64), y[i])
#define SOFTPLUS_F32  softplus_steps_f32
#define LOGADDEXP_F32 logaddexp_steps_f32
#define LOGIT_F64     logit_steps
#define ASINH_F64     asinh_steps
#define ACOSH_F64     acosh_steps
#define ATANH_F64     atanh_steps
#define SOFTPLUS_F64  softplus_steps
#define LOGADDEXP_F64 logaddexp_steps

/* Gamma functions of positive numbers. */
PARTED(digamma_positive_f64, DIGAMMA_F64, double, double, double, from[i] > 0, to[i] = digamma_positive(from[i]))
PARTED(gamma_positive_f32, GAMMA_F32, float, float, float, from[i] > 0, to[i] = (float)gamma_positive_wide(from[i]))
PARTED(digamma_positive_f32, DIGAMMA_F32, float, float, float, from[i] > 0,
       to[i] = (float)digamma_positive_wide(from[i]))
#define DIGAMMA_F64 digamma_positive_f64
#define GAMMA_F32   gamma_positive_f32
#define DIGAMMA_F32 digamma_positive_f32

#define FLOORED(T, f)                                                                                                  \
    static inline T floored_##f(T a, T b)                                                                              \
    {                                                                                                                  \
        const T m = f(a, b);                                                                                           \
        return ((m > 0) & (b < 0)) | ((m < 0) & (b > 0)) ? m + b : m;                                                  \
    }
FLOORED(float, fmod_f32)
FLOORED(double, fmod_f64)
#define FEW_F32 (fabsf(from[i] / other[i]) < FEW_BITS_F32) & (fabsf(other[i]) < __builtin_inff())
PARTED(fmod_few_f32, FMOD_F32, float, float, float, FEW_F32, to[i] = fmod_f32(from[i], other[i]))
PARTED(mod_few_f32, MOD_F32, float, float, float, FEW_F32, to[i] = floored_fmod_f32(from[i], other[i]))
/* Divisions of float64 take long enough for what was found to wait elsewhere, as an output may be an operand's block,
 * until the same quotients have told that all fit. */
#define REMAINDERS(name, beyond, remainder)                                                                            \
    static void name(void *out, const void *pa, const void *pb, const void *pc, size_t n)                              \
    {                                                                                                                  \
        for (size_t begin = 0; begin < n; begin += PART) {                                                             \
            const size_t part = n - begin < PART ? n - begin : PART;                                                   \
            const double *from = (const double *)pa + begin, *other = (const double *)pb + begin;                      \
            double *to = (double *)out + begin, found[PART];                                                           \
            int64_t all = 1;                                                                                           \
            for (size_t i = 0; i < part; i++) {                                                                        \
                all &= (fabs(from[i]) / fabs(other[i]) < FEW_BITS) & (fabs(other[i]) < 0x1p990);                       \
                found[i] = remainder(from[i], other[i]);                                                               \
            }                                                                                                          \
            if (all)                                                                                                   \
                memcpy(to, found, part * sizeof *to);                                                                  \
            else                                                                                                       \
                beyond(to, from, other, pc, part);                                                                     \
        }                                                                                                              \
    }
REMAINDERS(fmod_few_f64, FMOD_F64, fmod_f64)
REMAINDERS(mod_few_f64, MOD_F64, floored_fmod_f64)
PARTED(remainder_few_f32, REMAINDER_F32, float, float, float, FEW_F32, to[i] = nearest_f32(from[i], other[i]))
REMAINDERS(remainder_few_f64, REMAINDER_F64, nearest_f64)
#define FMOD_F32      fmod_few_f32
#define FMOD_F64      fmod_few_f64
#define MOD_F32       mod_few_f32
#define MOD_F64       mod_few_f64
#define REMAINDER_F32 remainder_few_f32
#define REMAINDER_F64 remainder_few_f64

/* The exponents that ops.def has in other ways: all of them have no digits but the leading one, as few others do. */
#define SIMPLE(b)  (((b) == 2) | ((b) == -1) | ((b) == (__typeof__(b))0.5))
#define FEW_SIMPLE 16
/* Powers whose exponents are within +-32, of numbers from 2^-31 to 2^31: as what is beyond 0 then has its highest bit
 * set. `digits` is how many bits stand before those behind the leading digit. */
#define NEAR_POWERS(name, TYPE, BITS, bits, digits)                                                                    \
    /* The highest bit of a power without digits behind the leading one. */                                            \
    static inline BITS name##_bare(TYPE power)                                                                         \
    {                                                                                                                  \
        const BITS behind = bits(power) << (digits);                                                                   \
        return (behind - 1) & ~behind;                                                                                 \
    }                                                                                                                  \
    static int name##_are_near(const TYPE *from, const TYPE *other, size_t n, int *bare)                               \
    {                                                                                                                  \
        const BITS least = bits((TYPE)0x1p-31), span = bits((TYPE)0x1p31) - least, limit = bits((TYPE)32);             \
        BITS outside = 0, some = 0;                                                                                    \
        for (size_t i = 0; i < n; i++) {                                                                               \
            const BITS v = bits(from[i]) - least;                                                                      \
            outside |= v | (span - v) | (limit - (bits(other[i]) & ~(BITS)0 >> 1));                                    \
            some |= name##_bare(other[i]);                                                                             \
        }                                                                                                              \
        *bare = some >> (8 * sizeof some - 1) != 0;                                                                    \
        return outside >> (8 * sizeof outside - 1) == 0;                                                               \
    }                                                                                                                  \
    static size_t name##_count(const TYPE *other, size_t n)                                                            \
    {                                                                                                                  \
        BITS some = 0;                                                                                                 \
        size_t count = 0;                                                                                              \
        for (size_t i = 0; i < n; i++) some |= name##_bare(other[i]);                                                  \
        for (size_t i = 0; i < n && some >> (8 * sizeof some - 1); i++) count += SIMPLE(other[i]);                     \
        return count;                                                                                                  \
    }
NEAR_POWERS(pow_f32, float, uint32_t, rt_float_bits, 9)
NEAR_POWERS(pow_f64, double, uint64_t, bits_of_double, 12)

/* Powers of positive numbers, and of those the simple exponents; an output may be an operand's block, so what is a
 * power waits elsewhere until the others are known. They are found in two steps. */
#define STEPS_OF_POWERS_F32(by)                                                                                        \
    {                                                                                                                  \
        double y[PART];                                                                                                \
        EACH_OF(y[i] = pow_first(from[i], other[i]))                                                                   \
        EACH_OF(found[i] = (float)by(y[i]))                                                                            \
    }
#define STEPS_OF_POWERS_F64(by)                                                                                        \
    {                                                                                                                  \
        double high[PART], low[PART];                                                                                  \
        EACH_OF(const struct pair l = log2_pair(parts_of(from[i])); high[i] = l.high; low[i] = l.low)                  \
        EACH_OF(found[i] = by((struct pair){high[i], low[i]}, other[i]))                                               \
    }
#define POWERS(name, beyond, kind, TYPE, least, each_near, each)                                                       \
    static inline TYPE name##_of(TYPE a, TYPE b, TYPE power)                                                           \
    {                                                                                                                  \
        const TYPE root = sqrt(a), inverse = 1 / a, v = b == (TYPE)0.5 ? root : b == -1 ? inverse : power;             \
        return b == 2 ? a * a : v;                                                                                     \
    }                                                                                                                  \
    static void name##_simple(TYPE *to, const TYPE *from, const TYPE *other, TYPE *powers, size_t n, size_t simple)    \
    {                                                                                                                  \
        if (simple > FEW_SIMPLE) {                                                                                     \
            INDEPENDENT for (size_t i = 0; i < n; i++) to[i] = name##_of(from[i], other[i], powers[i]);                \
            return;                                                                                                    \
        }                                                                                                              \
        for (size_t begin = 0, end; begin < n; begin = end) {                                                          \
            end = n - begin < FEW_SIMPLE ? n : begin + FEW_SIMPLE;                                                     \
            if (pow_##kind##_count(other + begin, end - begin) == 0) continue;                                         \
            for (size_t i = begin; i < end; i++)                                                                       \
                if (SIMPLE(other[i])) powers[i] = name##_of(from[i], other[i], 0);                                     \
        }                                                                                                              \
        memcpy(to, powers, n * sizeof *to);                                                                            \
    }                                                                                                                  \
    static void name(void *out, const void *pa, const void *pb, const void *pc, size_t n)                              \
    {                                                                                                                  \
        for (size_t begin = 0; begin < n; begin += PART) {                                                             \
            size_t part = n - begin < PART ? n - begin : PART;                                                         \
            const TYPE *from = (const TYPE *)pa + begin, *other = (const TYPE *)pb + begin;                            \
            TYPE *to = (TYPE *)out + begin, powers[PART];                                                              \
            int bare, near = pow_##kind##_are_near(from, other, part, &bare), positive = 1;                            \
            for (size_t i = 0; i < part && !near; i++)                                                                 \
                positive &= (from[i] >= least) & (from[i] < __builtin_inff()) & (fabs(other[i]) <= 0x1p70f);           \
            if (!positive) {                                                                                           \
                beyond(to, from, other, pc, part);                                                                     \
                continue;                                                                                              \
            }                                                                                                          \
            size_t simple = bare ? pow_##kind##_count(other, part) : 0;                                                \
            TYPE *found = simple > 0 ? powers : to;                                                                    \
            if (simple == part) {                                                                                      \
                memset(powers, 0, sizeof powers);                                                                      \
            } else if (near) {                                                                                         \
                each_near                                                                                              \
            } else {                                                                                                   \
                each                                                                                                   \
            }                                                                                                          \
            if (simple > 0) name##_simple(to, from, other, powers, part, simple);                                      \
        }                                                                                                              \
    }
POWERS(pow_positive_f32, POW_F32, f32, float, 0x1p-126f, STEPS_OF_POWERS_F32(exp2_close),
       STEPS_OF_POWERS_F32(exp2_wide))
POWERS(pow_positive_f64, POW_F64, f64, double, 0x1p-1022, STEPS_OF_POWERS_F64(near_power_of_log),
       STEPS_OF_POWERS_F64(power_of_log))
#define POW_F32 pow_positive_f32
#define POW_F64 pow_positive_f64

#endif
