/* Smoothing along an axis: gpu.savgol_filter, gpu.medfilt; and what has no trend: gpu.detrend. */
#include <math.h>
#include <string.h>
#include "kernels/statistics.h"
#include "lang/closest.h"
#include "lang/ndimage.h"
#include "lang/steps.h"

#define MOST_ORDER 32

/* ---- Savitzky and Golay ---- */

/* A polynomial fitted to `window` elements in a row. */
struct fit {
    int window, order, derivative;
    double delta;  /* between elements */
    double *basis; /* orthonormal over the elements' places, one polynomial after the other, each `window` values */
    double factor[MOST_ORDER + 1][MOST_ORDER + 1], size[MOST_ORDER + 1]; /* how each comes from those before it */
};

/* Element i's place, from -1 to 1. */
static double place_of(const struct fit *f, double i)
{
    double half = (f->window - 1) / 2.0;
    return half > 0 ? (i - half) / half : 0;
}

/* Each polynomial is x times the one before, less what those before have of it: exact where powers of x would be too
 * much alike. */
static void make_basis(struct fit *f)
{
    int n = f->window;
    for (int k = 0; k <= f->order; k++) {
        double *q = f->basis + k * n, sum = 0;
        for (int i = 0; i < n; i++) q[i] = k ? place_of(f, i) * q[i - n] : 1;
        for (int again = 0; again < 2; again++)
            for (int j = 0; j < k; j++) {
                const double *p = f->basis + j * n;
                double part = 0;
                for (int i = 0; i < n; i++) part += p[i] * q[i];
                for (int i = 0; i < n; i++) q[i] -= part * p[i];
                f->factor[k][j] += part;
            }
        for (int i = 0; i < n; i++) sum += q[i] * q[i];
        f->size[k] = sqrt(sum);
        for (int i = 0; i < n; i++) q[i] /= f->size[k];
    }
}

/* The derivative of each polynomial at place `at`, from 0. */
static void differentiate(const struct fit *f, double at, double *out)
{
    double value[MOST_ORDER + 1][MOST_ORDER + 1] = {{0}}; /* of each polynomial, and of its derivatives */
    double x = place_of(f, at), scale = pow(2 / ((f->window - 1) * f->delta), f->derivative);
    for (int k = 0; k <= f->order; k++) {
        for (int d = 0; d <= f->derivative; d++) {
            double v = k ? x * value[k - 1][d] + (d ? d * value[k - 1][d - 1] : 0) : d == 0;
            for (int j = 0; j < k; j++) v -= f->factor[k][j] * value[j][d];
            value[k][d] = v / f->size[k];
        }
        out[k] = value[k][f->derivative] * scale;
    }
}

/* The weights of the elements in it. */
static void weigh(const struct fit *f, double at, double *w)
{
    double part[MOST_ORDER + 1];
    differentiate(f, at, part);
    for (int i = 0; i < f->window; i++) w[i] = 0;
    for (int k = 0; k <= f->order; k++)
        for (int i = 0; i < f->window; i++) w[i] += f->basis[k * f->window + i] * part[k];
}

/* The window at 2, the order at 3, the derivative at 4 and the distance of elements at 5. */
static struct fit check_fit(lua_State *L, const char *what)
{
    lua_Integer window = luaL_checkinteger(L, 2), order = luaL_checkinteger(L, 3);
    lua_Integer derivative = lg_integer_option(L, 4, what, "deriv", 0);
    double delta = lg_number_option(L, 5, what, "delta", 1);
    if (window < 1 || window % 2 == 0 || window > 1 << 16)
        luaL_error(L, "%s: window is %I, expected an odd number of elements, 1 to 65535", what, (LUAI_UACINT)window);
    if (order < 0 || order >= window || order > MOST_ORDER)
        luaL_error(L, "%s: order is %I, expected 0 to 32, and less than the window's %I elements", what,
                   (LUAI_UACINT)order, (LUAI_UACINT)window);
    if (derivative < 0) luaL_error(L, "%s: deriv is %I, expected 0 or more", what, (LUAI_UACINT)derivative);
    if (!(delta > 0)) luaL_error(L, "%s: delta is %f, expected the distance of elements, above 0", what, delta);
    struct fit f = {.window = (int)window, .order = (int)order, .delta = delta};
    f.derivative = derivative > order ? (int)order + 1 : (int)derivative; /* of more nothing is left */
    f.basis = lua_newuserdatauv(L, (size_t)(window * (order + 1)) * sizeof *f.basis, 0);
    make_basis(&f);
    return f;
}

static bool vanishes(const struct fit *f)
{
    return f->derivative > f->order;
}

/* Pushes the product of the array at x, float64, and the transpose of a matrix on the host. */
static int push_product(lua_State *L, int x, int64_t rows, int64_t columns, const double *matrix)
{
    struct rt_array *m = lg_new_array(L);
    int at = lua_gettop(L);
    lg_check(
        L, rt_array_new(rt_array_device(lg_form(L, x)), RT_FLOAT64, 2, (int64_t[]){rows, columns}, m, lg_error_box(L)));
    lg_check(L, rt_array_write(m, matrix, lg_error_box(L)));
    return lg_step(L, "matmul", "vv", x, lg_step(L, "transpose", "v", at));
}

/* Pushes what the polynomial through the window's elements of the array at x, along its last axis, is at `count` places
 * from `first` on: how much of each polynomial of the basis it has, times what that one is there. */
static int push_end(lua_State *L, const struct fit *f, int x, int first, int count)
{
    const char *dtype = rt_dtypes[lg_form(L, x)->dtype].name;
    int terms = f->order + 1, wide = lg_step(L, "to", "vs", x, "float64");
    double *parts = lua_newuserdatauv(L, (size_t)(count * terms) * sizeof *parts, 0);
    for (int k = 0; k < count; k++) differentiate(f, first + k, parts + k * terms);
    int fitted = push_product(L, wide, terms, f->window, f->basis);
    return lg_step(L, "to", "vs", push_product(L, fitted, count, terms, parts), dtype);
}

/* gpu.savgol_filter(x, window, order [, deriv [, delta [, axis [, mode [, cval]]]]]) */
static int savgol_filter(lua_State *L)
{
    static const char *const modes[] = {"interp", "mirror", "constant", "nearest", "wrap", NULL};
    static const char *const pads[] = {"constant", "reflect", "constant", "edge", "wrap"};
    const char *what = "savgol_filter";
    lg_step_array(L, 1, NULL, RT_DTYPE_COUNT);
    lua_settop(L, 8);
    int mode = lg_check_option(L, 7, "interp", modes);
    struct lg_border border = {pads[mode], lg_number_option(L, 8, what, "cval", 0)};
    struct fit f = check_fit(L, what);
    const struct rt_array *a = lg_check_image(L, what);
    int axis = lua_isnil(L, 6) ? a->ndim - 1 : lg_check_axis(L, 6, a->ndim), half = f.window / 2;
    int64_t n = a->shape[axis];
    if (mode == 0 && f.window > n)
        return luaL_error(
            L,
            "%s: the window has %d elements, and x %I along the axis; take a shorter one, or another mode "
            "than \"interp\"",
            what, f.window, (LUAI_UACINT)n);
    if (vanishes(&f)) {
        lg_step(L, "gpu.zeros_like", "v", 1);
        return 1;
    }
    double *w = lua_newuserdatauv(L, (size_t)f.window * sizeof *w, 0);
    weigh(&f, half, w);
    int sums = lg_push_weighed(L, 1, axis, &(struct lg_weights){w, f.window, half}, &border);
    if (mode == 0 && half > 0) { /* the ends from the polynomials through the first and the last window */
        int rows = lg_step(L, "moveaxis", "vii", 1, (int64_t)axis + 1, (int64_t)-1), last = a->ndim - 1;
        int parts[3] = {0, lg_push_narrowed(L, lg_step(L, "moveaxis", "vii", sums, (int64_t)axis + 1, (int64_t)-1),
                                            last, half, n - 2 * half)};
        int first = lg_push_narrowed(L, rows, last, 0, f.window);
        parts[0] = push_end(L, &f, first, 0, half);
        int end = lg_push_narrowed(L, rows, last, n - f.window, f.window);
        parts[2] = push_end(L, &f, end, f.window - half, half);
        int joined = lg_push_joined(L, last, 3, parts);
        lg_step(L, "contiguous", "v", lg_step(L, "moveaxis", "vii", joined, (int64_t)-1, (int64_t)axis + 1));
        return 1;
    }
    lua_pushvalue(L, sums);
    return 1;
}

/* gpu.savgol_coeffs(window, order [, deriv [, delta [, pos]]]) */
static int savgol_coeffs(lua_State *L)
{
    lua_settop(L, 5);
    lua_pushnil(L);
    lua_insert(L, 1); /* what is filtered stands there */
    struct fit f = check_fit(L, "savgol_coeffs");
    int middle = f.window / 2 + 1;
    double at = lg_number_option(L, 6, "savgol_coeffs", "pos", middle) - 1;
    if (!(at >= 0 && at <= f.window - 1))
        return luaL_error(L, "savgol_coeffs: pos is %s, expected a place in the window, 1 to %d", lua_tostring(L, 6),
                          f.window);
    double *w = lua_newuserdatauv(L, (size_t)f.window * sizeof *w, 0);
    if (vanishes(&f))
        memset(w, 0, (size_t)f.window * sizeof *w);
    else
        weigh(&f, at, w);
    lua_createtable(L, f.window, 0);
    for (int i = 0; i < f.window; i++) {
        lua_pushnumber(L, w[f.window - 1 - i]); /* turned round, for gpu.convolve */
        lua_rawseti(L, -2, i + 1);
    }
    lg_step(L, "gpu.array", "vs", lua_gettop(L), "float64");
    return 1;
}

/* gpu.medfilt(x [, size]) */
static int medfilt(lua_State *L)
{
    const struct rt_array *a = lg_step_array(L, 1, NULL, RT_DTYPE_COUNT);
    double sizes[RT_MAX_DIMS];
    lua_settop(L, 2);
    if (lua_isnil(L, 2)) {
        lua_pushinteger(L, 3);
        lua_replace(L, 2);
    }
    lg_check_sizes(L, 2, a->ndim, "medfilt", sizes);
    for (int i = 0; i < a->ndim; i++)
        if (fmod(sizes[i], 2) != 1) return luaL_error(L, "medfilt: size is %f, expected an odd number", sizes[i]);
    lg_step(L, "gpu.ndimage.median_filter", "vvs", 1, 2, "constant");
    return 1;
}

/* ---- trends ---- */

/* Pushes the stretch at x along the axis less its mean or, with `linear`, the line through it by least squares. */
static int push_level(lua_State *L, int x, int axis, bool linear)
{
    const struct rt_array *a = lg_form(L, x);
    int64_t n = a->shape[axis], shape[RT_MAX_DIMS];
    int level = lg_step(L, "sub", "vv", x, lg_step(L, "mean", "vib", x, (int64_t)axis + 1, true));
    if (!linear || n < 2) return level;
    for (int i = 0; i < a->ndim; i++) shape[i] = i == axis ? n : 1;
    double middle = (double)(n + 1) / 2, squares = (double)n * ((double)n * (double)n - 1) / 12;
    int at = lg_step(L, "gpu.range", "iiss", (int64_t)1, n, rt_dtypes[a->dtype].name, rt_array_device(a)->name);
    int away = lg_push_reshaped(L, lg_step(L, "sub", "vn", at, middle), a->ndim, shape);
    int sum = lg_step(L, "sum", "vib", lg_step(L, "mul", "vv", level, away), (int64_t)axis + 1, true);
    int slope = lg_step(L, "div", "vn", sum, squares);
    return lg_step(L, "sub", "vv", level, lg_step(L, "mul", "vv", slope, away));
}

/* gpu.detrend(x [, axis [, kind [, breaks]]]) */
static int detrend(lua_State *L)
{
    static const char *const kinds[] = {"linear", "constant", NULL};
    const struct rt_array *x = lg_step_array(L, 1, NULL, RT_DTYPE_COUNT);
    lg_check(L, kn_check_real(x, "detrend", lg_error_box(L)));
    lua_settop(L, 4);
    if (x->ndim == 0) return luaL_error(L, "detrend: x has no axes, expected one or more");
    int axis = lua_isnil(L, 2) ? x->ndim - 1 : lg_check_axis(L, 2, x->ndim);
    bool linear = lg_check_option(L, 3, "linear", kinds) == 0;
    enum rt_dtype t = lg_floating(x);
    int64_t n = x->shape[axis], begin = 0;
    if (lua_isnil(L, 4)) {
        lua_newtable(L);
        lua_replace(L, 4);
    }
    luaL_checktype(L, 4, LUA_TTABLE);
    int count = (int)lua_rawlen(L, 4), wide = lg_step(L, "to", "vs", 1, rt_dtypes[kn_wide_dtype(t)].name);
    lua_createtable(L, count + 1, 0);
    int parts = lua_gettop(L);
    for (int i = 0; i <= count && n > 0; i++) {
        int64_t end = n;
        if (i < count) {
            lua_rawgeti(L, 4, i + 1);
            end = lg_integer_option(L, lua_gettop(L), "detrend", "a break", 0) - 1;
            if (end <= begin || end >= n)
                return luaL_error(L,
                                  "detrend: a break is at %I, expected indices that rise from 2 to the %I elements of "
                                  "the axis",
                                  (LUAI_UACINT)end + 1, (LUAI_UACINT)n);
        }
        lua_pushvalue(L, push_level(L, lg_push_narrowed(L, wide, axis, begin, end - begin), axis, linear));
        lua_rawseti(L, parts, i + 1);
        lua_settop(L, parts);
        begin = end;
    }
    int result =
        n == 0 ? lg_step(L, "clone", "v", wide) : lg_step(L, "gpu.concatenate", "vi", parts, (int64_t)axis + 1);
    lg_step(L, "to", "vs", result, rt_dtypes[t].name);
    return 1;
}

#define FIT                                                                                                            \
    "The window is an odd number of elements, the order that of the polynomial, less than that. deriv takes the "      \
    "derivative of that order, of elements `delta` apart, 1 unless told otherwise. "

const struct lg_function lg_smooth_functions[] = {
    {"savgol_filter", savgol_filter,
     "gpu.savgol_filter(x, window, order [, deriv [, delta [, axis [, mode [, cval]]]]])",
     "Each element by the polynomial that fits the window around it best: smooth, with peaks as high as they were (Savitzky "
     "and Golay).\n" FIT
     "It goes along the last axis unless told otherwise. The ends come from the first and the last whole "
     "window, \"interp\", the default, or from what lies beyond them by the mode, \"mirror\", \"nearest\", \"wrap\" or "
     "\"constant\", which is cval, 0 unless told otherwise. Integers become floats.",
     "local x = gpu.range(-5, 5) ^ 2\nassert(gpu.savgol_filter(x, 5, 2):allclose(x, 1e-5, 1e-4))\n"
     "assert(gpu.savgol_filter(x, 5, 2, {deriv = 1}):allclose(2 * gpu.range(-5, 5), 1e-4, 1e-4))"},
    {"savgol_coeffs", savgol_coeffs, "gpu.savgol_coeffs(window, order [, deriv [, delta [, pos]]])",
     "The coefficients of gpu.savgol_filter, in float64, turned round for gpu.convolve.\n" FIT
     "pos is the place in the window, from 1, at which the polynomial is taken, its middle unless told otherwise.",
     "assert(gpu.savgol_coeffs(3, 1):allclose(gpu.full({3}, 1 / 3)))"},
    {"medfilt", medfilt, "gpu.medfilt(x [, size])",
     "The median of the window around each element, 3 along each axis unless told otherwise, with zeros beyond the edges.\n"
     "size is an odd number, or a list of one for each axis. gpu.ndimage.median_filter has other edges.",
     "assert(gpu.medfilt(gpu.array({1, 1, 9, 1, 1})):equal(gpu.ones(5)))"},
    {"detrend", detrend, "gpu.detrend(x [, axis [, kind [, breaks]]])",
     "x without the straight line through it by least squares, or with kind = \"constant\" without its mean.\n"
     "It goes along the last axis unless told otherwise. breaks is a list of the indices at which a new line begins. "
     "Integers become floats.",
     "assert(gpu.detrend(gpu.array({1, 3, 5, 7})):allclose(0, 0, 1e-5))\n"
     "assert(gpu.detrend(gpu.array({1, 2, 9, 8}), {breaks = {3}}):allclose(0, 0, 1e-5))"},
    {0}};
