/* Which floats are finite, infinite or NaN, by AVX2's instructions: sizes are compared with infinity, and what
 * is true becomes bytes by packing, 32 at a time. loops.c includes this behind the loops of ops.def, which take the
 * elements that are left. */
#ifndef KN_LOOPS_FINITE_H
#define KN_LOOPS_FINITE_H

#if defined __AVX2__ && !defined __AVX512F__
/* All bits, or none, of the eight lanes of 32 that eight values from p on have. Those of doubles are in the order 0, 1,
 * 4, 5, 2, 3, 6, 7. */
#define SIZE_TRUTHS(S, p, relation)                                                                                    \
    _mm256_cmp_##S(_mm256_andnot_##S(_mm256_set1_##S(-0.0f), _mm256_loadu_##S(p)), _mm256_set1_##S(__builtin_inff()),  \
                   relation)
#define EIGHT_OF_F32(p, relation) _mm256_castps_si256(SIZE_TRUTHS(ps, p, relation))
#define EIGHT_OF_F64(p, relation)                                                                                      \
    _mm256_castps_si256(_mm256_shuffle_ps(_mm256_castpd_ps(SIZE_TRUTHS(pd, p, relation)),                              \
                                          _mm256_castpd_ps(SIZE_TRUTHS(pd, (p) + 4, relation)), 0x88))
#define IN_ORDER_F32(bytes) bytes
#define IN_ORDER_F64(bytes)                                                                                            \
    _mm256_shuffle_epi8(bytes, _mm256_setr_epi8(0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15, 0, 1, 4, 5, 2,   \
                                                3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15))
#define TRUTHS_OF_SIZES(name, before, class, TYPE, relation)                                                           \
    static void name(void *out, const void *pa, const void *pb, const void *pc, size_t n)                              \
    {                                                                                                                  \
        const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7), one = _mm256_set1_epi8(1);                    \
        const TYPE *from = pa;                                                                                         \
        uint8_t *to = out;                                                                                             \
        size_t i = 0;                                                                                                  \
        for (; i + 32 <= n; i += 32) {                                                                                 \
            const __m256i low =                                                                                        \
                _mm256_packs_epi32(EIGHT_OF_##class(from + i, relation), EIGHT_OF_##class(from + i + 8, relation));    \
            const __m256i high = _mm256_packs_epi32(EIGHT_OF_##class(from + i + 16, relation),                         \
                                                    EIGHT_OF_##class(from + i + 24, relation));                        \
            const __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), order);                   \
            _mm256_storeu_si256((__m256i *)(void *)(to + i), _mm256_and_si256(IN_ORDER_##class(bytes), one));          \
        }                                                                                                              \
        before(to + i, from + i, pb, pc, n - i);                                                                       \
    }
TRUTHS_OF_SIZES(isinf_f32, ISINF_F32, F32, float, _CMP_EQ_OQ)
TRUTHS_OF_SIZES(isinf_f64, ISINF_F64, F64, double, _CMP_EQ_OQ)
TRUTHS_OF_SIZES(isfinite_f32, ISFINITE_F32, F32, float, _CMP_LT_OQ)
TRUTHS_OF_SIZES(isfinite_f64, ISFINITE_F64, F64, double, _CMP_LT_OQ)
TRUTHS_OF_SIZES(isnan_f32, ISNAN_F32, F32, float, _CMP_NLE_UQ)
TRUTHS_OF_SIZES(isnan_f64, ISNAN_F64, F64, double, _CMP_NLE_UQ)
#define ISNAN_F32    isnan_f32
#define ISNAN_F64    isnan_f64
#define ISINF_F32    isinf_f32
#define ISINF_F64    isinf_f64
#define ISFINITE_F32 isfinite_f32
#define ISFINITE_F64 isfinite_f64
#endif

#endif
