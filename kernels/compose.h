/* Elementwise functions with options, each one program of several operations. */
#ifndef KN_COMPOSE_H
#define KN_COMPOSE_H

#include "kernels/kernels.h"

/* Bools: x == y, or both are finite and |x - y| <= atol + rtol * |y|, computed in float64. One operand at least is an
 * array. */
enum rt_status kn_isclose(const struct kn_operand *x, const struct kn_operand *y, double rtol, double atol,
                          struct rt_array *out, struct rt_error *e);
/* x in its dtype with these numbers for NaN, infinity and -infinity; integers as they are, the parts of complex numbers
 * each by itself. NULL for an infinity is the largest number of the dtype, of its sign. */
enum rt_status kn_nan_to_num(const struct rt_array *x, double nan, const double *infinity, const double *negative,
                             struct rt_array *out, struct rt_error *e);

#endif
