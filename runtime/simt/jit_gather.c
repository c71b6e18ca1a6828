/* Loads and stores of 4-byte or 8-byte elements at addresses of any form. All lanes' addresses are checked at once, as
 * distances from the start of one allocation; when they are not all inside, the interpreter does the instruction. */
#include "runtime/simt/jit_build.h"

static const struct x86_vop add_w = {1, 1, 0, 0xfe}, add_q = {1, 1, 1, 0xd4}, max_w = {2, 1, 0, 0x3f},
                            max_q = {2, 1, 1, 0x3f}, or_w = {1, 1, 0, 0xeb}, spread_w = {2, 1, 0, 0x7c},
                            spread_q = {2, 1, 1, 0x7c}, test_w = {2, 1, 0, 0x27}, test_q = {2, 1, 1, 0x27},
                            compare_w = {3, 1, 0, 0x1e}, compare_q = {3, 1, 1, 0x1e}, all_lanes = {1, 0, 0, 0x46},
                            any_lane = {1, 0, 0, 0x98}, to_gpr = {1, 1, 1, 0x7e}, high_half = {3, 1, 1, 0x3b},
                            join = {3, 1, 1, 0x3a};
static const struct x86_vop gather_q_w = {2, 1, 0, 0x91}, gather_q_q = {2, 1, 1, 0x91}, gather_w_w = {2, 1, 0, 0x90},
                            gather_w_q = {2, 1, 1, 0x90}, scatter_q_w = {2, 1, 0, 0xa1}, scatter_q_q = {2, 1, 1, 0xa1},
                            scatter_w_w = {2, 1, 0, 0xa0}, scatter_w_q = {2, 1, 1, 0xa0};

static void op3(struct jit *j, struct x86_vop op, int d, int a, int b)
{
    x86_evex(&j->x, op, simt_jit_full(), d, a, b);
}
static struct x86_evex with_imm(int mask, int imm)
{
    return (struct x86_evex){.bits = 512, .mask = mask, .imm = imm};
}

static void equal(struct jit *j, int reg, int64_t value, bool wide)
{
    int64_t q[8];
    int32_t w[16];
    for (int l = 0; l < 8; l++) q[l] = value;
    for (int l = 0; l < 16; l++) w[l] = (int32_t)value;
    x86_evex_mem(&j->x, (struct x86_vop){1, 0, 0, 0x10}, simt_jit_full(), reg, 0,
                 x86_at_label(x86_constant(&j->x, wide ? (void *)q : (void *)w)));
}

/* Registers for a check. All are taken before the code for leaving is written, which must find values where they are.
 */
struct moments {
    int d[4], most, bits, bound, odd;
};
static struct moments take_moments(struct jit *j)
{
    struct moments t;
    for (int k = 0; k < 4; k++) t.d[k] = simt_jit_new_vector(j);
    t.most = simt_jit_new_vector(j);
    t.bits = simt_jit_new_vector(j);
    t.bound = simt_jit_new_vector(j);
    t.odd = simt_jit_new_vector(j);
    return t;
}

/* Jumps when any of the distances reaches the number in `limit`, or is no multiple of the size. */
static void reject(struct jit *j, const struct moments *t, bool wide, int limit, int size, int label)
{
    struct x86 *x = &j->x;
    int parts = wide ? 4 : 2;
    equal(j, t->odd, size - 1, wide);
    op3(j, wide ? max_q : max_w, t->most, t->d[0], t->d[1]);
    op3(j, or_w, t->bits, t->d[0], t->d[1]);
    for (int k = 2; k < parts; k++) {
        op3(j, wide ? max_q : max_w, t->most, t->most, t->d[k]);
        op3(j, or_w, t->bits, t->bits, t->d[k]);
    }
    op3(j, wide ? spread_q : spread_w, t->bound, 0, limit);
    x86_evex(x, wide ? compare_q : compare_w, with_imm(0, 5), 1, t->most, t->bound);
    op3(j, wide ? test_q : test_w, 2, t->bits, t->odd);
    x86_vex(x, (struct x86_vop){1, 0, 0, 0x45}, 256, 1, 1, 2, -1); /* korw */
    x86_vex(x, any_lane, 128, 1, 0, 1, -1);                        /* kortestw */
    x86_jump_if(x, CC_NE, label);
}

static void distances(struct jit *j, const int *a, int *d, struct x86_mem range, int64_t imm)
{
    x86_load_imm(&j->x, RAX, (uint64_t)imm);
    x86_rm(&j->x, ALU_SUB, true, RAX, range);
    op3(j, spread_q, d[0], 0, RAX);
    for (int k = 3; k >= 0; k--) op3(j, add_q, d[k], d[0], a[k]);
}

static void check_global(struct jit *j, const struct jit_insn *n, const int *a)
{
    struct x86 *x = &j->x;
    uint32_t index = j->range_count++;
    struct x86_mem range = x86_at(RCX, (int32_t)(index * sizeof(struct jit_range)));
    struct x86_mem ranges = x86_at(REG_WORKER, (int32_t)offsetof(struct worker, jit_ranges)), room = range;
    uint32_t pins = j->vector_pins;
    struct moments t = take_moments(j);
    int leave = simt_jit_leaving(j, JIT_LEFT, false), miss = x86_label(x), found = x86_label(x);
    room.offset += 8;
    for (int again = 0; again < 2; again++) { /* the second time behind a new range */
        x86_rm(x, ALU_MOV, true, RCX, ranges);
        distances(j, a, t.d, range, n->i->imm);
        x86_rm(x, ALU_MOV, true, RDX, room);
        reject(j, &t, true, RDX, n->i->size, again ? leave : miss);
        if (again) {
            x86_jump(x, found);
            break;
        }
        x86_bind(x, found);
        x->now = X86_COLD;
        x86_bind(x, miss);
        x86_evex(x, to_gpr, (struct x86_evex){.bits = 128, .imm = -1}, a[0], 0, RCX);
        x86_imm(x, ALU_ADD, true, RCX, (int32_t)n->i->imm);
        x86_load_imm(x, RAX, index);
        x86_load_imm(x, RDX, n->i->size);
        x86_call_label(x, j->fill_label);
        x86_test(x, false, RAX, RAX);
        x86_jump_if(x, CC_E, leave);
    }
    x->now = X86_HOT;
    j->vector_pins = pins;
}

/* The offsets into shared memory; they are left in registers. */
static void check_shared(struct jit *j, const struct jit_insn *n, const int *a, int *d)
{
    struct x86 *x = &j->x;
    struct moments t = take_moments(j);
    int leave = simt_jit_leaving(j, JIT_LEFT, false);
    for (int k = 0; k < 2; k++) {
        d[k] = t.d[k];
        equal(j, d[k], n->i->imm, false);
        op3(j, add_w, d[k], d[k], a[k]);
    }
    x86_rm(x, ALU_MOV, false, RDX, x86_at(REG_WORKER, (int32_t)offsetof(struct worker, shared_bytes)));
    x86_imm(x, ALU_SUB, false, RDX, n->i->size - 1);
    x86_jump_if(x, CC_BE, leave);
    reject(j, &t, false, RDX, n->i->size, leave);
}

static void move(struct jit *j, struct x86_vop op, int reg, struct x86_mem at)
{
    x86_vex(&j->x, all_lanes, 256, 1, 1, 1, -1);
    x86_evex_sib(&j->x, op, with_imm(1, -1), reg, at);
}

/* Data of 4 bytes at addresses of 8: two times 8 lanes for a part. */
static void move_by_halves(struct jit *j, bool is_load, const int *a, int part, int reg, int32_t imm)
{
    int high = simt_jit_new_vector(j);
    if (!is_load) x86_evex(&j->x, high_half, with_imm(0, 1), reg, 0, high);
    for (int k = 0; k < 2; k++)
        move(j, is_load ? gather_q_w : scatter_q_w, k ? high : reg,
             (struct x86_mem){REG_BIAS, a[2 * part + k], 0, imm, -1});
    if (is_load) x86_evex(&j->x, join, with_imm(0, 1), reg, reg, high);
}

/* Data of 8 bytes at offsets of 4. */
static void move_wide(struct jit *j, bool is_load, const int *d, int part, int reg)
{
    int index = d[part / 2];
    if (part & 1) {
        index = simt_jit_new_vector(j);
        x86_evex(&j->x, high_half, with_imm(0, 1), d[part / 2], 0, index);
    }
    move(j, is_load ? gather_w_q : scatter_w_q, reg, (struct x86_mem){REG_SHARED, index, 0, 0, -1});
}

static void move_part(struct jit *j, const struct jit_insn *n, const int *a, int part, int reg)
{
    bool is_load = n->kind == JK_LOAD;
    if (n->op && n->wide)
        move_wide(j, is_load, a, part, reg);
    else if (n->op)
        move(j, is_load ? gather_w_w : scatter_w_w, reg, (struct x86_mem){REG_SHARED, a[part], 0, 0, -1});
    else if (n->wide)
        move(j, is_load ? gather_q_q : scatter_q_q, reg,
             (struct x86_mem){REG_BIAS, a[part], 0, (int32_t)n->i->imm, -1});
    else
        move_by_halves(j, is_load, a, part, reg, (int32_t)n->i->imm);
}

bool simt_jit_gather(struct jit *j, const struct jit_insn *n)
{
    const struct insn *i = n->i;
    int a[4], d[2], regs[4], parts = n->wide ? 4 : 2;
    if (n->guarded || i->count != 1 || i->size != (n->wide ? 8 : 4) || i->imm != (int32_t)i->imm ||
        (n->kind == JK_LOAD && !n->write_count))
        return false;
    for (int k = 0; k < (n->op ? 2 : 4); k++) a[k] = simt_jit_part(j, n->reads[0], k);
    if (n->op)
        check_shared(j, n, a, d);
    else
        check_global(j, n, a);
    uint32_t pins = j->vector_pins;
    for (int p = 0; p < parts; p++) {
        regs[p] = n->kind == JK_LOAD ? simt_jit_new_vector(j) : simt_jit_part(j, n->reads[1], p);
        if (n->kind == JK_LOAD) pins |= 1u << regs[p];
        move_part(j, n, n->op ? d : a, p, regs[p]);
        j->vector_pins = pins;
    }
    if (n->kind == JK_LOAD) simt_jit_define_vector(j, n->writes[0], regs);
    return true;
}
