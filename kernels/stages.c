/* Expressions that reduce on their way, as softmax does: what becomes stages, and where they cannot be run together. */
#include <stdlib.h>
#include <string.h>
#include "kernels/generate.h"
#include "kernels/graph.h"
#include "kernels/reduce.h"
#include "kernels/rows.h"

struct plan {
    unsigned mark; /* of the nodes that are stages */
    bool generated, full;
    int count, leaves;
    struct kn_expression *nodes[KN_MAX_STAGES]; /* each behind those that it needs */
};

/* Counts for each node of the graph the others that read it. */
static void count_parents(struct kn_expression *x, unsigned walk)
{
    for (int i = 0; i < x->arity; i++) {
        struct kn_expression *part = x->args[i].expression;
        if (!part || kn_is_evaluated(part)) continue;
        if (part->seen != walk) {
            part->seen = walk;
            part->parents = 0;
            part->spread = false;
            count_parents(part, walk);
        }
        part->parents++;
        part->spread |= x->work != KN_REDUCES && rt_array_size(&part->form) < rt_array_size(&x->form);
    }
}

/* On the host it is cheaper to compute once: what takes long and is read more than once, or what all elements of a row
 * share. */
static bool is_worth_storing(const struct plan *p, const struct kn_expression *x)
{
    if (p->generated || p->leaves == KN_MAX_LEAVES || p->count >= KN_MAX_STAGES - 4) return false;
    return x->spread || (x->costly && x->parents > 1);
}

static void add_stage(struct plan *p, struct kn_expression *x)
{
    p->full |= p->count == KN_MAX_STAGES;
    if (p->full) return;
    p->leaves += x->work != KN_REDUCES;
    x->staged = p->mark;
    p->nodes[p->count++] = x;
}

static void find_stages(struct plan *p, struct kn_expression *x, unsigned walk)
{
    for (int i = 0; i < x->arity; i++) {
        struct kn_expression *part = x->args[i].expression;
        if (!part || kn_is_evaluated(part) || part->seen == walk) continue;
        part->seen = walk;
        find_stages(p, part, walk);
        if (part->work == KN_REDUCES || is_worth_storing(p, part)) add_stage(p, part);
    }
}

static const struct rt_array *operand_of(const struct kn_expression *x)
{
    return x->args[0].expression ? &x->args[0].expression->form : &x->args[0].array;
}

/* Of the axes of the whole, those from *outer on are reduced, by all stages that reduce; the others have its shape or
 * what is broadcast to it. */
static bool are_alike(const struct plan *p, const struct kn_expression *last, const struct rt_array **whole, int *outer)
{
    *whole = NULL;
    *outer = 0;
    for (int i = 0; i < p->count; i++) {
        const struct kn_expression *x = p->nodes[i];
        if (x->work != KN_REDUCES) continue;
        const struct rt_array *operand = operand_of(x);
        int first = x->axes ? __builtin_ctz(x->axes) : 0;
        if (!x->axes || x->axes != (1u << operand->ndim) - (1u << first)) return false;
        if (*whole && (first != *outer || !rt_array_same_shape(operand, *whole))) return false;
        *whole = operand;
        *outer = first;
    }
    if (!*whole || rt_array_size(*whole) == 0 || last->form.ndim != (*whole)->ndim) return false;
    for (int i = 0; i < last->form.ndim; i++)
        if (last->form.shape[i] != (*whole)->shape[i] && (i < *outer || last->form.shape[i] != 1)) return false;
    return true;
}

/* Makes room for what the stage computes and stays. */
static enum rt_status keep(struct kn_expression *x, struct kn_stage *s, struct rt_error *e)
{
    s->kept = true;
    s->form = &x->value;
    return rt_array_new(rt_array_device(&x->form), x->form.dtype, x->form.ndim, x->form.shape, &x->value, e);
}

static enum rt_status stage_program(const struct plan *p, struct kn_expression *x, struct kn_program *out,
                                    struct rt_error *e)
{
    return x->work == KN_REDUCES ? kn_edge_program(&x->args[0], p->mark, out, e) : kn_node_program(x, p->mark, out, e);
}

/* Values are made before the programs, which read them; temporary stages are known by their forms. */
static enum rt_status make_stages(const struct plan *p, struct kn_rows *r, struct rt_error *e)
{
    enum rt_status status = RT_OK;
    for (int i = 0; i < p->count && status == RT_OK; i++) {
        struct kn_expression *x = p->nodes[i];
        struct kn_stage *s = &r->stages[i];
        s->reduces = x->work == KN_REDUCES;
        s->reduction = x->reduction;
        s->kept = false;
        s->form = &x->form;
        status = stage_program(p, x, &s->program, e);
        if (status == RT_OK && (s->reduces || i == p->count - 1)) status = keep(x, s, e);
    }
    return status;
}

static struct kn_rows *new_rows(const struct rt_array *whole, int outer, int count, struct rt_error *e)
{
    struct kn_rows *r = rt_alloc(sizeof *r + (size_t)count * sizeof r->stages[0]);
    if (!r) {
        rt_fail(e, RT_NOMEM, "out of host memory");
        return NULL;
    }
    r->count = count;
    r->cut = kn_rows_fit(whole, outer);
    r->ndim = whole->ndim;
    r->outer = outer;
    memcpy(r->shape, whole->shape, sizeof r->shape);
    return r;
}

static enum rt_status run_stages(const struct plan *p, const struct rt_array *whole, int outer, struct rt_error *e)
{
    struct kn_rows *r = new_rows(whole, outer, p->count, e);
    if (!r) return RT_NOMEM;
    enum rt_status status = make_stages(p, r, e);
    if (status == RT_OK) status = kn_rows_run(r, e);
    free(r);
    for (int i = 0; i < p->count; i++) {
        if (!kn_is_evaluated(p->nodes[i])) continue;
        if (status == RT_OK)
            kn_drop_edges(p->nodes[i]);
        else
            rt_array_release(&p->nodes[i]->value);
    }
    return status;
}

static void make_plan(struct kn_expression *x, bool generated, struct plan *p)
{
    *p = (struct plan){.mark = kn_new_walk(), .generated = generated, .leaves = x->leaves};
    count_parents(x, kn_new_walk());
    find_stages(p, x, kn_new_walk());
}

static bool any_reduces(const struct plan *p)
{
    for (int i = 0; i < p->count; i++)
        if (p->nodes[i]->work == KN_REDUCES) return true;
    return false;
}

/* Whether the stages that end with x are run together: not one alone, for which kn_program_reduce has more ways, nor,
 * on the host, those of which one reads an array across its memory in slabs of a few rows. */
static bool run_together(const struct plan *p, const struct rt_array *whole, int outer)
{
    struct kn_program program;
    if (p->generated) return true;
    if (p->count == 1) return false;
    for (int i = 0; i < p->count && kn_rows_are_long(whole, outer); i++)
        if (stage_program(p, p->nodes[i], &program, NULL) == RT_OK && kn_program_lies_across(&program, whole, 0))
            return false;
    return true;
}

/* Dropping edges may release nodes of the plan, but for those that are held. */
static enum rt_status hold_and_run(const struct plan *p, const struct rt_array *whole, int outer, struct rt_error *e)
{
    for (int i = 0; i < p->count; i++) kn_expression_retain(p->nodes[i]);
    enum rt_status status = run_stages(p, whole, outer, e);
    for (int i = 0; i < p->count; i++) kn_expression_release(p->nodes[i]);
    return status;
}

/* The stages that are kernels of their own: what reduces, and x itself. */
static void plan_kernels(struct kn_expression *x, struct plan *p)
{
    make_plan(x, true, p); /* nothing is stored but results */
    add_stage(p, x);
}

/* Whether the stages are one kernel, whose text is written unless t is NULL. */
static enum rt_status try_one_kernel(const struct plan *p, struct kn_expression *x, struct kn_text *t, bool *one,
                                     struct rt_error *e)
{
    const struct rt_array *whole;
    int outer;
    enum rt_status status = RT_OK;
    *one = false;
    if (p->count < 2 || p->full || !are_alike(p, x, &whole, &outer)) return RT_OK;
    struct kn_rows *r = new_rows(whole, outer, p->count, e);
    if (!r) return RT_NOMEM;
    for (int i = 0; i < p->count && status == RT_OK; i++) {
        struct kn_stage *s = &r->stages[i];
        s->reduces = p->nodes[i]->work == KN_REDUCES;
        s->reduction = p->nodes[i]->reduction;
        s->kept = true;
        s->form = &p->nodes[i]->form;
        status = stage_program(p, p->nodes[i], &s->program, e);
    }
    if (status == RT_OK) *one = kn_rows_source(r, t);
    free(r);
    return status;
}

enum rt_status kn_expression_source(struct kn_expression *x, const struct kn_explanation *what, struct kn_text *t,
                                    struct rt_error *e)
{
    struct plan p;
    struct kn_program program;
    plan_kernels(x, &p);
    enum rt_status status = RT_OK;
    if (p.count == 1 && x->work != KN_REDUCES) return kn_program_source(&what->program, t, e);
    bool one;
    status = try_one_kernel(&p, x, t, &one, e);
    for (int i = 0; i < p.count && status == RT_OK && !one; i++) {
        struct kn_expression *stage = p.nodes[i];
        if (i > 0) kn_put(t, "\n");
        status = stage_program(&p, stage, &program, e);
        if (status == RT_OK)
            status = stage->work == KN_REDUCES ? kn_reduction_source(&program, stage->reduction, stage->axes, t, e)
                                               : kn_program_source(&program, t, e);
    }
    if (status == RT_OK && t->failed) status = rt_fail(e, RT_NOMEM, "out of memory for the text of a generated kernel");
    return status;
}

/* What a node reduces, if it is stored first, since others read it and on the host it costs more to compute it again;
 * else NULL. */
static struct kn_expression *stored_first(const struct kn_expression *node, bool generated)
{
    struct kn_expression *reduced = node->work == KN_REDUCES ? node->args[0].expression : NULL;
    return reduced && !generated && reduced->costly && reduced->parents > 1 ? reduced : NULL;
}

enum rt_status kn_explain_stages(struct kn_expression *x, struct kn_explanation *out, struct rt_error *e)
{
    struct plan p;
    struct kn_program program;
    const struct rt_array *whole;
    int outer;
    plan_kernels(x, &p);
    enum rt_status status = RT_OK;
    const bool generated = kn_runs_generated(rt_array_device(&x->form));
    if (generated)
        status = try_one_kernel(&p, x, NULL, &out->rows, e);
    else
        out->rows = p.count > 1 && !p.full && are_alike(&p, x, &whole, &outer) && kn_rows_fit(whole, outer) &&
                    run_together(&p, whole, outer);
    out->passes = out->rows ? 1 : p.count;
    if (out->rows) return status;
    if (p.count > 1) out->read = 0;
    for (int i = 0; i < p.count && p.count > 1 && status == RT_OK; i++) {
        status = stage_program(&p, p.nodes[i], &program, e);
        for (int k = 0; k < program.leaves && status == RT_OK; k++) out->read += kn_bytes_of(program.arrays[k]);
        if (i < p.count - 1) out->written += kn_bytes_of(&p.nodes[i]->form);
        const struct kn_expression *stored = stored_first(p.nodes[i], generated);
        if (!stored) continue;
        out->passes++;
        out->written += kn_bytes_of(&stored->form);
        out->read += kn_bytes_of(&stored->form);
    }
    return status;
}

enum rt_status kn_settle_reductions(struct kn_expression *x, struct rt_error *e)
{
    for (;;) {
        struct plan p;
        int i = 0;
        const bool generated = kn_runs_generated(rt_array_device(&x->form));
        make_plan(x, generated, &p);
        while (i < p.count && p.nodes[i]->work != KN_REDUCES) i++;
        if (i == p.count) return RT_OK;
        struct kn_expression *stored =
            stored_first(p.nodes[i], generated); /* in whose graph nothing reduces any more */
        enum rt_status status = stored ? kn_settle_counted(stored, e) : RT_OK;
        if (status == RT_OK) status = kn_settle_counted(p.nodes[i], e);
        if (status != RT_OK) return status;
    }
}

static enum rt_status settle_alone(struct kn_expression *x, struct rt_error *e)
{
    struct kn_program p;
    enum rt_status status = kn_edge_program(&x->args[0], 0, &p, e);
    if (status == RT_OK) status = kn_program_reduce(&p, x->reduction, x->axes, true, &x->value, e);
    if (status == RT_OK) kn_drop_edges(x);
    return status;
}

enum rt_status kn_settle_stages(struct kn_expression *x, bool *done, struct rt_error *e)
{
    struct plan p;
    const struct rt_array *whole;
    int outer;
    make_plan(x, kn_runs_generated(rt_array_device(&x->form)), &p);
    bool others = any_reduces(&p);
    *done = false;
    if (x->work != KN_REDUCES && !others) return RT_OK;
    add_stage(&p, x);
    enum rt_status status = RT_OK;
    if (!p.full && are_alike(&p, x, &whole, &outer) && run_together(&p, whole, outer)) {
        *done = true;
        return hold_and_run(&p, whole, outer, e);
    }
    if (others) {
        status = kn_settle_reductions(x, e);
        return status == RT_OK ? kn_settle_stages(x, done, e) : status;
    }
    *done = true;
    return settle_alone(x, e);
}
