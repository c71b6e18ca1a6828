/* Whether a text is whole: if it compiles as a cell, goes on, or is wrong, and where its mistake begins. */
#include "lang/load.h"

#include <stdlib.h>
#include <string.h>
#include "lang/lexer.h"
#include "lang/lookup.h"

enum { LONG = 1 << 14 }; /* bytes that compile in about a millisecond */

/* Whether a quoted string that the text's end cuts off can go on: a backslash is its last byte, or a z escape and
 * blanks. */
static bool string_goes_on(const char *code, size_t end)
{
    if (code[end - 1] == '\\') return true;
    while (end > 0 && strchr(" \t\r\n", code[end - 1])) end--;
    return end > 2 && code[end - 1] == 'z' && code[end - 2] == '\\' && code[end - 3] != '\\';
}

/* What the words and brackets of a text leave open at its end. */
struct open {
    int depth;        /* of blocks and brackets; -1 when a quoted string is that no further line can end */
    bool long_string; /* its end is in one */
    bool magic;       /* a line may be no Lua: it is not known what its brackets mean */
};

static struct open open_at_end(const char *code, size_t length)
{
    struct lg_lexer x;
    struct lg_token t;
    struct open o = {0};
    lg_lexer_init(&x, code, length);
    while (lg_lexer_code(&x, &t)) {
        o.depth += lg_token_block(&t) + lg_token_bracket(&x, &t);
        if (o.depth < 0) o.depth = 0;
        if (t.kind == LG_TOKEN_ERROR || (t.first && code[t.start] == '%')) o.magic = true;
        if (t.kind != LG_TOKEN_STRING || !t.unfinished) continue;
        o.long_string = t.is_long;
        if (!t.is_long && !string_goes_on(code, t.end)) {
            o.depth = -1;
            break;
        }
    }
    return o;
}

static bool ends_early(lua_State *L)
{
    size_t n;
    const char *message = lua_tolstring(L, -1, &n);
    return n >= 5 && strcmp(message + n - 5, "<eof>") == 0;
}

/* Whether the cell's end is the beginning of an expression: `1 +` is no beginning of a statement. */
static bool expression_ends_early(lua_State *L, struct lg_loading *l)
{
    const struct lg_cell *c = &l->cell;
    size_t tries = 0;
    for (size_t i = c->start_count; i-- > 0 && tries++ < LG_LOAD_TRIES;) {
        if (c->starts[i].kind == LG_START_STATEMENT) return false;
        l->scratch.length = 0;
        lg_buffer_puts(&l->scratch, "return ");
        lg_buffer_add(&l->scratch, c->text.data + c->starts[i].at, c->text.length - c->starts[i].at);
        if (l->scratch.failed) return false;
        bool early =
            lg_load_text(L, l->scratch.data, l->scratch.length, "=?", l->patience) == LUA_ERRSYNTAX && ends_early(L);
        lua_pop(L, 1);
        if (early && lg_text_compiles(L, l, c->text.data, c->starts[i].at)) return true;
    }
    return false;
}

/* Cells of another language, "%%cuda" and the like, could always go on: an empty last line ends them. */
static bool magic_goes_on(const char *code, size_t length)
{
    while (length > 0 && strchr(" \t", code[length - 1])) length--;
    return length > 0 && code[length - 1] != '\n';
}

/* Inside a long string, which may hold a kernel: as far in as its last line, and further after an opening bracket. */
static int string_indent(const char *code, size_t length)
{
    size_t from = length, at;
    while (length > 0 && strchr(" \t\n", code[length - 1])) length--;
    for (from = length; from > 0 && code[from - 1] != '\n';) from--;
    for (at = from; at < length && code[at] == ' ';) at++;
    bool opens = length > from && strchr("{(", code[length - 1]);
    return (int)(at - from) + (opens ? 2 : 0);
}

static int indent_behind(const char *code, size_t length, const struct open *o)
{
    return o->long_string ? string_indent(code, length) : 2 * o->depth;
}

static enum lg_completeness judge(lua_State *L, const char *code, size_t length, int *indent,
                                  struct lg_patience *patience)
{
    struct lg_source source = {code, length, "=input", 1};
    struct lg_loading l = {.source = &source, .patience = patience};
    if (!lg_rewrite(code, length, &l.cell)) {
        lg_cell_release(&l.cell);
        return LG_UNKNOWN;
    }
    int status = lg_load_text(L, l.cell.text.data, l.cell.text.length, source.chunk, patience);
    bool early = status == LUA_ERRSYNTAX && ends_early(L);
    struct open open = open_at_end(code, length);
    /* What leaves a block open is no more complete as an expression. */
    if (status != LUA_OK && !(early && open.depth > 0)) status = lg_load_expression(L, &l, status);
    lua_pop(L, 1);
    if (status == LUA_ERRSYNTAX && !early) early = expression_ends_early(L, &l);
    lg_cell_release(&l.cell);
    lg_buffer_release(&l.scratch);
    if (patience && patience->stopped) return LG_UNKNOWN;
    if (status == LUA_OK) return LG_COMPLETE;
    if (status != LUA_ERRSYNTAX) return LG_UNKNOWN;
    if (!early || open.depth < 0) return LG_INVALID;
    *indent = indent_behind(code, length, &open);
    return LG_INCOMPLETE;
}

/* As Lua's compiler finds it. */
static enum lg_completeness completeness(const char *code, size_t length, int *indent, struct lg_patience *patience)
{
    *indent = 0;
    const size_t blanks = lg_blanks_before_magic(code, length);
    if (length - blanks >= 2 && memcmp(code + blanks, "%%", 2) == 0)
        return magic_goes_on(code, length) ? LG_INCOMPLETE : LG_COMPLETE;
    lua_State *L = luaL_newstate();
    if (!L) return LG_UNKNOWN;
    enum lg_completeness c = judge(L, code, length, indent, patience);
    lua_close(L);
    return c;
}

/* "for i in range(3):" and "try: f(x)", of which nothing that follows makes Lua as anybody writes it (a method's name
 * has no blank before it), and "x:mean" without its parentheses: better told at once than read on. */
static bool is_python_line(const char *code, size_t length)
{
    struct lg_lexer x;
    struct lg_token t, first, last = {0}, before = {0};
    bool blank = false; /* behind a colon */
    lg_lexer_init(&x, code, length);
    if (memchr(code, '\n', length) || !lg_lexer_code(&x, &first)) return false;
    for (t = first; t.kind != LG_TOKEN_END; lg_lexer_code(&x, &t)) {
        if (t.keyword == LG_THEN || t.keyword == LG_DO) return false; /* x: may go on as a call of a method */
        before = last;
        last = t;
        if (lg_token_is(&x, &t, ":")) blank = blank || t.end == length || strchr(" \t", code[t.end]);
    }
    if (last.kind == LG_TOKEN_NAME && lg_token_is(&x, &before, ":") && before.end == last.start) return true;
    bool block = first.keyword == LG_FOR || first.keyword == LG_WHILE || first.keyword == LG_IF;
    return blank && (block || lg_token_is(&x, &first, "try"));
}

/* "if (n > 1) { print(n) }", which Lua reads as the call of a function in parentheses with a table: who writes that
 * sees a whole statement. */
static bool is_braced_block(const char *code, size_t length)
{
    struct lg_lexer x;
    struct lg_token t, before = {0};
    const char *opening = "({"; /* of the next group */
    int depth = 0;
    lg_lexer_init(&x, code, length);
    if (!lg_lexer_code(&x, &t) || (t.keyword != LG_IF && t.keyword != LG_WHILE)) return false;
    while (lg_lexer_code(&x, &t)) {
        if (depth == 0 && (!*opening || code[t.start] != *opening++)) return false;
        depth += lg_token_bracket(&x, &t);
        before = t;
    }
    return depth == 0 && !*opening && lg_token_is(&x, &before, "}");
}

enum lg_completeness lg_is_complete(const char *code, size_t length, int *indent)
{
    *indent = 0;
    if (is_python_line(code, length) || is_braced_block(code, length)) return LG_INVALID;
    struct open open = {.magic = length <= LONG};
    if (!open.magic) open = open_at_end(code, length);
    if (open.magic || (open.depth <= 0 && !open.long_string)) return completeness(code, length, indent, NULL);
    *indent = indent_behind(code, length, &open);
    return LG_INCOMPLETE;
}

/* What jumps forward is right or wrong by what follows. */
static bool has_goto(const struct lg_tokens *t)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->items[i].keyword == LG_GOTO) return true;
    return false;
}

static bool never(void *context)
{
    (void)context;
    return false;
}

enum lg_mistake lg_find_mistake(const char *code, size_t length, bool (*stop)(void *context), void *context,
                                size_t *from, size_t *to)
{
    int indent;
    struct lg_tokens t;
    struct lg_patience p = {stop ? stop : never, context, false};
    enum lg_completeness whole = completeness(code, length, &indent, &p);
    if (whole != LG_INVALID) return p.stopped ? LG_GIVEN_UP : LG_NO_MISTAKE;
    lg_tokens_fill(&t, code, length);
    bool found = !t.failed && t.count && !has_goto(&t);
    size_t low = 0, high = found ? t.count - 1 : 0;
    /* What begins wrongly stays wrong: the shortest beginning is looked for by halves. */
    while (low < high && !p.stopped) {
        size_t middle = low + (high - low) / 2;
        if (completeness(code, t.items[middle].end, &indent, &p) == LG_INVALID)
            high = middle;
        else
            low = middle + 1;
    }
    if (found) {
        *from = t.items[low].start;
        *to = t.items[low].end;
    }
    free(t.items);
    return p.stopped ? LG_GIVEN_UP : found ? LG_MISTAKE : LG_NO_MISTAKE;
}
