/* What filters let through by frequency: gpu.freqz, gpu.sosfreqz. Computed on the host, where the coefficients are. */
#include <complex.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "lang/signal.h"
#include "lang/steps.h"

#define PI LG_PI

/* Frequencies in radians for each element, and as the user has them, on the host and on the device. */
struct frequencies {
    int64_t count;
    double *radians; /* with room for a complex response behind them */
    double complex *response;
    int given; /* the array of them, at a stack index */
};

/* That of the first of the arguments up to last that is an array, else the default one. */
static struct rt_device *device_of(lua_State *L, int last)
{
    for (int i = 1; i <= last; i++)
        if (lg_test_array(L, i)) return rt_array_device(lg_form(L, i));
    return lg_check_device(L, lua_gettop(L) + 1);
}

/* From how many, 512 unless told otherwise, or from which, at idx; from the whole circle, or half of it; and the
 * sampling rate, 2 pi unless told otherwise. The results will be on d. */
static struct frequencies push_frequencies(lua_State *L, const char *what, int idx, struct rt_device *d)
{
    struct frequencies f = {0};
    bool whole = lg_check_flag(L, idx + 1, "whole");
    double fs = lg_number_option(L, idx + 2, what, "fs", 2 * PI);
    if (!(fs > 0)) luaL_error(L, "%s: fs is %s, expected the sampling rate, above 0", what, lua_tostring(L, idx + 2));
    const double *given = NULL;
    if (lua_istable(L, idx) || lg_test_array(L, idx)) {
        given = lg_push_coefficients(L, what, idx, "n", &f.count);
    } else {
        lua_Integer n = lg_integer_option(L, idx, what, "n", 512);
        if (n < 1 || n > INT_MAX)
            luaL_error(L, "%s: n is %I, expected how many frequencies, 1 or more, or a list of them", what,
                       (LUAI_UACINT)n);
        f.count = n;
    }
    f.response = lua_newuserdatauv(L, (size_t)f.count * (sizeof *f.response + sizeof *f.radians), 0);
    f.radians = (double *)(f.response + f.count);
    double *hertz = lua_newuserdatauv(L, (size_t)f.count * sizeof *hertz, 0);
    for (int64_t i = 0; i < f.count; i++) {
        f.radians[i] = given ? given[i] * (2 * PI / fs) : (whole ? 2 : 1) * PI * (double)i / (double)f.count;
        hertz[i] = given ? given[i] : f.radians[i] * (fs / (2 * PI));
    }
    struct rt_array *out = lg_new_array(L);
    lg_check(L, rt_array_new(d, RT_FLOAT64, 1, &f.count, out, lg_error_box(L)));
    lg_check(L, rt_array_write(out, hertz, lg_error_box(L)));
    f.given = lua_gettop(L);
    return f;
}

/* c[0] + c[1] z + ... */
static double complex polynomial(const double *c, int64_t count, double complex z)
{
    double complex v = 0;
    for (int64_t k = count - 1; k >= 0; k--) v = v * z + c[k];
    return v;
}

static int give(lua_State *L, const struct frequencies *f)
{
    struct rt_array *out = lg_new_array(L);
    lg_check(L, rt_array_new(rt_array_device(lg_form(L, f->given)), RT_COMPLEX128, 1, &f->count, out, lg_error_box(L)));
    lg_check(L, rt_array_write(out, f->response, lg_error_box(L)));
    lua_pushvalue(L, f->given);
    lua_insert(L, -2);
    return 2;
}

/* gpu.freqz(b [, a [, n [, whole [, fs]]]]) */
static int freqz(lua_State *L)
{
    int64_t nb, na;
    lua_settop(L, 5);
    if (lua_isnil(L, 2)) {
        lua_pushinteger(L, 1);
        lua_replace(L, 2);
    }
    struct rt_device *d = device_of(L, 3);
    const double *b = lg_push_coefficients(L, "freqz", 1, "b", &nb), *a = lg_push_coefficients(L, "freqz", 2, "a", &na);
    struct frequencies f = push_frequencies(L, "freqz", 3, d);
    for (int64_t i = 0; i < f.count; i++) {
        double complex z = cexp(-I * f.radians[i]);
        if (i % 1024 == 0) lg_poll(L);
        f.response[i] = polynomial(b, nb, z) / polynomial(a, na, z);
    }
    return give(L, &f);
}

/* gpu.sosfreqz(sos [, n [, whole [, fs]]]) */
static int sosfreqz(lua_State *L)
{
    lua_settop(L, 4);
    struct rt_device *d = device_of(L, 2);
    struct lg_sections s = lg_push_sections(L, "sosfreqz");
    struct frequencies f = push_frequencies(L, "sosfreqz", 2, d);
    for (int64_t i = 0; i < f.count; i++) {
        double complex z = cexp(-I * f.radians[i]), v = 1;
        if (i % 1024 == 0) lg_poll(L);
        for (int64_t k = 0; k < s.count; k++) v *= polynomial(s.rows[k], 3, z) / polynomial(s.rows[k] + 3, 3, z);
        f.response[i] = v;
    }
    return give(L, &f);
}

#define FREQUENCIES                                                                                                       \
    "n is how many of them, 512 unless told otherwise, from 0 to half the sampling rate, which is not among them, or "    \
    "with whole = true to all of it; or a list or array of frequencies. They are in radians for each element unless the " \
    "sampling rate fs is given. float64 and complex128; computed on the host."

const struct lg_function lg_response_functions[] = {
    {"freqz", freqz, "gpu.freqz(b [, a [, n [, whole [, fs]]]])",
     "Frequencies, and what the filter b, a, as gpu.lfilter takes it, makes of each: a complex number.\n"
     "h:abs() is how much passes, h:angle() how far it is turned. a is 1 unless told otherwise. " FREQUENCIES,
     "local w, h = gpu.freqz({1, 1}, 2, {0, math.pi / 2})\n"
     "assert(h:abs():allclose(gpu.array({1, math.sqrt(0.5)}, 'float64')))"},
    {"sosfreqz", sosfreqz, "gpu.sosfreqz(sos [, n [, whole [, fs]]])",
     "Frequencies, and what the sections of second order, as gpu.butter makes them, make of each: a complex number.\n" FREQUENCIES,
     "local f, h = gpu.sosfreqz(gpu.butter(3, 100, 'lowpass', 1000), {0, 100}, {fs = 1000})\n"
     "assert(h:abs():allclose(gpu.array({1, math.sqrt(0.5)}, 'float64')))"},
    {0}};
