/* Error functions, the gamma function, its logarithm and that one's derivative of float32 and float64, as math_f32.h
 * and math_f64.h have the other functions. Of float32 results are within 0.52 units of the last place. Of float64 erf
 * and erfc are within 1 unit, gamma within 1 above zero and 3.5 below, lgamma within 3 above zero, digamma within 4
 * above zero where it is not near its zero, within 1 there, and below zero as good as the larger of what it is the sum
 * of. Included by loops.c alone. */
#ifndef KN_MATH_SPECIAL_H
#define KN_MATH_SPECIAL_H

#include "kernels/math_angle_f64.h"
#include "kernels/math_pow_f64.h"

/* A number of more digits than a double has: the second is less than the first one's last digit. */
struct two {
    double high, low;
};

static inline struct two sum_of(double a, double b)
{
    double sum = a + b;
    return (struct two){sum, lost_of(a, -b, sum)};
}

static inline struct two product_of(struct two a, struct two b)
{
    double v = a.high * b.high;
    return (struct two){v, fma_(a.high, b.high, -v) + (a.high * b.low + a.low * b.high)};
}

/* e^(r + rest) of the powers' small part. */
static inline struct two one_and(struct powers p)
{
    double s = p.r + p.rest, v = 1 + s;
    return (struct two){v, (s - (v - 1)) + (p.rest - (s - p.r))};
}

#define ERF_NEAR 0.65 /* below it erf is x + x p(x^2), above it erfc has the form exp(-x^2) f(u) / (1 + 2 x) */

/* That p, of which the error is 2^-56. */
ALWAYS_INLINE double erf_rest(double z)
{
    double z2 = z * z, z4 = z2 * z2;
    double p = fma_(-0x1.2299dc42a208cp-23, z, 0x1.b34c5b0844608p-20);
    p = fma_(
        p, z4,
        four_terms(z, z2, -0x1.f46b0efed5333p-17, 0x1.f99f4f9891c32p-14, -0x1.c02d9d4a134bbp-11, 0x1.565bccbc7feafp-8));
    return fma_(
        p, z4,
        four_terms(z, z2, -0x1.b82ce31134daap-6, 0x1.ce2f21a03ff16p-4, -0x1.812746b0379c2p-2, 0x1.06eba8214db68p-3));
}

/* erfc(x) / 2^k of x from ERF_NEAR to 27.3 is e f q of the power e = exp(-x^2) / 2^k, the quotient q = 1 / (1 + 2 x)
 * and a polynomial f over u = (x - 3) / (x + 3), which hardly changes. What the square, the quotient and the sums lack
 * is kept. The relative error of f is 2^-57. */
ALWAYS_INLINE struct two erfc_power(double x, double *k)
{
    double square = x * x, lacks = fma_(x, x, -square);
    *k = fma_(-square, LOG2E, ROUNDER) - ROUNDER;
    double first = fma_(*k, -LN2_HIGH, -square), low = *k * LN2_LOW + lacks, r = first - low;
    return one_and((struct powers){*k, r, exp_rest(r, (first - r) - low)});
}

struct erfc_quotient {
    double u;
    struct two q;
};

ALWAYS_INLINE struct erfc_quotient erfc_quotient_of(double x)
{
    double d = 1 + 2 * x, below = 1 - (d - 2 * x), inverse = 1 / ((x + 3) * d), u = (x - 3) * (d * inverse);
    double quotient = (x + 3) * inverse, left = (fma_(-quotient, d, 1) - quotient * below) * quotient;
    return (struct erfc_quotient){u, {quotient, left}};
}

ALWAYS_INLINE double erfc_product(struct two e, struct erfc_quotient by)
{
    double u = by.u, u2 = u * u, u4 = u2 * u2;
    double p = -0x1.41a06348133fdp-26;
    p = fma_(p, u4,
             four_terms(u, u2, 0x1.ee497a91b7013p-26, 0x1.f2ff205c84e0fp-24, -0x1.1fe6e2d4bb190p-23,
                        -0x1.52a13fdd4e19dp-21));
    p = fma_(p, u4,
             four_terms(u, u2, 0x1.7e317e93a28c6p-22, 0x1.d312eab9def4cp-19, -0x1.894e6118b84f0p-21,
                        -0x1.5145e3fcc43d4p-16));
    p = fma_(p, u4,
             four_terms(u, u2, 0x1.4c324f9a1a799p-18, 0x1.065a7a8c9364ap-13, -0x1.b912a5e32f835p-14,
                        -0x1.98db532c52589p-11));
    p = fma_(
        p, u4,
        four_terms(u, u2, 0x1.ef1bddaed3714p-10, 0x1.4b884e4e2efbcp-9, -0x1.8574c40c4628fp-6, 0x1.17ca2877edb19p-4));
    p = fma_(
        p, u4,
        four_terms(u, u2, -0x1.e88b803a481eep-4, 0x1.098366a5b4746p-3, -0x1.85a15c58aa647p-5, -0x1.15c084bb9e8f4p-3));
    double v = fma_(p, u, 0x1.40c522d7e4987p+0);
    struct two f = {v, fma_(p, u, 0x1.40c522d7e4987p+0 - v) + 0x1.a91daafb8dbd7p-55};
    struct two all = product_of(product_of(e, f), by.q);
    return all.high + all.low;
}

/* The last step, of v = erfc(x) / 2^k of x = erf_limited(a, ERF_LIMIT). */
ALWAYS_INLINE double erf_last(double a, double v, double k)
{
    double x = fabs(a), near = fma_(x, erf_rest(x * x), x);
    return copysign(x < ERF_NEAR ? near : 1 - v * power_of(k), a);
}

/* The same of erfc, of x = erf_limited(a, ERFC_LIMIT). */
ALWAYS_INLINE double erfc_last(double a, double v, double k)
{
    double x = fabs(a), rest = a * erf_rest(a * a), d = 1 - a, near = d + (((1 - d) - a) - rest);
    double far = scaled_by(v, k);
    return x < ERF_NEAR ? near : a < 0 ? 2 - far : far;
}

#define ERF_LIMIT  6    /* erf of more is 1 */
#define ERFC_LIMIT 27.3 /* erfc of more is 0 */

ALWAYS_INLINE double erf_limited(double a, double limit)
{
    double x = fabs(a);
    return x < ERF_NEAR ? ERF_NEAR : x > limit ? limit : x;
}

ALWAYS_INLINE double erf_f64(double a)
{
    double x = erf_limited(a, ERF_LIMIT), k;
    struct two e = erfc_power(x, &k);
    return erf_last(a, erfc_product(e, erfc_quotient_of(x)), k);
}

ALWAYS_INLINE double erfc_f64(double a)
{
    double x = erf_limited(a, ERFC_LIMIT), k;
    struct two e = erfc_power(x, &k);
    return erfc_last(a, erfc_product(e, erfc_quotient_of(x)), k);
}

/* The same with fewer digits. erf(x) = x p of x up to 4, from where on it is 1 as a float32, with a polynomial p over
 * t = x^2 / 8 - 1, of which the error is 2^-31. */
ALWAYS_INLINE float erf_f32(float a)
{
    double x = at_most(fabsf(a), 4), t = fma_(x * x, 0.125, -1), t2 = t * t, t4 = t2 * t2;
    double p = fma_(fma_(0x1.713c64842b84bp-14, t, -0x1.ff54d1ca219fap-13), t, 0x1.a241102485316p-13);
    p = fma_(
        p, t4,
        four_terms(t, t2, -0x1.60aeacd2d91a0p-12, 0x1.65382bc16dfa4p-10, -0x1.7af4e430444edp-9, 0x1.3bf454bd47377p-8));
    p = fma_(
        p, t4,
        four_terms(t, t2, -0x1.1346c877ddeffp-7, 0x1.d662fbb196f1bp-7, -0x1.71864046b5b91p-6, 0x1.0ed7a98af62f1p-5));
    p = fma_(
        p, t4,
        four_terms(t, t2, -0x1.76c1fbb7b7dbfp-5, 0x1.ea969d30ccaedp-5, -0x1.321832a89265ep-4, 0x1.717f141dfd3c2p-4));
    p = fma_(
        p, t4,
        four_terms(t, t2, -0x1.b92e747da0e62p-4, 0x1.0dabae7ea6d0ap-3, -0x1.69a0cd1eca026p-3, 0x1.6a04078218eeep-2));
    return copysignf((float)(x * p), a);
}

/* erfc(x) = exp(-x^2) p / (1 + 2 x) of x up to 10.1, from where on it is 0, with a polynomial p over (x - 2.5) / (x +
 * 2.5), of which the error is 2^-30. */
ALWAYS_INLINE float erfc_f32(float a)
{
    double v = a, x = at_most(fabs(v), 10.1), u = (x - 2.5) / (x + 2.5), y = -x * x * LOG2E;
    double p = -0x1.e99bf6e562ff8p-15;
    p = fma_(p, u, -0x1.7680fb6f304c5p-15);
    p = fma_(p, u, 0x1.39b7be60b8059p-11);
    p = fma_(p, u, 0x1.dc276bab5c288p-12);
    p = fma_(p, u, -0x1.1eb82f6a9fb54p-8);
    p = fma_(p, u, 0x1.ef1abf64e79a5p-11);
    p = fma_(p, u, 0x1.0c5fea862279ep-5);
    p = fma_(p, u, -0x1.a5c29e4f9e7f4p-4);
    p = fma_(p, u, 0x1.42d3751baed43p-3);
    p = fma_(p, u, -0x1.959aa98575976p-4);
    p = fma_(p, u, -0x1.f52c5d1dd16bep-4);
    p = fma_(p, u, 0x1.43cc6f696726bp+0);
    double far = exp2_of(y, y + ROUNDER) * p / (1 + 2 * x);
    return (float)(v < 0 ? 2 - far : far);
}

/* What x / 2 is beside a multiple of pi / 2 where it is pi times that many: sin(pi x), and cos(pi x). */
struct two_sides {
    double sine, cosine;
};

ALWAYS_INLINE struct two_sides turns_of(double x)
{
    double e = x - 2 * rint(0.5 * x), shifted = 2 * e + ROUNDER, d = e - 0.5 * (shifted - ROUNDER);
    double high = 2 * QUARTER * d, low = fma_(2 * QUARTER_LOW, d, fma_(2 * QUARTER, d, -high));
    struct circle c = circle_of(high, low);
    uint64_t k = bits_of_double(shifted);
    double s = c.r + c.sine, t = c.one + c.cosine, sine = k & 1 ? t : s, cosine = k & 1 ? s : t;
    return (struct two_sides){double_of_bits(bits_of_double(sine) ^ k >> 1 << 63),
                              double_of_bits(bits_of_double(cosine) ^ (k + 1) >> 1 << 63)};
}

/* 2^(d + low) as e to a power. */
ALWAYS_INLINE struct powers powers_of_part(double k, double d, double low)
{
    double t = d + low, tl = lost_of(d, -low, t), r = t * LN2;
    return (struct powers){k, r, exp_rest(r, fma_(t, 0x1.abc9e3b39803fp-56, fma_(tl, LN2, fma_(t, LN2, -r))))};
}

/* gamma(x) / 2^k of 0 < x <= 190, in three steps. By Stirling's formula, which is exp((y - 1/2) (log(y) - 1) + m / y)
 * sqrt(2 pi / e) with a polynomial m over 1 / y^2, of y = x from 8 on; of y = x + 8 below, where the quotient of the
 * two gamma functions is x (x + 1) ... (x + 7), by pairs of its factors. Exponents are of 2, and known as those of pow
 * are: the first step is the logarithm of y. */
ALWAYS_INLINE struct pair gamma_log(double x)
{
    return log2_pair(parts_of(x < 8 ? x + 8 : x));
}

/* gamma(y) / 2^k. */
ALWAYS_INLINE struct two gamma_power(double x, struct pair l, double *k)
{
    int low = x < 8;
    double y = low ? x + 8 : x, lost = low ? x - (y - 8) : 0, inverse = 1 / y, w = inverse * inverse;
    double t = y - 0.5, above = l.high - LOG2E_HIGH, product = t * above;
    double w2 = w * w, w4 = w2 * w2;
    double m = fma_(fma_(0x1.dec1913b30324p-8, w, -0x1.6571876ff03e6p-9), w, 0x1.3e3ce9d204747p-10);
    m = fma_(
        m, w4,
        four_terms(w, w2, -0x1.c23ac7f0cd77bp-11, 0x1.2c27628002496p-10, -0x1.06a2764631b71p-8, 0x1.ec709dc3a03fdp-4));
    double factor = 0x1.3573fcf6d4000p-1, high = product + factor; /* that factor's first digits */
    double rest = fma_(t, above, -product) + t * (l.low - LOG2E_LOW) + m * inverse + 0x1.af94395e1e516p-41;
    rest += lost * (l.high - 0.5 * LOG2E * inverse) + lost_of(product, -factor, high);
    *k = (high + rest + ROUNDER) - ROUNDER;
    return one_and(powers_of_part(*k, high - *k, rest));
}

/* That over the quotient. */
ALWAYS_INLINE double gamma_last(double x, struct two e)
{
    int low = x < 8;
    struct two s = {x + 7, x - ((x + 7) - 7)}, q = product_of((struct two){x, 0}, s);
    struct two q6 = sum_of(q.high, 6), q10 = sum_of(q.high, 10), q12 = sum_of(q.high, 12);
    q6.low += q.low, q10.low += q.low, q12.low += q.low;
    struct two all = product_of(product_of(q, q6), product_of(q10, q12));
    double below = low ? all.high : 1, below_low = low ? all.low : 0, over = 1 / below, v = e.high * over;
    return v + (fma_(-v, below, e.high) + (e.low - v * below_low)) * over;
}

ALWAYS_INLINE double gamma_far(double x, double *k)
{
    struct two e = gamma_power(x, gamma_log(x), k);
    return gamma_last(x, e);
}

/* Below zero -pi / (x sin(pi x) gamma(-x)). */
ALWAYS_INLINE double gamma_f64(double a)
{
    double x = fabs(a), k, v = gamma_far(x > 190 ? 190 : x, &k);
    double turned = -2 * QUARTER / (v * (x > 190 ? -190 : a) * turns_of(a).sine);
    double g = scaled_by(a < 0 ? turned : v, a < 0 ? -k : k);
    g = (a < 0) & (rint(a) == a) ? __builtin_nan("") : g;
    return x < 0x1p-60 ? 1 / a : g;
}

/* By the same formula from 4 on, whose polynomial's error is 2^-30 of 1 / 12. */
ALWAYS_INLINE double gamma_positive_wide(double x)
{
    double z = at_most(x, 48);
    int low = z < 4;
    double y = low ? z + 4 : z, inverse = 1 / y, w = inverse * inverse, l = log2_of(parts_of(y));
    double p = -0x1.7ed81311dc367p-11;
    p = fma_(p, w, 0x1.2ae45a219f4f8p-10);
    p = fma_(p, w, -0x1.06a1720ec7bebp-8);
    p = fma_(p, w, 0x1.ec709dba61d84p-4);
    double e = fma_(y - 0.5, l - LOG2E, fma_(p, inverse, 0x1.3573fcf6d5af9p-1));
    return exp2_of(e, e + ROUNDER) / (low ? z * (z + 1) * (z + 2) * (z + 3) : 1);
}

static inline float gamma_f32(float a)
{
    double v = a, x = a < 0 ? 1 - v : v, g = gamma_positive_wide(x);
    double k = rint(v), r = (v - k) * 0x1.921fb54442d18p1, q = r * r, s = -0x1.9a0e1b3f6ccf9p-26;
    s = fma_(s, q, 0x1.716ba51b803c1p-19);
    s = fma_(s, q, -0x1.a017a8ff2b6bap-13);
    s = fma_(s, q, 0x1.11110b74b1be9p-7);
    s = fma_(s, q, -0x1.5555554175b3bp-3);
    s = fma_(s, q, 0x1.ffffffffd17d5p-1) * r;
    s = rint(k / 2) == k / 2 ? s : -s;
    g = a < 0 ? 0x1.921fb54442d18p1 / (s * g) : g;
    g = (a < 0) & (k == v) ? __builtin_nan("") : g;
    return a == 0 ? 1 / a : (float)g;
}

#define LGAMMA_FAR 0x1.acfe390c97d69p-2 /* log(2 pi) / 2 - 1 / 2 */
/* The logarithm of gamma(x) of x > 0, of which l is that of x, from 1 on less 1: up to 2.5 (x - 1) (x - 2) times a
 * polynomial over t = x - 1.75, below 1 by that of x + 1, whose logarithm has that of x more. From there on Stirling's
 * formula, with a polynomial over w = 1 / x^2. Both have the one that is asked for. */
ALWAYS_INLINE double lgamma_by(double x, double inverse, double l, double near, double far)
{
    double u = x < 1 ? x : x - 1;
    double lower = fma_(u * (u - 1), near, x < 1 ? -l : 0), upper = fma_(x - 0.5, l, fma_(inverse, far, LGAMMA_FAR));
    return x < 2.5 ? lower : upper;
}

/* The polynomials' errors are 2^-59 and 2^-52 of 1 / 12. */
ALWAYS_INLINE double lgamma_positive(double x)
{
    double t = x - (x < 1 ? 0.75 : 1.75), inverse = 1 / x, w = inverse * inverse;
    double t2 = t * t, t4 = t2 * t2;
    double p = fma_(-0x1.b05ceec2a1f35p-25, t, 0x1.876410711761ap-24);
    p = fma_(p, t4,
             four_terms(t, t2, 0x1.43cd36659bd6bp-26, -0x1.1ea38134efb1bp-25, -0x1.0032fdb1b8854p-22,
                        0x1.d2ab7356b2efcp-22));
    p = fma_(p, t4,
             four_terms(t, t2, -0x1.13519a304b483p-21, 0x1.f9ffa177fced2p-21, -0x1.ffd214be26a73p-20,
                        0x1.d7f7c7ff850b7p-19));
    p = fma_(p, t4,
             four_terms(t, t2, -0x1.afd569e9932b0p-18, 0x1.90d72d04ecab8p-17, -0x1.75d41586fe812p-16,
                        0x1.5ddb7bf9f03f3p-15));
    p = fma_(p, t4,
             four_terms(t, t2, -0x1.49179497db9a2p-14, 0x1.377643bb6ff22p-13, -0x1.28f267e3e6bf9p-12,
                        0x1.1daed671f2d06p-11));
    p = fma_(
        p, t4,
        four_terms(t, t2, -0x1.1605626db0c87p-10, 0x1.12aa72f53cf05p-9, -0x1.14f7c58eb2647p-8, 0x1.1f9587fa21978p-7));
    p = fma_(
        p, t4,
        four_terms(t, t2, -0x1.382e176f60ad9p-6, 0x1.6cb62517118dap-5, -0x1.e96586307946ep-4, 0x1.ccf151e09cde8p-2));
    double w2 = w * w, w4 = w2 * w2;
    double m = 0x1.a86cf68474097p+0;
    m = fma_(
        m, w4,
        four_terms(w, w2, -0x1.fbe47040d5df3p+0, 0x1.1c7f743b60ae6p+0, -0x1.96d6570313276p-2, 0x1.b5d744289690fp-4));
    m = fma_(
        m, w4,
        four_terms(w, w2, -0x1.9d12939e1dd9bp-6, 0x1.974073ec1445fp-8, -0x1.f502df404b751p-10, 0x1.b93f9b12f201fp-11));
    m = fma_(
        m, w4,
        four_terms(w, w2, -0x1.3813437e05b10p-11, 0x1.a01a013179c33p-11, -0x1.6c16c16c02ef8p-9, 0x1.5555555555554p-4));
    return lgamma_by(x, inverse, log_less(parts_of(x), x < 1 ? 0 : 1), p, m);
}

/* 2^-34 and 2^-32. */
ALWAYS_INLINE float lgamma_positive_f32(float a)
{
    double x = a, t = x - (x < 1 ? 0.75 : 1.75), inverse = 1 / x, w = inverse * inverse;
    struct parts y = parts_of(x);
    double t2 = t * t, t4 = t2 * t2;
    double p = fma_(fma_(0x1.83c23c3a820a8p-16, t, -0x1.679f1ec941260p-15), t, 0x1.04a05fce9d8b2p-15);
    p = fma_(p, t4,
             four_terms(t, t2, -0x1.eda2becc53d27p-15, 0x1.419fa77d708d5p-13, -0x1.32509df03500ap-12,
                        0x1.1d14295a22b82p-11));
    p = fma_(
        p, t4,
        four_terms(t, t2, -0x1.1576cebf23a2cp-10, 0x1.12af1b71bbcf1p-9, -0x1.14fc10ab09faap-8, 0x1.1f9578472783ep-7));
    p = fma_(
        p, t4,
        four_terms(t, t2, -0x1.382e08f74a1a9p-6, 0x1.6cb625264662bp-5, -0x1.e965863e7d073p-4, 0x1.ccf151e09cde8p-2));
    double w2 = w * w, w4 = w2 * w2;
    double m = fma_(-0x1.470937114bc43p-11, w, 0x1.6158959fedc52p-11);
    m = fma_(
        m, w4,
        four_terms(w, w2, -0x1.31cc67e5ed152p-11, 0x1.9fe22a778d534p-11, -0x1.6c16922879152p-9, 0x1.555555547fc02p-4));
    return (float)lgamma_by(x, inverse, fma_(y.k, LN2, log_ratio((y.m - 1) / (y.m + 1))) - (x < 1 ? 0 : 1), p, m);
}

/* Of x >= 1: log(x) - q / x with a polynomial q over (x - 1) / (x + 1), of which the error is 2^-57; of less by that of
 * x + 1, in *upper; near its zero by a polynomial over the distance t to it. */
ALWAYS_INLINE double digamma_and(double x, double *upper)
{
    double y = x < 1 ? x + 1 : x, inverse = 1 / (y * (y + 1)), u = (y - 1) * (y * inverse);
    double u2 = u * u, u4 = u2 * u2;
    double q = 0x1.867cea8d0842fp-21;
    q = fma_(q, u4,
             four_terms(u, u2, -0x1.2db641a56f49dp-17, 0x1.b6c873a678a75p-15, -0x1.9234e452e2136p-13,
                        0x1.07c3dca25153fp-11));
    q = fma_(
        q, u4,
        four_terms(u, u2, -0x1.0b9c78bffb811p-10, 0x1.bddc24e056929p-10, -0x1.4189e7c76a92dp-9, 0x1.a60d256d295dap-9));
    q = fma_(
        q, u4,
        four_terms(u, u2, -0x1.07819861b9243p-8, 0x1.441c1761b1b45p-8, -0x1.91b33ae26270dp-8, 0x1.fbc818ec2774ep-8));
    q = fma_(
        q, u4,
        four_terms(u, u2, -0x1.4b3b21aae7b15p-7, 0x1.c18a8b2319389p-7, -0x1.3fdae2fd505e1p-6, 0x1.f62f818c0ba21p-6));
    q = fma_(
        q, u4,
        four_terms(u, u2, -0x1.b9b26ec4313c4p-5, 0x1.7d26c23d9ec3ep-4, -0x1.155fe41b2cc5ep-3, 0x1.2788cfc6fb619p-1));
    double l = log_of_parts(parts_of(y)), v = l - q * ((y + 1) * inverse);
    *upper = v;
    double t = (x - 0x1.762d86356be3fp+0) - 0x1.b86a722197829p-54;
    double t2 = t * t, t4 = t2 * t2;
    double p =
        four_terms(t, t2, -0x1.36eb768005eaep-12, 0x1.5a85661102796p-11, -0x1.a99bdbc635c75p-11, 0x1.111c6c7e0ffdfp-10);
    p = fma_(
        p, t4,
        four_terms(t, t2, -0x1.972a25f36a4f2p-10, 0x1.2eb2d59c9cbe8p-9, -0x1.ba2ed098d8cb1p-9, 0x1.42ddb5e34ddffp-8));
    p = fma_(
        p, t4,
        four_terms(t, t2, -0x1.d82230b606ae8p-8, 0x1.5955d04e330e1p-7, -0x1.f97079a1104f1p-7, 0x1.723d6868e6b22p-6));
    p = fma_(
        p, t4,
        four_terms(t, t2, -0x1.0fa7ebe204ef4p-5, 0x1.8fce02afd8abdp-5, -0x1.27baba26da05bp-4, 0x1.b9a5b63714684p-4));
    p = fma_(
        p, t4,
        four_terms(t, t2, -0x1.4fc1317257195p-3, 0x1.08b4294d50362p-2, -0x1.c563b54aa1a39p-2, 0x1.ef72bc8ee38acp-1));
    v = x < 1 ? v - 1 / x : v;
    v = (x > 1.1) & (x < 1.9) ? p * t : y > 0x1p60 ? l : v;
    return y < __builtin_inf() ? v : x;
}

ALWAYS_INLINE double digamma_positive(double x)
{
    double upper;
    return digamma_and(x, &upper);
}

/* The same with fewer digits: the errors are 2^-34 and 2^-31. */
ALWAYS_INLINE double digamma_positive_wide(double x)
{
    double y = x < 1 ? x + 1 : x, inverse = 1 / (y * (y + 1)), u = (y - 1) * (y * inverse), u2 = u * u, u4 = u2 * u2;
    double q = fma_(fma_(0x1.574da8af6b600p-13, u, -0x1.1f099c7a959b5p-10), u, 0x1.cab0f23c32e22p-9);
    q = fma_(
        q, u4,
        four_terms(u, u2, -0x1.e7b31dd063f3ap-8, 0x1.9aba15686fec6p-7, -0x1.3a022784f4e03p-6, 0x1.f50d39a192c78p-6));
    q = fma_(
        q, u4,
        four_terms(u, u2, -0x1.b9a1b0884b3c4p-5, 0x1.7d2641f9f0fffp-4, -0x1.155fe2999271fp-3, 0x1.2788cfc69b660p-1));
    struct parts l = parts_of(y);
    double v = fma_(l.k, LN2, log_ratio((l.m - 1) / (l.m + 1))) - q * ((y + 1) * inverse);
    double t = (x - 0x1.762d86356be3fp+0) - 0x1.b86a722197829p-54, t2 = t * t, t4 = t2 * t2;
    double p = fma_(fma_(0x1.41680d59f2dd7p-7, t, -0x1.2c27eab8ee2f7p-6), t, 0x1.7ccddafba6c01p-6);
    p = fma_(
        p, t4,
        four_terms(t, t2, -0x1.0c662478d1a9ap-5, 0x1.8f0d21c1f509ap-5, -0x1.27d3d680816d6p-4, 0x1.b9aabbfc6a520p-4));
    p = fma_(
        p, t4,
        four_terms(t, t2, -0x1.4fc0e09553540p-3, 0x1.08b423b297399p-2, -0x1.c563b5964aefbp-2, 0x1.ef72bc90d4483p-1));
    v = x < 1 ? v - 1 / x : v;
    v = (x > 1.1) & (x < 1.9) ? p * t : v;
    return x < __builtin_inf() ? v : x;
}

/* Below 0 psi(-x) - 1 / x - pi / tan(pi x), where psi(1 - x) is the first two. */
ALWAYS_INLINE double digamma_f64(double a)
{
    double x = fabs(a), upper, v = digamma_and(x, &upper);
    struct two_sides turns = turns_of(a);
    double turned = (x < 1 ? upper : v + 1 / x) - 2 * QUARTER * turns.cosine / turns.sine;
    v = a < 0 ? turned : v;
    v = a == 0 ? -1 / a : v;
    return (a < 0) & (rint(a) == a) ? __builtin_nan("") : v;
}

/* Below 0, where two numbers of nearly the same size leave few of their digits, all digits of a double are needed. */
ALWAYS_INLINE float digamma_f32(float a)
{
    double above = digamma_positive_wide(a), any = digamma_f64(a);
    return (float)(a > 0 ? above : any);
}

#endif
