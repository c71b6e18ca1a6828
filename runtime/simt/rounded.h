/* Floats as modifiers of instructions have them: denormals that are zeros, results from 0 to 1, directions of rounding;
 * and their bits. */
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

#endif
