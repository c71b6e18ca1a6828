/* Rounding of doubles to the narrow formats f16 and bf16, in every rounding mode, and back. */
#include <math.h>
#include <string.h>
#include "runtime/simt/rounded.h"

/* x, which is not negative, in units of the format's last place at x, rounded to an integer. */
static double round_units(double units, bool negative, uint32_t flags)
{
    double down = floor(units), rest = units - down;
    if (flags & F_RZ) return down;
    if (flags & F_RM) return negative && rest > 0 ? down + 1 : down;
    if (flags & F_RP) return !negative && rest > 0 ? down + 1 : down;
    if (flags & F_RNA) return rest >= 0.5 ? down + 1 : down;
    if (rest > 0.5 || (rest == 0.5 && fmod(down, 2) != 0)) return down + 1;
    return down;
}

double simt_units_by_chance(double units, uint32_t random, int count)
{
    return floor(units + ldexp(random & ((1u << count) - 1), -count));
}

/* Sign, exponent and `mantissa` bits; the format's exponents have `bias`. Rounded as the flags say, or stochastically
 * by so many random bits where there are any. */
static uint16_t pack_float(double x, int mantissa, int bias, uint32_t flags, uint32_t random, int random_count)
{
    bool negative = signbit(x);
    int width = 15 - mantissa;
    uint16_t sign = negative ? 0x8000 : 0, infinity = (uint16_t)(((1 << width) - 1) << mantissa);
    if (isnan(x)) return 0x7fff;
    double magnitude = fabs(x);
    if (isinf(x)) return flags & F_SATFINITE ? (uint16_t)(sign | (infinity - 1)) : (uint16_t)(sign | infinity);
    if (magnitude == 0) return sign;
    int exponent = ilogb(magnitude), least = 1 - bias;
    if (exponent < least) exponent = least;
    double units = ldexp(magnitude, mantissa - exponent);
    units = random_count ? simt_units_by_chance(units, random, random_count) : round_units(units, negative, flags);
    double edge = ldexp(1, mantissa + 1);
    if (units >= edge) {
        units /= 2;
        exponent++;
    }
    if (exponent > bias) { /* too large: infinity, or the largest number where the mode rounds towards zero */
        bool finite =
            (flags & F_RZ) || (flags & F_RM && !negative) || (flags & F_RP && negative) || flags & F_SATFINITE;
        return (uint16_t)(sign | (infinity - finite));
    }
    uint32_t n = (uint32_t)units;
    if (n >> mantissa) n += (uint32_t)(exponent + bias - 1) << mantissa;
    return (uint16_t)(sign | n);
}

uint16_t simt_half_from(double x, uint32_t flags)
{
    return pack_float(x, 10, 15, flags, 0, 0);
}
uint16_t simt_bfloat_from(double x, uint32_t flags)
{
    return pack_float(x, 7, 127, flags, 0, 0);
}
uint16_t simt_half_by_chance(double x, uint32_t random, uint32_t flags)
{
    return pack_float(x, 10, 15, flags, random, 13);
}
uint16_t simt_bfloat_by_chance(double x, uint32_t random, uint32_t flags)
{
    return pack_float(x, 7, 127, flags, random, 16);
}

float simt_half_to(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, mantissa = h & 1023;
    float f;
    if (exponent == 0) {
        f = (float)mantissa * 0x1p-24f;
        return sign ? -f : f;
    }
    uint32_t bits = sign | mantissa << 13 | (exponent == 31 ? 255u << 23 : (exponent + 112) << 23);
    memcpy(&f, &bits, 4);
    return f;
}
float simt_bfloat_to(uint16_t h)
{
    uint32_t bits = (uint32_t)h << 16;
    float f;
    memcpy(&f, &bits, 4);
    return f;
}
