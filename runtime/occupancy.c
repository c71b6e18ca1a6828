#include "runtime/occupancy.h"

#define SHARED_UNIT 128 /* bytes, that shared memory is handed out in */

const char *const rt_limiter_names[RT_LIMITER_COUNT] = {"threads", "registers", "shared memory", "blocks"};

enum rt_status rt_multiprocessor_read(struct rt_device *d, struct rt_multiprocessor *out, struct rt_error *e)
{
    int shared = 0, reserved = 0;
    const struct {
        CUdevice_attribute attribute;
        int *value;
    } wanted[] = {{CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, &out->threads},
                  {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, &out->blocks},
                  {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, &out->registers},
                  {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, &shared}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        CUresult r = d->driver->DeviceGetAttribute(wanted[i].value, wanted[i].attribute, d->handle);
        if (r != CUDA_SUCCESS) return rt_device_check(d, r, e, "the multiprocessor's limits");
    }
    if (d->driver->DeviceGetAttribute(&reserved, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, d->handle) !=
        CUDA_SUCCESS)
        reserved = 0; /* not known to old drivers, nor reserved on their GPUs */
    out->shared = (size_t)shared;
    out->shared_reserved = (size_t)reserved;
    out->warp_size = d->warp_size;
    return RT_OK;
}

static size_t round_up(size_t n, size_t unit)
{
    return (n + unit - 1) / unit * unit;
}

struct rt_occupancy rt_occupancy_of(const struct rt_multiprocessor *m, int threads, int registers, size_t shared)
{
    struct rt_occupancy o = {.max_warps = m->threads / m->warp_size};
    int warps = (threads + m->warp_size - 1) / m->warp_size;
    size_t of_block = shared + m->shared_reserved ? round_up(shared + m->shared_reserved, SHARED_UNIT) : 0;
    o.limits[RT_LIMIT_THREADS] = o.max_warps / warps;
    o.limits[RT_LIMIT_BLOCKS] = m->blocks;
    o.limits[RT_LIMIT_REGISTERS] =
        registers ? rt_warps_by_registers(m->registers, registers, m->warp_size) / warps : INT_MAX;
    o.limits[RT_LIMIT_SHARED] = of_block ? (int)(m->shared / of_block) : INT_MAX;
    for (int i = 0; i < RT_LIMITER_COUNT; i++)
        if (o.limits[i] < o.limits[o.limiter]) o.limiter = (enum rt_limiter)i;
    o.blocks = o.limits[o.limiter];
    o.warps = o.blocks * warps;
    return o;
}
