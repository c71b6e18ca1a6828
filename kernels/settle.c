/* How the graph of expressions becomes programs: what is kept on the way, what is computed again. */
#include <string.h>
#include "kernels/graph.h"
#include "kernels/rolled.h"

/* What is needed again when its uses weigh this much is kept. Computing it anew for a second reduction is cheaper than
 * storing it: so a softmax on a GPU, say, reads its operand three times and writes nothing but its result. */
enum { USE_BY_REDUCTION = 1, USE_BY_ELEMENTS = 2, USES_TO_KEEP = 2 };

/* A program that grows out of a graph, and what is told of it when somebody asks. */
struct builder {
    struct kn_program *p;
    struct kn_explanation *explanation; /* or NULL */
    unsigned walk;
    unsigned staged;                  /* the nodes with this mark are leaves, if it is not 0, */
    const struct kn_expression *root; /* but this one */
    struct kn_rolled *rolled;         /* by leaf: filled where that is rolled; NULL: there is none */
    struct rt_error *e;
};

int64_t kn_bytes_of(const struct rt_array *a)
{
    int64_t bytes = rt_dtypes[a->dtype].size;
    for (int i = 0; i < a->ndim; i++)
        if (a->strides[i] != 0 || a->shape[i] == 0) bytes *= a->shape[i];
    return bytes;
}

static enum rt_status add_array(struct builder *b, const struct rt_array *a, enum kn_cut cut, int *node)
{
    enum rt_status status = kn_program_array(b->p, a, node, b->e);
    if (status == RT_OK && b->explanation) b->explanation->cuts[b->p->nodes[*node].leaf] = cut;
    return status;
}

static bool is_kept(const struct kn_expression *x)
{
    return x->uses >= USES_TO_KEEP && x->references > 1;
}

static void note_operation(struct kn_explanation *to, const struct kn_expression *x)
{
    to->operations++;
    to->eager_written += kn_bytes_of(&x->form);
    for (int i = 0; i < x->arity; i++) {
        const struct kn_edge *a = &x->args[i];
        if (a->expression || a->array.storage)
            to->eager_read += kn_bytes_of(a->expression ? &a->expression->form : &a->array);
    }
}

static enum rt_status add_node(struct kn_expression *x, struct builder *b, int *node);

static enum rt_status add_edge(const struct kn_edge *a, struct builder *b, int *node)
{
    if (a->expression && b->explanation && !kn_is_evaluated(a->expression) && is_kept(a->expression))
        return add_array(b, &a->expression->form, KN_CUT_AGAIN, node);
    if (a->expression) return add_node(a->expression, b, node);
    if (a->array.storage) return add_array(b, &a->array, a->full ? KN_CUT_FULL : KN_CUT_NONE, node);
    return kn_program_number(b->p, &a->number, node, b->e);
}

/* Its form is the leaf, which has no elements. */
static enum rt_status add_rolled(struct kn_expression *x, struct builder *b)
{
    const enum rt_status status = add_array(b, &x->form, KN_CUT_ROLLED, &x->node);
    if (status == RT_OK && b->rolled)
        b->rolled[b->p->nodes[x->node].leaf] = (struct kn_rolled){&x->args[0].array, x->shift};
    return status;
}

static enum rt_status add_node(struct kn_expression *x, struct builder *b, int *node)
{
    int nodes[3] = {0};
    enum rt_status status = RT_OK;
    if (kn_is_evaluated(x)) return add_array(b, &x->value, KN_CUT_NONE, node);
    if (b->staged && x->staged == b->staged && x != b->root) return add_array(b, &x->form, KN_CUT_NONE, node);
    if (x->seen == b->walk) {
        *node = x->node;
        return RT_OK;
    }
    for (int i = 0; i < x->arity && x->work != KN_ROLLS && status == RT_OK; i++)
        status = add_edge(&x->args[i], b, &nodes[i]);
    if (x->work == KN_ROLLS)
        status = add_rolled(x, b);
    else if (status == RT_OK && x->work == KN_REDUCES)
        status = kn_program_reduction(b->p, x->reduction, nodes[0], x->form.dtype, &x->node, b->e);
    else if (status == RT_OK)
        status = x->work == KN_CONVERTS ? kn_program_convert(b->p, nodes[0], x->form.dtype, &x->node, b->e)
                                        : kn_program_op(b->p, x->op, nodes, &x->node, b->e);
    x->seen = b->walk;
    *node = x->node;
    if (b->explanation) note_operation(b->explanation, x);
    return status;
}

enum rt_status kn_node_program(struct kn_expression *x, unsigned staged, struct kn_program *p, struct rt_error *e)
{
    struct builder b = {.p = p, .walk = kn_new_walk(), .staged = staged, .root = x, .e = e};
    int node;
    kn_program_start(p);
    return add_node(x, &b, &node);
}

enum rt_status kn_edge_program(const struct kn_edge *from, unsigned staged, struct kn_program *p, struct rt_error *e)
{
    struct builder b = {.p = p, .walk = kn_new_walk(), .staged = staged, .e = e};
    int node;
    kn_program_start(p);
    return add_edge(from, &b, &node);
}

enum rt_status kn_expression_explain(struct kn_expression *x, struct kn_explanation *out, struct rt_error *e)
{
    struct builder b = {.p = &out->program, .explanation = out, .walk = kn_new_walk(), .e = e};
    int node;
    memset(out, 0, sizeof *out);
    enum rt_status status = add_node(x, &b, &node);
    for (int i = 0; i < out->program.leaves; i++) out->read += kn_bytes_of(out->program.arrays[i]);
    out->written = kn_bytes_of(&x->form);
    return status == RT_OK ? kn_explain_stages(x, out, e) : status;
}

static enum rt_status settle(struct kn_expression *x, struct rt_error *e);

/* Evaluates for themselves the parts that are needed once more and counts the others. */
static enum rt_status settle_parts(struct kn_expression *x, int use, unsigned walk, struct rt_error *e)
{
    enum rt_status status = RT_OK;
    for (int i = 0; i < x->arity && status == RT_OK; i++) {
        struct kn_expression *part = x->args[i].expression;
        if (!part || kn_is_evaluated(part) || part->noted == walk) continue;
        part->noted = walk;
        if (is_kept(part))
            status = settle(part, e);
        else
            status = settle_parts(part, use, walk, e);
        if (part->uses < USES_TO_KEEP) part->uses += x->work == KN_REDUCES ? USE_BY_REDUCTION : use;
    }
    return status;
}

/* One operation over arrays and numbers. */
static bool is_single(const struct kn_expression *x)
{
    for (int i = 0; i < x->arity; i++)
        if (x->args[i].expression) return false;
    return x->work == KN_APPLIES;
}

static enum rt_status settle_single(struct kn_expression *x, struct rt_error *e)
{
    struct kn_operand args[3];
    for (int i = 0; i < x->arity; i++) {
        args[i] = x->args[i].number;
        if (x->args[i].array.storage) args[i].array = &x->args[i].array;
    }
    enum rt_status status = kn_apply(x->op, args, &x->value, e);
    if (status == RT_OK) kn_drop_edges(x);
    return status;
}

/* Evaluates what rolls, each for itself. */
static enum rt_status settle_rolls(struct kn_expression *x, unsigned walk, struct rt_error *e)
{
    enum rt_status status = RT_OK;
    if (kn_is_evaluated(x) || !x->rolls || x->seen == walk) return RT_OK;
    x->seen = walk;
    for (int i = 0; i < x->arity && status == RT_OK; i++)
        if (x->args[i].expression) status = settle_rolls(x->args[i].expression, walk, e);
    x->rolls = x->work == KN_ROLLS;
    if (status != RT_OK || !x->rolls) return status;
    status = rt_array_new(rt_array_device(&x->form), x->form.dtype, x->form.ndim, x->form.shape, &x->value, e);
    if (status != RT_OK) return status;
    status = kn_roll(&(struct kn_rolled){&x->args[0].array, x->shift}, &x->value, e);
    if (status == RT_OK)
        kn_drop_edges(x);
    else
        rt_array_release(&x->value);
    return status;
}

/* Evaluates a node with what rolls in its graph, or, where that takes longer, only the latter. */
static enum rt_status settle_rolled(struct kn_expression *x, bool *done, struct rt_error *e)
{
    struct kn_program p;
    struct kn_rolled leaves[KN_MAX_LEAVES] = {{0}};
    struct builder b = {.p = &p, .walk = kn_new_walk(), .rolled = leaves, .e = e};
    int node;
    if (x->reduces || x->work == KN_ROLLS) {
        *done = x->work == KN_ROLLS;
        return settle_rolls(x, kn_new_walk(), e);
    }
    kn_program_start(&p);
    enum rt_status status = add_node(x, &b, &node);
    if (status != RT_OK) return status;
    if (!kn_rolled_fits(leaves, p.leaves, &x->form)) return settle_rolls(x, kn_new_walk(), e);
    status = kn_check_devices(p.arrays, p.leaves, e);
    if (status == RT_OK)
        status = rt_array_new(rt_array_device(&x->form), x->form.dtype, x->form.ndim, x->form.shape, &x->value, e);
    if (status != RT_OK) return status;
    status = kn_rolled_run(&p, leaves, &x->value, e);
    if (status == RT_OK)
        kn_drop_edges(x);
    else
        rt_array_release(&x->value);
    *done = true;
    return status;
}

enum rt_status kn_settle_counted(struct kn_expression *x, struct rt_error *e)
{
    struct kn_program p;
    bool done = false;
    enum rt_status status = RT_OK;
    if (kn_is_evaluated(x)) return RT_OK;
    if (is_single(x)) return settle_single(x, e);
    if (x->rolls) status = settle_rolled(x, &done, e);
    if (status == RT_OK && x->reduces && !done) status = kn_settle_stages(x, &done, e);
    if (status != RT_OK || done) return status;
    status = kn_node_program(x, 0, &p, e);
    if (status == RT_OK) status = kn_program_run(&p, &x->value, e);
    if (status == RT_OK) kn_drop_edges(x);
    return status;
}

static enum rt_status settle(struct kn_expression *x, struct rt_error *e)
{
    enum rt_status status = is_single(x) ? RT_OK : settle_parts(x, USE_BY_ELEMENTS, kn_new_walk(), e);
    return status == RT_OK ? kn_settle_counted(x, e) : status;
}

enum rt_status kn_expression_program(struct kn_expression *x, struct kn_program *p, struct rt_error *e)
{
    enum rt_status status = RT_OK;
    if (!kn_is_evaluated(x)) {
        status = x->uses >= USES_TO_KEEP ? settle(x, e) : settle_parts(x, USE_BY_REDUCTION, kn_new_walk(), e);
        if (x->uses < USES_TO_KEEP) x->uses += USE_BY_REDUCTION;
    }
    if (status == RT_OK) status = settle_rolls(x, kn_new_walk(), e);
    if (status == RT_OK && !kn_is_evaluated(x) && x->work == KN_REDUCES) status = settle(x, e);
    if (status == RT_OK && !kn_is_evaluated(x) && x->reduces) status = kn_settle_reductions(x, e);
    return status == RT_OK ? kn_node_program(x, 0, p, e) : status;
}

enum rt_status kn_expression_evaluate(struct kn_expression *x, struct rt_error *e)
{
    return kn_is_evaluated(x) ? RT_OK : settle(x, e);
}

enum rt_status kn_expression_write(struct kn_expression *x, struct rt_array *out, struct rt_error *e)
{
    struct kn_program p;
    enum rt_status status = RT_OK;
    bool reduces = x->work == KN_REDUCES; /* what it reduces has another shape than `out` */
    for (int i = 0; i < x->arity && !reduces && status == RT_OK; i++) { /* the operands, whatever they are made of */
        const struct kn_edge *a = &x->args[i];
        const struct rt_array *form = a->expression ? &a->expression->form : a->array.storage ? &a->array : NULL;
        if (form) status = kn_check_fits(form, out, e);
    }
    if (status == RT_OK) status = settle_parts(x, USE_BY_ELEMENTS, kn_new_walk(), e);
    if (status == RT_OK) status = settle_rolls(x, kn_new_walk(), e);
    if (status == RT_OK && x->reduces) status = kn_settle_reductions(x, e);
    if (status == RT_OK && reduces) status = settle(x, e);
    if (status == RT_OK) status = kn_node_program(x, 0, &p, e);
    return status == RT_OK ? kn_program_run(&p, out, e) : status;
}
