/* Graphs: gpu.graph records what a function gives to the device. The userdata holds a pointer to the rt_graph, NULL
 * when it is just made or was released. */
#include <string.h>
#include "lang/check.h"
#include "lang/lazy.h"
#include "lang/stream.h"
#include "runtime/graph.h"

static struct rt_graph *graph_at(lua_State *L, int idx)
{
    struct rt_graph *g = *(struct rt_graph **)lg_check_object(L, idx, LG_GRAPH);
    luaL_argcheck(L, g, idx, "the graph was freed");
    return g;
}

static int release(lua_State *L)
{
    struct rt_graph **g = lg_check_object(L, 1, LG_GRAPH);
    rt_graph_release(*g);
    *g = NULL;
    return 0;
}

/* An error while it was recorded leaves a graph that is no good. */
static int stop(lua_State *L)
{
    struct rt_graph **g = *(struct rt_graph ***)lua_touserdata(L, 1);
    if (!g) return 0;
    rt_graph_release(*g);
    *g = NULL;
    return 0;
}

static int graph(lua_State *L)
{
    struct rt_error *e = lg_error_box(L);
    if (!lua_isfunction(L, 1)) luaL_typeerror(L, 1, "function");
    struct rt_device *d = lg_check_device(L, 2);
    lua_settop(L, 1);
    lg_evaluate_all(L);
    struct rt_graph **g = lua_newuserdatauv(L, sizeof *g, 0); /* 2 */
    *g = NULL;
    luaL_setmetatable(L, LG_GRAPH);
    struct rt_graph ***open = lua_newuserdatauv(L, sizeof *open, 0); /* 3 */
    *open = NULL;
    lg_set_event(L, "__close", stop);
    lua_toclose(L, 3);
    lua_pushvalue(L, 1);
    *g = rt_graph_record(d, e);
    if (!*g) return lg_raise(L, e);
    *open = g;
    lua_call(L, 0, LUA_MULTRET);
    lg_evaluate_all(L);
    lg_check(L, rt_graph_end(*g, e));
    *open = NULL;
    int results = lua_gettop(L) - 3;
    lua_pushvalue(L, 2);
    lua_insert(L, 4);
    return results + 1;
}

static int launch(lua_State *L)
{
    struct rt_graph *g = graph_at(L, 1);
    struct rt_device *d = rt_graph_device(g);
    bool named = !lua_isnoneornil(L, 2);
    struct rt_stream *s = named ? *lg_check_stream(L, 2, "launch") : d->current;
    lua_settop(L, 2);
    if (named && s->device != d)
        return luaL_error(L, "the graph is of %s, and stream %d of %s", d->name, (int)s->number, s->device->name);
    lg_evaluate_all(L);
    const struct rt_array *written;
    for (size_t i = 0; (written = rt_graph_written(g, i)); i++) lg_before_write(L, written);
    lg_check(L, rt_stream_alive(s, lg_error_box(L)));
    lg_run_graph(L, lua_touserdata(L, 1), s);
    lua_settop(L, 1);
    return 1;
}

static const char *const names[] = {"device", "nodes", "launch", "free", NULL};

static int graph_index(lua_State *L)
{
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
    const struct rt_graph *g = graph_at(L, 1);
    const char *key = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
    if (!strcmp(key, "device"))
        lg_push_device(L, rt_graph_device(g));
    else if (!strcmp(key, "nodes"))
        lua_pushinteger(L, (lua_Integer)rt_graph_count(g));
    else
        return luaL_error(L, "a graph has no field '%s'", luaL_tolstring(L, 2, NULL));
    return 1;
}

static int graph_fields(lua_State *L)
{
    return lg_push_names(L, names);
}

static int graph_tostring(lua_State *L)
{
    const struct rt_graph *g = *(struct rt_graph **)lg_check_object(L, 1, LG_GRAPH);
    if (g)
        lua_pushfstring(L, "graph of %d node%s on %s", (int)rt_graph_count(g), rt_graph_count(g) == 1 ? "" : "s",
                        rt_graph_device(g)->name);
    else
        lua_pushliteral(L, "graph (freed)");
    return 1;
}

static const struct lg_function functions[] = {
    {"graph", graph, "gpu.graph(f [, device])",
     "Calls f() and records what it gives to the device, without running it: g:launch() does, as often as wanted. Gives "
     "the graph and what f returns.\n"
     "Launches, array operations and copies between arrays become nodes, in their order, on a GPU of a CUDA graph, which "
     "costs one launch whatever it holds. Numbers are those of the recording; of arrays the graph knows the memory, and "
     "reads what is in it when it is launched: x:copy_(y) gives it new input, and arrays that f returns have the results "
     "of the last launch. What needs elements while f runs is an error, x:sum() as a number, x[mask] or printing; so are "
     "operations that a device leaves to the host. Work in streams is recorded in its order, which events and waits between streams leave as it is. What f "
     "does to arrays of another device, the cpu for one, happens while it is recorded, and only then. Where "
     "the device is simt, the generated kernels run on the software GPU.",
     "local x = gpu.ones(1000)\n"
     "local g, y = gpu.graph(function()\n"
     "  x:mul_(2)\n"
     "  return x + 1\n"
     "end)\n"
     "g:launch()\n"
     "assert(y[1] == 3)\n"
     "g:launch()\n"
     "assert(y[1] == 5)"},
    {0}};

static const struct lg_function methods[] = {
    {"launch", launch, "g:launch([stream])",
     "Gives the graph's work to the stream, or to the current one; g() is the same. Gives g.\n"
     "Its launches of kernels are checked as they are without a graph: where checks are on now, or where the option "
     "check of a launch that was recorded says so. One that finds something ends the graph there, as an error, but in "
     "gpu.check(f), which lists what all of them find.",
     "local x = gpu.zeros(10)\n"
     "local g = gpu.graph(function() x:add_(1) end)\n"
     "local s = gpu.stream()\n"
     "for _ = 1, 3 do g:launch(s) end\n"
     "assert(x:sum() == 30)"},
    {"free", release, "g:free()",
     "Gives up the graph and its memory now, as closing it does and at last the garbage collector.",
     "local x = gpu.zeros(10)\nlocal g <close> = gpu.graph(function() x:add_(1) end)\ng:free()"},
    {0}};

static const struct lg_function documented[] = {
    {"device", NULL, "g.device", "The device that it was recorded on.", NULL},
    {"nodes", NULL, "g.nodes", "How many launches and copies it holds.", NULL},
    {0}};

void lg_open_graph(lua_State *L)
{
    static const luaL_Reg meta[] = {{"__gc", release},          {"__close", release},
                                    {"__call", launch},         {"__tostring", graph_tostring},
                                    {"__fields", graph_fields}, {NULL, NULL}};
    lg_register(L, "gpu", functions);
    luaL_newmetatable(L, LG_GRAPH);
    luaL_setfuncs(L, meta, 0);
    lua_newtable(L);
    lg_register(L, "graph", methods);
    lua_pushcclosure(L, graph_index, 1);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
    for (const struct lg_function *row = documented; row->name; row++) lg_document(L, "graph", row);
}
