/* Greatest common divisors of many pairs beside each other, and least common multiples by them: by halving and
 * subtracting, which vectors can and which takes no divisions, instead of by remainders. loops.c and loops_narrow.c
 * include this behind the loops of ops.def, which say the same; each name here takes the row's loop over. */
#ifndef KN_LOOPS_GCD_H
#define KN_LOOPS_GCD_H

#include "kernels/loops_emit.h"

#if defined __AVX2__ && !defined __clang__ /* which makes no vectors of it */
#define PAIRS 64
/* x becomes the divisor; y is used up. Twos that both have are set aside, then x is odd, or 0 where both are, and y
 * loses a two in each step, which x may subtract from it before. */
#define DIVISORS(bits, U)                                                                                              \
    static void divisors_##bits(U *restrict x, U *restrict y)                                                          \
    {                                                                                                                  \
        U twos[PAIRS], any = 1;                                                                                        \
        for (size_t i = 0; i < PAIRS; i++) {                                                                           \
            const U both = x[i] | y[i];                                                                                \
            twos[i] = (both & (0 - both)) - (both != 0); /* a bit for each */                                          \
        }                                                                                                              \
        for (U round = 1; any != 0; round *= 2) { /* one two less of those that have it */                             \
            any = 0;                                                                                                   \
            for (size_t i = 0; i < PAIRS; i++) {                                                                       \
                const U has = (twos[i] & round) != 0;                                                                  \
                x[i] >>= has;                                                                                          \
                y[i] >>= has;                                                                                          \
                any |= twos[i] & ~(2 * round - 1);                                                                     \
            }                                                                                                          \
        }                                                                                                              \
        for (size_t i = 0; i < PAIRS; i++) {                                                                           \
            const U a = x[i], b = y[i], even = (a & 1) - 1;                                                            \
            x[i] = (b & even) | (a & ~even);                                                                           \
            y[i] = (a & even) | (b & ~even);                                                                           \
        }                                                                                                              \
        do {                                                                                                           \
            any = 0;                                                                                                   \
            for (size_t i = 0; i < PAIRS; i++) {                                                                       \
                const U a = x[i], b = y[i], odd = 0 - (b & 1), least = a < b ? a : b, most = a < b ? b : a;            \
                const U rest = (((most - least) & odd) | (b & ~odd)) >> 1;                                             \
                x[i] = (least & odd) | (a & ~odd);                                                                     \
                y[i] = rest;                                                                                           \
                any |= rest;                                                                                           \
            }                                                                                                          \
        } while (any != 0);                                                                                            \
        for (size_t i = 0; i < PAIRS; i++) x[i] *= twos[i] + 1;                                                        \
    }
DIVISORS(32, uint32_t)
#define QUOTIENT_32(x, by) (uint32_t)((double)(x) / (double)(by)) /* which is whole, and so exact */
#define QUOTIENT_64(x, by) ((x) / (by))
#define SIZE_OF(U, v)      ((v) < 0 ? 0 - (U)(v) : (U)(v))
#define BY_DIVISORS(name, dtype, TYPE, U, bits, value)                                                                 \
    static void name##_many_##dtype(void *out, const void *pa, const void *pb, const void *pc, size_t n)               \
    {                                                                                                                  \
        (void)pc;                                                                                                      \
        for (size_t begin = 0, part; begin < n; begin += part) {                                                       \
            const TYPE *from = (const TYPE *)pa + begin, *other = (const TYPE *)pb + begin;                            \
            TYPE *to = (TYPE *)out + begin;                                                                            \
            U x[PAIRS] = {0}, y[PAIRS] = {0};                                                                          \
            part = n - begin < PAIRS ? n - begin : PAIRS;                                                              \
            INDEPENDENT for (size_t i = 0; i < part; i++)                                                              \
            {                                                                                                          \
                x[i] = SIZE_OF(U, from[i]);                                                                            \
                y[i] = SIZE_OF(U, other[i]);                                                                           \
            }                                                                                                          \
            divisors_##bits(x, y);                                                                                     \
            INDEPENDENT for (size_t i = 0; i < part; i++)                                                              \
            {                                                                                                          \
                const U d = x[i];                                                                                      \
                to[i] = (TYPE)(value);                                                                                 \
            }                                                                                                          \
        }                                                                                                              \
    }
#define DIVISOR_LOOPS(dtype, TYPE, U, bits)                                                                            \
    BY_DIVISORS(gcd, dtype, TYPE, U, bits, d)                                                                          \
    BY_DIVISORS(lcm, dtype, TYPE, U, bits, QUOTIENT_##bits(SIZE_OF(U, from[i]), d | (d == 0)) * SIZE_OF(U, other[i]))
#if defined KN_LEVEL
DIVISORS(64, uint64_t)
DIVISOR_LOOPS(I32, int32_t, uint32_t, 32)
DIVISOR_LOOPS(I64, int64_t, uint64_t, 64)
DIVISOR_LOOPS(U64, uint64_t, uint64_t, 64)
#define GCD_I32 gcd_many_I32
#define GCD_I64 gcd_many_I64
#define GCD_U64 gcd_many_U64
#define LCM_I32 lcm_many_I32
#define LCM_I64 lcm_many_I64
#define LCM_U64 lcm_many_U64
#else
DIVISOR_LOOPS(INT8, int8_t, uint32_t, 32)
DIVISOR_LOOPS(INT16, int16_t, uint32_t, 32)
DIVISOR_LOOPS(UINT8, uint8_t, uint32_t, 32)
DIVISOR_LOOPS(UINT16, uint16_t, uint32_t, 32)
DIVISOR_LOOPS(UINT32, uint32_t, uint32_t, 32)
#define GCD_INT8   gcd_many_INT8
#define GCD_INT16  gcd_many_INT16
#define GCD_UINT8  gcd_many_UINT8
#define GCD_UINT16 gcd_many_UINT16
#define GCD_UINT32 gcd_many_UINT32
#define LCM_INT8   lcm_many_INT8
#define LCM_INT16  lcm_many_INT16
#define LCM_UINT8  lcm_many_UINT8
#define LCM_UINT16 lcm_many_UINT16
#define LCM_UINT32 lcm_many_UINT32
#endif
#endif

#endif
