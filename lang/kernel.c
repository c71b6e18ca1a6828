/* Kernel objects, and launching them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lang/check.h"
#include "lang/closest.h"
#include "lang/complex.h"
#include "lang/kernel.h"
#include "lang/stream.h"

#define LG_LAUNCHER "lunarray.launcher"

/* k(grid, block, options) or k:forall(n, options): what is to be called with the arguments. Its user value is the
 * kernel, whose user value in turn is the launcher made last, so that a launch in a loop makes no garbage. It is a
 * struct lg_launch. */
void lg_family_release(struct lg_family *f)
{
    if (!f || --f->references > 0) return;
    for (int i = 0; i < f->count; i++) rt_module_release(f->modules[i]);
    free(f);
}

void lg_push_kernel(lua_State *L, struct lg_family *f, const char *name)
{
    struct rt_error *e = lg_error_box(L);
    struct lg_kernel *k = lua_newuserdatauv(L, sizeof *k, 1);
    memset(k, 0, sizeof *k);
    luaL_setmetatable(L, LG_KERNEL);
    k->family = f;
    f->references++;
    lg_check(L, rt_module_kernel(f->modules[0], name, &k->loaded[0], e));
}

#define FREED_KERNEL "kernel (freed)" /* as streams, events and graphs print that were freed */

/* Finalizers of what is collected together with a kernel may run after this, and use it. */
static int kernel_gc(lua_State *L)
{
    struct lg_kernel *k = lg_check_object(L, 1, LG_KERNEL);
    for (int i = 0; i < LG_MAX_LOADED; i++) {
        if (k->loaded[i].module) rt_kernel_release(&k->loaded[i]);
    }
    lg_family_release(k->family);
    k->family = NULL;
    luaL_setmetatable(L, FREED_KERNEL);
    return 0;
}

static int freed_kernel(lua_State *L)
{
    return luaL_error(L, "the kernel was freed: it was collected together with what uses it now");
}

static struct lg_kernel *check_kernel(lua_State *L, int idx)
{
    if (luaL_testudata(L, idx, FREED_KERNEL)) freed_kernel(L);
    return lg_check_object(L, idx, LG_KERNEL);
}

/* ---- launching ---- */

/* Compiles and loads the family's source for one more device. [raises] */
static int load_for(lua_State *L, struct lg_family *f, struct rt_device *d)
{
    struct rt_error *e = lg_error_box(L);
    const struct rt_program *p = ((struct lg_kernel *)lua_touserdata(L, 1))->loaded[0].program;
    if (f->count == LG_MAX_LOADED) return luaL_error(L, "a kernel can be loaded on %d devices", LG_MAX_LOADED);
    struct rt_source source = {.text = p->text,
                               .length = strlen(p->text),
                               .name = p->name,
                               .first_line = p->first_line,
                               .options = (const char *const *)p->options,
                               .option_count = p->option_count,
                               .instantiations = (const char *const *)p->instantiations,
                               .instantiation_count = p->instantiation_count};
    struct rt_program *fresh = rt_compile(d, &source, e);
    struct rt_module *m = fresh ? rt_module_load(d, fresh, e) : NULL;
    if (!m) return lg_raise_kernel(L, e);
    f->modules[f->count] = m;
    f->devices[f->count] = d;
    return f->count++;
}

/* The kernel as it is loaded on the device, loading it when it is not. The kernel object is at index 1. [raises] */
static const struct rt_kernel *kernel_on(lua_State *L, struct lg_kernel *k, struct rt_device *d)
{
    struct lg_family *f = k->family;
    int i = 0;
    while (i < f->count && f->devices[i] != d) i++;
    if (i == f->count) i = load_for(L, f, d);
    if (!k->loaded[i].module) {
        struct rt_error *e = lg_error_box(L);
        const char *name = k->loaded[0].entry->mangled;
        if (rt_module_kernel(f->modules[i], name, &k->loaded[i], e) != RT_OK) lg_raise_kernel(L, e);
    }
    return &k->loaded[i];
}

/* {1, 2, 3} or {x = 1, y = 2, z = 3}, where that is what the table has; at most four numbers. */
static bool read_lanes(lua_State *L, int idx, struct rt_arg *a)
{
    static const char *const names[] = {"x", "y", "z", "w"};
    bool listed = lua_rawlen(L, idx) > 0;
    double f[4];
    int n = 0;
    a->as.lanes.whole = true;
    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) n++;
    if (n < 1 || n > 4) return false;
    for (int i = 0; i < n; i++) {
        int type = listed ? lua_rawgeti(L, idx, i + 1) : (lua_pushstring(L, names[i]), lua_rawget(L, idx));
        a->as.lanes.whole = a->as.lanes.whole && lua_isinteger(L, -1);
        f[i] = lua_tonumber(L, -1);
        if (lua_isinteger(L, -1)) a->as.lanes.of.i[i] = lua_tointeger(L, -1);
        lua_pop(L, 1);
        if (type != LUA_TNUMBER) return false;
    }
    if (!a->as.lanes.whole) memcpy(a->as.lanes.of.f, f, sizeof f);
    a->as.lanes.count = n;
    a->kind = RT_ARG_LANES;
    return true;
}

/* Arrays come first: they are what most launches have, and the quickest to tell. */
static bool read_object(lua_State *L, int idx, struct rt_arg *a)
{
    if (lg_test_array(L, idx)) {
        a->as.array = lg_check_target(L, idx); /* the kernel may write to it */
        a->kind = RT_ARG_ARRAY;
    } else if (lg_test_texture(L, idx)) {
        a->as.texture = lg_check_texture(L, idx); /* refuses freed ones */
        a->kind = RT_ARG_TEXTURE;
    } else if (lg_test_tensor_map(L, idx)) {
        a->as.tensor = lg_check_tensor_map(L, idx);
        a->kind = RT_ARG_TENSOR;
    } else if (lg_test_complex(L, idx)) {
        a->as.z = *lg_test_complex(L, idx);
        a->kind = RT_ARG_COMPLEX;
    } else {
        return false;
    }
    return true;
}

/* `p` is NULL for one that there is no parameter for. */
static void read_argument(lua_State *L, int idx, const struct rt_param *p, struct rt_arg *a)
{
    *a = (struct rt_arg){0};
    switch (lua_type(L, idx)) {
    case LUA_TNUMBER:
        if (lua_isinteger(L, idx)) {
            a->kind = RT_ARG_INT;
            a->as.i = lua_tointeger(L, idx);
        } else {
            a->kind = RT_ARG_FLOAT;
            a->as.f = lua_tonumber(L, idx);
        }
        return;
    case LUA_TUSERDATA:
        if (!read_object(L, idx, a)) break;
        return;
    case LUA_TBOOLEAN:
        a->kind = RT_ARG_BOOL;
        a->as.b = lua_toboolean(L, idx);
        return;
    case LUA_TSTRING:
        a->kind = RT_ARG_BYTES;
        a->as.bytes.data = lua_tolstring(L, idx, &a->as.bytes.size);
        return;
    case LUA_TTABLE:
        if (p && p->kind == RT_PARAM_STRUCT && read_lanes(L, idx, a)) return;
        break;
    case LUA_TNIL: a->kind = RT_ARG_NULL; return;
    default: break;
    }
    a->kind = RT_ARG_NULL;
    a->what = lg_type_name(L, idx);
    if (lua_type(L, idx) == LUA_TFUNCTION) a->what = "a function";
    if (lua_type(L, idx) == LUA_TTABLE)
        a->what = p && p->kind == RT_PARAM_POINTER ? "a table; gpu.array makes an array of one" : "a table";
}

/* Where the arguments say that the kernel runs: on the first array's device, else where it was compiled for. */
static struct rt_device *choose_device(const struct lg_kernel *k, const struct rt_arg *args, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct rt_arg *a = &args[i];
        struct rt_device *d = a->kind == RT_ARG_ARRAY     ? rt_array_device(a->as.array)
                              : a->kind == RT_ARG_TEXTURE ? a->as.texture->device
                              : a->kind == RT_ARG_TENSOR  ? rt_array_device(&a->as.tensor->array)
                                                          : NULL;
        if (d && rt_device_runs_kernels(d)) return d;
    }
    return k->family->devices[0];
}

void lg_read_call(lua_State *L, const struct lg_launch *l, struct lg_call *out)
{
    struct lg_kernel *k = check_kernel(L, 1);
    struct rt_error *e = lg_error_box(L);
    out->count = (size_t)lua_gettop(L) - 1;
    out->args = out->count > LG_ARGS_ON_STACK ? lua_newuserdatauv(L, out->count * sizeof *out->args, 0) : out->small;
    const struct rt_entry *entry = k->loaded[0].entry;
    for (size_t i = 0; i < out->count; i++)
        read_argument(L, (int)i + 2, i < entry->param_count ? &entry->params[i] : NULL, &out->args[i]);
    out->device = choose_device(k, out->args, out->count);
    out->on = kernel_on(L, k, out->device);
    out->launch = l->launch;
    if (l->stream && !(out->launch.stream = *l->stream)) luaL_error(L, "the stream of this launch was freed");
    if (l->forall >= 0 && rt_kernel_forall(out->on, l->forall, &out->launch, e) != RT_OK) lg_raise_kernel(L, e);
}

/* Puts the kernel in place of its launcher. */
static struct lg_launch take_launcher(lua_State *L)
{
    const struct lg_launch l = *(struct lg_launch *)lg_check_object(L, 1, LG_LAUNCHER);
    lua_getiuservalue(L, 1, 1);
    lua_replace(L, 1);
    return l;
}

static int launcher_call(lua_State *L)
{
    struct lg_call call;
    const struct lg_launch l = take_launcher(L);
    lg_read_call(L, &l, &call);
    bool waits = call.device->kind == RT_SIMT;
    double before = waits ? rt_now_ms() : 0;
    lua_Debug ar;
    if (!waits && lua_getstack(L, 1, &ar) && lua_getinfo(L, "Sl", &ar)) {
        call.launch.place = ar.short_src;
        call.launch.line = ar.currentline;
    }
    int results = lg_run_call(L, &call);
    struct lg_launches *launches = &((struct lg_kernel *)lua_touserdata(L, 1))->launches;
    launches->count++;
    launches->last = call.launch;
    launches->last.place = NULL;
    launches->ms = waits ? rt_now_ms() - before : -1;
    return results;
}

void lg_read_size(lua_State *L, int idx, const char *what, unsigned out[3])
{
    out[1] = out[2] = 1;
    int n = 1, ok = 1;
    if (lua_istable(L, idx)) {
        n = (int)lua_rawlen(L, idx);
        if (n < 1 || n > 3) luaL_error(L, "%s: expected a number or {x, y, z}, got a table of %d elements", what, n);
    }
    for (int i = 0; i < n; i++) {
        if (lua_istable(L, idx))
            lua_rawgeti(L, idx, i + 1);
        else
            lua_pushvalue(L, idx);
        lua_Integer v = lua_tointegerx(L, -1, &ok);
        if (!ok && lua_type(L, -1) == LUA_TNUMBER)
            luaL_error(L, "%s: %f is not a whole number; divide with //, as in (n + 255) // 256", what,
                       lua_tonumber(L, -1));
        if (!ok || lua_type(L, -1) != LUA_TNUMBER)
            luaL_error(L, "%s: expected a number or {x, y, z}, got %s", what, lg_type_name(L, -1));
        if (v < 1 || v > UINT32_MAX) luaL_error(L, "%s: %I along %c; it must be 1 or more", what, v, 'x' + i);
        out[i] = (unsigned)v;
        lua_pop(L, 1);
    }
}

/* Bytes of dynamic shared memory. [raises] */
static unsigned read_shared(lua_State *L, int idx)
{
    int ok;
    lua_Integer bytes = lua_tointegerx(L, idx, &ok);
    if (!ok || lua_type(L, idx) != LUA_TNUMBER || bytes < 0 || bytes > INT32_MAX)
        luaL_error(L, "shared: expected bytes of shared memory, 0 or more, got %s",
                   lua_type(L, idx) == LUA_TNUMBER ? luaL_tolstring(L, idx, NULL) : lg_type_name(L, idx));
    return (unsigned)bytes;
}

static bool read_flag(lua_State *L, int idx, const char *name)
{
    if (!lua_isboolean(L, idx)) luaL_error(L, "%s: expected true or false, got %s", name, lg_type_name(L, idx));
    return lua_toboolean(L, idx);
}

static enum rt_checked read_checked(lua_State *L, int idx)
{
    if (lua_type(L, idx) == LUA_TSTRING && !strcmp(lua_tostring(L, idx), "strict")) return RT_CHECKED_STRICT;
    if (!lua_isboolean(L, idx))
        luaL_error(L, "check: expected true, false or \"strict\", got %s", lg_type_name(L, idx));
    return lua_toboolean(L, idx) ? RT_CHECKED : RT_UNCHECKED;
}

/* What may follow the size of a launch: bytes of shared memory, or a table of options. [raises] */
static void read_options(lua_State *L, int idx, struct lg_launch *l)
{
    struct rt_launch *out = &l->launch;
    if (lua_isnoneornil(L, idx)) return;
    if (!lua_istable(L, idx)) {
        out->shared = read_shared(L, idx);
        return;
    }
    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
        const char *key = lg_option_name(L);
        if (!strcmp(key, "shared"))
            out->shared = read_shared(L, lua_gettop(L));
        else if (!strcmp(key, "cooperative"))
            out->cooperative = read_flag(L, lua_gettop(L), key);
        else if (!strcmp(key, "cluster"))
            lg_read_size(L, lua_gettop(L), "cluster", out->cluster);
        else if (!strcmp(key, "stream"))
            l->stream = lg_check_stream(L, lua_gettop(L), "stream");
        else if (!strcmp(key, "check"))
            out->checked = read_checked(L, lua_gettop(L));
        else
            luaL_error(L, "a launch has no option '%s'; there are shared, stream, cooperative, cluster and check", key);
    }
}

static bool same_launch(const struct lg_launch *a, const struct lg_launch *b)
{
    const struct rt_launch *x = &a->launch, *y = &b->launch;
    return a->forall == b->forall && memcmp(x->grid, y->grid, sizeof x->grid) == 0 &&
           memcmp(x->block, y->block, sizeof x->block) == 0 && x->shared == y->shared && a->stream == b->stream &&
           memcmp(x->cluster, y->cluster, sizeof x->cluster) == 0 && x->cooperative == y->cooperative &&
           x->checked == y->checked;
}

/* Pushes the launcher that the kernel at index 1 made last when it is the same, else a new one. The stream, if there is
 * one, is in the options or behind them. */
static int push_launcher(lua_State *L, const struct lg_launch *wanted, int options)
{
    lua_getiuservalue(L, 1, 1);
    const struct lg_launch *last = lua_touserdata(L, -1);
    if (last && same_launch(last, wanted)) return 1;
    struct lg_launch *l = lua_newuserdatauv(L, sizeof *l, 2);
    *l = *wanted;
    luaL_setmetatable(L, LG_LAUNCHER);
    int launcher = lua_gettop(L);
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, -2, 1);
    if (wanted->stream) {
        if (luaL_testudata(L, options + 1, LG_STREAM))
            lua_pushvalue(L, options + 1);
        else
            lua_getfield(L, options, "stream");
        lua_setiuservalue(L, launcher, 2);
        lua_settop(L, launcher);
    }
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, 1, 1);
    return 1;
}

/* Grid, block, options or bytes of shared memory, and stream from the arguments 2 to 5. */
static void read_configuration(lua_State *L, struct lg_launch *l)
{
    *l = (struct lg_launch){.forall = -1, .launch.checked = RT_CHECKED_DEFAULT};
    lg_read_size(L, 2, "grid", l->launch.grid);
    lg_read_size(L, 3, "block", l->launch.block);
    read_options(L, 4, l);
    if (lua_gettop(L) >= 5 && !lua_isnil(L, 5)) l->stream = lg_check_stream(L, 5, "stream");
}

void lg_read_launch(lua_State *L, const char *usage, struct lg_launch *out)
{
    int count = lua_gettop(L);
    if (count == 1 && luaL_testudata(L, 1, LG_LAUNCHER)) {
        *out = take_launcher(L);
        return;
    }
    if (count < 3 || count > 5 || !luaL_testudata(L, 1, LG_KERNEL)) luaL_error(L, "expected %s", usage);
    read_configuration(L, out);
}

/* Whether these are no grid and block with what may follow them, but the kernel's own arguments, for which a launch has
 * a second pair of parentheses; or CuPy's (grid, block, arguments). */
static bool lacks_configuration(lua_State *L, int count)
{
    if (count < 2 || count > 4 || lg_test_array(L, 2) || lg_test_array(L, 3)) return true;
    for (int i = 4; i <= count + 1; i++)
        if (lg_test_array(L, i) || (lua_istable(L, i) && lua_rawlen(L, i) > 0)) return true;
    return false;
}

/* Whether the kernel is called as a method of the object, or the table, that has it. */
static bool is_of_table(lua_State *L, const char *name)
{
    if (luaL_testudata(L, 2, LG_KERNEL)) return true;
    if (!lua_istable(L, 2)) return false;
    lua_pushstring(L, name);
    lua_rawget(L, 2);
    bool kernel = luaL_testudata(L, -1, LG_KERNEL) != NULL;
    lua_pop(L, 1);
    return kernel;
}

static int kernel_call(lua_State *L)
{
    const struct lg_kernel *k = check_kernel(L, 1);
    struct lg_launch l;
    const char *name = k->loaded[0].entry->name;
    if (is_of_table(L, name)) /* k:saxpy(1, 32) */
        return luaL_error(
            L,
            "grid: expected a number or {x, y, z}, got the kernels of a source; one of them is called with a "
            "dot, k.%s(grid, block)(arguments)",
            name);
    if (lacks_configuration(L, lua_gettop(L) - 1))
        return luaL_error(
            L, "%s: a launch is %s(grid, block [, options [, stream]])(arguments) or %s:forall(n)(arguments)", name,
            name, name);
    read_configuration(L, &l);
    return push_launcher(L, &l, 4);
}

int lg_kernel_forall(lua_State *L)
{
    check_kernel(L, 1);
    int whole;
    struct lg_launch l = {.forall = lua_tointegerx(L, 2, &whole), .launch.checked = RT_CHECKED_DEFAULT};
    if (!whole)
        return lg_raise_expected(L, 2,
                                 lua_isnumber(L, 2)
                                     ? "expected a whole number of threads; n // 2 is one"
                                     : "expected a number of threads, such as the elements of an array, #x");
    for (int i = 3; i <= lua_gettop(L); i++)
        if (lg_test_array(L, i))
            return luaL_error(
                L, "forall: expected the number of threads, options and a stream, got array; the kernel's arguments "
                   "have parentheses of their own, k:forall(n)(arguments)");
    luaL_argcheck(L, l.forall >= 0, 2, "a number of threads, 0 or more");
    read_options(L, 3, &l);
    if (lua_gettop(L) >= 4 && !lua_isnil(L, 4)) l.stream = lg_check_stream(L, 4, "stream");
    return push_launcher(L, &l, 3);
}

int lg_kernel_global(lua_State *L)
{
    struct lg_kernel *k = check_kernel(L, 1);
    const char *name = luaL_checkstring(L, 2);
    enum rt_dtype dtype = lg_check_dtype(L, 3, RT_DTYPE_COUNT);
    struct rt_error *e = lg_error_box(L);
    struct rt_array *a = lg_new_array(L);
    if (rt_kernel_global(&k->loaded[0], name, dtype, a, e) != RT_OK) return lg_raise_kernel(L, e);
    return 1;
}

static int launcher_tostring(lua_State *L)
{
    const struct lg_launch *l = lg_check_object(L, 1, LG_LAUNCHER);
    lua_getiuservalue(L, 1, 1);
    const struct lg_kernel *k = luaL_testudata(L, -1, LG_KERNEL);
    const char *name = k ? k->loaded[0].entry->name : "a kernel that was freed";
    const unsigned *g = l->launch.grid, *b = l->launch.block, *c = l->launch.cluster;
    char text[256], cluster[64] = "";
    const char *cooperative = l->launch.cooperative ? "cooperative = true, " : "";
    bool options = c[0] || l->launch.cooperative;
    if (c[0]) snprintf(cluster, sizeof cluster, "cluster = {%u, %u, %u}, ", c[0], c[1], c[2]);
    if (l->forall >= 0)
        snprintf(text, sizeof text, ":forall(%lld)", (long long)l->forall);
    else
        snprintf(text, sizeof text, "({%u, %u, %u}, {%u, %u, %u}, %s%s%s%s%u%s)", g[0], g[1], g[2], b[0], b[1], b[2],
                 options ? "{" : "", cooperative, cluster, options ? "shared = " : "", l->launch.shared,
                 options ? "}" : "");
    lua_pushfstring(L, "launch of %s%s; call it with the kernel's arguments", name, text);
    return 1;
}

static const struct lg_function methods[] = {
    {"forall", lg_kernel_forall, "k:forall(n [, options [, stream]])",
     "Chooses block and grid for n threads in one dimension; call the result with the kernel's arguments.\n"
     "There may be more threads than n in the last block: the kernel checks its index.\n"
     "Options: as in k(grid, block, options).",
     "local k = gpu.kernel [[__global__ void one(int n, int *x) {\n"
     "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
     "  if (i < n) x[i] = 1;\n"
     "}]]\n"
     "local x = gpu.zeros(1000, 'int32')\n"
     "k:forall(1000)(1000, x)\n"
     "assert(x:sum() == 1000)"},
    {"global", lg_kernel_global, "k:global(name [, dtype])",
     "A __device__ or __constant__ variable of the kernel's source as an array over its memory, to read and write.\n"
     "Type and shape are those of the source; what is no array has one element, float4 and the like a last axis of 4. "
     "With a dtype, of a struct for example, it is seen as one axis of such elements. The variable is that of the "
     "device which the kernel was compiled for; the kernels of one source share it.",
     "local k = gpu.kernel [[\n"
     "  __constant__ float weights[3] = {1, 2, 3};\n"
     "  __device__ int calls;\n"
     "  __global__ void weigh(float *x) { x[threadIdx.x] *= weights[threadIdx.x]; atomicAdd(&calls, 1); }\n"
     "]]\n"
     "k:global('weights')[2] = 20\n"
     "local x = gpu.ones(3)\n"
     "k(1, 3)(x)\n"
     "assert(x:sum() == 24 and k:global('calls')[1] == 3)"},
    {"occupancy", lg_kernel_occupancy, "k:occupancy([block [, shared]])",
     "How many blocks of so many threads, a number or {x, y, z}, a multiprocessor holds at once, and what keeps it from holding more.\n"
     "A table with fraction (of the warps that there is room for), blocks, warps, max_warps, limiter (\"threads\", "
     "\"registers\", \"shared memory\" or \"blocks\"), limits (the blocks that each would allow), and the block, registers "
     "and shared that it was computed for. shared is bytes of dynamic shared memory; or a table with shared and registers, to "
     "see what another number of them would do. Without a block a list of such tables, for "
     "all blocks of whole warps, which is shown as a line for each.",
     "local k = gpu.kernel [[__global__ void twice(float *x) { x[threadIdx.x] *= 2; }]]\n"
     "local o = k:occupancy(256)\n"
     "assert(k:occupancy({16, 16}).fraction == o.fraction)\n"
     "assert(o.fraction <= 1 and o.warps == o.blocks * 8)\n"
     "assert(k:occupancy(256, {registers = 255}).limiter == 'registers')\n"
     "for _, o in ipairs(k:occupancy()) do print(o.block, o.fraction, o.limiter) end"},
    {0}};

void lg_open_kernel_objects(lua_State *L)
{
    static const luaL_Reg kernel_meta[] = {{"__gc", kernel_gc}, {"__call", kernel_call}, {NULL, NULL}};
    static const luaL_Reg launcher_meta[] = {
        {"__call", launcher_call}, {"__tostring", launcher_tostring}, {NULL, NULL}};
    static const luaL_Reg freed_meta[] = {{"__call", freed_kernel}, {"__index", freed_kernel}, {NULL, NULL}};
    luaL_newmetatable(L, FREED_KERNEL);
    luaL_setfuncs(L, freed_meta, 0);
    luaL_newmetatable(L, LG_KERNEL);
    luaL_setfuncs(L, kernel_meta, 0);
    lg_open_kernel_fields(L);
    luaL_newmetatable(L, LG_LAUNCHER);
    luaL_setfuncs(L, launcher_meta, 0);
    lua_newtable(L);
    lg_register(L, "kernel", methods);
    lua_pop(L, 4);
    lg_document_kernel_fields(L);
}
