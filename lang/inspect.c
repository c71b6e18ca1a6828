/* What is known of the name at a position: signature and documentation, the source of Lua functions, the facts of
 * arrays, the value of everything else. */
#include "lang/stream.h"
#include "lang/session_state.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lang/apart.h"
#include "lang/card.h"
#include "lang/cuda.h"
#include "lang/lazy.h"
#include "lang/load.h"
#include "lang/lookup.h"
#include "lang/magic.h"

#define MAX_LINES 200 /* of a function's source */

/* The lines first..last of a text, and where they begin and end. */
static bool find_lines(const char *text, size_t length, int first, int last, const char **from, const char **to)
{
    const char *p = text, *end = text + length;
    for (int line = 1; line < first; line++) {
        p = memchr(p, '\n', (size_t)(end - p));
        if (!p++) return false;
    }
    *from = p;
    for (int line = first; line <= last && p < end; line++) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        *to = stop ? stop : end;
        p = stop ? stop + 1 : end;
    }
    return p > *from;
}

/* The comment lines right above a line, without their dashes. */
static void put_comment(struct lg_buffer *out, const char *text, size_t length, int line)
{
    int first = line;
    const char *from, *to;
    while (first > 1 && find_lines(text, length, first - 1, first - 1, &from, &to)) {
        while (from < to && (*from == ' ' || *from == '\t')) from++;
        if (to - from < 2 || memcmp(from, "--", 2) != 0) break;
        first--;
    }
    for (; first < line && find_lines(text, length, first, first, &from, &to); first++) {
        while (from < to && (*from == ' ' || *from == '\t' || *from == '-')) from++;
        lg_buffer_add(out, from, (size_t)(to - from));
        lg_buffer_puts(out, "\n");
    }
}

static void put_lua_function(lua_State *L, int idx, const char *name, int detail, struct lg_buffer *out)
{
    lua_Debug ar;
    char signature[256];
    const char *from, *to;
    size_t length = 0;
    lg_lua_signature(L, idx, name, signature, sizeof signature);
    lua_pushvalue(L, idx);
    lua_getinfo(L, ">S", &ar);
    lg_buffer_printf(out, "%s\n", signature);
    const char *text = lg_chunk_source(L, ar.source, &length);
    if (text) {
        lg_buffer_puts(out, "\n");
        size_t before = out->length;
        put_comment(out, text, length, ar.linedefined);
        if (out->length > before) lg_buffer_puts(out, "\n");
    }
    lg_buffer_printf(out, "Defined in %s, line %d.", ar.short_src, ar.linedefined);
    int last = ar.lastlinedefined < ar.linedefined + MAX_LINES ? ar.lastlinedefined : ar.linedefined + MAX_LINES;
    if (detail > 0 && text && find_lines(text, length, ar.linedefined, last, &from, &to)) {
        lg_buffer_puts(out, "\n\n");
        lg_buffer_add(out, from, (size_t)(to - from));
    }
    lua_pop(L, 1);
}

static void put_element(struct lg_buffer *out, const char *open, const char *from, const char *to, const char *close)
{
    lg_buffer_puts(out, open);
    lg_buffer_escape(out, from, (size_t)(to - from));
    lg_buffer_puts(out, close);
}

/* The same for notebooks, in the page's own fonts. */
static void put_row_html(const struct lg_function *row, struct lg_buffer *out)
{
    put_element(out, "<pre><b>", row->signature, row->signature + strlen(row->signature), "</b></pre>");
    for (const char *p = row->doc; *p;) {
        const char *end = p + strcspn(p, "\n");
        if (end > p) put_element(out, "<p>", p, end, "</p>");
        p = *end ? end + 1 : end;
    }
    if (row->example) put_element(out, "<pre>", row->example, row->example + strlen(row->example), "</pre>");
}

/* Signature, paragraphs of one line each, and the example, indented: who shows it breaks lines that are not indented at
 * words to fit. */
static void put_row(const struct lg_function *row, const struct lg_known *known)
{
    struct lg_buffer *out = known->text;
    put_row_html(row, known->html);
    lg_buffer_printf(out, "%s\n\n%s", row->signature, row->doc);
    if (!row->example) return;
    lg_buffer_puts(out, "\n\nExample:\n    ");
    for (const char *p = row->example; *p; p++) {
        lg_buffer_add(out, p, 1);
        if (*p == '\n') lg_buffer_puts(out, "    ");
    }
}

static int describe_array(lua_State *L)
{
    lua_getfield(L, 1, "describe");
    lua_pushvalue(L, 1);
    lua_call(L, 1, 1);
    luaL_tolstring(L, -1, NULL);
    return 1;
}

/* Count, mean and so on of the array at idx; nothing where there are none, as of complex numbers. */
static void put_statistics(lua_State *L, int idx, struct lg_buffer *out)
{
    idx = lua_absindex(L, idx);
    lua_pushcfunction(L, describe_array);
    lua_pushvalue(L, idx);
    if (lua_pcall(L, 1, 1, 0) == LUA_OK) {
        const char *text = lua_tostring(L, -1), *rows = strchr(text, '\n');
        lg_buffer_printf(out, "\n\nstatistics%s", rows ? rows : "");
    }
    lua_pop(L, 1);
}

/* The facts of an array, then its elements as they print; with detail its statistics, too, for which it is computed. */
static void put_array(lua_State *L, int idx, int detail, struct lg_buffer *out)
{
    const struct rt_array *a = lg_test_array(L, idx);
    char shape[256], size[32];
    if (!a->storage) {
        lg_buffer_puts(out, "array, freed");
        return;
    }
    const struct rt_dtype_info *t = &rt_dtypes[a->dtype];
    lg_buffer_printf(out, "array\n\ndtype   %s\nshape   %s\ndevice  %s\nbytes   %s", t->name,
                     rt_shape_text(a->ndim, a->shape, shape, sizeof shape), rt_array_device(a)->name,
                     rt_size_text((double)rt_array_size(a) * t->size, size));
    if (!rt_array_contiguous(a)) lg_buffer_puts(out, " (a strided view)");
    if (lg_is_beside(L)) {
        lg_buffer_puts(out, "\n\nits elements can be looked at when the call that runs is over");
        return;
    }
    if (detail > 0) put_statistics(L, idx, out);
    if (lg_waits(a)) { /* looking at a name computes nothing */
        lg_buffer_puts(out, "\n\nnot evaluated yet");
        return;
    }
    lg_push_array_text(L, a);
    lg_buffer_printf(out, "\n\n%s", lua_tostring(L, -1));
    lua_pop(L, 1);
}

/* Whether printing the value would call a function of the user's. */
static bool runs_user_code(lua_State *L, int idx)
{
    if (luaL_getmetafield(L, idx, "__tostring") == LUA_TNIL) return false;
    bool lua = !lua_iscfunction(L, -1);
    lua_pop(L, 1);
    return lua;
}

/* What the kernel prints as, how it is called, and the source that it came from. */
static void put_kernel(lua_State *L, int idx, const struct lg_known *known)
{
    struct lg_buffer *out = known->text;
    char launches[200];
    idx = lua_absindex(L, idx);
    const struct lg_kernel *k = lua_touserdata(L, idx);
    lua_getfield(L, idx, "signature");
    lg_push_kernel_html(L, k, lua_tostring(L, -1));
    lg_buffer_puts(known->html, lua_tostring(L, -1));
    lua_pop(L, 2);
    lg_launches_text(k, launches, sizeof launches);
    lg_push_value_text(L, idx);
    lua_getfield(L, idx, "max_threads");
    lua_getfield(L, idx, "shared");
    lua_getfield(L, idx, "source");
    lua_getfield(L, idx, "name");
    const char *source = lua_tostring(L, -2), *name = lua_tostring(L, -1);
    lg_buffer_printf(out, "%s, %d bytes of shared memory, blocks of up to %d threads\n\n", lua_tostring(L, -5),
                     (int)lua_tointeger(L, -3), (int)lua_tointeger(L, -4));
    lg_buffer_printf(out, "%s(grid, block)(...) or %s:forall(n)(...) launches it. Launches: %s.\n\nSource:", name, name,
                     launches);
    for (const char *p = source ? source : ""; *p;) {
        size_t n = strcspn(p, "\n");
        lg_buffer_puts(out, "\n    ");
        lg_buffer_add(out, p, n);
        p += n + (p[n] == '\n');
    }
    lua_pop(L, 5);
}

static void put_value(lua_State *L, int idx, const char *name, const struct lg_known *known)
{
    struct lg_buffer *out = known->text;
    char note[256];
    const struct lg_function *row = lg_doc_of_value(L, idx);
    const struct rt_array *a = lg_test_array(L, idx);
    if (row) {
        put_row(row, known);
    } else if (a) {
        put_array(L, idx, known->detail, out);
    } else if (luaL_testudata(L, idx, LG_KERNEL)) {
        put_kernel(L, idx, known);
    } else if (lua_isfunction(L, idx) && !lua_iscfunction(L, idx)) {
        put_lua_function(L, idx, name, known->detail, out);
    } else {
        const char *kind = lg_describe(L, idx, note, sizeof note);
        lg_buffer_puts(out, kind);
        const char *noted;
        if (lg_push_noted(L, idx, &noted)) {
            lg_buffer_printf(
                out, "\n\n%s\n\nas it was when the cell began; more can be said when the call that runs is over",
                lua_tostring(L, -1));
            lua_pop(L, 1);
        } else if (lua_isfunction(L, idx)) {
            lg_buffer_puts(out, ", written in C and without documentation");
        } else if (!runs_user_code(L, idx)) {
            lg_push_value_text(L, idx);
            lg_buffer_printf(out, "\n\n%s", lua_tostring(L, -1));
            lua_pop(L, 1);
        }
    }
}

static bool put_magic(const char *text, size_t length, struct lg_buffer *out)
{
    while (length && *text == '%') text++, length--;
    const struct lg_magic *m = lg_magic_find(text, length);
    if (m) lg_buffer_printf(out, "%s\n\n%s", m->usage, m->doc);
    return m != NULL;
}

/* A documented name that is no value: "array.sum", or a word such as "sum". */
static bool put_documented(lua_State *L, const char *name, const struct lg_known *known)
{
    const struct lg_function *word = lg_doc_by_word(L, name);
    if (word) {
        put_row(word, known);
        return true;
    }
    for (const struct lg_function *row = lg_stdlib; row->name; row++) { /* file.read */
        if (strcmp(row->name, name) != 0) continue;
        put_row(row, known);
        return true;
    }
    return false;
}

/* The row of an object's method or field by the kind of object, for fields that are no functions. */
static const struct lg_function *field_row(lua_State *L, int idx, const char *field)
{
    char name[128];
    const char *scope = lg_test_array(L, idx)               ? "array"
                        : luaL_testudata(L, idx, LG_KERNEL) ? "kernel"
                        : luaL_testudata(L, idx, LG_DEVICE) ? "device"
                        : lg_test_texture(L, idx)           ? "texture"
                        : luaL_testudata(L, idx, LG_STREAM) ? "stream"
                        : luaL_testudata(L, idx, LG_EVENT)  ? "event"
                        : luaL_testudata(L, idx, LG_GRAPH)  ? "graph"
                                                            : NULL;
    if (!scope) return NULL;
    snprintf(name, sizeof name, "%s.%s", scope, field);
    return lg_doc_by_name(L, name);
}

/* The table at the top, where it is a module of gpu: its functions, each with what it does. */
static bool put_module(lua_State *L, const char *name, struct lg_buffer *out)
{
    if (!lua_istable(L, -1) || strncmp(name, "gpu.", 4) != 0 || !lg_push_found(L, name)) return false;
    const char *text = lua_tostring(L, -1);
    bool module = strncmp(text, "functions of ", 13) == 0;
    if (module) lg_buffer_puts(out, text);
    lua_pop(L, 1);
    return module;
}

static bool put_chain(lua_State *L, const struct lg_tokens *t, size_t first, size_t end, const struct lg_known *known)
{
    const struct lg_token *last = &t->items[end - 1];
    int top = lua_gettop(L);
    const char *name = lua_pushlstring(L, t->text + last->start, last->end - last->start);
    if (end - first > 2 && lg_push_chain(L, t, first, end - 2)) {
        const struct lg_function *row = field_row(L, -1, name);
        if (row) {
            put_row(row, known);
            lua_settop(L, top);
            return true;
        }
    }
    const char *whole = lua_pushlstring(L, t->text + t->items[first].start, last->end - t->items[first].start);
    const struct lg_function *row = lg_doc_by_name(L, lua_pushfstring(L, "session.%s", whole));
    bool found = row || lg_push_chain(L, t, first, end);
    if (row)
        put_row(row, known);
    else if (found && put_module(L, whole, known->text))
        found = true;
    else if (found)
        put_value(L, lua_gettop(L), whole, known);
    else
        found = put_documented(L, whole, known);
    lua_settop(L, top);
    return found;
}

/* From the parenthesis of k(1, 32)(...) back to that of k(...), whose results are called: a launch's arguments belong
 * to the kernel k. */
static size_t before_calls(const struct lg_tokens *t, size_t open)
{
    while (open > 0 && open < t->count && lg_is_sign(t, open - 1, ")")) {
        size_t i = open - 1;
        for (int depth = 1; depth > 0;) {
            if (i == 0) return open;
            i--;
            depth += lg_is_sign(t, i, ")") - lg_is_sign(t, i, "(");
        }
        open = i;
    }
    return open;
}

/* A word of CUDA C inside a string or a cell of %%cuda: one that has a signature or a type. */
static bool put_cuda_word(const char *code, size_t from, size_t to, size_t cursor, struct lg_buffer *out)
{
    while (cursor > from && cursor <= to && (code[cursor - 1] == '_' || isalnum((unsigned char)code[cursor - 1])))
        cursor--;
    struct lg_cuda_token t;
    if (cursor < from || !lg_cuda_next(code, to, cursor, &t) || t.kind != LG_CUDA_WORD) return false;
    const struct lg_cuda_word *word = lg_cuda_find(code + t.start, t.end - t.start);
    if (!word || !*word->note) return false;
    if (*word->kind != 'f') lg_buffer_printf(out, "%s, ", word->name);
    lg_buffer_printf(out, "%s\n\n%s%sof CUDA C", word->note, word->does, *word->does ? "\n\n" : "");
    return true;
}

bool lg_inspect_text(lua_State *L, const char *code, size_t length, size_t cursor, const struct lg_known *known)
{
    if (cursor > length) cursor = length;
    const size_t blanks = lg_blanks_before_magic(code, length), first_line = blanks + strcspn(code + blanks, "\n");
    if (length - blanks > 6 && memcmp(code + blanks, "%%cuda", 6) == 0 && cursor > first_line)
        return put_cuda_word(code, first_line, length, cursor, known->text);
    if (length && *code == '%' && put_magic(code, strcspn(code, " \t\r\n"), known->text)) return true;
    struct lg_buffer *keeper = lg_push_buffer(L); /* the tokens, released by Lua */
    struct lg_tokens t;
    lg_tokens_fill(&t, code, length);
    keeper->data = (char *)t.items;
    if (t.failed) return luaL_error(L, "not enough memory");
    size_t end = 0; /* behind the token at the cursor, or the one that ends there */
    while (end < t.count && t.items[end].start < cursor + (t.items[end].kind == LG_TOKEN_NAME)) end++;
    if (end > 0 && t.items[end - 1].kind == LG_TOKEN_STRING && t.items[end - 1].is_long &&
        t.items[end - 1].end >= cursor &&
        put_cuda_word(code, t.items[end - 1].start, t.items[end - 1].end, cursor, known->text))
        return true;
    size_t names[2] = {end, before_calls(&t, lg_open_call(&t, end))};
    /* The name at the cursor; else the function among whose arguments the cursor is. */
    for (int i = 0; i < 2; i++) {
        size_t stop = names[i];
        if (stop == 0 || (i == 1 && stop == end) || t.items[stop - 1].kind != LG_TOKEN_NAME) continue;
        if (i == 0 && t.items[stop - 1].end < cursor) continue;
        size_t first = lg_chain_start(&t, stop);
        if (first < stop && put_chain(L, &t, first, stop, known)) return true;
    }
    return false;
}

struct inspecting {
    struct lg_session *session;
    const char *code;
    size_t length, cursor;
    int detail;
    struct lg_bundle *out;
};

static int inspect(lua_State *L)
{
    struct inspecting *i = lua_touserdata(L, 1);
    struct lg_buffer *text = lg_push_buffer(L), *html = lg_push_buffer(L);
    const struct lg_known known = {text, html, i->detail};
    if (!lg_inspect_text(L, i->code, i->length, i->cursor, &known) || !text->length) return 0;
    struct lg_arena *arena = &i->session->answers;
    struct lg_mime *forms = lg_arena_get(arena, 2 * sizeof *forms);
    const char *kept = forms ? lg_arena_text(arena, text->data, text->length) : NULL;
    const char *kept_html = forms && html->length ? lg_arena_text(arena, html->data, html->length) : NULL;
    if (!kept) return 0;
    forms[0] = (struct lg_mime){"text/plain", kept, text->length};
    if (kept_html) forms[1] = (struct lg_mime){"text/html", kept_html, html->length};
    *i->out = (struct lg_bundle){forms, kept_html ? 2 : 1};
    return 0;
}

bool lg_session_inspect(struct lg_session *s, const char *code, size_t length, size_t cursor, int detail,
                        struct lg_bundle *out)
{
    *out = (struct lg_bundle){NULL, 0};
    lg_arena_reset(&s->answers);
    struct inspecting i = {s, code, length, cursor, detail, out};
    return lg_protect(s, inspect, &i) && out->count > 0;
}
