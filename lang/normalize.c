/* Normalizations of neural networks, and channels as pixels. */
#include "kernels/statistics.h"
#include "lang/steps.h"

/* Raises unless the argument at idx, an array, a list, or nothing, has the shape `wanted` of `ndim` axes. */
static bool check_parameter(lua_State *L, const char *what, const char *name, int idx, int ndim, const int64_t *wanted)
{
    if (lua_isnoneornil(L, idx)) return false;
    const struct rt_array *p = lg_step_array(L, idx, lg_form(L, 1), RT_DTYPE_COUNT);
    bool same = p->ndim == ndim;
    for (int i = 0; same && i < ndim; i++) same = p->shape[i] == wanted[i];
    if (same) return true;
    char has[256], text[256];
    luaL_error(L, "%s: %s has the shape %s, expected %s", what, name, rt_shape_text(p->ndim, p->shape, has, sizeof has),
               rt_shape_text(ndim, wanted, text, sizeof text));
    return false;
}

/* The array at 1, from here on of the dtype that statistics are computed in, and so many arguments behind it; `t`
 * becomes the floating dtype that what is normalized is rounded to. */
static const struct rt_array *check_floats(lua_State *L, const char *what, int arguments, enum rt_dtype *t)
{
    const struct rt_array *a = lg_check_form(L, 1);
    *t = lg_floating(a);
    lg_check(L, kn_check_real(a, what, lg_error_box(L)));
    lua_settop(L, arguments);
    if (kn_wide_dtype(*t) == a->dtype) return a;
    lg_step(L, "to", "vs", 1, rt_dtypes[kn_wide_dtype(*t)].name);
    lua_replace(L, 1);
    return lg_form(L, 1);
}

/* The distance from 1 to the next number of a floating dtype. */
static double epsilon_of(enum rt_dtype t)
{
    return t == RT_FLOAT64 ? 0x1p-52 : t == RT_FLOAT16 ? 0x1p-10 : t == RT_BFLOAT16 ? 0x1p-7 : 0x1p-23;
}

static double check_eps(lua_State *L, const char *what, int idx, double otherwise)
{
    double eps = lg_number_option(L, idx, what, "eps", otherwise);
    if (!(eps >= 0)) luaL_error(L, "%s: eps is %s, expected a number from 0 on", what, lua_tostring(L, idx));
    return eps;
}

/* (x - mean) / sqrt(variance + eps), of values at stack indices, rounded to the dtype. */
static int normalized(lua_State *L, int x, int mean, int variance, double eps, enum rt_dtype t)
{
    int deviation = lg_step(L, "sqrt", "v", lg_step(L, "add", "vn", variance, eps));
    int result = lg_step(L, "div", "vv", lg_step(L, "sub", "vv", x, mean), deviation);
    return kn_wide_dtype(t) == t ? result : lg_step(L, "to", "vs", result, rt_dtypes[t].name);
}

/* The array at x by its own mean and variance over the axes in the list at `axes`. */
static int by_itself(lua_State *L, int x, int axes, double eps, enum rt_dtype t)
{
    int mean = lg_step(L, "mean", "vvb", x, axes, 1), variance = lg_step(L, "var", "vvb", x, axes, 1);
    return normalized(L, x, mean, variance, eps, t);
}

/* x times the weight plus the bias, each where there is one; `shape`, a list at a stack index, brings them beside it.
 */
static int scaled(lua_State *L, int x, int weight, int bias, int shape)
{
    if (!lua_isnil(L, weight)) x = lg_step(L, "mul", "vv", x, lg_step(L, "reshape", "vv", weight, shape));
    if (!lua_isnil(L, bias)) x = lg_step(L, "add", "vv", x, lg_step(L, "reshape", "vv", bias, shape));
    lua_pushvalue(L, x);
    return 1;
}

static int push_list(lua_State *L, int count, const int64_t *values)
{
    lua_createtable(L, count, 0);
    for (int i = 0; i < count; i++) {
        lua_pushinteger(L, values[i]);
        lua_rawseti(L, -2, i + 1);
    }
    return lua_gettop(L);
}

/* The first axis, from 0, of what is one layer: the last one, or so many as the argument at 2 says. */
static int check_layer(lua_State *L, const char *what, const struct rt_array *a)
{
    lua_Integer axes = lg_integer_option(L, 2, what, "axes", 1);
    if (axes < 1 || axes > a->ndim)
        luaL_error(L, "%s: axes is %I, expected how many of the array's %d axes, the last ones, are one layer", what,
                   (LUAI_UACINT)axes, a->ndim);
    return a->ndim - (int)axes;
}

/* gpu.layer_norm(x [, axes [, weight [, bias [, eps]]]]): over the last axes, so many. */
static int layer_norm(lua_State *L)
{
    const char *what = "layer_norm";
    enum rt_dtype t;
    const struct rt_array *a = check_floats(L, what, 5, &t);
    int first = check_layer(L, what, a), axes = a->ndim - first;
    check_parameter(L, what, "weight", 3, axes, a->shape + first);
    check_parameter(L, what, "bias", 4, axes, a->shape + first);
    double eps = check_eps(L, what, 5, 1e-5);
    int shape = push_list(L, axes, a->shape + first), list = lg_push_axes(L, ((1u << axes) - 1) << first, a->ndim);
    return scaled(L, by_itself(L, 1, list, eps, t), 3, 4, shape);
}

/* Raises unless the array has a second axis, of channels; pushes their number beside it, as {C, 1, 1}. */
static int push_channels(lua_State *L, const char *what, const struct rt_array *a)
{
    int64_t shape[RT_MAX_DIMS];
    if (a->ndim < 2)
        luaL_error(L, "%s: the array has %d ax%s, expected (N, C) or (N, C, ...)", what, a->ndim,
                   a->ndim == 1 ? "is" : "es");
    for (int i = 0; i + 1 < a->ndim; i++) shape[i] = i == 0 ? a->shape[1] : 1;
    return push_list(L, a->ndim - 1, shape);
}

/* gpu.group_norm(x, groups [, weight [, bias [, eps]]]) */
static int group_norm(lua_State *L)
{
    const char *what = "group_norm";
    enum rt_dtype t;
    const struct rt_array *a = check_floats(L, what, 5, &t);
    int beside = push_channels(L, what, a);
    lua_Integer groups = luaL_checkinteger(L, 2);
    int64_t channels = a->shape[1], inside = 1;
    if (groups < 1 || channels % groups != 0)
        return luaL_error(L, "%s: %I channels cannot be parted into %I groups of the same size", what,
                          (LUAI_UACINT)channels, (LUAI_UACINT)groups);
    for (int i = 1; i < a->ndim; i++) inside *= a->shape[i];
    check_parameter(L, what, "weight", 3, 1, &channels);
    check_parameter(L, what, "bias", 4, 1, &channels);
    double eps = check_eps(L, what, 5, 1e-5);
    int whole = push_list(L, a->ndim, a->shape);
    int rows = push_list(L, 3, (int64_t[]){a->shape[0], groups, inside / groups}),
        list = push_list(L, 1, (int64_t[]){3});
    int x = by_itself(L, lg_step(L, "reshape", "vv", 1, rows), list, eps, t);
    return scaled(L, lg_step(L, "reshape", "vv", x, whole), 3, 4, beside);
}

/* What is given beside an array that was `t`, at idx, in the dtype that is computed in. */
static int push_wide(lua_State *L, int idx, enum rt_dtype t)
{
    return lg_form(L, idx)->dtype == t && kn_wide_dtype(t) != t
               ? lg_step(L, "to", "vs", idx, rt_dtypes[kn_wide_dtype(t)].name)
               : idx;
}

/* gpu.batch_norm(x [, mean [, variance [, weight [, bias [, eps]]]]]) */
static int batch_norm(lua_State *L)
{
    const char *what = "batch_norm";
    enum rt_dtype t;
    const struct rt_array *a = check_floats(L, what, 6, &t);
    int beside = push_channels(L, what, a), x;
    int64_t channels = a->shape[1];
    bool mean = check_parameter(L, what, "mean", 2, 1, &channels);
    if (mean != check_parameter(L, what, "variance", 3, 1, &channels))
        return luaL_error(L, "%s: there is a %s, and no %s: both are given, or none", what, mean ? "mean" : "variance",
                          mean ? "variance" : "mean");
    check_parameter(L, what, "weight", 4, 1, &channels);
    check_parameter(L, what, "bias", 5, 1, &channels);
    double eps = check_eps(L, what, 6, 1e-5);
    if (mean)
        x = normalized(L, 1, push_wide(L, lg_step(L, "reshape", "vv", 2, beside), t),
                       push_wide(L, lg_step(L, "reshape", "vv", 3, beside), t), eps, t);
    else
        x = by_itself(L, 1, lg_push_axes(L, ~2u & ((1u << a->ndim) - 1), a->ndim), eps, t);
    return scaled(L, x, 4, 5, beside);
}

/* Both ways: the array's last three axes are (C r r, H, W) or (C, H r, W r). */
static int shuffle_pixels(lua_State *L, const char *what, bool apart)
{
    const struct rt_array *a = lg_check_form(L, 1);
    lua_Integer r = luaL_checkinteger(L, 2);
    char text[256];
    if (a->ndim < 3 || a->ndim > RT_MAX_DIMS - 2)
        return luaL_error(L, "%s: the array's shape is %s, expected (..., C, H, W)", what,
                          rt_shape_text(a->ndim, a->shape, text, sizeof text));
    int n = a->ndim - 3;
    int64_t c = a->shape[n], h = a->shape[n + 1], w = a->shape[n + 2];
    if (r < 1 || r > 1 << 20 || (apart ? c % (r * r) : h % r || w % r))
        return luaL_error(L, "%s: the factor %I does not divide the shape %s: expected (..., C%s, H%s, W%s)", what,
                          (LUAI_UACINT)r, rt_shape_text(a->ndim, a->shape, text, sizeof text), apart ? " r r" : "",
                          apart ? "" : " r", apart ? "" : " r");
    int64_t to[3] = {c / (r * r), h / r, w / r}; /* an array of no elements may have any sizes besides */
    if (apart ? __builtin_mul_overflow(h, r, &to[1]) || __builtin_mul_overflow(w, r, &to[2])
              : __builtin_mul_overflow(c, r * r, &to[0]))
        return luaL_error(L, "%s: the factor %I makes a size of the shape %s larger than an integer holds", what,
                          (LUAI_UACINT)r, rt_shape_text(a->ndim, a->shape, text, sizeof text));
    int64_t parts[RT_MAX_DIMS], whole[RT_MAX_DIMS], order[RT_MAX_DIMS];
    const int64_t in[2][5] = {{c, h / r, r, w / r, r}, {c / (r * r), r, r, h, w}};
    const int move[2][5] = {{0, 2, 4, 1, 3}, {0, 3, 1, 4, 2}};
    for (int i = 0; i < n; i++) {
        parts[i] = whole[i] = a->shape[i];
        order[i] = i + 1;
    }
    for (int i = 0; i < 5; i++) {
        parts[n + i] = in[apart][i];
        order[n + i] = n + 1 + move[apart][i];
        if (i < 3) whole[n + i] = to[i];
    }
    int shape = push_list(L, n + 5, parts), axes = push_list(L, n + 5, order), result = push_list(L, n + 3, whole);
    int x = lg_step(L, "permute", "vv", lg_step(L, "reshape", "vv", 1, shape), axes);
    lg_step(L, "reshape", "vv", x, result);
    return 1;
}

/* gpu.rms_norm(x [, axes [, weight [, eps]]]): over the last axes, so many. */
static int rms_norm(lua_State *L)
{
    const char *what = "rms_norm";
    enum rt_dtype t;
    const struct rt_array *a = check_floats(L, what, 4, &t);
    int first = check_layer(L, what, a), axes = a->ndim - first;
    check_parameter(L, what, "weight", 3, axes, a->shape + first);
    double eps = check_eps(L, what, 4, epsilon_of(t));
    int shape = push_list(L, axes, a->shape + first), list = lg_push_axes(L, ((1u << axes) - 1) << first, a->ndim);
    int mean = lg_step(L, "mean", "vvb", lg_step(L, "square", "v", 1), list, 1);
    int result = lg_step(L, "div", "vv", 1, lg_step(L, "sqrt", "v", lg_step(L, "add", "vn", mean, eps)));
    if (kn_wide_dtype(t) != t) result = lg_step(L, "to", "vs", result, rt_dtypes[t].name);
    lua_pushnil(L);
    return scaled(L, result, 3, lua_gettop(L), shape);
}

static int pixel_shuffle(lua_State *L)
{
    return shuffle_pixels(L, "pixel_shuffle", true);
}

static int pixel_unshuffle(lua_State *L)
{
    return shuffle_pixels(L, "pixel_unshuffle", false);
}

#define SCALED                                                                                                            \
    "It is then multiplied by the weight and the bias added, where these are given. eps, 1e-5 unless told otherwise, is " \
    "added to the variance, which is divided by n. Integers become floats. "

const struct lg_function lg_normalize_functions[] = {
    {"layer_norm", layer_norm, "gpu.layer_norm(x [, axes [, weight [, bias [, eps]]]])",
     "Each layer less its mean, over its deviation: a layer is the array's last axis, or the last `axes` of them.\n" SCALED
     "weight and bias have the shape of a layer.",
     "local y = gpu.layer_norm(gpu.array({{1, 3}, {10, 30}}), {eps = 0})\nassert(y:equal(gpu.array({{-1, 1}, {-1, 1}})))"},
    {"rms_norm", rms_norm, "gpu.rms_norm(x [, axes [, weight [, eps]]])",
     "Each layer over the root of the mean of its squares: a layer is the array's last axis, or the last `axes` of them.\n"
     "It is then multiplied by the weight, which has the shape of a layer. eps, added to the mean, is the distance from 1 "
     "to the next number of x's floating dtype unless told otherwise. Integers become floats.",
     "assert(gpu.rms_norm(gpu.array({{3, 4}, {-6, 8}}), {eps = 0, weight = {5, 5}}):pow(2):allclose(gpu.array({{18, 32}, {18, 32}})))"},
    {"group_norm", group_norm, "gpu.group_norm(x, groups [, weight [, bias [, eps]]])",
     "Each group of channels of each image less its mean, over its deviation.\n" SCALED
     "x is (N, C, ...), C a multiple of groups; weight and bias have C elements.",
     "local y = gpu.group_norm(gpu.array({{1, 3, 10, 30}}), 2, {eps = 0})\nassert(y:equal(gpu.array({{-1, 1, -1, 1}})))"},
    {"batch_norm", batch_norm, "gpu.batch_norm(x [, mean [, variance [, weight [, bias [, eps]]]]])",
     "Each channel less its mean, over its deviation: those of the batch, or those given.\n" SCALED
     "x is (N, C, ...); mean, variance, weight and bias have C elements.",
     "local y = gpu.batch_norm(gpu.array({{1, 10}, {3, 30}}), {eps = 0})\nassert(y:equal(gpu.array({{-1, -1}, {1, 1}})))\n"
     "assert(gpu.batch_norm(gpu.array({{4}}), {mean = {2}, variance = {4}, eps = 0}):item() == 1)"},
    {"pixel_shuffle", pixel_shuffle, "gpu.pixel_shuffle(x, factor)",
     "Channels as pixels: with the factor r (..., C r r, H, W) becomes (..., C, H r, W r).\n"
     "Out of r r channels that follow each other come r rows of r pixels.",
     "local x = gpu.range(4):reshape(4, 1, 1)\nassert(gpu.pixel_shuffle(x, 2):equal(gpu.range(4):reshape(1, 2, 2)))"},
    {"pixel_unshuffle", pixel_unshuffle, "gpu.pixel_unshuffle(x, factor)",
     "Pixels as channels: with the factor r (..., C, H r, W r) becomes (..., C r r, H, W), as before gpu.pixel_shuffle.\n"
     "Each square of r by r pixels becomes r r channels of one.",
     "local x = gpu.range(16):reshape(1, 4, 4)\nassert(gpu.pixel_shuffle(gpu.pixel_unshuffle(x, 2), 2):equal(x))"},
    {0}};
