/* A register to which two loops add, one after the other, becomes a register of each.
 *
 * The compiler unrolls a loop into two, of which the first goes the few times that the second, by four, has no use
 * for, and both count by one register. What a register holds is known before a launch where a single loop adds to it
 * (decode_flow.c); with a register of its own, which begins as what the first loop left, the second is such a loop,
 * too. Where the number is read behind the loop, the first register gets it back there.
 *
 * Done for launches alone, as calls are inlined. */
#include <stdlib.h>
#include <string.h>
#include "runtime/simt/ptx_walk.h"

#define MOST       20000 /* instructions, */
#define LONGEST    1000  /* and of a loop */
#define MOST_LOOPS 64
#define MOST_TWINS 64

struct loop { /* instructions that only the last of them leads back to, from the first to the last */
    size_t first, last;
};
struct twin {
    int reg, own; /* the register, and the one that stands for it in the loop */
    struct loop in;
    bool given_back;
};

struct splitter {
    struct ptx_parser *p;
    struct ptx_func *f;
    struct loop loops[MOST_LOOPS];
    size_t loop_count;
    struct twin twins[MOST_TWINS];
    size_t twin_count;
    struct ptx_walk walk;
};

static bool within(const struct loop *l, size_t insn)
{
    return insn >= l->first && insn <= l->last;
}

/* ---- what instructions do with a register ---- */
bool ptx_overwrites(const struct ptx_insn *in)
{
    static const char *const opcodes[] = {
        "ld",   "mov", "cvt",   "cvta", "add",  "sub",  "mul",  "mad",  "fma",  "div",  "rem",     "neg",
        "abs",  "min", "max",   "and",  "or",   "xor",  "not",  "shl",  "shr",  "setp", "set",     "selp",
        "sqrt", "rcp", "rsqrt", "ex2",  "lg2",  "sin",  "cos",  "tanh", "popc", "clz",  "bfe",     "bfi",
        "prmt", "shf", "lop3",  "atom", "shfl", "vote", "addc", "subc", "madc", "mma",  "ldmatrix"};
    if (in->guard >= 0 || !in->operand_count) return false;
    return ONE_OF(in->opcode, opcodes) || (ptx_is(in, "wmma") && in->mod_count && strcmp(in->mods[0], "store"));
}

/* Is it set by it, whatever it was? */
static bool sets(const struct ptx_insn *in, int reg)
{
    const struct ptx_operand *to = in->operands;
    if (!in->operand_count || to->kind != PTX_OP_REG || to->reg != reg || to->select || !ptx_overwrites(in))
        return false;
    bool reads = false;
    for (size_t k = 1; k < in->operand_count; k++) reads |= ptx_mentions(&in->operands[k], reg);
    return !reads;
}

static bool touches(const struct ptx_insn *in, int reg)
{
    bool any = in->guard == reg;
    for (size_t k = 0; k < in->operand_count; k++) any |= ptx_mentions(&in->operands[k], reg);
    return any;
}

/* Adds something to the register that it sets, which has so many bits: as loops do. */
static bool adds(const struct ptx_insn *in, int reg)
{
    bool plain = ptx_is(in, "add") && in->guard < 0 && in->operand_count == 3 && in->mod_count == 1 &&
                 in->operands[0].kind == PTX_OP_REG && in->operands[0].reg == reg && !in->operands[0].select;
    if (!plain || strchr("sub", *in->mods[0]) == NULL) return false;
    const struct ptx_operand *a = &in->operands[1], *b = &in->operands[2];
    return (a->kind == PTX_OP_REG && a->reg == reg) || (b->kind == PTX_OP_REG && b->reg == reg);
}

/* ---- loops ---- */
/* Is it entered at its first instruction alone, and does nothing in it lead back there but its last? */
static bool is_alone(const struct ptx_func *f, const struct loop *l)
{
    if (l->first == 0) return false;
    for (size_t k = 0; k < f->insn_count; k++) {
        const struct ptx_insn *in = &f->insns[k];
        if (!ptx_is(in, "bra") || k == l->last) continue;
        if (within(l, ptx_target_of(in)) && (ptx_target_of(in) == l->first) == within(l, k)) return false;
    }
    return true;
}

static void find_loops(struct splitter *s)
{
    const struct ptx_func *f = s->f;
    for (size_t k = 0; k < f->insn_count && s->loop_count < MOST_LOOPS; k++) {
        const struct ptx_insn *in = &f->insns[k];
        if (!ptx_is(in, "bra") || in->guard < 0 || ptx_target_of(in) > k || k - ptx_target_of(in) > LONGEST) continue;
        const struct loop l = {ptx_target_of(in), k};
        if (is_alone(f, &l)) s->loops[s->loop_count++] = l;
    }
}

/* Does the loop add to the register in one place, and set it in no other one? */
static bool rides(const struct ptx_func *f, const struct loop *l, int reg)
{
    size_t count = 0;
    for (size_t k = l->first; k <= l->last; k++) {
        const struct ptx_insn *in = &f->insns[k];
        if (in->operand_count && ptx_mentions(&in->operands[0], reg) && in->operands[0].kind != PTX_OP_ADDRESS) {
            if (!adds(in, reg)) return false;
            count++;
        }
    }
    return count == 1;
}

#define ANY SIZE_MAX
/* Can what the register holds where an instruction begins come to another one, which is not before it was set anew? Or
 * (ANY) be read at all? */
static bool comes_to(struct splitter *s, size_t from, int reg, size_t to)
{
    size_t k;
    ptx_walk_from(&s->walk, from);
    while (ptx_walk_step(&s->walk, &k)) {
        const struct ptx_insn *in = &s->f->insns[k];
        if (k == to) return true;
        if (sets(in, reg)) continue;
        if (to == ANY && touches(in, reg)) return true;
        ptx_walk_on(&s->walk, k);
    }
    return false;
}

/* The same from where the loop is left by a jump. */
static bool jumps_to(struct splitter *s, const struct loop *l, int reg, size_t to)
{
    for (size_t k = l->first; k <= l->last; k++) {
        const struct ptx_insn *in = &s->f->insns[k];
        if (ptx_is(in, "bra") && !within(l, ptx_target_of(in)) && comes_to(s, ptx_target_of(in), reg, to)) return true;
    }
    return false;
}

/* Does the loop add to what a loop before it has made of the register, which adds to it, too? */
static bool is_shared(struct splitter *s, const struct loop *second, int reg)
{
    bool shared = false;
    if (!rides(s->f, second, reg)) return false;
    for (size_t k = 0; k < s->loop_count && !shared; k++) {
        const struct loop *l = &s->loops[k];
        shared = l->last < second->first && rides(s->f, l, reg) &&
                 (comes_to(s, l->last + 1, reg, second->first) || jumps_to(s, l, reg, second->first));
    }
    return shared;
}

static bool is_counter(const struct ptx_func *f, int reg)
{
    enum ptx_type t = f->regs[reg].type;
    unsigned size = ptx_type_size(t);
    return (size == 4 || size == 8) && t != PTX_F32 && t != PTX_F64;
}

/* Has another twin been found whose loop lies about this one, or in it? */
static bool is_taken(const struct splitter *s, const struct loop *l, int reg)
{
    for (size_t k = 0; k < s->twin_count; k++) {
        const struct twin *t = &s->twins[k];
        if (t->reg == reg && t->in.first <= l->last && l->first <= t->in.last) return true;
    }
    return false;
}

static void find_twins(struct splitter *s)
{
    const struct ptx_func *f = s->f;
    for (size_t n = 0; n < s->loop_count; n++) {
        const struct loop *l = &s->loops[n];
        for (size_t k = l->first; k <= l->last && s->twin_count < MOST_TWINS; k++) {
            const struct ptx_insn *in = &f->insns[k];
            int reg =
                ptx_is(in, "add") && in->operand_count && in->operands[0].kind == PTX_OP_REG ? in->operands[0].reg : -1;
            if (reg < 0 || !is_counter(f, reg) || !is_shared(s, l, reg) || is_taken(s, l, reg)) continue;
            if (jumps_to(s, l, reg, ANY)) continue;
            int own = (int)(f->reg_count + s->twin_count);
            s->twins[s->twin_count++] = (struct twin){reg, own, *l, comes_to(s, l->last + 1, reg, ANY)};
        }
    }
}

/* ---- the new body ---- */
static bool rename_in(struct ptx_parser *p, struct ptx_operand **operands, size_t count, const struct twin *t)
{
    struct ptx_operand *copy = ptx_new(p, count + 1, sizeof *copy);
    if (!copy) return false;
    for (size_t k = 0; k < count; k++) {
        struct ptx_operand *o = &copy[k];
        *o = (*operands)[k];
        if ((o->kind == PTX_OP_REG || o->kind == PTX_OP_ADDRESS) && o->reg == t->reg) o->reg = t->own;
        if (o->item_count && !rename_in(p, &o->items, o->item_count, t)) return false;
    }
    *operands = copy;
    return true;
}

/* A move where another instruction is from. */
static bool write_move(const struct splitter *s, struct ptx_insn *to, const struct ptx_insn *beside, int into, int from)
{
    static char move[] = "mov", b32[] = "b32", b64[] = "b64";
    struct ptx_operand *o = ptx_new(s->p, 2, sizeof *o);
    char **mods = ptx_new(s->p, 1, sizeof *mods);
    if (!o || !mods) return false;
    o[0] = (struct ptx_operand){.kind = PTX_OP_REG, .reg = into};
    o[1] = (struct ptx_operand){.kind = PTX_OP_REG, .reg = from};
    mods[0] = ptx_type_size(s->f->regs[into < (int)s->f->reg_count ? into : from].type) == 8 ? b64 : b32;
    *to = *beside;
    to->opcode = move;
    to->mods = mods;
    to->mod_count = 1;
    to->guard = -1;
    to->guard_negate = false;
    to->operands = o;
    to->operand_count = 2;
    return true;
}

/* The old body's instructions with the moves: where each of them is now. */
static bool write_insns(const struct splitter *s, struct ptx_insn *insns, size_t *places, size_t *written)
{
    const struct ptx_func *f = s->f;
    size_t count = 0;
    for (size_t k = 0; k < f->insn_count; k++) {
        for (size_t n = 0; n < s->twin_count; n++) {
            const struct twin *t = &s->twins[n];
            bool starts = t->in.first == k;
            if (starts && !write_move(s, &insns[count++], &f->insns[k - 1], t->own, t->reg)) return false;
        }
        places[k] = count;
        struct ptx_insn *in = &insns[count++];
        *in = f->insns[k];
        for (size_t n = 0; n < s->twin_count; n++)
            if (within(&s->twins[n].in, k) && !rename_in(s->p, &in->operands, in->operand_count, &s->twins[n]))
                return false;
        for (size_t n = 0; n < s->twin_count; n++) {
            const struct twin *t = &s->twins[n];
            bool ends = t->in.last == k && t->given_back;
            if (ends && !write_move(s, &insns[count++], &f->insns[k], t->reg, t->own)) return false;
        }
    }
    places[f->insn_count] = *written = count;
    return true;
}

/* Where a jump to an instruction goes now: to the moves before a loop, unless it goes round in that. */
static size_t place_of(const struct splitter *s, const size_t *places, size_t from, size_t to)
{
    size_t place = places[to];
    for (size_t n = 0; n < s->twin_count; n++) {
        const struct loop *l = &s->twins[n].in;
        place -= l->first == to && !within(l, from);
    }
    return place;
}

static bool lead_jumps(const struct splitter *s, struct ptx_insn *insns, const size_t *places)
{
    const struct ptx_func *f = s->f;
    for (size_t k = 0; k < f->insn_count; k++) {
        struct ptx_insn *in = &insns[places[k]];
        if (!ptx_is(in, "bra")) continue;
        struct ptx_operand *o = ptx_new(s->p, in->operand_count, sizeof *o);
        if (!o) return false;
        memcpy(o, in->operands, in->operand_count * sizeof *o);
        o->imm = (int64_t)place_of(s, places, k, ptx_target_of(in));
        in->operands = o;
    }
    return true;
}

/* A label goes before the moves, and where the loop goes round stands one, too: there threads come from two sides. */
static bool place_labels(const struct splitter *s, const size_t *places)
{
    struct ptx_func *f = s->f;
    size_t count = 0;
    struct ptx_label *labels = ptx_new(s->p, 2 * f->label_count, sizeof *labels);
    if (!labels) return false;
    for (size_t k = 0; k < f->label_count; k++) {
        struct ptx_label l = f->labels[k];
        size_t before = place_of(s, places, f->insn_count, l.insn);
        labels[count++] = (struct ptx_label){l.name, before};
        if (before != places[l.insn]) labels[count++] = (struct ptx_label){l.name, places[l.insn]};
    }
    f->labels = labels;
    f->label_count = count;
    return true;
}

static bool add_registers(const struct splitter *s)
{
    struct ptx_func *f = s->f;
    struct ptx_reg *regs = ptx_new(s->p, f->reg_count + s->twin_count, sizeof *regs);
    if (!regs) return false;
    memcpy(regs, f->regs, f->reg_count * sizeof *regs);
    for (size_t k = 0; k < s->twin_count; k++) regs[f->reg_count + k] = f->regs[s->twins[k].reg];
    f->regs = regs;
    f->reg_count += s->twin_count;
    return true;
}

static bool write_body(const struct splitter *s)
{
    struct ptx_func *f = s->f;
    size_t most = f->insn_count + 2 * s->twin_count, count;
    struct ptx_insn *insns = ptx_new(s->p, most + 1, sizeof *insns);
    size_t *places = ptx_new(s->p, f->insn_count + 1, sizeof *places);
    if (!insns || !places || !write_insns(s, insns, places, &count) || !add_registers(s) ||
        !lead_jumps(s, insns, places) || !place_labels(s, places))
        return false;
    f->insns = insns;
    f->insn_count = count;
    return true;
}

static bool split_in(struct ptx_parser *p, struct ptx_func *f)
{
    if (!ptx_can_walk(f, MOST)) return true;
    struct splitter *s = ptx_new(p, 1, sizeof *s);
    if (!s) return false;
    s->p = p;
    s->f = f;
    find_loops(s);
    if (s->loop_count < 2) return true;
    if (!ptx_walk_new(p, &s->walk, f, f->insn_count)) return false;
    find_twins(s);
    return !s->twin_count || write_body(s);
}

bool ptx_split(struct ptx_module *m, struct rt_error *e)
{
    return ptx_each_body(m, e, true, split_in);
}
