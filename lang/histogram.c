/* Counting elements: bincount and histograms. */
#include <math.h>
#include <string.h>
#include "kernels/order.h"
#include "lang/array.h"
#include "lang/closest.h"
#include "lang/steps.h"

/* The weights at idx, one for each element of `a`; NULL when there are none. */
static const struct rt_array *check_weights(lua_State *L, int idx, const struct rt_array *a)
{
    char x[256], y[256];
    if (lua_isnoneornil(L, idx)) return NULL;
    const struct rt_array *weights = lg_check_array(L, idx);
    if (!rt_array_same_shape(weights, a))
        luaL_error(L, "the weights have the shape %s, and the elements %s",
                   rt_shape_text(weights->ndim, weights->shape, x, sizeof x),
                   rt_shape_text(a->ndim, a->shape, y, sizeof y));
    return weights;
}

static int bincount(lua_State *L)
{
    const struct rt_array *a = lg_check_array(L, 1);
    if (lg_test_array(L, 2))
        luaL_argerror(L, 2, "weights stand behind the least number of bins, x:bincount(0, weights)");
    lua_Integer least = luaL_optinteger(L, 2, 0);
    luaL_argcheck(L, least >= 0, 2, "the least number of bins is negative");
    const struct rt_array *weights = check_weights(L, 3, a);
    struct rt_array *out = lg_new_array(L);
    lg_check(L, kn_bincount(a, least, out, lg_error_box(L)));
    if (!weights) return 1;
    struct rt_array *sums = lg_new_array(L);
    lg_check(L, kn_weigh(a, weights, out->shape[0], sums, lg_error_box(L)));
    return 1;
}

/* The smallest and the greatest element that is not NaN, NaN where all are. */
static void find_ends_beside_nan(lua_State *L, const struct rt_array *a, double ends[2])
{
    const int top = lua_gettop(L);
    lg_push_shared(L, a);
    lg_step(L, "nanmin", "v", top + 1);
    lg_step(L, "nanmax", "v", top + 1);
    for (int i = 0; i < 2; i++) ends[i] = lua_tonumber(L, top + 2 + i);
    lua_settop(L, top);
}

/* The smallest and the greatest element as the range of bins; 0 to 1 of nothing, and one around a single value. */
static void find_range(lua_State *L, const struct rt_array *a, double *low, double *high)
{
    double ends[2] = {0, 1};
    for (int i = 0; i < 2 && rt_array_size(a) > 0; i++) {
        uint64_t element = 0;
        enum rt_dtype t;
        if (!kn_small_reduction(i ? KN_MAX : KN_MIN, a, &t, &element)) {
            struct rt_array *one = lg_new_array(L);
            lg_check(L, kn_reduce(i ? KN_MAX : KN_MIN, a, KN_ALL_AXES, false, one, lg_error_box(L)));
            lg_check(L, rt_array_read(one, &element, lg_error_box(L)));
            lua_pop(L, 1);
        }
        ends[i] = rt_load_double(a->dtype, &element);
        if (a->dtype == RT_UINT64) ends[i] = (double)element;
    }
    if (isnan(ends[0])) find_ends_beside_nan(L, a, ends);
    *low = ends[0];
    *high = ends[1];
}

/* A new float64 array of bins + 1 edges, evenly spaced. */
static struct rt_array *push_edges(lua_State *L, struct rt_device *d, int64_t bins, double low, double high)
{
    int64_t n = bins + 1;
    struct rt_array *edges = lg_new_array(L);
    lg_check(L, rt_array_new(d, RT_FLOAT64, 1, &n, edges, lg_error_box(L)));
    double *at = lua_newuserdatauv(L, (size_t)n * sizeof *at, 0);
    for (int64_t i = 0; i < n; i++) at[i] = i == bins ? high : low + (double)i * ((high - low) / (double)bins);
    lg_check(L, rt_array_write(edges, at, lg_error_box(L)));
    lua_pop(L, 1);
    return edges;
}

/* Bins for the elements of `a`: a number of them at `bins` (10 when nil), within {low, high} at `range` or within the
 * elements when that is nil. Pushes the edges. */
static struct rt_array *push_bins(lua_State *L, const struct rt_array *a, int bins, int range)
{
    lua_Integer n = luaL_optinteger(L, bins, 10);
    double low, high;
    if (n < 1 || n >= INT32_MAX) luaL_error(L, "bins: their number is from 1 to 2147483646, got %I", n);
    if (lua_isnoneornil(L, range)) {
        find_range(L, a, &low, &high);
        if (!isfinite(low) || !isfinite(high))
            luaL_error(L, "the elements reach from %f to %f; name a range, as {low, high}, that is finite", low, high);
    } else {
        luaL_checktype(L, range, LUA_TTABLE);
        bool numbers = lua_rawgeti(L, range, 1) == LUA_TNUMBER && lua_rawgeti(L, range, 2) == LUA_TNUMBER;
        luaL_argcheck(L, numbers, range, "a range is two numbers, {low, high}");
        low = lua_tonumber(L, -2);
        high = lua_tonumber(L, -1);
        lua_pop(L, 2);
        luaL_argcheck(L, isfinite(low) && isfinite(high) && low <= high, range,
                      "the range's low is not below its high, or they are not finite");
    }
    if (!isfinite(high - low)) luaL_error(L, "the range from %f to %f is too wide to be divided", low, high);
    if (low == high) {
        low -= 0.5;
        high += 0.5;
    }
    return push_edges(L, rt_array_device(a), n, low, high);
}

/* The edges at idx, a list or an array of numbers that do not fall. Pushes them as float64 where `a` is. */
static struct rt_array *push_given_edges(lua_State *L, int idx, const struct rt_array *a)
{
    struct rt_device *d = rt_array_device(a);
    const struct rt_array *given =
        lua_istable(L, idx) ? lg_push_from_table(L, idx, RT_FLOAT64, d) : lg_check_array(L, idx);
    if (given->ndim != 1 || given->shape[0] < 2) luaL_error(L, "bins: edges are one axis of at least two numbers");
    struct rt_array *edges = lg_new_array(L);
    lg_check(L, kn_convert(given, RT_FLOAT64, d, edges, lg_error_box(L)));
    const double *at = lg_push_host_copy(L, edges);
    for (int64_t i = 0; i < edges->shape[0]; i++)
        if (i > 0 ? !(at[i - 1] <= at[i]) : isnan(at[0]))
            luaL_error(L, "bins: each edge must be at or above the one before it");
    lua_pop(L, 1);
    return edges;
}

/* How many edges are at or below each element, 0 to bins + 1; the last edge counts as a bit higher than it is, so that
 * what lies on it is in the last bin. */
static struct rt_array *push_places(lua_State *L, const struct rt_array *a, const struct rt_array *edges)
{
    struct rt_device *d = rt_array_device(a);
    struct rt_array *moved = lg_new_array(L), *wide = lg_new_array(L), *places = lg_new_array(L);
    double high;
    lg_check(L, kn_convert(edges, RT_FLOAT64, d, moved, lg_error_box(L)));
    struct rt_array last = *moved; /* borrowed */
    last.ndim = 0;
    last.offset += edges->shape[0] - 1;
    lg_check(L, rt_array_read(&last, &high, lg_error_box(L)));
    high = nextafter(high, INFINITY);
    lg_check(L, rt_array_write(&last, &high, lg_error_box(L)));
    lg_check(L, kn_convert(a, RT_FLOAT64, d, wide, lg_error_box(L)));
    lg_check(L, kn_search(moved, wide, true, places, lg_error_box(L)));
    struct kn_operand args[2] = {{.array = places}, {.i = 1}};
    lg_check(L, kn_apply(KN_SUB, args, places, lg_error_box(L)));
    lua_replace(L, -3);
    lua_pop(L, 1);
    return places;
}

/* Counts, or sums of weights: places of the bins and of one beside them on either side, which are left out. */
static void push_sums(lua_State *L, const struct rt_array *a, const struct rt_array *weights,
                      const struct rt_array *edges)
{
    int64_t bins = edges->shape[0] - 1;
    const struct rt_array *places = push_places(L, a, edges);
    struct rt_array *all = lg_new_array(L), *out = lg_new_array(L);
    if (weights)
        lg_check(L, kn_weigh(places, weights, bins + 2, all, lg_error_box(L)));
    else
        lg_check(L, kn_bincount(places, bins + 2, all, lg_error_box(L)));
    struct rt_array inner = *all; /* borrowed */
    inner.shape[0] = bins;
    inner.offset++;
    lg_check(L, kn_convert(&inner, all->dtype, rt_array_device(a), out, lg_error_box(L)));
}

/* Pushes counts, or sums of weights where there are any, and edges. What is no range is nil. */
static void push_histogram(lua_State *L, const struct rt_array *a, int bins, int range, const struct rt_array *weights)
{
    bool given = lua_istable(L, bins) || lg_test_array(L, bins);
    if (given && !lua_isnoneornil(L, range)) luaL_error(L, "histogram takes the edges of bins or a range, not both");
    struct rt_array *edges = given ? push_given_edges(L, bins, a) : push_bins(L, a, bins, range);
    int at = lua_gettop(L);
    if (weights || given)
        push_sums(L, a, weights, edges);
    else
        lg_check(L, kn_histogram(a, edges, lg_new_array(L), lg_error_box(L)));
    lua_pushvalue(L, at);
}

void lg_push_histogram(lua_State *L, const struct rt_array *a, int bins)
{
    lua_pushnil(L);
    push_histogram(L, a, bins, lua_gettop(L), NULL);
}

/* The counts and edges on top become what each bin has of all, for its width. */
static void push_density(lua_State *L)
{
    const int edges = lua_gettop(L), counts = edges - 1;
    lg_step(L, "sum", "v", counts);
    const double all = lua_tonumber(L, -1);
    const int areas = lg_step(L, "mul", "vn", lg_step(L, "diff", "v", edges), all);
    lg_step(L, "div", "vv", counts, areas);
    lua_pushvalue(L, edges);
}

static int histogram(lua_State *L)
{
    static const char *const names[] = {"bins", "range", "weights", "density", NULL};
    const struct rt_array *a = lg_check_array(L, 1);
    lg_spread_list(L, 2, "histogram", names);
    if (lua_type(L, 3) == LUA_TNUMBER) luaL_argerror(L, 3, "a range is {low, high}, in a table");
    const bool density = lg_check_flag(L, 5, "density");
    push_histogram(L, a, 2, 3, check_weights(L, 4, a));
    if (density) push_density(L);
    return 2;
}

/* The bins at 3 along one axis of two: a number of them, edges, or a list of two of those, one for each axis. Pushes
 * the edges last. */
static struct rt_array *push_bins_of(lua_State *L, const struct rt_array *a, int axis, int range)
{
    int idx = 3;
    if (lua_istable(L, 3) && lua_rawlen(L, 3) == 2) {
        lua_rawgeti(L, 3, axis);
        idx = lua_gettop(L);
    }
    if (!lua_istable(L, idx) && !lg_test_array(L, idx)) {
        if (!lua_isnoneornil(L, idx) && !lua_isnumber(L, idx))
            luaL_error(L, "the bins of histogram2d are a number, a list of edges, or a list of two of those");
        return push_bins(L, a, idx, range);
    }
    if (!lua_isnil(L, range)) luaL_error(L, "histogram2d takes the edges of bins or a range, not both");
    return push_given_edges(L, idx, a);
}

/* gpu.histogram2d(x, y [, bins [, xrange [, yrange [, weights]]]]) */
static int histogram2d(lua_State *L)
{
    const struct rt_array *x = lg_check_array(L, 1), *y = lg_check_array(L, 2);
    struct rt_error *e = lg_error_box(L);
    if (!rt_array_same_shape(x, y)) return luaL_error(L, "histogram2d takes two arrays of one shape");
    lua_settop(L, 6);
    const struct rt_array *weights = check_weights(L, 6, x);
    struct rt_array *xedges = push_bins_of(L, x, 1, 4);
    int xat = lua_gettop(L);
    struct rt_array *yedges = push_bins_of(L, y, 2, 5);
    int yat = lua_gettop(L);
    int64_t bins[2] = {xedges->shape[0] - 1, yedges->shape[0] - 1}, width = bins[1] + 2;
    if (bins[0] > 30000 || bins[1] > 30000) return luaL_error(L, "histogram2d has at most 30000 bins along each axis");
    struct rt_array *column = push_places(L, x, xedges);
    struct rt_array *row = push_places(L, y, yedges);
    struct kn_operand scale[2] = {{.array = column}, {.i = width}}, add[2] = {{.array = column}, {.array = row}};
    lg_check(L, kn_apply(KN_MUL, scale, column, e));
    lg_check(L, kn_apply(KN_ADD, add, column, e));
    struct rt_array *all = lg_new_array(L), *out = lg_new_array(L);
    if (weights)
        lg_check(L, kn_weigh(column, weights, (bins[0] + 2) * width, all, e));
    else
        lg_check(L, kn_bincount(column, (bins[0] + 2) * width, all, e));
    struct rt_array inner = *all; /* borrowed: without what lies beside the bins */
    inner.ndim = 2;
    inner.shape[0] = bins[0];
    inner.shape[1] = bins[1];
    inner.strides[0] = width;
    inner.strides[1] = 1;
    inner.offset += width + 1;
    lg_check(L, kn_convert(&inner, all->dtype, rt_array_device(x), out, e));
    lua_pushvalue(L, xat);
    lua_pushvalue(L, yat);
    return 3;
}

#define BINS_DOC                                                                                                       \
    "There are 10 bins unless told otherwise, all of one width, from the smallest to the greatest element or as the "  \
    "range {low, high} says. A bin has its lower edge and not its upper one; the last has both. What is outside, or "  \
    "NaN, is not counted. Weights, one for each element, are added up instead of counted, in float64."

const struct lg_function lg_histogram_functions[] = {
    {"bincount", bincount, "x:bincount([least [, weights]])   gpu.bincount(x [, least [, weights]])",
     "How often each integer from 0 on comes in x: element i + 1 of the result is for i.\n"
     "The result reaches to the greatest element, and has at least `least` elements. Negative ones are an error. "
     "Weights, one for each element of x, are added up instead of counted, in float64.",
     "local x = gpu.array({0, 2, 2}, 'int32')\nassert(x:bincount():equal(gpu.array({1, 0, 2})))\n"
     "assert(x:bincount(0, gpu.array({5, 1, 2})):equal(gpu.array({5, 0, 3})))"},
    {"histogram", histogram,
     "x:histogram([bins [, range [, weights]]] | {bins=, range=, weights=, density=})   gpu.histogram(x, ...)",
     "How many elements lie in each bin, and the edges of the bins (float64, one more than bins).\n" BINS_DOC
     " Instead of a number of bins a list or an array may give the edges, of bins of any width. {density = true} divides "
     "by the bins' widths and the sum of all, so that the area is 1.",
     "local counts, edges = gpu.array({0, 1, 1, 4}):histogram(2)\n"
     "assert(counts:equal(gpu.array({3, 1})) and edges:equal(gpu.array({0, 2, 4})))\n"
     "assert(gpu.array({0, 1, 1, 4}):histogram({0, 1, 10}):equal(gpu.array({1, 3})))\n"
     "assert(gpu.array({0, 1, 1, 4}):histogram({bins = 2, range = {0, 2}}):equal(gpu.array({1, 2})))"},
    {"histogram2d", histogram2d, "gpu.histogram2d(x, y [, bins [, xrange [, yrange [, weights]]]])",
     "How many pairs of elements lie in each cell of a grid, and the edges along x and along y.\n"
     "The first axis of the counts is x's. " BINS_DOC
     " Instead of a number of bins a list or an array gives the edges of "
     "both axes, and a list of two, each a number or edges, those of each.",
     "local counts = gpu.histogram2d(gpu.array({0, 1, 1}), gpu.array({0, 1, 1}), 2)\n"
     "assert(counts:equal(gpu.array({{1, 0}, {0, 2}})))\n"
     "assert(gpu.histogram2d(gpu.array({0, 9}), gpu.array({3, 4}), {{0, 1, 5, 9}, 1}):equal(gpu.array({{1}, {0}, {1}})))"},
    {0}};
