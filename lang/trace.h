/* Traces inside lang/: what trace.c fills and its text and HTML are made of. */
#ifndef LG_TRACE_H
#define LG_TRACE_H

#include "lang/kernel.h"
#include "runtime/study.h"

struct lg_trace_array { /* an argument, so that pointers into it can be named */
    const char *name;   /* of the parameter */
    uint64_t address, bytes, element;
};
struct lg_trace {
    const struct rt_kernel *kernel;
    struct rt_launch launch;
    struct rt_trace_request request;
    uint32_t shown; /* lanes whose values are listed; 0: all, in short */
    struct simt_trace *result;
    struct lg_trace_array *arrays;
    size_t array_count;
};

/* "block (0, 0, 0), warp 1, threads (32, 0, 0) to (63, 0, 0)". */
void lg_trace_title(const struct lg_trace *t, char *out, size_t size);
/* The step's next change, from *at, which is all zeros at first: "i = 0..31" of a variable, "tile[0..31] = 1..32" of
 * shared memory; cut where it does not fit. False: there are no more. */
struct lg_trace_change {
    uint32_t value, cell, runs;
};
bool lg_trace_change_text(const struct lg_trace *t, const struct simt_trace_step *s, struct lg_trace_change *at,
                          char *out, size_t size);
/* What is to be said when steps were left out; false when none were. */
bool lg_trace_rest(const struct lg_trace *t, size_t shown, char *out, size_t size);
/* The source of a step, without the blanks in front. */
const char *lg_trace_source(const struct lg_trace *t, const struct simt_trace_step *s, size_t *length);

/* Push the trace as text and as HTML. [raises] */
void lg_push_trace_text(lua_State *L, const struct lg_trace *t);
void lg_push_trace_html(lua_State *L, const struct lg_trace *t);

#endif
