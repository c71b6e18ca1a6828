/* Counts what a launch does, by source line: instructions and lanes, branches, the sectors of global memory that its
 * requests touch, conflicts at the banks of shared memory, collisions of atomics. The figures follow from the kernel
 * and its arguments alone: they do not depend on the number of host threads.
 *
 * An instruction is one of PTX, counted for each warp that reaches it, also where its guard excludes all lanes. */
#ifndef SIMT_PROFILE_H
#define SIMT_PROFILE_H

#include "runtime/simt/study.h"

struct simt_traffic {  /* loads, stores or atomics of global memory */
    uint64_t requests; /* warp instructions */
    uint64_t sectors;  /* of 32 bytes, that they touched */
    uint64_t ideal;    /* that would have held the bytes asked for */
    uint64_t bytes;    /* asked for, by all lanes */
};
struct simt_banks { /* loads, stores or atomics of shared memory */
    uint64_t requests;
    uint64_t turns; /* that the banks took */
    uint64_t ideal; /* without bank conflicts */
    uint64_t bytes;
};
struct simt_counts {              /* nothing but sums */
    uint64_t instructions, lanes; /* lanes that ran them, summed up */
    uint64_t branches, divergent; /* conditional ones; those whose lanes parted */
    uint64_t barriers;
    uint64_t flops; /* operations on floating-point numbers, by all lanes; a fused multiply-add is two */
    uint64_t double_flops, widened, narrowed; /* those of f64; conversions of f32 to it, and back */
    struct simt_traffic load, store, atomic;
    struct simt_banks shared_load, shared_store, shared_atomic;
    uint64_t atomics, atomic_lanes; /* on global and shared memory */
    uint64_t atomic_turns;          /* for each, the most lanes that met at one address */
    uint64_t local_requests, local_bytes;
};

struct simt_profile_line {
    const char *file; /* as the PTX names it; NULL when it does not */
    int line;
    struct simt_counts counts;
};
struct simt_profile {
    struct simt_study study;         /* for simt_study_launches */
    const char *ptx;                 /* the caller's */
    struct simt_profile_line *lines; /* those that were run, by file and line */
    uint32_t count;
    struct simt_counts total;
    char **files;
    size_t file_count;
};
/* A profile to be filled by one launch of a kernel of the PTX, which must stay. NULL: no memory. */
struct simt_profile *simt_profile_new(const char *ptx);
void simt_profile_free(struct simt_profile *p);

#endif
