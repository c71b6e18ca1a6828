/* Lanes of a warp that part at a branch: `if`, loops that lanes leave at different times, conditions of several terms.
 *
 * The code that some of them may run before all meet again, blocks one behind the other, is written a second time, for
 * the lanes of a mask: a zone. The order is that of the interpreter: whoever stands lowest runs, and takes those along
 * that wait where it comes by. So a jump ahead makes lanes wait at a block, and who jumps back makes those wait that
 * don't. At the block where all meet, the code for all lanes goes on.
 *
 * All lanes compute, since what comes out for those that don't run is dropped: it stays in registers, and goes to the
 * frame only where lanes run. So a slot that is written in a zone has any form there and is merged with what the frame
 * has when it is stored, unless no other block wants it. Memory is touched, and checked, for lanes that run alone.
 *
 * What a zone holds runs without the warp's splits, as interpreted code does between two of them. Loops end their slice
 * as any do, and go on where they were; those with an atomic or volatile access, which may wait for lanes that wait
 * themselves, give the warp its splits then, and the interpreter sees to it that each has its turn. What needs splits
 * at once (barriers, exchanges, exits, calls) is in no zone: there the interpreter goes on at the branch. */
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/jit_build.h"

#define FARTHEST   1024 /* instructions of a zone */
#define MOST_TWICE 4    /* instructions of all zones, as a multiple of the function's; and so many in any case: */
#define ALLOWED    2048

/* ---- finding ---- */
static bool may_part(const struct jit_insn *n)
{
    enum memory_kind m = (enum memory_kind)n->i->memory;
    bool access = m == MEMORY_LOAD || m == MEMORY_STORE || m == MEMORY_ATOMIC;
    return n->kind == JK_BRANCH || n->plain || (n->kind == JK_CALL && access);
}

static bool all_may_part(const struct jit *j, const struct jit_block *b)
{
    for (uint32_t k = b->start; k < b->end; k++)
        if (!may_part(&j->code[k])) return false;
    return true;
}

/* Blocks from the lowest to the first that all ways from block b lead to. */
static void find_join(struct jit *j, int b)
{
    struct jit_block *block = &j->blocks[b];
    int first = block->next[0], join = b + 1;
    if (first < 0 || block->next[1] != b + 1 || first == join) return;
    if (first > b) first = b + 1, join = block->next[0];
    for (int k = first; k < join; k++) {
        const int *next = j->blocks[k].next;
        if (join - first >= ZONE_BLOCKS || !all_may_part(j, &j->blocks[k])) return;
        for (int s = 0; s < 2; s++)
            if (next[s] > join) join = next[s];
        if (next[0] >= 0 && next[0] < first) {
            first = next[0];
            k = first - 1;
        }
    }
    if (join - first >= ZONE_BLOCKS || j->blocks[join].start - j->blocks[first].start > FARTHEST) return;
    block->first = first;
    block->join = join;
}

void simt_jit_find_joins(struct jit *j)
{
    for (uint32_t b = 0; b < j->block_count; b++) {
        const struct jit_insn *last = &j->code[j->blocks[b].end - 1];
        j->blocks[b].join = -1;
        if (last->kind == JK_BRANCH && last->i->guard != SLOT_TRUE) find_join(j, (int)b);
    }
}

void simt_jit_part_forms(const struct jit *j, const struct jit_block *b, struct jit_form *forms)
{
    for (uint32_t k = j->blocks[b->first].start; k < j->blocks[b->join].start; k++)
        for (int w = 0; w < j->code[k].write_count; w++)
            if (!j->slots[j->code[k].writes[w]].fixed) forms[j->code[k].writes[w]].kind = FORM_ANY;
}

/* ---- zones ---- */
static struct x86_mem waiting_at(const struct jit_zone *z, uint32_t block)
{
    return OF_WARP(waits[block - z->first]);
}

/* As simt_jit_flush leaves the frame at the branch of b. */
static struct jit_form form_in_frame(const struct jit_block *to, const struct jit_block *behind, uint32_t s)
{
    bool in_a = in_set(to->in, s), in_b = in_set(behind->in, s);
    if (!in_a && !in_b) return (struct jit_form){FORM_ANY, 0, 0, 0};
    struct jit_form x = in_a ? to->forms[s] : behind->forms[s], y = in_b ? behind->forms[s] : x;
    return x.kind > y.kind ? x : y;
}

static bool loops(const struct jit *j, const struct jit_zone *z)
{
    for (uint32_t k = z->first; k < z->join; k++)
        if (j->blocks[k].next[0] >= 0 && (uint32_t)j->blocks[k].next[0] <= k) return true;
    return false;
}

/* The slots of a zone from first to join. Nobody waits at its first block, unless lanes jump back to it: what only
 * lives there is of the lanes that run alone. */
static void find_slots(const struct jit *j, struct jit_zone *z)
{
    bool plain = true, again = false;
    for (uint32_t b = z->first; b < z->join; b++) again |= j->blocks[b].next[0] == (int)z->first;
    for (uint32_t b = z->first + !again; b <= z->join; b++)
        for (uint32_t w = 0; w < j->words; w++) z->alive[w] |= j->blocks[b].in[w];
    for (uint32_t k = j->blocks[z->first].start; k < j->blocks[z->join].start; k++) {
        const struct jit_insn *n = &j->code[k];
        plain &= n->kind == JK_BRANCH || n->plain;
        for (int w = 0; w < n->write_count; w++) {
            uint16_t s = n->writes[w];
            if (in_set(z->alive, s) && !j->slots[s].fixed) z->merged[s >> 6] |= (uint64_t)1 << (s & 63);
        }
    }
    z->spins = !plain && loops(j, z);
}

static void free_zone(struct jit_zone *z)
{
    free(z->alive);
    free(z->merged);
    free(z->forms);
    free(z->entries);
    free(z->bodies);
    free(z->alone);
}

void simt_jit_free_zones(struct jit *j)
{
    for (uint32_t z = 0; z < j->zone_count; z++) free_zone(&j->zones[z]);
}

static bool same_forms(const struct jit *j, const struct jit_zone *a, const struct jit_zone *b)
{
    for (uint32_t s = 0; s < j->slot_count; s++) {
        struct jit_form f = a->forms[s], g = b->forms[s];
        bool alive = in_set(a->alive, s) || in_set(j->blocks[a->first].in, s);
        if (alive && (f.kind != g.kind || f.step != g.step || f.skip != g.skip || f.zeros != g.zeros)) return false;
    }
    return true;
}

/* That of the branch at the end of the block at hand; NULL: there is none. */
static const struct jit_zone *find_zone(struct jit *j)
{
    const struct jit_block *b = j->block, *to = &j->blocks[b->next[0]], *behind = &j->blocks[b->next[1]];
    struct jit_zone z = {.first = (uint32_t)b->first, .join = (uint32_t)b->join};
    uint32_t blocks = z.join - z.first + 1, insns = j->blocks[z.join].start - j->blocks[z.first].start;
    bool alone = loops(j, &z) && simt_jit_may_be_alone(j, &z);
    z.alive = rt_calloc(j->words, sizeof *z.alive);
    z.merged = rt_calloc(j->words, sizeof *z.merged);
    z.forms = rt_calloc(j->slot_count + 1, sizeof *z.forms);
    z.entries = rt_calloc(blocks, sizeof *z.entries);
    z.bodies = rt_calloc(blocks, sizeof *z.bodies);
    if (alone) z.alone = rt_calloc(blocks, sizeof *z.alone);
    bool ok = z.alive && z.merged && z.forms && z.entries && z.bodies && (z.alone || !alone);
    j->failed |= !ok;
    if (ok) {
        find_slots(j, &z);
        for (uint32_t s = 0; s < j->slot_count; s++)
            z.forms[s] = in_set(z.merged, s) ? (struct jit_form){FORM_ANY, 0, 0, 0} : form_in_frame(to, behind, s);
    }
    for (uint32_t k = 0; ok && k < j->zone_count; k++)
        if (j->zones[k].first == z.first && j->zones[k].join == z.join && same_forms(j, &z, &j->zones[k])) {
            free_zone(&z);
            return &j->zones[k];
        }
    if (!ok || j->zone_count == JIT_ZONES || j->zone_insns + insns > MOST_TWICE * j->count + ALLOWED) {
        free_zone(&z);
        return NULL;
    }
    for (uint32_t k = 0; k < blocks; k++) {
        z.entries[k] = x86_label(&j->x);
        z.bodies[k] = x86_label(&j->x);
        if (alone) z.alone[k] = x86_label(&j->x);
    }
    j->zone_insns += alone ? 2 * insns : insns;
    j->zones[j->zone_count] = z;
    return &j->zones[j->zone_count++];
}

/* Goes to code for lane 0 alone if no other one runs. */
static void try_alone(struct jit *j, const struct jit_zone *z, uint32_t block)
{
    if (!z->alone || block == z->join) return;
    x86_imm(&j->x, ALU_CMP, false, REG_MASK, 1);
    x86_jump_if(&j->x, CC_E, z->alone[block - z->first]);
}

/* ---- the way in ---- */
/* Lanes that jump ahead wait, and those behind the branch run; lanes that jump back run, and the others wait. */
int simt_jit_enter_zone(struct jit *j, const struct jit_insn *n, int predicate)
{
    struct x86 *x = &j->x;
    const struct jit_block *b = j->block;
    const struct jit_zone *z = b->join >= 0 ? find_zone(j) : NULL;
    if (!z) return -1;
    const struct jit_block *to = &j->blocks[b->next[0]], *behind = &j->blocks[b->next[1]];
    bool ahead = b->next[0] >= b->next[1], flip = n->i->guard_flip;
    int runs = ahead ? b->next[1] : b->next[0], waits = ahead ? b->next[0] : b->next[1], label = x86_label(x);
    enum x86_section was = x->now;
    x->now = X86_COLD;
    x86_bind(x, label);
    for (uint32_t s = 0; s < j->slot_count; s++)
        if (in_set(z->merged, s) && (in_set(to->in, s) || in_set(behind->in, s))) simt_jit_write_all(j, (uint16_t)s);
    x86_rr(x, ALU_MOV, false, RAX, predicate);
    if (flip != ahead) x86_unary(x, UNARY_NOT, false, RAX);
    x86_rr(x, ALU_MOV, false, REG_MASK, RAX);
    x86_unary(x, UNARY_NOT, false, RAX);
    x86_store(x, false, waiting_at(z, (uint32_t)waits), RAX);
    try_alone(j, z, (uint32_t)runs);
    x86_jump(x, z->bodies[(uint32_t)runs - z->first]);
    x->now = was;
    return label;
}

/* ---- masks ---- */
static const struct x86_vop mask_from_gpr = {1, 3, 0, 0x92}, mask_not = {1, 1, 1, 0x44}, mask_shift = {3, 1, 0, 0x31};
enum { RUNNING = 5, OTHERS, SHIFTED }; /* mask registers */

void simt_jit_load_masks(struct jit *j)
{
    if (!j->zone || simt_jit_is_avx2(j)) return;
    x86_vex(&j->x, mask_from_gpr, 128, RUNNING, 0, REG_MASK, -1);
    x86_vex(&j->x, mask_not, 128, OTHERS, 0, RUNNING, -1);
}

/* At the start of a block. With AVX2 masks are made from memory. */
static void begin_masks(struct jit *j)
{
    simt_jit_load_masks(j);
    if (!simt_jit_is_avx2(j)) return;
    x86_store(&j->x, false, OF_WARP(parted), REG_MASK);
    x86_rr(&j->x, ALU_MOV, false, RAX, REG_MASK);
    x86_unary(&j->x, UNARY_NOT, false, RAX);
    x86_store(&j->x, false, OF_WARP(others), RAX);
}

int simt_jit_mask_from(struct jit *j, int lane, bool others)
{
    int k = others ? OTHERS : RUNNING;
    if (!lane) return k;
    x86_vex(&j->x, mask_shift, 128, SHIFTED, 0, k, lane);
    return SHIFTED;
}

void simt_jit_lane_signs(struct jit *j, bool wide, int lane, bool others, int reg)
{
    const struct x86_vop shift_left = {2, 1, wide, 0x47};
    int64_t q[8] = {0};
    int32_t w[16] = {0};
    for (int l = 0; wide && l < 4; l++) q[l] = 63 - lane - l;
    for (int l = 0; !wide && l < 8; l++) w[l] = 31 - lane - l;
    simt_jit_spread_from(j, false, reg, others ? OF_WARP(others) : OF_WARP(parted));
    simt_jit_put_mem(j, shift_left, reg, reg, x86_at_label(x86_constant(&j->x, wide ? (void *)q : (void *)w)));
}

bool simt_jit_merges(const struct jit *j, const struct jit_insn *n)
{
    for (int w = 0; j->zone && !j->alone && w < n->write_count; w++)
        if (in_set(j->zone->merged, n->writes[w])) return true;
    return false;
}

int simt_jit_merged(struct jit *j, bool wide, int part, int reg, struct x86_mem home)
{
    const struct x86_vop blend = {2, 1, wide, 0x64}, blend_signs = {3, 1, 0, wide ? 0x4b : 0x4a};
    int lane = part * simt_jit_lanes(j, wide), t = simt_jit_vectors(j);
    if (simt_jit_is_avx2(j)) {
        simt_jit_lane_signs(j, wide, lane, true, t);
        x86_vex_mem(&j->x, blend_signs, 256, t, reg, home, t << 4);
    } else {
        struct x86_evex how = simt_jit_full();
        how.mask = simt_jit_mask_from(j, lane, true);
        x86_evex_mem(&j->x, blend, how, t, reg, home);
    }
    return t;
}

void simt_jit_running_address(struct jit *j, uint16_t slot)
{
    struct x86 *x = &j->x;
    int32_t at = (int32_t)offsetof(struct warp, addresses);
    for (int p = 0; p < simt_jit_part_count(j, true); p++)
        simt_jit_store(j, x86_at(REG_WARP, at + j->bits / 8 * p), simt_jit_peek(j, slot, p, simt_jit_scratch(j)));
    x86_first_bit(x, RAX, REG_MASK);
    x86_rm(x, ALU_MOV, true, RCX, (struct x86_mem){REG_WARP, RAX, 3, at, -1});
}

/* ---- blocks ---- */
void simt_jit_leave_parted(struct jit *j)
{
    x86_store(&j->x, false, OF_WARP(parted), REG_MASK);
    x86_mem_imm(&j->x, ALU_MOV, false, OF_WARP(zone), (int32_t)(j->zone - j->zones));
}

/* The running lanes go back to a block while the budget lasts. */
static void go_back(struct jit *j, uint32_t to)
{
    struct x86 *x = &j->x;
    const struct jit_zone *z = j->zone;
    int spent = x86_label(x), body = (j->alone ? z->alone : z->bodies)[to - z->first];
    bool walks = to == j->zone_block && j->again_label >= 0;
    uint32_t pc = j->pc;
    x86_mem_imm(x, ALU_SUB, false, OF_WARP(budget), 1);
    x86_jump_if(x, CC_LE, spent);
    if (!j->alone) try_alone(j, z, to);
    x86_jump(x, walks ? j->again_label : body);
    x->now = X86_COLD;
    x86_bind(x, spent);
    j->pc = j->first + j->blocks[to].start;
    if (z->spins) {
        x86_jump(x, simt_jit_leaving(j, JIT_PARTED, false));
    } else {
        int again = x86_label(x);
        x86_store(x, false, OF_WARP(parted), REG_MASK);
        x86_mem_imm(x, ALU_MOV, false, OF_WARP(pc), (int32_t)j->pc);
        x86_lea_label(x, RAX, again);
        x86_store(x, true, OF_WARP(resume), RAX);
        x86_load_imm(x, RAX, JIT_SLICE);
        x86_jump(x, j->leave_label);
        x86_bind(x, again);
        x86_rm(x, ALU_MOV, false, REG_MASK, OF_WARP(parted));
        x86_jump(x, body);
    }
    j->pc = pc;
    x->now = X86_HOT;
}

void simt_jit_end_parted(struct jit *j, const struct jit_insn *n)
{
    struct x86 *x = &j->x;
    const struct jit_zone *z = j->zone;
    uint32_t here = j->zone_block, to = (uint32_t)j->block->next[0];
    bool always = n->i->guard == SLOT_TRUE, flip = n->i->guard_flip;
    simt_jit_flush_merged(j, j->block);
    if (n->kind != JK_BRANCH || (always && flip)) return;
    if (always && to <= here) {
        go_back(j, to);
        return;
    }
    if (always) {
        x86_rr(x, ALU_MOV, false, RAX, REG_MASK);
    } else {
        x86_rr(x, ALU_MOV, false, RAX, simt_jit_predicate(j, n->reads[0]));
        if (flip) x86_unary(x, UNARY_NOT, false, RAX);
        x86_rr(x, ALU_AND, false, RAX, REG_MASK);
    }
    if (to > here) {
        x86_rm(x, ALU_OR - 2, false, RAX, waiting_at(z, to)); /* memory is changed */
        x86_rr(x, ALU_XOR, false, REG_MASK, RAX);
        return;
    }
    int stay = x86_label(x);
    x86_jump_if(x, CC_E, stay);
    x86_rr(x, ALU_XOR, false, REG_MASK, RAX);
    x86_rm(x, ALU_OR - 2, false, REG_MASK, waiting_at(z, here + 1));
    x86_rr(x, ALU_MOV, false, REG_MASK, RAX);
    go_back(j, to);
    x86_bind(x, stay);
}

static void write_zone(struct jit *j, const struct jit_zone *z)
{
    struct x86 *x = &j->x;
    for (uint32_t k = z->first; k <= z->join && !j->failed && !x->failed; k++) {
        struct jit_block b = j->blocks[k];
        b.forms = z->forms;
        j->zone = z;
        j->zone_block = k;
        x86_bind(x, z->entries[k - z->first]);
        x86_rm(x, ALU_OR, false, REG_MASK, waiting_at(z, k));
        x86_mem_imm(x, ALU_MOV, false, waiting_at(z, k), 0);
        if (k < z->join) x86_jump_if(x, CC_E, z->entries[k + 1 - z->first]);
        try_alone(j, z, k);
        x86_bind(x, z->bodies[k - z->first]);
        if (k < z->join) {
            simt_jit_begin_walks(j, &b);
            begin_masks(j);
            simt_jit_write_body(j, &b, simt_jit_end_parted);
        } else {
            j->zone = NULL;
            simt_jit_begin_block(j, &b);
            simt_jit_flush(j, &j->blocks[k], NULL);
            x86_jump(x, j->blocks[k].label);
        }
    }
    j->zone = NULL;
    if (z->alone) simt_jit_write_alone(j, z);
}

void simt_jit_write_zones(struct jit *j)
{
    for (uint32_t z = 0; z < j->zone_count; z++) write_zone(j, &j->zones[z]);
}
