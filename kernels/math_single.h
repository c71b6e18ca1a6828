/* The elementary functions of float32 in its own arithmetic, of which a processor does twice as many at once as in
 * double; written so that a compiler can vectorise a loop over them: no branches, no tables. Fused products stand where
 * they save a rounding that would count. Results are within one to two units of the last place, as ?accuracy says of
 * each, and the same bits with every instruction set. Included by loops.c alone.
 *
 * Names that end in _near are of the arguments that need no look at special ones; loops_parted.h has loops of them. */
#ifndef KN_MATH_SINGLE_H
#define KN_MATH_SINGLE_H

#include "kernels/math_f32.h"
#include "runtime/dtype.h"
#include <math.h>
#include <stdint.h>

/* a * b + c, rounded once. */
static inline float fmaf_(float a, float b, float c)
{
    return __builtin_fmaf(a, b, c);
}

/* c3 z^3 + c2 z^2 + c1 z + c0, as four_terms has it. */
static inline float four_singles(float z, float z2, float c3, float c2, float c1, float c0)
{
    return fmaf_(fmaf_(c3, z, c2), z2, fmaf_(c1, z, c0));
}

/* The instructions' lesser and greater of two, which let NaN through. */
static inline float single_at_most(float v, float limit)
{
    return limit < v ? limit : v;
}

static inline float single_at_least(float v, float limit)
{
    return limit > v ? limit : v;
}

/* Adding this to a small number leaves it rounded to a whole one, which is then in the low bits. */
#define SINGLE_ROUNDER 0x1.8p23f

#define SINGLE_LOG2E   0x1.715476p0f
#define SINGLE_LN2     0x1.62e430p-1f
#define SINGLE_LN2_LOW -0x1.05c610p-29f

/* x - k ln(2) of a whole k; the first product is exact. */
static inline float beside_powers(float x, float k)
{
    return fmaf_(k, -SINGLE_LN2_LOW, fmaf_(k, -SINGLE_LN2, x));
}

/* p * 2^k, where shifted = k + SINGLE_ROUNDER, of results with leading digits. */
static inline float scaled_near(float p, float shifted)
{
    return rt_float_from_bits(rt_float_bits(p) + (rt_float_bits(shifted) << 23));
}

/* Of k from -150 to 128, with infinity and the numbers without leading digits, of whose last place m is a number of
 * units: adding 2^23 leaves that rounded in the bits. Products that have no leading digits would take processors long.
 */
static inline float scaled_single(float p, float shifted)
{
    int32_t bits = (int32_t)(rt_float_bits(p) + (rt_float_bits(shifted) << 23));
    int32_t low = bits < 0x800000 ? bits : 0x800000, high = bits < 0x7f800000 ? bits : 0x7f800000;
    float m = rt_float_from_bits((uint32_t)low + (149u << 23));
    float v = rt_float_from_bits(bits < 0x800000 ? rt_float_bits(m + 0x1p23f) - 0x4b000000 : (uint32_t)high);
    return p == p ? v : p;
}

/* e^x = 2^k p. */
struct single_power {
    float p, shifted;
};

ALWAYS_INLINE struct single_power single_power_of(float x)
{
    float shifted = fmaf_(x, SINGLE_LOG2E, SINGLE_ROUNDER), r = beside_powers(x, shifted - SINGLE_ROUNDER), r2 = r * r;
    float p = fmaf_(fmaf_(0x1.6a495cp-10f, r, 0x1.1239a0p-7f), r2, fmaf_(0x1.5558b4p-5f, r, 0x1.555492p-3f));
    p = fmaf_(p, r, 0x1.fffffcp-2f);
    return (struct single_power){fmaf_(p, r2, r) + 1, shifted};
}

static inline float exp_f32(float a)
{
    struct single_power e = single_power_of(single_at_least(single_at_most(a, 89), -104));
    return scaled_single(e.p, e.shifted);
}

ALWAYS_INLINE float exp_near(float a)
{
    struct single_power e = single_power_of(a);
    return scaled_near(e.p, e.shifted);
}

/* 2^r of |r| <= 1 / 2. */
static inline float exp2_part(float r)
{
    float r2 = r * r, p = fmaf_(0x1.417a5cp-13f, r, 0x1.5f0946p-10f);
    p = fmaf_(p, r2, fmaf_(0x1.3b2dd2p-7f, r, 0x1.c6af7ap-5f));
    p = fmaf_(fmaf_(p, r, 0x1.ebfbdcp-3f), r, 0x1.62e430p-1f);
    return fmaf_(p, r, 1);
}

static inline float exp2_f32(float a)
{
    float x = single_at_least(single_at_most(a, 128), -151), shifted = x + SINGLE_ROUNDER;
    return scaled_single(exp2_part(x - (shifted - SINGLE_ROUNDER)), shifted);
}

static inline float exp2_near(float a)
{
    float shifted = a + SINGLE_ROUNDER;
    return scaled_near(exp2_part(a - (shifted - SINGLE_ROUNDER)), shifted);
}

/* By twice half of it, which is finite where 2^k is not. What is left beside k ln(2) is from -0.29 to 0.41, of which
 * the sums with 2^k - 1 lack least. */
static inline float expm1_f32(float a)
{
    float x = single_at_least(single_at_most(a, 89), -20);
    float shifted = fmaf_(x, SINGLE_LOG2E, -0.0865f) + SINGLE_ROUNDER;
    float r = beside_powers(x, shifted - SINGLE_ROUNDER), r2 = r * r;
    float p = four_singles(r, r2, 0x1.b7b3fap-13f, 0x1.6ce24cp-10f, 0x1.1105dep-7f, 0x1.555524p-5f);
    p = fmaf_(fmaf_(p, r, 0x1.55555ap-3f), r, 0.5f);
    p = fmaf_(p, r2, r);
    float half = rt_float_from_bits((rt_float_bits(shifted) << 23) + 0x3f000000), v = 2 * fmaf_(p, half, half - 0.5f);
    return a == 0 ? a : v;
}

/* x = k ln(2) + r with r from -0.21 to 0.48: the hyperbolic sine of r, the cosine less 1, and a quarter of 2^k and of
 * 2^-k. Those of x are sums of products of these. */
struct hyperbolic {
    float sine, cosine, high, low;
};

ALWAYS_INLINE struct hyperbolic hyperbolic_of(float a)
{
    float x = single_at_most(fabsf(a), 89.5f), shifted = fmaf_(x, SINGLE_LOG2E, -0.195f) + SINGLE_ROUNDER;
    float r = beside_powers(x, shifted - SINGLE_ROUNDER), z = r * r;
    float s = fmaf_(fmaf_(0x1.a2b28cp-13f, z, 0x1.110fbcp-7f), z, 0x1.555556p-3f);
    float c = fmaf_(fmaf_(0x1.6f214cp-10f, z, 0x1.5551fap-5f), z, 0x1.000002p-1f);
    int32_t k = (int32_t)(rt_float_bits(shifted) << 23), least = k < 100 << 23 ? k : 100 << 23;
    return (struct hyperbolic){fmaf_(s * z, r, r), c * z, rt_float_from_bits((uint32_t)k + 0x3e800000),
                               rt_float_from_bits(0x3e800000 - (uint32_t)least)};
}

ALWAYS_INLINE float sinh_f32(float a)
{
    struct hyperbolic h = hyperbolic_of(a);
    float sum = h.high + h.low, difference = h.high - h.low;
    return copysignf(2 * (fmaf_(h.sine, sum, h.cosine * difference) + difference), a);
}

ALWAYS_INLINE float cosh_f32(float a)
{
    struct hyperbolic h = hyperbolic_of(a);
    float sum = h.high + h.low, difference = h.high - h.low;
    return 2 * (fmaf_(h.sine, difference, fmaf_(h.cosine, sum, h.low)) + h.high);
}

/* 1 - 2 / (e^2x + 1), for less than 0.55 by a polynomial. e^2x = 2^k (1 + 2 h), of which half of the denominator is a
 * sum; what ln(2) has more digits of does not count here. */
static inline float tanh_f32(float a)
{
    float x = fabsf(a), z = x * x, y = single_at_most(x, 10), shifted = fmaf_(y, 2 * SINGLE_LOG2E, SINGLE_ROUNDER);
    float r = fmaf_(shifted - SINGLE_ROUNDER, -0.5f * SINGLE_LN2, y), r2 = r * r;
    float h = fmaf_(fmaf_(0x1.6a495cp-5f, r, 0x1.1239a0p-3f), r2, fmaf_(0x1.5558b4p-2f, r, 0x1.555492p-1f));
    h = fmaf_(fmaf_(h, r, 0x1.fffffcp-1f), r2, r);
    float power = rt_float_from_bits((rt_float_bits(shifted) << 23) + 0x3f800000);
    float far = 1 - 1 / fmaf_(h, power, fmaf_(power, 0.5f, 0.5f));
    float p = four_singles(z, z * z, -0x1.99565ep-8f, 0x1.58ec78p-6f, -0x1.b91f20p-5f, 0x1.110cf0p-3f);
    p = fmaf_(p, z, -0x1.55554ap-2f);
    return copysignf(x < 0.55f ? fmaf_(p * z, x, x) : far, a);
}

/* x = 2^k (1 + f) with 1 + f from sqrt(1/2) to sqrt(2); k times 2^23, as it is in the bits. */
struct single_parts {
    float k, f;
};

#define SINGLE_EXPONENT(x) ((rt_float_bits(x) - 0x3f3504f3) & 0xff800000) /* k in the bits of exponents */

static inline struct single_parts single_parts_of(float x)
{
    uint32_t k = SINGLE_EXPONENT(x);
    return (struct single_parts){(float)(int32_t)k, rt_float_from_bits(rt_float_bits(x) - k) - 1};
}

/* Of numbers without leading digits, too. */
static inline struct single_parts all_single_parts_of(float x)
{
    int small = x < 0x1p-126f;
    struct single_parts p = single_parts_of(small ? x * 0x1p24f : x);
    p.k = small ? p.k - 24 * 0x1p23f : p.k;
    return p;
}

/* The logarithm v of a, but for the numbers that have none, or none that is finite. */
static inline float of_positive(float a, float v)
{
    v = a == 0 ? -__builtin_inff() : v;
    v = a < 0 ? __builtin_nanf("") : v;
    return a < __builtin_inff() ? v : a; /* infinity and NaN */
}

static inline float log_of_single(struct single_parts x)
{
    float f = x.f, z = f * f;
    float p = four_singles(f, z, -0x1.37a4c4p-4f, 0x1.083654p-3f, -0x1.0f4968p-3f, 0x1.227474p-3f);
    p = fmaf_(p, z * z, four_singles(f, z, -0x1.542582p-3f, 0x1.99a3e0p-3f, -0x1.000432p-2f, 0x1.555550p-2f));
    p = fmaf_(p, f, -0x1.fffff8p-2f);
    return fmaf_(x.k, SINGLE_LN2 * 0x1p-23f, fmaf_(p, z, fmaf_(x.k, SINGLE_LN2_LOW * 0x1p-23f, f)));
}

/* log2(1 + f) = f + f p, of which the second part is the lesser one. */
static inline float log2_of_single(struct single_parts x)
{
    float f = x.f, z = f * f;
    float p = four_singles(f, z, -0x1.db8e5cp-4f, 0x1.7e9ddap-3f, -0x1.81c898p-3f, 0x1.a22852p-3f);
    p = fmaf_(p, z * z, four_singles(f, z, -0x1.eb65c2p-3f, 0x1.278b1ap-2f, -0x1.7156dep-2f, 0x1.ec7026p-2f));
    p = fmaf_(fmaf_(p, f, -0x1.715476p-1f), f, 0x1.c551dap-2f);
    return fmaf_(x.k, 0x1p-23f, fmaf_(p, f, f));
}

/* log10(1 + f) = f / 2 + f p. */
static inline float log10_of_single(struct single_parts x)
{
    float f = x.f, z = f * f;
    float p = four_singles(f, z, -0x1.1586dep-5f, 0x1.c8b796p-5f, -0x1.d2a3fcp-5f, 0x1.f8873cp-5f);
    p = fmaf_(p, z * z, four_singles(f, z, -0x1.27c6e8p-4f, 0x1.63d444p-4f, -0x1.bcbad8p-4f, 0x1.287a50p-3f));
    p = fmaf_(fmaf_(p, f, -0x1.bcb7b2p-3f), f, -0x1.0d213ap-4f);
    return fmaf_(x.k, 0x1.344136p-25f, fmaf_(x.k, -0x1.ec10c0p-50f, fmaf_(p, f, 0.5f * f)));
}

#define SINGLE_LOGARITHM(name)                                                                                         \
    static inline float name##_f32(float a)                                                                            \
    {                                                                                                                  \
        return of_positive(a, name##_of_single(all_single_parts_of(a)));                                               \
    }                                                                                                                  \
    static inline float name##_near(float a)                                                                           \
    {                                                                                                                  \
        return name##_of_single(single_parts_of(a));                                                                   \
    }
SINGLE_LOGARITHM(log)
SINGLE_LOGARITHM(log2)
SINGLE_LOGARITHM(log10)

/* log(1 + a) + more ln(2) of finite a > -1: 1 + a = 2^k (1 + f), where f has the digits that 1 + a lacks. The power of
 * 2 is four times 1 / 2^k, which has leading digits. */
static inline float log1p_and_more(float a, float more)
{
    uint32_t k = SINGLE_EXPONENT(1 + a);
    float by = rt_float_from_bits(0x40800000 - k), f = fmaf_(0.25f * a, by, fmaf_(by, 0.25f, -1));
    return log_of_single((struct single_parts){(float)(int32_t)k + more * 0x1p23f, f});
}

static inline float log1p_f32(float a)
{
    float v = log1p_and_more(a, 0);
    v = fabsf(a) < 0x1p-26f ? a : a == -1 ? -__builtin_inff() : v;
    v = a < -1 ? __builtin_nanf("") : v;
    return a < __builtin_inff() ? v : a;
}

/* From this size on what inverse hyperbolic functions are logarithms of is 2 x, and before it squares are finite. */
#define SINGLE_HUGE 0x1p15f

static inline float asinh_f32(float a)
{
    float x = fabsf(a), y = x + x * x / (1 + sqrtf(fmaf_(x, x, 1)));
    int huge = x > SINGLE_HUGE;
    float v = log1p_and_more(huge ? x - 1 : y, huge ? 1 : 0);
    v = x < 0x1p-13f ? x : v;
    return x < __builtin_inff() ? copysignf(v, a) : a;
}

static inline float acosh_f32(float a)
{
    float t = a - 1, y = t + sqrtf(fmaf_(t, t, 2 * t));
    int huge = a > SINGLE_HUGE;
    float v = log1p_and_more(huge ? t : y, huge ? 1 : 0);
    v = a == 1 ? 0 : v;
    v = a < 1 ? __builtin_nanf("") : v;
    return a < __builtin_inff() ? v : a;
}

/* Half of log((1 + x) / (1 - x)), below 1 / 2 by a polynomial. */
static inline float atanh_f32(float a)
{
    float x = fabsf(a), z = x * x;
    float p = four_singles(z, z * z, 0x1.693922p-3f, 0x1.a6be30p-5f, 0x1.e3ffcap-4f, 0x1.234d9ap-3f);
    p = fmaf_(fmaf_(p, z, 0x1.99a676p-3f), z, 0x1.555540p-2f);
    float v = x < 0.5f ? fmaf_(p * z, x, x) : 0.5f * log_near((1 + x) / (1 - x));
    v = x == 1 ? __builtin_inff() : v;
    return x <= 1 ? copysignf(v, a) : __builtin_nanf("");
}

/* As cbrt_f64, in two steps: y, which is x^(-1/3) but for 6e-6, and the root t = x y^2, mended by what its cube lacks
 * of x; of x from 2^-60 on, so that no product here is too small. */
ALWAYS_INLINE float cbrt_first(float x)
{
    uint32_t third = (uint32_t)(int32_t)((float)(int32_t)rt_float_bits(x) * 0x1.555556p-2f);
    float y = rt_float_from_bits(0x54a1f000 - third), lacks = fmaf_(-(x * y), y * y, 1);
    return fmaf_(y * lacks, fmaf_(fmaf_(0x1.660050p-3f, lacks, 0x1.c9d362p-3f), lacks, 0x1.5553aap-2f), y);
}

ALWAYS_INLINE float cbrt_last(float x, float y)
{
    float yy = y * y, t = x * yy, square = t * t;
    float left = fmaf_(-fmaf_(t, t, -square), t, fmaf_(-square, t, x));
    return fmaf_(left * yy, 0x1.555556p-2f, t);
}

/* Small numbers are made larger by 2^48. */
static inline float cbrt_f32(float a)
{
    float x = fabsf(a);
    int small = x < 0x1p-60f;
    x = small ? x * 0x1p48f : x;
    float t = cbrt_last(x, cbrt_first(x));
    t = small ? t * 0x1p-16f : t;
    return (a == 0) | !(fabsf(a) < __builtin_inff()) ? a : copysignf(t, a);
}

/* Up to this size k times the first part of pi / 2 is exact; larger arguments go to the C library. */
#define TRIG_LIMIT 100000.0f

/* a = k pi / 2 + r + low with |r| <= pi / 4 and a whole k, which is in the low bits of n; of |a| <= TRIG_LIMIT. */
struct single_turn {
    float r, low;
    uint32_t n;
};

ALWAYS_INLINE struct single_turn single_turn_of(float a)
{
    float shifted = fmaf_(a, 0x1.45f306p-1f, SINGLE_ROUNDER), k = shifted - SINGLE_ROUNDER;
    float first = fmaf_(k, -0x1.921fb6p0f, a), next = k * 0x1.777a5cp-25f, r = first + next;
    float low = fmaf_(k, 0x1.ee59dap-50f, fmaf_(k, 0x1.777a5cp-25f, -next)) + ((first - r) + next);
    return (struct single_turn){r, low, rt_float_bits(shifted)};
}

/* sin(a) for turn 0, cos(a) for turn 1. */
ALWAYS_INLINE float sin_turned(float a, uint32_t turn)
{
    struct single_turn t = single_turn_of(a);
    uint32_t n = t.n + turn;
    float z = t.r * t.r;
    float s = fmaf_(fmaf_(-0x1.99516ep-13f, z, 0x1.110774p-7f), z, -0x1.555546p-3f);
    float c = fmaf_(fmaf_(0x1.99e622p-16f, z, -0x1.6c0c24p-10f), z, 0x1.55554ap-5f);
    s = t.r + fmaf_(s * z, t.r, t.low);
    c = fmaf_(fmaf_(c, z, -0.5f), z, 1);
    return rt_float_from_bits(rt_float_bits(n & 1 ? c : s) ^ (n & 2) << 30);
}

/* tan(r), or -1 / tan(r) of an odd k. */
static inline float tan_turned(float a)
{
    struct single_turn turn = single_turn_of(a);
    float r = turn.r, z = r * r,
          t = four_singles(z, z * z, 0x1.200f9cp-8f, 0x1.d14528p-15f, 0x1.63cbacp-7f, 0x1.5c95c2p-6f);
    t = fmaf_(fmaf_(fmaf_(t, z, 0x1.badd1ap-5f), z, 0x1.110d92p-3f), z, 0x1.555560p-2f);
    t = r + fmaf_(t * z, r, turn.low);
    float v = turn.n & 1 ? -1 / t : t;
    return a == 0 ? a : v;
}

/* Two numbers whose product is pi / 2 with twice the digits of one. */
#define HALF_PI_BY 0x1.1c2f30p0f
#define HALF_PI    0x1.6a3e24p0f

/* asin(x) / x - 1 of z = x^2 from 0 to 1 / 4. */
static inline float asin_part(float z)
{
    float p = fmaf_(0x1.595c60p-5f, z, 0x1.8c3e50p-6f);
    return z * four_singles(z, z * z, p, 0x1.747bb8p-5f, 0x1.330204p-4f, 0x1.5555c8p-3f);
}

/* Above 1 / 2 by asin(sqrt((1 - x) / 2)), which is half of what asin(x) is less than pi / 2. */
static inline float asin_f32(float a)
{
    float x = fabsf(a), half = fmaf_(x, -0.5f, 0.5f);
    int near = x <= 0.5f;
    float z = near ? x * x : half, w = near ? x : -2 * sqrtf(half), sum = near ? x : fmaf_(HALF_PI_BY, HALF_PI, w);
    return copysignf(fmaf_(asin_part(z), w, sum), a);
}

static inline float acos_f32(float a)
{
    float x = fabsf(a), half = fmaf_(x, -0.5f, 0.5f);
    int near = x <= 0.5f;
    float z = near ? x * x : half, w = near ? -a : copysignf(2 * sqrtf(half), a);
    float from = near ? HALF_PI : a < 0 ? 2 * HALF_PI : 0;
    return fmaf_(asin_part(z), w, fmaf_(HALF_PI_BY, from, w));
}

/* from pi / 2 / HALF_PI + atan(t) of |t| <= 1. */
ALWAYS_INLINE float atan_from(float from, float t)
{
    float z = t * t, z2 = z * z, z4 = z2 * z2;
    float p = four_singles(z, z2, 0x1.64c1cep-7f, -0x1.fdfc1cp-6f, 0x1.da5ed4p-5f, -0x1.58155ep-4f);
    p = fmaf_(fmaf_(-0x1.d4984ap-10f, z4, p), z4,
              four_singles(z, z2, 0x1.c08f64p-4f, -0x1.2420b6p-3f, 0x1.9991e6p-3f, -0x1.55553ep-2f));
    return fmaf_(HALF_PI_BY, from, fmaf_(p * z, t, t));
}

static inline float atan_f32(float a)
{
    float x = fabsf(a);
    int high = x > 1;
    return copysignf(atan_from(high ? HALF_PI : 0, (high ? -1 : x) / (high ? x : 1)), a);
}

/* Of two infinities as of two equal numbers, of two zeros as of 0 and another. */
ALWAYS_INLINE float atan2_f32(float a, float b)
{
    float y = fabsf(a), x = fabsf(b), small = y > x ? x : y, great = single_at_least(y > x ? y : x, 0x1p-149f);
    float t = small == great ? 1 : small / great, from = y > x ? HALF_PI : rt_float_bits(b) >> 31 ? 2 * HALF_PI : 0;
    uint32_t down = (y > x ? 0x80000000 : 0) ^ (rt_float_bits(b) & 0x80000000);
    float v = copysignf(atan_from(from, rt_float_from_bits(rt_float_bits(t) ^ down)), a);
    return (a != a) | (b != b) ? a + b : v;
}

#endif
