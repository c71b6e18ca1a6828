/* How arrays come and go. The userdata is a struct lg_array (lazy.h), which begins with a struct rt_array; one without
 * a storage is empty: just made, or released.
 *
 * On a session's heap (heap.h) an array has no finalizer: it releases what it refers to when Lua frees its block, which
 * takes a fifth off the time of an operation on a small array, and needs one round of the collector instead of two.
 * Nothing of Lua may be called there. When a state closes, it frees what was made last first, so the list of arrays
 * that wait, which is older than all arrays, is still there for each. Lua's own allocator tells nobody, and arrays have
 * __gc.
 */
#include "lang/array.h"
#include "lang/heap.h"
#include "lang/lazy.h"

/* The places in the registry of the metatable, besides its name, and of the methods: found by address, without hashing
 * a string each time. */
static const char metatable_key;
static const char methods_key;

/* The dtype of an array that was released, which tells it from one just made. */
#define FREED RT_DTYPE_COUNT

/* Arrays that were released on this thread: by it are known calls that may have run a finalizer. */
static _Thread_local unsigned long released;

/* Another one for each address, so that no copy of an array's bytes passes for an array. */
static uintptr_t mark_of(const struct lg_array *l)
{
    return (uintptr_t)l ^ (uintptr_t)&metatable_key;
}

/* Quicker than a look at the metatable. */
struct rt_array *lg_test_array(lua_State *L, int idx)
{
    struct lg_array *l = lua_touserdata(L, idx);
    return l && lua_rawlen(L, idx) == sizeof *l && l->mark == mark_of(l) ? &l->array : NULL;
}

/* A buffer of an array's size may lie where one was, and then has all of it but the metatable. */
void lg_check_frame(lua_State *L)
{
    for (int idx = lua_gettop(L); idx > 0; idx--) {
        const struct rt_array *a = lg_test_array(L, idx);
        if (!a || a->dtype != FREED || !lua_getmetatable(L, idx)) continue;
        luaL_error(L, "the array was freed by a finalizer while it was in use");
    }
}

struct rt_array *lg_new_array(lua_State *L)
{
    lg_memory_enter(L);
    const unsigned long before = released;
    struct lg_array *l = lua_newuserdatauv(L, sizeof *l, 0);
    struct rt_array *a = &l->array;
    a->storage = NULL; /* and axes, which are most of it, mean nothing yet */
    a->dtype = 0;
    a->ndim = 0;
    a->offset = 0;
    l->expression = NULL;
    l->reduces = false;
    l->stream = 0;
    l->next = NULL;
    l->link = NULL;
    l->mark = mark_of(l);
    if (released != before) lg_check_frame(L);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &metatable_key);
    lua_setmetatable(L, -2);
    return a;
}

struct rt_array *lg_push_shared(lua_State *L, const struct rt_array *a)
{
    struct rt_array *out = lg_new_array(L);
    rt_array_share(a, out);
    return out;
}

void lg_push_methods(lua_State *L)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &methods_key);
}

void lg_array_drop(struct rt_array *a)
{
    lg_wait_no_more(a);
    rt_array_release(a);
}

static int collect(lua_State *L)
{
    struct rt_array *a = lg_test_array(L, 1);
    if (!a) luaL_typeerror(L, 1, "array");
    lg_array_drop(a);
    a->dtype = FREED;
    released++;
    return 0;
}

/* What still reads it is evaluated now, so that its memory does go. */
int lg_array_free(lua_State *L)
{
    const struct rt_array *a = lg_test_array(L, 1);
    if (a && a->storage && !lg_waits(a)) lg_before_write(L, a);
    return collect(L);
}

/* ---- arrays without a finalizer ---- */

/* A block of the size of an array's, which ends with it, may also be another userdata, a table or a text. */
static void end(void *block, size_t bytes)
{
    struct lg_array *l = (struct lg_array *)(void *)((char *)block + bytes - sizeof *l);
    if (l->mark != mark_of(l)) return;
    lg_array_drop(&l->array);
    l->mark = 0; /* whatever is next in the block is none until it is made one */
}

struct probe {
    struct lg_heap *heap;
    char *block;
    size_t bytes;
};

static void *probe(void *context, void *block, size_t former, size_t bytes)
{
    struct probe *p = context;
    char *b = lg_heap_allocate(p->heap, block, former, bytes);
    if (!block && former == LUA_TUSERDATA) *p = (struct probe){p->heap, b, bytes};
    return b;
}

static int make_userdata(lua_State *L)
{
    lua_newuserdatauv(L, sizeof(struct lg_array), 0);
    return 1;
}

/* Whether the state is on a heap of ours, which then tells when it frees a block of an array's size. */
static bool watch_heap(lua_State *L)
{
    struct probe p = {0};
    void *heap;
    if (lua_getallocf(L, &heap) != lg_heap_allocate) return false;
    p.heap = heap;
    lua_pushcfunction(L, make_userdata);
    lua_setallocf(L, probe, &p);
    const int status = lua_pcall(L, 0, 1, 0);
    lua_setallocf(L, lg_heap_allocate, heap);
    if (status != LUA_OK) lua_error(L);
    const bool ends = p.block && p.block + p.bytes == (char *)lua_touserdata(L, -1) + sizeof(struct lg_array);
    lua_pop(L, 1);
    if (!ends) return false;
    p.heap->end = end;
    p.heap->ending = p.bytes;
    return true;
}

void lg_open_lives(lua_State *L)
{
    if (!watch_heap(L)) {
        lua_pushcfunction(L, collect);
        lua_setfield(L, -2, "__gc");
    }
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &metatable_key);
    lua_pushvalue(L, -2);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &methods_key);
}
