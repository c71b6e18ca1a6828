/* OpenBLAS, which has LAPACK in it, opened at the first use: loading its 35 MB takes longer than the shell's start. */
#ifndef KN_BLAS_H
#define KN_BLAS_H

#include "runtime/status.h"

/* A function by its symbol ("cblas_sgemm", "dgesv_"); NULL with RT_MISSING and a message where there is none. */
void *kn_blas(const char *symbol, struct rt_error *e);
/* So many elements OpenBLAS before 0.3.23, with AVX2, reads behind a complex vector that it multiplies, at the vector's
 * step: it uses none of them, but there has to be memory. Vectors of LAPACK are rows of matrices, whose step is a
 * column.
 */
enum { KN_BLAS_READS_ON = 1 };
enum { KN_BLAS_ROW_MAJOR = 101, KN_BLAS_PLAIN = 111, KN_BLAS_TRANSPOSED = 112 };
typedef void kn_sgemm(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda,
                      const float *b, int ldb, float beta, float *c, int ldc);
typedef void kn_cgemm(int order, int ta, int tb, int m, int n, int k, const void *alpha, const void *a, int lda,
                      const void *b, int ldb, const void *beta, void *c, int ldc); /* and zgemm */
typedef void kn_dgemm(int order, int ta, int tb, int m, int n, int k, double alpha, const double *a, int lda,
                      const double *b, int ldb, double beta, double *c, int ldc);
enum { KN_BLAS_UPPER = 121 };
/* c = a times its transpose, in the upper triangle alone; of a's transpose where `transposed` says that it is stored
 * so. */
typedef void kn_ssyrk(int order, int triangle, int transposed, int n, int k, float alpha, const float *a, int lda,
                      float beta, float *c, int ldc);
typedef void kn_dsyrk(int order, int triangle, int transposed, int n, int k, double alpha, const double *a, int lda,
                      double beta, double *c, int ldc);
typedef void kn_csyrk(int order, int triangle, int transposed, int n, int k, const void *alpha, const void *a, int lda,
                      const void *beta, void *c, int ldc); /* and zsyrk */
typedef void kn_cgemv(int order, int transposed, int m, int n, const void *alpha, const void *a, int lda, const void *x,
                      int x_step, const void *beta, void *y, int y_step); /* and zgemv */
typedef void kn_cdotu(int n, const void *x, int x_step, const void *y, int y_step,
                      void *sum); /* and zdotu_sub, cdotc_sub, zdotc_sub */
/* How many threads each call uses from here on; 1 where several threads of ours call it at once. */
void kn_blas_threads(int count);

#endif
