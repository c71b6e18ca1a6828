/* Exact remainders and quotients by divisions of doubles, which are vectors where integers' are not, and take no loop
 * as fmod's does. Included by loops.c and loops_narrow.c, which know what to do with the numbers that they do not take.
 */
#ifndef KN_QUOTIENTS_H
#define KN_QUOTIENTS_H

#include "kernels/math_f32.h"

/* Remainders where the nearest quotient has few enough bits for its product with b to be exact: for float64 that with
 * b's first 27 bits and that with the others. So is every difference then. */
#define FEW_BITS 0x1p24
static inline double beside_f64(double x, double y)
{
    double q = rint(x / y);
#if defined __FMA__ /* which rounds once, and so does not round what is exact */
    return __builtin_fma(-q, y, x);
#else
    double high = double_of_bits(bits_of_double(y) >> 26 << 26);
    return x - q * high - q * (y - high);
#endif
}
/* Of float32 the quotient is exact to an eighth: what is left is less than b and has b's digits. */
#define FEW_BITS_F32 0x1p22f
static inline float beside_f32(float x, float y)
{
    return __builtin_fmaf(-rintf(x / y), y, x);
}
static inline float fmod_f32(float a, float b)
{
    float y = fabsf(b), r = beside_f32(fabsf(a), y);
    return copysignf(r < 0 ? r + y : r, a);
}
static inline double fmod_f64(double a, double b)
{
    double y = fabs(b), r = beside_f64(fabs(a), y);
    return copysign(r < 0 ? r + y : r, a);
}
/* Of a quotient that was rounded to a half, or past one, the multiple may be the next to the nearest; of one that is a
 * half, which both have, it is the even one. */
static inline float nearest_f32(float a, float b)
{
    float y = fabsf(b), r = beside_f32(fabsf(a), y), v = 2 * r > y ? r - y : 2 * r < -y ? r + y : r;
    return rt_float_from_bits(rt_float_bits(v) ^ (rt_float_bits(a) & 0x80000000));
}
static inline double nearest_f64(double a, double b)
{
    double y = fabs(b), r = beside_f64(fabs(a), y), v = 2 * r > y ? r - y : 2 * r < -y ? r + y : r;
    return double_of_bits(bits_of_double(v) ^ (bits_of_double(a) & (uint64_t)1 << 63));
}

/* Quotients of integers by the division of doubles. Of up to 51 bits no quotient is as near to the next whole number as
 * rounding would have to be: one that is not whole is farther away from it, relatively, than the dividend's inverse. */
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
/* b is not 0. The conversions are additions to a double whose last bit is 1, which are vectors everywhere. */
static inline double double_of_i51(int64_t a)
{
    return double_of_bits((uint64_t)a + bits_of_double(0x1.8p52)) - 0x1.8p52;
}
/* Of a whole number of up to 51 bits. */
static inline int64_t i51_of_double(double v)
{
    return (int64_t)(bits_of_double(v + 0x1.8p52) - bits_of_double(0x1.8p52));
}
static inline int64_t quotient_i64(int64_t a, int64_t b)
{
    return i51_of_double(floor(double_of_i51(a) / double_of_i51(b)));
}

/* Quotients of whole numbers up to 2^50 by one divisor, which is not 0, as products with its inverse: of a
 * half more than the dividend, or less where b is negative, the quotient is 0.5 / |b| or more from any whole number and
 * rounded down it is the same; the product is less than 0.26 / |b| from it. q * b is exact as well. */
struct inverse {
    double of, half, factor;
};
static inline struct inverse inverse_of(double b)
{
    return (struct inverse){b, b < 0 ? -0.5 : 0.5, 1 / b};
}
static inline double quotient_by(double a, struct inverse by)
{
    return floor((a + by.half) * by.factor);
}

#endif
