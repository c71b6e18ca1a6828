/* Statistics of arrays along axes, as expressions of reductions and what becomes of their results. */
#ifndef KN_STATISTICS_H
#define KN_STATISTICS_H

#include "kernels/expression.h"

struct kn_statistic {
    enum kn_statistic_kind {
        KN_REDUCTION, /* `reduction` by itself, but for argmin and argmax */
        KN_VARIANCE, /* the sum of squared distances from the mean over n - number (0 at least, so that too few elements
                        give NaN or infinity) */
        KN_DEVIATION, /* its root */
        KN_NORM,      /* (sum of |x| ^ number) ^ (1 / number); infinity: the greatest |x|, -infinity: the least, 0: how
                         many are not 0 */
        KN_LOGSUMEXP, /* log(sum of exp(x)) without overflow in between; of nothing -infinity */
        KN_COUNT_NONZERO,
        KN_PTP, /* the greatest minus the smallest */
        /* With the elements that are NaN left out: the sum, over their number the mean, both of floating or complex
           elements; and of any the variance and deviation over their number less `number`, NaN where that is not
           above 0. */
        KN_NANSUM,
        KN_NANMEAN,
        KN_NANVARIANCE,
        KN_NANDEVIATION
    } kind;
    enum kn_reduction reduction;
    unsigned axes; /* as kn_reduce takes them */
    double number;
};

/* The statistic as an expression in which reduced axes stay with size 1. Floating but for reductions, ptp and counts,
 * which are int64: of the values' own floating dtype, of which the 16-bit ones are computed in float32; of integers,
 * computed in float64, float32 or for 64-bit ones float64. Errors as those of kn_expression_new, or those of kn_reduce.
 */
enum rt_status kn_expression_statistic(const struct kn_statistic *s, const struct kn_source *from,
                                       struct kn_expression **out, struct rt_error *e);

/* The statistic of all elements of a small array, as kn_small_reduction: what takes less time than an expression. */
bool kn_small_statistic(const struct kn_statistic *s, const struct rt_array *a, enum rt_dtype *t, void *element);
/* The same along the last axis or the first one, into a new array. */
bool kn_small_statistic_along(const struct kn_statistic *s, const struct rt_array *a, struct rt_array *out);

/* exp(x) over its sum along an axis (from 0), or the logarithm of that, of a small array whose reductions along that
 * axis are as above: of float32 or float64, into a new array of its shape. False where that is not so. */
bool kn_small_softmax(const struct rt_array *a, int axis, bool logarithm, struct rt_array *out);

/* What statistics compute in, and what they are rounded to. */
enum rt_dtype kn_wide_dtype(enum rt_dtype t);
enum rt_dtype kn_floating_dtype(enum rt_dtype t);
int64_t kn_reduced_length(const struct rt_array *a, unsigned axes);

#endif
