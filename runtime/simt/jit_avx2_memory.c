/* Memory where AVX2 lacks the instruction: lanes that lie apart or are narrower in memory, and addresses of any form.
 */
#include <string.h>
#include "runtime/simt/jit_build.h"

static const struct x86_vop add_w = {1, 1, 0, 0xfe}, add_q = {1, 1, 0, 0xd4}, sub_q = {1, 1, 0, 0xfb},
                            or_w = {1, 1, 0, 0xeb}, max_u = {2, 1, 0, 0x3f}, equal_w = {1, 1, 0, 0x76},
                            any_bit = {2, 1, 0, 0x17};

/* ---- lanes that lie apart ---- */
/* The 16 bytes of a half of a vector. */
static void load_half(struct jit *j, bool wide, int reg, struct x86_mem m, int64_t step)
{
    const struct x86_vop first = {1, wide ? 2 : 1, 0, wide ? 0x7e : 0x6e}, insert = {3, 1, wide, 0x22};
    x86_vex_mem(&j->x, first, 128, reg, 0, m, -1);
    for (int l = 1; l < (wide ? 2 : 4); l++) x86_vex_mem(&j->x, insert, 128, reg, reg, x86_further(m, step * l), l);
}

void simt_jit_avx2_load_lanes(struct jit *j, bool wide, int reg, struct x86_mem m, int64_t step)
{
    int high = simt_jit_scratch(j);
    load_half(j, wide, reg, m, step);
    load_half(j, wide, high, x86_further(m, step * (wide ? 2 : 4)), step);
    simt_jit_join(j, reg, reg, high);
}

static void store_half(struct jit *j, bool wide, int reg, struct x86_mem m, int64_t step)
{
    const struct x86_vop low_q = {1, 0, 0, 0x13}, high_q = {1, 0, 0, 0x17}, first = {1, 2, 0, 0x11},
                         extract = {3, 1, 0, 0x17};
    x86_vex_mem(&j->x, wide ? low_q : first, 128, reg, 0, m, -1);
    if (wide) x86_vex_mem(&j->x, high_q, 128, reg, 0, x86_further(m, step), -1);
    for (int l = 1; !wide && l < 4; l++) x86_vex_mem(&j->x, extract, 128, reg, 0, x86_further(m, step * l), l);
}

void simt_jit_avx2_store_lanes(struct jit *j, bool wide, int reg, struct x86_mem m, int64_t step)
{
    int high = simt_jit_scratch(j);
    store_half(j, wide, reg, m, step);
    simt_jit_high_half(j, high, reg);
    store_half(j, wide, high, x86_further(m, step * (wide ? 2 : 4)), step);
}

/* ---- narrower in memory ---- */
static void store_packed(struct jit *j, int bytes, int reg, struct x86_mem m)
{
    const struct x86_vop two = {3, 1, 0, 0x15}, four = {1, 1, 0, 0x7e}, eight = {1, 1, 0, 0xd6};
    x86_vex_mem(&j->x, bytes == 2 ? two : bytes == 4 ? four : eight, 128, reg, 0, m, bytes == 2 ? 0 : -1);
}

void simt_jit_avx2_store_narrow(struct jit *j, bool wide, int reg, struct x86_mem m, int size)
{
    const struct x86_vop shuffle = {2, 1, 0, 0x00};
    uint8_t order[64];
    int lane = wide ? 8 : 4, bytes = 16 / lane * size, t = simt_jit_scratch(j);
    memset(order, 0x80, sizeof order);
    for (int b = 0; b < bytes; b++) order[b] = (uint8_t)(b / size * lane + b % size);
    int label = x86_constant(&j->x, order);
    x86_vex_mem(&j->x, shuffle, 128, t, reg, x86_at_label(label), -1);
    store_packed(j, bytes, t, m);
    simt_jit_high_half(j, t, reg);
    x86_vex_mem(&j->x, shuffle, 128, t, t, x86_at_label(label), -1);
    store_packed(j, bytes, t, x86_further(m, bytes));
}

/* ---- checks of addresses of any form; they leave registers as they are, but for some of their own ---- */
struct moments {
    int base, bound, low,
        high; /* `low`: all distances' bits; `high`: their largest, or bits of what is left behind them */
    int zero; /* where lanes have parted */
};
_Static_assert(sizeof(struct moments) == AVX2_MOMENTS * sizeof(int), "so many are freed before it is taken");
static struct moments take_moments(struct jit *j)
{
    struct moments t;
    t.base = simt_jit_new_vector(j);
    t.bound = simt_jit_new_vector(j);
    t.low = simt_jit_new_vector(j);
    t.high = simt_jit_new_vector(j);
    t.zero = j->zone ? simt_jit_new_vector(j) : -1;
    return t;
}

static void jump_if_any(struct jit *j, int reg, int64_t bits, bool wide, int label)
{
    x86_vex_mem(&j->x, any_bit, 256, reg, 0, simt_jit_equal_at(j, bits, wide), -1);
    x86_jump_if(&j->x, CC_NE, label);
}

/* Lanes that don't run become 0. */
static void keep_running(struct jit *j, const struct moments *t, bool wide, int part, int reg)
{
    int signs = simt_jit_vectors(j);
    if (!j->zone) return;
    if (!part) simt_jit_put(j, (struct x86_vop){1, 1, 0, 0xef}, t->zero, t->zero, t->zero);
    simt_jit_lane_signs(j, wide, part * simt_jit_lanes(j, wide), false, signs);
    simt_jit_put_imm(j, (struct x86_vop){3, 1, 0, wide ? 0x4b : 0x4a}, reg, t->zero, reg, signs << 4);
}

/* Jumps unless all distances from the range's start are below its room and multiples of the size. With `g` they are
 * left in memory. */
static void check_distances(struct jit *j, const struct jit_insn *n, const struct moments *t, uint32_t index,
                            const struct jit_group *g, int label)
{
    struct x86 *x = &j->x;
    x86_load_imm(x, RAX, (uint64_t)(g ? g->imm : n->i->imm));
    x86_rm(x, ALU_SUB, true, RAX, simt_jit_range_at(index, offsetof(struct jit_range, low)));
    simt_jit_spread(j, true, t->base, RAX);
    x86_rm(x, ALU_MOV, true, RDX, simt_jit_range_at(index, offsetof(struct jit_range, room)));
    x86_imm(x, ALU_SUB, true, RDX, 1);
    simt_jit_spread(j, true, t->bound, RDX);
    for (int p = 0; p < JIT_PARTS; p++) {
        int d = simt_jit_scratch(j), a = simt_jit_peek(j, n->reads[0], p, d);
        simt_jit_put(j, add_q, p ? d : t->low, t->base, a);
        keep_running(j, t, true, p, p ? d : t->low);
        if (g && g->bytes == GROUP_BYTES)
            simt_jit_store(j, x86_at(REG_WARP, (int32_t)offsetof(struct warp, addresses) + 32 * p), p ? d : t->low);
        if (p) simt_jit_put(j, or_w, t->low, t->low, d);
        simt_jit_put(j, sub_q, p ? d : t->high, t->bound, p ? d : t->low);
        if (p) simt_jit_put(j, or_w, t->high, t->high, d);
    }
    jump_if_any(j, t->low, INT64_MIN | (simt_jit_alignment(n) - 1), true, label);
    jump_if_any(j, t->high, INT64_MIN, true, label);
}

/* Those of watched code, whose range is of what the launch only reads. */
static uint32_t ask_global(struct jit *j, const struct jit_insn *n)
{
    uint32_t index = j->range_count++;
    struct moments t = take_moments(j);
    int otherwise = simt_jit_otherwise(j, n), miss = x86_label(&j->x);
    if (n->kind == JK_LOAD) check_distances(j, n, &t, index, NULL, miss);
    simt_jit_ask_scattered(j, n, index, miss, otherwise);
    return index;
}

uint32_t simt_jit_avx2_check(struct jit *j, const struct jit_insn *n, const struct jit_group *g, int leave)
{
    struct x86 *x = &j->x;
    uint32_t index = j->range_count++, pins = j->vector_pins;
    struct moments t = take_moments(j);
    int miss = x86_label(x), found = x86_label(x);
    if (leave < 0) leave = simt_jit_leaving(j, JIT_LEFT, false);
    check_distances(j, n, &t, index, g, miss);
    x86_bind(x, found);
    x->now = X86_COLD;
    x86_bind(x, miss);
    if (j->zone) {
        simt_jit_running_address(j, n->reads[0]);
    } else {
        int first = simt_jit_peek(j, n->reads[0], 0, simt_jit_scratch(j));
        x86_vex(x, (struct x86_vop){1, 1, 1, 0x7e}, 128, first, 0, RCX, -1);
    }
    x86_imm(x, ALU_ADD, true, RCX, (int32_t)(g ? g->imm : n->i->imm));
    x86_load_imm(x, RAX, index);
    x86_load_imm(x, RDX, g ? (uint64_t)g->bytes : n->i->size);
    x86_call_label(x, j->fill_label);
    x86_test(x, false, RAX, RAX);
    x86_jump_if(x, CC_E, leave);
    check_distances(j, n, &t, index, g, leave);
    x86_jump(x, found);
    x->now = X86_HOT;
    j->vector_pins = pins;
    return index;
}

/* To offsets from where the function's local memory begins. */
static void add_frame(struct jit *j, const struct jit_insn *n, int reg, int moment)
{
    if (!(n->i->flags & F_FRAME)) return;
    simt_jit_spread_from(j, false, moment, OF_WARP(local_base));
    simt_jit_put(j, add_w, reg, reg, moment);
}

static void check_window(struct jit *j, const struct jit_insn *n)
{
    struct x86 *x = &j->x;
    struct moments t = take_moments(j);
    const struct jit_row row = simt_jit_take_row(j, n);
    int otherwise = simt_jit_otherwise(j, n), d = simt_jit_scratch(j);
    size_t limit = n->op == 2 ? offsetof(struct worker, local_bytes) : offsetof(struct worker, shared_bytes);
    struct x86_mem imm = simt_jit_equal_at(j, n->i->imm, false);
    if (n->op == 1 && simt_jit_is_watched(j, n->i)) simt_jit_call_scattered(j, n, row, 0, otherwise);
    x86_rm(x, ALU_MOV, false, RDX, x86_at(REG_WORKER, (int32_t)limit));
    x86_imm(x, ALU_SUB, false, RDX, n->i->size - 1);
    x86_jump_if(x, CC_BE, otherwise);
    for (int p = 0; p < 4; p++) {
        int a = simt_jit_peek(j, n->reads[0], p, d);
        simt_jit_put_mem(j, add_w, p ? d : t.low, a, imm);
        add_frame(j, n, p ? d : t.low, t.bound);
        keep_running(j, &t, false, p, p ? d : t.low);
        if (p) simt_jit_put(j, or_w, t.low, t.low, d);
        simt_jit_put(j, max_u, t.high, p ? t.high : t.low, p ? d : t.low);
    }
    jump_if_any(j, t.low, n->i->size - 1, false, otherwise);
    simt_jit_spread(j, false, t.bound, RDX);
    simt_jit_put(j, max_u, t.bound, t.bound, t.high);
    simt_jit_put(j, equal_w, t.bound, t.bound, t.high);
    jump_if_any(j, t.bound, -1, false, otherwise);
}

/* ---- lanes that are side by side ---- */
/* So they are most often even where no form says it: behind a loop that lanes may leave one by one, as what compilers
 * put before a loop that they unroll. A vector then takes a fraction of what its lanes take. */
static bool may_be_side_by_side(const struct jit *j, const struct jit_insn *n)
{
    return !j->alone && !n->op && n->i->count == 1 && n->i->size >= 4;
}

/* Jumps unless all lanes run and follow each other. rcx: where the first one is. Where they did not once, nobody asks
 * again, which would take a tenth of what a gather takes. */
static void find_side_by_side(struct jit *j, const struct jit_insn *n, uint32_t range, int apart)
{
    const struct x86_vop xor_w = {1, 1, 0, 0xef}, to_gpr = {1, 1, 1, 0x7e};
    struct x86 *x = &j->x;
    int d = simt_jit_scratch(j), base = simt_jit_new_vector(j), differ = simt_jit_new_vector(j), size = n->i->size;
    int64_t steps[8] = {0};
    int near = x86_label(x);
    x86_mem_imm(x, ALU_CMP, true, simt_jit_range_at(range, offsetof(struct jit_range, apart)), 0);
    x86_jump_if(x, CC_NE, apart);
    if (j->zone) {
        x86_imm(x, ALU_CMP, false, REG_MASK, -1);
        x86_jump_if(x, CC_NE, apart);
    }
    x86_vex(x, to_gpr, 128, simt_jit_peek(j, n->reads[0], 0, d), 0, RCX, -1);
    for (int l = 0; l < 4; l++) steps[l] = (int64_t)size * l;
    simt_jit_spread(j, true, base, RCX);
    simt_jit_put_mem(j, add_q, base, base, x86_at_label(x86_constant(x, steps)));
    for (int p = 0; p < JIT_PARTS; p++) {
        simt_jit_put(j, sub_q, p ? d : differ, simt_jit_peek(j, n->reads[0], p, d), base);
        if (p) simt_jit_put_mem(j, xor_w, d, d, simt_jit_equal_at(j, (int64_t)size * 4 * p, true));
        if (p) simt_jit_put(j, or_w, differ, differ, d);
    }
    x86_vex(x, any_bit, 256, differ, 0, differ, -1);
    x86_jump_if(x, CC_E, near);
    x86_mem_imm(x, ALU_MOV, true, simt_jit_range_at(range, offsetof(struct jit_range, apart)), 1);
    x86_jump(x, apart);
    x86_bind(x, near);
}

static struct x86_mem side_by_side(const struct jit_insn *n, int part)
{
    return x86_at_index(REG_BIAS, RCX, (int32_t)n->i->imm + 32 * part);
}

/* ---- loads ---- */
/* Of lanes from the one given on. */
static void gather(struct jit *j, struct x86_vop op, int reg, int mask, int base, int index, int32_t imm, int lane,
                   bool wide)
{
    simt_jit_clear(j, reg);
    if (j->zone)
        simt_jit_lane_signs(j, wide, lane, false, mask);
    else
        simt_jit_put(j, equal_w, mask, mask, mask); /* gathers clear it */
    x86_vex_mem(&j->x, op, 256, reg, mask, (struct x86_mem){base, index, 0, imm, -1}, -1);
}

/* Registers of a gather. On a way that must leave in others what the other way does, addresses are in a moment. */
struct gathering {
    bool forks;
    int mask, high; /* `high`: the upper lanes, where addresses are in the register for moments */
};

static void load_global(struct jit *j, const struct jit_insn *n, int part, int reg, const struct gathering *r,
                        int32_t imm)
{
    const struct x86_vop by_q = {2, 1, n->wide, 0x91};
    int moment = simt_jit_scratch(j);
    const int *from = r->forks ? &moment : NULL;
    if (n->wide) {
        gather(j, by_q, reg, r->mask, REG_BIAS, simt_jit_operand(j, n->reads[0], part, from), imm, 4 * part, true);
        return;
    }
    int low = simt_jit_operand(j, n->reads[0], 2 * part, from);
    gather(j, by_q, reg, r->mask, REG_BIAS, low, imm, 8 * part, false);
    int high = simt_jit_operand(j, n->reads[0], 2 * part + 1, from);
    gather(j, by_q, r->high, r->mask, REG_BIAS, high, imm, 8 * part + 4, false);
    simt_jit_join(j, reg, reg, r->high);
}

static void load_window(struct jit *j, const struct jit_insn *n, int part, int reg, int mask)
{
    const struct x86_vop by_w = {2, 1, n->wide, 0x90};
    int index = simt_jit_scratch(j), a = simt_jit_part(j, n->reads[0], n->wide ? part / 2 : part);
    int lane = part * simt_jit_lanes(j, n->wide);
    if (n->wide && part & 1) {
        simt_jit_high_half(j, index, a);
        a = index;
    }
    simt_jit_put_mem(j, add_w, index, a, simt_jit_equal_at(j, n->i->imm, false));
    add_frame(j, n, index, mask);
    if (n->op == 2) {
        simt_jit_put_mem(j, add_w, index, index, simt_jit_local_of(lane));
        x86_rm(&j->x, ALU_MOV, true, RAX, OF_WARP(local));
    }
    gather(j, by_w, reg, mask, n->op == 2 ? RAX : REG_SHARED, index, 0, lane, n->wide);
}

static void load_all(struct jit *j, const struct jit_insn *n, const struct jit_group *g, uint32_t range)
{
    struct x86 *x = &j->x;
    struct jit_insn as_moved = *n; /* fewer than 8 bytes as 4 */
    as_moved.wide = n->i->size == 8;
    struct gathering r = {!g && may_be_side_by_side(j, n), simt_jit_new_vector(j), simt_jit_scratch(j)};
    int regs[JIT_PARTS], parts = simt_jit_part_count(j, as_moved.wide), apart = x86_label(x), done = x86_label(x);
    uint32_t keep = 0;
    if (r.forks) {
        if (!as_moved.wide) r.high = simt_jit_new_vector(j);
        for (int p = 0; p < parts; p++) regs[p] = simt_jit_new_vector(j);
        find_side_by_side(j, n, range, apart);
        for (int p = 0; p < parts; p++) simt_jit_load(j, regs[p], side_by_side(n, p));
        x86_jump(x, done);
        x86_bind(x, apart);
    }
    for (int p = 0; p < parts; p++) {
        if (!r.forks) regs[p] = simt_jit_new_vector(j);
        if (n->op)
            load_window(j, &as_moved, p, regs[p], r.mask);
        else
            load_global(j, &as_moved, p, regs[p], &r, (int32_t)(g ? g->imm : n->i->imm));
        keep |= 1u << regs[p];
        if (!r.forks) j->vector_pins = keep | 1u << r.mask;
    }
    x86_bind(x, done);
    j->vector_pins = keep;
    simt_jit_define_loaded(j, n, g, regs);
}

void simt_jit_avx2_gather_words(struct jit *j, const struct jit_insn *n, const int *regs, int32_t imm)
{
    struct gathering r = {true, simt_jit_new_vector(j), simt_jit_new_vector(j)};
    struct jit_insn as_words = *n;
    as_words.wide = false;
    for (int p = 0; p < simt_jit_part_count(j, false); p++) load_global(j, &as_words, p, regs[p], &r, imm);
}

/* ---- stores, by lanes from the frame ---- */
void simt_jit_store_lanes(struct jit *j, const struct jit_insn *n, uint32_t range)
{
    struct x86 *x = &j->x;
    int32_t addresses = (int32_t)j->slots[n->reads[0]].offset, data = (int32_t)j->slots[n->reads[1]].offset;
    int32_t imm = (int32_t)n->i->imm;
    int base = n->op == 2 ? RDX : n->op ? REG_SHARED : REG_BIAS, apart = x86_label(x), done = x86_label(x);
    simt_jit_store_all(j, n->reads[0]);
    simt_jit_store_all(j, n->reads[1]);
    if (may_be_side_by_side(j, n)) {
        find_side_by_side(j, n, range, apart);
        for (int p = 0; p < simt_jit_part_count(j, n->wide); p++)
            simt_jit_store(j, side_by_side(n, p), simt_jit_peek(j, n->reads[1], p, simt_jit_scratch(j)));
        x86_jump(x, done);
    }
    x86_bind(x, apart);
    if (n->op == 2) x86_rm(x, ALU_MOV, true, RDX, OF_WARP(local));
    for (int l = 0; l < SIMT_WARP; l++) {
        int stays = x86_label(x);
        if (j->zone) {
            x86_test_imm(x, REG_MASK, (int32_t)(1u << l));
            x86_jump_if(x, CC_E, stays);
        }
        x86_rm(x, ALU_MOV, !n->op, RAX, x86_at(REG_FRAME, addresses + l * (n->op ? 4 : 8)));
        if (n->op && imm) x86_imm(x, ALU_ADD, false, RAX, imm);
        if (n->op == 2) x86_rm(x, ALU_ADD, false, RAX, simt_jit_local_of(l));
        if (n->i->flags & F_FRAME) x86_rm(x, ALU_ADD, false, RAX, OF_WARP(local_base));
        x86_rm(x, ALU_MOV, n->wide, RCX, x86_at(REG_FRAME, data + l * (n->wide ? 8 : 4)));
        struct x86_mem at = x86_at_index(base, RAX, n->op ? 0 : imm);
        if (n->i->size < 4)
            x86_store_part(x, at, RCX, n->i->size);
        else
            x86_store(x, n->wide, at, RCX);
        x86_bind(x, stays);
    }
    x86_bind(x, done);
}

void simt_jit_avx2_gather(struct jit *j, const struct jit_insn *n, const struct jit_group *g)
{
    uint32_t range = 0;
    if (n->op)
        check_window(j, n);
    else if (simt_jit_is_watched(j, n->i))
        range = ask_global(j, n);
    else
        range = simt_jit_avx2_check(j, n, g, -1);
    j->vector_pins = 0;
    if (g && g->bytes == GROUP_BYTES) {
        simt_jit_load_neighbours(j, n, g, range);
        return;
    }
    if (n->kind == JK_LOAD)
        load_all(j, n, g, range);
    else
        simt_jit_store_lanes(j, n, range);
}
