/* Pooling whose windows follow from how many there are to be: window i of m along an axis of n elements goes from
 * i n / m, rounded down, to (i + 1) n / m, rounded up, as in PyTorch. Axis by axis, since windows are rectangles. */
#include <string.h>
#include "kernels/statistics.h"
#include "lang/conv.h"
#include "lang/steps.h"

static int64_t window_start(int64_t i, int64_t n, int64_t m)
{
    return i * n / m;
}

static int64_t window_end(int64_t i, int64_t n, int64_t m)
{
    return ((i + 1) * n + m - 1) / m;
}

static int push_numbers(lua_State *L, const struct rt_array *beside, const char *dtype)
{
    return lg_step(L, "gpu.array", "vss", lua_gettop(L), dtype, rt_array_device(beside)->name);
}

static int push_reshaped(lua_State *L, int idx, int ndim, const int64_t *shape)
{
    lg_push_shape(L, ndim, shape);
    return lg_step(L, "reshape", "vv", idx, lua_gettop(L));
}

/* Pushes the elements of each of m windows: the axis becomes m by `most`. What a smaller window has not is its last
 * element again. */
static int push_windows(lua_State *L, int x, int axis, int64_t m, int64_t most)
{
    const struct rt_array *a = lg_form(L, x);
    int64_t n = a->shape[axis], shape[RT_MAX_DIMS];
    memcpy(shape, a->shape, (size_t)axis * sizeof *shape);
    memcpy(shape + axis + 2, a->shape + axis + 1, (size_t)(a->ndim - axis - 1) * sizeof *shape);
    shape[axis] = m;
    shape[axis + 1] = most;
    if (n % m == 0) return push_reshaped(L, x, a->ndim + 1, shape);
    lua_newtable(L);
    for (int64_t i = 0; i < m; i++)
        for (int64_t k = 0; k < most; k++) {
            int64_t at = window_start(i, n, m) + k, end = window_end(i, n, m);
            lua_pushinteger(L, (at < end ? at : end - 1) + 1);
            lua_rawseti(L, -2, i * most + k + 1);
        }
    int indices = push_numbers(L, a, "int64");
    return push_reshaped(L, lg_step(L, "take", "vvi", x, indices, (int64_t)axis + 1), a->ndim + 1, shape);
}

/* Pushes the means of windows, of which not all have `most` elements. */
static int push_means(lua_State *L, int windows, int axis, int64_t n)
{
    const struct rt_array *w = lg_form(L, windows);
    int64_t m = w->shape[axis], most = w->shape[axis + 1], shape[RT_MAX_DIMS];
    int behind = w->ndim - axis;
    for (int i = 0; i < behind; i++) shape[i] = 1;
    lua_newtable(L);
    for (int64_t i = 0; i < m; i++) {
        lua_pushinteger(L, window_end(i, n, m) - window_start(i, n, m));
        lua_rawseti(L, -2, i + 1);
    }
    shape[0] = m;
    int list = push_numbers(L, w, rt_dtypes[w->dtype].name), counts = push_reshaped(L, list, behind, shape);
    int divisors = push_reshaped(L, list, behind - 1, shape);
    shape[0] = 1;
    shape[1] = most;
    int k = push_reshaped(
        L, lg_step(L, "gpu.range", "iiss", (int64_t)0, most - 1, rt_dtypes[w->dtype].name, rt_array_device(w)->name),
        behind, shape);
    int own = lg_step(L, "where", "vvi", lg_step(L, "lt", "vv", k, counts), windows, (int64_t)0);
    return lg_step(L, "div", "vv", lg_step(L, "sum", "vi", own, (int64_t)axis + 2), divisors);
}

/* Pushes the array at x with m elements along the axis. */
static int push_pooled(lua_State *L, int x, int axis, int64_t m, bool mean)
{
    int64_t n = lg_form(L, x)->shape[axis], most = 0;
    for (int64_t i = 0; i < m; i++) {
        int64_t count = window_end(i, n, m) - window_start(i, n, m);
        most = count > most ? count : most;
    }
    int windows = push_windows(L, x, axis, m, most);
    if (!mean) return lg_step(L, "max", "vi", windows, (int64_t)axis + 2);
    return n % m == 0 ? lg_step(L, "mean", "vi", windows, (int64_t)axis + 2) : push_means(L, windows, axis, n);
}

static int pool(lua_State *L, const char *what, int dims, bool mean)
{
    static const char *const forms[] = {"(N, C, L) or (C, L)", "(N, C, H, W) or (C, H, W)",
                                        "(N, C, D, H, W) or (C, D, H, W)"};
    const struct rt_array *x = lg_check_form(L, 1);
    int64_t sizes[3];
    char text[256];
    lua_settop(L, 2);
    lg_check(L, kn_check_real(x, what, lg_error_box(L)));
    if (x->ndim != dims + 1 && x->ndim != dims + 2)
        return luaL_error(L, "%s: x has the shape %s, expected %s", what,
                          rt_shape_text(x->ndim, x->shape, text, sizeof text), forms[dims - 1]);
    for (int i = x->ndim - dims; i < x->ndim; i++)
        if (x->shape[i] == 0)
            return luaL_error(L, "%s: x has the shape %s, expected elements along its last axes", what,
                              rt_shape_text(x->ndim, x->shape, text, sizeof text));
    lua_pushvalue(L, 2);
    lg_conv_sizes(L, what, dims, "size", 1, sizes);
    enum rt_dtype t = mean ? lg_floating(x) : x->dtype, wide = mean ? kn_wide_dtype(t) : t;
    int y = lg_step(L, "to", "vs", 1, rt_dtypes[wide].name), first = x->ndim - dims;
    for (int i = 0; i < dims; i++) y = push_pooled(L, y, first + i, sizes[i], mean);
    lg_step(L, "to", "vs", y, rt_dtypes[t].name);
    return 1;
}

#define POOL(name, dims, mean)                                                                                         \
    static int name(lua_State *L)                                                                                      \
    {                                                                                                                  \
        return pool(L, #name, dims, mean);                                                                             \
    }
POOL(adaptive_avg_pool1d, 1, true)
POOL(adaptive_avg_pool2d, 2, true)
POOL(adaptive_avg_pool3d, 3, true)
POOL(adaptive_max_pool1d, 1, false)
POOL(adaptive_max_pool2d, 2, false)
POOL(adaptive_max_pool3d, 3, false)

#define MEAN    "The mean of each of so many windows of "
#define MOST    "The greatest element of each of so many windows of "
#define LINES   "lines (N, C, L) or (C, L), whatever their length.\n"
#define IMAGES  "images (N, C, H, W) or (C, H, W), whatever their size.\n"
#define VOLUMES "volumes (N, C, D, H, W) or (C, D, H, W), whatever their size.\n"
#define WINDOWS                                                                                                        \
    "Windows are as long as they need to be to cover the axis, and overlap where the size does not divide it, as in "  \
    "PyTorch. "
#define ROW(name, text, example)                                                                                       \
    {                                                                                                                  \
#name, name, "gpu." #name "(x, size)   x:" #name "(size)", text, example                                       \
    }

const struct lg_function lg_adaptive_functions[] = {
    ROW(adaptive_avg_pool1d, MEAN LINES WINDOWS "Integers become floats.",
        "assert(gpu.range(5):reshape(1, 5):adaptive_avg_pool1d(2):equal(gpu.array({{2, 4}})))"),
    ROW(adaptive_avg_pool2d, MEAN IMAGES WINDOWS "size is a number or {down, across}. Integers become floats.",
        "local x = gpu.range(12):reshape(1, 3, 4)\nassert(x:adaptive_avg_pool2d(1):item() == 6.5)\n"
        "assert(x:adaptive_avg_pool2d({3, 2})[{1, 3, 2}] == 11.5)"),
    ROW(adaptive_avg_pool3d, MEAN VOLUMES WINDOWS "size is a number or {deep, down, across}. Integers become floats.",
        "assert(gpu.range(8):reshape(1, 2, 2, 2):adaptive_avg_pool3d({2, 1, 1}):flatten():equal(gpu.array({2.5, 6.5})))"),
    ROW(adaptive_max_pool1d, MOST LINES WINDOWS "NaN where there is one.",
        "assert(gpu.array({{1, 5, 2, 4, 3}}):adaptive_max_pool1d(2):equal(gpu.array({{5, 4}})))"),
    ROW(adaptive_max_pool2d, MOST IMAGES WINDOWS "size is a number or {down, across}. NaN where there is one.",
        "assert(gpu.range(12):reshape(1, 3, 4):adaptive_max_pool2d({2, 1}):flatten():equal(gpu.array({8, 12})))"),
    ROW(adaptive_max_pool3d, MOST VOLUMES WINDOWS "size is a number or {deep, down, across}. NaN where there is one.",
        "assert(gpu.range(8):reshape(1, 2, 2, 2):adaptive_max_pool3d(1):item() == 8)"),
    {0}};
