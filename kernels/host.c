/* Blocked evaluation of programs on the host threads. A block's values go from loop to loop inside the cache; leaves
 * that already lie in memory as the loops want them are read in place, and the last loop writes to the output itself.
 */
#include "kernels/host.h"
#include <stdlib.h>
#include <string.h>
#include "kernels/tabled.h"
#include "runtime/host.h"
#include "runtime/interrupt.h"
#include "runtime/threads.h"

#define STACK_SCRATCH 32768
#define NEAR          256  /* elements that are laid side by side at a time */
#define FEW           16   /* elements that are not worth a call */
#define FEW_PIECES    8    /* for each thread */
#define PAST_BLOCK    2048 /* bytes that are written past the cache at a time */

const struct kn_loops *kn_host_loops(void)
{
    static const struct kn_loops *_Atomic chosen;
    const struct kn_loops *l = chosen;
    if (l) return l;
    l = &kn_loops_base;
#if defined __x86_64__
    const enum rt_level level = rt_host_level();
    if (level >= RT_V3) l = level == RT_V4 ? &kn_loops_v4 : &kn_loops_v3;
#endif
    chosen = l;
    return l;
}

/* Fills a block with n values, which have as many bytes, of the one in memory. */
static void repeat(void *block, const void *one, size_t value, size_t n)
{
    kn_host_loops()->narrow->gather[__builtin_ctzl(value)](block, one, 0, n);
}

void kn_spread(enum rt_dtype t, void *values, const void *element, size_t n)
{
    const enum kn_class class = kn_class_of(t);
    _Alignas(16) char one[RT_ELEMENT];
    if (!kn_class_exact(t)) kn_host_loops()->load[t](one, element, 1, 1);
    repeat(values, kn_class_exact(t) ? element : one, kn_classes[class].size, n);
}

/* One element in memory, so that the number is rounded or wrapped to the dtype. */
static void put_number(char *element, enum rt_dtype t, const struct kn_operand *number)
{
    if (number->is_complex)
        rt_store_complex(t, element, (struct rt_complex){number->f, number->im});
    else if (number->is_float)
        rt_store_double(t, element, number->f);
    else
        rt_store_int(t, element, number->i);
}

void kn_fill_block(void *block, enum rt_dtype t, const struct kn_operand *number, size_t n)
{
    _Alignas(16) char element[RT_ELEMENT];
    put_number(element, t, number);
    kn_spread(t, block, element, n);
}

void kn_fill_stored(void *block, enum rt_dtype t, const struct kn_operand *number, size_t n)
{
    _Alignas(16) char element[RT_ELEMENT];
    put_number(element, t, number);
    repeat(block, element, rt_dtypes[t].size, n);
}

void *kn_walk_slot(const struct kn_walk *w, int node)
{
    return w->scratch + (size_t)w->plan->slot[node] * w->plan->slot_bytes;
}

/* Fills a block with n values of one element in memory. */
static void spread_over(const struct kn_plan *plan, enum rt_dtype t, void *block, const void *element, size_t n)
{
    int width = __builtin_ctz((unsigned)rt_dtypes[t].size);
    if (plan->narrow)
        plan->loops->narrow->gather[width](block, element, 0, n);
    else
        kn_spread(t, block, element, n);
}

static void load_constants(struct kn_walk *w, size_t n)
{
    const struct kn_plan *plan = w->plan;
    for (int i = 0; i < plan->program->count; i++) {
        const struct kn_node *node = &plan->program->nodes[i];
        if (!plan->used[i] || node->kind != KN_NODE_ARRAY || !plan->constant[node->leaf]) continue;
        spread_over(plan, node->dtype, kn_walk_slot(w, i), plan->base[node->leaf] + w->shift[node->leaf], n);
    }
}

static void fill_number(const struct kn_walk *w, int i, size_t n)
{
    const struct kn_node *node = &w->plan->program->nodes[i];
    if (w->plan->narrow)
        kn_fill_stored(kn_walk_slot(w, i), node->dtype, &node->number, n);
    else
        kn_fill_block(kn_walk_slot(w, i), node->dtype, &node->number, n);
}

void kn_walk_shift(struct kn_walk *w, const int64_t *shift, size_t n)
{
    memcpy(w->shift, shift, (size_t)w->plan->program->leaves * sizeof *shift);
    load_constants(w, n);
}

void kn_walk_start(const struct kn_plan *plan, char *scratch, int64_t begin, int64_t end, const int64_t *shift,
                   struct kn_walk *w)
{
    static const int64_t none[KN_MAX_LEAVES];
    const struct kn_program *p = plan->program;
    const struct kn_space *s = &plan->space;
    w->plan = plan;
    w->scratch = scratch;
    w->position = begin;
    w->end = end;
    memset(w->turned, 0, (size_t)p->leaves * sizeof *w->turned);
    int axis = s->ndim - 1; /* a space has one at least */
    do {
        w->coordinates[axis] = begin % s->shape[axis];
        begin /= s->shape[axis];
    } while (--axis >= 0);
    size_t n = end - w->position < (int64_t)plan->block ? (size_t)(end - w->position) : plan->block;
    for (int i = 0; i < p->count; i++) {
        const struct kn_node *node = &p->nodes[i];
        if (!plan->used[i] || node->kind != KN_NODE_NUMBER) continue;
        fill_number(w, i, n);
        w->values[i] = kn_walk_slot(w, i);
    }
    kn_walk_shift(w, shift ? shift : none, n);
}

size_t kn_walk_next(const struct kn_walk *w)
{
    const struct kn_space *s = &w->plan->space;
    int64_t n = w->end - w->position, row = s->shape[s->ndim - 1];
    if (n > (int64_t)w->plan->block) n = (int64_t)w->plan->block;
    if (s->ndim > 1 && row >= (int64_t)w->plan->long_row) {
        int64_t rest = row - w->coordinates[s->ndim - 1];
        if (n > rest) n = rest;
    }
    return (size_t)n;
}

/* Moves the coordinates on by n elements, at most to the row's end; returns false when that was not all. */
static void advance_row(const struct kn_space *s, int64_t *coordinates, int64_t n)
{
    int i = s->ndim - 1;
    coordinates[i] += n;
    while (i > 0 && coordinates[i] == s->shape[i]) {
        coordinates[i--] = 0;
        coordinates[i]++;
    }
}

void kn_walk_advance(struct kn_walk *w, size_t n)
{
    const struct kn_space *s = &w->plan->space;
    int i = s->ndim - 1;
    w->position += (int64_t)n;
    w->coordinates[i] += (int64_t)n;
    for (; i > 0 && w->coordinates[i] >= s->shape[i]; i--) {
        const int64_t past = w->coordinates[i] - s->shape[i], more = past < s->shape[i] ? 0 : past / s->shape[i];
        w->coordinates[i] = past - more * s->shape[i];
        w->coordinates[i - 1] += 1 + more;
    }
}

void kn_walk_move(struct kn_walk *w, const int64_t *coordinates)
{
    const struct kn_space *s = &w->plan->space;
    w->position = 0;
    for (int i = 0; i < s->ndim; i++) {
        w->coordinates[i] = coordinates[i];
        w->position = w->position * s->shape[i] + coordinates[i];
    }
}

static int64_t offset_of(const struct kn_space *s, int leaf, const int64_t *coordinates)
{
    int64_t offset = 0;
    for (int i = 0; i < s->ndim; i++) offset += coordinates[i] * s->strides[leaf][i];
    return offset;
}

/* Elements of a leaf, or of the output, on their way between memory and blocks of the plan. */
struct traffic {
    const struct kn_plan *plan;
    enum rt_dtype dtype;
    ptrdiff_t stride; /* of the last axis in memory */
    bool storing;     /* from a block to memory */
};

/* Elements that are converted on the way are first, or last, side by side, as loops that convert have vectors of such.
 */
static void move(const struct traffic *f, char *memory, char *block, size_t n)
{
    const struct kn_loops *l = f->plan->loops;
    const enum rt_dtype t = f->dtype;
    const bool as_stored = f->plan->narrow || (kn_class_exact(t) && t != RT_BOOL);
    const size_t element = rt_dtypes[t].size, value = kn_plan_value_size(f->plan, t);
    kn_load_loop *gather = l->narrow->gather[__builtin_ctzl(element)];
    kn_store_loop *spread = l->narrow->spread[__builtin_ctzl(element)];
    _Alignas(16) char room[NEAR * RT_ELEMENT];
    if (!f->storing && f->stride == 0) {
        spread_over(f->plan, t, block, memory, n);
        return;
    }
    const bool apart = f->stride != 1;
    for (size_t some; n > 0; n -= some, memory += (ptrdiff_t)(some * element) * f->stride, block += some * value) {
        char *near = apart ? room : memory;
        some = as_stored || !apart || n < NEAR ? n : NEAR;
        if (as_stored && f->storing) {
            spread(memory, f->stride, block, some);
        } else if (as_stored) {
            gather(block, memory, f->stride, some);
        } else if (f->storing) {
            l->store[t](near, 1, block, some);
            if (apart) spread(memory, f->stride, near, some);
        } else {
            if (apart) gather(near, memory, f->stride, some);
            l->load[t](block, near, 1, some);
        }
    }
}

/* Rows of n elements, each of one element in memory, `step` bytes apart. */
#define REPEAT(bits)                                                                                                   \
    static void repeat_##bits(void *block, const char *at, int64_t step, size_t n, size_t rows)                        \
    {                                                                                                                  \
        uint##bits##_t *to = block;                                                                                    \
        for (size_t k = 0; k < rows; k++, to += n, at += step) {                                                       \
            const uint##bits##_t value = *(const uint##bits##_t *)(const void *)at;                                    \
            for (size_t i = 0; i < n; i++) to[i] = value;                                                              \
        }                                                                                                              \
    }
REPEAT(32)
REPEAT(64)

/* Rows of few elements, `step` bytes apart, to or from rows one behind the other of a block that has them as they lie
 * in memory: element after element of many rows, as rows are longer one way than the other. */
static void move_columns(const struct traffic *f, char *memory, int64_t step, char *block, size_t n, size_t rows)
{
    const size_t element = rt_dtypes[f->dtype].size;
    const ptrdiff_t size = (ptrdiff_t)element, apart = (ptrdiff_t)step / size;
    kn_load_loop *gather = f->plan->loops->narrow->gather[__builtin_ctzl(element)];
    kn_store_loop *spread = f->plan->loops->narrow->spread[__builtin_ctzl(element)];
    _Alignas(16) char room[NEAR * RT_ELEMENT];
    for (size_t some; rows > 0; rows -= some, memory += (int64_t)some * step, block += some * n * element) {
        some = rows < NEAR ? rows : NEAR;
        for (ptrdiff_t k = 0; k < (ptrdiff_t)n; k++) {
            char *at = memory + k * f->stride * size, *in_block = block + k * size;
            gather(room, f->storing ? in_block : at, f->storing ? (ptrdiff_t)n : apart, some);
            spread(f->storing ? at : in_block, f->storing ? apart : (ptrdiff_t)n, room, some);
        }
    }
}

/* Whole rows of n elements, `step` bytes apart in memory, to or from a block, where they lie one behind the other. */
static void move_rows(const struct traffic *f, char *memory, int64_t step, char *block, size_t n, size_t rows)
{
    const size_t value = kn_plan_value_size(f->plan, f->dtype), bytes = n * value;
    const bool same = kn_plan_as_stored(f->plan, f->dtype);
    if (same && f->stride == 1 && f->storing) {
        for (size_t k = 0; k < rows; k++) kn_copy_short(memory + (int64_t)k * step, block + k * bytes, bytes);
    } else if (same && f->stride == 1) {
        for (size_t k = 0; k < rows; k++) kn_copy_short(block + k * bytes, memory + (int64_t)k * step, bytes);
    } else if (same && f->stride == 0 && !f->storing && n < FEW && value == 4) {
        repeat_32(block, memory, step, n, rows);
    } else if (same && f->stride == 0 && !f->storing && n < FEW && value == 8) {
        repeat_64(block, memory, step, n, rows);
    } else if (same && n < FEW && rows >= FEW) {
        move_columns(f, memory, step, block, n, rows);
    } else {
        for (size_t k = 0; k < rows; k++) move(f, memory + (int64_t)k * step, block + k * bytes, n);
    }
}

/* Moves each piece of a row that the next n elements have. */
static void transfer(const struct kn_walk *w, int leaf, enum rt_dtype t, char *memory, char *block, size_t n,
                     bool storing)
{
    const struct kn_space *s = &w->plan->space;
    const size_t element = rt_dtypes[t].size, value = kn_plan_value_size(w->plan, t);
    const int last = s->ndim - 1;
    const size_t row = (size_t)s->shape[last];
    const struct traffic f = {w->plan, t, s->strides[leaf][last], storing};
    int64_t coordinates[RT_MAX_DIMS];
    memcpy(coordinates, w->coordinates, (size_t)s->ndim * sizeof *coordinates);
    for (size_t done = 0; done < n;) {
        char *at = memory + offset_of(s, leaf, coordinates) * (int64_t)element;
        size_t part = row - (size_t)coordinates[last];
        if (last > 0 && part == row && n - done >= row) {
            const size_t left = (size_t)(s->shape[last - 1] - coordinates[last - 1]), most = (n - done) / row,
                         rows = left < most ? left : most;
            move_rows(&f, at, s->strides[leaf][last - 1] * (int64_t)element, block + done * value, row, rows);
            coordinates[last - 1] += (int64_t)rows - 1;
            part = rows * row;
            advance_row(s, coordinates, (int64_t)row);
        } else {
            if (part > n - done) part = n - done;
            move(&f, at, block + done * value, part);
            advance_row(s, coordinates, (int64_t)part);
        }
        done += part;
    }
}

/* Where the next n elements lie in memory one after the other, or NULL. */
static char *in_place(const struct kn_walk *w, int leaf, bool linear, size_t element, char *base, size_t n)
{
    const struct kn_space *s = &w->plan->space;
    int last = s->ndim - 1;
    if (linear) return base + w->position * (int64_t)element;
    if (s->strides[leaf][last] != 1 || w->coordinates[last] + (int64_t)n > s->shape[last]) return NULL;
    return base + offset_of(s, leaf, w->coordinates) * (int64_t)element;
}

static const void *leaf_values(struct kn_walk *w, int node, size_t n)
{
    const struct kn_node *d = &w->plan->program->nodes[node];
    int leaf = d->leaf;
    char *base = (char *)(uintptr_t)w->plan->base[leaf] + w->shift[leaf];
    if (w->plan->constant[leaf]) return kn_walk_slot(w, node);
    const char *at = w->turned[leaf];
    if (!at) at = in_place(w, leaf, w->plan->linear[leaf], rt_dtypes[d->dtype].size, base, n);
    if (at && kn_plan_as_stored(w->plan, d->dtype)) return at;
    if (at)
        w->plan->loops->load[d->dtype](kn_walk_slot(w, node), at, 1, n);
    else
        transfer(w, leaf, d->dtype, base, kn_walk_slot(w, node), n, false);
    return kn_walk_slot(w, node);
}

/* A conversion that changes no bits of a block: within a class, to a dtype that holds all the values. */
static bool passes_on(enum rt_dtype from, enum rt_dtype to)
{
    return kn_class_of(from) == kn_class_of(to) && (kn_class_exact(to) || kn_promote(from, to) == to);
}

static void operate(const struct kn_walk *w, const struct kn_node *n, void *to, size_t count)
{
    const struct kn_plan *plan = w->plan;
    const void *args[3] = {NULL};
    int arity = kn_ops[n->op].arity;
    enum rt_dtype in = plan->program->nodes[n->args[arity - 1]].dtype;
    for (int i = 0; i < arity; i++) args[i] = w->values[n->args[i]];
    kn_plan_loop(plan, n)(to, args[0], args[1], args[2], count);
    if (!kn_plan_as_stored(plan, n->dtype)) plan->loops->convert[kn_class_of(in)][n->dtype](to, to, count);
}

static void run_group(const struct kn_walk *w, const struct kn_group *g, void *to, size_t count)
{
    const void *inputs[KN_CODE_INPUTS];
    for (int k = 0; k < g->inputs; k++) {
        const struct kn_node *n = &w->plan->program->nodes[g->input[k]];
        if (!(g->same >> k & 1))
            inputs[k] = w->values[g->input[k]];
        else
            inputs[k] = n->kind == KN_NODE_NUMBER ? g->number[k] : w->plan->base[n->leaf] + w->shift[n->leaf];
    }
    g->run(inputs, to, count);
}

/* The values of a node that converts: its argument's own, or those at `to`. */
static const void *convert(const struct kn_walk *w, const struct kn_node *d, void *to, size_t n)
{
    const struct kn_loops *loops = w->plan->loops;
    const void *from = w->values[d->args[0]];
    const enum rt_dtype was = w->plan->program->nodes[d->args[0]].dtype;
    if (w->plan->narrow) {
        kn_stored_conversion(loops, was, d->dtype)(to, from, n);
        return to;
    }
    if (passes_on(was, d->dtype)) return from;
    loops->convert[kn_class_of(was)][d->dtype](to, from, n);
    return to;
}

/* The n values of a node, whose arguments have theirs; what is computed goes to `out`, or to the node's block for NULL.
 */
static const void *node_values(struct kn_walk *w, int i, void *out, size_t n)
{
    const struct kn_node *d = &w->plan->program->nodes[i];
    if (d->kind == KN_NODE_ARRAY) return leaf_values(w, i, n);
    void *to = out ? out : kn_walk_slot(w, i);
    if (d->kind == KN_NODE_INDEX) {
        w->plan->loops->index(to, w->position, n);
        return to;
    }
    const int answer = kn_node_answer(w->plan->program, d);
    if (answer >= 0) return memset(to, answer, n);
    const struct kn_group *g = kn_plan_group(w->plan, i);
    if (!g && d->kind == KN_NODE_CONVERT) return convert(w, d, to, n);
    if (g)
        run_group(w, g, to, n);
    else
        operate(w, d, to, n);
    return to;
}

const void *kn_walk_evaluate(struct kn_walk *w, size_t n, void *out)
{
    const int last = w->plan->program->count - 1;
    for (int i = 0; i <= last; i++) {
        if (!w->plan->used[i] || w->plan->program->nodes[i].kind == KN_NODE_NUMBER) continue;
        w->values[i] = node_values(w, i, i == last ? out : NULL, n);
    }
    return w->values[last];
}

/* The leaves' next blocks, which are read while the block before them is written. */
static int look_ahead(const struct kn_walk *w, size_t n, size_t element, struct kn_ahead *ahead)
{
    const struct kn_plan *plan = w->plan;
    int count = 0;
    for (int i = 0; i < plan->program->leaves; i++) {
        size_t size = rt_dtypes[plan->program->arrays[i]->dtype].size;
        const char *next = plan->base[i] + (w->position + (int64_t)n) * (int64_t)size;
        if (plan->linear[i]) ahead[count++] = (struct kn_ahead){next, size * KN_LINE / element};
    }
    return count;
}

void kn_write_past(char *to, const char *from, size_t bytes, const struct kn_ahead *ahead, int leaves)
{
    const size_t before = -(uintptr_t)to % KN_LINE, first = before < bytes ? before : bytes,
                 lines = (bytes - first) / KN_LINE, done = first + lines * KN_LINE;
    memcpy(to, from, first);
    kn_host_loops()->past(to + first, from + first, lines, ahead, leaves);
    memcpy(to + done, from + done, bytes - done);
}

/* Stores n elements from a block. */
static void write_past(const struct kn_run *r, const struct kn_walk *w, char *to, const char *from, size_t n,
                       size_t element)
{
    struct kn_ahead ahead[KN_MAX_LEAVES];
    kn_write_past(to, from, n * element, ahead, r->tiled ? 0 : look_ahead(w, n, element, ahead));
}

void kn_run_block(const struct kn_run *r, struct kn_walk *w, size_t n)
{
    const struct kn_program *p = r->plan.program;
    enum rt_dtype t = p->nodes[p->count - 1].dtype;
    size_t element = rt_dtypes[t].size;
    char *at = in_place(w, p->leaves, r->linear, element, r->base, n);
    void *direct = at && kn_plan_as_stored(&r->plan, t) && !r->past ? at : NULL;
    const void *values = kn_walk_evaluate(w, n, direct);
    if (values == direct) return;
    if (!at)
        transfer(w, p->leaves, t, r->base, (char *)(uintptr_t)values, n, true);
    else if (r->past)
        write_past(r, w, at, values, n, element);
    else if (kn_plan_as_stored(&r->plan, t))
        memmove(at, values, n * element);
    else
        r->plan.loops->store[t](at, 1, values, n);
}

static void run_piece(void *context, size_t begin, size_t end, int worker)
{
    struct kn_run *r = context;
    struct kn_walk w;
    if (rt_interrupted()) return;
    kn_walk_start(&r->plan, r->scratch + (size_t)worker * r->scratch_bytes, (int64_t)begin, (int64_t)end, NULL, &w);
    for (size_t n; (n = kn_walk_next(&w)) > 0; kn_walk_advance(&w, n)) kn_run_block(r, &w, n);
    if (r->past) kn_past_fence();
}

/* A large result goes past the cache, block after block from where it was computed. Of what is written into itself the
 * lines are in the cache already. Blocks are short, so that what is written keeps pace with what is read. */
static void choose_past(struct kn_run *r, const struct rt_array *out)
{
    const struct kn_program *p = r->plan.program;
    const struct kn_node *last = &p->nodes[p->count - 1];
    const struct kn_space *s = &r->plan.space;
    size_t element = rt_dtypes[last->dtype].size, row = (size_t)s->shape[s->ndim - 1];
    bool lines = s->ndim == 1 || row < r->plan.long_row || row * element % KN_LINE == 0; /* in which blocks end */
    bool whole = r->tiled || (lines && (uintptr_t)r->base % KN_LINE == 0); /* of tiles, most lines of a row */
    r->past = r->linear && whole && kn_plan_as_stored(&r->plan, last->dtype) && last->kind != KN_NODE_ARRAY &&
              (size_t)s->size * element >= KN_PAST;
    for (int i = 0; i < p->leaves; i++) r->past &= p->arrays[i]->storage != out->storage;
    if (r->past && !r->tiled && r->plan.block > PAST_BLOCK / element) r->plan.block = PAST_BLOCK / element;
}

/* One loop goes from where the leaves lie to where the output does: there are no blocks that a cache should keep. */
static bool is_straight(const struct kn_run *r)
{
    const struct kn_program *p = r->plan.program;
    const struct kn_node *last = &p->nodes[p->count - 1];
    bool straight = r->linear && !r->past && kn_plan_as_stored(&r->plan, last->dtype) && kn_node_arity(last) > 0;
    for (int i = 0; i < p->count - 1; i++) straight &= !r->plan.used[i] || r->plan.slot[i] < 0;
    return straight;
}

/* Whether a value takes about as long as the loop over it, not the memory: some tenths of a nanosecond and more. */
static bool takes_long(enum kn_op op)
{
    if (op == KN_GCD || op == KN_LCM) return true;
    if (kn_op_texts[op].rule != KN_RULE_FLOAT) return false;
    switch (op) {
    case KN_DIV:
    case KN_RECIPROCAL:
    case KN_FDIM:
    case KN_COPYSIGN:
    case KN_HEAVISIDE:
    case KN_LDEXP:
    case KN_SQRT:
    case KN_RSQRT:
    case KN_LOGB:
    case KN_DEG2RAD:
    case KN_RAD2DEG:
    case KN_LEAKY_RELU: return false;
    default: return true;
    }
}

/* Elements that a thread is worth waking for: of narrow values more, as their loops take no longer for as many bytes,
 * of functions that take long fewer. */
static size_t grain_of(bool longer, bool narrow, size_t widest)
{
    if (longer) return KN_GRAIN / 2;
    return narrow && widest < 4 ? KN_GRAIN * 4 / widest : KN_GRAIN;
}

size_t kn_op_grain(enum kn_op op, size_t widest)
{
    return grain_of(takes_long(op), true, widest);
}

static size_t least_grain(const struct kn_plan *plan)
{
    size_t widest = 1;
    bool longer = false;
    for (int i = 0; i < plan->program->count; i++) {
        const struct kn_node *n = &plan->program->nodes[i];
        if (!plan->used[i]) continue;
        longer |= n->kind == KN_NODE_OP && takes_long(n->op);
        if (n->kind != KN_NODE_WEAK && rt_dtypes[n->dtype].size > widest) widest = rt_dtypes[n->dtype].size;
    }
    return grain_of(longer, plan->narrow, widest);
}

size_t kn_even_grain(size_t n, size_t least)
{
    const size_t threads = (size_t)rt_thread_count(), line = KN_LINE;
    if (n <= least || n > FEW_PIECES * threads * least) return least;
    const size_t rounds = (n + threads * least - 1) / (threads * least), pieces = rounds * threads;
    return ((n + pieces - 1) / pieces + line - 1) / line * line;
}

enum rt_status kn_host_run(const struct kn_program *p, const struct rt_array *out, struct rt_error *e)
{
    struct rt_array room;
    if (kn_turned_room(p, out, &room)) {
        enum rt_status status = kn_host_run(p, &room, e);
        if (status == RT_OK) status = kn_host_copy(out, &room, e);
        rt_array_release(&room);
        return status;
    }
    struct kn_run r; /* of some kilobytes, which need no zeros */
    struct kn_tiles tiles;
    _Alignas(64) char stack[STACK_SCRATCH];
    r.base = rt_array_host(out);
    kn_plan_make(p, out, true, 1, &r.plan);
    r.linear = kn_space_linear(&r.plan.space, p->leaves);
    const size_t n = (size_t)r.plan.space.size, grain = kn_even_grain(n, least_grain(&r.plan));
    r.tiled = kn_tiles_choose(&r.plan, &tiles);
    choose_past(&r, out);
    const bool broadcast = !r.tiled && kn_broadcast_choose(&r);
    if (!r.tiled && is_straight(&r)) r.plan.block = grain;
    int workers = n > grain || n > KN_GRAIN ? rt_thread_count() : 1;
    r.scratch_bytes = kn_plan_scratch(&r.plan) + (r.tiled ? tiles.bytes : 0);
    const size_t bytes = r.scratch_bytes * (size_t)workers;
    char *heap = bytes > sizeof stack ? rt_alloc_lines(bytes) : NULL;
    if (bytes > sizeof stack && !heap)
        return rt_fail(e, RT_NOMEM, "out of memory: %zu bytes for evaluating in blocks", bytes);
    r.scratch = heap ? heap : stack;
    if (r.tiled)
        kn_tiles_run(&tiles, &r, workers == 1);
    else if (broadcast)
        kn_broadcast_run(&r);
    else
        rt_parallel_for(n, grain, run_piece, &r);
    free(heap);
    return rt_stopped(e);
}
