/* Distances between points on the host, which lang/ puts together from operations where generated code runs. */
#ifndef KN_DISTANCE_H
#define KN_DISTANCE_H

#include "kernels/kernels.h"

/* x (n, d) and y (m, d): contiguous float64, of the host or of a device whose memory it reads. out, contiguous float32
 * or float64: the distance of each point of x to each of y, (n, m); or, where `pairs`, that of each point of x to those
 * behind it, one after the other, and y is x. p is the norm's as KN_NORM has it, above 0; with `squares` it is 2, and
 * no root is taken. NaN where a coordinate is. */
enum rt_status kn_distances(const struct rt_array *x, const struct rt_array *y, double p, bool squares, bool pairs,
                            const struct rt_array *out, struct rt_error *e);

#endif
