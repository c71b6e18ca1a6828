/* Sparse matrices on the host: products with dense arrays, and everything that makes a new structure. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/quicksort.h"
#include "kernels/sparse.h"
#include "runtime/interrupt.h"
#include "runtime/threads.h"

#define GRAIN 16384 /* elements of a piece of parallel work */

/* Rows that have about so many elements together. */
static size_t rows_of_piece(int64_t rows, int64_t count)
{
    double each = rows > 0 ? (double)count / (double)rows : 0;
    return (size_t)(GRAIN / (each + 4)) + 1;
}

/* ---- times dense ---- */

struct product {
    const int64_t *starts;
    const int32_t *indices;
    const void *data, *x;
    void *out;
    int64_t n;       /* columns of x and out */
    int64_t columns; /* of the matrix */
};

/* Sums in double: a row's sum is rounded once. */
#define TIMES_VECTOR(name, T)                                                                                          \
    static void name(void *context, size_t begin, size_t end, int worker)                                              \
    {                                                                                                                  \
        const struct product *p = context;                                                                             \
        const T *data = p->data, *x = p->x;                                                                            \
        (void)worker;                                                                                                  \
        for (size_t r = begin; r < end; r++) {                                                                         \
            double sum = 0;                                                                                            \
            for (int64_t i = p->starts[r]; i < p->starts[r + 1]; i++)                                                  \
                sum += (double)data[i] * (double)x[p->indices[i]];                                                     \
            ((T *)p->out)[r] = (T)sum;                                                                                 \
        }                                                                                                              \
    }
TIMES_VECTOR(times_vector_f32, float)
TIMES_VECTOR(times_vector_f64, double)

#define TIMES_MATRIX(name, T)                                                                                          \
    static void name(void *context, size_t begin, size_t end, int worker)                                              \
    {                                                                                                                  \
        const struct product *p = context;                                                                             \
        (void)worker;                                                                                                  \
        for (size_t r = begin; r < end && !rt_interrupted(); r++) {                                                    \
            T *restrict to = (T *)p->out + (int64_t)r * p->n;                                                          \
            memset(to, 0, (size_t)p->n * sizeof *to);                                                                  \
            for (int64_t i = p->starts[r]; i < p->starts[r + 1]; i++) {                                                \
                const T *x = (const T *)p->x + p->indices[i] * p->n, factor = ((const T *)p->data)[i];                 \
                for (int64_t k = 0; k < p->n; k++) to[k] += factor * x[k];                                             \
            }                                                                                                          \
        }                                                                                                              \
    }
TIMES_MATRIX(times_matrix_f32, float)
TIMES_MATRIX(times_matrix_f64, double)

#define TO_DENSE(name, T)                                                                                              \
    static void name(void *context, size_t begin, size_t end, int worker)                                              \
    {                                                                                                                  \
        const struct product *p = context;                                                                             \
        (void)worker;                                                                                                  \
        for (size_t r = begin; r < end; r++) {                                                                         \
            T *to = (T *)p->out + (int64_t)r * p->columns;                                                             \
            for (int64_t i = p->starts[r]; i < p->starts[r + 1]; i++) to[p->indices[i]] = ((const T *)p->data)[i];     \
        }                                                                                                              \
    }
TO_DENSE(to_dense_f32, float)
TO_DENSE(to_dense_f64, double)

static struct product product_of(const struct kn_csr *a, const struct rt_array *x, int64_t n,
                                 const struct rt_array *out)
{
    return (struct product){.starts = rt_array_host(&a->starts),
                            .indices = rt_array_host(&a->indices),
                            .data = rt_array_host(&a->data),
                            .x = x ? rt_array_host(x) : NULL,
                            .out = rt_array_host(out),
                            .n = n,
                            .columns = a->columns};
}

void kn_csr_matmul_host(const struct kn_csr *a, const struct rt_array *x, int64_t n, const struct rt_array *out)
{
    struct product p = product_of(a, x, n, out);
    bool single = a->data.dtype == RT_FLOAT32;
    size_t grain = rows_of_piece(a->rows, a->data.shape[0] * n);
    if (n == 1)
        rt_parallel_for((size_t)a->rows, grain, single ? times_vector_f32 : times_vector_f64, &p);
    else
        rt_parallel_for((size_t)a->rows, grain, single ? times_matrix_f32 : times_matrix_f64, &p);
}

void kn_csr_scatter_host(const struct kn_csr *a, const struct rt_array *out)
{
    struct product p = product_of(a, NULL, 1, out);
    rt_parallel_for((size_t)a->rows, rows_of_piece(a->rows, a->data.shape[0]),
                    a->data.dtype == RT_FLOAT32 ? to_dense_f32 : to_dense_f64, &p);
}

/* ---- sorting ---- */

/* Elements with one of their two places as the key, of 4 or 8 bytes. */
struct keyed {
    int64_t count, keys;
    const int32_t *key, *other;
    const void *value;
    size_t size;
};

/* Elements by their key, those of one key in their order: starts (keys + 1), and for each element its other place and
 * its value. */
static void sort_by_key(const struct keyed *x, int64_t *starts, int32_t *others, void *values)
{
    const int64_t count = x->count, keys = x->keys;
    const int32_t *key = x->key, *other = x->other;
    memset(starts, 0, (size_t)(keys + 1) * sizeof *starts);
    for (int64_t i = 0; i < count; i++) starts[key[i] + 1]++;
    for (int64_t k = 0; k < keys; k++) starts[k + 1] += starts[k];
    for (int64_t i = 0; i < count; i++) {
        int64_t to = starts[key[i]]++;
        others[to] = other[i];
        if (x->size == 4)
            ((uint32_t *)values)[to] = ((const uint32_t *)x->value)[i];
        else
            ((uint64_t *)values)[to] = ((const uint64_t *)x->value)[i];
    }
    memmove(starts + 1, starts, (size_t)keys * sizeof *starts); /* they had moved to where the next one starts */
    starts[0] = 0;
}

static void spread(const int64_t *starts, int64_t keys, int32_t *key)
{
    for (int64_t k = 0; k < keys; k++)
        for (int64_t i = starts[k]; i < starts[k + 1]; i++) key[i] = (int32_t)k;
}

/* Adds neighbours of one place up. Returns how many elements are left. */
static int64_t add_twins(struct kn_csr *a)
{
    int64_t *starts = rt_array_host(&a->starts), to = 0, i = 0;
    int32_t *indices = rt_array_host(&a->indices);
    void *data = rt_array_host(&a->data);
    bool single = a->data.dtype == RT_FLOAT32;
    for (int64_t r = 0; r < a->rows; r++) {
        int64_t end = starts[r + 1], first = to;
        starts[r] = to;
        for (; i < end; i++) {
            bool twin = to > first && indices[to - 1] == indices[i];
            int64_t at = twin ? to - 1 : to++;
            indices[at] = indices[i];
            if (single)
                ((float *)data)[at] = (twin ? ((float *)data)[at] : 0) + ((float *)data)[i];
            else
                ((double *)data)[at] = (twin ? ((double *)data)[at] : 0) + ((double *)data)[i];
        }
    }
    starts[a->rows] = to;
    return to;
}

/* The first `count` elements of a matrix that was made for more. */
static enum rt_status shorten(struct kn_csr *a, int64_t count, struct rt_error *e)
{
    struct rt_array data = a->data, indices = a->indices, part[2]; /* the first two are borrowed */
    if (count == a->data.shape[0]) return RT_OK;
    data.shape[0] = indices.shape[0] = count;
    enum rt_status status = kn_convert(&data, data.dtype, rt_array_device(&data), &part[0], e);
    if (status != RT_OK) return status;
    status = kn_convert(&indices, RT_INT32, rt_array_device(&data), &part[1], e);
    if (status != RT_OK) {
        rt_array_release(&part[0]);
        return status;
    }
    rt_array_release(&a->data);
    rt_array_release(&a->indices);
    a->data = part[0];
    a->indices = part[1];
    return RT_OK;
}

/* By columns and then, in that order, by rows. */
enum rt_status kn_csr_sort(const struct kn_triples *t, struct rt_device *d, struct kn_csr *out, struct rt_error *e)
{
    size_t size = rt_dtypes[t->dtype].size, n = (size_t)t->count + 1;
    int64_t *starts = rt_alloc((size_t)(t->columns + 1) * sizeof *starts);
    int32_t *r = rt_alloc(n * sizeof *r), *c = rt_alloc(n * sizeof *c);
    void *values = rt_alloc(n * size);
    memset(out, 0, sizeof *out);
    enum rt_status status = RT_OK;
    if (!starts || !r || !c || !values)
        status = rt_fail(e, RT_NOMEM, "out of memory for sorting %" PRId64 " elements of a sparse matrix", t->count);
    if (status == RT_OK) status = kn_csr_new(d, t->dtype, t->rows, t->columns, t->count, out, e);
    if (status == RT_OK) {
        const struct keyed by_column = {t->count, t->columns, t->column, t->row, t->data, size};
        const struct keyed by_row = {t->count, t->rows, r, c, values, size};
        sort_by_key(&by_column, starts, r, values);
        spread(starts, t->columns, c);
        sort_by_key(&by_row, rt_array_host(&out->starts), rt_array_host(&out->indices), rt_array_host(&out->data));
        status = shorten(out, add_twins(out), e);
    }
    if (status != RT_OK) kn_csr_release(out);
    free(values);
    free(c);
    free(r);
    free(starts);
    return status;
}

enum rt_status kn_csr_transpose(const struct kn_csr *a, struct kn_csr *out, struct rt_error *e)
{
    struct kn_csr_host h;
    int64_t count = a->data.shape[0];
    int32_t *row = NULL;
    memset(out, 0, sizeof *out);
    enum rt_status status = kn_csr_read(a, a->data.dtype, &h, e);
    if (status != RT_OK) return status;
    row = rt_alloc((size_t)count * sizeof *row + 1);
    if (!row) status = rt_fail(e, RT_NOMEM, "out of memory: %" PRId64 " bytes for a transposed matrix", count * 4);
    if (status == RT_OK) status = kn_csr_new(kn_csr_device(a), h.dtype, h.columns, h.rows, count, out, e);
    if (status == RT_OK && row) {
        spread(h.starts, h.rows, row);
        const struct keyed by_column = {count, h.columns, h.indices, row, h.data, rt_dtypes[h.dtype].size};
        sort_by_key(&by_column, rt_array_host(&out->starts), rt_array_host(&out->indices), rt_array_host(&out->data));
        status = kn_csr_settle(out, kn_csr_device(a), e);
    }
    free(row);
    kn_csr_release(&h.held);
    return status;
}

/* ---- of two sparse matrices ---- */

struct pair {
    struct kn_csr_host a, b;
    double factor;    /* a + factor * b */
    char *scratch;    /* of products: for each worker a sum for each column, and the row that it was last used in */
    int64_t *starts;  /* of the result; each row's count until all are counted */
    int32_t *indices; /* of products: NULL while counting */
    void *data;
};

/* Sums are merged to where both rows together would end; move_rows then closes the gaps. */
#define ADD_ROWS(name, T)                                                                                              \
    static void name(void *context, size_t begin, size_t end, int worker)                                              \
    {                                                                                                                  \
        const struct pair *p = context;                                                                                \
        const struct kn_csr_host *a = &p->a, *b = &p->b;                                                               \
        const T *x = a->data, *y = b->data;                                                                            \
        T *out = p->data;                                                                                              \
        (void)worker;                                                                                                  \
        for (size_t r = begin; r < end && !rt_interrupted(); r++) {                                                    \
            int64_t i = a->starts[r], j = b->starts[r], first = i + j, to = first;                                     \
            int64_t stop = a->starts[r + 1], other_stop = b->starts[r + 1];                                            \
            while (i < stop && j < other_stop) {                                                                       \
                int32_t left = a->indices[i], right = b->indices[j];                                                   \
                T v = left <= right ? x[i] : 0, w = right <= left ? (T)p->factor * y[j] : 0;                           \
                p->indices[to] = left < right ? left : right;                                                          \
                out[to] = v += w;                                                                                      \
                to += v != 0;                                                                                          \
                i += left <= right;                                                                                    \
                j += right <= left;                                                                                    \
            }                                                                                                          \
            for (; i < stop; i++) {                                                                                    \
                p->indices[to] = a->indices[i];                                                                        \
                out[to] = x[i];                                                                                        \
                to += x[i] != 0;                                                                                       \
            }                                                                                                          \
            for (; j < other_stop; j++) {                                                                              \
                p->indices[to] = b->indices[j];                                                                        \
                out[to] = (T)p->factor * y[j];                                                                         \
                to += y[j] != 0;                                                                                       \
            }                                                                                                          \
            p->starts[r + 1] = to - first;                                                                             \
        }                                                                                                              \
    }
ADD_ROWS(add_rows_f32, float)
ADD_ROWS(add_rows_f64, double)

/* From the merged rows of a pair to the matrix. */
struct move {
    const struct pair *from;
    const int64_t *starts;
    int32_t *indices;
    char *data;
    size_t size;
};

static void move_rows(void *context, size_t begin, size_t end, int worker)
{
    const struct move *m = context;
    const struct pair *p = m->from;
    (void)worker;
    for (size_t r = begin; r < end; r++) {
        size_t n = (size_t)(m->starts[r + 1] - m->starts[r]), at = (size_t)(p->a.starts[r] + p->b.starts[r]);
        if (n == 0) continue;
        memcpy(m->indices + m->starts[r], p->indices + at, n * sizeof *m->indices);
        memcpy(m->data + (size_t)m->starts[r] * m->size, (const char *)p->data + at * m->size, n * m->size);
    }
}

/* The counts behind each row's place become starts, in the new matrix. */
static enum rt_status make_result(struct pair *p, struct rt_device *d, struct kn_csr *out, struct rt_error *e)
{
    int64_t rows = p->a.rows;
    for (int64_t r = 0; r < rows; r++) p->starts[r + 1] += p->starts[r];
    if (rt_interrupted()) return rt_fail(e, RT_INTERRUPTED, "interrupted");
    enum rt_status status = kn_csr_new(d, p->a.dtype, rows, p->b.columns, p->starts[rows], out, e);
    if (status == RT_OK) memcpy(rt_array_host(&out->starts), p->starts, (size_t)(rows + 1) * sizeof *p->starts);
    return status;
}

/* Sums are merged in a matrix of their own, which has room for all: memory of the pool, which was used before. */
static enum rt_status add(struct pair *p, int64_t most, struct rt_device *d, struct kn_csr *out, struct rt_error *e)
{
    struct kn_csr merged;
    size_t rows = (size_t)p->a.rows, grain = rows_of_piece(p->a.rows, most);
    enum rt_status status = kn_csr_new(d, p->a.dtype, p->a.rows, p->a.columns, most, &merged, e);
    if (status != RT_OK) return status;
    p->starts = rt_array_host(&merged.starts);
    p->indices = rt_array_host(&merged.indices);
    p->data = rt_array_host(&merged.data);
    p->starts[0] = 0;
    rt_parallel_for(rows, grain, p->a.dtype == RT_FLOAT32 ? add_rows_f32 : add_rows_f64, p);
    status = make_result(p, d, out, e);
    if (status == RT_OK) {
        struct move m = {p, p->starts, rt_array_host(&out->indices), rt_array_host(&out->data),
                         rt_dtypes[p->a.dtype].size};
        rt_parallel_for(rows, grain, move_rows, &m);
        status = kn_csr_settle(out, d, e);
    }
    kn_csr_release(&merged);
    return status;
}

static int by_column(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static void sort_columns(int32_t *columns, size_t n)
{
    if (kn_quick_available())
        kn_quick_sort_32((uint32_t *)columns, n); /* from 0, so the same order */
    else
        qsort(columns, n, sizeof *columns, by_column);
}

/* Once to count each row's columns, once to add up what lies in them. */
#define MULTIPLY_ROWS(name, T)                                                                                         \
    static void name(void *context, size_t begin, size_t end, int worker)                                              \
    {                                                                                                                  \
        const struct pair *p = context;                                                                                \
        const struct kn_csr_host *a = &p->a, *b = &p->b;                                                               \
        const T *x = a->data, *y = b->data;                                                                            \
        double *sum = (double *)(void *)(p->scratch + (int64_t)worker * b->columns * 16);                              \
        int64_t *used = (int64_t *)(void *)(sum + b->columns);                                                         \
        for (size_t r = begin; r < end && !rt_interrupted(); r++) {                                                    \
            int64_t first = p->indices ? p->starts[r] : 0, to = first;                                                 \
            int64_t mark = (int64_t)r * 2 + 1 + (p->indices != NULL); /* of this row in this pass */                   \
            for (int64_t i = a->starts[r]; i < a->starts[r + 1]; i++)                                                  \
                for (int64_t j = b->starts[a->indices[i]]; j < b->starts[a->indices[i] + 1]; j++) {                    \
                    int32_t column = b->indices[j];                                                                    \
                    if (used[column] != mark) {                                                                        \
                        used[column] = mark;                                                                           \
                        sum[column] = 0;                                                                               \
                        if (p->indices) p->indices[to] = column;                                                       \
                        to++;                                                                                          \
                    }                                                                                                  \
                    if (p->indices) sum[column] += (double)x[i] * (double)y[j];                                        \
                }                                                                                                      \
            if (!p->indices) {                                                                                         \
                p->starts[r + 1] = to;                                                                                 \
                continue;                                                                                              \
            }                                                                                                          \
            sort_columns(p->indices + first, (size_t)(to - first));                                                    \
            for (int64_t i = first; i < to; i++) ((T *)p->data)[i] = (T)sum[p->indices[i]];                            \
        }                                                                                                              \
    }
MULTIPLY_ROWS(multiply_rows_f32, float)
MULTIPLY_ROWS(multiply_rows_f64, double)

static enum rt_status multiply(struct pair *p, int64_t work, struct rt_device *d, struct kn_csr *out,
                               struct rt_error *e)
{
    int64_t rows = p->a.rows;
    size_t grain = rows_of_piece(rows, work), bytes = (size_t)rt_thread_count() * (size_t)p->b.columns * 16;
    void (*go)(void *, size_t, size_t, int) = p->a.dtype == RT_FLOAT32 ? multiply_rows_f32 : multiply_rows_f64;
    p->starts = rt_calloc((size_t)rows + 1, sizeof *p->starts);
    p->scratch = rt_calloc(bytes + 1, 1);
    enum rt_status status = RT_OK;
    if (!p->starts || !p->scratch)
        status = rt_fail(e, RT_NOMEM, "out of memory: %zu bytes for the product of sparse matrices", bytes);
    if (status == RT_OK) {
        rt_parallel_for((size_t)rows, grain, go, p);
        status = make_result(p, d, out, e);
    }
    if (status == RT_OK) {
        p->data = rt_array_host(&out->data);
        p->indices = rt_array_host(&out->indices);
        if (p->indices) rt_parallel_for((size_t)rows, grain, go, p);
        status = rt_interrupted() ? rt_fail(e, RT_INTERRUPTED, "interrupted") : kn_csr_settle(out, d, e);
    }
    free(p->scratch);
    free(p->starts);
    return status;
}

static enum rt_status read_pair(const struct kn_csr *a, const struct kn_csr *b, struct pair *p, struct rt_error *e)
{
    enum rt_dtype dtype = b->data.dtype == RT_FLOAT64 ? RT_FLOAT64 : a->data.dtype;
    memset(p, 0, sizeof *p);
    if (kn_csr_device(a) != kn_csr_device(b))
        return rt_fail(e, RT_INVALID, "the sparse matrices are on %s and %s; a:to(\"%s\") copies one",
                       kn_csr_device(a)->name, kn_csr_device(b)->name, kn_csr_device(b)->name);
    enum rt_status status = kn_csr_read(a, dtype, &p->a, e);
    if (status == RT_OK) status = kn_csr_read(b, dtype, &p->b, e);
    if (status != RT_OK) kn_csr_release(&p->a.held);
    return status;
}

static enum rt_status misfit(const struct kn_csr *a, const struct kn_csr *b, const char *what, struct rt_error *e)
{
    return rt_fail(e, RT_INVALID,
                   "sparse matrices of shape (%" PRId64 ", %" PRId64 ") and (%" PRId64 ", %" PRId64 ") cannot be %s",
                   a->rows, a->columns, b->rows, b->columns, what);
}

enum rt_status kn_csr_add(const struct kn_csr *a, const struct kn_csr *b, double factor, struct kn_csr *out,
                          struct rt_error *e)
{
    struct pair p;
    memset(out, 0, sizeof *out);
    if (a->rows != b->rows || a->columns != b->columns) return misfit(a, b, "added", e);
    enum rt_status status = read_pair(a, b, &p, e);
    if (status != RT_OK) return status;
    p.factor = factor;
    status = add(&p, a->data.shape[0] + b->data.shape[0], kn_csr_device(a), out, e);
    if (status != RT_OK) kn_csr_release(out);
    kn_csr_release(&p.a.held);
    kn_csr_release(&p.b.held);
    return status;
}

enum rt_status kn_csr_product(const struct kn_csr *a, const struct kn_csr *b, struct kn_csr *out, struct rt_error *e)
{
    struct pair p;
    memset(out, 0, sizeof *out);
    if (a->columns != b->rows) return misfit(a, b, "multiplied", e);
    enum rt_status status = read_pair(a, b, &p, e);
    if (status != RT_OK) return status;
    double each = b->rows > 0 ? (double)b->data.shape[0] / (double)b->rows : 0;
    int64_t work = (int64_t)((double)a->data.shape[0] * (each + 1));
    status = multiply(&p, work, kn_csr_device(a), out, e);
    if (status != RT_OK) kn_csr_release(out);
    kn_csr_release(&p.a.held);
    kn_csr_release(&p.b.held);
    return status;
}
