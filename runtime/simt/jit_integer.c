/* Integer instructions on vectors; those on the numbers of linear slots are jit_numbers.c's. */
#include <string.h>
#include "runtime/simt/jit_build.h"

struct vops {
    struct x86_vop narrow, wide;
};
static const struct vops two[] = {
    [JI_ADD] = {{1, 1, 0, 0xfe}, {1, 1, 1, 0xd4}},   [JI_SUB] = {{1, 1, 0, 0xfa}, {1, 1, 1, 0xfb}},
    [JI_MUL] = {{2, 1, 0, 0x40}, {2, 1, 1, 0x40}},   [JI_AND] = {{1, 1, 0, 0xdb}, {1, 1, 1, 0xdb}},
    [JI_OR] = {{1, 1, 0, 0xeb}, {1, 1, 1, 0xeb}},    [JI_XOR] = {{1, 1, 0, 0xef}, {1, 1, 1, 0xef}},
    [JI_SHL] = {{2, 1, 0, 0x47}, {2, 1, 1, 0x47}},   [JI_SHR] = {{2, 1, 0, 0x45}, {2, 1, 1, 0x45}},
    [JI_SAR] = {{2, 1, 0, 0x46}, {2, 1, 1, 0x46}},   [JI_MIN_U] = {{2, 1, 0, 0x3b}, {2, 1, 1, 0x3b}},
    [JI_MAX_U] = {{2, 1, 0, 0x3f}, {2, 1, 1, 0x3f}}, [JI_MIN_S] = {{2, 1, 0, 0x39}, {2, 1, 1, 0x39}},
    [JI_MAX_S] = {{2, 1, 0, 0x3d}, {2, 1, 1, 0x3d}}, [JI_ABS] = {{2, 1, 0, 0x1e}, {2, 1, 1, 0x1f}},
};
static const struct x86_vop extend_s = {2, 1, 0, 0x25}, extend_u = {2, 1, 0, 0x35}, low_half_of_lanes = {2, 2, 0, 0x35},
                            ternary = {3, 1, 0, 0x25}, multiply_s = {2, 1, 1, 0x28}, multiply_u = {1, 1, 1, 0xf4};

int simt_jit_equal(struct jit *j, int64_t value, bool wide)
{
    int r = simt_jit_new_vector(j);
    simt_jit_set(j, wide, r, value);
    return r;
}

int simt_jit_widened(struct jit *j, uint16_t slot, int part, bool is_signed)
{
    struct jit_form f = j->places[slot].form;
    if (f.kind == FORM_CONST) return simt_jit_equal(j, is_signed ? f.step : (int64_t)(uint32_t)f.step, true);
    int from = simt_jit_part(j, slot, part / 2), r = simt_jit_new_vector(j);
    if (part & 1) simt_jit_high_half(j, r, from);
    simt_jit_put(j, is_signed ? extend_s : extend_u, r, 0, part & 1 ? r : from);
    return r;
}

/* Lanes of 4 bytes, the low or the high ones, from two parts of 8-byte ones. */
static int narrowed(struct jit *j, uint16_t slot, int part, bool high)
{
    int r[2];
    if (simt_jit_is_avx2(j)) return simt_jit_avx2_narrowed(j, slot, part, high);
    for (int k = 0; k < 2; k++) {
        int from = simt_jit_part(j, slot, 2 * part + k);
        r[k] = simt_jit_new_vector(j);
        if (high) simt_jit_shift_by(j, true, SHIFT_RIGHT, r[k], from, 32);
        if (high) from = r[k];
        x86_evex(&j->x, low_half_of_lanes, simt_jit_full(), from, 0, r[k]);
    }
    simt_jit_join(j, r[0], r[0], r[1]);
    return r[0];
}

int simt_jit_power(struct jit_form f)
{
    bool one = f.kind == FORM_CONST && f.step > 0 && f.step <= INT32_MAX && !(f.step & (f.step - 1));
    return one ? __builtin_ctzll((uint64_t)f.step) : -1;
}

static int wide_product(struct jit *j, const struct jit_insn *n, int part)
{
    bool is_signed = n->op == JI_WIDE_S || n->op == JI_MAD_WIDE_S;
    int a = simt_jit_widened(j, n->reads[0], part, is_signed), power = simt_jit_power(form_of_read(j, n, 1)), b;
    if (power >= 0) {
        simt_jit_shift_by(j, true, SHIFT_LEFT, a, a, power);
        return a;
    }
    b = simt_jit_widened(j, n->reads[1], part, is_signed);
    simt_jit_put(j, is_signed ? multiply_s : multiply_u, a, a, b);
    return a;
}

/* The even lanes' products, and the odd lanes'. */
static int high_product(struct jit *j, const struct jit_insn *n, int part)
{
    const struct x86_vop right = {1, 1, 1, 0x73}, product = n->op == JI_HIGH_S ? multiply_s : multiply_u;
    int a = simt_jit_part(j, n->reads[0], part), b = simt_jit_part(j, n->reads[1], part);
    int even = simt_jit_new_vector(j), odd = simt_jit_new_vector(j), t = simt_jit_scratch(j);
    simt_jit_put(j, product, even, a, b);
    simt_jit_put_imm(j, right, 2, odd, a, 32);
    simt_jit_put_imm(j, right, 2, t, b, 32);
    simt_jit_put(j, product, odd, odd, t);
    simt_jit_put_imm(j, right, 2, even, even, 32);
    simt_jit_put_mem(j, two[JI_AND].wide, odd, odd, simt_jit_equal_at(j, -((int64_t)1 << 32), true));
    simt_jit_put(j, two[JI_OR].wide, even, even, odd);
    return even;
}

/* How many bits a result has at most; 0: any. */
static int bits_of(const struct jit_insn *n)
{
    return n->op == JI_LOW_8 ? 8 : n->op == JI_LOW_16 || n->op == JI_SHORT ? 16 : 0;
}

/* By one instruction, from the operands' vectors. */
static void put_op(struct jit *j, const struct jit_insn *n, enum jit_integer op, int r, int x, int y)
{
    simt_jit_put(j, n->wide ? two[op].wide : two[op].narrow, r, x, y);
}

static int moved(struct jit *j, const struct jit_insn *n, int part)
{
    int s = simt_jit_take_part(j, n, 0, part), r;
    if (s >= 0) {
        j->vector_pins |= 1u << s;
        return s;
    }
    s = simt_jit_part(j, n->reads[0], part);
    r = simt_jit_new_vector(j);
    simt_jit_move(j, r, s);
    return r;
}

static int inverted(struct jit *j, const struct jit_insn *n, int part)
{
    struct x86_evex invert = simt_jit_full();
    int s = simt_jit_part(j, n->reads[0], part), r = simt_jit_new_vector(j);
    invert.imm = 0x55;
    x86_evex(&j->x, ternary, invert, r, s, s);
    return r;
}

static int negated(struct jit *j, const struct jit_insn *n, int part)
{
    int s = simt_jit_part(j, n->reads[0], part), r = simt_jit_new_vector(j);
    simt_jit_put(j, two[JI_XOR].narrow, r, r, r);
    put_op(j, n, JI_SUB, r, r, s);
    return r;
}

static int absolute(struct jit *j, const struct jit_insn *n, int part)
{
    int s = simt_jit_part(j, n->reads[0], part), r = simt_jit_new_vector(j);
    put_op(j, n, JI_ABS, r, 0, s);
    return r;
}

static int product_and_sum(struct jit *j, const struct jit_insn *n, int part)
{
    int x = simt_jit_part(j, n->reads[0], part), y = simt_jit_part(j, n->reads[1], part);
    int z = simt_jit_part(j, n->reads[2], part), r = simt_jit_new_vector(j);
    put_op(j, n, JI_MUL, r, x, y);
    put_op(j, n, JI_ADD, r, r, z);
    return r;
}

/* The low 8 or 16 bits. */
static int shortened(struct jit *j, const struct jit_insn *n, int part)
{
    int s = simt_jit_part(j, n->reads[0], part), r = simt_jit_new_vector(j), above;
    if (n->op == JI_LOW_8 || n->op == JI_LOW_16) {
        simt_jit_put_mem(j, two[JI_AND].narrow, r, s, simt_jit_equal_at(j, (1 << bits_of(n)) - 1, false));
        return r;
    }
    above = n->op == JI_SIGN_8 ? 24 : 16;
    simt_jit_shift_by(j, false, SHIFT_LEFT, r, s, above);
    simt_jit_shift_by(j, false, SHIFT_SIGNED, r, r, above);
    return r;
}

static int of_two(struct jit *j, const struct jit_insn *n, int part)
{
    uint16_t b = n->reads[n->read_count > 1];
    bool is_shift = n->op >= JI_SHL && n->op <= JI_SAR;
    int x = simt_jit_part(j, n->reads[0], part);
    int y = is_shift && n->wide ? simt_jit_widened(j, b, part, false) : simt_jit_part(j, b, part);
    int r = simt_jit_new_vector(j);
    put_op(j, n, (enum jit_integer)n->op, r, x, y);
    return r;
}

static int vector_part(struct jit *j, const struct jit_insn *n, int part)
{
    uint16_t a = n->reads[0];
    if (n->op >= JI_SHORT) return simt_jit_bits(j, n, part);
    if (n->op >= JI_DIV_U) return simt_jit_divide(j, n, part);
    int r = simt_jit_is_avx2(j) ? simt_jit_avx2_integer(j, n, part) : -1;
    if (r >= 0) return r;
    bool low = n->op == JI_LOW_8 || n->op == JI_LOW_16;
    switch (low && simt_jit_fits(j, a, bits_of(n)) ? JI_MOV : (enum jit_integer)n->op) {
    case JI_MOV: return moved(j, n, part);
    case JI_NOT: return inverted(j, n, part);
    case JI_NEG: return negated(j, n, part);
    case JI_ABS: return absolute(j, n, part);
    case JI_MAD: return product_and_sum(j, n, part);
    case JI_WIDE_U:
    case JI_WIDE_S: return wide_product(j, n, part);
    case JI_MAD_WIDE_U:
    case JI_MAD_WIDE_S:
        r = wide_product(j, n, part);
        simt_jit_put(j, two[JI_ADD].wide, r, r, simt_jit_part(j, n->reads[2], part));
        return r;
    case JI_EXTEND_U:
    case JI_EXTEND_S: return simt_jit_widened(j, a, part, n->op == JI_EXTEND_S);
    case JI_NARROW: return narrowed(j, a, part, false);
    case JI_HIGH_U:
    case JI_HIGH_S: return high_product(j, n, part);
    case JI_LOW_8:
    case JI_LOW_16:
    case JI_SIGN_8:
    case JI_SIGN_16: return shortened(j, n, part);
    default: return of_two(j, n, part);
    }
}

static void unpack(struct jit *j, const struct jit_insn *n)
{
    for (int w = 0; w < n->write_count; w++) {
        bool high = j->slots[n->writes[w]].offset != n->i->d;
        int regs[JIT_PARTS];
        uint32_t keep = 0;
        for (int p = 0; p < simt_jit_part_count(j, false); p++) {
            regs[p] = narrowed(j, n->reads[0], p, high);
            j->vector_pins = keep |= 1u << regs[p];
        }
        simt_jit_define_vector(j, n->writes[w], regs);
        j->vector_pins = 0;
    }
}

void simt_jit_integer(struct jit *j, const struct jit_insn *n, struct jit_form f)
{
    if (!n->write_count) return;
    if (n->op == JI_UNPACK) {
        unpack(j, n);
        return;
    }
    if (form_is_scalar(f) && n->op == JI_MOV && f.kind == FORM_CONST) {
        simt_jit_define_scalar(j, n->writes[0], f, NULL);
        return;
    }
    if (form_is_scalar(f)) {
        simt_jit_numbers(j, n, f);
        return;
    }
    int regs[JIT_PARTS], bits = n->op == JI_MOV ? j->places[n->reads[0]].bits : bits_of(n);
    for (int p = 0; p < simt_jit_parts(j, n->writes[0]); p++) {
        regs[p] = vector_part(j, n, p);
        uint32_t keep = 0;
        for (int k = 0; k <= p; k++) keep |= 1u << regs[k];
        j->vector_pins = keep;
    }
    simt_jit_define_vector(j, n->writes[0], regs);
    j->places[n->writes[0]].bits = (uint8_t)bits;
}
