/* Stages: programs one after the other, each a reduction along the last axes of the same array, with the axes staying
 * with size 1, or elementwise. On the host all stages are done for as many rows at a time as the cache holds, so what
 * they pass on to each other is read and written there; the results are those of one stage after the other. */
#ifndef KN_ROWS_H
#define KN_ROWS_H

#include "kernels/program.h"

#define KN_MAX_STAGES 16

struct kn_stage {
    struct kn_program program; /* its leaves, but for forms of earlier stages, are whole arrays */
    bool reduces;
    enum kn_reduction reduction; /* but argmin, argmax and mean */
    /* The result's shape, contiguous: with its elements where it is kept; otherwise it is there for as long as its rows
     * are worked on, and later stages have it as a leaf. */
    const struct rt_array *form;
    bool kept;
};

struct kn_rows {
    bool cut;        /* into slabs of some rows, as kn_rows_fit says */
    int ndim, outer; /* axes; the first of those that are reduced */
    int64_t shape[RT_MAX_DIMS];
    int count;
    struct kn_stage stages[]; /* KN_MAX_STAGES at most */
};

/* Whether rows of this shape are worked on some at a time, and not stage by stage: on the host, where a row fits the
 * cache. */
bool kn_rows_fit(const struct rt_array *whole, int outer);
/* Whether only a few rows of this shape are worked on at a time. */
bool kn_rows_are_long(const struct rt_array *whole, int outer);
/* On devices that run generated code: all stages as one kernel, where each row has a block and its kernel is compiled;
 * *status is how that went. False where the stages are to run one after the other. */
bool kn_rows_cuda(const struct kn_rows *r, enum rt_status *status, struct rt_error *e);
/* The text of that kernel, for stages whose forms have no elements; NULL: only asks whether there would be one. */
struct kn_text;
bool kn_rows_source(const struct kn_rows *r, struct kn_text *t);
enum rt_status kn_rows_run(const struct kn_rows *r, struct rt_error *e);

#endif
