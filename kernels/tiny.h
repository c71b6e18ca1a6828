/* What LAPACK does, for matrices so small that calling it takes longest: up to KN_TINY rows, of the dtype that l says.
 */
#ifndef KN_TINY_H
#define KN_TINY_H

#include "kernels/lapack.h"

#define KN_TINY 8

/* As getrf: L and U in the place of a, column by column, and the exchanged rows, from 1. Returns 0, or the number of
 * the first pivot that is 0. */
int kn_tiny_factor(const struct kn_lapack *l, char *a, int *pivots);
/* As getrs, of real numbers: b becomes the l->rhs solutions. */
void kn_tiny_substitute(const struct kn_lapack *l, const char *a, const int *pivots, char *b);
/* As potrf, of real numbers: the lower factor in the place of the lower triangle, row by row. Returns 0, or which pivot
 * is not above 0. */
int kn_tiny_cholesky(const struct kn_lapack *l, char *a);

#endif
