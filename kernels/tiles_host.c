/* Programs over leaves that run along another axis than the output. Where all of them do in the same way, the result is
 * computed as they lie, and then turned; else they go tile by tile: each of their cache lines is read once and turned
 * into rows, over which the loops then go as over any others. */
#include <stdlib.h>
#include <string.h>
#include "kernels/host.h"
#include "kernels/reduce.h"
#include "runtime/interrupt.h"
#include "runtime/threads.h"

#define WIDEST       512   /* columns of a tile at most, so that what is turned fits the second-level cache, */
#define WIDEST_BYTES 2048  /* or more, up to as many bytes: rows of small elements that are short cost mostly calls */
#define LEAST        128   /* columns from which on turning is worth a call of the loops for each row, */
                           /* unless whole rows of a tile are one block */
#define SMALLEST 1024      /* elements from which on tiles are worth choosing */
#define SHORT    1024      /* bytes of a row up to which a call of the loops for it is worth sparing */
#define ODD      KN_LINE   /* bytes between rows that keep them off each other's cache sets */
#define TURNED   (4 << 20) /* bytes of a result that the cache keeps until it is turned */

/* Neighbours along the last axis lie in lines of their own, and those along `axis` in one. */
static bool lies_across(const struct kn_plan *plan, int leaf, int axis)
{
    const struct kn_space *s = &plan->space;
    int64_t size = rt_dtypes[plan->program->arrays[leaf]->dtype].size;
    return s->strides[leaf][axis] == 1 && llabs(s->strides[leaf][s->ndim - 1]) * size >= KN_LINE;
}

static size_t row_bytes(const struct kn_tiles *t, enum rt_dtype dtype)
{
    if (t->together) return (size_t)t->columns * (size_t)rt_dtypes[dtype].size;
    return (size_t)t->columns * (size_t)rt_dtypes[dtype].size / KN_LINE * KN_LINE + ODD + KN_LINE;
}

/* Makes tiles of short rows, which follow each other, that are blocks. False where rows are too long for that, or lines
 * have elements of several. */
static bool choose_together(struct kn_plan *plan, struct kn_tiles *t)
{
    const struct kn_space *s = &plan->space;
    const int64_t columns = s->shape[s->ndim - 1], lines = columns * t->rows, most = s->shape[t->across] / t->rows;
    if (t->across != s->ndim - 2 || (columns * KN_LINE / t->rows > SHORT && columns >= LEAST)) return false;
    if (lines > (int64_t)plan->block) kn_plan_lengthen(plan, (size_t)lines);
    int64_t times = (int64_t)plan->block / lines;
    if (times > most && most > 0) times = most;
    t->together = true;
    t->columns = columns;
    t->rows *= times;
    return true;
}

bool kn_tiles_choose(struct kn_plan *plan, struct kn_tiles *t)
{
    const struct kn_space *s = &plan->space;
    int last = s->ndim - 1, leaves = plan->program->leaves;
    if (last < 1 || s->size < SMALLEST) return false;
    *t = (struct kn_tiles){.across = -1};
    for (int i = 0; i < leaves; i++)
        for (int axis = last - 1; axis >= 0 && t->across < 0; axis--)
            if (lies_across(plan, i, axis)) t->across = axis;
    if (t->across < 0) return false;
    t->columns = WIDEST_BYTES;
    for (int i = 0; i < leaves; i++) {
        if (!(t->turned[i] = lies_across(plan, i, t->across))) continue;
        int64_t size = rt_dtypes[plan->program->arrays[i]->dtype].size;
        if (t->columns > WIDEST_BYTES / size) t->columns = WIDEST_BYTES / size;
        if (t->rows < KN_LINE / size) t->rows = KN_LINE / size;
    }
    if (t->columns < WIDEST) t->columns = WIDEST;
    if (t->columns > (int64_t)plan->block) t->columns = (int64_t)plan->block;
    if (!choose_together(plan, t) && s->shape[last] < LEAST) return false;
    for (int i = 0; i < leaves; i++) {
        if (!t->turned[i]) continue;
        t->place[i] = t->bytes;
        t->bytes += (size_t)t->rows * row_bytes(t, plan->program->arrays[i]->dtype);
    }
    t->row_tiles = (s->shape[t->across] + t->rows - 1) / t->rows;
    t->column_tiles = (s->shape[last] + t->columns - 1) / t->columns;
    return s->shape[t->across] >= t->rows;
}

/* The coordinates of a tile's first element. Row tiles come first: the next one has the lines beside those of the last.
 */
static void locate(const struct kn_tiles *t, int64_t item, int64_t *coordinates)
{
    const struct kn_space *s = &t->run->plan.space;
    int last = s->ndim - 1;
    coordinates[t->across] = item % t->row_tiles * t->rows;
    item /= t->row_tiles;
    coordinates[last] = item % t->column_tiles * t->columns;
    item /= t->column_tiles;
    for (int i = last - 1; i >= 0; i--) {
        if (i == t->across) continue;
        coordinates[i] = item % s->shape[i];
        item /= s->shape[i];
    }
}

static void turn_leaf(const struct kn_tiles *t, int leaf, const int64_t *coordinates, int64_t rows, int64_t columns,
                      char *to)
{
    const struct kn_plan *plan = &t->run->plan;
    const struct kn_space *s = &plan->space;
    enum rt_dtype dtype = plan->program->arrays[leaf]->dtype;
    int64_t size = rt_dtypes[dtype].size, in_line = KN_LINE / size, offset = 0;
    size_t row = row_bytes(t, dtype);
    for (int i = 0; i < s->ndim; i++) offset += coordinates[i] * s->strides[leaf][i];
    for (int64_t i = 0; i < rows; i += in_line)
        kn_turn_line(&(struct kn_turn){.size = (size_t)size,
                                       .to = to + (size_t)i * row,
                                       .to_stride = (int64_t)row / size,
                                       .from = plan->base[leaf] + (offset + i) * size,
                                       .from_stride = s->strides[leaf][s->ndim - 1],
                                       .rows = rows - i < in_line ? rows - i : in_line,
                                       .columns = columns});
}

static void run_tile(const struct kn_tiles *t, struct kn_walk *w, int64_t item, char *scratch)
{
    const struct kn_plan *plan = &t->run->plan;
    const struct kn_space *s = &plan->space;
    int64_t at[RT_MAX_DIMS], rest_rows, rest_columns;
    locate(t, item, at);
    rest_rows = s->shape[t->across] - at[t->across];
    rest_columns = s->shape[s->ndim - 1] - at[s->ndim - 1];
    int64_t rows = rest_rows < t->rows ? rest_rows : t->rows,
            columns = rest_columns < t->columns ? rest_columns : t->columns;
    for (int i = 0; i < plan->program->leaves; i++)
        if (t->turned[i]) turn_leaf(t, i, at, rows, columns, scratch + t->place[i]);
    const int64_t each = t->together ? rows : 1;
    for (int64_t row = 0; row < rows; row += each, at[t->across] += each) {
        kn_walk_move(w, at);
        for (int i = 0; i < plan->program->leaves; i++)
            if (t->turned[i])
                w->turned[i] = scratch + t->place[i] + (size_t)row * row_bytes(t, plan->program->arrays[i]->dtype);
        kn_run_block(t->run, w, (size_t)(each * columns));
    }
}

static void run_piece(void *context, size_t begin, size_t end, int worker)
{
    const struct kn_tiles *t = context;
    const struct kn_run *r = t->run;
    char *scratch = r->scratch + (size_t)worker * r->scratch_bytes;
    struct kn_walk w;
    kn_walk_start(&r->plan, scratch, 0, r->plan.space.size, NULL, &w);
    for (size_t item = begin; item < end && !rt_interrupted(); item++)
        run_tile(t, &w, (int64_t)item, scratch + kn_plan_scratch(&r->plan));
    if (r->past) kn_past_fence();
}

void kn_tiles_run(struct kn_tiles *t, struct kn_run *r, bool alone)
{
    const struct kn_space *s = &r->plan.space;
    int64_t items = t->row_tiles * t->column_tiles, each = t->rows * t->columns;
    for (int i = 0; i < s->ndim - 1; i++)
        if (i != t->across) items *= s->shape[i];
    t->run = r;
    const int64_t grain = alone ? items : each >= KN_GRAIN ? 1 : KN_GRAIN / each;
    rt_parallel_for((size_t)items, (size_t)grain, run_piece, t);
}

/* The first of a program's leaves that is more than one value, where all others of those lie as it does, in another
 * order than row-major, and where all have more bytes together than the result; else NULL. */
static const struct rt_array *alike(const struct kn_program *p, const struct rt_array *out)
{
    const struct rt_array *first = NULL;
    size_t bytes = 0;
    for (int i = 0; i < p->leaves; i++) {
        const struct rt_array *a = p->arrays[i];
        if (rt_array_size(a) == 1) continue;
        if (!rt_array_same_shape(a, out)) return NULL;
        if (!first) first = a;
        for (int axis = 0; axis < a->ndim; axis++)
            if (a->shape[axis] > 1 && a->strides[axis] != first->strides[axis]) return NULL;
        bytes += rt_dtypes[a->dtype].size;
    }
    return first && bytes > rt_dtypes[out->dtype].size && !rt_array_contiguous(first) ? first : NULL;
}

bool kn_turned_room(const struct kn_program *p, const struct rt_array *out, struct rt_array *room)
{
    const int64_t size = rt_array_size(out), bytes = size * (int64_t)rt_dtypes[out->dtype].size;
    if (out->ndim < 2 || size < SMALLEST || bytes > TURNED || !rt_array_contiguous(out)) return false;
    const struct rt_array *first = alike(p, out);
    struct rt_array dense;
    if (!first) return false;
    kn_memory_order(first, &dense);
    const bool fills = rt_array_contiguous(&dense) && dense.offset == first->offset; /* and does not go backwards */
    if (!fills || rt_array_new(rt_array_device(out), out->dtype, out->ndim, out->shape, room, NULL) != RT_OK)
        return false;
    memcpy(room->strides, first->strides, sizeof room->strides);
    return true;
}
