/* Sorting along any axis: the axis is moved to the end, so that rows lie one behind the other, and back again. */
#include "kernels/sort.h"
#include <stdlib.h>
#include <string.h>
#include "kernels/nonzero.h"
#include "kernels/program.h"

#define MANY         65536 /* elements of which the best are looked for among candidates, */
#define LEAST_SHARE  1024  /* as long as there are so many for each that is wanted */
#define LONGEST_PART 4096
#define LEAST_MOST   4 /* of so many elements of 8 bytes more than one is wanted: then all are sorted */

/* A view with the axis `from` moved to the place `to`. */
static enum rt_status move_axis(const struct rt_array *a, int from, int to, struct rt_array *out, struct rt_error *e)
{
    int axes[RT_MAX_DIMS], n = 0;
    for (int i = 0; i < a->ndim; i++) {
        if (n == to) axes[n++] = from;
        if (i != from) axes[n++] = i;
    }
    if (n == to) axes[n] = from;
    return rt_array_permute(a, axes, out, e);
}

/* Contiguous, as all results are, with the last axis at its former place. */
static enum rt_status move_back(struct rt_array *sorted, int axis, struct rt_error *e)
{
    struct rt_array moved = {0}, out = {0};
    if (!sorted->storage || axis == sorted->ndim - 1) return RT_OK;
    enum rt_status status = move_axis(sorted, sorted->ndim - 1, axis, &moved, e);
    if (status == RT_OK) status = kn_contiguous(&moved, &out, e);
    rt_array_release(&moved);
    if (status != RT_OK) return status;
    rt_array_release(sorted);
    *sorted = out;
    return RT_OK;
}

/* The sorter has what is wanted; its rows are filled in here. */
static enum rt_status sort_rows(const struct rt_array *rows, struct kn_sorter s, struct rt_array *values,
                                struct rt_array *indices, struct rt_error *e)
{
    struct rt_device *d = rt_array_device(rows);
    int64_t size = rt_array_size(rows);
    enum rt_status status = RT_OK;
    if (values) status = rt_array_new(d, rows->dtype, rows->ndim, rows->shape, values, e);
    if (status == RT_OK && indices) status = rt_array_new(d, RT_INT64, rows->ndim, rows->shape, indices, e);
    if (status != RT_OK || size == 0) return status;
    s.a = rows;
    s.length = rows->shape[rows->ndim - 1];
    s.rows = size / s.length;
    return kn_runs_generated(d) ? kn_sort_cuda(&s, values, indices, e) : kn_sort_host(&s, values, indices, e);
}

/* The sorter has what is wanted. */
static enum rt_status sort_along(const struct rt_array *a, int axis, struct kn_sorter s, struct rt_array *values,
                                 struct rt_array *indices, struct rt_error *e)
{
    struct rt_array moved = {0}, rows = {0};
    if (values) memset(values, 0, sizeof *values);
    if (indices) memset(indices, 0, sizeof *indices);
    enum rt_status status = rt_array_alive(a, e);
    if (status == RT_OK) status = kn_check_real(a, "sort", e);
    if (status == RT_OK && (axis < 0 || axis >= a->ndim))
        status = rt_fail(e, RT_INVALID, "sort: there is no axis %d, the array has %d", axis + 1, a->ndim);
    if (status == RT_OK && axis == a->ndim - 1 && rt_array_contiguous(a)) {
        status = sort_rows(a, s, values, indices, e);
    } else {
        if (status == RT_OK) status = move_axis(a, axis, a->ndim - 1, &moved, e);
        if (status == RT_OK) status = kn_contiguous(&moved, &rows, e);
        if (status == RT_OK) status = sort_rows(&rows, s, values, indices, e);
        if (status == RT_OK && values) status = move_back(values, axis, e);
        if (status == RT_OK && indices) status = move_back(indices, axis, e);
        rt_array_release(&moved);
        rt_array_release(&rows);
    }
    if (status == RT_OK) return status;
    if (values) rt_array_release(values);
    if (indices) rt_array_release(indices);
    return status;
}

enum rt_status kn_select(const struct rt_array *a, int axis, bool descending, const int64_t *places, int64_t count,
                         struct rt_array *values, struct rt_array *indices, struct rt_error *e)
{
    const struct kn_sorter s = {.descending = descending, .places = places, .wanted = count};
    return sort_along(a, axis, s, values, indices, e);
}

enum rt_status kn_partition(const struct rt_array *a, int axis, const int64_t *places, int64_t count,
                            struct rt_array *values, struct rt_array *indices, struct rt_error *e)
{
    const struct kn_sorter s = {.places = places, .wanted = count, .parts = true};
    return sort_along(a, axis, s, values, indices, e);
}

enum rt_status kn_sort(const struct rt_array *a, int axis, bool descending, struct rt_array *values,
                       struct rt_array *indices, struct rt_error *e)
{
    return kn_select(a, axis, descending, NULL, 0, values, indices, e);
}

/* What can be among the k best of many: the elements that are no worse than the k-th best of as many parts' best ones,
 * of which there are k at least. *found says whether those are few; then *places has where they are, from 1. */
static enum rt_status find_candidates(const struct rt_array *a, int64_t k, bool descending, struct rt_array *values,
                                      struct rt_array *places, bool *found, struct rt_error *e)
{
    int64_t n = a->shape[0], part = n / (8 * k) < LONGEST_PART ? n / (8 * k) : LONGEST_PART;
    int64_t parts[2] = {n / part, part}, is_number = 0;
    struct rt_array cut = {0}, table = {0}, best = {0}, order = {0}, least = {0}, mask = {0};
    struct kn_mask m = {0};
    enum rt_status status = rt_array_slice(a, 0, 0, parts[0] * part, 1, &cut, e);
    if (status == RT_OK) status = rt_array_reshape(&cut, 2, parts, &table, e);
    if (status == RT_OK) status = kn_reduce(descending ? KN_MAX : KN_MIN, &table, 1u << 1, false, &best, e);
    if (status == RT_OK) status = kn_sort(&best, 0, descending, &order, NULL, e);
    if (status == RT_OK) status = rt_array_slice(&order, 0, k - 1, 1, 1, &least, e);
    if (status == RT_OK) {
        double v = rt_load_double(a->dtype, rt_array_host(&least));
        is_number = v == v;
    }
    if (status == RT_OK && is_number) {
        const struct kn_operand args[2] = {{.array = a}, {.array = &least}};
        status = kn_apply(descending ? KN_GE : KN_LE, args, &mask, e);
        if (status == RT_OK) status = kn_mask_count(&mask, &m, e);
        *found = status == RT_OK && m.count < n / 8;
    }
    if (*found) {
        status = rt_array_new(rt_array_device(a), RT_INT64, 1, &m.count, places, e);
        if (status == RT_OK) status = rt_array_new(rt_array_device(a), a->dtype, 1, &m.count, values, e);
        if (status == RT_OK) status = kn_mask_places(&m, places, e);
        if (status == RT_OK) status = kn_mask_read(&m, a, values, e);
    }
    kn_mask_release(&m);
    struct rt_array *all[] = {&cut, &table, &best, &order, &least, &mask};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) rt_array_release(all[i]);
    return status;
}

/* Of many elements on the host that lie side by side, by few candidates; *done says whether that was so. */
static enum rt_status topk_of_many(const struct rt_array *a, int64_t k, bool descending, struct rt_array *values,
                                   struct rt_array *indices, bool *done, struct rt_error *e)
{
    struct rt_array candidates = {0}, places = {0};
    *done = false;
    if (a->ndim != 1 || k < 1 || a->shape[0] < MANY || k > a->shape[0] / LEAST_SHARE || !rt_array_contiguous(a) ||
        kn_runs_generated(rt_array_device(a)) || kn_check_real(a, "topk", NULL) != RT_OK)
        return RT_OK;
    enum rt_status status = find_candidates(a, k, descending, &candidates, &places, done, e);
    if (*done && status == RT_OK) status = kn_topk(&candidates, k, 0, descending, values, indices, e);
    if (*done && status == RT_OK) {
        const int64_t *place = rt_array_host(&places);
        int64_t *index = rt_array_host(indices);
        for (int64_t i = 0; i < k; i++) index[i] = place[index[i] - 1];
    }
    rt_array_release(&candidates);
    rt_array_release(&places);
    return status;
}

/* Of one row on the host: what is not wanted is not written, so that the results need no room for it. */
static enum rt_status topk_of_row(const struct rt_array *a, const int64_t *places, int64_t k, bool descending,
                                  struct rt_array *values, struct rt_array *indices, struct rt_error *e)
{
    const struct kn_sorter s = {
        .a = a, .rows = 1, .length = a->shape[0], .descending = descending, .places = places, .wanted = k};
    enum rt_status status = rt_array_new(rt_array_device(a), a->dtype, 1, &k, values, e);
    if (status == RT_OK) status = rt_array_new(rt_array_device(a), RT_INT64, 1, &k, indices, e);
    if (status == RT_OK) status = kn_sort_host(&s, values, indices, e);
    if (status == RT_OK) return status;
    rt_array_release(values);
    rt_array_release(indices);
    return status;
}

/* Whether that is so. */
static bool is_host_row(const struct rt_array *a)
{
    return a->ndim == 1 && !kn_runs_generated(rt_array_device(a)) && rt_array_contiguous(a) &&
           kn_check_real(a, "topk", NULL) == RT_OK;
}

enum rt_status kn_topk(const struct rt_array *a, int64_t k, int axis, bool descending, struct rt_array *values,
                       struct rt_array *indices, struct rt_error *e)
{
    struct rt_array sorted[2] = {{0}}, first = {0}, *out[2] = {values, indices};
    int64_t *places = NULL;
    enum rt_status status = RT_OK;
    memset(values, 0, sizeof *values);
    memset(indices, 0, sizeof *indices);
    if (axis >= 0 && axis < a->ndim && (k < 0 || k > a->shape[axis]))
        return rt_fail(e, RT_INVALID, "topk: axis %d has %lld elements, and %lld are asked for", axis + 1,
                       (long long)a->shape[axis], (long long)k);
    bool done;
    if ((status = rt_array_alive(a, e)) == RT_OK) status = topk_of_many(a, k, descending, values, indices, &done, e);
    if (status != RT_OK || done) return status;
    places = rt_alloc((size_t)k * sizeof *places + 1);
    if (!places) return rt_fail(e, RT_NOMEM, "out of memory for the places of %lld elements", (long long)k);
    for (int64_t i = 0; i < k; i++) places[i] = i;
    const bool most = axis >= 0 && axis < a->ndim && rt_dtypes[a->dtype].size == 8 && k > a->shape[axis] / LEAST_MOST;
    if (k > 0 && !most && is_host_row(a)) {
        status = topk_of_row(a, places, k, descending, values, indices, e);
        free(places);
        return status;
    }
    status = kn_select(a, axis, descending, most ? NULL : places, k, &sorted[0], &sorted[1], e);
    free(places);
    for (int i = 0; i < 2 && status == RT_OK; i++) {
        status = rt_array_slice(&sorted[i], axis, 0, k, 1, &first, e);
        if (status == RT_OK) status = kn_convert(&first, first.dtype, rt_array_device(a), out[i], e); /* not a view */
        rt_array_release(&first);
    }
    for (int i = 0; i < 2; i++) {
        rt_array_release(&sorted[i]);
        if (status != RT_OK) rt_array_release(out[i]);
    }
    return status;
}
