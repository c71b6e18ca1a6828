/* gpu.fft: the discrete cosine and sine transforms of types 1 to 4, with SciPy's names and options. Those of types 1
 * and 4 are transforms of twice as many numbers, of which n are taken from `take` on: their real parts, or for sines
 * the imaginary ones. Those of types 2 and 3 are transforms of n numbers in another order (Makhoul): the even elements
 * and then the odd ones backwards. Factors of unit length turn the numbers before and after. */
#include <math.h>
#include <string.h>
#include "kernels/fft.h"
#include "lang/closest.h"
#include "lang/fft.h"
#include "lang/complex.h"

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
 * Of types 2 and 3 i counts as for cosines. */
static double size_of(const struct transform *t, int64_t i, bool behind)
{
    int type = t->kind.type;
    bool ortho = t->norm == LG_FFT_ORTHO;
    if (type == 1 && !t->kind.sine && (i == 0 || i == t->n - 1)) return ortho ? sqrt(0.5) : behind ? 1 : 0.5;
    if (ortho && i == 0 && (behind ? type == 2 : type == 3)) return sqrt(behind ? 0.5 : 2);
    return 1;
}

/* Pushes factors along one axis: their places on the circle, of their sizes, times `by`. */
static int push_factors(lua_State *L, const struct transform *t, struct kn_turns turns, bool behind,
                        struct rt_complex by)
{
    enum rt_dtype dtype = rt_complex_of(t->real);
    size_t bytes = rt_dtypes[dtype].size;
    struct rt_array *out = lg_new_array(L);
    int at = lua_gettop(L);
    lg_check(L, rt_array_new(t->device, dtype, 1, &turns.count, out, lg_error_box(L)));
    char *factors = lua_newuserdatauv(L, (size_t)turns.count * bytes, 0);
    lg_check(L, kn_fft_turns(&turns, by, dtype, factors, lg_error_box(L)));
    const int64_t ends[] = {0, turns.count - 1};
    for (int i = 0; i < 2 && ends[i] >= i; i++) {
        char *end = factors + (size_t)ends[i] * bytes;
        struct rt_complex v = rt_load_complex(dtype, end);
        double size = size_of(t, ends[i], behind);
        rt_store_complex(dtype, end, (struct rt_complex){v.re * size, v.im * size});
    }
    lg_check(L, rt_array_write(out, factors, lg_error_box(L)));
    lua_settop(L, at);
    return at;
}

/* Pushes elements of the last axis of the array at x, from `start` on (from 0). */
static int push_slice(lua_State *L, int x, int64_t start, int64_t count, int64_t step)
{
    const struct rt_array *a = lg_check_array(L, x);
    struct rt_array *out = lg_new_array(L);
    lg_check(L, rt_array_slice(a, a->ndim - 1, count ? start : 0, count, step, out, lg_error_box(L)));
    return lua_gettop(L);
}

static int push_joined(lua_State *L, int one, int other)
{
    return lg_push_joined(L, lg_form(L, one)->ndim - 1, 2, (int[]){one, other});
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
static int push_results(lua_State *L, const struct transform *t, int x, int take, struct kn_turns turns)
{
    double twice = 2 * scale_of(t);
    struct rt_complex by = {t->kind.sine ? 0 : twice, t->kind.sine ? twice : 0};
    int taken = lg_step(L, "narrow", "viii", x, (int64_t)-1, (int64_t)take + 1, t->n);
    lg_push_part(L, lg_step(L, "mul", "vv", taken, push_factors(L, t, turns, true, by)), false);
    return lua_gettop(L);
}

/* Type 1: the transform of real numbers, of which the first half is all that is taken. */
static int push_even(lua_State *L, const struct transform *t, int x)
{
    struct kn_turns none = {.circle = 1, .count = t->n};
    if (t->kind.sine) {
        x = push_moved(L, x);
    } else {
        lg_push_part(L, push_factors(L, t, none, false, (struct rt_complex){1, 0}), false);
        x = lg_step(L, "mul", "vv", x, lua_gettop(L));
    }
    int half = lg_step(L, "gpu.fft.rfft", "vii", x, length_of(t), (int64_t)-1);
    return push_results(L, t, half, t->kind.sine, none);
}

/* Type 2: element k and, behind the middle, element n - k are the real part and the imaginary one, with the other sign,
 * of the turned result k. Sines have the other sign at odd elements, and come in the other order. */
static int push_of_mixed(lua_State *L, const struct transform *t, int x)
{
    const bool sine = t->kind.sine;
    const int64_t n = t->n, odd = n / 2, behind = (n - 1) / 2;
    int first = push_slice(L, x, 0, n - odd, 2), second = push_slice(L, x, 2 * odd - 1, odd, -2);
    if (sine) second = lg_step(L, "neg", "v", second);
    int half = lg_step(L, "gpu.fft.rfft", "vii", push_joined(L, first, second), n, (int64_t)-1);
    struct kn_turns turns = {.circle = 4 * n, .step = 1, .count = n / 2 + 1};
    int factors = push_factors(L, t, turns, true, (struct rt_complex){2 * scale_of(t), 0});
    int turned = lg_step(L, "mul", "vv", half, factors);
    lg_check_array(L, turned); /* once */
    lg_push_part(L, turned, false);
    int front = lua_gettop(L);
    lg_push_part(L, turned, true);
    int back = push_slice(L, lua_gettop(L), sine ? 1 : behind, behind, sine ? 1 : -1);
    back = lg_step(L, "neg", "v", back);
    return sine ? push_joined(L, back, push_slice(L, front, n / 2, n / 2 + 1, -1)) : push_joined(L, front, back);
}

/* Type 3: the same backwards. */
static int push_to_mixed(lua_State *L, const struct transform *t, int x)
{
    const bool sine = t->kind.sine;
    const int64_t n = t->n, odd = n / 2;
    struct kn_turns turns = {.circle = 4 * n, .step = 1, .count = n / 2 + 1, .back = true};
    int front = push_slice(L, x, sine ? n - 1 : 0, n / 2 + 1, sine ? -1 : 1);
    int back = push_slice(L, x, sine ? 0 : n - 1, n / 2, sine ? 1 : -1);
    back = push_moved(L, lg_step(L, "neg", "v", back));
    int factors = push_factors(L, t, turns, false, (struct rt_complex){scale_of(t), 0});
    int turned = lg_step(L, "mul", "vv", lg_step(L, "gpu.complex", "vv", front, back), factors);
    int mixed = lg_step(L, "gpu.fft.irfft", "viis", turned, n, (int64_t)-1, "forward");
    int out = lg_step(L, "gpu.empty_like", "v", mixed);
    lg_step(L, "copy_", "vv", push_slice(L, out, 0, n - odd, 2), push_slice(L, mixed, 0, n - odd, 1));
    int second = push_slice(L, mixed, n - 1, odd, -1);
    if (sine) second = lg_step(L, "neg", "v", second);
    lg_step(L, "copy_", "vv", push_slice(L, out, odd ? 1 : 0, odd, 2), second);
    return out;
}

/* Type 4: turned before and after. */
static int push_turned(lua_State *L, const struct transform *t, int x)
{
    struct kn_turns before = {.circle = 4 * t->n, .step = 1, .count = t->n};
    struct kn_turns after = {.circle = 8 * t->n, .first = 1, .step = 2, .count = t->n};
    int factors = push_factors(L, t, before, false, (struct rt_complex){1, 0});
    int whole = lg_step(L, "gpu.fft.fft", "vii", lg_step(L, "mul", "vv", x, factors), length_of(t), (int64_t)-1);
    return push_results(L, t, whole, 0, after);
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
    static int (*const pushes[])(lua_State *, const struct transform *, int) = {push_even, push_of_mixed, push_to_mixed,
                                                                                push_turned};
    int y = pushes[t->kind.type - 1](L, t, x);
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
#define DOC(sizes)                                                                                                     \
    "Types 1 to 4, 2 unless told otherwise, as SciPy defines them. " sizes                                             \
    ", but that \"backward\" divides by twice n (of type 1 by twice n - 1 for cosines and n + 1 for sines); "          \
    "\"ortho\" is orthogonal. Real numbers give float32 or float64."
#define ONE_DOC  DOC("n, axis and norm are as for gpu.fft.fft")
#define MANY_DOC DOC("s, axes and norm are as for gpu.fft.fftn")
#define ALL      " along all axes, or those told."

const struct lg_function lg_cosine_functions[] = {
    {"dct", dct, ONE("dct"), "The discrete cosine transform along an axis.\n" ONE_DOC,
     "assert(gpu.fft.dct(gpu.array({1, 2, 3})):allclose(gpu.array({12, -2 * math.sqrt(3), 0}), 1e-5, 1e-5))"},
    {"idct", idct, ONE("idct"), "The inverse of gpu.fft.dct.\n" ONE_DOC,
     "local x = gpu.range(7)\nassert(gpu.fft.idct(gpu.fft.dct(x)):allclose(x, 1e-4, 1e-5))"},
    {"dst", dst, ONE("dst"), "The discrete sine transform along an axis.\n" ONE_DOC,
     "assert(gpu.fft.dst(gpu.array({1, -1}), 1):allclose(gpu.array({0, 2 * math.sqrt(3)}), 1e-5, 1e-5))"},
    {"idst", idst, ONE("idst"), "The inverse of gpu.fft.dst.\n" ONE_DOC,
     "local x = gpu.range(7)\nassert(gpu.fft.idst(gpu.fft.dst(x, 3), {type = 3}):allclose(x, 1e-4, 1e-5))"},
    {"dctn", dctn, MANY("dctn"), "The discrete cosine transform" ALL "\n" MANY_DOC,
     "assert(math.abs(gpu.fft.dctn(gpu.ones(2, 3), {norm = 'ortho'})[{1, 1}] - math.sqrt(6)) < 1e-5)"},
    {"idctn", idctn, MANY("idctn"), "The inverse of gpu.fft.dctn" ALL "\n" MANY_DOC,
     "local x = gpu.range(6):reshape(2, 3)\nassert(gpu.fft.idctn(gpu.fft.dctn(x)):allclose(x, 1e-4, 1e-5))"},
    {"dstn", dstn, MANY("dstn"), "The discrete sine transform" ALL "\n" MANY_DOC,
     "assert(gpu.fft.dstn(gpu.ones(4, 4))[{2, 1}] == 0 or math.abs(gpu.fft.dstn(gpu.ones(4, 4))[{2, 1}]) < 1e-5)"},
    {"idstn", idstn, MANY("idstn"), "The inverse of gpu.fft.dstn" ALL "\n" MANY_DOC,
     "local x = gpu.range(6):reshape(2, 3)\nassert(gpu.fft.idstn(gpu.fft.dstn(x)):allclose(x, 1e-4, 1e-5))"},
    {0}};
