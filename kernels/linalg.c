/* Matrices and batches of them for lapack.c: shapes, dtypes, copies, threads, messages. */
#include "kernels/linalg.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/blas.h"
#include "kernels/lapack.h"
#include "kernels/program.h"
#include "runtime/interrupt.h"
#include "runtime/lend.h"
#include "runtime/threads.h"

static const struct {
    const char *name;
    bool square; /* only for square matrices */
} infos[KN_FACTORING_COUNT] = {[KN_SOLVE] = {"solve", true}, [KN_TRIANGULAR] = {"solve_triangular", true},
                               [KN_INV] = {"inv", true},     [KN_DET] = {"det", true},
                               [KN_QR] = {"qr", false},      [KN_CHOLESKY] = {"cholesky", true},
                               [KN_SVD] = {"svd", false},    [KN_EIGH] = {"eigh", true},
                               [KN_EIG] = {"eig", true},     [KN_LSTSQ] = {"lstsq", false},
                               [KN_LU] = {"lu", false}};

/* A batch on its way. */
struct batch {
    struct kn_lapack l;
    bool row_by_row; /* the matrices and results are, else column by column */
    int ndim;        /* of the batch axes */
    int64_t shape[RT_MAX_DIMS], count;
    struct rt_array a, b, out[KN_FACTORS]; /* where they are worked on: on the host, or on the GPU */
    size_t numbers, more, ints;            /* that one matrix takes */
    bool real_eigenvalues;                 /* of real matrices: those and the vectors are given as real numbers */
    char *scratch;                         /* of all workers */
    size_t scratch_each;
    pthread_mutex_t lock;
    int64_t failed; /* the first matrix that did, -1: none; and why */
    int code;
};

/* The axes and sizes of a result; -1 when there is none. */
static int result_form(const struct kn_lapack *l, int which, int64_t shape[2])
{
    int rows = l->rows, columns = l->columns, least = l->least;
    bool values = l->options.values, full = l->options.full;
    int64_t first = -1, second = -1; /* -1: no such axis */
    switch (l->what) {
    case KN_SOLVE:
    case KN_TRIANGULAR:
        if (which > 0) return -1;
        first = columns, second = l->rhs;
        break;
    case KN_INV:
    case KN_CHOLESKY:
        if (which > 0) return -1;
        first = second = rows;
        break;
    case KN_DET: return 0;
    case KN_QR:
        if (which > 1) return -1;
        first = which == 0 || full ? rows : least;
        second = which == 1 ? columns : full ? rows : least;
        break;
    case KN_SVD:
        if (values && which > 0) return -1;
        first = values || which == 1 ? least : which == 0 ? rows : full ? columns : least;
        if (!values && which != 1) second = which == 2 ? columns : full ? rows : least;
        break;
    case KN_EIGH:
    case KN_EIG:
        if (which > !values) return -1;
        first = rows;
        if (which == 1) second = rows;
        break;
    case KN_LSTSQ:
        if (which == 1) return 0;
        first = which == 0 ? columns : least;
        if (which == 0) second = l->rhs;
        break;
    case KN_LU:
        first = which == 2 ? least : rows;
        second = which == 0 ? rows : which == 1 ? least : columns;
        break;
    default: return -1;
    }
    shape[0] = first;
    shape[1] = second;
    return second < 0 ? 1 : 2;
}

/* The dtype of a result for matrices of the dtype; that of real eigenvalues is up to what they turn out to be. */
static enum rt_dtype result_dtype(const struct kn_lapack *l, int which, enum rt_dtype dtype)
{
    bool real = false;
    switch (l->what) {
    case KN_DET: real = which == 2; break;
    case KN_SVD: real = l->options.values || which == 1; break;
    case KN_EIGH: real = which == 0; break;
    case KN_EIG: return rt_complex_of(dtype);
    case KN_LSTSQ:
        if (which == 1) return RT_INT64;
        real = which == 2;
        break;
    default: break;
    }
    return real ? rt_real_of(dtype) : dtype;
}

static enum rt_status check_shapes(struct batch *x, const struct rt_array *a, const struct rt_array *b,
                                   struct rt_error *e)
{
    const char *name = infos[x->l.what].name;
    char left[256], right[256];
    rt_shape_text(a->ndim, a->shape, left, sizeof left);
    if (a->ndim < 2)
        return rt_fail(e, RT_INVALID, "%s: a matrix or a batch of them was expected, not the shape %s", name, left);
    int64_t rows = a->shape[a->ndim - 2], columns = a->shape[a->ndim - 1], rhs = 1;
    struct rt_array first = *a, second = {.ndim = 0};
    first.ndim -= 2;
    if (infos[x->l.what].square && rows != columns)
        return rt_fail(e, RT_INVALID, "%s: the matrix must be square, the shape is %s", name, left);
    if (b) {
        second = *b;
        second.ndim = b->ndim > 1 ? b->ndim - 2 : 0;
        if (b->ndim > 1) rhs = b->shape[b->ndim - 1];
        rt_shape_text(b->ndim, b->shape, right, sizeof right);
        if (b->ndim == 0 || b->shape[b->ndim > 1 ? b->ndim - 2 : 0] != rows)
            return rt_fail(e, RT_INVALID, "%s: the shapes %s and %s do not fit, both must have the same number of rows",
                           name, left, right);
    }
    if (rt_broadcast_shape((const struct rt_array *[]){&first, &second}, 2, &x->ndim, x->shape, NULL) != RT_OK)
        return rt_fail(e, RT_INVALID, "%s: the axes before the last two of %s and %s must be equal or of one element",
                       name, left, right);
    if (rows > INT32_MAX / 8 || columns > INT32_MAX / 8 || rhs > INT32_MAX)
        return rt_fail(e, RT_UNSUPPORTED, "%s: the matrices %s are too large for LAPACK", name, left);
    x->l.rows = (int)rows;
    x->l.columns = (int)columns;
    x->l.least = (int)(rows < columns ? rows : columns);
    x->l.most = (int)(rows < columns ? columns : rows);
    x->l.rhs = (int)rhs;
    x->count = 1;
    for (int i = 0; i < x->ndim; i++) x->count *= x->shape[i];
    return RT_OK;
}

/* Exchanges the last two axes. */
static void turn(struct rt_array *a)
{
    int n = a->ndim;
    int64_t size = a->shape[n - 1], stride = a->strides[n - 1];
    a->shape[n - 1] = a->shape[n - 2];
    a->strides[n - 1] = a->strides[n - 2];
    a->shape[n - 2] = size;
    a->strides[n - 2] = stride;
}

/* A new array of matrices, behind complex ones with the room of a column, or a row, for what BLAS reads on. */
static enum rt_status new_matrices(const struct batch *x, struct rt_device *place, enum rt_dtype dtype, int ndim,
                                   const int64_t *shape, struct rt_array *out, struct rt_error *e)
{
    int64_t elements = 1;
    bool more = rt_is_complex(dtype);
    for (int i = 0; i < ndim && more; i++) more = !__builtin_mul_overflow(elements, shape[i], &elements);
    more = more && !__builtin_add_overflow(elements, (int64_t)KN_BLAS_READS_ON * x->l.most, &elements);
    if (!more) return rt_array_new(place, dtype, ndim, shape, out, e);
    enum rt_status status = rt_array_new(place, dtype, 1, &elements, out, e);
    if (status == RT_OK) rt_array_over(out->storage, dtype, ndim, shape, out);
    return status;
}

/* kn_convert into what new_matrices makes; `from` is taken over. */
static enum rt_status bring_complex(const struct batch *x, struct rt_array *from, enum rt_dtype dtype,
                                    struct rt_device *place, struct rt_array *out, struct rt_error *e)
{
    enum rt_status status = RT_OK;
    if (rt_array_device(from) != place) {
        struct rt_array there;
        status = kn_convert(from, dtype, place, &there, e);
        rt_array_release(from);
        *from = there;
    }
    if (status == RT_OK) status = new_matrices(x, place, dtype, from->ndim, from->shape, out, e);
    if (status == RT_OK) status = kn_copy(out, from, e);
    rt_array_release(from);
    return status;
}

/* A copy on the device where it is worked on, over all batch axes, column by column: row by row with the last two axes
 * exchanged. */
static enum rt_status take(const struct batch *x, const struct rt_array *from, enum rt_dtype dtype,
                           struct rt_device *place, struct rt_array *out, struct rt_error *e)
{
    struct rt_array matrices = *from, spread = {0}; /* the first is borrowed */
    int64_t shape[RT_MAX_DIMS];
    int ndim = x->ndim;
    if (from->ndim == 1) {
        matrices.ndim = 2;
        matrices.shape[1] = matrices.strides[1] = 1;
    }
    if (ndim + 2 > RT_MAX_DIMS) return rt_fail(e, RT_INVALID, "an array has at most %d axes", RT_MAX_DIMS);
    memcpy(shape, x->shape, sizeof shape);
    shape[ndim] = matrices.shape[matrices.ndim - 2];
    shape[ndim + 1] = matrices.shape[matrices.ndim - 1];
    enum rt_status status = rt_array_broadcast(&matrices, ndim + 2, shape, &spread, e);
    if (status != RT_OK) return status;
    if (!x->row_by_row) turn(&spread);
    if (rt_is_complex(dtype)) return bring_complex(x, &spread, dtype, place, out, e);
    status = kn_convert(&spread, dtype, place, out, e);
    rt_array_release(&spread);
    return status;
}

static enum rt_status make_results(struct batch *x, enum rt_dtype dtype, struct rt_device *place, struct rt_error *e)
{
    enum rt_status status = RT_OK;
    for (int i = 0; i < KN_FACTORS && status == RT_OK; i++) {
        int64_t form[2], shape[RT_MAX_DIMS];
        int ndim = result_form(&x->l, i, form);
        if (ndim < 0) break;
        memcpy(shape, x->shape, sizeof shape);
        for (int k = 0; k < ndim; k++) shape[x->ndim + k] = form[x->row_by_row ? k : ndim - 1 - k];
        status = new_matrices(x, place, result_dtype(&x->l, i, dtype), x->ndim + ndim, shape, &x->out[i], e);
    }
    return status;
}

static char *item_of(const struct batch *x, const struct rt_array *all, int64_t item)
{
    char *base = all->storage ? rt_array_host(all) : NULL;
    return base ? base + item * (rt_array_size(all) / x->count) * rt_dtypes[all->dtype].size : NULL;
}

static struct kn_matrix matrix_of(const struct batch *x, int64_t item, char *scratch)
{
    struct kn_matrix m = {.l = &x->l, .a = item_of(x, &x->a, item), .b = item_of(x, &x->b, item), .work = scratch};
    for (int i = 0; i < KN_FACTORS; i++) m.out[i] = item_of(x, &x->out[i], item);
    m.numbers = (int)x->numbers;
    m.ints = (int *)(void *)(scratch + (x->numbers + x->more) * x->l.size);
    return m;
}

static void note_failure(struct batch *x, int64_t item, int code)
{
    pthread_mutex_lock(&x->lock);
    if (x->failed < 0 || item < x->failed) {
        x->failed = item;
        x->code = code;
    }
    pthread_mutex_unlock(&x->lock);
}

static void run_some(void *context, size_t begin, size_t end, int worker)
{
    struct batch *x = context;
    for (size_t item = begin; item < end && !rt_interrupted(); item++) {
        struct kn_matrix m = matrix_of(x, (int64_t)item, x->scratch + (size_t)worker * x->scratch_each);
        int code = kn_lapack_run(&m);
        if (code != 0) note_failure(x, (int64_t)item, code);
    }
}

static enum rt_status explain(const struct batch *x, struct rt_error *e)
{
    char which[64] = "the matrix";
    const char *name = infos[x->l.what].name;
    if (x->count > 1) snprintf(which, sizeof which, "matrix %lld of the batch", (long long)x->failed + 1);
    if (x->code == KN_NOT_FINITE)
        return rt_fail(e, RT_INVALID, "%s: %s holds NaN or infinity%s", name, which,
                       x->l.what == KN_LSTSQ ? ", or its right side does" : "");
    switch (x->code > 0 ? x->l.what : KN_FACTORING_COUNT) {
    case KN_SOLVE:
        return rt_fail(e, RT_INVALID, "%s: %s is singular (pivot %d of %d is 0); gpu.linalg.lstsq gives the best x",
                       name, which, x->code, x->l.rows);
    case KN_TRIANGULAR:
        return rt_fail(e, RT_INVALID, "%s: %s is singular (element %d of its diagonal is 0)", name, which, x->code);
    case KN_INV:
        return rt_fail(e, RT_INVALID,
                       "%s: %s is singular (pivot %d of %d is 0); gpu.linalg.pinv gives a pseudo-inverse", name, which,
                       x->code, x->l.rows);
    case KN_CHOLESKY:
        return rt_fail(e, RT_INVALID, "%s: %s is not positive definite (its first %d rows and columns are not)", name,
                       which, x->code);
    case KN_SVD:
    case KN_EIGH:
    case KN_EIG:
    case KN_LSTSQ: return rt_fail(e, RT_INVALID, "%s: the iteration for %s did not converge", name, which);
    default: return rt_fail(e, RT_UNSUPPORTED, "%s: LAPACK refuses argument %d", name, -x->code);
    }
}

/* Asks LAPACK what it needs for one matrix, and gets that for every worker. */
static enum rt_status prepare(struct batch *x, struct rt_error *e)
{
    double number[4] = {0};
    int ints[4] = {0};
    for (int i = 0; i < KN_ROUTINES && kn_lapack_routines[x->l.what][i]; i++) {
        char symbol[16];
        const char *routine = kn_lapack_routines[x->l.what][i];
        if (x->l.complex && !strcmp(routine, "orgqr_")) routine = "ungqr_"; /* orthogonal is unitary there, */
        if (x->l.complex && !strcmp(routine, "syevd_")) routine = "heevd_"; /* symmetric Hermitian */
        snprintf(symbol, sizeof symbol, "%c%s", "sdcz"[2 * x->l.complex + !x->l.single], routine);
        x->l.routine[i] = kn_blas(symbol, e);
        if (!x->l.routine[i]) return RT_MISSING;
    }
    struct kn_matrix m = matrix_of(x, 0, NULL);
    m.work = (char *)number;
    m.ints = ints;
    m.numbers = -1;
    int code = kn_lapack_run(&m);
    if (code != 0 || m.need_numbers > INT32_MAX)
        return rt_fail(e, RT_UNSUPPORTED, "%s: matrices of %d x %d are too large for LAPACK", infos[x->l.what].name,
                       x->l.rows, x->l.columns);
    x->numbers = m.need_numbers + 1;
    x->more = m.need_more;
    x->scratch_each = ((x->numbers + x->more) * x->l.size + m.need_ints * sizeof(int) + 127) / 64 * 64;
    size_t bytes = x->scratch_each * (size_t)(x->count > 1 ? rt_thread_count() : 1);
    x->scratch = rt_alloc(bytes);
    return x->scratch ? RT_OK : rt_fail(e, RT_NOMEM, "out of memory: %zu bytes for %s", bytes, infos[x->l.what].name);
}

/* Elements of a matrix from which on it is worth several threads. Below it LAPACK's are at work for too short a time:
 * of two, eigenvalues, singular values and QR of 300 x 300 took a third longer than of one. */
#define TOGETHER (600 * 600)

static enum rt_status run(struct batch *x, struct rt_error *e)
{
    if (x->count == 0) return RT_OK;
    enum rt_status status = prepare(x, e);
    if (status != RT_OK) return status;
    size_t elements = (size_t)x->l.rows * (size_t)x->l.columns;
    bool spread = x->count > 1 && elements < TOGETHER;
    x->failed = -1;
    kn_blas_threads(elements < TOGETHER ? 1 : rt_thread_count());
    rt_lend();
    if (spread)
        rt_parallel_for((size_t)x->count, 1 + 1024 / (elements + 1), run_some, x);
    else
        run_some(x, 0, (size_t)x->count, 0);
    rt_lend_end();
    if (rt_interrupted()) return rt_fail(e, RT_INTERRUPTED, "interrupted");
    return x->failed < 0 ? RT_OK : explain(x, e);
}

/* Whether all eigenvalues of real matrices turned out real. */
static bool all_real(const struct rt_array *values)
{
    const char *p = rt_array_host(values);
    size_t size = rt_dtypes[values->dtype].size;
    for (int64_t i = 0; i < rt_array_size(values); i++)
        if (rt_load_complex(values->dtype, p + (size_t)i * size).im != 0) return false;
    return true;
}

/* The result row by row, in its dtype, on the device of the operands; without its last axis for a vector. */
static enum rt_status give(const struct batch *x, int which, enum rt_dtype dtype, struct rt_device *d, bool vector,
                           struct rt_array *out, struct rt_error *e)
{
    struct rt_array from = x->out[which]; /* borrowed */
    if (from.ndim - x->ndim == 2) {
        if (!x->row_by_row) turn(&from);
        if (vector) from.ndim--;
    }
    if (x->real_eigenvalues) {
        struct rt_array real;
        rt_array_part(&from, false, &real);
        enum rt_status status = kn_convert(&real, dtype, d, out, e);
        rt_array_release(&real);
        return status;
    }
    dtype = result_dtype(&x->l, which, dtype);
    if (from.dtype == dtype && rt_array_device(&from) == d) return kn_contiguous(&from, out, e);
    return kn_convert(&from, dtype, d, out, e);
}

static void release(struct batch *x)
{
    for (int i = 0; i < KN_FACTORS; i++) rt_array_release(&x->out[i]);
    rt_array_release(&x->a);
    rt_array_release(&x->b);
}

/* Copies the operands to the device where they are worked on, and makes the results there. */
static enum rt_status bring(struct batch *x, const struct rt_array *a, const struct rt_array *b, enum rt_dtype dtype,
                            struct rt_device *place, struct rt_device *place_of_results, struct rt_error *e)
{
    enum rt_status status = take(x, a, dtype, place, &x->a, e);
    if (status == RT_OK && b) status = take(x, b, dtype, place, &x->b, e);
    return status == RT_OK ? make_results(x, dtype, place_of_results, e) : status;
}

/* By cuSOLVER; false where the host is to do it. */
static bool run_on_gpu(struct batch *x, const struct rt_array *a, const struct rt_array *b, enum rt_dtype dtype,
                       struct rt_device *host)
{
    struct rt_device *d = rt_array_device(a);
    struct rt_error e = {0};
    if (!kn_cusolver_takes(&x->l, d)) return false;
    x->row_by_row = x->l.what == KN_SVD && x->l.rows < x->l.columns;
    bool done = bring(x, a, b, dtype, d, x->l.what == KN_DET ? host : d, &e) == RT_OK &&
                kn_cusolver_run(&x->l, x->count, &x->a, &x->b, x->out);
    rt_error_clear(&e);
    if (done) return true;
    release(x);
    x->row_by_row = false;
    return false;
}

enum rt_status kn_factor(enum kn_factoring what, const struct rt_array *a, const struct rt_array *b,
                         const struct kn_factor_options *options, struct rt_array *out, struct rt_error *e)
{
    struct batch x = {.l = {.what = what}, .lock = PTHREAD_MUTEX_INITIALIZER};
    struct kn_operand both[2] = {{.array = a}, {.array = b ? b : a}};
    struct rt_device *d = rt_array_device(a), *host = d;
    enum rt_dtype result, computed;
    memset(out, 0, KN_FACTORS * sizeof *out);
    if (options) x.l.options = *options;
    enum rt_status status = kn_check_devices((const struct rt_array *const[]){a, both[1].array}, 2, e);
    if (status == RT_OK) status = kn_result_dtype(KN_DIV, both, &result, e);
    if (status == RT_OK) status = check_shapes(&x, a, b, e);
    if (status == RT_OK && kn_runs_generated(d)) {
        host = rt_device_open("cpu", e);
        if (!host) status = RT_DEVICE;
    }
    if (status != RT_OK) return status;
    x.l.single = rt_real_of(result) != RT_FLOAT64;
    x.l.complex = rt_is_complex(result);
    computed = x.l.complex ? result : x.l.single ? RT_FLOAT32 : RT_FLOAT64;
    x.l.size = rt_dtypes[computed].size;
    if (!run_on_gpu(&x, a, b, computed, host)) {
        x.row_by_row = x.l.turned = what == KN_DET || what == KN_CHOLESKY; /* as they mostly lie */
        status = bring(&x, a, b, computed, host, host, e);
        if (status == RT_OK) status = run(&x, e);
    }
    if (status == RT_OK && what == KN_EIG && !x.l.complex) x.real_eigenvalues = all_real(&x.out[0]);
    for (int i = 0; i < KN_FACTORS && status == RT_OK; i++)
        if (x.out[i].storage) status = give(&x, i, result, d, b && b->ndim == 1 && i == 0, &out[i], e);
    for (int i = 0; i < KN_FACTORS && status != RT_OK; i++) rt_array_release(&out[i]);
    release(&x);
    free(x.scratch);
    return status;
}
