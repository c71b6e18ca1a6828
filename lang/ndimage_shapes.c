/* gpu.ndimage: values between elements, other sizes, and the shapes that true elements make: labels, erosion, dilation.
 */
#include <math.h>
#include <string.h>
#include "kernels/label.h"
#include "lang/closest.h"
#include "lang/ndimage.h"

/* 0 takes the nearest element, 1 goes straight between two. */
static int check_order(lua_State *L, int idx, const char *what)
{
    lua_Integer order = luaL_optinteger(L, idx, 1);
    if (order != 0 && order != 1)
        luaL_error(L, "%s: order %I is not there; 0 takes the nearest element, 1 goes straight between neighbours",
                   what, (LUAI_UACINT)order);
    return (int)order;
}

/* Pushes int64 places from 1 to n out of floats, which are whole. */
static int push_places(lua_State *L, int at, int64_t n)
{
    int inside = lg_step(L, "clip", "vii", at, (int64_t)1, n);
    return lg_step(L, "to", "vs", inside, "int64");
}

static int map_coordinates(lua_State *L)
{
    static const char *const modes[] = {"constant", "nearest", NULL};
    const struct rt_array *a = lg_check_image(L, "map_coordinates"), *c = lg_step_array(L, 2, a, lg_floating(a));
    char text[256];
    lua_settop(L, 5);
    int order = check_order(L, 3, "map_coordinates");
    bool nearest = lg_check_option(L, 4, "constant", modes) == 1;
    double value = luaL_optnumber(L, 5, 0);
    lg_check(L, kn_check_real(c, "map_coordinates", lg_error_box(L)));
    if (c->ndim == 0 || c->shape[0] != a->ndim)
        return luaL_error(
            L, "map_coordinates: the coordinates have the shape %s, expected %d rows, one for each axis of x",
            rt_shape_text(c->ndim, c->shape, text, sizeof text), a->ndim);
    if (rt_array_size(a) == 0) return luaL_error(L, "map_coordinates: x has no elements");
    if (a->ndim > 6) return luaL_error(L, "map_coordinates: x has %d axes, expected 6 at most", a->ndim);
    int low[RT_MAX_DIMS] = {0}, high[RT_MAX_DIMS] = {0}, weight[RT_MAX_DIMS] = {0}, outside = 0, sum = 0;
    for (int i = 0; i < a->ndim; i++) {
        int at = lg_step(L, "select", "vii", 2, (int64_t)1, (int64_t)i + 1), n = (int)a->shape[i];
        int beyond =
            lg_step(L, "logical_or", "vv", lg_step(L, "lt", "vn", at, 1.0), lg_step(L, "gt", "vn", at, (double)n));
        outside = outside ? lg_step(L, "logical_or", "vv", outside, beyond) : beyond;
        at = lg_step(L, "clip", "vnn", at, 1.0, (double)n);
        int floor = lg_step(L, "floor", "v", order ? at : lg_step(L, "add", "vn", at, 0.5));
        weight[i] = lg_step(L, "sub", "vv", at, floor);
        low[i] = push_places(L, floor, n);
        high[i] = order ? push_places(L, lg_step(L, "add", "vn", floor, 1.0), n) : 0;
    }
    for (int corner = 0; corner < (order ? 1 << a->ndim : 1); corner++) {
        lua_createtable(L, a->ndim, 0);
        int picks = lua_gettop(L), product = 0;
        for (int i = 0; i < a->ndim; i++) {
            bool up = corner >> i & 1;
            lua_pushvalue(L, up ? high[i] : low[i]);
            lua_rawseti(L, picks, i + 1);
            if (!order) continue;
            int w = weight[i];
            if (!up) w = lg_step(L, "add", "vn", lg_step(L, "neg", "v", w), 1.0);
            product = product ? lg_step(L, "mul", "vv", product, w) : w;
        }
        lua_pushvalue(L, 1);
        lua_pushvalue(L, picks);
        lua_gettable(L, -2);
        int term = lua_gettop(L);
        if (!lg_test_array(L, term)) term = lg_step(L, "gpu.full_like", "vv", low[0], term);
        if (order) term = lg_step(L, "mul", "vv", term, product);
        sum = sum ? lg_step(L, "add", "vv", sum, term) : term;
    }
    if (!nearest) lg_step(L, "where", "vnv", outside, value, sum);
    if (lg_form(L, -1)->dtype != a->dtype) lg_step(L, "to", "vs", lua_gettop(L), rt_dtypes[a->dtype].name);
    return 1;
}

/* Pushes x with `count` elements along an axis, from the first to the last of those that it has. */
static int push_zoomed(lua_State *L, int x, int axis, int64_t count, int order)
{
    const struct rt_array *a = lg_form(L, x);
    int64_t n = a->shape[axis], shape[RT_MAX_DIMS];
    int base = lua_gettop(L);
    double last = count > 1 ? (double)n : 1;
    int at = lg_step(L, "gpu.linspace", "nniss", 1.0, last, count, "float64", rt_array_device(a)->name);
    int floor = lg_step(L, "floor", "v", order ? at : lg_step(L, "add", "vn", at, 0.5)),
        places = push_places(L, floor, n);
    int out = lg_step(L, "take", "vvi", x, places, (int64_t)axis + 1);
    if (order) {
        int next =
            lg_step(L, "take", "vvi", x, push_places(L, lg_step(L, "add", "vn", floor, 1.0), n), (int64_t)axis + 1);
        int weight = lg_step(L, "to", "vs", lg_step(L, "sub", "vv", at, floor), rt_dtypes[a->dtype].name);
        for (int i = 0; i < a->ndim; i++) shape[i] = i == axis ? count : 1;
        lg_push_shape(L, a->ndim, shape);
        weight = lg_step(L, "reshape", "vv", weight, lua_gettop(L));
        lg_step(L, "lerp", "vvv", out, next, weight);
    }
    lua_copy(L, -1, base + 1);
    lua_settop(L, base + 1);
    return base + 1;
}

static int zoom(lua_State *L)
{
    const struct rt_array *a = lg_check_form(L, 1);
    lua_settop(L, 3);
    int order = check_order(L, 3, "zoom");
    if (order) a = lg_check_image(L, "zoom");
    bool list = lua_istable(L, 2);
    if (!list) luaL_checknumber(L, 2);
    if (list && (int)lua_rawlen(L, 2) != a->ndim)
        return luaL_error(L, "zoom: there are %d factors, expected one for each of the %d axes", (int)lua_rawlen(L, 2),
                          a->ndim);
    int at = 1;
    for (int i = 0; i < a->ndim; i++) {
        if (list) lua_rawgeti(L, 2, i + 1);
        double factor = lua_tonumber(L, list ? -1 : 2), count = rint((double)a->shape[i] * factor);
        if (!(factor > 0) || !(count < 1e15)) return luaL_error(L, "zoom: a factor is above 0, not %f", factor);
        if ((int64_t)count != a->shape[i]) at = push_zoomed(L, at, i, (int64_t)count, order);
    }
    if (at == 1) at = lg_step(L, "clone", "v", 1);
    lua_pushvalue(L, at);
    return 1;
}

/* ---- shapes ---- */

/* Which neighbours an element has, itself among them: places from 0 in a cube of three along each axis. */
struct neighbours {
    int count;
    int64_t place[81][4]; /* of as many axes as the array has, 4 at most */
};

/* From the table or array at idx; without one those that share a face. */
static void check_structure(lua_State *L, int idx, int ndim, const char *what, struct neighbours *out)
{
    if (ndim < 1 || ndim > 4) luaL_error(L, "%s: an array of 1 to 4 axes expected, not of %d", what, ndim);
    out->count = 0;
    int all = 1;
    for (int i = 0; i < ndim; i++) all *= 3;
    int list = 0;
    if (!lua_isnoneornil(L, idx)) {
        const struct rt_array *s = lg_step_array(L, idx, NULL, RT_DTYPE_COUNT);
        bool fits = s->ndim == ndim;
        for (int i = 0; fits && i < ndim; i++) fits = s->shape[i] == 3;
        if (!fits) luaL_error(L, "%s: the structure must be 3 elements along each of the %d axes of x", what, ndim);
        int flags = lg_step(L, "ne", "vi", idx, (int64_t)0);
        list = lg_step(L, "totable", "v", lg_step(L, "flatten", "v", flags));
    }
    for (int k = 0; k < all; k++) {
        int rest = k, away = 0;
        for (int i = ndim - 1; i >= 0; i--, rest /= 3) {
            out->place[out->count][i] = rest % 3;
            away += rest % 3 != 1;
        }
        bool there = away <= 1;
        if (list) {
            lua_rawgeti(L, list, k + 1);
            there = lua_toboolean(L, -1);
            lua_pop(L, 1);
        }
        out->count += there;
    }
    if (out->count == 0) luaL_error(L, "%s: the structure is empty", what);
}

/* Pushes the operation over all neighbours of each element of the array at x; beyond the edges is `border`. With
 * `turned` the neighbours are those opposite. */
static int push_over(lua_State *L, int x, const struct neighbours *s, const char *operation, double border, bool turned)
{
    const struct rt_array *a = lg_form(L, x);
    struct lg_border b = {"constant", border};
    int base = lua_gettop(L), padded = x, sum = 0;
    for (int i = 0; i < a->ndim; i++) padded = lg_push_padded(L, padded, i, 1, 1, &b);
    for (int k = 0; k < s->count; k++) {
        int part = padded;
        for (int i = 0; i < a->ndim; i++) {
            int64_t from = turned ? 2 - s->place[k][i] : s->place[k][i];
            part = lg_step(L, "narrow", "viii", part, (int64_t)i + 1, from + 1, a->shape[i]);
        }
        sum = sum ? lg_step(L, operation, "vv", sum, part) : part;
    }
    lg_step(L, "contiguous", "v", sum);
    lua_copy(L, -1, base + 1);
    lua_settop(L, base + 1);
    return base + 1;
}

/* Pushes where the array at 1 is true. */
static int push_mask(lua_State *L, const char *what)
{
    const struct rt_array *a = lg_check_form(L, 1);
    if (rt_is_complex(a->dtype)) lg_check(L, kn_check_real(a, what, lg_error_box(L)));
    return a->dtype == RT_BOOL ? 1 : lg_step(L, "ne", "vi", 1, (int64_t)0);
}

/* Erosion and dilation, so many times each, in this order. */
static int morphology(lua_State *L, const char *what, const char *order)
{
    struct neighbours s;
    const struct rt_array *a = lg_check_form(L, 1);
    lua_settop(L, 3);
    check_structure(L, 2, a->ndim, what, &s);
    lua_Integer times = luaL_optinteger(L, 3, 1);
    luaL_argcheck(L, times >= 1, 3, "it is done once or more");
    int at = push_mask(L, what);
    for (; *order; order++)
        for (lua_Integer i = 0; i < times; i++) {
            lg_poll(L);
            at = push_over(L, at, &s, *order == 'e' ? "logical_and" : "logical_or", 0, *order == 'd');
        }
    lua_pushvalue(L, at);
    return 1;
}

static int binary_erosion(lua_State *L)
{
    return morphology(L, "binary_erosion", "e");
}
static int binary_dilation(lua_State *L)
{
    return morphology(L, "binary_dilation", "d");
}
static int binary_opening(lua_State *L)
{
    return morphology(L, "binary_opening", "ed");
}
static int binary_closing(lua_State *L)
{
    return morphology(L, "binary_closing", "de");
}

static int label(lua_State *L)
{
    struct neighbours s;
    const struct rt_array *a = lg_check_form(L, 1);
    struct rt_error *e = lg_error_box(L);
    lua_settop(L, 2);
    check_structure(L, 2, a->ndim, "label", &s);
    int64_t size = rt_array_size(a), shape[4] = {0};
    if (size >= INT32_MAX) return luaL_error(L, "label: an array of less than 2147483647 elements expected");
    memcpy(shape, a->shape, (size_t)a->ndim * sizeof *shape);
    int mask = lg_step(L, "contiguous", "v", push_mask(L, "label"));
    const bool *there = lg_push_host_copy(L, lg_check_array(L, mask));
    int32_t *labels = lua_newuserdatauv(L, (size_t)size * sizeof *labels + 1, 0);
    int32_t count = size ? kn_label(there, a->ndim, shape, s.count, (const int64_t(*)[4])s.place, labels) : 0;
    struct rt_array *out = lg_new_array(L);
    lg_check(L, rt_array_new(rt_array_device(a), RT_INT32, a->ndim, shape, out, e));
    lg_check(L, rt_array_write(out, labels, e));
    lua_pushinteger(L, count);
    return 2;
}

#define STRUCTURE                                                                                                      \
    "The structure, an array or table of 3 elements along each axis, says which neighbours count; without one those "  \
    "that share a face. x has 1 to 4 axes. "
#define TIMES "It is done `times` times, once unless told otherwise; beyond the edges there is nothing."

const struct lg_function lg_ndimage_shapes[] = {
    {"map_coordinates", map_coordinates, "gpu.ndimage.map_coordinates(x, coordinates [, order [, mode [, value]]])",
     "The values of x at coordinates that lie between its elements.\n"
     "Coordinates, a row for each axis of x, count from 1 as indices do; the result has the shape of a row. Order 1, unless "
     "told otherwise, goes straight between the elements around, 0 takes the nearest. Outside is the value, 0 unless told "
     "otherwise, or with the mode \"nearest\" the element at the edge.",
     "local x = gpu.array({{1, 2}, {3, 4}})\n"
     "assert(gpu.ndimage.map_coordinates(x, {{1.5, 2}, {1.5, 1.25}}):equal(gpu.array({2.5, 3.25})))"},
    {"zoom", zoom, "gpu.ndimage.zoom(x, factor [, order])",
     "With so many times as many elements along each axis; factor is a number or a list of one for each axis.\n"
     "The first and the last elements stay the first and the last. Order 1, unless told otherwise, goes straight between "
     "elements, 0 takes the nearest.",
     "assert(gpu.ndimage.zoom(gpu.array({1, 3}), 1.5):equal(gpu.array({1, 2, 3})))"},
    {"label", label, "gpu.ndimage.label(x [, structure])",
     "The connected shapes that true elements (not 0) make: an int32 array with the number of its shape for each, 0 for the "
     "others; and how many shapes there are.\n" STRUCTURE
     "They are numbered as they first come in row-major order. It is found on the host and copied to the device.",
     "local labels, count = gpu.ndimage.label(gpu.array({{1, 0, 1}, {1, 0, 1}}))\n"
     "assert(count == 2 and labels:equal(gpu.array({{1, 0, 2}, {1, 0, 2}})))"},
    {"binary_erosion", binary_erosion, "gpu.ndimage.binary_erosion(x [, structure [, times]])",
     "Where all neighbours are true (not 0), as bools.\n" STRUCTURE TIMES,
     "assert(gpu.ndimage.binary_erosion(gpu.array({1, 1, 1, 0, 1})):sum() == 1)"},
    {"binary_dilation", binary_dilation, "gpu.ndimage.binary_dilation(x [, structure [, times]])",
     "Where one neighbour at least is true (not 0), as bools.\n" STRUCTURE TIMES,
     "assert(gpu.ndimage.binary_dilation(gpu.array({0, 0, 1, 0, 0})):sum() == 3)"},
    {"binary_opening", binary_opening, "gpu.ndimage.binary_opening(x [, structure [, times]])",
     "Eroded and then dilated: what is small or thin goes.\n" STRUCTURE TIMES,
     "assert(gpu.ndimage.binary_opening(gpu.array({1, 1, 1, 0, 1})):sum() == 3)"},
    {"binary_closing", binary_closing, "gpu.ndimage.binary_closing(x [, structure [, times]])",
     "Dilated and then eroded: small holes go.\n" STRUCTURE TIMES,
     "assert(gpu.ndimage.binary_closing(gpu.array({0, 1, 0, 1, 0})):sum() == 3)"},
    {0}};
