/* What inverses of functions and Bessel functions of any order are, slowly and to more digits than float64 has: by
 * halving, by series, by integrals. */
#ifndef INVERSE_REFERENCE_H
#define INVERSE_REFERENCE_H

#include "tests/unit/special_reference.h"

/* The x from 0 on below which `is_below` holds: by halving an interval of its logarithm. */
#define SOLVE(high_end, is_below)                                                                                      \
    long double low = -2000, high = (high_end);                                                                        \
    for (int i = 0; i < 90; i++) {                                                                                     \
        const long double middle = (low + high) / 2, x = expl(middle);                                                 \
        if (is_below)                                                                                                  \
            low = middle;                                                                                              \
        else                                                                                                           \
            high = middle;                                                                                             \
    }                                                                                                                  \
    return expl(low)

static inline long double gamma_quantile(long double a, long double p, bool upper)
{
    if (!(a >= 0 && p >= 0 && p <= 1) || isinf(a)) return NAN;
    if (a == 0 || p == (upper ? 1 : 0)) return 0;
    if (p == (upper ? 0 : 1)) return INFINITY;
    if (p > 0.5L) return gamma_quantile(a, 1 - p, !upper); /* which has more digits */
    SOLVE(logl(a + 60 * sqrtl(a) + 1500), (incomplete_gamma(a, x, upper) < p) != upper);
}

static inline long double beta_quantile(long double a, long double b, long double p)
{
    if (!(a > 0 && b > 0 && (double)a + (double)b <= 1e10 && p >= 0 && p <= 1)) return NAN;
    if (p == 0 || p == 1) return p;
    SOLVE(0, incomplete_beta(a, b, x) < p);
}

static inline long double lambert_of(long double x, long double branch)
{
    const bool upper = branch == 0;
    if (!(x * expl(1) > -1) || !(upper || (branch == -1 && x <= 0))) return NAN;
    if (x == 0) return upper ? x : -INFINITY;
    if (isinf(x)) return x;
    long double low = upper ? -1 : -12000, high = upper ? 800 : -1;
    if (upper && fabsl(x) < 0.1L) low = x < 0 ? 1.2L * x : x / 2, high = x; /* so that small ones have all digits */
    for (int i = 0; i < 100; i++) {
        const long double w = (low + high) / 2;
        if ((w * expl(w) < x) == upper)
            low = w;
        else
            high = w;
    }
    return low;
}

/* Whether bessel_order_of knows: at edges, and of middling orders and numbers. */
static inline bool knows_order(long double v, long double x)
{
    const bool edge = x == 0 || isnan(x) || isinf(x) || isnan(v) || isinf(v) || (x < 0 && v != floorl(v));
    return edge || (fabsl(v) <= 25 && fabsl(x) >= 0.01L && fabsl(x) <= 25);
}

/* The sum of sign^k (x / 2)^(2 k + v) / (k! gamma(k + v + 1)). */
static inline long double bessel_by_series(long double v, long double x, long double sign)
{
    const long double whole = floorl(v), far = v == whole && v < 0 ? -v : 0; /* where 1 / gamma begins to be above 0 */
    long double term = powl(x / 2, 2 * far + v) / tgammal(far + v + 1) / tgammal(far + 1), sum = 0;
    if (fmodl(far, 2) != 0) term *= sign;
    for (long double k = far + 1; k < 300; k++) {
        sum += term;
        term *= sign * x * x / 4 / (k * (k + v));
    }
    return sum;
}

/* The cosine and the sine of pi v, exactly 0 where they are: what they are multiplied by may be large. */
static inline long double cosine_of(long double v)
{
    return fmodl(fabsl(v), 1) == 0.5L ? 0 : cosl(acosl(-1) * fmodl(v, 2));
}
static inline long double sine_of(long double v)
{
    return v == floorl(v) ? 0 : sinl(acosl(-1) * fmodl(v, 2));
}

/* The integral over 0 to `end` of what Y of a circle's part, or of its tail, is made of: by Takahasi and Mori's
 * doubly exponential formula. */
static inline long double bessel_integral(long double v, long double x, long double end, bool tail, bool second)
{
    const long double step = 1 / 256.0L, pi = acosl(-1);
    long double sum = 0;
    for (int k = -1200; k <= 1200; k++) {
        const long double u = k * step, e = expl(-pi * sinhl(u)), at = end / (1 + e);
        const long double weight = end * pi * coshl(u) * e / ((1 + e) * (1 + e));
        if (!(weight > 0)) continue;
        const long double turn = v * at - x * sinl(at), fall = -x * sinhl(at);
        sum += weight * (!tail    ? (second ? -sinl(turn) : cosl(turn))
                         : second ? expl(v * at + fall) + cosine_of(v) * expl(fall - v * at)
                                  : sine_of(v) * expl(fall - v * at));
    }
    return sum * step;
}

static inline long double bessel_order_of(long double v, long double x, bool second)
{
    const long double pi = acosl(-1);
    if (!(fabsl(v) <= 1e6L) || isnan(x) || (x < 0 && (second || v != floorl(v)))) return NAN;
    const bool odd = fmodl(fabsl(v), 2) == 1, half = fmodl(fabsl(v), 1) == 0.5L;
    if (isinf(x)) return 0;
    if (x < 0) return (odd ? -1 : 1) * bessel_order_of(v, -x, false);
    if (x == 0 && !second) return v == 0 ? 1 : v > 0 || v == floorl(v) ? 0 : copysignl(INFINITY, sinl(pi * -v));
    if (x == 0) return v < 0 && half ? 0 : copysignl(INFINITY, v < 0 ? -cosl(pi * v) : -1);
    if (!second && fabsl(v) > x) return bessel_by_series(v, x, -1);
    if (second && v < 0 && half) return (fmodl(-v, 2) == 0.5L ? 1 : -1) * bessel_order_of(-v, x, false);
    const long double tail = bessel_integral(v, x, asinhl(11000 / x) + 1, true, second);
    return (bessel_integral(v, x, pi, false, second) - tail) / pi;
}

/* How large what J or Y of a negative order are made of is: both of the positive one. */
static inline long double bessel_order_parts(long double v, long double x, bool second)
{
    const long double j = fabsl(bessel_order_of(fabsl(v), x, false)), y = fabsl(bessel_order_of(fabsl(v), x, true));
    const long double c = fabsl(cosine_of(v)), s = fabsl(sine_of(v));
    return v >= 0 || !isfinite(j + y) ? 0 : second ? s * j + c * y : c * j + s * y;
}

static inline long double modified_order_of(long double v, long double x, bool scaled)
{
    if (isnan(v) || isinf(v) || isnan(x) || (x < 0 && v != floorl(v))) return NAN;
    const long double sign = x < 0 && fmodl(fabsl(v), 2) == 1 ? -1 : 1;
    if (x == 0) return v == 0 ? 1 : v > 0 || v == floorl(v) ? 0 : copysignl(INFINITY, sinl(acosl(-1) * -v));
    if (isinf(x)) return scaled ? 0 : sign * INFINITY;
    return sign * bessel_by_series(v, fabsl(x), 1) * (scaled ? expl(-fabsl(x)) : 1);
}

static inline long double falling_order_of(long double v, long double x, bool scaled)
{
    if (isnan(v) || isinf(v)) return NAN;
    return bessel_falling(v, x) * (scaled || isinf(x) ? 1 : expl(-x));
}

#endif
