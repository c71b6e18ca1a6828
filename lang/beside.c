/* Answers while the session's thread is in a long call in C: a sort, a launch, a wait. The interpreter is at rest then,
 * and lent (runtime/lend.h): another thread looks things up in it, in a coroutine of its own. Nothing of the user's
 * runs, no array is computed and no lock of a device is taken; and the collector, whose finalizers could take one,
 * waits. So functions for comms and cells of subshells wait for the end of such a call (but not while the cell only
 * waits for others: lang/waiting.c). What is asked in the middle of one call of Lua's own that is neither is answered
 * from what was known before (lang/apart.c). */
#include "lang/session_state.h"

bool lg_is_beside(lua_State *L)
{
    const struct lg_session *s = lg_session_of(L);
    return s && s->lent;
}

void lg_decline(lua_State *L)
{
    struct lg_session *s = lg_session_of(L);
    if (s) s->declined = true;
}

/* Calls f with the interpreter as it is lent. */
static bool look(struct lg_session *s, bool (*f)(void *context), void *context)
{
    lua_State *L = s->L;
    struct lg_arena answers = s->answers;
    bool collects = lua_gc(L, LUA_GCISRUNNING) == 1;
    if (collects) lua_gc(L, LUA_GCSTOP);
    s->answers = (struct lg_arena){NULL};
    s->L = s->beside;
    s->lent = true;
    bool result = f(context);
    s->lent = false;
    s->L = L;
    lg_arena_reset(&s->answers);
    s->answers = answers;
    if (collects) lua_gc(L, LUA_GCRESTART);
    return result;
}

bool lg_session_look(struct lg_session *s, bool (*f)(void *context), void *context)
{
    s->declined = false;
    return s->beside && look(s, f, context) && !s->declined;
}

/* Those that are left wait for the hook. */
static bool answer_waiting(struct lg_session *s)
{
    atomic_store(&s->attention, false);
    bool left = look(s, s->sink.attend_beside, s->sink.context);
    if (left) atomic_store(&s->attention, true);
    return left;
}

bool lg_answer_beside(struct lg_session *s, bool *left)
{
    if (!s->beside || !rt_take(&s->loan)) return false;
    *left = answer_waiting(s);
    rt_give_back(&s->loan);
    return true;
}

void lg_answer_here(lua_State *L)
{
    struct lg_session *s = lg_session_of(L);
    if (s && s->beside && atomic_load(&s->evaluating) && atomic_load(&s->attention)) answer_waiting(s);
}

/* The order matters: who asks sets `attention` before it looks whether something is lent. */
static void offer(void *context)
{
    struct lg_session *s = context;
    if (atomic_load(&s->attention)) s->sink.beside(s->sink.context);
}

void lg_open_beside(lua_State *L, struct lg_session *s)
{
    static const char key;
    s->loan = (struct rt_loan)RT_LOAN_INIT;
    if (!s->sink.attend_beside) return;
    s->loan.offer = offer;
    s->loan.context = s;
    s->beside = lua_newthread(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &key);
}
