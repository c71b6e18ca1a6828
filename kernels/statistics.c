#include "kernels/statistics.h"
#include <math.h>
#include "kernels/reduce.h"

#define MOST_NODES 24 /* that a statistic adds */

/* An expression under construction; the first failure stays. */
struct build {
    enum rt_status status;
    struct rt_error *e;
    unsigned axes;
    int count;
    struct kn_expression *made[MOST_NODES];
};

static struct kn_source keep(struct build *b, struct kn_expression *x)
{
    if (b->status != RT_OK) return (struct kn_source){0};
    b->made[b->count++] = x;
    return (struct kn_source){.expression = x};
}

static enum rt_dtype dtype_of(struct kn_source x)
{
    if (x.expression) return kn_expression_form(x.expression)->dtype;
    return x.operand.array ? x.operand.array->dtype : RT_FLOAT32; /* nothing, after a failure */
}

static struct kn_source number(double value)
{
    return (struct kn_source){.operand = {.is_float = true, .f = value}};
}

static struct kn_source convert(struct build *b, struct kn_source x, enum rt_dtype t)
{
    struct kn_expression *made = NULL;
    if (b->status != RT_OK || dtype_of(x) == t) return x;
    b->status = kn_expression_convert(&x, t, &made, b->e);
    return keep(b, made);
}

static struct kn_source op3(struct build *b, enum kn_op op, struct kn_source x, struct kn_source y, struct kn_source z)
{
    struct kn_expression *made = NULL;
    if (b->status == RT_OK) b->status = kn_expression_new(op, (struct kn_source[]){x, y, z}, &made, b->e);
    return keep(b, made);
}

static struct kn_source op(struct build *b, enum kn_op operation, struct kn_source x, struct kn_source y)
{
    return op3(b, operation, x, y, y);
}

static struct kn_source reduce(struct build *b, enum kn_reduction k, struct kn_source x)
{
    struct kn_expression *made = NULL;
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
    if (rt_is_complex(dtype_of(x))) d = op(b, KN_ABS, d, d);
    d = op(b, KN_DIV, reduce(b, KN_SUM, op(b, KN_SQUARE, d, d)), number(fmax((double)n - ddof, 0)));
    return root ? op(b, KN_SQRT, d, d) : d;
}

static struct kn_source norm(struct build *b, struct kn_source x, double order)
{
    enum rt_dtype real = rt_real_of(dtype_of(x));
    bool power = order != 0 && order != 1 && order != 2 && isfinite(order);
    if (rt_is_complex(dtype_of(x))) x = op(b, KN_ABS, x, x);
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

static struct kn_source statistic(struct build *b, const struct kn_statistic *s, struct kn_source x, int64_t n)
{
    enum rt_dtype t = dtype_of(x), result = kn_floating_dtype(t);
    struct kn_source wide = convert(b, x, kn_wide_dtype(t));
    switch (s->kind) {
    case KN_REDUCTION:
        return s->reduction == KN_MEAN ? convert(b, mean(b, wide, n), result) : reduce(b, s->reduction, x);
    case KN_VARIANCE:
    case KN_DEVIATION: return convert(b, variance(b, wide, n, s->number, s->kind == KN_DEVIATION), rt_real_of(result));
    case KN_NORM: return convert(b, norm(b, wide, s->number), rt_real_of(result));
    case KN_LOGSUMEXP: return convert(b, logsumexp(b, wide, n), result);
    case KN_COUNT_NONZERO: return reduce(b, KN_SUM, convert(b, x, RT_BOOL));
    }
    return x;
}

static enum rt_status check(const struct kn_statistic *s, const struct rt_array *a, int64_t n, struct rt_error *e)
{
    static const char *const names[] = {"", "var", "std", "norm", "logsumexp", "count_nonzero"};
    const char *name = s->kind == KN_REDUCTION ? kn_reductions[s->reduction].name : names[s->kind];
    unsigned all = (1u << a->ndim) - 1;
    bool least = s->kind == KN_REDUCTION && (s->reduction == KN_MIN || s->reduction == KN_MAX);
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
    struct kn_source last = statistic(&b, s, *from, n);
    if (b.status == RT_OK) *out = kn_expression_retain(last.expression);
    for (int i = 0; i < b.count; i++) kn_expression_release(b.made[i]);
    return b.status;
}
