/* What kernels/linalg_cusolver.c asks of cuSOLVER, done by the host's LAPACK over any libcuda: a stand-in by which the
 * calls can be tested where there is no GPU. Refuses what cuSOLVER refuses: room for work that is not as asked for,
 * singular values of matrices with fewer rows than columns. */
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
enum {
    SUCCESS = 0,
    NOT_INITIALIZED = 1,
    ALLOC_FAILED = 2,
    INVALID_VALUE = 3,
    EXECUTION_FAILED = 6,
    INTERNAL_ERROR = 7
};
enum { LOWER = 0, VECTORS = 1, SLACK = 17 };

EXPORT int cusolverDnCreate(void **handle);
EXPORT int cusolverDnDestroy(void *handle);
EXPORT int cusolverDnSetStream(void *handle, CUstream stream);
/* How many matrices were factored; set to fail at the factoring so many calls from now (0: never). */
EXPORT int stand_in_factorings;
EXPORT int stand_in_failure;
int stand_in_factorings, stand_in_failure;

static int the_handle;
static CUstream the_stream;

int cusolverDnCreate(void **handle)
{
    *handle = &the_handle;
    return SUCCESS;
}
int cusolverDnDestroy(void *handle)
{
    return handle == &the_handle ? SUCCESS : NOT_INITIALIZED;
}
int cusolverDnSetStream(void *handle, CUstream stream)
{
    the_stream = stream;
    return handle == &the_handle ? SUCCESS : NOT_INITIALIZED;
}

/* The types in the order S, D, C, Z. */
static size_t size_of(int type)
{
    return type == 3 ? 16 : type == 0 ? 4 : 8;
}
static size_t real_size(int type)
{
    return type % 2 ? 8 : 4;
}

#pragma GCC diagnostic ignored "-Wstrict-prototypes" /* each routine of LAPACK has arguments of its own */
typedef void routine();
static routine *lapack(int type, const char *name)
{
    static void *library;
    char symbol[32];
    if (!library) library = dlopen("libopenblas.so.0", RTLD_NOW);
    snprintf(symbol, sizeof symbol, "%c%s_", "sdcz"[type], name);
    routine *r = library ? (routine *)dlsym(library, symbol) : NULL;
    if (!r) fprintf(stderr, "the stand-in for cuSOLVER has no %s\n", symbol);
    return r;
}

/* Memory of the device brought to the host, and back when `end` is told so. */
struct room {
    void *device, *host;
    size_t bytes;
};

/* With a page behind it: see KN_BLAS_READS_ON of kernels/blas.h, which the columns of all tests are below. */
static struct room bring(const void *device, size_t bytes)
{
    struct room r = {(void *)device, calloc(1, bytes + 4096), bytes};
    if (r.host && bytes > 0 && cuMemcpyDtoH(r.host, (CUdeviceptr)device, bytes) != CUDA_SUCCESS) {
        free(r.host);
        r.host = NULL;
    }
    return r;
}

static int end(struct room *r, int written)
{
    int good = r->host != NULL;
    if (good && written && r->bytes > 0) good = cuMemcpyHtoD((CUdeviceptr)r->device, r->host, r->bytes) == CUDA_SUCCESS;
    free(r->host);
    return good;
}

static int finish(int good, int *info_of_device, int info)
{
    good &= cuMemcpyHtoD((CUdeviceptr)info_of_device, &info, sizeof info) == CUDA_SUCCESS;
    return good ? SUCCESS : EXECUTION_FAILED;
}

/* Every call comes through here. */
static int begin(void *handle, int right)
{
    if (handle != &the_handle) return NOT_INITIALIZED;
    if (!right) return INVALID_VALUE;
    if (cuStreamSynchronize(the_stream) != CUDA_SUCCESS) return EXECUTION_FAILED;
    stand_in_factorings++;
    return stand_in_failure > 0 && --stand_in_failure == 0 ? INTERNAL_ERROR : SUCCESS;
}

static int lu(int type, void *handle, int m, int n, void *a, int lda, int *pivots, int *info)
{
    int status = begin(handle, m >= 0 && n >= 0 && lda >= m), code = 0;
    if (status != SUCCESS) return status;
    struct room x = bring(a, (size_t)lda * (size_t)n * size_of(type)), p = bring(pivots, (size_t)n * sizeof(int));
    if (x.host && p.host) lapack(type, "getrf")(&m, &n, x.host, &lda, p.host, &code);
    int good = end(&x, 1) & end(&p, 1);
    return finish(good, info, code);
}

static int solve(int type, void *handle, int operation, int n, int rhs, const void *a, int lda, const int *pivots,
                 void *b, int ldb, int *info)
{
    int status = begin(handle, operation == 0 && lda >= n && ldb >= n), code = 0;
    if (status != SUCCESS) return status;
    struct room x = bring(a, (size_t)lda * (size_t)n * size_of(type)), p = bring(pivots, (size_t)n * sizeof(int));
    struct room y = bring(b, (size_t)ldb * (size_t)rhs * size_of(type));
    if (x.host && p.host && y.host)
        lapack(type, "getrs")("N", &n, &rhs, x.host, &lda, p.host, y.host, &ldb, &code, (size_t)1);
    int good = end(&x, 0) & end(&p, 0) & end(&y, 1);
    return finish(good, info, code);
}

static int cholesky(int type, void *handle, int uplo, int n, void *a, int lda, int count, int *info)
{
    int status = begin(handle, uplo == LOWER && lda >= n && count == n + SLACK), code = 0;
    if (status != SUCCESS) return status;
    struct room x = bring(a, (size_t)lda * (size_t)n * size_of(type));
    if (x.host) lapack(type, "potrf")("L", &n, x.host, &lda, &code, (size_t)1);
    return finish(end(&x, 1), info, code);
}

static int reflections(int type, void *handle, int m, int n, void *a, int lda, void *tau, int count, int *info)
{
    int status = begin(handle, lda >= m && count == n + SLACK), code = 0, least = m < n ? m : n;
    int numbers = 64 * n;
    if (status != SUCCESS) return status;
    struct room x = bring(a, (size_t)lda * (size_t)n * size_of(type)), t = bring(tau, (size_t)least * size_of(type));
    void *work = malloc((size_t)numbers * size_of(type));
    if (x.host && t.host && work) lapack(type, "geqrf")(&m, &n, x.host, &lda, t.host, work, &numbers, &code);
    free(work);
    int good = end(&x, 1) & end(&t, 1);
    return finish(good, info, code);
}

static int orthogonal(int type, void *handle, int m, int n, int k, void *a, int lda, const void *tau, int count,
                      int *info)
{
    int status = begin(handle, lda >= m && n <= m && k <= n && count == n + SLACK), code = 0, numbers = 64 * n;
    if (status != SUCCESS) return status;
    struct room x = bring(a, (size_t)lda * (size_t)n * size_of(type)), t = bring(tau, (size_t)k * size_of(type));
    void *work = malloc((size_t)numbers * size_of(type));
    if (x.host && t.host && work)
        lapack(type, type < 2 ? "orgqr" : "ungqr")(&m, &n, &k, x.host, &lda, t.host, work, &numbers, &code);
    free(work);
    int good = end(&x, 1) & end(&t, 0);
    return finish(good, info, code);
}

static int singular(int type, void *handle, signed char left, signed char right, int m, int n, void *a, int lda,
                    void *s, void *u, int ldu, void *vt, int ldvt, int count, int *info)
{
    int all = left == 'A', none = left == 'N', numbers = 8 * (m + n) + 64, code = 0;
    int status = begin(handle, m >= n && left == right && lda >= m && ldu >= m && ldvt >= n && count == n + SLACK);
    if (status != SUCCESS) return status;
    char letter[2] = {(char)left, 0};
    struct room x = bring(a, (size_t)lda * (size_t)n * size_of(type)), values = bring(s, (size_t)n * real_size(type));
    struct room y = bring(u, none ? 0 : (size_t)ldu * (size_t)(all ? m : n) * size_of(type));
    struct room z = bring(vt, none ? 0 : (size_t)ldvt * (size_t)n * size_of(type));
    void *work = malloc((size_t)numbers * size_of(type)), *reals = malloc((size_t)(5 * n) * sizeof(double));
    if (x.host && values.host && y.host && z.host && work && reals && type < 2)
        lapack(type, "gesvd")(letter, letter, &m, &n, x.host, &lda, values.host, y.host, &ldu, z.host, &ldvt, work,
                              &numbers, &code, (size_t)1, (size_t)1);
    else if (x.host && values.host && y.host && z.host && work && reals)
        lapack(type, "gesvd")(letter, letter, &m, &n, x.host, &lda, values.host, y.host, &ldu, z.host, &ldvt, work,
                              &numbers, reals, &code, (size_t)1, (size_t)1);
    free(work);
    free(reals);
    int good = end(&x, 1) & end(&values, 1) & end(&y, !none) & end(&z, !none);
    return finish(good, info, code);
}

static int eigen(int type, void *handle, int job, int uplo, int n, void *a, int lda, void *w, int count, int *info)
{
    int status = begin(handle, uplo == LOWER && lda >= n && count == n + SLACK), code = 0;
    int numbers = 2 * n * n + 6 * n + 1, ints = 5 * n + 3;
    if (status != SUCCESS) return status;
    struct room x = bring(a, (size_t)lda * (size_t)n * size_of(type)), values = bring(w, (size_t)n * real_size(type));
    void *work = malloc((size_t)numbers * size_of(type)), *reals = malloc((size_t)numbers * sizeof(double));
    int *more = malloc((size_t)ints * sizeof(int));
    const char *letter = job == VECTORS ? "V" : "N";
    if (x.host && values.host && work && reals && more && type < 2)
        lapack(type, "syevd")(letter, "L", &n, x.host, &lda, values.host, work, &numbers, more, &ints, &code, (size_t)1,
                              (size_t)1);
    else if (x.host && values.host && work && reals && more)
        lapack(type, "heevd")(letter, "L", &n, x.host, &lda, values.host, work, &numbers, reals, &numbers, more, &ints,
                              &code, (size_t)1, (size_t)1);
    free(work);
    free(reals);
    free(more);
    int good = end(&x, 1) & end(&values, 1);
    return finish(good, info, code);
}

static int ask(void *handle, int n, int *count)
{
    *count = n + SLACK;
    return handle == &the_handle ? SUCCESS : NOT_INITIALIZED;
}

/* The symbols of one type. */
#define ENTRY(name, parameters, call)                                                                                  \
    EXPORT int name parameters;                                                                                        \
    int name parameters                                                                                                \
    {                                                                                                                  \
        return call;                                                                                                   \
    }
#define SYMBOLS(type, L, ORG, SYE)                                                                                     \
    ENTRY(cusolverDn##L##getrf_bufferSize, (void *h, int m, int n, void *a, int lda, int *count),                      \
          a &&lda >= m ? ask(h, n, count) : INVALID_VALUE)                                                             \
    ENTRY(cusolverDn##L##getrf, (void *h, int m, int n, void *a, int lda, void *w, int *pivots, int *info),            \
          w ? lu(type, h, m, n, a, lda, pivots, info) : INVALID_VALUE)                                                 \
    ENTRY(cusolverDn##L##getrs,                                                                                        \
          (void *h, int op, int n, int rhs, const void *a, int lda, const int *p, void *b, int ldb, int *info),        \
          solve(type, h, op, n, rhs, a, lda, p, b, ldb, info))                                                         \
    ENTRY(cusolverDn##L##potrf_bufferSize, (void *h, int uplo, int n, void *a, int lda, int *count),                   \
          a &&uplo == LOWER && lda >= n ? ask(h, n, count) : INVALID_VALUE)                                            \
    ENTRY(cusolverDn##L##potrf, (void *h, int uplo, int n, void *a, int lda, void *w, int count, int *info),           \
          w ? cholesky(type, h, uplo, n, a, lda, count, info) : INVALID_VALUE)                                         \
    ENTRY(cusolverDn##L##geqrf_bufferSize, (void *h, int m, int n, void *a, int lda, int *count),                      \
          a &&lda >= m ? ask(h, n, count) : INVALID_VALUE)                                                             \
    ENTRY(cusolverDn##L##geqrf, (void *h, int m, int n, void *a, int lda, void *tau, void *w, int count, int *info),   \
          w ? reflections(type, h, m, n, a, lda, tau, count, info) : INVALID_VALUE)                                    \
    ENTRY(cusolverDn##L##ORG##_bufferSize,                                                                             \
          (void *h, int m, int n, int k, const void *a, int lda, const void *tau, int *count),                         \
          a &&tau &&lda >= m && k <= n ? ask(h, n, count) : INVALID_VALUE)                                             \
    ENTRY(cusolverDn##L##ORG,                                                                                          \
          (void *h, int m, int n, int k, void *a, int lda, const void *tau, void *w, int count, int *info),            \
          w ? orthogonal(type, h, m, n, k, a, lda, tau, count, info) : INVALID_VALUE)                                  \
    ENTRY(cusolverDn##L##gesvd_bufferSize, (void *h, int m, int n, int *count),                                        \
          m >= n ? ask(h, n, count) : INVALID_VALUE)                                                                   \
    ENTRY(cusolverDn##L##gesvd,                                                                                        \
          (void *h, signed char l, signed char r, int m, int n, void *a, int lda, void *s, void *u, int ldu, void *vt, \
           int ldvt, void *w, int count, void *reals, int *info),                                                      \
          w &&reals ? singular(type, h, l, r, m, n, a, lda, s, u, ldu, vt, ldvt, count, info) : INVALID_VALUE)         \
    ENTRY(cusolverDn##L##SYE##_bufferSize,                                                                             \
          (void *h, int job, int uplo, int n, const void *a, int lda, const void *w, int *count),                      \
          a &&w &&uplo == LOWER && lda >= n && job <= VECTORS ? ask(h, n, count) : INVALID_VALUE)                      \
    ENTRY(cusolverDn##L##SYE,                                                                                          \
          (void *h, int job, int uplo, int n, void *a, int lda, void *w, void *work, int count, int *info),            \
          work ? eigen(type, h, job, uplo, n, a, lda, w, count, info) : INVALID_VALUE)
SYMBOLS(0, S, orgqr, syevd)
SYMBOLS(1, D, orgqr, syevd)
SYMBOLS(2, C, ungqr, heevd)
SYMBOLS(3, Z, ungqr, heevd)
