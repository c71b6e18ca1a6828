/* How long work on a device takes: gpu.time, gpu.benchmark; gpu.synchronize. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lang/check.h"
#include "lang/kernel.h"
#include "lang/lazy.h"

#define LG_TIMING  "lunarray.timing"
#define LG_TIMINGS "lunarray.timings"

enum {
    LEAST_REPEATS = 5, /* unless told otherwise */
    MOST_REPEATS = 100,
    MOST_TOLD = 1000000,
    ENOUGH_MS = 200, /* that repeating takes unless told how often */
};

static int release_timer(lua_State *L)
{
    rt_timer_release(lua_touserdata(L, 1));
    return 0;
}

/* Pushes a timer that Lua collects. */
static struct rt_timer *push_timer(lua_State *L)
{
    struct rt_timer *t = lua_newuserdatauv(L, sizeof *t, 0);
    *t = (struct rt_timer){0};
    lg_set_event(L, "__gc", release_timer);
    return t;
}

static void check_function(lua_State *L, int idx)
{
    if (lua_isfunction(L, idx)) return;
    if (lg_test_array(L, idx) || !luaL_getmetafield(L, idx, "__call"))
        luaL_argerror(L, idx,
                      lua_pushfstring(L,
                                      "function expected, got %s; what is measured is called here, as in "
                                      "function() k(grid, block)(x) end",
                                      lg_type_name(L, idx)));
    lua_pop(L, 1);
}

/* Milliseconds that the function at idx takes on the device. */
static double measure(lua_State *L, int idx, struct rt_device *d)
{
    double milliseconds = 0;
    struct rt_error *e = lg_error_box(L);
    struct rt_timer *t = push_timer(L);
    lg_pause_checks(L);
    lg_evaluate_all(L);
    lg_check(L, rt_device_synchronize(d, e));
    lg_check(L, rt_timer_start(d, t, e));
    lua_pushvalue(L, idx);
    lua_call(L, 0, 1);
    lg_evaluate_all(L);
    lg_check(L, rt_timer_stop(t, &milliseconds, e));
    rt_timer_release(t);
    lua_pop(L, 1);
    lua_closeslot(L, -1);
    lua_pop(L, 2);
    return milliseconds;
}

static int time_function(lua_State *L)
{
    check_function(L, 1);
    struct rt_device *d = lg_check_device(L, 2);
    lua_settop(L, 1);
    lua_pushnumber(L, measure(L, 1, d));
    return 1;
}

/* ---- many times ---- */

struct plan {
    struct rt_device *device;
    lua_Integer warmup, repeats; /* 0 repeats: as many as take ENOUGH_MS */
};

static lua_Integer whole(lua_State *L, const char *key, lua_Integer least, lua_Integer fallback)
{
    int good = 0, type = lua_getfield(L, 2, key);
    lua_Integer n = type == LUA_TNIL ? fallback : lua_tointegerx(L, -1, &good);
    if (type != LUA_TNIL && (!good || n < least || n > MOST_TOLD))
        luaL_error(L, "benchmark: %s: expected an integer from %d to %d, got %s", key, (int)least, (int)MOST_TOLD,
                   luaL_tolstring(L, -1, NULL));
    lua_pop(L, 1);
    return n;
}

static struct plan read_plan(lua_State *L)
{
    struct plan p = {.warmup = 1};
    if (!lua_isnoneornil(L, 2)) {
        luaL_checktype(L, 2, LUA_TTABLE);
        for (lua_pushnil(L); lua_next(L, 2); lua_pop(L, 1)) {
            const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : lg_type_name(L, -2);
            if (strcmp(key, "warmup") != 0 && strcmp(key, "repeats") != 0 && strcmp(key, "device") != 0)
                luaL_error(L, "benchmark: there is no option '%s'; there are repeats, warmup and device", key);
        }
        p.warmup = whole(L, "warmup", 0, 1);
        p.repeats = whole(L, "repeats", 1, 0);
        if (lua_getfield(L, 2, "device") != LUA_TNIL) p.device = lg_check_device(L, -1);
        lua_pop(L, 1);
    }
    if (!p.device) p.device = lg_check_device(L, lua_gettop(L) + 1);
    return p;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Fills the table at the top from n times, which it sorts. */
static void set_figures(lua_State *L, double *times, lua_Integer n)
{
    double sum = 0, squares = 0;
    lua_createtable(L, (int)n, 0);
    for (lua_Integer i = 0; i < n; i++) {
        sum += times[i];
        lua_pushnumber(L, times[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "times");
    double mean = sum / (double)n;
    for (lua_Integer i = 0; i < n; i++) squares += (times[i] - mean) * (times[i] - mean);
    qsort(times, (size_t)n, sizeof *times, by_size);
    lg_set_number(L, "min", times[0]);
    lg_set_number(L, "max", times[n - 1]);
    lg_set_number(L, "median", (times[(n - 1) / 2] + times[n / 2]) / 2);
    lg_set_number(L, "mean", mean);
    lg_set_number(L, "std", sqrt(squares / (double)n));
    lg_set_integer(L, "repeats", n);
}

/* Pushes the timing of the function at idx. */
static void push_timing(lua_State *L, int idx, const struct plan *p)
{
    luaL_checkstack(L, 12, NULL);
    lua_createtable(L, 0, 8);
    luaL_setmetatable(L, LG_TIMING);
    double *times = lua_newuserdatauv(L, (size_t)(p->repeats ? p->repeats : MOST_REPEATS) * sizeof *times, 0);
    double total = 0;
    lua_Integer n = 0;
    for (lua_Integer i = 0; i < p->warmup; i++) measure(L, idx, p->device);
    while (p->repeats ? n < p->repeats : n < LEAST_REPEATS || (n < MOST_REPEATS && total < ENOUGH_MS))
        total += times[n++] = measure(L, idx, p->device);
    lua_insert(L, -2); /* so that it lives as long as the times are read */
    set_figures(L, times, n);
    lua_remove(L, -2);
}

static int benchmark(lua_State *L)
{
    bool several = lua_istable(L, 1);
    if (several) {
        for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1))
            if (lua_type(L, -2) != LUA_TSTRING || !lua_isfunction(L, -1))
                return luaL_argerror(L, 1, "a function, or a table of functions by name, is expected");
    } else {
        check_function(L, 1);
    }
    struct plan p = read_plan(L);
    if (!several) {
        push_timing(L, 1, &p);
        return 1;
    }
    lua_newtable(L);
    int results = lua_gettop(L);
    for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1)) {
        lua_pushvalue(L, -2);
        push_timing(L, lua_gettop(L) - 1, &p);
        lua_rawset(L, results);
    }
    luaL_setmetatable(L, LG_TIMINGS);
    return 1;
}

static double figure(lua_State *L, int idx, const char *key)
{
    lua_getfield(L, idx, key);
    double value = lua_tonumber(L, -1);
    lua_pop(L, 1);
    return value;
}

static int timing_tostring(lua_State *L)
{
    char text[200];
    snprintf(text, sizeof text, "%.4g ms, the median of %d; %.4g to %.4g, mean %.4g +- %.2g", figure(L, 1, "median"),
             (int)figure(L, 1, "repeats"), figure(L, 1, "min"), figure(L, 1, "max"), figure(L, 1, "mean"),
             figure(L, 1, "std"));
    lua_pushstring(L, text);
    return 1;
}

/* Pushes the name in the table at 1 of the timing that comes next behind `from` milliseconds and its name, by median
 * and then by name; false: pushes nothing, there is no more. */
static bool push_next(lua_State *L, double from, const char *name, double *median)
{
    const char *best = NULL;
    for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING || !lua_istable(L, -1)) continue; /* the user's */
        double ms = figure(L, lua_gettop(L), "median");
        const char *key = lua_tostring(L, -2);
        if (name && (ms < from || (ms == from && strcmp(key, name) <= 0))) continue;
        if (best && (ms > *median || (ms == *median && strcmp(key, best) > 0))) continue;
        best = key;
        *median = ms;
    }
    if (best) lua_pushstring(L, best);
    return best != NULL;
}

/* A line each, the fastest first, with how many times as long the others take. */
static int timings_tostring(lua_State *L)
{
    luaL_Buffer b;
    char line[120];
    double least = 0, ms = 0;
    const char *name = NULL;
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    lua_pushnil(L);
    luaL_buffinit(L, &b);
    for (double from = 0; push_next(L, from, name, &ms); from = ms) {
        if (!name) least = ms;
        lua_copy(L, -1, 2); /* keeps the name */
        lua_pop(L, 1);
        snprintf(line, sizeof line, "%s%-20s %10.4g ms %8.2f x", name ? "\n" : "", lua_tostring(L, 2), ms,
                 least > 0 ? ms / least : 1);
        name = lua_tostring(L, 2);
        luaL_addstring(&b, line);
    }
    luaL_pushresult(&b);
    return 1;
}

static int synchronize(lua_State *L)
{
    struct rt_device *d = lg_check_device(L, 1);
    lg_evaluate_all(L);
    if (rt_device_synchronize(d, lg_error_box(L)) != RT_OK) return lg_raise_kernel(L, lg_error_box(L));
    return 0;
}

static const struct lg_function functions[] = {
    {"time", time_function, "gpu.time(f [, device])",
     "Calls f() and gives the device time that its work took, in milliseconds.\n"
     "Waits for earlier work first and for f's work after, so the figure is of f alone. On the cpu it is wall time. "
     "Launches are checked only where gpu.check(true) or {check = true} asked for it. gpu.benchmark does so many times.",
     "assert(gpu.time(function() local x = gpu.zeros(10) + 1 end) >= 0)"},
    {"benchmark", benchmark, "gpu.benchmark(f | {name = f, ...} [, {repeats = , warmup = , device = }])",
     "Calls f() again and again and tells the device time of a call, in milliseconds, as gpu.time does.\n"
     "The result prints as a line; its fields are median, mean, std, min, max, repeats and times, a list. The first call, "
     "or so many as warmup says, is not counted; then there are as many as repeats says or, unless told, between 5 and "
     "100, for about 200 ms. Of several functions by name the result has such a table for each name, and prints them, the "
     "fastest first, with how many times as long the others take.",
     "local x = gpu.ones(1000)\n"
     "local b = gpu.benchmark(function() return (x * 2):sum() end, {repeats = 3})\n"
     "assert(b.repeats == 3 and b.min <= b.median and b.median <= b.max)\n"
     "print(gpu.benchmark({\n"
     "  product = function() return (x * x):sum() end,\n"
     "  dot = function() return x:dot(x) end,\n"
     "}, {repeats = 3}))"},
    {"synchronize", synchronize, "gpu.synchronize([device])",
     "Waits until all work given to the device is done, and reports what went wrong in it.", "gpu.synchronize()"},
    {0}};

void lg_open_time(lua_State *L)
{
    static const luaL_Reg one[] = {{"__tostring", timing_tostring}, {0}},
                          several[] = {{"__tostring", timings_tostring}, {0}};
    luaL_newmetatable(L, LG_TIMING);
    luaL_setfuncs(L, one, 0);
    luaL_newmetatable(L, LG_TIMINGS);
    luaL_setfuncs(L, several, 0);
    lua_pop(L, 2);
    lg_register(L, "gpu", functions);
}
