/* OpenBLAS, which has LAPACK in it, opened at the first use: loading its 35 MB takes longer than the shell's start. */
#ifndef KN_BLAS_H
#define KN_BLAS_H

#include "runtime/status.h"

/* A function by its symbol ("cblas_sgemm", "dgesv_"); NULL with RT_MISSING and a message where there is none. */
void *kn_blas(const char *symbol, struct rt_error *e);
enum { KN_BLAS_ROW_MAJOR = 101, KN_BLAS_PLAIN = 111, KN_BLAS_TRANSPOSED = 112 };
typedef void kn_sgemm(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda,
                      const float *b, int ldb, float beta, float *c, int ldc);
typedef void kn_cgemm(int order, int ta, int tb, int m, int n, int k, const void *alpha, const void *a, int lda,
                      const void *b, int ldb, const void *beta, void *c, int ldc); /* and zgemm */
typedef void kn_dgemm(int order, int ta, int tb, int m, int n, int k, double alpha, const double *a, int lda,
                      const double *b, int ldb, double beta, double *c, int ldc);
/* How many threads each call uses from here on; 1 where several threads of ours call it at once. */
void kn_blas_threads(int count);

#endif
