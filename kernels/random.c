/* Filling arrays with random numbers: from a distribution to the blocks that make it, and the host's way. */
#include "kernels/random.h"
#include <math.h>
#include <string.h>
#include "kernels/host.h"
#include "kernels/random_draw.h"
#include "runtime/interrupt.h"
#include "runtime/threads.h"

const struct kn_draw_info kn_draw_kinds[KN_DRAW_KINDS] = {
#define WORDS                                    false
#define NUMBER                                   true
#define ATTEMPTS                                 true
#define X(id, function, takes, class, type, per) {#function, takes, KN_##class, per},
    KN_DRAWS(X)
#undef X
#undef WORDS
#undef NUMBER
#undef ATTEMPTS
};

/* The bits of a uniform number from 0 to 1: as many as the dtype holds, so that it never rounds up to 1. */
static int uniform_bits(enum rt_dtype t)
{
    return t == RT_FLOAT16 ? 11 : t == RT_BFLOAT16 ? 8 : 24;
}

static double rounded(enum rt_dtype t, double v)
{
    char element[8];
    rt_store_double(t, element, v);
    return rt_load_double(t, element);
}

static struct kn_draw_values values_of(const struct kn_draw *d, enum rt_dtype t)
{
    bool wide = t == RT_FLOAT64;
    struct kn_draw_values v = {.seed = d->seed, .stream = d->stream, .x = d->x, .y = d->y, .low = d->low};
    switch (d->distribution) {
    case KN_DRAW_UNIFORM:
        v.kind = wide ? KN_BLOCK_UNIFORM_D : KN_BLOCK_UNIFORM_F;
        v.x = rounded(t, d->x);
        v.limit = rounded(t, d->y);
        v.y = v.limit - v.x;
        v.bits = uniform_bits(t);
        break;
    case KN_DRAW_NORMAL: v.kind = wide ? KN_BLOCK_NORMAL_D : KN_BLOCK_NORMAL_F; break;
    case KN_DRAW_EXPONENTIAL: v.kind = wide ? KN_BLOCK_EXPONENTIAL_D : KN_BLOCK_EXPONENTIAL_F; break;
    case KN_DRAW_GAMMA: v.kind = KN_BLOCK_GAMMA; break;
    case KN_DRAW_POISSON: v.kind = KN_BLOCK_POISSON; break;
    case KN_DRAW_BINOMIAL: v.kind = KN_BLOCK_BINOMIAL; break;
    case KN_DRAW_NEGATIVE_BINOMIAL: v.kind = KN_BLOCK_NEGATIVE_BINOMIAL; break;
    case KN_DRAW_HYPERGEOMETRIC:
        v.kind = KN_BLOCK_HYPERGEOMETRIC;
        v.limit = d->z;
        break;
    case KN_DRAW_ZIPF: v.kind = KN_BLOCK_ZIPF; break;
    case KN_DRAW_LOGSERIES: v.kind = KN_BLOCK_LOGSERIES; break;
    case KN_DRAW_NONCENTRAL_CHISQUARE: v.kind = KN_BLOCK_NONCENTRAL_CHISQUARE; break;
    case KN_DRAW_VONMISES: v.kind = KN_BLOCK_VONMISES; break;
    case KN_DRAW_INTEGERS:
        v.range = (uint64_t)d->high - (uint64_t)d->low + 1;
        v.kind = v.range - 1 < (uint64_t)1 << 32 ? KN_BLOCK_INTEGERS : KN_BLOCK_WIDE_INTEGERS;
        break;
    case KN_DRAW_BERNOULLI:
        v.kind = KN_BLOCK_BERNOULLI;
        v.range = (uint64_t)rint(d->x * 0x1p32);
        break;
    }
    return v;
}

/* ---- on the host's threads ---- */
struct filling {
    const struct kn_draw_values *v;
    const struct kn_loops *loops;
    kn_draw_loop *draw;
    const struct kn_draw_info *info;
    enum rt_dtype dtype;
    char *to;
    int64_t size;
};

static kn_draw_loop *best_loop(const struct kn_loops *loops)
{
#if defined __x86_64__
    if (loops == &kn_loops_v3) return kn_draw_v3;
    if (loops == &kn_loops_v4) return kn_draw_v4;
#endif
    (void)loops;
    return kn_draw_base;
}

/* Items are pieces of KN_BLOCK elements. */
static void fill_piece(void *context, size_t begin, size_t end, int worker)
{
    const struct filling *f = context;
    _Alignas(64) char drawn[KN_BLOCK * 8], converted[KN_BLOCK * 8];
    size_t size = rt_dtypes[f->dtype].size, per = (size_t)f->info->per;
    (void)worker;
    for (size_t item = begin; item < end && !rt_interrupted(); item++) {
        size_t first = item * KN_BLOCK, n = (size_t)f->size - first < KN_BLOCK ? (size_t)f->size - first : KN_BLOCK;
        char *to = f->to + first * size;
        bool straight = kn_classes[f->info->class].dtype == f->dtype && n % per == 0;
        f->draw(f->v, first / per, (n + per - 1) / per, straight ? to : drawn);
        if (straight) continue;
        f->loops->convert[f->info->class][f->dtype](converted, drawn, n);
        f->loops->store[f->dtype](to, 1, converted, n);
    }
}

static enum rt_status draw_on_host(const struct kn_draw_values *v, const struct rt_array *to, struct rt_error *e)
{
    const struct kn_loops *loops = kn_host_loops();
    struct filling f = {.v = v,
                        .loops = loops,
                        .draw = best_loop(loops),
                        .info = &kn_draw_kinds[v->kind],
                        .dtype = to->dtype,
                        .to = rt_array_host(to),
                        .size = rt_array_size(to)};
    rt_parallel_for((size_t)(f.size + KN_BLOCK - 1) / KN_BLOCK, KN_GRAIN / KN_BLOCK, fill_piece, &f);
    return rt_stopped(e);
}

enum rt_status kn_random(const struct kn_draw *draw, const struct rt_array *to, struct rt_error *e)
{
    bool generated = kn_runs_generated(rt_array_device(to));
    enum rt_status status = rt_array_writable(to, e);
    if (status == RT_OK && rt_is_complex(to->dtype))
        status = rt_fail(e, RT_INVALID, "random numbers are real, not %s; gpu.complex makes complex ones of two arrays",
                         rt_dtypes[to->dtype].name);
    if (status != RT_OK || rt_array_size(to) == 0) return status;
    struct kn_draw_values v = values_of(draw, to->dtype);
    if (draw->tries)
        v.tries = generated ? (const double *)(uintptr_t)rt_array_address(draw->tries) : rt_array_host(draw->tries);
    return generated ? kn_random_cuda(&v, to, e) : draw_on_host(&v, to, e);
}
