/* What is computed from neighbours in one small row, in one go: the same bits as one operation after the other. All
 * return false, and do nothing, for what is no contiguous array of one axis, on the host, small as kn_small_reduction
 * says; those but kn_small_diff also where it is not floating, and the derivative where it has one element. */
#ifndef KN_NEIGHBOURS_H
#define KN_NEIGHBOURS_H

#include "kernels/kernels.h"

/* Each element but the first minus the one before it, into a new array. */
bool kn_small_diff(const struct rt_array *a, struct rt_array *out);
/* The derivative of elements at the distance h of each other, into a new array: by both neighbours, at the
 * ends by the one that there is. */
bool kn_small_gradient(const struct rt_array *a, double h, struct rt_array *out);
/* The integral over lines between elements at the distance h of each other, in the array's dtype. */
bool kn_small_trapezoid(const struct rt_array *a, double h, void *element);

#endif
