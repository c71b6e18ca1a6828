/* gpu.nvtx: names on the time line of NVIDIA's profilers. */
#include "runtime/nvtx.h"
#include "lang/closest.h"
#include "lang/lazy.h"
#include "lang/stream.h"

static int push(lua_State *L)
{
    const char *name = luaL_checkstring(L, 1);
    lg_evaluate_all(L); /* what was to be done before belongs before */
    rt_nvtx_push(name);
    return 0;
}

static int pop(lua_State *L)
{
    lg_evaluate_all(L);
    rt_nvtx_pop();
    return 0;
}

static int mark(lua_State *L)
{
    rt_nvtx_mark(luaL_checkstring(L, 1));
    return 0;
}

static int available(lua_State *L)
{
    lua_pushboolean(L, rt_nvtx_available());
    return 1;
}

static int end_range(lua_State *L)
{
    (void)L;
    rt_nvtx_pop();
    return 0;
}

static int range(lua_State *L)
{
    luaL_checkstring(L, 1);
    if (!lua_isfunction(L, 2)) luaL_typeerror(L, 2, "function");
    lua_newtable(L);
    lg_set_event(L, "__close", end_range);
    lua_insert(L, 2);
    lg_evaluate_all(L);
    rt_nvtx_push(lua_tostring(L, 1));
    lua_toclose(L, 2);
    lua_call(L, lua_gettop(L) - 3, LUA_MULTRET);
    lg_evaluate_all(L);
    return lua_gettop(L) - 2;
}

static const struct lg_function functions[] = {
    {"range", range, "gpu.nvtx.range(name, f, ...)",
     "Calls f(...) in a range of that name on the time line of Nsight Systems, and gives what f returns.\n"
     "Work that f gives to a GPU is told apart by it there. Needs libnvtx3interop or libnvToolsExt, of the CUDA toolkit or "
     "`pip install nvidia-nvtx`; without it, or without a profiler, f is called and that is all.",
     "local x = gpu.nvtx.range('setup', function() return gpu.ones(10) end)\nassert(x:sum() == 10)"},
    {"push", push, "gpu.nvtx.push(name)",
     "Begins a range, which gpu.nvtx.pop() ends; they nest. gpu.nvtx.range ends it after an error, too.",
     "gpu.nvtx.push('step')\nlocal x = gpu.ones(10) + 1\ngpu.nvtx.pop()"},
    {"pop", pop, "gpu.nvtx.pop()", "Ends the range that was pushed last.", "gpu.nvtx.push('step')\ngpu.nvtx.pop()"},
    {"mark", mark, "gpu.nvtx.mark(name)", "Marks a moment with a name.", "gpu.nvtx.mark('here')"},
    {"available", available, "gpu.nvtx.available()",
     "Whether NVTX's library was found; a profiler need not be there for it.",
     "assert(type(gpu.nvtx.available()) == 'boolean')"},
    {0}};

void lg_open_nvtx(lua_State *L)
{
    lua_newtable(L);
    lg_register(L, "gpu.nvtx", functions);
    lg_seal_module(L, "gpu.nvtx", "gpu.nvtx.range(name, f)");
    lua_setfield(L, -2, "nvtx");
}
