/* Scans: what is shared by the two ways of running them. Rows lie `step` elements apart: row number r begins at element
 * r / inner * length * inner + r % inner of the output, which is contiguous, and its elements are `inner` apart. */
#ifndef KN_SCAN_H
#define KN_SCAN_H

#include "kernels/ops.h"

struct kn_scanner {
    enum kn_scan scan;
    enum kn_op combine;       /* add, mul, maximum, minimum */
    enum rt_dtype accumulate; /* the dtype that elements are combined in */
    int64_t length, inner;    /* 1 at least */
    int64_t rows;             /* 1 at least */
};

/* `a` and `out` are contiguous, of the same shape. */
enum rt_status kn_scan_host(const struct kn_scanner *s, const struct rt_array *a, const struct rt_array *out,
                            struct rt_error *e);
enum rt_status kn_scan_cuda(const struct kn_scanner *s, const struct rt_array *a, const struct rt_array *out,
                            struct rt_error *e);

#endif
