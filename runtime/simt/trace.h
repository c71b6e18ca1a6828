/* Follows one warp through a launch, step by step: a step is a stretch of one source line that the same lanes run.
 * After each, the variables of the source that it changed are read, and the elements of shared memory that it wrote.
 *
 * It runs PTX that was compiled for debugging (-G): close to the source, and with the places of its variables. */
#ifndef SIMT_TRACE_H
#define SIMT_TRACE_H

#include "runtime/simt/study.h"
#include "runtime/simt/trace_debug.h"

struct simt_trace_value {
    uint32_t variable; /* of debug->variables */
    uint32_t lanes;    /* those that changed it or may have; `bits` holds theirs */
    uint64_t bits[SIMT_WARP];
};
struct simt_trace_array { /* a variable in shared memory */
    char *name;           /* its symbol; from rt_kernel_trace the source's name */
    uint32_t offset, bytes;
    bool floats;   /* an instruction on floats has read or written it */
    bool integers; /* one on integers has read it: a constant of floats may be written by one */
};
struct simt_trace_cell { /* an element of one, as it was accessed: the types of shared variables are not known */
    uint32_t array;      /* of `arrays` */
    uint32_t index;      /* counted without regard to dimensions */
    uint32_t lanes;      /* that wrote it */
    uint32_t size;       /* bytes */
    enum simt_value_kind kind;
    uint64_t bits;
};
struct simt_trace_step {
    int line;
    uint32_t lanes;
    const char *function; /* its symbol */
    uint32_t depth;       /* of calls: 0 in the kernel */
    uint32_t first_value, value_count;
    uint32_t first_cell, cell_count; /* by array and index */
};
struct simt_trace {
    struct simt_study study; /* for simt_study_launches */

    /* What to look at: set by the caller before the launch. */
    const char *ptx;  /* of the kernel, compiled for debugging */
    const char *file; /* the end of the source's name in it; what is run elsewhere is passed over */
    unsigned block[3];
    uint32_t warp;  /* of the block */
    uint32_t limit; /* steps that are kept */

    /* What was seen. */
    struct simt_debug *debug;
    struct simt_trace_step *steps;
    uint32_t step_count;
    struct simt_trace_value *values;
    uint32_t value_count;
    struct simt_trace_array *arrays;
    uint32_t array_count;
    struct simt_trace_cell *cells;
    uint32_t cell_count;
    uint64_t all_steps; /* also those behind the limit */
    uint32_t exists;    /* lanes that are threads */
    char **functions;   /* the names that steps point to */
    uint32_t function_count;

    uint32_t step_room, value_room, cell_room;
};
/* All zeros but for the study. NULL: no memory. */
struct simt_trace *simt_trace_new(void);
void simt_trace_free(struct simt_trace *t);

#endif
