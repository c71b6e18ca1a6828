/* What an access of up to 32 lanes means for the shadow of what they touch (check_race.c, check_shared.c): compiled for
 * each instruction set by the file that includes this, which sets CHECK_VECTORS to the table's name. */
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

static unsigned write_tags(uint32_t *restrict written, const uint32_t *restrict read, unsigned n, unsigned shift,
                           const struct tag_rule *rule, uint32_t me)
{
    const struct tag_rule t = *rule;
    uint32_t bad = 0;
    for (unsigned k = 0; k < n; k++) {
        uint32_t mine = me + (k >> shift);
        bad |= tag_write_bad(written[k], read[k], mine, &t);
        written[k] = mine;
    }
    return (bad ? CELLS_BAD : 0) | CELLS_CHANGED;
}

static unsigned read_tags(const uint32_t *restrict written, uint32_t *restrict read, unsigned n, unsigned shift,
                          const struct tag_rule *rule, uint32_t me)
{
    const struct tag_rule t = *rule;
    uint32_t bad = 0, changed = 0;
    for (unsigned k = 0; k < n; k++) {
        uint32_t mine = me + (k >> shift), old = read[k], new = tag_reader(old, mine, &t);
        bad |= tag_read_bad(written[k], mine, &t);
        changed |= new ^ old;
        read[k] = new;
    }
    return (bad ? CELLS_BAD : 0) | (changed ? CELLS_CHANGED : 0);
}

static unsigned judge_tags(uint32_t *written, uint32_t *read, unsigned n, unsigned shift, const struct tag_rule *t,
                           uint32_t me, bool write)
{
    return write ? write_tags(written, read, n, shift, t, me) : read_tags(written, read, n, shift, t, me);
}

/* One word for each lane. */
static unsigned judge_words(uint32_t *restrict written, uint32_t *restrict read, const uint32_t from[2], uint32_t step,
                            const struct tag_rule *rule, uint32_t me, bool write)
{
    const struct tag_rule t = *rule;
    uint32_t w[SIMT_WARP], r[SIMT_WARP], at[SIMT_WARP], bad = 0, changed = 0;
    for (uint32_t l = 0; l < 16; l++) at[l] = from[0] + step * l, at[16 + l] = from[1] + step * l;
    for (uint32_t l = 0; l < SIMT_WARP; l++) w[l] = written[at[l]], r[l] = read[at[l]];
    if (write) {
        for (uint32_t l = 0; l < SIMT_WARP; l++) bad |= tag_write_bad(w[l], r[l], me + l, &t);
        for (uint32_t l = 0; l < SIMT_WARP; l++) written[at[l]] = me + l;
        return (bad ? CELLS_BAD : 0) | CELLS_CHANGED;
    }
    for (uint32_t l = 0; l < SIMT_WARP; l++) {
        uint32_t new = tag_reader(r[l], me + l, &t);
        bad |= tag_read_bad(w[l], me + l, &t);
        changed |= new ^ r[l];
        r[l] = new;
    }
    if (changed)
        for (uint32_t l = 0; l < SIMT_WARP; l++) read[at[l]] = r[l];
    return (bad ? CELLS_BAD : 0) | (changed ? CELLS_CHANGED : 0);
}

static unsigned read_by_many(const uint32_t *restrict written, uint32_t *restrict read, unsigned n,
                             const struct tag_rule *rule)
{
    const struct tag_rule t = *rule;
    uint32_t bad = 0, changed = 0, many = t.now | TAG_MANY;
    for (unsigned k = 0; k < n; k++) {
        bad |= (uint32_t)(written[k] - t.base >= t.now - t.base);
        changed |= read[k] ^ many;
        read[k] = many;
    }
    return (bad ? CELLS_BAD : 0) | (changed ? CELLS_CHANGED : 0);
}

#define ROWS(name, type)                                                                                               \
    static unsigned name(const type *a, uint32_t bytes)                                                                \
    {                                                                                                                  \
        unsigned kinds = 0;                                                                                            \
        for (int h = 0; h < SIMT_WARP; h += 16) {                                                                      \
            type differ = 0, skew = 0;                                                                                 \
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

static bool within_room(const uint64_t *a, uint64_t low, uint64_t room, uint64_t odd)
{
    uint64_t bad = 0;
    for (int l = 0; l < SIMT_WARP; l++) bad |= (uint64_t)(a[l] - low > room) | (a[l] & odd);
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

const struct check_vectors CHECK_VECTORS = {judge_cells, judge_tags, judge_words, are_atoms,  read_by_many,
                                            rows32,      rows64,     count_again, within_room};
