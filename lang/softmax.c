/* What classifiers end with: softmax, its logarithm, classes as rows, and the cross entropy. */
#include <string.h>
#include "kernels/statistics.h"
#include "lang/closest.h"
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

/* The classes at idx as int64, at the stack index that it gives. */
static int push_classes(lua_State *L, int idx, const char *what)
{
    const struct rt_array *given = lg_form(L, idx);
    int classes = lg_step(L, "to", "vs", idx, "int64");
    if (rt_dtypes[given->dtype].kind == 'f' && rt_array_size(given) > 0) {
        lg_step(L, "any", "v", lg_step(L, "ne", "vv", idx, classes));
        if (lua_toboolean(L, -1)) luaL_error(L, "%s: classes are whole numbers, and not all of these are", what);
    }
    return classes;
}

static int one_hot(lua_State *L)
{
    const struct rt_array *x = lg_step_array(L, 1, NULL, RT_DTYPE_COUNT);
    lua_Integer n = luaL_optinteger(L, 2, -1);
    lua_settop(L, 3);
    enum rt_dtype dtype = lg_check_dtype(L, 3, RT_FLOAT32);
    lg_check(L, kn_check_real(x, "one_hot", lg_error_box(L)));
    const struct rt_device *d = rt_array_device(x);
    const bool empty = rt_array_size(x) == 0;
    lua_pushvalue(L, push_classes(L, 1, "one_hot"));
    lua_replace(L, 1);
    if (!empty) {
        int low = lg_step(L, "min", "v", 1), high = lg_step(L, "max", "v", 1);
        if (n < 0) n = (lua_Integer)lua_tonumber(L, high);
        if (!(lua_tonumber(L, low) >= 1) || !(lua_tonumber(L, high) <= (double)n))
            return luaL_error(L, "one_hot: the classes reach from %s to %s, expected 1 to %I",
                              luaL_tolstring(L, low, NULL), luaL_tolstring(L, high, NULL), (LUAI_UACINT)n);
    }
    if (n < 0) n = 0;
    int classes = lg_step(L, "gpu.range", "iiss", (int64_t)1, (int64_t)n, "int64", d->name);
    int hot = lg_step(L, "eq", "vv", lg_step(L, "unsqueeze", "vi", 1, (int64_t)-1), classes);
    lg_step(L, "to", "vs", hot, rt_dtypes[dtype].name);
    return 1;
}

/* ---- cross entropy ---- */

/* What gpu.cross_entropy is asked for. Stack indices of what is there, else 0. */
struct entropy {
    int x;      /* the scores, in the dtype that is computed in */
    int target; /* classes, int64 from 1, as (N, 1, ...), or probabilities */
    int weight; /* of classes, as (C, 1, ...) */
    int valid;  /* where a class counts, as (N, 1, ...) */
    bool classes;
    double smoothing;
};

static void fail_shapes(lua_State *L, const struct rt_array *x, const struct rt_array *target)
{
    char a[256], b[256];
    luaL_error(L,
               "cross_entropy: x has the shape %s and the target %s; with x (N, C, ...) a target is classes, (N, ...), "
               "or probabilities of x's shape",
               rt_shape_text(x->ndim, x->shape, a, sizeof a), rt_shape_text(target->ndim, target->shape, b, sizeof b));
}

/* The target at 2: floats are probabilities, integers classes. */
static void check_target(lua_State *L, struct entropy *s, const char *wide)
{
    const struct rt_array *x = lg_form(L, 1), *target = lg_step_array(L, 2, x, RT_DTYPE_COUNT);
    bool same = rt_array_same_shape(x, target), fits = target->ndim == x->ndim - 1;
    lg_check(L, kn_check_real(target, "cross_entropy", lg_error_box(L)));
    for (int i = 0; fits && i < target->ndim; i++) fits = target->shape[i] == x->shape[i ? i + 1 : 0];
    if (x->ndim < 2 || (!same && !fits)) fail_shapes(L, x, target);
    s->classes = fits;
    s->target = fits ? push_classes(L, 2, "cross_entropy") : lg_step(L, "to", "vs", 2, wide);
    if (fits) s->target = lg_step(L, "unsqueeze", "vi", s->target, (int64_t)2);
    if (same && rt_dtypes[target->dtype].kind != 'f')
        luaL_error(L, "cross_entropy: probabilities are floats, not %s; classes have the shape (N, ...)",
                   rt_dtypes[target->dtype].name);
}

/* Classes that count are from 1 to `count`; those that do not become 1. */
static void check_classes(lua_State *L, struct entropy *s, int64_t count)
{
    if (!lua_isnil(L, 5)) {
        int64_t ignored = lg_integer_option(L, 5, "cross_entropy", "ignore_index", 0);
        s->valid = lg_step(L, "ne", "vi", s->target, ignored);
        s->target = lg_step(L, "where", "vvi", s->valid, s->target, (int64_t)1);
    }
    if (rt_array_size(lg_form(L, s->target)) == 0) return;
    int low = lg_step(L, "min", "v", s->target), high = lg_step(L, "max", "v", s->target);
    if (lua_tointeger(L, low) < 1 || lua_tointeger(L, high) > count)
        luaL_error(L, "cross_entropy: the classes reach from %s to %s, expected 1 to %I", luaL_tolstring(L, low, NULL),
                   luaL_tolstring(L, high, NULL), (LUAI_UACINT)count);
}

static void check_class_weights(lua_State *L, struct entropy *s, const struct rt_array *x, const char *wide)
{
    if (lua_isnil(L, 3)) return;
    const struct rt_array *w = lg_step_array(L, 3, x, RT_DTYPE_COUNT);
    int64_t shape[RT_MAX_DIMS];
    char text[256];
    if (w->ndim != 1 || w->shape[0] != x->shape[1])
        luaL_error(L, "cross_entropy: weight has the shape %s, expected (%I,), one number for each class",
                   rt_shape_text(w->ndim, w->shape, text, sizeof text), (LUAI_UACINT)x->shape[1]);
    lg_check(L, kn_check_real(w, "cross_entropy", lg_error_box(L)));
    for (int i = 1; i < x->ndim; i++) shape[i - 1] = i == 1 ? x->shape[1] : 1;
    s->weight = lg_push_reshaped(L, lg_step(L, "to", "vs", 3, wide), x->ndim - 1, shape);
}

/* Pushes the product with the array at `by`, where there is one. */
static int push_weighed(lua_State *L, int x, int by)
{
    return by ? lg_step(L, "mul", "vv", x, by) : x;
}

/* Pushes the loss of each element of a batch, as (N, 1, ...). *parts is what each of them counts in a mean; 0: one. */
static int push_losses(lua_State *L, const struct entropy *s, int *parts)
{
    const double part = s->smoothing / (double)lg_form(L, s->x)->shape[1];
    int all = lg_step(L, "logsumexp", "vib", s->x, (int64_t)2, true), smooth = 0, loss;
    *parts = 0;
    if (!s->classes || s->smoothing > 0) smooth = push_weighed(L, lg_step(L, "sub", "vv", all, s->x), s->weight);
    if (!s->classes) {
        int target = lg_step(L, "add", "vn", lg_step(L, "mul", "vn", s->target, 1 - s->smoothing), part);
        return lg_step(L, "sum", "vib", lg_step(L, "mul", "vv", smooth, target), (int64_t)2, true);
    }
    loss = lg_step(L, "sub", "vv", all, lg_step(L, "gather", "viv", s->x, (int64_t)2, s->target));
    if (s->weight) {
        int flat = lg_step(L, "take", "vv", s->weight, s->target);
        *parts = push_weighed(L, flat, s->valid);
        loss = lg_step(L, "mul", "vv", loss, flat);
    } else {
        *parts = s->valid;
    }
    if (smooth) {
        smooth = lg_step(L, "mul", "vn", lg_step(L, "sum", "vib", smooth, (int64_t)2, true), part);
        loss = lg_step(L, "add", "vv", lg_step(L, "mul", "vn", loss, 1 - s->smoothing), smooth);
    }
    return s->valid ? lg_step(L, "where", "vvn", s->valid, loss, 0.0) : loss;
}

/* gpu.cross_entropy(x, target [, weight [, reduction [, ignore_index [, label_smoothing]]]]) */
static int cross_entropy(lua_State *L)
{
    static const char *const reductions[] = {"mean", "sum", "none", NULL};
    const struct rt_array *x = lg_check_form(L, 1);
    struct entropy s = {0};
    lua_settop(L, 6);
    lg_check(L, kn_check_real(x, "cross_entropy", lg_error_box(L)));
    enum rt_dtype t = lg_floating(x);
    const char *wide = rt_dtypes[kn_wide_dtype(t)].name;
    check_target(L, &s, wide);
    int reduction = lg_check_option(L, 4, "mean", reductions), parts;
    s.smoothing = lg_number_option(L, 6, "cross_entropy", "label_smoothing", 0);
    if (!(s.smoothing >= 0 && s.smoothing <= 1))
        return luaL_error(L, "cross_entropy: label_smoothing is %s, expected a number from 0 to 1", lua_tostring(L, 6));
    if (!s.classes && !lua_isnil(L, 5))
        return luaL_error(L, "cross_entropy: ignore_index is one of classes, and the target holds probabilities");
    if (x->shape[1] == 0) return luaL_error(L, "cross_entropy: x has no classes on its second axis");
    if (s.classes) check_classes(L, &s, x->shape[1]);
    check_class_weights(L, &s, x, wide);
    s.x = lg_step(L, "to", "vs", 1, wide);
    int loss = push_losses(L, &s, &parts);
    if (reduction == 2) {
        loss = lg_step(L, "to", "vs", lg_step(L, "squeeze", "vi", loss, (int64_t)2), rt_dtypes[t].name);
        lua_pushvalue(L, loss);
        return 1;
    }
    double count = (double)rt_array_size(lg_form(L, loss));
    if (reduction == 0 && parts) {
        lg_step(L, "sum", "v", parts);
        count = lua_tonumber(L, -1);
    }
    lg_step(L, "sum", "v", loss);
    lua_pushnumber(L, reduction == 0 ? lua_tonumber(L, -1) / count : lua_tonumber(L, -1));
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
    {"cross_entropy", cross_entropy,
     "gpu.cross_entropy(x, target [, weight [, reduction [, ignore_index [, label_smoothing]]]])   x:cross_entropy(target, ...)",
     "How far a classifier's scores x, (N, C, ...), are from what is true: -log_softmax(x) of the right class, averaged.\n"
     "The target is classes from 1 on, integers (N, ...), or probabilities, floats of x's shape. weight has a number for "
     "each class, by which its losses count; classes that are ignore_index do not. label_smoothing takes so much of the "
     "probability from the right class and gives all the same part of it. The reduction is \"mean\", the sum of what "
     "counts over its weights, \"sum\", or \"none\", which gives an array (N, ...).",
     "local x = gpu.array({{0, 0}, {0, 0}})\nassert(math.abs(gpu.cross_entropy(x, {1, 2}) - math.log(2)) < 1e-6)\n"
     "assert(gpu.cross_entropy(x, {1, 2}, {reduction = 'none', ignore_index = 2})[2] == 0)"},
    {"one_hot", one_hot, "x:one_hot([count [, dtype]])   gpu.one_hot(x [, count [, dtype]])",
     "Each element, the number of a class from 1 on, as a row with 1 in its place and 0 elsewhere; float32 unless told "
     "otherwise.\nThere are `count` classes, or as many as the greatest number says.",
     "assert(gpu.one_hot({2, 1}, 3):equal(gpu.array({{0, 1, 0}, {1, 0, 0}})))"},
    {0}};
