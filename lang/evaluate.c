/* Evaluating one cell: compile (lang/load.c), run, show. Everything happens in protected calls; whatever goes wrong
 * ends as a report in the session. */
#include "lang/apart.h"
#include "lang/load.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lang/fold.h"
#include "lang/hint.h"
#include "runtime/excerpt.h"
#include "runtime/mapped.h"

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
    if (!is_file(source->chunk)) return lg_load_text(L, text, length, source->chunk, NULL);
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

/* NumPy refuses these, Lua takes them: the cell would give what nobody meant. */
static int warn_of_truth(lua_State *L)
{
    const struct lg_source *source = lua_touserdata(L, 1);
    int line = lg_find_truth(L, source->text, source->length);
    if (!line) return 0;
    lua_pushfstring(L,
                    "%s:%d: a mask counts as true, whatever is in it: of each element it is a & b, a | b, ~a, and one "
                    "boolean a:any() or a:all()",
                    source->chunk + (*source->chunk == '=' || *source->chunk == '@'), line);
    lua_warning(L, lua_tostring(L, -1), 0);
    return 0;
}

static int show_results(lua_State *L)
{
    lg_show_result(L, lg_session_of(L), 1, lua_gettop(L));
    lg_check(L, rt_mapped_check(lg_error_box(L)));
    return 0;
}

/* What kernels printed belongs to the cell, and a GPU gives it when it is waited for; so does what went wrong with
 * files that it looked at as memory. */
static int let_tell(lua_State *L)
{
    for (struct rt_device *d = NULL; (d = rt_device_next_opened(d));)
        if (d->prints && !d->recording) lg_check(L, rt_device_synchronize(d, lg_error_box(L)));
    lg_check(L, rt_mapped_check(lg_error_box(L)));
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
    if (!s->plain && !r->silent) lg_protect(s, warn_of_truth, (void *)source);
    int arguments = r->alone ? 0 : push_arguments(L, source->chunk);
    status = lua_pcall(L, arguments, LUA_MULTRET, handler);
    if (!lua_checkstack(L, 2)) return status;
    lua_pushcfunction(L, let_tell);
    int told = lua_pcall(L, 0, 0, handler);
    if (told != LUA_OK && status == LUA_OK) return told;
    if (told != LUA_OK) lua_pop(L, 1);
    if (status != LUA_OK || !show || r->silent || lua_gettop(L) == handler) return status;
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
    s->bad_code = false;
    rt_excerpt_fit(lg_columns(s->L));
}

static int collect(lua_State *L)
{
    lua_gc(L, LUA_GCCOLLECT);
    return 0;
}

/* A session goes on behind what took all memory: what of that is garbage goes back. */
static void make_room(struct lg_session *s)
{
    if (lg_heap_relieve(&s->heap)) return;
    lg_protect(s, collect, NULL);
    malloc_trim(0);
    lg_heap_relieve(&s->heap);
}

/* After the run: the report of what failed, and the stack as it was. */
static enum lg_status end(struct lg_session *s, int status, bool syntax, int top, const struct lg_error **error)
{
    enum lg_status result = LG_DONE;
    fflush(stdout);
    if (s->interactive) make_room(s);
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
    if (!r->silent && r->store_history) lg_history_add(s->history, ++s->count, r->code, r->length);
    lg_apart_note(s);
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
