/* Breakpoints, steps and stops. The hook itself is in lang/interrupt.c, with the other ones. */
#include "lang/debugger_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"

static const char step_key; /* registry: the coroutine that a step began in */

static void free_breakpoints(struct lg_breakpoints *b)
{
    while (b) {
        struct lg_breakpoints *next = b->next;
        free(b);
        b = next;
    }
}

bool lg_debug_new(struct lg_session *s)
{
    s->debugger = rt_calloc(1, sizeof *s->debugger);
    return s->debugger != NULL;
}

bool lg_debug_attach(struct lg_session *s)
{
    if (s->debugger) s->debugger->attached = true;
    return s->debugger != NULL;
}

void lg_debug_detach(struct lg_session *s)
{
    struct lg_debugger *d = s->debugger;
    if (!d) return;
    free_breakpoints(d->breakpoints);
    d->breakpoints = NULL;
    d->attached = d->at_errors = d->pause = d->armed = false;
    d->step = LG_GO_ON;
    lg_debug_forget(s);
    lg_rehook(s);
}

void lg_debug_free(struct lg_session *s)
{
    if (s->debugger) free_breakpoints(s->debugger->breakpoints);
    free(s->debugger);
    s->debugger = NULL;
}

/* Breakpoints. */

static bool same_source(const struct lg_debug_source *a, const struct lg_debug_source *b)
{
    if (a->chunk || b->chunk) return a->chunk && b->chunk && strcmp(a->chunk, b->chunk) == 0;
    return a->length == b->length && memcmp(a->text, b->text, a->length) == 0;
}

static void remove_source(struct lg_debugger *d, const struct lg_debug_source *source)
{
    for (struct lg_breakpoints **at = &d->breakpoints; *at; at = &(*at)->next) {
        struct lg_breakpoints *b = *at;
        if (!same_source(&b->source, source)) continue;
        *at = b->next;
        free(b);
        return;
    }
}

static struct lg_breakpoints *new_breakpoints(const struct lg_debug_source *source,
                                              const struct lg_debug_breakpoint *wanted, size_t count)
{
    size_t name = source->chunk ? strlen(source->chunk) + 1 : 0, texts = name + source->length + 1;
    for (size_t i = 0; i < count; i++) texts += wanted[i].condition ? strlen(wanted[i].condition) + 1 : 0;
    struct lg_breakpoints *b = rt_alloc(sizeof *b + count * sizeof *wanted + texts);
    if (!b) return NULL;
    char *to = (char *)(b->at + count);
    *b = (struct lg_breakpoints){.source = {name ? to : NULL, to + name, source->length}};
    if (name) memcpy(to, source->chunk, name);
    memcpy(to + name, source->text, source->length);
    to += name + source->length + 1;
    for (size_t i = 0; i < count; i++) {
        const char *condition = wanted[i].condition;
        if (!wanted[i].line) continue;
        b->at[b->count++] = (struct lg_debug_breakpoint){wanted[i].line, condition ? to : NULL};
        if (condition) to = stpcpy(to, condition) + 1;
    }
    return b;
}

bool lg_debug_set_breakpoints(struct lg_session *s, const struct lg_debug_source *source,
                              struct lg_debug_breakpoint *wanted, size_t count)
{
    struct lg_debugger *d = s->debugger;
    if (!d || !d->attached) return false;
    size_t last = 0;
    bool *active = count ? lg_active_lines(s, source, &last) : NULL;
    for (size_t i = 0; i < count; i++) {
        size_t line = wanted[i].line > 0 ? (size_t)wanted[i].line : 1;
        while (line <= last && !active[line]) line++;
        wanted[i].line = line <= last ? (int)line : 0;
    }
    free(active);
    struct lg_breakpoints *b = new_breakpoints(source, wanted, count);
    if (!b) return false;
    remove_source(d, source);
    if (b->count) {
        b->next = d->breakpoints;
        d->breakpoints = b;
    } else {
        free(b);
    }
    *d->passed = '\0';
    if (s->running) d->armed = true; /* it may be in the middle of them */
    lg_rehook(s);
    return true;
}

void lg_debug_stop_at_errors(struct lg_session *s, bool stop)
{
    if (s->debugger) s->debugger->at_errors = stop && s->debugger->attached;
}

bool lg_debug_pause(struct lg_session *s)
{
    struct lg_debugger *d = s->debugger;
    if (!d || !d->attached || !s->running || d->stopped) return false;
    d->pause = true;
    lg_rehook(s);
    return true;
}

void lg_debug_step(struct lg_session *s, enum lg_debug_step step)
{
    if (s->debugger && s->debugger->stopped) s->debugger->step = step;
}

bool lg_debug_is_stopped(const struct lg_session *s)
{
    return s->debugger && s->debugger->stopped;
}

/* Where the code that runs is. */

/* Whether breakpoints belong to the chunk of this name. */
static bool is_of(const struct lg_breakpoints *b, lua_State *L, const char *chunk)
{
    int top = lua_gettop(L);
    luaL_checkstack(L, 4, NULL);
    struct lg_debug_source here = {.chunk = *chunk == '@' ? chunk : NULL};
    if (!here.chunk) here.text = lg_chunk_source(L, chunk, &here.length);
    bool same = (here.chunk || here.text) && same_source(&b->source, &here);
    lua_settop(L, top);
    return same;
}

/* The one that the code has come to; NULL when there is none. */
static const struct lg_debug_breakpoint *at_breakpoint(const struct lg_debugger *d, lua_State *L, lua_Debug *ar)
{
    int line = ar->currentline;
    for (const struct lg_breakpoints *b = d->breakpoints; b; b = b->next) {
        for (size_t i = 0; i < b->count; i++) {
            if (b->at[i].line != line) continue;
            lua_getinfo(L, "S", ar);
            if (is_of(b, L, ar->source)) return &b->at[i];
            break;
        }
    }
    return NULL;
}

/* Whether the function that `ar` stands for, a call on co's stack, is of a chunk with breakpoints. */
static bool has_breakpoints(struct lg_debugger *d, lua_State *L, lua_State *co, lua_Debug *ar)
{
    lua_getinfo(co, "S", ar);
    if (*ar->what == 'C' || strcmp(ar->source, d->passed) == 0) return false;
    for (const struct lg_breakpoints *b = d->breakpoints; b; b = b->next)
        if (is_of(b, L, ar->source)) return true;
    if (strlen(ar->source) < sizeof d->passed) strcpy(d->passed, ar->source);
    return false;
}

static bool is_deeper(lua_State *L, int depth)
{
    lua_Debug ar;
    return lua_getstack(L, depth, &ar);
}

/* Whether a coroutine waits for one that it resumed. */
static bool is_waiting(lua_State *L)
{
    return lua_status(L) == LUA_OK && is_deeper(L, 0);
}

static bool step_is_done(const struct lg_debugger *d, lua_State *L)
{
    if (d->step == LG_GO_ON) return false;
    if (d->step == LG_STEP_IN) return true;
    if (L != d->step_from) return !is_waiting(d->step_from);
    return !is_deeper(L, d->step == LG_STEP_OVER ? d->step_depth : d->step_depth - 1);
}

/* Stops. */

static void collect_frames(struct lg_debugger *d, const struct lg_session *s, lua_State *L)
{
    const struct lg_resume *outer = s->resumes;
    d->frame_count = 0;
    for (; L; L = outer ? outer->from : NULL, outer = outer ? outer->outer : NULL) {
        lua_Debug ar;
        for (int level = 0; d->frame_count < LG_DEBUG_FRAMES && lua_getstack(L, level, &ar); level++) {
            if (!lua_getinfo(L, "S", &ar) || *ar.what == 'C') continue;
            d->frames[d->frame_count].L = L;
            d->frames[d->frame_count++].level = level;
        }
    }
}

struct stop {
    enum lg_stop why;
    const char *message;
};

static void call_stopped(struct lg_session *s, void *job)
{
    const struct stop *stop = job;
    s->sink.stopped(s->sink.context, stop->why, stop->message);
    lg_debug_forget(s);
}

/* Calls f aside, where the frames of what runs can be looked at. */
static void look_aside(struct lg_session *s, lua_State *L, void (*f)(struct lg_session *s, void *job), void *job)
{
    struct lg_debugger *d = s->debugger;
    collect_frames(d, s, L);
    d->stopped = L;
    d->stops++;
    lg_aside(s, f, job);
    d->stopped = NULL;
    d->frame_count = 0;
}

static void stop_here(struct lg_session *s, lua_State *L, enum lg_stop why, const char *message)
{
    struct lg_debugger *d = s->debugger;
    struct stop job = {why, message};
    d->pause = d->returned = false;
    d->step = LG_GO_ON;
    look_aside(s, L, call_stopped, &job);
    if (d->step == LG_STEP_OVER || d->step == LG_STEP_OUT) {
        d->step_from = L;
        d->step_depth = lg_last_level(L) + 1;
        lua_pushthread(L);
        lua_rawsetp(L, LUA_REGISTRYINDEX, &step_key);
    }
    lg_rehook(s);
}

struct condition {
    const char *code;
    bool holds;
    char failure[200];
};

static void take_truth(void *condition, const struct lg_debug_variable *v)
{
    struct condition *c = condition;
    if (strcmp(v->type, "error") == 0)
        snprintf(c->failure, sizeof c->failure, "the breakpoint's condition: %s", v->value);
    else
        c->holds = strcmp(v->type, "nil") != 0 && (strcmp(v->type, "boolean") != 0 || strcmp(v->value, "false") != 0);
}

static void test_condition(struct lg_session *s, void *job)
{
    struct condition *c = job;
    lg_debug_evaluate(s, 0, c->code, strlen(c->code), take_truth, c);
    lg_debug_forget(s);
}

static void come_to(struct lg_session *s, lua_State *L, const struct lg_debug_breakpoint *b)
{
    struct condition c = {.code = b->condition, .holds = true};
    if (c.code) look_aside(s, L, test_condition, &c);
    if (c.holds && !(c.code && atomic_load(&s->interrupted)))
        stop_here(s, L, LG_STOP_BREAKPOINT, *c.failure ? c.failure : NULL);
}

int lg_debug_mask(const struct lg_session *s)
{
    const struct lg_debugger *d = s->debugger;
    if (!d || s->attending) return 0;
    if (d->step == LG_STEP_OUT) return LUA_MASKLINE | LUA_MASKRET | (d->returned ? LUA_MASKCOUNT : 0);
    if (d->armed || d->pause || d->step != LG_GO_ON) return LUA_MASKLINE;
    return d->breakpoints ? LUA_MASKCALL : 0;
}

void lg_debug_resumes(struct lg_session *s, lua_State *L, lua_State *co)
{
    struct lg_debugger *d = s->debugger;
    lua_Debug ar;
    if (!d || !d->breakpoints || s->attending) return;
    for (int level = 0; !d->armed && lua_getstack(co, level, &ar); level++) d->armed = has_breakpoints(d, L, co, &ar);
}

void lg_debug_event(struct lg_session *s, lua_State *L, lua_Debug *ar)
{
    struct lg_debugger *d = s->debugger;
    if (!d || s->attending) return;
    if (ar->event == LUA_HOOKCALL || ar->event == LUA_HOOKTAILCALL) {
        if (!d->armed && has_breakpoints(d, L, L, ar)) d->armed = true;
        lg_rehook(s);
    } else if (ar->event == LUA_HOOKRET) {
        if (d->step != LG_STEP_OUT || L != d->step_from || is_deeper(L, d->step_depth)) return;
        d->returned = true;
        lg_rehook(s);
    } else if (d->pause) {
        stop_here(s, L, LG_STOP_PAUSE, NULL);
    } else if (step_is_done(d, L)) {
        stop_here(s, L, LG_STOP_STEP, NULL);
    } else if (ar->event == LUA_HOOKLINE) {
        const struct lg_debug_breakpoint *b = at_breakpoint(d, L, ar);
        if (b) come_to(s, L, b);
    }
}

void lg_debug_failed(struct lg_session *s, lua_State *L)
{
    if (!s->debugger || !s->debugger->at_errors || s->attending || !s->running || atomic_load(&s->interrupted)) return;
    const char *message = lua_type(L, 1) == LUA_TSTRING ? lua_tostring(L, 1) : luaL_typename(L, 1);
    stop_here(s, L, LG_STOP_ERROR, message);
}

void lg_debug_ended(struct lg_session *s)
{
    if (!s->debugger) return;
    s->debugger->pause = s->debugger->returned = s->debugger->armed = false;
    s->debugger->step = LG_GO_ON;
    s->debugger->step_from = NULL;
}
