#include "kernels/statistics.h"
#include <math.h>
#include <string.h>
#include "kernels/host.h"
#include "kernels/reduce.h"

#define MOST_NODES 24 /* that a statistic adds */
#define ROOM       98304

/* What a statistic of a small array has computed: its values, each in memory one after the other. */
struct small {
    struct {
        struct rt_array form; /* of dtype and shape alone, of one axis */
        const void *values;
    } made[MOST_NODES];
    size_t used;
    _Alignas(64) char room[ROOM];
};

/* An expression under construction; the first failure stays. */
struct build {
    enum rt_status status;
    struct rt_error *e;
    unsigned axes;
    int count;
    struct kn_expression *made[MOST_NODES];
    struct small *small; /* NULL: an expression is made */
    int64_t results;     /* of a small matrix, 0: all elements are combined; */
    bool down;           /* those of its columns, else of its rows */
};

static struct kn_source keep(struct build *b, struct kn_expression *x)
{
    if (b->status != RT_OK) return (struct kn_source){0};
    b->made[b->count++] = x;
    return (struct kn_source){.expression = x};
}

static enum rt_dtype dtype_of(const struct kn_source *x)
{
    if (x->expression) return kn_expression_form(x->expression)->dtype;
    return x->operand.array ? x->operand.array->dtype : RT_FLOAT32; /* nothing, after a failure */
}

static struct kn_source number(double value)
{
    return (struct kn_source){.operand = {.is_float = true, .f = value}};
}

/* ---- the steps of a small array ---- */
static void *take(struct build *b, enum rt_dtype t, int64_t n)
{
    size_t bytes = ((size_t)n * kn_classes[kn_class_of(t)].size + 63) / 64 * 64;
    if (bytes > ROOM - b->small->used) b->status = RT_UNSUPPORTED;
    if (b->status != RT_OK) return NULL;
    b->small->used += bytes;
    return b->small->room + b->small->used - bytes;
}

static struct kn_source note(struct build *b, const void *values, enum rt_dtype t, int64_t n)
{
    if (b->count == MOST_NODES) b->status = RT_UNSUPPORTED;
    if (b->status != RT_OK) return (struct kn_source){0};
    struct rt_array *form = &b->small->made[b->count].form;
    form->dtype = t;
    form->ndim = 1;
    form->shape[0] = n;
    b->small->made[b->count++].values = values;
    return (struct kn_source){.operand = {.array = form}};
}

static const void *values_of(const struct build *b, const struct rt_array *form)
{
    int i = 0;
    while (&b->small->made[i].form != form) i++;
    return b->small->made[i].values;
}

/* Each result for all elements that it is of. */
static void spread_results(const struct build *b, enum rt_dtype t, char *block, const char *results, int64_t n)
{
    const size_t value = kn_classes[kn_class_of(t)].size, length = (size_t)(n / b->results);
    const size_t part = (b->down ? (size_t)b->results : length) * value;
    for (char *end = block + (size_t)n * value; block < end; block += part) {
        if (b->down) {
            memcpy(block, results, part);
            continue;
        }
        kn_spread(t, block, results, length);
        results += value;
    }
}

/* An operand's n values of the dtype that it has, or that a number gets. */
static const void *small_operand(struct build *b, const struct kn_source *x, enum rt_dtype t, int64_t n)
{
    const struct rt_array *form = x->operand.array;
    if (b->status != RT_OK) return NULL;
    if (form && form->shape[0] == n) return values_of(b, form);
    char *block = take(b, t, n);
    if (block && form && form->shape[0] == b->results) {
        spread_results(b, t, block, values_of(b, form), n);
        return block;
    }
    if (block && form)
        kn_spread(t, block, values_of(b, form), (size_t)n);
    else if (block)
        kn_fill_block(block, t, &x->operand, (size_t)n);
    return block;
}

/* Of floats, which the operation leaves in their dtype or finds to be true of. */
static struct kn_source small_op(struct build *b, enum kn_op op, const struct kn_source *const sources[3])
{
    const struct rt_array *first = sources[0]->operand.array;
    const int arity = kn_ops[op].arity;
    const enum kn_rule rule = kn_op_texts[op].rule;
    const bool truth = rule == KN_RULE_PREDICATE || rule == KN_RULE_COMPARE;
    const enum rt_dtype t = dtype_of(arity < 3 ? sources[0] : sources[1]->operand.array ? sources[1] : sources[2]);
    const void *values[3] = {NULL};
    if (b->status != RT_OK || !first) return *sources[0];
    int64_t n = first->shape[0];
    for (int i = 0; i < arity && i < 3; i++) values[i] = small_operand(b, sources[i], i == 0 ? first->dtype : t, n);
    void *to = take(b, truth ? RT_BOOL : t, n);
    if (to) kn_host_loops()->ops[op][kn_class_of(t)](to, values[0], values[1], values[2], (size_t)n);
    return note(b, to, truth ? RT_BOOL : t, n);
}

static struct kn_source small_convert(struct build *b, struct kn_source x, enum rt_dtype t)
{
    if (b->status != RT_OK || !x.operand.array) return x;
    int64_t n = x.operand.array->shape[0];
    void *to = take(b, t, n);
    if (to)
        kn_host_loops()->convert[kn_class_of(x.operand.array->dtype)][t](to, values_of(b, x.operand.array), (size_t)n);
    return note(b, to, t, n);
}

/* Columns row after row, as those of few rows are anyway; rows one by one. */
static struct kn_source small_sums(struct build *b, struct kn_source x, enum rt_dtype t)
{
    enum kn_class class = kn_class_of(t);
    const size_t n = (size_t)b->results, all = (size_t)x.operand.array->shape[0], value = kn_classes[class].size;
    const char *values = values_of(b, x.operand.array), *end = values + all * value;
    char *to = take(b, t, b->results);
    if (!to) return x;
    struct kn_source sums = note(b, to, t, b->results);
    if (b->down) {
        memcpy(to, values, n * value);
        while ((values += n * value) < end) kn_host_loops()->ops[KN_ADD][class](to, to, values, NULL, n);
        return sums;
    }
    kn_sum_rows(t, values, n, all / n, to);
    return sums;
}

/* How many are true, of all or of each row. */
static struct kn_source small_count(struct build *b, struct kn_source x)
{
    if (b->status != RT_OK || !x.operand.array) return x;
    const size_t n = b->results ? (size_t)b->results : 1, length = (size_t)x.operand.array->shape[0] / n;
    const char *values = values_of(b, x.operand.array);
    int64_t *to = take(b, RT_INT64, (int64_t)n);
    for (size_t i = 0; to && i < n; i++)
        to[i] = (int64_t)kn_host_loops()->narrow->count_true[RT_BOOL](values + i * length, length);
    return note(b, to, RT_INT64, (int64_t)n);
}

static struct kn_source small_sum(struct build *b, struct kn_source x)
{
    enum rt_dtype t = kn_sum_dtype(dtype_of(&x));
    if (dtype_of(&x) == RT_BOOL && !b->down) return small_count(b, x);
    if (dtype_of(&x) != t) x = small_convert(b, x, t);
    if (b->status != RT_OK || !x.operand.array) return x;
    if (b->results) return small_sums(b, x, t);
    void *to = take(b, t, 1);
    if (to) kn_sum_values(t, values_of(b, x.operand.array), (size_t)x.operand.array->shape[0], to);
    return note(b, to, t, 1);
}

/* Extremes are the same in any order. */
static struct kn_source small_extreme(struct build *b, struct kn_source x, bool least)
{
    if (b->status != RT_OK || !x.operand.array) return x;
    const struct kn_loops *l = kn_host_loops();
    const enum rt_dtype t = dtype_of(&x);
    const enum kn_class class = kn_class_of(t);
    const size_t n = b->results ? (size_t)b->results : 1, all = (size_t)x.operand.array->shape[0];
    const size_t value = kn_classes[class].size;
    const char *values = values_of(b, x.operand.array), *end = values + all * value;
    char *to = take(b, t, (int64_t)n);
    if (!to) return x;
    struct kn_source found = note(b, to, t, (int64_t)n);
    if (b->down) {
        memcpy(to, values, n * value);
        while ((values += n * value) < end) l->ops[least ? KN_MINIMUM : KN_MAXIMUM][class](to, to, values, NULL, n);
        return found;
    }
    for (; values < end; values += all / n * value, to += value)
        (least ? l->least : l->greatest)[class](to, values, all / n);
    return found;
}

/* ---- the steps, whatever becomes of them ---- */
static struct kn_source convert(struct build *b, struct kn_source x, enum rt_dtype t)
{
    struct kn_expression *made = NULL;
    if (b->status != RT_OK || dtype_of(&x) == t) return x;
    if (b->small) return small_convert(b, x, t);
    b->status = kn_expression_convert(&x, t, &made, b->e);
    return keep(b, made);
}

static struct kn_source op3(struct build *b, enum kn_op op, struct kn_source x, struct kn_source y, struct kn_source z)
{
    struct kn_expression *made = NULL;
    if (b->small) return small_op(b, op, (const struct kn_source *const[]){&x, &y, &z});
    if (b->status == RT_OK) b->status = kn_expression_new(op, (struct kn_source[]){x, y, z}, &made, b->e);
    return keep(b, made);
}

static struct kn_source op(struct build *b, enum kn_op operation, struct kn_source x, struct kn_source y)
{
    if (b->small) return small_op(b, operation, (const struct kn_source *const[]){&x, &y, &y});
    return op3(b, operation, x, y, y);
}

static struct kn_source reduce(struct build *b, enum kn_reduction k, struct kn_source x)
{
    struct kn_expression *made = NULL;
    if (b->small) return k == KN_SUM ? small_sum(b, x) : small_extreme(b, x, k == KN_MIN);
    if (b->status == RT_OK) b->status = kn_expression_reduce(&x, k, b->axes, &made, b->e);
    return keep(b, made);
}

enum rt_dtype kn_wide_dtype(enum rt_dtype t)
{
    if (rt_is_complex(t)) return t;
    if (rt_dtypes[t].kind != 'f') return RT_FLOAT64;
    return rt_dtypes[t].size == 2 ? RT_FLOAT32 : t;
}

enum rt_dtype kn_floating_dtype(enum rt_dtype t)
{
    if (rt_dtypes[t].kind == 'f' || rt_is_complex(t)) return t;
    return rt_dtypes[t].size == 8 ? RT_FLOAT64 : RT_FLOAT32;
}

int64_t kn_reduced_length(const struct rt_array *a, unsigned axes)
{
    int64_t n = 1;
    for (int i = 0; i < a->ndim; i++)
        if (axes >> i & 1) n *= a->shape[i];
    return n;
}

static struct kn_source mean(struct build *b, struct kn_source x, int64_t n)
{
    return op(b, KN_DIV, reduce(b, KN_SUM, x), number((double)n));
}

static struct kn_source variance(struct build *b, struct kn_source x, int64_t n, double ddof, bool root)
{
    struct kn_source d = op(b, KN_SUB, x, mean(b, x, n));
    if (rt_is_complex(dtype_of(&x))) d = op(b, KN_ABS, d, d);
    d = op(b, KN_DIV, reduce(b, KN_SUM, op(b, KN_SQUARE, d, d)), number(fmax((double)n - ddof, 0)));
    return root ? op(b, KN_SQRT, d, d) : d;
}

static struct kn_source norm(struct build *b, struct kn_source x, double order)
{
    enum rt_dtype real = rt_real_of(dtype_of(&x));
    bool power = order != 0 && order != 1 && order != 2 && isfinite(order);
    if (rt_is_complex(dtype_of(&x))) x = op(b, KN_ABS, x, x);
    if (order == 2)
        x = op(b, KN_SQUARE, x, x);
    else if (order == 0)
        x = convert(b, op(b, KN_NE, x, number(0)), real);
    else
        x = op(b, KN_ABS, x, x);
    if (power) x = op(b, KN_POW, x, number(order));
    x = reduce(b, order == INFINITY ? KN_MAX : order == -INFINITY ? KN_MIN : KN_SUM, x);
    if (order == 2) x = op(b, KN_SQRT, x, x);
    return power ? op(b, KN_POW, x, number(1 / order)) : x;
}

/* The greatest element, or 0 where that is infinite or NaN: subtracting it must give no NaN where there was none. */
static struct kn_source logsumexp(struct build *b, struct kn_source x, int64_t n)
{
    struct kn_source max = number(0);
    if (n > 0) {
        max = reduce(b, KN_MAX, x);
        max = op3(b, KN_WHERE, op(b, KN_ISFINITE, max, max), max, number(0));
    }
    struct kn_source d = op(b, KN_SUB, x, max), sum = reduce(b, KN_SUM, op(b, KN_EXP, d, d));
    return op(b, KN_ADD, op(b, KN_LOG, sum, sum), max);
}

/* The sum of x where `gone`, which says what is NaN, is false. */
static struct kn_source sum_present(struct build *b, struct kn_source gone, struct kn_source x)
{
    return reduce(b, KN_SUM, op3(b, KN_WHERE, gone, number(0), x));
}

/* How many there are, in the dtype of real numbers that goes with t. */
static struct kn_source count_present(struct build *b, struct kn_source gone, enum rt_dtype t)
{
    return convert(b, reduce(b, KN_SUM, op(b, KN_LOGICAL_NOT, gone, gone)), rt_real_of(t));
}

static struct kn_source nanmean(struct build *b, struct kn_source x)
{
    struct kn_source gone = op(b, KN_ISNAN, x, x), sum = sum_present(b, gone, x);
    return op(b, KN_DIV, sum, count_present(b, gone, dtype_of(&x)));
}

static struct kn_source nanvariance(struct build *b, struct kn_source x, double ddof, bool root)
{
    struct kn_source gone = op(b, KN_ISNAN, x, x), count = count_present(b, gone, dtype_of(&x));
    struct kn_source left = op(b, KN_SUB, count, number(ddof));
    struct kn_source d = op(b, KN_SUB, x, op(b, KN_DIV, sum_present(b, gone, x), count));
    if (rt_is_complex(dtype_of(&x))) d = op(b, KN_ABS, d, d);
    d = op(b, KN_DIV, sum_present(b, gone, op(b, KN_SQUARE, d, d)), left);
    d = op3(b, KN_WHERE, op(b, KN_GT, left, number(0)), d, number(NAN));
    return root ? op(b, KN_SQRT, d, d) : d;
}

static struct kn_source statistic(struct build *b, const struct kn_statistic *s, struct kn_source x, int64_t n)
{
    enum rt_dtype t = dtype_of(&x), result = kn_floating_dtype(t);
    struct kn_source wide = convert(b, x, kn_wide_dtype(t));
    switch (s->kind) {
    case KN_REDUCTION:
        return s->reduction == KN_MEAN ? convert(b, mean(b, wide, n), result) : reduce(b, s->reduction, x);
    case KN_VARIANCE:
    case KN_DEVIATION: return convert(b, variance(b, wide, n, s->number, s->kind == KN_DEVIATION), rt_real_of(result));
    case KN_NORM: return convert(b, norm(b, wide, s->number), rt_real_of(result));
    case KN_LOGSUMEXP: return convert(b, logsumexp(b, wide, n), result);
    case KN_COUNT_NONZERO: return reduce(b, KN_SUM, convert(b, x, RT_BOOL));
    case KN_PTP: return op(b, KN_SUB, reduce(b, KN_MAX, x), reduce(b, KN_MIN, x));
    case KN_NANSUM: return sum_present(b, op(b, KN_ISNAN, x, x), x);
    case KN_NANMEAN: return convert(b, nanmean(b, wide), result);
    case KN_NANVARIANCE:
    case KN_NANDEVIATION:
        return convert(b, nanvariance(b, wide, s->number, s->kind == KN_NANDEVIATION), rt_real_of(result));
    }
    return x;
}

static enum rt_status check(const struct kn_statistic *s, const struct rt_array *a, int64_t n, struct rt_error *e)
{
    static const char *const names[] = {"",    "var",    "std",     "norm",   "logsumexp", "count_nonzero",
                                        "ptp", "nansum", "nanmean", "nanvar", "nanstd"};
    const char *name = s->kind == KN_REDUCTION ? kn_reductions[s->reduction].name : names[s->kind];
    unsigned all = (1u << a->ndim) - 1;
    bool least = s->kind == KN_PTP || (s->kind == KN_REDUCTION && (s->reduction == KN_MIN || s->reduction == KN_MAX));
    bool limit = least || (s->kind == KN_NORM && isinf(s->number)) ||
                 (s->kind == KN_REDUCTION && s->reduction == KN_MEAN); /* of no rows of nothing there is nothing */
    bool needs_some = limit || s->kind == KN_VARIANCE || s->kind == KN_DEVIATION;
    if (s->axes != KN_ALL_AXES && s->axes & ~all)
        return rt_fail(e, RT_INVALID, "%s: there is no axis %d, the array has %d", name,
                       32 - __builtin_clz(s->axes & ~all), a->ndim);
    if (s->kind == KN_NORM && isnan(s->number)) return rt_fail(e, RT_INVALID, "norm: the order is NaN");
    if (least || s->kind == KN_LOGSUMEXP) {
        enum rt_status status = kn_check_real(a, name, e);
        if (status != RT_OK) return status;
    }
    if (n > 0 || !needs_some || (limit && !kn_reduced_length(a, ~s->axes & all))) return RT_OK;
    char shape[256];
    return rt_fail(e, RT_INVALID, "%s of no elements has no value (the array's shape is %s)", name,
                   rt_shape_text(a->ndim, a->shape, shape, sizeof shape));
}

enum rt_status kn_expression_statistic(const struct kn_statistic *s, const struct kn_source *from,
                                       struct kn_expression **out, struct rt_error *e)
{
    const struct rt_array *form = from->expression ? kn_expression_form(from->expression) : from->operand.array;
    struct build b = {.e = e, .axes = s->axes == KN_ALL_AXES ? (1u << form->ndim) - 1 : s->axes};
    int64_t n = kn_reduced_length(form, b.axes);
    enum rt_status status = check(s, form, n, e);
    if (status != RT_OK) return status;
    struct kn_source source = *from;
    struct rt_array ordered;
    if (!from->expression && b.axes == (1u << form->ndim) - 1 && !kn_runs_generated(rt_array_device(form))) {
        kn_memory_order(form, &ordered); /* of all elements any order will do */
        source.operand.array = &ordered;
    }
    struct kn_source last = statistic(&b, s, source, n);
    if (b.status == RT_OK) *out = kn_expression_retain(last.expression);
    for (int i = 0; i < b.count; i++) kn_expression_release(b.made[i]);
    return b.status;
}

/* Made of sums, extremes, conversions and operations on floats, and no mistake. Of integers there are no extremes in
 * all classes. */
static bool is_plain(const struct kn_statistic *s, enum rt_dtype t)
{
    if (s->kind == KN_PTP) return rt_dtypes[t].kind == 'f';
    bool norm = s->kind == KN_NORM && !isnan(s->number);
    return norm || (s->kind != KN_REDUCTION && s->kind != KN_NORM && s->kind != KN_COUNT_NONZERO);
}

/* How many elements are true, of an array that one thread has read before others would have begun. */
#define FEW_BYTES ((int64_t)1 << 19)
static bool count_few(const struct rt_array *a, int64_t *count)
{
    kn_count_true_loop *loop = kn_host_loops()->narrow->count_true[a->dtype];
    int64_t n = rt_array_size(a);
    bool here = rt_array_alive(a, NULL) == RT_OK && !kn_runs_generated(rt_array_device(a)) && rt_array_contiguous(a);
    if (!loop || !here || n > FEW_BYTES / rt_dtypes[a->dtype].size) return false;
    *count = (int64_t)loop(rt_array_host(a), (size_t)n);
    return true;
}

/* Of n elements that lie one after the other: the result's dtype, and its values in b's room, or NULL. */
static const void *small_values(const struct kn_statistic *s, struct build *b, const void *values, enum rt_dtype from,
                                int64_t n, enum rt_dtype *t)
{
    b->status = RT_OK;
    b->count = 0;
    b->small->used = 0;
    struct kn_source last = statistic(b, s, note(b, values, from, n), b->results ? n / b->results : n);
    if (b->status != RT_OK || !last.operand.array) return NULL;
    *t = last.operand.array->dtype;
    return values_of(b, last.operand.array);
}

bool kn_small_statistic(const struct kn_statistic *s, const struct rt_array *a, enum rt_dtype *t, void *element)
{
    struct small room; /* large, and mostly unused */
    struct build b = {.small = &room};
    int64_t count;
    if (s->axes < (1u << a->ndim) - 1) return false;
    if (s->kind == KN_COUNT_NONZERO && count_few(a, &count)) {
        *t = RT_INT64;
        memcpy(element, &count, sizeof count);
        return true;
    }
    if (!is_plain(s, a->dtype) || !kn_is_small(a)) return false;
    const void *value = small_values(s, &b, rt_array_host(a), a->dtype, rt_array_size(a), t);
    if (value) memcpy(element, value, rt_dtypes[*t].size);
    return value != NULL;
}

/* A new array for the statistic along the axes, contiguous. */
static char *new_along(const struct kn_statistic *s, const struct rt_array *a, enum rt_dtype t, struct rt_array *out)
{
    int ndim;
    int64_t shape[RT_MAX_DIMS];
    kn_reduced_shape(a, s->axes, false, &ndim, shape);
    return rt_array_new(rt_array_device(a), t, ndim, shape, out, NULL) == RT_OK ? rt_array_host(out) : NULL;
}

/* Of rows one by one; of columns by adding their rows of bools up, KN_COMBINED_ROWS at a time. */
static bool count_along(const struct kn_statistic *s, const struct rt_array *a, struct rt_array *out)
{
    const struct kn_loops *l = kn_host_loops();
    int last = a->ndim - 1;
    const size_t size = (size_t)rt_array_size(a), part = rt_dtypes[a->dtype].size;
    const size_t length = (size_t)a->shape[last], rows = (size_t)a->shape[0], n = size / rows;
    const char *values = rt_array_host(a);
    int64_t wide[KN_BLOCK], *to;
    if (s->axes != 1u && s->axes != 1u << last) return false;
    if (!(to = (int64_t *)(void *)new_along(s, a, RT_INT64, out))) return false;
    if (s->axes == 1u << last) {
        for (size_t i = 0; i < size / length; i++)
            to[i] = (int64_t)l->narrow->count_true[a->dtype](values + i * length * part, length);
        return true;
    }
    uint8_t bools[KN_BLOCK];
    l->convert[kn_class_of(a->dtype)][RT_BOOL](bools, values, size);
    l->convert[KN_B][RT_INT64](wide, bools, size);
    for (size_t i = 0, count; i < rows; i += count) {
        count = rows - i < KN_COMBINED_ROWS ? rows - i : KN_COMBINED_ROWS;
        l->rows[KN_ADD][KN_I64](to, wide + i * n, (ptrdiff_t)n, count, i > 0, n);
    }
    return true;
}

/* Rows are combined one by one as kn_small_rows does, columns as reductions combine few elements of many: whether those
 * along the axes are, of which b then knows. */
static bool set_results(struct build *b, const struct rt_array *a, unsigned axes)
{
    int last = a->ndim - 1;
    int64_t size = rt_array_size(a), length = a->shape[last];
    bool rows = (axes == 1u << last && (size / length < KN_MANY_ROWS || length >= KN_SHORT_ROW)) || size == 1;
    b->down = !rows && axes == 1 && a->shape[0] <= KN_GROUP && size / a->shape[0] >= KN_MANY_ROWS;
    b->results = size / (rows ? length : a->shape[0]);
    return rows || b->down;
}

bool kn_small_statistic_along(const struct kn_statistic *s, const struct rt_array *a, struct rt_array *out)
{
    struct small room; /* large, and mostly unused */
    struct build b = {.small = &room};
    if (a->ndim < 2 || !kn_is_small(a)) return false;
    if (s->kind == KN_COUNT_NONZERO) return count_along(s, a, out);
    if (!is_plain(s, a->dtype) || !set_results(&b, a, s->axes)) return false;
    enum rt_dtype t;
    const void *values = small_values(s, &b, rt_array_host(a), a->dtype, rt_array_size(a), &t);
    char *to = values ? new_along(s, a, t, out) : NULL;
    if (to) memcpy(to, values, (size_t)b.results * rt_dtypes[t].size);
    return to != NULL;
}

bool kn_small_softmax(const struct rt_array *a, int axis, bool logarithm, struct rt_array *out)
{
    struct small room; /* large, and mostly unused */
    struct build b = {.small = &room};
    room.used = 0;
    if (rt_dtypes[a->dtype].kind != 'f' || !kn_is_small(a) || !set_results(&b, a, 1u << axis)) return false;
    int64_t n = rt_array_size(a);
    struct kn_source x = note(&b, rt_array_host(a), a->dtype, n), below = op(&b, KN_SUB, x, reduce(&b, KN_MAX, x));
    struct kn_source powers = op(&b, KN_EXP, below, below), sum = reduce(&b, KN_SUM, powers);
    struct kn_source y = logarithm ? op(&b, KN_SUB, below, op(&b, KN_LOG, sum, sum)) : op(&b, KN_DIV, powers, sum);
    if (b.status != RT_OK || rt_array_new(rt_array_device(a), a->dtype, a->ndim, a->shape, out, NULL) != RT_OK)
        return false;
    memcpy(rt_array_host(out), values_of(&b, y.operand.array), (size_t)n * rt_dtypes[a->dtype].size);
    return true;
}
