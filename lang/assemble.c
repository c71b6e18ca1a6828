/* Arrays put together from parts and from what a function makes of rows; arrays turned in a plane. */
#include "lang/steps.h"

/* ---- parts ---- */

/* The depth of the nested list at the top, and the most axes of its arrays. */
static void measure(lua_State *L, int depth, int *deepest, int *axes)
{
    if (!lua_istable(L, -1)) {
        const struct rt_array *a = lg_test_array(L, -1);
        if (!a && !lg_is_scalar(L, -1))
            luaL_error(L, "block: a list holds %s, expected arrays and numbers, or lists of them", lg_type_name(L, -1));
        if (*deepest >= 0 && depth != *deepest)
            luaL_error(L, "block: arrays are in lists of different depth, %d and %d", *deepest, depth);
        *deepest = depth;
        if (a && a->ndim > *axes) *axes = a->ndim;
        return;
    }
    lua_Integer n = (lua_Integer)lua_rawlen(L, -1);
    if (n == 0) luaL_error(L, "block: a list is empty");
    if (depth == RT_MAX_DIMS) luaL_error(L, "block: lists are nested more than %d deep", RT_MAX_DIMS);
    luaL_checkstack(L, 4, NULL);
    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(L, -1, i);
        measure(L, depth + 1, deepest, axes);
        lua_pop(L, 1);
    }
}

/* The device of the first array in the nested list at the top; NULL where there is none. */
static struct rt_device *find_device(lua_State *L)
{
    if (lg_test_array(L, -1)) return rt_array_device(lg_check_form(L, lua_gettop(L)));
    struct rt_device *d = NULL;
    for (lua_Integer i = 1; lua_istable(L, -1) && i <= (lua_Integer)lua_rawlen(L, -1) && !d; i++) {
        lua_rawgeti(L, -1, i);
        d = find_device(L);
        lua_pop(L, 1);
    }
    return d;
}

/* Replaces the nested list at the top, `below` levels above its arrays, by one array of so many axes. */
static void join(lua_State *L, int below, int axes, struct rt_device *d)
{
    int at = lua_gettop(L);
    luaL_checkstack(L, 16, NULL);
    if (below == 0) {
        if (lg_is_scalar(L, at)) lg_step(L, "gpu.array", "vs", at, d ? d->name : NULL);
        for (int i = lg_form(L, -1)->ndim; i < axes; i++) lg_step(L, "unsqueeze", "vi", lua_gettop(L), (int64_t)1);
    } else {
        lua_Integer n = (lua_Integer)lua_rawlen(L, at);
        lua_createtable(L, (int)n, 0);
        for (lua_Integer i = 1; i <= n; i++) {
            lua_rawgeti(L, at, i);
            join(L, below - 1, axes, d);
            lua_rawseti(L, at + 1, i);
        }
        lg_step(L, "gpu.concatenate", "vi", at + 1, (int64_t)-below);
    }
    lua_copy(L, -1, at);
    lua_settop(L, at);
}

static int block(lua_State *L)
{
    int deepest = -1, axes = 0;
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    measure(L, 0, &deepest, &axes);
    join(L, deepest, axes > deepest ? axes : deepest, find_device(L));
    return 1;
}

/* ---- along an axis ---- */

/* Pushes what the function at 1 makes of each row of the array of two axes at idx, as one array: of numbers, or of
 * arrays of one shape. */
static int push_calls(lua_State *L, int idx, int64_t count, const struct rt_array *a)
{
    luaL_checkstack(L, 8, NULL);
    lua_createtable(L, (int)(count < 65536 ? count : 65536), 0);
    int list = lua_gettop(L), kind = LUA_TNIL;
    bool whole = true;
    for (int64_t i = 1; i <= count; i++) {
        lg_poll(L);
        lua_pushvalue(L, 1);
        lua_geti(L, idx, i);
        lua_call(L, 1, 1);
        int type = lua_type(L, -1);
        if (type != LUA_TNUMBER && type != LUA_TBOOLEAN && !lg_test_array(L, -1))
            luaL_error(L, "apply_along_axis: the function returned %s, expected a number or an array",
                       lg_type_name(L, -1));
        if (kind != LUA_TNIL && type != kind)
            luaL_error(L, "apply_along_axis: the function returned %s, and something else before", lg_type_name(L, -1));
        kind = type;
        whole &= lua_isinteger(L, -1);
        lua_rawseti(L, list, i);
    }
    if (kind == LUA_TUSERDATA) return lg_step(L, "gpu.stack", "v", list);
    const enum rt_dtype t = kind == LUA_TBOOLEAN ? RT_BOOL : whole ? RT_INT64 : lg_floating(a);
    return lg_step(L, "gpu.array", "vss", list, rt_dtypes[t].name, rt_array_device(a)->name);
}

static int apply_along_axis(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TFUNCTION);
    const struct rt_array *a = lg_check_form(L, 3);
    int axis = lg_check_axis(L, 2, a->ndim), ndim = 0;
    int64_t shape[RT_MAX_DIMS], count = 1;
    for (int i = 0; i < a->ndim; i++)
        if (i != axis) count *= shape[ndim++] = a->shape[i];
    if (count == 0) return luaL_error(L, "apply_along_axis: there are no rows to call the function with");
    int last = lg_step(L, "moveaxis", "vii", 3, (int64_t)axis + 1, (int64_t)-1);
    lg_push_shape(L, 2, (int64_t[]){count, a->shape[axis]});
    int rows = lg_step(L, "reshape", "vv", last, lua_gettop(L)), results = push_calls(L, rows, count, a);
    const struct rt_array *r = lg_form(L, results);
    int own = r->ndim - 1;
    if (ndim + own > RT_MAX_DIMS) return luaL_error(L, "an array has at most %d axes", RT_MAX_DIMS);
    for (int i = 0; i < own; i++) shape[ndim + i] = r->shape[i + 1];
    if (ndim + own == 0) {
        lg_step(L, "item", "v", results);
        return 1;
    }
    lg_push_shape(L, ndim + own, shape);
    int out = lg_step(L, "reshape", "vv", results, lua_gettop(L));
    for (int i = 0; i < own; i++) /* the result's own axes come where the axis was */
        out = lg_step(L, "moveaxis", "vii", out, (int64_t)ndim + i + 1, (int64_t)axis + i + 1);
    return 1;
}

static int rot90(lua_State *L)
{
    int axes[RT_MAX_DIMS] = {0, 1};
    const struct rt_array *a = lg_check_form(L, 1);
    lua_Integer k = luaL_optinteger(L, 2, 1) & 3;
    lua_settop(L, 3);
    if (a->ndim < 2) return luaL_error(L, "rot90: an array of two axes or more expected, not of %d", a->ndim);
    if (!lua_isnil(L, 3)) {
        luaL_checktype(L, 3, LUA_TTABLE);
        luaL_argcheck(L, lg_check_axes(L, 3, a->ndim, axes) == 2, 3, "two axes expected, as {1, 2}");
    }
    int64_t one = axes[0] + 1, two = axes[1] + 1;
    int at = 1;
    if (k == 1 || k == 2) at = lg_step(L, "flip", "vi", at, two);
    if (k == 2) at = lg_step(L, "flip", "vi", at, one);
    if (k & 1) at = lg_step(L, "transpose", "vii", at, one, two);
    if (k == 3) at = lg_step(L, "flip", "vi", at, two);
    lua_pushvalue(L, at);
    return 1;
}

const struct lg_function lg_rotate_functions[] = {
    {"rot90", rot90, "x:rot90([k [, axes]])   gpu.rot90(x [, k [, axes]])",
     "Turned by 90 degrees k times, once unless told otherwise, from the first axis towards the second: a view.\n"
     "A negative k turns back; axes = {2, 3} turns in the plane of these.",
     "assert(gpu.array({{1, 2}, {3, 4}}):rot90():equal(gpu.array({{2, 4}, {1, 3}})))"},
    {0}};

const struct lg_function lg_assemble_functions[] = {
    {"block", block, "gpu.block(lists)",
     "One array put together from parts: the innermost lists along the last axis, those around them along the one before, "
     "and so on.\nParts are arrays or numbers.",
     "local x = gpu.block({{gpu.eye(2), gpu.zeros(2, 1)}, {gpu.ones(1, 2), 5}})\n"
     "assert(x:equal(gpu.array({{1, 0, 0}, {0, 1, 0}, {1, 1, 5}})))"},
    {"apply_along_axis", apply_along_axis, "gpu.apply_along_axis(f, axis, x)",
     "What a Lua function makes of each row along an axis: numbers, or arrays of one shape, which take the axis's place. "
     "Of integers alone the result is int64.\n"
     "One call a row, so that operations on whole arrays are much faster where they can say it.",
     "local x = gpu.array({{3, 1}, {2, 5}})\n"
     "assert(gpu.apply_along_axis(function(row) return row:max() end, 2, x):equal(gpu.array({3, 5})))"},
    {0}};
