/* Compiling one cell: rewritten to what Lua compiles, with its trailing expression as what it returns. */
#include "lang/load.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "lang/magic.h"

enum { PIECE = 1 << 12 }; /* bytes that are compiled before somebody may give up */

/* What is left of a text that is being compiled. */
struct rest {
    const char *text;
    size_t length;
    struct lg_patience *patience;
};

static const char *next_piece(lua_State *L, void *rest, size_t *size)
{
    struct rest *r = rest;
    struct lg_patience *p = r->patience;
    const char *piece = r->text;
    (void)L;
    if (p && !p->stopped) p->stopped = p->stop(p->context);
    *size = !p ? r->length : p->stopped ? 0 : r->length < PIECE ? r->length : PIECE;
    r->text += *size;
    r->length -= *size;
    return piece;
}

int lg_load_text(lua_State *L, const char *text, size_t length, const char *chunk, struct lg_patience *patience)
{
    struct rest rest = {text ? text : "", length, patience};
    return lua_load(L, next_piece, &rest, chunk, "t");
}

static int load(lua_State *L, const char *text, size_t length, const char *chunk)
{
    return lg_load_text(L, text, length, chunk, NULL);
}

bool lg_text_compiles(lua_State *L, const struct lg_loading *l, const char *text, size_t length)
{
    bool good = lg_load_text(L, text, length, "=?", l->patience) == LUA_OK;
    lua_pop(L, 1);
    return good;
}

/* Whether the cell's end from `at` is an expression, and what is before it is complete. */
static bool is_trailing_expression(lua_State *L, struct lg_loading *l, size_t at)
{
    const struct lg_cell *c = &l->cell;
    l->scratch.length = 0;
    lg_buffer_puts(&l->scratch, "return ");
    lg_buffer_add(&l->scratch, c->text.data + at, c->end - at);
    if (l->scratch.failed || !lg_text_compiles(L, l, l->scratch.data, l->scratch.length)) return false;
    return lg_text_compiles(L, l, c->text.data, at);
}

/* Finds where the cell's trailing expression starts. A cell that compiles as it is shows the value of its last
 * statement only if that is a call that certainly begins there: `a = 1` and `-b` on the next line is one statement. */
static bool find_expression(lua_State *L, struct lg_loading *l, bool whole_compiles, size_t *at)
{
    const struct lg_cell *c = &l->cell;
    size_t tries = 0;
    for (size_t i = c->start_count; i-- > 0 && tries < LG_LOAD_TRIES;) {
        const struct lg_start *start = &c->starts[i];
        if (start->kind == LG_START_STATEMENT) return false;
        if (start->at >= c->end || (whole_compiles && start->kind != LG_START_CERTAIN)) continue;
        tries++;
        if (is_trailing_expression(L, l, start->at)) {
            *at = start->at;
            return true;
        }
        if (whole_compiles && lg_text_compiles(L, l, c->text.data, start->at)) return false;
    }
    return false;
}

/* A cell whose value would not be shown for lack of memory does not run. */
int lg_load_expression(lua_State *L, struct lg_loading *l, int status)
{
    size_t at;
    const struct lg_cell *c = &l->cell;
    bool found = find_expression(L, l, status == LUA_OK, &at);
    /* What stands behind it is blanks, semicolons and comments, of which the last may have no end. */
    size_t behind = c->text.length - c->end;
    if (found && behind) found = lg_text_compiles(L, l, c->text.data + c->end, behind);
    if (found) {
        l->scratch.length = 0;
        lg_buffer_add(&l->scratch, c->text.data, at);
        lg_buffer_puts(&l->scratch, LG_RETURN_GUARD "return ");
        lg_buffer_add(&l->scratch, c->text.data + at, c->end - at);
    }
    if (l->scratch.failed) {
        lua_pop(L, 1);
        lua_pushnil(L);
        return LUA_ERRMEM;
    }
    if (!found) return status;
    int again = load(L, l->scratch.data, l->scratch.length, l->source->chunk);
    if (again != LUA_OK) {
        lua_pop(L, 1);
        return status;
    }
    lua_remove(L, -2);
    return LUA_OK;
}

/* In protected mode, job at 1: what a compiled cell needs before it runs. The function is at 2. */
static int prepare(lua_State *L)
{
    struct lg_loading *l = lua_touserdata(L, 1);
    lg_declare(L, l->cell.names.data, l->cell.names.length);
    lg_push_env(L);
    lua_setupvalue(L, 2, 1);
    return 1;
}

/* In protected mode, job at 1: a cell of a magic is a function that calls it. */
static int load_magic(lua_State *L)
{
    const struct lg_loading *l = lua_touserdata(L, 1);
    lua_pushlstring(L, l->source->text, l->source->length);
    lua_pushinteger(L, l->source->first_line);
    lua_pushcclosure(L, lg_run_cell_magic, 2);
    return 1;
}

/* Whether the cell assigns to one of its own constants, which the session's variables no longer are: pushes Lua's
 * message then. */
static bool push_assigned_constant(lua_State *L, struct lg_loading *l)
{
    const struct lg_source *source = l->source;
    if (!l->cell.constants) return false;
    l->scratch.length = 0;
    for (int i = 1; i < source->first_line; i++) lg_buffer_puts(&l->scratch, "\n");
    lg_buffer_add(&l->scratch, source->text, source->length);
    if (l->scratch.failed) return false;
    int status = load(L, l->scratch.data, l->scratch.length, source->chunk);
    if (status == LUA_ERRSYNTAX && strstr(lua_tostring(L, -1), "attempt to assign to const variable")) return true;
    lua_pop(L, 1);
    return false;
}

/* A reader that gives a byte at a time, so that what it gave tells how far Lua read. */
static const char *next_byte(lua_State *L, void *rest, size_t *size)
{
    struct rest *r = rest;
    (void)L;
    *size = r->length > 0;
    r->length -= *size;
    return r->length ? r->text++ : " ";
}

/* How many bytes of a text that does not compile Lua reads before it says so, one behind the last token among them. */
static size_t bytes_read(lua_State *L, const char *text, size_t length)
{
    struct rest rest = {text, length + 1, NULL};
    lua_load(L, next_byte, &rest, "=?", "t");
    lua_pop(L, 1);
    return length + 1 - rest.length;
}

/* Whether a line or what is behind a semicolon begins there. */
static bool begins_line(const char *text, size_t at)
{
    while (at > 0 && (text[at - 1] == ' ' || text[at - 1] == '\t')) at--;
    return at == 0 || text[at - 1] == '\n' || text[at - 1] == ';';
}

/* In c - a @ b Lua finds fault with the -, as the cell was to be a statement. Where the cell's end, read as an
 * expression, is good for an operand more (it is not in x += 1), what is wrong there takes the place of the message at
 * the top. */
static void tell_of_expression(lua_State *L, struct lg_loading *l)
{
    static const char before[] = "return ", expected[] = "<eof> expected near ";
    const struct lg_cell *c = &l->cell;
    size_t i = c->start_count;
    size_t least = i > LG_LOAD_TRIES ? i - LG_LOAD_TRIES : 0;
    while (i > least && !lg_text_compiles(L, l, c->text.data, c->starts[i - 1].at)) i--;
    if (i == least) return;
    size_t at = c->starts[i - 1].at;
    if (c->text.data[at] == '#' || !begins_line(c->text.data, at)) return; /* #include is none of Lua's lengths */
    l->scratch.length = 0;
    lg_buffer_add(&l->scratch, c->text.data, at);
    lg_buffer_puts(&l->scratch, before);
    lg_buffer_add(&l->scratch, c->text.data + at, c->end - at);
    if (l->scratch.failed) return;
    size_t far = bytes_read(L, l->scratch.data, l->scratch.length) - (sizeof before - 1);
    if (far <= bytes_read(L, c->text.data, c->text.length) + 1) return;
    if (load(L, l->scratch.data, l->scratch.length, l->source->chunk) != LUA_ERRSYNTAX) {
        lua_pop(L, 1);
        return;
    }
    const char *message = luaL_gsub(L, lua_tostring(L, -1), expected, "syntax error near ");
    lua_remove(L, -2);
    lua_remove(L, strstr(message, "near '='") ? -1 : -2); /* an assignment was no expression */
}

static int compile(lua_State *L, struct lg_loading *l, bool *show)
{
    const struct lg_source *source = l->source;
    for (int i = 1; i < source->first_line; i++) lg_buffer_puts(&l->cell.text, "\n");
    if (!lg_rewrite(source->text, source->length, &l->cell)) {
        lua_pushnil(L);
        return LUA_ERRMEM;
    }
    *show = !l->cell.silenced;
    if (push_assigned_constant(L, l)) return LUA_ERRSYNTAX;
    int status = load(L, l->cell.text.data, l->cell.text.length, source->chunk);
    if (status == LUA_ERRMEM) return status;
    if (!l->cell.silenced || status != LUA_OK) status = lg_load_expression(L, l, status);
    if (status != LUA_OK && !l->cell.magic && source->first_line == 1) {
        /* The message is to speak of what the user wrote. */
        if (load(L, source->text, source->length, source->chunk) == status) {
            lua_remove(L, -2);
        } else {
            lua_pop(L, 1);
        }
    }
    if (status == LUA_ERRSYNTAX && !l->cell.silenced) tell_of_expression(L, l);
    return status;
}

int lg_compile_cell(lua_State *L, const struct lg_source *source)
{
    struct lg_loading l = {.source = source};
    bool show;
    int status = compile(L, &l, &show);
    lg_cell_release(&l.cell);
    lg_buffer_release(&l.scratch);
    return status;
}

static int load_lua(lua_State *L, struct lg_loading *l, bool *show)
{
    int status = compile(L, l, show);
    if (status != LUA_OK) return status;
    lua_pushcfunction(L, prepare);
    lua_pushlightuserdata(L, l);
    lua_rotate(L, -3, -1);
    return lua_pcall(L, 2, 1, 0);
}

size_t lg_blanks_before_magic(const char *text, size_t length)
{
    size_t n = 0;
    while (n < length && isspace((unsigned char)text[n])) n++;
    return length - n >= 2 && memcmp(text + n, "%%", 2) == 0 ? n : 0;
}

int lg_load_cell(lua_State *L, const struct lg_source *source, bool *show)
{
    struct lg_source text = *source;
    struct lg_loading l = {.source = &text};
    *show = true;
    if (!lua_checkstack(L, 6)) {
        lua_pushnil(L);
        return LUA_ERRMEM;
    }
    const size_t blanks = lg_blanks_before_magic(text.text, text.length);
    for (size_t i = 0; i < blanks; i++) text.first_line += text.text[i] == '\n';
    text.text += blanks;
    text.length -= blanks;
    if (text.length >= 2 && memcmp(text.text, "%%", 2) == 0) {
        lua_pushcfunction(L, load_magic);
        lua_pushlightuserdata(L, &l);
        return lua_pcall(L, 1, 1, 0);
    }
    /* What is missing at the end is missing in the last line that anything stands in. */
    while (text.length > 0 && isspace((unsigned char)text.text[text.length - 1])) text.length--;
    int status = load_lua(L, &l, show);
    lg_cell_release(&l.cell);
    lg_buffer_release(&l.scratch);
    return status;
}
