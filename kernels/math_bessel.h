/* Bessel functions of float64 of order 0 and 1, from 8 on as sqrt(2 / (pi x)) A cos(x - pi / 4 + alpha / x), of order 1
 * with a quarter turn less, and those of the second kind with the sine. A - 1 and alpha are polynomials over (8 / x)^2,
 * below 8 there are others over x^2: ours, through Chebyshev's points, with errors of 2^-54, of alpha 2^-51, and below
 * 8 2^-56. Results are within 4 units of the last place of how far they swing. Included by loops.c alone. */
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

ALWAYS_INLINE double bessel_first_0(double w, double w2, double w4)
{
    double p = fma_(-0x1.0b313289be0b9p-37, w, 0x1.522a43f65486ap-31);
    p = fma_(p, w4,
             four_terms(w, w2, -0x1.522a43f65486ap-25, 0x1.02e85c0898b71p-19, -0x1.23456789abcdfp-14,
                        0x1.c71c71c71c71cp-10));
    p = fma_(
        p, w4,
        four_terms(w, w2, -0x1.c71c71c71c71cp-6, 0x1.0000000000000p-2, -0x1.0000000000000p+0, 0x1.0000000000000p+0));
    return p;
}

ALWAYS_INLINE double bessel_first_1(double w, double w2, double w4)
{
    double p = fma_(-0x1.ab81ea75fcdf4p-41, w, 0x1.2c9758daf5cd0p-34);
    p = fma_(p, w4,
             four_terms(w, w2, -0x1.522a43f65486ap-28, 0x1.27e4fb7789f5cp-22, -0x1.845c8a0ce5129p-17,
                        0x1.6c16c16c16c17p-12));
    p = fma_(
        p, w4,
        four_terms(w, w2, -0x1.c71c71c71c71cp-8, 0x1.5555555555555p-4, -0x1.0000000000000p-1, 0x1.0000000000000p+0));
    return p;
}

ALWAYS_INLINE double bessel_near_0(double w, double w2, double w4)
{
    double p = fma_(fma_(0x1.cdf6a922f9295p-52, w, -0x1.ef46452cc507dp-48), w, 0x1.e0929ded36613p-43);
    p = fma_(p, w4,
             four_terms(w, w2, -0x1.5065c80b119c3p-38, 0x1.9c37429bccd79p-34, -0x1.a7dc629205791p-30,
                        0x1.68933884cdcb6p-26));
    p = fma_(p, w4,
             four_terms(w, w2, -0x1.f0aff3a9bd13bp-23, 0x1.0d97876bbaf51p-19, -0x1.bd3c2ed6885a3p-17,
                        0x1.0a698d0a18394p-14));
    p = fma_(p, w4,
             four_terms(w, w2, -0x1.ae528ba679f8dp-13, 0x1.a1fee49614fd8p-12, -0x1.86c89ec148fc1p-12,
                        0x1.70d77f560145cp-14));
    return p;
}

ALWAYS_INLINE double bessel_near_1(double w, double w2, double w4)
{
    double p = fma_(fma_(0x1.b3c4211c57044p-57, w, -0x1.043181710bda3p-52), w, 0x1.0840131c995d2p-47);
    p = fma_(p, w4,
             four_terms(w, w2, -0x1.90010d1152badp-43, 0x1.094f59b3ed095p-38, -0x1.29bd05e7259e6p-34,
                        0x1.16e745169aef6p-30));
    p = fma_(p, w4,
             four_terms(w, w2, -0x1.abca72b8c8ba6p-27, 0x1.0641513355272p-23, -0x1.f27e2f165bd30p-21,
                        0x1.606db335e2401p-18));
    p = fma_(p, w4,
             four_terms(w, w2, -0x1.5dc281b8910c2p-16, 0x1.bdc39549724f4p-15, -0x1.3848b9914d387p-14,
                        0x1.517f30234baa5p-15));
    return p;
}

ALWAYS_INLINE double bessel_low_0(double w, double w2, double w4)
{
    double p = fma_(-0x1.f1a7711576130p-41, w4,
                    four_terms(w, w2, 0x1.2b0f011a86b12p-35, -0x1.02cd79caa142ep-30, 0x1.7c8cbc92c584bp-26,
                               -0x1.df26f932dbc2ap-22));
    p = fma_(
        p, w4,
        four_terms(w, w2, 0x1.fe7dab04adccbp-18, -0x1.c50305d34c76cp-14, 0x1.4872fa1548e28p-10, -0x1.7bdf82ff30e0ep-7));
    p = fma_(
        p, w4,
        four_terms(w, w2, 0x1.53b439a1e4a25p-4, -0x1.c27b78c0ab194p-2, 0x1.a0ed2b9a22bd4p+0, -0x1.e87606aefa817p+1));
    p = fma_(
        p, w4,
        four_terms(w, w2, 0x1.29151200136eap+2, -0x1.43c0285883e59p+0, -0x1.926f7b36c5b5fp+0, 0x1.5590f6d9e16bap-2));
    return p;
}

ALWAYS_INLINE double bessel_high_0(double w, double w2, double w4)
{
    double p = fma_(-0x1.f1a7711576130p-41, w4,
                    four_terms(w, w2, 0x1.9b7f37cd011b2p-36, -0x1.54225062e5f9cp-31, 0x1.e33de46455dbep-27,
                               -0x1.248ab08afd527p-22));
    p = fma_(
        p, w4,
        four_terms(w, w2, 0x1.2968fe73e96cfp-18, -0x1.f27118a402fe4p-15, 0x1.50474543532f4p-11, -0x1.621fc33794804p-8));
    p = fma_(
        p, w4,
        four_terms(w, w2, 0x1.16863883c7104p-5, -0x1.31605078d8a1ap-3, 0x1.9866c60b64bf9p-2, -0x1.ad200c7cb6808p-2));
    p = fma_(
        p, w4,
        four_terms(w, w2, -0x1.26ca86ec86a6dp-1, 0x1.71b7fa619dfb7p+0, -0x1.10b4abf120213p-5, -0x1.f37959a74bb53p-2));
    return p;
}

ALWAYS_INLINE double bessel_low_1(double w, double w2, double w4)
{
    double p =
        four_terms(w, w2, 0x1.ed24ebd671b40p-41, -0x1.15a6c5fe0a7afp-35, 0x1.c0035817ccb0fp-31, -0x1.317dab65a8bf0p-26);
    p = fma_(p, w4,
             four_terms(w, w2, 0x1.628fbc77dcae6p-22, -0x1.59ad84d3aad95p-18, 0x1.1643b5326ea17p-14,
                        -0x1.6a20f6a77f627p-11));
    p = fma_(
        p, w4,
        four_terms(w, w2, 0x1.72dfe2f0407bcp-8, -0x1.20a36b84ec136p-5, 0x1.456898c564218p-3, -0x1.ef15373269498p-2));
    p = fma_(
        p, w4,
        four_terms(w, w2, 0x1.c365cb540bdc7p-1, -0x1.7c5a8d8d16873p-1, 0x1.2a18643e3095cp-5, 0x1.3b1157c8fd09fp-3));
    return p;
}

ALWAYS_INLINE double bessel_high_1(double w, double w2, double w4)
{
    double p =
        four_terms(w, w2, 0x1.ed24ebd671b40p-41, -0x1.44243d6f8fa99p-36, 0x1.ff44e810815c2p-32, -0x1.4bf8f51ca057ap-27);
    p = fma_(p, w4,
             four_terms(w, w2, 0x1.6d48c80d88c8cp-23, -0x1.4df53cf80c3f7p-19, 0x1.f0b88bf12e8eap-16,
                        -0x1.244f1a5a24705p-12));
    p = fma_(
        p, w4,
        four_terms(w, w2, 0x1.0620af5fd2ecep-9, -0x1.528c7bdb11040p-7, 0x1.1d79a65abe651p-5, -0x1.ef2043691b399p-5));
    p = fma_(
        p, w4,
        four_terms(w, w2, -0x1.dfeb847abfea6p-9, 0x1.4e48cbc4ac245p-3, -0x1.ee59c338c9d9bp-4, -0x1.a6c95a2f2a5cep-6));
    return p;
}

/* Of 0 <= x < 8. Up to 1 the first terms of the series over x^2 / 4; from there on a polynomial over x^2 / 32 - 2, all
 * of whose terms have one sign, times the distances of the squares from those of the two zeros, which are known to more
 * digits than a double has. */
ALWAYS_INLINE double bessel_near(double x, int order)
{
    double t = x * x * 0.25, t2 = t * t, w = fma_(x, x, -64) * 0x1p-5, w2 = w * w;
    double one = order ? 0x1.ea75575af6f09p+1 : 0x1.33d152e971b40p+1;
    double two = order ? 0x1.c0ff5f3b47250p+2 : 0x1.6148f5b2c2e45p+2;
    double one_low = order ? -0x1.60155a9d1b256p-53 : -0x1.0f539d7da258ep-53;
    double two_low = order ? -0x1.b226d9d243827p-54 : 0x1.75054cd60a517p-54;
    double first = order ? bessel_first_1(t, t2, t2 * t2) : bessel_first_0(t, t2, t2 * t2);
    double p = order ? bessel_near_1(w, w2, w2 * w2) : bessel_near_0(w, w2, w2 * w2);
    double v = (((x - one) - one_low) * (x + one)) * (((x - two) - two_low) * (x + two)) * p;
    return order ? x * (x < 1 ? 0.5 * first : v) : x < 1 ? first : v;
}

/* The second kind, of x > 0 whose logarithm is l: 2 / pi times that of the first kind and, of order 1, -1 / x, and a
 * polynomial over what x^2 is beside a number in its midst, up to 4.9 and from there on, or the terms would be
 * large. */
ALWAYS_INLINE double bessel_near_second(double x, double l, int order)
{
    double first = bessel_near(x, order), w = fma_(x, x, x < 4.9 ? -16 : order ? -48 : -40) * 0x1p-5, w2 = w * w;
    double low = order ? bessel_low_1(w, w2, w2 * w2) : bessel_low_0(w, w2, w2 * w2);
    double high = order ? bessel_high_1(w, w2, w2 * w2) : bessel_high_0(w, w2, w2 * w2), rest = x < 4.9 ? low : high;
    const double factor = TWO_OVER_PI * l;
    return order ? fma_(x, rest, fma_(factor, first, -TWO_OVER_PI / x)) : fma_(factor, first, rest);
}

#endif
