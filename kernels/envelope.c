#include "kernels/envelope.h"
#include <stdlib.h>
#include <string.h>
#include "kernels/generate.h"
#include "runtime/interrupt.h"
#include "runtime/threads.h"

#define SIDE 16 /* lines that lie side by side and are copied together, so that whole cache lines are read */

typedef int64_t I64;
#define KN_FN static inline
KN_ENVELOPE_FUNCTION()
#undef KN_FN

struct lines {
    int64_t length, inner, count; /* elements of a line, distance between them, lines */
    double step2;
    const double *x;
    const int64_t *from;
    double *out;
    int64_t *to;
    int64_t side;  /* lines that are copied together */
    char *scratch; /* `bytes` for each thread */
    size_t bytes;
};

/* ---- the host's loops ---- */

static size_t scratch_bytes(const struct lines *l)
{
    size_t line = 2 * sizeof(double) + (l->from ? 2 * sizeof(int64_t) : 0);
    return (size_t)l->length * ((size_t)l->side * line + 2 * sizeof(int));
}

static void run_lines(void *context, size_t begin, size_t end, int worker)
{
    const struct lines *l = context;
    int64_t n = l->length, most = l->side, parts = (l->inner + most - 1) / most;
    double *x = (double *)(l->scratch + (size_t)worker * l->bytes), *out = x + most * n;
    int64_t *from = (int64_t *)(out + most * n), *to = from + most * n;
    int *which = l->from ? (int *)(to + most * n) : (int *)from, *where = which + n;
    for (size_t item = begin; item < end && !rt_interrupted(); item++) {
        int64_t first = (int64_t)item % parts * most, side = l->inner - first < most ? l->inner - first : most;
        int64_t at = (int64_t)item / parts * n * l->inner + first;
        for (int64_t i = 0; i < n; i++)
            for (int64_t k = 0; k < side; k++) {
                x[k * n + i] = l->x[at + i * l->inner + k];
                if (l->from) from[k * n + i] = l->from[at + i * l->inner + k];
            }
        for (int64_t k = 0; k < side; k++)
            envelope_(n, 1, l->step2, x + k * n, l->from ? from + k * n : NULL, which, where, out + k * n,
                      l->from ? to + k * n : NULL);
        for (int64_t i = 0; i < n; i++)
            for (int64_t k = 0; k < side; k++) {
                l->out[at + i * l->inner + k] = out[k * n + i];
                if (l->from) l->to[at + i * l->inner + k] = to[k * n + i];
            }
    }
}

static enum rt_status run_host(struct lines *l, const struct rt_array *x, const struct rt_array *from,
                               const struct rt_array *out, const struct rt_array *to, struct rt_error *e)
{
    l->side = l->inner < SIDE ? l->inner : SIDE;
    int64_t items = l->count / l->inner * ((l->inner + l->side - 1) / l->side);
    l->x = rt_array_host(x);
    l->out = rt_array_host(out);
    l->from = from ? rt_array_host(from) : NULL;
    l->to = from ? rt_array_host(to) : NULL;
    l->bytes = scratch_bytes(l);
    l->scratch = rt_alloc(l->bytes * (size_t)(items > 1 ? rt_thread_count() : 1));
    if (!l->scratch) return rt_fail(e, RT_NOMEM, "no memory for lines of %lld elements", (long long)l->length);
    rt_parallel_for((size_t)items, (size_t)((1 << 14) / (l->length * l->side) + 1), run_lines, l);
    free(l->scratch);
    return rt_stopped(e);
}

/* ---- generated CUDA C: a thread for each line ---- */

#define TEXT_(...) #__VA_ARGS__
#define TEXT(...)  TEXT_(__VA_ARGS__) "\n"
#define KN_FN      static __device__ inline
static const char function[] = "typedef long long I64;\n" TEXT(KN_ENVELOPE_FUNCTION());
static const char kernel[] =
    "struct Arguments { long long length, inner, count; double step2; const double *x; const long long *from;\n"
    "double *out; long long *to; int *which, *where; };\n"
    "extern \"C\" __global__ void __launch_bounds__(256) kn(const Arguments p) {\n"
    "for (long long i = (long long)blockIdx.x * 256 + threadIdx.x; i < p.count; i += (long long)gridDim.x * 256) {\n"
    "const long long at = i / p.inner * p.length * p.inner + i % p.inner;\n"
    "envelope_(p.length, p.inner, p.step2, p.x + at, p.from ? p.from + at : 0, p.which + at, p.where + at,\n"
    "p.out + at, p.to ? p.to + at : 0);\n"
    "}\n}\n";
#undef KN_FN

static void write_text(const void *context, struct kn_text *t)
{
    (void)context;
    kn_put(t, "%s%s", function, kernel);
}

static enum rt_status run_cuda(const struct lines *l, const struct rt_array *x, const struct rt_array *from,
                               const struct rt_array *out, const struct rt_array *to, struct rt_error *e)
{
    static const uint8_t key[] = {'~', 'e'};
    struct rt_array scratch = {0};
    struct kn_words w = {0};
    int64_t size = rt_array_size(x), twice = 2 * size;
    uint64_t step2;
    enum rt_status status = rt_array_new(rt_array_device(x), RT_INT32, 1, &twice, &scratch, e);
    if (status != RT_OK) return status;
    memcpy(&step2, &l->step2, sizeof step2);
    const uint64_t words[] = {
        (uint64_t)l->length,        (uint64_t)l->inner,
        (uint64_t)l->count,         step2,
        rt_array_address(x),        from ? rt_array_address(from) : 0,
        rt_array_address(out),      from ? rt_array_address(to) : 0,
        rt_array_address(&scratch), rt_array_address(&scratch) + (uint64_t)size * sizeof(int32_t)};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) kn_word(&w, words[i]);
    status = kn_launch(rt_array_device(x),
                       &(struct kn_launch){.key = key,
                                           .key_bytes = sizeof key,
                                           .write = write_text,
                                           .words = &w,
                                           .blocks = (l->count + KN_THREADS - 1) / KN_THREADS},
                       e);
    rt_array_release(&scratch);
    return status;
}

enum rt_status kn_envelope(const struct rt_array *x, const struct rt_array *from, int axis, double step2,
                           struct rt_array *out, struct rt_array *to, struct rt_error *e)
{
    struct lines l = {.length = x->shape[axis], .inner = 1, .step2 = step2};
    struct rt_device *d = rt_array_device(x);
    memset(out, 0, sizeof *out);
    if (from) memset(to, 0, sizeof *to);
    enum rt_status status = rt_array_new(d, RT_FLOAT64, x->ndim, x->shape, out, e);
    if (status == RT_OK && from) status = rt_array_new(d, RT_INT64, x->ndim, x->shape, to, e);
    for (int i = axis + 1; i < x->ndim; i++) l.inner *= x->shape[i];
    if (status == RT_OK && rt_array_size(x) > 0) {
        l.count = rt_array_size(x) / l.length;
        status = kn_runs_generated(d) ? run_cuda(&l, x, from, out, to, e) : run_host(&l, x, from, out, to, e);
    }
    if (status == RT_OK) return RT_OK;
    rt_array_release(out);
    if (from) rt_array_release(to);
    return status;
}
