/* Loaded kernels and their checked launch. */
#ifndef RT_KERNEL_H
#define RT_KERNEL_H

#include "runtime/array.h"
#include "runtime/compile.h"
#include "runtime/tensor.h"
#include "runtime/texture.h"

struct rt_module; /* a program loaded on one device, reference counted */
struct rt_kernel {
    struct rt_module *module;
    const struct rt_program *program; /* owned by the module */
    const struct rt_entry *entry;     /* its signature */
    CUfunction function;
    int registers, shared_bytes, local_bytes, max_threads; /* as the driver reports them */
};

/* Loads a program on its device and takes ownership of it, also on failure. An instruction that the software GPU does
 * not know is reported here with its source line. */
struct rt_module *rt_module_load(struct rt_device *d, struct rt_program *program, struct rt_error *e);
struct rt_module *rt_module_retain(struct rt_module *m);
void rt_module_release(struct rt_module *m);
/* The kernel called `name`; with NULL the only one (RT_INVALID lists them when there are several or none). *out holds a
 * reference to the module until rt_kernel_release. */
enum rt_status rt_module_kernel(struct rt_module *m, const char *name, struct rt_kernel *out, struct rt_error *e);
void rt_kernel_release(struct rt_kernel *k);

/* A __device__ or __constant__ variable of the kernel's module, by its name in the source ("table", "ns::table"), as an
 * array over it, which keeps the module loaded. dtype RT_DTYPE_COUNT: type and shape as the source has them, one
 * element for what is no array, a last axis of 2 to 4 for vector types; else one axis of elements of that dtype.
 * RT_INVALID lists the variables when there is none of that name, and says when the type must be given. */
enum rt_status rt_kernel_global(const struct rt_kernel *k, const char *name, enum rt_dtype dtype, struct rt_array *out,
                                struct rt_error *e);

enum rt_arg_kind {
    RT_ARG_ARRAY,
    RT_ARG_INT,
    RT_ARG_FLOAT,
    RT_ARG_COMPLEX,
    RT_ARG_BOOL,
    RT_ARG_NULL,
    RT_ARG_BYTES,
    RT_ARG_LANES,
    RT_ARG_TEXTURE,
    RT_ARG_TENSOR
};
struct rt_arg {
    enum rt_arg_kind kind;
    union {
        const struct rt_array *array;
        const struct rt_texture *texture; /* or surface */
        const struct rt_tensor_map *tensor;
        int64_t i;
        double f;
        struct rt_complex z; /* for float2, double2 and what else is two parts */
        bool b;
        struct {
            const void *data;
            size_t size;
        } bytes; /* for a struct parameter: its exact bytes */
        struct {
            int count;
            bool whole; /* which of the two it is */
            union {
                int64_t i[4];
                double f[4];
            } of;
        } lanes; /* for float3 and the like */
    } as;
    const char *what; /* how to name a value that has no kind here in messages, e.g. "a table"; else NULL */
};

/* Does a launch ask for checks? Those of array operations do not. */
enum rt_checked { RT_UNCHECKED, RT_CHECKED_DEFAULT, RT_CHECKED, RT_CHECKED_STRICT };
static inline bool rt_is_checked(enum rt_checked asked, bool others)
{
    return asked == RT_CHECKED_DEFAULT ? others : asked != RT_UNCHECKED;
}

struct rt_findings;
struct rt_launch {
    unsigned grid[3], block[3];
    unsigned shared;          /* dynamic shared memory, bytes */
    struct rt_stream *stream; /* NULL: the device's current one */
    const char *place;        /* where it is launched, for a fault that shows later; NULL: not known */
    int line;
    bool cooperative;        /* all blocks are resident at once, so that the grid may synchronise */
    unsigned cluster[3];     /* blocks of a cluster; 0: as the kernel was compiled for */
    enum rt_checked checked; /* what was asked for, which a graph keeps; what becomes of it: */
    /* On the software GPU: checks the launch and fills this (runtime/report.h). What is found is no error, a fault that
     * ends the launch is. NULL: no checks. */
    struct rt_findings *findings;
    bool strict; /* then: stores of one value by several threads are races, too */
};

/* Checks everything against the compiled signature and the device's limits, then launches on the device's stream.
 * RT_INVALID names kernel, parameter, what was expected and what came: count; dtype; device; contiguity; integers that
 * do not fit or floats with a fraction for integer parameters; block and grid limits; shared memory; cooperative grids
 * with more blocks than are resident at once; clusters that the device or the grid has no room for. On the software
 * GPU the launch has finished on return and faults are reported here. */
enum rt_status rt_kernel_launch(const struct rt_kernel *k, const struct rt_launch *l, const struct rt_arg *args,
                                size_t count, struct rt_error *e);
/* Sets block and grid for n threads in one dimension, by the driver's occupancy calculator; whole clusters, where the
 * launch or the kernel asks for them. */
enum rt_status rt_kernel_forall(const struct rt_kernel *k, int64_t n, struct rt_launch *out, struct rt_error *e);

/* Device time between two points of the device's stream, in milliseconds. */
struct rt_timer {
    struct rt_device *device;
    CUevent start, end;
    unsigned generation; /* the device's when they were made */
    double host_start;   /* cpu: monotonic clock */
};
enum rt_status rt_timer_start(struct rt_device *d, struct rt_timer *t, struct rt_error *e);
enum rt_status rt_timer_stop(struct rt_timer *t, double *milliseconds, struct rt_error *e); /* synchronises */
void rt_timer_release(struct rt_timer *t);
double rt_now_ms(void); /* monotonic */

#endif
