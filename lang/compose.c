/* Elementwise functions with options. */
#include "kernels/compose.h"
#include "lang/array.h"

static int isclose(lua_State *L)
{
    struct kn_operand sides[2];
    for (int i = 0; i < 2; i++) {
        lg_check_operand(L, i + 1, &sides[i]);
        if (sides[i].array) lg_check_array(L, i + 1); /* its elements must be there */
    }
    if (!sides[0].array && !sides[1].array) return luaL_error(L, "isclose needs an array");
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

const struct lg_function lg_compose_functions[] = {
    {"isclose", isclose, "x:isclose(y [, rtol [, atol]])   gpu.isclose(x, y [, rtol [, atol]])",
     "Where x == y, or both are finite and |x - y| <= atol + rtol * |y|.\n"
     "Computed in float64; rtol is 1e-5 and atol 1e-8 unless told otherwise. Either may be a number. allclose says "
     "whether all are.",
     "assert(gpu.array({1, 2}):isclose(1 + 1e-7):sum() == 1)"},
    {"nan_to_num", nan_to_num, "x:nan_to_num([nan [, infinity [, negative]]])   gpu.nan_to_num(x, ...)",
     "With numbers for NaN and the infinities: 0 and the largest ones of the dtype unless told otherwise.\n"
     "Of complex numbers each part by itself.",
     "local x = gpu.array({0/0, 1/0, 3}):nan_to_num(-1, 100)\nassert(x:equal(gpu.array({-1, 100, 3})))"},
    {0}};
