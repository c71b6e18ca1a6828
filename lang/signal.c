/* Filters by design, and spectra of signals. */
#include <complex.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include "lang/closest.h"
#include "lang/steps.h"

#define MOST_ORDER 64
#define PI         3.14159265358979323846

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

static int sosfilt(lua_State *L)
{
    lua_settop(L, 3);
    const struct rt_array *sos = lg_step_array(L, 1, NULL, RT_FLOAT64);
    char text[256];
    if (sos->ndim != 2 || sos->shape[1] != 6 || sos->shape[0] == 0)
        return luaL_error(L, "sosfilt: sos has the shape %s, expected (sections, 6), as gpu.butter makes it",
                          rt_shape_text(sos->ndim, sos->shape, text, sizeof text));
    int64_t count = sos->shape[0];
    const struct rt_array *x = lg_step_array(L, 2, NULL, RT_DTYPE_COUNT);
    lg_check(L, kn_check_real(x, "sosfilt", lg_error_box(L)));
    enum rt_dtype result = lg_floating(x);
    int host = lg_step(L, "to", "vss", 1, "float64", "cpu"), y = lg_step(L, "to", "vs", 2, "float64");
    for (int64_t i = 1; i <= count; i++) {
        int row = lg_step(L, "select", "vii", host, (int64_t)1, i);
        int b = lg_step(L, "narrow", "viii", row, (int64_t)1, (int64_t)1, (int64_t)3);
        int a = lg_step(L, "narrow", "viii", row, (int64_t)1, (int64_t)4, (int64_t)3);
        lua_pushvalue(L, lg_step(L, "gpu.lfilter", "vvvv", b, a, y, 3));
        lua_replace(L, y);
        lua_settop(L, y);
    }
    lg_step(L, "to", "vs", y, rt_dtypes[result].name);
    return 1;
}

/* ---- windows ---- */
enum window { HANN, HAMMING, BLACKMAN, BOXCAR };
static const char *const windows[] = {"hann", "hamming", "blackman", "boxcar", NULL};

/* Element i of a window whose ends lie at 0 and at `span`. */
static double window_at(enum window window, double i, double span)
{
    double w = span > 0 ? cos(2 * PI * i / span) : 1;
    if (span <= 0) return 1;
    switch (window) {
    case HANN: return 0.5 - 0.5 * w;
    case HAMMING: return 0.54 - 0.46 * w;
    case BLACKMAN: return 0.42 - 0.5 * w + 0.08 * (2 * w * w - 1);
    default: return 1;
    }
}

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
    enum window window = (enum window)lg_check_option(L, 5, "hamming", windows);
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
        h[i] = ideal(kind, edges, k) * window_at(window, (double)i, (double)count - 1);
        sum += h[i] * cos(PI * k * at);
    }
    for (lua_Integer i = 0; i < count; i++) h[i] /= sum; /* one at the middle of what passes */
    push_numbers(L, (int)count, h);
    return 1;
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

/* The window at idx as n numbers beside the signal, whose end is the next one's begin. */
static int push_window(lua_State *L, int idx, int64_t n, const struct rt_array *x, double *squares)
{
    enum window window = (enum window)lg_check_option(L, idx, "hann", windows);
    *squares = 0;
    lua_createtable(L, n < INT_MAX ? (int)n : 0, 0);
    for (int64_t i = 0; i < n; i++) {
        double w = window_at(window, (double)i, n > 1 ? (double)n : 0);
        *squares += w * w;
        lua_pushnumber(L, w);
        lua_rawseti(L, -2, i + 1);
    }
    const char *dtype = lg_floating(x) == RT_FLOAT64 ? "float64" : "float32";
    return lg_step(L, "gpu.array", "vss", lua_gettop(L), dtype, rt_array_device(x)->name);
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

/* gpu.welch(x [, fs [, n [, step [, window]]]]) */
static int welch(lua_State *L)
{
    const struct rt_array *x = check_signal(L, "welch");
    lua_settop(L, 5);
    double fs = lg_number_option(L, 2, "welch", "fs", 1), squares;
    int64_t length = x->shape[x->ndim - 1], n, step;
    if (!(fs > 0)) return luaL_error(L, "welch: fs is %s, expected the sampling rate, above 0", lua_tostring(L, 2));
    check_segments(L, "welch", 3, length, length < 256 ? length : 256, &n, &step);
    int window = push_window(L, 5, n, x, &squares),
        floats = lg_step(L, "to", "vs", 1, rt_dtypes[lg_form(L, window)->dtype].name);
    int segments = lg_step(L, "unfold", "viii", floats, (int64_t)-1, n, step);
    int level = lg_step(L, "sub", "vv", segments, lg_step(L, "mean", "vib", segments, (int64_t)-1, 1));
    int spectra = lg_step(L, "gpu.fft.rfft", "v", lg_step(L, "mul", "vv", level, window));
    int power = lg_step(L, "mean", "vi", lg_step(L, "square", "v", lg_step(L, "abs", "v", spectra)), (int64_t)-2);
    const char *device = rt_array_device(x)->name, *dtype = rt_dtypes[lg_form(L, window)->dtype].name;
    int k = lg_step(L, "gpu.range", "iiss", (int64_t)0, n / 2, dtype, device);
    int sides = lg_step(L, "sub", "nv", 2.0,
                        lg_step(L, "logical_or", "vv", lg_step(L, "eq", "vi", k, (int64_t)0),
                                lg_step(L, "eq", "vn", k, (double)n / 2)));
    int density = lg_step(L, "mul", "vn", lg_step(L, "mul", "vv", power, sides), 1 / (fs * squares));
    lua_pushvalue(L, lg_step(L, "mul", "vn", k, fs / (double)n));
    lua_pushvalue(L, density);
    return 2;
}

#define BAND                                                                                                                    \
    "kind is \"lowpass\", the default, \"highpass\", or with {low, high} for the edge \"bandpass\" or \"bandstop\". Edges are " \
    "frequencies below half the sampling rate fs, which is 2 unless told otherwise, so that they are parts of it. "

const struct lg_function lg_signal_functions[] = {
    {"butter", butter, "gpu.butter(order, edge [, kind [, fs]])",
     "A Butterworth filter as sections of second order, for gpu.sosfilt: (sections, 6) in float64.\n" BAND
     "A section's row is b[1] to b[3], then a[1] to a[3]. The order is from 1 to 64, and twice that for bands.",
     "local sos = gpu.butter(2, 0.5)\nassert(#sos == 1 and math.abs(sos[{1, 1}] - 0.2928932) < 1e-6)"},
    {"sosfilt", sosfilt, "gpu.sosfilt(sos, x [, axis])",
     "x filtered by one section of second order after the other, along an axis, the last unless told otherwise.\n"
     "Each is gpu.lfilter, in float64; the result is of x's floating dtype.",
     "local y = gpu.sosfilt(gpu.butter(4, 0.2), gpu.ones(200))\nassert(math.abs(y[200] - 1) < 1e-5)"},
    {"firwin", firwin, "gpu.firwin(count, edge [, kind [, fs [, window]]])",
     "A filter without feedback, as so many coefficients in float64, for x:convolve or gpu.lfilter.\n" BAND
     "The ideal one is cut off by the window, \"hamming\" unless told otherwise, \"hann\", \"blackman\" or \"boxcar\", and "
     "made 1 at the middle of what passes.",
     "local h = gpu.firwin(5, 0.5)\nassert(#h == 5 and math.abs(h:sum() - 1) < 1e-12)"},
    {"hilbert", hilbert, "gpu.hilbert(x [, axis])",
     "The analytic signal, complex: its real part is x, its imaginary one x a quarter of a turn later.\n"
     "Along an axis, the last unless told otherwise. x:abs() of it is the envelope, x:angle() the phase.",
     "local t = gpu.range(0, 7, 'float64') * (math.pi / 4)\nassert(gpu.hilbert(t:cos()):abs():allclose(1))"},
    {"welch", welch, "gpu.welch(x [, fs [, n [, step [, window]]]])",
     "The power of a signal by frequency: the frequencies, and for each of them the density, x's square by that of fs.\n"
     "Segments of n elements along the last axis, 256 unless told otherwise, `step` apart, half of n, lose their mean, go "
     "through the window (\"hann\", \"hamming\", \"blackman\" or \"boxcar\") and the transform, and their squares are "
     "averaged. fs is 1 unless told otherwise.",
     "local t = gpu.range(0, 511, 'float64')\n"
     "local f, p = gpu.welch((t * (2 * math.pi / 8)):sin(), {n = 64})\nassert(f[p:argmax()] == 1 / 8)"},
    {0}};
