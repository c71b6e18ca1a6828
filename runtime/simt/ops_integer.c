/* Integer ops that are too rare for a place among the vector ops: one lane after the other. */
#include "runtime/simt/exec.h"

#define OP(name) static enum event name(char *R, const struct insn *i, uint32_t m, struct warp *w)

/* d = expr of x, y, z; lanes of type D, A, B, C. */
#define OP3(name, D, A, B, C, expr)                                                                                    \
    OP(name)                                                                                                           \
    {                                                                                                                  \
        (void)w;                                                                                                       \
        EACH_LANE(l, m)                                                                                                \
        {                                                                                                              \
            TYPE_##A x = LANE_##A(R, i->a)[l];                                                                         \
            TYPE_##B y = LANE_##B(R, i->b)[l];                                                                         \
            TYPE_##C z = LANE_##C(R, i->c)[l];                                                                         \
            (void)x, (void)y, (void)z;                                                                                 \
            LANE_##D(R, i->d)[l] = (TYPE_##D)(expr);                                                                   \
        }                                                                                                              \
        return EV_NEXT;                                                                                                \
    }
#define TYPE_w uint32_t
#define TYPE_q uint64_t
#define LANE_w u32_at
#define LANE_q u64_at
#define s16(v) ((int16_t)(v))
#define u16(v) ((uint16_t)(v))
#define s32(v) ((int32_t)(v))
#define s64(v) ((int64_t)(v))

/* Division never traps: by zero it gives all ones, the remainder then is the dividend. */
OP3(div_u16, w, w, w, w, u16(y) ? u16(x) / u16(y) : 0xffffu)
OP3(rem_u16, w, w, w, w, u16(y) ? u16(x) % u16(y) : u16(x))
OP3(div_s16, w, w, w, w, s16(y) == 0 ? 0xffff : u16(s16(x) / s16(y)))
OP3(rem_s16, w, w, w, w, s16(y) == 0 ? u16(x) : u16(s16(x) % s16(y)))
OP3(div_u64, q, q, q, q, y ? x / y : UINT64_MAX)
OP3(rem_u64, q, q, q, q, y ? x % y : x)
OP3(div_s64, q, q, q, q, y == 0 ? UINT64_MAX : y == UINT64_MAX ? 0 - x : (uint64_t)(s64(x) / s64(y)))
OP3(rem_s64, q, q, q, q, y == 0 ? x : y == UINT64_MAX ? 0 : (uint64_t)(s64(x) % s64(y)))

OP3(add_16, w, w, w, w, u16(x + y))
OP3(sub_16, w, w, w, w, u16(x - y))
OP3(mul_16, w, w, w, w, u16(u16(x) * (uint32_t)u16(y)))
OP3(mul_hi_u16, w, w, w, w, (uint32_t)u16(x) * u16(y) >> 16)
OP3(mul_hi_s16, w, w, w, w, u16(s32(s16(x)) * s16(y) >> 16))
OP3(mad_16, w, w, w, w, u16(u16(x) * (uint32_t)u16(y) + z))
OP3(mad_hi_u16, w, w, w, w, u16(((uint32_t)u16(x) * u16(y) >> 16) + z))
OP3(mad_hi_s16, w, w, w, w, u16((uint32_t)(s32(s16(x)) * s16(y) >> 16) + z))
OP3(min_u16, w, w, w, w, u16(x) < u16(y) ? u16(x) : u16(y))
OP3(max_u16, w, w, w, w, u16(x) > u16(y) ? u16(x) : u16(y))
OP3(min_s16, w, w, w, w, s16(x) < s16(y) ? u16(x) : u16(y))
OP3(max_s16, w, w, w, w, s16(x) > s16(y) ? u16(x) : u16(y))
OP3(neg_s16, w, w, w, w, u16(0 - x))
OP3(abs_s16, w, w, w, w, s16(x) < 0 ? u16(0 - x) : u16(x))
OP3(shl_16, w, w, w, w, y > 15 ? 0 : u16(x << y))
OP3(shr_u16, w, w, w, w, y > 15 ? 0 : u16(x) >> y)
OP3(shr_s16, w, w, w, w, u16(s16(x) >> (y > 15 ? 15 : y)))
OP3(cnot_16, w, w, w, w, u16(x) == 0)
OP3(cnot_32, w, w, w, w, x == 0)
OP3(cnot_64, q, q, q, q, x == 0)
OP3(mul_hi_u64, q, q, q, q, (unsigned __int128)x *y >> 64)
OP3(mul_hi_s64, q, q, q, q, (__int128)s64(x) * s64(y) >> 64)
OP3(mad_hi_u64, q, q, q, q, (uint64_t)((unsigned __int128)x *y >> 64) + z)
OP3(mad_hi_s64, q, q, q, q, (uint64_t)((__int128)s64(x) * s64(y) >> 64) + z)
#define mul24u(x, y) ((uint64_t)((x)&0xffffffu) * ((y)&0xffffffu))
#define mul24s(x, y) ((int64_t)(s32((x) << 8) >> 8) * (s32((y) << 8) >> 8))
OP3(mul24_lo_u, w, w, w, w, mul24u(x, y))
OP3(mul24_lo_s, w, w, w, w, mul24s(x, y))
OP3(mul24_hi_u, w, w, w, w, mul24u(x, y) >> 16)
OP3(mul24_hi_s, w, w, w, w, mul24s(x, y) >> 16)
OP3(mad24_lo_u, w, w, w, w, mul24u(x, y) + z)
OP3(mad24_lo_s, w, w, w, w, (uint64_t)mul24s(x, y) + z)
OP3(mad24_hi_u, w, w, w, w, (mul24u(x, y) >> 16) + z)
OP3(mad24_hi_s, w, w, w, w, (uint64_t)(mul24s(x, y) >> 16) + z)

static uint64_t clamp_s32(int64_t v)
{
    return (uint32_t)(v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v);
}
OP3(add_sat, w, w, w, w, clamp_s32((int64_t)s32(x) + s32(y)))
OP3(sub_sat, w, w, w, w, clamp_s32((int64_t)s32(x) - s32(y)))
OP3(mad_hi_sat, w, w, w, w, clamp_s32((int64_t)(s32(((int64_t)s32(x) * s32(y)) >> 32)) + s32(z)))
OP3(mad24_hi_sat, w, w, w, w, clamp_s32((mul24s(x, y) >> 16) + s32(z)))
OP3(sad_u16, w, w, w, w, u16(z + (u16(x) > u16(y) ? x - y : y - x)))
OP3(sad_s16, w, w, w, w, u16(z + (s16(x) > s16(y) ? x - y : y - x)))
OP3(sad_u64, q, q, q, q, z + (x > y ? x - y : y - x))
OP3(sad_s64, q, q, q, q, z + (s64(x) > s64(y) ? x - y : y - x))
OP3(sad_u32, w, w, w, w, z + (x > y ? x - y : y - x))
OP3(sad_s32, w, w, w, w, z + (s32(x) > s32(y) ? x - y : y - x))

/* ---- bits ---- */

static uint64_t reverse(uint64_t x, int bits)
{
    uint64_t r = 0;
    for (int k = 0; k < bits; k++) r |= (x >> k & 1) << (bits - 1 - k);
    return r;
}
OP3(brev_32, w, w, w, w, reverse(x, 32))
OP3(brev_64, q, q, q, q, reverse(x, 64))

static uint32_t find_bit(uint64_t x, int bits, bool is_signed, bool shift)
{
    if (is_signed && x >> (bits - 1) & 1) x = ~x;
    if (bits == 32) x &= UINT32_MAX;
    if (!x) return UINT32_MAX;
    int at = 63 - __builtin_clzll(x);
    return (uint32_t)(shift ? bits - 1 - at : at);
}
OP3(bfind_u32, w, w, w, w, find_bit(x, 32, false, false))
OP3(bfind_s32, w, w, w, w, find_bit(x, 32, true, false))
OP3(bfind_u64, w, q, q, q, find_bit(x, 64, false, false))
OP3(bfind_s64, w, q, q, q, find_bit(x, 64, true, false))
OP3(bfind_shift_u32, w, w, w, w, find_bit(x, 32, false, true))
OP3(bfind_shift_s32, w, w, w, w, find_bit(x, 32, true, true))
OP3(bfind_shift_u64, w, q, q, q, find_bit(x, 64, false, true))
OP3(bfind_shift_s64, w, q, q, q, find_bit(x, 64, true, true))

static uint64_t low_bits(uint32_t n)
{
    return n >= 64 ? UINT64_MAX : ((uint64_t)1 << n) - 1;
}
/* pos and len are read as 8 bits. Past the value come copies of its top bit: the field's, or the value's when the field
 * reaches beyond it. */
static uint64_t extract(uint64_t x, uint32_t pos, uint32_t len, uint32_t bits, bool is_signed)
{
    pos &= 255;
    len &= 255;
    if (!len) return 0;
    uint32_t top = pos + len - 1 < bits - 1 ? pos + len - 1 : bits - 1;
    uint64_t sign = is_signed && (x >> top & 1) ? UINT64_MAX : 0;
    uint64_t field = pos < bits ? x >> pos : 0;
    uint32_t got = pos >= bits ? 0 : len < bits - pos ? len : bits - pos;
    return (field & low_bits(got)) | (sign & ~low_bits(got));
}
OP3(bfe_u32, w, w, w, w, extract(x, y, z, 32, false))
OP3(bfe_s32, w, w, w, w, extract(x, y, z, 32, true))
OP3(bfe_u64, q, q, w, w, extract(x, y, z, 64, false))
OP3(bfe_s64, q, q, w, w, extract(x, y, z, 64, true))

static uint64_t insert(uint64_t a, uint64_t b, uint32_t pos, uint32_t len, uint32_t bits)
{
    pos &= 255;
    len &= 255;
    if (pos >= bits || !len) return b;
    uint64_t field = low_bits(len) << pos;
    return (b & ~field) | (a << pos & field);
}
OP(bfi_32)
{
    (void)w;
    EACH_LANE(l, m)
    u32_at(R, i->d)[l] =
        (uint32_t)insert(u32_at(R, i->a)[l], u32_at(R, i->b)[l], u32_at(R, i->c)[l], u32_at(R, i->extra)[l], 32);
    return EV_NEXT;
}
OP(bfi_64)
{
    (void)w;
    EACH_LANE(l, m)
    u64_at(R, i->d)[l] = insert(u64_at(R, i->a)[l], u64_at(R, i->b)[l], u32_at(R, i->c)[l], u32_at(R, i->extra)[l], 64);
    return EV_NEXT;
}
static uint32_t bit_mask(uint32_t pos, uint32_t len, bool wrap)
{
    if (wrap) {
        pos &= 31;
        len &= 31;
    }
    return pos > 31 ? 0 : (uint32_t)(low_bits(len) << pos);
}
/* The low n bits of x with what stands above them: zeros, or the field's top bit. */
static uint32_t extend(uint32_t x, uint32_t n, bool is_signed, bool wrap)
{
    if (wrap) n &= 31;
    if (n == 0 || n >= 32) return n ? x : 0;
    return is_signed ? (uint32_t)(s32(x << (32 - n)) >> (32 - n)) : x & (uint32_t)low_bits(n);
}
OP3(szext_clamp_u, w, w, w, w, extend(x, y, false, false))
OP3(szext_clamp_s, w, w, w, w, extend(x, y, true, false))
OP3(szext_wrap_u, w, w, w, w, extend(x, y, false, true))
OP3(szext_wrap_s, w, w, w, w, extend(x, y, true, true))
OP3(bmsk_clamp, w, w, w, w, bit_mask(x, y, false))
OP3(bmsk_wrap, w, w, w, w, bit_mask(x, y, true))

static uint32_t permute(uint32_t a, uint32_t b, uint32_t selector)
{
    uint64_t bytes = (uint64_t)b << 32 | a;
    uint32_t r = 0;
    for (int k = 0; k < 4; k++) {
        uint32_t s = selector >> (4 * k) & 15, byte = (uint32_t)(bytes >> (8 * (s & 7))) & 255;
        if (s & 8) byte = byte & 128 ? 255 : 0;
        r |= byte << (8 * k);
    }
    return r;
}
/* By the sign of z, an integer or a float: -0 counts as not negative, as does a denormal under .ftz; NaN as negative.
 */
#define NOT_NEGATIVE (z <= 0x7f800000u || z == 0x80000000u || (i->flags & F_FTZ && z >> 23 == 0x100))
OP3(slct_32, w, w, w, w, s32(z) >= 0 ? x : y)
OP3(slct_64, q, q, q, w, s32(z) >= 0 ? x : y)
OP3(slct_32_f32, w, w, w, w, NOT_NEGATIVE ? x : y)
OP3(slct_64_f32, q, q, q, w, NOT_NEGATIVE ? x : y)
#define CASE4(a, b, c, d) ((z & 3) == 0 ? (a) : (z & 3) == 1 ? (b) : (z & 3) == 2 ? (c) : (d))
OP3(prmt_f4e, w, w, w, w, permute(x, y, CASE4(0x3210, 0x4321, 0x5432, 0x6543)))
OP3(prmt_b4e, w, w, w, w, permute(x, y, CASE4(0x5670, 0x6701, 0x7012, 0x0123)))
OP3(prmt_rc8, w, w, w, w, permute(x, y, CASE4(0x0000, 0x1111, 0x2222, 0x3333)))
OP3(prmt_rc16, w, w, w, w, permute(x, y, CASE4(0x1010, 0x3232, 0x1010, 0x3232)))
OP3(prmt_ecl, w, w, w, w, permute(x, y, CASE4(0x3210, 0x3211, 0x3222, 0x3333)))
OP3(prmt_ecr, w, w, w, w, permute(x, y, CASE4(0x0000, 0x1110, 0x2210, 0x3210)))

#define FUNNEL(x, y) ((uint64_t)(y) << 32 | (x))
OP3(shf_l_clamp, w, w, w, w, FUNNEL(x, y) << (z > 32 ? 32 : z) >> 32)
OP3(shf_l_wrap, w, w, w, w, FUNNEL(x, y) << (z & 31) >> 32)
OP3(shf_r_clamp, w, w, w, w, FUNNEL(x, y) >> (z > 32 ? 32 : z))
OP3(shf_r_wrap, w, w, w, w, FUNNEL(x, y) >> (z & 31))

OP(lop3)
{
    (void)w;
    uint32_t table = 0;
    EACH_LANE(l, m)
    {
        uint32_t a = u32_at(R, i->a)[l], b = u32_at(R, i->b)[l], c = u32_at(R, i->c)[l], r = 0;
        table = u32_at(R, i->extra)[l];
        for (int k = 0; k < 8; k++)
            if (table >> k & 1) r |= (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
        u32_at(R, i->d)[l] = r;
    }
    return EV_NEXT;
}

/* ---- dot products ---- */
static uint32_t dot2(uint32_t a, uint32_t b, uint32_t c, bool sa, bool sb, int start)
{
    for (int k = 0; k < 2; k++) {
        int x = sa ? (int16_t)(a >> 16 * k) : (int)(uint16_t)(a >> 16 * k), shift = start + 8 * k;
        int y = sb ? (int8_t)(b >> shift) : (int)(uint8_t)(b >> shift);
        c += (uint32_t)x * (uint32_t)y;
    }
    return c;
}
OP3(dp2a_lo_uu, w, w, w, w, dot2(x, y, z, false, false, 0))
OP3(dp2a_lo_us, w, w, w, w, dot2(x, y, z, false, true, 0))
OP3(dp2a_lo_su, w, w, w, w, dot2(x, y, z, true, false, 0))
OP3(dp2a_lo_ss, w, w, w, w, dot2(x, y, z, true, true, 0))
OP3(dp2a_hi_uu, w, w, w, w, dot2(x, y, z, false, false, 16))
OP3(dp2a_hi_us, w, w, w, w, dot2(x, y, z, false, true, 16))
OP3(dp2a_hi_su, w, w, w, w, dot2(x, y, z, true, false, 16))
OP3(dp2a_hi_ss, w, w, w, w, dot2(x, y, z, true, true, 16))

/* ---- carries: one condition bit a lane ---- */
#define CARRY(name, lane, T, wide_sum, borrow)                                                                         \
    OP(name)                                                                                                           \
    {                                                                                                                  \
        EACH_LANE(l, m)                                                                                                \
        {                                                                                                              \
            unsigned __int128 x = lane(R, i->a)[l], y = lane(R, i->b)[l], z = lane(R, i->c)[l], r;                     \
            unsigned cc = w->carry >> l & 1;                                                                           \
            (void)z, (void)cc;                                                                                         \
            r = (wide_sum);                                                                                            \
            lane(R, i->d)[l] = (T)r;                                                                                   \
            if (i->flags & F_CC) w->carry = (w->carry & ~(1u << l)) | (uint32_t)(r >> (8 * sizeof(T)) & 1) << l;       \
        }                                                                                                              \
        (void)borrow;                                                                                                  \
        return EV_NEXT;                                                                                                \
    }
/* The upper half of the product of two numbers in two's complement, as the lower bits of the result. */
static unsigned __int128 signed_high(unsigned __int128 x, unsigned __int128 y, int bits)
{
    unsigned __int128 minus = (x >> (bits - 1) & 1 ? y : 0) + (y >> (bits - 1) & 1 ? x : 0);
    unsigned __int128 mask = ((unsigned __int128)1 << bits) - 1;
    return ((x * y >> bits) - minus) & mask;
}
CARRY(add_cc_32, u32_at, uint32_t, x + y, 0)
CARRY(addc_32, u32_at, uint32_t, x + y + cc, 0)
CARRY(sub_cc_32, u32_at, uint32_t, x - y, 1)
CARRY(subc_32, u32_at, uint32_t, x - y - cc, 1)
CARRY(mad_lo_cc_32, u32_at, uint32_t, (uint32_t)(x *y) + z, 0)
CARRY(madc_lo_32, u32_at, uint32_t, (uint32_t)(x *y) + z + cc, 0)
CARRY(mad_hi_cc_u32, u32_at, uint32_t, (uint32_t)(x *y >> 32) + z, 0)
CARRY(madc_hi_u32, u32_at, uint32_t, (uint32_t)(x *y >> 32) + z + cc, 0)
CARRY(mad_hi_cc_s32, u32_at, uint32_t, signed_high(x, y, 32) + z, 0)
CARRY(madc_hi_s32, u32_at, uint32_t, signed_high(x, y, 32) + z + cc, 0)
CARRY(add_cc_64, u64_at, uint64_t, x + y, 0)
CARRY(addc_64, u64_at, uint64_t, x + y + cc, 0)
CARRY(sub_cc_64, u64_at, uint64_t, x - y, 1)
CARRY(subc_64, u64_at, uint64_t, x - y - cc, 1)
CARRY(mad_lo_cc_64, u64_at, uint64_t, (unsigned __int128)(uint64_t)(x *y) + z, 0)
CARRY(madc_lo_64, u64_at, uint64_t, (unsigned __int128)(uint64_t)(x *y) + z + cc, 0)
CARRY(mad_hi_cc_u64, u64_at, uint64_t, (x * y >> 64) + z, 0)
CARRY(madc_hi_u64, u64_at, uint64_t, (x * y >> 64) + z + cc, 0)
CARRY(mad_hi_cc_s64, u64_at, uint64_t, signed_high(x, y, 64) + z, 0)
CARRY(madc_hi_s64, u64_at, uint64_t, signed_high(x, y, 64) + z + cc, 0)

/* ---- registers in halves ---- */
OP3(pack16, w, w, w, w, (x & 0xff) | (y & 0xff) << 8)
OP3(pack64, q, w, w, w, FUNNEL(x, y))
OP(unpack16)
{
    (void)w;
    EACH_LANE(l, m)
    {
        uint32_t v = u32_at(R, i->a)[l];
        u32_at(R, i->d)[l] = v & 0xff;
        if (i->d2 != i->d) u32_at(R, i->d2)[l] = v >> 8 & 0xff;
    }
    return EV_NEXT;
}
OP(unpack32)
{
    (void)w;
    EACH_LANE(l, m)
    {
        uint32_t v = u32_at(R, i->a)[l];
        u32_at(R, i->d)[l] = v & 0xffff;
        if (i->d2 != i->d) u32_at(R, i->d2)[l] = v >> 16;
    }
    return EV_NEXT;
}
OP(unpack64)
{
    (void)w;
    EACH_LANE(l, m)
    {
        uint64_t v = u64_at(R, i->a)[l];
        u32_at(R, i->d)[l] = (uint32_t)v;
        if (i->d2 != i->d) u32_at(R, i->d2)[l] = (uint32_t)(v >> 32);
    }
    return EV_NEXT;
}

/* ---- 16-bit comparisons ---- */
#define COMPARE16(name, expr)                                                                                          \
    OP(name)                                                                                                           \
    {                                                                                                                  \
        (void)w;                                                                                                       \
        uint32_t r = 0;                                                                                                \
        EACH_LANE(l, m)                                                                                                \
        {                                                                                                              \
            uint32_t x = u32_at(R, i->a)[l], y = u32_at(R, i->b)[l];                                                   \
            r |= (uint32_t)(expr) << l;                                                                                \
        }                                                                                                              \
        simt_set_predicate(R, i, m, r);                                                                                \
        return EV_NEXT;                                                                                                \
    }
COMPARE16(eq_16, u16(x) == u16(y))
COMPARE16(ne_16, u16(x) != u16(y))
COMPARE16(lt_u16, u16(x) < u16(y))
COMPARE16(le_u16, u16(x) <= u16(y))
COMPARE16(gt_u16, u16(x) > u16(y))
COMPARE16(ge_u16, u16(x) >= u16(y))
COMPARE16(lt_s16, s16(x) < s16(y))
COMPARE16(le_s16, s16(x) <= s16(y))
COMPARE16(gt_s16, s16(x) > s16(y))
COMPARE16(ge_s16, s16(x) >= s16(y))

void simt_set_predicate(char *R, const struct insn *i, uint32_t m, uint32_t r)
{
    uint32_t c = *u32_at(R, i->c), p = r, n = ~r;
    if (i->mode == 1) {
        p &= c;
        n &= c;
    } else if (i->mode == 2) {
        p |= c;
        n |= c;
    } else if (i->mode == 3) {
        p ^= c;
        n ^= c;
    }
    *u32_at(R, i->d) = (*u32_at(R, i->d) & ~m) | (p & m);
    if (i->mode) *u32_at(R, i->d2) = (*u32_at(R, i->d2) & ~m) | (n & m);
}

#define ROW(key, operands, f)                                                                                          \
    {                                                                                                                  \
        key, operands, f, NULL, 0                                                                                      \
    }
#define FLAGS(key, operands, f, fl)                                                                                    \
    {                                                                                                                  \
        key, operands, NULL, f, fl                                                                                     \
    }
static const struct op_row rows[] = {
    ROW("div.u16", "www", div_u16),
    ROW("rem.u16", "www", rem_u16),
    ROW("div.s16", "www", div_s16),
    ROW("rem.s16", "www", rem_s16),
    ROW("div.u64", "qqq", div_u64),
    ROW("rem.u64", "qqq", rem_u64),
    ROW("div.s64", "qqq", div_s64),
    ROW("rem.s64", "qqq", rem_s64),
    ROW("add.u16", "www", add_16),
    ROW("add.s16", "www", add_16),
    ROW("sub.u16", "www", sub_16),
    ROW("sub.s16", "www", sub_16),
    ROW("mul.lo.u16", "www", mul_16),
    ROW("mul.lo.s16", "www", mul_16),
    ROW("mul.hi.u16", "www", mul_hi_u16),
    ROW("mul.hi.s16", "www", mul_hi_s16),
    ROW("mad.lo.u16", "wwww", mad_16),
    ROW("mad.lo.s16", "wwww", mad_16),
    ROW("mad.hi.u16", "wwww", mad_hi_u16),
    ROW("mad.hi.s16", "wwww", mad_hi_s16),
    ROW("min.u16", "www", min_u16),
    ROW("max.u16", "www", max_u16),
    ROW("min.s16", "www", min_s16),
    ROW("max.s16", "www", max_s16),
    ROW("neg.s16", "ww", neg_s16),
    ROW("abs.s16", "ww", abs_s16),
    ROW("shl.b16", "www", shl_16),
    ROW("shr.u16", "www", shr_u16),
    ROW("shr.b16", "www", shr_u16),
    ROW("shr.s16", "www", shr_s16),
    ROW("cnot.b16", "ww", cnot_16),
    ROW("cnot.b32", "ww", cnot_32),
    ROW("cnot.b64", "qq", cnot_64),
    ROW("mul.hi.u64", "qqq", mul_hi_u64),
    ROW("mul.hi.s64", "qqq", mul_hi_s64),
    ROW("mad.hi.u64", "qqqq", mad_hi_u64),
    ROW("mad.hi.s64", "qqqq", mad_hi_s64),
    ROW("mul24.lo.u32", "www", mul24_lo_u),
    ROW("mul24.lo.s32", "www", mul24_lo_s),
    ROW("mul24.hi.u32", "www", mul24_hi_u),
    ROW("mul24.hi.s32", "www", mul24_hi_s),
    ROW("mad24.lo.u32", "wwww", mad24_lo_u),
    ROW("mad24.lo.s32", "wwww", mad24_lo_s),
    ROW("mad24.hi.u32", "wwww", mad24_hi_u),
    ROW("mad24.hi.s32", "wwww", mad24_hi_s),
    FLAGS("mad24.hi.s32", "wwww", mad24_hi_sat, F_SAT),
    FLAGS("add.s32", "www", add_sat, F_SAT),
    FLAGS("sub.s32", "www", sub_sat, F_SAT),
    FLAGS("mad.hi.s32", "wwww", mad_hi_sat, F_SAT),
    ROW("sad.u16", "wwww", sad_u16),
    ROW("sad.s16", "wwww", sad_s16),
    ROW("sad.u64", "qqqq", sad_u64),
    ROW("sad.s64", "qqqq", sad_s64),
    ROW("sad.u32", "wwww", sad_u32),
    ROW("sad.s32", "wwww", sad_s32),
    ROW("brev.b32", "ww", brev_32),
    ROW("brev.b64", "qq", brev_64),
    ROW("bfind.u32", "ww", bfind_u32),
    ROW("bfind.s32", "ww", bfind_s32),
    ROW("bfind.u64", "wq", bfind_u64),
    ROW("bfind.s64", "wq", bfind_s64),
    ROW("bfind.shiftamt.u32", "ww", bfind_shift_u32),
    ROW("bfind.shiftamt.s32", "ww", bfind_shift_s32),
    ROW("bfind.shiftamt.u64", "wq", bfind_shift_u64),
    ROW("bfind.shiftamt.s64", "wq", bfind_shift_s64),
    ROW("bfe.u32", "wwww", bfe_u32),
    ROW("bfe.s32", "wwww", bfe_s32),
    ROW("bfe.u64", "qqww", bfe_u64),
    ROW("bfe.s64", "qqww", bfe_s64),
    ROW("bfi.b32", "wwwww", bfi_32),
    ROW("bfi.b64", "qqqww", bfi_64),
    ROW("szext.clamp.u32", "www", szext_clamp_u),
    ROW("szext.clamp.s32", "www", szext_clamp_s),
    ROW("szext.wrap.u32", "www", szext_wrap_u),
    ROW("szext.wrap.s32", "www", szext_wrap_s),
#define SELECTS(type, sig, width)                                                                                      \
    ROW("slct." type ".s32", sig, slct_##width),                                                                       \
    {                                                                                                                  \
        "slct." type ".f32", sig, slct_##width##_f32, NULL, F_FTZ                                                      \
    }
    SELECTS("b16", "wwww", 32),
    SELECTS("u16", "wwww", 32),
    SELECTS("s16", "wwww", 32),
    SELECTS("b32", "wwww", 32),
    SELECTS("u32", "wwww", 32),
    SELECTS("s32", "wwww", 32),
    SELECTS("f32", "wwww", 32),
    SELECTS("b64", "qqqw", 64),
    SELECTS("u64", "qqqw", 64),
    SELECTS("s64", "qqqw", 64),
    SELECTS("f64", "qqqw", 64),
    ROW("bmsk.clamp.b32", "www", bmsk_clamp),
    ROW("bmsk.wrap.b32", "www", bmsk_wrap),
    ROW("prmt.b32.f4e", "wwww", prmt_f4e),
    ROW("prmt.b32.b4e", "wwww", prmt_b4e),
    ROW("prmt.b32.rc8", "wwww", prmt_rc8),
    ROW("prmt.b32.rc16", "wwww", prmt_rc16),
    ROW("prmt.b32.ecl", "wwww", prmt_ecl),
    ROW("prmt.b32.ecr", "wwww", prmt_ecr),
    ROW("shf.l.clamp.b32", "wwww", shf_l_clamp),
    ROW("shf.l.wrap.b32", "wwww", shf_l_wrap),
    ROW("shf.r.clamp.b32", "wwww", shf_r_clamp),
    ROW("shf.r.wrap.b32", "wwww", shf_r_wrap),
    ROW("lop3.b32", "wwwww", lop3),
    ROW("dp2a.lo.u32.u32", "wwww", dp2a_lo_uu),
    ROW("dp2a.lo.u32.s32", "wwww", dp2a_lo_us),
    ROW("dp2a.lo.s32.u32", "wwww", dp2a_lo_su),
    ROW("dp2a.lo.s32.s32", "wwww", dp2a_lo_ss),
    ROW("dp2a.hi.u32.u32", "wwww", dp2a_hi_uu),
    ROW("dp2a.hi.u32.s32", "wwww", dp2a_hi_us),
    ROW("dp2a.hi.s32.u32", "wwww", dp2a_hi_su),
    ROW("dp2a.hi.s32.s32", "wwww", dp2a_hi_ss),
#define CARRIES(...)    CARRIES_(__VA_ARGS__)
#define CARRIES_IN(...) CARRIES_IN_(__VA_ARGS__)
#define CARRIES_(op, sig32, sig64, u32_, s32_, u64_, s64_)                                                             \
    FLAGS(op ".u32", sig32, u32_, F_CC), FLAGS(op ".s32", sig32, s32_, F_CC), FLAGS(op ".u64", sig64, u64_, F_CC),     \
        FLAGS(op ".s64", sig64, s64_, F_CC)
#define CARRIES_IN_(op, sig32, sig64, u32_, s32_, u64_, s64_)                                                          \
    CARRIES(op, sig32, sig64, u32_, s32_, u64_, s64_), ROW(op ".u32", sig32, u32_), ROW(op ".s32", sig32, s32_),       \
        ROW(op ".u64", sig64, u64_), ROW(op ".s64", sig64, s64_)
#define SAME(f)    f##_32, f##_32, f##_64, f##_64 /* signs make no difference */
#define BY_SIGN(f) f##_u32, f##_s32, f##_u64, f##_s64
    CARRIES("add", "www", "qqq", SAME(add_cc)),
    CARRIES("sub", "www", "qqq", SAME(sub_cc)),
    CARRIES("mad.lo", "wwww", "qqqq", SAME(mad_lo_cc)),
    CARRIES("mad.hi", "wwww", "qqqq", BY_SIGN(mad_hi_cc)),
    CARRIES_IN("addc", "www", "qqq", SAME(addc)),
    CARRIES_IN("subc", "www", "qqq", SAME(subc)),
    CARRIES_IN("madc.lo", "wwww", "qqqq", SAME(madc_lo)),
    CARRIES_IN("madc.hi", "wwww", "qqqq", BY_SIGN(madc_hi)),
    ROW("+pack16", "", pack16),
    ROW("+pack64", "", pack64),
    ROW("+unpack16", "", unpack16),
    ROW("+unpack32", "", unpack32),
    ROW("+unpack64", "", unpack64),
#define COMPARES16(cmp, f) ROW("setp." cmp ".u16", "pww", f##_u16), ROW("setp." cmp ".s16", "pww", f##_s16)
    ROW("setp.eq.b16", "pww", eq_16),
    ROW("setp.ne.b16", "pww", ne_16),
    ROW("setp.eq.u16", "pww", eq_16),
    ROW("setp.ne.u16", "pww", ne_16),
    ROW("setp.eq.s16", "pww", eq_16),
    ROW("setp.ne.s16", "pww", ne_16),
    ROW("setp.lo.u16", "pww", lt_u16),
    ROW("setp.ls.u16", "pww", le_u16),
    ROW("setp.hi.u16", "pww", gt_u16),
    ROW("setp.hs.u16", "pww", ge_u16),
    COMPARES16("lt", lt),
    COMPARES16("le", le),
    COMPARES16("gt", gt),
    COMPARES16("ge", ge),
};
const struct op_table simt_ops_integer = {rows, sizeof rows / sizeof *rows};
