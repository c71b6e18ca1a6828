/* Reductions of arrays that have the same elements all along an axis, as broadcast ones do: those are combined once.
 * Results along such an axis are one result, copied. Where rows go along it, the least and the largest element, the
 * mean, and whether any or all are true are those of one place on it, and a sum is that many times the one there. */
#include "kernels/program.h"
#include "kernels/reduce.h"
#include "runtime/array.h"

/* Whether elements can be left out of rows that have them again. */
static bool needs_one(enum kn_reduction k, const struct rt_array *a)
{
    switch (k) {
    case KN_MIN:
    case KN_MAX:
    case KN_MEAN:
    case KN_ANY:
    case KN_ALL: return true;
    case KN_SUM: return !rt_is_complex(a->dtype);
    default: return false;
    }
}

static bool repeats(enum kn_reduction k, const struct rt_array *a, unsigned axes, int axis)
{
    return a->shape[axis] > 1 && a->strides[axis] == 0 && (!(axes >> axis & 1) || needs_one(k, a));
}

/* The array without what it repeats, with as many axes; *times is how often a row had each of its elements. */
static struct rt_array without_repeats(enum kn_reduction k, const struct rt_array *a, unsigned axes, int64_t *times)
{
    struct rt_array once = *a;
    *times = 1;
    for (int i = 0; i < a->ndim; i++) {
        if (!repeats(k, a, axes, i)) continue;
        once.shape[i] = 1;
        if (axes >> i & 1) *times *= a->shape[i];
    }
    return once;
}

/* Sums that are multiplied are of float64, and rounded after that. */
static enum rt_status sum_widely(const struct rt_array *a, unsigned axes, struct rt_array *out, struct rt_error *e)
{
    struct kn_program p;
    int node;
    kn_program_start(&p);
    enum rt_status status = kn_program_array(&p, a, &node, e);
    if (status == RT_OK) status = kn_program_convert(&p, node, RT_FLOAT64, &node, e);
    return status == RT_OK ? kn_program_reduce(&p, KN_SUM, axes, true, out, e) : status;
}

/* Results, which have all axes, in the shape that those of the array have. */
static struct rt_array spread(const struct rt_array *results, const struct rt_array *a, unsigned axes, bool keepdims)
{
    struct rt_array all = *results;
    all.ndim = 0;
    for (int i = 0; i < a->ndim; i++) {
        const bool gone = axes >> i & 1;
        if (gone && !keepdims) continue;
        all.shape[all.ndim] = gone ? 1 : a->shape[i];
        all.strides[all.ndim++] = results->shape[i] == 1 ? 0 : results->strides[i];
    }
    return all;
}

bool kn_reduce_repeats(enum kn_reduction k, const struct rt_array *a, unsigned axes)
{
    bool found = false;
    if (axes != KN_ALL_AXES && axes >> a->ndim) return false;
    for (int i = 0; i < a->ndim; i++) found |= repeats(k, a, axes, i);
    return found && rt_array_size(a) > 0 && !kn_runs_generated(rt_array_device(a));
}

enum rt_status kn_reduce_repeated(enum kn_reduction k, const struct rt_array *a, unsigned axes, bool keepdims,
                                  struct rt_array *out, struct rt_error *e)
{
    struct rt_array found;
    int64_t times;
    axes &= (1u << a->ndim) - 1;
    const struct rt_array once = without_repeats(k, a, axes, &times);
    const bool multiplied = k == KN_SUM && times > 1;
    enum rt_status status = multiplied && rt_dtypes[a->dtype].kind == 'f' ? sum_widely(&once, axes, &found, e)
                                                                          : kn_reduce(k, &once, axes, true, &found, e);
    if (status != RT_OK) return status;
    const struct rt_array all = spread(&found, a, axes, keepdims);
    const enum rt_dtype t = multiplied ? kn_sum_dtype(a->dtype) : found.dtype;
    status = rt_array_new(rt_array_device(a), t, all.ndim, all.shape, out, e);
    const struct kn_operand factors[2] = {{.array = &all}, {.i = times}};
    if (status == RT_OK) status = multiplied ? kn_apply(KN_MUL, factors, out, e) : kn_copy(out, &all, e);
    if (status != RT_OK) rt_array_release(out);
    rt_array_release(&found);
    return status;
}
