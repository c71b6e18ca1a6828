/* Reductions, scans, sorts and access by indices in every dtype, over views of every layout and shape: on cpu, on simt,
 * and by generated CUDA C on the software GPU, beside plain ways of doing the same. */
#include "kernels/gather.h"
#include "kernels/order.h"
#include "tests/unit/generated.h"
#include "tests/unit/ops_views.h"
#include "tests/unit/rows_reference.h"

/* Which elements: small ones; those whose products stay near 1 (of integers they wrap); with ends of the range,
 * infinities and NaN. */
enum elements { SMALL, NEAR_ONE, SPECIAL };

static struct rt_array view_with(enum elements kind, enum layout layout, enum rt_dtype t, const int64_t *shape)
{
    struct rt_array out = view_of(layout, t, shape[0], shape[1]);
    int64_t n = rt_array_size(&out);
    double most = 256.0 * (layout == COLUMNS ? (double)shape[1] : 1);
    ARRAYS values = test_array(t, 1, &n, 5 + (uint32_t)layout, kind == SPECIAL);
    for (int64_t i = 0; i < n; i++) {
        if (kind == NEAR_ONE && keeps_fractions(t)) {
            struct rt_complex z = rt_load_complex(t, element(&values, i));
            rt_store_complex(t, element(&values, i), (struct rt_complex){1 + (z.re - 0.625) / most, z.im / most});
        }
        memcpy(element(&out, i), element(&values, i), rt_dtypes[t].size);
    }
    return out;
}

/* What runs: one dtype's functions over each view. */
typedef void check_view(enum rt_dtype t, enum layout layout, const int64_t *shape);

/* Generated code has another text where threads have columns, and where all elements are of more than one axis. Each of
 * some functions is in those texts for some dtypes: one of `of`. */
static bool has_own_text(const struct rt_array *a, int axis)
{
    return kn_generated() && ((axis == 0 && a->ndim > 1 && a->shape[1] > 100) ||
                              (axis < 0 && a->ndim > 1 && a->strides[0] != a->strides[1] * a->shape[1]));
}

static bool is_turn(int function, enum rt_dtype t, int of)
{
    return (function + (int)t) % of == 0;
}

static void check_reduced_views(enum rt_dtype t, enum layout layout, const int64_t *shape)
{
    static const unsigned which[] = {[SMALL] = 1u << KN_SUM | 1u << KN_MEAN,
                                     [NEAR_ONE] = 1u << KN_PROD,
                                     [SPECIAL] = 1u << KN_MIN | 1u << KN_MAX | 1u << KN_ARGMIN | 1u << KN_ARGMAX |
                                                 1u << KN_ANY | 1u << KN_ALL};
    const unsigned of_nothing = 1u << KN_SUM | 1u << KN_PROD | 1u << KN_ANY | 1u << KN_ALL;
    for (int kind = SMALL; kind <= SPECIAL; kind++) {
        ARRAYS a = view_with((enum elements)kind, layout, t, shape);
        unsigned all = which[kind];
        if (rt_is_complex(t)) all &= of_nothing | 1u << KN_MEAN;
        if (rt_array_size(&a) == 0) all &= of_nothing;
        for (int axis = -1; axis < a.ndim; axis++) {
            unsigned some = 0;
            for (int k = 0; k < KN_REDUCTION_COUNT; k++)
                if (!has_own_text(&a, axis) || is_turn(k, t, 3)) some |= all & 1u << k;
            check_reductions(some, &a, axis);
        }
    }
}

static void check_scanned_views(enum rt_dtype t, enum layout layout, const int64_t *shape)
{
    static const enum elements kinds[] = {[KN_CUMSUM] = SMALL,
                                          [KN_CUMPROD] = NEAR_ONE,
                                          [KN_CUMMAX] = SPECIAL,
                                          [KN_CUMMIN] = SPECIAL,
                                          [KN_LOGCUMSUMEXP] = SMALL};
    for (int s = 0; s < (rt_is_complex(t) ? KN_CUMMAX : KN_SCAN_COUNT); s++) {
        ARRAYS a = view_with(kinds[s], layout, t, shape);
        for (int axis = -1; axis < a.ndim; axis++)
            if (axis < 0 || !has_own_text(&a, axis) || is_turn(s, t, KN_SCAN_COUNT))
                check_scan((enum kn_scan)s, &a, axis);
    }
}

/* ---- sorts ---- */

struct placed {
    long double value;
    int64_t at;
};

/* -0.0 before 0.0, NaN last, equal ones as they were. */
static int compare_placed(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    if (isnan(x->value) != isnan(y->value)) return isnan(x->value) ? 1 : -1;
    if (x->value < y->value) return -1;
    if (x->value > y->value) return 1;
    if (!isnan(x->value) && signbit(x->value) != signbit(y->value)) return signbit(x->value) ? -1 : 1;
    return x->at < y->at ? -1 : 1;
}

static int compare_descending(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    struct placed u = {-x->value, x->at}, v = {-y->value, y->at};
    return compare_placed(&u, &v);
}

/* The row sorted beside the reference, by values and indices or one of them. */
static void check_sorted_row(const struct row *r, bool descending, const struct rt_array *values,
                             const struct rt_array *indices)
{
    static struct placed want[4097];
    enum rt_dtype t = r->a->dtype;
    for (int64_t i = 0; i < r->length; i++) want[i] = (struct placed){number_at(t, element(r->a, place(r, i))), i};
    qsort(want, (size_t)r->length, sizeof *want, descending ? compare_descending : compare_placed);
    for (int64_t i = 0; i < r->length; i++) {
        int64_t at = place(r, i), from = place(r, want[i].at);
        if (indices) CHECK_INT(get_int(indices, at), want[i].at + 1);
        if (values && memcmp(element(values, at), element(r->a, from), rt_dtypes[t].size) != 0 && !isnan(want[i].value))
            FAIL("sorted %s [%lld] is %.17g, expected %.17g", rt_dtypes[t].name, (long long)at, get(values, at),
                 get(r->a, from));
    }
}

static void check_sorted_views(enum rt_dtype t, enum layout layout, const int64_t *shape)
{
    if (rt_is_complex(t)) return;
    ARRAYS a = view_with(SPECIAL, layout, t, shape);
    for (int axis = 0; axis < a.ndim; axis++) {
        ARRAYS values = {0}, indices = {0};
        struct row r = row_of(&a, axis, 0);
        int form = (int)(layout + shape[1] + axis) % 3; /* each view in all of them, of some length or another */
        OK(kn_sort(&a, axis, form > 0, form < 2 ? &values : NULL, form != 1 ? &indices : NULL, e));
        for (; r.length > 0 && r.index < rt_array_size(&a) / r.length; r.index++)
            check_sorted_row(&r, form > 0, form < 2 ? &values : NULL, form != 1 ? &indices : NULL);
    }
}

/* ---- indices ---- */

/* Places along an axis: more than it has elements, from both ends, in another order and in a view of every layout. */
static struct rt_array make_indices(enum layout layout, int axis, int64_t length, const int64_t *shape)
{
    struct rt_array out = view_of(layout, layout % 2 ? RT_INT32 : RT_INT64, shape[0], shape[1]);
    for (int64_t i = 0; i < rt_array_size(&out); i++) {
        int64_t v = (axis ? i * 7 : i * 5 / 2) % length;
        rt_store_int(out.dtype, element(&out, i), i % 3 == 0 ? v - length : v + 1);
    }
    return out;
}

/* The element of data that a place leads to. */
static char *reached(const struct kn_indexing *x, int64_t i)
{
    const struct kn_pick *p = &x->picks[0];
    int64_t along[2] = {i / x->shape[1], i % x->shape[1]};
    int64_t v = get_int(p->index, i);
    along[p->axis] = v > 0 ? v - 1 : v + x->data->shape[p->axis];
    return element(x->data, along[0] * x->data->shape[1] + along[1]);
}

static void combine_at(enum kn_op op, enum rt_dtype t, char *to, const char *value)
{
    if (t == RT_BOOL) {
        bool a = rt_load_int(t, to), b = rt_load_int(t, value);
        rt_store_int(t, to, op == KN_ADD || op == KN_MAXIMUM ? a || b : a && b);
    } else if (rt_is_complex(t)) {
        struct rt_complex a = rt_load_complex(t, to), b = rt_load_complex(t, value);
        struct rt_complex sum = {a.re + b.re, a.im + b.im},
                          product = {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
        rt_store_complex(t, to, op == KN_ADD ? sum : product);
    } else if (rt_dtypes[t].kind != 'f') {
        __int128 a = (__int128)number_at(t, to), b = (__int128)number_at(t, value);
        rt_store_int(t, to, (int64_t)reference_int(op, a, b, 0, bits_of(t)));
    } else {
        double a = rt_load_double(t, to), b = rt_load_double(t, value);
        double result = op == KN_ADD ? a + b : op == KN_MUL ? a * b : better(b, a, op == KN_MINIMUM) ? b : a;
        rt_store_double(t, to, t == RT_FLOAT64 ? result : (float)result);
    }
}

static void check_same(const char *what, const struct rt_array *got, const struct rt_array *want)
{
    enum rt_dtype t = want->dtype;
    for (int64_t i = 0; i < rt_array_size(want); i++) {
        long double _Complex x = complex_at(t, element(want, i)), y = complex_at(t, element(got, i));
        if (!as_wanted(y, x, rt_is_complex(t) ? 4 * unit_of(t) * (1 + cabsl(x)) : 0))
            FAIL("%s of %s [%lld]: %.17Lg %+.17Lgi, expected %.17Lg %+.17Lgi", what, rt_dtypes[t].name, (long long)i,
                 creall(y), cimagl(y), creall(x), cimagl(x));
    }
}

static void copy_elements(const struct rt_array *to, const struct rt_array *from)
{
    for (int64_t i = 0; i < rt_array_size(from); i++)
        memcpy(element(to, i), element(from, i), rt_dtypes[from->dtype].size);
}

/* Each value written to where its place leads, or combined by these operations with what is there. */
static void check_written(const struct kn_indexing *x)
{
    static const enum kn_op ops[] = {KN_WHERE, KN_ADD, KN_MUL, KN_MINIMUM, KN_MAXIMUM}; /* the first writes */
    const struct rt_array *data = x->data;
    enum rt_dtype t = data->dtype;
    ARRAYS value = test_array(t, 2, x->shape, 8, !rt_is_complex(t)), before = {0}, want = {0};
    OK(rt_array_new(test_device(), t, 2, data->shape, &before, e));
    OK(rt_array_new(test_device(), t, 2, data->shape, &want, e));
    copy_elements(&before, data);
    for (int k = 0; k < (rt_is_complex(t) ? 3 : 5); k++) {
        for (int64_t i = 0; i < rt_array_size(&value); i++)
            if (k > 0)
                combine_at(ops[k], t, reached(x, i), element(&value, i));
            else
                memcpy(reached(x, i), element(&value, i), rt_dtypes[t].size);
        copy_elements(&want, data);
        copy_elements(data, &before);
        OK(k > 0 ? kn_scatter_by(ops[k], x, &value, e) : kn_scatter(x, &value, e));
        check_same(k > 0 ? kn_ops[ops[k]].name : "what is written", data, &want);
        copy_elements(data, &before);
    }
}

static void check_indexed_axis(const struct rt_array *data, int axis, enum layout of_indices, bool writes)
{
    enum rt_dtype t = data->dtype;
    struct kn_indexing x = {.data = data, .ndim = 2, .shape = {data->shape[0], data->shape[1]}, .runs = {0, 1}};
    x.shape[axis] = x.shape[axis] > 0 ? 2 * x.shape[axis] + 1 : 0;
    x.runs[axis] = -1;
    ARRAYS index = make_indices(of_indices, axis, data->shape[axis], x.shape), out = {0};
    x.picks[x.count++] = (struct kn_pick){&index, axis, axis};
    OK(rt_array_new(test_device(), t, 2, x.shape, &out, e));
    OK(kn_gather(&x, &out, e));
    for (int64_t i = 0; i < rt_array_size(&out); i++)
        CHECK(memcmp(element(&out, i), reached(&x, i), rt_dtypes[t].size) == 0);
    if (writes) check_written(&x);
}

static void check_indexed_views(enum rt_dtype t, enum layout layout, const int64_t *shape)
{
    if (layout >= LINE) return;
    ARRAYS a = view_with(rt_is_complex(t) ? SMALL : SPECIAL, layout, t, shape);
    for (int axis = 0; axis < 2; axis++)
        check_indexed_axis(&a, axis, (enum layout)((layout + 1 + (unsigned)axis) % LINE), layout < ROWS);
}

/* Long rows in one layout of so many, each dtype's in another one. */
static void check_views(check_view *check, int of)
{
    for (int t = 0; t < RT_DTYPE_COUNT; t++)
        for (size_t s = 0; s < VIEW_SHAPES; s++)
            for (int l = 0; l < LAYOUTS; l++)
                if (view_shapes[s][1] < 100 || l % of == t % of)
                    check((enum rt_dtype)t, (enum layout)l, view_shapes[s]);
}

#define ON_CPU(name, check)                                                                                            \
    TEST(name##_on_cpu)                                                                                                \
    {                                                                                                                  \
        check_views(check, 2);                                                                                         \
    }
#define ON_SIMT(name, check)                                                                                           \
    TEST(name##_on_simt)                                                                                               \
    {                                                                                                                  \
        test_device_name = "simt";                                                                                     \
        check_views(check, LAYOUTS);                                                                                   \
    }
ON_CPU(reduced_views, check_reduced_views)
ON_CPU(scanned_views, check_scanned_views)
ON_CPU(sorted_views, check_sorted_views)
ON_CPU(indexed_views, check_indexed_views)

#ifndef __SANITIZE_ADDRESS__ /* the host's code, which it sees, is the same on simt and whatever was generated */
ON_SIMT(reduced_views, check_reduced_views)
ON_SIMT(scanned_views, check_scanned_views)
ON_SIMT(sorted_views, check_sorted_views)
ON_SIMT(indexed_views, check_indexed_views)

#define GENERATED(name, check)                                                                                         \
    TEST(name##_generated)                                                                                             \
    {                                                                                                                  \
        start_generated();                                                                                             \
        check_views(check, LAYOUTS);                                                                                   \
    }
GENERATED(reduced_views, check_reduced_views)
GENERATED(scanned_views, check_scanned_views)
GENERATED(sorted_views, check_sorted_views)
GENERATED(indexed_views, check_indexed_views)
#endif
