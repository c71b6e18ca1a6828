/* Assembles the gpu module. */
#include <string.h>
#include "lang/closest.h"
#include "lang/stream.h"
#include "runtime/background.h"

static int gpu_tostring(lua_State *L)
{
    struct rt_error *e = lg_error_box(L);
    struct rt_device *d = rt_device_default(e);
    if (!d) rt_error_clear(e);
    lua_pushfstring(
        L,
        "lunarray %s, default device %s\n"
        "  x = gpu.linspace(0, 1, 5), gpu.array{1, 2}, gpu.zeros(3, 4)   arrays\n"
        "  2 * x + 1, x:sum(), x.shape, x[1], x[\"2:3\"]                   what is done with them: ?indexing\n"
        "  k = gpu.kernel [[ __global__ ... ]], k(grid, block)(x)        kernels in CUDA C: ?kernels\n"
        "gpu.help() lists what there is; ?lua, ?numpy and ?cuda tell what is otherwise than elsewhere",
        LUNARRAY_VERSION, d ? d->name : "missing");
    return 1;
}

/* The modules of CuPy, SciPy and PyTorch, and where their functions are. */
#define OWN       "its functions are gpu's own: "
#define GRADIENTS "gradients are written out, as dw = x.T:matmul(dy) for y = x:matmul(w)"
#define SCIPY                                                                                                          \
    "SciPy's functions are gpu's own, gpu.erf(x), gpu.butter(4, 0.2), or in gpu.linalg, gpu.fft, gpu.ndimage, gpu.sparse"
static const struct {
    const char *module, *here;
} elsewhere[] = {
    {"cuda", OWN "gpu.synchronize(), gpu.stream(), gpu.event(), gpu.device()"},
    {"nn", OWN
     "gpu.relu(x), gpu.conv2d(x, w), gpu.cross_entropy(x, classes); a layer is a function of yours, and " GRADIENTS},
    {"functional", OWN "gpu.relu(x), gpu.conv2d(x, w), gpu.softmax(x)"},
    {"optim", "a step is written out, as w:sub_(rate * dw), and " GRADIENTS},
    {"autograd", GRADIENTS},
    {"signal", OWN "gpu.butter(4, 0.2), gpu.lfilter(b, a, x), gpu.convolve(x, y)"},
    {"special", OWN "gpu.erf(x), gpu.lgamma(x), gpu.j0(x)"},
    {"stats", OWN "gpu.mean(x), gpu.ndtr(x), which is norm.cdf, gpu.ndtri(x); samples are gpu.random's"},
    {"scipy", SCIPY},
    {"cupyx", SCIPY},
    {"spatial", "distances are gpu.cdist(x, y) and gpu.pdist(x)"},
    {"testing", "it is written assert(gpu.allclose(x, y)), or assert(gpu.equal(x, y))"},
};

/* A misspelt function would be nil, and the message of calling it no help. */
static int gpu_missing(lua_State *L)
{
    if (lua_type(L, 2) != LUA_TSTRING) return 0;
    const char *name = lua_tostring(L, 2);
    luaL_getmetatable(L, LG_ARRAY);
    lua_getfield(L, -1, "__methods");
    lua_pushvalue(L, 2);
    if (lua_rawget(L, -2) != LUA_TNIL)
        return luaL_error(L, "gpu has no function '%s'; it is a method of arrays, x:%s(...)", name, name);
    for (int t = 0; t < RT_DTYPE_COUNT; t++)
        if (!strcmp(rt_dtypes[t].name, name))
            return luaL_error(L, "gpu has no function '%s'; a dtype is a string, as in gpu.zeros(3, \"%s\")", name,
                              name);
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
        if (!strcmp(name, elsewhere[i].module))
            return luaL_error(L, "gpu has no module '%s'; %s", name, elsewhere[i].here);
    return lg_raise_unknown(L, "gpu has no function", name, 1, 0);
}

/* ---- the end of the state, or of the process: what compiles in the background is awaited ---- */
static int pause_background(lua_State *L)
{
    (void)L;
    rt_background_pause();
    return 0;
}

static int exit_process(lua_State *L)
{
    if (!lua_isboolean(L, 1)) luaL_optinteger(L, 1, 0); /* its error names this function and who called it */
    rt_background_pause();
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, 0);
    return 0;
}

static void open_end(lua_State *L)
{
    lua_newuserdatauv(L, 0, 0);
    lg_set_event(L, "__gc", pause_background);
    luaL_ref(L, LUA_REGISTRYINDEX);
    if (lua_getglobal(L, "os") == LUA_TTABLE && lua_getfield(L, -1, "exit") == LUA_TFUNCTION) {
        lua_pushcclosure(L, exit_process, 1);
        lua_setfield(L, -2, "exit");
    }
    lua_settop(L, 0);
}

__attribute__((visibility("default"))) int luaopen_lunarray(lua_State *L)
{
    luaL_checkversion(L);
    lua_settop(L, 0);
    lg_error_box(L);
    open_end(L);
    lua_newtable(L);
    lg_set_string(L, "version", LUNARRAY_VERSION);
    lg_open_help(L);
    lg_open_device(L);
    lg_open_array(L);
    lg_open_kernel(L);
    lg_open_stream(L);
    lg_open_graph(L);
    lg_open_nvtx(L);
    lg_open_profile(L);
    lg_open_trace(L);
    lg_open_texture(L);
    lg_open_tensor_map(L);
    lg_open_progress(L);
    lg_open_image(L);
    lg_open_plot(L);
    lg_open_handles(L);
    lua_createtable(L, 0, 2);
    lua_pushcfunction(L, gpu_tostring);
    lua_setfield(L, -2, "__tostring");
    lua_pushcfunction(L, gpu_missing);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
    return 1;
}
