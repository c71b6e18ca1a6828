/* Exchanges between the lanes of a full warp: shuffles whose pattern is known, votes. */
#include "runtime/simt/jit_build.h"

/* Which lane each one reads, as op_shfl does it; returns the lanes whose source is in range. */
static uint32_t shuffle_pattern(uint32_t mode, uint32_t b, uint32_t c, uint32_t from[SIMT_WARP])
{
    uint32_t segment = c >> 8 & 31, clamp = c & 31, delta = b & 31, inside = 0;
    for (uint32_t l = 0; l < SIMT_WARP; l++) {
        uint32_t least = l & segment, most = least | (clamp & ~segment);
        uint32_t to = mode == 0   ? l - delta
                      : mode == 1 ? l + delta
                      : mode == 2 ? l ^ delta
                                  : least | (delta & ~segment);
        bool ok = mode == 0 ? l >= delta + most : to <= most; /* up: the clamp is the lowest lane */
        from[l] = ok ? to : l;
        inside |= (uint32_t)ok << l;
    }
    return inside;
}

static void permute(struct jit *j, const int *parts, const uint32_t from[SIMT_WARP], int *regs)
{
    const struct x86_vop permute_both = {2, 1, 0, 0x76}; /* vpermi2d */
    for (int k = 0; k < 2; k++) {
        regs[k] = simt_jit_new_vector(j);
        simt_jit_load(j, regs[k], x86_at_label(x86_constant(&j->x, from + 16 * k)));
        simt_jit_put(j, permute_both, regs[k], parts[0], parts[1]);
    }
}

/* Lane by lane from another one, of 4 bytes each. */
static void exchange(struct jit *j, uint16_t slot, const uint32_t from[SIMT_WARP], int *regs)
{
    int parts[JIT_PARTS] = {0};
    for (int k = 0; k < simt_jit_part_count(j, false); k++) parts[k] = simt_jit_part(j, slot, k);
    if (simt_jit_is_avx2(j))
        simt_jit_avx2_shuffle(j, parts, from, regs);
    else
        permute(j, parts, from, regs);
}

void simt_jit_repeat_loaded(struct jit *j, const struct jit_insn *n)
{
    uint32_t from[SIMT_WARP];
    int regs[JIT_PARTS];
    for (uint32_t l = 0; l < SIMT_WARP; l++) from[l] = simt_repeated_lane(j->last, l);
    for (int w = 0; w < n->write_count; w++) {
        struct jit_form f = j->places[n->writes[w]].form;
        if (form_is_uniform(f)) continue;
        j->failed |= form_is_scalar(f) || n->wide; /* there are none */
        j->gpr_pins = j->vector_pins = 0;
        exchange(j, n->writes[w], from, regs);
        simt_jit_define_vector(j, n->writes[w], regs);
    }
}

void simt_jit_shuffle(struct jit *j, const struct jit_insn *n)
{
    uint32_t from[SIMT_WARP];
    uint32_t inside =
        shuffle_pattern(n->i->mode, (uint32_t)form_of_read(j, n, 1).step, (uint32_t)form_of_read(j, n, 2).step, from);
    int regs[JIT_PARTS], p[2] = {0, 0}, w = 0;
    if (n->i->d2 != SLOT_SINK) {
        p[0] = simt_jit_new_gpr(j);
        x86_load_imm(&j->x, p[0], inside);
    }
    exchange(j, n->reads[0], from, regs);
    simt_jit_define_vector(j, n->writes[w++], regs);
    if (n->i->d2 != SLOT_SINK) simt_jit_define_scalar(j, n->writes[w], (struct jit_form){FORM_ANY, 0, 0, 0}, p);
}

void simt_jit_vote(struct jit *j, const struct jit_insn *n)
{
    enum { BALLOT, ALL, ANY, SAME };
    struct x86 *x = &j->x;
    if (!n->write_count) return;
    int p = simt_jit_predicate(j, n->reads[0]), r[2] = {simt_jit_new_gpr(j), 0};
    if (n->i->mode == BALLOT) {
        x86_rr(x, ALU_MOV, false, r[0], p);
    } else {
        if (n->i->mode == ANY)
            x86_test(x, false, p, p);
        else
            x86_imm(x, ALU_CMP, false, p, -1);
        x86_setcc(x, n->i->mode == ANY ? CC_NE : CC_E, RAX);
        if (n->i->mode == SAME) {
            x86_test(x, false, p, p);
            x86_setcc(x, CC_E, RCX);
            x86_rr(x, ALU_OR, false, RAX, RCX);
        }
        x86_movzx_byte(x, r[0], RAX);
        x86_unary(x, UNARY_NEG, false, r[0]);
    }
    simt_jit_define_scalar(j, n->writes[0], (struct jit_form){FORM_LINEAR, 0, 0, 0}, r);
}
