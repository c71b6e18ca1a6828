/* Ways through a function's instructions: a search over jumps and falls, each instruction once. */
#include <string.h>
#include "runtime/simt/ptx_walk.h"

bool ptx_mentions(const struct ptx_operand *o, int reg)
{
    bool any = (o->kind == PTX_OP_REG || o->kind == PTX_OP_ADDRESS) && o->reg == reg;
    for (size_t k = 0; k < o->item_count; k++) any |= ptx_mentions(&o->items[k], reg);
    return any;
}

bool ptx_each_body(struct ptx_module *m, struct rt_error *e, bool kernels_alone,
                   bool (*change)(struct ptx_parser *p, struct ptx_func *f))
{
    struct ptx_tree *tree = (struct ptx_tree *)m;
    struct ptx_parser p = {.error = e, .module = m, .chunks = tree->chunks};
    bool ok = true;
    for (size_t k = 0; k < m->func_count && ok; k++) {
        struct ptx_func *f = &m->funcs[k];
        ok = !f->has_body || (kernels_alone && !f->is_entry) || change(&p, f);
    }
    tree->chunks = p.chunks;
    return ok;
}

bool ptx_can_walk(const struct ptx_func *f, size_t most)
{
    if (!f->insn_count || f->insn_count > most || f->branch_table_count) return false;
    for (size_t k = 0; k < f->insn_count; k++) {
        const struct ptx_insn *in = &f->insns[k];
        if (ptx_is(in, "brx")) return false;
        if (ptx_is(in, "bra") && (!in->operand_count || in->operands[0].kind != PTX_OP_LABEL)) return false;
    }
    return true;
}

bool ptx_walk_new(struct ptx_parser *p, struct ptx_walk *w, const struct ptx_func *f, size_t most)
{
    *w = (struct ptx_walk){
        .f = f, .seen = ptx_new(p, most, sizeof *w->seen), .stack = ptx_new(p, most, sizeof *w->stack)};
    return w->seen && w->stack;
}

void ptx_walk_to(struct ptx_walk *w, size_t insn)
{
    if (insn >= w->f->insn_count || w->seen[insn]) return;
    w->seen[insn] = true;
    w->stack[w->count++] = insn;
}

void ptx_walk_begin(struct ptx_walk *w)
{
    w->count = 0;
    memset(w->seen, 0, w->f->insn_count * sizeof *w->seen);
}

void ptx_walk_from(struct ptx_walk *w, size_t insn)
{
    ptx_walk_begin(w);
    ptx_walk_to(w, insn);
}

bool ptx_walk_step(struct ptx_walk *w, size_t *insn)
{
    if (!w->count) return false;
    *insn = w->stack[--w->count];
    w->steps++;
    return true;
}

void ptx_walk_on(struct ptx_walk *w, size_t insn)
{
    const struct ptx_insn *in = &w->f->insns[insn];
    if (ptx_goes_on(in)) ptx_walk_to(w, insn + 1);
    if (ptx_is(in, "bra")) ptx_walk_to(w, ptx_target_of(in));
}
