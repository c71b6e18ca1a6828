/* Matrix products: what matmul.c has worked out for those who multiply (matmul_host.c, matmul_cublas.c, matmul_cuda.c).
 */
#ifndef KN_MATMUL_H
#define KN_MATMUL_H

#include "kernels/program.h"

/* One product for every index of the batch axes: c (rows x columns, contiguous, one behind the other) = a (rows x
 * inner) times b (inner x columns), all of one dtype. Strides in elements; 0 along a batch axis that an operand lacks.
 * Batch axes of one element are left out, neighbours that make one are merged. */
struct kn_product {
    enum rt_dtype dtype;
    int64_t rows, inner, columns;
    int64_t a_stride[2], b_stride[2];
    int batch_ndim;
    int64_t batches, batch_shape[RT_MAX_DIMS], a_batch[RT_MAX_DIMS], b_batch[RT_MAX_DIMS];
    const void *a, *b; /* host addresses; unused on a GPU */
    void *c;
};

/* p->c is written whole. RT_NOMEM, RT_INTERRUPTED. */
enum rt_status kn_matmul_host(const struct kn_product *p, struct rt_error *e);
/* One row, whose elements are conjugated, times one column, both complex and side by side. */
enum rt_status kn_vdot_host(const struct kn_product *p, struct rt_error *e);
/* Whether the product would be faster if the left, or the right, matrices lay one row after the other. */
bool kn_matmul_wants_copy(const struct kn_product *p, bool left);
/* Products with one row or one column; false where they are not floats, or many small ones, or lie so in memory that
 * others do better. */
bool kn_matvec_host(const struct kn_product *p, enum rt_status *status, struct rt_error *e);
enum rt_status kn_matmul_cuda(const struct kn_product *p, const struct rt_array *a, const struct rt_array *b,
                              const struct rt_array *out, struct rt_error *e);
/* By cuBLAS, where it is there and can and the product is large; false where nothing was done. */
bool kn_matmul_cublas(const struct kn_product *p, const struct rt_array *a, const struct rt_array *b,
                      const struct rt_array *out);

#endif
