/* Floats that take several steps: roundings other than to nearest, powers of 2, and what else compilers make
 * exponentials and hyperbolic functions of. */
#include "runtime/simt/jit_build.h"
#include "runtime/simt/power.h"

static const struct x86_vop add = {1, 0, 0, 0x58}, sub = {1, 0, 0, 0x5c}, multiply = {1, 0, 0, 0x59},
                            least = {1, 0, 0, 0x5d}, most = {1, 0, 0, 0x5f}, divide = {1, 0, 0, 0x5e},
                            compare = {1, 0, 0, 0xc2}, and_w = {1, 1, 0, 0xdb}, and_not_w = {1, 1, 0, 0xdf},
                            or_w = {1, 1, 0, 0xeb}, xor_w = {1, 1, 0, 0xef}, add_w = {1, 1, 0, 0xfe},
                            sub_w = {1, 1, 0, 0xfa}, fused = {2, 1, 0, 0xb8} /* d = a * b + d */,
                            fused_by = {2, 1, 0, 0xa8} /* d = a * d + b */;
enum { NOT_LESS = 0x15 }; /* or no numbers */
enum { FARTHEST = 512 };  /* instructions */
enum { DENORMAL = 4 };    /* a mask register that comparisons of 4-byte lanes don't use */

static uint32_t bits_of(float v)
{
    union {
        float v;
        uint32_t bits;
    } u = {v};
    return u.bits;
}
static struct x86_mem equal_at(struct jit *j, float v)
{
    return simt_jit_equal_at(j, (int32_t)bits_of(v), false);
}
static struct x86_mem bits_at(struct jit *j, uint32_t bits)
{
    return simt_jit_equal_at(j, (int32_t)bits, false);
}

void simt_jit_round(struct jit *j, bool wide, enum jit_rounding how, int d, int a)
{
    const struct x86_vop op = {3, 1, wide, wide ? 0x09 : 0x08};
    simt_jit_put_imm(j, op, d, 0, a, (int)how | 8); /* raises nothing */
}

/* Between 0 and 1; what is no number becomes 0, as the second of two does when one is none. */
static int saturated(struct jit *j, const struct jit_insn *n, int part)
{
    int a = simt_jit_float(j, n, 0, part), r = simt_jit_new_vector(j);
    simt_jit_put(j, xor_w, r, r, r);
    simt_jit_put(j, most, r, a, r);
    simt_jit_put_mem(j, least, r, r, equal_at(j, 1));
    return r;
}

/* With AVX2 by the rounding of the whole processor, which is set before the first part and after the last: that takes
 * as long as many additions. */
static int directed(struct jit *j, const struct jit_insn *n, int part)
{
    const struct x86_vop ops[] = {
        [DIRECTED_ADD] = add, [DIRECTED_SUB] = sub, [DIRECTED_MUL] = multiply, [DIRECTED_FMA] = fused};
    int what = n->detail >> 2, rounding = n->detail & 3;
    int a = simt_jit_part(j, n->reads[0], part), b = simt_jit_part(j, n->reads[1], part);
    int c = what == DIRECTED_FMA ? simt_jit_part(j, n->reads[2], part) : 0, r = simt_jit_new_vector(j);
    if (what == DIRECTED_FMA) simt_jit_move(j, r, c);
    if (!simt_jit_is_avx2(j)) {
        struct x86_evex how = simt_jit_full();
        how.rounding = rounding;
        x86_evex(&j->x, ops[what], how, r, a, b);
        return r;
    }
    if (part == 0) x86_load_control(&j->x, OF_WORKER(controls[rounding]));
    simt_jit_put(j, ops[what], r, a, b);
    if (part == simt_jit_parts(j, n->writes[0]) - 1) x86_load_control(&j->x, OF_WORKER(controls[0]));
    return r;
}

static bool takes_tiny_for_zero(const struct jit_insn *n)
{
    return n->flushes && !n->guarded;
}

void simt_jit_find_flushed(struct jit *j)
{
    for (uint32_t s = 0; s < j->slot_count; s++) j->slots[s].tiny_is_zero = true;
    for (uint32_t k = 0; k < j->count; k++) {
        const struct jit_insn *n = &j->code[k];
        bool any = n->kind == JK_UNKNOWN || n->kind == JK_LEAVE, tiny = takes_tiny_for_zero(n);
        for (int r = 0; r < n->read_count && !tiny; r++) j->slots[n->reads[r]].tiny_is_zero = false;
        for (uint32_t s = 0; s < j->slot_count && any; s++) j->slots[s].tiny_is_zero = false;
    }
}

/* Slots are shared by values that are not alive at once: of this one, until it dies in the block. */
bool simt_jit_may_flush(const struct jit *j, const struct jit_insn *n, uint16_t slot)
{
    const struct jit_insn *end = j->code + j->block->end;
    if (j->slots[slot].tiny_is_zero) return true;
    for (const struct jit_insn *m = n; m < end && m < n + FARTHEST; m++) {
        if (m->kind == JK_UNKNOWN || m->kind == JK_LEAVE) return false;
        for (int r = 0; r < m->read_count; r++) {
            if (m->reads[r] != slot) continue;
            if (!takes_tiny_for_zero(m)) return false;
            if (m->dies >> r & 1) return true;
        }
    }
    return false;
}

/* With AVX-512 out of the way: they are rare, and nothing waits for what finds them. */
static void zero_denormals(struct jit *j, bool wide, int d, int a)
{
    struct x86 *x = &j->x;
    int some = x86_label(x), none = x86_label(x);
    enum x86_section was = x->now;
    struct x86_evex how = simt_jit_full();
    if (d != a) simt_jit_move(j, d, a);
    how.imm = 0x20; /* denormal */
    x86_evex(x, (struct x86_vop){3, 1, wide, 0x66}, how, DENORMAL, 0, a);
    x86_vex(x, (struct x86_vop){1, 0, 0, 0x98}, 128, DENORMAL, 0, DENORMAL, -1); /* kortestw */
    if (was == X86_HOT) x86_jump_if(x, CC_NE, some);
    x->now = X86_COLD;
    x86_bind(x, some);
    how = simt_jit_full();
    how.mask = DENORMAL;
    x86_evex_mem(x, (struct x86_vop){1, 1, wide, 0xdb}, how, d, d,
                 simt_jit_equal_at(j, wide ? INT64_MIN : INT32_MIN, wide));
    if (was == X86_HOT) x86_jump(x, none);
    x->now = was;
    x86_bind(x, none);
}

void simt_jit_zero_denormals(struct jit *j, int d, int a)
{
    int t = simt_jit_scratch(j);
    if (!simt_jit_is_avx2(j)) {
        zero_denormals(j, false, d, a);
        return;
    }
    simt_jit_put_mem(j, and_w, t, a, bits_at(j, 0x7fffffff));
    simt_jit_put_mem(j, (struct x86_vop){2, 1, 0, 0x3d}, t, t, bits_at(j, 0x007fffff)); /* the larger integer */
    x86_vex_mem(&j->x, (struct x86_vop){1, 1, 0, 0x76}, 256, t, t, bits_at(j, 0x007fffff), -1);
    simt_jit_put_imm(j, (struct x86_vop){1, 1, 0, 0x72}, 2, t, t, 1); /* all bits but the sign */
    simt_jit_put(j, and_not_w, d, t, a);
}

static int reciprocal(struct jit *j, const struct jit_insn *n, int part)
{
    int a = simt_jit_part(j, n->reads[0], part), r;
    int one = simt_jit_equal(j, n->wide ? 0x3ff0000000000000 : bits_of(1), n->wide);
    r = simt_jit_new_vector(j);
    if (n->wide) { /* with AVX-512 alone */
        zero_denormals(j, true, r, a);
        simt_jit_put(j, (struct x86_vop){1, 1, 1, 0x5e}, r, one, r);
        zero_denormals(j, true, r, r);
        return r;
    }
    simt_jit_zero_denormals(j, r, a);
    simt_jit_put(j, divide, r, one, r);
    simt_jit_zero_denormals(j, r, r);
    return r;
}

/* p = p * 2 to the power of whole numbers, rounded once. With AVX2 in two steps, the first of which is exact: the
 * numbers are the low bits of t. */
static void scale(struct jit *j, int p, int whole, int t)
{
    if (!simt_jit_is_avx2(j)) {
        simt_jit_put(j, (struct x86_vop){2, 1, 0, 0x2c}, p, p, whole);
        return;
    }
    simt_jit_put_mem(j, sub_w, t, t, bits_at(j, bits_of(POWER_SHIFT)));
    simt_jit_shift_by(j, false, SHIFT_SIGNED, whole, t, 1);
    simt_jit_put(j, sub_w, t, t, whole);
    simt_jit_shift_by(j, false, SHIFT_LEFT, whole, whole, 23);
    simt_jit_put_mem(j, add_w, whole, whole, bits_at(j, bits_of(1)));
    simt_jit_put(j, multiply, p, p, whole);
    simt_jit_shift_by(j, false, SHIFT_LEFT, t, t, 23);
    simt_jit_put_mem(j, add_w, t, t, bits_at(j, bits_of(1)));
    simt_jit_put(j, multiply, p, p, t);
}

/* As power.h has it. */
static int power(struct jit *j, const struct jit_insn *n, int part)
{
    static const float terms[] = {POWER_TERMS};
    int count = (int)(sizeof terms / sizeof *terms), t = simt_jit_scratch(j);
    int a = simt_jit_part(j, n->reads[0], part), x = simt_jit_new_vector(j), whole = simt_jit_new_vector(j);
    int p = simt_jit_new_vector(j), highest = simt_jit_equal(j, bits_of(POWER_MOST), false);
    simt_jit_put(j, least, x, highest, a); /* the second of two when that is no number */
    simt_jit_load(j, whole, equal_at(j, POWER_LEAST));
    simt_jit_put(j, most, x, whole, x);
    simt_jit_put_mem(j, add, t, x, equal_at(j, POWER_SHIFT));
    simt_jit_put_mem(j, sub, whole, t, equal_at(j, POWER_SHIFT));
    simt_jit_put(j, sub, x, x, whole);
    simt_jit_load(j, p, equal_at(j, terms[count - 1]));
    for (int k = count - 2; k >= 0; k--) {
        if (simt_jit_is_avx2(j)) {
            x86_vex_mem(&j->x, fused_by, 256, p, x, equal_at(j, terms[k]), -1);
            continue;
        }
        x86_evex_mem(&j->x, fused_by, simt_jit_full(), p, x, equal_at(j, terms[k]));
    }
    scale(j, p, whole, t);
    if (n->detail && simt_jit_is_avx2(j)) {
        x86_vex_mem(&j->x, compare, 256, t, p, equal_at(j, 0x1p-126f), NOT_LESS);
        simt_jit_put(j, and_w, p, p, t);
    } else if (n->detail) {
        struct x86_evex how = simt_jit_full();
        how.imm = NOT_LESS;
        x86_evex_mem(&j->x, compare, how, 1, p, equal_at(j, 0x1p-126f));
        x86_evex(&j->x, (struct x86_vop){1, 0, 0, 0x10},
                 (struct x86_evex){.bits = 512, .mask = 1, .zero = true, .imm = -1}, p, 0, p);
    }
    return p;
}

/* The second's number with the first's sign. */
static int with_sign(struct jit *j, const struct jit_insn *n, int part)
{
    int a = simt_jit_part(j, n->reads[0], part), b = simt_jit_part(j, n->reads[1], part), r = simt_jit_new_vector(j);
    int t = simt_jit_scratch(j);
    simt_jit_put_mem(j, and_w, t, a, bits_at(j, 0x80000000));
    simt_jit_put_mem(j, and_w, r, b, bits_at(j, 0x7fffffff));
    simt_jit_put(j, or_w, r, r, t);
    return r;
}

int simt_jit_odd_float(struct jit *j, const struct jit_insn *n, int part)
{
    int a, r;
    switch ((enum jit_float)n->op) {
    case JF_SATURATE: return saturated(j, n, part);
    case JF_DIRECTED: return directed(j, n, part);
    case JF_RCP_FTZ: return reciprocal(j, n, part);
    case JF_POWER: return power(j, n, part);
    case JF_COPYSIGN: return with_sign(j, n, part);
    default:
        a = simt_jit_float(j, n, 0, part);
        r = simt_jit_new_vector(j);
        simt_jit_round(j, n->wide, n->detail, r, a);
        return r;
    }
}
