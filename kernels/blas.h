/* OpenBLAS, which has LAPACK in it, opened at the first use: loading its 35 MB takes longer than the shell's start. */
#ifndef KN_BLAS_H
#define KN_BLAS_H

#include "runtime/status.h"

/* A function by its symbol ("cblas_sgemm", "dgesv_"); NULL with RT_MISSING and a message where there is none. */
void *kn_blas(const char *symbol, struct rt_error *e);
/* How many threads each call uses from here on; 1 where several threads of ours call it at once. */
void kn_blas_threads(int count);

#endif
