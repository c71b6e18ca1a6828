/* Signals at other rates: gpu.resample by Fourier's transform, gpu.upfirdn, gpu.resample_poly and gpu.decimate by
 * filters without feedback, of which only what is kept is computed. */
#include <math.h>
#include <string.h>
#include "lang/closest.h"
#include "lang/signal.h"
#include "lang/steps.h"

#define PI        LG_PI
#define MOST_RATE 65536

static const struct rt_array *check_signal(lua_State *L, const char *what, int idx)
{
    const struct rt_array *x = lg_step_array(L, idx, NULL, RT_DTYPE_COUNT);
    if (x->ndim == 0) luaL_error(L, "%s: x has no axes, expected one or more", what);
    return x;
}

static int check_axis_or_last(lua_State *L, int idx, const struct rt_array *x)
{
    return lua_isnil(L, idx) ? x->ndim - 1 : lg_check_axis(L, idx, x->ndim);
}

static int64_t check_rate(lua_State *L, const char *what, int idx, const char *name, int64_t otherwise)
{
    int64_t rate = otherwise ? lg_integer_option(L, idx, what, name, otherwise) : luaL_checkinteger(L, idx);
    if (rate < 1 || rate > MOST_RATE)
        luaL_error(L, "%s: %s is %I, expected 1 to %d", what, name, (LUAI_UACINT)rate, MOST_RATE);
    return rate;
}

/* ---- by Fourier's transform ---- */

/* Pushes the spectrum at s, the transform of n elements along its last axis, as that of `to` elements: the frequencies
 * that both have, and of a real signal none that are negative. What is at half of the lower rate stands for both. */
static int push_spectrum(lua_State *L, int s, int64_t n, int64_t to, bool real)
{
    const struct rt_array *a = lg_form(L, s);
    int64_t least = n < to ? n : to, half = least / 2 + 1, shape[RT_MAX_DIMS];
    int last = a->ndim - 1;
    memcpy(shape, a->shape, sizeof shape);
    shape[last] = real ? to / 2 + 1 : to;
    lg_push_shape(L, a->ndim, shape);
    int out = lg_step(L, "gpu.zeros", "vss", lua_gettop(L), rt_dtypes[a->dtype].name, rt_array_device(a)->name);
    lg_step(L, "copy_", "vv", lg_push_narrowed(L, out, last, 0, half), lg_push_narrowed(L, s, last, 0, half));
    int64_t negative = real ? 0 : least - half;
    if (negative > 0)
        lg_step(L, "copy_", "vv", lg_push_narrowed(L, out, last, to - negative, negative),
                lg_push_narrowed(L, s, last, n - negative, negative));
    if (least % 2 || n == to) return out;
    int middle = lg_push_narrowed(L, out, last, least / 2, 1);
    if (real) {
        lg_step(L, "mul_", "vn", middle, to < n ? 2.0 : 0.5);
    } else if (to < n) {
        lg_step(L, "add_", "vv", middle, lg_push_narrowed(L, s, last, n - least / 2, 1));
    } else {
        lg_step(L, "mul_", "vn", middle, 0.5);
        lg_step(L, "copy_", "vv", lg_push_narrowed(L, out, last, to - least / 2, 1), middle);
    }
    return out;
}

/* gpu.resample(x, count [, axis]) */
static int resample(lua_State *L)
{
    const struct rt_array *x = check_signal(L, "resample", 1);
    lua_Integer to = luaL_checkinteger(L, 2);
    lua_settop(L, 3);
    int axis = check_axis_or_last(L, 3, x);
    int64_t n = x->shape[axis];
    bool real = !rt_is_complex(x->dtype);
    if (to < 1) return luaL_error(L, "resample: count is %I, expected elements, 1 or more", (LUAI_UACINT)to);
    if (n == 0) return luaL_error(L, "resample: axis %d of x has no elements", axis + 1);
    int rows = lg_step(L, "moveaxis", "vii", 1, (int64_t)axis + 1, (int64_t)-1);
    int s = lg_step(L, real ? "gpu.fft.rfft" : "gpu.fft.fft", "v", rows);
    s = push_spectrum(L, s, n, to, real);
    s = lg_step(L, real ? "gpu.fft.irfft" : "gpu.fft.ifft", "vi", s, (int64_t)to);
    s = lg_step(L, "mul", "vn", s, (double)to / (double)n);
    lg_step(L, "contiguous", "v", lg_step(L, "moveaxis", "vii", s, (int64_t)-1, (int64_t)axis + 1));
    if (lg_form(L, lua_gettop(L))->dtype != lg_floating(x))
        lg_step(L, "to", "vs", lua_gettop(L), rt_dtypes[lg_floating(x)].name);
    return 1;
}

/* ---- by filters ---- */

/* y[m] = sum over k of h[first + m down - k up] x[k], for `count` values of m. */
struct rates {
    const double *h;
    int64_t taps, up, down, first, count;
};

/* The coefficients by which a window of `reach` elements becomes value `phase` of a turn of `up` values: its elements
 * follow each other, so the coefficients run backwards. The window of the turn's first value ends at its newest
 * element; `base` is that of value `from`. */
static void write_phase(const struct rates *r, int64_t phase, int64_t base, int64_t reach, double *w)
{
    int64_t at = r->first + phase * r->down;
    for (int64_t i = 0; i < reach; i++) { /* x[base + i] */
        int64_t k = at - (base + i) * r->up;
        w[i] = k >= 0 && k < r->taps ? r->h[k] : 0;
    }
}

static int64_t floor_of(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Pushes values `from` to `from + group - 1` of every turn of the rows at x, (rows, 1, elements): (rows, group, turns).
 */
static int push_group(lua_State *L, const struct rates *r, int x, int64_t from, int64_t group, int64_t turns)
{
    const struct rt_array *a = lg_form(L, x);
    int64_t n = a->shape[2], oldest = floor_of(r->first + from * r->down - (r->taps - 1) + r->up - 1, r->up);
    int64_t newest = floor_of(r->first + (from + group - 1) * r->down, r->up), reach = newest - oldest + 1;
    if (reach < 1) reach = 1;
    double *w = lua_newuserdatauv(L, (size_t)(group * reach) * sizeof *w, 0);
    for (int64_t p = 0; p < group; p++) write_phase(r, from + p, oldest, reach, w + p * reach);
    struct rt_array *filters = lg_new_array(L);
    lg_check(L,
             rt_array_new(rt_array_device(a), RT_FLOAT64, 3, (int64_t[]){group, 1, reach}, filters, lg_error_box(L)));
    lg_check(L, rt_array_write(filters, w, lg_error_box(L)));
    int weights = lg_step(L, "to", "vs", lua_gettop(L), rt_dtypes[a->dtype].name);
    /* The window of turn t begins at element `oldest` + t down; what lies outside is 0. */
    int64_t last = oldest + (turns - 1) * r->down + reach, begin = oldest < 0 ? 0 : oldest, end = last > n ? n : last;
    if (begin > n) begin = end = 0;
    int inside = lg_push_narrowed(L, x, 2, begin, end > begin ? end - begin : 0);
    int64_t before = oldest < 0 ? -oldest : 0, length = last - oldest, there = end > begin ? end - begin : 0;
    if (before > length) before = length;
    lua_createtable(L, 3, 0);
    for (int i = 0; i < 3; i++) {
        lg_push_shape(L, 2, (int64_t[]){i == 2 ? before : 0, i == 2 ? length - before - there : 0});
        lua_rawseti(L, -2, i + 1);
    }
    int padded = lg_step(L, "pad", "vv", inside, lua_gettop(L));
    lua_createtable(L, 0, 1);
    lg_set_integer(L, "stride", r->down);
    return lg_step(L, "conv1d", "vvv", padded, weights, lua_gettop(L));
}

#define FEW_TURNS (1 << 18) /* values that all groups may as well be computed at once for */

/* How many values of a turn are computed together: those whose windows nearly coincide, and of few turns more, which
 * costs less than a convolution for each group. */
static int64_t group_of(const struct rates *r, int64_t phases, int64_t turns)
{
    int64_t near = (r->taps + r->down - 1) / r->down, few = (int64_t)sqrt((double)FEW_TURNS / (double)turns);
    int64_t group = near > few ? near : few;
    return group < phases ? group : phases;
}

/* Pushes the array at x filtered along the axis. Values `up` apart have the same coefficients; those of a group are
 * computed as filters of one convolution. */
static int push_rates(lua_State *L, const struct rates *r, int x, int axis)
{
    const struct rt_array *a = lg_form(L, x);
    int64_t batch = 1, shape[RT_MAX_DIMS], n = a->shape[axis], turns = (r->count + r->up - 1) / r->up;
    int k = 0;
    for (int i = 0; i < a->ndim; i++)
        if (i != axis) batch *= shape[k++] = a->shape[i];
    shape[k++] = r->count;
    if (batch == 0 || r->count == 0 || n == 0) {
        lg_push_shape(L, k, shape);
        int zeros = lg_step(L, "gpu.zeros", "vss", lua_gettop(L), rt_dtypes[a->dtype].name, rt_array_device(a)->name);
        return lg_step(L, "contiguous", "v", lg_step(L, "moveaxis", "vii", zeros, (int64_t)-1, (int64_t)axis + 1));
    }
    const int64_t phases = r->up < r->count ? r->up : r->count, group = group_of(r, phases, turns);
    int rows = lg_push_reshaped(L, lg_step(L, "moveaxis", "vii", x, (int64_t)axis + 1, (int64_t)-1), 3,
                                (int64_t[]){batch, 1, n});
    lua_newtable(L);
    int parts = lua_gettop(L), count = 0;
    for (int64_t from = 0; from < phases; from += group) {
        lg_poll(L);
        lua_pushvalue(L, push_group(L, r, rows, from, group < phases - from ? group : phases - from, turns));
        lua_rawseti(L, parts, ++count);
        lua_settop(L, parts);
    }
    int all = lg_step(L, "gpu.concatenate", "vi", parts, (int64_t)2);
    all = lg_step(L, "transpose", "vii", all, (int64_t)2, (int64_t)3);
    all = lg_push_reshaped(L, all, 2, (int64_t[]){batch, turns * phases});
    all = lg_push_reshaped(L, lg_push_narrowed(L, all, 1, 0, r->count), k, shape);
    return lg_step(L, "contiguous", "v", lg_step(L, "moveaxis", "vii", all, (int64_t)-1, (int64_t)axis + 1));
}

/* Pushes the array at x as floats. */
static int push_floats(lua_State *L, const char *what, int x)
{
    const struct rt_array *a = lg_form(L, x);
    lg_check(L, kn_check_real(a, what, lg_error_box(L)));
    return lg_floating(a) == a->dtype ? x : lg_step(L, "to", "vs", x, rt_dtypes[lg_floating(a)].name);
}

/* gpu.upfirdn(h, x [, up [, down [, axis]]]) */
static int upfirdn(lua_State *L)
{
    const struct rt_array *x = check_signal(L, "upfirdn", 2);
    lua_settop(L, 5);
    struct rates r = {.up = check_rate(L, "upfirdn", 3, "up", 1), .down = check_rate(L, "upfirdn", 4, "down", 1)};
    int axis = check_axis_or_last(L, 5, x);
    r.h = lg_push_coefficients(L, "upfirdn", 1, "h", &r.taps);
    int64_t n = x->shape[axis];
    r.count = n ? ((n - 1) * r.up + r.taps - 1) / r.down + 1 : 0;
    lua_pushvalue(L, push_rates(L, &r, push_floats(L, "upfirdn", 2), axis));
    return 1;
}

static int64_t divisor(int64_t a, int64_t b)
{
    return b ? divisor(b, a % b) : a;
}

/* Kaiser's window at t from -1 to 1. */
static double bessel(double x)
{
    double term = 1, sum = 1;
    for (int k = 1; k < 200 && term > 1e-17 * sum; k++) sum += term *= x * x / (4.0 * k * k);
    return sum;
}

/* The lowpass that lets nothing through that either rate lacks: `half` coefficients on both sides of the middle one. */
static void write_lowpass(int64_t half, int64_t rate, double *h)
{
    double sum = 0;
    for (int64_t i = -half; i <= half; i++) {
        double t = (double)i / (double)half, at = PI * (double)i / (double)rate;
        double ideal = i ? sin(at) / (PI * (double)i) : 1 / (double)rate;
        sum += h[i + half] = ideal * bessel(5 * sqrt(1 - t * t)) / bessel(5);
    }
    for (int64_t i = 0; i <= 2 * half; i++) h[i] /= sum;
}

/* Pushes the floats at x with r.up values for r.down of them, by the filter whose middle is at them. */
static int push_resampled(lua_State *L, int x, int axis, struct rates r)
{
    const double *h = r.h;
    double *scaled = lua_newuserdatauv(L, (size_t)r.taps * sizeof *scaled, 0);
    for (int64_t i = 0; i < r.taps; i++) scaled[i] = h[i] * (double)r.up;
    r.h = scaled;
    r.first = (r.taps - 1) / 2;
    r.count = (lg_form(L, x)->shape[axis] * r.up + r.down - 1) / r.down;
    return push_rates(L, &r, x, axis);
}

/* gpu.resample_poly(x, up, down [, axis [, window]]) */
static int resample_poly(lua_State *L)
{
    const char *what = "resample_poly";
    const struct rt_array *x = check_signal(L, what, 1);
    lua_settop(L, 5);
    struct rates r = {.up = check_rate(L, what, 2, "up", 0), .down = check_rate(L, what, 3, "down", 0)};
    int64_t common = divisor(r.up, r.down);
    int axis = check_axis_or_last(L, 4, x), floats = push_floats(L, what, 1);
    r.up /= common;
    r.down /= common;
    if (!lua_isnil(L, 5)) r.h = lg_push_coefficients(L, what, 5, "window", &r.taps);
    if (r.up == 1 && r.down == 1) {
        lg_step(L, "clone", "v", floats);
        return 1;
    }
    if (!r.h) {
        int64_t rate = r.up > r.down ? r.up : r.down;
        r.taps = 20 * rate + 1;
        double *h = lua_newuserdatauv(L, (size_t)r.taps * sizeof *h, 0);
        write_lowpass(10 * rate, rate, h);
        r.h = h;
    }
    lua_pushvalue(L, push_resampled(L, floats, axis, r));
    return 1;
}

/* Pushes every q-th element of the array at x along the axis. */
static int push_every(lua_State *L, int x, int axis, int64_t q)
{
    struct rt_array *view = lg_new_array(L);
    const struct rt_array *a = lg_check_array(L, x);
    int64_t n = a->shape[axis];
    lg_check(L, rt_array_slice(a, axis, 0, (n + q - 1) / q, q, view, lg_error_box(L)));
    return lg_step(L, "clone", "v", lua_gettop(L));
}

/* gpu.decimate(x, q [, n [, ftype [, axis [, zero_phase]]]]) */
static int decimate(lua_State *L)
{
    static const char *const kinds[] = {"iir", "fir", NULL};
    const char *what = "decimate";
    const struct rt_array *x = check_signal(L, what, 1);
    lua_settop(L, 6);
    int64_t q = check_rate(L, what, 2, "q", 0);
    bool fir = lg_check_option(L, 4, "iir", kinds) == 1, still = lua_isnil(L, 6) || lg_check_flag(L, 6, "zero_phase");
    lua_Integer order = lg_integer_option(L, 3, what, "n", fir ? 20 * q : 8);
    int axis = check_axis_or_last(L, 5, x), floats = push_floats(L, what, 1);
    if (order < 1 || order > (fir ? 1 << 20 : 64))
        return luaL_error(L, "decimate: n is %I, expected the order of the filter, 1 to %d", (LUAI_UACINT)order,
                          fir ? 1 << 20 : 64);
    if (q == 1) {
        lg_step(L, "clone", "v", floats);
        return 1;
    }
    if (!fir) {
        int sos = lg_step(L, "gpu.cheby1", "inn", (int64_t)order, 0.05, 0.8 / (double)q);
        int y = lg_step(L, still ? "gpu.sosfiltfilt" : "gpu.sosfilt", "vvi", sos, floats, (int64_t)axis + 1);
        push_every(L, y, axis, q);
        return 1;
    }
    struct rates r = {.up = 1, .down = q, .count = (x->shape[axis] + q - 1) / q};
    int b = lg_step(L, "gpu.firwin", "in", (int64_t)order + 1, 1 / (double)q);
    r.h = lg_push_coefficients(L, what, b, "the filter", &r.taps);
    if (still) {
        lua_pushvalue(L, push_resampled(L, floats, axis, r));
        return 1;
    }
    lua_pushvalue(L, push_rates(L, &r, floats, axis));
    return 1;
}

#define ALONG "It goes along the last axis unless told otherwise. "

const struct lg_function lg_resample_functions[] = {
    {"resample", resample, "gpu.resample(x, count [, axis])",
     "The signal at another rate: `count` elements for those along the axis, by Fourier's transform, as if it repeated.\n" ALONG
     "Frequencies that the new rate does not hold are left out. Integers become floats.",
     "local x = (gpu.range(0, 7, 'float64') * (math.pi / 4)):sin()\n"
     "assert(gpu.resample(x, 16)['::2']:allclose(x, 0, 1e-12))"},
    {"resample_poly", resample_poly, "gpu.resample_poly(x, up, down [, axis [, window]])",
     "The signal with `up` elements in the place of every `down`, by a filter that lets nothing through that either rate lacks.\n" ALONG
     "The filter is 20 times as long as the larger rate, cut off by Kaiser's window of beta 5, or has the coefficients `window`, "
     "for up times the rate. Beyond the ends there are zeros. Integers become floats.",
     "local y = gpu.resample_poly(gpu.ones(100), 3, 2)\nassert(#y == 150 and math.abs(y[75] - 1) < 1e-3)"},
    {"upfirdn", upfirdn, "gpu.upfirdn(h, x [, up [, down [, axis]]])",
     "x with up - 1 zeros behind each element, filtered by the coefficients h, and of that every down-th element.\n" ALONG
     "As scipy.signal.upfirdn; only what is kept is computed. Integers become floats.",
     "assert(gpu.upfirdn({1, 1}, gpu.array({1, 2}), 2):equal(gpu.array({1, 1, 2, 2})))"},
    {"decimate", decimate, "gpu.decimate(x, q [, n [, ftype [, axis [, zero_phase]]]])",
     "Every q-th element of the signal, behind a filter that takes away what they could not hold.\n" ALONG
     "The filter is gpu.cheby1(n, 0.05, 0.8 / q), n 8 unless told otherwise, or with ftype = \"fir\" gpu.firwin(n + 1, 1 / q), n "
     "20 q. It goes there and back, or stands still, so that nothing comes later, unless zero_phase is false. Integers "
     "become floats.",
     "local x = (gpu.range(0, 399) * 0.02):sin()\nassert(gpu.decimate(x, 4):allclose(x['::4'], 0, 2e-2))"},
    {0}};
