/* Dawson's integral, erfi, Fresnel's integrals, the dilogarithm and Legendre's functions by other series than the
 * product's, in long double: for the tests of all operations. */
#ifndef WAVE_REFERENCE_H
#define WAVE_REFERENCE_H

#include <complex.h>
#undef complex /* which is a field in kernels/ops.h */
#include <math.h>
#include <stdbool.h>

/* The integral of exp(t^2) from 0 to x, all of whose terms have one sign. */
static inline long double growing_integral(long double x)
{
    long double sum = 0, term = x;
    for (int k = 1; fabsl(term) > 1e-24L * fabsl(sum) && k < 5000; k++) {
        sum += term / (2 * k - 1);
        term *= x * x / k;
    }
    return sum;
}

static inline long double dawson_of(long double x)
{
    if (x == 0 || isnan(x)) return x;
    if (fabsl(x) < 7) return expl(-x * x) * growing_integral(x);
    long double sum = 1, term = 1, w = 1 / (2 * x) / x;
    for (int k = 1; k < 45; k++) sum += term *= (2 * k - 1) * w;
    return sum / (2 * x);
}

static inline long double imaginary_error(long double x)
{
    if (x == 0 || isnan(x)) return x;
    if (fabsl(x) > 30) return copysignl(INFINITY, x);
    return 2 / sqrtl(acosl(-1)) * growing_integral(x);
}

/* erfc of a number on the ray from 0 through 1 - i is what they lack, far out: by its continued fraction. */
static inline long double fresnel_of(long double x, bool cosine)
{
    const long double pi = acosl(-1), size = fabsl(x), z = size * size, lost = fmal(size, size, -z);
    if (isnan(x) || x == 0) return x;
    if (size > 1e17L) return copysignl(0.5L, x);
    if (size > 1.8L) {
        const long double _Complex at = sqrtl(pi) / 2 * CMPLXL(size, -size);
        const long double turn = pi / 2 * (fmodl(z, 4) + lost);
        long double _Complex f = at;
        for (int k = 2000; k > 0; k--) f = at + k / 2.0L / f;
        const long double _Complex rest = CMPLXL(cosl(turn), sinl(turn)) / f / sqrtl(pi);
        const long double _Complex value = CMPLXL(0.5L, 0.5L) * (1 - rest);
        return copysignl(cosine ? creall(value) : cimagl(value), x);
    }
    const long double t = pi / 2 * size * size;
    long double sum = 0, term = cosine ? x : x * t;
    for (int k = cosine ? 0 : 1; k < 60; k += 2) {
        sum += term / (2 * k + 1);
        term *= -t * t / ((k + 1) * (k + 2));
    }
    return sum;
}

/* Of z up to 1: what is near 0 by its definition, what is near 1 by its mirror image, what is below 0 by Landen's. */
static inline long double dilogarithm(long double z)
{
    const long double pi = acosl(-1);
    if (z == 1) return pi * pi / 6;
    if (z < 0) return -dilogarithm(z / (z - 1)) - log1pl(-z) * log1pl(-z) / 2;
    if (z > 0.5L) return pi * pi / 6 - logl(z) * log1pl(-z) - dilogarithm(1 - z);
    long double sum = 0, power = z;
    for (int k = 1; k < 80; k++, power *= z) sum += power / k / k;
    return sum;
}

static inline long double spence_of(long double x)
{
    if (isnan(x) || x < 0) return NAN;
    if (isinf(x)) return -INFINITY;
    if (x > 1e9L) return -acosl(-1) * acosl(-1) / 6 + (1 + logl(x)) / x - logl(x) * logl(x) / 2;
    return dilogarithm(1 - x);
}

/* Degrees that these sums, whose signs alternate, are exact enough for. */
static inline bool knows_degree(long double m, long double v)
{
    const long double degree = v < 0 ? -1 - v : v;
    return !(degree - fabsl(m) > 10);
}

/* By powers of x, or, where that is not small, by Gauss's hypergeometric series in (1 - x) / 2 (Digital Library of
 * Mathematical Functions, 14.3 and 14.7). */
static inline long double legendre_of(long double m, long double v, long double x, long double sine, bool harmonic)
{
    const long double order = fabsl(m), degree = v < 0 && !harmonic ? -1 - v : v, rest = degree - order;
    if (!(degree >= 0 && degree <= 10000) || m != rintl(m) || v != rintl(v) || !(fabsl(x) <= 1)) return NAN;
    if (rest < 0) return m < 0 && !harmonic ? NAN : 0;
    const long double half = (1 - fabsl(x)) / 2, pi = acosl(-1);
    const long double more = lgammal(degree + order + 1), less = lgammal(rest + 1);
    long double sum = 0, part = 1, size = order > 0 ? order * logl(sine) : 0;
    if (fabsl(x) < 0.5L) {
        for (int k = 0; 2 * k <= (int)rest; k++) {
            sum = sum * x * x + part;
            part *= -(rest - 2 * k) * (rest - 2 * k - 1) / (2 * (2 * degree - 2 * k - 1) * (k + 1));
        }
        if (fmodl(rest, 2) != 0) sum *= x;
        size += lgammal(2 * degree + 1) - degree * logl(2) - lgammal(degree + 1) - less;
    } else {
        for (int k = 0; k <= (int)rest; k++) {
            sum += part;
            part *= (k - rest) * (order + degree + 1 + k) / ((order + 1 + k) * (k + 1)) * half;
        }
        if (x < 0 && fmodl(rest, 2) != 0) sum = -sum;
        size += more - order * logl(2) - lgammal(order + 1) - less;
    }
    if (harmonic) size += (less - more + logl((2 * degree + 1) / (4 * pi))) / 2;
    if (m < 0 && !harmonic) size += less - more;
    if (m > 0 && fmodl(order, 2) != 0) sum = -sum;
    return sum * expl(size);
}

/* How large the numbers are that the next degree's is the sum of. */
static inline long double legendre_size(long double m, long double v, long double x, long double sine, bool harmonic)
{
    const long double order = fabsl(m), degree = v < 0 && !harmonic ? -1 - v : v;
    const long double here = fabsl(legendre_of(m, v, x, sine, harmonic));
    if (!(degree > order)) return here;
    return here + (degree + order) / (degree - order) * fabsl(legendre_of(m, degree - 1, x, sine, harmonic));
}

#endif
