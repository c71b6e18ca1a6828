/* Loads along rows: in a loop of one block, whose addresses, whatever they are, grow by 4 bytes from round to round, as
 * where each thread goes through a row of its own. One round fetches 16 bytes of each lane, which become four vectors
 * of words in memory of the warp; it and the three that follow take one each. Gathers would take several times as long.
 *
 * That is right as long as nobody needs to see what others wrote meanwhile: the loop has no stores, atomics, barriers
 * or volatile loads, and what was fetched is forgotten whenever it is begun, also after a slice. Lanes may leave the
 * loop; those that come to it begin it. Where 16 bytes would pass the end of an allocation, each round gathers.
 *
 * Rows that lie far apart are new lines for each lane, which processors don't foresee: the first round also asks for
 * the lines of as many rows behind, where the warp that is next most likely begins. */
#include "runtime/simt/jit_build.h"

#define ROUND  4 /* bytes */
#define DEPTH  4 /* of sums that an address is */
#define VECTOR ((int32_t)(sizeof(uint32_t) * SIMT_WARP))
#define WHOLE  (4 * VECTOR) /* nothing is left */
#define FRESH  (WHOLE + 1)  /* nothing was fetched */
#define NEAR   1024         /* bytes from the first lane's row to the last one's */
#define FAR    (1 << 20)

/* ---- which ---- */
static const struct jit_insn *last_write(const struct jit_insn *from, const struct jit_insn *to, uint16_t slot)
{
    while (to-- > from)
        for (int k = 0; k < to->write_count; k++)
            if (to->writes[k] == slot) return to;
    return NULL;
}

static bool is_integer(const struct jit_insn *n)
{
    return n->kind == JK_INTEGER && n->write_count == 1 && !n->guarded;
}

/* By how much a slot that the block reads before it is written differs from round to round. */
static bool own_step(const struct jit *j, const struct jit_block *b, uint16_t slot, int64_t *step)
{
    const struct jit_insn *start = j->code + b->start, *w = last_write(start, j->code + b->end, slot);
    *step = 0;
    if (!w) return true;
    if (!is_integer(w) || w->op != JI_ADD || !w->wide || last_write(start, w, slot)) return false;
    const struct jit_slot *by = &j->slots[w->reads[w->reads[0] == slot]];
    *step = by->form.step;
    return (w->reads[0] == slot || w->reads[1] == slot) && by->fixed && by->form.kind == FORM_CONST;
}

/* The same of a slot as instruction `at` reads it. */
static bool step_of(const struct jit *j, const struct jit_block *b, const struct jit_insn *at, uint16_t slot, int depth,
                    int64_t *step)
{
    *step = 0;
    if (j->slots[slot].fixed) return true;
    const struct jit_insn *w = last_write(j->code + b->start, at, slot);
    if (!w) return own_step(j, b, slot, step);
    if (!is_integer(w) || !depth) return false;
    bool sum = (w->op == JI_ADD || w->op == JI_MOV) && w->wide, steady = true;
    for (int k = 0; k < w->read_count; k++) {
        int64_t one;
        if (!step_of(j, b, w, w->reads[k], depth - 1, &one)) return false;
        *step += one;
        steady &= !one;
    }
    return sum || steady;
}

static bool walks(const struct jit *j, const struct jit_block *b, const struct jit_insn *n)
{
    int64_t step;
    return n->kind == JK_LOAD && !n->op && !n->guarded && n->i->size <= ROUND && n->i->count == 1 &&
           !(n->i->flags & F_SPIN) && !simt_jit_is_watched(j, n->i) && step_of(j, b, n, n->reads[0], DEPTH, &step) &&
           step == ROUND;
}

static bool is_loop(const struct jit *j, const struct jit_block *b)
{
    return b->next[0] >= 0 && j->blocks[b->next[0]].start == b->start;
}

bool simt_jit_strides(const struct jit *j, const struct jit_insn *n, int64_t *step)
{
    return is_loop(j, j->block) && step_of(j, j->block, n, n->reads[0], DEPTH, step);
}

static bool has_walks(const struct jit *j, const struct jit_block *b)
{
    bool found = false;
    if (!is_loop(j, b)) return false;
    for (uint32_t k = b->start; k < b->end; k++) {
        const struct jit_insn *n = &j->code[k];
        bool moves = n->kind == JK_BARRIER || n->kind == JK_EXIT || n->kind == JK_LEAVE || n->kind == JK_SHUFFLE;
        if (moves || !simt_jit_keeps_memory(n) || n->i->flags & F_SPIN) return false;
        found |= walks(j, b, n);
    }
    return found;
}

bool simt_jit_walks(const struct jit *j, const struct jit_insn *n)
{
    return j->again_label >= 0 && walks(j, j->block, n);
}

int simt_jit_walk_of(struct jit *j, const struct jit_insn *n, const struct jit_group *g)
{
    if (j->walk_count == WALKS || (g && g->bytes > ROUND) || !simt_jit_walks(j, n)) return -1;
    return j->walk_count++;
}

/* ---- code ---- */
static struct x86_mem taken(int walk)
{
    return x86_at(REG_WARP, (int32_t)(offsetof(struct warp, walks) + sizeof(uint32_t) * (unsigned)walk));
}
static int32_t words_at(const struct jit *j, int walk, int word, int part)
{
    return (int32_t)offsetof(struct warp, walked) + WHOLE * walk + VECTOR * word + j->bits / 8 * part;
}

void simt_jit_begin_walks(struct jit *j, const struct jit_block *b)
{
    j->again_label = -1;
    j->walk_count = 0;
    if (!has_walks(j, b)) return;
    for (int k = 0; k < WALKS; k++) x86_mem_imm(&j->x, ALU_MOV, false, taken(k), FRESH);
    j->again_label = x86_label(&j->x);
    x86_bind(&j->x, j->again_label);
}

void simt_jit_use_walk(struct jit *j, int walk, const int *regs, int use, int done)
{
    struct x86 *x = &j->x;
    x86_bind(x, use);
    for (int p = 0; p < simt_jit_part_count(j, false); p++)
        simt_jit_load(j, regs[p], x86_at_index(REG_WARP, RAX, words_at(j, walk, 0, p)));
    x86_mem_imm(x, ALU_ADD, false, taken(walk), VECTOR);
    x86_bind(x, done);
}

void simt_jit_find_walk(struct jit *j, int walk, int use)
{
    x86_rm(&j->x, ALU_MOV, false, RAX, taken(walk));
    x86_imm(&j->x, ALU_CMP, false, RAX, WHOLE);
    x86_jump_if(&j->x, CC_B, use);
}

static struct x86_mem address_of(int lane)
{
    return x86_at(REG_WARP, (int32_t)(offsetof(struct warp, addresses) + sizeof(uint64_t) * (unsigned)lane));
}

/* When rows are begun: the warp that is next most likely has those behind. rcx: the range's start, as the host has it.
 */
static void look_behind(struct jit *j, int walk)
{
    struct x86 *x = &j->x;
    int fresh = x86_label(x), on = x86_label(x);
    x86_mem_imm(x, ALU_CMP, false, taken(walk), FRESH);
    x86_jump_if(x, CC_E, fresh);
    x86_bind(x, on);
    x->now = X86_COLD;
    x86_bind(x, fresh);
    if (j->zone) {
        struct x86_mem lane = {REG_WARP, RAX, 3, (int32_t)offsetof(struct warp, addresses), -1};
        x86_last_bit(x, RAX, REG_MASK);
        x86_rm(x, ALU_MOV, true, RDX, lane);
        x86_first_bit(x, RAX, REG_MASK);
        x86_rm(x, ALU_SUB, true, RDX, lane);
    } else {
        x86_rm(x, ALU_MOV, true, RDX, address_of(SIMT_WARP - 1));
        x86_rm(x, ALU_SUB, true, RDX, address_of(0));
    }
    x86_lea(x, true, RAX, x86_at(RDX, -NEAR));
    x86_imm(x, ALU_CMP, true, RAX, FAR);
    x86_jump_if(x, CC_AE, on);
    x86_rr(x, ALU_ADD, true, RDX, RCX);
    for (int l = 0; l < SIMT_WARP; l++) {
        x86_rm(x, ALU_MOV, true, RAX, address_of(l));
        x86_prefetch(x, x86_at_index(RDX, RAX, 0));
    }
    x86_jump(x, on);
    x->now = X86_HOT;
}

void simt_jit_fetch_walk(struct jit *j, int walk, uint32_t range)
{
    uint32_t pins = j->vector_pins;
    simt_jit_find_range(j, range);
    look_behind(j, walk);
    for (int p = 0; p < simt_jit_part_count(j, false); p++) {
        int r[4];
        simt_jit_load_words(j, p, r);
        for (int e = 0; e < 4; e++) simt_jit_store(j, x86_at(REG_WARP, words_at(j, walk, e, p)), r[e]);
        j->vector_pins = pins;
    }
    x86_mem_imm(&j->x, ALU_MOV, false, taken(walk), 0);
    x86_load_imm(&j->x, RAX, 0);
}
