/* What the host's and the generated way of filling a random array share: which function of random.def makes a block,
 * how many numbers that has, and of which class they are. */
#ifndef KN_RANDOM_DRAW_H
#define KN_RANDOM_DRAW_H

#include "kernels/ops.h"
#include "kernels/random.h"

/* Rows: id, function, what it takes (a block's WORDS or its NUMBER, of which ATTEMPTS are made for many blocks at a
 * time on the host), class, C type, numbers of a block. */
#define KN_DRAWS(X)                                                                                                    \
    X(UNIFORM_F, uniform_f_, WORDS, F32, float, 4)                                                                     \
    X(UNIFORM_D, uniform_d_, WORDS, F64, double, 2)                                                                    \
    X(NORMAL_F, normal_f_, WORDS, F32, float, 4)                                                                       \
    X(NORMAL_D, normal_d_, WORDS, F64, double, 2)                                                                      \
    X(EXPONENTIAL_F, exponential_f_, WORDS, F32, float, 4)                                                             \
    X(EXPONENTIAL_D, exponential_d_, WORDS, F64, double, 2)                                                            \
    X(BERNOULLI, bernoulli_, WORDS, B, uint8_t, 4)                                                                     \
    X(INTEGERS, integers_, WORDS, I64, int64_t, 2)                                                                     \
    X(WIDE_INTEGERS, wide_integers_, WORDS, I64, int64_t, 1)                                                           \
    X(GAMMA, gamma_, ATTEMPTS, F64, double, 1)                                                                         \
    X(POISSON, poisson_, NUMBER, F64, double, 1)                                                                       \
    X(BINOMIAL, binomial_, NUMBER, F64, double, 1)                                                                     \
    X(NEGATIVE_BINOMIAL, negative_binomial_, NUMBER, F64, double, 1)                                                   \
    X(HYPERGEOMETRIC, hypergeometric_, NUMBER, F64, double, 1)                                                         \
    X(ZIPF, zipf_, NUMBER, F64, double, 1)                                                                             \
    X(LOGSERIES, logseries_, WORDS, F64, double, 1)                                                                    \
    X(NONCENTRAL_CHISQUARE, noncentral_chisquare_, NUMBER, F64, double, 1)                                             \
    X(VONMISES, vonmises_, NUMBER, F64, double, 1)

enum kn_draw_kind {
#define X(id, function, takes, class, type, per) KN_BLOCK_##id,
    KN_DRAWS(X)
#undef X
        KN_DRAW_KINDS
};

/* The members of struct draw_ in random.def, each of 8 bytes for generated kernels but the last. */
struct kn_draw_values {
    enum kn_draw_kind kind;
    uint64_t seed, stream;
    double x, y, limit;
    int64_t low;
    uint64_t range;
    const double *tries;
    int bits;
};

struct kn_draw_info {
    const char *function;
    bool takes_number;
    enum kn_class class;
    int per;
};
extern const struct kn_draw_info kn_draw_kinds[KN_DRAW_KINDS];

/* Makes `blocks` blocks of numbers from block `first` on into out, which has the kind's class. */
typedef void kn_draw_loop(const struct kn_draw_values *v, uint64_t first, size_t blocks, void *out);
extern kn_draw_loop kn_draw_base;
#if defined __x86_64__
extern kn_draw_loop kn_draw_v3, kn_draw_v4;
#endif

/* Fills `to`, which is contiguous and on a GPU, with the numbers that the host's loops would make. */
enum rt_status kn_random_cuda(const struct kn_draw_values *v, const struct rt_array *to, struct rt_error *e);

#endif
