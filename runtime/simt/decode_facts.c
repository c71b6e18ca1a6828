/* What is known where an instruction stands: that a register is below a number of the launch, or no more than that,
 * since a branch that leads there compared them, as in `if (i < n)`, `if (i == 0)` and in the condition of a loop. A
 * fact goes with the register's value, and is over when the register is written. */
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/decode.h"

#define MOST      64         /* facts of a function, bits of a set */
#define MOST_FROM (MOST / 2) /* before those that only say from which number on */
#define DEEPEST   8          /* conditions of several terms */

struct facts {
    struct decoder *d;
    const struct ptx_func *f;
    uint64_t *in;  /* those that hold before an instruction */
    int reg[MOST]; /* whom a fact is about */
    uint32_t count;
};

/* Is the register at `to` what it was at `from`, a few instructions before? */
static bool is_same(const struct facts *t, int reg, size_t from, size_t to)
{
    if (simt_defined_once(t->d, reg)) return true;
    for (size_t k = from; k < to; k++) {
        const struct ptx_insn *in = &t->f->insns[k];
        if (ptx_is(in, "bra") || ptx_is(in, "brx") || (k > from && ptx_has_label(t->f, k))) return false;
        if (simt_writes(in, reg)) return false;
    }
    return from <= to && !ptx_has_label(t->f, to);
}

/* Are terms one, or the same number? Each number that stands somewhere is a term of its own. */
static bool are_equal(const struct simt_program *p, int a, int b)
{
    const struct term *x = &p->terms[a], *y = &p->terms[b];
    return a == b || (x->kind == TERM_CONST && y->kind == TERM_CONST && x->wide == y->wide && x->value == y->value);
}

/* The set that has the fact, which is made; {} when there is none. */
static uint64_t add(struct facts *t, const struct ptx_operand *about, struct fact new)
{
    struct simt_program *p = t->d->program;
    if (about->kind != PTX_OP_REG || about->negate) return 0;
    if (new.term < 0 || new.bound < 0) return 0;
    for (uint32_t k = 0; k < t->count; k++) {
        const struct fact *old = &p->facts[t->d->fn->fact_first + k];
        if (t->reg[k] == about->reg && are_equal(p, old->term, new.term) && are_equal(p, old->bound, new.bound) &&
            old->inclusive == new.inclusive && old->without_sign == new.without_sign && old->equal == new.equal)
            return UINT64_C(1) << k;
    }
    struct fact *facts =
        t->count < MOST ? rt_realloc(p->facts, (p->fact_count + 1) * sizeof *facts) : NULL; /* nothing depends on it */
    if (!facts) return 0;
    p->facts = facts;
    p->facts[p->fact_count++] = new;
    t->reg[t->count] = about->reg;
    return UINT64_C(1) << t->count++;
}

/* One that is the lowest bit of something, and is not 0, or not 1, is the other. */
static uint64_t not_equal(struct facts *t, const struct ptx_operand *bit, const struct ptx_operand *number, bool wide)
{
    int term = simt_term_of(t->d, bit, wide), other = simt_term_of(t->d, number, wide);
    const struct term *terms = t->d->program->terms;
    if (term < 0 || other < 0 || terms[term].kind != TERM_AND || terms[other].kind != TERM_CONST) return 0;
    const struct term *mask = &terms[terms[term].b];
    int64_t value = terms[other].value;
    if (mask->kind != TERM_CONST || mask->value != 1 || (value != 0 && value != 1)) return 0;
    return add(t, bit, (struct fact){term, simt_number(t->d, !value, wide), .inclusive = true, .equal = true});
}

/* A number made by `or` that is 0 has parts that are, as in `if (threadIdx.y == 0 && blockIdx.y == 0)`. */
static uint64_t parts_are_zero(struct facts *t, int reg, bool wide, size_t at, int depth)
{
    uint64_t all = 0;
    if (depth > DEEPEST || !simt_defined_once(t->d, reg)) return 0;
    size_t made = t->d->defined_by[reg];
    const struct ptx_insn *in = &t->f->insns[made];
    if (!ptx_is(in, "or") || in->guard >= 0) return 0;
    for (size_t k = 1; k < in->operand_count; k++) {
        const struct ptx_operand *o = &in->operands[k];
        if (o->kind != PTX_OP_REG || !is_same(t, o->reg, made, at)) continue;
        all |= add(
            t, o,
            (struct fact){simt_term_of(t->d, o, wide), simt_number(t->d, 0, wide), .inclusive = true, .equal = true});
        all |= parts_are_zero(t, o->reg, wide, at, depth + 1);
    }
    return all;
}

/* What a comparison says that came out as `value`, at the branch `at`. */
static uint64_t compared(struct facts *t, const struct ptx_insn *in, bool value, size_t at)
{
    if (in->mod_count != 2 || in->operand_count != 3 || in->operands[0].kind != PTX_OP_REG) return 0;
    const char *how = in->mods[0], *type = in->mods[1];
    bool wide = !strcmp(type + 1, "64"), less = !strncmp(how, "l", 1), equal = !strcmp(how + 1, "e");
    bool same = !strcmp(how, value ? "eq" : "ne");
    if ((*type != 's' && *type != 'u' && *type != 'b') || (!wide && strcmp(type + 1, "32") != 0)) return 0;
    bool differs = !strcmp(how, value ? "ne" : "eq"),
         holds = is_same(t, in->operands[1].reg, (size_t)(in - t->f->insns), at);
    if (differs && in->operands[1].kind == PTX_OP_REG && holds)
        return not_equal(t, &in->operands[1], &in->operands[2], wide);
    if (!same && strcmp(how, "lt") != 0 && strcmp(how, "le") != 0 && strcmp(how, "gt") != 0 && strcmp(how, "ge") != 0)
        return 0;
    if (!value) less = !less, equal = !equal;
    if (same) less = equal = true;
    const struct ptx_operand *small = &in->operands[less ? 1 : 2], *large = &in->operands[less ? 2 : 1];
    const struct ptx_operand *about = small->kind == PTX_OP_IMM ? large : small; /* as in i > 0 */
    if (about->kind != PTX_OP_REG || !is_same(t, about->reg, (size_t)(in - t->f->insns), at)) return 0;
    if (about == large && t->count >= MOST_FROM) return 0;
    struct fact new = {simt_term_of(t->d, small, wide), simt_term_of(t->d, large, wide), equal, *type == 'u' && !same,
                       same};
    bool zero = same && large->kind == PTX_OP_IMM && !large->imm;
    return add(t, about, new) | (zero ? parts_are_zero(t, small->reg, wide, at, 0) : 0);
}

/* What follows from the predicate's value at the branch `at`. */
static uint64_t follows(struct facts *t, int reg, bool value, size_t at, int depth)
{
    uint64_t all = 0;
    if (depth > DEEPEST || !simt_defined_once(t->d, reg)) return 0;
    const struct ptx_insn *in = &t->f->insns[t->d->defined_by[reg]];
    if (in->guard >= 0) return 0;
    if (ptx_is(in, "setp")) return compared(t, in, value, at);
    bool both = (ptx_is(in, "or") && !value) || (ptx_is(in, "and") && value) || ptx_is(in, "not");
    for (size_t k = 1; both && k < in->operand_count; k++) {
        const struct ptx_operand *o = &in->operands[k];
        if (o->kind == PTX_OP_REG) all |= follows(t, o->reg, (value ^ ptx_is(in, "not")) != o->negate, at, depth + 1);
    }
    return all;
}

static bool meet(uint64_t *set, uint64_t with)
{
    uint64_t was = *set;
    *set &= with;
    return *set != was;
}

/* Sends on what holds behind an instruction; true when that changed anything. */
static bool flow(struct facts *t, size_t k)
{
    const struct ptx_insn *in = &t->f->insns[k];
    uint64_t out = t->in[k], taken = out, on = out;
    bool changed = false, jumps = ptx_is(in, "bra"), leaves = ptx_leaves(in);
    for (uint32_t n = 0; n < t->count && !jumps; n++)
        if (simt_writes(in, t->reg[n])) on &= ~(UINT64_C(1) << n);
    if (leaves && in->guard >= 0) {
        taken |= follows(t, in->guard, !in->guard_negate, k, 0);
        on |= follows(t, in->guard, in->guard_negate, k, 0);
    }
    if (jumps) changed |= meet(&t->in[in->operands[0].imm], taken);
    if (!leaves || in->guard >= 0) changed |= meet(&t->in[k + 1], on);
    return changed;
}

static bool can_follow(const struct ptx_func *f)
{
    for (size_t k = 0; k < f->insn_count; k++) {
        const struct ptx_insn *in = &f->insns[k];
        if (ptx_is(in, "brx") || (ptx_is(in, "bra") && (!in->operand_count || in->operands[0].kind != PTX_OP_LABEL)))
            return false;
    }
    return true;
}

bool simt_find_facts(struct decoder *d)
{
    size_t count = d->f->insn_count;
    struct facts t = {.d = d, .f = d->f};
    d->fn->fact_first = d->program->fact_count;
    d->facts = NULL;
    if (!d->f->is_entry || !can_follow(d->f)) return true;
    t.in = d->facts = rt_alloc((count + 1) * sizeof *d->facts);
    if (!t.in) return simt_decode_fail(d, RT_NOMEM, "out of host memory");
    for (size_t k = 0; k < count; k++) simt_term_of_address(d, &d->f->insns[k]); /* those of loops are made */
    for (size_t k = 0; k <= count; k++) t.in[k] = k ? UINT64_MAX : 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t k = 0; k < count; k++) changed |= flow(&t, k);
    }
    uint64_t known = t.count < MOST ? (UINT64_C(1) << t.count) - 1 : UINT64_MAX;
    for (size_t k = 0; k < count; k++) {
        const struct ptx_insn *in = &d->f->insns[k];
        bool memory = ptx_is(in, "ld") || ptx_is(in, "st");
        if (memory && in->guard >= 0) t.in[k] |= follows(&t, in->guard, !in->guard_negate, k, 0);
        t.in[k] &= known;
    }
    simt_bound_loops(d);
    return true;
}
