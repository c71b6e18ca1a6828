/* Scans of arrays: cumsum and its like. */
#include "lang/array.h"
#include "lang/out.h"

static int scan(lua_State *L)
{
    enum kn_scan which = (enum kn_scan)lua_tointeger(L, lua_upvalueindex(1));
    if (lg_out(L, kn_scans[which].name)) return 1;
    const struct rt_array *a = lg_check_array(L, 1);
    int axis = lua_isnoneornil(L, 2) ? -1 : lg_check_axis(L, 2, a->ndim);
    luaL_argcheck(L, lua_isnoneornil(L, 3), 3, "nothing expected behind the axis but {out = y}");
    struct rt_array *out = lg_new_array(L);
    lg_check(L, kn_scan(which, a, axis, out, lg_error_box(L)));
    return 1;
}

static const struct lg_function *make_row(lua_State *L, const struct kn_scan_info *info)
{
    struct lg_function *row = lua_newuserdatauv(L, sizeof *row, 0);
    luaL_ref(L, LUA_REGISTRYINDEX);
    *row = (struct lg_function){.name = info->name};
    lua_pushfstring(L, "x:%s([axis])   gpu.%s(x [, axis])", info->name, info->name);
    row->signature = lg_keep(L);
    lua_pushfstring(L,
                    "%s\nAlong an axis, or without one over all elements in row-major order, as an array of one axis. "
                    "Floats are summed and multiplied in float64. " LG_OUT_DOC,
                    info->doc);
    row->doc = lg_keep(L);
    lua_pushfstring(L, "assert(%s)", info->example);
    row->example = lg_keep(L);
    return row;
}

void lg_open_scans(lua_State *L)
{
    int gpu = lua_gettop(L) - 1, methods = gpu + 1;
    for (int i = 0; i < KN_SCAN_COUNT; i++) {
        const struct lg_function *row = make_row(L, &kn_scans[i]);
        lua_pushinteger(L, i);
        lua_pushcclosure(L, scan, 1);
        lg_set_both(L, gpu, methods, row);
    }
}
