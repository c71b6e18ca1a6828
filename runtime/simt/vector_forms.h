/* Which form the places of a warp's lanes have: rows, steps, an order, cells by bits. Part of vector_cells.h, compiled
 * for each instruction set. */
#ifndef SIMT_VECTOR_FORMS_H
#define SIMT_VECTOR_FORMS_H

static const uint32_t lanes_in_order[SIMT_WARP] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                                   16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};

#ifdef __AVX2__
/* Of the lowest bits of m, as many as there are elements: which are set. */
static inline __attribute__((always_inline)) __m256i bits_of_8(uint32_t m)
{
    const __m256i bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)m), bits), bits);
}

static inline __attribute__((always_inline)) __m256i load_8(const uint32_t *from)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)from);
}

/* Unsigned. */
static inline __attribute__((always_inline)) __m256i at_least(__m256i x, __m256i least)
{
    return _mm256_cmpeq_epi32(_mm256_max_epu32(x, least), x);
}
#endif

static uint32_t find_equal(const uint32_t *values, uint32_t value)
{
    uint32_t lanes = 0;
#ifdef __AVX512F__
    for (int h = 0; h < SIMT_WARP; h += 16)
        lanes |= (uint32_t)_mm512_cmpeq_epi32_mask(_mm512_loadu_si512(values + h), _mm512_set1_epi32((int)value)) << h;
#elif defined(__AVX2__)
    for (int h = 0; h < SIMT_WARP; h += 8) {
        __m256i v = _mm256_cmpeq_epi32(load_8(values + h), _mm256_set1_epi32((int)value));
        lanes |= (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(v)) << h;
    }
#else
    for (unsigned l = 0; l < SIMT_WARP; l++) lanes |= (uint32_t)(values[l] == value) << l;
#endif
    return lanes;
}

static uint32_t find_parts(const uint64_t *at, unsigned log)
{
    uint32_t others = 0;
#ifdef __AVX512F__
    static const unsigned from[] = {0, 8, 16, SIMT_WARP - 9};
    for (unsigned k = 0; k < 4; k++) {
        __m512i v = _mm512_xor_si512(_mm512_loadu_si512(at + from[k]), _mm512_loadu_si512(at + from[k] + 1));
        v = _mm512_srl_epi64(v, _mm_cvtsi32_si128((int)log));
        others |= (uint32_t)_mm512_test_epi64_mask(v, v) << from[k] << 1;
    }
#elif defined(__AVX2__)
    static const unsigned from[] = {0, 4, 8, 12, 16, 20, 24, SIMT_WARP - 5};
    for (unsigned k = 0; k < 8; k++) {
        __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(at + from[k]));
        v = _mm256_xor_si256(v, _mm256_loadu_si256((const __m256i *)(const void *)(at + from[k] + 1)));
        v = _mm256_srl_epi64(v, _mm_cvtsi32_si128((int)log));
        v = _mm256_cmpeq_epi64(v, _mm256_setzero_si256());
        others |= (uint32_t)(~_mm256_movemask_pd(_mm256_castsi256_pd(v)) & 15) << from[k] << 1;
    }
#else
    for (unsigned l = 1; l < SIMT_WARP; l++) others |= (uint32_t)((at[l] ^ at[l - 1]) >> log != 0) << l;
#endif
    return others;
}

static bool follow_steps(const uint32_t *from, uint32_t m, uint32_t size, uint32_t *first, int32_t *step)
{
    uint32_t rest = m & (m - 1), one = (uint32_t)__builtin_ctz(m), other = rest ? (uint32_t)__builtin_ctz(rest) : one;
    uint32_t lanes = other - one, bytes = rest ? from[other] - from[one] : size, by = bytes, start;
    if (lanes > 1) by = bytes == size * lanes ? size : (uint32_t)((int32_t)bytes / (int32_t)lanes);
    start = from[one] - by * one;
    *first = start;
    *step = (int32_t)by;
#ifdef __AVX512F__
    const __m512i scale = _mm512_set1_epi32((int)by), low = _mm512_set1_epi32((int)start);
    __mmask16 differ = 0;
    for (int h = 0; h < SIMT_WARP; h += 16) {
        __m512i there = _mm512_add_epi32(low, _mm512_mullo_epi32(scale, _mm512_loadu_si512(lanes_in_order + h)));
        differ |= _mm512_mask_cmpneq_epi32_mask((__mmask16)(m >> h), there, _mm512_loadu_si512(from + h));
    }
    return !differ;
#elif defined(__AVX2__)
    const __m256i scale = _mm256_set1_epi32((int)by), low = _mm256_set1_epi32((int)start);
    __m256i differ = _mm256_setzero_si256();
    for (int h = 0; h < SIMT_WARP; h += 8) {
        __m256i there = _mm256_add_epi32(low, _mm256_mullo_epi32(scale, load_8(lanes_in_order + h)));
        there = _mm256_xor_si256(there, load_8(from + h));
        differ = _mm256_or_si256(differ, _mm256_and_si256(there, bits_of_8(m >> h)));
    }
    return _mm256_testz_si256(differ, differ);
#else
    uint32_t differ = 0;
    for (uint32_t l = 0; l < SIMT_WARP; l++) differ |= (from[l] ^ (start + by * l)) & -(m >> l & 1);
    return !differ;
#endif
}

/* Are they 32 words side by side, in some order? Which lane has each of them, then. */
static bool find_lanes(const uint32_t *at, uint32_t *lane)
{
    uint32_t low = at[0] / SIMT_WARP * SIMT_WARP, far = 0, found = 0;
    for (uint32_t l = 0; l < SIMT_WARP; l++) far |= at[l] - low, found |= 1u << ((at[l] - low) % SIMT_WARP);
    if (far >= SIMT_WARP || found != FULL) return false;
    for (uint32_t l = 0; l < SIMT_WARP; l++) lane[at[l] - low] = l;
    return true;
}

static int64_t find_stride(const uint64_t *at, uint32_t m, uint32_t bytes)
{
    uint32_t rest = m & (m - 1), one = (uint32_t)__builtin_ctz(m), other = rest ? (uint32_t)__builtin_ctz(rest) : one;
    uint64_t by = bytes;
    if (rest) by = at[other] - at[one];
    if (rest && other - one > 1) by = other - one == 2 ? by >> 1 : (uint64_t)((int64_t)by / (int64_t)(other - one));
    if (by >> 16) return 0;
    uint64_t start = at[one] - by * one;
#ifdef __AVX512F__
    const __m512i scale = _mm512_set1_epi64((int64_t)by), low = _mm512_set1_epi64((int64_t)start);
    __mmask8 differ = 0;
    for (int h = 0; h < 16; h += 8) {
        __m512i lane = _mm512_cvtepu32_epi64(_mm256_loadu_si256((const __m256i *)(const void *)(lanes_in_order + h)));
        __m512i there = _mm512_add_epi64(low, _mm512_mul_epu32(scale, lane));
        differ |= _mm512_mask_cmpneq_epi64_mask((__mmask8)(m >> h), there, _mm512_loadu_si512(at + h));
    }
#else
    uint64_t differ = 0;
    for (uint32_t l = 0; l < 16; l++) differ |= (at[l] ^ (start + (uint32_t)by * l)) & -(uint64_t)(m >> l & 1);
#endif
    return differ ? 0 : (int64_t)by;
}

static int64_t find_halves(const uint64_t *at, uint32_t m, uint32_t bytes, uint64_t from[2])
{
    uint32_t low = m & 0xffff, high = m >> 16, two = low & (low - 1) ? low : high & (high - 1) ? high << 16 : 0;
    uint32_t first = low ? (uint32_t)__builtin_ctz(low) : 0, second = high ? (uint32_t)__builtin_ctz(high) : 0;
    uint64_t by = bytes;
    if (two) {
        uint32_t one = (uint32_t)__builtin_ctz(two), lanes = (uint32_t)__builtin_ctz(two & (two - 1)) - one;
        by = at[one + lanes] - at[one];
        if (lanes > 1) by = lanes == 2 ? by >> 1 : (uint64_t)((int64_t)by / (int64_t)lanes);
    }
    if (by >> 16) return -1;
    from[0] = at[first] - by * first;
    from[1] = at[16 + second] - by * second;
#ifdef __AVX512F__
    const __m512i scale = _mm512_set1_epi64((int64_t)by);
    __mmask8 differ = 0;
    for (int l = 0; l < 16; l += 8) {
        __m512i lane = _mm512_cvtepu32_epi64(_mm256_loadu_si256((const __m256i *)(const void *)(lanes_in_order + l)));
        __m512i on = _mm512_mul_epu32(scale, lane);
        for (int h = 0; h < 2; h++) {
            __m512i there = _mm512_add_epi64(_mm512_set1_epi64((int64_t)from[h]), on);
            differ |= _mm512_mask_cmpneq_epi64_mask((__mmask8)(m >> (16 * h + l)), there,
                                                    _mm512_loadu_si512(at + 16 * h + l));
        }
    }
#else
    uint64_t differ = 0;
    for (uint32_t l = 0; l < SIMT_WARP; l++)
        differ |= (at[l] ^ (from[l / 16] + (uint32_t)by * (l % 16))) & -(uint64_t)(m >> l & 1);
#endif
    return differ ? -1 : (int64_t)by;
}

static bool within_room(const uint64_t *a, uint32_t m, uint64_t low, uint64_t room, uint64_t odd)
{
#ifdef __AVX512F__
    const __m512i from = _mm512_set1_epi64((long long)low), most = _mm512_set1_epi64((long long)room),
                  none = _mm512_set1_epi64((long long)odd);
    __mmask8 bad = 0;
    for (int k = 0; k < SIMT_WARP; k += 8) {
        __m512i v = _mm512_loadu_si512(a + k);
        bad |= _mm512_mask_cmpgt_epu64_mask((__mmask8)(m >> k), _mm512_sub_epi64(v, from), most);
        bad |= _mm512_mask_test_epi64_mask((__mmask8)(m >> k), v, none);
    }
#else
    uint64_t bad = 0;
    if (m == FULL)
        for (int l = 0; l < SIMT_WARP; l++) bad |= (uint64_t)(a[l] - low > room) | (a[l] & odd);
    else
        for (int l = 0; l < SIMT_WARP; l++)
            bad |= ((uint64_t)(a[l] - low > room) | (a[l] & odd)) & -(uint64_t)(m >> l & 1);
#endif
    return !bad;
}

static bool find_cells(const uint64_t *at, uint32_t m, const struct elements *e, uint32_t *cells)
{
#ifdef __AVX512F__
    const __m512i start = _mm512_set1_epi64((int64_t)e->start), low = _mm512_set1_epi64((int64_t)e->low),
                  room = _mm512_set1_epi64((int64_t)e->room), odd = _mm512_set1_epi64((int64_t)e->odd);
    const __m128i by = _mm_cvtsi32_si128((int)e->log);
    __mmask8 bad = 0;
    for (int l = 0; l < SIMT_WARP; l += 8, m >>= 8) {
        const __mmask8 here = (__mmask8)m;
        __m512i v = _mm512_loadu_si512(at + l);
        bad |= _mm512_mask_cmpgt_epu64_mask(here, _mm512_sub_epi64(v, low), room);
        bad |= _mm512_mask_test_epi64_mask(here, v, odd);
        __m256i cell = _mm512_cvtepi64_epi32(_mm512_srl_epi64(_mm512_sub_epi64(v, start), by));
        if (here != 0xff) cell = _mm256_maskz_compress_epi32(here, cell);
        _mm256_storeu_si256((__m256i *)(void *)cells, cell);
        cells += __builtin_popcount(here);
    }
    return !bad;
#else
    if (!within_room(at, m, e->low, e->room, e->odd)) return false;
    if (m == FULL)
        for (int l = 0; l < SIMT_WARP; l++) cells[l] = (uint32_t)((at[l] - e->start) >> e->log);
    else
        EACH_LANE(l, m) *cells++ = (uint32_t)((at[l] - e->start) >> e->log);
    return true;
#endif
}

/* No branch asks whether words come again: those of lanes far apart miss the nearest cache, which no lane's should wait
 * for. */
static inline __attribute__((always_inline)) uint64_t mark_each(uint64_t *bits, const uint32_t *at, unsigned n,
                                                                uint64_t ones)
{
    uint64_t again = 0;
    for (unsigned k = 0; k < n; k++) {
        uint64_t *word = &bits[at[k] / 64], was = *word;
        again |= was >> at[k] % 64;
        *word = was | ones << at[k] % 64;
    }
    return again & ones;
}

static bool mark_cells(uint64_t *bits, const uint32_t *at, unsigned n, uint64_t ones)
{
    return ones == 1 ? mark_each(bits, at, n, 1) : mark_each(bits, at, n, ones);
}

static bool are_rising(const uint32_t *from)
{
    uint32_t bad = 0;
    for (int l = 0; l < SIMT_WARP - 1; l++) bad |= (uint32_t)((int32_t)from[l + 1] <= (int32_t)from[l]);
    return !bad;
}

#define ROWS(name, type)                                                                                               \
    static unsigned name(const type *a, uint32_t bytes)                                                                \
    {                                                                                                                  \
        unsigned kinds = 0;                                                                                            \
        for (int h = 0; h < SIMT_WARP; h += 16) {                                                                      \
            type differ = 0, skew = 0, whole = a[h + 15] - a[h];                                                       \
            if (whole && whole != (type)15 * bytes) continue;                                                          \
            for (int l = 0; l < 16; l++) {                                                                             \
                type d = a[h + l] - a[h];                                                                              \
                differ |= d;                                                                                           \
                skew |= d ^ (type)((uint32_t)l * bytes);                                                               \
            }                                                                                                          \
            kinds |= (unsigned)(!skew ? ROW_UNIT : !differ ? ROW_UNIFORM : 0) << (h ? ROW_BITS : 0);                   \
        }                                                                                                              \
        return kinds;                                                                                                  \
    }
ROWS(rows32, uint32_t)
ROWS(rows64, uint64_t)

static bool find_words(uint32_t *at, const uint32_t *from, uint32_t m, uint32_t on, uint32_t room, uint32_t odd,
                       uint32_t log)
{
    uint32_t bad = 0;
    for (int l = 0; l < SIMT_WARP; l++) {
        uint32_t d = from[l] + on;
        bad |= ((uint32_t)(d > room) | (d & odd)) & -(m >> l & 1);
        at[l] = d >> log;
    }
    return !bad;
}

#endif
