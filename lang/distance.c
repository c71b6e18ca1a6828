/* Distances between points, the rows of matrices. */
#include <math.h>
#include "kernels/distance.h"
#include "kernels/program.h"
#include "lang/closest.h"
#include "lang/steps.h"

/* Which distance: the p-th root of the sum of p-th powers, or its square. */
struct metric {
    double p;
    bool squares;
};

static void check_metric(lua_State *L, int idx, const char *what, struct metric *m)
{
    static const char *const names[] = {"euclidean", "sqeuclidean", "cityblock", "chebyshev", NULL};
    static const double powers[] = {2, 2, 1, INFINITY};
    *m = (struct metric){2, false};
    if (lua_type(L, idx) == LUA_TSTRING) {
        int which = lg_check_option(L, idx, NULL, names);
        *m = (struct metric){powers[which], which == 1};
        return;
    }
    m->p = lg_number_option(L, idx, what, "p", 2);
    if (!(m->p > 0)) luaL_error(L, "%s: p is %s, expected a number above 0", what, luaL_tolstring(L, idx, NULL));
}

/* The points at idx, a list or an array of two axes. */
static const struct rt_array *check_points(lua_State *L, int idx, const struct rt_array *beside, const char *what)
{
    char text[256];
    const struct rt_array *x = lg_step_array(L, idx, beside, RT_DTYPE_COUNT);
    lg_check(L, kn_check_real(x, what, lg_error_box(L)));
    if (x->ndim != 2)
        luaL_error(L, "%s: the points have the shape %s, expected two axes: points and coordinates", what,
                   rt_shape_text(x->ndim, x->shape, text, sizeof text));
    return x;
}

/* Pushes the points at idx as they are computed with. */
static int push_wide(lua_State *L, int idx)
{
    const struct rt_array *a = lg_check_array(L, idx);
    if (a->dtype == RT_FLOAT64 && rt_array_contiguous(a)) return idx;
    return lg_step(L, "contiguous", "v", lg_step(L, "to", "vs", idx, "float64"));
}

/* Where generated code runs: all differences, in one pass with what becomes of them. */
static int push_by_steps(lua_State *L, const struct metric *m, int x, int y)
{
    int points = lg_step(L, "unsqueeze", "vi", x, (int64_t)2), others = lg_step(L, "unsqueeze", "vi", y, (int64_t)1);
    int away = lg_step(L, "sub", "vv", points, others);
    if (lg_form(L, x)->shape[1] == 0) return lg_step(L, "sum", "vi", away, (int64_t)3);
    if (m->squares) return lg_step(L, "sum", "vi", lg_step(L, "square", "v", away), (int64_t)3);
    return lg_step(L, "norm", "vni", away, m->p, (int64_t)3);
}

/* Pushes the distances on the host, of the dtype, or of the one that is converted to it. */
static int push_on_host(lua_State *L, const struct metric *m, int x, int y, bool pairs, enum rt_dtype t)
{
    int wide = push_wide(L, x), other = y == x ? wide : push_wide(L, y);
    const struct rt_array *a = lg_check_array(L, wide), *b = lg_check_array(L, other);
    const int64_t n = a->shape[0], shape[2] = {n, b->shape[0]}, count = n > 0 ? n * (n - 1) / 2 : 0;
    struct rt_array *out = lg_new_array(L);
    const enum rt_dtype made = t == RT_FLOAT64 ? t : RT_FLOAT32;
    lg_check(L, rt_array_new(rt_array_device(a), made, pairs ? 1 : 2, pairs ? &count : shape, out, lg_error_box(L)));
    lg_check(L, kn_distances(a, b, m->p, m->squares, pairs, out, lg_error_box(L)));
    return t == made ? lua_gettop(L) : lg_step(L, "to", "vs", lua_gettop(L), rt_dtypes[t].name);
}

static enum rt_dtype common(const struct rt_array *x, const struct rt_array *y)
{
    enum rt_dtype a = lg_floating(x), b = lg_floating(y);
    if (a == b) return a;
    return a == RT_FLOAT64 || b == RT_FLOAT64 ? RT_FLOAT64 : RT_FLOAT32;
}

/* gpu.cdist(x, y [, p]) */
static int cdist(lua_State *L)
{
    struct metric m;
    const struct rt_array *x = check_points(L, 1, NULL, "cdist"), *y = check_points(L, 2, x, "cdist");
    lua_settop(L, 3);
    check_metric(L, 3, "cdist", &m);
    if (x->shape[1] != y->shape[1])
        return luaL_error(L, "cdist: the points of x have %I coordinates, and those of y %I", (LUAI_UACINT)x->shape[1],
                          (LUAI_UACINT)y->shape[1]);
    lg_check(L, kn_check_devices((const struct rt_array *[]){x, y}, 2, lg_error_box(L)));
    if (kn_runs_generated(rt_array_device(x)))
        lg_step(L, "to", "vs", push_by_steps(L, &m, 1, 2), rt_dtypes[common(x, y)].name);
    else
        push_on_host(L, &m, 1, 2, false, common(x, y));
    return 1;
}

/* gpu.pdist(x [, p]) */
static int pdist(lua_State *L)
{
    struct metric m;
    const struct rt_array *x = check_points(L, 1, NULL, "pdist");
    lua_settop(L, 2);
    check_metric(L, 2, "pdist", &m);
    enum rt_dtype t = lg_floating(x);
    if (!kn_runs_generated(rt_array_device(x))) {
        push_on_host(L, &m, 1, 1, true, t);
        return 1;
    }
    int64_t n = x->shape[0];
    const char *device = rt_array_device(x)->name;
    int all = lg_step(L, "to", "vs", push_by_steps(L, &m, 1, 1), rt_dtypes[t].name);
    lg_push_shape(L, 2, (int64_t[]){n, n});
    int ones = lg_step(L, "gpu.ones", "vss", lua_gettop(L), "bool", device);
    lg_step(L, "masked_select", "vv", all, lg_step(L, "triu", "vi", ones, (int64_t)1));
    return 1;
}

#define DISTANCE_DOC                                                                                                    \
    "Points are rows, of arrays or lists. The distance is the p-th root of the sum of the coordinates' differences to " \
    "the p-th power, p 2 unless told otherwise; math.huge takes the greatest. Or it has a name: \"euclidean\", "        \
    "\"sqeuclidean\" (no root is taken), \"cityblock\" (p = 1), \"chebyshev\"."

const struct lg_function lg_distance_functions[] = {
    {"cdist", cdist, "gpu.cdist(x, y [, p])",
     "The distances of all points of x to all of y, as a matrix.\n" DISTANCE_DOC,
     "local d = gpu.cdist({{0, 0}, {3, 0}}, {{0, 4}})\nassert(d:equal(gpu.array({{4}, {5}})))\n"
     "assert(gpu.cdist({{0, 0}}, {{3, 4}}, 'cityblock')[{1, 1}] == 7)"},
    {"pdist", pdist, "gpu.pdist(x [, p])",
     "The distance of each point of x to those behind it, one after the other: what is above the diagonal of "
     "gpu.cdist(x, x).\n" DISTANCE_DOC,
     "assert(gpu.pdist({{0, 0}, {3, 0}, {0, 4}}):equal(gpu.array({3, 4, 5})))"},
    {0}};
