/* Reductions and comparisons of whole arrays. */
#include <math.h>
#include <string.h>
#include "kernels/compose.h"
#include "lang/closest.h"
#include "lang/lazy.h"
#include "lang/reduce.h"

int lg_push_number_of(lua_State *L)
{
    struct rt_array *a = lua_touserdata(L, -1);
    lg_push_element(L, a);
    lg_array_drop(a);
    return 1;
}

/* ---- which axes ---- */
static void add_axis(lua_State *L, int idx, int ndim, struct lg_reduction *r)
{
    int axis = lg_check_axis(L, idx, ndim);
    if (r->named && r->axes >> axis & 1) luaL_error(L, "axis %d is named twice", axis + 1);
    r->axes = r->named ? r->axes | 1u << axis : 1u << axis;
    r->named = true;
}

static void check_axes(lua_State *L, int idx, int ndim, struct lg_reduction *r)
{
    if (lua_isnoneornil(L, idx)) return;
    if (!lua_istable(L, idx)) {
        add_axis(L, idx, ndim, r);
        return;
    }
    idx = lua_absindex(L, idx);
    for (lua_Integer i = 1, n = (lua_Integer)lua_rawlen(L, idx); i <= n; i++) {
        lua_rawgeti(L, idx, i);
        add_axis(L, -1, ndim, r);
        lua_pop(L, 1);
    }
}

bool lg_check_flag(lua_State *L, int idx, const char *name)
{
    if (!lua_isnoneornil(L, idx) && !lua_isboolean(L, idx))
        luaL_error(L, "%s is true or false, not %s", name, lg_type_name(L, idx));
    return lua_toboolean(L, idx);
}

static void raise_unknown(lua_State *L, const char *key, const char *number)
{
    const char *other = lg_option_synonym(key);
    if (other && (!strcmp(other, "axis") || !strcmp(other, "keepdims") || (number && !strcmp(other, number))))
        luaL_error(L, "there is no option '%s'; it is called %s", key, other);
    luaL_error(L, "there is no option '%s'; there are axis, keepdims%s%s and out", key, number ? ", " : "",
               number ? number : "");
}

static void check_option(lua_State *L, const char *key, int ndim, const char *number, struct lg_reduction *r)
{
    if (!strcmp(key, "axis"))
        check_axes(L, lua_gettop(L), ndim, r);
    else if (!strcmp(key, "keepdims"))
        r->keepdims = lg_check_flag(L, -1, key);
    else if (!number || strcmp(key, number))
        raise_unknown(L, key, number);
    else if (!lua_isnumber(L, -1))
        luaL_error(L, "the option %s is %s, expected a number", number, lg_type_name(L, -1));
    else
        r->number = lua_tonumber(L, -1);
}

static void check_options(lua_State *L, int idx, int ndim, const char *number, struct lg_reduction *r)
{
    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) check_option(L, lg_option_name(L), ndim, number, r);
}

void lg_check_reduction(lua_State *L, int idx, int ndim, const char *number, struct lg_reduction *r)
{
    bool table = lua_istable(L, idx) && lua_rawlen(L, idx) == 0;
    r->axes = KN_ALL_AXES;
    r->named = r->keepdims = false;
    if (!table) {
        check_axes(L, idx, ndim, r);
        luaL_argcheck(L, lua_type(L, idx + 1) != LUA_TNUMBER, idx + 1,
                      "keepdims is true or false; several axes are one table, as {1, 2}");
        luaL_argcheck(L, !lua_istable(L, idx + 1) || lua_rawlen(L, idx + 1) == 0, idx + 1,
                      "keepdims is true or false, or a table of options such as {keepdims = true}");
        if (lua_istable(L, idx + 1)) {
            if (lua_getfield(L, idx + 1, "axis") != LUA_TNIL && r->named) luaL_error(L, "the axis is named twice");
            lua_pop(L, 1);
            check_options(L, idx + 1, ndim, number, r);
        } else {
            r->keepdims = lg_check_flag(L, idx + 1, "keepdims");
        }
    } else {
        check_options(L, idx, ndim, number, r);
    }
    r->value = !r->keepdims && (!r->named || ndim == 1);
}

static struct kn_expression *new_statistic(lua_State *L, const struct rt_array *a, const struct kn_statistic *s)
{
    struct kn_expression *x = NULL;
    struct kn_source from = {.expression = ((const struct lg_array *)a)->expression, .operand = {.array = a}};
    enum rt_status status = kn_expression_statistic(s, &from, &x, lg_error_box(L));
    if (status == RT_UNSUPPORTED && from.expression) {
        rt_error_clear(lg_error_box(L));
        lg_evaluate(L, (struct rt_array *)(uintptr_t)a);
        from = (struct kn_source){.operand = {.array = a}, .full = true};
        status = kn_expression_statistic(s, &from, &x, lg_error_box(L));
    }
    lg_check(L, status);
    return x;
}

/* Foreign memory may change before anybody looks. */
static bool is_to_wait(lua_State *L, const struct rt_array *a)
{
    return !a->storage->foreign && (lg_explains(L) || lg_waits(a) || lg_worth_waiting(L, &a, 1));
}

struct rt_array *lg_push_statistic(lua_State *L, const struct rt_array *a, const struct kn_statistic *s, bool keepdims)
{
    int ndim;
    int64_t shape[RT_MAX_DIMS];
    struct rt_array *out = lg_new_array(L);
    lg_memory_enter(L);
    struct kn_expression *x = new_statistic(L, a, s);
    if (keepdims && is_to_wait(L, a)) {
        lg_wait_for_reduction(L, out, x);
        return out;
    }
    enum rt_status status = kn_expression_evaluate(x, lg_error_box(L));
    kn_reduced_shape(a, s->axes, keepdims, &ndim, shape);
    if (status == RT_OK) status = rt_array_reshape(kn_expression_value(x), ndim, shape, out, lg_error_box(L));
    kn_expression_release(x);
    lg_check(L, status);
    return out;
}

static int reduce(lua_State *L)
{
    enum rt_dtype t;
    _Alignas(16) char element[RT_ELEMENT];
    enum kn_reduction op = (enum kn_reduction)lua_tointeger(L, lua_upvalueindex(1));
    struct lg_reduction r;
    struct kn_program p;
    if (lua_gettop(L) && lua_istable(L, lua_gettop(L)) &&
        (lg_out(L, kn_reductions[op].name) || lg_reduce_with_options(L, kn_reductions[op].name)))
        return 1;
    const struct rt_array *a = lg_check_form(L, 1);
    lg_check_reduction(L, 2, a->ndim, NULL, &r);
    luaL_argcheck(L, lua_isnoneornil(L, 4), 4, "nothing expected behind keepdims but {out = y}");
    const bool explains = lg_explains(L);
    if (r.value && !explains && !lg_waits(a) && kn_small_reduction(op, a, &t, element)) {
        lg_push_scalar(L, t, element);
        return 1;
    }
    if ((r.keepdims || explains) && op != KN_ARGMIN && op != KN_ARGMAX && is_to_wait(L, a)) {
        lg_push_statistic(L, a, &(struct kn_statistic){.reduction = op, .axes = r.axes}, true);
        return 1;
    }
    struct rt_array *out = lg_new_array(L);
    if (!r.value && !lg_waits(a) && kn_small_rows(op, a, r.axes, r.keepdims, out)) return 1;
    lg_elements(L, a, &p);
    lg_check(L, kn_program_reduce(&p, op, r.axes, r.keepdims, out, lg_error_box(L)));
    return r.value ? lg_push_number_of(L) : 1;
}

/* ---- comparisons ---- */
/* The array, or a copy of it where the other one is. */
static const struct rt_array *push_beside(lua_State *L, const struct rt_array *a, const struct rt_array *other)
{
    struct rt_device *d = rt_array_device(other);
    lg_check(L, rt_array_alive(a, lg_error_box(L)));
    lg_check(L, rt_array_alive(other, lg_error_box(L)));
    if (rt_array_device(a) == d) return a;
    struct rt_array *copy = lg_new_array(L);
    lg_check(L, kn_convert(a, a->dtype, d, copy, lg_error_box(L)));
    return copy;
}

static int allclose(lua_State *L)
{
    double rtol = luaL_optnumber(L, 3, 1e-5), atol = luaL_optnumber(L, 4, 1e-8);
    struct kn_operand side[2];
    bool close;
    for (int i = 0; i < 2; i++) {
        side[i] = (struct kn_operand){0};
        if (lg_is_scalar(L, i + 1) && !lg_is_scalar(L, 2 - i))
            lg_check_operand(L, i + 1, &side[i]);
        else
            side[i].array = lg_check_array(L, i + 1);
    }
    if (side[0].array && side[1].array) side[1].array = push_beside(L, side[1].array, side[0].array);
    lg_check(L, kn_allclose(&side[0], &side[1], rtol, atol, &close, lg_error_box(L)));
    lua_pushboolean(L, close);
    return 1;
}

static int equal(lua_State *L)
{
    const struct rt_array *a = lg_check_array(L, 1), *b = lg_check_array(L, 2);
    bool alike;
    if (rt_array_same_shape(a, b)) b = push_beside(L, b, a);
    lg_check(L, kn_equal(a, b, &alike, lg_error_box(L)));
    lua_pushboolean(L, alike);
    return 1;
}

#define ALLCLOSE_DOC                                                                                                   \
    "Whether |a - b| <= atol + rtol * |b| for all elements.\n"                                                         \
    "Shapes broadcast; either may be a number; the arrays may be on different devices. rtol is 1e-5 and atol 1e-8 "    \
    "unless told otherwise. NaN is close to nothing, infinity to itself."

const struct lg_function lg_reduce_methods[] = {
    {"allclose", allclose, "x:allclose(y [, rtol [, atol]])", ALLCLOSE_DOC,
     "assert(gpu.ones(3):allclose(1 + 1e-7) and not gpu.ones(3):allclose(1.1))"},
    {"equal", equal, "x:equal(y)",
     "Whether the two arrays have the same shape and equal elements; dtypes and devices may differ.\n"
     "x:eq(y) compares element by element; Lua's x == y says whether both are the same object.",
     "assert(gpu.ones(3):equal(gpu.ones(3, 'int32')) and not gpu.ones(3):equal(gpu.ones(4)))"},
    {0}};

const struct lg_function lg_reduce_functions[] = {
    {"allclose", allclose, "gpu.allclose(x, y [, rtol [, atol]])", ALLCLOSE_DOC,
     "assert(gpu.allclose(gpu.ones(3), 1 + 1e-7))"},
    {"equal", equal, "gpu.equal(x, y)",
     "Whether the two arrays have the same shape and equal elements; dtypes and devices may differ.",
     "assert(gpu.equal(gpu.ones(3), gpu.array({1, 1, 1})))"},
    {0}};

static const struct lg_function *make_row(lua_State *L, enum kn_reduction op)
{
    const struct kn_reduction_info *info = &kn_reductions[op];
    struct lg_function *row = lua_newuserdatauv(L, sizeof *row, 0);
    luaL_ref(L, LUA_REGISTRYINDEX);
    *row = (struct lg_function){.name = info->name};
    lua_pushfstring(L, "x:%s([axis [, keepdims]])   gpu.%s(x [, axis [, keepdims]])", info->name, info->name);
    row->signature = lg_keep(L);
    lua_pushfstring(L, "%s\n" LG_AXES_DOC " Both also as x:%s{axis = ..., keepdims = ...}.%s", info->doc, info->name,
                    lg_reduction_options(info->name));
    row->doc = lg_keep(L);
    if (info->example) {
        lua_pushfstring(L, "assert(%s)", info->example);
        row->example = lg_keep(L);
    }
    return row;
}

void lg_open_reductions(lua_State *L)
{
    int gpu = lua_gettop(L) - 1, methods = gpu + 1;
    for (int op = 0; op < KN_REDUCTION_COUNT; op++) {
        const struct lg_function *row = make_row(L, op);
        lua_pushinteger(L, op);
        lua_pushcclosure(L, reduce, 1);
        lg_set_both(L, gpu, methods, row);
    }
}
