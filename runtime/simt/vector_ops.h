/* The ops that decide speed, written as plain loops over 32 lanes. vector_base.c, vector_avx2.c and vector_avx512.c
 * include this file, each compiled by the Makefile for its instruction set, and name the table by VECTOR_TABLE. */
#include <fenv.h>
#include <float.h>
#include <math.h>
#include <string.h>
#include "runtime/simt/matrix.h"
#include "runtime/simt/power.h"
#include "runtime/simt/rounded.h"
#include "runtime/simt/tally.h"
#include "runtime/simt/tcgen05.h"
#ifdef __AVX2__
#include <immintrin.h>
#endif
#include "runtime/simt/vector_loops.h"
#include "runtime/simt/vector_integer.h"

/* ---- floats ---- */
static inline __attribute__((always_inline)) float flush(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, 4);
    if ((bits & 0x7fffffffu) < 0x00800000u) bits &= 0x80000000u;
    memcpy(&x, &bits, 4);
    return x;
}
static inline __attribute__((always_inline)) float saturate(float x)
{
    return !(x > 0) ? 0 : x > 1 ? 1 : x;
}
static inline __attribute__((always_inline)) float modify(float x, bool ftz, bool sat)
{
    if (ftz) x = flush(x);
    return sat ? saturate(x) : x;
}
#define FLAGGED2(name, expr)                                                                                           \
    OP(name)                                                                                                           \
    {                                                                                                                  \
        UNUSED_WARP;                                                                                                   \
        f32 *d = (f32 *)(R + i->d);                                                                                    \
        const f32 *a = (const f32 *)(R + i->a), *b = (const f32 *)(R + i->b);                                          \
        bool ftz = i->flags & F_FTZ, sat = i->flags & F_SAT;                                                           \
        RESULT(f32, float x = modify(a[l], ftz, false); float y = modify(b[l], ftz, false), modify(expr, ftz, sat))    \
        return EV_NEXT;                                                                                                \
    }
static inline __attribute__((always_inline)) float min_float(float x, float y)
{
    uint32_t p, q;
    memcpy(&p, &x, 4);
    memcpy(&q, &y, 4);
    p |= q;
    float both;
    memcpy(&both, &p, 4);
    return x != x ? y : y != y ? x : x == y ? both : x < y ? x : y;
}
static inline __attribute__((always_inline)) float max_float(float x, float y)
{
    uint32_t p, q;
    memcpy(&p, &x, 4);
    memcpy(&q, &y, 4);
    p &= q;
    float both;
    memcpy(&both, &p, 4);
    return x != x ? y : y != y ? x : x == y ? both : x > y ? x : y;
}
static inline __attribute__((always_inline)) double min_double(double x, double y)
{
    return x != x ? y : y != y ? x : x == y ? (signbit(x) ? x : y) : x < y ? x : y;
}
static inline __attribute__((always_inline)) double max_double(double x, double y)
{
    return x != x ? y : y != y ? x : x == y ? (signbit(x) ? y : x) : x > y ? x : y;
}
BINARY(add_f32, f32, f32, f32, x + y)
BINARY(sub_f32, f32, f32, f32, x - y)
BINARY(mul_f32, f32, f32, f32, x *y)
BINARY(div_f32, f32, f32, f32, x / y)
TERNARY(fma_f32, f32, f32, f32, __builtin_fmaf(x, y, z))
BINARY(min_f32, f32, f32, f32, min_float(x, y))
BINARY(max_f32, f32, f32, f32, max_float(x, y))
UNARY(neg_f32, u32, u32, x ^ 0x80000000u)
UNARY(abs_f32, u32, u32, x & 0x7fffffffu)
UNARY(sqrt_f32, f32, f32, __builtin_sqrtf(x))
UNARY(rcp_f32, f32, f32, 1.0f / x)
UNARY(rsqrt_f32, f32, f32, (float)(1.0 / __builtin_sqrt((double)x)))
FLAGGED2(add_f32_flagged, x + y)
FLAGGED2(sub_f32_flagged, x - y)
FLAGGED2(mul_f32_flagged, x *y)
FLAGGED2(div_f32_flagged, x / y)
FLAGGED2(min_f32_flagged, min_float(x, y))
FLAGGED2(max_f32_flagged, max_float(x, y))
OP(fma_f32_flagged)
{
    UNUSED_WARP;
    f32 *d = (f32 *)(R + i->d);
    const f32 *a = (const f32 *)(R + i->a), *b = (const f32 *)(R + i->b), *c = (const f32 *)(R + i->c);
    bool ftz = i->flags & F_FTZ, sat = i->flags & F_SAT;
    RESULT(f32, float x = modify(a[l], ftz, false); float y = modify(b[l], ftz, false);
           float z = modify(c[l], ftz, false), modify(__builtin_fmaf(x, y, z), ftz, sat))
    return EV_NEXT;
}
/* Rounded down, in doubles: the product is right, the sum has an error e, and so the nearest float may lie above both.
 */
static inline __attribute__((always_inline)) float fma_down(float x, float y, float z)
{
    double p = (double)x * (double)y, c = (double)z, s = p + c, t = s - p, e = (p - (s - t)) + (c - t);
    float f = (float)s;
    uint32_t bits;
    memcpy(&bits, &f, 4);
    bool above = (double)f - s > e;
    uint32_t below = f == 0 ? 0x80000001u : bits & 0x80000000u ? bits + 1 : bits - 1;
    bool negative_zero = s == 0 && (to_bits(p) | to_bits(c)) >> 63; /* of numbers that cancel */
    bits = above ? below : negative_zero ? 0x80000000u : bits;
    memcpy(&f, &bits, 4);
    return f;
}
TERNARY(fma_f32_down, f32, f32, f32, fma_down(x, y, z))
UNARY(floor_f32, f32, f32, __builtin_floorf(x))
UNARY(ceil_f32, f32, f32, __builtin_ceilf(x))
UNARY(trunc_f32, f32, f32, __builtin_truncf(x))
OP(cvt_f32_modified)
{
    UNUSED_WARP;
    f32 *d = (f32 *)(R + i->d);
    const f32 *a = (const f32 *)(R + i->a);
    bool ftz = i->flags & F_FTZ, sat = i->flags & F_SAT;
    RESULT(f32, float x = a[l], modify(x, ftz, sat))
    return EV_NEXT;
}
UNARY(neg_f32_ftz, f32, f32, -flush(x))
UNARY(abs_f32_ftz, f32, f32, fabsf(flush(x)))
UNARY(sqrt_f32_ftz, f32, f32, flush(__builtin_sqrtf(flush(x))))
UNARY(rcp_f32_ftz, f32, f32, flush(1.0f / flush(x)))
UNARY(rsqrt_f32_ftz, f32, f32, flush((float)(1.0 / __builtin_sqrt((double)flush(x)))))

static inline __attribute__((always_inline)) uint32_t float_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, 4);
    return bits;
}
static inline __attribute__((always_inline)) float whole_power(int32_t n)
{
    uint32_t bits = ((uint32_t)n << 23) + 0x3f800000;
    float x;
    memcpy(&x, &bits, 4);
    return x;
}
static inline __attribute__((always_inline)) float power_of_2(float x)
{
    const float terms[] = {POWER_TERMS};
    float y = x > POWER_MOST ? POWER_MOST : x < POWER_LEAST ? POWER_LEAST : x;
    float t = y + POWER_SHIFT, f = y - (t - POWER_SHIFT), p = terms[6];
    for (int k = 5; k >= 0; k--) p = __builtin_fmaf(p, f, terms[k]);
    int32_t n = (int32_t)(float_bits(t) - float_bits(POWER_SHIFT)), some = n >> 1;
    return p * whole_power(some) * whole_power((int32_t)((uint32_t)n - (uint32_t)some)); /* the first is exact */
}
/* In doubles, without branches: right to the last place of a float but for rare roundings, and the same bits with every
 * instruction set. */
static inline __attribute__((always_inline)) float logarithm_to_2(float x)
{
    uint64_t bits = to_bits((double)x), one = (uint64_t)1023 << 52;
    double m = of_bits((bits & 0xfffffffffffff) | one);
    double e = of_bits((bits >> 52) | 0x4330000000000000) - (0x1p52 + 1023); /* the exponent as a number */
    bool large = m > 0x1.6a09e667f3bcdp0;
    m = large ? m * 0.5 : m;
    e = large ? e + 1 : e;
    double t = (m - 1) / (m + 1), s = t * t;
    double p = 1 + s * (1.0 / 3 + s * (1.0 / 5 + s * (1.0 / 7 + s * (1.0 / 9 + s * (1.0 / 11 + s * (1.0 / 13))))));
    float r = (float)(e + t * 0x1.71547652b82fep1 * p);
    r = x == INFINITY ? x : r;
    return x > 0 ? r : x == 0 ? -INFINITY : NAN;
}
UNARY(ex2_f32, f32, f32, power_of_2(x))
UNARY(lg2_f32, f32, f32, logarithm_to_2(x))
UNARY(ex2_f32_ftz, f32, f32, flush(power_of_2(flush(x))))
UNARY(lg2_f32_ftz, f32, f32, flush(logarithm_to_2(flush(x))))
#include "runtime/simt/vector_circle.h"

BINARY(add_f64, f64, f64, f64, x + y)
BINARY(sub_f64, f64, f64, f64, x - y)
BINARY(mul_f64, f64, f64, f64, x *y)
BINARY(div_f64, f64, f64, f64, x / y)
TERNARY(fma_f64, f64, f64, f64, __builtin_fma(x, y, z))
BINARY(min_f64, f64, f64, f64, min_double(x, y))
BINARY(max_f64, f64, f64, f64, max_double(x, y))
UNARY(neg_f64, u64, u64, x ^ 0x8000000000000000u)
UNARY(abs_f64, u64, u64, x & 0x7fffffffffffffffu)
UNARY(sqrt_f64, f64, f64, __builtin_sqrt(x))
UNARY(rcp_f64, f64, f64, 1.0 / x)
UNARY(rsqrt_f64, f64, f64, 1.0 / __builtin_sqrt(x))
static inline __attribute__((always_inline)) double flush_double(double x)
{
    return __builtin_fabs(x) < 0x1p-1022 ? __builtin_copysign(0, x) : x;
}
UNARY(rcp_f64_ftz, f64, f64, flush_double(1.0 / flush_double(x)))
UNARY(rsqrt_f64_ftz, f64, f64, 1.0 / __builtin_sqrt(flush_double(x)))
UNARY(floor_f64, f64, f64, __builtin_floor(x))
UNARY(ceil_f64, f64, f64, __builtin_ceil(x))
UNARY(trunc_f64, f64, f64, __builtin_trunc(x))
UNARY(rint_f64, f64, f64, __builtin_rint(x))

/* ---- predicates ---- */
static inline __attribute__((always_inline)) uint32_t pack(const uint32_t *t)
{
#ifdef __AVX512F__
    __m512i lo = _mm512_loadu_si512(t), hi = _mm512_loadu_si512(t + 16);
    return (uint32_t)_mm512_test_epi32_mask(lo, lo) | (uint32_t)_mm512_test_epi32_mask(hi, hi) << 16;
#else
    uint32_t r = 0;
    for (int l = 0; l < SIMT_WARP; l++) r |= (t[l] & 1u) << l;
    return r;
#endif
}
static inline uint32_t merge(uint32_t old, uint32_t now, uint32_t m)
{
    return (old & ~m) | (now & m);
}
static __attribute__((noinline)) void set_combined(char *R, const struct insn *i, uint32_t m, uint32_t r)
{
    uint32_t c = *u32_at(R, i->c), p = r, q = ~r;
    switch (i->mode) {
    case 1:
        p &= c;
        q &= c;
        break;
    case 2:
        p |= c;
        q |= c;
        break;
    case 3:
        p ^= c;
        q ^= c;
        break;
    }
    *u32_at(R, i->d) = merge(*u32_at(R, i->d), p, m);
    *u32_at(R, i->d2) = merge(*u32_at(R, i->d2), q, m);
}
#define COMPARE(name, T, expr)                                                                                         \
    OP(name)                                                                                                           \
    {                                                                                                                  \
        UNUSED_WARP;                                                                                                   \
        const T *a = (const T *)(R + i->a);                                                                            \
        const T *b = (const T *)(R + i->b);                                                                            \
        uint32_t t[SIMT_WARP];                                                                                         \
        IVDEP for (int l = 0; l < SIMT_WARP; l++)                                                                      \
        {                                                                                                              \
            T x = a[l];                                                                                                \
            T y = b[l];                                                                                                \
            t[l] = (expr);                                                                                             \
        }                                                                                                              \
        uint32_t r = pack(t);                                                                                          \
        if (i->mode)                                                                                                   \
            set_combined(R, i, m, r);                                                                                  \
        else                                                                                                           \
            *u32_at(R, i->d) = merge(*u32_at(R, i->d), r, m);                                                          \
        return EV_NEXT;                                                                                                \
    }
#define COMPARES(suffix, T)                                                                                            \
    COMPARE(setp_eq_##suffix, T, x == y)                                                                               \
    COMPARE(setp_ne_##suffix, T, x != y)                                                                               \
    COMPARE(setp_lt_##suffix, T, x < y)                                                                                \
    COMPARE(setp_le_##suffix, T, x <= y)                                                                               \
    COMPARE(setp_gt_##suffix, T, x > y)                                                                                \
    COMPARE(setp_ge_##suffix, T, x >= y)
#define COMPARES_FLOAT(suffix, T, f)                                                                                   \
    COMPARE(setp_eq_##suffix, T, f(x) == f(y))                                                                         \
    COMPARE(setp_ne_##suffix, T, f(x) < f(y) || f(x) > f(y))                                                           \
    COMPARE(setp_lt_##suffix, T, f(x) < f(y))                                                                          \
    COMPARE(setp_le_##suffix, T, f(x) <= f(y))                                                                         \
    COMPARE(setp_gt_##suffix, T, f(x) > f(y))                                                                          \
    COMPARE(setp_ge_##suffix, T, f(x) >= f(y))                                                                         \
    COMPARE(setp_equ_##suffix, T, !(f(x) < f(y) || f(x) > f(y)))                                                       \
    COMPARE(setp_neu_##suffix, T, f(x) != f(y))                                                                        \
    COMPARE(setp_ltu_##suffix, T, !(f(x) >= f(y)))                                                                     \
    COMPARE(setp_leu_##suffix, T, !(f(x) > f(y)))                                                                      \
    COMPARE(setp_gtu_##suffix, T, !(f(x) <= f(y)))                                                                     \
    COMPARE(setp_geu_##suffix, T, !(f(x) < f(y)))                                                                      \
    COMPARE(setp_num_##suffix, T, x == x && y == y)                                                                    \
    COMPARE(setp_nan_##suffix, T, x != x || y != y)
COMPARES(u32, u32)
COMPARES(s32, s32)
COMPARES(u64, u64)
COMPARES(s64, s64)
COMPARES_FLOAT(f32, f32, )
COMPARES_FLOAT(f32_ftz, f32, flush)
COMPARES_FLOAT(f64, f64, )

OP(selp_32)
{
    UNUSED_WARP;
    u32 *d = (u32 *)(R + i->d);
    const u32 *a = (const u32 *)(R + i->a), *b = (const u32 *)(R + i->b);
    uint32_t p = *u32_at(R, i->c);
    RESULT(u32, uint32_t take = p >> l & 1, take ? a[l] : b[l])
    return EV_NEXT;
}
OP(selp_64)
{
    UNUSED_WARP;
    u64 *d = (u64 *)(R + i->d);
    const u64 *a = (const u64 *)(R + i->a), *b = (const u64 *)(R + i->b);
    uint32_t p = *u32_at(R, i->c);
    RESULT(u64, uint32_t take = p >> l & 1, take ? a[l] : b[l])
    return EV_NEXT;
}
#define PREDICATE(name, expr)                                                                                          \
    OP(name)                                                                                                           \
    {                                                                                                                  \
        UNUSED_WARP;                                                                                                   \
        uint32_t x = *u32_at(R, i->a), y = *u32_at(R, i->b);                                                           \
        (void)y;                                                                                                       \
        *u32_at(R, i->d) = merge(*u32_at(R, i->d), (expr), m);                                                         \
        return EV_NEXT;                                                                                                \
    }
PREDICATE(and_pred, x &y)
PREDICATE(or_pred, x | y)
PREDICATE(xor_pred, x ^ y)
PREDICATE(not_pred, ~x)
PREDICATE(mov_pred, x)

#include "runtime/simt/vector_memory.h"
#include "runtime/simt/vector_atomic.h"
#include "runtime/simt/vector_half.h"
#include "runtime/simt/vector_matrix.h"
#include "runtime/simt/vector_tcgen05.h"

/* ---- the table ---- */
#define BOTH32(op, f)                                                                                                  \
    {op ".u32", "www", f, NULL, 0},                                                                                    \
    {                                                                                                                  \
        op ".s32", "www", f, NULL, 0                                                                                   \
    }
#define BOTH64(op, f)                                                                                                  \
    {op ".u64", "qqq", f, NULL, 0},                                                                                    \
    {                                                                                                                  \
        op ".s64", "qqq", f, NULL, 0                                                                                   \
    }
#define MODS (F_FTZ | F_SAT | F_RN)
#define SETP3(cmp, f, t, width)                                                                                        \
    {                                                                                                                  \
        "setp." cmp "." #t, "p" width width, setp_##f##_##t, NULL, 0                                                   \
    }
#define SETP_INT(cmp, f)                                                                                               \
    SETP3(cmp, f, u32, "w"), SETP3(cmp, f, s32, "w"), SETP3(cmp, f, u64, "q"), SETP3(cmp, f, s64, "q")
#define SETP_B(cmp)                                                                                                    \
    {"setp." #cmp ".b32", "pww", setp_##cmp##_u32, NULL, 0},                                                           \
    {                                                                                                                  \
        "setp." #cmp ".b64", "pqq", setp_##cmp##_u64, NULL, 0                                                          \
    }
#define SETP_FLOAT(cmp)                                                                                                \
    {"setp." #cmp ".f32", "pww", setp_##cmp##_f32, setp_##cmp##_f32_ftz, F_FTZ},                                       \
    {                                                                                                                  \
        "setp." #cmp ".f64", "pqq", setp_##cmp##_f64, NULL, 0                                                          \
    }
#define WIDTHS(op, f32_, f64_, a, b)                                                                                   \
    {op ".b32", a, f32_, NULL, 0}, {op ".u32", a, f32_, NULL, 0}, {op ".s32", a, f32_, NULL, 0},                       \
        {op ".f32", a, f32_, NULL, 0}, {op ".b16", a, f32_, NULL, 0}, {op ".u16", a, f32_, NULL, 0},                   \
        {op ".s16", a, f32_, NULL, 0}, {op ".f16", a, f32_, NULL, 0}, {op ".bf16", a, f32_, NULL, 0},                  \
        {op ".f16x2", a, f32_, NULL, 0}, {op ".bf16x2", a, f32_, NULL, 0}, {op ".b64", b, f64_, NULL, 0},              \
        {op ".u64", b, f64_, NULL, 0}, {op ".s64", b, f64_, NULL, 0},                                                  \
    {                                                                                                                  \
        op ".f64", b, f64_, NULL, 0                                                                                    \
    }
#define LOGIC(op)                                                                                                      \
    {#op ".b32", "www", op##_32, NULL, 0}, {#op ".b16", "www", op##_32, NULL, 0},                                      \
        {#op ".b64", "qqq", op##_64, NULL, 0},                                                                         \
    {                                                                                                                  \
#op ".pred", "ppp", op##_pred, NULL, 0                                                                         \
    }
static const struct op_row rows[] = {
    BOTH32("add", add_32),
    BOTH32("sub", sub_32),
    BOTH32("mul.lo", mul_32),
    {"mul.hi.u32", "www", mul_hi_u32, NULL, 0},
    {"mul.hi.s32", "www", mul_hi_s32, NULL, 0},
    {"div.u32", "www", div_u32, NULL, 0},
    {"div.s32", "www", div_s32, NULL, 0},
    {"rem.u32", "www", rem_u32, NULL, 0},
    {"rem.s32", "www", rem_s32, NULL, 0},
    {"prmt.b32", "wwww", prmt, NULL, 0},
    {"dp4a.u32.u32", "wwww", dp4a_uu, NULL, 0},
    {"dp4a.u32.s32", "wwww", dp4a_us, NULL, 0},
    {"dp4a.s32.u32", "wwww", dp4a_su, NULL, 0},
    {"dp4a.s32.s32", "wwww", dp4a_ss, NULL, 0},
    {"+pack32", "", pack_32, NULL, 0},
    {"mul.wide.u32", "qww", mul_wide_u32, NULL, 0},
    {"mul.wide.s32", "qww", mul_wide_s32, NULL, 0},
    {"mul.wide.u16", "www", mul_wide_u16, NULL, 0},
    {"mul.wide.s16", "www", mul_wide_s16, NULL, 0},
    {"mad.lo.u32", "wwww", mad_32, NULL, 0},
    {"mad.lo.s32", "wwww", mad_32, NULL, 0},
    {"mad.hi.u32", "wwww", mad_hi_u32, NULL, 0},
    {"mad.hi.s32", "wwww", mad_hi_s32, NULL, 0},
    {"mad.wide.u32", "qwwq", mad_wide_u32, NULL, 0},
    {"mad.wide.s32", "qwwq", mad_wide_s32, NULL, 0},
    {"mad.wide.u16", "wwww", mad_wide_u16, NULL, 0},
    {"mad.wide.s16", "wwww", mad_wide_s16, NULL, 0},
    {"min.u32", "www", min_u32, NULL, 0},
    {"min.s32", "www", min_s32, NULL, 0},
    {"max.u32", "www", max_u32, NULL, 0},
    {"max.s32", "www", max_s32, NULL, 0},
    {"neg.s32", "ww", neg_32, NULL, 0},
    {"abs.s32", "ww", abs_s32, NULL, 0},
    LOGIC(and),
    LOGIC(or),
    LOGIC(xor),
    {"not.b32", "ww", not_32, NULL, 0},
    {"not.b16", "ww", not_32, NULL, 0},
    {"not.b64", "qq", not_64, NULL, 0},
    {"not.pred", "pp", not_pred, NULL, 0},
    {"shl.b32", "www", shl_32, NULL, 0},
    {"shr.u32", "www", shr_u32, NULL, 0},
    {"shr.b32", "www", shr_u32, NULL, 0},
    {"shr.s32", "www", shr_s32, NULL, 0},
    BOTH64("add", add_64),
    BOTH64("sub", sub_64),
    BOTH64("mul.lo", mul_64),
    {"mad.lo.u64", "qqqq", mad_64, NULL, 0},
    {"mad.lo.s64", "qqqq", mad_64, NULL, 0},
    {"min.u64", "qqq", min_u64, NULL, 0},
    {"min.s64", "qqq", min_s64, NULL, 0},
    {"max.u64", "qqq", max_u64, NULL, 0},
    {"max.s64", "qqq", max_s64, NULL, 0},
    {"neg.s64", "qq", neg_64, NULL, 0},
    {"abs.s64", "qq", abs_s64, NULL, 0},
    {"shl.b64", "qqw", shl_64, NULL, 0},
    {"shr.u64", "qqw", shr_u64, NULL, 0},
    {"shr.b64", "qqw", shr_u64, NULL, 0},
    {"shr.s64", "qqw", shr_s64, NULL, 0},
    WIDTHS("mov", mov_32, mov_64, "ww", "qq"),
    {"mov.pred", "pp", mov_pred, NULL, 0},
    WIDTHS("selp", selp_32, selp_64, "wwwp", "qqqp"),
    {"popc.b32", "ww", popc_32, NULL, 0},
    {"popc.b64", "wq", popc_64, NULL, 0},
    {"clz.b32", "ww", clz_32, NULL, 0},
    {"clz.b64", "wq", clz_64, NULL, 0},
    {"cvt.u64.u32", "qw", cvt_u64_u32, NULL, 0},
    {"cvt.s64.u32", "qw", cvt_u64_u32, NULL, 0},
    {"cvt.s64.s32", "qw", cvt_s64_s32, NULL, 0},
    {"cvt.u64.s32", "qw", cvt_s64_s32, NULL, 0},
    {"cvt.u32.u64", "wq", cvt_32_64, NULL, 0},
    {"cvt.s32.s64", "wq", cvt_32_64, NULL, 0},
    {"cvt.u32.s64", "wq", cvt_32_64, NULL, 0},
    {"cvt.s32.u64", "wq", cvt_32_64, NULL, 0},
    {"cvt.u16.u32", "ww", cvt_u32_u16, NULL, 0},
    {"cvt.u32.u16", "ww", cvt_u32_u16, NULL, 0},
    {"cvt.u32.u8", "ww", cvt_u32_u8, NULL, 0},
    {"cvt.s32.s16", "ww", cvt_s32_s16, NULL, 0},
    {"cvt.s32.s8", "ww", cvt_s32_s8, NULL, 0},
    {"cvt.f32.u16", "ww", cvt_f32_u16, NULL, F_RN},
    {"cvt.f32.u8", "ww", cvt_f32_u8, NULL, F_RN},
    {"cvt.f32.f32", "ww", NULL, cvt_f32_modified, F_SAT},
    {"cvt.f32.f32", "ww", NULL, cvt_f32_modified, F_FTZ | F_SAT},
    {"cvt.f32.f32", "ww", NULL, floor_f32, F_RMI},
    {"cvt.f32.f32", "ww", NULL, ceil_f32, F_RPI},
    {"cvt.f32.f32", "ww", NULL, trunc_f32, F_RZI},
    {"cvt.f64.f64", "qq", NULL, floor_f64, F_RMI},
    {"cvt.f64.f64", "qq", NULL, ceil_f64, F_RPI},
    {"cvt.f64.f64", "qq", NULL, trunc_f64, F_RZI},
    {"cvt.f64.f64", "qq", NULL, rint_f64, F_RNI},
    {"cvt.f32.s32", "ww", cvt_f32_s32, NULL, F_RN},
    {"cvt.f32.u32", "ww", cvt_f32_u32, NULL, F_RN},
    {"cvt.f64.s32", "qw", cvt_f64_s32, NULL, F_RN},
    {"cvt.f64.u32", "qw", cvt_f64_u32, NULL, F_RN},
    {"cvt.f32.s64", "wq", cvt_f32_s64, NULL, F_RN},
    {"cvt.f32.u64", "wq", cvt_f32_u64, NULL, F_RN},
    {"cvt.f64.s64", "qq", cvt_f64_s64, NULL, F_RN},
    {"cvt.f64.u64", "qq", cvt_f64_u64, NULL, F_RN},
    {"cvt.f64.f32", "qw", cvt_f64_f32, NULL, 0},
    {"cvt.f32.f64", "wq", cvt_f32_f64, NULL, F_RN},
    {"cvt.s32.f32", "ww", NULL, cvt_rzi_s32_f32, F_RZI},
    {"cvt.s32.f32", "ww", NULL, cvt_rni_s32_f32, F_RNI},
    {"cvt.s32.f32", "ww", NULL, cvt_rmi_s32_f32, F_RMI},
    {"cvt.s32.f32", "ww", NULL, cvt_rpi_s32_f32, F_RPI},
    {"cvt.u32.f32", "ww", NULL, cvt_rzi_u32_f32, F_RZI},
    {"cvt.s64.f32", "qw", NULL, cvt_rzi_s64_f32, F_RZI},
    {"cvt.u64.f32", "qw", NULL, cvt_rzi_u64_f32, F_RZI},
    {"cvt.s64.f64", "qq", NULL, cvt_rzi_s64_f64, F_RZI},
    {"cvt.s64.f64", "qq", NULL, cvt_rni_s64_f64, F_RNI},
    {"cvt.s64.f64", "qq", NULL, cvt_rmi_s64_f64, F_RMI},
    {"cvt.u64.f64", "qq", NULL, cvt_rzi_u64_f64, F_RZI},
    {"cvt.s32.f64", "wq", NULL, cvt_rzi_s32_f64, F_RZI},
    {"cvt.s32.f64", "wq", NULL, cvt_rni_s32_f64, F_RNI},
    {"cvt.s32.f64", "wq", NULL, cvt_rmi_s32_f64, F_RMI},
    {"cvt.u32.f64", "wq", NULL, cvt_rzi_u32_f64, F_RZI},
    {"add.f32", "www", add_f32, add_f32_flagged, MODS},
    {"sub.f32", "www", sub_f32, sub_f32_flagged, MODS},
    {"mul.f32", "www", mul_f32, mul_f32_flagged, MODS},
    {"div.f32", "www", div_f32, div_f32_flagged, F_RN | F_FTZ | F_APPROX | F_FULLRANGE},
    {"fma.f32", "wwww", fma_f32, fma_f32_flagged, MODS},
    {"mad.f32", "wwww", fma_f32, fma_f32_flagged, MODS},
    {"fma.f32", "wwww", NULL, fma_f32_down, F_RM},
    {"min.f32", "www", min_f32, min_f32_flagged, F_FTZ},
    {"max.f32", "www", max_f32, max_f32_flagged, F_FTZ},
    {"neg.f32", "ww", neg_f32, neg_f32_ftz, F_FTZ},
    {"abs.f32", "ww", abs_f32, abs_f32_ftz, F_FTZ},
    {"sqrt.f32", "ww", sqrt_f32, NULL, F_RN | F_APPROX},
    {"sqrt.f32", "ww", sqrt_f32_ftz, NULL, F_RN | F_APPROX | F_FTZ},
    {"rcp.f32", "ww", rcp_f32, NULL, F_RN | F_APPROX},
    {"rcp.f32", "ww", rcp_f32_ftz, NULL, F_RN | F_APPROX | F_FTZ},
    {"rsqrt.f32", "ww", rsqrt_f32, NULL, F_APPROX},
    {"rsqrt.f32", "ww", rsqrt_f32_ftz, NULL, F_APPROX | F_FTZ},
    {"ex2.f32", "ww", ex2_f32, ex2_f32_ftz, F_APPROX | F_FTZ},
    {"lg2.f32", "ww", lg2_f32, lg2_f32_ftz, F_APPROX | F_FTZ},
    {"sin.f32", "ww", sin_f32, sin_f32_ftz, F_APPROX | F_FTZ},
    {"cos.f32", "ww", cos_f32, cos_f32_ftz, F_APPROX | F_FTZ},
    {"add.f64", "qqq", add_f64, NULL, F_RN},
    {"sub.f64", "qqq", sub_f64, NULL, F_RN},
    {"mul.f64", "qqq", mul_f64, NULL, F_RN},
    {"div.f64", "qqq", div_f64, NULL, F_RN},
    {"fma.f64", "qqqq", fma_f64, NULL, F_RN},
    {"mad.f64", "qqqq", fma_f64, NULL, F_RN},
    {"min.f64", "qqq", min_f64, NULL, 0},
    {"max.f64", "qqq", max_f64, NULL, 0},
    {"neg.f64", "qq", neg_f64, NULL, 0},
    {"abs.f64", "qq", abs_f64, NULL, 0},
    {"sqrt.f64", "qq", sqrt_f64, NULL, F_RN},
    {"rcp.f64", "qq", rcp_f64, NULL, F_RN},
    {"rsqrt.f64", "qq", rsqrt_f64, NULL, F_APPROX},
    {"rcp.f64", "qq", rcp_f64_ftz, NULL, F_APPROX | F_FTZ},
    {"rsqrt.f64", "qq", rsqrt_f64_ftz, NULL, F_APPROX | F_FTZ},
    SETP_INT("eq", eq),
    SETP_INT("ne", ne),
    SETP_INT("lt", lt),
    SETP_INT("le", le),
    SETP_INT("gt", gt),
    SETP_INT("ge", ge),
    SETP3("lo", lt, u32, "w"),
    SETP3("ls", le, u32, "w"),
    SETP3("hi", gt, u32, "w"),
    SETP3("hs", ge, u32, "w"),
    SETP3("lo", lt, u64, "q"),
    SETP3("ls", le, u64, "q"),
    SETP3("hi", gt, u64, "q"),
    SETP3("hs", ge, u64, "q"),
    SETP_B(eq),
    SETP_B(ne),
    SETP_FLOAT(eq),
    SETP_FLOAT(ne),
    SETP_FLOAT(lt),
    SETP_FLOAT(le),
    SETP_FLOAT(gt),
    SETP_FLOAT(ge),
    SETP_FLOAT(equ),
    SETP_FLOAT(neu),
    SETP_FLOAT(ltu),
    SETP_FLOAT(leu),
    SETP_FLOAT(gtu),
    SETP_FLOAT(geu),
    SETP_FLOAT(num),
    SETP_FLOAT(nan),
    MEMORY_ROWS,
    ATOMIC_ROWS,
    HALVES,
    MATRIX_ROWS,
    TENSOR_ROWS,
};
const struct op_table VECTOR_TABLE = {rows, sizeof rows / sizeof *rows};
