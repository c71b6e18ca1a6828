/* Fourier transforms on the host: plans, and which transforms are done together. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/fft.h"
#include "kernels/loops.h"
#include "runtime/interrupt.h"
#include "runtime/threads.h"

#define GRAIN    32768 /* elements that are worth a thread */
#define IN_CACHE 2048  /* transforms of more elements are done in four steps */

static const struct kn_fft_loops *fft_loops(void)
{
#if defined __x86_64__
    if (kn_host_loops() == &kn_loops_v4) return &kn_fft_v4;
    if (kn_host_loops() == &kn_loops_v3) return &kn_fft_v3;
#endif
    return &kn_fft_base;
}

/* ---- rows together ---- */

/* Transforms along one axis of arrays that are given by their shapes and strides; the addresses are apart. */
struct lines {
    const struct kn_fft_plan *plan;
    enum rt_dtype dtype;
    const char *in;
    char *out;
    struct rt_array a, to; /* geometry alone; of one shape */
    int axis;
    bool swap_in, swap_out;
    double scale;
    const struct kn_roots *turn; /* result k of row number i is multiplied by root i * k; NULL: not */
    char *scratch;
    size_t scratch_bytes; /* of a worker */
};

static int lanes_of(enum rt_dtype t)
{
    return t == RT_COMPLEX64 ? KN_FFT_LANES : KN_FFT_LANES / 2;
}

/* How many entries the two tables of make_turn have together. */
static int64_t turn_entries(int64_t n)
{
    int64_t fine = (int64_t)ceil(sqrt((double)n));
    return fine + (n + fine - 1) / fine;
}

static size_t scratch_for(int64_t n, enum rt_dtype t)
{
    return (size_t)(4 * n + 2 * turn_entries(n)) * (size_t)lanes_of(t) * kn_real_size(t) + 64;
}

/* Where row number `row` of an array begins, the axis left out. */
static int64_t row_begin(const struct rt_array *a, int axis, int64_t row)
{
    int64_t at = 0;
    for (int i = a->ndim - 1; i >= 0; i--) {
        if (i == axis) continue;
        at += row % a->shape[i] * a->strides[i];
        row /= a->shape[i];
    }
    return at;
}

static int64_t row_count(const struct rt_array *a, int axis)
{
    int64_t n = 1;
    for (int i = 0; i < a->ndim; i++)
        if (i != axis) n *= a->shape[i];
    return n;
}

/* The tables for rows from number `first` on: root row * i = coarse[i / fine] * fine[i % fine]. */
static void make_turn(const struct lines *x, int64_t first, struct kn_fft_group *g)
{
    int64_t n = x->plan->n, lanes = lanes_of(x->dtype);
    char *tables = (char *)g->scratch + (size_t)(4 * n * lanes) * kn_real_size(x->dtype);
    g->fine = (int64_t)ceil(sqrt((double)n));
    g->turn_fine = tables;
    g->turn_coarse = tables + (size_t)(2 * g->fine * lanes) * kn_real_size(x->dtype);
    for (int64_t i = 0; i < turn_entries(n); i++)
        for (int l = 0; l < lanes; l++) {
            int64_t k = i < g->fine ? i : (i - g->fine) * g->fine, row = l < g->lanes ? first + l : 0;
            struct rt_complex w = kn_root(x->turn, k * row % x->turn->n);
            kn_put_real(x->dtype, tables, i * 2 * lanes + l, w.re);
            kn_put_real(x->dtype, tables, i * 2 * lanes + lanes + l, w.im);
        }
}

/* Items are groups of rows. */
static void lines_piece(void *context, size_t begin, size_t end, int worker)
{
    const struct lines *x = context;
    const struct kn_fft_loops *loops = fft_loops();
    int64_t rows = row_count(&x->to, x->axis), lanes = lanes_of(x->dtype);
    for (size_t item = begin; item < end && !rt_interrupted(); item++) {
        int64_t first = (int64_t)item * lanes;
        struct kn_fft_group g = {.plan = x->plan,
                                 .in = x->in,
                                 .out = x->out,
                                 .in_step = x->a.strides[x->axis],
                                 .out_step = x->to.strides[x->axis],
                                 .lanes = (int)(rows - first < lanes ? rows - first : lanes),
                                 .swap_in = x->swap_in,
                                 .swap_out = x->swap_out,
                                 .scale = x->scale,
                                 .scratch = x->scratch + (size_t)worker * x->scratch_bytes};
        for (int l = 0; l < g.lanes; l++) {
            g.in_at[l] = row_begin(&x->a, x->axis, first + l);
            g.out_at[l] = row_begin(&x->to, x->axis, first + l);
        }
        if (x->turn) make_turn(x, first, &g);
        (x->dtype == RT_COMPLEX64 ? loops->f32 : loops->f64)(&g);
    }
}

/* By all threads, or by the one that this worker is. */
static void run_lines(struct lines *x, int worker)
{
    int64_t lanes = lanes_of(x->dtype), groups = (row_count(&x->to, x->axis) + lanes - 1) / lanes;
    if (worker >= 0)
        lines_piece(x, 0, (size_t)groups, worker);
    else
        rt_parallel_for((size_t)groups, (size_t)(GRAIN / (x->plan->n * lanes) + 1), lines_piece, x);
}

/* ---- four steps ---- */

/* Row by row: a row of n = rows * columns elements is a matrix. Its columns are transformed, its elements turned, its
 * rows transformed, and the result is read column by column. */
struct long_rows {
    const struct rt_array *a, *out;
    int axis;
    bool inverse;
    double scale;
    int64_t rows, columns;
    const struct kn_fft_plan *down, *across;
    struct kn_roots roots;
    char *scratch, *between; /* `between`: n elements for each worker */
    size_t scratch_bytes;
};

static struct rt_array matrix(const struct long_rows *x, int64_t down, int64_t across)
{
    return (struct rt_array){.ndim = 2, .shape = {x->rows, x->columns}, .strides = {down, across}};
}

static void transform_long_row(const struct long_rows *x, int64_t row, int worker)
{
    size_t size = rt_dtypes[x->a->dtype].size, n = (size_t)(x->rows * x->columns);
    int64_t in_step = x->a->strides[x->axis], out_step = x->out->strides[x->axis];
    char *between = x->between + (size_t)(worker < 0 ? 0 : worker) * n * size;
    struct lines columns = {.plan = x->down,
                            .dtype = x->a->dtype,
                            .in = (const char *)rt_array_host(x->a) + row_begin(x->a, x->axis, row) * (int64_t)size,
                            .out = between,
                            .a = matrix(x, x->columns * in_step, in_step),
                            .to = matrix(x, x->columns, 1),
                            .axis = 0,
                            .swap_in = x->inverse,
                            .scale = 1,
                            .turn = &x->roots,
                            .scratch = x->scratch,
                            .scratch_bytes = x->scratch_bytes};
    struct lines rows = {.plan = x->across,
                         .dtype = x->a->dtype,
                         .in = between,
                         .out = (char *)rt_array_host(x->out) + row_begin(x->out, x->axis, row) * (int64_t)size,
                         .a = matrix(x, x->columns, 1),
                         .to = matrix(x, out_step, x->rows * out_step),
                         .axis = 1,
                         .swap_out = x->inverse,
                         .scale = x->scale,
                         .scratch = x->scratch,
                         .scratch_bytes = x->scratch_bytes};
    run_lines(&columns, worker);
    run_lines(&rows, worker);
}

static void long_rows_piece(void *context, size_t begin, size_t end, int worker)
{
    for (size_t row = begin; row < end && !rt_interrupted(); row++) transform_long_row(context, (int64_t)row, worker);
}

static enum rt_status four_steps(struct long_rows *x, struct rt_error *e)
{
    enum rt_dtype t = x->a->dtype;
    int64_t n = x->rows * x->columns, count = row_count(x->out, x->axis), threads = rt_thread_count();
    bool apart = count >= 2 * threads; /* each row by one thread */
    enum rt_status status = kn_roots_make(n, &x->roots, e);
    if (status == RT_OK) status = kn_fft_plan_of(x->rows, t, false, &x->down, e);
    if (status == RT_OK) status = kn_fft_plan_of(x->columns, t, false, &x->across, e);
    x->scratch_bytes = scratch_for(x->columns, t); /* of the longer ones */
    x->scratch = status == RT_OK ? rt_alloc(x->scratch_bytes * (size_t)threads) : NULL;
    x->between = status == RT_OK ? rt_alloc((size_t)n * rt_dtypes[t].size * (size_t)(apart ? threads : 1)) : NULL;
    if (status == RT_OK && (!x->scratch || !x->between))
        status = rt_fail(e, RT_NOMEM, "out of memory for a Fourier transform of %lld elements", (long long)n);
    if (status == RT_OK && apart)
        rt_parallel_for((size_t)count, 1, long_rows_piece, x);
    else
        for (int64_t row = 0; status == RT_OK && row < count && !rt_interrupted(); row++)
            transform_long_row(x, row, -1);
    free(x->between);
    free(x->scratch);
    kn_fft_plan_done(x->across);
    kn_fft_plan_done(x->down);
    kn_roots_free(&x->roots);
    return status;
}

/* The greatest divisor of n that is no greater than its root. */
static int64_t near_root(int64_t n)
{
    int64_t d = (int64_t)sqrt((double)n) + 1;
    while (d > 1 && (d * d > n || n % d != 0)) d--;
    return d;
}

enum rt_status kn_fft_complex(const struct rt_array *a, int axis, bool inverse, double scale,
                              const struct rt_array *out, struct rt_error *e)
{
    int64_t n = out->shape[axis], count = row_count(out, axis), divisor = near_root(n);
    enum rt_status status;
    /* Rows far apart are better read together, side by side, even if they fill the cache. */
    int64_t together = a->strides[axis] == 1 ? IN_CACHE : 8 * IN_CACHE;
    if (divisor >= 4 && (n > together || count < lanes_of(a->dtype))) {
        struct long_rows x = {.a = a,
                              .out = out,
                              .axis = axis,
                              .inverse = inverse,
                              .scale = scale,
                              .rows = divisor,
                              .columns = n / divisor};
        status = four_steps(&x, e);
    } else {
        const struct kn_fft_plan *plan;
        struct lines x = {.dtype = a->dtype,
                          .in = rt_array_host(a),
                          .out = rt_array_host(out),
                          .a = *a,
                          .to = *out,
                          .axis = axis,
                          .swap_in = inverse,
                          .swap_out = inverse,
                          .scale = scale,
                          .scratch_bytes = scratch_for(n, a->dtype)};
        status = kn_fft_plan_of(n, a->dtype, false, &plan, e);
        x.plan = plan;
        x.scratch = status == RT_OK ? rt_alloc(x.scratch_bytes * (size_t)rt_thread_count()) : NULL;
        if (x.scratch)
            run_lines(&x, -1);
        else if (status == RT_OK)
            status = rt_fail(e, RT_NOMEM, "out of memory for a Fourier transform of %lld elements", (long long)n);
        free(x.scratch);
        kn_fft_plan_done(plan);
    }
    return status == RT_OK ? rt_stopped(e) : status;
}

/* ---- real numbers as half as many complex ones ---- */
static void unpack_piece(void *context, size_t begin, size_t end, int worker)
{
    struct kn_fft_unpacking u = *(const struct kn_fft_unpacking *)context;
    (void)worker;
    u.first = (int64_t)begin;
    u.last = (int64_t)end;
    if (!rt_interrupted()) (u.dtype == RT_COMPLEX64 ? fft_loops()->unpack_f32 : fft_loops()->unpack_f64)(&u);
}

enum rt_status kn_fft_unpack(enum kn_fft kind, const struct rt_array *from, double scale, const struct rt_array *to,
                             struct rt_error *e)
{
    const struct rt_array *halves = kind == KN_RFFT ? from : to;
    int64_t h = halves->shape[halves->ndim - 1];
    const struct kn_fft_plan *table;
    enum rt_status status = kn_fft_plan_of(2 * h, from->dtype, true, &table, e);
    if (status != RT_OK) return status;
    struct kn_fft_unpacking u = {.dtype = from->dtype,
                                 .forward = kind == KN_RFFT,
                                 .scale = scale,
                                 .h = h,
                                 .roots = table->roots,
                                 .from = rt_array_host(from),
                                 .to = rt_array_host(to)};
    rt_parallel_for((size_t)(rt_array_size(halves) / h), (size_t)(GRAIN / h + 1), unpack_piece, &u);
    kn_fft_plan_done(table);
    return rt_stopped(e);
}

/* ---- chirps ---- */
struct chirps {
    enum rt_dtype dtype;
    int64_t n, m;
    void *chirp, *mirrored;
    const struct kn_roots *roots; /* of 2 n */
};

static void chirps_piece(void *context, size_t begin, size_t end, int worker)
{
    const struct chirps *c = context;
    (void)worker;
    for (int64_t k = (int64_t)begin; k < (int64_t)end; k++) {
        struct rt_complex w = kn_root(c->roots, (int64_t)((uint64_t)k * (uint64_t)k % (uint64_t)(2 * c->n)));
        const double parts[] = {w.re, w.im};
        for (int i = 0; i < 2; i++) {
            kn_put_real(c->dtype, c->chirp, 2 * k + i, parts[i]);
            kn_put_real(c->dtype, c->mirrored, 2 * k + i, i ? -parts[i] : parts[i]);
            if (k > 0) kn_put_real(c->dtype, c->mirrored, 2 * (c->m - k) + i, i ? -parts[i] : parts[i]);
        }
    }
}

enum rt_status kn_fft_chirps(int64_t n, const struct rt_array *chirp, int64_t m, const struct rt_array *mirrored,
                             struct rt_error *e)
{
    struct kn_roots roots;
    struct chirps c = {chirp->dtype, n, m, rt_array_host(chirp), rt_array_host(mirrored), &roots};
    enum rt_status status = kn_roots_make(2 * n, &roots, e);
    if (status != RT_OK) return status;
    memset(c.mirrored, 0, (size_t)m * rt_dtypes[chirp->dtype].size);
    rt_parallel_for((size_t)n, GRAIN, chirps_piece, &c);
    kn_roots_free(&roots);
    return RT_OK;
}
