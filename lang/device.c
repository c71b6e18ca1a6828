/* Device objects, the default device and dtypes as arguments. A device object is one userdata per device and state, so
 * Lua's == tells devices apart. */
#include <ctype.h>
#include <string.h>
#include "lang/card.h"
#include "runtime/spelling.h"

static const char devices_key; /* registry table: rt_device * -> userdata */

static const char *const kind_names[] = {[RT_CPU] = "cpu", [RT_SIMT] = "simt", [RT_CUDA] = "cuda"};

void lg_push_device(lua_State *L, struct rt_device *d)
{
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &devices_key) != LUA_TTABLE) {
        lua_pop(L, 1);
        lua_newtable(L);
        lua_pushvalue(L, -1);
        lua_rawsetp(L, LUA_REGISTRYINDEX, &devices_key);
    }
    if (lua_rawgetp(L, -1, d) == LUA_TNIL) {
        lua_pop(L, 1);
        *(struct rt_device **)lua_newuserdatauv(L, sizeof d, 0) = d;
        luaL_setmetatable(L, LG_DEVICE);
        lua_pushvalue(L, -1);
        lua_rawsetp(L, -3, d);
    }
    lua_remove(L, -2);
}

struct rt_device *lg_check_device(lua_State *L, int idx)
{
    struct rt_error *e = lg_error_box(L);
    if (lua_isnoneornil(L, idx)) {
        struct rt_device *d = rt_device_default(e);
        if (!d) lg_raise(L, e);
        return d;
    }
    struct rt_device **object = luaL_testudata(L, idx, LG_DEVICE);
    if (object) return *object;
    if (lua_isinteger(L, idx)) {
        LUAI_UACINT n = (LUAI_UACINT)lua_tointeger(L, idx);
        luaL_error(L, "expected a device name, got the number %I; the GPU of that number is \"cuda:%I\"", n, n);
    }
    if (lua_type(L, idx) != LUA_TSTRING) {
        luaL_error(L, "expected a device name (\"cuda:0\", \"simt\", \"cpu\") or a device object, got %s",
                   lg_type_name(L, idx));
    }
    struct rt_device *d = rt_device_open(lua_tostring(L, idx), e);
    if (!d) lg_raise(L, e);
    return d;
}

const char *lg_dtype_meant(const char *name)
{
    static const char *const codes[][2] = {{"f2", "float16"},   {"f4", "float32"},    {"f8", "float64"},
                                           {"i1", "int8"},      {"i2", "int16"},      {"i4", "int32"},
                                           {"i8", "int64"},     {"u1", "uint8"},      {"u4", "uint32"},
                                           {"c8", "complex64"}, {"c16", "complex128"}};
    const char *dot = strrchr(name, '.'), *best = NULL;
    char plain[16];
    size_t n = 0;
    for (const char *p = dot ? dot + 1 : name; *p && n < sizeof plain - 1; p++)
        plain[n++] = (char)tolower((unsigned char)*p);
    plain[n] = '\0';
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (strcmp(plain, codes[i][0]) == 0) return codes[i][1];
    for (int t = 0, least = n < 4 ? 0 : 2; t < RT_DTYPE_COUNT; t++) {
        int distance = rt_spelling_distance(plain, rt_dtypes[t].name);
        if (distance > least || (best && distance == least)) continue;
        least = distance;
        best = rt_dtypes[t].name;
    }
    return best;
}

enum rt_dtype lg_check_dtype(lua_State *L, int idx, enum rt_dtype fallback)
{
    if (lua_isnoneornil(L, idx)) return fallback;
    if (lua_type(L, idx) != LUA_TSTRING)
        luaL_error(L, "expected a dtype name such as \"float32\", got %s", lg_type_name(L, idx));
    enum rt_dtype t = rt_dtype_find(lua_tostring(L, idx));
    if (t != RT_DTYPE_COUNT) return t;
    const char *name = lua_tostring(L, idx);
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    for (int i = 0; i < RT_DTYPE_COUNT; i++) {
        if (i) luaL_addstring(&b, ", ");
        luaL_addstring(&b, rt_dtypes[i].name);
    }
    luaL_pushresult(&b);
    return luaL_error(L, "there is no dtype '%s'; there are %s", name, lua_tostring(L, -1));
}

static void push_triple(lua_State *L, const int *v)
{
    lua_createtable(L, 3, 0);
    for (int i = 0; i < 3; i++) {
        lua_pushinteger(L, v[i]);
        lua_rawseti(L, -2, i + 1);
    }
}

/* The fields of device objects: one list for indexing and completion. */
static const char *const fields[] = {"name",
                                     "model",
                                     "kind",
                                     "ordinal",
                                     "memory",
                                     "compute_capability",
                                     "multiprocessors",
                                     "warp_size",
                                     "max_threads_per_block",
                                     "max_block",
                                     "max_grid",
                                     "max_shared_per_block",
                                     "runs_kernels",
                                     NULL};

bool lg_is_device_field(const char *name, size_t length)
{
    for (const char *const *f = fields; *f; f++)
        if (strlen(*f) == length && memcmp(*f, name, length) == 0) return true;
    return false;
}

static bool push_field(lua_State *L, const struct rt_device *d, const char *key)
{
    if (!strcmp(key, "name"))
        lua_pushstring(L, d->name);
    else if (!strcmp(key, "model"))
        lua_pushstring(L, d->model);
    else if (!strcmp(key, "kind"))
        lua_pushstring(L, kind_names[d->kind]);
    else if (!strcmp(key, "ordinal"))
        lua_pushinteger(L, d->ordinal);
    else if (!strcmp(key, "memory"))
        lua_pushinteger(L, (lua_Integer)d->total_memory);
    else if (!strcmp(key, "runs_kernels"))
        lua_pushboolean(L, rt_device_runs_kernels(d));
    else if (d->kind == RT_CPU)
        lua_pushnil(L);
    else if (!strcmp(key, "compute_capability"))
        lua_pushfstring(L, "%d.%d", d->compute_major, d->compute_minor);
    else if (!strcmp(key, "multiprocessors"))
        lua_pushinteger(L, d->multiprocessors);
    else if (!strcmp(key, "warp_size"))
        lua_pushinteger(L, d->warp_size);
    else if (!strcmp(key, "max_threads_per_block"))
        lua_pushinteger(L, d->max_threads_per_block);
    else if (!strcmp(key, "max_block"))
        push_triple(L, d->max_block);
    else if (!strcmp(key, "max_grid"))
        push_triple(L, d->max_grid);
    else if (!strcmp(key, "max_shared_per_block"))
        lua_pushinteger(L, (lua_Integer)d->max_shared_per_block);
    else
        return false;
    return true;
}

static int device_index(lua_State *L)
{
    struct rt_device *d = *(struct rt_device **)lg_check_object(L, 1, LG_DEVICE);
    const char *key = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
    for (const char *const *f = fields; *f; f++)
        if (!strcmp(*f, key) && push_field(L, d, key)) return 1;
    return luaL_error(L, "a device has no field '%s'; ?gpu.device lists them", luaL_tolstring(L, 2, NULL));
}

static int device_tostring(lua_State *L)
{
    struct rt_device *d = *(struct rt_device **)lg_check_object(L, 1, LG_DEVICE);
    if (d->model[0] && strcmp(d->model, d->name))
        lua_pushfstring(L, "%s: %s", d->name, d->model);
    else
        lua_pushstring(L, d->name);
    return 1;
}

static int device_fields(lua_State *L)
{
    return lg_push_names(L, fields);
}

static int gpu_device(lua_State *L)
{
    struct rt_device *d = lg_check_device(L, 1);
    if (!lua_isnoneornil(L, 1)) rt_device_set_default(d);
    lg_push_device(L, d);
    return 1;
}

static int find_device(lua_State *L) /* __index of the list: devices by name */
{
    if (lua_type(L, 2) != LUA_TSTRING) return 0;
    for (lua_Integer i = 1; lua_rawgeti(L, 1, i) == LUA_TUSERDATA; i++) {
        const struct rt_device *d = *(struct rt_device **)lua_touserdata(L, -1);
        if (!strcmp(d->name, lua_tostring(L, 2))) return 1;
        lua_pop(L, 1);
    }
    return 0;
}

static int print_devices(lua_State *L)
{
    luaL_Buffer b;
    lua_Integer n = luaL_len(L, 1);
    luaL_buffinit(L, &b);
    for (lua_Integer i = 1; i <= n; i++) {
        if (i > 1) luaL_addchar(&b, '\n');
        lua_rawgeti(L, 1, i);
        luaL_tolstring(L, -1, NULL);
        lua_remove(L, -2);
        luaL_addvalue(&b);
    }
    luaL_pushresult(&b);
    return 1;
}

static int gpu_devices(lua_State *L)
{
    lua_newtable(L);
    lua_Integer n = 0;
    int count = rt_device_count();
    for (int i = 0; i < count; i++) {
        struct rt_device *d = rt_device_at(i, lg_error_box(L));
        if (!d) continue; /* a GPU that is there but cannot be opened; naming it by gpu.device tells why */
        lg_push_device(L, d);
        lua_rawseti(L, -2, ++n);
    }
    if (luaL_newmetatable(L, "lunarray.devices")) {
        lua_pushcfunction(L, find_device);
        lua_setfield(L, -2, "__index");
        lua_pushcfunction(L, print_devices);
        lua_setfield(L, -2, "__tostring");
        lua_pushcfunction(L, lg_display_devices);
        lua_setfield(L, -2, "__display");
    }
    lua_setmetatable(L, -2);
    return 1;
}

static const struct lg_function functions[] = {
    {"device", gpu_device, "gpu.device([device])",
     "The default device, on which new arrays and kernels are made. With a name or a device object it becomes that one.\n"
     "Names are \"cpu\", \"simt\" (the software GPU), \"cuda\" (the first GPU), \"cuda:1\" and so on, and \"gpu\": "
     "cuda:0 where one works, else simt. Returns a device object with the fields name, model, kind, ordinal, memory "
     "(bytes), runs_kernels, and for devices that run kernels compute_capability, multiprocessors, warp_size, "
     "max_threads_per_block, max_block, max_grid and max_shared_per_block.",
     "local before = gpu.device()\n"
     "assert(gpu.device('cpu').name == 'cpu' and gpu.zeros(2).device == 'cpu')\n"
     "gpu.device(before)"},
    {"devices", gpu_devices, "gpu.devices()",
     "The list of all devices: GPUs first, then simt, then cpu. It can also be indexed by name.",
     "assert(gpu.devices().cpu.kind == 'cpu')\n"
     "for i, d in ipairs(gpu.devices()) do assert(d.memory > 0) end"},
    {0}};

void lg_open_device(lua_State *L)
{
    static const luaL_Reg meta[] = {{"__index", device_index},
                                    {"__tostring", device_tostring},
                                    {"__fields", device_fields},
                                    {"__display", lg_display_device},
                                    {0}};
    if (luaL_newmetatable(L, LG_DEVICE)) luaL_setfuncs(L, meta, 0);
    lua_pop(L, 1);
    lg_register(L, "gpu", functions);
}
