/* Reductions of small arrays on the host, by the loops that reduce_host.c would run: the same bits without a program
 * and a plan, which take longer than the loops. */
#include <string.h>
#include "kernels/reduce_host.h"

/* Some elements that lie in memory one after the other. */
struct few {
    enum rt_dtype dtype;
    size_t n;
    const void *values;
};

static enum rt_dtype result_of(enum kn_reduction k, enum rt_dtype t)
{
    if (k == KN_SUM || k == KN_PROD) return kn_sum_dtype(t);
    if (k == KN_MEAN) return rt_dtypes[t].kind == 'f' ? t : rt_dtypes[t].size == 8 ? RT_FLOAT64 : RT_FLOAT32;
    if (k == KN_ARGMIN || k == KN_ARGMAX) return RT_INT64;
    return k == KN_ANY || k == KN_ALL ? RT_BOOL : t;
}

/* Of rows of f->n elements, one after the other. */
static void sum_rows(const struct few *f, size_t rows, enum rt_dtype t, void *to)
{
    const struct kn_loops *l = kn_host_loops();
    _Alignas(64) char block[KN_BLOCK * 8];
    const void *values = f->values;
    if (f->dtype == RT_BOOL && t == RT_INT64) {
        for (size_t i = 0; i < rows; i++)
            ((int64_t *)to)[i] = (int64_t)l->narrow->count_true[RT_BOOL]((const char *)values + i * f->n, f->n);
        return;
    }
    if (f->dtype != t) {
        l->convert[kn_class_of(f->dtype)][t](block, values, rows * f->n);
        values = block;
    }
    kn_sum_rows(t, values, rows, f->n, to);
}

static void product(const struct few *f, enum rt_dtype t, void *to)
{
    _Alignas(64) char block[KN_BLOCK * 8];
    if (f->dtype != t) kn_host_loops()->convert[kn_class_of(f->dtype)][t](block, f->values, f->n);
    kn_multiply_values(t, f->dtype != t ? block : f->values, f->n, to);
}

static enum rt_dtype mean_in(enum rt_dtype t)
{
    return rt_dtypes[t].kind == 'f' ? t : RT_FLOAT64;
}

/* Means of `length` values each from their sums, in float64 of what is not floating, then rounded. */
static void divide(void *totals, enum rt_dtype t, size_t length, size_t count, enum rt_dtype result, void *to)
{
    const struct kn_loops *l = kn_host_loops();
    _Alignas(64) char lengths[KN_BLOCK * 8];
    kn_fill_block(lengths, t, &(struct kn_operand){.is_float = true, .f = (double)length}, count);
    l->ops[KN_DIV][kn_class_of(t)](totals, totals, lengths, NULL, count);
    l->convert[kn_class_of(t)][result](to, totals, count);
}

static void mean_rows(const struct few *f, size_t rows, enum rt_dtype result, void *to)
{
    const enum rt_dtype t = mean_in(f->dtype);
    _Alignas(64) char totals[KN_BLOCK * 8];
    sum_rows(f, rows, t, totals);
    divide(totals, t, f->n, rows, result, to);
}

static void first_of_bools(const struct few *f, bool least, void *to)
{
    const size_t first = kn_first_bool(f->values, !least, f->n);
    const int64_t index = first < f->n ? (int64_t)first + 1 : 1;
    memcpy(to, &index, sizeof index);
}

static void extreme(const struct few *f, bool least, bool place, void *to)
{
    const struct kn_loops *l = kn_host_loops();
    enum kn_class class = kn_class_of(f->dtype);
    _Alignas(16) char best[RT_ELEMENT];
    (least ? l->least : l->greatest)[class](best, f->values, f->n);
    int64_t index = place ? (int64_t)l->first[class](f->values, best, f->n) + 1 : 0;
    memcpy(to, place ? (void *)&index : best, place ? sizeof index : rt_dtypes[f->dtype].size);
}

static void reduce_row(enum kn_reduction k, const struct few *f, enum rt_dtype result, void *to)
{
    if (k == KN_PROD) {
        product(f, result, to);
    } else if (f->dtype == RT_BOOL && (k == KN_ARGMIN || k == KN_ARGMAX)) {
        first_of_bools(f, k == KN_ARGMIN, to);
    } else if (result == RT_BOOL) {
        size_t count = kn_host_loops()->narrow->count_true[f->dtype](f->values, f->n);
        *(uint8_t *)to = k == KN_ALL || k == KN_MIN ? count == f->n : count > 0;
    } else {
        extreme(f, k == KN_MIN || k == KN_ARGMIN, result == RT_INT64 && (k == KN_ARGMIN || k == KN_ARGMAX), to);
    }
}

static void reduce_rows(enum kn_reduction k, const struct few *rows, size_t count, enum rt_dtype result, char *to)
{
    struct few row = *rows;
    if (k == KN_SUM) {
        sum_rows(rows, count, result, to);
        return;
    }
    if (k == KN_MEAN) {
        mean_rows(rows, count, result, to);
        return;
    }
    for (size_t i = 0; i < count; i++, to += rt_dtypes[result].size) {
        reduce_row(k, &row, result, to);
        row.values = (const char *)row.values + row.n * rt_dtypes[row.dtype].size;
    }
}

bool kn_is_small(const struct rt_array *a)
{
    int64_t n = rt_array_size(a);
    return a->ndim > 0 && n > 0 && n <= KN_BLOCK && !rt_is_complex(a->dtype) && kn_class_exact(a->dtype) &&
           rt_array_alive(a, NULL) == RT_OK && !kn_runs_generated(rt_array_device(a)) && rt_array_contiguous(a);
}

bool kn_small_reduction(enum kn_reduction k, const struct rt_array *a, enum rt_dtype *t, void *element)
{
    if (a->dtype == RT_UINT64 || !kn_is_small(a)) return false;
    struct few all = {.dtype = a->dtype, .n = (size_t)rt_array_size(a), .values = rt_array_host(a)};
    *t = result_of(k, a->dtype);
    reduce_rows(k, &all, 1, *t, element);
    return true;
}

static char *new_result(enum rt_dtype t, const struct rt_array *a, unsigned axes, bool keepdims, struct rt_array *out)
{
    int ndim;
    int64_t shape[RT_MAX_DIMS];
    kn_reduced_shape(a, axes, keepdims, &ndim, shape);
    return rt_array_new(rt_array_device(a), t, ndim, shape, out, NULL) == RT_OK ? rt_array_host(out) : NULL;
}

/* argmin and argmax along the first axis. */
static bool search_columns(bool least, const struct rt_array *a, bool keepdims, struct rt_array *out)
{
    const struct kn_loops *l = kn_host_loops();
    _Alignas(64) char best[KN_BLOCK * 8];
    const int64_t one = 1;
    const size_t rows = (size_t)a->shape[0], n = (size_t)rt_array_size(a) / rows;
    void *where = new_result(RT_INT64, a, 1, keepdims, out);
    if (!where) return false;
    memcpy(best, rt_array_host(a), n * rt_dtypes[a->dtype].size);
    kn_spread(RT_INT64, where, &one, n);
    (least ? l->search_least : l->search_greatest)[kn_class_of(a->dtype)](best, where, rt_array_host(a), (ptrdiff_t)n,
                                                                          rows, 1, n);
    return true;
}

/* The rows of f->n values, of which there are few, to one, in the order in which reductions combine many columns. */
static void combine_down(const struct few *f, size_t rows, kn_rows_loop *loop, void *to)
{
    const size_t value = rt_dtypes[f->dtype].size;
    for (size_t i = 0, count; i < rows; i += count) {
        count = rows - i < KN_COMBINED_ROWS ? rows - i : KN_COMBINED_ROWS;
        loop(to, (const char *)f->values + i * f->n * value, (ptrdiff_t)f->n, count, i > 0, f->n);
    }
}

/* Whether any, or all, of each column are true. */
static void ask_down(const struct few *f, size_t rows, bool all, void *to)
{
    static const enum rt_dtype wide_as[] = {[1] = RT_UINT8, [2] = RT_UINT16, [4] = RT_UINT32, [8] = RT_UINT64};
    const struct kn_narrow_loops *l = kn_host_loops()->narrow;
    _Alignas(64) char found[KN_BLOCK * 8];
    combine_down(f, rows, (all ? l->rows_all : l->rows_any)[f->dtype], found);
    l->convert[wide_as[rt_dtypes[f->dtype].size]][RT_BOOL](to, found, f->n);
}

static kn_rows_loop *down_loop(enum kn_reduction k, enum rt_dtype t)
{
    const enum kn_op op = k == KN_MIN ? KN_MINIMUM : k == KN_MAX ? KN_MAXIMUM : k == KN_PROD ? KN_MUL : KN_ADD;
    return kn_host_loops()->rows[op][kn_class_of(t)];
}

/* Along the first axis of few elements. */
static bool reduce_down(enum kn_reduction k, const struct rt_array *a, bool keepdims, struct rt_array *out)
{
    const enum rt_dtype result = result_of(k, a->dtype), t = k == KN_MEAN ? mean_in(a->dtype) : result;
    const size_t rows = (size_t)a->shape[0];
    struct few f = {.dtype = a->dtype, .n = (size_t)rt_array_size(a) / rows, .values = rt_array_host(a)};
    _Alignas(64) char block[KN_BLOCK * 8], totals[KN_BLOCK * 8];
    const bool asks = k == KN_ANY || k == KN_ALL;
    if (!asks && !down_loop(k, t)) return false;
    char *to = new_result(result, a, 1, keepdims, out);
    if (!to) return false;
    if (asks) {
        ask_down(&f, rows, k == KN_ALL, to);
        return true;
    }
    if (f.dtype != t) {
        kn_host_loops()->convert[kn_class_of(f.dtype)][t](block, f.values, rows * f.n);
        f = (struct few){.dtype = t, .n = f.n, .values = block};
    }
    combine_down(&f, rows, down_loop(k, t), k == KN_MEAN ? totals : to);
    if (k == KN_MEAN) divide(totals, t, rows, f.n, result, to);
    return true;
}

/* Short rows, of which there are many, are combined in another order. */
bool kn_small_rows(enum kn_reduction k, const struct rt_array *a, unsigned axes, bool keepdims, struct rt_array *out)
{
    size_t count = 1, last = (size_t)a->ndim - 1;
    bool index = k == KN_ARGMIN || k == KN_ARGMAX;
    if (a->dtype == RT_UINT64 || !kn_is_small(a)) return false;
    if (axes == 1 && index && a->ndim > 1)
        return a->dtype != RT_BOOL && search_columns(k == KN_ARGMIN, a, keepdims, out);
    if (axes == 1 && a->shape[0] <= KN_GROUP && rt_array_size(a) / a->shape[0] >= KN_MANY_ROWS)
        return reduce_down(k, a, keepdims, out);
    while (last > 0 && axes != 1u << last && a->shape[last] == 1) last--; /* behind it, axes of one element are none */
    if (axes != 1u << last) return false;
    struct few row = {.dtype = a->dtype, .n = (size_t)a->shape[last], .values = rt_array_host(a)};
    for (size_t i = 0; i < last; i++) count *= (size_t)a->shape[i];
    if (count >= KN_MANY_ROWS && row.n < KN_SHORT_ROW) return false;
    enum rt_dtype t = result_of(k, a->dtype);
    char *to = new_result(t, a, axes, keepdims, out);
    if (!to) return false;
    reduce_rows(k, &row, count, t, to);
    return true;
}
