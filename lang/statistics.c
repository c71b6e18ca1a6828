/* Variance, norms and other statistics of arrays along their axes. */
#include <math.h>
#include "kernels/order.h"
#include "kernels/statistics.h"
#include "lang/lazy.h"
#include "lang/reduce.h"
#include "lang/steps.h"

int lg_reduce_to_statistic(lua_State *L, enum kn_statistic_kind kind, const struct lg_reduction *r)
{
    const struct kn_statistic s = {.kind = kind, .axes = r->axes, .number = r->number};
    const bool explains = lg_explains(L);
    const struct rt_array *a = lg_check_form(L, 1);
    enum rt_dtype t;
    _Alignas(16) char element[RT_ELEMENT];
    if (r->value && !explains && !lg_waits(a) && kn_small_statistic(&s, a, &t, element)) {
        lg_push_scalar(L, t, element);
        return 1;
    }
    if (!r->value && !r->keepdims && !explains && !lg_waits(a)) {
        struct rt_array *out = lg_new_array(L);
        if (kn_small_statistic_along(&s, a, out)) return 1;
        lua_pop(L, 1);
    }
    lg_push_statistic(L, a, &s, r->keepdims || explains);
    return r->value && !explains ? lg_push_number_of(L) : 1;
}

static int variance_or(lua_State *L, enum kn_statistic_kind kind)
{
    const char *name = kind == KN_VARIANCE ? "var" : "std";
    if (lg_out(L, name) || lg_reduce_with_options(L, name)) return 1;
    struct lg_reduction r = {.number = 0};
    lg_check_reduction(L, 2, lg_check_form(L, 1)->ndim, "ddof", &r);
    r.number = luaL_optnumber(L, 4, r.number);
    return lg_reduce_to_statistic(L, kind, &r);
}

static int variance(lua_State *L)
{
    return variance_or(L, KN_VARIANCE);
}
static int deviation(lua_State *L)
{
    return variance_or(L, KN_DEVIATION);
}

/* x:norm(), x:norm(1), x:norm(2, axis, keepdims), x:norm{ord = ..., axis = ...} */
static int norm(lua_State *L)
{
    if (lg_out(L, "norm")) return 1;
    struct lg_reduction r = {.number = 2};
    const struct rt_array *a = lg_check_form(L, 1);
    if (lua_istable(L, 2)) {
        lg_check_reduction(L, 2, a->ndim, "ord", &r);
    } else {
        r.number = luaL_optnumber(L, 2, 2);
        lg_check_reduction(L, 3, a->ndim, NULL, &r);
    }
    return lg_reduce_to_statistic(L, KN_NORM, &r);
}

static int plain(lua_State *L, enum kn_statistic_kind kind)
{
    const char *name = kind == KN_LOGSUMEXP ? "logsumexp" : "count_nonzero";
    if (lg_out(L, name) || lg_reduce_with_options(L, name)) return 1;
    struct lg_reduction r = {0};
    lg_check_reduction(L, 2, lg_check_form(L, 1)->ndim, NULL, &r);
    return lg_reduce_to_statistic(L, kind, &r);
}

static int logsumexp(lua_State *L)
{
    return plain(L, KN_LOGSUMEXP);
}
static int count_nonzero(lua_State *L)
{
    return plain(L, KN_COUNT_NONZERO);
}

/* Pushes the numbers 1 to n along the axis of an array like a. */
static int push_counting(lua_State *L, const struct rt_array *a, int axis, int64_t n)
{
    int64_t shape[RT_MAX_DIMS];
    for (int i = 0; i < a->ndim; i++) shape[i] = i == axis ? n : 1;
    int line = lg_step(L, "gpu.range", "iiiss", (int64_t)1, n, (int64_t)1, "int64", rt_array_device(a)->name);
    return lg_push_reshaped(L, line, a->ndim, shape);
}

/* Pushes, for each element of the sorted array at s but the first along the axis, how many equal ones there are up to
 * it. */
static int push_runs(lua_State *L, int s, int axis)
{
    const struct rt_array *a = lg_form(L, s);
    int64_t n = a->shape[axis] - 1;
    int before = lg_push_narrowed(L, s, axis, 0, n), behind = lg_push_narrowed(L, s, axis, 1, n);
    int other = lg_step(L, "ne", "vv", before, behind), place = push_counting(L, a, axis, n);
    if (rt_dtypes[a->dtype].kind == 'f')
        other =
            lg_step(L, "logical_and", "vv", other, lg_step(L, "logical_not", "v", lg_step(L, "isnan", "v", before)));
    int start = lg_step(L, "cummax", "vi", lg_step(L, "where", "vvi", other, place, (int64_t)0), (int64_t)axis + 1);
    return lg_step(L, "add", "vi", lg_step(L, "sub", "vv", place, start), (int64_t)1);
}

static int mode(lua_State *L)
{
    struct lg_reduction r = {0};
    const struct rt_array *a = lg_check_array(L, 1);
    int axis = 0, x = 1;
    lg_check(L, kn_check_real(a, "mode", lg_error_box(L)));
    lg_check_reduction(L, 2, a->ndim, NULL, &r);
    if (rt_array_size(a) == 0) return luaL_error(L, "mode: there are no elements");
    unsigned all = (1u << a->ndim) - 1, axes = r.axes & all;
    if (axes == all)
        x = lg_step(L, "flatten", "v", 1);
    else if (__builtin_popcount(axes) == 1)
        axis = __builtin_ctz(axes);
    else
        return luaL_error(L, "mode: several axes are named, expected one, or none for all elements");
    int s = lg_step(L, "sort", "vi", x, (int64_t)axis + 1), value, count;
    if (lg_form(L, s)->shape[axis] == 1) {
        value = s;
        count = lg_step(L, "gpu.ones_like", "vs", s, "int64");
    } else {
        int runs = push_runs(L, s, axis), best = lg_step(L, "argmax", "vib", runs, (int64_t)axis + 1, 1);
        count = lg_step(L, "gather", "viv", runs, (int64_t)axis + 1, best);
        best = lg_step(L, "where", "vvi", lg_step(L, "gt", "vi", count, (int64_t)1), /* else all are different */
                       lg_step(L, "add", "vi", best, (int64_t)1), (int64_t)1);
        value = lg_step(L, "gather", "viv", s, (int64_t)axis + 1, best);
    }
    int results[2] = {value, count};
    for (int i = 0; i < 2; i++) {
        if (axes == all && a->ndim > 1) {
            int64_t ones[RT_MAX_DIMS];
            for (int k = 0; k < a->ndim; k++) ones[k] = 1;
            results[i] = lg_push_reshaped(L, results[i], a->ndim, ones);
        }
    }
    lg_end_reduction(L, results[0], a, &r);
    value = lua_gettop(L);
    lg_end_reduction(L, results[1], a, &r);
    lua_pushvalue(L, value);
    lua_insert(L, -2);
    return 2;
}

#define VAR_DOC                                                                                                        \
    "The squared distances from the mean are added and divided by n - ddof, where ddof is 0 unless told otherwise (1 " \
    "for a sample's). Integers give a floating result. " LG_AXES_DOC

#define TAKEN_DOC                                                                                                      \
    " {dtype = t} converts the elements before; {where = mask} takes them only where the mask, an array of bools "     \
    "whose shape broadcasts, is true."

const struct lg_function lg_statistics_functions[] = {
    {"var", variance, "x:var([axis [, keepdims [, ddof]]])   gpu.var(x, ...)",
     "Variance.\n" VAR_DOC " Also as x:var{axis = ..., keepdims = ..., ddof = ...}." TAKEN_DOC,
     "assert(gpu.array({1, 2, 3, 4}):var() == 1.25 and gpu.array({1, 3}):var{ddof = 1} == 2)"},
    {"std", deviation, "x:std([axis [, keepdims [, ddof]]])   gpu.std(x, ...)",
     "Standard deviation: the root of the variance.\n" VAR_DOC
     " Also as x:std{axis = ..., keepdims = ..., ddof = ...}." TAKEN_DOC,
     "assert(gpu.array({{1, 5}, {3, 3}}):std(2)[1] == 2)"},
    {"norm", norm, "x:norm([ord [, axis [, keepdims]]])   x:norm{ord = ..., axis = ..., keepdims = ...}",
     "The norm of the elements as a vector.\nord 2, unless told otherwise, is the root of the sum of squares, 1 the sum "
     "of sizes, math.huge the greatest size, -math.huge the least, 0 the number of elements that are not 0, and another "
     "p the p-th root of the sum of the p-th powers of sizes. " LG_AXES_DOC,
     "local x = gpu.array({3, -4})\nassert(x:norm() == 5 and x:norm(1) == 7 and x:norm(math.huge) == 4)"},
    {"logsumexp", logsumexp, "x:logsumexp([axis [, keepdims]])   gpu.logsumexp(x [, axis [, keepdims]])",
     "log(sum(exp(x))), without overflow in between; of nothing it is -inf.\n" LG_AXES_DOC,
     "local x = gpu.array({1000, 1000})\nassert(math.abs(x:logsumexp() - 1000 - math.log(2)) < 1e-3)"},
    {"count_nonzero", count_nonzero,
     "x:count_nonzero([axis [, keepdims]] | {axis=, keepdims=, dtype=, where=})   gpu.count_nonzero(x, ...)",
     "How many elements are not 0; NaN is none of the zeros.\n" LG_AXES_DOC TAKEN_DOC,
     "local x = gpu.array({0, 3, 0, 4})\nassert(x:count_nonzero() == 2 and x:count_nonzero{where = x:gt(3)} == 1)"},
    {"mode", mode, "x:mode([axis [, keepdims]])   gpu.mode(x [, axis [, keepdims]])",
     "The element that comes most often, the smallest of several, and how often it comes.\n"
     "Over all elements they are Lua values, along an axis arrays. All NaN are one element, the greatest.",
     "local value, count = gpu.array({3, 1, 3, 1, 2}):mode()\nassert(value == 1 and count == 2)\n"
     "assert(gpu.array({{1, 2, 2}, {3, 3, 4}}):mode(2):equal(gpu.array({2, 3})))"},
    {0}};
