/* Filters with feedback: shapes and dtypes, and the host's loops. */
#include "kernels/filter.h"
#include <string.h>
#include "kernels/program.h"
#include "kernels/statistics.h"
#include "runtime/interrupt.h"
#include "runtime/threads.h"

#define SIDE            64   /* rows that lie side by side and are gone through together */
#define STRETCH         4096 /* elements of a row between two looks whether somebody interrupts */
#define KNOWN_ORDER     8    /* of filters that the compiler knows the order of */
#define KNOWN_ORDERS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8)

struct host_filter {
    const struct kn_rows_filter *f;
    const double *x;
    double *state, *out;
};

/* One element of each of `count` rows side by side; states of a part of them are `rows` apart. */
static void filter_one(const struct kn_filter *f, int64_t rows, int64_t count, const double *x, double *state,
                       double *out)
{
    const double *b = f->b, *a = f->a;
    for (int64_t i = 0; i < count; i++) {
        double v = x[i], y = b[0] * v + state[i];
        double *z = state + i;
        for (int64_t k = 1; k < f->order; k++, z += rows) *z = b[k] * v + z[rows] - a[k] * y;
        *z = b[f->order] * v - a[f->order] * y;
        out[i] = y;
    }
}

/* Elements of one row that follow each other, in the same steps. Where the compiler knows the order the state stays in
 * registers, for it is all that the next element waits for. */
static inline __attribute__((always_inline)) void filter_along(const struct kn_filter *f, int64_t order, int64_t rows,
                                                               int64_t n, const double *x, double *state, double *out)
{
    double b[KNOWN_ORDER + 1], a[KNOWN_ORDER + 1], z[KNOWN_ORDER];
    for (int64_t k = 0; k <= order; k++) b[k] = f->b[k], a[k] = f->a[k];
    for (int64_t k = 0; k < order; k++) z[k] = state[k * rows];
    for (int64_t i = 0; i < n; i++) {
        const double v = x[i], y = b[0] * v + z[0];
#pragma GCC unroll 8
        for (int64_t k = 1; k < order; k++) z[k - 1] = b[k] * v + z[k] - a[k] * y;
        z[order - 1] = b[order] * v - a[order] * y;
        out[i] = y;
    }
    for (int64_t k = 0; k < order; k++) state[k * rows] = z[k];
}

/* `n` elements of `count` rows side by side. */
static void filter_some(const struct kn_rows_filter *f, int64_t n, int64_t count, const double *x, double *state,
                        double *out)
{
    switch (f->inner == 1 ? f->filter->order : 0) {
#define X(ORDER)                                                                                                       \
    case ORDER: filter_along(f->filter, ORDER, f->rows, n, x, state, out); return;
        KNOWN_ORDERS(X)
#undef X
    }
    for (int64_t i = 0; i < n; i++) filter_one(f->filter, f->rows, count, x + i * f->inner, state, out + i * f->inner);
}

static void filter_rows(void *context, size_t begin, size_t end, int worker)
{
    const struct host_filter *h = context;
    const struct kn_rows_filter *f = h->f;
    int64_t parts = (f->inner + SIDE - 1) / SIDE;
    (void)worker;
    for (size_t item = begin; item < end; item++) {
        int64_t outer = (int64_t)item / parts, first = (int64_t)item % parts * SIDE;
        int64_t count = f->inner - first < SIDE ? f->inner - first : SIDE, at = outer * f->length * f->inner + first;
        double *state = h->state + outer * f->inner + first;
        for (int64_t i = 0; i < f->length; i += STRETCH, at += STRETCH * f->inner) {
            if (rt_interrupted()) return;
            filter_some(f, f->length - i < STRETCH ? f->length - i : STRETCH, count, h->x + at, state, h->out + at);
        }
    }
}

static enum rt_status filter_host(const struct kn_rows_filter *f, const struct rt_array *x,
                                  const struct rt_array *state, const struct rt_array *out, struct rt_error *e)
{
    struct host_filter h = {f, rt_array_host(x), rt_array_host(state), rt_array_host(out)};
    int64_t items = f->rows / f->inner * ((f->inner + SIDE - 1) / SIDE);
    size_t grain = (size_t)((1 << 14) / f->length + 1);
    rt_parallel_for((size_t)items, grain, filter_rows, &h);
    return rt_stopped(e);
}

/* The axis first, as `order` parts of all rows, or back; both contiguous and of the same size. */
static enum rt_status turn_state(const struct rt_array *state, int axis, const struct rt_array *turned, bool back,
                                 struct rt_error *e)
{
    int order[RT_MAX_DIMS] = {axis};
    struct rt_array view = {0}, parts = {0};
    for (int i = 0, k = 1; i < state->ndim; i++)
        if (i != axis) order[k++] = i;
    enum rt_status status = rt_array_permute(state, order, &view, e);
    if (status == RT_OK) status = rt_array_reshape(turned, view.ndim, view.shape, &parts, e);
    if (status == RT_OK) status = back ? kn_copy(&view, &parts, e) : kn_copy(&parts, &view, e);
    rt_array_release(&view);
    rt_array_release(&parts);
    return status;
}

static enum rt_status run(const struct kn_rows_filter *f, const struct rt_array *x, int axis,
                          const struct rt_array *state, const struct rt_array *out, struct rt_error *e)
{
    int64_t shape[2] = {f->filter->order, f->rows};
    struct rt_array turned = {0};
    enum rt_status status = rt_array_new(rt_array_device(x), RT_FLOAT64, 2, shape, &turned, e);
    if (status == RT_OK) status = turn_state(state, axis, &turned, false, e);
    if (status == RT_OK)
        status = kn_runs_generated(rt_array_device(x)) ? kn_filter_cuda(f, x, &turned, out, e)
                                                       : filter_host(f, x, &turned, out, e);
    if (status == RT_OK) status = turn_state(state, axis, &turned, true, e);
    rt_array_release(&turned);
    return status;
}

enum rt_status kn_filter(const struct kn_filter *filter, const struct rt_array *x, int axis,
                         const struct rt_array *state, struct rt_array *out, struct rt_error *e)
{
    struct kn_rows_filter f = {.filter = filter, .length = x->shape[axis], .inner = 1};
    struct rt_array wide = {0}, result = {0};
    int64_t size = rt_array_size(x);
    memset(out, 0, sizeof *out);
    enum rt_status status = rt_array_alive(x, e);
    if (status == RT_OK) status = kn_check_real(x, "lfilter", e);
    if (status == RT_OK) status = kn_convert(x, RT_FLOAT64, rt_array_device(x), &wide, e);
    for (int i = axis + 1; i < x->ndim; i++) f.inner *= x->shape[i];
    if (status == RT_OK && size > 0) {
        f.rows = size / f.length;
        status = run(&f, &wide, axis, state, &wide, e);
    }
    if (status == RT_OK) status = kn_convert(&wide, kn_floating_dtype(x->dtype), rt_array_device(x), &result, e);
    rt_array_release(&wide);
    *out = result;
    return status;
}
