/* What classifiers end with: softmax, its logarithm, and classes as rows. */
#include "lang/lazy.h"
#include "lang/reduce.h"
#include "lang/steps.h"

/* The axis at 2, the last unless given, from 1. */
static int64_t check_axis(lua_State *L, const char *name)
{
    const struct rt_array *a = lg_check_form(L, 1);
    lg_check(L, kn_check_real(a, name, lg_error_box(L)));
    if (a->ndim == 0) luaL_error(L, "%s: an array of no axes has no classes", name);
    return lua_isnoneornil(L, 2) ? a->ndim : lg_check_axis(L, 2, a->ndim) + 1;
}

/* Pushes the elements less the greatest of their row. */
static int push_below_greatest(lua_State *L, int64_t axis)
{
    const struct rt_array *a = lg_form(L, 1);
    int x = lg_floating(a) == a->dtype ? 1 : lg_step(L, "to", "vs", 1, rt_dtypes[lg_floating(a)].name);
    if (a->shape[axis - 1] == 0) return x;
    return lg_step(L, "sub", "vv", x, lg_step(L, "max", "vib", x, axis, 1));
}

/* Pushes it of a small array without steps; the axis counts from 1. */
static bool push_small(lua_State *L, int64_t axis, bool logarithm)
{
    const struct rt_array *a = lg_form(L, 1);
    if (lg_explains(L) || lg_waits(a)) return false;
    if (kn_small_softmax(a, (int)axis - 1, logarithm, lg_new_array(L))) return true;
    lua_pop(L, 1);
    return false;
}

static int softmax(lua_State *L)
{
    if (lg_out(L, "softmax")) return 1;
    int64_t axis = check_axis(L, "softmax");
    if (push_small(L, axis, false)) return 1;
    int powers = lg_step(L, "exp", "v", push_below_greatest(L, axis));
    lg_step(L, "div", "vv", powers, lg_step(L, "sum", "vib", powers, axis, 1));
    return 1;
}

static int log_softmax(lua_State *L)
{
    if (lg_out(L, "log_softmax")) return 1;
    int64_t axis = check_axis(L, "log_softmax");
    if (push_small(L, axis, true)) return 1;
    int below = push_below_greatest(L, axis), powers = lg_step(L, "exp", "v", below);
    int sum = lg_step(L, "sum", "vib", powers, axis, 1);
    lg_step(L, "sub", "vv", below, lg_step(L, "log", "v", sum));
    return 1;
}

static int one_hot(lua_State *L)
{
    const struct rt_array *x = lg_step_array(L, 1, NULL, RT_INT64);
    lua_Integer n = luaL_optinteger(L, 2, -1);
    lua_settop(L, 3);
    enum rt_dtype dtype = lg_check_dtype(L, 3, RT_FLOAT32);
    lg_check(L, kn_check_real(x, "one_hot", lg_error_box(L)));
    if (rt_array_size(x) > 0) {
        int low = lg_step(L, "min", "v", 1), high = lg_step(L, "max", "v", 1);
        if (n < 0) n = (lua_Integer)lua_tonumber(L, high);
        if (!(lua_tonumber(L, low) >= 1) || !(lua_tonumber(L, high) <= (double)n))
            return luaL_error(L, "one_hot: the classes reach from %s to %s, expected 1 to %I",
                              luaL_tolstring(L, low, NULL), luaL_tolstring(L, high, NULL), (LUAI_UACINT)n);
    }
    if (n < 0) n = 0;
    int classes = lg_step(L, "gpu.range", "iiss", (int64_t)1, (int64_t)n, "int64", rt_array_device(x)->name);
    int hot = lg_step(L, "eq", "vv", lg_step(L, "unsqueeze", "vi", 1, (int64_t)-1), classes);
    lg_step(L, "to", "vs", hot, rt_dtypes[dtype].name);
    return 1;
}

#define LAST "Along the last axis unless told otherwise; without overflow in between. " LG_OUT_DOC

const struct lg_function lg_softmax_functions[] = {
    {"softmax", softmax, "x:softmax([axis])   gpu.softmax(x [, axis])",
     "exp(x) divided by its sum: probabilities out of what a classifier says.\n" LAST,
     "local p = gpu.array({1, 1, 1, 1}):softmax()\nassert(p[1] == 0.25 and p:sum() == 1)"},
    {"log_softmax", log_softmax, "x:log_softmax([axis])   gpu.log_softmax(x [, axis])",
     "The logarithm of softmax, more accurate than the two after each other.\n" LAST,
     "assert(math.abs(gpu.array({1000, 0}):log_softmax()[2] + 1000) < 1e-3)"},
    {"one_hot", one_hot, "x:one_hot([count [, dtype]])   gpu.one_hot(x [, count [, dtype]])",
     "Each element, the number of a class from 1 on, as a row with 1 in its place and 0 elsewhere; float32 unless told "
     "otherwise.\nThere are `count` classes, or as many as the greatest number says.",
     "assert(gpu.one_hot({2, 1}, 3):equal(gpu.array({{0, 1, 0}, {1, 0, 0}})))"},
    {0}};
