/* Loads of which nothing is done with what they load but to store it, as where a structure is copied: some bytes of
 * that may be the room between its members, or members that are not in use, which nobody has written and nobody looks
 * at. */
#include "runtime/simt/ptx_walk.h"

#define MOST_PASSES 16 /* through moves from register to register, against the order in the text */

enum { STORED = 1, LOOKED_AT = 2 };

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

/* What an instruction does with what it reads. */
static bool add_uses_by(uint8_t *uses, const struct ptx_insn *in)
{
    const bool stores = ptx_is(in, "st") && in->operand_count == 2, moves = ptx_is(in, "mov") && in->operand_count == 2;
    bool any = false;
    for (size_t k = ptx_overwrites(in) ? 1 : 0; k < in->operand_count; k++)
        any |= add_uses(uses, &in->operands[k],
                        stores && k == 1  ? STORED
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
        for (size_t k = f->insn_count; k-- > 0;) more |= add_uses_by(uses, &f->insns[k]);
    }
    for (size_t k = 0; k < f->insn_count && !more; k++) {
        struct ptx_insn *in = &f->insns[k];
        if (ptx_is(in, "ld") && in->operand_count == 2) in->is_copied = uses_of(uses, &in->operands[0]) == STORED;
    }
    return true;
}

bool ptx_mark_copies(struct ptx_module *m, struct rt_error *e)
{
    return ptx_each_body(m, e, false, mark_copies);
}
