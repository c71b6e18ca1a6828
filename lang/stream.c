/* Streams and events: gpu.stream, gpu.event and their methods. A stream's userdata holds a pointer to its rt_stream,
 * NULL when it is just made or was released; an event's one is a struct rt_event, whose device is NULL then. */
#include "lang/stream.h"
#include <string.h>
#include "lang/check.h"
#include "lang/closest.h"
#include "lang/lazy.h"

/* ---- objects ---- */

static struct rt_stream *stream_at(lua_State *L, int idx)
{
    struct rt_stream *s = *(struct rt_stream **)lg_check_object(L, idx, LG_STREAM);
    luaL_argcheck(L, s, idx, "the stream was freed");
    return s;
}

struct rt_stream *const *lg_check_stream(lua_State *L, int idx, const char *what)
{
    struct rt_stream *const *s = luaL_testudata(L, idx, LG_STREAM);
    if (!s) luaL_error(L, "%s: expected a stream, as gpu.stream() makes, got %s", what, lg_type_name(L, idx));
    if (!*s) luaL_error(L, "%s: the stream was freed", what);
    return s;
}

static struct rt_event *event_at(lua_State *L, int idx)
{
    struct rt_event *v = lg_check_object(L, idx, LG_EVENT);
    luaL_argcheck(L, v->device, idx, "the event was freed");
    return v;
}

static struct rt_event *push_event(lua_State *L, struct rt_device *d)
{
    struct rt_event *v = lua_newuserdatauv(L, sizeof *v, 0);
    *v = (struct rt_event){0};
    luaL_setmetatable(L, LG_EVENT);
    lg_check(L, rt_event_new(d, v, lg_error_box(L)));
    return v;
}

static int stream(lua_State *L)
{
    struct rt_error *e = lg_error_box(L);
    struct rt_device *d = lg_check_device(L, 1);
    struct rt_stream **s = lua_newuserdatauv(L, sizeof *s, 0);
    *s = NULL;
    luaL_setmetatable(L, LG_STREAM);
    *s = rt_stream_new(d, e);
    if (!*s && e->status == RT_UNSUPPORTED) { /* streams that nobody has any more count until they are collected */
        lua_gc(L, LUA_GCCOLLECT);
        rt_error_clear(e);
        *s = rt_stream_new(d, e);
    }
    if (!*s) return lg_raise(L, e);
    return 1;
}

static int stream_release(lua_State *L)
{
    struct rt_stream **s = lg_check_object(L, 1, LG_STREAM);
    rt_stream_release(*s);
    *s = NULL;
    return 0;
}

static int event(lua_State *L)
{
    push_event(L, lg_check_device(L, 1));
    return 1;
}

static int event_release(lua_State *L)
{
    rt_event_release(lg_check_object(L, 1, LG_EVENT));
    return 0;
}

/* ---- streams ---- */

/* Faults of kernels carry the kernel's position. */
static void check_waited(lua_State *L, enum rt_status status)
{
    if (status != RT_OK) lg_raise_kernel(L, lg_error_box(L));
}

static int stream_synchronize(lua_State *L)
{
    struct rt_stream *s = stream_at(L, 1);
    lg_evaluate_all(L);
    check_waited(L, rt_stream_synchronize(s->device, s, lg_error_box(L)));
    return 0;
}

static int stream_done(lua_State *L)
{
    bool done;
    struct rt_stream *s = stream_at(L, 1);
    check_waited(L, rt_stream_done(s->device, s, &done, lg_error_box(L)));
    lua_pushboolean(L, done);
    return 1;
}

/* Records the event in the stream or, where that is NULL, in the current one of its device. What waits is part of the
 * work so far. */
static void record(lua_State *L, struct rt_event *v, struct rt_stream *s)
{
    lg_evaluate_all(L);
    if (s && s->device != v->device)
        luaL_error(L, "the event is of %s, and stream %d of %s; gpu.event(\"%s\") makes one there", v->device->name,
                   (int)s->number, s->device->name, s->device->name);
    check_waited(L, rt_event_record(v, s ? s : v->device->current, lg_error_box(L)));
}

static int stream_record(lua_State *L)
{
    struct rt_stream *s = stream_at(L, 1);
    struct rt_event *v = lua_isnoneornil(L, 2) ? push_event(L, s->device) : event_at(L, 2);
    if (!lua_isnoneornil(L, 2)) lua_settop(L, 2);
    record(L, v, s);
    return 1;
}

static int stream_wait(lua_State *L)
{
    struct rt_stream *s = stream_at(L, 1), *const *other = luaL_testudata(L, 2, LG_STREAM);
    const struct rt_event *v;
    lua_settop(L, 2);
    if (other) {
        struct rt_event *end = push_event(L, stream_at(L, 2)->device);
        record(L, end, *other);
        v = end;
    } else {
        if (!luaL_testudata(L, 2, LG_EVENT))
            return luaL_error(L, "wait: expected a stream or an event, got %s", lg_type_name(L, 2));
        v = event_at(L, 2);
        lg_evaluate_all(L);
    }
    check_waited(L, rt_stream_wait(s->device, s, v, lg_error_box(L)));
    lua_settop(L, 1);
    return 1;
}

struct entered {
    struct rt_device *device;
    struct rt_stream *former;
};

static int leave(lua_State *L)
{
    const struct entered *x = lua_touserdata(L, 1);
    rt_stream_enter(x->device, x->former);
    return 0;
}

/* What waited before belongs to the stream that was current then, what f leaves waiting to this one. */
static int stream_with(lua_State *L)
{
    struct rt_stream *s = stream_at(L, 1);
    if (!lua_isfunction(L, 2)) luaL_typeerror(L, 2, "function");
    lg_check(L, rt_stream_alive(s, lg_error_box(L)));
    lg_evaluate_all(L);
    struct entered *x = lua_newuserdatauv(L, sizeof *x, 1);
    *x = (struct entered){.device = s->device, .former = s->device->current};
    lg_set_event(L, "__close", leave);
    lua_insert(L, 2);
    lua_toclose(L, 2);
    rt_stream_enter(s->device, stream_at(L, 1));
    lua_call(L, lua_gettop(L) - 3, LUA_MULTRET);
    lg_evaluate_all(L);
    return lua_gettop(L) - 2;
}

/* ---- events ---- */

static int event_record(lua_State *L)
{
    struct rt_event *v = event_at(L, 1);
    record(L, v, lua_isnoneornil(L, 2) ? NULL : *lg_check_stream(L, 2, "record"));
    lua_settop(L, 1);
    return 1;
}

static int event_synchronize(lua_State *L)
{
    check_waited(L, rt_event_synchronize(event_at(L, 1), lg_error_box(L)));
    return 0;
}

static int event_done(lua_State *L)
{
    bool done;
    check_waited(L, rt_event_done(event_at(L, 1), &done, lg_error_box(L)));
    lua_pushboolean(L, done);
    return 1;
}

static int event_elapsed(lua_State *L)
{
    double ms = 0;
    const struct rt_event *from = event_at(L, 1), *to = event_at(L, 2);
    check_waited(L, rt_event_elapsed(from, to, &ms, lg_error_box(L)));
    lua_pushnumber(L, ms);
    return 1;
}

/* ---- fields ---- */

static const char *const stream_names[] = {"device", "number", "handle", "synchronize", "done",
                                           "wait",   "record", "with",   "free",        NULL};
static const char *const event_names[] = {"device", "record", "done", "synchronize", "elapsed", "free", NULL};

static int stream_index(lua_State *L)
{
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
    const struct rt_stream *s = stream_at(L, 1);
    const char *key = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
    if (!strcmp(key, "device"))
        lg_push_device(L, s->device);
    else if (!strcmp(key, "number"))
        lua_pushinteger(L, s->number);
    else if (!strcmp(key, "handle"))
        lua_pushinteger(L, (lua_Integer)(intptr_t)s->handle);
    else
        return lg_raise_unknown(L, "a stream has no method or field", luaL_tolstring(L, 2, NULL), lua_upvalueindex(1),
                                0);
    return 1;
}

static int event_index(lua_State *L)
{
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
    const struct rt_event *v = event_at(L, 1);
    if (lua_type(L, 2) != LUA_TSTRING || strcmp(lua_tostring(L, 2), "device") != 0)
        return lg_raise_unknown(L, "an event has no method or field", luaL_tolstring(L, 2, NULL), lua_upvalueindex(1),
                                0);
    lg_push_device(L, v->device);
    return 1;
}

static int stream_fields(lua_State *L)
{
    return lg_push_names(L, stream_names);
}

static int event_fields(lua_State *L)
{
    return lg_push_names(L, event_names);
}

static int stream_tostring(lua_State *L)
{
    const struct rt_stream *s = *(struct rt_stream **)lg_check_object(L, 1, LG_STREAM);
    if (s)
        lua_pushfstring(L, "stream %d of %s", (int)s->number, s->device->name);
    else
        lua_pushliteral(L, "stream (freed)");
    return 1;
}

static int event_tostring(lua_State *L)
{
    const struct rt_event *v = lg_check_object(L, 1, LG_EVENT);
    if (v->device)
        lua_pushfstring(L, "event of %s%s", v->device->name, v->recorded ? "" : ", not recorded");
    else
        lua_pushliteral(L, "event (freed)");
    return 1;
}

/* ---- documentation ---- */

#define TWICE                                                                                                          \
    "local twice = gpu.kernel [[__global__ void twice(float *x) { x[threadIdx.x] *= 2; }]]\n"                          \
    "local x, y = gpu.ones(32), gpu.ones(32)\n"

static const struct lg_function functions[] = {
    {"stream", stream, "gpu.stream([device])",
     "A new stream: work of one stream runs in its order, work of two may overlap.\n"
     "k(grid, block, 0, s)(...) launches in it, and so does k(grid, block, {stream = s})(...); s:with(f) gives it all "
     "work of f, array operations and copies included. Other work goes to the default stream, which is in order with "
     "all: it begins when everything given to the device before is done, and what comes later waits for it (CUDA's "
     "legacy default stream). s:wait, events and synchronizing put the work of two streams in order. Reading elements "
     "waits for what writes them, and memory that is released while a stream works with it goes to no other stream "
     "before that is done.\n"
     "On simt and cpu work runs when it is given to a stream. With checks on (gpu.check), as in the shell and in "
     "notebooks, a race between streams is an error all the same: two of them use the same elements, one writes, and "
     "nothing puts one before the other. Fields: device, number, and handle, the CUstream.",
     TWICE "local s, t = gpu.stream(), gpu.stream()\n"
           "twice(1, 32, 0, s)(x)          -- these two may overlap\n"
           "twice(1, 32, 0, t)(y)\n"
           "t:wait(s)                      -- t comes behind s from here on\n"
           "t:with(function() y:add_(x) end)\n"
           "assert(y:sum() == 128)"},
    {"event", event, "gpu.event([device])",
     "A new event: a mark between the pieces of work of a stream.\n"
     "e:record(s) sets it. Then it can be asked for, e:done(), waited for by the host, e:synchronize(), or by another "
     "stream, t:wait(e); and two tell the time between them, e:elapsed(later). Its field device is the device.",
     TWICE "local from, to = gpu.event(), gpu.event()\n"
           "from:record()\n"
           "twice(1, 32)(x)\n"
           "to:record()\n"
           "assert(from:elapsed(to) >= 0)"},
    {0}};

static const struct lg_function stream_methods[] = {
    {"synchronize", stream_synchronize, "s:synchronize()",
     "Waits until the work that the stream was given is done, and reports what went wrong in it.",
     TWICE "local s = gpu.stream()\ntwice(1, 32, 0, s)(x)\ns:synchronize()\nassert(s:done())"},
    {"done", stream_done, "s:done()", "Whether all of the stream's work is done; does not wait.",
     "local s = gpu.stream()\ns:synchronize()\nassert(s:done())"},
    {"wait", stream_wait, "s:wait(event | stream)",
     "What s is given from now on begins when the event's work, or what the other stream was given so far, is done; "
     "gives s.\n"
     "The host does not wait. An event that was never recorded holds up nothing.",
     TWICE "local s, t = gpu.stream(), gpu.stream()\n"
           "twice(1, 32, 0, s)(x)\n"
           "t:wait(s)\n"
           "twice(1, 32, 0, t)(x)\n"
           "assert(x:sum() == 128)"},
    {"record", stream_record, "s:record([event])",
     "Records an event, a new one unless one is given, behind what s was given so far; gives the event.",
     "local s = gpu.stream()\nlocal e = s:record()\ne:synchronize()\nassert(e:done())"},
    {"with", stream_with, "s:with(f, ...)",
     "Calls f(...) with s as the current stream of its device, and gives what f returns.\n"
     "All work goes to it: launches that name no other stream, array operations and copies. Copies between a GPU and "
     "arrays on the cpu do not wait then, least of all those of gpu.pinned; who looks at the elements does. When f ends, "
     "also by an error, the former stream is current again.",
     "local s = gpu.stream()\n"
     "local y = s:with(function(n) return gpu.ones(n) * 2 end, 10)\n"
     "assert(y:sum() == 20)"},
    {"free", stream_release, "s:free()",
     "Gives the stream up now, as closing it does and at last the garbage collector. Work that is under way goes on.",
     "local s <close> = gpu.stream()\ns:free()"},
    {0}};

static const struct lg_function event_methods[] = {
    {"record", event_record, "e:record([stream])",
     "Sets the event behind what the stream, or the current one, was given so far; gives e.\n"
     "In the default stream that is behind everything that the device was given.",
     "local e = gpu.event():record()\ne:synchronize()"},
    {"done", event_done, "e:done()",
     "Whether the work before the event is done, or it was never recorded; does not wait.",
     "assert(gpu.event():done())"},
    {"synchronize", event_synchronize, "e:synchronize()", "Waits until the work before the event is done.",
     "local e = gpu.event():record()\ne:synchronize()\nassert(e:done())"},
    {"elapsed", event_elapsed, "e:elapsed(later)",
     "Milliseconds between two recorded events of one device, after waiting for both.",
     "local a = gpu.event():record()\nlocal b = gpu.event():record()\nassert(a:elapsed(b) >= 0)"},
    {"free", event_release, "e:free()", "Gives the event up now, as closing it does and at last the garbage collector.",
     "local e <close> = gpu.event()\ne:free()"},
    {0}};

static const struct lg_function documented[] = {
    {"device", NULL, "s.device", "The device that it is a stream of.", NULL},
    {"number", NULL, "s.number", "Its number, which messages call it by: streams count from 1.", NULL},
    {"handle", NULL, "s.handle", "The driver's CUstream as an integer, for other libraries; 0 on the cpu.", NULL},
    {0}};

static void open_object(lua_State *L, const char *type, const char *scope, const luaL_Reg *meta,
                        const struct lg_function *methods, lua_CFunction index)
{
    luaL_newmetatable(L, type);
    luaL_setfuncs(L, meta, 0);
    lua_newtable(L);
    lg_register(L, scope, methods);
    lua_pushcclosure(L, index, 1);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
}

void lg_open_stream(lua_State *L)
{
    static const luaL_Reg stream_meta[] = {{"__gc", stream_release},
                                           {"__close", stream_release},
                                           {"__tostring", stream_tostring},
                                           {"__fields", stream_fields},
                                           {NULL, NULL}};
    static const luaL_Reg event_meta[] = {{"__gc", event_release},
                                          {"__close", event_release},
                                          {"__tostring", event_tostring},
                                          {"__fields", event_fields},
                                          {NULL, NULL}};
    lg_register(L, "gpu", functions);
    open_object(L, LG_STREAM, "stream", stream_meta, stream_methods, stream_index);
    open_object(L, LG_EVENT, "event", event_meta, event_methods, event_index);
    for (const struct lg_function *row = documented; row->name; row++) lg_document(L, "stream", row);
}
