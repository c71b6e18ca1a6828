/* Filters by the order of a window's elements, on the host: the window moves along the last axis, and is kept in order
 * meanwhile. */
#ifndef KN_RANK_FILTER_H
#define KN_RANK_FILTER_H

#include "kernels/kernels.h"

/* *out = for each window of the sizes that lies in `a` its element number `rank`, from 0, in the order of sorting: a
 * new array of a's dtype, along each axis size - 1 elements shorter. With `spreads` a window with NaN gives NaN. Sizes
 * are 1 at least, and no greater than the axis. RT_UNSUPPORTED, without a message, for devices that run generated code,
 * and for elements of fewer than 4 bytes and complex numbers. */
enum rt_status kn_rank_filter(const struct rt_array *a, const int64_t *sizes, int64_t rank, bool spreads,
                              struct rt_array *out, struct rt_error *e);

#endif
