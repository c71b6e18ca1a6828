/* Powers of float64, as math_f64.h has the other functions; within 1 unit of the last place, 1.1 of results
 * without leading digits. The logarithm has to be
 * known to a dozen digits more than a double has, since a large exponent multiplies what it lacks. Included by loops.c
 * alone. */
#ifndef KN_MATH_POW_F64_H
#define KN_MATH_POW_F64_H

#include "kernels/math_f64.h"

struct pair {
    double high, low; /* high has 26 digits */
};

/* log2(2^k m) of m from sqrt(1/2) to sqrt(2), by log(m) = 2 / 3 s (3 + s^2 + s^4 p) of s = (m - 1) / (m + 1). */
ALWAYS_INLINE struct pair log2_pair(struct parts x)
{
    double up = x.m - 1, down = x.m + 1, inverse = 1 / down, s = up * inverse;
    double sh = first_half(s), dh = first_half(down), dl = x.m - (dh - 1);
    double sl = inverse * ((up - sh * dh) - sh * dl), z = s * s, square = sh * sh;
    double p = 0x1.7058a46f85c15p-3;
    p = fma_(p, z, 0x1.66a52a1c66560p-3);
    p = fma_(p, z, 0x1.99b1224b08bbep-3);
    p = fma_(p, z, 0x1.d89d139a59246p-3);
    p = fma_(p, z, 0x1.1745d2269cb27p-2);
    p = fma_(p, z, 0x1.555555541e7e2p-2);
    p = fma_(p, z, 0x1.b6db6db6dc86ep-2);
    p = fma_(p, z, 0x1.3333333333330p-1);
    double rest = z * z * p + sl * (sh + s), th = first_half(3 + square + rest), tl = rest - ((th - 3) - square);
    double high = sh * th, low = sl * th + tl * s, lh = first_half(high + low), ll = low - (lh - high);
    /* times 2 / (3 log(2)) */
    double fh = lh * 0x1.ec709d8p-1, fl = lh * 0x1.0e80ff5d27f05p-27 + ll * 0x1.ec709dc3a03fdp-1;
    double sum = first_half(x.k + (fh + fl));
    return (struct pair){sum, fl - ((sum - x.k) - fh)};
}

/* 2^(d + low) as e to a power. */
ALWAYS_INLINE struct powers powers_of_part(double k, double d, double low)
{
    double th = first_half(d + low), tl = low - (th - d);
    double first = th * 0x1.62e42f8p-1, rest = th * 0x1.be8e7bcd5e4f2p-27 + tl * LN2, r = first + rest;
    return (struct powers){k, r, exp_rest(r, rest - (r - first))};
}

/* 2^(l y) of a finite l and |y| <= 2^70. */
ALWAYS_INLINE double power_of_log(struct pair l, double y)
{
    double yh = first_half(y), high = yh * l.high, low = (y - yh) * l.high + y * l.low, sum = high + low;
    high = sum > 1030 ? 1030 : sum < -1090 ? -1090 : high;
    low = (sum > 1030) | (sum < -1090) ? 0 : low;
    double k = (high + low + ROUNDER) - ROUNDER;
    struct powers p = powers_of_part(k, high - k, low);
    return scaled_by(1 + (p.r + p.rest), k);
}

/* Of 2^-1022 <= a < infinity and |b| <= 2^70. */
ALWAYS_INLINE double pow_plain_f64(double a, double b)
{
    return power_of_log(log2_pair(parts_of(a)), b);
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
