/* Integer instructions on the numbers of linear slots, in general registers. A result takes the register of an operand
 * that nobody needs any more, and what is wanted once and lies in the frame is an operand there. */
#include "runtime/simt/jit_build.h"

/* What is computed: the number of a half, into a register, which may be the one of operand `taken`. */
struct work {
    const struct jit_insn *n;
    int half, reg, taken; /* -1: of none */
};

static void move(struct jit *j, bool wide, int reg, int from)
{
    if (reg != from) x86_rr(&j->x, ALU_MOV, wide, reg, from);
}

/* ---- operands ---- */
static bool in_frame(const struct jit *j, const struct work *w, int k, struct x86_mem *m)
{
    return k != w->taken && simt_jit_in_frame(j, w->n->reads[k], w->half, m);
}

static int source(struct jit *j, const struct work *w, int k, int scratch)
{
    return k == w->taken ? w->reg : simt_jit_scalar(j, w->n->reads[k], w->half, scratch);
}

/* To the result's register. */
static void fetch(struct jit *j, const struct work *w, int k)
{
    struct x86_mem m;
    if (in_frame(j, w, k, &m))
        x86_rm(&j->x, ALU_MOV, w->n->wide, w->reg, m);
    else
        move(j, w->n->wide, w->reg, source(j, w, k, RAX));
}

static void extend(struct jit *j, bool is_signed, int reg, int from)
{
    if (is_signed)
        x86_movsxd(&j->x, reg, from);
    else
        x86_rr(&j->x, ALU_MOV, false, reg, from);
}

/* The same of 32 bits as 64. */
static void fetch_extended(struct jit *j, const struct work *w, int k, bool is_signed)
{
    struct x86_mem m;
    if (in_frame(j, w, k, &m))
        x86_load_part(&j->x, w->reg, m, 4, is_signed, is_signed);
    else
        extend(j, is_signed, w->reg, source(j, w, k, RAX));
}

/* The result becomes what the opcode makes of it and an operand. */
static void combine(struct jit *j, const struct work *w, int opcode, int k)
{
    struct jit_form f = form_of_read(j, w->n, k);
    struct x86_mem m;
    if (f.kind == FORM_CONST && (!w->n->wide || f.step == (int32_t)f.step))
        x86_imm(&j->x, opcode, w->n->wide, w->reg, (int32_t)f.step);
    else if (in_frame(j, w, k, &m))
        x86_rm(&j->x, opcode, w->n->wide, w->reg, m);
    else
        x86_rr(&j->x, opcode, w->n->wide, w->reg, simt_jit_scalar(j, w->n->reads[k], w->half, RCX));
}

/* ---- sums ---- */
static void add_constant(struct jit *j, bool wide, int reg, int from, int64_t value)
{
    if (!wide || value == (int32_t)value) {
        if (reg == from)
            x86_imm(&j->x, ALU_ADD, wide, reg, (int32_t)value);
        else
            x86_lea(&j->x, wide, reg, x86_at(from, (int32_t)value));
        return;
    }
    x86_load_imm(&j->x, RCX, (uint64_t)value);
    x86_lea(&j->x, wide, reg, x86_at_index(from, RCX, 0));
}

/* The result is `from` and an operand. */
static void add_read(struct jit *j, const struct work *w, int k, int from)
{
    struct jit_form f = form_of_read(j, w->n, k);
    if (f.kind == FORM_CONST)
        add_constant(j, w->n->wide, w->reg, from, f.step);
    else if (from == w->reg)
        combine(j, w, ALU_ADD, k);
    else
        x86_lea(&j->x, w->n->wide, w->reg, x86_at_index(from, simt_jit_scalar(j, w->n->reads[k], w->half, RCX), 0));
}

static void add(struct jit *j, const struct work *w)
{
    struct x86_mem m;
    int first = w->taken >= 0 ? w->taken : form_of_read(j, w->n, 0).kind == FORM_CONST;
    if (j->scale) {
        int of = w->n->reads[1] == w->n[-1].writes[0], base = source(j, w, !of, RAX), index = source(j, w, of, RCX);
        x86_lea(&j->x, true, w->reg, (struct x86_mem){base, index, j->scale, 0, -1});
        return;
    }
    if (w->taken < 0 && !in_frame(j, w, first, &m) && in_frame(j, w, !first, &m)) first = !first;
    if (in_frame(j, w, first, &m)) {
        x86_rm(&j->x, ALU_MOV, w->n->wide, w->reg, m);
        add_read(j, w, !first, w->reg);
    } else {
        add_read(j, w, !first, source(j, w, first, RAX));
    }
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
    struct jit_form by = form_of_read(j, n, 1), f[2] = {form_of_read(j, n, 0), by}, g[2], base = j->places[other].form;
    g[of] = simt_jit_form_of(j, n, f);
    g[!of] = base;
    if (!form_is_scalar(g[of]) || base.kind == FORM_CONST || simt_jit_form_of(j, sum, g).kind != g[of].kind) return 0;
    int64_t scale = product ? simt_jit_power(by) : by.kind == FORM_CONST ? by.step : 0;
    return scale > 0 && scale <= 3 ? (int)scale : 0;
}

/* ---- products ---- */
/* Which operand is a constant, of two the second, as scale_of() has it; -1: none. */
static int constant_of(const struct jit *j, const struct jit_insn *n)
{
    return form_of_read(j, n, 1).kind == FORM_CONST ? 1 : form_of_read(j, n, 0).kind == FORM_CONST ? 0 : -1;
}

/* reg = from * value */
static void multiply_constant(struct jit *j, bool wide, int reg, int from, int64_t value)
{
    uint64_t bits = wide ? (uint64_t)value : (uint32_t)value;
    if (bits && !(bits & (bits - 1))) {
        move(j, wide, reg, from);
        if (bits > 1) x86_shift_imm(&j->x, SHIFT_LEFT, wide, reg, __builtin_ctzll(bits));
    } else if (value == (int32_t)value) {
        x86_imul_imm(&j->x, wide, reg, from, (int32_t)value);
    } else {
        move(j, wide, reg, from);
        x86_load_imm(&j->x, RCX, bits);
        x86_imul(&j->x, wide, reg, RCX);
    }
}

/* Of n's width. */
static void multiply(struct jit *j, const struct work *w)
{
    int constant = constant_of(j, w->n);
    struct x86_mem m;
    if (constant >= 0) {
        int from = source(j, w, !constant, RAX);
        multiply_constant(j, w->n->wide, w->reg, from, form_of_read(j, w->n, constant).step);
        return;
    }
    int first = w->taken == 1;
    fetch(j, w, first);
    if (in_frame(j, w, !first, &m))
        x86_imul_from(&j->x, w->n->wide, w->reg, m);
    else
        x86_imul(&j->x, w->n->wide, w->reg, source(j, w, !first, RCX));
}

static void multiply_wide(struct jit *j, const struct work *w, bool is_signed)
{
    int constant = constant_of(j, w->n);
    fetch_extended(j, w, constant == 0, is_signed);
    if (constant >= 0 && scale_of(j, w->n)) return;
    if (constant >= 0) {
        int64_t c = form_of_read(j, w->n, constant).step;
        multiply_constant(j, true, w->reg, w->reg, is_signed ? c : (uint32_t)c);
        return;
    }
    extend(j, is_signed, RCX, simt_jit_scalar(j, w->n->reads[1], w->half, RCX));
    x86_imul(&j->x, true, w->reg, RCX);
}

static void multiply_high(struct jit *j, const struct work *w)
{
    bool is_signed = w->n->op == JI_HIGH_S;
    fetch_extended(j, w, 0, is_signed);
    extend(j, is_signed, RCX, simt_jit_scalar(j, w->n->reads[1], w->half, RCX));
    x86_imul(&j->x, true, w->reg, RCX);
    x86_shift_imm(&j->x, SHIFT_RIGHT, true, w->reg, 32);
}

/* As the op does it: by zero all ones, or the dividend. In 64 bits, where no quotient is too large. */
static void divide(struct jit *j, const struct work *w)
{
    struct x86 *x = &j->x;
    const struct jit_insn *n = w->n;
    bool is_signed = n->op == JI_DIV_S || n->op == JI_REM_S, rest = n->op == JI_REM_U || n->op == JI_REM_S;
    int by_zero = x86_label(x);
    extend(j, is_signed, RCX, simt_jit_scalar(j, n->reads[1], w->half, RCX));
    extend(j, is_signed, RAX, simt_jit_scalar(j, n->reads[0], w->half, RAX));
    if (rest)
        move(j, false, w->reg, RAX);
    else
        x86_load_imm(x, w->reg, UINT32_MAX);
    x86_test(x, true, RCX, RCX);
    x86_jump_if(x, CC_E, by_zero);
    x86_divide(x, is_signed, RCX);
    move(j, false, w->reg, rest ? RDX : RAX);
    x86_bind(x, by_zero);
}

/* ---- others ---- */
static void shift(struct jit *j, const struct work *w)
{
    const struct jit_insn *n = w->n;
    int kind = n->op == JI_SHL ? SHIFT_LEFT : n->op == JI_SHR ? SHIFT_RIGHT : SHIFT_SIGNED, width = n->wide ? 64 : 32;
    struct jit_form by = form_of_read(j, n, 1);
    fetch(j, w, 0);
    if (by.kind == FORM_CONST && by.step >= 0 && by.step < width) {
        if (by.step && !scale_of(j, n)) x86_shift_imm(&j->x, kind, n->wide, w->reg, (int)by.step);
        return;
    }
    move(j, false, RCX, simt_jit_scalar(j, n->reads[1], w->half, RCX));
    x86_load_imm(&j->x, RDX, kind == SHIFT_SIGNED ? (uint64_t)width - 1 : 0);
    x86_imm(&j->x, ALU_CMP, false, RCX, width - 1);
    if (kind == SHIFT_SIGNED) {
        x86_cmov(&j->x, CC_A, false, RCX, RDX);
        x86_shift_cl(&j->x, kind, n->wide, w->reg);
    } else {
        x86_cmov(&j->x, CC_A, true, w->reg, RDX);
        x86_shift_cl(&j->x, kind, n->wide, w->reg);
    }
}

static void choose(struct jit *j, const struct work *w)
{
    /* b is taken when a is: min.u max.u min.s max.s */
    static const enum x86_condition when[] = {CC_A, CC_B, CC_G, CC_L};
    fetch(j, w, 0);
    int b = simt_jit_scalar(j, w->n->reads[1], w->half, RCX);
    x86_rr(&j->x, ALU_CMP, w->n->wide, w->reg, b);
    x86_cmov(&j->x, when[w->n->op - JI_MIN_U], w->n->wide, w->reg, b);
}

static void fetch_and_combine(struct jit *j, const struct work *w, int opcode)
{
    int first = w->taken == 1;
    fetch(j, w, first);
    combine(j, w, opcode, !first);
}

static void write_number(struct jit *j, const struct work *w)
{
    const struct jit_insn *n = w->n;
    int above = n->op == JI_SIGN_8 ? 24 : 16;
    switch ((enum jit_integer)n->op) {
    case JI_ADD: add(j, w); break;
    case JI_SUB: fetch_and_combine(j, w, ALU_SUB); break;
    case JI_AND: fetch_and_combine(j, w, ALU_AND); break;
    case JI_OR: fetch_and_combine(j, w, ALU_OR); break;
    case JI_XOR: fetch_and_combine(j, w, ALU_XOR); break;
    case JI_MUL: multiply(j, w); break;
    case JI_MAD:
        multiply(j, w);
        combine(j, w, ALU_ADD, 2);
        break;
    case JI_NOT:
    case JI_NEG:
        fetch(j, w, 0);
        x86_unary(&j->x, n->op == JI_NOT ? UNARY_NOT : UNARY_NEG, n->wide, w->reg);
        break;
    case JI_MOV: fetch(j, w, 0); break;
    case JI_NARROW: fetch_extended(j, w, 0, false); break;
    case JI_SHL:
    case JI_SHR:
    case JI_SAR: shift(j, w); break;
    case JI_MIN_U:
    case JI_MAX_U:
    case JI_MIN_S:
    case JI_MAX_S: choose(j, w); break;
    case JI_WIDE_U:
    case JI_WIDE_S: multiply_wide(j, w, n->op == JI_WIDE_S); break;
    case JI_MAD_WIDE_U:
    case JI_MAD_WIDE_S:
        multiply_wide(j, w, n->op == JI_MAD_WIDE_S);
        combine(j, w, ALU_ADD, 2);
        break;
    case JI_EXTEND_U:
    case JI_EXTEND_S: fetch_extended(j, w, 0, n->op == JI_EXTEND_S); break;
    case JI_HIGH_U:
    case JI_HIGH_S: multiply_high(j, w); break;
    case JI_LOW_8:
    case JI_LOW_16:
        fetch(j, w, 0);
        x86_imm(&j->x, ALU_AND, false, w->reg, n->op == JI_LOW_8 ? 0xff : 0xffff);
        break;
    case JI_SIGN_8:
    case JI_SIGN_16:
        fetch(j, w, 0);
        x86_shift_imm(&j->x, SHIFT_LEFT, false, w->reg, above);
        x86_shift_imm(&j->x, SHIFT_SIGNED, false, w->reg, above);
        break;
    case JI_DIV_U:
    case JI_DIV_S:
    case JI_REM_U:
    case JI_REM_S: divide(j, w); break;
    default: break; /* of vectors only */
    }
}

/* ---- an instruction ---- */
/* Widening is right for all lanes only where none of them goes round in 32 bits. Else the interpreter does the
 * instruction. */
static void check_range(struct jit *j, const struct jit_insn *n, int read, struct jit_form result)
{
    bool is_signed = n->op == JI_WIDE_S || n->op == JI_MAD_WIDE_S || n->op == JI_EXTEND_S;
    struct jit_form f = form_of_read(j, n, read);
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
            x86_imm(&j->x, ALU_CMP, false, s[h], (int32_t)((is_signed ? INT32_MAX : UINT32_MAX) - high));
            x86_jump_if(&j->x, is_signed ? CC_G : CC_A, leave);
        }
        if (low) {
            x86_imm(&j->x, ALU_CMP, false, s[h], (int32_t)((is_signed ? INT32_MIN : 0) - low));
            x86_jump_if(&j->x, is_signed ? CC_L : CC_B, leave);
        }
    }
}

/* Which operands' registers the result may take, at most two, by bits. */
static uint32_t takeable(const struct jit *j, const struct jit_insn *n)
{
    switch ((enum jit_integer)n->op) {
    case JI_HIGH_U:
    case JI_HIGH_S:
    case JI_DIV_U:
    case JI_DIV_S:
    case JI_REM_U:
    case JI_REM_S: return 0;
    case JI_ADD:
    case JI_AND:
    case JI_OR:
    case JI_XOR:
    case JI_MUL:
    case JI_MAD: return 3;
    case JI_WIDE_U:
    case JI_WIDE_S:
    case JI_MAD_WIDE_U:
    case JI_MAD_WIDE_S: return constant_of(j, n) == 0 ? 2 : 1;
    default: return 1;
    }
}

/* Gives the result its register: in `halves` parts, of which each may need a number that both share. */
static void find_register(struct jit *j, struct work *w, int halves)
{
    uint32_t may = takeable(j, w->n);
    for (int k = 0; k < 2; k++) {
        if (!(may >> k & 1) || (halves > 1 && form_of_read(j, w->n, k).kind != FORM_PAIR)) continue;
        w->reg = simt_jit_take_scalar(j, w->n, k, w->half);
        w->taken = k;
        if (w->reg >= 0) return;
    }
    w->taken = -1;
    w->reg = simt_jit_new_gpr(j);
}

/* What an address is a sum of: `scaled`, the log of what the sum at hand multiplied the number before it by, or 0. */
static void note_base(struct jit *j, const struct jit_insn *n, int scaled)
{
    bool product = n->op == JI_MAD_WIDE_S || n->op == JI_MAD_WIDE_U;
    int scale = product ? simt_jit_power(form_of_read(j, n, 1)) : scaled;
    if (scale <= 0 || scale > 4) return;
    uint16_t base = n->reads[product ? 2 : n->reads[0] == n[-1].writes[0]];
    if (!j->slots[base].fixed || !form_is_uniform(j->slots[base].form)) return;
    j->places[n->writes[0]].base = base;
    j->places[n->writes[0]].scale = (uint8_t)scale;
}

void simt_jit_numbers(struct jit *j, const struct jit_insn *n, struct jit_form f)
{
    int regs[2] = {0, 0}, scale = scale_of(j, n), scaled = j->scale, halves = f.kind == FORM_PAIR ? 2 : 1;
    if (n->op >= JI_WIDE_U && n->op < JI_NARROW) check_range(j, n, 0, f);
    if (n->op >= JI_WIDE_U && n->op <= JI_MAD_WIDE_S) check_range(j, n, 1, f);
    j->gpr_pins = 0;
    for (int h = 0; h < halves; h++) {
        struct work w = {.n = n, .half = h};
        find_register(j, &w, halves);
        write_number(j, &w);
        regs[h] = w.reg;
        j->gpr_pins = 1u << regs[h] | 1u << regs[0];
    }
    simt_jit_define_scalar(j, n->writes[0], f, regs);
    note_base(j, n, scaled);
    j->scale = scale;
}
