/* Powers of 2 of floats, as interpreted and generated code both compute them: x = whole + f with f from -1/2 to 1/2,
 * 2^f as a polynomial by fused steps, and then one rounding. Below one unit in the last place off, and the same bits
 * with every instruction set. */
#ifndef SIMT_POWER_H
#define SIMT_POWER_H

#define POWER_MOST  129.0f /* what is beyond gives infinity, or zero */
#define POWER_LEAST -151.0f
#define POWER_SHIFT 0x1.8p23f /* x + this has the nearest whole number in its low bits */
/* Of f to the power 0, 1 and so on. */
#define POWER_TERMS                                                                                                    \
    1.0f, 0x1.62e430p-1f, 0x1.ebfbdcp-3f, 0x1.c6aee8p-5f, 0x1.3b2d4cp-7f, 0x1.5f3e54p-10f, 0x1.41fbbcp-13f

#endif
