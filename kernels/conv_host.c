/* Convolutions on the host. With many filters in a group the windows are unfolded, one small block at a time, into the
 * columns of a matrix that BLAS multiplies by the filters. Few filters, and small or no BLAS: rows of the result are
 * summed up from rows of x. */
#include <stdlib.h>
#include <string.h>
#include "kernels/blas.h"
#include "kernels/conv.h"
#include "kernels/loops.h"
#include "runtime/interrupt.h"
#include "runtime/threads.h"

#define DEPTH  256     /* rows of an unfolded block, products of one call of BLAS */
#define PIXELS 512     /* columns of it: together they fit the second-level cache */
#define CHUNK  2048    /* elements of a row that are summed up at a time */
#define SMALL  32768.0 /* multiplications that are not worth loading BLAS for */

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The places i of some whose element i * stride + shift lies in [0, n). */
static struct kn_span inside(struct kn_span some, int64_t stride, int64_t shift, int64_t n)
{
    const int64_t low = shift < 0 ? (-shift + stride - 1) / stride : 0,
                  high = shift >= n ? 0 : (n - 1 - shift) / stride + 1,
                  first = low < some.first ? some.first : least(low, some.last), last = least(high, some.last);
    return (struct kn_span){first, last < first ? first : last};
}

/* ---- rows from rows ---- */

/* to += factor * from, and the same for four factors and starts, `step` apart, one after the other. */
#define ADD_ROWS(T, S)                                                                                                 \
    static inline __attribute__((always_inline)) void add_body_##S(T *restrict to, const T *restrict from,             \
                                                                   int64_t stride, T factor, int64_t n)                \
    {                                                                                                                  \
        if (stride == 1)                                                                                               \
            for (int64_t i = 0; i < n; i++) to[i] += factor * from[i];                                                 \
        else                                                                                                           \
            for (int64_t i = 0; i < n; i++) to[i] += factor * from[i * stride];                                        \
    }                                                                                                                  \
    static inline __attribute__((always_inline)) void add_four_body_##S(T *restrict to, const T *from, int64_t step,   \
                                                                        const T *factors, int64_t n)                   \
    {                                                                                                                  \
        const T f0 = factors[0], f1 = factors[1], f2 = factors[2], f3 = factors[3];                                    \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            T t = to[i] + f0 * from[i];                                                                                \
            t += f1 * from[i + step];                                                                                  \
            t += f2 * from[i + 2 * step];                                                                              \
            to[i] = t + f3 * from[i + 3 * step];                                                                       \
        }                                                                                                              \
    }                                                                                                                  \
    static void add_##S(void *to, const void *from, int64_t stride, const void *factor, int64_t n)                     \
    {                                                                                                                  \
        add_body_##S(to, from, stride, *(const T *)factor, n);                                                         \
    }                                                                                                                  \
    static void add_four_##S(void *to, const void *from, int64_t step, const void *factors, int64_t n)                 \
    {                                                                                                                  \
        add_four_body_##S(to, from, step, factors, n);                                                                 \
    }                                                                                                                  \
    TARGET static void add_wide_##S(void *to, const void *from, int64_t stride, const void *factor, int64_t n)         \
    {                                                                                                                  \
        add_body_##S(to, from, stride, *(const T *)factor, n);                                                         \
    }                                                                                                                  \
    TARGET static void add_four_wide_##S(void *to, const void *from, int64_t step, const void *factors, int64_t n)     \
    {                                                                                                                  \
        add_four_body_##S(to, from, step, factors, n);                                                                 \
    }
/* Wider vectors compute the same products and sums, so the same bits. */
#if defined __x86_64__
#define TARGET __attribute__((target("avx2")))
#else
#define TARGET
#endif
ADD_ROWS(float, f32)
ADD_ROWS(double, f64)
ADD_ROWS(uint32_t, u32) /* whole numbers, which wrap whether they have a sign or not */
ADD_ROWS(uint64_t, u64)

typedef void add_function(void *to, const void *from, int64_t stride, const void *factors, int64_t n);

struct rows_job {
    const struct kn_conv *c;
    int64_t chunks; /* of each row */
    add_function *add, *add_four;
};

/* For the dtypes that sums are computed in, plain and wide. */
static const struct {
    add_function *add, *add_four;
} adders[RT_DTYPE_COUNT][2] = {
#define ROW(id, S) [RT_##id] = {{add_##S, add_four_##S}, {add_wide_##S, add_four_wide_##S}}
    ROW(FLOAT32, f32), ROW(INT32, u32), ROW(UINT32, u32), ROW(FLOAT64, f64), ROW(INT64, u64), ROW(UINT64, u64),
#undef ROW
};

/* One row of x, at `from`, times one row of a filter, at `w`: the products of some elements of the result's row. */
static void add_products(const struct rows_job *j, const char *from, const char *w, struct kn_span some, char *to)
{
    const struct kn_window *v = &j->c->window;
    int64_t size = rt_dtypes[j->c->dtype].size, width = j->c->in[1], stride = v->stride[1];
    struct kn_span of[4]; /* a tap's */
    for (int64_t kw = 0, taps; kw < v->size[1]; kw += taps) {
        int64_t shift = kw * v->dilation[1] - v->before[1];
        taps = stride == 1 && kw + 4 <= v->size[1] ? 4 : 1;
        for (int t = 0; t < taps; t++) of[t] = inside(some, stride, shift + t * v->dilation[1], width);
        /* All four have what the first does not lack in front and the last does not lack behind. */
        int64_t low = of[0].first, high = of[taps - 1].last > low ? of[taps - 1].last : low;
        for (int t = 0; t < taps && taps == 4; t++) {
            const int64_t s = shift + t * v->dilation[1], first = of[t].first, last = of[t].last,
                          front = least(low, last), back = high > first ? high : first;
            if (first < front)
                j->add(to + first * size, from + (first + s) * size, 1, w + (kw + t) * size, front - first);
            if (back < last) j->add(to + back * size, from + (back + s) * size, 1, w + (kw + t) * size, last - back);
        }
        if (low >= high) continue;
        if (taps == 4)
            j->add_four(to + low * size, from + (low + shift) * size, v->dilation[1], w + kw * size, high - low);
        else
            j->add(to + low * size, from + (low * stride + shift) * size, stride, w + kw * size, high - low);
    }
}

/* Some elements of a line of the result: of a row, of what a filter makes of an image. */
static void sum_line(const struct rows_job *j, int64_t line, struct kn_span some)
{
    const struct kn_conv *c = j->c;
    const struct kn_window *v = &c->window;
    const int64_t filters = c->groups * c->filters, row = line % v->places[0], filter = line / v->places[0] % filters,
                  image = line / v->places[0] / filters;
    int64_t size = rt_dtypes[c->dtype].size, group = filter / c->filters, plane = c->in[0] * c->in[1];
    const char *x = (const char *)c->x + (image * c->groups + group) * c->channels * plane * size;
    const char *w = (const char *)c->w + filter * c->depth * size;
    char *to = (char *)c->out + line * v->places[1] * size;
    if (!c->bias) memset(to + some.first * size, 0, (size_t)((some.last - some.first) * size));
    for (int64_t i = some.first; c->bias && i < some.last; i++)
        if (c->dtype == RT_FLOAT32)
            ((float *)(void *)to)[i] = ((const float *)c->bias)[filter];
        else
            ((double *)(void *)to)[i] = ((const double *)c->bias)[filter];
    for (int64_t channel = 0; channel < c->channels; channel++)
        for (int64_t kh = 0; kh < v->size[0]; kh++, w += v->size[1] * size) {
            int64_t h = row * v->stride[0] - v->before[0] + kh * v->dilation[0];
            if (h >= 0 && h < c->in[0]) add_products(j, x + (channel * plane + h * c->in[1]) * size, w, some, to);
        }
}

static void sum_rows(void *context, size_t begin, size_t end, int worker)
{
    const struct rows_job *j = context;
    (void)worker;
    for (size_t item = begin; item < end && !rt_interrupted(); item++) {
        const int64_t chunk = (int64_t)item % j->chunks, past = least(j->c->window.places[1], (chunk + 1) * CHUNK);
        sum_line(j, (int64_t)item / j->chunks, (struct kn_span){chunk * CHUNK, past});
    }
}

static void by_rows(const struct kn_conv *c)
{
    bool wide = kn_host_loops() != &kn_loops_base;
    struct rows_job j = {.c = c, .chunks = (c->window.places[1] + CHUNK - 1) / CHUNK};
    j.add = adders[c->dtype][wide].add;
    j.add_four = adders[c->dtype][wide].add_four;
    size_t items = (size_t)(c->batch * c->groups * c->filters * c->window.places[0] * j.chunks);
    double each = (double)least(CHUNK, c->window.places[1]) * (double)(c->depth + 1);
    rt_parallel_for(items, (size_t)(2 * SMALL / each) + 1, sum_rows, &j);
}

/* ---- blocks for BLAS ---- */

struct block_job {
    const struct kn_conv *c;
    void *gemm;
    int64_t images, rows, row_pieces; /* blocks of pixels in an image; filters of a piece, pieces of a group */
    int64_t pixels;                   /* of a block */
    char *scratch;                    /* DEPTH * PIXELS elements for each worker */
};

#define UNFOLD_ROW(name, T)                                                                                            \
    static void name(T *to, const T *from, int64_t stride, int64_t before, int64_t count, int64_t after)               \
    {                                                                                                                  \
        for (int64_t i = 0; i < before; i++) *to++ = 0;                                                                \
        if (stride == 1)                                                                                               \
            memcpy(to, from, (size_t)count * sizeof *to);                                                              \
        else                                                                                                           \
            for (int64_t i = 0; i < count; i++) to[i] = from[i * stride];                                              \
        to += count;                                                                                                   \
        for (int64_t i = 0; i < after; i++) *to++ = 0;                                                                 \
    }
UNFOLD_ROW(unfold_f32, float)
UNFOLD_ROW(unfold_f64, double)

/* What product k of the sums of some pixels multiplies, one element a pixel. */
static void unfold(const struct kn_conv *c, const char *x, int64_t k, struct kn_span some, char *to)
{
    const struct kn_window *v = &c->window;
    int64_t size = rt_dtypes[c->dtype].size, width = v->places[1];
    int64_t channel = k / (v->size[0] * v->size[1]), kh = k / v->size[1] % v->size[0], kw = k % v->size[1];
    int64_t shift = kw * v->dilation[1] - v->before[1];
    for (int64_t pixel = some.first; pixel < some.last;) {
        int64_t row = pixel / width, left = pixel % width, right = least(width, left + some.last - pixel);
        int64_t h = row * v->stride[0] - v->before[0] + kh * v->dilation[0];
        const struct kn_span there =
            inside((struct kn_span){left, right}, v->stride[1], shift, h >= 0 && h < c->in[0] ? c->in[1] : 0);
        const int64_t first = there.first, last = there.last;
        const char *from = x;
        if (first < last) from += ((channel * c->in[0] + h) * c->in[1] + first * v->stride[1] + shift) * size;
        if (c->dtype == RT_FLOAT32)
            unfold_f32((float *)(void *)to, (const float *)(const void *)from, v->stride[1], first - left, last - first,
                       right - last);
        else
            unfold_f64((double *)(void *)to, (const double *)(const void *)from, v->stride[1], first - left,
                       last - first, right - last);
        to += (right - left) * size;
        pixel += right - left;
    }
}

/* A window of one element without padding or steps: x is unfolded as it is. */
static bool is_flat(const struct kn_conv *c)
{
    const struct kn_window *v = &c->window;
    return v->size[0] == 1 && v->size[1] == 1 && v->places[0] == c->in[0] && v->places[1] == c->in[1] &&
           v->stride[0] == 1 && v->stride[1] == 1 && v->before[0] == 0 && v->before[1] == 0;
}

static void fill_bias(const struct kn_conv *c, int64_t filter, int64_t rows, char *to, int64_t n)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < n; i++)
            if (c->dtype == RT_FLOAT32)
                ((float *)(void *)to)[r * c->pixels + i] = ((const float *)c->bias)[filter + r];
            else
                ((double *)(void *)to)[r * c->pixels + i] = ((const double *)c->bias)[filter + r];
}

/* One block: some filters of a group over some pixels of an image. */
static void sum_block(const struct block_job *j, int64_t item, char *columns)
{
    const struct kn_conv *c = j->c;
    const int64_t filter = item % j->row_pieces * j->rows, rows = least(j->rows, c->filters - filter),
                  block = item / j->row_pieces % j->images, group = item / j->row_pieces / j->images % c->groups,
                  image = item / j->row_pieces / j->images / c->groups;
    const struct kn_span some = {block * j->pixels, least(c->pixels, (block + 1) * j->pixels)};
    int64_t size = rt_dtypes[c->dtype].size, n = some.last - some.first, plane = c->in[0] * c->in[1];
    const char *x = (const char *)c->x + (image * c->groups + group) * c->channels * plane * size;
    int64_t all = group * c->filters + filter;
    char *out = (char *)c->out + ((image * c->groups * c->filters + all) * c->pixels + some.first) * size;
    bool flat = is_flat(c);
    if (c->bias) fill_bias(c, all, rows, out, n);
    for (int64_t k = 0; k < c->depth; k += DEPTH) {
        int64_t depth = least(DEPTH, c->depth - k), leading = flat ? plane : n;
        const char *from = flat ? x + (k * plane + some.first) * size : columns;
        const char *w = (const char *)c->w + (all * c->depth + k) * size;
        double beta = c->bias || k > 0;
        for (int64_t i = 0; i < depth && !flat; i++) unfold(c, x, k + i, some, columns + i * n * size);
        if (c->dtype == RT_FLOAT32)
            ((kn_sgemm *)j->gemm)(KN_BLAS_ROW_MAJOR, KN_BLAS_PLAIN, KN_BLAS_PLAIN, (int)rows, (int)n, (int)depth, 1,
                                  (const float *)(const void *)w, (int)c->depth, (const float *)(const void *)from,
                                  (int)leading, (float)beta, (float *)(void *)out, (int)c->pixels);
        else
            ((kn_dgemm *)j->gemm)(KN_BLAS_ROW_MAJOR, KN_BLAS_PLAIN, KN_BLAS_PLAIN, (int)rows, (int)n, (int)depth, 1,
                                  (const double *)(const void *)w, (int)c->depth, (const double *)(const void *)from,
                                  (int)leading, beta, (double *)(void *)out, (int)c->pixels);
    }
}

static void sum_blocks(void *context, size_t begin, size_t end, int worker)
{
    const struct block_job *j = context;
    char *columns = j->scratch + (int64_t)worker * DEPTH * PIXELS * rt_dtypes[j->c->dtype].size;
    for (size_t item = begin; item < end && !rt_interrupted(); item++) sum_block(j, (int64_t)item, columns);
}

/* False when BLAS cannot, for want of it or for its 32-bit sizes. */
static bool by_blocks(const struct kn_conv *c, enum rt_status *status, struct rt_error *e)
{
    int64_t threads = rt_thread_count(), plane = c->in[0] * c->in[1];
    struct block_job j = {.c = c, .pixels = least(PIXELS, c->pixels)};
    if (c->filters > INT32_MAX || c->depth > INT32_MAX || c->pixels > INT32_MAX || plane > INT32_MAX) return false;
    j.gemm = kn_blas(c->dtype == RT_FLOAT32 ? "cblas_sgemm" : "cblas_dgemm", NULL);
    if (!j.gemm) return false;
    j.images = (c->pixels + j.pixels - 1) / j.pixels;
    int64_t blocks = c->batch * c->groups * j.images;
    /* Few blocks: threads share the filters of each, and unfold it more than once. */
    j.row_pieces = blocks < 2 * threads ? least(threads, (c->filters + 15) / 16) : 1;
    j.rows = (c->filters + j.row_pieces - 1) / j.row_pieces;
    j.row_pieces = (c->filters + j.rows - 1) / j.rows;
    size_t bytes = (size_t)threads * DEPTH * PIXELS * rt_dtypes[c->dtype].size;
    j.scratch = rt_alloc(bytes);
    if (!j.scratch) {
        *status = rt_fail(e, RT_NOMEM, "out of memory: %zu bytes for a convolution", bytes);
        return true;
    }
    kn_blas_threads(1);
    rt_parallel_for((size_t)(blocks * j.row_pieces), 1, sum_blocks, &j);
    free(j.scratch);
    return true;
}

enum rt_status kn_conv_host(const struct kn_conv *c, struct rt_error *e)
{
    enum rt_status status = RT_OK;
    double work = (double)c->depth * (double)c->pixels * (double)c->filters * (double)(c->groups * c->batch);
    if (c->filters <= KN_FEW_FILTERS || work < SMALL || !by_blocks(c, &status, e)) by_rows(c);
    return status == RT_OK ? rt_stopped(e) : status;
}
