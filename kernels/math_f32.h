/* The elementary functions of float32, written so that a compiler can vectorise a loop over them: no branches, no
 * tables. They compute in double, whose spare bits take the place of careful float arithmetic, so results are within
 * 0.52 units of the last place and are the same bits with every instruction set. Products and sums that belong together
 * are fused on purpose, which is an instruction since 2013; the C library computes it for older processors, slowly.
 * Included by loops.c alone.
 *
 * Polynomials without another word are the best of their degree in the relative error (Remez' algorithm). */
#ifndef KN_MATH_F32_H
#define KN_MATH_F32_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline double double_of_bits(uint64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* a * b + c, rounded once. */
static inline double fma_(double a, double b, double c)
{
    return __builtin_fma(a, b, c);
}

/* c3 z^3 + c2 z^2 + c1 z + c0, in two steps one behind the other instead of three. Long polynomials go four such terms
 * at a time: what a processor has begun of a loop is not enough to fill the time in which a long chain of steps waits.
 */
static inline double four_terms(double z, double z2, double c3, double c2, double c1, double c0)
{
    return fma_(fma_(c3, z, c2), z2, fma_(c1, z, c0));
}

/* In the form of the instructions that find the lesser and the greater of two, which let NaN through here. */
static inline double at_most(double v, double limit)
{
    return limit < v ? limit : v;
}

static inline double at_least(double v, double limit)
{
    return limit > v ? limit : v;
}

static inline uint64_t bits_of_double(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

/* Adding this to a small double leaves it rounded to a whole number, which is then in the low bits. */
#define ROUNDER 0x1.8p52

/* 2^k of a whole k from -1022 to 1023. */
static inline double power_of(double k)
{
    return double_of_bits((bits_of_double(k + ROUNDER) + 1023) << 52);
}

/* 2^x, |x| <= 1000, of shifted = x + ROUNDER: the polynomial is 2^t of |t| <= 1 / 2, of which the error is 4.1e-11. */
static inline double exp2_of(double x, double shifted)
{
    double t = x - (shifted - ROUNDER);
    double p = 0x1.fe17831f16676p-17;
    p = fma_(p, t, 0x1.446a1fd9949f5p-13);
    p = fma_(p, t, 0x1.5d8a7088f92e0p-10);
    p = fma_(p, t, 0x1.3b29dc40d7e4fp-7);
    p = fma_(p, t, 0x1.c6b08aaf2e38ap-5);
    p = fma_(p, t, 0x1.ebfbe0a4be7fcp-3);
    p = fma_(p, t, 0x1.62e42ff116290p-1);
    p = fma_(p, t, 0x1.ffffffffabbcep-1);
    return double_of_bits(bits_of_double(p) + (bits_of_double(shifted) << 52)); /* p * 2^k */
}

/* Beyond +-200 every float32 result is infinite or zero anyway. The comparisons are those of the instructions that find
 * the lesser and the greater of two, and let NaN through. */
static inline float exp_f32(float a)
{
    float low = 200 < a ? 200 : a;
    double x = (double)(-200 > low ? -200 : low) * 0x1.71547652b82fep0;
    return (float)exp2_of(x, x + ROUNDER);
}

/* What exp and its relatives are made of: a = k ln(2) + t with a whole k and |t| <= ln(2) / 2. The numbers are 2^k,
 * which |k| <= 1000 allows, and e^t - 1, of which the error is 2.4e-10. */
struct power {
    double scale, rest;
};

static inline struct power power_of_2(double x, double shifted)
{
    double t = (x - (shifted - ROUNDER)) * 0x1.62e42fefa39efp-1;
    double p = 0x1.a019f8d67c870p-13;
    p = fma_(p, t, 0x1.6d74809c51797p-10);
    p = fma_(p, t, 0x1.1111a6664938bp-7);
    p = fma_(p, t, 0x1.5554adb61fd12p-5);
    p = fma_(p, t, 0x1.555554c61839fp-3);
    p = fma_(p, t, 0x1.0000002812e40p-1);
    p = fma_(p, t, 0x1.0000000022470p+0);
    return (struct power){double_of_bits((bits_of_double(shifted) + 1023) << 52), p * t};
}

/* e^x - 1 of |x| <= 600, with x's own relative accuracy. */
static inline double expm1_wide(double x)
{
    double y = x * 0x1.71547652b82fep0;
    struct power p = power_of_2(y, y + ROUNDER);
    return fma_(p.scale, p.rest, p.scale - 1);
}

/* 2^x, infinite or 0 as a float32 beyond +-300. */
static inline double exp2_wide(double x)
{
    x = fabs(x) > 300 ? copysign(300, x) : x;
    return exp2_of(x, x + ROUNDER);
}

static inline float exp2_f32(float a)
{
    float low = 300 < a ? 300 : a;
    double x = -300 > low ? -300 : low;
    return (float)exp2_of(x, x + ROUNDER);
}

static inline float expm1_f32(float a)
{
    float v = (float)expm1_wide(a > 200 ? 200 : a < -200 ? -200 : (double)a);
    return a == 0 ? a : v;
}

static inline float sinh_f32(float a)
{
    double x = fabsf(a), u = expm1_wide(x > 200 ? 200 : x);
    return copysignf((float)((u + u / (u + 1)) / 2), a);
}

static inline float cosh_f32(float a)
{
    double x = fabsf(a), e = expm1_wide(x > 200 ? 200 : x) + 1;
    return (float)((e + 1 / e) / 2);
}

static inline float tanh_f32(float a)
{
    double x = fabsf(a), u = expm1_wide(2 * (x > 20 ? 20 : x));
    return copysignf((float)(u / (u + 2)), a);
}

/* x = 2^k m with m from sqrt(1/2) to sqrt(2). */
struct parts {
    double k, m;
};

static inline struct parts parts_of(double x)
{
    uint64_t bits = bits_of_double(x) - (0x3fe6a09e667f3bcdu - (1024ull << 52)); /* positive of every exponent */
    return (struct parts){double_of_bits(bits >> 52 | 0x4330000000000000u) - (0x1p52 + 1024),
                          double_of_bits((bits & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu)};
}

/* log((1 + s) / (1 - s)) = 2 atanh(s) of |s| <= 0.1716; the error is 4.2e-12. */
static inline double log_ratio(double s)
{
    double z = s * s;
    double p = 0x1.e3b04d5240861p-4;
    p = fma_(p, z, 0x1.2432bbe09c86fp-3);
    p = fma_(p, z, 0x1.999a9ca19b039p-3);
    p = fma_(p, z, 0x1.555554dac5f42p-2);
    p = fma_(p, z, 0x1.0000000004a23p+0);
    return 2 * s * p;
}

/* log2(2^k m), by the same polynomial times 2 / log(2). */
static inline double log2_of(struct parts x)
{
    double s = (x.m - 1) / (x.m + 1), z = s * s;
    double p = 0x1.5ce85a6e3e0e2p-2;
    p = fma_(p, z, 0x1.a58d88823466bp-2);
    p = fma_(p, z, 0x1.27777fe8f9f1bp-1);
    p = fma_(p, z, 0x1.ec709d12cf250p-1);
    p = fma_(p, z, 0x1.71547652bedf3p+1);
    return fma_(p, s, x.k);
}

#define LN2   0x1.62e42fefa39efp-1
#define LOG2E 0x1.71547652b82fep0

/* The logarithm v of a, but for the numbers that have none, or none that is finite. */
static inline float of_positive(float a, float v)
{
    v = a == 0 ? -__builtin_inff() : v;
    v = a < 0 ? __builtin_nanf("") : v;
    return a < __builtin_inff() ? v : a; /* infinity and NaN */
}

static inline float log_f32(float a)
{
    struct parts x = parts_of(a);
    return of_positive(a, (float)fma_(x.k, LN2, log_ratio((x.m - 1) / (x.m + 1))));
}

static inline float log2_f32(float a)
{
    return of_positive(a, (float)log2_of(parts_of(a)));
}

static inline float log10_f32(float a)
{
    struct parts x = parts_of(a);
    double k = fma_(x.k, LN2, log_ratio((x.m - 1) / (x.m + 1)));
    return of_positive(a, (float)(k * 0x1.bcb7b1526e50ep-2));
}

/* log(1 + x) of finite x > -1, with x's own relative accuracy. */
static inline double log1p_wide(double x)
{
    struct parts y = parts_of(1 + x);
    double f = y.k == 0 ? x : y.m - 1;
    return fma_(y.k, LN2, log_ratio(f / (2 + f)));
}

static inline float log1p_f32(float a)
{
    float v = (float)log1p_wide(a);
    v = a == 0 ? a : a == -1 ? -__builtin_inff() : v;
    v = a < -1 ? __builtin_nanf("") : v;
    return a < __builtin_inff() ? v : a;
}

/* 2^x of x <= 0. */
static inline double power_near(double x)
{
    double y = at_least(x, -1000);
    return exp2_of(y, y + ROUNDER);
}

/* log(1 + t) of 0 <= t <= 1, by log((1 + s) / (1 - s)) of s up to 1 / 3; the polynomial's error is 2^-33. */
static inline double log1p_of(double t)
{
    double s = t / (2 + t), z = s * s;
    double p = 0x1.f3fac685034f2p-3;
    p = fma_(p, z, 0x1.b6224561db69dp-3);
    p = fma_(p, z, 0x1.251380d04cb64p-2);
    p = fma_(p, z, 0x1.99962b1fd786dp-2);
    p = fma_(p, z, 0x1.555559930b1bap-1);
    p = fma_(p, z, 0x1.ffffffff273e5p+0);
    return p * s;
}

static inline float softplus_f32(float a)
{
    return (float)((a > 0 ? a : 0) + log1p_of(power_near(fabsf(a) * -LOG2E)));
}

/* Of t = exp(-|a - b|). Equal ones, infinities among them, aside. */
static inline float logaddexp_last_f32(float a, float b, double t)
{
    double v = (a > b ? a : b) + log1p_of(t);
    return (float)(a == b ? a + LN2 : v);
}

static inline float logaddexp_f32(float a, float b)
{
    return logaddexp_last_f32(a, b, power_near(fabs((double)a - b) * -LOG2E));
}

static inline float logaddexp2_f32(float a, float b)
{
    double v = (a > b ? a : b) + log1p_of(power_near(-fabs((double)a - b))) * LOG2E;
    return (float)(a == b ? a + 1.0 : v);
}

/* Inverse hyperbolic functions are logarithms of 1 + y, in two steps, of which the first has the y. The root lacks
 * digits beside a small x, which is the inverse hyperbolic sine of itself. */
static inline double asinh_first_wide(double x)
{
    return x + (sqrt(fma_(x, x, 1)) - 1);
}

static inline float asinh_last_f32(float a, double y)
{
    float x = fabsf(a), v = copysignf((float)log1p_wide(y), a);
    return (x >= 0x1p-15f) & (x < __builtin_inff()) ? v : a;
}

static inline float asinh_f32(float a)
{
    return asinh_last_f32(a, asinh_first_wide(fabsf(a)));
}

static inline double acosh_first_wide(double a)
{
    double y = a - 1;
    return y + sqrt(y * (y + 2));
}

static inline float acosh_last_f32(float a, double y)
{
    float v = (float)log1p_wide(y);
    v = a < 1 ? __builtin_nanf("") : v;
    return a < __builtin_inff() ? v : a;
}

static inline float acosh_f32(float a)
{
    return acosh_last_f32(a, acosh_first_wide(a));
}

/* Half of log((1 + x) / (1 - x)), of which the denominator has the exponent: the quotient is 2^k up / m. */
static inline float atanh_f32(float a)
{
    double x = fabsf(a);
    struct parts y = parts_of(1 - x);
    int above = 1 + x > 0x1.6a09e667f3bcdp0 * y.m;
    double up = above ? (1 + x) / 2 : 1 + x, k = (above ? 1 : 0) - y.k, rest = k == 0 ? x + x : up - y.m;
    float v = copysignf((float)((k * LN2 + log_ratio(rest / (up + y.m))) / 2), a);
    v = x == 1 ? copysignf(__builtin_inff(), a) : v;
    return (x > 1) | (a != a) ? __builtin_nanf("") : v;
}

/* Of 2^-126 <= a < infinity. */
static inline float pow_plain_f32(float a, float b)
{
    return (float)exp2_wide(log2_of(parts_of((double)a)) * (double)b);
}

/* Where the result is from 2^-1000 to 2^1000. */
static inline float pow_near_f32(float a, float b)
{
    double x = log2_of(parts_of((double)a)) * (double)b;
    return (float)exp2_of(x, x + ROUNDER);
}

/* |a|^b by the logarithm, negative where a is and b is odd. Of 0 and infinity the logarithms are numbers so large that
 * times any b they are infinite or zero again. */
static inline float pow_f32(float a, float b)
{
    double x = fabsf(a), y = b, l = log2_of(parts_of(x));
    l = x == 0 ? -1e300 : x < __builtin_inff() ? l : 1e300;
    float v = (float)exp2_wide(l * y);
    int whole = rint(y) == y, odd = whole & (rint(y / 2) != y / 2);
    v = odd ? copysignf(v, a) : v;
    v = (a < 0) & !whole & (x < __builtin_inff()) ? __builtin_nanf("") : v;
    v = (a != a) | (b != b) ? a + b : v;
    return (a == 1) | (b == 0) | ((x == 1) & (fabs(y) == __builtin_inf())) ? 1 : v;
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

/* The root t = x y^2, mended by what its cube lacks of x. */
static inline float cbrt_f32(float a)
{
    double x = fabsf(a), y = inverse_cbrt_of(x), yy = y * y, t = x * yy;
    t = fma_(fma_(-(t * t), t, x) * yy, 0x1.5555555555555p-2, t);
    float v = copysignf((float)t, a);
    return (a == 0) | !(x < __builtin_inff()) ? a : v;
}

/* Up to this size k * (the first part of pi) below is exact; larger arguments go to the C library. */
#define TRIG_LIMIT 100000.0f

/* sin(a) for turn 0, cos(a) for turn 1, of |a| <= TRIG_LIMIT: a = k pi + r with |r| <= pi / 2, where k is whole for the
 * sine and a half more for the cosine; then it is sin(r) or -sin(r). The polynomial's error is 2.4e-11 of sin(r). */
static inline float sin_turned(float a, int turn)
{
    double x = a, half = turn ? 0.5 : 0, shifted = fma_(x, 0x1.45f306dc9c883p-2, -half) + ROUNDER;
    double k = shifted - ROUNDER + half;
    double r = fma_(k, -0x1.0b4611a626331p-33, fma_(k, -0x1.921fb54400000p1, x));
    double z = r * r, s = -0x1.9a678224b8275p-26;
    s = fma_(s, z, 0x1.717074d00abd9p-19);
    s = fma_(s, z, -0x1.a017d94a3d03fp-13);
    s = fma_(s, z, 0x1.11110c49017d3p-7);
    s = fma_(s, z, -0x1.5555554765bf2p-3);
    s = fma_(s * z, r, r);
    return (float)double_of_bits(bits_of_double(s) ^ (bits_of_double(shifted) + (uint64_t)turn) << 63);
}

/* tan(a) of |a| <= TRIG_LIMIT: a = k pi / 2 + r with |r| <= pi / 4, then it is tan(r), or -1 / tan(r) of an odd k. The
 * tangent is a quotient of two polynomials, of which the error is 2.2e-11. */
static inline float tan_turned(float a)
{
    double x = a, shifted = fma_(x, 0x1.45f306dc9c883p-1, ROUNDER), k = shifted - ROUNDER;
    double r = fma_(k, -0x1.0b4611a626331p-34, fma_(k, -0x1.921fb54400000p0, x)), z = r * r;
    double s = fma_(fma_(0x1.19da326290bcbp-10, z, -0x1.c82356b892922p-4), z, 0x1.00000000187abp+0) * r;
    double c = fma_(fma_(0x1.05b5e9e74d946p-6, z, -0x1.c75e2ae6beb2dp-2), z, 1);
    int odd = (int)(bits_of_double(shifted) & 1);
    return (float)((odd ? -c : s) / (odd ? s : c));
}

/* sin(pi x) / (pi x): pi x is k pi + pi r, of which the sine has the sign of an even or odd k. */
static inline float sinc_f32(float a)
{
    double x = a, k = rint(x), r = (x - k) * 0x1.921fb54442d18p1, z = r * r;
    double s = -0x1.9a0e1b3f6ccf9p-26;
    s = fma_(s, z, 0x1.716ba51b803c1p-19);
    s = fma_(s, z, -0x1.a017a8ff2b6bap-13);
    s = fma_(s, z, 0x1.11110b74b1be9p-7);
    s = fma_(s, z, -0x1.5555554175b3bp-3);
    s = fma_(s, z, 0x1.ffffffffd17d5p-1) * r;
    s = r == 0 ? 0 : rint(k / 2) == k / 2 ? s : -s;
    return x == 0 ? 1 : (float)(s / (x * 0x1.921fb54442d18p1));
}

/* atan(y / x) of y and x that are not negative, one of them not 0, and not both infinite: by the tangent of what is
 * left beside the nearest of no, an eighth and a quarter turn. */
static inline double atan_of(double y, double x)
{
    int low = y<0x1.a827999fcef32p-2 * x, high = y * 0x1.a827999fcef32p-2> x; /* tan(pi / 8) */
    double w = (low ? y : high ? -x : y - x) / (low ? x : high ? y : y + x), z = w * w;
    double p = -0x1.ee5eafd46e566p-5;
    p = fma_(p, z, 0x1.b116f6d6fdbb8p-4);
    p = fma_(p, z, -0x1.23a30bc6d933cp-3);
    p = fma_(p, z, 0x1.9990406d15433p-3);
    p = fma_(p, z, -0x1.55554414d80ebp-2);
    p = fma_(p, z, 0x1.fffffffad1497p-1);
    return fma_(w, p, low ? 0 : high ? 0x1.921fb54442d18p0 : 0x1.921fb54442d18p-1);
}

static inline float atan_f32(float a)
{
    return copysignf((float)atan_of(fabsf(a), 1), a);
}

static inline float atan2_f32(float a, float b)
{
    double y = fabsf(a), x = fabsf(b);
    /* 0 and infinity by numbers, whose quotients with all others are less than any float32 or too great. */
    double v = atan_of(at_most(y, 0x1p300), at_least(at_most(x, 0x1p300), 0x1p-400));
    v = copysignf(1, b) < 0 ? 0x1.921fb54442d18p1 - v : v;
    return (a != a) | (b != b) ? a + b : copysignf((float)v, a);
}

/* asin(x) of x from 0 to 1 / 2; above, asin(sqrt((1 - x) / 2)), which is half of what asin(x) is less than pi / 2. */
static inline double asin_near(double x)
{
    double z = x <= 0.5 ? x * x : (1 - x) / 2, w = x <= 0.5 ? x : sqrt(z);
    double p = 0x1.365be1536fc31p-5;
    p = fma_(p, z, 0x1.cf527fcd54288p-7);
    p = fma_(p, z, 0x1.0554d862c89e1p-5);
    p = fma_(p, z, 0x1.6c91bc620cc53p-5);
    p = fma_(p, z, 0x1.333988d2c3a3fp-4);
    p = fma_(p, z, 0x1.55554848ee7adp-3);
    p = fma_(p, z, 0x1.0000000117f02p+0);
    return p * w;
}

static inline float asin_f32(float a)
{
    double x = fabsf(a), v = asin_near(x);
    return copysignf((float)(x <= 0.5 ? v : 0x1.921fb54442d18p0 - 2 * v), a);
}

static inline float acos_f32(float a)
{
    double x = fabsf(a), v = asin_near(x);
    double far = a > 0 ? 2 * v : 0x1.921fb54442d18p1 - 2 * v;
    return (float)(x <= 0.5 ? 0x1.921fb54442d18p0 - copysign(v, (double)a) : far);
}

static inline float hypot_f32(float a, float b)
{
    double x = a, y = b;
    float v = (float)sqrt(fma_(x, x, y * y)), infinity = __builtin_inff();
    return (fabsf(a) == infinity) | (fabsf(b) == infinity) ? infinity : v;
}

static inline float ldexp_f32(float a, float b)
{
    float n = b > 400 ? 400 : b < -400 ? -400 : b;
    float v = (float)((double)a * power_of((double)truncf(n)));
    return b != b ? b : v;
}

/* Numbers without leading digits are made larger by 2^24. */
static inline float logb_f32(float a)
{
    float x = fabsf(a);
    int small = x < 0x1p-126f;
    float v = small ? x * 0x1p24f : x;
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    v = (float)((int32_t)(bits >> 23) - (small ? 127 + 24 : 127));
    v = a == 0 ? -__builtin_inff() : v;
    return x < __builtin_inff() ? v : x;
}

#endif
