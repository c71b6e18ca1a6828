/* Sorting arrays, and what rests on the order of elements. NaN is after all else; indices count from 1. */
#ifndef KN_ORDER_H
#define KN_ORDER_H

#include "kernels/kernels.h"

/* The array sorted along an axis (from 0), and the indices, as int64, that sort it: new contiguous arrays of its shape;
 * either may be NULL. Equal elements stay in their order, -0.0 comes before 0.0, NaN is last even when descending. */
enum rt_status kn_sort(const struct rt_array *a, int axis, bool descending, struct rt_array *values,
                       struct rt_array *indices, struct rt_error *e);

/* The same where only these places (from 0, ascending, count of them) of each sorted row are wanted: what else is in
 * the results may be anything, and sorting costs less. places NULL: all. */
enum rt_status kn_select(const struct rt_array *a, int axis, bool descending, const int64_t *places, int64_t count,
                         struct rt_array *values, struct rt_array *indices, struct rt_error *e);

/* Rows in which the elements at these places are those of the sorted row, and what lies between them is there in any
 * order; as kn_sort. */
enum rt_status kn_partition(const struct rt_array *a, int axis, const int64_t *places, int64_t count,
                            struct rt_array *values, struct rt_array *indices, struct rt_error *e);

/* The first k of the sorted elements of each row, and their indices; k is at most the axis's length. */
enum rt_status kn_topk(const struct rt_array *a, int64_t k, int axis, bool descending, struct rt_array *values,
                       struct rt_array *indices, struct rt_error *e);
/* For each value (any shape, on the same device) the first index of the sorted 1-D array that it could be inserted
 * before without disorder, from 1, as int64; with `right` the last such. Compared in the common dtype. */
enum rt_status kn_search(const struct rt_array *sorted, const struct rt_array *values, bool right, struct rt_array *out,
                         struct rt_error *e);
/* For each value of a (any shape) y at the lines between the points (x, y), two arrays of one axis and at least one
 * element, whose x ascend; `left` below them, `right` above. A new array of the dtype that x and y have in common.
 * RT_UNSUPPORTED where that is for operations one by one: on devices that run generated code, and of what is not
 * float32 or float64, of an a that has not the dtype of x, or of far more points than values. */
enum rt_status kn_interp(const struct rt_array *a, const struct rt_array *x, const struct rt_array *y, double left,
                         double right, struct rt_array *out, struct rt_error *e);
/* The different elements in order, 1-D. Unless NULL: `inverse` (a's shape) the index of each element among them,
 * `counts` how often each comes; int64. 0.0 and -0.0 are one, and so are all NaN. */
enum rt_status kn_unique(const struct rt_array *a, struct rt_array *values, struct rt_array *inverse,
                         struct rt_array *counts, struct rt_error *e);
/* How often each integer from 0 on comes, as int64: as many as the greatest element plus 1, or `least`. RT_INVALID for
 * floats and negative elements. */
enum rt_status kn_bincount(const struct rt_array *a, int64_t least, struct rt_array *out, struct rt_error *e);
/* out[p] = the sum of the weights whose place is p, places of `count` from 0 on, as float64; added in row-major order.
 * The places, int64, are not checked here; both arrays have one shape. RT_INVALID for complex weights. */
enum rt_status kn_weigh(const struct rt_array *places, const struct rt_array *weights, int64_t count,
                        struct rt_array *out, struct rt_error *e);
/* How many elements lie in each of the equal bins between the first and the last of the edges (1-D float64, one more
 * than bins; edge[i] <= x < edge[i + 1], in the last bin also its upper edge), as int64. */
enum rt_status kn_histogram(const struct rt_array *a, const struct rt_array *edges, struct rt_array *out,
                            struct rt_error *e);
/* Where a quantile lies among n ordered elements, from 0: q (n - 1), or with other ends than 1 and 1
 * n q + (low + q (1 - low - high)) - 1, as Hyndman and Fan's "Sample Quantiles in Statistical Packages" has them, taken
 * to a whole place by some, and not beyond the first and the last. Between two places it is on the line. */
enum kn_quantile_step {
    KN_ON_LINE,
    KN_DOWN,
    KN_UP,
    KN_HALF,      /* between the places on both sides */
    KN_NEXT_HALF, /* the next place, and from a whole one half way there */
    KN_EVEN_FROM_0,
    KN_EVEN_FROM_1, /* the nearer place, of equally near ones the even one, counted from 0 or 1 */
};
struct kn_quantile_rule {
    const char *name; /* NumPy's */
    double low, high;
    enum kn_quantile_step step;
};
enum kn_quantile_method { KN_LINEAR, KN_QUANTILE_METHODS = 13 };
extern const struct kn_quantile_rule kn_quantile_rules[KN_QUANTILE_METHODS]; /* by method */
static inline bool kn_quantile_reaches_ends(const struct kn_quantile_rule *r)
{
    return r->low == 1 && r->high == 1;
}
/* Which quantiles, for a function called `what`. */
struct kn_quantiles {
    const char *what;
    const double *q; /* from 0 to 1 */
    int64_t count;
    bool list; /* the result's first axis is that of the q's; else there is one */
    enum kn_quantile_method method;
};
/* Quantiles over axes as in kn_reduce, floating as kn_floating_dtype says. NaN where there is one. RT_INVALID for
 * nothing. */
enum rt_status kn_quantile(const struct rt_array *a, const struct kn_quantiles *x, unsigned axes, bool keepdims,
                           struct rt_array *out, struct rt_error *e);
/* The quantile of all elements of a small array of float32 or float64, as kn_small_reduction. */
bool kn_small_quantile(const struct rt_array *a, double q, enum kn_quantile_method method, void *element);

#endif
