/* Elementwise functions with options, and those of two results. */
#include "kernels/compose.h"
#include "kernels/program.h"
#include "lang/array.h"

/* Arrays, whose elements are there, or one array and a number. */
static void check_pair(lua_State *L, const char *what, struct kn_operand sides[2])
{
    for (int i = 0; i < 2; i++) {
        lg_check_operand(L, i + 1, &sides[i]);
        if (sides[i].array) lg_check_array(L, i + 1);
    }
    if (!sides[0].array && !sides[1].array) luaL_error(L, "%s needs an array", what);
}

static int isclose(lua_State *L)
{
    struct kn_operand sides[2];
    check_pair(L, "isclose", sides);
    double rtol = luaL_optnumber(L, 3, 1e-5), atol = luaL_optnumber(L, 4, 1e-8);
    struct rt_array *out = lg_new_array(L);
    lg_check(L, kn_isclose(&sides[0], &sides[1], rtol, atol, out, lg_error_box(L)));
    return 1;
}

static int nan_to_num(lua_State *L)
{
    const struct rt_array *a = lg_check_array(L, 1);
    double nan = luaL_optnumber(L, 2, 0), infinity = luaL_optnumber(L, 3, 0), negative = luaL_optnumber(L, 4, 0);
    bool given[2] = {!lua_isnoneornil(L, 3), !lua_isnoneornil(L, 4)};
    struct rt_array *out = lg_new_array(L);
    lg_check(L, kn_nan_to_num(a, nan, given[0] ? &infinity : NULL, given[1] ? &negative : NULL, out, lg_error_box(L)));
    return 1;
}

static int nextafter_(lua_State *L)
{
    struct kn_operand sides[2];
    check_pair(L, "nextafter", sides);
    struct rt_array *out = lg_new_array(L);
    lg_check(L, kn_nextafter(&sides[0], &sides[1], out, lg_error_box(L)));
    return 1;
}

static int spacing(lua_State *L)
{
    const struct rt_array *a = lg_check_array(L, 1);
    struct rt_array *out = lg_new_array(L);
    lg_check(L, kn_spacing(a, out, lg_error_box(L)));
    return 1;
}

static int is_normal(lua_State *L)
{
    const struct rt_array *a = lg_check_array(L, 1);
    struct rt_array *out = lg_new_array(L);
    lg_check(L, kn_isnormal(a, out, lg_error_box(L)));
    return 1;
}

static int frexp_(lua_State *L)
{
    const struct rt_array *a = lg_check_array(L, 1);
    struct rt_array *mantissa = lg_new_array(L), *exponent = lg_new_array(L);
    lg_check(L, kn_frexp(a, mantissa, exponent, lg_error_box(L)));
    return 2;
}

static int modf_(lua_State *L)
{
    const struct rt_array *a = lg_check_array(L, 1);
    struct rt_array *fraction = lg_new_array(L), *whole = lg_new_array(L);
    lg_check(L, kn_modf(a, fraction, whole, lg_error_box(L)));
    return 2;
}

static int remquo_(lua_State *L)
{
    struct kn_operand sides[2];
    check_pair(L, "remquo", sides);
    struct rt_array *rest = lg_new_array(L), *quotient = lg_new_array(L);
    lg_check(L, kn_remquo(&sides[0], &sides[1], rest, quotient, lg_error_box(L)));
    return 2;
}

static int divmod(lua_State *L)
{
    struct kn_operand sides[2];
    check_pair(L, "divmod", sides);
    struct rt_array *quotient = lg_new_array(L), *rest = lg_new_array(L);
    lg_check(L, kn_apply(KN_FLOORDIV, sides, quotient, lg_error_box(L)));
    lg_check(L, kn_apply(KN_MOD, sides, rest, lg_error_box(L)));
    return 2;
}

/* ---- results that are written into an array that there is ---- */

#define MOST_ARGUMENTS 4 /* of the functions of one result */

/* Calls f, whose arguments are the first MOST_ARGUMENTS, copies its result into the array behind them, and returns
 * that; the result is whole before, so an operand may be the target. */
static int write_into(lua_State *L, lua_CFunction f, const char *name)
{
    const int at = MOST_ARGUMENTS + 1;
    struct rt_error *e = lg_error_box(L);
    f(L);
    const struct rt_array *result = lg_check_array(L, -1);
    struct rt_array out = *lg_check_target(L, at); /* borrowed */
    if (rt_dtypes[result->dtype].kind == 'f' && rt_dtypes[out.dtype].kind != 'f')
        luaL_error(L, "%s gives %s, which the %s elements of out cannot hold; leave out away, or make it %s", name,
                   rt_dtypes[result->dtype].name, rt_dtypes[out.dtype].name, rt_dtypes[result->dtype].name);
    lg_check(L, kn_check_fits(result, &out, e));
    lg_check(L, kn_copy(&out, result, e));
    lua_settop(L, at);
    return 1;
}

/* f of the arguments; with {out = y} as the last one, into y. */
static int call(lua_State *L, lua_CFunction f, const char *name)
{
    int last = lua_gettop(L);
    if (last == 0 || last > MOST_ARGUMENTS + 1 || !lua_istable(L, last)) return f(L);
    lg_push_out(L, last, name);
    lua_remove(L, last);
    for (; last <= MOST_ARGUMENTS; last++) {
        lua_pushnil(L);
        lua_insert(L, last);
    }
    return write_into(L, f, name);
}

static int call_in_place(lua_State *L, lua_CFunction f, const char *name)
{
    lg_check_array(L, 1);
    lua_settop(L, MOST_ARGUMENTS);
    lua_pushvalue(L, 1);
    return write_into(L, f, name);
}

#define ONE_RESULT(name, f)                                                                                            \
    static int call_##name(lua_State *L)                                                                               \
    {                                                                                                                  \
        return call(L, f, #name);                                                                                      \
    }                                                                                                                  \
    static int name##_in_place(lua_State *L)                                                                           \
    {                                                                                                                  \
        return call_in_place(L, f, #name "_");                                                                         \
    }
ONE_RESULT(isclose, isclose)
ONE_RESULT(nan_to_num, nan_to_num)
ONE_RESULT(nextafter, nextafter_)
ONE_RESULT(spacing, spacing)
ONE_RESULT(isnormal, is_normal)

const struct lg_function lg_compose_functions[] = {
    {"isclose", call_isclose, "x:isclose(y [, rtol [, atol]])   gpu.isclose(x, y [, rtol [, atol]])",
     "Where x == y, or both are finite and |x - y| <= atol + rtol * |y|.\n"
     "Computed in float64; rtol is 1e-5 and atol 1e-8 unless told otherwise. Either may be a number. allclose says "
     "whether all are. With {out = z} as the last argument z, written into.",
     "assert(gpu.array({1, 2}):isclose(1 + 1e-7):sum() == 1)"},
    {"nan_to_num", call_nan_to_num, "x:nan_to_num([nan [, infinity [, negative]]])   gpu.nan_to_num(x, ...)",
     "With numbers for NaN and the infinities: 0 and the largest ones of the dtype unless told otherwise.\n"
     "Of complex numbers each part by itself. With {out = y} as the last argument y, written into.",
     "local x = gpu.array({0/0, 1/0, 3}):nan_to_num(-1, 100)\nassert(x:equal(gpu.array({-1, 100, 3})))"},
    {"nextafter", call_nextafter, "x:nextafter(y)   gpu.nextafter(x, y)",
     "The next number of the dtype from x on the way to y; y itself where they are equal.\n"
     "Either may be a number. Integers become floats first. 16-bit floats have neighbours of their own. With {out = z} as "
     "the last argument z, written into.",
     "assert(gpu.array({1}):nextafter(2)[1] == 1 + 2^-23 and gpu.ones(1, 'float16'):nextafter(0)[1] == 1 - 2^-11)"},
    {"spacing", call_spacing, "x:spacing()   gpu.spacing(x)",
     "How far the next number of the dtype is, away from 0; with the sign of x, and NaN where that is not finite.\n"
     "With {out = y} as the last argument y, written into.",
     "assert(gpu.array({1, -4}, 'float64'):spacing():equal(gpu.array({2^-52, -2^-50}, 'float64')))"},
    {"isnormal", call_isnormal, "x:isnormal()   gpu.isnormal(x)",
     "Where the element is finite, not 0 and not so small that digits are lost.\n"
     "With {out = y} as the last argument y, written into.",
     "assert(gpu.array({1, 0, 1/0, 1e-40}):isnormal():sum() == 1)"},
    {"frexp", frexp_, "x:frexp()   gpu.frexp(x)",
     "Mantissa and exponent (int32): x = mantissa * 2 ^ exponent, the mantissa from 0.5 to 1, as C's frexp.\n"
     "What is 0 or not finite has the exponent 0. x:ldexp puts them together again.",
     "local m, e = gpu.array({8, -0.75}):frexp()\n"
     "assert(m:equal(gpu.array({0.5, -0.75})) and e:equal(gpu.array({4, 0})) and m:ldexp(e)[1] == 8)"},
    {"modf", modf_, "x:modf()   gpu.modf(x)", "Fraction and whole part, both with the sign of x, as C's modf.",
     "local fraction, whole = gpu.array({2.75, -1.5}):modf()\n"
     "assert(fraction:equal(gpu.array({0.75, -0.5})) and whole:equal(gpu.array({2, -1})))"},
    {"divmod", divmod, "x:divmod(y)   gpu.divmod(x, y)", "x // y and x % y. Either may be a number.",
     "local quotient, rest = gpu.array({7, -7}, 'int32'):divmod(4)\n"
     "assert(quotient:equal(gpu.array({1, -2})) and rest:equal(gpu.array({3, 1})))"},
    {"remquo", remquo_, "x:remquo(y)   gpu.remquo(x, y)",
     "x:remainder(y), and of the quotient that it leaves the sign and the last three bits (int32), as C's remquo.\n"
     "Either may be a number.",
     "local rest, quotient = gpu.array({7, -13}):remquo(4)\n"
     "assert(rest:equal(gpu.array({-1, -1})) and quotient:equal(gpu.array({2, -3})))"},
    {0}};

#define IN_PLACE ", written into x itself.\nThe result has to have the shape of x, which keeps its dtype. Returns x."
const struct lg_function lg_compose_methods[] = {
    {"isclose_", isclose_in_place, "x:isclose_(y [, rtol [, atol]])", "x:isclose" IN_PLACE,
     "assert(gpu.array({1, 2}):isclose_(1):equal(gpu.array({1, 0})))"},
    {"nan_to_num_", nan_to_num_in_place, "x:nan_to_num_([nan [, infinity [, negative]]])", "x:nan_to_num" IN_PLACE,
     "local x = gpu.array({0/0, 3})\nx:nan_to_num_()\nassert(x:equal(gpu.array({0, 3})))"},
    {"nextafter_", nextafter_in_place, "x:nextafter_(y)", "x:nextafter" IN_PLACE,
     "local x = gpu.array({1})\nassert(x:nextafter_(2)[1] == 1 + 2^-23 and x[1] > 1)"},
    {"spacing_", spacing_in_place, "x:spacing_()", "x:spacing" IN_PLACE,
     "assert(gpu.array({1, -4}):spacing_():equal(gpu.array({2^-23, -2^-21})))"},
    {"isnormal_", isnormal_in_place, "x:isnormal_()", "x:isnormal" IN_PLACE,
     "assert(gpu.array({1, 0}):isnormal_():equal(gpu.array({1, 0})))"},
    {0}};
