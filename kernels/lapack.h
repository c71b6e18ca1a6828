/* One matrix at a time: what linalg.c runs over a batch. Matrices are column by column, as LAPACK has them. */
#ifndef KN_LAPACK_H
#define KN_LAPACK_H

#include "kernels/linalg.h"

#define KN_ROUTINES 3

/* What every matrix of a batch has in common. */
struct kn_lapack {
    enum kn_factoring what;
    struct kn_factor_options options;
    bool single, complex; /* float32, else float64; or complex numbers of such parts */
    bool turned;          /* DET, CHOLESKY: a holds the matrix row by row, and so will what becomes of it */
    size_t size;          /* bytes of a number */
    int rows, columns, least, most, rhs;
    void *routine[KN_ROUTINES];
};

/* One matrix and what it takes. `a` and `b` are overwritten. */
struct kn_matrix {
    const struct kn_lapack *l;
    char *a, *b, *out[KN_FACTORS];
    char *work; /* numbers; behind the first `numbers` of them come `more` */
    int *ints;
    int numbers; /* -1: asks for what is needed, which is added up in the three below */
    size_t need_numbers, need_more, need_ints;
};

/* A code besides LAPACK's own, which say which pivot, block or iteration failed. */
enum { KN_NOT_FINITE = -1001 };

/* The symbols, without the letter of the type in front; NULL where there are fewer. */
extern const char *const kn_lapack_routines[KN_FACTORING_COUNT][KN_ROUTINES];
/* 0, or why there is no result. */
int kn_lapack_run(struct kn_matrix *m);
/* From the LU factors of a matrix: the diagonal, its elements `step` apart, and the exchanged rows (from 1). Writes the
 * determinant, its sign and the logarithm of its absolute value. */
void kn_lapack_determinant(const struct kn_lapack *l, const char *diagonal, size_t step, const int *pivots,
                           char *const *out);

/* cuSOLVER, where it is there (linalg_cusolver.c): whether such matrices on the device are for it, and then all of a
 * batch. a, b and out are on the device, matrices column by column, those of an SVD of wide ones row by row; the
 * results of DET are on the host. a and b are overwritten or exchanged with a result. False where it can't do it: all
 * of them are then of no use. */
bool kn_cusolver_takes(const struct kn_lapack *l, const struct rt_device *d);
bool kn_cusolver_run(const struct kn_lapack *l, int64_t count, struct rt_array *a, struct rt_array *b,
                     struct rt_array *out);

#endif
