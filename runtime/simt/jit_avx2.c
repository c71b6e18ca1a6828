/* What AVX-512 has an instruction or a mask register for, and AVX2 a few instructions. */
#include <string.h>
#include "runtime/simt/jit_build.h"

static const struct x86_vop xor_w = {1, 1, 0, 0xef}, and_w = {1, 1, 0, 0xdb}, or_w = {1, 1, 0, 0xeb},
                            add_q = {1, 1, 0, 0xd4}, sub_q = {1, 1, 0, 0xfb}, multiply_low = {1, 1, 0, 0xf4},
                            min_u = {2, 1, 0, 0x3b}, max_u = {2, 1, 0, 0x3f}, greater_w = {1, 1, 0, 0x66},
                            greater_q = {2, 1, 0, 0x37}, equal_w = {1, 1, 0, 0x76}, equal_q = {2, 1, 0, 0x29};
static const struct x86_vop shift_left_w = {2, 1, 0, 0x47}, shift_left_q = {2, 1, 1, 0x47},
                            shift_right_q = {2, 1, 1, 0x45}, even_words = {1, 0, 0, 0xc6}, order_q = {3, 1, 1, 0x00};

/* d = a or, where the sign of a lane of `mask` is set, b. */
static void blend(struct jit *j, bool wide, int d, int a, int b, int mask)
{
    simt_jit_put_imm(j, (struct x86_vop){3, 1, 0, wide ? 0x4b : 0x4a}, d, a, b, mask << 4);
}
static struct x86_vop float_op(uint8_t opcode, bool wide)
{
    return (struct x86_vop){1, wide, 0, opcode};
}
/* ---- integers ---- */
/* r = x * y of 64 bits; r is neither of them. */
static void multiply(struct jit *j, int r, int x, int y)
{
    int t = simt_jit_scratch(j);
    simt_jit_shift_by(j, true, SHIFT_RIGHT, t, x, 32);
    simt_jit_put(j, multiply_low, t, t, y);
    simt_jit_shift_by(j, true, SHIFT_RIGHT, r, y, 32);
    simt_jit_put(j, multiply_low, r, r, x);
    simt_jit_put(j, add_q, r, r, t);
    simt_jit_shift_by(j, true, SHIFT_LEFT, r, r, 32);
    simt_jit_put(j, multiply_low, t, x, y);
    simt_jit_put(j, add_q, r, r, t);
}

/* r = a > b, by lanes of 64 bits. */
static void greater_unsigned(struct jit *j, int r, int a, int b)
{
    struct x86_mem sign = simt_jit_equal_at(j, INT64_MIN, true);
    int t = simt_jit_scratch(j);
    simt_jit_put_mem(j, xor_w, t, a, sign);
    simt_jit_put_mem(j, xor_w, r, b, sign);
    simt_jit_put(j, greater_q, r, t, r);
}

static void choose(struct jit *j, int op, int r, int a, int b)
{
    if (op == JI_MIN_U || op == JI_MAX_U)
        greater_unsigned(j, r, a, b);
    else
        simt_jit_put(j, greater_q, r, a, b);
    if (op == JI_MIN_U || op == JI_MIN_S)
        blend(j, true, r, a, b, r);
    else
        blend(j, true, r, b, a, r);
}

/* A shift to the right that copies the sign; the counts, in 8-byte lanes, go up to 63 and stay there. */
static void shift_signed(struct jit *j, int r, int a, int count)
{
    int t = simt_jit_scratch(j);
    simt_jit_put_mem(j, min_u, count, count, simt_jit_equal_at(j, 63, true));
    simt_jit_set(j, true, t, INT64_MIN);
    simt_jit_put(j, shift_right_q, t, t, count);
    simt_jit_put(j, shift_right_q, r, a, count);
    simt_jit_put(j, xor_w, r, r, t);
    simt_jit_put(j, sub_q, r, r, t);
}

static void absolute(struct jit *j, int r, int a)
{
    int t = simt_jit_scratch(j);
    simt_jit_put(j, xor_w, t, t, t);
    simt_jit_put(j, greater_q, r, t, a);
    simt_jit_put(j, xor_w, t, a, r);
    simt_jit_put(j, sub_q, r, t, r);
}

int simt_jit_avx2_integer(struct jit *j, const struct jit_insn *n, int part)
{
    bool chooses = n->op >= JI_MIN_U && n->op <= JI_MAX_S;
    uint16_t a = n->reads[0], b = n->reads[n->read_count > 1];
    if (n->op != JI_NOT &&
        !(n->wide && (chooses || n->op == JI_MUL || n->op == JI_MAD || n->op == JI_SAR || n->op == JI_ABS)))
        return -1;
    int x = simt_jit_part(j, a, part);
    int y = n->op == JI_SAR                      ? simt_jit_widened(j, b, part, false)
            : n->op == JI_NOT || n->op == JI_ABS ? x
                                                 : simt_jit_part(j, b, part);
    int z = n->op == JI_MAD ? simt_jit_part(j, n->reads[2], part) : x, r = simt_jit_new_vector(j);
    switch ((enum jit_integer)n->op) {
    case JI_NOT:
        simt_jit_put(j, equal_w, r, r, r);
        simt_jit_put(j, xor_w, r, r, x);
        break;
    case JI_SAR: shift_signed(j, r, x, y); break;
    case JI_ABS: absolute(j, r, x); break;
    case JI_MUL: multiply(j, r, x, y); break;
    case JI_MAD:
        multiply(j, r, x, y);
        simt_jit_put(j, add_q, r, r, z);
        break;
    default: choose(j, n->op, r, x, y); break;
    }
    return r;
}

int simt_jit_avx2_narrowed(struct jit *j, uint16_t slot, int part, bool high)
{
    int from[2], d = simt_jit_new_vector(j);
    for (int k = 0; k < 2; k++) from[k] = simt_jit_part(j, slot, 2 * part + k);
    simt_jit_put_imm(j, even_words, d, from[0], from[1], high ? 0xdd : 0x88);
    simt_jit_put_imm(j, order_q, d, 0, d, 0xd8);
    return d;
}

/* ---- floats ---- */
int simt_jit_avx2_extreme(struct jit *j, const struct jit_insn *n, int part)
{
    bool least = n->op == JF_MIN;
    int a = simt_jit_float(j, n, 0, part), b = simt_jit_float(j, n, 1, part), r = simt_jit_new_vector(j);
    int s = simt_jit_new_vector(j), t = simt_jit_scratch(j);
    simt_jit_put(j, float_op(least ? 0x5d : 0x5f, n->wide), r, a, b);
    simt_jit_put_imm(j, float_op(0xc2, n->wide), t, a, b, 0);
    simt_jit_put(j, least ? or_w : and_w, s, a, b);
    blend(j, n->wide, r, r, s, t);
    simt_jit_put_imm(j, float_op(0xc2, n->wide), t, b, b, 3);
    blend(j, n->wide, r, r, a, t);
    return r;
}

/* What is too large becomes the largest, what is no number zero. */
int simt_jit_avx2_to_integer(struct jit *j, const struct jit_insn *n, int part)
{
    int a = simt_jit_part(j, n->reads[0], part), r = simt_jit_new_vector(j), t = simt_jit_scratch(j);
    if (n->detail != ROUND_TO_ZERO) simt_jit_round(j, false, n->detail, r, a);
    simt_jit_put(j, (struct x86_vop){1, 2, 0, 0x5b}, r, 0, n->detail == ROUND_TO_ZERO ? a : r);
    /* INT_MIN where it does not fit */
    x86_vex_mem(&j->x, float_op(0xc2, false), 256, t, a, simt_jit_equal_at(j, 0x4f000000, false), 0x1d);
    simt_jit_put(j, xor_w, r, r, t);
    simt_jit_put_imm(j, float_op(0xc2, false), t, a, a, 7);
    simt_jit_put(j, and_w, r, r, t);
    return r;
}

/* What is 2^31 or more is converted without that, which comes back as the sign; from 2^32 on all bits are set. */
int simt_jit_avx2_to_unsigned(struct jit *j, const struct jit_insn *n, int part)
{
    const struct x86_vop to_int = {1, 2, 0, 0x5b};
    struct x86_mem two_31 = simt_jit_equal_at(j, 0x4f000000, false);
    int a = simt_jit_part(j, n->reads[0], part), r = simt_jit_new_vector(j), u = simt_jit_new_vector(j);
    int t = simt_jit_scratch(j);
    simt_jit_put(j, xor_w, r, r, r);
    simt_jit_put(j, float_op(0x5f, false), r, a, r); /* the second of two when the first is no number */
    x86_vex_mem(&j->x, float_op(0xc2, false), 256, u, r, two_31, 0x1d);
    simt_jit_put_mem(j, and_w, t, u, two_31);
    simt_jit_put(j, float_op(0x5c, false), t, r, t);
    simt_jit_put(j, to_int, t, 0, t); /* INT_MIN from 2^32 on, else not negative */
    simt_jit_put_imm(j, (struct x86_vop){1, 1, 0, 0x72}, 6, u, u, 31);
    x86_vex_mem(&j->x, float_op(0xc2, false), 256, r, r, simt_jit_equal_at(j, 0x4f800000, false), 0x1d);
    simt_jit_put(j, xor_w, t, t, u);
    simt_jit_put(j, or_w, r, r, t);
    return r;
}

/* Both halves of a number become floats by their place in a fraction: then one addition rounds. */
static int float_of_unsigned(struct jit *j, const struct jit_insn *n, int part)
{
    const struct x86_vop blend_halves = {3, 1, 0, 0x0e};
    int a = simt_jit_part(j, n->reads[0], part), r = simt_jit_new_vector(j), t = simt_jit_scratch(j);
    x86_vex_mem(&j->x, blend_halves, 256, r, a, simt_jit_equal_at(j, 0x4b000000, false), 0xaa); /* 2^23 + low */
    simt_jit_shift_by(j, false, SHIFT_RIGHT, t, a, 16);
    x86_vex_mem(&j->x, blend_halves, 256, t, t, simt_jit_equal_at(j, 0x53000000, false), 0xaa); /* 2^39 + high */
    simt_jit_put_mem(j, float_op(0x5c, false), t, t, simt_jit_equal_at(j, 0x53000080, false));  /* 2^39 + 2^23 */
    simt_jit_put(j, float_op(0x58, false), r, r, t);
    return r;
}

int simt_jit_avx2_from_unsigned(struct jit *j, const struct jit_insn *n, int part)
{
    struct x86_mem two_52 = simt_jit_equal_at(j, 0x4330000000000000, true);
    if (!n->wide) return float_of_unsigned(j, n, part);
    int r = simt_jit_widened(j, n->reads[0], part, false);
    simt_jit_put_mem(j, or_w, r, r, two_52);
    simt_jit_put_mem(j, float_op(0x5c, true), r, r, two_52);
    return r;
}

/* ---- comparisons ---- */
/* Lanes of ones where a comparison of integers holds, or of zeros, which it returns. */
static bool compare_integers(struct jit *j, const struct jit_insn *n, int r, int a, int b)
{
    enum { EQ, LT, LE, NE = 4, GE, GT };
    int t = simt_jit_scratch(j), c = n->detail;
    if (c == EQ || c == NE) {
        simt_jit_put(j, n->wide ? equal_q : equal_w, r, a, b);
        return c == NE;
    }
    if (n->op == JT_U && !n->wide) { /* the larger one is a */
        simt_jit_put(j, c == GE || c == LT ? max_u : min_u, t, a, b);
        simt_jit_put(j, equal_w, r, t, a);
        return c == LT || c == GT;
    }
    bool turned = c == LT || c == GE;
    if (n->op == JT_U)
        greater_unsigned(j, r, turned ? b : a, turned ? a : b);
    else
        simt_jit_put(j, n->wide ? greater_q : greater_w, r, turned ? b : a, turned ? a : b);
    return c == LE || c == GE;
}

/* The first five moments are for results. */
static int compared(struct jit *j, const struct jit_insn *n, int part, bool *inverse, const int *moments, int result)
{
    int a = simt_jit_operand(j, n->reads[0], part, moments ? moments + 5 : NULL);
    int b = simt_jit_operand(j, n->reads[1], part, moments ? moments + 6 : NULL);
    if (n->is_short) a = simt_jit_shifted(j, a), b = simt_jit_shifted(j, b);
    int r = moments ? moments[result] : simt_jit_new_vector(j);
    *inverse = false;
    if (n->op == JT_F)
        simt_jit_put_imm(j, float_op(0xc2, n->wide), r, a, b, n->detail);
    else
        *inverse = compare_integers(j, n, r, a, b);
    return r;
}

/* Four vectors of 4-byte lanes of ones or zeros become bits. */
static void gather_bits(struct jit *j, int reg, const int c[4])
{
    static const uint32_t order[16] = {0, 4, 1, 5, 2, 6, 3, 7};
    const struct x86_vop pack_w = {1, 1, 0, 0x6b}, pack_half = {1, 1, 0, 0x63}, order_w = {2, 1, 0, 0x36};
    int t = simt_jit_scratch(j);
    simt_jit_put(j, pack_w, c[0], c[0], c[1]);
    simt_jit_put(j, pack_w, c[2], c[2], c[3]);
    simt_jit_put(j, pack_half, c[0], c[0], c[2]);
    simt_jit_load(j, t, x86_at_label(x86_constant(&j->x, order)));
    simt_jit_put(j, order_w, c[0], t, c[0]);
    simt_jit_put(j, (struct x86_vop){1, 1, 0, 0xd7}, reg, 0, c[0]);
}

void simt_jit_avx2_compare(struct jit *j, const struct jit_insn *n, int reg, const int *moments)
{
    int c[4];
    bool inverse = false;
    uint32_t keep = 0;
    if (j->alone) {
        c[0] = compared(j, n, 0, &inverse, moments, 0);
        simt_jit_first_lane(j, false, reg, c[0]);
        if (inverse) x86_unary(&j->x, UNARY_NOT, false, reg);
        return;
    }
    for (int p = 0; p < 4; p++) {
        if (n->wide) {
            int first = compared(j, n, 2 * p, &inverse, moments, p);
            if (!moments) j->vector_pins = keep | 1u << first;
            int second = compared(j, n, 2 * p + 1, &inverse, moments, 4);
            simt_jit_put_imm(j, even_words, first, first, second, 0x88);
            simt_jit_put_imm(j, order_q, first, 0, first, 0xd8);
            c[p] = first;
        } else {
            c[p] = compared(j, n, p, &inverse, moments, p);
        }
        keep |= 1u << c[p];
        if (!moments) j->vector_pins = keep;
    }
    gather_bits(j, reg, c);
    if (inverse) x86_unary(&j->x, UNARY_NOT, false, reg);
}

/* ---- choices ---- */
/* Counts that shift the bit of each of a part's lanes into its sign. */
static struct x86_mem sign_counts(struct jit *j, bool wide, int part)
{
    int64_t q[8] = {0};
    int32_t w[16] = {0};
    int first = part * simt_jit_lanes(j, wide);
    for (int l = 0; wide && l < 4; l++) q[l] = 63 - first - l;
    for (int l = 0; !wide && l < 8; l++) w[l] = 31 - first - l;
    return x86_at_label(x86_constant(&j->x, wide ? (void *)q : (void *)w));
}

void simt_jit_avx2_select(struct jit *j, const struct jit_insn *n)
{
    int regs[JIT_PARTS], mask = simt_jit_new_vector(j);
    uint32_t keep = 1u << mask;
    simt_jit_spread(j, n->wide, mask, simt_jit_predicate(j, n->reads[2]));
    for (int p = 0; p < simt_jit_part_count(j, n->wide); p++) {
        int a = simt_jit_part(j, n->reads[0], p), b = simt_jit_part(j, n->reads[1], p);
        regs[p] = simt_jit_new_vector(j);
        simt_jit_put_mem(j, n->wide ? shift_left_q : shift_left_w, regs[p], mask, sign_counts(j, n->wide, p));
        blend(j, n->wide, regs[p], b, a, regs[p]);
        keep |= 1u << regs[p];
        j->vector_pins = keep;
    }
    simt_jit_define_vector(j, n->writes[0], regs);
}

/* ---- exchanges ---- */
/* A part of lanes from[0] to from[7] of the four in `parts`. */
static int exchanged(struct jit *j, const int *parts, const uint32_t *from, int moment)
{
    uint32_t order[16] = {0};
    int t = simt_jit_scratch(j), r = simt_jit_new_vector(j);
    bool moves = false, first = true;
    for (uint32_t l = 0; l < 8; l++) {
        order[l] = from[l] % 8;
        moves |= order[l] != l;
    }
    if (moves) simt_jit_load(j, t, x86_at_label(x86_constant(&j->x, order)));
    for (uint32_t s = 0; s < 4; s++) {
        int lanes = 0, source = parts[s];
        for (int l = 0; l < 8; l++) lanes |= (from[l] / 8 == s) << l;
        if (!lanes) continue;
        if (moves) {
            source = first ? r : moment;
            simt_jit_put(j, (struct x86_vop){2, 1, 0, 0x36}, source, t, parts[s]);
        }
        if (!first)
            simt_jit_put_imm(j, (struct x86_vop){3, 1, 0, 0x02}, r, r, source, lanes);
        else if (!moves)
            simt_jit_move(j, r, source);
        first = false;
    }
    return r;
}

void simt_jit_avx2_shuffle(struct jit *j, const int *parts, const uint32_t from[SIMT_WARP], int *regs)
{
    int moment = simt_jit_new_vector(j);
    for (int p = 0; p < 4; p++) regs[p] = exchanged(j, parts, from + 8 * p, moment);
}
