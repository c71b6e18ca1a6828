/* What an access of up to 32 lanes means for the shadow of what they touch (check_race.c, check_shared.c): compiled for
 * each instruction set by the file that includes this, which sets CHECK_VECTORS to the table's name. */
#ifdef __AVX2__
#include <immintrin.h>
#endif
#include <string.h>
#include "runtime/simt/check_cells.h"
#include "runtime/simt/vector_forms.h"

static inline __attribute__((always_inline)) uint64_t judge_some(struct cells *c, const int n, const struct now *t,
                                                                 bool write)
{
    uint64_t flags = 0;
    if (write && t->shared)
        for (int k = 0; k < n; k++) flags |= judge_write(c, k, t, true);
    else if (write)
        for (int k = 0; k < n; k++) flags |= judge_write(c, k, t, false);
    else if (t->shared)
        for (int k = 0; k < n; k++) flags |= judge_read(c, k, t, true);
    else
        for (int k = 0; k < n; k++) flags |= judge_read(c, k, t, false);
    return flags;
}

static uint64_t judge_cells(struct cells *c, unsigned n, const struct now *t, bool write)
{
    return n == 16 ? judge_some(c, 16, t, write) : judge_some(c, SIMT_WARP, t, write);
}

/* Loops over tags are there twice: `met` says whether lanes of a warp met in this epoch. */
#define TAG_LOOP static inline __attribute__((always_inline)) unsigned

TAG_LOOP write_tags(uint32_t *restrict written, const uint32_t *restrict read, unsigned n, unsigned shift,
                    const struct tag_rule *rule, uint32_t me, bool met)
{
    const struct tag_rule t = *rule;
    uint32_t bad = 0;
    for (unsigned k = 0; k < n; k++) {
        uint32_t mine = me + (k >> shift);
        bad |= tag_write_bad(written[k], read[k], mine, &t, met);
        written[k] = mine;
    }
    return (bad ? CELLS_BAD : 0) | CELLS_CHANGED;
}

TAG_LOOP read_tags(const uint32_t *restrict written, uint32_t *restrict read, unsigned n, unsigned shift,
                   const struct tag_rule *rule, uint32_t me, bool met)
{
    const struct tag_rule t = *rule;
    uint32_t bad = 0, changed = 0;
    for (unsigned k = 0; k < n; k++) {
        uint32_t mine = me + (k >> shift), old = read[k], new = tag_reader(old, mine, &t, met);
        bad |= tag_read_bad(written[k], mine, &t, met);
        changed |= new ^ old;
        read[k] = new;
    }
    return (bad ? CELLS_BAD : 0) | (changed ? CELLS_CHANGED : 0);
}

static unsigned judge_tags(uint32_t *written, uint32_t *read, unsigned n, unsigned shift, const struct tag_rule *t,
                           uint32_t me, bool write)
{
    bool met = t->warp != t->now;
    if (write)
        return met ? write_tags(written, read, n, shift, t, me, true)
                   : write_tags(written, read, n, shift, t, me, false);
    return met ? read_tags(written, read, n, shift, t, me, true) : read_tags(written, read, n, shift, t, me, false);
}

/* The elements that lanes m mean by index, to and from a list of all lanes. */
static inline void take_some(uint32_t *to, const uint32_t *from, const uint32_t *at, uint32_t m)
{
#ifdef __AVX512F__
    for (int h = 0; h < SIMT_WARP; h += 16)
        _mm512_storeu_si512(to + h, _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), (__mmask16)(m >> h),
                                                                _mm512_loadu_si512(at + h), from, 4));
#elif defined(__AVX2__)
    for (int h = 0; h < SIMT_WARP; h += 8) {
        __m256i words = _mm256_mask_i32gather_epi32(_mm256_setzero_si256(), (const int *)from, load_8(at + h),
                                                    bits_of_8(m >> h), 4);
        _mm256_storeu_si256((__m256i *)(void *)(to + h), words);
    }
#else
    for (int l = 0; l < SIMT_WARP; l++) to[l] = m >> l & 1 ? from[at[l]] : 0;
#endif
}

static inline void put_some(uint32_t *to, const uint32_t *from, const uint32_t *at, uint32_t m)
{
#ifdef __AVX512F__
    for (int h = 0; h < SIMT_WARP; h += 16)
        _mm512_mask_i32scatter_epi32(to, (__mmask16)(m >> h), _mm512_loadu_si512(at + h), _mm512_loadu_si512(from + h),
                                     4);
#else
    EACH_LANE(l, m) to[at[l]] = from[l];
#endif
}

/* The same of elements 1 << shift apart, 0 or 1, that of lane 0 first. */
static inline __attribute__((always_inline)) void take_row(uint32_t *to, const uint32_t *from, uint32_t m,
                                                           unsigned shift)
{
#if defined(__AVX512F__)
    const __m512i evens = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    for (int h = 0; h < SIMT_WARP; h += 16) {
        uint32_t there = shift ? _pdep_u32(m >> h, 0x55555555) : m >> h;
        const uint32_t *at = from + (h << shift);
        __m512i v = _mm512_maskz_loadu_epi32((__mmask16)there, at);
        if (shift) v = _mm512_permutex2var_epi32(v, evens, _mm512_maskz_loadu_epi32((__mmask16)(there >> 16), at + 16));
        _mm512_storeu_si512(to + h, v);
    }
#elif defined(__AVX2__)
    for (int h = 0; !shift && h < SIMT_WARP; h += 8)
        _mm256_storeu_si256((__m256i *)(void *)(to + h),
                            _mm256_maskload_epi32((const int *)(from + h), bits_of_8(m >> h)));
    for (int l = 0; shift && l < SIMT_WARP; l++) to[l] = m >> l & 1 ? from[l << shift] : 0;
#else
    for (int l = 0; l < SIMT_WARP; l++) to[l] = m >> l & 1 ? from[l << shift] : 0;
#endif
}

static inline __attribute__((always_inline)) void put_row(uint32_t *to, const uint32_t *from, uint32_t m,
                                                          unsigned shift)
{
#ifdef __AVX512F__
    const __m512i twice = _mm512_set_epi32(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0);
    for (int h = 0; h < SIMT_WARP; h += 16) {
        uint32_t there = shift ? _pdep_u32(m >> h, 0x55555555) : m >> h;
        uint32_t *at = to + (h << shift);
        __m512i v = _mm512_loadu_si512(from + h);
        _mm512_mask_storeu_epi32(at, (__mmask16)there, shift ? _mm512_permutexvar_epi32(twice, v) : v);
        if (!shift) continue;
        v = _mm512_permutexvar_epi32(_mm512_add_epi32(twice, _mm512_set1_epi32(8)), v);
        _mm512_mask_storeu_epi32(at + 16, (__mmask16)(there >> 16), v);
    }
#else
    EACH_LANE(l, m) to[l << shift] = from[l];
#endif
}

/* Words that several lanes read, each of which took it for its own, become those of several. */
static void join_readers(uint32_t *read, const uint32_t *at, uint32_t m, const struct tag_rule *t, uint32_t me)
{
    uint32_t several = t->warp != t->now ? t->warp | TAG_WARP | (me & 0x3e0) : t->now | TAG_MANY;
    EACH_LANE(l, m)
    if ((read[at[l]] ^ (me + l)) - 1 < SIMT_WARP - 1) read[at[l]] = several;
}

struct words { /* of lanes: their tags, and what those who read become */
    uint32_t w[SIMT_WARP], r[SIMT_WARP], mine[SIMT_WARP];
};

/* What lanes m make of them. */
TAG_LOOP judge_list(struct words *x, uint32_t m, const struct tag_rule *rule, uint32_t me, bool write, bool met)
{
    const struct tag_rule t = *rule;
    uint32_t bad = 0, changed = 0;
    for (uint32_t l = 0; l < SIMT_WARP; l++) {
        uint32_t old = x->r[l], there = m >> l & 1, mine = me + l;
        x->mine[l] = mine;
        if (write) {
            bad |= tag_write_bad(x->w[l], old, mine, &t, met) & there;
        } else {
            x->r[l] = tag_reader(old, mine, &t, met);
            bad |= tag_read_bad(x->w[l], mine, &t, met) & there;
            changed |= (x->r[l] ^ old) & -there;
        }
    }
    return (bad ? CELLS_BAD : 0) | (write || changed ? CELLS_CHANGED : 0);
}

/* Words of lanes m. `apart`: each lane touches another one. */
TAG_LOOP words_of_lanes(uint32_t *written, uint32_t *read, const uint32_t *at, uint32_t m, const struct tag_rule *t,
                        uint32_t me, bool write, bool met, bool apart)
{
    struct words x;
    uint32_t bad = 0, clash = 0;
    take_some(x.w, written, at, m);
    take_some(x.r, read, at, m);
    unsigned flags = judge_list(&x, m, t, me, write, met);
    if (write) {
        put_some(written, x.mine, at, m);
        if (!apart) take_some(x.w, written, at, m);
        for (uint32_t l = 0; !apart && l < SIMT_WARP; l++) bad |= (x.w[l] ^ x.mine[l]) & -(m >> l & 1);
        return flags | (bad ? CELLS_BAD : 0);
    }
    if (!(flags & CELLS_CHANGED)) return flags;
    put_some(read, x.r, at, m);
    if (!apart) take_some(x.r, read, at, m);
    for (uint32_t l = 0; !apart && l < SIMT_WARP; l++)
        clash |= (uint32_t)((x.r[l] ^ x.mine[l]) - 1 < SIMT_WARP - 1) & m >> l;
    if (clash & 1) join_readers(read, at, m, t, me);
    return flags;
}

/* One lane after the other, whose words say whom it shares them with: gathers of tags, and of those of them that lanes
 * share once more, and what scatters them take longer. No lanes of a warp met. */
static inline __attribute__((always_inline)) uint32_t write_by_lane(uint32_t *written, uint32_t r, uint32_t mine,
                                                                    const struct tag_rule *t)
{
    uint32_t w = *written;
    *written = mine;
    return __builtin_expect((w > r ? w : r) >= t->now, 0) && tag_write_bad(w, r, mine, t, false);
}

static inline __attribute__((always_inline)) uint32_t read_by_lane(uint32_t w, uint32_t *read, uint32_t mine,
                                                                   const struct tag_rule *t, uint32_t *changed)
{
    uint32_t old = *read, new = old >= t->now &&old != mine ? t->now | TAG_MANY : mine;
    *read = new;
    *changed |= old ^ new;
    return __builtin_expect(w - t->base >= t->now - t->base, 0) && tag_read_bad(w, mine, t, false);
}

TAG_LOOP write_by_lanes(uint32_t *written, const uint32_t *read, const uint32_t *at, uint32_t m,
                        const struct tag_rule *rule, uint32_t me)
{
    const struct tag_rule t = *rule;
    uint32_t bad = 0;
    if (m == FULL)
        for (uint32_t l = 0; l < SIMT_WARP; l++) bad |= write_by_lane(&written[at[l]], read[at[l]], me + l, &t);
    else
        EACH_LANE(l, m) bad |= write_by_lane(&written[at[l]], read[at[l]], me + l, &t);
    return (bad ? CELLS_BAD : 0) | CELLS_CHANGED;
}

TAG_LOOP read_by_lanes(const uint32_t *written, uint32_t *read, const uint32_t *at, uint32_t m,
                       const struct tag_rule *rule, uint32_t me)
{
    const struct tag_rule t = *rule;
    uint32_t bad = 0, changed = 0;
    if (m == FULL)
        for (uint32_t l = 0; l < SIMT_WARP; l++)
            bad |= read_by_lane(written[at[l]], &read[at[l]], me + l, &t, &changed);
    else
        EACH_LANE(l, m) bad |= read_by_lane(written[at[l]], &read[at[l]], me + l, &t, &changed);
    return (bad ? CELLS_BAD : 0) | (changed ? CELLS_CHANGED : 0);
}

/* Words of lanes m. `apart`: each lane touches another one. */
static inline __attribute__((always_inline)) unsigned judge_list_of(uint32_t *written, uint32_t *read,
                                                                    const uint32_t *at, uint32_t m,
                                                                    const struct tag_rule *t, uint32_t me, bool write,
                                                                    bool apart)
{
    if (t->warp != t->now) return words_of_lanes(written, read, at, m, t, me, write, true, apart);
    return write ? write_by_lanes(written, read, at, m, t, me) : read_by_lanes(written, read, at, m, t, me);
}

TAG_LOOP words_of_row(uint32_t *written, uint32_t *read, uint32_t m, unsigned shift, const struct tag_rule *t,
                      uint32_t me, bool write, bool met)
{
    struct words x;
    take_row(x.w, written, m, shift);
    take_row(x.r, read, m, shift);
    unsigned flags = judge_list(&x, m, t, me, write, met);
    if (write)
        put_row(written, x.mine, m, shift);
    else if (flags & CELLS_CHANGED)
        put_row(read, x.r, m, shift);
    return flags;
}

TAG_LOOP permuted(uint32_t *restrict written, uint32_t *restrict read, const uint32_t *lane,
                  const struct tag_rule *rule, uint32_t me, bool write, bool met)
{
    const struct tag_rule t = *rule;
    uint32_t bad = 0, changed = 0;
    for (unsigned k = 0; write && k < SIMT_WARP; k++) {
        bad |= tag_write_bad(written[k], read[k], me + lane[k], &t, met);
        written[k] = me + lane[k];
    }
    for (unsigned k = 0; !write && k < SIMT_WARP; k++) {
        uint32_t old = read[k], new = tag_reader(old, me + lane[k], &t, met);
        bad |= tag_read_bad(written[k], me + lane[k], &t, met);
        changed |= new ^ old;
        read[k] = new;
    }
    return (bad ? CELLS_BAD : 0) | (write || changed ? CELLS_CHANGED : 0);
}

static unsigned judge_apart(uint32_t *written, uint32_t *read, const uint32_t *at, uint32_t m, const struct tag_rule *t,
                            uint32_t me, bool write)
{
    return judge_list_of(written, read, at, m, t, me, write, true);
}

/* None of them is the only thread that touches a word: as if `me` came twice, each time as another lane. */
TAG_LOOP spots(const uint32_t *restrict written, uint32_t *restrict read, unsigned n, const struct tag_rule *rule,
               uint32_t me, bool met)
{
    const struct tag_rule t = *rule;
    uint32_t bad = 0, changed = 0, many = t.now | TAG_MANY, ours = t.warp | TAG_WARP | (me & 0x3e0);
    for (unsigned k = 0; k < n; k++) {
        uint32_t old = read[k], new = many;
        bad |= (uint32_t)(written[k] - t.base >= t.now - t.base) & (tag_before(written[k], me, &t, met) ^ 1);
        if (met) new = old < t.now || ((old ^ me) & TAG_OTHERS) == 0 ? ours : many;
        changed |= old ^ new;
        read[k] = new;
    }
    return (bad ? CELLS_BAD : 0) | (changed ? CELLS_CHANGED : 0);
}

#include "runtime/simt/vector_near.h"
#include "runtime/simt/vector_own.h"

/* The words of a row are known by its lanes. Vectors reach past its last one. */
#ifdef __AVX512F__
static inline __attribute__((always_inline)) unsigned judge_near_row(uint32_t *written, uint32_t *read, uint32_t m,
                                                                     const bool twice, const struct tag_rule *t,
                                                                     uint32_t me, bool write)
{
    const struct near_rule rule = near_rule_of(t);
    const uint32_t lanes = twice ? 8 : 16;
    const __m512i order = _mm512_loadu_si512(lanes_in_order), step = _mm512_set1_epi32((int)lanes);
    __m512i mine = _mm512_add_epi32(twice ? _mm512_srli_epi32(order, 1) : order, _mm512_set1_epi32((int)me));
    unsigned found = 0;
    for (uint32_t k = 0; k < SIMT_WARP / lanes; k++, written += 16, read += 16) {
        uint32_t here = twice ? _pdep_u32(m >> 8 * k & 0xff, 0x5555) : m >> 16 * k & 0xffff;
        if (here) found |= judge_16(written, read, (__mmask16)here, mine, &rule, write);
        mine = _mm512_add_epi32(mine, step);
    }
    return near_flags(found, write);
}
#elif defined(__AVX2__)
/* 8 words that were written and read last as these vectors say, where `here` is set; which get what they say from now
 * on. What is bad, and what has changed, comes to two vectors. */
static inline __attribute__((always_inline)) void judge_tags_8(__m256i *w, __m256i *r, __m256i here, __m256i mine,
                                                               const struct tag_rule *t, bool write, __m256i found[2])
{
    const __m256i now = _mm256_set1_epi32((int)t->now), base = _mm256_set1_epi32((int)t->base);
    const __m256i since = _mm256_sub_epi32(now, base), many = _mm256_set1_epi32((int)(t->now | TAG_MANY));
    const __m256i read = _mm256_andnot_si256(_mm256_cmpeq_epi32(*r, mine), at_least(*r, now));
    __m256i late = write ? at_least(*w, now) : at_least(_mm256_sub_epi32(*w, base), since), was = *r;
    late = _mm256_andnot_si256(_mm256_cmpeq_epi32(*w, mine), late);
    if (write) late = _mm256_or_si256(late, read);
    found[0] = _mm256_or_si256(found[0], _mm256_and_si256(late, here));
    if (write) {
        *w = _mm256_blendv_epi8(*w, mine, here);
        return;
    }
    *r = _mm256_blendv_epi8(*r, _mm256_blendv_epi8(mine, many, read), here);
    found[1] = _mm256_or_si256(found[1], _mm256_xor_si256(*r, was));
}

static inline __attribute__((always_inline)) unsigned judge_near_row(uint32_t *written, uint32_t *read, uint32_t m,
                                                                     const bool twice, const struct tag_rule *t,
                                                                     uint32_t me, bool write)
{
    const uint32_t lanes = twice ? 4 : 8;
    const __m256i order = load_8(lanes_in_order), step = _mm256_set1_epi32((int)lanes);
    __m256i mine = _mm256_add_epi32(twice ? _mm256_srli_epi32(order, 1) : order, _mm256_set1_epi32((int)me));
    __m256i found[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    for (uint32_t k = 0; k < SIMT_WARP; k += lanes, written += 8, read += 8) {
        const uint32_t there = m >> k & ((1u << lanes) - 1);
        __m256i here = bits_of_8(there);
        if (twice) here = _mm256_unpacklo_epi32(_mm256_permute4x64_epi64(here, 0x10), _mm256_setzero_si256());
        if (there) { /* else it may lie behind the end */
            __m256i w = load_8(written), r = load_8(read);
            judge_tags_8(&w, &r, here, mine, t, write, found);
            _mm256_storeu_si256((__m256i *)(void *)(write ? written : read), write ? w : r);
        }
        mine = _mm256_add_epi32(mine, step);
    }
    return (_mm256_testz_si256(found[0], found[0]) ? 0 : CELLS_BAD) |
           (write || !_mm256_testz_si256(found[1], found[1]) ? CELLS_CHANGED : 0);
}
#endif

static unsigned judge_row(uint32_t *written, uint32_t *read, uint32_t m, unsigned shift, const struct tag_rule *t,
                          uint32_t me, bool write)
{
    bool met = t->warp != t->now;
#ifdef __AVX2__
    if (!met && shift)
        return write ? judge_near_row(written, read, m, true, t, me, true)
                     : judge_near_row(written, read, m, true, t, me, false);
    if (!met)
        return write ? judge_near_row(written, read, m, false, t, me, true)
                     : judge_near_row(written, read, m, false, t, me, false);
#endif
    if (shift)
        return met     ? words_of_row(written, read, m, 1, t, me, write, true)
               : write ? words_of_row(written, read, m, 1, t, me, true, false)
                       : words_of_row(written, read, m, 1, t, me, false, false);
    return met     ? words_of_row(written, read, m, 0, t, me, write, true)
           : write ? words_of_row(written, read, m, 0, t, me, true, false)
                   : words_of_row(written, read, m, 0, t, me, false, false);
}

static unsigned judge_some_lanes(uint32_t *written, uint32_t *read, const uint32_t *at, uint32_t m,
                                 const struct tag_rule *t, uint32_t me, bool write)
{
    return judge_list_of(written, read, at, m, t, me, write, false);
}

static unsigned judge_lanes(uint32_t *written, uint32_t *read, const uint32_t *at, uint32_t m, const struct tag_rule *t,
                            uint32_t me, bool write)
{
    uint32_t lane[SIMT_WARP], low = at[0] / SIMT_WARP * SIMT_WARP;
    if (m != FULL) return judge_some_lanes(written, read, at, m, t, me, write);
    if (find_lanes(at, lane)) {
        written += low, read += low;
        if (t->warp == t->now) return permuted(written, read, lane, t, me, write, false);
        return write ? permuted(written, read, lane, t, me, true, true)
                     : permuted(written, read, lane, t, me, false, true);
    }
    return judge_some_lanes(written, read, at, FULL, t, me, write);
}

/* ---- a warp's words ---- */
typedef uint32_t half_warp __attribute__((vector_size(64), aligned(4), may_alias));

/* Is any bit set? A loop that gathers them costs as much as all that is asked. */
static inline bool any_of(const half_warp *v)
{
#ifdef __AVX512F__
    return _mm512_test_epi32_mask((__m512i)*v, (__m512i)*v);
#elif defined(__AVX2__)
    __m256i parts[2];
    memcpy(parts, v, sizeof parts);
    parts[0] = _mm256_or_si256(parts[0], parts[1]);
    return !_mm256_testz_si256(parts[0], parts[0]);
#else
    uint64_t parts[8], all = 0;
    memcpy(parts, v, sizeof parts);
    for (int k = 0; k < 8; k++) all |= parts[k];
    return all;
#endif
}

static bool take_warp(uint32_t *written, uint32_t *read, unsigned flip, const struct tag_rule *t, uint32_t me,
                      bool write)
{
    const uint32_t base = write ? 0 : t->base;
    const half_warp *w = (const half_warp *)written, *r = (const half_warp *)read,
                    *order = (const half_warp *)lanes_in_order;
    half_warp *to = (half_warp *)(write ? written : read), bad = {0};
    for (int h = 0; h < 2; h++) { /* of another warp, or since this one's lanes met */
        bad |= (((w[h] ^ me) & TAG_OTHERS) | (half_warp)(w[h] >= t->warp)) & (half_warp)(w[h] >= t->now);
        bad |= (((r[h] ^ me) & TAG_OTHERS) | (half_warp)(r[h] >= t->warp)) & (half_warp)(r[h] >= t->now);
        bad |= (half_warp)(w[h] < base);
    }
    if (any_of(&bad)) return false;
    for (int h = 0; h < 2; h++) to[h] = me + (order[h] ^ flip);
    return true;
}

static unsigned find_butterfly(const uint32_t *a, uint32_t *low)
{
    uint32_t flip = (a[0] - a[31] + 31 * 4) / 8;
    const half_warp *at = (const half_warp *)a, *order = (const half_warp *)lanes_in_order;
    *low = a[0] - flip * 4;
    if (flip >= SIMT_WARP || a[1] != (1 ^ flip) * 4 + *low || a[16] != (16 ^ flip) * 4 + *low) return SIMT_WARP;
    half_warp differ = (((order[0] ^ flip) * 4 + *low) ^ at[0]) | (((order[1] ^ flip) * 4 + *low) ^ at[1]);
    return any_of(&differ) ? SIMT_WARP : flip;
}

static unsigned judge_words(uint32_t *written, uint32_t *read, const uint32_t from[2], uint32_t step,
                            const struct tag_rule *t, uint32_t me, bool write)
{
    uint32_t at[SIMT_WARP];
    if (step == 2 && from[1] - from[0] == 32)
        return judge_row(written + from[0], read + from[0], FULL, 1, t, me, write);
    for (uint32_t l = 0; l < 16; l++) at[l] = from[0] + step * l, at[16 + l] = from[1] + step * l;
    return judge_list_of(written, read, at, FULL, t, me, write, true);
}

static unsigned read_by_many(const uint32_t *written, uint32_t *read, unsigned n, const struct tag_rule *t, uint32_t me)
{
    return t->warp != t->now ? spots(written, read, n, t, me, true) : spots(written, read, n, t, me, false);
}

static bool are_atoms(const uint32_t *written, const uint32_t *read, const uint32_t *from, int64_t on, uint64_t room,
                      uint32_t atoms, uint32_t past)
{
    uint64_t bad = 0;
    uint32_t at[SIMT_WARP], other = 0;
    for (int l = 0; l < SIMT_WARP; l++) {
        uint64_t d = from[l] + (uint64_t)on;
        bad |= (uint64_t)(d > room) | (d & 3);
        at[l] = (uint32_t)d / 4;
    }
    if (bad) return false;
    for (int l = 0; l < SIMT_WARP; l++) other |= (written[at[l]] ^ atoms) | (uint32_t)(read[at[l]] > past);
    return !other;
}

static bool count_again(uint32_t *last, uint32_t cells, const uint64_t *a, uint64_t low, uint32_t known, uint32_t mine)
{
    uint64_t bytes = 4 * (uint64_t)cells, bad = 0;
    uint32_t at[SIMT_WARP], new = 0;
    for (int l = 0; l < SIMT_WARP; l++) {
        uint64_t d = a[l] - low;
        bad |= (uint64_t)(d >= bytes) | (d & 3);
        at[l] = (uint32_t)d / 4;
    }
    if (bad) return false;
    for (int l = 0; l < SIMT_WARP; l++) new |= (uint32_t)(last[at[l]] < known);
    if (new) return false;
    for (uint32_t l = 0; l < SIMT_WARP; l++) last[at[l]] = mine + l;
    return true;
}

#include "runtime/simt/vector_groups.h"
#include "runtime/simt/vector_lines.h"

const struct check_vectors CHECK_VECTORS = {
    judge_cells, judge_tags,  judge_words,  judge_lanes,  judge_apart, judge_near, read_again,
    judge_row,   find_parts,  follow_steps, find_stride,  find_halves, find_cells, mark_cells,
    are_rising,  take_warp,   are_atoms,    read_by_many, rows32,      rows64,     find_butterfly,
    find_words,  count_again, touch_own,    touch_groups, within_room, meet_some,  find_equal,
    find_alike,  raise_times, find_times,   find_within,  touch_met,   find_whole};
