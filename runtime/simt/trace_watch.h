/* Inside the tracer: which variables there are at a place of the program, and which of them a step has written; and
 * which elements of shared memory. */
#ifndef SIMT_TRACE_WATCH_H
#define SIMT_TRACE_WATCH_H

#include "runtime/simt/exec.h"
#include "runtime/simt/trace.h"

struct trace_place {   /* a simt_debug_place, found */
    uint32_t from, to; /* PTX instructions of the function */
    uint32_t reg;      /* UINT32_MAX: memory, at `offset` of the frame's local memory */
    uint32_t offset;
};
struct trace_variable {
    uint32_t function, from, to;
    uint32_t variable; /* of debug->variables */
    struct trace_place *places;
    uint32_t place_count;
    uint32_t known; /* lanes whose value has been shown */
    uint64_t last[SIMT_WARP];
};
struct trace_written { /* a register: by which lanes in which step it was written last */
    uint32_t step, lanes;
};

struct trace_watch {
    const struct ptx_module *module;
    const struct simt_program *program;
    uint32_t **slots; /* simt_program_again's */
    struct trace_variable *variables;
    uint32_t count;
    uint32_t *first_register; /* of a function in `registers` */
    struct trace_written *registers;
    uint32_t *local; /* for each byte of local memory the lanes that have written it */
    uint32_t local_bytes;
};
/* Finds the variables in the program. False: no memory. Release in any case. */
bool simt_watch_open(struct trace_watch *w, const struct simt_debug *debug, uint32_t local_bytes);
void simt_watch_close(struct trace_watch *w);

/* Lanes m are about to run the first instruction of a function that was called. */
void simt_watch_enter(struct trace_watch *t, const struct frame *f, uint32_t m);
/* The instruction, about to be run by lanes m in step `step`, will have written. */
void simt_watch_note(struct trace_watch *t, struct warp *w, const struct insn *i, uint32_t m, uint32_t step);

/* The variables of a frame that lanes m changed in the step, where it ended: at PTX instruction `last`, and
 * `position` is it or, when control went straight on, the next. Adds them to the trace's values. False: no memory. */
bool simt_watch_read(struct trace_watch *t, const struct warp *w, const struct frame *f, uint32_t last,
                     uint32_t position, uint32_t m, uint32_t step, struct simt_trace *out);

/* ---- trace_shared.c ---- */
struct trace_write { /* to shared memory, in the step at hand */
    uint32_t address, lanes;
    uint8_t size;
    bool floats;
};
struct trace_shared {
    struct trace_write *writes;
    uint32_t count, room;
};
/* Lists the arrays of shared memory that the launch has. This and the others return false when there is no memory. */
bool simt_shared_open(const struct simt_program *p, const struct simt_launch *l, struct simt_trace *out);
/* The instruction, about to be run by lanes m, will have read or written. */
bool simt_shared_note(struct trace_shared *s, const struct trace_watch *t, struct warp *w, const struct insn *i,
                      uint32_t m, const struct simt_trace *out);
/* Adds what the step wrote to the trace's cells. */
bool simt_shared_read(struct trace_shared *s, const struct warp *w, struct simt_trace *out);
/* All is seen: what the arrays hold is clearer now. */
void simt_shared_close(struct trace_shared *s, struct simt_trace *out);

#endif
