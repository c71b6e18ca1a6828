/* Inside the executor: how warps, blocks and launches run what decode.c made of a program (insn.h).
 *
 * A function's registers live in a frame. Each is a vector of 32 lanes, of 4 bytes (types up to 32 bits) or of 8; a
 * predicate is one 32-bit mask. Immediates are vectors filled in when the frame is made, so an operand is always the
 * byte offset of a vector. Every instruction is a function (an `op`) over the lanes of a mask.
 *
 * A warp is a set of splits: lanes that share pc and frame. The deepest, then lowest pc runs first, and splits that
 * meet merge. So lanes wait where a loop ends for those that are still in it, as on a GPU. When nothing else in the
 * launch changes, lanes may be waiting for each other: then the split that waited longest goes on (apart.c).
 *
 * A host thread runs a block to its end, unless all its warps only wait for what other blocks do, or it has run for
 * long: then it puts the block aside and starts or resumes another, so that blocks that are resident at once make
 * progress beside each other.
 *
 * So whatever can run does run after a bounded time: after some slices alike those of a warp begin with the split that
 * waited longest, the warps of a block have their slices in turn, and blocks that were put aside are resumed in turn.
 */
#ifndef SIMT_EXEC_H
#define SIMT_EXEC_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "runtime/simt/insn.h"

#define FULL            0xffffffffu
#define LINE_BYTES      64   /* of the cache: vectors that lie in one line each are read and written in half the time */
#define RESERVED_SHARED 1024 /* bytes at the start, in programs that ask where it is: cooperative groups */
#define FUNCTION_BASE   0x0000100000000000u /* what the address of function i is: FUNCTION_BASE + 16 * i */
#define WARP_GROUP      4                   /* warps that wgmma is executed by */
#define USER_BARRIERS   16
#define MAX_BARRIERS    (USER_BARRIERS + SIMT_MAX_THREADS / SIMT_WARP / WARP_GROUP) /* and one for each warp group */
#define CLUSTER_BARRIER 16 /* what a split that waits for the cluster has for a barrier */
#define MAX_CLUSTER     SIMT_MAX_CLUSTER
#define CLUSTER_SHIFT   24     /* in an address of shared memory: above it stands the block's rank + 1, or 0: the own */
#define MAX_DEPTH       1024   /* nested calls */
#define MAX_LOCAL       524288 /* bytes a thread, as on a GPU */
#define RECURSIVE_LOCAL 32768  /* bytes a thread for programs whose depth of calls is not known */
#define ALLOCA_LOCAL    8192   /* bytes a thread at the end of local memory, for programs that call alloca */
#define SLICE           2048   /* jumps back before a warp or split yields */
#define WORKSPACE       64     /* bytes of what the barriers of a cooperative grid count in */
#define SPIN_COST       24     /* what an atomic or volatile access adds to a jump's cost: such loops wait for others */
#define WAIT_COST       (SLICE / 8) /* of what only waits, as a sleep */
#define LOOK_COST       (SLICE / 2) /* under checks, a look at what is as it was */
#define LOADS_AHEAD     4           /* times four loads that are done at once */
#define WALKS           4           /* loads along rows in a loop */
#define LOOK_AHEAD      4           /* steps of a loop over memory that data are fetched before they are wanted */
#define TURNS           64          /* slices of each of its warps before a block lets others run */
#define ZONE_BLOCKS     64          /* of generated code in which lanes part, with that where they meet */
#define SHORT_SLICE     (SLICE / 8) /* of a warp that looked in vain in its last one */
#define LOOKS           4 /* the same for slices that went into looking, once in each round of a loop with barriers */

struct frame {
    struct frame *parent;
    struct frame *next_free, *next; /* next: all frames of the warp */
    const struct function *function;
    uint32_t return_pc;
    const struct call_site *site;
    uint32_t lanes; /* that have not returned */
    uint32_t local_base;
    int depth;
    char *regs;
    uint32_t allocated[SIMT_WARP]; /* what the warp's was before the call, of functions that call alloca */
};

enum split_state { SPLIT_RUN, SPLIT_BARRIER, SPLIT_SYNC };
struct split {
    uint32_t pc, mask;
    struct frame *frame;
    enum split_state state;
    uint32_t barrier; /* id or CLUSTER_BARRIER, while state is SPLIT_BARRIER */
    uint64_t stamp;   /* when it last ran */
};

struct range {
    uint64_t low, high; /* a live allocation, or host memory that kernels may use: [low, high) */
    ptrdiff_t bias;     /* from its addresses to the host's */
    uint64_t last;      /* where the last full warp's access began */
};

#define QUICK_SCATTERED INT64_MIN
#define QUICK_HALF(h)   ((uint64_t)((h) + 1) << 62)
#define QUICK_SOME      (UINT64_C(1) << 32)

#define QUIET_LINE      64
#define QUIET_RECORD    16
#define TALLIES         8     /* instructions of a function that may have one */
struct tally {                /* of a worker: what one instruction is still to add to an allocation (tally.h) */
    const struct insn *owner; /* NULL: none at present */
    uint64_t low, bytes;      /* the allocation, as whole cells; 0 bytes: none at present */
    void *cells;              /* the sums */
    size_t capacity;
    uint32_t size;           /* of a cell */
    uint32_t tries, strikes; /* warps that added in memory since the last tally; tallies that did not pay */
    uint64_t added;          /* warps that added to the sums since they were poured out */
};

/* Generated code for the full warps of a block, and for its last one where that has fewer than 32 threads; NULL: none.
 */
struct jit_code;
struct jit_codes {
    const struct jit_code *full, *last;
};

struct worker;
struct warp {
    struct worker *worker;
    /* Generated code that does all by itself needs no more than this line of a warp, between one and the next. */
    struct frame *entry_frame;
    char *entry_regs;   /* its regs */
    const void *resume; /* where generated code goes on, when it came back for a barrier or at the end of a slice */
    int budget;
    uint32_t pc, mask; /* of the running split */
    bool closely;      /* the observer is to see all that it does: no generated code */
    bool midway;       /* it may stand where no generated code begins; the next branch may lead to some */
    bool generated;    /* its code fits: */
    int misfits;       /* in this block: how often values had not the shapes that the code expects */
    const struct jit_code *jit;
    const struct insn *code;
    int index; /* in the block */
    uint32_t alive, exists;
    uint32_t threads; /* lanes of threads; others that exist repeat them: exec.c */
    uint32_t current, split_count;
    uint32_t stop; /* the running split may merge or must yield at this pc */
    bool forced;   /* a split runs out of order, for fairness */
    bool sliced;   /* its slice is over */
    int slice;     /* that it was given */
    struct {
        uint32_t mask, splits, slices; /* how it stood at the end of a slice, and so many slices in a row */
        bool vain;                     /* in the last of which it looked for what did not come */
        int64_t since;                 /* in nanoseconds, SLICES_ALIKE after the first */
    } alike;
    int waited;     /* so much of the slice's budget went into looking at what other blocks may change */
    int looked;     /* or other threads of this one */
    bool elsewhere; /* and at anything but what the grid's barrier counts in */
    uint32_t local_base;
    char *local; /* host memory: lane l's local memory is local + l * worker->local_bytes */
    char *shared;
    uint64_t clock;
    struct frame *frame; /* of the running split */
    struct frame *free_frames, *all_frames;
    uint32_t tested;               /* lanes that an mbarrier told to wait on: ops_async.c */
    uint32_t carry;                /* condition code of add.cc and the like, by lane */
    uint32_t allocated[SIMT_WARP]; /* bytes of alloca's part of local memory that are taken, from its end */
    /* Of generated code in which lanes have parted (jit_masked.c): those that run, and the others; which part of the
     * code that is, and who waits at its blocks; addresses of lanes, for a moment. */
    uint32_t parted, others, zone, waits[ZONE_BLOCKS];
    _Alignas(LINE_BYTES) uint64_t addresses[SIMT_WARP];
    uint32_t ahead[4 * LOADS_AHEAD][SIMT_WARP]; /* of generated code: what instructions to come have loaded */
    /* The same of rounds to come: four words of each lane, and how many bytes of them are of the past. */
    uint32_t walked[WALKS][4][SIMT_WARP], walks[WALKS];
    struct split splits[SIMT_WARP];
    uint32_t tid[3][SIMT_WARP];
    uint32_t met_cluster; /* lanes that arrived at the cluster's barrier: all have since, they must not wait */
    uint32_t at_cluster;  /* lanes that arrived at it in this phase */
};

/* Of a warp whose first n lanes have threads, the lane that another one repeats; itself if it has a thread. */
static inline uint32_t simt_repeated_lane(uint32_t n, uint32_t lane)
{
    return lane < n ? lane : n & (n - 1) ? n - 1 : lane & (n - 1);
}
/* How many lanes have threads: the first ones. */
static inline uint32_t simt_thread_count(const struct warp *w)
{
    return SIMT_WARP - (uint32_t)__builtin_clz(w->threads);
}
/* The lanes, and those that repeat one of them. */
static inline uint32_t simt_with_repeats(const struct warp *w, uint32_t m)
{
    uint32_t n = simt_thread_count(w);
    if (w->exists == w->threads) return m;
    if (n & (n - 1)) return m | (m >> (n - 1) & 1 ? ~w->threads : 0); /* as simt_repeated_lane has it */
    for (; n < SIMT_WARP; n *= 2) m |= m << n;
    return m;
}
static inline uint32_t simt_original(const struct warp *w, uint32_t lane)
{
    return simt_repeated_lane(simt_thread_count(w), lane);
}
/* exec_repeat.c: is the instruction to be run for lanes with threads alone, where others repeat them? Does so, for
 * those of m; gives all of m that repeat one what that has got. */
bool simt_runs_once(const struct insn *i);
enum event simt_run_once(char *R, const struct insn *i, uint32_t m, struct warp *w);
void simt_repeat_result(char *R, const struct insn *i, uint32_t m, struct warp *w);

/* 1, 2, 4 or 8 bytes of memory: a copy of a number that is not known takes longer than what else a lane needs. */
static inline uint64_t simt_bytes_at(const void *p, uint32_t size)
{
    uint64_t v = 0;
    switch (size) {
    case 1: memcpy(&v, p, 1); break;
    case 2: memcpy(&v, p, 2); break;
    case 4: memcpy(&v, p, 4); break;
    default: memcpy(&v, p, 8);
    }
    return v;
}
static inline void simt_set_bytes(void *p, uint32_t size, uint64_t v)
{
    switch (size) {
    case 1: memcpy(p, &v, 1); break;
    case 2: memcpy(p, &v, 2); break;
    case 4: memcpy(p, &v, 4); break;
    default: memcpy(p, &v, 8);
    }
}

struct barrier {
    uint32_t arrived[32]; /* lanes by warp */
    uint32_t total;       /* threads arrived */
    uint32_t expected;    /* threads, when a count was given; else 0 */
    uint32_t count;       /* of true predicates: bar.red */
};

struct run;
/* An access to shared memory, as an observer keeps it until it is known whether anybody cares. */
struct shared_note {
    struct warp *warp;
    const struct insn *insn;
    uint32_t time;
    uint16_t site;       /* the observer's own; 0: that of the instruction */
    uint8_t rows, bytes; /* rows: `at` has the two places where the halves begin; without, that of each lane */
    uint32_t mask;
    uint32_t count; /* so many accesses that follow each other, `stride` bytes apart */
    int32_t stride, step;
    uint32_t met; /* the observer's own, where site is */
    uint32_t at[];
};
#define SHARED_ROWS_UNIT    5  /* `rows` where both halves' lanes are neighbours */
#define SHARED_ROWS_UNIFORM 10 /* or have one place */
#define SHARED_NOTE_ROWS    (sizeof(struct shared_note) + 2 * sizeof(uint32_t))

/* The blocks that run as one cluster. One host thread runs them all, in turn, so what they do to each other needs no
 * lock. A launch without clusters has one block in each. */
struct cluster {
    uint32_t size;
    struct worker *members[MAX_CLUSTER]; /* by rank */
    uint32_t arrived;                    /* threads at the barrier in this phase */
    uint64_t phase;
};

struct worker { /* what runs one block: its registers, memory and barriers, used again for the next */
    struct run *run;
    const struct simt_program *program;
    char *shared;
    uint32_t shared_bytes, local_bytes;
    struct tensor_memory *tensors; /* NULL: nothing was allocated there yet */
    char *local;
    uint32_t lane_local[SIMT_WARP]; /* where each lane's begins, in its warp's */
    struct warp *warps;
    uint32_t warp_count, live; /* threads of the block that have not exited */
    uint32_t live_then;        /* as many, when it was last put aside */
    struct barrier barriers[MAX_BARRIERS];
    uint32_t barriers_used; /* those that threads have arrived at, by bits */
    struct range *ranges;
    uint32_t failed_tests; /* of mbarriers, in a row */
    bool all_waited;       /* did all threads wait when they were looked at last? */
    bool leaves, yields;   /* behind this instruction on an mbarrier generated code is left; others have their turn */
    uint8_t tallied;       /* the tallies that have something to add, by bits */
    struct tally tallies[TALLIES];
    struct jit_codes jit;
    uint32_t controls[4];         /* of the thread's float arithmetic, by how that rounds; as enum jit_rounding */
    bool quick;                   /* the block has no splits: simt_jit_block_run */
    bool fits;                    /* all warps are ready, and code was generated that fits them */
    bool at_entry;                /* its warps stand in their entry frames, as all quick blocks leave them */
    bool first_round;             /* of a quick block's warps; those that have not run have no pc and resume yet */
    uint32_t quick_left;          /* warps of a quick block that have not ended */
    uint32_t row;                 /* blocks that may follow it in generated code, each from the one before along x */
    struct warp *left;            /* the warp that left generated code last */
    struct jit_range *jit_ranges; /* right behind the worker, where generated code finds them */
    const char *params;
    uint32_t param_bytes;
    ptrdiff_t bias;
    ptrdiff_t jit_bias; /* of what generated code moves itself: as bias, or, where kernels have but host memory, 0 */
    unsigned block[3];
    uint64_t block_index;
    int multiprocessor; /* %smid */
    uint32_t turn;      /* the warp to go on with */
    int delays;         /* times that it waited since another block faulted */
    bool changed;       /* a warp has done anything but look for what did not come, since it was put aside */
    int vain_rounds;    /* times that it was put aside and had not, since there were so many changes in the run: */
    uint64_t vain_since;
    bool looks;             /* it was put aside since all it did was to look for what others do, not for being long */
    struct worker *all;     /* the next of all of a run */
    struct worker *waiting; /* the next that waits, or that is idle */
    struct simt_fault fault;
    struct simt_observer *observer; /* NULL: none */
    void *observed;                 /* the observer's own */
    struct {                        /* of the observer, for generated code */
        struct {                    /* tags of 1 << log bytes of shared memory: */
            uint32_t *read;         /* who read them */
            uint32_t *written;      /* and wrote them */
        } tags[3];                  /* by log */
        uint32_t now;               /* the tag of words that all may read; UINT32_MAX: every read is noted */
        uint32_t many;              /* the tag of words that several threads read */
        uint32_t first;             /* that of what the block's first thread writes; those below are of the past */
        uint32_t base;              /* what this block wrote has no lower one */
        uint32_t time;              /* for notes */
        uint32_t meets;             /* before this time a warp may meet by struct simt_times; 0: it may not */
        char *note, *end;           /* where the next note goes, and where there is no more room */
        /* Records of QUIET_LINE bytes of global memory: how they begin where all may read, and where one warp read or
         * wrote all, by the log of a lane's words; what is recorded of the block's first thread; the record that a
         * write will end, which may be `none`; and whether host threads run at once. */
        uint64_t line, heads[2][2], me;
        void *held;
        uint64_t none[3];
        uint32_t parallel;
        uint32_t steady;        /* nothing is to be said of the block's shared memory */
        _Atomic uint32_t noted; /* the observer has noted a store that may not be in memory yet: 0 when it is, which
                                   whoever runs the instruction sees to */
    } quiet;
    uint64_t turn_index;     /* which cluster of the grid this is: blocks start by it */
    struct cluster *cluster; /* that of its member of rank 0 */
    struct cluster own;      /* of rank 0 */
    uint32_t rank;
    bool ended; /* rank by rank: this block has, others of the cluster may not */
};

/* Where its ranges begin. */
#define RANGES_AT ((sizeof(struct worker) + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES)

/* Behind an instruction that an observer watches. */
static inline void simt_noted_is_done(struct worker *k)
{
    atomic_store_explicit(&k->quiet.noted, 0, memory_order_release);
}

struct output {
    char *text;
    size_t length, capacity;
};

struct blocks { /* from next on, those before end */
    uint64_t next, end;
};

struct run { /* one launch */
    const struct simt_launch *launch;
    const struct simt_program *program;
    const struct function *entry;
    struct jit_codes jit;
    bool on_host;                 /* all that the arguments point to is host memory that kernels may use */
    unsigned cluster[3];          /* blocks of a cluster along each axis */
    uint64_t takes;               /* a thread takes one of so many parts of the clusters that are left */
    _Atomic uint64_t fault_block; /* clusters above it need not run */
    uint64_t workspace;           /* device address of what grid-wide barriers count in; 0: no cooperative launch */
    pthread_mutex_t *lock;        /* of all below */
    struct blocks left;           /* clusters that no thread has taken */
    struct blocks *returned;      /* that a thread has taken and given back, at most one range for each host thread */
    int returned_count;
    struct worker *workers;
    int worker_count;
    int worker_limit, most_workers; /* as many as blocks are resident on the device, and on a large GPU */
    struct worker *idle;            /* those that have no block */
    int idle_count;
    struct worker *first_waiting, **last_waiting;
    _Atomic int waiting_count;
    uint64_t ended;      /* times that a block was put aside of which threads had ended since it had been */
    uint64_t changes;    /* times that a block was put aside in which anything had changed, or that such a one ended */
    _Atomic int in_vain; /* blocks in which nothing has since */
    int at_grid;         /* and all that their threads do is to wait at the grid's barrier */
    _Atomic int stuck;   /* so many do, and no others are left; 0: it is not so */
    _Atomic bool apart;  /* nothing did in any: lanes wait for others of their warp, which go on behind their loops */
    struct simt_fault fault;
    struct output output;
};

/* Lanes that wait for others of their warp: apart.c. */
static inline bool simt_goes_apart(const struct run *r)
{
    return atomic_load_explicit(&r->apart, memory_order_relaxed);
}
void simt_slice_ends(struct warp *w);
void simt_report_stuck(struct warp *w); /* all that are left wait for the grid's barrier: its fault */
/* Of a launch that goes apart: lanes leave a loop by not taking this branch, the last split of the warp. */
void simt_leave_first(struct warp *w, const struct insn *i);
void simt_note_changes(struct worker *k); /* it is put aside; with the run's lock held */
void simt_note_end(struct run *r);        /* of a block, which others may have waited for */

/* For generated code, where all lanes of a warp meet and worker->quiet.meets says that this is all: what the observer
 * keeps of the block has the new time in these places, and for warp 0, behind which the others' follow, in those. */
struct simt_times {
    uint32_t now, since; /* bytes from worker->observed on */
    uint32_t met, seen;
    int32_t step; /* that quiet.me grows by with the time */
};

/* Watches a launch: checks, profiles and traces are observers. An observed launch runs in an instance of the loop of
 * its own, so that others pay nothing. Several host threads call the same observer at once; what it keeps of a block
 * hangs on worker->observed. Members but `before` may be NULL. */
struct simt_observer {
    bool tracks_writes;   /* it tells simt_written_bits what is written: simt_wrote_everything is not wanted */
    const uint8_t *watch; /* by pc: not 0 where `before` is to be called; NULL: everywhere */
    unsigned way;         /* `watch` is the same for all launches of a function that have the same number here */
    /* For generated code, which runs watched launches when there are both. All lanes of a warp are about to touch what
     * the instruction says: lanes 0 to 15 from `first` on, the others from `second` on, `step` bytes apart; then so
     * many times in all as the low half of `more` says, as many bytes further on as its high half says, for
     * instructions that follow. Offsets in shared memory are right, of that variable, and aligned. Global memory: the
     * low half of `more` is a number above that of the first range where the observer may leave a window for such
     * accesses, the high half says how many there are, 0: none, plus QUICK_HALF(0 or 1) when the other half of the
     * lanes is not asked for. With QUICK_SCATTERED for `step` the lanes are those of the
     * mask `first`, their addresses any, and in the frame. With QUICK_SOME in `pc` they are w->parted, some of those
     * that are meant without. True: go on. False: `before` is to see it. */
    bool (*quick)(struct warp *w, uint64_t pc, int64_t step, uint64_t first, uint64_t second, uint64_t more);
    struct simt_times times;
    /* All threads of the block meet at a barrier, at one place: instead of `barrier`. */
    void (*met)(struct simt_observer *o, struct worker *k);
    /* About to run instruction i for lanes *m (never none); w->pc is its place. It may take lanes of instructions that
     * don't jump out of *m: they go on behind it. EV_NEXT, or EV_FAULT with the worker's fault filled. Instructions
     * that wait (_sync, those of another branch) come here again when they are tried again. What an entry computes
     * once for all blocks (function->setup) comes here when a worker runs its first block. */
    enum event (*before)(struct simt_observer *o, struct warp *w, const struct insn *i, uint32_t *m);
    /* A watched instruction whose guard excludes all lanes of the running split is passed over; w->pc is its place. */
    void (*skipped)(struct simt_observer *o, struct warp *w, const struct insn *i);
    /* Before anything runs, from simt_run's thread. False: the fault is filled, nothing runs. launch_end is called
     * after all else in any case. */
    bool (*launch_start)(struct simt_observer *o, const struct simt_launch *l, struct simt_fault *fault);
    void (*launch_end)(struct simt_observer *o, struct simt_fault *fault); /* which it may fill, too */
    /* A block begins; false: the worker's fault is filled. */
    bool (*block_start)(struct simt_observer *o, struct worker *k);
    void (*block_end)(struct simt_observer *o, struct worker *k); /* also after a fault */
    /* Barrier `id`, or CLUSTER_BARRIER for each block of a cluster, is complete; its splits still stand at it
     * (SPLIT_BARRIER). */
    void (*barrier)(struct simt_observer *o, struct worker *k, uint32_t id);
    /* Lanes m of the warp meet at a _sync instruction; *masks are the member masks they gave, by lane; NULL: just
     * these, all of them. Only the barrier of lanes, __syncwarp(), `orders` what they did to memory; shuffles and votes
     * just wait for each other. */
    void (*warp_sync)(struct simt_observer *o, struct warp *w, const uint32_t *masks, uint32_t m, bool orders);
    /* For generated code: all lanes of a warp come to a barrier of lanes with these masks. True: it is complete, since
     * each meets those that it met last, and all is done. */
    bool (*meets_again)(struct warp *w, const uint32_t *masks);
    /* malloc gave the lane these bytes at the address. */
    void (*gave)(struct simt_observer *o, struct warp *w, uint32_t lane, uint64_t address, uint64_t bytes);
    /* Nobody can go on; the worker's fault says so. True: the observer reported it, the block ends without a fault. */
    bool (*deadlock)(struct simt_observer *o, struct worker *k);
};

/* Built-in functions, printf.c. */
enum { BUILTIN_VPRINTF, BUILTIN_ASSERTFAIL, BUILTIN_MALLOC, BUILTIN_FREE, BUILTIN_COUNT };
int simt_builtin_find(const char *name); /* -1 when there is none */
enum event simt_builtin_call(struct warp *w, const struct call_site *site, uint32_t m);
/* exec_atomic.c: the atomic of the instruction's mode, type and size on one cell, whose old value nobody wants. Not
 * cas. In shared memory, which belongs to one host thread, it need not be the host's own. */
void simt_atomic_update(const struct insn *i, void *cell, const void *operand);
/* Argument k of a lane's call. */
uint64_t simt_call_argument(struct warp *w, const struct call_site *c, uint32_t lane, uint32_t k);
void simt_output_flush(struct output *o);

/* An address of shared or local memory, which has 32 bits: an index below zero and an offset beyond it may meet. */
static inline uint64_t simt_window_address(uint32_t base, int64_t offset)
{
    return (uint32_t)(base + (uint32_t)offset);
}
/* Memory, exec_memory.c. Host address of `size` bytes at a device address of one lane, or NULL with the fault filled.
 * space: PTX_GENERIC, GLOBAL, SHARED, LOCAL (offsets in the latter two). */
void *simt_lane_address(struct warp *w, const struct insn *i, int lane, enum ptx_space space, uint64_t address,
                        uint32_t size, bool store);
/* Remembers the allocation, or host memory that kernels may use, which holds these bytes. False: there is none. */
bool simt_range_find(struct worker *k, struct range *g, uint64_t address, uint64_t bytes);
/* A string of device memory; copies at most n - 1 bytes. */
bool simt_lane_string(struct warp *w, int lane, uint64_t address, char *out, size_t n);

#define SIMT_OWN_ATOMIC                                                                                                \
    "an atomic on a thread's own variable, which GPUs can't do; no other thread sees that, so += will do"

/* warp.c: fills the worker's fault for a lane of the running instruction. Returns EV_FAULT. */
enum event simt_fault_set(struct warp *w, int lane, enum simt_fault_kind kind, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Splits the running split: lanes of `m` stay current, the others go on at `pc` in state `state`. */
void simt_fork(struct warp *w, uint32_t m, uint32_t pc, enum split_state state);
/* Have all arrived that it waits for? */
bool simt_barrier_complete(const struct worker *k, const struct barrier *b);
/* Which of the lanes m may run a .sync instruction whose member masks are at `masks`: those whose whole group is here.
 * The others are put aside to wait. The op works on *ready and returns what this returned. */
enum event simt_sync(struct warp *w, const uint32_t *masks, uint32_t m, uint32_t *ready);
/* Is it one of these, or does it look at which lanes run? */
bool simt_is_exchange(op_function run);
bool simt_is_warp_sync(op_function run); /* the barrier of lanes */
/* Is it a shuffle by lane or by xor? Then the lane that each of the warp at hand reads, and those whose is in range. */
bool simt_shuffle_reads(const struct warp *w, const struct insn *i, uint32_t from[SIMT_WARP], uint32_t *inside);
/* __syncwarp() where it is known that all 32 lanes are here and named. */
void simt_whole_sync(struct warp *w);
/* Lets lanes go on that wait for each other in different lines, or in a function that they came to from different ones:
 * what must be the same is the operation, its qualifiers and the mask. True when there were some. Matrix operations ask
 * for one place. */
bool simt_sync_release(struct warp *w);
/* Puts the block's warps at their start. False without memory, with the fault filled. */
bool simt_block_start(struct worker *k);
enum block_outcome {
    BLOCK_DONE,
    BLOCK_WAITS,  /* all its warps wait for other blocks, or it had its turn: to be called again */
    BLOCK_STUCK,  /* likewise, and nothing but the cluster's barrier will let it go on */
    BLOCK_STOPPED /* by its fault, or without one because a block before it has one */
};
/* Runs the warps of a block that was started. */
enum block_outcome simt_block_run(struct worker *k);
/* Ends a block that waits. */
void simt_block_abandon(struct worker *k);
/* Ends a stuck block, by its fault, or done when the observer has told what is wrong. */
enum block_outcome simt_block_deadlock(struct worker *k);

/* cluster.c: the same for the blocks of a cluster of several, by the worker of rank 0. A fault is that worker's. */
bool simt_cluster_start(struct worker *first);
enum block_outcome simt_cluster_run(struct worker *first);
void simt_cluster_abandon(struct worker *first);
/* All blocks of the cluster that are left are stuck; it may be one block. */
enum block_outcome simt_cluster_give_up(struct worker *first);
/* Threads of the block ended, or it did: is the barrier complete for the others? */
void simt_cluster_left(struct worker *k, struct warp *w, uint32_t m);
/* The block whose shared memory an address of it lies in, which becomes the offset there; NULL: there is none. */
struct worker *simt_cluster_owner(const struct worker *k, uint64_t *address);
bool simt_warp_start(struct warp *w);
/* Makes what the warp keeps from block to block, if it has not been made: its frame, with what is the same in all. */
bool simt_warp_ready(struct warp *w);
void simt_warp_free(struct warp *w);
struct frame *simt_frame_new(struct warp *w, const struct function *f);
/* Lanes that called a function from one place at different times have frames of their own. Where they wait for each
 * other in it, they go on in one. True when there were some. */
bool simt_frames_join(struct warp *w);

/* The end of a comparison: combines r with the predicate at c as mode says (and, or, xor) and stores it and its
 * opposite. */
void simt_set_predicate(char *R, const struct insn *i, uint32_t m, uint32_t r);

/* The instruction at hand looks at what other threads may change, and so may be what a loop waits for. */
static inline void simt_looks_at(struct warp *w, uint64_t address, int cost)
{
    w->waited += cost;
    w->looked += cost;
    w->elsewhere |= address - w->worker->run->workspace >= WORKSPACE;
}
static inline void simt_looks(struct warp *w, int cost) /* at no address of global memory, or at several */
{
    simt_looks_at(w, 0, cost);
}
static inline void simt_waits(struct warp *w, int cost)
{
    w->budget -= cost;
    simt_looks(w, cost);
}
static inline uint32_t lane_count(uint32_t m)
{
    return m == FULL ? 32 : (uint32_t)__builtin_popcount(m);
}
/* Do all lanes name all? */
static inline bool simt_names_all(const uint32_t *masks)
{
    uint32_t all = FULL;
    for (int l = 0; l < SIMT_WARP; l++) all &= masks[l];
    return all == FULL;
}
/* Lanes whose own mask lacks them. */
static inline uint32_t simt_unnamed(const uint32_t *masks)
{
    static const uint32_t bits[SIMT_WARP] = {
        1u << 0,  1u << 1,  1u << 2,  1u << 3,  1u << 4,  1u << 5,  1u << 6,  1u << 7,  1u << 8,  1u << 9,  1u << 10,
        1u << 11, 1u << 12, 1u << 13, 1u << 14, 1u << 15, 1u << 16, 1u << 17, 1u << 18, 1u << 19, 1u << 20, 1u << 21,
        1u << 22, 1u << 23, 1u << 24, 1u << 25, 1u << 26, 1u << 27, 1u << 28, 1u << 29, 1u << 30, 1u << 31};
    uint32_t lanes = 0;
    for (int l = 0; l < SIMT_WARP; l++) lanes |= ~masks[l] & bits[l];
    return lanes;
}
static inline uint32_t *u32_at(char *R, uint32_t slot)
{
    return (uint32_t *)(void *)(R + slot);
}
static inline uint64_t *u64_at(char *R, uint32_t slot)
{
    return (uint64_t *)(void *)(R + slot);
}
/* The same value for all lanes of a mask. */
static inline void fill_lanes(char *R, uint32_t slot, bool wide, uint32_t m, uint64_t v)
{
    uint32_t *w = u32_at(R, slot);
    uint64_t *q = u64_at(R, slot);
    if (m == FULL && wide) {
        for (int l = 0; l < SIMT_WARP; l++) q[l] = v;
    } else if (m == FULL) {
        for (int l = 0; l < SIMT_WARP; l++) w[l] = (uint32_t)v;
    } else {
        for (; m; m &= m - 1) {
            if (wide)
                q[__builtin_ctz(m)] = v;
            else
                w[__builtin_ctz(m)] = (uint32_t)v;
        }
    }
}

/* Runs the statement for every lane of a mask, from the lowest. EACH_LANE_OF may stand inside an EACH_LANE. */
#define EACH_LANE(l, m)                                                                                                \
    for (uint32_t rest_ = (m), l; rest_ && (l = (uint32_t)__builtin_ctz(rest_), true); rest_ &= rest_ - 1)
#define EACH_LANE_OF(l, m)                                                                                             \
    for (uint32_t inner_ = (m), l; inner_ && (l = (uint32_t)__builtin_ctz(inner_), true); inner_ &= inner_ - 1)

#endif
