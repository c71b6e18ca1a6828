/* Loads that the compiler made before it was known whether they are wanted. To read a variable does no harm on a GPU,
 * so `if (c) v = s;` and `c && s` load s in all threads, and choose afterwards by c. Which threads read is said by c
 * alone: here the load gets it as its guard, from where its value goes to: through what computes, until all that comes
 * of it is chosen by a predicate, or by a branch (ptx_chosen.c). What makes the predicate is moved before the load, or,
 * where barriers or stores stand between, computed there once more. Where not all of it is known at the load, the
 * checks look where the value is used (ptx_later.c) or, if they can't, at those threads that perhaps want it.
 *
 * It is told of loads of a variable at a place of it that the text names, as only of these it is known that they may
 * be made; and of those in inline PTX where all threads of a block load one place, or those whose number has some bits
 * in common do, as Triton lets them, which is right for all of them where it is for one that wants it. Done for
 * launches alone, as calls are inlined. */
#include <string.h>
#include "runtime/simt/ptx_eager.h"

#define MOST     20000   /* instructions */
#define STEPS    2000000 /* through instructions, on all ways that are followed in a function */
#define FARTHEST 256     /* of them behind a load that may be moved before it */
#define FEW      6       /* from an address to what it is made of */

/* ---- which loads ---- */
static const struct ptx_var *find_variable(const struct ptx_var *vars, size_t count, const char *name)
{
    for (size_t k = 0; k < count; k++)
        if (!strcmp(vars[k].name, name)) return &vars[k];
    return NULL;
}

static bool drops_bits(const struct ptx_insn *in)
{
    static const char *const opcodes[] = {"and", "shr"};
    return ONE_OF(in->opcode, opcodes) && in->operands[in->operand_count - 1].kind == PTX_OP_IMM;
}

/* Is a register the same for many threads of a block, being made of parameters, the block's place, and no more than
 * some bits of the thread's, or is it what such bits are taken of? */
static bool is_of_block(const struct eager *e, int reg, bool some_bits, unsigned depth)
{
    const size_t maker = e->makers[reg];
    if (maker >= SEVERAL || depth == FEW) return false;
    const struct ptx_insn *in = &e->f->insns[maker];
    if (ptx_is(in, "ld")) return in->guard < 0 && ptx_has_mod_like(in, "param") && in->operands[1].reg < 0;
    bool ok = ptx_computes(in);
    for (size_t k = 1; ok && k < in->operand_count; k++) {
        const struct ptx_operand *o = &in->operands[k];
        if (o->kind == PTX_OP_REG) ok = is_of_block(e, o->reg, some_bits || drops_bits(in), depth + 1);
        if (o->kind == PTX_OP_VECTOR) ok = false;
        if (o->kind == PTX_OP_SPECIAL && !strncmp(o->symbol, "tid.", 4)) ok = some_bits;
    }
    return ok;
}

static bool may_be_of_block(const struct ptx_insn *in)
{
    return in->in_asm && ptx_is_plain_load(in) && in->operands[1].reg >= 0;
}

bool ptx_may_be_early(const struct eager *e, const struct ptx_insn *in)
{
    const struct ptx_module *m = e->p->module;
    const struct ptx_func *f = e->f;
    if (!ptx_is_plain_load(in)) return false;
    const struct ptx_operand *at = &in->operands[1];
    if (may_be_of_block(in)) return is_of_block(e, at->reg, false, 0);
    if (at->reg >= 0 || !at->symbol || at->imm < 0) return false;
    const struct ptx_var *v = find_variable(f->vars, f->var_count, at->symbol);
    if (!v) v = find_variable(m->vars, m->var_count, at->symbol);
    uint64_t bytes = ptx_type_size(ptx_type_find(in->mods[in->mod_count - 1]));
    if (in->operands[0].kind == PTX_OP_VECTOR) bytes *= in->operands[0].item_count;
    return v && !v->is_extern && (uint64_t)at->imm + bytes <= v->size && at->imm % (int64_t)bytes == 0;
}

/* ---- predicates before the load ---- */
/* Behind the last instruction that may change places with the load, and with those between. */
static size_t end_of_reach(const struct eager *e)
{
    const struct ptx_func *f = e->f;
    size_t k = e->load + 1;
    while (k < f->insn_count && k - e->load < FARTHEST && !ptx_has_label(f, k) &&
           (ptx_computes(&f->insns[k]) || ptx_is_plain_load(&f->insns[k])))
        k++;
    return k;
}

/* Does one write what another one, which computes or loads, reads? */
static bool feeds(const struct ptx_insn *maker, const struct ptx_operand *o, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        bool is_register = (o[k].kind == PTX_OP_REG || o[k].kind == PTX_OP_ADDRESS) && o[k].reg >= 0;
        if ((is_register && ptx_writes(maker, o[k].reg)) || feeds(maker, o[k].items, o[k].item_count)) return true;
    }
    return false;
}

/* Does one read or write what another one writes? */
static bool meets_result(const struct ptx_insn *in, const struct ptx_operand *o)
{
    for (size_t k = 0; o->kind == PTX_OP_VECTOR && k < o->item_count; k++)
        if (meets_result(in, &o->items[k])) return true;
    return o->kind == PTX_OP_REG && (ptx_reads(in, o->reg) || ptx_writes(in, o->reg));
}

/* Moves an instruction before the load, which is then one farther on, and before it those that it needs. False: it
 * can't be, or not all. */
static bool raise(struct eager *e, size_t k)
{
    struct ptx_insn *insns = e->f->insns;
    for (size_t n = k; n-- > e->load;) {
        if (meets_result(&insns[n], &insns[k].operands[0])) return false;
        if (!feeds(&insns[n], insns[k].operands + 1, insns[k].operand_count - 1)) continue;
        if (n == e->load || !raise(e, n)) return false;
        n++;
    }
    struct ptx_insn raised = insns[k];
    memmove(&insns[e->load + 1], &insns[e->load], (k - e->load) * sizeof *insns);
    insns[e->load++] = raised;
    return true;
}

/* Raises what makes a predicate; false: nothing was moved. */
static bool raise_some(struct eager *e)
{
    const size_t load = e->load, end = end_of_reach(e);
    for (size_t k = 0; k < e->wanted.count; k++)
        for (size_t n = 0; n < e->wanted.any[k].count; n++) {
            size_t maker = e->makers[e->wanted.any[k].all[n].reg];
            if (maker <= load || maker >= end) continue;
            raise(e, maker);
            if (e->load == load) continue;
            ptx_enter_all(e);
            return true;
        }
    return false;
}

int ptx_insert(struct eager *e, size_t at, struct ptx_insn in, enum ptx_type type)
{
    static char name[] = "wanted";
    struct ptx_func *f = e->f;
    if (e->added == MOST_ADDED) return -1;
    if (!e->added) { /* room for all */
        struct ptx_insn *insns = ptx_new(e->p, f->insn_count + MOST_ADDED + 1, sizeof *insns);
        struct ptx_reg *regs = ptx_new(e->p, f->reg_count + MOST_ADDED, sizeof *regs);
        if (!insns || !regs) {
            e->no_memory = true;
            return -1;
        }
        memcpy(insns, f->insns, f->insn_count * sizeof *insns);
        memcpy(regs, f->regs, f->reg_count * sizeof *regs);
        f->insns = insns;
        f->regs = regs;
    }
    e->added++;
    f->regs[f->reg_count] = (struct ptx_reg){name, type};
    in.operands[0] = (struct ptx_operand){.kind = PTX_OP_REG, .reg = (int)f->reg_count};
    in.is_added = true;
    memmove(&f->insns[at + 1], &f->insns[at], (f->insn_count++ - at) * sizeof *f->insns);
    f->insns[at] = in;
    e->load += at <= e->load;
    for (size_t k = 0; k < f->insn_count; k++)
        if (ptx_is(&f->insns[k], "bra") && ptx_target_of(&f->insns[k]) > at) f->insns[k].operands[0].imm++;
    for (size_t k = 0; k < f->label_count; k++) f->labels[k].insn += f->labels[k].insn > at;
    f->reg_count++;
    ptx_enter_all(e);
    return (int)f->reg_count - 1;
}

/* Does a register hold at the load what it holds at its use? */
static bool is_steady(struct eager *e, int reg, size_t use)
{
    for (size_t k = 0; k < e->f->insn_count; k++)
        if (ptx_writes(&e->f->insns[k], reg) && ptx_leads(e, e->load, k, -1) && ptx_leads(e, k, use, -1)) return false;
    return true;
}

/* The instruction that sets a register, where there are several the one by which threads come from the load to the use
 * on all ways; NOWHERE: none, or SEVERAL. */
static size_t maker_of(struct eager *e, int reg, size_t use)
{
    size_t maker = e->makers[reg];
    if (maker != SEVERAL || ptx_leads(e, e->load, use, reg)) return maker;
    maker = NOWHERE;
    for (size_t k = 0; k < e->f->insn_count; k++) {
        if (!ptx_writes(&e->f->insns[k], reg) || !ptx_leads(e, e->load, k, -1) || !ptx_leads(e, k, use, reg)) continue;
        if (maker != NOWHERE) return SEVERAL;
        maker = k;
    }
    return maker;
}

/* What a register holds at its use, so far behind the load, in one that holds it at the load; -1: it is not known
 * there. */
static int before_load(struct eager *e, int reg, size_t apart, unsigned depth)
{
    const size_t use = e->load + apart;
    if (is_steady(e, reg, use)) return reg;
    const size_t maker = maker_of(e, reg, use), made = maker - e->load;
    if (maker >= SEVERAL || maker <= e->load || depth == DEEPEST || ptx_leads(e, e->load, use, reg)) return -1;
    struct ptx_insn in = e->f->insns[maker];
    if (!ptx_computes(&in) && !(ptx_is_plain_load(&in) && ptx_loads_same(e, maker))) return -1;
    if (in.operands[0].kind != PTX_OP_REG) return -1;
    for (size_t k = 0; k < e->copy_count; k++)
        if (e->copies[k].made == made && e->copies[k].reg == reg) return e->copies[k].copy;
    struct ptx_operand *o = ptx_new(e->p, in.operand_count, sizeof *o);
    if (!o) {
        e->no_memory = true;
        return -1;
    }
    memcpy(o, in.operands, in.operand_count * sizeof *o);
    in.operands = o;
    for (size_t k = 1; k < in.operand_count; k++) {
        if (o[k].item_count) return -1;
        bool is_register = (o[k].kind == PTX_OP_REG || o[k].kind == PTX_OP_ADDRESS) && o[k].reg >= 0;
        if (is_register && (o[k].reg = before_load(e, o[k].reg, made, depth + 1)) < 0) return -1;
    }
    in.is_eager = !ptx_computes(&in); /* whose value counts is looked at where it stands */
    int copy = ptx_insert(e, e->load, in, e->f->regs[reg].type);
    if (copy >= 0 && e->copy_count < MOST_COPIES) {
        e->copies[e->copy_count].reg = reg;
        e->copies[e->copy_count].made = made;
        e->copies[e->copy_count++].copy = copy;
    }
    return copy;
}

/* ---- new instructions ---- */
/* Makes of an instruction another one at its line, whose operands are to be filled in. */
static bool make(struct eager *e, struct ptx_insn *in, char *opcode, char *first, char *second, size_t operands)
{
    in->operands = ptx_new(e->p, operands, sizeof *in->operands);
    in->mods = ptx_new(e->p, 2, sizeof *in->mods);
    if (!in->operands || !in->mods) {
        e->no_memory = true;
        return false;
    }
    in->opcode = opcode;
    in->mods[0] = first;
    in->mods[1] = second;
    in->mod_count = second ? 2 : 1;
    in->operand_count = operands;
    return true;
}

/* One predicate of two, before the load. */
static bool join(struct eager *e, struct literal *a, const struct literal *b, char *opcode)
{
    static char pred[] = "pred";
    struct ptx_insn in = e->f->insns[e->load];
    if (!make(e, &in, opcode, pred, NULL, 3)) return false;
    in.operands[1] = (struct ptx_operand){.kind = PTX_OP_REG, .reg = a->reg, .negate = a->negate};
    in.operands[2] = (struct ptx_operand){.kind = PTX_OP_REG, .reg = b->reg, .negate = b->negate};
    *a = (struct literal){.reg = ptx_insert(e, e->load, in, PTX_PRED)};
    return a->reg >= 0;
}

/* ---- choices by a sign ---- */
/* Is it x >> 31 of a signed x, all ones or nothing? */
static bool is_sign(const struct eager *e, const struct ptx_operand *o)
{
    if (o->kind != PTX_OP_REG || e->makers[o->reg] >= SEVERAL) return false;
    const struct ptx_insn *in = &e->f->insns[e->makers[o->reg]];
    return ptx_is(in, "shr") && in->guard < 0 && !strcmp(in->mods[0], "s32") && in->operands[2].kind == PTX_OP_IMM &&
           in->operands[2].imm == 31;
}

/* x < 0 ? v : 0, which LLVM writes as x >> 31 & v, chooses by a predicate as others do. */
static void choose_by_sign(struct eager *e, size_t k)
{
    static char setp[] = "setp", selp[] = "selp", lt[] = "lt", s32[] = "s32", b32[] = "b32";
    struct ptx_insn in = e->f->insns[k], sign = in;
    if (!ptx_is(&in, "and") || !ptx_computes(&in) || strcmp(in.mods[0], b32) != 0) return;
    const struct ptx_operand *o = in.operands, *by = is_sign(e, &o[1]) ? &o[1] : &o[2],
                             *v = by == &o[1] ? &o[2] : &o[1];
    if (!is_sign(e, by) || v->kind != PTX_OP_REG || !ptx_comes_of_early(e, v->reg)) return;
    if (!make(e, &sign, setp, lt, s32, 3) || !make(e, &in, selp, b32, NULL, 4)) return;
    sign.operands[1] = *by;
    sign.operands[2] = (struct ptx_operand){.kind = PTX_OP_IMM};
    in.operands[0] = o[0];
    in.operands[1] = *v;
    in.operands[2] = (struct ptx_operand){.kind = PTX_OP_IMM};
    in.operands[3] = (struct ptx_operand){.kind = PTX_OP_REG, .reg = ptx_insert(e, k, sign, PTX_PRED)};
    if (in.operands[3].reg < 0) return;
    e->f->insns[k + 1] = in;
    ptx_enter_all(e);
}

/* ---- the guard ---- */
/* Adds a literal to a way by predicates that are known at the load. Of one that is not, those that must hold, too. */
static void resolve_literal(struct eager *e, struct way *known, const struct literal *l, unsigned depth)
{
    const int reg = before_load(e, l->reg, l->apart, 0);
    const size_t maker = maker_of(e, l->reg, e->load + l->apart);
    if (reg >= 0) {
        if (known->count < MOST_LITERALS)
            known->all[known->count++] = (struct literal){.reg = reg, .negate = l->negate};
        return;
    }
    e->dropped = true;
    if (maker >= SEVERAL || depth == DEEPEST || !ptx_computes(&e->f->insns[maker])) return;
    const struct ptx_insn in = e->f->insns[maker];
    if (maker < e->load || in.operand_count != 3 || !ptx_is(&in, l->negate ? "or" : "and")) return;
    for (size_t k = 1; k < 3; k++) {
        const struct ptx_operand *o = &in.operands[k];
        struct literal part = {.reg = o->reg, .negate = o->negate ^ l->negate, .apart = maker - e->load};
        if (o->kind == PTX_OP_REG) resolve_literal(e, known, &part, depth + 1);
    }
}

/* The ways by predicates that are known at the load; false: on one of them none is. */
static bool resolve(struct eager *e)
{
    const struct ways all = e->wanted;
    e->wanted = (struct ways){.count = 0};
    e->copy_count = 0;
    e->dropped = false;
    for (size_t k = 0; k < all.count && !e->wanted.always; k++) {
        struct way known = {.count = 0};
        for (size_t n = 0; n < all.any[k].count; n++) resolve_literal(e, &known, &all.any[k].all[n], 0);
        ptx_want(&e->wanted, known);
    }
    return !e->wanted.always;
}

static bool guard(struct eager *e)
{
    static char and[] = "and", or [] = "or";
    struct literal any = {.reg = -1};
    for (size_t k = 0; k < e->wanted.count; k++) {
        struct literal all = e->wanted.any[k].all[0];
        for (size_t n = 1; n < e->wanted.any[k].count; n++)
            if (!join(e, &all, &e->wanted.any[k].all[n], and)) return false;
        if (!k)
            any = all;
        else if (!join(e, &any, &all, or))
            return false;
    }
    struct ptx_insn *in = &e->f->insns[e->load];
    in->guard = any.reg;
    in->guard_negate = any.negate;
    in->is_eager = true;
    return true;
}

static bool guard_in(struct ptx_parser *p, struct ptx_func *f)
{
    if (!ptx_can_walk(f, MOST)) return true;
    struct eager *e = ptx_new(p, 1, sizeof *e);
    if (!e) return false;
    e->p = p;
    e->f = f;
    for (size_t k = 0; k < f->insn_count && e->walk.steps < STEPS; k++) {
        const bool of_block = may_be_of_block(&f->insns[k]);
        if (f->insns[k].is_added || (!of_block && !ptx_may_be_early(e, &f->insns[k]))) continue;
        e->load = k;
        if (!e->makers) {
            if (!ptx_make_room(e)) return false;
            ptx_enter_all(e);
            for (size_t n = 0; n < f->insn_count && !e->no_memory; n++) choose_by_sign(e, n);
        }
        if (of_block && !ptx_may_be_early(e, &f->insns[k])) continue;
        bool found = ptx_find_ways(e);
        while (found && raise_some(e)) found = ptx_find_ways(e);
        bool known = found && resolve(e);
        if ((!known || e->dropped) && ptx_look_later(e)) known = false;
        if (known && guard(e)) ptx_enter_all(e);
        if (e->no_memory) return false;
        k = e->load;
    }
    return true;
}

bool ptx_guard_eager(struct ptx_module *m, struct rt_error *e)
{
    return ptx_each_body(m, e, false, guard_in);
}
