/* Products of matrices and vectors on the host, of vectors and vectors among them: memory is what they wait for. Both
 * ways add in double; products are of the arrays' dtype. */
#include <stdlib.h>
#include <string.h>
#include "kernels/loops.h"
#include "kernels/matmul.h"
#include "kernels/reduce.h"
#include "runtime/interrupt.h"
#include "runtime/threads.h"

#define CHUNK 16384 /* elements of a row that are summed up to one partial result */
#define PANEL 4096  /* elements of the result that rows are added to at a time, at most */
#define LEAST 64    /* and at least, where there are so many */
#define LINES 256   /* that a loop goes over at a time; whole groups of KN_SUMMED_ROWS */
#define GRAIN 32768 /* multiplications that one piece of parallel work has */
#define APART 2048  /* elements of two vectors that are laid side by side in the nearest cache at a time */
#define FEW   64    /* partial results that take no allocation */
#define SMALL 512   /* elements of a matrix, of which there are many, that are not worth the way through here */

struct job {
    const struct kn_product *p;
    const struct kn_loops *loops;
    int64_t lines, length; /* of the matrix as it lies in memory, and elements of one */
    int64_t line, step;    /* between lines, and between the vector's elements */
    int64_t pieces;        /* chunks of a line or panels of the result */
    int64_t panel;
    double *partial;
};

/* The addresses of an item of the batch. */
static void operands_of(const struct kn_product *p, int64_t item, const char **matrix, const char **vector)
{
    int64_t a = 0, b = 0, size = rt_dtypes[p->dtype].size;
    for (int d = p->batch_ndim - 1; d >= 0; d--) {
        a += item % p->batch_shape[d] * p->a_batch[d];
        b += item % p->batch_shape[d] * p->b_batch[d];
        item /= p->batch_shape[d];
    }
    const char *x = (const char *)p->a + a * size, *y = (const char *)p->b + b * size;
    *matrix = p->columns == 1 ? x : y;
    *vector = p->columns == 1 ? y : x;
}

static void store(const struct job *j, int64_t at, const double *values, int64_t n)
{
    enum rt_dtype t = j->p->dtype;
    char *to = (char *)j->p->c + at * rt_dtypes[t].size;
    j->loops->convert[KN_F64][t](to, values, (size_t)n);
}

/* Every element of the result is a line times the vector. Items are the chunks of all lines of all matrices. */
static void multiply_chunks(void *context, size_t begin, size_t end, int worker)
{
    const struct job *j = context;
    int64_t size = rt_dtypes[j->p->dtype].size, line = (int64_t)begin / j->pieces, in_matrix = line % j->lines;
    int64_t first = (int64_t)begin % j->pieces * CHUNK;
    kn_dot_loop *dot = j->loops->product->dot[j->p->dtype == RT_FLOAT64];
    const char *matrix, *vector;
    double sums[LINES];
    (void)worker;
    operands_of(j->p, line / j->lines, &matrix, &vector);
    for (size_t item = begin, count; item < end && !rt_interrupted(); item += count) {
        int64_t n = j->length - first < CHUNK ? j->length - first : CHUNK;
        count = end - item < LINES ? end - item : LINES;
        if (count > (size_t)(j->lines - in_matrix)) count = (size_t)(j->lines - in_matrix);
        if (j->partial) count = 1;
        dot(j->partial ? j->partial + item : sums, matrix + (in_matrix * j->line + first) * size, j->line,
            vector + first * size, count, (size_t)n);
        if (!j->partial) store(j, line, sums, (int64_t)count);
        first += CHUNK;
        if (first < j->length) continue;
        first = 0;
        line += (int64_t)count;
        in_matrix += (int64_t)count;
        if (in_matrix < j->lines || item + count == end) continue;
        in_matrix = 0;
        operands_of(j->p, line / j->lines, &matrix, &vector);
    }
}

/* The result is the sum of all lines, each times an element of the vector. Items are the panels of all results. */
static void add_lines(void *context, size_t begin, size_t end, int worker)
{
    const struct job *j = context;
    int64_t size = rt_dtypes[j->p->dtype].size;
    double sums[PANEL], factors[LINES]; /* these of the dtype */
    (void)worker;
    for (size_t item = begin; item < end && !rt_interrupted(); item++) {
        int64_t product = (int64_t)item / j->pieces, first = (int64_t)item % j->pieces * j->panel;
        int64_t n = j->length - first < j->panel ? j->length - first : j->panel;
        const char *matrix, *vector;
        operands_of(j->p, product, &matrix, &vector);
        memset(sums, 0, (size_t)n * sizeof *sums);
        for (int64_t k = 0; k < j->lines; k += LINES) {
            int64_t count = j->lines - k < LINES ? j->lines - k : LINES;
            j->loops->load[j->p->dtype](factors, vector + k * j->step * size, j->step, (size_t)count);
            j->loops->product->add_rows[j->p->dtype == RT_FLOAT64](sums, matrix + (k * j->line + first) * size, j->line,
                                                                   factors, (size_t)count, (size_t)n);
        }
        store(j, product * j->length + first, sums, n);
    }
}

/* Adds up the chunks' results of each line by halves. */
static void store_sums(const struct job *j, int64_t results)
{
    for (int64_t i = 0; i < results; i++) {
        double *part = j->partial + i * j->pieces;
        for (int64_t n = j->pieces; n > 1; n = (n + 1) / 2)
            for (int64_t k = 0; k < n / 2; k++) part[k] += part[k + (n + 1) / 2];
        store(j, i, part, 1);
    }
}

static size_t grain_of(int64_t each)
{
    return each < GRAIN ? (size_t)(GRAIN / (each + 1)) + 1 : 1;
}

/* The elements of a vector, n of the dtype, as they lie where that is side by side, else in the buffer. */
static const void *side_by_side(const struct job *j, const char *from, int64_t step, void *buffer, int64_t n)
{
    if (step == 1) return from;
    j->loops->narrow->gather[__builtin_ctz(rt_dtypes[j->p->dtype].size)](buffer, from, step, (size_t)n);
    return buffer;
}

/* Every element of the result is the product of two vectors whose elements lie apart. Items are the chunks of them. */
static void multiply_apart(void *context, size_t begin, size_t end, int worker)
{
    const struct job *j = context;
    const int64_t size = rt_dtypes[j->p->dtype].size, step = j->p->a_stride[1];
    kn_dot_loop *dot = j->loops->product->dot[j->p->dtype == RT_FLOAT64];
    double left[APART], right[APART], sum; /* the buffers of the dtype */
    (void)worker;
    for (size_t item = begin; item < end && !rt_interrupted(); item++) {
        const int64_t first = (int64_t)item % j->pieces * APART,
                      n = j->length - first < APART ? j->length - first : APART;
        const char *a, *b;
        operands_of(j->p, (int64_t)item / j->pieces, &a, &b);
        const void *x = side_by_side(j, a + first * step * size, step, left, n),
                   *y = side_by_side(j, b + first * j->step * size, j->step, right, n);
        dot(j->partial ? j->partial + item : &sum, x, 0, y, 1, (size_t)n);
        if (!j->partial) store(j, (int64_t)item, &sum, 1);
    }
}

/* All lines in chunks of so many elements. */
static enum rt_status by_lines(struct job *j, int64_t chunk, void (*multiply)(void *, size_t, size_t, int),
                               struct rt_error *e)
{
    double few[FEW], *heap = NULL;
    int64_t results = j->lines * j->p->batches;
    j->pieces = (j->length + chunk - 1) / chunk;
    if (j->pieces > 1) {
        size_t bytes = (size_t)(results * j->pieces) * sizeof(double);
        j->partial = bytes <= sizeof few ? few : (heap = rt_alloc(bytes));
        if (!j->partial) return rt_fail(e, RT_NOMEM, "out of memory: %zu bytes for matmul", bytes);
    }
    const size_t together = j->pieces > 1 ? (size_t)(CHUNK / chunk) : 1;
    rt_parallel_for((size_t)(results * j->pieces), grain_of(j->length) * together, multiply, j);
    if (j->partial && !rt_interrupted()) store_sums(j, results);
    free(heap);
    return RT_OK;
}

/* Elements of the result that are sums of few numbers each, which lie side by side. */
struct dots {
    const struct kn_product *p;
    kn_dots_loop *loop;
    int64_t run, line, step; /* elements of the result one after the other with these strides */
};

static void short_dots(void *context, size_t begin, size_t end, int worker)
{
    const struct dots *j = context;
    int64_t size = rt_dtypes[j->p->dtype].size;
    (void)worker;
    for (int64_t item = (int64_t)begin, n; item < (int64_t)end; item += n) {
        int64_t first = item % j->run;
        const char *matrix, *vector;
        n = j->run - first < (int64_t)end - item ? j->run - first : (int64_t)end - item;
        operands_of(j->p, item / j->run, &matrix, &vector);
        j->loop(matrix + first * j->line * size, j->line, vector + first * j->step * size, j->step,
                (char *)j->p->c + item * size, n, j->p->inner);
    }
}

/* Short lines times a vector, or times a vector each. */
static bool by_dots(const struct kn_product *p)
{
    struct dots j = {.p = p, .loop = kn_host_loops()->product->dots[p->dtype]};
    bool row = p->columns != 1;
    int64_t count = row ? p->columns : p->rows;
    if (!j.loop || (row && p->rows != 1) || p->inner < 2 || p->inner > FEW) return false;
    if (p->a_stride[1] != 1 || p->b_stride[0] != 1) return false;
    j.run = count;
    j.line = row ? p->b_stride[1] : p->a_stride[0];
    if (count == 1 && p->batch_ndim == 1) {
        j.run = p->batches;
        j.line = p->a_batch[0];
        j.step = p->b_batch[0];
    }
    rt_parallel_for((size_t)(count * p->batches), grain_of(p->inner), short_dots, &j);
    return true;
}

bool kn_matvec_host(const struct kn_product *p, enum rt_status *status, struct rt_error *e)
{
    struct job j = {.p = p, .loops = kn_host_loops()};
    bool row = p->columns != 1;
    if (by_dots(p)) {
        *status = RT_OK;
        return true;
    }
    if (!row && p->batches > 1 && p->rows * p->inner < SMALL) return false;
    if ((row && p->rows != 1) || (p->dtype != RT_FLOAT32 && p->dtype != RT_FLOAT64)) return false;
    /* The matrix's strides along the sum and along the result. */
    int64_t inner = row ? p->b_stride[0] : p->a_stride[1], outer = row ? p->b_stride[1] : p->a_stride[0];
    int64_t count = row ? p->columns : p->rows;
    j.step = row ? p->a_stride[1] : p->b_stride[0];
    if (p->inner == 1 || (inner == 1 && j.step == 1)) {
        j.lines = count;
        j.length = p->inner;
        j.line = outer;
        *status = by_lines(&j, CHUNK, multiply_chunks, e);
    } else if (outer == 1 && count > 1) {
        j.lines = p->inner;
        j.length = count;
        j.line = inner;
        j.panel = (count / rt_thread_count() + LEAST) / LEAST * LEAST;
        if (j.panel > PANEL) j.panel = PANEL;
        j.pieces = (count + j.panel - 1) / j.panel;
        rt_parallel_for((size_t)(p->batches * j.pieces), grain_of(p->inner * j.panel), add_lines, &j);
        *status = RT_OK;
    } else if (count == 1) {
        j.lines = 1;
        j.length = p->inner;
        *status = by_lines(&j, APART, multiply_apart, e);
    } else {
        return false;
    }
    return true;
}

bool kn_small_dot(const struct rt_array *a, const struct rt_array *b, enum rt_dtype *t, void *element)
{
    const enum rt_dtype dtype = a->dtype;
    if ((dtype != RT_FLOAT32 && dtype != RT_FLOAT64) || b->dtype != dtype || a->ndim != 1 || b->ndim != 1) return false;
    if (a->shape[0] != b->shape[0] || !kn_is_small(a) || !kn_is_small(b)) return false;
    if (rt_array_device(a) != rt_array_device(b)) return false;
    const struct kn_loops *l = kn_host_loops();
    const int64_t n = a->shape[0];
    *t = dtype;
    if (n >= 2 && n <= FEW) {
        l->product->dots[dtype](rt_array_host(a), 0, rt_array_host(b), 0, element, 1, n);
        return true;
    }
    double sum;
    l->product->dot[dtype == RT_FLOAT64](&sum, rt_array_host(a), 0, rt_array_host(b), 1, (size_t)n);
    l->convert[KN_F64][dtype](element, &sum, 1);
    return true;
}
