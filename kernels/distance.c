#include "kernels/distance.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/host.h"
#include "runtime/interrupt.h"
#include "runtime/threads.h"

#define BLOCK 128 /* points of y that one of x is compared with at a time */

/* sums[j] of the point and the j-th of the block: what becomes the distance by its root. */
typedef void sum_up(const double *point, const double *block, int64_t d, double p, double *sums);

struct distances {
    sum_up *sum;
    const double *x;
    double *across; /* the coordinates of y, each BLOCK points at a time: those of block b are from b * BLOCK * d on */
    double p;
    bool squares, pairs;
    int64_t n, m, d;
    enum rt_dtype dtype;
    char *out;
};

/* Sums over all coordinates of what lies between the point and those of the block, in registers for some of these at a
 * time. Wider vectors compute the same sums, so the same bits. */
#if defined __x86_64__
#define WIDE __attribute__((target("avx2")))
#else
#define WIDE
#endif
typedef double four __attribute__((vector_size(32), aligned(8)));
typedef int64_t bits __attribute__((vector_size(32), aligned(8)));
#define SQUARE(v)  ((v) * (v))
#define SIZE_OF(v) ((four)((bits)(v) & (bits){INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX}))
#define SUM_IN_FOURS(name, TARGET, TERM)                                                                               \
    TARGET static void name(const double *point, const double *block, int64_t d, double p, double *sums)               \
    {                                                                                                                  \
        (void)p;                                                                                                       \
        for (int j = 0; j < BLOCK; j += 16) {                                                                          \
            four s[4] = {{0}};                                                                                         \
            const double *at = block + j;                                                                              \
            for (int64_t k = 0; k < d; k++, at += BLOCK) {                                                             \
                const four *b = (const four *)(const void *)at, x = {point[k], point[k], point[k], point[k]};          \
                const four v[4] = {x - b[0], x - b[1], x - b[2], x - b[3]};                                            \
                s[0] += TERM(v[0]), s[1] += TERM(v[1]), s[2] += TERM(v[2]), s[3] += TERM(v[3]);                        \
            }                                                                                                          \
            memcpy(sums + j, s, sizeof s);                                                                             \
        }                                                                                                              \
    }
SUM_IN_FOURS(sum_squares, , SQUARE)
SUM_IN_FOURS(sum_sizes, , SIZE_OF)
SUM_IN_FOURS(sum_squares_wide, WIDE, SQUARE)
SUM_IN_FOURS(sum_sizes_wide, WIDE, SIZE_OF)

#define SUM_ONE_BY_ONE(name, STEP)                                                                                     \
    static void name(const double *point, const double *block, int64_t d, double p, double *sums)                      \
    {                                                                                                                  \
        (void)p;                                                                                                       \
        for (int j = 0; j < BLOCK; j++) sums[j] = 0;                                                                   \
        for (int64_t k = 0; k < d; k++, block += BLOCK)                                                                \
            for (int j = 0; j < BLOCK; j++) {                                                                          \
                const double away = fabs(point[k] - block[j]);                                                         \
                sums[j] = STEP(sums[j], away);                                                                         \
            }                                                                                                          \
    }
#define POWERS(sum, away) ((sum) + pow(away, p))
#define MOST(sum, away)   ((away) > (sum) || (away) != (away) ? (away) : (sum))
SUM_ONE_BY_ONE(sum_powers, POWERS)
SUM_ONE_BY_ONE(find_most, MOST)

static sum_up *choose(double p)
{
    const bool wide = kn_host_loops() != &kn_loops_base;
    if (p == 2) return wide ? sum_squares_wide : sum_squares;
    if (p == 1) return wide ? sum_sizes_wide : sum_sizes;
    return isinf(p) ? find_most : sum_powers;
}

/* To the distances of point i to `count` of the points from j on. */
static void write_some(const struct distances *s, double *sums, int64_t i, int64_t j, int64_t first, int64_t count)
{
    int64_t at = s->pairs ? i * s->m - i * (i + 1) / 2 + j - i - 1 : i * s->m + j;
    const double *from = sums + first;
    if (s->p == 2 && !s->squares)
        kn_host_loops()->ops[KN_SQRT][KN_F64](sums + first, from, NULL, NULL, (size_t)count);
    else if (s->p != 1 && s->p != 2 && isfinite(s->p))
        for (int64_t k = first; k < first + count; k++) sums[k] = pow(sums[k], 1 / s->p);
    if (s->dtype == RT_FLOAT32)
        for (int64_t k = 0; k < count; k++) ((float *)(void *)s->out)[at + k] = (float)from[k];
    else
        for (int64_t k = 0; k < count; k++) ((double *)(void *)s->out)[at + k] = from[k];
}

static void rows_piece(void *context, size_t begin, size_t end, int worker)
{
    const struct distances *s = context;
    double sums[BLOCK];
    (void)worker;
    for (int64_t first = s->pairs ? (int64_t)begin / BLOCK * BLOCK : 0; first < s->m; first += BLOCK) {
        const double *block = s->across + first * s->d;
        if (rt_interrupted()) return;
        for (int64_t i = (int64_t)begin; i < (int64_t)end; i++) {
            const int64_t least = s->pairs && i + 1 > first ? i + 1 : first;
            const int64_t last = first + BLOCK < s->m ? first + BLOCK : s->m;
            const double *point = s->x + i * s->d;
            if (least >= last) continue;
            s->sum(point, block, s->d, s->p, sums);
            write_some(s, sums, i, least, least - first, last - least);
        }
    }
}

enum rt_status kn_distances(const struct rt_array *x, const struct rt_array *y, double p, bool squares, bool pairs,
                            const struct rt_array *out, struct rt_error *e)
{
    struct distances s = {.sum = choose(p),
                          .x = rt_array_host(x),
                          .p = p,
                          .squares = squares,
                          .pairs = pairs,
                          .n = x->shape[0],
                          .m = y->shape[0],
                          .d = x->shape[1],
                          .dtype = out->dtype,
                          .out = rt_array_host(out)};
    const double *from = rt_array_host(y);
    if (rt_array_size(out) == 0) return RT_OK;
    const size_t places = (size_t)((s.m + BLOCK - 1) / BLOCK * BLOCK * s.d), bytes = places * sizeof *s.across + 1;
    if (!(s.across = rt_alloc(bytes))) return rt_fail(e, RT_NOMEM, "out of memory: %zu bytes for distances", bytes);
    for (int64_t j = 0; j < (s.m + BLOCK - 1) / BLOCK * BLOCK; j++) {
        double *to = s.across + j / BLOCK * BLOCK * s.d + j % BLOCK;
        for (int64_t k = 0; k < s.d; k++) to[k * BLOCK] = j < s.m ? from[j * s.d + k] : 0;
    }
    const int64_t each = s.m * (s.d + 4);
    rt_parallel_for((size_t)s.n, each >= KN_GRAIN ? 1 : (size_t)(KN_GRAIN / each), rows_piece, &s);
    free(s.across);
    return rt_stopped(e);
}
