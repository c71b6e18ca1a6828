/* gpu.lfilter, filters with feedback, and gpu.deconvolve, what undoes those without. */
#include <string.h>
#include "kernels/filter.h"
#include "lang/signal.h"
#include "lang/steps.h"

enum { B = 1, A, X, AXIS, ZI };

const double *lg_push_coefficients(lua_State *L, const char *what, int idx, const char *name, int64_t *count)
{
    if (lua_type(L, idx) == LUA_TNUMBER) {
        lua_createtable(L, 1, 0);
        lua_pushvalue(L, idx);
        lua_rawseti(L, -2, 1);
        lua_replace(L, idx);
    }
    const struct rt_array *c = lg_step_array(L, idx, NULL, RT_FLOAT64);
    lg_check(L, kn_check_real(c, what, lg_error_box(L)));
    char text[256];
    if (c->ndim != 1 || c->shape[0] == 0)
        luaL_error(L, "%s: %s has the shape %s, expected one axis with a coefficient or more", what, name,
                   rt_shape_text(c->ndim, c->shape, text, sizeof text));
    *count = c->shape[0];
    lg_step(L, "contiguous", "v", lg_step(L, "to", "vss", idx, "float64", "cpu"));
    return rt_array_host(lg_check_array(L, -1));
}

/* Pushes both lists over a[1], `order` + 1 of each. */
static struct kn_filter push_filter(lua_State *L)
{
    int64_t nb, na;
    const double *from_b = lg_push_coefficients(L, "lfilter", B, "b", &nb);
    const double *from_a = lg_push_coefficients(L, "lfilter", A, "a", &na);
    int64_t n = nb > na ? nb : na;
    if (from_a[0] == 0) luaL_error(L, "lfilter: a[1], by which all coefficients are divided, is 0");
    if (n < 2) n = 2;
    double *all = lua_newuserdatauv(L, 2 * (size_t)n * sizeof *all, 0);
    for (int64_t i = 0; i < n; i++) {
        all[i] = i < nb ? from_b[i] / from_a[0] : 0;
        all[n + i] = i < na ? from_a[i] / from_a[0] : 0;
    }
    return (struct kn_filter){n - 1, all, all + n};
}

/* Pushes the state that the filter begins with, of which the user knows `known` elements along the axis. */
static struct rt_array *push_state(lua_State *L, const struct rt_array *x, int axis, int64_t order, int64_t known)
{
    struct rt_error *e = lg_error_box(L);
    int64_t shape[RT_MAX_DIMS];
    bool given = !lua_isnil(L, ZI), same = true;
    memcpy(shape, x->shape, sizeof shape);
    shape[axis] = order;
    struct rt_array *state = lg_new_array(L);
    lg_check(L, rt_array_new(rt_array_device(x), RT_FLOAT64, x->ndim, shape, state, e));
    lg_check(L, kn_fill(state, &(struct kn_operand){.i = 0}, e));
    if (!given) return state;
    lg_step_array(L, ZI, x, RT_DTYPE_COUNT);
    const struct rt_array *zi = lg_check_array(L, ZI);
    shape[axis] = known;
    for (int i = 0; i < x->ndim; i++) same = same && i < zi->ndim && zi->shape[i] == shape[i];
    if (!same || zi->ndim != x->ndim) {
        char has[256], wants[256];
        luaL_error(L, "lfilter: zi has the shape %s, expected %s: that of x with %I along the axis",
                   rt_shape_text(zi->ndim, zi->shape, has, sizeof has),
                   rt_shape_text(x->ndim, shape, wants, sizeof wants), (LUAI_UACINT)known);
    }
    lg_check(L, kn_check_real(zi, "lfilter", e));
    if (known > 0) lg_check(L, kn_copy(state, zi, e));
    return state;
}

static int lfilter(lua_State *L)
{
    static const char *const names[] = {"axis", "zi", NULL};
    lg_spread(L, AXIS, "lfilter", names);
    lg_step_array(L, X, NULL, RT_DTYPE_COUNT);
    const struct rt_array *x = lg_check_array(L, X);
    if (x->ndim == 0) return luaL_error(L, "lfilter: x has no axes, expected one or more");
    int axis = lua_isnil(L, AXIS) ? x->ndim - 1 : lg_check_axis(L, AXIS, x->ndim);
    struct kn_filter f = push_filter(L);
    int64_t nb = lg_form(L, B)->shape[0], na = lg_form(L, A)->shape[0], known = (nb > na ? nb : na) - 1;
    struct rt_array *state = push_state(L, x, axis, f.order, known);
    int at = lua_gettop(L);
    struct rt_array *out = lg_new_array(L);
    lg_check(L, kn_filter(&f, x, axis, state, out, lg_error_box(L)));
    if (lua_isnil(L, ZI)) return 1;
    lg_step(L, "narrow", "viii", at, (int64_t)axis + 1, (int64_t)1, known);
    return 2;
}

static int push_divided(lua_State *L, struct rt_device *d, const double *from, int64_t n)
{
    struct rt_array *out = lg_push_empty(L, &(struct lg_placement){RT_FLOAT64, d}, 1, &n);
    lg_check(L, rt_array_write(out, from, lg_error_box(L)));
    return lua_gettop(L);
}

/* gpu.deconvolve(y, h): by division from the first coefficients on. */
static int deconvolve(lua_State *L)
{
    int64_t n, known;
    lua_settop(L, 2);
    struct rt_device *d = rt_array_device(lg_step_array(L, 1, NULL, RT_DTYPE_COUNT));
    const double *y = lg_push_coefficients(L, "deconvolve", 1, "y", &n);
    const double *h = lg_push_coefficients(L, "deconvolve", 2, "h", &known);
    const int64_t count = n < known ? 0 : n - known + 1;
    if (h[0] == 0) return luaL_error(L, "deconvolve: h[1], by which the first of y is divided, is 0");
    double *left = lua_newuserdatauv(L, (size_t)(n + count) * sizeof *left, 0), *quotient = left + n;
    memcpy(left, y, (size_t)n * sizeof *left);
    for (int64_t i = 0; i < count; i++) {
        quotient[i] = left[i] / h[0];
        left[i] = 0;
        for (int64_t k = 1; k < known; k++) left[i + k] -= quotient[i] * h[k];
    }
    push_divided(L, d, quotient, count);
    push_divided(L, d, left, n);
    return 2;
}

const struct lg_function lg_filter_functions[] = {
    {"deconvolve", deconvolve, "gpu.deconvolve(y, h)",
     "What y is the convolution of h with, and what is left of y then: float64, y = h:convolve(x) + the rest.\n"
     "Lists or arrays of one axis; of the coefficients of polynomials, the highest power first, it is their quotient and "
     "the remainder, as long as y. Where h is longer than y, all of y is left.",
     "local x, rest = gpu.deconvolve({1, 5, 8, 5}, {1, 2})\n"
     "assert(x:equal(gpu.array({1, 3, 2}, 'float64')) and rest:equal(gpu.array({0, 0, 0, 1}, 'float64')))"},
    {"lfilter", lfilter, "gpu.lfilter(b, a, x [, axis [, zi]] | {axis=, zi=})",
     "x filtered along an axis, the last unless told otherwise, with feedback:\n"
     "a[1] y[n] = b[1] x[n] + b[2] x[n-1] + ... - a[2] y[n-1] - a[3] y[n-2] - ... b and a are numbers, lists or arrays of "
     "one axis, as scipy.signal makes them; x is real. The result is of x's shape and floating dtype, computed in "
     "float64. zi is the state to begin with, of x's shape with one element less than the longer of b and a along the "
     "axis, zeros unless told otherwise; with it the state at the end, of float64, comes as a second result, so a long "
     "signal may come in parts. On a GPU long rows of filters up to order 16 are parted among threads, which may change last bits.",
     "local x = gpu.array({1, 0, 0, 0})\nassert(gpu.lfilter(1, {1, -0.5}, x):equal(gpu.array({1, 0.5, 0.25, 0.125})))\n"
     "local first, state = gpu.lfilter(1, {1, -0.5}, x['1:2'], {zi = {0}})\n"
     "assert(gpu.lfilter(1, {1, -0.5}, x['3:4'], {zi = state})[2] == 0.125)"},
    {0}};
