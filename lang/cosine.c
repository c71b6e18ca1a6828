/* gpu.fft: the discrete cosine and sine transforms of types 1 to 4, with SciPy's names and options. Each is the
 * transform F of m numbers, among which the n given ones are at `first`, of which n are taken from `take` on: their
 * real parts, or for sines the imaginary ones. Factors of unit length turn the numbers before and after. */
#include <math.h>
#include <string.h>
#include "lang/closest.h"
#include "lang/fft.h"
#include "lang/complex.h"

static const double pi = 3.14159265358979323846;

struct kind {
    bool sine;
    int type;
};

struct transform {
    struct kind kind;
    int64_t n; /* of the axis, which is the last */
    enum lg_fft_norm norm;
    bool inverse;
    enum rt_dtype real;
    struct rt_device *device;
};

/* How long the transform behind it is. */
static int64_t length_of(const struct transform *t)
{
    return 2 * t->n + (t->kind.type == 1 ? (t->kind.sine ? 2 : -2) : 0);
}

/* By what all results are multiplied; type 1 to 4 have it alike. */
static double scale_of(const struct transform *t)
{
    double length = (double)length_of(t);
    if (t->norm == LG_FFT_ORTHO) return sqrt(1 / length);
    return (t->norm == LG_FFT_FORWARD) != t->inverse ? 1 / length : 1;
}

/* The factor of element i before the transform or, `behind`, of result i: its size. Orthogonal transforms have their
 * ends on both sides by the root of a half less than the others, where the definition has them once and the rest twice.
 */
static double size_of(const struct transform *t, int64_t i, bool behind)
{
    int type = t->kind.type;
    bool ortho = t->norm == LG_FFT_ORTHO, end = t->kind.sine ? i == t->n - 1 : i == 0;
    if (type == 1 && !t->kind.sine && (i == 0 || i == t->n - 1)) return ortho ? sqrt(0.5) : behind ? 1 : 0.5;
    if (ortho && end && (behind ? type == 2 : type == 3)) return sqrt(behind ? 0.5 : 2);
    return 1;
}

/* Pushes n factors along one axis, e^(i angle (start + k)) of their sizes, times `by`; real ones as their real parts.
 */
static int push_factors(lua_State *L, const struct transform *t, enum rt_dtype dtype, bool behind, double angle,
                        double start, struct rt_complex by)
{
    size_t bytes = rt_dtypes[dtype].size;
    struct rt_array *out = lg_new_array(L);
    int at = lua_gettop(L);
    lg_check(L, rt_array_new(t->device, dtype, 1, &t->n, out, lg_error_box(L)));
    char *factors = lua_newuserdatauv(L, (size_t)t->n * bytes, 0);
    for (int64_t i = 0; i < t->n; i++) {
        double a = angle * (start + (double)i), size = size_of(t, i, behind);
        struct rt_complex turn = {cos(a) * size, sin(a) * size};
        rt_store_complex(dtype, factors + (size_t)i * bytes,
                         (struct rt_complex){turn.re * by.re - turn.im * by.im, turn.re * by.im + turn.im * by.re});
    }
    lg_check(L, rt_array_write(out, factors, lg_error_box(L)));
    lua_settop(L, at);
    return at;
}

/* Pushes the array at x with a zero in front of its last axis. */
static int push_moved(lua_State *L, int x)
{
    int ndim = lg_form(L, x)->ndim;
    lua_createtable(L, ndim, 0);
    int widths = lua_gettop(L);
    for (int i = 1; i <= ndim; i++) {
        lg_push_shape(L, 2, (int64_t[]){i == ndim, 0});
        lua_rawseti(L, widths, i);
    }
    return lg_step(L, "pad", "vv", x, widths);
}

/* The real parts of the products, by which a factor 2i makes the imaginary parts of sines. */
static int push_results(lua_State *L, const struct transform *t, int x, int take, double angle, double start)
{
    double twice = 2 * scale_of(t);
    struct rt_complex by = {t->kind.sine ? 0 : twice, t->kind.sine ? twice : 0};
    int taken = lg_step(L, "narrow", "viii", x, (int64_t)-1, (int64_t)take + 1, t->n);
    int factors = push_factors(L, t, rt_complex_of(t->real), true, angle, start, by);
    lg_push_part(L, lg_step(L, "mul", "vv", taken, factors), false);
    return lua_gettop(L);
}

/* Types 1 and 2: the transform of real numbers, of which the first half is all that is taken. */
static int push_of_real(lua_State *L, const struct transform *t, int x)
{
    bool sine = t->kind.sine, first = t->kind.type == 1;
    int64_t m = length_of(t);
    double angle = first ? 0 : -pi / (double)m;
    if (first && !sine)
        x = lg_step(L, "mul", "vv", x, push_factors(L, t, t->real, false, 0, 0, (struct rt_complex){1, 0}));
    if (first && sine) x = push_moved(L, x);
    int half = lg_step(L, "gpu.fft.rfft", "vii", x, m, (int64_t)-1);
    return push_results(L, t, half, sine, angle, sine);
}

/* Type 3: the real numbers whose transform the turned ones are. */
static int push_to_real(lua_State *L, const struct transform *t, int x)
{
    bool sine = t->kind.sine;
    int64_t m = length_of(t);
    struct rt_complex by = {!sine, sine ? -1 : 0};
    int factors = push_factors(L, t, rt_complex_of(t->real), false, pi / (double)m, sine, by);
    int turned = lg_step(L, "mul", "vv", x, factors);
    if (sine) turned = push_moved(L, turned);
    int whole = lg_step(L, "gpu.fft.irfft", "viis", turned, m, (int64_t)-1, "forward");
    int taken = lg_step(L, "narrow", "viii", whole, (int64_t)-1, (int64_t)1, t->n);
    return scale_of(t) == 1 ? taken : lg_step(L, "mul", "vn", taken, scale_of(t));
}

/* Type 4: turned before and after. */
static int push_turned(lua_State *L, const struct transform *t, int x)
{
    int64_t m = length_of(t);
    double angle = -pi / (double)m;
    int factors = push_factors(L, t, rt_complex_of(t->real), false, angle, 0, (struct rt_complex){1, 0});
    int whole = lg_step(L, "gpu.fft.fft", "vii", lg_step(L, "mul", "vv", x, factors), m, (int64_t)-1);
    return push_results(L, t, whole, 0, angle, 0.5);
}

/* Pushes the array at x cut or filled with zeros to the length along an axis (from 0). */
static int push_long(lua_State *L, int x, int axis, int64_t n)
{
    const struct rt_array *a = lg_form(L, x);
    if (n <= a->shape[axis]) return lg_step(L, "narrow", "viii", x, (int64_t)axis + 1, (int64_t)1, n);
    lua_createtable(L, a->ndim, 0);
    int widths = lua_gettop(L);
    for (int i = 0; i < a->ndim; i++) {
        lg_push_shape(L, 2, (int64_t[]){0, i == axis ? n - a->shape[i] : 0});
        lua_rawseti(L, widths, i + 1);
    }
    return lg_step(L, "pad", "vv", x, widths);
}

/* Replaces the array at 1 by its transform along an axis (from 0), of so many elements, or with 0 all. */
static void transform(lua_State *L, struct transform *t, int axis, int64_t n, const char *what)
{
    const struct rt_array *a = lg_form(L, 1);
    int top = lua_gettop(L), x = n && n != a->shape[axis] ? push_long(L, 1, axis, n) : 1;
    t->n = n ? n : a->shape[axis];
    if (t->n < 1 || length_of(t) < 2)
        luaL_error(L, "%s: axis %d has %I element%s, and type %d needs %d or more", what, axis + 1, (LUAI_UACINT)t->n,
                   t->n == 1 ? "" : "s", t->kind.type, t->n < 1 ? 1 : 2);
    if (rt_array_size(a) == 0) {
        lua_pushvalue(L, x);
        lua_replace(L, 1);
        lua_settop(L, top);
        return;
    }
    x = lg_step(L, "moveaxis", "vii", x, (int64_t)axis + 1, (int64_t)-1);
    int y = t->kind.type == 3   ? push_to_real(L, t, x)
            : t->kind.type == 4 ? push_turned(L, t, x)
                                : push_of_real(L, t, x);
    lg_step(L, "contiguous", "v", lg_step(L, "moveaxis", "vii", y, (int64_t)-1, (int64_t)axis + 1));
    lua_replace(L, 1);
    lua_settop(L, top);
}

/* Reads x and the type, which follow `what` in all of them; the array at 1 becomes one of floats. */
static void check_transform(lua_State *L, const char *what, bool sine, bool inverse, struct transform *t)
{
    static const int back[] = {0, 1, 3, 2, 4};
    const struct rt_array *a = lg_check_form(L, 1);
    lua_Integer type = lg_integer_option(L, 2, what, "type", 2);
    if (type < 1 || type > 4)
        luaL_error(L, "%s: there is no type %I; there are 1 to 4, and 2 unless told otherwise", what,
                   (LUAI_UACINT)type);
    lg_check(L, kn_check_real(a, what, lg_error_box(L)));
    if (a->ndim == 0) luaL_error(L, "%s: an array of no axes has nothing to transform along", what);
    *t = (struct transform){.kind = {sine, inverse ? back[type] : (int)type},
                            .inverse = inverse,
                            .norm = lg_fft_norm(L, 5),
                            .real = lg_floating(a) == RT_FLOAT64 ? RT_FLOAT64 : RT_FLOAT32,
                            .device = rt_array_device(a)};
    if (a->dtype == t->real) return;
    lg_step(L, "to", "vs", 1, rt_dtypes[t->real].name);
    lua_replace(L, 1);
}

static int along_one(lua_State *L, const char *what, bool sine, bool inverse)
{
    static const char *const names[] = {"type", "n", "axis", "norm", NULL};
    struct transform t;
    lg_check_form(L, 1);
    lg_spread(L, 2, what, names);
    check_transform(L, what, sine, inverse, &t);
    int ndim = lg_form(L, 1)->ndim, axis = lua_isnil(L, 4) ? ndim - 1 : lg_check_axis(L, 4, ndim);
    transform(L, &t, axis, lua_isnil(L, 3) ? 0 : lg_fft_length(L, 3), what);
    lua_settop(L, 1);
    return 1;
}

static int along_many(lua_State *L, const char *what, bool sine, bool inverse)
{
    static const char *const names[] = {"type", "s", "axes", "norm", NULL};
    struct transform t;
    struct lg_fft_axes along;
    lg_check_form(L, 1);
    lg_spread(L, 2, what, names);
    check_transform(L, what, sine, inverse, &t);
    lg_fft_axes(L, 3, lg_form(L, 1)->ndim, 0, &along);
    for (int i = 0; i < along.count; i++) transform(L, &t, along.axes[i], along.n[i], what);
    lua_settop(L, 1);
    return 1;
}

#define TRANSFORMS(name, sine)                                                                                         \
    static int name(lua_State *L)                                                                                      \
    {                                                                                                                  \
        return along_one(L, #name, sine, false);                                                                       \
    }                                                                                                                  \
    static int i##name(lua_State *L)                                                                                   \
    {                                                                                                                  \
        return along_one(L, "i" #name, sine, true);                                                                    \
    }                                                                                                                  \
    static int name##n(lua_State *L)                                                                                   \
    {                                                                                                                  \
        return along_many(L, #name "n", sine, false);                                                                  \
    }                                                                                                                  \
    static int i##name##n(lua_State *L)                                                                                \
    {                                                                                                                  \
        return along_many(L, "i" #name "n", sine, true);                                                               \
    }
TRANSFORMS(dct, false)
TRANSFORMS(dst, true)

#define ONE(name)  "gpu.fft." name "(x [, type [, n [, axis [, norm]]]] | {type=, n=, axis=, norm=})"
#define MANY(name) "gpu.fft." name "(x [, type [, s [, axes [, norm]]]] | {type=, s=, axes=, norm=})"
#define DOC                                                                                                            \
    "Types 1 to 4, 2 unless told otherwise, as SciPy defines them. n, axis and norm as for gpu.fft.fft, but that "     \
    "\"backward\" divides by twice n (of type 1 by twice n - 1 for cosines and n + 1 for sines); \"ortho\" is "        \
    "orthogonal. Real numbers give float32 or float64."
#define ALL " along all axes, or those told."

const struct lg_function lg_cosine_functions[] = {
    {"dct", dct, ONE("dct"), "The discrete cosine transform along an axis.\n" DOC,
     "assert(gpu.fft.dct(gpu.array({1, 2, 3})):allclose(gpu.array({12, -2 * math.sqrt(3), 0}), 1e-5, 1e-5))"},
    {"idct", idct, ONE("idct"), "The inverse of gpu.fft.dct.\n" DOC,
     "local x = gpu.range(7)\nassert(gpu.fft.idct(gpu.fft.dct(x)):allclose(x, 1e-4, 1e-5))"},
    {"dst", dst, ONE("dst"), "The discrete sine transform along an axis.\n" DOC,
     "assert(gpu.fft.dst(gpu.array({1, -1}), 1):allclose(gpu.array({0, 2 * math.sqrt(3)}), 1e-5, 1e-5))"},
    {"idst", idst, ONE("idst"), "The inverse of gpu.fft.dst.\n" DOC,
     "local x = gpu.range(7)\nassert(gpu.fft.idst(gpu.fft.dst(x, 3), {type = 3}):allclose(x, 1e-4, 1e-5))"},
    {"dctn", dctn, MANY("dctn"), "The discrete cosine transform" ALL "\n" DOC,
     "assert(math.abs(gpu.fft.dctn(gpu.ones(2, 3), {norm = 'ortho'})[{1, 1}] - math.sqrt(6)) < 1e-5)"},
    {"idctn", idctn, MANY("idctn"), "The inverse of gpu.fft.dctn" ALL "\n" DOC,
     "local x = gpu.range(6):reshape(2, 3)\nassert(gpu.fft.idctn(gpu.fft.dctn(x)):allclose(x, 1e-4, 1e-5))"},
    {"dstn", dstn, MANY("dstn"), "The discrete sine transform" ALL "\n" DOC,
     "assert(gpu.fft.dstn(gpu.ones(4, 4))[{2, 1}] == 0 or math.abs(gpu.fft.dstn(gpu.ones(4, 4))[{2, 1}]) < 1e-5)"},
    {"idstn", idstn, MANY("idstn"), "The inverse of gpu.fft.dstn" ALL "\n" DOC,
     "local x = gpu.range(6):reshape(2, 3)\nassert(gpu.fft.idstn(gpu.fft.dstn(x)):allclose(x, 1e-4, 1e-5))"},
    {0}};
