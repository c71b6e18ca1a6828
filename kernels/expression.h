/* Elementwise results that are not computed yet: a graph whose inner nodes are operations of ops.def and whose leaves
 * are arrays and numbers. Types, shapes and devices are worked out, and mistakes reported, when a node is made; the
 * elements are computed when somebody asks, by one program (kernels/program.h) for the whole graph, and are the very
 * bits that evaluating node by node gives. A node may also be a reduction of another: then there are several programs,
 * which some rows go through at a time where they reduce the same rows (kernels/rows.h).
 *
 * A graph holds references to the arrays that it reads, and whoever writes to their storage must evaluate first
 * (kn_expression_reads). Counted references; one thread at a time works on the graphs of a Lua state. */
#ifndef KN_EXPRESSION_H
#define KN_EXPRESSION_H

#include "kernels/program.h"

struct kn_expression;

/* An operand: an expression when that is not NULL, else an array or a number. All are borrowed. */
struct kn_source {
    struct kn_expression *expression;
    struct kn_operand operand;
    bool full; /* the array was evaluated because the graph had become too large: told by explanations */
};

/* A new node with one reference. Errors as for kn_apply, but for memory: only the node's own is needed. RT_UNSUPPORTED
 * when the graph would be larger than one program: evaluate the operand of the greatest cost and try again. */
enum rt_status kn_expression_new(enum kn_op op, const struct kn_source *args, struct kn_expression **out,
                                 struct rt_error *e);
/* The elements of an array or expression in another dtype, on the same device; otherwise likewise. */
enum rt_status kn_expression_convert(const struct kn_source *from, enum rt_dtype dtype, struct kn_expression **out,
                                     struct rt_error *e);
/* A reduction of them along axes as kn_reduce takes them, which stay with size 1. RT_UNSUPPORTED also for what is no
 * sum, product, min, max, any or all. */
enum rt_status kn_expression_reduce(const struct kn_source *from, enum kn_reduction r, unsigned axes,
                                    struct kn_expression **out, struct rt_error *e);
/* The elements of an array turned round the ends of its axes, as struct kn_rolled has it, or of an expression that is
 * such an array. RT_UNSUPPORTED for other expressions. */
enum rt_status kn_expression_roll(const struct kn_source *from, const int64_t *shift, struct kn_expression **out,
                                  struct rt_error *e);
struct kn_expression *kn_expression_retain(struct kn_expression *x);
void kn_expression_release(struct kn_expression *x); /* NULL is fine */

/* dtype, shape and device as of the evaluated array, contiguous, over an empty storage: elements are not there. */
const struct rt_array *kn_expression_form(const struct kn_expression *x);
/* How many nodes of a program it takes, at most; 1 when it is evaluated. */
int kn_expression_cost(const struct kn_expression *x);
/* How many nodes a program of it has room for, at least, if they bring in no more than one array; 0 when not even that.
 */
int kn_expression_room(const struct kn_expression *x);
/* It has been computed on the way to something else, and not kept. */
bool kn_expression_inlined(const struct kn_expression *x);
/* It is not evaluated yet and the evaluation will read this storage. */
bool kn_expression_reads(struct kn_expression *x, const struct rt_storage *s);

/* Visits the arrays that it holds for its evaluation, which are borrowed, or its value; one may come several times. */
void kn_expression_each(struct kn_expression *x, void (*visit)(void *context, const struct rt_array *a), void *context);

/* Evaluates, once; afterwards the node is its value alone. Parts that another evaluation, or two reductions, have
 * computed on their way before are kept this time. */
enum rt_status kn_expression_evaluate(struct kn_expression *x, struct rt_error *e);
/* The evaluated array, borrowed; NULL before. */
const struct rt_array *kn_expression_value(const struct kn_expression *x);
/* Writes the elements into an array, as kn_apply does; the node stays as it is. */
enum rt_status kn_expression_write(struct kn_expression *x, struct rt_array *out, struct rt_error *e);

/* The elements as a program, for reductions that need not have them stored; what it reads is borrowed from the node
 * until that is evaluated or released. As with evaluating, parts that have been computed often enough are kept. */
enum rt_status kn_expression_program(struct kn_expression *x, struct kn_program *p, struct rt_error *e);

/* What evaluating would do. */
struct kn_explanation {
    struct kn_program program; /* borrowed from the expression, as by kn_expression_program */
    enum kn_cut {
        KN_CUT_NONE,  /* the leaf is an array of its own */
        KN_CUT_AGAIN, /* a part that is evaluated first, since it has been computed on the way before */
        KN_CUT_FULL,  /* a part that was evaluated when the graph had become too large */
        KN_CUT_ROLLED /* read where the array has them that is rolled */
    } cuts[KN_MAX_LEAVES];
    int operations;
    int passes;                        /* or kernels; */
    bool rows;                         /* the one goes over rows that it reduces and what becomes of them */
    int64_t read, written;             /* bytes */
    int64_t eager_read, eager_written; /* by one operation after the other */
};
/* Changes nothing: neither is anything evaluated, nor does it count as a use. */
enum rt_status kn_expression_explain(struct kn_expression *x, struct kn_explanation *out, struct rt_error *e);
/* The kernels in CUDA C that a GPU runs for what was explained, without the functions that all kernels have. */
struct kn_text;
enum rt_status kn_expression_source(struct kn_expression *x, const struct kn_explanation *what, struct kn_text *t,
                                    struct rt_error *e);

#endif
