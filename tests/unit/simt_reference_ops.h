/* What each instruction that computes does, for the plain interpreter of PTX (simt_reference.h): each value a 64-bit
 * number, integers by 128-bit and floats by soft arithmetic. */
#ifndef SIMT_REFERENCE_OPS_H
#define SIMT_REFERENCE_OPS_H

#include <string.h>
#include "runtime/simt/ptx.h"
#include "tests/unit/soft_float.h"

typedef __int128 ref_int;
#define REF_SHARED 0x0100000000000000u /* generic addresses of the windows: this interpreter's own */
#define REF_LOCAL  0x0200000000000000u

struct ref_op;
struct ref_insn {
    const struct ptx_insn *in;
    const struct ref_op *op;
    enum ptx_type type, from; /* the last two types: of the instruction, and of a conversion's source */
    enum soft_mode mode;
    int integral; /* cvt to whole numbers: a soft_mode, or -1 */
    bool ftz, sat, hi, shifted;
    enum ptx_space space;
    int count; /* v2, v4 */
    const char *compare, *combine, *word;
};

/* ---- values ---- */
static inline int ref_bits(enum ptx_type t)
{
    return t == PTX_PRED ? 1 : 8 * (int)ptx_type_size(t);
}
/* The letter that registers of the type have in texts. */
static inline char ref_class(enum ptx_type t)
{
    if (t == PTX_F32 || t == PTX_F64) return t == PTX_F32 ? 'f' : 'd';
    return ref_bits(t) == 16 ? 'h' : ref_bits(t) == 64 ? 'q' : 'r';
}
static inline bool ref_signed(enum ptx_type t)
{
    return t >= PTX_S8 && t <= PTX_S64;
}
static inline bool ref_float(enum ptx_type t)
{
    return t == PTX_F16 || t == PTX_BF16 || t == PTX_F32 || t == PTX_F64;
}
static inline struct soft_format ref_format(enum ptx_type t)
{
    return t == PTX_F16 ? soft_f16 : t == PTX_BF16 ? soft_bf16 : t == PTX_F64 ? soft_f64 : soft_f32;
}
static inline uint64_t ref_low(uint64_t v, int bits)
{
    return bits >= 64 ? v : v & (((uint64_t)1 << bits) - 1);
}
static inline ref_int ref_extend(uint64_t v, enum ptx_type t)
{
    int bits = ref_bits(t);
    v = ref_low(v, bits);
    return ref_signed(t) && v >> (bits - 1) ? (ref_int)v - ((ref_int)1 << bits) : (ref_int)v;
}

/* cvt, of every pair of integers and floats. `integral` is a rounding mode to whole numbers or -1. */
static inline uint64_t soft_convert(enum ptx_type to, enum ptx_type from, uint64_t bits, enum soft_mode mode,
                                    int integral, bool ftz, bool sat)
{
    int width = ref_bits(to);
    ref_int most = ((ref_int)1 << (width - ref_signed(to))) - 1, least = ref_signed(to) ? -most - 1 : 0;
    if (!ref_float(from) && !ref_float(to)) {
        ref_int v = ref_extend(bits, from);
        return ref_low((uint64_t)(!sat ? v : v > most ? most : v < least ? least : v), width);
    }
    struct soft s;
    if (!ref_float(from)) {
        s = soft_of_int(ref_extend(bits, from));
    } else {
        bits = ref_low(bits, ref_bits(from));
        s = soft_unpack(ref_format(from), ftz && from == PTX_F32 ? soft_flush(soft_f32, bits) : bits);
    }
    if (!ref_float(to)) {
        if (s.kind == SOFT_NAN) return from != PTX_F64 && width != 64 ? 0 : (uint64_t)1 << (width - 1);
        ref_int v = soft_to_int(s, (enum soft_mode)integral);
        return ref_low((uint64_t)(v > most ? most : v < least ? least : v), width);
    }
    if (integral >= 0 && s.kind == SOFT_FINITE) {
        bool negative = s.negative;
        if (s.exponent < 0) s = soft_of_int(soft_to_int(s, (enum soft_mode)integral));
        s.negative = negative;
    }
    uint64_t r = soft_pack(ref_format(to), s, mode);
    if (ftz && to == PTX_F32) r = soft_flush(soft_f32, r);
    return sat ? soft_saturate(ref_format(to), r) : r;
}

/* ---- instructions that compute: s are the sources as raw bits ---- */
struct ref_op {
    const char *name;
    uint64_t (*f)(const struct ref_insn *i, const uint64_t *s);
};
#define REF_X ref_extend(s[0], i->type)
#define REF_Y ref_extend(s[1], i->type)
#define REF_OP(name, expr)                                                                                             \
    static inline uint64_t ref_##name(const struct ref_insn *i, const uint64_t *s)                                     \
    {                                                                                                                  \
        (void)i;                                                                                                       \
        return (uint64_t)(expr);                                                                                       \
    }
static inline ref_int ref_clamp(const struct ref_insn *i, ref_int v)
{
    ref_int most = ((ref_int)1 << (ref_bits(i->type) - 1)) - 1;
    return !i->sat ? v : v > most ? most : v < -most - 1 ? -most - 1 : v;
}
static inline struct soft ref_soft(const struct ref_insn *i, uint64_t v)
{
    struct soft_format f = ref_format(i->type);
    v = ref_low(v, f.width);
    return soft_unpack(f, i->ftz ? soft_flush(f, v) : v);
}
static inline uint64_t ref_result(const struct ref_insn *i, struct soft s)
{
    struct soft_format f = ref_format(i->type);
    uint64_t r = soft_pack(f, s, i->mode);
    if (i->ftz) r = soft_flush(f, r);
    return i->sat ? soft_saturate(f, r) : r;
}
static inline struct soft ref_minus(struct soft s)
{
    s.negative = !s.negative;
    return s;
}
static inline ref_int ref_product(const struct ref_insn *i, const uint64_t *s)
{
    ref_int p = (ref_int)((soft_bits)REF_X * (soft_bits)REF_Y);
    int bits = ref_bits(i->type);
    return !i->hi ? p : ref_signed(i->type) ? p >> bits : (ref_int)((soft_bits)p >> bits);
}
static inline int ref_shift(const struct ref_insn *i, uint64_t n)
{
    n = ref_low(n, 32);
    return n > (uint64_t)ref_bits(i->type) ? ref_bits(i->type) : (int)n;
}
static inline int ref_top(uint64_t v)
{
    return v ? 63 - __builtin_clzll(v) : -1;
}
static inline uint64_t ref_field(const struct ref_insn *i, uint64_t x, uint64_t pos, uint64_t len)
{
    int bits = ref_bits(i->type);
    uint64_t p = pos & 255, n = len & 255, d = 0, top = p + n - 1 < (uint64_t)bits ? p + n - 1 : (uint64_t)bits - 1;
    bool sign = ref_signed(i->type) && n && (x >> top & 1);
    for (uint64_t k = 0; k < (uint64_t)bits; k++)
        d |= (k < n && k + p < (uint64_t)bits ? x >> (k + p) & 1 : (uint64_t)sign) << k;
    return d;
}
static inline uint64_t ref_insert(const struct ref_insn *i, uint64_t x, uint64_t into, uint64_t pos, uint64_t len)
{
    for (uint64_t k = 0, p = pos & 255; k < (len & 255) && k + p < (uint64_t)ref_bits(i->type); k++)
        into = (into & ~((uint64_t)1 << (k + p))) | (x >> k & 1) << (k + p);
    return into;
}
static inline uint64_t ref_logic(const uint64_t *s)
{
    uint64_t r = 0;
    for (int k = 0; k < 32; k++) r |= (s[3] >> ((s[0] >> k & 1) * 4 + (s[1] >> k & 1) * 2 + (s[2] >> k & 1)) & 1) << k;
    return r;
}
static inline uint64_t ref_permute(const uint64_t *s)
{
    uint64_t r = 0, bytes = (s[1] << 32) | (uint32_t)s[0];
    for (int k = 0; k < 4; k++) {
        uint64_t n = s[2] >> 4 * k & 15, b = bytes >> 8 * (n & 7) & 255;
        r |= (n & 8 ? (b >> 7) * 255 : b) << 8 * k;
    }
    return r;
}
static inline uint64_t ref_funnel(const struct ref_insn *i, const uint64_t *s)
{
    uint32_t n = (uint32_t)s[2];
    soft_bits v = (soft_bits)(uint32_t)s[1] << 32 | (uint32_t)s[0];
    n = i->shifted ? n & 31 : n > 32 ? 32 : n; /* .wrap or .clamp */
    return (uint32_t)(i->combine ? v << n >> 32 : v >> n);
}
/* Sums of products of bytes: the type is the first factor's, `from` the other's. */
static inline uint64_t ref_dot(const struct ref_insn *i, const uint64_t *s)
{
    ref_int sum = (ref_int)s[2];
    enum ptx_type first = ref_signed(i->type) ? PTX_S8 : PTX_U8, second = ref_signed(i->from) ? PTX_S8 : PTX_U8;
    for (int k = 0; k < 32; k += 8) sum += ref_extend(s[0] >> k, first) * ref_extend(s[1] >> k, second);
    return (uint64_t)sum;
}
/* A comparison of the type's values. */
static inline bool ref_compare(const struct ref_insn *i, uint64_t a, uint64_t b)
{
    const char *c = i->compare;
    ref_int x = ref_extend(a, i->type), y = ref_extend(b, i->type);
    int order = ref_float(i->type) ? soft_compare(ref_soft(i, a), ref_soft(i, b)) : x < y ? -1 : x > y;
    if (!strcmp(c, "num")) return order != 2;
    if (!strcmp(c, "nan")) return order == 2;
    if (order == 2) return strlen(c) == 3; /* equ, neu, ltu and so on hold for NaN */
    return !strncmp(c, "eq", 2)                       ? order == 0
           : !strncmp(c, "ne", 2)                     ? order != 0
           : !strncmp(c, "lt", 2) || !strcmp(c, "lo") ? order < 0
           : !strncmp(c, "le", 2) || !strcmp(c, "ls") ? order <= 0
           : !strncmp(c, "gt", 2) || !strcmp(c, "hi") ? order > 0
                                                      : order >= 0;
}
REF_OP(mov, s[0])
REF_OP(add, ref_float(i->type) ? (ref_int)ref_result(i, soft_add(ref_soft(i, s[0]), ref_soft(i, s[1]), i->mode))
                               : ref_clamp(i, REF_X + REF_Y))
REF_OP(sub, ref_float(i->type)
                ? (ref_int)ref_result(i, soft_add(ref_soft(i, s[0]), ref_minus(ref_soft(i, s[1])), i->mode))
                : ref_clamp(i, REF_X - REF_Y))
REF_OP(mul, ref_float(i->type) ? (ref_int)ref_result(i, soft_multiply(ref_soft(i, s[0]), ref_soft(i, s[1])))
                               : ref_product(i, s))
REF_OP(mad, ref_product(i, s) + (ref_int)s[2])
REF_OP(fma, ref_result(i, soft_add(soft_multiply(ref_soft(i, s[0]), ref_soft(i, s[1])), ref_soft(i, s[2]), i->mode)))
REF_OP(div, ref_float(i->type) ? (ref_int)ref_result(i, soft_divide(ref_soft(i, s[0]), ref_soft(i, s[1])))
            : REF_Y == 0       ? -1
                               : REF_X / REF_Y)
REF_OP(rem, REF_Y == 0 ? REF_X : REF_X % REF_Y)
REF_OP(sqrt, ref_result(i, soft_root(ref_soft(i, s[0]))))
REF_OP(rcp, ref_result(i, soft_divide(soft_of_int(1), ref_soft(i, s[0]))))
REF_OP(sad, (REF_X < REF_Y ? REF_Y - REF_X : REF_X - REF_Y) + (ref_int)s[2])
REF_OP(min, ref_float(i->type) ? (ref_int)soft_extreme(ref_format(i->type), s[0], s[1], false, false)
            : REF_X < REF_Y    ? REF_X
                               : REF_Y)
REF_OP(max, ref_float(i->type) ? (ref_int)soft_extreme(ref_format(i->type), s[0], s[1], true, false)
            : REF_X > REF_Y    ? REF_X
                               : REF_Y)
REF_OP(neg, ref_float(i->type) ? s[0] ^ (uint64_t)1 << (ref_bits(i->type) - 1) : -s[0])
REF_OP(abs, ref_float(i->type) ? s[0] & (((uint64_t)1 << (ref_bits(i->type) - 1)) - 1)
                               : (uint64_t)(REF_X < 0 ? -REF_X : REF_X))
REF_OP(and, s[0] & s[1])
REF_OP(or, s[0] | s[1])
REF_OP(xor, s[0] ^ s[1])
REF_OP(not, ~s[0])
REF_OP(shl, (soft_bits)s[0] << ref_shift(i, s[1]))
REF_OP(shr, REF_X >> ref_shift(i, s[1]))
REF_OP(selp, s[2] & 1 ? s[0] : s[1])
REF_OP(popc, __builtin_popcountll(ref_low(s[0], ref_bits(i->type))))
REF_OP(clz, ref_bits(i->type) - 1 - ref_top(ref_low(s[0], ref_bits(i->type))))
REF_OP(brev, ({
           uint64_t r = 0;
           for (int k = 0; k < ref_bits(i->type); k++) r = r << 1 | (s[0] >> k & 1);
           r;
       }))
REF_OP(bfind, ref_top(ref_low((uint64_t)(REF_X < 0 ? ~REF_X : REF_X), ref_bits(i->type))))
REF_OP(bfe, ref_field(i, s[0], s[1], s[2]))
REF_OP(bfi, ref_insert(i, s[0], s[1], s[2], s[3]))
REF_OP(lop3, ref_logic(s))
REF_OP(prmt, ref_permute(s))
REF_OP(shf, ref_funnel(i, s))
REF_OP(dp4a, ref_dot(i, s))
REF_OP(copysign, (s[0] & 0x80000000) | (s[1] & 0x7fffffff))
static inline uint64_t ref_conversion(const struct ref_insn *i, uint64_t v)
{
    uint64_t r = soft_convert(i->type, i->from, v, i->mode, i->integral, i->ftz, i->sat);
    return ref_float(i->type) ? r : (uint64_t)ref_extend(r, i->type); /* registers may be wider */
}
REF_OP(cvt, ref_conversion(i, s[0]))
REF_OP(cvta, i->combine ? s[0] - (i->space == PTX_SHARED  ? REF_SHARED
                                  : i->space == PTX_LOCAL ? REF_LOCAL
                                                          : 0)
                        : s[0] + (i->space == PTX_SHARED  ? REF_SHARED
                                  : i->space == PTX_LOCAL ? REF_LOCAL
                                                          : 0))
REF_OP(set, ref_compare(i, s[0], s[1]))

static const struct ref_op ref_ops[] = {
    {"mov", ref_mov},           {"add", ref_add},   {"sub", ref_sub},   {"mul", ref_mul},   {"mad", ref_mad},
    {"fma", ref_fma},           {"div", ref_div},   {"rem", ref_rem},   {"sqrt", ref_sqrt}, {"rcp", ref_rcp},
    {"sad", ref_sad},           {"min", ref_min},   {"max", ref_max},   {"neg", ref_neg},   {"abs", ref_abs},
    {"and", ref_and},           {"or", ref_or},     {"xor", ref_xor},   {"not", ref_not},   {"shl", ref_shl},
    {"shr", ref_shr},           {"selp", ref_selp}, {"popc", ref_popc}, {"clz", ref_clz},   {"brev", ref_brev},
    {"bfind", ref_bfind},       {"bfe", ref_bfe},   {"bfi", ref_bfi},   {"lop3", ref_lop3}, {"prmt", ref_prmt},
    {"shf", ref_shf},           {"cvt", ref_cvt},   {"cvta", ref_cvta}, {"setp", ref_set},  {"dp4a", ref_dp4a},
    {"copysign", ref_copysign},
};

/* ---- reading an instruction ---- */
static inline bool ref_word(const struct ptx_insn *in, const char *word)
{
    for (size_t k = 0; k < in->mod_count; k++)
        if (!strcmp(in->mods[k], word)) return true;
    return false;
}
static inline void ref_read_word(struct ref_insn *i, const char *w)
{
    static const char *const compares = " eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan ";
    static const struct {
        const char *name;
        int mode;
        bool integral;
    } modes[] = {{"rn", SOFT_RN, false}, {"rz", SOFT_RZ, false}, {"rm", SOFT_RM, false}, {"rp", SOFT_RP, false},
                 {"rni", SOFT_RN, true}, {"rzi", SOFT_RZ, true}, {"rmi", SOFT_RM, true}, {"rpi", SOFT_RP, true}};
    static const char *const spaces[] = {"generic", "reg", "param", "global", "const", "shared", "local"};
    char spaced[16];
    snprintf(spaced, sizeof spaced, " %.8s ", w);
    for (size_t k = 0; k < sizeof modes / sizeof *modes; k++)
        if (!strcmp(modes[k].name, w) && modes[k].integral)
            i->integral = modes[k].mode;
        else if (!strcmp(modes[k].name, w))
            i->mode = (enum soft_mode)modes[k].mode;
    for (int k = 0; k < 7; k++)
        if (!strcmp(spaces[k], w)) i->space = (enum ptx_space)k;
    if (w[0] == 'v' && (w[1] == '2' || w[1] == '4')) i->count = w[1] - '0';
    i->ftz |= !strcmp(w, "ftz");
    i->sat |= !strcmp(w, "sat");
    i->shifted |= !strcmp(w, "wrap");
    if (strcmp(i->in->opcode, "setp")) {
        i->hi |= !strcmp(w, "hi");
        if (!strcmp(w, "to") || !strcmp(w, "l")) i->combine = w;
        i->word = w;
    } else if (strstr(compares, spaced)) {
        i->compare = w;
    } else if (!strcmp(w, "and") || !strcmp(w, "or") || !strcmp(w, "xor")) {
        i->combine = w;
    }
}
static inline void ref_read_insn(struct ref_insn *i, const struct ptx_insn *in)
{
    *i = (struct ref_insn){.in = in, .integral = -1, .count = 1};
    for (size_t k = 0; k < in->mod_count; k++) {
        enum ptx_type t = ptx_type_find(in->mods[k]);
        if (t == PTX_NONE) {
            ref_read_word(i, in->mods[k]);
        } else {
            i->from = t;
            if (i->type == PTX_NONE) i->type = t;
        }
    }
    for (size_t k = 0; k < sizeof ref_ops / sizeof *ref_ops; k++)
        if (!strcmp(ref_ops[k].name, in->opcode)) i->op = &ref_ops[k];
}

#endif
