/* Powers of float64, as math_f64.h has the other functions; within 0.75 units of the last place, 1.5 where results are
 * near the largest and least numbers, 1 of results without leading digits. The logarithm has to be known to a dozen
 * digits more than a double has, since a large exponent multiplies what it lacks. Included by loops.c alone. */
#ifndef KN_MATH_POW_F64_H
#define KN_MATH_POW_F64_H

#include "kernels/math_angle_f64.h"

/* A number as the nearest double and what that lacks of it. */
struct pair {
    double high, low;
};

/* log2(2^k m) of m from sqrt(1/2) to sqrt(2): log2(m) = s 2 / log(2) (1 + z / 3 + z^2 p) of s = (m - 1) / (m + 1) and
 * z = s^2, of which all but the last term take two doubles each. */
ALWAYS_INLINE struct pair log2_pair(struct parts x)
{
    double up = x.m - 1, down = x.m + 1, inverse = 1 / down, s = up * inverse;
    double sl = inverse * fma_(-s, x.m - (down - 1), fma_(-s, down, up));
    double z = s * s, zl = fma_(s + s, sl, fma_(s, s, -z));
    double z2 = z * z, z4 = z2 * z2;
    double p = 0x1.624632e70e658p-3;
    p = fma_(p, z4,
             four_terms(z, z2, 0x1.58f1991b2e1eap-3, 0x1.8a0a53f0f5037p-3, 0x1.c68ee4d359ae4p-3, 0x1.0c9a8544b076cp-2));
    p = fma_(
        p, z4,
        four_terms(z, z2, 0x1.484b13d695336p-2, 0x1.a61762a7aefc0p-2, 0x1.2776c50ef9bfbp-1, 0x1.d27f05548af0cp-55));
    const double third = 0x1.ec709dc3a03fdp-1, first = 0x1.71547652b82fep+1; /* 2 / log(2) / 3, and that times 3 */
    double u = z * third, ul = fma_(z, p, fma_(zl, third, fma_(z, third, -u)));
    double t = first + (u + ul), tl = u - (t - first) + ul + 0x1.777d0ffda0d24p-55;
    double v = s * t, vl = fma_(sl, t, fma_(s, tl, fma_(s, t, -v))), sum = x.k + v;
    return (struct pair){sum, v - (sum - x.k) + vl};
}

/* 2^(d + low) of |d| <= 1 / 2 and a low that is small beside 1: 1 + d log(2), which is known to two doubles, and a
 * polynomial, and log(2) low times their sum. */
ALWAYS_INLINE double power_of_part(double d, double low)
{
    double d2 = d * d, d4 = d2 * d2;
    double p = fma_(fma_(0x1.e91b14f4e5341p-32, d, 0x1.e5ea0db711a48p-28), d, 0x1.b52562fd3054ep-24);
    p = fma_(
        p, d4,
        four_terms(d, d2, 0x1.62bfe459687bep-20, 0x1.ffcbfc3fff440p-17, 0x1.430913037941cp-13, 0x1.5d87fe78aa948p-10));
    p = fma_(
        p, d4,
        four_terms(d, d2, 0x1.3b2ab6fba3860p-7, 0x1.c6b08d704a0b4p-5, 0x1.ebfbdff82c591p-3, 0x1.abc9e3b39803fp-56));
    double v = fma_(d, LN2, 1), rest = fma_(d, p, fma_(d, LN2, 1 - v));
    return v + fma_(low * LN2, v + rest, rest);
}

/* 2^(l y) of a finite l and |y| <= 2^70. */
ALWAYS_INLINE double power_of_log(struct pair l, double y)
{
    double whole = y * l.high;
    int far = fabs(whole) > 1080;
    double high = far ? copysign(1080, whole) : whole, low = far ? 0 : fma_(y, l.low, fma_(y, l.high, -whole));
    double k = (high + ROUNDER) - ROUNDER;
    return scaled_by(power_of_part(high - k, low), k);
}

/* The same where the result is from 2^-1000 to 2^1000. */
ALWAYS_INLINE double near_power_of_log(struct pair l, double b)
{
    double high = b * l.high, shifted = high + ROUNDER;
    double v = power_of_part(high - (shifted - ROUNDER), fma_(b, l.low, fma_(b, l.high, -high)));
    return double_of_bits(bits_of_double(v) + (bits_of_double(shifted) << 52));
}

/* |a|^b, negative where a is and b is odd. */
ALWAYS_INLINE double pow_f64(double a, double b)
{
    double x = fabs(a), y = b > 0x1p70 ? 0x1p70 : b < -0x1p70 ? -0x1p70 : b;
    double v = power_of_log(log2_pair(all_parts_of(x)), y);
    v = x == 0 ? (b < 0 ? __builtin_inf() : 0) : x == __builtin_inf() ? (b < 0 ? 0 : __builtin_inf()) : v;
    int whole = rint(b) == b, odd = whole & (rint(b / 2) != b / 2);
    v = odd ? copysign(v, a) : v;
    v = (a < 0) & !whole & (x < __builtin_inf()) ? __builtin_nan("") : v;
    v = (a != a) | (b != b) ? a + b : v;
    return (a == 1) | (b == 0) | ((x == 1) & (fabs(b) == __builtin_inf())) ? 1 : v;
}

#endif
