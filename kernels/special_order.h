/* Bessel functions of any real order: for both languages, computed in double, as special.h has others. Series,
 * integrals and fractions give those of two low orders, from which one comes to the order that is asked for in steps
 * of 1. lang/topics.c says how near they are. */
#ifndef KN_SPECIAL_ORDER_H
#define KN_SPECIAL_ORDER_H

/* clang-format off */
#define KN_ORDER_FUNCTIONS()                                                                                           \
    /* The cosine and the sine of pi v, exactly 0 where they are. */                                                   \
    KN_FN double cos_pi_(double v)                                                                                     \
    {                                                                                                                  \
        return sin(3.14159265358979323846 * (0.5 - fabs(v - 2 * rint(v / 2))));                                        \
    }                                                                                                                  \
    KN_FN double sin_pi_(double v)                                                                                     \
    {                                                                                                                  \
        const double r = v - 2 * rint(v / 2);                                                                          \
        return sin(3.14159265358979323846 * (fabs(r) > 0.5 ? copysign(1 - fabs(r), r) : r));                           \
    }                                                                                                                  \
    /* Half the sum of 1 / gamma(1 + m) and 1 / gamma(1 - m), and half their difference over m, of s = m^2. */         \
    KN_FN double inverse_gammas_(double s)                                                                             \
    {                                                                                                                  \
        double p = -3.696805618642206e-12; p = p * s + 1.0434267116911005e-10; p = p * s + 5.002007644469223e-09;      \
        p = p * s - 2.056338416977607e-07; p = p * s - 1.2504934821426706e-06; p = p * s + 0.0001280502823881162;      \
        p = p * s - 0.0011651675918590652; p = p * s - 0.009621971527876973; p = p * s + 0.16653861138229148;          \
        p = p * s - 0.6558780715202539; p = p * s + 1.0;                                                               \
        return p;                                                                                                      \
    }                                                                                                                  \
    KN_FN double inverse_gamma_slope_(double s)                                                                        \
    {                                                                                                                  \
        double p = 5.100370287454476e-13; p = p * s + 7.782263439905071e-12; p = p * s - 1.18127457048702e-09;         \
        p = p * s + 6.116095104481416e-09; p = p * s + 1.133027231981696e-06; p = p * s - 2.013485478078824e-05;       \
        p = p * s - 0.00021524167411495098; p = p * s + 0.0072189432466631; p = p * s - 0.04219773455554433;           \
        p = p * s - 0.04200263503409524; p = p * s + 0.5772156649015329;                                               \
        return p;                                                                                                      \
    }                                                                                                                  \
    /* J and Y of the order v by Hankel's expansion, of x from 20 and v^2 / 2 on. */                                   \
    KN_APART void bessel_hankel_(double v, double x, double *j, double *y)                                             \
    {                                                                                                                  \
        const double pi = 3.14159265358979323846, turn = v / 2 + 0.25, c = cos_pi_(turn), s = sin_pi_(turn);           \
        const double root = sqrt(2 / pi / x), cosine = cos(x) * c + sin(x) * s, sine = sin(x) * c - cos(x) * s;        \
        double p = 1, q = 0, term = 1;                                                                                 \
        for (int k = 1; k < 60 && fabs(term) > 0x1p-56; k++) {                                                         \
            term *= (v - (k - 0.5)) * (v + (k - 0.5)) / (2 * k * x);                                                   \
            if (k % 2) q += k % 4 == 1 ? term : -term;                                                                 \
            else p += k % 4 == 0 ? term : -term;                                                                       \
        }                                                                                                              \
        *j = root * (p * cosine - q * sine);                                                                           \
        *y = root * (p * sine + q * cosine);                                                                           \
    }                                                                                                                  \
    /* J(v) over J(v + 1) of v above x, or where `sign` is 1 I(v) over I(v + 1), by the continued fraction. */         \
    KN_APART double bessel_quotient_(double v, double x, double sign)                                                  \
    {                                                                                                                  \
        const int steps = 20 + (int)(sign > 0 ? 8 * sqrt(x) : 10 * cbrt(x));                                           \
        double f = 2 * (v + steps + 1) / x;                                                                            \
        for (int k = steps; k > 0; k--) f = 2 * (v + k) / x + sign / f;                                                \
        return f;                                                                                                      \
    }                                                                                                                  \
    /* -pi / 2 times Y of the orders m and m + 1, m from -1/2 to 1/2, of x < 2, or where `sign` is 1 K of them: by     \
       Temme's series (On the numerical evaluation of the ordinary Bessel function of the second kind, Journal of      \
       Computational Physics 19, 1975). */                                                                             \
    KN_APART void bessel_series_(double m, double x, double sign, double *first, double *next)                         \
    {                                                                                                                  \
        const double pi = 3.14159265358979323846, l = -log_(x / 2), e = m * l, power = exp_(e), t = sign * x * x / 4;  \
        const double even = inverse_gammas_(m * m), odd = inverse_gamma_slope_(m * m), half = sin(pi * m / 2);         \
        const double sine = m == 0 ? 1 : pi * m / sin(pi * m), high = e == 0 ? 1 : sinh(e) / e;                        \
        const double turn = m == 0 || sign > 0 ? 0 : 2 * half / m * half;                                              \
        double f = sine * (even * high * l - odd * cosh(e)), p = power / (2 * (even + m * odd));                       \
        double q = 1 / (2 * power * (even - m * odd)), weight = 1, sum = f + turn * q, sum_next = p, term = sum;       \
        for (int k = 1; k < 60 && !(k > 3 && fabs(term) < 0x1p-56 * fabs(sum)); k++) {                                 \
            f = (k * f + p + q) / ((k - m) * (k + m));                                                                 \
            p /= k - m;                                                                                                \
            q /= k + m;                                                                                                \
            weight *= t / k;                                                                                           \
            term = weight * (f + turn * q);                                                                            \
            sum += term;                                                                                               \
            sum_next += weight * p - k * term;                                                                         \
        }                                                                                                              \
        *first = sum;                                                                                                  \
        *next = sum_next * 2 / x;                                                                                      \
    }                                                                                                                  \
    /* J and Y of the orders m and m + 1, m from -1/2 to 1/2, of x from 2 to 20: the logarithmic derivative p + i q of \
       J + i Y by Steed's continued fraction, and what J Y' - Y J' is, 2 / (pi x) (Barnett, Feng, Steed and Goldfarb,  \
       Coulomb wave functions for all real eta and rho, Computer Physics Communications 8, 1974). */                   \
    KN_APART void bessel_steed_(double m, double x, double *j, double *j_next, double *y, double *y_next)              \
    {                                                                                                                  \
        double real = 0, imag = 0, one = 1e-300, next = 0;                                                             \
        for (int k = 20 + (int)(x + 10 * cbrt(x)); k > 0; k--) {                                                       \
            const double last = next;                                                                                  \
            next = one;                                                                                                \
            one = 2 * (m + k) / x * next - last;                                                                       \
        }                                                                                                              \
        const double great = fabs(one) + fabs(next);                                                                   \
        one /= great, next /= great;                                                                                   \
        for (int k = 8 + (int)(64 / x); k > 0; k--) {                                                                  \
            const double a = (k - 0.5 - m) * (k - 0.5 + m), b = 2 * x + real, c = 2 * k + imag;                        \
            const double scale = a / (b * b + c * c);                                                                  \
            real = scale * b;                                                                                          \
            imag = -scale * c;                                                                                         \
        }                                                                                                              \
        const double p = -(imag + 0.5) / x, q = 1 + real / x, off = p * one - (m / x * one - next);                    \
        const double near = x - 3.14159265358979323846 * (m / 2 + 0.25);                                               \
        double size = sqrt(0.63661977236758134308 / x / (off * off / q + q * one * one));                              \
        if (one * cos(near) + off / q * sin(near) < 0) size = -size;                                                   \
        *j = one * size;                                                                                               \
        *j_next = next * size;                                                                                         \
        *y = off / q * size;                                                                                           \
        *y_next = (m / x - p) * *y - q * *j;                                                                           \
    }                                                                                                                  \
    /* J times `first` and Y times `second`, of v from 0 on and x above 0. Both may be followed up to the order x, Y   \
       beyond that, where J is what Y leaves it by J(v + 1) Y(v) - J(v) Y(v + 1) = 2 / (pi x). */                      \
    KN_APART double bessel_sum_(double v, double x, double first, double second)                                       \
    {                                                                                                                  \
        const double over = 0.63661977236758134308, n = rint(v), m = v - n;                                            \
        double j = 0, y, j_next = 0, y_next, k = 1;                                                                    \
        if (x >= 20 && 2 * x >= v * v) {                                                                               \
            bessel_hankel_(v, x, &j, &y);                                                                              \
            return first * j + second * y;                                                                             \
        }                                                                                                              \
        if (x < 2) {                                                                                                   \
            bessel_series_(m, x, -1, &y, &y_next);                                                                     \
            y *= -over, y_next *= -over;                                                                               \
        } else if (x < 20) {                                                                                           \
            bessel_steed_(m, x, &j, &j_next, &y, &y_next);                                                             \
        } else {                                                                                                       \
            bessel_hankel_(m, x, &j, &y);                                                                              \
            bessel_hankel_(m + 1, x, &j_next, &y_next);                                                                \
        }                                                                                                              \
        for (; k <= n && y_next - y_next == 0; k++) {                                                                  \
            const double by = 2 * (m + k) / x, y_last = y, j_last = j;                                                 \
            y = y_next, y_next = by * y - y_last;                                                                      \
            j = j_next, j_next = by * j - j_last;                                                                      \
        }                                                                                                              \
        if (k <= n) y = y_next;                                                                                        \
        if (x < 2 || v > x) j = k <= n ? 0 : over / x / (y / bessel_quotient_(v, x, -1) - y_next);                     \
        return (first == 0 ? 0 : first * j) + (second == 0 ? 0 : second * y);                                          \
    }                                                                                                                  \
    /* J, or Y, of orders to a million. */                                                                             \
    KN_FN double bessel_of_(double v, double x, int second)                                                            \
    {                                                                                                                  \
        const double size = fabs(x), order = fabs(v), whole = rint(v) == v, even = rint(v / 2) * 2 == v;               \
        if (!(order <= 1e6) || x != x || (x < 0 && (second || !whole))) return (v - v) / (v - v) + (x - x) / (x - x);  \
        const double sign = (x < 0 || (second && x == 0)) && !even ? -1 : 1;                                           \
        if (size - size != 0) return 0;                                                                                \
        if (v >= 0) {                                                                                                  \
            if (size == 0) return second ? -1 / size : v == 0;                                                         \
            return sign * bessel_sum_(v, size, !second, second);                                                       \
        }                                                                                                              \
        const double c = cos_pi_(v), s = -sin_pi_(v), j = second ? s : c, y = second ? c : -s;                         \
        if (size == 0) return y == 0 ? 0 : -y / size;                                                                  \
        return sign * bessel_sum_(order, size, j, y);                                                                  \
    }                                                                                                                  \
    /* exp(x) K of the orders m and m + 1, m from -1/2 to 1/2, of x from 1 on: the integral of exp(-x (cosh(t) - 1))   \
       cosh(m t) over t from 0 on, by trapezoids, which are exact to all digits where they are narrow. */              \
    KN_APART void modified_trapezoids_(double m, double x, double *first, double *next)                                \
    {                                                                                                                  \
        const double step = x > 16 ? 0.7 / sqrt(x) : 9.87 / (40 + x), up = exp_(step), turn = exp_(m * step);          \
        double e = 1, f = 1, weight = 1, sum = 0.5, sum_next = 0.5;                                                    \
        while (weight > 0x1p-60) {                                                                                     \
            e *= up, f *= turn;                                                                                        \
            const double g = 1 / e, h = 1 / f;                                                                         \
            weight = exp_(-x * ((e - 1) * (e - 1) * g / 2));                                                           \
            sum += weight * (f + h) / 2;                                                                               \
            sum_next += weight * (f * e + h * g) / 2;                                                                  \
        }                                                                                                              \
        *first = step * sum;                                                                                           \
        *next = step * sum_next;                                                                                       \
    }                                                                                                                  \
    /* I, or K, of v from 60 on by Debye's expansion: times exp(-x), or exp(x), where `by` is 0; elsewhere it is 1. */ \
    KN_APART double modified_far_(double v, double x, int second, double by)                                           \
    {                                                                                                                  \
        const double z = x / v, root = hypot(1.0, z), p = 1 / root, s = p * p, sign = second ? -1 : 1;                 \
        const double e = sign * (v / (root + z) - v * asinh(1 / z) + by * x);                                          \
        double t = 1, sum = 1;                                                                                         \
        double u = -0.20833333333333334; u = u * s + 0.125;                                                            \
        t *= p / v; sum += sign * u * t;                                                                               \
        u = 0.3342013888888889; u = u * s - 0.4010416666666667; u = u * s + 0.0703125;                                 \
        t *= p / v; sum += u * t;                                                                                      \
        u = -1.0258125964506173; u = u * s + 1.8464626736111112; u = u * s - 0.8912109375; u = u * s + 0.0732421875;   \
        t *= p / v; sum += sign * u * t;                                                                               \
        u = 4.669584423426247; u = u * s - 11.207002616222994; u = u * s + 8.78912353515625;                           \
        u = u * s - 2.3640869140625; u = u * s + 0.112152099609375;                                                    \
        t *= p / v; sum += u * t;                                                                                      \
        u = -28.212072558200244; u = u * s + 84.63621767460073; u = u * s - 91.81824154324002;                         \
        u = u * s + 42.53499874538846; u = u * s - 7.368794359479632; u = u * s + 0.22710800170898438;                 \
        t *= p / v; sum += sign * u * t;                                                                               \
        u = 212.57013003921713; u = u * s - 765.2524681411817; u = u * s + 1059.9904525279999;                         \
        u = u * s - 699.5796273761325; u = u * s + 218.1905117442116; u = u * s - 26.491430486951554;                  \
        u = u * s + 0.5725014209747314;                                                                                \
        t *= p / v; sum += u * t;                                                                                      \
        u = -1919.457662318407; u = u * s + 8061.722181737309; u = u * s - 13586.550006434138;                         \
        u = u * s + 11655.393336864534; u = u * s - 5305.646978613403; u = u * s + 1200.9029132163525;                 \
        u = u * s - 108.09091978839466; u = u * s + 1.7277275025844574;                                                \
        t *= p / v; sum += sign * u * t;                                                                               \
        u = 20204.29133096615; u = u * s - 96980.59838863752; u = u * s + 192547.00123253153;                          \
        u = u * s - 203400.17728041555; u = u * s + 122200.46498301746; u = u * s - 41192.65496889755;                 \
        u = u * s + 7109.514302489364; u = u * s - 493.915304773088; u = u * s + 6.074042001273483;                    \
        t *= p / v; sum += u * t;                                                                                      \
        const double size = sum * sqrt(p / v * (second ? 1.5707963267948966192 : 0.15915494309189533577));             \
        return exp_(e / 2) * size * exp_(e / 2);                                                                       \
    }                                                                                                                  \
    /* The same of any order v from 0 on and x above 0. */                                                             \
    KN_APART double modified_of_(double v, double x, int second, double by)                                            \
    {                                                                                                                  \
        const double n = rint(v), m = v - n;                                                                           \
        double low, next, i;                                                                                           \
        if (v >= 60) return modified_far_(v, x, second, by);                                                           \
        if (x >= 25 && 2 * x >= v * v) {                                                                               \
            double sum = 1, term = 1;                                                                                  \
            for (int k = 1; k < 60 && fabs(term) > 0x1p-56; k++) {                                                     \
                term *= (second ? 1 : -1) * (v - (k - 0.5)) * (v + (k - 0.5)) / (2 * k * x);                           \
                sum += term;                                                                                           \
            }                                                                                                          \
            sum /= sqrt(x) * (second ? 0.79788456080286535588 : 2.5066282746310005024);                                \
            return by == 0 ? sum : falling_(second ? x : -x, sum);                                                     \
        }                                                                                                              \
        if (x < 1) bessel_series_(m, x, 1, &low, &next);                                                               \
        else modified_trapezoids_(m, x, &low, &next);                                                                  \
        for (int order = 1; order <= n; order++) {                                                                     \
            const double last = low;                                                                                   \
            low = next, next = 2 * (m + order) / x * low + last;                                                       \
        }                                                                                                              \
        i = second ? low : 1 / (x * (next + low / bessel_quotient_(v, x, 1)));                                         \
        if (x < 1) return by == 0 ? i * exp_(second ? x : -x) : i;                                                     \
        return by == 0 ? i : falling_(second ? x : -x, i);                                                             \
    }                                                                                                                  \
    KN_FN double modified_i_(double v, double a, int scaled)                                                           \
    {                                                                                                                  \
        const double x = fabs(a), order = fabs(v), whole = rint(v) == v, s = v < 0 ? -sin_pi_(v) : 0;                  \
        if (a != a || v - v != 0 || (a < 0 && !whole)) return (v - v) / (v - v) + (a - a) / (a - a);                   \
        const double sign = a < 0 && rint(v / 2) * 2 != v ? -1 : 1;                                                    \
        if (x == 0) return v == 0 ? 1 : s == 0 ? 0 : s / x;                                                            \
        if (x - x != 0) return scaled ? 0 : sign * x;                                                                  \
        const double i = modified_of_(order, x, 0, !scaled);                                                           \
        if (s == 0) return sign * i;                                                                                   \
        return i + 0.63661977236758134308 * s * modified_of_(order, x, 1, 1) * (scaled ? exp_(-x) : 1);                \
    }                                                                                                                  \
    KN_FN double modified_k_(double v, double x, int scaled)                                                           \
    {                                                                                                                  \
        if (!(x > 0) || v - v != 0) return v - v == 0 ? pole_(x) : (v - v) / (v - v);                                  \
        return x - x != 0 ? 0 : modified_of_(fabs(v), x, 1, !scaled);                                                  \
    }
/* clang-format on */

#endif
