/* Cells of words of a line of global memory that lanes of a warp touch which met each other last, for vector_cells.h:
 * is all that was done to them ordered before that (check_known.c)? */
#ifndef SIMT_VECTOR_LINES_H
#define SIMT_VECTOR_LINES_H

#define WORDS_OF_LINE (LINE / 4)

static uint32_t find_within(const uint64_t *at, uint32_t m, uint64_t low, uint64_t bytes)
{
    uint32_t lanes = 0;
#ifdef __AVX512F__
    const __m512i from = _mm512_set1_epi64((int64_t)low), end = _mm512_set1_epi64((int64_t)bytes);
    for (int k = 0; k < SIMT_WARP; k += 8)
        lanes |= (uint32_t)_mm512_cmplt_epu64_mask(_mm512_sub_epi64(_mm512_loadu_si512(at + k), from), end) << k;
#else
    for (unsigned l = 0; l < SIMT_WARP; l++) lanes |= (uint32_t)(at[l] - low < bytes) << l;
#endif
    return lanes & m;
}

/* Those that are elsewhere leave some word out. */
static bool find_whole(const uint64_t *at, uint8_t *words)
{
    const uint64_t line = *at / LINE * LINE;
#ifdef __AVX512F__
    _Static_assert(HALF_LANES == 16, "two vectors of addresses");
    const __m512i from = _mm512_set1_epi64((int64_t)line), one = _mm512_set1_epi64(1);
    const __m512i low = _mm512_srli_epi64(_mm512_sub_epi64(_mm512_loadu_si512(at), from), 2),
                  high = _mm512_srli_epi64(_mm512_sub_epi64(_mm512_loadu_si512(at + 8), from), 2);
    _mm_storel_epi64((__m128i *)(void *)words, _mm512_cvtepi64_epi8(low));
    _mm_storel_epi64((__m128i *)(void *)(words + 8), _mm512_cvtepi64_epi8(high));
    const __m512i all = _mm512_or_si512(_mm512_sllv_epi64(one, low), _mm512_sllv_epi64(one, high));
    return _mm512_reduce_or_epi64(all) == ALL_WORDS;
#else
    uint32_t all = 0;
    for (unsigned l = 0; l < HALF_LANES; l++) {
        uint64_t word = (at[l] - line) / 4;
        words[l] = (uint8_t)word;
        all |= (uint32_t)(word < HALF_LANES) << word % HALF_LANES;
    }
    return all == ALL_WORDS;
#endif
}

#ifdef __AVX512F__
struct met_lanes {
    const uint64_t *at; /* of lanes m */
    uint32_t m, words;  /* that these touch, by bits */
    record me;          /* lane 0 */
    bool row;           /* the words go on with the lanes: */
    record first;       /* then, who would touch word 0 */
};

static inline __m512i met_in_order(record first)
{
    const __m512i n = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
    return _mm512_add_epi64(_mm512_slli_epi64(n, THREAD_AT), _mm512_set1_epi64((int64_t)first));
}

static inline __m512i words_of_met_lanes(const struct met_lanes *x, int lane)
{
    const __m512i word = _mm512_srli_epi64(_mm512_loadu_si512(x->at + lane), 2);
    return _mm512_and_si512(word, _mm512_set1_epi64(WORDS_OF_LINE - 1));
}

static inline struct met_lanes find_met_words(const uint64_t *at, uint32_t m, record me)
{
    const uint64_t lane = (uint64_t)__builtin_ctz(m), word = at[lane] % LINE / 4;
    struct met_lanes x = {at, m, 0, me, true, me + ((lane - word) << THREAD_AT)};
    __m512i next = _mm512_set_epi64(28, 24, 20, 16, 12, 8, 4, 0);
    next = _mm512_add_epi64(next, _mm512_set1_epi64((int64_t)(at[lane] - 4 * lane)));
    for (int k = 0; k < SIMT_WARP; k += 8) {
        const __mmask8 lanes = (__mmask8)(m >> k);
        if (lanes) x.row &= !_mm512_mask_cmpneq_epi64_mask(lanes, _mm512_loadu_si512(at + k), next);
        next = _mm512_add_epi64(next, _mm512_set1_epi64(32));
    }
    x.words = (uint32_t)((uint64_t)m << word >> lane);
    if (x.row) return x;
    __m512i bits = _mm512_setzero_si512();
    for (int k = 0; k < SIMT_WARP; k += 8)
        bits = _mm512_or_si512(
            bits, _mm512_maskz_sllv_epi64((__mmask8)(m >> k), _mm512_set1_epi64(1), words_of_met_lanes(&x, k)));
    x.words = (uint32_t)_mm512_reduce_or_epi64(bits);
    return x;
}

/* The lanes' own records, where they stand in `to`, but for some words. */
static inline void put_met_lanes(record *to, const struct met_lanes *x, uint32_t but)
{
    for (int k = 0; x->row && k < WORDS_OF_LINE; k += 8)
        _mm512_mask_storeu_epi64(to + k, (__mmask8)((x->words & ~but) >> k),
                                 met_in_order(x->first + ((record)k << THREAD_AT)));
    for (int k = 0; !x->row && k < SIMT_WARP; k += 8) {
        const __m512i word = words_of_met_lanes(x, k), kept = _mm512_set1_epi64(but);
        __mmask8 here = (__mmask8)(x->m >> k);
        here = _mm512_mask_testn_epi64_mask(here, _mm512_sllv_epi64(_mm512_set1_epi64(1), word), kept);
        if (here)
            _mm512_mask_i64scatter_epi64(to, here, word, met_in_order(x->me + ((record)k << THREAD_AT)), sizeof *to);
    }
}

/* Of 8 records, those that the group did not leave before it met. */
static inline __attribute__((always_inline)) __mmask8 unmet_8(__m512i r, const struct met_rule *x)
{
    const __m512i within = _mm512_sub_epi64(r, _mm512_set1_epi64((int64_t)x->id));
    const __m512i other = _mm512_xor_si512(r, _mm512_set1_epi64((int64_t)x->me));
    const __m512i lane = _mm512_and_si512(_mm512_srli_epi64(r, THREAD_AT), _mm512_set1_epi64(SIMT_WARP - 1));
    const __m512i group = _mm512_srlv_epi64(_mm512_set1_epi64(x->group), lane);
    __mmask8 met = _mm512_cmplt_epu64_mask(within, _mm512_set1_epi64((int64_t)x->met));
    met &= _mm512_testn_epi64_mask(other, _mm512_set1_epi64((int64_t)WARP_MASK));
    met &= _mm512_test_epi64_mask(group, _mm512_set1_epi64(1));
    return _mm512_test_epi64_mask(r, r) & (__mmask8)~met;
}

/* Of those, what is not ordered in another way. */
static inline __attribute__((always_inline)) __mmask8 unseen_8(__mmask8 left, __m512i r, __m512i mine,
                                                               const struct met_rule *x)
{
    const __m512i within = _mm512_sub_epi64(r, _mm512_set1_epi64((int64_t)x->id)), other = _mm512_xor_si512(r, mine);
    __mmask8 ours = _mm512_testn_epi64_mask(other, _mm512_set1_epi64((int64_t)WARP_MASK));
    __mmask8 seen = _mm512_testn_epi64_mask(other, _mm512_set1_epi64((int64_t)WHO_MASK));
    seen |= _mm512_cmplt_epu64_mask(within, _mm512_set1_epi64((int64_t)x->before));
    seen |= _mm512_mask_cmplt_epu64_mask(ours, within, _mm512_set1_epi64((int64_t)x->warp_before));
    return left & (__mmask8)~seen;
}

/* Is the record one that the thread of the other left since its warp met others last? */
static inline __mmask8 is_last_8(__m512i r, __m512i mine, const struct met_rule *x)
{
    __mmask8 own = _mm512_testn_epi64_mask(_mm512_xor_si512(r, mine), _mm512_set1_epi64((int64_t)WHO_MASK));
    const __m512i within = _mm512_and_si512(r, _mm512_set1_epi64((int64_t)WITHIN));
    return _mm512_mask_cmpge_epu64_mask(own, within, _mm512_set1_epi64((int64_t)x->seen));
}

/* Looks at all in which way it is ordered. False: some is not. *kept: words whose readers stay as they are. */
static bool look_at_met(const record *cells, const struct met_lanes *lanes, const struct met_rule *x, uint32_t *kept)
{
    record mine[WORDS_OF_LINE];
    __mmask8 bad = 0;
    if (!lanes->row) put_met_lanes(mine, lanes, 0);
    for (int k = 0; k < WORDS_OF_LINE; k += 8) {
        if (!(lanes->words >> k & 0xff)) continue;
        __m512i me = lanes->row ? met_in_order(lanes->first + ((record)k << THREAD_AT))
                                : _mm512_maskz_loadu_epi64((__mmask8)(lanes->words >> k), mine + k);
        for (int n = 0; n < RECORDS; n++) {
            __m512i r = _mm512_loadu_si512(cells + n * WORDS_OF_LINE + k);
            bad |= unseen_8(unmet_8(r, x) & (__mmask8)(lanes->words >> k), r, me, x);
            if (n) *kept |= (uint32_t)is_last_8(r, me, x) << k;
        }
    }
    return !bad;
}

static bool touch_met(record *cells, const uint64_t *at, uint32_t m, const struct met_rule *x, bool write)
{
    const __m512i special = _mm512_set1_epi64(MAX_SITES / 2), none = _mm512_setzero_si512();
    const struct met_lanes lanes = find_met_words(at, m, x->me);
    uint32_t unmet = 0, odd = 0, kept = 0;
    if (__builtin_popcount(lanes.words) != __builtin_popcount(m)) return false;
    for (int k = 0; k < WORDS_OF_LINE; k += 8)
        for (int n = 0; lanes.words >> k & 0xff && n < RECORDS; n++) {
            __m512i r = _mm512_loadu_si512(cells + n * WORDS_OF_LINE + k);
            unmet |= (uint32_t)unmet_8(r, x) << k;
            if (n) odd |= (uint32_t)_mm512_test_epi64_mask(r, special) << k;
        }
    if (odd & lanes.words || (unmet & lanes.words && !look_at_met(cells, &lanes, x, &kept))) return false;
    if (write) kept = 0;
    put_met_lanes(write ? cells : cells + WORDS_OF_LINE, &lanes, kept);
    for (int k = 0; k < WORDS_OF_LINE; k += 8) {
        __mmask8 here = (__mmask8)((lanes.words & ~kept) >> k);
        if (write) _mm512_mask_storeu_epi64(cells + WORDS_OF_LINE + k, here, none);
        _mm512_mask_storeu_epi64(cells + 2 * WORDS_OF_LINE + k, here, none);
    }
    return true;
}
#else
#ifdef __AVX2__
/* Words of which a record is one that the group did not leave before it met, or an atomic reads. */
static uint32_t find_unmet(const record *cells, const struct met_rule *x)
{
    const __m256i me = _mm256_set1_epi64x((int64_t)x->me), group = _mm256_set1_epi64x(x->group),
                  none = _mm256_setzero_si256();
    const __m256i warp = _mm256_set1_epi64x((int64_t)WARP_MASK), within = _mm256_set1_epi64x((int64_t)WITHIN);
    const __m256i special = _mm256_set1_epi64x(MAX_SITES / 2), lanes = _mm256_set1_epi64x(SIMT_WARP - 1);
    const __m256i met = _mm256_set1_epi64x((int64_t)x->met);
    uint32_t unmet = 0;
    for (int k = 0; k < RECORDS * WORDS_OF_LINE; k += 4) {
        __m256i r = _mm256_loadu_si256((const __m256i *)(const void *)(cells + k));
        __m256i ours = _mm256_cmpeq_epi64(_mm256_and_si256(_mm256_xor_si256(r, me), warp), none);
        __m256i early = _mm256_cmpgt_epi64(met, _mm256_and_si256(r, within));
        __m256i in = _mm256_srlv_epi64(group, _mm256_and_si256(_mm256_srli_epi64(r, THREAD_AT), lanes));
        __m256i fine = _mm256_and_si256(_mm256_and_si256(ours, early), _mm256_slli_epi64(in, 63));
        __m256i plain = _mm256_cmpeq_epi64(_mm256_and_si256(r, special), none);
        fine = _mm256_or_si256(_mm256_and_si256(fine, plain), _mm256_cmpeq_epi64(r, none));
        unmet |= (uint32_t)(~_mm256_movemask_pd(_mm256_castsi256_pd(fine)) & 15) << k % WORDS_OF_LINE;
    }
    return unmet;
}
#else
static uint32_t find_unmet(const record *cells, const struct met_rule *x)
{
    (void)cells, (void)x;
    return UINT32_MAX; /* each is to be looked at */
}
#endif

static inline bool is_seen(record r, record me, const struct met_rule *x)
{
    const uint64_t within = r - x->id;
    if (!r || !((r ^ me) & WHO_MASK) || within < x->before) return true;
    if ((r ^ me) & WARP_MASK) return false;
    return within < x->warp_before || (within < x->met && x->group >> (r >> THREAD_AT & (SIMT_WARP - 1)) & 1);
}

/* Did the thread leave it since its warp met others last? */
static inline bool is_last(record r, record me, const struct met_rule *x)
{
    return !((r ^ me) & WHO_MASK) && (r & WITHIN) >= x->seen;
}

static bool touch_met(record *cells, const uint64_t *at, uint32_t m, const struct met_rule *x, bool write)
{
    const uint32_t unmet = find_unmet(cells, x);
    uint32_t touched = 0, kept = 0;
    EACH_LANE(l, m)
    {
        unsigned k = (unsigned)(at[l] % LINE) / 4;
        const record *w = cells + k, me = x->me + ((record)l << THREAD_AT), a = w[WORDS_OF_LINE],
                     b = w[2 * WORDS_OF_LINE];
        if (touched >> k & 1) return false;
        touched |= 1u << k;
        if (!(unmet >> k & 1)) continue;
        if (record_special(a | b) || !is_seen(*w, me, x) || !is_seen(a, me, x) || !is_seen(b, me, x)) return false;
        kept |= (uint32_t)(is_last(a, me, x) || is_last(b, me, x)) << l;
    }
    EACH_LANE(l, write ? m : m & ~kept)
    {
        record *w = cells + (at[l] % LINE) / 4, me = x->me + ((record)l << THREAD_AT);
        w[write ? 0 : WORDS_OF_LINE] = me;
        if (write) w[WORDS_OF_LINE] = 0;
        w[2 * WORDS_OF_LINE] = 0;
    }
    return true;
}
#endif

#endif
