#include "kernels/rearrange.h"
#include <string.h>
#include "kernels/host.h"
#include "runtime/interrupt.h"
#include "runtime/threads.h"

/* ---- triangles ---- */

struct triangle {
    char *at;
    int64_t rows, columns, k;
    size_t size;
    bool upper;
};

static int64_t within(int64_t i, int64_t last)
{
    return i < 0 ? 0 : i > last ? last : i;
}

static void clear_rows(void *context, size_t begin, size_t end, int worker)
{
    const struct triangle *t = context;
    (void)worker;
    if (rt_interrupted()) return;
    for (size_t row = begin; row < end; row++) {
        int64_t i = (int64_t)row % t->rows;
        int64_t from = t->upper ? 0 : within(i + t->k + 1, t->columns),
                to = t->upper ? within(i + t->k, t->columns) : t->columns;
        memset(t->at + ((int64_t)row * t->columns + from) * (int64_t)t->size, 0, (size_t)(to - from) * t->size);
    }
}

enum rt_status kn_clear_triangle(const struct rt_array *a, int64_t k, bool upper, struct rt_error *e)
{
    int64_t rows = a->shape[a->ndim - 2], columns = a->shape[a->ndim - 1];
    k = k < -rows ? -rows : k > columns ? columns : k;
    struct triangle t = {rt_array_host(a), rows, columns, k, rt_dtypes[a->dtype].size, upper};
    if (rt_array_size(a) == 0) return RT_OK;
    rt_parallel_for((size_t)(rt_array_size(a) / columns), (size_t)(KN_GRAIN / columns + 1), clear_rows, &t);
    return rt_stopped(e);
}

/* ---- repetitions ---- */

#define CHUNK 4096 /* elements of the axis that are repeated at a time */
#define FEW   4 /* times that a small element is written, wanted or not, before the next is written over what is not */

static int64_t chunks_of(const struct kn_counts *c)
{
    return (c->n + CHUNK - 1) / CHUNK;
}

static int64_t chunk_end(const struct kn_counts *c, int64_t chunk)
{
    return c->n < (chunk + 1) * CHUNK ? c->n : (chunk + 1) * CHUNK;
}

/* A chunk's sum comes behind where the next one's is to begin; -1 where it has none. */
static void add_up_piece(void *context, size_t begin, size_t end, int worker)
{
    struct kn_counts *c = context;
    (void)worker;
    for (int64_t chunk = (int64_t)begin; chunk < (int64_t)end; chunk++) {
        int64_t sum = 0;
        bool fails = false;
        for (int64_t i = chunk * CHUNK; i < chunk_end(c, chunk); i++)
            fails |= c->of[i] < 0 || __builtin_add_overflow(sum, c->of[i], &sum);
        c->before[chunk + 1] = fails ? -1 : sum;
    }
}

enum rt_status kn_counts_add_up(const int64_t *counts, int64_t n, struct kn_counts *c, struct rt_error *e)
{
    *c = (struct kn_counts){.of = counts, .n = n};
    int64_t chunks = chunks_of(c);
    size_t bytes = (size_t)(chunks + 1) * sizeof *c->before;
    c->before = rt_alloc(bytes);
    if (!c->before) return rt_fail(e, RT_NOMEM, "out of memory: %zu bytes for repeating", bytes);
    c->before[0] = 0;
    rt_parallel_for((size_t)chunks, KN_GRAIN / CHUNK, add_up_piece, c);
    for (int64_t i = 0; i < chunks; i++) {
        int64_t sum = c->before[i + 1];
        if (sum < 0 || __builtin_add_overflow(c->before[i], sum, &c->before[i + 1]))
            return rt_fail(e, RT_INVALID, "the counts have no sum");
    }
    c->total = c->before[chunks];
    return RT_OK;
}

struct repeat {
    const struct kn_counts *c;
    const char *from;
    char *to;
    size_t size; /* bytes that are repeated together */
};

/* Some elements in a row, to the end of what is written. */
#define REPEAT(name, TYPE)                                                                                             \
    static void name(char *out, const char *end, const char *in, const int64_t *counts, int64_t n)                     \
    {                                                                                                                  \
        TYPE *to = (TYPE *)(void *)out;                                                                                \
        const TYPE *from = (const TYPE *)(const void *)in, *last = (const TYPE *)(const void *)end;                    \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            const TYPE v = from[i];                                                                                    \
            int64_t count = counts[i], k = 0;                                                                          \
            if (last - to >= FEW)                                                                                      \
                for (; k < FEW; k++) to[k] = v;                                                                        \
            for (; k < count; k++) to[k] = v;                                                                          \
            to += count;                                                                                               \
        }                                                                                                              \
    }
REPEAT(repeat_1, uint8_t)
REPEAT(repeat_2, uint16_t)
REPEAT(repeat_4, uint32_t)
REPEAT(repeat_8, uint64_t)
REPEAT(repeat_16, double _Complex)

static void repeat_blocks(char *to, const char *from, size_t size, const int64_t *counts, int64_t n)
{
    for (int64_t i = 0; i < n; i++, from += size)
        for (int64_t k = 0; k < counts[i]; k++, to += size) memcpy(to, from, size);
}

/* Items are the chunks of the axis, in each row of it. */
static void repeat_piece(void *context, size_t begin, size_t end, int worker)
{
    const struct repeat *r = context;
    int64_t chunks = chunks_of(r->c);
    (void)worker;
    for (int64_t item = (int64_t)begin; item < (int64_t)end && !rt_interrupted(); item++) {
        int64_t row = item / chunks, chunk = item % chunks, first = chunk * CHUNK, n = chunk_end(r->c, chunk) - first;
        const char *from = r->from + (size_t)(row * r->c->n + first) * r->size;
        char *to = r->to + (size_t)(row * r->c->total + r->c->before[chunk]) * r->size;
        const char *last = to + (size_t)(r->c->before[chunk + 1] - r->c->before[chunk]) * r->size;
        const int64_t *counts = r->c->of + first;
        switch (r->size) {
        case 1: repeat_1(to, last, from, counts, n); break;
        case 2: repeat_2(to, last, from, counts, n); break;
        case 4: repeat_4(to, last, from, counts, n); break;
        case 8: repeat_8(to, last, from, counts, n); break;
        case 16: repeat_16(to, last, from, counts, n); break;
        default: repeat_blocks(to, from, r->size, counts, n);
        }
    }
}

enum rt_status kn_repeat_host(const struct rt_array *a, int axis, const struct kn_counts *c, const struct rt_array *out,
                              struct rt_error *e)
{
    struct repeat r = {c, rt_array_host(a), rt_array_host(out), rt_dtypes[a->dtype].size};
    if (rt_array_size(out) == 0) return RT_OK;
    for (int i = axis + 1; i < a->ndim; i++) r.size *= (size_t)a->shape[i];
    int64_t items = chunks_of(c);
    for (int i = 0; i < axis; i++) items *= a->shape[i];
    int64_t each = rt_array_size(out) / items + 1;
    rt_parallel_for((size_t)items, each >= KN_GRAIN ? 1 : (size_t)(KN_GRAIN / each), repeat_piece, &r);
    return rt_stopped(e);
}
