/* Exponents. frexp, which has two results; and rows that AVX-512 has instructions for, which take numbers without
 * leading digits as any others: loops.c includes this behind the loops of ops.def, which say the same. */
#ifndef KN_LOOPS_EXPONENTS_H
#define KN_LOOPS_EXPONENTS_H

/* Numbers without leading digits are made larger by 2^SHIFT, which leaves those of a mantissa. */
#define SPLIT(name, TYPE, BITS, bits_of, DIGITS, BIAS, SHIFT)                                                          \
    static void name(void *mantissas, int32_t *exponents, const void *values, size_t n)                                \
    {                                                                                                                  \
        const TYPE *from = values;                                                                                     \
        BITS *restrict to = mantissas;                                                                                 \
        const BITS field = (BITS)(2 * BIAS + 1) << DIGITS;                                                             \
        for (size_t i = 0; i < n; i++) {                                                                               \
            const TYPE v = from[i];                                                                                    \
            const BITS given = bits_of(v);                                                                             \
            const int small = (given & field) == 0;                                                                    \
            const BITS bits = small ? bits_of(v * (TYPE)(1ull << SHIFT)) : given;                                      \
            const int plain = (v != 0) & ((given & field) != field);                                                   \
            const int exponent = (int)((bits & field) >> DIGITS) - (BIAS - 1) - (small ? SHIFT : 0);                   \
            to[i] = plain ? (bits & ~field) | (BITS)(BIAS - 1) << DIGITS : given;                                      \
            exponents[i] = plain ? exponent : 0;                                                                       \
        }                                                                                                              \
    }
SPLIT(frexp_32, float, uint32_t, rt_float_bits, 23, 127, 24)
SPLIT(frexp_64, double, uint64_t, bits_of_double, 52, 1023, 54)

#if defined __AVX512F__
/* `value` is of the vectors a and, for ldexp, b, of which the last ones have fewer lanes: whole ones are stored without
 * a mask, with which that takes some processors twice the time. */
#define BY_VECTORS(name, TYPE, S, MASK, VECTOR, value)                                                                 \
    static void name(void *out, const void *pa, const void *pb, const void *pc, size_t n)                              \
    {                                                                                                                  \
        enum { LANES = 64 / sizeof(TYPE) };                                                                            \
        const TYPE *from = pa, *other = pb;                                                                            \
        TYPE *to = out;                                                                                                \
        size_t i = 0;                                                                                                  \
        (void)other, (void)pc;                                                                                         \
        for (; i + LANES <= n; i += LANES)                                                                             \
            _mm512_storeu_##S(to + i, value(S, _mm512_loadu_##S(from + i), _mm512_loadu_##S(other + i)));              \
        const MASK mask = (MASK)((1u << (n - i)) - 1);                                                                 \
        _mm512_mask_storeu_##S(                                                                                        \
            to + i, mask, value(S, _mm512_maskz_loadu_##S(mask, from + i), _mm512_maskz_loadu_##S(mask, other + i)));  \
    }
#define IS_NAN(S, v)      _mm512_cmp_##S##_mask(v, v, _CMP_UNORD_Q)
#define SCALED(S, a, b)   scaled_##S(a, b)
#define EXPONENT(S, a, b) exponent_##S(_mm512_abs_##S(a))
/* Exponents are limited to what makes any number 0 or infinite, as 0 by infinity would be NaN; one that is NaN is the
 * result. NaN comes through with all its bits where it does in the rows: `kept` are the lanes of ldexp's first operand.
 */
#define EXPONENTS(S, VECTOR, kept)                                                                                     \
    static inline VECTOR scaled_##S(VECTOR a, VECTOR b)                                                                \
    {                                                                                                                  \
        const VECTOR limit = _mm512_set1_##S(5000), least = _mm512_set1_##S(-5000);                                    \
        const VECTOR by = _mm512_max_##S(_mm512_min_##S(b, limit), least);                                             \
        const VECTOR v = _mm512_scalef_##S(a, _mm512_roundscale_##S(by, _MM_FROUND_TO_ZERO));                          \
        return _mm512_mask_mov_##S(_mm512_mask_mov_##S(v, kept, a), IS_NAN(S, b), b);                                  \
    }                                                                                                                  \
    static inline VECTOR exponent_##S(VECTOR size)                                                                     \
    {                                                                                                                  \
        return _mm512_mask_mov_##S(_mm512_getexp_##S(size), IS_NAN(S, size), size);                                    \
    }
EXPONENTS(ps, __m512, 0)
EXPONENTS(pd, __m512d, IS_NAN(pd, a))
BY_VECTORS(ldexp_by_vectors_f32, float, ps, __mmask16, __m512, SCALED)
BY_VECTORS(ldexp_by_vectors_f64, double, pd, __mmask8, __m512d, SCALED)
BY_VECTORS(logb_by_vectors_f32, float, ps, __mmask16, __m512, EXPONENT)
BY_VECTORS(logb_by_vectors_f64, double, pd, __mmask8, __m512d, EXPONENT)
#define LDEXP_F32 ldexp_by_vectors_f32
#define LDEXP_F64 ldexp_by_vectors_f64
#define LOGB_F32  logb_by_vectors_f32
#define LOGB_F64  logb_by_vectors_f64
#endif

#endif
