/* Sparse matrices: making them, converting them, and who multiplies. */
#include "kernels/sparse.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/nonzero.h"
#include "kernels/ops.h"
#include "kernels/order.h"
#include "kernels/program.h"
#include "runtime/interrupt.h"

void kn_csr_release(struct kn_csr *a)
{
    rt_array_release(&a->data);
    rt_array_release(&a->indices);
    rt_array_release(&a->starts);
    memset(a, 0, sizeof *a);
}

enum rt_status kn_csr_dtype(enum rt_dtype t, enum rt_dtype *out, struct rt_error *e)
{
    const struct rt_dtype_info *info = &rt_dtypes[t];
    if (!strchr("biuf", info->kind))
        return rt_fail(e, RT_INVALID, "a sparse matrix has real elements, not %s", info->name);
    *out = t == RT_FLOAT64 || (info->kind != 'f' && info->size == 8) ? RT_FLOAT64 : RT_FLOAT32;
    return RT_OK;
}

/* Host code reads and writes the memory where it is. */
static bool reachable(const struct rt_device *d)
{
    return d->kind == RT_CPU || (d->kind == RT_SIMT && !kn_runs_generated(d));
}

/* `a` contiguous in a dtype on a device, shared where it is. */
static enum rt_status bring(const struct rt_array *a, enum rt_dtype t, struct rt_device *d, struct rt_array *out,
                            struct rt_error *e)
{
    return a->dtype == t && rt_array_device(a) == d ? kn_contiguous(a, out, e) : kn_convert(a, t, d, out, e);
}

enum rt_status kn_csr_convert(const struct kn_csr *a, enum rt_dtype dtype, struct rt_device *d, struct kn_csr *out,
                              struct rt_error *e)
{
    *out = (struct kn_csr){.rows = a->rows, .columns = a->columns};
    enum rt_status status = bring(&a->data, dtype, d, &out->data, e);
    if (status == RT_OK) status = bring(&a->indices, RT_INT32, d, &out->indices, e);
    if (status == RT_OK) status = bring(&a->starts, RT_INT64, d, &out->starts, e);
    if (status != RT_OK) kn_csr_release(out);
    return status;
}

enum rt_status kn_csr_read(const struct kn_csr *a, enum rt_dtype dtype, struct kn_csr_host *h, struct rt_error *e)
{
    struct rt_device *d = kn_csr_device(a), *host = reachable(d) ? d : rt_device_open("cpu", e);
    memset(h, 0, sizeof *h);
    if (!host) return RT_MISSING;
    enum rt_status status = kn_csr_convert(a, dtype, host, &h->held, e);
    if (status != RT_OK) return status;
    h->rows = a->rows;
    h->columns = a->columns;
    h->dtype = dtype;
    h->starts = rt_array_host(&h->held.starts);
    h->indices = rt_array_host(&h->held.indices);
    h->data = rt_array_host(&h->held.data);
    return RT_OK;
}

enum rt_status kn_csr_new(struct rt_device *d, enum rt_dtype dtype, int64_t rows, int64_t columns, int64_t count,
                          struct kn_csr *out, struct rt_error *e)
{
    struct rt_device *host = reachable(d) ? d : rt_device_open("cpu", e);
    int64_t starts = rows + 1;
    *out = (struct kn_csr){.rows = rows, .columns = columns};
    if (!host) return RT_MISSING;
    enum rt_status status = rt_array_new(host, dtype, 1, &count, &out->data, e);
    if (status == RT_OK) status = rt_array_new(host, RT_INT32, 1, &count, &out->indices, e);
    if (status == RT_OK) status = rt_array_new(host, RT_INT64, 1, &starts, &out->starts, e);
    if (status != RT_OK) kn_csr_release(out);
    return status;
}

enum rt_status kn_csr_settle(struct kn_csr *a, struct rt_device *d, struct rt_error *e)
{
    struct kn_csr there;
    if (kn_csr_device(a) == d) return RT_OK;
    enum rt_status status = kn_csr_convert(a, a->data.dtype, d, &there, e);
    kn_csr_release(a);
    if (status == RT_OK) *a = there;
    return status;
}

/* ---- from parts ---- */

static enum rt_status check_size(int64_t rows, int64_t columns, struct rt_error *e)
{
    if (rows >= 0 && columns >= 0 && rows < INT32_MAX && columns < INT32_MAX) return RT_OK;
    return rt_fail(e, RT_INVALID,
                   "a sparse matrix has less than 2147483647 rows and columns, not %" PRId64 " x %" PRId64, rows,
                   columns);
}

static enum rt_status check_list(const struct rt_array *a, const char *name, bool integers, int64_t count,
                                 struct rt_error *e)
{
    char text[256];
    if (a->ndim != 1 || a->shape[0] != count)
        return rt_fail(e, RT_INVALID, "%s has the shape %s, expected (%" PRId64 ",)", name,
                       rt_shape_text(a->ndim, a->shape, text, sizeof text), count);
    if (integers && rt_dtypes[a->dtype].kind != 'i' && rt_dtypes[a->dtype].kind != 'u')
        return rt_fail(e, RT_INVALID, "%s has the dtype %s, expected integers", name, rt_dtypes[a->dtype].name);
    return RT_OK;
}

/* Numbers from `base` as int32 from 0, to be freed. RT_INVALID for one outside of [0, end). */
static enum rt_status read_places(const struct rt_array *a, const char *name, int64_t base, int64_t end,
                                  const char *what, int32_t **places, struct rt_error *e)
{
    struct rt_device *cpu = rt_device_open("cpu", e);
    struct rt_array list = {0};
    enum rt_status status = cpu ? kn_convert(a, RT_INT64, cpu, &list, e) : RT_MISSING;
    if (status != RT_OK) return status;
    const int64_t *from = rt_array_host(&list);
    int64_t n = a->shape[0], bad = -1;
    int32_t *out = *places = rt_alloc((size_t)n * sizeof *out + 1);
    if (!out) status = rt_fail(e, RT_NOMEM, "out of memory: %" PRId64 " bytes for a sparse matrix", n * 4);
    for (int64_t i = 0; out && i < n && bad < 0; i++) {
        const bool within = from[i] >= base && from[i] - base < end;
        if (!within) bad = i;
        out[i] = within ? (int32_t)(from[i] - base) : 0;
    }
    if (bad >= 0)
        status = rt_fail(e, RT_INVALID,
                         "%s[%" PRId64 "] is %" PRId64 ", and there are %" PRId64 " %s, counted from %" PRId64, name,
                         bad + base, from[bad], end, what, base);
    rt_array_release(&list);
    return status;
}

/* Starts from 0, checked against so many elements. */
static enum rt_status read_starts(const struct rt_array *a, int64_t base, int64_t count, int64_t *out,
                                  struct rt_error *e)
{
    struct rt_device *cpu = rt_device_open("cpu", e);
    struct rt_array list = {0};
    enum rt_status status = cpu ? kn_convert(a, RT_INT64, cpu, &list, e) : RT_MISSING;
    if (status != RT_OK) return status;
    int64_t n = a->shape[0], before = base;
    const int64_t *from = rt_array_host(&list);
    for (int64_t i = 0; i < n && status == RT_OK; i++) {
        if (from[i] < before || from[i] > count + base || (i == 0 && from[i] != base) ||
            (i == n - 1 && from[i] != count + base))
            status = rt_fail(e, RT_INVALID,
                             "indptr[%" PRId64 "] is %" PRId64 ": it starts with %" PRId64
                             ", never falls, and ends with %" PRId64,
                             i + base, from[i], base, count + base);
        before = from[i];
        out[i] = from[i] - base;
    }
    rt_array_release(&list);
    return status;
}

static bool is_ascending(const struct kn_csr *a)
{
    const int64_t *starts = rt_array_host(&a->starts);
    const int32_t *indices = rt_array_host(&a->indices);
    for (int64_t r = 0; r < a->rows; r++)
        for (int64_t i = starts[r] + 1; i < starts[r + 1]; i++)
            if (indices[i] <= indices[i - 1]) return false;
    return true;
}

/* Sorts the rows of a matrix that the host can reach. */
static enum rt_status sort_rows(struct kn_csr *a, struct rt_error *e)
{
    const int64_t *starts = rt_array_host(&a->starts);
    int64_t n = a->data.shape[0];
    int32_t *row = rt_alloc((size_t)n * sizeof *row + 1);
    struct kn_csr sorted;
    if (!row) return rt_fail(e, RT_NOMEM, "out of memory: %" PRId64 " bytes for a sparse matrix", n * 4);
    for (int64_t r = 0; r < a->rows; r++)
        for (int64_t i = starts[r]; i < starts[r + 1]; i++) row[i] = (int32_t)r;
    const struct kn_triples t = {.rows = a->rows,
                                 .columns = a->columns,
                                 .count = n,
                                 .dtype = a->data.dtype,
                                 .row = row,
                                 .column = rt_array_host(&a->indices),
                                 .data = rt_array_host(&a->data)};
    enum rt_status status = kn_csr_sort(&t, kn_csr_device(a), &sorted, e);
    free(row);
    if (status != RT_OK) return status;
    kn_csr_release(a);
    *a = sorted;
    return RT_OK;
}

enum rt_status kn_csr_make(const struct kn_csr_parts *p, struct kn_csr *out, struct rt_error *e)
{
    enum rt_dtype dtype = RT_FLOAT32;
    const struct rt_array *data = p->data;
    int64_t count = data->ndim == 1 ? data->shape[0] : 0;
    struct rt_device *d = rt_array_device(data);
    int32_t *places = NULL;
    memset(out, 0, sizeof *out);
    enum rt_status status = check_size(p->rows, p->columns, e);
    if (status == RT_OK) status = check_list(data, "data", false, count, e);
    if (status == RT_OK) status = check_list(p->indices, "indices", true, count, e);
    if (status == RT_OK) status = check_list(p->places, "indptr", true, p->rows + 1, e);
    if (status == RT_OK) status = kn_csr_dtype(data->dtype, &dtype, e);
    if (status == RT_OK) status = kn_csr_new(d, dtype, p->rows, p->columns, count, out, e);
    if (status == RT_OK) status = read_starts(p->places, p->base, count, rt_array_host(&out->starts), e);
    if (status == RT_OK) status = read_places(p->indices, "indices", p->base, p->columns, "columns", &places, e);
    if (status == RT_OK && count > 0) memcpy(rt_array_host(&out->indices), places, (size_t)count * sizeof *places);
    free(places);
    if (status == RT_OK) {
        struct rt_array here;
        status = kn_convert(data, dtype, kn_csr_device(out), &here, e);
        rt_array_release(&out->data);
        if (status == RT_OK) out->data = here;
    }
    if (status == RT_OK && !is_ascending(out)) status = sort_rows(out, e);
    if (status == RT_OK) status = kn_csr_settle(out, d, e);
    if (status != RT_OK) kn_csr_release(out);
    return status;
}

enum rt_status kn_csr_from_triples(const struct kn_csr_parts *p, struct kn_csr *out, struct rt_error *e)
{
    enum rt_dtype dtype = RT_FLOAT32;
    const struct rt_array *data = p->data;
    int64_t count = data->ndim == 1 ? data->shape[0] : 0;
    struct rt_array values = {0};
    int32_t *r = NULL, *c = NULL;
    struct rt_device *cpu = rt_device_open("cpu", e);
    memset(out, 0, sizeof *out);
    if (!cpu) return RT_MISSING;
    enum rt_status status = check_size(p->rows, p->columns, e);
    if (status == RT_OK) status = check_list(data, "data", false, count, e);
    if (status == RT_OK) status = check_list(p->places, "rows", true, count, e);
    if (status == RT_OK) status = check_list(p->indices, "columns", true, count, e);
    if (status == RT_OK) status = kn_csr_dtype(data->dtype, &dtype, e);
    if (status == RT_OK) status = bring(data, dtype, cpu, &values, e);
    if (status == RT_OK) status = read_places(p->places, "rows", p->base, p->rows, "rows", &r, e);
    if (status == RT_OK) status = read_places(p->indices, "columns", p->base, p->columns, "columns", &c, e);
    const void *elements = status == RT_OK ? rt_array_host(&values) : NULL;
    const struct kn_triples t = {p->rows, p->columns, count, dtype, r, c, elements};
    if (status == RT_OK) status = kn_csr_sort(&t, rt_array_device(data), out, e);
    if (status == RT_OK) status = kn_csr_settle(out, rt_array_device(data), e);
    if (status != RT_OK) kn_csr_release(out);
    free(r);
    free(c);
    rt_array_release(&values);
    return status;
}

/* ---- dense ---- */

/* Where rows start among row-major places in order, which count from 1. */
static enum rt_status find_starts(const struct rt_array *places, int64_t rows, int64_t columns, struct rt_array *out,
                                  struct rt_error *e)
{
    struct rt_array edges = {0};
    int64_t n = rows + 1;
    struct kn_operand first = {.i = 1}, step = {.i = columns}, args[2] = {{.array = out}, {.i = 1}};
    enum rt_status status = rt_array_new(rt_array_device(places), RT_INT64, 1, &n, &edges, e);
    if (status == RT_OK) status = kn_sequence(&edges, &first, &step, e);
    if (status == RT_OK) status = kn_search(places, &edges, false, out, e);
    if (status == RT_OK) status = kn_apply(KN_SUB, args, out, e);
    rt_array_release(&edges);
    return status;
}

/* Places become columns from 0: (place - 1) modulo the columns. */
static enum rt_status find_columns(struct rt_array *places, int64_t columns, struct rt_array *out, struct rt_error *e)
{
    struct kn_operand less[2] = {{.array = places}, {.i = 1}}, rest[2] = {{.array = places}, {.i = columns}};
    enum rt_status status = kn_apply(KN_SUB, less, places, e);
    if (status == RT_OK && columns > 0) status = kn_apply(KN_MOD, rest, places, e);
    return status == RT_OK ? kn_convert(places, RT_INT32, rt_array_device(places), out, e) : status;
}

enum rt_status kn_csr_from_dense(const struct rt_array *x, struct kn_csr *out, struct rt_error *e)
{
    char text[256];
    enum rt_dtype dtype = RT_FLOAT32;
    struct rt_array whole = {0}, mask = {0}, places = {0}, line;
    struct kn_mask count = {0};
    struct rt_device *d = rt_array_device(x);
    memset(out, 0, sizeof *out);
    if (x->ndim != 2)
        return rt_fail(e, RT_INVALID, "a sparse matrix is made of two axes, not of the shape %s",
                       rt_shape_text(x->ndim, x->shape, text, sizeof text));
    enum rt_status status = check_size(x->shape[0], x->shape[1], e);
    if (status == RT_OK) status = kn_csr_dtype(x->dtype, &dtype, e);
    if (status == RT_OK) status = bring(x, dtype, d, &whole, e);
    if (status == RT_OK) status = kn_apply(KN_NE, (struct kn_operand[]){{.array = &whole}, {.i = 0}}, &mask, e);
    if (status == RT_OK) status = kn_mask_count(&mask, &count, e);
    if (status == RT_OK) status = rt_array_new(d, RT_INT64, 1, &count.count, &places, e);
    if (status == RT_OK) status = kn_mask_places(&count, &places, e);
    if (status == RT_OK) status = rt_array_new(d, dtype, 1, &count.count, &out->data, e);
    if (status == RT_OK) {
        line = whole; /* borrowed */
        line.ndim = 1;
        line.shape[0] = count.places;
        line.strides[0] = 1;
        status = kn_mask_read(&count, &line, &out->data, e);
    }
    out->rows = x->shape[0];
    out->columns = x->shape[1];
    if (status == RT_OK) status = find_starts(&places, out->rows, out->columns, &out->starts, e);
    if (status == RT_OK) status = find_columns(&places, out->columns, &out->indices, e);
    kn_mask_release(&count);
    rt_array_release(&places);
    rt_array_release(&mask);
    rt_array_release(&whole);
    if (status != RT_OK) kn_csr_release(out);
    return status;
}

enum rt_status kn_csr_to_dense(const struct kn_csr *a, struct rt_array *out, struct rt_error *e)
{
    int64_t shape[2] = {a->rows, a->columns};
    memset(out, 0, sizeof *out);
    enum rt_status status = rt_array_alive(&a->data, e);
    if (status == RT_OK) status = rt_array_new(kn_csr_device(a), a->data.dtype, 2, shape, out, e);
    if (status == RT_OK) status = kn_fill(out, &(struct kn_operand){.i = 0}, e);
    if (status == RT_OK && a->data.shape[0] > 0) {
        if (kn_runs_generated(kn_csr_device(a)))
            status = kn_csr_scatter_cuda(a, out, e);
        else
            kn_csr_scatter_host(a, out);
    }
    if (status != RT_OK) rt_array_release(out);
    return status;
}

enum rt_status kn_csr_rows(const struct kn_csr *a, int64_t base, struct rt_array *out, struct rt_error *e)
{
    struct rt_array order = {0};
    struct kn_operand zero = {.i = 0}, one = {.i = 1}, args[2] = {{.array = out}, {.i = 2 - base}};
    memset(out, 0, sizeof *out);
    enum rt_status status = rt_array_new(kn_csr_device(a), RT_INT64, 1, a->data.shape, &order, e);
    if (status == RT_OK) status = kn_sequence(&order, &zero, &one, e);
    if (status == RT_OK) status = kn_search(&a->starts, &order, true, out, e);
    if (status == RT_OK) status = kn_apply(KN_SUB, args, out, e);
    if (status != RT_OK) rt_array_release(out);
    rt_array_release(&order);
    return status;
}

/* ---- products ---- */

enum rt_status kn_csr_matmul(const struct kn_csr *a, const struct rt_array *x, struct rt_array *out, struct rt_error *e)
{
    char text[256];
    struct rt_device *d = kn_csr_device(a);
    enum rt_dtype dtype = RT_FLOAT32;
    struct kn_csr m = {0};
    struct rt_array y = {0};
    int64_t shape[2] = {a->rows, x->ndim == 2 ? x->shape[1] : 1};
    memset(out, 0, sizeof *out);
    enum rt_status status = kn_check_devices((const struct rt_array *const[]){&a->data, x}, 2, e);
    if (status != RT_OK) return status;
    if (x->ndim < 1 || x->ndim > 2 || x->shape[0] != a->columns)
        return rt_fail(e, RT_INVALID,
                       "matmul: a sparse matrix of shape (%" PRId64 ", %" PRId64
                       ") takes a vector or matrix of %" PRId64 " rows, not the shape %s",
                       a->rows, a->columns, a->columns, rt_shape_text(x->ndim, x->shape, text, sizeof text));
    status = kn_csr_dtype(kn_promote(a->data.dtype, x->dtype), &dtype, e);
    if (status == RT_OK) status = kn_csr_convert(a, dtype, d, &m, e);
    if (status == RT_OK) status = bring(x, dtype, d, &y, e);
    if (status == RT_OK) status = rt_array_new(d, dtype, x->ndim, shape, out, e);
    if (status == RT_OK && rt_array_size(out) > 0) {
        if (kn_runs_generated(d))
            status = kn_csr_matmul_cuda(&m, &y, shape[1], out, e);
        else
            kn_csr_matmul_host(&m, &y, shape[1], out);
        if (status == RT_OK) status = rt_stopped(e);
    }
    if (status != RT_OK) rt_array_release(out);
    rt_array_release(&y);
    kn_csr_release(&m);
    return status;
}
