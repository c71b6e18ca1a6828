/* Sparse matrices by compressed rows (CSR): the elements that are there, row by row, their columns, and where each row
 * starts. Columns are ascending and different within a row, always. Elements are float32 or float64; a matrix is
 * not changed once it is made, apart from its elements. Products run on the device; what changes the structure
 * (transposing, adding, making one from triples) runs on the host, on copies where the host cannot reach the memory. */
#ifndef KN_SPARSE_H
#define KN_SPARSE_H

#include "kernels/kernels.h"

struct kn_csr {
    int64_t rows, columns;   /* below 2^31 */
    struct rt_array data;    /* the elements, contiguous; one axis, as in the others */
    struct rt_array indices; /* int32: their columns, from 0 */
    struct rt_array starts;  /* int64, rows + 1: the elements of row r are starts[r] to starts[r + 1] - 1 */
};
void kn_csr_release(struct kn_csr *a);
static inline struct rt_device *kn_csr_device(const struct kn_csr *a)
{
    return rt_array_device(&a->data);
}

/* The dtype that elements of another have in a sparse matrix: as in a division. RT_INVALID where there is none. */
enum rt_status kn_csr_dtype(enum rt_dtype t, enum rt_dtype *out, struct rt_error *e);

/* What a matrix is made of: its elements and where each is. Arrays may be on any devices, those of places are of any
 * integer dtypes. Borrowed. */
struct kn_csr_parts {
    int64_t rows, columns;
    int64_t base; /* what all places count from, in messages too */
    const struct rt_array *data;
    const struct rt_array *indices; /* the column of each element */
    const struct rt_array
        *places; /* where each row starts in these, and the last one ends; of triples each element's row */
};
/* A matrix from compressed rows, on the device of data. Rows are sorted and elements of one place added where need be.
 */
enum rt_status kn_csr_make(const struct kn_csr_parts *p, struct kn_csr *out, struct rt_error *e);
/* The same from a row and a column for each element. */
enum rt_status kn_csr_from_triples(const struct kn_csr_parts *p, struct kn_csr *out, struct rt_error *e);
/* The elements of a matrix that are not 0. NaN is none of the zeros. */
enum rt_status kn_csr_from_dense(const struct rt_array *x, struct kn_csr *out, struct rt_error *e);
enum rt_status kn_csr_to_dense(const struct kn_csr *a, struct rt_array *out, struct rt_error *e);
/* Converted to a dtype and on a device; shares what stays. */
enum rt_status kn_csr_convert(const struct kn_csr *a, enum rt_dtype dtype, struct rt_device *d, struct kn_csr *out,
                              struct rt_error *e);
/* int64: the row of each element, counted from `base`. */
enum rt_status kn_csr_rows(const struct kn_csr *a, int64_t base, struct rt_array *out, struct rt_error *e);

/* out = a times x, a vector or matrix, in the dtype of their elements' product. */
enum rt_status kn_csr_matmul(const struct kn_csr *a, const struct rt_array *x, struct rt_array *out,
                             struct rt_error *e);
enum rt_status kn_csr_transpose(const struct kn_csr *a, struct kn_csr *out, struct rt_error *e);
/* a + factor * b, without the places where that is 0. */
enum rt_status kn_csr_add(const struct kn_csr *a, const struct kn_csr *b, double factor, struct kn_csr *out,
                          struct rt_error *e);
/* The product of two sparse matrices. */
enum rt_status kn_csr_product(const struct kn_csr *a, const struct kn_csr *b, struct kn_csr *out, struct rt_error *e);

/* ---- for the files of kernels/ ---- */

/* A matrix where host code reads it. All zeros is none, and may be released. */
struct kn_csr_host {
    int64_t rows, columns;
    enum rt_dtype dtype;
    const int64_t *starts;
    const int32_t *indices;
    const void *data;
    struct kn_csr held;
};
/* In a dtype of its elements; release with kn_csr_release(&h->held). */
enum rt_status kn_csr_read(const struct kn_csr *a, enum rt_dtype dtype, struct kn_csr_host *h, struct rt_error *e);
/* A new matrix whose arrays host code can write; kn_csr_settle then brings it to the device it is for. */
enum rt_status kn_csr_new(struct rt_device *d, enum rt_dtype dtype, int64_t rows, int64_t columns, int64_t count,
                          struct kn_csr *out, struct rt_error *e);
enum rt_status kn_csr_settle(struct kn_csr *a, struct rt_device *d, struct rt_error *e);
/* Elements on the host in any order, each with its place, from 0 and in range. Those of one place are added up. */
struct kn_triples {
    int64_t rows, columns, count;
    enum rt_dtype dtype;
    const int32_t *row, *column;
    const void *data;
};
/* A matrix for the device d, which kn_csr_settle brings there. */
enum rt_status kn_csr_sort(const struct kn_triples *t, struct rt_device *d, struct kn_csr *out, struct rt_error *e);

/* a times x, contiguous (columns, n) of a's dtype, to `out` (rows, n). */
void kn_csr_matmul_host(const struct kn_csr *a, const struct rt_array *x, int64_t n, const struct rt_array *out);
enum rt_status kn_csr_matmul_cuda(const struct kn_csr *a, const struct rt_array *x, int64_t n,
                                  const struct rt_array *out, struct rt_error *e);
/* The elements to their places in `out`, which is all zeros. */
void kn_csr_scatter_host(const struct kn_csr *a, const struct rt_array *out);
enum rt_status kn_csr_scatter_cuda(const struct kn_csr *a, const struct rt_array *out, struct rt_error *e);

#endif
