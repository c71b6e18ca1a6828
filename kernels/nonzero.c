/* Counting masks and moving what they pick; a GPU does the moving by the places as indices. */
#include "kernels/nonzero.h"
#include <stdlib.h>
#include <string.h>
#include "kernels/gather.h"
#include "runtime/interrupt.h"

static int64_t chunk_count(const struct kn_mask *m)
{
    return (m->places + KN_MASK_CHUNK - 1) / KN_MASK_CHUNK;
}

static bool generated(const struct kn_mask *m)
{
    return kn_runs_generated(rt_array_device(&m->bits));
}

int64_t *kn_mask_before(const struct kn_mask *m)
{
    return m->before.storage ? rt_array_host(&m->before) : (int64_t *)(uintptr_t)&m->only;
}

/* Makes of each chunk's count the sum of those in front of it. */
static enum rt_status add_up(struct kn_mask *m, struct rt_error *e)
{
    int64_t chunks = chunk_count(m), sum = 0;
    bool there = generated(m); /* where only copies are within reach */
    int64_t *counts = there ? rt_alloc((size_t)chunks * sizeof *counts) : kn_mask_before(m);
    if (!counts) return rt_fail(e, RT_NOMEM, "out of memory: %zu bytes for counting a mask", (size_t)chunks * 8);
    enum rt_status status = there ? rt_array_read(&m->before, counts, e) : RT_OK;
    for (int64_t i = 0; i < chunks && status == RT_OK; i++) {
        int64_t own = counts[i];
        counts[i] = sum;
        sum += own;
    }
    if (status == RT_OK && there) status = rt_array_write(&m->before, counts, e);
    m->count = sum;
    if (there) free(counts);
    return status;
}

enum rt_status kn_mask_count(const struct rt_array *mask, struct kn_mask *out, struct rt_error *e)
{
    *out = (struct kn_mask){.places = rt_array_size(mask)};
    enum rt_status status = rt_array_alive(mask, e);
    if (status == RT_OK) status = kn_contiguous(mask, &out->bits, e);
    int64_t chunks = chunk_count(out);
    if (status == RT_OK && (chunks > 1 || generated(out)))
        status = rt_array_new(rt_array_device(mask), RT_INT64, 1, &chunks, &out->before, e);
    if (status != RT_OK || chunks == 0) return status;
    if (generated(out))
        status = kn_mask_count_cuda(out, e);
    else
        kn_mask_count_host(out);
    if (status == RT_OK) status = rt_stopped(e);
    return status == RT_OK ? add_up(out, e) : status;
}

void kn_mask_release(struct kn_mask *m)
{
    rt_array_release(&m->bits);
    rt_array_release(&m->before);
}

enum rt_status kn_mask_places(const struct kn_mask *m, const struct rt_array *out, struct rt_error *e)
{
    if (m->count == 0) return RT_OK;
    if (generated(m)) return kn_mask_places_cuda(m, out, e);
    kn_mask_places_host(m, out);
    return rt_stopped(e);
}

/* Rows taken by the places of the mask: an indexed access along the first axis. */
static enum rt_status by_places(const struct kn_mask *m, const struct rt_array *rows, const struct rt_array *picked,
                                bool writes, struct rt_error *e)
{
    struct rt_array places = {0}, index = {0};
    struct kn_indexing x = {.data = rows, .ndim = rows->ndim, .count = 1, .once = true};
    for (int i = 0; i < rows->ndim; i++) {
        x.shape[i] = i == 0 ? m->count : rows->shape[i];
        x.runs[i] = i == 0 ? -1 : i;
    }
    enum rt_status status = rt_array_new(rt_array_device(rows), RT_INT64, 1, &m->count, &places, e);
    if (status == RT_OK) status = kn_mask_places(m, &places, e);
    if (status == RT_OK) {
        index = places; /* borrowed: the same along all axes but the first */
        index.ndim = rows->ndim;
        for (int i = 0; i < rows->ndim; i++) {
            index.shape[i] = x.shape[i];
            index.strides[i] = i == 0;
        }
        x.picks[0].index = &index;
        status = writes ? kn_scatter(&x, picked, e) : kn_gather(&x, picked, e);
    }
    rt_array_release(&places);
    return status;
}

/* Bytes of a part, or 0 where parts are not contiguous one behind the other. */
static size_t part_size(const struct kn_mask *m, const struct rt_array *rows)
{
    if (generated(m) || !rt_array_contiguous(rows)) return 0;
    return (size_t)(rt_array_size(rows) / m->places) * rt_dtypes[rows->dtype].size;
}

enum rt_status kn_mask_read(const struct kn_mask *m, const struct rt_array *rows, const struct rt_array *picked,
                            struct rt_error *e)
{
    if (m->count == 0 || rt_array_size(rows) == 0) return RT_OK;
    size_t size = part_size(m, rows);
    if (size == 0) return by_places(m, rows, picked, false, e);
    kn_mask_read_host(m, rt_array_host(rows), rt_array_host(picked), size);
    return rt_stopped(e);
}

enum rt_status kn_mask_write(const struct kn_mask *m, const struct rt_array *rows, const struct rt_array *picked,
                             struct rt_error *e)
{
    if (m->count == 0 || rt_array_size(rows) == 0) return RT_OK;
    size_t size = part_size(m, rows);
    bool direct =
        size > 0 && rt_array_contiguous(picked) && !rt_array_overlap(rows, picked) && !rt_array_overlap(rows, &m->bits);
    if (!direct) return by_places(m, rows, picked, true, e);
    kn_mask_write_host(m, rt_array_host(rows), rt_array_host(picked), size);
    return rt_stopped(e);
}
