/* Incomplete elliptic integrals by Gauss and Legendre's rule, and sine and cosine integrals by their series and the
 * continued fraction, in long double: for the tests of all operations. */
#ifndef INTEGRAL_REFERENCE_H
#define INTEGRAL_REFERENCE_H

#include <complex.h>
#undef complex /* which is a field in kernels/ops.h */
#include <math.h>
#include <stdbool.h>
#include "tests/unit/special_reference.h"

enum { RULE = 14 };

/* The places from -1 to 1, and what each counts: where Legendre's polynomial is 0, by Newton's steps. */
static inline void make_rule(long double *at, long double *weight)
{
    for (int i = 0; i < RULE; i++) {
        long double x = cosl(acosl(-1) * (i + 0.75L) / (RULE + 0.5L)), slope = 1;
        for (int round = 0; round < 8; round++) {
            long double before = 1, p = x;
            for (int k = 2; k <= RULE; k++) {
                const long double next = ((2 * k - 1) * x * p - (k - 1) * before) / k;
                before = p, p = next;
            }
            slope = RULE * (x * p - before) / (x * x - 1);
            x -= p / slope;
        }
        at[i] = x;
        weight[i] = 2 / ((1 - x * x) * slope * slope);
    }
}

/* Of angles up to pi / 2: over the logarithm of their tangent, in pieces as wide as 1. */
static inline long double elliptic_within(long double phi, long double m, bool second)
{
    static long double at[RULE], weight[RULE];
    if (weight[0] == 0) make_rule(at, weight);
    const long double k = 1 - m, end = logl(tanl(phi)), least = fminl(end, k > 1 ? -logl(k) / 2 : 0) - 48;
    long double sum = 0;
    for (long double to = end; to > least; to -= 1) {
        for (int i = 0; i < RULE; i++) {
            const long double t = expl(to - 0.5L + at[i] / 2), a = 1 / (1 + t * t), q = (1 + k * t * t) * a;
            sum += weight[i] / 2 * t * a * (second ? sqrtl(q) : 1 / sqrtl(q));
        }
    }
    return sum;
}

static inline long double elliptic_up_to(long double phi, long double m, bool second)
{
    const long double pi = acosl(-1);
    if (!(m <= 1) || isnan(phi)) return NAN;
    if (phi == 0 || isinf(phi)) return second || !isinf(m) ? phi : phi * 0;
    if (isinf(m)) return second ? phi * INFINITY : phi * 0;
    const long double n = rintl(phi / pi), r = n == 0 ? phi : fmal(-n, pi, phi) + n * 5.016557612668332e-20L;
    const long double whole = n == 0 ? 0 : 2 * n * elliptic_of(m, second);
    if (isinf(whole) || fabsl(phi) > 1e15L) return phi / (pi / 2) * elliptic_of(m, second);
    if (fabsl(r) < 1e-12L && fabsl(m * r * r) < 1e-24L) return whole + r;
    return whole + copysignl(elliptic_within(fabsl(r), m, second), r);
}

/* exp(i x) E1(i x): -sin and cos of it are what Ci and Si lack, far out. */
static inline long double _Complex turning(long double x)
{
    const long double _Complex z = CMPLXL(0, x);
    long double _Complex f = 0;
    for (int k = 3000; k > 0; k--) f = k * (long double)k / (z + 2 * k + 1 - f);
    return 1 / (z + 1 - f);
}

static inline long double sine_integral(long double x)
{
    const long double size = fabsl(x), half = acosl(-1) / 2;
    if (isnan(x)) return x;
    if (size > 1e18L) return copysignl(half, x);
    if (size > 4) return copysignl(half + cimagl(turning(size) * CMPLXL(cosl(size), -sinl(size))), x);
    long double sum = x, term = x;
    for (int k = 1; k < 40; k++) sum += (term *= -x * x / (2 * k * (2 * k + 1))) / (2 * k + 1);
    return sum;
}

static inline long double cosine_integral(long double x)
{
    const long double size = fabsl(x);
    if (isnan(x)) return x;
    if (isinf(x)) return 0;
    if (size > 1e18L) return sinl(size) / size;
    if (size > 4) return -creall(turning(size) * CMPLXL(cosl(size), -sinl(size)));
    long double sum = 0.577215664901532860606512090082402431L + logl(size), term = 1;
    for (int k = 1; k < 40; k++) sum += (term *= -x * x / ((2 * k - 1) * (2 * k))) / (2 * k);
    return sum;
}

#endif
