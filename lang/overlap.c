#include "lang/overlap.h"
#include <string.h>

/* Parts of a step's length are added where they belong, all segments' at once, so nothing depends on who is first. */
int lg_push_overlapped(lua_State *L, int idx, int64_t step)
{
    const struct rt_array *a = lg_form(L, idx);
    int64_t batch = a->shape[0], count = a->shape[1], n = a->shape[2], parts = (n - 1) / step + 1;
    const char *dtype = rt_dtypes[a->dtype].name, *device = rt_array_device(a)->name;
    int whole = idx;
    if (parts * step > n) {
        lg_push_shape(L, 3, (int64_t[]){batch, count, parts * step});
        whole = lg_step(L, "gpu.zeros", "vss", lua_gettop(L), dtype, device);
        lg_step(L, "copy_", "vv", lg_push_narrowed(L, whole, 2, 0, n), idx);
    }
    whole = lg_push_reshaped(L, whole, 4, (int64_t[]){batch, count, parts, step});
    lg_push_shape(L, 3, (int64_t[]){batch, count + parts - 1, step});
    int sum = lg_step(L, "gpu.zeros", "vss", lua_gettop(L), dtype, device);
    for (int64_t i = 1; i <= parts; i++) {
        int to = lg_step(L, "narrow", "viii", sum, (int64_t)2, i, count);
        lg_step(L, "add_", "vv", to, lg_step(L, "select", "vii", whole, (int64_t)3, i));
        lua_settop(L, sum);
    }
    int line = lg_push_reshaped(L, sum, 2, (int64_t[]){batch, (count + parts - 1) * step});
    return lg_step(L, "narrow", "viii", line, (int64_t)2, (int64_t)1, (count - 1) * step + n);
}

/* gpu.fold(x, axis [, step]) */
static int fold(lua_State *L)
{
    const struct rt_array *x = lg_check_form(L, 1);
    int64_t shape[RT_MAX_DIMS], batch = 1;
    char text[256];
    lua_settop(L, 3);
    if (x->ndim < 2)
        return luaL_error(L, "fold: x has the shape %s, expected windows along its last axis, as x:unfold makes them",
                          rt_shape_text(x->ndim, x->shape, text, sizeof text));
    int axis = lg_check_axis(L, 2, x->ndim - 1), last = x->ndim - 1;
    lua_Integer step = lg_integer_option(L, 3, "fold", "step", 1);
    if (step < 1)
        return luaL_error(L, "fold: step is %I, expected the distance between windows, 1 or more", (LUAI_UACINT)step);
    int64_t count = x->shape[axis], n = x->shape[last], length;
    if (count == 0 || n == 0)
        return luaL_error(L, "fold: x has the shape %s, expected a window or more, of an element or more",
                          rt_shape_text(x->ndim, x->shape, text, sizeof text));
    if (count == 1) step = n; /* nothing comes behind it */
    if (__builtin_mul_overflow(count - 1 + (n - 1) / step + 1, step, &length))
        return luaL_error(L, "fold: %I windows %I apart reach further than an integer", (LUAI_UACINT)count,
                          (LUAI_UACINT)step);
    int k = 0;
    for (int i = 0; i < last; i++)
        if (i != axis) batch *= shape[k++] = x->shape[i];
    int rows = lg_step(L, "moveaxis", "vii", 1, (int64_t)axis + 1, (int64_t)-2);
    int sum = lg_push_overlapped(L, lg_push_reshaped(L, rows, 3, (int64_t[]){batch, count, n}), step);
    shape[k++] = (count - 1) * step + n;
    int whole = lg_push_reshaped(L, sum, k, shape);
    lg_step(L, "contiguous", "v", lg_step(L, "moveaxis", "vii", whole, (int64_t)-1, (int64_t)axis + 1));
    return 1;
}

const struct lg_function lg_overlap_functions[] = {
    {"fold", fold, "gpu.fold(x, axis [, step])   x:fold(...)",
     "The sum of windows, each `step` behind the one before along an axis, 1 unless told otherwise: what x:unfold(axis, "
     "size, step) takes apart.\nWindows lie along the last axis, which goes. An element that several windows have is the "
     "sum of theirs; over gpu.fold(gpu.ones_like(x), axis, step) it is their mean. Windows of two axes are folded one "
     "after the other, the last first.",
     "local x = gpu.range(6)\nassert(gpu.fold(x:unfold(1, 2, 2), 1, 2):equal(x))\n"
     "assert(gpu.fold(gpu.array({{1, 2}, {3, 4}}), 1):equal(gpu.array({1, 5, 4})))"},
    {0}};
