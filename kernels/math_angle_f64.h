/* Trigonometric functions and their inverses of float64, as math_f64.h has the others. Results are within 1.5 units
 * of the last place. Included by loops.c alone. */
#ifndef KN_MATH_ANGLE_F64_H
#define KN_MATH_ANGLE_F64_H

#include "kernels/math_f64.h"

#define QUARTER        0x1.921fb54442d18p+0 /* pi / 2, as three numbers */
#define QUARTER_LOW    0x1.1a62633145c07p-54
#define QUARTER_LOWEST -0x1.f1976b7ed8fbcp-110

/* Up to this size those three numbers are enough to know what is left beside a multiple of pi / 2; larger arguments go
 * to the C library. */
#define TURN_LIMIT 0x1p40

/* What rounding a - b to `difference` has lost. */
static inline double lost_of(double a, double b, double difference)
{
    double other = difference - a;
    return (a - (difference - other)) - (b + other);
}

/* a = k pi / 2 + (r + rest) with |r| <= pi / 4 and a rest that is far less than r; the low bits are k's. */
struct turn {
    double r, rest;
    uint64_t k;
};

ALWAYS_INLINE struct turn turn_of(double a)
{
    double shifted = fma_(a, 0x1.45f306dc9c883p-1, ROUNDER), k = shifted - ROUNDER;
    double first = fma_(k, -QUARTER, a), part = k * QUARTER_LOW, high = first - part; /* the first is exact */
    /* What that difference has lost is exact, as the first is a multiple of the part's last digit. */
    double lost = ((first - high) - part) - fma_(k, QUARTER_LOW, -part);
    return (struct turn){high, fma_(k, -QUARTER_LOWEST, lost), bits_of_double(shifted)};
}

/* sin(r + rest) = r + sine and cos(r + rest) = one + cosine of |r| <= pi / 4. */
struct circle {
    double r, sine, one, cosine;
};

ALWAYS_INLINE struct circle circle_of(double r, double rest)
{
    double z = r * r, half = 0.5 * z, one = 1 - half;
    double s = 0x1.5d93178dbc04ap-33;
    s = fma_(s, z, -0x1.ae5e6686291e4p-26);
    s = fma_(s, z, 0x1.71de357814536p-19);
    s = fma_(s, z, -0x1.a01a019c12028p-13);
    s = fma_(s, z, 0x1.111111110f87ep-7);
    s = fma_(s, z, -0x1.5555555555549p-3);
    double c = -0x1.8faeb606d9d35p-37;
    c = fma_(c, z, 0x1.1ee9ec1907d35p-29);
    c = fma_(c, z, -0x1.27e4f80a34ad5p-22);
    c = fma_(c, z, 0x1.a01a019cb2186p-16);
    c = fma_(c, z, -0x1.6c16c16c15181p-10);
    c = fma_(c, z, 0x1.555555555554cp-5);
    return (struct circle){r, fma_(z * r, s, rest * one), one, fma_(z * z, c, fma_(-r, rest, (1 - one) - half))};
}

/* sin(a) for turn 0, cos(a) for turn 1, of |a| <= TURN_LIMIT. */
ALWAYS_INLINE double sin_turned_f64(double a, uint64_t turn)
{
    struct turn t = turn_of(a);
    struct circle c = circle_of(t.r, t.rest);
    uint64_t k = t.k + turn;
    double v = k & 1 ? c.one + c.cosine : c.r + c.sine;
    return double_of_bits(bits_of_double(v) ^ k >> 1 << 63);
}

/* sin(pi a) / (pi a): but for whole turns a = k / 2 + d, of which the quotient is mended by what is left beside it and
 * by the digits that pi a and the sine lack. */
static inline double sinc_f64(double a)
{
    double e = a - 2 * rint(0.5 * a), shifted = 2 * e + ROUNDER, d = e - 0.5 * (shifted - ROUNDER);
    double high = 2 * QUARTER * d, low = fma_(2 * QUARTER_LOW, d, fma_(2 * QUARTER, d, -high));
    struct circle c = circle_of(high, low);
    uint64_t k = bits_of_double(shifted);
    double up = k & 1 ? c.one : c.r, up_low = k & 1 ? c.cosine : c.sine, n = up + up_low;
    double below = 2 * QUARTER * a, inverse = 1 / below, q = n * inverse;
    double lacks = fma_(2 * QUARTER_LOW, a, fma_(2 * QUARTER, a, -below));
    double v = fma_(fma_(-q, below, n) + fma_(-q, lacks, up_low - (n - up)), inverse, q);
    v = n == 0 ? q : double_of_bits(bits_of_double(v) ^ k >> 1 << 63);
    return fabs(a) < 0x1p-30 ? 1 : v;
}

/* tan(a) of |a| <= TURN_LIMIT: sin(r) / cos(r), or -cos(r) / sin(r) of an odd k. All of them are two numbers each, and
 * the quotient q is mended by what is left beside q times the divisor. */
ALWAYS_INLINE double tan_turned_f64(double a)
{
    struct turn t = turn_of(a);
    struct circle c = circle_of(t.r, t.rest);
    int odd = (int)(t.k & 1);
    double up = odd ? -c.one : c.r, up_low = odd ? -c.cosine : c.sine;
    double down = odd ? c.r : c.one, down_low = odd ? c.sine : c.cosine;
    double n = up + up_low, d = down + down_low;
    up_low -= n - up;
    down_low -= d - down;
    double inverse = 1 / d, q = n * inverse;
    return a == 0 ? a : fma_(fma_(-q, d, n) + fma_(-q, down_low, up_low), inverse, q);
}

/* atan(y / x) of y and x that are not negative: by the tangent t of what is left beside the nearest of 0, atan(1 / 2),
 * atan(1), atan(3 / 2) and a quarter turn, which stand as two numbers each: atan(t) = t - t p. */
struct tangent {
    double t, high, low;
};

ALWAYS_INLINE struct tangent tangent_of(double y, double x)
{
    int half = y >= 0.4375 * x, one = y >= 0.6875 * x, more = y >= 1.1875 * x, far = y >= 2.4375 * x;
    double up = half ? 2 * y - x : y, down = half ? 2 * x + y : x;
    double high = half ? 0x1.dac670561bb4fp-2 : 0, low = half ? 0x1.a2b7f222f65e2p-56 : 0;
    up = one ? y - x : up;
    down = one ? y + x : down;
    high = one ? QUARTER / 2 : high;
    low = one ? QUARTER_LOW / 2 : low;
    up = more ? (y - x) - 0.5 * x : up;
    down = more ? x + 1.5 * y : down;
    high = more ? 0x1.f730bd281f69bp-1 : high;
    low = more ? 0x1.007887af0cbbdp-56 : low;
    up = far ? -x : up;
    down = far ? y : down;
    high = far ? QUARTER : high;
    low = far ? QUARTER_LOW : low;
    return (struct tangent){up / down, high, low};
}

ALWAYS_INLINE double angle_of(struct tangent a)
{
    double t = a.t, z = t * t;
    double z2 = z * z, z4 = z2 * z2;
    double p = fma_(fma_(0x1.1f9261b287eacp-6, z, -0x1.35e857622fbb4p-5), z, 0x1.9c66979bd5f04p-5);
    p = fma_(
        p, z4,
        four_terms(z, z2, -0x1.df0cfbf5938b3p-5, 0x1.10ed3a29e31bbp-4, -0x1.3b11641b88d85p-4, 0x1.745cff86de8f7p-4));
    p = fma_(
        p, z4,
        four_terms(z, z2, -0x1.c71c71378249fp-4, 0x1.24924923b2ddep-3, -0x1.999999999889dp-3, 0x1.5555555555554p-2));
    return a.high - ((t * (z * p) - a.low) - t);
}

ALWAYS_INLINE double atan_of_f64(double y, double x)
{
    return angle_of(tangent_of(y, x));
}

static inline double atan_f64(double a)
{
    return copysign(atan_of_f64(fabs(a), 1), a);
}

/* Numbers so large that their doubles are infinite become smaller, both, those whose halves lack digits larger, and two
 * infinite ones the same number. */
ALWAYS_INLINE struct tangent atan2_first(double a, double b)
{
    double y = fabs(a), x = fabs(b), scale = (y < 0x1p-900) & (x < 0x1p-900) ? 0x1p60 : 1;
    scale = (y > 0x1p1021) | (x > 0x1p1021) ? 0.25 : scale;
    int infinite = (y == __builtin_inf()) & (x == __builtin_inf());
    return tangent_of(infinite ? 1 : y * scale, infinite ? 1 : x * scale);
}

ALWAYS_INLINE double atan2_last(double a, double b, struct tangent t)
{
    double v = a == 0 ? 0 : angle_of(t);
    v = copysign(1, b) < 0 ? 2 * QUARTER - (v - 2 * QUARTER_LOW) : v;
    return (a != a) | (b != b) ? a + b : copysign(v, a);
}

ALWAYS_INLINE double atan2_f64(double a, double b)
{
    return atan2_last(a, b, atan2_first(a, b));
}

/* asin(x) = x + x p of x up to 1 / 2, over z = x * x. */
static inline double asin_rest(double z)
{
    double z2 = z * z, z4 = z2 * z2;
    double p = 0x1.d98feca6a4a93p-6;
    p = fma_(
        p, z4,
        four_terms(z, z2, -0x1.edc979d4ddca4p-7, 0x1.1f697c3d2deaap-6, 0x1.6233c9ba59ac1p-8, 0x1.52aaf2539026fp-7));
    p = fma_(p, z4,
             four_terms(z, z2, 0x1.7815eb5eaa835p-7, 0x1.c9d0bd003751fp-7, 0x1.1c4d26cf17023p-6, 0x1.6e8bb26eebf80p-6));
    p = fma_(p, z4,
             four_terms(z, z2, 0x1.f1c71c196b455p-6, 0x1.6db6db6e3929bp-5, 0x1.3333333332e7ep-4, 0x1.5555555555556p-3));
    return p * z;
}

/* The square root of z as a number of few digits, whose square is exact, and what that lacks. */
struct root {
    double high, low;
};

static inline struct root root_of(double z)
{
    double s = sqrt(z), high = double_of_bits(bits_of_double(s) >> 32 << 32);
    return (struct root){high, s > 0 ? (z - high * high) / (s + high) : s};
}

/* Above 1 / 2: asin(x) = pi / 2 - 2 asin(s) with s = sqrt((1 - x) / 2). */
static inline double asin_f64(double a)
{
    double x = fabs(a), z = x < 0.5 ? x * x : (1 - x) / 2, r = asin_rest(z), s = sqrt(z);
    struct root root = root_of(z);
    double p = 2 * s * r - (QUARTER_LOW - 2 * root.low), q = QUARTER / 2 - 2 * root.high;
    return copysign(x < 0.5 ? x + x * r : QUARTER / 2 - (p - q), a);
}

static inline double acos_f64(double a)
{
    double x = fabs(a), z = x < 0.5 ? x * x : (1 - x) / 2, r = asin_rest(z), s = sqrt(z);
    struct root root = root_of(z);
    double near = QUARTER - (a - (QUARTER_LOW - a * r)), right = 2 * (root.high + (r * s + root.low));
    double left = 2 * QUARTER - 2 * (s + (r * s - QUARTER_LOW));
    return x < 0.5 ? near : a > 0 ? right : left;
}

#endif
