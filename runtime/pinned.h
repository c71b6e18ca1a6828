/* Host memory that the operating system keeps where it is, so that a GPU copies from and to it by itself, beside
 * kernels and without a detour. */
#ifndef RT_PINNED_H
#define RT_PINNED_H

#include "runtime/memory.h"

/* A storage of the cpu whose memory is pinned for all GPUs by the driver of `by`; ordinary memory where that is no GPU,
 * or its driver refuses, which `pinned` of the storage tells. NULL as rt_storage_new. */
struct rt_storage *rt_storage_pinned(struct rt_device *by, size_t bytes, struct rt_error *e);

#endif
