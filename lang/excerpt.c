/* The line of source that an error is about, with a caret below it. Lua tells the line; the place in it is that of the
 * name or token that the message quotes. */
#include <stdio.h>
#include <string.h>
#include "lang/hint.h"
#include "lang/lexer.h"
#include "lang/lookup.h"
#include "lang/session_state.h"
#include "runtime/excerpt.h"
#include "runtime/foreign.h"
#include "runtime/spelling.h"

#define MOST_BYTES 1000 /* of a line that is shown; of a longer one only the number */

struct excerpt {
    char chunk[LG_CHUNK];           /* the name that its source is known by */
    int line;                       /* of the chunk, from 1 */
    const char *source, *from, *to; /* the chunk's text; the line without its indentation */
    size_t length;
    const char *mark; /* what the caret is below, and how much */
    size_t width;
    bool found; /* the mark is below what the message names, not below all of the line */
};

/* Whether the chunk goes by the name, of which Lua shows the end when it is long. */
static bool goes_by(const char *chunk, const char *name, size_t n)
{
    size_t length = strlen(chunk);
    bool cut = n > 3 && strncmp(name, "...", 3) == 0;
    if (cut) name += 3, n -= 3;
    return length > n && (cut || length == n + 1) && memcmp(chunk + length - n, name, n) == 0;
}

/* "cell 3:2: what happened" names a line of a cell, "file.lua:2: ..." one of a file, "stdin:2: ..." of a chunk that is
 * read from there. */
static bool read_position(const char *message, struct excerpt *x)
{
    const char *colon = strchr(message, ':');
    int used = 0, line;
    if (!colon || sscanf(colon, ":%d:%n", &line, &used) != 1 || !used || strchr("\n ", colon[1])) return false;
    bool cell = strncmp(message, "cell ", 5) == 0, known = goes_by(x->chunk, message, (size_t)(colon - message));
    bool file = colon - message >= 5 && memcmp(colon - 4, ".lua", 4) == 0;
    if (!known && (colon - message > 80 || (!cell && !file))) return false;
    x->line = line;
    if (!known) snprintf(x->chunk, sizeof x->chunk, "%c%.*s", cell ? '=' : '@', (int)(colon - message), message);
    return true;
}

static bool find_line(struct excerpt *x)
{
    const char *p = x->source, *end = p + x->length;
    for (int line = 1; line < x->line; line++) {
        p = memchr(p, '\n', (size_t)(end - p));
        if (!p++) return false;
    }
    const char *stop = memchr(p, '\n', (size_t)(end - p));
    x->from = p;
    x->to = stop ? stop : end;
    while (x->from < x->to && strchr(" \t", *x->from)) x->from++;
    while (x->to > x->from && strchr(" \t\r", x->to[-1])) x->to--;
    return x->to > x->from && x->to - x->from <= MOST_BYTES;
}

/* Where the text stands in the line from `p` on, as a word when it is one. */
static const char *find_text(const struct excerpt *x, const char *p, const char *text, size_t n)
{
    for (; p + n <= x->to; p++) {
        if (memcmp(p, text, n) != 0) continue;
        bool starts = !rt_in_name(*text) || p == x->from || !rt_in_name(p[-1]);
        bool ends = !rt_in_name(text[n - 1]) || p + n == x->to || !rt_in_name(p[n]);
        if (starts && ends) return p;
    }
    return NULL;
}

/* Whether what is written up to `end` fails to compile with the same message: then the error is there. Of the code of a
 * magic, which is not compiled with its cell, the first place is taken. */
static bool fails_alike(lua_State *L, const struct excerpt *x, const char *end, const char *message)
{
    struct lg_session *s = lg_session_of(L);
    if (s && s->bad_code) return true;
    const struct lg_source part = {x->source, (size_t)(end - x->source), x->chunk, 1};
    bool alike =
        lg_compile_cell(L, &part) == LUA_ERRSYNTAX && lua_isstring(L, -1) && !strcmp(lua_tostring(L, -1), message);
    lua_pop(L, 1);
    return alike;
}

/* The text in the last quotes of the message's first line. */
static const char *quoted(const char *message, bool syntax, size_t *n)
{
    const char *end = message + strcspn(message, "\n"),
               *open = syntax ? strstr(message, "near '") : strchr(message, '\'');
    if (!open || open >= end) return NULL;
    open += syntax ? 6 : 1;
    const char *close = syntax ? end - 1 : memchr(open, '\'', (size_t)(end - open));
    if (!close || close <= open || *close != '\'') return NULL;
    *n = (size_t)(close - open);
    return open;
}

/* "step: parameter 2 'n' (int) expects ...": which one; 0 in other messages. The name is one of the kernel's. */
static int parameter(const char *message)
{
    int number = 0, used = 0;
    const char *at = strstr(message, ": parameter ");
    if (!at || memchr(message, '\n', (size_t)(at - message))) return 0;
    return sscanf(at, ": parameter %d '%n", &number, &used) == 1 && used ? number : 0;
}

/* Marks that argument of the line's launch, k(grid, block)(arguments), where there is only one. */
static void mark_argument(struct excerpt *x, int number)
{
    struct lg_lexer l;
    struct lg_token t, before = {0};
    size_t from = 0, to = 0;
    int depth = 0, launches = 0, at = 0;
    lg_lexer_init(&l, x->from, (size_t)(x->to - x->from));
    for (; lg_lexer_code(&l, &t); before = t) {
        bool opens = lg_token_is(&l, &t, "(") || lg_token_is(&l, &t, "{") || lg_token_is(&l, &t, "[");
        bool closes = lg_token_is(&l, &t, ")") || lg_token_is(&l, &t, "}") || lg_token_is(&l, &t, "]");
        if (!at && lg_token_is(&l, &t, "(") && lg_token_is(&l, &before, ")")) {
            launches++;
            at = depth = 1;
            continue;
        }
        if (!at) continue;
        depth += opens - closes;
        if (depth == 0) {
            at = 0;
        } else if (depth == 1 && lg_token_is(&l, &t, ",")) {
            at++;
        } else if (at == number && launches == 1) {
            if (!to) from = t.start;
            to = t.end;
        }
    }
    if (launches != 1 || !to) return;
    x->mark = x->from + from;
    x->width = to - from;
}

/* The character of which the message names the first byte, near '<\226>'. */
static void mark_byte(lua_State *L, struct excerpt *x, const char *message, int byte)
{
    for (const char *p = x->from; p < x->to; p++) {
        if ((unsigned char)*p != byte || !fails_alike(L, x, p + 1, message)) continue;
        x->mark = p;
        x->width = rt_character_length(p, (size_t)(x->to - p));
        x->found = true;
        return;
    }
}

static void find_mark(lua_State *L, struct excerpt *x, const char *message, bool syntax)
{
    size_t n = 0;
    int number = syntax ? 0 : parameter(message);
    const char *text = number ? NULL : quoted(message, syntax, &n);
    x->mark = x->from;
    x->width = (size_t)(x->to - x->from);
    if (number) {
        mark_argument(x, number);
        return;
    }
    if (syntax && text && sscanf(text, "<\\%d>'", &number) == 1) {
        mark_byte(L, x, message, number);
        return;
    }
    if (syntax && strstr(message, "near <eof>")) {
        x->mark = x->to;
        x->width = 1;
    }
    if (!text && !syntax && strncmp(x->from, "error", 5) == 0) {
        x->width = 5;
        return;
    }
    for (const char *p = text ? find_text(x, x->from, text, n) : NULL; p; p = find_text(x, p + 1, text, n)) {
        if (syntax && !fails_alike(L, x, p + n, message)) continue;
        x->mark = p;
        x->width = n;
        x->found = true;
        return;
    }
}

static void write_excerpt(const struct excerpt *x, struct lg_buffer *b)
{
    char text[RT_EXCERPT_TEXT];
    const size_t length = (size_t)(x->to - x->from);
    lg_buffer_add(
        b, text, rt_write_excerpt(x->line, x->from, length, (int)(x->mark - x->from) + 1, x->width, text, sizeof text));
}

#define CELLS                                                                                                          \
    "a cell may end with a value, a script's line not: lunarray --check FILE runs a file of cells, --present shows it"

#define BEGINS "a magic with two % begins its cell: what stands above it goes into a cell of its own"

/* Whether the chunk is a file with cells, which begin with -- %%. */
static bool has_cells(const struct excerpt *x)
{
    static const char mark[] = "-- %%";
    for (const char *p = x->source; strncmp(x->chunk, "=cell", 5) != 0 && (p = strstr(p, mark)) != NULL; p++)
        if (p == x->source || p[-1] == '\n') return true;
    return false;
}

/* A line on what was probably meant. */
static void add_hint(lua_State *L, const struct excerpt *x, const char *message, bool syntax, struct lg_buffer *b)
{
    bool at_end = strstr(message, "near <eof>") != NULL;
    struct lg_place p = {at_end ? x->source : x->from, at_end ? x->length : (size_t)(x->to - x->from),
                         at_end || !x->found ? NULL : x->mark, x->source, x->length};
    const char *until = p.at ? p.at : x->to ? x->to : x->source + x->length;
    const char *hint = syntax ? lg_hint_brackets(x->source, (size_t)(until - x->source)) : NULL;
    char character[160];
    if (syntax && !hint && p.at && p.at < x->to &&
        rt_foreign_hint(p.at, (size_t)(x->to - p.at), RT_LUA, character, sizeof character))
        hint = character;
    if (!hint && syntax && x->to - x->from > 2 && memcmp(x->from, "%%", 2) == 0) hint = BEGINS;
    if (!hint) hint = lg_hint(&p, message, syntax);
    if (!hint && strstr(message, "syntax error near") && has_cells(x)) hint = CELLS;
    if (!hint && lg_push_name_hint(L, &p, message)) hint = lua_tostring(L, -1);
    if (hint) lg_buffer_printf(b, "%s  hint: %s", b->length ? "\n" : "", hint);
}

/* Whether a line of the message shows a source: "  12 | x = 1", or a caret below what stands above it. */
static bool has_excerpt(const char *message)
{
    for (const char *p = message; (p = strchr(p, '\n')) != NULL;) {
        p++;
        p += strspn(p, " \t");
        size_t digits = strspn(p, "0123456789");
        if (*p == '^' || (digits && strncmp(p + digits, " | ", 3) == 0)) return true;
    }
    return false;
}

static void add_about(lua_State *L, struct excerpt *x, const char *message, bool syntax, bool line, struct lg_buffer *b)
{
    if (x->line < 1) return;
    x->source = lg_chunk_source(L, x->chunk, &x->length);
    int top = lua_gettop(L);
    if (x->source && find_line(x)) {
        find_mark(L, x, message, syntax);
        if (line) write_excerpt(x, b);
    }
    if (x->source) add_hint(L, x, message, syntax, b);
    lua_settop(L, top - 1);
}

/* Below a report that a kernel used an array that is nil: which name of the launch's line has no value. */
static void add_for_null(lua_State *L, struct excerpt *x, const char *message, struct lg_buffer *b)
{
    int top = lua_gettop(L);
    bool null = strstr(message, " is nil") || strstr(message, "null pointer");
    if (!null || x->line < 1) return;
    x->source = lg_chunk_source(L, x->chunk, &x->length);
    if (x->source && find_line(x)) {
        struct lg_place p = {x->from, (size_t)(x->to - x->from), NULL, x->source, x->length};
        if (lg_push_unset(L, &p)) lg_buffer_printf(b, "%s  hint: %s", b->length ? "\n" : "", lua_tostring(L, -1));
    }
    lua_settop(L, top);
}

void lg_add_excerpt(lua_State *L, const char *message, bool syntax, const char *chunk, int line, struct lg_buffer *b)
{
    struct excerpt x = {.line = line};
    snprintf(x.chunk, sizeof x.chunk, "%s", chunk);
    if (has_excerpt(message)) {
        add_for_null(L, &x, message, b);
        return;
    }
    if (!read_position(message, &x)) x.line = line;
    add_about(L, &x, message, syntax, true, b);
}

void lg_add_hint(lua_State *L, const char *message, bool syntax, const char *chunk, struct lg_buffer *b)
{
    struct excerpt x = {.line = 0};
    const char *calls = strstr(message, "\nstack traceback:\n");
    message = lua_pushlstring(L, message, calls ? (size_t)(calls - message) : strlen(message));
    snprintf(x.chunk, sizeof x.chunk, "%s", chunk);
    if (!has_excerpt(message) && read_position(message, &x)) add_about(L, &x, message, syntax, false, b);
    lua_pop(L, 1);
}
