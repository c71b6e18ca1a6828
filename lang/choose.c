/* Elements chosen from several arrays by conditions and numbers, orders by several keys, and indices of all kinds. */
#include <stdio.h>
#include <string.h>
#include "lang/steps.h"

/* The list of arrays and numbers at idx; its length. */
static lua_Integer check_list(lua_State *L, int idx, const char *what)
{
    if (!lua_istable(L, idx))
        luaL_argerror(L, idx,
                      lua_pushfstring(L, "a list of %s expected, as {x, y}, got %s", what, lg_type_name(L, idx)));
    return (lua_Integer)lua_rawlen(L, idx);
}

/* Pushes item i of the list at idx, an array or a number. */
static int push_item(lua_State *L, int idx, lua_Integer i, const char *function, const char *what)
{
    lua_rawgeti(L, idx, i);
    if (!lg_is_scalar(L, -1) && !lg_test_array(L, -1))
        luaL_error(L, "%s: %s %I is %s, expected an array or a number", function, what, (LUAI_UACINT)i,
                   lg_type_name(L, -1));
    return lua_gettop(L);
}

/* Pushes condition i of the list at idx, an array. */
static int push_condition(lua_State *L, int idx, lua_Integer i, const char *function)
{
    lua_rawgeti(L, idx, i);
    if (!lg_test_array(L, -1))
        luaL_error(L, "%s: condition %I is %s, expected an array, as x:gt(0)", function, (LUAI_UACINT)i,
                   lg_type_name(L, -1));
    return lua_gettop(L);
}

static int select_(lua_State *L)
{
    lua_settop(L, 3);
    lua_Integer n = check_list(L, 1, "conditions"), choices = check_list(L, 2, "choices");
    luaL_argcheck(L, n > 0, 1, "there are no conditions");
    if (choices != n)
        return luaL_error(L, "select: there are %I conditions and %I choices, expected as many", (LUAI_UACINT)n,
                          (LUAI_UACINT)choices);
    if (lua_isnil(L, 3)) {
        lua_pushinteger(L, 0);
        lua_replace(L, 3);
    } else if (!lg_is_scalar(L, 3)) {
        lg_check_form(L, 3);
    }
    for (lua_Integer i = n; i >= 1; i--) {
        int condition = push_condition(L, 1, i, "select"), choice = push_item(L, 2, i, "select", "choice");
        lg_step(L, "where", "vvv", condition, choice, 3);
        lua_replace(L, 3);
        lua_settop(L, 3);
    }
    return 1;
}

static int choose(lua_State *L)
{
    lua_settop(L, 2);
    const struct rt_array *index = lg_step_array(L, 1, NULL, RT_INT64);
    lua_Integer n = check_list(L, 2, "choices");
    luaL_argcheck(L, n > 0, 2, "there are no choices");
    if (rt_array_size(index) > 0) {
        lg_step(L, "min", "v", 1);
        lg_step(L, "max", "v", 1);
        if (lua_tonumber(L, -2) < 1 || lua_tonumber(L, -1) > (double)n)
            return luaL_error(L, "choose: the indices reach from %s to %s, expected 1 to %I, the number of choices",
                              luaL_tolstring(L, 3, NULL), luaL_tolstring(L, 4, NULL), (LUAI_UACINT)n);
        lua_settop(L, 2);
    }
    int out = push_item(L, 2, 1, "choose", "choice");
    if (n == 1 && lg_is_scalar(L, out)) {
        lg_step(L, "gpu.full_like", "vv", 1, out);
        return 1;
    }
    for (lua_Integer i = 2; i <= n; i++) {
        int choice = push_item(L, 2, i, "choose", "choice"), here = lg_step(L, "eq", "vi", 1, (int64_t)i);
        lg_step(L, "where", "vvv", here, choice, out);
        lua_replace(L, out);
        lua_settop(L, out);
    }
    return 1;
}

/* Pushes what item i of the list at 3 gives for x: a number or array, or what it returns, called with x. */
static int push_piece(lua_State *L, lua_Integer i)
{
    lua_rawgeti(L, 3, i);
    if (lua_isfunction(L, -1)) {
        lua_pushvalue(L, 1);
        lua_call(L, 1, 1);
    }
    if (!lg_is_scalar(L, -1) && !lg_test_array(L, -1))
        luaL_error(L, "piecewise: piece %I is %s, expected a number, an array or a function of one", (LUAI_UACINT)i,
                   lg_type_name(L, -1));
    return lua_gettop(L);
}

static int piecewise(lua_State *L)
{
    lua_settop(L, 3);
    const struct rt_array *x = lg_check_form(L, 1);
    lua_Integer n = check_list(L, 2, "conditions"), pieces = check_list(L, 3, "pieces");
    if (pieces != n && pieces != n + 1)
        return luaL_error(
            L, "piecewise: there are %I conditions and %I pieces, expected as many, or one more for the rest",
            (LUAI_UACINT)n, (LUAI_UACINT)pieces);
    int out = pieces > n ? push_piece(L, pieces) : (lua_pushinteger(L, 0), lua_gettop(L));
    if (lg_is_scalar(L, out)) {
        lg_step(L, "gpu.full_like", "vvs", 1, out, rt_dtypes[lg_floating(x)].name);
        lua_replace(L, out);
    }
    for (lua_Integer i = 1; i <= n; i++) {
        int condition = push_condition(L, 2, i, "piecewise"), piece = push_piece(L, i);
        lg_step(L, "where", "vvv", condition, piece, out);
        lua_replace(L, out);
        lua_settop(L, out);
    }
    return 1;
}

/* Pushes key i of the list or array at 1, whose keys have `size` elements (-1: as many as this one). */
static const struct rt_array *push_key(lua_State *L, lua_Integer i, int64_t size)
{
    lua_geti(L, 1, i);
    const struct rt_array *a = lg_test_array(L, -1) ? lg_check_form(L, lua_gettop(L)) : NULL;
    if (!a || a->ndim != 1 || (size >= 0 && a->shape[0] != size))
        luaL_error(L,
                   "lexsort: the keys are arrays of one axis, as long as each other, in a list or as the rows "
                   "of an array; key %I is not",
                   (LUAI_UACINT)i);
    return a;
}

/* Several keys of integers that fit into one of 62 bits: pushes that, and returns true. They are sorted at once, while
 * others are one after the other. */
static bool push_one_key(lua_State *L, lua_Integer count)
{
    int bits = 0, top = lua_gettop(L);
    int64_t size = -1;
    for (lua_Integer i = 1; i <= count; i++) {
        const struct rt_array *a = push_key(L, i, size);
        size = a->shape[0];
        if (!strchr("biu", rt_dtypes[a->dtype].kind) || bits > 62) bits = 64;
        bits += 8 * rt_dtypes[a->dtype].size;
        lua_pop(L, 1);
    }
    if (count < 2 || bits > 62) return false;
    int shift = 0;
    for (lua_Integer i = 1; i <= count; i++) {
        const struct rt_array *a = push_key(L, i, size);
        int width = 8 * rt_dtypes[a->dtype].size;
        int64_t least = rt_dtypes[a->dtype].kind == 'i' ? -((int64_t)1 << (width - 1)) : 0;
        int part = lg_step(L, "sub", "vi", lg_step(L, "to", "vs", lua_gettop(L), "int64"), least);
        part = lg_step(L, "mul", "vi", part, (int64_t)1 << shift);
        if (i > 1) part = lg_step(L, "add", "vv", top + 1, part);
        lua_copy(L, part, top + 1);
        lua_settop(L, top + 1);
        shift += width;
    }
    lg_step(L, "to", "vs", top + 1, bits <= 16 ? "uint16" : bits <= 32 ? "uint32" : "int64");
    return true;
}

static int lexsort(lua_State *L)
{
    luaL_checkany(L, 1);
    lua_settop(L, 1);
    if (!lua_istable(L, 1)) lg_check_array(L, 1);
    lua_len(L, 1);
    lua_Integer count = lua_tointeger(L, -1);
    luaL_argcheck(L, count > 0, 1, "there are no keys");
    if (push_one_key(L, count)) {
        lg_step(L, "argsort", "v", lua_gettop(L));
        return 1;
    }
    lua_pushnil(L);
    int order = lua_gettop(L);
    for (lua_Integer i = 1; i <= count; i++) {
        push_key(L, i, -1);
        int key = lua_gettop(L);
        if (i > 1) key = lg_step(L, "take", "vv", key, order);
        lg_step(L, "argsort", "v", key);
        if (i > 1) lg_step(L, "take", "vv", order, lua_gettop(L));
        lua_replace(L, order);
        lua_settop(L, order);
    }
    return 1;
}

/* ---- places ---- */

/* Replaces the list at idx by an array of whole numbers; numbers and arrays stay. */
static void check_places(lua_State *L, int idx, const char *what)
{
    if (lua_isinteger(L, idx)) return;
    if (lua_type(L, idx) == LUA_TNUMBER)
        luaL_error(L, "%s: an index is a whole number, not %f", what, lua_tonumber(L, idx));
    const struct rt_array *a = lg_step_array(L, idx, NULL, RT_INT64);
    if (!strchr("iu", rt_dtypes[a->dtype].kind))
        luaL_error(L, "%s: indices are whole numbers, not %s; convert them with :to(\"int64\")", what,
                   rt_dtypes[a->dtype].name);
    lg_step(L, "to", "vs", idx, "int64"); /* narrower ones would overflow on the way */
    lua_replace(L, idx);
}

/* Raises unless the places at idx, a number or an array, are from 1 to n; `name` is what they belong to. */
static void check_inside(lua_State *L, int idx, int64_t n, const char *what, const char *name)
{
    int64_t low = lua_tointeger(L, idx), high = low;
    if (lg_test_array(L, idx)) {
        if (rt_array_size(lg_form(L, idx)) == 0) return;
        lg_step(L, "min", "v", idx);
        lg_step(L, "max", "v", idx);
        low = lua_tointeger(L, -2);
        high = lua_tointeger(L, -1);
        lua_pop(L, 2);
    }
    if (low < 1 || high > n)
        luaL_error(L, "%s: index %I is out of range for %s, which has %I elements; indices count from 1", what,
                   (LUAI_UACINT)(low < 1 ? low : high), name, (LUAI_UACINT)n);
}

static int unravel_index(lua_State *L)
{
    int64_t shape[RT_MAX_DIMS], size = 1;
    int next;
    check_places(L, 1, "unravel_index");
    int ndim = lg_check_shape(L, 2, false, shape, &next);
    for (int i = 0; i < ndim; i++)
        if (__builtin_mul_overflow(size, shape[i], &size))
            return luaL_error(L, "unravel_index: the shape is too large");
    check_inside(L, 1, size, "unravel_index", "an array of this shape");
    luaL_checkstack(L, 4 * ndim + 8, NULL);
    if (lua_isinteger(L, 1)) {
        int64_t rest = size, place = lua_tointeger(L, 1) - 1;
        for (int i = 0; i < ndim; i++) {
            rest /= shape[i];
            lua_pushinteger(L, place / rest + 1);
            place %= rest;
        }
        return ndim;
    }
    int places[RT_MAX_DIMS], rest = lg_step(L, "sub", "vi", 1, (int64_t)1);
    for (int i = ndim - 1; i >= 0; i--) {
        int own = i > 0 ? lg_step(L, "mod", "vi", rest, shape[i]) : rest;
        places[i] = lg_step(L, "add", "vi", own, (int64_t)1);
        if (i > 0) rest = lg_step(L, "floordiv", "vi", rest, shape[i]);
    }
    for (int i = 0; i < ndim; i++) lua_pushvalue(L, places[i]);
    return ndim;
}

static int ravel_multi_index(lua_State *L)
{
    int64_t shape[RT_MAX_DIMS];
    int next, sum = 0;
    lua_Integer n = check_list(L, 1, "indices");
    int ndim = lg_check_shape(L, 2, false, shape, &next);
    char name[32];
    if (n != ndim || n == 0)
        return luaL_error(L, "ravel_multi_index: there are %I indices for a shape of %d axes", (LUAI_UACINT)n, ndim);
    luaL_checkstack(L, 4 * ndim + 16, NULL);
    lua_pushinteger(L, 0);
    sum = lua_gettop(L);
    for (int i = 0; i < ndim; i++) {
        lua_rawgeti(L, 1, i + 1);
        int at = lua_gettop(L);
        check_places(L, at, "ravel_multi_index");
        snprintf(name, sizeof name, "axis %d", i + 1);
        check_inside(L, at, shape[i], "ravel_multi_index", name);
        bool arrays = lg_test_array(L, sum), array = lg_test_array(L, at);
        if (!arrays && !array) {
            lua_pushinteger(L, lua_tointeger(L, sum) * shape[i] + lua_tointeger(L, at) - 1);
        } else {
            int all = arrays ? lg_step(L, "mul", "vi", sum, shape[i])
                             : (lua_pushinteger(L, lua_tointeger(L, sum) * shape[i]), lua_gettop(L));
            int own = array ? lg_step(L, "sub", "vi", at, (int64_t)1)
                            : (lua_pushinteger(L, lua_tointeger(L, at) - 1), lua_gettop(L));
            lg_step(L, "add", "vv", all, own);
        }
        lua_copy(L, -1, sum);
        lua_settop(L, sum);
    }
    if (lua_isinteger(L, sum)) {
        lua_pushinteger(L, lua_tointeger(L, sum) + 1);
        return 1;
    }
    lg_step(L, "add", "vi", sum, (int64_t)1);
    return 1;
}

const struct lg_function lg_choose_functions[] = {
    {"select", select_, "gpu.select(conditions, choices [, default])",
     "Each element from the choice whose condition is the first to be true there; where none is, the default, 0 unless told "
     "otherwise.\nConditions are a list of arrays, choices one of as many arrays or numbers. Shapes broadcast.",
     "local x = gpu.range(5)\n"
     "assert(gpu.select({x:lt(2), x:gt(3)}, {-x, x * 10}, 7):equal(gpu.array({-1, 7, 7, 40, 50})))"},
    {"choose", choose, "gpu.choose(index, choices)",
     "Each element from the choice whose number, from 1, the index says.\n"
     "Choices are a list of arrays or numbers, which broadcast with the index.",
     "assert(gpu.choose(gpu.array({2, 1}), {gpu.array({1, 2}), 10}):equal(gpu.array({10, 2})))"},
    {"piecewise", piecewise, "gpu.piecewise(x, conditions, pieces)",
     "A function in pieces: each is a number, an array, or a Lua function that is called with x, and holds where its "
     "condition is true.\n"
     "One piece more than conditions is for the rest, which is 0 without it; where several conditions are true the last "
     "holds. Functions see the whole of x, so that all is one pass.",
     "local x = gpu.range(-2, 2)\n"
     "assert(gpu.piecewise(x, {x:lt(0), x:ge(0)}, {function(v) return -v end, 5}):equal(gpu.array({2, 1, 5, 5, 5})))"},
    {"lexsort", lexsort, "gpu.lexsort(keys)",
     "The indices, from 1, that put keys in order: by the last one, where that is equal by the one before, and so on.\n"
     "Keys are a list of arrays, or the rows of an array; NaN comes last.",
     "local surname, name = gpu.array({2, 1, 2}), gpu.array({7, 8, 6})\n"
     "assert(gpu.lexsort({name, surname}):equal(gpu.array({2, 3, 1})))"},
    {"unravel_index", unravel_index, "gpu.unravel_index(index, shape)",
     "The indices along each axis, from 1, of the element with this index through all of an array of the shape: as many "
     "results as axes.\nThe index is an integer, as x:argmax() gives it, or an array or list of them, and so are the results.",
     "local x = gpu.array({{1, 5, 2}, {9, 0, 3}})\nlocal row, column = gpu.unravel_index(x:argmax(), x.shape)\n"
     "assert(row == 2 and column == 1)"},
    {"ravel_multi_index", ravel_multi_index, "gpu.ravel_multi_index(indices, shape)",
     "What gpu.unravel_index undoes: the index through all elements out of a list of those along each axis, from 1.\n"
     "They are integers or arrays of them, which broadcast.",
     "assert(gpu.ravel_multi_index({2, 1}, {2, 3}) == 4)"},
    {0}};
