/* 16-bit floats of the vector ops: part of vector_ops.h. Sums and products of f16 and bf16 are computed as floats,
 * which have more than twice their digits: rounding those again gives what rounding once would. A fused multiply-add
 * needs its sum rounded to odd for that. What has modifiers is in ops_half.c. */
static inline __attribute__((always_inline)) float widen_half(uint32_t h)
{
    uint32_t bits = (h & 0x7fff) << 13, sign = (h & 0x8000) << 16;
    float f;
    bits = (h & 0x7c00) == 0x7c00 ? bits | 0x7f800000u : bits;
    memcpy(&f, &bits, 4);
    f = (h & 0x7c00) == 0x7c00 ? f : f * 0x1p112f; /* puts the exponent right, of denormals too */
    memcpy(&bits, &f, 4);
    bits |= sign;
    memcpy(&f, &bits, 4);
    return f;
}

/* To nearest, ties to even. */
static inline __attribute__((always_inline)) uint32_t shorten_half(float f)
{
    uint32_t bits, tiny, sign;
    memcpy(&bits, &f, 4);
    sign = bits >> 16 & 0x8000;
    bits &= 0x7fffffffu;
    memcpy(&f, &bits, 4);
    f += 0.5f; /* a float of this size has the last place of f16's denormals */
    memcpy(&tiny, &f, 4);
    uint32_t normal = (bits - 0x38000000u + 0xfff + (bits >> 13 & 1)) >> 13;
    uint32_t r = bits < 0x38800000u ? tiny - 0x3f000000u : bits < 0x477ff000u ? normal : 0x7c00;
    return bits > 0x7f800000u ? 0x7fff : sign | r;
}

static inline __attribute__((always_inline)) float widen_bfloat(uint32_t h)
{
    uint32_t bits = h << 16;
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

static inline __attribute__((always_inline)) uint32_t shorten_bfloat(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, 4);
    return (bits & 0x7fffffffu) > 0x7f800000u ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

/* p + c with the last bit set where the sum is not exact. */
static inline __attribute__((always_inline)) float sum_to_odd(float p, float c)
{
    float s = p + c, part = s - p, error = (p - (s - part)) + (c - part);
    uint32_t bits;
    memcpy(&bits, &s, 4);
    uint32_t step = (error > 0) == (s > 0) ? 1 : UINT32_MAX;
    bits += (error < 0 || error > 0) && !(bits & 1) ? step : 0;
    memcpy(&s, &bits, 4);
    return s;
}

#define HALF_OPS(name, widen, shorten, value)                                                                          \
    OP(name)                                                                                                           \
    {                                                                                                                  \
        UNUSED_WARP;                                                                                                   \
        u32 *d = (u32 *)(R + i->d);                                                                                    \
        const u32 *a = (const u32 *)(R + i->a), *b = (const u32 *)(R + i->b);                                          \
        RESULT(u32, float x = widen(a[l] & 0xffff); float y = widen(b[l] & 0xffff), shorten(value))                    \
        return EV_NEXT;                                                                                                \
    }                                                                                                                  \
    OP(name##x2)                                                                                                       \
    {                                                                                                                  \
        UNUSED_WARP;                                                                                                   \
        u32 *d = (u32 *)(R + i->d), low[SIMT_WARP];                                                                    \
        const u32 *a = (const u32 *)(R + i->a), *b = (const u32 *)(R + i->b);                                          \
        IVDEP for (int l = 0; l < SIMT_WARP; l++)                                                                      \
        {                                                                                                              \
            float x = widen(a[l] & 0xffff), y = widen(b[l] & 0xffff);                                                  \
            low[l] = shorten(value);                                                                                   \
        }                                                                                                              \
        RESULT(u32, float x = widen(a[l] >> 16); float y = widen(b[l] >> 16), low[l] | shorten(value) << 16)           \
        return EV_NEXT;                                                                                                \
    }
HALF_OPS(add_f16, widen_half, shorten_half, x + y)
HALF_OPS(sub_f16, widen_half, shorten_half, x - y)
HALF_OPS(mul_f16, widen_half, shorten_half, x *y)
HALF_OPS(add_bf16, widen_bfloat, shorten_bfloat, x + y)
HALF_OPS(sub_bf16, widen_bfloat, shorten_bfloat, x - y)
HALF_OPS(mul_bf16, widen_bfloat, shorten_bfloat, x *y)

/* The sum of c and a product that is exact: of f16 all are. */
#define HALF_FMA(name, widen, shorten)                                                                                 \
    static void name##_loop(u32 *d, const u32 *a, const u32 *b, const u32 *c, int shift, uint32_t *odd)                \
    {                                                                                                                  \
        uint32_t found = 0;                                                                                            \
        IVDEP for (int l = 0; l < SIMT_WARP; l++)                                                                      \
        {                                                                                                              \
            float x = widen(a[l] >> shift & 0xffff), y = widen(b[l] >> shift & 0xffff), p = x * y;                     \
            d[l] = shorten(sum_to_odd(p, widen(c[l] >> shift & 0xffff)));                                              \
            found |= (uint32_t)(fabsf(p) > FLT_MAX) | ((uint32_t)(p == 0) & (uint32_t)(x != 0) & (uint32_t)(y != 0));  \
        }                                                                                                              \
        *odd |= found;                                                                                                 \
    }
HALF_FMA(fma_f16, widen_half, shorten_half)
HALF_FMA(fma_bf16, widen_bfloat, shorten_bfloat)

OP(fma_f16)
{
    UNUSED_WARP;
    u32 *d = u32_at(R, i->d), low[SIMT_WARP];
    uint32_t any = 0;
    fma_f16_loop(low, u32_at(R, i->a), u32_at(R, i->b), u32_at(R, i->c), 0, &any);
    put_u32(d, low, m);
    return EV_NEXT;
}
OP(fma_f16x2)
{
    UNUSED_WARP;
    u32 *d = u32_at(R, i->d), low[SIMT_WARP], high[SIMT_WARP];
    uint32_t any = 0;
    fma_f16_loop(low, u32_at(R, i->a), u32_at(R, i->b), u32_at(R, i->c), 0, &any);
    fma_f16_loop(high, u32_at(R, i->a), u32_at(R, i->b), u32_at(R, i->c), 16, &any);
    RESULT(u32, , low[l] | high[l] << 16)
    return EV_NEXT;
}
/* A product of bf16 may be too large for a float, or too small: then the sum is computed otherwise. */
OP(fma_bf16)
{
    u32 *d = u32_at(R, i->d), low[SIMT_WARP];
    uint32_t odd = 0;
    fma_bf16_loop(low, u32_at(R, i->a), u32_at(R, i->b), u32_at(R, i->c), 0, &odd);
    if (odd) return simt_op_fma_bf16(R, i, m, w);
    put_u32(d, low, m);
    return EV_NEXT;
}
OP(fma_bf16x2)
{
    u32 *d = u32_at(R, i->d), low[SIMT_WARP], high[SIMT_WARP];
    uint32_t odd = 0;
    fma_bf16_loop(low, u32_at(R, i->a), u32_at(R, i->b), u32_at(R, i->c), 0, &odd);
    fma_bf16_loop(high, u32_at(R, i->a), u32_at(R, i->b), u32_at(R, i->c), 16, &odd);
    if (odd) return simt_op_fma_bf16x2(R, i, m, w);
    RESULT(u32, , low[l] | high[l] << 16)
    return EV_NEXT;
}

/* A NaN becomes a quiet one. */
static inline __attribute__((always_inline)) uint32_t quiet(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, 4);
    return (bits & 0x7fffffffu) > 0x7f800000u ? bits | 0x00400000u : bits;
}
UNARY(cvt_f32_f16, u32, u32, quiet(widen_half(x & 0xffff)))
UNARY(cvt_f32_bf16, u32, u32, quiet(widen_bfloat(x & 0xffff)))
UNARY(cvt_f16_f32, u32, f32, shorten_half(x))
UNARY(cvt_bf16_f32, u32, f32, shorten_bfloat(x))
BINARY(cvt_f16x2_f32, u32, f32, f32, shorten_half(x) << 16 | shorten_half(y))
BINARY(cvt_bf16x2_f32, u32, f32, f32, shorten_bfloat(x) << 16 | shorten_bfloat(y))

#define HALF_ROWS(op, f, operands)                                                                                     \
    {op ".f16", operands, f##_f16, NULL, F_RN}, {op ".f16x2", operands, f##_f16x2, NULL, F_RN},                        \
        {op ".bf16", operands, f##_bf16, NULL, F_RN},                                                                  \
    {                                                                                                                  \
        op ".bf16x2", operands, f##_bf16x2, NULL, F_RN                                                                 \
    }
#define HALVES                                                                                                         \
    HALF_ROWS("add", add, "www"), HALF_ROWS("sub", sub, "www"), HALF_ROWS("mul", mul, "www"),                          \
        HALF_ROWS("fma", fma, "wwww"), {"cvt.f32.f16", "ww", cvt_f32_f16, NULL, 0},                                    \
        {"cvt.f32.bf16", "ww", cvt_f32_bf16, NULL, 0}, {"cvt.f16.f32", "ww", cvt_f16_f32, NULL, F_RN},                 \
        {"cvt.bf16.f32", "ww", cvt_bf16_f32, NULL, F_RN}, {"cvt.f16x2.f32", "www", cvt_f16x2_f32, NULL, F_RN},         \
    {                                                                                                                  \
        "cvt.bf16x2.f32", "www", cvt_bf16x2_f32, NULL, F_RN                                                            \
    }
