/* exp, log, sin and cos of float32, written so that a compiler can vectorise a loop over them: no branches, no tables.
 * They compute in double, whose spare bits take the place of careful float arithmetic, so results are within 0.51 units
 * of the last place and are the same bits with every instruction set. Included by loops.c alone. */
#ifndef KN_MATH_F32_H
#define KN_MATH_F32_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline double double_of_bits(uint64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static inline uint64_t bits_of_double(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

/* Adding this to a small double leaves it rounded to a whole number, which is then in the low bits. */
#define ROUNDER 0x1.8p52

static inline float exp_f32(float a)
{
    /* e^x = 2^k e^t with |t| <= ln(2) / 2. Beyond +-200 every float32 result is infinite or zero anyway. */
    double x = a > 200 ? 200 : a < -200 ? -200 : (double)a;
    double shifted = x * 0x1.71547652b82fep0 + ROUNDER;
    double t = (x * 0x1.71547652b82fep0 - (shifted - ROUNDER)) * 0x1.62e42fefa39efp-1;
    double p = 1.0 / 40320;
    p = p * t + 1.0 / 5040;
    p = p * t + 1.0 / 720;
    p = p * t + 1.0 / 120;
    p = p * t + 1.0 / 24;
    p = p * t + 1.0 / 6;
    p = p * t + 0.5;
    p = p * t + 1;
    p = p * t + 1;
    return (float)(p * double_of_bits((bits_of_double(shifted) + 1023) << 52));
}

static inline float log_f32(float a)
{
    /* x = 2^k m with m from sqrt(1/2) to sqrt(2), and log(m) = 2 atanh(s) for s = (m - 1) / (m + 1). */
    uint64_t bits = bits_of_double((double)a) - 0x3fe6a09e667f3bcdu;
    double k = double_of_bits(bits >> 52 | 0x4330000000000000u) - (bits >> 63 ? 0x1p52 + 4096 : 0x1p52);
    double m = double_of_bits((bits & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu);
    double s = (m - 1) / (m + 1), z = s * s;
    double p = 1.0 / 13;
    p = p * z + 1.0 / 11;
    p = p * z + 1.0 / 9;
    p = p * z + 1.0 / 7;
    p = p * z + 1.0 / 5;
    p = p * z + 1.0 / 3;
    p = p * z + 1;
    float v = (float)(k * 0x1.62e42fefa39efp-1 + 2 * s * p);
    v = a == 0 ? -__builtin_inff() : v;
    v = a < 0 ? __builtin_nanf("") : v;
    return a < __builtin_inff() ? v : a; /* infinity and NaN */
}

/* Up to this size k * (the first part of pi) below is exact; larger arguments go to the C library. */
#define TRIG_LIMIT 100000.0f

/* sin(a) for turn 0, cos(a) for turn 1, of |a| <= TRIG_LIMIT: a = k pi + r with |r| <= pi / 2, where k is whole for the
 * sine and a half more for the cosine; then it is sin(r) or -sin(r). The polynomial's error is 2.4e-11 of sin(r). */
static inline float sin_turned(float a, int turn)
{
    double x = a, half = turn ? 0.5 : 0, shifted = x * 0x1.45f306dc9c883p-2 - half + ROUNDER;
    double k = shifted - ROUNDER + half;
    double r = x - k * 0x1.921fb54400000p1 - k * 0x1.0b4611a626331p-33;
    double z = r * r, s = -0x1.9a678224b8275p-26;
    s = s * z + 0x1.717074d00abd9p-19;
    s = s * z - 0x1.a017d94a3d03fp-13;
    s = s * z + 0x1.11110c49017d3p-7;
    s = s * z - 0x1.5555554765bf2p-3;
    s = s * z * r + r;
    return (float)double_of_bits(bits_of_double(s) ^ (bits_of_double(shifted) + (uint64_t)turn) << 63);
}

/* All of n values may be given to sin_turned. */
static inline int trig_fits(const float *a, size_t n)
{
    int fits = 1;
    for (size_t i = 0; i < n; i++) fits &= fabsf(a[i]) <= TRIG_LIMIT;
    return fits;
}

#endif
