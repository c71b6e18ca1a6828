/* Bessel functions of float64 from 8 on, of order 0 and 1: sqrt(2 / (pi x)) A cos(x - pi / 4 + alpha / x), of order 1
 * with a quarter turn less, and those of the second kind with the sine. A - 1 and alpha are polynomials over (8 / x)^2,
 * ours, through Chebyshev's points, with errors of 2^-54 and 2^-51. Results are within 2 units of the last place of how
 * far they swing. Included by loops.c alone. */
#ifndef KN_MATH_BESSEL_H
#define KN_MATH_BESSEL_H

#include "kernels/math_angle_f64.h"

#define TWO_OVER_PI     0x1.45f306dc9c883p-1
#define TWO_OVER_PI_LOW -0x1.6b01ec5417056p-55

ALWAYS_INLINE double bessel_size_0(double w, double w2, double w4)
{
    return fma_(fma_(four_terms(w, w2, -0x1.c5ddf80a916f3p-33, 0x1.97831f9bd3edcp-30, -0x1.5d5fb22a49bc7p-28,
                                0x1.8f7d0007c893bp-27),
                     w4,
                     four_terms(w, w2, -0x1.7737fa2f9dca0p-26, 0x1.655dacc690506p-25, -0x1.a9e883221bfa1p-24,
                                0x1.76407826427e9p-22)),
                w4, four_terms(w, w2, -0x1.15efccf24a557p-19, 0x1.a7ffffad939fdp-16, -0x1.fffffffff2cfcp-11, 0x0.0p+0));
}

ALWAYS_INLINE double bessel_shift_0(double w, double w2, double w4)
{
    return fma_(
        fma_(four_terms(w, w2, 0x1.b5db88e5a957dp-30, -0x1.834c4b70bdcb7p-27, 0x1.4420356afbb16p-25,
                        -0x1.63bd46e39a72bp-24),
             w4,
             four_terms(w, w2, 0x1.374b4724dc264p-23, -0x1.080d2b23aeba1p-22, 0x1.0a14f568934dap-21,
                        -0x1.777725087f33bp-20)),
        w4,
        four_terms(w, w2, 0x1.a357738e13b12p-18, -0x1.ad3331dbdc34ap-15, 0x1.0aaaaaaa73e90p-10, -0x1.0000000000000p-3));
}

ALWAYS_INLINE double bessel_size_1(double w, double w2, double w4)
{
    return fma_(fma_(four_terms(w, w2, 0x1.02f74de7c4593p-32, -0x1.d21003001da6bp-30, 0x1.910e14c20e76ap-28,
                                -0x1.cda37bf7bc543p-27),
                     w4,
                     four_terms(w, w2, 0x1.b6f9d39aebbecp-26, -0x1.ab8a8099bb6dap-25, 0x1.0899865f8df76p-23,
                                -0x1.ef48a51828821p-22)),
                w4, four_terms(w, w2, 0x1.9c4fc65870084p-19, -0x1.8bffffd16fc61p-15, 0x1.7ffffffffc45fp-9, 0x0.0p+0));
}

ALWAYS_INLINE double bessel_shift_1(double w, double w2, double w4)
{
    return fma_(
        fma_(four_terms(w, w2, -0x1.f328600ecabadp-30, 0x1.ba6c524f343c4p-27, -0x1.7382f9beacad6p-25,
                        0x1.9a2f5a6055751p-24),
             w4,
             four_terms(w, w2, -0x1.6ae891c75fd0fp-23, 0x1.3a15896ab6370p-22, -0x1.47a279929c34bp-21,
                        0x1.e9d484893dd7bp-20)),
        w4,
        four_terms(w, w2, -0x1.2f47f53a3a3d4p-17, 0x1.7bcccc0b0429cp-14, -0x1.4fffffffe1151p-9, 0x1.8000000000000p-2));
}

/* Of 8 <= x <= TURN_LIMIT. The angle beside an odd multiple of pi / 4 is known as turn_of knows it, and has alpha / x
 * added to it. The root is mended by what is left beside its square. */
ALWAYS_INLINE double bessel_far(double x, int order, int second)
{
    double inverse = 1 / x, w = (8 * inverse) * (8 * inverse), w2 = w * w, w4 = w2 * w2;
    double more = order ? bessel_size_1(w, w2, w4) : bessel_size_0(w, w2, w4);
    double shift = (order ? bessel_shift_1(w, w2, w4) : bessel_shift_0(w, w2, w4)) * inverse;
    double shifted = fma_(x, TWO_OVER_PI, fma_(shift, TWO_OVER_PI, -0.5)) + ROUNDER;
    double k = shifted - ROUNDER + 0.5, first = fma_(k, -QUARTER, x), part = k * QUARTER_LOW, near = first - part;
    double lost = ((first - near) - part) - fma_(k, QUARTER_LOW, -part), r = near + shift;
    struct circle c = circle_of(r, fma_(k, -QUARTER_LOWEST, lost) + lost_of(near, -shift, r));
    uint64_t turn = bits_of_double(shifted) + (uint64_t)!second - (uint64_t)order;
    double v = turn & 1 ? c.one + c.cosine : c.r + c.sine;
    double root = sqrt(TWO_OVER_PI * inverse), product = x * root;
    double less = fma_(-fma_(x, root, -product), root, fma_(-product, root, TWO_OVER_PI) + TWO_OVER_PI_LOW);
    v = fma_(v, fma_(less, 0.5 * QUARTER, more), v) * root;
    return double_of_bits(bits_of_double(v) ^ turn >> 1 << 63);
}

#endif
