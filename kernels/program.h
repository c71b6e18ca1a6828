/* Expression programs: elementwise operations over arrays and numbers, evaluated in one pass over the elements.
 *
 * Build one node after another; a node's operands are earlier nodes, and the last node is the result. Types are worked
 * out while building, so mistakes are reported by the call that makes them. Running evaluates on the arrays' device: on
 * the host in blocks that stay in the cache, on a GPU as one generated kernel. Nothing of the order or size of blocks,
 * nor fusing, changes a result: every operation gives its dtype's value, as when evaluated alone. */
#ifndef KN_PROGRAM_H
#define KN_PROGRAM_H

#include "kernels/ops.h"

#define KN_MAX_NODES  128
#define KN_MAX_LEAVES 16

enum kn_node_kind {
    KN_NODE_ARRAY,   /* a leaf: arrays[leaf] */
    KN_NODE_WEAK,    /* a number that no operation has given a dtype yet */
    KN_NODE_NUMBER,  /* a number of a dtype */
    KN_NODE_INDEX,   /* the element's row-major index in a contiguous output, from 0, as int64 */
    KN_NODE_CONVERT, /* args[0] converted to dtype */
    KN_NODE_OP,      /* op of args, all of them already of the types that its signature asks for */
    KN_NODE_REDUCE,  /* reduction of args[0]'s rows: to be looked at, not to be run */
};

struct kn_node {
    enum kn_node_kind kind;
    enum rt_dtype dtype; /* of the value; KN_NODE_WEAK has none */
    enum kn_op op;
    enum kn_reduction reduction;
    int args[3];
    int leaf;
    struct kn_operand number; /* its array is NULL */
};
/* How many operands it has. */
static inline int kn_node_arity(const struct kn_node *n)
{
    return n->kind == KN_NODE_OP ? kn_ops[n->op].arity : n->kind == KN_NODE_CONVERT ? 1 : 0;
}

struct kn_program {
    int count, leaves;
    struct kn_node nodes[KN_MAX_NODES];
    const struct rt_array *arrays[KN_MAX_LEAVES]; /* not owned: they live until the program has run */
};

/* Every function that adds gives the new node's index in *node. RT_UNSUPPORTED when the program is full: evaluate what
 * there is and go on with its result. */
void kn_program_start(struct kn_program *p);
/* Copies what there is of a program, which is mostly much less than it has room for. */
void kn_program_assign(struct kn_program *to, const struct kn_program *from);
enum rt_status kn_program_array(struct kn_program *p, const struct rt_array *a, int *node, struct rt_error *e);
enum rt_status kn_program_number(struct kn_program *p, const struct kn_operand *number, int *node, struct rt_error *e);
/* RT_INVALID when op has no meaning for the operands, or all of them are numbers. */
enum rt_status kn_program_op(struct kn_program *p, enum kn_op op, const int *args, int *node, struct rt_error *e);
/* Only for programs that are evaluated into contiguous arrays. */
enum rt_status kn_program_index(struct kn_program *p, int *node, struct rt_error *e);
enum rt_status kn_program_convert(struct kn_program *p, int arg, enum rt_dtype dtype, int *node, struct rt_error *e);
enum rt_status kn_program_reduction(struct kn_program *p, enum kn_reduction r, int arg, enum rt_dtype dtype, int *node,
                                    struct rt_error *e);

/* The shape that the program's arrays broadcast to. */
enum rt_status kn_program_shape(const struct kn_program *p, int *ndim, int64_t *shape, struct rt_error *e);
/* What the last node computes as a contiguous array without a storage. */
enum rt_status kn_program_form(const struct kn_program *p, struct rt_array *form, struct rt_error *e);
/* Evaluates the last node. `out` as for kn_apply; the program may be run again. */
enum rt_status kn_program_run(struct kn_program *p, struct rt_array *out, struct rt_error *e);

/* Whether a leaf with the shape of the values runs along another axis than they do, and its elements along the last one
 * are so many bytes apart at least. */
bool kn_program_lies_across(const struct kn_program *p, const struct rt_array *values, int64_t apart);
/* Reduces what the last node computes, which is stored nowhere: otherwise as kn_reduce, to the same bits as of an array
 * of the program's values. RT_UNSUPPORTED when one more conversion makes the program too large. */
enum rt_status kn_program_reduce(const struct kn_program *p, enum kn_reduction r, unsigned axes, bool keepdims,
                                 struct rt_array *out, struct rt_error *e);

/* For kernels/: the pass over elements. A leaf's and the output's strides over one iteration space, in which axes of
 * one element are dropped, axes are ordered by the output's strides, and neighbours that make one axis are merged. */
struct kn_space {
    int ndim; /* 1 at least */
    int64_t shape[RT_MAX_DIMS];
    int64_t size;
    int leaves;
    int64_t strides[KN_MAX_LEAVES + 1][RT_MAX_DIMS]; /* the output's at [leaves] */
};
/* The arrays broadcast to out's shape. */
void kn_space_make(const struct rt_array *const *arrays, int count, const struct rt_array *out, struct kn_space *s);
/* Strides are row-major over the whole space: element i is at i. */
bool kn_space_linear(const struct kn_space *s, int leaf);
/* One element is read everywhere. */
bool kn_space_constant(const struct kn_space *s, int leaf);

/* Evaluates the last node, which has out's dtype, into out, which overlaps no leaf in another order. A program without
 * leaves is fine. */
enum rt_status kn_program_evaluate(const struct kn_program *p, const struct rt_array *out, struct rt_error *e);
/* Says that these programs, KN_MOST_TOGETHER at most, will be evaluated one after the other, each into its `out`: on a
 * GPU their kernels are made together where they are new. */
void kn_programs_follow(const struct kn_program *const *p, const struct rt_array *const *out, int count);
/* The two ways of doing that. */
enum rt_status kn_host_run(const struct kn_program *p, const struct rt_array *out, struct rt_error *e);
/* The host's way for a program that is one leaf of out's dtype. */
enum rt_status kn_host_copy(const struct rt_array *to, const struct rt_array *from, struct rt_error *e);
enum rt_status kn_cuda_run(const struct kn_program *p, const struct rt_array *out, struct rt_error *e);
/* The array broadcasts to out's shape, else RT_INVALID that names both. */
enum rt_status kn_check_fits(const struct rt_array *a, const struct rt_array *out, struct rt_error *e);
/* All arrays are alive and on one device, else RT_INVALID that names both. */
enum rt_status kn_check_devices(const struct rt_array *const *arrays, int count, struct rt_error *e);

#endif
