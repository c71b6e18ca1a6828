/* Lua's collector sees a few dozen bytes where an array holds gigabytes of device memory. This file looks at what all
 * arrays hold, runs a collection when that has grown by more than what a collection costs, and lets a full device ask
 * for one. Collecting early keeps the intermediates of expressions few: their memory goes round
 * while it is still in the processor's caches. */
#include "lang/largest.h"

#define SLACK (16u << 20) /* bytes of garbage that are never worth a collection */
#define WORTH 32          /* and so many for each byte of Lua's own heap, which a collection goes through, always are */

struct account {
    lua_State *L;    /* the main thread */
    size_t next;     /* collect when the arrays hold more bytes than this */
    bool collecting; /* a collection is running: finalizers must not start another */
};

static const char account_key;
/* The state whose call is running on this thread: a device fills up inside of one. */
static _Thread_local struct account *current;

static void collect(struct account *a)
{
    if (a->collecting) return;
    a->collecting = true;
    lua_gc(a->L, LUA_GCCOLLECT);
    a->collecting = false;
    size_t heap = (size_t)lua_gc(a->L, LUA_GCCOUNT) << 10;
    /* A big heap waits for more garbage, until there is as much garbage as live memory. */
    size_t live = rt_memory_held(), room = live > 4 * heap ? live : 4 * heap;
    if (room > WORTH * heap) room = WORTH * heap;
    a->next = live + (room > SLACK ? room : SLACK);
}

bool lg_memory_collect(lua_State *L, size_t bytes)
{
    size_t heap = (size_t)lua_gc(L, LUA_GCCOUNT) << 10;
    if (!current || current->collecting || bytes < 4 * heap || !lua_gc(L, LUA_GCISRUNNING)) return false;
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
    *a = (struct account){.next = SLACK};
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, close_account);
    lua_setfield(L, -2, "__gc");
    lua_setmetatable(L, -2);
    lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
    a->L = lua_tothread(L, -1);
    lua_pop(L, 1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &account_key);
    rt_memory_set_collector(device_is_full, NULL);
    return a;
}

/* NULL while the state closes. */
static struct account *find_account(lua_State *L)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &account_key);
    struct account *a = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return a;
}

void lg_memory_enter(lua_State *L)
{
    struct account *a = find_account(L);
    current = a ? a : make_account(L);
    if (rt_memory_held() > current->next && lua_gc(L, LUA_GCISRUNNING)) collect(current);
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
        lua_pushstring(L, a->name);
        lua_setfield(L, -2, "name");
        lua_pushinteger(L, bytes);
        lua_setfield(L, -2, "bytes");
        lua_pushstring(L, rt_dtypes[a->dtype].name);
        lua_setfield(L, -2, "dtype");
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
        lua_pushinteger(L, (lua_Integer)rows[i].value);
        lua_setfield(L, -2, rows[i].name);
    }
    push_largest(L, d);
    lua_setfield(L, -2, "arrays");
    lua_pushstring(L, d->name);
    lua_setfield(L, -2, "device");
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
    struct account *c = find_account(L);
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
     "of a table in one, that leads to them; arrays that share memory are one.",
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
