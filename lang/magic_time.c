/* %time and %timeit. Work given to a device counts: the clock stops when the device is done. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include "lang/check.h"
#include "lang/lazy.h"
#include "lang/magic.h"
#include "runtime/interrupt.h"

#define FIRST_MS     1000.0 /* a first call of %timeit below this is followed by a second one, to see what one takes */
#define AIM_MS       60.0   /* how long one run of %timeit is to take at least */
#define DEFAULT_RUNS 7
#define MAX_RUNS     1000

/* The default device, opened before the clock starts; NULL when there is none to wait for. */
static struct rt_device *device_to_wait_for(lua_State *L)
{
    struct rt_error *e = lg_error_box(L);
    struct rt_device *d = rt_device_default(e);
    if (d && rt_device_synchronize(d, e) != RT_OK) d = NULL;
    rt_error_clear(e);
    return d;
}

static void wait_for(lua_State *L, struct rt_device *d)
{
    lg_evaluate_all(L);
    if (d) lg_check(L, rt_device_synchronize(d, lg_error_box(L)));
}

/* "1.23 us" from milliseconds. */
static const char *duration(double ms, char buffer[32])
{
    static const struct {
        double limit, factor;
        const char *unit;
    } units[] = {{1e-3, 1e6, "ns"}, {1, 1e3, "us"}, {1e3, 1, "ms"}, {HUGE_VAL, 1e-3, "s"}};
    int i = 0;
    while (ms >= units[i].limit * 0.9995) i++; /* 999.6 ns would round to 1e+03 ns */
    snprintf(buffer, 32, "%.3g %s", ms * units[i].factor, units[i].unit);
    return buffer;
}

static void say(struct lg_session *s, const char *text)
{
    lg_output(s, LG_STDOUT, text, strlen(text));
}

static double cpu_ms(double *system)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    *system = (double)u.ru_stime.tv_sec * 1e3 + (double)u.ru_stime.tv_usec / 1e3;
    return (double)u.ru_utime.tv_sec * 1e3 + (double)u.ru_utime.tv_usec / 1e3;
}

/* [raises] where there is nothing to be measured, on the line or below it */
static void check_code(const struct lg_magic_call *call, const char *rest, const char *name)
{
    const char *code = call->body ? call->body : rest;
    if (!code[strspn(code, " \t\r\n")])
        luaL_error(call->L, "%%%s needs code, as in %%%s gpu.ones(1000):sum()", name, name);
}

int lg_magic_time(struct lg_magic_call *call)
{
    lua_State *L = call->L;
    char text[160], user[32], system[32], wall[32];
    double system_before, system_after;
    check_code(call, call->rest, "time");
    struct rt_device *d = device_to_wait_for(L);
    lg_pause_checks(L);
    int pause = lua_gettop(L);
    lg_push_code(call, call->body ? call->body : call->rest, call->line + (call->body ? 1 : 0));
    int base = lua_gettop(L) - 1;
    double user_before = cpu_ms(&system_before), before = rt_now_ms();
    lua_call(L, 0, LUA_MULTRET);
    wait_for(L, d);
    lua_closeslot(L, pause);
    double after = rt_now_ms(), user_after = cpu_ms(&system_after);
    snprintf(text, sizeof text, "CPU times: user %s, sys %s; wall time: %s\n", duration(user_after - user_before, user),
             duration(system_after - system_before, system), duration(after - before, wall));
    say(call->session, text);
    return lua_gettop(L) - base;
}

/* Milliseconds for `loops` calls of the function on top of the stack. [raises] */
static double time_loops(lua_State *L, struct rt_device *d, long loops)
{
    double before = rt_now_ms();
    for (long i = 0; i < loops; i++) {
        lua_pushvalue(L, -1);
        lua_call(L, 0, 1);
        lg_evaluate_all(L);
        lua_pop(L, 1);
        if (rt_interrupted()) luaL_error(L, "interrupted");
    }
    wait_for(L, d);
    return rt_now_ms() - before;
}

/* Reads "-n 10" or "-r 3" at *rest; false when there is no such option. [raises] */
static bool read_option(lua_State *L, const char **rest, char letter, long *value)
{
    const char *p = *rest;
    if (p[0] != '-' || p[1] != letter) return false;
    char *end;
    p += 2;
    *value = strtol(p, &end, 10);
    if (end == p || *value < 1) luaL_error(L, "%%timeit: -%c takes a number from 1", letter);
    *rest = end + strspn(end, " \t");
    return true;
}

int lg_magic_timeit(struct lg_magic_call *call)
{
    lua_State *L = call->L;
    const char *rest = call->rest;
    long loops = 0, runs = DEFAULT_RUNS;
    while (read_option(L, &rest, 'n', &loops) || read_option(L, &rest, 'r', &runs)) continue;
    if (runs > MAX_RUNS) runs = MAX_RUNS;
    check_code(call, rest, "timeit");
    struct rt_device *d = device_to_wait_for(L);
    lg_pause_checks(L);
    int pause = lua_gettop(L);
    lg_push_code(call, call->body ? call->body : rest, call->line + (call->body ? 1 : 0));
    double warm = time_loops(L, d, 1);
    /* What the first call loaded and compiled is no measure of the others. */
    if (!loops && warm < FIRST_MS) warm = fmin(warm, time_loops(L, d, 1));
    for (long n = 1; !loops; n *= 10) {
        double ms = n == 1 ? warm : time_loops(L, d, n);
        if (ms < AIM_MS / 20 && n < 100000000) continue;
        loops = (long)ceil(AIM_MS / (ms / (double)n));
    }
    double sum = 0, squares = 0;
    for (long i = 0; i < runs; i++) {
        double each = time_loops(L, d, loops) / (double)loops;
        sum += each;
        squares += each * each;
    }
    lua_closeslot(L, pause);
    double mean = sum / (double)runs, variance = squares / (double)runs - mean * mean;
    char text[160], a[32], b[32];
    snprintf(text, sizeof text, "%s +- %s per loop (mean +- std. dev. of %ld run%s, %ld loop%s each)\n",
             duration(mean, a), duration(variance > 0 ? sqrt(variance) : 0, b), runs, runs == 1 ? "" : "s", loops,
             loops == 1 ? "" : "s");
    say(call->session, text);
    return 0;
}
