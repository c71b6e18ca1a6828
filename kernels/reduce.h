/* Reductions: what is shared by the two ways of running them. A reduction combines the elements of each row of the
 * array, converted to an accumulating dtype, with an operation of ops.def. The order of combining is fixed by shape and
 * strides alone, so results do not depend on the number of threads. */
#ifndef KN_REDUCE_H
#define KN_REDUCE_H

#include "kernels/program.h"

struct kn_reducer {
    enum kn_reduction reduction;
    enum kn_op combine;       /* add, mul, minimum, maximum, logical_or, logical_and */
    bool indices;             /* argmin, argmax */
    enum rt_dtype accumulate; /* the dtype that elements are combined in */
    enum rt_dtype result;
    /* The geometry: `rows` as an array of the first elements of all rows (borrowed storage), and one row. */
    struct rt_array rows, row;
    int64_t length; /* of a row, 1 at least */
    int64_t count;  /* of rows, 1 at least */
};

/* Both write the combined values (or 1-based indices) of all rows to `out`, contiguous, of r->result; a mean is still
 * to be divided, so there it is of r->accumulate. */
enum rt_status kn_reduce_host(const struct kn_reducer *r, const struct rt_array *out, struct rt_error *e);
enum rt_status kn_reduce_cuda(const struct kn_reducer *r, const struct rt_array *out, struct rt_error *e);

#endif
