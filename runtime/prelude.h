/* What kernels may take for granted: NVRTC has no C library, so the names that CUDA sources use without a thought
 * (int32_t, INFINITY, INT_MAX) and the headers that they include by habit come from here. */
#ifndef RT_PRELUDE_H
#define RT_PRELUDE_H

#define RT_PRELUDE_NAME "lunarray.cuh"

extern const char rt_prelude[];
/* Headers by the names that sources include; all of them are empty, since the prelude is always there. */
#define RT_PRELUDE_HEADERS                                                                                             \
    "assert.h", "cassert", "cfloat", "climits", "cmath", "cstddef", "cstdint", "cstdio", "cstdlib", "cstring",         \
        "float.h", "inttypes.h", "limits.h", "math.h", "stdbool.h", "stddef.h", "stdint.h", "stdio.h", "stdlib.h",     \
        "string.h"

#endif
