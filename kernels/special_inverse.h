/* The inverses of the incomplete gamma and beta functions, and Lambert's W: for both languages, computed in double, as
 * special.h has others. lang/topics.c says how near they are. */
#ifndef KN_SPECIAL_INVERSE_H
#define KN_SPECIAL_INVERSE_H

/* clang-format off */
#define KN_INVERSE_FUNCTIONS()                                                                                         \
    /* The logarithm of x / y, exact where that is near 1. */                                                          \
    KN_FN double log_over_(double x, double y)                                                                         \
    {                                                                                                                  \
        const double r = (x - y) / y;                                                                                  \
        return r > -0.5 && r < 1 ? log1p(r) : log_(x / y);                                                             \
    }                                                                                                                  \
    /* Halley's step along the logarithm of x, or of x / (1 - x), to where the part v of a density becomes p: the      \
       logarithm of v has the slope s, that of the density `bend`. The former bends down everywhere, so that even      \
       Newton's steps lead there from anywhere. */                                                                     \
    KN_FN double part_step_(double v, double p, double s, double bend)                                                 \
    {                                                                                                                  \
        const double step = log_over_(v, p) / s, off = 1 - 0.5 * step * (bend - s);                                    \
        return step / (off > 0.5 ? off < 2 ? off : 2 : 0.5);                                                           \
    }                                                                                                                  \
    /* Where to begin: by Wilson and Hilferty's approximation, or where the first term of the series is near. */       \
    KN_FN double gamma_begin_(double a, double p, double q)                                                            \
    {                                                                                                                  \
        const double l = p < 0.5 ? log_(p) : log1p(-q), first = exp_((l + lgamma_(a + 1)) / a), t = 1 / (9 * a);       \
        if (first < 0.2 * (a + 1)) return first * (1 + first / (a + 1));                                               \
        if (a > 0.5) {                                                                                                 \
            const double z = p < q ? ndtri_(p) : -ndtri_(q), w = 1 - t + z * sqrt(t);                                  \
            if (w > 0.2) return a * w * w * w;                                                                         \
        }                                                                                                              \
        const double far = -log_(q) - lgamma_(a);                                                                      \
        if (q < 0.1 && far > 1) return far + (a - 1) * log_(far);                                                      \
        return first < a + 1 ? first : a + 1;                                                                          \
    }                                                                                                                  \
    /* The x of which the part of the gamma distribution below is p, and that above q = 1 - p. */                      \
    KN_APART double gamma_at_(double a, double p, double q)                                                            \
    {                                                                                                                  \
        const int upper = p > q;                                                                                       \
        double x = gamma_begin_(a, p, q);                                                                              \
        if (x < 1e-20 || a > 1e14) return x;                                                                           \
        for (int i = 0; i < 60; i++) {                                                                                 \
            const double v = gamma_part_(a, x, upper), s = v > 0 ? gamma_weight_(a, x) * a / v : 1e20;                 \
            const double lost = (upper ? 1 : -1) / sqrt(a + 1);                                                        \
            const double step = v > 0 ? part_step_(v, upper ? q : p, upper ? -s : s, a - x) : lost;                    \
            x *= fabs(step) < 2 ? exp_(-step) : step < 0 ? 7 : 1.0 / 7;                                                \
            if (!(fabs(step) * (1 + s) > 1e-5)) break;                                                                 \
        }                                                                                                              \
        return x;                                                                                                      \
    }                                                                                                                  \
    KN_FN double gamma_inverse_(double a, double p, int upper)                                                         \
    {                                                                                                                  \
        if (!(a >= 0 && p >= 0 && p <= 1) || a - a != 0) return (p - p) / (p - p) + 0 * a;                             \
        if (p == (upper ? 1 : 0) || a == 0) return 0;                                                                  \
        if (p == (upper ? 0 : 1)) return 1 / fabs(p - p);                                                              \
        return upper ? gamma_at_(a, 1 - p, p) : gamma_at_(a, p, 1 - p);                                                \
    }                                                                                                                  \
    /* Where to begin, as x / (1 - x): by the first term of the series on either side, or as if it were normal         \
       (Abramowitz and Stegun, 26.5.22). */                                                                            \
    KN_FN double beta_begin_(double a, double b, double p, double q)                                                   \
    {                                                                                                                  \
        const double l = betaln_(a, b), n = a + b;                                                                     \
        const double low = exp_((log_(p * a) + l) / a), high = exp_((log_(q * b) + l) / b);                            \
        if (low * (n + 1) < 0.3 * (a + 1)) return low / (1 - low);                                                     \
        if (high * (n + 1) < 0.3 * (b + 1)) return (1 - high) / high;                                                  \
        if (a > 1 && b > 1) {                                                                                          \
            const double z = p < q ? -ndtri_(p) : ndtri_(q), t = (z * z - 3) / 6;                                      \
            const double r = 1 / (2 * a - 1), s = 1 / (2 * b - 1), h = 2 / (r + s);                                    \
            const double root = sqrt(t + h > 0 ? t + h : 0);                                                           \
            const double w = z * root / h - (s - r) * (t + 5.0 / 6 - 2 / (3 * h));                                     \
            if (fabs(w) < 100) return a / b * exp_(-2 * w);                                                            \
        }                                                                                                              \
        const double below = exp_(-a * log1p(b / a)) / a, above = exp_(-b * log1p(a / b)) / b, part = below + above;   \
        const double first = p < below / part ? exp_(log_(a * part * p) / a) : 1 - exp_(log_(b * part * q) / b);       \
        return first / (1 - first);                                                                                    \
    }                                                                                                                  \
    KN_APART double beta_at_(double a, double b, double p, double q)                                                   \
    {                                                                                                                  \
        const int upper = p > q;                                                                                       \
        double r = beta_begin_(a, b, p, q), x = r / (1 + r);                                                           \
        if (r < 1e-290 || r > 1e290) return r < 1 ? r : 1;                                                             \
        for (int i = 0; i < 60; i++) {                                                                                 \
            const double y = 1 / (1 + r), off = x < y ? a - (a + b) * x : (a + b) * y - b;                             \
            const double v = beta_part_(a, b, x, y, upper), s = v > 0 ? beta_weight_(a, b, x, y, off) / v : 1e20;      \
            const double lost = (upper ? 1 : -1) / sqrt((a < b ? a : b) + 1);                                          \
            const double step = v > 0 ? part_step_(v, upper ? q : p, upper ? -s : s, off) : lost;                      \
            r *= fabs(step) < 2 ? exp_(-step) : step < 0 ? 7 : 1.0 / 7;                                                \
            x = r / (1 + r);                                                                                           \
            if (!(fabs(step) * (1 + s) > 1e-5)) break;                                                                 \
        }                                                                                                              \
        return x;                                                                                                      \
    }                                                                                                                  \
    KN_FN double beta_inverse_(double a, double b, double p)                                                           \
    {                                                                                                                  \
        if (!(a > 0 && b > 0 && a + b <= 1e10 && p >= 0 && p <= 1)) return (p - p) / (p - p);                          \
        return p == 0 || p == 1 ? p + 0 : beta_at_(a, b, p, 1 - p);                                                    \
    }                                                                                                                  \
    /* The w of which w exp(w) is x: beside -1 / e by the series over the root of 2 (e x + 1), elsewhere by some steps \
       of Fritsch, Shafer and Crowley (Algorithm 443, Communications of the ACM 16, 1973). */                          \
    KN_FN double lambert_near_(double p)                                                                               \
    {                                                                                                                  \
        double w = 1.7790345805079586e-05; w = w * p - 2.63380647472311e-05; w = w * p + 3.907668486743905e-05;        \
        w = w * p - 5.811360750441382e-05; w = w * p + 8.665035805208128e-05; w = w * p - 0.00012957426685274883;      \
        w = w * p + 0.00019438727605453933; w = w * p - 0.00029267722472962746; w = w * p + 0.0004424730618146209;     \
        w = w * p - 0.0006720616311561362; w = w * p + 0.0010262633205076071; w = w * p - 0.0015769303446867841;       \
        w = w * p + 0.0024408779911439826; w = w * p - 0.0038112980348919993; w = w * p + 0.006014543252956118;        \
        w = w * p - 0.009616892024299432; w = w * p + 0.01563563253233392; w = w * p - 0.02598471487360376;            \
        w = w * p + 0.044502314814814814; w = w * p - 0.07962962962962963; w = w * p + 0.1527777777777778;             \
        w = w * p - 0.3333333333333333; w = w * p + 1.0; w = w * p - 1.0;                                              \
        return w;                                                                                                      \
    }                                                                                                                  \
    KN_FN double lambertw_(double x, double k)                                                                         \
    {                                                                                                                  \
        const double off = 2 * (fma(x, 2.718281828459045, 1.0) + x * 1.4456468917292502e-16);                          \
        const double root = sqrt(off > 0 ? off : 0);                                                                   \
        double w, z = 1;                                                                                               \
        if (!(off > -4e-16) || !(k == 0 || (k == -1 && x <= 0))) return (x - x) / (x - x) + 0 * k;                     \
        if (x == 0 || x - x != 0) return k == 0 ? x : -1 / fabs(x);                                                    \
        if (root < 0.3) return lambert_near_(k == 0 ? root : -root);                                                   \
        if (k == 0) { /* Winitzki's approximation */                                                                   \
            const double l = log1p(x);                                                                                 \
            w = l * (1 - log1p(l) / (2 + l));                                                                          \
        } else { /* that of Barry and others (Mathematics and Computers in Simulation 53, 2000) */                     \
            const double s = -1 - log_(-x), t = sqrt(s), u = 0.3361 * t * 0.70710678118654752440;                      \
            w = -1 - s - 5.9506099375 * (1 - 1 / (1 + u / (1 - 0.0042 * s * exp_(-0.0201 * t))));                      \
        }                                                                                                              \
        for (int i = 0; i < 4 && fabs(z) > 1e-4; i++) {                                                                \
            z = log_over_(x, w) - w;                                                                                   \
            const double a = 1 + w, q = 2 * a * (a + z * (2.0 / 3));                                                   \
            w *= 1 + z / a * (q - z) / (q - 2 * z);                                                                    \
        }                                                                                                              \
        return w;                                                                                                      \
    }
/* clang-format on */

#endif
