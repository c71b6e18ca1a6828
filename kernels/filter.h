/* Filters with feedback along an axis: a0 y[n] = b0 x[n] + b1 x[n-1] + ... - a1 y[n-1] - ... On the host a thread has
 * whole rows; on a GPU long rows are parted into pieces, each of which runs from nothing first, so that the states at
 * their ends are known from one to the next before they run again. */
#ifndef KN_FILTER_H
#define KN_FILTER_H

#include "kernels/kernels.h"

/* The coefficients over a0, `order` + 1 of each; order is 1 or more. */
struct kn_filter {
    int64_t order;
    const double *b, *a;
};

/* *out is new, contiguous, of x's shape and its floating dtype (what division makes of integers), computed in float64.
 * axis counts from 0. *state is the filter's state, which is as SciPy has it: float64, contiguous, of x's shape with
 * `order` elements along the axis; before, and when it returns after. RT_INVALID for complex x. */
enum rt_status kn_filter(const struct kn_filter *f, const struct rt_array *x, int axis, const struct rt_array *state,
                         struct rt_array *out, struct rt_error *e);

/* ---- for the files of kernels/ ---- */

/* Rows lie as in kernels/scan.h; states by order: that of row r begins at r, and its parts are `rows` apart. */
struct kn_rows_filter {
    const struct kn_filter *filter;
    int64_t length, inner, rows; /* 1 at least */
};
/* x and out float64 and contiguous, which may be the same. */
enum rt_status kn_filter_cuda(const struct kn_rows_filter *f, const struct rt_array *x, const struct rt_array *state,
                              const struct rt_array *out, struct rt_error *e);

#endif
