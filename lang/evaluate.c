/* Evaluating one cell: compile, run, show. Everything happens in protected calls; whatever goes wrong ends as a report
 * in the session. */
#include "lang/apart.h"
#include "lang/session_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lang/lookup.h"
#include "lang/magic.h"
#include "lang/rewrite.h"

enum {
    MAX_TRIES = 64, /* places that are tried as the start of a trailing expression */
    LONG = 1 << 14, /* bytes that compile in about a millisecond */
    PIECE = 1 << 12,
};

/* Whoever waits for a compilation may have it given up: it is asked before each piece of the text. */
struct patience {
    bool (*stop)(void *context);
    void *context;
    bool stopped;
};

/* A cell on its way to a function. The buffers are C memory, so they are released by whoever made it, after every
 * protected call. */
struct loading {
    const struct lg_source *source;
    struct lg_cell cell;
    struct lg_buffer scratch;
    struct patience *patience; /* NULL: endless */
};

/* What is left of a text that is being compiled. */
struct rest {
    const char *text;
    size_t length;
    struct patience *patience;
};

static const char *next_piece(lua_State *L, void *rest, size_t *size)
{
    struct rest *r = rest;
    struct patience *p = r->patience;
    const char *piece = r->text;
    (void)L;
    if (p && !p->stopped) p->stopped = p->stop(p->context);
    *size = !p ? r->length : p->stopped ? 0 : r->length < PIECE ? r->length : PIECE;
    r->text += *size;
    r->length -= *size;
    return piece;
}

/* What was given up ends early: the caller is to look at patience->stopped. */
static int load_patiently(lua_State *L, const char *text, size_t length, const char *chunk, struct patience *patience)
{
    struct rest rest = {text ? text : "", length, patience};
    return lua_load(L, next_piece, &rest, chunk, "t");
}

static int load(lua_State *L, const char *text, size_t length, const char *chunk)
{
    return load_patiently(L, text, length, chunk, NULL);
}

/* Whether the text compiles; leaves nothing on the stack. */
static bool compiles(lua_State *L, const struct loading *l, const char *text, size_t length)
{
    bool good = load_patiently(L, text, length, "=?", l->patience) == LUA_OK;
    lua_pop(L, 1);
    return good;
}

/* Whether the cell's end from `at` is an expression, and what is before it is complete. */
static bool is_trailing_expression(lua_State *L, struct loading *l, size_t at)
{
    const struct lg_cell *c = &l->cell;
    l->scratch.length = 0;
    lg_buffer_puts(&l->scratch, "return ");
    lg_buffer_add(&l->scratch, c->text.data + at, c->end - at);
    if (l->scratch.failed || !compiles(L, l, l->scratch.data, l->scratch.length)) return false;
    return compiles(L, l, c->text.data, at);
}

/* Finds where the cell's trailing expression starts. A cell that compiles as it is shows the value of its last
 * statement only if that is a call that certainly begins there: `a = 1` and `-b` on the next line is one statement. */
static bool find_expression(lua_State *L, struct loading *l, bool whole_compiles, size_t *at)
{
    const struct lg_cell *c = &l->cell;
    size_t tries = 0;
    for (size_t i = c->start_count; i-- > 0 && tries < MAX_TRIES;) {
        const struct lg_start *start = &c->starts[i];
        if (start->kind == LG_START_STATEMENT) return false;
        if (start->at >= c->end || (whole_compiles && start->kind != LG_START_CERTAIN)) continue;
        tries++;
        if (is_trailing_expression(L, l, start->at)) {
            *at = start->at;
            return true;
        }
        if (whole_compiles && compiles(L, l, c->text.data, start->at)) return false;
    }
    return false;
}

/* Replaces the function (or error) on the stack by one that returns the trailing expression, if there is one. A cell
 * whose value would not be shown for lack of memory does not run. */
static int load_expression(lua_State *L, struct loading *l, int status)
{
    size_t at;
    const struct lg_cell *c = &l->cell;
    bool found = find_expression(L, l, status == LUA_OK, &at);
    /* What stands behind it is blanks, semicolons and comments, of which the last may have no end. */
    size_t behind = c->text.length - c->end;
    if (found && behind) found = compiles(L, l, c->text.data + c->end, behind);
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
    struct loading *l = lua_touserdata(L, 1);
    lg_declare(L, l->cell.names.data, l->cell.names.length);
    lg_push_env(L);
    lua_setupvalue(L, 2, 1);
    return 1;
}

/* In protected mode, job at 1: a cell of a magic is a function that calls it. */
static int load_magic(lua_State *L)
{
    const struct loading *l = lua_touserdata(L, 1);
    lua_pushlstring(L, l->source->text, l->source->length);
    lua_pushinteger(L, l->source->first_line);
    lua_pushcclosure(L, lg_run_cell_magic, 2);
    return 1;
}

/* Whether the cell assigns to one of its own constants, which the session's variables no longer are: pushes Lua's
 * message then. */
static bool push_assigned_constant(lua_State *L, struct loading *l)
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

static int compile(lua_State *L, struct loading *l, bool *show)
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
    if (!l->cell.silenced || status != LUA_OK) status = load_expression(L, l, status);
    if (status != LUA_OK && !l->cell.magic && source->first_line == 1) {
        /* The message is to speak of what the user wrote. */
        if (load(L, source->text, source->length, source->chunk) == status) {
            lua_remove(L, -2);
        } else {
            lua_pop(L, 1);
        }
    }
    return status;
}

int lg_compile_cell(lua_State *L, const struct lg_source *source)
{
    struct loading l = {.source = source};
    bool show;
    int status = compile(L, &l, &show);
    lg_cell_release(&l.cell);
    lg_buffer_release(&l.scratch);
    return status;
}

static int load_lua(lua_State *L, struct loading *l, bool *show)
{
    int status = compile(L, l, show);
    if (status != LUA_OK) return status;
    lua_pushcfunction(L, prepare);
    lua_pushlightuserdata(L, l);
    lua_rotate(L, -3, -1);
    return lua_pcall(L, 2, 1, 0);
}

int lg_load_cell(lua_State *L, const struct lg_source *source, bool *show)
{
    struct loading l = {.source = source};
    *show = true;
    if (!lua_checkstack(L, 6)) {
        lua_pushnil(L);
        return LUA_ERRMEM;
    }
    if (source->length >= 2 && memcmp(source->text, "%%", 2) == 0) {
        lua_pushcfunction(L, load_magic);
        lua_pushlightuserdata(L, &l);
        return lua_pcall(L, 1, 1, 0);
    }
    int status = load_lua(L, &l, show);
    lg_cell_release(&l.cell);
    lg_buffer_release(&l.scratch);
    return status;
}

static bool is_file(const char *chunk)
{
    return *chunk == '@' || strcmp(chunk, "=stdin") == 0;
}

/* A file's first line that starts with '#' is for the operating system; its newline stays, so that lines count right.
 * What luac made runs, too. */
static int load_script(lua_State *L, const struct lg_source *source)
{
    static const char mark[] = "\xef\xbb\xbf"; /* of UTF-8 */
    const char *text = source->text;
    size_t length = source->length;
    if (!is_file(source->chunk)) return load(L, text, length, source->chunk);
    if (length >= 3 && memcmp(text, mark, 3) == 0) {
        text += 3;
        length -= 3;
    }
    if (length && *text == '#') {
        const char *end = memchr(text, '\n', length);
        size_t n = end ? (size_t)(end - text) : length;
        if (n + 1 < length && text[n + 1] == *LUA_SIGNATURE) n++;
        text += n;
        length -= n;
    }
    return luaL_loadbuffer(L, text ? text : "", length, source->chunk);
}

static int remember(lua_State *L)
{
    const struct lg_source *source = lua_touserdata(L, 1);
    lg_remember_source(L, source->chunk, source->text, source->length);
    return 0;
}

static int show_results(lua_State *L)
{
    lg_show_result(L, lg_session_of(L), 1, lua_gettop(L));
    return 0;
}

static int settle(lua_State *L)
{
    lg_settle(L);
    return 0;
}

/* A script is called with its arguments, as by a stock lua: pushes arg[1], arg[2], ... and returns how many. */
static int push_arguments(lua_State *L, const char *chunk)
{
    if (!is_file(chunk)) return 0;
    lua_pushglobaltable(L);
    lua_pushliteral(L, "arg");
    lua_rawget(L, -2);
    lua_remove(L, -2);
    int table = lua_gettop(L), n = lua_istable(L, table) ? (int)lua_rawlen(L, table) : 0;
    if (!lua_checkstack(L, n + 4)) n = 0;
    for (int i = 1; i <= n; i++) lua_rawgeti(L, table, i);
    lua_remove(L, table);
    return n;
}

/* Compiles and runs; the status of the step that failed, its error value on top of the stack. */
static int run(struct lg_session *s, const struct lg_source *source, const struct lg_request *r, bool *syntax)
{
    lua_State *L = s->L;
    bool show = false;
    lua_pushcfunction(L, lg_traceback_handler);
    int handler = lua_gettop(L);
    lg_protect(s, remember, (void *)source);
    int status = s->plain ? load_script(L, source) : lg_load_cell(L, source, &show);
    *syntax = status == LUA_ERRSYNTAX;
    if (status != LUA_OK) return status;
    int arguments = r->alone ? 0 : push_arguments(L, source->chunk);
    status = lua_pcall(L, arguments, LUA_MULTRET, handler);
    if (status != LUA_OK || !show || r->silent || lua_gettop(L) == handler) return status;
    if (!lua_checkstack(L, 2)) return LUA_OK;
    lua_pushcfunction(L, show_results);
    lua_insert(L, handler + 1);
    return lua_pcall(L, lua_gettop(L) - handler - 1, 0, handler);
}

static void name_chunk(struct lg_session *s, const struct lg_request *r)
{
    if (r->name) {
        snprintf(s->chunk, sizeof s->chunk, "%s%s", *r->name == '@' || *r->name == '=' ? "" : "=", r->name);
    } else if (r->silent) {
        snprintf(s->chunk, sizeof s->chunk, "=expression");
    } else {
        snprintf(s->chunk, sizeof s->chunk, "=cell %d", s->count);
    }
}

static void begin(struct lg_session *s)
{
    lg_arena_reset(&s->answers);
    lg_names_forget(s);
    s->frame_count = s->frame_line = 0;
}

/* After the run: the report of what failed, and the stack as it was. */
static enum lg_status end(struct lg_session *s, int status, bool syntax, int top, const struct lg_error **error)
{
    enum lg_status result = LG_DONE;
    fflush(stdout);
    if (status != LUA_OK) {
        lg_report_error(s, status, syntax);
        result = atomic_load(&s->interrupted) ? LG_INTERRUPTED : LG_ERROR;
    }
    lua_settop(s->L, top);
    *error = status == LUA_OK ? NULL : &s->error;
    return result;
}

/* No function of ours is among the calls that a traceback shows. */
enum lg_status lg_session_require(struct lg_session *s, const char *module, const char *global,
                                  const struct lg_error **error)
{
    begin(s);
    s->plain = true;
    snprintf(s->chunk, sizeof s->chunk, "=?");
    lua_State *L = s->L;
    int top = lua_gettop(L), status = LUA_ERRMEM;
    lg_interrupt_begin(s);
    if (lua_checkstack(L, 8)) {
        lua_pushcfunction(L, lg_traceback_handler);
        lua_getglobal(L, "require");
        lua_pushstring(L, module);
        status = lua_pcall(L, 1, 1, top + 1);
        if (status == LUA_OK) lua_setglobal(L, global);
    }
    lg_interrupt_end(s);
    return end(s, status, false, top, error);
}

enum lg_status lg_run(struct lg_session *s, const char *chunk, lua_CFunction f, void *job,
                      const struct lg_error **error)
{
    begin(s);
    s->plain = !s->interactive;
    snprintf(s->chunk, sizeof s->chunk, "%s", chunk);
    lua_State *L = s->L;
    int top = lua_gettop(L), status = LUA_ERRMEM;
    lg_interrupt_begin(s);
    if (lua_checkstack(L, 8)) {
        lua_pushcfunction(L, lg_traceback_handler);
        lua_pushcfunction(L, f);
        lua_pushlightuserdata(L, job);
        status = lua_pcall(L, 1, 0, top + 1);
    }
    lg_interrupt_end(s);
    return end(s, status, false, top, error);
}

enum lg_status lg_session_call(struct lg_session *s, int (*f)(lua_State *L), void *job, const struct lg_error **error)
{
    return lg_run(s, "=?", f, job, error);
}

enum lg_status lg_session_evaluate(struct lg_session *s, const struct lg_request *r, const struct lg_error **error)
{
    begin(s);
    s->plain = !s->interactive || r->script;
    lg_apart_note(s);
    if (!r->silent && r->store_history) lg_history_add(s->history, ++s->count, r->code, r->length);
    name_chunk(s, r);
    struct lg_source source = {r->code, r->length, s->chunk, 1};
    bool syntax = false;
    lua_State *L = s->L;
    int top = lua_gettop(L);
    lg_interrupt_begin(s);
    int status = lua_checkstack(L, 8) ? run(s, &source, r, &syntax) : LUA_ERRMEM;
    lg_interrupt_end(s);
    enum lg_status result = end(s, status, syntax, top, error);
    if (s->interactive && !s->attending) lg_protect(s, settle, NULL);
    return result;
}

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
static bool expression_ends_early(lua_State *L, struct loading *l)
{
    const struct lg_cell *c = &l->cell;
    size_t tries = 0;
    for (size_t i = c->start_count; i-- > 0 && tries++ < MAX_TRIES;) {
        if (c->starts[i].kind == LG_START_STATEMENT) return false;
        l->scratch.length = 0;
        lg_buffer_puts(&l->scratch, "return ");
        lg_buffer_add(&l->scratch, c->text.data + c->starts[i].at, c->text.length - c->starts[i].at);
        if (l->scratch.failed) return false;
        bool early =
            load_patiently(L, l->scratch.data, l->scratch.length, "=?", l->patience) == LUA_ERRSYNTAX && ends_early(L);
        lua_pop(L, 1);
        if (early && compiles(L, l, c->text.data, c->starts[i].at)) return true;
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

static enum lg_completeness judge(lua_State *L, const char *code, size_t length, int *indent, struct patience *patience)
{
    struct lg_source source = {code, length, "=input", 1};
    struct loading l = {.source = &source, .patience = patience};
    if (!lg_rewrite(code, length, &l.cell)) {
        lg_cell_release(&l.cell);
        return LG_UNKNOWN;
    }
    int status = load_patiently(L, l.cell.text.data, l.cell.text.length, source.chunk, patience);
    bool early = status == LUA_ERRSYNTAX && ends_early(L);
    struct open open = open_at_end(code, length);
    /* What leaves a block open is no more complete as an expression. */
    if (status != LUA_OK && !(early && open.depth > 0)) status = load_expression(L, &l, status);
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
static enum lg_completeness completeness(const char *code, size_t length, int *indent, struct patience *patience)
{
    *indent = 0;
    if (length >= 2 && memcmp(code, "%%", 2) == 0) return magic_goes_on(code, length) ? LG_INCOMPLETE : LG_COMPLETE;
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

enum lg_completeness lg_is_complete(const char *code, size_t length, int *indent)
{
    *indent = 0;
    if (is_python_line(code, length)) return LG_INVALID;
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
    struct patience p = {stop ? stop : never, context, false};
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
