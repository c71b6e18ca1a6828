/* Weighted means, ranges, covariances. */
#include <string.h>
#include "lang/reduce.h"
#include "lang/steps.h"

int lg_check_weights(lua_State *L, int idx, const char *what, const struct rt_array *a, const struct lg_reduction *r,
                     enum rt_dtype t)
{
    char left[256], right[256];
    const struct rt_array *w = lg_step_array(L, idx, a, t);
    if (rt_array_same_shape(w, a)) return idx;
    int axis = 0;
    while (axis < a->ndim && !(r->axes >> axis & 1)) axis++;
    bool one = r->named && axis < a->ndim && r->axes == 1u << axis;
    if (!one || w->ndim != 1 || w->shape[0] != a->shape[axis])
        luaL_error(L,
                   "%s: the weights have the shape %s, and the elements %s; weights of one axis go along the one that "
                   "is named",
                   what, rt_shape_text(w->ndim, w->shape, left, sizeof left),
                   rt_shape_text(a->ndim, a->shape, right, sizeof right));
    int64_t shape[RT_MAX_DIMS];
    for (int i = 0; i < a->ndim; i++) shape[i] = i == axis ? w->shape[0] : 1;
    lg_push_shape(L, a->ndim, shape);
    lg_step(L, "reshape", "vv", idx, lua_gettop(L));
    int narrow = lua_gettop(L);
    lg_push_shape(L, a->ndim, a->shape);
    return lg_step(L, "broadcast_to", "vv", narrow, lua_gettop(L));
}

static int average(lua_State *L)
{
    static const char *const names[] = {"axis", "weights", "keepdims", NULL};
    struct lg_reduction r = {0};
    const struct rt_array *a = lg_check_form(L, 1);
    lg_spread(L, 2, "average", names);
    r.keepdims = lg_check_flag(L, 4, "keepdims");
    lua_pushvalue(L, 2);
    lua_pushboolean(L, r.keepdims);
    lg_check_reduction(L, 5, a->ndim, NULL, &r);
    int axes = lg_push_axes(L, r.axes, a->ndim);
    /* Of an array without axes sum and mean would give numbers: it stays as it is. */
    if (lua_isnil(L, 3)) {
        int mean = a->ndim > 0 ? lg_step(L, "mean", "vvb", 1, axes, 1) : lg_step(L, "div", "vn", 1, 1.0);
        return lg_end_reduction(L, mean, a, &r);
    }
    int w = lg_check_weights(L, 3, "average", a, &r, lg_floating(a)), product = lg_step(L, "mul", "vv", 1, w);
    int sum = product, whole = w;
    if (a->ndim > 0) {
        sum = lg_step(L, "sum", "vvb", product, axes, 1);
        whole = w == 3 ? lg_step(L, "sum", "vvb", w, axes, 1) : lg_step(L, "sum", "vib", 3, (int64_t)1, 1);
    }
    return lg_end_reduction(L, lg_step(L, "div", "vv", sum, whole), a, &r);
}

static int ptp(lua_State *L)
{
    struct lg_reduction r = {0};
    if (lg_out(L, "ptp")) return 1;
    const struct rt_array *a = lg_check_form(L, 1);
    lg_check(L, kn_check_real(a, "ptp", lg_error_box(L)));
    lg_check_reduction(L, 2, a->ndim, NULL, &r);
    return lg_reduce_to_statistic(L, KN_PTP, &r);
}

/* Pushes the array at idx as variables in rows. */
static int push_variables(lua_State *L, int idx, bool rows, const char *what)
{
    const struct rt_array *a = lg_check_form(L, idx);
    if (a->ndim != 1 && a->ndim != 2)
        luaL_error(L, "%s: an array of 1 or 2 axes expected, variables and what was observed of them, not of %d", what,
                   a->ndim);
    int at = lg_step(L, "to", "vs", idx, rt_dtypes[lg_floating(a)].name);
    if (a->ndim == 1) return lg_step(L, "unsqueeze", "vi", at, (int64_t)1);
    return rows ? at : lg_step(L, "transpose", "v", at);
}

/* Pushes the covariances of the variables at 1 and, if there, of those at 2. */
static int push_covariances(lua_State *L, const char *what)
{
    static const char *const names[] = {"y", "rowvar", "ddof", NULL};
    const struct rt_array *a = lg_check_form(L, 1);
    lg_spread(L, 2, what, names);
    bool rows = lua_isnil(L, 3) || lg_check_flag(L, 3, "rowvar");
    double ddof = lg_number_option(L, 4, what, "ddof", 1);
    int x = push_variables(L, 1, rows, what);
    if (!lua_isnil(L, 2)) {
        lg_step_array(L, 2, a, lg_floating(a));
        int y = push_variables(L, 2, rows, what);
        if (lg_form(L, y)->shape[1] != lg_form(L, x)->shape[1])
            luaL_error(L, "%s: of x there are %I observations, of y %I", what, (LUAI_UACINT)lg_form(L, x)->shape[1],
                       (LUAI_UACINT)lg_form(L, y)->shape[1]);
        x = lg_push_joined(L, 0, 2, (int[]){x, y});
    }
    int64_t n = lg_form(L, x)->shape[1];
    if (n == 0) luaL_error(L, "%s: there are no observations", what);
    int away = lg_step(L, "sub", "vv", x, lg_step(L, "mean", "vib", x, (int64_t)2, 1));
    int turned = lg_step(L, "transpose", "v", lg_step(L, "conj", "v", away));
    double left = (double)n - ddof;
    return lg_step(L, "div", "vn", lg_step(L, "matmul", "vv", away, turned), left > 0 ? left : 0.0);
}

static int cov(lua_State *L)
{
    int at = push_covariances(L, "cov");
    if (rt_array_size(lg_form(L, at)) == 1) lg_step(L, "item", "v", at);
    return 1;
}

static int corrcoef(lua_State *L)
{
    if (lua_istable(L, 2) && lua_rawlen(L, 2) == 0) {
        lua_getfield(L, 2, "ddof");
        if (!lua_isnil(L, -1)) return luaL_error(L, "corrcoef: ddof makes no difference, so there is no such option");
        lua_pop(L, 1);
    } else {
        lua_settop(L, 3);
    }
    int at = push_covariances(L, "corrcoef");
    if (rt_array_size(lg_form(L, at)) == 1) {
        lg_step(L, "item", "v", lg_step(L, "div", "vv", at, at));
        return 1;
    }
    int scale = lg_step(L, "sqrt", "v", lg_step(L, "diagonal", "v", at));
    if (rt_is_complex(lg_form(L, at)->dtype)) scale = lg_step(L, "abs", "v", scale);
    int down = lg_step(L, "div", "vv", at, lg_step(L, "unsqueeze", "vi", scale, (int64_t)2));
    int both = lg_step(L, "div", "vv", down, scale);
    if (!rt_is_complex(lg_form(L, both)->dtype)) lg_step(L, "clip", "vii", both, (int64_t)-1, (int64_t)1);
    return 1;
}

#define VARIABLES                                                                                                      \
    "Variables are rows, and what was observed of them columns; the other way round with rowvar = false. An array of " \
    "one axis is one variable; y has more of them. "

const struct lg_function lg_covariance_functions[] = {
    {"average", average, "x:average([axis [, weights]] | {axis=, weights=, keepdims=})   gpu.average(x, ...)",
     "The mean with weights: the sum of x times the weights, divided by their sum.\n"
     "Weights are a list or array of the shape of x or, along one axis, as long as that; without them it is the mean. Over "
     "all elements it is a Lua value.",
     "assert(gpu.array({1, 3}):average(1, {3, 1}) == 1.5 and gpu.array({1, 3}):average() == 2)"},
    {"ptp", ptp, "x:ptp([axis [, keepdims]] | {axis=, keepdims=})   gpu.ptp(x, ...)",
     "The greatest element minus the smallest.\n" LG_AXES_DOC, "assert(gpu.array({3, 9, 4}):ptp() == 6)"},
    {"cov", cov, "x:cov([y [, rowvar [, ddof]]] | {y=, rowvar=, ddof=})   gpu.cov(x, ...)",
     "The covariances of variables, as a matrix; of one variable its variance, a Lua number.\n" VARIABLES
     "Sums are divided by the number of observations less ddof, which is 1 unless told otherwise, as for a sample.",
     "local c = gpu.cov(gpu.array({{1, 2, 3}, {6, 4, 2}}))\nassert(c:equal(gpu.array({{1, -2}, {-2, 4}})))"},
    {"corrcoef", corrcoef, "x:corrcoef([y [, rowvar]] | {y=, rowvar=})   gpu.corrcoef(x, ...)",
     "The correlations of variables, from -1 to 1, as a matrix; of one variable 1.\n" VARIABLES
     "NaN for variables that are constant.",
     "local c = gpu.corrcoef(gpu.array({1, 2, 3}), gpu.array({6, 4, 2}))\nassert(c:allclose(gpu.array({{1, -1}, {-1, 1}})))"},
    {0}};
