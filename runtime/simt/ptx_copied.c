/* Loads of which nothing is done with what they load but to store it, as where a structure is copied: some bytes of
 * that may be the room between its members, or members that are not in use, which nobody has written and nobody looks
 * at. */
#include "runtime/simt/ptx_walk.h"

#define MOST_PASSES 16 /* through moves from register to register, against the order in the text */
#define NEAR        32 /* instructions between those for parts of a structure, or from an address to its use */

enum { STORED = 1, STORED_ALONE = 2, LOOKED_AT = 4 };

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

struct place_in_memory {
    int reg;
    int64_t offset;
};

/* The address of an instruction, of whose register it may be said a little before what it is more than another. */
static struct place_in_memory place_of(const struct ptx_func *f, const struct ptx_insn *in)
{
    struct place_in_memory p = {address_of(in)->reg, address_of(in)->imm};
    for (size_t n = 0; p.reg >= 0 && n < NEAR && in > f->insns; n++) {
        const struct ptx_operand *o = (--in)->operands;
        if (in->operand_count == 0 || o[0].kind != PTX_OP_REG || o[0].reg != p.reg) continue;
        bool adds = ptx_is(in, "add") && in->guard < 0 && o[1].kind == PTX_OP_REG && o[2].kind == PTX_OP_IMM;
        if (adds) p = (struct place_in_memory){o[1].reg, p.offset + o[2].imm};
        break;
    }
    return p;
}

/* Is it for bytes behind, or at the end of, what the other loads or stores at the same address, which is no bytes? */
static bool is_behind(const struct ptx_func *f, struct place_in_memory a, const struct ptx_insn *other)
{
    if (element_bytes(other) < 2) return false;
    const struct place_in_memory b = place_of(f, other);
    const size_t count = value_of(other)->kind == PTX_OP_VECTOR ? value_of(other)->item_count : 1;
    return a.reg >= 0 && a.reg == b.reg && b.offset < a.offset &&
           a.offset <= b.offset + (int64_t)(count * element_bytes(other));
}

/* Compilers copy the room between members apart, as bytes. */
static bool is_room(const struct ptx_func *f, const struct ptx_insn *in)
{
    const size_t at = (size_t)(in - f->insns), end = at + NEAR < f->insn_count ? at + NEAR : f->insn_count;
    if (element_bytes(in) != 1) return false;
    const struct place_in_memory here = place_of(f, in);
    for (size_t k = at > NEAR ? at - NEAR : 0; k < end; k++)
        if (accesses(&f->insns[k], in->opcode) && is_behind(f, here, &f->insns[k])) return true;
    return false;
}

/* What an instruction does with what it reads. */
static bool add_uses_by(uint8_t *uses, const struct ptx_func *f, const struct ptx_insn *in)
{
    const bool stores = accesses(in, "st"), moves = ptx_is(in, "mov") && in->operand_count == 2;
    const uint8_t stored = !stores || is_room(f, in) ? STORED : STORED | STORED_ALONE;
    bool any = false;
    for (size_t k = ptx_overwrites(in) ? 1 : 0; k < in->operand_count; k++)
        any |= add_uses(uses, &in->operands[k],
                        stores && k == 1  ? stored
                        : moves && k == 1 ? uses_of(uses, &in->operands[0])
                                          : LOOKED_AT);
    return any;
}

static bool mark_copies(struct ptx_parser *p, struct ptx_func *f)
{
    bool more = true;
    uint8_t *uses = ptx_new(p, f->reg_count + 1, sizeof *uses);
    if (!uses) return false;
    for (int pass = 0; more && pass < MOST_PASSES; pass++) {
        more = false;
        for (size_t k = f->insn_count; k-- > 0;) more |= add_uses_by(uses, f, &f->insns[k]);
    }
    for (size_t k = 0; k < f->insn_count && !more; k++) {
        struct ptx_insn *in = &f->insns[k];
        if (!accesses(in, "ld")) continue;
        const uint8_t by = uses_of(uses, value_of(in));
        in->is_copied = by & STORED && !(by & LOOKED_AT);
        in->is_room = by == STORED && is_room(f, in); /* where nothing was written, the load of a member tells it */
    }
    return true;
}

bool ptx_mark_copies(struct ptx_module *m, struct rt_error *e)
{
    return ptx_each_body(m, e, false, mark_copies);
}
