/* Lanes of a warp that met others of it by masks, for vector_cells.h: what they have seen, and words of shared memory
 * that they touch (check_groups.c). */
#ifndef SIMT_VECTOR_GROUPS_H
#define SIMT_VECTOR_GROUPS_H

/* ---- where they meet ---- */
static uint32_t find_alike(const uint64_t *values, uint64_t value)
{
    uint32_t lanes = 0;
#ifdef __AVX512F__
    for (int h = 0; h < SIMT_WARP; h += 8)
        lanes |= (uint32_t)_mm512_cmpeq_epi64_mask(_mm512_loadu_si512(values + h), _mm512_set1_epi64((int64_t)value))
                 << h;
#elif defined(__AVX2__)
    for (int h = 0; h < SIMT_WARP; h += 4) {
        __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(values + h));
        v = _mm256_cmpeq_epi64(v, _mm256_set1_epi64x((int64_t)value));
        lanes |= (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(v)) << h;
    }
#else
    for (unsigned l = 0; l < SIMT_WARP; l++) lanes |= (uint32_t)(values[l] == value) << l;
#endif
    return lanes;
}

/* ---- times, by thread ---- */
static void raise_times(uint32_t *restrict times, const uint32_t *restrict by, size_t n)
{
    for (size_t k = 0; k < n; k++) times[k] = times[k] < by[k] ? by[k] : times[k];
}

static uint32_t find_times(uint32_t *restrict times, const uint32_t *restrict by, uint32_t time)
{
    uint32_t least = UINT32_MAX;
    for (unsigned l = 0; l < SIMT_WARP; l++) times[l] = by[l] > time ? by[l] : time;
    for (unsigned l = 0; l < SIMT_WARP; l++) least = times[l] < least ? times[l] : least;
    return least;
}

static bool meet_some(uint32_t (*lanes)[SIMT_WARP], uint32_t m, uint32_t now, uint32_t *restrict known)
{
    uint32_t *last = lanes[LAST_MET], *met = lanes[MET_TIME], row[SIMT_WARP];
    bool parted = m & ~find_equal(last, m); /* else they know the same since they met last, but for when that was */
    simt_lane_row((const uint32_t(*)[SIMT_WARP])lanes, (unsigned)__builtin_ctz(m), known);
    EACH_LANE(l, parted ? m : 0)
    {
        simt_lane_row((const uint32_t(*)[SIMT_WARP])lanes, l, row);
        for (int k = 0; k < SIMT_WARP; k++) known[k] = known[k] < row[k] ? row[k] : known[k];
    }
    EACH_LANE(l, parted ? m : 0) memcpy(lanes[l], known, SIMT_WARP * sizeof *known);
    for (unsigned l = 0; l < SIMT_WARP; l++) {
        uint32_t in = -(m >> l & 1);
        known[l] = (now & in) | (known[l] & ~in);
        last[l] = (m & in) | (last[l] & ~in);
        met[l] = (now & in) | (met[l] & ~in);
    }
    return parted;
}

/* ---- what they touch ---- */
#ifdef __AVX512F__
struct group_row { /* words side by side, of which lane l has word l ^ flip; `words`: those that lanes touch, by bits */
    uint32_t first, flip, words;
};

/* Bit k of what comes is bit k ^ flip. */
static inline uint32_t flipped(uint32_t bits, uint32_t flip)
{
    if (flip & 1) bits = (bits & 0x55555555) << 1 | (bits >> 1 & 0x55555555);
    if (flip & 2) bits = (bits & 0x33333333) << 2 | (bits >> 2 & 0x33333333);
    if (flip & 4) bits = (bits & 0x0f0f0f0f) << 4 | (bits >> 4 & 0x0f0f0f0f);
    if (flip & 8) bits = (bits & 0x00ff00ff) << 8 | (bits >> 8 & 0x00ff00ff);
    return flip & 16 ? bits << 16 | bits >> 16 : bits;
}

static inline __m512i lanes_of_half(int half, uint32_t flip)
{
    return _mm512_xor_si512(_mm512_loadu_si512(lanes_in_order + 16 * half), _mm512_set1_epi32((int)flip));
}

/* Are those of lanes m such a row? One that is flipped begins where a multiple of as many words does. */
static inline bool find_group_row(struct group_row *x, const uint32_t *at, uint32_t m)
{
    uint32_t lane = (uint32_t)__builtin_ctz(m), one = at[lane], flip = (one ^ lane) % SIMT_WARP;
    const struct group_row tried[2] = {{one - lane, 0, m}, {one / SIMT_WARP * SIMT_WARP, flip, 0}};
    for (int k = 0; k < 2; k++) {
        uint32_t others = 0;
        for (int h = 0; h < 2; h++) {
            __m512i here = _mm512_add_epi32(lanes_of_half(h, tried[k].flip), _mm512_set1_epi32((int)tried[k].first));
            others |= _mm512_mask_cmpneq_epi32_mask((__mmask16)(m >> 16 * h), here, _mm512_loadu_si512(at + 16 * h));
        }
        *x = tried[k];
        if (!others) break;
        if (k) return false;
    }
    x->words = flipped(m, x->flip);
    return true;
}

static inline void take_group_row(__m512i *to, const uint32_t *from, const struct group_row *x)
{
    from += (int32_t)x->first;
    __m512i low = _mm512_maskz_loadu_epi32((__mmask16)x->words, from);
    __m512i high = _mm512_maskz_loadu_epi32((__mmask16)(x->words >> 16), from + 16);
    for (int h = 0; h < 2; h++)
        to[h] = x->flip ? _mm512_permutex2var_epi32(low, lanes_of_half(h, x->flip), high) : h ? high : low;
}

static inline void take_group_words(__m512i *to, const uint32_t *from, const uint32_t *at, uint32_t m)
{
    for (int h = 0; h < 2; h++)
        to[h] = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), (__mmask16)(m >> 16 * h),
                                            _mm512_loadu_si512(at + 16 * h), from, 4);
}

/* Lanes m of a half before which what the tags say is not ordered. With one of the bits a tag means several threads. */
static inline __attribute__((always_inline)) __mmask16 group_unseen_16(__m512i tag, __mmask16 m, int half,
                                                                       uint32_t bits, const struct group_rule *g)
{
    const __m512i now = _mm512_set1_epi32((int)g->now), none = _mm512_setzero_si512();
    const __m512i lane = _mm512_loadu_si512(lanes_in_order + 16 * half);
    __mmask16 left = _mm512_mask_cmpge_epu32_mask(m, tag, now);
    if (!left) return 0;
    __mmask16 several = _mm512_mask_test_epi32_mask(left, tag, _mm512_set1_epi32((int)bits));
    __m512i who = _mm512_and_si512(tag, _mm512_set1_epi32(TAG_ATOMIC - 1));
    __m512i other = _mm512_and_si512(who, _mm512_set1_epi32(SIMT_WARP - 1));
    __m512i time =
        _mm512_add_epi32(_mm512_srli_epi32(_mm512_sub_epi32(tag, now), TAG_BITS), _mm512_set1_epi32((int)g->met));
    __mmask16 ours = _mm512_cmpeq_epi32_mask(_mm512_srli_epi32(who, 5), _mm512_set1_epi32((int)g->warp));
    /* itself, or one of those that it met last */
    const uint32_t *last = g->lanes[LAST_MET] + 16 * half, *when = g->lanes[MET_TIME] + 16 * half;
    __m512i with = _mm512_sllv_epi32(_mm512_set1_epi32(1), other);
    __mmask16 met = _mm512_mask_cmplt_epu32_mask(ours, time, _mm512_loadu_si512(when));
    met = _mm512_mask_test_epi32_mask(met, with, _mm512_loadu_si512(last));
    met |= _mm512_mask_cmpeq_epi32_mask(ours, other, lane);
    left = (__mmask16)(left & ~(met | several));
    if (!left) return several;
    __m512i known = _mm512_mask_i32gather_epi32(none, left, who, g->known, 4);
    left = _mm512_mask_cmpge_epu32_mask(left, time, known);
    if (!left) return several;
    known = _mm512_mask_i32gather_epi32(none, left & ours, _mm512_or_si512(_mm512_slli_epi32(lane, 5), other),
                                        g->lanes[0], 4);
    return several | _mm512_mask_cmpge_epu32_mask(left, time, known);
}

static inline __attribute__((always_inline)) uint32_t groups_unseen(const __m512i *w, const __m512i *r, uint32_t m,
                                                                    const struct group_rule *g, bool write)
{
    uint32_t bad = 0;
    for (int h = 0; h < 2; h++) {
        __mmask16 here = (__mmask16)(m >> 16 * h), some;
        some = write ? 0 : _mm512_mask_cmplt_epu32_mask(here, w[h], _mm512_set1_epi32((int)g->base));
        some |= group_unseen_16(w[h], here, h, TAG_MANY, g) | group_unseen_16(r[h], here, h, TAG_MANY | TAG_WARP, g);
        bad |= (uint32_t)some << 16 * h;
    }
    return bad;
}

static inline uint32_t touch_group_row(uint32_t *written, uint32_t *read, const struct group_row *x, uint32_t m,
                                       const struct group_rule *g, bool write)
{
    uint32_t *to = (write ? written : read) + (int32_t)x->first;
    __m512i w[2], r[2];
    take_group_row(w, written, x);
    take_group_row(r, read, x);
    uint32_t bad = groups_unseen(w, r, m, g, write), words = flipped(m & ~bad, x->flip);
    if (write && bad) return m;
    for (int h = 0; h < 2; h++)
        _mm512_mask_storeu_epi32(to + 16 * h, (__mmask16)(words >> 16 * h),
                                 _mm512_add_epi32(lanes_of_half(h, x->flip), _mm512_set1_epi32((int)g->me)));
    return bad;
}

static uint32_t touch_groups(uint32_t *written, uint32_t *read, const uint32_t *at, uint32_t m,
                             const struct group_rule *g, bool write)
{
    uint32_t *to = write ? written : read, lost = 0;
    __m512i w[2], r[2], now[2], mine[2];
    struct group_row row;
    if (find_group_row(&row, at, m)) return touch_group_row(written, read, &row, m, g, write);
    take_group_words(w, written, at, m);
    take_group_words(r, read, at, m);
    const uint32_t bad = groups_unseen(w, r, m, g, write), good = m & ~bad;
    if (write && bad) return m;
    for (int h = 0; h < 2; h++) {
        mine[h] = _mm512_add_epi32(lanes_of_half(h, 0), _mm512_set1_epi32((int)g->me));
        _mm512_mask_i32scatter_epi32(to, (__mmask16)(good >> 16 * h), _mm512_loadu_si512(at + 16 * h), mine[h], 4);
    }
    take_group_words(now, to, at, good);
    for (int h = 0; h < 2; h++) /* to another lane of the word */
        lost |= (uint32_t)_mm512_mask_cmpneq_epi32_mask((__mmask16)(good >> 16 * h), now[h], mine[h]) << 16 * h;
    if (!write || !lost) return bad | lost;
    for (int h = 0; h < 2; h++)
        _mm512_mask_i32scatter_epi32(written, (__mmask16)(m >> 16 * h), _mm512_loadu_si512(at + 16 * h), w[h], 4);
    return m;
}
#else
/* Is what the tag says ordered before what lane l does? With one of the bits it means several threads. */
static inline bool group_seen(uint32_t tag, uint32_t bits, uint32_t l, const struct group_rule *g)
{
    uint32_t other = tag % TAG_ATOMIC, time = g->met + ((tag - g->now) >> TAG_BITS);
    if (tag < g->now) return true;
    if (tag & bits) return false;
    if (time < g->known[other]) return true;
    return other / SIMT_WARP == g->warp &&
           (other % SIMT_WARP == l || time < simt_lane_seen(g->lanes, l, other % SIMT_WARP));
}

/* Lane by lane, as above. Where lanes share a word, one of them stays there, which comes behind all that was there. */
static uint32_t touch_groups(uint32_t *written, uint32_t *read, const uint32_t *at, uint32_t m,
                             const struct group_rule *g, bool write)
{
    uint32_t bad = 0, lost = 0, *to = write ? written : read;
    EACH_LANE(l, m)
    {
        uint32_t w = written[at[l]], r = read[at[l]];
        bool fine = (write || w >= g->base) && group_seen(w, TAG_MANY, l, g);
        fine = fine && group_seen(r, TAG_MANY | TAG_WARP, l, g);
        if (!fine && write) return m;
        bad |= (uint32_t)!fine << l;
    }
    EACH_LANE(l, m & ~bad) to[at[l]] = g->me + l;
    EACH_LANE(l, m & ~bad) lost |= (uint32_t)(to[at[l]] != g->me + l) << l;
    return write && lost ? m : bad | lost;
}
#endif

#endif
