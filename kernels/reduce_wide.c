/* Sums on the host in few lanes of 8 bytes, which stay in registers: of float32 in double, of float64 block by block,
 * so that no more than a few dozen roundings come one after the other. See reduce_host.c. */
#include <math.h>
#include <string.h>
#include "kernels/reduce_host.h"
#include "runtime/interrupt.h"

#define BLOCK 512 /* numbers of float64 that are added in KN_WIDE_LANES lanes */
#define NEAR  256 /* numbers that are laid side by side at a time */
#define MOST  256 /* numbers that the blocks of an item come to: two for complex ones, of which an item has 32768 */

_Static_assert(BLOCK % NEAR == 0, "a block ends where some of them do");

union lane {
    double real;
    uint64_t whole;
};

/* What adds nothing, not even a sign. */
static void clear_lanes(enum kn_class part, union lane *lanes, size_t n)
{
    union lane none = {.real = -0.0};
    if (part == KN_I64) none.whole = 0;
    for (size_t i = 0; i < n; i++) lanes[i] = none;
}

/* Adds n lanes up by halves, as fold does: to one number, or to the two parts of one. */
static void fold_lanes(enum kn_class part, union lane *lanes, size_t n, size_t parts)
{
    for (size_t half; n > parts; n = half) {
        half = (n / parts + 1) / 2 * parts;
        for (size_t i = 0; i < n - half; i++)
            if (part == KN_I64)
                lanes[i].whole += lanes[i + half].whole;
            else
                lanes[i].real += lanes[i + half].real;
    }
}

/* The same of KN_WIDE_LANES lanes to one number. */
static void fold_all_lanes(enum kn_class part, union lane *lanes)
{
    uint64_t whole[KN_WIDE_LANES];
    double real[KN_WIDE_LANES];
    if (part == KN_I64) {
        memcpy(whole, lanes, sizeof whole);
        for (int i = 0; i < 8; i++) whole[i] += whole[i + 8];
        for (int i = 0; i < 4; i++) whole[i] += whole[i + 4];
        lanes->whole = (whole[0] + whole[2]) + (whole[1] + whole[3]);
    } else {
        memcpy(real, lanes, sizeof real);
        for (int i = 0; i < 8; i++) real[i] += real[i + 8];
        for (int i = 0; i < 4; i++) real[i] += real[i + 4];
        lanes->real = (real[0] + real[2]) + (real[1] + real[3]);
    }
}
_Static_assert(KN_WIDE_LANES == 16, "lanes are folded to 8, to 4 and to 1");

/* Sums on their way: of some rows at a time, block by block. */
struct sums {
    kn_sum_wide_loop *add;
    enum kn_class part;
    size_t parts, rows, block, blocks; /* block: numbers of a row that go into the same lanes */
    union lane lanes[KN_SUMMED_ROWS * KN_WIDE_LANES], of_blocks[KN_SUMMED_ROWS][MOST];
};

static void start_sums(struct sums *s, enum kn_class part, size_t parts, size_t rows)
{
    s->add = kn_host_loops()->sum_wide[part];
    s->part = part;
    s->parts = parts;
    s->rows = rows;
    s->block = part == KN_F64 ? BLOCK : SIZE_MAX;
    s->blocks = 0;
    clear_lanes(part, s->lanes, rows * KN_WIDE_LANES);
}

/* What the lanes have makes a block; they are clear then. */
static void end_block(struct sums *s)
{
    for (size_t i = 0; i < s->rows; i++) {
        if (s->parts == 1)
            fold_all_lanes(s->part, s->lanes + i * KN_WIDE_LANES);
        else
            fold_lanes(s->part, s->lanes + i * KN_WIDE_LANES, KN_WIDE_LANES, s->parts);
        memcpy(s->of_blocks[i] + s->blocks * s->parts, s->lanes + i * KN_WIDE_LANES, s->parts * sizeof *s->lanes);
    }
    s->blocks++;
    clear_lanes(s->part, s->lanes, s->rows * KN_WIDE_LANES);
}

/* Which sign a NaN has is left to the compiler by each addition; here it has one. */
static void settle_nan(enum kn_class part, union lane *sum)
{
    if (part != KN_I64 && isnan(sum->real)) sum->real = (double)NAN;
}

/* The sum of a row: `parts` numbers. */
static const union lane *sum_of(struct sums *s, size_t row)
{
    union lane *sum = s->of_blocks[row];
    fold_lanes(s->part, sum, s->blocks * s->parts, s->parts);
    for (size_t i = 0; i < s->parts; i++) settle_nan(s->part, &sum[i]);
    return sum;
}

/* Of rows of n numbers in memory, `stride` numbers apart. */
static void sum_stored(struct sums *s, const char *values, ptrdiff_t stride, size_t n)
{
    size_t left = n, some, size = kn_classes[s->part].size;
    do {
        some = left < s->block ? left : s->block;
        s->add(s->lanes, 0, values, stride, s->rows, some);
        end_block(s);
        values += some * size;
    } while ((left -= some) > 0);
}

/* The sums of some rows of n numbers in memory, `stride` numbers apart, KN_SUMMED_ROWS at most; those of no more than a
 * block are what their lanes have. */
static void sum_some(enum kn_class part, const char *values, ptrdiff_t stride, size_t rows, size_t n, union lane *found)
{
    if (part == KN_F64 && n > BLOCK) {
        struct sums s;
        start_sums(&s, part, 1, rows);
        sum_stored(&s, values, stride, n);
        for (size_t i = 0; i < rows; i++) found[i] = *sum_of(&s, i);
        return;
    }
    union lane lanes[KN_SUMMED_ROWS * KN_WIDE_LANES];
    clear_lanes(part, lanes, rows * KN_WIDE_LANES);
    kn_host_loops()->sum_wide[part](lanes, 0, values, stride, rows, n);
    for (size_t i = 0; i < rows; i++) {
        fold_all_lanes(part, lanes + i * KN_WIDE_LANES);
        settle_nan(part, lanes + i * KN_WIDE_LANES);
        found[i] = lanes[i * KN_WIDE_LANES];
    }
}

static bool stored(const struct kn_reduce_pass *p)
{
    return p->plan->slots == 0 && p->r->program.leaves == 1 && p->plan->linear[0];
}

/* Of a row that is computed, or whose elements lie apart. */
static void sum_computed(struct sums *s, const struct kn_reduce_pass *p, size_t item, char *scratch)
{
    struct kn_walk w;
    size_t size = kn_classes[s->part].size, seen = 0;
    kn_reduce_start_item(p, item, scratch, &w);
    if (p->truths) {
        for (size_t n; (n = kn_walk_next(&w)) > 0; kn_walk_advance(&w, n))
            s->lanes->whole += p->truths(kn_walk_evaluate(&w, n, NULL), n);
        end_block(s);
        return;
    }
    for (size_t n, some; (n = s->parts * kn_walk_next(&w)) > 0; kn_walk_advance(&w, n / s->parts)) {
        const char *values = kn_walk_evaluate(&w, n / s->parts, NULL);
        for (size_t left = n; left > 0; left -= some, values += some * size) {
            if (seen == s->block) {
                end_block(s);
                seen = 0;
            }
            some = left < s->block - seen ? left : s->block - seen;
            s->add(s->lanes, seen, values, 0, 1, some);
            seen += some;
        }
    }
    end_block(s);
}

/* Whether what is added are numbers in memory, so many elements apart. */
static bool are_apart(const struct kn_reduce_pass *p, int64_t *step)
{
    const struct kn_program *g = &p->r->program;
    if (g->count != 1 || g->nodes[0].kind != KN_NODE_ARRAY || p->parts != 1 || p->plan->linear[0]) return false;
    if (p->truths || kn_class_of(g->nodes[0].dtype) != p->part || !kn_class_exact(g->nodes[0].dtype)) return false;
    *step = kn_row_step(&p->r->leaves[0].row);
    return *step != KN_NO_STEP;
}

static void sum_apart(struct sums *s, const struct kn_reduce_pass *p, size_t item, int64_t step)
{
    kn_load_loop *gather = p->plan->loops->narrow->gather[__builtin_ctzl(p->value)];
    size_t left, seen = 0, some;
    const char *at = kn_reduce_apart_chunk(p, item, step, &left);
    _Alignas(64) char values[NEAR * sizeof(double)];
    do {
        some = left < NEAR ? left : NEAR;
        gather(values, at, (ptrdiff_t)step, some);
        s->add(s->lanes, seen, values, 0, 1, some);
        at += (int64_t)some * step * (int64_t)p->value;
        seen += some;
        left -= some;
        if (seen == s->block || left == 0) {
            end_block(s);
            seen = 0;
        }
    } while (left > 0);
}

/* Whether what is added are products, or squares, of numbers that lie in memory as they are; `leaf` then has which. */
static bool are_products(const struct kn_reduce_pass *p, int leaf[2])
{
    const struct kn_program *g = &p->r->program;
    const struct kn_node *last = &g->nodes[g->count - 1];
    bool square = last->op == KN_SQUARE;
    if (last->kind != KN_NODE_OP || (last->op != KN_MUL && !square) || last->dtype != p->r->accumulate) return false;
    if (!p->plan->loops->sum_products[p->class] || !kn_class_exact(last->dtype)) return false;
    for (int i = 0; i < 2; i++) {
        const struct kn_node *factor = &g->nodes[last->args[square ? 0 : i]];
        if (factor->kind != KN_NODE_ARRAY || factor->dtype != last->dtype || !p->plan->linear[factor->leaf])
            return false;
        leaf[i] = factor->leaf;
    }
    return true;
}

static void sum_products(struct sums *s, const struct kn_reduce_pass *p, size_t item, const int leaf[2])
{
    size_t left, some, size = kn_classes[p->class].size;
    const char *a = kn_reduce_chunk_of_leaf(p, leaf[0], item, &left),
               *b = kn_reduce_chunk_of_leaf(p, leaf[1], item, &left);
    do {
        some = left < s->block ? left : s->block;
        p->plan->loops->sum_products[p->class](s->lanes, a, b, some);
        end_block(s);
        a += some * size;
        b += some * size;
    } while ((left -= some) > 0);
}

/* Some items, `apart` from each other; the parts of complex numbers are added each by itself. Items that are several
 * lie in memory as they are to be added, at a distance of `stride`. */
static void sum_items(const struct kn_reduce_pass *p, size_t item, size_t apart, size_t rows, ptrdiff_t stride,
                      char *scratch)
{
    struct sums s;
    size_t length;
    int64_t step;
    int leaf[2];
    if (stored(p) && p->parts == 1) {
        const char *values = kn_reduce_stored_chunk(p, item, &length);
        union lane found[KN_SUMMED_ROWS];
        sum_some(p->part, values, stride, rows, length, found);
        for (size_t i = 0; i < rows; i++)
            memcpy(p->partial + (item + i * apart) * p->partial_value, found + i, p->partial_value);
        return;
    }
    start_sums(&s, p->part, p->parts, rows);
    if (stored(p)) {
        const char *values = kn_reduce_stored_chunk(p, item, &length);
        sum_stored(&s, values, stride, length * p->parts);
    } else if (are_apart(p, &step)) {
        sum_apart(&s, p, item, step);
    } else if (are_products(p, leaf)) {
        sum_products(&s, p, item, leaf);
    } else {
        sum_computed(&s, p, item, scratch);
    }
    for (size_t i = 0; i < rows; i++)
        memcpy(p->partial + (item + i * apart) * p->partial_value, sum_of(&s, i), p->partial_value);
}

/* Whether so many items, `apart` items from each other, are of one length and at one distance, in elements. */
static bool side_by_side(const struct kn_reduce_pass *p, size_t item, size_t apart, size_t rows, ptrdiff_t *stride)
{
    size_t length, other;
    const char *at = kn_reduce_stored_chunk(p, item, &length), *next = kn_reduce_stored_chunk(p, item + apart, &other);
    ptrdiff_t distance = next - at;
    *stride = distance / (ptrdiff_t)kn_classes[p->part].size;
    for (size_t i = 1; i < rows; i++)
        if (kn_reduce_stored_chunk(p, item + i * apart, &other) != at + (ptrdiff_t)i * distance || other != length)
            return false;
    return true;
}

/* Where elements are stored, the items are read as this many streams, each from one item on to the next: processors
 * fetch ahead along a few long streams better than along many short ones. AMD's do so best along two, line by line,
 * where items are not so short that four together are sooner summed up, as more of those are that caches have. */
#define SHORT_ITEM   64 /* numbers of an item, of which a complex one has two */
#define SHORT_CACHED 128
static size_t streams(const struct kn_reduce_pass *p, size_t item)
{
    if (!stored(p)) return 1;
#if defined __x86_64__
    size_t length;
    kn_reduce_stored_chunk(p, item, &length);
    const bool far = p->r->count * p->r->length >= KN_REDUCE_FAR / (int64_t)p->value;
    if (length * p->parts >= (far ? SHORT_ITEM : SHORT_CACHED) && __builtin_cpu_is("amd")) return 2;
#else
    (void)item;
#endif
    return KN_SUMMED_ROWS;
}

/* Short rows of numbers that are computed or lie apart, some of them before they are added up side by side: making a
 * walk for each would take longer. */
static bool are_short(const struct kn_reduce_pass *p)
{
    int leaf[2];
    return p->chunks == 1 && p->parts == 1 && !p->truths && p->plan->space.ndim == 1 && p->r->length <= BLOCK &&
           p->r->length <= (int64_t)p->plan->block && !stored(p) && !are_products(p, leaf);
}

/* Where the next rows are: bytes from the leaves' first elements, found anew where an axis ends. */
struct places {
    int64_t shift[KN_MAX_LEAVES], left[KN_MAX_LEAVES];
};

static void go_to_row(const struct kn_reduce_pass *p, size_t row, struct places *at)
{
    for (int k = 0; k < p->r->program.leaves; k++) {
        const struct rt_array *rows = &p->r->leaves[k].rows;
        const int last = rows->ndim - 1;
        if (last >= 0 && at->left[k]-- > 0) {
            at->shift[k] += rows->strides[last] * (int64_t)rt_dtypes[rows->dtype].size;
        } else {
            at->shift[k] = kn_reduce_bytes_to(rows, (int64_t)row);
            at->left[k] = last < 0 ? 0 : rows->shape[last] - 1 - (int64_t)row % rows->shape[last];
        }
    }
}

static void sum_short_rows(const struct kn_reduce_pass *p, size_t begin, size_t end, char *scratch)
{
    _Alignas(64) char values[KN_SUMMED_ROWS * BLOCK * sizeof(union lane)];
    union lane found[KN_SUMMED_ROWS];
    const size_t n = (size_t)p->r->length, size = kn_classes[p->part].size;
    struct places at = {.left = {0}};
    struct kn_walk w;
    int64_t step;
    const bool apart = are_apart(p, &step);
    kn_load_loop *gather = p->plan->loops->narrow->gather[__builtin_ctzl(size)];
    if (!apart) kn_reduce_start_item(p, begin, scratch, &w);
    for (size_t item = begin, count; item < end && !rt_interrupted(); item += count) {
        count = end - item < KN_SUMMED_ROWS ? end - item : KN_SUMMED_ROWS;
        for (size_t i = 0; i < count; i++) {
            go_to_row(p, item + i, &at);
            if (apart) {
                gather(values + i * n * size, p->plan->base[0] + at.shift[0], (ptrdiff_t)step, n);
                continue;
            }
            kn_walk_shift(&w, at.shift, n);
            const char *row = kn_walk_evaluate(&w, n, values + i * n * size);
            if (row != values + i * n * size) memcpy(values + i * n * size, row, n * size);
        }
        sum_some(p->part, values, (ptrdiff_t)n, count, n, found);
        memcpy(p->partial + item * p->partial_value, found, count * sizeof *found);
    }
}

void kn_reduce_sum_items(const struct kn_reduce_pass *p, size_t begin, size_t end, char *scratch)
{
    const size_t rows = streams(p, begin), apart = rows > 1 ? (end - begin) / rows : 0;
    size_t item = begin;
    if (begin < end && are_short(p)) {
        sum_short_rows(p, begin, end, scratch);
        return;
    }
    for (; item < begin + apart && !rt_interrupted(); item++) {
        ptrdiff_t stride = 0;
        bool together = side_by_side(p, item, apart, rows, &stride);
        for (size_t i = 0; i < (together ? 1 : rows); i++)
            sum_items(p, item + i * apart, apart, together ? rows : 1, stride, scratch);
    }
    for (item = begin + rows * apart; item < end && !rt_interrupted(); item++) sum_items(p, item, 1, 1, 0, scratch);
}

void kn_sum_rows(enum rt_dtype t, const void *values, size_t rows, size_t n, void *sums)
{
    const enum kn_class part = kn_class_of(t);
    const size_t value = kn_classes[part].size;
    const char *from = values;
    char *to = sums;
    for (size_t count; rows > 0; rows -= count, from += count * n * value, to += count * value) {
        union lane found[KN_SUMMED_ROWS];
        count = rows < KN_SUMMED_ROWS ? rows : KN_SUMMED_ROWS;
        sum_some(part, from, (ptrdiff_t)n, count, n, found);
        kn_host_loops()->convert[part == KN_I64 ? KN_I64 : KN_F64][t](to, found, count);
    }
}

void kn_sum_values(enum rt_dtype t, const void *values, size_t n, void *sum)
{
    kn_sum_rows(t, values, 1, n, sum);
}
