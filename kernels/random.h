/* Random arrays from a counter-based generator, Philox 4x32-10 (random.def): element i of an array depends on the seed,
 * the stream and i alone, so the numbers are the same bits on every device, whatever the number of threads. Whoever
 * draws counts the streams: one for each array, below KN_STREAMS. */
#ifndef KN_RANDOM_H
#define KN_RANDOM_H

#include "kernels/kernels.h"

#define KN_STREAMS ((uint64_t)1 << 48)

enum kn_distribution {
    KN_DRAW_UNIFORM,              /* from x to below y; floating dtypes, like the next three */
    KN_DRAW_NORMAL,               /* mean x, standard deviation y */
    KN_DRAW_EXPONENTIAL,          /* mean x */
    KN_DRAW_GAMMA,                /* shape x > 0, scale y */
    KN_DRAW_POISSON,              /* mean x, at most KN_MOST_MEAN; integers or floats, like the next */
    KN_DRAW_BINOMIAL,             /* y tries, whole and at most KN_MOST_TRIES, of probability x */
    KN_DRAW_NEGATIVE_BINOMIAL,    /* x successes, y failures for one success; integers or floats, like the next three */
    KN_DRAW_HYPERGEOMETRIC,       /* z taken out of x good and y bad things, whole and at most KN_MOST_TRIES each */
    KN_DRAW_ZIPF,                 /* exponent x + 1 */
    KN_DRAW_LOGSERIES,            /* parameter x, from 0 to below 1 */
    KN_DRAW_NONCENTRAL_CHISQUARE, /* degrees of freedom x > 0, noncentrality y; floating dtypes, like the next */
    KN_DRAW_VONMISES,             /* mean direction x, concentration y */
    KN_DRAW_INTEGERS,             /* from low to high, both included; dtypes that hold them */
    KN_DRAW_BERNOULLI,            /* 1 with probability x, else 0, to 32 bits; any dtype */
};
#define KN_MOST_MEAN  1e15
#define KN_MOST_TRIES 1e9

struct kn_draw {
    enum kn_distribution distribution;
    uint64_t seed, stream;
    double x, y, z;
    int64_t low, high;
    const struct rt_array *tries; /* of KN_DRAW_BINOMIAL, instead of y: float64, as many and where the numbers are */
};

/* Fills a contiguous array. Parameters are the caller's to check. */
enum rt_status kn_random(const struct kn_draw *draw, const struct rt_array *to, struct rt_error *e);

/* A random order of the indices first, first + 1, ..., of which the first `count` are stored: Fisher and Yates's
 * method, on the caller's thread. `indices` has room for all n. */
void kn_shuffle(uint64_t seed, uint64_t stream, int64_t first, int64_t n, int64_t count, int64_t *indices);
/* The four words of a counter and a key: what all numbers are made of. */
void kn_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

#endif
