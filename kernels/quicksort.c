/* Sorting unsigned integers in place by AVX2, for keys of 32 and of 64 bits. */
#include "kernels/quicksort.h"
#include "kernels/loops.h"

#if defined __x86_64__
#include <immintrin.h>
#include <string.h>

bool kn_quick_available(void)
{
    return kn_host_loops() != &kn_loops_base;
}

#define TARGET  __attribute__((target("avx2,popcnt")))
#define LOAD(p) _mm256_loadu_si256((const __m256i *)(p))
#define ALWAYS  static inline __attribute__((always_inline))

/* For each set of lanes, as bits: the numbers of the lanes that are not in it, then of those that are. */
static uint8_t orders_32[256][8], orders_64[16][8];

/* From 32 - k on: a mask of k bytes. */
static const uint8_t edge[64] = {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
                                 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};

static void fill_orders(uint8_t (*orders)[8], unsigned lanes, unsigned words)
{
    for (unsigned set = 0; set < 1u << lanes; set++) {
        unsigned at = 0;
        for (unsigned in = 0; in < 2; in++)
            for (unsigned i = 0; i < lanes; i++)
                if ((set >> i & 1) == in)
                    for (unsigned k = 0; k < words; k++) orders[set][at++] = (uint8_t)(i * words + k);
    }
}

__attribute__((constructor)) static void make_orders(void)
{
    fill_orders(orders_32, 8, 1);
    fill_orders(orders_64, 4, 2);
}

#define T                  uint32_t
#define LANES              8
#define NAME(x)            x##_32
#define MIN(a, b)          _mm256_min_epu32(a, b)
#define MAX(a, b)          _mm256_max_epu32(a, b)
#define SPREAD(key)        _mm256_set1_epi32((int)(key))
#define WIDE_ORDER(v)      (v)
#define LOAD_ORDER(bytes)  _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(bytes)))
#define PERMUTE(v, order)  _mm256_permutevar8x32_epi32(v, order)
#define GREATER_BITS(v, p) (unsigned)(255 & ~_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(MAX(v, p), p))))
#include "kernels/quicksort_body.h"

/* There is only a signed comparison of 64 bits. */
TARGET ALWAYS __m256i greater_64(__m256i a, __m256i b)
{
    const __m256i top = _mm256_set1_epi64x(INT64_MIN);
    return _mm256_cmpgt_epi64(_mm256_xor_si256(a, top), _mm256_xor_si256(b, top));
}
/* Numbers of lanes of 64 bits as numbers of their halves. */
TARGET ALWAYS __m256i halves_64(__m256i lanes)
{
    __m256i twice = _mm256_add_epi64(lanes, lanes);
    return _mm256_or_si256(twice, _mm256_slli_epi64(_mm256_add_epi64(twice, _mm256_set1_epi64x(1)), 32));
}

#define T                  uint64_t
#define LANES              4
#define NAME(x)            x##_64
#define MIN(a, b)          _mm256_blendv_epi8(a, b, greater_64(a, b))
#define MAX(a, b)          _mm256_blendv_epi8(b, a, greater_64(a, b))
#define SPREAD(key)        _mm256_set1_epi64x((long long)(key))
#define WIDE_ORDER(v)      halves_64(v)
#define LOAD_ORDER(bytes)  _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(bytes)))
#define PERMUTE(v, order)  _mm256_permutevar8x32_epi32(v, order)
#define GREATER_BITS(v, p) (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(greater_64(v, p)))
#include "kernels/quicksort_body.h"

static int depth_of(size_t n)
{
    return 2 * (64 - __builtin_clzll(n | 1));
}

void kn_quick_sort_32(uint32_t *a, size_t n)
{
    sort_32(a, n, depth_of(n));
}
void kn_quick_sort_64(uint64_t *a, size_t n)
{
    sort_64(a, n, depth_of(n));
}
size_t kn_quick_split_32(uint32_t *a, size_t n)
{
    return partition_32(a, n, choose_32(a, n));
}
size_t kn_quick_split_64(uint64_t *a, size_t n)
{
    return partition_64(a, n, choose_64(a, n));
}
#else
bool kn_quick_available(void)
{
    return false;
}
void kn_quick_sort_32(uint32_t *a, size_t n)
{
    (void)a, (void)n;
}
void kn_quick_sort_64(uint64_t *a, size_t n)
{
    (void)a, (void)n;
}
size_t kn_quick_split_32(uint32_t *a, size_t n)
{
    (void)a;
    return n;
}
size_t kn_quick_split_64(uint64_t *a, size_t n)
{
    (void)a;
    return n;
}
#endif
