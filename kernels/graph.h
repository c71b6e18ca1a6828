/* The nodes behind kernels/expression.h: for expression.c and settle.c, which make programs of them, and stages.c,
 * which sees to those that reduce. */
#ifndef KN_GRAPH_H
#define KN_GRAPH_H

#include "kernels/expression.h"

struct kn_edge {
    struct kn_expression *expression; /* one reference */
    struct rt_array array;            /* one reference, when expression is NULL and this has a storage */
    struct kn_operand number;
    bool full; /* as in struct kn_source */
};

struct kn_expression {
    int references;
    struct rt_array form, value;
    enum kn_work {
        KN_APPLIES,  /* op */
        KN_CONVERTS, /* to form.dtype */
        KN_REDUCES,  /* the axes, which stay with size 1 */
        KN_ROLLS     /* an array, by `shift` */
    } work;
    enum kn_op op;
    enum kn_reduction reduction;
    unsigned axes;
    int arity, cost, leaves;
    bool costly;          /* to compute, compared with storing it and reading it again on the host */
    bool reduces, rolls;  /* it or what it was made of did, when it was made */
    int64_t *shift;       /* as in struct kn_rolled */
    int uses;             /* computations on the way to something else, which did not keep it: by weight */
    unsigned noted, seen; /* the last walks that counted it and that came by, and what the latter noted: */
    int node;
    /* For stages: how many nodes of the graph read it, whether one is larger, and the walk that made it a stage. */
    int parents;
    bool spread;
    unsigned staged;
    struct kn_edge args[];
};

static inline bool kn_is_evaluated(const struct kn_expression *x)
{
    return x->value.storage != NULL;
}

/* Walks are numbered, so that a node is visited once however many others use it. */
unsigned kn_new_walk(void);

/* What an edge computes, as a program in which the nodes that the walk `staged` made stages are leaves: their forms, or
 * values where there are. Leaves are borrowed. */
enum rt_status kn_edge_program(const struct kn_edge *from, unsigned staged, struct kn_program *p, struct rt_error *e);
/* The same of a node, which may be a stage itself. */
enum rt_status kn_node_program(struct kn_expression *x, unsigned staged, struct kn_program *p, struct rt_error *e);
void kn_drop_edges(struct kn_expression *x);
/* Evaluates a node on the way to another, for which the parts of both were counted, and evaluated if they are kept. */
enum rt_status kn_settle_counted(struct kn_expression *x, struct rt_error *e);

/* Evaluates a node in whose graph others reduce, or which does so itself (stages.c): with all of them at once, some
 * rows at a time, where they reduce the same rows; else those others by themselves. It is done, or nothing in its graph
 * reduces any more. */
enum rt_status kn_settle_stages(struct kn_expression *x, bool *done, struct rt_error *e);
/* Evaluates those that reduce and x needs, each for itself; not x. */
enum rt_status kn_settle_reductions(struct kn_expression *x, struct rt_error *e);
/* What explanations tell of stages: passes, rows, and of several passes what they read and write. */
enum rt_status kn_explain_stages(struct kn_expression *x, struct kn_explanation *out, struct rt_error *e);
/* Bytes that reading or writing all elements moves: those that broadcasting repeats count once. */
int64_t kn_bytes_of(const struct rt_array *a);

#endif
