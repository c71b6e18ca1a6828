/* Contractions: products of several arrays whose axes are named by labels, summed over the labels that the result
 * lacks. einsum, tensordot, inner and outer products are all of this kind. Pairs are contracted one after another, the
 * pair whose result is smallest first, by matrix products where anything is summed. */
#ifndef KN_CONTRACT_H
#define KN_CONTRACT_H

#include "kernels/kernels.h"

#define KN_MAX_OPERANDS 32
#define KN_MAX_LABELS   (52 + RT_MAX_DIMS) /* the letters, and the axes that an ellipsis stands for */

struct kn_labels {
    int ndim;
    uint8_t label[RT_MAX_DIMS]; /* below KN_MAX_LABELS, one for each axis */
};

/* out = the sum over all labels that `result` lacks of the product of the operands. A label that an operand has twice
 * takes its diagonal. Axes of one label have one size; in labels from 52 on an axis of one element is repeated. Each
 * label of the result is in an operand, and once in the result. The dtype is that of the operands' product by `*`. The
 * result is new and contiguous. `what` begins messages. */
enum rt_status kn_contract(const char *what, const struct rt_array *const *arrays, const struct kn_labels *labels,
                           int count, const struct kn_labels *result, struct rt_array *out, struct rt_error *e);

/* Reads "ij,jk->ik" for operands of so many axes: letters name axes, "..." stands for those that are not named, and
 * without an arrow the result has the letters that appear once, in alphabetical order. RT_INVALID shows the text with a
 * caret under what is wrong. */
enum rt_status kn_einsum_parse(const char *text, const struct rt_array *const *arrays, int count,
                               struct kn_labels *labels, struct kn_labels *result, struct rt_error *e);

#endif
