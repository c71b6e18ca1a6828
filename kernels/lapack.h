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

#endif
