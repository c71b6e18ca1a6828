/* Exact remainders and quotients by divisions of doubles, which are vectors where integers' are not, and take no loop
 * as fmod's does. Included by loops.c and loops_narrow.c, which know what to do with the numbers that they do not take.
 */
#ifndef KN_QUOTIENTS_H
#define KN_QUOTIENTS_H

#include "kernels/math_f32.h"

/* Remainders where the nearest quotient has few enough bits for its product with b to be exact: for float64 that with
 * b's first 27 bits and that with the others. So is every difference then. */
#define FEW_BITS 0x1p24
static inline double rest_f64(double x, double y)
{
    double q = rint(x / y), high = double_of_bits(bits_of_double(y) >> 26 << 26);
    double r = x - q * high - q * (y - high);
    return r < 0 ? r + y : r;
}
/* Of float32 the quotient is exact to an eighth: what is left is less than b and has b's digits. */
#define FEW_BITS_F32 0x1p22f
static inline float fmod_f32(float a, float b)
{
    float x = fabsf(a), y = fabsf(b), r = __builtin_fmaf(-rintf(x / y), y, x);
    return copysignf(r < 0 ? r + y : r, a);
}
static inline double fmod_f64(double a, double b)
{
    return copysign(rest_f64(fabs(a), fabs(b)), a);
}

/* Quotients of integers by the division of doubles. Of 32 bits no quotient is as near to the next whole number as
 * rounding would have to be; of up to 51 bits it may be one too large, which the remainder tells. */
static inline int32_t quotient_i32(int32_t a, int32_t b)
{
    double q = floor((double)a / (double)(b == 0 ? 1 : b));
    return b == 0 ? 0 : (int32_t)(q < 0x1p31 ? q : -0x1p31);
}
/* Of at most 17 bits by the division of floats, whose error is less than what no whole quotient is nearer to one. */
static inline int32_t quotient_i17(int32_t a, int32_t b)
{
    int32_t q = (int32_t)floorf((float)a / (float)(b == 0 ? 1 : b));
    return b == 0 ? 0 : q;
}
static inline uint32_t quotient_u32(uint32_t a, uint32_t b)
{
    double q = floor((double)a / (double)(b == 0 ? 1 : b));
    return b == 0 ? 0 : (uint32_t)bits_of_double(q + 0x1p52);
}
static inline int64_t quotient_i64(int64_t a, int64_t b)
{
    int64_t q = (int64_t)floor((double)a / (double)(b == 0 ? 1 : b)), r = a - q * b;
    return b == 0 ? 0 : q - ((r != 0) & ((r ^ b) < 0));
}

#endif
