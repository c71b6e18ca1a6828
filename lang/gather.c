/* Methods that read and write by arrays of indices: take, put, gather, scatter. */
#include "kernels/gather.h"
#include <string.h>
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

typedef enum rt_status scatter_call(const struct kn_indexing *x, const struct rt_array *value, struct rt_error *e);

static void scatter_into(lua_State *L, const struct rt_array *a, scatter_call *call)
{
    struct kn_indexing x;
    luaL_checkany(L, 4);
    const struct rt_array *value = lg_push_value(L, 4, a);
    go_along(L, a, &x);
    lg_check_assignable(L, value, x.ndim, x.shape, "indices pick");
    lg_check(L, call(&x, value, lg_error_box(L)));
}

static int scatter_in_place_by(lua_State *L, scatter_call *call)
{
    lua_settop(L, 4);
    scatter_into(L, lg_check_target(L, 1), call);
    lua_settop(L, 1);
    return 1;
}

static int scatter_by(lua_State *L, scatter_call *call)
{
    lua_settop(L, 4);
    scatter_into(L, push_copy(L), call);
    lua_settop(L, 5);
    return 1;
}

static int scatter(lua_State *L)
{
    return scatter_by(L, kn_scatter);
}
static int scatter_in_place(lua_State *L)
{
    return scatter_in_place_by(L, kn_scatter);
}
static int scatter_add(lua_State *L)
{
    return scatter_by(L, kn_scatter_add);
}
static int scatter_add_in_place(lua_State *L)
{
    return scatter_in_place_by(L, kn_scatter_add);
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
    {0}};
