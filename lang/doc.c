#include "lang/lang.h"

/* Two tables in Lua's registry: from "scope.name" and from the function itself to the row. */
static const char by_name_key, by_value_key;

static void push_table(lua_State *L, const void *key)
{
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, key) == LUA_TTABLE) return;
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, key);
}

void lg_document(lua_State *L, const char *scope, const struct lg_function *row)
{
    push_table(L, &by_name_key);
    lua_pushfstring(L, "%s.%s", scope, row->name);
    lua_pushlightuserdata(L, (void *)row);
    lua_rawset(L, -3);
    lua_pop(L, 1);
}

void lg_document_value(lua_State *L, int idx, const struct lg_function *row)
{
    idx = lua_absindex(L, idx);
    push_table(L, &by_value_key);
    lua_pushvalue(L, idx);
    lua_pushlightuserdata(L, (void *)row);
    lua_rawset(L, -3);
    lua_pop(L, 1);
}

void lg_register(lua_State *L, const char *scope, const struct lg_function *rows)
{
    for (const struct lg_function *row = rows; row->name; row++) {
        lua_pushcfunction(L, row->call);
        lg_document_value(L, -1, row);
        lua_setfield(L, -2, row->name);
        lg_document(L, scope, row);
    }
}

const struct lg_function *lg_doc_by_name(lua_State *L, const char *name)
{
    push_table(L, &by_name_key);
    lua_getfield(L, -1, name);
    const struct lg_function *row = lua_touserdata(L, -1);
    lua_pop(L, 2);
    return row;
}

const struct lg_function *lg_doc_of_value(lua_State *L, int idx)
{
    if (!lua_isfunction(L, idx)) return NULL;
    idx = lua_absindex(L, idx);
    push_table(L, &by_value_key);
    lua_pushvalue(L, idx);
    lua_rawget(L, -2);
    const struct lg_function *row = lua_touserdata(L, -1);
    lua_pop(L, 2);
    return row;
}

void lg_push_doc_names(lua_State *L)
{
    push_table(L, &by_name_key);
    lua_newtable(L);
    lua_Integer n = 0;
    for (lua_pushnil(L); lua_next(L, -3);) {
        lua_pop(L, 1);
        lua_pushvalue(L, -1);
        lua_rawseti(L, -3, ++n);
    }
    lua_remove(L, -2);
}
