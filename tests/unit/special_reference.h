/* Special functions in long double, for the tests of all operations: by their definitions where these converge, else by
 * formulas whose errors the longer numbers hide. */
#ifndef SPECIAL_REFERENCE_H
#define SPECIAL_REFERENCE_H

#include <math.h>
#include <stdbool.h>

/* From far out, where few terms of the series are exact. */
static inline long double psi(long double x)
{
    const long double pi = 3.14159265358979323846264338327950288L;
    if (x == 0) return -1 / x;
    if (isnan(x) || x == -INFINITY || (x < 0 && x == floorl(x))) return NAN;
    if (x < 0) return psi(1 - x) - pi / tanl(pi * (x - rintl(x)));
    long double sum = 0;
    for (; x < 300; x += 1) sum += 1 / x;
    return logl(x) - 1 / (2 * x) - 1 / (12 * x * x) + 1 / (120 * x * x * x * x) - 1 / (252 * powl(x, 6)) - sum;
}

static inline long double sine_cardinal(long double x)
{
    const long double pi = 3.14159265358979323846264338327950288L;
    if (x == 0) return 1;
    if (isinf(x)) return NAN;
    long double r = remainderl(x, 2);
    if (fabsl(r) > 0.5L) r = copysignl(1, r) - r; /* near whole numbers pi r would lack digits */
    return (x == rintl(x) ? 0 : sinl(pi * r)) / (pi * x);
}

/* exp(-|x|) I(x): from the first by its series, later by how it goes on. */
static inline long double bessel_scaled(int order, long double x)
{
    long double sum = 1, term = 1, size = fabsl(x);
    if (size > 60) {
        for (int k = 1; k < 30; k++) sum += term *= -(4 * order - (2 * k - 1) * (2 * k - 1)) / (8 * k * size);
        sum /= sqrtl(2 * acosl(-1) * size);
    } else {
        for (int k = 1; k < 200; k++) sum += term *= size / 2 / k * (size / 2 / (k + order));
        sum *= expl(-size) * (order ? size / 2 : 1);
    }
    return order ? copysignl(sum, x) : sum;
}

/* x^a exp(-x) / gamma(a + 1) by what is not lost where x is near a large a. */
static inline long double gamma_weight(long double a, long double x)
{
    if (a < 20) return expl(a * logl(x) - x - lgammal(a + 1));
    long double d = (x - a) / a, less = log1pl(d) - d, sum = 0;
    for (int k = 120; k > 1 && fabsl(d) < 0.5L; k--) sum = -sum * d + 1.0L / k;
    if (fabsl(d) < 0.5L) less = -sum * d * d;
    long double z = 1 / (a * a), rest = 1 / 156.0L;
    const long double terms[] = {691 / 360360.0L, 1 / 1188.0L, 1 / 1680.0L, 1 / 1260.0L, 1 / 360.0L, 1 / 12.0L};
    for (int k = 0; k < 6; k++) rest = terms[k] - rest * z;
    return expl(a * less - rest / a) / sqrtl(2 * acosl(-1) * a);
}

/* From 0 to x, or on from there: by series, by continued fractions from their far ends; infinities by their limits. */
static inline long double incomplete_gamma(long double a, long double x, bool upper)
{
    if (isnan(a) || isnan(x) || a < 0 || x < 0 || (a == 0 && x == 0) || (isinf(a) && isinf(x))) return NAN;
    if (a == 0 || isinf(x)) return !upper;
    if (x == 0 || isinf(a)) return upper;
    if (a > 1e5L && fabsl(x - a) > 60 * sqrtl(a)) return (x < a) == upper;
    if (a > 1e7L) { /* the first terms of what it is of a without end */
        long double d = (x - a) / a, half = 0;
        for (int k = 20; k > 1; k--) half = -half * d + 1.0L / k;
        half *= d * d;
        long double eta = copysignl(sqrtl(2 * half), d), z = eta * sqrtl(a / 2), rest = 1 / 2835.0L;
        rest = (((rest * eta + 1 / 864.0L) * eta - 2 / 135.0L) * eta + 1 / 12.0L) * eta - 1 / 3.0L;
        rest -= (1 / 540.0L + eta / 288) / a;
        rest *= expl(-a * half) / sqrtl(2 * acosl(-1) * a);
        return upper ? erfcl(z) / 2 + rest : erfcl(-z) / 2 - rest;
    }
    if (x > 1e5L && a < 1e4L) return !upper;
    long double steps = floorl(400 + 30 * sqrtl(a)), part;
    if (x >= a + 1) {
        long double f = 0;
        for (long double k = steps; k >= 1; k--) f = k * (a - k) / (x + 2 * k + 1 - a + f);
        part = a * gamma_weight(a, x) / (x + 1 - a + f);
        return upper ? part : 1 - part;
    }
    if (upper && x < 1 && a < 0.3L) { /* 1 - x^a / gamma(1 + a) and the rest of the series */
        const long double zeta[] = {-0.577215664901532860607L, 1.644934066848226436472L, -1.202056903159594285400L,
                                    1.082323233711138191516L, -1.036927755143369926331L};
        long double known = 0, sum = 0, term = 1; /* log(gamma(1 + a)) */
        for (int k = 5; k > 0; k--) known = (known + zeta[k - 1] / k) * a;
        long double l = a * logl(x) - (a < 1e-3L ? known : lgammal(1 + a));
        for (int n = 1; n < 30; n++) sum += (term *= -x / n) / (a + n);
        return -expm1l(l) - expl(l) * a * sum;
    }
    long double sum = 0;
    for (long double k = steps; k >= 1; k--) sum = (1 + sum) * x / (a + k);
    part = (1 + sum) * gamma_weight(a, x);
    return upper ? 1 - part : part;
}

/* What Stirling's formula lacks of the logarithm of gamma(x). */
static inline long double stirling_left(long double x)
{
    if (x < 60) return lgammal(x) - ((x - 0.5L) * logl(x) - x + logl(2 * acosl(-1)) / 2);
    long double v = 1 / x, z = v * v;
    return v * (1 / 12.0L - z * (1 / 360.0L - z * (1 / 1260.0L - z * (1 / 1680.0L - z / 1188))));
}

static inline long double beta_log(long double a, long double b)
{
    long double p = fminl(a, b), q = fmaxl(a, b), n = p + q;
    if (isnan(a) || isnan(b) || p < 0 || (p == 0 && isinf(q))) return NAN;
    if (p == 0 || isinf(q)) return p == 0 ? INFINITY : -INFINITY;
    if (q < 60) return lgammal(p) + lgammal(q) - lgammal(n);
    long double left = stirling_left(q) - stirling_left(n) - (q - 0.5L) * log1pl(p / q);
    if (p < 60) return lgammal(p) + left + p * (1 - logl(n));
    return left + stirling_left(p) + (p - 0.5L) * logl(p / n) + logl(2 * acosl(-1)) / 2 - logl(n) / 2;
}

static inline long double beta_of(long double a, long double b)
{
    return expl(beta_log(a, b));
}

/* log(1 + u) - u. */
static inline long double log_left(long double u)
{
    if (fabsl(u) > 0.25L) return log1pl(u) - u;
    long double sum = 0;
    for (int k = 60; k > 1; k--) sum = 1.0L / k - u * sum;
    return -u * u * sum;
}

/* x^a (1 - x)^b / beta(a, b). */
static inline long double beta_part(long double a, long double b, long double x, long double y)
{
    long double n = a + b, off = a - n * x;
    if (a < 1 || b < 1) return expl(a * logl(x) + b * logl(y) - beta_log(a, b));
    long double e = a * log_left(-off / a) + b * log_left(off / b);
    return expl(e + stirling_left(n) - stirling_left(a) - stirling_left(b)) * sqrtl(a / n * b / (2 * acosl(-1)));
}

/* By hypergeometric series, all of whose terms are positive: x^a y^b / (a beta(a, b)) times the sum of (a + b) ... (a +
 * b
 * + k - 1) / ((a + 1) ... (a + k)) x^k. */
static inline long double beta_below(long double a, long double b, long double x, long double y)
{
    long double sum = 1, term = 1;
    for (long double k = 0; k < 4e6L && term > sum * 1e-22L; k++) sum += term *= (a + b + k) / (a + 1 + k) * x;
    return beta_part(a, b, x, y) / a * sum;
}

static inline long double incomplete_beta(long double a, long double b, long double x)
{
    if (!(a > 0 && b > 0 && (double)a + (double)b <= 1e10 && x >= 0 && x <= 1)) return NAN;
    if (x == 0 || x == 1) return x;
    if (x <= (a + 1) / (a + b + 2) || x < 1e-3L) return beta_below(a, b, x, 1 - x);
    return 1 - beta_below(b, a, 1 - x, x);
}

/* The sum of (q + k)^-s, of s > 1 and q > 0. */
static inline long double zeta_positive(long double s, long double q)
{
    long double sum = 0;
    if (isinf(q)) return 0;
    if (isinf(s) || s > 1e6L)
        return q < 1 ? (isinf(s) || -s * logl(q) > 11356 ? INFINITY : powl(q, -s)) : q == 1 ? 1 : powl(q, -s);
    for (; q < 40 + s && (sum == 0 || powl(q, -s) > sum * 1e-22L); q++) {
        sum += powl(q, -s);
        if (sum == 0) return 0; /* and less is what follows */
    }
    static const long double terms[] = {1 / 12.0L, -1 / 720.0L, 1 / 30240.0L, -1 / 1209600.0L, 1 / 47900160.0L};
    long double factor = s / q, all = 0;
    for (int k = 0; k < 5; k++) {
        all += factor * terms[k];
        factor *= (s + 2 * k + 1) * (s + 2 * k + 2) / (q * q);
    }
    return sum + powl(q, -s) * (q / (s - 1) + 0.5L + all);
}

static inline long double zeta_of(long double s, long double q)
{
    if (isnan(s) || isnan(q) || s < 1 || q == -INFINITY) return NAN;
    if (s == 1 || (q <= 0 && q == floorl(q))) return INFINITY;
    if (q > 0) return zeta_positive(s, q);
    if (s != floorl(s) || isinf(s)) return NAN;
    long double sum = 0, from = q - floorl(q);
    if (-q > 1e4L)
        return (fmodl(s, 2) == 0 ? 1 : -1) * (zeta_positive(s, 1 - from) - zeta_positive(s, 1 - q)) +
               zeta_positive(s, from);
    for (; q < 0; q++) sum += powl(q, -s);
    return sum + zeta_positive(s, q);
}

static inline long double polygamma_of(long double n, long double x)
{
    if (!(n >= 0 && n <= 170) || n != floorl(n)) return NAN;
    if (n == 0) return psi(x);
    return (fmodl(n, 2) == 0 ? -1 : 1) * tgammal(n + 1) * zeta_of(n + 1, x);
}

static inline long double elliptic_of(long double m, bool second)
{
    long double a = 1, b = sqrtl(1 - m), part = 0.5L, sum = m / 2;
    if (isnan(m) || m > 1) return NAN;
    if (m == 1) return second ? 1 : INFINITY;
    if (isinf(m)) return second ? INFINITY : 0;
    for (int i = 0; i < 60; i++) {
        long double next = (a + b) / 2, c = (a - b) / 2;
        b = sqrtl(a * b), a = next, part *= 2, sum += part * c * c;
    }
    return acosl(-1) / (a + b) * (second ? 1 - sum : 1);
}

static inline long double exponential_of(long double n, long double x)
{
    if (isnan(x) || x < 0 || !(n >= 0) || isinf(n) || n != floorl(n)) return NAN;
    if (x == 0) return n > 1 ? 1 / (n - 1) : INFINITY;
    if (n == 0) return expl(-x) / x;
    if (x > 1) {
        long double f = 0;
        for (int i = 400; i > 0; i--) f = i * (n - 1 + i) / (x + n + 2 * i - f);
        return isinf(x) ? 0 : expl(-x) / (x + n - f);
    }
    long double term = 1, sum = n == 1 ? psi(1) - logl(x) : 1 / (n - 1);
    for (int i = 1; i < 40; i++) {
        term *= -x / i;
        sum += i == n - 1 ? term * (psi(n) - logl(x)) : -term / (i - (n - 1));
    }
    return sum;
}

/* Ei: above 0 its series, and far out the terms of its expansion up to the least. */
static inline long double exponential_up_to(long double x)
{
    if (isnan(x)) return x;
    if (x <= 0) return -exponential_of(1, -x);
    if (isinf(x)) return x;
    long double term = 1, sum = 0, off = (x - 0x1.7d72952b4b5fcp-2L) - 1.3140183414386028e-17L;
    if (fabsl(off) < 0.02L) { /* by its derivatives at its zero */
        const long double at = x - off, e = expl(at);
        long double slope = e / at;
        for (int k = 1; k < 20; k++) {
            sum += (term *= off / k) * slope;
            slope = (e - k * slope) / at;
        }
        return sum;
    }
    if (x < 60) {
        for (int k = 1; k < 400; k++) sum += (term *= x / k) / k;
        return sum + 0.577215664901532860606512090082402431L + logl(x);
    }
    for (int k = 1; k < 60; k++) sum += term, term *= k / x;
    return expl(x) / x * sum;
}

/* exp(x) K(x) of any order: the integral of exp(-x (cosh(t) - 1)) cosh(order t) over t from 0 on, by trapezoids,
 * which are exact to all digits where they are narrow. */
static inline long double bessel_falling(long double order, long double x)
{
    if (x == 0) return INFINITY;
    if (!(x > 0)) return NAN;
    if (isinf(x)) return 0;
    const long double step = 1 / (16 * sqrtl(x > 1 ? x : 1));
    long double sum = 0.5L, t = step, weight = 1;
    for (int k = 1; weight > sum * 1e-24L && k < 20000; k++, t = k * step) {
        const long double half = sinhl(t / 2);
        sum += weight = expl(-2 * x * half * half) * coshl(order * t);
    }
    return sum * step;
}

static inline long double ways_of(long double n, long double k)
{
    long double least = n == floorl(n) && n - k < k ? n - k : k, ways = 1;
    if (isnan(n) || isnan(k) || isinf(k)) return NAN;
    if (k < 0 || n < 0 || k > n) return 0;
    if (least != floorl(least) || least > 40) return expl(-logl(n + 1) - beta_log(n - k + 1, k + 1));
    for (int i = 1; i <= (int)least; i++) ways = ways * (n - least + i) / i;
    return ways;
}

/* How large what is added up is: below 0 of both signs. */
static inline long double zeta_size(long double s, long double q)
{
    long double part = q - floorl(q);
    if (!(q < 0 && s > 1)) return fabsl(zeta_of(s, q));
    return zeta_positive(s, part) + zeta_positive(s, 1 - part);
}

static inline long double polygamma_size(long double n, long double x)
{
    return n > 0 ? tgammal(n + 1) * zeta_size(n + 1, x) : 1 + fabsl(psi(x));
}

#endif
