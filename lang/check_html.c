/* The list that gpu.check(f) gives, as text and in a notebook: what was found, with the lines of source that it is
 * about. */
#include <stdio.h>
#include <string.h>
#include "lang/buffer.h"
#include "lang/check.h"
#include "lang/cuda.h"
#include "lang/fold.h"
#include "lang/session_state.h"

/* Its colour is seen on dark and on light pages. */
#define CARD                                                                                                            \
    "<div class=\"lunarray\" style=\"color:inherit;border-left:3px solid rgb(226,74,51);padding:2px 10px;margin:6px 0;" \
    "overflow-x:auto\"><div><b>"

/* Pushes a report with its sentences broken at words; lines of source stay. */
static void push_folded(lua_State *L, const char *text, int columns)
{
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    for (size_t n; *text; text += n) {
        n = strcspn(text, "\n");
        size_t bar = strspn(text, " 0123456789");
        if (text[bar] == '|')
            luaL_addlstring(&b, text, n);
        else
            lg_add_folded(&b, text, n, 0, 4, columns);
        if (!text[n]) break;
        luaL_addchar(&b, '\n');
        n++;
    }
    luaL_pushresult(&b);
}

static int findings_tostring(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    struct lg_buffer *b = lg_push_buffer(L);
    int columns = lg_columns(L);
    for (lua_Integer i = 1; lua_rawgeti(L, 1, i) == LUA_TTABLE; i++) {
        lua_getfield(L, -1, "text");
        const char *text = lua_tostring(L, -1);
        push_folded(L, text ? text : "?", columns);
        lg_buffer_printf(b, "%s%s", i > 1 ? "\n" : "", lua_tostring(L, -1));
        lua_settop(L, 2);
    }
    if (!b->length) lg_buffer_puts(b, "nothing was found");
    lg_push_buffer_text(L, b);
    return 1;
}

/* The text of a field of the table at idx, "" when it has none; it stays on the stack. */
static const char *field(lua_State *L, int idx, const char *name)
{
    lua_getfield(L, idx, name);
    const char *text = lua_tostring(L, -1);
    return text ? text : "";
}

/* What a finding says, read before the text is put together: a luaL_Buffer wants the stack as it left it. */
struct finding {
    const char *kind, *message, *kernel, *hint, *text;
    const char *file[2], *source[2], *access[2];
    lua_Integer line[2];
    long long count;
};

static void read_party(lua_State *L, int idx, struct finding *f, int which)
{
    f->file[which] = field(L, idx, "file");
    f->source[which] = field(L, idx, "source");
    f->access[which] = field(L, idx, "access");
    lua_getfield(L, idx, "line");
    f->line[which] = lua_tointeger(L, -1);
}

static void read_finding(lua_State *L, int idx, struct finding *f)
{
    *f = (struct finding){.source = {"", ""}};
    luaL_checkstack(L, 24, NULL);
    f->kind = field(L, idx, "kind");
    f->message = field(L, idx, "message");
    f->kernel = field(L, idx, "kernel");
    f->hint = field(L, idx, "hint");
    f->text = field(L, idx, "text");
    lua_getfield(L, idx, "count");
    f->count = lua_tointeger(L, -1);
    read_party(L, idx, f, 0);
    if (lua_getfield(L, idx, "other") == LUA_TTABLE) read_party(L, lua_gettop(L), f, 1);
}

static void add_source(luaL_Buffer *b, const struct finding *f)
{
    char number[64];
    if (!*f->source[0]) return;
    luaL_addstring(b, "<pre style=\"color:inherit;background:none;margin:2px 0\">");
    for (int i = 0; i < 2; i++) {
        if (!*f->source[i] || (i == 1 && f->line[1] == f->line[0])) continue;
        luaL_addstring(b, "<span style=\"opacity:.6\">");
        lg_add_html_text(b, f->file[i]);
        snprintf(number, sizeof number, "%s%lld | </span>", *f->file[i] ? ":" : "", (long long)f->line[i]);
        luaL_addstring(b, number);
        lg_add_cuda_html(b, f->source[i], strlen(f->source[i]));
        if (*f->access[i]) luaL_addstring(b, "<span style=\"opacity:.6\">    // ");
        lg_add_html_text(b, f->access[i]);
        luaL_addstring(b, *f->access[i] ? "</span>\n" : "\n");
    }
    luaL_addstring(b, "</pre>");
}

/* The kernel with the block and thread, as the finding's text has them. */
static void add_where(luaL_Buffer *b, const struct finding *f)
{
    static const char line[] = "\n  in kernel ";
    const char *where = strstr(f->text, line);
    if (where)
        lg_add_html(b, where + strlen(line), strcspn(where + strlen(line), "\n"));
    else
        lg_add_html_text(b, f->kernel);
}

/* Pushes the card of the finding at idx. */
static void push_finding(lua_State *L, int idx)
{
    char text[64];
    struct finding f;
    luaL_Buffer b;
    int top = lua_gettop(L);
    read_finding(L, idx, &f);
    luaL_buffinit(L, &b);
    luaL_addstring(&b, CARD);
    lg_add_html_text(&b, f.kind);
    luaL_addstring(&b, "</b>: ");
    lg_add_html_text(&b, f.message);
    luaL_addstring(&b, "</div>");
    add_source(&b, &f);
    if (*f.kernel) {
        luaL_addstring(&b, "<div style=\"opacity:.7\">in kernel ");
        add_where(&b, &f);
        snprintf(text, sizeof text, ", %lld time%s</div>", f.count, f.count == 1 ? "" : "s");
        luaL_addstring(&b, text);
    }
    if (*f.hint) {
        luaL_addstring(&b, "<div>hint: ");
        lg_add_html_text(&b, f.hint);
        luaL_addstring(&b, "</div>");
    }
    luaL_addstring(&b, "</div>");
    luaL_pushresult(&b);
    lua_replace(L, top + 1);
    lua_settop(L, top + 1);
}

static int findings_display(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    lua_createtable(L, 0, 1);
    struct lg_buffer *b = lg_push_buffer(L);
    for (lua_Integer i = 1; lua_rawgeti(L, 1, i) == LUA_TTABLE; i++) {
        push_finding(L, 4);
        lg_buffer_puts(b, lua_tostring(L, -1));
        lua_settop(L, 3);
    }
    if (!b->length) lg_buffer_puts(b, "<div class=\"lunarray\">nothing was found</div>");
    lg_push_buffer_text(L, b);
    lua_setfield(L, 2, "text/html");
    lua_settop(L, 2);
    return 1;
}

void lg_set_findings(lua_State *L)
{
    if (luaL_newmetatable(L, "lunarray.findings")) {
        lua_pushcfunction(L, findings_tostring);
        lua_setfield(L, -2, "__tostring");
        lua_pushcfunction(L, findings_display);
        lua_setfield(L, -2, "__display");
    }
    lua_setmetatable(L, -2);
}
