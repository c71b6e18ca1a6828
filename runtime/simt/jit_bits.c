/* Integer instructions on vectors that take several steps: divisions, funnel shifts, bit fields, permutations of bytes,
 * numbers of 16 bits and dot products of bytes. */
#include <string.h>
#include "runtime/simt/jit_build.h"

static const struct x86_vop or_w = {1, 1, 0, 0xeb}, add_w = {1, 1, 0, 0xfe}, sub_w = {1, 1, 0, 0xfa},
                            multiply_w = {2, 1, 0, 0x40}, left_w = {2, 1, 0, 0x47}, right_w = {2, 1, 0, 0x45},
                            bytes = {2, 1, 0, 0x00}, sums_of_pairs = {1, 1, 0, 0xf5};

void simt_jit_shift_by(struct jit *j, bool wide, int kind, int d, int a, int count)
{
    int group = kind == SHIFT_LEFT ? 6 : kind == SHIFT_RIGHT ? 2 : 4;
    simt_jit_put_imm(j, (struct x86_vop){1, 1, wide, wide ? 0x73 : 0x72}, group, d, a, count);
}
/* The same of 16-bit lanes. */
static void shift_shorts(struct jit *j, int kind, int d, int a, int count)
{
    int group = kind == SHIFT_LEFT ? 6 : kind == SHIFT_RIGHT ? 2 : 4;
    simt_jit_put_imm(j, (struct x86_vop){1, 1, 0, 0x71}, group, d, a, count);
}
static void keep_bits(struct jit *j, bool wide, int d, int a, int64_t bits)
{
    simt_jit_put_mem(j, (struct x86_vop){1, 1, wide, 0xdb}, d, a, simt_jit_equal_at(j, bits, wide));
}

/* ---- constants ---- */
static bool is_constant(const struct jit *j, const struct jit_insn *n, int read, uint32_t *value)
{
    const struct jit_slot *s = &j->slots[n->reads[read]];
    *value = (uint32_t)s->form.step;
    return s->fixed && s->form.kind == FORM_CONST;
}

/* Do a selector's bytes from `first` on all repeat the sign of the byte before them, the last of those in order? */
static bool extends_sign(uint32_t selector, int first)
{
    uint32_t from = selector & 7, all = 0;
    for (uint32_t k = 0; k < 4; k++)
        all |= (k < (uint32_t)first ? from + k : 8 | (from + (uint32_t)first - 1)) << 4 * k;
    return (from & 3) % (uint32_t)first == 0 && (selector & 0xffff) == all;
}

bool simt_jit_can_compute(const struct jit *j, const struct jit_insn *n)
{
    uint32_t a, b;
    if (n->kind == JK_CONVERT) return n->op != JC_F64_S64 || !simt_jit_is_avx2(j);
    if (n->kind == JK_FLOAT) return n->op != JF_RCP_FTZ || !n->wide || !simt_jit_is_avx2(j);
    if (n->kind != JK_INTEGER) return true;
    switch ((enum jit_integer)n->op) {
    case JI_DIV_U:
    case JI_REM_U: return !simt_jit_is_avx2(j);
    case JI_INSERT: return is_constant(j, n, 2, &a) && is_constant(j, n, 3, &b);
    case JI_EXTRACT_U:
    case JI_EXTRACT_S: return is_constant(j, n, 1, &a) && is_constant(j, n, 2, &b);
    case JI_PERMUTE: return is_constant(j, n, 2, &a) && (!(a & 0x8888) || extends_sign(a, 1) || extends_sign(a, 2));
    default: return true;
    }
}

/* ---- divisions ---- */
/* Of 32-bit numbers by doubles, whose quotients are right when they are cut: half a part at a time. With AVX2 signed
 * ones alone. A divisor of zero gives all ones: the conversion of unsigned numbers sees to that itself. */
int simt_jit_divide(struct jit *j, const struct jit_insn *n, int part)
{
    bool is_signed = n->op == JI_DIV_S || n->op == JI_REM_S, rest = n->op == JI_REM_U || n->op == JI_REM_S;
    const struct x86_vop up = {1, 2, 0, is_signed ? 0xe6 : 0x7a}, divide = {1, 1, 1, 0x5e},
                         signed_down = {1, 1, 1, 0xe6}, unsigned_down = {1, 0, 1, 0x78};
    int a = simt_jit_part(j, n->reads[0], part), b = simt_jit_part(j, n->reads[1], part), q[2];
    int t = simt_jit_scratch(j);
    for (int k = 0; k < 2; k++) {
        q[k] = simt_jit_new_vector(j);
        if (k) simt_jit_high_half(j, q[k], a), simt_jit_high_half(j, t, b);
        simt_jit_put(j, up, q[k], 0, k ? q[k] : a);
        simt_jit_put(j, up, t, 0, k ? t : b);
        simt_jit_put(j, divide, q[k], q[k], t);
        simt_jit_put(j, is_signed ? signed_down : unsigned_down, q[k], 0, q[k]);
    }
    simt_jit_join(j, q[0], q[0], q[1]);
    if (is_signed && simt_jit_is_avx2(j)) {
        simt_jit_put(j, (struct x86_vop){1, 1, 0, 0xef}, t, t, t);
        simt_jit_put(j, (struct x86_vop){1, 1, 0, 0x76}, t, t, b);
        simt_jit_put(j, or_w, q[0], q[0], t);
    } else if (is_signed) {
        struct x86_evex by_zero = simt_jit_full();
        by_zero.mask = 1;
        x86_evex(&j->x, (struct x86_vop){2, 2, 0, 0x27}, simt_jit_full(), 1, b, b); /* vptestnmd */
        by_zero.imm = 0xff;
        x86_evex(&j->x, (struct x86_vop){3, 1, 0, 0x25}, by_zero, q[0], q[0], q[0]);
    }
    if (rest) {
        simt_jit_put(j, multiply_w, q[0], q[0], b);
        simt_jit_put(j, sub_w, q[0], a, q[0]);
    }
    return q[0];
}

/* The least of all lanes' divisors that run, in some lane: no other one is 0 where that isn't. */
static int least_divisor(struct jit *j, uint16_t slot)
{
    const struct x86_vop least = {2, 1, 0, 0x3b};
    int z = simt_jit_new_vector(j), others = simt_jit_vectors(j);
    simt_jit_set(j, false, z, -1);
    for (int p = 0; p < simt_jit_part_count(j, false); p++) {
        int b = simt_jit_peek(j, slot, p, simt_jit_scratch(j)), lane = p * simt_jit_lanes(j, false);
        struct x86_evex how = simt_jit_full();
        if (j->zone && !simt_jit_is_avx2(j)) {
            how.mask = simt_jit_mask_from(j, lane, false);
            x86_evex(&j->x, least, how, z, z, b);
            continue;
        }
        if (j->zone) { /* those of lanes that don't run are made great */
            simt_jit_lane_signs(j, false, lane, true, others);
            simt_jit_shift_by(j, false, SHIFT_SIGNED, others, others, 31);
            simt_jit_put(j, or_w, others, others, b);
        }
        simt_jit_put(j, least, z, z, j->zone ? others : b);
    }
    return z;
}

void simt_jit_watch_division(struct jit *j, const struct jit_insn *n)
{
    struct x86 *x = &j->x;
    const uint16_t slot = n->reads[1];
    const struct jit_form f = j->places[slot].form;
    if (f.kind == FORM_CONST) {
        if (!f.step) x86_jump(x, simt_jit_leaving(j, JIT_LEFT, false));
    } else if (form_is_uniform(f) || j->alone) {
        int b = simt_jit_scalar(j, slot, 0, RAX), leave = simt_jit_leaving(j, JIT_LEFT, false);
        x86_test(x, false, b, b);
        x86_jump_if(x, CC_E, leave);
    } else {
        int z = least_divisor(j, slot), leave = simt_jit_leaving(j, JIT_LEFT, false), t = simt_jit_scratch(j);
        if (simt_jit_is_avx2(j)) {
            simt_jit_clear(j, t);
            simt_jit_put(j, (struct x86_vop){1, 1, 0, 0x76}, t, t, z);
            x86_vex(x, (struct x86_vop){2, 1, 0, 0x17}, 256, t, 0, t, -1); /* vptest */
        } else {
            x86_evex(x, (struct x86_vop){2, 2, 0, 0x27}, simt_jit_full(), 1, z, z); /* vptestnmd */
            x86_vex(x, (struct x86_vop){1, 0, 0, 0x98}, 128, 1, 0, 1, -1);          /* kortestw */
        }
        x86_jump_if(x, CC_NE, leave);
    }
}

/* ---- shifts of two registers, and fields of bits ---- */
/* Of 64 bits, those of the first register below those of the second, the high half of a shift to the left or the low
 * half of one to the right. */
static int funnel(struct jit *j, const struct jit_insn *n, int part)
{
    bool left = n->op == JI_FUNNEL_L;
    int low = simt_jit_part(j, n->reads[0], part), high = simt_jit_part(j, n->reads[1], part), t = simt_jit_scratch(j);
    int main = left ? high : low, other = left ? low : high, r;
    struct jit_form by = form_of_read(j, n, 2);
    if (by.kind == FORM_CONST) {
        int count = (int)(by.step & 31);
        r = simt_jit_new_vector(j);
        if (low == high && !simt_jit_is_avx2(j)) {
            simt_jit_put_imm(j, (struct x86_vop){1, 1, 0, 0x72}, left ? 1 : 0, r, low, count); /* vprold, vprord */
            return r;
        }
        simt_jit_shift_by(j, false, left ? SHIFT_LEFT : SHIFT_RIGHT, r, main, count);
        if (!count) return r;
        simt_jit_shift_by(j, false, left ? SHIFT_RIGHT : SHIFT_LEFT, t, other, 32 - count);
        simt_jit_put(j, or_w, r, r, t);
        return r;
    }
    int count = simt_jit_part(j, n->reads[2], part), back = simt_jit_equal(j, 32, false);
    r = simt_jit_new_vector(j);
    keep_bits(j, false, t, count, 31);
    simt_jit_put(j, left ? left_w : right_w, r, main, t);
    simt_jit_put(j, sub_w, t, back, t); /* a shift by 32 leaves nothing */
    simt_jit_put(j, left ? right_w : left_w, t, other, t);
    simt_jit_put(j, or_w, r, r, t);
    return r;
}

static int insert(struct jit *j, const struct jit_insn *n, int part)
{
    unsigned width = n->wide ? 64 : 32, at = (uint32_t)j->slots[n->reads[2]].form.step & 255;
    unsigned length = (uint32_t)j->slots[n->reads[3]].form.step & 255;
    int a = simt_jit_part(j, n->reads[0], part), b = simt_jit_part(j, n->reads[1], part), r = simt_jit_new_vector(j);
    int t = simt_jit_scratch(j);
    if (at >= width || !length) {
        simt_jit_move(j, r, b);
        return r;
    }
    uint64_t field = (length > 63 ? UINT64_MAX : ((uint64_t)1 << length) - 1) << at;
    simt_jit_shift_by(j, n->wide, SHIFT_LEFT, r, a, (int)at);
    if (at + length < width) keep_bits(j, n->wide, r, r, (int64_t)field);
    keep_bits(j, n->wide, t, b, (int64_t)~field);
    simt_jit_put(j, or_w, r, r, t);
    return r;
}

static int extract(struct jit *j, const struct jit_insn *n, int part)
{
    int at = (int)((uint32_t)j->slots[n->reads[1]].form.step & 255);
    int length = (int)((uint32_t)j->slots[n->reads[2]].form.step & 255), a = simt_jit_part(j, n->reads[0], part);
    int r = simt_jit_new_vector(j), kind = n->op == JI_EXTRACT_S ? SHIFT_SIGNED : SHIFT_RIGHT;
    if (!length || (at > 31 && n->op == JI_EXTRACT_U)) {
        simt_jit_set(j, false, r, 0);
        return r;
    }
    if (at > 31) at = 31; /* all of it is the sign */
    int bits = length < 32 - at ? length : 32 - at, above = 32 - at - bits;
    if (above) simt_jit_shift_by(j, false, SHIFT_LEFT, r, a, above);
    simt_jit_shift_by(j, false, kind, r, above ? r : a, 32 - bits);
    return r;
}

static int packed(struct jit *j, const struct jit_insn *n, int part)
{
    if (n->wide) {
        int low = simt_jit_widened(j, n->reads[0], part, false), high = simt_jit_widened(j, n->reads[1], part, false);
        simt_jit_shift_by(j, true, SHIFT_LEFT, high, high, 32);
        simt_jit_put(j, or_w, low, low, high);
        return low;
    }
    int low = simt_jit_part(j, n->reads[0], part), high = simt_jit_part(j, n->reads[1], part);
    int r = simt_jit_new_vector(j), t = simt_jit_scratch(j);
    keep_bits(j, false, r, low, 0xffff);
    simt_jit_shift_by(j, false, SHIFT_LEFT, t, high, 16);
    simt_jit_put(j, or_w, r, r, t);
    return r;
}

/* ---- bits, by tables of what four of them come to ---- */
/* Each byte of r becomes low[its low half], and with the other table's entry of its high half added or joined. r's old
 * value is in a. */
static void look_up(struct jit *j, int r, int a, const uint8_t low[16], const uint8_t high[16], struct x86_vop join)
{
    uint8_t tables[2][64];
    int t = simt_jit_scratch(j), u = simt_jit_new_vector(j);
    for (int k = 0; k < 64; k++) tables[0][k] = low[k % 16], tables[1][k] = high[k % 16];
    simt_jit_shift_by(j, false, SHIFT_RIGHT, t, a, 4);
    keep_bits(j, false, t, t, 0x0f0f0f0f);
    simt_jit_load(j, u, x86_at_label(x86_constant(&j->x, tables[1])));
    simt_jit_put(j, bytes, u, u, t);
    keep_bits(j, false, t, a, 0x0f0f0f0f);
    simt_jit_load(j, r, x86_at_label(x86_constant(&j->x, tables[0])));
    simt_jit_put(j, bytes, r, r, t);
    simt_jit_put(j, join, r, r, u);
}

static void count_bits(struct jit *j, int r, int a)
{
    static const uint8_t set[16] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};
    look_up(j, r, a, set, set, (struct x86_vop){1, 1, 0, 0xfc}); /* sums of bytes */
    simt_jit_put_mem(j, (struct x86_vop){2, 1, 0, 0x04}, r, r, simt_jit_equal_at(j, 0x01010101, false));
    simt_jit_put_mem(j, sums_of_pairs, r, r, simt_jit_equal_at(j, 0x00010001, false));
}

static int counted(struct jit *j, const struct jit_insn *n, int part)
{
    int a = simt_jit_part(j, n->reads[0], part), r = simt_jit_new_vector(j);
    count_bits(j, r, a);
    return r;
}

static int reversed(struct jit *j, const struct jit_insn *n, int part)
{
    uint8_t low[16], high[16], order[64];
    for (int k = 0; k < 16; k++) {
        high[k] = (uint8_t)((k & 1) << 3 | (k & 2) << 1 | (k & 4) >> 1 | k >> 3);
        low[k] = (uint8_t)(high[k] << 4);
    }
    for (int b = 0; b < 64; b++) order[b] = (uint8_t)(b % 16 / 4 * 4 + 3 - b % 4);
    int a = simt_jit_part(j, n->reads[0], part), r = simt_jit_new_vector(j);
    look_up(j, r, a, low, high, or_w);
    simt_jit_put_mem(j, bytes, r, r, x86_at_label(x86_constant(&j->x, order)));
    return r;
}

/* The zeros above the highest bit that is set, 32 where none is: with AVX2 those that are left when all below it are
 * set, too. */
static void count_zeros(struct jit *j, int r, int a)
{
    int t = simt_jit_scratch(j);
    if (!simt_jit_is_avx2(j)) {
        simt_jit_put(j, (struct x86_vop){2, 1, 0, 0x44}, r, 0, a); /* vplzcntd */
        return;
    }
    simt_jit_move(j, r, a);
    for (int by = 1; by < 32; by *= 2) {
        simt_jit_shift_by(j, false, SHIFT_RIGHT, t, r, by);
        simt_jit_put(j, or_w, r, r, t);
    }
    int set = simt_jit_new_vector(j);
    count_bits(j, set, r);
    simt_jit_set(j, false, r, 32);
    simt_jit_put(j, sub_w, r, r, set);
}

static int leading(struct jit *j, const struct jit_insn *n, int part)
{
    int a = simt_jit_part(j, n->reads[0], part), r = simt_jit_new_vector(j), t;
    count_zeros(j, r, a);
    if (n->detail == LEADING_PLACE) {
        t = simt_jit_equal(j, 31, false);
        simt_jit_put(j, sub_w, r, t, r);
    } else if (n->detail == LEADING_SHIFT) { /* from 32 on all ones */
        t = simt_jit_scratch(j);
        simt_jit_shift_by(j, false, SHIFT_LEFT, t, r, 26);
        simt_jit_shift_by(j, false, SHIFT_SIGNED, t, t, 31);
        simt_jit_put(j, or_w, r, r, t);
    }
    return r;
}

/* ---- bytes ---- */
/* The bytes of a register that a selector takes from the first or second one; the others become zero. */
static bool order_of(struct jit *j, uint32_t selector, uint32_t second, struct x86_mem *order)
{
    uint8_t from[64];
    bool any = false;
    for (uint32_t b = 0; b < 64; b++) {
        uint32_t s = selector >> b % 4 * 4 & 7;
        bool taken = s / 4 == second;
        from[b] = taken ? (uint8_t)(b % 16 / 4 * 4 + s % 4) : 0x80;
        any |= taken;
    }
    *order = x86_at_label(any ? x86_constant(&j->x, from) : -1);
    return any;
}

static int permute(struct jit *j, const struct jit_insn *n, int part)
{
    uint32_t selector = (uint32_t)j->slots[n->reads[2]].form.step;
    struct x86_mem order;
    int t = simt_jit_scratch(j), r;
    if (selector & 0x8888) {
        int from = simt_jit_part(j, n->reads[selector >> 2 & 1], part), size = extends_sign(selector, 1) ? 8 : 16;
        r = simt_jit_new_vector(j);
        simt_jit_shift_by(j, false, SHIFT_LEFT, r, from, 32 - size - 8 * (int)(selector & 3));
        simt_jit_shift_by(j, false, SHIFT_SIGNED, r, r, 32 - size);
        return r;
    }
    int a = simt_jit_part(j, n->reads[0], part), b = simt_jit_part(j, n->reads[1], part);
    bool first = order_of(j, selector, 0, &order);
    r = simt_jit_new_vector(j);
    if (first) simt_jit_put_mem(j, bytes, r, a, order);
    if (!order_of(j, selector, 1, &order)) return r;
    simt_jit_put_mem(j, bytes, first ? t : r, b, order);
    if (first) simt_jit_put(j, or_w, r, r, t);
    return r;
}

/* Every other byte of a, the odd ones or the even ones, as 16-bit numbers. */
static void spread_bytes(struct jit *j, bool odd, bool is_signed, int d, int a)
{
    int kind = is_signed ? SHIFT_SIGNED : SHIFT_RIGHT;
    if (!odd) shift_shorts(j, SHIFT_LEFT, d, a, 8);
    shift_shorts(j, kind, d, odd ? a : d, 8);
}

/* The processor multiplies bytes without sign by bytes with one. Where both are of one kind, one of them is taken for
 * such that differ by 128, and so many times the other is taken off again. */
static int dot_by_instruction(struct jit *j, const struct jit_insn *n, int part)
{
    const struct x86_vop add_products = {2, 1, 0, 0x50}, xor_w = {1, 1, 0, 0xef};
    int a = simt_jit_part(j, n->reads[0], part), b = simt_jit_part(j, n->reads[1], part), t = simt_jit_scratch(j);
    int c = simt_jit_part(j, n->reads[2], part), r = simt_jit_new_vector(j);
    simt_jit_move(j, r, c);
    if (n->detail == 1 || n->detail == 2) {
        simt_jit_put(j, add_products, r, n->detail == 1 ? b : a, n->detail == 1 ? a : b);
        return r;
    }
    int all_128 = simt_jit_equal(j, INT32_C(-0x7f7f7f80), false), u = simt_jit_new_vector(j);
    simt_jit_clear(j, u);
    simt_jit_put(j, xor_w, t, n->detail ? a : b, all_128);
    simt_jit_put(j, add_products, r, n->detail ? t : a, n->detail ? b : t);
    simt_jit_put(j, add_products, u, n->detail ? all_128 : a, n->detail ? b : all_128);
    simt_jit_put(j, sub_w, r, r, u);
    return r;
}

static int dot(struct jit *j, const struct jit_insn *n, int part)
{
    int a = simt_jit_part(j, n->reads[0], part), b = simt_jit_part(j, n->reads[1], part), t = simt_jit_scratch(j);
    int c = simt_jit_part(j, n->reads[2], part), r = simt_jit_new_vector(j), u = simt_jit_new_vector(j);
    for (int odd = 0; odd < 2; odd++) {
        spread_bytes(j, odd, n->detail & 1, odd ? u : r, a);
        spread_bytes(j, odd, n->detail & 2, t, b);
        simt_jit_put(j, sums_of_pairs, odd ? u : r, odd ? u : r, t);
    }
    simt_jit_put(j, add_w, r, r, u);
    simt_jit_put(j, add_w, r, r, c);
    return r;
}

/* ---- 16 bits ---- */
static int short_product(struct jit *j, const struct jit_insn *n, int part)
{
    int power = simt_jit_power(form_of_read(j, n, 1)), a = simt_jit_part(j, n->reads[0], part);
    int b = simt_jit_part(j, n->reads[1], part), r = simt_jit_new_vector(j), t = simt_jit_scratch(j);
    if (n->op == JI_WIDE_SHORT_S) { /* with what lies above, times zero */
        keep_bits(j, false, r, a, 0xffff);
        simt_jit_put(j, sums_of_pairs, r, r, b);
        return r;
    }
    bool fits[2] = {simt_jit_fits(j, n->reads[0], 16), simt_jit_fits(j, n->reads[1], 16)};
    if (!fits[0]) keep_bits(j, false, r, a, 0xffff);
    if (fits[0] && fits[1] && power >= 0) {
        simt_jit_shift_by(j, false, SHIFT_LEFT, r, a, power);
        return r;
    }
    if (!fits[1]) keep_bits(j, false, t, b, 0xffff);
    simt_jit_put(j, multiply_w, r, fits[0] ? a : r, fits[1] ? b : t);
    return r;
}

static int short_result(struct jit *j, const struct jit_insn *n, int part)
{
    static const struct x86_vop ops[] = {
        [JI_ADD] = {1, 1, 0, 0xfe},   [JI_SUB] = {1, 1, 0, 0xfa},   [JI_MUL] = {2, 1, 0, 0x40},
        [JI_MIN_U] = {2, 1, 0, 0x3a}, [JI_MAX_U] = {2, 1, 0, 0x3e}, [JI_MIN_S] = {1, 1, 0, 0xea},
        [JI_MAX_S] = {1, 1, 0, 0xee}, /* of both halves of 32 bits */
    };
    int a = simt_jit_part(j, n->reads[0], part), b = simt_jit_part(j, n->reads[1], part), r = simt_jit_new_vector(j);
    simt_jit_put(j, ops[n->detail], r, a, b);
    keep_bits(j, false, r, r, 0xffff);
    return r;
}

int simt_jit_bits(struct jit *j, const struct jit_insn *n, int part)
{
    switch ((enum jit_integer)n->op) {
    case JI_SHORT: return short_result(j, n, part);
    case JI_FUNNEL_L:
    case JI_FUNNEL_R: return funnel(j, n, part);
    case JI_INSERT: return insert(j, n, part);
    case JI_EXTRACT_U:
    case JI_EXTRACT_S: return extract(j, n, part);
    case JI_COUNT: return counted(j, n, part);
    case JI_REVERSE: return reversed(j, n, part);
    case JI_LEADING: return leading(j, n, part);
    case JI_PACK: return packed(j, n, part);
    case JI_PERMUTE: return permute(j, n, part);
    case JI_DOT: return j->multiplies_bytes ? dot_by_instruction(j, n, part) : dot(j, n, part);
    default: return short_product(j, n, part);
    }
}
