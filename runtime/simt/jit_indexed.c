/* Loads of 4-byte elements by an index: mul.wide.s32, add.s64 and ld one behind the other, as compilers write x[i],
 * where all lanes share the base and each has an index of its own. They become one instruction: indices have half the
 * bits of addresses, so that they are compared with the allocation's bounds, and its elements gathered, in half the
 * steps. Where an index is outside, the interpreter goes on at the first of the three. */
#include "runtime/simt/jit_build.h"

/* Are the three from n on such a load? */
static bool is_indexed(const struct jit *j, const struct jit_insn *n)
{
    const struct jit_insn *sum = n + 1, *load = n + 2;
    if (simt_jit_is_avx2(j) || j->watch || load >= j->code + j->block->end) return false;
    if (n->kind != JK_INTEGER || n->op != JI_WIDE_S || n->write_count != 1 || n->guarded) return false;
    if (sum->kind != JK_INTEGER || sum->op != JI_ADD || !sum->wide || sum->write_count != 1 || sum->guarded)
        return false;
    if (load->kind != JK_LOAD || load->op || load->wide || load->guarded || load->loose || load->ahead) return false;
    if (load->i->size != 4 || load->i->count != 1 || load->write_count != 1 || load->i->flags & F_SPIN) return false;
    int product = sum->reads[1] == n->writes[0];
    return load->i->imm == (int32_t)load->i->imm && sum->reads[product] == n->writes[0] && sum->dies >> product & 1 &&
           sum->reads[!product] != n->writes[0] && load->reads[0] == sum->writes[0] && load->dies & 1 &&
           simt_jit_power(form_of_read(j, n, 1)) == 2;
}

/* Is the index any, and the base one number in a register? */
static bool fits(const struct jit *j, const struct jit_insn *n, uint16_t base)
{
    struct jit_form f = j->places[base].form;
    return form_of_read(j, n, 0).kind == FORM_ANY && j->slots[n->reads[0]].class == 'w' &&
           j->slots[base].class == 'q' && f.kind == FORM_LINEAR && form_is_uniform(f);
}

struct moments {
    int low, count, away; /* the first index that is inside, how many are, by how much one is farther */
};

/* Jumps to `out` unless all lanes' elements lie in the range: its bounds as indices, which must be numbers of 32 bits,
 * the one behind the last, too. */
static void check(struct jit *j, const struct jit_insn *load, const int *index, int base, const struct moments *t,
                  uint32_t range, int out)
{
    const struct x86_vop sub_w = {1, 1, 0, 0xfa}, compare = {3, 1, 0, 0x1e}, any_lane = {1, 0, 0, 0x98};
    struct x86 *x = &j->x;
    x86_rm(x, ALU_MOV, true, RAX, simt_jit_range_at(range, offsetof(struct jit_range, low)));
    x86_rm(x, ALU_MOV, true, RDX, simt_jit_range_at(range, offsetof(struct jit_range, room)));
    x86_rr(x, ALU_SUB, true, RAX, base);
    x86_imm(x, ALU_SUB, true, RAX, (int32_t)load->i->imm);
    x86_imm(x, ALU_ADD, true, RDX, 3);
    x86_shift_imm(x, SHIFT_RIGHT, true, RDX, 2);
    x86_test_imm(x, RAX, 3);
    x86_jump_if(x, CC_NE, out);
    x86_shift_imm(x, SHIFT_SIGNED, true, RAX, 2);
    x86_movsxd(x, RCX, RAX);
    x86_rr(x, ALU_CMP, true, RCX, RAX);
    x86_jump_if(x, CC_NE, out);
    x86_rr(x, ALU_ADD, true, RCX, RDX);
    x86_imm(x, ALU_CMP, true, RCX, INT32_MAX);
    x86_jump_if(x, CC_G, out);
    simt_jit_spread(j, false, t->low, RAX);
    simt_jit_spread(j, false, t->count, RDX);
    for (int p = 0; p < 2; p++) {
        struct x86_evex outside = {.bits = 512, .mask = j->zone ? simt_jit_mask_from(j, 16 * p, false) : 0, .imm = 5};
        simt_jit_put(j, sub_w, t->away, index[p], t->low);
        x86_evex(x, compare, outside, 1 + p, t->away, t->count);
    }
    x86_vex(x, any_lane, 128, 1, 0, 2, -1);
    x86_jump_if(x, CC_NE, out);
}

/* Behind a check that failed: the range becomes that of the first lane that runs; `none` where there is none. */
static void find_range(struct jit *j, const struct jit_insn *load, const int *index, int base, uint32_t range, int none)
{
    struct x86 *x = &j->x;
    int32_t at = (int32_t)offsetof(struct warp, addresses);
    for (int p = 0; p < 2; p++) simt_jit_store(j, x86_at(REG_WARP, at + 64 * p), index[p]);
    if (j->zone)
        x86_first_bit(x, RAX, REG_MASK);
    else
        x86_load_imm(x, RAX, 0);
    x86_rm(x, ALU_MOV, false, RCX, (struct x86_mem){REG_WARP, RAX, 2, at, -1});
    x86_movsxd(x, RCX, RCX);
    x86_lea(x, true, RCX, (struct x86_mem){base, RCX, 2, (int32_t)load->i->imm, -1});
    x86_load_imm(x, RAX, range);
    x86_load_imm(x, RDX, load->i->size);
    x86_call_label(x, j->fill_label);
    simt_jit_load_masks(j);
    x86_test(x, false, RAX, RAX);
    x86_jump_if(x, CC_E, none);
}

static void gather(struct jit *j, const struct jit_insn *load, const int *index, int base, const int *regs,
                   const struct moments *t)
{
    const struct x86_vop all_lanes = {1, 0, 0, 0x46}, copy_mask = {3, 1, 0, 0x31}, gather_w_w = {2, 1, 0, 0x90},
                         choose = {2, 1, 0, 0x64};
    struct x86 *x = &j->x;
    x86_lea(x, true, RAX, x86_at_index(base, REG_BIAS, 0));
    for (int p = 0; p < 2; p++) {
        struct x86_mem at = {RAX, index[p], 2, (int32_t)load->i->imm, -1};
        if (j->gathers_slowly) {
            if (j->zone) { /* lanes that don't run read the first element */
                struct x86_evex run = {.bits = 512, .mask = simt_jit_mask_from(j, 16 * p, false), .imm = -1};
                x86_evex(x, choose, run, t->away, t->low, index[p]);
                at.index = t->away;
            }
            simt_jit_load_each(j, regs[p], at, 16 * p, t->count);
            continue;
        }
        simt_jit_clear(j, regs[p]);
        if (j->zone)
            x86_vex(x, copy_mask, 128, 1, 0, simt_jit_mask_from(j, 0, false), 16 * p);
        else
            x86_vex(x, all_lanes, 256, 1, 1, 1, -1);
        x86_evex_sib(x, gather_w_w, (struct x86_evex){.bits = 512, .mask = 1, .imm = -1}, regs[p], at);
    }
}

bool simt_jit_load_indexed(struct jit *j, const struct jit_insn *n, int *regs)
{
    struct x86 *x = &j->x;
    const struct jit_insn *sum = n + 1, *load = n + 2;
    if (!is_indexed(j, n)) return false;
    uint16_t slot = sum->reads[sum->reads[0] == n->writes[0]];
    if (!fits(j, n, slot) || simt_jit_walks(j, load)) return false;
    int index[2], base = simt_jit_scalar(j, slot, 0, RDX), miss = x86_label(x), found = x86_label(x);
    for (int p = 0; p < 2; p++) index[p] = simt_jit_part(j, n->reads[0], p);
    for (int p = 0; p < 2; p++) regs[p] = simt_jit_new_vector(j);
    struct moments t = {simt_jit_new_vector(j), simt_jit_new_vector(j), simt_jit_new_vector(j)};
    int leave = simt_jit_leaving(j, JIT_LEFT, false);
    uint32_t range = j->range_count++;
    check(j, load, index, base, &t, range, miss);
    x86_bind(x, found);
    x->now = X86_COLD;
    x86_bind(x, miss);
    find_range(j, load, index, base, range, leave);
    check(j, load, index, base, &t, range, leave);
    x86_jump(x, found);
    x->now = X86_HOT;
    gather(j, load, index, base, regs, &t);
    return true;
}
