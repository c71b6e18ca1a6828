/* Loads of shared memory that the compiler made before it was known whether they are wanted. From a place that the code
 * names, as s[5], it loads in all threads what only some of them look at, be it never written:
 *
 * if (n > 5) sum += s[5]; becomes ld.shared %f1, [s+20]; add %f2, %f3, %f1; selp %f4, %f2, %f3, %p1;
 *
 * The program is right all the same. So the checks pass over such a load, and look where its value is used at one that
 * stands for it: the same, into a register that nobody reads, by the predicate that chooses.
 *
 * Done for launches alone, as calls are inlined. */
#include <stdlib.h>
#include <string.h>
#include "runtime/simt/ptx_read.h"

#define MOST        8000 /* instructions of a function */
#define MOST_LOADS  64   /* of a function that are looked at */
#define MOST_VALUES 64   /* registers that hold what is made of one load */
#define MOST_USES   8    /* of a load */

struct use {
    size_t at, load; /* instructions */
    int guard;       /* of what stands for the load; -1: none */
    bool negate;
    int reg; /* that it loads into */
};

struct search {
    struct ptx_parser *p;
    struct ptx_func *f;
    size_t load;
    int values[MOST_VALUES];
    size_t value_count;
    struct use uses[MOST_LOADS * MOST_USES];
    size_t use_count, first_use; /* of all loads; the first of the one at hand */
    size_t load_count;
    bool unused; /* on some way nobody looks at it */
    bool *seen;  /* by instruction */
    size_t *stack, depth;
};

/* ---- registers ---- */
static bool holds(const struct search *s, int reg)
{
    for (size_t k = 0; k < s->value_count; k++)
        if (s->values[k] == reg) return true;
    return false;
}

static bool reads(const struct search *s, const struct ptx_operand *o)
{
    if ((o->kind == PTX_OP_REG || o->kind == PTX_OP_ADDRESS) && holds(s, o->reg)) return true;
    for (size_t k = 0; k < o->item_count; k++)
        if (reads(s, &o->items[k])) return true;
    return false;
}

static bool uses(const struct search *s, const struct ptx_insn *in)
{
    if (in->guard >= 0 && holds(s, in->guard)) return true;
    for (size_t k = 0; k < in->operand_count; k++)
        if (reads(s, &in->operands[k]) && !(k == 0 && s->f->insns + s->load == in)) return true;
    return false;
}

static bool names(const struct ptx_operand *o, int reg)
{
    if (o->kind == PTX_OP_REG && o->reg == reg) return true;
    for (size_t k = 0; k < o->item_count; k++)
        if (names(&o->items[k], reg)) return true;
    return false;
}

/* Is the first operand of one instruction alone the register? */
static bool is_set_once(const struct ptx_func *f, int reg)
{
    size_t count = 0;
    for (size_t k = 0; k < f->insn_count; k++)
        count += f->insns[k].operand_count && names(&f->insns[k].operands[0], reg);
    return count == 1;
}

/* ---- ways ---- */
/* What the thread has to do with others, or stores where the load may look: no load is made earlier than that. */
static bool separates(const struct ptx_insn *in)
{
    static const char *const opcodes[] = {"bar",      "barrier", "membar", "fence", "atom",     "red",     "call",
                                          "mbarrier", "cp",      "wgmma",  "wmma",  "stmatrix", "multimem"};
    bool elsewhere = ptx_has_mod_like(in, "global") || ptx_has_mod_like(in, "local") || ptx_has_mod_like(in, "param");
    return ONE_OF(in->opcode, opcodes) || (ptx_is(in, "st") && !elsewhere) || ptx_has_mod_like(in, "volatile");
}

static void push(struct search *s, size_t at)
{
    if (at < s->f->insn_count && !s->seen[at]) {
        s->seen[at] = true;
        s->stack[s->depth++] = at;
    }
    s->unused |= at >= s->f->insn_count;
}

static void push_next(struct search *s, size_t at)
{
    const struct ptx_insn *in = &s->f->insns[at];
    bool leaves = ptx_is(in, "ret") || ptx_is(in, "exit") || ptx_is(in, "trap");
    if (ptx_is(in, "bra")) push(s, (size_t)in->operands[0].imm);
    s->unused |= leaves;
    if (in->guard >= 0 || (!leaves && !ptx_is(in, "bra"))) push(s, at + 1);
}

/* ---- uses ---- */
static bool add_use(struct search *s, size_t at, int guard, bool negate)
{
    if (s->use_count - s->first_use == MOST_USES) return false;
    s->uses[s->use_count++] = (struct use){.at = at, .load = s->load, .guard = guard, .negate = negate};
    return true;
}

/* Does the instruction take a value only where a predicate says so? Then that is its guard. */
static bool chooses(const struct search *s, const struct ptx_insn *in, int *guard, bool *negate)
{
    if (!ptx_is(in, "selp") || in->guard >= 0 || in->operand_count != 4) return false;
    const struct ptx_operand *o = in->operands, *when = &o[3];
    bool first = reads(s, &o[1]), second = reads(s, &o[2]);
    if (when->kind != PTX_OP_REG || reads(s, when) || first == second) return false;
    *guard = when->reg;
    *negate = when->negate != second;
    return true;
}

/* Of truths: one that is made of a value matters only where the other one does not decide. */
static bool decides(const struct search *s, const struct ptx_insn *in, int *guard, bool *negate)
{
    bool both = ptx_is(in, "and"), truths = in->mod_count == 1 && !strcmp(in->mods[0], "pred");
    if (!(both || ptx_is(in, "or")) || !truths || in->guard >= 0 || in->operand_count != 3) return false;
    const struct ptx_operand *a = &in->operands[1], *b = &in->operands[2];
    if (reads(s, a) == reads(s, b)) return false;
    const struct ptx_operand *other = reads(s, a) ? b : a;
    if (other->kind != PTX_OP_REG) return false;
    *guard = other->reg;
    *negate = other->negate != !both;
    return true;
}

/* Does it only make another value, in a register of its own? */
static bool makes_more(const struct search *s, const struct ptx_insn *in)
{
    static const char *const opcodes[] = {"add", "sub", "mul", "mad",  "fma", "neg", "abs", "min", "max",
                                          "cvt", "and", "or",  "setp", "shl", "shr", "div", "mov", "sqrt"};
    bool result = in->operand_count && in->operands[0].kind == PTX_OP_REG && in->guard < 0;
    return result && ONE_OF(in->opcode, opcodes) && is_set_once(s->f, in->operands[0].reg);
}

/* What is made of the load without being looked at; twice, since a block may stand before the one it comes behind. */
static void follow(struct search *s)
{
    const struct ptx_func *f = s->f;
    int guard;
    bool negate;
    for (size_t k = 0; k < 2 * f->insn_count && s->value_count < MOST_VALUES; k++) {
        const struct ptx_insn *in = &f->insns[k % f->insn_count];
        if (!uses(s, in) || chooses(s, in, &guard, &negate) || decides(s, in, &guard, &negate)) continue;
        if (makes_more(s, in) && !holds(s, in->operands[0].reg)) s->values[s->value_count++] = in->operands[0].reg;
    }
}

/* Along all ways from the load to where it is used. */
static bool find_uses(struct search *s)
{
    memset(s->seen, 0, s->f->insn_count);
    s->depth = 0;
    s->unused = false;
    push(s, s->load + 1);
    while (s->depth) {
        size_t at = s->stack[--s->depth];
        const struct ptx_insn *in = &s->f->insns[at];
        int guard = holds(s, in->guard) ? -1 : in->guard;
        bool negate = in->guard_negate, chosen = false;
        s->unused |= at == s->load;
        if (at == s->load) continue;
        if (uses(s, in)) {
            bool made = in->operand_count && in->operands[0].kind == PTX_OP_REG && holds(s, in->operands[0].reg) &&
                        makes_more(s, in);
            chosen = !made && (chooses(s, in, &guard, &negate) || decides(s, in, &guard, &negate));
            if (!made && !add_use(s, at, guard, negate)) return false;
            if (!made && !chosen && guard < 0) continue;
        }
        push_next(s, at);
    }
    return s->unused && s->use_count > s->first_use;
}

/* Does the thread come from nothing that separates to a use, but through the load? */
static bool is_reached_by_it_alone(struct search *s)
{
    memset(s->seen, 0, s->f->insn_count);
    s->depth = 0;
    s->seen[s->load] = true;
    for (size_t k = 0; k < s->f->insn_count; k++)
        if (separates(&s->f->insns[k])) push_next(s, k);
    while (s->depth) push_next(s, s->stack[--s->depth]);
    for (size_t k = s->first_use; k < s->use_count; k++)
        if (s->seen[s->uses[k].at]) return false;
    return true;
}

static bool is_named_load(const struct ptx_func *f, const struct ptx_insn *in)
{
    static const char *const strong[] = {"volatile", "relaxed", "acquire", "mmio", "v2", "v4"};
    if (!ptx_is(in, "ld") || !ptx_has_mod_like(in, "shared") || in->guard >= 0 || in->operand_count != 2) return false;
    for (size_t k = 0; k < sizeof strong / sizeof *strong; k++)
        if (ptx_has_mod_like(in, strong[k])) return false;
    const struct ptx_operand *to = &in->operands[0], *from = &in->operands[1];
    return to->kind == PTX_OP_REG && from->kind == PTX_OP_ADDRESS && from->reg < 0 && from->symbol &&
           is_set_once(f, to->reg);
}

static void look_at_load(struct search *s, size_t at)
{
    struct ptx_insn *in = &s->f->insns[at];
    s->load = at;
    s->values[0] = in->operands[0].reg;
    s->value_count = 1;
    s->first_use = s->use_count;
    follow(s);
    if (find_uses(s) && is_reached_by_it_alone(s)) {
        in->early = true;
        s->load_count++;
    } else {
        s->use_count = s->first_use;
    }
}

/* ---- the code with what stands for the loads ---- */
static int by_place(const void *a, const void *b)
{
    const struct use *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at ? 1 : x->load < y->load ? -1 : x->load > y->load;
}

static bool add_registers(struct search *s)
{
    static char name[] = "unread";
    struct ptx_func *f = s->f;
    struct ptx_reg *regs = ptx_new(s->p, f->reg_count + s->use_count, sizeof *regs);
    if (!regs) return false;
    memcpy(regs, f->regs, f->reg_count * sizeof *regs);
    for (size_t k = 0; k < s->use_count; k++) {
        struct use *u = &s->uses[k];
        u->reg = (int)(f->reg_count + k);
        regs[u->reg] = (struct ptx_reg){name, f->regs[f->insns[u->load].operands[0].reg].type};
    }
    f->regs = regs;
    f->reg_count += s->use_count;
    return true;
}

static bool write_use(struct search *s, const struct use *u, struct ptx_insn *to)
{
    *to = s->f->insns[u->load];
    to->early = false;
    to->guard = u->guard;
    to->guard_negate = u->negate;
    struct ptx_operand *o = ptx_new(s->p, 2, sizeof *o);
    if (!o) return false;
    o[0] = (struct ptx_operand){.kind = PTX_OP_REG, .reg = u->reg};
    o[1] = to->operands[1];
    to->operands = o;
    return true;
}

static bool write_function(struct search *s)
{
    struct ptx_func *f = s->f;
    struct ptx_insn *insns = ptx_new(s->p, f->insn_count + s->use_count + 1, sizeof *insns);
    size_t *places = ptx_new(s->p, f->insn_count + 1, sizeof *places), count = 0, next = 0;
    if (!insns || !places || !add_registers(s)) return false;
    for (size_t k = 0; k < f->insn_count; k++) {
        places[k] = count;
        for (; next < s->use_count && s->uses[next].at == k; next++)
            if (!write_use(s, &s->uses[next], &insns[count++])) return false;
        insns[count++] = f->insns[k];
    }
    places[f->insn_count] = count;
    for (size_t k = 0; k < count; k++)
        for (size_t o = 0; o < insns[k].operand_count; o++)
            if (insns[k].operands[o].kind == PTX_OP_LABEL)
                insns[k].operands[o].imm = (int64_t)places[insns[k].operands[o].imm];
    for (size_t k = 0; k < f->label_count; k++) f->labels[k].insn = places[f->labels[k].insn];
    f->insns = insns;
    f->insn_count = count;
    return true;
}

static bool look_at(struct search *s)
{
    struct ptx_func *f = s->f;
    for (size_t k = 0; k < f->insn_count && s->load_count < MOST_LOADS; k++)
        if (is_named_load(f, &f->insns[k])) look_at_load(s, k);
    if (!s->use_count) return true;
    qsort(s->uses, s->use_count, sizeof *s->uses, by_place);
    return write_function(s);
}

static bool look_in(struct ptx_parser *p, struct ptx_func *f)
{
    if (f->insn_count > MOST || f->branch_table_count) return true;
    struct search *s = ptx_new(p, 1, sizeof *s);
    if (!s) return false;
    *s = (struct search){.p = p, .f = f};
    s->seen = ptx_new(p, f->insn_count + 1, sizeof *s->seen);
    s->stack = ptx_new(p, f->insn_count + 1, sizeof *s->stack);
    return s->seen && s->stack && look_at(s);
}

bool ptx_wanted(struct ptx_module *m, struct rt_error *e)
{
    struct ptx_tree *tree = (struct ptx_tree *)m;
    struct ptx_parser p = {.error = e, .module = m, .chunks = tree->chunks};
    bool ok = true;
    for (size_t k = 0; k < m->func_count && ok; k++) ok = !m->funcs[k].is_entry || look_in(&p, &m->funcs[k]);
    tree->chunks = p.chunks;
    return ok;
}
