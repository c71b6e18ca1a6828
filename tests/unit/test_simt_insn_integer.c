/* Integer instructions of the software GPU in every type, against what 128-bit arithmetic gives. */
#include "tests/unit/simt_insn.h"

typedef __int128 wide;

/* A row: an instruction with the types that it has and what it computes. Operands: o the result and x y z inputs of the
 * instruction's type; W and w of twice its width (result, z); R a result, Y Z V inputs, of 32 bits. The inputs come
 * widened as their types say, and of the value the result's width counts. */
struct row {
    const char *op, *types, *operands;
    wide (*f)(wide x, wide y, wide z, wide v, int bits, bool is_signed);
};
#define F(name, expr)                                                                                                  \
    static wide f_##name(wide x, wide y, wide z, wide v, int bits, bool is_signed)                                     \
    {                                                                                                                  \
        (void)x, (void)y, (void)z, (void)v, (void)bits, (void)is_signed;                                               \
        return (wide)(expr);                                                                                           \
    }

static const struct type {
    const char *name;
    int bits;
    bool is_signed;
} types[] = {{"u16", 16, false}, {"s16", 16, true},  {"u32", 32, false}, {"s32", 32, true}, {"u64", 64, false},
             {"s64", 64, true},  {"b16", 16, false}, {"b32", 32, false}, {"b64", 64, false}};

static wide low(wide v, int bits)
{
    return v & (((wide)1 << bits) - 1);
}
static wide extend(wide v, int bits, bool is_signed)
{
    v = low(v, bits);
    return is_signed && v >> (bits - 1) ? v - ((wide)1 << bits) : v;
}
static wide all_ones(int bits)
{
    return ((wide)1 << bits) - 1;
}
static wide clamp(wide v, int bits)
{
    wide most = all_ones(bits - 1);
    return v > most ? most : v < -most - 1 ? -most - 1 : v;
}
/* floor(a * b / 2^n) without overflow of 128 bits: for 64-bit operands a product of unsigned ones needs them all. */
static wide product_high(wide x, wide y, int bits)
{
    if (x >= 0 && y >= 0) return (wide)((unsigned __int128)x * (unsigned __int128)y >> bits);
    return x * y >> bits;
}

F(add, x + y)
F(sub, x - y)
F(add_sat, clamp(x + y, bits))
F(sub_sat, clamp(x - y, bits))
F(mul_lo, (unsigned __int128)x *(unsigned __int128)y)
F(mul_hi, product_high(x, y, bits))
F(mad_lo, (unsigned __int128)x *(unsigned __int128)y + (unsigned __int128)z)
F(mad_hi, product_high(x, y, bits) + z)
F(mad_hi_sat, clamp(product_high(x, y, bits) + z, bits))
F(sad, z + (x < y ? y - x : x - y))
F(div, y == 0 ? -1 : x / y)
F(rem, y == 0 ? x : x % y)
F(abs, x < 0 ? -x : x)
F(neg, -x)
F(min, x < y ? x : y)
F(max, x > y ? x : y)
F(and, x &y)
F(or, x | y)
F(xor, x ^ y)
F(not, ~x)
F(cnot, x == 0)
F(shl, y >= bits ? 0 : x << (int)y)
F(shr, y >= bits ? (x < 0 ? -1 : 0) : x >> (int)y)
F(mov, x)
F(selp, v & 1 ? x : y)
F(slct, v & 0x80000000 ? y : x)

static wide bit_count(wide x)
{
    int n = 0;
    for (int k = 0; k < 64; k++) n += (int)(x >> k & 1);
    return n;
}
/* The position of the highest one bit, or -1. */
static int top_bit(wide x)
{
    int at = -1;
    for (int k = 0; k < 64; k++)
        if (x >> k & 1) at = k;
    return at;
}
static wide reverse(wide x, int bits)
{
    wide r = 0;
    for (int k = 0; k < bits; k++) r = r << 1 | (x >> k & 1);
    return r;
}
F(popc, bit_count(x))
F(clz, bits - 1 - top_bit(x))
F(brev, reverse(x, bits))
F(bfind, top_bit(low(x < 0 ? ~x : x, bits)))
F(bfind_shift, ({
      int at = top_bit(low(x < 0 ? ~x : x, bits));
      at < 0 ? -1 : bits - 1 - at;
  }))
/* As the manual's pseudo code has it: bit by bit. */
static wide field(wide x, int pos, int len, int bits, bool is_signed)
{
    int most = bits - 1;
    pos &= 255, len &= 255;
    wide d = 0, a = low(x, bits);
    bool sign = is_signed && len != 0 && (a >> (pos + len - 1 < most ? pos + len - 1 : most) & 1);
    for (int i = 0; i <= most; i++) d |= (wide)(i < len && pos + i <= most ? (int)(a >> (pos + i) & 1) : sign) << i;
    return d;
}
static wide with_field(wide a, wide b, int pos, int len, int bits)
{
    wide f = b;
    pos &= 255, len &= 255;
    for (int i = 0; i < len && pos + i < bits; i++) f = (f & ~((wide)1 << (pos + i))) | ((a >> i & 1) << (pos + i));
    return f;
}
F(bfe, field(x, (int)low(y, 32), (int)low(z, 32), bits, is_signed))
F(bfi, with_field(x, y, (int)low(z, 32), (int)low(v, 32), bits))
static wide bit_mask(wide pos, wide len, bool wrap)
{
    wide r = 0;
    if (wrap) pos &= 31, len &= 31;
    for (int k = 0; k < 32; k++)
        if (k >= pos && k < pos + len) r |= (wide)1 << k;
    return r;
}
F(bmsk_clamp, bit_mask(x, y, false))
F(bmsk_wrap, bit_mask(x, y, true))
F(shf_l_clamp, (y << 32 | x) << (int)(z < 32 ? z : 32) >> 32)
F(shf_l_wrap, (y << 32 | x) << (int)(z & 31) >> 32)
F(shf_r_clamp, (y << 32 | x) >> (int)(z < 32 ? z : 32))
F(shf_r_wrap, (y << 32 | x) >> (int)(z & 31))
static wide low24(wide x, bool is_signed)
{
    return extend(x, 24, is_signed);
}
F(mul24_lo, low24(x, is_signed) * low24(y, is_signed))
F(mul24_hi, low24(x, is_signed) * low24(y, is_signed) >> 16)
F(mad24_lo, low24(x, is_signed) * low24(y, is_signed) + z)
F(mad24_hi, (low24(x, is_signed) * low24(y, is_signed) >> 16) + z)
F(mad24_hi_sat, clamp((low24(x, is_signed) * low24(y, is_signed) >> 16) + z, 32))
static wide szext(wide x, wide n, bool is_signed, bool wrap)
{
    if (wrap) n &= 31;
    return n == 0 ? 0 : n >= 32 ? x : extend(x, (int)n, is_signed);
}
F(szext_clamp, szext(x, y, is_signed, false))
F(szext_wrap, szext(x, y, is_signed, true))

#define ALL   "u16 s16 u32 s32 u64 s64"
#define BOTH  "u32 s32 u64 s64"
#define PLAIN "b16 b32 b64"
static const struct row rows[] = {
    {"add", ALL, "oxy", f_add},
    {"sub", ALL, "oxy", f_sub},
    {"add.sat", "s32", "oxy", f_add_sat},
    {"sub.sat", "s32", "oxy", f_sub_sat},
    {"mul.lo", ALL, "oxy", f_mul_lo},
    {"mul.hi", ALL, "oxy", f_mul_hi},
    {"mul.wide", "u16 s16 u32 s32", "Wxy", f_mul_lo},
    {"mad.lo", ALL, "oxyz", f_mad_lo},
    {"mad.hi", ALL, "oxyz", f_mad_hi},
    {"mad.hi.sat", "s32", "oxyz", f_mad_hi_sat},
    {"mad.wide", "u16 s16 u32 s32", "Wxyw", f_mad_lo},
    {"sad", ALL, "oxyz", f_sad},
    {"div", ALL, "oxy", f_div},
    {"rem", ALL, "oxy", f_rem},
    {"abs", "s16 s32 s64", "ox", f_abs},
    {"neg", "s16 s32 s64", "ox", f_neg},
    {"min", ALL, "oxy", f_min},
    {"max", ALL, "oxy", f_max},
    {"and", PLAIN, "oxy", f_and},
    {"or", PLAIN, "oxy", f_or},
    {"xor", PLAIN, "oxy", f_xor},
    {"not", PLAIN, "ox", f_not},
    {"cnot", PLAIN, "ox", f_cnot},
    {"shl", PLAIN, "oxY", f_shl},
    {"shr", "b16 b32 b64 " ALL, "oxY", f_shr},
    {"mov", PLAIN " " ALL, "ox", f_mov},
    {"selp", PLAIN " " ALL, "oxyp", f_selp},
    {"slct", PLAIN " " ALL, "oxyS", f_slct},
    {"popc", "b32 b64", "Rx", f_popc},
    {"clz", "b32 b64", "Rx", f_clz},
    {"brev", "b32 b64", "ox", f_brev},
    {"bfind", BOTH, "Rx", f_bfind},
    {"bfind.shiftamt", BOTH, "Rx", f_bfind_shift},
    {"bfe", BOTH, "oxYZ", f_bfe},
    {"bfi", "b32 b64", "oxyZV", f_bfi},
    {"bmsk.clamp", "b32", "oxy", f_bmsk_clamp},
    {"bmsk.wrap", "b32", "oxy", f_bmsk_wrap},
    {"szext.clamp", "u32 s32", "oxY", f_szext_clamp},
    {"szext.wrap", "u32 s32", "oxY", f_szext_wrap},
    {"shf.l.clamp", "b32", "oxyz", f_shf_l_clamp},
    {"shf.l.wrap", "b32", "oxyz", f_shf_l_wrap},
    {"shf.r.clamp", "b32", "oxyz", f_shf_r_clamp},
    {"shf.r.wrap", "b32", "oxyz", f_shf_r_wrap},
    {"mul24.lo", "u32 s32", "oxy", f_mul24_lo},
    {"mul24.hi", "u32 s32", "oxy", f_mul24_hi},
    {"mad24.lo", "u32 s32", "oxyz", f_mad24_lo},
    {"mad24.hi", "u32 s32", "oxyz", f_mad24_hi},
    {"mad24.hi.sat", "s32", "oxyz", f_mad24_hi_sat},
};

static char class_of(int bits)
{
    return bits == 16 ? 'h' : bits == 32 ? 'r' : 'q';
}

static void check_row(const struct row *r, const struct type *t)
{
    char text[256];
    int n = snprintf(text, sizeof text, "%s.%s%s", r->op, t->name, strchr(r->operands, 'S') ? ".s32" : "");
    int z_bits = t->bits, y_bits = strchr(r->operands, 'Y') ? 32 : t->bits, out_bits = t->bits;
    for (const char *o = r->operands; *o; o++) {
        int bits = strchr("RYZVS", *o) ? 32 : strchr("Ww", *o) ? 2 * t->bits : t->bits;
        char class = *o == 'p' ? 'p' : class_of(bits), name = "oxyzv"[o - r->operands];
        if (*o == 'p' || *o == 'S') name = 'v';
        if (o == r->operands) out_bits = bits;
        if (name == 'z') z_bits = bits;
        n += snprintf(text + n, sizeof text - (size_t)n, "%s %%%c%c", o == r->operands ? "" : ",", class, name);
    }
    snprintf(text + n, sizeof text - (size_t)n, ";");
    INSN(text, BITS,
         low(r->f(extend((wide)x, t->bits, t->is_signed),
                  extend((wide)y, y_bits, y_bits == t->bits && t->is_signed && !strchr(r->operands, 'Y')),
                  extend((wide)z, z_bits, t->is_signed), (wide)v, t->bits, t->is_signed),
             out_bits));
}

INSN_TEST(integers)
{
    for (size_t k = 0; k < COUNT(rows); k++)
        for (size_t j = 0; j < COUNT(types); j++)
            if (strstr(rows[k].types, types[j].name)) check_row(&rows[k], &types[j]);
}

INSN_TEST(every_table_of_lop3)
{
    for (int table = 0; table < 256; table++) {
        INSN(sprint("lop3.b32 %%ro, %%rx, %%ry, %%rz, %d;", table), BITS, ({
                 uint32_t r = 0;
                 for (int k = 0; k < 32; k++)
                     r |= (uint32_t)(table >> ((x >> k & 1) * 4 + (y >> k & 1) * 2 + (z >> k & 1)) & 1) << k;
                 r;
             }));
    }
}

INSN_TEST(selections_by_a_float)
{
    INSN("slct.b32.f32 %ro, %rx, %ry, %fz;", BITS, f32_of(z) >= 0 ? (uint32_t)x : (uint32_t)y);
    INSN("slct.f64.f32 %do, %dx, %dy, %fz;", BITS, f32_of(z) >= 0 ? x : y);
    INSN("slct.ftz.f32.f32 %fo, %fx, %fy, %fz;", BITS, f32_of(z) > -0x1p-126f ? (uint32_t)x : (uint32_t)y);
}

static uint32_t byte_at(uint64_t x, uint64_t y, unsigned selector)
{
    uint32_t byte = (uint32_t)((selector & 4 ? y : x) >> 8 * (selector & 3)) & 255;
    return selector & 8 ? (byte >> 7) * 255 : byte;
}
/* The four bytes of the result that a mode's row in the manual names, for the selector's low bits 0 to 3. */
static const struct {
    const char *mode;
    const char *bytes[4];
} permutations[] = {
    {"f4e", {"3210", "4321", "5432", "6543"}}, {"b4e", {"5670", "6701", "7012", "0123"}},
    {"rc8", {"0000", "1111", "2222", "3333"}}, {"ecl", {"3210", "3211", "3222", "3333"}},
    {"ecr", {"0000", "1110", "2210", "3210"}}, {"rc16", {"1010", "3232", "1010", "3232"}},
};
INSN_TEST(byte_permutations)
{
    INSN("prmt.b32 %ro, %rx, %ry, %rz;", BITS,
         byte_at(x, y, z & 15) | byte_at(x, y, z >> 4 & 15) << 8 | byte_at(x, y, z >> 8 & 15) << 16 |
             byte_at(x, y, z >> 12 & 15) << 24);
    for (size_t k = 0; k < COUNT(permutations); k++)
        INSN(sprint("prmt.b32.%s %%ro, %%rx, %%ry, %%rz;", permutations[k].mode), BITS, ({
                 uint32_t r = 0;
                 for (int j = 0; j < 4; j++)
                     r = r << 8 | byte_at(x, y, (unsigned)(permutations[k].bytes[z & 3][j] - '0'));
                 r;
             }));
}

/* Sums of products of bytes: four with four, or two with halves. */
static uint32_t dot(uint64_t x, uint64_t y, uint64_t z, int x_bits, bool x_signed, bool y_signed, int y_start)
{
    wide sum = (wide)z;
    for (int k = 0; k < 32 / x_bits; k++)
        sum += extend((wide)(x >> k * x_bits), x_bits, x_signed) * extend((wide)(y >> (y_start + 8 * k)), 8, y_signed);
    return (uint32_t)sum;
}
INSN_TEST(dot_products)
{
    for (int k = 0; k < 4; k++) {
        const char *a = k & 1 ? "s32" : "u32", *b = k & 2 ? "s32" : "u32";
        INSN(sprint("dp4a.%s.%s %%ro, %%rx, %%ry, %%rz;", a, b), BITS, dot(x, y, z, 8, k & 1, k & 2, 0));
        INSN(sprint("dp2a.lo.%s.%s %%ro, %%rx, %%ry, %%rz;", a, b), BITS, dot(x, y, z, 16, k & 1, k & 2, 0));
        INSN(sprint("dp2a.hi.%s.%s %%ro, %%rx, %%ry, %%rz;", a, b), BITS, dot(x, y, z, 16, k & 1, k & 2, 16));
    }
}

/* Carry chains: 64-bit numbers in halves of 32, 128-bit ones in halves of 64, their low half as 0 - or as the sum. */
#define U(v) ((unsigned __int128)(v))
INSN_TEST(carries)
{
    INSN("add.cc.u32 %ro, %rx, %ry; addc.u32 %ro, %rz, %rv;", BITS,
         (uint32_t)(z + v + ((U((uint32_t)x) + (uint32_t)y) >> 32)));
    INSN("sub.cc.s32 %ro, %rx, %ry; subc.s32 %ro, %rz, %rv;", BITS, (uint32_t)(z - v - ((uint32_t)x < (uint32_t)y)));
    INSN("add.cc.u64 %qo, %qx, %qy; addc.u64 %qo, %qz, %qv;", BITS, z + v + (uint64_t)((U(x) + y) >> 64));
    INSN("sub.cc.u64 %qo, %qx, %qy; subc.s64 %qo, %qz, %qv;", BITS, z - v - (x < y));
    /* What a middle link of the chain hands on: its carry comes of the sum with the carry that came in. */
    INSN("add.cc.u32 %r4, %rx, %ry; addc.cc.u32 %r4, %rz, %rv; addc.u32 %ro, 0, 0;", BITS,
         (uint32_t)((U((uint32_t)z) + (uint32_t)v + ((U((uint32_t)x) + (uint32_t)y) >> 32)) >> 32));
    INSN("sub.cc.u32 %r4, %rx, %ry; subc.cc.u32 %r4, %rz, %rv; subc.u32 %ro, 0, 0;", BITS,
         (uint32_t) - (int)(U((uint32_t)z) < U((uint32_t)v) + ((uint32_t)x < (uint32_t)y)));
    INSN("add.cc.u64 %q4, %qx, %qy; addc.cc.u64 %q4, %qz, %qv; addc.u64 %qo, 0, 0;", BITS,
         (uint64_t)((U(z) + v + (uint64_t)((U(x) + y) >> 64)) >> 64));
    INSN("sub.cc.u64 %q4, %qx, %qy; subc.cc.u64 %q4, %qz, %qv; subc.u64 %qo, 0, 0;", BITS,
         (uint64_t) - (int)(U(z) < U(v) + (x < y)));
    INSN("mad.lo.cc.u32 %r4, %rx, %ry, %rz; madc.hi.u32 %ro, %rx, %ry, %rv;", BITS,
         (uint32_t)((U((uint32_t)x) * (uint32_t)y + (uint32_t)z + (U((uint32_t)v) << 32)) >> 32));
    INSN("mad.lo.cc.s32 %r4, %rx, %ry, %rz; madc.hi.s32 %ro, %rx, %ry, %rv;", BITS,
         (uint32_t)(((wide)(int32_t)x * (int32_t)y + (uint32_t)z + (wide)(int32_t)v * 0x100000000) >> 32));
    INSN("mad.hi.cc.u32 %r4, %rx, %ry, %rz; madc.lo.cc.u32 %r5, %rx, %rz, %rv; addc.u32 %ro, 0, 0;", BITS, ({
             uint32_t high = (uint32_t)(U((uint32_t)x) * (uint32_t)y >> 32), low_part = (uint32_t)x * (uint32_t)z;
             uint64_t carry = ((uint64_t)high + (uint32_t)z) >> 32;
             ((uint64_t)low_part + (uint32_t)v + carry) >> 32;
         }));
    INSN("mad.hi.cc.s64 %q4, %qx, %qy, %qz; madc.hi.s64 %qo, %qx, %qv, %qy;", BITS, ({
             wide first = (wide)(int64_t)x * (int64_t)y >> 64, second = (wide)(int64_t)x * (int64_t)v >> 64;
             (uint64_t) second + y + (uint64_t)((U((uint64_t)first) + z) >> 64);
         }));
    INSN("mad.hi.cc.s32 %r4, %rx, %ry, %rz; madc.hi.s32 %ro, %rx, %rv, %ry;", BITS, ({
             int64_t first = (int64_t)(int32_t)x * (int32_t)y >> 32, second = (int64_t)(int32_t)x * (int32_t)v >> 32;
             (uint32_t) second + (uint32_t)y + (uint32_t)(((uint64_t)(uint32_t)first + (uint32_t)z) >> 32);
         }));
    INSN("mad.lo.cc.u64 %q4, %qx, %qy, %qz; madc.hi.u64 %qo, %qx, %qy, %qv;", BITS,
         (uint64_t)(U(x) * y >> 64) + v + (uint64_t)((U((uint64_t)(x * y)) + z) >> 64));
    INSN("mad.hi.cc.u64 %q4, %qx, %qy, %qz; madc.lo.u64 %qo, %qx, %qz, %qv;", BITS,
         x * z + v + (uint64_t)(((U(x) * y >> 64) + z) >> 64));
}

INSN_TEST(halves_of_registers)
{
    INSN("mov.b64 {%r4, %ro}, %qx; xor.b32 %ro, %ro, %r4;", BITS, (uint32_t)(x ^ x >> 32));
    INSN("mov.b64 %qo, {%rx, %ry};", BITS, (uint32_t)x | y << 32);
    INSN("mov.b32 %ro, {%hx, %hy};", BITS, (x & 0xffff) | (y & 0xffff) << 16);
    INSN("mov.b32 {%h1, %ho}, %rx; xor.b16 %ho, %ho, %h1;", BITS, (uint16_t)(x ^ x >> 16));
    INSN("mov.b64 %qo, {%hx, %hy, %hz, %hv};", BITS, (x & 0xffff) | (y & 0xffff) << 16 | (z & 0xffff) << 32 | v << 48);
    INSN("mov.b64 {%h1, %h2, %ho, %h3}, %qx; xor.b16 %ho, %ho, %h3;", BITS, (uint16_t)(x >> 32 ^ x >> 48));
    INSN("{ .reg .b32 %low, %high; mov.b64 {%low, %high}, %qx; mov.b64 %qo, {%high, %low}; }", BITS, x << 32 | x >> 32);
    INSN("{ .reg .b32 %a, %b; mov.v2.u32 {%a, %b}, {%rx, %ry}; mov.v2.u32 {%a, %b}, {%b, %a}; mov.b64 %qo, {%a, %b}; }",
         BITS, (uint32_t)y | x << 32);
    INSN("{ .reg .v2 .u64 %a, %b; mov.v2.u64 %a, {%qx, 5}; mov.v2.u64 %b, %a; mul.lo.u64 %qo, %b.x, %b.y; }", BITS,
         x * 5);
    INSN("{ .reg .v4 .f32 %a, %b; mov.v4.f32 %a, {%rx, %ry, %rx, %ry}; mov.v4.f32 {%b.w, %b.z, %b.y, %b.x}, %a;"
         "  mov.b64 %qo, {%b.x, %b.w}; }",
         BITS, (uint32_t)y | x << 32);
    INSN("{ .reg .b8 %b<4>; mov.b32 {%b0, %b1, %b2, %b3}, %rx; mov.b32 %ro, {%b3, %b2, %b1, %b0}; }", BITS,
         __builtin_bswap32((uint32_t)x));
    INSN("{ .reg .b8 %low, %high; mov.b16 {%low, %high}, %hx; mov.b16 %ho, {%high, %low}; }", BITS,
         __builtin_bswap16((uint16_t)x));
}
