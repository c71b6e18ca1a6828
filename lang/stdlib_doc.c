/* The rows of Lua's own functions, found by the functions' values, so that they are known by any name. */
#include <string.h>
#include "lang/session_state.h"

#define LG_STDLIB(name, arguments, doc, example) {name, NULL, name arguments, doc, example},
#define LG_FILE(name, arguments, doc, example)   {"file." name, NULL, "file:" name arguments, doc, example},

const struct lg_function lg_stdlib[] = {
#include "lang/stdlib.def"
    {0}};

bool lg_is_stdlib(const struct lg_function *row)
{
    const char *p = (const char *)row, *first = (const char *)lg_stdlib;
    return p >= first && p < first + sizeof lg_stdlib;
}

/* Pushes the table that has the functions of a scope, the first n bytes of a name. */
static void push_scope(lua_State *L, const char *name, size_t n)
{
    lua_pushlstring(L, name, n);
    const char *scope = lua_tostring(L, -1);
    if (n == 0) {
        lua_pushglobaltable(L);
    } else if (strcmp(scope, "file") == 0) {
        luaL_getmetatable(L, LUA_FILEHANDLE);
        lua_getfield(L, -1, "__index");
        lua_remove(L, -2);
    } else {
        lua_getglobal(L, scope);
    }
    lua_remove(L, -2);
}

void lg_document_stdlib(lua_State *L)
{
    const char *last = NULL;
    size_t length = 0;
    for (const struct lg_function *row = lg_stdlib; row->name; row++) {
        const char *dot = strchr(row->name, '.');
        size_t n = dot ? (size_t)(dot - row->name) : 0;
        if (!last || n != length || memcmp(last, row->name, n) != 0) {
            if (last) lua_pop(L, 1);
            push_scope(L, row->name, n);
            last = row->name;
            length = n;
        }
        if (!lua_istable(L, -1)) continue;
        lua_getfield(L, -1, dot ? dot + 1 : row->name);
        if (lua_isfunction(L, -1)) lg_document_value(L, -1, row);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}
