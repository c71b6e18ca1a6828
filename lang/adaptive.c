/* Pooling whose windows follow from how many there are to be: window i of m along an axis of n elements goes from
 * i n / m, rounded down, to (i + 1) n / m, rounded up, as in PyTorch. Axis by axis, since windows are rectangles. */
#include <string.h>
#include "kernels/statistics.h"
#include "lang/conv.h"
#include "lang/steps.h"

static int push_range(lua_State *L, const struct rt_array *beside, int64_t n)
{
    return lg_step(L, "gpu.range", "iiss", (int64_t)0, n - 1, "int64", rt_array_device(beside)->name);
}

/* Pushes (i n + more) / m, rounded down, of the integers i < m at an index. Their products with n / m and with the rest
 * of that stay in range. */
static int push_quotients(lua_State *L, int i, int64_t n, int64_t m, int64_t more)
{
    int product = lg_step(L, "add", "vi", lg_step(L, "mul", "vi", i, n % m), more);
    return lg_step(L, "add", "vv", lg_step(L, "mul", "vi", i, n / m), lg_step(L, "floordiv", "vi", product, m));
}

/* Pushes the array at x with m elements along the axis, which becomes m windows of as many elements as the longest one
 * has. What a shorter window has not is its last element again, which does not count in a mean. */
static int push_pooled(lua_State *L, int x, int axis, int64_t m, bool mean)
{
    const struct rt_array *a = lg_form(L, x);
    int64_t n = a->shape[axis], rest = n % m, shape[RT_MAX_DIMS];
    const int ndim = a->ndim + 1, behind = ndim - axis - 1;
    memcpy(shape, a->shape, (size_t)axis * sizeof *shape);
    memcpy(shape + axis + 2, a->shape + axis + 1, (size_t)(behind - 1) * sizeof *shape);
    shape[axis] = m;
    shape[axis + 1] = n / m + (rest == 0 ? 0 : m % rest == 0 ? 1 : 2);
    if (rest == 0)
        return lg_step(L, mean ? "mean" : "max", "vi", lg_push_reshaped(L, x, ndim, shape), (int64_t)axis + 2);
    int i = lg_push_reshaped(L, push_range(L, a, m), 2, (int64_t[]){m, 1}), k = push_range(L, a, shape[axis + 1]);
    int start = push_quotients(L, i, n, m, 0), stop = push_quotients(L, i, n, m, n + m - 1);
    int last = lg_step(L, "sub", "vi", stop, (int64_t)1);
    int places = lg_step(L, "minimum", "vv", lg_step(L, "add", "vv", start, k), last);
    places = lg_push_reshaped(L, lg_step(L, "add", "vi", places, (int64_t)1), 1, (int64_t[]){m * shape[axis + 1]});
    int windows = lg_push_reshaped(L, lg_step(L, "take", "vvi", x, places, (int64_t)axis + 1), ndim, shape);
    if (!mean) return lg_step(L, "max", "vi", windows, (int64_t)axis + 2);
    int counts = lg_step(L, "sub", "vv", stop, start), own = lg_step(L, "lt", "vv", k, counts);
    for (int d = axis + 2; d < ndim; d++) shape[d] = 1;
    own = lg_push_reshaped(L, own, behind + 1, shape + axis);
    int sum = lg_step(L, "sum", "vi", lg_step(L, "where", "vvi", own, windows, (int64_t)0), (int64_t)axis + 2);
    shape[axis + 1] = m;
    counts = lg_push_reshaped(L, lg_step(L, "to", "vs", counts, rt_dtypes[a->dtype].name), behind, shape + axis + 1);
    return lg_step(L, "div", "vv", sum, counts);
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
