/* Matrix products by cuBLAS, which is opened at the first large one on a GPU: it takes longer to load than small
 * products take. Whatever it can't do, or where it is not there, matmul_cuda.c does.
 *
 * cuBLAS sees columns where we see rows. It is therefore asked for the transpose of the product, which is the product
 * of the transposes in the other order: a matrix of rows that follow each other is, to it, its own transpose. */
#include "kernels/handles.h"
#include "kernels/matmul.h"

/* Multiplications below which loading cuBLAS is not worth it. A fixed number, so that rounding does not depend on what
 * was computed before. */
#define FEW ((int64_t)1 << 21)

/* What cublas_api.h and library_types.h of CUDA 12 and 13 say. */
enum { PLAIN = 0, TRANSPOSED = 1, DEFAULT_ALGORITHM = -1, COMPUTE_32F = 68, COMPUTE_64F = 70 };
enum { R_32F = 0, R_64F = 1, R_16F = 2, C_32F = 4, C_64F = 5, R_16BF = 14 };
typedef int gemm_function(void *handle, int ta, int tb, int64_t m, int64_t n, int64_t k, const void *alpha,
                          const void *a, int a_type, int64_t lda, long long a_stride, const void *b, int b_type,
                          int64_t ldb, long long b_stride, const void *beta, void *c, int c_type, int64_t ldc,
                          long long c_stride, int64_t count, int compute, int algorithm);

static struct kn_handles cublas = {.id = RT_LIB_CUBLAS,
                                   .create = "cublasCreate_v2",
                                   .destroy = "cublasDestroy_v2",
                                   .set_stream = "cublasSetStream_v2",
                                   .lock = PTHREAD_MUTEX_INITIALIZER};

struct form {
    int type, compute;
    const void *one, *zero;
};

static bool form_of(enum rt_dtype t, struct form *f)
{
    static const float ones[2] = {1}, zeros[2];
    static const double wide_ones[2] = {1}, wide_zeros[2];
    switch (t) {
    case RT_FLOAT16: *f = (struct form){R_16F, COMPUTE_32F, ones, zeros}; return true;
    case RT_BFLOAT16: *f = (struct form){R_16BF, COMPUTE_32F, ones, zeros}; return true;
    case RT_FLOAT32: *f = (struct form){R_32F, COMPUTE_32F, ones, zeros}; return true;
    case RT_COMPLEX64: *f = (struct form){C_32F, COMPUTE_32F, ones, zeros}; return true;
    case RT_FLOAT64: *f = (struct form){R_64F, COMPUTE_64F, wide_ones, wide_zeros}; return true;
    case RT_COMPLEX128: *f = (struct form){C_64F, COMPUTE_64F, wide_ones, wide_zeros}; return true;
    default: return false;
    }
}

/* How cuBLAS is to take an operand's rows x columns matrices: as they lie or transposed, and how far apart what it
 * takes for columns is. False where neither of their axes is dense. */
static bool operand_of(const int64_t stride[2], int64_t rows, int64_t columns, int *operation, int64_t *leading)
{
    if ((stride[1] == 1 || columns == 1) && (stride[0] >= columns || rows == 1)) {
        *operation = PLAIN;
        *leading = rows == 1 ? columns : stride[0];
        return true;
    }
    *operation = TRANSPOSED;
    *leading = columns == 1 ? rows : stride[1];
    return (stride[0] == 1 || rows == 1) && *leading >= rows;
}

bool kn_matmul_cublas(const struct kn_product *p, const struct rt_array *a, const struct rt_array *b,
                      const struct rt_array *out)
{
    struct form f;
    int ta, tb;
    int64_t lda, ldb;
    struct rt_device *d = rt_array_device(out);
    if (d->kind != RT_CUDA || p->batch_ndim > 1 || !form_of(p->dtype, &f)) return false;
    if ((double)p->rows * (double)p->columns * (double)p->inner * (double)p->batches < (double)FEW) return false;
    if (!operand_of(p->a_stride, p->rows, p->inner, &ta, &lda)) return false;
    if (!operand_of(p->b_stride, p->inner, p->columns, &tb, &ldb)) return false;
    int64_t a_batch = p->batch_ndim ? p->a_batch[0] : 0, b_batch = p->batch_ndim ? p->b_batch[0] : 0;
    if (a_batch < 0 || b_batch < 0 || rt_device_enter(d, NULL) != RT_OK) return false;
    pthread_mutex_lock(&cublas.lock);
    void *handle = kn_handle(&cublas, d);
    gemm_function *gemm = NULL;
    if (handle) gemm = (gemm_function *)rt_library_symbol(cublas.library, "cublasGemmStridedBatchedEx_64", NULL);
    bool done = gemm && gemm(handle, tb, ta, p->columns, p->rows, p->inner, f.one, (const void *)rt_array_address(b),
                             f.type, ldb, b_batch, (const void *)rt_array_address(a), f.type, lda, a_batch, f.zero,
                             (void *)rt_array_address(out), f.type, p->columns, p->rows * p->columns, p->batches,
                             f.compute, DEFAULT_ALGORITHM) == 0;
    pthread_mutex_unlock(&cublas.lock);
    return done;
}
