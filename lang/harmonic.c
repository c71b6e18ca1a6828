/* gpu.sph_harm_y: spherical harmonics. */
#include "lang/lang.h"
#include "lang/steps.h"

/* gpu.sph_harm_y(n, m, theta, phi) */
static int sph_harm_y(lua_State *L)
{
    lua_settop(L, 4);
    const struct rt_array *theta = lg_step_array(L, 3, NULL, RT_DTYPE_COUNT);
    lg_check(L, kn_check_real(theta, "sph_harm_y", lg_error_box(L)));
    for (int i = 1; i <= 4; i++)
        if (i != 3 && lg_step_operand(L, i, theta))
            lg_check(L, kn_check_real(lg_check_form(L, i), "sph_harm_y", lg_error_box(L)));
    const char *dtype = rt_dtypes[lg_floating(theta)].name, *device = rt_array_device(theta)->name;
    const int part = lg_step(L, "gpu.sph_legendre_p", "vvv", 1, 2, 3);
    const int phi = lua_isnumber(L, 4) ? lg_step(L, "gpu.array", "vss", 4, "float64", device) : 4;
    const int angle = lg_step(L, "to", "vs", lg_step(L, "mul", "vv", phi, 2), dtype);
    const int re = lg_step(L, "mul", "vv", part, lg_step(L, "cos", "v", angle));
    const int im = lg_step(L, "mul", "vv", part, lg_step(L, "sin", "v", angle));
    lg_step(L, "gpu.complex", "vv", re, im);
    return 1;
}

const struct lg_function lg_harmonic_functions[] = {
    {"sph_harm_y", sph_harm_y, "gpu.sph_harm_y(n, m, theta, phi)",
     "The spherical harmonic of the degree n and the order m, whole numbers, at the polar angle theta, an array, and the "
     "azimuth phi: gpu.sph_legendre_p(n, m, theta) times exp(i m phi), complex. n, m and phi are numbers or arrays that "
     "broadcast with theta. Its square is 1 in the mean over the sphere times 4 pi; Condon and Shortley's sign is in it.",
     "local y = gpu.sph_harm_y(1, 1, gpu.array({math.pi / 2}), 0)\n"
     "assert(math.abs(y.real[1] + (3 / (8 * math.pi)) ^ 0.5) < 1e-6)"},
    {0}};
