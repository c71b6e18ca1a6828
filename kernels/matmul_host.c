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
    void *vector; /* what is called instead for complex numbers with one row or one column; else NULL */
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
#define ALONE (114.0 * 114 * 114)

/* The number one or zero, of any type that BLAS has; what is passed by its address is a complex number. */
static const double one_f64[] = {1, 0}, zero[] = {0, 0};
static const float one_f32[] = {1, 0};

static const void *complex_one(enum rt_dtype t)
{
    return t == RT_COMPLEX64 ? (const void *)one_f32 : one_f64;
}

static int step_of(int64_t stride)
{
    return stride > 0 && stride <= INT32_MAX ? (int)stride : 1; /* what else it can be is that of one element */
}

/* Adds the product of the last elements to one number, the sum of the others. */
static void add_last(const struct kn_product *p, const struct operands *o, bool conjugates)
{
    int64_t size = rt_dtypes[p->dtype].size, last = p->inner - 1;
    struct rt_complex a = rt_load_complex(p->dtype, o->a + last * p->a_stride[1] * size);
    struct rt_complex b = rt_load_complex(p->dtype, o->b + last * p->b_stride[0] * size);
    struct rt_complex sum = rt_load_complex(p->dtype, o->c);
    if (conjugates) a.im = -a.im;
    sum.re += a.re * b.re - a.im * b.im;
    sum.im += a.re * b.im + a.im * b.re;
    rt_store_complex(p->dtype, o->c, sum);
}

/* A vector by a matrix whose columns are to be added up: all rows but the last, then that one by a copy of the vector's
 * last element with another behind it. */
static void add_rows(kn_cgemv *gemv, const struct kn_product *p, int columns, const char *matrix, int leading,
                     const char *vector, int step, void *to)
{
    const void *one = complex_one(p->dtype);
    size_t size = rt_dtypes[p->dtype].size, rows = (size_t)p->inner - KN_BLAS_READS_ON;
    double last[4] = {0};
    memcpy(last, vector + rows * (size_t)step * size, size);
    gemv(KN_BLAS_ROW_MAJOR, KN_BLAS_TRANSPOSED, (int)rows, columns, one, matrix, leading, vector, step, zero, to, 1);
    gemv(KN_BLAS_ROW_MAJOR, KN_BLAS_TRANSPOSED, 1, columns, one, matrix + rows * (size_t)leading * size, leading, last,
         1, rows ? one : zero, to, 1);
}

/* Of products of complex numbers with one row or one column: the function that reads the matrix as it lies. */
static void *vector_function(const struct kn_product *p)
{
    bool both = p->rows == 1 && p->columns == 1, single = p->dtype == RT_COMPLEX64;
    if (!rt_is_complex(p->dtype) || (p->rows > 1 && p->columns > 1)) return NULL;
    return kn_blas(both     ? single ? "cblas_cdotu_sub" : "cblas_zdotu_sub"
                   : single ? "cblas_cgemv"
                            : "cblas_zgemv",
                   NULL);
}

static void multiply_vector(const struct blas_job *j, const struct operands *o)
{
    const struct kn_product *p = j->p;
    bool row = p->columns != 1;
    const char *vector = row ? o->a : o->b, *matrix = row ? o->b : o->a;
    int step = step_of(row ? p->a_stride[1] : p->b_stride[0]), leading = row ? j->ldb : j->lda;
    if (p->rows == 1 && !row) {
        ((kn_cdotu *)j->vector)((int)p->inner - KN_BLAS_READS_ON, o->a, step_of(p->a_stride[1]), o->b, step, o->c);
        add_last(p, o, false);
        return;
    }
    /* Of a matrix on the right the transpose is multiplied; it may be the one that is stored. */
    bool stored_turned = (row ? j->tb : j->ta) == KN_BLAS_TRANSPOSED;
    int64_t result = row ? p->columns : p->rows;
    if (row != stored_turned)
        add_rows((kn_cgemv *)j->vector, p, (int)result, matrix, leading, vector, step, o->c);
    else
        ((kn_cgemv *)j->vector)(KN_BLAS_ROW_MAJOR, KN_BLAS_PLAIN, (int)result, (int)p->inner, complex_one(p->dtype),
                                matrix, leading, vector, step, zero, o->c, 1);
}

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
        else if (p->dtype == RT_FLOAT64)
            ((kn_dgemm *)j->gemm)(KN_BLAS_ROW_MAJOR, j->ta, j->tb, m, n, k, 1, (const double *)o.a, j->lda,
                                  (const double *)o.b, j->ldb, 0, (double *)o.c, n);
        else if (j->vector)
            multiply_vector(j, &o);
        else
            ((kn_cgemm *)j->gemm)(KN_BLAS_ROW_MAJOR, j->ta, j->tb, m, n, k, complex_one(p->dtype), o.a, j->lda, o.b,
                                  j->ldb, zero, o.c, n);
    }
}

/* Copies what is above the diagonal of an n x n matrix below it. */
static void mirror(char *c, int64_t n, int64_t size)
{
    for (int64_t i = 1; i < n; i++)
        for (int64_t j = 0; j < i; j++) memcpy(c + (i * n + j) * size, c + (j * n + i) * size, (size_t)size);
}

/* The product of a matrix and its own transpose, of which half is computed. */
static bool square(const struct blas_job *j)
{
    const struct kn_product *p = j->p;
    bool same = p->a == p->b && p->a_stride[0] == p->b_stride[1] && p->a_stride[1] == p->b_stride[0];
    int n = (int)p->rows, k = (int)p->inner;
    if (!same || p->batches > 1 || p->rows != p->columns || n == 1) return false;
    void *call = kn_blas(p->dtype == RT_FLOAT32     ? "cblas_ssyrk"
                         : p->dtype == RT_FLOAT64   ? "cblas_dsyrk"
                         : p->dtype == RT_COMPLEX64 ? "cblas_csyrk"
                                                    : "cblas_zsyrk",
                         NULL);
    if (!call) return false;
    if (p->dtype == RT_FLOAT32)
        ((kn_ssyrk *)call)(KN_BLAS_ROW_MAJOR, KN_BLAS_UPPER, j->ta, n, k, 1, p->a, j->lda, 0, p->c, n);
    else if (p->dtype == RT_FLOAT64)
        ((kn_dsyrk *)call)(KN_BLAS_ROW_MAJOR, KN_BLAS_UPPER, j->ta, n, k, 1, p->a, j->lda, 0, p->c, n);
    else
        ((kn_csyrk *)call)(KN_BLAS_ROW_MAJOR, KN_BLAS_UPPER, j->ta, n, k, complex_one(p->dtype), p->a, j->lda, zero,
                           p->c, n);
    mirror(p->c, n, rt_dtypes[p->dtype].size);
    return true;
}

static const char *gemm_of(enum rt_dtype t)
{
    return t == RT_FLOAT32      ? "cblas_sgemm"
           : t == RT_FLOAT64    ? "cblas_dgemm"
           : t == RT_COMPLEX64  ? "cblas_cgemm"
           : t == RT_COMPLEX128 ? "cblas_zgemm"
                                : NULL;
}

/* Whether a product of such matrices is one for BLAS, if these lie as it wants them. */
static bool worth_blas(const struct kn_product *p)
{
    double each = (double)p->rows * (double)p->columns * (double)p->inner;
    if (each * (double)p->batches < SMALL || (each < SMALL_EACH && p->batches > 1)) return false;
    return gemm_of(p->dtype) && p->rows <= INT32_MAX && p->columns <= INT32_MAX && p->inner <= INT32_MAX;
}

bool kn_matmul_wants_copy(const struct kn_product *p, bool left)
{
    int transposed, leading;
    if (p->rows == 1 || p->columns == 1 || !worth_blas(p)) return false;
    return left ? !blas_operand(p->a_stride, p->rows, p->inner, &transposed, &leading)
                : !blas_operand(p->b_stride, p->inner, p->columns, &transposed, &leading);
}

/* How many threads BLAS gets for one product: one where that of real float32 squares took up to twice as long by two.
 */
static int threads_for(const struct kn_product *p, double each)
{
    const bool complex = rt_is_complex(p->dtype);
    const double weight = (double)rt_dtypes[p->dtype].size / 4 * (complex ? 2 : 1);
    return each * weight < ALONE ? 1 : rt_thread_count();
}

/* False when BLAS cannot: no library, or strides and sizes that it does not take. */
static bool blas(const struct kn_product *p)
{
    struct blas_job j = {.p = p};
    double each = (double)p->rows * (double)p->columns * (double)p->inner;
    if (!worth_blas(p)) return false;
    if (!blas_operand(p->a_stride, p->rows, p->inner, &j.ta, &j.lda)) return false;
    if (!blas_operand(p->b_stride, p->inner, p->columns, &j.tb, &j.ldb)) return false;
    j.gemm = kn_blas(gemm_of(p->dtype), NULL);
    if (!j.gemm) return false;
    j.vector = vector_function(p);
    bool spread = p->batches > 1 && each < LARGE;
    size_t grain = (size_t)(SMALL / each) + 1;
    kn_blas_threads(spread ? 1 : threads_for(p, each));
    if (spread)
        rt_parallel_for((size_t)p->batches, grain, multiply_by_blas, &j);
    else if (!square(&j))
        multiply_by_blas(&j, 0, (size_t)p->batches, 0);
    return true;
}

/* Our own loops. */

struct loops_job {
    const struct kn_product *p;
    kn_multiply_loop *multiply;
    enum kn_class class;
    char *scratch;
    size_t panels;
};

/* Of the types that have one. Items are the rows of all products, each in panels of columns. */
static void multiply_rows(void *context, size_t begin, size_t end, int worker)
{
    const struct loops_job *j = context;
    const struct kn_product *p = j->p;
    int64_t element = rt_dtypes[p->dtype].size, width = (p->columns + (int64_t)j->panels - 1) / (int64_t)j->panels;
    (void)worker;
    for (int64_t item = (int64_t)begin, rows; item < (int64_t)end && !rt_interrupted(); item += rows) {
        int64_t line = item / (int64_t)j->panels, column = item % (int64_t)j->panels * width, row = line % p->rows;
        int64_t columns = p->columns - column < width ? p->columns - column : width;
        rows = j->panels > 1 ? 1 : p->rows - row < (int64_t)end - item ? p->rows - row : (int64_t)end - item;
        if (columns <= 0) continue;
        struct operands o = operands_of(p, line / p->rows);
        j->multiply(o.a + row * p->a_stride[0] * element, p->a_stride, o.b + column * p->b_stride[1] * element,
                    p->b_stride, o.c + (row * p->columns + column) * element, p->columns, rows, p->inner, columns);
    }
}

/* Of the others rows of the product are summed up from rows of b, a few hundred columns at a time so that they stay in
 * the cache, by the same multiplication and addition as everything else. */

#define PANEL 512 /* columns at a time */

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

/* A matrix whose columns lie in memory as rows would, times a vector: the transpose of the vector times its transpose.
 */
static void turn_product(const struct kn_product *p, struct kn_product *turned)
{
    *turned = *p;
    turned->rows = 1;
    turned->columns = p->rows;
    turned->a = p->b;
    turned->b = p->a;
    for (int i = 0; i < 2; i++) {
        turned->a_stride[i] = p->b_stride[1 - i];
        turned->b_stride[i] = p->a_stride[1 - i];
    }
    memcpy(turned->a_batch, p->b_batch, sizeof p->b_batch);
    memcpy(turned->b_batch, p->a_batch, sizeof p->a_batch);
}

static enum rt_status own_loops(const struct kn_product *p, struct rt_error *e)
{
    struct kn_product turned;
    if (p->columns == 1 && p->rows > 1 && p->a_stride[0] == 1 && p->a_stride[1] != 1) {
        turn_product(p, &turned);
        p = &turned;
    }
    struct loops_job j = {.p = p, .class = kn_class_of(p->dtype), .panels = 1};
    size_t bytes = (size_t)PANEL * RT_ELEMENT * 4 * (size_t)rt_thread_count(), rows = (size_t)(p->rows * p->batches);
    size_t grain = (size_t)(SMALL / ((double)p->inner * (double)p->columns)) + 1;
    j.multiply = kn_host_loops()->product->multiply[p->dtype];
    if (j.multiply) {
        bool few = rows < (size_t)rt_thread_count() && (double)p->inner * (double)p->columns > 2 * SMALL;
        if (few && p->columns > PANEL) j.panels = (size_t)((p->columns + PANEL - 1) / PANEL);
        rt_parallel_for(rows * j.panels, grain, multiply_rows, &j);
        return RT_OK;
    }
    j.panels = (size_t)((p->columns + PANEL - 1) / PANEL);
    j.scratch = rt_alloc(bytes);
    if (!j.scratch) return rt_fail(e, RT_NOMEM, "out of memory: %zu bytes for matmul", bytes);
    rt_parallel_for(rows * j.panels, j.panels == 1 ? grain : 1, multiply_panel, &j);
    free(j.scratch);
    return RT_OK;
}

enum rt_status kn_vdot_host(const struct kn_product *p, struct rt_error *e)
{
    const struct operands o = {p->a, p->b, p->c};
    kn_cdotu *dotc =
        worth_blas(p) ? kn_blas(p->dtype == RT_COMPLEX64 ? "cblas_cdotc_sub" : "cblas_zdotc_sub", NULL) : NULL;
    rt_lend();
    if (dotc) {
        kn_blas_threads(rt_thread_count());
        dotc((int)p->inner - KN_BLAS_READS_ON, o.a, 1, o.b, 1, o.c);
        add_last(p, &o, true);
    } else {
        kn_host_loops()->product->conjugated[p->dtype == RT_COMPLEX128](o.c, o.a, o.b, p->inner);
    }
    rt_lend_end();
    return rt_stopped(e);
}

enum rt_status kn_matmul_host(const struct kn_product *p, struct rt_error *e)
{
    rt_lend();
    enum rt_status status = RT_OK;
    if (!kn_matvec_host(p, &status, e) && !blas(p)) status = own_loops(p, e);
    rt_lend_end();
    return status == RT_OK ? rt_stopped(e) : status;
}
