/* Connected shapes in an array of bools, found on the host. */
#ifndef KN_LABEL_H
#define KN_LABEL_H

#include <stdbool.h>
#include <stdint.h>

/* Numbers the shapes that true elements make, from 1 in the order in which they first come, 0 for the others; returns
 * how many there are. `mask` and `labels` are row-major, of 1 to 4 axes and less than 2^31 elements. Element p and the
 * one at p + place - 1 belong together, for each of `count` places of 0 to 2 along each axis, in either direction. */
int32_t kn_label(const bool *mask, int ndim, const int64_t *shape, int count, const int64_t (*place)[4],
                 int32_t *labels);

#endif
