/* The graph of expressions; settle.c makes programs of it. */
#include "kernels/graph.h"
#include <stdlib.h>
#include "kernels/reduce.h"

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
