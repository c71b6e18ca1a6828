/* Factors of matrices of a few rows, in loops of our own. */
#include "kernels/tiny.h"

#include <float.h>
#include <math.h>

/* Elimination with partial pivoting. What follows a pivot of complex numbers is multiplied by its inverse, if that is
 * finite. */
#define DIVIDE(T, least, SIZE)                                                                                         \
    for (int i = j + 1; i < n; i++) a[i + j * n] /= a[j + j * n]
#define DIVIDE_COMPLEX(T, least, SIZE)                                                                                 \
    const T by = 1 / a[j + j * n];                                                                                     \
    const bool fits = SIZE(a[j + j * n]) >= (least);                                                                   \
    for (int i = j + 1; i < n; i++) a[i + j * n] = fits ? a[i + j * n] * by : a[i + j * n] / a[j + j * n]
#define FACTOR_TINY(name, T, least, SIZE, DIVIDE)                                                                      \
    static int name(int n, T *a, int *pivots)                                                                          \
    {                                                                                                                  \
        int info = 0;                                                                                                  \
        for (int j = 0; j < n; j++) {                                                                                  \
            int p = j;                                                                                                 \
            for (int i = j + 1; i < n; i++)                                                                            \
                if (SIZE(a[i + j * n]) > SIZE(a[p + j * n])) p = i;                                                    \
            pivots[j] = p + 1;                                                                                         \
            if (a[p + j * n] != 0) {                                                                                   \
                for (int c = 0; c < n && p != j; c++) {                                                                \
                    T t = a[j + c * n];                                                                                \
                    a[j + c * n] = a[p + c * n];                                                                       \
                    a[p + c * n] = t;                                                                                  \
                }                                                                                                      \
                DIVIDE(T, least, SIZE);                                                                                \
            } else if (info == 0) {                                                                                    \
                info = j + 1; /* what is left goes on, as it may hold NaN, which the determinant then is */            \
            }                                                                                                          \
            for (int c = j + 1; c < n; c++)                                                                            \
                for (int i = j + 1; i < n; i++) a[i + c * n] -= a[i + j * n] * a[j + c * n];                           \
        }                                                                                                              \
        return info;                                                                                                   \
    }
#define SIZE_COMPLEX_FLOAT(v)  (fabsf(__real__(v)) + fabsf(__imag__(v)))
#define SIZE_COMPLEX_DOUBLE(v) (fabs(__real__(v)) + fabs(__imag__(v)))
FACTOR_TINY(factor_tiny_float, float, 0, fabsf, DIVIDE)
FACTOR_TINY(factor_tiny_double, double, 0, fabs, DIVIDE)
FACTOR_TINY(factor_tiny_complex64, float _Complex, FLT_MIN, SIZE_COMPLEX_FLOAT, DIVIDE_COMPLEX)
FACTOR_TINY(factor_tiny_complex128, double _Complex, DBL_MIN, SIZE_COMPLEX_DOUBLE, DIVIDE_COMPLEX)

int kn_tiny_factor(const struct kn_lapack *l, char *a, int *pivots)
{
    if (l->complex && l->single) return factor_tiny_complex64(l->rows, (float _Complex *)(void *)a, pivots);
    if (l->complex) return factor_tiny_complex128(l->rows, (double _Complex *)(void *)a, pivots);
    return l->single ? factor_tiny_float(l->rows, (float *)(void *)a, pivots)
                     : factor_tiny_double(l->rows, (double *)(void *)a, pivots);
}

/* The solutions of so many right sides, by those factors. */
#define SUBSTITUTE_TINY(name, T)                                                                                       \
    static void name(int n, int rhs, const T *a, const int *pivots, T *b)                                              \
    {                                                                                                                  \
        for (int c = 0; c < rhs; c++, b += n) {                                                                        \
            for (int j = 0; j < n; j++) {                                                                              \
                T t = b[pivots[j] - 1];                                                                                \
                b[pivots[j] - 1] = b[j];                                                                               \
                b[j] = t;                                                                                              \
            }                                                                                                          \
            for (int j = 0; j < n; j++)                                                                                \
                for (int i = j + 1; i < n; i++) b[i] -= a[i + j * n] * b[j];                                           \
            for (int j = n - 1; j >= 0; j--) {                                                                         \
                b[j] /= a[j + j * n];                                                                                  \
                for (int i = 0; i < j; i++) b[i] -= a[i + j * n] * b[j];                                               \
            }                                                                                                          \
        }                                                                                                              \
    }
SUBSTITUTE_TINY(substitute_tiny_float, float)
SUBSTITUTE_TINY(substitute_tiny_double, double)

void kn_tiny_substitute(const struct kn_lapack *l, const char *a, const int *pivots, char *b)
{
    if (l->single)
        substitute_tiny_float(l->rows, l->rhs, (const float *)(const void *)a, pivots, (float *)(void *)b);
    else
        substitute_tiny_double(l->rows, l->rhs, (const double *)(const void *)a, pivots, (double *)(void *)b);
}

#define CHOLESKY_TINY(name, T, ROOT)                                                                                   \
    static int name(int n, T *a)                                                                                       \
    {                                                                                                                  \
        for (int j = 0; j < n; j++) {                                                                                  \
            T *row = a + j * n, left = row[j];                                                                         \
            for (int k = 0; k < j; k++) left -= row[k] * row[k];                                                       \
            if (!(left > 0)) return j + 1;                                                                             \
            row[j] = ROOT(left);                                                                                       \
            for (int i = j + 1; i < n; i++) {                                                                          \
                T *below = a + i * n, sum = below[j];                                                                  \
                for (int k = 0; k < j; k++) sum -= below[k] * row[k];                                                  \
                below[j] = sum / row[j];                                                                               \
            }                                                                                                          \
        }                                                                                                              \
        return 0;                                                                                                      \
    }
CHOLESKY_TINY(cholesky_tiny_float, float, sqrtf)
CHOLESKY_TINY(cholesky_tiny_double, double, sqrt)

int kn_tiny_cholesky(const struct kn_lapack *l, char *a)
{
    return l->single ? cholesky_tiny_float(l->rows, (float *)(void *)a)
                     : cholesky_tiny_double(l->rows, (double *)(void *)a);
}
