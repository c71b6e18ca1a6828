/* Whether arrays can be read and written, and copies between arrays, devices and the caller's memory. */
#include "runtime/array.h"
#include "runtime/graph.h"
#include "runtime/uses.h"

#include <stdlib.h>
#include <string.h>
#include "runtime/lend.h"
#include "runtime/threads.h"

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

/* Between devices that have nothing to do. */
static enum rt_status copy_now(const struct rt_array *to, const struct rt_array *from, size_t bytes, struct rt_error *e)
{
    struct rt_device *source = rt_array_device(from), *target = rt_array_device(to);
    if (source->kind != RT_CUDA) return copy_in(to, 0, rt_array_host(from), bytes, e);
    if (source == target) { /* stays on it, in order with its other work */
        const CUresult r =
            source->driver->MemcpyDtoDAsync(rt_array_address(to), rt_array_address(from), bytes, source->stream);
        return driver_check(source->driver, r, e, "cuMemcpyDtoDAsync");
    }
    enum rt_status status = rt_device_enter(source, e);
    if (status != RT_OK) return status;
    return target->kind == RT_CUDA ? copy_staged(to, from, bytes, e) : copy_out(from, 0, rt_array_host(to), bytes, e);
}

static enum rt_status both_contiguous(const struct rt_array *to, const struct rt_array *from, struct rt_error *e)
{
    enum rt_status status = contiguous(from, e);
    return status == RT_OK ? contiguous(to, e) : status;
}

/* Into the current stream, for which uses are counted. */
static enum rt_status transfer_in_stream(const struct rt_array *to, const struct rt_array *from, size_t bytes,
                                         struct rt_stream *s, struct rt_error *e)
{
    enum rt_status status = rt_array_there(from, e);
    if (status == RT_OK) status = rt_array_there(to, e);
    if (status == RT_OK) status = both_contiguous(to, from, e);
    return status == RT_OK && bytes > 0 ? copy_in_stream(to, from, bytes, s, e) : status;
}

enum rt_status rt_array_transfer(const struct rt_array *to, const struct rt_array *from, struct rt_error *e)
{
    struct rt_device *source = rt_array_device(from), *target = rt_array_device(to);
    if (to->dtype != from->dtype || rt_array_size(to) != rt_array_size(from))
        return rt_fail(e, RT_INVALID,
                       "a transfer needs arrays of one dtype and size: %s of %lld and %s of %lld elements",
                       rt_dtypes[to->dtype].name, (long long)rt_array_size(to), rt_dtypes[from->dtype].name,
                       (long long)rt_array_size(from));
    const size_t bytes = byte_count(from);
    struct rt_graph *graph = source->recording ? source->recording : target->recording;
    if (graph) {
        enum rt_status good = both_contiguous(to, from, e);
        return good == RT_OK && bytes > 0 ? rt_graph_add_copy(graph, to, from, e) : good;
    }
    if (source->kind == RT_CUDA && source->instantiates) return bytes ? give_copy(to, from, bytes, source, e) : RT_OK;
    if (target->kind == RT_CUDA && target->instantiates) return bytes ? give_copy(to, from, bytes, target, e) : RT_OK;
    struct rt_stream *stream = source->driver ? source->current : target->current;
    if (stream && is_async(source, target) && !source->instantiates && !target->instantiates)
        return transfer_in_stream(to, from, bytes, stream, e);
    enum rt_status status = ready(from, false, e);
    if (status == RT_OK) status = ready(to, true, e);
    if (status == RT_OK) status = wait_for(source, e);
    if (status == RT_OK) status = wait_for(target, e);
    return status == RT_OK && bytes > 0 ? copy_now(to, from, bytes, e) : status;
}
