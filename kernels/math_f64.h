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
    double r2 = r * r, r4 = r2 * r2;
    double p = fma_(0x1.aeab0c097e9b6p-26, r, 0x1.28918b72c1c02p-22);
    p = fma_(
        p, r4,
        four_terms(r, r2, 0x1.71de5a4959b37p-19, 0x1.a019b90b9755fp-16, 0x1.a01a018c2528ap-13, 0x1.6c16c1788b0adp-10));
    p = fma_(p, r4,
             four_terms(r, r2, 0x1.11111111144b3p-7, 0x1.5555555553d69p-5, 0x1.555555555554dp-3, 0x1.0000000000001p-1));
    return fma_(r * r, p, c);
}

static inline struct powers powers_of(double x)
{
    double k = (x * LOG2E + ROUNDER) - ROUNDER;
    double high = fma_(k, -LN2_HIGH, x), low = k * LN2_LOW, r = high - low;
    return (struct powers){k, r, exp_rest(r, (high - r) - low)};
}

/* v * 2^k of |k| <= 1190, by two factors of half the power, so that only the last product is rounded. */
static inline double scaled_by(double v, double k)
{
    uint64_t bits = bits_of_double(k + (ROUNDER + 2046)); /* ends in k and both exponents' excess, which is positive */
    return v * double_of_bits(bits >> 1 << 52) * double_of_bits((bits - (bits >> 1)) << 52);
}

static inline double exp_f64(double a)
{
    struct powers p = powers_of(at_least(at_most(a, 710), -750));
    return scaled_by(1 + (p.r + p.rest), p.k);
}

/* Of |a| <= EXP_LIMIT, whose powers of 2 are numbers with leading digits. */
#define EXP_LIMIT 700
static inline double exp_near_f64(double a)
{
    struct powers p = powers_of(a);
    return (1 + (p.r + p.rest)) * power_of(p.k);
}

static inline double exp2_f64(double a)
{
    double x = at_least(at_most(a, 1030), -1080), k = (x + ROUNDER) - ROUNDER, d = x - k;
    double r = d * LN2;
    return scaled_by(1 + (r + exp_rest(r, 0)), k);
}

/* Of |a| <= 1020. */
static inline double exp2_near_f64(double a)
{
    double k = (a + ROUNDER) - ROUNDER, r = (a - k) * LN2;
    return (1 + (r + exp_rest(r, 0))) * power_of(k);
}

static inline double expm1_f64(double a)
{
    struct powers p = powers_of(at_least(at_most(a, 710), -60));
    double v = scaled_by((p.r + (1 - power_of(-at_most(p.k, 60)))) + p.rest, p.k);
    return a == 0 ? a : v;
}

/* By half of u = (e^x - 1) / 2, which is finite with twice as much; u / (2 u + 1) is 0 where 2 u + 1 is not. */
static inline double sinh_f64(double a)
{
    double x = fabs(a);
    struct powers p = powers_of(at_most(x, 710.6));
    double half = ((p.r + (1 - power_of(-at_most(p.k, 60)))) + p.rest) * power_of(p.k - 2);
    double v = 2 * (half + half / (4 * half + 1));
    return x < 0x1p-28 ? a : copysign(v, a);
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
    double x = fabs(a);
    struct powers p = powers_of(2 * at_most(x, 22));
    double t = ((p.r + (1 - power_of(-p.k))) + p.rest) * power_of(p.k);
    return copysign(t / (t + 2), a);
}

/* log(1 + f) = f - (square - lower) of 1 + f from sqrt(1/2) to sqrt(2). */
struct logarithm {
    double square, lower;
};

static inline struct logarithm logarithm_of(double f)
{
    double s = f / (2 + f), z = s * s, square = 0.5 * f * f;
    double z2 = z * z, z4 = z2 * z2;
    double p = fma_(fma_(0x1.2b5e197434e0cp-3, z, 0x1.39fde3de990e5p-3), z, 0x1.7462b8914292ep-3);
    p = fma_(p, z4,
             four_terms(z, z2, 0x1.c71c62d726acbp-3, 0x1.2492492dfd2a7p-2, 0x1.999999999526fp-2, 0x1.5555555555558p-1));
    return (struct logarithm){square, s * fma_(z, p, square)};
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

/* log(2^k m) - less, of a whole `less` that is subtracted where it costs no digits. */
ALWAYS_INLINE double log_less(struct parts x, double less)
{
    double f = x.m - 1;
    struct logarithm l = logarithm_of(f);
    return (x.k * LN2_HIGH - less) - ((l.square - fma_(x.k, LN2_LOW, l.lower)) - f);
}

ALWAYS_INLINE double log_of_parts(struct parts x)
{
    return log_less(x, 0);
}

/* To another base: log(1 + f) = f - less times `by` + `rest`, which is 1 / log(base), and k times that of 2. */
ALWAYS_INLINE double log_to_base(struct parts x, double by, double rest, double two_high, double two_low)
{
    double f = x.m - 1;
    struct logarithm l = logarithm_of(f);
    double k = x.k * two_high, v = f * by, sum = k + v, lower = fma_(f, rest, fma_(f, by, -v));
    lower = fma_(l.lower - l.square, by, fma_(x.k, two_low, lower));
    return sum + (lower + ((k - sum) + v));
}

ALWAYS_INLINE double log2_of_parts(struct parts x)
{
    return log_to_base(x, LOG2E, 0x1.777d0ffda0d24p-56, 1, 0);
}

ALWAYS_INLINE double log10_of_parts(struct parts x)
{
    return log_to_base(x, 0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57, 0x1.34413509ep-2, 0x1.79fef311f12b3p-38);
}

static inline double log_f64(double a)
{
    return of_positive_f64(a, log_of_parts(all_parts_of(a)));
}

static inline double log2_f64(double a)
{
    return of_positive_f64(a, log2_of_parts(all_parts_of(a)));
}

static inline double log10_f64(double a)
{
    return of_positive_f64(a, log10_of_parts(all_parts_of(a)));
}

/* 1 / 2^k with the k of parts_of, of x up to 2^1000. */
static inline double power_under(double x)
{
    uint64_t bits = bits_of_double(x) - (0x3fe6a09e667f3bcdu - (1024ull << 52));
    return double_of_bits((2047ull << 52) - (bits & 0xfffull << 52));
}

/* log(1 + a), or of twice that, of finite a > -1. What rounding takes from 1 + a is put back where it counts, into m
 * - 1. */
ALWAYS_INLINE double log1p_and(double a, int twice)
{
    double u = 1 + a, lost = at_most(a, 1) - (u - at_least(a, 1));
    struct parts x = parts_of(u);
    double f = fma_(lost, power_under(at_most(u, 0x1p1000)), x.m - 1), k = twice ? x.k + 1 : x.k;
    struct logarithm l = logarithm_of(f);
    return k * LN2_HIGH - ((l.square - fma_(k, LN2_LOW, l.lower)) - f);
}

static inline double log1p_f64(double a)
{
    double v = log1p_and(a, 0);
    v = a == 0 ? a : a == -1 ? -__builtin_inf() : v;
    v = a < -1 ? __builtin_nan("") : v;
    return a < __builtin_inf() ? v : a;
}

static inline double softplus_f64(double a)
{
    return (a > 0 ? a : 0) + log1p_and(exp_f64(-fabs(a)), 0);
}

/* Of t = exp(-|a - b|). Equal ones, infinities among them, aside. */
ALWAYS_INLINE double logaddexp_last(double a, double b, double t)
{
    double v = (a > b ? a : b) + log1p_and(t, 0);
    return a == b ? a + LN2 : v;
}

static inline double logaddexp_f64(double a, double b)
{
    return logaddexp_last(a, b, exp_f64(-fabs(a - b)));
}

#define HUGE_ARGUMENT 0x1p28 /* so large that its inverse's square does not count */

/* Inverse hyperbolic functions are logarithms of 1 + y, in two steps: `first` has the y, and that of huge numbers less
 * one power of 2, which `last` puts back. */
static inline double asinh_first(double a)
{
    double x = fabs(a), y = x * x;
    return x > HUGE_ARGUMENT ? x - 1 : x + y / (1 + sqrt(1 + y));
}

ALWAYS_INLINE double asinh_last(double a, double y)
{
    double x = fabs(a), v = copysign(log1p_and(y, x > HUGE_ARGUMENT), a);
    return x < __builtin_inf() ? v : a;
}

static inline double asinh_f64(double a)
{
    return asinh_last(a, asinh_first(a));
}

static inline double acosh_first(double a)
{
    double y = a - 1;
    return a > HUGE_ARGUMENT ? y : y + sqrt(y * (y + 2));
}

ALWAYS_INLINE double acosh_last(double a, double y)
{
    double v = log1p_and(y, a > HUGE_ARGUMENT);
    v = a < 1 ? __builtin_nan("") : v;
    return a < __builtin_inf() ? v : a;
}

static inline double acosh_f64(double a)
{
    return acosh_last(a, acosh_first(a));
}

/* From 1 on the quotient is infinite or negative. */
static inline double atanh_first(double a)
{
    double x = fabs(a), t = x + x;
    int near = x < 0.5;
    return (near ? t * x : t) / (1 - x) + (near ? t : 0);
}

ALWAYS_INLINE double atanh_last(double a, double y)
{
    double v = copysign(0.5 * log1p_and(y, 0), a);
    return fabs(a) < 1 ? v : fabs(a) == 1 ? copysign(__builtin_inf(), a) : __builtin_nan("");
}

static inline double atanh_f64(double a)
{
    return atanh_last(a, atanh_first(a));
}

/* x^(-1/3) of numbers with leading digits but for 2e-6, from a guess with a third of the exponent, by a polynomial over
 * what x times its cube lacks of 1. */
static inline double inverse_cbrt_of(double x)
{
    double y = double_of_bits((0x553ef0ffu - ((bits_of_double(x) >> 32) * 0xaaaaaaabu >> 33)) << 32);
    double lacks = fma_(-(x * y) * y, y, 1), p = 0x1.615a2cfa5ab6bp-3;
    p = fma_(p, lacks, 0x1.ca37c1dae74d9p-3);
    p = fma_(p, lacks, 0x1.5556d684ffbc2p-2);
    return y * fma_(p, lacks, 0x1.ffffbd036bc94p-1);
}

/* The root t = x y^2, mended by what its cube lacks of x, which is l sqrt(1 - l) by y^3, where l = 1 - t^3 / x. Numbers
 * so small that this would lack digits are made larger by 2^54, which the root is by 2^18. */
static inline double cbrt_f64(double a)
{
    int small = fabs(a) < 0x1p-960;
    double x = small ? fabs(a) * 0x1p54 : fabs(a);
    double y = inverse_cbrt_of(x), yy = y * y, t = x * yy, square = t * t;
    double left = fma_(-fma_(t, t, -square), t, fma_(-square, t, x)) * yy, l = left * y;
    t = fma_(left, fma_(fma_(l, 0x1.22c3f35ba7819p-2, 0x1.c71c71c71c71cp-3), l, 0x1.5555555555555p-2), t);
    t = small ? t * 0x1p-18 : t;
    return (a == 0) | !(fabs(a) < __builtin_inf()) ? a : copysign(t, a);
}

/* Squares that would be infinite, or lack digits, are those of numbers made smaller or larger. */
static inline double hypot_f64(double a, double b)
{
    double x = fabs(a) > fabs(b) ? fabs(a) : fabs(b), y = fabs(a) > fabs(b) ? fabs(b) : fabs(a);
    double up = x > 0x1p500    ? 0x1p-600
                : x < 0x1p-400 ? 0x1p600
                               : 1,
           down = x > 0x1p500    ? 0x1p600
                  : x < 0x1p-400 ? 0x1p-600
                                 : 1;
    x *= up, y *= up;
    double v = sqrt(fma_(x, x, y * y)) * down, infinity = __builtin_inf();
    return (fabs(a) == infinity) | (fabs(b) == infinity) ? infinity : v;
}

/* a = 2^k m with 1 <= |m| < 2, of a that is finite and not 0. */
static inline struct parts digits_of(double a)
{
    int small = fabs(a) < 0x1p-1022;
    uint64_t bits = bits_of_double(small ? a * 0x1p54 : a);
    double k = double_of_bits((bits << 1 >> 53) | 0x4330000000000000u) - (small ? 0x1p52 + 1023 + 54 : 0x1p52 + 1023);
    return (struct parts){k, double_of_bits((bits & 0x800fffffffffffffu) | 0x3ff0000000000000u)};
}

static inline double logb_f64(double a)
{
    double v = a == 0 ? -__builtin_inf() : digits_of(a).k;
    return fabs(a) < __builtin_inf() ? v : fabs(a);
}

static inline double ldexp_f64(double a, double b)
{
    struct parts x = digits_of(a);
    double n = b > 5000 ? 5000 : b < -5000 ? -5000 : b, k = x.k + trunc(n);
    double v = scaled_by(x.m, k > 1030 ? 1030 : k < -1090 ? -1090 : k);
    v = (a == 0) | !(fabs(a) < __builtin_inf()) ? a : v;
    return b != b ? b : v;
}

/* The number whose erf is x, of |x| <= ERFINV_LIMIT, by a polynomial over w = -log(1 - x^2), of which the error is
 * 1.9e-17; within 2.5 units of the last place. In two steps, of which the first has w less 3.125. */
#define ERFINV_LIMIT 0x1.ff8p-1
ALWAYS_INLINE double erfinv_first(double x)
{
    return -log_of_parts(parts_of((1 - x) * (1 + x))) - 3.125;
}

ALWAYS_INLINE double erfinv_last(double x, double z)
{
    double z2 = z * z, z4 = z2 * z2;
    double p =
        four_terms(z, z2, 0x1.fe201ccb415b6p-69, -0x1.30f70108a6fbbp-70, -0x1.a61e693e19f0fp-62, 0x1.51c53367ed334p-60);
    p = fma_(p, z4,
             four_terms(z, z2, 0x1.22b74b4c882d6p-56, -0x1.2bd98339ba235p-53, -0x1.8b5c841583600p-55,
                        0x1.db32beb6de123p-48));
    p = fma_(p, z4,
             four_terms(z, z2, -0x1.683228c41428bp-45, -0x1.6d8ebdee9bffcp-44, 0x1.723082f94977ep-39,
                        -0x1.c8960c7d33f9bp-37));
    p = fma_(p, z4,
             four_terms(z, z2, -0x1.dc3dd2e2fbed9p-35, 0x1.20f4eb25eacd8p-30, -0x1.1a9eb6f32f3afp-28,
                        -0x1.f36ce54208b04p-26));
    p = fma_(p, z4,
             four_terms(z, z2, 0x1.c6b4f8af2efbap-22, -0x1.6e8a53ee3507ap-20, -0x1.d1d1f7cb07edcp-17,
                        0x1.879c2a20d6bb5p-13));
    p = fma_(
        p, z4,
        four_terms(z, z2, -0x1.8457694834112p-11, -0x1.8b6c33114ee40p-8, 0x1.ebd80d9b13df7p-3, 0x1.a755e7c99ae86p+0));
    return x * p;
}

/* With fewer digits; the polynomial's error is 2^-33. */
static inline double erfinv_first_wide(double x)
{
    struct parts w = parts_of((1 - x) * (1 + x));
    return -3.125 - fma_(w.k, LN2, log_ratio((w.m - 1) / (w.m + 1)));
}

static inline double erfinv_last_wide(double x, double z)
{
    double z2 = z * z, z4 = z2 * z2;
    double p = fma_(0x1.40ecd0d2f4597p-40, z, -0x1.b7fabdbf394a0p-37);
    p = fma_(p, z4,
             four_terms(z, z2, -0x1.0ea466e88e8bep-35, 0x1.1c56b842b3fc2p-30, -0x1.27c1f6417de29p-28,
                        -0x1.f121e26eeb942p-26));
    p = fma_(p, z4,
             four_terms(z, z2, 0x1.c79e46217771bp-22, -0x1.6eaa593c5ece6p-20, -0x1.d1e2bde7d8d33p-17,
                        0x1.879c8c6377686p-13));
    p = fma_(
        p, z4,
        four_terms(z, z2, -0x1.845724abaf40bp-11, -0x1.8b6c34b49f11ap-8, 0x1.ebd80d86a0c0fp-3, 0x1.a755e7c9bb6b4p+0));
    return x * p;
}

/* Of the others below 1, likewise by polynomials over the root of w, of which the errors are 2^-55. */
static double erfinv_far(double x)
{
    double w = -log_of_parts(parts_of((1 - x) * (1 + x))), s = sqrt(w), lacks = fma_(-s, s, w) / (s + s), p;
    double t = (s - (s < 3.795 ? 3.125 : 4.875)) + lacks;
    if (s < 3.795) {
        double t2 = t * t, t4 = t2 * t2;
        p = fma_(fma_(0x1.56129c3d35da2p-25, t, 0x1.d368b90dc3293p-25), t, -0x1.1a27b4e714f70p-21);
        p = fma_(p, t4,
                 four_terms(t, t2, 0x1.b3e0e9e18ca79p-21, 0x1.d6ec5388feaedp-21, -0x1.a6b97ab5274bap-18,
                            0x1.7ee47bc92f5efp-17));
        p = fma_(p, t4,
                 four_terms(t, t2, 0x1.2624f5886ec8fp-19, -0x1.edb63064c638ep-15, 0x1.1d6e23394c170p-13,
                            -0x1.779cb50f0b077p-14));
        p = fma_(p, t4,
                 four_terms(t, t2, -0x1.58a08cf90f983p-12, 0x1.4a7a1f23fafffp-10, -0x1.4a493b8d17abcp-9,
                            0x1.f1579bc1d2b8bp-9));
        p = fma_(
            p, t4,
            four_terms(t, t2, -0x1.5b683332d6ce0p-8, 0x1.cde3e11492918p-8, 0x1.00f3b54ba7eecp+0, 0x1.7aaa3c1430b73p+1));
    } else {
        double t2 = t * t, t4 = t2 * t2;
        p = four_terms(t, t2, 0x1.a65532f4eb5fap-38, -0x1.32ce7b63f292bp-35, 0x1.519940208b90fp-34,
                       -0x1.692cbfe71a7b2p-36);
        p = fma_(p, t4,
                 four_terms(t, t2, -0x1.f18895f216ff2p-32, 0x1.23d0197d36e42p-29, -0x1.c01d520333190p-28,
                            0x1.0f6f2c63b5c77p-26));
        p = fma_(p, t4,
                 four_terms(t, t2, -0x1.15abe6a4fdff6p-25, 0x1.03253129834a2p-24, -0x1.03d0923b38919p-23,
                            0x1.63ec218681305p-22));
        p = fma_(p, t4,
                 four_terms(t, t2, -0x1.5476ef148f0bdp-20, 0x1.71a25ed7160f5p-18, -0x1.891512742487bp-16,
                            0x1.7717f034ae487p-14));
        p = fma_(p, t4,
                 four_terms(t, t2, -0x1.0cbcfbbf3035fp-12, -0x1.a819f17805f67p-15, 0x1.02a49f7855b35p+0,
                            0x1.2e4fbe28e61acp+2));
    }
    return x * p;
}

ALWAYS_INLINE double erfinv_f64(double a)
{
    double x = fabs(a);
    if (x <= ERFINV_LIMIT) return erfinv_last(a, erfinv_first(a));
    if (!(x < 1)) return x == 1 ? copysign(__builtin_inf(), a) : __builtin_nan("");
    return copysign(erfinv_far(x), a);
}

ALWAYS_INLINE float erfinv_f32(float a)
{
    return (float)(fabsf(a) <= (float)ERFINV_LIMIT ? erfinv_last_wide(a, erfinv_first_wide(a)) : erfinv_f64(a));
}

#endif
