/* Polynomials, by their coefficients from the highest power down, and windows of signals. */
#include <complex.h>
#include <float.h>
#include <math.h>
#include "lang/steps.h"

/* Replaces the list or array of coefficients at idx by a table of numbers; how many there are. */
static lua_Integer check_coefficients(lua_State *L, int idx, const char *what)
{
    if (!lua_istable(L, idx)) {
        const struct rt_array *a = lg_check_form(L, idx);
        if (a->ndim != 1) luaL_error(L, "%s: the coefficients are one axis, not %d", what, a->ndim);
        lg_step(L, "totable", "v", idx);
        lua_replace(L, idx);
    }
    lua_Integer n = (lua_Integer)lua_rawlen(L, idx);
    for (lua_Integer i = 1; i <= n; i++) {
        if (lua_rawgeti(L, idx, i) != LUA_TNUMBER)
            luaL_error(L, "%s: coefficient %I is %s, expected a number", what, (LUAI_UACINT)i, lg_type_name(L, -1));
        lua_pop(L, 1);
    }
    return n;
}

/* By Horner's rule, in one pass. */
static int polyval(lua_State *L)
{
    lua_Integer n = check_coefficients(L, 1, "polyval");
    bool number = lua_type(L, 2) == LUA_TNUMBER;
    lua_Number sum = 0;
    for (lua_Integer i = 1; number && i <= n; i++) {
        lua_rawgeti(L, 1, i);
        sum = sum * lua_tonumber(L, 2) + lua_tonumber(L, -1);
        lua_pop(L, 1);
    }
    if (number) {
        lua_pushnumber(L, sum);
        return 1;
    }
    lg_step_array(L, 2, NULL, RT_DTYPE_COUNT);
    int out = lg_step(L, "mul", "vi", 2, (int64_t)0);
    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(L, 1, i);
        int coefficient = lua_gettop(L), product = i == 1 ? out : lg_step(L, "mul", "vv", out, 2);
        lg_step(L, "add", "vv", product, coefficient);
        lua_replace(L, out);
        lua_settop(L, out);
    }
    return 1;
}

/* Pushes the powers of the array of one axis at x as columns. */
static int push_powers(lua_State *L, int x, int64_t n, bool increasing)
{
    const struct rt_array *a = lg_form(L, x);
    const char *device = rt_array_device(a)->name, *dtype = rt_dtypes[a->dtype].name;
    int column = lg_step(L, "unsqueeze", "vi", x, (int64_t)2), parts[2] = {0};
    lg_push_shape(L, 2, (int64_t[]){a->shape[0], n > 0 ? 1 : 0});
    parts[0] = lg_step(L, "gpu.ones", "vss", lua_gettop(L), dtype, device);
    if (n < 2) return parts[0];
    lg_push_shape(L, 2, (int64_t[]){a->shape[0], n - 1});
    int wide = lg_step(L, "broadcast_to", "vv", column, lua_gettop(L));
    parts[1] = lg_step(L, "cumprod", "vi", wide, (int64_t)2);
    int powers = lg_push_joined(L, 1, 2, parts);
    return increasing ? powers : lg_step(L, "flip", "vi", powers, (int64_t)2);
}

static int vander(lua_State *L)
{
    const struct rt_array *x = lg_step_array(L, 1, NULL, RT_DTYPE_COUNT);
    if (x->ndim != 1) return luaL_error(L, "vander: one axis of numbers expected, not %d", x->ndim);
    lua_Integer n = luaL_optinteger(L, 2, x->shape[0]);
    bool increasing = lg_check_flag(L, 3, "increasing");
    luaL_argcheck(L, n >= 0, 2, "the number of columns is negative");
    push_powers(L, 1, n, increasing);
    return 1;
}

static int polyfit(lua_State *L)
{
    lua_settop(L, 3);
    const struct rt_array *x = lg_step_array(L, 1, NULL, RT_DTYPE_COUNT);
    const struct rt_array *y = lg_step_array(L, 2, x, RT_DTYPE_COUNT);
    lua_Integer degree = luaL_checkinteger(L, 3);
    enum rt_dtype t = lg_floating(y);
    luaL_argcheck(L, degree >= 0, 3, "the degree is negative");
    lg_check(L, kn_check_real(x, "polyfit", lg_error_box(L)));
    lg_check(L, kn_check_real(y, "polyfit", lg_error_box(L)));
    if (x->ndim != 1 || y->ndim < 1 || y->ndim > 2 || x->shape[0] != y->shape[0])
        return luaL_error(
            L,
            "polyfit: there are %I places, of %d axes, and values for %I; both are one axis of as many, or "
            "the values columns",
            (LUAI_UACINT)rt_array_size(x), x->ndim, (LUAI_UACINT)(y->ndim ? y->shape[0] : 1));
    if (x->shape[0] == 0) return luaL_error(L, "polyfit: there are no points");
    int wide = lg_step(L, "to", "vs", 1, "float64"), values = lg_step(L, "to", "vs", 2, "float64");
    int powers = push_powers(L, wide, degree + 1, false);
    int scale = lg_step(L, "norm", "vii", powers, (int64_t)2, (int64_t)1); /* so that no column outweighs the others */
    scale = lg_step(L, "where", "viv", lg_step(L, "eq", "vi", scale, (int64_t)0), (int64_t)1, scale);
    int even = lg_step(L, "div", "vv", powers, scale);
    int found = lg_step(L, "gpu.linalg.lstsq", "vvn", even, values, (double)x->shape[0] * DBL_EPSILON);
    if (y->ndim == 2) scale = lg_step(L, "unsqueeze", "vi", scale, (int64_t)2);
    int out = lg_step(L, "div", "vv", found, scale);
    lg_step(L, "to", "vs", out, rt_dtypes[t].name);
    return 1;
}

/* The eigenvalues of the matrix whose characteristic polynomial it is. */
static int roots(lua_State *L)
{
    lua_Integer n = check_coefficients(L, 1, "roots"), first = 1, last = n;
    for (; first <= n && (lua_rawgeti(L, 1, first), lua_tonumber(L, -1)) == 0; first++) lua_pop(L, 1);
    lua_settop(L, 1);
    for (; last > first && (lua_rawgeti(L, 1, last), lua_tonumber(L, -1)) == 0; last--) lua_pop(L, 1);
    lua_settop(L, 1);
    int64_t zeros = n - last, degree = last - first;
    int parts[2] = {0}, count = 0;
    if (degree > 0) {
        lua_rawgeti(L, 1, first);
        lua_Number leading = lua_tonumber(L, -1);
        lua_createtable(L, (int)degree, 0);
        for (int64_t row = 1; row <= degree; row++) {
            lua_createtable(L, (int)degree, 0);
            for (int64_t i = 1; i <= degree; i++) {
                if (row == 1) lua_rawgeti(L, 1, first + i);
                lua_pushnumber(L, row > 1 ? (row == i + 1) : -lua_tonumber(L, -1) / leading);
                if (row == 1) lua_remove(L, -2);
                lua_rawseti(L, -2, i);
            }
            lua_rawseti(L, -2, row);
        }
        int matrix = lg_step(L, "gpu.array", "vs", lua_gettop(L), "float64");
        parts[count++] = lg_step(L, "gpu.linalg.eigvals", "v", matrix);
    }
    if (zeros > 0 || count == 0) parts[count++] = lg_step(L, "gpu.zeros", "is", first > n ? 0 : zeros, "complex128");
    lg_push_joined(L, 0, count, parts);
    return 1;
}

/* Whether each number has its conjugate among them as often as it comes. */
static bool are_conjugates(const double complex *r, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t balance = 0;
        for (int64_t k = 0; k < n && cimag(r[i]) != 0; k++) balance += (r[k] == r[i]) - (r[k] == conj(r[i]));
        if (balance != 0) return false;
    }
    return true;
}

/* The product of x - r over all roots. */
static int poly(lua_State *L)
{
    const struct rt_array *a = lg_step_array(L, 1, NULL, RT_DTYPE_COUNT);
    if (a->ndim != 1) return luaL_error(L, "poly: the roots are one axis of numbers, not %d axes", a->ndim);
    int64_t n = a->shape[0], size = n + 1;
    luaL_argcheck(L, n <= 1 << 14, 1, "there are more than 2^14 roots");
    lg_step(L, "contiguous", "v", lg_step(L, "to", "vss", 1, "complex128", "cpu"));
    const double complex *r = rt_array_host(lg_check_array(L, -1));
    double complex *c = lua_newuserdatauv(L, (size_t)size * sizeof *c, 0);
    c[0] = 1;
    for (int64_t i = 0; i < n; i++) {
        c[i + 1] = 0;
        for (int64_t k = i + 1; k > 0; k--) c[k] -= r[i] * c[k - 1];
    }
    const bool real = are_conjugates(r, n);
    for (int64_t i = 0; i < size && real; i++) ((double *)c)[i] = creal(c[i]);
    struct lg_placement p = {real ? RT_FLOAT64 : RT_COMPLEX128, rt_array_device(a)};
    lg_check(L, rt_array_write(lg_push_empty(L, &p, 1, &size), c, lg_error_box(L)));
    return 1;
}

/* ---- windows ---- */

/* Pushes the cosine of k times the angle, which goes once round over n elements; or the angle, where k is 0. */
static int push_angles(lua_State *L, lua_Integer *n)
{
    *n = luaL_checkinteger(L, 1);
    luaL_argcheck(L, *n >= 0, 1, "the number of elements is negative");
    struct lg_placement p = {RT_FLOAT32, NULL};
    lg_check_placement(L, 2, &p);
    if (rt_dtypes[p.dtype].kind != 'f') luaL_error(L, "a window has a floating dtype, not %s", rt_dtypes[p.dtype].name);
    double end = *n > 1 ? (double)(*n - 1) : 1;
    int places = lg_step(L, "gpu.linspace", "iniss", (int64_t)0, end, (int64_t)*n, "float64", p.device->name);
    lua_pushstring(L, rt_dtypes[p.dtype].name);
    lua_replace(L, 1);
    return lg_step(L, "mul", "vn", places, 2 * 3.14159265358979323846 / end);
}

/* Replaces the float64 array at the top by one of the dtype asked for, whose name is at 1; a window of one element
 * is 1. */
static int finish_window(lua_State *L, lua_Integer n)
{
    int at = lua_gettop(L);
    if (n == 1) at = lg_step(L, "gpu.ones_like", "v", at);
    lg_step(L, "to", "vs", at, lua_tostring(L, 1));
    return 1;
}

/* a - b cos(angle) + c cos(2 angle) */
static int cosines(lua_State *L, double a, double b, double c)
{
    lua_Integer n;
    int angles = push_angles(L, &n);
    int out = lg_step(L, "add", "vn", lg_step(L, "mul", "vn", lg_step(L, "cos", "v", angles), -b), a);
    if (c != 0) {
        int twice = lg_step(L, "cos", "v", lg_step(L, "mul", "vi", angles, (int64_t)2));
        lg_step(L, "add", "vv", out, lg_step(L, "mul", "vn", twice, c));
    }
    return finish_window(L, n);
}

static int hanning(lua_State *L)
{
    return cosines(L, 0.5, 0.5, 0);
}
static int hamming(lua_State *L)
{
    return cosines(L, 0.54, 0.46, 0);
}
static int blackman(lua_State *L)
{
    return cosines(L, 0.42, 0.5, 0.08);
}
static int bartlett(lua_State *L)
{
    lua_Integer n;
    int parts = lg_step(L, "div", "vn", push_angles(L, &n), 3.14159265358979323846);
    int away = lg_step(L, "abs", "v", lg_step(L, "sub", "vi", parts, (int64_t)1));
    lg_step(L, "sub", "vv", lg_step(L, "gpu.ones_like", "v", away), away);
    return finish_window(L, n);
}

/* The modified Bessel function of order 0, by its power series, all of whose terms are positive. */
static double bessel_i0(double x)
{
    double term = 1, sum = 1, quarter = x * x / 4;
    for (int k = 1; term > sum * 1e-17; k++) {
        term *= quarter / ((double)k * k);
        sum += term;
    }
    return sum;
}

static int kaiser(lua_State *L)
{
    lua_Integer n = luaL_checkinteger(L, 1);
    double beta = luaL_checknumber(L, 2);
    luaL_argcheck(L, n >= 0 && n < (lua_Integer)1 << 40, 1, "the number of elements is from 0 to 2^40");
    luaL_argcheck(L, fabs(beta) <= 700, 2, "beta is from -700 to 700");
    struct lg_placement p = {RT_FLOAT32, NULL}, exact = {RT_FLOAT64, NULL};
    lg_check_placement(L, 3, &p);
    if (rt_dtypes[p.dtype].kind != 'f')
        return luaL_error(L, "a window has a floating dtype, not %s", rt_dtypes[p.dtype].name);
    exact.device = p.device;
    double *w = lua_newuserdatauv(L, (size_t)n * sizeof *w + 1, 0), middle = (double)(n - 1) / 2;
    for (lua_Integer i = 0; i < n; i++) {
        double away = n > 1 ? ((double)i - middle) / middle : 0;
        w[i] = bessel_i0(beta * sqrt(fmax(1 - away * away, 0))) / bessel_i0(beta);
    }
    struct rt_array *out = lg_push_empty(L, &exact, 1, (int64_t[]){n});
    lg_check(L, rt_array_write(out, w, lg_error_box(L)));
    lg_step(L, "to", "vs", lua_gettop(L), rt_dtypes[p.dtype].name);
    return 1;
}

#define WINDOW(name) "gpu." name "(count [, dtype] [, device])"
#define COUNT        "count elements, symmetric; float32 unless told otherwise."

const struct lg_function lg_polynomial_functions[] = {
    {"polyval", polyval, "gpu.polyval(p, x)",
     "The value of a polynomial at x, an array or a number, in one pass.\n"
     "p is a list or array of the coefficients, that of the highest power first.",
     "assert(gpu.polyval({3, 0, 1}, gpu.array({1, 2})):equal(gpu.array({4, 13})) and gpu.polyval({3, 0, 1}, 2) == 13)"},
    {"polyfit", polyfit, "gpu.polyfit(x, y, degree)",
     "The coefficients of the polynomial nearest to the points (x, y), that of the highest power first.\n"
     "The sum of squared distances is the least; computed in float64. Values may be columns of a matrix, each with its own "
     "polynomial.",
     "local p = gpu.polyfit({0, 1, 2, 3}, {1, 3, 5, 7}, 1)\nassert(p:allclose(gpu.array({2, 1})))"},
    {"roots", roots, "gpu.roots(p)",
     "The roots of a polynomial, complex128, in no order.\np is a list or array of the coefficients, that of the highest "
     "power first.",
     "local r = gpu.roots({1, -3, 2})\nassert(r.real:sort():allclose(gpu.array({1, 2})))"},
    {"poly", poly, "gpu.poly(r)",
     "The coefficients of the polynomial with the roots r, a list or array, that of the highest power, 1, first.\n"
     "float64, or complex128 where a root has not its conjugate among them.",
     "assert(gpu.poly({1, 2}):equal(gpu.array({1, -3, 2}, 'float64')) and gpu.poly(gpu.roots({1, 0, 4})).dtype == 'float64')"},
    {"vander", vander, "gpu.vander(x [, count [, increasing]])",
     "The powers of x, a list or array of one axis, as columns, the highest first unless `increasing`.\n"
     "As many as x has elements unless told otherwise; the last one is x to the power of 0.",
     "assert(gpu.vander({2, 3}, 3):equal(gpu.array({{4, 2, 1}, {9, 3, 1}})))"},
    {"hanning", hanning, WINDOW("hanning"), "The Hann window, from 0 over 1 to 0 as a cosine.\n" COUNT,
     "assert(gpu.hanning(5):allclose(gpu.array({0, 0.5, 1, 0.5, 0})))"},
    {"hamming", hamming, WINDOW("hamming"), "The Hamming window, which ends at 0.08.\n" COUNT,
     "assert(gpu.hamming(3):allclose(gpu.array({0.08, 1, 0.08})))"},
    {"blackman", blackman, WINDOW("blackman"), "The Blackman window, of two cosines.\n" COUNT,
     "assert(gpu.blackman(5):allclose(gpu.array({0, 0.34, 1, 0.34, 0})))"},
    {"bartlett", bartlett, WINDOW("bartlett"), "The Bartlett window, a triangle that ends at 0.\n" COUNT,
     "assert(gpu.bartlett(5):allclose(gpu.array({0, 0.5, 1, 0.5, 0})))"},
    {"kaiser", kaiser, "gpu.kaiser(count, beta [, dtype] [, device])",
     "The Kaiser window, by the modified Bessel function of order 0.\nThe greater beta, the narrower it is and the less "
     "reaches into other frequencies; 0 gives ones, 14 is a good beginning. " COUNT,
     "assert(gpu.kaiser(3, 14)[2] == 1 and gpu.kaiser(4, 0):equal(gpu.ones(4)))"},
    {0}};
