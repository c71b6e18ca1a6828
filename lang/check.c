/* gpu.check: launches on the software GPU that say what is wrong with a kernel. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lang/check.h"
#include "lang/lexer.h"
#include "runtime/graph.h"
#include "runtime/uses.h"

#define SHOWN 10 /* reports in an error's text; all are in the list that gpu.check(f) gives */

/* The addresses are the keys in Lua's registry. */
static const char state_key, list_key, findings_key;

static struct state *watched; /* whose checks the races between streams are told to: the newest */
static void watch(struct state *s);

struct state {
    lua_State *L; /* the main thread */
    enum lg_checks checks;
    int paused;     /* so many times */
    int collecting; /* gpu.check(f) runs, so many inside each other */
    bool strict;    /* stores of one value race, too */
    struct races {
        size_t count, room;
        char **texts;
    } races; /* between streams, that these found */
};

static int close_state(lua_State *L)
{
    struct state *s = lua_touserdata(L, 1);
    if (watched == s) {
        rt_watch_races(NULL);
        watched = NULL;
    }
    while (s->races.count > 0) free(s->races.texts[--s->races.count]);
    free(s->races.texts);
    s->races.texts = NULL;
    return 0;
}

/* The Lua state's own, made at its first use. */
static struct state *state_of(lua_State *L)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &state_key);
    struct state *s = lua_touserdata(L, -1);
    lua_pop(L, 1);
    if (s) return s;
    s = lua_newuserdatauv(L, sizeof *s, 0);
    *s = (struct state){0};
    lg_set_event(L, "__gc", close_state);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &state_key);
    lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
    s->L = lua_tothread(L, -1);
    lua_pop(L, 1);
    watch(s);
    return s;
}

void lg_set_checks(lua_State *L, enum lg_checks checks)
{
    state_of(L)->checks = checks;
}

static int resume(lua_State *L)
{
    state_of(L)->paused--;
    return 0;
}

void lg_pause_checks(lua_State *L)
{
    struct state *s = state_of(L);
    lua_newtable(L);
    lg_set_event(L, "__close", resume);
    lua_toclose(L, -1);
    s->paused++;
}

/* Are launches on the device checked that do not say? */
static bool are_on(const struct state *s, const struct rt_device *d)
{
    return s->checks == LG_CHECKS_ON || (s->checks == LG_CHECKS_SESSION && d->kind == RT_SIMT);
}

/* ---- races between streams ---- */
static bool wants_races(void *context)
{
    const struct state *s = context;
    return s->collecting || (s->checks && !s->paused);
}

/* The nearest line of Lua that runs on the main thread; which calls a coroutine when one runs. */
static void write_place(void *context, bool function, char *out, size_t size)
{
    lua_State *L = ((const struct state *)context)->L;
    lua_Debug ar;
    size_t n = 0;
    if (function && lua_getstack(L, 0, &ar) && lua_getinfo(L, "n", &ar) && ar.name)
        n = (size_t)snprintf(out, size, "%s%s", ar.name, *ar.namewhat == 'm' && ar.namewhat[4] == 'm' ? "" : "()");
    for (int level = 0; n < size && lua_getstack(L, level, &ar); level++) {
        lua_getinfo(L, "Sl", &ar);
        if (ar.currentline <= 0) continue;
        snprintf(out + n, size - n, " at %s:%d", ar.short_src, ar.currentline);
        return;
    }
}

static bool found_race(void *context, const char *text)
{
    struct state *s = context;
    struct races *r = &s->races;
    if (!s->collecting) return true;
    if (r->count == r->room) {
        size_t room = r->room ? 2 * r->room : 8;
        char **larger = realloc(r->texts, room * sizeof *larger);
        if (!larger) return true;
        r->texts = larger;
        r->room = room;
    }
    char *copy = strdup(text);
    if (copy) r->texts[r->count++] = copy;
    return copy == NULL;
}

static void watch(struct state *s)
{
    watched = s;
    rt_watch_races(&(struct rt_watch){.context = s, .wanted = wants_races, .place = write_place, .race = found_race});
}

/* ---- reports as tables ---- */
static void set_text(lua_State *L, const char *key, const char *text)
{
    if (!text || !*text) return;
    lg_set_string(L, key, text);
}

static void set_position(lua_State *L, const char *key, const unsigned v[3])
{
    lua_createtable(L, 0, 3);
    for (int d = 0; d < 3; d++) lg_set_integer(L, (const char *[]){"x", "y", "z"}[d], v[d]);
    lua_setfield(L, -2, key);
}

static void set_party(lua_State *L, const struct rt_party *p)
{
    set_text(L, "file", p->file);
    set_text(L, "source", p->source);
    set_text(L, "access", p->access);
    if (p->line > 0) lg_set_integer(L, "line", p->line);
    if (p->column > 0) lg_set_integer(L, "column", p->column);
    set_position(L, "thread", p->thread);
    set_position(L, "block", p->block);
}

static void push_report(lua_State *L, const struct rt_report *r, const char *kernel)
{
    lua_createtable(L, 0, 18);
    set_text(L, "kind", r->kind);
    set_text(L, "message", r->message);
    set_text(L, "kernel", kernel);
    set_text(L, "space", r->space);
    set_text(L, "name", r->name);
    set_text(L, "hint", r->hint);
    lg_set_integer(L, "count", (lua_Integer)r->count);
    if (r->has_index) lg_set_integer(L, "index", r->index);
    if (r->has_index) lg_set_integer(L, "length", r->length);
    set_party(L, &r->first);
    char text[2048];
    rt_report_text(r, kernel, text, sizeof text);
    set_text(L, "text", text);
    if (r->given.line > 0) {
        lua_createtable(L, 0, 3);
        set_text(L, "file", r->given.file);
        set_text(L, "source", r->given.source);
        lg_set_integer(L, "line", r->given.line);
        lua_setfield(L, -2, "malloc");
    }
    if (!r->has_other) return;
    lua_createtable(L, 0, 6);
    set_party(L, &r->other);
    lua_setfield(L, -2, "other");
}

/* A fault that ended the launch, among the reports; its message is what the first line says behind the place. */
static void push_fault(lua_State *L, struct rt_error *e, const struct rt_party *at, const char *kernel)
{
    lua_createtable(L, 0, 11);
    set_text(L, "kind", "fault");
    char place[sizeof at->file + 16] = "";
    if (at->line) snprintf(place, sizeof place, "%s:%d: ", at->file, at->line);
    size_t skipped = strncmp(e->text, place, strlen(place)) == 0 ? strlen(place) : 0;
    lua_pushlstring(L, e->text + skipped, strcspn(e->text + skipped, "\n"));
    lua_setfield(L, -2, "message");
    set_text(L, "text", e->text);
    set_text(L, "kernel", kernel);
    lg_set_integer(L, "count", 1);
    set_party(L, at);
    rt_error_clear(e);
}

/* ---- launches ---- */
static int clear_findings(lua_State *L)
{
    rt_findings_clear(lua_touserdata(L, 1));
    return 0;
}

/* The state's findings, empty. */
static struct rt_findings *findings_box(lua_State *L)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &findings_key);
    struct rt_findings *f = lua_touserdata(L, -1);
    if (!f) {
        f = lua_newuserdatauv(L, sizeof *f, 0);
        *f = (struct rt_findings){0};
        lg_set_event(L, "__gc", clear_findings);
        lua_pushvalue(L, -1);
        lua_rawsetp(L, LUA_REGISTRYINDEX, &findings_key);
        lua_remove(L, -2);
    }
    lua_pop(L, 1);
    rt_findings_clear(f);
    return f;
}

static void add_to_list(lua_State *L, int list, const struct rt_findings *f, const char *kernel)
{
    for (size_t i = 0; i < f->count; i++) {
        push_report(L, &f->items[i], kernel);
        lua_rawseti(L, list, (lua_Integer)lua_rawlen(L, list) + 1);
    }
}

static void push_findings(lua_State *L, const struct rt_findings *f, const char *kernel, const char *end)
{
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    for (size_t i = 0; i < f->count && i < SHOWN; i++) {
        char text[2048];
        rt_report_text(&f->items[i], kernel, text, sizeof text);
        if (i) luaL_addchar(&b, '\n');
        luaL_addstring(&b, text);
    }
    if (f->count > SHOWN) {
        lua_pushfstring(L, "\nand %d reports more; gpu.check(function() ... end) gives all of them as a list",
                        (int)(f->count - SHOWN));
        luaL_addvalue(&b);
    }
    luaL_addstring(&b, end);
    luaL_pushresult(&b);
}

static int raise_findings(lua_State *L, const struct rt_findings *f, const char *kernel, bool unasked)
{
    push_findings(L, f, kernel,
                  unasked ? "\n  the kernel ran to its end; gpu.check(false) launches without checks" : "");
    lg_note_status(L, RT_FAULT);
    return lua_error(L);
}

/* What was found before the kernel was stopped, or failed, may be why it had no end, or did. */
static void add_findings(lua_State *L, const struct rt_findings *f, const char *kernel, struct rt_error *e)
{
    push_findings(L, f, kernel, "");
    rt_fail(e, e->status, "%s; until then:\n%s", e->text, lua_tostring(L, -1));
    lua_pop(L, 1);
}

/* How launches are checked that do not say. */
struct policy {
    bool on, strict;
    bool unasked; /* it is the session's way, not the user's wish */
    int list;     /* on the stack: gpu.check(f)'s, which gets what is found; 0: it is an error */
};

/* May push the list. */
static struct policy find_policy(lua_State *L, const struct rt_device *d)
{
    const struct state *s = state_of(L);
    struct policy p = {.strict = s->strict};
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &list_key) == LUA_TTABLE)
        p.list = lua_gettop(L);
    else
        lua_pop(L, 1);
    p.on = p.list || (are_on(s, d) && !s->paused);
    p.unasked = !p.list && s->checks == LG_CHECKS_SESSION;
    return p;
}

/* Tells what a checked launch of the kernel found, and how it ended, and forgets it; `asked` is what its configuration
 * says of checks. */
static void tell_findings(lua_State *L, const struct policy *p, enum rt_checked asked, struct rt_findings *f,
                          const char *kernel, enum rt_status status)
{
    struct rt_error *e = lg_error_box(L);
    if (p->list) {
        add_to_list(L, p->list, f, kernel);
        if (f->faulted) {
            push_fault(L, e, &f->fault, kernel);
            lua_rawseti(L, p->list, (lua_Integer)lua_rawlen(L, p->list) + 1);
            status = RT_OK;
        }
    }
    if (status != RT_OK && f->count) add_findings(L, f, kernel, e);
    if (status != RT_OK) lg_raise_kernel(L, e);
    if (!p->list && f->count) raise_findings(L, f, kernel, p->unasked && asked == RT_CHECKED_DEFAULT);
    rt_findings_clear(f);
}

int lg_run_call(lua_State *L, struct lg_call *call)
{
    struct rt_error *e = lg_error_box(L);
    const struct policy p = find_policy(L, call->device);
    struct rt_launch *l = &call->launch;
    struct rt_findings *f = rt_is_checked(l->checked, p.on) ? findings_box(L) : NULL;
    l->findings = f;
    l->strict = l->checked == RT_CHECKED_STRICT || p.strict;
    enum rt_status status = rt_kernel_launch(call->on, l, call->args, call->count, e);
    if (f)
        tell_findings(L, &p, l->checked, f, call->on->entry->name, status);
    else if (status != RT_OK)
        return lg_raise_kernel(L, e);
    return 0;
}

void lg_run_graph(lua_State *L, struct rt_graph **g, struct rt_stream *s)
{
    struct rt_error *e = lg_error_box(L);
    struct rt_device *d = rt_graph_device(*g);
    const struct policy p = find_policy(L, d);
    struct rt_graph_run run = {.checked = p.on, .strict = p.strict, .findings = findings_box(L)};
    do {
        if (!*g) luaL_error(L, "the graph was freed while it was launched"); /* by somebody's __gc */
        struct rt_stream *former = rt_stream_enter(d, s);
        enum rt_status status = rt_graph_launch(*g, &run, e);
        rt_stream_enter(d, former);
        if (!run.kernel && status != RT_OK) lg_raise_kernel(L, e);
        if (run.kernel) tell_findings(L, &p, run.asked, run.findings, run.kernel->entry->name, status);
    } while (run.next);
}

/* ---- gpu.check ---- */
/* Sets the fields message and hint of the table on top: a race's first line, less its kind, and the line below it. */
static void set_race(lua_State *L, const char *kind, const char *text)
{
    size_t n = strlen(kind), first = strcspn(text, "\n");
    size_t skipped = strncmp(text, kind, n) == 0 && text[n] == ':' ? n + 2 : 0;
    lua_pushlstring(L, text + skipped, first - skipped);
    lua_setfield(L, -2, "message");
    if (text[first]) set_text(L, "hint", text + first + strspn(text + first, "\n "));
}

/* Adds the races from the first one on to the list at idx, and forgets them. */
static void take_races(lua_State *L, int list, size_t first)
{
    struct races *r = &state_of(L)->races;
    for (size_t i = first; i < r->count; i++) {
        lua_createtable(L, 0, 5);
        set_text(L, "kind", "race between streams");
        set_text(L, "text", r->texts[i]);
        set_race(L, "race between streams", r->texts[i]);
        lg_set_integer(L, "count", 1);
        lua_rawseti(L, list, (lua_Integer)lua_rawlen(L, list) + 1);
    }
    while (r->count > first) free(r->texts[--r->count]);
}

static bool is_strict(lua_State *L, int idx)
{
    return lua_type(L, idx) == LUA_TSTRING && !strcmp(lua_tostring(L, idx), "strict");
}

/* What came instead, for messages. */
static const char *shown(lua_State *L, int idx)
{
    if (lua_type(L, idx) != LUA_TSTRING) return lg_type_name(L, idx);
    return lua_pushfstring(L, "\"%s\"", lua_tostring(L, idx));
}

static int collect(lua_State *L)
{
    struct state *s = state_of(L);
    size_t before = s->races.count;
    bool was_strict = s->strict, strict = is_strict(L, 2);
    if (!strict && !lua_isnoneornil(L, 2))
        return luaL_error(L, "check: behind the function expected \"strict\" or nothing, got %s", shown(L, 2));
    lua_settop(L, 1);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &list_key); /* 2: the list around this one, or nil */
    lua_newtable(L);                              /* 3 */
    lg_set_findings(L);
    lua_pushvalue(L, 3);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &list_key);
    lua_pushvalue(L, 1);
    s->collecting++;
    s->strict |= strict;
    int status = lua_pcall(L, 0, 0, 0);
    s->strict = was_strict;
    s->collecting--;
    take_races(L, 3, before);
    lua_pushvalue(L, 2);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &list_key);
    if (status != LUA_OK) return lua_error(L);
    lua_settop(L, 3);
    return 1;
}

/* Whether that line of the source calls check with a call in its parentheses. */
static bool has_call_inside(const char *source, size_t length, int line)
{
    struct lg_lexer x;
    struct lg_token t, before = {0};
    lg_lexer_init(&x, source, length);
    for (bool named = false; lg_lexer_code(&x, &t) && t.line <= line; named = lg_token_is(&x, &t, "check")) {
        if (!named || t.line != line || !lg_token_is(&x, &t, "(")) continue;
        for (int open = 1; open > 0 && lg_lexer_code(&x, &t); open -= lg_token_is(&x, &t, ")")) {
            if (open == 1 && lg_token_is(&x, &t, ")")) return lg_token_is(&x, &before, ")");
            open += lg_token_is(&x, &t, "(");
            before = t;
        }
        return false;
    }
    return false;
}

/* gpu.check(k(1, 32)(x)): a launch gives no value, so it looks as gpu.check() does, whose true is no verdict. */
static void refuse_launch_inside(lua_State *L)
{
    lua_Debug ar;
    size_t length;
    if (lua_gettop(L) > 0 || !lua_getstack(L, 1, &ar) || !lua_getinfo(L, "Sl", &ar) || ar.currentline < 1) return;
    const char *source = lg_chunk_source(L, ar.source, &length);
    if (source && has_call_inside(source, length, ar.currentline))
        luaL_error(L, "check: function expected, got no value; what is checked is called here, as in "
                      "gpu.check(function() k(grid, block)(x) end)");
    lua_settop(L, 0);
}

static int check(lua_State *L)
{
    if (lua_isfunction(L, 1)) return collect(L);
    refuse_launch_inside(L);
    struct state *s = state_of(L);
    bool before = s->checks && are_on(s, lg_check_device(L, 2)), was_strict = s->strict;
    if (!lua_isnoneornil(L, 1)) {
        if (!lua_isboolean(L, 1) && !is_strict(L, 1))
            return luaL_error(L, "check: expected true, false, \"strict\" or a function, got %s", shown(L, 1));
        lg_set_checks(L, lua_toboolean(L, 1) ? LG_CHECKS_ON : LG_CHECKS_OFF);
        s->strict = is_strict(L, 1);
    }
    if (before && was_strict)
        lua_pushliteral(L, "strict");
    else
        lua_pushboolean(L, before);
    return 1;
}

static const struct lg_function functions[] = {
    {"check", check, "gpu.check([true | false | \"strict\" | f[, \"strict\"]])",
     "Launches on the software GPU that say what is wrong with a kernel: out of bounds and misaligned accesses, use of "
     "freed and of never written memory (of malloc and new in kernels, too), data races in shared and global memory and through surfaces and textures, barriers that not all threads reach, "
     "lanes missing from a _sync mask, shuffles by index or xor that read a lane which takes no part, integer division by zero.\n"
     "In the shell and in notebooks launches on the software GPU are checked, in scripts they are not; those of a graph are checked when "
     "it is launched. gpu.check(true) and gpu.check(false) switch the checks for all launches and give "
     "back what they were; what gpu.time, gpu.benchmark, %time and %timeit measure is checked in neither case, unless gpu.check(f) or the launch's own option asks for it; gpu.check() tells. k(grid, block, {check = true}), false or \"strict\" is for one launch, and "
     "gpu.check(false) in init.lua for all sessions. With "
     "checks on, a launch that finds something raises an error that lists it; the kernel ran to its end, without the "
     "accesses that were wrong. It mostly takes one to two times as long, up to six where places come from data (to twenty, "
     "where those are of bytes or halves of shared memory), up to eight in "
     "trees that threads change, two to ten where lanes that meet by a mask, or warps at barriers by number or mbarriers, share memory, three to fifteen where "
     "locks, flags or a barrier of the grid (of some 250 blocks at most: of more it takes longer) order what is in global memory (to twenty-five, where each thread awaits several others), and in loops around a compare-and-swap at an array that is also touched plainly, and up to some twenty-five "
     "where that is neither an argument nor a variable. A GPU has no "
     "checks: asked for them by true, a launch on one is an error.\n"
     "gpu.check(f) calls f with checks on and gives a list of what was found in its launches, empty when nothing was, "
     "which shows itself in words: tables with kind, message, hint, text (the whole report), kernel, file, line, column, source (the line's text), access (\"read\", "
     "\"write\", \"read and write\", \"atomic\" or \"free\"), space, name, index and length (in elements, from 0), thread and block (tables of x, y, "
     "z), count, and of a second thread, where one takes part, the same in other; of what malloc gave, malloc has file, line and source of the call. kind is \"out of bounds\", "
     "\"misaligned\", \"use after free\", \"invalid free\", \"uninitialized read\", \"race\", \"block not running\" (of a cluster), \"barrier divergence\", \"missing lane\", "
     "\"division by zero\", or \"fault\" for what ends a kernel, such as an assertion.\n"
     "A barrier of the block is for all of its threads, in one place: who has returned, or waits in another branch, is a divergence. CUDA's guide asks for that, "
     "and GPUs before Volta hang or go on too early, where later ones no longer wait for threads that have ended.\n"
     "A race is two accesses by different threads to the same memory, not both reads or both atomic, that no barrier, "
     "and no fence with an atomic, puts in order, whichever came first; lanes of one warp are not in step. Who reads what "
     "was written by an atomic or a volatile access, or made of it by further atomics, comes behind what the writer had done and seen before its last fence, and behind nothing else "
     "(in a launch where too many do so, after some millions of steps, behind all that was released until then). A fence of block scope (__threadfence_block()) does so for the threads of its block; who reads needs none. Writes of "
     "the same value are no race, unless the checks are \"strict\": by the PTX memory model they are. What cp.async, cp.async.bulk and tcgen05.mma read and write races with whoever touches it before it was waited for; who waits for a phase of an mbarrier comes behind those that arrived in it; wgmma.wait_group counts as a barrier of its four warps. What is found does not depend on the order that threads ran in, except that it is of the ways that they went, "
     "by what the atomics of others had left where they looked; that, unless the checks are strict, a race may be passed over where two threads leave one value in a place: that of the one's store with what the other, or a thread that it comes behind, "
     "did there before, if that was to read or to store another value; and, where some threads of a block meet or release, not all, "
     "two threads that read a word of shared memory stand for others from the thousandth access since all met. "
     "\"race between streams\" is told on every device, of array operations and copies, too: see gpu.stream.",
     "local shift = gpu.kernel [[\n"
     "  __global__ void shift(float *x) {\n"
     "    __shared__ float s[64];\n"
     "    s[threadIdx.x] = x[threadIdx.x];\n"
     "    x[threadIdx.x] = s[63 - threadIdx.x];   // no __syncthreads() before it\n"
     "  }\n"
     "]]\n"
     "local x = gpu.ones(64, {device = \"simt\"})\n"
     "local found = gpu.check(function() shift(1, 64)(x) end)\n"
     "assert(found[1].kind == \"race\" and found[1].name == \"s\")\n"
     "print(found[1].message, found[1].hint)"},
    {0}};

void lg_open_check(lua_State *L)
{
    state_of(L); /* that races are told to */
    lg_register(L, "gpu", functions);
}
