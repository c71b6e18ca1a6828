/* The software GPU's driver entry points, one for each row of RT_DRIVER_ENTRIES and RT_DRIVER_NEWER_ENTRIES, and what
 * the driver's files share.
 *
 * Compiled as usual they are hidden and driver_simt() points to them. Compiled with SIMT_EXPORT, for libcuda-simt.so,
 * the same functions carry the driver's real names and are visible; the rest of the driver API, which only programs
 * outside of this one call, is in libcuda/. */
#ifndef SIMT_ENTRIES_H
#define SIMT_ENTRIES_H

#include <time.h>
#include "runtime/driver.h"
#include "runtime/simt/simt.h"

#ifdef SIMT_EXPORT
#define X(member, symbol, parameters)                                                                                  \
    __attribute__((visibility("default"))) CUresult CUDAAPI simt_##member parameters __asm__(#symbol);
#else
#define X(member, symbol, parameters) CUresult CUDAAPI simt_##member parameters;
#endif
RT_DRIVER_ENTRIES(X)
RT_DRIVER_NEWER_ENTRIES(X)
#undef X

/* Returns what the call gives unless that is CUDA_SUCCESS. */
#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        CUresult try_ = (call);                                                                                        \
        if (try_ != CUDA_SUCCESS) return try_;                                                                         \
    } while (0)

/* ---- handles.c: the live objects of the driver, so that a wrong handle is refused, never followed ---- */
enum simt_kind {
    SIMT_CONTEXT,
    SIMT_STREAM,
    SIMT_EVENT,
    SIMT_MODULE,
    SIMT_FUNCTION, /* CUfunction and CUkernel */
    SIMT_MEMORY,   /* the device address of an allocation */
    SIMT_ARRAY,
    SIMT_OBJECT, /* a texture's or surface's handle */
    SIMT_LIBRARY,
    SIMT_LINK,
    SIMT_POOL,
    SIMT_PHYSICAL, /* memory that a program maps itself */
    SIMT_GRAPH,
    SIMT_NODE,
    SIMT_GRAPH_EXEC,
    SIMT_USER_OBJECT
};
struct simt_handle {
    CUcontext owner; /* the context that was current when the object was made; it dies with that */
    uint64_t id;     /* counts all objects of the process */
    void *extra;     /* what the kind wants to know: an allocation's memory pool, an object's description */
};

bool simt_handle_add(void *object, enum simt_kind kind);      /* false without memory */
bool simt_handle_is(const void *object, enum simt_kind kind); /* and lives; any address may be asked for */
bool simt_handle_get(const void *object, enum simt_kind kind, struct simt_handle *out); /* false: it is none */
bool simt_handle_set(const void *object, enum simt_kind kind, void *extra);             /* likewise */
bool simt_handle_disown(const void *object, enum simt_kind kind);                       /* it dies with no context */
bool simt_handle_remove(void *object, enum simt_kind kind);                             /* false: it was none */
/* Some object of a kind that the context owns, of any context for NULL; NULL when there is none. */
void *simt_handle_any(enum simt_kind kind, CUcontext owner);

/* ---- driver.c: contexts ---- */
#define SIMT_LIMITS           8    /* CUlimit values that may be kept */
#define SIMT_HIGHEST_PRIORITY (-5) /* of streams; 0 is the lowest */
struct CUctx_st {
    int uses; /* of the primary context */
    bool primary;
    int attached; /* cuCtxAttach not yet undone */
    unsigned flags;
    uint64_t id;
    size_t limits[SIMT_LIMITS]; /* 0: never set */
    CUfunc_cache cache;
};
CUresult simt_check_device(CUdevice device); /* also CUDA_ERROR_NOT_INITIALIZED */
/* CUDA_SUCCESS, or what a call without cuInit or without a current context returns. What frees or destroys an object
 * needs no current context: the object has its own. */
CUresult simt_ready(void);
CUcontext simt_current(void); /* NULL: none, or one that was destroyed */
CUcontext simt_context_new(unsigned flags);
void simt_context_free(CUcontext context); /* and all that it owns */
/* The primary context's flags and whether it is there. */
CUresult simt_primary_state(unsigned *flags, bool *active);
CUresult simt_primary_set_flags(unsigned flags);

/* ---- driver_stream.c: streams, events, and work that is issued to a stream ---- */
struct CUstream_st {
    unsigned flags;
    int priority;
    CUcontext context;
    uint64_t id;
    void *capture; /* the capture it takes part in, libcuda/capture.c's */
};
struct CUevent_st {
    unsigned flags;
    CUcontext context;
    bool recorded;
    uint64_t number; /* of the queue's item that records it, the last that was issued */
    CUstream stream; /* that it was issued to, as the queue calls that; it may be gone */
    struct timespec time;
    void *captured; /* where in a capture it was recorded last, if in one; a block from malloc */
};

/* A piece of work for a stream, which a capture may keep as a graph's node. Pointers in it are the issuing call's. */
enum simt_work_kind {
    SIMT_WORK_KERNEL,
    SIMT_WORK_COPY,
    SIMT_WORK_FILL,
    SIMT_WORK_HOST,
    SIMT_WORK_RECORD,
    SIMT_WORK_CALL, /* these two are the queue's and in no capture */
    SIMT_WORK_WAIT
};
struct simt_work {
    enum simt_work_kind kind;
    union {
        struct simt_kernel {
            CUfunction function;
            unsigned grid[3], block[3], shared;
            unsigned cluster[3]; /* 0: as the function says */
            bool cooperative;
            const void *params; /* as simt_function_info lays them out */
        } kernel;
        CUDA_MEMCPY3D copy;
        CUDA_MEMSET_NODE_PARAMS fill;
        CUDA_HOST_NODE_PARAMS host;
        CUevent event;
        struct {
            CUresult (*run)(const uint64_t *with);
            bool (*over)(const uint64_t *with); /* of a wait, which looks at memory, if it has one */
            uint64_t with[4];
            bool on_device; /* not beside a kernel */
        } call;             /* a wait without `over` is for the item whose number with[0] is */
    };
};
/* CUDA_SUCCESS when the context is good and the stream is one; NULL and the two special values are streams too. */
CUresult simt_stream_ready(CUstream stream);
CUcontext simt_stream_context(CUstream stream); /* of one that was checked; the special values are the current one's */
/* Has the work captured, or does it: at once, or where there is a queue in its turn. The work was checked, but for what
 * only doing it shows. `simt_issue_now` comes back when it is done. */
CUresult simt_issue(CUstream stream, const struct simt_work *work);
CUresult simt_issue_now(CUstream stream, const struct simt_work *work);
CUresult simt_perform(const struct simt_work *work);
/* CUDA_SUCCESS when no capture forbids the calling thread to allocate, to free or to look at an event: what CUDA calls
 * potentially unsafe. */
CUresult simt_allowed(void);
/* Waits for all work of all streams: before something goes that they may use, or because the program said so. `told`:
 * the call is one that waits in CUDA, too. */
void simt_settle(bool told);
/* The queue of work, which is libcuda-simt.so's: libcuda/queue.c. Without one, all NULL, work is done when it is
 * issued, in the issuing thread, and streams and events are always done. */
extern struct simt_queue {
    CUresult (*issue)(CUstream stream, const struct simt_work *work, bool wait);
    CUresult (*after)(CUstream stream, CUevent event); /* the stream's next work comes after the event */
    bool (*idle)(CUstream stream, bool wait);          /* the stream's work is done */
    bool (*happened)(CUevent event, bool wait);        /* functions that streams call can't wait */
    void (*settle)(bool told);
} simt_queue;
/* Captures of streams, which libcuda/capture.c does. While any is under way (`count`), it is asked whether it takes the
 * work that is issued, and *result then says how that went, and whether a call that waits is allowed, or another that
 * no capture would notice; `leave` is told of streams that go. */
extern struct simt_captures {
    atomic_int count;
    bool (*issue)(CUstream stream, const struct simt_work *work, CUresult *result);
    CUresult (*wait)(CUstream stream, bool whole_context);
    CUresult (*unsafe)(void);
    bool (*join)(CUstream stream, CUevent event, unsigned flags, CUresult *result);
    void (*leave)(CUstream stream);
} simt_captures;

/* Who watches launches of programs outside: libcuda/check.c, when its user asks for checks. `begin` and `end` are
 * called under the device's lock: one gives the observer of a launch, or NULL, the other gets what stopped it. `refuse`
 * hears why code was not loaded or a kernel cannot be had. Who does not watch still hears by `asserted` of an assertion
 * that ended a launch: libcuda/assert.c. */
extern struct simt_watch {
    struct simt_observer *(*begin)(const struct simt_launch *l);
    void (*end)(const struct simt_launch *l, const struct simt_fault *fault);
    void (*refuse)(const char *why, CUresult returned);
    void (*asserted)(const struct simt_launch *l, const struct simt_fault *fault);
} simt_watch;

/* ---- driver_memory.c ---- */
struct CUmemPoolHandle_st {
    size_t used, high, most; /* bytes; most 0: no limit */
    cuuint64_t threshold;    /* kept for the program that set it, as no_reuse is */
    bool no_reuse[3];
    bool destroyed; /* goes with its last allocation */
    bool keeps;     /* what is freed stays with its graph */
};
/* An allocation with its handle, under the device's lock. `pool` may be NULL. */
CUresult simt_memory_new(CUdeviceptr *pointer, size_t bytes, CUmemoryPool pool);
bool simt_memory_free(CUdeviceptr pointer);
/* Host memory that kernels may use; pinned is freed by MemFreeHost, managed by MemFree. */
CUresult simt_host_new(void **pointer, size_t bytes, enum simt_mapped_kind kind, unsigned flags);

/* ---- driver_copy.c ---- */
struct CUarray_st {
    CUDA_ARRAY3D_DESCRIPTOR shape; /* Height and Depth as asked for: 0 where there is no such axis */
    CUdeviceptr memory;
    size_t row, pitch, slice; /* bytes: a row's elements, from row to row, from slice to slice */
    unsigned element;         /* bytes */
};
CUresult simt_finished(void); /* simt_ready, and the result of the work before */
/* A copy along one line; each side is what its type says. */
struct simt_work simt_line_copy(CUmemorytype to_type, CUdeviceptr to, CUmemorytype from_type, CUdeviceptr from,
                                size_t bytes);
/* Held by work that goes on beside a kernel, the queue's copies and fills: the device's lock where there is no queue,
 * or where checks follow what a kernel finds written, else nothing. */
void simt_lock_against_checks(void);
void simt_unlock_against_checks(void);
/* Host code's pointer to a range of device, mapped or managed memory; NULL when it lies in no one allocation. Under
 * the device's lock. */
void *simt_range(CUdeviceptr address, size_t bytes);
CUresult simt_copy(const CUDA_MEMCPY3D *c);
CUresult simt_fill(const CUDA_MEMSET_NODE_PARAMS *f);
CUresult simt_check_fill(const CUDA_MEMSET_NODE_PARAMS *f); /* but for the range */
/* What doing it would return now, without doing it and whatever runs on the device; whether host memory takes part that
 * the driver does not know, or, of a fill, any. */
CUresult simt_look_at_copy(const CUDA_MEMCPY3D *c, bool *pageable);
CUresult simt_look_at_fill(const CUDA_MEMSET_NODE_PARAMS *f, bool *on_host);
/* Rows of `width` values of `size` bytes, `pitch` bytes apart. */
CUresult simt_issue_fill(CUdeviceptr to, unsigned value, unsigned size, size_t pitch, size_t width, size_t height,
                         CUstream stream);

/* ---- driver_texture.c ---- */
#define SIMT_TEXTURE_ALIGN 256 /* CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT */
struct simt_description {      /* kept beside an object's handle */
    CUDA_RESOURCE_DESC resource;
    CUDA_TEXTURE_DESC texture;
    CUDA_RESOURCE_VIEW_DESC view; /* of CU_RES_VIEW_FORMAT_NONE: none */
    bool surface;
};
CUresult simt_find_array(CUarray array); /* CUDA_SUCCESS when it is one */
CUresult simt_find_object(unsigned long long object, bool surface, struct simt_description **out);

/* ---- driver_module.c ---- */
struct CUfunc_st {
    const struct simt_function *function;
    const char *name; /* owned by the program */
    CUmodule module;
    int max_dynamic; /* bytes of dynamic shared memory that a launch may ask for */
    int carveout;
    unsigned cluster[3]; /* blocks of a cluster; 0 when it has none of its own */
    bool large_clusters; /* it may have more blocks than any device takes */
    int cluster_policy;
    struct simt_staged *staged; /* what a launch without arguments takes (libcuda/staged.c); NULL: nothing yet */
    struct CUfunc_st *next;
};
struct CUmod_st {
    struct simt_program *program;
    CUcontext context;           /* that its functions are launched in; NULL: the stream's, of a library */
    struct CUfunc_st *functions; /* those that were asked for */
    CUlibrary library;           /* whose it is, or NULL */
};
/* The JIT options that matter here: where the caller wants texts, and the time it took. */
struct simt_jit {
    char *error, *info;
    size_t error_size, info_size;
    void **error_written, **info_written, **time;
    int registers; /* the most that a thread is to use; 0: no limit */
    struct timespec start;
};
CUresult simt_jit_options(unsigned count, const CUjit_option *options, void **values, struct simt_jit *out);
void simt_jit_result(const struct simt_jit *jit, const char *error, const char *info); /* "" when there is none */
/* Parses PTX, for ptx_free. Errors are the driver's, with a text. */
CUresult simt_read_ptx(const char *text, size_t length, struct ptx_module **out, struct rt_error *e);
CUresult simt_check_function(CUfunction function);
/* Of a function that was checked; kernels of libraries are asked without a context. */
CUresult simt_get_attribute(int *value, CUfunction_attribute attribute, CUfunction function);
CUresult simt_set_attribute(CUfunction function, CUfunction_attribute attribute, int value);
void simt_drop_module(CUmodule m);
/* The handle of a module's function, made at its first use; NULL is CUDA_ERROR_NOT_FOUND. */
CUresult simt_function_of(CUfunction *function, CUmodule module, const struct simt_function *found);
/* Blocks of a kernel that a multiprocessor holds at a time. */
int simt_active_blocks(CUfunction function, int block_size, size_t dynamic_shared);

/* ---- driver_launch.c ---- */
/* The result of work that failed since it was asked last, once. The report is then for simt_take_fault. */
CUresult simt_pending(void);
void simt_keep_error(CUresult r); /* of work that nobody waited for */
void simt_forget_fault(void);
void simt_report_refused(const struct simt_function *f); /* for simt_take_fault: why the entry cannot run */
/* Checks and issues a launch. Either parameters or extra, as for cuLaunchKernel; kernel->params is not read. */
CUresult simt_launch(const struct simt_kernel *kernel, CUstream stream, void **parameters, void **extra);
CUresult simt_check_launch(const struct simt_kernel *kernel);
/* The blocks of a cluster that a launch has along each axis, 0 when it has no clusters; how many they are in all. */
unsigned simt_cluster_of(const struct simt_kernel *kernel, unsigned out[3]);
/* Fills a block of the kernel's param_bytes from one of the two forms. */
CUresult simt_gather(CUfunction function, void **parameters, void **extra, void *block);
void simt_run_kernel(const struct simt_kernel *kernel);
/* One thing at a time happens on the device: held by launches and by what changes its memory. */
void simt_lock(void);
void simt_unlock(void);

#endif
