/* The graph of expressions, and how it becomes a program. */
#include "kernels/graph.h"
#include <stdlib.h>
#include <string.h>
#include "kernels/reduce.h"
#include "kernels/rolled.h"

/* What is needed again when its uses weigh this much is kept. Computing it anew for a second reduction is cheaper than
 * storing it: so a softmax on a GPU, say, reads its operand three times and writes nothing but its result. */
enum { USE_BY_REDUCTION = 1, USE_BY_ELEMENTS = 2, USES_TO_KEEP = 2 };

unsigned kn_new_walk(void)
{
    static unsigned walks;
    return ++walks ? walks : ++walks;
}

struct kn_expression *kn_expression_retain(struct kn_expression *x)
{
    x->references++;
    return x;
}

void kn_drop_edges(struct kn_expression *x)
{
    int arity = x->arity;
    x->arity = 0;
    for (int i = 0; i < arity; i++) {
        kn_expression_release(x->args[i].expression);
        rt_array_release(&x->args[i].array);
    }
}

/* The depth of the recursion is bounded by the cost of a graph. */
void kn_expression_release(struct kn_expression *x)
{
    if (!x || --x->references > 0) return;
    kn_drop_edges(x);
    rt_array_release(&x->form);
    rt_array_release(&x->value);
    free(x);
}

const struct rt_array *kn_expression_form(const struct kn_expression *x)
{
    return &x->form;
}

const struct rt_array *kn_expression_value(const struct kn_expression *x)
{
    return kn_is_evaluated(x) ? &x->value : NULL;
}

int kn_expression_cost(const struct kn_expression *x)
{
    return kn_is_evaluated(x) ? 1 : x->cost;
}

bool kn_expression_inlined(const struct kn_expression *x)
{
    return x->uses > 0 && !kn_is_evaluated(x);
}

static int leaves_of(const struct kn_expression *x)
{
    return kn_is_evaluated(x) ? 1 : x->leaves;
}

int kn_expression_room(const struct kn_expression *x)
{
    return leaves_of(x) < KN_MAX_LEAVES ? KN_MAX_NODES - kn_expression_cost(x) : 0;
}

/* A contiguous array without elements behind it. */
static enum rt_status make_form(struct rt_device *d, enum rt_dtype dtype, int ndim, const int64_t *shape,
                                struct rt_array *out, struct rt_error *e)
{
    *out = (struct rt_array){.storage = rt_storage_new(d, 0, e), .dtype = dtype, .ndim = ndim};
    if (!out->storage) return RT_NOMEM;
    int64_t stride = 1;
    for (int i = ndim; i-- > 0;) {
        out->shape[i] = shape[i];
        out->strides[i] = stride;
        stride *= shape[i] > 0 ? shape[i] : 1;
    }
    return RT_OK;
}

static bool is_costly(enum kn_op op)
{
    switch (op) {
    case KN_DIV:
    case KN_RECIPROCAL:
    case KN_COPYSIGN:
    case KN_HEAVISIDE:
    case KN_LERP:
    case KN_SQRT:
    case KN_DEG2RAD:
    case KN_RAD2DEG:
    case KN_LEAKY_RELU: return false;
    default: return kn_op_texts[op].rule == KN_RULE_FLOAT; /* exp, sin and so on */
    }
}

static void keep_args(struct kn_expression *x, const struct kn_source *args, int arity)
{
    for (int i = 0; i < arity; i++) {
        struct kn_edge *to = &x->args[i];
        const struct kn_source *from = &args[i];
        *to = (struct kn_edge){.number = from->operand, .full = from->full};
        to->number.array = NULL;
        if (from->expression && !kn_is_evaluated(from->expression))
            to->expression = kn_expression_retain(from->expression);
        else if (from->expression)
            rt_array_share(&from->expression->value, &to->array);
        else if (from->operand.array)
            rt_array_share(from->operand.array, &to->array);
    }
    x->arity = arity;
}

/* What a graph comes to when what several of its nodes read is counted once. */
static void count_once(struct kn_expression *x, unsigned walk, int *cost, int *leaves)
{
    if (x->seen == walk) return;
    x->seen = walk;
    ++*cost;
    *leaves += x->work == KN_REDUCES;
    for (int i = 0; i < x->arity; i++) {
        const struct kn_edge *a = &x->args[i];
        const bool inner = a->expression && !kn_is_evaluated(a->expression);
        *cost += inner ? 1 : 2;
        *leaves += !inner && (a->expression || a->array.storage);
        if (inner) count_once(a->expression, walk, cost, leaves);
    }
}

/* Every operand may need a node for itself and one for its conversion. What operands have in common is counted for each
 * of them until that is too much. */
static enum rt_status measure(struct kn_expression *x, struct rt_error *e)
{
    x->cost = 1;
    x->leaves = x->work == KN_REDUCES;
    for (int i = 0; i < x->arity; i++) {
        const struct kn_expression *part = x->args[i].expression; /* not evaluated */
        x->cost += part ? part->cost + 1 : 2;
        x->leaves += part ? part->leaves : x->args[i].array.storage != NULL;
        x->costly |= part && part->costly;
        x->reduces |= part && part->reduces;
        x->rolls |= part && part->rolls;
    }
    if (x->cost > KN_MAX_NODES || x->leaves > KN_MAX_LEAVES) {
        x->cost = x->leaves = 0;
        count_once(x, kn_new_walk(), &x->cost, &x->leaves);
    }
    if (x->cost > KN_MAX_NODES || x->leaves > KN_MAX_LEAVES)
        return rt_fail(e, RT_UNSUPPORTED, "the expression is too large to be evaluated at once");
    return RT_OK;
}

static const struct rt_array *form_of(const struct kn_source *s)
{
    return s->expression ? &s->expression->form : s->operand.array;
}

/* Arrays of one shape, of which none is converted: the signature is all that there is to tell. */
static bool infer_alike(enum kn_op op, const struct kn_source *args, struct kn_signature *s)
{
    const int arity = kn_ops[op].arity;
    const struct rt_array *first = form_of(&args[0]);
    struct kn_type types[3] = {0};
    for (int i = 0; i < arity; i++) {
        const struct rt_array *a = form_of(&args[i]);
        if (!first || !a || !rt_array_same_shape(a, first) || rt_array_device(a) != rt_array_device(first))
            return false;
        if (rt_array_alive(a, NULL) != RT_OK) return false;
        types[i] = (struct kn_type){.dtype = a->dtype};
    }
    if (kn_infer(op, types, s, NULL) != RT_OK) return false;
    for (int i = 0; i < arity; i++)
        if (types[i].dtype != (i == 0 ? s->first : s->others)) return false;
    return true;
}

/* The dtype and shape of the result; where operands differ by a program of this one operation over what has no
 * elements. */
static enum rt_status infer(enum kn_op op, const struct kn_source *args, struct rt_array *form, struct rt_error *e)
{
    struct kn_program p;
    struct kn_signature signature;
    int nodes[3], node, ndim;
    int64_t shape[RT_MAX_DIMS];
    enum rt_status status = RT_OK;
    if (infer_alike(op, args, &signature)) {
        const struct rt_array *a = form_of(&args[0]);
        return make_form(rt_array_device(a), signature.result, a->ndim, a->shape, form, e);
    }
    kn_program_start(&p);
    for (int i = 0; i < kn_ops[op].arity && status == RT_OK; i++)
        status = form_of(&args[i]) ? kn_program_array(&p, form_of(&args[i]), &nodes[i], e)
                                   : kn_program_number(&p, &args[i].operand, &nodes[i], e);
    if (status == RT_OK) status = kn_program_op(&p, op, nodes, &node, e);
    if (status == RT_OK) status = kn_check_devices(p.arrays, p.leaves, e);
    if (status == RT_OK) status = kn_program_shape(&p, &ndim, shape, e);
    if (status != RT_OK) return status;
    return make_form(rt_array_device(p.arrays[0]), p.nodes[node].dtype, ndim, shape, form, e);
}

static struct kn_expression *new_node(int arity, struct rt_error *e)
{
    struct kn_expression *x = rt_calloc(1, sizeof *x + (size_t)arity * sizeof x->args[0]);
    if (!x)
        rt_fail(e, RT_NOMEM, "out of host memory");
    else
        x->references = 1;
    return x;
}

/* Gives the node its operands. */
static enum rt_status finish(struct kn_expression *x, const struct kn_source *args, int arity, struct rt_error *e)
{
    keep_args(x, args, arity);
    return measure(x, e);
}

static enum rt_status give(struct kn_expression *x, enum rt_status status, struct kn_expression **out)
{
    if (status == RT_OK)
        *out = x;
    else
        kn_expression_release(x);
    return status;
}

enum rt_status kn_expression_new(enum kn_op op, const struct kn_source *args, struct kn_expression **out,
                                 struct rt_error *e)
{
    int arity = kn_ops[op].arity;
    struct kn_expression *x = new_node(arity, e);
    if (!x) return RT_NOMEM;
    x->op = op;
    x->costly = is_costly(op);
    enum rt_status status = infer(op, args, &x->form, e);
    if (status == RT_OK) status = finish(x, args, arity, e);
    return give(x, status, out);
}

enum rt_status kn_expression_convert(const struct kn_source *from, enum rt_dtype dtype, struct kn_expression **out,
                                     struct rt_error *e)
{
    const struct rt_array *form = form_of(from);
    struct kn_expression *x = new_node(1, e);
    if (!x) return RT_NOMEM;
    x->work = KN_CONVERTS;
    enum rt_status status = make_form(rt_array_device(form), dtype, form->ndim, form->shape, &x->form, e);
    if (status == RT_OK) status = rt_array_alive(form, e);
    if (status == RT_OK) status = kn_check_conversion(form->dtype, dtype, e);
    if (status == RT_OK) status = finish(x, from, 1, e);
    return give(x, status, out);
}

/* The result's shape and dtype; RT_UNSUPPORTED for what is done at once, or is a mistake that doing it tells. */
static enum rt_status reduced_form(const struct rt_array *a, enum kn_reduction r, unsigned axes, struct rt_array *form,
                                   struct rt_error *e)
{
    enum rt_dtype t;
    int ndim;
    int64_t shape[RT_MAX_DIMS];
    bool real = r == KN_MIN || r == KN_MAX, sums = r == KN_SUM || r == KN_PROD;
    if (axes >> a->ndim || (real && rt_is_complex(a->dtype)) || !(real || sums || r == KN_ANY || r == KN_ALL))
        return rt_fail(e, RT_UNSUPPORTED, "%s does not wait", kn_reductions[r].name);
    t = real ? a->dtype : sums ? kn_sum_dtype(a->dtype) : RT_BOOL;
    kn_reduced_shape(a, axes, true, &ndim, shape);
    return make_form(rt_array_device(a), t, ndim, shape, form, e);
}

enum rt_status kn_expression_reduce(const struct kn_source *from, enum kn_reduction r, unsigned axes,
                                    struct kn_expression **out, struct rt_error *e)
{
    const struct rt_array *form = form_of(from);
    struct kn_expression *x = new_node(1, e);
    if (!x) return RT_NOMEM;
    x->work = KN_REDUCES;
    x->reduction = r;
    x->axes = axes == KN_ALL_AXES ? (1u << form->ndim) - 1 : axes;
    enum rt_status status = rt_array_alive(form, e);
    if (status == RT_OK) status = reduced_form(form, r, x->axes, &x->form, e);
    if (status == RT_OK) status = finish(x, from, 1, e);
    x->costly = false;
    x->reduces = true;
    return give(x, status, out);
}

enum rt_status kn_expression_roll(const struct kn_source *from, const int64_t *shift, struct kn_expression **out,
                                  struct rt_error *e)
{
    struct kn_expression *of = from->expression;
    struct kn_source source = *from;
    const bool rolled = of && !kn_is_evaluated(of);
    if (rolled) {
        if (of->work != KN_ROLLS) return rt_fail(e, RT_UNSUPPORTED, "what is rolled is no array yet");
        source = (struct kn_source){.operand = {.array = &of->args[0].array}};
    }
    const struct rt_array *form = form_of(&source);
    struct kn_expression *x = rt_calloc(1, sizeof *x + sizeof x->args[0] + (size_t)form->ndim * sizeof *shift);
    if (!x) return rt_fail(e, RT_NOMEM, "out of host memory");
    x->references = 1;
    x->work = KN_ROLLS;
    x->shift = (int64_t *)&x->args[1];
    for (int i = 0; i < form->ndim; i++)
        x->shift[i] = form->shape[i] == 0 ? 0 : (shift[i] + (rolled ? of->shift[i] : 0)) % form->shape[i];
    enum rt_status status = make_form(rt_array_device(form), form->dtype, form->ndim, form->shape, &x->form, e);
    if (status == RT_OK) status = rt_array_alive(form, e);
    if (status == RT_OK) status = finish(x, &source, 1, e);
    x->rolls = true;
    return give(x, status, out);
}

static bool walk_reads(struct kn_expression *x, const struct rt_storage *s, unsigned walk)
{
    if (kn_is_evaluated(x)) return x->value.storage == s;
    if (x->seen == walk) return false;
    x->seen = walk;
    for (int i = 0; i < x->arity; i++) {
        const struct kn_edge *a = &x->args[i];
        if (a->expression ? walk_reads(a->expression, s, walk) : a->array.storage == s) return true;
    }
    return false;
}

bool kn_expression_reads(struct kn_expression *x, const struct rt_storage *s)
{
    return !kn_is_evaluated(x) && walk_reads(x, s, kn_new_walk());
}

static void walk_each(struct kn_expression *x, unsigned walk, void (*visit)(void *, const struct rt_array *),
                      void *context)
{
    if (kn_is_evaluated(x)) visit(context, &x->value);
    if (kn_is_evaluated(x) || x->seen == walk) return;
    x->seen = walk;
    for (int i = 0; i < x->arity; i++) {
        const struct kn_edge *a = &x->args[i];
        if (a->expression)
            walk_each(a->expression, walk, visit, context);
        else if (a->array.storage)
            visit(context, &a->array);
    }
}

void kn_expression_each(struct kn_expression *x, void (*visit)(void *context, const struct rt_array *a), void *context)
{
    walk_each(x, kn_new_walk(), visit, context);
}

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
