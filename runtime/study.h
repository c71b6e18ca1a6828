/* Profiles and traces of checked launches: rt_kernel_launch, looked at. */
#ifndef RT_STUDY_H
#define RT_STUDY_H

#include "runtime/kernel.h"
#include "runtime/occupancy.h"
#include "runtime/simt/profile.h"
#include "runtime/simt/trace.h"

struct rt_profile {
    struct rt_occupancy occupancy;
    struct simt_profile *counts; /* on the software GPU; NULL on others, which count nothing by line */
    double milliseconds;         /* of the launch; 0 on the software GPU, whose time says nothing about a GPU's */
    uint64_t array_bytes;        /* of the arrays among the arguments */
};
/* Launches as rt_kernel_launch does, waits for its end, and fills *out, which is released with rt_profile_clear. A grid
 * without blocks gives a profile without counts. */
enum rt_status rt_kernel_profile(const struct rt_kernel *k, const struct rt_launch *l, const struct rt_arg *args,
                                 size_t count, struct rt_profile *out, struct rt_error *e);
void rt_profile_clear(struct rt_profile *p);

/* Launches as rt_kernel_launch does, on the software GPU, following one warp: *request says which (block, warp) and how
 * many steps to keep (limit). The source is compiled once more, for debugging. NULL: also RT_UNSUPPORTED on a GPU and
 * RT_INVALID for a block or warp that the launch does not have. Release with simt_trace_free. */
struct rt_trace_request {
    unsigned block[3];
    uint32_t warp, limit;
};
struct simt_trace *rt_kernel_trace(const struct rt_kernel *k, const struct rt_launch *l, const struct rt_arg *args,
                                   size_t count, const struct rt_trace_request *request, struct rt_error *e);

#endif
