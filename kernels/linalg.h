/* Solving and factoring matrices by LAPACK, as OpenBLAS has it, on the host: the arrays of a GPU are copied there and
 * the results back, except large ones where cuSOLVER is installed. The last two axes are the matrices, those in front
 * of them a batch, worked on by all threads.
 *
 * float32 is computed in float32 and float64 in float64, complex numbers of them likewise; integers become floating as
 * by `/`, and the 16-bit floats are computed in float32 and rounded once. RT_MISSING without OpenBLAS. RT_INVALID for
 * shapes that do not fit and for matrices that have no such result, saying which of a batch and why. */
#ifndef KN_LINALG_H
#define KN_LINALG_H

#include "kernels/kernels.h"

/* Results, for a matrix of m x n and k = min(m, n). With `values` those of SVD and EIGH and EIG are the values alone.
 *   SOLVE       x with a x = b; b is a matrix, or of one axis
 *   TRIANGULAR  the same for a triangular a, of which only that triangle is read
 *   INV         the inverse
 *   DET         the determinant, its sign, the logarithm of its absolute value
 *   CHOLESKY    lower L with a = L L^H, of which only the lower triangle is read
 *   QR          Q (m x k, with `full` m x m), R (k x n, with `full` m x n)
 *   SVD         U (m x k, with `full` m x m), the singular values from the largest down, V^H (k x n, with `full` n x n)
 *   EIGH        eigenvalues upwards, eigenvectors as columns, of a symmetric (complex: Hermitian) a of which only the
 *               lower triangle is read
 *   EIG         eigenvalues, eigenvectors as columns; complex unless all of the batch are real
 *   LSTSQ       the shortest x of those that make a x - b least, the rank of a (int64), its singular values; those up
 *               to rcond times the largest count as 0
 *   LU          P (m x m), L (m x k, lower triangular with ones), U (k x n, upper triangular) with P L U = a: rows are
 *               exchanged, so that nothing in L is above 1 in size */
enum kn_factoring {
    KN_SOLVE,
    KN_TRIANGULAR,
    KN_INV,
    KN_DET,
    KN_CHOLESKY,
    KN_QR,
    KN_SVD,
    KN_EIGH,
    KN_EIG,
    KN_LSTSQ,
    KN_LU,
    KN_FACTORING_COUNT
};

struct kn_factor_options {
    bool full, values;
    bool upper;    /* TRIANGULAR: which triangle */
    bool infinite; /* INV: of a singular matrix all elements are infinite, and no error */
    double rcond;  /* LSTSQ; negative: the precision times the larger size */
};

#define KN_FACTORS 3 /* results at most; the rest of `out` is all zeros */
/* b only for SOLVE, TRIANGULAR and LSTSQ. The options may be NULL. */
enum rt_status kn_factor(enum kn_factoring what, const struct rt_array *a, const struct rt_array *b,
                         const struct kn_factor_options *options, struct rt_array *out, struct rt_error *e);

#endif
