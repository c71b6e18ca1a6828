/* Lanes that lie a few elements apart in memory, as the members of structures, every other element or a row from its
 * end do: moves of all the bytes that a vector's lanes span, and permutations. Gathers and scatters by an index take
 * several times as long. With AVX2 the lanes are moved one by one instead. */
#include <string.h>
#include "runtime/simt/jit_build.h"

#define FARTHEST 4 /* elements from lane to lane */

static const struct x86_vop from_two_w = {2, 1, 0, 0x7e}, from_two_q = {2, 1, 1, 0x7e}, /* overwrite the first */
    from_two_by_w = {2, 1, 0, 0x76}, from_two_by_q = {2, 1, 1, 0x76},                   /* overwrite the index */
    from_one_w = {2, 1, 0, 0x36}, from_one_q = {2, 1, 1, 0x36};

/* The lanes of a vector and the bytes they span, from the lowest on; its last 64 may begin before those before end. */
struct span {
    int lanes, size, vectors;
    int64_t step, low, bytes;
};
static struct span span_of(bool wide, int64_t step)
{
    struct span s = {.lanes = wide ? 8 : 16, .size = wide ? 8 : 4, .step = step};
    s.low = step < 0 ? step * (s.lanes - 1) : 0;
    s.bytes = (step < 0 ? -step : step) * (s.lanes - 1) + s.size;
    s.vectors = (int)((s.bytes + 63) / 64);
    return s;
}
static int64_t start_of(const struct span *s, int vector)
{
    return vector && vector == s->vectors - 1 ? s->bytes - 64 : 64 * vector;
}
/* Where a lane lies in a vector, counted in elements; below 0 or too large: elsewhere. */
static int64_t place_in(const struct span *s, int lane, int vector)
{
    int64_t from = s->step * lane - s->low - start_of(s, vector);
    return from < 0 ? -1 : from / s->size;
}

static void load_index(struct jit *j, bool wide, int reg, const int *index)
{
    int64_t q[8];
    int32_t w[16];
    for (int l = 0; l < 8; l++) q[l] = index[l];
    for (int l = 0; !wide && l < 16; l++) w[l] = index[l];
    simt_jit_load(j, reg, x86_at_label(x86_constant(&j->x, wide ? (void *)q : (void *)w)));
}

bool simt_jit_is_strided(const struct jit *j, const struct jit_insn *n, int64_t step)
{
    int size = n->i->size;
    return !simt_jit_is_avx2(j) && size == (n->wide ? 8 : 4) && step && step != size && step % size == 0 &&
           step <= FARTHEST * size && step >= -FARTHEST * size;
}

void simt_jit_load_strided(struct jit *j, bool wide, int reg, struct x86_mem m, int64_t step)
{
    struct span s = span_of(wide, step);
    int index[16], by = simt_jit_scratch(j);
    m = x86_further(m, s.low);
    if (s.vectors == 1) {
        for (int l = 0; l < s.lanes; l++) index[l] = (int)place_in(&s, l, 0);
        load_index(j, wide, reg, index);
        simt_jit_put_mem(j, wide ? from_one_q : from_one_w, reg, reg, m);
        return;
    }
    simt_jit_load(j, reg, m);
    for (int v = 1; v < s.vectors; v++) { /* what comes from those before is in its place, but the first time */
        for (int l = 0; l < s.lanes; l++) {
            int64_t first = place_in(&s, l, 0), here = place_in(&s, l, v);
            bool taken = place_in(&s, l, v - 1) < s.lanes; /* by those before */
            index[l] = taken ? (v == 1 ? (int)first : l) : here < s.lanes ? s.lanes + (int)here : l;
        }
        load_index(j, wide, by, index);
        simt_jit_put_mem(j, wide ? from_two_q : from_two_w, reg, by, x86_further(m, start_of(&s, v)));
    }
}

/* Each vector's lanes move to their places in memory, and those alone are stored. */
void simt_jit_store_strided(struct jit *j, bool wide, int reg, struct x86_mem m, int64_t step)
{
    const struct x86_vop to_mask = {1, 3, 0, 0x92};
    struct span s = span_of(wide, step);
    struct x86_evex taken = simt_jit_full();
    int moved = simt_jit_scratch(j);
    taken.mask = 1;
    for (int v = 0; v < s.vectors; v++) {
        int index[16] = {0};
        uint32_t lanes = 0;
        for (int l = 0; l < s.lanes; l++) {
            int64_t to = place_in(&s, l, v);
            if (to < 0 || to >= s.lanes || (v && place_in(&s, l, v - 1) < s.lanes)) continue;
            index[to] = l;
            lanes |= 1u << to;
        }
        load_index(j, wide, moved, index);
        simt_jit_put(j, wide ? from_one_q : from_one_w, moved, moved, reg);
        x86_load_imm(&j->x, RAX, lanes);
        x86_vex(&j->x, to_mask, 128, 1, 0, RAX, -1);
        x86_evex_mem(&j->x, (struct x86_vop){1, wide, wide, 0x11}, taken, moved, 0,
                     x86_further(m, s.low + start_of(&s, v)));
    }
}

bool simt_jit_fills(const struct jit *j, const struct jit_insn *n, int64_t step)
{
    int64_t size = n->i->size, bytes = size * n->i->count;
    return !simt_jit_is_avx2(j) && size == (n->wide ? 8 : 4) && (n->i->count > 1 ? step == bytes : step == -size);
}

/* A vector of the elements from number `first` on, of lanes that have `count` each. */
static int interleaved(struct jit *j, bool wide, const int *regs, int count, int first)
{
    int index[16], lanes = wide ? 8 : 16, r = simt_jit_new_vector(j), by = simt_jit_scratch(j);
    for (int k = 0; k < lanes; k++) index[k] = (first + k) / count + (first + k) % count % 2 * lanes;
    load_index(j, wide, r, index);
    simt_jit_put(j, wide ? from_two_by_q : from_two_by_w, r, regs[0], regs[1]);
    for (int e = 2; e < count; e++) {
        for (int k = 0; k < lanes; k++) index[k] = (first + k) % count == e ? lanes + (first + k) / count : k;
        load_index(j, wide, by, index);
        simt_jit_put(j, wide ? from_two_q : from_two_w, r, by, regs[e]);
    }
    return r;
}

void simt_jit_store_filling(struct jit *j, bool wide, const int *regs, int count, struct x86_mem m)
{
    int index[16], lanes = wide ? 8 : 16;
    if (count == 1) {
        int r = simt_jit_new_vector(j);
        for (int l = 0; l < lanes; l++) index[l] = lanes - 1 - l;
        load_index(j, wide, r, index);
        simt_jit_put(j, wide ? from_one_q : from_one_w, r, r, regs[0]);
        simt_jit_store(j, x86_further(m, -(int64_t)(64 - 64 / lanes)), r);
        return;
    }
    for (int v = 0; v < count; v++) {
        uint32_t pins = j->vector_pins;
        simt_jit_store(j, x86_further(m, 64 * v), interleaved(j, wide, regs, count, v * lanes));
        j->vector_pins = pins;
    }
}

/* ---- lanes of a byte or two ---- */
/* With an operand of 16 bytes or fewer in memory. */
void simt_jit_put_16(struct jit *j, struct x86_vop op, int bits, int reg, int second, struct x86_mem m, int imm)
{
    if (simt_jit_is_avx2(j))
        x86_vex_mem(&j->x, op, bits, reg, second, m, imm);
    else
        x86_evex_mem(&j->x, op, (struct x86_evex){.bits = bits, .imm = imm}, reg, second, m);
}

static void insert_lanes(struct jit *j, int reg, struct x86_mem m, int size, int64_t step, bool is_signed)
{
    const struct x86_vop insert = size == 1 ? (struct x86_vop){3, 1, 0, 0x20} : (struct x86_vop){1, 1, 0, 0xc4};
    const struct x86_vop widen = {2, 1, 0, (uint8_t)((is_signed ? 0x20 : 0x30) + (size == 1 ? 1 : 3))};
    int lanes = simt_jit_lanes(j, false), each = 16 / size, high = simt_jit_scratch(j);
    for (int l = 0; l < lanes; l++) {
        int to = l < each ? reg : high;
        simt_jit_put_16(j, insert, 128, to, to, x86_further(m, step * l), l % each);
    }
    if (lanes > each) /* words beyond the eight of a register */
        x86_evex(&j->x, (struct x86_vop){3, 1, 0, 0x38}, (struct x86_evex){.bits = 256, .imm = 1}, reg, reg, high);
    simt_jit_put(j, widen, reg, 0, reg);
}

/* 64 bytes, among them all that the lanes span, and a permutation of them. */
static void permute_lanes(struct jit *j, int reg, struct x86_mem m, int size, int64_t step, bool is_signed)
{
    const struct x86_vop permute = {2, 1, 0, 0x8d};
    int64_t low = step < 0 ? 15 * step : 0;
    uint8_t order[64] = {0};
    for (int l = 0; l < 16; l++)
        for (int b = 0; b < size; b++) order[4 * l + 4 - size + b] = (uint8_t)(step * l - low + b);
    simt_jit_load(j, reg, x86_at_label(x86_constant(&j->x, order)));
    simt_jit_put_mem(j, permute, reg, reg, x86_further(m, low));
    simt_jit_shift_by(j, false, is_signed ? SHIFT_SIGNED : SHIFT_RIGHT, reg, reg, 32 - 8 * size);
}

/* Four lanes are taken from the 16 bytes that the lowest of them begins, or all from 64. Those may pass the end of an
 * allocation, or of shared memory, behind which there is room (memory.c, worker_new). */
void simt_jit_load_narrow(struct jit *j, int reg, struct x86_mem m, int size, int64_t step, bool is_signed)
{
    int64_t low = step < 0 ? 3 * step : 0;
    if (j->permutes_bytes && 15 * (step < 0 ? -step : step) + size < 64) {
        permute_lanes(j, reg, m, size, step, is_signed);
        return;
    }
    if (3 * (step < 0 ? -step : step) + size > 16) {
        insert_lanes(j, reg, m, size, step, is_signed);
        return;
    }
    uint8_t order[64];
    memset(order, 0x80, sizeof order);
    for (int l = 0; l < 16; l++)
        for (int b = 0; b < size; b++)
            order[4 * l + (is_signed ? 4 - size : 0) + b] = (uint8_t)(step * (l % 4) - low + b);
    for (int k = 0; k < simt_jit_lanes(j, false) / 4; k++) {
        struct x86_mem from = x86_further(m, 4 * step * k + low);
        if (k)
            simt_jit_put_16(j, (struct x86_vop){3, 1, 0, 0x38}, j->bits, reg, reg, from, k);
        else
            simt_jit_put_16(j, (struct x86_vop){1, 0, 0, 0x10}, 128, reg, 0, from, -1);
    }
    simt_jit_put_mem(j, (struct x86_vop){2, 1, 0, 0x00}, reg, reg, x86_at_label(x86_constant(&j->x, order)));
    if (is_signed) simt_jit_put_imm(j, (struct x86_vop){1, 1, 0, 0x72}, 4, reg, reg, 32 - 8 * size);
}

void simt_jit_pack(struct jit *j, int reg, const int *regs, int size, int count)
{
    const struct x86_vop and_w = {1, 1, 0, 0xdb}, or_w = {1, 1, 0, 0xeb}, left = {1, 1, 0, 0x72};
    int t = simt_jit_scratch(j);
    for (int e = 0; e < count; e++) {
        int to = e ? t : reg;
        simt_jit_put_mem(j, and_w, to, regs[e], simt_jit_equal_at(j, size == 1 ? 0xff : 0xffff, false));
        if (!e) continue;
        simt_jit_put_imm(j, left, 6, t, t, 8 * size * e);
        simt_jit_put(j, or_w, reg, reg, t);
    }
}
