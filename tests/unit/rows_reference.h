/* What reductions and scans give, one element of a row after the other: integers in 64 bits that wrap, floating and
 * complex numbers in long double. */
#ifndef ROWS_REFERENCE_H
#define ROWS_REFERENCE_H

#include <complex.h>
#undef complex /* which is a field in kernels/ops.h */
#include "tests/unit/reference.h"

/* Row number `index` along an axis, or with -1 all elements. */
struct row {
    const struct rt_array *a;
    int axis;
    int64_t index, length;
};

static inline struct row row_of(const struct rt_array *a, int axis, int64_t index)
{
    return (struct row){a, axis, index, axis < 0 ? rt_array_size(a) : a->shape[axis]};
}

/* Row-major number in the whole array of the row's i-th element. */
static inline int64_t place(const struct row *r, int64_t i)
{
    if (r->axis < 0) return i;
    int64_t inner = 1;
    for (int d = r->axis + 1; d < r->a->ndim; d++) inner *= r->a->shape[d];
    return (r->index / inner * r->length + i) * inner + r->index % inner;
}

/* A real element: of 64 bits, too, exactly. */
static inline long double number_at(enum rt_dtype t, const void *p)
{
    if (rt_dtypes[t].kind == 'f') return rt_load_double(t, p);
    int64_t bits = rt_load_int(t, p);
    return t == RT_UINT64 ? (long double)(uint64_t)bits : (long double)bits;
}

static inline long double _Complex complex_at(enum rt_dtype t, const void *p)
{
    if (!rt_is_complex(t)) return number_at(t, p);
    struct rt_complex z = rt_load_complex(t, p);
    return CMPLXL(z.re, z.im);
}

static inline bool better(long double x, long double best, bool smallest)
{
    if (isnan(best)) return false;
    return isnan(x) || (smallest ? x < best : x > best);
}

/* What is known of a row's first elements. */
struct row_values {
    int64_t count, least_at, most_at;
    long double _Complex sum, product;
    uint64_t whole, whole_product;
    long double sizes, least, most;
    bool any, all;
};

static inline struct row_values no_values(void)
{
    return (struct row_values){.product = 1, .whole_product = 1, .all = true};
}

static inline void add_element(struct row_values *v, enum rt_dtype t, const void *p)
{
    long double _Complex z = complex_at(t, p);
    long double x = creall(z);
    if (!rt_is_complex(t)) {
        if (rt_dtypes[t].kind != 'f') {
            v->whole += (uint64_t)rt_load_int(t, p);
            v->whole_product *= (uint64_t)rt_load_int(t, p);
        }
        if (v->count == 0 || better(x, v->least, true)) v->least = x, v->least_at = v->count;
        if (v->count == 0 || better(x, v->most, false)) v->most = x, v->most_at = v->count;
    }
    v->sum += z;
    v->product *= z;
    v->sizes += cabsl(z);
    v->any |= z != 0;
    v->all &= z != 0;
    v->count++;
}

static inline struct row_values values_of_row(const struct row *r)
{
    struct row_values v = no_values();
    for (int64_t i = 0; i < r->length; i++) add_element(&v, r->a->dtype, element(r->a, place(r, i)));
    return v;
}

static inline long double wrapped(enum rt_dtype t, uint64_t whole)
{
    return t == RT_UINT64 ? (long double)whole : (long double)(int64_t)whole;
}

static inline bool keeps_fractions(enum rt_dtype t)
{
    return rt_dtypes[t].kind == 'f' || rt_is_complex(t);
}

static inline long double _Complex reduced(enum kn_reduction k, const struct row_values *v, enum rt_dtype t)
{
    switch (k) {
    case KN_SUM: return keeps_fractions(t) ? v->sum : wrapped(t, v->whole);
    case KN_PROD: return keeps_fractions(t) ? v->product : wrapped(t, v->whole_product);
    case KN_MEAN: return v->sum / v->count;
    case KN_MIN: return v->least;
    case KN_MAX: return v->most;
    case KN_ARGMIN: return v->least_at + 1;
    case KN_ARGMAX: return v->most_at + 1;
    case KN_ANY: return v->any;
    default: return v->all;
    }
}

static inline enum rt_dtype reduced_dtype(enum kn_reduction k, enum rt_dtype t)
{
    switch (k) {
    case KN_SUM:
    case KN_PROD: return keeps_fractions(t) ? t : t == RT_UINT64 ? RT_UINT64 : RT_INT64;
    case KN_MEAN: return keeps_fractions(t) ? t : rt_dtypes[t].size == 8 ? RT_FLOAT64 : RT_FLOAT32;
    case KN_ARGMIN:
    case KN_ARGMAX: return RT_INT64;
    case KN_ANY:
    case KN_ALL: return RT_BOOL;
    default: return t;
    }
}

static inline long double unit_of(enum rt_dtype t)
{
    switch (rt_real_of(t)) {
    case RT_FLOAT64: return 0x1p-52L;
    case RT_FLOAT32: return 0x1p-23L;
    case RT_FLOAT16: return 0x1p-10L;
    case RT_BFLOAT16: return 0x1p-7L;
    default: return 0;
    }
}

/* How far a number is from the dtype's next one, at most. */
static inline long double step_at(enum rt_dtype t, long double _Complex want)
{
    return (cabsl(want) + 0x1p-14L) * unit_of(t);
}

/* Sums and products round; how much is allowed, relative to the sum of sizes. 16-bit floats are combined as float32. */
static inline long double reduction_allows(enum kn_reduction k, const struct row_values *v, enum rt_dtype result,
                                           long double _Complex want)
{
    if (k != KN_SUM && k != KN_PROD && k != KN_MEAN) return 0;
    long double unit = unit_of(result), each = rt_dtypes[result].size == 2 ? 0x1p-23L : unit;
    if (k == KN_PROD) return unit > 0 ? step_at(result, want) + cabsl(want) * each * (long double)v->count : 0;
    return 2 * step_at(result, want) + (unit > 0 ? v->sizes * 4 * each : 0) / (k == KN_MEAN ? v->count : 1);
}

static inline bool as_wanted(long double _Complex got, long double _Complex want, long double allowed)
{
    if (isnan(creall(want)) || isnan(cimagl(want))) return isnan(creall(got)) || isnan(cimagl(got));
    return got == want || cabsl(got - want) <= allowed;
}

/* These reductions (a bit each) along an axis, beside the reference. */
static inline void check_reductions(unsigned which, const struct rt_array *a, int axis)
{
    struct rt_array out[KN_REDUCTION_COUNT] = {{0}};
    int64_t rows = 0;
    for (int k = 0; k < KN_REDUCTION_COUNT; k++) {
        if (!(which >> k & 1)) continue;
        OK(kn_reduce((enum kn_reduction)k, a, axes_of(axis), false, &out[k], e));
        CHECK_INT(out[k].dtype, reduced_dtype((enum kn_reduction)k, a->dtype));
        CHECK_INT(out[k].ndim, axis < 0 ? 0 : a->ndim - 1);
        rows = rt_array_size(&out[k]);
    }
    for (int64_t i = 0; i < rows; i++) {
        struct row r = row_of(a, axis, i);
        struct row_values v = values_of_row(&r);
        for (int k = 0; k < KN_REDUCTION_COUNT; k++) {
            if (!(which >> k & 1)) continue;
            enum rt_dtype t = out[k].dtype;
            long double _Complex want = reduced((enum kn_reduction)k, &v, a->dtype),
                                 got = complex_at(t, element(&out[k], i));
            if (as_wanted(got, want, reduction_allows((enum kn_reduction)k, &v, t, want))) continue;
            FAIL("%s of %s, axis %d, [%lld]: %.17Lg %+.17Lgi, expected %.17Lg %+.17Lgi", kn_reductions[k].name,
                 rt_dtypes[a->dtype].name, axis, (long long)i, creall(got), cimagl(got), creall(want), cimagl(want));
        }
    }
    for (int k = 0; k < KN_REDUCTION_COUNT; k++) rt_array_release(&out[k]);
}

/* What a scan has at the last of these elements, and before it had. */
static inline long double _Complex scanned(enum kn_scan s, const struct row_values *v, enum rt_dtype t,
                                           long double _Complex before, long double _Complex last)
{
    const long double more = fmaxl(creall(before), creall(last)), less = fminl(creall(before), creall(last));
    switch (s) {
    case KN_CUMSUM: return reduced(KN_SUM, v, t);
    case KN_CUMPROD: return reduced(KN_PROD, v, t);
    case KN_CUMMAX: return v->most;
    case KN_CUMMIN: return v->least;
    default: return v->count == 1 ? last : more + log1pl(expl(less - more));
    }
}

static inline enum rt_dtype scanned_dtype(enum kn_scan s, enum rt_dtype t)
{
    return s == KN_LOGCUMSUMEXP ? reduced_dtype(KN_MEAN, t) : s <= KN_CUMPROD ? reduced_dtype(KN_SUM, t) : t;
}

/* Computed in float64 and then rounded once. */
static inline long double scan_allows(enum kn_scan s, const struct row_values *v, enum rt_dtype result,
                                      long double _Complex want)
{
    const long double each = 0x1p-50L * (long double)v->count;
    switch (s) {
    case KN_CUMSUM: return unit_of(result) > 0 ? step_at(result, want) + v->sizes * 0x1p-50L : 0;
    case KN_CUMPROD: return unit_of(result) > 0 ? step_at(result, want) + cabsl(want) * each : 0;
    case KN_LOGCUMSUMEXP: return step_at(result, want) + each;
    default: return 0;
    }
}

static inline void check_scan(enum kn_scan s, const struct rt_array *a, int axis)
{
    ARRAYS out = {0};
    OK(kn_scan(s, a, axis, &out, e));
    CHECK_INT(out.dtype, scanned_dtype(s, a->dtype));
    CHECK_INT(out.ndim, axis < 0 ? 1 : a->ndim);
    CHECK_INT(rt_array_size(&out), rt_array_size(a));
    struct row r = row_of(a, axis, 0);
    for (; rt_array_size(a) > 0 && r.index < rt_array_size(a) / r.length; r.index++) {
        struct row_values v = no_values();
        long double _Complex want = 0;
        for (int64_t i = 0; i < r.length; i++) {
            int64_t at = place(&r, i);
            add_element(&v, a->dtype, element(a, at));
            want = scanned(s, &v, a->dtype, want, complex_at(a->dtype, element(a, at)));
            long double _Complex got = complex_at(out.dtype, element(&out, at));
            if (as_wanted(got, want, scan_allows(s, &v, out.dtype, want))) continue;
            FAIL("%s of %s, axis %d, [%lld]: %.17Lg %+.17Lgi, expected %.17Lg %+.17Lgi", kn_scans[s].name,
                 rt_dtypes[a->dtype].name, axis, (long long)at, creall(got), cimagl(got), creall(want), cimagl(want));
        }
    }
}

#endif
