/* From a Lua error to the report that users read. The message handler notes the calls while they are still on the
 * stack, in C memory, since the error may be that Lua has none left; the rest happens after the stack is unwound. */
#include "lang/debugger_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lang/array.h"

/* The stack may be very deep. */
int lg_last_level(lua_State *L)
{
    lua_Debug ar;
    int low = 1, high = 1;
    while (lua_getstack(L, high, &ar)) {
        low = high;
        high *= 2;
    }
    while (low < high) {
        int middle = (low + high) / 2;
        if (lua_getstack(L, middle, &ar)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return high - 1;
}

static void describe_function(const lua_Debug *ar, char *out, size_t size)
{
    if (*ar->what == 'm') {
        snprintf(out, size, "in the %s", strncmp(ar->source, "=cell", 5) == 0 ? "cell" : "main chunk");
    } else if (*ar->namewhat && strcmp(ar->name, "?") != 0) {
        snprintf(out, size, "in %s '%s'", strcmp(ar->namewhat, "method") == 0 ? "method" : "function", ar->name);
    } else {
        snprintf(out, size, "in the function at line %d", ar->linedefined);
    }
}

/* Notes one call; functions written in C are left out. */
static void note_frame(struct lg_session *s, lua_State *L, lua_Debug *ar)
{
    if (!lua_getinfo(L, "Slnt", ar) || *ar->what == 'C') return;
    char what[160], line[320];
    describe_function(ar, what, sizeof what);
    int n = snprintf(line, sizeof line, "  %s:%d: %s%s", ar->short_src, ar->currentline, what,
                     ar->istailcall ? " (after tail calls)" : "");
    if (!s->frame_line && strcmp(ar->source, s->chunk) == 0) s->frame_line = ar->currentline;
    /* The code of a %time is a chunk of its own within the cell's. */
    bool again = *ar->what == 'm' && s->frame_count && strcmp(s->frames[s->frame_count - 1], line) == 0;
    const char *kept =
        again ? NULL : lg_arena_text(&s->answers, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
    if (kept && s->frame_count <= LG_TRACE_FRAMES) s->frames[s->frame_count++] = kept;
}

/* Pushes the text of an error at the top with a word on x:size() or x.size(), which Lua says calls a number. */
static void add_field_hint(lua_State *L)
{
    static const char *const kinds[] = {"number value (method '", "number value (field '", "string value (method '",
                                        "string value (field '",  "shape value (method '", "shape value (field '"};
    const char *text = lua_tostring(L, -1), *at = text ? strstr(text, "attempt to call a ") : NULL, *name = NULL;
    for (size_t i = 0; at && !name && i < sizeof kinds / sizeof *kinds; i++)
        if ((name = strstr(at, kinds[i]))) name += strlen(kinds[i]);
    if (!name) return;
    size_t length = strcspn(name, "'");
    bool of_array = lg_is_array_field(name, length), of_device = !of_array && lg_is_device_field(name, length);
    if (!of_array && !of_device) return;
    lua_pushlstring(L, name, length);
    const bool size = strcmp(lua_tostring(L, -1), "size") == 0; /* Torch's x:size(1) */
    lua_pushfstring(L, "%s; %s has it as a field, x.%s%s", text, of_array ? "an array" : "a device",
                    lua_tostring(L, -1), size ? ", and that of an axis in x.shape[1]" : "");
}

/* As the handler of lua.c: <close> variables are given the message with the calls below it; an object that has a text
 * of its own is not told where it came from. */
static int plain_message(lua_State *L)
{
    if (lua_tostring(L, 1)) {
        lua_settop(L, 1);
        add_field_hint(L);
    } else if (luaL_callmeta(L, 1, "__tostring") && lua_type(L, -1) == LUA_TSTRING) {
        return 1;
    } else {
        lua_pushfstring(L, "(error object is a %s value)", luaL_typename(L, 1));
    }
    luaL_traceback(L, L, lua_tostring(L, -1), 1);
    return 1;
}

int lg_traceback_handler(lua_State *L)
{
    struct lg_session *s = lg_session_of(L);
    if (s->plain) return plain_message(L);
    s->frame_count = 0;
    s->frame_line = 0;
    int last = lg_last_level(L);
    lua_Debug ar;
    for (int level = 1; level <= last && lua_getstack(L, level, &ar); level++) {
        if (last > LG_TRACE_FRAMES && level == LG_TRACE_FRAMES / 2 + 1) {
            int skipped = last - LG_TRACE_FRAMES;
            char text[64];
            int n = snprintf(text, sizeof text, "  ... (%d more calls)", skipped);
            const char *kept = lg_arena_text(&s->answers, text, (size_t)n);
            if (kept) s->frames[s->frame_count++] = kept;
            level += skipped;
            if (!lua_getstack(L, level, &ar)) break;
        }
        note_frame(s, L, &ar);
    }
    lg_debug_failed(s, L);
    return 1;
}

/* The text of the error value: job is the session, index 2 the value. */
static int error_text(lua_State *L)
{
    struct lg_session *s = lua_touserdata(L, 1);
    switch (lg_status_of(L, 2)) {
    case RT_COMPILE:
    case RT_FAULT: s->error.name = "KernelError"; break;
    case RT_NOMEM: s->error.name = "OutOfMemory"; break;
    default: break;
    }
    size_t n;
    const char *text;
    if (lua_isnil(L, 2)) {
        lua_pushliteral(L, "nil (an error without a message)");
    } else if (lua_type(L, 2) != LUA_TSTRING && luaL_getmetafield(L, 2, "__tostring") == LUA_TNIL) {
        lg_push_value_text(L, 2);
    } else {
        lua_settop(L, 2);
        luaL_tolstring(L, 2, NULL);
        if (!s->plain) add_field_hint(L);
    }
    text = lua_tolstring(L, -1, &n);
    s->error.value = lg_arena_text(&s->answers, text, n);
    if (!s->error.value || atomic_load(&s->interrupted)) return 0;
    struct lg_buffer *excerpt = lg_push_buffer(L);
    if (s->plain)
        lg_add_hint(L, s->error.value, s->syntax, s->chunk, excerpt);
    else
        lg_add_excerpt(L, s->error.value, s->syntax, s->chunk, s->frame_line, excerpt);
    if (excerpt->length) s->excerpt = lg_arena_text(&s->answers, excerpt->data, excerpt->length);
    return 0;
}

/* The line that a message's position names, when that is in the chunk being evaluated; else 0. */
static int message_line(const struct lg_session *s, const char *message)
{
    const char *chunk = s->chunk + (*s->chunk == '=' || *s->chunk == '@');
    size_t n = strlen(chunk);
    return strncmp(message, chunk, n) == 0 && message[n] == ':' ? (int)strtol(message + n + 1, NULL, 10) : 0;
}

static const char *error_name(int status, bool syntax)
{
    if (syntax) return "SyntaxError";
    return status == LUA_ERRMEM ? "OutOfMemory" : "LuaError";
}

static size_t count_lines(const char *text)
{
    size_t lines = text != NULL;
    for (const char *p = text; p && *p; p++) lines += *p == '\n';
    return lines;
}

/* Adds the lines of the text, which may be NULL, and returns how many were added. */
static size_t add_lines(struct lg_session *s, const char *text, const char **to)
{
    size_t count = 0;
    for (const char *p = text, *end; p; p = end ? end + 1 : NULL) {
        end = strchr(p, '\n');
        const char *line = lg_arena_text(&s->answers, p, end ? (size_t)(end - p) : strlen(p));
        if (line) to[count++] = line;
    }
    return count;
}

/* The line of the calls below frame *i, of which those that are alike, of a function that calls itself, are one. */
static const char *next_call(struct lg_session *s, int *i)
{
    char line[400];
    const char *call = s->frames[--*i];
    int times = 1;
    for (; *i > 0 && strcmp(s->frames[*i - 1], call) == 0; --*i) times++;
    int n = snprintf(line, sizeof line, "%s (%d times)", call, times);
    const char *kept = times > 1 ? lg_arena_text(&s->answers, line, (size_t)n) : NULL;
    return kept ? kept : call;
}

static void fill_traceback(struct lg_session *s)
{
    size_t lines = count_lines(s->error.value) + count_lines(s->excerpt);
    const char **all = lg_arena_get(&s->answers, (lines + (size_t)s->frame_count) * sizeof *all);
    if (!all) return;
    s->error.message_count = add_lines(s, s->error.value, all);
    s->error.excerpt_count = add_lines(s, s->excerpt, all + s->error.message_count);
    size_t count = s->error.message_count + s->error.excerpt_count;
    for (int i = s->plain ? 0 : s->frame_count; i > 0;) all[count++] = next_call(s, &i);
    s->error.traceback = all;
    s->error.traceback_count = count;
}

/* io.lines raises what the system says of a read that an interrupt has ended. */
static bool is_cut_short(const char *message)
{
    const char *reason = strerror(EINTR);
    size_t n = strlen(message), m = strlen(reason);
    return n >= m && strcmp(message + n - m, reason) == 0;
}

/* Without Lua, which has no memory. */
static const char *memory_text(struct lg_session *s)
{
    char size[32], text[128];
    double held = 1024.0 * lua_gc(s->L, LUA_GCCOUNT);
    snprintf(text, sizeof text, "not enough memory: what variables hold takes %s; x = nil frees what x holds",
             rt_size_text(held, size));
    const char *copy = lg_arena_text(&s->answers, text, strlen(text));
    return copy ? copy : "not enough memory";
}

void lg_report_error(struct lg_session *s, int status, bool syntax)
{
    lua_State *L = s->L;
    syntax |= s->bad_code;
    s->error = (struct lg_error){.name = error_name(status, syntax), .plain = s->plain};
    s->excerpt = NULL;
    s->syntax = syntax;
    if (status == LUA_ERRMEM) {
        s->error.value = s->plain ? "not enough memory" : memory_text(s);
    } else if (lua_checkstack(L, 4)) {
        lua_pushcfunction(L, error_text);
        lua_pushlightuserdata(L, s);
        lua_pushvalue(L, -3);
        if (lua_pcall(L, 2, 0, 0) != LUA_OK) lua_pop(L, 1);
    }
    if (atomic_load(&s->interrupted)) {
        s->error.name = "Interrupted";
        if (!s->plain && s->error.value && is_cut_short(s->error.value)) s->error.value = "interrupted";
    }
    if (!s->error.value) s->error.value = "an error whose message could not be made";
    s->error.line = message_line(s, s->error.value);
    if (!s->error.line) s->error.line = s->frame_line;
    fill_traceback(s);
}
