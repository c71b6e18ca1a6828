/* Accesses that an observer watches, from linear addresses, or from others, which may turn out to be a row: it is
 * asked, by `quick`, before the vector moves, unless code can see for itself that all is right: in shared memory by the
 * tags of words (jit_tags.c), in global memory by the records of lines (jit_lines.c). Loads that follow each other by
 * equal steps from one address are asked for together.
 */
#include <string.h>
#include "runtime/simt/jit_build.h"

#define MOST_TOGETHER 64
#define MOST_BYTES    1024 /* whose tags are compared at one place, for each half */

/* What is asked for at once. */
struct group {
    int64_t step, bytes; /* from lane to lane; of a lane */
    int count;           /* accesses */
    int64_t stride;      /* from one to the next */
};

static int64_t least(int64_t n)
{
    return n < 0 ? n : 0;
}
static int64_t most(int64_t n)
{
    return n > 0 ? n : 0;
}

/* ---- together ---- */
static bool same_line(const struct jit *j, const struct jit_insn *a, const struct jit_insn *b)
{
    const struct place *p = &j->program->places[a->i - j->program->code];
    const struct place *q = &j->program->places[b->i - j->program->code];
    return p->file == q->file && p->line == q->line && p->column == q->column;
}

static int origin_of(const struct jit *j, const struct jit_insn *n)
{
    return j->program->places[n->i - j->program->code].origin;
}

static unsigned unit_of(const struct jit *j, const struct jit_insn *n)
{
    return n->op ? simt_unit_log(j->program, j->function, origin_of(j, n)) : 2;
}

/* Does it end a stretch of loads from the same address? */
static bool ends_stretch(const struct jit *j, const struct jit_insn *m, uint16_t address)
{
    if (m->kind == JK_UNKNOWN || m->kind == JK_CALL || m->kind == JK_MEET || m->kind == JK_STORE || m->guarded)
        return true;
    if (m->kind == JK_LOAD && !simt_jit_is_native_access(j, m, j->places[m->reads[0]].form)) return true;
    for (int k = 0; k < m->write_count; k++)
        if (m->writes[k] == address) return true;
    return false;
}

/* The loads of shared memory behind n that it speaks for; they are marked. */
static void gather_group(struct jit *j, const struct jit_insn *n, struct group *g)
{
    if (n->kind != JK_LOAD || !n->op || j->repeats) return;
    int64_t last = n->i->imm, limit = g->step ? MOST_BYTES / (16 * g->bytes) : MOST_TOGETHER;
    uint32_t end = j->block->end;
    for (uint32_t k = (uint32_t)(n - j->code) + 1; k < end && g->count < limit; k++) {
        struct jit_insn *m = &j->code[k];
        if (ends_stretch(j, m, n->reads[0])) return;
        bool like = m->kind == JK_LOAD && m->op == n->op && m->reads[0] == n->reads[0] && m->i->size == n->i->size &&
                    m->i->count == n->i->count && same_line(j, n, m) && origin_of(j, m) == origin_of(j, n);
        if (!like) continue;
        int64_t stride = m->i->imm - last;
        if (g->count > 1 && stride != g->stride) return;
        if (stride != (int32_t)stride) return;
        g->stride = stride;
        last = m->i->imm;
        g->count++;
        m->asked = true;
    }
}

/* ---- bounds ---- */
/* Shared memory: leaves unless all lies in the variable that is meant, aligned. */
static void check_window(struct jit *j, const struct jit_insn *n, int base, struct jit_form f, const struct group *g,
                         int leave)
{
    struct x86 *x = &j->x;
    int origin = origin_of(j, n) - SHARED_ORIGIN;
    const struct shared_variable *v = origin >= 0 ? &j->program->shared[origin] : NULL;
    int64_t skip = f.kind == FORM_LINEAR ? f.skip : 0, last = g->stride * (g->count - 1);
    int64_t low = least(15 * g->step) + least(skip) + least(last);
    int64_t bytes = most(15 * g->step) + most(skip) + most(last) + g->bytes - low;
    int64_t start = v ? v->offset : 0, room = v && v->bytes ? (int64_t)v->bytes - bytes : INT32_MAX;
    if (g->bytes > 1) {
        x86_test_imm(x, base, (int32_t)g->bytes - 1);
        x86_jump_if(x, CC_NE, leave);
    }
    x86_lea(x, true, RCX, x86_at(base, (int32_t)(n->i->imm + low - start)));
    if (v && v->bytes) {
        if (room < 0) {
            x86_jump(x, leave);
            return;
        }
        x86_imm(x, ALU_CMP, true, RCX, (int32_t)room);
    } else {
        x86_rm(x, ALU_MOV, false, RAX, OF_WORKER(shared_bytes));
        x86_imm(x, ALU_SUB, true, RAX, (int32_t)(start + bytes));
        x86_jump_if(x, CC_B, leave);
        x86_rr(x, ALU_CMP, true, RCX, RAX);
    }
    x86_jump_if(x, CC_A, leave);
}

/* ---- tags ---- */
/* The words that the lanes of a half touch, when they lie side by side; 0: they don't. */
static int64_t words_of(const struct group *g)
{
    int64_t one = g->step ? 16 * g->bytes : g->bytes;
    if (g->count > 1 && g->stride != one) return 0;
    return one * g->count;
}

/* Are the tags of what n->i->imm and `skip` behind it mean that near the first one, too? */
static bool has_near_tags(const struct jit_insn *n, int64_t skip, unsigned log)
{
    const int64_t far = INT32_MAX / 16 << log;
    return n->i->imm <= far && n->i->imm >= -far && skip <= far && skip >= -far;
}

/* Which words of shared memory the group touches, where code sees to their tags: all are read by several lanes, or each
 * by one of its own. False: where it doesn't. */
static bool find_words(const struct jit *j, const struct jit_insn *n, const int bases[2], struct jit_form f,
                       const struct group *g, struct jit_words *w)
{
    bool later = !strncmp(j->program->places[n->i - j->program->code].opcode, "cp.async.", 9);
    bool same = f.kind == FORM_CONST || (f.kind == FORM_LINEAR && !f.skip);
    unsigned log = unit_of(j, n);
    int64_t skip = f.kind == FORM_LINEAR ? f.skip : 0, bytes = words_of(g), vector = j->bits / 8;
    int64_t tags = bytes << (2 - log), each = g->bytes >> log;
    if (!has_near_tags(n, skip, log)) return false;
    if (!n->op || later || !each || !bytes || tags > MOST_BYTES || (g->step && g->step != g->bytes)) return false;
    if (tags % 32 ? tags > 32 : tags % vector) return false;
    bool apart = f.kind == FORM_PAIR || skip >= bytes || skip <= -bytes;
    bool own = g->step && apart && !j->repeats && g->count == 1 && (each == 1 || each == 2 || each == 4);
    *w = (struct jit_words){.bases = bases,
                            .offsets = {(int32_t)n->i->imm, (int32_t)(n->i->imm + skip)},
                            .halves = same ? 1 : 2,
                            .log = log,
                            .pair = f.kind == FORM_PAIR,
                            .own = own,
                            .bytes = bytes,
                            .shift = own ? __builtin_ctz((unsigned)each) : 0,
                            .step = g->step,
                            .count = g->count,
                            .stride = g->stride};
    w->claims = !j->repeats && (own || !g->step || same);
    return n->kind == JK_LOAD || own;
}

/* ---- blocks that do what one did ---- */
/* Jumps when the access is of shared memory and nothing is to be said of it. */
static void pass_steady(struct jit *j, const struct jit_insn *n, int label)
{
    if (!n->op || !j->function->steady || j->program->places[n->i - j->program->code].loose) return;
    x86_mem_imm(&j->x, ALU_CMP, false, OF_WORKER(quiet.steady), 0);
    x86_jump_if(&j->x, CC_NE, label);
}

/* ---- the call ---- */
static bool is_kept(const struct jit *j, int reg)
{
    bool by_callee = reg == RBX || reg == RBP || reg >= R12;
    return !by_callee && (j->gpr_owner[reg] >= 0 || j->gpr_pins >> reg & 1);
}

/* Registers to the stack, or from there. */
static void keep(struct jit *j, bool load)
{
    struct x86 *x = &j->x;
    int32_t bytes = j->bits / 8, at = 0, room = 0;
    for (int v = 0; v < 32; v++) room += j->vector_owner[v] >= 0 ? bytes : 0;
    for (int r = 0; r < X86_GPRS; r++) room += is_kept(j, r) ? 8 : 0;
    room = (room + 15) & ~15;
    if (!load && room) x86_imm(x, ALU_SUB, true, RSP, room);
    for (int v = 0; v < 32; v++) {
        if (j->vector_owner[v] < 0) continue;
        if (load)
            simt_jit_load(j, v, x86_at(RSP, at));
        else
            simt_jit_store(j, x86_at(RSP, at), v);
        at += bytes;
    }
    for (int r = 0; r < X86_GPRS; r++) {
        if (!is_kept(j, r)) continue;
        if (load)
            x86_rm(x, ALU_MOV, true, r, x86_at(RSP, at));
        else
            x86_store(x, true, x86_at(RSP, at), r);
        at += 8;
    }
    if (load && room) x86_imm(x, ALU_ADD, true, RSP, room);
}

/* Registers are kept, and what the call says of addresses is there. */
static void call(struct jit *j, const struct jit_insn *n, uint64_t which, int64_t step, uint64_t more, int leave)
{
    struct x86 *x = &j->x;
    x86_rr(x, ALU_MOV, true, RDI, REG_WARP);
    x86_load_imm(x, RSI, (uint64_t)(n->i - j->program->code) | which);
    x86_load_imm(x, RDX, (uint64_t)step);
    x86_load_imm(x, R9, more);
    x86_load_imm(x, RAX, (uint64_t)(uintptr_t)j->quick);
    x86_vzeroupper(x);
    x86_call(x, RAX);
    x86_movzx_byte(x, RAX, RAX);
    keep(j, true);
    simt_jit_load_masks(j);
    x86_test(x, false, RAX, RAX);
    x86_jump_if(x, CC_E, leave);
}

static void call_rows(struct jit *j, const struct jit_insn *n, const int bases[2], struct jit_form f, uint64_t which,
                      uint64_t more, int leave)
{
    struct x86 *x = &j->x;
    int32_t imm = (int32_t)n->i->imm, skip = f.kind == FORM_LINEAR ? (int32_t)f.skip : 0;
    /* The observer looks in the frame for what is to be stored. */
    for (int k = 1; n->kind == JK_STORE && k < n->read_count; k++) simt_jit_write_all(j, n->reads[k]);
    keep(j, false);
    x86_lea(x, true, RAX, x86_at(bases[0], imm));
    x86_lea(x, true, RCX, x86_at(bases[1], imm + skip));
    x86_rr(x, ALU_MOV, true, R8, RCX);
    x86_rr(x, ALU_MOV, true, RCX, RAX);
    call(j, n, which, form_step(f), more, leave);
}

void simt_jit_call_quick(struct jit *j, const struct jit_insn *n, const int bases[2], struct jit_form f, uint64_t more,
                         int leave)
{
    call_rows(j, n, bases, f, 0, more, leave);
}

void simt_jit_call_some(struct jit *j, const struct jit_insn *n, const int bases[2], struct jit_form f, uint64_t more,
                        int leave)
{
    x86_store(&j->x, false, OF_WARP(parted), REG_MASK);
    call_rows(j, n, bases, f, QUICK_SOME, more, leave);
}

/* Lanes whose addresses turn out to be a row of words, all 32 of which run: what `find_words` says of those that are
 * one by their form. Jumps to `other` unless all is done. */
static void claim_row(struct jit *j, const struct jit_insn *n, int base, int first, int other)
{
    struct x86 *x = &j->x;
    const struct x86_mem lane = x86_at(REG_FRAME, (int32_t)j->slots[n->reads[0]].offset);
    const int32_t bytes = n->i->size;
    const struct jit_form row = {FORM_LINEAR, bytes, 16 * bytes, 0};
    const struct group g = {bytes, bytes, 1, 0};
    const struct x86_vop sub_w = {1, 1, 0, 0xfa};
    const int bases[2] = {base, base}, d = simt_jit_scratch(j);
    const struct jit_words w = {.bases = bases,
                                .offsets = {(int32_t)n->i->imm, (int32_t)n->i->imm + 16 * bytes},
                                .halves = 2,
                                .log = unit_of(j, n),
                                .own = true,
                                .bytes = 16 * bytes,
                                .step = bytes,
                                .count = 1};
    if (j->zone) {
        x86_imm(x, ALU_CMP, false, REG_MASK, -1);
        x86_jump_if(x, CC_NE, other);
    }
    simt_jit_spread_from(j, false, first, lane);
    x86_rm(x, ALU_MOV, false, base, lane);
    for (int p = 0; p < simt_jit_part_count(j, false); p++) {
        int32_t lanes[16];
        for (int l = 0; l < 16; l++) lanes[l] = bytes * (l + p * simt_jit_lanes(j, false));
        int a = simt_jit_peek(j, n->reads[0], p, d);
        simt_jit_put_mem(j, sub_w, d, a, x86_at_label(x86_constant(x, lanes)));
        simt_jit_jump_unless_equal(j, d, first, other);
    }
    check_window(j, n, base, row, &g, other);
    if (n->kind == JK_STORE) {
        simt_jit_claim_tags(j, n, &w, other);
        return;
    }
    int fine = x86_label(x), differ = x86_label(x);
    simt_jit_compare_tags(j, &w, first, differ);
    x86_jump(x, fine);
    x86_bind(x, differ);
    simt_jit_claim_tags(j, n, &w, other);
    x86_bind(x, fine);
}

struct jit_row simt_jit_take_row(struct jit *j, const struct jit_insn *n)
{
    const unsigned log = unit_of(j, n);
    bool elements = n->i->size == 1 << log && n->i->count == 1 && has_near_tags(n, 0, log);
    if (n->op != 1 || !simt_jit_is_watched(j, n->i) || !elements || j->repeats) return (struct jit_row){-1, -1};
    return (struct jit_row){simt_jit_new_gpr(j), simt_jit_new_vector(j)};
}

void simt_jit_call_scattered(struct jit *j, const struct jit_insn *n, struct jit_row row, uint64_t more, int leave)
{
    struct x86 *x = &j->x;
    int over = x86_label(x), other = x86_label(x), section = x->now;
    bool words = row.base >= 0;
    if (!j->program->places[n->i - j->program->code].unsteady || simt_jit_still_variable(j, n)) pass_steady(j, n, over);
    for (int k = 0; k < (n->kind == JK_STORE ? n->read_count : 1); k++) simt_jit_write_all(j, n->reads[k]);
    if (words) {
        claim_row(j, n, row.base, row.first, other);
        if (section == X86_COLD) x86_jump(x, over);
        x->now = X86_COLD;
        x86_bind(x, other);
    }
    keep(j, false);
    if (j->zone)
        x86_rr(x, ALU_MOV, false, RCX, REG_MASK);
    else
        x86_load_imm(x, RCX, FULL);
    call(j, n, 0, QUICK_SCATTERED, more, leave);
    if (words) {
        x86_jump(x, over);
        x->now = section;
    }
    x86_bind(x, over);
}

void simt_jit_meet(struct jit *j)
{
    struct x86 *x = &j->x;
    int over = x86_label(x), ask = x86_label(x);
    const struct x86_mem time = OF_WORKER(quiet.time);
    const uint32_t by_block[] = {j->times.now, j->times.since}, by_warp[] = {j->times.met, j->times.seen};
    x86_rm(x, ALU_MOV, false, RCX, time);
    x86_rm(x, ALU_CMP, false, RCX, OF_WORKER(quiet.meets));
    x86_jump_if(x, CC_AE, ask);
    x86_imm(x, ALU_ADD, false, RCX, 1);
    x86_store(x, false, time, RCX);
    x86_mem_imm(x, ALU_ADD, true, OF_WORKER(quiet.me), j->times.step);
    x86_rm(x, ALU_MOV, true, RAX, OF_WORKER(observed));
    x86_rm(x, ALU_MOV, false, RDX, OF_WARP(index));
    for (int k = 0; k < 2; k++) x86_store(x, false, x86_at(RAX, (int32_t)by_block[k]), RCX);
    x86_lea(x, true, RAX, (struct x86_mem){RAX, RDX, 2, 0, -1});
    for (int k = 0; k < 2; k++) x86_store(x, false, x86_at(RAX, (int32_t)by_warp[k]), RCX);
    x86_bind(x, over);
    x->now = X86_COLD;
    x86_bind(x, ask);
    keep(j, false);
    x86_rr(x, ALU_MOV, true, RDI, REG_WARP);
    x86_load_imm(x, RAX, (uint64_t)(uintptr_t)simt_whole_sync);
    x86_vzeroupper(x);
    x86_call(x, RAX);
    keep(j, true);
    simt_jit_load_masks(j);
    x86_jump(x, over);
    x->now = X86_HOT;
}

const struct shared_variable *simt_jit_still_variable(const struct jit *j, const struct jit_insn *n)
{
    uint32_t bytes = (uint32_t)n->i->size * n->i->count;
    if (n->op != 1 || simt_jit_is_avx2(j) || !simt_jit_is_watched(j, n->i)) return NULL;
    if (!j->program->places[n->i - j->program->code].unsteady) return NULL;
    const struct shared_variable *v = &j->program->shared[origin_of(j, n) - SHARED_ORIGIN];
    return v->bytes >= bytes && v->offset % bytes == 0 ? v : NULL;
}

void simt_jit_ask_scattered(struct jit *j, const struct jit_insn *n, uint32_t range, int miss, int leave)
{
    struct x86 *x = &j->x;
    bool load = n->kind == JK_LOAD;
    int found = x86_label(x);
    if (load) {
        x86_bind(x, found);
        x->now = X86_COLD;
        x86_bind(x, miss);
    }
    simt_jit_call_scattered(j, n, (struct jit_row){-1, -1}, load ? UINT64_C(1) << 32 | (range + 1) : 0, leave);
    if (load) x86_jump(x, found);
    x->now = X86_HOT;
}

bool simt_jit_may_ask(const struct jit *j, const struct jit_insn *n)
{
    const struct insn *i = n->i;
    bool later = !strncmp(j->program->places[i - j->program->code].opcode, "cp.async.", 9);
    bool one_place = !j->zone && n->kind == JK_STORE && form_is_scalar(form_of_read(j, n, 0));
    return !later && !one_place && n->op <= 1 &&
           (!n->op || j->function->steady || i->size * i->count >= 1 << unit_of(j, n)) &&
           !(i->flags & (F_FRAME | F_SPIN)) && i->space == (n->op ? PTX_SHARED : PTX_GLOBAL);
}

/* Loads of global memory, where the observer leaves a window of its records with the last access. */
static bool has_lines(const struct jit_insn *n, struct jit_form f)
{
    int64_t bytes = (int64_t)n->i->size * n->i->count, step = form_step(f);
    return n->kind == JK_LOAD && !n->op && (!step || step == bytes);
}

void simt_jit_ask(struct jit *j, const struct jit_insn *n, const int bases[2], struct jit_form f)
{
    struct x86 *x = &j->x;
    struct group g = {form_step(f), (int64_t)n->i->size * n->i->count, 1, 0};
    struct jit_words words;
    if (n->asked) return;
    if (has_lines(n, f)) {
        simt_jit_lines(j, n, bases, f);
        return;
    }
    gather_group(j, n, &g);
    bool tags = find_words(j, n, bases, f, &g, &words), reads = tags && n->kind == JK_LOAD;
    uint32_t pins = j->vector_pins;
    int moment = reads ? simt_jit_new_vector(j) : 0;
    j->vector_pins = pins;
    int leave = simt_jit_leaving(j, JIT_LEFT, false), miss = x86_label(x), fine = x86_label(x);
    for (int h = 0; n->op && h < (f.kind == FORM_PAIR ? 2 : 1); h++) check_window(j, n, bases[h], f, &g, leave);
    pass_steady(j, n, fine); /* but within: a base may be before the start, and go round with its offset */
    uint64_t more = n->op ? (uint64_t)g.stride << 32 | (uint64_t)g.count : 0;
    uint32_t quiet = simt_jit_quiet(j, n, bases, f, miss);
    if (!tags && !quiet) {
        simt_jit_call_quick(j, n, bases, f, more, leave);
        x86_bind(x, fine);
        return;
    }
    if (quiet) {
        more = UINT64_C(1) << 32 | quiet;
        x->now = X86_COLD;
        x86_bind(x, miss);
        simt_jit_call_quick(j, n, bases, f, more, leave);
        x86_jump(x, fine);
        x->now = X86_HOT;
        x86_bind(x, fine);
        return;
    }
    if (reads)
        simt_jit_compare_tags(j, &words, moment, miss);
    else
        simt_jit_claim_tags(j, n, &words, miss);
    x86_bind(x, fine);
    x->now = X86_COLD;
    x86_bind(x, miss);
    if (reads && words.claims) {
        int no = x86_label(x);
        simt_jit_claim_tags(j, n, &words, no);
        x86_jump(x, fine);
        x86_bind(x, no);
    }
    simt_jit_call_quick(j, n, bases, f, more, leave);
    x86_jump(x, fine);
    x->now = X86_HOT;
}
