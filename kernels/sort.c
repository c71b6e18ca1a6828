/* Sorting along any axis: the axis is moved to the end, so that rows lie one behind the other, and back again. */
#include "kernels/sort.h"
#include <stdlib.h>
#include <string.h>
#include "kernels/program.h"

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

enum rt_status kn_select(const struct rt_array *a, int axis, bool descending, const int64_t *places, int64_t count,
                         struct rt_array *values, struct rt_array *indices, struct rt_error *e)
{
    struct kn_sorter s = {.descending = descending, .places = places, .wanted = count};
    struct rt_array moved = {0}, rows = {0};
    if (values) memset(values, 0, sizeof *values);
    if (indices) memset(indices, 0, sizeof *indices);
    enum rt_status status = rt_array_alive(a, e);
    if (status == RT_OK) status = kn_check_real(a, "sort", e);
    if (status == RT_OK && (axis < 0 || axis >= a->ndim))
        status = rt_fail(e, RT_INVALID, "sort: there is no axis %d, the array has %d", axis + 1, a->ndim);
    if (status == RT_OK) status = move_axis(a, axis, a->ndim - 1, &moved, e);
    if (status == RT_OK) status = kn_contiguous(&moved, &rows, e);
    if (status == RT_OK) status = sort_rows(&rows, s, values, indices, e);
    if (status == RT_OK && values) status = move_back(values, axis, e);
    if (status == RT_OK && indices) status = move_back(indices, axis, e);
    rt_array_release(&moved);
    rt_array_release(&rows);
    if (status == RT_OK) return status;
    if (values) rt_array_release(values);
    if (indices) rt_array_release(indices);
    return status;
}

enum rt_status kn_sort(const struct rt_array *a, int axis, bool descending, struct rt_array *values,
                       struct rt_array *indices, struct rt_error *e)
{
    return kn_select(a, axis, descending, NULL, 0, values, indices, e);
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
    places = rt_alloc((size_t)k * sizeof *places + 1);
    if (!places) return rt_fail(e, RT_NOMEM, "out of memory for the places of %lld elements", (long long)k);
    for (int64_t i = 0; i < k; i++) places[i] = i;
    status = kn_select(a, axis, descending, places, k, &sorted[0], &sorted[1], e);
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
