/* Reductions: what is shared by the two ways of running them. A reduction combines the values that a program computes,
 * row by row, in an accumulating dtype, with an operation of ops.def; they are never stored. The order of combining is
 * fixed by shape and strides of those values alone, as if they had been stored first: so results depend neither on the
 * number of threads nor on what is computed on the way. */
#ifndef KN_REDUCE_H
#define KN_REDUCE_H

#include "kernels/program.h"

struct kn_reducer {
    enum kn_reduction reduction;
    enum kn_op combine;       /* add, mul, minimum, maximum, logical_or, logical_and */
    bool indices;             /* argmin, argmax */
    enum rt_dtype accumulate; /* the dtype that elements are combined in */
    enum rt_dtype result;
    struct kn_program program; /* what is reduced; its last node has the accumulating dtype */
    /* The axes of rows and those within one row, of the values: contiguous ones, or an array's when that is all there
     * is to the program. Then those of each leaf, with the same shapes (borrowed storage). */
    struct rt_array rows, row;
    struct {
        struct rt_array rows, row;
    } leaves[KN_MAX_LEAVES];
    int64_t length; /* of a row, 1 at least */
    int64_t count;  /* of rows, 1 at least */
    bool many;      /* the host combines many rows at a time */
    bool filled;    /* those between an array's rows, too, all of them as the rows would be by themselves */
};

/* Of sums and products: integers and bools give int64, unsigned 64-bit ones uint64. */
enum rt_dtype kn_sum_dtype(enum rt_dtype t);

#define KN_MANY_ROWS      64 /* so many are worth reducing together */
#define KN_ROW_OF_WINDOWS 16 /* so many, of KN_MANY_ROWS, where they are windows of an image */
#define KN_FEW_ROWS       8  /* and so many where they lie side by side */
#define KN_SHORT_ROW      32 /* elements below which that holds for rows wherever they lie */
#define KN_GROUP          32 /* elements of each that are then combined one after the other, before groups are in pairs */

/* *out is the array, borrowed, with its axes in the order that they have in memory, upwards. */
void kn_memory_order(const struct rt_array *a, struct rt_array *out);
/* Many rows at a time are faster: when rows are short, or their values farther apart than the rows. */
bool kn_rows_are_near(const struct kn_reducer *r);
/* Whether few rows are combined as if they were more, of which each has some of a row's elements: long ones whose
 * elements lie side by side. All leaves must have a step from one element of a row to the next for that. */
bool kn_reduce_widens(const struct kn_reducer *r);
/* That step, or KN_NO_STEP where there is not one. */
int64_t kn_row_step(const struct rt_array *row);
#define KN_NO_STEP INT64_MIN
/* Whether an array on the host has elements that are the same all along an axis and need be combined only once, and its
 * reduction then, as kn_reduce's. */
bool kn_reduce_repeats(enum kn_reduction k, const struct rt_array *a, unsigned axes);
enum rt_status kn_reduce_repeated(enum kn_reduction k, const struct rt_array *a, unsigned axes, bool keepdims,
                                  struct rt_array *out, struct rt_error *e);
/* Both write the combined values (or 1-based indices) of all rows to `out`, contiguous, of r->result; generated code
 * leaves a mean to be divided, so there it is of r->accumulate. They use up all that r holds. */
enum rt_status kn_reduce_host(struct kn_reducer *r, const struct rt_array *out, struct rt_error *e);
enum rt_status kn_reduce_cuda(struct kn_reducer *r, const struct rt_array *out, struct rt_error *e);
/* The sum of n values, fewer than 4096, of int64, float32 or float64 that lie one after the other, on the host, to the
 * bits that kn_reduce_host gives. */
void kn_sum_values(enum rt_dtype t, const void *values, size_t n, void *sum);
/* Those of rows of n values each, one row after the other. */
void kn_sum_rows(enum rt_dtype t, const void *values, size_t rows, size_t n, void *sums);
/* Likewise their product. */
void kn_multiply_values(enum rt_dtype t, const void *values, size_t n, void *product);
/* What kn_small_reduction is for: some elements that lie in memory as they are, of a real dtype that is its own class,
 * in an array that the host's loops may read. */
bool kn_is_small(const struct rt_array *a);
/* The text that kn_reduce_cuda launches. */
struct kn_text;
void kn_reduce_cuda_source(struct kn_reducer *r, enum rt_dtype out, struct kn_text *t);
/* The kernel of a program's reduction along axes that stay with size 1. */
enum rt_status kn_reduction_source(const struct kn_program *p, enum kn_reduction k, unsigned axes, struct kn_text *t,
                                   struct rt_error *e);

/* For rows.c, which reduces some rows at a time. Whether the reduction k of all along the axes from `outer` on combines
 * many rows at a time, and the reduction of some in that same way into contiguous `out`, which is no mean and no index:
 * to the bits that they have in the reduction of all. Fit to be called from several threads. */
bool kn_reduces_many(const struct kn_program *p, enum kn_reduction k, int outer);
/* Whether generated code has a block for each row of that reduction, and then the program in the dtype that is combined
 * and the operation that does so. */
bool kn_reduces_by_blocks(const struct kn_program *p, enum kn_reduction k, int outer, struct kn_program *combined,
                          enum kn_op *op);
enum rt_status kn_program_reduce_into(const struct kn_program *p, enum kn_reduction k, unsigned axes, bool many,
                                      const struct rt_array *out, struct rt_error *e);

#endif
