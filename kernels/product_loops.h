/* The loops of matrix products that BLAS is not called for, compiled for several instruction sets (loops_product_base.c
 * and its like; loops_product.c says how). */
#ifndef KN_PRODUCT_LOOPS_H
#define KN_PRODUCT_LOOPS_H

#include "kernels/ops.h"
#include <stddef.h>

/* c[i * to + j] = the sum over k of a[i * s[0] + k * s[1]] * b[k * t[0] + j * t[1]], for `rows` of i, `inner` of k,
 * `columns` of j. Sums are of the elements' type, integers modulo its size; where there is one column, or numbers to be
 * summed lie side by side in both, floats are added in double and in four partial sums. */
typedef void kn_multiply_loop(const void *a, const int64_t s[2], const void *b, const int64_t t[2], void *c, int64_t to,
                              int64_t rows, int64_t inner, int64_t columns);

/* c[i] = the sum of the products of `inner` elements that lie side by side, from a[i * line] and from b[i * step] on,
 * for `rows` of i; added as where there is one column. */
typedef void kn_dots_loop(const void *a, int64_t line, const void *b, int64_t step, void *c, int64_t rows,
                          int64_t inner);

/* sums[i] = the sum, in double and of lanes of its own, of the products of n values each of the row i and the vector,
 * for `count` rows. Of float32 eight of them at most are added in float32 before. */
typedef void kn_dot_loop(double *sums, const void *rows, ptrdiff_t stride, const void *vector, size_t count, size_t n);
/* sums[i] += factors[0] * rows[i] + factors[1] * rows[i + stride] ..., of `count` rows: those of each KN_SUMMED_ROWS in
 * the dtype before they are added in double. */
typedef void kn_add_rows_loop(double *sums, const void *rows, ptrdiff_t stride, const void *factors, size_t count,
                              size_t n);
/* *sum = the sum of the products of the conjugates of a and of b, n each, added as in a column of a product. */
typedef void kn_conjugated_loop(void *sum, const void *a, const void *b, int64_t n);

/* NULL for bool and the floats of 16 bits. */
struct kn_product_loops {
    kn_multiply_loop *multiply[RT_DTYPE_COUNT];
    kn_dots_loop *dots[RT_DTYPE_COUNT];
    kn_dot_loop *dot[2]; /* of float32 and float64 */
    kn_add_rows_loop *add_rows[2];
    kn_conjugated_loop *conjugated[2]; /* of complex64 and complex128 */
};

extern const struct kn_product_loops kn_product_base;
#if defined __x86_64__
extern const struct kn_product_loops kn_product_v3, kn_product_v4;
#endif

#endif
