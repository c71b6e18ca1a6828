/* gpu.fft: discrete Fourier transforms, with NumPy's names and options. */
#include <math.h>
#include <string.h>
#include "kernels/fft.h"
#include "lang/closest.h"
#include "lang/fft.h"
#include "lang/steps.h"

struct options {
    struct lg_fft_axes along;
    enum lg_fft_norm norm;
};

#define MOST_LENGTH ((int64_t)1 << 48) /* more than memory has room for */

static const char *const norms[] = {"backward", "ortho", "forward", NULL};

enum lg_fft_norm lg_fft_norm(lua_State *L, int idx)
{
    return (enum lg_fft_norm)lg_check_option(L, idx, "backward", norms);
}

int64_t lg_fft_length(lua_State *L, int idx)
{
    int whole;
    lua_Integer n = lua_tointegerx(L, idx, &whole);
    if (!whole || n < 1 || n > MOST_LENGTH)
        luaL_error(L, "the length of a transform is an integer from 1 to 2^48, not %s",
                   lua_isnumber(L, idx) ? luaL_tolstring(L, idx, NULL) : lg_type_name(L, idx));
    return n;
}

/* The last so many axes. */
static void choose_last(int ndim, int count, struct lg_fft_axes *o)
{
    o->count = count;
    for (int i = 0; i < count; i++) o->axes[i] = ndim - count + i;
}

/* ---- one axis ---- */
/* x, n, axis, norm. */
static void check_one(lua_State *L, const struct rt_array *a, struct options *o)
{
    static const char *const names[] = {"n", "axis", "norm", NULL};
    if (a->ndim == 0) luaL_error(L, "an array of no axes has nothing to transform along");
    *o = (struct options){.norm = LG_FFT_BACKWARD};
    choose_last(a->ndim, 1, &o->along);
    lg_spread(L, 2, "gpu.fft", names);
    if (!lua_isnoneornil(L, 2)) o->along.n[0] = lg_fft_length(L, 2);
    if (!lua_isnoneornil(L, 3)) o->along.axes[0] = lg_check_axis(L, 3, a->ndim);
    o->norm = lg_fft_norm(L, 4);
}

/* ---- several axes ---- */

/* The lengths at idx, a list of them; nothing for nil. Returns how many. */
static int check_lengths(lua_State *L, int idx, int64_t *n)
{
    if (lua_isnoneornil(L, idx)) return 0;
    luaL_checktype(L, idx, LUA_TTABLE);
    size_t count = lua_rawlen(L, idx);
    if (count > RT_MAX_DIMS) luaL_error(L, "an array has at most %d axes", RT_MAX_DIMS);
    for (size_t i = 0; i < count; i++, lua_pop(L, 1)) {
        lua_rawgeti(L, idx, (lua_Integer)i + 1);
        n[i] = lg_fft_length(L, -1);
    }
    return (int)count;
}

void lg_fft_axes(lua_State *L, int idx, int ndim, int count, struct lg_fft_axes *out)
{
    *out = (struct lg_fft_axes){.count = 0};
    int lengths = check_lengths(L, idx, out->n);
    if (!lua_isnoneornil(L, idx + 1)) {
        luaL_checktype(L, idx + 1, LUA_TTABLE);
        out->count = lg_check_axes(L, idx + 1, ndim, out->axes);
    } else {
        int wanted = lengths ? lengths : count ? count : ndim;
        if (wanted > ndim) luaL_error(L, "a transform along %d axes, of an array that has %d", wanted, ndim);
        choose_last(ndim, wanted, out);
    }
    if (lengths && lengths != out->count) luaL_error(L, "%d lengths for %d axes", lengths, out->count);
}

/* x, s, axes, norm. `count` axes unless told, 0: all. */
static void check_many(lua_State *L, const struct rt_array *a, int count, struct options *o)
{
    static const char *const names[] = {"s", "axes", "norm", NULL};
    lg_spread(L, 2, "gpu.fft", names);
    lg_fft_axes(L, 2, a->ndim, count, &o->along);
    o->norm = lg_fft_norm(L, 4);
}

/* ---- transforms ---- */
static double scale_for(const struct options *o, bool inverse, int64_t n)
{
    if (o->norm == LG_FFT_ORTHO) return 1 / sqrt((double)n);
    return inverse == (o->norm == LG_FFT_BACKWARD) ? 1 / (double)n : 1;
}

/* Pushes the transform of the array at the top, and takes that away. */
static void transform(lua_State *L, enum kn_fft kind, const struct options *o, int which)
{
    const struct rt_array *a = lg_check_array(L, -1);
    int axis = o->along.axes[which];
    int64_t length = a->shape[axis], n = o->along.n[which]  ? o->along.n[which]
                                         : kind == KN_IRFFT ? 2 * (length - 1)
                                                            : length;
    if (n < 1)
        luaL_error(L, "axis %d has %I element%s, which is nothing to transform; give the length n", axis + 1,
                   (LUAI_UACINT)length, length == 1 ? "" : "s");
    struct rt_array *out = lg_new_array(L);
    lg_check(L, kn_fft(kind, a, axis, n, scale_for(o, kind == KN_IFFT || kind == KN_IRFFT, n), out, lg_error_box(L)));
    lua_remove(L, -2);
}

/* Along all axes, the last one first but for irfft, which needs it whole. */
static int run(lua_State *L, enum kn_fft kind, const struct options *o)
{
    int count = o->along.count;
    static const enum kn_fft others[] = {KN_FFT, KN_IFFT, KN_FFT, KN_IFFT};
    lua_pushvalue(L, 1);
    if (count == 0) return 1;
    if (kind != KN_IRFFT) transform(L, kind, o, count - 1);
    for (int i = count - 2; i >= 0; i--) transform(L, others[kind], o, i);
    if (kind == KN_IRFFT) transform(L, kind, o, count - 1);
    return 1;
}

static int along_one(lua_State *L, enum kn_fft kind)
{
    struct options o;
    check_one(L, lg_check_array(L, 1), &o);
    return run(L, kind, &o);
}

static int along_many(lua_State *L, enum kn_fft kind, int count)
{
    struct options o;
    check_many(L, lg_check_array(L, 1), count, &o);
    return run(L, kind, &o);
}

#define TRANSFORMS(name, kind)                                                                                         \
    static int name(lua_State *L)                                                                                      \
    {                                                                                                                  \
        return along_one(L, kind);                                                                                     \
    }                                                                                                                  \
    static int name##2(lua_State * L)                                                                                  \
    {                                                                                                                  \
        return along_many(L, kind, 2);                                                                                 \
    }                                                                                                                  \
    static int name##n(lua_State *L)                                                                                   \
    {                                                                                                                  \
        return along_many(L, kind, 0);                                                                                 \
    }
TRANSFORMS(fft, KN_FFT)
TRANSFORMS(ifft, KN_IFFT)
TRANSFORMS(rfft, KN_RFFT)
TRANSFORMS(irfft, KN_IRFFT)

/* ---- what has a conjugate half ---- */

/* Pushes the conjugate of the array at the top in its place. */
static void conjugate(lua_State *L)
{
    const struct rt_array *a = lg_check_array(L, -1);
    if (!rt_is_complex(a->dtype)) return;
    struct rt_array *out = lg_new_array(L);
    lg_check(L, kn_apply(KN_CONJ, (struct kn_operand[]){{.array = a}}, out, lg_error_box(L)));
    lua_remove(L, -2);
}

/* The directions exchanged, which is what norm speaks of. */
static void turn(struct options *o)
{
    if (o->norm != LG_FFT_ORTHO) o->norm = o->norm == LG_FFT_BACKWARD ? LG_FFT_FORWARD : LG_FFT_BACKWARD;
}

static int hfft(lua_State *L)
{
    struct options o;
    check_one(L, lg_check_array(L, 1), &o);
    turn(&o);
    lua_pushvalue(L, 1);
    conjugate(L);
    lua_replace(L, 1);
    return run(L, KN_IRFFT, &o);
}

static int ihfft(lua_State *L)
{
    struct options o;
    check_one(L, lg_check_array(L, 1), &o);
    turn(&o);
    run(L, KN_RFFT, &o);
    conjugate(L);
    return 1;
}

/* ---- frequencies ---- */

/* n, d, dtype, device: `count` numbers, of which those from number `positive` on count up to -1, over n d. */
static int push_frequencies(lua_State *L, int64_t n, int64_t count, int64_t positive)
{
    bool spaced = lua_type(L, 2) == LUA_TNUMBER;
    double d = spaced ? lua_tonumber(L, 2) : 1;
    struct lg_placement p = {RT_DTYPE_COUNT, NULL};
    struct rt_error *e = lg_error_box(L);
    lg_check_placement(L, spaced ? 3 : 2, &p);
    struct rt_array *out = lg_push_empty(L, &p, 1, &count), part = *out; /* borrowed */
    struct kn_operand one = {.i = 1}, first = {.i = 0},
                      args[2] = {{.array = out}, {.is_float = true, .f = 1 / (d * (double)n)}};
    part.shape[0] = positive;
    lg_check(L, kn_sequence(&part, &first, &one, e));
    part.offset += positive;
    part.shape[0] = count - positive;
    first.i = positive - n;
    lg_check(L, kn_sequence(&part, &first, &one, e));
    lg_check(L, kn_apply(KN_MUL, args, out, e));
    return 1;
}

static int fftfreq(lua_State *L)
{
    int64_t n = lg_fft_length(L, 1);
    return push_frequencies(L, n, n, (n + 1) / 2);
}

static int rfftfreq(lua_State *L)
{
    int64_t n = lg_fft_length(L, 1);
    return push_frequencies(L, n, n / 2 + 1, n / 2 + 1);
}

/* Rolls each axis by half its length, forwards or backwards. */
static int shift(lua_State *L, int sign)
{
    const struct rt_array *a = lg_check_form(L, 1);
    int axes[RT_MAX_DIMS], count = a->ndim;
    for (int i = 0; i < count; i++) axes[i] = i;
    if (!lua_isnoneornil(L, 2)) count = lg_check_axes(L, 2, a->ndim, axes);
    lua_settop(L, 1);
    for (int i = 0; i < count; i++) {
        lua_getfield(L, -1, "roll");
        lua_insert(L, -2);
        lua_pushinteger(L, sign * (a->shape[axes[i]] / 2));
        lua_pushinteger(L, axes[i] + 1);
        lua_call(L, 3, 1);
        a = lg_check_form(L, -1);
    }
    return 1;
}

static int fftshift(lua_State *L)
{
    return shift(L, 1);
}
static int ifftshift(lua_State *L)
{
    return shift(L, -1);
}

#define ONE                                                                                                                \
    "\nThe axis (the last one unless told) is cut or filled with zeros to the length n. norm says what is divided by: "    \
    "\"backward\" the inverse by n, \"forward\" the other by n, \"ortho\" both by its root. Also as (x, {n = ..., axis = " \
    "..., norm = ...}). float32 and complex64 give complex64, wider ones complex128."
#define MANY                                                                                                            \
    "\ns is the list of lengths, axes that of axes, norm as for gpu.fft.fft; also as (x, {s = ..., axes = ..., norm = " \
    "...})."

static const struct lg_function rows[] = {
    {"fft", fft, "gpu.fft.fft(x [, n [, axis [, norm]]])", "The discrete Fourier transform along an axis." ONE,
     "local y = gpu.fft.fft(gpu.array({1, 0, 0, 0}))\nassert(y:allclose(gpu.ones(4)) and y.dtype == 'complex64')"},
    {"ifft", ifft, "gpu.fft.ifft(x [, n [, axis [, norm]]])", "The inverse of gpu.fft.fft." ONE,
     "local x = gpu.random.normal(0, 1, 100)\nassert(gpu.fft.ifft(gpu.fft.fft(x)).real:allclose(x, 1e-4, 1e-5))"},
    {"rfft", rfft, "gpu.fft.rfft(x [, n [, axis [, norm]]])",
     "The transform of real numbers: its first n // 2 + 1 elements, of which the others are the conjugates." ONE,
     "assert(gpu.fft.rfft(gpu.array({1, 2, 3, 4})):allclose(gpu.fft.fft(gpu.array({1, 2, 3, 4}))['1:3'], 1e-5, 1e-5))"},
    {"irfft", irfft, "gpu.fft.irfft(x [, n [, axis [, norm]]])",
     "The inverse of gpu.fft.rfft: n real numbers, 2 (m - 1) of m elements unless told." ONE,
     "local x = gpu.random.normal(0, 1, 10)\nassert(gpu.fft.irfft(gpu.fft.rfft(x)):allclose(x, 1e-4, 1e-5))"},
    {"hfft", hfft, "gpu.fft.hfft(x [, n [, axis [, norm]]])",
     "The transform, n real numbers, of n numbers of which x is the first half and the rest its conjugates: 2 (m - 1) of m "
     "elements unless told." ONE,
     "local x = gpu.range(6)\nassert(gpu.fft.hfft(gpu.fft.ihfft(x)):allclose(x, 1e-4, 1e-5))"},
    {"ihfft", ihfft, "gpu.fft.ihfft(x [, n [, axis [, norm]]])", "The inverse of gpu.fft.hfft." ONE,
     "assert(gpu.fft.ihfft(gpu.ones(4)):allclose(gpu.array({1, 0, 0})))"},
    {"fft2", fft2, "gpu.fft.fft2(x [, s [, axes [, norm]]])",
     "The transform along two axes, the last ones unless told." MANY,
     "assert(gpu.fft.fft2(gpu.ones(4, 4))[{1, 1}] == gpu.complex(16))"},
    {"ifft2", ifft2, "gpu.fft.ifft2(x [, s [, axes [, norm]]])", "The inverse of gpu.fft.fft2." MANY,
     "local x = gpu.random.normal(0, 1, {4, 6})\nassert(gpu.fft.ifft2(gpu.fft.fft2(x)).real:allclose(x, 1e-4, 1e-5))"},
    {"rfft2", rfft2, "gpu.fft.rfft2(x [, s [, axes [, norm]]])",
     "The transform of real numbers along two axes: the last one's first half." MANY,
     "assert(gpu.fft.rfft2(gpu.ones(4, 6)).shape[2] == 4)"},
    {"irfft2", irfft2, "gpu.fft.irfft2(x [, s [, axes [, norm]]])",
     "The inverse of gpu.fft.rfft2, as real numbers." MANY,
     "local x = gpu.random.normal(0, 1, {4, 6})\nassert(gpu.fft.irfft2(gpu.fft.rfft2(x)):allclose(x, 1e-4, 1e-5))"},
    {"fftn", fftn, "gpu.fft.fftn(x [, s [, axes [, norm]]])",
     "The transform along several axes: all of them or, of given lengths, so many of the last." MANY,
     "assert(gpu.fft.fftn(gpu.ones(2, 3, 4))[{1, 1, 1}] == gpu.complex(24))"},
    {"ifftn", ifftn, "gpu.fft.ifftn(x [, s [, axes [, norm]]])", "The inverse of gpu.fft.fftn." MANY,
     "local x = gpu.random.normal(0, 1, {2, 3, 4})\nassert(gpu.fft.ifftn(gpu.fft.fftn(x)).real:allclose(x, 1e-4, 1e-5))"},
    {"rfftn", rfftn, "gpu.fft.rfftn(x [, s [, axes [, norm]]])",
     "The transform of real numbers along several axes: the last one's first half." MANY,
     "assert(gpu.fft.rfftn(gpu.ones(2, 3, 4)).shape[3] == 3)"},
    {"irfftn", irfftn, "gpu.fft.irfftn(x [, s [, axes [, norm]]])",
     "The inverse of gpu.fft.rfftn, as real numbers." MANY,
     "local x = gpu.random.normal(0, 1, {2, 3, 4})\nassert(gpu.fft.irfftn(gpu.fft.rfftn(x)):allclose(x, 1e-4, 1e-5))"},
    {"fftfreq", fftfreq, "gpu.fft.fftfreq(n [, d] [, dtype] [, device])",
     "The frequencies of a transform's elements, in cycles per unit of the distance d between samples (1 unless told).",
     "assert(gpu.fft.fftfreq(4, 0.5):equal(gpu.array({0, 0.5, -1, -0.5})))"},
    {"rfftfreq", rfftfreq, "gpu.fft.rfftfreq(n [, d] [, dtype] [, device])",
     "The frequencies of the elements that gpu.fft.rfft of n numbers gives.",
     "assert(gpu.fft.rfftfreq(4, 0.5):equal(gpu.array({0, 0.5, 1})))"},
    {"fftshift", fftshift, "gpu.fft.fftshift(x [, axes])",
     "Frequency 0 in the middle: every axis, or those told, rolled by half its length.",
     "assert(gpu.fft.fftshift(gpu.array({0, 1, -2, -1})):equal(gpu.array({-2, -1, 0, 1})))"},
    {"ifftshift", ifftshift, "gpu.fft.ifftshift(x [, axes])", "The inverse of gpu.fft.fftshift.",
     "local x = gpu.range(5)\nassert(gpu.fft.ifftshift(gpu.fft.fftshift(x)):equal(x))"},
    {0}};

void lg_open_fft(lua_State *L)
{
    lua_newtable(L);
    lg_register(L, "gpu.fft", rows);
    lg_register(L, "gpu.fft", lg_cosine_functions);
    lg_seal_module(L, "gpu.fft", "it has gpu.fft.fft(x), gpu.fft.rfft(x), gpu.fft.fft2(x) and others");
    lua_setfield(L, -2, "fft");
}
