/* print, io.write and warn of a session go to its sink. Files, io.stdout:write and C's own stdout stay what they are:
 * stdout is flushed first, so that the order is kept where a face captures it. */
#include "lang/capture.h"

#include <stdio.h>
#include <string.h>

void lg_output(struct lg_session *s, enum lg_stream which, const char *text, size_t length)
{
    if (!length) return;
    fflush(stdout);
    if (!lg_capture_text(s, which, text, length)) s->sink.stream(s->sink.context, which, text, length);
}

static int sink_print(lua_State *L)
{
    int n = lua_gettop(L);
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    for (int i = 1; i <= n; i++) {
        if (i > 1) luaL_addchar(&b, '\t');
        luaL_tolstring(L, i, NULL);
        luaL_addvalue(&b);
    }
    luaL_addchar(&b, '\n');
    luaL_pushresult(&b);
    size_t length;
    const char *text = lua_tolstring(L, -1, &length);
    lg_output(lg_upvalue_session(L), LG_STDOUT, text, length);
    return 0;
}

int lg_call_stock(lua_State *L)
{
    lua_pushvalue(L, lua_upvalueindex(2));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
    return lua_gettop(L);
}

/* io.write: upvalues the session, the stock io.write, io.stdout. To another default output it is the stock function. */
static int sink_write(lua_State *L)
{
    int n = lua_gettop(L);
    lua_getfield(L, LUA_REGISTRYINDEX, "_IO_output");
    if (!lua_rawequal(L, -1, lua_upvalueindex(3))) {
        lua_settop(L, n);
        return lg_call_stock(L);
    }
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    for (int i = 1; i <= n; i++) {
        luaL_checklstring(L, i, NULL);
        lua_pushvalue(L, i);
        luaL_addvalue(&b);
    }
    luaL_pushresult(&b);
    size_t length;
    const char *text = lua_tolstring(L, -1, &length);
    lg_output(lg_upvalue_session(L), LG_STDOUT, text, length);
    lua_pushvalue(L, lua_upvalueindex(3));
    return 1;
}

/* Warnings, as lua.c prints them. Pieces that belong together are gathered. It may not raise. */
static void sink_warn(void *context, const char *message, int to_continue)
{
    struct lg_session *s = context;
    if (!to_continue && !s->warning.length && *message == '@') {
        if (strcmp(message, "@on") == 0) s->warnings_off = false;
        if (strcmp(message, "@off") == 0) s->warnings_off = true;
        return;
    }
    if (!s->warning.length) lg_buffer_puts(&s->warning, "warning: ");
    lg_buffer_puts(&s->warning, message);
    if (to_continue) return;
    lg_buffer_puts(&s->warning, "\n");
    if (!s->warnings_off && s->warning.length) lg_output(s, LG_STDERR, s->warning.data, s->warning.length);
    lg_buffer_release(&s->warning);
}

static void close_over(lua_State *L, struct lg_session *s, const char *table, const char *name, lua_CFunction f,
                       const char *file)
{
    lua_getglobal(L, table);
    lua_pushlightuserdata(L, s);
    lua_getfield(L, -2, name);
    lua_getfield(L, -3, file);
    lua_pushcclosure(L, f, 3);
    lua_setfield(L, -2, name);
    lua_pop(L, 1);
}

void lg_open_output(lua_State *L, struct lg_session *s)
{
    if (!s->interactive) return;
    lua_pushlightuserdata(L, s);
    lua_pushcclosure(L, sink_print, 1);
    lua_setglobal(L, "print");
    close_over(L, s, "io", "write", sink_write, "stdout");
    if (s->sink.input) {
        close_over(L, s, "io", "read", lg_sink_read, "stdin");
        close_over(L, s, "io", "lines", lg_sink_lines, "stdin");
    }
    lg_open_password(L, s);
    lua_setwarnf(L, sink_warn, s);
}
