/* string.find, match, gmatch and gsub of sessions. Whatever cannot take long is the stock functions'; a call that may
 * is matched by lang/pattern.c, so that it can be interrupted and requests are answered meanwhile. The other functions
 * of Lua's own that take long (string.rep and table.concat of gigabytes, a full collection) end by themselves within
 * seconds, and stay as they are. */
#define _GNU_SOURCE /* memmem */
#include <ctype.h>
#include <stdint.h>
#include <string.h>
#include "lang/lang.h"
#include "lang/pattern.h"

struct call {
    struct lg_match_state m;
    const char *pattern;
    size_t length; /* of the subject */
    bool anchored;
};

static bool is_plain(const char *pattern, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (pattern[i] && strchr("^$*+?.([%-", pattern[i])) return false;
    return true;
}

/* How many steps matching takes at most, about: each item that repeats may be tried at each length, from each place. */
static double most_steps(const char *pattern, size_t length, double subject)
{
    double steps = subject;
    for (size_t i = 0; i < length; i++)
        if ((pattern[i] && strchr("*+-", pattern[i])) || (pattern[i] == 'b' && i && pattern[i - 1] == '%'))
            steps *= subject + 1;
    return steps;
}

/* The subject and the pattern, the first two arguments; false when it is the stock function's call, whose upvalues are
 * that function and the most steps that it is to take. */
static bool read_call(lua_State *L, struct call *c)
{
    size_t n;
    const char *s = luaL_checklstring(L, 1, &c->length);
    c->pattern = luaL_checklstring(L, 2, &n);
    c->anchored = false;
    c->m.L = L;
    c->m.subject = s;
    c->m.subject_end = s + c->length;
    c->m.pattern_end = c->pattern + n;
    c->m.steps = 0;
    return most_steps(c->pattern, n, (double)c->length) > lua_tonumber(L, lua_upvalueindex(2));
}

static void take_anchor(struct call *c)
{
    c->anchored = *c->pattern == '^';
    if (c->anchored) c->pattern++;
}

static int call_stock(lua_State *L)
{
    return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

/* The optional argument that says where in the subject to begin, as an offset from 0; beyond its end when it is. */
static size_t first_offset(lua_State *L, int arg, size_t length)
{
    lua_Integer i = luaL_optinteger(L, arg, 1);
    if (i > 0) return (lua_Unsigned)i - 1 > length ? length + 1 : (size_t)i - 1;
    return i == 0 || i < -(lua_Integer)length ? 0 : length - (size_t)-i;
}

static const char *match_anew(struct call *c, const char *s)
{
    c->m.count = c->m.depth = 0;
    return lg_match_at(&c->m, s, c->pattern);
}

/* The i-th capture of the match s..e, from 0; the whole match for the first of none. */
static void push_capture(struct lg_match_state *m, int i, const char *s, const char *e)
{
    if (i >= m->count) {
        if (i > 0) luaL_error(m->L, "invalid capture index %%%d", i + 1);
        lua_pushlstring(m->L, s, (size_t)(e - s));
        return;
    }
    const struct lg_capture_range *c = &m->captures[i];
    if (c->length == LG_CAPTURE_OPEN) luaL_error(m->L, "unfinished capture");
    if (c->length == LG_CAPTURE_POSITION)
        lua_pushinteger(m->L, c->start - m->subject + 1);
    else
        lua_pushlstring(m->L, c->start, (size_t)c->length);
}

/* All of them; the whole match where there are none and it is wanted. */
static int push_captures(struct lg_match_state *m, const char *s, const char *e, bool whole)
{
    int n = m->count == 0 && whole ? 1 : m->count;
    luaL_checkstack(m->L, n, "too many captures");
    for (int i = 0; i < n; i++) push_capture(m, i, s, e);
    return n;
}

static int find_or_match(lua_State *L, struct call *c, bool find)
{
    size_t at = first_offset(L, 3, c->length);
    take_anchor(c);
    for (const char *s = c->m.subject + at; at <= c->length && s <= c->m.subject_end; s++) {
        const char *e = match_anew(c, s);
        if (e && !find) return push_captures(&c->m, s, e, true);
        if (e) {
            lua_pushinteger(L, s - c->m.subject + 1);
            lua_pushinteger(L, e - c->m.subject);
            return 2 + push_captures(&c->m, s, e, false);
        }
        if (c->anchored) break;
    }
    luaL_pushfail(L);
    return 1;
}

/* The stock function's way to look for plain text goes back, too, wherever some of it fits; this one does not. */
static int find_plain(lua_State *L, const struct call *c)
{
    size_t at = first_offset(L, 3, c->length), n = (size_t)(c->m.pattern_end - c->pattern);
    const char *s = at > c->length ? NULL : memmem(c->m.subject + at, c->length - at, c->pattern, n);
    if (!s) {
        luaL_pushfail(L);
        return 1;
    }
    lua_pushinteger(L, s - c->m.subject + 1);
    lua_pushinteger(L, s - c->m.subject + (lua_Integer)n);
    return 2;
}

static int session_find(lua_State *L)
{
    struct call c;
    bool is_long = read_call(L, &c);
    size_t n = (size_t)(c.m.pattern_end - c.pattern);
    if (lua_toboolean(L, 4) || is_plain(c.pattern, n))
        return (double)c.length * (double)n > lua_tonumber(L, lua_upvalueindex(2)) ? find_plain(L, &c) : call_stock(L);
    return is_long ? find_or_match(L, &c, true) : call_stock(L);
}

static int session_match(lua_State *L)
{
    struct call c;
    return read_call(L, &c) ? find_or_match(L, &c, false) : call_stock(L);
}

/* Upvalues: where to go on, and where the last match ended (-1 before the first), offsets; then subject and pattern. */
static int next_match(lua_State *L)
{
    struct call c;
    size_t n;
    lua_Integer at = lua_tointeger(L, lua_upvalueindex(1)), last = lua_tointeger(L, lua_upvalueindex(2));
    c.m.L = L;
    c.m.subject = lua_tolstring(L, lua_upvalueindex(3), &c.length);
    c.pattern = lua_tolstring(L, lua_upvalueindex(4), &n);
    c.m.subject_end = c.m.subject + c.length;
    c.m.pattern_end = c.pattern + n;
    c.m.steps = 0;
    for (; at <= (lua_Integer)c.length; at++) {
        const char *s = c.m.subject + at, *e = match_anew(&c, s);
        if (!e || e - c.m.subject == last) continue;
        lua_pushinteger(L, e - c.m.subject);
        lua_copy(L, -1, lua_upvalueindex(1));
        lua_replace(L, lua_upvalueindex(2));
        return push_captures(&c.m, s, e, true);
    }
    return 0;
}

static int session_gmatch(lua_State *L)
{
    struct call c;
    if (!read_call(L, &c)) return call_stock(L);
    lua_pushinteger(L, (lua_Integer)first_offset(L, 3, c.length));
    lua_pushinteger(L, -1);
    lua_pushvalue(L, 1);
    lua_pushvalue(L, 2);
    lua_pushcclosure(L, next_match, 4);
    return 1;
}

/* The replacement string with the captures that it names. */
static void add_text(struct call *c, luaL_Buffer *b, const char *s, const char *e)
{
    size_t n;
    lua_State *L = c->m.L;
    const char *text = lua_tolstring(L, 3, &n), *end = text + n;
    for (const char *sign; (sign = memchr(text, '%', (size_t)(end - text))); text = sign + 2) {
        luaL_addlstring(b, text, (size_t)(sign - text));
        if (sign[1] == '%') {
            luaL_addchar(b, '%');
        } else if (sign[1] == '0') {
            luaL_addlstring(b, s, (size_t)(e - s));
        } else if (isdigit((unsigned char)sign[1])) {
            push_capture(&c->m, sign[1] - '1', s, e);
            luaL_addvalue(b);
        } else {
            luaL_error(L, "invalid use of '%%' in replacement string");
        }
    }
    luaL_addlstring(b, text, (size_t)(end - text));
}

/* What the table or the function has for the match; false when it stays as it is. */
static bool add_value(struct call *c, luaL_Buffer *b, const char *s, const char *e)
{
    lua_State *L = c->m.L;
    if (lua_istable(L, 3)) {
        push_capture(&c->m, 0, s, e);
        lua_gettable(L, 3);
    } else {
        lua_pushvalue(L, 3);
        lua_call(L, push_captures(&c->m, s, e, true), 1);
    }
    bool replaces = lua_toboolean(L, -1);
    if (!replaces) {
        lua_pop(L, 1);
        luaL_addlstring(b, s, (size_t)(e - s));
    } else if (!lua_isstring(L, -1)) {
        luaL_error(L, "invalid replacement value (a %s)", luaL_typename(L, -1));
    } else {
        luaL_addvalue(b);
    }
    return replaces;
}

static int session_gsub(lua_State *L)
{
    struct call c;
    luaL_Buffer b;
    if (!read_call(L, &c)) return call_stock(L);
    int type = lua_type(L, 3);
    bool text = type == LUA_TSTRING || type == LUA_TNUMBER, changed = false;
    lua_Integer most = luaL_optinteger(L, 4, (lua_Integer)c.length + 1), n = 0;
    luaL_argexpected(L, text || type == LUA_TTABLE || type == LUA_TFUNCTION, 3, "string/function/table");
    take_anchor(&c);
    luaL_buffinit(L, &b);
    const char *s = c.m.subject, *last = NULL;
    while (n < most) {
        const char *e = match_anew(&c, s);
        if (e && e != last) {
            n++;
            if (text) add_text(&c, &b, s, e);
            if (text || add_value(&c, &b, s, e)) changed = true;
            s = last = e;
        } else if (s < c.m.subject_end) {
            luaL_addchar(&b, *s++);
        } else {
            break;
        }
        if (c.anchored) break;
    }
    if (changed) {
        luaL_addlstring(&b, s, (size_t)(c.m.subject_end - s));
        luaL_pushresult(&b);
    } else {
        lua_pushvalue(L, 1);
    }
    lua_pushinteger(L, n);
    return 2;
}

void lg_open_patterns(lua_State *L, double patience)
{
    static const luaL_Reg functions[] = {
        {"find", session_find}, {"match", session_match}, {"gmatch", session_gmatch}, {"gsub", session_gsub}};
    lua_getglobal(L, "string");
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        lua_getfield(L, -1, functions[i].name);
        lua_pushnumber(L, patience);
        lua_pushcclosure(L, functions[i].func, 2);
        lua_setfield(L, -2, functions[i].name);
    }
    lua_pop(L, 1);
}
