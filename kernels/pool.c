/* Pooling: the greatest element or the mean of each window of an image. */
#include <math.h>
#include <string.h>
#include "kernels/conv.h"
#include "kernels/generate.h"
#include "runtime/interrupt.h"
#include "runtime/threads.h"

struct pool {
    enum rt_dtype dtype;
    enum kn_pooling which;
    int64_t in[2];
    struct kn_window window;
    const void *x;
    void *out;
};

/* The windows' places [*first, *last) whose element k of the window lies in the image. */
static void inside(const struct kn_window *v, int axis, int64_t k, int64_t n, int64_t *first, int64_t *last)
{
    int64_t shift = k * v->dilation[axis] - v->before[axis], stride = v->stride[axis];
    *first = shift < 0 ? (-shift + stride - 1) / stride : 0;
    *last = shift >= n ? 0 : (n - 1 - shift) / stride + 1;
    if (*last > v->places[axis]) *last = v->places[axis];
}

/* One row of the result from rows of x: all windows take their element (kh, kw) at the same time. */
#define POOL_ROW(name, T)                                                                                              \
    static void name(const struct pool *p, const T *x, int64_t row, T *restrict to)                                    \
    {                                                                                                                  \
        const struct kn_window *v = &p->window;                                                                        \
        int64_t width = v->places[1], s = v->stride[1];                                                                \
        for (int64_t i = 0; i < width; i++) to[i] = p->which == KN_POOL_MAX ? -(T)INFINITY : 0;                        \
        for (int64_t kh = 0; kh < v->size[0]; kh++) {                                                                  \
            int64_t h = row * v->stride[0] - v->before[0] + kh * v->dilation[0], first, last;                          \
            if (h < 0 || h >= p->in[0]) continue;                                                                      \
            for (int64_t kw = 0; kw < v->size[1]; kw++) {                                                              \
                inside(v, 1, kw, p->in[1], &first, &last);                                                             \
                if (first >= last) continue;                                                                           \
                const T *from = x + h * p->in[1] + first * s + kw * v->dilation[1] - v->before[1];                     \
                T *sum = to + first;                                                                                   \
                if (p->which == KN_POOL_MEAN)                                                                          \
                    for (int64_t i = 0; i < last - first; i++) sum[i] += from[i * s];                                  \
                else                                                                                                   \
                    for (int64_t i = 0; i < last - first; i++)                                                         \
                        sum[i] = from[i * s] <= sum[i] || sum[i] != sum[i] ? sum[i] : from[i * s];                     \
            }                                                                                                          \
        }                                                                                                              \
        T count = (T)(v->size[0] * v->size[1]);                                                                        \
        for (int64_t i = 0; i < width && p->which == KN_POOL_MEAN; i++) to[i] /= count;                                \
    }
POOL_ROW(pool_f32, float)
POOL_ROW(pool_f64, double)

static void pool_rows(void *context, size_t begin, size_t end, int worker)
{
    const struct pool *p = context;
    int64_t height = p->window.places[0], width = p->window.places[1], plane = p->in[0] * p->in[1];
    (void)worker;
    for (size_t item = begin; item < end && !rt_interrupted(); item++) {
        int64_t line = (int64_t)item, from = line / height * plane;
        if (p->dtype == RT_FLOAT32)
            pool_f32(p, (const float *)p->x + from, line % height, (float *)p->out + line * width);
        else
            pool_f64(p, (const double *)p->x + from, line % height, (double *)p->out + line * width);
    }
}

struct pool_key {
    uint8_t what; /* 'o' */
    uint8_t dtype, which;
};

static void write_pool(const void *context, struct kn_text *t)
{
    const struct pool_key *k = context;
    bool mean = k->which == KN_POOL_MEAN;
    kn_put(
        t,
        "typedef %s V;\n"
        "struct Arguments { long long work, height, width, kh, kw, sh, sw, ph, pw, dh, dw, oh, ow; const V *x; V *out; };\n"
        "extern \"C\" __global__ void __launch_bounds__(256) kn(const Arguments p) {\n"
        "for (long long i = (long long)blockIdx.x * 256 + threadIdx.x; i < p.work; i += (long long)gridDim.x * 256) {\n"
        "const long long h0 = i / p.ow %% p.oh * p.sh - p.ph, w0 = i %% p.ow * p.sw - p.pw;\n"
        "const V *x = p.x + i / p.ow / p.oh * p.height * p.width;\n"
        "V r = %s;\n"
        "for (long long a = 0; a < p.kh; a++) for (long long b = 0; b < p.kw; b++) {\n"
        "const long long h = h0 + a * p.dh, w = w0 + b * p.dw;\n"
        "if (h < 0 || h >= p.height || w < 0 || w >= p.width) continue;\n"
        "const V v = x[h * p.width + w];\n%s;\n}\n"
        "p.out[i] = r%s;\n}\n}\n",
        kn_memory_type((enum rt_dtype)k->dtype), mean ? "0" : "-(V)(1e300 * 1e300)",
        mean ? "r += v" : "r = v <= r || r != r ? r : v", mean ? " / (V)(p.kh * p.kw)" : "");
}

static enum rt_status pool_cuda(const struct pool *p, const struct rt_array *x, const struct rt_array *out,
                                struct rt_error *e)
{
    struct pool_key k = {'o', (uint8_t)p->dtype, (uint8_t)p->which};
    const struct kn_window *v = &p->window;
    int64_t all = rt_array_size(out);
    const int64_t sizes[] = {all,          p->in[0],     p->in[1],     v->size[0],     v->size[1],     v->stride[0],
                             v->stride[1], v->before[0], v->before[1], v->dilation[0], v->dilation[1], v->places[0],
                             v->places[1]};
    struct kn_words w = {0};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) kn_word(&w, (uint64_t)sizes[i]);
    kn_word(&w, rt_array_address(x));
    kn_word(&w, rt_array_address(out));
    return kn_launch(rt_array_device(out),
                     &(struct kn_launch){.key = &k,
                                         .key_bytes = sizeof k,
                                         .write = write_pool,
                                         .context = &k,
                                         .words = &w,
                                         .blocks = (all + KN_THREADS - 1) / KN_THREADS},
                     e);
}

static enum rt_status compute(struct pool *p, const struct rt_array *x, const struct rt_array *out, struct rt_error *e)
{
    const struct kn_window *v = &p->window;
    int64_t lines = x->shape[0] * x->shape[1] * v->places[0];
    double each = (double)v->places[1] * (double)(v->size[0] * v->size[1]);
    if (rt_array_size(out) == 0) return RT_OK;
    if (kn_runs_generated(rt_array_device(out))) return pool_cuda(p, x, out, e);
    p->x = rt_array_host(x);
    p->out = rt_array_host(out);
    rt_parallel_for((size_t)lines, (size_t)(65536 / each) + 1, pool_rows, p);
    return rt_stopped(e);
}

enum rt_status kn_pool(const char *what, enum kn_pooling which, const struct rt_array *x,
                       const struct kn_window *window, struct rt_array *out, struct rt_error *e)
{
    struct pool p = {.which = which, .in = {x->shape[2], x->shape[3]}, .window = *window};
    int64_t shape[4] = {x->shape[0], x->shape[1], window->places[0], window->places[1]};
    struct rt_array whole = {0};
    memset(out, 0, sizeof *out);
    enum rt_status status = rt_array_alive(x, e);
    if (status == RT_OK) status = kn_conv_dtype(what, x->dtype, &p.dtype, e);
    if (status == RT_OK) status = kn_conv_operand(x, p.dtype, &whole, e);
    if (status == RT_OK) status = rt_array_new(rt_array_device(x), p.dtype, 4, shape, out, e);
    if (status == RT_OK) status = compute(&p, &whole, out, e);
    if (status == RT_OK) status = kn_conv_result(out, x->dtype, e);
    if (status != RT_OK) rt_array_release(out);
    rt_array_release(&whole);
    return status;
}
