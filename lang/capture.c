/* %%capture: what a cell prints and shows, kept in place of going to the face. */
#include <string.h>
#include "lang/capture.h"
#include "lang/display.h"
#include "lang/lexer.h"
#include "lang/magic.h"

#define CAPTURED "lunarray.captured"

/* A userdata while it captures; its user value is the list of what was shown. */
struct lg_capture {
    struct lg_session *session;
    struct lg_capture *outer;
    struct lg_buffer text[2];
};

/* What is answered in the middle of a cell goes to whoever asked. */
static bool captures(const struct lg_session *s)
{
    return s && s->capture && !s->attending;
}

bool lg_capture_text(struct lg_session *s, enum lg_stream which, const char *text, size_t length)
{
    if (!captures(s)) return false;
    lg_buffer_add(&s->capture->text[which == LG_STDERR], text, length);
    return true;
}

/* Pushes the list of what the session's capture got so far. */
static void push_list(lua_State *L, struct lg_session *s)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, s->capture);
    lua_getiuservalue(L, -1, 1);
    lua_remove(L, -2);
}

bool lg_capture_bundle(lua_State *L, struct lg_session *s, const struct lg_bundle *b, const char *id)
{
    if (!captures(s)) return false;
    luaL_checkstack(L, 6, NULL);
    push_list(L, s);
    lua_createtable(L, 0, (int)b->count);
    for (size_t i = 0; i < b->count; i++) {
        lua_pushlstring(L, b->items[i].data, b->items[i].length);
        lua_setfield(L, -2, b->items[i].type);
    }
    /* What has an id may be there already, and is then replaced: the list has the place of each id, too. */
    lua_Integer at = (lua_Integer)lua_rawlen(L, -2) + 1;
    if (id && lua_getfield(L, -2, id) == LUA_TNUMBER) at = lua_tointeger(L, -1);
    if (id) {
        lua_pop(L, 1);
        lua_pushinteger(L, at);
        lua_setfield(L, -3, id);
    }
    lua_rawseti(L, -2, at);
    lua_pop(L, 1);
    return true;
}

bool lg_capture_clear(lua_State *L, struct lg_session *s)
{
    if (!captures(s)) return false;
    for (int i = 0; i < 2; i++) s->capture->text[i].length = 0;
    lua_rawgetp(L, LUA_REGISTRYINDEX, s->capture);
    lua_newtable(L);
    lua_setiuservalue(L, -2, 1);
    lua_pop(L, 1);
    return true;
}

/* Ends it, also when an error passes. */
static int capture_close(lua_State *L)
{
    struct lg_capture *c = lua_touserdata(L, 1);
    for (int i = 0; i < 2; i++) lg_buffer_release(&c->text[i]);
    if (!c->session) return 0;
    c->session->capture = c->outer;
    c->session = NULL;
    lua_pushnil(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, c);
    return 0;
}

static struct lg_capture *push_capture(lua_State *L, struct lg_session *s)
{
    struct lg_capture *c = lua_newuserdatauv(L, sizeof *c, 1);
    *c = (struct lg_capture){.outer = s->capture};
    if (luaL_newmetatable(L, "lunarray.capture")) {
        lua_pushcfunction(L, capture_close);
        lua_setfield(L, -2, "__close");
        lua_pushcfunction(L, capture_close);
        lua_setfield(L, -2, "__gc");
    }
    lua_setmetatable(L, -2);
    lua_newtable(L);
    lua_setiuservalue(L, -2, 1);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, c);
    lua_toclose(L, -1);
    c->session = s;
    s->capture = c;
    return c;
}

static int captured_tostring(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_getfield(L, 1, "stdout");
    lua_getfield(L, 1, "stderr");
    lua_getfield(L, 1, "shown");
    size_t out = lua_rawlen(L, 2), err = lua_rawlen(L, 3);
    lua_pushfstring(L, "captured: %d bytes of stdout, %d of stderr, %d displays; its method show shows them", (int)out,
                    (int)err, lua_istable(L, 4) ? (int)lua_rawlen(L, 4) : 0);
    return 1;
}

static int captured_show(lua_State *L)
{
    static const char *const names[] = {"stdout", "stderr"};
    struct lg_session *s = lg_session_of(L);
    luaL_checktype(L, 1, LUA_TTABLE);
    for (int i = 0; i < 2; i++) {
        size_t n = 0;
        lua_getfield(L, 1, names[i]);
        const char *text = lua_tolstring(L, -1, &n);
        if (text) lg_output(s, i ? LG_STDERR : LG_STDOUT, text, n);
    }
    if (lua_getfield(L, 1, "shown") != LUA_TTABLE) return 0;
    int list = lua_gettop(L);
    for (lua_Integer i = 1; lua_rawgeti(L, list, i) == LUA_TTABLE; i++) {
        struct lg_bundle b;
        lg_push_bundle(L, list + 1, &b);
        lg_show(L, &b, lg_push_display_id(L), false);
        lua_settop(L, list);
    }
    return 0;
}

/* Pushes {stdout = , stderr = , shown = } of the capture at idx. */
static void push_captured(lua_State *L, int idx)
{
    struct lg_capture *c = lua_touserdata(L, idx);
    lua_createtable(L, 0, 3);
    lg_push_buffer_text(L, &c->text[0]);
    lua_setfield(L, -2, "stdout");
    lg_push_buffer_text(L, &c->text[1]);
    lua_setfield(L, -2, "stderr");
    lua_newtable(L); /* the list without the places of ids */
    lua_getiuservalue(L, idx, 1);
    for (lua_Integer i = 1; lua_rawgeti(L, -1, i) == LUA_TTABLE; i++) lua_rawseti(L, -3, i);
    lua_pop(L, 2);
    lua_setfield(L, -2, "shown");
    if (luaL_newmetatable(L, CAPTURED)) {
        lua_pushcfunction(L, captured_tostring);
        lua_setfield(L, -2, "__tostring");
        lua_createtable(L, 0, 1);
        lua_pushcfunction(L, captured_show);
        lua_setfield(L, -2, "show");
        lua_setfield(L, -2, "__index");
    }
    lua_setmetatable(L, -2);
}

int lg_magic_capture(struct lg_magic_call *call)
{
    lua_State *L = call->L;
    const char *name = call->rest;
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
    if (name[n] || (*name >= '0' && *name <= '9') || lg_keyword_find(name, n) != LG_NO_KEYWORD)
        return luaL_error(L, "%%%%capture takes the name of a variable, not '%s'", name);
    lg_push_code(call, call->body, call->line + 1);
    push_capture(L, call->session);
    int capture = lua_gettop(L);
    lua_pushvalue(L, capture - 1);
    lua_call(L, 0, 1);
    if (!lua_isnil(L, -1) && !lg_is_handle(L, -1)) {
        struct lg_bundle b;
        lg_push_bundle(L, capture + 1, &b);
        lg_capture_bundle(L, call->session, &b, NULL);
    }
    lua_settop(L, capture);
    push_captured(L, capture);
    lua_replace(L, capture - 1);
    lua_closeslot(L, capture);
    lua_settop(L, capture - 1);
    if (*name) lg_set_variable(L, name);
    return 0;
}
