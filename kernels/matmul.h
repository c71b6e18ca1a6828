/* Matrix products: what matmul.c has worked out for the generated kernel. */
#ifndef KN_MATMUL_H
#define KN_MATMUL_H

#include "kernels/program.h"

/* c (rows x columns, contiguous) = a (rows x inner) times b (inner x columns), all of one dtype. Strides in elements.
 */
struct kn_product {
    enum rt_dtype dtype;
    int64_t rows, inner, columns;
    int64_t a_stride[2], b_stride[2];
    const void *a, *b; /* host addresses; unused on a GPU */
    void *c;
};

enum rt_status kn_matmul_cuda(const struct kn_product *p, const struct rt_array *a, const struct rt_array *b,
                              const struct rt_array *out, struct rt_error *e);

#endif
