/* What kernels may take for granted: NVRTC has no C library and no C++ one, so the names that CUDA sources use without
 * a thought (int32_t, INFINITY, INT_MAX, std::min) and the headers that they include by habit come from here. */
#ifndef RT_PRELUDE_H
#define RT_PRELUDE_H

#include <stdbool.h>

#define RT_PRELUDE_NAME     "lunarray.cuh"
#define RT_PRELUDE_STD_NAME "lunarray_std.cuh"

extern const char rt_prelude[];

/* All headers by the names that sources include; one without a name ends them. NVRTC takes them before any that lies in
 * a folder. */
struct rt_header {
    const char *name, *text;
    const char *about; /* what it gives; NULL for those that nobody need name */
};
extern const struct rt_header rt_headers[];
#define RT_MOST_HEADERS 160

/* Does a source need RT_PRELUDE_STD_NAME? It takes half a second to compile, once, so it comes only where something of
 * std is named, and not to sources that write a std of their own. */
bool rt_names_std(const char *source);

#endif
