/* Sorting arrays, and what rests on the order of elements. NaN is after all else; indices count from 1. */
#ifndef KN_ORDER_H
#define KN_ORDER_H

#include "kernels/kernels.h"

/* The array sorted along an axis (from 0), and the indices, as int64, that sort it: new contiguous arrays of its shape;
 * either may be NULL. Equal elements stay in their order, -0.0 comes before 0.0, NaN is last even when descending. */
enum rt_status kn_sort(const struct rt_array *a, int axis, bool descending, struct rt_array *values,
                       struct rt_array *indices, struct rt_error *e);

#endif
