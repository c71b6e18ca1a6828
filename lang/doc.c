/* What is documented: tables of rows by scope, found by looking through them, so that opening the library costs one
 * entry for each table; and for functions that are no rows of such a table, and for docs alone, entries one by one. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include "lang/closest.h"
#include "lang/hint.h"
#include "lang/keywords.h"
#include "lang/out.h"

/* Tables in Lua's registry: from "scope.name" to the row, from a function to the row, and the list of row tables, with
 * the scope before each. */
static const char by_name_key, by_value_key, tables_key;

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

const char *lg_keep(lua_State *L)
{
    const char *s = lua_tostring(L, -1);
    luaL_ref(L, LUA_REGISTRYINDEX);
    return s;
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

void lg_document_call(lua_State *L, lua_CFunction call, const struct lg_function *row)
{
    push_table(L, &by_value_key);
    lua_pushlightuserdata(L, (void *)row);
    lua_rawsetp(L, -2, (const void *)call);
    lua_pop(L, 1);
}

void lg_set_both(lua_State *L, int gpu, int methods, const struct lg_function *row)
{
    lg_document_value(L, -1, row);
    lua_pushvalue(L, -1);
    lua_setfield(L, gpu, row->name);
    lua_setfield(L, methods, row->name);
    lg_document(L, "gpu", row);
    lg_document(L, "array", row);
}

void lg_document_rows(lua_State *L, const char *scope, const struct lg_function *rows)
{
    push_table(L, &tables_key);
    lua_Integer n = (lua_Integer)lua_rawlen(L, -1);
    lua_pushlightuserdata(L, (void *)scope);
    lua_rawseti(L, -2, n + 1);
    lua_pushlightuserdata(L, (void *)rows);
    lua_rawseti(L, -2, n + 2);
    lua_pop(L, 1);
}

/* How many parameters stand between the parenthesis at `s` and its end; -1 where dots say that there may be any. */
static int count_parameters(const char *s)
{
    int depth = 0, commas = 0;
    bool any = false;
    for (s++; *s && (*s != ')' || depth > 0); s++) {
        depth += (*s == '{' || *s == '(') - (*s == '}' || *s == ')');
        if (depth == 0 && !strncmp(s, "...", 3)) return -1;
        commas += depth == 0 && *s == ',';
        any |= *s != ' ';
    }
    return any ? commas + 1 : 0;
}

/* How many arguments a function takes by the forms of its signature, "gpu.name(...)" and "x:name(...)", of which one
 * may leave the parameters to the other; INT_MAX where none says it. */
static int most_arguments(const struct lg_function *row)
{
    int most = -1;
    size_t length = strlen(row->name);
    for (const char *s = row->signature; (s = strstr(s, row->name)); s += length) {
        if (s == row->signature || (s[-1] != '.' && s[-1] != ':') || s[length] != '(') continue;
        int count = count_parameters(s + length);
        if (count >= 0 && count + (s[-1] == ':') > most) most = count + (s[-1] == ':');
    }
    return most < 0 ? INT_MAX : most;
}

static bool has_out(lua_State *L, int idx)
{
    if (!lua_istable(L, idx)) return false;
    lua_pushliteral(L, "out");
    bool found = lua_rawget(L, idx) != LUA_TNIL;
    lua_pop(L, 1);
    return found;
}

/* The form of the row's signature for keywords, or NULL. It is read when a call first may need it. */
static const struct lg_keyword_form *keyword_form(lua_State *L, const struct lg_function *row)
{
    int given = lua_gettop(L);
    if (lua_isnil(L, lua_upvalueindex(3))) {
        if (!lg_keyword_form(row, lua_newuserdatauv(L, sizeof(struct lg_keyword_form), 0))) lua_pushboolean(L, 0);
        lua_replace(L, lua_upvalueindex(3));
        lua_settop(L, given);
    }
    return lua_touserdata(L, lua_upvalueindex(3));
}

/* Calls the function of the row that is upvalue 1, unless it is given more than it takes, but for a table with `out`.
 * Upvalue 2 is how much that is, once it has been counted, upvalue 3 the form for keywords, once it was read. */
static int call_row(lua_State *L)
{
    const struct lg_function *row = lua_touserdata(L, lua_upvalueindex(1));
    int most = (int)lua_tointeger(L, lua_upvalueindex(2)), given = lua_gettop(L);
    if (given && lua_type(L, given) == LUA_TTABLE) {
        const struct lg_keyword_form *form = keyword_form(L, row);
        if (form && lg_take_keywords(L, row, form) && lg_out(L, row->name)) return 1;
        given = lua_gettop(L);
    }
    if (most < 0) {
        most = most_arguments(row);
        lua_pushinteger(L, most);
        lua_replace(L, lua_upvalueindex(2));
    }
    while (given > most && lua_isnil(L, given)) given--;
    if (given > most && (given > most + 1 || !has_out(L, given))) {
        int first = most + 1;
        while (lua_isnil(L, first)) first++;
        return luaL_argerror(
            L, first,
            lua_pushfstring(L, "nothing expected here, got %s; it is %s", lg_type_name(L, first), row->signature));
    }
    return row->call(L);
}

void lg_register(lua_State *L, const char *scope, const struct lg_function *rows)
{
    for (const struct lg_function *row = rows; row->name; row++) {
        if (row->signature) {
            lua_pushlightuserdata(L, (void *)row);
            lua_pushinteger(L, -1);
            lua_pushnil(L);
            lua_pushcclosure(L, call_row, 3);
        } else {
            lua_pushcfunction(L, row->call);
        }
        lua_setfield(L, -2, row->name);
    }
    lg_document_rows(L, scope, rows);
}

/* The i-th row table, from 0, and its scope; NULL beyond the last. The list is at the top of the stack. */
static const struct lg_function *rows_at(lua_State *L, lua_Integer i, const char **scope)
{
    lua_rawgeti(L, -1, 2 * i + 1);
    lua_rawgeti(L, -2, 2 * i + 2);
    *scope = lua_touserdata(L, -2);
    const struct lg_function *rows = lua_touserdata(L, -1);
    lua_pop(L, 2);
    return rows;
}

static lua_Integer push_row_tables(lua_State *L)
{
    push_table(L, &tables_key);
    return (lua_Integer)lua_rawlen(L, -1) / 2;
}

/* The row of a table that has the name or, where that is NULL, the function; the table added last wins. */
static const struct lg_function *find_row(lua_State *L, const char *name, lua_CFunction call)
{
    const struct lg_function *found = NULL;
    for (lua_Integer i = push_row_tables(L) - 1; i >= 0 && !found; i--) {
        const char *scope;
        const struct lg_function *rows = rows_at(L, i, &scope);
        size_t length = strlen(scope);
        if (name && (strncmp(name, scope, length) != 0 || name[length] != '.')) continue;
        for (const struct lg_function *row = rows; row->name && !found; row++)
            if (name ? strcmp(row->name, name + length + 1) == 0 : row->call == call) found = row;
    }
    lua_pop(L, 1);
    return found;
}

/* The rows of operations and of gpu.dtypes get their texts when somebody asks for them. */
static const struct lg_function *complete(lua_State *L, const struct lg_function *row)
{
    if (!row || row->doc) return row;
    if (row->call)
        lg_complete_dtypes_row();
    else
        lg_complete_op_row(L, (struct lg_function *)(uintptr_t)row);
    return row;
}

const struct lg_function *lg_doc_by_name(lua_State *L, const char *name)
{
    push_table(L, &by_name_key);
    lua_pushstring(L, name);
    lua_rawget(L, -2);
    const struct lg_function *row = lua_touserdata(L, -1);
    lua_pop(L, 2);
    return complete(L, row ? row : find_row(L, name, NULL));
}

/* Whether the name is between "gpu." and "." in the scope. */
static bool is_module_of(const char *scope, const char *name)
{
    size_t n = strlen(name);
    return strncmp(scope, "gpu.", 4) == 0 && strncmp(scope + 4, name, n) == 0 && strcmp(scope + 4 + n, ".") == 0;
}

/* Functions of modules come last: not where NumPy has something else by the name, or where it is a module's, which is
 * rather meant. */
static const struct lg_function *row_in_scopes(lua_State *L, const char *name)
{
    static const char *const scopes[] = {"",       "gpu.",   "array.",  "kernel.", "texture.", "stream.",
                                         "event.", "graph.", "device.", "sparse.", "session.", "topic."};
    static const char *const modules[] = {"gpu.linalg.", "gpu.random.", "gpu.fft.", "gpu.sparse.", "gpu.ndimage."};
    const struct lg_function *row = NULL;
    int top = lua_gettop(L);
    for (size_t i = 0; i < sizeof scopes / sizeof *scopes && !row; i++, lua_settop(L, top))
        row = lg_doc_by_name(L, lua_pushfstring(L, "%s%s", scopes[i], name));
    bool other = !row && lg_push_synonym(L, name);
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) other = other || is_module_of(modules[i], name);
    for (size_t i = 0; i < sizeof modules / sizeof *modules && !row && !other; i++, lua_settop(L, top))
        row = lg_doc_by_name(L, lua_pushfstring(L, "%s%s", modules[i], name));
    lua_settop(L, top);
    return row;
}

const struct lg_function *lg_doc_by_word(lua_State *L, const char *word)
{
    char library[16];
    size_t n = strcspn(word, ".");
    const struct lg_function *row = row_in_scopes(L, word);
    if (row || !word[n] || n >= sizeof library) return row;
    snprintf(library, sizeof library, "%.*s", (int)n, word);
    if (!lg_is_library(library)) return NULL;
    row = row_in_scopes(L, word + n + 1);
    return row ? row : row_in_scopes(L, strrchr(word, '.') + 1);
}

const struct lg_function *lg_doc_of_value(lua_State *L, int idx)
{
    int top = lua_gettop(L);
    if (!lua_isfunction(L, idx)) return NULL;
    idx = lua_absindex(L, idx);
    push_table(L, &by_value_key);
    lua_pushvalue(L, idx);
    lua_rawget(L, -2);
    const struct lg_function *row = lua_touserdata(L, -1);
    lua_CFunction call = lua_tocfunction(L, idx);
    if (!row && call && lua_rawgetp(L, -2, (const void *)call) == LUA_TLIGHTUSERDATA) row = lua_touserdata(L, -1);
    lua_settop(L, top);
    if (call == call_row && lua_getupvalue(L, idx, 1)) {
        row = lua_touserdata(L, -1);
        lua_pop(L, 1);
    }
    return complete(L, row || !call ? row : find_row(L, NULL, call));
}

void lg_push_doc_names(lua_State *L)
{
    lua_newtable(L); /* the names as keys: each once */
    push_table(L, &by_name_key);
    for (lua_pushnil(L); lua_next(L, -2);) {
        lua_pop(L, 1);
        lua_pushvalue(L, -1);
        lua_pushboolean(L, 1);
        lua_rawset(L, -5);
    }
    lua_pop(L, 1);
    lua_Integer tables = push_row_tables(L);
    for (lua_Integer i = 0; i < tables; i++) {
        const char *scope;
        for (const struct lg_function *row = rows_at(L, i, &scope); row->name; row++) {
            lua_pushfstring(L, "%s.%s", scope, row->name);
            lua_pushboolean(L, 1);
            lua_rawset(L, -4);
        }
    }
    lua_pop(L, 1);
    lua_newtable(L);
    lua_Integer n = 0;
    for (lua_pushnil(L); lua_next(L, -3);) {
        lua_pop(L, 1);
        lua_pushvalue(L, -1);
        lua_rawseti(L, -3, ++n);
    }
    lua_remove(L, -2);
}
