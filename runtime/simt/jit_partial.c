/* Lanes side by side of which only some run (jit_masked.c): each half, or all, is a row, of which the first and the
 * last lane that run tell whether it lies where it may; then those that run are moved by a mask.
 *
 * Where an observer watches, it is asked about them, as about a whole row, unless it has nothing to say: in shared
 * memory of blocks that do what one did, and where nobody can race. */
#include "runtime/simt/jit_build.h"

struct partial {
    const struct jit_insn *n;
    bool whole; /* all 32 are one row; else each half is one */
    int bases[2];
    int64_t offsets[2];
};

/* Shared memory of other functions is rather asked for where it is gathered. */
static bool may_ask(const struct jit *j, const struct jit_insn *n)
{
    const struct place *p = &j->program->places[n->i - j->program->code];
    bool known = j->function->steady && !p->unsteady && !p->loose;
    return simt_jit_may_ask(j, n) && (!n->op || known);
}

static bool is_partial(const struct jit *j, const struct jit_insn *n, struct jit_form f)
{
    const struct insn *i = n->i;
    int64_t skip = f.kind == FORM_LINEAR ? f.skip : 0;
    if (!j->zone || simt_jit_is_avx2(j) || n->guarded || n->loose || n->op > 1) return false;
    if (simt_jit_is_watched(j, i) && !may_ask(j, n)) return false;
    if ((f.kind != FORM_LINEAR && f.kind != FORM_PAIR) || form_step(f) != i->size || i->count != 1) return false;
    if (!simt_jit_is_near(skip) || i->imm >= 1 << 30 || i->imm <= -(1 << 30) || skip % i->size || i->imm % i->size)
        return false;
    return !(i->flags & F_SPIN) && i->size <= (n->wide ? 8 : 4) && (n->kind == JK_STORE || n->write_count == 1);
}

/* rcx and rdx: where the first and the last lane of a row that run are. Jumps where none does. */
static void find_ends(struct jit *j, const struct partial *p, int h, int none)
{
    struct x86 *x = &j->x;
    struct x86_mem at = {p->bases[h], RCX, __builtin_ctz(p->n->i->size), (int32_t)p->offsets[h], -1};
    x86_rr(x, ALU_MOV, false, RAX, REG_MASK);
    if (h)
        x86_shift_imm(x, SHIFT_RIGHT, false, RAX, 16);
    else if (!p->whole)
        x86_imm(x, ALU_AND, false, RAX, 0xffff);
    if (!p->whole && none >= 0) x86_jump_if(x, CC_E, none);
    x86_first_bit(x, RCX, RAX);
    x86_last_bit(x, RDX, RAX);
    x86_lea(x, !p->n->op, RCX, at); /* in shared memory, of 32 bits: the row may begin before it */
    at.index = RDX;
    x86_lea(x, !p->n->op, RDX, at);
}

/* Jumps unless both lie in the range, or in shared memory. */
static void check_ends(struct jit *j, const struct partial *p, uint32_t range, int label)
{
    struct x86 *x = &j->x;
    static const int ends[2] = {RCX, RDX};
    if (p->n->op) {
        x86_rm(x, ALU_MOV, false, RAX, OF_WORKER(shared_bytes));
        x86_imm(x, ALU_SUB, true, RAX, p->n->i->size - 1);
        x86_jump_if(x, CC_BE, label);
    }
    for (int e = 0; e < 2; e++) {
        if (!p->n->op) x86_rm(x, ALU_SUB, true, ends[e], simt_jit_range_at(range, offsetof(struct jit_range, low)));
        if (p->n->op)
            x86_rr(x, ALU_CMP, true, ends[e], RAX);
        else
            x86_rm(x, ALU_CMP, true, ends[e], simt_jit_range_at(range, offsetof(struct jit_range, room)));
        x86_jump_if(x, CC_AE, label);
    }
}

static void check_partial(struct jit *j, const struct partial *p, int h, int none, int leave)
{
    struct x86 *x = &j->x;
    int miss = x86_label(x), found = x86_label(x);
    uint32_t range = j->range_count;
    find_ends(j, p, h, none);
    if (p->n->i->size > 1) {
        x86_test_imm(x, RCX, p->n->i->size - 1);
        x86_jump_if(x, CC_NE, leave);
    }
    check_ends(j, p, range, p->n->op ? leave : miss);
    if (p->n->op) return;
    j->range_count++;
    x86_bind(x, found);
    x->now = X86_COLD;
    x86_bind(x, miss);
    find_ends(j, p, h, -1);
    x86_load_imm(x, RAX, range);
    x86_load_imm(x, RDX, p->n->i->size);
    x86_call_label(x, j->fill_label);
    simt_jit_load_masks(j);
    x86_test(x, false, RAX, RAX);
    x86_jump_if(x, CC_E, leave);
    find_ends(j, p, h, -1);
    check_ends(j, p, range, leave);
    x86_jump(x, found);
    x->now = X86_HOT;
}

/* The lanes of a part that run, to memory or from there. */
static void move_partial(struct jit *j, const struct partial *p, int h, int part, int reg)
{
    const struct insn *i = p->n->i;
    int first = simt_jit_first(j, p->n->wide, part), half = simt_jit_half(j, p->n->wide, part);
    bool load = p->n->kind == JK_LOAD, eight = i->size == 8;
    const struct x86_vop wide = {1, 1, 1, load ? 0x10 : 0x11}; /* one bit of the mask for 8 bytes */
    struct x86_evex some = simt_jit_full();
    int64_t row = p->whole ? 16 * half : 0;
    int base = p->bases[h];
    some.mask = simt_jit_mask_from(j, 16 * half + first, false);
    some.zero = load;
    if (p->n->op) {
        x86_movsxd(&j->x, RDX, base);
        base = RDX;
    }
    x86_evex_mem(&j->x, eight ? wide : simt_jit_row_op(p->n), some, reg, 0,
                 x86_at_index(p->n->op ? REG_SHARED : base, p->n->op ? base : REG_BIAS,
                              (int32_t)(p->offsets[h] + i->size * (first + row))));
}

/* ---- watched ---- */
/* Jumps unless the lanes of both halves that run are in memory where nobody can race. */
static void check_quiet(struct jit *j, const struct partial *p, uint32_t range, int miss)
{
    for (int h = 0; h < (p->whole ? 1 : 2); h++) {
        int none = x86_label(&j->x);
        find_ends(j, p, h, none);
        if (p->n->i->size > 1) {
            x86_test_imm(&j->x, RCX, p->n->i->size - 1);
            x86_jump_if(&j->x, CC_NE, miss);
        }
        check_ends(j, p, range, miss);
        x86_bind(&j->x, none);
    }
}

/* Asks about all lanes that run. */
static void ask(struct jit *j, const struct partial *p, struct jit_form f, int leave)
{
    struct x86 *x = &j->x;
    int miss = x86_label(x), fine = x86_label(x);
    uint32_t range = j->range_count;
    if (p->n->op) {
        x86_mem_imm(x, ALU_CMP, false, OF_WORKER(quiet.steady), 0);
        x86_jump_if(x, CC_E, miss);
    } else {
        j->range_count++;
        check_quiet(j, p, range, miss);
    }
    x86_bind(x, fine);
    x->now = X86_COLD;
    x86_bind(x, miss);
    simt_jit_call_some(j, p->n, p->bases, f, p->n->op ? 0 : UINT64_C(1) << 32 | (range + 1), leave);
    x86_jump(x, fine);
    x->now = X86_HOT;
}

static void access(struct jit *j, const struct jit_insn *n, struct jit_form f)
{
    bool load = n->kind == JK_LOAD, pair = f.kind == FORM_PAIR, watched = simt_jit_is_watched(j, n->i);
    bool checks = !watched || n->op; /* what the observer said yes to is right */
    int parts = simt_jit_part_count(j, n->wide), regs[JIT_PARTS];
    struct partial p = {.n = n, .whole = !pair && f.skip == 16 * f.step};
    for (int h = 0; h < 2; h++) {
        p.bases[h] = simt_jit_scalar(j, n->reads[0], pair && h, RDX);
        p.offsets[h] = n->i->imm + (h && !pair ? f.skip : 0);
    }
    for (int k = 0; k < parts; k++) regs[k] = load ? simt_jit_new_vector(j) : simt_jit_part(j, n->reads[1], k);
    int leave = simt_jit_otherwise(j, n);
    if (watched) ask(j, &p, f, leave);
    for (int k = 0; load && k < parts; k++) simt_jit_clear(j, regs[k]);
    for (int h = 0; h < (p.whole ? 1 : 2); h++) {
        int none = x86_label(&j->x);
        if (checks) {
            check_partial(j, &p, h, none, leave);
        } else if (!p.whole) {
            x86_test_imm(&j->x, REG_MASK, (int32_t)(UINT32_C(0xffff) << 16 * h));
            x86_jump_if(&j->x, CC_E, none);
        }
        for (int k = 0; k < parts; k++)
            if (p.whole || simt_jit_half(j, n->wide, k) == h) move_partial(j, &p, h, k, regs[k]);
        x86_bind(&j->x, none);
    }
    if (load) simt_jit_define_vector(j, n->writes[0], regs);
    simt_jit_end_otherwise(j);
}

bool simt_jit_partial(struct jit *j, const struct jit_insn *n, struct jit_form f)
{
    if (!is_partial(j, n, f)) return false;
    access(j, n, f);
    return true;
}
