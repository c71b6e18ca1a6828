/* Loads of neighbours in global memory from addresses of any form. Loops that were unrolled load them one after the
 * other: four of 4 bytes become one of 16 for each lane, and change places in registers, which takes about as long as
 * one of four gathers would. Up to four of fewer bytes become one of 4.
 *
 * The lanes' distances from the start of one allocation have been checked, and are in memory; those of lanes that don't
 * run are 0. */
#include <string.h>
#include "runtime/simt/jit_build.h"

#define TOGETHER 4  /* loads */
#define FARTHEST 64 /* instructions */

/* ---- which ---- */
static bool is_single(const struct jit *j, const struct jit_insn *n)
{
    return n->kind == JK_LOAD && !n->guarded && n->i->count == 1 && n->i->size <= (n->wide ? 8 : 4) &&
           n->write_count == 1 && !simt_jit_is_watched(j, n->i) && n->i->imm == (int32_t)n->i->imm && !n->loose;
}

bool simt_jit_keeps_memory(const struct jit_insn *n)
{
    if (n->kind == JK_CALL) return n->plain && n->i->memory == MEMORY_NONE;
    return n->kind != JK_STORE && n->kind != JK_MEET && n->kind != JK_UNKNOWN;
}

static bool writes(const struct jit_insn *n, uint16_t slot)
{
    for (int k = 0; k < n->write_count; k++)
        if (n->writes[k] == slot) return true;
    return false;
}

/* The loads of the 16 bytes that n's are among, in their order; false when they are not all there. */
static bool find_neighbours(const struct jit *j, const struct jit_insn *n, struct jit_insn *found[TOGETHER])
{
    struct jit_insn *near[2 * TOGETHER - 1] = {0}; /* [TOGETHER - 1] is n */
    const struct jit_insn *end = j->code + j->block->end;
    near[TOGETHER - 1] = &j->code[n - j->code];
    for (struct jit_insn *m = near[TOGETHER - 1]; m < end && m < n + FARTHEST && simt_jit_keeps_memory(m); m++) {
        int64_t away = m->i->imm - n->i->imm, k = away / 4 + TOGETHER - 1;
        bool like =
            is_single(j, m) && !m->op && !m->wide && m->i->size == 4 && m->reads[0] == n->reads[0] && !(away % 4);
        if (like && k >= 0 && k < 2 * TOGETHER - 1 && !near[k]) near[k] = m;
        if (writes(m, n->reads[0])) break;
    }
    for (int first = 0; first < TOGETHER; first++) {
        int k = 0;
        while (k < TOGETHER && near[first + k]) k++;
        if (k < TOGETHER) continue;
        for (k = 0; k < TOGETHER; k++) found[k] = near[first + k];
        return true;
    }
    return false;
}

/* Where in warp->ahead there is room for four loads; -1: nowhere. */
static int free_place(const struct jit *j, const struct jit_insn *n)
{
    for (int p = 0; p < LOADS_AHEAD; p++)
        if (!j->ahead_end[p] || j->ahead_end[p] < n) return p;
    return -1;
}

/* Loads of fewer than 4 bytes from the same base, which lie within the 4 bytes from the lowest of those found so far;
 * false when n is alone. */
static bool find_narrow(const struct jit *j, const struct jit_insn *n, struct jit_group *g)
{
    struct jit_insn *found[TOGETHER] = {&j->code[n - j->code]};
    const struct jit_insn *end = j->code + j->block->end;
    int count = 1, size = n->i->size;
    int64_t low = n->i->imm, high = low + size;
    for (struct jit_insn *m = found[0]; m < end && m < n + FARTHEST && count < TOGETHER && simt_jit_keeps_memory(m);
         m++) {
        int64_t imm = m->i->imm, least = imm < low ? imm : low, most = imm + size > high ? imm + size : high;
        bool like = is_single(j, m) && !m->op && !m->wide && m->i->size == size && m->reads[0] == n->reads[0];
        bool fresh = m != n;
        for (int k = 0; k < count; k++) fresh &= found[k]->i->imm != imm;
        if (like && fresh && most - least <= 4 && (imm - low) % size == 0) {
            found[count++] = m;
            low = least, high = most;
        }
        if (writes(m, n->reads[0])) break;
    }
    memset(g->insns, 0, sizeof g->insns);
    for (int k = 0; k < count; k++) g->insns[found[k]->i->imm - low] = found[k];
    g->imm = low;
    g->bytes = high - low;
    return count > 1;
}

bool simt_jit_neighbours(const struct jit *j, const struct jit_insn *n, struct jit_group *g)
{
    g->place = free_place(j, n);
    if (!is_single(j, n) || n->op || n->wide || g->place < 0) return false;
    if (n->i->size < 4) return find_narrow(j, n, g);
    if (!find_neighbours(j, n, g->insns)) return false;
    g->imm = g->insns[0]->i->imm;
    g->bytes = GROUP_BYTES;
    return true;
}

/* ---- code ---- */
static struct x86_mem lane_at(struct jit *j, int lane)
{
    int32_t at = (int32_t)(offsetof(struct warp, addresses) + sizeof(uint64_t) * (unsigned)lane);
    x86_rm(&j->x, ALU_MOV, true, RAX, x86_at(REG_WARP, at));
    return x86_at_index(RCX, RAX, 0);
}

static const struct x86_vop insert_piece = {3, 1, 0, 0x38};

/* Of every fourth lane in a register, then by element. */
void simt_jit_load_words(struct jit *j, int part, int regs[4])
{
    const struct x86_vop low_w = {1, 0, 0, 0x14}, high_w = {1, 0, 0, 0x15}, low_q = {1, 1, 1, 0x14},
                         high_q = {1, 1, 1, 0x15}, all = {1, 0, 0, 0x10};
    int lanes = simt_jit_lanes(j, false), t = simt_jit_scratch(j), r[4];
    for (int k = 0; k < 4; k++) {
        r[k] = simt_jit_new_vector(j);
        simt_jit_put_16(j, all, 128, r[k], 0, lane_at(j, lanes * part + k), -1);
        for (int q = 1; q < lanes / 4; q++)
            simt_jit_put_16(j, insert_piece, j->bits, r[k], r[k], lane_at(j, lanes * part + 4 * q + k), q);
    }
    simt_jit_put(j, low_w, t, r[0], r[1]);
    simt_jit_put(j, high_w, r[1], r[0], r[1]);
    simt_jit_put(j, low_w, r[0], r[2], r[3]);
    simt_jit_put(j, high_w, r[3], r[2], r[3]);
    simt_jit_put(j, low_q, r[2], t, r[0]);
    simt_jit_put(j, high_q, r[0], t, r[0]);
    simt_jit_put(j, high_q, t, r[1], r[3]);
    simt_jit_put(j, low_q, r[1], r[1], r[3]);
    simt_jit_move(j, r[3], t);
    regs[0] = r[2], regs[1] = r[0], regs[2] = r[1], regs[3] = r[3];
}

static struct x86_mem ahead_at(const struct jit *j, int place, int element, int part)
{
    unsigned at = SIMT_WARP * sizeof(uint32_t) * (unsigned)(4 * place + element) + (unsigned)(j->bits / 8 * part);
    return x86_at(REG_WARP, (int32_t)(offsetof(struct warp, ahead) + at));
}

static void wait_for_others(struct jit *j, const struct jit_insn *n, const struct jit_group *g)
{
    j->ahead_end[g->place] = n;
    for (int e = 0; e < TOGETHER; e++) {
        if (!g->insns[e] || g->insns[e] == n) continue;
        g->insns[e]->ahead = (uint8_t)(1 + 4 * g->place + e);
        if (g->insns[e] > j->ahead_end[g->place]) j->ahead_end[g->place] = g->insns[e];
    }
}

/* What the others load waits in memory, since slots are shared by values that are not alive at once. */
static void load_together(struct jit *j, const struct jit_insn *n, const struct jit_group *g)
{
    int regs[JIT_PARTS];
    uint32_t keep = 0;
    for (int p = 0; p < simt_jit_part_count(j, false); p++) {
        int r[TOGETHER];
        simt_jit_load_words(j, p, r);
        for (int e = 0; e < TOGETHER; e++)
            if (g->insns[e] == n)
                regs[p] = r[e];
            else
                simt_jit_store(j, ahead_at(j, g->place, e, p), r[e]);
        j->vector_pins = keep |= 1u << regs[p];
    }
    wait_for_others(j, n, g);
    simt_jit_define_vector(j, n->writes[0], regs);
}

/* The low bytes of 4, from one of them on. */
static void narrow(struct jit *j, int d, int a, int from, int size, bool is_signed)
{
    int above = 32 - 8 * size;
    if (is_signed || from) simt_jit_shift_by(j, false, SHIFT_LEFT, d, a, above - 8 * from);
    if (is_signed || from)
        simt_jit_shift_by(j, false, is_signed ? SHIFT_SIGNED : SHIFT_RIGHT, d, d, above);
    else
        simt_jit_put_mem(j, (struct x86_vop){1, 1, 0, 0xdb}, d, a, simt_jit_equal_at(j, UINT32_MAX >> above, false));
}

void simt_jit_narrow_lanes(struct jit *j, const struct jit_insn *n, const struct jit_group *g, int *regs)
{
    int own = 0;
    for (int p = 0; p < simt_jit_part_count(j, false); p++) {
        for (int e = 0; g && e < TOGETHER; e++) {
            int t = simt_jit_scratch(j);
            if (g->insns[e] == n) own = e;
            if (!g->insns[e] || g->insns[e] == n) continue;
            narrow(j, t, regs[p], e, n->i->size, g->insns[e]->detail);
            simt_jit_store(j, ahead_at(j, g->place, e, p), t);
        }
        narrow(j, regs[p], regs[p], own, n->i->size, n->detail);
    }
    if (g) wait_for_others(j, n, g);
}

void simt_jit_load_ahead(struct jit *j, const struct jit_insn *n)
{
    int regs[JIT_PARTS];
    for (int p = 0; p < simt_jit_part_count(j, false); p++) {
        regs[p] = simt_jit_new_vector(j);
        simt_jit_load(j, regs[p], ahead_at(j, (n->ahead - 1) / 4, (n->ahead - 1) % 4, p));
    }
    simt_jit_define_vector(j, n->writes[0], regs);
}

void simt_jit_find_range(struct jit *j, uint32_t range)
{
    x86_rm(&j->x, ALU_MOV, true, RCX, simt_jit_range_at(range, offsetof(struct jit_range, low)));
    x86_rr(&j->x, ALU_ADD, true, RCX, REG_BIAS);
}

void simt_jit_load_neighbours(struct jit *j, const struct jit_insn *n, const struct jit_group *g, uint32_t range)
{
    simt_jit_find_range(j, range);
    j->vector_pins = 0;
    load_together(j, n, g);
}
