/* Integer instructions: on the numbers of linear slots in general registers, else on vectors. */
#include <string.h>
#include "runtime/simt/jit_build.h"

/* ---- numbers ---- */
static void add_constant(struct jit *j, bool wide, int reg, int from, int64_t value)
{
    if (value == (int32_t)value) {
        x86_lea(&j->x, wide, reg, x86_at(from, (int32_t)value));
        return;
    }
    x86_load_imm(&j->x, RCX, (uint64_t)value);
    x86_lea(&j->x, wide, reg, x86_at_index(from, RCX, 0));
}

static void move(struct jit *j, bool wide, int reg, int from)
{
    if (reg != from) x86_rr(&j->x, ALU_MOV, wide, reg, from);
}

/* reg = reg * value */
static void multiply_constant(struct jit *j, bool wide, int reg, int64_t value)
{
    uint64_t bits = wide ? (uint64_t)value : (uint32_t)value;
    if (bits && !(bits & (bits - 1))) {
        if (bits > 1) x86_shift_imm(&j->x, SHIFT_LEFT, wide, reg, __builtin_ctzll(bits));
    } else if (value == (int32_t)value) {
        x86_imul_imm(&j->x, wide, reg, reg, (int32_t)value);
    } else {
        x86_load_imm(&j->x, RCX, bits);
        x86_imul(&j->x, wide, reg, RCX);
    }
}

static struct jit_form form_of(const struct jit *j, const struct jit_insn *n, int k)
{
    return j->places[n->reads[k]].form;
}

static void add_read(struct jit *j, const struct jit_insn *n, int k, int half, int reg, int from)
{
    struct jit_form f = form_of(j, n, k);
    if (f.kind == FORM_CONST) {
        add_constant(j, n->wide, reg, from, f.step);
        return;
    }
    int b = simt_jit_scalar(j, n->reads[k], half, RCX);
    x86_lea(&j->x, n->wide, reg, x86_at_index(from, b, 0));
}

/* The log of what a number is multiplied by: a product or a shift that only the sum behind it reads; 0: it is none.
 * The sum does it: addresses are mostly such sums. Between the two the product's register holds the number as it was,
 * against its form. So the sum must be one that numbers() writes, which it is by its form; and nothing before its end
 * may leave to the interpreter, which would see that register, or write the slot. */
static int scale_of(const struct jit *j, const struct jit_insn *n)
{
    const struct jit_insn *sum = n + 1;
    bool product = n->op == JI_WIDE_S || n->op == JI_WIDE_U;
    if (n->kind != JK_INTEGER || !(product || (n->op == JI_SHL && n->wide)) || n->write_count != 1) return 0;
    if (sum >= j->code + j->block->end || sum->kind != JK_INTEGER || sum->op != JI_ADD || !sum->wide || sum->guarded)
        return 0;
    if (sum->write_count != 1) return 0;
    int of = sum->reads[1] == n->writes[0];
    uint16_t other = sum->reads[!of];
    if (sum->reads[of] != n->writes[0] || other == n->writes[0] || !(sum->dies >> of & 1)) return 0;
    struct jit_form by = form_of(j, n, 1), f[2] = {form_of(j, n, 0), by}, g[2], base = j->places[other].form;
    g[of] = simt_jit_form_of(j, n, f);
    g[!of] = base;
    if (!form_is_scalar(g[of]) || base.kind == FORM_CONST || simt_jit_form_of(j, sum, g).kind != g[of].kind) return 0;
    int64_t scale = product ? simt_jit_power(by) : by.kind == FORM_CONST ? by.step : 0;
    return scale > 0 && scale <= 3 ? (int)scale : 0;
}

/* reg = a * b, both of n's width. */
static void multiply(struct jit *j, const struct jit_insn *n, int half, int reg)
{
    int constant = form_of(j, n, 0).kind == FORM_CONST ? 0 : form_of(j, n, 1).kind == FORM_CONST ? 1 : -1;
    move(j, n->wide, reg, simt_jit_scalar(j, n->reads[constant == 0], half, RAX));
    if (constant >= 0)
        multiply_constant(j, n->wide, reg, form_of(j, n, constant).step);
    else
        x86_imul(&j->x, n->wide, reg, simt_jit_scalar(j, n->reads[1], half, RCX));
}

static void extend(struct jit *j, bool is_signed, int reg, int from)
{
    if (is_signed)
        x86_movsxd(&j->x, reg, from);
    else
        x86_rr(&j->x, ALU_MOV, false, reg, from);
}

static void multiply_wide(struct jit *j, const struct jit_insn *n, bool is_signed, int half, int reg)
{
    int constant = form_of(j, n, 0).kind == FORM_CONST ? 0 : form_of(j, n, 1).kind == FORM_CONST ? 1 : -1;
    extend(j, is_signed, reg, simt_jit_scalar(j, n->reads[constant == 0], half, RAX));
    if (constant >= 0 && scale_of(j, n)) return;
    if (constant >= 0) {
        int64_t c = form_of(j, n, constant).step;
        multiply_constant(j, true, reg, is_signed ? c : (uint32_t)c);
        return;
    }
    extend(j, is_signed, RCX, simt_jit_scalar(j, n->reads[1], half, RCX));
    x86_imul(&j->x, true, reg, RCX);
}

static void multiply_high(struct jit *j, const struct jit_insn *n, int half, int reg)
{
    bool is_signed = n->op == JI_HIGH_S;
    extend(j, is_signed, reg, simt_jit_scalar(j, n->reads[0], half, RAX));
    extend(j, is_signed, RCX, simt_jit_scalar(j, n->reads[1], half, RCX));
    x86_imul(&j->x, true, reg, RCX);
    x86_shift_imm(&j->x, SHIFT_RIGHT, true, reg, 32);
}

static void shift(struct jit *j, const struct jit_insn *n, int half, int reg)
{
    int kind = n->op == JI_SHL ? SHIFT_LEFT : n->op == JI_SHR ? SHIFT_RIGHT : SHIFT_SIGNED, width = n->wide ? 64 : 32;
    struct jit_form by = form_of(j, n, 1);
    move(j, n->wide, reg, simt_jit_scalar(j, n->reads[0], half, RAX));
    if (by.kind == FORM_CONST && by.step >= 0 && by.step < width) {
        if (by.step && !scale_of(j, n)) x86_shift_imm(&j->x, kind, n->wide, reg, (int)by.step);
        return;
    }
    move(j, false, RCX, simt_jit_scalar(j, n->reads[1], half, RCX));
    x86_load_imm(&j->x, RDX, kind == SHIFT_SIGNED ? (uint64_t)width - 1 : 0);
    x86_imm(&j->x, ALU_CMP, false, RCX, width - 1);
    if (kind == SHIFT_SIGNED) {
        x86_cmov(&j->x, CC_A, false, RCX, RDX);
        x86_shift_cl(&j->x, kind, n->wide, reg);
    } else {
        x86_cmov(&j->x, CC_A, true, reg, RDX);
        x86_shift_cl(&j->x, kind, n->wide, reg);
    }
}

static void choose(struct jit *j, const struct jit_insn *n, int half, int reg)
{
    static const enum x86_condition when[] = {CC_A, CC_B, CC_G,
                                              CC_L}; /* b is taken when a is: min.u max.u min.s max.s */
    move(j, n->wide, reg, simt_jit_scalar(j, n->reads[0], half, RAX));
    int b = simt_jit_scalar(j, n->reads[1], half, RCX);
    x86_rr(&j->x, ALU_CMP, n->wide, reg, b);
    x86_cmov(&j->x, when[n->op - JI_MIN_U], n->wide, reg, b);
}

static void combine(struct jit *j, const struct jit_insn *n, int opcode, int half, int reg)
{
    move(j, n->wide, reg, simt_jit_scalar(j, n->reads[0], half, RAX));
    x86_rr(&j->x, opcode, n->wide, reg, simt_jit_scalar(j, n->reads[1], half, RCX));
}

/* As the op does it: by zero all ones, or the dividend. In 64 bits, where no quotient is too large. */
static void divide(struct jit *j, const struct jit_insn *n, int half, int reg)
{
    struct x86 *x = &j->x;
    bool is_signed = n->op == JI_DIV_S || n->op == JI_REM_S, rest = n->op == JI_REM_U || n->op == JI_REM_S;
    int by_zero = x86_label(x);
    extend(j, is_signed, RCX, simt_jit_scalar(j, n->reads[1], half, RCX));
    extend(j, is_signed, RAX, simt_jit_scalar(j, n->reads[0], half, RAX));
    if (rest)
        move(j, false, reg, RAX);
    else
        x86_load_imm(x, reg, UINT32_MAX);
    x86_test(x, true, RCX, RCX);
    x86_jump_if(x, CC_E, by_zero);
    x86_divide(x, is_signed, RCX);
    move(j, false, reg, rest ? RDX : RAX);
    x86_bind(x, by_zero);
}

static void number(struct jit *j, const struct jit_insn *n, int half, int reg)
{
    switch ((enum jit_integer)n->op) {
    case JI_ADD:
        if (j->scale) {
            int of = n->reads[1] == n[-1].writes[0], base = simt_jit_scalar(j, n->reads[!of], half, RAX);
            int index = simt_jit_scalar(j, n->reads[of], half, RCX);
            x86_lea(&j->x, true, reg, (struct x86_mem){base, index, j->scale, 0, -1});
        } else if (form_of(j, n, 0).kind == FORM_CONST)
            add_read(j, n, 0, half, reg, simt_jit_scalar(j, n->reads[1], half, RAX));
        else
            add_read(j, n, 1, half, reg, simt_jit_scalar(j, n->reads[0], half, RAX));
        break;
    case JI_SUB: combine(j, n, ALU_SUB, half, reg); break;
    case JI_MUL: multiply(j, n, half, reg); break;
    case JI_MAD:
        multiply(j, n, half, reg);
        add_read(j, n, 2, half, reg, reg);
        break;
    case JI_AND: combine(j, n, ALU_AND, half, reg); break;
    case JI_OR: combine(j, n, ALU_OR, half, reg); break;
    case JI_XOR: combine(j, n, ALU_XOR, half, reg); break;
    case JI_NOT:
    case JI_NEG:
        move(j, n->wide, reg, simt_jit_scalar(j, n->reads[0], half, RAX));
        x86_unary(&j->x, n->op == JI_NOT ? UNARY_NOT : UNARY_NEG, n->wide, reg);
        break;
    case JI_MOV:
    case JI_NARROW: move(j, n->wide, reg, simt_jit_scalar(j, n->reads[0], half, RAX)); break;
    case JI_SHL:
    case JI_SHR:
    case JI_SAR: shift(j, n, half, reg); break;
    case JI_MIN_U:
    case JI_MAX_U:
    case JI_MIN_S:
    case JI_MAX_S: choose(j, n, half, reg); break;
    case JI_WIDE_U:
    case JI_WIDE_S: multiply_wide(j, n, n->op == JI_WIDE_S, half, reg); break;
    case JI_MAD_WIDE_U:
    case JI_MAD_WIDE_S:
        multiply_wide(j, n, n->op == JI_MAD_WIDE_S, half, reg);
        add_read(j, n, 2, half, reg, reg);
        break;
    case JI_EXTEND_U:
    case JI_EXTEND_S: extend(j, n->op == JI_EXTEND_S, reg, simt_jit_scalar(j, n->reads[0], half, RAX)); break;
    case JI_HIGH_U:
    case JI_HIGH_S: multiply_high(j, n, half, reg); break;
    case JI_LOW_8:
    case JI_LOW_16:
        move(j, false, reg, simt_jit_scalar(j, n->reads[0], half, RAX));
        x86_imm(&j->x, ALU_AND, false, reg, n->op == JI_LOW_8 ? 0xff : 0xffff);
        break;
    case JI_SIGN_8:
    case JI_SIGN_16:
        move(j, false, reg, simt_jit_scalar(j, n->reads[0], half, RAX));
        x86_shift_imm(&j->x, SHIFT_LEFT, false, reg, n->op == JI_SIGN_8 ? 24 : 16);
        x86_shift_imm(&j->x, SHIFT_SIGNED, false, reg, n->op == JI_SIGN_8 ? 24 : 16);
        break;
    case JI_DIV_U:
    case JI_DIV_S:
    case JI_REM_U:
    case JI_REM_S: divide(j, n, half, reg); break;
    default: break; /* of vectors only */
    }
}

/* Widening is right for all lanes only where none of them goes round in 32 bits. Else the interpreter does the
 * instruction. */
static void check_range(struct jit *j, const struct jit_insn *n, int read, struct jit_form result)
{
    bool is_signed = n->op == JI_WIDE_S || n->op == JI_MAD_WIDE_S || n->op == JI_EXTEND_S;
    struct jit_form f = form_of(j, n, read);
    if (f.kind == FORM_CONST) return;
    int64_t skip = f.kind == FORM_LINEAR && result.kind == FORM_LINEAR ? f.skip : 0;
    int64_t low = (f.step < 0 ? 15 * f.step : 0) + (skip < 0 ? skip : 0);
    int64_t high = (f.step > 0 ? 15 * f.step : 0) + (skip > 0 ? skip : 0);
    if (!low && !high) return;
    int halves = result.kind == FORM_PAIR ? 2 : 1, s[2], moments[2] = {RAX, RDX};
    for (int h = 0; h < halves; h++) s[h] = simt_jit_scalar(j, n->reads[read], h, moments[h]);
    int leave = simt_jit_leaving(j, JIT_LEFT, false);
    for (int h = 0; h < halves; h++) {
        if (high) {
            x86_rr(&j->x, ALU_MOV, false, RCX, s[h]);
            x86_imm(&j->x, ALU_ADD, false, RCX, (int32_t)high);
            x86_jump_if(&j->x, is_signed ? CC_O : CC_B, leave);
        }
        if (low) {
            x86_rr(&j->x, ALU_MOV, false, RCX, s[h]);
            x86_imm(&j->x, ALU_SUB, false, RCX, (int32_t)-low);
            x86_jump_if(&j->x, is_signed ? CC_O : CC_B, leave);
        }
    }
}

static void numbers(struct jit *j, const struct jit_insn *n, struct jit_form f)
{
    int regs[2] = {0, 0}, scale = scale_of(j, n);
    if (n->op >= JI_WIDE_U && n->op < JI_NARROW) check_range(j, n, 0, f);
    if (n->op >= JI_WIDE_U && n->op <= JI_MAD_WIDE_S) check_range(j, n, 1, f);
    j->gpr_pins = 0;
    for (int h = 0; h < (f.kind == FORM_PAIR ? 2 : 1); h++) {
        regs[h] = simt_jit_new_gpr(j);
        number(j, n, h, regs[h]);
        j->gpr_pins = 1u << regs[h] | 1u << regs[0];
    }
    simt_jit_define_scalar(j, n->writes[0], f, regs);
    j->scale = scale;
}

/* ---- vectors ---- */
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
    int a = simt_jit_widened(j, n->reads[0], part, is_signed), power = simt_jit_power(form_of(j, n, 1)), b;
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

static int vector_part(struct jit *j, const struct jit_insn *n, int part)
{
    uint16_t a = n->reads[0], b = n->reads[n->read_count > 1];
    if (n->op >= JI_SHORT) return simt_jit_bits(j, n, part);
    if (n->op >= JI_DIV_U) return simt_jit_divide(j, n, part);
    int r = simt_jit_is_avx2(j) ? simt_jit_avx2_integer(j, n, part) : -1, s;
    if (r >= 0) return r;
    bool low = n->op == JI_LOW_8 || n->op == JI_LOW_16;
    switch (low && simt_jit_fits(j, a, bits_of(n)) ? JI_MOV : (enum jit_integer)n->op) {
    case JI_MOV:
        s = simt_jit_take_part(j, n, 0, part);
        if (s >= 0) {
            j->vector_pins |= 1u << s;
            return s;
        }
        s = simt_jit_part(j, a, part);
        r = simt_jit_new_vector(j);
        simt_jit_move(j, r, s);
        return r;
    case JI_NOT:
    case JI_NEG: {
        s = simt_jit_part(j, a, part);
        r = simt_jit_new_vector(j);
        struct x86_evex invert = simt_jit_full();
        invert.imm = 0x55;
        if (n->op == JI_NOT) {
            x86_evex(&j->x, ternary, invert, r, s, s);
            return r;
        }
        simt_jit_put(j, two[JI_XOR].narrow, r, r, r);
        simt_jit_put(j, n->wide ? two[JI_SUB].wide : two[JI_SUB].narrow, r, r, s);
        return r;
    }
    case JI_ABS:
        s = simt_jit_part(j, a, part);
        r = simt_jit_new_vector(j);
        simt_jit_put(j, n->wide ? two[JI_ABS].wide : two[JI_ABS].narrow, r, 0, s);
        return r;
    case JI_MAD: {
        int x = simt_jit_part(j, a, part), y = simt_jit_part(j, b, part), z = simt_jit_part(j, n->reads[2], part);
        r = simt_jit_new_vector(j);
        simt_jit_put(j, n->wide ? two[JI_MUL].wide : two[JI_MUL].narrow, r, x, y);
        simt_jit_put(j, n->wide ? two[JI_ADD].wide : two[JI_ADD].narrow, r, r, z);
        return r;
    }
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
        s = simt_jit_part(j, a, part);
        r = simt_jit_new_vector(j);
        simt_jit_put_mem(j, two[JI_AND].narrow, r, s, simt_jit_equal_at(j, (1 << bits_of(n)) - 1, false));
        return r;
    case JI_SIGN_8:
    case JI_SIGN_16:
        s = simt_jit_part(j, a, part);
        r = simt_jit_new_vector(j);
        simt_jit_shift_by(j, false, SHIFT_LEFT, r, s, n->op == JI_SIGN_8 ? 24 : 16);
        simt_jit_shift_by(j, false, SHIFT_SIGNED, r, r, n->op == JI_SIGN_8 ? 24 : 16);
        return r;
    default: break;
    }
    int x = simt_jit_part(j, a, part);
    bool is_shift = n->op >= JI_SHL && n->op <= JI_SAR;
    int y = is_shift && n->wide ? simt_jit_widened(j, b, part, false) : simt_jit_part(j, b, part);
    r = simt_jit_new_vector(j);
    simt_jit_put(j, n->wide ? two[n->op].wide : two[n->op].narrow, r, x, y);
    return r;
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
        numbers(j, n, f);
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
