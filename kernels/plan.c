/* How a program is evaluated on the host: which nodes are computed at all, by which loops, in which blocks, how long.
 */
#include "kernels/host.h"
#include "kernels/tabled.h"

#define NEAREST     20480 /* bytes of blocks that the first-level cache keeps while loops go over them */
#define LONGER      2     /* times as many for one operation, as no other reads its block */
#define LEAST_BLOCK 512
#define LONG_ROW    128 /* elements of a row that are worth a block of their own */

bool kn_plan_as_stored(const struct kn_plan *plan, enum rt_dtype t)
{
    return plan->narrow || kn_class_exact(t);
}

size_t kn_plan_value_size(const struct kn_plan *plan, enum rt_dtype t)
{
    return plan->narrow ? rt_dtypes[t].size : kn_classes[kn_class_of(t)].size;
}

kn_op_loop *kn_stored_loop(const struct kn_loops *l, enum kn_op op, enum rt_dtype t)
{
    if (kn_class_exact(t)) return l->ops[op][kn_class_of(t)];
    kn_op_loop *loop = l->narrow->ops[op][t];
    return loop ? loop : kn_tabled_loop(op, t);
}

kn_op_loop *kn_plan_loop(const struct kn_plan *plan, const struct kn_node *n)
{
    enum rt_dtype t = plan->program->nodes[n->args[kn_ops[n->op].arity - 1]].dtype;
    if (!kn_plan_as_stored(plan, t)) return plan->loops->ops[n->op][kn_class_of(t)];
    return kn_stored_loop(plan->loops, n->op, t);
}

/* Their values are those of their classes where both dtypes are exactly theirs. */
kn_convert_loop *kn_stored_conversion(const struct kn_loops *l, enum rt_dtype from, enum rt_dtype to)
{
    kn_convert_loop *loop = l->narrow->convert[from][to];
    return loop || !kn_class_exact(from) || !kn_class_exact(to) ? loop : l->convert[kn_class_of(from)][to];
}

/* Whether values can stay as they lie in memory: all operations have loops for that. */
static bool can_be_narrow(struct kn_plan *plan)
{
    const struct kn_program *p = plan->program;
    bool can = true;
    plan->narrow = true; /* for kn_plan_loop */
    for (int i = 0; i < p->count && can; i++) {
        const struct kn_node *n = &p->nodes[i];
        if (n->kind == KN_NODE_OP)
            can = kn_plan_loop(plan, n) != NULL;
        else if (n->kind == KN_NODE_CONVERT)
            can = kn_stored_conversion(plan->loops, p->nodes[n->args[0]].dtype, n->dtype) != NULL;
        else
            can = n->kind == KN_NODE_NUMBER || n->kind == KN_NODE_WEAK || n->kind == KN_NODE_ARRAY;
    }
    return can;
}

int kn_node_answer(const struct kn_program *p, const struct kn_node *n)
{
    return n->kind == KN_NODE_OP ? kn_answer_to_all(n->op, p->nodes[n->args[0]].dtype) : -1;
}

/* Its values are always read where the array has them. */
static bool read_in_place(const struct kn_plan *plan, const struct kn_node *n)
{
    return n->kind == KN_NODE_ARRAY && plan->linear[n->leaf] && kn_plan_as_stored(plan, n->dtype);
}

static void assign_slots(struct kn_plan *plan)
{
    const struct kn_program *p = plan->program;
    int last_use[KN_MAX_NODES], free_slots[KN_MAX_NODES], free_count = 0, count = p->count;
    for (int i = 0; i < count; i++) {
        plan->used[i] = i == count - 1;
        last_use[i] = i;
    }
    for (int i = count; i-- > 0;) {
        const struct kn_node *n = &p->nodes[i];
        const struct kn_group *g = kn_plan_group(plan, i);
        const int operands = !plan->used[i] || kn_node_answer(p, n) >= 0 ? 0 : g ? g->inputs : kn_node_arity(n);
        for (int k = 0; k < operands; k++) {
            if (g && g->same >> k & 1) continue; /* no block is filled with it */
            /* A conversion may pass its operand's block on, so the last use of the one is that of the other. */
            int use = n->kind == KN_NODE_CONVERT ? last_use[i] : i, arg = g ? g->input[k] : n->args[k];
            plan->used[arg] = true;
            if (last_use[arg] < use) last_use[arg] = use;
        }
    }
    plan->slots = 0;
    for (int i = 0; i < count; i++) {
        const struct kn_node *n = &p->nodes[i];
        plan->slot[i] = -1;
        if (!plan->used[i] || read_in_place(plan, n)) continue;
        plan->slot[i] = (short)(free_count && !kn_plan_is_fixed(plan, n) ? free_slots[--free_count] : plan->slots++);
        for (int j = 0; j < i; j++)
            if (plan->slot[j] >= 0 && !kn_plan_is_fixed(plan, &p->nodes[j]) && last_use[j] == i)
                free_slots[free_count++] = plan->slot[j];
    }
}

/* Blocks are shorter where there are many of them: those of an operation should find those of the last one in the
 * nearest cache. What is read in place and the output pass through it as well. */
static void choose_block(struct kn_plan *plan)
{
    const struct kn_program *p = plan->program;
    size_t value = plan->narrow ? 1 : 4, blocks = (size_t)plan->slots + 1, operations = 0;
    for (int i = 0; i < p->count; i++) {
        bool typed = p->nodes[i].kind != KN_NODE_WEAK;
        size_t size = typed ? kn_plan_value_size(plan, p->nodes[i].dtype) : 0;
        if (size > value) value = size;
        if (plan->used[i] && read_in_place(plan, &p->nodes[i])) blocks++;
        operations += plan->used[i] && kn_node_arity(&p->nodes[i]) > 0;
    }
    plan->block = KN_BLOCK;
    const size_t most = operations > 1 ? NEAREST : LONGER * NEAREST;
    while (plan->slots && plan->block > LEAST_BLOCK && plan->block * value * blocks > most) plan->block /= 2;
    size_t longest = plan->space.size < (int64_t)plan->block ? (size_t)plan->space.size : plan->block;
    plan->slot_bytes =
        (longest * value + 63) / 64 * 64 + 64; /* the odd line keeps blocks off each other's cache sets */
}

void kn_plan_make(const struct kn_program *p, const struct rt_array *out, bool stored, int64_t times,
                  struct kn_plan *plan)
{
    plan->program = p;
    plan->loops = kn_host_loops();
    kn_space_make(p->arrays, p->leaves, out, &plan->space);
    for (int i = 0; i < p->leaves; i++) {
        plan->base[i] = rt_array_host(p->arrays[i]);
        plan->constant[i] = kn_space_constant(&plan->space, i);
        plan->linear[i] = !plan->constant[i] && kn_space_linear(&plan->space, i);
    }
    plan->narrow = stored && can_be_narrow(plan);
    plan->long_row = LONG_ROW;
    kn_plan_find_groups(plan, times);
    assign_slots(plan);
    choose_block(plan);
}

void kn_plan_read_rows(struct kn_plan *plan, size_t least)
{
    const struct kn_space *s = &plan->space;
    const struct kn_node *first = &plan->program->nodes[0];
    const int last = s->ndim - 1;
    if (plan->program->count > 1 || first->kind != KN_NODE_ARRAY || plan->slots == 0) return;
    if (!kn_plan_as_stored(plan, first->dtype) || s->strides[first->leaf][last] != 1 || s->shape[last] < (int64_t)least)
        return;
    plan->slots = 0;
    plan->slot[0] = -1;
    plan->long_row = least;
}

void kn_plan_lengthen(struct kn_plan *plan, size_t block)
{
    const size_t value = (plan->slot_bytes - 64) / plan->block;
    plan->block = block;
    plan->slot_bytes = (block * value + 63) / 64 * 64 + 64;
}

size_t kn_plan_scratch(const struct kn_plan *plan)
{
    return (size_t)plan->slots * plan->slot_bytes;
}
