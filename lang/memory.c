/* Lua's collector sees a few hundred bytes where an array holds gigabytes of device memory. This file looks at what all
 * arrays hold, runs a collection when that has grown by more than what a collection costs, and lets a full device ask
 * for one. Collecting early keeps the intermediates of expressions few: their memory goes round
 * while it is still in the processor's caches. */
#include <math.h>
#include "lang/largest.h"

/* Garbage of small arrays, and of what Lua keeps of each, is looked for when as much may have come as half of a
 * processor's second cache holds: on a heap of some MB Lua by itself would wait for ten times as much, and an operation
 * on 1000 elements then takes twice its time. It is a step of the collector, which is Lua's own measure: where it is
 * generational one over the young objects. Large tables that were written to are gone through each time: what takes
 * long waits for more garbage, within bounds that the heap sets. */
#define YOUNG     (512u << 10)
#define LEAST     16   /* this part of Lua's heap, at least; */
#define MOST      1    /* and at most this, or YOUNG */
#define WORTH_MS  50e6 /* bytes of garbage that a step of a millisecond waits for */
#define FREEING   1e-3 /* milliseconds that an array's own end may take, which are no reason to wait */
#define PER_ARRAY 512  /* bytes in Lua's heap, and of the cache, that belong to an array */
#define STEPS     64   /* after so many, one that may go through the old objects, too */
#define SHARE     5    /* of the heap, which makes the collector think of them: its own for the young is as much */

#define SLACK     (16u << 20) /* bytes of garbage that are never worth a collection */
#define WORTH     32 /* and so many for each byte of Lua's own heap, which a collection goes through, always are */

struct account {
    lua_State *L; /* the main thread */
    size_t next;  /* collect when the arrays hold more bytes than this */
    size_t young; /* and a step when they hold more than this */
    size_t room;  /* for garbage between two steps */
    size_t calls; /* since the last step, at most one for each array */
    unsigned steps;
    bool collecting; /* a collection is running: finalizers must not start another */
};

static const char account_key;
/* The state whose call is running on this thread: a device fills up inside of one. */
static _Thread_local struct account *current;

/* From here on garbage may come until the next step, by how long the last one took; returns the size of Lua's heap. */
static size_t begin_anew(struct account *a, double ms)
{
    size_t heap = (size_t)lua_gc(a->L, LUA_GCCOUNT) << 10;
    double least = fmax((double)heap / LEAST, YOUNG), most = fmax((double)heap / MOST, YOUNG);
    a->room = (size_t)fmin(fmax(ms * WORTH_MS, least), most);
    a->young = rt_memory_held() + a->room;
    a->calls = 0;
    return heap;
}

static int nothing(lua_State *L)
{
    (void)L;
    return 0;
}

/* A finalizer that Lua can't call for want of memory is lost, and with it what the array holds. So what Lua allocates
 * to call one, a frame, is there first. */
static bool has_frame(lua_State *L)
{
    if (!lua_checkstack(L, 2 * LUA_MINSTACK)) return false;
    lua_pushcfunction(L, nothing);
    if (lua_pcall(L, 0, 0, 0) == LUA_OK) return true;
    lua_pop(L, 1);
    return false;
}

static bool can_collect(const struct account *a)
{
    /* It is below 0 while Lua runs a finalizer. */
    return !a->collecting && lua_gc(a->L, LUA_GCCOUNT) >= 0 && has_frame(a->L);
}

static void collect(struct account *a)
{
    if (!can_collect(a)) return;
    a->collecting = true;
    lua_gc(a->L, LUA_GCCOLLECT);
    a->collecting = false;
    size_t heap = begin_anew(a, 0);
    /* A big heap waits for more garbage, until there is as much garbage as live memory. */
    size_t live = rt_memory_held(), room = live > 4 * heap ? live : 4 * heap;
    if (room > WORTH * heap) room = WORTH * heap;
    a->next = live + (room > SLACK ? room : SLACK);
}

static void step(struct account *a)
{
    if (!can_collect(a)) return;
    double start = rt_now_ms();
    a->collecting = true;
    lua_gc(a->L, LUA_GCSTEP, ++a->steps % STEPS ? 0 : lua_gc(a->L, LUA_GCCOUNT) / SHARE + 1);
    a->collecting = false;
    begin_anew(a, rt_now_ms() - start - (double)a->calls * FREEING);
}

bool lg_memory_collect(lua_State *L, size_t bytes)
{
    size_t heap = (size_t)lua_gc(L, LUA_GCCOUNT) << 10;
    if (!current || current->collecting || bytes < heap + heap / 2 || lua_gc(L, LUA_GCISRUNNING) != 1) return false;
    collect(current);
    return true;
}

static void device_is_full(void *context, size_t bytes)
{
    (void)context;
    (void)bytes;
    if (current) collect(current);
}

static int close_account(lua_State *L)
{
    if (current == lua_touserdata(L, 1)) current = NULL;
    return 0;
}

static struct account *make_account(lua_State *L)
{
    struct account *a = lua_newuserdatauv(L, sizeof *a, 0);
    *a = (struct account){.next = SLACK, .young = rt_memory_held() + YOUNG, .room = YOUNG};
    lg_set_event(L, "__gc", close_account);
    lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
    a->L = lua_tothread(L, -1);
    lua_pop(L, 1);
    lg_set_own(L, LG_OWN_ACCOUNT, &account_key);
    rt_memory_set_collector(device_is_full, NULL);
    return a;
}

void lg_memory_enter(lua_State *L)
{
    struct account *a = lg_own(L, LG_OWN_ACCOUNT);
    current = a = a ? a : make_account(L);
    size_t held = rt_memory_held();
    if (held <= a->young && ++a->calls * PER_ARRAY <= a->room) return;
    if (lua_gc(L, LUA_GCISRUNNING) != 1) return;
    step(a);
    if (rt_memory_held() > a->next) collect(a);
    lg_check_frame(L);
}

static int heap(lua_State *L)
{
    struct rt_device *d = lg_check_device(L, 2);
    struct rt_error *e = lg_error_box(L);
    size_t bytes = 0;
    if (!lua_isnoneornil(L, 1)) {
        lua_Integer wanted = luaL_checkinteger(L, 1);
        luaL_argcheck(L, wanted > 0, 1, "bytes, more than 0");
        lg_check(L, rt_device_set_heap(d, (size_t)wanted, e));
    }
    lg_check(L, rt_device_heap(d, &bytes, e));
    lua_pushinteger(L, (lua_Integer)bytes);
    return 1;
}

/* Pushes a list of tables, one for each. */
static void push_largest(lua_State *L, const struct rt_device *d)
{
    struct lg_largest largest;
    lg_find_largest(L, d, &largest);
    lua_createtable(L, largest.count, 0);
    for (int i = 0; i < largest.count; i++) {
        const struct lg_large *a = &largest.items[i];
        lua_Integer bytes = (lua_Integer)a->storage->bytes;
        lua_createtable(L, 0, 4);
        lg_set_string(L, "name", a->name);
        lg_set_integer(L, "bytes", bytes);
        lg_set_string(L, "dtype", rt_dtypes[a->dtype].name);
        lg_push_shape(L, a->ndim, a->shape);
        lua_setfield(L, -2, "shape");
        lua_rawseti(L, -2, i + 1);
    }
}

static void push_memory(lua_State *L, struct rt_device *d)
{
    struct rt_memory_stats s;
    size_t free_bytes = 0, total = 0;
    rt_memory_stats(d, &s);
    lg_check(L, rt_device_memory(d, &free_bytes, &total, lg_error_box(L)));
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {{"in_use", s.in_use},
                {"cached", s.cached},
                {"peak", s.peak},
                {"allocations", s.allocations},
                {"driver_allocations", s.driver_allocations},
                {"free", free_bytes},
                {"total", total}};
    lua_createtable(L, 0, sizeof rows / sizeof *rows + 3);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lg_set_integer(L, rows[i].name, (lua_Integer)rows[i].value);
    }
    push_largest(L, d);
    lua_setfield(L, -2, "arrays");
    lg_set_string(L, "device", d->name);
    lg_set_memory_text(L);
}

static int memory(lua_State *L)
{
    const bool named = !lua_isnoneornil(L, 1);
    push_memory(L, lg_check_device(L, 1));
    if (named) return 1;
    lua_newtable(L);
    for (struct rt_device *d = NULL; (d = rt_device_next_opened(d));) {
        push_memory(L, d);
        lua_setfield(L, -2, d->name);
    }
    lua_setfield(L, -2, "devices");
    return 1;
}

static int memory_trim(lua_State *L)
{
    struct rt_device *d = lg_check_device(L, 1);
    struct account *c = lg_own(L, LG_OWN_ACCOUNT);
    if (c) collect(c);
    rt_memory_trim(d);
    return 0;
}

const struct lg_function lg_memory_functions[] = {
    {"heap", heap, "gpu.heap([bytes [, device]])",
     "The size of the heap that malloc and new in kernels use, in bytes; sets it first when a number is given.\n"
     "It can be set until a kernel that uses it has run. What is not freed lives on from launch to launch.",
     "local k = gpu.kernel [[__global__ void k() {}]]\nassert(gpu.heap(nil, k.device) > 0)"},
    {"memory", memory, "gpu.memory([device])",
     "Memory of a device in bytes, as a table; without one that of the default device, and in the field devices the same "
     "tables of all that are in use, by their names. It prints as a list of what it holds.\n"
     "device: the name; in_use: held by arrays; cached: freed by arrays and kept for the next; peak: the most that was ever in use; "
     "allocations and driver_allocations: how many were asked for, and how many of those the driver had to serve; "
     "free and total: what the device says of itself, all processes together.\n"
     "arrays: a list of up to 10 tables with name, bytes, dtype and shape of those that hold most, by the variable, or field "
     "of a table in one, that leads to them; f: x is in function or coroutine f alone, and y (waiting) is what y will be computed "
     "from; arrays that share memory are one.",
     "local model = {weights = gpu.zeros(1000, 'float64')}\n"
     "local m = gpu.memory()\nassert(m.in_use >= 8000 and m.total > 0)\n"
     "assert(m.devices[model.weights.device].in_use >= 8000)\n"
     "for _, a in ipairs(m.arrays) do assert(a.name and a.bytes > 0) end\n"
     "assert(tostring(m):find 'in_use += %d' and tostring(m):find 'model.weights')"},
    {"memory_trim", memory_trim, "gpu.memory_trim([device])",
     "Collects arrays that nothing refers to and gives all cached memory of the device back to it.\n"
     "Only other programs on the same device gain from this: arrays reuse the cached memory by themselves.",
     "gpu.zeros(1000):free()\n"
     "gpu.memory_trim()\n"
     "assert(gpu.memory().cached == 0)"},
    {0}};
