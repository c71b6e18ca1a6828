/* A session from its beginning to its end: the Lua state, what is opened in it, and the memory that lasts for a cell.
 * */
#include "lang/debugger_state.h"

#include <stdlib.h>
#include <string.h>
#include "lang/apart.h"
#include "lang/check.h"
#include "lang/pattern.h"
#include "lang/waiting.h"
#include "runtime/mapped.h"
#include "runtime/memory.h"

#define PATTERN_STEPS 1e6 /* milliseconds: what takes more is worth a look at who waits */

struct lg_arena_block {
    struct lg_arena_block *next;
    max_align_t data[];
};

void *lg_arena_get(struct lg_arena *a, size_t bytes)
{
    struct lg_arena_block *b = rt_alloc(sizeof *b + bytes);
    if (!b) return NULL;
    b->next = a->blocks;
    a->blocks = b;
    return b->data;
}

char *lg_arena_text(struct lg_arena *a, const char *text, size_t length)
{
    char *copy = lg_arena_get(a, length + 1);
    if (!copy) return NULL;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

void lg_arena_reset(struct lg_arena *a)
{
    while (a->blocks) {
        struct lg_arena_block *next = a->blocks->next;
        free(a->blocks);
        a->blocks = next;
    }
}

static const char session_key;

struct lg_session *lg_session_of(lua_State *L)
{
    struct lg_session *s = NULL;
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &session_key) == LUA_TLIGHTUSERDATA) s = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return s;
}

bool lg_protect(struct lg_session *s, lua_CFunction f, void *job)
{
    lua_State *L = s->L;
    int top = lua_gettop(L);
    if (!lua_checkstack(L, 8)) return false;
    lua_pushcfunction(L, f);
    lua_pushlightuserdata(L, job);
    int status = lua_pcall(L, 1, 0, 0);
    lua_settop(L, top);
    return status == LUA_OK;
}

static void set_arguments(lua_State *L, const struct lg_options *o)
{
    lua_createtable(L, o->argc > 1 ? o->argc - 1 : 0, 1);
    for (int i = -o->before; i < o->argc; i++) {
        lua_pushstring(L, o->argv[i]);
        lua_rawseti(L, -2, i);
    }
    lua_setglobal(L, "arg");
}

/* In place of os.exit where it would take a notebook's variables along, and the client would see a dead kernel. */
static int refuse_exit(lua_State *L)
{
    return luaL_error(L, "os.exit would end the kernel and lose all variables; error() ends a cell, and the notebook's "
                         "menu shuts the kernel down");
}

struct opening {
    struct lg_session *session;
    const struct lg_options *options;
};

/* The gpu global. When the module cannot be opened the session lives without it, and says why when it is asked for. */
static void open_gpu(lua_State *L)
{
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
    lua_pushcfunction(L, luaopen_lunarray);
    lua_setfield(L, -2, "lunarray");
    lua_pop(L, 1);
    lua_getglobal(L, "require");
    lua_pushliteral(L, "lunarray");
    if (lua_pcall(L, 1, 1, 0) == LUA_OK) {
        lua_setglobal(L, "gpu");
    } else {
        lua_warning(L, "the gpu module did not open: ", 1);
        lua_warning(L, lua_tostring(L, -1), 0);
        lua_pop(L, 1);
    }
}

static int open_session(lua_State *L)
{
    const struct opening *o = lua_touserdata(L, 1);
    struct lg_session *s = o->session;
    lua_gc(L, LUA_GCSTOP); /* hardly anything of what is made here is garbage */
    lua_pushlightuserdata(L, s);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &session_key);
    if (o->options->no_environment) {
        lua_pushboolean(L, 1);
        lua_setfield(L, LUA_REGISTRYINDEX, "LUA_NOENV");
    }
    luaL_openlibs(L);
    set_arguments(L, o->options);
    if (o->options->hosted) {
        lua_getglobal(L, "os");
        lua_pushcfunction(L, refuse_exit);
        lua_setfield(L, -2, "exit");
        lua_pop(L, 1);
    }
    lg_open_coroutines(L, s);
    lg_open_side(L, s);
    lg_open_beside(L, s);
    lg_open_waiting(L, s);
    lg_open_sort(L, s);
    if (s->interactive) lg_open_patterns(L, PATTERN_STEPS);
    lg_open_output(L, s);
    if (s->interactive) {
        lg_open_locals(L);
        lg_open_display(L, s);
        lg_open_comm(L);
        lg_open_interact(L);
        lg_open_history(L);
        lg_open_results(L);
    }
    open_gpu(L);
    if (o->options->extend) {
        lua_pushcfunction(L, o->options->extend);
        lua_call(L, 0, 0);
    }
    if (s->interactive) lg_document_stdlib(L); /* after what replaces os.exit */
    if (s->interactive) lg_set_checks(L, LG_CHECKS_SESSION);
    if (s->interactive) lg_note_globals(L);
    lua_gc(L, LUA_GCRESTART);
    /* Young garbage goes first, so that the memory of small arrays comes back while it is in the processor's caches. */
    lua_gc(L, LUA_GCGEN, 0, 0);
    return 0;
}

struct lg_session *lg_session_new(const struct lg_options *options)
{
    struct lg_session *s = rt_calloc(1, sizeof *s);
    if (!s) return NULL;
    s->sink = options->sink;
    s->interactive = options->interactive;
    s->hosted = options->hosted;
    if (s->interactive)
        s->history =
            options->history_of ? lg_history_share(options->history_of->history) : lg_history_new(options->history);
    s->L = luaL_newstate(); /* with Lua's own warnings, which plain Lua keeps */
    if (s->L) lua_setallocf(s->L, lg_heap_allocate, &s->heap);
    struct opening o = {s, options};
    bool stops = s->interactive && s->sink.stopped;
    if (s->sink.attend_beside) s->apart = lg_apart_new();
    if (!s->L || (stops && !lg_debug_new(s)) || !lg_protect(s, open_session, &o)) {
        lg_session_free(s);
        return NULL;
    }
    if (s->interactive) lg_heap_relieve(&s->heap);
    rt_mapped_survive();
    /* Read by rt_device_default at its first use, so that a device that is missing is reported there. */
    if (options->device) setenv("LUNARRAY_DEVICE", options->device, 1);
    return s;
}

void lg_session_free(struct lg_session *s)
{
    if (!s) return;
    if (s->L) lua_close(s->L);
    lg_heap_empty(&s->heap);
    lg_debug_free(s);
    lg_apart_free(s->apart);
    lg_arena_reset(&s->answers);
    lg_names_forget(s);
    lg_history_free(s->history);
    lg_buffer_release(&s->recalled);
    lg_buffer_release(&s->input);
    lg_buffer_release(&s->warning);
    free(s);
}

struct lua_State *lg_session_state(struct lg_session *s)
{
    return s->L;
}

bool lg_session_is_apart(const struct lg_session *s)
{
    return s->noted != NULL;
}

int lg_session_count(const struct lg_session *s)
{
    return s->count;
}
