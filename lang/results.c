/* The values that cells have shown last: _, __, ___, and Out by the numbers of the cells. No more are kept, for each
 * may hold memory of a device. */
#include "lang/session_state.h"

#define KEPT 3

static const char shown_key; /* in the registry: the values kept, by the numbers of their cells */

/* ___ = __, __ = _, _ = the value at idx; not where the user has a variable of that name. */
static void shift(lua_State *L, int idx)
{
    static const char *const names[] = {"___", "__", "_"};
    lg_push_env(L);
    lg_push_known(L);
    int env = lua_gettop(L) - 1;
    for (int i = 0; i < 3; i++) {
        lua_getfield(L, env + 1, names[i]);
        bool taken = !lua_isnil(L, -1);
        lua_pop(L, 1);
        if (taken) continue;
        lua_pushstring(L, names[i]);
        if (i < 2) {
            lua_pushstring(L, names[i + 1]);
            lua_rawget(L, env);
        } else {
            lua_pushvalue(L, idx);
        }
        lua_rawset(L, env);
    }
    lua_settop(L, env - 1);
}

static void push_shown(lua_State *L)
{
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &shown_key) == LUA_TTABLE) return;
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &shown_key);
}

/* The number of the cell whose value was shown first, or last, of those kept by the table on top; 0 when there is none.
 * Their count is in *count. */
static lua_Integer find_cell(lua_State *L, bool last, int *count)
{
    lua_Integer found = 0;
    *count = 0;
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        lua_Integer n = lua_tointeger(L, -2);
        if (!found || (last ? n > found : n < found)) found = n;
        ++*count;
    }
    return found;
}

void lg_remember_result(lua_State *L, int cell, int idx)
{
    int count;
    idx = lua_absindex(L, idx);
    shift(L, idx);
    push_shown(L);
    lua_pushvalue(L, idx);
    lua_rawseti(L, -2, cell);
    lua_Integer first = find_cell(L, false, &count);
    if (count > KEPT) {
        lua_pushnil(L);
        lua_rawseti(L, -2, first);
    }
    lua_pop(L, 1);
}

void lg_forget_results(lua_State *L)
{
    lua_pushnil(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &shown_key);
}

static int out_index(lua_State *L)
{
    int count;
    push_shown(L);
    lua_Integer n = lua_isinteger(L, 2) ? lua_tointeger(L, 2) : 0;
    if (n == -1) n = find_cell(L, true, &count);
    if (lua_rawgeti(L, -1, n) != LUA_TNIL) return 1;
    lua_pop(L, 1);
    lua_Integer first = find_cell(L, false, &count);
    if (n > 0 && n < first && count == KEPT)
        return luaL_error(
            L,
            "Out holds the last %d values that cells have shown, the first of them that of cell %d; give a "
            "name to what is wanted for longer",
            KEPT, (int)first);
    lua_pushnil(L);
    return 1;
}

static int out_assign(lua_State *L)
{
    return luaL_error(L, "Out holds the values that cells have shown; give a name to what is to be kept");
}

static int out_pairs(lua_State *L)
{
    push_shown(L);
    lua_getglobal(L, "next");
    lua_insert(L, -2);
    return 2;
}

static const struct lg_function out_row = {
    "Out", NULL, "Out[n]",
    "The value that cell n of this session has shown; Out[-1] is the last one, as _ is.\nOut, _, __ and ___ keep the last "
    "three values. Older ones are not kept, so that they hold no memory of a device.",
    "assert(Out[#In + 1] == nil)"};

void lg_open_results(lua_State *L)
{
    static const luaL_Reg methods[] = {
        {"__index", out_index}, {"__newindex", out_assign}, {"__pairs", out_pairs}, {NULL, NULL}};
    lua_newtable(L);
    luaL_newlib(L, methods);
    lua_setmetatable(L, -2);
    lua_setglobal(L, "Out");
    lg_document(L, "session", &out_row);
}
