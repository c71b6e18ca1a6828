/* Functions of float64 that C computes value by value, whose loops have a step for a part of a block at a time, to the
 * same bits: the inverses of erfc and ndtr and the beta function by other rows' loops, the elliptic integrals by going
 * through their iteration together, Bessel functions by formulas for what is far out. Values that the steps are not for
 * stand as ones that they are for until the end, when they are computed by themselves. Those of float32 are computed as
 * float64. loops.c includes this behind loops_steps.h. */
#ifndef KN_LOOPS_SPECIAL_H
#define KN_LOOPS_SPECIAL_H

#include "kernels/loops_steps.h"
#include "kernels/math_bessel.h"

/* `fits` and `by_itself` are over x, the operand, and z, the second one; `steps` over arrays of them, of `part` values
 * each, and of y, into which it puts the results. */
#define SPECIAL(name, instead, fits, by_itself, steps)                                                                 \
    static void name##_part(double *to, const double *from, const double *other, size_t part)                          \
    {                                                                                                                  \
        double first[PART], second[PART], y[PART];                                                                     \
        int all = 1;                                                                                                   \
        for (size_t i = 0; i < part; i++) {                                                                            \
            const double x = from[i], z = other ? other[i] : 0;                                                        \
            (void)z;                                                                                                   \
            all &= fits;                                                                                               \
            first[i] = (fits) ? x : (instead);                                                                         \
            second[i] = (fits) ? z : (instead);                                                                        \
        }                                                                                                              \
        (void)second;                                                                                                  \
        steps;                                                                                                         \
        for (size_t i = 0; i < part && !all; i++) {                                                                    \
            const double x = from[i], z = other ? other[i] : 0;                                                        \
            (void)z;                                                                                                   \
            if (!(fits)) y[i] = by_itself;                                                                             \
        }                                                                                                              \
        memcpy(to, y, part * sizeof *to);                                                                              \
    }                                                                                                                  \
    BY_PARTS(name##_f64_parts, name##_part(to, from, other, part);)                                                    \
    static void name##_f32_parts(void *out, const void *pa, const void *pb, const void *pc, size_t n)                  \
    {                                                                                                                  \
        (void)pc;                                                                                                      \
        for (size_t begin = 0; begin < n; begin += PART) {                                                             \
            const size_t part = n - begin < PART ? n - begin : PART;                                                   \
            const float *from = (const float *)pa + begin, *other = pb ? (const float *)pb + begin : NULL;             \
            float *to = (float *)out + begin;                                                                          \
            double wide[PART], others[PART];                                                                           \
            EACH_OF(wide[i] = from[i])                                                                                 \
            EACH_OF(others[i] = other ? other[i] : 0)                                                                  \
            name##_part(wide, wide, other ? others : NULL, part);                                                      \
            EACH_OF(to[i] = (float)wide[i])                                                                            \
        }                                                                                                              \
    }

SPECIAL(erfcinv, 1, x > 0.25, erfcinv_(x), EACH_OF(y[i] = 1 - first[i]) ERFINV_F64(y, y, NULL, NULL, part))
SPECIAL(ndtri, 0.5, x > 0.125, ndtri_(x), EACH_OF(y[i] = 2 * first[i] - 1) ERFINV_F64(y, y, NULL, NULL, part);
        EACH_OF(y[i] *= 1.41421356237309504880))
#define ERFCINV_F64 erfcinv_f64_parts
#define ERFCINV_F32 erfcinv_f32_parts
#define NDTRI_F64   ndtri_f64_parts
#define NDTRI_F32   ndtri_f32_parts

/* The first way that beta_ has. */
static void beta_steps(double *y, const double *a, const double *b, size_t part)
{
    double n[PART], l[PART], g[PART], p[PART];
    EACH_OF(n[i] = a[i] + b[i]; p[i] = a[i] < b[i] ? a[i] : b[i]; g[i] = a[i] < b[i] ? b[i] : a[i])
    GAMMA_F64(p, p, NULL, NULL, part);
    GAMMA_F64(g, g, NULL, NULL, part);
    GAMMA_F64(y, n, NULL, NULL, part);
    LOG_F64(l, n, NULL, NULL, part);
    EACH_OF(const double low = a[i] < b[i] ? a[i] : b[i], high = a[i] < b[i] ? b[i] : a[i], v = p[i] * (g[i] / y[i]),
            lost = low - (n[i] - high);
            y[i] = n[i] > 2 ? v - v * lost * (l[i] - 0.5 / n[i]) : v)
}
SPECIAL(beta, 1, (x >= 0x1p-60) & (z >= 0x1p-60) & (x < 100) & (z < 100) & (x + z < 150), beta_(x, z),
        beta_steps(y, first, second, part))
#define BETA_F64 beta_f64_parts
#define BETA_F32 beta_f32_parts

/* The iteration of elliptic_, which ends for each value by itself. */
static void elliptic_steps(double *y, const double *m, int second, size_t part)
{
    double k[PART], e[PART], a[PART], b[PART], p[PART], n[PART];
    int64_t live[PART], some = 1;
    EACH_OF(k[i] = e[i] = sqrt(1 - m[i]); a[i] = p[i] = n[i] = 1; b[i] = second ? k[i] * k[i] : 1; live[i] = 1)
    for (int round = 0; round < 40 && some; round++) {
        some = 0;
        for (size_t i = 0; i < part; i++) {
            const double g = e[i] / p[i], sum = a[i] + b[i] / p[i], twice = 2 * (b[i] + a[i] * g), last = n[i];
            const int64_t on = live[i], more = on & !(fabs(last - k[i]) <= 0x1p-27 * last);
            a[i] = on ? sum : a[i];
            b[i] = on ? twice : b[i];
            p[i] = on ? p[i] + g : p[i];
            n[i] = on ? last + k[i] : last;
            k[i] = 2 * sqrt(e[i]);
            e[i] = k[i] * n[i];
            live[i] = more;
            some |= more;
        }
    }
    EACH_OF(y[i] = 1.57079632679489661923 * (b[i] + a[i] * n[i]) / (n[i] * (n[i] + p[i])))
}
#define ELLIPTIC(name, second)                                                                                         \
    SPECIAL(name, 0, (x < 1) & (x >= -1e99), elliptic_(x, second), elliptic_steps(y, first, second, part))
ELLIPTIC(ellipk, 0)
ELLIPTIC(ellipe, 1)
#define ELLIPK_F64 ellipk_f64_parts
#define ELLIPK_F32 ellipk_f32_parts
#define ELLIPE_F64 ellipe_f64_parts
#define ELLIPE_F32 ellipe_f32_parts

/* Bessel functions up to TURN_LIMIT: by two formulas, of which a part of a block may need one alone. */
#define BESSEL_STEPS(order)                                                                                            \
    static void bessel_steps_##order(double *y, const double *a, int second, size_t part)                              \
    {                                                                                                                  \
        double x[PART], l[PART];                                                                                       \
        int64_t some_near = 0, some_far = 0;                                                                           \
        EACH_OF(x[i] = fabs(a[i]); some_near |= x[i] < 8; some_far |= x[i] >= 8)                                       \
        if (some_far) EACH_OF(y[i] = bessel_far(x[i], order, second))                                                  \
        if (some_near && second) {                                                                                     \
            LOG_F64(l, x, NULL, NULL, part);                                                                           \
            EACH_OF(y[i] = x[i] < 8 ? bessel_near_second(x[i], l[i], order) : y[i])                                    \
        } else if (some_near) {                                                                                        \
            EACH_OF(y[i] = x[i] < 8 ? bessel_near(x[i], order) : y[i])                                                 \
        }                                                                                                              \
        if (order) EACH_OF(y[i] = copysign(1, a[i]) * y[i])                                                            \
    }
BESSEL_STEPS(0)
BESSEL_STEPS(1)

#define BESSEL(order)                                                                                                  \
    SPECIAL(j##order, 8, fabs(x) <= TURN_LIMIT, j##order(x), bessel_steps_##order(y, first, 0, part))                  \
    SPECIAL(y##order, 8, (x > 0) & (x <= TURN_LIMIT), y##order(x), bessel_steps_##order(y, first, 1, part))
BESSEL(0)
BESSEL(1)
#define J0_F64 j0_f64_parts
#define J0_F32 j0_f32_parts
#define J1_F64 j1_f64_parts
#define J1_F32 j1_f32_parts
#define Y0_F64 y0_f64_parts
#define Y0_F32 y0_f32_parts
#define Y1_F64 y1_f64_parts
#define Y1_F32 y1_f32_parts

#endif
