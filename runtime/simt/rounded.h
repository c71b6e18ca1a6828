/* Floats as modifiers of instructions have them: denormals that are zeros, results from 0 to 1, directions of rounding;
 * their bits, and narrower formats. */
#ifndef SIMT_ROUNDED_H
#define SIMT_ROUNDED_H

#include <fenv.h>
#include <math.h>
#include <string.h>
#include "runtime/simt/insn.h"

static inline float simt_as_float(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, 4);
    return x;
}
static inline uint32_t simt_float_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, 4);
    return bits;
}

/* An operand. */
static inline float simt_enter(const struct insn *i, float x)
{
    return i->flags & F_FTZ && fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
}
/* A result. */
static inline float simt_leave(const struct insn *i, float x)
{
    x = simt_enter(i, x);
    return i->flags & F_SAT ? (!(x > 0) ? 0 : x > 1 ? 1 : x) : x;
}

/* For fesetround. */
static inline int simt_rounding(const struct insn *i)
{
    return i->flags & F_RZ ? FE_TOWARDZERO : i->flags & F_RM ? FE_DOWNWARD : i->flags & F_RP ? FE_UPWARD : FE_TONEAREST;
}

/* Rounding a double to a narrower format and back, exactly, in any rounding mode (F_RN when none). */
uint16_t simt_half_from(double x, uint32_t flags);
uint16_t simt_bfloat_from(double x, uint32_t flags);
/* The same rounded stochastically (.rs), by 13 and 16 random bits. */
uint16_t simt_half_by_chance(double x, uint32_t random, uint32_t flags);
uint16_t simt_bfloat_by_chance(double x, uint32_t random, uint32_t flags);
/* A number in units of a format's last place, not negative, rounded stochastically by the `count` low bits of `random`.
 * PTX says where the bits come from, not how they are used: here they are a fraction of the last place, which is added
 * before what is smaller than a unit is dropped, so that a number is rounded up as often as it is near the next one. */
double simt_units_by_chance(double units, uint32_t random, int count);
float simt_half_to(uint16_t h);
float simt_bfloat_to(uint16_t h);
/* Floats of 8 bits and fewer. */
enum narrow_format { NARROW_E4M3, NARROW_E5M2, NARROW_E2M3, NARROW_E3M2, NARROW_E2M1 };
float simt_narrow_to(enum narrow_format f, uint8_t code);

#endif
