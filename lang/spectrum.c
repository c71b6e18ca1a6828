/* Spectra of signals, whole and by segments. */
#include <limits.h>
#include <math.h>
#include "lang/closest.h"
#include "lang/overlap.h"
#include "lang/signal.h"
#include "lang/steps.h"

/* ---- windows ---- */

const char *const lg_windows[] = {"hann", "hamming", "blackman", "boxcar", NULL};

double lg_window_at(enum lg_window window, double i, double span)
{
    double w = span > 0 ? cos(2 * LG_PI * i / span) : 1;
    if (span <= 0) return 1;
    switch (window) {
    case LG_HANN: return 0.5 - 0.5 * w;
    case LG_HAMMING: return 0.54 - 0.46 * w;
    case LG_BLACKMAN: return 0.42 - 0.5 * w + 0.08 * (2 * w * w - 1);
    default: return 1;
    }
}

/* ---- spectra ---- */

/* The signal at 1: real, of one axis or more, the last of which is time. */
static const struct rt_array *check_signal(lua_State *L, const char *what)
{
    const struct rt_array *x = lg_step_array(L, 1, NULL, RT_DTYPE_COUNT);
    lg_check(L, kn_check_real(x, what, lg_error_box(L)));
    if (x->ndim == 0 || x->shape[x->ndim - 1] == 0)
        luaL_error(L, "%s: the signal has no %s, expected one or more along its last axis", what,
                   x->ndim == 0 ? "axes" : "elements");
    return x;
}

/* x + i H(x): without the negative frequencies. */
static int hilbert(lua_State *L)
{
    const struct rt_array *x = check_signal(L, "hilbert");
    int axis = lua_isnoneornil(L, 2) ? x->ndim - 1 : lg_check_axis(L, 2, x->ndim);
    int64_t n = x->shape[axis], shape[RT_MAX_DIMS];
    enum rt_dtype floating = lg_floating(x) == RT_FLOAT64 ? RT_FLOAT64 : RT_FLOAT32;
    if (n == 0) return luaL_error(L, "hilbert: the signal has no elements");
    lua_settop(L, 2);
    for (int i = 0; i < x->ndim; i++) shape[i] = i == axis ? n : 1;
    const char *device = rt_array_device(x)->name;
    int k =
        lg_step(L, "gpu.range", "iiss", (int64_t)0, n - 1, "int64", device); /* 1 at 0 and at the middle, 2 between */
    int inside = lg_step(L, "logical_and", "vv", lg_step(L, "gt", "vi", k, (int64_t)0),
                         lg_step(L, "lt", "vn", k, (double)n / 2));
    int edge =
        lg_step(L, "logical_or", "vv", lg_step(L, "eq", "vi", k, (int64_t)0), lg_step(L, "eq", "vn", k, (double)n / 2));
    int weights =
        lg_step(L, "add", "vv",
                lg_step(L, "mul", "vi", lg_step(L, "to", "vs", inside, rt_dtypes[floating].name), (int64_t)2), edge);
    lua_createtable(L, x->ndim, 0);
    for (int i = 0; i < x->ndim; i++) {
        lua_pushinteger(L, shape[i]);
        lua_rawseti(L, -2, i + 1);
    }
    int beside = lg_step(L, "reshape", "vv", weights, lua_gettop(L));
    int spectrum = lg_step(L, "gpu.fft.fft", "v-i", 1, (int64_t)axis + 1);
    lg_step(L, "gpu.fft.ifft", "v-i", lg_step(L, "mul", "vv", spectrum, beside), (int64_t)axis + 1);
    return 1;
}

/* The window at idx, its name or its n numbers, in the dtype on the device, so that the end of a segment is the next
 * one's begin. */
static int push_window(lua_State *L, const char *what, int idx, int64_t n, const char *dtype, const char *device)
{
    if (lua_istable(L, idx) || lg_test_array(L, idx)) {
        const struct rt_array *w = lg_step_array(L, idx, NULL, RT_DTYPE_COUNT);
        char text[256];
        if (w->ndim != 1 || w->shape[0] != n)
            luaL_error(L, "%s: window has the shape %s, expected (%I,)", what,
                       rt_shape_text(w->ndim, w->shape, text, sizeof text), (LUAI_UACINT)n);
        lg_check(L, kn_check_real(w, what, lg_error_box(L)));
        return lg_step(L, "to", "vss", idx, dtype, device);
    }
    enum lg_window window = (enum lg_window)lg_check_option(L, idx, "hann", lg_windows);
    lua_createtable(L, n < INT_MAX ? (int)n : 0, 0);
    for (int64_t i = 0; i < n; i++) {
        lua_pushnumber(L, lg_window_at(window, (double)i, n > 1 ? (double)n : 0));
        lua_rawseti(L, -2, i + 1);
    }
    return lg_step(L, "gpu.array", "vss", lua_gettop(L), dtype, device);
}

/* The length of segments at idx, and their step at idx + 1. */
static void check_segments(lua_State *L, const char *what, int idx, int64_t length, int64_t otherwise, int64_t *n,
                           int64_t *step)
{
    *n = lg_integer_option(L, idx, what, "n", otherwise);
    if (*n < 1 || *n > length)
        luaL_error(L, "%s: n is %I, expected the length of a segment, from 1 to the signal's %I", what, (LUAI_UACINT)*n,
                   (LUAI_UACINT)length);
    *step = lg_integer_option(L, idx + 1, what, "step", *n - *n / 2);
    if (*step < 1) luaL_error(L, "%s: step is %I, expected 1 or more", what, (LUAI_UACINT)*step);
}

static const char *floats_of(const struct rt_array *x)
{
    return lg_floating(x) == RT_FLOAT64 ? "float64" : "float32";
}

/* What the options behind signals say of their segments. */
struct spectra {
    double fs;
    int64_t n, step;
    int window; /* stack index */
    double sum; /* of the window's squares */
};

/* fs, n, step and the window at idx and behind, of signals like x. */
static struct spectra check_segmented(lua_State *L, const char *what, const struct rt_array *x, int idx)
{
    struct spectra s = {.fs = lg_number_option(L, idx, what, "fs", 1)};
    int64_t length = x->shape[x->ndim - 1];
    if (!(s.fs > 0)) luaL_error(L, "%s: fs is %s, expected the sampling rate, above 0", what, lua_tostring(L, idx));
    check_segments(L, what, idx + 1, length, length < 256 ? length : 256, &s.n, &s.step);
    s.window = push_window(L, what, idx + 3, s.n, floats_of(x), rt_array_device(x)->name);
    lg_step(L, "sum", "v", lg_step(L, "square", "v", lg_step(L, "to", "vs", s.window, "float64")));
    s.sum = lua_tonumber(L, -1);
    return s;
}

/* Pushes the transforms of the signal's segments without their mean, through the window: by segment and frequency. */
static int push_transforms(lua_State *L, const struct spectra *s, int signal)
{
    int floats = lg_step(L, "to", "vs", signal, floats_of(lg_form(L, signal)));
    int segments = lg_step(L, "unfold", "viii", floats, (int64_t)-1, s->n, s->step);
    int level = lg_step(L, "sub", "vv", segments, lg_step(L, "mean", "vib", segments, (int64_t)-1, 1));
    return lg_step(L, "gpu.fft.rfft", "v", lg_step(L, "mul", "vv", level, s->window));
}

static int push_power(lua_State *L, int transforms)
{
    return lg_step(L, "square", "v", lg_step(L, "abs", "v", transforms));
}

static int push_mean_of_segments(lua_State *L, int values)
{
    return lg_step(L, "mean", "vi", values, (int64_t)-2);
}

/* Pushes the frequencies, and the density of the power at a stack index, whose last axis they are. */
static void push_density(lua_State *L, const struct spectra *s, int power)
{
    const struct rt_array *x = lg_form(L, power);
    const char *floats = rt_dtypes[rt_real_of(x->dtype)].name;
    int k = lg_step(L, "gpu.range", "iiss", (int64_t)0, s->n / 2, floats, rt_array_device(x)->name);
    int sides = lg_step(L, "sub", "nv", 2.0,
                        lg_step(L, "logical_or", "vv", lg_step(L, "eq", "vi", k, (int64_t)0),
                                lg_step(L, "eq", "vn", k, (double)s->n / 2)));
    int density = lg_step(L, "mul", "vn", lg_step(L, "mul", "vv", power, sides), 1 / (s->fs * s->sum));
    lua_pushvalue(L, lg_step(L, "mul", "vn", k, s->fs / (double)s->n));
    lua_pushvalue(L, density);
}

/* gpu.welch(x [, fs [, n [, step [, window]]]]) */
static int welch(lua_State *L)
{
    const struct rt_array *x = check_signal(L, "welch");
    lua_settop(L, 5);
    struct spectra s = check_segmented(L, "welch", x, 2);
    push_density(L, &s, push_mean_of_segments(L, push_power(L, push_transforms(L, &s, 1))));
    return 2;
}

/* The two signals, of which the second may be a list, too. */
static struct spectra check_two(lua_State *L, const char *what)
{
    const struct rt_array *x = check_signal(L, what), *y = lg_step_array(L, 2, x, RT_DTYPE_COUNT);
    lua_settop(L, 6);
    if (y->ndim < 1 || y->shape[y->ndim - 1] != x->shape[x->ndim - 1] || rt_is_complex(y->dtype)) {
        char text[256];
        luaL_error(L, "%s: y is %s of the shape %s, expected real signals of x's %I elements along the last axis", what,
                   rt_dtypes[y->dtype].name, rt_shape_text(y->ndim, y->shape, text, sizeof text),
                   (LUAI_UACINT)x->shape[x->ndim - 1]);
    }
    return check_segmented(L, what, x, 3);
}

static int push_cross(lua_State *L, int x, int y)
{
    return push_mean_of_segments(L, lg_step(L, "mul", "vv", lg_step(L, "conj", "v", x), y));
}

/* gpu.csd(x, y [, fs [, n [, step [, window]]]]) */
static int csd(lua_State *L)
{
    struct spectra s = check_two(L, "csd");
    int x = push_transforms(L, &s, 1), y = push_transforms(L, &s, 2);
    push_density(L, &s, push_cross(L, x, y));
    return 2;
}

/* gpu.coherence(x, y [, fs [, n [, step [, window]]]]) */
static int coherence(lua_State *L)
{
    struct spectra s = check_two(L, "coherence");
    int x = push_transforms(L, &s, 1), y = push_transforms(L, &s, 2);
    int both = push_power(L, push_cross(L, x, y)), one = push_mean_of_segments(L, push_power(L, x)),
        other = push_mean_of_segments(L, push_power(L, y));
    int part = lg_step(L, "div", "vv", lg_step(L, "div", "vv", both, one), other);
    push_density(L, &s, one);
    lua_pop(L, 1);
    lua_pushvalue(L, part);
    return 2;
}

/* gpu.spectrogram(x [, fs [, n [, step [, window]]]]) */
static int spectrogram(lua_State *L)
{
    const struct rt_array *x = check_signal(L, "spectrogram");
    lua_settop(L, 5);
    struct spectra s = check_segmented(L, "spectrogram", x, 2);
    int power = push_power(L, push_transforms(L, &s, 1));
    const struct rt_array *p = lg_form(L, power);
    push_density(L, &s, power);
    int density = lua_gettop(L), frequencies = density - 1;
    int k = lg_step(L, "gpu.range", "iiss", (int64_t)0, p->shape[p->ndim - 2] - 1, rt_dtypes[p->dtype].name,
                    rt_array_device(p)->name);
    int middle = lg_step(L, "add", "vn", lg_step(L, "mul", "vn", k, (double)s.step / s.fs), (double)s.n / 2 / s.fs);
    lua_pushvalue(L, frequencies);
    lua_pushvalue(L, middle);
    lg_step(L, "transpose", "vii", density, (int64_t)-1, (int64_t)-2);
    return 3;
}

/* Pushes the powers by the frequencies at a stack index, a column, of values at times. */
static int push_powers(lua_State *L, int times, int values, int rates)
{
    int turns = lg_step(L, "mul", "vv", rates, times), c = lg_step(L, "cos", "v", turns),
        s = lg_step(L, "sin", "v", turns);
    lg_check_array(L, c); /* once, for all sums */
    lg_check_array(L, s);
    int xc = lg_step(L, "matmul", "vv", c, values), xs = lg_step(L, "matmul", "vv", s, values);
    int cc = lg_step(L, "sum", "vi", lg_step(L, "square", "v", c), (int64_t)2);
    int ss = lg_step(L, "sum", "vi", lg_step(L, "square", "v", s), (int64_t)2);
    int cs = lg_step(L, "sum", "vi", lg_step(L, "mul", "vv", c, s), (int64_t)2);
    /* Turned by half the angle at which sines and cosines have nothing in common. */
    int half =
        lg_step(L, "mul", "vn",
                lg_step(L, "atan2", "vv", lg_step(L, "mul", "vn", cs, 2.0), lg_step(L, "sub", "vv", cc, ss)), 0.5);
    int co = lg_step(L, "cos", "v", half), si = lg_step(L, "sin", "v", half);
    int a = lg_step(L, "add", "vv", lg_step(L, "mul", "vv", co, xc), lg_step(L, "mul", "vv", si, xs));
    int b = lg_step(L, "sub", "vv", lg_step(L, "mul", "vv", co, xs), lg_step(L, "mul", "vv", si, xc));
    int c2 = lg_step(L, "square", "v", co), s2 = lg_step(L, "square", "v", si);
    int both = lg_step(L, "mul", "vv", lg_step(L, "mul", "vv", lg_step(L, "mul", "vn", co, 2.0), si), cs);
    int aa = lg_step(L, "add", "vv", lg_step(L, "add", "vv", lg_step(L, "mul", "vv", c2, cc), both),
                     lg_step(L, "mul", "vv", s2, ss));
    int bb = lg_step(L, "add", "vv", lg_step(L, "sub", "vv", lg_step(L, "mul", "vv", c2, ss), both),
                     lg_step(L, "mul", "vv", s2, cc));
    int power = lg_step(L, "add", "vv", lg_step(L, "div", "vv", lg_step(L, "square", "v", a), aa),
                        lg_step(L, "div", "vv", lg_step(L, "square", "v", b), bb));
    return lg_step(L, "mul", "vn", power, 0.5);
}

#define MOST_TURNS (1 << 22) /* of which there is one for each frequency and time, so many at once */

/* gpu.lombscargle(t, x, w) */
static int lombscargle(lua_State *L)
{
    static const char *const names[] = {"t", "x", "w"};
    const char *what = "lombscargle";
    const struct rt_array *t = lg_step_array(L, 1, NULL, RT_FLOAT64), *x = lg_step_array(L, 2, t, RT_FLOAT64);
    const struct rt_array *w = lg_step_array(L, 3, t, RT_FLOAT64), *each[] = {t, x, w};
    char text[256];
    for (int i = 0; i < 3; i++) {
        lg_check(L, kn_check_real(each[i], what, lg_error_box(L)));
        if (each[i]->ndim != 1 || (i == 1 && x->shape[0] != t->shape[0]))
            return luaL_error(L, "%s: %s has the shape %s, expected one axis%s", what, names[i],
                              rt_shape_text(each[i]->ndim, each[i]->shape, text, sizeof text),
                              i == 1 ? ", as long as that of t" : "");
    }
    int times = lg_step(L, "to", "vs", 1, "float64"), values = lg_step(L, "to", "vs", 2, "float64");
    int rates = lg_step(L, "unsqueeze", "vi", lg_step(L, "to", "vs", 3, "float64"), (int64_t)2);
    int64_t count = w->shape[0], most = MOST_TURNS / (t->shape[0] + 1) + 1;
    if (count <= most) {
        lua_pushvalue(L, push_powers(L, times, values, rates));
        return 1;
    }
    lua_newtable(L);
    int parts = lua_gettop(L), made = 0;
    for (int64_t from = 0; from < count; from += most) {
        lg_poll(L);
        int part = lg_push_narrowed(L, rates, 0, from, count - from < most ? count - from : most);
        lg_check_array(L, part = push_powers(L, times, values, part)); /* now, so that the turns go */
        lua_pushvalue(L, part);
        lua_rawseti(L, parts, ++made);
        lua_settop(L, parts);
    }
    lg_step(L, "gpu.concatenate", "v", parts);
    return 1;
}

/* ---- there and back ---- */

/* What comes before the window: the length of segments at idx, and their step. */
static void check_frames(lua_State *L, const char *what, int idx, int64_t otherwise, int64_t *n, int64_t *step)
{
    *n = lg_integer_option(L, idx, what, "n", otherwise);
    if (*n < 1 || *n > INT_MAX)
        luaL_error(L, "%s: n is %I, expected the length of a segment, 1 or more", what, (LUAI_UACINT)*n);
    *step = lg_integer_option(L, idx + 1, what, "step", *n < 4 ? 1 : *n / 4);
    if (*step < 1 || *step > *n)
        luaL_error(L, "%s: step is %I, expected 1 to %I", what, (LUAI_UACINT)*step, (LUAI_UACINT)*n);
}

static bool check_center(lua_State *L, int idx)
{
    return lua_isnoneornil(L, idx) || lg_check_flag(L, idx, "center");
}

/* Pushes the array at idx with so many elements before and behind its last axis. */
static int push_padded(lua_State *L, int idx, int64_t before, int64_t after, const char *mode)
{
    int ndim = lg_form(L, idx)->ndim;
    lua_createtable(L, ndim, 0);
    for (int i = 0; i < ndim; i++) {
        lg_push_shape(L, 2, (int64_t[]){i + 1 < ndim ? 0 : before, i + 1 < ndim ? 0 : after});
        lua_rawseti(L, -2, i + 1);
    }
    return lg_step(L, "pad", "vvs", idx, lua_gettop(L), mode);
}

/* gpu.stft(x [, n [, step [, window [, center]]]]) */
static int stft(lua_State *L)
{
    const struct rt_array *x = check_signal(L, "stft");
    lua_settop(L, 5);
    int64_t length = x->shape[x->ndim - 1], n, step;
    bool center = check_center(L, 5);
    check_frames(L, "stft", 2, length < 256 ? length : 256, &n, &step);
    if (x->ndim == RT_MAX_DIMS) return luaL_error(L, "stft: x has %d axes, expected fewer", RT_MAX_DIMS);
    if (center ? n / 2 >= length : n > length)
        return luaL_error(L, "stft: the signal has %I elements, expected %s the segment's n, which is %I",
                          (LUAI_UACINT)length, center ? "more than half of" : "at least", (LUAI_UACINT)n);
    int window = push_window(L, "stft", 4, n, floats_of(x), rt_array_device(x)->name);
    int floats = lg_step(L, "to", "vs", 1, floats_of(x));
    if (center) floats = push_padded(L, floats, n / 2, n / 2, "reflect");
    int segments = lg_step(L, "unfold", "viii", floats, (int64_t)-1, n, step);
    int spectra = lg_step(L, "gpu.fft.rfft", "v", lg_step(L, "mul", "vv", segments, window));
    lg_step(L, "transpose", "vii", spectra, (int64_t)-1, (int64_t)-2);
    return 1;
}

/* The spectra at 1: (..., n / 2 + 1, segments), of which there is one or more. */
static const struct rt_array *check_spectra(lua_State *L, int64_t n)
{
    const struct rt_array *x = lg_form(L, 1);
    int64_t bins = n / 2 + 1;
    char text[256];
    if (x->shape[x->ndim - 2] != bins)
        luaL_error(L, "istft: x has the shape %s, expected %I frequencies for n = %I on its last axis but one",
                   rt_shape_text(x->ndim, x->shape, text, sizeof text), (LUAI_UACINT)bins, (LUAI_UACINT)n);
    return x;
}

/* gpu.istft(x [, n [, step [, window [, center [, length]]]]]) */
static int istft(lua_State *L)
{
    const struct rt_array *x = lg_check_form(L, 1);
    lua_settop(L, 6);
    char text[256];
    if (!rt_is_complex(x->dtype) || x->ndim < 2 || x->shape[x->ndim - 1] == 0 || x->shape[x->ndim - 2] == 0)
        return luaL_error(
            L, "istft: x is of %s and has the shape %s, expected complex numbers (..., frequencies, segments)",
            rt_dtypes[x->dtype].name, rt_shape_text(x->ndim, x->shape, text, sizeof text));
    int64_t n, step, batch = 1, shape[RT_MAX_DIMS], count = x->shape[x->ndim - 1], bins = x->shape[x->ndim - 2];
    check_frames(L, "istft", 2, bins > 1 ? 2 * (bins - 1) : 1, &n, &step);
    x = check_spectra(L, n);
    bool center = check_center(L, 5);
    int64_t edge = center ? n / 2 : 0, reach = (count - 1) * step + n - edge;
    int64_t length = lg_integer_option(L, 6, "istft", "length", reach - edge);
    if (length < 0 || length > reach)
        return luaL_error(L, "istft: length is %I, expected up to the %I elements that the segments reach over",
                          (LUAI_UACINT)length, (LUAI_UACINT)reach);
    for (int i = 0; i < x->ndim - 2; i++) batch *= shape[i] = x->shape[i];
    const char *dtype = x->dtype == RT_COMPLEX128 ? "float64" : "float32";
    int window = push_window(L, "istft", 4, n, dtype, rt_array_device(x)->name);
    int turned = lg_step(L, "transpose", "vii", 1, (int64_t)-1, (int64_t)-2);
    int segments = lg_step(L, "mul", "vv", lg_step(L, "gpu.fft.irfft", "vi", turned, n), window);
    int sum = lg_push_overlapped(L, lg_push_reshaped(L, segments, 3, (int64_t[]){batch, count, n}), step);
    lg_push_shape(L, 3, (int64_t[]){1, count, n});
    int form = lua_gettop(L), square = lg_step(L, "square", "v", window);
    int weight = lg_push_overlapped(L, lg_step(L, "broadcast_to", "vv", square, form), step);
    int least = lg_step(L, "mul", "vn", lg_step(L, "max", "vib", square, (int64_t)1, true), 1e-10);
    int whole = lg_step(L, "where", "viv", lg_step(L, "le", "vv", weight, least), (int64_t)0,
                        lg_step(L, "div", "vv", sum, weight));
    int line = lg_push_narrowed(L, whole, 1, edge, length);
    shape[x->ndim - 2] = length;
    lg_push_reshaped(L, line, x->ndim - 1, shape);
    return 1;
}

const struct lg_function lg_spectrum_functions[] = {
    {"hilbert", hilbert, "gpu.hilbert(x [, axis])",
     "The analytic signal, complex: its real part is x, its imaginary one x a quarter of a turn later.\n"
     "Along an axis, the last unless told otherwise. x:abs() of it is the envelope, x:angle() the phase.",
     "local t = gpu.range(0, 7, 'float64') * (math.pi / 4)\nassert(gpu.hilbert(t:cos()):abs():allclose(1))"},
    {"csd", csd, "gpu.csd(x, y [, fs [, n [, step [, window]]]])",
     "The cross power density of two signals: frequencies, and complex numbers whose angle is how far y is ahead of x.\n"
     "Segments and options are those of gpu.welch, whose result it is where y is x.",
     "local t = gpu.range(0, 1023)\n"
     "local f, p = gpu.csd((t * (math.pi / 4)):sin(), (t * (math.pi / 4) + 1):sin(), {n = 64})\n"
     "local k = p:abs():argmax()\nassert(f[k] == 1 / 8 and math.abs(p:angle()[k] - 1) < 1e-3)"},
    {"coherence", coherence, "gpu.coherence(x, y [, fs [, n [, step [, window]]]])",
     "How far two signals go along with each other: frequencies, and numbers from 0 to 1.\n"
     "It is |csd(x, y)|^2 / (welch(x) welch(y)), with the segments and options of gpu.welch, of which there must be several.",
     "local x, e = gpu.random.generator(1):randn(4096), gpu.random.generator(2):randn(4096)\n"
     "local f, c = gpu.coherence(x, 2 * x + 0.1 * e)\n"
     "assert(c:min() > 0.9 and select(2, gpu.coherence(x, e)):mean() < 0.2)"},
    {"welch", welch, "gpu.welch(x [, fs [, n [, step [, window]]]])",
     "The power of a signal by frequency: the frequencies, and for each of them the density, x's square by that of fs.\n"
     "Segments of n elements along the last axis, 256 unless told otherwise, `step` apart, half of n, lose their mean, go "
     "through the window (\"hann\", \"hamming\", \"blackman\", \"boxcar\", or its n numbers) and the transform, and their squares are "
     "averaged. fs is 1 unless told otherwise.",
     "local t = gpu.range(0, 511, 'float64')\n"
     "local f, p = gpu.welch((t * (2 * math.pi / 8)):sin(), {n = 64})\nassert(f[p:argmax()] == 1 / 8)"},
    {"spectrogram", spectrogram, "gpu.spectrogram(x [, fs [, n [, step [, window]]]])",
     "The power of a signal by frequency and time: frequencies, the times of the segments' middles, and the density.\n"
     "Segments and options are those of gpu.welch, which averages over them; the density is (..., frequencies, times).",
     "local x = (gpu.range(0, 511, 'float64') ^ 2 / 1000):sin()\n"
     "local f, t, p = gpu.spectrogram(x, {n = 64})\n"
     "assert(p[{ {}, 1 }]:argmax() < p[{ {}, -1 }]:argmax() and t[1] == 32)"},
    {"lombscargle", lombscargle, "gpu.lombscargle(t, x, w)",
     "The power of a signal x at the times t, which may be any, by the angular frequencies w, above 0: Lomb and Scargle's "
     "periodogram, in float64.\nAll are arrays or lists of one axis. Take the mean from x first.",
     "local t = gpu.array({0, 1, 2.5, 3, 4.5, 6, 7})\nlocal p = gpu.lombscargle(t, (t * 2):sin(), {1, 2, 3})\n"
     "assert(p:argmax() == 2)"},
    {"stft", stft, "gpu.stft(x [, n [, step [, window [, center]]]])",
     "The transforms of segments of a signal through a window: (..., n // 2 + 1 frequencies, segments), complex.\n"
     "Segments of n elements along the last axis, 256 or the signal's where it has fewer, are `step` apart, a quarter of n. The window "
     "is \"hann\", \"hamming\", \"blackman\", \"boxcar\" or its n numbers. The signal is mirrored at its ends, so that "
     "segment k has its middle at element k * step + 1; with center = false the first one begins with the first "
     "element. Nothing is scaled, as in PyTorch. gpu.istft undoes it.",
     "local x = gpu.random.normal(0, 1, 1000)\nlocal s = gpu.stft(x, 64)\n"
     "assert(s.shape[1] == 33 and gpu.istft(s, {n = 64, length = 1000}):allclose(x, 1e-3, 1e-4))"},
    {"istft", istft, "gpu.istft(x [, n [, step [, window [, center [, length]]]]])",
     "The signal whose gpu.stft is x, or comes nearest to it in squares.\n"
     "n is 2 (frequencies - 1) unless told otherwise; n, step, window and center are those of gpu.stft. length cuts off "
     "what the signal did not have, or goes on to half a segment behind the last one's middle. Elements that no window "
     "has reached are 0.",
     "local x = gpu.range(100)\nlocal s = gpu.stft(x, {n = 16, step = 4})\n"
     "assert(gpu.istft(s, {step = 4}):allclose(x, 1e-4, 1e-3))"},
    {0}};
