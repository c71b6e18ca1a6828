/* Signals by formula: gpu.chirp, gpu.sawtooth, gpu.square_wave. */
#include <math.h>
#include "lang/closest.h"
#include "lang/signal.h"
#include "lang/steps.h"

#define PI LG_PI

/* Replaces the times at 1 by float64, in which the phase keeps its digits; returns what the result is rounded to. */
static enum rt_dtype check_times(lua_State *L, const char *what)
{
    const struct rt_array *t = lg_step_array(L, 1, NULL, RT_DTYPE_COUNT);
    lg_check(L, kn_check_real(t, what, lg_error_box(L)));
    enum rt_dtype dtype = lg_floating(t);
    lg_step(L, "to", "vs", 1, "float64");
    lua_replace(L, 1);
    return dtype;
}

static int settle(lua_State *L, int x, enum rt_dtype t)
{
    lg_step(L, "to", "vs", x, rt_dtypes[t].name);
    return 1;
}

enum sweep { LINEAR, QUADRATIC, LOGARITHMIC, HYPERBOLIC };

/* Pushes the turns at the times at 1. */
static int push_turns(lua_State *L, enum sweep sweep, double f0, double t1, double f1)
{
    double rise = (f1 - f0) / t1, singular = f1 * t1 / (f1 - f0), steady = f0 == f1;
    if (steady) return lg_step(L, "mul", "vn", 1, f0);
    switch (sweep) {
    case LINEAR: return lg_step(L, "mul", "vv", 1, lg_step(L, "add", "vn", lg_step(L, "mul", "vn", 1, rise / 2), f0));
    case QUADRATIC: {
        int cubes = lg_step(L, "mul", "vn", lg_step(L, "square", "v", 1), rise / t1 / 3);
        return lg_step(L, "mul", "vv", 1, lg_step(L, "add", "vn", cubes, f0));
    }
    case LOGARITHMIC: {
        double growth = log(f1 / f0) / t1;
        return lg_step(L, "mul", "vn", lg_step(L, "expm1", "v", lg_step(L, "mul", "vn", 1, growth)), f0 / growth);
    }
    default: {
        int away = lg_step(L, "abs", "v", lg_step(L, "sub", "nv", 1.0, lg_step(L, "div", "vn", 1, singular)));
        return lg_step(L, "mul", "vn", lg_step(L, "log", "v", away), -singular * f0);
    }
    }
}

/* gpu.chirp(t, f0, t1, f1 [, method [, phi]]) */
static int chirp(lua_State *L)
{
    static const char *const methods[] = {"linear", "quadratic", "logarithmic", "hyperbolic", NULL};
    double f0 = luaL_checknumber(L, 2), t1 = luaL_checknumber(L, 3), f1 = luaL_checknumber(L, 4);
    lua_settop(L, 6);
    enum sweep sweep = (enum sweep)lg_check_option(L, 5, "linear", methods);
    double phi = lg_number_option(L, 6, "chirp", "phi", 0);
    enum rt_dtype t = check_times(L, "chirp");
    if (t1 == 0) return luaL_error(L, "chirp: t1 is 0, expected the time at which the frequency is f1");
    if (sweep == LOGARITHMIC && !(f0 * f1 > 0))
        return luaL_error(L, "chirp: f0 is %f and f1 %f, expected two frequencies of one sign for 'logarithmic'", f0,
                          f1);
    if (sweep == HYPERBOLIC && (f0 == 0 || f1 == 0))
        return luaL_error(L, "chirp: f0 is %f and f1 %f, and neither may be 0 for 'hyperbolic'", f0, f1);
    int phase = lg_step(L, "mul", "vn", push_turns(L, sweep, f0, t1, f1), 2 * PI);
    return settle(L, lg_step(L, "cos", "v", lg_step(L, "add", "vn", phase, phi * PI / 180)), t);
}

/* The part of a turn at idx. */
static double check_part(lua_State *L, const char *what, const char *name, double otherwise)
{
    double part = lg_number_option(L, 2, what, name, otherwise);
    if (!(part >= 0 && part <= 1))
        luaL_error(L, "%s: %s is %s, expected a part of the period, from 0 to 1", what, name, lua_tostring(L, 2));
    return part;
}

/* gpu.sawtooth(t [, width]) */
static int sawtooth(lua_State *L)
{
    lua_settop(L, 2);
    double width = check_part(L, "sawtooth", "width", 1);
    enum rt_dtype t = check_times(L, "sawtooth");
    int turn = lg_step(L, "mod", "vn", 1, 2 * PI), up = 0, down = 0;
    if (width > 0) up = lg_step(L, "sub", "vn", lg_step(L, "div", "vn", turn, PI * width), 1.0);
    if (width < 1) down = lg_step(L, "div", "vn", lg_step(L, "sub", "nv", PI * (width + 1), turn), PI * (1 - width));
    if (up && down) up = lg_step(L, "where", "vvv", lg_step(L, "lt", "vn", turn, 2 * PI * width), up, down);
    return settle(L, up ? up : down, t);
}

/* gpu.square_wave(t [, duty]) */
static int square_wave(lua_State *L)
{
    lua_settop(L, 2);
    double duty = check_part(L, "square_wave", "duty", 0.5);
    enum rt_dtype t = check_times(L, "square_wave");
    int high = lg_step(L, "lt", "vn", lg_step(L, "mod", "vn", 1, 2 * PI), 2 * PI * duty);
    return settle(L, lg_step(L, "where", "vnn", high, 1.0, -1.0), t);
}

const struct lg_function lg_waves_functions[] = {
    {"chirp", chirp, "gpu.chirp(t, f0, t1, f1 [, method [, phi]])",
     "The cosine of a frequency that goes from f0 at time 0 to f1 at t1, at the times t, an array or list.\n"
     "The method says how: \"linear\", the default, \"quadratic\", \"logarithmic\" or \"hyperbolic\". phi is the phase at "
     "time 0, in degrees. Computed in float64; the result is of t's floating dtype.",
     "local t = gpu.linspace(0, 1, 101)\nlocal x = gpu.chirp(t, 1, 1, 10)\nassert(x[1] == 1 and x:min() >= -1)"},
    {"sawtooth", sawtooth, "gpu.sawtooth(t [, width])",
     "From -1 to 1 in the part `width` of each period, 2 pi, and back in what is left, at the times t.\n"
     "width is 1 unless told otherwise: it falls at once. 0.5 makes triangles.",
     "assert(gpu.sawtooth({0, math.pi}, 0.5):allclose(gpu.array({-1, 1})))"},
    {"square_wave", square_wave, "gpu.square_wave(t [, duty])",
     "1 in the part `duty`, 0.5 unless told otherwise, of each period, 2 pi, and -1 in what is left, at the times t: "
     "scipy.signal.square.\nx:square() is x * x.",
     "assert(gpu.square_wave({1, 4, 8}):equal(gpu.array({1, -1, 1})))"},
    {0}};
