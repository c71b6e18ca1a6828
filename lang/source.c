/* The texts of loaded chunks, by chunk name: kernel strings are mapped to lines of their cell by it, and inspection
 * shows functions as they were written. */
#include "lang/session_state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define KEPT 1000 /* texts; of chunks that were loaded before so many others, excerpts are not shown any more */

static const char sources_key;

/* Makes room for the text of one more chunk in the table at the top. Its integer keys hold the names in a ring, and 0
 * where in it the last one is. */
static void enter(lua_State *L, const char *chunkname)
{
    lua_rawgeti(L, -1, 0);
    lua_Integer at = lua_tointeger(L, -1) % KEPT + 1;
    lua_pop(L, 1);
    if (lua_rawgeti(L, -1, at) == LUA_TSTRING) {
        lua_pushnil(L);
        lua_rawset(L, -3);
    } else {
        lua_pop(L, 1);
    }
    lua_pushstring(L, chunkname);
    lua_rawseti(L, -2, at);
    lua_pushinteger(L, at);
    lua_rawseti(L, -2, 0);
}

void lg_remember_source(lua_State *L, const char *chunkname, const char *text, size_t length)
{
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &sources_key) != LUA_TTABLE) {
        lua_pop(L, 1);
        lua_newtable(L);
        lua_pushvalue(L, -1);
        lua_rawsetp(L, LUA_REGISTRYINDEX, &sources_key);
    }
    lua_pushstring(L, chunkname);
    bool known = lua_rawget(L, -2) != LUA_TNIL;
    lua_pop(L, 1);
    if (!known) enter(L, chunkname);
    lua_pushstring(L, chunkname);
    lua_pushlstring(L, text, length);
    lua_rawset(L, -3);
    lua_pop(L, 1);
}

/* Pushes the contents of a file, or nil. */
static const char *read_file(lua_State *L, const char *path, size_t *length)
{
    FILE *f = fopen(path, "rb");
    if (!f) {
        lua_pushnil(L);
        return NULL;
    }
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    for (size_t n = 1; n > 0;) {
        char piece[4096];
        n = fread(piece, 1, sizeof piece, f);
        luaL_addlstring(&b, piece, n);
    }
    int error = ferror(f) ? errno : 0; /* a folder */
    fclose(f);
    luaL_pushresult(&b);
    if (error) {
        lua_pop(L, 1);
        lua_pushnil(L);
        errno = error;
        return NULL;
    }
    return lua_tolstring(L, -1, length);
}

const char *lg_chunk_source(lua_State *L, const char *chunkname, size_t *length)
{
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &sources_key) == LUA_TTABLE) {
        lua_pushstring(L, chunkname);
        lua_rawget(L, -2);
        lua_remove(L, -2);
        if (lua_isstring(L, -1)) return lua_tolstring(L, -1, length);
    }
    lua_pop(L, 1);
    if (*chunkname == '@') return read_file(L, chunkname + 1, length);
    lua_pushnil(L);
    return NULL;
}
