/* Where the structs are that a Lua state has one of and that every operation asks for. They live in userdata that the
 * registry holds under keys of their own; a search there takes longer than all the rest of asking, so each thread
 * remembers those of the state that it saw last. */
#include <stdatomic.h>
#include "lang/lang.h"

struct owned {
    bool closed; /* the state closes: nobody may remember it */
    void *items[LG_OWN_COUNT];
};

static const char owned_key;
/* Counts states that closed: another may come to lie where one of them was. */
static atomic_ulong closed_states;
static _Thread_local struct {
    const void *state;
    const lua_State *main; /* if that asked: it lives as long, where a coroutine's place may become another state's */
    unsigned long closed;
    struct owned *owned;
} last;

static int close_owned(lua_State *L)
{
    struct owned *o = lua_touserdata(L, 1);
    o->closed = true;
    atomic_fetch_add(&closed_states, 1);
    return 0;
}

static struct owned *make_owned(lua_State *L)
{
    struct owned *o = lua_newuserdatauv(L, sizeof *o, 0);
    *o = (struct owned){0};
    lg_set_event(L, "__gc", close_owned);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &owned_key);
    return o;
}

static struct owned *find_owned(lua_State *L)
{
    const unsigned long closed = atomic_load_explicit(&closed_states, memory_order_acquire);
    if (last.main == L && last.closed == closed) return last.owned;
    const void *state = lua_topointer(L, LUA_REGISTRYINDEX); /* which all threads of a state share */
    if (last.state == state && last.closed == closed) return last.owned;
    const int top = lua_gettop(L);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &owned_key);
    struct owned *o = lua_touserdata(L, -1);
    lua_pop(L, 1);
    if (!o) o = make_owned(L);
    last.state = o->closed ? NULL : state;
    last.main = !o->closed && lua_pushthread(L) ? L : NULL;
    lua_settop(L, top);
    last.closed = closed;
    last.owned = o;
    return o;
}

void *lg_own(lua_State *L, enum lg_own what)
{
    return find_owned(L)->items[what];
}

void lg_set_own(lua_State *L, enum lg_own what, const void *key)
{
    struct owned *o = find_owned(L);
    void *p = lua_touserdata(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, key);
    o->items[what] = p;
}
