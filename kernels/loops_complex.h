/* Products and quotients of complex numbers, each part of single operations in C's order (of GCC's -fcx-fortran-rules):
 * GCC 12 makes one instruction of a product and what it is added to or taken from by turns, even where contracting is
 * off, and so other bits on processors that have it. Included by loops.c and loops_product.c. */
#ifndef KN_LOOPS_COMPLEX_H
#define KN_LOOPS_COMPLEX_H

#include "kernels/loops_emit.h"

#define COMPLEX_PRODUCTS(name, PART)                                                                                   \
    static inline __attribute__((always_inline)) name made_##name(PART re, PART im)                                    \
    {                                                                                                                  \
        name z;                                                                                                        \
        __real__ z = re;                                                                                               \
        __imag__ z = im;                                                                                               \
        return z;                                                                                                      \
    }                                                                                                                  \
    static inline __attribute__((always_inline)) name times_##name(name x, name y)                                     \
    {                                                                                                                  \
        const PART a = __real__ x, b = __imag__ x, c = __real__ y, d = __imag__ y;                                     \
        return made_##name(KN_ROUNDED(a * c) - KN_ROUNDED(b * d), KN_ROUNDED(a * d) + KN_ROUNDED(b * c));              \
    }                                                                                                                  \
    static inline __attribute__((always_inline)) name over_##name(name x, name y)                                      \
    {                                                                                                                  \
        const PART a = __real__ x, b = __imag__ x, c = __real__ y, d = __imag__ y;                                     \
        const bool less = __builtin_fabs##PART(c) < __builtin_fabs##PART(d);                                           \
        const PART ratio = less ? c / d : d / c;                                                                       \
        const PART by = less ? c * ratio + d : d * ratio + c;                                                          \
        const PART re = less ? KN_ROUNDED(a * ratio) + b : KN_ROUNDED(b * ratio) + a;                                  \
        const PART im = less ? KN_ROUNDED(b * ratio) - a : b - KN_ROUNDED(a * ratio);                                  \
        return made_##name(re / by, im / by);                                                                          \
    }
#define __builtin_fabsfloat  __builtin_fabsf
#define __builtin_fabsdouble __builtin_fabs
COMPLEX_PRODUCTS(c64, float)
COMPLEX_PRODUCTS(c128, double)

#endif
