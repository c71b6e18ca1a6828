/* What the product of kernels/matmul_cublas.c asks of cuBLAS, done element by element on the host, over any libcuda:
 * a stand-in by which the calls can be tested where there is no GPU. Refuses what cuBLAS refuses. */
#include <complex.h>
#include <cuda.h>
#include <stdint.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))
enum {
    SUCCESS = 0,
    NOT_INITIALIZED = 1,
    ALLOC_FAILED = 3,
    INVALID_VALUE = 7,
    EXECUTION_FAILED = 13,
    NOT_SUPPORTED = 15
};
enum { R_32F = 0, R_64F = 1, R_16F = 2, C_32F = 4, C_64F = 5, R_16BF = 14, COMPUTE_32F = 68, COMPUTE_64F = 70 };

EXPORT int cublasCreate_v2(void **handle);
EXPORT int cublasDestroy_v2(void *handle);
EXPORT int cublasSetStream_v2(void *handle, CUstream stream);
EXPORT int cublasGemmStridedBatchedEx_64(void *handle, int ta, int tb, int64_t m, int64_t n, int64_t k,
                                         const void *alpha, const void *a, int a_type, int64_t lda, long long a_stride,
                                         const void *b, int b_type, int64_t ldb, long long b_stride, const void *beta,
                                         void *c, int c_type, int64_t ldc, long long c_stride, int64_t count,
                                         int compute, int algorithm);
/* How many products were asked for and given. */
EXPORT int stand_in_products;
int stand_in_products;

static int the_handle;
static CUstream the_stream;

int cublasCreate_v2(void **handle)
{
    *handle = &the_handle;
    return SUCCESS;
}
int cublasDestroy_v2(void *handle)
{
    return handle == &the_handle ? SUCCESS : NOT_INITIALIZED;
}
int cublasSetStream_v2(void *handle, CUstream stream)
{
    the_stream = stream;
    return handle == &the_handle ? SUCCESS : NOT_INITIALIZED;
}

static size_t size_of(int type)
{
    return type == R_16F || type == R_16BF ? 2 : type == R_32F ? 4 : type == C_64F ? 16 : 8;
}

static double complex load(int type, const char *from, int64_t i)
{
    from += (size_t)i * size_of(type);
    if (type == R_16F) return (double)*(const _Float16 *)(const void *)from;
    if (type == R_16BF)
        return (double)((union {
                   uint32_t u;
                   float f;
               }){(uint32_t) * (const uint16_t *)(const void *)from << 16})
            .f;
    if (type == R_32F) return *(const float *)(const void *)from;
    if (type == R_64F) return *(const double *)(const void *)from;
    if (type == C_32F) return *(const float complex *)(const void *)from;
    return *(const double complex *)(const void *)from;
}

static void store(int type, char *to, int64_t i, double complex v)
{
    to += (size_t)i * size_of(type);
    if (type == R_16F) *(_Float16 *)(void *)to = (_Float16)creal(v);
    if (type == R_16BF) { /* to the nearest, halfway to even */
        uint32_t u = ((union {
                         float f;
                         uint32_t u;
                     }){(float)creal(v)})
                         .u;
        *(uint16_t *)(void *)to = (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
    }
    if (type == R_32F) *(float *)(void *)to = (float)creal(v);
    if (type == R_64F) *(double *)(void *)to = creal(v);
    if (type == C_32F) *(float complex *)(void *)to = (float complex)v;
    if (type == C_64F) *(double complex *)(void *)to = v;
}

/* A matrix on the device, columns of `leading` elements, brought here: NULL where that much memory is not there. */
static char *fetch(const void *from, int type, int64_t columns, int64_t rows, int64_t leading)
{
    size_t bytes = (size_t)((columns - 1) * leading + rows) * size_of(type);
    char *to = malloc(bytes);
    if (to && cuMemcpyDtoH(to, (CUdeviceptr)from, bytes) == CUDA_SUCCESS) return to;
    free(to);
    return NULL;
}

static int multiply(int ta, int tb, int64_t m, int64_t n, int64_t k, int type, const char *a, int64_t lda,
                    const char *b, int64_t ldb, char *c, int64_t ldc)
{
    int status = EXECUTION_FAILED;
    char *x = fetch(a, type, ta ? m : k, ta ? k : m, lda), *y = fetch(b, type, tb ? k : n, tb ? n : k, ldb);
    char *column = malloc((size_t)m * size_of(type));
    if (!x || !y || !column) goto done;
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = 0; i < m; i++) {
            double complex sum = 0;
            for (int64_t l = 0; l < k; l++)
                sum += load(type, x, ta ? i * lda + l : l * lda + i) * load(type, y, tb ? l * ldb + j : j * ldb + l);
            store(type, column, i, sum);
        }
        CUdeviceptr to = (CUdeviceptr)c + (size_t)(j * ldc) * size_of(type);
        if (cuMemcpyHtoD(to, column, (size_t)m * size_of(type)) != CUDA_SUCCESS) goto done;
    }
    status = SUCCESS;
done:
    free(x);
    free(y);
    free(column);
    return status;
}

int cublasGemmStridedBatchedEx_64(void *handle, int ta, int tb, int64_t m, int64_t n, int64_t k, const void *alpha,
                                  const void *a, int a_type, int64_t lda, long long a_stride, const void *b, int b_type,
                                  int64_t ldb, long long b_stride, const void *beta, void *c, int c_type, int64_t ldc,
                                  long long c_stride, int64_t count, int compute, int algorithm)
{
    int wide = a_type == R_64F || a_type == C_64F;
    if (handle != &the_handle) return NOT_INITIALIZED;
    if (a_type != b_type || a_type != c_type || compute != (wide ? COMPUTE_64F : COMPUTE_32F) || algorithm != -1)
        return NOT_SUPPORTED;
    if (load(wide ? R_64F : R_32F, alpha, 0) != 1 || load(wide ? R_64F : R_32F, beta, 0) != 0) return NOT_SUPPORTED;
    if (m < 0 || n < 0 || k < 0 || count < 0 || lda < (ta ? k : m) || ldb < (tb ? n : k) || ldc < m)
        return INVALID_VALUE;
    if (cuStreamSynchronize(the_stream) != CUDA_SUCCESS) return EXECUTION_FAILED;
    size_t size = size_of(a_type);
    for (int64_t i = 0; i < count; i++) {
        int status = multiply(ta, tb, m, n, k, a_type, (const char *)a + (size_t)(i * a_stride) * size, lda,
                              (const char *)b + (size_t)(i * b_stride) * size, ldb,
                              (char *)c + (size_t)(i * c_stride) * size, ldc);
        if (status != SUCCESS) return status;
    }
    stand_in_products++;
    return SUCCESS;
}
