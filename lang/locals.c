/* The variables of a session: the environment of its cells.
 *
 * A top-level local of a cell is a field of a table that lies over the globals, so it hides a global in cells without
 * changing it for modules. Reading and writing what is not a session variable must stay fast, so the table's __index
 * and __newindex are the globals themselves whenever that gives the right answer. Once there are variables, one that is
 * nil may be assigned at any time, which must not make a global; while one is nil, reading it must not find a global of
 * the same name. Functions take their place then. */
#include "lang/session_state.h"

#include <string.h>
#include "lang/magic.h"
#include "lang/rewrite.h"

/* Registry keys: the environment, its metatable, and the names (true once the declaration ran, false before). */
static const char env_key, meta_key, known_key, initial_key;

static void push(lua_State *L, const void *key)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, key);
}

void lg_push_env(lua_State *L)
{
    push(L, &env_key);
}

void lg_push_known(lua_State *L)
{
    push(L, &known_key);
}

/* env[name] where the name is not in env: nil when it is a variable, else the global. */
static int index_slowly(lua_State *L)
{
    push(L, &known_key);
    lua_pushvalue(L, 2);
    lua_rawget(L, -2);
    if (lua_toboolean(L, -1)) return 0;
    lua_pushglobaltable(L);
    lua_pushvalue(L, 2);
    lua_gettable(L, -2);
    return 1;
}

static int newindex_slowly(lua_State *L);

/* Puts functions or the globals into the metatable. */
static void set_modes(lua_State *L, bool any, bool hiding)
{
    push(L, &meta_key);
    if (any) {
        lua_pushcfunction(L, newindex_slowly);
    } else {
        lua_pushglobaltable(L);
    }
    lua_setfield(L, -2, "__newindex");
    if (hiding) {
        lua_pushcfunction(L, index_slowly);
    } else {
        lua_pushglobaltable(L);
    }
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
}

/* Looks at every variable and chooses the modes. */
static void refresh(lua_State *L)
{
    bool any = false, hiding = false;
    int top = lua_gettop(L);
    luaL_checkstack(L, 8, NULL);
    push(L, &env_key);
    push(L, &known_key);
    lua_pushglobaltable(L);
    for (lua_pushnil(L); lua_next(L, top + 2); lua_pop(L, 1)) {
        bool declared = lua_toboolean(L, -1);
        lua_pushvalue(L, -2);
        bool is_nil = lua_rawget(L, top + 1) == LUA_TNIL;
        lua_pushvalue(L, -3);
        bool hides = lua_rawget(L, top + 3) != LUA_TNIL;
        lua_pop(L, 2);
        any = true;
        hiding |= is_nil && declared && hides;
    }
    lua_settop(L, top);
    set_modes(L, any, hiding);
}

/* The variable at 2 is declared, as nil, which stands at 3. */
static void hide_global(lua_State *L)
{
    lua_pushglobaltable(L);
    lua_pushvalue(L, 2);
    if (lua_rawget(L, -2) != LUA_TNIL) {
        push(L, &meta_key);
        lua_pushcfunction(L, index_slowly);
        lua_setfield(L, -2, "__index");
    }
    lua_settop(L, 3);
}

/* env[name] = value where the name is not in env: a declaration, an assignment to a variable that is nil, or a global.
 */
static int newindex_slowly(lua_State *L)
{
    push(L, &known_key);
    lua_pushvalue(L, 2);
    if (lua_rawget(L, -2) == LUA_TNIL) {
        lua_pushglobaltable(L);
        lua_pushvalue(L, 2);
        lua_pushvalue(L, 3);
        lua_settable(L, -3);
        return 0;
    }
    bool was_declared = lua_toboolean(L, -1);
    lua_pushvalue(L, 2);
    lua_pushboolean(L, true);
    lua_rawset(L, 4);
    lua_settop(L, 3);
    if (lua_isnil(L, 3) && !was_declared) hide_global(L);
    lua_rawset(L, 1);
    return 0;
}

void lg_declare(lua_State *L, const char *names, size_t length)
{
    push(L, &known_key);
    for (size_t i = 0; i < length; i += strlen(names + i) + 1) {
        if (lua_getfield(L, -1, names + i) == LUA_TNIL) {
            lua_pushboolean(L, false);
            lua_setfield(L, -3, names + i);
        }
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    refresh(L);
}

void lg_settle(lua_State *L)
{
    push(L, &known_key);
    push(L, &env_key);
    int known = lua_gettop(L) - 1;
    for (lua_pushnil(L); lua_next(L, known);) {
        bool declared = lua_toboolean(L, -1);
        lua_pop(L, 1);
        if (declared) continue;
        lua_pushvalue(L, -1); /* clearing and changing fields keeps the traversal valid */
        lua_pushvalue(L, -1);
        /* A name that had a value already, such as _, was assigned without a metamethod. */
        if (lua_rawget(L, known + 1) == LUA_TNIL) {
            lua_pop(L, 1);
            lua_pushnil(L);
        } else {
            lua_pop(L, 1);
            lua_pushboolean(L, true);
        }
        lua_rawset(L, known);
    }
    lua_settop(L, known - 1);
    refresh(L);
}

/* What every environment holds beside the variables. */
static void add_fixtures(lua_State *L)
{
    push(L, &env_key);
    lua_pushcfunction(L, lg_run_line_magic);
    lua_setfield(L, -2, LG_MAGIC_FUNCTION);
    lua_pop(L, 1);
}

void lg_open_locals(lua_State *L)
{
    lua_newtable(L);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &meta_key);
    lua_setmetatable(L, -2);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &env_key);
    lua_newtable(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &known_key);
    set_modes(L, false, false);
    add_fixtures(L);
}

void lg_note_globals(lua_State *L)
{
    lua_newtable(L);
    lua_pushglobaltable(L);
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        lua_pushvalue(L, -2);
        lua_pushboolean(L, true);
        lua_rawset(L, -6);
    }
    lua_pop(L, 1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &initial_key);
}

void lg_push_variables(lua_State *L)
{
    lua_newtable(L);
    int variables = lua_gettop(L);
    push(L, &initial_key);
    lua_pushglobaltable(L);
    for (lua_pushnil(L); lua_next(L, variables + 2); lua_settop(L, variables + 3)) {
        if (lua_type(L, -2) != LUA_TSTRING) continue;
        lua_pushvalue(L, -2);
        if (lua_rawget(L, variables + 1) != LUA_TNIL) continue;
        lua_pop(L, 1);
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, variables);
    }
    lua_settop(L, variables);
    push(L, &env_key);
    for (lua_pushnil(L); lua_next(L, variables + 1); lua_settop(L, variables + 2)) {
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, variables);
    }
    lua_settop(L, variables);
}

/* Makes every field of the table on top nil. */
static void clear_table(lua_State *L)
{
    for (lua_pushnil(L); lua_next(L, -2);) {
        lua_pop(L, 1);
        lua_pushvalue(L, -1);
        lua_pushnil(L);
        lua_rawset(L, -4);
    }
    lua_pop(L, 1);
}

void lg_clear_locals(lua_State *L)
{
    push(L, &env_key);
    clear_table(L);
    push(L, &known_key);
    clear_table(L);
    set_modes(L, false, false);
    add_fixtures(L);
}
