#include "lang/lookup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lang/apart.h"
#include "lang/closest.h"
#include "lang/io.h"
#include "lang/stream.h"
#include "runtime/memory.h"

#define MAX_CHAIN 20 /* metatables followed behind each other */

void lg_tokens_fill(struct lg_tokens *t, const char *text, size_t length)
{
    struct lg_lexer x;
    struct lg_token token;
    *t = (struct lg_tokens){.text = text};
    lg_lexer_init(&x, text, length);
    while (lg_lexer_next(&x, &token)) {
        t->in_comment = token.kind == LG_TOKEN_COMMENT && token.end == length && (!token.is_long || token.unfinished);
        if (token.kind == LG_TOKEN_COMMENT) continue;
        if (t->count == t->capacity) {
            size_t wanted = t->capacity ? 2 * t->capacity : 64;
            struct lg_token *items = rt_realloc(t->items, wanted * sizeof *items);
            if (!items) {
                t->failed = true;
                return;
            }
            t->items = items;
            t->capacity = wanted;
        }
        t->items[t->count++] = token;
    }
}

static bool is(const struct lg_tokens *t, size_t i, const char *text)
{
    const struct lg_token *k = &t->items[i];
    size_t n = strlen(text);
    return k->kind == LG_TOKEN_OPERATOR && k->end - k->start == n && memcmp(t->text + k->start, text, n) == 0;
}

static bool is_access(const struct lg_tokens *t, size_t i)
{
    return is(t, i, ".") || is(t, i, ":");
}

size_t lg_chain_start(const struct lg_tokens *t, size_t end)
{
    size_t i = end;
    while (i > 0) {
        if (t->items[i - 1].kind == LG_TOKEN_NAME) {
            i--;
            if (i == 0 || !is_access(t, i - 1)) return i;
            i--;
        } else if (i >= 4 && is(t, i - 1, "]") && is(t, i - 3, "[") &&
                   (t->items[i - 2].kind == LG_TOKEN_NUMBER || t->items[i - 2].kind == LG_TOKEN_STRING)) {
            i -= 3;
        } else if (i >= 3 && is(t, i - 1, ")") && is(t, i - 3, "(") && t->items[i - 2].kind == LG_TOKEN_STRING) {
            return i - 3;
        } else {
            return end;
        }
    }
    return end;
}

size_t lg_open_call(const struct lg_tokens *t, size_t end)
{
    int closed = 0;
    for (size_t i = end; i-- > 0;) {
        const struct lg_token *k = &t->items[i];
        if (k->kind == LG_TOKEN_KEYWORD && lg_token_block(k) != 0) return end;
        if (k->kind != LG_TOKEN_OPERATOR || k->end - k->start != 1) continue;
        char c = t->text[k->start];
        if (c == ')' || c == ']' || c == '}') closed++;
        if (c == '(' || c == '[' || c == '{') {
            if (closed-- > 0) continue;
            return c == '(' ? i : end;
        }
    }
    return end;
}

/* Pushes the contents of a string token as they are written, without its quotes. */
static void push_contents(lua_State *L, const struct lg_tokens *t, const struct lg_token *k)
{
    size_t n = k->end - k->start;
    if (k->is_long || k->unfinished || n < 2) {
        lua_pushliteral(L, "");
    } else {
        lua_pushlstring(L, t->text + k->start + 1, n - 2);
    }
}

/* A variable of the session, or a global; nothing when it is nil. */
static bool push_variable(lua_State *L, const char *name, size_t length)
{
    for (int i = 0; i < 2; i++) {
        if (i == 0)
            lg_push_env(L);
        else
            lua_pushglobaltable(L);
        if (!lua_istable(L, -1)) { /* a session without cells has no variables of its own */
            lua_pop(L, 1);
            continue;
        }
        lua_pushlstring(L, name, length);
        bool found = lua_rawget(L, -2) != LUA_TNIL;
        lua_remove(L, -2);
        if (found) return true;
        lua_pop(L, 1);
    }
    return false;
}

bool lg_push_chain(lua_State *L, const struct lg_tokens *t, size_t first, size_t end)
{
    if (first >= end) return false;
    luaL_checkstack(L, 10, NULL);
    const struct lg_token *k = &t->items[first];
    size_t i = first + 1;
    if (is(t, first, "(")) {
        push_contents(L, t, k + 1);
        i = first + 3;
    } else if (!push_variable(L, t->text + k->start, k->end - k->start)) {
        return false;
    }
    while (i + 1 < end) {
        k = &t->items[i + 1];
        if (is_access(t, i)) {
            lua_pushlstring(L, t->text + k->start, k->end - k->start);
            i += 2;
        } else if (k->kind == LG_TOKEN_NUMBER) {
            lua_pushlstring(L, t->text + k->start, k->end - k->start);
            lua_stringtonumber(L, lua_tostring(L, -1));
            lua_remove(L, -2);
            i += 3;
        } else {
            push_contents(L, t, k);
            i += 3;
        }
        bool found = lg_push_field(L, -2);
        lua_remove(L, found ? -2 : -1);
        if (!found) return false;
    }
    return true;
}

/* A metafield of the value at idx, raw; false and nothing when there is none. */
static bool push_metafield(lua_State *L, int idx, const char *name)
{
    if (!lua_getmetatable(L, idx)) return false;
    lua_pushstring(L, name);
    bool found = lua_rawget(L, -2) != LUA_TNIL;
    lua_remove(L, -2);
    if (!found) lua_pop(L, 1);
    return found;
}

/* Whether the userdata at idx is one of this library's, whose C functions are known to be harmless. */
static bool is_ours(lua_State *L, int idx)
{
    if (lg_test_array(L, idx)) return true; /* whose name in messages is another one */
    if (lua_type(L, idx) != LUA_TUSERDATA || !push_metafield(L, idx, "__name")) return false;
    const char *name = lua_tostring(L, -1);
    bool ours = name && strncmp(name, "lunarray.", 9) == 0;
    lua_pop(L, 1);
    return ours;
}

static int get_field(lua_State *L)
{
    lua_gettable(L, 1);
    return 1;
}

/* Pushes a method of one of our objects from the tables that its __index looks things up in; else nothing. */
static bool push_method(lua_State *L, int idx, int key)
{
    if (!push_metafield(L, idx, "__index")) return false;
    int index = lua_gettop(L);
    for (int i = 1; lua_getupvalue(L, index, i); lua_settop(L, index), i++) {
        if (!lua_istable(L, -1)) continue;
        lua_pushvalue(L, key);
        if (lua_rawget(L, -2) != LUA_TFUNCTION) continue;
        lua_replace(L, index);
        lua_settop(L, index);
        return true;
    }
    lua_pop(L, 1);
    return false;
}

/* Pushes value[key] of one of our objects, by its own __index; nothing when that raises or is nil. */
static bool push_own_field(lua_State *L, int idx, int key)
{
    if (lg_is_beside(L) && !luaL_testudata(L, idx, LG_KERNEL)) {
        bool method = push_method(L, idx, key);
        if (!method) lg_decline(L);
        return method;
    }
    lua_pushcfunction(L, get_field);
    lua_pushvalue(L, idx);
    lua_pushvalue(L, key);
    bool found = lua_pcall(L, 2, 1, 0) == LUA_OK && !lua_isnil(L, -1);
    if (!found) lua_pop(L, 1);
    return found;
}

bool lg_push_field(lua_State *L, int idx)
{
    idx = lua_absindex(L, idx);
    int key = lua_gettop(L);
    luaL_checkstack(L, 8, NULL);
    if (is_ours(L, idx)) {
        bool known = lua_type(L, key) == LUA_TSTRING && push_own_field(L, idx, key);
        lua_remove(L, key);
        return known;
    }
    lua_pushvalue(L, idx);
    for (int i = 0; i < MAX_CHAIN; i++) {
        if (lua_istable(L, -1)) {
            lua_pushvalue(L, key);
            if (lua_rawget(L, -2) != LUA_TNIL) {
                lua_replace(L, key);
                lua_settop(L, key);
                return true;
            }
            lua_pop(L, 1);
        }
        if (!push_metafield(L, -1, "__index")) break;
        lua_remove(L, -2);
        if (!lua_istable(L, -1)) break;
    }
    lua_settop(L, key - 1);
    return false;
}

int lg_push_names(lua_State *L, const char *const *names)
{
    lua_newtable(L);
    for (int i = 0; names[i]; i++) {
        lua_pushstring(L, names[i]);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

/* The methods that __index, on top of the stack, looks up. */
static void each_method(lua_State *L, const struct lg_wanted *wanted, lg_visitor *visit, void *context)
{
    int index = lua_gettop(L);
    if (lua_istable(L, index)) lg_each_key(L, wanted, visit, context);
    for (int i = 1; lua_iscfunction(L, index) && lua_getupvalue(L, index, i); i++) {
        if (lua_istable(L, -1)) {
            int table = lua_gettop(L);
            for (lua_pushnil(L); lua_next(L, table); lua_settop(L, table + 1))
                if (lua_type(L, -2) == LUA_TSTRING && lua_isfunction(L, -1)) visit(L, lua_tostring(L, -2), context);
        }
        lua_settop(L, index);
    }
}

/* Fields and methods of one of our objects: the list that its C function __fields gives, and the functions among the
 * tables that its __index looks things up in. */
static void each_own_field(lua_State *L, int idx, const struct lg_wanted *wanted, lg_visitor *visit, void *context)
{
    if (push_metafield(L, idx, "__fields") && lua_iscfunction(L, -1)) {
        lua_pushvalue(L, idx);
        if (lua_pcall(L, 1, 1, 0) == LUA_OK && lua_istable(L, -1)) {
            int list = lua_gettop(L);
            for (lua_Integer i = 1; lua_rawgeti(L, list, i) == LUA_TSTRING; i++) {
                int name = lua_gettop(L);
                if (!push_own_field(L, idx, name)) lua_pushnil(L);
                visit(L, lua_tostring(L, name), context);
                lua_settop(L, list);
            }
        }
    }
    lua_settop(L, idx);
    if (push_metafield(L, idx, "__index")) each_method(L, wanted, visit, context);
}

void lg_each_array_method(lua_State *L, lg_visitor *visit, void *context)
{
    luaL_checkstack(L, 16, NULL);
    luaL_getmetatable(L, LG_ARRAY);
    lua_getfield(L, -1, "__index");
    each_method(L, NULL, visit, context);
    lua_pop(L, 2);
}

/* What a table of an .npz file has in that file alone. */
static void each_archived(lua_State *L, int idx, lg_visitor *visit, void *context)
{
    if (!lg_push_archive_names(L, idx)) return;
    const int names = lua_gettop(L);
    for (lua_Integer i = 1; lua_rawgeti(L, names, i) != LUA_TNIL; lua_settop(L, names), i++) {
        lua_pushvalue(L, names + 1);
        if (lua_rawget(L, names) != LUA_TNUMBER) continue;
        lua_pushnil(L);
        visit(L, lua_tostring(L, names + 1), context);
    }
    lua_settop(L, names - 1);
}

void lg_each_field(lua_State *L, int idx, const struct lg_wanted *wanted, lg_visitor *visit, void *context)
{
    luaL_checkstack(L, 16, NULL);
    lua_pushvalue(L, idx);
    int base = lua_gettop(L);
    if (is_ours(L, base)) {
        each_own_field(L, base, wanted, visit, context);
        lua_settop(L, base - 1);
        return;
    }
    each_archived(L, base, visit, context);
    for (int i = 0; i < MAX_CHAIN; i++) {
        if (lua_istable(L, -1)) lg_each_key(L, wanted, visit, context);
        if (!push_metafield(L, -1, "__index")) break;
        lua_remove(L, -2);
        if (!lua_istable(L, -1)) break;
    }
    lua_settop(L, base - 1);
}

void lg_lua_signature(lua_State *L, int idx, const char *name, char *buffer, size_t size)
{
    lua_Debug ar;
    lua_pushvalue(L, idx);
    lua_getinfo(L, ">u", &ar);
    size_t n = (size_t)snprintf(buffer, size, "%s(", name);
    lua_pushvalue(L, idx);
    for (int i = 1; i <= ar.nparams && n < size; i++)
        n += (size_t)snprintf(buffer + n, size - n, "%s%s", i > 1 ? ", " : "", lua_getlocal(L, NULL, i));
    lua_pop(L, 1);
    if (n < size) snprintf(buffer + n, size - n, "%s)", !ar.isvararg ? "" : ar.nparams ? ", ..." : "...");
}

static const char *describe_function(lua_State *L, int idx, char *buffer, size_t size)
{
    const struct lg_function *row = lg_doc_of_value(L, idx);
    if (row) {
        snprintf(buffer, size, "%s", row->signature);
    } else if (!lua_iscfunction(L, idx)) {
        lg_lua_signature(L, idx, "function ", buffer, size);
    }
    return "function";
}

static const char *describe_object(lua_State *L, int idx, char *buffer, size_t size)
{
    const struct rt_array *a = lg_test_array(L, idx);
    if (a && a->storage) {
        char shape[256];
        snprintf(buffer, size, "%s %s %s", rt_dtypes[a->dtype].name,
                 rt_shape_text(a->ndim, a->shape, shape, sizeof shape), rt_array_device(a)->name);
        return "array";
    }
    if (a) {
        snprintf(buffer, size, "freed");
        return "array";
    }
    if (!is_ours(L, idx)) return "userdata";
    if (lg_is_beside(L)) {
        lg_decline(L);
        return luaL_testudata(L, idx, LG_KERNEL) ? "kernel" : "object";
    }
    const char *text = luaL_tolstring(L, idx, NULL);
    snprintf(buffer, size, "%.*s", (int)strcspn(text, "\n"), text);
    lua_pop(L, 1);
    if (luaL_testudata(L, idx, LG_KERNEL)) return "kernel";
    if (lg_test_texture(L, idx)) return "texture";
    if (lg_test_tensor_map(L, idx)) return "tensor map";
    if (luaL_testudata(L, idx, LG_STREAM)) return "stream";
    if (luaL_testudata(L, idx, LG_EVENT)) return "event";
    if (luaL_testudata(L, idx, LG_GRAPH)) return "graph";
    return luaL_testudata(L, idx, LG_DEVICE) ? "device" : "object";
}

static bool is_module(lua_State *L, int idx)
{
    int top = lua_gettop(L);
    bool found = false;
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    for (lua_pushnil(L); !found && lua_next(L, top + 1); lua_settop(L, top + 2)) found = lua_rawequal(L, -1, idx);
    lua_settop(L, top);
    return found;
}

const char *lg_describe(lua_State *L, int idx, char *buffer, size_t size)
{
    idx = lua_absindex(L, idx);
    const char *noted;
    luaL_checkstack(L, 8, NULL);
    *buffer = '\0';
    if (lg_push_noted(L, idx, &noted)) {
        snprintf(buffer, size, "%s", lua_tostring(L, -1));
        lua_pop(L, 1);
        return noted;
    }
    switch (lua_type(L, idx)) {
    case LUA_TFUNCTION: return describe_function(L, idx, buffer, size);
    case LUA_TUSERDATA: return describe_object(L, idx, buffer, size);
    case LUA_TTABLE: return is_module(L, idx) || lg_is_sealed(L, idx) ? "module" : "table";
    case LUA_TSTRING:
        lua_pushlstring(L, lua_tostring(L, idx), lua_rawlen(L, idx) < 40 ? lua_rawlen(L, idx) : 40);
        lg_push_value_text(L, -1);
        snprintf(buffer, size, "%s", lua_tostring(L, -1));
        lua_pop(L, 2);
        return "string";
    case LUA_TNUMBER:
    case LUA_TBOOLEAN: snprintf(buffer, size, "%s", luaL_tolstring(L, idx, NULL)); lua_pop(L, 1);
    /* fall through */
    default: return luaL_typename(L, idx);
    }
}
