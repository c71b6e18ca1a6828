/* Floating-point arithmetic by integers alone, for every format of PTX and every rounding mode: what the tests of the
 * software GPU compare with. It shares nothing with the engine, nor with the host's floating-point unit. A number is
 * exact or, after a division or root, cut off with a mark that something was lost, so it is rounded only once. */
#ifndef SOFT_FLOAT_H
#define SOFT_FLOAT_H

#include <stdbool.h>
#include <stdint.h>

typedef unsigned __int128 soft_bits;
enum soft_mode { SOFT_RN, SOFT_RZ, SOFT_RM, SOFT_RP, SOFT_RNA };
struct soft_format {
    int width, mantissa, bias; /* bits; mantissa without the leading one */
};
static const struct soft_format soft_f16 = {16, 10, 15}, soft_bf16 = {16, 7, 127}, soft_tf32 = {19, 10, 127},
                                soft_f32 = {32, 23, 127}, soft_f64 = {64, 52, 1023};

struct soft {
    enum { SOFT_ZERO, SOFT_FINITE, SOFT_INFINITY, SOFT_NAN } kind;
    bool negative, lost; /* lost: the true number is a bit farther from zero */
    int exponent;        /* the number is m * 2^exponent */
    soft_bits m;
};

static inline int soft_top(soft_bits m) /* position of the highest bit; m is not 0 */
{
    uint64_t high = (uint64_t)(m >> 64), low = (uint64_t)m;
    return high ? 127 - __builtin_clzll(high) : 63 - __builtin_clzll(low);
}
static inline struct soft soft_nan(void)
{
    return (struct soft){.kind = SOFT_NAN};
}
static inline struct soft soft_finite(bool negative, soft_bits m, int exponent, bool lost)
{
    return (struct soft){m || lost ? SOFT_FINITE : SOFT_ZERO, negative, lost, exponent, m};
}
static inline struct soft soft_of_int(__int128 v)
{
    return soft_finite(v < 0, v < 0 ? (soft_bits)-v : (soft_bits)v, 0, false);
}

static inline struct soft soft_unpack(struct soft_format f, uint64_t bits)
{
    uint64_t mantissa = bits & (((uint64_t)1 << f.mantissa) - 1);
    int exponent = (int)(bits >> f.mantissa) & ((1 << (f.width - 1 - f.mantissa)) - 1);
    bool negative = bits >> (f.width - 1) & 1;
    if (exponent == (1 << (f.width - 1 - f.mantissa)) - 1)
        return (struct soft){mantissa ? SOFT_NAN : SOFT_INFINITY, negative, false, 0, 0};
    if (exponent) mantissa |= (uint64_t)1 << f.mantissa;
    return soft_finite(negative, mantissa, (exponent ? exponent : 1) - f.bias - f.mantissa, false);
}

/* m * 2^-down as an integer, rounded. */
static inline soft_bits soft_shift_round(soft_bits m, bool lost, int down, bool negative, enum soft_mode mode)
{
    if (down <= 0) return m << -down; /* a caller who lost bits has kept some below the last place */
    soft_bits whole = down > 127 ? 0 : m >> down, rest = down > 127 ? m : m & (((soft_bits)1 << down) - 1);
    bool inexact = rest || lost;
    int half = 0; /* rest compared with a half */
    if (down <= 127) {
        soft_bits middle = (soft_bits)1 << (down - 1);
        half = rest > middle || (rest == middle && lost) ? 1 : rest == middle ? 0 : -1;
    } else {
        half = -1; /* m has fewer than 127 bits */
    }
    bool up = mode == SOFT_RN    ? half > 0 || (half == 0 && (whole & 1))
              : mode == SOFT_RNA ? half >= 0
              : mode == SOFT_RM  ? negative && inexact
              : mode == SOFT_RP  ? !negative && inexact
                                 : false;
    return whole + up;
}

/* The nearest number of a format. NaN comes as all ones but the sign. */
static inline uint64_t soft_pack(struct soft_format f, struct soft s, enum soft_mode mode)
{
    uint64_t sign = (uint64_t)s.negative << (f.width - 1);
    uint64_t infinity = (((uint64_t)1 << (f.width - 1 - f.mantissa)) - 1) << f.mantissa;
    if (s.kind == SOFT_NAN) return ((uint64_t)1 << (f.width - 1)) - 1;
    if (s.kind == SOFT_INFINITY) return sign | infinity;
    if (s.kind == SOFT_ZERO) return sign;
    int least = 1 - f.bias - f.mantissa, last = s.m ? s.exponent + soft_top(s.m) - f.mantissa : least;
    if (last < least) last = least;
    soft_bits units = soft_shift_round(s.m, s.lost, last - s.exponent, s.negative, mode);
    if (units >> (f.mantissa + 1)) units >>= 1, last++;
    if (units >> f.mantissa) {
        int exponent = last + f.mantissa + f.bias;
        bool to_zero = mode == SOFT_RZ || (mode == SOFT_RM && !s.negative) || (mode == SOFT_RP && s.negative);
        if (exponent >= 2 * f.bias + 1) return sign | (infinity - to_zero);
        return sign | (uint64_t)exponent << f.mantissa | ((uint64_t)units & (((uint64_t)1 << f.mantissa) - 1));
    }
    return sign | (uint64_t)units;
}

/* With the highest bit at position 125, which leaves room for a sum's carry. */
static inline struct soft soft_normal(struct soft s)
{
    int up = 125 - soft_top(s.m);
    s.m <<= up;
    s.exponent -= up;
    return s;
}

/* zero_negative: what an exact difference of nothing is, by the rounding mode. */
static inline struct soft soft_add(struct soft a, struct soft b, enum soft_mode mode)
{
    if (a.kind == SOFT_NAN || b.kind == SOFT_NAN) return soft_nan();
    if (a.kind == SOFT_INFINITY && b.kind == SOFT_INFINITY) return a.negative == b.negative ? a : soft_nan();
    if (a.kind == SOFT_INFINITY) return a;
    if (b.kind == SOFT_INFINITY) return b;
    if (a.kind == SOFT_ZERO && b.kind == SOFT_ZERO) {
        if (a.negative != b.negative) a.negative = mode == SOFT_RM;
        return a;
    }
    if (a.kind == SOFT_ZERO) return b;
    if (b.kind == SOFT_ZERO) return a;
    a = soft_normal(a), b = soft_normal(b);
    if (a.exponent < b.exponent || (a.exponent == b.exponent && a.m < b.m)) {
        struct soft t = a;
        a = b, b = t;
    }
    int down = a.exponent - b.exponent;
    bool lost = down > 127 ? true : down && (b.m & (((soft_bits)1 << down) - 1));
    soft_bits small = down > 127 ? 0 : b.m >> down;
    if (a.negative == b.negative) return soft_finite(a.negative, a.m + small, a.exponent, lost);
    soft_bits m = a.m - small - lost;
    if (!m && !lost) a.negative = mode == SOFT_RM;
    return soft_finite(a.negative, m, a.exponent, lost);
}

static inline struct soft soft_multiply(struct soft a, struct soft b)
{
    bool negative = a.negative != b.negative;
    if (a.kind == SOFT_NAN || b.kind == SOFT_NAN) return soft_nan();
    if (a.kind == SOFT_INFINITY || b.kind == SOFT_INFINITY) {
        if (a.kind == SOFT_ZERO || b.kind == SOFT_ZERO) return soft_nan();
        return (struct soft){.kind = SOFT_INFINITY, .negative = negative};
    }
    return soft_finite(negative, a.m * b.m, a.exponent + b.exponent, false);
}

static inline struct soft soft_divide(struct soft a, struct soft b)
{
    bool negative = a.negative != b.negative;
    if (a.kind == SOFT_NAN || b.kind == SOFT_NAN) return soft_nan();
    if (a.kind == SOFT_INFINITY)
        return b.kind == SOFT_INFINITY ? soft_nan() : (struct soft){.kind = SOFT_INFINITY, .negative = negative};
    if (b.kind == SOFT_INFINITY) return (struct soft){.kind = SOFT_ZERO, .negative = negative};
    if (b.kind == SOFT_ZERO)
        return a.kind == SOFT_ZERO ? soft_nan() : (struct soft){.kind = SOFT_INFINITY, .negative = negative};
    if (a.kind == SOFT_ZERO) return (struct soft){.kind = SOFT_ZERO, .negative = negative};
    a = soft_normal(a);
    return soft_finite(negative, a.m / b.m, a.exponent - b.exponent, a.m % b.m != 0);
}

static inline struct soft soft_root(struct soft a)
{
    if (a.kind == SOFT_NAN || a.kind == SOFT_ZERO) return a;
    if (a.negative) return soft_nan();
    if (a.kind == SOFT_INFINITY) return a;
    a = soft_normal(a);
    if (a.exponent & 1) a.m >>= 1, a.exponent++; /* the lowest bits are zeros */
    soft_bits root = 0;
    for (soft_bits bit = (soft_bits)1 << 63; bit; bit >>= 1)
        if ((root | bit) * (root | bit) <= a.m) root |= bit;
    return soft_finite(false, root, a.exponent / 2, root * root != a.m);
}

/* To an integer by a rounding mode, as 128 bits; beyond 2^100 clamped. NaN must not come. */
static inline __int128 soft_to_int(struct soft s, enum soft_mode mode)
{
    __int128 most = (__int128)1 << 100, v = most;
    if (s.kind == SOFT_ZERO) return 0;
    if (s.kind == SOFT_FINITE && s.exponent + soft_top(s.m) < 100)
        v = (__int128)soft_shift_round(s.m, s.lost, -s.exponent, s.negative, mode);
    return s.negative ? -v : v;
}

/* Compared as numbers: -1, 0, 1, or 2 when one is NaN. */
static inline int soft_compare(struct soft a, struct soft b)
{
    if (a.kind == SOFT_NAN || b.kind == SOFT_NAN) return 2;
    if (a.kind == SOFT_INFINITY && b.kind == SOFT_INFINITY && a.negative == b.negative) return 0;
    b.negative = !b.negative;
    struct soft d = soft_add(a, b, SOFT_RN);
    return d.kind == SOFT_ZERO ? 0 : d.negative ? -1 : 1;
}

/* Subnormal numbers of the format become zero, as .ftz says. */
static inline uint64_t soft_flush(struct soft_format f, uint64_t bits)
{
    uint64_t sign = (uint64_t)1 << (f.width - 1), exponents = (sign - 1) & ~(((uint64_t)1 << f.mantissa) - 1);
    return bits & exponents ? bits : bits & sign;
}
/* Clamped to [0, 1]; NaN becomes 0. */
static inline uint64_t soft_saturate(struct soft_format f, uint64_t bits)
{
    struct soft s = soft_unpack(f, bits);
    uint64_t one = (uint64_t)f.bias << f.mantissa;
    if (s.kind == SOFT_NAN || s.kind == SOFT_ZERO || s.negative) return 0;
    return soft_compare(s, soft_unpack(f, one)) > 0 ? one : bits;
}

/* minNum and maxNum of PTX: a NaN gives way to a number, -0 is below +0. */
static inline uint64_t soft_extreme(struct soft_format f, uint64_t a, uint64_t b, bool most, bool nan_wins)
{
    struct soft x = soft_unpack(f, a), y = soft_unpack(f, b);
    if (x.kind == SOFT_NAN || y.kind == SOFT_NAN) {
        if (nan_wins || (x.kind == SOFT_NAN && y.kind == SOFT_NAN)) return soft_pack(f, soft_nan(), SOFT_RN);
        return x.kind == SOFT_NAN ? b : a;
    }
    int order = soft_compare(x, y);
    if (order == 0) return (x.negative != most) ? a : b; /* of -0 and 0 */
    return (order < 0) != most ? a : b;
}

#endif
