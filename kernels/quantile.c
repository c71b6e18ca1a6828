/* Quantiles. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/order.h"
#include "kernels/host.h"
#include "kernels/program.h"
#include "kernels/reduce.h"
#include "kernels/sort.h"
#include "kernels/statistics.h"

/* A program under construction; the first failure stays. */
struct build {
    struct kn_program p;
    enum rt_status status;
    struct rt_error *e;
};

static void start(struct build *b, struct rt_error *e)
{
    b->status = RT_OK;
    b->e = e;
    kn_program_start(&b->p);
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
    shape[kept] = kn_reduced_length(a, axes);
    if (kept == RT_MAX_DIMS) return rt_fail(e, RT_INVALID, "quantile: no axis is named");
    enum rt_dtype wide = kn_wide_dtype(a->dtype);
    enum rt_status status = rt_array_permute(a, order, &moved, e);
    if (status == RT_OK)
        status = wide == a->dtype ? kn_contiguous(&moved, &whole, e)
                                  : kn_convert(&moved, wide, rt_array_device(a), &whole, e);
    if (status == RT_OK) status = rt_array_reshape(&whole, kept + 1, shape, rows, e);
    rt_array_release(&moved);
    rt_array_release(&whole);
    return status;
}

const struct kn_quantile_rule kn_quantile_rules[KN_QUANTILE_METHODS] = {
    [KN_LINEAR] = {"linear", 1, 1, KN_ON_LINE},
    {"lower", 1, 1, KN_DOWN},
    {"higher", 1, 1, KN_UP},
    {"midpoint", 1, 1, KN_HALF},
    {"nearest", 1, 1, KN_EVEN_FROM_0},
    {"inverted_cdf", 0, 1, KN_UP},
    {"averaged_inverted_cdf", 0, 1, KN_NEXT_HALF},
    {"closest_observation", 0, 1, KN_EVEN_FROM_1},
    {"interpolated_inverted_cdf", 0, 1, KN_ON_LINE},
    {"hazen", 0.5, 0.5, KN_ON_LINE},
    {"weibull", 0, 0, KN_ON_LINE},
    {"median_unbiased", 1 / 3.0, 1 / 3.0, KN_ON_LINE},
    {"normal_unbiased", 3 / 8.0, 3 / 8.0, KN_ON_LINE},
};

static double step_by(enum kn_quantile_step step, double place)
{
    switch (step) {
    case KN_DOWN: return floor(place);
    case KN_UP: return ceil(place);
    case KN_HALF: return (floor(place) + ceil(place)) / 2;
    case KN_NEXT_HALF: return (floor(place) + 1 + ceil(place)) / 2;
    case KN_EVEN_FROM_0: return rint(place);
    case KN_EVEN_FROM_1: return rint(place + 1) - 1;
    case KN_ON_LINE: break;
    }
    return place;
}

static double place_of(enum kn_quantile_method method, double q, int64_t elements)
{
    const struct kn_quantile_rule *r = &kn_quantile_rules[method];
    const double n = (double)elements;
    const double place = kn_quantile_reaches_ends(r) ? q * (n - 1) : n * q + (r->low + q * (1 - r->low - r->high)) - 1;
    return fmax(0, fmin(step_by(r->step, place), n - 1));
}

/* So far between two neighbours that differ; half way it is their mean, which their distance could be too large for. */
static int between(struct build *b, int low, int high, double rest)
{
    if (rest == 0) return low;
    if (rest == 0.5) return op(b, KN_ADD, op(b, KN_MUL, low, number(b, 0.5)), op(b, KN_MUL, high, number(b, 0.5)));
    int distance = op(b, KN_SUB, high, low);
    return rest < 0.5 ? op(b, KN_ADD, low, op(b, KN_MUL, distance, number(b, rest)))
                      : op(b, KN_SUB, high, op(b, KN_MUL, distance, number(b, 1 - rest)));
}

/* One quantile of sorted rows, to be computed. */
struct quantile {
    struct rt_array parts[3], place; /* where it goes, of the output */
    struct build b;
};

static void choose_parts(struct quantile *x, const struct rt_array *sorted, double q, enum kn_quantile_method method,
                         struct rt_error *e)
{
    struct build *b = &x->b;
    int last = sorted->ndim - 1, node;
    int64_t n = sorted->shape[last];
    double place = place_of(method, q, n);
    int64_t at = (int64_t)floor(place);
    const int64_t places[3] = {at, at + 1 < n ? at + 1 : at, n - 1};
    start(b, e);
    for (int i = 0; i < 3 && b->status == RT_OK; i++)
        b->status = rt_array_select(sorted, last, places[i], &x->parts[i], e);
    int low = leaf(b, &x->parts[0]), high = leaf(b, &x->parts[1]), greatest = leaf(b, &x->parts[2]);
    int equal = op(b, KN_EQ, low, high), value = between(b, low, high, place - (double)at);
    int is_nan = op(b, KN_NE, greatest, greatest); /* NaN is last */
    if (b->status == RT_OK) b->status = kn_program_op(&b->p, KN_WHERE, (int[]){equal, low, value}, &node, e);
    if (b->status == RT_OK) b->status = kn_program_op(&b->p, KN_WHERE, (int[]){is_nan, greatest, node}, &node, e);
}

#define TOGETHER 4 /* quantiles whose kernels are made together */

/* Writes quantiles of sorted rows, from the first-th on and TOGETHER at most, into `flat`, along its first axis. */
static enum rt_status write_some(const struct rt_array *sorted, const struct kn_quantiles *x, int64_t first,
                                 const struct rt_array *flat, struct rt_error *e)
{
    const int count = x->count - first < TOGETHER ? (int)(x->count - first) : TOGETHER;
    struct quantile *all = rt_calloc((size_t)count, sizeof *all);
    const struct kn_program *programs[TOGETHER];
    const struct rt_array *places[TOGETHER];
    enum rt_status status = RT_OK;
    if (!all) return rt_fail(e, RT_NOMEM, "out of memory for quantiles");
    for (int i = 0; i < count && status == RT_OK; i++) {
        choose_parts(&all[i], sorted, x->q[first + i], x->method, e);
        programs[i] = &all[i].b.p;
        places[i] = &all[i].place;
        status = all[i].b.status;
        if (status == RT_OK) status = rt_array_select(flat, 0, first + i, &all[i].place, e);
    }
    if (status == RT_OK) kn_programs_follow(programs, places, count);
    for (int i = 0; i < count && status == RT_OK; i++) status = run(&all[i].b, &all[i].place);
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < 3; k++) rt_array_release(&all[i].parts[k]);
        rt_array_release(&all[i].place);
    }
    free(all);
    return status;
}

static enum rt_status write_quantiles(const struct rt_array *sorted, const struct kn_quantiles *x,
                                      const struct rt_array *out, struct rt_error *e)
{
    struct rt_array flat = {0};
    int64_t shape[RT_MAX_DIMS + 1] = {x->count};
    for (int i = 0; i + 1 < sorted->ndim; i++) shape[i + 1] = sorted->shape[i];
    enum rt_status status = rt_array_reshape(out, sorted->ndim, shape, &flat, e);
    for (int64_t i = 0; i < x->count && status == RT_OK; i += TOGETHER) status = write_some(sorted, x, i, &flat, e);
    rt_array_release(&flat);
    return status;
}

/* What choose_parts has computed, of one sorted row. */
#define QUANTILE(T)                                                                                                    \
    static T quantile_##T(const T *sorted, int64_t n, double place)                                                    \
    {                                                                                                                  \
        const int64_t at = (int64_t)floor(place);                                                                      \
        const double rest = place - (double)at;                                                                        \
        const T low = sorted[at], high = sorted[at + 1 < n ? at + 1 : at], greatest = sorted[n - 1];                   \
        if (greatest != greatest) return greatest;                                                                     \
        if (rest == 0 || low == high) return low;                                                                      \
        if (rest == 0.5) return low * (T)0.5 + high * (T)0.5;                                                          \
        return rest < 0.5 ? low + (high - low) * (T)rest : high - (high - low) * (T)(1 - rest);                        \
    }
QUANTILE(float)
QUANTILE(double)

bool kn_small_quantile(const struct rt_array *a, double q, enum kn_quantile_method method, void *element)
{
    _Alignas(64) char sorted[KN_BLOCK * 8];
    if ((a->dtype != RT_FLOAT32 && a->dtype != RT_FLOAT64) || !(q >= 0 && q <= 1) || !kn_is_small(a)) return false;
    const int64_t n = rt_array_size(a);
    const double place = place_of(method, q, n);
    const int64_t at = (int64_t)floor(place);
    const int64_t places[3] = {at, at + 1 < n ? at + 1 : at, n - 1};
    if (!kn_sort_few(&(struct kn_sorter){.a = a, .rows = 1, .length = n, .places = places, .wanted = 3}, sorted))
        return false;
    if (a->dtype == RT_FLOAT32)
        *(float *)element = quantile_float((const float *)(const void *)sorted, n, place);
    else
        *(double *)element = quantile_double((const double *)(const void *)sorted, n, place);
    return true;
}

static int by_place(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Rows of n elements in order, as far as quantiles look at them: where each lies, its neighbour, and the last. */
static enum rt_status sort_for(const struct rt_array *rows, const struct kn_quantiles *x, struct rt_array *sorted,
                               struct rt_error *e)
{
    int64_t n = rows->shape[rows->ndim - 1], wanted = 0;
    int64_t *places = rt_alloc((size_t)(2 * x->count + 1) * sizeof *places);
    if (!places) return rt_fail(e, RT_NOMEM, "out of memory for %lld quantiles", (long long)x->count);
    for (int64_t i = 0; i < x->count; i++) {
        int64_t at = (int64_t)place_of(x->method, x->q[i], n);
        places[wanted++] = at;
        places[wanted++] = at + 1 < n ? at + 1 : at;
    }
    places[wanted++] = n - 1;
    qsort(places, (size_t)wanted, sizeof *places, by_place);
    enum rt_status status = kn_select(rows, rows->ndim - 1, false, places, wanted, sorted, NULL, e);
    free(places);
    return status;
}

static enum rt_status check_quantiles(const struct rt_array *a, const struct kn_quantiles *x, unsigned axes,
                                      struct rt_error *e)
{
    const unsigned all = (1u << a->ndim) - 1;
    enum rt_status status = rt_array_alive(a, e);
    if (status == RT_OK) status = kn_check_real(a, x->what, e);
    if (status != RT_OK) return status;
    if (axes != KN_ALL_AXES && axes & ~all)
        return rt_fail(e, RT_INVALID, "%s: there is no axis %d, the array has %d", x->what,
                       32 - __builtin_clz(axes & ~all), a->ndim);
    for (int64_t i = 0; i < x->count; i++)
        if (!(x->q[i] >= 0 && x->q[i] <= 1))
            return rt_fail(e, RT_INVALID, "a quantile is from 0 to 1, not %.17g", x->q[i]);
    if (kn_reduced_length(a, axes & all) == 0) return rt_fail(e, RT_INVALID, "%s of no elements has no value", x->what);
    return RT_OK;
}

enum rt_status kn_quantile(const struct rt_array *a, const struct kn_quantiles *x, unsigned axes, bool keepdims,
                           struct rt_array *out, struct rt_error *e)
{
    struct rt_array rows = {0}, sorted = {0};
    int64_t shape[RT_MAX_DIMS + 1] = {x->count};
    int ndim;
    memset(out, 0, sizeof *out);
    enum rt_status status = check_quantiles(a, x, axes, e);
    if (status != RT_OK) return status;
    axes &= (1u << a->ndim) - 1;
    kn_reduced_shape(a, axes, keepdims, &ndim, shape + x->list);
    status = make_rows(a, axes, &rows, e);
    if (status == RT_OK) status = sort_for(&rows, x, &sorted, e);
    if (status == RT_OK)
        status = rt_array_new(rt_array_device(a), kn_floating_dtype(a->dtype), ndim + x->list, shape, out, e);
    if (status == RT_OK && rt_array_size(out) > 0) status = write_quantiles(&sorted, x, out, e);
    rt_array_release(&rows);
    rt_array_release(&sorted);
    if (status != RT_OK) rt_array_release(out);
    return status;
}
