/* Addresses as terms: sums and products of constants, parameters, sizes of the launch and the indices of thread and
 * block, as far as the code alone tells how a register is computed. What a launch makes of them is seen when it starts
 * (check_own.c): whether each thread has memory of its own.
 *
 * A register is a term when one instruction computes it, or when one does and all others add the same to it, as in
 * loops: then it is its first value and some multiple of what is added. */
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/decode.h"

#define NOT_SEEN     TERM_NOT_SEEN
#define NO_TERM      (-1)
#define MOST         (1u << 16) /* terms of a program */
#define DEEPEST      200
#define UNROLLED     32         /* sums of sums */
#define MOST_AT_ONCE 6          /* registers with several starts that are made of each other */
#define NOWHERE      UINT32_MAX /* of d->defined_by */
#define SEVERAL      (UINT32_MAX - 1)

/* The bytes of an integer type among the modifiers, the n-th from the end; 0: it is none of 32 or 64 bits. */
static unsigned integer_at(const struct ptx_insn *in, size_t n, bool *is_signed)
{
    const char *mod = in->mod_count > n ? in->mods[in->mod_count - 1 - n] : "";
    *is_signed = *mod == 's';
    if (*mod != 's' && *mod != 'u' && *mod != 'b') return 0;
    return !strcmp(mod + 1, "32") ? 4 : !strcmp(mod + 1, "64") ? 8 : 0;
}

/* ---- making ---- */
static int make(struct decoder *d, enum term_kind kind, bool wide, int a, int b, int64_t value)
{
    struct simt_program *p = d->program;
    bool unary = kind == TERM_EXTEND_S || kind == TERM_EXTEND_U || kind == TERM_NARROW;
    bool binary = kind > TERM_SPECIAL && !unary;
    if ((binary && b < 0) || ((binary || unary) && a < 0) || p->term_count >= MOST) return NO_TERM;
    if ((binary && (p->terms[a].wide != wide || p->terms[b].wide != wide)) || (unary && p->terms[a].wide == wide))
        return NO_TERM; /* half of a register */
    if (p->term_count == d->term_capacity) {
        uint32_t capacity = d->term_capacity ? 2 * d->term_capacity : 64;
        struct term *terms = rt_realloc(p->terms, capacity * sizeof *terms);
        if (!terms) return NO_TERM; /* nothing depends on it */
        p->terms = terms;
        d->term_capacity = capacity;
    }
    p->terms[p->term_count] = (struct term){.kind = kind, .wide = wide, .a = a, .b = b, .value = value};
    return (int)p->term_count++;
}

static int of_register(struct decoder *d, int reg);
static int of_start_at(struct decoder *d, int reg);
static int of_starts(struct decoder *d, int reg, const struct loop_use *use, unsigned which, size_t insn, bool or_loop);

static int of_symbol(struct decoder *d, const char *name)
{
    enum special s;
    if (!simt_find_special(name, &s) || s > SR_NCTAID_Z) return NO_TERM;
    return make(d, TERM_SPECIAL, false, 0, 0, s);
}

static int of_operand(struct decoder *d, const struct ptx_operand *o, bool wide)
{
    if (o->kind == PTX_OP_IMM) return make(d, TERM_CONST, wide, 0, 0, o->imm);
    if (o->kind == PTX_OP_SPECIAL) return wide || o->negate ? NO_TERM : of_symbol(d, o->symbol);
    if (o->kind != PTX_OP_REG || o->negate || o->select) return NO_TERM;
    return of_register(d, o->reg);
}

static int of_parameter(struct decoder *d, const struct ptx_insn *in)
{
    bool is_signed;
    unsigned bytes = integer_at(in, 0, &is_signed);
    const struct ptx_operand *from = &in->operands[1];
    struct symbol s;
    if (!bytes || in->mod_count != 2 || in->operand_count != 2 || in->operands[0].kind != PTX_OP_REG) return NO_TERM;
    if (from->kind != PTX_OP_ADDRESS || !from->symbol || !simt_find_symbol(d, from->symbol, &s) || !s.entry_param)
        return NO_TERM;
    return make(d, TERM_PARAMETER, bytes == 8, 0, 0, (int64_t)s.value + from->imm);
}

static int extended(struct decoder *d, int term, bool is_signed)
{
    return make(d, is_signed ? TERM_EXTEND_S : TERM_EXTEND_U, true, term, 0, 0);
}

static int shifted_right(struct decoder *d, int term, int64_t bits, bool wide, bool is_signed)
{
    return make(d, TERM_SHIFT, wide, term, make(d, TERM_CONST, wide, 0, 0, bits), !is_signed);
}

/* The upper half of a product of two numbers of 32 bits, as where something is divided by a constant. */
static int of_upper_half(struct decoder *d, const struct ptx_insn *in, bool is_signed)
{
    int a = extended(d, of_operand(d, &in->operands[1], false), is_signed),
        b = extended(d, of_operand(d, &in->operands[2], false), is_signed);
    int half = shifted_right(d, make(d, TERM_MUL, true, a, b, 0), 32, true, is_signed);
    return make(d, TERM_NARROW, false, half, 0, 0);
}

/* mul, and mad with what is added; .lo or .wide. */
static int of_product(struct decoder *d, const struct ptx_insn *in, unsigned bytes, bool is_signed)
{
    if (in->mod_count == 2 && simt_has_mod(in, "hi") && bytes == 4 && !strcmp(in->opcode, "mul"))
        return of_upper_half(d, in, is_signed);
    bool widens = simt_has_mod(in, "wide"), wide = bytes == 8 || widens;
    if ((!widens && !simt_has_mod(in, "lo")) || (widens && bytes == 8) || in->mod_count != 2) return NO_TERM;
    int a = of_operand(d, &in->operands[1], bytes == 8), b = of_operand(d, &in->operands[2], bytes == 8);
    if (widens) a = extended(d, a, is_signed), b = extended(d, b, is_signed);
    int product = make(d, TERM_MUL, wide, a, b, 0);
    if (!strcmp(in->opcode, "mul")) return product;
    return make(d, TERM_ADD, wide, product, of_operand(d, &in->operands[3], wide), 0);
}

static int of_conversion(struct decoder *d, const struct ptx_insn *in)
{
    bool to_signed, from_signed;
    unsigned to = integer_at(in, 1, &to_signed), from = integer_at(in, 0, &from_signed);
    if (in->mod_count != 2 || !to || !from) return NO_TERM;
    int term = of_operand(d, &in->operands[1], from == 8);
    if (to == from) return term;
    return to == 8 ? extended(d, term, from_signed) : make(d, TERM_NARROW, false, term, 0, 0);
}

static int of_pair(struct decoder *d, const struct ptx_insn *in, enum term_kind kind, bool wide)
{
    if (in->mod_count != 1) return NO_TERM; /* .sat, .cc */
    return make(d, kind, wide, of_operand(d, &in->operands[1], wide), of_operand(d, &in->operands[2], wide), 0);
}

static int of_remainder(struct decoder *d, const struct ptx_insn *in, bool wide)
{
    if (in->mod_count != 1) return NO_TERM;
    int a = of_operand(d, &in->operands[1], wide), b = of_operand(d, &in->operands[2], wide);
    return make(d, TERM_SUB, wide, a, make(d, TERM_MUL, wide, b, make(d, TERM_DIVIDE, wide, a, b, 0), 0), 0);
}

/* The number of 64 bits whose upper half the term is; NO_TERM: there is none. */
static int halved(const struct decoder *d, int term)
{
    const struct term *terms = d->program->terms, *t = term < 0 ? NULL : &terms[term];
    const struct term *half = t && t->kind == TERM_NARROW ? &terms[t->a] : NULL;
    bool upper = half && half->kind == TERM_SHIFT && terms[half->b].kind == TERM_CONST && terms[half->b].value == 32;
    return upper ? half->a : NO_TERM;
}

/* By a number of bits that stands there; to the right, `value` says that no sign comes down. */
static int of_shift(struct decoder *d, const struct ptx_insn *in, unsigned bytes, bool left, bool is_signed)
{
    bool wide = bytes == 8;
    if (in->operand_count != 3 || in->operands[2].kind != PTX_OP_IMM || in->operands[2].imm < 0) return NO_TERM;
    if (in->operands[2].imm >= (int64_t)(8 * bytes - left)) return NO_TERM;
    int64_t bits = in->operands[2].imm;
    int term = of_operand(d, &in->operands[1], wide), whole = left || wide ? NO_TERM : halved(d, term);
    if (left) return make(d, TERM_MUL, wide, term, simt_number(d, INT64_C(1) << bits, wide), 0);
    if (whole < 0) return shifted_right(d, term, bits, wide, is_signed);
    return make(d, TERM_NARROW, false, shifted_right(d, whole, 32 + bits, true, is_signed), 0, 0);
}

/* All bits of a number from one on, above some of another, as in 2 * i + (j & 1). */
static int of_insertion(struct decoder *d, const struct ptx_insn *in, bool wide)
{
    const struct ptx_operand *from = &in->operands[3], *bits = &in->operands[4];
    bool numbers = in->mod_count == 1 && in->operand_count == 5 && from->kind == PTX_OP_IMM && bits->kind == PTX_OP_IMM;
    if (!numbers || from->imm < 1 || from->imm > 30 || from->imm + bits->imm != (wide ? 64 : 32)) return NO_TERM;
    int above = of_operand(d, &in->operands[1], wide), below = of_operand(d, &in->operands[2], wide);
    above = make(d, TERM_MUL, wide, above, simt_number(d, INT64_C(1) << from->imm, wide), 0);
    below = make(d, TERM_AND, wide, below, simt_number(d, (INT64_C(1) << from->imm) - 1, wide), 0);
    return make(d, TERM_ADD, wide, above, below, 0);
}

static int of_insn_here(struct decoder *d, const struct ptx_insn *in)
{
    bool is_signed;
    unsigned bytes = integer_at(in, 0, &is_signed);
    if (in->guard >= 0 || in->operand_count < 2 || in->operands[0].kind != PTX_OP_REG || in->operands[0].select)
        return NO_TERM;
    if (!strcmp(in->opcode, "ld")) return simt_has_mod(in, "param") ? of_parameter(d, in) : NO_TERM;
    if (!bytes) return NO_TERM;
    if (!strcmp(in->opcode, "mov") || (!strcmp(in->opcode, "cvta") && simt_has_mod(in, "global")))
        return of_operand(d, &in->operands[1], bytes == 8);
    if (!strcmp(in->opcode, "add")) return of_pair(d, in, TERM_ADD, bytes == 8);
    if (!strcmp(in->opcode, "sub")) return of_pair(d, in, TERM_SUB, bytes == 8);
    if (!strcmp(in->opcode, "or")) return of_pair(d, in, TERM_OR, bytes == 8);
    if (!strcmp(in->opcode, "and")) return of_pair(d, in, TERM_AND, bytes == 8);
    if (!strcmp(in->opcode, "xor")) return of_pair(d, in, TERM_XOR, bytes == 8);
    if (!strcmp(in->opcode, "div")) return of_pair(d, in, TERM_DIVIDE, bytes == 8);
    if (!strcmp(in->opcode, "rem")) return of_remainder(d, in, bytes == 8);
    if (!strcmp(in->opcode, "bfi")) return of_insertion(d, in, bytes == 8);
    if (!strcmp(in->opcode, "min") && is_signed) return of_pair(d, in, TERM_MIN, bytes == 8);
    if (!strcmp(in->opcode, "max") && is_signed) return of_pair(d, in, TERM_MAX, bytes == 8);
    if (!strcmp(in->opcode, "mul") || !strcmp(in->opcode, "mad")) return of_product(d, in, bytes, is_signed);
    if (!strcmp(in->opcode, "cvt")) return of_conversion(d, in);
    if (!strcmp(in->opcode, "neg"))
        return make(d, TERM_SUB, bytes == 8, make(d, TERM_CONST, bytes == 8, 0, 0, 0),
                    of_operand(d, &in->operands[1], bytes == 8), 0);
    if (!strcmp(in->opcode, "not")) /* as in n - 1 - i */
        return make(d, TERM_SUB, bytes == 8, make(d, TERM_CONST, bytes == 8, 0, 0, -1),
                    of_operand(d, &in->operands[1], bytes == 8), 0);
    bool left = !strcmp(in->opcode, "shl");
    return left || !strcmp(in->opcode, "shr") ? of_shift(d, in, bytes, left, is_signed) : NO_TERM;
}

static int of_insn(struct decoder *d, const struct ptx_insn *in)
{
    size_t was = d->at;
    if (was != NOT_THERE) d->at = (size_t)(in - d->f->insns);
    int term = of_insn_here(d, in);
    d->at = was;
    return term;
}

/* ---- loops ---- */
/* What made the register before an instruction; NULL: it is not known. Where blocks are not known, the one that makes
 * it anywhere. */
static const struct ptx_insn *made_by(const struct decoder *d, int reg, const struct ptx_insn *before)
{
    if (d->flow) return simt_flow_maker(d, reg, (size_t)(before - d->f->insns));
    return d->defined_by[reg] < SEVERAL ? &d->f->insns[d->defined_by[reg]] : NULL;
}

/* The operand of an instruction that is the register, or a sum of it, which *sum made; NULL: there is none. */
static const struct ptx_operand *summand(const struct decoder *d, const struct ptx_insn *in, int reg, int depth,
                                         const struct ptx_insn **sum)
{
    bool copies = !strcmp(in->opcode, "mov") && in->operand_count == 2,
         adds = !strcmp(in->opcode, "add") && in->operand_count == 3;
    if (in->guard >= 0 || in->mod_count != 1 || in->operands[0].kind != PTX_OP_REG || depth > UNROLLED) return NULL;
    for (size_t k = 1; (copies || adds) && k < in->operand_count; k++) {
        const struct ptx_operand *o = &in->operands[k], *rest;
        if (o->kind != PTX_OP_REG || o->reg < 0 || o->negate || o->select) continue;
        *sum = NULL;
        if (o->reg == reg && adds) return o;
        const struct ptx_insn *made = o->reg == reg ? NULL : made_by(d, o->reg, in), *other;
        bool follows = made && made != in && (d->flow || copies);
        rest = follows ? summand(d, made, reg, depth + 1, &other) : NULL;
        *sum = made;
        if (rest) return o;
    }
    return NULL;
}

bool simt_adds_to(const struct decoder *d, const struct ptx_insn *in, int reg)
{
    const struct ptx_insn *sum;
    return summand(d, in, reg, 0, &sum) != NULL;
}

/* The term of what the instruction adds to the register that it writes; NO_TERM: it does something else. */
static int added_by(struct decoder *d, const struct ptx_insn *in, int reg)
{
    bool is_signed;
    const struct ptx_insn *sum;
    const struct ptx_operand *o = summand(d, in, reg, 0, &sum);
    if (!o) return NO_TERM;
    int before = sum ? added_by(d, sum, reg) : NO_TERM;
    if (!strcmp(in->opcode, "mov")) return before;
    bool wide = integer_at(in, 0, &is_signed) == 8;
    size_t was = d->at;
    if (was != NOT_THERE) d->at = (size_t)(in - d->f->insns);
    int term = of_operand(d, o == &in->operands[1] ? &in->operands[2] : &in->operands[1], wide);
    d->at = was;
    return sum ? make(d, TERM_ADD, wide, before, term, 0) : term;
}

static bool same_term(const struct decoder *d, int a, int b)
{
    const struct term *x = &d->program->terms[a], *y = &d->program->terms[b];
    return a == b || (x->kind == TERM_CONST && y->kind == TERM_CONST && x->value == y->value);
}

static bool writes(const struct ptx_insn *in, int reg)
{
    return in->operand_count && in->operands[0].kind == PTX_OP_REG && in->operands[0].reg == reg;
}

static int of_loop(struct decoder *d, int reg)
{
    int step = NO_TERM, start = NO_TERM;
    const struct ptx_insn *first = NULL;
    for (size_t k = 0; k < d->f->insn_count; k++) {
        const struct ptx_insn *in = &d->f->insns[k];
        if (!writes(in, reg)) continue;
        int added = added_by(d, in, reg);
        if (added < 0) {
            if (first) return NO_TERM;
            first = in;
            continue;
        }
        if (step >= 0 && !same_term(d, step, added)) return NO_TERM;
        step = added;
    }
    if (first) start = of_insn(d, first);
    return start < 0 ? NO_TERM : make(d, TERM_LOOP, d->program->terms[start].wide, start, step, 0);
}

/* Where it starts: behind the loop, also on ways around that. */
static int start_for(struct decoder *d, int reg, const struct loop_use *use)
{
    struct loop_use all;
    unsigned which = simt_loop_starts(d, reg, NOT_THERE, &all);
    if (use->place != LOOP_BEHIND || !(which & (which - 1))) return simt_start_of(d, reg);
    return of_starts(d, reg, &all, which, d->at, true);
}

/* Of a register that a counted loop adds to, where d->at says. */
static int of_use(struct decoder *d, int reg, struct loop_use *use)
{
    struct simt_program *p = d->program;
    bool within = use->place == LOOP_WITHIN;
    int *known = &d->flow_terms[d->f->reg_count + (size_t)reg], start = start_for(d, reg, use), step = NO_TERM;
    if (within && *known >= 0) return *known;
    if (*known == NO_TERM) return NO_TERM; /* it is looked at: the loop adds to it what it adds this to */
    size_t was = d->at;
    int before = *known;
    *known = NO_TERM;
    for (size_t k = 0; start >= 0 && step < 0 && k < d->f->insn_count; k++)
        if (writes(&d->f->insns[k], reg)) step = added_by(d, &d->f->insns[k], reg);
    d->at = NOT_THERE;
    use->plain = of_register(d, reg);
    d->at = was;
    *known = before;
    if (step < 0 || !simt_grow(d, &p->uses, p->use_count, &d->use_capacity, sizeof *p->uses)) return use->plain;
    p->uses[p->use_count] = *use;
    int term = make(d, TERM_PASS, p->terms[start].wide, start, step, p->use_count++);
    return within ? *known = term : term;
}

/* Behind the loop; it may have been set anew since. */
static int of_use_behind(struct decoder *d, int reg, struct loop_use *use)
{
    struct loop_use all;
    unsigned later = simt_loop_starts(d, reg, d->at, &all) & ~simt_loop_starts(d, reg, NOT_THERE, &all);
    int term = of_use(d, reg, use);
    if (!later || term < 0) return term;
    int other = of_starts(d, reg, &all, later, d->at, false);
    return other < 0 ? NO_TERM : make(d, TERM_EITHER, d->program->terms[term].wide, term, other, 0);
}

/* One that no loop adds to and several instructions set, as where ways meet: what those make it that lead here. */
static int of_merged(struct decoder *d, int reg)
{
    struct loop_use use;
    int *known = &d->flow_terms[reg];
    if (*known == NO_TERM || !simt_find_starts(d, reg, d->at)) return NO_TERM;
    unsigned which = simt_loop_starts(d, reg, d->at, &use);
    *known = NO_TERM; /* as long as it is looked at: it may be made of itself */
    int term = of_starts(d, reg, &use, which, d->at, false);
    *known = NOT_SEEN;
    return term < 0 ? NO_TERM : term;
}

static int of_register_at(struct decoder *d, int reg)
{
    struct loop_use use;
    uint32_t by = d->defined_by[reg];
    enum loop_holds holds = by == SEVERAL ? simt_loop_use(d, reg, d->at, &use) : LOOP_NONE;
    if (holds == LOOP_START) return of_start_at(d, reg);
    if (holds == LOOP_USE && use.place != LOOP_BEHIND) return of_use(d, reg, &use);
    if (holds == LOOP_USE) return of_use_behind(d, reg, &use);
    int *known = &d->flow_terms[reg];
    if (by >= SEVERAL || d->term_depth >= DEEPEST) {
        size_t was = d->at;
        d->at = NOT_THERE;
        int term = of_register(d, reg);
        d->at = was;
        return term < 0 && by == SEVERAL && holds == LOOP_NONE ? of_merged(d, reg) : term;
    }
    if (*known != NOT_SEEN) return *known;
    *known = NO_TERM;
    d->term_depth++;
    int term = of_insn(d, &d->f->insns[by]);
    d->term_depth--;
    return *known = term;
}

static int of_register(struct decoder *d, int reg)
{
    if (reg < 0 || (size_t)reg >= d->f->reg_count || !d->terms) return NO_TERM;
    if (d->at != NOT_THERE) return of_register_at(d, reg);
    if (d->terms[reg] != NOT_SEEN) return d->terms[reg];
    if (d->term_depth >= DEEPEST) return NO_TERM;
    d->terms[reg] = NO_TERM; /* as long as it is looked at */
    d->term_depth++;
    uint32_t by = d->defined_by[reg];
    int term = NO_TERM;
    if (by < SEVERAL)
        term = of_insn(d, &d->f->insns[by]);
    else if (by == SEVERAL)
        term = of_loop(d, reg);
    d->term_depth--;
    return d->terms[reg] = term;
}

bool simt_defined_once(const struct decoder *d, int reg)
{
    return reg >= 0 && (size_t)reg < d->f->reg_count && d->defined_by[reg] < SEVERAL;
}

int simt_term_of(struct decoder *d, const struct ptx_operand *o, bool wide)
{
    return of_operand(d, o, wide);
}

/* What it is made by one of its starts, for an instruction, if that comes there. */
static int of_way(struct decoder *d, int reg, uint32_t number, int term, size_t insn, bool or_loop)
{
    struct simt_program *p = d->program;
    struct loop_use way;
    if (term < 0 || !simt_grow(d, &p->uses, p->use_count, &d->use_capacity, sizeof *p->uses)) return term;
    simt_loop_way(d, reg, number, insn, or_loop, &way);
    p->uses[p->use_count] = way;
    return make(d, TERM_WAY, p->terms[term].wide, term, term, p->use_count++);
}

/* What those of a register's starts make it that have their bits, for an instruction, or, if `or_loop`, the loop;
 * NOT_THERE: for the loop. */
static int of_starts(struct decoder *d, int reg, const struct loop_use *use, unsigned which, size_t insn, bool or_loop)
{
    size_t was = d->at;
    int start = NOT_SEEN;
    if (d->starts_depth >= MOST_AT_ONCE) return NO_TERM;
    d->starts_depth++;
    for (uint32_t k = 0; k < use->start_count && start != NO_TERM; k++) {
        if (!(which >> k & 1)) continue;
        d->at = 0;
        int term = of_insn(d, &d->f->insns[simt_loop_start(d, reg, k)]);
        if (insn != NOT_THERE || which & (which - 1)) term = of_way(d, reg, k, term, insn, or_loop);
        if (start == NOT_SEEN || term < 0 || same_term(d, start, term))
            start = term < 0 ? NO_TERM : term;
        else
            start = make(d, TERM_EITHER, d->program->terms[term].wide, start, term, 0);
    }
    d->starts_depth--;
    d->at = was;
    return start;
}

int simt_start_of(struct decoder *d, int reg)
{
    int *known = &d->flow_terms[reg];
    struct loop_use use;
    if (*known != NOT_SEEN) return *known;
    unsigned which = simt_loop_starts(d, reg, NOT_THERE, &use);
    *known = NO_TERM;
    return *known = of_starts(d, reg, &use, which, NOT_THERE, false);
}

/* What it is where d->at says, before the loop. */
static int of_start_at(struct decoder *d, int reg)
{
    struct loop_use use;
    unsigned which = simt_loop_starts(d, reg, d->at, &use);
    bool alone = !(which & (which - 1)) && which == simt_loop_starts(d, reg, NOT_THERE, &use);
    return alone ? simt_start_of(d, reg) : of_starts(d, reg, &use, which, d->at, false);
}

int simt_number(struct decoder *d, int64_t value, bool wide)
{
    return make(d, TERM_CONST, wide, 0, 0, value);
}

int simt_difference(struct decoder *d, int a, int b)
{
    return a < 0 ? NO_TERM : make(d, TERM_SUB, d->program->terms[a].wide, a, b, 0);
}

int simt_step_at(struct decoder *d, int reg, size_t insn)
{
    d->at = insn;
    int term = added_by(d, &d->f->insns[insn], reg);
    d->at = NOT_THERE;
    return term;
}

int simt_term_at(struct decoder *d, const struct ptx_operand *o, bool wide, size_t insn)
{
    d->at = insn;
    int term = of_operand(d, o, wide);
    d->at = NOT_THERE;
    return term;
}

void simt_bound_loops(struct decoder *d)
{
    for (size_t r = 0; r < d->f->reg_count; r++) {
        uint64_t facts = UINT64_MAX;
        int term = d->terms[r];
        if (term < 0 || d->defined_by[r] != SEVERAL) continue;
        for (size_t k = 0; k < d->f->insn_count; k++) {
            const struct ptx_insn *in = &d->f->insns[k];
            if (writes(in, (int)r) && added_by(d, in, (int)r) >= 0) facts &= d->facts[k];
        }
        d->program->terms[term].facts = facts;
    }
}

/* ---- of a function ---- */
static void note(struct decoder *d, const struct ptx_operand *to, size_t insn, bool alone)
{
    if (to->kind == PTX_OP_REG && to->reg >= 0 && (size_t)to->reg < d->f->reg_count) {
        uint32_t *by = &d->defined_by[to->reg];
        *by = *by == NOWHERE ? (uint32_t)insn : SEVERAL;
        if (!alone) d->terms[to->reg] = NO_TERM;
    }
    for (size_t k = 0; k < to->item_count; k++) note(d, &to->items[k], insn, false);
}

bool simt_find_terms(struct decoder *d)
{
    simt_forget_terms(d);
    d->at = NOT_THERE;
    if (!d->f->is_entry) return true;
    d->defined_by = rt_alloc((d->f->reg_count + 1) * sizeof *d->defined_by);
    d->terms = rt_alloc((d->f->reg_count + 1) * sizeof *d->terms);
    if (!d->terms || !d->defined_by) return simt_decode_fail(d, RT_NOMEM, "out of host memory");
    for (size_t r = 0; r < d->f->reg_count; r++) d->terms[r] = NOT_SEEN, d->defined_by[r] = NOWHERE;
    for (size_t k = 0; k < d->f->insn_count; k++)
        if (d->f->insns[k].operand_count) note(d, &d->f->insns[k].operands[0], k, true);
    d->term_depth = d->starts_depth = 0;
    d->fn->term_first = d->program->term_count;
    return true;
}

void simt_forget_terms(struct decoder *d)
{
    free(d->terms);
    free(d->defined_by);
    free(d->facts);
    d->facts = NULL;
    d->terms = NULL;
    d->defined_by = NULL;
}

uint32_t simt_term_of_address(struct decoder *d, const struct ptx_insn *in)
{
    if (!d->terms || simt_has_mod(in, "shared") || simt_has_mod(in, "param") || simt_has_mod(in, "local")) return 0;
    for (size_t k = 0; k < in->operand_count; k++) {
        const struct ptx_operand *o = &in->operands[k];
        if (o->kind != PTX_OP_ADDRESS) continue;
        if (o->symbol || o->reg < 0) return 0;
        d->at = d->flow ? (size_t)(in - d->f->insns) : NOT_THERE;
        int term = of_register(d, o->reg);
        d->at = NOT_THERE;
        return (uint32_t)(term + 1);
    }
    return 0;
}

/* A number that stands there, of any type; NULL: it is none. */
static const struct ptx_operand *number_of(const struct decoder *d, const struct ptx_operand *o)
{
    if (o->kind == PTX_OP_REG && !o->negate && !o->select && simt_defined_once(d, o->reg)) {
        const struct ptx_insn *in = &d->f->insns[d->defined_by[o->reg]];
        bool moves = !strcmp(in->opcode, "mov") && in->guard < 0 && in->operand_count == 2 && in->mod_count == 1;
        const char *type = moves ? in->mods[0] : "";
        if (!moves || in->operands[0].kind != PTX_OP_REG) return NULL;
        o = &in->operands[1];
        if (*type == 'f' && o->imm_type != (!strcmp(type, "f32") ? PTX_F32 : PTX_F64)) return NULL;
    }
    return o->kind == PTX_OP_IMM ? o : NULL;
}

uint32_t simt_term_of_value(struct decoder *d, const struct ptx_insn *in)
{
    bool is_signed;
    if (!d->terms || strcmp(in->opcode, "st") || in->operand_count != 2 || simt_has_mod(in, "shared")) return 0;
    const struct ptx_operand *o = &in->operands[1], *number = number_of(d, o);
    if (number) return (uint32_t)(make(d, TERM_CONST, true, 0, 0, number->imm) + 1);
    unsigned bytes = integer_at(in, 0, &is_signed);
    if (!bytes || o->kind != PTX_OP_REG || o->reg < 0) return 0;
    d->at = d->flow ? (size_t)(in - d->f->insns) : NOT_THERE;
    int term = of_operand(d, o, bytes == 8);
    d->at = NOT_THERE;
    return (uint32_t)(term + 1);
}
