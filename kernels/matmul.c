/* Matrix products: shapes and types here; matmul_host.c, matmul_cublas.c and matmul_cuda.c multiply. */
#include "kernels/matmul.h"
#include <string.h>

static enum rt_status shapes_differ(const struct rt_array *a, const struct rt_array *b, const char *why,
                                    struct rt_error *e)
{
    char x[256], y[256];
    return rt_fail(e, RT_INVALID, "matmul: the shapes %s and %s do not fit, %s",
                   rt_shape_text(a->ndim, a->shape, x, sizeof x), rt_shape_text(b->ndim, b->shape, y, sizeof y), why);
}

/* The batch axes of an operand: those before its last two. */
static struct rt_array batch_of(const struct rt_array *a)
{
    struct rt_array out = *a;
    out.ndim = a->ndim > 2 ? a->ndim - 2 : 0;
    return out;
}

/* The sizes, with a vector on the left as one row and one on the right as one column, and the result's shape. */
static enum rt_status choose_shape(const struct rt_array *a, const struct rt_array *b, struct kn_product *p,
                                   struct rt_array *result, struct rt_error *e)
{
    if (a->ndim == 0 || b->ndim == 0)
        return rt_fail(e, RT_INVALID, "matmul: the %s array has no axes; x * y multiplies by a number",
                       a->ndim == 0 ? "first" : "second");
    struct rt_array x = batch_of(a), y = batch_of(b);
    p->rows = a->ndim > 1 ? a->shape[a->ndim - 2] : 1;
    p->inner = a->shape[a->ndim - 1];
    p->columns = b->ndim > 1 ? b->shape[b->ndim - 1] : 1;
    if (b->shape[b->ndim > 1 ? b->ndim - 2 : 0] != p->inner)
        return shapes_differ(a, b, "the columns of the first must be the rows of the second", e);
    if (rt_broadcast_shape((const struct rt_array *[]){&x, &y}, 2, &result->ndim, result->shape, NULL) != RT_OK)
        return shapes_differ(a, b, "the axes before the last two must be equal or of one element", e);
    if (a->ndim > 1) result->shape[result->ndim++] = p->rows;
    if (b->ndim > 1) result->shape[result->ndim++] = p->columns;
    return RT_OK;
}

/* Element (row, column) of an operand's matrices is at row * stride[0] + column * stride[1]. */
static void choose_strides(const struct rt_array *a, bool left, int64_t stride[2])
{
    int64_t last = a->strides[a->ndim - 1];
    stride[0] = a->ndim > 1 ? a->strides[a->ndim - 2] : left ? 0 : last;
    stride[1] = a->ndim > 1 || left ? last : 0;
}

static int64_t batch_stride(const struct rt_array *a, int axis, int ndim)
{
    int own = axis - ndim + (a->ndim > 2 ? a->ndim - 2 : 0);
    return own < 0 || a->shape[own] == 1 ? 0 : a->strides[own];
}

static void choose_batches(const struct rt_array *a, const struct rt_array *b, const struct rt_array *result,
                           struct kn_product *p)
{
    int ndim = result->ndim - (a->ndim > 1) - (b->ndim > 1), n = 0;
    p->batches = 1;
    for (int axis = 0; axis < ndim; axis++) {
        int64_t size = result->shape[axis], sa = batch_stride(a, axis, ndim), sb = batch_stride(b, axis, ndim);
        p->batches *= size;
        if (size == 1) continue;
        if (n > 0 && p->a_batch[n - 1] == size * sa && p->b_batch[n - 1] == size * sb)
            p->batch_shape[--n] *= size;
        else
            p->batch_shape[n] = size;
        p->a_batch[n] = sa;
        p->b_batch[n++] = sb;
    }
    p->batch_ndim = n;
}

/* Matrices that one matrix multiplies from the right and whose rows follow each other are one tall matrix. */
static void join_rows(struct kn_product *p)
{
    if (p->batch_ndim != 1 || p->b_batch[0] != 0 || (p->rows > 1 && p->a_batch[0] != p->rows * p->a_stride[0])) return;
    if (p->rows == 1) p->a_stride[0] = p->a_batch[0];
    p->rows *= p->batches;
    p->batches = 1;
    p->batch_ndim = 0;
}

static enum rt_status multiply(struct kn_product *p, const struct rt_array *a, const struct rt_array *b,
                               const struct rt_array *out, struct rt_error *e)
{
    if (rt_array_size(out) == 0) return RT_OK;
    choose_batches(a, b, out, p);
    join_rows(p);
    if (p->inner == 0) return kn_fill(out, &(struct kn_operand){0}, e);
    if (kn_matmul_cublas(p, a, b, out)) return RT_OK;
    if (kn_runs_generated(rt_array_device(out))) return kn_matmul_cuda(p, a, b, out, e);
    p->a = rt_array_host(a);
    p->b = rt_array_host(b);
    p->c = rt_array_host(out);
    return kn_matmul_host(p, e);
}

/* `a` itself, shared, where it has the dtype, else a copy. */
static enum rt_status of_dtype(const struct rt_array *a, enum rt_dtype dtype, struct rt_array *out, struct rt_error *e)
{
    if (a->dtype != dtype) return kn_convert(a, dtype, rt_array_device(a), out, e);
    rt_array_share(a, out);
    return RT_OK;
}

/* The operand where BLAS takes it as it lies, or on a GPU, else a copy in its place. */
static enum rt_status lay_out(const struct kn_product *p, bool left, struct rt_array *a, struct rt_error *e)
{
    struct rt_array copy = {0};
    if (kn_runs_generated(rt_array_device(a)) || !kn_matmul_wants_copy(p, left)) return RT_OK;
    enum rt_status status = kn_contiguous(a, &copy, e);
    if (status != RT_OK) return status;
    rt_array_release(a);
    *a = copy;
    return RT_OK;
}

/* On the host the floats of 16 bits are multiplied and summed up in float32, which then is rounded once. */
static enum rt_dtype compute_dtype(const struct rt_array *a, enum rt_dtype t)
{
    bool half = t == RT_FLOAT16 || t == RT_BFLOAT16;
    return half && !kn_runs_generated(rt_array_device(a)) ? RT_FLOAT32 : t;
}

/* Rounds *out to another dtype, in its place; releases it on failure. */
static enum rt_status round_to(enum rt_dtype t, struct rt_array *out, struct rt_error *e)
{
    struct rt_array rounded = {0};
    if (out->dtype == t) return RT_OK;
    enum rt_status status = kn_convert(out, t, rt_array_device(out), &rounded, e);
    rt_array_release(out);
    *out = rounded;
    return status;
}

/* Dense float32 or float64 of the host, both of one dtype, which take no preparation: what is left of a product of
 * small vectors is mostly that. */
static bool are_ready(const struct rt_array *a, const struct rt_array *b)
{
    return a->dtype == b->dtype && (a->dtype == RT_FLOAT32 || a->dtype == RT_FLOAT64) &&
           !kn_runs_generated(rt_array_device(a)) && rt_array_contiguous(a) && rt_array_contiguous(b);
}

static enum rt_status multiply_ready(struct kn_product *p, const struct rt_array *a, const struct rt_array *b,
                                     const struct rt_array *form, struct rt_array *out, struct rt_error *e)
{
    p->dtype = a->dtype;
    enum rt_status status = rt_array_new(rt_array_device(a), p->dtype, form->ndim, form->shape, out, e);
    if (status != RT_OK) return status;
    choose_strides(a, true, p->a_stride);
    choose_strides(b, false, p->b_stride);
    status = multiply(p, a, b, out, e);
    if (status != RT_OK) rt_array_release(out);
    return status;
}

static enum rt_status multiply_prepared(struct kn_product *p, const struct rt_array *a, const struct rt_array *b,
                                        const struct rt_array *form, struct rt_array *out, struct rt_error *e)
{
    struct kn_operand operands[2] = {{.array = a}, {.array = b}};
    struct rt_array x = {0}, y = {0};
    enum rt_dtype dtype = RT_FLOAT32;
    enum rt_status status = kn_result_dtype(KN_MUL, operands, &dtype, e);
    p->dtype = compute_dtype(a, dtype);
    if (status == RT_OK) status = of_dtype(a, p->dtype, &x, e);
    if (status == RT_OK) status = of_dtype(b, p->dtype, &y, e);
    if (status == RT_OK) {
        choose_strides(&x, true, p->a_stride);
        choose_strides(&y, false, p->b_stride);
        status = lay_out(p, true, &x, e);
    }
    if (status == RT_OK) status = lay_out(p, false, &y, e);
    if (status == RT_OK) status = rt_array_new(rt_array_device(a), p->dtype, form->ndim, form->shape, out, e);
    if (status == RT_OK) {
        choose_strides(&x, true, p->a_stride);
        choose_strides(&y, false, p->b_stride);
        status = multiply(p, &x, &y, out, e);
        if (status == RT_OK)
            status = round_to(dtype, out, e);
        else
            rt_array_release(out);
    }
    rt_array_release(&x);
    rt_array_release(&y);
    return status;
}

enum rt_status kn_matmul(const struct rt_array *a, const struct rt_array *b, struct rt_array *out, struct rt_error *e)
{
    struct kn_product p = {.batches = 1};
    struct rt_array form = {0};
    memset(out, 0, sizeof *out);
    enum rt_status status = kn_check_devices((const struct rt_array *const[]){a, b}, 2, e);
    if (status == RT_OK) status = choose_shape(a, b, &p, &form, e);
    if (status != RT_OK) return status;
    return (are_ready(a, b) ? multiply_ready : multiply_prepared)(&p, a, b, &form, out, e);
}

enum rt_status kn_vdot(const struct rt_array *a, const struct rt_array *b, struct rt_array *out, struct rt_error *e)
{
    struct rt_array conjugates = {0};
    memset(out, 0, sizeof *out);
    enum rt_status status = kn_check_devices((const struct rt_array *const[]){a, b}, 2, e);
    if (status != RT_OK) return status;
    if (!rt_is_complex(a->dtype)) return kn_matmul(a, b, out, e);
    if (a->dtype == b->dtype && !kn_runs_generated(rt_array_device(a)) && rt_array_contiguous(a) &&
        rt_array_contiguous(b)) {
        struct kn_product p = {.dtype = a->dtype, .rows = 1, .inner = a->shape[0], .columns = 1, .batches = 1};
        p.a_stride[1] = p.b_stride[0] = 1;
        status = rt_array_new(rt_array_device(a), a->dtype, 0, NULL, out, e);
        if (status != RT_OK) return status;
        p.a = rt_array_host(a);
        p.b = rt_array_host(b);
        p.c = rt_array_host(out);
        status = kn_vdot_host(&p, e);
        if (status != RT_OK) rt_array_release(out);
        return status;
    }
    status = kn_apply(KN_CONJ, &(struct kn_operand){.array = a}, &conjugates, e);
    if (status == RT_OK) status = kn_matmul(&conjugates, b, out, e);
    rt_array_release(&conjugates);
    return status;
}
