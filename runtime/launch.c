/* The checked launch: the configuration against the device; arguments.c has the arguments. */
#include <stdlib.h>
#include <string.h>
#include "runtime/fault.h"
#include "runtime/memory.h"
#include "runtime/module.h"
#include "runtime/report.h"
#include "runtime/simt/check.h"
#include "runtime/simt/simt.h"
#include "runtime/graph.h"
#include "runtime/stream.h"

#define BLOCK_BYTES  4096 /* a parameter block of this size is on the stack, larger ones are allocated */
#define BLOCK_PARAMS 256

/* ---- the configuration ---- */

static unsigned long long threads_of(const unsigned v[3])
{
    return (unsigned long long)v[0] * v[1] * v[2];
}

static enum rt_status check_sizes(const struct rt_kernel *k, const struct rt_function *f, const struct rt_launch *l,
                                  struct rt_error *e)
{
    const struct rt_device *d = k->module->device;
    const char *name = k->entry->name;
    const unsigned *b = l->block, *g = l->grid;
    unsigned long long threads = threads_of(b);
    int limit = d->max_threads_per_block;
    if (threads == 0 || (b[0] | b[1] | b[2]) > INT32_MAX)
        return rt_fail(e, RT_INVALID, "%s: a block of (%u, %u, %u) threads; each must be 1 or more", name, b[0], b[1],
                       b[2]);
    if (threads > (unsigned long long)limit)
        return rt_fail(e, RT_INVALID,
                       "%s: a block of %llu threads (%u, %u, %u) is over %s's limit of %d; use more blocks of fewer "
                       "threads",
                       name, threads, b[0], b[1], b[2], d->name, limit);
    if (f->max_threads > 0 && threads > (unsigned long long)f->max_threads)
        return rt_fail(
            e, RT_INVALID,
            "%s: a block of %llu threads (%u, %u, %u) is over this kernel's limit of %d, which its registers or "
            "its __launch_bounds__ set",
            name, threads, b[0], b[1], b[2], f->max_threads);
    for (int i = 0; i < 3; i++) {
        if (b[i] > (unsigned)d->max_block[i])
            return rt_fail(e, RT_INVALID, "%s: %u threads along %c are over %s's limit of %d", name, b[i], 'x' + i,
                           d->name, d->max_block[i]);
        if (g[i] > (unsigned)d->max_grid[i])
            return rt_fail(
                e, RT_INVALID,
                "%s: a grid of %u blocks along %c is over %s's limit of %d; let each thread do several elements", name,
                g[i], 'x' + i, d->name, d->max_grid[i]);
    }
    return RT_OK;
}

/* More than the usual 48 KiB must be asked for, and not every GPU has more. */
static enum rt_status check_shared(const struct rt_kernel *k, struct rt_function *f, unsigned dynamic,
                                   struct rt_error *e)
{
    struct rt_device *d = k->module->device;
    size_t total = (size_t)dynamic + (size_t)f->shared_bytes, limit = d->max_shared_per_block;
    int most = 0;
    if (total <= limit || dynamic <= (unsigned)f->shared_limit) return RT_OK;
    if (d->driver->DeviceGetAttribute(&most, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, d->handle) ==
            CUDA_SUCCESS &&
        (size_t)most > limit)
        limit = (size_t)most;
    if (total > limit)
        return rt_fail(e, RT_INVALID,
                       "%s: %zu bytes of shared memory (%d of its own and %u dynamic) are over %s's limit of %zu for a "
                       "block",
                       k->entry->name, total, f->shared_bytes, dynamic, d->name, limit);
    enum rt_status status = rt_device_check(
        d, d->driver->FuncSetAttribute(f->handle, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)dynamic), e,
        k->entry->name);
    if (status == RT_OK) f->shared_limit = (int)dynamic;
    return status;
}

/* A cooperative grid waits for all of its blocks, so all must be resident. The software GPU takes as many as a large
 * GPU does, however few multiprocessors it has. */
static enum rt_status check_resident(const struct rt_kernel *k, const struct rt_function *f, const struct rt_launch *l,
                                     struct rt_error *e)
{
    struct rt_device *d = k->module->device;
    unsigned long long blocks = threads_of(l->grid);
    int resident = 0, threads = (int)threads_of(l->block);
    bool simt = d->kind == RT_SIMT;
    int multiprocessors = simt ? SIMT_LARGE_GPU : d->multiprocessors;
    enum rt_status status = rt_device_check(
        d, d->driver->OccupancyMaxActiveBlocksPerMultiprocessor(&resident, f->handle, threads, l->shared), e,
        k->entry->name);
    if (status != RT_OK || blocks <= (unsigned long long)resident * (unsigned)multiprocessors) return status;
    return rt_fail(e, RT_INVALID,
                   "%s: a cooperative grid of %llu blocks of %d threads, but only %d of them are resident at once on "
                   "%s (%d on each of %d multiprocessors); let each block do more",
                   k->entry->name, blocks, threads, resident * multiprocessors, simt ? "a large GPU" : d->name,
                   resident, multiprocessors);
}

/* ---- launching ---- */

/* The memory that an argument leads to; false when it leads to none. */
static bool find_memory(const struct rt_arg *a, struct rt_place *out)
{
    const struct rt_array *x = a->kind == RT_ARG_ARRAY    ? a->as.array
                               : a->kind == RT_ARG_TENSOR ? &a->as.tensor->array
                                                          : NULL;
    int64_t last = 0; /* a tensor map's array may have gaps */
    if (!x) return false;
    for (int i = 0; i < x->ndim; i++) last += (x->shape[i] - 1) * x->strides[i];
    *out = (struct rt_place){RT_PLACE_MEMORY, rt_array_address(x),
                             rt_array_size(x) ? (uint64_t)(last + 1) * rt_dtypes[x->dtype].size : 0, x->dtype};
    return true;
}

static struct simt_check *new_check(const struct rt_kernel *k, const struct rt_arg *args, struct rt_error *e)
{
    struct simt_extent extents[BLOCK_PARAMS];
    size_t count = 0;
    for (size_t i = 0; i < k->entry->param_count && count < BLOCK_PARAMS; i++) {
        struct rt_place m;
        if (find_memory(&args[i], &m)) extents[count++] = (struct simt_extent){m.address, m.bytes};
    }
    return simt_check_new(extents, count, e);
}

static enum rt_status launch_plain(const struct rt_kernel *k, const struct rt_function *f, const struct rt_launch *l,
                                   const struct rt_arg *args, void **pointers, struct rt_error *e)
{
    struct rt_device *d = k->module->device;
    struct simt_fault fault;
    const unsigned *g = l->grid, *b = l->block;
    if (d->kind == RT_CUDA) rt_device_note(d, l->place ? k->entry->name : "an array operation", l->place, l->line);
    d->prints |= d->kind == RT_CUDA && k->module->prints;
    CUresult r = l->cluster[0]    ? rt_launch_cluster(k, f, l, pointers)
                 : l->cooperative ? d->driver->LaunchCooperativeKernel(f->handle, g[0], g[1], g[2], b[0], b[1], b[2],
                                                                       l->shared, d->stream, pointers)
                                  : d->driver->LaunchKernel(f->handle, g[0], g[1], g[2], b[0], b[1], b[2], l->shared,
                                                            d->stream, pointers, NULL);
    if (d->kind == RT_SIMT && r == CUDA_SUCCESS) r = d->driver->StreamSynchronize(d->stream);
    if (r == CUDA_SUCCESS) return RT_OK;
    if (d->kind == RT_SIMT && simt_take_fault(&fault)) return rt_fault_report(k, args, &fault, l->findings, e);
    return rt_device_check(d, r, e, k->entry->name);
}

static enum rt_status read_findings(const struct rt_kernel *k, const struct rt_launch *l, const struct rt_arg *args,
                                    struct simt_check *c, struct rt_error *e)
{
    struct rt_place few[BLOCK_PARAMS], *places = few;
    size_t count = k->entry->param_count;
    if (count > BLOCK_PARAMS && !(places = rt_calloc(count, sizeof *places)))
        return rt_fail(e, RT_NOMEM, "out of memory for what the checks of %s found", k->entry->name);
    for (size_t i = 0; i < count; i++) {
        places[i] = (struct rt_place){.kind = args[i].kind == RT_ARG_NULL ? RT_PLACE_NULL : RT_PLACE_OTHER};
        find_memory(&args[i], &places[i]);
        for (size_t j = 0; args[i].kind == RT_ARG_TENSOR && j < count; j++) /* its own name is the one to tell */
            if (args[j].kind == RT_ARG_ARRAY && args[j].as.array->storage == args[i].as.tensor->array.storage)
                places[i].kind = RT_PLACE_OTHER;
    }
    const struct rt_scene scene = {.entry = k->entry, .places = places, .block = l->block, .program = k->program};
    enum rt_status status = rt_findings_read(&scene, c, l->findings, e);
    if (places != few) free(places);
    return status;
}

static enum rt_status refuse_checks(const struct rt_kernel *k, struct rt_error *e)
{
    return rt_fail(e, RT_UNSUPPORTED,
                   "%s: checks need the software GPU, and this launch is on %s; give it arrays that are there, as by "
                   "x:to(\"simt\"), or switch the checks off",
                   k->entry->name, k->module->device->name);
}

static enum rt_status launch(const struct rt_kernel *k, const struct rt_function *f, const struct rt_launch *l,
                             const struct rt_arg *args, void **pointers, struct rt_error *e)
{
    const struct rt_device *d = k->module->device;
    if (!l->findings) return launch_plain(k, f, l, args, pointers, e);
    if (d->kind != RT_SIMT) return refuse_checks(k, e);
    struct simt_check *c = new_check(k, args, e);
    if (!c) return RT_NOMEM;
    if (l->strict) simt_check_set_strict(c);
    rt_memory_keep_released(k->module->device);
    simt_observe_next(simt_check_observer(c));
    enum rt_status status = launch_plain(k, f, l, args, pointers, e);
    simt_observe_next(NULL);
    enum rt_status read = read_findings(k, l, args, c, status == RT_OK ? e : NULL);
    simt_check_free(c);
    return status == RT_OK ? read : status;
}

static enum rt_status check_and_launch(const struct rt_kernel *k, const struct rt_launch *l, const struct rt_arg *args,
                                       unsigned char *block, void **pointers, struct rt_error *e)
{
    enum rt_status status = rt_set_arguments(k, args, block, pointers, e);
    if (status == RT_OK) status = rt_device_enter(k->module->device, e);
    if (status != RT_OK) return status;
    struct rt_function *f = rt_module_function(k, e);
    if (!f) return e ? e->status : RT_DEVICE;
    status = check_sizes(k, f, l, e);
    if (status == RT_OK) status = check_shared(k, f, l->shared, e);
    if (status == RT_OK) status = rt_check_cluster(k, f, l, e);
    if (status == RT_OK && l->cooperative) status = check_resident(k, f, l, e);
    if (status != RT_OK || threads_of(l->grid) == 0) return status;
    struct rt_device *d = k->module->device;
    if (d->recording && d->kind != RT_SIMT && rt_is_checked(l->checked, false)) return refuse_checks(k, e);
    if (d->recording) return rt_graph_add_launch(d->recording, k, l, args, k->entry->param_count, e);
    if (rt_has_streams()) rt_streams_worked(d);
    return launch(k, f, l, args, pointers, e);
}

static enum rt_status launch_current(const struct rt_kernel *k, const struct rt_launch *l, const struct rt_arg *args,
                                     size_t count, struct rt_error *e)
{
    const struct rt_entry *entry = k->entry;
    if (count != entry->param_count) {
        char text[1024];
        return rt_fail(e, RT_INVALID, "%s: takes %zu argument%s %s, got %zu", entry->name, entry->param_count,
                       entry->param_count == 1 ? "" : "s", rt_entry_text(entry, text, sizeof text), count);
    }
    size_t bytes = count ? entry->params[count - 1].offset + entry->params[count - 1].size : 0;
    if (bytes <= BLOCK_BYTES && count <= BLOCK_PARAMS) {
        _Alignas(16) unsigned char block[BLOCK_BYTES];
        void *pointers[BLOCK_PARAMS];
        return check_and_launch(k, l, args, block, pointers, e);
    }
    void **pointers = rt_alloc(count * sizeof *pointers);
    unsigned char *block = rt_alloc(bytes);
    enum rt_status status = pointers && block ? check_and_launch(k, l, args, block, pointers, e)
                                              : rt_fail(e, RT_NOMEM, "out of memory while launching %s", entry->name);
    free(pointers);
    free(block);
    return status;
}

enum rt_status rt_kernel_launch(const struct rt_kernel *k, const struct rt_launch *l, const struct rt_arg *args,
                                size_t count, struct rt_error *e)
{
    struct rt_device *d = k->module->device;
    if (!l->stream || l->stream == d->current) return launch_current(k, l, args, count, e);
    if (l->stream->device != d)
        return rt_fail(e, RT_INVALID,
                       "%s: stream %u is of %s, and this launch is on %s; gpu.stream(\"%s\") makes one there",
                       k->entry->name, l->stream->number, l->stream->device->name, d->name, d->name);
    enum rt_status status = rt_stream_alive(l->stream, e);
    if (status != RT_OK) return status;
    struct rt_stream *former = rt_stream_enter(d, l->stream);
    status = launch_current(k, l, args, count, e);
    rt_stream_enter(d, former);
    return status;
}

enum rt_status rt_kernel_forall(const struct rt_kernel *k, int64_t n, struct rt_launch *out, struct rt_error *e)
{
    struct rt_device *d = k->module->device;
    for (int i = 0; i < 3; i++) {
        out->grid[i] = i > 0;
        out->block[i] = 1;
    }
    if (n < 0)
        return rt_fail(e, RT_INVALID, "%s: forall(%lld); the count must not be negative", k->entry->name, (long long)n);
    enum rt_status status = rt_device_enter(d, e);
    if (status != RT_OK) return status;
    struct rt_function *f = rt_module_function(k, e);
    if (!f) return e ? e->status : RT_DEVICE;
    if (!f->forall_block) {
        int grid = 0, block = 0;
        status = rt_device_check(d, d->driver->OccupancyMaxPotentialBlockSize(&grid, &block, f->handle, NULL, 0, 0), e,
                                 k->entry->name);
        if (status != RT_OK) return status;
        f->forall_block = block > 0 ? block : d->warp_size;
    }
    int64_t blocks = n / f->forall_block + (n % f->forall_block != 0);
    unsigned cluster = out->cluster[0] ? out->cluster[0] : f->cluster[0];
    if (cluster > 1) blocks = (blocks + cluster - 1) / cluster * cluster;
    if (blocks > d->max_grid[0])
        return rt_fail(e, RT_INVALID, "%s: forall(%lld) needs %lld blocks, over %s's limit of %d", k->entry->name,
                       (long long)n, (long long)blocks, d->name, d->max_grid[0]);
    out->grid[0] = (unsigned)blocks;
    out->block[0] = (unsigned)f->forall_block;
    return RT_OK;
}
