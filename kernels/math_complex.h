/* Functions of complex numbers, written so that a compiler can vectorise a loop over them. The real part of a logarithm
 * is half of that of the square of the absolute value, the imaginary part the angle; near 1 the square less 1 is what
 * counts, and is known to its own digits. Exponentials and sines are products of what they are of one part, which has a
 * size, and of the other, an angle. Included by loops.c alone. */
#ifndef KN_MATH_COMPLEX_H
#define KN_MATH_COMPLEX_H

#include "kernels/loops_emit.h"
#include "kernels/math_angle_f64.h"
#include "kernels/math_single.h"

/* The real part v of a number of the square h, but for 0 and numbers with infinite parts or NaN. */
ALWAYS_INLINE double of_square(double x, double y, double h, double v)
{
    int infinite = (fabs(x) == __builtin_inf()) | (fabs(y) == __builtin_inf());
    v = h == 0 ? -__builtin_inf() : v;
    return infinite ? __builtin_inf() : h != h ? h : v;
}

/* Of parts of float32, whose squares are exact in double: h = less + 1. */
ALWAYS_INLINE float half_log_wide(double x, double y, double h, double less)
{
    struct parts p = parts_of(h);
    double f = p.k == 0 ? less : p.m - 1, v = 0.5 * fma_(p.k, LN2, log_ratio(f / (2 + f)));
    return (float)of_square(x, y, h, v);
}

ALWAYS_INLINE c64 log_c64(c64 a)
{
    float x = __real__ a, y = __imag__ a;
    double great = fabsf(x) > fabsf(y) ? x : y, small = fabsf(x) > fabsf(y) ? y : x, p = great * great,
           q = small * small;
    return __builtin_complex(half_log_wide(x, y, p + q, (p - 1) + q), atan2_f32(y, x));
}

ALWAYS_INLINE c64 log1p_c64(c64 a)
{
    double x = __real__ a, y = __imag__ a, q = y * y;
    return __builtin_complex(half_log_wide(x, y, (1 + x) * (1 + x) + q, x * (2 + x) + q),
                             atan2_f32(__imag__ a, 1 + __real__ a));
}

/* |a|^2 = 2^k h of the number a made so large or small that h has all its digits, and h - 1. */
struct square {
    double k, h, less;
};

ALWAYS_INLINE struct square square_of(double x, double y)
{
    double great = fabs(x) > fabs(y) ? x : y, small = fabs(x) > fabs(y) ? y : x, size = fabs(great);
    double by = size < 0x1p-400 ? 0x1p600 : 1, k = size < 0x1p-400 ? -1200 : 0;
    by = size > 0x1p500 ? 0x1p-600 : by;
    k = size > 0x1p500 ? 1200 : k;
    great *= by, small *= by;
    double p = great * great, q = small * small, rest = fma_(great, great, -p) + fma_(small, small, -q);
    double under = p - 1; /* which may lack a digit of p */
    return (struct square){k, p + q, (under + q) + (rest + (p - (under + 1)))};
}

ALWAYS_INLINE double half_log(double x, double y, struct square s)
{
    struct parts p = parts_of(s.h);
    double f = p.k == 0 ? s.less : p.m - 1, k = p.k + s.k;
    struct logarithm l = logarithm_of(f);
    double v = 0.5 * (k * LN2_HIGH - ((l.square - fma_(k, LN2_LOW, l.lower)) - f));
    return of_square(x, y, s.h, v);
}

ALWAYS_INLINE c128 log_c128(c128 a)
{
    double x = __real__ a, y = __imag__ a;
    return __builtin_complex(half_log(x, y, square_of(x, y)), atan2_f64(y, x));
}

ALWAYS_INLINE c128 log1p_c128(c128 a)
{
    double x = __real__ a, y = __imag__ a;
    struct square s = square_of(1 + x, y);
    double p = x * x, q = y * y, rest = fma_(x, x, -p) + fma_(y, y, -q), sum = 2 * x + q, of_q = sum - 2 * x;
    double less = (sum + p) + (((2 * x - (sum - of_q)) + (q - of_q)) + rest);
    s.less = s.k == 0 ? less : s.less;
    return __builtin_complex(half_log(x, y, s), atan2_f64(y, 1 + x));
}

/* Of sizes up to `most`, of which all powers are numbers with leading digits, and angles up to `limit`. */
#define COMPLEX_TURNS(T, R, exp_of, sinh_of, cosh_of, turned)                                                          \
    ALWAYS_INLINE T exp_turned_##T(T a)                                                                                \
    {                                                                                                                  \
        R size = exp_of(__real__ a), angle = __imag__ a;                                                               \
        return __builtin_complex(size * turned(angle, 1), angle == 0 ? angle : size * turned(angle, 0));               \
    }                                                                                                                  \
    ALWAYS_INLINE T sin_turned_##T(T a)                                                                                \
    {                                                                                                                  \
        R angle = __real__ a, size = __imag__ a;                                                                       \
        return __builtin_complex(angle == 0 ? angle : turned(angle, 0) * cosh_of(size),                                \
                                 turned(angle, 1) * sinh_of(size));                                                    \
    }                                                                                                                  \
    ALWAYS_INLINE T cos_turned_##T(T a)                                                                                \
    {                                                                                                                  \
        R angle = __real__ a, size = __imag__ a;                                                                       \
        return __builtin_complex(turned(angle, 1) * cosh_of(size),                                                     \
                                 -(angle == 0 ? angle * size : turned(angle, 0) * sinh_of(size)));                     \
    }
COMPLEX_TURNS(c64, float, exp_near, sinh_f32, cosh_f32, sin_turned)
COMPLEX_TURNS(c128, double, exp_near_f64, sinh_f64, cosh_f64, sin_turned_f64)

#endif
