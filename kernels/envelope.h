/* The least of parabolas that stand over the elements along an axis: out[i] = min over j of x[j] + step2 (i - j)^2.
 * Axis after axis that gives squares of exact distances to the nearest of some elements (Meijster, Roerdink and
 * Hesselink, A general algorithm for computing distance transforms in linear time, 2000). A line is gone through twice:
 * forwards to find which parabolas are the least somewhere, and from where on, backwards to write. */
#ifndef KN_ENVELOPE_H
#define KN_ENVELOPE_H

#include <math.h>
#include "runtime/array.h"

/* x is float64, contiguous, 0 or more or infinity, with less than 2^31 elements along the axis (from 0); *out is new,
 * of its shape. `from`, unless NULL, is int64 of the same shape: in *to, new, is what it has where the parabola stands
 * that is the least, of several any, and what it has at the element itself where all are infinite. step2 is above 0. */
enum rt_status kn_envelope(const struct rt_array *x, const struct rt_array *from, int axis, double step2,
                           struct rt_array *out, struct rt_array *to, struct rt_error *e);

/* ---- for the files of kernels/ ---- */

/* One line of n elements `stride` apart, for both languages; which and where have room for n as far apart. I64 is an
 * integer of 64 bits. */
/* clang-format off */
#define KN_ENVELOPE_FUNCTION()                                                                                         \
    KN_FN double parabola_(const double *x, I64 stride, double step2, I64 at, I64 i)                                   \
    {                                                                                                                  \
        return x[i * stride] + step2 * ((double)(at - i) * (double)(at - i));                                          \
    }                                                                                                                  \
    KN_FN void envelope_(I64 n, I64 stride, double step2, const double *x, const I64 *from, int *which, int *where,    \
                         double *out, I64 *to)                                                                         \
    {                                                                                                                  \
        I64 q = -1;                                                                                                    \
        for (I64 u = 0; u < n; u++) {                                                                                  \
            const double height = x[u * stride];                                                                       \
            if (height - height != 0) continue;                                                                        \
            while (q >= 0 && parabola_(x, stride, step2, where[q * stride], which[q * stride]) >                       \
                                 parabola_(x, stride, step2, where[q * stride], u))                                    \
                q--;                                                                                                   \
            double begin = 0;                                                                                          \
            if (q >= 0) {                                                                                              \
                const I64 i = which[q * stride];                                                                       \
                begin = 1 + floor(((double)(u + i) + (height - x[i * stride]) / (step2 * (double)(u - i))) / 2);       \
                /* Where both are the same it may be rounded down, but that one is the least where it begins. */       \
                if (begin <= where[q * stride]) begin = where[q * stride] + 1;                                         \
            }                                                                                                          \
            if (!(begin < (double)n)) continue;                                                                        \
            q++;                                                                                                       \
            which[q * stride] = (int)u;                                                                                \
            where[q * stride] = (int)begin;                                                                            \
        }                                                                                                              \
        for (I64 u = n - 1; u >= 0; u--) {                                                                             \
            const I64 i = q >= 0 ? which[q * stride] : u;                                                              \
            out[u * stride] = parabola_(x, stride, step2, u, i);                                                       \
            if (to) to[u * stride] = from[i * stride];                                                                 \
            if (q >= 0 && u == where[q * stride]) q--;                                                                 \
        }                                                                                                              \
    }
/* clang-format on */

#endif
