/* Loads of which nothing is done with what they load but to store it, as where a structure is copied: some bytes of
 * that may be the room between its members, or members that are not in use, which nobody has written and nobody looks
 * at. */
#include <stdlib.h>
#include <string.h>
#include "runtime/simt/ptx_walk.h"

#define MOST_PASSES 16 /* through moves from register to register, against the order in the text */
#define MOST_PARTS  4  /* for each instruction, on average */

enum {
    STORED = 1,
    STORED_ALONE = 2,
    STORED_WIDER = 4, /* beside other parts of a structure, in more than a byte: alone in it, it'd be a number */
    PUT_TOGETHER = 8, /* with others for a store, by instructions that move bytes about */
    LOOKED_AT = 16
};

/* The union over an operand's registers. */
static uint8_t uses_of(const uint8_t *uses, const struct ptx_operand *o)
{
    uint8_t all = o->kind == PTX_OP_REG && o->reg >= 0 ? uses[o->reg] : 0;
    for (size_t k = 0; k < o->item_count; k++) all |= uses_of(uses, &o->items[k]);
    return all;
}

/* Adds uses to an operand's registers. True: one had not all of them. */
static bool add_uses(uint8_t *uses, const struct ptx_operand *o, uint8_t more)
{
    bool is_register = (o->kind == PTX_OP_REG || o->kind == PTX_OP_ADDRESS) && o->reg >= 0, any = false;
    if (is_register) {
        any = (more & ~uses[o->reg]) != 0;
        uses[o->reg] |= more;
    }
    for (size_t k = 0; k < o->item_count; k++) any |= add_uses(uses, &o->items[k], more);
    return any;
}

/* Of a load or store: where in memory, and which registers. */
static const struct ptx_operand *address_of(const struct ptx_insn *in)
{
    return &in->operands[ptx_is(in, "ld") ? 1 : 0];
}

static const struct ptx_operand *value_of(const struct ptx_insn *in)
{
    return &in->operands[ptx_is(in, "ld") ? 0 : 1];
}

static bool accesses(const struct ptx_insn *in, const char *opcode)
{
    return ptx_is(in, opcode) && in->operand_count == 2 && in->mod_count > 0;
}

static size_t element_bytes(const struct ptx_insn *in)
{
    return ptx_type_size(ptx_type_find(in->mods[in->mod_count - 1]));
}

struct part { /* of a structure, perhaps: what an access is for */
    int reg;  /* its address is so much more than this holds */
    int64_t offset;
    size_t insn, bytes, count; /* of all elements; how many */
    bool is_load, is_byte;
};

struct parts {
    struct part *parts;
    size_t count, most;
    size_t *first,
        *next; /* sums of a register and a number: a register's first, and the next one of the same register */
};

/* Those by one register come together, loads and stores apart, by offset. */
static int by_place(const void *x, const void *y)
{
    const struct part *a = x, *b = y;
    if (a->is_load != b->is_load) return a->is_load < b->is_load ? -1 : 1;
    if (a->reg != b->reg) return a->reg < b->reg ? -1 : 1;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

static bool is_sum(const struct ptx_insn *in)
{
    const struct ptx_operand *o = in->operands;
    return ptx_is(in, "add") && in->operand_count == 3 && o[0].kind == PTX_OP_REG && o[0].reg >= 0 &&
           o[1].kind == PTX_OP_REG && o[1].reg >= 0 && o[1].reg != o[0].reg && o[2].kind == PTX_OP_IMM;
}

/* From several sides an address may come to one access: all that it may be a sum of counts. */
static void add_parts(struct parts *p, const struct ptx_func *f, size_t insn, bool is_load)
{
    const struct ptx_insn *in = &f->insns[insn];
    const struct ptx_operand *v = value_of(in), *at = address_of(in);
    if (at->reg < 0 || p->count == p->most) return;
    const size_t count = v->kind == PTX_OP_VECTOR ? v->item_count : 1, size = element_bytes(in);
    const struct part own = {at->reg, at->imm, insn, count * size, count, is_load, size == 1};
    p->parts[p->count++] = own;
    for (size_t k = p->first[own.reg]; k > 0 && p->count < p->most; k = p->next[k - 1]) {
        const struct ptx_operand *o = f->insns[k - 1].operands;
        p->parts[p->count] = own;
        p->parts[p->count].reg = o[1].reg;
        p->parts[p->count++].offset += o[2].imm;
    }
}

static bool find_parts(struct ptx_parser *p, struct parts *all, const struct ptx_func *f)
{
    all->most = MOST_PARTS * (f->insn_count + 1);
    all->parts = ptx_new(p, all->most, sizeof *all->parts);
    all->first = ptx_new(p, f->reg_count + 1, sizeof *all->first);
    all->next = ptx_new(p, f->insn_count + 1, sizeof *all->next);
    if (!all->parts || !all->first || !all->next) return false;
    for (size_t k = 0; k < f->insn_count; k++) {
        if (!is_sum(&f->insns[k])) continue;
        size_t *first = &all->first[f->insns[k].operands[0].reg];
        all->next[k] = *first;
        *first = k + 1;
    }
    for (size_t k = 0; k < f->insn_count; k++) {
        const bool is_load = accesses(&f->insns[k], "ld");
        if (is_load || accesses(&f->insns[k], "st")) add_parts(all, f, k, is_load);
    }
    qsort(all->parts, all->count, sizeof *all->parts, by_place);
    return true;
}

static bool loads_bytes(const struct ptx_func *f)
{
    for (size_t k = 0; k < f->insn_count; k++)
        if (accesses(&f->insns[k], "ld") && element_bytes(&f->insns[k]) == 1) return true;
    return false;
}

/* Where do parts end that begin here and leave nothing out between them? */
static const struct part *end_of_run(const struct part *a, const struct part *end)
{
    int64_t reached = a->offset;
    const struct part *b = a;
    for (; b < end && b->is_load == a->is_load && b->reg == a->reg && b->offset <= reached; b++)
        if (b->offset + (int64_t)b->bytes > reached) reached = b->offset + (int64_t)b->bytes;
    return b;
}

/* Compilers copy the room between members apart, as bytes: beside what is no bytes. Which of the loads do so, and which
 * stores are of what stands beside other parts? NULL without memory. */
static bool *find_room(struct ptx_parser *p, const struct ptx_func *f)
{
    bool *is_room = ptx_new(p, f->insn_count + 1, sizeof *is_room);
    struct parts all = {0};
    if (!is_room || !loads_bytes(f)) return is_room;
    if (!find_parts(p, &all, f)) return NULL;
    for (const struct part *a = all.parts, *end = a + all.count, *next; a < end; a = next) {
        size_t elements = 0;
        bool has_member = false;
        next = end_of_run(a, end);
        for (const struct part *b = a; b < next; b++) has_member |= !b->is_byte, elements += b->count;
        for (const struct part *b = a; b < next; b++)
            is_room[b->insn] |= has_member && elements > 1 && (b->is_byte || !b->is_load);
    }
    return is_room;
}

static bool moves_bits(const struct ptx_insn *in) /* from one type of integers to another */
{
    return in->mod_count == 2 && strchr("bus", in->mods[0][0]) && strchr("bus", in->mods[1][0]);
}

/* Of an instruction that moves whole bytes to other places in a register: what becomes of them if that is done with
 * its result, else LOOKED_AT. */
static uint8_t put_together(const struct ptx_insn *in, uint8_t uses)
{
    if (in->operand_count < 2) return LOOKED_AT;
    const struct ptx_operand *last = &in->operands[in->operand_count - 1];
    const uint64_t number = last->kind == PTX_OP_IMM ? (uint64_t)last->imm : 0;
    const bool is_mask = ptx_is(in, "and") && (number == 0xff || number == 0xffff);
    const bool shifts = ptx_is(in, "shl") && number > 0 && number % 8 == 0;
    if (is_mask || shifts || (ptx_is(in, "cvt") && moves_bits(in))) return uses | PUT_TOGETHER;
    const bool joins = ptx_is(in, "or") || (ptx_is(in, "prmt") && last->kind == PTX_OP_IMM);
    return joins ? (uint8_t)((uses & ~STORED_WIDER) | PUT_TOGETHER) : LOOKED_AT;
}

/* What an instruction does with what it reads. */
static bool add_uses_by(uint8_t *uses, const struct ptx_insn *in, bool is_room)
{
    const bool stores = accesses(in, "st"), moves = ptx_is(in, "mov") && in->operand_count == 2;
    const bool has_result = ptx_overwrites(in) && in->operand_count > 0;
    const uint8_t of_result = has_result ? uses_of(uses, &in->operands[0]) : 0;
    const uint8_t others = !has_result ? LOOKED_AT : moves ? of_result : put_together(in, of_result);
    const uint8_t stored = STORED | (!stores || !is_room ? STORED_ALONE : element_bytes(in) > 1 ? STORED_WIDER : 0);
    bool any = false;
    for (size_t k = has_result ? 1 : 0; k < in->operand_count; k++)
        any |= add_uses(uses, &in->operands[k], stores && k == 1 ? stored : others);
    return any;
}

static bool mark_copies(struct ptx_parser *p, struct ptx_func *f)
{
    bool more = true;
    uint8_t *uses = ptx_new(p, f->reg_count + 1, sizeof *uses);
    const bool *is_room = find_room(p, f);
    if (!uses || !is_room) return false;
    for (int pass = 0; more && pass < MOST_PASSES; pass++) {
        more = false;
        for (size_t k = f->insn_count; k-- > 0;) more |= add_uses_by(uses, &f->insns[k], is_room[k]);
    }
    for (size_t k = 0; k < f->insn_count && !more; k++) {
        struct ptx_insn *in = &f->insns[k];
        if (!accesses(in, "ld")) continue;
        const uint8_t by = uses_of(uses, value_of(in));
        in->is_room = (by & ~PUT_TOGETHER) == STORED && is_room[k]; /* of what nobody wrote, a member's load tells */
        in->is_copied = in->is_room || (by & STORED && !(by & (PUT_TOGETHER | LOOKED_AT)));
    }
    return true;
}

bool ptx_mark_copies(struct ptx_module *m, struct rt_error *e)
{
    return ptx_each_body(m, e, false, mark_copies);
}
