/* Reductions on the host threads, out of the same loops as everything else.
 *
 * Long rows are cut into chunks. A chunk's elements are combined into many lanes, element i into lane i modulo their
 * number, then the lanes by halves; then the chunks' partial results by halves. So a sum has a few dozen roundings one
 * after the other, not millions. Sums of float32 and complex64 are added in double, which memory is not faster than.
 * Where that is no more roundings, few lanes do, which stay in registers.
 * Rows along axes that are not side by side are cut into parts that lie together, whose results are combined by halves.
 * Short or far-apart rows are instead combined many rows at a time (reduce_rows.c). */
#include "kernels/reduce_host.h"
#include <stdlib.h>
#include <string.h>
#include "runtime/interrupt.h"
#include "runtime/threads.h"

#define CHUNK      32768 /* elements of a row that are reduced to one partial result */
#define LANES      1024  /* that a chunk's elements are combined into */
#define LEAST_PART 32    /* elements of a part of a row that is worth being reduced by itself */
#define OWN_BLOCK  1024  /* elements that are combined into a block of results of its own, at least */
#define STACK      32768 /* bytes of memory that a small reduction has without an allocation */

enum rt_dtype kn_reduce_leaf_dtype(const struct kn_reduce_pass *p)
{
    return p->r->program.arrays[0]->dtype;
}

void kn_reduce_combine(const struct kn_reduce_pass *p, enum kn_class class, void *to, const void *a, const void *b,
                       size_t n)
{
    if (p->raw) {
        p->raw(to, b, 0, 1, true, n);
        return;
    }
    p->plan->loops->ops[p->r->combine][class](to, a, b, NULL, n);
    if (class == p->class && !kn_class_exact(p->r->accumulate))
        p->plan->loops->convert[p->class][p->r->accumulate](to, to, n);
}

/* Combines n values of a class into the first `last` by halves; returns how many there are then. */
static size_t fold(const struct kn_reduce_pass *p, enum kn_class class, char *values, size_t n, size_t last)
{
    while (n > last) {
        size_t half = (n + 1) / 2;
        kn_reduce_combine(p, class, values, values, values + half * kn_classes[class].size, n - half);
        n = half;
    }
    return n;
}

int64_t kn_reduce_bytes_to(const struct rt_array *a, int64_t index)
{
    int64_t offset = 0;
    if (a->ndim == 1) return index * a->strides[0] * rt_dtypes[a->dtype].size;
    for (int i = a->ndim - 1; i >= 0; i--) {
        offset += index % a->shape[i] * a->strides[i];
        index /= a->shape[i];
    }
    return offset * rt_dtypes[a->dtype].size;
}

/* Makes one of neighbouring axes that are one in memory, and drops those of one element: the index stays, and what it
 * takes to find its place is less. */
static void merge_axes(struct rt_array *a)
{
    int last = -1;
    for (int i = 0; i < a->ndim; i++) {
        if (a->shape[i] == 1) continue;
        if (last >= 0 && a->strides[last] == a->shape[i] * a->strides[i])
            a->shape[last] *= a->shape[i];
        else
            a->shape[++last] = a->shape[i];
        a->strides[last] = a->strides[i];
    }
    a->ndim = last + 1;
}

/* Of axes that are not one in memory, cuts each row into parts that are, for which r's rows then stand: those of one
 * place in all rows come one after the other, as in memory. Returns how many parts a row has. */
static int64_t cut_rows(struct kn_reducer *r)
{
    const struct rt_array *row = &r->row;
    int inner = row->ndim - 1;
    int64_t length = row->shape[inner], parts;
    while (inner > 0 && row->strides[inner - 1] == row->shape[inner] * row->strides[inner])
        length *= row->shape[--inner];
    parts = r->length / length;
    if (r->indices || parts < 2 || length < LEAST_PART || length > CHUNK) return 1;
    for (int i = 0; i <= r->program.leaves; i++) {
        struct rt_array *rows = i < r->program.leaves ? &r->leaves[i].rows : &r->rows;
        struct rt_array *within = i < r->program.leaves ? &r->leaves[i].row : &r->row;
        size_t outer = (size_t)inner * sizeof *rows->shape, old = (size_t)rows->ndim * sizeof *rows->shape;
        memmove(rows->shape + inner, rows->shape, old);
        memmove(rows->strides + inner, rows->strides, old);
        memcpy(rows->shape, within->shape, outer);
        memcpy(rows->strides, within->strides, outer);
        rows->ndim += inner;
        within->ndim -= inner;
        memmove(within->shape, within->shape + inner, (size_t)within->ndim * sizeof *within->shape);
        memmove(within->strides, within->strides + inner, (size_t)within->ndim * sizeof *within->strides);
    }
    r->length = length;
    r->count *= parts;
    return parts;
}

/* A walk over elements begin to end of a row. */
static void start_in_row(const struct kn_reduce_pass *p, int64_t row, int64_t begin, int64_t end, char *scratch,
                         struct kn_walk *w)
{
    int64_t shift[KN_MAX_LEAVES];
    for (int i = 0; i < p->r->program.leaves; i++) shift[i] = kn_reduce_bytes_to(&p->r->leaves[i].rows, row);
    kn_walk_start(p->plan, scratch, begin, end, shift, w);
}

/* Items are the chunks of all rows. Returns an item's length, and where it begins in its row. */
static size_t chunk_of(const struct kn_reduce_pass *p, size_t item, int64_t *first)
{
    *first = (int64_t)item % p->chunks * CHUNK;
    return (size_t)(p->r->length - *first < CHUNK ? p->r->length - *first : CHUNK);
}

kn_rows_loop *kn_reduce_rows_loop(const struct kn_reduce_pass *p)
{
    bool stored = p->plan->slots == 0 && p->r->program.leaves == 1 && kn_class_exact(p->r->accumulate);
    return stored && !p->raw ? p->plan->loops->rows[p->r->combine][p->class] : NULL;
}

/* Combines n values with the lanes, which have `seen` of a chunk already. */
static void into_lanes(const struct kn_reduce_pass *p, char *lanes, size_t seen, const char *values, size_t n)
{
    for (size_t part; n > 0; seen += part, n -= part, values += part * p->value) {
        char *to = lanes + seen % LANES * p->value;
        part = n < LANES - seen % LANES ? n : LANES - seen % LANES;
        if (seen > 0 || n < 2 * LANES) {
            if (seen >= LANES)
                kn_reduce_combine(p, p->class, to, to, values, part);
            else
                memcpy(to, values, part * p->value);
        } else { /* the first two rows of lanes at once */
            kn_reduce_combine(p, p->class, to, values, values + part * p->value, part);
            part *= 2;
        }
    }
}

/* Combines a chunk into the lanes; returns how many have anything. Of memory as it is, several rows of lanes are read
 * side by side: that is nearly twice as fast as reading straight on. */
static size_t fill_lanes(const struct kn_reduce_pass *p, struct kn_walk *w, char *lanes)
{
    size_t seen = 0, length = (size_t)(w->end - w->position);
    kn_rows_loop *rows = p->plan->linear[0] ? kn_reduce_rows_loop(p) : NULL;
    if (rows && length >= 2 * LANES) {
        const char *values = kn_walk_evaluate(w, LANES, NULL);
        for (size_t left = length / LANES, count; left > 0; left -= count, seen += count * LANES) {
            count = left < KN_COMBINED_ROWS ? left : KN_COMBINED_ROWS;
            rows(lanes, values + seen * p->value, LANES, count, seen > 0, LANES);
        }
        into_lanes(p, lanes, seen, values + seen * p->value, length - seen);
        return LANES;
    }
    for (size_t n; (n = kn_walk_next(w)) > 0; kn_walk_advance(w, n)) {
        into_lanes(p, lanes, seen, kn_walk_evaluate(w, n, NULL), n);
        seen += n;
    }
    return seen < LANES ? seen : LANES;
}

const char *kn_reduce_chunk_of_leaf(const struct kn_reduce_pass *p, int leaf, size_t item, size_t *length)
{
    int64_t first;
    *length = chunk_of(p, item, &first);
    return p->plan->base[leaf] + kn_reduce_bytes_to(&p->r->leaves[leaf].rows, (int64_t)item / p->chunks) +
           first * (int64_t)rt_dtypes[p->r->program.arrays[leaf]->dtype].size;
}

const char *kn_reduce_apart_chunk(const struct kn_reduce_pass *p, size_t item, int64_t step, size_t *length)
{
    int64_t first;
    *length = chunk_of(p, item, &first);
    return p->plan->base[0] + kn_reduce_bytes_to(&p->r->leaves[0].rows, (int64_t)item / p->chunks) +
           first * step * (int64_t)p->value;
}

const char *kn_reduce_stored_chunk(const struct kn_reduce_pass *p, size_t item, size_t *length)
{
    return kn_reduce_chunk_of_leaf(p, 0, item, length);
}

/* Before so many bytes of an item, one of many behind each other, are read: asks for what lies some items ahead. Of
 * long ones the loops do so. */
static void ask_ahead(const struct kn_reduce_pass *p, const char *at, size_t bytes)
{
    if (bytes >= KN_AHEAD_LEAST || p->r->count * p->r->length < KN_REDUCE_FAR / (int64_t)p->value) return;
    for (size_t k = 0; k < bytes; k += KN_LINE) __builtin_prefetch(at + KN_AHEAD + k);
}

static kn_extreme_loop *extreme_loop(const struct kn_reduce_pass *p)
{
    const struct kn_loops *l = p->plan->loops;
    return p->r->combine == KN_MINIMUM   ? l->least[p->class]
           : p->r->combine == KN_MAXIMUM ? l->greatest[p->class]
                                         : NULL;
}

/* Whether chunks lie in memory as they are to be combined. */
static bool stored_as_combined(const struct kn_reduce_pass *p)
{
    return p->plan->linear[0] && kn_reduce_rows_loop(p);
}

/* The loop for the extreme of a chunk as it lies in memory, which may be of 8 or 16 bits; else NULL. */
static kn_extreme_loop *stored_extreme_loop(const struct kn_reduce_pass *p)
{
    const struct kn_program *program = &p->r->program;
    const struct kn_narrow_loops *l = p->plan->loops->narrow;
    if (stored_as_combined(p)) return extreme_loop(p);
    if (program->count != 1 || program->nodes[0].kind != KN_NODE_ARRAY || !p->plan->linear[0]) return NULL;
    return p->r->combine == KN_MINIMUM   ? l->least[program->nodes[0].dtype]
           : p->r->combine == KN_MAXIMUM ? l->greatest[program->nodes[0].dtype]
                                         : NULL;
}

/* The smallest or largest value of a chunk. */
static void extreme_of(const struct kn_reduce_pass *p, struct kn_walk *w, kn_extreme_loop *loop, char *to)
{
    char next[RT_ELEMENT];
    size_t n = kn_walk_next(w);
    loop(to, kn_walk_evaluate(w, n, NULL), n);
    for (kn_walk_advance(w, n); (n = kn_walk_next(w)) > 0; kn_walk_advance(w, n)) {
        loop(next, kn_walk_evaluate(w, n, NULL), n);
        kn_reduce_combine(p, p->class, to, to, next, 1);
    }
}

void kn_reduce_start_item(const struct kn_reduce_pass *p, size_t item, char *scratch, struct kn_walk *w)
{
    int64_t first;
    size_t length = chunk_of(p, item, &first);
    start_in_row(p, (int64_t)item / p->chunks, first, first + (int64_t)length, scratch, w);
}

/* The place of what has become the item's partial result. */
static void find_in_chunk(const struct kn_reduce_pass *p, int64_t item, char *scratch)
{
    kn_first_loop *first_of = p->plan->loops->first[p->class];
    const char *wanted = p->partial + (size_t)item * p->value;
    struct kn_walk w;
    int64_t first;
    size_t length = chunk_of(p, (size_t)item, &first);
    if (stored_as_combined(p)) {
        const char *at = kn_reduce_stored_chunk(p, (size_t)item, &length);
        p->index[item] = first + (int64_t)first_of(at, wanted, length);
        return;
    }
    start_in_row(p, item / p->chunks, first, first + (int64_t)length, scratch, &w);
    for (size_t n; (n = kn_walk_next(&w)) > 0; kn_walk_advance(&w, n)) {
        size_t i = first_of(kn_walk_evaluate(&w, n, NULL), wanted, n);
        if (i < n) {
            p->index[item] = w.position + (int64_t)i;
            return;
        }
    }
}

/* Of an item that is computed, or whose elements lie apart. */
static void combine_chunk(struct kn_reduce_pass *p, size_t item, char *scratch, char *to)
{
    char *lanes = scratch + kn_plan_scratch(p->plan);
    struct kn_walk w;
    if (p->class == KN_B && kn_reduce_is_decided(p, item)) {
        *(uint8_t *)to = kn_reduce_asks_for_all(p);
        return;
    }
    kn_reduce_start_item(p, item, scratch, &w);
    if (extreme_loop(p)) {
        extreme_of(p, &w, p->narrow_extreme ? p->narrow_extreme : extreme_loop(p), to);
    } else if (p->class == KN_B) {
        *(uint8_t *)to = kn_reduce_ask_blocks(p, &w, item);
    } else {
        fold(p, p->class, lanes, fill_lanes(p, &w, lanes), 1);
        memcpy(to, lanes, p->value);
    }
}

static void chunk_piece(void *context, size_t begin, size_t end, int worker)
{
    struct kn_reduce_pass *p = context;
    char *scratch = p->scratch + (size_t)worker * p->scratch_bytes;
    if (p->wide) {
        kn_reduce_sum_items(p, begin, end, scratch);
        return;
    }
    kn_extreme_loop *extreme = stored_extreme_loop(p);
    kn_first_loop *first = p->index && p->chunks == 1 && stored_as_combined(p) ? p->plan->loops->first[p->class] : NULL;
    for (size_t item = begin; item < end && !rt_interrupted(); item++) {
        char *to = p->partial + item * p->value;
        size_t length;
        if (p->count && p->index && p->chunks == 1 && rt_dtypes[kn_reduce_leaf_dtype(p)].size == 1) {
            p->index[item] = kn_reduce_first_bool(p, item);
            continue;
        }
        if (p->count) {
            kn_reduce_count_item(p, item);
        } else if (extreme) {
            const char *at = kn_reduce_stored_chunk(p, item, &length);
            ask_ahead(p, at, length * p->value);
            extreme(to, at, length);
            if (first) {
                p->index[item] = (int64_t)first(at, to, length);
                continue;
            }
        } else {
            combine_chunk(p, item, scratch, to);
        }
        if (p->index && p->chunks == 1) find_in_chunk(p, (int64_t)item, scratch);
    }
}

/* The best of all is some chunk's, and the first chunk that has it has the first place. */
static void find_in_row(const struct kn_reduce_pass *p, int64_t row, char *scratch)
{
    char *partial = p->partial + (size_t)(row * p->chunks) * p->value, best[8];
    memcpy(best, partial, p->value);
    for (int64_t i = 1; i < p->chunks; i++)
        kn_reduce_combine(p, p->class, best, best, partial + (size_t)i * p->value, 1);
    int64_t i = 0;
    while (p->plan->loops->first[p->class](partial + (size_t)i * p->value, best, 1) != 0) i++;
    find_in_chunk(p, row * p->chunks + i, scratch);
    p->index[row * p->chunks] = p->index[row * p->chunks + i];
}

/* The chunks' partial results of each row to one, at the front of the row's. */
static void combine_piece(void *context, size_t begin, size_t end, int worker)
{
    struct kn_reduce_pass *p = context;
    for (size_t row = begin; row < end; row++) {
        if (p->index)
            find_in_row(p, (int64_t)row, p->scratch + (size_t)worker * p->scratch_bytes);
        else
            fold(p, p->partial_class, p->partial + row * (size_t)p->chunks * p->partial_value, (size_t)p->chunks, 1);
    }
}

void kn_reduce_write(const struct kn_reduce_pass *p, enum kn_class class, const char *values, int64_t stride,
                     int64_t first, size_t n, char *scratch)
{
    const struct kn_loops *l = p->plan->loops;
    char *block = scratch, *converted = scratch + p->block_bytes;
    enum rt_dtype exact = p->raw ? p->raw_dtype : kn_classes[class].dtype, t = p->out->dtype;
    class = kn_class_of(exact);
    char *to = (char *)rt_array_host(p->out) + first * (int64_t)rt_dtypes[t].size;
    l->load[exact](block, values, stride, n);
    if (p->r->reduction == KN_MEAN) {
        struct kn_operand length = {.is_float = true, .f = (double)p->elements};
        l->convert[class][p->r->accumulate](converted, block, n);
        kn_fill_block(block, p->r->accumulate, &length, n);
        l->ops[KN_DIV][p->class](block, converted, block, NULL, n);
        class = p->class;
    }
    l->convert[class][t](converted, block, n);
    l->store[t](to, 1, converted, n);
}

enum rt_status kn_reduce_room(struct kn_reduce_pass *p, size_t items, size_t blocks, bool alone, struct rt_error *e)
{
    p->scratch_bytes = (kn_plan_scratch(p->plan) + blocks * p->block_bytes + 63) / 64 * 64;
    size_t scratch = p->scratch_bytes * (size_t)(alone ? 1 : rt_thread_count()), place = p->r->indices ? 8 : 0;
    size_t all = scratch + items * (p->partial_value + place);
    p->scratch = all <= STACK ? p->stack : (p->heap = rt_alloc_lines(all));
    if (!p->scratch) return rt_fail(e, RT_NOMEM, "out of memory: %zu bytes for a reduction", all);
    p->index = p->r->indices ? (int64_t *)(void *)(p->scratch + scratch) : NULL;
    p->partial = p->scratch + scratch + items * place;
    return RT_OK;
}

/* The parts of each row, which have one chunk, to one by halves; returns how many rows there are. */
static int64_t combine_parts(const struct kn_reduce_pass *p)
{
    int64_t count = p->r->count / p->row_parts;
    for (int64_t left = p->row_parts, half; left > 1; left = half) {
        half = (left + 1) / 2;
        kn_reduce_combine(p, p->partial_class, p->partial, p->partial,
                          p->partial + (size_t)(half * count) * p->partial_value, (size_t)((left - half) * count));
    }
    return count;
}

static enum rt_status reduce_chunks(struct kn_reduce_pass *p, struct rt_error *e)
{
    const struct kn_reducer *r = p->r;
    p->chunks = (r->length + CHUNK - 1) / CHUNK;
    size_t items = (size_t)(r->count * p->chunks);
    size_t grain = r->length >= CHUNK ? 1 : (size_t)(CHUNK / r->length);
    if ((grain < KN_SUMMED_ROWS || p->wide) && items / grain / KN_SUMMED_ROWS >= 4 * (size_t)rt_thread_count())
        grain *= KN_SUMMED_ROWS;
    enum rt_status status = kn_reduce_room(p, items, 3, items <= grain && p->chunks == 1, e);
    if (status != RT_OK) return status;
    if ((p->count || p->class == KN_B) && r->combine != KN_ADD && r->count == 1 && items > 1)
        chunk_piece(p, 0, 1, 0); /* which often decides, before threads are woken */
    if (p->decided && !p->index)
        p->chunks = 1;
    else
        rt_parallel_for(items, p->decided ? items : grain, chunk_piece, p);
    if (rt_interrupted()) return RT_OK;
    if (p->chunks > 1) rt_parallel_for((size_t)r->count, 1, combine_piece, p);
    int64_t count = combine_parts(p);
    for (int64_t i = 0; i < count; i += KN_BLOCK) {
        size_t n = count - i < KN_BLOCK ? (size_t)(count - i) : KN_BLOCK;
        if (p->index) {
            int64_t *to = (int64_t *)rt_array_host(p->out) + i;
            for (size_t k = 0; k < n; k++) to[k] = p->index[(i + (int64_t)k) * p->chunks] + 1;
        } else {
            kn_reduce_write(p, p->partial_class, p->partial + (size_t)(i * p->chunks) * p->partial_value, p->chunks, i,
                            n, p->scratch);
        }
    }
    return RT_OK;
}

void kn_multiply_values(enum rt_dtype t, const void *values, size_t n, void *product)
{
    _Alignas(64) char stack[LANES * 8];
    struct kn_reducer r; /* both are large, and of no use here but for a few members */
    struct kn_plan plan;
    struct kn_reduce_pass p = {
        .r = &r, .plan = &plan, .class = kn_class_of(t), .value = kn_classes[kn_class_of(t)].size};
    r.combine = KN_MUL;
    r.accumulate = t;
    plan.loops = kn_host_loops();
    into_lanes(&p, stack, 0, values, n);
    fold(&p, p.class, stack, n < LANES ? n : LANES, 1);
    memcpy(product, stack, p.value);
}

/* The loops for extremes of values of 8 and 16 bits that are computed, if all of it can be in so many. */
static bool find_narrow_extremes(struct kn_reduce_pass *p)
{
    const struct kn_reducer *r = p->r;
    const struct kn_narrow_loops *l = kn_host_loops()->narrow;
    bool least = r->combine == KN_MINIMUM;
    enum rt_dtype t = r->program.nodes[r->program.count - 1].dtype;
    if (r->indices || r->program.count == 1 || (!least && r->combine != KN_MAXIMUM)) return false;
    if (r->many)
        p->raw = (least ? l->rows_least : l->rows_greatest)[t];
    else
        p->narrow_extreme = (least ? l->least : l->greatest)[t];
    p->raw_dtype = t;
    return p->raw || p->narrow_extreme;
}

/* Of many rows: whether elements can be combined as they lie in memory, extremes of 8 and 16 bits, sums of so many bits
 * that have no more, or what is true. */
static bool find_raw_loop(struct kn_reduce_pass *p)
{
    static const enum rt_dtype wide_as[] = {[1] = RT_UINT8, [2] = RT_UINT16, [4] = RT_UINT32, [8] = RT_UINT64};
    const struct kn_reducer *r = p->r;
    const struct kn_program *g = &r->program;
    const struct kn_narrow_loops *l = kn_host_loops()->narrow;
    if (!r->many || r->indices || g->leaves != 1 || g->nodes[0].kind != KN_NODE_ARRAY) return false;
    enum rt_dtype t = p->raw_dtype = kn_reduce_leaf_dtype(p);
    if (r->combine == KN_LOGICAL_OR || r->combine == KN_LOGICAL_AND) {
        bool converts = g->count == 2 && g->nodes[1].kind == KN_NODE_CONVERT && g->nodes[1].args[0] == 0;
        if (g->count == 1 || converts) p->raw = r->combine == KN_LOGICAL_OR ? l->rows_any[t] : l->rows_all[t];
        if (p->raw) p->raw_dtype = wide_as[rt_dtypes[t].size];
    } else if (r->combine == KN_ADD && g->count == 2 && g->nodes[1].kind == KN_NODE_CONVERT && r->result == t) {
        p->raw = l->rows_add[t];
    } else if (g->count == 1) {
        p->raw = r->combine == KN_MINIMUM ? l->rows_least[t] : r->combine == KN_MAXIMUM ? l->rows_greatest[t] : NULL;
    }
    return p->raw != NULL;
}

/* Integers of bools that an operation gives need not be made to be added: the program ends with the bools then. */
static void find_truths(struct kn_reducer *r, struct kn_reduce_pass *p)
{
    struct kn_program *g = &r->program;
    const struct kn_node *last = &g->nodes[g->count - 1];
    if (r->many || !p->wide || p->part != KN_I64 || last->kind != KN_NODE_CONVERT) return;
    const struct kn_node *from = &g->nodes[last->args[0]];
    if (from->kind != KN_NODE_OP || from->dtype != RT_BOOL || last->args[0] != g->count - 2) return;
    p->truths = kn_host_loops()->narrow->count_true[RT_BOOL];
    if (p->truths) g->count--;
}

/* Of many rows of so many elements: how many that lie side by side are worth blocks of their own, rather than to be
 * copied behind others. */
static size_t least_own(int64_t length)
{
    const int64_t least = OWN_BLOCK / length;
    return least < 32 ? 32 : least > 128 ? 128 : (size_t)least;
}

enum rt_status kn_reduce_host(struct kn_reducer *r, const struct rt_array *out, struct rt_error *e)
{
    _Alignas(64) char stack[STACK];
    struct kn_plan plan; /* large, and mostly unused */
    struct kn_reduce_pass p = {.r = r, .plan = &plan, .class = kn_class_of(r->accumulate), .stack = stack, .out = out};
    p.elements = r->length;
    p.row_parts = 1;
    kn_reduce_widen(r, &p);
    if (!r->many && p.class != KN_B) p.row_parts = cut_rows(r);
    struct rt_array order = r->many ? r->rows : r->row;
    p.value = kn_classes[p.class].size;
    bool single = p.class == KN_F32 || p.class == KN_C64, complex = p.class == KN_C64 || p.class == KN_C128;
    bool whole = p.class == KN_I64 || p.class == KN_U64;
    p.part = single ? KN_F32 : whole ? KN_I64 : KN_F64;
    p.parts = complex ? 2 : 1;
    p.wide = r->combine == KN_ADD && (single || whole || complex || p.class == KN_F64);
    p.partial_class = !single || r->combine != KN_ADD ? p.class : complex ? KN_C128 : KN_F64;
    p.partial_value = kn_classes[p.partial_class].size;
    p.block = (size_t)(r->length > r->count ? r->length : r->count);
    if (p.block > KN_BLOCK) p.block = KN_BLOCK;
    p.block_bytes = (p.block * (p.partial_value > 8 ? p.partial_value : 8) + 63) / 64 * 64 + 64;
    if (r->many || r->indices) /* the output's order, else whatever order the memory has */
        for (int64_t i = order.ndim - 1, stride = 1; i >= 0; stride *= order.shape[i--]) order.strides[i] = stride;
    for (int i = 0; i < r->program.leaves; i++) r->program.arrays[i] = r->many ? &r->leaves[i].rows : &r->leaves[i].row;
    for (int i = 0; i < r->program.leaves && !r->many; i++) merge_axes(&r->leaves[i].rows);
    if (find_raw_loop(&p)) r->program.count = 1;
    find_truths(r, &p);
    bool truth = p.class == KN_B && r->program.nodes[r->program.count - 1].dtype == RT_BOOL;
    bool narrow = p.raw || truth || find_narrow_extremes(&p);
    const int64_t times = r->many ? r->length : r->count;
    kn_plan_make(&r->program, &order, narrow, times, &plan);
    if (narrow && !plan.narrow) {
        p.raw = NULL;
        p.narrow_extreme = NULL;
        kn_plan_make(&r->program, &order, false, times, &plan);
    }
    if (r->many) kn_plan_read_rows(&plan, least_own(r->length));
    if (p.raw) p.value = p.partial_value = rt_dtypes[p.raw_dtype].size;
    if (!r->many) p.count = kn_reduce_count_loop(&p);
    p.wide &= !p.count;
    enum rt_status status = r->many ? kn_reduce_rows(&p, e) : reduce_chunks(&p, e);
    free(p.heap);
    return status == RT_OK ? rt_stopped(e) : status;
}
