/* Sorting unsigned integers in place by AVX2 or AVX-512, for keys of 32 and of 64 bits. */
#include "kernels/quicksort.h"
#include "kernels/loops.h"

#if defined __x86_64__
#include <immintrin.h>
#include <pthread.h>
#include <string.h>

#define AVX2      __attribute__((target("avx2,popcnt")))
#define AVX512    __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,popcnt")))
#define MOST_ROWS 16 /* of a table, so many vectors are sorted in registers */
#define BLOCK     16 /* rows of each part of a taller table (quicksort_tall.h) */
#define MOST_TALL 8  /* blocks */
#define ALWAYS    static inline __attribute__((always_inline))

/* For each set of lanes, as bits: the numbers of the lanes that are in it, then of those that are not. */
static uint32_t orders_32[256][8], orders_64[16][8];

/* From 64 - k on: a mask of k bytes. */
#define ONES_8  255, 255, 255, 255, 255, 255, 255, 255
#define ONES_32 ONES_8, ONES_8, ONES_8, ONES_8
static const uint8_t edge[128] = {ONES_32, ONES_32};

/* Batcher's network for 16 rows: pairs to be put in order. It begins with the one for 8. */
static const uint8_t network[][2] = {
    {0, 1},   {2, 3},   {0, 2},   {1, 3},   {1, 2},   {4, 5},   {6, 7},   {4, 6},  {5, 7},   {5, 6},   {0, 4},
    {2, 6},   {2, 4},   {1, 5},   {3, 7},   {3, 5},   {1, 2},   {3, 4},   {5, 6},  {8, 9},   {10, 11}, {8, 10},
    {9, 11},  {9, 10},  {12, 13}, {14, 15}, {12, 14}, {13, 15}, {13, 14}, {8, 12}, {10, 14}, {10, 12}, {9, 13},
    {11, 15}, {11, 13}, {9, 10},  {11, 12}, {13, 14}, {0, 8},   {4, 12},  {4, 8},  {2, 10},  {6, 14},  {6, 10},
    {2, 4},   {6, 8},   {10, 12}, {1, 9},   {5, 13},  {5, 9},   {3, 11},  {7, 15}, {7, 11},  {3, 5},   {7, 9},
    {11, 13}, {1, 2},   {3, 4},   {5, 6},   {7, 8},   {9, 10},  {11, 12}, {13, 14}};

static void fill_orders(uint32_t (*orders)[8], unsigned lanes, unsigned words)
{
    for (unsigned set = 0; set < 1u << lanes; set++) {
        unsigned at = 0;
        for (unsigned out = 0; out < 2; out++)
            for (unsigned i = 0; i < lanes; i++)
                if ((set >> i & 1) != out)
                    for (unsigned k = 0; k < words; k++) orders[set][at++] = i * words + k;
    }
}

static void make_orders(void)
{
    fill_orders(orders_32, 8, 1);
    fill_orders(orders_64, 4, 2);
}

/* Whoever is to sort asks first, and most processes never do. */
bool kn_quick_available(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (kn_host_loops() == &kn_loops_base) return false;
    pthread_once(&once, make_orders);
    return true;
}

AVX2 ALWAYS __m256i first_bytes(size_t n)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)(edge + sizeof edge / 2 - n));
}
AVX2 ALWAYS __m256i first_keys(const int *p, size_t bytes)
{
    __m256i there = first_bytes(bytes), none = _mm256_set1_epi32(-1);
    return _mm256_or_si256(_mm256_maskload_epi32(p, there), _mm256_xor_si256(there, none));
}
/* The orders are of words of 32 bits, for both widths. */
AVX2 ALWAYS __m256i in_order(__m256i v, const uint32_t *order)
{
    return _mm256_permutevar8x32_epi32(v, _mm256_loadu_si256((const __m256i *)(const void *)order));
}

#define V                     __m256i
#define TARGET                AVX2
#define LOAD(p)               _mm256_loadu_si256((const __m256i *)(p))
#define STORE(p, v)           _mm256_storeu_si256((__m256i *)(p), v)
#define OR(a, b)              _mm256_or_si256(a, b)
#define LOAD_FIRST(p, n)      first_keys((const int *)(p), (n) * sizeof *(p))
#define STORE_FIRST(p, n, v)  _mm256_maskstore_epi32((int *)(p), first_bytes((n) * sizeof *(p)), v)
#define SORT_FEWER(a, n)      NAME(sort_table)(a, n, 0, 8)
#define T                     uint32_t
#define LANES                 8
#define NAME(x)               x##_32
#define MIN(a, b)             _mm256_min_epu32(a, b)
#define MAX(a, b)             _mm256_max_epu32(a, b)
#define GREATER(least, a, b)  MAX(a, b)
#define REST(m, a, b)         _mm256_xor_si256(m, _mm256_xor_si256(a, b))
#define REST_AT(bit, m, a, b) NAME(choose_lanes)(m, MAX(a, b), bit)
#define RANK(v)               (v)
#define SPREAD(key)           _mm256_set1_epi32((int)(key))
#define SMALL_BITS(v, p)      (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(MAX(v, p), p)))

/* Lane i gets lane i ^ other. */
AVX2 ALWAYS __m256i swap_lanes_32(__m256i v, const int other)
{
    if (other & 4) v = _mm256_permute4x64_epi64(v, 0x4e);
    switch (other & 3) {
    case 1: return _mm256_shuffle_epi32(v, 0xb1);
    case 2: return _mm256_shuffle_epi32(v, 0x4e);
    case 3: return _mm256_shuffle_epi32(v, 0x1b);
    default: return v;
    }
}
/* The lanes of b whose number has the bit, the others of a. */
AVX2 ALWAYS __m256i choose_lanes_32(__m256i a, __m256i b, const int bit)
{
    return bit == 1   ? _mm256_blend_epi32(a, b, 0xaa)
           : bit == 2 ? _mm256_blend_epi32(a, b, 0xcc)
                      : _mm256_blend_epi32(a, b, 0xf0);
}
AVX2 ALWAYS __m256i set_first_32(__m256i v, unsigned set)
{
    return in_order(v, orders_32[set]);
}
AVX2 ALWAYS void store_sides_32(uint32_t *left, size_t room, __m256i v, unsigned small)
{
    const V w = set_first_32(v, small);
    STORE(left, w);
    STORE(left + room, w);
}
/* Lane i of row j to lane j of row i, for 8 rows. */
AVX2 ALWAYS void transpose_32(__m256i *v)
{
    __m256i pairs[8], fours[8];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) { /* 2 i and 2 i + 1: lanes 0, 1 and 4, 5; 2, 3 and 6, 7 of rows 2 i and 2 i + 1 */
        pairs[2 * i] = _mm256_unpacklo_epi32(v[2 * i], v[2 * i + 1]);
        pairs[2 * i + 1] = _mm256_unpackhi_epi32(v[2 * i], v[2 * i + 1]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) { /* lanes i and i + 4 of rows 0 to 3, then of rows 4 to 7 */
        const int low = i / 2, rows = 4 * (i % 2);
        fours[2 * low + rows] = _mm256_unpacklo_epi64(pairs[low + rows], pairs[low + rows + 2]);
        fours[2 * low + rows + 1] = _mm256_unpackhi_epi64(pairs[low + rows], pairs[low + rows + 2]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        v[i] = _mm256_permute2x128_si256(fours[i], fours[i + 4], 0x20);
        v[i + 4] = _mm256_permute2x128_si256(fours[i], fours[i + 4], 0x31);
    }
}
#include "kernels/quicksort_deal.h"
#include "kernels/quicksort_body.h"

/* There is only a signed comparison of 64 bits: keys in registers have their top bit turned. */
AVX2 ALWAYS __m256i turned_64(__m256i v)
{
    return _mm256_xor_si256(v, _mm256_set1_epi64x(INT64_MIN));
}

#define V                     __m256i
#define TARGET                AVX2
#define LOAD(p)               _mm256_loadu_si256((const __m256i *)(p))
#define STORE(p, v)           _mm256_storeu_si256((__m256i *)(p), v)
#define OR(a, b)              _mm256_or_si256(a, b)
#define LOAD_FIRST(p, n)      first_keys((const int *)(p), (n) * sizeof *(p))
#define STORE_FIRST(p, n, v)  _mm256_maskstore_epi32((int *)(p), first_bytes((n) * sizeof *(p)), v)
#define SORT_FEWER(a, n)      NAME(sort_table)(a, n, 0, 8)
#define T                     uint64_t
#define LANES                 4
#define NAME(x)               x##_64
#define MIN(a, b)             _mm256_blendv_epi8(a, b, _mm256_cmpgt_epi64(a, b))
#define MAX(a, b)             _mm256_blendv_epi8(b, a, _mm256_cmpgt_epi64(a, b))
#define GREATER(least, a, b)  MAX(a, b)
#define REST(m, a, b)         _mm256_xor_si256(m, _mm256_xor_si256(a, b))
#define REST_AT(bit, m, a, b) NAME(choose_lanes)(m, MAX(a, b), bit)
#define RANK(v)               turned_64(v)
#define SPREAD(key)           _mm256_set1_epi64x((long long)(key))
#define SMALL_BITS(v, p)      (15U ^ (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64(v, p))))

AVX2 ALWAYS __m256i swap_lanes_64(__m256i v, const int other)
{
    return other == 1   ? _mm256_shuffle_epi32(v, 0x4e)
           : other == 2 ? _mm256_permute4x64_epi64(v, 0x4e)
                        : _mm256_permute4x64_epi64(v, 0x1b);
}
AVX2 ALWAYS __m256i choose_lanes_64(__m256i a, __m256i b, const int bit)
{
    return bit == 1 ? _mm256_blend_epi32(a, b, 0xcc) : _mm256_blend_epi32(a, b, 0xf0);
}
AVX2 ALWAYS __m256i set_first_64(__m256i v, unsigned set)
{
    return in_order(v, orders_64[set]);
}
AVX2 ALWAYS void store_sides_64(uint64_t *left, size_t room, __m256i v, unsigned small)
{
    const V w = set_first_64(v, small);
    STORE(left, w);
    STORE(left + room, w);
}
AVX2 ALWAYS void transpose_64(__m256i *v)
{
    __m256i pairs[4];
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) { /* lanes 0 and 2, 1 and 3 of rows 2 i and 2 i + 1 */
        pairs[i] = _mm256_unpacklo_epi64(v[2 * i], v[2 * i + 1]);
        pairs[i + 2] = _mm256_unpackhi_epi64(v[2 * i], v[2 * i + 1]);
    }
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        v[i] = _mm256_permute2x128_si256(pairs[2 * i], pairs[2 * i + 1], 0x20);
        v[i + 2] = _mm256_permute2x128_si256(pairs[2 * i], pairs[2 * i + 1], 0x31);
    }
}
#include "kernels/quicksort_least.h"
#include "kernels/quicksort_deal.h"
#include "kernels/quicksort_body.h"

#ifdef KN_AVX2_ALONE /* a build for this machine, which has no AVX-512 */
#define FITTING(name, bits) name##_##bits
#else
/* The lanes whose number has the bit, as a mask. */
#define LANES_WITH(bit)       ((bit) == 1 ? 0xaaaa : (bit) == 2 ? 0xcccc : (bit) == 4 ? 0xf0f0 : 0xff00)

#define V                     __m512i
#define TARGET                AVX512
#define LOAD(p)               _mm512_loadu_si512(p)
#define STORE(p, v)           _mm512_storeu_si512(p, v)
#define OR(a, b)              _mm512_or_si512(a, b)
#define LOAD_FIRST(p, n)      _mm512_mask_loadu_epi32(_mm512_set1_epi32(-1), (__mmask16)((1U << (n)) - 1), p)
#define STORE_FIRST(p, n, v)  _mm512_mask_storeu_epi32(p, (__mmask16)((1U << (n)) - 1), v)
#define SORT_FEWER(a, n)      sort_few_32(a, n)
#define T                     uint32_t
#define LANES                 16
#define NAME(x)               x##_wide_32
#define MIN(a, b)             _mm512_min_epu32(a, b)
#define GREATER(least, a, b)  REST(least, a, b) /* there is one port for minima */
#define REST(m, a, b)         _mm512_ternarylogic_epi32(m, a, b, 0x96)
#define REST_AT(bit, m, a, b) _mm512_mask_ternarylogic_epi32(m, (__mmask16)LANES_WITH(bit), a, b, 0x96)
#define RANK(v)               (v)
#define SPREAD(key)           _mm512_set1_epi32((int)(key))
#define SMALL_BITS(v, p)      (unsigned)_mm512_cmple_epu32_mask(v, p)

AVX512 ALWAYS __m512i swap_lanes_wide_32(__m512i v, const int other)
{
    switch (other) { /* within 16 bytes sooner */
    case 1: return _mm512_shuffle_epi32(v, 0xb1);
    case 2: return _mm512_shuffle_epi32(v, 0x4e);
    case 3: return _mm512_shuffle_epi32(v, 0x1b);
    default: break;
    }
    const __m512i lanes = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    return _mm512_permutexvar_epi32(_mm512_xor_si512(lanes, _mm512_set1_epi32(other)), v);
}
AVX512 ALWAYS __m512i choose_lanes_wide_32(__m512i a, __m512i b, const int bit)
{
    return _mm512_mask_blend_epi32((__mmask16)LANES_WITH(bit), a, b);
}
AVX512 ALWAYS __m512i set_first_wide_32(__m512i v, unsigned set)
{
    return _mm512_maskz_compress_epi32((__mmask16)set, v);
}
AVX512 ALWAYS void store_sides_wide_32(uint32_t *left, size_t room, __m512i v, unsigned small)
{
    const unsigned n = (unsigned)__builtin_popcount(small);
    STORE(left, set_first_wide_32(v, small));
    _mm512_mask_storeu_epi32(left + room + n, (__mmask16)(0xffffU >> n), set_first_wide_32(v, ~small));
}
#include "kernels/quicksort_wide.h"
#include "kernels/quicksort_deal.h"
#include "kernels/quicksort_body.h"

#define V                     __m512i
#define TARGET                AVX512
#define LOAD(p)               _mm512_loadu_si512(p)
#define STORE(p, v)           _mm512_storeu_si512(p, v)
#define OR(a, b)              _mm512_or_si512(a, b)
#define LOAD_FIRST(p, n)      _mm512_mask_loadu_epi64(_mm512_set1_epi32(-1), (__mmask8)((1U << (n)) - 1), p)
#define STORE_FIRST(p, n, v)  _mm512_mask_storeu_epi64(p, (__mmask8)((1U << (n)) - 1), v)
#define SORT_FEWER(a, n)      NAME(sort_table)(a, n, 0, 8)
#define T                     uint64_t
#define LANES                 8
#define NAME(x)               x##_wide_64
#define MIN(a, b)             _mm512_min_epu64(a, b)
#define GREATER(least, a, b)  REST(least, a, b) /* there is one port for minima */
#define REST(m, a, b)         _mm512_ternarylogic_epi64(m, a, b, 0x96)
#define REST_AT(bit, m, a, b) _mm512_mask_ternarylogic_epi64(m, (__mmask8)LANES_WITH(bit), a, b, 0x96)
#define RANK(v)               (v)
#define SPREAD(key)           _mm512_set1_epi64((long long)(key))
#define SMALL_BITS(v, p)      (unsigned)_mm512_cmple_epu64_mask(v, p)

AVX512 ALWAYS __m512i swap_lanes_wide_64(__m512i v, const int other)
{
    if (other == 1) return _mm512_shuffle_epi32(v, 0x4e); /* within 16 bytes sooner */
    const __m512i lanes = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
    return _mm512_permutexvar_epi64(_mm512_xor_si512(lanes, _mm512_set1_epi64(other)), v);
}
AVX512 ALWAYS __m512i choose_lanes_wide_64(__m512i a, __m512i b, const int bit)
{
    return _mm512_mask_blend_epi64((__mmask8)LANES_WITH(bit), a, b);
}
AVX512 ALWAYS __m512i set_first_wide_64(__m512i v, unsigned set)
{
    return _mm512_maskz_compress_epi64((__mmask8)set, v);
}
AVX512 ALWAYS void store_sides_wide_64(uint64_t *left, size_t room, __m512i v, unsigned small)
{
    const unsigned n = (unsigned)__builtin_popcount(small);
    STORE(left, set_first_wide_64(v, small));
    _mm512_mask_storeu_epi64(left + room + n, (__mmask8)(0xffU >> n), set_first_wide_64(v, ~small));
}
#include "kernels/quicksort_wide.h"
#include "kernels/quicksort_least.h"
#include "kernels/quicksort_deal.h"
#include "kernels/quicksort_body.h"

static bool is_wide(void)
{
    return kn_host_loops() == &kn_loops_v4;
}

#define FITTING(name, bits) (is_wide() ? name##_wide_##bits : name##_##bits)
#endif

static int depth_of(size_t n)
{
    return 2 * (64 - __builtin_clzll(n | 1));
}

void kn_quick_sort_32(uint32_t *a, size_t n)
{
    FITTING(sort, 32)(a, n, depth_of(n));
}
void kn_quick_sort_64(uint64_t *a, size_t n)
{
    FITTING(sort, 64)(a, n, depth_of(n));
}
/* Sides of wide vectors are twice as long: what is shorter than two of them is for the others. */
size_t kn_quick_split_32(uint32_t *a, size_t n)
{
    if (n < 2 * KN_QUICK_FEW) return partition_32(a, n, choose_32(a, n));
    return FITTING(partition, 32)(a, n, FITTING(choose, 32)(a, n));
}
size_t kn_quick_split_64(uint64_t *a, size_t n)
{
    return FITTING(partition, 64)(a, n, FITTING(choose, 64)(a, n));
}
size_t kn_quick_keep_least_64(uint64_t *a, size_t n, size_t k)
{
    return FITTING(keep_least, 64)(a, n, k);
}
void kn_quick_count_32(const uint32_t *a, size_t n, const uint32_t *bounds, size_t *counts)
{
    FITTING(count_parts, 32)(a, n, bounds, counts);
}
void kn_quick_count_64(const uint64_t *a, size_t n, const uint64_t *bounds, size_t *counts)
{
    FITTING(count_parts, 64)(a, n, bounds, counts);
}
void kn_quick_deal_32(const uint32_t *a, size_t n, const uint32_t *bounds, uint32_t **to, uint32_t *const *ends)
{
    FITTING(deal, 32)(a, n, bounds, to, ends);
}
void kn_quick_deal_64(const uint64_t *a, size_t n, const uint64_t *bounds, uint64_t **to, uint64_t *const *ends)
{
    FITTING(deal, 64)(a, n, bounds, to, ends);
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
size_t kn_quick_keep_least_64(uint64_t *a, size_t n, size_t k)
{
    (void)a, (void)k;
    return n;
}
void kn_quick_count_32(const uint32_t *a, size_t n, const uint32_t *bounds, size_t *counts)
{
    (void)a, (void)n, (void)bounds, (void)counts;
}
void kn_quick_count_64(const uint64_t *a, size_t n, const uint64_t *bounds, size_t *counts)
{
    (void)a, (void)n, (void)bounds, (void)counts;
}
void kn_quick_deal_32(const uint32_t *a, size_t n, const uint32_t *bounds, uint32_t **to, uint32_t *const *ends)
{
    (void)a, (void)n, (void)bounds, (void)to, (void)ends;
}
void kn_quick_deal_64(const uint64_t *a, size_t n, const uint64_t *bounds, uint64_t **to, uint64_t *const *ends)
{
    (void)a, (void)n, (void)bounds, (void)to, (void)ends;
}
#endif
