/* Loads and stores at addresses of any form, into registers of 4 bytes also of narrower elements. All lanes' addresses
 * are checked at once, as distances from the start of one allocation; when they are not all inside, the interpreter
 * does the instruction. In watched code they are those from what the launch only reads, and of all others the observer
 * is asked. */
#include "runtime/simt/jit_build.h"

#define MOST_LOCAL (1 << 25) /* bytes of a thread: the lanes' offsets have 32 bits */

static const struct x86_vop add_w = {1, 1, 0, 0xfe}, add_q = {1, 1, 1, 0xd4}, max_w = {2, 1, 0, 0x3f},
                            max_q = {2, 1, 1, 0x3f}, or_w = {1, 1, 0, 0xeb}, test_w = {2, 1, 0, 0x27},
                            test_q = {2, 1, 1, 0x27}, compare_w = {3, 1, 0, 0x1e}, compare_q = {3, 1, 1, 0x1e},
                            all_lanes = {1, 0, 0, 0x46}, any_lane = {1, 0, 0, 0x98}, to_gpr = {1, 1, 1, 0x7e},
                            shift_mask = {3, 1, 0, 0x31};
static const struct x86_vop gather_q_w = {2, 1, 0, 0x91}, gather_q_q = {2, 1, 1, 0x91}, gather_w_w = {2, 1, 0, 0x90},
                            gather_w_q = {2, 1, 1, 0x90}, scatter_q_w = {2, 1, 0, 0xa1}, scatter_q_q = {2, 1, 1, 0xa1},
                            scatter_w_w = {2, 1, 0, 0xa0}, scatter_w_q = {2, 1, 1, 0xa0};

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
    simt_jit_set(j, wide, t->odd, size - 1);
    simt_jit_put(j, wide ? max_q : max_w, t->most, t->d[0], t->d[1]);
    simt_jit_put(j, or_w, t->bits, t->d[0], t->d[1]);
    for (int k = 2; k < parts; k++) {
        simt_jit_put(j, wide ? max_q : max_w, t->most, t->most, t->d[k]);
        simt_jit_put(j, or_w, t->bits, t->bits, t->d[k]);
    }
    simt_jit_spread(j, wide, t->bound, limit);
    x86_evex(x, wide ? compare_q : compare_w, simt_jit_masked(0, 5), 1, t->most, t->bound);
    simt_jit_put(j, wide ? test_q : test_w, 2, t->bits, t->odd);
    x86_vex(x, (struct x86_vop){1, 0, 0, 0x45}, 256, 1, 1, 2, -1); /* korw */
    x86_vex(x, any_lane, 128, 1, 0, 1, -1);                        /* kortestw */
    x86_jump_if(x, CC_NE, label);
}

/* To a register from two, 0 for lanes that don't run. */
static void put_running(struct jit *j, struct x86_vop op, int lane, int d, int a, int b)
{
    struct x86_evex how = simt_jit_masked(j->zone ? simt_jit_mask_from(j, lane, false) : 0, -1);
    how.zero = j->zone;
    x86_evex(&j->x, op, how, d, a, b);
}

static void distances(struct jit *j, const int *a, int *d, struct x86_mem range, int64_t imm)
{
    x86_load_imm(&j->x, RAX, (uint64_t)imm);
    x86_rm(&j->x, ALU_SUB, true, RAX, range);
    simt_jit_spread(j, true, d[0], RAX);
    for (int k = 3; k >= 0; k--) put_running(j, add_q, 8 * k, d[k], d[0], a[k]);
}

static void ask_global(struct jit *j, const struct jit_insn *n, const int *a)
{
    struct x86 *x = &j->x;
    uint32_t index = j->range_count++, pins = j->vector_pins;
    struct moments t = take_moments(j);
    int otherwise = simt_jit_otherwise(j, n), miss = x86_label(x);
    if (n->kind == JK_LOAD) {
        distances(j, a, t.d, simt_jit_range_at(index, offsetof(struct jit_range, low)), n->i->imm);
        x86_rm(x, ALU_MOV, true, RDX, simt_jit_range_at(index, offsetof(struct jit_range, room)));
        reject(j, &t, true, RDX, n->i->size, miss);
    }
    simt_jit_ask_scattered(j, n, index, miss, otherwise);
    j->vector_pins = pins;
}

/* The range's number. With `g`, for all of it, and the distances of 4-byte elements are left in memory. Where it fails:
 * a label, or -1 for the interpreter. */
static uint32_t check_global(struct jit *j, const struct jit_insn *n, const int *a, const struct jit_group *g,
                             int leave)
{
    struct x86 *x = &j->x;
    uint32_t index = j->range_count++;
    int64_t imm = g ? g->imm : n->i->imm;
    struct x86_mem low = simt_jit_range_at(index, offsetof(struct jit_range, low));
    struct x86_mem room = simt_jit_range_at(index, offsetof(struct jit_range, room));
    uint32_t pins = j->vector_pins;
    struct moments t = take_moments(j);
    int miss = x86_label(x), found = x86_label(x);
    if (leave < 0) leave = simt_jit_leaving(j, JIT_LEFT, false);
    for (int again = 0; again < 2; again++) { /* the second time behind a new range */
        distances(j, a, t.d, low, imm);
        x86_rm(x, ALU_MOV, true, RDX, room);
        reject(j, &t, true, RDX, simt_jit_alignment(n), again ? leave : miss);
        if (again) {
            x86_jump(x, found);
            break;
        }
        x86_bind(x, found);
        x->now = X86_COLD;
        x86_bind(x, miss);
        if (j->zone)
            simt_jit_running_address(j, n->reads[0]);
        else
            x86_evex(x, to_gpr, (struct x86_evex){.bits = 128, .imm = -1}, a[0], 0, RCX);
        x86_imm(x, ALU_ADD, true, RCX, (int32_t)imm);
        x86_load_imm(x, RAX, index);
        x86_load_imm(x, RDX, g ? (uint64_t)g->bytes : (uint64_t)n->i->size * n->i->count);
        x86_call_label(x, j->fill_label);
        simt_jit_load_masks(j);
        x86_test(x, false, RAX, RAX);
        x86_jump_if(x, CC_E, leave);
    }
    x->now = X86_HOT;
    for (int k = 0; g && g->bytes == GROUP_BYTES && k < 4; k++)
        simt_jit_store(j, x86_at(REG_WARP, (int32_t)offsetof(struct warp, addresses) + 64 * k), t.d[k]);
    j->vector_pins = pins;
    return index;
}

/* The offsets into shared memory, or into the warp's local memory; they are left in registers. Of local memory an
 * observer is asked only where they are wrong. */
static void check_window(struct jit *j, const struct jit_insn *n, const int *a, int *d)
{
    struct x86 *x = &j->x;
    struct moments t = take_moments(j);
    const struct jit_row row = simt_jit_take_row(j, n);
    int otherwise = simt_jit_otherwise(j, n), bytes = n->i->size * n->i->count;
    size_t limit = n->op == 2 ? offsetof(struct worker, local_bytes) : offsetof(struct worker, shared_bytes);
    const struct shared_variable *v = simt_jit_still_variable(j, n);
    int64_t start = v ? v->offset : 0;
    if (n->op == 1 && simt_jit_is_watched(j, n->i)) simt_jit_call_scattered(j, n, row, 0, otherwise);
    for (int k = 0; k < 2; k++) {
        d[k] = t.d[k];
        simt_jit_set(j, false, d[k], n->i->imm - start);
        if (n->i->flags & F_FRAME) {
            simt_jit_spread_from(j, false, t.odd, OF_WARP(local_base));
            simt_jit_put(j, add_w, d[k], d[k], t.odd);
        }
        put_running(j, add_w, 16 * k, d[k], d[k], a[k]);
    }
    if (v) {
        x86_load_imm(x, RDX, v->bytes - (uint32_t)bytes + 1);
    } else {
        x86_rm(x, ALU_MOV, false, RDX, x86_at(REG_WORKER, (int32_t)limit));
        x86_imm(x, ALU_SUB, false, RDX, bytes - 1);
        x86_jump_if(x, CC_BE, otherwise);
    }
    reject(j, &t, false, RDX, bytes, otherwise);
    if (start) {
        simt_jit_set(j, false, t.odd, start);
        for (int k = 0; k < 2; k++) simt_jit_put(j, add_w, d[k], d[k], t.odd);
    }
    for (int k = 0; n->op == 2 && k < 2; k++) simt_jit_put_mem(j, add_w, d[k], d[k], simt_jit_local_of(16 * k));
}

/* The register of where that memory begins; rax for a moment. */
static int window_start(struct jit *j, const struct jit_insn *n)
{
    if (n->op == 1) return REG_SHARED;
    x86_rm(&j->x, ALU_MOV, true, RAX, OF_WARP(local));
    return RAX;
}

/* Lanes from the one given on; some of them, or none, where lanes have parted. */
static void move(struct jit *j, bool is_load, struct x86_vop op, int reg, struct x86_mem at, int lane, int count)
{
    struct x86 *x = &j->x;
    bool each = is_load && count == 16 && j->gathers_slowly;
    int moment = each ? simt_jit_new_vector(j) : -1, none = x86_label(x);
    if (is_load) simt_jit_clear(j, reg);
    if (j->zone) {
        x86_test_imm(x, REG_MASK, (int32_t)((((uint64_t)1 << count) - 1) << lane));
        x86_jump_if(x, CC_E, none);
    }
    if (each) {
        simt_jit_load_each(j, reg, at, lane, moment);
    } else {
        if (j->zone)
            x86_vex(x, shift_mask, 128, 1, 0, simt_jit_mask_from(j, 0, false), lane);
        else
            x86_vex(x, all_lanes, 256, 1, 1, 1, -1);
        x86_evex_sib(x, op, simt_jit_masked(1, -1), reg, at);
    }
    x86_bind(x, none);
}

/* Data of 4 bytes at addresses of 8: two times 8 lanes for a part. */
static void move_by_halves(struct jit *j, bool is_load, const int *a, int part, int reg, int32_t imm)
{
    int high = simt_jit_new_vector(j);
    if (!is_load) simt_jit_high_half(j, high, reg);
    for (int k = 0; k < 2; k++)
        move(j, is_load, is_load ? gather_q_w : scatter_q_w, k ? high : reg,
             (struct x86_mem){REG_BIAS, a[2 * part + k], 0, imm, -1}, 16 * part + 8 * k, 8);
    if (is_load) simt_jit_join(j, reg, reg, high);
}

/* Data of 8 bytes at offsets of 4. */
static void move_wide(struct jit *j, bool is_load, const int *d, int part, int reg, struct x86_mem at)
{
    int index = d[part / 2];
    if (part & 1) {
        index = simt_jit_new_vector(j);
        simt_jit_high_half(j, index, d[part / 2]);
    }
    at.index = index;
    move(j, is_load, is_load ? gather_w_q : scatter_w_q, reg, at, 8 * part, 8);
}

/* `offset`: of the element behind the checked offsets, or from the addresses in global memory. */
static void move_part(struct jit *j, const struct jit_insn *n, const int *a, int part, int reg, int32_t offset)
{
    bool is_load = n->kind == JK_LOAD;
    struct x86_mem at = {n->op ? window_start(j, n) : REG_BIAS, n->op && n->wide ? 0 : a[part], 0, offset, -1};
    if (n->op && n->wide)
        move_wide(j, is_load, a, part, reg, at);
    else if (n->op)
        move(j, is_load, is_load ? gather_w_w : scatter_w_w, reg, at, 16 * part, 16);
    else if (n->wide)
        move(j, is_load, is_load ? gather_q_q : scatter_q_q, reg, at, 8 * part, 8);
    else
        move_by_halves(j, is_load, a, part, reg, offset);
}

bool simt_jit_is_local(const struct jit *j, const struct jit_insn *n)
{
    const struct insn *i = n->i;
    bool whole = i->size == (n->wide ? 8 : 4), one = i->count == 1, load = n->kind == JK_LOAD;
    bool narrow = one && (i->size < 4 || (load && i->size < 8));
    return i->space == PTX_LOCAL && i->imm == (int32_t)i->imm && j->function->stack_bytes <= MOST_LOCAL &&
           (whole || narrow) && (one || !simt_jit_is_avx2(j)) && (!load || n->write_count == i->count);
}

/* Can it be done here? Narrower elements: as the 4 bytes that one of them begins, behind all of which there is room. */
static bool is_single(const struct jit *j, const struct jit_insn *n)
{
    const struct insn *i = n->i;
    bool narrow = i->size < 4 && (!n->wide || n->kind == JK_LOAD), watched = simt_jit_is_watched(j, i);
    if (n->op == 2) return true; /* simt_jit_is_local has seen to it */
    bool whole = i->size == (n->wide ? 8 : 4), all = n->kind == JK_STORE || n->write_count == i->count;
    if (i->count != 1 && (n->op || watched || !whole || !all || i->imm >= 1 << 30 || simt_jit_is_avx2(j))) return false;
    if (n->guarded || i->imm != (int32_t)i->imm || (n->kind == JK_LOAD && !n->write_count)) return false;
    if (watched && !simt_jit_may_ask(j, n)) return false;
    return narrow || simt_jit_is_widened(n) || i->size == (n->wide ? 8 : 4);
}

void simt_jit_widen(struct jit *j, const struct jit_insn *n, int *regs)
{
    const struct x86_vop extend = {2, 1, 0, n->detail ? 0x25 : 0x35};
    for (int p = simt_jit_part_count(j, false); p-- > 0;) {
        int low = regs[p], high = simt_jit_new_vector(j);
        simt_jit_high_half(j, high, low);
        simt_jit_put(j, extend, high, 0, high);
        simt_jit_put(j, extend, low, 0, low);
        regs[2 * p] = low, regs[2 * p + 1] = high;
    }
}

void simt_jit_define_loaded(struct jit *j, const struct jit_insn *n, const struct jit_group *g, int *regs)
{
    simt_jit_turn(j, n, regs);
    if (n->i->size < 4) simt_jit_narrow_lanes(j, n, g, regs);
    if (simt_jit_is_widened(n)) simt_jit_widen(j, n, regs);
    simt_jit_define_vector(j, n->writes[0], regs);
}

static void move_parts(struct jit *j, const struct jit_insn *n, const int *a, const int *regs, int32_t offset)
{
    uint32_t pins = j->vector_pins;
    for (int p = 0; p < simt_jit_part_count(j, n->wide); p++) {
        move_part(j, n, a, p, regs[p], offset);
        j->vector_pins = pins;
    }
}

static void define_from(struct jit *j, const struct jit_insn *n, int *regs, int parts, const struct jit_group *g)
{
    j->vector_pins = 0;
    for (int p = 0; p < parts; p++) j->vector_pins |= 1u << regs[p];
    simt_jit_define_loaded(j, n, g, regs);
}

/* Registers that the ways from here on may use: they must not differ in what they leave in others. */
static void free_vectors(struct jit *j, int count)
{
    uint32_t pins = j->vector_pins;
    for (int k = 0; k < count; k++) simt_jit_new_vector(j);
    j->vector_pins = pins;
}

/* As check_global and move_parts, with every instruction set; `a`: where AVX-512 has the addresses. */
static uint32_t check_rows(struct jit *j, const struct jit_insn *n, const int *a, const struct jit_group *g, int leave)
{
    return simt_jit_is_avx2(j) ? simt_jit_avx2_check(j, n, g, leave) : check_global(j, n, a, g, leave);
}
static void gather_words(struct jit *j, const struct jit_insn *n, const int *a, const int *regs, int32_t imm)
{
    struct jit_insn as_words = *n;
    as_words.wide = false;
    if (simt_jit_is_avx2(j))
        simt_jit_avx2_gather_words(j, n, regs, imm);
    else
        move_parts(j, &as_words, a, regs, imm);
}

/* Along rows: jit_walks.c. */
static void load_walking(struct jit *j, const struct jit_insn *n, const int *a, const struct jit_group *g, int walk)
{
    const struct jit_group whole = {.imm = g ? g->imm : n->i->imm, .bytes = GROUP_BYTES};
    int regs[JIT_PARTS] = {0}, parts = simt_jit_part_count(j, false), use = x86_label(&j->x), done = x86_label(&j->x);
    int each = x86_label(&j->x);
    for (int p = 0; p < parts; p++) regs[p] = simt_jit_new_vector(j);
    free_vectors(j, simt_jit_is_avx2(j) ? AVX2_MOMENTS : (int)(sizeof(struct moments) / sizeof(int)));
    simt_jit_find_walk(j, walk, use);
    simt_jit_fetch_walk(j, walk, check_rows(j, n, a, &whole, each));
    x86_jump(&j->x, use);
    x86_bind(&j->x, each);
    check_rows(j, n, a, g, -1);
    gather_words(j, n, a, regs, (int32_t)whole.imm);
    x86_jump(&j->x, done);
    simt_jit_use_walk(j, walk, regs, use, done);
    define_from(j, n, regs, parts, g);
}

bool simt_jit_gather(struct jit *j, const struct jit_insn *n)
{
    uint32_t range = 0;
    struct jit_insn as_words = *n, one = *n; /* as it is moved; of elements behind the first */
    int a[4] = {0}, d[2] = {0}, regs[JIT_PARTS] = {0};
    if (!is_single(j, n)) return false;
    if (simt_jit_is_widened(n)) as_words.wide = false;
    int parts = simt_jit_part_count(j, as_words.wide);
    struct jit_group g;
    bool together = n->i->count == 1 && simt_jit_neighbours(j, n, &g), avx2 = simt_jit_is_avx2(j);
    int64_t imm = together ? g.imm : n->op ? 0 : n->i->imm;
    for (int k = 0; !avx2 && k < (n->op ? 2 : 4); k++) a[k] = simt_jit_part(j, n->reads[0], k);
    int walk = simt_jit_walk_of(j, n, together ? &g : NULL);
    if (walk >= 0) {
        load_walking(j, n, a, together ? &g : NULL, walk);
        return true;
    }
    if (avx2) {
        simt_jit_avx2_gather(j, n, together ? &g : NULL);
        simt_jit_end_otherwise(j);
        return true;
    }
    if (n->op)
        check_window(j, n, a, d);
    else if (simt_jit_is_watched(j, n->i))
        ask_global(j, n, a);
    else
        range = check_global(j, n, a, together ? &g : NULL, -1);
    if (together && g.bytes == GROUP_BYTES) {
        simt_jit_load_neighbours(j, n, &g, range);
        return true;
    }
    if (n->kind == JK_STORE && n->i->size < 4) {
        simt_jit_store_lanes(j, n, range);
        simt_jit_end_otherwise(j);
        return true;
    }
    uint32_t pins = j->vector_pins;
    for (int e = 0; e < n->i->count; e++) {
        for (int p = 0; p < parts; p++)
            regs[p] = n->kind == JK_LOAD ? simt_jit_new_vector(j) : simt_jit_part(j, n->reads[1 + e], p);
        move_parts(j, &as_words, n->op ? d : a, regs, (int32_t)imm + e * n->i->size);
        one.writes[0] = n->writes[e];
        if (n->kind == JK_LOAD) define_from(j, e ? &one : n, regs, parts, together ? &g : NULL);
        j->vector_pins = pins;
    }
    simt_jit_end_otherwise(j);
    return true;
}
