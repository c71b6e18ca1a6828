/* What an instruction leaves of numbers that are the same in all threads of a block, though not in all blocks: a
 * minimum, a maximum, some bits, or one of two by a comparison. */
#include <string.h>
#include "runtime/simt/decode.h"

#define MOST 64 /* terms */

/* Is it the same in all threads of a block, as is seen of so many terms at most? */
static bool is_of_block(const struct decoder *d, int term, int *most)
{
    const struct term *t = &d->program->terms[term];
    bool leaf = t->kind <= TERM_SPECIAL, unary = t->kind >= TERM_EXTEND_S && t->kind <= TERM_NARROW;
    if (t->kind >= TERM_EITHER || --*most < 0) return false; /* of a loop, or of several ways */
    if (leaf) return t->kind != TERM_SPECIAL || t->value > SR_TID_Z;
    return is_of_block(d, t->a, most) && (unary || is_of_block(d, t->b, most));
}

static int block_term(struct decoder *d, const struct ptx_operand *o, bool wide)
{
    int term = simt_term_of(d, o, wide), most = MOST;
    return term >= 0 && is_of_block(d, term, &most) ? term : -1;
}

bool simt_read_comparison(const struct ptx_insn *in, struct condition *c, const struct ptx_operand **a,
                          const struct ptx_operand **b, bool *wide, bool *opposite)
{
    static const char *const against[] = {"ge", "hs", "le", "ls", "ne"};
    static const char *const less[] = {"lt", "ge", "lo", "hs"}, *const more[] = {"gt", "le", "hi", "ls"},
                             *const equal[] = {"eq", "ne"}, *const without_sign[] = {"lo", "hs", "hi", "ls"};
    if (strcmp(in->opcode, "setp") != 0 || in->guard >= 0 || in->mod_count != 2 || in->operand_count != 3) return false;
    const char *type = in->mods[1];
    *wide = !strcmp(type + 1, "64");
    if (!strchr("sub", *type) || (!*wide && strcmp(type + 1, "32") != 0) || in->operands[0].kind != PTX_OP_REG)
        return false;
    bool swaps = ONE_OF(in->mods[0], more);
    c->equals = ONE_OF(in->mods[0], equal);
    if (!swaps && !c->equals && !ONE_OF(in->mods[0], less)) return false;
    *a = &in->operands[1 + swaps];
    *b = &in->operands[2 - swaps];
    *opposite = ONE_OF(in->mods[0], against);
    c->is_signed = *type == 's' && !ONE_OF(in->mods[0], without_sign);
    return true;
}

bool simt_read_choice(struct decoder *d, const struct ptx_insn *in, struct choice *c)
{
    const struct ptx_operand *x, *y, *o = in->operands;
    bool leaves = !strcmp(in->opcode, "min") || !strcmp(in->opcode, "max") || !strcmp(in->opcode, "and");
    bool wide, opposite, picks = !strcmp(in->opcode, "selp") && in->operand_count == 4 && in->mod_count == 1;
    c->when.a = -1;
    if (in->guard >= 0 || !(picks || leaves) || !in->mod_count || o->kind != PTX_OP_REG) return false;
    if (!simt_defined_once(d, o->reg)) return false;
    if (!picks) return (c->a = c->b = block_term(d, o, strstr(in->mods[in->mod_count - 1], "64") != NULL)) >= 0;
    if (o[3].kind != PTX_OP_REG || o[3].negate || !simt_defined_once(d, o[3].reg)) return false;
    if (!simt_read_comparison(&d->f->insns[d->defined_by[o[3].reg]], &c->when, &x, &y, &wide, &opposite)) return false;
    c->when.a = block_term(d, x, wide);
    c->when.b = block_term(d, y, wide);
    wide = strstr(in->mods[0], "64") != NULL;
    c->a = block_term(d, &o[1 + opposite], wide);
    c->b = block_term(d, &o[2 - opposite], wide);
    return c->when.a >= 0 && c->when.b >= 0 && c->a >= 0 && c->b >= 0;
}
