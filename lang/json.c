#include "lang/json.h"

#include <jansson.h>
#include <math.h>
#include <string.h>
#include <utf8proc.h>
#include "lang/lang.h"

#define MAX_DEPTH   200
#define LIST_MARKER "lunarray.list"

void lg_mark_list(lua_State *L, int idx)
{
    idx = lua_absindex(L, idx);
    luaL_newmetatable(L, LIST_MARKER);
    lua_setmetatable(L, idx);
}

static bool is_marked(lua_State *L, int idx)
{
    if (!lua_getmetatable(L, idx)) return false;
    luaL_getmetatable(L, LIST_MARKER);
    bool same = lua_rawequal(L, -1, -2);
    lua_pop(L, 2);
    return same;
}

/* Bytes that are no UTF-8 become U+FFFD. */
void lg_add_json_string(struct lg_buffer *b, const char *text, size_t length)
{
    lg_buffer_puts(b, "\"");
    for (size_t at = 0; at < length;) {
        unsigned char c = (unsigned char)text[at];
        utf8proc_int32_t point;
        utf8proc_ssize_t used =
            utf8proc_iterate((const utf8proc_uint8_t *)text + at, (utf8proc_ssize_t)(length - at), &point);
        if (used <= 0) {
            lg_buffer_puts(b, "\xef\xbf\xbd");
            used = 1;
        } else if (c < 0x20 || c == '"' || c == '\\') {
            lg_buffer_printf(b, "\\u%04x", c);
        } else {
            lg_buffer_add(b, text + at, (size_t)used);
        }
        at += (size_t)used;
    }
    lg_buffer_puts(b, "\"");
}

static void add_number(lua_State *L, struct lg_buffer *b, int idx)
{
    double value = lua_tonumber(L, idx);
    if (lua_isinteger(L, idx))
        lg_buffer_printf(b, LUA_INTEGER_FMT, lua_tointeger(L, idx));
    else if (isfinite(value))
        lg_buffer_printf(b, "%.17g", value);
    else
        lg_buffer_puts(b, "null");
}

static void add_value(lua_State *L, struct lg_buffer *b, int idx, const char *what, int depth);

static void add_list(lua_State *L, struct lg_buffer *b, int idx, const char *what, int depth)
{
    lua_Integer n = (lua_Integer)lua_rawlen(L, idx);
    lg_buffer_puts(b, "[");
    for (lua_Integer i = 1; i <= n; i++) {
        if (i > 1) lg_buffer_puts(b, ",");
        lua_rawgeti(L, idx, i);
        add_value(L, b, lua_gettop(L), what, depth);
        lua_pop(L, 1);
    }
    lg_buffer_puts(b, "]");
}

static void add_object(lua_State *L, struct lg_buffer *b, int idx, const char *what, int depth)
{
    const char *separator = "";
    lg_buffer_puts(b, "{");
    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING)
            luaL_error(L, "%s: a table's keys are either 1 to n or strings, not a %s", what, lg_type_name(L, -2));
        size_t n;
        const char *key = lua_tolstring(L, -2, &n);
        lg_buffer_puts(b, separator);
        lg_add_json_string(b, key, n);
        lg_buffer_puts(b, ":");
        add_value(L, b, lua_gettop(L), what, depth);
        separator = ",";
    }
    lg_buffer_puts(b, "}");
}

static void add_value(lua_State *L, struct lg_buffer *b, int idx, const char *what, int depth)
{
    size_t n;
    const char *text;
    if (depth == MAX_DEPTH) luaL_error(L, "%s: a table is inside itself, or tables are nested too deeply", what);
    luaL_checkstack(L, 6, NULL);
    switch (lua_type(L, idx)) {
    case LUA_TNIL: lg_buffer_puts(b, "null"); return;
    case LUA_TBOOLEAN: lg_buffer_puts(b, lua_toboolean(L, idx) ? "true" : "false"); return;
    case LUA_TNUMBER: add_number(L, b, idx); return;
    case LUA_TSTRING:
        text = lua_tolstring(L, idx, &n);
        lg_add_json_string(b, text, n);
        return;
    case LUA_TTABLE:
        if (lua_rawlen(L, idx) || is_marked(L, idx))
            add_list(L, b, idx, what, depth + 1);
        else
            add_object(L, b, idx, what, depth + 1);
        return;
    case LUA_TLIGHTUSERDATA:
        if (lua_touserdata(L, idx)) break;
        lg_buffer_puts(b, "null");
        return;
    default: break;
    }
    luaL_error(L, "%s: expected nil, booleans, numbers, strings and tables of them, got a %s", what,
               lg_type_name(L, idx));
}

void lg_add_json(lua_State *L, struct lg_buffer *b, int idx, const char *what)
{
    add_value(L, b, lua_absindex(L, idx), what, 0);
}

static void push_value(lua_State *L, const json_t *value)
{
    luaL_checkstack(L, 6, "the JSON text is nested too deeply");
    switch (json_typeof(value)) {
    case JSON_OBJECT: {
        const char *key;
        json_t *item;
        lua_newtable(L);
        json_object_foreach((json_t *)value, key, item)
        {
            lua_pushstring(L, key);
            push_value(L, item);
            lua_rawset(L, -3);
        }
        return;
    }
    case JSON_ARRAY:
        lua_newtable(L);
        lg_mark_list(L, -1);
        for (size_t i = 0; i < json_array_size(value); i++) {
            push_value(L, json_array_get(value, i));
            lua_rawseti(L, -2, (lua_Integer)i + 1);
        }
        return;
    case JSON_STRING: lua_pushlstring(L, json_string_value(value), json_string_length(value)); return;
    case JSON_INTEGER: lua_pushinteger(L, json_integer_value(value)); return;
    case JSON_REAL: lua_pushnumber(L, json_real_value(value)); return;
    case JSON_TRUE: lua_pushboolean(L, 1); return;
    case JSON_FALSE: lua_pushboolean(L, 0); return;
    case JSON_NULL: break;
    }
    lua_pushlightuserdata(L, NULL);
}

static int push_parsed(lua_State *L)
{
    push_value(L, lua_touserdata(L, 1));
    return 1;
}

void lg_push_json(lua_State *L, const char *text, size_t length)
{
    lua_pushcfunction(L, push_parsed);
    json_error_t e;
    json_t *parsed = json_loadb(text, length, JSON_DECODE_ANY | JSON_ALLOW_NUL, &e);
    if (!parsed) luaL_error(L, "this is not JSON: %s", e.text);
    lua_pushlightuserdata(L, parsed);
    int status = lua_pcall(L, 1, 1, 0);
    json_decref(parsed);
    if (status != LUA_OK) lua_error(L);
}
