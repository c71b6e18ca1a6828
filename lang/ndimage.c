/* gpu.ndimage: filters of arrays of any number of axes, as SciPy and CuPy have them, out of padding, windows and
 * convolutions. */
#include "lang/ndimage.h"
#include <math.h>
#include <stdio.h>
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

int lg_push_weighed(lua_State *L, int x, int axis, const struct lg_weights *w, const struct lg_border *b)
{
    const struct rt_array *a = lg_form(L, x);
    int64_t n = a->shape[axis], shape[RT_MAX_DIMS];
    int base = lua_gettop(L), ndim = a->ndim;
    if (rt_array_size(a) == 0) return lg_step(L, "clone", "v", x);
    int padded = lg_push_padded(L, x, axis, w->before, w->count - 1 - w->before, b);
    int last = lg_step(L, "moveaxis", "vii", padded, (int64_t)axis + 1, (int64_t)-1);
    memcpy(shape, lg_form(L, last)->shape, sizeof shape);
    lg_push_shape(L, 3, (int64_t[]){-1, 1, n + w->count - 1});
    int lines = lg_step(L, "reshape", "vv", last, lua_gettop(L));
    lua_createtable(L, w->count, 0);
    for (int i = 0; i < w->count; i++) {
        lua_pushnumber(L, w->of[i]);
        lua_rawseti(L, -2, i + 1);
    }
    int weights = lg_step(L, "gpu.array", "vss", lua_gettop(L), rt_dtypes[a->dtype].name, rt_array_device(a)->name);
    lg_push_shape(L, 3, (int64_t[]){1, 1, w->count});
    weights = lg_step(L, "reshape", "vv", weights, lua_gettop(L));
    int sums = lg_step(L, "conv1d", "vv", lines, weights);
    shape[ndim - 1] = n;
    lg_push_shape(L, ndim, shape);
    int whole = lg_step(L, "reshape", "vv", sums, lua_gettop(L));
    lg_step(L, "contiguous", "v", lg_step(L, "moveaxis", "vii", whole, (int64_t)-1, (int64_t)axis + 1));
    lua_copy(L, -1, base + 1);
    lua_settop(L, base + 1);
    return base + 1;
}

/* ---- by weights ---- */

void lg_check_each(lua_State *L, int idx, int ndim, const struct lg_each *each, double *out)
{
    bool list = lua_istable(L, idx);
    if (!list && lua_type(L, idx) != LUA_TNUMBER) luaL_typeerror(L, idx, "number, or list of one for each axis");
    if (list && (int)lua_rawlen(L, idx) != ndim)
        luaL_error(L, "%s: %s has %d numbers, expected one for each of the %d axes", each->what, each->name,
                   (int)lua_rawlen(L, idx), ndim);
    for (int i = 0; i < ndim; i++) {
        if (list) lua_rawgeti(L, idx, i + 1);
        if (lua_type(L, list ? -1 : idx) != LUA_TNUMBER)
            luaL_error(L, "%s: %s holds %s, expected numbers", each->what, each->name, lg_type_name(L, -1));
        out[i] = lua_tonumber(L, list ? -1 : idx);
        if (!(out[i] >= each->least && out[i] <= each->most)) {
            char text[64];
            snprintf(text, sizeof text, "%g to %g", each->least, each->most);
            luaL_error(L, "%s: %s must be from %s, got %f", each->what, each->name, text, out[i]);
        }
        if (list) lua_pop(L, 1);
    }
}

void lg_check_sizes(lua_State *L, int idx, int ndim, const char *what, double *out)
{
    lg_check_each(L, idx, ndim, &(struct lg_each){what, "size", 1, LG_MOST_REACH}, out);
    for (int i = 0; i < ndim; i++)
        if (out[i] != floor(out[i])) luaL_error(L, "%s: size is %f, expected a whole number of elements", what, out[i]);
}

enum { MOST_DERIVATIVE = 16 };

/* Gauss's bell, or its derivative of an order, cut off at r elements; as the sums of products with it have it. */
static void write_bell(double sigma, int order, int r, double *w)
{
    double sum = 0, q[MOST_DERIVATIVE + 2] = {1}; /* the derivative is the bell times this polynomial */
    for (int k = 0; k < order; k++) {
        double next[MOST_DERIVATIVE + 2] = {0};
        for (int i = 0; i <= k; i++) {
            next[i + 1] -= q[i] / (sigma * sigma);
            if (i > 0) next[i - 1] += i * q[i];
        }
        memcpy(q, next, sizeof q);
    }
    for (int i = -r; i <= r; i++) sum += w[i + r] = exp(-0.5 * i * i / (sigma * sigma));
    for (int i = -r; i <= r; i++) {
        double factor = 0;
        for (int k = order; k >= 0; k--) factor = factor * -i + q[k];
        w[i + r] *= factor / sum;
    }
}

/* What blurs along each axis. */
struct bells {
    const char *what;
    double sigma[RT_MAX_DIMS], reach;
    int order[RT_MAX_DIMS];
    struct lg_border border;
};

/* Pushes the array at 1 blurred along all axes. */
static int push_blurred(lua_State *L, const struct bells *b)
{
    int at = 1, ndim = lg_form(L, 1)->ndim;
    for (int axis = 0; axis < ndim; axis++) {
        if (b->sigma[axis] < 1e-15) continue;
        double radius = floor(b->reach * b->sigma[axis] + 0.5);
        if (!(radius <= LG_MOST_REACH))
            luaL_error(L, "%s: a filter reaches %f elements at most", b->what, (double)LG_MOST_REACH);
        int r = (int)radius, count = 2 * r + 1;
        double *w = lua_newuserdatauv(L, (size_t)count * sizeof *w, 0);
        write_bell(b->sigma[axis], b->order[axis], r, w);
        at = lg_push_weighed(L, at, axis, &(struct lg_weights){w, count, r}, &b->border);
    }
    return at == 1 ? lg_step(L, "clone", "v", 1) : at;
}

/* The array at 1, and sigma, mode and value from 2 on. */
static const struct rt_array *check_bells(lua_State *L, const char *what, struct bells *b)
{
    const struct rt_array *a = lg_check_image(L, what);
    *b = (struct bells){.what = what, .reach = 4};
    lg_check_each(L, 2, a->ndim, &(struct lg_each){what, "sigma", 0, LG_MOST_REACH}, b->sigma);
    lg_check_border(L, 3, "reflect", &b->border);
    return a;
}

static int gaussian_filter(lua_State *L)
{
    static const char *const names[] = {"sigma", "mode", "cval", "truncate", "order", NULL};
    struct bells b;
    double orders[RT_MAX_DIMS] = {0};
    if (lua_istable(L, 2) && lua_rawlen(L, 2) == 0) lg_spread(L, 2, "gaussian_filter", names);
    lua_settop(L, 6);
    const struct rt_array *a = check_bells(L, "gaussian_filter", &b);
    b.reach = lg_number_option(L, 5, "gaussian_filter", "truncate", 4);
    if (!(b.reach > 0)) return luaL_error(L, "gaussian_filter: truncate is %f, expected deviations above 0", b.reach);
    if (!lua_isnil(L, 6))
        lg_check_each(L, 6, a->ndim, &(struct lg_each){"gaussian_filter", "order", 0, MOST_DERIVATIVE}, orders);
    for (int i = 0; i < a->ndim; i++) {
        if (orders[i] != floor(orders[i]))
            return luaL_error(L, "gaussian_filter: order is %f, expected a whole number from 0 to %d", orders[i],
                              MOST_DERIVATIVE);
        b.order[i] = (int)orders[i];
    }
    lua_pushvalue(L, push_blurred(L, &b));
    return 1;
}

/* The sum over all axes of what the derivative of an order along each is: of the squares, with their root, or as it
 * is. */
static int add_derivatives(lua_State *L, const char *what, int order, bool squares)
{
    struct bells b;
    lua_settop(L, 4);
    const struct rt_array *a = check_bells(L, what, &b);
    int sum = 0;
    for (int i = 0; i < a->ndim; i++) {
        b.order[i] = order;
        int term = push_blurred(L, &b);
        if (b.sigma[i] < 1e-15)
            luaL_error(L, "%s: sigma is 0 for axis %d, expected more, since a derivative is taken", what, i + 1);
        if (squares) term = lg_step(L, "square", "v", term);
        sum = sum ? lg_step(L, "add", "vv", sum, term) : term;
        b.order[i] = 0;
    }
    lua_pushvalue(L, squares ? lg_step(L, "sqrt", "v", sum) : sum);
    return 1;
}

static int gaussian_gradient_magnitude(lua_State *L)
{
    return add_derivatives(L, "gaussian_gradient_magnitude", 1, true);
}
static int gaussian_laplace(lua_State *L)
{
    return add_derivatives(L, "gaussian_laplace", 2, false);
}

static int uniform_filter(lua_State *L)
{
    const struct rt_array *a = lg_check_image(L, "uniform_filter");
    struct lg_border b;
    double sizes[RT_MAX_DIMS];
    int at = 1;
    lua_settop(L, 4);
    lg_check_sizes(L, 2, a->ndim, "uniform_filter", sizes);
    lg_check_border(L, 3, "reflect", &b);
    for (int axis = 0; axis < a->ndim; axis++) {
        int count = (int)sizes[axis];
        double *w = lua_newuserdatauv(L, (size_t)count * sizeof *w, 0);
        for (int i = 0; i < count; i++) w[i] = 1.0 / count;
        at = lg_push_weighed(L, at, axis, &(struct lg_weights){w, count, count / 2}, &b);
    }
    lua_pushvalue(L, at);
    return 1;
}

/* The difference along an axis, and what weighs the neighbours along the others. */
static int edges(lua_State *L, const char *what, const double beside[3])
{
    const struct lg_weights difference = {(const double[]){-1, 0, 1}, 3, 1}, across = {beside, 3, 1};
    const struct rt_array *a = lg_check_image(L, what);
    struct lg_border b;
    lua_settop(L, 4);
    int axis = lua_isnil(L, 2) ? a->ndim - 1 : lg_check_axis(L, 2, a->ndim);
    lg_check_border(L, 3, "reflect", &b);
    int at = lg_push_weighed(L, 1, axis, &difference, &b);
    for (int i = 0; i < a->ndim; i++)
        if (i != axis) at = lg_push_weighed(L, at, i, &across, &b);
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
    const struct lg_weights second = {(const double[]){1, -2, 1}, 3, 1};
    const struct rt_array *a = lg_check_image(L, "laplace");
    struct lg_border b;
    lua_settop(L, 3);
    lg_check_border(L, 2, "reflect", &b);
    int sum = 0;
    for (int i = 0; i < a->ndim; i++) {
        int term = lg_push_weighed(L, 1, i, &second, &b);
        sum = sum ? lg_step(L, "add", "vv", sum, term) : term;
    }
    lua_pushvalue(L, sum);
    return 1;
}

int lg_push_padded_all(lua_State *L, int x, const int64_t *sizes, bool turned, const struct lg_border *b)
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
    int x = lg_push_padded_all(L, 1, w->shape, turned, &b);
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

#define SIZES       "Size is a number, or a list of one for each axis. "
#define FLOATS      "Integers give floats. "
#define SIZED(name) "gpu.ndimage." name "(x, size [, mode [, cval]])"

const struct lg_function lg_ndimage_filters[] = {
    {"gaussian_filter", gaussian_filter,
     "gpu.ndimage.gaussian_filter(x, sigma [, mode [, cval [, truncate [, order]]]] | {sigma=, mode=, cval=, truncate=, order=})",
     "Blurred along all axes by Gauss's bell of the standard deviation sigma, a number or a list of one for each axis.\n"
     "An axis with sigma 0 stays. The bell is cut off at `truncate` deviations, 4 unless told otherwise. With an order, a "
     "number or a list of one for each axis, up to 16, it is that derivative of what is blurred. " FLOATS LG_BORDER_DOC,
     "local x = gpu.zeros(9)\nx[5] = 1\nlocal y = gpu.ndimage.gaussian_filter(x, 1)\n"
     "assert(math.abs(y:sum() - 1) < 1e-5 and y:argmax() == 5)"},
    {"gaussian_gradient_magnitude", gaussian_gradient_magnitude,
     "gpu.ndimage.gaussian_gradient_magnitude(x, sigma [, mode [, cval]])",
     "The length of the gradient of what is blurred by Gauss's bell: the edges of what is larger than sigma.\n" FLOATS
         LG_BORDER_DOC,
     "local x = gpu.zeros(20)\nx['11:'] = 1\nlocal y = gpu.ndimage.gaussian_gradient_magnitude(x, 1)\n"
     "assert(y[10] > 0.3 and y[11] > 0.3 and y[1] == 0)"},
    {"gaussian_laplace", gaussian_laplace, "gpu.ndimage.gaussian_laplace(x, sigma [, mode [, cval]])",
     "The second derivatives along all axes of what is blurred by Gauss's bell, added up.\n" FLOATS LG_BORDER_DOC,
     "local x = gpu.zeros(9)\nx[5] = 1\nassert(gpu.ndimage.gaussian_laplace(x, 1):argmin() == 5)"},
    {"uniform_filter", uniform_filter, SIZED("uniform_filter"),
     "The mean of the window around each element.\n" SIZES FLOATS LG_BORDER_DOC,
     "assert(gpu.ndimage.uniform_filter(gpu.array({0, 3, 6}), 3):allclose(gpu.array({1, 3, 5})))"},
    {"sobel", sobel, "gpu.ndimage.sobel(x [, axis [, mode [, cval]]])",
     "Edges across an axis, the last unless told otherwise: the difference of the neighbours along it, weighed 1, 2, 1 "
     "along the others.\n" FLOATS LG_BORDER_DOC,
     "assert(gpu.ndimage.sobel(gpu.array({{0, 0, 1}, {0, 0, 1}, {0, 0, 1}}))[{2, 2}] == 4)"},
    {"prewitt", prewitt, "gpu.ndimage.prewitt(x [, axis [, mode [, cval]]])",
     "As gpu.ndimage.sobel, with all weights 1.\n" FLOATS LG_BORDER_DOC,
     "assert(gpu.ndimage.prewitt(gpu.array({{0, 0, 1}, {0, 0, 1}, {0, 0, 1}}))[{2, 2}] == 3)"},
    {"laplace", laplace, "gpu.ndimage.laplace(x [, mode [, cval]])",
     "The second differences along all axes, added up.\n" FLOATS LG_BORDER_DOC,
     "assert(gpu.ndimage.laplace(gpu.array({1, 4, 9, 16}))[2] == 2)"},
    {"correlate", correlate, "gpu.ndimage.correlate(x, weights [, mode [, cval]])",
     "Sums of products of the window around each element with weights, an array or table of as many axes.\n" FLOATS
         LG_BORDER_DOC,
     "assert(gpu.ndimage.correlate(gpu.array({1, 2, 4}), {0, 0, 1}):equal(gpu.array({2, 4, 4})))"},
    {"convolve", convolve, "gpu.ndimage.convolve(x, weights [, mode [, cval]])",
     "As gpu.ndimage.correlate, with the weights turned round along all axes.\n" FLOATS LG_BORDER_DOC,
     "assert(gpu.ndimage.convolve(gpu.array({1, 2, 4}), {0, 0, 1}):equal(gpu.array({1, 1, 2})))"},
    {0}};

void lg_open_ndimage(lua_State *L)
{
    lua_newtable(L);
    lg_register(L, "gpu.ndimage", lg_ndimage_filters);
    lg_register(L, "gpu.ndimage", lg_ndimage_ranks);
    lg_register(L, "gpu.ndimage", lg_ndimage_shapes);
    lg_register(L, "gpu.ndimage", lg_ndimage_measures);
    lg_register(L, "gpu.ndimage", lg_ndimage_splines);
    lg_seal_module(L, "gpu.ndimage", "it has gpu.ndimage.gaussian_filter(x, 2), gpu.ndimage.label(mask) and others");
    lua_setfield(L, -2, "ndimage");
}
