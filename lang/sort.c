/* Sorting of arrays and what rests on it. */
#include <string.h>
#include "kernels/order.h"
#include "lang/array.h"

/* x:sort([axis [, descending]]), x:sort{axis = ..., descending = ...}: the axis from 0, the last unless told. */
static int check_order(lua_State *L, int idx, int ndim, bool *descending)
{
    int axis = ndim - 1;
    if (ndim == 0) luaL_error(L, "an array of no axes has nothing to sort along");
    if (!lua_istable(L, idx)) {
        *descending = lua_toboolean(L, idx + 1);
        return lua_isnoneornil(L, idx) ? axis : lg_check_axis(L, idx, ndim);
    }
    *descending = false;
    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
        const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "?";
        if (!strcmp(key, "axis"))
            axis = lg_check_axis(L, lua_gettop(L), ndim);
        else if (!strcmp(key, "descending"))
            *descending = lua_toboolean(L, -1);
        else
            luaL_error(L, "there is no option '%s'; there are axis and descending", key);
    }
    return axis;
}

static int sort(lua_State *L)
{
    bool descending;
    const struct rt_array *a = lg_check_array(L, 1);
    int axis = check_order(L, 2, a->ndim, &descending);
    struct rt_array *out = lg_new_array(L);
    lg_check(L, kn_sort(a, axis, descending, out, NULL, lg_error_box(L)));
    return 1;
}

static int argsort(lua_State *L)
{
    bool descending;
    const struct rt_array *a = lg_check_array(L, 1);
    int axis = check_order(L, 2, a->ndim, &descending);
    struct rt_array *out = lg_new_array(L);
    lg_check(L, kn_sort(a, axis, descending, NULL, out, lg_error_box(L)));
    return 1;
}

#define ORDER_DOC                                                                                                      \
    "Along the last axis unless told otherwise; upwards unless `descending` is true. Equal elements stay in their "    \
    "order, -0.0 comes before 0.0, and NaN is last either way. Also with a table {axis = ..., descending = ...}."

const struct lg_function lg_sort_functions[] = {
    {"sort", sort, "x:sort([axis [, descending]])   gpu.sort(x [, axis [, descending]])",
     "A new array with the elements in order.\n" ORDER_DOC,
     "local x = gpu.array({3, 1, 2})\nassert(x:sort()[1] == 1 and x:sort{descending = true}[1] == 3)"},
    {"argsort", argsort, "x:argsort([axis [, descending]])   gpu.argsort(x [, axis [, descending]])",
     "The indices, from 1, that put the elements in order.\n" ORDER_DOC,
     "assert(gpu.array({30, 10, 20}):argsort():equal(gpu.array({2, 3, 1})))"},
    {0}};
