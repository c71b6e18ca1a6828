/* Stopping what a session runs, and answering other requests meanwhile. A hook on the running coroutine raises
 * "interrupted", or calls the sink; nothing is hooked before, so running code pays nothing. Setting a hook is safe only
 * on the thread that runs the state, so other threads send that thread a signal whose handler sets it. */
#include "lang/debugger_state.h"

#include <signal.h>
#include <string.h>
#include "runtime/interrupt.h"

/* Delivered to the session's thread only by pthread_kill below; its default action is to be ignored. */
#define WAKE_SIGNAL SIGURG
/* Likewise; a read that waits goes on after it. */
#define ATTENTION_SIGNAL SIGWINCH

/* After the first raise, handlers of <close> variables may run this many instructions before the next one. */
#define GRACE_INSTRUCTIONS 1000000

/* Callers that are searched for xpcall; each search begins anew. */
#define HANDLER_LEVELS 5000

static _Thread_local struct lg_session *volatile current;

static int give_back(lua_State *L)
{
    lua_settop(L, 1);
    return 1;
}

/* What a hook raises goes to the handler of xpcall before the hook has ended, and until then Lua calls no other: a
 * handler without an end could not be stopped. So the innermost one that is written in Lua sees no interrupt. */
static void pass_handler(lua_State *L, lua_CFunction xpcall)
{
    lua_Debug ar;
    for (int level = 0; level < HANDLER_LEVELS && lua_getstack(L, level, &ar); level++) {
        lua_getinfo(L, "f", &ar);
        bool found = lua_tocfunction(L, -1) == xpcall;
        lua_pop(L, 1);
        if (!found) continue;
        if (!lua_getlocal(L, &ar, 2)) return;
        bool written = !lua_iscfunction(L, -1);
        lua_pop(L, 1);
        lua_pushcfunction(L, give_back);
        if (!written || !lua_setlocal(L, &ar, 2)) lua_pop(L, 1);
        return;
    }
}

static void raise_interrupted(lua_State *L, lua_Debug *ar)
{
    (void)ar;
    struct lg_session *s = current;
    if (!s || !atomic_load(&s->interrupted)) { /* a hook left over in a coroutine of an earlier cell */
        lua_sethook(L, NULL, 0, 0);
        if (s) lg_rehook(s);
        return;
    }
    /* A pcall in the cell may swallow this. The hook stays, so that the next raise comes, and from the third on it
     * comes at every instruction, which nothing survives. */
    s->interrupts_raised++;
    lua_sethook(L, raise_interrupted, LUA_MASKCOUNT, s->interrupts_raised == 1 ? GRACE_INSTRUCTIONS : 1);
    if (!s->plain) pass_handler(L, s->xpcall);
    luaL_error(L, s->plain ? "interrupted!" : "interrupted");
}

/* What a call that was stopped says is left to its handler, as what the hook says. But a loop that swallows these would
 * take its time in each call and reach the end of the grace after hours. */
void lg_count_interrupt(void)
{
    struct lg_session *s = current;
    if (!s || !s->running || !atomic_load(&s->interrupted)) return;
    lua_sethook(s->running, raise_interrupted, LUA_MASKCOUNT, ++s->interrupts_raised > 1 ? 1 : GRACE_INSTRUCTIONS);
}

/* Plain Lua is stopped where a stock lua stops it: also as a function is called or returns. */
static int interrupt_mask(const struct lg_session *s)
{
    return s->plain ? LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT : LUA_MASKCOUNT;
}

/* Async-signal-safe on the session's own thread, as lua.c does it: lua_sethook only writes fields and marks the frames
 * that are active. The interpreter may be writing them, too, and the hook be lost, so a second request sets it anew. */
static void hook_running(struct lg_session *s)
{
    lua_State *L = s->running;
    if (L && (lua_gethook(L) != raise_interrupted || s->interrupts_raised == 0))
        lua_sethook(L, raise_interrupted, interrupt_mask(s), 1);
}

static void on_wake(int signal)
{
    (void)signal;
    struct lg_session *s = current;
    if (s && atomic_load(&s->interrupted)) hook_running(s);
}

static void attend_hook(lua_State *L, lua_Debug *ar);
static void debug_hook(lua_State *L, lua_Debug *ar);

/* As hook_running; an interrupt comes first, and hooks of the user's own stay. */
static void hook_attention(struct lg_session *s)
{
    lua_State *L = s->running;
    if (!L || s->attending || !s->sink.attend) return;
    lua_Hook hook = lua_gethook(L);
    if (!hook || hook == attend_hook) lua_sethook(L, attend_hook, LUA_MASKCOUNT, 1);
    /* The debugger's stays, or it would not see the call of code with a breakpoint in its first line. */
    int mask = lua_gethookmask(L);
    if (hook == debug_hook && !(mask & LUA_MASKLINE)) lua_sethook(L, debug_hook, mask | LUA_MASKCOUNT, 1);
}

/* Puts the debugger's hook where it is wanted, and takes it away where it is not; hooks of the user's own stay. */
static void hook_debugger(struct lg_session *s)
{
    lua_State *L = s->running;
    if (!s->debugger || !L || (lua_gethook(L) && lua_gethook(L) != debug_hook)) return;
    int mask = lg_debug_mask(s);
    if (mask || lua_gethook(L)) lua_sethook(L, mask ? debug_hook : NULL, mask, 1);
}

/* The order matters: an interrupt that came before has its hook overwritten, and is seen by the test after it. */
void lg_rehook(struct lg_session *s)
{
    hook_debugger(s);
    atomic_signal_fence(memory_order_seq_cst);
    if (atomic_load(&s->interrupted))
        hook_running(s);
    else if (atomic_load(&s->attention))
        hook_attention(s);
}

/* Enters or leaves a coroutine. The order matters: an interrupt that came before `running` changed has hooked the other
 * one, and is seen by the test after it. */
static void set_running(struct lg_session *s, lua_State *L)
{
    s->running = L;
    atomic_signal_fence(memory_order_seq_cst);
    lg_rehook(s);
}

/* What the cell's report is made of so far is kept: functions that close variables run between an error and its
 * report. */
void lg_aside(struct lg_session *s, void (*f)(struct lg_session *s, void *job), void *job)
{
    lua_State *L = s->L, *running = s->running;
    struct lg_arena answers = s->answers;
    struct lg_error error = s->error;
    int frame_count = s->frame_count, frame_line = s->frame_line;
    const char *frames[LG_TRACE_FRAMES + 1];
    char chunk[sizeof s->chunk];
    memcpy(frames, s->frames, sizeof frames);
    memcpy(chunk, s->chunk, sizeof chunk);
    s->answers = (struct lg_arena){NULL};
    s->attending = true;
    s->L = s->side;
    set_running(s, s->side);
    f(s, job);
    lg_arena_reset(&s->answers);
    s->answers = answers;
    s->error = error;
    s->frame_count = frame_count;
    s->frame_line = frame_line;
    memcpy(s->frames, frames, sizeof frames);
    memcpy(s->chunk, chunk, sizeof chunk);
    s->L = L;
    s->attending = false;
    set_running(s, running);
}

static void serve(struct lg_session *s, void *job)
{
    (void)job;
    do atomic_store(&s->attention, false);
    while (s->sink.attend(s->sink.context), atomic_load(&s->attention));
}

/* Not between an interrupt and the end of what it is for: it would end what is served in its place. */
static void attend(struct lg_session *s)
{
    if (atomic_load(&s->interrupted)) return;
    if (!s->attending && s->sink.attend && s->side) lg_aside(s, serve, NULL);
}

/* At every line, or at calls, or at the next instruction for a request that waits, which it answers. */
static void debug_hook(lua_State *L, lua_Debug *ar)
{
    struct lg_session *s = current;
    if (!s || !lg_debug_mask(s)) { /* left over in a coroutine, or in what runs aside */
        if (!s || !s->attending) lua_sethook(L, NULL, 0, 0);
        return;
    }
    if (atomic_load(&s->attention)) attend(s);
    /* What waited may have been answered elsewhere. */
    if (ar->event == LUA_HOOKCOUNT && lua_gethookmask(L) != lg_debug_mask(s)) lg_rehook(s);
    lg_debug_event(s, L, ar);
    if (atomic_load(&s->interrupted)) raise_interrupted(L, ar); /* while it was stopped: not one instruction later */
}

static void attend_hook(lua_State *L, lua_Debug *ar)
{
    (void)ar;
    struct lg_session *s = current;
    lua_sethook(L, NULL, 0, 0);
    if (!s) return;
    if (atomic_load(&s->attention)) attend(s);
    lg_debug_resumes(s, L, L);         /* it was called while this hook was in the place of the debugger's */
    if (s->running == L) lg_rehook(s); /* a signal in the middle of the removal may have come in vain */
}

static void on_attention(int signal)
{
    (void)signal;
    struct lg_session *s = current;
    if (s && atomic_load(&s->attention)) hook_attention(s);
}

void lg_session_attend(struct lg_session *s)
{
    bool left = true;
    atomic_store(&s->attention, true);
    if (!atomic_load(&s->evaluating) || (lg_answer_beside(s, &left) && !left)) return;
    pthread_kill(s->thread, ATTENTION_SIGNAL);
}

void lg_session_meanwhile(struct lg_session *s)
{
    if (s->running) attend(s);
}

void lg_open_side(lua_State *L, struct lg_session *s)
{
    static const char key;
    s->side = lua_newthread(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &key);
}

void lg_session_interrupt(struct lg_session *s)
{
    if (!atomic_load(&s->evaluating)) return;
    atomic_store(&s->interrupted, true);
    rt_interrupt();
    if (pthread_equal(pthread_self(), s->thread)) {
        hook_running(s);
    } else {
        pthread_kill(s->thread, WAKE_SIGNAL);
    }
}

bool lg_session_stopping(struct lg_session *s)
{
    return atomic_load(&s->evaluating) && atomic_load(&s->interrupted);
}

static void handle(int number, void (*handler)(int), int flags)
{
    struct sigaction old, action = {.sa_handler = handler, .sa_flags = flags};
    if (sigaction(number, NULL, &old) != 0 || old.sa_handler == handler) return;
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

void lg_interrupt_begin(struct lg_session *s)
{
    if (s->attending) return;        /* what the cell around it began goes on */
    handle(WAKE_SIGNAL, on_wake, 0); /* no SA_RESTART: a read that waits comes back */
    if (s->sink.attend) handle(ATTENTION_SIGNAL, on_attention, SA_RESTART);
    s->thread = pthread_self();
    s->running = s->L;
    s->interrupts_raised = 0;
    current = s;
    if (s->sink.attend_beside) rt_owned = &s->loan;
    rt_interrupt_clear();
    atomic_store(&s->interrupted, false);
    atomic_store(&s->evaluating, true);
    lg_debug_forget(s);
    lg_rehook(s);
}

void lg_interrupt_end(struct lg_session *s)
{
    if (s->attending) return;
    atomic_store(&s->evaluating, false);
    current = NULL;
    rt_owned = NULL;
    s->running = NULL;
    lg_debug_ended(s);
    lua_sethook(s->L, NULL, 0, 0);
    rt_interrupt_clear();
}

/* The rest replaces coroutine.resume, wrap and close by functions that keep `running` right; they behave as the stock
 * ones do. */
/* Resumes co with the top `narg` values; leaves its results (or the error value) on L's stack. Their count, or -1. */
static int resume(lua_State *L, struct lg_session *s, lua_State *co, int narg)
{
    if (!lua_checkstack(co, narg)) {
        lua_pushliteral(L, "too many arguments to resume");
        return -1;
    }
    lua_xmove(L, co, narg);
    lg_debug_resumes(s, L, co);
    lua_State *previous = s->running;
    const struct lg_resume here = {previous, s->resumes};
    int results = 0;
    s->resumes = &here;
    set_running(s, co);
    int status = lua_resume(co, L, narg, &results);
    s->resumes = here.outer;
    set_running(s, previous);
    if (status != LUA_OK && status != LUA_YIELD) {
        lua_xmove(co, L, 1);
        return -1;
    }
    if (!lua_checkstack(L, results + 1)) {
        lua_pop(co, results);
        lua_pushliteral(L, "too many results to resume");
        return -1;
    }
    lua_xmove(co, L, results);
    return results;
}

static int coroutine_resume(lua_State *L)
{
    lua_State *co = lua_tothread(L, 1);
    luaL_argexpected(L, co, 1, "thread");
    int n = resume(L, lg_upvalue_session(L), co, lua_gettop(L) - 1);
    lua_pushboolean(L, n >= 0);
    if (n < 0) n = 1;
    lua_insert(L, -(n + 1));
    return n + 1;
}

static int wrapped(lua_State *L)
{
    lua_State *co = lua_tothread(L, lua_upvalueindex(2));
    int n = resume(L, lg_upvalue_session(L), co, lua_gettop(L));
    if (n >= 0) return n;
    int status = lua_status(co);
    if (status != LUA_OK && status != LUA_YIELD) { /* dead by an error: close its variables */
        status = lua_resetthread(co);
        if (status != LUA_OK) lua_xmove(co, L, 1);
    }
    if (status != LUA_ERRMEM && lua_type(L, -1) == LUA_TSTRING) {
        luaL_where(L, 1);
        lua_insert(L, -2);
        lua_concat(L, 2);
    }
    return lua_error(L);
}

static int coroutine_wrap(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_State *co = lua_newthread(L);
    lua_pushvalue(L, 1);
    lua_xmove(L, co, 1);
    lua_pushcclosure(L, wrapped, 2);
    return 1;
}

void lg_open_coroutines(lua_State *L, struct lg_session *s)
{
    static const luaL_Reg functions[] = {{"resume", coroutine_resume}, {"wrap", coroutine_wrap}, {NULL, NULL}};
    lua_getglobal(L, "xpcall");
    s->xpcall = lua_tocfunction(L, -1);
    lua_pop(L, 1);
    lua_getglobal(L, "coroutine");
    lua_pushlightuserdata(L, s);
    luaL_setfuncs(L, functions, 1);
    lua_pop(L, 1);
}
