/* Sparse matrices factored on the host, in float64: what solves equations with them directly. */
#ifndef KN_SPARSE_LU_H
#define KN_SPARSE_LU_H

#include "kernels/sparse.h"

/* The factors of a square matrix: its rows in the order `rows` and its columns in the order `columns` are U^T L^T,
 * where L has ones on its diagonal and U `pivots`. Both by columns, without their diagonals. */
struct kn_lu {
    int64_t n;
    int32_t *rows, *columns;
    double *pivots;
    struct kn_lu_columns {
        int64_t *starts, room;
        int32_t *indices;
        double *values;
    } lower, upper;
    int64_t bytes; /* counted by rt_memory_held */
};

/* RT_INVALID for a matrix that is not square, has no inverse or elements that are not finite. Release it in any case.
 */
enum rt_status kn_lu_factor(const struct kn_csr *a, struct kn_lu *lu, struct rt_error *e);
void kn_lu_release(struct kn_lu *lu);
/* x, n numbers, becomes the solution for what it was; `work` is room for n numbers. */
void kn_lu_solve(const struct kn_lu *lu, double *x, double *work);

/* For the files of kernels/: an order of the rows and columns of a square matrix in which few elements come to those of
 * its factors. */
enum rt_status kn_elimination_order(int32_t n, const int64_t *starts, const int32_t *indices, int32_t *order,
                                    struct rt_error *e);

#endif
