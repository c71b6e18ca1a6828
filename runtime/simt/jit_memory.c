/* Loads and stores from linear addresses: one check for a whole warp, or for all accesses of a block of code from the
 * same address, and then vector moves, broadcasts, or gathers by a constant index. */
#include <string.h>
#include "runtime/simt/jit_build.h"

#define MOST_AHEAD  512 /* bytes */
#define TILES_AHEAD 6   /* blocks */
#define ROWS_AHEAD  4   /* warps */
#define PAGE        4096

/* A variable of the device by its name: its address is the sum of two constants, which is then the base. */
static bool is_variable(const struct jit *j, const struct jit_insn *n, struct jit_form f)
{
    return f.kind == FORM_CONST && !n->op && !simt_jit_is_watched(j, n->i);
}
static int64_t offset_of(const struct jit *j, const struct jit_insn *n, struct jit_form f)
{
    return is_variable(j, n, f) ? 0 : n->i->imm;
}

/* The bytes that the lanes of an access touch, from the number of its address. */
struct extent {
    int64_t low, high;
};
static struct extent extent_of(const struct jit *j, const struct jit_insn *n, struct jit_form f)
{
    int64_t step = form_step(f), skip = f.kind == FORM_LINEAR ? f.skip : 0, imm = offset_of(j, n, f);
    int64_t low = (step < 0 ? 15 * step : 0) + (skip < 0 ? skip : 0);
    int64_t high = (step > 0 ? 15 * step : 0) + (skip > 0 ? skip : 0);
    return (struct extent){imm + low, imm + high + (int64_t)n->i->size * n->i->count};
}

/* A store of one number to one place by all lanes that run; an observer of several threads would see a race. */
static bool is_one_store(const struct jit *j, const struct jit_insn *n, struct jit_form f)
{
    bool told = simt_jit_is_watched(j, n->i) && !j->repeats;
    return n->kind == JK_STORE && n->i->count == 1 && !told && form_is_uniform(f) &&
           form_is_uniform(form_of_read(j, n, 1));
}

bool simt_jit_is_native_access(const struct jit *j, const struct jit_insn *n, struct jit_form f)
{
    const struct insn *i = n->i;
    int64_t bytes = (int64_t)i->size * i->count, step = form_step(f), skip = f.kind == FORM_LINEAR ? f.skip : 0;
    bool watched = simt_jit_is_watched(j, i);
    if (watched && ((bytes < 4 && n->op && !j->function->steady) || i->flags & F_FRAME ||
                    i->space != (n->op ? PTX_SHARED : PTX_GLOBAL)))
        return false;
    if (j->zone && (watched || !form_is_uniform(f))) return false;
    if (n->guarded || !form_is_scalar(f) || n->op > 1 || (i->flags & F_SPIN)) return false;
    int64_t imm = offset_of(j, n, f);
    if (!simt_jit_is_near(step) || !simt_jit_is_near(skip) || imm >= 1 << 30 || imm <= -(1 << 30)) return false;
    if (!n->loose && (step % bytes || skip % bytes || imm % bytes)) return false;
    if (f.kind == FORM_CONST && n->op && f.step + i->imm != (int32_t)(f.step + i->imm)) return false;
    bool contiguous = step == bytes && i->count == 1, gathers = step && !contiguous;
    bool narrow = i->size < 4 && !n->wide && n->kind == JK_LOAD;
    narrow |= i->size < 4 && !n->wide && n->kind == JK_STORE && bytes == 4 && step == 4;
    if (gathers && !narrow && !simt_jit_is_widened(n) && i->size != (n->wide ? 8 : 4)) return false;
    return n->kind == JK_LOAD ? n->write_count == i->count : step != 0 || is_one_store(j, n, f);
}

/* ---- checks ---- */
/* What the accesses of the rest of this block of code touch, from the same address. */
static struct extent all_from_here(const struct jit *j, const struct jit_insn *n, struct jit_form f, int64_t *align)
{
    struct extent all = extent_of(j, n, f);
    *align = simt_jit_alignment(n);
    if (is_variable(j, n, f)) return all;
    const struct jit_insn *end = j->code + j->block->end;
    for (const struct jit_insn *m = n; m < end; m++) {
        bool same = (m->kind == JK_LOAD || m->kind == JK_STORE) && m->op == n->op && m->reads[0] == n->reads[0];
        if (same && simt_jit_is_native_access(j, m, f)) {
            struct extent one = extent_of(j, m, f);
            if (one.low < all.low) all.low = one.low;
            if (one.high > all.high) all.high = one.high;
            if (simt_jit_alignment(m) > *align) *align = simt_jit_alignment(m);
        }
        if (m->kind == JK_UNKNOWN) return all;
        for (int k = 0; k < m->write_count; k++)
            if (m->writes[k] == n->reads[0]) return all;
    }
    return all;
}

bool simt_jit_repeats(const struct jit *j)
{
    int here = (int)(j->block - j->blocks);
    for (uint32_t b = (uint32_t)here; b < j->block_count; b++)
        for (int k = 0; k < 2; k++)
            if (j->blocks[b].next[k] >= 0 && j->blocks[b].next[k] <= here) return true;
    return false;
}

void simt_jit_look_ahead(struct jit *j, const int *bases, const int64_t *low, int halves, int64_t bytes, uint32_t range,
                         bool lines)
{
    struct x86 *x = &j->x;
    int near = x86_label(x);
    struct x86_mem last = simt_jit_range_at(range, offsetof(struct jit_range, last));
    x86_lea(x, true, RCX, x86_at(bases[0], (int32_t)low[0]));
    x86_rr(x, ALU_MOV, true, RAX, RCX);
    x86_rm(x, ALU_SUB, true, RAX, last);
    x86_store(x, true, last, RCX);
    x86_imul_imm(x, true, RAX, RAX, LOOK_AHEAD);
    x86_lea(x, true, RCX, x86_at(RAX, LOOK_AHEAD * PAGE));
    x86_imm(x, ALU_CMP, true, RCX, 2 * LOOK_AHEAD * PAGE);
    x86_jump_if(x, CC_BE, near);
    if (lines) x86_rm(x, ALU_MOV, true, RDX, simt_jit_range_at(range, offsetof(struct jit_range, lines)));
    for (int h = 0; h < halves; h++) {
        x86_lea(x, true, RCX, x86_at_index(RAX, bases[h], (int32_t)low[h]));
        for (int64_t k = 0; k < bytes && k < MOST_AHEAD; k += QUIET_LINE)
            x86_prefetch(x, x86_at_index(RCX, REG_BIAS, (int32_t)k));
        if (lines) x86_shift_imm(x, SHIFT_RIGHT, true, RCX, __builtin_ctz(QUIET_LINE / QUIET_RECORD));
        for (int64_t k = 0; lines && k < bytes && k < MOST_AHEAD; k += QUIET_LINE * QUIET_LINE / QUIET_RECORD)
            x86_prefetch(x, x86_at_index(RCX, RDX, (int32_t)(k / QUIET_LINE * QUIET_RECORD)));
    }
    x86_bind(x, near);
}

/* Does the loop go through memory by less than would have simt_jit_look_ahead fetch anything? */
static bool is_slow(const struct jit *j, const struct jit_insn *n)
{
    int64_t step;
    return simt_jit_strides(j, n, &step) && step >= -PAGE && step <= PAGE;
}

static void check_global(struct jit *j, int base, struct extent all, int leave, bool ahead)
{
    uint32_t index = j->range_count++;
    struct x86 *x = &j->x;
    int miss = x86_label(x), found = x86_label(x);
    if (all.low)
        x86_lea(x, true, RDX, x86_at(base, (int32_t)all.low));
    else
        x86_rr(x, ALU_MOV, true, RDX, base);
    x86_rm(x, ALU_SUB, true, RDX, simt_jit_range_at(index, offsetof(struct jit_range, low)));
    x86_rm(x, ALU_CMP, true, RDX, simt_jit_range_at(index, offsetof(struct jit_range, room)));
    x86_jump_if(x, CC_AE, miss);
    x86_bind(x, found);
    x->now = X86_COLD;
    x86_bind(x, miss);
    x86_lea(x, true, RCX, x86_at(base, (int32_t)all.low));
    x86_load_imm(x, RAX, index);
    x86_load_imm(x, RDX, (uint64_t)(all.high - all.low));
    x86_call_label(x, j->fill_label);
    simt_jit_load_masks(j);
    x86_test(x, false, RAX, RAX);
    x86_jump_if(x, CC_NE, found);
    x86_jump(x, leave);
    x->now = X86_HOT;
    if (ahead) simt_jit_look_ahead(j, &base, &all.low, 1, all.high - all.low, index, false);
}

static void check_shared(struct jit *j, int base, struct extent all, int leave)
{
    struct x86 *x = &j->x;
    if (all.low < 0) {
        x86_rr(x, ALU_MOV, true, RCX, base);
        x86_imm(x, ALU_ADD, true, RCX, (int32_t)all.low);
        x86_jump_if(x, CC_S, leave);
    }
    x86_lea(x, true, RCX, x86_at(base, (int32_t)all.high));
    x86_rm(x, ALU_MOV, false, RAX, OF_WORKER(shared_bytes));
    x86_rr(x, ALU_CMP, true, RCX, RAX);
    x86_jump_if(x, CC_A, leave);
}

/* Jumps unless the halves' addresses are multiples. Of several that are so many elements above one base the first tells
 * it of all. */
static void check_alignment(struct jit *j, const struct jit_place *p, const int bases[2], int64_t align, int leave)
{
    uint8_t *seen = p->base && align <= 1 << p->scale ? &j->places[p->base].aligned : NULL;
    if (align <= 1 || (seen && *seen >= align)) return;
    for (int h = 0; h < (p->form.kind == FORM_PAIR && !seen ? 2 : 1); h++) {
        x86_test_imm(&j->x, bases[h], (int32_t)align - 1);
        x86_jump_if(&j->x, CC_NE, leave);
    }
    if (seen) *seen = (uint8_t)align;
}

/* Checks the halves' addresses, unless an access before has. A wrong one is the interpreter's. `bases`: registers of
 * the halves' numbers. */
static void check(struct jit *j, const struct jit_insn *n, const int bases[2])
{
    struct jit_place *p = &j->places[n->reads[0]];
    struct extent need = extent_of(j, n, p->form);
    int64_t align = simt_jit_alignment(n);
    if (p->checked && need.low >= p->low && need.high <= p->high && align <= p->align) return;
    struct extent all = all_from_here(j, n, p->form, &align);
    int leave = simt_jit_leaving(j, JIT_LEFT, false);
    bool ahead = n->kind == JK_LOAD && p->form.kind != FORM_CONST && !j->zone && simt_jit_repeats(j) && !is_slow(j, n);
    check_alignment(j, p, bases, align, leave);
    for (int h = 0; h < (p->form.kind == FORM_PAIR ? 2 : 1); h++) {
        if (n->op)
            check_shared(j, bases[h], all, leave);
        else
            check_global(j, bases[h], all, leave, ahead && !h);
    }
    p->checked = p->form.kind != FORM_CONST;
    p->low = all.low;
    p->high = all.high;
    p->align = align;
}

/* ---- where the halves lie in host memory ---- */
static void find_bases(struct jit *j, const struct jit_insn *n, struct x86_mem at[2])
{
    uint16_t slot = n->reads[0];
    struct jit_form f = j->places[slot].form;
    int bases[2];
    if (f.kind == FORM_CONST) { /* kept out of the way of the checks */
        bases[0] = bases[1] = simt_jit_new_gpr(j);
        x86_load_imm(&j->x, bases[0], (uint64_t)f.step + (is_variable(j, n, f) ? (uint64_t)n->i->imm : 0));
    } else {
        bases[0] = bases[1] = simt_jit_scalar(j, slot, 0, RDX);
        if (f.kind == FORM_PAIR) bases[1] = simt_jit_scalar(j, slot, 1, RDX);
    }
    if (!simt_jit_is_watched(j, n->i))
        check(j, n, bases);
    else if (n->kind == JK_LOAD || !simt_jit_rows(j, n, f))
        simt_jit_ask(j, n, bases, f);
    for (int h = 0; h < 2; h++) {
        int32_t offset = (int32_t)(offset_of(j, n, f) + (h && f.kind == FORM_LINEAR ? f.skip : 0));
        at[h] = x86_at_index(n->op ? REG_SHARED : bases[h], n->op ? bases[h] : REG_BIAS, offset);
    }
}

/* ---- moves ---- */
/* Loads and stores of lanes that lie side by side, by bytes in memory; 0: in the order 1, 2, 4, 8. */
static const struct x86_vop load_u[2][4] = {
    {{2, 1, 0, 0x31}, {2, 1, 0, 0x33}, {1, 0, 0, 0x10}, {0, 0, 0, 0}},
    {{2, 1, 0, 0x32}, {2, 1, 0, 0x34}, {2, 1, 0, 0x35}, {1, 0, 0, 0x10}},
};
static const struct x86_vop load_s[2][4] = {
    {{2, 1, 0, 0x21}, {2, 1, 0, 0x23}, {1, 0, 0, 0x10}, {0, 0, 0, 0}},
    {{2, 1, 0, 0x22}, {2, 1, 0, 0x24}, {2, 1, 0, 0x25}, {1, 0, 0, 0x10}},
};
static const struct x86_vop store_lanes[2][4] = {
    {{2, 2, 0, 0x31}, {2, 2, 0, 0x33}, {1, 0, 0, 0x11}, {0, 0, 0, 0}},
    {{2, 2, 0, 0x32}, {2, 2, 0, 0x34}, {2, 2, 0, 0x35}, {1, 0, 0, 0x11}},
};
static const struct x86_vop gather_w = {2, 1, 0, 0x90}, gather_q = {2, 1, 1, 0x90}, scatter_w = {2, 1, 0, 0xa0},
                            scatter_q = {2, 1, 1, 0xa0}, all_lanes = {1, 0, 0, 0x46};

static int log_size(const struct insn *i)
{
    return __builtin_ctz(i->size);
}

/* The lanes' distances from the first, in bytes: 16 of 4 bytes (the first 8 for 8-byte lanes). */
static int index_vector(struct jit *j, int64_t step)
{
    int32_t w[16];
    for (int l = 0; l < 16; l++) w[l] = (int32_t)(step * l);
    int r = simt_jit_new_vector(j);
    simt_jit_load(j, r, x86_at_label(x86_constant(&j->x, w)));
    return r;
}

struct x86_vop simt_jit_row_op(const struct jit_insn *n)
{
    bool load = n->kind == JK_LOAD;
    return (load ? n->detail ? load_s : load_u : store_lanes)[n->wide][log_size(n->i)];
}

static void move_gathered(struct jit *j, struct x86_vop op, int reg, int index, struct x86_mem at)
{
    struct x86_evex by_mask = simt_jit_full();
    by_mask.mask = 1;
    x86_lea(&j->x, true, RAX, at);
    x86_vex(&j->x, all_lanes, 256, 1, 1, 1, -1); /* kxnorw: gathers clear their mask */
    x86_evex_sib(&j->x, op, by_mask, reg, (struct x86_mem){RAX, index, 0, 0, -1});
}

static int load_same(struct jit *j, const struct jit_insn *n, struct x86_mem at)
{
    const struct insn *i = n->i;
    int r = simt_jit_new_vector(j);
    if (i->size == (n->wide ? 8 : 4)) {
        simt_jit_spread_from(j, n->wide, r, at);
        return r;
    }
    x86_load_part(&j->x, RAX, at, i->size, n->detail, n->wide);
    simt_jit_spread(j, n->wide, r, RAX);
    return r;
}

static void load_vectors(struct jit *j, const struct jit_insn *n, const struct x86_mem at[2], struct jit_form f, int e,
                         int *regs)
{
    const struct insn *i = n->i;
    int64_t step = form_step(f), bytes = (int64_t)i->size * i->count;
    int parts = simt_jit_part_count(j, n->wide), index = -1;
    bool same_halves = f.kind == FORM_CONST || (f.kind == FORM_LINEAR && !f.skip);
    for (int p = 0; p < parts; p++) {
        int half = simt_jit_half(j, n->wide, p), first = simt_jit_first(j, n->wide, p);
        struct x86_mem m = x86_further(at[half], (int64_t)e * i->size + step * first);
        if (!step) {
            bool again = p && (same_halves || first);
            regs[p] = again ? simt_jit_new_vector(j) : load_same(j, n, m);
            if (again) simt_jit_move(j, regs[p], regs[p - 1]);
            continue;
        }
        if (i->size < 4 && (step != bytes || i->count > 1)) {
            regs[p] = simt_jit_new_vector(j);
            simt_jit_load_narrow(j, regs[p], m, i->size, step, n->detail);
            continue;
        }
        if (simt_jit_is_strided(j, n, step)) {
            regs[p] = simt_jit_new_vector(j);
            simt_jit_load_strided(j, n->wide, regs[p], m, step);
            continue;
        }
        if (simt_jit_is_avx2(j) && (step != bytes || i->count > 1)) {
            regs[p] = simt_jit_new_vector(j);
            simt_jit_avx2_load_lanes(j, n->wide, regs[p], m, step);
            continue;
        }
        if (step != bytes || i->count > 1) {
            if (index < 0) index = index_vector(j, step);
            regs[p] = simt_jit_new_vector(j);
            move_gathered(j, n->wide ? gather_q : gather_w, regs[p], index, m);
            continue;
        }
        regs[p] = simt_jit_new_vector(j);
        bool again = same_halves && half;
        if (again)
            simt_jit_move(j, regs[p], regs[p - parts / 2]);
        else
            simt_jit_put_mem(j, simt_jit_row_op(n), regs[p], 0, m);
    }
}

static void load_numbers(struct jit *j, const struct jit_insn *n, const struct x86_mem at[2], struct jit_form f, int e,
                         int *regs)
{
    for (int h = 0; h < (f.kind == FORM_PAIR ? 2 : 1); h++) {
        regs[h] = simt_jit_new_gpr(j);
        x86_load_part(&j->x, regs[h], x86_further(at[h], (int64_t)e * n->i->size), n->i->size, n->detail, n->wide);
        simt_jit_turn_number(j, n, regs[h]);
    }
}

static void load_all(struct jit *j, const struct jit_insn *n, const struct x86_mem at[2], struct jit_form f)
{
    struct jit_form result = simt_jit_form_of(j, n, &f);
    int regs[JIT_PARTS], w = 0;
    uint32_t pins = j->gpr_pins;
    for (int e = 0; e < n->i->count; e++) {
        if (form_is_scalar(result)) {
            load_numbers(j, n, at, result, e, regs);
            if (n->i->count > 1 && n->writes[w] == n->reads[0]) j->failed = true; /* decoding sees to it */
            simt_jit_define_scalar(j, n->writes[w++], result, regs);
            j->gpr_pins = pins;
        } else if (simt_jit_is_widened(n) && form_step(f) && (form_step(f) != n->i->size || n->i->count > 1)) {
            struct jit_insn as_words = *n;
            as_words.wide = false;
            load_vectors(j, &as_words, at, f, e, regs);
            simt_jit_widen(j, n, regs);
            simt_jit_define_vector(j, n->writes[w++], regs);
            j->vector_pins = 0;
        } else {
            load_vectors(j, n, at, f, e, regs);
            simt_jit_turn(j, n, regs);
            simt_jit_define_vector(j, n->writes[w++], regs);
            j->vector_pins = 0;
        }
    }
}

static void store_avx2(struct jit *j, const struct jit_insn *n, int reg, struct x86_mem m, int64_t step)
{
    int size = n->i->size;
    if (step != size)
        simt_jit_avx2_store_lanes(j, n->wide, reg, m, step);
    else if (size == (n->wide ? 8 : 4))
        simt_jit_store(j, m, reg);
    else
        simt_jit_avx2_store_narrow(j, n->wide, reg, m, size);
}

static void store_filled(struct jit *j, const struct jit_insn *n, const struct x86_mem at[2], int64_t step)
{
    for (int p = 0; p < simt_jit_part_count(j, n->wide); p++) {
        int regs[4];
        for (int e = 0; e < n->i->count; e++) regs[e] = simt_jit_part(j, n->reads[1 + e], p);
        struct x86_mem m = x86_further(at[simt_jit_half(j, n->wide, p)], step * simt_jit_first(j, n->wide, p));
        simt_jit_store_filling(j, n->wide, regs, n->i->count, m);
        j->vector_pins = 0;
    }
}

static void store_packed(struct jit *j, const struct jit_insn *n, const struct x86_mem at[2])
{
    for (int p = 0; p < simt_jit_part_count(j, false); p++) {
        int regs[4], r;
        for (int e = 0; e < n->i->count; e++) regs[e] = simt_jit_part(j, n->reads[1 + e], p);
        r = simt_jit_new_vector(j);
        simt_jit_pack(j, r, regs, n->i->size, n->i->count);
        simt_jit_store(j, x86_further(at[simt_jit_half(j, false, p)], 4 * simt_jit_first(j, false, p)), r);
        j->vector_pins = 0;
    }
}

static void store_one(struct jit *j, const struct jit_insn *n, struct x86_mem m)
{
    int reg = simt_jit_scalar(j, n->reads[1], 0, RAX);
    if (n->i->size >= 4) {
        x86_store(&j->x, n->i->size == 8, m, reg);
        return;
    }
    x86_rr(&j->x, ALU_MOV, false, RAX, reg); /* not all have bytes */
    x86_store_part(&j->x, m, RAX, n->i->size);
}

static void store_all(struct jit *j, const struct jit_insn *n, const struct x86_mem at[2], struct jit_form f)
{
    if (!form_step(f)) {
        store_one(j, n, at[0]);
        return;
    }
    const struct insn *i = n->i;
    int64_t step = form_step(f);
    int parts = simt_jit_part_count(j, n->wide), index = -1, rows = simt_jit_rows(j, n, f);
    int bases[2] = {at[0].base, at[1].base}, each = rows ? parts / rows : 0;
    bool scatters = step != i->size, avx2 = simt_jit_is_avx2(j);
    if (i->size < 4 && i->count > 1) {
        store_packed(j, n, at);
        return;
    }
    if (!rows && simt_jit_fills(j, n, step)) {
        store_filled(j, n, at, step);
        return;
    }
    bool spread = !rows && simt_jit_is_strided(j, n, step);
    if (scatters && !avx2 && !spread) index = index_vector(j, step);
    for (int e = 0; e < i->count; e++)
        for (int p = 0; p < parts; p++) {
            int half = simt_jit_half(j, n->wide, p), first = simt_jit_first(j, n->wide, p);
            struct x86_mem m = x86_further(at[half], (int64_t)e * i->size + step * first);
            int r = simt_jit_part(j, n->reads[1 + e], p);
            if (rows && p % each == 0) simt_jit_claim(j, n, bases, f, p / each);
            if (spread)
                simt_jit_store_strided(j, n->wide, r, m, step);
            else if (avx2)
                store_avx2(j, n, r, m, step);
            else if (scatters)
                move_gathered(j, n->wide ? scatter_q : scatter_w, r, index, m);
            else
                x86_evex_mem(&j->x, simt_jit_row_op(n), simt_jit_full(), r, 0, m);
            if (rows && p % each == each - 1) simt_jit_release(j, n, f);
            j->vector_pins = index < 0 ? 0 : 1u << index;
        }
}

/* How a term follows the block's index along x, as far as `visits` terms tell. */
enum follows { FOLLOWS_NOT, FOLLOWS_ROW, FOLLOWS_ODDLY }; /* row: block by block, whatever a kernel's arguments are */
static bool is_resized(const struct term *t)
{
    return t->kind == TERM_EXTEND_S || t->kind == TERM_EXTEND_U || t->kind == TERM_NARROW;
}
static enum follows follows(const struct simt_program *p, int term, int *visits)
{
    const struct term *t = &p->terms[term];
    if (--*visits < 0) return FOLLOWS_ODDLY;
    if (t->kind == TERM_CONST || t->kind == TERM_PARAMETER) return FOLLOWS_NOT;
    if (t->kind == TERM_SPECIAL) return t->value == SR_CTAID_X ? FOLLOWS_ROW : FOLLOWS_NOT;
    enum follows a = follows(p, t->a, visits);
    if (is_resized(t)) return a;
    enum follows b = follows(p, t->b, visits), most = a > b ? a : b;
    if (most == FOLLOWS_NOT || t->kind == TERM_ADD || (t->kind == TERM_SUB && b == FOLLOWS_NOT)) return most;
    const struct term *by = &p->terms[a == FOLLOWS_NOT ? t->a : t->b];
    while (is_resized(by)) by = &p->terms[by->a];
    bool fixed = by->kind == TERM_CONST || (by->kind == TERM_SPECIAL && by->value == SR_NTID_X);
    return t->kind == TERM_MUL && fixed ? most : FOLLOWS_ODDLY;
}

/* A row of neighbours, once in a warp's life: what the next warps will want. The processor would fetch it by itself,
 * but loses such streams where other accesses, or the records of the checks, go anywhere between them. */
static void fetch_row(struct jit *j, const struct jit_insn *n, struct x86_mem at, struct jit_form f)
{
    int64_t step = form_step(f), row = SIMT_WARP * step;
    if (f.kind != FORM_LINEAR || step != n->i->size || f.skip != row / 2 || simt_jit_repeats(j)) return;
    for (int64_t k = 0; k < row; k += QUIET_LINE) x86_prefetch(&j->x, x86_further(at, row * ROWS_AHEAD + k));
}

/* Rows of a tile: the blocks that follow will want what lies behind them, if they are the next ones along the rows. */
static void fetch_tile(struct jit *j, const struct jit_insn *n, const struct x86_mem at[2], struct jit_form f)
{
    int64_t row = 16 * form_step(f);
    bool tile = f.kind == FORM_PAIR || (f.kind == FORM_LINEAR && f.skip && f.skip != row), load = n->kind == JK_LOAD;
    uint32_t term = j->program->places[j->first + (uint32_t)(n - j->code)].term;
    int visits = 64;
    if (!tile || form_step(f) != n->i->size || j->fetched[load] == j->block || simt_jit_repeats(j)) return;
    if (term ? follows(j->program, (int)term - 1, &visits) != FOLLOWS_ROW : !load) return;
    for (int h = 0; h < 2; h++)
        (load ? x86_prefetch : x86_prefetch_to_write)(&j->x, x86_further(at[h], row * TILES_AHEAD));
    j->fetched[load] = j->block;
}

bool simt_jit_memory(struct jit *j, const struct jit_insn *n)
{
    struct jit_form f = form_of_read(j, n, 0);
    struct x86_mem at[2];
    if (simt_jit_partial(j, n, f)) return true;
    if (!simt_jit_is_native_access(j, n, f)) return false;
    find_bases(j, n, at);
    if (!n->op) fetch_tile(j, n, at, f);
    if (!n->op && n->kind == JK_LOAD) fetch_row(j, n, at[0], f);
    if (n->kind == JK_LOAD)
        load_all(j, n, at, f);
    else
        store_all(j, n, at, f);
    return true;
}
