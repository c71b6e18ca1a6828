/* What the files of gpu.fft share. [raises] as in lang.h. */
#ifndef LG_FFT_H
#define LG_FFT_H

#include "lang/steps.h"

extern const struct lg_function lg_cosine_functions[];

/* What is divided by: the inverse, both by the root, or the other. The name at idx, backward unless given. */
enum lg_fft_norm { LG_FFT_BACKWARD, LG_FFT_ORTHO, LG_FFT_FORWARD };
enum lg_fft_norm lg_fft_norm(lua_State *L, int idx);
/* The length of a transform at idx. */
int64_t lg_fft_length(lua_State *L, int idx);

struct lg_fft_axes {
    int count; /* of axes */
    int axes[RT_MAX_DIMS];
    int64_t n[RT_MAX_DIMS]; /* of each; 0: as long as it is */
};
/* The lengths at idx and the axes behind them, both lists or nil: as many of the last axes as there are lengths or,
 * without them, `count` (0: all). */
void lg_fft_axes(lua_State *L, int idx, int ndim, int count, struct lg_fft_axes *out);

#endif
