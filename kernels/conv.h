/* Convolutions with learned filters and pooling over windows, of batches of images with channels: (N, C, H, W). A line
 * is an image of height 1. Nothing is flipped: these are correlations, as in every library of neural networks. */
#ifndef KN_CONV_H
#define KN_CONV_H

#include "kernels/kernels.h"

/* Where windows lie along height (0) and width (1). Padding counts as zeros, in the greatest of a window as nothing. */
struct kn_window {
    int64_t size[2], stride[2], before[2], dilation[2]; /* before: padding in front of the first element */
    int64_t places[2];                                  /* windows along each axis: sizes of the result */
};

/* Images and the filters that they are convolved with. Borrowed. */
struct kn_filtered {
    const char *what;                    /* begins messages */
    const struct rt_array *x, *w, *bias; /* bias NULL: none */
    int64_t groups;                      /* equal parts of the channels; filters of one see the channels of theirs */
};

/* out (N, O, places) = the sums over windows of x (N, C, H, W) times w (O, C / groups, size), plus bias (O). Floats in
 * the dtype of x * w, the 16-bit ones computed in float32. out is new and contiguous. RT_INVALID for dtypes other than
 * floats. The sizes fit each other: that is the caller's to see to. */
enum rt_status kn_conv(const struct kn_filtered *f, const struct kn_window *window, struct rt_array *out,
                       struct rt_error *e);

/* Sums of products of whole numbers, which wrap: whether there is a way for x, and of the vector x with the vector w of
 * its dtype moved along it, `before` elements in front of x first, to so many places. out is new, contiguous and of the
 * dtype of x. */
bool kn_correlates_whole(const struct rt_array *x);
enum rt_status kn_correlate_whole(const struct rt_array *x, const struct rt_array *w, int64_t before, int64_t places,
                                  struct rt_array *out, struct rt_error *e);

enum kn_pooling { KN_POOL_MAX, KN_POOL_MEAN };
/* out (N, C, places): the greatest element of each window, NaN where there is one, or the mean of all its places.
 * Floats as above. */
enum rt_status kn_pool(const char *what, enum kn_pooling which, const struct rt_array *x,
                       const struct kn_window *window, struct rt_array *out, struct rt_error *e);

/* Elements [first, last) of an axis. */
struct kn_span {
    int64_t first, last;
};

/* For the files of kernels/: a convolution of contiguous arrays of float32 or float64; on the host with few filters and
 * without a bias also of whole numbers of 32 or 64 bits. */
struct kn_conv {
    enum rt_dtype dtype;
    int64_t batch, channels, filters; /* channels and filters of one group */
    int64_t groups, in[2];            /* height and width of x */
    struct kn_window window;
    int64_t depth, pixels;    /* products in a sum; places of one image */
    const void *x, *w, *bias; /* host addresses; unused on a GPU */
    void *out;
};
/* So few filters in a group that sums are faster one filter at a time than as products of matrices. */
#define KN_FEW_FILTERS 4

/* c->out is written whole. RT_NOMEM, RT_INTERRUPTED; on a GPU what a launch fails with, and RT_UNSUPPORTED. */
enum rt_status kn_conv_host(const struct kn_conv *c, struct rt_error *e);
enum rt_status kn_conv_cuda(const struct kn_conv *c, const struct rt_array *x, const struct rt_array *w,
                            const struct rt_array *bias, const struct rt_array *out, struct rt_error *e);
/* RT_INVALID for anything but floats; *compute is what they are computed in. */
enum rt_status kn_conv_dtype(const char *what, enum rt_dtype t, enum rt_dtype *compute, struct rt_error *e);
/* `a` contiguous in a dtype: shared where it is so already. */
enum rt_status kn_conv_operand(const struct rt_array *a, enum rt_dtype t, struct rt_array *out, struct rt_error *e);
/* The result, computed in another dtype, converted to the wanted one. */
enum rt_status kn_conv_result(struct rt_array *out, enum rt_dtype wanted, struct rt_error *e);

#endif
