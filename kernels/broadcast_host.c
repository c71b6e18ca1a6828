/* One operation over rows of which some operands have one element each, or the same row for all: row by row, where
 * blocks would mix short rows and cost more than their values. */
#include <string.h>
#include "kernels/host.h"
#include "runtime/interrupt.h"
#include "runtime/threads.h"

#define SHORTEST 8 /* elements of a row that are worth a call */

/* What one argument has for the row that is next. */
struct operand {
    const void *values;
    const char *at; /* where its element or elements are; NULL: `values` are those of all rows */
    int64_t step;   /* bytes to those of the next row along the last axis but one */
    bool spread;    /* it is one element, which fills `slot` */
    enum rt_dtype dtype;
    void *slot;
};

/* Whether the argument's elements lie side by side along rows, or are one for each. */
static bool lies_in_rows(const struct kn_plan *plan, const struct kn_node *n)
{
    const struct kn_space *s = &plan->space;
    if (n->kind == KN_NODE_NUMBER) return true;
    if (n->kind != KN_NODE_ARRAY || !kn_plan_as_stored(plan, n->dtype)) return false;
    int64_t stride = s->strides[n->leaf][s->ndim - 1];
    return stride == 0 || stride == 1;
}

bool kn_broadcast_choose(const struct kn_run *r)
{
    const struct kn_plan *plan = &r->plan;
    const struct kn_program *p = plan->program;
    const struct kn_space *s = &plan->space;
    const struct kn_node *op = &p->nodes[p->count - 1];
    const int64_t length = s->shape[s->ndim - 1];
    if (op->kind != KN_NODE_OP || s->ndim < 2 || r->past || !kn_plan_as_stored(plan, op->dtype)) return false;
    if (s->strides[p->leaves][s->ndim - 1] != 1 || length < SHORTEST || length > (int64_t)plan->block) return false;
    for (int k = 0; k < kn_ops[op->op].arity; k++)
        if (!plan->used[op->args[k]] || !lies_in_rows(plan, &p->nodes[op->args[k]])) return false;
    return true;
}

/* Of a leaf, or the output, which comes after them: where its elements from the walk's place on are, in bytes. */
static int64_t place_of(const struct kn_walk *w, int leaf, enum rt_dtype t)
{
    const struct kn_space *s = &w->plan->space;
    int64_t offset = 0;
    for (int i = 0; i < s->ndim; i++) offset += w->coordinates[i] * s->strides[leaf][i];
    return offset * (int64_t)rt_dtypes[t].size;
}

static struct operand operand_of(const struct kn_walk *w, int node)
{
    const struct kn_plan *plan = w->plan;
    const struct kn_space *s = &plan->space;
    const struct kn_node *n = &plan->program->nodes[node];
    struct operand o = {.slot = plan->slot[node] >= 0 ? kn_walk_slot(w, node) : NULL, .dtype = n->dtype};
    o.values = o.slot;
    if (n->kind == KN_NODE_NUMBER || plan->constant[n->leaf]) return o;
    o.at = plan->base[n->leaf] + place_of(w, n->leaf, n->dtype);
    o.step = s->strides[n->leaf][s->ndim - 2] * (int64_t)rt_dtypes[n->dtype].size;
    o.spread = s->strides[n->leaf][s->ndim - 1] == 0;
    return o;
}

/* Fills the slot with the elements of some rows, whole vectors of each: what is too much is overwritten by the next
 * row, or lies behind the slot's last element. */
static void spread_rows(const struct kn_plan *plan, const struct operand *o, int64_t rows, size_t length)
{
    const size_t size = rt_dtypes[o->dtype].size, whole = (length * size + 63) / 64 * 64 / size;
    char *to = o->slot;
    if (!plan->narrow) {
        kn_spread(o->dtype, to, o->at, length);
        return;
    }
    kn_load_loop *gather = plan->loops->narrow->gather[__builtin_ctz((unsigned)size)];
    for (int64_t i = 0; i < rows; i++) gather(to + (size_t)i * length * size, o->at + i * o->step, 0, whole);
}

/* How many rows one call can have: where an element is spread as far as the slot reaches, if the other operands and the
 * output go on in memory from row to row. A row that is the same for all then fills a slot, too. */
static int64_t rows_at_once(const struct kn_plan *plan, struct operand *args, int arity, int64_t rows, size_t length)
{
    const int64_t most = (int64_t)(plan->block / length), count = rows < most ? rows : most;
    bool spreads = false;
    for (int k = 0; k < arity; k++) spreads |= args[k].at && args[k].spread;
    if (!spreads || !plan->narrow || count < 2) return 1;
    for (int k = 0; k < arity; k++) {
        const struct operand *o = &args[k];
        const int64_t bytes = (int64_t)(length * rt_dtypes[o->dtype].size);
        if (o->at && !o->spread && (o->step == 0 ? !o->slot : o->step != bytes)) return 1;
    }
    for (int k = 0; k < arity; k++) {
        struct operand *o = &args[k];
        const size_t bytes = length * rt_dtypes[o->dtype].size;
        if (!o->at || o->spread || o->step != 0) continue;
        for (int64_t i = 0; i < count; i++) memcpy((char *)o->slot + (size_t)i * bytes, o->at, bytes);
        o->values = o->slot;
        o->at = NULL;
    }
    return count;
}

/* The next rows along the last axis but one, from where the walk is. */
static void run_rows(const struct kn_run *r, const struct kn_walk *w, int64_t rows)
{
    const struct kn_program *p = r->plan.program;
    const struct kn_space *s = &r->plan.space;
    const struct kn_node *op = &p->nodes[p->count - 1];
    const int arity = kn_ops[op->op].arity < 3 ? kn_ops[op->op].arity : 3;
    const size_t length = (size_t)s->shape[s->ndim - 1];
    kn_op_loop *loop = kn_plan_loop(&r->plan, op);
    struct operand args[3] = {{0}};
    for (int k = 0; k < arity; k++) args[k] = operand_of(w, op->args[k]);
    char *to = r->base + place_of(w, p->leaves, op->dtype);
    const int64_t size = (int64_t)rt_dtypes[op->dtype].size, step = s->strides[p->leaves][s->ndim - 2] * size;
    const int64_t most = step == (int64_t)length * size ? rows_at_once(&r->plan, args, arity, rows, length) : 1;
    for (int64_t count; rows > 0; rows -= count, to += count * step) {
        count = rows < most ? rows : most;
        for (int k = 0; k < arity; k++) {
            struct operand *o = &args[k];
            if (!o->at) continue;
            if (o->spread)
                spread_rows(&r->plan, o, count, length);
            else
                o->values = o->at;
            o->at += count * o->step;
        }
        loop(to, args[0].values, args[1].values, args[2].values, (size_t)count * length);
    }
}

static void rows_piece(void *context, size_t begin, size_t end, int worker)
{
    const struct kn_run *r = context;
    const struct kn_space *s = &r->plan.space;
    const int64_t length = s->shape[s->ndim - 1], column = s->shape[s->ndim - 2];
    struct kn_walk w;
    if (rt_interrupted()) return;
    kn_walk_start(&r->plan, r->scratch + (size_t)worker * r->scratch_bytes, (int64_t)begin * length,
                  (int64_t)end * length, NULL, &w);
    while (w.position < w.end) {
        int64_t rows = (w.end - w.position) / length, rest = column - w.coordinates[s->ndim - 2];
        if (rows > rest) rows = rest;
        run_rows(r, &w, rows);
        kn_walk_advance(&w, (size_t)(rows * length));
    }
}

void kn_broadcast_run(struct kn_run *r)
{
    const struct kn_space *s = &r->plan.space;
    const int64_t length = s->shape[s->ndim - 1];
    rt_parallel_for((size_t)(s->size / length), (size_t)(KN_GRAIN / length), rows_piece, r);
}
