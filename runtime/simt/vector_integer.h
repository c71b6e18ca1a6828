/* Integers, their conversions, and those of floats to and from them: part of vector_ops.h. */
static inline __attribute__((always_inline)) double of_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, 8);
    return x;
}
static inline __attribute__((always_inline)) uint64_t to_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, 8);
    return bits;
}

/* Division, by doubles: a quotient of 32 bits that lies below a whole number lies further below it than a double
 * rounds. It never traps: by zero it gives all ones, the remainder then is the dividend. */
static inline __attribute__((always_inline)) double of_u32(uint32_t x)
{
    return (double)(int32_t)(x ^ 0x80000000u) + 0x1p31;
}
static inline __attribute__((always_inline)) uint32_t divide_u32(uint32_t x, uint32_t y)
{
    uint32_t q = (uint32_t)to_bits(__builtin_floor(of_u32(x) / of_u32(y)) + 0x1p52);
    return y ? q : UINT32_MAX;
}
static inline __attribute__((always_inline)) uint32_t divide_s32(int32_t x, int32_t y)
{
    uint32_t q = (uint32_t)to_bits(__builtin_trunc((double)x / (double)y) + 0x1.8p52);
    return y ? q : UINT32_MAX;
}
static inline __attribute__((always_inline)) uint32_t permute(uint32_t a, uint32_t b, uint32_t selector)
{
    uint64_t bytes = (uint64_t)b << 32 | a;
    uint32_t r = 0;
    for (int k = 0; k < 4; k++) {
        uint32_t s = selector >> (4 * k) & 15, byte = (uint32_t)(bytes >> (8 * (s & 7))) & 255;
        r |= (s & 8 ? (byte >> 7) * 255 : byte) << (8 * k);
    }
    return r;
}
static inline __attribute__((always_inline)) uint32_t dot4(uint32_t a, uint32_t b, uint32_t c, bool sa, bool sb)
{
    for (int k = 0; k < 32; k += 8) {
        int x = sa ? (int8_t)(a >> k) : (int)(uint8_t)(a >> k), y = sb ? (int8_t)(b >> k) : (int)(uint8_t)(b >> k);
        c += (uint32_t)(x * y);
    }
    return c;
}
BINARY(div_u32, u32, u32, u32, divide_u32(x, y))
BINARY(rem_u32, u32, u32, u32, x - divide_u32(x, y) * y)
BINARY(div_s32, u32, s32, s32, divide_s32(x, y))
BINARY(rem_s32, u32, s32, s32, (uint32_t)x - divide_s32(x, y) * (uint32_t)y)
TERNARY(prmt, u32, u32, u32, permute(x, y, z))
TERNARY(dp4a_uu, u32, u32, u32, dot4(x, y, z, false, false))
TERNARY(dp4a_us, u32, u32, u32, dot4(x, y, z, false, true))
TERNARY(dp4a_su, u32, u32, u32, dot4(x, y, z, true, false))
TERNARY(dp4a_ss, u32, u32, u32, dot4(x, y, z, true, true))
BINARY(pack_32, u32, u32, u32, (x & 0xffff) | y << 16)
BINARY(add_32, u32, u32, u32, x + y)
BINARY(sub_32, u32, u32, u32, x - y)
BINARY(mul_32, u32, u32, u32, x *y)
BINARY(mul_hi_u32, u32, u32, u32, (uint32_t)((uint64_t)x *y >> 32))
BINARY(mul_hi_s32, s32, s32, s32, (int32_t)((int64_t)x *y >> 32))
BINARY(mul_wide_u32, u64, u32, u32, (uint64_t)x *y)
BINARY(mul_wide_s32, s64, s32, s32, (int64_t)x *y)
BINARY(mul_wide_u16, u32, u32, u32, (uint32_t)(uint16_t)x *(uint16_t)y)
BINARY(mul_wide_s16, s32, s32, s32, (int32_t)(int16_t)x *(int16_t)y)
TERNARY(mad_32, u32, u32, u32, x *y + z)
TERNARY(mad_hi_u32, u32, u32, u32, (uint32_t)((uint64_t)x *y >> 32) + z)
TERNARY(mad_hi_s32, s32, s32, s32, (int32_t)((uint32_t)((int64_t)x *y >> 32) + (uint32_t)z))
TERNARY(mad_wide_u32, u64, u32, u64, (uint64_t)x *y + z)
TERNARY(mad_wide_s32, u64, s32, u64, (uint64_t)((int64_t)x *y) + z)
TERNARY(mad_wide_u16, u32, u32, u32, (uint32_t)(uint16_t)x *(uint16_t)y + z)
TERNARY(mad_wide_s16, u32, s32, u32, (uint32_t)((int32_t)(int16_t)x *(int16_t)y) + z)
BINARY(min_u32, u32, u32, u32, x < y ? x : y)
BINARY(max_u32, u32, u32, u32, x > y ? x : y)
BINARY(min_s32, s32, s32, s32, x < y ? x : y)
BINARY(max_s32, s32, s32, s32, x > y ? x : y)
UNARY(neg_32, u32, u32, 0u - x)
UNARY(abs_s32, u32, s32, x < 0 ? 0u - (uint32_t)x : (uint32_t)x)
BINARY(and_32, u32, u32, u32, x &y)
BINARY(or_32, u32, u32, u32, x | y)
BINARY(xor_32, u32, u32, u32, x ^ y)
UNARY(not_32, u32, u32, ~x)
UNARY(mov_32, u32, u32, x)
BINARY(shl_32, u32, u32, u32, y > 31 ? 0 : x << (y & 31))
BINARY(shr_u32, u32, u32, u32, y > 31 ? 0 : x >> (y & 31))
BINARY(shr_s32, s32, s32, u32, x >> (y > 31 ? 31 : y))

BINARY(add_64, u64, u64, u64, x + y)
BINARY(sub_64, u64, u64, u64, x - y)
BINARY(mul_64, u64, u64, u64, x *y)
TERNARY(mad_64, u64, u64, u64, x *y + z)
BINARY(min_u64, u64, u64, u64, x < y ? x : y)
BINARY(max_u64, u64, u64, u64, x > y ? x : y)
BINARY(min_s64, s64, s64, s64, x < y ? x : y)
BINARY(max_s64, s64, s64, s64, x > y ? x : y)
UNARY(neg_64, u64, u64, 0u - x)
UNARY(abs_s64, u64, s64, x < 0 ? 0u - (uint64_t)x : (uint64_t)x)
BINARY(and_64, u64, u64, u64, x &y)
BINARY(or_64, u64, u64, u64, x | y)
BINARY(xor_64, u64, u64, u64, x ^ y)
UNARY(not_64, u64, u64, ~x)
UNARY(mov_64, u64, u64, x)
BINARY(shl_64, u64, u64, u32, y > 63 ? 0 : x << (y & 63))
BINARY(shr_u64, u64, u64, u32, y > 63 ? 0 : x >> (y & 63))
BINARY(shr_s64, s64, s64, u32, x >> (y > 63 ? 63 : y))
UNARY(popc_32, u32, u32, (uint32_t)__builtin_popcount(x))
UNARY(popc_64, u32, u64, (uint32_t)__builtin_popcountll(x))
UNARY(clz_32, u32, u32, x ? (uint32_t)__builtin_clz(x) : 32)
UNARY(clz_64, u32, u64, x ? (uint32_t)__builtin_clzll(x) : 64)

/* Conversions between widths that the compiler writes everywhere. */
UNARY(cvt_u64_u32, u64, u32, x)
UNARY(cvt_s64_s32, s64, s32, x)
UNARY(cvt_32_64, u32, u64, (uint32_t)x)
UNARY(cvt_f32_s32, f32, s32, (float)x)
UNARY(cvt_f32_u32, f32, u32, (float)x)
UNARY(cvt_f64_s32, f64, s32, (double)x)
UNARY(cvt_f64_u32, f64, u32, (double)x)
UNARY(cvt_f64_f32, f64, f32, (double)x)
UNARY(cvt_f32_f64, f32, f64, (float)x)
UNARY(cvt_u32_u16, u32, u32, x & 0xffff)
UNARY(cvt_u32_u8, u32, u32, x & 0xff)
UNARY(cvt_s32_s16, s32, s32, (int16_t)x)
UNARY(cvt_s32_s8, s32, s32, (int8_t)x)
UNARY(cvt_f32_s64, f32, s64, (float)x)
UNARY(cvt_f32_u64, f32, u64, (float)x)
UNARY(cvt_f64_s64, f64, s64, (double)x)
UNARY(cvt_f64_u64, f64, u64, (double)x)
UNARY(cvt_f32_u16, f32, s32, (float)(x & 0xffff))
UNARY(cvt_f32_u8, f32, s32, (float)(x & 0xff))
static inline __attribute__((always_inline)) int32_t to_s32(float x)
{
    return x != x ? 0 : x >= 2147483648.0f ? INT32_MAX : x < -2147483648.0f ? INT32_MIN : (int32_t)x;
}
/* What is no number becomes the least one where either side has 64 bits. */
static inline __attribute__((always_inline)) int64_t to_s64(double x)
{
    return x >= 0x1p63 ? INT64_MAX : x >= -0x1p63 ? (int64_t)x : INT64_MIN;
}
static inline __attribute__((always_inline)) uint64_t to_u64(double x)
{
    return x >= 0x1p64 ? UINT64_MAX : x > 0 ? (uint64_t)x : x <= 0 ? 0 : UINT64_C(1) << 63;
}
static inline __attribute__((always_inline)) int32_t wide_to_s32(double x)
{
    return x >= 0x1p31 ? INT32_MAX : x >= -0x1p31 ? (int32_t)x : INT32_MIN;
}
static inline __attribute__((always_inline)) uint32_t wide_to_u32(double x)
{
    return x >= 0x1p32 ? UINT32_MAX : x > 0 ? (uint32_t)(int64_t)x : x <= 0 ? 0 : UINT32_C(1) << 31;
}
UNARY(cvt_rzi_s32_f32, s32, f32, to_s32(x))
UNARY(cvt_rni_s32_f32, s32, f32, to_s32(__builtin_rintf(x)))
UNARY(cvt_rmi_s32_f32, s32, f32, to_s32(__builtin_floorf(x)))
UNARY(cvt_rpi_s32_f32, s32, f32, to_s32(__builtin_ceilf(x)))
UNARY(cvt_rzi_u32_f32, u32, f32, !(x > 0) ? 0 : x >= 4294967296.0f ? UINT32_MAX : (uint32_t)(int64_t)x)
UNARY(cvt_rzi_s64_f32, s64, f32, to_s64((double)x))
UNARY(cvt_rzi_u64_f32, u64, f32, to_u64((double)x))
UNARY(cvt_rzi_s64_f64, s64, f64, to_s64(x))
UNARY(cvt_rni_s64_f64, s64, f64, to_s64(__builtin_rint(x)))
UNARY(cvt_rmi_s64_f64, s64, f64, to_s64(__builtin_floor(x)))
UNARY(cvt_rzi_u64_f64, u64, f64, to_u64(x))
UNARY(cvt_rzi_s32_f64, s32, f64, wide_to_s32(__builtin_trunc(x)))
UNARY(cvt_rni_s32_f64, s32, f64, wide_to_s32(__builtin_rint(x)))
UNARY(cvt_rmi_s32_f64, s32, f64, wide_to_s32(__builtin_floor(x)))
UNARY(cvt_rzi_u32_f64, u32, f64, wide_to_u32(x))
