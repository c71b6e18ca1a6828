/* Arrays to and from DLPack tensors (runtime/dlpack.h). */
#ifndef RT_EXCHANGE_H
#define RT_EXCHANGE_H

#include "runtime/array.h"
#include "runtime/dlpack.h"

/* A tensor over the array's memory, which lives until the tensor is deleted. Work that the device has been given is
 * done. RT_UNSUPPORTED for the software GPU, whose memory nobody else can reach. */
enum rt_status rt_dlpack_export(const struct rt_array *a, bool versioned, struct rt_dl_managed *out,
                                struct rt_error *e);
/* An array over the tensor's memory. On success it owns the tensor, and m is none; else m is as it was.
 * RT_INVALID or RT_UNSUPPORTED for devices, dtypes and layouts that there are not. */
enum rt_status rt_dlpack_import(struct rt_dl_managed *m, struct rt_array *out, struct rt_error *e);

#endif
