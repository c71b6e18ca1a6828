/* Shifts by AVX2's instructions, of which each lane has its own number and those of too many bits leave none; 8 and 16
 * bits go by lanes of 32. Products of 8 bits go by lanes of 16. Included by loops.c and loops_narrow.c behind the loops
 * of ops.def, which take the elements that are left. */
#ifndef KN_LOOPS_LANES_H
#define KN_LOOPS_LANES_H

#if defined __AVX2__ && !defined __AVX512F__
#define NONE_256      _mm256_setzero_si256()
#define LOAD_256(p)   _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define PUT_256(p, v) _mm256_storeu_si256((__m256i *)(void *)(p), v)
#define CHOSEN(a, b, by, S)                                                                                            \
    _mm256_castp##S##_si256(                                                                                           \
        _mm256_blendv_p##S(_mm256_castsi256_p##S(a), _mm256_castsi256_p##S(b), _mm256_castsi256_p##S(by)))

/* By a negative number the other way; with a sign, bits from the left are as the highest one. */
#define LANES(bits, S, sra)                                                                                            \
    static inline __m256i left_signed_##bits(__m256i a, __m256i b)                                                     \
    {                                                                                                                  \
        return CHOSEN(_mm256_sllv_epi##bits(a, b), sra(a, _mm256_sub_epi##bits(NONE_256, b)), b, S);                   \
    }                                                                                                                  \
    static inline __m256i right_signed_##bits(__m256i a, __m256i b)                                                    \
    {                                                                                                                  \
        return CHOSEN(sra(a, b), _mm256_sllv_epi##bits(a, _mm256_sub_epi##bits(NONE_256, b)), b, S);                   \
    }
static inline __m256i sra_64(__m256i a, __m256i n)
{
    const __m256i sign = _mm256_cmpgt_epi64(NONE_256, a);
    return _mm256_xor_si256(_mm256_srlv_epi64(_mm256_xor_si256(a, sign), n), sign);
}
LANES(32, s, _mm256_srav_epi32)
LANES(64, d, sra_64)

#define BY_LANES(name, before, TYPE, count, step)                                                                      \
    __attribute__((unused)) static void name(void *out, const void *pa, const void *pb, const void *pc, size_t n)      \
    {                                                                                                                  \
        const TYPE *a = pa, *b = pb;                                                                                   \
        TYPE *to = out;                                                                                                \
        size_t i = 0;                                                                                                  \
        for (; i + (count) <= n; i += (count)) PUT_256(to + i, step);                                                  \
        before(to + i, a + i, b + i, pc, n - i);                                                                       \
    }
#define WHOLE_LANES(name, before, TYPE, lanes)                                                                         \
    BY_LANES(name, before, TYPE, 32 / sizeof(TYPE), lanes(LOAD_256(a + i), LOAD_256(b + i)))

/* The lowest bits of lanes of 32: of two vectors, of four. */
static inline __m256i packed_16(__m256i a, __m256i b)
{
    const __m256i low = _mm256_set1_epi32(0xffff);
    return _mm256_permute4x64_epi64(_mm256_packus_epi32(_mm256_and_si256(a, low), _mm256_and_si256(b, low)), 0xd8);
}
static inline __m256i packed_8(__m256i a, __m256i b, __m256i c, __m256i d)
{
    const __m256i low = _mm256_set1_epi32(0xff);
    const __m256i ab = _mm256_packus_epi32(_mm256_and_si256(a, low), _mm256_and_si256(b, low));
    const __m256i cd = _mm256_packus_epi32(_mm256_and_si256(c, low), _mm256_and_si256(d, low));
    return _mm256_permutevar8x32_epi32(_mm256_packus_epi16(ab, cd), _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}
#define EIGHT_16(p, kind)       _mm256_cvtep##kind##16_epi32(_mm_loadu_si128((const __m128i *)(const void *)(p)))
#define EIGHT_8(p, kind)        _mm256_cvtep##kind##8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(p)))
#define SOME_16(k, lanes, kind) lanes(EIGHT_16(a + i + (k), kind), EIGHT_16(b + i + (k), kind))
#define SOME_8(k, lanes, kind)  lanes(EIGHT_8(a + i + (k), kind), EIGHT_8(b + i + (k), kind))
#define LANES_OF_16(name, before, TYPE, kind, lanes)                                                                   \
    BY_LANES(name, before, TYPE, 16, packed_16(SOME_16(0, lanes, kind), SOME_16(8, lanes, kind)))
#define LANES_OF_8(name, before, TYPE, kind, lanes)                                                                    \
    BY_LANES(                                                                                                          \
        name, before, TYPE, 32,                                                                                        \
        packed_8(SOME_8(0, lanes, kind), SOME_8(8, lanes, kind), SOME_8(16, lanes, kind), SOME_8(24, lanes, kind)))

/* Those of odd places are multiplied where they lie. */
static inline __m256i product_8(__m256i a, __m256i b)
{
    const __m256i odd = _mm256_set1_epi16((short)0xff00);
    const __m256i even = _mm256_andnot_si256(odd, _mm256_mullo_epi16(a, b));
    return _mm256_or_si256(even, _mm256_mullo_epi16(_mm256_srli_epi16(a, 8), _mm256_and_si256(b, odd)));
}

#if defined KN_LEVEL /* loops.c */
WHOLE_LANES(left_by_lanes_I32, LEFT_SHIFT_I32, int32_t, left_signed_32)
WHOLE_LANES(left_by_lanes_I64, LEFT_SHIFT_I64, int64_t, left_signed_64)
WHOLE_LANES(left_by_lanes_U64, LEFT_SHIFT_U64, uint64_t, _mm256_sllv_epi64)
WHOLE_LANES(right_by_lanes_I32, RIGHT_SHIFT_I32, int32_t, right_signed_32)
WHOLE_LANES(right_by_lanes_I64, RIGHT_SHIFT_I64, int64_t, right_signed_64)
WHOLE_LANES(right_by_lanes_U64, RIGHT_SHIFT_U64, uint64_t, _mm256_srlv_epi64)
#define LEFT_SHIFT_I32  left_by_lanes_I32
#define LEFT_SHIFT_I64  left_by_lanes_I64
#define LEFT_SHIFT_U64  left_by_lanes_U64
#define RIGHT_SHIFT_I32 right_by_lanes_I32
#define RIGHT_SHIFT_I64 right_by_lanes_I64
#define RIGHT_SHIFT_U64 right_by_lanes_U64
#else
LANES_OF_8(left_by_lanes_INT8, LEFT_SHIFT_INT8, int8_t, i, left_signed_32)
LANES_OF_8(left_by_lanes_UINT8, LEFT_SHIFT_UINT8, uint8_t, u, _mm256_sllv_epi32)
LANES_OF_16(left_by_lanes_INT16, LEFT_SHIFT_INT16, int16_t, i, left_signed_32)
LANES_OF_16(left_by_lanes_UINT16, LEFT_SHIFT_UINT16, uint16_t, u, _mm256_sllv_epi32)
WHOLE_LANES(left_by_lanes_UINT32, LEFT_SHIFT_UINT32, uint32_t, _mm256_sllv_epi32)
LANES_OF_8(right_by_lanes_INT8, RIGHT_SHIFT_INT8, int8_t, i, right_signed_32)
LANES_OF_8(right_by_lanes_UINT8, RIGHT_SHIFT_UINT8, uint8_t, u, _mm256_srlv_epi32)
LANES_OF_16(right_by_lanes_INT16, RIGHT_SHIFT_INT16, int16_t, i, right_signed_32)
LANES_OF_16(right_by_lanes_UINT16, RIGHT_SHIFT_UINT16, uint16_t, u, _mm256_srlv_epi32)
WHOLE_LANES(right_by_lanes_UINT32, RIGHT_SHIFT_UINT32, uint32_t, _mm256_srlv_epi32)
WHOLE_LANES(product_by_lanes_INT8, MUL_INT8, int8_t, product_8)
WHOLE_LANES(product_by_lanes_UINT8, MUL_UINT8, uint8_t, product_8)
#define LEFT_SHIFT_INT8    left_by_lanes_INT8
#define LEFT_SHIFT_UINT8   left_by_lanes_UINT8
#define LEFT_SHIFT_INT16   left_by_lanes_INT16
#define LEFT_SHIFT_UINT16  left_by_lanes_UINT16
#define LEFT_SHIFT_UINT32  left_by_lanes_UINT32
#define RIGHT_SHIFT_INT8   right_by_lanes_INT8
#define RIGHT_SHIFT_UINT8  right_by_lanes_UINT8
#define RIGHT_SHIFT_INT16  right_by_lanes_INT16
#define RIGHT_SHIFT_UINT16 right_by_lanes_UINT16
#define RIGHT_SHIFT_UINT32 right_by_lanes_UINT32
#define MUL_INT8           product_by_lanes_INT8
#define MUL_UINT8          product_by_lanes_UINT8
#endif
#endif

#endif
