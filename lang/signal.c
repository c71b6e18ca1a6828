/* Filters by design, and by sections of second order. */
#include <complex.h>
#include <math.h>
#include <string.h>
#include "kernels/filter.h"
#include "lang/closest.h"
#include "lang/signal.h"
#include "lang/steps.h"

#define MOST_ORDER 64
#define PI         LG_PI

enum kind { LOWPASS, HIGHPASS, BANDPASS, BANDSTOP };
static const char *const kinds[] = {"lowpass", "highpass", "bandpass", "bandstop", NULL};

/* The kind at idx, and the one or two edges that it has at idx - 1, as parts of half the rate at idx + 1 (2 unless told
 * otherwise): between 0 and 1, rising. */
static enum kind check_band(lua_State *L, const char *what, int idx, double edges[2])
{
    enum kind kind = (enum kind)lg_check_option(L, idx, "lowpass", kinds);
    double half = lg_number_option(L, idx + 1, what, "fs", 2) / 2;
    int wanted = kind >= BANDPASS ? 2 : 1, given = lua_istable(L, idx - 1) ? (int)lua_rawlen(L, idx - 1) : 1;
    if (!(half > 0)) luaL_error(L, "%s: fs is %s, expected the sampling rate, above 0", what, lua_tostring(L, idx + 1));
    if (given != wanted)
        luaL_error(L, "%s: %s has %s, got %d", what, kinds[kind], wanted == 2 ? "two edges, {low, high}" : "one edge",
                   given);
    for (int i = 0; i < given; i++) {
        if (lua_istable(L, idx - 1))
            lua_rawgeti(L, idx - 1, i + 1);
        else
            lua_pushvalue(L, idx - 1);
        if (!lua_isnumber(L, -1)) luaL_error(L, "%s: an edge is %s, expected a number", what, lg_type_name(L, -1));
        edges[i] = lua_tonumber(L, -1) / half;
        lua_pop(L, 1);
        if (!(edges[i] > 0 && edges[i] < 1) || (i && !(edges[1] > edges[0])))
            luaL_error(L, "%s: edges are between 0 and half the sampling rate, %f, and rise", what, half);
    }
    return kind;
}

/* A new float64 array on the default device, or what the options say, of numbers on the host. */
static int push_numbers(lua_State *L, int count, const double *values)
{
    lua_createtable(L, count, 0);
    for (int i = 0; i < count; i++) {
        lua_pushnumber(L, values[i]);
        lua_rawseti(L, -2, i + 1);
    }
    return lg_step(L, "gpu.array", "vs", lua_gettop(L), "float64");
}

/* ---- filters ---- */

/* The poles of the digital filter: analog ones on a circle, moved to the band, and mapped by the bilinear transform
 * z = (2 + s) / (2 - s). */
static int find_poles(enum kind kind, int order, const double edges[2], double complex poles[2 * MOST_ORDER])
{
    double low = 2 * tan(PI * edges[0] / 2), high = kind >= BANDPASS ? 2 * tan(PI * edges[1] / 2) : 0;
    double width = high - low, square = low * high;
    int n = 0;
    for (int k = 0; k < order; k++) {
        double angle = PI * (2 * k + 1 + order) / (2.0 * order);
        double complex s = cos(angle) + I * sin(angle);
        if (2 * k + 1 == order) s = -1; /* the real one, exactly */
        if (kind == LOWPASS) poles[n++] = low * s;
        if (kind == HIGHPASS) poles[n++] = low / s;
        if (kind < BANDPASS) continue;
        double complex half = kind == BANDPASS ? width * s / 2 : width / s / 2, root = csqrt(half * half - square);
        poles[n++] = half + root;
        poles[n++] = half - root;
    }
    for (int i = 0; i < n; i++) poles[i] = (2 + poles[i]) / (2 - poles[i]);
    return n;
}

/* The zeros of a section of two, or of one, as its b. */
static void write_zeros(enum kind kind, const double edges[2], bool both, double b[3])
{
    double low = tan(PI * edges[0] / 2), high = kind >= BANDPASS ? tan(PI * edges[1] / 2) : 0;
    double middle = 2 * atan(sqrt(low * high)), sign = kind == HIGHPASS ? -1 : 1;
    b[0] = 1;
    b[1] = kind == BANDPASS ? 0 : kind == BANDSTOP ? -2 * cos(middle) : both ? 2 * sign : sign;
    b[2] = kind == BANDPASS ? -1 : kind == BANDSTOP || both ? 1 : 0;
}

/* The logarithm of how much all sections together let through at the angle w: the product may leave the range. */
static double response(int count, const double *sos, double w)
{
    double complex z = cexp(-I * w);
    double sum = 0;
    for (int i = 0; i < count; i++, sos += 6)
        sum += log(cabs((sos[0] + z * (sos[1] + z * sos[2])) / (sos[3] + z * (sos[4] + z * sos[5]))));
    return sum;
}

/* Sections of poles that are conjugates of each other; real ones two by two, and the one that is left alone. */
static int write_sections(enum kind kind, const double edges[2], int n, const double complex *poles, double *sos)
{
    int count = 0, waits = -1;
    for (int i = 0; i < n; i++) {
        bool real = fabs(cimag(poles[i])) < 1e-14;
        double *a = sos + 6 * count + 3, other;
        if (cimag(poles[i]) < 0 && !real) continue;
        if (real && waits < 0) {
            waits = i;
            continue;
        }
        other = real ? creal(poles[waits]) : creal(poles[i]);
        a[0] = 1;
        a[1] = -creal(poles[i]) - other;
        a[2] = real ? creal(poles[i]) * other : creal(poles[i] * conj(poles[i]));
        write_zeros(kind, edges, true, a - 3);
        if (real) waits = -1;
        count++;
    }
    if (waits < 0) return count;
    double *last = sos + 6 * count;
    write_zeros(kind, edges, false, last);
    last[3] = 1;
    last[4] = -creal(poles[waits]);
    last[5] = 0;
    return count + 1;
}

static int butter(lua_State *L)
{
    double edges[2] = {0};
    double complex poles[2 * MOST_ORDER];
    double sos[6 * 2 * MOST_ORDER];
    lua_Integer order = luaL_checkinteger(L, 1);
    luaL_argcheck(L, order >= 1 && order <= MOST_ORDER, 1, "an order is from 1 to 64");
    lua_settop(L, 4);
    enum kind kind = check_band(L, "butter", 3, edges);
    int n = find_poles(kind, (int)order, edges, poles), count = write_sections(kind, edges, n, poles, sos);
    double middle = 2 * atan(sqrt(tan(PI * edges[0] / 2) * tan(PI * edges[1] / 2)));
    double gain = response(count, sos, kind == BANDPASS ? middle : kind == HIGHPASS ? PI : 0);
    if (!isfinite(gain))
        return luaL_error(
            L, "butter: the edges are so near to each other, or to 0 or half the sampling rate, that float64 "
               "does not hold the sections; take a wider band, or a signal of a lower rate");
    for (int i = 0; i < count; i++) /* each its part, so that none is very loud */
        for (int k = 0; k < 3; k++) sos[6 * i + k] *= exp(-gain / count);
    int flat = push_numbers(L, 6 * count, sos);
    lg_step(L, "reshape", "vii", flat, (int64_t)count, (int64_t)6);
    return 1;
}

/* ---- sections ---- */

/* b and a of each section over its a[1]. */
struct sections {
    int64_t count;
    double (*rows)[6];
};

/* Those of the array or list at 1, pushed. */
static struct sections push_sections(lua_State *L, const char *what)
{
    const struct rt_array *sos = lg_step_array(L, 1, NULL, RT_FLOAT64);
    char text[256];
    lg_check(L, kn_check_real(sos, what, lg_error_box(L)));
    if (sos->ndim != 2 || sos->shape[1] != 6 || sos->shape[0] == 0)
        luaL_error(L, "%s: sos has the shape %s, expected (sections, 6), as gpu.butter makes it", what,
                   rt_shape_text(sos->ndim, sos->shape, text, sizeof text));
    lg_step(L, "contiguous", "v", lg_step(L, "to", "vss", 1, "float64", "cpu"));
    const double *from = rt_array_host(lg_check_array(L, -1));
    struct sections s = {sos->shape[0], NULL};
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
static int push_filtered(lua_State *L, const struct sections *s, int x, int axis, int states)
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
    struct sections s = push_sections(L, "sosfilt");
    int states = lua_isnil(L, 4) ? 0 : push_states(L, 4, x, axis, s.count);
    lg_step(L, "to", "vs", push_filtered(L, &s, 2, axis, states), rt_dtypes[lg_floating(x)].name);
    if (!states) return 1;
    lua_pushvalue(L, states);
    return 2;
}

/* Pushes the states in which sections have come to rest at a constant 1, as (sections, 1, ..., 2, ..., 1) on the device
 * of x. */
static int push_steady(lua_State *L, const struct sections *s, const struct rt_array *x, int axis)
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
static int push_turned(lua_State *L, const struct sections *s, int x, int axis, int steady)
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
    struct sections s = push_sections(L, what);
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

/* ---- filters without feedback ---- */

/* The sum of what the band lets through, shifted by `at` from its middle. */
static double ideal(enum kind kind, const double edges[2], double at)
{
    double low = at == 0 ? edges[0] : sin(PI * edges[0] * at) / (PI * at);
    double high = at == 0 ? edges[1] : sin(PI * edges[1] * at) / (PI * at),
           all = at == 0 ? 1 : sin(PI * at) / (PI * at);
    switch (kind) {
    case LOWPASS: return low;
    case HIGHPASS: return all - low;
    case BANDPASS: return high - low;
    default: return all - high + low;
    }
}

static int firwin(lua_State *L)
{
    double edges[2] = {0}, sum = 0;
    lua_Integer count = luaL_checkinteger(L, 1);
    luaL_argcheck(L, count >= 1 && count <= 1 << 20, 1, "a filter has from 1 to 2^20 coefficients");
    lua_settop(L, 5);
    enum kind kind = check_band(L, "firwin", 3, edges);
    enum lg_window window = (enum lg_window)lg_check_option(L, 5, "hamming", lg_windows);
    if ((kind == HIGHPASS || kind == BANDSTOP) && count % 2 == 0)
        return luaL_error(L,
                          "firwin: %s with %I coefficients lets nothing through at half the sampling rate; make it %I",
                          kinds[kind], (LUAI_UACINT)count, (LUAI_UACINT)(count + 1));
    double *h = lua_newuserdatauv(L, (size_t)count * sizeof *h, 0);
    double at = kind == BANDPASS   ? (edges[0] + edges[1]) / 2
                : kind == HIGHPASS ? 1
                                   : 0,
           middle = (double)(count - 1) / 2;
    for (lua_Integer i = 0; i < count; i++) {
        double k = (double)i - middle;
        h[i] = ideal(kind, edges, k) * lg_window_at(window, (double)i, (double)count - 1);
        sum += h[i] * cos(PI * k * at);
    }
    for (lua_Integer i = 0; i < count; i++) h[i] /= sum; /* one at the middle of what passes */
    push_numbers(L, (int)count, h);
    return 1;
}

#define BAND                                                                                                                    \
    "kind is \"lowpass\", the default, \"highpass\", or with {low, high} for the edge \"bandpass\" or \"bandstop\". Edges are " \
    "frequencies below half the sampling rate fs, which is 2 unless told otherwise, so that they are parts of it. "

const struct lg_function lg_signal_functions[] = {
    {"butter", butter, "gpu.butter(order, edge [, kind [, fs]])",
     "A Butterworth filter as sections of second order, for gpu.sosfilt: (sections, 6) in float64.\n" BAND
     "A section's row is b[1] to b[3], then a[1] to a[3]. The order is from 1 to 64, and twice that for bands.",
     "local sos = gpu.butter(2, 0.5)\nassert(#sos == 1 and math.abs(sos[{1, 1}] - 0.2928932) < 1e-6)"},
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
    {"firwin", firwin, "gpu.firwin(count, edge [, kind [, fs [, window]]])",
     "A filter without feedback, as so many coefficients in float64, for x:convolve or gpu.lfilter.\n" BAND
     "The ideal one is cut off by the window, \"hamming\" unless told otherwise, \"hann\", \"blackman\" or \"boxcar\", and "
     "made 1 at the middle of what passes.",
     "local h = gpu.firwin(5, 0.5)\nassert(#h == 5 and math.abs(h:sum() - 1) < 1e-12)"},
    {0}};
