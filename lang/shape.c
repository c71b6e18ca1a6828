/* Views of an array in another shape, and copies of arrays. Views share storage: writing through one is seen by all. */
#include <stdlib.h>
#include <string.h>
#include "lang/complex.h"
#include "lang/lazy.h"

/* {axis = n} at idx becomes n. */
static void name_axis(lua_State *L, int idx)
{
    int names = 0;
    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1), names++)
        if (lua_type(L, -2) == LUA_TSTRING && strcmp(lua_tostring(L, -2), "axis") != 0)
            luaL_error(L, "there is no option '%s'; there is axis", lua_tostring(L, -2));
    if (lua_getfield(L, idx, "axis") != LUA_TNIL && names == 1)
        lua_replace(L, idx);
    else
        lua_pop(L, 1);
}

static int axis_of(lua_State *L, int idx, int ndim, const char *what)
{
    int is_integer;
    if (idx > 0 && lua_istable(L, idx)) name_axis(L, idx);
    lua_Integer axis = lua_tointegerx(L, idx, &is_integer);
    if (!is_integer || lua_type(L, idx) != LUA_TNUMBER)
        luaL_error(L, "an axis is an integer from 1 on, or from the end with -1, and not %s",
                   lua_type(L, idx) == LUA_TNUMBER ? lua_tostring(L, idx) : lg_type_name(L, idx));
    lua_Integer from_zero = axis > 0 ? axis - 1 : axis + ndim;
    if (axis == 0 || from_zero < 0 || from_zero >= ndim) {
        const char *has =
            ndim == 0   ? "none"
            : ndim == 1 ? "one, which is 1, or -1 from the end"
                        : lua_pushfstring(L, "%d, from 1 to %d, or from -1 to -%d from the end", ndim, ndim, ndim);
        luaL_error(L, "there is no axis %I: the %s has %s", (LUAI_UACINT)axis, what, has);
    }
    return (int)from_zero;
}

int lg_check_axis(lua_State *L, int idx, int ndim)
{
    return axis_of(L, idx, ndim, "array");
}

int lg_check_new_axis(lua_State *L, int idx, int ndim)
{
    return axis_of(L, idx, ndim + 1, "result");
}

static void push_contiguous(lua_State *L, const struct rt_array *a)
{
    struct rt_array *out = lg_new_array(L);
    lg_check(L, kn_contiguous(a, out, lg_error_box(L)));
}

static int reshape_to(lua_State *L, const struct rt_array *a, int ndim, const int64_t *shape, bool may_copy)
{
    struct rt_error *e = lg_error_box(L);
    struct rt_array *out = lg_new_array(L);
    enum rt_status status = rt_array_reshape(a, ndim, shape, out, e);
    if (status != RT_UNSUPPORTED || !may_copy) {
        lg_check(L, status);
        return 1;
    }
    rt_error_clear(e);
    push_contiguous(L, a);
    lg_check(L, rt_array_reshape(lua_touserdata(L, -1), ndim, shape, out, e));
    lua_pop(L, 1);
    return 1;
}

static int reshape_by(lua_State *L, bool may_copy)
{
    int64_t shape[RT_MAX_DIMS];
    int next;
    const struct rt_array *a = lg_check_array(L, 1);
    int ndim = lg_check_shape(L, 2, true, shape, &next);
    return reshape_to(L, a, ndim, shape, may_copy);
}

static int reshape(lua_State *L)
{
    return reshape_by(L, true);
}
static int view(lua_State *L)
{
    if (lua_type(L, 2) != LUA_TSTRING) return reshape_by(L, false);
    const struct rt_array *a = lg_check_array(L, 1);
    enum rt_dtype t = lg_check_dtype(L, 2, a->dtype);
    struct rt_array *out = lg_new_array(L);
    lg_check(L, rt_array_view_as(a, t, out, lg_error_box(L)));
    return 1;
}
static int flatten(lua_State *L)
{
    const struct rt_array *a = lg_check_array(L, 1);
    return reshape_to(L, a, 1, (int64_t[]){rt_array_size(a)}, true);
}

static int permute_by(lua_State *L, const struct rt_array *a, const int *axes)
{
    struct rt_array *out = lg_new_array(L);
    lg_check(L, rt_array_permute(a, axes, out, lg_error_box(L)));
    return 1;
}

static int transpose(lua_State *L)
{
    const struct rt_array *a = lg_check_array(L, 1);
    int axes[RT_MAX_DIMS];
    for (int i = 0; i < a->ndim; i++) axes[i] = i;
    if (lua_isnoneornil(L, 2)) {
        for (int i = 0; i < a->ndim; i++) axes[i] = a->ndim - 1 - i;
    } else {
        int i = lg_check_axis(L, 2, a->ndim), j = lg_check_axis(L, 3, a->ndim);
        axes[i] = j;
        axes[j] = i;
    }
    return permute_by(L, a, axes);
}

static int permute(lua_State *L)
{
    const struct rt_array *a = lg_check_array(L, 1);
    int axes[RT_MAX_DIMS], count = 0;
    if (lua_istable(L, 2)) {
        lua_Integer n = (lua_Integer)lua_rawlen(L, 2);
        luaL_checkstack(L, a->ndim + 4, NULL);
        for (lua_Integer i = 1; i <= n && i <= a->ndim + 1; i++) lua_rawgeti(L, 2, i);
        lua_remove(L, 2);
    }
    count = lua_gettop(L) - 1;
    if (count != a->ndim)
        return luaL_error(L, "permute takes all %d axes of the array in their new order, got %d", a->ndim, count);
    bool seen[RT_MAX_DIMS] = {false};
    for (int i = 0; i < count; i++) {
        axes[i] = lg_check_axis(L, i + 2, a->ndim);
        if (seen[axes[i]]) return luaL_error(L, "axis %d comes twice in the order", axes[i] + 1);
        seen[axes[i]] = true;
    }
    return permute_by(L, a, axes);
}

static void drop_axis(struct rt_array *a, int axis)
{
    a->ndim--;
    memmove(a->shape + axis, a->shape + axis + 1, (size_t)(a->ndim - axis) * sizeof *a->shape);
    memmove(a->strides + axis, a->strides + axis + 1, (size_t)(a->ndim - axis) * sizeof *a->strides);
}

static int squeeze(lua_State *L)
{
    const struct rt_array *a = lg_check_array(L, 1);
    int only = lua_isnoneornil(L, 2) ? -1 : lg_check_axis(L, 2, a->ndim);
    if (only >= 0 && a->shape[only] != 1)
        return luaL_error(L, "axis %d has %I elements; only an axis of 1 can be squeezed", only + 1,
                          (LUAI_UACINT)a->shape[only]);
    struct rt_array *out = lg_push_shared(L, a);
    for (int i = a->ndim - 1; i >= 0; i--)
        if (only < 0 ? out->shape[i] == 1 : i == only) drop_axis(out, i);
    return 1;
}

static int unsqueeze(lua_State *L)
{
    const struct rt_array *a = lg_check_array(L, 1);
    if (a->ndim == RT_MAX_DIMS) return luaL_error(L, "an array has at most %d axes", RT_MAX_DIMS);
    int axis = lg_check_new_axis(L, 2, a->ndim);
    struct rt_array *out = lg_push_shared(L, a);
    size_t behind = (size_t)(a->ndim - axis);
    memmove(out->shape + axis + 1, out->shape + axis, behind * sizeof *out->shape);
    memmove(out->strides + axis + 1, out->strides + axis, behind * sizeof *out->strides);
    out->shape[axis] = 1;
    out->strides[axis] = 0;
    out->ndim++;
    return 1;
}

static int64_t check_position(lua_State *L, int idx, const struct rt_array *a, int axis)
{
    lua_Integer i = luaL_checkinteger(L, idx);
    int64_t n = a->shape[axis], from_zero = i > 0 ? i - 1 : i + n;
    if (i == 0 || from_zero < 0 || from_zero >= n)
        luaL_error(L, "index %I is outside of axis %d, which has %I elements", (LUAI_UACINT)i, axis + 1,
                   (LUAI_UACINT)n);
    return from_zero;
}

static int select_index(lua_State *L)
{
    const struct rt_array *a = lg_check_array(L, 1);
    int axis = lg_check_axis(L, 2, a->ndim);
    int64_t i = check_position(L, 3, a, axis);
    struct rt_array *out = lg_new_array(L);
    lg_check(L, rt_array_select(a, axis, i, out, lg_error_box(L)));
    return 1;
}

static int narrow(lua_State *L)
{
    const struct rt_array *a = lg_check_array(L, 1);
    int axis = lg_check_axis(L, 2, a->ndim);
    lua_Integer length = luaL_checkinteger(L, 4);
    int64_t start = length == 0 ? 0 : check_position(L, 3, a, axis);
    if (length < 0 || length > a->shape[axis] - start)
        return luaL_error(L, "%I elements from index %I do not fit into axis %d, which has %I", (LUAI_UACINT)length,
                          (LUAI_UACINT)luaL_checkinteger(L, 3), axis + 1, (LUAI_UACINT)a->shape[axis]);
    struct rt_array *out = lg_push_shared(L, a);
    out->offset += start * a->strides[axis];
    out->shape[axis] = length;
    return 1;
}

static int broadcast_to(lua_State *L)
{
    int64_t shape[RT_MAX_DIMS];
    int next;
    const struct rt_array *a = lg_check_array(L, 1);
    int ndim = lg_check_shape(L, 2, false, shape, &next);
    struct rt_array *out = lg_new_array(L);
    lg_check(L, rt_array_broadcast(a, ndim, shape, out, lg_error_box(L)));
    return 1;
}

static int is_contiguous(lua_State *L)
{
    lua_pushboolean(L, rt_array_contiguous(lg_check_array(L, 1)));
    return 1;
}

static int contiguous(lua_State *L)
{
    const struct rt_array *a = lg_check_array(L, 1);
    if (rt_array_contiguous(a))
        lua_settop(L, 1);
    else
        push_contiguous(L, a);
    return 1;
}

static int convert(lua_State *L, const struct rt_array *a, enum rt_dtype dtype, struct rt_device *device)
{
    struct rt_array *out = lg_new_array(L);
    lg_check(L, kn_convert(a, dtype, device, out, lg_error_box(L)));
    return 1;
}

static int clone(lua_State *L)
{
    const struct rt_array *a = lg_check_array(L, 1);
    return convert(L, a, a->dtype, rt_array_device(a));
}

/* Another dtype on the same device may wait, as an operation. */
static int convert_here(lua_State *L, const struct rt_array *a, enum rt_dtype dtype)
{
    struct rt_array *out = lg_new_array(L);
    struct kn_expression *x = NULL;
    struct kn_source from = {.expression = ((const struct lg_array *)a)->expression, .operand = {.array = a}};
    enum rt_status status = kn_expression_convert(&from, dtype, &x, lg_error_box(L));
    if (status == RT_UNSUPPORTED && from.expression) {
        rt_error_clear(lg_error_box(L));
        lg_evaluate(L, lg_check_form(L, 1));
        from.expression = NULL;
        from.full = true;
        status = kn_expression_convert(&from, dtype, &x, lg_error_box(L));
    }
    lg_check(L, status);
    lg_wait(L, out, x);
    return 1;
}

static int to(lua_State *L)
{
    const struct rt_array *a = lg_check_form(L, 1);
    struct lg_placement p = {a->dtype, rt_array_device(a)};
    if (lua_isnoneornil(L, 2) && lua_isnoneornil(L, 3))
        return luaL_error(L, "x:to needs a device, a dtype or both, in quotes, as in x:to(\"cpu\")");
    lg_check_placement(L, 2, &p);
    bool here = p.device == rt_array_device(a), may_wait = lg_waits(a) || lg_worth_waiting(L, &a, 1);
    if (here && p.dtype != a->dtype && may_wait && !a->storage->foreign) return convert_here(L, a, p.dtype);
    if (!here || p.dtype != a->dtype) return convert(L, lg_check_array(L, 1), p.dtype, p.device);
    lua_settop(L, 1);
    return 1;
}

static int fill(lua_State *L)
{
    struct kn_operand number;
    const struct rt_array *a = lg_check_target(L, 1);
    if (!lg_is_scalar(L, 2)) luaL_typeerror(L, 2, "number or boolean");
    lg_check_operand(L, 2, &number);
    lg_check(L, kn_fill(a, &number, lg_error_box(L)));
    lua_settop(L, 1);
    return 1;
}

/* As they lie, between two devices. */
static bool can_transfer(const struct rt_array *to, const struct rt_array *from)
{
    return rt_array_device(from) != rt_array_device(to) && from->dtype == to->dtype && rt_array_same_shape(from, to) &&
           rt_array_contiguous(from) && rt_array_contiguous(to);
}

static int copy_into(lua_State *L)
{
    const struct rt_array *from = lg_check_array(L, 2);
    const struct rt_array *to_array = lg_check_target(L, 1);
    if (can_transfer(to_array, from)) { /* and may do so in a stream */
        lg_check(L, rt_array_transfer(to_array, from, lg_error_box(L)));
        lua_settop(L, 1);
        return 1;
    }
    if (rt_array_device(from) != rt_array_device(to_array)) {
        convert(L, from, to_array->dtype, rt_array_device(to_array));
        from = lua_touserdata(L, -1);
    }
    lg_check(L, kn_copy(to_array, from, lg_error_box(L)));
    lua_settop(L, 1);
    return 1;
}

static int item(lua_State *L)
{
    char text[256];
    const struct rt_array *a = lg_check_array(L, 1);
    if (rt_array_size(a) != 1)
        return luaL_error(L, "x:item() needs an array of one element; this one has the shape %s",
                          rt_shape_text(a->ndim, a->shape, text, sizeof text));
    lg_push_element(L, a);
    return 1;
}

#define POLL_EVERY 65536 /* elements between looks at whether the user wants to stop */

/* Puts elements first + 1 to last of those at p into the table on top. The loops over what C has types for tell them
 * apart once: doing so for each of them is a third of the time. */
static void put_elements(lua_State *L, enum rt_dtype dtype, const char *p, int64_t first, int64_t last)
{
#define PUT(ID, TYPE, PUSH)                                                                                            \
    case RT_##ID:                                                                                                      \
        for (int64_t i = first; i < last; i++) {                                                                       \
            TYPE value;                                                                                                \
            memcpy(&value, p + (size_t)i * sizeof value, sizeof value);                                                \
            PUSH(L, value);                                                                                            \
            lua_rawseti(L, -2, i + 1);                                                                                 \
        }                                                                                                              \
        break;
    switch (dtype) {
        PUT(UINT8, uint8_t, lua_pushinteger)
        PUT(INT32, int32_t, lua_pushinteger)
        PUT(INT64, int64_t, lua_pushinteger)
        PUT(FLOAT32, float, lua_pushnumber)
        PUT(FLOAT64, double, lua_pushnumber)
    case RT_COMPLEX64:
    case RT_COMPLEX128: lg_put_complex(L, dtype, p, first, last); break;
    default:
        for (int64_t i = first; i < last; i++) {
            lg_push_scalar(L, dtype, p + i * rt_dtypes[dtype].size);
            lua_rawseti(L, -2, i + 1);
        }
    }
#undef PUT
}

/* Pushes the nested table of axis `axis`; *p walks through the contiguous elements. */
static void push_nested(lua_State *L, const struct rt_array *a, int axis, const char **p)
{
    const int64_t n = a->shape[axis];
    lua_createtable(L, n < INT32_MAX ? (int)n : INT32_MAX, 0);
    if (axis == a->ndim - 1) {
        for (int64_t i = 0; i < n; i += POLL_EVERY) {
            if (i > 0) lg_poll(L);
            put_elements(L, a->dtype, *p, i, n - i < POLL_EVERY ? n : i + POLL_EVERY);
        }
        *p += n * rt_dtypes[a->dtype].size;
        return;
    }
    for (int64_t i = 1; i <= n; i++) {
        lg_poll(L);
        push_nested(L, a, axis + 1, p);
        lua_rawseti(L, -2, i);
    }
}

const void *lg_push_host_copy(lua_State *L, const struct rt_array *a)
{
    push_contiguous(L, a);
    const struct rt_array *c = lua_touserdata(L, -1);
    lg_check(L, rt_array_alive(c, lg_error_box(L)));
    const void *host = lg_array_host(c);
    if (host || rt_array_size(c) == 0) return host;
    void *buffer = lua_newuserdatauv(L, (size_t)rt_array_size(c) * rt_dtypes[c->dtype].size, 0);
    lg_check_frame(L);
    lg_check(L, rt_array_read(c, buffer, lg_error_box(L)));
    lua_remove(L, -2);
    return buffer;
}

static int tobytes(lua_State *L)
{
    const struct rt_array a = *lg_check_array(L, 1); /* a copy, as in totable */
    const char *p = lg_push_host_copy(L, &a);
    lua_pushlstring(L, p ? p : "", (size_t)rt_array_size(&a) * rt_dtypes[a.dtype].size);
    return 1;
}

static int totable(lua_State *L)
{
    const struct rt_array a = *lg_check_array(L, 1); /* a copy: a finalizer may free it while tables are made */
    luaL_checkstack(L, RT_MAX_DIMS + 8, NULL);
    const char *p = lg_push_host_copy(L, &a);
    if (a.ndim == 0)
        lg_push_scalar(L, a.dtype, p);
    else
        push_nested(L, &a, 0, &p);
    return 1;
}

#define VIEW "A view: it shares the elements of x."

const struct lg_function lg_shape_methods[] = {
    {"reshape", reshape, "x:reshape(shape...)",
     "The same elements, in row-major order, in another shape.\n"
     "One size may be -1 and is then computed. A view where that is possible, else a copy; view never copies.",
     "local x = gpu.range(6):reshape(2, -1)\nassert(x.shape[2] == 3 and x[{2, 1}] == 4)"},
    {"view", view, "x:view(shape... | dtype)",
     "Like reshape, but an error where only a copy could have that shape.\n"
     "With the name of a dtype the same bytes as its elements, as CUDA's __float_as_int has them: where that one is of "
     "another size, the last axis has more or fewer elements, which have to lie side by side. The bytes of bool are "
     "viewed as bool alone. x:to(dtype) converts values.\n" VIEW,
     "local x = gpu.zeros(6)\nx:view(2, 3)[{2, 1}] = 5\nassert(x[4] == 5)\n"
     "local bits = gpu.array({1, -2}, 'float32'):view('int32')\n"
     "assert(bits[1] == 0x3f800000 and bits:view('uint8').size == 8)"},
    {"flatten", flatten, "x:flatten()", "All elements along one axis.\nA view where that is possible, else a copy.",
     "assert(#gpu.zeros(2, 3):flatten() == 6)"},
    {"transpose", transpose, "x:transpose([axis1, axis2])",
     "Two axes exchanged or, without arguments, all axes in reverse order, as x.T.\n" VIEW,
     "local x = gpu.zeros(2, 3, 4)\nassert(x:transpose().shape[1] == 4 and x:transpose(1, 2).shape[1] == 3)"},
    {"permute", permute, "x:permute(axis...)", "The axes in another order: all of them, each once.\n" VIEW,
     "assert(gpu.zeros(2, 3, 4):permute(3, 1, 2).shape[1] == 4)"},
    {"squeeze", squeeze, "x:squeeze([axis])", "Without the axes of size 1, or without this one.\n" VIEW,
     "assert(gpu.zeros(1, 3, 1):squeeze().ndim == 1)"},
    {"unsqueeze", unsqueeze, "x:unsqueeze(axis)", "With an axis of size 1 put in at this place.\n" VIEW,
     "local x = gpu.zeros(3)\nassert(x:unsqueeze(1).shape[1] == 1 and x:unsqueeze(-1).shape[2] == 1)"},
    {"select", select_index, "x:select(axis, index)", "One index of an axis; the axis is gone.\n" VIEW,
     "assert(gpu.array({{1, 2}, {3, 4}}):select(2, 1):sum() == 4)"},
    {"narrow", narrow, "x:narrow(axis, start, length)",
     "So many elements of an axis, from start on, which counts from 1 or from the end with -1.\n" VIEW,
     "assert(gpu.range(10):narrow(1, 3, 4):sum() == 3 + 4 + 5 + 6)"},
    {"broadcast_to", broadcast_to, "x:broadcast_to(shape...)",
     "Repeated along axes of size 1 and along new axes in front, without copying.\n"
     "A view: elements that appear several times are one element of x.",
     "local x = gpu.array({1, 2}):broadcast_to(3, 2)\nassert(x.shape[1] == 3 and x:sum() == 9)"},
    {"is_contiguous", is_contiguous, "x:is_contiguous()",
     "Whether the elements lie one behind the other in row-major order, as kernels expect them.",
     "local x = gpu.zeros(2, 3)\nassert(x:is_contiguous() and not x.T:is_contiguous())"},
    {"contiguous", contiguous, "x:contiguous()", "x itself where its elements are contiguous, else a contiguous copy.",
     "assert(gpu.zeros(2, 3).T:contiguous():is_contiguous())"},
    {"clone", clone, "x:clone()", "A copy with elements of its own, contiguous.",
     "local x = gpu.zeros(3)\nlocal y = x:clone()\ny[1] = 5\nassert(x[1] == 0)"},
    {"copy", clone, "x:copy()", "The same as x:clone(), by NumPy's name.",
     "local x = gpu.zeros(3)\nx:copy():fill(1)\nassert(x:sum() == 0)"},
    {"to", to, "x:to([device] [, dtype])",
     "The array on another device, in another dtype, or both.\n"
     "x itself when nothing changes, else a copy. Floats become integers by cutting off the fraction.",
     "local x = gpu.array({1.5, 2.5}):to('cpu', 'int32')\nassert(x.device == 'cpu' and x[2] == 2)"},
    {"fill", fill, "x:fill(value)", "Sets all elements to a number or boolean. Returns x.",
     "assert(gpu.empty(3):fill(2):sum() == 6)"},
    {"copy_", copy_into, "x:copy_(y)",
     "Sets the elements of x to those of y, which is broadcast, converted, and brought from another device if need be. "
     "Returns x.",
     "local x = gpu.zeros(2, 3)\nx:copy_(gpu.range(3):to('cpu'))\nassert(x[{2, 3}] == 3)"},
    {"item", item, "x:item()", "The only element as a Lua number or boolean; an error if there are more.",
     "assert(gpu.array({{5}}):item() == 5)"},
    {"totable", totable, "x:totable()", "Nested Lua tables with the elements; of no axes, the element itself.",
     "local t = gpu.array({{1, 2}, {3, 4}}):totable()\nassert(t[2][1] == 3)"},
    {"tobytes", tobytes, "x:tobytes()",
     "The elements as they lie in memory, in row-major order, as a string; gpu.array(bytes, dtype) reads it.",
     "local x = gpu.array({1, 258}, 'int16')\nassert(x:tobytes() == '\\1\\0\\2\\1')"},
    {0}};
