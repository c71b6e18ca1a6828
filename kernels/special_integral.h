/* Incomplete elliptic integrals, and the integrals of sines and cosines over their argument: for both languages,
 * computed in double, as special.h has others. Polynomials are ours, through Chebyshev's points, with errors of 2^-55.
 * lang/topics.c says how near they are. */
#ifndef KN_SPECIAL_INTEGRAL_H
#define KN_SPECIAL_INTEGRAL_H

/* clang-format off */
#define KN_INTEGRAL_FUNCTIONS()                                                                                        \
    /* f times Carlson's RF(x, y, z) and d times his RD(x, y, z), by doubling (Numerical computation of real or        \
       complex elliptic integrals, Numerical Algorithms 10, 1995). */                                                  \
    KN_APART double carlson_(double x, double y, double z, double f, double d)                                         \
    {                                                                                                                  \
        double sum = 0, part = 1;                                                                                      \
        for (int i = 0; i < 60; i++) {                                                                                 \
            const double mean = x / 3 + y / 3 + z / 3, near = 0.003 * mean;                                            \
            if (fabs(x - mean) < near && fabs(y - mean) < near && fabs(z - mean) < near) break;                        \
            const double p = sqrt(x), q = sqrt(y), r = sqrt(z), all = p * q + p * r + q * r;                           \
            sum += part / (r * (z + all));                                                                             \
            part *= 0.25;                                                                                              \
            x = 0.25 * x + 0.25 * all;                                                                                 \
            y = 0.25 * y + 0.25 * all;                                                                                 \
            z = 0.25 * z + 0.25 * all;                                                                                 \
        }                                                                                                              \
        const double mean = x / 3 + y / 3 + z / 3, a = 1 - x / mean, b = 1 - y / mean, c = -(a + b);                   \
        const double two = a * b - c * c, three = a * b * c;                                                           \
        const double first = 1 - two / 10 + three / 14 + two * two / 24 - two * three * 3 / 44;                        \
        if (d == 0) return f * first / sqrt(mean);                                                                     \
        const double heavy = x / 5 + y / 5 + z * 0.6, g = 1 - x / heavy, h = 1 - y / heavy, e = -(g + h) / 3;          \
        const double gh = g * h, ee = e * e, s = gh - 6 * ee, t = (3 * gh - 8 * ee) * e, u = 3 * (gh - ee) * ee;       \
        const double v = gh * ee * e;                                                                                  \
        const double second = 1 - s * 3 / 14 + t / 6 + s * s * 9 / 88 - u * 3 / 22 - s * t * 9 / 52 + v * 3 / 26;      \
        return f * first / sqrt(mean) + d * (3 * sum + part * second / (heavy * sqrt(heavy)));                         \
    }                                                                                                                  \
    /* Up to phi, of either kind: what of it is no multiple of pi by Carlson's integrals in a form whose parts have    \
       one sign (Digital Library of Mathematical Functions, 19.25), and as many times twice the complete one. */       \
    KN_FN double incomplete_(double phi, double m, int second)                                                         \
    {                                                                                                                  \
        const double pi = 3.14159265358979323846, left = 1.2246467991473532e-16;                                       \
        if (!(m <= 1) || phi != phi) return (m - m) / (m - m) + phi;                                                   \
        if (phi == 0 || phi - phi != 0) return second || m - m == 0 ? phi : phi * 0;                                   \
        if (m - m != 0) return second ? phi * fabs(m) : phi * 0;                                                       \
        if (fabs(phi) > 1e15) return phi * (elliptic_(m, second) / (pi / 2));                                          \
        const double n = rint(phi / pi), t = n * pi, off = phi - t, lost = -(fma(n, pi, -t) + n * left), k = 1 - m;    \
        const double angle = off + lost, rest = (off - angle) + lost; /* whose cosine may be near 0 */                 \
        const double s = sin(angle), c = cos(angle) - rest * s, cc = c * c, q = cc + k * s * s, e = m * s * s / 3;     \
        const double part = !second ? carlson_(cc, q, 1, 1, 0)                                                         \
                          : m <= 0  ? carlson_(cc, q, 1, 1, -e)                                                        \
                                    : carlson_(cc, 1, q, k, k * e) + m * fabs(c) / sqrt(q);                            \
        return n == 0 ? s * part : 2 * n * elliptic_(m, second) + s * part;                                            \
    }                                                                                                                  \
    /* What the integrals of x > 2 are made of beside a sine and a cosine. */                                          \
    KN_FN double turning_first_(double x)                                                                              \
    {                                                                                                                  \
        const double u = 1 - 14 / (x + 5);                                                                             \
        double p = -1.8428455666812275e-09; p = p * u + 3.4059546818962263e-09; p = p * u + 5.799734739905922e-09;     \
        p = p * u - 9.334660464246058e-09; p = p * u - 1.919429782632989e-08; p = p * u + 3.1595736942494906e-08;      \
        p = p * u + 5.366027292262812e-10; p = p * u + 9.710930207074888e-09; p = p * u - 9.722102969988589e-08;       \
        p = p * u + 1.9793066416642135e-07; p = p * u - 3.471732404110212e-07; p = p * u + 7.871617533735679e-07;      \
        p = p * u - 1.7153233992411304e-06; p = p * u + 3.766610752577524e-06; p = p * u - 8.636196141917105e-06;      \
        p = p * u + 1.8973792420774885e-05; p = p * u - 4.511673911125276e-05; p = p * u + 0.00010655569177127707;     \
        p = p * u - 0.00025092789361672415; p = p * u + 0.0006531915511539078; p = p * u - 0.0016381954155689274;      \
        p = p * u + 0.0042447172955955206; p = p * u - 0.012840952872881091; p = p * u + 0.034699443239788824;         \
        p = p * u - 0.06429566049482414; p = p * u + 0.06125134275395435; p = p * u + 0.9781026526248032;              \
        return p / x;                                                                                                  \
    }                                                                                                                  \
    KN_FN double turning_second_(double x)                                                                             \
    {                                                                                                                  \
        const double u = 1 - 14 / (x + 5);                                                                             \
        double p = 2.0549999802192376e-09; p = p * u - 2.0072000050535105e-09; p = p * u - 5.124711715066752e-09;      \
        p = p * u + 4.040111641417165e-09; p = p * u + 1.0616799702274082e-08; p = p * u - 2.9310552644169995e-08;     \
        p = p * u + 6.157370972783064e-09; p = p * u - 9.859481180458385e-10; p = p * u + 1.0744460719650993e-07;      \
        p = p * u - 1.1685963752639163e-07; p = p * u + 3.853765474779097e-07; p = p * u - 6.330191011307484e-07;      \
        p = p * u + 1.1928054509123226e-06; p = p * u - 3.891995109872648e-06; p = p * u + 4.857846805289876e-06;      \
        p = p * u - 1.5885571042086936e-05; p = p * u + 3.429766203034861e-05; p = p * u - 4.634742950187023e-05;      \
        p = p * u + 0.00019200202803311363; p = p * u - 0.00026035750926670884; p = p * u + 0.00019395981068514543;    \
        p = p * u - 0.001716865512650429; p = p * u - 0.003982086844659028; p = p * u + 0.05153594447966439;           \
        p = p * u - 0.1460809131851273; p = p * u + 0.16141757560556955; p = p * u + 0.9387267894258328;               \
        return p / x / x;                                                                                              \
    }                                                                                                                  \
    KN_FN double sinint_(double x)                                                                                     \
    {                                                                                                                  \
        const double size = fabs(x), z = x * x, half = 1.57079632679489661923;                                         \
        double sum = 0;                                                                                                \
        if (size > 1e18) return copysign(half, x);                                                                     \
        if (size > 2) return copysign(half - turning_first_(size) * cos(size) - turning_second_(size) * sin(size), x); \
        for (int k = 12; k >= 0; k--) sum = 1.0 / (2 * k + 1) - z / ((2 * k + 2) * (2 * k + 3)) * sum;                 \
        return x * sum;                                                                                                \
    }                                                                                                                  \
    KN_FN double cosint_(double x)                                                                                     \
    {                                                                                                                  \
        const double size = fabs(x), z = x * x;                                                                        \
        double sum = 0;                                                                                                \
        if (size - size != 0) return size > 0 ? 0 : x;                                                                 \
        if (size > 2) return turning_first_(size) * sin(size) - turning_second_(size) * cos(size);                     \
        for (int k = 12; k > 0; k--) sum = 0.5 / k - z / ((2 * k + 1) * (2 * k + 2)) * sum;                            \
        return 0.57721566490153286061 + log_(size) - z / 2 * sum;                                                      \
    }
/* clang-format on */

#endif
