/* Lane 0 alone, where lanes have parted and there is a loop: `if (threadIdx.x == 0)` before what is done one after the
 * other. Code for 32 lanes of which one runs would take ten times as long as what that lane does.
 *
 * What a zone (jit_masked.c) holds is written once more for it. Each slot then has one number, that of lane 0, which
 * lies in the frame where that of a linear slot does: so nearly all is as for values that all lanes share, only that
 * the frame's other lanes stay as they are. What has to be a vector has one part, of which lane 0 counts. At the end of
 * a block all is in the frame as where some lanes run, and wherever others may join in it is that code which goes on.
 *
 * With AVX2, where 32 lanes are four vectors or eight. */
#include "runtime/simt/jit_build.h"

#define MOST_OFFSET (1 << 30)

bool simt_jit_may_be_alone(const struct jit *j, const struct jit_zone *z)
{
    if (!simt_jit_is_avx2(j)) return false;
    for (uint32_t k = j->blocks[z->first].start; k < j->blocks[z->join].start; k++)
        if (j->code[k].loose || j->code[k].turned) return false;
    return true;
}

/* ---- lane 0 of a register ---- */
void simt_jit_first_lane(struct jit *j, bool wide, int gpr, int vector)
{
    x86_vex(&j->x, (struct x86_vop){1, 1, wide, 0x7e}, 128, vector, 0, gpr, -1);
}

void simt_jit_store_first(struct jit *j, bool wide, struct x86_mem m, int vector)
{
    x86_vex_mem(&j->x, (struct x86_vop){1, 1, wide, 0x7e}, 128, vector, 0, m, -1);
}

void simt_jit_settle(struct jit *j, int reg)
{
    x86_imm(&j->x, ALU_AND, false, reg, 1);
    x86_unary(&j->x, UNARY_NEG, false, reg);
}

/* ---- accesses ---- */
static bool is_access(const struct jit *j, const struct jit_insn *n)
{
    const struct insn *i = n->i;
    bool watched = simt_jit_is_watched(j, i), whole = i->size == (n->wide ? 8 : 4);
    if (n->guarded || i->flags & F_SPIN || i->imm >= MOST_OFFSET || i->imm <= -MOST_OFFSET) return false;
    if (n->op > 2 || (n->op == 2 ? !simt_jit_is_local(j, n) : (i->flags & F_FRAME) != 0)) return false;
    if (n->kind == JK_LOAD && n->write_count != i->count) return false;
    if (!watched || n->op == 2) return true;
    return i->count == 1 && simt_jit_may_ask(j, n) && (whole || !n->op);
}

/* rcx: where it lies in global memory. Behind it rcx is an address of the device. */
static void check_global(struct jit *j, const struct jit_insn *n, int base, int otherwise)
{
    struct x86 *x = &j->x;
    const int32_t imm = (int32_t)n->i->imm, bytes = n->i->size * n->i->count;
    const bool watched = simt_jit_is_watched(j, n->i), asks = watched && n->kind == JK_STORE;
    uint32_t index = j->range_count++;
    int miss = x86_label(x), found = x86_label(x);
    if (!asks) {
        x86_lea(x, true, RCX, x86_at(base, imm));
        if (bytes > 1) {
            x86_test_imm(x, RCX, bytes - 1);
            x86_jump_if(x, CC_NE, otherwise);
        }
        x86_rr(x, ALU_MOV, true, RDX, RCX);
        x86_rm(x, ALU_SUB, true, RDX, simt_jit_range_at(index, offsetof(struct jit_range, low)));
        x86_rm(x, ALU_CMP, true, RDX, simt_jit_range_at(index, offsetof(struct jit_range, room)));
        x86_jump_if(x, CC_AE, miss);
    }
    if (watched) {
        simt_jit_ask_scattered(j, n, index, miss, otherwise);
    } else {
        x86_bind(x, found);
        x->now = X86_COLD;
        x86_bind(x, miss);
        x86_load_imm(x, RAX, index);
        x86_load_imm(x, RDX, (uint64_t)bytes);
        x86_call_label(x, j->fill_label);
        x86_test(x, false, RAX, RAX);
        x86_jump_if(x, CC_NE, found);
        x86_jump(x, otherwise);
        x->now = X86_HOT;
    }
    x86_lea(x, true, RCX, x86_at(base, imm));
}

/* Behind it rcx is an offset into shared memory, or into the warp's local memory. */
static void check_window(struct jit *j, const struct jit_insn *n, int base, int otherwise)
{
    struct x86 *x = &j->x;
    const int32_t bytes = n->i->size * n->i->count;
    const bool local = n->op == 2;
    size_t limit = local ? offsetof(struct worker, local_bytes) : offsetof(struct worker, shared_bytes);
    if (!local && simt_jit_is_watched(j, n->i)) simt_jit_call_scattered(j, n, (struct jit_row){-1, -1}, 0, otherwise);
    x86_lea(x, false, RCX, x86_at(base, (int32_t)n->i->imm));
    if (n->i->flags & F_FRAME) x86_rm(x, ALU_ADD, false, RCX, OF_WARP(local_base));
    x86_rm(x, ALU_MOV, false, RDX, x86_at(REG_WORKER, (int32_t)limit));
    x86_imm(x, ALU_SUB, false, RDX, bytes - 1);
    x86_jump_if(x, CC_BE, otherwise);
    x86_rr(x, ALU_CMP, false, RCX, RDX);
    x86_jump_if(x, CC_AE, otherwise);
    if (bytes > 1) {
        x86_test_imm(x, RCX, bytes - 1);
        x86_jump_if(x, CC_NE, otherwise);
    }
    if (local) x86_rm(x, ALU_ADD, false, RCX, simt_jit_local_of(0));
}

static struct x86_mem element(const struct jit_insn *n, int e)
{
    int with = n->op == 0 ? REG_BIAS : n->op == 1 ? REG_SHARED : RDX;
    return x86_at_index(with, RCX, e * n->i->size);
}

static void store_element(struct jit *j, const struct jit_insn *n, int e, int reg)
{
    const int size = n->i->size;
    if (size >= 4) {
        x86_store(&j->x, size == 8, element(n, e), reg);
        return;
    }
    x86_rr(&j->x, ALU_MOV, false, RAX, reg); /* not all have bytes */
    x86_store_part(&j->x, element(n, e), RAX, size);
}

bool simt_jit_alone_access(struct jit *j, const struct jit_insn *n)
{
    struct x86 *x = &j->x;
    const struct insn *i = n->i;
    const struct jit_form f = form_of_read(j, n, 0), one = {FORM_LINEAR, 0, 0, 0};
    const bool load = n->kind == JK_LOAD, real = load && i->size == (n->wide ? 8 : 4) && i->type >= PTX_F16;
    int regs[4] = {0}, base;
    if (!is_access(j, n)) return false;
    if (f.kind == FORM_CONST) { /* kept out of the way of the checks */
        base = simt_jit_new_gpr(j);
        x86_load_imm(x, base, n->op ? (uint32_t)f.step : (uint64_t)f.step);
    } else {
        base = simt_jit_scalar(j, n->reads[0], 0, RAX);
    }
    for (int e = 0; e < i->count && real; e++) regs[e] = simt_jit_new_vector(j);
    for (int e = 0; e < i->count && load && !real; e++) regs[e] = simt_jit_new_gpr(j);
    int otherwise = simt_jit_otherwise(j, n);
    if (n->op)
        check_window(j, n, base, otherwise);
    else
        check_global(j, n, base, otherwise);
    if (n->op == 2) x86_rm(x, ALU_MOV, true, RDX, OF_WARP(local));
    for (int e = 0; e < i->count; e++) {
        if (real)
            simt_jit_spread_from(j, n->wide, regs[e], element(n, e));
        else if (load)
            x86_load_part(x, regs[e], element(n, e), i->size, n->detail, n->wide);
        else
            store_element(j, n, e, simt_jit_scalar(j, n->reads[1 + e], 0, RAX));
    }
    for (int e = 0; load && e < i->count; e++) {
        if (real)
            simt_jit_define_vector(j, n->writes[e], &regs[e]);
        else
            simt_jit_define_scalar(j, n->writes[e], one, (const int[2]){regs[e], 0});
    }
    simt_jit_end_otherwise(j);
    return true;
}

/* ---- blocks ---- */
void simt_jit_leave_alone(struct jit *j)
{
    for (uint32_t s = 0; s < j->slot_count; s++) {
        bool kept = in_set(j->zone->alive, s) && !in_set(j->zone->merged, s);
        if (j->slots[s].fixed || (!kept && !in_set(j->live, s))) continue;
        struct jit_place was = j->places[s];
        if (kept) { /* all lanes, as they were before they parted */
            j->alone = false;
            simt_jit_at_home(j, (uint16_t)s, j->zone->forms[s]);
        }
        simt_jit_write_all(j, (uint16_t)s);
        j->alone = true;
        j->places[s] = was;
    }
}

/* Where it doesn't go back others may wait, or join in. */
static void end_alone(struct jit *j, const struct jit_insn *n)
{
    simt_jit_end_parted(j, n);
    x86_jump(&j->x, j->zone->entries[j->zone_block + 1 - j->zone->first]);
}

void simt_jit_write_alone(struct jit *j, const struct jit_zone *z)
{
    for (uint32_t k = z->first; k < z->join && !j->failed && !j->x.failed; k++) {
        struct jit_block b = j->blocks[k];
        b.forms = z->forms;
        j->zone = z;
        j->zone_block = k;
        j->alone = true;
        j->again_label = -1;
        j->walk_count = 0;
        x86_bind(&j->x, z->alone[k - z->first]);
        simt_jit_write_body(j, &b, end_alone);
    }
    j->alone = false;
    j->zone = NULL;
}
