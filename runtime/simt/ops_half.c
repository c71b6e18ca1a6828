/* 16-bit floats: f16 and bf16, alone and two in a register. Each result is computed so exactly that rounding it once
 * gives what rounding the true result would: sums and products of these formats fit a double; a fused multiply-add
 * keeps a sticky last bit for what does not. */
#include <math.h>
#include <string.h>
#include "runtime/simt/exec.h"
#include "runtime/simt/rounded.h"

#define OP(name) static enum event name(char *R, const struct insn *i, uint32_t m, struct warp *w)

enum half_op { H_ADD, H_SUB, H_MUL, H_FMA, H_MIN, H_MAX, H_NEG, H_ABS, H_EX2, H_TANH };

static double widen(uint16_t h, bool brain)
{
    return (double)(brain ? simt_bfloat_to(h) : simt_half_to(h));
}
/* .ftz is there for f16 only. */
static uint16_t flush(uint16_t h, bool brain, uint32_t flags)
{
    return flags & F_FTZ && !brain && !(h & 0x7c00) ? h & 0x8000 : h;
}
static uint16_t narrow(double x, bool brain, uint32_t flags)
{
    if (flags & F_SAT) x = !(x > 0) ? 0 : x > 1 ? 1 : x;
    if (flags & F_RELU && x <= 0) x = 0;
    return flush(brain ? simt_bfloat_from(x, 0) : simt_half_from(x, 0), brain, flags);
}

/* x + y with the last bit set when the sum is not exact (rounding to odd). */
static double add_sticky(double x, double y)
{
    double sum = x + y, part = sum - x, error = (x - (sum - part)) + (y - part);
    uint64_t bits;
    if (error == 0 || isnan(error) || isinf(sum)) return sum;
    memcpy(&bits, &sum, 8);
    if (!(bits & 1)) bits = (error > 0) == (sum > 0) ? bits + 1 : bits - 1;
    memcpy(&sum, &bits, 8);
    return sum;
}

/* .xorsign.abs compares magnitudes; the sign is negative where one of the two is. */
static uint16_t extreme(bool most, bool brain, uint32_t flags, uint16_t a, uint16_t b)
{
    uint16_t magnitudes = flags & F_XORSIGN ? 0x7fff : 0xffff, sign = flags & F_XORSIGN ? (a ^ b) & 0x8000 : 0;
    double x = widen(a & magnitudes, brain), y = widen(b & magnitudes, brain);
    if (x != x || y != y)
        return flags & F_NAN || (x != x && y != y) ? 0x7fff : narrow(x != x ? y : x, brain, flags) | sign;
    bool first = x == y ? !signbit(x) == most : (x < y) != most;
    return narrow(first ? x : y, brain, flags) | sign;
}

/* The NaN with which copies of tensors fill what lies outside of them: cuTensorMapEncodeTiled with
 * CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA. Its bits, 0x7ff7 with either sign, are not in PTX's manual; they
 * are what GPUs write. */
static bool is_outside(uint16_t h)
{
    return (h & 0x7fff) == 0x7ff7;
}

static uint16_t compute(enum half_op op, bool brain, uint32_t flags, uint16_t a, uint16_t b, uint16_t c)
{
    uint16_t sign = 0x8000;
    a = flush(a, brain, flags);
    b = flush(b, brain, flags);
    if (op == H_NEG) return a ^ sign;
    if (op == H_ABS) return a & (uint16_t)~sign;
    double x = widen(a, brain), y = widen(b, brain);
    switch (op) {
    case H_ADD: return narrow(add_sticky(x, y), brain, flags);
    case H_SUB: return narrow(add_sticky(x, -y), brain, flags);
    case H_MUL: return narrow(x * y, brain, flags);
    case H_FMA: /* .oob: what lies outside of a tensor counts as zero, and the product with it as the sum */
        if (flags & F_OOB && (is_outside(a) || is_outside(b))) return 0;
        return narrow(add_sticky(x * y, widen(flush(c, brain, flags), brain)), brain, flags);
    case H_MIN: return extreme(false, brain, flags, a, b);
    case H_MAX: return extreme(true, brain, flags, a, b);
    case H_EX2: return narrow(exp2(x), brain, flags);
    default: return narrow(tanh(x), brain, flags);
    }
}

#define HALF(name, op, brain)                                                                                          \
    OP(name)                                                                                                           \
    {                                                                                                                  \
        (void)w;                                                                                                       \
        EACH_LANE(l, m)                                                                                                \
        u32_at(R, i->d)[l] = compute(op, brain, i->flags, (uint16_t)u32_at(R, i->a)[l], (uint16_t)u32_at(R, i->b)[l],  \
                                     (uint16_t)u32_at(R, i->c)[l]);                                                    \
        return EV_NEXT;                                                                                                \
    }                                                                                                                  \
    OP(name##x2)                                                                                                       \
    {                                                                                                                  \
        (void)w;                                                                                                       \
        EACH_LANE(l, m)                                                                                                \
        {                                                                                                              \
            uint32_t a = u32_at(R, i->a)[l], b = u32_at(R, i->b)[l], c = u32_at(R, i->c)[l];                           \
            uint32_t low = compute(op, brain, i->flags, (uint16_t)a, (uint16_t)b, (uint16_t)c);                        \
            uint32_t high =                                                                                            \
                compute(op, brain, i->flags, (uint16_t)(a >> 16), (uint16_t)(b >> 16), (uint16_t)(c >> 16));           \
            u32_at(R, i->d)[l] = low | high << 16;                                                                     \
        }                                                                                                              \
        return EV_NEXT;                                                                                                \
    }
#define BOTH(name, op)                                                                                                 \
    HALF(name##_f16, op, false)                                                                                        \
    HALF(name##_bf16, op, true)
BOTH(add, H_ADD)
BOTH(sub, H_SUB)
BOTH(mul, H_MUL)
BOTH(fma, H_FMA)
/* What vectors do not compute of it is computed here. */
enum event simt_op_fma_bf16(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    return fma_bf16(R, i, m, w);
}
enum event simt_op_fma_bf16x2(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    return fma_bf16x2(R, i, m, w);
}
BOTH(min, H_MIN)
BOTH(max, H_MAX)
BOTH(neg, H_NEG)
BOTH(abs, H_ABS)
BOTH(ex2, H_EX2)
BOTH(tanh, H_TANH)

/* ---- comparisons ---- */
enum compare { C_EQ, C_NE, C_LT, C_LE, C_GT, C_GE, C_EQU, C_NEU, C_LTU, C_LEU, C_GTU, C_GEU, C_NUM, C_NAN };

static bool compare(enum compare op, double x, double y)
{
    bool nan = x != x || y != y;
    switch (op) {
    case C_EQ: return x == y;
    case C_NE: return x < y || x > y;
    case C_LT: return x < y;
    case C_LE: return x <= y;
    case C_GT: return x > y;
    case C_GE: return x >= y;
    case C_EQU: return nan || x == y;
    case C_NEU: return x != y;
    case C_LTU: return nan || x < y;
    case C_LEU: return nan || x <= y;
    case C_GTU: return nan || x > y;
    case C_GEU: return nan || x >= y;
    case C_NUM: return !nan;
    default: return nan;
    }
}

/* Of the low 16 bits. */
static bool compare_halves(enum compare op, bool brain, uint32_t flags, uint32_t a, uint32_t b)
{
    return compare(op, widen(flush((uint16_t)a, brain, flags), brain), widen(flush((uint16_t)b, brain, flags), brain));
}

/* setp on one pair; on pairs of pairs p is the low and q the high one's result. */
static enum event compare_lanes(char *R, const struct insn *i, uint32_t m, enum compare op, bool brain, bool two)
{
    uint32_t low = 0, high = 0;
    EACH_LANE(l, m)
    {
        uint32_t a = u32_at(R, i->a)[l], b = u32_at(R, i->b)[l];
        low |= (uint32_t)compare_halves(op, brain, i->flags, a, b) << l;
        high |= (uint32_t)compare_halves(op, brain, i->flags, a >> 16, b >> 16) << l;
    }
    if (!two) {
        simt_set_predicate(R, i, m, low);
        return EV_NEXT;
    }
    uint32_t c = *u32_at(R, i->c), *p = u32_at(R, i->d), *q = u32_at(R, i->d2);
    if (i->mode == 1) low &= c, high &= c;
    if (i->mode == 2) low |= c, high |= c;
    if (i->mode == 3) low ^= c, high ^= c;
    *p = (*p & ~m) | (low & m);
    *q = (*q & ~m) | (high & m);
    return EV_NEXT;
}
#define SETP(name, op)                                                                                                 \
    OP(setp_##name##_f16)                                                                                              \
    {                                                                                                                  \
        (void)w;                                                                                                       \
        return compare_lanes(R, i, m, op, false, false);                                                               \
    }                                                                                                                  \
    OP(setp_##name##_bf16)                                                                                             \
    {                                                                                                                  \
        (void)w;                                                                                                       \
        return compare_lanes(R, i, m, op, true, false);                                                                \
    }                                                                                                                  \
    OP(setp_##name##_f16x2)                                                                                            \
    {                                                                                                                  \
        (void)w;                                                                                                       \
        return compare_lanes(R, i, m, op, false, true);                                                                \
    }                                                                                                                  \
    OP(setp_##name##_bf16x2)                                                                                           \
    {                                                                                                                  \
        (void)w;                                                                                                       \
        return compare_lanes(R, i, m, op, true, true);                                                                 \
    }
#define EACH_COMPARE(X)                                                                                                \
    X(eq, C_EQ)                                                                                                        \
    X(ne, C_NE)                                                                                                        \
    X(lt, C_LT)                                                                                                        \
    X(le, C_LE)                                                                                                        \
    X(gt, C_GT)                                                                                                        \
    X(ge, C_GE)                                                                                                        \
    X(equ, C_EQU) X(neu, C_NEU) X(ltu, C_LTU) X(leu, C_LEU) X(gtu, C_GTU) X(geu, C_GEU) X(num, C_NUM) X(nan, C_NAN)
EACH_COMPARE(SETP)

/* set.CMP.f16x2.f16x2: 1.0 or 0.0 (with an integer destination type ones or zeros) for each half. */
static uint32_t set_pair(const struct insn *i, uint32_t a, uint32_t b, enum compare op, bool brain, bool ones)
{
    uint32_t yes = ones ? 0xffff : brain ? 0x3f80 : 0x3c00;
    uint32_t low = compare_halves(op, brain, i->flags, a, b) ? yes : 0;
    uint32_t high = compare_halves(op, brain, i->flags, a >> 16, b >> 16) ? yes : 0;
    return low | high << 16;
}
#define SET(name, op)                                                                                                  \
    SET_ONE(set_##name##_f16x2, op, false, false)                                                                      \
    SET_ONE(set_##name##_bf16x2, op, true, false)                                                                      \
    SET_ONE(set_##name##_u32_f16x2, op, false, true)                                                                   \
    SET_ONE(set_##name##_u32_bf16x2, op, true, true)
#define SET_ONE(name, op, brain, ones)                                                                                 \
    OP(name)                                                                                                           \
    {                                                                                                                  \
        (void)w;                                                                                                       \
        EACH_LANE(l, m) u32_at(R, i->d)[l] = set_pair(i, u32_at(R, i->a)[l], u32_at(R, i->b)[l], op, brain, ones);     \
        return EV_NEXT;                                                                                                \
    }
EACH_COMPARE(SET)

/* ---- two floats into one register: the first operand becomes the upper half ---- */
#define PACK(name, from)                                                                                               \
    OP(name)                                                                                                           \
    {                                                                                                                  \
        (void)w;                                                                                                       \
        EACH_LANE(l, m)                                                                                                \
        {                                                                                                              \
            float high, low;                                                                                           \
            memcpy(&high, &u32_at(R, i->a)[l], 4);                                                                     \
            memcpy(&low, &u32_at(R, i->b)[l], 4);                                                                      \
            if (i->flags & F_RELU) high = high <= 0 ? 0 : high, low = low <= 0 ? 0 : low;                              \
            u32_at(R, i->d)[l] = (uint32_t)from((double)high, i->flags) << 16 | from((double)low, i->flags);           \
        }                                                                                                              \
        return EV_NEXT;                                                                                                \
    }
PACK(pack_f16x2, simt_half_from)
PACK(pack_bf16x2, simt_bfloat_from)
/* .rs: the random bits for the upper half are in the upper half of the third operand. */
#define PACK_BY_CHANCE(name, from)                                                                                     \
    OP(name)                                                                                                           \
    {                                                                                                                  \
        (void)w;                                                                                                       \
        EACH_LANE(l, m)                                                                                                \
        {                                                                                                              \
            float high, low;                                                                                           \
            uint32_t random = u32_at(R, i->c)[l];                                                                      \
            memcpy(&high, &u32_at(R, i->a)[l], 4);                                                                     \
            memcpy(&low, &u32_at(R, i->b)[l], 4);                                                                      \
            if (i->flags & F_RELU) high = high <= 0 ? 0 : high, low = low <= 0 ? 0 : low;                              \
            u32_at(R, i->d)[l] =                                                                                       \
                (uint32_t)from((double)high, random >> 16, i->flags) << 16 | from((double)low, random, i->flags);      \
        }                                                                                                              \
        return EV_NEXT;                                                                                                \
    }
PACK_BY_CHANCE(chance_f16x2, simt_half_by_chance)
PACK_BY_CHANCE(chance_bf16x2, simt_bfloat_by_chance)

#define ARITH (F_RN | F_FTZ | F_SAT | F_RELU)
#define LIMIT (F_FTZ | F_NAN)
#define ROWS(op, f, two, three, flags)                                                                                 \
    {op ".f16", two, f##_f16, NULL, flags}, {op ".f16x2", two, f##_f16x2, NULL, flags},                                \
        {op ".bf16", two, f##_bf16, NULL, flags},                                                                      \
    {                                                                                                                  \
        op ".bf16x2", two, f##_bf16x2, NULL, flags                                                                     \
    }
#define SETP_ROWS(name, op)                                                                                            \
    {"setp." #name ".f16", "pww", setp_##name##_f16, NULL, F_FTZ},                                                     \
        {"setp." #name ".bf16", "pww", setp_##name##_bf16, NULL, 0},                                                   \
        {"setp." #name ".f16x2", "pww", setp_##name##_f16x2, NULL, F_FTZ},                                             \
        {"setp." #name ".bf16x2", "pww", setp_##name##_bf16x2, NULL, 0},                                               \
        {"set." #name ".f16x2.f16x2", "www", set_##name##_f16x2, NULL, F_FTZ},                                         \
        {"set." #name ".bf16x2.bf16x2", "www", set_##name##_bf16x2, NULL, 0},                                          \
        {"set." #name ".u32.f16x2", "www", set_##name##_u32_f16x2, NULL, F_FTZ},                                       \
        {"set." #name ".u32.bf16x2", "www", set_##name##_u32_bf16x2, NULL, 0},
static const struct op_row rows[] = {ROWS("add", add, "www", 0, ARITH),
                                     ROWS("sub", sub, "www", 0, ARITH),
                                     ROWS("mul", mul, "www", 0, ARITH),
                                     ROWS("fma", fma, "wwww", 0, ARITH | F_OOB),
                                     ROWS("min", min, "www", 0, LIMIT),
                                     ROWS("max", max, "www", 0, LIMIT),
                                     ROWS("min.abs", min, "www", 0, LIMIT | F_XORSIGN),
                                     ROWS("max.abs", max, "www", 0, LIMIT | F_XORSIGN),
                                     ROWS("neg", neg, "ww", 0, F_FTZ),
                                     ROWS("abs", abs, "ww", 0, F_FTZ),
                                     ROWS("ex2", ex2, "ww", 0, F_APPROX | F_FTZ),
                                     ROWS("tanh", tanh, "ww", 0, F_APPROX),
                                     {"cvt.f16x2.f32", "www", pack_f16x2, NULL, F_RN | F_RZ | F_RELU | F_SATFINITE},
                                     {"cvt.bf16x2.f32", "www", pack_bf16x2, NULL, F_RN | F_RZ | F_RELU | F_SATFINITE},
                                     {"cvt.rs.f16x2.f32", "wwww", chance_f16x2, NULL, F_RELU | F_SATFINITE},
                                     {"cvt.rs.bf16x2.f32", "wwww", chance_bf16x2, NULL, F_RELU | F_SATFINITE},
                                     EACH_COMPARE(SETP_ROWS)};
const struct op_table simt_ops_half = {rows, sizeof rows / sizeof *rows};
