/* What each scan means: its types and shapes. */
#include "kernels/scan.h"
#include <string.h>
#include "kernels/program.h"
#include "kernels/statistics.h"

const struct kn_scan_info kn_scans[KN_SCAN_COUNT] = {
    [KN_CUMSUM] = {"cumsum", "Sums of the elements up to each one; integers and bools give int64.",
                   "gpu.array({1, 2, 3}):cumsum()[3] == 6"},
    [KN_CUMPROD] = {"cumprod", "Products of the elements up to each one; integers and bools give int64.",
                    "gpu.array({2, 3, 4}):cumprod()[3] == 24"},
    [KN_CUMMAX] = {"cummax", "The greatest element up to each one; NaN from the first NaN on.",
                   "gpu.array({1, 3, 2}):cummax()[3] == 3"},
    [KN_CUMMIN] = {"cummin", "The least element up to each one; NaN from the first NaN on.",
                   "gpu.array({2, 1, 3}):cummin()[3] == 1"},
    [KN_LOGCUMSUMEXP] =
        {"logcumsumexp",
         "log(sum(exp(x))) of the elements up to each one, without overflow in between; integers and bools "
         "give floats.",
         "gpu.array({1000, 1000}):logcumsumexp()[1] == 1000"},
};

static enum rt_dtype choose_types(struct kn_scanner *s, enum rt_dtype t)
{
    static const enum kn_op ops[] = {KN_ADD, KN_MUL, KN_MAXIMUM, KN_MINIMUM, KN_LOGADDEXP};
    bool floating = rt_dtypes[t].kind == 'f';
    s->combine = ops[s->scan];
    if (s->scan == KN_CUMMAX || s->scan == KN_CUMMIN) {
        s->accumulate = t == RT_BOOL ? RT_INT32 : t;
        return t;
    }
    if (rt_is_complex(t)) {
        s->accumulate = RT_COMPLEX128;
        return t;
    }
    if (s->scan == KN_LOGCUMSUMEXP) {
        s->accumulate = RT_FLOAT64;
        return kn_floating_dtype(t);
    }
    s->accumulate = floating ? RT_FLOAT64 : t == RT_UINT64 ? RT_UINT64 : RT_INT64;
    return floating ? t : s->accumulate;
}

static enum rt_status run(const struct kn_scanner *s, const struct rt_array *a, const struct rt_array *out,
                          struct rt_error *e)
{
    struct rt_array whole = {0};
    enum rt_status status = kn_contiguous(a, &whole, e);
    if (status == RT_OK)
        status =
            kn_runs_generated(rt_array_device(a)) ? kn_scan_cuda(s, &whole, out, e) : kn_scan_host(s, &whole, out, e);
    rt_array_release(&whole);
    return status;
}

enum rt_status kn_scan(enum kn_scan scan, const struct rt_array *a, int axis, struct rt_array *out, struct rt_error *e)
{
    struct kn_scanner s = {.scan = scan, .inner = 1};
    int64_t size = rt_array_size(a);
    memset(out, 0, sizeof *out);
    enum rt_status status = rt_array_alive(a, e);
    if (status != RT_OK) return status;
    if (axis < -1 || axis >= a->ndim)
        return rt_fail(e, RT_INVALID, "%s: there is no axis %d, the array has %d", kn_scans[scan].name, axis + 1,
                       a->ndim);
    if (scan != KN_CUMSUM && scan != KN_CUMPROD) {
        status = kn_check_real(a, kn_scans[scan].name, e);
        if (status != RT_OK) return status;
    }
    s.length = axis < 0 ? size : a->shape[axis];
    for (int i = axis + 1; axis >= 0 && i < a->ndim; i++) s.inner *= a->shape[i];
    enum rt_dtype result = choose_types(&s, a->dtype);
    status = rt_array_new(rt_array_device(a), result, axis < 0 ? 1 : a->ndim, axis < 0 ? &size : a->shape, out, e);
    if (status != RT_OK || size == 0) return status;
    s.rows = size / s.length;
    status = run(&s, a, out, e);
    if (status != RT_OK) rt_array_release(out);
    return status;
}
