/* Methods that read and write by arrays of indices: take, put, gather, scatter. */
#include "kernels/gather.h"
#include <string.h>
#include "lang/closest.h"
#include "lang/index.h"
#include "lang/out.h"

/* ---- take and put: indices along one axis, or through all elements ---- */

/* Fills *x for indices that stand in the place of an axis of `data`; *spread becomes the indices over the places. */
static void take_along(lua_State *L, const struct rt_array *data, int axis, const struct rt_array *index,
                       struct kn_indexing *x, struct rt_array *spread)
{
    *x = (struct kn_indexing){.data = data, .count = 1};
    if (data->ndim - 1 + index->ndim > RT_MAX_DIMS) luaL_error(L, "an array has at most %d axes", RT_MAX_DIMS);
    *spread = *index; /* borrowed */
    spread->ndim = data->ndim - 1 + index->ndim;
    for (int i = 0; i < data->ndim; i++) {
        for (int k = 0; i == axis && k < index->ndim; k++) {
            spread->strides[x->ndim] = index->strides[k];
            x->runs[x->ndim] = -1;
            x->shape[x->ndim++] = index->shape[k];
        }
        if (i == axis) continue;
        spread->strides[x->ndim] = 0;
        x->runs[x->ndim] = i;
        x->shape[x->ndim++] = data->shape[i];
    }
    memcpy(spread->shape, x->shape, sizeof x->shape);
    x->picks[0] = (struct kn_pick){.index = spread, .axis = axis, .named = axis};
}

/* All elements along one axis: `a` itself, or pushes them: a view where *viewed says so. */
static const struct rt_array *push_flat(lua_State *L, const struct rt_array *a, bool *viewed)
{
    *viewed = true;
    if (a->ndim == 1) return a;
    struct rt_error *e = lg_error_box(L);
    int64_t size = rt_array_size(a);
    struct rt_array *out = lg_new_array(L);
    enum rt_status status = rt_array_reshape(a, 1, &size, out, e);
    *viewed = status != RT_UNSUPPORTED;
    if (*viewed) {
        lg_check(L, status);
        return out;
    }
    rt_error_clear(e);
    lg_check(L, kn_contiguous(a, out, e));
    out->ndim = 1;
    out->shape[0] = size;
    out->strides[0] = 1;
    return out;
}

static int take(lua_State *L)
{
    if (lg_out(L, "take")) return 1;
    bool viewed;
    struct kn_indexing x;
    struct rt_array spread;
    struct rt_error *e = lg_error_box(L);
    const struct rt_array *a = lg_check_array(L, 1);
    int axis = lua_isnoneornil(L, 3) ? -1 : lg_check_axis(L, 3, a->ndim);
    luaL_checkany(L, 2);
    lua_settop(L, 3);
    const struct rt_array *index = lg_push_indices(L, 2, a, axis);
    const struct rt_array *data = axis < 0 ? push_flat(L, a, &viewed) : a;
    take_along(L, data, axis < 0 ? 0 : axis, index, &x, &spread);
    struct rt_array *out = lg_new_array(L);
    lg_check(L, rt_array_new(rt_array_device(a), a->dtype, x.ndim, x.shape, out, e));
    lg_check(L, kn_gather(&x, out, e));
    return 1;
}

/* Puts the values at idx 3 into `a` where the indices at idx 2 say, counting through all elements. */
static void put_into(lua_State *L, const struct rt_array *a)
{
    bool viewed;
    struct kn_indexing x;
    struct rt_array spread;
    luaL_checkany(L, 3);
    const struct rt_array *index = lg_push_indices(L, 2, a, -1);
    const struct rt_array *value = lg_push_value(L, 3, a);
    const struct rt_array *flat = push_flat(L, a, &viewed);
    take_along(L, flat, 0, index, &x, &spread);
    lg_check_assignable(L, value, x.ndim, x.shape, "indices pick");
    lg_check(L, kn_scatter(&x, value, lg_error_box(L)));
    if (viewed) return;
    struct rt_array whole;
    rt_array_over(flat->storage, a->dtype, a->ndim, a->shape, &whole);
    lg_check(L, kn_copy(a, &whole, lg_error_box(L)));
}

/* Pushes a copy of x at idx 1, for the forms that leave x as it is. */
static const struct rt_array *push_copy(lua_State *L)
{
    const struct rt_array *a = lg_check_array(L, 1);
    struct rt_array *out = lg_new_array(L);
    lg_check(L, kn_convert(a, a->dtype, rt_array_device(a), out, lg_error_box(L)));
    return out;
}

static int put_in_place(lua_State *L)
{
    lua_settop(L, 3);
    put_into(L, lg_check_target(L, 1));
    lua_settop(L, 1);
    return 1;
}

static int put(lua_State *L)
{
    lua_settop(L, 3);
    put_into(L, push_copy(L));
    lua_settop(L, 4);
    return 1;
}

/* ---- gather and scatter: an index for each place, along one axis ---- */

/* The indices at idx 3 along the axis at idx 2 of `a`; the other axes run along with those of the indices. */
static void go_along(lua_State *L, const struct rt_array *a, struct kn_indexing *x)
{
    char left[256], right[256];
    int axis = lg_check_axis(L, 2, a->ndim);
    luaL_checkany(L, 3);
    const struct rt_array *index = lg_push_indices(L, 3, a, axis);
    *x = (struct kn_indexing){.data = a, .ndim = a->ndim, .count = 1};
    x->picks[0] = (struct kn_pick){.index = index, .axis = axis, .named = axis};
    bool fits = index->ndim == a->ndim;
    for (int i = 0; fits && i < a->ndim; i++) {
        x->shape[i] = index->shape[i];
        x->runs[i] = i == axis ? -1 : i;
        fits = i == axis || index->shape[i] <= a->shape[i];
    }
    if (!fits)
        luaL_error(L,
                   "indices of shape %s do not go along axis %d of an array of shape %s: they need as many axes, none "
                   "but that one longer",
                   rt_shape_text(index->ndim, index->shape, left, sizeof left), axis + 1,
                   rt_shape_text(a->ndim, a->shape, right, sizeof right));
}

static int gather(lua_State *L)
{
    struct kn_indexing x;
    struct rt_error *e = lg_error_box(L);
    const struct rt_array *a = lg_check_array(L, 1);
    lua_settop(L, 3);
    go_along(L, a, &x);
    struct rt_array *out = lg_new_array(L);
    lg_check(L, rt_array_new(rt_array_device(a), a->dtype, x.ndim, x.shape, out, e));
    lg_check(L, kn_gather(&x, out, e));
    return 1;
}

/* How values meet what is there: by an operation, or in its place. */
#define REPLACE KN_OP_COUNT

static void scatter_by(lua_State *L, const struct kn_indexing *x, const struct rt_array *value, enum kn_op by)
{
    struct rt_error *e = lg_error_box(L);
    lg_check_assignable(L, value, x->ndim, x->shape, "indices pick");
    lg_check(L, by == REPLACE ? kn_scatter(x, value, e) : kn_scatter_by(by, x, value, e));
}

static void scatter_into(lua_State *L, const struct rt_array *a, enum kn_op by)
{
    struct kn_indexing x;
    luaL_checkany(L, 4);
    const struct rt_array *value = lg_push_value(L, 4, a);
    go_along(L, a, &x);
    scatter_by(L, &x, value, by);
}

static int in_place(lua_State *L, enum kn_op by)
{
    lua_settop(L, 4);
    scatter_into(L, lg_check_target(L, 1), by);
    lua_settop(L, 1);
    return 1;
}

static int in_copy(lua_State *L, enum kn_op by)
{
    lua_settop(L, 4);
    scatter_into(L, push_copy(L), by);
    lua_settop(L, 5);
    return 1;
}

static int scatter(lua_State *L)
{
    return in_copy(L, REPLACE);
}
static int scatter_in_place(lua_State *L)
{
    return in_place(L, REPLACE);
}
static int scatter_add(lua_State *L)
{
    return in_copy(L, KN_ADD);
}
static int scatter_add_in_place(lua_State *L)
{
    return in_place(L, KN_ADD);
}

/* ---- scatter_reduce ---- */

enum { SUM, PROD, MEAN, AMAX, AMIN };

/* Pushes an array like the one at `like` with one number everywhere. */
static const struct rt_array *push_full(lua_State *L, const struct rt_array *like, int64_t number)
{
    struct rt_array *out = lg_new_array(L);
    lg_check(L, rt_array_new(rt_array_device(like), like->dtype, like->ndim, like->shape, out, lg_error_box(L)));
    lg_check(L, kn_fill(out, &(struct kn_operand){.i = number}, lg_error_box(L)));
    return out;
}

/* Divides what `a` has by how many values came to each element, itself among them where it is counted. */
static void divide_by_counts(lua_State *L, const struct rt_array *a, const struct kn_indexing *x, bool itself)
{
    struct rt_error *e = lg_error_box(L);
    struct kn_indexing of_counts = *x;
    struct rt_array one = {0}, *counts = lg_new_array(L);
    lg_check(L, rt_array_new(rt_array_device(a), RT_INT64, a->ndim, a->shape, counts, e));
    lg_check(L, kn_fill(counts, &(struct kn_operand){.i = itself}, e));
    of_counts.data = counts;
    one = *counts; /* borrowed: any one place of an array of ones */
    one.ndim = 0;
    one = *push_full(L, &one, 1);
    scatter_by(L, &of_counts, &one, KN_ADD);
    struct kn_operand most[2] = {{.array = counts}, {.i = 1}}, parts[2] = {{.array = a}, {.array = counts}};
    lg_check(L, kn_apply(KN_MAXIMUM, most, counts, e));
    lg_check(L, kn_apply(KN_DIV, parts, (struct rt_array *)(uintptr_t)a, e));
}

/* The arguments are x, axis, indices, values, reduce and include_self; `a` is what is written to. */
static void reduce_into(lua_State *L, const struct rt_array *a)
{
    static const char *const names[] = {"sum", "prod", "mean", "amax", "amin", NULL};
    static const enum kn_op ops[] = {KN_ADD, KN_MUL, KN_ADD, KN_MAXIMUM, KN_MINIMUM};
    struct kn_indexing x;
    luaL_checkany(L, 4);
    int reduce = lg_check_option(L, 5, NULL, names);
    bool itself = lua_isnil(L, 6) || lg_check_flag(L, 6, "include_self");
    const struct rt_array *value = lg_push_value(L, 4, a);
    if (reduce >= AMAX) lg_check(L, kn_check_real(a, names[reduce], lg_error_box(L)));
    if (reduce == MEAN && rt_dtypes[a->dtype].kind != 'f' && !rt_is_complex(a->dtype))
        luaL_error(L, "scatter_reduce: a mean needs floating elements, and x is %s; x:to(\"float32\") has them",
                   rt_dtypes[a->dtype].name);
    go_along(L, a, &x);
    if (!itself) { /* an extreme of some value and all values is theirs */
        struct rt_array place = *a;
        place.ndim = 0;
        value = lg_push_apart(L, value, a);
        x.picks[0].index = lg_push_apart(L, x.picks[0].index, a);
        scatter_by(L, &x, reduce >= AMAX ? value : push_full(L, &place, reduce == PROD), REPLACE);
    }
    scatter_by(L, &x, value, ops[reduce]);
    if (reduce == MEAN) divide_by_counts(L, a, &x, itself);
}

static int scatter_reduce(lua_State *L)
{
    lua_settop(L, 6);
    reduce_into(L, push_copy(L));
    lua_settop(L, 7);
    return 1;
}
static int scatter_reduce_in_place(lua_State *L)
{
    lua_settop(L, 6);
    reduce_into(L, lg_check_target(L, 1));
    lua_settop(L, 1);
    return 1;
}

/* ---- index_add: an index for each row ---- */

/* The arguments are x, axis, indices and values. */
static void add_rows(lua_State *L, const struct rt_array *a)
{
    struct kn_indexing x;
    struct rt_array spread;
    int axis = lg_check_axis(L, 2, a->ndim);
    luaL_checkany(L, 3);
    luaL_checkany(L, 4);
    const struct rt_array *index = lg_push_indices(L, 3, a, axis);
    const struct rt_array *value = lg_push_value(L, 4, a);
    if (index->ndim != 1) luaL_error(L, "index_add: the indices have %d axes, expected 1", index->ndim);
    take_along(L, a, axis, index, &x, &spread);
    scatter_by(L, &x, value, KN_ADD);
}

static int index_add(lua_State *L)
{
    lua_settop(L, 4);
    add_rows(L, push_copy(L));
    lua_settop(L, 5);
    return 1;
}
static int index_add_in_place(lua_State *L)
{
    lua_settop(L, 4);
    add_rows(L, lg_check_target(L, 1));
    lua_settop(L, 1);
    return 1;
}

#define INDICES                                                                                                        \
    "Indices are an array or a table of whole numbers, from 1, or from the end with negative ones; all are checked "   \
    "before anything is done."
#define LAST "Where an element is meant twice, the last value in row-major order stays."
#define SUM                                                                                                            \
    "Values for one element are added one after the other in row-major order, so a sum of floats is the same bits "    \
    "every time."

const struct lg_function lg_gather_methods[] = {
    {"take", take, "x:take(indices [, axis])",
     "The elements at these indices along an axis or, without one, through all elements in row-major order.\n"
     "The shape of the indices takes the axis's place. " INDICES " " LG_OUT_DOC,
     "local x = gpu.array({{10, 20, 30}, {40, 50, 60}})\nassert(x:take({6, -1, 1}):sum() == 60 + 60 + 10)\n"
     "assert(x:take({3, 3}, 2)[{2, 1}] == 60)"},
    {"put", put, "x:put(indices, values)", "x:put_, done to a copy of x, which is returned.",
     "local x = gpu.zeros(2, 3)\nassert(x:put({1, -1}, {5, 6}):sum() == 11 and x:sum() == 0)"},
    {"put_", put_in_place, "x:put_(indices, values)",
     "Writes values to the elements at these indices, through all elements in row-major order. Returns x.\n"
     "Values are a number, or an array or table that broadcasts to the shape of the indices. " LAST " " INDICES,
     "local x = gpu.zeros(2, 3)\nx:put_({1, -1}, {5, 6})\nassert(x[{1, 1}] == 5 and x[{2, 3}] == 6)"},
    {"gather", gather, "x:gather(axis, indices)",
     "For each index the element that lies there along the axis, at the index's own place along the others.\n"
     "The indices have as many axes as x and none longer but this one; the result has their shape. " INDICES,
     "local x = gpu.array({{10, 20, 30}, {40, 50, 60}})\n"
     "local y = x:gather(2, {{3, 1}, {1, 1}})\nassert(y[{1, 1}] == 30 and y[{2, 2}] == 40)"},
    {"scatter", scatter, "x:scatter(axis, indices, values)", "x:scatter_, done to a copy of x, which is returned.",
     "assert(gpu.zeros(3):scatter(1, {3}, 7)[3] == 7)"},
    {"scatter_", scatter_in_place, "x:scatter_(axis, indices, values)",
     "Writes each value where x:gather with these indices would read. Returns x.\n"
     "Values are a number, or an array or table that broadcasts to the shape of the indices. " LAST " " INDICES,
     "local x = gpu.zeros(2, 3)\nx:scatter_(2, {{3}, {1}}, {{5}, {6}})\nassert(x[{1, 3}] == 5 and x[{2, 1}] == 6)"},
    {"scatter_add", scatter_add, "x:scatter_add(axis, indices, values)",
     "x:scatter_add_, done to a copy of x, which is returned.",
     "assert(gpu.ones(3):scatter_add(1, {3, 3}, {2, 5})[3] == 8)"},
    {"scatter_add_", scatter_add_in_place, "x:scatter_add_(axis, indices, values)",
     "Adds each value where x:gather with these indices would read. Returns x.\n" SUM " " INDICES,
     "local counts = gpu.zeros(4, 'int32')\ncounts:scatter_add_(1, {2, 4, 2, 2}, 1)\n"
     "assert(counts[2] == 3 and counts[4] == 1 and counts[1] == 0)"},
    {"scatter_reduce", scatter_reduce, "x:scatter_reduce(axis, indices, values, reduce [, include_self])",
     "x:scatter_reduce_, done to a copy of x, which is returned.",
     "assert(gpu.ones(3):scatter_reduce(1, {3, 3}, {2, 5}, 'amax')[3] == 5)"},
    {"scatter_reduce_", scatter_reduce_in_place, "x:scatter_reduce_(axis, indices, values, reduce [, include_self])",
     "Combines each value with what lies where x:gather with these indices would read. Returns x.\n"
     "reduce is \"sum\", \"prod\", \"mean\", \"amax\" or \"amin\". With include_self = false the former element is not one "
     "of those that are combined; elements without values stay. Values are taken in row-major order, as by scatter_add_. " INDICES,
     "local best = gpu.zeros(3)\nbest:scatter_reduce_(1, {1, 3, 1}, {-4, 7, -2}, 'amax', {include_self = false})\n"
     "assert(best:equal(gpu.array({-2, 0, 7})))"},
    {"index_add", index_add, "x:index_add(axis, indices, values)",
     "x:index_add_, done to a copy of x, which is returned.",
     "assert(gpu.zeros(3, 2):index_add(1, {3, 3}, gpu.ones(2, 2))[{3, 1}] == 2)"},
    {"index_add_", index_add_in_place, "x:index_add_(axis, indices, values)",
     "Adds to each named row along an axis what lies at the same place of the values. Returns x.\n"
     "The values broadcast to the shape of x with the number of indices for the axis. " SUM " " INDICES,
     "local x = gpu.zeros(2, 3)\nx:index_add_(2, {1, 3, 1}, gpu.ones(2, 3))\nassert(x[{2, 1}] == 2 and x[{2, 2}] == 0)"},
    {0}};
