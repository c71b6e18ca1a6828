#include "runtime/array.h"
#include "runtime/graph.h"
#include "runtime/uses.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/lend.h"
#include "runtime/threads.h"

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
    *out = (struct rt_array){.storage = s, .dtype = t, .ndim = ndim};
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
    memset(a, 0, sizeof *a);
}

void rt_array_share(const struct rt_array *a, struct rt_array *out)
{
    rt_storage_retain(a->storage);
    if (out != a) *out = *a;
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
    char *base = rt_storage_host(a->storage);
    return base ? base + a->offset * rt_dtypes[a->dtype].size : NULL;
}

/* ---- Views: built in a local first, since out may be the array itself ---- */

static enum rt_status finish_view(struct rt_array *view, struct rt_array *out)
{
    rt_storage_retain(view->storage);
    *out = *view;
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
    struct rt_array view = {.storage = a->storage, .dtype = a->dtype, .ndim = ndim, .offset = a->offset};
    enum rt_status status = resolve_shape(a, ndim, shape, view.shape, e);
    if (status != RT_OK) return status;
    if (rt_array_contiguous(a)) {
        set_strides(&view);
    } else if (!regroup_strides(a, &view)) {
        char from[160], to[160];
        return rt_fail(e, RT_UNSUPPORTED, "a strided view of shape %s takes the shape %s only as a copy",
                       rt_shape_text(a->ndim, a->shape, from, sizeof from),
                       rt_shape_text(view.ndim, view.shape, to, sizeof to));
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

/* ---- Transfers ---- */

enum rt_status rt_array_there(const struct rt_array *a, struct rt_error *e)
{
    if (a->storage->generation == a->storage->device->generation) return RT_OK;
    return rt_fail(e, RT_DEVICE, "this array was lost when a kernel's fault reset %s; make it anew",
                   a->storage->device->name);
}

enum rt_status rt_array_alive(const struct rt_array *a, struct rt_error *e)
{
    return rt_array_there(a, e) == RT_OK ? rt_touch(a, false, e) : RT_DEVICE;
}

enum rt_status rt_array_writable(const struct rt_array *a, struct rt_error *e)
{
    return rt_array_there(a, e) == RT_OK ? rt_touch(a, true, e) : RT_DEVICE;
}

static enum rt_status contiguous(const struct rt_array *a, struct rt_error *e)
{
    if (rt_array_contiguous(a)) return RT_OK;
    return rt_fail(e, RT_INVALID, "a strided array must be made contiguous before it is copied");
}

static enum rt_status ready(const struct rt_array *a, bool writes, struct rt_error *e)
{
    enum rt_status status = contiguous(a, e);
    return status != RT_OK ? status : writes ? rt_array_writable(a, e) : rt_array_alive(a, e);
}

static enum rt_status wait_for(struct rt_device *d, struct rt_error *e)
{
    return rt_stream_synchronize(d, d->current, e);
}

static size_t byte_count(const struct rt_array *a)
{
    return (size_t)rt_array_size(a) * rt_dtypes[a->dtype].size;
}

/* In a stream of its own a copy does not wait for the others, as the plain ones would. */
static enum rt_status copied(struct rt_device *d, CUresult r, struct rt_error *e, const char *what)
{
    enum rt_status status = rt_device_check(d, r, e, what);
    return status == RT_OK && d->current ? wait_for(d, e) : status;
}

static enum rt_status copy_out(const struct rt_array *a, size_t from, void *host, size_t bytes, struct rt_error *e)
{
    struct rt_device *d = rt_array_device(a);
    if (!d->driver) {
        rt_parallel_copy(host, (char *)rt_array_host(a) + from, bytes);
        return RT_OK;
    }
    uint64_t address = rt_array_address(a) + from;
    rt_lend();
    CUresult r = d->current ? d->driver->MemcpyDtoHAsync(host, address, bytes, d->stream)
                            : d->driver->MemcpyDtoH(host, address, bytes);
    rt_lend_end();
    return copied(d, r, e, "cuMemcpyDtoH");
}

static enum rt_status copy_in(const struct rt_array *a, size_t to, const void *host, size_t bytes, struct rt_error *e)
{
    struct rt_device *d = rt_array_device(a);
    if (!d->driver) {
        rt_parallel_copy((char *)rt_array_host(a) + to, host, bytes);
        return RT_OK;
    }
    uint64_t address = rt_array_address(a) + to;
    rt_lend();
    CUresult r = d->current ? d->driver->MemcpyHtoDAsync(address, host, bytes, d->stream)
                            : d->driver->MemcpyHtoD(address, host, bytes);
    rt_lend_end();
    return copied(d, r, e, "cuMemcpyHtoD");
}

enum rt_status rt_array_read(const struct rt_array *a, void *host, struct rt_error *e)
{
    if (rt_array_device(a)->recording) return rt_graph_refuse(rt_array_device(a), e);
    enum rt_status status = ready(a, false, e);
    size_t bytes = byte_count(a);
    if (status == RT_OK) status = wait_for(rt_array_device(a), e);
    if (status != RT_OK || bytes == 0) return status;
    return copy_out(a, 0, host, bytes, e);
}

enum rt_status rt_array_write(const struct rt_array *a, const void *host, struct rt_error *e)
{
    if (rt_array_device(a)->recording) return rt_graph_refuse(rt_array_device(a), e);
    enum rt_status status = ready(a, true, e);
    size_t bytes = byte_count(a);
    if (status == RT_OK) status = wait_for(rt_array_device(a), e);
    if (status != RT_OK || bytes == 0) return status;
    return copy_in(a, 0, host, bytes, e);
}

/* Between two GPUs, through host memory in pieces. */
static enum rt_status copy_staged(const struct rt_array *to, const struct rt_array *from, size_t bytes,
                                  struct rt_error *e)
{
    const size_t piece = (size_t)16 << 20;
    size_t size = bytes < piece ? bytes : piece;
    void *buffer = rt_alloc(size);
    if (!buffer) return rt_fail(e, RT_NOMEM, "no %zu bytes of host memory for a copy between devices", size);
    enum rt_status status = RT_OK;
    for (size_t done = 0; done < bytes && status == RT_OK; done += size) {
        size_t part = bytes - done < size ? bytes - done : size;
        status = rt_device_enter(rt_array_device(from), e);
        if (status == RT_OK) status = copy_out(from, done, buffer, part, e);
        if (status == RT_OK) status = rt_device_enter(rt_array_device(to), e);
        if (status == RT_OK) status = copy_in(to, done, buffer, part, e);
    }
    free(buffer);
    return status;
}

/* Between the host and one GPU, the software one too, or within it. */
static bool is_async(const struct rt_device *source, const struct rt_device *target)
{
    return source == target ? source->driver != NULL : !source->driver != !target->driver;
}

/* To the device's current stream. */
static enum rt_status give_copy(const struct rt_array *to, const struct rt_array *from, size_t bytes,
                                struct rt_device *d, struct rt_error *e)
{
    const struct driver *v = d->driver;
    uint64_t target = rt_array_address(to), source = rt_array_address(from);
    rt_lend(); /* of memory that is not pinned the driver may copy some, or all, here */
    CUresult r = rt_array_device(to)->kind == RT_CPU
                     ? v->MemcpyDtoHAsync((void *)(uintptr_t)target, source, bytes, d->stream)
                 : rt_array_device(from)->kind == RT_CPU
                     ? v->MemcpyHtoDAsync(target, (const void *)(uintptr_t)source, bytes, d->stream)
                     : v->MemcpyDtoDAsync(target, source, bytes, d->stream);
    rt_lend_end();
    return rt_device_check(d, r, e, "copying in a stream");
}

/* Does not wait. Who wants the host's elements waits for the stream by itself (runtime/uses.h). */
static enum rt_status copy_in_stream(const struct rt_array *to, const struct rt_array *from, size_t bytes,
                                     struct rt_stream *s, struct rt_error *e)
{
    enum rt_status status = rt_touch_by(from, false, s, e);
    if (status == RT_OK) status = rt_touch_by(to, true, s, e);
    if (status == RT_OK) status = rt_device_enter(s->device, e);
    return status == RT_OK ? give_copy(to, from, bytes, s->device, e) : status;
}

enum rt_status rt_array_transfer(const struct rt_array *to, const struct rt_array *from, struct rt_error *e)
{
    struct rt_device *source = rt_array_device(from), *target = rt_array_device(to);
    if (to->dtype != from->dtype || rt_array_size(to) != rt_array_size(from))
        return rt_fail(e, RT_INVALID,
                       "a transfer needs arrays of one dtype and size: %s of %lld and %s of %lld elements",
                       rt_dtypes[to->dtype].name, (long long)rt_array_size(to), rt_dtypes[from->dtype].name,
                       (long long)rt_array_size(from));
    struct rt_graph *graph = source->recording ? source->recording : target->recording;
    if (graph) {
        enum rt_status good = contiguous(from, e);
        if (good == RT_OK) good = contiguous(to, e);
        return good == RT_OK && rt_array_size(to) > 0 ? rt_graph_add_copy(graph, to, from, e) : good;
    }
    struct rt_stream *stream = source->driver ? source->current : target->current;
    size_t bytes = byte_count(from);
    enum rt_status status = RT_OK;
    if (source->instantiates || target->instantiates) stream = NULL;
    bool captured =
        (source->kind == RT_CUDA && source->instantiates) || (target->kind == RT_CUDA && target->instantiates);
    if (captured) return bytes > 0 ? give_copy(to, from, bytes, source->kind == RT_CUDA ? source : target, e) : RT_OK;
    if (stream && is_async(source, target)) {
        status = rt_array_there(from, e);
        if (status == RT_OK) status = rt_array_there(to, e);
        if (status == RT_OK) status = contiguous(from, e);
        if (status == RT_OK) status = contiguous(to, e);
        return status == RT_OK && bytes > 0 ? copy_in_stream(to, from, bytes, stream, e) : status;
    }
    status = ready(from, false, e);
    if (status == RT_OK) status = ready(to, true, e);
    if (status == RT_OK) status = wait_for(source, e);
    if (status == RT_OK) status = wait_for(target, e);
    if (status != RT_OK || bytes == 0) return status;
    if (source == target &&
        source->kind == RT_CUDA) /* copies within one GPU stay on it, in order with its other work */
        return driver_check(
            source->driver,
            source->driver->MemcpyDtoDAsync(rt_array_address(to), rt_array_address(from), bytes, source->stream), e,
            "cuMemcpyDtoDAsync");
    if (source->kind != RT_CUDA) return copy_in(to, 0, rt_array_host(from), bytes, e);
    status = rt_device_enter(source, e);
    if (status != RT_OK) return status;
    if (target->kind != RT_CUDA) return copy_out(from, 0, rt_array_host(to), bytes, e);
    return copy_staged(to, from, bytes, e);
}
