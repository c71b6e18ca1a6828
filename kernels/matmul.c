/* Matrix products: shapes and types here, then BLAS, our own loops, or a generated kernel (matmul_cuda.c). */
#include "kernels/matmul.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/loops.h"
#include "runtime/interrupt.h"
#include "runtime/library.h"
#include "runtime/threads.h"

static enum rt_status shapes_differ(const struct rt_array *a, const struct rt_array *b, struct rt_error *e)
{
    char x[256], y[256];
    return rt_fail(e, RT_INVALID,
                   "matmul: the shapes %s and %s do not fit, the columns of the first must be the rows of the second",
                   rt_shape_text(a->ndim, a->shape, x, sizeof x), rt_shape_text(b->ndim, b->shape, y, sizeof y));
}

/* The sizes, with a vector on the left as one row and one on the right as one column. */
static enum rt_status choose_shape(const struct rt_array *a, const struct rt_array *b, struct kn_product *p,
                                   struct rt_error *e)
{
    const struct rt_array *both[2] = {a, b};
    for (int i = 0; i < 2; i++)
        if (both[i]->ndim < 1 || both[i]->ndim > 2)
            return rt_fail(e, RT_INVALID, "matmul: the %s array must have 1 or 2 axes, it has %d",
                           i ? "second" : "first", both[i]->ndim);
    p->rows = a->ndim == 2 ? a->shape[0] : 1;
    p->inner = a->shape[a->ndim - 1];
    p->columns = b->ndim == 2 ? b->shape[1] : 1;
    return b->shape[0] == p->inner ? RT_OK : shapes_differ(a, b, e);
}

/* Element (row, column) of an operand is at row * stride[0] + column * stride[1]. */
static void choose_strides(const struct rt_array *a, bool left, int64_t stride[2])
{
    stride[0] = a->ndim == 2 ? a->strides[0] : left ? 0 : a->strides[0];
    stride[1] = a->ndim == 2 ? a->strides[1] : left ? a->strides[0] : 0;
}

/* BLAS */

enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 };
typedef void sgemm_function(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda,
                            const float *b, int ldb, float beta, float *c, int ldc);
typedef void dgemm_function(int order, int ta, int tb, int m, int n, int k, double alpha, const double *a, int lda,
                            const double *b, int ldb, double beta, double *c, int ldc);
typedef void set_threads_function(int count);

/* One stride is 1 and the other is what a leading dimension may be; gives both in BLAS's terms. */
static bool blas_operand(const int64_t stride[2], int64_t rows, int64_t columns, int *transposed, int *leading)
{
    int64_t plain = rows == 1 ? columns : stride[0], turned = columns == 1 ? rows : stride[1];
    if ((stride[1] == 1 || columns == 1) && plain >= columns && plain <= INT32_MAX) {
        *transposed = PLAIN;
        *leading = (int)(plain > 0 ? plain : 1);
        return true;
    }
    if ((stride[0] == 1 || rows == 1) && turned >= rows && turned <= INT32_MAX) {
        *transposed = TRANSPOSED;
        *leading = (int)(turned > 0 ? turned : 1);
        return true;
    }
    return false;
}

/* Below this many multiplications loading BLAS (35 MB) costs more than it could ever save. */
#define SMALL (32 * 32 * 32)

/* OpenBLAS takes processors that it does not know, virtual ones among them, for very old ones, and is then ten times
 * slower. It reads this variable when it is loaded; a user's own setting stays. */
static void choose_core(void)
{
#if defined __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
        setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
    else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        setenv("OPENBLAS_CORETYPE", "Haswell", 0);
#endif
}

/* False when BLAS cannot: no library, or strides and sizes that it does not take. */
static bool blas(const struct kn_product *p)
{
    int ta, tb, lda, ldb;
    bool single = p->dtype == RT_FLOAT32;
    if (!single && p->dtype != RT_FLOAT64) return false;
    if ((double)p->rows * (double)p->columns * (double)p->inner < SMALL) return false;
    if (p->rows > INT32_MAX || p->columns > INT32_MAX || p->inner > INT32_MAX) return false;
    if (!blas_operand(p->a_stride, p->rows, p->inner, &ta, &lda)) return false;
    if (!blas_operand(p->b_stride, p->inner, p->columns, &tb, &ldb)) return false;
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, choose_core);
    const struct rt_library *l = rt_library_open(RT_LIB_OPENBLAS, NULL);
    if (!l) return false;
    void *gemm = rt_library_symbol(l, single ? "cblas_sgemm" : "cblas_dgemm", NULL);
    void *set_threads = rt_library_symbol(l, "openblas_set_num_threads", NULL);
    if (!gemm) return false;
    if (set_threads) ((set_threads_function *)set_threads)(rt_thread_count());
    int m = (int)p->rows, n = (int)p->columns, k = (int)p->inner;
    if (single)
        ((sgemm_function *)gemm)(ROW_MAJOR, ta, tb, m, n, k, 1, p->a, lda, p->b, ldb, 0, p->c, n);
    else
        ((dgemm_function *)gemm)(ROW_MAJOR, ta, tb, m, n, k, 1, p->a, lda, p->b, ldb, 0, p->c, n);
    return true;
}

/* Our own loops: rows of the product are summed up from rows of b, a few hundred columns at a time so that they stay in
 * the cache. Works for every class through the same multiplication and addition as everything else. */

#define PANEL 512 /* columns at a time */

struct loops_job {
    const struct kn_product *p;
    enum kn_class class;
    char *scratch;
    size_t panels;
};

static void multiply_panel(void *context, size_t begin, size_t end, int worker)
{
    const struct loops_job *j = context;
    const struct kn_product *p = j->p;
    const struct kn_loops *l = kn_host_loops();
    size_t value = kn_classes[j->class].size, element = rt_dtypes[p->dtype].size, bytes = (size_t)PANEL * 8;
    char *sum = j->scratch + (size_t)worker * 4 * bytes, *row = sum + bytes, *factor = row + bytes,
         *term = factor + bytes;
    for (size_t item = begin; item < end && !rt_interrupted(); item++) {
        int64_t i = (int64_t)(item / j->panels), column = (int64_t)(item % j->panels) * PANEL;
        size_t n = p->columns - column < PANEL ? (size_t)(p->columns - column) : PANEL;
        memset(sum, 0, n * value);
        for (int64_t k = 0; k < p->inner; k++) {
            const char *a = (const char *)p->a + (i * p->a_stride[0] + k * p->a_stride[1]) * (int64_t)element;
            const char *b = (const char *)p->b + (k * p->b_stride[0] + column * p->b_stride[1]) * (int64_t)element;
            l->load[p->dtype](factor, a, 0, n);
            l->load[p->dtype](row, b, p->b_stride[1], n);
            l->ops[KN_MUL][j->class](term, factor, row, NULL, n);
            l->ops[KN_ADD][j->class](sum, sum, term, NULL, n);
        }
        l->convert[j->class][p->dtype](sum, sum, n);
        l->store[p->dtype]((char *)p->c + (i * p->columns + column) * (int64_t)element, 1, sum, n);
    }
}

static enum rt_status own_loops(const struct kn_product *p, struct rt_error *e)
{
    struct loops_job j = {.p = p, .class = kn_class_of(p->dtype)};
    size_t bytes = (size_t)PANEL * 8 * 4 * (size_t)rt_thread_count();
    j.panels = (size_t)((p->columns + PANEL - 1) / PANEL);
    j.scratch = rt_alloc(bytes);
    if (!j.scratch) return rt_fail(e, RT_NOMEM, "out of memory: %zu bytes for matmul", bytes);
    rt_parallel_for((size_t)p->rows * j.panels, 1, multiply_panel, &j);
    free(j.scratch);
    return rt_interrupted() ? rt_fail(e, RT_INTERRUPTED, "interrupted") : RT_OK;
}

static enum rt_status multiply(struct kn_product *p, const struct rt_array *a, const struct rt_array *b,
                               const struct rt_array *out, struct rt_error *e)
{
    choose_strides(a, true, p->a_stride);
    choose_strides(b, false, p->b_stride);
    if (rt_array_size(out) == 0) return RT_OK;
    if (p->inner == 0) return kn_fill(out, &(struct kn_operand){0}, e);
    if (kn_runs_generated(rt_array_device(out))) return kn_matmul_cuda(p, a, b, out, e);
    p->a = rt_array_host(a);
    p->b = rt_array_host(b);
    p->c = rt_array_host(out);
    return blas(p) ? RT_OK : own_loops(p, e);
}

enum rt_status kn_matmul(const struct rt_array *a, const struct rt_array *b, struct rt_array *out, struct rt_error *e)
{
    struct kn_product p = {0};
    struct kn_operand operands[2] = {{.array = a}, {.array = b}};
    struct rt_array x = {0}, y = {0};
    int64_t shape[2];
    int ndim = 0;
    memset(out, 0, sizeof *out);
    enum rt_status status = kn_check_devices((const struct rt_array *const[]){a, b}, 2, e);
    if (status == RT_OK) status = choose_shape(a, b, &p, e);
    if (status == RT_OK) status = kn_result_dtype(KN_MUL, operands, &p.dtype, e);
    if (status != RT_OK) return status;
    if (a->ndim == 2) shape[ndim++] = p.rows;
    if (b->ndim == 2) shape[ndim++] = p.columns;
    struct rt_device *d = rt_array_device(a);
    if (a->dtype == p.dtype)
        rt_array_share(a, &x);
    else
        status = kn_convert(a, p.dtype, d, &x, e);
    if (status == RT_OK && b->dtype == p.dtype)
        rt_array_share(b, &y);
    else if (status == RT_OK)
        status = kn_convert(b, p.dtype, d, &y, e);
    if (status == RT_OK) status = rt_array_new(d, p.dtype, ndim, shape, out, e);
    if (status == RT_OK) {
        status = multiply(&p, &x, &y, out, e);
        if (status != RT_OK) rt_array_release(out);
    }
    rt_array_release(&x);
    rt_array_release(&y);
    return status;
}
