/* Functions of float64 whose values each take hundreds of operations one after the other, in steps: a part of a block
 * goes through one step before the next begins, as a processor works at more elements at once where a step is short.
 * The functions of single elements, made of the same steps, give the same bits. An output may be an operand's block.
 * loops.c includes this behind loops_parted.h. */
#ifndef KN_LOOPS_STEPS_H
#define KN_LOOPS_STEPS_H

#include "kernels/loops_parted.h"

/* A number of two doubles for each element of a part. */
struct twos {
    double high[PART], low[PART];
};
#define PUT(twos, of)                                                                                                  \
    (twos).high[i] = (of).high;                                                                                        \
    (twos).low[i] = (of).low
#define AS_TWO(twos) ((struct two){(twos).high[i], (twos).low[i]})

/* One loop part by part: `...` is over from, other, to and part. */
#define BY_PARTS(name, ...)                                                                                            \
    static void name(void *out, const void *pa, const void *pb, const void *pc, size_t n)                              \
    {                                                                                                                  \
        (void)pc;                                                                                                      \
        for (size_t begin = 0; begin < n; begin += PART) {                                                             \
            size_t part = n - begin < PART ? n - begin : PART;                                                         \
            const double *from = (const double *)pa + begin, *other = pb ? (const double *)pb + begin : NULL;          \
            double *to = (double *)out + begin;                                                                        \
            (void)other;                                                                                               \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    }

/* sums = erfc(x) / 2^k of x = erf_limited(from, limit). */
static void erfc_steps(const double *from, double limit, double *sums, double *k, size_t part)
{
    struct twos e, q;
    EACH_OF(const struct two v = erfc_power(erf_limited(from[i], limit), k + i); PUT(e, v))
    EACH_OF(const struct erfc_quotient by = erfc_quotient_of(erf_limited(from[i], limit)); sums[i] = by.u; PUT(q, by.q))
    EACH_OF(sums[i] = erfc_product(AS_TWO(e), (struct erfc_quotient){sums[i], AS_TWO(q)}))
}
BY_PARTS(erf_by_steps, double v[PART], k[PART]; erfc_steps(from, ERF_LIMIT, v, k, part);
         EACH_OF(to[i] = erf_last(from[i], v[i], k[i])))
BY_PARTS(erfc_by_steps, double v[PART], k[PART]; erfc_steps(from, ERFC_LIMIT, v, k, part);
         EACH_OF(to[i] = erfc_last(from[i], v[i], k[i])))
STEPS(gelu_by_steps, double, double, from[i] * -0.70710678118654752440, Y_BY(erfc_by_steps), from[i] * (0.5 * y[i]))
#define ERF_F64  erf_by_steps
#define ERFC_F64 erfc_by_steps
#define GELU_F64 gelu_by_steps

/* The gamma function of positive numbers. */
#define LIMITED(v) ((v) > 190 ? 190 : (v))
static void gamma_steps(const double *from, double *to, size_t part)
{
    struct twos l;
    double k[PART];
    EACH_OF(const struct pair v = gamma_log(LIMITED(from[i])); PUT(l, v))
    EACH_OF(const struct two v = gamma_power(LIMITED(from[i]), (struct pair){l.high[i], l.low[i]}, k + i); PUT(l, v))
    EACH_OF(to[i] = scaled_by(gamma_last(LIMITED(from[i]), AS_TWO(l)), k[i]))
}
BY_PARTS(gamma_positive, int all = 1; for (size_t i = 0; i < part; i++) all &= from[i] >= 0x1p-60;
         if (all) gamma_steps(from, to, part); else GAMMA_F64(to, from, other, pc, part);)
#define GAMMA_F64 gamma_positive

static void atan2_steps(const double *from, const double *other, double *to, size_t part)
{
    struct twos angle;
    double t[PART];
    EACH_OF(const struct tangent v = atan2_first(from[i], other[i]); t[i] = v.t; PUT(angle, v))
    EACH_OF(to[i] = atan2_last(from[i], other[i], (struct tangent){t[i], angle.high[i], angle.low[i]}))
}
BY_PARTS(atan2_by_steps, atan2_steps(from, other, to, part);)
#define ATAN2_F64 atan2_by_steps

#endif
