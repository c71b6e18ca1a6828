/* Reductions that are made of others: variance, norms, logsumexp, counts. Each adds to the program whose values it is
 * given, reduces that, and makes one more program of what becomes of the result: no elements are stored. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/order.h"
#include "kernels/program.h"

/* A program under construction; the first failure stays. */
struct build {
    struct kn_program p;
    enum rt_status status;
    struct rt_error *e;
};

/* Goes on with a program, or starts anew; returns the last node of that. */
static int start(struct build *b, const struct kn_program *p, struct rt_error *e)
{
    b->status = RT_OK;
    b->e = e;
    kn_program_start(&b->p);
    if (p) b->p = *p;
    return b->p.count - 1;
}

static int leaf(struct build *b, const struct rt_array *a)
{
    int node = 0;
    if (b->status == RT_OK) b->status = kn_program_array(&b->p, a, &node, b->e);
    return node;
}

static int number(struct build *b, double value)
{
    int node = 0;
    struct kn_operand n = {.is_float = true, .f = value};
    if (b->status == RT_OK) b->status = kn_program_number(&b->p, &n, &node, b->e);
    return node;
}

static int convert(struct build *b, int x, enum rt_dtype t)
{
    int node = 0;
    if (b->status == RT_OK) b->status = kn_program_convert(&b->p, x, t, &node, b->e);
    return node;
}

static int op(struct build *b, enum kn_op operation, int x, int y)
{
    int node = 0;
    if (b->status == RT_OK) b->status = kn_program_op(&b->p, operation, (int[]){x, y, y}, &node, b->e);
    return node;
}

static enum rt_status run(struct build *b, struct rt_array *out)
{
    return b->status == RT_OK ? kn_program_run(&b->p, out, b->e) : b->status;
}

static enum rt_status reduce(struct build *b, enum kn_reduction k, unsigned axes, bool keepdims, struct rt_array *out)
{
    return b->status == RT_OK ? kn_program_reduce(&b->p, k, axes, keepdims, out, b->e) : b->status;
}

/* What is computed in, and what the result is rounded to. */
static enum rt_dtype wide_dtype(enum rt_dtype t)
{
    if (rt_is_complex(t)) return t;
    if (rt_dtypes[t].kind != 'f') return RT_FLOAT64;
    return rt_dtypes[t].size == 2 ? RT_FLOAT32 : t;
}
static enum rt_dtype result_dtype(enum rt_dtype t)
{
    if (rt_dtypes[t].kind == 'f' || rt_is_complex(t)) return rt_real_of(t);
    return rt_dtypes[t].size == 8 ? RT_FLOAT64 : RT_FLOAT32;
}

static int64_t reduced_length(const struct rt_array *a, unsigned axes)
{
    int64_t n = 1;
    for (int i = 0; i < a->ndim; i++)
        if (axes >> i & 1) n *= a->shape[i];
    return n;
}

/* Finds out what the values are like. */
static enum rt_status check(const char *what, const struct kn_program *p, unsigned *axes, struct rt_array *values,
                            struct rt_error *e)
{
    enum rt_status status = kn_check_devices(p->arrays, p->leaves, e);
    if (status == RT_OK) status = kn_program_form(p, values, e);
    if (status != RT_OK) return status;
    unsigned all = (1u << values->ndim) - 1;
    if (*axes != KN_ALL_AXES && *axes & ~all)
        return rt_fail(e, RT_INVALID, "%s: there is no axis %d, the array has %d", what,
                       32 - __builtin_clz(*axes & ~all), values->ndim);
    *axes &= all;
    return RT_OK;
}

static enum rt_status finish_variance(const struct rt_array *sum, double divisor, bool root, enum rt_dtype t,
                                      struct rt_array *out, struct rt_error *e)
{
    struct build b;
    start(&b, NULL, e);
    int x = op(&b, KN_DIV, leaf(&b, sum), number(&b, divisor));
    if (root) x = op(&b, KN_SQRT, x, x);
    convert(&b, x, t);
    return run(&b, out);
}

enum rt_status kn_variance(const struct kn_program *p, unsigned axes, bool keepdims, double ddof, bool root,
                           struct rt_array *out, struct rt_error *e)
{
    struct rt_array values, mean = {0}, sum = {0};
    struct build b;
    const char *name = root ? "std" : "var";
    memset(out, 0, sizeof *out);
    enum rt_status status = check(name, p, &axes, &values, e);
    if (status != RT_OK) return status;
    enum rt_dtype wide = wide_dtype(values.dtype);
    int64_t n = reduced_length(&values, axes);
    if (n == 0) return rt_fail(e, RT_INVALID, "%s of no elements has no value", name);
    convert(&b, start(&b, p, e), wide);
    status = reduce(&b, KN_MEAN, axes, true, &mean);
    if (status == RT_OK) {
        int x = convert(&b, start(&b, p, e), wide);
        x = op(&b, KN_SUB, x, leaf(&b, &mean));
        if (rt_is_complex(wide)) x = op(&b, KN_ABS, x, x);
        op(&b, KN_SQUARE, x, x);
        status = reduce(&b, KN_SUM, axes, keepdims, &sum);
    }
    if (status == RT_OK)
        status = finish_variance(&sum, fmax((double)n - ddof, 0), root, result_dtype(values.dtype), out, e);
    rt_array_release(&mean);
    rt_array_release(&sum);
    return status;
}

static enum rt_status finish_norm(const struct rt_array *sum, double order, enum rt_dtype t, struct rt_array *out,
                                  struct rt_error *e)
{
    struct build b;
    start(&b, NULL, e);
    int x = leaf(&b, sum);
    if (order == 2)
        x = op(&b, KN_SQRT, x, x);
    else if (order != 0 && order != 1 && isfinite(order))
        x = op(&b, KN_POW, x, number(&b, 1 / order));
    convert(&b, x, t);
    return run(&b, out);
}

enum rt_status kn_norm(const struct kn_program *p, unsigned axes, bool keepdims, double order, struct rt_array *out,
                       struct rt_error *e)
{
    struct rt_array values, sum = {0};
    struct build b;
    memset(out, 0, sizeof *out);
    enum rt_status status = check("norm", p, &axes, &values, e);
    if (status != RT_OK) return status;
    if (isnan(order)) return rt_fail(e, RT_INVALID, "norm: the order is NaN");
    enum rt_dtype wide = wide_dtype(values.dtype);
    int x = convert(&b, start(&b, p, e), wide);
    if (rt_is_complex(wide)) x = op(&b, KN_ABS, x, x);
    enum kn_reduction k = order == INFINITY ? KN_MAX : order == -INFINITY ? KN_MIN : KN_SUM;
    if (order == 2) {
        op(&b, KN_SQUARE, x, x);
    } else if (order == 0) {
        convert(&b, op(&b, KN_NE, x, number(&b, 0)), rt_real_of(wide));
    } else {
        x = op(&b, KN_ABS, x, x);
        if (order != 1 && isfinite(order)) op(&b, KN_POW, x, number(&b, order));
    }
    status = reduce(&b, k, axes, keepdims, &sum);
    if (status == RT_OK) status = finish_norm(&sum, order, result_dtype(values.dtype), out, e);
    rt_array_release(&sum);
    return status;
}

/* The greatest element, or 0 where that is infinite or NaN: subtracting it must give no NaN where there was none. */
static enum rt_status finite_max(const struct kn_program *p, enum rt_dtype wide, unsigned axes, struct rt_array *out,
                                 struct rt_error *e)
{
    struct rt_array max = {0};
    struct build b;
    enum rt_status status;
    convert(&b, start(&b, p, e), wide);
    status = reduce(&b, KN_MAX, axes, true, &max);
    if (status == RT_OK) {
        int node = 0;
        start(&b, NULL, e);
        int x = leaf(&b, &max), zero = number(&b, 0), finite = op(&b, KN_ISFINITE, x, x);
        if (b.status == RT_OK) b.status = kn_program_op(&b.p, KN_WHERE, (int[]){finite, x, zero}, &node, e);
        status = run(&b, out);
    }
    rt_array_release(&max);
    return status;
}

static enum rt_status finish_logsumexp(const struct rt_array *sum, const struct rt_array *max, enum rt_dtype t,
                                       struct rt_array *out, struct rt_error *e)
{
    struct build b;
    start(&b, NULL, e);
    int x = leaf(&b, sum);
    convert(&b, op(&b, KN_ADD, op(&b, KN_LOG, x, x), leaf(&b, max)), t);
    return run(&b, out);
}

enum rt_status kn_logsumexp(const struct kn_program *p, unsigned axes, bool keepdims, struct rt_array *out,
                            struct rt_error *e)
{
    struct rt_array values, max = {0}, sum = {0};
    struct build b;
    memset(out, 0, sizeof *out);
    enum rt_status status = check("logsumexp", p, &axes, &values, e);
    if (status == RT_OK) status = kn_check_real(&values, "logsumexp", e);
    if (status != RT_OK) return status;
    if (reduced_length(&values, axes) == 0) {
        int ndim;
        int64_t shape[RT_MAX_DIMS];
        kn_reduced_shape(&values, axes, keepdims, &ndim, shape);
        status = rt_array_new(rt_array_device(p->arrays[0]), result_dtype(values.dtype), ndim, shape, out, e);
        if (status == RT_OK) status = kn_fill(out, &(struct kn_operand){.is_float = true, .f = -INFINITY}, e);
        if (status != RT_OK) rt_array_release(out);
        return status;
    }
    enum rt_dtype wide = wide_dtype(values.dtype);
    status = finite_max(p, wide, axes, &max, e);
    if (status == RT_OK) {
        int x = convert(&b, start(&b, p, e), wide);
        x = op(&b, KN_SUB, x, leaf(&b, &max));
        op(&b, KN_EXP, x, x);
        status = reduce(&b, KN_SUM, axes, true, &sum);
    }
    if (status == RT_OK) status = finish_logsumexp(&sum, &max, result_dtype(values.dtype), out, e);
    if (status == RT_OK) /* the axes of one element go last, when sum and max need not be matched any more */
        kn_reduced_shape(&values, axes, keepdims, &out->ndim, out->shape);
    if (status == RT_OK)
        for (int i = out->ndim; i-- > 0;)
            out->strides[i] =
                i == out->ndim - 1 ? 1 : out->strides[i + 1] * (out->shape[i + 1] > 0 ? out->shape[i + 1] : 1);
    rt_array_release(&max);
    rt_array_release(&sum);
    return status;
}

enum rt_status kn_count_nonzero(const struct kn_program *p, unsigned axes, bool keepdims, struct rt_array *out,
                                struct rt_error *e)
{
    struct rt_array values;
    struct build b;
    memset(out, 0, sizeof *out);
    enum rt_status status = check("count_nonzero", p, &axes, &values, e);
    if (status != RT_OK) return status;
    convert(&b, start(&b, p, e), RT_BOOL);
    return reduce(&b, KN_SUM, axes, keepdims, out);
}

/* ---- quantiles ---- */

/* The array as rows of what is to be reduced: contiguous, the reduced axes merged and last, in the wide dtype. */
static enum rt_status make_rows(const struct rt_array *a, unsigned axes, struct rt_array *rows, struct rt_error *e)
{
    struct rt_array moved = {0}, whole = {0};
    int order[RT_MAX_DIMS], n = 0, kept;
    int64_t shape[RT_MAX_DIMS + 1];
    for (int i = 0; i < a->ndim; i++)
        if (!(axes >> i & 1)) order[n++] = i;
    kept = n;
    for (int i = 0; i < a->ndim; i++)
        if (axes >> i & 1) order[n++] = i;
    for (int i = 0; i < kept; i++) shape[i] = a->shape[order[i]];
    shape[kept] = reduced_length(a, axes);
    if (kept == RT_MAX_DIMS) return rt_fail(e, RT_INVALID, "quantile: no axis is named");
    enum rt_dtype wide = wide_dtype(a->dtype);
    enum rt_status status = rt_array_permute(a, order, &moved, e);
    if (status == RT_OK)
        status = wide == a->dtype ? kn_contiguous(&moved, &whole, e)
                                  : kn_convert(&moved, wide, rt_array_device(a), &whole, e);
    if (status == RT_OK) status = rt_array_reshape(&whole, kept + 1, shape, rows, e);
    rt_array_release(&moved);
    rt_array_release(&whole);
    return status;
}

/* Writes one quantile of sorted rows. */
static enum rt_status write_quantile(const struct rt_array *sorted, double q, struct rt_array *out, struct rt_error *e)
{
    struct rt_array parts[3] = {{0}};
    int last = sorted->ndim - 1, node;
    int64_t n = sorted->shape[last];
    double place = q * (double)(n - 1);
    int64_t at = (int64_t)floor(place);
    double rest = place - (double)at;
    const int64_t places[3] = {at, at + 1 < n ? at + 1 : at, n - 1};
    enum rt_status status = RT_OK;
    for (int i = 0; i < 3 && status == RT_OK; i++) status = rt_array_select(sorted, last, places[i], &parts[i], e);
    if (status == RT_OK) {
        struct build b;
        start(&b, NULL, e);
        int low = leaf(&b, &parts[0]), high = leaf(&b, &parts[1]), greatest = leaf(&b, &parts[2]);
        int distance = op(&b, KN_SUB, high, low), equal = op(&b, KN_EQ, low, high);
        int between = rest < 0.5 ? op(&b, KN_ADD, low, op(&b, KN_MUL, distance, number(&b, rest)))
                                 : op(&b, KN_SUB, high, op(&b, KN_MUL, distance, number(&b, 1 - rest)));
        int is_nan = op(&b, KN_NE, greatest, greatest); /* NaN is last */
        if (rest == 0) between = low;
        if (b.status == RT_OK) b.status = kn_program_op(&b.p, KN_WHERE, (int[]){equal, low, between}, &node, e);
        if (b.status == RT_OK) b.status = kn_program_op(&b.p, KN_WHERE, (int[]){is_nan, greatest, node}, &node, e);
        status = run(&b, out);
    }
    for (int i = 0; i < 3; i++) rt_array_release(&parts[i]);
    return status;
}

static enum rt_status write_quantiles(const struct rt_array *sorted, const double *q, int64_t count,
                                      const struct rt_array *out, struct rt_error *e)
{
    struct rt_array flat = {0}, place = {0};
    int64_t shape[RT_MAX_DIMS + 1] = {count};
    for (int i = 0; i + 1 < sorted->ndim; i++) shape[i + 1] = sorted->shape[i];
    enum rt_status status = rt_array_reshape(out, sorted->ndim, shape, &flat, e);
    for (int64_t i = 0; i < count && status == RT_OK; i++) {
        status = rt_array_select(&flat, 0, i, &place, e);
        if (status == RT_OK) status = write_quantile(sorted, q[i], &place, e);
        rt_array_release(&place);
    }
    rt_array_release(&flat);
    return status;
}

static int by_place(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Rows of n elements in order, as far as quantiles look at them: where each lies, its neighbour, and the last. */
static enum rt_status sort_for(const struct rt_array *rows, const double *q, int64_t count, struct rt_array *sorted,
                               struct rt_error *e)
{
    int64_t n = rows->shape[rows->ndim - 1], wanted = 0;
    int64_t *places = rt_alloc((size_t)(2 * count + 1) * sizeof *places);
    if (!places) return rt_fail(e, RT_NOMEM, "out of memory for %lld quantiles", (long long)count);
    for (int64_t i = 0; i < count; i++) {
        int64_t at = (int64_t)floor(q[i] * (double)(n - 1));
        places[wanted++] = at;
        places[wanted++] = at + 1 < n ? at + 1 : at;
    }
    places[wanted++] = n - 1;
    qsort(places, (size_t)wanted, sizeof *places, by_place);
    enum rt_status status = kn_select(rows, rows->ndim - 1, false, places, wanted, sorted, NULL, e);
    free(places);
    return status;
}

enum rt_status kn_quantile(const struct rt_array *a, unsigned axes, bool keepdims, const double *q, int64_t count,
                           bool list, struct rt_array *out, struct rt_error *e)
{
    struct rt_array values, rows = {0}, sorted = {0};
    struct build b;
    int64_t shape[RT_MAX_DIMS + 1] = {count};
    int ndim;
    memset(out, 0, sizeof *out);
    start(&b, NULL, e);
    leaf(&b, a);
    enum rt_status status = check("quantile", &b.p, &axes, &values, e);
    if (status == RT_OK) status = kn_check_real(a, "quantile", e);
    if (status != RT_OK) return status;
    for (int64_t i = 0; i < count; i++)
        if (!(q[i] >= 0 && q[i] <= 1)) return rt_fail(e, RT_INVALID, "a quantile is from 0 to 1, not %.17g", q[i]);
    if (reduced_length(a, axes) == 0) return rt_fail(e, RT_INVALID, "quantiles of no elements have no value");
    kn_reduced_shape(a, axes, keepdims, &ndim, shape + list);
    status = make_rows(a, axes, &rows, e);
    if (status == RT_OK) status = sort_for(&rows, q, count, &sorted, e);
    if (status == RT_OK) status = rt_array_new(rt_array_device(a), result_dtype(a->dtype), ndim + list, shape, out, e);
    if (status == RT_OK && rt_array_size(out) > 0) status = write_quantiles(&sorted, q, count, out, e);
    rt_array_release(&rows);
    rt_array_release(&sorted);
    if (status != RT_OK) rt_array_release(out);
    return status;
}
