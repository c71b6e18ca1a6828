#include "kernels/neighbours.h"
#include <string.h>
#include "kernels/host.h"
#include "kernels/reduce.h"

/* A small row of n values, and the loops of its class. */
struct row {
    enum rt_dtype dtype;
    enum kn_class class;
    const char *values;
    size_t n, size;
    const struct kn_loops *loops;
};

static bool find_row(const struct rt_array *a, bool floating, int64_t least, struct row *r)
{
    if (a->ndim != 1 || a->shape[0] < least || a->dtype == RT_BOOL || (floating && rt_dtypes[a->dtype].kind != 'f') ||
        !kn_is_small(a))
        return false;
    *r = (struct row){.dtype = a->dtype,
                      .class = kn_class_of(a->dtype),
                      .values = rt_array_host(a),
                      .n = (size_t)a->shape[0],
                      .size = rt_dtypes[a->dtype].size,
                      .loops = kn_host_loops()};
    return true;
}

/* A new array of so many elements. */
static bool make_row(const struct rt_array *a, size_t n, struct rt_array *out)
{
    int64_t length = (int64_t)n;
    return rt_array_new(rt_array_device(a), a->dtype, 1, &length, out, NULL) == RT_OK;
}

/* to[i] = values[i + distance] op values[i], for all that there are. */
static void combine(const struct row *r, enum kn_op op, size_t distance, char *to)
{
    if (r->n > distance)
        r->loops->ops[op][r->class](to, r->values + distance * r->size, r->values, NULL, r->n - distance);
}

/* n values op one number. */
static void by_number(const struct row *r, enum kn_op op, double number, char *values, size_t n)
{
    _Alignas(64) char numbers[KN_BLOCK * 8];
    kn_fill_block(numbers, r->dtype, &(struct kn_operand){.is_float = true, .f = number}, n);
    r->loops->ops[op][r->class](values, values, numbers, NULL, n);
}

bool kn_small_diff(const struct rt_array *a, struct rt_array *out)
{
    struct row r;
    if (!find_row(a, false, 1, &r) || !make_row(a, r.n - 1, out)) return false;
    combine(&r, KN_SUB, 1, rt_array_host(out));
    return true;
}

bool kn_small_gradient(const struct rt_array *a, double h, struct rt_array *out)
{
    struct row r;
    if (!find_row(a, true, 2, &r) || !make_row(a, r.n, out)) return false;
    char *to = rt_array_host(out);
    combine(&r, KN_SUB, 2, to + r.size);
    if (r.n > 2) by_number(&r, KN_DIV, 2 * h, to + r.size, r.n - 2);
    for (size_t end = 0; end < r.n; end += r.n - 1) {
        const char *behind = r.values + (end ? end : 1) * r.size;
        r.loops->ops[KN_SUB][r.class](to + end * r.size, behind, behind - r.size, NULL, 1);
        by_number(&r, KN_DIV, h, to + end * r.size, 1);
    }
    return true;
}

bool kn_small_trapezoid(const struct rt_array *a, double h, void *element)
{
    struct row r;
    _Alignas(64) char areas[KN_BLOCK * 8];
    if (!find_row(a, true, 1, &r)) return false;
    if (r.n == 1) { /* 0.0, while kn_sum_values of nothing is -0.0 */
        memset(element, 0, r.size);
        return true;
    }
    combine(&r, KN_ADD, 1, areas);
    by_number(&r, KN_DIV, 2, areas, r.n - 1);
    if (h != 1) by_number(&r, KN_MUL, h, areas, r.n - 1);
    kn_sum_values(r.dtype, areas, r.n - 1, element);
    return true;
}
