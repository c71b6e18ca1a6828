#include "runtime/pinned.h"

#include <stdlib.h>

/* Ordinary memory that is registered with the driver: so it is still there when a fault takes the driver's context. */
struct pinned {
    struct rt_storage *memory;
    struct rt_device *by;
    unsigned generation;
};

static void release(void *owner)
{
    struct pinned *p = owner;
    if (p->generation == p->by->generation && rt_device_enter(p->by, NULL) == RT_OK)
        p->by->driver->gpu.MemHostUnregister((void *)(uintptr_t)p->memory->address);
    rt_storage_release(p->memory);
    free(p);
}

static bool register_memory(const struct pinned *p)
{
    const struct driver *v = p->by->driver;
    return p->by->kind == RT_CUDA && v->gpu.MemHostRegister && rt_device_enter(p->by, NULL) == RT_OK &&
           v->gpu.MemHostRegister((void *)(uintptr_t)p->memory->address, p->memory->capacity,
                                  CU_MEMHOSTREGISTER_PORTABLE) == CUDA_SUCCESS;
}

struct rt_storage *rt_storage_pinned(struct rt_device *by, size_t bytes, struct rt_error *e)
{
    struct rt_device *cpu = rt_device_open("cpu", e);
    struct rt_storage *memory = cpu ? rt_storage_new(cpu, bytes, e) : NULL;
    if (!memory || bytes == 0) return memory;
    struct pinned *p = rt_alloc(sizeof *p);
    if (!p) {
        rt_storage_release(memory);
        rt_fail(e, RT_NOMEM, "out of host memory");
        return NULL;
    }
    *p = (struct pinned){.memory = memory, .by = by, .generation = by->generation};
    if (!register_memory(p)) {
        free(p);
        return memory;
    }
    struct rt_storage *s = rt_storage_over(cpu, memory->address, bytes, p, release, e);
    if (!s) {
        release(p);
        return NULL;
    }
    s->foreign = false; /* nobody else writes to it */
    s->pinned = true;
    return s;
}
