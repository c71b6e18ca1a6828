/* Video instructions, numbers packed into registers, formats of 8 bits and fewer: against plain C, number by number. */
#include <fenv.h>
#include <math.h>
#include "tests/unit/simt_insn.h"

/* ---- scalar video instructions, as the PTX manual writes them down ---- */
static int64_t select_part(uint64_t v, const char *part, bool is_signed)
{
    if (part[0] == 'b')
        return is_signed ? (int8_t)(v >> 8 * (part[1] - '0')) : (int64_t)(uint8_t)(v >> 8 * (part[1] - '0'));
    if (part[0] == 'h')
        return is_signed ? (int16_t)(v >> 16 * (part[1] - '0')) : (int64_t)(uint16_t)(v >> 16 * (part[1] - '0'));
    return is_signed ? (int32_t)v : (int64_t)(uint32_t)v;
}
static __int128 limit(__int128 t, __int128 least, __int128 most)
{
    return t < least ? least : t > most ? most : t;
}
static uint32_t finish(__int128 t, bool sat, bool is_signed, const char *part, const char *second, uint32_t c)
{
    int bits = part[0] == 'b' ? 8 : part[0] == 'h' ? 16 : 32, shift = bits < 32 ? bits * (part[1] - '0') : 0;
    if (sat && is_signed) t = limit(t, -((__int128)1 << (bits - 1)), ((__int128)1 << (bits - 1)) - 1);
    if (sat && !is_signed) t = limit(t, 0, ((__int128)1 << bits) - 1);
    uint32_t r = (uint32_t)t;
    bool less = is_signed ? (int32_t)r < (int32_t)c : r < c;
    if (!strcmp(second, ".add")) return r + c;
    if (!strcmp(second, ".min")) return less ? r : c;
    if (!strcmp(second, ".max")) return less ? c : r;
    if (bits == 32) return r;
    uint32_t field = (bits == 8 ? 0xffu : 0xffffu) << shift;
    return (c & ~field) | ((r << shift) & field);
}

static __int128 scalar(const char *op, int64_t a, int64_t b, bool wrap)
{
    int64_t n = wrap ? b & 31 : b > 32 ? 32 : b;
    if (!strcmp(op, "vadd")) return (__int128)a + b;
    if (!strcmp(op, "vsub")) return (__int128)a - b;
    if (!strcmp(op, "vabsdiff")) return a < b ? b - a : a - b;
    if (!strcmp(op, "vmin")) return a < b ? a : b;
    if (!strcmp(op, "vmax")) return a < b ? b : a;
    if (!strcmp(op, "vshl")) return (__int128)a * ((__int128)1 << n);
    return a >> n;
}

INSN_TEST(video_of_parts)
{
    static const char *const ops[] = {"vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr"};
    static const char *const parts[] = {"", "b0", "b3", "h1"}, *const seconds[] = {"", ".add", ".min", ".max"};
    for (int k = 0; k < 56; k++) { /* every op with every choice of signs; the rest goes round */
        bool ds = k & 1, as = k & 2, bs = k & 4, sat = k % 3 == 0, shift = k / 8 >= 5, wrap = k & 2;
        const char *op = ops[k / 8], *pa = parts[k % 4], *pb = parts[k / 3 % 4], *second = seconds[k / 2 % 4];
        const char *pd = *second ? "" : parts[k / 5 % 4];
        if (shift) bs = false;
        bool third = *second || *pd;
        INSN(
            sprint("%s.%s.%s.%s%s%s%s %%ro%s%s, %%rx%s%s, %%rz%s%s%s;", op, ds ? "s32" : "u32", as ? "s32" : "u32",
                   bs ? "s32" : "u32", sat ? ".sat" : "", shift ? (wrap ? ".wrap" : ".clamp") : "", second,
                   *pd ? "." : "", pd, *pa ? "." : "", pa, *pb ? "." : "", pb, third ? ", %rv" : ""),
            BITS,
            finish(scalar(op, select_part(x, pa, as), select_part(z, pb, bs), wrap), sat, ds, pd, second, (uint32_t)v));
    }
    INSN("vset.s32.u32.lt %ro, %rx.b1, %rz.h0;", BITS, (int8_t)(x >> 8) < (int64_t)(uint16_t)z);
    INSN("vset.u32.u32.ge.add %ro, %rx, %rz, %rv;", BITS, (uint32_t)(((uint32_t)x >= (uint32_t)z) + (uint32_t)v));
    INSN("vset.u32.u32.ne %ro.h1, %rx, %rz, %rv;", BITS, ((uint32_t)x != (uint32_t)z) << 16 | (v & 0xffff));
}

INSN_TEST(video_multiply_add)
{
    INSN("vmad.u32.u32.u32 %ro, %rx, %rz.h1, %rv;", BITS, (uint32_t)((uint32_t)x * (uint16_t)(z >> 16) + (uint32_t)v));
    INSN("vmad.s32.s32.u32.sat %ro, %rx, %rz.b2, %rv;", BITS,
         (uint32_t)limit((__int128)(int32_t)x * (uint8_t)(z >> 16) + (int32_t)v, INT32_MIN, INT32_MAX));
    INSN("vmad.u32.u32.u32.sat.shr15 %ro, %rx, %rz, %rv;", BITS,
         (uint32_t)limit(((__int128)(uint32_t)x * (uint32_t)z + (uint32_t)v) >> 15, 0, UINT32_MAX));
    INSN("vmad.s32.s32.s32.shr7 %ro, -%rx, %rz, %rv;", BITS,
         (uint32_t)((-(__int128)(int32_t)x * (int32_t)z + (int32_t)v) >> 7));
    INSN("vmad.s32.s32.s32 %ro, %rx, %rz, -%rv;", BITS, (uint32_t)((uint32_t)x * (uint32_t)z - (uint32_t)v));
    INSN("vmad.u32.u32.u32.po.shr7 %ro, %rx, %rz, %rv;", BITS,
         (uint32_t)(((__int128)(uint32_t)x * (uint32_t)z + (uint32_t)v + 1) >> 7));
}

/* ---- two and four elements ---- */
static int64_t element(uint64_t v, int bits, int e, bool is_signed)
{
    if (bits == 8) return is_signed ? (int8_t)(v >> 8 * e) : (int64_t)(uint8_t)(v >> 8 * e);
    return is_signed ? (int16_t)(v >> 16 * e) : (int64_t)(uint16_t)(v >> 16 * e);
}
static int64_t one_of(const char *op, int64_t a, int64_t b)
{
    if (!strcmp(op, "vadd")) return a + b;
    if (!strcmp(op, "vsub")) return a - b;
    if (!strcmp(op, "vabsdiff")) return a < b ? b - a : a - b;
    if (!strcmp(op, "vmin")) return a < b ? a : b;
    if (!strcmp(op, "vmax")) return a < b ? b : a;
    return a + b >= 0 ? (a + b + 1) >> 1 : (a + b) >> 1;
}
/* The elements of a are those of the string a from its end, likewise b; mask says which are written. */
static uint32_t packed(const char *op, int n, bool is_signed, bool sat, bool add, const char *a, const char *b,
                       uint32_t mask, uint64_t x, uint64_t y, uint32_t z)
{
    int bits = 32 / n;
    uint64_t both = (uint32_t)x | y << 32;
    uint32_t r = add ? z : 0, ones = (1u << bits) - 1;
    for (int e = 0; e < n; e++) {
        int64_t t = one_of(op, element(both, bits, a[n - 1 - e] - '0', is_signed),
                           element(both, bits, b[n - 1 - e] - '0', is_signed));
        int64_t most = is_signed ? (1 << (bits - 1)) - 1 : (1 << bits) - 1, least = is_signed ? -most - 1 : 0;
        if (sat) t = t > most ? most : t < least ? least : t;
        if (add)
            r += mask >> e & 1 ? (uint32_t)t : 0;
        else
            r |= (mask >> e & 1 ? (uint32_t)t & ones : z >> e * bits & ones) << e * bits;
    }
    return r;
}

INSN_TEST(video_of_packed_elements)
{
    static const char *const ops[] = {"vadd", "vsub", "vabsdiff", "vmin", "vmax", "vavrg"};
    for (int k = 0; k < 24; k++) {
        const char *op = ops[k / 4];
        bool is_signed = k & 1, sat = k & 2;
        const char *t = is_signed ? "s32" : "u32", *s = sat ? ".sat" : "";
        INSN(sprint("%s2.%s.%s.%s%s %%ro, %%rx, %%rz, %%rv;", op, t, t, t, s), BITS,
             packed(op, 2, is_signed, sat, false, "10", "32", 3, x, z, (uint32_t)v));
        INSN(sprint("%s4.%s.%s.%s%s %%ro, %%rx, %%rz, %%rv;", op, t, t, t, s), BITS,
             packed(op, 4, is_signed, sat, false, "3210", "7654", 15, x, z, (uint32_t)v));
        INSN(sprint("%s4.%s.%s.%s%s %%ro.b20, %%rx.b7201, %%rz.b0356, %%rv;", op, t, t, t, s), BITS,
             packed(op, 4, is_signed, sat, false, "7201", "0356", 5, x, z, (uint32_t)v));
        INSN(sprint("%s2.%s.%s.%s%s %%ro.h1, %%rx.h03, %%rz.h12, %%rv;", op, t, t, t, s), BITS,
             packed(op, 2, is_signed, sat, false, "03", "12", 2, x, z, (uint32_t)v));
        if (sat) continue;
        INSN(sprint("%s4.%s.%s.%s.add %%ro, %%rx, %%rz, %%rv;", op, t, t, t), BITS,
             packed(op, 4, is_signed, false, true, "3210", "7654", 15, x, z, (uint32_t)v));
    }
    INSN("vset4.u32.u32.gt %ro, %rx, %rz, %rv;", BITS, ({
             uint32_t r = 0;
             for (int e = 0; e < 32; e += 8) r |= (uint32_t)((uint8_t)(x >> e) > (uint8_t)(z >> e)) << e;
             r;
         }));
    INSN("vset2.s32.s32.le.add %ro, %rx, %rz, %rv;", BITS,
         (uint32_t)(((int16_t)x <= (int16_t)z) + ((int16_t)(x >> 16) <= (int16_t)(z >> 16)) + (uint32_t)v));
}

/* ---- packed integers ---- */
static uint32_t pair(int64_t high, int64_t low)
{
    return (uint32_t)(uint16_t)high << 16 | (uint16_t)low;
}
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define S16(v, h) ((int16_t)((v) >> 16 * (h)))
#define U16(v, h) ((uint16_t)((v) >> 16 * (h)))
#define BOTH(f)   pair(f(1), f(0))
INSN_TEST(packed_integers)
{
#define SUM(h) U16(x, h) + U16(y, h)
    INSN("add.u16x2 %ro, %rx, %ry;", BITS, BOTH(SUM));
    INSN("add.s16x2 %ro, %rx, %ry;", BITS, BOTH(SUM));
#define LEAST(h) MIN(S16(x, h), S16(y, h))
    INSN("min.s16x2 %ro, %rx, %ry;", BITS, BOTH(LEAST));
#define LEAST_WITHOUT_SIGN(h) MIN(U16(x, h), U16(y, h))
    INSN("min.u16x2 %ro, %rx, %ry;", BITS, BOTH(LEAST_WITHOUT_SIGN));
#define MOST(h) MAX(U16(x, h), U16(y, h))
    INSN("max.u16x2 %ro, %rx, %ry;", BITS, BOTH(MOST));
#define POSITIVE(h) MAX(0, MAX(S16(x, h), S16(y, h)))
    INSN("max.s16x2.relu %ro, %rx, %ry;", BITS, BOTH(POSITIVE));
#define POSITIVE_LEAST(h) MAX(0, MIN(S16(x, h), S16(y, h)))
    INSN("min.s16x2.relu %ro, %rx, %ry;", BITS, BOTH(POSITIVE_LEAST));
    INSN("min.s32.relu %ro, %rx, %ry;", BITS, (uint32_t)MAX(0, MIN((int32_t)x, (int32_t)y)));
    INSN("max.relu.s32 %ro, %rx, %ry;", BITS, (uint32_t)MAX(0, MAX((int32_t)x, (int32_t)y)));
    for (int bits = 2; bits <= 16; bits *= 2)
        for (int is_signed = 0; is_signed < 2; is_signed++) {
            const int64_t all = (1 << bits) - 1, most = all >> is_signed, least = is_signed ? -most - 1 : 0;
            INSN(sprint("cvt.pack.sat.%c%d.s32%s;", is_signed ? 's' : 'u', bits,
                        bits == 16 ? " %ro, %rx, %ry" : ".b32 %ro, %rx, %ry, %rz"),
                 BITS,
                 (uint32_t)((bits == 16 ? 0 : z << 2 * bits) |
                            (uint64_t)((int64_t)limit((int32_t)x, least, most) & all) << bits |
                            (uint64_t)((int64_t)limit((int32_t)y, least, most) & all)));
        }
}

INSN_TEST(finding_bits_and_logic_with_predicates)
{
    INSN("{ .reg .b32 %b, %n; and.b32 %b, %ry, 31; and.b32 %n, %rz, 15; sub.s32 %n, %n, 8; fns.b32 %ro, %rx, %b, %n; }",
         BITS, ({
             int base = y & 31, n = (int)(z & 15) - 8, step = n < 0 ? -1 : 1;
             uint32_t found = n == 0 && x >> base & 1 ? (uint32_t)base : 0xffffffff;
             for (int p = base, left = abs(n); n && p >= 0 && p < 32; p += step)
                 if (x >> p & 1 && --left == 0) {
                     found = (uint32_t)p;
                     break;
                 }
             found;
         }));
    INSN("lop3.or.b32 %ro|%pq, %rx, %ry, %rz, 0x80, %pv;", BITS,
         (uint32_t)(x & y & z) | (uint64_t)((uint32_t)(x & y & z) != 0 || (v & 1)) << 32);
    INSN("lop3.and.b32 _|%po, %rx, %ry, %rz, 0x96, !%pv;", BITS, (uint32_t)(x ^ y ^ z) != 0 && !(v & 1));
}

/* ---- packed floats ---- */
static uint64_t two(uint64_t x, uint64_t y, uint64_t z, int op, int mode, bool flush)
{
    uint64_t r = 0;
    fesetround(mode);
    for (int h = 0; h < 64; h += 32) {
        volatile float a = f32_of(x >> h), b = f32_of(y >> h), c = f32_of(z >> h), s;
        if (flush) a = fabsf(a) < 0x1p-126f ? copysignf(0, a) : a, b = fabsf(b) < 0x1p-126f ? copysignf(0, b) : b;
        s = op == 0 ? a + b : op == 1 ? a * b : op == 2 ? fmaf(a, b, c) : a - b;
        if (flush) s = fabsf(s) < 0x1p-126f ? copysignf(0, s) : s;
        r |= (s != s ? 0x7fffffff : bits_of_f32(s)) << h;
    }
    fesetround(FE_TONEAREST);
    return r;
}
#define CANONICAL                                                                                                      \
    " { .reg .f32 %a, %b; .reg .pred %n; mov.b64 {%a, %b}, %qo; setp.nan.f32 %n, %a, %a;"                              \
    " @%n mov.b32 %a, 0x7fffffff; setp.nan.f32 %n, %b, %b; @%n mov.b32 %b, 0x7fffffff;"                                \
    " mov.b64 %qo, {%a, %b}; }"
INSN_TEST(packed_floats)
{
    INSN("add.rn.f32x2 %qo, %qx, %qy;" CANONICAL, BITS, two(x, y, z, 0, FE_TONEAREST, false));
    INSN("add.ftz.f32x2 %qo, %qx, %qy;" CANONICAL, BITS, two(x, y, z, 0, FE_TONEAREST, true));
    INSN("mul.rz.f32x2 %qo, %qx, %qy;" CANONICAL, BITS, two(x, y, z, 1, FE_TOWARDZERO, false));
    INSN("fma.rp.f32x2 %qo, %qx, %qy, %qz;" CANONICAL, BITS, two(x, y, z, 2, FE_UPWARD, false));
    INSN("sub.rm.f32x2 %qo, %qx, %qy;" CANONICAL, BITS, two(x, y, z, 3, FE_DOWNWARD, false));
}

static float half_value(uint64_t bits)
{
    uint16_t b = (uint16_t)bits;
    _Float16 h;
    memcpy(&h, &b, 2);
    return (float)h;
}
static float rounded(int mode, volatile float a, volatile float b)
{
    fesetround(mode);
    volatile float s = a + b;
    fesetround(FE_TONEAREST);
    return s;
}
INSN_TEST(sums_of_halves_and_floats)
{
    INSN("add.f32.f16 %fo, %hx, %fy;", FLOATS, bits_of_f32(half_value(x) + f32_of(y)));
    INSN("sub.rz.f32.f16 %fo, %hx, %fy;", FLOATS, bits_of_f32(rounded(FE_TOWARDZERO, half_value(x), -f32_of(y))));
    INSN("add.rm.f32.bf16 %fo, %hx, %fy;", FLOATS, bits_of_f32(rounded(FE_DOWNWARD, f32_of(x << 16), f32_of(y))));
    INSN("fma.rn.f32.f16 %fo, %hx, %hy, %fz;", FLOATS, bits_of_f32(fmaf(half_value(x), half_value(y), f32_of(z))));
    INSN("sub.rm.f32.bf16 %fo, %hx, %fy;", FLOATS, bits_of_f32(rounded(FE_DOWNWARD, f32_of(x << 16), -f32_of(y))));
    INSN("fma.rn.sat.f32.bf16 %fo, %hx, %hy, %fz;", FLOATS, ({
             float s = fmaf(f32_of(x << 16), f32_of(y << 16), f32_of(z));
             bits_of_f32(s != s || s <= 0 ? 0.0f : s > 1 ? 1.0f : s);
         }));
}

/* ---- formats of 8 bits and fewer: rounding looks for the nearest of all values ---- */
struct format {
    const char *name;
    int exponent, mantissa, bias, most, bits; /* most: code of the greatest number */
    char nan;                                 /* i: infinities as IEEE has them; n: all ones is NaN; 0: neither */
};
static const struct format formats[] = {
    {"e4m3", 4, 3, 7, 0x7e, 8, 'n'}, {"e5m2", 5, 2, 15, 0x7b, 8, 'i'}, {"e2m3", 2, 3, 1, 0x1f, 8, 0},
    {"e3m2", 3, 2, 3, 0x1f, 8, 0},   {"e2m1", 2, 1, 1, 7, 4, 0},
};
static double value_of(const struct format *f, int code) /* of a code without sign */
{
    int e = code >> f->mantissa, m = code & ((1 << f->mantissa) - 1);
    return e ? ldexp(m + (1 << f->mantissa), e - f->bias - f->mantissa) : ldexp(m, 1 - f->bias - f->mantissa);
}
static uint64_t nearest(const struct format *f, double v)
{
    int sign = 1 << (f->exponent + f->mantissa), best = 0;
    if (v != v) return (uint64_t)(f->nan ? 0x7f : f->most);
    double size = fmin(fabs(v), value_of(f, f->most));
    for (int c = 1; c <= f->most; c++) {
        double now = fabs(value_of(f, c) - size), before = fabs(value_of(f, best) - size);
        if (now < before || (now == before && c % 2 == 0)) best = c;
    }
    return (uint64_t)(best | (signbit(v) ? sign : 0));
}
static uint64_t half_of(const struct format *f, uint64_t code)
{
    int sign = 1 << (f->exponent + f->mantissa), c = (int)code & (sign - 1);
    uint16_t b;
    double v = c <= f->most ? value_of(f, c) : f->nan == 'i' && c == f->most + 1 ? INFINITY : NAN;
    _Float16 h = (_Float16)v;
    memcpy(&b, &h, 2);
    return v != v ? 0x7fff : b | (code & (uint64_t)sign ? 0x8000u : 0);
}
INSN_TEST(narrow_formats)
{
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++) {
        const struct format *f = &formats[k];
        int n = f->bits;
        INSN(sprint("cvt.rn.satfinite.%sx2.f32 %%ho, %%fx, %%fy;", f->name), BITS,
             nearest(f, (double)f32_of(x)) << n | nearest(f, (double)f32_of(y)));
        INSN(sprint("cvt.rn.satfinite.relu.%sx2.f32 %%ho, %%fx, %%fy;", f->name), BITS, ({
                 double high = (double)f32_of(x), low = (double)f32_of(y);
                 nearest(f, high <= 0 ? 0 : high) << n | nearest(f, low <= 0 ? 0 : low);
             }));
        INSN(sprint("cvt.rn.satfinite.%sx2.f16x2 %%ho, %%rx;", f->name), BITS,
             nearest(f, (double)half_value(x >> 16)) << n | nearest(f, (double)half_value(x)));
        INSN(sprint("{ .reg .b16 %%t; and.b16 %%t, %%hx, %d; cvt.rn.f16x2.%sx2 %%ro, %%t; }",
                    k == 2 || k == 3 ? 0x3f3f
                    : n == 4         ? 0xff
                                     : 0xffff,
                    f->name),
             F16S,
             half_of(f, (x >> n & ((1u << n) - 1)) & (k == 2 || k == 3 ? 0x3f : 0xff)) << 16 |
                 half_of(f, x & (k == 2 || k == 3 ? 0x3f : (1u << n) - 1)));
    }
    INSN("cvt.rz.satfinite.ue8m0x2.f32 %ho, %fx, %fy;", BITS, ({
             uint64_t r = 0;
             for (int h = 0; h < 2; h++) {
                 double u = fabs((double)f32_of(h ? x : y));
                 r |= (uint64_t)(u != u ? 255 : u < 0x1p-126 ? 0 : u > 0x1p127 ? 254 : ilogb(u) + 127) << 8 * h;
             }
             r;
         }));
    INSN("cvt.rp.satfinite.ue8m0x2.f32 %ho, %fx, %fy;", BITS, ({
             uint64_t r = 0;
             for (int h = 0; h < 2; h++) {
                 double u = fabs((double)f32_of(h ? x : y));
                 int up = u <= 0x1p-127 ? 0 : u > 0x1p127 ? 254 : ilogb(u) + 127 + (u > ldexp(1, ilogb(u)));
                 r |= (uint64_t)(u != u ? 255 : up) << 8 * h;
             }
             r;
         }));
    INSN("cvt.rn.bf16x2.ue8m0x2 %ro, %hx;", BITS, ({
             uint64_t r = 0;
             for (int h = 0; h < 2; h++) {
                 int c = (int)(x >> 8 * h & 255);
                 r |= (c == 255 ? 0x7fffu : bits_of_f32((float)ldexp(1, c - 127)) >> 16) << 16 * h;
             }
             r;
         }));
}

/* ---- stochastic rounding: the random bits are added below the last place ---- */
static uint64_t by_chance(const struct format *f, uint64_t x, uint32_t random, int count, bool relu, bool finite)
{
    uint32_t b = (uint32_t)x, e = b >> 23 & 255;
    uint64_t sign = (uint64_t)(b >> 31) << (f->exponent + f->mantissa), number = (b & 0x7fffff) | (e ? 1u << 23 : 0);
    if (e == 255 && b << 9) return (uint64_t)(f->nan ? (1 << (f->exponent + f->mantissa)) - 1 : f->most);
    if (relu && sign) return 0;
    if (e == 255) return sign | (uint64_t)(f->most + !finite);
    if (!number) return sign;
    /* number * 2^unit; the last place of the result is 2^last. */
    int unit = (e ? (int)e : 1) - 150, top = unit + 63 - __builtin_clzll(number), last = top;
    if (last < 1 - f->bias) last = 1 - f->bias;
    last -= f->mantissa;
    int dropped = last - unit;
    if (dropped > 60) return sign; /* smaller than any random bit */
    uint64_t units = (number + ((random & ((1ull << count) - 1)) << (dropped - count))) >> dropped;
    int64_t code = (int64_t)units + ((int64_t)(last + f->mantissa + f->bias - 1) << f->mantissa);
    return sign | (uint64_t)(code > f->most ? f->most + !finite : code);
}
INSN_TEST(stochastic_rounding)
{
    static const struct format halves[] = {{"f16", 5, 10, 15, 0x7bff, 16, 'i'}, {"bf16", 8, 7, 127, 0x7f7f, 16, 'i'}};
    for (int k = 0; k < 8; k++) {
        const struct format *f = &halves[k & 1];
        bool relu = k & 2, finite = k & 4;
        int n = k & 1 ? 16 : 13;
        INSN(sprint("cvt.rs%s%s.%sx2.f32 %%ro, %%fx, %%fy, %%rz;", relu ? ".relu" : "", finite ? ".satfinite" : "",
                    f->name),
             BITS,
             by_chance(f, x, (uint32_t)z >> 16, n, relu, finite) << 16 | by_chance(f, y, (uint32_t)z, n, relu, finite));
    }
    for (int k = 0; k < 10; k++) {
        const struct format *f = &formats[k / 2];
        bool relu = k & 1, four = f->bits == 4;
        INSN(sprint("cvt.rs%s.satfinite.%sx4.f32 %%%so, {%%fx, %%fy, %%fz, %%fx}, %%rv;", relu ? ".relu" : "", f->name,
                    four ? "h" : "r"),
             BITS, ({
                 uint64_t in[] = {x, y, z, x}, r = 0;
                 for (int j = 0; j < 4; j++) {
                     int bits = four ? (int[]){24, 8, 16, 0}[j] : j < 2 ? 16 : 0;
                     r = r << f->bits | by_chance(f, in[j], (uint32_t)v >> bits, four ? 8 : 16, relu, true);
                 }
                 r;
             }));
    }
}
