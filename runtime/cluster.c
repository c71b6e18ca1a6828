/* Launches with clusters: blocks that read each other's shared memory (compute capability 9.0). */
#include <string.h>
#include "runtime/module.h"

#define PORTABLE 8  /* blocks of a cluster that every device with clusters takes */
#define LARGEST  16 /* that some take when they are asked */

static unsigned blocks_of(const unsigned size[3])
{
    return size[0] * size[1] * size[2];
}

/* The configuration of a launch; `attributes` has room for two. */
static CUlaunchConfig describe(const struct rt_launch *l, const unsigned size[3], CUstream stream,
                               CUlaunchAttribute *attributes)
{
    CUlaunchConfig c = {.gridDimX = l->grid[0],
                        .gridDimY = l->grid[1],
                        .gridDimZ = l->grid[2],
                        .blockDimX = l->block[0],
                        .blockDimY = l->block[1],
                        .blockDimZ = l->block[2],
                        .sharedMemBytes = l->shared,
                        .hStream = stream,
                        .attrs = attributes,
                        .numAttrs = 1 + l->cooperative};
    memset(attributes, 0, 2 * sizeof *attributes);
    attributes[0].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attributes[0].value.clusterDim.x = size[0];
    attributes[0].value.clusterDim.y = size[1];
    attributes[0].value.clusterDim.z = size[2];
    attributes[1].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attributes[1].value.cooperative = 1;
    return c;
}

/* Has the device clusters at all? */
static enum rt_status check_device(const struct rt_kernel *k, struct rt_error *e)
{
    const struct rt_device *d = k->module->device;
    int has = 0;
    if (d->driver->DeviceGetAttribute(&has, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, d->handle) != CUDA_SUCCESS) has = 0;
    if (!has)
        return rt_fail(e, RT_UNSUPPORTED,
                       "%s: clusters of blocks need a GPU of compute capability 9.0 or later, and %s (%s) has %d.%d; "
                       "the software GPU has them, too: move the arrays with x:to(\"simt\")",
                       k->entry->name, d->name, d->model, d->compute_major, d->compute_minor);
    if (!d->driver->LaunchKernelEx || !d->driver->OccupancyMaxActiveClusters)
        return rt_fail(e, RT_UNSUPPORTED,
                       "%s: the NVIDIA driver is older than clusters of blocks, which came with CUDA 11.8; update it",
                       k->entry->name);
    return RT_OK;
}

static enum rt_status check_size(const struct rt_kernel *k, const struct rt_function *f, const struct rt_launch *l,
                                 const unsigned size[3], struct rt_error *e)
{
    const char *name = k->entry->name;
    if (size[0] > LARGEST || size[1] > LARGEST || size[2] > LARGEST || blocks_of(size) > LARGEST)
        return rt_fail(e, RT_INVALID, "%s: a cluster of (%u, %u, %u) blocks is over the limit of %d; %d are portable",
                       name, size[0], size[1], size[2], LARGEST, PORTABLE);
    if (f->cluster[0] && memcmp(size, f->cluster, sizeof f->cluster) != 0)
        return rt_fail(
            e, RT_INVALID,
            "%s: a cluster of (%u, %u, %u) blocks, but the kernel's __cluster_dims__ say (%u, %u, %u); leave "
            "one of them out",
            name, size[0], size[1], size[2], f->cluster[0], f->cluster[1], f->cluster[2]);
    bool counts_clusters = strstr(k->program->text, "__block_size__") != NULL;
    for (int i = 0; i < 3 && !counts_clusters; i++)
        if (l->grid[i] % size[i])
            return rt_fail(e, RT_INVALID,
                           "%s: a grid of %u blocks along %c cannot be cut into clusters of %u; round it up to %u",
                           name, l->grid[i], 'x' + i, size[i], (l->grid[i] + size[i] - 1) / size[i] * size[i]);
    return RT_OK;
}

/* A cluster's blocks run at once. */
static enum rt_status check_room(const struct rt_kernel *k, const struct rt_function *f, const struct rt_launch *l,
                                 const unsigned size[3], struct rt_error *e)
{
    struct rt_device *d = k->module->device;
    CUlaunchAttribute attributes[2];
    int clusters = 0;
    CUlaunchConfig c = describe(l, size, d->stream, attributes);
    enum rt_status status =
        rt_device_check(d, d->driver->OccupancyMaxActiveClusters(&clusters, f->handle, &c), e, k->entry->name);
    if (status != RT_OK || clusters > 0) return status;
    return rt_fail(
        e, RT_INVALID,
        "%s: no cluster of %u blocks of %llu threads with %u bytes of shared memory each fits on %s at once; "
        "make the cluster or its blocks smaller",
        k->entry->name, blocks_of(size), (unsigned long long)blocks_of(l->block), l->shared + (unsigned)f->shared_bytes,
        d->name);
}

enum rt_status rt_check_cluster(const struct rt_kernel *k, struct rt_function *f, const struct rt_launch *l,
                                struct rt_error *e)
{
    struct rt_device *d = k->module->device;
    const unsigned *size = l->cluster[0] ? l->cluster : f->cluster;
    if (!size[0] || !blocks_of(l->grid)) return RT_OK;
    enum rt_status status = check_device(k, e);
    if (status == RT_OK) status = check_size(k, f, l, size, e);
    if (status == RT_OK && blocks_of(size) > PORTABLE && !f->large_clusters) {
        CUresult r = d->driver->FuncSetAttribute(f->handle, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
        status = rt_device_check(d, r, e, k->entry->name);
        f->large_clusters = status == RT_OK;
    }
    return status == RT_OK ? check_room(k, f, l, size, e) : status;
}

CUresult rt_launch_cluster(const struct rt_kernel *k, const struct rt_function *f, const struct rt_launch *l,
                           void **pointers)
{
    const struct rt_device *d = k->module->device;
    CUlaunchAttribute attributes[2];
    CUlaunchConfig c = describe(l, l->cluster, d->stream, attributes);
    return d->driver->LaunchKernelEx(&c, f->handle, pointers, NULL);
}
