/* Reductions of many rows at a time on the host threads: short rows, or values that lie farther apart than the rows.
 * Lane i of a block belongs to row i, and element after element of all rows is combined with it. */
#include "kernels/reduce_host.h"
#include <string.h>
#include "runtime/interrupt.h"
#include "runtime/threads.h"

#define STRIP         1024  /* bytes of each row that are combined before those after them are asked for */
#define ROWS_AHEAD    2     /* of the row that is computed */
#define WIDE          2048  /* rows that fewer ones are made into */
#define LEAST_WIDENED 65536 /* elements, at 16 of each of those at least */

bool kn_reduce_widens(const struct kn_reducer *r)
{
    int64_t inner = 1;
    if (r->indices || r->filled || r->count < 2 || r->count > WIDE / 2 || r->count * r->length < LEAST_WIDENED)
        return false;
    for (int i = r->rows.ndim - 1; i >= 0; inner *= r->rows.shape[i--])
        if (r->rows.shape[i] > 1 && r->rows.strides[i] != inner) return false;
    return kn_row_step(&r->row) == r->count;
}

/* Of so few rows that each loop over one element of each is short: makes row i of the output's rows i, i + count, i + 2
 * count ..., of which one has every WIDE / count-th element of it. */
void kn_reduce_widen(struct kn_reducer *r, struct kn_reduce_pass *p)
{
    if (!kn_reduce_widens(r)) return;
    for (int i = 0; i < r->program.leaves; i++)
        if (kn_row_step(&r->leaves[i].row) == KN_NO_STEP) return;
    int64_t parts = WIDE / r->count;
    for (int i = 0; i <= r->program.leaves; i++) {
        struct rt_array *rows = i < r->program.leaves ? &r->leaves[i].rows : &r->rows;
        struct rt_array *row = i < r->program.leaves ? &r->leaves[i].row : &r->row;
        int64_t step = kn_row_step(row);
        memmove(rows->shape + 1, rows->shape, (size_t)rows->ndim * sizeof *rows->shape);
        memmove(rows->strides + 1, rows->strides, (size_t)rows->ndim * sizeof *rows->strides);
        rows->ndim++;
        row->ndim = 1;
        rows->shape[0] = parts;
        rows->strides[0] = step;
        row->shape[0] = r->length / parts;
        row->strides[0] = step * parts;
    }
    p->row_parts = parts;
    p->tail = r->length % parts * r->count;
    r->count *= parts;
    r->length /= parts;
    r->many = true;
}

/* Moves a walk over rows to the i-th elements of the next n rows. */
static void shift_in_rows(const struct kn_reduce_pass *p, int64_t i, size_t n, struct kn_walk *w)
{
    int64_t shift[KN_MAX_LEAVES];
    for (int k = 0; k < p->r->program.leaves; k++) shift[k] = kn_reduce_bytes_to(&p->r->leaves[k].row, i);
    kn_walk_shift(w, shift, n);
}

/* Whether to ask for rows before they are combined. AMD's processors find a few rows side by side by themselves, and
 * what asks keeps them from it. */
static bool asks_ahead(void)
{
#if defined __x86_64__
    return !__builtin_cpu_is("amd");
#else
    return true;
#endif
}

/* Rows of elements in memory, as `rows` combines them, strip by strip: beside each, the same strip of the rows that are
 * next is asked for. */
static void combine_strips(const struct kn_reduce_pass *p, kn_rows_loop *rows, char *lanes, const char *values,
                           size_t count, bool more, size_t n)
{
    const ptrdiff_t stride = p->r->leaves[0].row.strides[0], bytes = stride * (ptrdiff_t)p->value;
    const size_t strip = STRIP / p->value;
    for (size_t i = 0, part; i < n; i += part) {
        const char *at = values + i * p->value;
        part = n - i < strip ? n - i : strip;
        for (size_t row = count; row < 2 * count; row++)
            for (size_t k = 0; k < part * p->value; k += KN_LINE)
                __builtin_prefetch(at + (ptrdiff_t)row * bytes + (ptrdiff_t)k, 0, 2);
        rows(lanes + i * p->value, at, stride, count, more, part);
    }
}

/* Asks for the i-th elements of the next n rows, as the leaves have them: nothing else finds what is computed from
 * pieces of rows that lie apart. */
static void ask_for_row(const struct kn_reduce_pass *p, int64_t i, size_t n, const struct kn_walk *w)
{
    if (i >= p->r->length) return;
    for (int k = 0; k < p->r->program.leaves; k++) {
        const struct rt_array *row = &p->r->leaves[k].row;
        const size_t size = rt_dtypes[row->dtype].size;
        const char *at = p->plan->base[k] + kn_reduce_bytes_to(row, i) + w->position * (int64_t)size;
        for (size_t j = 0; p->plan->linear[k] && j < n * size; j += KN_LINE) __builtin_prefetch(at + j);
    }
}

/* Combines the next elements of n rows, KN_GROUP at most, one after the other; returns how many. */
static int64_t combine_group(const struct kn_reduce_pass *p, struct kn_walk *w, int64_t i, size_t n, char *lanes)
{
    kn_rows_loop *rows = p->raw ? p->raw : kn_reduce_rows_loop(p);
    int64_t together = p->plan->slots == 0 && p->r->leaves[0].row.ndim == 1 ? KN_COMBINED_ROWS : 1;
    int64_t count = p->r->length - i < KN_GROUP ? p->r->length - i : KN_GROUP, k = 0;
    bool far = asks_ahead() && together > 1 && n * p->value >= 4 * STRIP &&
               p->r->count * p->r->length >= KN_REDUCE_FAR / (int64_t)p->value;
    const bool computed = !rows && p->r->count * p->r->length >= KN_REDUCE_FAR / (int64_t)p->value;
    while (k < count) {
        shift_in_rows(p, i + k, n, w);
        if (computed) ask_for_row(p, i + k + ROWS_AHEAD, n, w);
        const void *values = kn_walk_evaluate(w, n, NULL);
        if (rows) {
            int64_t some = count - k < together ? count - k : together;
            if (far)
                combine_strips(p, rows, lanes, values, (size_t)some, k > 0, n);
            else
                rows(lanes, values, p->r->leaves[0].row.strides[0], (size_t)some, k > 0, n);
            k += some;
            continue;
        }
        if (k++ == 0)
            memcpy(lanes, values, n * p->value);
        else
            kn_reduce_combine(p, p->class, lanes, lanes, values, n);
    }
    return count;
}

static void combine_levels(const struct kn_reduce_pass *p, char *level, size_t n)
{
    kn_reduce_combine(p, p->class, level, level, level + p->block_bytes, n);
}

/* Many rows at a time: lane i of every block belongs to row i. Groups of elements are combined in pairs, pairs in
 * pairs, by a stack whose levels are the bits of the number of groups. */
static void combine_rows(const struct kn_reduce_pass *p, struct kn_walk *w, size_t n, char *stack)
{
    int64_t groups = 0;
    int top = 0;
    for (int64_t i = 0; i < p->r->length && !rt_interrupted();) {
        i += combine_group(p, w, i, n, stack + (size_t)top * p->block_bytes);
        top++;
        for (int64_t bits = groups++; bits & 1; bits >>= 1, top--)
            combine_levels(p, stack + (size_t)(top - 2) * p->block_bytes, n);
    }
    for (; top > 1; top--) combine_levels(p, stack + (size_t)(top - 2) * p->block_bytes, n);
    if (w->position < p->tail) {
        if (p->tail - w->position < (int64_t)n) n = (size_t)(p->tail - w->position);
        shift_in_rows(p, p->r->length, n, w);
        kn_reduce_combine(p, p->class, stack, stack, kn_walk_evaluate(w, n, NULL), n);
    }
}

/* argmin and argmax of n rows at a time. stack: best values, best indices. */
static void search_rows(const struct kn_reduce_pass *p, struct kn_walk *w, size_t n, char *stack)
{
    const struct kn_loops *l = p->plan->loops;
    kn_search_loop *search = (p->r->combine == KN_MINIMUM ? l->search_least : l->search_greatest)[p->class];
    bool stored = kn_reduce_rows_loop(p) && p->r->leaves[0].row.ndim == 1;
    const int64_t one = 1;
    for (int64_t i = 0, count; i < p->r->length && !rt_interrupted(); i += count) {
        shift_in_rows(p, i, n, w);
        const void *values = kn_walk_evaluate(w, n, NULL);
        if (i == 0) {
            memcpy(stack, values, n * p->value);
            kn_spread(RT_INT64, stack + p->block_bytes, &one, n);
        }
        count = !stored ? 1 : p->r->length - i < KN_GROUP ? p->r->length - i : KN_GROUP;
        search(stack, (int64_t *)(void *)(stack + p->block_bytes), values, stored ? p->r->leaves[0].row.strides[0] : 0,
               (size_t)count, i + 1, n);
    }
}

static void rows_piece(void *context, size_t begin, size_t end, int worker)
{
    struct kn_reduce_pass *p = context;
    char *scratch = p->scratch + (size_t)worker * p->scratch_bytes, *stack = scratch + kn_plan_scratch(p->plan);
    struct kn_walk w;
    kn_walk_start(p->plan, scratch, (int64_t)begin, (int64_t)end, NULL, &w);
    for (size_t n; (n = kn_walk_next(&w)) > 0 && !rt_interrupted(); kn_walk_advance(&w, n)) {
        if (p->index) {
            search_rows(p, &w, n, stack);
            memcpy((int64_t *)rt_array_host(p->out) + w.position, stack + p->block_bytes, n * sizeof(int64_t));
            continue;
        }
        combine_rows(p, &w, n, stack);
        if (p->row_parts > 1)
            memcpy(p->partial + (size_t)w.position * p->value, stack, n * p->value);
        else
            kn_reduce_write(p, p->class, stack, 1, w.position, n, stack + p->block_bytes);
    }
}

/* The rows of the reducer that are one of the output to one by halves, then into the output. */
static void write_parts(const struct kn_reduce_pass *p)
{
    size_t count = (size_t)(p->r->count / p->row_parts);
    for (size_t left = (size_t)p->row_parts, half; left > 1; left = half) {
        half = (left + 1) / 2;
        kn_reduce_combine(p, p->class, p->partial, p->partial, p->partial + half * count * p->value,
                          (left - half) * count);
    }
    kn_reduce_write(p, p->class, p->partial, 1, 0, count, p->scratch);
}

enum rt_status kn_reduce_rows(struct kn_reduce_pass *p, struct rt_error *e)
{
    int levels = 4;
    for (int64_t groups = p->r->length / KN_GROUP; groups > 0; groups >>= 1) levels++;
    size_t grain = (size_t)p->r->count / (size_t)rt_thread_count() + 1;
    grain = grain < 256 ? 256 : grain > KN_BLOCK ? KN_BLOCK : grain;
    enum rt_status status =
        kn_reduce_room(p, p->row_parts > 1 ? (size_t)p->r->count : 0, (size_t)levels, (size_t)p->r->count <= grain, e);
    if (status == RT_OK) rt_parallel_for((size_t)p->r->count, grain, rows_piece, p);
    if (status == RT_OK && p->row_parts > 1) write_parts(p);
    return status;
}
