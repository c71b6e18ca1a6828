/* What earlier cells are good for: %history, %save, %edit, and the table In. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lang/magic.h"

/* Numbers of cells: "3", "2-5", "7-", several of them; none: all. */
struct ranges {
    const char *text; /* checked */
};

/* One range from the text; NULL when there is none at its beginning. */
static const char *read_range(const char *p, long *first, long *last)
{
    char *end;
    if (!isdigit((unsigned char)*p)) return NULL;
    *first = *last = strtol(p, &end, 10);
    if (*end == '-') {
        const char *behind = end + 1;
        *last = strtol(behind, &end, 10);
        if (end == behind) *last = LONG_MAX;
    }
    return *end && !strchr(" \t,", *end) ? NULL : end;
}

static struct ranges check_ranges(struct lg_magic_call *call, const char *text)
{
    long first, last;
    for (const char *p = text; *(p += strspn(p, " \t,"));) {
        const char *next = read_range(p, &first, &last);
        if (!next)
            luaL_error(call->L, "cells are named by their numbers, as in 3 or 2-5 or 7-, not by '%s'",
                       lua_pushlstring(call->L, p, strcspn(p, " \t,")));
        p = next;
    }
    return (struct ranges){text};
}

static bool is_in(struct ranges r, int line)
{
    long first, last;
    const char *p = r.text + strspn(r.text, " \t,");
    if (!*p) return true;
    while (p && *(p += strspn(p, " \t,"))) {
        p = read_range(p, &first, &last);
        if (p && line >= first && line <= last) return true;
    }
    return false;
}

/* The options before the rest: each of `known` that is there, in the order of the letters, sets its bit. */
static unsigned take_options(struct lg_magic_call *call, const char *known)
{
    unsigned taken = 0;
    const char *p = call->rest;
    while (*p == '-' && isalpha((unsigned char)p[1])) {
        const char *letter = strchr(known, p[1]);
        if (!letter || (p[2] && !strchr(" \t", p[2])))
            luaL_error(call->L, "there is no option %s", lua_pushlstring(call->L, p, strcspn(p, " \t")));
        taken |= 1u << (letter - known);
        p += 2 + strspn(p + 2, " \t");
    }
    call->rest = p;
    return taken;
}

/* The cell behind its number; its further lines stand below its first. */
static void add_numbered(struct lg_buffer *b, const struct lg_history_entry *e)
{
    char number[48];
    int indent = e->session ? snprintf(number, sizeof number, "%ld/%d: ", e->session, e->line)
                            : snprintf(number, sizeof number, "%4d: ", e->line);
    lg_buffer_puts(b, number);
    for (const char *line = e->code;; line++) {
        size_t n = strcspn(line, "\n");
        lg_buffer_add(b, line, n);
        lg_buffer_puts(b, "\n");
        line += n;
        if (!*line) break;
        lg_buffer_printf(b, "%*s", line[1] == '\n' ? 0 : indent, "");
    }
}

int lg_magic_history(struct lg_magic_call *call)
{
    struct lg_buffer *b = lg_push_buffer(call->L);
    struct lg_history_entry e;
    bool search = take_options(call, "g") != 0;
    struct ranges wanted = search ? (struct ranges){""} : check_ranges(call, call->rest);
    size_t count = lg_history_count(call->session);
    if (search && !*call->rest) return luaL_error(call->L, "%%history -g needs the text to look for");
    for (size_t i = 0; i < count; i++) {
        if (!lg_history_get(call->session, i, &e)) continue;
        if (search ? !strstr(e.code, call->rest) : e.session != 0 || !is_in(wanted, e.line)) continue;
        add_numbered(b, &e);
    }
    lg_push_buffer_text(call->L, b);
    lg_page(call->L, call->session, lua_tostring(call->L, -1), b->length);
    return 0;
}

/* The file's name, without the ranges behind it, which are returned. */
static const char *split_name(struct lg_magic_call *call, const char **name)
{
    size_t n = strcspn(call->rest, " \t");
    *name = lua_pushlstring(call->L, call->rest, n);
    return call->rest + n;
}

/* The cells but this one, each after a mark: a script that is a notebook, too. */
int lg_magic_save(struct lg_magic_call *call)
{
    enum { FORCE = 1, APPEND = 2 };
    lua_State *L = call->L;
    const char *path;
    struct lg_history_entry e;
    unsigned options = take_options(call, "fa");
    if (!*call->rest) return luaL_error(L, "%%save needs the name of a file; ?%%save tells more");
    struct ranges wanted = check_ranges(call, split_name(call, &path));
    if (!options && access(path, F_OK) == 0)
        return luaL_error(L, "%s is there already: %%save -f replaces it, %%save -a adds to it", path);
    FILE *f = fopen(path, options & APPEND ? "a" : "w");
    int cells = 0;
    bool good = f != NULL;
    for (size_t i = 0; good && i < lg_history_count(call->session); i++) {
        if (!lg_history_get(call->session, i, &e) || e.session != 0 || e.line == call->session->count) continue;
        if (!is_in(wanted, e.line)) continue;
        good = fprintf(f, "%s-- %%%%\n%s\n", cells || options & APPEND ? "\n" : "", e.code) > 0;
        cells++;
    }
    if (f && fclose(f) != 0) good = false;
    if (!good) return luaL_error(L, "cannot write %s: %s", path, strerror(errno));
    lua_pushfstring(L, "%s %d cell%s to %s\n", options & APPEND ? "Added" : "Wrote", cells, cells == 1 ? "" : "s",
                    path);
    lg_output(call->session, LG_STDOUT, lua_tostring(L, -1), lua_rawlen(L, -1));
    return 0;
}

/* The cell of that number of this session: its last one when there are several. NULL when there is none. */
static const char *cell_at(struct lg_session *s, int line)
{
    struct lg_history_entry e;
    for (size_t i = lg_history_count(s); i-- > 0;) {
        if (!lg_history_get(s, i, &e) || e.session != 0) return NULL;
        if (e.line == line) return e.code;
    }
    return NULL;
}

int lg_magic_edit(struct lg_magic_call *call)
{
    lua_State *L = call->L;
    struct lg_session *s = call->session;
    char *end;
    long n = strtol(call->rest, &end, 10);
    if (!s->sink.edit)
        return luaL_error(
            L, "%%edit opens an editor in a terminal, and this is none; in a notebook cells are edited in place");
    if (*end)
        return luaL_error(L, "%%edit takes the number of a cell, not '%s'; without one it is the last", call->rest);
    const char *code = "";
    if (*call->rest) {
        code = n > 0 && n < s->count    ? cell_at(s, (int)n)
               : n < 0 && n > -s->count ? cell_at(s, s->count + (int)n)
                                        : NULL;
        if (!code) return luaL_error(L, "there is no cell %d; %%history lists them", (int)n);
    } else {
        for (int i = s->count - 1; i > 0; i--) {
            const char *c = cell_at(s, i);
            if (!c || strncmp(c, "%edit", 5) == 0) continue;
            code = c;
            break;
        }
    }
    s->sink.edit(s->sink.context, code, strlen(code));
    return 0;
}

/* ---- In ---- */

static int in_index(lua_State *L)
{
    struct lg_session *s = lg_session_of(L);
    lua_Integer n = lua_isinteger(L, 2) ? lua_tointeger(L, 2) : 0;
    if (n < 0 && n > -s->count) n += s->count;
    lua_pushstring(L, n > 0 && n <= s->count ? cell_at(s, (int)n) : NULL);
    return 1;
}

static int in_length(lua_State *L)
{
    lua_pushinteger(L, lg_session_of(L)->count);
    return 1;
}

static int in_assign(lua_State *L)
{
    return luaL_error(L, "In holds the texts of earlier cells, which do not change");
}

static const struct lg_function in_row = {
    "In", NULL, "In[n]", "The text of cell n of this session; In[-1] is that of the cell before this one.",
    "assert(In[#In] == nil or type(In[#In]) == 'string')"};

void lg_open_history(lua_State *L)
{
    static const luaL_Reg methods[] = {
        {"__index", in_index}, {"__len", in_length}, {"__newindex", in_assign}, {NULL, NULL}};
    lua_newtable(L);
    luaL_newlib(L, methods);
    lua_setmetatable(L, -2);
    lua_setglobal(L, "In");
    lg_document(L, "session", &in_row);
}
