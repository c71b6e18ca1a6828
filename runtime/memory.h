/* Device memory with a caching allocator, one pool per device.
 *
 * Freed blocks are kept by size class and handed out again without asking the driver; when the driver refuses, the pool
 * calls the collector hook (lang/ runs Lua's garbage collector there), gives all cached blocks back and tries again
 * before it reports RT_NOMEM with the sizes. Blocks are aligned to 256 bytes (cpu: 64 at least). Contents are
 * undefined. Thread-safe. */
#ifndef RT_MEMORY_H
#define RT_MEMORY_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include "runtime/device.h"

/* A block of device memory, shared by all arrays that view it. */
struct rt_storage {
    atomic_int references;
    struct rt_device *device;
    uint64_t address; /* CUdeviceptr, or the host pointer on cpu; 0 when bytes is 0 */
    size_t bytes;     /* as asked for */
    size_t capacity;  /* as handed out by the pool */
    unsigned generation;
    struct rt_uses *uses;      /* by streams (runtime/uses.h); NULL: none that must be waited for */
    struct rt_graph *recorded; /* that copies to it, and is being recorded; on the cpu */
    bool pinned;               /* host memory that a GPU copies from and to by itself (runtime/pinned.h) */
    bool foreign; /* somebody else's memory (rt_storage_over) or handed out: it is written without the array being given
                   */
};

/* A new storage with one reference, or NULL (RT_NOMEM; RT_INVALID for absurd sizes). bytes may be 0. */
struct rt_storage *rt_storage_new(struct rt_device *d, size_t bytes, struct rt_error *e);
/* A storage over device memory that somebody else owns, a module for its variables: release(owner) is called with the
 * last reference. NULL without memory, and then release is not called. */
struct rt_storage *rt_storage_over(struct rt_device *d, uint64_t address, size_t bytes, void *owner,
                                   void (*release)(void *owner), struct rt_error *e);
struct rt_storage *rt_storage_retain(struct rt_storage *s);
void rt_storage_release(struct rt_storage *s); /* NULL is fine */

/* Where it starts for host code, which may read and write it: cpu and simt; NULL on cuda (and for empty storages). On
 * simt so many bytes of it, from `from` on, count as written from then on, for gpu.check. */
void *rt_storage_host(const struct rt_storage *s, size_t from, size_t bytes);

struct rt_pool *rt_pool_new(void); /* an empty pool for a device that is being opened; NULL without memory */
/* The device's memory was lost in a fault: forgets all blocks without asking the driver. */
void rt_memory_lost(struct rt_device *d);

struct rt_memory_stats {
    size_t in_use, cached, peak; /* bytes */
    uint64_t allocations, driver_allocations;
};
void rt_memory_stats(struct rt_device *d, struct rt_memory_stats *out);
/* Bytes of the storages that live, on all devices together, and of what is held elsewhere. */
size_t rt_memory_held(void);
/* So many bytes more, or less, are held by an object in memory of another kind that goes with the object. */
void rt_memory_held_elsewhere(int64_t bytes);
/* From now on a released block is not handed out again before 64 MiB of others were released after it, or memory is
 * short: who still uses it is found out. */
void rt_memory_keep_released(struct rt_device *d);
/* Gives every cached block back to the driver. */
void rt_memory_trim(struct rt_device *d);
/* Called with the bytes wanted when a device is full; may free storages. One hook for the process; NULL removes it. */
void rt_memory_set_collector(void (*collect)(void *context, size_t bytes), void *context);
/* Calls it: also for what else nobody refers to any longer, such as open files. */
void rt_memory_collect(size_t bytes);

/* For tests: the nth allocation from now (1 is the next), host or device, made through rt_ allocation fails once.
 * 0 switches it off. rt_alloc, rt_realloc are what runtime/ and kernels/ use in place of malloc and realloc. */
void rt_fail_allocation(long nth);
bool rt_allocation_fails(void); /* counts one allocation made by other means; true when it is the one to fail */
void *rt_alloc(size_t bytes);   /* uninitialised; NULL when out of memory */
/* The same, from the start of a cache line on: what lies across two is slower to write. For what vectors are kept in.
 */
void *rt_alloc_lines(size_t bytes);
void *rt_calloc(size_t count, size_t bytes);
void *rt_realloc(void *p, size_t bytes);
char *rt_strdup(const char *s);
/* `length` bytes, whatever they are, and a NUL. */
char *rt_copy_bytes(const char *bytes, size_t length);
/* Release with free(). */

#endif
