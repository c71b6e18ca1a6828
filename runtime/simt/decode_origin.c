/* Which parameter of a kernel, or which __shared__ or __device__ variable, an address is made of, where that can be
 * told from the code alone: then an access past the end of a parameter's array or of a shared variable is known for
 * what it is, even where it hits another one.
 *
 * A register's origin is the parameter that its pointer was loaded from, or the variable, whatever was added to it; all
 * definitions of the register must agree. What is multiplied or shifted is an index and no pointer, and so is what is
 * converted but for a pointer to shared memory that becomes one of 32 bits, or of 64. */
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/decode.h"

#define NO_POINTER (-1)
#define UNKNOWN    (-2) /* several, or from memory */

static int join(int a, int b)
{
    return a == NO_POINTER ? b : b == NO_POINTER || a == b ? a : UNKNOWN;
}

/* Loads a value, or several, of a pointer's size. */
static bool is_parameter(const struct ptx_insn *in)
{
    bool wide = ptx_has_mod_like(in, "u64") || ptx_has_mod_like(in, "b64") || ptx_has_mod_like(in, "s64");
    return !strcmp(in->opcode, "ld") && ptx_has_mod_like(in, "param") && wide && in->operand_count == 2;
}

static bool is_of_bits(const struct ptx_insn *in, const char *bits)
{
    for (size_t k = 0; k < in->mod_count; k++)
        if (strchr("usbf", in->mods[k][0]) && !strcmp(in->mods[k] + 1, bits)) return true;
    return false;
}

/* Loads less than a pointer to what its register could point to: an index. Pointers to shared memory, of 32 bits, are
 * not to be found in global memory. */
static bool is_index(const struct decoder *d, const struct ptx_insn *in)
{
    const struct ptx_operand *to = &in->operands[0];
    if (strcmp(in->opcode, "ld") || !in->operand_count || to->kind != PTX_OP_REG) return false;
    if (is_of_bits(in, "8") || is_of_bits(in, "16")) return true;
    if (to->reg < 0 || (size_t)to->reg >= d->f->reg_count || is_of_bits(in, "64")) return false;
    bool may_be_shared = ptx_type_size(d->f->regs[to->reg].type) < 8;
    return !may_be_shared || simt_has_mod(in, "global") || simt_has_mod(in, "const");
}

/* Counts on in memory, less than a pointer to global memory. */
static bool is_counter(const struct decoder *d, const struct ptx_insn *in)
{
    const struct ptx_operand *to = in->operands;
    if (strcmp(in->opcode, "atom") || !in->operand_count || to->kind != PTX_OP_REG) return false;
    if (to->reg < 0 || (size_t)to->reg >= d->f->reg_count || ptx_type_size(d->f->regs[to->reg].type) == 8) return false;
    return simt_has_mod(in, "add") || simt_has_mod(in, "inc");
}

static int of_symbol(struct decoder *d, const char *name)
{
    struct symbol s;
    if (!simt_find_symbol(d, name, &s)) return UNKNOWN;
    for (uint32_t k = 0; s.space == PTX_GLOBAL && k < d->program->global_count; k++)
        if (!strcmp(d->program->globals[k].name, name)) return GLOBAL_ORIGIN + (int)k;
    if (s.space != PTX_SHARED) return UNKNOWN;
    for (uint32_t k = 0; k < d->program->shared_count; k++) {
        const struct shared_variable *v = &d->program->shared[k];
        if (v->offset == s.value && !strcmp(v->name, name)) return SHARED_ORIGIN + (int)k;
    }
    return UNKNOWN;
}

static int of_operand(struct decoder *d, const struct ptx_operand *o)
{
    if (o->kind == PTX_OP_IMM || o->kind == PTX_OP_SPECIAL) return NO_POINTER;
    if (o->kind == PTX_OP_SYMBOL) return of_symbol(d, o->symbol);
    if (o->kind != PTX_OP_REG || o->reg < 0 || (size_t)o->reg >= d->f->reg_count) return UNKNOWN;
    return d->origins[o->reg];
}

/* Of what the instruction reads, up to operand `last`, together. */
static int of_operands(struct decoder *d, const struct ptx_insn *in, size_t last)
{
    int origin = NO_POINTER;
    for (size_t k = 1; k <= last; k++)
        origin = k < in->operand_count ? join(origin, of_operand(d, &in->operands[k])) : UNKNOWN;
    return origin;
}

/* The parameter's offset in the buffer of arguments. */
static int of_parameter(struct decoder *d, const struct ptx_insn *in)
{
    const struct ptx_operand *from = &in->operands[in->operand_count - 1];
    struct symbol s;
    if (from->kind != PTX_OP_ADDRESS || !from->symbol || !simt_find_symbol(d, from->symbol, &s) || !s.entry_param)
        return UNKNOWN;
    int64_t offset = (int64_t)s.value + from->imm;
    return offset >= 0 && offset < GLOBAL_ORIGIN ? (int)offset : UNKNOWN;
}

/* Pointers to shared memory are both of 32 and of 64 bits. A number of 32 bits that nothing is known of is an index
 * where it is made longer; one made shorter stays unknown, since it may be one of several pointers. */
static int of_conversion(struct decoder *d, const struct ptx_insn *in)
{
    if (in->operand_count != 2 || in->mod_count < 2) return NO_POINTER;
    const char *to = in->mods[in->mod_count - 2], *from = in->mods[in->mod_count - 1];
    bool longer = !strcmp(to + 1, "64") && !strcmp(from + 1, "32"),
         shorter = !strcmp(to + 1, "32") && !strcmp(from + 1, "64");
    if (!strchr("us", *to) || !strchr("us", *from) || !(longer || shorter)) return NO_POINTER;
    int origin = of_operand(d, &in->operands[1]);
    return origin == UNKNOWN && longer ? NO_POINTER : origin;
}

static int of_result(struct decoder *d, const struct ptx_insn *in)
{
    static const char *const keep_both[] = {"add", "and", "or", "selp"}, *const keep[] = {"mov", "cvta"},
                             *const indices[] = {"mul", "shl",  "shr", "bfe", "bfi",   "div",
                                                 "rem", "popc", "clz", "neg", "bfind", "vote"},
                             *const of_indices[] = {"xor", "min", "max", "not", "abs"};
    if (is_parameter(in)) return of_parameter(d, in);
    if ((!strcmp(in->opcode, "ld") && ptx_has_mod_like(in, "param")) || is_index(d, in) || is_counter(d, in))
        return NO_POINTER;
    if (!strcmp(in->opcode, "mad") && in->operand_count == 4) return of_operand(d, &in->operands[3]);
    if (!strcmp(in->opcode, "sub") && in->operand_count == 3 && of_operand(d, &in->operands[2]) == NO_POINTER)
        return of_operand(d, &in->operands[1]);
    if (!strcmp(in->opcode, "cvt")) return of_conversion(d, in);
    if (ONE_OF(in->opcode, keep)) return of_operands(d, in, 1);
    if (ONE_OF(in->opcode, keep_both)) return of_operands(d, in, 2);
    if (ONE_OF(in->opcode, of_indices) && of_operands(d, in, in->operand_count - 1) == NO_POINTER) return NO_POINTER;
    return ONE_OF(in->opcode, indices) ? NO_POINTER : UNKNOWN;
}

static bool note(struct decoder *d, const struct ptx_operand *to, int origin)
{
    if (to->kind != PTX_OP_REG || to->reg < 0 || (size_t)to->reg >= d->f->reg_count) return false;
    int *of = &d->origins[to->reg], joined = join(*of, origin);
    bool changed = *of != joined;
    *of = joined;
    return changed;
}

static bool flow(struct decoder *d, const struct ptx_insn *in)
{
    if (!in->operand_count) return false;
    const struct ptx_operand *to = &in->operands[0];
    int origin = of_result(d, in);
    bool changed = note(d, to, origin);
    for (size_t k = 0; k < to->item_count; k++)
        changed |= note(d, &to->items[k], is_parameter(in) && origin >= 0 ? origin + 8 * (int)k : UNKNOWN);
    return changed;
}

bool simt_find_origins(struct decoder *d)
{
    free(d->origins);
    d->origins = NULL;
    d->origins = rt_alloc((d->f->reg_count + 1) * sizeof *d->origins);
    if (!d->origins) return simt_decode_fail(d, RT_NOMEM, "out of host memory");
    for (size_t k = 0; k < d->f->reg_count; k++) d->origins[k] = NO_POINTER;
    bool changed = true;
    while (changed) { /* origins only ever move up, twice each */
        changed = false;
        for (size_t k = 0; k < d->f->insn_count; k++) changed |= flow(d, &d->f->insns[k]);
    }
    return true;
}

int simt_origin_of(struct decoder *d, const struct ptx_operand *o)
{
    if (!d->origins || o->kind != PTX_OP_ADDRESS) return -1;
    int origin = o->symbol ? of_symbol(d, o->symbol) : UNKNOWN;
    if (!o->symbol && o->reg >= 0 && (size_t)o->reg < d->f->reg_count) origin = d->origins[o->reg];
    return origin < 0 ? -1 : origin;
}

int simt_origin_of_first(struct decoder *d, const struct ptx_insn *in)
{
    for (size_t k = 0; k < in->operand_count; k++)
        if (in->operands[k].kind == PTX_OP_ADDRESS) return simt_origin_of(d, &in->operands[k]);
    return -1;
}
