/* Convolutions that are put together from those of images (kernels/conv.h): of volumes with channels, (N, C, D, H, W),
 * and transposed ones, which spread each element over a window. */
#ifndef KN_CONV_VOLUMES_H
#define KN_CONV_VOLUMES_H

#include "kernels/conv.h"

/* Where windows lie along depth, height and width; as in struct kn_window. */
struct kn_volume {
    int64_t size[3], stride[3], before[3], dilation[3], places[3];
};

/* out (N, O, places) of x (N, C, D, H, W), w (O, C / groups, size) and bias (O) or NULL: as kn_conv. */
enum rt_status kn_conv3d(const struct kn_filtered *f, const struct kn_volume *volume, struct rt_array *out,
                         struct rt_error *e);
/* out (N, C, places): as kn_pool. */
enum rt_status kn_pool3d(const char *what, enum kn_pooling which, const struct rt_array *x,
                         const struct kn_volume *volume, struct rt_array *out, struct rt_error *e);

/* out (N, O, places): each element of x (N, C, H, W) times w (C, O / groups, size), added up at its place times the
 * stride, of which `before` elements in front are left out; plus bias (O) unless that is NULL. What kn_conv's
 * derivative by x is. `places` is at most (H - 1) stride + dilation (size - 1) + 1, or more by what is then zeros and
 * the bias. */
enum rt_status kn_conv_transpose(const struct kn_filtered *f, const struct kn_window *window, struct rt_array *out,
                                 struct rt_error *e);

#endif
