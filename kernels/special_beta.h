/* The beta functions, zeta and what derives from it, elliptic and exponential integrals, and what is counted: for both
 * languages, computed in double, as special.h has others. lang/topics.c says how near they are. */
#ifndef KN_SPECIAL_BETA_H
#define KN_SPECIAL_BETA_H

/* clang-format off */
#define KN_BETA_FUNCTIONS()                                                                                            \
    /* log(gamma(x)) less (x - 1/2) log(x) - x + log(2 pi) / 2, of x > 0. */                                           \
    KN_APART double stirling_rest_(double x)                                                                           \
    {                                                                                                                  \
        double s, v, z, up = 0, y = x;                                                                                 \
        if (x < 1) return lgamma_(1 + x) - (x + 0.5) * log_(x) + x - 0.91893853320467274178;                           \
        while (y < 12) { /* the rest of x is that of x + 1, and what both formulas differ by */                        \
            const double u = 1 / (2 * y + 1), w = u * u;                                                               \
            double t = 0;                                                                                              \
            for (int k = 31; k > 1; k -= 2) t = (t + 1.0 / k) * w;                                                     \
            up += t;                                                                                                   \
            y += 1;                                                                                                    \
        }                                                                                                              \
        v = 1 / y;                                                                                                     \
        z = v * v;                                                                                                     \
        s = 1.0 / 1680 - z * (1.0 / 1188 - z * (691.0 / 360360));                                                      \
        s = v * (1.0 / 12 - z * (1.0 / 360 - z * (1.0 / 1260 - z * s)));                                               \
        return s + up;                                                                                                 \
    }                                                                                                                  \
    /* x^a y^b / beta(a, b) of x + y = 1, by how far x is from a / (a + b), where it is greatest, or off = a - n x. */ \
    KN_APART double beta_weight_(double a, double b, double x, double y, double off)                                   \
    {                                                                                                                  \
        const double n = a + b, pi = 3.14159265358979323846;                                                           \
        const double e = a * log_less_(-off / a, n * x / a) + b * log_less_(off / b, n * y / b);                       \
        return exp_(e + (stirling_rest_(n) - stirling_rest_(a) - stirling_rest_(b))) * sqrt(a / n * b / (2 * pi));     \
    }                                                                                                                  \
    /* The part of beta(a, b) below x, by its continued fraction for x not far above the mean. */                      \
    KN_APART double beta_fraction_(double a, double b, double x, double y, double off)                                 \
    {                                                                                                                  \
        const double n = a + b;                                                                                        \
        double c = 1, d = 1 - n * x / (a + 1), f;                                                                      \
        d = 1 / (d == 0 ? 1e-300 : d);                                                                                 \
        f = d;                                                                                                         \
        for (int m = 1; m < 1000000; m++) {                                                                            \
            double k = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)), by;                                          \
            d = 1 + k * d;                                                                                             \
            c = 1 + k / c;                                                                                             \
            d = 1 / (d == 0 ? 1e-300 : d);                                                                             \
            c = c == 0 ? 1e-300 : c;                                                                                   \
            f *= d * c;                                                                                                \
            k = -(a + m) * (n + m) * x / ((a + 2 * m) * (a + 2 * m + 1));                                              \
            d = 1 + k * d;                                                                                             \
            c = 1 + k / c;                                                                                             \
            d = 1 / (d == 0 ? 1e-300 : d);                                                                             \
            c = c == 0 ? 1e-300 : c;                                                                                   \
            by = d * c;                                                                                                \
            f *= by;                                                                                                   \
            if (fabs(by - 1) < 0x1p-52) break;                                                                         \
        }                                                                                                              \
        return beta_weight_(a, b, x, y, off) / a * f;                                                                  \
    }                                                                                                                  \
    /* The same of a and b above 1 and x up to the mean, with no difference in the fraction (DiDonato and Morris,      \
       Algorithm 708, ACM Transactions on Mathematical Software 18, 1992). */                                          \
    KN_APART double beta_middle_(double a, double b, double x, double y, double off)                                   \
    {                                                                                                                  \
        const double one = 1 + 1 / a;                                                                                  \
        double top = 1, before = 0, below = (1 + off) / one, below_before = 1, r = one / (1 + off), p = 1;             \
        for (int i = 1; i < 1000000; i++) {                                                                            \
            const double t = i / a, w = i * (b - i) * x, s = a + 2 * i - 1, e = a / s, last = r;                       \
            const double alpha = p * (p + b / a) * e * e * w * x;                                                      \
            const double beta = i + w / s + (1 + t) / (one + t + t) * (1 + off + i * (1 + y));                         \
            double next = alpha * before + beta * top, next_below = alpha * below_before + beta * below;               \
            p = 1 + t;                                                                                                 \
            r = next / next_below;                                                                                     \
            before = top / next_below, below_before = below / next_below; /* so that nothing overflows */              \
            top = r, below = 1;                                                                                        \
            if (fabs(r - last) <= 0x1p-53 * r) break;                                                                  \
        }                                                                                                              \
        return beta_weight_(a, b, x, y, off) * r;                                                                      \
    }                                                                                                                  \
    /* The same of small b: x^a / (a beta(a, b)) times 1 + a times a sum that converges there. */                      \
    KN_APART double beta_series_(double a, double b, double x, double y, double off)                                   \
    {                                                                                                                  \
        double term = 1, sum = 0;                                                                                      \
        for (int k = 1; k < 2000; k++) {                                                                               \
            term *= (k - b) * x / k;                                                                                   \
            const double next = term / (a + k);                                                                        \
            sum += next;                                                                                               \
            if (fabs(next) <= 0x1p-54 * fabs(sum)) break;                                                              \
        }                                                                                                              \
        return beta_weight_(a, b, x, y, off) * exp_(-b * log1p(-x)) * (1 / a + sum);                                   \
    }                                                                                                                  \
    /* How far a is above (a + b) x, to all digits. */                                                                 \
    KN_FN double beta_off_(double a, double b, double x)                                                               \
    {                                                                                                                  \
        const double p = a * x, q = b * x, t = a - p, u = t - q;                                                       \
        return u + (((a - t) - p) + ((t - u) - q) - fma(a, x, -p) - fma(b, x, -q));                                    \
    }                                                                                                                  \
    /* The part of beta(a, b) below x over all of it, or the part above, of x + y = 1. */                              \
    KN_APART double beta_part_(double a, double b, double x, double y, int upper)                                      \
    {                                                                                                                  \
        const double off = x < y ? beta_off_(a, b, x) : -beta_off_(b, a, y);                                           \
        const int large = a > 1 && b > 1, low = b * x <= 1 && x <= 0.95, high = a * y <= 1 && y <= 0.95;               \
        const int below = low || (large ? off >= 0 : x <= (a + 1) / (a + b + 2));                                      \
        const double p = below ? a : b, q = below ? b : a, by = below ? off : -off;                                    \
        const double at = below ? x : y, rest = below ? y : x;                                                         \
        const int series = below ? low : high && !large;                                                               \
        const double v = series  ? beta_series_(p, q, at, rest, by)                                                    \
                         : large ? beta_middle_(p, q, at, rest, by)                                                    \
                                 : beta_fraction_(p, q, at, rest, by);                                                 \
        return below == !upper ? v : 1 - v;                                                                            \
    }                                                                                                                  \
    KN_FN double betainc_(double a, double b, double x)                                                                \
    {                                                                                                                  \
        if (!(a > 0 && b > 0 && a + b <= 1e10 && x >= 0 && x <= 1)) return (x - x) / (x - x);                          \
        return x == 0 || x == 1 ? x + 0 : beta_part_(a, b, x, 1 - x, 0);                                               \
    }                                                                                                                  \
    /* The limits of beta(a, b) where a number is 0, or without end; 1 elsewhere. */                                   \
    KN_FN double beta_limit_(double a, double b)                                                                       \
    {                                                                                                                  \
        const double p = a < b ? a : b, q = a < b ? b : a;                                                             \
        if (a != a || b != b || p < 0 || (p == 0 && q - q != 0)) return (a - a) / (a - a);                             \
        return p == 0 ? 1 / fabs(p) : q - q != 0 ? 0 : 1;                                                              \
    }                                                                                                                  \
    KN_FN double betaln_(double a, double b)                                                                           \
    {                                                                                                                  \
        const double p = a < b ? a : b, q = a < b ? b : a, n = a + b, limit = beta_limit_(a, b);                       \
        if (limit != 1) return limit == 0 ? -q : limit;                                                                \
        if (q < 12) return lgamma_(p) + (lgamma_(q) - lgamma_(n));                                                     \
        const double rest = stirling_rest_(q) - stirling_rest_(n), l = -log1p(p / q);                                  \
        if (p < 12) return lgamma_(p) + (rest + (q - 0.5) * l + p * (1 - log_(n)));                                    \
        return rest + stirling_rest_(p) + 0.91893853320467274178 - 0.5 * log_(q) + (p - 0.5) * log_(p / n) + q * l;    \
    }                                                                                                                  \
    KN_FN double beta_(double a, double b)                                                                             \
    {                                                                                                                  \
        const double p = a < b ? a : b, q = a < b ? b : a, n = a + b, pi = 3.14159265358979323846;                     \
        const double limit = beta_limit_(a, b);                                                                        \
        if (limit != 1) return limit;                                                                                  \
        if (q < 100 && n < 150) { /* the sum may lack some digits of the smaller one */                                \
            const double v = tgamma_(p) * (tgamma_(q) / tgamma_(n)), lost = p - (n - q);                               \
            return n > 2 && v - v == 0 ? v - v * lost * (log_(n) - 0.5 / n) : v;                                       \
        }                                                                                                              \
        const double rest = stirling_rest_(q) - stirling_rest_(n), l = log1p(p / q);                                   \
        if (p < 12) return tgamma_(p) * exp_(rest - (q - 0.5) * l + p * (1 - log_(n)));                                \
        return exp_(rest + stirling_rest_(p) + p * log_(p / n) - q * l) * sqrt(2 * pi / p * (n / q));                  \
    }                                                                                                                  \
    /* The sum of (q + k)^-s over k from 0 on, of s > 1 and q > 0: first terms, and Euler and Maclaurin's formula. */  \
    KN_APART double zeta_above_(double s, double q)                                                                    \
    {                                                                                                                  \
        double sum = 0, power = pow(q, -s);                                                                            \
        while (q < 16 + s) {                                                                                           \
            sum += power;                                                                                              \
            if (power <= sum * 0x1p-56) return sum;                                                                    \
            q += 1;                                                                                                    \
            power = pow(q, -s);                                                                                        \
        }                                                                                                              \
        const double v = 1 / (q * q);                                                                                  \
        double factor = s / q, all = factor / 12;                                                                      \
        factor *= (s + 1) * (s + 2) * v; all -= factor / 720;                                                          \
        factor *= (s + 3) * (s + 4) * v; all += factor / 30240;                                                        \
        factor *= (s + 5) * (s + 6) * v; all -= factor / 1209600;                                                      \
        factor *= (s + 7) * (s + 8) * v; all += factor / 47900160;                                                     \
        factor *= (s + 9) * (s + 10) * v; all -= factor * (691.0 / 1307674368000.0);                                   \
        factor *= (s + 11) * (s + 12) * v; all += factor / 74724249600.0;                                              \
        const double half = pow(q, -s / 2); /* the power itself may be too small */                                    \
        return sum + half * (q / (s - 1) + 0.5 + all) * half;                                                          \
    }                                                                                                                  \
    /* Of q below 0 and whole s the terms below 0 are those of another such sum, up to where that has come. */         \
    KN_FN double zeta_(double s, double q)                                                                             \
    {                                                                                                                  \
        if (!(s > 1) || q != q) return s == 1 && q == q ? 1 / (s - 1) : (s - s) / (s - s) + 0 * q;                     \
        if (q <= 0 && floor(q) == q) return 1 / (q - q);                                                               \
        if (q > 0) return q - q != 0 ? 0 : s - s != 0 ? (q < 1 ? s : q == 1 ? 1 : 0) : zeta_above_(s, q);              \
        if (floor(s) != s || s - s != 0) return (q - q) / (q - q);                                                     \
        const double above = q - floor(q), below = floor(q) + 1 - q, sign = floor(s / 2) * 2 == s ? 1 : -1;            \
        /* Between two whole numbers both are the same, and for odd s nothing is left of them but the last. */         \
        return zeta_above_(s, above) + sign * zeta_above_(s, below) - sign * zeta_above_(s, 1 - q);                    \
    }                                                                                                                  \
    KN_FN double polygamma_(double n, double x)                                                                        \
    {                                                                                                                  \
        if (!(n >= 0 && n <= 170) || floor(n) != n) return (n - n) / (n - n);                                          \
        if (n == 0) return digamma_(x);                                                                                \
        const double sign = floor(n / 2) * 2 == n ? -1 : 1;                                                            \
        if (!(x > 1e3)) return sign * tgamma_(n + 1) * zeta_(n + 1, x);                                                \
        /* Far out the power alone may be too small. */                                                                \
        const double half = pow(x, -n / 2), u = 1 / x, v = u * u;                                                      \
        double factor = (n + 1) * v, all = 1 / n + u / 2 + factor / 12;                                                \
        factor *= (n + 2) * (n + 3) * v; all -= factor / 720;                                                          \
        factor *= (n + 4) * (n + 5) * v; all += factor / 30240;                                                        \
        factor *= (n + 6) * (n + 7) * v; all -= factor / 1209600;                                                      \
        return x - x != 0 ? sign * 0 : sign * half * tgamma_(n + 1) * all * half;                                      \
    }                                                                                                                  \
    /* By Bartky's transformation, all of whose terms are positive (Bulirsch, Numerical calculation of elliptic           \
       integrals and elliptic functions III, Numerische Mathematik 13, 1969); far below 0 of m / (m - 1). */              \
    KN_FN double elliptic_(double m, int second)                                                                       \
    {                                                                                                                  \
        const double pi = 3.14159265358979323846;                                                                      \
        const double root = sqrt(1 - m), scale = m < -1e99 ? (second ? root : 1 / root) : 1;                           \
        double k = scale == 1 ? root : 1 / root, e = k, a = 1, b = second ? k * k : 1, p = 1, n = 1;                   \
        if (!(m < 1)) return m == 1 ? (second ? 1 : 1 / (1 - m)) : (m - m) / (m - m);                                  \
        if (m - m != 0) return second ? -m : 0;                                                                        \
        for (int i = 0; i < 40; i++) {                                                                                 \
            const double before = a, g = e / p, last = n;                                                              \
            a += b / p;                                                                                                \
            b = 2 * (b + before * g);                                                                                  \
            p += g;                                                                                                    \
            n += k;                                                                                                    \
            if (fabs(last - k) <= 0x1p-27 * last) break;                                                               \
            k = 2 * sqrt(e);                                                                                           \
            e = k * n;                                                                                                 \
        }                                                                                                              \
        return scale * (pi / 2 * (b + a * n) / (n * (n + p)));                                                         \
    }                                                                                                                  \
    /* The integral of exp(-x t) / t^n over t from 1 on: by its series up to 1, above by the continued fraction. */    \
    KN_FN double expn_(double n, double x)                                                                             \
    {                                                                                                                  \
        if (!(n >= 0 && x >= 0) || floor(n) != n || n - n != 0) return (x - x) / (x - x);                              \
        if (x == 0) return n > 1 ? 1 / (n - 1) : 1 / fabs(x);                                                          \
        if (n == 0) return exp_(-x) / x;                                                                               \
        if (x > 1) {                                                                                                   \
            double t = 0;                                                                                              \
            if (x > 800) return 0;                                                                                     \
            for (int i = 20 + (int)(100 / x); i > 0; i--) t = i * (n - 1 + i) / (x + n + 2 * i - t);                   \
            return exp_(-x) / (x + n - t);                                                                             \
        }                                                                                                              \
        double term = 1, psi = -0.57721566490153286061, sum = n == 1 ? psi - log_(x) : 1 / (n - 1);                    \
        for (int i = 1; i < 24; i++) {                                                                                 \
            term *= -x / i;                                                                                            \
            psi += 1.0 / i; /* of i + 1 */                                                                             \
            sum += i == n - 1 ? term * (psi - log_(x)) : -term / (i - (n - 1));                                        \
        }                                                                                                              \
        return sum;                                                                                                    \
    }                                                                                                                  \
    /* Whole numbers that a double holds come exactly. */                                                              \
    KN_FN double factorial_(double n)                                                                                  \
    {                                                                                                                  \
        double v = 1;                                                                                                  \
        if (n < 0) return 0;                                                                                           \
        if (!(n <= 22) || floor(n) != n) return n > 1 ? n * tgamma_(n) : tgamma_(n + 1);                               \
        for (int i = 2; i <= (int)n; i++) v *= i;                                                                      \
        return v;                                                                                                      \
    }                                                                                                                  \
    KN_FN double comb_(double n, double k)                                                                             \
    {                                                                                                                  \
        const double least = floor(n) == n && n - k < k ? n - k : k;                                                   \
        double v = 1;                                                                                                  \
        if (n != n || k != k || k - k != 0) return (n - n) / (n - n);                                                  \
        if (k < 0 || n < 0 || k > n) return 0;                                                                         \
        if (floor(least) != least || least > 40) return 1 / ((n + 1) * beta_(n - k + 1, k + 1));                       \
        for (int i = 1; i <= (int)least; i++) v = v < 1e280 ? v * (n - least + i) / i : v / i * (n - least + i);       \
        return v;                                                                                                      \
    }
/* clang-format on */

#endif
