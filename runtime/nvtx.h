/* NVTX: names for parts of a program, which NVIDIA's profilers show on their time line. Without the library, or a
 * profiler, they do nothing. */
#ifndef RT_NVTX_H
#define RT_NVTX_H

#include <stdbool.h>

bool rt_nvtx_available(void); /* the library was found; opens it */
/* A part of the calling thread's time begins, inside of those that have begun, or the last of them ends. */
void rt_nvtx_push(const char *name);
void rt_nvtx_pop(void);
void rt_nvtx_mark(const char *name); /* a moment */

#endif
