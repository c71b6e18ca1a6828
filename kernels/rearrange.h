/* Rearrangements on the host that are bytes alone, for which lang/ makes indices or masks on a GPU: triangles, and
 * repetitions by counts. All arrays are contiguous, of the host or of a device whose memory it reads. */
#ifndef KN_REARRANGE_H
#define KN_REARRANGE_H

#include "kernels/kernels.h"

/* Clears what lies above the k-th diagonal of the last two axes or, with `upper`, below it. */
enum rt_status kn_clear_triangle(const struct rt_array *a, int64_t k, bool upper, struct rt_error *e);

/* How often each element of an axis is repeated: int64, of the axis's length. */
struct kn_counts {
    const int64_t *of;
    int64_t n, total; /* elements of the axis before, and after */
    int64_t *before;  /* for each chunk of elements, how many come before it, and at the end all; owned */
};
/* RT_INVALID where a count is negative or all are too many: the caller says which. Free c->before. */
enum rt_status kn_counts_add_up(const int64_t *counts, int64_t n, struct kn_counts *c, struct rt_error *e);
/* out, of a's shape but for the axis, of which it has c->total elements. */
enum rt_status kn_repeat_host(const struct rt_array *a, int axis, const struct kn_counts *c, const struct rt_array *out,
                              struct rt_error *e);

#endif
