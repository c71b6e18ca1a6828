/* Functions of float32 that compute in double, and what those of float64 have of them; the elementary ones are in
 * math_single.h. They are written so that a compiler can vectorise a loop over them: no branches, no tables. Double's
 * spare bits take the place of careful float arithmetic, so results are within 0.52 units of the last place and are the
 * same bits with every instruction set. Products and sums that belong together are fused on purpose, which is an
 * instruction since 2013; the C library computes it for older processors, slowly. Included by loops.c alone.
 *
 * Polynomials without another word are the best of their degree in the relative error (Remez' algorithm). */
#ifndef KN_MATH_F32_H
#define KN_MATH_F32_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Functions so large that compilers would call them where they are wanted twice, and then no loop is vectorised. */
#define ALWAYS_INLINE __attribute__((always_inline)) static inline

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

/* 2^x, infinite or 0 as a float32 beyond +-300. */
static inline double exp2_wide(double x)
{
    x = fabs(x) > 300 ? copysign(300, x) : x;
    return exp2_of(x, x + ROUNDER);
}

/* x = 2^k m with m from sqrt(1/2) to sqrt(2). */
struct parts {
    double k, m;
};

ALWAYS_INLINE struct parts parts_of(double x)
{
    uint64_t bits = bits_of_double(x) - (0x3fe6a09e667f3bcdu - (1024ull << 52)); /* positive of every exponent */
    return (struct parts){double_of_bits(bits >> 52 | 0x4330000000000000u) - (0x1p52 + 1024),
                          double_of_bits((bits & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu)};
}

/* log((1 + s) / (1 - s)) = 2 atanh(s) of |s| <= 0.1716; the error is 4.2e-12. */
ALWAYS_INLINE double log_ratio(double s)
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

/* The two steps of a^b = 2^(b log2(a)) of 2^-126 <= a < infinity; the second where the result is from 2^-1000 to
 * 2^1000, else exp2_wide. */
static inline double pow_first(float a, float b)
{
    return log2_of(parts_of((double)a)) * (double)b;
}

static inline double exp2_close(double x)
{
    return exp2_of(x, x + ROUNDER);
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
