/* What an indexed access means: its geometry, which errors it has, and which way it is run. */
#include "kernels/gather.h"
#include <stdlib.h>
#include <string.h>

#define TURNED 4096 /* places from which on rows that lie across them are gathered as they lie, and turned, */
#define ACROSS 8    /* of so many elements, and so many rows */

/* Whether the strides keep all elements apart; sizes below 2 do not count. */
static bool elements_apart(const struct rt_array *a)
{
    int order[RT_MAX_DIMS], n = 0;
    for (int i = 0; i < a->ndim; i++) {
        if (a->shape[i] < 2) continue;
        int at = n++;
        for (; at > 0 && llabs(a->strides[order[at - 1]]) > llabs(a->strides[i]); at--) order[at] = order[at - 1];
        order[at] = i;
    }
    int64_t reach = 0;
    for (int k = 0; k < n; k++) {
        int64_t stride = llabs(a->strides[order[k]]);
        if (stride <= reach) return false;
        reach += stride * (a->shape[order[k]] - 1);
    }
    return true;
}

static void find_span(const struct rt_array *a, int64_t *low, int64_t *span)
{
    int64_t high = 0;
    *low = 0;
    for (int i = 0; i < a->ndim; i++) {
        int64_t reach = (a->shape[i] - 1) * a->strides[i];
        *(reach < 0 ? low : &high) += reach;
    }
    *span = high - *low + 1;
}

/* The places have a size, and so has data then. */
static void make_trip(const struct kn_indexing *x, const struct rt_array *dense, struct kn_trip *t)
{
    struct rt_array order = {.ndim = x->ndim}, data = {.ndim = x->ndim}; /* shapes and strides alone */
    const struct rt_array *leaves[KN_TRIP_INDEX + KN_MAX_PICKS] = {&data, dense ? dense : &order};
    int64_t stride = 1;
    t->x = x; /* member by member: it is large, and mostly unused */
    t->dense = dense;
    t->apart = elements_apart(x->data);
    for (int i = x->ndim - 1; i >= 0; i--) {
        order.shape[i] = data.shape[i] = x->shape[i];
        order.strides[i] = stride;
        stride *= x->shape[i];
        data.strides[i] = x->runs[i] < 0 ? 0 : x->data->strides[x->runs[i]];
    }
    for (int i = 0; i < x->count; i++) {
        const struct kn_pick *p = &x->picks[i];
        leaves[KN_TRIP_INDEX + i] = p->index;
        t->step[i] = x->data->strides[p->axis];
        t->length[i] = x->data->shape[p->axis];
    }
    find_span(x->data, &t->low, &t->span);
    kn_space_make(leaves, KN_TRIP_INDEX + x->count, &order, &t->space);
}

/* The index that pick p has at a place, which is given by its row-major number. */
static enum rt_status index_at(const struct kn_indexing *x, int p, int64_t place, int64_t *out, struct rt_error *e)
{
    struct rt_array one = *x->picks[p].index; /* borrowed */
    char element[8];
    for (int i = x->ndim - 1; i >= 0; i--) {
        one.offset += place % x->shape[i] * one.strides[i];
        place /= x->shape[i];
    }
    one.ndim = 0;
    enum rt_status status = rt_array_read(&one, element, e);
    if (status == RT_OK) *out = rt_load_int(one.dtype, element);
    return status;
}

/* Whether indices are what a product of masks is: no number but 0 and 1. */
static bool is_like_a_mask(const struct rt_array *index)
{
    static const enum kn_reduction ends[2] = {KN_MIN, KN_MAX};
    struct rt_error ignored = {0};
    bool like = true;
    for (int k = 0; k < 2 && like; k++) {
        struct rt_array end;
        char element[8];
        like = kn_reduce(ends[k], index, KN_ALL_AXES, false, &end, &ignored) == RT_OK;
        if (!like) break;
        like = rt_array_read(&end, element, &ignored) == RT_OK && rt_load_int(end.dtype, element) == k;
        rt_array_release(&end);
    }
    rt_error_clear(&ignored);
    return like;
}

static enum rt_status bad_index(const struct kn_indexing *x, int64_t place, struct rt_error *e)
{
    for (int p = 0; p < x->count; p++) {
        int64_t i, n = x->data->shape[x->picks[p].axis];
        enum rt_status status = index_at(x, p, place, &i, e);
        if (status != RT_OK) return status;
        if (i == 0)
            return rt_fail(
                e, RT_INVALID,
                "index 0 on axis %d, in an array of indices: indices count from 1, or from the end with -1%s",
                x->picks[p].named + 1,
                is_like_a_mask(x->picks[p].index) ? "; masks are bool: m:ne(0), and two of them m & n, not m * n" : "");
        if (i < -n || i > n)
            return rt_fail(e, RT_INVALID,
                           "index %lld, in an array of indices, is out of range for axis %d, which has %lld element%s",
                           (long long)i, x->picks[p].named + 1, (long long)n, n == 1 ? "" : "s");
    }
    return rt_fail(e, RT_INVALID, "an array of indices was changed while it was in use");
}

static enum rt_status travel(const struct kn_indexing *x, const struct rt_array *dense, enum kn_access access,
                             enum kn_op combine, struct rt_error *e)
{
    struct kn_trip t;
    int64_t bad = -1;
    make_trip(x, dense, &t);
    t.combine = combine;
    enum rt_status status = kn_runs_generated(rt_array_device(x->data)) ? kn_gather_cuda(&t, access, &bad, e)
                                                                        : kn_gather_host(&t, access, &bad, e);
    return status == RT_OK && bad >= 0 ? bad_index(x, bad, e) : status;
}

static enum rt_status check(const struct kn_indexing *x, const struct rt_array *dense, struct rt_error *e)
{
    const struct rt_array *arrays[KN_MAX_PICKS + 2] = {x->data, dense};
    for (int i = 0; i < x->count; i++) arrays[i + 2] = x->picks[i].index;
    return kn_check_devices(arrays, x->count + 2, e);
}

static int64_t place_count(const struct kn_indexing *x)
{
    int64_t n = 1;
    for (int i = 0; i < x->ndim; i++) n *= x->shape[i];
    return n;
}

/* On the host, the axis that lies as in memory, each index of the last one leading to a row along it; -1: none, or its
 * elements are so large that turning costs as much. */
static int axis_across(const struct kn_indexing *x)
{
    const int last = x->ndim - 1;
    int found = -1;
    if (last < 1 || kn_runs_generated(rt_array_device(x->data)) || x->runs[last] >= 0) return -1;
    if (place_count(x) < TURNED || x->shape[last] < ACROSS || rt_dtypes[x->data->dtype].size >= 8) return -1;
    for (int i = 0; i < last; i++)
        if (x->runs[i] >= 0 && x->data->strides[x->runs[i]] == 1 && x->shape[i] >= ACROSS) found = i;
    for (int k = 0; k < x->count; k++)
        for (int i = 0; i < last; i++)
            if (x->shape[i] > 1 && x->picks[k].index->strides[i] != 0) return -1;
    return found;
}

static void swap(int64_t *values, int i, int j)
{
    const int64_t value = values[i];
    values[i] = values[j];
    values[j] = value;
}

/* Gathers rows as they lie in memory, and turns what that gives. False where there is no memory for that. */
static bool gather_across(const struct kn_indexing *x, int axis, const struct rt_array *out, enum rt_status *status,
                          struct rt_error *e)
{
    const int last = x->ndim - 1;
    struct kn_indexing rows = *x;
    struct rt_array indices[KN_MAX_PICKS], gathered;
    swap(rows.shape, axis, last);
    rows.runs[last] = x->runs[axis];
    rows.runs[axis] = x->runs[last];
    for (int k = 0; k < x->count; k++) {
        indices[k] = *x->picks[k].index; /* borrowed */
        swap(indices[k].shape, axis, last);
        swap(indices[k].strides, axis, last);
        rows.picks[k].index = &indices[k];
    }
    if (rt_array_new(rt_array_device(out), x->data->dtype, rows.ndim, rows.shape, &gathered, NULL) != RT_OK)
        return false;
    *status = travel(&rows, &gathered, KN_READ, KN_ADD, e);
    struct rt_array turned = gathered; /* borrowed */
    swap(turned.shape, axis, last);
    swap(turned.strides, axis, last);
    if (*status == RT_OK) *status = kn_copy(out, &turned, e);
    rt_array_release(&gathered);
    return true;
}

enum rt_status kn_gather(const struct kn_indexing *x, const struct rt_array *out, struct rt_error *e)
{
    enum rt_status status = check(x, out, e);
    const int axis = status == RT_OK ? axis_across(x) : -1;
    if (axis >= 0 && gather_across(x, axis, out, &status, e)) return status;
    return status == RT_OK && place_count(x) > 0 ? travel(x, out, KN_READ, KN_ADD, e) : status;
}

/* Copies of what a write would change while it is read; *a then points to its copy. */
static enum rt_status set_apart(const struct rt_array *data, const struct rt_array **a, struct rt_array *copy,
                                struct rt_error *e)
{
    if (!rt_array_overlap(data, *a)) return RT_OK;
    enum rt_status status = kn_convert(*a, (*a)->dtype, rt_array_device(*a), copy, e);
    *a = copy;
    return status;
}

/* Many values for few elements: keeping those costs less than looking at all indices before. */
static bool worth_undoing(const struct kn_indexing *x)
{
    return !kn_runs_generated(rt_array_device(x->data)) && rt_array_size(x->data) < place_count(x) / 8;
}

static enum rt_status write_or_undo(const struct kn_indexing *x, const struct rt_array *dense, enum kn_access access,
                                    enum kn_op combine, struct rt_error *e)
{
    struct rt_array before;
    enum rt_status status = kn_convert(x->data, x->data->dtype, rt_array_device(x->data), &before, e);
    if (status != RT_OK) return status;
    status = travel(x, dense, access, combine, e);
    if (status == RT_INVALID) {
        enum rt_status undone = kn_copy(x->data, &before, NULL);
        if (undone != RT_OK) status = rt_fail(e, undone, "a bad index, and what was written before it was kept");
    }
    rt_array_release(&before);
    return status;
}

static enum rt_status write(const struct kn_indexing *x, const struct rt_array *value, enum kn_access access,
                            enum kn_op combine, struct rt_error *e)
{
    struct kn_indexing mine = *x;
    struct rt_array copies[KN_MAX_PICKS + 1] = {{0}}, spread = {0};
    const struct rt_array *dense = value;
    enum rt_status status = check(x, value, e);
    if (status == RT_OK) status = rt_array_writable(x->data, e);
    if (status == RT_OK) status = set_apart(x->data, &dense, &copies[0], e);
    for (int i = 0; i < x->count && status == RT_OK; i++)
        status = set_apart(x->data, &mine.picks[i].index, &copies[i + 1], e);
    if (status == RT_OK) status = rt_array_broadcast(dense, x->ndim, x->shape, &spread, e);
    if (status == RT_OK && place_count(x) > 0) {
        if (worth_undoing(x)) {
            status = write_or_undo(&mine, &spread, access, combine, e);
        } else {
            status = travel(&mine, NULL, KN_CHECK, combine, e);
            if (status == RT_OK) status = travel(&mine, &spread, access, combine, e);
        }
    }
    rt_array_release(&spread);
    for (int i = 0; i <= x->count; i++) rt_array_release(&copies[i]);
    return status;
}

enum rt_status kn_scatter(const struct kn_indexing *x, const struct rt_array *value, struct rt_error *e)
{
    return write(x, value, KN_WRITE, KN_ADD, e);
}

enum rt_status kn_scatter_by(enum kn_op op, const struct kn_indexing *x, const struct rt_array *value,
                             struct rt_error *e)
{
    if (op == KN_MINIMUM || op == KN_MAXIMUM) {
        enum rt_status status = kn_check_real(x->data, kn_ops[op].name, e);
        if (status != RT_OK) return status;
    }
    return write(x, value, KN_ACCUMULATE, op, e);
}
