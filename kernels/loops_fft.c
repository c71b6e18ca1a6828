/* The vector loops of the Fourier transforms. This text is included by loops_fft_base.c, loops_fft_v3.c and
 * loops_fft_v4.c, which set KN_FFT_LEVEL to the name of their table. It is empty when compiled by itself. */
#ifdef KN_FFT_LEVEL
#include "kernels/fft.h"
#include "kernels/loops_emit.h"
#include <string.h>

#define IN(part, j)       part[(j)*apart + q]
#define OUT_PART(part, k) to_##part[(k)*run + q]
#define PUT(k, x, y)                                                                                                   \
    OUT_PART(re, k) = (x)*wr[k] - (y)*wi[k];                                                                           \
    OUT_PART(im, k) = (x)*wi[k] + (y)*wr[k]

#define T     float
#define LANES KN_FFT_LANES
#define FN(x) x##_f32
#include "kernels/fft_body.h"
#undef T
#undef LANES
#undef FN
#define T     double
#define LANES (KN_FFT_LANES / 2)
#define FN(x) x##_f64
#include "kernels/fft_body.h"

const struct kn_fft_loops KN_FFT_LEVEL = {group_f32, group_f64, unpack_f32, unpack_f64};
#endif
