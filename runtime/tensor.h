/* Tensor maps: what cp.async.bulk.tensor, the copies of the tensor memory accelerator, knows of an array. A struct
 * rt_tensor_map is a value that holds its array; all zeros is "none" and may be released. */
#ifndef RT_TENSOR_H
#define RT_TENSOR_H

#include "runtime/array.h"
#include "runtime/compile.h"

#define RT_TENSOR_DIMS 5

enum rt_swizzle { RT_SWIZZLE_NONE, RT_SWIZZLE_32B, RT_SWIZZLE_64B, RT_SWIZZLE_128B };
/* A box of an array, by its axes. */
struct rt_tensor_box {
    int ndim;
    int64_t shape[RT_TENSOR_DIMS]; /* elements that it goes over */
    int64_t steps[RT_TENSOR_DIMS]; /* and by how many at once; the last is 1 */
    enum rt_swizzle swizzle;       /* how units of 16 bytes are mixed in shared memory */
    bool nan;                      /* what lies outside of the array is NaN, not 0 */
};

struct rt_tensor_map {
    unsigned char bytes[RT_TENSOR_BYTES]; /* the driver's CUtensorMap, what a kernel gets */
    struct rt_array array;
    struct rt_tensor_box box;
};

/* Makes the map of an array of 1 to 5 axes, which may be a view whose last axis is contiguous. RT_INVALID in the user's
 * terms for what the accelerator does not take; RT_UNSUPPORTED on GPUs before 9.0 and by drivers before CUDA 12. */
enum rt_status rt_tensor_map_new(const struct rt_array *a, const struct rt_tensor_box *box, struct rt_tensor_map *out,
                                 struct rt_error *e);
void rt_tensor_map_release(struct rt_tensor_map *m);
/* Elements of a box in shared memory along an axis. */
int64_t rt_tensor_extent(const struct rt_tensor_box *box, int axis);

#endif
