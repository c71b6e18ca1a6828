/* Matrix products on the host: BLAS, else loops of our own. */
#include <stdlib.h>
#include <string.h>
#include "kernels/blas.h"
#include "kernels/loops.h"
#include "kernels/matmul.h"
#include "runtime/interrupt.h"
#include "runtime/lend.h"
#include "runtime/threads.h"

/* The operands and the result of one product of the batch. */
struct operands {
    const char *a, *b;
    char *c;
};

static struct operands operands_of(const struct kn_product *p, int64_t item)
{
    int64_t a = 0, b = 0, rest = item, size = rt_dtypes[p->dtype].size;
    for (int d = p->batch_ndim - 1; d >= 0; d--) {
        int64_t i = rest % p->batch_shape[d];
        rest /= p->batch_shape[d];
        a += i * p->a_batch[d];
        b += i * p->b_batch[d];
    }
    return (struct operands){(const char *)p->a + a * size, (const char *)p->b + b * size,
                             (char *)p->c + item * p->rows * p->columns * size};
}

/* BLAS */

struct blas_job {
    const struct kn_product *p;
    int ta, tb, lda, ldb;
    void *gemm;
};

/* One stride is 1 and the other is what a leading dimension may be; gives both in BLAS's terms. */
static bool blas_operand(const int64_t stride[2], int64_t rows, int64_t columns, int *transposed, int *leading)
{
    int64_t plain = rows == 1 ? columns : stride[0], turned = columns == 1 ? rows : stride[1];
    if ((stride[1] == 1 || columns == 1) && plain >= columns && plain <= INT32_MAX) {
        *transposed = KN_BLAS_PLAIN;
        *leading = (int)(plain > 0 ? plain : 1);
        return true;
    }
    if ((stride[0] == 1 || rows == 1) && turned >= rows && turned <= INT32_MAX) {
        *transposed = KN_BLAS_TRANSPOSED;
        *leading = (int)(turned > 0 ? turned : 1);
        return true;
    }
    return false;
}

/* Below so many multiplications in all, loading BLAS costs more than it could ever save; in products below so many
 * each, calling it does. */
#define SMALL      (32 * 32 * 32)
#define SMALL_EACH (8 * 8 * 8)
/* Products above so many multiplications are worth several threads each. */
#define LARGE (256.0 * 256 * 256)

static void multiply_by_blas(void *context, size_t begin, size_t end, int worker)
{
    const struct blas_job *j = context;
    const struct kn_product *p = j->p;
    int m = (int)p->rows, n = (int)p->columns, k = (int)p->inner;
    (void)worker;
    for (size_t item = begin; item < end && !rt_interrupted(); item++) {
        struct operands o = operands_of(p, (int64_t)item);
        if (p->dtype == RT_FLOAT32)
            ((kn_sgemm *)j->gemm)(KN_BLAS_ROW_MAJOR, j->ta, j->tb, m, n, k, 1, (const float *)o.a, j->lda,
                                  (const float *)o.b, j->ldb, 0, (float *)o.c, n);
        else if (p->dtype == RT_COMPLEX64)
            ((kn_cgemm *)j->gemm)(KN_BLAS_ROW_MAJOR, j->ta, j->tb, m, n, k, (const float[]){1, 0}, o.a, j->lda, o.b,
                                  j->ldb, (const float[]){0, 0}, o.c, n);
        else if (p->dtype == RT_COMPLEX128)
            ((kn_cgemm *)j->gemm)(KN_BLAS_ROW_MAJOR, j->ta, j->tb, m, n, k, (const double[]){1, 0}, o.a, j->lda, o.b,
                                  j->ldb, (const double[]){0, 0}, o.c, n);
        else
            ((kn_dgemm *)j->gemm)(KN_BLAS_ROW_MAJOR, j->ta, j->tb, m, n, k, 1, (const double *)o.a, j->lda,
                                  (const double *)o.b, j->ldb, 0, (double *)o.c, n);
    }
}

/* False when BLAS cannot: no library, or strides and sizes that it does not take. */
static bool blas(const struct kn_product *p)
{
    struct blas_job j = {.p = p};
    const char *symbol = p->dtype == RT_FLOAT32      ? "cblas_sgemm"
                         : p->dtype == RT_FLOAT64    ? "cblas_dgemm"
                         : p->dtype == RT_COMPLEX64  ? "cblas_cgemm"
                         : p->dtype == RT_COMPLEX128 ? "cblas_zgemm"
                                                     : NULL;
    if (!symbol) return false;
    double each = (double)p->rows * (double)p->columns * (double)p->inner;
    if (each * (double)p->batches < SMALL || (each < SMALL_EACH && p->batches > 1)) return false;
    if (p->rows > INT32_MAX || p->columns > INT32_MAX || p->inner > INT32_MAX) return false;
    if (!blas_operand(p->a_stride, p->rows, p->inner, &j.ta, &j.lda)) return false;
    if (!blas_operand(p->b_stride, p->inner, p->columns, &j.tb, &j.ldb)) return false;
    j.gemm = kn_blas(symbol, NULL);
    if (!j.gemm) return false;
    bool spread = p->batches > 1 && each < LARGE;
    size_t grain = (size_t)(SMALL / each) + 1;
    kn_blas_threads(spread ? 1 : rt_thread_count());
    if (spread)
        rt_parallel_for((size_t)p->batches, grain, multiply_by_blas, &j);
    else
        multiply_by_blas(&j, 0, (size_t)p->batches, 0);
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
    size_t value = kn_classes[j->class].size, element = rt_dtypes[p->dtype].size, bytes = (size_t)PANEL * RT_ELEMENT;
    char *sum = j->scratch + (size_t)worker * 4 * bytes, *row = sum + bytes, *factor = row + bytes,
         *term = factor + bytes;
    for (size_t item = begin; item < end && !rt_interrupted(); item++) {
        size_t line = item / j->panels;
        struct operands o = operands_of(p, (int64_t)line / p->rows);
        int64_t i = (int64_t)line % p->rows, column = (int64_t)(item % j->panels) * PANEL;
        size_t n = p->columns - column < PANEL ? (size_t)(p->columns - column) : PANEL;
        memset(sum, 0, n * value);
        for (int64_t k = 0; k < p->inner; k++) {
            const char *a = o.a + (i * p->a_stride[0] + k * p->a_stride[1]) * (int64_t)element;
            const char *b = o.b + (k * p->b_stride[0] + column * p->b_stride[1]) * (int64_t)element;
            l->load[p->dtype](factor, a, 0, n);
            l->load[p->dtype](row, b, p->b_stride[1], n);
            l->ops[KN_MUL][j->class](term, factor, row, NULL, n);
            l->ops[KN_ADD][j->class](sum, sum, term, NULL, n);
        }
        l->convert[j->class][p->dtype](sum, sum, n);
        l->store[p->dtype](o.c + (i * p->columns + column) * (int64_t)element, 1, sum, n);
    }
}

/* The same sums, one element at a time: for few columns, where the loops above are mostly calls. */
#define NARROW 16
#define MULTIPLY_NARROW(name, T)                                                                                       \
    static void name(void *context, size_t begin, size_t end, int worker)                                              \
    {                                                                                                                  \
        const struct kn_product *p = ((const struct loops_job *)context)->p;                                           \
        const int64_t *s = p->a_stride, *t = p->b_stride;                                                              \
        (void)worker;                                                                                                  \
        for (size_t item = begin; item < end && !rt_interrupted(); item++) {                                           \
            struct operands o = operands_of(p, (int64_t)item / p->rows);                                               \
            int64_t i = (int64_t)item % p->rows;                                                                       \
            const T *a = (const T *)o.a + i * s[0], *b = (const T *)o.b;                                               \
            T *c = (T *)o.c + i * p->columns;                                                                          \
            for (int64_t j = 0; j < p->columns; j++) {                                                                 \
                T sum = 0;                                                                                             \
                for (int64_t k = 0; k < p->inner; k++) sum += a[k * s[1]] * b[k * t[0] + j * t[1]];                    \
                c[j] = sum;                                                                                            \
            }                                                                                                          \
        }                                                                                                              \
    }
MULTIPLY_NARROW(narrow_f32, float)
MULTIPLY_NARROW(narrow_f64, double)

static enum rt_status own_loops(const struct kn_product *p, struct rt_error *e)
{
    struct loops_job j = {.p = p, .class = kn_class_of(p->dtype)};
    size_t bytes = (size_t)PANEL * RT_ELEMENT * 4 * (size_t)rt_thread_count(), rows = (size_t)(p->rows * p->batches);
    size_t grain = (size_t)(SMALL / ((double)p->inner * (double)p->columns)) + 1;
    j.panels = (size_t)((p->columns + PANEL - 1) / PANEL);
    if (p->columns < NARROW && (p->dtype == RT_FLOAT32 || p->dtype == RT_FLOAT64)) {
        rt_parallel_for(rows, grain, p->dtype == RT_FLOAT32 ? narrow_f32 : narrow_f64, &j);
        return RT_OK;
    }
    j.scratch = rt_alloc(bytes);
    if (!j.scratch) return rt_fail(e, RT_NOMEM, "out of memory: %zu bytes for matmul", bytes);
    rt_parallel_for(rows * j.panels, j.panels == 1 ? grain : 1, multiply_panel, &j);
    free(j.scratch);
    return RT_OK;
}

enum rt_status kn_matmul_host(const struct kn_product *p, struct rt_error *e)
{
    rt_lend();
    enum rt_status status = RT_OK;
    if (!kn_matvec_host(p, &status, e) && !blas(p)) status = own_loops(p, e);
    rt_lend_end();
    return status == RT_OK && rt_interrupted() ? rt_fail(e, RT_INTERRUPTED, "interrupted") : status;
}
