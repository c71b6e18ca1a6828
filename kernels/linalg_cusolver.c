/* Solving and factoring matrices by cuSOLVER, which is opened at the first large one on a GPU. Like LAPACK it has the
 * matrices column by column, one at a time. Whatever it can't do, or where it is not there, lapack.c does on the host;
 * so it is with matrices that have no result, as that says best why. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "kernels/handles.h"
#include "kernels/lapack.h"
#include "kernels/program.h"
#include "runtime/interrupt.h"

/* Elements below which the host is sooner done than a GPU. */
#define FEW ((int64_t)128 * 128)

/* What cusolverDn.h of CUDA 11 to 13 says. Numbers are passed by address, so one declaration serves all types. */
enum { PLAIN = 0, LOWER = 0, VALUES = 0, VECTORS = 1 };
typedef int getrf_size(void *handle, int m, int n, void *a, int lda, int *count);
typedef int getrf(void *handle, int m, int n, void *a, int lda, void *work, int *pivots, int *info);
typedef int getrs(void *handle, int operation, int n, int rhs, const void *a, int lda, const int *pivots, void *b,
                  int ldb, int *info);
typedef int potrf_size(void *handle, int uplo, int n, void *a, int lda, int *count);
typedef int potrf(void *handle, int uplo, int n, void *a, int lda, void *work, int count, int *info);
typedef int geqrf_size(void *handle, int m, int n, void *a, int lda, int *count);
typedef int geqrf(void *handle, int m, int n, void *a, int lda, void *tau, void *work, int count, int *info);
typedef int orgqr_size(void *handle, int m, int n, int k, const void *a, int lda, const void *tau, int *count);
typedef int orgqr(void *handle, int m, int n, int k, void *a, int lda, const void *tau, void *work, int count,
                  int *info);
typedef int gesvd_size(void *handle, int m, int n, int *count);
typedef int gesvd(void *handle, signed char left, signed char right, int m, int n, void *a, int lda, void *s, void *u,
                  int ldu, void *vt, int ldvt, void *work, int count, void *reals, int *info);
typedef int syevd_size(void *handle, int job, int uplo, int n, const void *a, int lda, const void *w, int *count);
typedef int syevd(void *handle, int job, int uplo, int n, void *a, int lda, void *w, void *work, int count, int *info);

static struct kn_handles cusolver = {.id = RT_LIB_CUSOLVER,
                                     .create = "cusolverDnCreate",
                                     .destroy = "cusolverDnDestroy",
                                     .set_stream = "cusolverDnSetStream",
                                     .lock = PTHREAD_MUTEX_INITIALIZER};

/* A batch at work; all arrays are on the device. */
struct job {
    const struct kn_lapack *l;
    struct rt_device *device;
    void *handle;
    int64_t count;
    struct rt_array *a, *b, *out;
    struct rt_array pivots, tau, info; /* of all matrices */
    struct rt_array work;
    int numbers; /* of work */
    struct rt_error *e;
};

/* The routine "potrf" for the type of the matrices; NULL where cuSOLVER has none. */
static void *routine(const struct job *j, const char *name)
{
    char symbol[48];
    const struct kn_lapack *l = j->l;
    if (l->complex && !strncmp(name, "orgqr", 5)) name = name[5] ? "ungqr_bufferSize" : "ungqr";
    if (l->complex && !strncmp(name, "syevd", 5)) name = name[5] ? "heevd_bufferSize" : "heevd";
    snprintf(symbol, sizeof symbol, "cusolverDn%c%s", "SDCZ"[2 * l->complex + !l->single], name);
    return rt_library_symbol(cusolver.library, symbol, NULL);
}

/* The device address of one matrix of a batch, or of a single one's. */
static void *item(const struct job *j, const struct rt_array *all, int64_t which)
{
    int64_t each = rt_array_size(all) / j->count;
    return (void *)(uintptr_t)(rt_array_address(all) + (uint64_t)(which * each) * rt_dtypes[all->dtype].size);
}

static enum rt_status check(int result, const struct job *j)
{
    return result == 0 ? RT_OK : rt_fail(j->e, RT_UNSUPPORTED, "cuSOLVER failed with its error %d", result);
}

static enum rt_status make(const struct job *j, enum rt_dtype t, int64_t count, struct rt_array *out)
{
    return rt_array_new(j->device, t, 1, &count, out, j->e);
}

/* Room for a routine that asked for so many numbers. */
static enum rt_status make_work(struct job *j, int numbers)
{
    rt_array_release(&j->work);
    j->numbers = numbers;
    return make(j, j->a->dtype, numbers > 0 ? numbers : 1, &j->work);
}

static void *address(const struct rt_array *a)
{
    return (void *)(uintptr_t)rt_array_address(a); /* on the device, which the host only passes on */
}

static void swap(struct rt_array *x, struct rt_array *y)
{
    struct rt_array z = *x;
    *x = *y;
    *y = z;
}

/* out = the elements of `a` with i >= j, or with i <= j, 0 elsewhere; its last axis counts i and the one before it j.
 */
static enum rt_status triangle(const struct job *j, const struct rt_array *a, enum kn_op which,
                               const struct rt_array *out)
{
    const struct kn_operand zero = {0}, one = {.i = 1};
    int64_t columns[] = {a->shape[a->ndim - 2], 1}, rows = a->shape[a->ndim - 1];
    struct rt_array counts[2] = {{0}}, mask = {0}, to = *out; /* borrowed */
    enum rt_status status = make(j, RT_INT32, rows, &counts[0]);
    if (status == RT_OK) status = rt_array_new(j->device, RT_INT32, 2, columns, &counts[1], j->e);
    for (int k = 0; k < 2 && status == RT_OK; k++) status = kn_sequence(&counts[k], &zero, &one, j->e);
    struct kn_operand both[] = {{.array = &counts[0]}, {.array = &counts[1]}};
    if (status == RT_OK) status = kn_apply(which, both, &mask, j->e);
    struct kn_operand args[] = {{.array = &mask}, {.array = a}, {.i = 0}};
    if (status == RT_OK) status = kn_apply(KN_WHERE, args, &to, j->e);
    for (int k = 0; k < 2; k++) rt_array_release(&counts[k]);
    rt_array_release(&mask);
    return status;
}

/* The first `count` elements of an axis, borrowed. */
static struct rt_array first_of(const struct rt_array *a, int axis, int64_t count)
{
    struct rt_array out = *a;
    out.shape[axis] = count;
    return out;
}

/* The LU factors of all matrices take their places. */
static enum rt_status factor(struct job *j)
{
    int n = j->l->rows, numbers;
    getrf_size *size = (getrf_size *)routine(j, "getrf_bufferSize");
    getrf *run = (getrf *)routine(j, "getrf");
    if (!size || !run) return RT_MISSING;
    enum rt_status status = check(size(j->handle, n, n, address(j->a), n, &numbers), j);
    if (status == RT_OK) status = make_work(j, numbers);
    if (status == RT_OK) status = make(j, RT_INT32, j->count * n, &j->pivots);
    for (int64_t i = 0; i < j->count && status == RT_OK && !rt_interrupted(); i++)
        status = check(
            run(j->handle, n, n, item(j, j->a, i), n, address(&j->work), item(j, &j->pivots, i), item(j, &j->info, i)),
            j);
    return status;
}

/* b becomes the x with a x = b. */
static enum rt_status solve_for(struct job *j, struct rt_array *b, int rhs)
{
    int n = j->l->rows;
    getrs *run = (getrs *)routine(j, "getrs");
    struct rt_array info = {0}; /* says only whether the arguments are right */
    if (!run) return RT_MISSING;
    enum rt_status status = factor(j);
    if (status == RT_OK) status = make(j, RT_INT32, 1, &info);
    for (int64_t i = 0; i < j->count && status == RT_OK && !rt_interrupted(); i++)
        status = check(run(j->handle, PLAIN, n, rhs, item(j, j->a, i), n, item(j, &j->pivots, i), item(j, b, i), n,
                           address(&info)),
                       j);
    rt_array_release(&info);
    return status;
}

static enum rt_status solve(struct job *j)
{
    enum rt_status status = solve_for(j, j->b, j->l->rhs);
    swap(j->b, &j->out[0]);
    return status;
}

static enum rt_status inverse(struct job *j)
{
    struct rt_array diagonals = j->out[0]; /* borrowed */
    int last = diagonals.ndim - 2;
    diagonals.strides[last] += diagonals.strides[last + 1];
    diagonals.ndim--;
    enum rt_status status = kn_fill(&j->out[0], &(struct kn_operand){.i = 0}, j->e);
    if (status == RT_OK) status = kn_fill(&diagonals, &(struct kn_operand){.i = 1}, j->e);
    return status == RT_OK ? solve_for(j, &j->out[0], j->l->rows) : status;
}

/* The results are on the host, where the pivots are multiplied. */
static enum rt_status determinant(struct job *j)
{
    struct rt_array diagonals = *j->a, values = {0}, pivots = {0}; /* the first is borrowed */
    struct rt_device *host = rt_array_device(&j->out[0]);
    int last = diagonals.ndim - 2;
    diagonals.strides[last] += diagonals.strides[last + 1];
    diagonals.ndim--;
    enum rt_status status = factor(j);
    if (status == RT_OK) status = kn_convert(&diagonals, diagonals.dtype, host, &values, j->e);
    if (status == RT_OK) status = kn_convert(&j->pivots, RT_INT32, host, &pivots, j->e);
    for (int64_t i = 0; i < j->count && status == RT_OK; i++) {
        char *out[3];
        for (int k = 0; k < 3; k++) out[k] = item(j, &j->out[k], i);
        kn_lapack_determinant(j->l, item(j, &values, i), 1, item(j, &pivots, i), out);
    }
    rt_array_release(&values);
    rt_array_release(&pivots);
    return status;
}

static enum rt_status cholesky(struct job *j)
{
    int n = j->l->rows, numbers;
    potrf_size *size = (potrf_size *)routine(j, "potrf_bufferSize");
    potrf *run = (potrf *)routine(j, "potrf");
    if (!size || !run) return RT_MISSING;
    enum rt_status status = check(size(j->handle, LOWER, n, address(j->a), n, &numbers), j);
    if (status == RT_OK) status = make_work(j, numbers);
    for (int64_t i = 0; i < j->count && status == RT_OK && !rt_interrupted(); i++)
        status =
            check(run(j->handle, LOWER, n, item(j, j->a, i), n, address(&j->work), numbers, item(j, &j->info, i)), j);
    return status == RT_OK ? triangle(j, j->a, KN_GE, &j->out[0]) : status;
}

/* Q from the reflections that geqrf left in `a`. */
static enum rt_status orthogonal(struct job *j)
{
    const struct kn_lapack *l = j->l;
    int wide = l->options.full ? l->rows : l->least, given = wide < l->columns ? wide : l->columns, numbers;
    int axis = j->a->ndim - 2;
    struct rt_array from = first_of(j->a, axis, given), to = first_of(&j->out[0], axis, given), info = {0};
    orgqr_size *size = (orgqr_size *)routine(j, "orgqr_bufferSize");
    orgqr *run = (orgqr *)routine(j, "orgqr");
    if (!size || !run) return RT_MISSING;
    enum rt_status status = kn_copy(&to, &from, j->e);
    if (status == RT_OK) status = make(j, RT_INT32, 1, &info);
    if (status == RT_OK)
        status = check(
            size(j->handle, l->rows, wide, l->least, address(&j->out[0]), l->rows, address(&j->tau), &numbers), j);
    if (status == RT_OK) status = make_work(j, numbers);
    for (int64_t i = 0; i < j->count && status == RT_OK && !rt_interrupted(); i++)
        status = check(run(j->handle, l->rows, wide, l->least, item(j, &j->out[0], i), l->rows, item(j, &j->tau, i),
                           address(&j->work), numbers, address(&info)),
                       j);
    rt_array_release(&info);
    return status;
}

static enum rt_status qr(struct job *j)
{
    const struct kn_lapack *l = j->l;
    int m = l->rows, n = l->columns, numbers;
    geqrf_size *size = (geqrf_size *)routine(j, "geqrf_bufferSize");
    geqrf *run = (geqrf *)routine(j, "geqrf");
    if (!size || !run) return RT_MISSING;
    enum rt_status status = check(size(j->handle, m, n, address(j->a), m, &numbers), j);
    if (status == RT_OK) status = make_work(j, numbers);
    if (status == RT_OK) status = make(j, j->a->dtype, j->count * l->least, &j->tau);
    for (int64_t i = 0; i < j->count && status == RT_OK && !rt_interrupted(); i++)
        status = check(run(j->handle, m, n, item(j, j->a, i), m, item(j, &j->tau, i), address(&j->work), numbers,
                           item(j, &j->info, i)),
                       j);
    struct rt_array upper = first_of(j->a, j->a->ndim - 1, j->out[1].shape[j->a->ndim - 1]);
    if (status == RT_OK) status = triangle(j, &upper, KN_LE, &j->out[1]);
    return status == RT_OK ? orthogonal(j) : status;
}

/* gesvd wants no fewer rows than columns. A wide matrix came row by row, as `turned` says: column by column that is the
 * transpose, whose U is, row by row, the V^H of the matrix, and whose V^H is its U. */
static enum rt_status singular_values(struct job *j)
{
    const struct kn_lapack *l = j->l;
    bool values = l->options.values, turned = l->rows < l->columns;
    int m = l->most, n = l->least, numbers;
    signed char job = values ? 'N' : l->options.full ? 'A' : 'S';
    gesvd_size *size = (gesvd_size *)routine(j, "gesvd_bufferSize");
    gesvd *run = (gesvd *)routine(j, "gesvd");
    struct rt_array reals = {0}, *u = &j->out[turned ? 2 : 0], *vt = &j->out[turned ? 0 : 2], *s = &j->out[!values];
    if (!size || !run) return RT_MISSING;
    enum rt_status status = check(size(j->handle, m, n, &numbers), j);
    if (status == RT_OK) status = make_work(j, numbers);
    if (status == RT_OK) status = make(j, rt_real_of(j->a->dtype), n, &reals);
    for (int64_t i = 0; i < j->count && status == RT_OK && !rt_interrupted(); i++)
        status = check(run(j->handle, job, job, m, n, item(j, j->a, i), m, item(j, s, i), values ? NULL : item(j, u, i),
                           m, values ? NULL : item(j, vt, i), n, address(&j->work), numbers, address(&reals),
                           item(j, &j->info, i)),
                       j);
    rt_array_release(&reals);
    return status;
}

static enum rt_status symmetric_eigen(struct job *j)
{
    bool values = j->l->options.values;
    int n = j->l->rows, numbers, job = values ? VALUES : VECTORS;
    syevd_size *size = (syevd_size *)routine(j, "syevd_bufferSize");
    syevd *run = (syevd *)routine(j, "syevd");
    if (!size || !run) return RT_MISSING;
    enum rt_status status = check(size(j->handle, job, LOWER, n, address(j->a), n, address(&j->out[0]), &numbers), j);
    if (status == RT_OK) status = make_work(j, numbers);
    for (int64_t i = 0; i < j->count && status == RT_OK && !rt_interrupted(); i++)
        status = check(run(j->handle, job, LOWER, n, item(j, j->a, i), n, item(j, &j->out[0], i), address(&j->work),
                           numbers, item(j, &j->info, i)),
                       j);
    if (!values) swap(j->a, &j->out[1]);
    return status;
}

/* RT_UNSUPPORTED where a matrix has no result, or one of NaN. */
static enum rt_status look_at_results(const struct job *j)
{
    struct rt_array seen[2] = {{0}};
    struct rt_device *host = rt_device_open("cpu", j->e);
    enum kn_factoring what = j->l->what;
    bool both = what == KN_SVD || what == KN_EIGH, good = true;
    enum rt_status status = host ? kn_convert(&j->info, RT_INT32, host, &seen[0], j->e) : RT_DEVICE;
    if (status == RT_OK && both)
        status = kn_convert(&j->out[what == KN_SVD && !j->l->options.values], RT_FLOAT64, host, &seen[1], j->e);
    for (int64_t i = 0; i < j->count && status == RT_OK && what != KN_DET; i++)
        good &= ((const int *)rt_array_host(&seen[0]))[i] == 0;
    for (int64_t i = 0; both && status == RT_OK && i < rt_array_size(&seen[1]); i++)
        good &= isfinite(((const double *)rt_array_host(&seen[1]))[i]) != 0;
    for (int i = 0; i < 2; i++) rt_array_release(&seen[i]);
    return status == RT_OK && !good ? RT_UNSUPPORTED : status;
}

bool kn_cusolver_takes(const struct kn_lapack *l, const struct rt_device *d)
{
    bool has = l->what != KN_TRIANGULAR && l->what != KN_EIG && l->what != KN_LSTSQ && l->what != KN_LU;
    return d->kind == RT_CUDA && has && (int64_t)l->rows * l->columns >= FEW;
}

bool kn_cusolver_run(const struct kn_lapack *l, int64_t count, struct rt_array *a, struct rt_array *b,
                     struct rt_array *out)
{
    static enum rt_status (*const run[KN_FACTORING_COUNT])(struct job * j) = {
        [KN_SOLVE] = solve, [KN_INV] = inverse,         [KN_DET] = determinant,     [KN_CHOLESKY] = cholesky,
        [KN_QR] = qr,       [KN_SVD] = singular_values, [KN_EIGH] = symmetric_eigen};
    struct rt_error e = {0};
    struct job j = {.l = l, .device = rt_array_device(a), .count = count, .a = a, .b = b, .out = out, .e = &e};
    if (count == 0 || rt_device_enter(j.device, NULL) != RT_OK) return false;
    pthread_mutex_lock(&cusolver.lock);
    j.handle = kn_handle(&cusolver, j.device);
    enum rt_status status = j.handle ? make(&j, RT_INT32, count, &j.info) : RT_MISSING;
    if (status == RT_OK) status = run[l->what](&j);
    if (status == RT_OK && !rt_interrupted()) status = look_at_results(&j);
    rt_array_release(&j.pivots);
    rt_array_release(&j.tau);
    rt_array_release(&j.info);
    rt_array_release(&j.work);
    pthread_mutex_unlock(&cusolver.lock);
    rt_error_clear(&e);
    return status == RT_OK && !rt_interrupted();
}
