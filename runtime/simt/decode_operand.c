/* Where a program's values live: slots of a frame for registers, temporaries and immediates, and what symbols stand
 * for.
 */
#include <stdio.h>
#include <string.h>
#include "runtime/simt/decode.h"

/* ---- frames ---- */
char simt_class_of(enum ptx_type t)
{
    return t == PTX_PRED ? 'p' : ptx_type_size(t) <= 4 ? 'w' : ptx_type_size(t) == 8 ? 'q' : 'x';
}

uint32_t simt_new_slot(struct decoder *d, char class)
{
    uint32_t bytes = class == 'p' ? 4 : class == 'w' ? 4 * SIMT_WARP : class == 'q' ? 8 * SIMT_WARP : 16 * SIMT_WARP;
    uint32_t align = bytes < 64 ? bytes : 64, slot = (d->fn->frame_bytes + align - 1) & ~(align - 1);
    d->fn->frame_bytes = slot + bytes;
    if (d->fn->is_entry) return slot;
    if (simt_grow(d, &d->fn->slots, d->fn->slot_count, &d->slot_capacity, sizeof *d->fn->slots))
        d->fn->slots[d->fn->slot_count++] = (struct slot){slot, class};
    else
        d->slots_lost = true;
    return slot;
}

bool simt_temp(struct decoder *d, char class, uint32_t *slot)
{
    int k = class == 'p' ? 0 : class == 'w' ? 1 : 2;
    if (d->temp_used[k] == MOST_TEMPS)
        return simt_decode_fail(d, RT_UNSUPPORTED, "too many operands in one instruction");
    if (d->temp_used[k] == d->temp_count[k]) d->temps[k][d->temp_count[k]++] = simt_new_slot(d, class);
    *slot = d->temps[k][d->temp_used[k]++];
    return true;
}

bool simt_constant(struct decoder *d, uint64_t value, char class, uint32_t *slot)
{
    struct simt_program *p = d->program;
    bool wide = class == 'q';
    if (class == 'p') {
        if (value) {
            *slot = SLOT_TRUE;
            return true;
        }
        class = 'w';
    }
    if (!wide) value = (uint32_t)value;
    for (uint32_t k = d->fn->const_first; k < p->constant_count; k++) {
        struct constant *c = &p->constants[k];
        if (c->value == value && c->wide == wide) {
            *slot = c->slot;
            return true;
        }
    }
    if (!simt_grow(d, &p->constants, p->constant_count, &d->constant_capacity, sizeof *p->constants)) return false;
    *slot = simt_new_slot(d, class);
    p->constants[p->constant_count++] = (struct constant){*slot, wide, value};
    d->fn->const_count++;
    return true;
}

/* ---- symbols ---- */
bool simt_find_symbol(struct decoder *d, const char *name, struct symbol *out)
{
    const struct ptx_func *f = d->f;
    for (size_t k = 0; f && k < f->var_count; k++)
        if (!strcmp(f->vars[k].name, name)) {
            const struct ptx_var *v = &f->vars[k];
            bool local = v->space == PTX_LOCAL || v->space == PTX_PARAM;
            *out = (struct symbol){local ? PTX_LOCAL : v->space, d->var_offset[k], local, false, v->size};
            return true;
        }
    for (size_t k = 0; f && k < f->param_count; k++)
        if (!strcmp(f->params[k].name, name)) {
            *out = (struct symbol){f->is_entry ? PTX_PARAM : PTX_LOCAL, d->fn->param_offset[k], !f->is_entry,
                                   f->is_entry, f->params[k].size};
            return true;
        }
    for (size_t k = 0; f && k < f->return_count; k++)
        if (!strcmp(f->returns[k].name, name)) {
            *out = (struct symbol){PTX_LOCAL, d->fn->return_offset[k], true, false, f->returns[k].size};
            return true;
        }
    const struct ptx_module *m = d->module;
    for (size_t k = 0; k < m->var_count; k++)
        if (!strcmp(m->vars[k].name, name)) {
            *out = (struct symbol){m->vars[k].space, d->var_address[k], false, false, m->vars[k].size};
            return true;
        }
    for (size_t k = 0; k < m->func_count; k++)
        if (!strcmp(m->funcs[k].name, name) && m->funcs[k].has_body) {
            *out = (struct symbol){PTX_GENERIC, FUNCTION_BASE + 16 * k, false, false, 0};
            return true;
        }
    return false;
}

/* ---- operands ---- */
char simt_operand_class(const struct decoder *d, const struct ptx_operand *o)
{
    if (o->kind != PTX_OP_REG || o->reg < 0 || (size_t)o->reg >= d->f->reg_count) return 0;
    return d->classes[o->reg];
}

static uint64_t immediate_bits(const struct ptx_operand *o, enum ptx_type type)
{
    uint64_t bits = (uint64_t)o->imm;
    double x;
    float y;
    if (o->imm_type == PTX_F64 && type == PTX_F32) {
        memcpy(&x, &bits, 8);
        y = (float)x;
        uint32_t narrow;
        memcpy(&narrow, &y, 4);
        return narrow;
    }
    if (o->imm_type == PTX_F32 && type == PTX_F64) {
        uint32_t narrow = (uint32_t)bits;
        memcpy(&y, &narrow, 4);
        x = (double)y;
        memcpy(&bits, &x, 8);
    }
    return bits;
}

static const char *class_name(char class)
{
    return class == 'p'   ? "a predicate"
           : class == 'w' ? "a register of at most 32 bits"
           : class == 'q' ? "a register of 64 bits"
                          : "a register of 128 bits";
}

static bool source_register(struct decoder *d, const struct ptx_operand *o, char class, enum ptx_type type,
                            uint32_t *slot)
{
    char have = simt_operand_class(d, o);
    if (o->select)
        return simt_decode_fail(d, RT_COMPILE, "%s: a part of a register, .%s, cannot stand here", d->in->opcode,
                                o->select);
    if (have != class)
        return simt_decode_fail(d, RT_COMPILE, "%s: expected %s, got %s", d->in->opcode, class_name(class),
                                have ? d->f->regs[o->reg].name : "something else");
    *slot = d->slots[o->reg];
    if (!o->negate) return true;
    uint32_t from = *slot;
    if (!simt_temp(d, class, slot)) return false;
    char key[32];
    if (class == 'p')
        strcpy(key, "not.pred");
    else if (type == PTX_F32 || type == PTX_F64)
        snprintf(key, sizeof key, "neg.%s", ptx_type_name(type));
    else
        strcpy(key, class == 'w' ? "neg.s32" : "neg.s64");
    struct insn *i = simt_emit_key(d, key);
    if (!i) return false;
    i->a = i->b = from;
    i->d = *slot;
    return true;
}

static const struct {
    const char *name;
    enum special special;
} specials[] = {
    {"tid.x", SR_TID_X},
    {"tid.y", SR_TID_Y},
    {"tid.z", SR_TID_Z},
    {"ntid.x", SR_NTID_X},
    {"ntid.y", SR_NTID_Y},
    {"ntid.z", SR_NTID_Z},
    {"ctaid.x", SR_CTAID_X},
    {"ctaid.y", SR_CTAID_Y},
    {"ctaid.z", SR_CTAID_Z},
    {"nctaid.x", SR_NCTAID_X},
    {"nctaid.y", SR_NCTAID_Y},
    {"nctaid.z", SR_NCTAID_Z},
    {"laneid", SR_LANEID},
    {"warpid", SR_WARPID},
    {"nwarpid", SR_NWARPID},
    {"smid", SR_SMID},
    {"nsmid", SR_NSMID},
    {"gridid", SR_GRIDID},
    {"lanemask_eq", SR_LANEMASK_EQ},
    {"lanemask_le", SR_LANEMASK_LE},
    {"lanemask_lt", SR_LANEMASK_LT},
    {"lanemask_ge", SR_LANEMASK_GE},
    {"lanemask_gt", SR_LANEMASK_GT},
    {"clock", SR_CLOCK},
    {"clock64", SR_CLOCK64},
    {"clock_hi", SR_GLOBALTIMER_HI},
    {"globaltimer", SR_GLOBALTIMER},
    {"globaltimer_lo", SR_GLOBALTIMER_LO},
    {"globaltimer_hi", SR_GLOBALTIMER_HI},
    {"dynamic_smem_size", SR_DYNAMIC_SMEM},
    {"total_smem_size", SR_TOTAL_SMEM},
    {"envreg0", SR_ZERO},
    {"envreg1", SR_ENVREG1}, /* the two halves of the address of a cooperative grid's workspace */
    {"envreg2", SR_ENVREG2},
    {"clusterid.x", SR_CLUSTERID_X},
    {"clusterid.y", SR_CLUSTERID_Y},
    {"clusterid.z", SR_CLUSTERID_Z},
    {"nclusterid.x", SR_NCLUSTERID_X},
    {"nclusterid.y", SR_NCLUSTERID_Y},
    {"nclusterid.z", SR_NCLUSTERID_Z},
    {"cluster_ctaid.x", SR_CLUSTER_CTAID_X},
    {"cluster_ctaid.y", SR_CLUSTER_CTAID_Y},
    {"cluster_ctaid.z", SR_CLUSTER_CTAID_Z},
    {"cluster_nctaid.x", SR_CLUSTER_NCTAID_X},
    {"cluster_nctaid.y", SR_CLUSTER_NCTAID_Y},
    {"cluster_nctaid.z", SR_CLUSTER_NCTAID_Z},
    {"reserved_smem_offset_begin", SR_ZERO},
    {"reserved_smem_offset_0", SR_ZERO},
    {"reserved_smem_offset_1", SR_RESERVED_MIDDLE},
    {"reserved_smem_offset_end", SR_RESERVED_END},
    {"reserved_smem_offset_cap", SR_RESERVED_END},
    {"aggr_smem_size", SR_TOTAL_SMEM},
    {"current_graph_exec", SR_ZERO},
    {"cluster_ctarank", SR_CLUSTER_CTARANK},
    {"cluster_nctarank", SR_CLUSTER_NCTARANK},
};

bool simt_find_special(const char *name, enum special *out)
{
    for (size_t k = 0; k < sizeof specials / sizeof *specials; k++) {
        if (strcmp(specials[k].name, name)) continue;
        *out = specials[k].special;
        return true;
    }
    /* The driver's registers and the performance counters: nothing is set, nothing is counted. */
    int n, end = 0;
    bool zero = (sscanf(name, "envreg%2d%n", &n, &end) == 1 && n < 32 && !name[end]) ||
                (sscanf(name, "pm%1d%n", &n, &end) == 1 && n < 8 && (!name[end] || !strcmp(name + end, "_64")));
    *out = SR_ZERO;
    return zero;
}

struct insn *simt_emit_special(struct decoder *d, const char *name, char class, uint32_t slot)
{
    enum special special;
    if (!simt_find_special(name, &special)) {
        simt_decode_fail(d, RT_UNSUPPORTED, "the software GPU does not know the special register %%%s", name);
        return NULL;
    }
    struct insn *i = simt_emit(d, simt_op_special);
    if (!i) return NULL;
    i->d = slot;
    if (special == SR_ENVREG1 || special == SR_ENVREG2) d->program->asks_for_workspace = true;
    i->mode = (uint8_t)special;
    i->size = class == 'q' ? 8 : 4;
    return i;
}

static bool source_special(struct decoder *d, const struct ptx_operand *o, char class, uint32_t *slot)
{
    return simt_temp(d, class, slot) && simt_emit_special(d, o->symbol, class, *slot);
}

/* Was the launch one of clusters? */
static bool source_explicit(struct decoder *d, uint32_t *slot)
{
    if (!simt_temp(d, 'p', slot)) return false;
    struct insn *i = simt_emit(d, simt_op_explicit_cluster);
    if (i) i->d = *slot;
    return i != NULL;
}

static bool source_symbol(struct decoder *d, const struct ptx_operand *o, char class, uint32_t *slot)
{
    struct symbol s;
    if (!simt_find_symbol(d, o->symbol, &s))
        return simt_decode_fail(d, RT_COMPILE, "%s is not defined in this module", o->symbol);
    if (!s.frame) return simt_constant(d, s.value + (uint64_t)o->imm, class, slot);
    if (!simt_temp(d, class, slot)) return false;
    struct insn *i = simt_emit(d, simt_op_local_address);
    if (!i) return false;
    i->d = *slot;
    i->imm = (int64_t)s.value + o->imm;
    i->size = class == 'q' ? 8 : 4;
    return true;
}

bool simt_source(struct decoder *d, const struct ptx_operand *o, char class, enum ptx_type type, uint32_t *slot)
{
    switch (o->kind) {
    case PTX_OP_REG: return source_register(d, o, class, type, slot);
    case PTX_OP_IMM: return simt_constant(d, immediate_bits(o, type), class, slot);
    case PTX_OP_SPECIAL:
        if (class != 'p') return source_special(d, o, class, slot);
        if (!strcmp(o->symbol, "is_explicit_cluster")) return source_explicit(d, slot);
        break;
    case PTX_OP_SYMBOL:
        if (class != 'p') return source_symbol(d, o, class, slot);
        break;
    default: break;
    }
    return simt_decode_fail(d, RT_COMPILE, "%s: expected %s as operand", d->in->opcode, class_name(class));
}

bool simt_destination(struct decoder *d, const struct ptx_operand *o, char class, uint32_t *slot)
{
    if (o->kind == PTX_OP_SINK) {
        if (class != 'p') return simt_temp(d, class, slot);
        *slot = SLOT_SINK;
        return true;
    }
    if (o->kind != PTX_OP_REG)
        return simt_decode_fail(d, RT_COMPILE, "%s: expected %s as destination", d->in->opcode, class_name(class));
    struct ptx_operand plain = *o;
    plain.negate = false;
    return source_register(d, &plain, class, PTX_NONE, slot);
}

bool simt_wide_source(struct decoder *d, const struct ptx_operand *o, uint32_t slots[2])
{
    if (o->kind == PTX_OP_IMM)
        return simt_constant(d, (uint64_t)o->imm, 'q', &slots[0]) &&
               simt_constant(d, o->imm_type == PTX_S64 && o->imm < 0 ? UINT64_MAX : 0, 'q', &slots[1]);
    if (!simt_source(d, o, 'x', PTX_B128, &slots[0])) return false;
    slots[1] = slots[0] + 8 * SIMT_WARP;
    return true;
}

bool simt_wide_destination(struct decoder *d, const struct ptx_operand *o, uint32_t slots[2])
{
    if (o->kind == PTX_OP_SINK) return simt_temp(d, 'q', &slots[0]) && simt_temp(d, 'q', &slots[1]);
    if (!simt_destination(d, o, 'x', &slots[0])) return false;
    slots[1] = slots[0] + 8 * SIMT_WARP;
    return true;
}

/* ---- offsets at hand ---- */
void simt_forget_narrowed(struct decoder *d, int reg)
{
    for (int k = 0; k < 8; k++)
        if (reg < 0 || d->narrowed[k].reg == reg) d->narrowed[k].reg = -1;
}

bool simt_narrow(struct decoder *d, int reg, uint32_t *slot)
{
    for (int k = 0; k < 8; k++)
        if (d->narrowed[k].reg == reg) {
            *slot = d->narrowed[k].slot;
            return true;
        }
    uint32_t k = d->narrowed_next++ % 8;
    if (!d->narrowed[k].slot) d->narrowed[k].slot = simt_new_slot(d, 'w');
    struct insn *i = simt_emit_key(d, "cvt.u32.u64"); /* truncated, as PTX says */
    if (!i) return false;
    i->a = d->slots[reg];
    i->d = *slot = d->narrowed[k].slot;
    d->narrowed[k].reg = reg;
    return true;
}

/* The first operand is what an instruction writes. */
void simt_forget_written(struct decoder *d)
{
    const struct ptx_operand *o = d->in->operands;
    if (!d->in->operand_count) return;
    if (o->kind == PTX_OP_REG) simt_forget_narrowed(d, o->reg);
    for (size_t k = 0; k < o->item_count; k++)
        if (o->items[k].kind == PTX_OP_REG) simt_forget_narrowed(d, o->items[k].reg);
}
