#include "runtime/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *rt_shape_text(int ndim, const int64_t *shape, char *buffer, size_t size)
{
    if (size == 0) return buffer;
    size_t used = (size_t)snprintf(buffer, size, "(");
    for (int i = 0; i < ndim && used < size; i++)
        used += (size_t)snprintf(buffer + used, size - used, i ? ", %lld" : "%lld", (long long)shape[i]);
    if (used < size) snprintf(buffer + used, size - used, ndim == 1 ? ",)" : ")");
    return buffer;
}

/* Elements of a shape; false with a message when it has a negative size or too many bytes. */
static bool count_elements(int ndim, const int64_t *shape, size_t element, int64_t *out, struct rt_error *e)
{
    char text[160];
    if (ndim < 0 || ndim > RT_MAX_DIMS) {
        rt_fail(e, RT_INVALID, "an array has at most %d axes, not %d", RT_MAX_DIMS, ndim);
        return false;
    }
    int64_t n = 1;
    bool empty = false, overflow = false;
    for (int i = 0; i < ndim; i++) {
        if (shape[i] < 0) {
            rt_fail(e, RT_INVALID, "axis %d of the shape %s is negative", i + 1,
                    rt_shape_text(ndim, shape, text, sizeof text));
            return false;
        }
        empty |= shape[i] == 0;
        if (shape[i] > 0) overflow |= __builtin_mul_overflow(n, shape[i], &n);
    }
    int64_t bytes;
    overflow |= __builtin_mul_overflow(n, (int64_t)element, &bytes);
    if (overflow) { /* also beside an axis of 0, which would only be found out after the others are multiplied */
        rt_fail(e, RT_INVALID, "the shape %s has more elements than any memory",
                rt_shape_text(ndim, shape, text, sizeof text));
        return false;
    }
    *out = empty ? 0 : n;
    return true;
}

/* Row-major; sizes of 0 count as 1. */
static void set_strides(struct rt_array *a)
{
    int64_t stride = 1;
    for (int i = a->ndim - 1; i >= 0; i--) {
        a->strides[i] = stride;
        if (a->shape[i] > 0) stride *= a->shape[i];
    }
}

void rt_array_over(struct rt_storage *s, enum rt_dtype t, int ndim, const int64_t *shape, struct rt_array *out)
{
    out->storage = s;
    out->dtype = t;
    out->ndim = ndim;
    out->offset = 0;
    for (int i = 0; i < ndim; i++) out->shape[i] = shape[i];
    set_strides(out);
}

enum rt_status rt_array_new(struct rt_device *d, enum rt_dtype t, int ndim, const int64_t *shape, struct rt_array *out,
                            struct rt_error *e)
{
    struct rt_error local = {0};
    struct rt_storage *s;
    int64_t n;
    if (!count_elements(ndim, shape, rt_dtypes[t].size, &n, e)) {
        memset(out, 0, sizeof *out);
        return RT_INVALID;
    }
    s = rt_storage_new(d, (size_t)n * rt_dtypes[t].size, e ? e : &local);
    if (!s) {
        enum rt_status status = e ? e->status : local.status;
        rt_error_clear(&local);
        memset(out, 0, sizeof *out);
        return status;
    }
    rt_array_over(s, t, ndim, shape, out);
    return RT_OK;
}

void rt_array_release(struct rt_array *a)
{
    rt_storage_release(a->storage);
    a->storage = NULL;
    a->dtype = 0;
    a->ndim = 0;
    a->offset = 0;
}

/* Its axes, and no more of them than it has: there is room for many. */
static void set_array(struct rt_array *out, const struct rt_array *a)
{
    const size_t axes = (size_t)a->ndim * sizeof a->shape[0];
    out->storage = a->storage;
    out->dtype = a->dtype;
    out->ndim = a->ndim;
    out->offset = a->offset;
    memcpy(out->shape, a->shape, axes);
    memcpy(out->strides, a->strides, axes);
}

void rt_array_share(const struct rt_array *a, struct rt_array *out)
{
    rt_storage_retain(a->storage);
    if (out != a) set_array(out, a);
}

int64_t rt_array_size(const struct rt_array *a)
{
    int64_t n = 1;
    for (int i = 0; i < a->ndim; i++) n *= a->shape[i];
    return n;
}

bool rt_array_contiguous(const struct rt_array *a)
{
    int64_t stride = 1;
    for (int i = 0; i < a->ndim; i++) {
        if (a->shape[i] == 0) return true;
    }
    for (int i = a->ndim - 1; i >= 0; i--) {
        if (a->shape[i] != 1 && a->strides[i] != stride) return false;
        stride *= a->shape[i];
    }
    return true;
}

bool rt_array_same_shape(const struct rt_array *a, const struct rt_array *b)
{
    return a->ndim == b->ndim && memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof a->shape[0]) == 0;
}

/* The first byte and the one after the last that the array may touch, from the storage's start. */
static void byte_range(const struct rt_array *a, int64_t *low, int64_t *high)
{
    int64_t first = a->offset, last = a->offset;
    for (int i = 0; i < a->ndim; i++) {
        int64_t reach = (a->shape[i] - 1) * a->strides[i];
        if (reach > 0) {
            last += reach;
        } else {
            first += reach;
        }
    }
    *low = first * rt_dtypes[a->dtype].size;
    *high = (last + 1) * rt_dtypes[a->dtype].size;
}

bool rt_array_overlap(const struct rt_array *a, const struct rt_array *b)
{
    if (a->storage != b->storage || rt_array_size(a) == 0 || rt_array_size(b) == 0) return false;
    int64_t a_low, a_high, b_low, b_high;
    byte_range(a, &a_low, &a_high);
    byte_range(b, &b_low, &b_high);
    return a_low < b_high && b_low < a_high;
}

uint64_t rt_array_address(const struct rt_array *a)
{
    return a->storage->address + (uint64_t)(a->offset * rt_dtypes[a->dtype].size);
}

void *rt_array_host(const struct rt_array *a)
{
    if (rt_array_size(a) == 0) return NULL;
    int64_t low = 0, high = (int64_t)a->storage->bytes;
    if (a->storage->device->kind == RT_SIMT && !a->storage->foreign) byte_range(a, &low, &high);
    char *base = rt_storage_host(a->storage, (size_t)low, (size_t)(high - low));
    return base ? base + a->offset * rt_dtypes[a->dtype].size : NULL;
}

/* ---- Views: built in a local first, since out may be the array itself ---- */

static enum rt_status finish_view(struct rt_array *view, struct rt_array *out)
{
    rt_storage_retain(view->storage);
    set_array(out, view);
    return RT_OK;
}

static enum rt_status check_axis(const struct rt_array *a, int axis, struct rt_error *e)
{
    if (axis >= 0 && axis < a->ndim) return RT_OK;
    if (a->ndim == 0) return rt_fail(e, RT_INVALID, "a scalar array has no axes (axis %d was asked for)", axis + 1);
    return rt_fail(e, RT_INVALID, "axis %d is out of range: the array has %d ax%s", axis + 1, a->ndim,
                   a->ndim == 1 ? "is" : "es");
}

enum rt_status rt_array_select(const struct rt_array *a, int axis, int64_t index, struct rt_array *out,
                               struct rt_error *e)
{
    enum rt_status status = check_axis(a, axis, e);
    if (status != RT_OK) return status;
    if (index < 0 || index >= a->shape[axis])
        return rt_fail(e, RT_INVALID, "index %lld is out of range for axis %d, which has %lld element%s",
                       (long long)index + 1, axis + 1, (long long)a->shape[axis], a->shape[axis] == 1 ? "" : "s");
    struct rt_array view = *a;
    view.offset += index * a->strides[axis];
    view.ndim--;
    for (int i = axis; i < view.ndim; i++) {
        view.shape[i] = a->shape[i + 1];
        view.strides[i] = a->strides[i + 1];
    }
    return finish_view(&view, out);
}

enum rt_status rt_array_slice(const struct rt_array *a, int axis, int64_t start, int64_t count, int64_t step,
                              struct rt_array *out, struct rt_error *e)
{
    enum rt_status status = check_axis(a, axis, e);
    if (status != RT_OK) return status;
    int64_t n = a->shape[axis], reach = 0, last = start;
    if (step == 0) return rt_fail(e, RT_INVALID, "the step of a range must not be 0");
    if (count < 0) return rt_fail(e, RT_INVALID, "a range of %lld elements makes no sense", (long long)count);
    bool overflow =
        count > 0 && (__builtin_mul_overflow(count - 1, step, &reach) || __builtin_add_overflow(start, reach, &last));
    if (overflow || (count > 0 && (start < 0 || start >= n || last < 0 || last >= n)))
        return rt_fail(e, RT_INVALID, "the range from %lld to %lld leaves axis %d, which has %lld element%s",
                       (long long)start + 1, overflow ? (long long)INT64_MAX : (long long)last + 1, axis + 1,
                       (long long)n, n == 1 ? "" : "s");
    struct rt_array view = *a;
    view.shape[axis] = count;
    if (count > 0) view.offset += start * a->strides[axis];
    if (count > 1) view.strides[axis] = a->strides[axis] * step; /* cannot overflow: all elements lie in the storage */
    return finish_view(&view, out);
}

/* Fills in a size of -1 and compares the number of elements. */
static enum rt_status resolve_shape(const struct rt_array *a, int ndim, const int64_t *shape, int64_t *resolved,
                                    struct rt_error *e)
{
    char from[160], to[160];
    int unknown = -1;
    if (ndim < 0 || ndim > RT_MAX_DIMS)
        return rt_fail(e, RT_INVALID, "an array has at most %d axes, not %d", RT_MAX_DIMS, ndim);
    for (int i = 0; i < ndim; i++) {
        resolved[i] = shape[i];
        if (shape[i] != -1) continue;
        if (unknown >= 0)
            return rt_fail(e, RT_INVALID, "only one size of the shape %s may be -1",
                           rt_shape_text(ndim, shape, to, sizeof to));
        unknown = i;
        resolved[i] = 1;
    }
    int64_t wanted, have = rt_array_size(a);
    if (!count_elements(ndim, resolved, 1, &wanted, e)) return RT_INVALID;
    if (unknown >= 0 && wanted > 0 && have % wanted == 0) {
        resolved[unknown] = have / wanted;
        return RT_OK;
    }
    if (unknown < 0 && wanted == have) return RT_OK;
    return rt_fail(e, RT_INVALID, "an array of shape %s has %lld elements and cannot take the shape %s",
                   rt_shape_text(a->ndim, a->shape, from, sizeof from), (long long)have,
                   rt_shape_text(ndim, shape, to, sizeof to));
}

/* Strides that give the same elements in the same order under a new shape: groups of axes, old and new, with equal
 * products are matched; the old axes of a group must follow each other in memory. */
static bool regroup_strides(const struct rt_array *a, struct rt_array *view)
{
    int64_t shape[RT_MAX_DIMS], strides[RT_MAX_DIMS];
    int old_ndim = 0;
    for (int i = 0; i < a->ndim; i++) { /* axes of one element do not matter */
        if (a->shape[i] == 1) continue;
        shape[old_ndim] = a->shape[i];
        strides[old_ndim++] = a->strides[i];
    }
    int o = 0, n = 0;
    while (o < old_ndim && n < view->ndim) {
        int64_t old_size = shape[o], new_size = view->shape[n];
        int o_end = o + 1, n_end = n + 1;
        while (old_size != new_size) {
            if (old_size < new_size) {
                if (o_end == old_ndim) return false;
                old_size *= shape[o_end++];
            } else {
                if (n_end == view->ndim) return false;
                new_size *= view->shape[n_end++];
            }
        }
        for (int i = o; i + 1 < o_end; i++) {
            if (strides[i] != shape[i + 1] * strides[i + 1]) return false;
        }
        int64_t stride = strides[o_end - 1];
        for (int i = n_end - 1; i >= n; i--) {
            view->strides[i] = stride;
            stride *= view->shape[i];
        }
        o = o_end;
        n = n_end;
    }
    for (; n < view->ndim; n++) view->strides[n] = 1; /* the rest are axes of one element */
    return true;
}

enum rt_status rt_array_reshape(const struct rt_array *a, int ndim, const int64_t *shape, struct rt_array *out,
                                struct rt_error *e)
{
    struct rt_array view; /* whose axes, of which there is room for many, need no zeros */
    view.storage = a->storage;
    view.dtype = a->dtype;
    view.ndim = ndim;
    view.offset = a->offset;
    enum rt_status status = resolve_shape(a, ndim, shape, view.shape, e);
    if (status != RT_OK) return status;
    if (rt_array_contiguous(a)) {
        set_strides(&view);
    } else if (!regroup_strides(a, &view)) {
        char from[160], to[160];
        return rt_fail(
            e, RT_UNSUPPORTED, "a strided view of shape %s takes the shape %s only as a copy, which reshape makes",
            rt_shape_text(a->ndim, a->shape, from, sizeof from), rt_shape_text(view.ndim, view.shape, to, sizeof to));
    }
    return finish_view(&view, out);
}

enum rt_status rt_array_permute(const struct rt_array *a, const int *axes, struct rt_array *out, struct rt_error *e)
{
    struct rt_array view = *a;
    unsigned seen = 0;
    for (int i = 0; i < a->ndim; i++) {
        enum rt_status status = check_axis(a, axes[i], e);
        if (status != RT_OK) return status;
        if (seen & 1u << axes[i]) return rt_fail(e, RT_INVALID, "axis %d is named twice", axes[i] + 1);
        seen |= 1u << axes[i];
        view.shape[i] = a->shape[axes[i]];
        view.strides[i] = a->strides[axes[i]];
    }
    return finish_view(&view, out);
}

void rt_array_part(const struct rt_array *a, bool imaginary, struct rt_array *out)
{
    rt_array_share(a, out);
    if (!rt_is_complex(a->dtype)) return;
    out->dtype = rt_real_of(a->dtype);
    out->offset = 2 * a->offset + imaginary;
    for (int i = 0; i < a->ndim; i++) out->strides[i] = 2 * a->strides[i];
}

/* Turns a number of elements of `from` bytes into one of elements of `to` bytes; false when it does not come out whole.
 */
static bool rescale(int64_t *number, int64_t from, int64_t to)
{
    const int64_t bytes = *number * from;
    *number = bytes / to;
    return bytes % to == 0;
}

/* Gives the last axis of a view the length that it has in elements of another size. */
static bool rescale_view(struct rt_array *view, int64_t from, int64_t to)
{
    const int last = view->ndim - 1;
    if (last < 0) return false;
    if (rt_array_size(view) == 0) {
        view->offset = 0;
        set_strides(view);
        return rescale(&view->shape[last], from, to);
    }
    if (view->shape[last] > 1 && view->strides[last] != 1) return false;
    if (!rescale(&view->offset, from, to) || !rescale(&view->shape[last], from, to)) return false;
    for (int i = 0; i < last; i++)
        if (!rescale(&view->strides[i], from, to) && view->shape[i] > 1) return false;
    view->strides[last] = 1;
    return true;
}

enum rt_status rt_array_view_as(const struct rt_array *a, enum rt_dtype t, struct rt_array *out, struct rt_error *e)
{
    const char *name = rt_dtypes[t].name, *own = rt_dtypes[a->dtype].name;
    const int64_t from = rt_dtypes[a->dtype].size, size = rt_dtypes[t].size;
    struct rt_array view = *a;
    if ((a->dtype == RT_BOOL) != (t == RT_BOOL))
        return rt_fail(e, RT_INVALID, "the bytes of bool are 0 and 1 alone, so that %s is no view of %s", name, own);
    view.dtype = t;
    if (from != size) {
        char text[160];
        if (!rescale_view(&view, from, size))
            return rt_fail(e, RT_INVALID,
                           "a view of %s as %s goes along a last axis whose elements lie side by side and fill whole "
                           "elements of %d bytes; the array of shape %s has no such one",
                           own, name, (int)size, rt_shape_text(a->ndim, a->shape, text, sizeof text));
    }
    if (rt_array_size(&view) > 0 && rt_array_address(&view) % (uint64_t)size != 0)
        return rt_fail(e, RT_INVALID, "the elements do not lie where %s can: at a multiple of %d bytes", name,
                       (int)size);
    return finish_view(&view, out);
}

enum rt_status rt_array_broadcast(const struct rt_array *a, int ndim, const int64_t *shape, struct rt_array *out,
                                  struct rt_error *e)
{
    char from[160], to[160];
    int64_t n;
    if (!count_elements(ndim, shape, 1, &n, e)) return RT_INVALID;
    struct rt_array view = {.storage = a->storage, .dtype = a->dtype, .ndim = ndim, .offset = a->offset};
    int added = ndim - a->ndim;
    bool fits = added >= 0;
    for (int i = 0; i < ndim && fits; i++) {
        view.shape[i] = shape[i];
        if (i < added) continue;
        int64_t size = a->shape[i - added];
        if (size == shape[i]) {
            view.strides[i] = a->strides[i - added];
        } else {
            fits = size == 1;
        }
    }
    if (!fits)
        return rt_fail(e, RT_INVALID, "the shape %s does not broadcast to %s",
                       rt_shape_text(a->ndim, a->shape, from, sizeof from), rt_shape_text(ndim, shape, to, sizeof to));
    return finish_view(&view, out);
}

enum rt_status rt_broadcast_shape(const struct rt_array *const *arrays, int count, int *ndim, int64_t *shape,
                                  struct rt_error *e)
{
    int axes = 0;
    for (int k = 0; k < count; k++) {
        if (arrays[k]->ndim > axes) axes = arrays[k]->ndim;
    }
    int64_t result[RT_MAX_DIMS];
    for (int i = 0; i < axes; i++) {
        result[i] = 1;
        int by = -1; /* the array that decided this axis */
        for (int k = 0; k < count; k++) {
            const struct rt_array *a = arrays[k];
            int axis = i - (axes - a->ndim);
            if (axis < 0 || a->shape[axis] == 1) continue;
            if (by >= 0 && a->shape[axis] != result[i]) {
                char one[160], other[160];
                return rt_fail(e, RT_INVALID,
                               "the shapes %s and %s do not broadcast: axis %d from the end is %lld and %lld",
                               rt_shape_text(arrays[by]->ndim, arrays[by]->shape, one, sizeof one),
                               rt_shape_text(a->ndim, a->shape, other, sizeof other), axes - i, (long long)result[i],
                               (long long)a->shape[axis]);
            }
            result[i] = a->shape[axis];
            by = k;
        }
    }
    *ndim = axes;
    memcpy(shape, result, (size_t)axes * sizeof *shape);
    return RT_OK;
}
