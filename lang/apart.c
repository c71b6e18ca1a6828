/* What is known of a session while its interpreter is in one call that does not lend it (lang/beside.c): a full
 * collection of a large heap, string.rep or table.concat of gigabytes, a module in C. When a cell begins, the names of
 * the user's variables are noted with what they are, and the open comms. A second session, made when it is first asked,
 * has Lua's own library and ours, with their documentation, and in the place of each variable a table that says what
 * was noted. It completes, inspects, reads the history and lists comms like any other session; what is in a table of
 * the user's it does not know. */
#include "lang/session_state.h"

#include <stdlib.h>
#include <string.h>
#include "lang/apart.h"
#include "lang/lookup.h"
#include "runtime/host.h"
#include "runtime/memory.h"

#define MOST     1000                 /* names noted */
#define EVERY_NS ((int64_t)500000000) /* cells that follow each other sooner share what was noted */

struct noted {
    struct noted *next;
    const char *name, *kind, *note; /* of a variable; kind is NULL for a comm, and note its target */
    bool is_state;                  /* note is what answers request_state for the comm */
};

struct lg_apart {
    pthread_mutex_t lock;
    struct lg_arena texts;
    struct noted *first;
    int count;
    int64_t when; /* of CLOCK_MONOTONIC; 0: never */
    bool news;    /* since the second session was told */
    struct lg_session *second;
};

struct lg_apart *lg_apart_new(void)
{
    struct lg_apart *a = rt_calloc(1, sizeof *a);
    if (a) pthread_mutex_init(&a->lock, NULL);
    return a;
}

void lg_apart_free(struct lg_apart *a)
{
    if (!a) return;
    lg_session_free(a->second);
    lg_arena_reset(&a->texts);
    pthread_mutex_destroy(&a->lock);
    free(a);
}

/* Noting, on the session's thread. */

static void add(struct lg_apart *a, const char *name, const char *kind, const char *note)
{
    struct noted *n = a->count < MOST ? lg_arena_get(&a->texts, sizeof *n) : NULL;
    if (!n) return;
    *n = (struct noted){.next = a->first,
                        .name = lg_arena_text(&a->texts, name, strlen(name)),
                        .kind = kind ? lg_arena_text(&a->texts, kind, strlen(kind)) : NULL,
                        .note = lg_arena_text(&a->texts, note, strlen(note))};
    if (!n->name || !n->note || (kind && !n->kind)) return;
    a->first = n;
    a->count++;
}

static int note_variables(lua_State *L)
{
    struct lg_apart *a = lua_touserdata(L, 1);
    char note[256];
    lg_push_variables(L);
    for (lua_pushnil(L); a->count < MOST && lua_next(L, 2); lua_settop(L, 3)) {
        if (lua_type(L, 3) != LUA_TSTRING) continue;
        const char *kind = lg_describe(L, 4, note, sizeof note);
        add(a, lua_tostring(L, 3), kind, note);
    }
    return 0;
}

static void note_comm(void *context, const char *id, const char *target)
{
    add(context, id, NULL, target);
}

static void note_state(void *context, const char *id, const char *answer)
{
    struct lg_apart *a = context;
    const struct noted *before = a->first;
    add(a, id, NULL, answer);
    if (a->first != before) a->first->is_state = true;
}

void lg_apart_note(struct lg_session *s)
{
    struct lg_apart *a = s->apart;
    int64_t time = rt_now_ns();
    if (!a || s->attending || (a->when && time - a->when < EVERY_NS)) return;
    pthread_mutex_lock(&a->lock);
    lg_arena_reset(&a->texts);
    a->first = NULL;
    a->count = 0;
    lg_protect(s, note_variables, a);
    lg_session_comms(s, NULL, note_comm, a);
    lg_session_comm_states(s, note_state, a);
    a->when = rt_now_ns();
    a->news = true;
    pthread_mutex_unlock(&a->lock);
}

/* The second session, on the thread that asks. */

/* A table of the methods of arrays, for what stands for one. */
static void push_array_methods(lua_State *L)
{
    static const char key;
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &key) == LUA_TTABLE) return;
    lua_pop(L, 1);
    lua_newtable(L);
    int methods = lua_gettop(L);
    luaL_getmetatable(L, LG_ARRAY);
    lua_getfield(L, -1, "__index");
    int index = lua_gettop(L);
    for (int i = 1; lua_getupvalue(L, index, i); lua_settop(L, index), i++) {
        if (!lua_istable(L, -1)) continue;
        for (lua_pushnil(L); lua_next(L, index + 1);) {
            lua_pushvalue(L, -2);
            lua_insert(L, -2);
            if (lua_isfunction(L, -1))
                lua_rawset(L, methods);
            else
                lua_pop(L, 2);
        }
    }
    lua_settop(L, methods);
    lua_pushvalue(L, methods);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &key);
}

static const char noted_key; /* in the metatable of what stands for a variable: what it is */

static void push_stand_in(lua_State *L, const struct noted *n)
{
    lua_newtable(L);
    lua_newtable(L);
    lua_pushlightuserdata(L, (void *)(uintptr_t)n);
    lua_rawsetp(L, -2, &noted_key);
    if (strcmp(n->kind, "array") == 0)
        push_array_methods(L);
    else if (strcmp(n->kind, "string") == 0)
        lua_getglobal(L, "string");
    else
        lua_newtable(L);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
}

/* Takes away what stood for variables before, and puts what was noted now. */
static int tell(lua_State *L)
{
    static const char names_key;
    const struct lg_apart *a = lua_touserdata(L, 1);
    lua_pushglobaltable(L);
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &names_key) == LUA_TTABLE)
        for (lua_pushnil(L); lua_next(L, 3); lua_pop(L, 1)) {
            lua_pushvalue(L, -2);
            lua_pushnil(L);
            lua_rawset(L, 2);
        }
    lua_settop(L, 2);
    lua_newtable(L);
    lua_pushvalue(L, 3);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &names_key);
    for (const struct noted *n = a->first; n; n = n->next) {
        if (!n->kind) continue;
        push_stand_in(L, n);
        lua_setfield(L, 2, n->name);
        lua_pushboolean(L, true);
        lua_setfield(L, 3, n->name);
    }
    return 0;
}

static void ignore(void *context, enum lg_stream which, const char *text, size_t length)
{
    (void)context, (void)which, (void)text, (void)length;
}

bool lg_session_apart(struct lg_session *s, bool (*f)(struct lg_session *second, void *context), void *context)
{
    struct lg_apart *a = s->apart;
    if (!a) return false;
    pthread_mutex_lock(&a->lock);
    if (!a->second) {
        const struct lg_options options = {.sink.stream = ignore, .interactive = true, .history_of = s};
        a->second = lg_session_new(&options);
        a->news = true;
    }
    if (a->second && a->news) a->news = !lg_protect(a->second, tell, a);
    bool good = a->second && !a->news;
    if (good) {
        a->second->noted = a;
        good = f(a->second, context);
    }
    pthread_mutex_unlock(&a->lock);
    return good;
}

bool lg_push_noted(lua_State *L, int idx, const char **kind)
{
    const struct lg_session *s = lg_session_of(L);
    if (!s || !s->noted || !lua_istable(L, idx) || !lua_getmetatable(L, idx)) return false;
    lua_rawgetp(L, -1, &noted_key);
    const struct noted *n = lua_touserdata(L, -1);
    lua_pop(L, 2);
    if (!n) return false;
    *kind = n->kind;
    lua_pushstring(L, n->note);
    return true;
}

void lg_noted_comms(const struct lg_apart *a, const char *target,
                    void (*visit)(void *context, const char *id, const char *target), void *context)
{
    for (const struct noted *n = a->first; n; n = n->next)
        if (!n->kind && !n->is_state && (!target || strcmp(target, n->note) == 0)) visit(context, n->name, n->note);
}

void lg_noted_states(const struct lg_apart *a, void (*visit)(void *context, const char *id, const char *answer),
                     void *context)
{
    for (const struct noted *n = a->first; n; n = n->next)
        if (n->is_state) visit(context, n->name, n->note);
}

const char *lg_session_comm_state(const struct lg_session *s, const char *id)
{
    for (const struct noted *n = s->noted ? s->noted->first : NULL; n; n = n->next)
        if (n->is_state && strcmp(n->name, id) == 0) return n->note;
    return NULL;
}
