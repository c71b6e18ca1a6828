/* Arithmetic of f16 and bf16, one and two in a register: the exact result rounded once. */
#include "tests/unit/simt_insn.h"
#include "tests/unit/soft_float.h"

enum { ADD, SUB, MUL, FMA, MIN, MAX, NEG, ABS };
static const struct {
    const char *op;
    int inputs;
    const char *flags; /* combinations that exist, for f16 */
    const char *brain; /* and for bf16 */
} operations[] = {
    {"add", 2, " .rn .ftz .sat .ftz.sat", " .rn"},
    {"sub", 2, " .rn .ftz .sat .ftz.sat", " .rn"},
    {"mul", 2, " .rn .ftz .sat .ftz.sat", " .rn"},
    {"fma.rn", 3, " .ftz .sat .ftz.sat .relu .ftz.relu .oob .oob.relu .oob.sat", " .relu .oob .oob.relu"},
    {"min", 2, " .ftz .NaN .ftz.NaN .xorsign.abs .NaN.xorsign.abs", " .NaN .xorsign.abs .NaN.xorsign.abs"},
    {"max", 2, " .ftz .NaN .ftz.NaN .xorsign.abs .NaN.xorsign.abs", " .NaN .xorsign.abs .NaN.xorsign.abs"},
    {"neg", 1, " .ftz", ""},
    {"abs", 1, " .ftz", ""},
};

static uint64_t extreme(struct soft_format f, const char *flags, uint64_t x, uint64_t y, bool most)
{
    uint64_t sign = 0;
    if (strstr(flags, "xorsign")) {
        sign = (x ^ y) & 0x8000;
        x &= 0x7fff, y &= 0x7fff;
    }
    return soft_extreme(f, x, y, most, strstr(flags, "NaN") != NULL) | sign;
}
static uint64_t one(int op, struct soft_format f, const char *flags, uint64_t a, uint64_t b, uint64_t c)
{
    bool ftz = strstr(flags, "ftz") != NULL;
    /* A factor that lies outside of a tensor makes the sum zero; an addend does not. */
    if (strstr(flags, "oob") && ((a & 0x7fff) == 0x7ff7 || (b & 0x7fff) == 0x7ff7)) return 0;
    uint64_t in[] = {a & 0xffff, b & 0xffff, c & 0xffff}, r;
    struct soft s[3];
    for (int k = 0; k < 3; k++) {
        if (ftz) in[k] = soft_flush(f, in[k]);
        s[k] = soft_unpack(f, in[k]);
    }
    if (op == SUB) s[1].negative = !s[1].negative;
    switch (op) {
    case ADD:
    case SUB: r = soft_pack(f, soft_add(s[0], s[1], SOFT_RN), SOFT_RN); break;
    case MUL: r = soft_pack(f, soft_multiply(s[0], s[1]), SOFT_RN); break;
    case FMA: r = soft_pack(f, soft_add(soft_multiply(s[0], s[1]), s[2], SOFT_RN), SOFT_RN); break;
    case MIN: r = extreme(f, flags, in[0], in[1], false); break;
    case MAX: r = extreme(f, flags, in[0], in[1], true); break;
    case NEG: r = in[0] ^ 0x8000; break;
    default: r = in[0] & 0x7fff; break;
    }
    if (ftz) r = soft_flush(f, r);
    if (strstr(flags, "sat")) r = soft_saturate(f, r);
    struct soft result = soft_unpack(f, r);
    return strstr(flags, "relu") && result.negative && result.kind != SOFT_NAN ? 0 : r;
}

static void check_type(const char *type, struct soft_format f, bool brain)
{
    for (int k = 0; k < (int)COUNT(operations); k++) {
        const char *list = brain ? operations[k].brain : operations[k].flags;
        for (const char *s = list;; s++) { /* the empty one first */
            char flags[32];
            snprintf(flags, sizeof flags, "%.*s", (int)strcspn(s, " "), s);
            const char *rest[] = {"", "", ", %hy", ", %hy, %hz"}, *pairs[] = {"", "", ", %ry", ", %ry, %rz"};
            INSN(sprint("%s%s.%s %%ho, %%hx%s;", operations[k].op, flags, type, rest[operations[k].inputs]),
                 brain ? BF16S : F16S, one(k, f, flags, x, y, z));
            INSN(sprint("%s%s.%sx2 %%ro, %%rx%s;", operations[k].op, flags, type, pairs[operations[k].inputs]),
                 brain ? BF16S : F16S, one(k, f, flags, x, y, z) | one(k, f, flags, x >> 16, y >> 16, z >> 16) << 16);
            s += strcspn(s, " ");
            if (!*s) break;
        }
    }
}
INSN_TEST(f16_arithmetic)
{
    check_type("f16", soft_f16, false);
}
INSN_TEST(bf16_arithmetic)
{
    check_type("bf16", soft_bf16, true);
}

/* The approximations of halves are good to an ulp or so; ours round the exact value but for double's own error. */
static float half_value(uint64_t bits, bool brain)
{
    struct soft s = soft_unpack(brain ? soft_bf16 : soft_f16, bits & 0xffff);
    return f32_of(soft_pack(soft_f32, s, SOFT_RN));
}
/* Both halves of a register are as each alone. */
INSN_TEST(approximations_of_pairs)
{
    static const char *const ops[] = {"ex2.approx", "tanh.approx"};
    for (int k = 0; k < 4; k++) {
        const char *op = ops[k / 2], *flush = k == 1 ? ".ftz" : "", *type = k & 1 ? "bf16" : "f16";
        INSN(
            sprint("{ .reg .b16 %%l, %%h; .reg .b32 %%p; mov.b32 {%%l, %%h}, %%rx; %s%s.%s %%l, %%l; %s%s.%s %%h, %%h; "
                   "mov.b32 %%p, {%%l, %%h}; %s%s.%sx2 %%ro, %%rx; xor.b32 %%ro, %%ro, %%p; }",
                   op, flush, type, op, flush, type, op, flush, type),
            BITS, 0);
    }
}

INSN_TEST(approximations_of_halves)
{
    for (int k = 0; k < 4; k++) {
        bool brain = k & 1, tanh_ = k & 2;
        const char *type = brain ? "bf16" : "f16";
        const char *text = sprint("{ .reg .b16 %%t; %s%s.%s %%t, %%hx; cvt.f32.%s %%fo, %%t; }",
                                  tanh_ ? "tanh.approx" : "ex2.approx", brain && !tanh_ ? ".ftz" : "", type, type);
        make_cases(text);
        for (int i = 0; i < all_case_count; i++) {
            double v = (double)half_value(in_x[i], brain), r = tanh_ ? tanh(v) : exp2(v);
            double most = brain ? 0x1.ffp127 : 65520;
            want_value[i] = r >= most ? INFINITY : r;
            want_error[i] = fabs(r) * (brain ? 0x1p-7 : 0x1p-9) + (brain ? 0x1p-126 : 0x1p-24);
        }
        check_insn(text, NEAR);
    }
}
