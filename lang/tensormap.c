/* Tensor maps: made of arrays, passed to kernels as CUtensorMap. A userdata holds a struct rt_tensor_map, and its user
 * value the array, whose pending operations run before a kernel looks at it. */
#include <string.h>
#include "lang/array.h"
#include "lang/closest.h"

struct rt_tensor_map *lg_test_tensor_map(lua_State *L, int idx)
{
    return luaL_testudata(L, idx, LG_TENSOR_MAP);
}

struct rt_tensor_map *lg_check_tensor_map(lua_State *L, int idx)
{
    struct rt_tensor_map *m = lg_check_object(L, idx, LG_TENSOR_MAP);
    idx = lua_absindex(L, idx);
    lua_getiuservalue(L, idx, 1);
    lg_check_target(L, lua_gettop(L)); /* refuses freed ones */
    lua_pop(L, 1);
    return m;
}

static int release(lua_State *L)
{
    rt_tensor_map_release(lg_check_object(L, 1, LG_TENSOR_MAP));
    return 0;
}

/* ---- what a box is ---- */
/* A list of as many whole numbers as the array has axes. [raises] */
static void read_sizes(lua_State *L, int idx, const char *what, int ndim, int64_t *out)
{
    if (!lua_istable(L, idx))
        luaL_error(L, "%s: expected a list of whole numbers, one for each axis, got %s", what, lg_type_name(L, idx));
    int count = (int)lua_rawlen(L, idx);
    if (count != ndim) luaL_error(L, "%s: expected %d numbers, one for each axis, got %d", what, ndim, count);
    for (int i = 0; i < ndim; i++) {
        int whole;
        lua_rawgeti(L, idx, i + 1);
        out[i] = lua_tointegerx(L, -1, &whole);
        if (!whole) luaL_error(L, "%s: expected whole numbers, got %s", what, luaL_tolstring(L, -1, NULL));
        lua_pop(L, 1);
    }
}

static enum rt_swizzle read_swizzle(lua_State *L, int idx)
{
    static const int bytes[] = {0, 32, 64, 128};
    for (int i = 0; i < 4; i++)
        if (lua_isinteger(L, idx) && lua_tointeger(L, idx) == bytes[i]) return (enum rt_swizzle)i;
    luaL_error(L, "swizzle: expected 0, 32, 64 or 128 (bytes), got %s", luaL_tolstring(L, idx, NULL));
    return RT_SWIZZLE_NONE;
}

static bool read_fill(lua_State *L, int idx)
{
    if (lua_type(L, idx) == LUA_TNUMBER) {
        lua_Number v = lua_tonumber(L, idx);
        if (v == 0 || v != v) return v != 0;
    }
    luaL_error(L, "fill: expected 0 or NaN (0/0), got %s", luaL_tolstring(L, idx, NULL));
    return false;
}

static void read_options(lua_State *L, int idx, struct rt_tensor_box *b)
{
    if (lua_isnoneornil(L, idx)) return;
    luaL_checktype(L, idx, LUA_TTABLE);
    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
        const char *key = lg_option_name(L);
        int value = lua_gettop(L);
        if (!strcmp(key, "swizzle"))
            b->swizzle = read_swizzle(L, value);
        else if (!strcmp(key, "step"))
            read_sizes(L, value, "step", b->ndim, b->steps);
        else if (!strcmp(key, "fill"))
            b->nan = read_fill(L, value);
        else
            luaL_error(L, "there is no option '%s'; there are fill, step and swizzle", key);
    }
}

static int tensor_map(lua_State *L)
{
    struct rt_tensor_box box = {.swizzle = RT_SWIZZLE_NONE};
    lua_settop(L, 3);
    const struct rt_array *a = lg_check_target(L, 1);
    if (a->ndim > RT_TENSOR_DIMS || a->ndim < 1)
        luaL_error(L, "x: expected an array of 1 to %d axes, got one of %d", RT_TENSOR_DIMS, a->ndim);
    box.ndim = a->ndim;
    for (int i = 0; i < RT_TENSOR_DIMS; i++) box.steps[i] = 1;
    read_sizes(L, 2, "box", a->ndim, box.shape);
    read_options(L, 3, &box);
    struct rt_tensor_map *m = lua_newuserdatauv(L, sizeof *m, 1);
    memset(m, 0, sizeof *m);
    luaL_setmetatable(L, LG_TENSOR_MAP);
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, -2, 1);
    lg_check(L, rt_tensor_map_new(a, &box, m, lg_error_box(L)));
    return 1;
}

/* ---- fields ---- */
/* A box as it lies in shared memory. */
static void extents_of(const struct rt_tensor_box *b, int64_t *out)
{
    for (int i = 0; i < b->ndim; i++) out[i] = rt_tensor_extent(b, i);
}

static int64_t bytes_of(const struct rt_tensor_map *m)
{
    int64_t n = rt_dtypes[m->array.dtype].size;
    for (int i = 0; i < m->box.ndim; i++) n *= rt_tensor_extent(&m->box, i);
    return n;
}

static int index_map(lua_State *L)
{
    const struct rt_tensor_map *m = lg_check_object(L, 1, LG_TENSOR_MAP);
    const char *key = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
    int64_t extents[RT_TENSOR_DIMS];
    extents_of(&m->box, extents);
    if (!strcmp(key, "box"))
        lg_push_shape(L, m->box.ndim, extents);
    else if (!strcmp(key, "bytes"))
        lua_pushinteger(L, bytes_of(m));
    else if (!strcmp(key, "array"))
        lua_getiuservalue(L, 1, 1);
    else if (!strcmp(key, "swizzle"))
        lua_pushinteger(L, m->box.swizzle ? 16 << m->box.swizzle : 0);
    else
        return luaL_error(L, "a tensor map has no field '%s'; it has array, box, bytes and swizzle",
                          luaL_tolstring(L, 2, NULL));
    return 1;
}

static int map_fields(lua_State *L)
{
    static const char *const fields[] = {"array", "box", "bytes", "swizzle", NULL};
    return lg_push_names(L, fields);
}

static int map_tostring(lua_State *L)
{
    char box[160], shape[160];
    const struct rt_tensor_map *m = lg_check_object(L, 1, LG_TENSOR_MAP);
    const struct rt_array *a = &m->array;
    int64_t extents[RT_TENSOR_DIMS];
    if (!a->storage) {
        lua_pushstring(L, "a tensor map that was freed");
        return 1;
    }
    extents_of(&m->box, extents);
    lua_pushfstring(L, "tensor map of %s %s on %s, boxes of %s, %d bytes", rt_dtypes[a->dtype].name,
                    rt_shape_text(a->ndim, a->shape, shape, sizeof shape), rt_array_device(a)->name,
                    rt_shape_text(m->box.ndim, extents, box, sizeof box), (int)bytes_of(m));
    return 1;
}

static const struct lg_function functions[] = {
    {"tensormap", tensor_map, "gpu.tensormap(x, box [, options])",
     "A tensor map, which a kernel takes as `const __grid_constant__ CUtensorMap m`, for the copies of the tensor memory "
     "accelerator (TMA): cp_async_bulk_tensor_2d_global_to_shared(to, &m, column, row, barrier) and its like, "
     "cp.async.bulk.tensor in PTX.\n"
     "x has 1 to 5 axes; it may be a view whose last axis is contiguous and whose others go on by multiples of 16 bytes. "
     "box is a list of what a copy takes along each axis, 1 to 256, its last axis a multiple of 16 bytes. Kernels give "
     "coordinates the other way round: the last axis first, as x. What lies outside of x is read as 0 and not written. "
     "Options: swizzle = 32, 64 or 128 mixes units of 16 bytes within so many of them in shared memory; step = a list "
     "takes every second to eighth element along axes but the last; fill = 0/0 reads NaN outside of x.\n"
     "Fields: array, box (as it lies in shared memory), bytes (what the mbarrier waits for) and swizzle. #include "
     "<cuda.h> has CUtensorMap, <cuda/barrier> the copies. GPUs have it from compute capability 9.0 on, the software GPU "
     "always.",
     "local k = gpu.kernel [[\n"
     "  #include <cuda.h>\n"
     "  #include <cuda/barrier>\n"
     "  using barrier = cuda::barrier<cuda::thread_scope_block>;\n"
     "  __global__ void corner(const __grid_constant__ CUtensorMap m, float *out) {\n"
     "    __shared__ alignas(128) float tile[4][8];\n"
     "    __shared__ barrier bar;\n"
     "    if (threadIdx.x == 0) {\n"
     "      init(&bar, 1);\n"
     "      cuda::device::experimental::cp_async_bulk_tensor_2d_global_to_shared(tile, &m, 2, 1, bar);\n"
     "      bar.wait(cuda::device::barrier_arrive_tx(bar, 1, sizeof tile));\n"
     "      *out = tile[0][0];\n"
     "    }\n"
     "  }\n"
     "]]\n"
     "local x = gpu.range(1, 160):to('float32'):reshape(10, 16)\n"
     "local m = gpu.tensormap(x, {4, 8})\n"
     "assert(m.bytes == 4 * 8 * 4)\n"
     "local out = gpu.zeros(1)\n"
     "k(1, 32)(m, out)\n"
     "assert(out[1] == x[2][3])"},
    {0}};

void lg_open_tensor_map(lua_State *L)
{
    static const luaL_Reg meta[] = {{"__gc", release},        {"__close", release},
                                    {"__index", index_map},   {"__tostring", map_tostring},
                                    {"__fields", map_fields}, {NULL, NULL}};
    lg_register(L, "gpu", functions);
    luaL_newmetatable(L, LG_TENSOR_MAP);
    luaL_setfuncs(L, meta, 0);
    lua_pop(L, 1);
}
