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

#define MOST_CELLS (1 << 30)

/* Pushes how many elements, or weights, lie in each cell of a grid: of the place of each in an array for each axis. */
static struct rt_array *push_cells(lua_State *L, int ndim, const struct rt_array *columns,
                                   const struct rt_array *const *edges, const struct rt_array *weights)
{
    struct rt_error *e = lg_error_box(L);
    struct rt_array *cells = NULL;
    int64_t count = 1;
    for (int k = 0; k < ndim; k++) {
        const int64_t width = edges[k]->shape[0] + 1;
        if (__builtin_mul_overflow(count, width, &count) || count > MOST_CELLS)
            luaL_error(L, "a histogram has at most %d cells, those beside the bins counted", MOST_CELLS);
        struct rt_array *places = push_places(L, &columns[k], edges[k]);
        if (cells) {
            struct kn_operand scale[2] = {{.array = cells}, {.i = width}},
                              add[2] = {{.array = cells}, {.array = places}};
            lg_check(L, kn_apply(KN_MUL, scale, cells, e));
            lg_check(L, kn_apply(KN_ADD, add, cells, e));
            lua_pop(L, 1);
        } else {
            cells = places;
        }
    }
    struct rt_array *all = lg_new_array(L), *out = lg_new_array(L);
    lg_check(L, weights ? kn_weigh(cells, weights, count, all, e) : kn_bincount(cells, count, all, e));
    struct rt_array inner = *all; /* borrowed: without what lies beside the bins */
    inner.ndim = ndim;
    int64_t stride = 1;
    for (int k = ndim - 1; k >= 0; k--) {
        inner.shape[k] = edges[k]->shape[0] - 1;
        inner.strides[k] = stride;
        inner.offset += stride;
        stride *= edges[k]->shape[0] + 1;
    }
    lg_check(L, kn_convert(&inner, all->dtype, rt_array_device(columns), out, e));
    return out;
}

/* Divides the counts at a stack index by the sum of all and, along each axis, by the bins' widths. */
static int push_cell_density(lua_State *L, int counts, int ndim, const int *edges)
{
    lg_step(L, "sum", "v", counts);
    int at = lg_step(L, "div", "vn", counts, lua_tonumber(L, -1));
    for (int k = 0; k < ndim; k++) {
        int64_t shape[RT_MAX_DIMS];
        for (int i = 0; i < ndim; i++) shape[i] = i == k ? -1 : 1;
        const int widths = lg_step(L, "diff", "v", edges[k]);
        shape[k] = lg_form(L, widths)->shape[0];
        at = lg_step(L, "div", "vv", at, lg_push_reshaped(L, widths, ndim, shape));
    }
    return at;
}

/* Pushes counts, or sums or densities, and the edges along each axis, which are at these stack indices. */
static int push_grid(lua_State *L, int ndim, const struct rt_array *columns, const int *at,
                     const struct rt_array *weights, bool density)
{
    const struct rt_array *edges[RT_MAX_DIMS];
    for (int k = 0; k < ndim; k++) edges[k] = lg_form(L, at[k]);
    push_cells(L, ndim, columns, edges, weights);
    const int counts = lua_gettop(L);
    lua_pushvalue(L, density ? push_cell_density(L, counts, ndim, at) : counts);
    for (int k = 0; k < ndim; k++) lua_pushvalue(L, at[k]);
    return 1 + ndim;
}

/* gpu.histogram2d(x, y [, bins [, xrange [, yrange [, weights [, density]]]]]) */
static int histogram2d(lua_State *L)
{
    const struct rt_array *x = lg_check_array(L, 1), *y = lg_check_array(L, 2);
    if (!rt_array_same_shape(x, y)) return luaL_error(L, "histogram2d takes two arrays of one shape");
    lua_settop(L, 7);
    const struct rt_array *weights = check_weights(L, 6, x), columns[2] = {*x, *y}; /* borrowed */
    const bool density = lg_check_flag(L, 7, "density");
    int edges[2];
    push_bins_of(L, x, 1, 4);
    edges[0] = lua_gettop(L);
    push_bins_of(L, y, 2, 5);
    edges[1] = lua_gettop(L);
    return push_grid(L, 2, columns, edges, weights, density);
}

/* The bins of histogramdd along axis k (from 0) of so many: at 2 a number of them for all axes, or a list of one for
 * each, a number or edges; at 3 a list of ranges. Pushes the edges last. */
static void push_bins_along(lua_State *L, const struct rt_array *column, int k, int count)
{
    int bins = 2, range = 3;
    if (lua_istable(L, 2)) {
        lua_rawgeti(L, 2, k + 1);
        bins = lua_gettop(L);
    }
    if (lua_istable(L, 3)) {
        if (lua_rawgeti(L, 3, k + 1) != LUA_TTABLE && !lua_isnil(L, -1))
            luaL_error(L, "histogramdd: range is a list of %d ranges, each {low, high}", count);
        range = lua_gettop(L);
    } else if (!lua_isnil(L, 3)) {
        luaL_error(L, "histogramdd: range: expected a list of %d ranges, each {low, high}, got %s", count,
                   lg_type_name(L, 3));
    }
    if (!lua_istable(L, bins) && !lg_test_array(L, bins)) {
        push_bins(L, column, bins, range);
        return;
    }
    if (!lua_isnil(L, range))
        luaL_error(L, "histogramdd takes the edges of bins or a range along axis %d, not both", k + 1);
    push_given_edges(L, bins, column);
}

/* gpu.histogramdd(x [, bins [, range [, weights [, density]]]]) */
static int histogramdd(lua_State *L)
{
    static const char *const names[] = {"bins", "range", "weights", "density", NULL};
    const struct rt_array *x = lg_check_array(L, 1);
    lg_spread_list(L, 2, "histogramdd", names);
    lua_settop(L, 5);
    char text[256];
    if (x->ndim != 2 || x->shape[1] < 1 || x->shape[1] > RT_MAX_DIMS)
        return luaL_error(
            L, "histogramdd: x is a matrix with a point in each row, of 1 to %d coordinates, got the shape %s",
            RT_MAX_DIMS, rt_shape_text(x->ndim, x->shape, text, sizeof text));
    const int ndim = (int)x->shape[1];
    if (lua_istable(L, 2) && lua_rawlen(L, 2) != (size_t)ndim)
        return luaL_error(L, "histogramdd: bins has %d values, expected one for each of the %d axes, a number or edges",
                          (int)lua_rawlen(L, 2), ndim);
    struct rt_array columns[RT_MAX_DIMS]; /* borrowed */
    int edges[RT_MAX_DIMS];
    for (int k = 0; k < ndim; k++) {
        columns[k] = *x;
        columns[k].ndim = 1;
        columns[k].offset += k * x->strides[1];
    }
    const struct rt_array *weights = check_weights(L, 4, &columns[0]);
    const bool density = lg_check_flag(L, 5, "density");
    luaL_checkstack(L, 8 * RT_MAX_DIMS + 20, NULL);
    for (int k = 0; k < ndim; k++) {
        push_bins_along(L, &columns[k], k, ndim);
        edges[k] = lua_gettop(L);
    }
    return push_grid(L, ndim, columns, edges, weights, density);
}

#define BINS_DOC                                                                                                       \
    "There are 10 bins unless told otherwise, all of one width, from the smallest to the greatest element or as the "  \
    "range {low, high} says. A bin has its lower edge and not its upper one; the last has both. What is outside, or "  \
    "NaN, is not counted. Weights, one for each element, are added up instead of counted, in float64."

#define DENSITY_DOC                                                                                                    \
    "With density each count is divided by the size of its cell and the sum of all, so that the volume is 1."

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
    {"histogram2d", histogram2d, "gpu.histogram2d(x, y [, bins [, xrange [, yrange [, weights [, density]]]]])",
     "How many pairs of elements lie in each cell of a grid, and the edges along x and along y.\n"
     "The first axis of the counts is x's. " BINS_DOC
     " Instead of a number of bins a list or an array gives the edges of "
     "both axes, and a list of two, each a number or edges, those of each. " DENSITY_DOC,
     "local counts = gpu.histogram2d(gpu.array({0, 1, 1}), gpu.array({0, 1, 1}), 2)\n"
     "assert(counts:equal(gpu.array({{1, 0}, {0, 2}})))\n"
     "assert(gpu.histogram2d(gpu.array({0, 9}), gpu.array({3, 4}), {{0, 1, 5, 9}, 1}):equal(gpu.array({{1}, {0}, {1}})))"},
    {"histogramdd", histogramdd,
     "gpu.histogramdd(x [, bins [, range [, weights [, density]]]] | {bins=, range=, weights=, density=})",
     "How many points, the rows of x, lie in each cell of a grid, and the edges along each axis, one array after the "
     "other.\n" BINS_DOC
     " Instead of one number of bins a list gives that of each axis, or its edges; range is a list, too, of a {low, high} "
     "for each axis. " DENSITY_DOC,
     "local x = gpu.array({{0, 0, 5}, {1, 0, 6}, {1, 0, 6}})\n"
     "local counts, a, b, c = gpu.histogramdd(x, {2, 1, {5, 5.5, 6}})\n"
     "assert(counts:equal(gpu.array({{{1, 0}}, {{0, 2}}})) and a.size == 3 and b.size == 2)\n"
     "assert(gpu.histogramdd(x, 2, {{0, 9}, {0, 1}, {5, 7}}):sum() == 3)"},
    {0}};
