/* Elementary functions of float64, written so that a compiler can vectorise a loop over them: no branches, no tables.
 * Results are within 1.5 units of the last place, those of hyperbolic functions and their inverses within 2.5, and the
 * same bits with every instruction set. Included by loops.c alone.
 *
 * Numbers that have to be known to more digits than a double has are written as two: one with the first digits, so few
 * that its product with a whole number is exact, and one with those that follow. */
#ifndef KN_MATH_F64_H
#define KN_MATH_F64_H

#include "kernels/math_f32.h"

#define LN2_HIGH   0x1.62e42feep-1
#define LN2_LOW    0x1.a39ef35793c76p-33
#define LOG2E_HIGH 0x1.715476p+0
#define LOG2E_LOW  0x1.4ae0bf85ddf44p-26

/* e^x = 2^k (1 + (r + rest)) with |r| <= ln(2) / 2. */
struct powers {
    double k, r, rest;
};

/* That rest of r + c, where c has r's missing digits. */
static inline double exp_rest(double r, double c)
{
    double p = 0x1.aeab0c097e9b6p-26;
    p = p * r + 0x1.28918b72c1c02p-22;
    p = p * r + 0x1.71de5a4959b37p-19;
    p = p * r + 0x1.a019b90b9755fp-16;
    p = p * r + 0x1.a01a018c2528ap-13;
    p = p * r + 0x1.6c16c1788b0adp-10;
    p = p * r + 0x1.11111111144b3p-7;
    p = p * r + 0x1.5555555553d69p-5;
    p = p * r + 0x1.555555555554dp-3;
    p = p * r + 0x1.0000000000001p-1;
    return r * r * p + c;
}

static inline struct powers powers_of(double x)
{
    double k = (x * LOG2E + ROUNDER) - ROUNDER;
    double high = x - k * LN2_HIGH, low = k * LN2_LOW, r = high - low;
    return (struct powers){k, r, exp_rest(r, (high - r) - low)};
}

/* 2^k of a whole |k| <= 1000. */
static inline double power_of(double k)
{
    return double_of_bits((bits_of_double(k + ROUNDER) + 1023) << 52);
}

/* v * 2^k of |k| <= 1100, by two factors, so that only the last product is rounded. */
static inline double scaled_by(double v, double k)
{
    double half = (k * 0.5 + ROUNDER) - ROUNDER;
    return v * power_of(half) * power_of(k - half);
}

static inline double exp_f64(double a)
{
    struct powers p = powers_of(a > 710 ? 710 : a < -750 ? -750 : a);
    return scaled_by(1 + (p.r + p.rest), p.k);
}

static inline double exp2_f64(double a)
{
    double x = a > 1030 ? 1030 : a < -1080 ? -1080 : a, k = (x + ROUNDER) - ROUNDER, d = x - k;
    double r = d * LN2;
    return scaled_by(1 + (r + exp_rest(r, 0)), k);
}

static inline double expm1_f64(double a)
{
    struct powers p = powers_of(a > 710 ? 710 : a < -60 ? -60 : a);
    double v = scaled_by((p.r + (1 - power_of(p.k > 60 ? -60 : -p.k))) + p.rest, p.k);
    return a == 0 ? a : v;
}

static inline double sinh_f64(double a)
{
    double x = fabs(a), t = expm1_f64(x > 40 ? 40 : x);
    struct powers p = powers_of(x > 711 ? 711 : x);
    double near = (t + t / (t + 1)) / 2, far = scaled_by(1 + (p.r + p.rest), p.k - 1);
    return copysign(x > 22 ? far : near, a);
}

static inline double cosh_f64(double a)
{
    double x = fabs(a);
    struct powers p = powers_of(x > 711 ? 711 : x);
    double half = scaled_by(1 + (p.r + p.rest), p.k - 1);
    return half + 0.25 / half;
}

static inline double tanh_f64(double a)
{
    double x = fabs(a), t = expm1_f64(2 * (x > 22 ? 22 : x));
    return copysign(t / (t + 2), a);
}

/* log(1 + f) = f - (square - lower) of 1 + f from sqrt(1/2) to sqrt(2). */
struct logarithm {
    double square, lower;
};

static inline struct logarithm logarithm_of(double f)
{
    double s = f / (2 + f), z = s * s, square = 0.5 * f * f;
    double p = 0x1.2b5e197434e0cp-3;
    p = p * z + 0x1.39fde3de990e5p-3;
    p = p * z + 0x1.7462b8914292ep-3;
    p = p * z + 0x1.c71c62d726acbp-3;
    p = p * z + 0x1.2492492dfd2a7p-2;
    p = p * z + 0x1.999999999526fp-2;
    p = p * z + 0x1.5555555555558p-1;
    return (struct logarithm){square, s * (square + z * p)};
}

/* As parts_of, of numbers without leading digits too. */
static inline struct parts all_parts_of(double x)
{
    int small = x < 0x1p-1022;
    struct parts p = parts_of(small ? x * 0x1p54 : x);
    p.k = small ? p.k - 54 : p.k;
    return p;
}

/* The logarithm v of a, but for the numbers that have none, or none that is finite. */
static inline double of_positive_f64(double a, double v)
{
    v = a == 0 ? -__builtin_inf() : v;
    v = a < 0 ? __builtin_nan("") : v;
    return a < __builtin_inf() ? v : a;
}

static inline double log_f64(double a)
{
    struct parts x = all_parts_of(a);
    double f = x.m - 1;
    struct logarithm l = logarithm_of(f);
    return of_positive_f64(a, x.k * LN2_HIGH - ((l.square - (l.lower + x.k * LN2_LOW)) - f));
}

/* To another base: log(1 + f) as two numbers, times `high` + `low`, which is 1 / log(base), and k times that of 2. */
static inline double log_to_base(double a, double high, double low, double two_high, double two_low)
{
    struct parts x = all_parts_of(a);
    double f = x.m - 1;
    struct logarithm l = logarithm_of(f);
    double first = double_of_bits(bits_of_double(f - l.square) >> 27 << 27);
    double rest = ((f - first) - l.square) + l.lower;
    double k = x.k * two_high, v = first * high, sum = k + v;
    double lower = x.k * two_low + (rest + first) * low + rest * high;
    lower += (k - sum) + v;
    return of_positive_f64(a, sum + lower);
}

static inline double log2_f64(double a)
{
    return log_to_base(a, LOG2E_HIGH, LOG2E_LOW, 1, 0);
}

static inline double log10_f64(double a)
{
    return log_to_base(a, 0x1.bcb7b1p-2, 0x1.49b9438ca9aaep-28, 0x1.34413509ep-2, 0x1.79fef311f12b3p-38);
}

/* What rounding takes from 1 + a is put back as a part of the logarithm. */
static inline double log1p_f64(double a)
{
    double u = 1 + a;
    struct parts x = parts_of(u);
    double lost = a < 1 ? a - (u - 1) : 1 - (u - a), f = x.k == 0 ? a : x.m - 1, c = x.k == 0 ? 0 : lost / u;
    struct logarithm l = logarithm_of(f);
    double v = x.k * LN2_HIGH - ((l.square - (l.lower + (x.k * LN2_LOW + c))) - f);
    v = a == 0 ? a : a == -1 ? -__builtin_inf() : v;
    v = a < -1 ? __builtin_nan("") : v;
    return a < __builtin_inf() ? v : a;
}

#define HUGE_ARGUMENT 0x1p28 /* so large that its inverse's square does not count */

static inline double asinh_f64(double a)
{
    double x = fabs(a), y = x * x;
    int huge = x > HUGE_ARGUMENT;
    double v = log1p_f64(huge ? x - 1 : x + y / (1 + sqrt(1 + y)));
    return copysign(huge ? v + LN2 : v, a);
}

static inline double acosh_f64(double a)
{
    int huge = a > HUGE_ARGUMENT;
    double y = a - 1, v = log1p_f64(huge ? y : y + sqrt(y * (y + 2)));
    return a < 1 ? __builtin_nan("") : huge ? v + LN2 : v;
}

static inline double atanh_f64(double a)
{
    double x = fabs(a), t = x + x;
    double v = copysign(log1p_f64(x < 0.5 ? t + t * x / (1 - x) : t / (1 - x)) / 2, a);
    return (x > 1) | (a != a) ? __builtin_nan("") : v;
}

#define QUARTER     0x1.921fb54442d18p+0 /* pi / 2, as two numbers */
#define QUARTER_LOW 0x1.1a62633145c07p-54

/* By the tangent t of what is left beside the nearest of 0, atan(1 / 2), atan(1), atan(3 / 2) and a quarter turn, which
 * stand as two numbers each: atan(t) = t - t p. */
static inline double atan_f64(double a)
{
    double x = fabs(a);
    int half = x >= 0.4375, one = x >= 0.6875, more = x >= 1.1875, far = x >= 2.4375;
    double up = half ? 2 * x - 1 : x, down = half ? 2 + x : 1;
    double high = half ? 0x1.dac670561bb4fp-2 : 0, low = half ? 0x1.a2b7f222f65e2p-56 : 0;
    up = one ? x - 1 : up;
    down = one ? x + 1 : down;
    high = one ? QUARTER / 2 : high;
    low = one ? QUARTER_LOW / 2 : low;
    up = more ? x - 1.5 : up;
    down = more ? 1 + 1.5 * x : down;
    high = more ? 0x1.f730bd281f69bp-1 : high;
    low = more ? 0x1.007887af0cbbdp-56 : low;
    up = far ? -1 : up;
    down = far ? x : down;
    high = far ? QUARTER : high;
    low = far ? QUARTER_LOW : low;
    double t = up / down, z = t * t;
    double p = 0x1.1f9261b287eacp-6;
    p = p * z - 0x1.35e857622fbb4p-5;
    p = p * z + 0x1.9c66979bd5f04p-5;
    p = p * z - 0x1.df0cfbf5938b3p-5;
    p = p * z + 0x1.10ed3a29e31bbp-4;
    p = p * z - 0x1.3b11641b88d85p-4;
    p = p * z + 0x1.745cff86de8f7p-4;
    p = p * z - 0x1.c71c71378249fp-4;
    p = p * z + 0x1.24924923b2ddep-3;
    p = p * z - 0x1.999999999889dp-3;
    p = p * z + 0x1.5555555555554p-2;
    return copysign(high - ((t * (z * p) - low) - t), a);
}

/* asin(x) = x + x p of x up to 1 / 2, over z = x * x. */
static inline double asin_rest(double z)
{
    double p = 0x1.d98feca6a4a93p-6;
    p = p * z - 0x1.edc979d4ddca4p-7;
    p = p * z + 0x1.1f697c3d2deaap-6;
    p = p * z + 0x1.6233c9ba59ac1p-8;
    p = p * z + 0x1.52aaf2539026fp-7;
    p = p * z + 0x1.7815eb5eaa835p-7;
    p = p * z + 0x1.c9d0bd003751fp-7;
    p = p * z + 0x1.1c4d26cf17023p-6;
    p = p * z + 0x1.6e8bb26eebf80p-6;
    p = p * z + 0x1.f1c71c196b455p-6;
    p = p * z + 0x1.6db6db6e3929bp-5;
    p = p * z + 0x1.3333333332e7ep-4;
    p = p * z + 0x1.5555555555556p-3;
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

/* By Halley's method from a guess with a third of the exponent, and a last step from a guess of few digits, whose
 * square is exact. Numbers without leading digits are made larger by 2^54, which the root is by 2^18. */
static inline double cbrt_f64(double a)
{
    int small = fabs(a) < 0x1p-1022;
    double x = small ? fabs(a) * 0x1p54 : fabs(a);
    uint64_t third = ((bits_of_double(x) >> 32) * 0xaaaaaaabu >> 33) + 715094163;
    double t = double_of_bits(third << 32);
    for (int i = 0; i < 2; i++) {
        double ratio = t * t * (t / x); /* t^3 / x, which no x makes too large */
        t = t * ((ratio + 2) / (2 * ratio + 1));
    }
    t = double_of_bits((bits_of_double(t) + 0x40000000u) >> 31 << 31);
    double r = x / (t * t);
    t = t + t * ((r - t) / (t + t + r));
    t = small ? t * 0x1p-18 : t;
    return (a == 0) | !(fabs(a) < __builtin_inf()) ? a : copysign(t, a);
}

#endif
