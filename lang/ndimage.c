/* gpu.ndimage: filters of arrays of any number of axes, as SciPy and CuPy have them, out of padding, windows and
 * convolutions. */
#include "lang/ndimage.h"
#include <math.h>
#include <string.h>
#include "lang/closest.h"
#include "lang/convolve.h"

void lg_check_border(lua_State *L, int idx, const char *fallback, struct lg_border *out)
{
    static const char *const modes[] = {"reflect", "mirror", "nearest", "wrap", "constant", NULL};
    static const char *const pads[] = {"symmetric", "reflect", "edge", "wrap", "constant"};
    out->pad = pads[lg_check_option(L, idx, fallback, modes)];
    out->value = luaL_optnumber(L, idx + 1, 0);
}

int lg_push_padded(lua_State *L, int x, int axis, int64_t before, int64_t after, const struct lg_border *b)
{
    int ndim = lg_form(L, x)->ndim;
    if (before == 0 && after == 0) {
        lua_pushvalue(L, x);
        return lua_gettop(L);
    }
    lua_createtable(L, ndim, 0);
    int widths = lua_gettop(L);
    for (int i = 0; i < ndim; i++) {
        lua_createtable(L, 2, 0);
        lua_pushinteger(L, i == axis ? before : 0);
        lua_rawseti(L, -2, 1);
        lua_pushinteger(L, i == axis ? after : 0);
        lua_rawseti(L, -2, 2);
        lua_rawseti(L, widths, i + 1);
    }
    lg_step(L, "pad", "vvsn", x, widths, b->pad, b->value);
    lua_remove(L, widths);
    return widths;
}

const struct rt_array *lg_check_image(lua_State *L, const char *what)
{
    const struct rt_array *a = lg_check_form(L, 1);
    lg_check(L, kn_check_real(a, what, lg_error_box(L)));
    if (a->ndim == 0) luaL_error(L, "%s: an array of no axes has no neighbours", what);
    if (lg_floating(a) != a->dtype) {
        lg_step(L, "to", "vs", 1, rt_dtypes[lg_floating(a)].name);
        lua_replace(L, 1);
    }
    return lg_form(L, 1);
}

int lg_push_weighed(lua_State *L, int x, int axis, int count, const double *weights, int before,
                    const struct lg_border *b)
{
    const struct rt_array *a = lg_form(L, x);
    int64_t n = a->shape[axis], shape[RT_MAX_DIMS];
    int base = lua_gettop(L), ndim = a->ndim;
    if (rt_array_size(a) == 0) return lg_step(L, "clone", "v", x);
    int padded = lg_push_padded(L, x, axis, before, count - 1 - before, b);
    int last = lg_step(L, "moveaxis", "vii", padded, (int64_t)axis + 1, (int64_t)-1);
    memcpy(shape, lg_form(L, last)->shape, sizeof shape);
    lg_push_shape(L, 3, (int64_t[]){-1, 1, n + count - 1});
    int lines = lg_step(L, "reshape", "vv", last, lua_gettop(L));
    lua_createtable(L, count, 0);
    for (int i = 0; i < count; i++) {
        lua_pushnumber(L, weights[i]);
        lua_rawseti(L, -2, i + 1);
    }
    int list = lua_gettop(L);
    int w = lg_step(L, "gpu.array", "vss", list, rt_dtypes[a->dtype].name, rt_array_device(a)->name);
    lg_push_shape(L, 3, (int64_t[]){1, 1, count});
    w = lg_step(L, "reshape", "vv", w, lua_gettop(L));
    int sums = lg_step(L, "conv1d", "vv", lines, w);
    shape[ndim - 1] = n;
    lg_push_shape(L, ndim, shape);
    int whole = lg_step(L, "reshape", "vv", sums, lua_gettop(L));
    lg_step(L, "contiguous", "v", lg_step(L, "moveaxis", "vii", whole, (int64_t)-1, (int64_t)axis + 1));
    lua_copy(L, -1, base + 1);
    lua_settop(L, base + 1);
    return base + 1;
}

/* ---- by weights ---- */

enum { MOST_RADIUS = 4096 };

void lg_check_each(lua_State *L, int idx, int ndim, const char *what, double least, double *out)
{
    bool list = lua_istable(L, idx);
    if (!list && lua_type(L, idx) != LUA_TNUMBER) luaL_typeerror(L, idx, "number, or list of one for each axis");
    if (list && (int)lua_rawlen(L, idx) != ndim)
        luaL_error(L, "%s has %d numbers, expected one for each of the %d axes", what, (int)lua_rawlen(L, idx), ndim);
    for (int i = 0; i < ndim; i++) {
        if (list) lua_rawgeti(L, idx, i + 1);
        if (lua_type(L, list ? -1 : idx) != LUA_TNUMBER)
            luaL_error(L, "%s holds %s, expected numbers", what, lg_type_name(L, -1));
        out[i] = lua_tonumber(L, list ? -1 : idx);
        if (!(out[i] >= least && out[i] <= MOST_RADIUS))
            luaL_error(L, "%s must be from %d to %d, got %f", what, (int)least, MOST_RADIUS, out[i]);
        if (list) lua_pop(L, 1);
    }
}

static int gaussian_filter(lua_State *L)
{
    static const char *const names[] = {"sigma", "mode", "cval", "truncate", NULL};
    const struct rt_array *a = lg_check_image(L, "gaussian_filter");
    struct lg_border b;
    double sigma[RT_MAX_DIMS];
    if (lua_istable(L, 2) && lua_rawlen(L, 2) == 0) lg_spread(L, 2, "gaussian_filter", names);
    lua_settop(L, 5);
    lg_check_each(L, 2, a->ndim, "sigma", 0, sigma);
    lg_check_border(L, 3, "reflect", &b);
    double reach = lg_number_option(L, 5, "gaussian_filter", "truncate", 4);
    if (!(reach > 0)) return luaL_error(L, "gaussian_filter: truncate is %f, expected deviations above 0", reach);
    int at = 1;
    for (int axis = 0; axis < a->ndim; axis++) {
        if (sigma[axis] < 1e-15) continue;
        double radius = floor(reach * sigma[axis] + 0.5), sum = 0;
        if (!(radius <= MOST_RADIUS))
            return luaL_error(L, "gaussian_filter: a filter reaches %f elements at most", (double)MOST_RADIUS);
        int r = (int)radius, count = 2 * r + 1;
        double *w = lua_newuserdatauv(L, (size_t)count * sizeof *w, 0);
        for (int i = 0; i < count; i++) sum += w[i] = exp(-0.5 * (i - r) * (i - r) / (sigma[axis] * sigma[axis]));
        for (int i = 0; i < count; i++) w[i] /= sum;
        at = lg_push_weighed(L, at, axis, count, w, r, &b);
    }
    if (at == 1) at = lg_step(L, "clone", "v", 1);
    lua_pushvalue(L, at);
    return 1;
}

static int uniform_filter(lua_State *L)
{
    const struct rt_array *a = lg_check_image(L, "uniform_filter");
    struct lg_border b;
    double sizes[RT_MAX_DIMS];
    int at = 1;
    lua_settop(L, 4);
    lg_check_each(L, 2, a->ndim, "size", 1, sizes);
    lg_check_border(L, 3, "reflect", &b);
    for (int axis = 0; axis < a->ndim; axis++) {
        int count = (int)sizes[axis];
        double *w = lua_newuserdatauv(L, (size_t)count * sizeof *w, 0);
        for (int i = 0; i < count; i++) w[i] = 1.0 / count;
        at = lg_push_weighed(L, at, axis, count, w, count / 2, &b);
    }
    lua_pushvalue(L, at);
    return 1;
}

/* The difference along an axis, and what weighs the neighbours along the others. */
static int edges(lua_State *L, const char *what, const double beside[3])
{
    static const double difference[3] = {-1, 0, 1};
    const struct rt_array *a = lg_check_image(L, what);
    struct lg_border b;
    lua_settop(L, 4);
    int axis = lua_isnil(L, 2) ? a->ndim - 1 : lg_check_axis(L, 2, a->ndim);
    lg_check_border(L, 3, "reflect", &b);
    int at = lg_push_weighed(L, 1, axis, 3, difference, 1, &b);
    for (int i = 0; i < a->ndim; i++)
        if (i != axis) at = lg_push_weighed(L, at, i, 3, beside, 1, &b);
    lua_pushvalue(L, at);
    return 1;
}

static int sobel(lua_State *L)
{
    return edges(L, "sobel", (const double[]){1, 2, 1});
}
static int prewitt(lua_State *L)
{
    return edges(L, "prewitt", (const double[]){1, 1, 1});
}

static int laplace(lua_State *L)
{
    static const double second[3] = {1, -2, 1};
    const struct rt_array *a = lg_check_image(L, "laplace");
    struct lg_border b;
    lua_settop(L, 3);
    lg_check_border(L, 2, "reflect", &b);
    int sum = 0;
    for (int i = 0; i < a->ndim; i++) {
        int term = lg_push_weighed(L, 1, i, 3, second, 1, &b);
        sum = sum ? lg_step(L, "add", "vv", sum, term) : term;
    }
    lua_pushvalue(L, sum);
    return 1;
}

/* Pushes the array at x padded for windows of the sizes: before the element half of them, or with `turned` less. */
static int push_padded_all(lua_State *L, int x, const int64_t *sizes, bool turned, const struct lg_border *b)
{
    int base = lua_gettop(L), ndim = lg_form(L, x)->ndim;
    for (int i = 0; i < ndim; i++) {
        int64_t before = turned ? (sizes[i] - 1) / 2 : sizes[i] / 2;
        x = lg_push_padded(L, x, i, before, sizes[i] - 1 - before, b);
    }
    lua_copy(L, -1, base + 1);
    lua_settop(L, base + 1);
    return base + 1;
}

static int weigh_all(lua_State *L, const char *what, bool turned)
{
    const struct rt_array *a = lg_check_image(L, what), *w = lg_step_array(L, 2, a, a->dtype);
    struct lg_border b;
    char left[256], right[256];
    lua_settop(L, 4);
    lg_check_border(L, 3, "reflect", &b);
    if (w->ndim != a->ndim || rt_array_size(w) == 0)
        return luaL_error(
            L, "%s: the weights have the shape %s, expected as many axes as x of shape %s has, with elements", what,
            rt_shape_text(w->ndim, w->shape, left, sizeof left), rt_shape_text(a->ndim, a->shape, right, sizeof right));
    lg_check(L, kn_check_real(w, what, lg_error_box(L)));
    if (rt_array_size(a) == 0) {
        lg_step(L, "clone", "v", 1);
        return 1;
    }
    int x = push_padded_all(L, 1, w->shape, turned, &b);
    int weights = lg_step(L, "to", "vs", turned ? lg_step(L, "flip", "v", 2) : 2, rt_dtypes[a->dtype].name);
    lg_push_window_sums(L, x, weights);
    return 1;
}

static int correlate(lua_State *L)
{
    return weigh_all(L, "correlate", false);
}
static int convolve(lua_State *L)
{
    return weigh_all(L, "convolve", true);
}

/* ---- by order ---- */

/* The sizes of windows at 2 and the border behind them. */
static const struct rt_array *check_windows(lua_State *L, const char *what, int64_t *sizes, struct lg_border *b)
{
    const struct rt_array *a = lg_check_form(L, 1);
    double given[RT_MAX_DIMS];
    lg_check(L, kn_check_real(a, what, lg_error_box(L)));
    if (a->ndim == 0) luaL_error(L, "%s: an array of no axes has no neighbours", what);
    lua_settop(L, 4);
    lg_check_each(L, 2, a->ndim, "size", 1, given);
    lg_check_border(L, 3, "reflect", b);
    for (int i = 0; i < a->ndim; i++) sizes[i] = (int64_t)given[i];
    return a;
}

/* Axis after axis. */
static int extreme(lua_State *L, const char *what, const char *reduction)
{
    int64_t sizes[RT_MAX_DIMS] = {0};
    struct lg_border b;
    const struct rt_array *a = check_windows(L, what, sizes, &b);
    int at = lg_step(L, "clone", "v", 1);
    if (rt_array_size(a) == 0) return 1;
    for (int i = 0; i < a->ndim; i++) {
        int64_t before = sizes[i] / 2;
        if (sizes[i] == 1) continue;
        int padded = lg_push_padded(L, at, i, before, sizes[i] - 1 - before, &b);
        int windows = lg_step(L, "unfold", "vii", padded, (int64_t)i + 1, sizes[i]);
        at = lg_step(L, reduction, "vib", windows, (int64_t)-1, 1);
        at = lg_step(L, "squeeze", "vi", at, (int64_t)-1);
    }
    return 1;
}

static int maximum_filter(lua_State *L)
{
    return extreme(L, "maximum_filter", "max");
}
static int minimum_filter(lua_State *L)
{
    return extreme(L, "minimum_filter", "min");
}

/* Sorts each window. Of an even number of elements SciPy takes the one above the middle. */
static int median_filter(lua_State *L)
{
    int64_t sizes[RT_MAX_DIMS] = {0}, count = 1, shape[RT_MAX_DIMS];
    struct lg_border b;
    const struct rt_array *a = check_windows(L, "median_filter", sizes, &b);
    if (rt_array_size(a) == 0) {
        lg_step(L, "clone", "v", 1);
        return 1;
    }
    if (2 * a->ndim > RT_MAX_DIMS) return luaL_error(L, "median_filter: an array has %d axes at most", RT_MAX_DIMS / 2);
    int at = push_padded_all(L, 1, sizes, false, &b);
    for (int i = 0; i < a->ndim; i++) {
        at = lg_step(L, "unfold", "vii", at, (int64_t)i + 1, sizes[i]);
        count *= sizes[i];
    }
    memcpy(shape, a->shape, sizeof shape);
    shape[a->ndim] = count;
    lg_push_shape(L, a->ndim + 1, shape);
    int rows = lg_step(L, "reshape", "vv", at, lua_gettop(L));
    if (count % 2) {
        lg_step(L, "median", "vi", rows, (int64_t)-1);
        if (lg_form(L, -1)->dtype != a->dtype) lg_step(L, "to", "vs", lua_gettop(L), rt_dtypes[a->dtype].name);
        return 1;
    }
    lg_step(L, "contiguous", "v",
            lg_step(L, "select", "vii", lg_step(L, "sort", "v", rows), (int64_t)-1, count / 2 + 1));
    return 1;
}

#define SIZES       "Size is a number, or a list of one for each axis. "
#define FLOATS      "Integers give floats. "
#define SIZED(name) "gpu.ndimage." name "(x, size [, mode [, value]])"

const struct lg_function lg_ndimage_filters[] = {
    {"gaussian_filter", gaussian_filter,
     "gpu.ndimage.gaussian_filter(x, sigma [, mode [, value [, truncate]]] | {sigma=, mode=, cval=, truncate=})",
     "Blurred along all axes by Gauss's bell of the standard deviation sigma, a number or a list of one for each axis.\n"
     "An axis with sigma 0 stays. The bell is cut off at `truncate` deviations, 4 unless told otherwise. " FLOATS
         LG_BORDER_DOC,
     "local x = gpu.zeros(9)\nx[5] = 1\nlocal y = gpu.ndimage.gaussian_filter(x, 1)\n"
     "assert(math.abs(y:sum() - 1) < 1e-5 and y:argmax() == 5)"},
    {"uniform_filter", uniform_filter, SIZED("uniform_filter"),
     "The mean of the window around each element.\n" SIZES FLOATS LG_BORDER_DOC,
     "assert(gpu.ndimage.uniform_filter(gpu.array({0, 3, 6}), 3):allclose(gpu.array({1, 3, 5})))"},
    {"median_filter", median_filter, SIZED("median_filter"),
     "The median of the window around each element, which takes out what stands alone.\n" SIZES LG_BORDER_DOC,
     "assert(gpu.ndimage.median_filter(gpu.array({1, 1, 9, 1, 1}), 3):equal(gpu.ones(5)))"},
    {"maximum_filter", maximum_filter, SIZED("maximum_filter"),
     "The greatest element of the window around each.\n" SIZES LG_BORDER_DOC,
     "assert(gpu.ndimage.maximum_filter(gpu.array({1, 2, 9, 1, 1}), 3):equal(gpu.array({2, 9, 9, 9, 1})))"},
    {"minimum_filter", minimum_filter, SIZED("minimum_filter"),
     "The smallest element of the window around each.\n" SIZES LG_BORDER_DOC,
     "assert(gpu.ndimage.minimum_filter(gpu.array({1, 2, 9, 1, 1}), 3):equal(gpu.array({1, 1, 1, 1, 1})))"},
    {"sobel", sobel, "gpu.ndimage.sobel(x [, axis [, mode [, value]]])",
     "Edges across an axis, the last unless told otherwise: the difference of the neighbours along it, weighed 1, 2, 1 "
     "along the others.\n" FLOATS LG_BORDER_DOC,
     "assert(gpu.ndimage.sobel(gpu.array({{0, 0, 1}, {0, 0, 1}, {0, 0, 1}}))[{2, 2}] == 4)"},
    {"prewitt", prewitt, "gpu.ndimage.prewitt(x [, axis [, mode [, value]]])",
     "As gpu.ndimage.sobel, with all weights 1.\n" FLOATS LG_BORDER_DOC,
     "assert(gpu.ndimage.prewitt(gpu.array({{0, 0, 1}, {0, 0, 1}, {0, 0, 1}}))[{2, 2}] == 3)"},
    {"laplace", laplace, "gpu.ndimage.laplace(x [, mode [, value]])",
     "The second differences along all axes, added up.\n" FLOATS LG_BORDER_DOC,
     "assert(gpu.ndimage.laplace(gpu.array({1, 4, 9, 16}))[2] == 2)"},
    {"correlate", correlate, "gpu.ndimage.correlate(x, weights [, mode [, value]])",
     "Sums of products of the window around each element with weights, an array or table of as many axes.\n" FLOATS
         LG_BORDER_DOC,
     "assert(gpu.ndimage.correlate(gpu.array({1, 2, 4}), {0, 0, 1}):equal(gpu.array({2, 4, 4})))"},
    {"convolve", convolve, "gpu.ndimage.convolve(x, weights [, mode [, value]])",
     "As gpu.ndimage.correlate, with the weights turned round along all axes.\n" FLOATS LG_BORDER_DOC,
     "assert(gpu.ndimage.convolve(gpu.array({1, 2, 4}), {0, 0, 1}):equal(gpu.array({1, 1, 2})))"},
    {0}};

void lg_open_ndimage(lua_State *L)
{
    lua_newtable(L);
    lg_register(L, "gpu.ndimage", lg_ndimage_filters);
    lg_register(L, "gpu.ndimage", lg_ndimage_shapes);
    lg_register(L, "gpu.ndimage", lg_ndimage_splines);
    lg_seal_module(L, "gpu.ndimage", "it has gpu.ndimage.gaussian_filter(x, 2), gpu.ndimage.label(mask) and others");
    lua_setfield(L, -2, "ndimage");
}
