/* The software GPU inside: memory, programs and launches, as simt/driver.c (the driver API over them) uses them.
 *
 * Addresses are 64-bit numbers of the device's own address space; host code that follows one faults, as on a GPU.
 * Generic addresses of the three windows differ in their high bits only, so classifying one costs a compare: shared
 * SIMT_SHARED_BASE + offset within the block's shared memory local   SIMT_LOCAL_BASE + offset within the thread's local
 * memory global  SIMT_GLOBAL_BASE + offset within the arena Constant and __device__ variables live in the global arena.
 */
#ifndef SIMT_SIMT_H
#define SIMT_SIMT_H

#include <stdatomic.h>
#include "runtime/simt/ptx.h"

#define SIMT_WARP        32
#define SIMT_SHARED_BASE 0x0001000000000000u
#define SIMT_LOCAL_BASE  0x0002000000000000u
#define SIMT_PARAM_BASE  0x0003000000000000u /* of a kernel, read only */
#define SIMT_GLOBAL_BASE 0x0004000000000000u

/* The device's limits, as its attributes report them. */
#define SIMT_MAX_THREADS  1024 /* of a block, and along x and y */
#define SIMT_MAX_BLOCK_Z  64
#define SIMT_MAX_GRID_X   0x7FFFFFFF
#define SIMT_MAX_GRID_YZ  65535
#define SIMT_MAX_BLOCKS   16          /* of a multiprocessor */
#define SIMT_LARGE_GPU    132         /* multiprocessors of GPUs that programs with a fixed number of blocks count on */
#define SIMT_SHARED       (48 * 1024) /* bytes of shared memory of a block */
#define SIMT_SHARED_OPTIN (99 * 1024) /* with cuFuncSetAttribute */
#define SIMT_REGISTERS    65536       /* of a multiprocessor */
#define SIMT_CLUSTER      8           /* blocks of a cluster that any device with clusters takes */
#define SIMT_MAX_CLUSTER  16          /* with cuFuncSetAttribute */

/* ---- memory.c: one arena for the process, reserved at first use. Allocations are 256-byte aligned, from 1 MiB on
 * 4096-byte aligned, with a guard gap between neighbours, so an overrun never lands in the next one. Not to be changed
 * while a launch runs. ---- */
struct simt_block {
    uint64_t address; /* device address */
    uint64_t bytes;
};
enum rt_status simt_alloc(size_t bytes, uint64_t *address, struct rt_error *e);
bool simt_free(uint64_t address);                         /* false: not the start of a live allocation */
bool simt_find(uint64_t address, struct simt_block *out); /* the live allocation that holds the address */
bool simt_look(uint64_t address, struct simt_block *out); /* the same, whatever runs on the device and allocates */
/* For reports: the live allocation that an access to the address was meant for. That is the one before it, as overruns
 * are commoner than underruns, unless the next is much closer. */
bool simt_nearest(uint64_t address, struct simt_block *out);
/* Sets how many bytes of an allocation kernels may touch, up to what it was made with. 0 hides a block that the caching
 * pool keeps: an access is then out of bounds. */
bool simt_resize(uint64_t address, size_t bytes);
/* What of it was ever written, for checks. New allocations are unwritten, also those that simt_resize makes visible
 * again. simt_wrote: by somebody other than a checked launch, which sets the bits itself. */
void simt_wrote(uint64_t address, size_t bytes);
void simt_wrote_everything(void);
/* The bits of the allocation that starts at the address, one a byte; NULL when all was written. False: no memory. */
bool simt_written_bits(uint64_t address, _Atomic uint64_t **bits);
/* The same, never NULL unless there is no memory: some of it is about to count as unwritten. */
bool simt_written_anew(uint64_t address, _Atomic uint64_t **bits);
void simt_written_settle(void); /* forgets the bits of what has been written wholly; between launches */
/* The allocation freed last that held the address. */
bool simt_find_freed(uint64_t address, struct simt_block *out);
void simt_memory_reset(void);      /* frees everything */
void *simt_host(uint64_t address); /* host pointer for a global address inside the arena */
/* arena host base minus SIMT_GLOBAL_BASE: host = (char *)address + bias, for the interpreter's fast path */
ptrdiff_t simt_bias(void);
void simt_memory_info(size_t *free_bytes, size_t *total_bytes);

/* ---- mapped.c: host memory that kernels may use by its host address: pinned, registered, managed, managed variables
 * of modules, and what a program maps itself. Changed and looked at under the device's lock, which a launch holds. ----
 */
enum simt_mapped_kind { SIMT_PINNED, SIMT_REGISTERED, SIMT_MANAGED, SIMT_MANAGED_VARIABLE, SIMT_VIRTUAL };
struct simt_mapped {
    uint64_t start, bytes;
    enum simt_mapped_kind kind;
    unsigned flags; /* of the call that made it */
    void *owner;    /* the context; of a variable its program */
    uint64_t id;
};
bool simt_map(const struct simt_mapped *m); /* false without memory */
bool simt_unmap(uint64_t start);
bool simt_mapped_any(void); /* is there any? Under the device's lock, as the next one */
bool simt_mapped_find(uint64_t address, struct simt_mapped *out);
bool simt_mapped_look(uint64_t address, struct simt_mapped *out); /* the same without the device's lock */
/* The first range that begins at `from` or above and that the context owns. */
bool simt_mapped_next(uint64_t from, const void *owner, struct simt_mapped *out);

/* ---- decode_variables.c ---- */
/* From now on managed variables lie in host memory, for programs outside, whose host code uses them. Arrays of our own
 * are in the arena alone, and so are managed variables that become arrays. */
void simt_share_managed(void);

/* ---- decode.c, exec.c ---- */
struct simt_program;  /* a decoded module with its variables placed in memory */
struct simt_function; /* an entry of it */

/* Does not keep m. RT_UNSUPPORTED names instruction and source line, when no entry can do without it. */
struct simt_program *simt_program_new(const struct ptx_module *m, struct rt_error *e);
void simt_program_free(struct simt_program *p);
/* No entry is to count as using more registers. */
void simt_program_limit_registers(struct simt_program *p, int most);
const struct simt_function *simt_program_function(const struct simt_program *p, const char *name);
const struct simt_function *simt_program_entry(const struct simt_program *p, size_t index); /* NULL past the last */
bool simt_program_global(const struct simt_program *p, const char *name, uint64_t *address, size_t *bytes);

struct simt_function_info {
    const char *name;
    int registers; /* 32-bit registers a thread uses, an estimate by type */
    size_t shared_bytes, local_bytes, const_bytes;
    int max_threads;
    uint32_t required_threads[3]; /* of a block along each axis; 0 when any will do */
    int target;                   /* 75 of ".target sm_75" */
    bool is_openmp;               /* gcc's: the lanes of a warp share a stack, and in step do all the same */
    unsigned cluster[3];          /* blocks of a cluster, that the kernel was compiled for; 0 when it was not */
    bool must_cluster;            /* a launch must say how many */
    bool grid_of_clusters;        /* a launch's grid counts clusters, not blocks */
    size_t param_count, param_bytes;
    struct simt_param {
        uint32_t offset, size;
    } * params;
};
const struct simt_function_info *simt_function_info(const struct simt_function *f);
/* Why the entry cannot run: it needs an instruction that is not known, as simt_program_new would say it. NULL: it can.
 */
const char *simt_function_refused(const struct simt_function *f);

enum simt_fault_kind {
    SIMT_FAULT_NONE,
    SIMT_FAULT_ADDRESS,
    SIMT_FAULT_MISALIGNED,
    SIMT_FAULT_SPACE, /* an atomic in local memory */
    SIMT_FAULT_ASSERT,
    SIMT_FAULT_TRAP,
    SIMT_FAULT_DEADLOCK,
    SIMT_FAULT_INTERRUPTED,
    SIMT_FAULT_NOMEM,
    SIMT_FAULT_BARRIER,
    SIMT_FAULT_UNSUPPORTED /* no launch took place: the kernel needs an instruction that the software GPU lacks */
};
struct simt_fault {
    enum simt_fault_kind kind;
    char kernel[128]; /* the entry's symbol */
    char file[128];
    int line, column; /* of the source; 0 when the PTX has no .loc */
    unsigned block[3], thread[3];
    uint64_t address;     /* for ADDRESS and MISALIGNED */
    size_t access_length; /* for ADDRESS: so much of the text names the access; the rest says what lies nearby */
    bool null;            /* it went through a pointer that was null */
    char text[512];       /* "write of 4 bytes at 0x4000000001000, 0 bytes past the end of an allocation of 4096
                             bytes", "assertion `i < n' failed" */
    char assertion[256], function[128]; /* for ASSERT: as assert() has them */
    unsigned first;                     /* for ASSERT: the number in its block of the first thread of the warp */
    uint32_t lanes;                     /* and those of the warp that it fails for */
};

struct simt_observer; /* exec.h */
struct simt_launch {
    const struct simt_function *function;
    unsigned grid[3], block[3];
    size_t dynamic_shared;
    const void *params;             /* param_bytes, laid out as simt_function_info says */
    struct simt_observer *observer; /* NULL: nobody watches */
    unsigned cluster[3];            /* blocks of a cluster; 0: each is for itself. They divide the grid. */
    bool cooperative; /* the grid may wait for all of its blocks: it must not have more than simt_waiting_blocks */
};
/* Blocks of a kernel that are resident on one multiprocessor; there is one for each host thread. The blocks of a launch
 * that have started make progress beside each other, up to that many. */
int simt_resident_blocks(const struct simt_function *f, int threads, size_t dynamic_shared);
/* Blocks that may wait for each other: as many as are resident on a large GPU, as far as there is memory for them. */
int simt_waiting_blocks(const struct simt_function *f, int threads, size_t dynamic_shared);
/* Who gets what kernels print, in place of stdout; called by one thread at a time. */
void simt_print_by(void (*print)(const char *text, size_t bytes));
/* Runs a grid to its end on the host threads; the calling thread takes part. Device printf goes to stdout, whole lines
 * per call, flushed before it returns. Polls rt_interrupted. Returns false and fills *fault when it stopped early (the
 * first fault by block order is reported). */
bool simt_run(const struct simt_launch *l, struct simt_fault *fault);

/* ---- driver.c ---- */
/* The report of the last fault, once: after a driver call returned its error code. False when there is none. */
bool simt_take_fault(struct simt_fault *out);
/* The calling thread's next kernel launch is watched by the observer, which must live until the launch call is back.
 * NULL: by nobody, after all. */
void simt_observe_next(struct simt_observer *o);

#endif
