/* Early loads of which it is known later who wants them: in the rounds of a loop, or where ways have parted. As long as
 * nothing that orders threads stands between, a load may as well be made there. So the checks pass over it, and look
 * where its value is used at one that stands for it: the same, into a register that nobody reads, by the predicate that
 * chooses. */
#include <string.h>
#include "runtime/simt/ptx_eager.h"

/* Are addresses in two variables? */
static bool are_two(const struct ptx_operand *a, const struct ptx_operand *b)
{
    return a->symbol && b->symbol && strcmp(a->symbol, b->symbol) != 0;
}

/* Does the instruction order the thread with others, or store where the load may look? Then a load behind it is another
 * one. */
static bool separates(const struct ptx_insn *load, const struct ptx_insn *in)
{
    static const char *const opcodes[] = {"bar",      "barrier", "membar", "fence", "atom",     "red",      "call",
                                          "mbarrier", "cp",      "wgmma",  "wmma",  "stmatrix", "multimem", "tcgen05"};
    static const char *const strong[] = {"volatile", "relaxed", "acquire", "release", "mmio"};
    static const char *const spaces[] = {"shared", "global", "local", "param"};
    bool shared = ptx_has_mod_like(load, "shared"), named = false;
    for (size_t k = 0; k < sizeof strong / sizeof *strong; k++)
        if (ptx_has_mod_like(in, strong[k])) return true;
    for (size_t k = 0; k < sizeof spaces / sizeof *spaces; k++) named |= ptx_has_mod_like(in, spaces[k]);
    bool there = !named || ptx_has_mod_like(in, shared ? "shared" : "global");
    return ONE_OF(in->opcode, opcodes) || (ptx_is(in, "st") && there && !are_two(&load->operands[1], &in->operands[0]));
}

bool ptx_loads_same(struct eager *e, size_t behind)
{
    const struct ptx_func *f = e->f;
    bool always = true; /* does the thread come there on all ways? */
    size_t k;
    ptx_walk_from(&e->walk, e->load + 1);
    while (ptx_walk_step(&e->walk, &k)) {
        const struct ptx_insn *in = &f->insns[k];
        if (k == behind) continue;
        if (separates(&f->insns[behind], in)) return false;
        always &= k != e->load && !ptx_is(in, "ret") && !ptx_is(in, "exit") && !ptx_is(in, "trap");
        ptx_walk_on(&e->walk, k);
    }
    return always || ptx_may_be_early(e, &f->insns[behind]);
}

/* ---- where it is used ---- */
static bool add_end(struct eager *e, struct end end)
{
    for (size_t k = 0; k < e->end_count; k++)
        if (e->ends[k].at == end.at) {
            if (e->ends[k].guard != end.guard || e->ends[k].negate != end.negate) e->ends[k].guard = -1;
            return true;
        }
    if (e->end_count == MOST_ENDS) return false;
    e->ends[e->end_count++] = end;
    return true;
}

/* Does it only make another value, in a register of its own? */
static bool makes_more(const struct eager *e, const struct ptx_insn *in)
{
    bool computes = ptx_computes(in) || (ptx_is(in, "div") && in->guard < 0 && in->operand_count == 3);
    return computes && in->operands[0].kind == PTX_OP_REG && e->makers[in->operands[0].reg] < SEVERAL;
}

/* All that looks at the register, or at what is made of it. */
static bool find_ends(struct eager *e, int reg, unsigned depth)
{
    bool ok = depth < DEEPEST;
    for (size_t n = e->first[reg]; ok && n < e->first[reg + 1]; n++) {
        const struct ptx_insn *in = &e->f->insns[e->users[n]];
        struct end end = {.at = e->users[n], .guard = in->guard == reg ? -1 : in->guard, .negate = in->guard_negate};
        const struct ptx_operand *by = ptx_computes(in) ? ptx_chosen_by(e, in, reg, &end.negate) : NULL;
        if (by) end.guard = by->reg;
        ok = !by && makes_more(e, in) ? find_ends(e, in->operands[0].reg, depth + 1) : add_end(e, end);
    }
    return ok;
}

static const struct end *end_at(const struct eager *e, size_t at)
{
    for (size_t k = 0; k < e->end_count; k++)
        if (e->ends[k].at == at) return &e->ends[k];
    return NULL;
}

/* Is there a way from the load on which nobody looks at it? */
static bool may_be_unused(struct eager *e)
{
    size_t k;
    ptx_walk_from(&e->walk, e->load + 1);
    while (ptx_walk_step(&e->walk, &k)) {
        const struct ptx_insn *in = &e->f->insns[k];
        const struct end *end = end_at(e, k);
        if (k == e->load || ptx_is(in, "ret") || ptx_is(in, "exit") || ptx_is(in, "trap")) return true;
        if (!end || end->guard >= 0) ptx_walk_on(&e->walk, k);
    }
    return false;
}

/* Does the thread come from nothing that separates to a use, but through the load? */
static bool is_reached_by_it_alone(struct eager *e)
{
    size_t k;
    ptx_walk_begin(&e->walk);
    for (k = 0; k < e->f->insn_count; k++)
        if (separates(&e->f->insns[e->load], &e->f->insns[k])) ptx_walk_on(&e->walk, k);
    while (ptx_walk_step(&e->walk, &k)) {
        if (end_at(e, k)) return false;
        if (k != e->load) ptx_walk_on(&e->walk, k);
    }
    return true;
}

/* ---- what stands for it ---- */
static bool stand_in(struct eager *e, const struct end *end)
{
    struct ptx_insn in = e->f->insns[e->load];
    struct ptx_operand *o = ptx_new(e->p, 2, sizeof *o);
    e->no_memory |= !o;
    if (!o) return false;
    o[1] = in.operands[1];
    in.operands = o;
    in.guard = end->guard;
    in.guard_negate = end->negate;
    in.is_eager = end->guard >= 0;
    return ptx_insert(e, end->at, in, e->f->regs[e->f->insns[e->load].operands[0].reg].type) >= 0;
}

bool ptx_look_later(struct eager *e)
{
    const struct ptx_operand *to = &e->f->insns[e->load].operands[0];
    e->end_count = 0;
    if (to->kind != PTX_OP_REG || e->makers[to->reg] != e->load || !find_ends(e, to->reg, 0)) return false;
    if (!e->end_count || e->added + e->end_count > MOST_ADDED || !may_be_unused(e) || !is_reached_by_it_alone(e))
        return false;
    while (e->end_count) { /* the last first: those before it stay where they are */
        struct end *last = &e->ends[0];
        for (size_t k = 1; k < e->end_count; k++)
            if (e->ends[k].at > last->at) last = &e->ends[k];
        if (!stand_in(e, last)) return false;
        *last = e->ends[--e->end_count];
    }
    e->f->insns[e->load].is_eager = true;
    return true;
}
