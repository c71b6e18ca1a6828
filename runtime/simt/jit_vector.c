/* Floats, conversions, comparisons, choices and predicates. */
#include <string.h>
#include "runtime/simt/jit_build.h"

static const struct x86_vop load = {1, 0, 0, 0x10}, xor_w = {1, 1, 0, 0xef}, xor_q = {1, 1, 1, 0xef},
                            and_w = {1, 1, 0, 0xdb}, and_q = {1, 1, 1, 0xdb}, or_w = {1, 1, 0, 0xeb},
                            or_q = {1, 1, 1, 0xeb};

static struct x86_vop float_op(uint8_t opcode, bool wide)
{
    return (struct x86_vop){1, wide, wide, opcode};
}

/* ---- floats ---- */
static int flushed_bit(const struct jit_place *p, int part)
{
    return form_is_uniform(p->form) ? 1 : 1 << part;
}

/* Will simt_jit_float be another register than the slot's own? */
static bool must_flush(const struct jit *j, const struct jit_insn *n, int read, int part)
{
    const struct jit_place *p = &j->places[n->reads[read]];
    uint32_t constant = (uint32_t)p->form.step & INT32_MAX;
    if (!n->flushes || p->flushed & flushed_bit(p, part)) return false;
    return p->form.kind != FORM_CONST || (constant && constant < 0x00800000);
}

int simt_jit_float(struct jit *j, const struct jit_insn *n, int read, int part)
{
    uint16_t slot = n->reads[read];
    int a = simt_jit_part(j, slot, part), r = a;
    if (!must_flush(j, n, read, part)) return a;
    if (simt_jit_may_flush(j, n, slot))
        j->places[slot].flushed |= (uint8_t)flushed_bit(&j->places[slot], part);
    else
        r = simt_jit_new_vector(j);
    simt_jit_zero_denormals(j, r, a);
    return r;
}

/* The register of an operand that may be overwritten; -1: it must be kept. */
static int take_float(struct jit *j, const struct jit_insn *n, int read, int part, int reg)
{
    return must_flush(j, n, read, part) ? reg : simt_jit_take_part(j, n, read, part);
}

static int fused(struct jit *j, const struct jit_insn *n, int part)
{
    int a = simt_jit_float(j, n, 0, part), b = simt_jit_float(j, n, 1, part);
    int c = simt_jit_float(j, n, 2, part), r = take_float(j, n, 2, part, c);
    struct x86_vop to_c = {2, 1, n->wide, 0xb8}, to_a = {2, 1, n->wide, 0xa8};
    if (r < 0) {
        int d = take_float(j, n, 0, part, a);
        if (d >= 0) { /* a = b * a + c */
            j->vector_pins |= 1u << d;
            simt_jit_put(j, to_a, d, b, c);
            return d;
        }
        r = simt_jit_new_vector(j);
        simt_jit_move(j, r, c);
    }
    j->vector_pins |= 1u << r;
    simt_jit_put(j, to_c, r, a, b);
    return r;
}

/* The smaller or larger one: of equal ones (zeros) the negative or positive, and the number where the other is none. */
static int extreme(struct jit *j, const struct jit_insn *n, int part)
{
    if (simt_jit_is_avx2(j)) return simt_jit_avx2_extreme(j, n, part);
    bool least = n->op == JF_MIN;
    int a = simt_jit_float(j, n, 0, part), b = simt_jit_float(j, n, 1, part), r = simt_jit_new_vector(j);
    simt_jit_put(j, float_op(least ? 0x5d : 0x5f, n->wide), r, a, b);
    x86_evex(&j->x, float_op(0xc2, n->wide), simt_jit_masked(0, 0), 1, a, b);
    x86_evex(&j->x, least ? (n->wide ? or_q : or_w) : (n->wide ? and_q : and_w), simt_jit_masked(1, -1), r, a, b);
    x86_evex(&j->x, float_op(0xc2, n->wide), simt_jit_masked(0, 3), 1, b, b);
    x86_evex(&j->x, float_op(0x10, n->wide), simt_jit_masked(1, -1), r, 0, a);
    return r;
}

/* Through doubles, as the op does it. */
static int reciprocal_root(struct jit *j, const struct jit_insn *n, int part)
{
    int a = simt_jit_float(j, n, 0, part), one = simt_jit_equal(j, 0x3ff0000000000000, true), r[2];
    for (int k = 0; k < 2; k++) {
        r[k] = simt_jit_new_vector(j);
        if (k) simt_jit_high_half(j, r[k], a);
        simt_jit_put(j, float_op(0x5a, false), r[k], 0, k ? r[k] : a);
        simt_jit_put(j, float_op(0x51, true), r[k], 0, r[k]);
        simt_jit_put(j, float_op(0x5e, true), r[k], one, r[k]);
        simt_jit_put(j, float_op(0x5a, true), r[k], 0, r[k]);
    }
    simt_jit_join(j, r[0], r[0], r[1]);
    return r[0];
}

static int float_part(struct jit *j, const struct jit_insn *n, int part)
{
    static const uint8_t opcodes[] = {[JF_ADD] = 0x58, [JF_SUB] = 0x5c, [JF_MUL] = 0x59, [JF_DIV] = 0x5e};
    int64_t sign = n->wide ? INT64_MIN : INT32_MIN, one = n->wide ? 0x3ff0000000000000 : 0x3f800000;
    if (n->op == JF_FMA) return fused(j, n, part);
    if (n->op == JF_MIN || n->op == JF_MAX) return extreme(j, n, part);
    if (n->op == JF_RSQRT) return reciprocal_root(j, n, part);
    if (n->op >= JF_ROUND) return simt_jit_odd_float(j, n, part);
    int a = simt_jit_float(j, n, 0, part);
    int b = n->read_count > 1 ? simt_jit_float(j, n, 1, part)
            : n->op == JF_NEG ? simt_jit_equal(j, sign, n->wide)
            : n->op == JF_ABS ? simt_jit_equal(j, ~sign, n->wide)
            : n->op == JF_RCP ? simt_jit_equal(j, one, n->wide)
                              : 0;
    int r = simt_jit_new_vector(j);
    switch ((enum jit_float)n->op) {
    case JF_NEG: simt_jit_put(j, n->wide ? xor_q : xor_w, r, a, b); break;
    case JF_ABS: simt_jit_put(j, n->wide ? and_q : and_w, r, a, b); break;
    case JF_RCP: simt_jit_put(j, float_op(0x5e, n->wide), r, b, a); break;
    case JF_SQRT: simt_jit_put(j, float_op(0x51, n->wide), r, 0, a); break;
    default: simt_jit_put(j, float_op(opcodes[n->op], n->wide), r, a, b); break;
    }
    return r;
}

/* ---- conversions ---- */
/* From 4-byte lanes to 8-byte ones. */
static int converted_up(struct jit *j, const struct jit_insn *n, struct x86_vop op, int part)
{
    int from = simt_jit_part(j, n->reads[0], part / 2), r = simt_jit_new_vector(j);
    if (part & 1) simt_jit_high_half(j, r, from);
    simt_jit_put(j, op, r, 0, part & 1 ? r : from);
    return r;
}

static int converted_down(struct jit *j, const struct jit_insn *n, struct x86_vop op, int part)
{
    int r[2];
    for (int k = 0; k < 2; k++) {
        int from = simt_jit_part(j, n->reads[0], 2 * part + k);
        r[k] = simt_jit_new_vector(j);
        simt_jit_put(j, op, r[k], 0, from);
    }
    simt_jit_join(j, r[0], r[0], r[1]);
    return r[0];
}

/* What is too large becomes the largest; what is too small, or no number, the smallest. */
static int from_doubles(struct jit *j, const struct jit_insn *n, int part)
{
    const struct x86_vop least = {1, 1, 1, 0x5d}, nearest = {1, 3, 1, 0xe6}, cut = {1, 1, 1, 0xe6};
    struct x86_mem most = simt_jit_equal_at(j, 0x41dfffffffc00000, true);
    int r[2], t = simt_jit_scratch(j);
    for (int k = 0; k < 2; k++) {
        int from = simt_jit_part(j, n->reads[0], 2 * part + k);
        r[k] = simt_jit_new_vector(j);
        simt_jit_load(j, t, most);
        simt_jit_put(j, least, r[k], t, from); /* the second of two when it is no number */
        if (n->detail == ROUND_DOWN || n->detail == ROUND_UP)
            simt_jit_put_imm(j, (struct x86_vop){3, 1, 1, 0x09}, r[k], 0, r[k], n->detail | 8);
        simt_jit_put(j, n->detail == ROUND_NEAREST ? nearest : cut, r[k], 0, r[k]);
    }
    simt_jit_join(j, r[0], r[0], r[1]);
    return r[0];
}

/* What is too large becomes the largest, what is no number zero. */
static int to_integer(struct jit *j, const struct jit_insn *n, int part)
{
    if (simt_jit_is_avx2(j)) return simt_jit_avx2_to_integer(j, n, part);
    int a = simt_jit_part(j, n->reads[0], part), limit = simt_jit_equal(j, 0x4f000000, false);
    int most = simt_jit_equal(j, INT32_MAX, false), r = simt_jit_new_vector(j);
    if (n->detail != ROUND_TO_ZERO) simt_jit_round(j, false, n->detail, r, a);
    simt_jit_put(j, (struct x86_vop){1, 2, 0, 0x5b}, r, 0, n->detail == ROUND_TO_ZERO ? a : r);
    x86_evex(&j->x, float_op(0xc2, false), simt_jit_masked(0, 0x1d), 1, a, limit);
    x86_evex(&j->x, load, simt_jit_masked(1, -1), r, 0, most);
    x86_evex(&j->x, float_op(0xc2, false), simt_jit_masked(0, 3), 1, a, a);
    x86_evex(&j->x, xor_w, simt_jit_masked(1, -1), r, r, r);
    return r;
}

/* The same; what is below zero becomes zero. */
static int to_unsigned(struct jit *j, const struct jit_insn *n, int part)
{
    if (simt_jit_is_avx2(j)) return simt_jit_avx2_to_unsigned(j, n, part);
    int a = simt_jit_part(j, n->reads[0], part), r = simt_jit_new_vector(j);
    simt_jit_put(j, xor_w, r, r, r);
    simt_jit_put(j, float_op(0x5f, false), r, a, r); /* the second of two when the first is no number */
    simt_jit_put(j, (struct x86_vop){1, 0, 0, 0x78}, r, 0, r);
    return r;
}

static int convert_part(struct jit *j, const struct jit_insn *n, int part)
{
    static const struct x86_vop ops[] = {
        [JC_F32_S32] = {1, 0, 0, 0x5b}, [JC_F32_U32] = {1, 3, 0, 0x7a}, [JC_F64_S32] = {1, 2, 0, 0xe6},
        [JC_F64_U32] = {1, 2, 0, 0x7a}, [JC_F64_F32] = {1, 0, 0, 0x5a}, [JC_F32_F64] = {1, 1, 1, 0x5a},
        [JC_F64_S64] = {1, 2, 1, 0xe6},
    };
    bool is_unsigned = n->op == JC_F32_U32 || n->op == JC_F64_U32;
    if (simt_jit_is_avx2(j) && is_unsigned) return simt_jit_avx2_from_unsigned(j, n, part);
    if (n->op == JC_S32_F32) return to_integer(j, n, part);
    if (n->op == JC_U32_F32) return to_unsigned(j, n, part);
    if (n->op == JC_F32_U8 || n->op == JC_F32_U16) {
        int from = simt_jit_part(j, n->reads[0], part), to = simt_jit_new_vector(j), bits = n->op == JC_F32_U8 ? 8 : 16;
        bool fits = simt_jit_fits(j, n->reads[0], bits);
        if (!fits) simt_jit_put_mem(j, and_w, to, from, simt_jit_equal_at(j, (1 << bits) - 1, false));
        simt_jit_put(j, ops[JC_F32_S32], to, 0, fits ? from : to);
        return to;
    }
    if (n->op == JC_S32_F64) return from_doubles(j, n, part);
    if (n->op == JC_F32_F64) return converted_down(j, n, ops[n->op], part);
    if (n->wide && n->op != JC_F64_S64) return converted_up(j, n, ops[n->op], part);
    int a = simt_jit_part(j, n->reads[0], part), r = simt_jit_new_vector(j);
    simt_jit_put(j, ops[n->op], r, 0, a);
    return r;
}

void simt_jit_vector(struct jit *j, const struct jit_insn *n)
{
    int regs[JIT_PARTS];
    uint32_t keep = 0;
    bool tiny = n->op == JF_ADD || n->op == JF_SUB || n->op == JF_MUL || n->op == JF_DIV || n->op == JF_FMA;
    for (int p = 0; p < simt_jit_parts(j, n->writes[0]); p++) {
        regs[p] = n->kind == JK_FLOAT ? float_part(j, n, p) : convert_part(j, n, p);
        if (n->flushes && tiny) simt_jit_zero_denormals(j, regs[p], regs[p]);
        keep |= 1u << regs[p];
        j->vector_pins = keep;
    }
    simt_jit_define_vector(j, n->writes[0], regs);
    j->places[n->writes[0]].flushed = n->flushes ? 0xff : 0;
}

/* ---- predicates ---- */
/* Of mask registers 1 to 2 or 4, which have a part each. */
static void mask_to_gpr(struct jit *j, int reg, bool wide)
{
    const struct x86_vop join_bytes = {1, 1, 0, 0x4b}, join_words = {1, 0, 0, 0x4b}, to_gpr = {1, 3, 0, 0x93};
    if (wide) {
        x86_vex(&j->x, join_bytes, 256, 1, 2, 1, -1);
        x86_vex(&j->x, join_bytes, 256, 2, 4, 3, -1);
    }
    x86_vex(&j->x, join_words, 256, 1, 2, 1, -1);
    x86_vex(&j->x, to_gpr, 128, reg, 0, 1, -1);
}

int simt_jit_shifted(struct jit *j, int reg)
{
    int r = simt_jit_new_vector(j);
    simt_jit_shift_by(j, false, SHIFT_LEFT, r, reg, 16);
    return r;
}

/* With `moments`, registers for operands and results, what registers hold stays as it is. */
static void compare_vectors(struct jit *j, const struct jit_insn *n, int reg, const int *moments)
{
    if (simt_jit_is_avx2(j)) {
        simt_jit_avx2_compare(j, n, reg, moments);
        return;
    }
    struct x86_vop op =
        n->op == JT_F ? float_op(0xc2, n->wide) : (struct x86_vop){3, 1, n->wide, n->op == JT_S ? 0x1f : 0x1e};
    for (int p = 0; p < simt_jit_parts(j, n->reads[0]); p++) {
        int a = n->flushes ? simt_jit_float(j, n, 0, p) : simt_jit_operand(j, n->reads[0], p, moments);
        int b =
            n->flushes ? simt_jit_float(j, n, 1, p) : simt_jit_operand(j, n->reads[1], p, moments ? moments + 1 : NULL);
        if (n->is_short) a = simt_jit_shifted(j, a), b = simt_jit_shifted(j, b);
        x86_evex(&j->x, op, simt_jit_masked(0, n->detail), 1 + p, a, b);
        if (!moments) j->vector_pins = 0;
    }
    mask_to_gpr(j, reg, n->wide);
}

enum x86_condition simt_jit_condition(const struct jit_insn *n)
{
    static const enum x86_condition signed_[] = {CC_E, CC_L, CC_LE, 0, CC_NE, CC_GE, CC_G};
    static const enum x86_condition unsigned_[] = {CC_E, CC_B, CC_BE, 0, CC_NE, CC_AE, CC_A};
    return n->op == JT_S ? signed_[n->detail] : unsigned_[n->detail];
}

/* Numbers that grow from lane to lane, as indices do, against one that all lanes share, as a bound is. When the
 * least and the greatest compare alike, so do those between. */
bool simt_jit_is_bounded(const struct jit_insn *n, const struct jit_form *f)
{
    bool order = n->detail != 0 && n->detail != 4;
    int64_t most = 1 << 24;
    struct jit_form a = form_is_uniform(f[0]) ? f[1] : f[0], b = form_is_uniform(f[0]) ? f[0] : f[1];
    return n->op != JT_F && !n->is_short && order && form_is_uniform(b) && a.kind == FORM_LINEAR && a.step >= 0 &&
           a.skip >= 0 && a.step < most && a.skip < most;
}

/* A comparison one of whose sides grows from lane to lane, the other being the same for all. */
struct growing {
    const struct jit_insn *n;
    int at[2], grows; /* registers of the first lane's sides; which of them grows */
    int reg;          /* for the result */
    int far, settled; /* labels: a lane's side is too large for its type; the result is there */
};

/* Jumps to `settled` with the result in reg when the comparison of the lane that lies `offset` above the first has it.
 */
static void compare_end(struct jit *j, const struct growing *g, int64_t offset, bool result)
{
    struct x86 *x = &j->x;
    const struct jit_insn *n = g->n;
    int ends[2] = {g->at[0], g->at[1]};
    x86_load_imm(x, g->reg, result ? FULL : 0);
    if (offset) {
        x86_rr(x, ALU_MOV, n->wide, RDX, g->at[g->grows]);
        x86_imm(x, ALU_ADD, n->wide, RDX, (int32_t)offset);
        x86_jump_if(x, n->op == JT_S ? CC_O : CC_B, g->far);
        ends[g->grows] = RDX;
    }
    x86_rr(x, ALU_CMP, n->wide, ends[0], ends[1]);
    x86_jump_if(x, result ? simt_jit_condition(n) : (enum x86_condition)(simt_jit_condition(n) ^ 1), g->settled);
}

static void compare_ends(struct jit *j, const struct jit_insn *n, const struct jit_form *f, int reg)
{
    struct x86 *x = &j->x;
    const int grows = form_is_uniform(f[0]);
    struct growing g = {.n = n, .grows = grows, .reg = reg};
    int moments[COMPARE_MOMENTS];
    for (int k = 0; k < (simt_jit_is_avx2(j) ? COMPARE_MOMENTS : 2); k++) moments[k] = simt_jit_new_vector(j);
    for (int k = 0; k < 2; k++) g.at[k] = simt_jit_scalar(j, n->reads[k], 0, RAX);
    bool less = n->detail == 1 || n->detail == 2, last = less == !grows; /* what the last lane may settle for all */
    g.far = x86_label(x), g.settled = x86_label(x);
    compare_end(j, &g, 15 * f[grows].step + f[grows].skip, last);
    compare_end(j, &g, 0, !last);
    x86_jump(x, g.far);
    x->now = X86_COLD;
    x86_bind(x, g.far);
    compare_vectors(j, n, reg, moments);
    x86_jump(x, g.settled);
    x->now = X86_HOT;
    x86_bind(x, g.settled);
}

static bool is_of_numbers(const struct jit *j, const struct jit_insn *n)
{
    return n->op != JT_F && !n->is_short && form_is_uniform(form_of_read(j, n, 0)) &&
           form_is_uniform(form_of_read(j, n, 1));
}

bool simt_jit_is_test(const struct jit *j, const struct jit_insn *n)
{
    const struct jit_insn *branch = n + 1;
    if (j->zone || n->kind != JK_COMPARE || n->guarded || n->i->mode || n->write_count != 1) return false;
    if (branch != j->code + j->block->end - 1 || branch->kind != JK_BRANCH) return false;
    if (j->block->next[0] < 0 || j->block->next[1] < 0) return false;
    return branch->reads[0] == n->writes[0] && branch->dies & 1 && is_of_numbers(j, n);
}

void simt_jit_test(struct jit *j, const struct jit_insn *n)
{
    int a = simt_jit_scalar(j, n->reads[0], 0, RAX);
    struct jit_form b = form_of_read(j, n, 1);
    if (b.kind == FORM_CONST && b.step == (int32_t)b.step)
        x86_imm(&j->x, ALU_CMP, n->wide, a, (int32_t)b.step);
    else
        x86_rr(&j->x, ALU_CMP, n->wide, a, simt_jit_scalar(j, n->reads[1], 0, RCX));
}

static void compare_numbers(struct jit *j, const struct jit_insn *n, int reg)
{
    simt_jit_test(j, n);
    x86_setcc(&j->x, simt_jit_condition(n), RAX);
    x86_movzx_byte(&j->x, reg, RAX);
    x86_unary(&j->x, UNARY_NEG, false, reg);
}

static void combine(struct jit *j, int mode, int reg, int with)
{
    x86_rr(&j->x, mode == 1 ? ALU_AND : mode == 2 ? ALU_OR : ALU_XOR, false, reg, with);
}

void simt_jit_compare(struct jit *j, const struct jit_insn *n)
{
    const struct insn *i = n->i;
    struct jit_form f[JIT_READS];
    for (int k = 0; k < n->read_count; k++) f[k] = form_of_read(j, n, k);
    struct jit_form result = simt_jit_form_of(j, n, f);
    int with = n->read_count > 2 ? simt_jit_predicate(j, n->reads[2]) : -1;
    int p[2] = {simt_jit_new_gpr(j), 0}, q[2] = {0, 0};
    bool second = i->mode && i->d2 != SLOT_SINK;
    if (is_of_numbers(j, n))
        compare_numbers(j, n, p[0]);
    else if (simt_jit_is_bounded(n, f))
        compare_ends(j, n, f, p[0]);
    else
        compare_vectors(j, n, p[0], NULL);
    if (second) {
        q[0] = simt_jit_new_gpr(j);
        x86_rr(&j->x, ALU_MOV, false, q[0], p[0]);
        x86_unary(&j->x, UNARY_NOT, false, q[0]);
        if (with >= 0) combine(j, i->mode, q[0], with);
    }
    if (with >= 0) combine(j, i->mode, p[0], with);
    int w = 0;
    if (i->d != SLOT_SINK) simt_jit_define_scalar(j, n->writes[w++], result, p);
    if (second) simt_jit_define_scalar(j, n->writes[w], result, q);
}

void simt_jit_predicates(struct jit *j, const struct jit_insn *n)
{
    struct jit_form f[JIT_READS];
    if (!n->write_count) return;
    for (int k = 0; k < n->read_count; k++) f[k] = form_of_read(j, n, k);
    int a = simt_jit_predicate(j, n->reads[0]), b = n->read_count > 1 ? simt_jit_predicate(j, n->reads[1]) : a;
    int r[2] = {simt_jit_new_gpr(j), 0};
    x86_rr(&j->x, ALU_MOV, false, r[0], a);
    if (n->op == JI_NOT)
        x86_unary(&j->x, UNARY_NOT, false, r[0]);
    else if (n->op != JI_MOV)
        x86_rr(&j->x, n->op == JI_AND ? ALU_AND : n->op == JI_OR ? ALU_OR : ALU_XOR, false, r[0], b);
    simt_jit_define_scalar(j, n->writes[0], simt_jit_form_of(j, n, f), r);
}

/* ---- choices ---- */
static void select_numbers(struct jit *j, const struct jit_insn *n, struct jit_form f)
{
    int regs[2] = {0, 0}, p = simt_jit_predicate(j, n->reads[2]);
    for (int h = 0; h < (f.kind == FORM_PAIR ? 2 : 1); h++) {
        int a = simt_jit_scalar(j, n->reads[0], h, RAX), b = simt_jit_scalar(j, n->reads[1], h, RCX);
        regs[h] = simt_jit_new_gpr(j);
        x86_rr(&j->x, ALU_MOV, n->wide, regs[h], b);
        x86_test(&j->x, false, p, p);
        x86_cmov(&j->x, CC_NE, n->wide, regs[h], a);
    }
    simt_jit_define_scalar(j, n->writes[0], f, regs);
}

void simt_jit_select(struct jit *j, const struct jit_insn *n)
{
    const struct x86_vop to_mask = {1, 3, 0, 0x92}, shift = {3, 1, 0, 0x31}, blend = {2, 1, n->wide, 0x64};
    struct jit_form f[JIT_READS];
    for (int k = 0; k < n->read_count; k++) f[k] = form_of_read(j, n, k);
    struct jit_form result = simt_jit_form_of(j, n, f);
    if (form_is_scalar(result)) {
        select_numbers(j, n, result);
        return;
    }
    if (simt_jit_is_avx2(j)) {
        simt_jit_avx2_select(j, n);
        return;
    }
    int regs[JIT_PARTS], parts = simt_jit_parts(j, n->writes[0]);
    uint32_t keep = 0;
    x86_vex(&j->x, to_mask, 128, 1, 0, simt_jit_predicate(j, n->reads[2]), -1);
    for (int p = 0; p < parts; p++) {
        int a = simt_jit_part(j, n->reads[0], p), b = simt_jit_part(j, n->reads[1], p);
        regs[p] = simt_jit_new_vector(j);
        if (p) x86_vex(&j->x, shift, 128, 2, 0, 1, 32 / parts * p);
        x86_evex(&j->x, blend, simt_jit_masked(p ? 2 : 1, -1), regs[p], b, a);
        keep |= 1u << regs[p];
        j->vector_pins = keep;
    }
    simt_jit_define_vector(j, n->writes[0], regs);
}
