/* Functions of float16 and bfloat16 on the host by tables of their results for all 65536 operands: for functions that
 * take longer than a look into a table, to the same bits. */
#ifndef KN_TABLED_H
#define KN_TABLED_H

#include "kernels/loops.h"

/* The loop of an operation over values as they lie in memory; NULL where there is no table. A table is made by the loop
 * once it has seen as many values as a table has, and kept. */
kn_op_loop *kn_tabled_loop(enum kn_op op, enum rt_dtype t);

#endif
