/* Views that turn, cut and window an array: no element is copied. */
#include <string.h>
#include "lang/array.h"

int lg_check_axes(lua_State *L, int idx, int ndim, int *axes)
{
    int count = 0, given = lua_gettop(L) - idx + 1;
    if (lua_istable(L, idx)) {
        given = (int)lua_rawlen(L, idx);
        if (given == 0) {
            lua_pushnil(L);
            if (lua_next(L, idx)) luaL_argerror(L, idx, "a list of axes expected, such as {1, 2}, and no names");
        }
        luaL_checkstack(L, RT_MAX_DIMS + 2, NULL);
        luaL_argcheck(L, given <= RT_MAX_DIMS, idx, "more axes than an array can have");
        for (int i = 1; i <= given; i++) lua_rawgeti(L, idx, i);
        idx = lua_gettop(L) - given + 1;
    }
    for (int i = 0; i < given && i <= ndim; i++) {
        int axis = lg_check_axis(L, idx + i, ndim);
        for (int k = 0; k < count; k++)
            if (axes[k] == axis) luaL_error(L, "axis %d is named twice", axis + 1);
        axes[count++] = axis;
    }
    return count;
}

static int flip(lua_State *L)
{
    const struct rt_array *a = lg_check_array(L, 1);
    int axes[RT_MAX_DIMS], count = 0;
    if (lua_isnoneornil(L, 2))
        for (; count < a->ndim; count++) axes[count] = count;
    else
        count = lg_check_axes(L, 2, a->ndim, axes);
    struct rt_array *out = lg_push_shared(L, a);
    for (int i = 0; i < count; i++) {
        int axis = axes[i];
        if (out->shape[axis] < 1) continue;
        out->offset += (out->shape[axis] - 1) * out->strides[axis];
        out->strides[axis] = -out->strides[axis];
    }
    return 1;
}

static int moveaxis(lua_State *L)
{
    const struct rt_array *a = lg_check_array(L, 1);
    int from = lg_check_axis(L, 2, a->ndim), to = lg_check_axis(L, 3, a->ndim), axes[RT_MAX_DIMS], n = 0;
    for (int i = 0; i < a->ndim; i++) {
        if (n == to) axes[n++] = from;
        if (i != from) axes[n++] = i;
    }
    if (n < a->ndim) axes[n] = from;
    lg_check(L, rt_array_permute(a, axes, lg_new_array(L), lg_error_box(L)));
    return 1;
}

static int expand(lua_State *L)
{
    int64_t shape[RT_MAX_DIMS];
    int next;
    const struct rt_array *a = lg_check_array(L, 1);
    int ndim = lg_check_shape(L, 2, true, shape, &next);
    for (int i = 0; i < ndim; i++) {
        int axis = i - (ndim - a->ndim);
        if (shape[i] != -1) continue;
        if (axis < 0)
            return luaL_error(L, "axis %d of the new shape is not in the array, so its size cannot be -1", i + 1);
        shape[i] = a->shape[axis];
    }
    lg_check(L, rt_array_broadcast(a, ndim, shape, lg_new_array(L), lg_error_box(L)));
    return 1;
}

static int unfold(lua_State *L)
{
    const struct rt_array *a = lg_check_array(L, 1);
    int axis = lg_check_axis(L, 2, a->ndim);
    lua_Integer size = luaL_checkinteger(L, 3), step = luaL_optinteger(L, 4, 1);
    if (a->ndim == RT_MAX_DIMS) return luaL_error(L, "an array has at most %d axes", RT_MAX_DIMS);
    if (size < 0 || size > a->shape[axis])
        return luaL_error(L, "a window of %I elements does not fit into axis %d, which has %I", (LUAI_UACINT)size,
                          axis + 1, (LUAI_UACINT)a->shape[axis]);
    luaL_argcheck(L, step > 0, 4, "windows follow each other by a positive step");
    struct rt_array *out = lg_push_shared(L, a);
    out->shape[axis] = (a->shape[axis] - size) / step + 1;
    out->shape[out->ndim] = size;
    out->strides[out->ndim++] = a->strides[axis];
    out->strides[axis] = out->shape[axis] > 1 ? a->strides[axis] * step : a->strides[axis];
    return 1;
}

static int diagonal(lua_State *L)
{
    const struct rt_array *a = lg_check_array(L, 1);
    lua_Integer offset = luaL_optinteger(L, 2, 0);
    if (a->ndim < 2) return luaL_error(L, "a diagonal needs two axes; the array has %d", a->ndim);
    int row = lua_isnoneornil(L, 3) ? 0 : lg_check_axis(L, 3, a->ndim);
    int column = lua_isnoneornil(L, 4) ? 1 : lg_check_axis(L, 4, a->ndim);
    if (row == column) return luaL_error(L, "a diagonal needs two axes, and axis %d was named twice", row + 1);
    struct rt_array *out = lg_push_shared(L, a);
    lg_diagonal(out, offset, row, column);
    return 1;
}

void lg_diagonal(struct rt_array *a, int64_t offset, int row, int column)
{
    int64_t rows = a->shape[row], columns = a->shape[column], count;
    int64_t stride = a->strides[row] + a->strides[column];
    if (offset >= 0)
        count = offset >= columns ? 0 : columns - offset < rows ? columns - offset : rows;
    else
        count = offset <= -rows ? 0 : rows + offset < columns ? rows + offset : columns;
    if (count > 0) a->offset += offset >= 0 ? offset * a->strides[column] : -offset * a->strides[row];
    int kept = 0;
    for (int i = 0; i < a->ndim; i++) {
        if (i == row || i == column) continue;
        a->shape[kept] = a->shape[i];
        a->strides[kept++] = a->strides[i];
    }
    a->shape[kept] = count;
    a->strides[kept++] = stride;
    a->ndim = kept;
}

/* Adds the part [start, start + count) of the axis to the table at the top. */
static void add_part(lua_State *L, const struct rt_array *a, int axis, int64_t start, int64_t count)
{
    struct rt_array *out = lg_push_shared(L, a);
    if (count > 0) out->offset += start * out->strides[axis];
    out->shape[axis] = count;
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
}

#define MOST_PARTS 10000000 /* of an axis without elements, which has any number of parts */

static int split(lua_State *L)
{
    const struct rt_array *a = lg_check_array(L, 1);
    int axis = lua_isnoneornil(L, 3) ? 0 : lg_check_axis(L, 3, a->ndim);
    if (a->ndim == 0) return luaL_error(L, "an array of no axes cannot be split");
    int64_t n = a->shape[axis], at = 0;
    if (lua_istable(L, 2)) {
        lua_Integer cuts = (lua_Integer)lua_rawlen(L, 2);
        lua_newtable(L);
        for (lua_Integer i = 1; i <= cuts + 1; i++) {
            int is_integer = 1;
            int64_t to = n;
            if (i <= cuts) {
                lua_rawgeti(L, 2, i);
                to = lua_tointegerx(L, -1, &is_integer);
                lua_pop(L, 1);
            }
            if (!is_integer || to < at || to > n)
                return luaL_error(L, "cut %I of x:split must be an integer from %I to %I, the length of axis %d",
                                  (LUAI_UACINT)i, (LUAI_UACINT)at, (LUAI_UACINT)n, axis + 1);
            add_part(L, a, axis, at, to - at);
            at = to;
        }
        return 1;
    }
    lua_Integer parts = luaL_checkinteger(L, 2);
    luaL_argcheck(L, parts > 0, 2, "the number of parts must be positive");
    if (n % parts != 0 || parts > MOST_PARTS)
        return luaL_error(
            L, "axis %d of %I elements cannot be split into %I equal parts; x:chunk makes the last one smaller",
            axis + 1, (LUAI_UACINT)n, (LUAI_UACINT)parts);
    lua_newtable(L);
    for (lua_Integer i = 0; i < parts; i++) add_part(L, a, axis, i * (n / parts), n / parts);
    return 1;
}

static int chunk(lua_State *L)
{
    const struct rt_array *a = lg_check_array(L, 1);
    lua_Integer parts = luaL_checkinteger(L, 2);
    int axis = lua_isnoneornil(L, 3) ? 0 : lg_check_axis(L, 3, a->ndim);
    if (a->ndim == 0) return luaL_error(L, "an array of no axes cannot be split");
    luaL_argcheck(L, parts > 0, 2, "the number of parts must be positive");
    int64_t n = a->shape[axis], each = n / parts + (n % parts != 0);
    lua_newtable(L);
    int64_t at = 0;
    do {
        int64_t count = n - at < each ? n - at : each;
        add_part(L, a, axis, at, count);
        at += count;
    } while (at < n);
    return 1;
}

/* The parts of size 1 along the axis, without it. */
static int unstack(lua_State *L)
{
    const struct rt_array *a = lg_check_array(L, 1);
    int axis = lua_isnoneornil(L, 2) ? 0 : lg_check_axis(L, 2, a->ndim);
    if (a->ndim == 0) return luaL_error(L, "an array of no axes cannot be taken apart");
    int64_t n = a->shape[axis];
    lua_createtable(L, (int)(n < MOST_PARTS ? n : MOST_PARTS), 0);
    for (int64_t i = 0; i < n; i++) {
        struct rt_array one = *a; /* borrowed */
        one.ndim = 0;
        one.offset += i * a->strides[axis];
        if (a->ndim == 1)
            lg_push_element(L, &one);
        else
            lg_check(L, rt_array_select(a, axis, i, lg_new_array(L), lg_error_box(L)));
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

#define VIEW "A view: it shares the elements of x."

const struct lg_function lg_view_functions[] = {
    {"flip", flip, "x:flip([axis...])   gpu.flip(x, ...)",
     "The elements in reverse order along these axes, or all.\n" VIEW,
     "local x = gpu.array({{1, 2}, {3, 4}})\nassert(x:flip()[{1, 1}] == 4 and x:flip(2)[{1, 1}] == 2)"},
    {"moveaxis", moveaxis, "x:moveaxis(axis, to)   gpu.moveaxis(x, axis, to)",
     "One axis moved to another place; the others keep their order.\n" VIEW,
     "assert(gpu.zeros(2, 3, 4):moveaxis(1, 3).shape[3] == 2)"},
    {"expand", expand, "x:expand(shape...)   gpu.expand(x, ...)",
     "Like broadcast_to; a size of -1 keeps the axis as it is.\n"
     "A view: elements that appear several times are one element of x.",
     "local x = gpu.array({{1}, {2}}):expand(-1, 3)\nassert(x.shape[1] == 2 and x:sum() == 9)"},
    {"unfold", unfold, "x:unfold(axis, size [, step])   gpu.unfold(x, ...)",
     "Windows of so many elements that slide along an axis, by one element or by a step; a window lies along a new last "
     "axis.\nA view: elements that several windows have are one element of x.",
     "local x = gpu.range(5):unfold(1, 3)\nassert(x.shape[1] == 3 and x[{2, 3}] == 4)\n"
     "assert(gpu.range(5):unfold(1, 2, 3).shape[1] == 2)"},
    {"diagonal", diagonal, "x:diagonal([offset [, axis1, axis2]])   gpu.diagonal(x, ...)",
     "The elements with the same index along two axes, the first two unless told otherwise; they lie along a new last axis.\n"
     "A positive offset takes a diagonal above, a negative one below. " VIEW,
     "local x = gpu.range(9):reshape(3, 3)\nassert(x:diagonal():sum() == 15 and x:diagonal(1):sum() == 2 + 6)\n"
     "x:diagonal():fill(0)\nassert(x:sum() == 30)"},
    {"split", split, "x:split(parts [, axis])   gpu.split(x, ...)",
     "A list of so many equal parts of an axis, the first unless told otherwise; or, for a table such as {2, 5}, the parts "
     "between cuts after so many elements.\nViews: they share the elements of x.",
     "local parts = gpu.range(6):split(3)\nassert(#parts == 3 and parts[2]:sum() == 3 + 4)\n"
     "parts = gpu.range(6):split({2, 5})\nassert(#parts == 3 and parts[2]:sum() == 3 + 4 + 5)"},
    {"unstack", unstack, "x:unstack([axis])   gpu.unstack(x [, axis])",
     "A list of what lies at each index of an axis, the first unless told otherwise; gpu.stack puts it together again.\n"
     "Views: they share the elements of x. Of the only axis they are Lua values.",
     "local rows = gpu.array({{1, 2}, {3, 4}}):unstack()\nassert(#rows == 2 and rows[2]:equal(gpu.array({3, 4})))\n"
     "assert(gpu.stack(gpu.ones(2, 3):unstack(2), 2):sum() == 6)"},
    {"chunk", chunk, "x:chunk(parts [, axis])   gpu.chunk(x, ...)",
     "A list of at most so many parts of an axis, the first unless told otherwise; all are of one size but the last, which "
     "may be smaller.\nViews: they share the elements of x.",
     "local parts = gpu.range(7):chunk(3)\nassert(#parts == 3 and #parts[1] == 3 and #parts[3] == 1)"},
    {0}};
