/* How the reductions of lang/ read their arguments and give their results. [raises] as in lang.h. */
#ifndef LG_REDUCE_H
#define LG_REDUCE_H

#include "kernels/order.h"
#include "kernels/statistics.h"
#include "lang/array.h"
#include "lang/out.h"

struct lg_reduction {
    unsigned axes; /* bits, as kn_reduce takes them */
    bool named;    /* the user named axes */
    bool keepdims;
    bool value; /* the result is to be one Lua value */
    double number;
};
/* Arguments idx and idx + 1 are an axis (or a list of axes, or nil for all) and keepdims; or the last one of them is a
 * table {axis = ..., keepdims = ...}, which may have one more option, called `number` unless that is NULL: it is left
 * in r->number, which stays as it is otherwise. */
void lg_check_reduction(lua_State *L, int idx, int ndim, const char *number, struct lg_reduction *r);
/* Pushes the statistic of an array, whose axes it has already; with keepdims, when it is there to meet the array again,
 * it may wait. */
struct rt_array *lg_push_statistic(lua_State *L, const struct rt_array *a, const struct kn_statistic *s, bool keepdims);
/* Pushes the statistic of the array at 1, with the axes and the number in r, as r wants it: a value or an array and
 * returns 1. lang/statistics.c */
int lg_reduce_to_statistic(lua_State *L, enum kn_statistic_kind kind, const struct lg_reduction *r);
/* The weights at idx for `a`: of its shape, or of one axis that is the one reduced; of dtype t where they are a table.
 * Returns where they are, to broadcast. `what` is the function. lang/covariance.c */
int lg_check_weights(lua_State *L, int idx, const char *what, const struct rt_array *a, const struct lg_reduction *r,
                     enum rt_dtype t);
/* Makes the arguments of a quantile x, q, axis, keepdims, method, weights, which may be (x, q, {axis = ...}) or
 * (x, {q = ...}), and returns the method, linear unless named. `what` is the function, which takes no weights where
 * these are not `weighted`. lang/quantile.c */
enum kn_quantile_method lg_check_quantile(lua_State *L, const char *what, bool weighted);
/* Pushes the array at the stack index x with the axes of the set behind the others and as one of them; returns where
 * that is. lang/quantile.c */
int lg_push_rows(lua_State *L, int x, unsigned axes);
/* Pushes the only element of the array at the top of the stack, which is not needed any more. Returns 1. */
int lg_push_number_of(lua_State *L);

/* lang/reduce_options.c: where the last argument is a table with dtype, where or initial, pushes what the reduction of
 * that name gives with these, and returns true; else does nothing. Raises for those that the reduction lacks. */
bool lg_reduce_with_options(lua_State *L, const char *name);
/* What the documentation says of them, for a reduction that has some: all of kn_reductions do. */
const char *lg_reduction_options(const char *name);

#define LG_AXES_DOC                                                                                                    \
    "Over all elements it is a Lua value, along an axis an array. Axes count from 1, from the end with -1; several "   \
    "are given as a table. With keepdims reduced axes stay, with size 1. " LG_OUT_DOC

/* The arguments of a quantile, and its methods. */
#define LG_QUANTILE(name)                                                                                              \
    "x:" name "(q [, axis [, keepdims [, method]]] | {axis=, keepdims=, method=})   gpu." name "(x, q, ...)"
#define LG_WEIGHTED_QUANTILE(name)                                                                                     \
    "x:" name "(q [, axis [, keepdims [, method [, weights]]]] | {axis=, keepdims=, method=, weights=})   gpu." name   \
    "(x, q, ...)"
#define LG_QUANTILE_DOC                                                                                                     \
    "Between two elements the method says what it is: \"linear\", the default, on the line between them, \"lower\" or "     \
    "\"higher\" one of them, \"midpoint\" their mean, \"nearest\" the nearer one. Hyndman and Fan's other ones are there, " \
    "too: \"inverted_cdf\", \"averaged_inverted_cdf\", \"closest_observation\", \"interpolated_inverted_cdf\", "            \
    "\"hazen\", \"weibull\", \"median_unbiased\", \"normal_unbiased\". "

#endif
