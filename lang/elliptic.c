/* gpu.ellipj: Jacobi's elliptic functions. */
#include "lang/lang.h"
#include "lang/steps.h"

#define MEANS 7 /* until the two agree, of the greatest parameter below 1 */

/* Pushes the angle whose elliptic integral of the first kind is u, of the parameter m, stack indices of float64: from
 * the arithmetic-geometric mean backwards (Abramowitz and Stegun, 16.4). */
static int push_amplitude(lua_State *L, int u, int m)
{
    int parts[MEANS], a = lg_step(L, "gpu.ones_like", "v", m),
                      b = lg_step(L, "sqrt", "v", lg_step(L, "sub", "nv", 1.0, m));
    for (int i = 0; i < MEANS; i++) {
        const int mean = lg_step(L, "mul", "vn", lg_step(L, "add", "vv", a, b), 0.5);
        const int half = lg_step(L, "mul", "vn", lg_step(L, "sub", "vv", a, b), 0.5);
        parts[i] = lg_step(L, "div", "vv", half, mean);
        b = lg_step(L, "sqrt", "v", lg_step(L, "mul", "vv", a, b));
        a = mean;
    }
    int angle = lg_step(L, "mul", "vv", u, lg_step(L, "mul", "vn", a, (double)(1 << MEANS)));
    for (int i = MEANS - 1; i >= 0; i--) {
        const int sine = lg_step(L, "mul", "vv", lg_step(L, "sin", "v", angle), parts[i]);
        angle = lg_step(L, "mul", "vn", lg_step(L, "add", "vv", angle, lg_step(L, "asin", "v", sine)), 0.5);
    }
    /* 1 has no such mean: that is Gudermann's function. */
    const int tangent = lg_step(L, "tanh", "v", lg_step(L, "mul", "vn", u, 0.5));
    const int last = lg_step(L, "mul", "vn", lg_step(L, "atan", "v", tangent), 2.0);
    return lg_step(L, "where", "vvv", lg_step(L, "eq", "vi", m, (int64_t)1), last, angle);
}

/* gpu.ellipj(u, m) */
static int ellipj(lua_State *L)
{
    lua_settop(L, 2);
    const struct rt_array *u = lg_step_array(L, 1, NULL, RT_DTYPE_COUNT);
    const char *dtype = rt_dtypes[lg_floating(u)].name, *device = rt_array_device(u)->name;
    lg_check(L, kn_check_real(u, "ellipj", lg_error_box(L)));
    if (lg_step_operand(L, 2, u)) lg_check(L, kn_check_real(lg_check_form(L, 2), "ellipj", lg_error_box(L)));
    luaL_checkstack(L, 16 * MEANS, NULL);
    if (lua_isnumber(L, 2))
        lg_step(L, "gpu.array", "vss", 2, "float64", device);
    else
        lg_step(L, "to", "vs", 2, "float64");
    const int m = lua_gettop(L), angle = push_amplitude(L, lg_step(L, "to", "vs", 1, "float64"), m);
    const int s = lg_step(L, "sin", "v", angle), c = lg_step(L, "cos", "v", angle);
    const int part = lg_step(L, "mul", "vv", lg_step(L, "sub", "nv", 1.0, m), lg_step(L, "square", "v", s));
    const int d = lg_step(L, "sqrt", "v", lg_step(L, "add", "vv", part, lg_step(L, "square", "v", c)));
    const int results[] = {s, c, d, angle};
    for (int i = 0; i < 4; i++) lg_step(L, "to", "vs", results[i], dtype);
    return 4;
}

const struct lg_function lg_elliptic_functions[] = {
    {"ellipj", ellipj, "gpu.ellipj(u, m)",
     "Jacobi's elliptic functions sn, cn and dn of u, and the amplitude: the angle whose x:ellipkinc(m) is u.\n"
     "m = k^2 is the parameter, a number or an array, up to 1. Computed in float64; the results are of u's floating dtype.",
     "local sn, cn, dn, angle = gpu.ellipj(gpu.array({0.5, 2}), 0.3)\n"
     "assert((sn * sn + cn * cn):allclose(1) and angle:ellipkinc(0.3):allclose(gpu.array({0.5, 2})))"},
    {0}};
