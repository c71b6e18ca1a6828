/* Where a function's registers live, and what a kernel computes once for all blocks.
 *
 * PTX has a new register for nearly every value. Registers that are never alive together share a slot, so that the
 * frames of a block's warps stay in the host's caches. An instruction of a kernel whose result is the same in all
 * blocks (a parameter, a thread's index and what follows from these) is run when the warp's frame is made, not in each
 * block. */
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/decode.h"

#define MAX_WORDS ((size_t)1 << 22) /* of the sets of live registers; larger functions share no slots */

/* Calls visit(context, register) for every register in an operand. */
typedef void visitor(void *context, int reg);
static void visit_operand(const struct ptx_func *f, const struct ptx_operand *o, visitor *visit, void *context)
{
    if ((o->kind == PTX_OP_REG || o->kind == PTX_OP_ADDRESS) && o->reg >= 0 && (size_t)o->reg < f->reg_count)
        visit(context, o->reg);
    for (size_t k = 0; k < o->item_count; k++) visit_operand(f, &o->items[k], visit, context);
}

/* ---- what is the same in all blocks ---- */
static void count_definition(void *context, int reg)
{
    uint8_t *count = (uint8_t *)context + reg;
    if (*count < 2) ++*count;
}

static bool is_invariant_special(const char *name)
{
    enum special s;
    return simt_find_special(name, &s) &&
           (s <= SR_NTID_Z || (s >= SR_NCTAID_X && s <= SR_NWARPID) || (s >= SR_LANEMASK_EQ && s <= SR_LANEMASK_GT));
}

static bool is_invariant_operand(struct decoder *d, const struct ptx_operand *o, const bool *invariant)
{
    struct symbol s;
    switch (o->kind) {
    case PTX_OP_REG: return o->reg >= 0 && (size_t)o->reg < d->f->reg_count && invariant[o->reg];
    case PTX_OP_IMM: return true;
    case PTX_OP_SPECIAL: return is_invariant_special(o->symbol);
    case PTX_OP_SYMBOL: return simt_find_symbol(d, o->symbol, &s) && !s.frame;
    case PTX_OP_ADDRESS: return o->symbol && simt_find_symbol(d, o->symbol, &s) && s.entry_param;
    default: return false;
    }
}

static bool is_invariant(struct decoder *d, const struct ptx_insn *in, const uint8_t *definitions,
                         const bool *invariant)
{
    static const char *const pure[] = {"mov", "cvta", "add", "sub", "mul", "mad", "shl", "shr",
                                       "and", "or",   "xor", "not", "neg", "cvt", "min", "max"};
    const struct ptx_operand *to = in->operands;
    bool load = !strcmp(in->opcode, "ld");
    if (in->guard >= 0 || in->operand_count < 2 || to->kind != PTX_OP_REG || to->reg < 0 ||
        (size_t)to->reg >= d->f->reg_count || definitions[to->reg] != 1 || (!load && !ONE_OF(in->opcode, pure)))
        return false;
    for (size_t k = 0; k < in->mod_count; k++)
        if (!strcmp(in->mods[k], "cc")) return false;
    for (size_t k = 1; k < in->operand_count; k++)
        if ((in->operands[k].kind == PTX_OP_ADDRESS) != load || !is_invariant_operand(d, &in->operands[k], invariant))
            return false;
    return true;
}

/* ---- what nobody reads ---- */
static void want(void *context, int reg)
{
    ((bool *)context)[reg] = true;
}

/* Compilers write atomics with a result also where the source has no use for it. Registers of functions, where they may
 * be results, and all of a program that is watched, are wanted in any case. */
static void find_wanted(struct decoder *d)
{
    const struct ptx_func *f = d->f;
    for (size_t k = 0; k < f->insn_count; k++) {
        const struct ptx_insn *in = &f->insns[k];
        if (in->guard >= 0 && (size_t)in->guard < f->reg_count) d->wanted[in->guard] = true;
        for (size_t o = !strcmp(in->opcode, "atom"); o < in->operand_count; o++)
            visit_operand(f, &in->operands[o], want, d->wanted);
    }
    for (size_t r = 0; r < f->reg_count; r++) d->wanted[r] |= d->plain || !f->is_entry;
}

bool simt_find_invariants(struct decoder *d)
{
    const struct ptx_func *f = d->f;
    d->hoisted = rt_calloc(f->insn_count + 1, sizeof *d->hoisted);
    d->wanted = rt_calloc(f->reg_count + 1, sizeof *d->wanted);
    uint8_t *definitions = rt_calloc(f->reg_count + 1, 1);
    bool *invariant = rt_calloc(f->reg_count + 1, sizeof *invariant);
    bool ok = d->hoisted && d->wanted && definitions && invariant;
    if (ok) find_wanted(d);
    for (size_t k = 0; ok && k < f->insn_count; k++)
        if (f->insns[k].operand_count) visit_operand(f, &f->insns[k].operands[0], count_definition, definitions);
    for (size_t k = 0; ok && f->is_entry && !d->plain && k < f->insn_count; k++) {
        d->hoisted[k] = is_invariant(d, &f->insns[k], definitions, invariant);
        if (d->hoisted[k]) invariant[f->insns[k].operands[0].reg] = true;
    }
    free(definitions);
    free(invariant);
    return ok ? true : simt_decode_fail(d, RT_NOMEM, "out of memory while loading %s", f->name);
}

/* ---- lives ---- */
struct block {
    size_t start, end;                   /* instructions */
    uint64_t *in, *out, *reads, *writes; /* sets of registers: read before written here; certainly written */
};
struct lives {
    const struct ptx_func *f;
    size_t words, block_count;
    struct block *blocks;
    uint32_t *block_of; /* by instruction; [insn_count] is block_count */
    uint64_t *sets;
    uint32_t *first, *last; /* by register: the stretch of code where it may be alive; first > last when unused */
    struct block *at;       /* while sets are filled, or lives: */
    size_t position;
};

static void see_read(void *context, int reg)
{
    struct lives *l = context;
    uint64_t bit = (uint64_t)1 << (reg & 63);
    if (!(l->at->writes[reg >> 6] & bit)) l->at->reads[reg >> 6] |= bit;
}
static void see_write(void *context, int reg)
{
    struct lives *l = context;
    l->at->writes[reg >> 6] |= (uint64_t)1 << (reg & 63);
}
static void see_life(void *context, int reg)
{
    struct lives *l = context;
    if (l->position < l->first[reg]) l->first[reg] = (uint32_t)l->position;
    if (l->position > l->last[reg]) l->last[reg] = (uint32_t)l->position;
}

static bool ends_block(const struct ptx_insn *in)
{
    static const char *const opcodes[] = {"bra", "brx", "ret", "exit"};
    return ONE_OF(in->opcode, opcodes);
}

static bool find_blocks(struct lives *l)
{
    const struct ptx_func *f = l->f;
    size_t n = f->insn_count;
    bool *leader = rt_calloc(n + 1, sizeof *leader);
    l->block_of = rt_calloc(n + 1, sizeof *l->block_of);
    if (!leader || !l->block_of) {
        free(leader);
        return false;
    }
    leader[0] = true;
    for (size_t k = 0; k < f->label_count; k++)
        if (f->labels[k].insn < n) leader[f->labels[k].insn] = true;
    for (size_t k = 0; k + 1 < n; k++)
        if (ends_block(&f->insns[k])) leader[k + 1] = true;
    for (size_t k = 0; k < n; k++) l->block_count += leader[k];
    l->blocks = rt_calloc(l->block_count + 1, sizeof *l->blocks);
    for (size_t k = 0, b = 0; l->blocks && k < n; k++) {
        if (leader[k]) l->blocks[b++].start = k;
        l->block_of[k] = (uint32_t)b - 1;
        l->blocks[b - 1].end = k + 1;
    }
    l->block_of[n] = (uint32_t)l->block_count;
    free(leader);
    return l->blocks != NULL;
}

static void fill_sets(struct lives *l)
{
    const struct ptx_func *f = l->f;
    for (size_t b = 0; b < l->block_count; b++) {
        l->at = &l->blocks[b];
        uint64_t *set = l->sets + b * 4 * l->words;
        l->at->in = set, l->at->out = set + l->words, l->at->reads = set + 2 * l->words,
        l->at->writes = set + 3 * l->words;
        for (size_t k = l->at->start; k < l->at->end; k++) {
            const struct ptx_insn *in = &f->insns[k];
            bool writes = ptx_overwrites(in);
            if (in->guard >= 0 && (size_t)in->guard < f->reg_count) see_read(l, in->guard);
            for (size_t o = writes; o < in->operand_count; o++) visit_operand(f, &in->operands[o], see_read, l);
            if (writes) visit_operand(f, &in->operands[0], see_write, l);
        }
    }
}

static bool flow_back(struct lives *l, struct block *b, size_t to)
{
    bool changed = false;
    if (to > l->f->insn_count || l->block_of[to] >= l->block_count) return false;
    const struct block *next = &l->blocks[l->block_of[to]];
    for (size_t w = 0; w < l->words; w++) {
        changed |= (next->in[w] & ~b->out[w]) != 0;
        b->out[w] |= next->in[w];
    }
    return changed;
}

/* What is alive at the end of a block is what is alive at the start of those that may come next. */
static bool flow_into(struct lives *l, struct block *b)
{
    const struct ptx_func *f = l->f;
    const struct ptx_insn *last = &f->insns[b->end - 1];
    bool changed = false, leaves = ends_block(last) && last->guard < 0;
    if (!strcmp(last->opcode, "bra") && last->operand_count) changed |= flow_back(l, b, (size_t)last->operands[0].imm);
    for (size_t t = 0; !strcmp(last->opcode, "brx") && t < f->branch_table_count; t++)
        for (size_t k = 0; k < f->branch_tables[t].count; k++) changed |= flow_back(l, b, f->branch_tables[t].insns[k]);
    if (!leaves) changed |= flow_back(l, b, b->end);
    for (size_t w = 0; w < l->words; w++) b->in[w] = b->reads[w] | (b->out[w] & ~b->writes[w]);
    return changed;
}

static void see_set(struct lives *l, const uint64_t *set)
{
    for (size_t w = 0; w < l->words; w++)
        for (uint64_t rest = set[w]; rest; rest &= rest - 1) see_life(l, (int)(w * 64) + __builtin_ctzll(rest));
}

static void find_lives(struct lives *l)
{
    const struct ptx_func *f = l->f;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t b = l->block_count; b-- > 0;) changed |= flow_into(l, &l->blocks[b]);
    }
    for (size_t b = 0; b < l->block_count; b++) {
        l->position = l->blocks[b].start;
        see_set(l, l->blocks[b].in);
        l->position = l->blocks[b].end - 1;
        see_set(l, l->blocks[b].out);
    }
    for (size_t k = 0; k < f->insn_count; k++) {
        const struct ptx_insn *in = &f->insns[k];
        l->position = k;
        if (in->guard >= 0 && (size_t)in->guard < f->reg_count) see_life(l, in->guard);
        for (size_t o = 0; o < in->operand_count; o++) visit_operand(f, &in->operands[o], see_life, l);
    }
}

/* The most 32-bit registers that are alive at once: about what a GPU's compiler needs. 0 without memory. */
static uint32_t most_alive(const struct lives *l, const struct decoder *d)
{
    size_t n = l->f->insn_count;
    int32_t *change = rt_calloc(n + 2, sizeof *change), alive = 0, most = 0;
    for (size_t r = 0; change && r < l->f->reg_count; r++) {
        int32_t registers = d->classes[r] == 'q' ? 2 : d->classes[r] == 'w';
        if (l->first[r] > l->last[r] || l->last[r] > n) continue;
        change[l->first[r]] += registers;
        change[l->last[r] + 1] -= registers;
    }
    for (size_t k = 0; change && k <= n; k++) {
        alive += change[k];
        if (alive > most) most = alive;
    }
    free(change);
    return (uint32_t)most;
}

/* What is computed ahead is written before everything else, and for good. */
static void extend_hoisted(struct lives *l, const struct decoder *d)
{
    for (size_t k = 0; k < l->f->insn_count; k++) {
        if (!d->hoisted[k]) continue;
        l->first[l->f->insns[k].operands[0].reg] = 0;
        l->last[l->f->insns[k].operands[0].reg] = UINT32_MAX;
    }
}

/* Parameters and results that are registers come from the caller and go to it: they are alive all the time. */
static void keep_registers(struct lives *l, const struct ptx_var *vars, size_t count)
{
    for (size_t k = 0; k < count; k++)
        for (size_t r = 0; vars[k].space == PTX_REG && r < l->f->reg_count; r++) {
            if (strcmp(l->f->regs[r].name, vars[k].name)) continue;
            l->first[r] = 0;
            l->last[r] = UINT32_MAX;
        }
}

/* ---- slots ---- */
struct order {
    uint32_t first, reg;
};
static int by_first(const void *a, const void *b)
{
    const struct order *x = a, *y = b;
    return x->first != y->first ? (x->first < y->first ? -1 : 1) : (x->reg < y->reg ? -1 : x->reg > y->reg);
}

/* Gives each register, in the order of their births, the slot of its class that was left last, or a new one. */
static bool share_slots(struct decoder *d, const struct lives *l, struct order *order, struct order *slots)
{
    static const char classes[] = "pwqx";
    size_t n = d->f->reg_count;
    for (size_t k = 0; k < n; k++) order[k] = (struct order){l->first[k], (uint32_t)k};
    qsort(order, n, sizeof *order, by_first);
    for (int c = 0; c < 4; c++) {
        size_t slot_count = 0;
        for (size_t k = 0; k < n; k++) {
            uint32_t r = order[k].reg;
            if (d->classes[r] != classes[c] || l->first[r] > l->last[r]) continue;
            struct order *best = NULL; /* here `first` is the end of the slot's last life, and `reg` is the slot */
            for (size_t s = 0; s < slot_count; s++)
                if (slots[s].first < l->first[r] && (!best || slots[s].first > best->first)) best = &slots[s];
            if (!best) {
                if (d->fn->frame_bytes > 64u << 20)
                    return simt_decode_fail(d, RT_UNSUPPORTED, "%s has too many registers (%zu)", d->f->name, n);
                best = &slots[slot_count++];
                best->reg = simt_new_slot(d, classes[c]);
            }
            best->first = l->last[r];
            d->slots[r] = best->reg;
        }
    }
    return true;
}

bool simt_place_registers(struct decoder *d)
{
    const struct ptx_func *f = d->f;
    size_t n = f->reg_count;
    struct lives l = {.f = f, .words = n / 64 + 1};
    d->fn->frame_bytes = 8;
    d->slots = rt_calloc(n + 1, sizeof *d->slots);
    d->classes = rt_calloc(n + 1, 1);
    l.first = rt_calloc(n + 1, sizeof *l.first);
    l.last = rt_calloc(n + 1, sizeof *l.last);
    struct order *order = rt_calloc(2 * n + 1, sizeof *order);
    bool ok = d->slots && d->classes && l.first && l.last && order && find_blocks(&l), small = ok;
    if (ok && !d->apart && l.block_count * 4 * l.words <= MAX_WORDS) {
        l.sets = rt_calloc(l.block_count * 4 * l.words + 1, sizeof *l.sets);
        ok = l.sets != NULL;
    } else {
        small = false;
    }
    if (ok) {
        for (size_t k = 0; k < n; k++) d->classes[k] = simt_class_of(f->regs[k].type);
        for (size_t k = 0; k < n; k++) l.first[k] = small ? UINT32_MAX : 0;
        for (size_t k = 0; k < n; k++) l.last[k] = small ? 0 : UINT32_MAX;
        if (small) fill_sets(&l);
        if (small) find_lives(&l);
        if (small) d->fn->registers = most_alive(&l, d);
        if (small) extend_hoisted(&l, d);
        keep_registers(&l, f->params, f->param_count);
        keep_registers(&l, f->returns, f->return_count);
        ok = share_slots(d, &l, order, order + n);
    } else {
        simt_decode_fail(d, RT_NOMEM, "out of memory while loading %s", f->name);
    }
    free(l.first);
    free(l.last);
    free(l.blocks);
    free(l.block_of);
    free(l.sets);
    free(order);
    return ok;
}
