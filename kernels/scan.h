/* Scans: what is shared by the two ways of running them. Rows lie `step` elements apart: row number r begins at element
 * r / inner * length * inner + r % inner of the output, which is contiguous, and its elements are `inner` apart. */
#ifndef KN_SCAN_H
#define KN_SCAN_H

#include "kernels/generate.h"

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

/* The kernel that this launches, as kn_hurry_together takes it; the launch refers to the key. */
struct kn_scan_key {
    uint8_t what; /* 's' */
    uint8_t per_thread, scan, from, accumulate, out;
};
struct kn_scan_key kn_scan_key(const struct kn_scanner *s, enum rt_dtype from, enum rt_dtype out);
struct kn_launch kn_scan_launch(const struct kn_scan_key *k);

#endif
