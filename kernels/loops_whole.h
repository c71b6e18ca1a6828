/* Floats to int32 and int64 by the instructions that convert, with the results of the conversions of loops.c, which
 * take the elements that are left. Included by loops.c alone. */
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

/* Whole numbers below 2^51 are the lowest bits of their sum with 3 * 2^51. Four with a greater one, or NaN, go one by
 * one. */
#define TO_LONG(name, class, FLOAT, load)                                                                              \
    static void name(void *out, const void *in, size_t n)                                                              \
    {                                                                                                                  \
        const __m256d shift = _mm256_set1_pd(0x1.8p52), limit = _mm256_set1_pd(0x1p51);                                \
        const __m256d sign = _mm256_set1_pd(-0.0);                                                                     \
        const FLOAT *from = in;                                                                                        \
        int64_t *to = out;                                                                                             \
        size_t i = 0;                                                                                                  \
        for (; i + 4 <= n; i += 4) {                                                                                   \
            const __m256d v = load(from + i);                                                                          \
            if (_mm256_movemask_pd(_mm256_cmp_pd(_mm256_andnot_pd(sign, v), limit, _CMP_LT_OQ)) != 15) {               \
                convert_##class##_INT64(to + i, from + i, 4);                                                          \
                continue;                                                                                              \
            }                                                                                                          \
            const __m256d sum = _mm256_add_pd(_mm256_round_pd(v, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC), shift);      \
            _mm256_storeu_si256((__m256i *)(void *)(to + i),                                                           \
                                _mm256_sub_epi64(_mm256_castpd_si256(sum), _mm256_castpd_si256(shift)));               \
        }                                                                                                              \
        convert_##class##_INT64(to + i, from + i, n - i);                                                              \
    }
#define LOAD_AS_DOUBLE(p) _mm256_cvtps_pd(_mm_loadu_ps(p))
TO_LONG(float_to_long, F32, float, LOAD_AS_DOUBLE)
TO_LONG(double_to_long, F64, double, _mm256_loadu_pd)
#define convert_F32_INT32 float_to_int
#define convert_F64_INT32 double_to_int
#define convert_F32_INT64 float_to_long
#define convert_F64_INT64 double_to_long
#endif

#endif
