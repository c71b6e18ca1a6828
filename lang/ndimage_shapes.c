/* gpu.ndimage: the shapes that true elements make: labels, erosion, dilation, holes, distances. */
#include <math.h>
#include <string.h>
#include "kernels/envelope.h"
#include "kernels/label.h"
#include "lang/closest.h"
#include "lang/ndimage.h"

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
    lua_pushvalue(L, push_mask(L, what));
    const int at = lua_gettop(L);
    for (; *order; order++) {
        bool changes = true;
        for (lua_Integer i = 0; changes && i < times; i++) {
            lg_poll(L);
            int next = push_over(L, at, &s, *order == 'e' ? "logical_and" : "logical_or", 0, *order == 'd');
            changes = times == 1 || !lua_toboolean(L, lg_step(L, "equal", "vv", at, next));
            lua_copy(L, next, at);
            lua_settop(L, at);
        }
    }
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

/* ---- holes ---- */

/* False elements that are connected with those around the array are in no hole. */
static int binary_fill_holes(lua_State *L)
{
    const struct rt_array *a = lg_check_form(L, 1);
    struct lg_border beyond = {"constant", 1};
    lua_settop(L, 2);
    if (a->ndim < 1 || a->ndim > 4)
        return luaL_error(L, "binary_fill_holes: an array of 1 to 4 axes expected, not of %d", a->ndim);
    int x = lg_step(L, "logical_not", "v", push_mask(L, "binary_fill_holes"));
    for (int i = 0; i < a->ndim; i++) x = lg_push_padded(L, x, i, 1, 1, &beyond);
    int labels = lg_step(L, "gpu.ndimage.label", "vv", x, 2), frame = lg_step(L, "clone", "v", labels);
    int inside = frame, outside = labels;
    for (int i = 0; i < a->ndim; i++) {
        inside = lg_push_narrowed(L, inside, i, 1, a->shape[i]);
        outside = lg_push_narrowed(L, outside, i, 1, a->shape[i]);
    }
    lg_step(L, "fill", "vi", inside, (int64_t)0);
    int64_t count = lua_tointeger(L, lg_step(L, "max", "v", labels));
    int there = lg_step(L, "gpu.zeros", "iss", count + 1, "bool", rt_array_device(a)->name);
    lg_step(L, "put_", "vvi", there, lg_step(L, "add", "vi", frame, (int64_t)1), (int64_t)1);
    lg_step(L, "fill", "vi", lg_push_narrowed(L, there, 0, 0, 1), (int64_t)0); /* what true elements have */
    outside = lg_step(L, "take", "vv", there, lg_step(L, "add", "vi", outside, (int64_t)1));
    lg_step(L, "logical_not", "v", outside);
    return 1;
}

/* ---- distances ---- */

/* Makes the places from 1 at a stack index the coordinates of all axes, from 1 too: (axes, ...). */
static int push_indices(lua_State *L, const struct rt_array *a, int places)
{
    int64_t inner = 1;
    lua_createtable(L, a->ndim, 0);
    int list = lua_gettop(L);
    for (int i = a->ndim - 1; i >= 0; inner *= a->shape[i--]) {
        int line = lg_step(L, "floordiv", "vi", lg_step(L, "sub", "vi", places, (int64_t)1), inner);
        int at = lg_step(L, "add", "vi", lg_step(L, "mod", "vi", line, a->shape[i]), (int64_t)1);
        lg_step(L, "where", "vvi", lg_step(L, "gt", "vi", places, (int64_t)0), at, (int64_t)0);
        lua_rawseti(L, list, i + 1);
        lua_settop(L, list);
    }
    return lg_step(L, "gpu.stack", "vi", list, (int64_t)1);
}

/* gpu.ndimage.distance_transform_edt(x [, sampling [, return_indices]]) */
static int distance_transform_edt(lua_State *L)
{
    const char *what = "distance_transform_edt";
    const struct rt_array *a = lg_check_form(L, 1);
    double step[RT_MAX_DIMS];
    lua_settop(L, 3);
    if (a->ndim == 0) return luaL_error(L, "%s: an array of no axes has no distances", what);
    for (int i = 0; i < a->ndim; i++) step[i] = 1;
    if (!lua_isnil(L, 2)) lg_check_each(L, 2, a->ndim, &(struct lg_each){what, "sampling", 1e-100, 1e100}, step);
    for (int i = 0; i < a->ndim; i++)
        if (a->shape[i] >= INT32_MAX) return luaL_error(L, "%s: axis %d has 2^31 elements or more", what, i + 1);
    bool indices = lg_check_flag(L, 3, "return_indices");
    int mask = push_mask(L, what), from = 0;
    int squares = lg_step(L, "to", "vs", lg_step(L, "where", "vnn", mask, INFINITY, 0.0), "float64");
    if (indices) {
        int all = lg_step(L, "gpu.range", "iiss", (int64_t)1, rt_array_size(a), "int64", rt_array_device(a)->name);
        from = lg_step(L, "where", "viv", mask, (int64_t)0, lg_push_reshaped(L, all, a->ndim, a->shape));
    }
    for (int i = 0; i < a->ndim; i++) {
        const struct rt_array *x = lg_check_array(L, squares), *f = from ? lg_check_array(L, from) : NULL;
        struct rt_array *out = lg_new_array(L), *to = indices ? lg_new_array(L) : NULL;
        lg_check(L, kn_envelope(x, f, i, step[i] * step[i], out, to, lg_error_box(L)));
        if (indices) lua_replace(L, from);
        lua_replace(L, squares);
    }
    lg_step(L, "to", "vs", lg_step(L, "sqrt", "v", squares), "float32");
    if (!indices) return 1;
    int distances = lua_gettop(L);
    push_indices(L, a, from);
    lua_pushvalue(L, distances);
    lua_insert(L, -2);
    return 2;
}

#define STRUCTURE                                                                                                      \
    "The structure, an array or table of 3 elements along each axis, says which neighbours count; without one those "  \
    "that share a face. x has 1 to 4 axes. "
#define TIMES "It is done `times` times, once unless told otherwise; beyond the edges there is nothing."

const struct lg_function lg_ndimage_shapes[] = {
    {"label", label, "gpu.ndimage.label(x [, structure])",
     "The connected shapes that true elements (not 0) make: an int32 array with the number of its shape for each, 0 for the "
     "others; and how many shapes there are.\n" STRUCTURE
     "They are numbered as they first come in row-major order. It is found on the host and copied to the device.",
     "local labels, count = gpu.ndimage.label(gpu.array({{1, 0, 1}, {1, 0, 1}}))\n"
     "assert(count == 2 and labels:equal(gpu.array({{1, 0, 2}, {1, 0, 2}})))"},
    {"binary_fill_holes", binary_fill_holes, "gpu.ndimage.binary_fill_holes(x [, structure])",
     "x as bools with its holes true, too: false elements that no false neighbours connect with the edges.\n" STRUCTURE
     "It is found on the host and copied to the device.",
     "local x = gpu.array({{1, 1, 1}, {1, 0, 1}, {1, 1, 1}})\nassert(gpu.ndimage.binary_fill_holes(x):all())"},
    {"distance_transform_edt", distance_transform_edt,
     "gpu.ndimage.distance_transform_edt(x [, sampling [, return_indices]])",
     "How far it is from each element to the nearest one that is 0 or false, exactly: float32, 0 at those themselves.\n"
     "sampling is the distance of neighbours, a number or a list of one for each axis. With return_indices = true the "
     "indices, from 1, of the nearest one come as a second result, (axes, ...), int64. Without any 0 distances are "
     "infinite, and indices 0.",
     "local d, at = gpu.ndimage.distance_transform_edt(gpu.array({1, 1, 0, 1}), {return_indices = true})\n"
     "assert(d:equal(gpu.array({2, 1, 0, 1})) and at:equal(gpu.array({{3, 3, 3, 3}}, 'int64')))"},
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
