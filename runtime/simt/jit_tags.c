/* Generated code that does for itself what check_shared.c does with the tags of shared memory, where all words of an
 * access are alike: all may read them already, or nobody but the lanes themselves touched them in this epoch, or nobody
 * wrote them in it and they are read. Then the words' tags become those of the access, which is noted. */
#include "runtime/simt/jit_build.h"

static const struct x86_vop xor_w = {1, 1, 0, 0xef}, add_w = {1, 1, 0, 0xfe}, max_u = {2, 1, 0, 0x3f},
                            min_u = {2, 1, 0, 0x3b}, any_bit = {2, 1, 0, 0x17}, test_w = {2, 1, 0, 0x27},
                            any_lane = {1, 0, 0, 0x98};

#define QUIET(member)   OF_WORKER(quiet.member)
#define TAGS(w, member) QUIET(tags[(w)->log].member)
#define NOTE(member)    x86_at(RCX, (int32_t)offsetof(struct shared_note, member))

static int vector_bytes(const struct jit *j)
{
    return j->bits / 8;
}

static void jump_if_any(struct jit *j, int reg, int label)
{
    if (simt_jit_is_avx2(j)) {
        x86_vex(&j->x, any_bit, 256, reg, 0, reg, -1);
    } else {
        simt_jit_put(j, test_w, 1, reg, reg); /* a mask */
        x86_vex(&j->x, any_lane, 128, 1, 0, 1, -1);
    }
    x86_jump_if(&j->x, CC_NE, label);
}

void simt_jit_jump_unless_equal(struct jit *j, int a, int b, int label)
{
    simt_jit_put(j, xor_w, a, a, b);
    jump_if_any(j, a, label);
}

static int64_t tag_bytes(const struct jit_words *w)
{
    return w->bytes << (2 - w->log);
}

/* The tags at RAX or RDX of the words of a half, `k` bytes behind that of the first. */
static struct x86_mem tags_at(const struct jit_words *w, int table, int half, int64_t k)
{
    int scale = 2 - (int)w->log;
    return (struct x86_mem){table, w->bases[half], scale, (int32_t)(w->offsets[half] * (1 << scale) + k), -1};
}

/* ---- read already ---- */
void simt_jit_compare_tags(struct jit *j, const struct jit_words *w, int moment, int label)
{
    struct x86 *x = &j->x;
    int sum = simt_jit_scratch(j);
    bool vectors = tag_bytes(w) % 32 == 0;
    x86_rm(x, ALU_MOV, true, RAX, TAGS(w, read));
    if (vectors)
        simt_jit_spread_from(j, false, moment, QUIET(now));
    else
        x86_rm(x, ALU_MOV, false, RCX, QUIET(now));
    for (int h = 0; h < w->halves; h++) {
        for (int64_t k = 0; !vectors && k < tag_bytes(w); k += 4) {
            x86_rm(x, ALU_CMP, false, RCX, tags_at(w, RAX, h, k));
            x86_jump_if(x, CC_NE, label);
        }
        if (!vectors) continue;
        for (int64_t k = 0; k < tag_bytes(w); k += vector_bytes(j))
            simt_jit_put_mem(j, min_u, sum, k ? sum : moment, tags_at(w, RAX, h, k));
        simt_jit_put(j, xor_w, sum, sum, moment);
        jump_if_any(j, sum, label);
    }
}

/* ---- registers for a while ---- */
#define MOST_BORROWED 5
struct borrowed {
    int reg[MOST_BORROWED], count;
    uint32_t kept; /* registers whose values are on the stack, by bits */
};

static void borrow(struct jit *j, struct borrowed *b, int count)
{
    int32_t at = 0;
    b->count = 0;
    b->kept = 0;
    for (int owned = 0; owned < 2; owned++)
        for (int r = 0; r < simt_jit_scratch(j) && b->count < count; r++) {
            if ((j->vector_owner[r] >= 0) != owned || j->vector_pins >> r & 1) continue;
            b->reg[b->count++] = r;
            if (owned) b->kept |= 1u << r;
        }
    if (b->count < count) j->failed = true;
    for (; b->count < count; b->count++) b->reg[b->count] = 0;
    if (b->kept) x86_imm(&j->x, ALU_SUB, true, RSP, __builtin_popcount(b->kept) * vector_bytes(j));
    EACH_LANE(r, b->kept)
    {
        simt_jit_store(j, x86_at(RSP, at), (int)r);
        at += vector_bytes(j);
    }
}

static void give_back(struct jit *j, const struct borrowed *b)
{
    int32_t at = 0;
    EACH_LANE(r, b->kept)
    {
        simt_jit_load(j, (int)r, x86_at(RSP, at));
        at += vector_bytes(j);
    }
    if (at) x86_imm(&j->x, ALU_ADD, true, RSP, at);
}

/* Gives them back on both ways: the one behind, and the one from `no` to `label`. */
static void end_borrowing(struct jit *j, const struct borrowed *b, int no, int label)
{
    struct x86 *x = &j->x;
    int section = x->now, over = x86_label(x);
    give_back(j, b);
    if (section == X86_COLD) x86_jump(x, over);
    x->now = X86_COLD;
    x86_bind(x, no);
    give_back(j, b);
    x86_jump(x, label);
    x->now = section;
    x86_bind(x, over);
}

/* ---- notes ---- */
static void check_room(struct jit *j, int label)
{
    struct x86 *x = &j->x;
    x86_rm(x, ALU_MOV, true, RCX, QUIET(note));
    x86_imm(x, ALU_ADD, true, RCX, (int32_t)SHARED_NOTE_ROWS);
    x86_rm(x, ALU_CMP, true, RCX, QUIET(end));
    x86_jump_if(x, CC_A, label);
}

/* A note of the access at quiet.note, where there is room. */
static void write_note(struct jit *j, const struct jit_insn *n, const struct jit_words *w)
{
    struct x86 *x = &j->x;
    int32_t rows = w->step ? SHARED_ROWS_UNIT : SHARED_ROWS_UNIFORM, bytes = n->i->size * n->i->count;
    x86_rm(x, ALU_MOV, true, RCX, QUIET(note));
    x86_store(x, true, NOTE(warp), REG_WARP);
    x86_load_imm(x, RDX, (uint64_t)(uintptr_t)n->i);
    x86_store(x, true, NOTE(insn), RDX);
    x86_rm(x, ALU_MOV, false, RDX, QUIET(time));
    x86_store(x, false, NOTE(time), RDX);
    x86_mem_imm(x, ALU_MOV, false, NOTE(site), rows << 16 | bytes << 24); /* rows and bytes, too */
    x86_mem_imm(x, ALU_MOV, false, NOTE(mask), -1);
    x86_mem_imm(x, ALU_MOV, false, NOTE(count), w->count);
    if (w->count > 1) x86_mem_imm(x, ALU_MOV, false, NOTE(stride), (int32_t)w->stride);
    for (int h = 0; h < 2; h++) {
        struct x86_mem at = NOTE(at);
        at.offset += 4 * h;
        x86_lea(x, false, RDX, x86_at(w->bases[h], w->offsets[h]));
        x86_store(x, false, at, RDX);
    }
    x86_imm(x, ALU_ADD, true, RCX, (int32_t)SHARED_NOTE_ROWS);
    x86_store(x, true, QUIET(note), RCX);
}

/* ---- what all read that was written in epochs before ---- */
/* Jumps unless all words at RAX were. */
static void compare_past(struct jit *j, const struct jit_words *w, const struct borrowed *b, int label)
{
    struct x86 *x = &j->x;
    int least = b->reg[0], most = b->reg[1];
    bool first = true;
    for (int h = 0; h < w->halves; h++)
        for (int64_t k = 0; k < tag_bytes(w); k += vector_bytes(j)) {
            if (first) {
                simt_jit_load(j, least, tags_at(w, RAX, h, k));
                simt_jit_move(j, most, least);
            } else {
                simt_jit_put_mem(j, min_u, least, least, tags_at(w, RAX, h, k));
                simt_jit_put_mem(j, max_u, most, most, tags_at(w, RAX, h, k));
            }
            first = false;
        }
    int bound = b->reg[2], sum = simt_jit_scratch(j);
    simt_jit_spread_from(j, false, bound, QUIET(base));
    simt_jit_put(j, min_u, least, least, bound);
    simt_jit_put(j, xor_w, sum, least, bound);
    x86_rm(x, ALU_MOV, false, RCX, QUIET(first));
    x86_imm(x, ALU_SUB, false, RCX, 1);
    simt_jit_spread(j, false, bound, RCX);
    simt_jit_put(j, max_u, most, most, bound);
    simt_jit_put(j, xor_w, most, most, bound);
    simt_jit_put(j, max_u, sum, sum, most);
    jump_if_any(j, sum, label);
}

static void claim_few(struct jit *j, const struct jit_words *w, int label)
{
    struct x86 *x = &j->x;
    for (int h = 0; h < w->halves; h++)
        for (int64_t k = 0; k < tag_bytes(w); k += 4) {
            x86_rm(x, ALU_MOV, false, RCX, tags_at(w, RAX, h, k));
            x86_rm(x, ALU_CMP, false, RCX, QUIET(base));
            x86_jump_if(x, CC_B, label);
            x86_rm(x, ALU_CMP, false, RCX, QUIET(first));
            x86_jump_if(x, CC_AE, label);
        }
    x86_rm(x, ALU_MOV, false, RCX, QUIET(many));
    for (int h = 0; h < w->halves; h++)
        for (int64_t k = 0; k < tag_bytes(w); k += 4) x86_store(x, false, tags_at(w, RDX, h, k), RCX);
}

static void claim_for_all(struct jit *j, const struct jit_insn *n, const struct jit_words *w, int label)
{
    struct x86 *x = &j->x;
    check_room(j, label);
    x86_rm(x, ALU_MOV, true, RAX, TAGS(w, written));
    x86_rm(x, ALU_MOV, true, RDX, TAGS(w, read));
    if (tag_bytes(w) % 32) {
        claim_few(j, w, label);
        write_note(j, n, w);
        return;
    }
    struct borrowed b;
    int no = x86_label(x);
    borrow(j, &b, 3);
    compare_past(j, w, &b, no);
    simt_jit_spread_from(j, false, b.reg[0], QUIET(many));
    for (int h = 0; h < w->halves; h++)
        for (int64_t k = 0; k < tag_bytes(w); k += vector_bytes(j)) simt_jit_store(j, tags_at(w, RDX, h, k), b.reg[0]);
    write_note(j, n, w);
    end_borrowing(j, &b, no, label);
}

/* ---- what each lane has for itself ---- */
/* RAX: what was written, RDX: what was read. `me`: tags of the lanes, vector by vector. */
static void first_lanes(struct jit *j, const struct jit_words *w, int me)
{
    struct x86 *x = &j->x;
    int32_t who[16];
    for (int k = 0; k < 16; k++) who[k] = k >> w->shift;
    x86_rm(x, ALU_MOV, false, RCX, OF_WARP(index));
    x86_shift_imm(x, SHIFT_LEFT, false, RCX, 5);
    x86_rm(x, ALU_ADD, false, RCX, QUIET(first));
    simt_jit_spread(j, false, me, RCX);
    simt_jit_put_mem(j, add_w, me, me, x86_at_label(x86_constant(x, who)));
}

static void next_lanes(struct jit *j, const struct jit_words *w, int me)
{
    simt_jit_put_mem(j, add_w, me, me, simt_jit_equal_at(j, vector_bytes(j) / 4 >> w->shift, false));
}

/* Into `sum`, bits where a tag is of this epoch but not the lane's. */
static void add_others(struct jit *j, const struct borrowed *b, struct x86_mem tags, bool first)
{
    int past = b->reg[0], me = b->reg[1], x = b->reg[2], y = b->reg[3], sum = simt_jit_scratch(j);
    simt_jit_put_mem(j, max_u, x, past, tags);
    simt_jit_put(j, xor_w, x, x, past);
    simt_jit_put_mem(j, xor_w, y, me, tags);
    simt_jit_put(j, min_u, first ? sum : x, x, y);
    if (!first) simt_jit_put(j, max_u, sum, sum, x);
}

/* Jumps unless nobody else touched the words in this epoch. */
static void compare_own(struct jit *j, const struct jit_words *w, const struct borrowed *b, bool read, int label)
{
    struct x86 *x = &j->x;
    int sum = simt_jit_scratch(j), least = b->reg[4];
    x86_rm(x, ALU_MOV, false, RCX, QUIET(first));
    x86_imm(x, ALU_SUB, false, RCX, 1);
    simt_jit_spread(j, false, b->reg[0], RCX);
    first_lanes(j, w, b->reg[1]);
    for (int h = 0; h < 2; h++)
        for (int64_t k = 0; k < tag_bytes(w); k += vector_bytes(j)) {
            if (h || k) next_lanes(j, w, b->reg[1]);
            add_others(j, b, tags_at(w, RAX, h, k), !h && !k);
            add_others(j, b, tags_at(w, RDX, h, k), false);
            if (!read) continue;
            if (h || k)
                simt_jit_put_mem(j, min_u, least, least, tags_at(w, RAX, h, k));
            else
                simt_jit_load(j, least, tags_at(w, RAX, h, k));
        }
    if (read) { /* written by now? */
        simt_jit_spread_from(j, false, b->reg[0], QUIET(base));
        simt_jit_put(j, min_u, least, least, b->reg[0]);
        simt_jit_put(j, xor_w, least, least, b->reg[0]);
        simt_jit_put(j, max_u, sum, sum, least);
    }
    jump_if_any(j, sum, label);
}

/* Jumps to `fine` when the lanes were the last to read the words, and that is not to be noted. */
static void compare_read(struct jit *j, const struct jit_words *w, const struct borrowed *b, int fine)
{
    struct x86 *x = &j->x;
    int me = b->reg[0], y = b->reg[1], sum = simt_jit_scratch(j), differ = x86_label(x);
    x86_mem_imm(x, ALU_CMP, false, QUIET(now), -1);
    x86_jump_if(x, CC_E, differ);
    first_lanes(j, w, me);
    for (int h = 0; h < 2; h++)
        for (int64_t k = 0; k < tag_bytes(w); k += vector_bytes(j)) {
            if (h || k) next_lanes(j, w, me);
            simt_jit_put_mem(j, xor_w, h || k ? y : sum, me, tags_at(w, RDX, h, k));
            if (h || k) simt_jit_put(j, max_u, sum, sum, y);
        }
    jump_if_any(j, sum, differ);
    x86_jump(x, fine);
    x86_bind(x, differ);
}

static void check_apart(struct jit *j, const struct jit_words *w, int label)
{
    struct x86 *x = &j->x;
    if (!w->pair) return;
    x86_lea(x, true, RCX, x86_at(w->bases[0], (int32_t)w->bytes - 1));
    x86_rr(x, ALU_SUB, true, RCX, w->bases[1]);
    x86_imm(x, ALU_CMP, true, RCX, 2 * ((int32_t)w->bytes - 1));
    x86_jump_if(x, CC_BE, label);
}

static void claim_for_lanes(struct jit *j, const struct jit_insn *n, const struct jit_words *w, int label)
{
    struct x86 *x = &j->x;
    bool read = n->kind == JK_LOAD;
    struct borrowed b;
    int no = x86_label(x);
    check_room(j, label);
    check_apart(j, w, label);
    x86_rm(x, ALU_MOV, true, RAX, TAGS(w, written));
    x86_rm(x, ALU_MOV, true, RDX, TAGS(w, read));
    borrow(j, &b, read ? 5 : 4);
    compare_own(j, w, &b, read, no);
    first_lanes(j, w, b.reg[1]);
    for (int h = 0; h < 2; h++)
        for (int64_t k = 0; k < tag_bytes(w); k += vector_bytes(j)) {
            if (h || k) next_lanes(j, w, b.reg[1]);
            simt_jit_store(j, tags_at(w, read ? RDX : RAX, h, k), b.reg[1]);
        }
    write_note(j, n, w);
    end_borrowing(j, &b, no, label);
}

/* ---- what others have read, too ---- */
/* `to`: the lanes' tags for words that nobody else read in this epoch, else `many`, which are greater. */
static void add_readers(struct jit *j, const struct borrowed *b, struct x86_mem tags, int many)
{
    const struct x86_vop sub_w = {1, 1, 0, 0xfa}, and_w = {1, 1, 0, 0xdb};
    int past = b->reg[0], me = b->reg[1], other = b->reg[2], to = b->reg[3];
    simt_jit_put_mem(j, max_u, other, past, tags);
    simt_jit_put(j, xor_w, other, other, past);
    simt_jit_put_mem(j, xor_w, to, me, tags);
    simt_jit_put(j, min_u, other, other, to);
    simt_jit_put_mem(j, min_u, other, other, simt_jit_equal_at(j, 1, false));
    simt_jit_put(j, xor_w, to, to, to);
    simt_jit_put(j, sub_w, to, to, other);
    simt_jit_put(j, and_w, to, to, many);
    simt_jit_put(j, max_u, to, to, me);
}

/* Reads of words that were written in epochs before, most often: neighbours may take the same ones, one after the
 * other. */
static void claim_beside_others(struct jit *j, const struct jit_insn *n, const struct jit_words *w, int label)
{
    struct x86 *x = &j->x;
    struct borrowed b;
    int no = x86_label(x), done = x86_label(x), many;
    check_room(j, label);
    check_apart(j, w, label);
    x86_rm(x, ALU_MOV, true, RAX, TAGS(w, written));
    x86_rm(x, ALU_MOV, true, RDX, TAGS(w, read));
    borrow(j, &b, 5);
    many = b.reg[4];
    compare_read(j, w, &b, done);
    compare_past(j, w, &b, no);
    x86_rm(x, ALU_MOV, false, RCX, QUIET(first));
    x86_imm(x, ALU_SUB, false, RCX, 1);
    simt_jit_spread(j, false, b.reg[0], RCX);
    simt_jit_spread_from(j, false, many, QUIET(many));
    first_lanes(j, w, b.reg[1]);
    for (int h = 0; h < 2; h++)
        for (int64_t k = 0; k < tag_bytes(w); k += vector_bytes(j)) {
            if (h || k) next_lanes(j, w, b.reg[1]);
            add_readers(j, &b, tags_at(w, RDX, h, k), many);
            simt_jit_store(j, tags_at(w, RDX, h, k), b.reg[3]);
        }
    write_note(j, n, w);
    x86_bind(x, done);
    end_borrowing(j, &b, no, label);
}

void simt_jit_claim_tags(struct jit *j, const struct jit_insn *n, const struct jit_words *w, int label)
{
    if (!w->own || n->kind == JK_STORE) {
        (w->own ? claim_for_lanes : claim_for_all)(j, n, w, label);
        return;
    }
    int written = x86_label(&j->x), done = x86_label(&j->x);
    claim_beside_others(j, n, w, written);
    x86_jump(&j->x, done);
    x86_bind(&j->x, written);
    claim_for_lanes(j, n, w, label);
    x86_bind(&j->x, done);
}
