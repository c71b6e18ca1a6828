/* Watched accesses to global memory, where generated code can do what check_rows.c would: look at the records of the
 * lines that a row of neighbours touches, and change them. Lines that all may read need nothing; those that nobody has
 * touched become the warp's; and those that are its own remain so. Where check_once.c keeps lists, what several threads
 * have loaded may be loaded again. Everything else is the observer's.
 *
 * Code for rows that begin where lines do is a routine, one for each kind of row, that many places call. */
#include "runtime/simt/check_inside.h"
#include "runtime/simt/jit_build.h"

enum { LOCK_AT = offsetof(struct line, lock), WHO_AT = offsetof(struct line, who), KIND_AT = 16, PAIR = 2 * LINE };

#define QUIET(member)    OF_WORKER(quiet.member)
#define OF_RANGE(member) simt_jit_range_at(range, offsetof(struct jit_range, member)) /* of number `range` */
#define RANGE(member)    x86_at(RDX, (int32_t)offsetof(struct jit_range, member))

void simt_jit_find_outputs(struct jit *j)
{
    for (uint32_t k = 0; k < j->count; k++) {
        const struct insn *i = &j->program->code[j->first + k];
        int origin = j->program->places[j->first + k].origin;
        bool writes = i->memory == MEMORY_STORE || i->memory == MEMORY_ATOMIC;
        if (writes && origin >= 0 && origin / 8 < JIT_PARAMETERS) j->outputs[origin / 8] = 1;
    }
}

/* ---- any place in lines that all may read ---- */
/* Of an address: where the record of its line stands. RAX: the window's distance. */
static void find_record(struct jit *j, int reg)
{
    x86_shift_imm(&j->x, SHIFT_RIGHT, true, reg, __builtin_ctz(QUIET_LINE / QUIET_RECORD));
    x86_imm(&j->x, ALU_AND, true, reg, -QUIET_RECORD);
    x86_rr(&j->x, ALU_ADD, true, reg, RAX);
}

/* Jumps unless all lines of `bytes` bytes from an address on begin as `quiet.line` says, or nobody writes there. */
static void compare_lines(struct jit *j, int base, int64_t offset, int64_t bytes, bool one, uint32_t range, int label)
{
    struct x86 *x = &j->x;
    int input = x86_label(x);
    x86_lea(x, true, RCX, x86_at(base, (int32_t)offset));
    x86_rr(x, ALU_MOV, true, RAX, RCX);
    x86_rm(x, ALU_SUB, true, RAX, OF_RANGE(low));
    x86_rm(x, ALU_CMP, true, RAX, OF_RANGE(room));
    x86_jump_if(x, CC_AE, label);
    x86_rm(x, ALU_MOV, true, RAX, OF_RANGE(lines));
    x86_test(x, true, RAX, RAX);
    x86_jump_if(x, CC_E, input);
    if (!one) { /* the last line, and then those before it */
        x86_lea(x, true, RDX, x86_at(base, (int32_t)(offset + bytes - 1)));
        find_record(j, RDX);
        find_record(j, RCX);
        x86_rm(x, ALU_MOV, true, RAX, QUIET(line));
        x86_rm(x, ALU_CMP, true, RAX, x86_at(RDX, 0));
        x86_jump_if(x, CC_NE, label);
        for (int64_t k = 0; k < bytes; k += LINE) {
            x86_rm(x, ALU_CMP, true, RAX, x86_at(RCX, (int32_t)k / LINE * QUIET_RECORD));
            x86_jump_if(x, CC_NE, label);
        }
        x86_bind(x, input);
        return;
    }
    x86_rr(x, ALU_MOV, true, RDX, RCX);
    find_record(j, RDX);
    x86_rm(x, ALU_MOV, false, RAX, QUIET(line));
    x86_rm(x, ALU_CMP, false, RAX, x86_at(RDX, 0));
    x86_jump_if(x, CC_NE, label);
    x86_load_part(x, RAX, x86_at(RDX, 4), 2, false, false); /* a bit for each word */
    x86_shift_imm(x, SHIFT_RIGHT, false, RCX, 2);
    x86_imm(x, ALU_AND, false, RCX, LINE / 4 - 1);
    x86_shift_cl(x, SHIFT_RIGHT, false, RAX);
    x86_unary(x, UNARY_NOT, false, RAX);
    x86_test_imm(x, RAX, (1 << bytes / 4) - 1);
    x86_jump_if(x, CC_NE, label);
    x86_bind(x, input);
}

/* Of the access: are its halves one, or the second behind the first? */
static bool halves_agree(struct jit_form f)
{
    return f.kind == FORM_CONST || (f.kind == FORM_LINEAR && !f.skip);
}
static bool halves_follow(struct jit_form f, int64_t half)
{
    return f.kind == FORM_LINEAR && f.skip == half;
}

/* Does the access seem to be one that can't race: of what the launch does not write, or by an address that tells
 * whether each thread has memory of its own? */
static bool may_be_quiet(const struct jit *j, const struct jit_insn *n)
{
    const struct place *p = &j->program->places[n->i - j->program->code];
    return p->origin >= 0 && p->origin / 8 < JIT_PARAMETERS && (!j->outputs[p->origin / 8] || p->term);
}

/* Jumps unless the range is of memory where nobody can race, and the access inside; of one half, or both: -1. */
static void compare_range(struct jit *j, const struct jit_insn *n, const int bases[2], struct jit_form f, int half,
                          uint32_t range, int other)
{
    struct x86 *x = &j->x;
    int64_t bytes = (int64_t)n->i->size * n->i->count, skip = f.kind == FORM_LINEAR ? f.skip : 0;
    bool once = halves_agree(f) || (form_step(f) && halves_follow(f, 16 * form_step(f)));
    x86_mem_imm(x, ALU_CMP, true, OF_RANGE(lines), 0);
    x86_jump_if(x, CC_NE, other);
    for (int h = 0; h < 2; h++) {
        if (half < 0 ? h && once : h != half) continue;
        x86_lea(x, true, RCX, x86_at(bases[h], (int32_t)(n->i->imm + (h ? skip : 0))));
        if (bytes > 1) {
            x86_test_imm(x, RCX, (int32_t)bytes - 1);
            x86_jump_if(x, CC_NE, other);
        }
        x86_rm(x, ALU_SUB, true, RCX, OF_RANGE(low));
        x86_rm(x, ALU_CMP, true, RCX, OF_RANGE(room));
        x86_jump_if(x, CC_AE, other);
    }
}

uint32_t simt_jit_quiet(struct jit *j, const struct jit_insn *n, const int bases[2], struct jit_form f, int other)
{
    uint32_t range = j->range_count;
    if (n->op || !may_be_quiet(j, n)) return 0;
    compare_range(j, n, bases, f, -1, range, other);
    return ++j->range_count;
}

static void compare_all_lines(struct jit *j, const struct jit_insn *n, const int bases[2], struct jit_form f,
                              uint32_t range, int miss)
{
    struct x86 *x = &j->x;
    int64_t imm = n->i->imm, bytes = (int64_t)n->i->size * n->i->count, step = form_step(f);
    int64_t skip = f.kind == FORM_LINEAR ? f.skip : 0, half = step ? 16 * bytes : bytes;
    bool same = halves_agree(f), on = halves_follow(f, half);
    x86_lea(x, true, RAX, x86_at(bases[0], (int32_t)imm));
    if (!same) {
        x86_lea(x, true, RCX, x86_at(bases[1], (int32_t)(imm + skip)));
        x86_rr(x, ALU_OR, true, RAX, RCX);
    }
    x86_test_imm(x, RAX, (int32_t)bytes - 1);
    x86_jump_if(x, CC_NE, miss);
    compare_lines(j, bases[0], imm, step && on ? 2 * half : half, !step, range, miss);
    if (!same && !(step && on)) compare_lines(j, bases[1], imm + skip, half, !step, range, miss);
}

/* Jumps where the observer's bits say that loads of words, by steps of one or none, are nothing new. */
static void pass_known(struct jit *j, const struct jit_insn *n, const int bases[2], struct jit_form f, uint32_t range,
                       int fine)
{
    struct x86 *x = &j->x;
    const int64_t skip = f.kind == FORM_LINEAR ? f.skip : 0;
    int ask = x86_label(x);
    if (n->i->size != 4 || n->i->count != 1) return;
    x86_rm(x, ALU_MOV, true, RDX, OF_RANGE(known));
    x86_test(x, true, RDX, RDX);
    x86_jump_if(x, CC_E, ask);
    for (int h = 0; h < (halves_agree(f) ? 1 : 2); h++) {
        x86_lea(x, true, RCX, x86_at(bases[h], (int32_t)(n->i->imm + (h ? skip : 0))));
        x86_test_imm(x, RCX, 3);
        x86_jump_if(x, CC_NE, ask);
        x86_rr(x, ALU_MOV, true, RAX, RCX);
        x86_rm(x, ALU_SUB, true, RAX, OF_RANGE(listed));
        x86_rm(x, ALU_CMP, true, RAX, OF_RANGE(listed_room));
        x86_jump_if(x, CC_AE, ask);
        x86_rr(x, ALU_MOV, true, RAX, RCX);
        x86_shift_imm(x, SHIFT_RIGHT, true, RAX, 5);
        x86_rm(x, ALU_MOV, false, RAX, x86_at_index(RDX, RAX, 0));
        x86_shift_imm(x, SHIFT_RIGHT, false, RCX, 2);
        x86_imm(x, ALU_AND, false, RCX, 7);
        x86_shift_cl(x, SHIFT_RIGHT, false, RAX);
        x86_unary(x, UNARY_NOT, false, RAX);
        x86_test_imm(x, RAX, form_step(f) ? 0xffff : 1);
        x86_jump_if(x, CC_NE, ask);
    }
    x86_jump(x, fine);
    x86_bind(x, ask);
}

/* ---- rows that begin where lines do ---- */
struct row_kind {
    bool write, pair; /* two lines, the first of which has the lock of both */
    int shift;        /* of a strip */
    int first;        /* lane: 0 or 16 */
};

static int row_number(struct row_kind k)
{
    return k.write | k.pair << 1 | (k.first == 16) << 2 | k.shift << 3;
}
static struct row_kind row_of(int number)
{
    return (struct row_kind){number & 1, number >> 1 & 1, number >> 3, number >> 2 & 1 ? 16 : 0};
}

/* RAX: the record of the thread that touches word 0 of the n-th line. */
static void load_me(struct jit *j, struct row_kind k, int n)
{
    struct x86 *x = &j->x;
    int lane = k.first + n * (LINE / 4 >> k.shift);
    x86_rm(x, ALU_MOV, false, RAX, OF_WARP(index));
    x86_shift_imm(x, SHIFT_LEFT, true, RAX, THREAD_AT + 5);
    x86_rm(x, ALU_ADD, true, RAX, QUIET(me));
    x86_rm(x, ALU_ADD, true, RAX, RANGE(site));
    if (lane) x86_imm(x, ALU_ADD, true, RAX, lane << THREAD_AT);
}

static void take_lock(struct jit *j, struct row_kind k, int miss)
{
    struct x86 *x = &j->x;
    int alone = x86_label(x);
    x86_mem_imm(x, ALU_CMP, false, QUIET(parallel), 0);
    x86_jump_if(x, CC_E, alone);
    if (!k.pair) x86_push(x, RDX);
    if (!k.pair) x86_rr(x, ALU_MOV, true, RDX, RCX);
    if (!k.pair) x86_imm(x, ALU_AND, true, RDX, -2 * QUIET_RECORD);
    x86_load_imm(x, RAX, 1);
    x86_swap_byte(x, x86_at(k.pair ? RCX : RDX, LOCK_AT), RAX);
    if (!k.pair) x86_pop(x, RDX);
    x86_test(x, false, RAX, RAX);
    x86_jump_if(x, CC_NE, miss);
    x86_bind(x, alone);
}

/* Gives a line its head, which ends with no lock; then the lock is free that is in the line before it. RCX: where. */
static void set_head(struct jit *j, struct row_kind k)
{
    struct x86 *x = &j->x;
    int even = x86_label(x);
    x86_rm(x, ALU_MOV, true, RAX, QUIET(heads[k.write][k.shift]));
    x86_store(x, true, x86_at(RCX, 0), RAX);
    if (k.pair) return;
    x86_test_imm(x, RCX, QUIET_RECORD);
    x86_jump_if(x, CC_E, even);
    x86_load_imm(x, RAX, 0);
    x86_store_byte(x, x86_at(RCX, LOCK_AT - QUIET_RECORD), RAX);
    x86_bind(x, even);
}

/* Jumps unless the n-th line, touched in this launch, is the warp's own, and need not change but by a write. */
static void compare_own(struct jit *j, struct row_kind k, int n, int label)
{
    struct x86 *x = &j->x;
    int32_t at = n * QUIET_RECORD, kind = (LINE_WHOLE | k.shift) << KIND_AT, written = LINE_WRITTEN << KIND_AT;
    x86_rm(x, ALU_MOV, false, RAX, x86_at(RCX, at + 4));
    x86_imm(x, ALU_AND, false, RAX, k.write ? 0xffffff & ~written : 0xffffff);
    x86_imm(x, ALU_CMP, false, RAX, kind);
    x86_jump_if(x, CC_NE, label);
    load_me(j, k, n);
    x86_rm(x, ALU_XOR, true, RAX, x86_at(RCX, at + WHO_AT));
    if (k.write) {
        x86_test_imm(x, RAX, (int32_t)((WHO_MASK & (BLOCK_SPAN - 1)) & UINT32_MAX));
        x86_jump_if(x, CC_NE, label);
    }
    x86_shift_imm(x, SHIFT_RIGHT, true, RAX, k.write ? BLOCK_AT : THREAD_AT);
    x86_jump_if(x, CC_NE, label);
}

/* Without the lock: jumps to `label` unless all may read the lines; else answers. */
static void compare_quiet(struct jit *j, struct row_kind k, int label)
{
    struct x86 *x = &j->x;
    x86_rm(x, ALU_MOV, true, RAX, QUIET(line));
    for (int n = 0; n < (k.pair ? 2 : 1); n++) {
        x86_rm(x, ALU_CMP, true, RAX, x86_at(RCX, n * QUIET_RECORD));
        x86_jump_if(x, CC_NE, label);
    }
    x86_return(x);
}

/* With the lock: jumps to `fresh` where nobody has touched the lines in this launch, and to `label` where only some. */
static void compare_launch(struct jit *j, struct row_kind k, int fresh, int label)
{
    struct x86 *x = &j->x;
    int second = x86_label(x), same = x86_label(x);
    for (int n = 0; n < (k.pair ? 2 : 1); n++) {
        x86_rm(x, ALU_MOV, false, RAX, x86_at(RCX, n * QUIET_RECORD));
        x86_rm(x, ALU_CMP, false, RAX, QUIET(line));
        x86_jump_if(x, CC_NE, n ? label : k.pair ? second : fresh);
    }
    x86_jump(x, same);
    x86_bind(x, second);
    x86_rm(x, ALU_MOV, false, RAX, x86_at(RCX, QUIET_RECORD));
    x86_rm(x, ALU_CMP, false, RAX, QUIET(line));
    x86_jump_if(x, CC_NE, fresh);
    x86_jump(x, label);
    x86_bind(x, same);
}

static void set_records(struct jit *j, struct row_kind k)
{
    struct x86 *x = &j->x;
    load_me(j, k, 0);
    x86_store(x, true, x86_at(RCX, WHO_AT), RAX);
    if (!k.pair) return;
    x86_imm(x, ALU_ADD, true, RAX, (LINE / 4 >> k.shift) << THREAD_AT);
    x86_store(x, true, x86_at(RCX, QUIET_RECORD + WHO_AT), RAX);
    x86_rm(x, ALU_MOV, true, RAX, QUIET(heads[k.write][k.shift]));
    x86_store(x, true, x86_at(RCX, QUIET_RECORD), RAX);
}

/* The warp touches a row of this kind at the address RCX; RDX: the range. The zero flag is set when that is done, where
 * quiet.held then says which line is to have its head once a write's data are in memory. Keeps all registers but RAX
 * and RCX. */
static void write_row(struct jit *j, int number)
{
    struct x86 *x = &j->x;
    struct row_kind k = row_of(number);
    int miss = x86_label(x), odd = x86_label(x), locked = x86_label(x), fresh = x86_label(x), done = x86_label(x),
        input = x86_label(x);
    x86_bind(x, j->row_labels[number] - 1);
    x86_test_imm(x, RCX, (k.pair ? PAIR : LINE) - 1);
    x86_jump_if(x, CC_NE, miss);
    x86_rr(x, ALU_MOV, true, RAX, RCX);
    x86_rm(x, ALU_SUB, true, RAX, RANGE(low));
    x86_rm(x, ALU_CMP, true, RAX, RANGE(room));
    x86_jump_if(x, CC_AE, miss);
    x86_shift_imm(x, SHIFT_RIGHT, true, RCX, __builtin_ctz(QUIET_LINE / QUIET_RECORD));
    x86_rm(x, ALU_ADD, true, RCX, RANGE(lines));
    x86_mem_imm(x, ALU_CMP, true, RANGE(lines), 0);
    x86_jump_if(x, CC_E, input);
    if (!k.write) compare_quiet(j, k, odd);
    x86_bind(x, odd);
    take_lock(j, k, miss);
    compare_launch(j, k, fresh, locked);
    for (int n = 0; n < (k.pair ? 2 : 1); n++) compare_own(j, k, n, locked);
    if (!k.write) x86_jump(x, done);
    x86_bind(x, fresh);
    set_records(j, k);
    x86_bind(x, done);
    if (k.write)
        x86_store(x, true, QUIET(held), RCX);
    else
        set_head(j, k);
    x86_rr(x, ALU_CMP, false, RCX, RCX);
    x86_return(x);
    x86_bind(x, input);
    if (k.write) { /* nothing to end */
        x86_lea(x, true, RAX, QUIET(none[2]));
        x86_store(x, true, QUIET(held), RAX);
    }
    x86_return(x);
    x86_bind(x, locked);
    if (!k.pair) x86_imm(x, ALU_AND, true, RCX, -2 * QUIET_RECORD);
    x86_load_imm(x, RAX, 0);
    x86_store_byte(x, x86_at(RCX, LOCK_AT), RAX);
    x86_bind(x, miss);
    x86_test(x, true, RSP, RSP);
    x86_return(x);
}

void simt_jit_write_rows(struct jit *j)
{
    j->x.now = X86_COLD;
    for (int k = 0; k < JIT_ROWS; k++)
        if (j->row_labels[k]) write_row(j, k);
    j->x.now = X86_HOT;
}

/* What the lanes from `first` on touch from an address on. */
static void call_row(struct jit *j, struct row_kind k, int base, int64_t offset, uint32_t range, int miss)
{
    struct x86 *x = &j->x;
    int *label = &j->row_labels[row_number(k)];
    if (!*label) *label = x86_label(x) + 1;
    x86_lea(x, true, RCX, x86_at(base, (int32_t)offset));
    x86_lea(x, true, RDX, OF_RANGE(low));
    x86_call_label(x, *label - 1);
    x86_jump_if(x, CC_NE, miss);
}

/* For the range's window. */
static void look_ahead(struct jit *j, const struct jit_insn *n, const int bases[2], struct jit_form f, uint32_t range)
{
    int64_t half = 16 * (int64_t)n->i->size * n->i->count, skip = f.kind == FORM_LINEAR ? f.skip : 0;
    const int64_t low[2] = {n->i->imm, n->i->imm + skip};
    bool on = halves_follow(f, half), apart = f.kind == FORM_PAIR || (skip && !on);
    simt_jit_look_ahead(j, bases, low, apart ? 2 : 1, on ? 2 * half : half, range, !may_be_quiet(j, n));
}

/* How many rows the access is, that a routine does one by one: 0, 1 or 2. */
int simt_jit_rows(const struct jit *j, const struct jit_insn *n, struct jit_form f)
{
    const struct insn *i = n->i;
    int bytes = i->size;
    if (j->repeats || !simt_jit_is_watched(j, i) || n->op || i->count != 1 || bytes != (n->wide ? 8 : 4) ||
        form_step(f) != bytes)
        return 0;
    return bytes == 4 && f.kind == FORM_LINEAR && f.skip == 16 * bytes ? 1 : 2;
}

static struct row_kind kind_of(const struct jit_insn *n, int rows, int half)
{
    bool wide = n->i->size == 8;
    return (struct row_kind){n->kind == JK_STORE, rows == 1 || wide, wide, 16 * half};
}

void simt_jit_lines(struct jit *j, const struct jit_insn *n, const int bases[2], struct jit_form f)
{
    struct x86 *x = &j->x;
    int rows = simt_jit_rows(j, n, f), leave = simt_jit_leaving(j, JIT_LEFT, false);
    int odd = x86_label(x), miss = x86_label(x), fine = x86_label(x);
    int64_t imm = n->i->imm, skip = f.kind == FORM_LINEAR ? f.skip : 0;
    uint32_t range = j->range_count;
    uint64_t ranges = rows == 2 ? 2 : 1;
    j->range_count += (uint32_t)ranges;
    if (form_step(f) && simt_jit_repeats(j)) look_ahead(j, n, bases, f, range);
    bool quiet = may_be_quiet(j, n);
    if (quiet) {
        int other = x86_label(x);
        compare_range(j, n, bases, f, -1, range, other);
        x->now = X86_COLD;
        x86_bind(x, other);
    }
    for (int h = 0; h < rows; h++)
        call_row(j, kind_of(n, rows, h), bases[h], imm + (h ? skip : 0), range + (uint32_t)h, odd);
    if (rows) x->now = X86_COLD;
    x86_bind(x, odd);
    if (n->i->size * n->i->count >= 4)
        compare_all_lines(j, n, bases, f, range, miss);
    else
        x86_jump(x, miss);
    if (rows || quiet) x86_jump(x, fine);
    x->now = X86_HOT;
    x86_bind(x, fine);
    x->now = X86_COLD;
    x86_bind(x, miss);
    pass_known(j, n, bases, f, range, fine);
    simt_jit_call_quick(j, n, bases, f, ranges << 32 | (range + 1), leave);
    x86_jump(x, fine);
    x->now = X86_HOT;
}

void simt_jit_claim(struct jit *j, const struct jit_insn *n, const int bases[2], struct jit_form f, int half)
{
    struct x86 *x = &j->x;
    int rows = simt_jit_rows(j, n, f), leave = simt_jit_leaving(j, JIT_LEFT, false);
    int miss = x86_label(x), fine = x86_label(x);
    uint32_t range = j->range_count++;
    int64_t offset = n->i->imm + (half && f.kind == FORM_LINEAR ? f.skip : 0);
    if (may_be_quiet(j, n)) {
        int other = x86_label(x);
        compare_range(j, n, bases, f, rows == 2 ? half : -1, range, other);
        x86_lea(x, true, RAX, QUIET(none[2]));
        x86_store(x, true, QUIET(held), RAX);
        x->now = X86_COLD;
        x86_bind(x, other);
        call_row(j, kind_of(n, rows, half), bases[half], offset, range, miss);
        x86_jump(x, fine);
        x->now = X86_HOT;
    } else {
        call_row(j, kind_of(n, rows, half), bases[half], offset, range, miss);
    }
    x86_bind(x, fine);
    x->now = X86_COLD;
    x86_bind(x, miss);
    simt_jit_call_quick(j, n, bases, f, (rows == 2 ? QUICK_HALF(half) : 0) | UINT64_C(1) << 32 | (range + 1), leave);
    x86_lea(x, true, RAX, QUIET(none[2]));
    x86_store(x, true, QUIET(held), RAX);
    x86_jump(x, fine);
    x->now = X86_HOT;
}

void simt_jit_release(struct jit *j, const struct jit_insn *n, struct jit_form f)
{
    x86_rm(&j->x, ALU_MOV, true, RCX, QUIET(held));
    set_head(j, kind_of(n, simt_jit_rows(j, n, f), 0));
}
