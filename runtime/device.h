/* Devices: cpu, simt, cuda:N. A device is opened at its first use and lives until the process ends, so a pointer to one
 * never dangles. Creating a Lua state or printing a version opens none. */
#ifndef RT_DEVICE_H
#define RT_DEVICE_H

#include <stdbool.h>
#include <stdint.h>
#include "runtime/driver.h"
#include "runtime/status.h"

enum rt_device_kind {
    RT_CPU,  /* host memory, native array operations, no kernels: driver is NULL */
    RT_SIMT, /* the software GPU */
    RT_CUDA, /* a GPU */
};

struct rt_stream; /* runtime/stream.h */
struct rt_graph;
struct rt_pool; /* the caching allocator's state, runtime/memory.c */

/* The launches that a GPU was given since it was last waited for: a fault tells of them, since which one it was is not
 * known then. */
#define RT_TRAIL 4 /* that are kept */
struct rt_trail {
    unsigned count;
    struct rt_launched {
        char kernel[40], place[60];
        int line;        /* 0: no place */
        unsigned stream; /* 0: the default one */
    } last[RT_TRAIL];
};

struct rt_device {
    enum rt_device_kind kind;
    int ordinal;                 /* N of cuda:N, else 0 */
    char name[16];               /* "cpu", "simt", "cuda:0": what users write and read */
    char model[128];             /* the device's own name, e.g. the GPU's or CPU's model */
    const struct driver *driver; /* NULL on cpu */
    CUdevice handle;
    CUcontext context; /* the primary context, current on the calling thread after rt_device_enter */
    CUstream stream;   /* the current stream, which all work of this library goes to; NULL is the legacy default one */
    struct rt_stream *current; /* the same; NULL: the default one */
    bool prints;               /* a GPU's: what its kernels print comes when it is waited for, which was not since */
    bool streams_busy;         /* other streams than the default one were given work since that was last waited for */
    int compute_major, compute_minor; /* compute capability; simt says 8.0 */
    int compiles_for; /* of simt: kernels are compiled as for a GPU of this one, 90 for 9.0, with machine code;
                         0: as simt needs them */
    int warp_size, multiprocessors, max_threads_per_block, max_block[3], max_grid[3];
    size_t max_shared_per_block; /* bytes, without opting in to more */
    size_t total_memory;         /* bytes */
    unsigned generation; /* counts up when a fault on a GPU lost all memory of the context; storages remember theirs */
    struct rt_graph *recording; /* what work becomes a part of (runtime/graph.h); NULL: it runs */
    bool instantiates;          /* work is given for a graph, whose uses are known */
    struct rt_trail trail;
    struct rt_pool *pool;
};

/* Finds and opens a device by name: "cpu", "simt", "cuda" (the first), "cuda:N", "gpu" (cuda:0 where one works, else
 * simt). NULL and RT_INVALID for other names, RT_MISSING when the device is not there. Thread-safe. */
struct rt_device *rt_device_open(const char *name, struct rt_error *e);

/* The default device: what rt_device_set_default chose, or LUNARRAY_DEVICE, or "gpu". */
struct rt_device *rt_device_default(struct rt_error *e);
void rt_device_set_default(struct rt_device *d);

/* The default device when it was opened already; else NULL. */
struct rt_device *rt_device_known(void);
/* Opening the default device takes no time to speak of: it is no GPU, whose driver starts slowly. */
bool rt_device_is_near(void);

/* How many devices there are, and the i-th (from 0): the GPUs first, then simt, then cpu. */
int rt_device_count(void);
struct rt_device *rt_device_at(int i, struct rt_error *e);

/* The devices that were opened so far, in the same order: the first for NULL, then the one after d; NULL at the end. */
struct rt_device *rt_device_next_opened(const struct rt_device *d);

/* Makes the device's context current on this thread. Called by everything in runtime/ before it uses the driver. */
enum rt_status rt_device_enter(struct rt_device *d, struct rt_error *e);

/* Notes a launch on a GPU in its trail; place NULL: not known. */
void rt_device_note(struct rt_device *d, const char *kernel, const char *place, int line);

/* Waits until all work given to the device is done. Polls rt_interrupted while it waits and then returns
 * RT_INTERRUPTED (a GPU's kernel goes on running, the software GPU's was stopped). Reports faults of earlier kernels.
 * After a fault on a GPU the context is made anew and `generation` counts up. */
enum rt_status rt_device_synchronize(struct rt_device *d, struct rt_error *e);

/* driver_check for a call on this device; after a fault that cost a GPU its context it also does what
 * rt_device_synchronize does: a new context, `generation` counts up. */
enum rt_status rt_device_check(struct rt_device *d, CUresult result, struct rt_error *e, const char *what);

/* Bytes free and in all, as the driver says (the host's for cpu). */
enum rt_status rt_device_memory(struct rt_device *d, size_t *free_bytes, size_t *total_bytes, struct rt_error *e);

/* Bytes of the heap that malloc in kernels uses. It can be set (RT_INVALID else) until the first kernel that uses it
 * has run; the size that it got is returned. */
enum rt_status rt_device_heap(struct rt_device *d, size_t *bytes, struct rt_error *e);
enum rt_status rt_device_set_heap(struct rt_device *d, size_t bytes, struct rt_error *e);

/* Kernels run on it: simt and cuda. */
static inline bool rt_device_runs_kernels(const struct rt_device *d)
{
    return d->driver != NULL;
}

#endif
