/* Elementwise functions that are programs of several operations. */
#ifndef KN_COMPOSE_H
#define KN_COMPOSE_H

#include "kernels/kernels.h"

/* Bools: x == y, or both are finite and |x - y| <= atol + rtol * |y|, computed in float64. One operand at least is an
 * array. */
enum rt_status kn_isclose(const struct kn_operand *x, const struct kn_operand *y, double rtol, double atol,
                          struct rt_array *out, struct rt_error *e);
/* Whether that is so of all elements. */
enum rt_status kn_allclose(const struct kn_operand *x, const struct kn_operand *y, double rtol, double atol,
                           bool *close, struct rt_error *e);
/* Whether the shapes are the same and all elements equal: integers as int64, others in float64 or complex128 where the
 * dtypes differ. */
enum rt_status kn_equal(const struct rt_array *x, const struct rt_array *y, bool *equal, struct rt_error *e);
/* x in its dtype with these numbers for NaN, infinity and -infinity; integers as they are, the parts of complex numbers
 * each by itself. NULL for an infinity is the largest number of the dtype, of its sign. */
enum rt_status kn_nan_to_num(const struct rt_array *x, double nan, const double *infinity, const double *negative,
                             struct rt_array *out, struct rt_error *e);
/* x rounded to so many decimals, halves to the even one, in its dtype; negative ones round to tens, hundreds ... */
enum rt_status kn_round_to(const struct rt_array *x, int decimals, struct rt_array *out, struct rt_error *e);

/* About how numbers are written. Of real numbers, integers as the floating dtype that they become under a root; the
 * 16-bit floats have their own neighbours and limits. One operand at least is an array. */
/* The number next to x on the way to y. */
enum rt_status kn_nextafter(const struct kn_operand *x, const struct kn_operand *y, struct rt_array *out,
                            struct rt_error *e);
/* How far the next number away from 0 is, with the sign of x; NaN where there is none. */
enum rt_status kn_spacing(const struct rt_array *x, struct rt_array *out, struct rt_error *e);
/* Bools: finite, not 0, and with all digits of the dtype. */
enum rt_status kn_isnormal(const struct rt_array *x, struct rt_array *out, struct rt_error *e);

/* Two results; on failure neither. */
/* x = mantissa * 2 ^ exponent (int32), the mantissa from 0.5 to 1; what is not finite, or 0, has the exponent 0. */
enum rt_status kn_frexp(const struct rt_array *x, struct rt_array *mantissa, struct rt_array *exponent,
                        struct rt_error *e);
/* Both with the sign of x; the fraction of an infinity is 0. */
enum rt_status kn_modf(const struct rt_array *x, struct rt_array *fraction, struct rt_array *whole, struct rt_error *e);
/* C's remquo: the remainder beside the nearest multiple of y; the multiple's sign and last three bits (int32). */
enum rt_status kn_remquo(const struct kn_operand *x, const struct kn_operand *y, struct rt_array *remainder,
                         struct rt_array *quotient, struct rt_error *e);

#endif
