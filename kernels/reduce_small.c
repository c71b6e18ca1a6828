/* Reductions of all elements of small arrays on the host, by the loops that reduce_host.c would run: the same bits
 * without a program, a plan and an array for the result, which take longer than the loops. */
#include <string.h>
#include "kernels/host.h"
#include "kernels/reduce.h"

/* The elements in the class that the sum of a dtype has; NULL where the elements are not bools or 32 or 64 bits. */
static const void *in_dtype(const struct rt_array *a, enum rt_dtype t, void *block, size_t n)
{
    if (a->dtype == t) return rt_array_host(a);
    kn_host_loops()->convert[kn_class_of(a->dtype)][t](block, rt_array_host(a), n);
    return block;
}

static enum rt_dtype sum(const struct rt_array *a, size_t n, void *block, void *element)
{
    enum rt_dtype t = kn_sum_dtype(a->dtype);
    if (a->dtype == RT_BOOL) {
        int64_t count = (int64_t)kn_host_loops()->narrow->count_true[RT_BOOL](rt_array_host(a), n);
        memcpy(element, &count, sizeof count);
    } else {
        kn_sum_values(t, in_dtype(a, t, block, n), n, element);
    }
    return t;
}

/* In float64 of what is not floating, then rounded. */
static enum rt_dtype mean(const struct rt_array *a, size_t n, void *block, void *element)
{
    const struct kn_loops *l = kn_host_loops();
    bool floating = rt_dtypes[a->dtype].kind == 'f';
    enum rt_dtype t = floating ? a->dtype : RT_FLOAT64, result = floating || rt_dtypes[a->dtype].size == 8 ? t : RT_FLOAT32;
    _Alignas(16) char total[RT_ELEMENT], length[RT_ELEMENT];
    kn_sum_values(t, in_dtype(a, t, block, n), n, total);
    kn_fill_block(length, t, &(struct kn_operand){.is_float = true, .f = (double)n}, 1);
    l->ops[KN_DIV][kn_class_of(t)](total, total, length, NULL, 1);
    l->convert[kn_class_of(t)][result](element, total, 1);
    return result;
}

static enum rt_dtype extreme(const struct rt_array *a, bool least, bool place, size_t n, void *element)
{
    const struct kn_loops *l = kn_host_loops();
    enum kn_class class = kn_class_of(a->dtype);
    (least ? l->least : l->greatest)[class](element, rt_array_host(a), n);
    if (!place) return a->dtype;
    int64_t index = (int64_t)l->first[class](rt_array_host(a), element, n) + 1;
    memcpy(element, &index, sizeof index);
    return RT_INT64;
}

static enum rt_dtype truth(const struct rt_array *a, bool all, size_t n, void *element)
{
    size_t count = kn_host_loops()->narrow->count_true[a->dtype](rt_array_host(a), n);
    *(uint8_t *)element = all ? count == n : count > 0;
    return RT_BOOL;
}

bool kn_is_small(const struct rt_array *a)
{
    int64_t n = rt_array_size(a);
    return a->ndim > 0 && n > 0 && n <= KN_BLOCK && !rt_is_complex(a->dtype) && kn_class_exact(a->dtype) &&
           rt_array_alive(a, NULL) == RT_OK && !kn_runs_generated(rt_array_device(a)) && rt_array_contiguous(a);
}

bool kn_small_reduction(enum kn_reduction k, const struct rt_array *a, enum rt_dtype *t, void *element)
{
    _Alignas(64) char block[KN_BLOCK * 8];
    size_t n = (size_t)rt_array_size(a);
    bool index = k == KN_ARGMIN || k == KN_ARGMAX, least = k == KN_MIN || k == KN_ARGMIN;
    if (k == KN_PROD || a->dtype == RT_UINT64 || (index && a->dtype == RT_BOOL) || !kn_is_small(a)) return false;
    if (k == KN_SUM)
        *t = sum(a, n, block, element);
    else if (k == KN_MEAN)
        *t = mean(a, n, block, element);
    else if (k == KN_ANY || k == KN_ALL || a->dtype == RT_BOOL)
        *t = truth(a, k == KN_ALL || k == KN_MIN, n, element);
    else
        *t = extreme(a, least, index, n, element);
    return true;
}
