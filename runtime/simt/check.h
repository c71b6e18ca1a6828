/* Checks: an observer that finds what a GPU would not tell. Out of bounds and misaligned accesses, use of freed and of
 * never written memory, of shared memory of blocks of a cluster that may not run, data races in shared and global
 * memory and through surfaces and textures, divergent barriers, lanes missing from a _sync mask, integer division by
 * zero.
 *
 * A race is two accesses of different threads to the same bytes, at least one of them a write, that nothing orders:
 * neither barriers (of the block, or of lanes of a warp) nor a fence and an atomic or volatile access that another
 * thread sees. A call of free is a write. Which of them ran first does not matter, so a race is found in every run.
 * Lanes of a warp are not in step. Atomic and volatile accesses don't race with each other, but where the scope of one
 * is its block and the other is another block's, nor do writes of the same value.
 *
 * A wrong access is left out (a load gives 0) and the launch goes on. */
#ifndef SIMT_CHECK_H
#define SIMT_CHECK_H

#include "runtime/simt/simt.h"

/* One row per kind of report: enumerator, the words that users and tests see. */
#define SIMT_CHECK_KINDS(X)                                                                                            \
    X(CHECK_BOUNDS, "out of bounds")                                                                                   \
    X(CHECK_ALIGNMENT, "misaligned")                                                                                   \
    X(CHECK_FREED, "use after free")                                                                                   \
    X(CHECK_FREE, "invalid free")                                                                                      \
    X(CHECK_UNWRITTEN, "uninitialized read")                                                                           \
    X(CHECK_RACE, "race")                                                                                              \
    X(CHECK_ABSENT, "block not running")                                                                               \
    X(CHECK_BARRIER, "barrier divergence")                                                                             \
    X(CHECK_LANE, "missing lane")                                                                                      \
    X(CHECK_DIVISION, "division by zero")
enum simt_check_kind {
#define X(name, text) name,
    SIMT_CHECK_KINDS(X)
#undef X
};
const char *simt_check_kind_name(enum simt_check_kind k);

/* ACCESS_UPDATE is in reports only: what is read and then written in the same line. */
enum simt_access { ACCESS_NONE, ACCESS_READ, ACCESS_WRITE, ACCESS_ATOMIC, ACCESS_FREE, ACCESS_UPDATE };

struct simt_party {   /* a thread that takes part in what is reported */
    const char *file; /* the program's; NULL when the PTX has no .loc */
    int line, column;
    enum simt_access access;
    unsigned thread[3], block[3];
};

/* UNDER_WAY_COPY is a cp.async that may still write, or read its source: UNDER_WAY_FETCH; a cp.async.bulk or st.async
 * may still write to shared memory, or it reads its source, there or in global memory, or writes to that;
 * UNDER_WAY_PRODUCT is a tcgen05.mma that may still read, UNDER_WAY_SUMS one that may still write to tensor memory. */
enum simt_under_way {
    UNDER_WAY_NOT,
    UNDER_WAY_COPY,
    UNDER_WAY_FETCH,
    UNDER_WAY_BULK,
    UNDER_WAY_PRODUCT,
    UNDER_WAY_SUMS,
    UNDER_WAY_SOURCE,
    UNDER_WAY_LOAD,
    UNDER_WAY_STORE
};

struct simt_report {
    enum simt_check_kind kind;
    struct simt_party first, other;
    bool has_other;                   /* other is filled */
    bool across_warps, across_blocks; /* CHECK_RACE: seen between threads of different ones */
    bool in_warps;                    /* likewise, in a block of several warps */
    bool in_grid;                     /* CHECK_RACE: the launch has several blocks, */
    bool cooperative;                 /* which may meet */
    bool fenced_in_block;             /* CHECK_RACE: it has fences of block scope, too */
    enum simt_under_way under_way;    /* CHECK_RACE: the first is a copy that the other thread has not waited for */
    bool of_block;   /* CHECK_RACE: of two atomic or volatile accesses, one of block scope, by two blocks */
    bool in_cluster; /* of shared memory that blocks of a cluster touch */
    bool by_way;     /* CHECK_BARRIER, exited: the other's line is where it parted, not where it ended */
    bool exited; /* CHECK_BARRIER: the other thread has ended, at its line; CHECK_ABSENT: a block; CHECK_LANE: that lane
                  */
    bool in_heap;            /* near what malloc gave out in a kernel */
    bool freed_twice;        /* CHECK_FREE: what malloc gave, which had been freed, by the other one if known */
    struct simt_party given; /* in_heap: where malloc was called, without a thread; line 0: not known */
    bool in_view;            /* CHECK_BOUNDS: outside of the array that was passed, but inside of its allocation */
    enum ptx_space space;    /* of the access: PTX_GLOBAL, PTX_SHARED, PTX_LOCAL */
    int parameter;           /* of the kernel, from 1, that the address was made of; 0: not known */
    int axes;                /* of the texture or surface that it went through, 0: of none; layers counted */
    unsigned element[3];     /* axes: there */
    bool surface;            /* axes: `parameter` is one, or would be */
    uint64_t address;        /* of the access; an offset when the space is shared or local */
    uint32_t size;           /* bytes of the access */
    uint64_t start, bytes;   /* the allocation or variable meant, 0 bytes when none is near */
    bool dynamic;            /* the variable has the shared memory that the launch gives */
    const char *symbol;      /* its name when it is a variable of the program (as in the PTX), else NULL */
    uint32_t lanes;          /* CHECK_LANE: the mask that the thread gave */
    uint32_t reads;          /* CHECK_LANE: 1 + the lane that it reads, which takes no part; 0: it is about another */
    uint64_t count;          /* how often it was seen */
};

/* What an argument of the launch points to, when that is known. An access whose address is made of an
 * argument must lie within what that points to; others, to an allocation that arguments point into, within one of them.
 */
struct simt_extent {
    uint64_t address, bytes;
};

struct simt_check;
/* Checks for one launch. NULL: RT_NOMEM. */
struct simt_check *simt_check_new(const struct simt_extent *extents, size_t count, struct rt_error *e);
void simt_check_free(struct simt_check *c); /* NULL is fine */
/* Before the launch: stores of the same value race, too, as the PTX memory model says. */
void simt_check_set_strict(struct simt_check *c);
/* For simt_observe_next. */
struct simt_observer *simt_check_observer(struct simt_check *c);
/* What was found, ordered by line; one report for a pair of lines. Texts are the program's. *more counts those beyond
 * the limit of 256 groups. */
const struct simt_report *simt_check_reports(struct simt_check *c, size_t *count, uint64_t *more);

#endif
