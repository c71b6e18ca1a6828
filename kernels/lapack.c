/* The calls of LAPACK. Numbers are passed by address, so one declaration serves both float and double; behind the
 * arguments come the lengths of the letters, as Fortran has them. Where complex matrices take real numbers to work
 * with, besides, there are two. */
#include "kernels/lapack.h"
#include <math.h>
#include <string.h>
#include "kernels/tiny.h"

const char *const kn_lapack_routines[KN_FACTORING_COUNT][KN_ROUTINES] = {
    [KN_SOLVE] = {"gesv_"},  [KN_TRIANGULAR] = {"trtrs_"}, [KN_INV] = {"getrf_", "getri_", "gesv_"},
    [KN_DET] = {"getrf_"},   [KN_CHOLESKY] = {"potrf_"},   [KN_QR] = {"geqrf_", "orgqr_"},
    [KN_SVD] = {"gesdd_"},   [KN_EIGH] = {"syevd_"},       [KN_EIG] = {"geev_"},
    [KN_LSTSQ] = {"gelsd_"}, [KN_LU] = {"getrf_"}};

typedef const int *in;
typedef void gesv(in n, in k, void *a, in lda, int *pivots, void *b, in ldb, int *info);
typedef void trtrs(const char *uplo, const char *trans, const char *diag, in n, in k, const void *a, in lda, void *b,
                   in ldb, int *info, size_t, size_t, size_t);
typedef void getrf(in m, in n, void *a, in lda, int *pivots, int *info);
typedef void getri(in n, void *a, in lda, in pivots, void *work, in lwork, int *info);
typedef void potrf(const char *uplo, in n, void *a, in lda, int *info, size_t);
typedef void geqrf(in m, in n, void *a, in lda, void *tau, void *work, in lwork, int *info);
typedef void orgqr(in m, in n, in k, void *a, in lda, const void *tau, void *work, in lwork, int *info);
typedef void gesdd(const char *job, in m, in n, void *a, in lda, void *s, void *u, in ldu, void *vt, in ldvt,
                   void *work, in lwork, int *iwork, int *info, size_t);
typedef void complex_gesdd(const char *job, in m, in n, void *a, in lda, void *s, void *u, in ldu, void *vt, in ldvt,
                           void *work, in lwork, void *reals, int *iwork, int *info, size_t);
typedef void syevd(const char *job, const char *uplo, in n, void *a, in lda, void *w, void *work, in lwork, int *iwork,
                   in liwork, int *info, size_t, size_t);
typedef void heevd(const char *job, const char *uplo, in n, void *a, in lda, void *w, void *work, in lwork, void *reals,
                   in lreals, int *iwork, in liwork, int *info, size_t, size_t);
typedef void geev(const char *left, const char *right, in n, void *a, in lda, void *wr, void *wi, void *vl, in ldvl,
                  void *vr, in ldvr, void *work, in lwork, int *info, size_t, size_t);
typedef void complex_geev(const char *left, const char *right, in n, void *a, in lda, void *w, void *vl, in ldvl,
                          void *vr, in ldvr, void *work, in lwork, void *reals, int *info, size_t, size_t);
typedef void gelsd(in m, in n, in k, void *a, in lda, void *b, in ldb, void *s, const void *rcond, int *rank,
                   void *work, in lwork, int *iwork, int *info);
typedef void complex_gelsd(in m, in n, in k, void *a, in lda, void *b, in ldb, void *s, const void *rcond, int *rank,
                           void *work, in lwork, void *reals, int *iwork, int *info);

/* The real part of a complex number. */
static double number(const struct kn_matrix *m, const char *p, size_t i)
{
    if (m->l->complex) i *= 2;
    return m->l->single ? (double)((const float *)p)[i] : ((const double *)p)[i];
}

static enum rt_dtype dtype_of(const struct kn_matrix *m)
{
    if (m->l->complex) return m->l->single ? RT_COMPLEX64 : RT_COMPLEX128;
    return m->l->single ? RT_FLOAT32 : RT_FLOAT64;
}

static struct rt_complex complex_number(const struct kn_matrix *m, const char *p, size_t i)
{
    return rt_load_complex(dtype_of(m), p + i * m->l->size);
}

static void set_complex(const struct kn_matrix *m, char *p, size_t i, double re, double im)
{
    rt_store_complex(dtype_of(m), p + i * m->l->size, (struct rt_complex){re, im});
}

static void set_number(const struct kn_matrix *m, char *p, size_t i, double v)
{
    set_complex(m, p, i, v, 0);
}

static int at_least_1(int n)
{
    return n > 1 ? n : 1;
}

static bool asks(const struct kn_matrix *m)
{
    return m->numbers < 0;
}

/* What lies behind the numbers that a call works with. */
static char *more_of(const struct kn_matrix *m)
{
    return asks(m) ? m->work : m->work + (size_t)m->numbers * m->l->size;
}

/* How many numbers take the room of so many real ones. */
static size_t room_for(const struct kn_matrix *m, size_t reals)
{
    return m->l->complex ? (reals + 1) / 2 : reals;
}

/* Notes what a call asked for: numbers, as it left them in work[0], and integers. */
static void note(struct kn_matrix *m, double numbers, size_t more, size_t ints)
{
    size_t n = (size_t)ceil(numbers * (1 + 0x1p-23)); /* a float32 may be rounded down */
    if (n > m->need_numbers) m->need_numbers = n;
    if (more > m->need_more) m->need_more = more;
    if (ints > m->need_ints) m->need_ints = ints;
}

static bool all_finite(const struct kn_matrix *m, const char *p, size_t n)
{
    bool finite = true;
    if (m->l->complex) n *= 2;
    if (m->l->single)
        for (size_t i = 0; i < n; i++) finite &= fabsf(((const float *)p)[i]) <= __FLT_MAX__;
    else
        for (size_t i = 0; i < n; i++) finite &= fabs(((const double *)p)[i]) <= __DBL_MAX__;
    return finite;
}

static bool matrix_finite(const struct kn_matrix *m)
{
    return all_finite(m, m->a, (size_t)m->l->rows * (size_t)m->l->columns);
}

static void copy(const struct kn_matrix *m, char *to, const char *from, size_t n)
{
    if (n > 0) memcpy(to, from, n * m->l->size);
}

static void clear(const struct kn_matrix *m, char *to, size_t n)
{
    if (n > 0) memset(to, 0, n * m->l->size);
}

static char *column(const struct kn_matrix *m, char *matrix, int rows, int j)
{
    return rows > 0 && j > 0 ? matrix + (size_t)rows * (size_t)j * m->l->size : matrix;
}

static void set_identity(const struct kn_matrix *m, char *to, int n)
{
    clear(m, to, (size_t)n * (size_t)n);
    for (int i = 0; i < n; i++) set_number(m, to, (size_t)i * (size_t)(n + 1), 1);
}

static int solve(struct kn_matrix *m)
{
    const struct kn_lapack *l = m->l;
    int n = l->rows, ld = at_least_1(n), info = 0;
    if (asks(m)) {
        note(m, 0, 0, (size_t)n);
        return 0;
    }
    if (n > KN_TINY || l->complex)
        ((gesv *)l->routine[0])(&n, &l->rhs, m->a, &ld, m->ints, m->b, &ld, &info);
    else if ((info = kn_tiny_factor(l, m->a, m->ints)) == 0)
        kn_tiny_substitute(l, m->a, m->ints, m->b);
    copy(m, m->out[0], m->b, (size_t)n * (size_t)l->rhs);
    return info;
}

static int triangular(struct kn_matrix *m)
{
    const struct kn_lapack *l = m->l;
    int n = l->rows, ld = at_least_1(n), info = 0;
    if (asks(m)) return 0;
    ((trtrs *)l->routine[0])(l->options.upper ? "U" : "L", "N", "N", &n, &l->rhs, m->a, &ld, m->b, &ld, &info, 1, 1, 1);
    copy(m, m->out[0], m->b, (size_t)n * (size_t)l->rhs);
    return info;
}

static int inverse(struct kn_matrix *m)
{
    const struct kn_lapack *l = m->l;
    int n = l->rows, ld = at_least_1(n), info = 0;
    size_t count = (size_t)n * (size_t)n;
    if (asks(m)) {
        ((getri *)l->routine[1])(&n, m->a, &ld, m->ints, m->work, &m->numbers, &info);
        note(m, number(m, m->work, 0), 0, (size_t)n);
        return info;
    }
    if (n <= KN_TINY && !l->complex) {
        struct kn_lapack of_identity = *l;
        of_identity.rhs = n;
        set_identity(m, m->out[0], n);
        if ((info = kn_tiny_factor(l, m->a, m->ints)) == 0) kn_tiny_substitute(&of_identity, m->a, m->ints, m->out[0]);
    } else if (n <= 64) { /* small ones sooner as solutions for the identity */
        set_identity(m, m->out[0], n);
        ((gesv *)l->routine[2])(&n, &n, m->a, &ld, m->ints, m->out[0], &ld, &info);
    } else {
        ((getrf *)l->routine[0])(&n, &n, m->a, &ld, m->ints, &info);
        if (info == 0) ((getri *)l->routine[1])(&n, m->a, &ld, m->ints, m->work, &m->numbers, &info);
        copy(m, m->out[0], m->a, count);
    }
    if (info > 0 && l->options.infinite) {
        for (size_t i = 0; i < count; i++) set_number(m, m->out[0], i, INFINITY);
        return 0;
    }
    return info;
}

/* Whether the product of two such numbers is one that can be represented. */
static bool is_tame(double re, double im)
{
    double greater = fmax(fabs(re), fabs(im));
    return greater > 0x1p-400 && greater < 0x1p400;
}

/* Takes the exponent out of what has one. */
static void tame(double *re, double *im, double *exponent)
{
    int part;
    double greater = fmax(fabs(*re), fabs(*im));
    if (!(greater > 0) || !isfinite(greater)) return;
    frexp(greater, &part);
    *re = ldexp(*re, -part);
    *im = ldexp(*im, -part);
    *exponent += part;
}

/* The product's exponent is kept apart so that nothing overflows in between. */
void kn_lapack_determinant(const struct kn_lapack *l, const char *diagonal, size_t step, const int *pivots,
                           char *const *out)
{
    const struct kn_matrix m = {.l = l};
    double re = 1, im = 0, exponent = 0;
    for (int i = 0; i < l->rows; i++) {
        struct rt_complex pivot = complex_number(&m, diagonal, (size_t)i * step);
        double sign = pivots[i] == i + 1 ? 1 : -1;
        if (!is_tame(pivot.re, pivot.im)) tame(&re, &im, &exponent);
        double x = l->complex ? re * pivot.re - im * pivot.im : re * pivot.re;
        im = l->complex ? sign * (re * pivot.im + im * pivot.re) : 0;
        re = sign * x;
        if (!is_tame(re, im)) tame(&re, &im, &exponent);
    }
    int limited = (int)(exponent > 5000 ? 5000 : exponent < -5000 ? -5000 : exponent);
    double size = l->complex ? hypot(re, im) : fabs(re);
    set_complex(&m, out[0], 0, ldexp(re, limited), ldexp(im, limited));
    set_complex(&m, out[1], 0, size == 0 ? 0 : isinf(re) ? copysign(1, re) : re / size, size == 0 ? 0 : im / size);
    rt_store_double(rt_real_of(dtype_of(&m)), out[2], log(size) + exponent * 0.693147180559945309417);
}
static int determinant(struct kn_matrix *m)
{
    const struct kn_lapack *l = m->l;
    int n = l->rows, ld = at_least_1(n), info = 0;
    if (asks(m)) {
        note(m, 0, 0, (size_t)n);
        return 0;
    }
    if (n <= KN_TINY)
        kn_tiny_factor(l, m->a, m->ints);
    else
        ((getrf *)l->routine[0])(&n, &n, m->a, &ld, m->ints, &info);
    kn_lapack_determinant(l, m->a, (size_t)n + 1, m->ints, m->out);
    return 0;
}

static int cholesky(struct kn_matrix *m)
{
    const struct kn_lapack *l = m->l;
    int n = l->rows, ld = at_least_1(n), info = 0;
    if (asks(m)) return 0;
    if (n <= KN_TINY && l->turned && !l->complex)
        info = kn_tiny_cholesky(l, m->a);
    else
        ((potrf *)l->routine[0])(l->turned ? "U" : "L", &n, m->a, &ld, &info, 1);
    copy(m, m->out[0], m->a, (size_t)n * (size_t)n);
    for (int j = 0; j < n; j++) {
        char *of = column(m, m->out[0], n, j);
        if (l->turned)
            clear(m, of + (size_t)(j + 1) * l->size, (size_t)(n - j - 1));
        else
            clear(m, of, (size_t)j);
    }
    return info;
}

static int qr(struct kn_matrix *m)
{
    const struct kn_lapack *l = m->l;
    int rows = l->rows, columns = l->columns, ld = at_least_1(rows), info = 0;
    int wide = l->options.full ? rows : l->least, tall = wide; /* columns of Q, rows of R */
    char *tau = more_of(m);
    ((geqrf *)l->routine[0])(&rows, &columns, m->a, &ld, tau, m->work, &m->numbers, &info);
    if (asks(m)) {
        note(m, number(m, m->work, 0), (size_t)l->least, 0);
    } else {
        for (int j = 0; j < columns; j++) {
            char *to = column(m, m->out[1], tall, j);
            int above = j < tall ? j + 1 : tall;
            clear(m, to, (size_t)tall);
            copy(m, to, column(m, m->a, rows, j), (size_t)(above < rows ? above : rows));
        }
        copy(m, m->out[0], m->a, (size_t)rows * (size_t)(wide < columns ? wide : columns));
    }
    if (info == 0) ((orgqr *)l->routine[1])(&rows, &wide, &l->least, m->out[0], &ld, tau, m->work, &m->numbers, &info);
    if (asks(m)) note(m, number(m, m->work, 0), 0, 0);
    return info;
}

static int singular_values(struct kn_matrix *m)
{
    const struct kn_lapack *l = m->l;
    bool values = l->options.values;
    const char *job = values ? "N" : l->options.full ? "A" : "S";
    int rows = l->rows, columns = l->columns, ld = at_least_1(rows), info = 0;
    int ldvt = at_least_1(l->options.full ? columns : l->least);
    char *u = m->out[0], *s = m->out[values ? 0 : 1], *vt = m->out[2];
    size_t least = (size_t)l->least, most = (size_t)l->most, square = least * (5 * least + 7);
    size_t reals = least * (2 * (most + least) + 1) > square ? least * (2 * (most + least) + 1) : square;
    if (!asks(m) && !matrix_finite(m)) return KN_NOT_FINITE;
    if (l->least == 0 && !asks(m)) {
        if (l->options.full && !values) set_identity(m, u, rows);
        if (l->options.full && !values) set_identity(m, vt, columns);
        return 0;
    }
    if (l->complex)
        ((complex_gesdd *)l->routine[0])(job, &rows, &columns, m->a, &ld, s, u, &ld, vt, &ldvt, m->work, &m->numbers,
                                         more_of(m), m->ints, &info, 1);
    else
        ((gesdd *)l->routine[0])(job, &rows, &columns, m->a, &ld, s, u, &ld, vt, &ldvt, m->work, &m->numbers, m->ints,
                                 &info, 1);
    if (asks(m)) note(m, number(m, m->work, 0), l->complex ? room_for(m, reals) : 0, 8 * least);
    return info;
}

static int symmetric_eigen(struct kn_matrix *m)
{
    const struct kn_lapack *l = m->l;
    int n = l->rows, ld = at_least_1(n), info = 0, ints = asks(m) ? -1 : 5 * n + 3;
    const char *job = l->options.values ? "N" : "V";
    size_t most = l->options.values ? (size_t)n + 1 : (size_t)n * (2 * (size_t)n + 5) + 1;
    int reals = asks(m) ? -1 : (int)most;
    /* Only the lower triangle counts, so only that must be finite; the other is left as if it were the same. */
    for (int j = 0; j < n && !asks(m); j++)
        if (!all_finite(m, column(m, m->a, n, j) + (size_t)j * l->size, (size_t)(n - j))) return KN_NOT_FINITE;
    if (l->complex && most > INT32_MAX) return -1;
    if (l->complex)
        ((heevd *)l->routine[0])(job, "L", &n, m->a, &ld, m->out[0], m->work, &m->numbers,
                                 asks(m) ? m->work + l->size : more_of(m), &reals, m->ints, &ints, &info, 1, 1);
    else
        ((syevd *)l->routine[0])(job, "L", &n, m->a, &ld, m->out[0], m->work, &m->numbers, m->ints, &ints, &info, 1, 1);
    if (asks(m))
        note(m, number(m, m->work, 0), l->complex ? room_for(m, most) : 0, 5 * (size_t)n + 3);
    else if (!l->options.values)
        copy(m, m->out[1], m->a, (size_t)n * (size_t)n);
    return info;
}

/* What geev says of a real matrix, as complex numbers: of two that are each other's conjugates it has the real and the
 * imaginary part of the first one's vector as two columns. */
static void pair_up(const struct kn_matrix *m, const char *re, const char *im, char *vectors)
{
    size_t n = (size_t)m->l->rows, wide = 2 * m->l->size;
    enum rt_dtype t = rt_complex_of(dtype_of(m));
    for (size_t j = 0; j < n; j++) {
        double imaginary = number(m, im, j);
        bool second = imaginary < 0;
        rt_store_complex(t, m->out[0] + j * wide, (struct rt_complex){number(m, re, j), imaginary});
        for (size_t i = 0; i < n && vectors; i++) {
            size_t at = j * n + i;
            struct rt_complex v = {number(m, vectors, second ? at - n : at), 0};
            if (imaginary != 0) v.im = second ? -number(m, vectors, at) : number(m, vectors, at + n);
            rt_store_complex(t, m->out[1] + at * wide, v);
        }
    }
}

static int eigen(struct kn_matrix *m)
{
    const struct kn_lapack *l = m->l;
    int n = l->rows, ld = at_least_1(n), info = 0;
    bool values = l->options.values;
    char *re = more_of(m), *im = asks(m) ? re : re + (size_t)n * l->size, *vectors = NULL;
    const char *job = values ? "N" : "V";
    if (!asks(m) && !matrix_finite(m)) return KN_NOT_FINITE;
    if (l->complex) {
        ((complex_geev *)l->routine[0])("N", job, &n, m->a, &ld, m->out[0], NULL, &ld, m->out[1], &ld, m->work,
                                        &m->numbers, more_of(m), &info, 1, 1);
    } else {
        if (!values) vectors = asks(m) ? re : im + (size_t)n * l->size;
        ((geev *)l->routine[0])("N", job, &n, m->a, &ld, re, im, NULL, &ld, vectors, &ld, m->work, &m->numbers, &info,
                                1, 1);
        if (!asks(m) && info == 0) pair_up(m, re, im, vectors);
    }
    if (asks(m)) note(m, number(m, m->work, 0), (size_t)n * (values || l->complex ? 2 : 2 + (size_t)n), 0);
    return info;
}

static int least_squares(struct kn_matrix *m)
{
    const struct kn_lapack *l = m->l;
    int rows = l->rows, columns = l->columns, lda = at_least_1(rows), ldb = at_least_1(l->most), info = 0, rank = 0;
    int sides = at_least_1(l->rhs); /* gelsd takes no fewer */
    double rcond = l->options.rcond < 0 ? l->most * (l->single ? 0x1p-23 : 0x1p-52) : l->options.rcond;
    float rcond_single = (float)rcond;
    const void *limit = l->single ? (const void *)&rcond_single : &rcond;
    char *x = more_of(m); /* b, with rows for the longer of b and x */
    size_t right = (size_t)l->most * (size_t)sides;
    char *reals = x + (asks(m) ? 1 : right) * l->size;
    if (!asks(m)) {
        if (!matrix_finite(m) || !all_finite(m, m->b, (size_t)rows * (size_t)l->rhs)) return KN_NOT_FINITE;
        clear(m, x, right);
        for (int j = 0; j < l->rhs; j++) copy(m, column(m, x, l->most, j), column(m, m->b, rows, j), (size_t)rows);
    }
    if (l->complex)
        ((complex_gelsd *)l->routine[0])(&rows, &columns, &sides, m->a, &lda, x, &ldb, m->out[2], limit, &rank, m->work,
                                         &m->numbers, reals, m->ints, &info);
    else
        ((gelsd *)l->routine[0])(&rows, &columns, &sides, m->a, &lda, x, &ldb, m->out[2], limit, &rank, m->work,
                                 &m->numbers, m->ints, &info);
    if (asks(m)) {
        size_t real = l->complex ? (size_t)number(m, reals, 0) + 1 : 0;
        note(m, number(m, m->work, 0), right + room_for(m, real), (size_t)m->ints[0]);
        return info;
    }
    for (int j = 0; j < l->rhs; j++)
        copy(m, column(m, m->out[0], columns, j), column(m, x, l->most, j), (size_t)columns);
    *(int64_t *)m->out[1] = rank;
    return info;
}

/* A singular matrix has these, too. */
static int lower_upper(struct kn_matrix *m)
{
    const struct kn_lapack *l = m->l;
    int rows = l->rows, columns = l->columns, ld = at_least_1(rows), info = 0;
    int *pivots = m->ints, *order = m->ints + l->least;
    if (asks(m)) {
        note(m, 0, 0, (size_t)l->least + (size_t)rows);
        return 0;
    }
    ((getrf *)l->routine[0])(&rows, &columns, m->a, &ld, pivots, &info);
    for (int i = 0; i < rows; i++) order[i] = i;
    for (int i = 0; i < l->least; i++) {
        int other = pivots[i] - 1, row = order[i];
        order[i] = order[other];
        order[other] = row;
    }
    clear(m, m->out[0], (size_t)rows * (size_t)rows);
    for (int j = 0; j < rows; j++) set_number(m, column(m, m->out[0], rows, j), (size_t)order[j], 1);
    for (int j = 0; j < l->least; j++) {
        char *to = column(m, m->out[1], rows, j), *from = column(m, m->a, rows, j);
        clear(m, to, (size_t)j);
        set_number(m, to, (size_t)j, 1);
        copy(m, to + (size_t)(j + 1) * l->size, from + (size_t)(j + 1) * l->size, (size_t)(rows - j - 1));
    }
    for (int j = 0; j < columns; j++) {
        char *to = column(m, m->out[2], l->least, j);
        int above = j < l->least ? j + 1 : l->least;
        copy(m, to, column(m, m->a, rows, j), (size_t)above);
        clear(m, to + (size_t)above * l->size, (size_t)(l->least - above));
    }
    return info < 0 ? info : 0;
}

int kn_lapack_run(struct kn_matrix *m)
{
    static int (*const run[KN_FACTORING_COUNT])(struct kn_matrix *) = {
        [KN_SOLVE] = solve,         [KN_TRIANGULAR] = triangular, [KN_INV] = inverse,
        [KN_DET] = determinant,     [KN_CHOLESKY] = cholesky,     [KN_QR] = qr,
        [KN_SVD] = singular_values, [KN_EIGH] = symmetric_eigen,  [KN_EIG] = eigen,
        [KN_LSTSQ] = least_squares, [KN_LU] = lower_upper};
    return run[m->l->what](m);
}
