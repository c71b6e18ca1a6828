#include "kernels/bits.h"
#include <string.h>
#if defined __SSE2__
#include <emmintrin.h>
#endif

#if defined __SSE2__
/* The bytes of each half in the other order. */
static inline __m128i turned(__m128i v)
{
    v = _mm_shufflehi_epi16(_mm_shufflelo_epi16(v, 0x1b), 0x1b);
    return _mm_or_si128(_mm_slli_epi16(v, 8), _mm_srli_epi16(v, 8));
}
#endif

/* Up to eight bytes. */
static uint8_t pack_few(const uint8_t *from, size_t n, bool little)
{
    uint32_t bits = 0;
    for (size_t i = 0; i < n; i++) bits |= (uint32_t)(from[i] != 0) << (little ? i : 7 - i);
    return (uint8_t)bits;
}

#if defined __SSE2__
static inline uint64_t pack_sixteen(const uint8_t *from, bool little)
{
    const __m128i none = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(const void *)from), _mm_setzero_si128());
    return (uint64_t)(uint32_t)_mm_movemask_epi8(little ? none : turned(none));
}

/* As many bytes as are 64 at a time; returns how many those were. */
static inline __attribute__((always_inline)) size_t pack_many(const uint8_t *from, size_t n, bool little, uint8_t *to)
{
    size_t i = 0;
    for (; i + 64 <= n; i += 64) {
        uint64_t none = pack_sixteen(from + i, little) | pack_sixteen(from + i + 16, little) << 16;
        none |= pack_sixteen(from + i + 32, little) << 32 | pack_sixteen(from + i + 48, little) << 48;
        none = ~none;
        memcpy(to + i / 8, &none, sizeof none);
    }
    return i;
}
#endif

void kn_pack_bits(const uint8_t *from, size_t n, bool little, uint8_t *to)
{
    size_t i = 0;
#if defined __SSE2__
    i = little ? pack_many(from, n, true, to) : pack_many(from, n, false, to);
#endif
    for (; i < n; i += 8) to[i / 8] = pack_few(from + i, n - i < 8 ? n - i : 8, little);
}

void kn_unpack_bits(const uint8_t *from, size_t n, bool little, uint8_t *to)
{
    size_t i = 0;
#if defined __SSE2__
    const __m128i low = _mm_set1_epi64x((int64_t)0x8040201008040201), ones = _mm_set1_epi8(1);
    const __m128i bits = little ? low : turned(low);
    for (; i + 16 <= n; i += 16) {
        uint16_t two;
        memcpy(&two, from + i / 8, sizeof two);
        __m128i v = _mm_cvtsi32_si128(two);
        v = _mm_unpacklo_epi8(v, v);
        v = _mm_shuffle_epi32(_mm_unpacklo_epi16(v, v), 0x50); /* each byte eight times */
        v = _mm_and_si128(_mm_cmpeq_epi8(_mm_and_si128(v, bits), bits), ones);
        _mm_storeu_si128((__m128i *)(void *)(to + i), v);
    }
#endif
    for (; i < n; i++) to[i] = from[i / 8] >> (little ? i % 8 : 7 - i % 8) & 1;
}
