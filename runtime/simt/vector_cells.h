/* What an access of up to 32 lanes means for the shadow of what they touch (check_race.c, check_shared.c): compiled for
 * each instruction set by the file that includes this, which sets CHECK_VECTORS to the table's name. */
#ifdef __AVX2__
#include <immintrin.h>
#endif
#include <string.h>
#include "runtime/simt/check_cells.h"

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

/* Words that several lanes read, each of which took it for its own, become those of several. */
static void join_readers(uint32_t *read, const uint32_t *at, uint32_t m, const struct tag_rule *t, uint32_t me)
{
    uint32_t several = t->warp != t->now ? t->warp | TAG_WARP | (me & 0x3e0) : t->now | TAG_MANY;
    EACH_LANE(l, m)
    if ((read[at[l]] ^ (me + l)) - 1 < SIMT_WARP - 1) read[at[l]] = several;
}

/* Words of lanes m. `apart`: each lane touches another one. */
TAG_LOOP words_of_lanes(uint32_t *written, uint32_t *read, const uint32_t *at, uint32_t m, const struct tag_rule *rule,
                        uint32_t me, bool write, bool met, bool apart)
{
    const struct tag_rule t = *rule;
    uint32_t w[SIMT_WARP], r[SIMT_WARP], mine[SIMT_WARP], bad = 0, changed = 0, clash = 0;
    take_some(w, written, at, m);
    take_some(r, read, at, m);
    for (uint32_t l = 0; l < SIMT_WARP; l++) {
        uint32_t old = r[l], there = m >> l & 1;
        mine[l] = me + l;
        if (write) {
            bad |= tag_write_bad(w[l], old, mine[l], &t, met) & there;
        } else {
            r[l] = tag_reader(old, mine[l], &t, met);
            bad |= tag_read_bad(w[l], mine[l], &t, met) & there;
            changed |= (r[l] ^ old) & -there;
        }
    }
    if (write) {
        put_some(written, mine, at, m);
        if (!apart) take_some(w, written, at, m);
        for (uint32_t l = 0; !apart && l < SIMT_WARP; l++) bad |= (w[l] ^ mine[l]) & -(m >> l & 1);
        return (bad ? CELLS_BAD : 0) | CELLS_CHANGED;
    }
    if (changed) put_some(read, r, at, m);
    if (!apart) take_some(r, read, at, m);
    for (uint32_t l = 0; !apart && l < SIMT_WARP; l++)
        clash |= (uint32_t)((r[l] ^ mine[l]) - 1 < SIMT_WARP - 1) & m >> l;
    if (clash & 1) join_readers(read, at, m, &t, me);
    return (bad ? CELLS_BAD : 0) | (changed ? CELLS_CHANGED : 0);
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

static unsigned judge_some_lanes(uint32_t *written, uint32_t *read, const uint32_t *at, uint32_t m,
                                 const struct tag_rule *t, uint32_t me, bool write)
{
    if (t->warp != t->now) return words_of_lanes(written, read, at, m, t, me, write, true, false);
    return write ? words_of_lanes(written, read, at, m, t, me, true, false, false)
                 : words_of_lanes(written, read, at, m, t, me, false, false, false);
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

static const uint32_t lanes_in_order[SIMT_WARP] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                                   16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};

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
    half_warp differ = (((order[0] ^ flip) * 4 + *low) ^ at[0]) | (((order[1] ^ flip) * 4 + *low) ^ at[1]);
    return any_of(&differ) ? SIMT_WARP : flip;
}

static unsigned judge_words(uint32_t *written, uint32_t *read, const uint32_t from[2], uint32_t step,
                            const struct tag_rule *t, uint32_t me, bool write)
{
    uint32_t at[SIMT_WARP];
    for (uint32_t l = 0; l < 16; l++) at[l] = from[0] + step * l, at[16 + l] = from[1] + step * l;
    if (t->warp != t->now) return words_of_lanes(written, read, at, FULL, t, me, write, true, true);
    return write ? words_of_lanes(written, read, at, FULL, t, me, true, false, true)
                 : words_of_lanes(written, read, at, FULL, t, me, false, false, true);
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

static unsigned read_by_many(const uint32_t *written, uint32_t *read, unsigned n, const struct tag_rule *t, uint32_t me)
{
    return t->warp != t->now ? spots(written, read, n, t, me, true) : spots(written, read, n, t, me, false);
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

static bool within_room(const uint64_t *a, uint32_t m, uint64_t low, uint64_t room, uint64_t odd)
{
    uint64_t bad = 0;
    if (m == FULL)
        for (int l = 0; l < SIMT_WARP; l++) bad |= (uint64_t)(a[l] - low > room) | (a[l] & odd);
    else
        for (int l = 0; l < SIMT_WARP; l++)
            bad |= ((uint64_t)(a[l] - low > room) | (a[l] & odd)) & -(uint64_t)(m >> l & 1);
    return !bad;
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

static bool find_words(uint32_t *at, const uint32_t *from, uint32_t m, uint32_t on, uint32_t room, uint32_t odd)
{
    uint32_t bad = 0;
    for (int l = 0; l < SIMT_WARP; l++) {
        uint32_t d = from[l] + on;
        bad |= ((uint32_t)(d > room) | (d & odd)) & -(m >> l & 1);
        at[l] = d / 4;
    }
    return !bad;
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

const struct check_vectors CHECK_VECTORS = {judge_cells, judge_tags,   judge_words, judge_lanes, take_warp,
                                            are_atoms,   read_by_many, rows32,      rows64,      find_butterfly,
                                            find_words,  count_again,  within_room};
