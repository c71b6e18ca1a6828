/* Floats to int32 and integers of 64 bits by the instructions that convert, and back where there are none, with the
 * results of the conversions of loops.c, which take the elements that are left. Included by loops.c alone. */
#ifndef KN_LOOPS_WHOLE_H
#define KN_LOOPS_WHOLE_H

#if defined __AVX512F__
/* They make the least int32 of NaN and of what is out of range. */
static void float_to_int(void *out, const void *in, size_t n)
{
    const __m512 limit = _mm512_set1_ps(0x1p31f);
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        const __m512 v = _mm512_loadu_ps((const float *)in + i);
        const __m512i whole = _mm512_maskz_cvttps_epi32(_mm512_cmp_ps_mask(v, v, _CMP_ORD_Q), v);
        const __mmask16 beyond = _mm512_cmp_ps_mask(v, limit, _CMP_GE_OQ);
        _mm512_storeu_si512((int32_t *)out + i, _mm512_mask_mov_epi32(whole, beyond, _mm512_set1_epi32(INT32_MAX)));
    }
    convert_F32_INT32((int32_t *)out + i, (const float *)in + i, n - i);
}

static void double_to_int(void *out, const void *in, size_t n)
{
    const __m512d most = _mm512_set1_pd(INT32_MAX);
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const __m512d v = _mm512_loadu_pd((const double *)in + i);
        const __m256i whole = _mm512_maskz_cvttpd_epi32(_mm512_cmp_pd_mask(v, v, _CMP_ORD_Q), _mm512_min_pd(v, most));
        _mm256_storeu_si256((__m256i *)(void *)((int32_t *)out + i), whole);
    }
    convert_F64_INT32((int32_t *)out + i, (const double *)in + i, n - i);
}
#define convert_F32_INT32 float_to_int
#define convert_F64_INT32 double_to_int
#elif defined __AVX2__
/* The same with masks as wide as the elements, which make 0 of NaN before. */
static void float_to_int(void *out, const void *in, size_t n)
{
    const __m256 limit = _mm256_set1_ps(0x1p31f);
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const __m256 v = _mm256_loadu_ps((const float *)in + i);
        const __m256i whole = _mm256_cvttps_epi32(_mm256_and_ps(v, _mm256_cmp_ps(v, v, _CMP_ORD_Q)));
        const __m256i beyond = _mm256_castps_si256(_mm256_cmp_ps(v, limit, _CMP_GE_OQ));
        _mm256_storeu_si256((__m256i *)(void *)((int32_t *)out + i), _mm256_xor_si256(whole, beyond));
    }
    convert_F32_INT32((int32_t *)out + i, (const float *)in + i, n - i);
}

static void double_to_int(void *out, const void *in, size_t n)
{
    const __m256d most = _mm256_set1_pd(INT32_MAX);
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const __m256d v = _mm256_loadu_pd((const double *)in + i);
        const __m256d ordered = _mm256_and_pd(v, _mm256_cmp_pd(v, v, _CMP_ORD_Q));
        _mm_storeu_si128((__m128i *)(void *)((int32_t *)out + i), _mm256_cvttpd_epi32(_mm256_min_pd(ordered, most)));
    }
    convert_F64_INT32((int32_t *)out + i, (const double *)in + i, n - i);
}

/* Whole numbers below 2^51 are the lowest bits of their sum with 3 * 2^51. Four of which one does not fit, or is NaN,
 * go one by one. */
#define TO_LONG(name, class, FLOAT, load, dtype, fits)                                                                 \
    static void name(void *out, const void *in, size_t n)                                                              \
    {                                                                                                                  \
        const __m256d shift = _mm256_set1_pd(0x1.8p52), limit = _mm256_set1_pd(0x1p51);                                \
        const FLOAT *from = in;                                                                                        \
        int64_t *to = out;                                                                                             \
        size_t i = 0;                                                                                                  \
        for (; i + 4 <= n; i += 4) {                                                                                   \
            const __m256d v = load(from + i);                                                                          \
            if (_mm256_movemask_pd(fits) != 15) {                                                                      \
                convert_##class##_##dtype(to + i, from + i, 4);                                                        \
                continue;                                                                                              \
            }                                                                                                          \
            const __m256d sum = _mm256_add_pd(_mm256_round_pd(v, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC), shift);      \
            _mm256_storeu_si256((__m256i *)(void *)(to + i),                                                           \
                                _mm256_sub_epi64(_mm256_castpd_si256(sum), _mm256_castpd_si256(shift)));               \
        }                                                                                                              \
        convert_##class##_##dtype(to + i, from + i, n - i);                                                            \
    }
#define LOAD_AS_DOUBLE(p) _mm256_cvtps_pd(_mm_loadu_ps(p))
#define SMALL             _mm256_cmp_pd(_mm256_andnot_pd(_mm256_set1_pd(-0.0), v), limit, _CMP_LT_OQ)
#define SMALL_UNSIGNED                                                                                                 \
    _mm256_and_pd(_mm256_cmp_pd(v, _mm256_setzero_pd(), _CMP_GE_OQ), _mm256_cmp_pd(v, limit, _CMP_LT_OQ))
TO_LONG(float_to_long, F32, float, LOAD_AS_DOUBLE, INT64, SMALL)
TO_LONG(double_to_long, F64, double, _mm256_loadu_pd, INT64, SMALL)
TO_LONG(float_to_unsigned, F32, float, LOAD_AS_DOUBLE, UINT64, SMALL_UNSIGNED)
TO_LONG(double_to_unsigned, F64, double, _mm256_loadu_pd, UINT64, SMALL_UNSIGNED)

/* Both halves become the last digits of 2^84 and of 2^52, of an upper half with a sign those of 2^84 + 2^63, which are
 * then taken off: their sum alone is rounded. */
#define OF_LONG(name, convert, bits, off)                                                                              \
    static inline __m256d name##_4(__m256i v)                                                                          \
    {                                                                                                                  \
        const __m256i low = _mm256_blend_epi32(v, _mm256_set1_epi64x(0x4330000000000000), 0xaa);                       \
        const __m256i high = _mm256_xor_si256(_mm256_srli_epi64(v, 32), _mm256_set1_epi64x(bits));                     \
        const __m256d above = _mm256_sub_pd(_mm256_castsi256_pd(high), _mm256_set1_pd(off));                           \
        return _mm256_add_pd(above, _mm256_castsi256_pd(low));                                                         \
    }                                                                                                                  \
    static void name(void *out, const void *in, size_t n)                                                              \
    {                                                                                                                  \
        const __m256i *from = in;                                                                                      \
        double *to = out;                                                                                              \
        size_t i = 0;                                                                                                  \
        for (; i + 4 <= n; i += 4) _mm256_storeu_pd(to + i, name##_4(_mm256_loadu_si256(from + i / 4)));               \
        convert(to + i, (const int64_t *)in + i, n - i);                                                               \
    }
OF_LONG(long_to_double, convert_I64_FLOAT64, 0x4530000080000000, 0x1p84 + 0x1p63 + 0x1p52)
OF_LONG(unsigned_to_double, convert_U64_FLOAT64, 0x4530000000000000, 0x1p84 + 0x1p52)

/* Of those that doubles hold, which are then rounded once. */
static void unsigned_to_float(void *out, const void *in, size_t n)
{
    const __m256i beyond = _mm256_set1_epi64x(-((int64_t)1 << 53)), *from = in;
    float *to = out;
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const __m256i v = _mm256_loadu_si256(from + i / 4);
        if (_mm256_testz_si256(v, beyond))
            _mm_storeu_ps(to + i, _mm256_cvtpd_ps(unsigned_to_double_4(v)));
        else
            convert_U64_FLOAT32(to + i, from + i / 4, 4);
    }
    convert_U64_FLOAT32(to + i, (const uint64_t *)in + i, n - i);
}
#define convert_F32_INT32   float_to_int
#define convert_F64_INT32   double_to_int
#define convert_F32_INT64   float_to_long
#define convert_F64_INT64   double_to_long
#define convert_F32_UINT64  float_to_unsigned
#define convert_F64_UINT64  double_to_unsigned
#define convert_I64_FLOAT64 long_to_double
#define convert_U64_FLOAT64 unsigned_to_double
#define convert_U64_FLOAT32 unsigned_to_float
#endif

#endif
