/* What the files of gpu.linalg share. All functions may raise a Lua error unless they say otherwise. */
#ifndef LG_LINALG_H
#define LG_LINALG_H

#include "kernels/linalg.h"
#include "lang/array.h"

extern const struct lg_function lg_norm_functions[], lg_matrix_functions[], lg_space_functions[];
#define LG_BATCH_DOC " The last two axes are the matrices; those in front of them are a batch."

/* The array at idx 1, which has two axes at least. */
const struct rt_array *lg_check_matrices(lua_State *L, const char *what);
/* Push so many results of a factoring, the values alone, an operation's result, a reduction's. */
void lg_push_factors(lua_State *L, enum kn_factoring what, const struct rt_array *a, const struct rt_array *b,
                     const struct kn_factor_options *options, int count);
const struct rt_array *lg_push_values(lua_State *L, enum kn_factoring what, const struct rt_array *a);
const struct rt_array *lg_push_op(lua_State *L, enum kn_op op, struct kn_operand a, struct kn_operand b,
                                  struct kn_operand c);
const struct rt_array *lg_push_reduced(lua_State *L, enum kn_reduction r, const struct rt_array *a, unsigned axes,
                                       bool keepdims);
/* The array at the top, or its only element when it has no axes, is the result. Returns 1. */
int lg_finish_linalg(lua_State *L);

/* Operands; and the last axis as kn_reduce takes it. Never raise. */
static inline struct kn_operand lg_of_array(const struct rt_array *a)
{
    return (struct kn_operand){.array = a};
}

static inline struct kn_operand lg_of_number(double f)
{
    return (struct kn_operand){.is_float = true, .f = f};
}

static inline unsigned lg_last_axis(const struct rt_array *a)
{
    return 1u << (a->ndim - 1);
}

#endif
