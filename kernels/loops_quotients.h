/* Quotients rounded down and remainders of integers by doubles: exact where both operands have few enough bits
 * (quotients.h), else by the loops of ops.def. Where a part has one divisor, as in x // 3, its inverse serves all of
 * the part. loops.c includes this behind loops_parted.h. */
#ifndef KN_LOOPS_QUOTIENTS_H
#define KN_LOOPS_QUOTIENTS_H

#include "kernels/loops_parted.h"

#define ANY        1
#define FEW_I64(v) (((uint64_t)(v) + ((uint64_t)1 << 50)) >> 51 == 0)
#define FEW_U64(v) ((v) >> 50 == 0)
#define BOTH_U64   FEW_U64(from[i] | other[i]) & (other[i] != 0)
#define BOTH_I64   FEW_I64(from[i]) & FEW_I64(other[i]) & (other[i] != 0)
PARTED(floordiv_i32, FLOORDIV_I32, int32_t, int32_t, int32_t, ANY, to[i] = quotient_i32(from[i], other[i]))
PARTED(mod_i32, MOD_I32, int32_t, int32_t, int32_t, ANY, const int32_t b = other[i];
       to[i] = b == 0 ? 0 : (int32_t)((uint32_t)from[i] - (uint32_t)quotient_i32(from[i], b) * (uint32_t)b))
PARTED(floordiv_i64, FLOORDIV_I64, int64_t, int64_t, int64_t, BOTH_I64, to[i] = quotient_i64(from[i], other[i]))
PARTED(mod_i64, MOD_I64, int64_t, int64_t, int64_t, BOTH_I64,
       to[i] = from[i] - quotient_i64(from[i], other[i]) * other[i])
PARTED(floordiv_u64, FLOORDIV_U64, uint64_t, uint64_t, uint64_t, BOTH_U64,
       to[i] = (uint64_t)quotient_i64((int64_t)from[i], (int64_t)other[i]))
PARTED(mod_u64, MOD_U64, uint64_t, uint64_t, uint64_t, BOTH_U64,
       to[i] = from[i] - (uint64_t)quotient_i64((int64_t)from[i], (int64_t)other[i]) * other[i])
/* What is left of quotients rounded towards 0: nothing by -1, either, by which the least integer has none. */
PARTED(fmod_i32, FMOD_I32, int32_t, int32_t, int32_t, ANY, const int32_t b = (uint32_t)other[i] + 1 < 2 ? 1 : other[i];
       to[i] = from[i] - (int32_t)((double)from[i] / (double)b) * b)
PARTED(fmod_i64, FMOD_I64, int64_t, int64_t, int64_t, BOTH_I64,
       to[i] = from[i] - i51_of_double(trunc(double_of_i51(from[i]) / double_of_i51(other[i]))) * other[i])
#define FLOORDIV_I32 floordiv_i32
#define FLOORDIV_I64 floordiv_i64
#define FLOORDIV_U64 floordiv_u64
#define MOD_I32      mod_i32
#define MOD_I64      mod_i64
#define MOD_U64      mod_u64
#define FMOD_I32     fmod_i32
#define FMOD_I64     fmod_i64

/* `fits` is over b, the one divisor, and a, each dividend; `value` over a and by, too. An output may be an operand's
 * block. */
#define BY_ONE(name, several, TYPE, fits, value)                                                                       \
    static void name(void *out, const void *pa, const void *pb, const void *pc, size_t n)                              \
    {                                                                                                                  \
        for (size_t begin = 0; begin < n; begin += PART) {                                                             \
            const size_t part = n - begin < PART ? n - begin : PART;                                                   \
            const TYPE *from = (const TYPE *)pa + begin, *other = (const TYPE *)pb + begin, b = other[0];              \
            TYPE *to = (TYPE *)out + begin, unlike = 0, beyond = 0;                                                    \
            if (part > 1 && other[1] == b)                                                                             \
                for (size_t i = 0; i < part; i++) {                                                                    \
                    const TYPE a = from[i];                                                                            \
                    unlike |= other[i] ^ b;                                                                            \
                    beyond |= !(fits);                                                                                 \
                    (void)a;                                                                                           \
                }                                                                                                      \
            else                                                                                                       \
                unlike = 1;                                                                                            \
            if (unlike | beyond) {                                                                                     \
                several(to, from, other, pc, part);                                                                    \
                continue;                                                                                              \
            }                                                                                                          \
            const struct inverse by = inverse_of((double)b);                                                           \
            EACH_OF(const TYPE a = from[i]; to[i] = (TYPE)(value))                                                     \
        }                                                                                                              \
    }
#define REST(a, by) ((a)-quotient_by(a, by) * by.of)
#define ONE_I32     (b != 0) & (b != -1) /* by -1 the least integer's quotient is none */
#define ONE_I64     FEW_I64(a) & FEW_I64(b) & (b != 0)
#define ONE_U64     FEW_U64(a) & FEW_U64(b) & (b != 0)
BY_ONE(floordiv_one_i32, FLOORDIV_I32, int32_t, ONE_I32, quotient_by((double)a, by))
BY_ONE(mod_one_i32, MOD_I32, int32_t, ONE_I32, REST((double)a, by))
BY_ONE(floordiv_one_i64, FLOORDIV_I64, int64_t, ONE_I64, i51_of_double(quotient_by(double_of_i51(a), by)))
BY_ONE(mod_one_i64, MOD_I64, int64_t, ONE_I64, i51_of_double(REST(double_of_i51(a), by)))
BY_ONE(floordiv_one_u64, FLOORDIV_U64, uint64_t, ONE_U64, i51_of_double(quotient_by(double_of_i51((int64_t)a), by)))
BY_ONE(mod_one_u64, MOD_U64, uint64_t, ONE_U64, i51_of_double(REST(double_of_i51((int64_t)a), by)))
/* The same half away from 0, and the quotient rounded towards it. */
#define FMOD_REST(a, by) ((a)-trunc(((a) + copysign(0.5, a)) * by.factor) * by.of)
BY_ONE(fmod_one_i32, FMOD_I32, int32_t, ONE_I32, FMOD_REST((double)a, by))
BY_ONE(fmod_one_i64, FMOD_I64, int64_t, ONE_I64, i51_of_double(FMOD_REST(double_of_i51(a), by)))
#undef FLOORDIV_I32
#undef FLOORDIV_I64
#undef FLOORDIV_U64
#undef MOD_I32
#undef MOD_I64
#undef MOD_U64
#undef FMOD_I32
#undef FMOD_I64
#define FLOORDIV_I32 floordiv_one_i32
#define FLOORDIV_I64 floordiv_one_i64
#define FLOORDIV_U64 floordiv_one_u64
#define MOD_I32      mod_one_i32
#define MOD_I64      mod_one_i64
#define MOD_U64      mod_one_u64
#define FMOD_I32     fmod_one_i32
#define FMOD_I64     fmod_one_i64
#define FMOD_U64     mod_one_u64 /* whose remainders have no sign */

#endif
