/* Filters by sections of second order. */
#include <string.h>
#include "kernels/filter.h"
#include "lang/closest.h"
#include "lang/signal.h"
#include "lang/steps.h"

/* ---- sections ---- */

struct lg_sections lg_push_sections(lua_State *L, const char *what)
{
    const struct rt_array *sos = lg_step_array(L, 1, NULL, RT_FLOAT64);
    char text[256];
    lg_check(L, kn_check_real(sos, what, lg_error_box(L)));
    if (sos->ndim != 2 || sos->shape[1] != 6 || sos->shape[0] == 0)
        luaL_error(L, "%s: sos has the shape %s, expected (sections, 6), as gpu.butter makes it", what,
                   rt_shape_text(sos->ndim, sos->shape, text, sizeof text));
    lg_step(L, "contiguous", "v", lg_step(L, "to", "vss", 1, "float64", "cpu"));
    const double *from = rt_array_host(lg_check_array(L, -1));
    struct lg_sections s = {sos->shape[0], NULL};
    s.rows = lua_newuserdatauv(L, (size_t)s.count * sizeof *s.rows, 0);
    for (int64_t i = 0; i < s.count; i++, from += 6) {
        if (from[3] == 0)
            luaL_error(L, "%s: a[1] of section %I, by which the others are divided, is 0", what, (LUAI_UACINT)i + 1);
        for (int k = 0; k < 6; k++) s.rows[i][k] = from[k] / from[3];
    }
    return s;
}

/* Pushes the state of a section, zeros, beside x. */
static void push_rest(lua_State *L, const struct rt_array *x, int axis)
{
    int64_t shape[RT_MAX_DIMS];
    for (int i = 0; i < x->ndim; i++) shape[i] = i == axis ? 2 : x->shape[i];
    struct rt_array *state = lg_new_array(L);
    lg_check(L, rt_array_new(rt_array_device(x), RT_FLOAT64, x->ndim, shape, state, lg_error_box(L)));
    lg_check(L, kn_fill(state, &(struct kn_operand){.i = 0}, lg_error_box(L)));
}

/* Pushes the array at x after all sections, in float64. Their states, from zeros where `states` is 0, are at that stack
 * index, float64 and our own, and become those at the end. */
static int push_filtered(lua_State *L, const struct lg_sections *s, int x, int axis, int states)
{
    int y = lg_step(L, "to", "vs", x, "float64");
    for (int64_t i = 0; i < s->count; i++) {
        struct kn_filter f = {2, s->rows[i], s->rows[i] + 3};
        if (states)
            lg_step(L, "select", "vii", states, (int64_t)1, i + 1);
        else
            push_rest(L, lg_form(L, y), axis);
        const struct rt_array *state = lg_check_array(L, -1), *in = lg_check_array(L, y);
        struct rt_array *out = lg_new_array(L);
        lg_check(L, kn_filter(&f, in, axis, state, out, lg_error_box(L)));
        lua_replace(L, y);
        lua_settop(L, y);
    }
    return y;
}

/* The states at idx, beside x: pushed as float64 of our own. */
static int push_states(lua_State *L, int idx, const struct rt_array *x, int axis, int64_t sections)
{
    const struct rt_array *zi = lg_step_array(L, idx, x, RT_FLOAT64);
    lg_check(L, kn_check_real(zi, "sosfilt", lg_error_box(L)));
    int64_t shape[RT_MAX_DIMS + 1] = {sections};
    bool same = zi->ndim == x->ndim + 1;
    for (int i = 0; i < x->ndim; i++) shape[i + 1] = i == axis ? 2 : x->shape[i];
    for (int i = 0; same && i <= x->ndim; i++) same = zi->shape[i] == shape[i];
    char has[256], text[256];
    if (!same)
        luaL_error(L, "sosfilt: zi has the shape %s, expected %s: the sections, and that of x with two along the axis",
                   rt_shape_text(zi->ndim, zi->shape, has, sizeof has),
                   rt_shape_text(x->ndim + 1, shape, text, sizeof text));
    return lg_step(L, "clone", "v", lg_step(L, "to", "vs", idx, "float64"));
}

/* The signal at 2 and the axis at 3, from 0: the last unless told otherwise. */
static const struct rt_array *check_filtered(lua_State *L, const char *what, int *axis)
{
    const struct rt_array *x = lg_step_array(L, 2, NULL, RT_DTYPE_COUNT);
    lg_check(L, kn_check_real(x, what, lg_error_box(L)));
    if (x->ndim == 0) luaL_error(L, "%s: x has no axes, expected one or more", what);
    *axis = lua_isnil(L, 3) ? x->ndim - 1 : lg_check_axis(L, 3, x->ndim);
    return x;
}

/* gpu.sosfilt(sos, x [, axis [, zi]]) */
static int sosfilt(lua_State *L)
{
    int axis;
    static const char *const names[] = {"axis", "zi", NULL};
    lg_spread(L, 3, "sosfilt", names);
    const struct rt_array *x = check_filtered(L, "sosfilt", &axis);
    struct lg_sections s = lg_push_sections(L, "sosfilt");
    int states = lua_isnil(L, 4) ? 0 : push_states(L, 4, x, axis, s.count);
    lg_step(L, "to", "vs", push_filtered(L, &s, 2, axis, states), rt_dtypes[lg_floating(x)].name);
    if (!states) return 1;
    lua_pushvalue(L, states);
    return 2;
}

/* Pushes the states in which sections have come to rest at a constant 1, as (sections, 1, ..., 2, ..., 1) on the device
 * of x. */
static int push_steady(lua_State *L, const struct lg_sections *s, const struct rt_array *x, int axis)
{
    int64_t shape[RT_MAX_DIMS + 1] = {s->count};
    double level = 1;
    for (int i = 0; i < x->ndim; i++) shape[i + 1] = i == axis ? 2 : 1;
    lua_createtable(L, (int)(2 * s->count), 0);
    for (int64_t i = 0; i < s->count; i++) {
        const double *b = s->rows[i], *a = b + 3, sum = a[0] + a[1] + a[2], gain = (b[0] + b[1] + b[2]) / sum;
        if (sum == 0)
            luaL_error(L,
                       "sosfiltfilt: section %I never comes to rest at a constant signal, since its a have the sum 0",
                       (LUAI_UACINT)i + 1);
        double second = b[2] - a[2] * gain, first = b[1] - a[1] * gain + second;
        lua_pushnumber(L, level * first);
        lua_rawseti(L, -2, 2 * i + 1);
        lua_pushnumber(L, level * second);
        lua_rawseti(L, -2, 2 * i + 2);
        level *= gain;
    }
    int flat = lg_step(L, "gpu.array", "vss", lua_gettop(L), "float64", rt_array_device(x)->name);
    lg_push_shape(L, x->ndim + 1, shape);
    return lg_step(L, "reshape", "vv", flat, lua_gettop(L));
}

/* Pushes x between so many elements that go on at both ends as they come from there, turned about the end: what has a
 * slope keeps it. */
static int push_extended(lua_State *L, int x, int axis, int64_t count)
{
    int64_t n = lg_form(L, x)->shape[axis], along = axis + 1;
    if (count == 0) return x;
    int before = lg_step(L, "flip", "vi", lg_push_narrowed(L, x, axis, 1, count), along);
    int after = lg_step(L, "flip", "vi", lg_push_narrowed(L, x, axis, n - 1 - count, count), along);
    int first = lg_step(L, "mul", "vi", lg_push_narrowed(L, x, axis, 0, 1), (int64_t)2);
    int last = lg_step(L, "mul", "vi", lg_push_narrowed(L, x, axis, n - 1, 1), (int64_t)2);
    int left = lg_step(L, "sub", "vv", first, before), right = lg_step(L, "sub", "vv", last, after);
    return lg_push_joined(L, axis, 3, (int[]){left, x, right});
}

/* Pushes x filtered from the state that its first element would have left for ever, backwards. */
static int push_turned(lua_State *L, const struct lg_sections *s, int x, int axis, int steady)
{
    int first = lg_step(L, "unsqueeze", "vi", lg_push_narrowed(L, x, axis, 0, 1), (int64_t)1);
    int states = lg_step(L, "mul", "vv", steady, first);
    lg_check_array(L, states);
    return lg_step(L, "flip", "vi", push_filtered(L, s, x, axis, states), (int64_t)axis + 1);
}

/* gpu.sosfiltfilt(sos, x [, axis [, padlen]]) */
static int sosfiltfilt(lua_State *L)
{
    int axis;
    static const char *const names[] = {"axis", "padlen", NULL};
    const char *what = "sosfiltfilt";
    lg_spread(L, 3, what, names);
    const struct rt_array *x = check_filtered(L, what, &axis);
    struct lg_sections s = lg_push_sections(L, what);
    int64_t n = x->shape[axis], b = 0, a = 0;
    for (int64_t i = 0; i < s.count; i++) b += s.rows[i][2] == 0, a += s.rows[i][5] == 0;
    int64_t length = lg_integer_option(L, 4, what, "padlen", 3 * (2 * s.count + 1 - (a < b ? a : b)));
    if (length < 0 || length >= n)
        return luaL_error(L, "%s: padlen is %I, expected 0 or more, and less than the %I elements of x along the axis",
                          what, (LUAI_UACINT)length, (LUAI_UACINT)n);
    if (x->ndim == RT_MAX_DIMS) return luaL_error(L, "%s: x has %d axes, expected fewer", what, RT_MAX_DIMS);
    int steady = push_steady(L, &s, x, axis), wide = lg_step(L, "to", "vs", 2, "float64");
    int y = push_turned(L, &s, push_extended(L, wide, axis, length), axis, steady);
    y = push_turned(L, &s, y, axis, steady);
    lg_step(L, "to", "vs", lg_step(L, "clone", "v", lg_push_narrowed(L, y, axis, length, n)),
            rt_dtypes[lg_floating(x)].name);
    return 1;
}

const struct lg_function lg_signal_functions[] = {
    {"sosfilt", sosfilt, "gpu.sosfilt(sos, x [, axis [, zi]])",
     "x filtered by one section of second order after the other, along an axis, the last unless told otherwise.\n"
     "Computed as gpu.lfilter does, in float64; the result is of x's floating dtype. zi is the state to begin with, of the "
     "shape of x with two elements along the axis and the sections in front, as SciPy has it; with it the state at the end "
     "comes as a second result, so a long signal may come in parts.",
     "local sos, x = gpu.butter(4, 0.2), gpu.ones(200)\nlocal y = gpu.sosfilt(sos, x)\nassert(math.abs(y[200] - 1) < 1e-5)\n"
     "local first, state = gpu.sosfilt(sos, x['1:50'], {zi = gpu.zeros(2, 2)})\n"
     "assert(gpu.sosfilt(sos, x['51:'], {zi = state}):allclose(y['51:']))"},
    {"sosfiltfilt", sosfiltfilt, "gpu.sosfiltfilt(sos, x [, axis [, padlen]])",
     "x filtered forwards and backwards, so that nothing comes later than it was, along an axis.\n"
     "It is the last axis unless told otherwise. The signal is made longer by padlen elements at both ends, turned about "
     "them, three for each coefficient unless told otherwise, and begins as if its first element had been there for "
     "ever, as in SciPy. Computed in float64; the result is of x's floating dtype.",
     "local x = (gpu.range(0, 199) * 0.05):sin()\nlocal y = gpu.sosfiltfilt(gpu.butter(4, 0.2), x)\n"
     "assert(y:allclose(x, 1e-2, 1e-3))"},
    {0}};
