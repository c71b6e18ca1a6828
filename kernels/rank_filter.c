/* Elements are sorted as keys (keys.h), unsigned integers as wide as they. */
#include "kernels/rank_filter.h"
#include <stdlib.h>
#include <string.h>
#include "kernels/keys.h"
#include "kernels/loops.h"
#include "kernels/program.h"
#include "runtime/interrupt.h"
#include "runtime/threads.h"

#define CHUNK  4096  /* results of a line that are one piece of work */
#define GRAIN  16384 /* elements that are turned into keys by one thread */
#define LINEAR 16    /* elements of a window up to which places are looked for one by one */
#define LARGE  1024  /* elements of a window from which on a piece of a line may take long */

struct filter {
    const struct rt_array *a; /* contiguous */
    const struct kn_loops *loops;
    enum kn_key_kind kind;
    int64_t sizes[RT_MAX_DIMS], line; /* windows along the last axis */
    int64_t width, height;            /* elements of a window along the last axis, and rows of these that it has */
    int64_t *rows;                    /* where these begin, from the window's first element on */
    int64_t rank, pieces;             /* of a line */
    bool spreads;
    void *keys, *windows; /* of all elements; a window for each worker */
    char *out;
};

/* Keys of n elements of 4 or 8 bytes, and elements of keys; both may be in the same place. */
static void make_keys(const struct filter *f, const void *from, void *keys, size_t n, bool back)
{
    const bool wide = rt_dtypes[f->a->dtype].size == 8;
    if (f->kind == KN_KEY_FLOAT) {
        if (wide)
            back ? f->loops->unsorted_64(keys, from, false, n) : f->loops->sorted_64(keys, from, false, n);
        else
            back ? f->loops->unsorted_32(keys, from, false, n) : f->loops->sorted_32(keys, from, false, n);
        return;
    }
    const uint64_t top = f->kind == KN_KEY_SIGNED ? (uint64_t)1 << 63 : 0;
    for (size_t i = 0; i < n; i++) {
        if (wide)
            ((uint64_t *)keys)[i] = ((const uint64_t *)from)[i] ^ top;
        else
            ((uint32_t *)keys)[i] = ((const uint32_t *)from)[i] ^ (uint32_t)(top >> 32);
    }
}

/* For keys of one width: how many of a window's keys, which ascend, are less; the window with one key in the place of
 * another one; and a piece of a line. */
#define RANKS(T, bits)                                                                                                 \
    static size_t less_##bits(const T *keys, size_t n, T key)                                                          \
    {                                                                                                                  \
        size_t low = 0;                                                                                                \
        if (n <= LINEAR) {                                                                                             \
            for (size_t i = 0; i < n; i++) low += keys[i] < key;                                                       \
            return low;                                                                                                \
        }                                                                                                              \
        for (size_t half; n > 1; n -= half) {                                                                          \
            half = n / 2;                                                                                              \
            low += keys[low + half - 1] < key ? half : 0;                                                              \
        }                                                                                                              \
        return low + (keys[low] < key);                                                                                \
    }                                                                                                                  \
    static void replace_##bits(T *keys, size_t n, T old, T new)                                                        \
    {                                                                                                                  \
        if (old == new) return;                                                                                        \
        const size_t from = less_##bits(keys, n, old), to = less_##bits(keys, n, new);                                 \
        if (new > old) {                                                                                               \
            memmove(keys + from, keys + from + 1, (to - 1 - from) * sizeof *keys);                                     \
            keys[to - 1] = new;                                                                                        \
        } else {                                                                                                       \
            memmove(keys + to + 1, keys + to, (from - to) * sizeof *keys);                                             \
            keys[to] = new;                                                                                            \
        }                                                                                                              \
    }                                                                                                                  \
    static int compare_##bits(const void *a, const void *b)                                                            \
    {                                                                                                                  \
        const T x = *(const T *)a, y = *(const T *)b;                                                                  \
        return x < y ? -1 : x > y;                                                                                     \
    }                                                                                                                  \
    static void filter_##bits(const struct filter *f, T *window, const T *at, T *to, int64_t n)                        \
    {                                                                                                                  \
        const size_t count = (size_t)(f->width * f->height);                                                           \
        for (int64_t k = 0; k < f->height; k++)                                                                        \
            memcpy(window + k * f->width, at + f->rows[k], (size_t)f->width * sizeof *window);                         \
        qsort(window, count, sizeof *window, compare_##bits);                                                          \
        for (int64_t i = 0;; i++) {                                                                                    \
            const bool nan = f->spreads && window[count - 1] == (T) ~(T)0;                                             \
            to[i] = nan ? (T) ~(T)0 : window[f->rank];                                                                 \
            if (i == n - 1 || (count >= LARGE && rt_interrupted())) break;                                             \
            for (int64_t k = 0; k < f->height; k++) {                                                                  \
                const T *row = at + f->rows[k] + i;                                                                    \
                replace_##bits(window, count, row[0], row[f->width]);                                                  \
            }                                                                                                          \
        }                                                                                                              \
    }
RANKS(uint32_t, 32)
RANKS(uint64_t, 64)

/* Where the first element of line number `line` of the windows is in the array. */
static int64_t line_begin(const struct filter *f, int64_t line)
{
    int64_t at = 0;
    for (int i = f->a->ndim - 2; i >= 0; i--) {
        const int64_t n = f->a->shape[i] - f->sizes[i] + 1;
        at += line % n * f->a->strides[i];
        line /= n;
    }
    return at;
}

static void filter_piece(void *context, size_t begin, size_t end, int worker)
{
    const struct filter *f = context;
    const size_t bytes = rt_dtypes[f->a->dtype].size;
    char *window = (char *)f->windows + (size_t)worker * (size_t)(f->width * f->height) * bytes;
    for (size_t item = begin; item < end && !rt_interrupted(); item++) {
        const int64_t line = (int64_t)item / f->pieces, first = (int64_t)item % f->pieces * CHUNK;
        const int64_t n = f->line - first < CHUNK ? f->line - first : CHUNK;
        const char *at = (const char *)f->keys + (size_t)(line_begin(f, line) + first) * bytes;
        char *to = f->out + (size_t)(line * f->line + first) * bytes;
        if (bytes == 4)
            filter_32(f, (uint32_t *)(void *)window, (const uint32_t *)(const void *)at, (uint32_t *)(void *)to, n);
        else
            filter_64(f, (uint64_t *)(void *)window, (const uint64_t *)(const void *)at, (uint64_t *)(void *)to, n);
        make_keys(f, to, to, (size_t)n, true);
    }
}

static void keys_piece(void *context, size_t begin, size_t end, int worker)
{
    const struct filter *f = context;
    const size_t bytes = rt_dtypes[f->a->dtype].size;
    (void)worker;
    make_keys(f, (const char *)rt_array_host(f->a) + begin * bytes, (char *)f->keys + begin * bytes, end - begin,
              false);
}

/* The rows of the window, by their coordinates along all axes but the last. */
static void find_rows(struct filter *f)
{
    for (int64_t k = 0; k < f->height; k++) {
        int64_t rest = k;
        f->rows[k] = 0;
        for (int i = f->a->ndim - 2; i >= 0; i--) {
            f->rows[k] += rest % f->sizes[i] * f->a->strides[i];
            rest /= f->sizes[i];
        }
    }
}

static enum rt_status run(struct filter *f, int64_t results, struct rt_error *e)
{
    const size_t bytes = rt_dtypes[f->a->dtype].size, elements = (size_t)rt_array_size(f->a);
    f->rows = rt_alloc((size_t)f->height * sizeof *f->rows);
    f->keys = rt_alloc(elements * bytes);
    f->windows = rt_alloc((size_t)(f->width * f->height) * bytes * (size_t)rt_thread_count());
    enum rt_status status = RT_OK;
    if (f->rows && f->keys && f->windows) {
        find_rows(f);
        rt_parallel_for(elements, GRAIN, keys_piece, f);
        rt_parallel_for((size_t)(results / f->line * f->pieces), (size_t)(CHUNK / f->line + 1), filter_piece, f);
        if (rt_interrupted()) status = rt_fail(e, RT_INTERRUPTED, "interrupted");
    } else {
        status = rt_fail(e, RT_NOMEM, "out of memory: no room for the %zu keys of a filter", elements);
    }
    free(f->rows);
    free(f->keys);
    free(f->windows);
    return status;
}

enum rt_status kn_rank_filter(const struct rt_array *a, const int64_t *sizes, int64_t rank, bool spreads,
                              struct rt_array *out, struct rt_error *e)
{
    struct rt_array whole = {0};
    struct filter f = {.loops = kn_host_loops(), .kind = kn_key_kind(a->dtype), .rank = rank, .height = 1};
    int64_t shape[RT_MAX_DIMS];
    const int last = a->ndim - 1;
    memset(out, 0, sizeof *out);
    enum rt_status status = rt_array_alive(a, e);
    if (status != RT_OK) return status;
    if (kn_runs_generated(rt_array_device(a)) || rt_is_complex(a->dtype) || rt_dtypes[a->dtype].size < 4)
        return RT_UNSUPPORTED;
    for (int i = 0; i <= last; i++) {
        f.sizes[i] = sizes[i];
        shape[i] = a->shape[i] - sizes[i] + 1;
        if (i < last) f.height *= sizes[i];
    }
    f.width = sizes[last];
    f.line = shape[last];
    f.pieces = (f.line + CHUNK - 1) / CHUNK;
    f.spreads = spreads && f.kind == KN_KEY_FLOAT;
    status = kn_contiguous(a, &whole, e);
    f.a = &whole;
    if (status == RT_OK) status = rt_array_new(rt_array_device(a), a->dtype, a->ndim, shape, out, e);
    if (status == RT_OK && rt_array_size(out) > 0) {
        f.out = rt_array_host(out);
        status = run(&f, rt_array_size(out), e);
    }
    rt_array_release(&whole);
    if (status != RT_OK) rt_array_release(out);
    return status;
}
