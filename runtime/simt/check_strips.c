/* Lines of global memory that few instructions touch. Warps touch rows: words side by side, whose threads follow each
 * other, or one word that several lanes read. A strip is the record of such a row, or of rows that go together, within
 * a line: which words, and who touched word k. As long as a line's accesses fit into its strips, they stand for its
 * cells: a word's last write and its two readers are the strips that have it, the first reader before the second. */
#include <string.h>
#include "runtime/simt/check_lines.h"

/* The record of a word that the strip has. */
static inline record at_word(const struct strips *d, int k, unsigned word)
{
    return d->who[k] + ((record)lanes_on(word, d->shift[k]) << THREAD_AT);
}

static inline record my_word(const struct stretch *s, unsigned word)
{
    return s->me + ((record)lanes_on(word, s->shift) << THREAD_AT);
}

/* May a thread of the strip be that of the stretch in some of the words, but not in others? */
static inline bool is_mixed(const struct strips *d, int k, const struct stretch *s, unsigned word, uint32_t words)
{
    bool several = d->shift[k] >= SHIFT_HALVES || s->shift >= SHIFT_HALVES;
    if (d->shift[k] == s->shift || (!several && !(words & (words - 1)))) return false;
    return ((at_word(d, k, word) ^ my_word(s, word)) & WARP_MASK) == 0;
}

/* The strip for a stretch that is added where `left` says which words strips have; -1: there is none. Strips behind
 * others are younger. */
static int place_for(const struct strips *d, const uint16_t *left, const struct stretch *s, bool write)
{
    int last = -1, free = -1;
    for (int k = 0; k < STRIPS; k++) {
        if (!left[k]) {
            if (free < last || free < 0) free = k;
            continue;
        }
        last = k;
        bool like = d->who[k] == s->me && d->shift[k] == s->shift && (d->stores >> k & 1) == write;
        unsigned one = (unsigned)__builtin_ctz(left[k]), other = (unsigned)__builtin_ctz(s->words);
        if (like && ((at_word(d, k, one) ^ my_word(s, other)) & WARP_MASK) == 0) return k;
    }
    return free;
}

static bool add(struct strips *d, const uint16_t *left, const struct stretch *s, uint32_t words, bool write)
{
    struct stretch added = {s->me, words, s->shift};
    int at = place_for(d, left, &added, write);
    if (at < 0) return false;
    for (int k = 0; k < STRIPS; k++) d->words[k] = left[k];
    d->words[at] |= (uint16_t)words;
    d->shift[at] = (uint8_t)s->shift;
    d->who[at] = s->me;
    d->stores = (uint8_t)((d->stores & ~(1u << at)) | (unsigned)write << at);
    return true;
}

static bool write_words(struct line *l, struct strips *d, const struct stretch *s, const struct now *t)
{
    uint16_t left[STRIPS];
    for (int k = 0; k < STRIPS; k++) {
        uint32_t common = d->words[k] & s->words;
        left[k] = (uint16_t)(d->words[k] & ~s->words);
        if (!common) continue;
        unsigned word = (unsigned)__builtin_ctz(common);
        if (is_mixed(d, k, s, word, common) || !is_passed(at_word(d, k, word), my_word(s, word), t)) return false;
    }
    if (!add(d, left, s, s->words, true)) return false;
    l->settled &= (uint16_t)~s->words;
    return true;
}

struct touchers { /* of words: the strips of the last write and the readers; -1: none */
    int write, first, second;
};

/* Of *words, those that the same strips have as the first. */
static struct touchers alike(const struct strips *d, uint32_t *words)
{
    struct touchers x = {-1, -1, -1};
    unsigned word = (unsigned)__builtin_ctz(*words);
    for (int k = 0; k < STRIPS; k++) {
        if (!(d->words[k] >> word & 1)) {
            *words &= ~(uint32_t)d->words[k];
            continue;
        }
        *words &= d->words[k];
        if (d->stores >> k & 1)
            x.write = k;
        else if (x.first < 0)
            x.first = k;
        else
            x.second = k;
    }
    return x;
}

/* Words that one set of strips has. */
static bool read_alike(const struct strips *d, const struct touchers *x, const struct stretch *s, uint32_t words,
                       const struct now *t, uint16_t *left, uint32_t *added, uint32_t *settled)
{
    unsigned word = (unsigned)__builtin_ctz(words);
    const int strips[RECORDS] = {x->write, x->first, x->second};
    record was[RECORDS] = {0};
    struct cells c;
    for (int k = 0; k < RECORDS; k++) {
        if (strips[k] < 0) continue;
        if (is_mixed(d, strips[k], s, word, words)) return false;
        was[k] = at_word(d, strips[k], word);
    }
    c.me[0] = my_word(s, word);
    record *cells[RECORDS] = {c.w, c.a, c.b};
    for (int k = 0; k < RECORDS; k++) *cells[k] = is_seen(was[k], t) ? 0 : was[k];
    uint64_t flags = judge_read(&c, 0, t, false);
    if (flags & CELLS_BAD) return false;
    if (flags & CELLS_CHANGED) {
        if (was[1] && c.a[0] != was[1]) left[x->first] &= (uint16_t)~words;
        if (was[2] && c.b[0] != was[2]) left[x->second] &= (uint16_t)~words;
        *added |= words;
    }
    if ((!t->exact || t->by_warps) && !was[0] && c.a[0] && c.b[0] && (c.a[0] ^ c.b[0]) >= BLOCK_SPAN) *settled |= words;
    return true;
}

/* A read where only the block at hand has read since its threads met: a word's second reader is added, a third is not.
 * False: there are others, too. */
static bool read_among(struct strips *d, const struct stretch *s, const struct now *t, uint32_t *added)
{
    uint32_t once = 0, done = 0, stores = d->stores;
    if (t->seen > t->before || t->parting) return false;
    for (int k = 0; k < STRIPS; k++) {
        uint32_t common = d->words[k] & s->words;
        if (!common) continue;
        record theirs = at_word(d, k, (unsigned)__builtin_ctz(common)),
               mine = my_word(s, (unsigned)__builtin_ctz(common));
        if (stores >> k & 1 || theirs - t->id - t->recent >= BLOCK_SPAN - t->recent) return false;
        bool same = ((theirs ^ mine) & WHO_MASK) == 0, alike = d->shift[k] == s->shift;
        if (!alike && ((theirs ^ mine) & WARP_MASK) == 0) return false;
        done |= same ? common : once & common;
        once |= common;
    }
    *added = s->words & ~done;
    return true;
}

static bool read_words(struct line *l, struct strips *d, const struct stretch *s, const struct now *t)
{
    uint16_t left[STRIPS];
    uint32_t added = 0, settled = 0;
    for (int k = 0; k < STRIPS; k++) left[k] = d->words[k];
    if (read_among(d, s, t, &added)) return !added || add(d, left, s, added, false);
    for (uint32_t rest = s->words, words; rest; rest &= ~words) {
        words = rest;
        struct touchers x = alike(d, &words);
        if (!read_alike(d, &x, s, words, t, left, &added, &settled)) return false;
    }
    if (added && !add(d, left, s, added, false)) return false;
    l->settled |= (uint16_t)settled;
    return true;
}

/* Nobody but these threads touched the line, and they did the same words. */
static bool touch_own(struct strips *d, const struct stretch *s, const struct now *t, bool write)
{
    uint64_t words;
    _Static_assert(sizeof words == sizeof d->words, "all strips at once");
    memcpy(&words, d->words, sizeof words);
    if (words != s->words || d->shift[0] != s->shift || (d->who[0] ^ s->me) & WHO_MASK) return false;
    if (!write && d->stores) return false;
    if (write || (at_word(d, 0, (unsigned)__builtin_ctz(s->words)) & WITHIN) < t->seen) d->who[0] = s->me;
    d->stores = write;
    return true;
}

void simt_strips_begin(struct line *l)
{
    struct strips *d = strips_of(l);
    memset(d->words, 0, sizeof d->words);
    d->words[0] = ALL_WORDS;
    d->shift[0] = l->kind & LINE_SHIFT;
    d->stores = (l->kind & LINE_WRITTEN) != 0;
    d->who[0] = l->who;
    l->kind = LINE_STRIPS;
}

bool simt_strips_touch(struct line *l, const struct stretch *s, const struct now *t, bool write)
{
    struct strips *d = strips_of(l);
    if (l->kind & LINE_WHOLE) simt_strips_begin(l);
    if (l->kind != LINE_STRIPS) return false;
    return touch_own(d, s, t, write) || (write ? write_words(l, d, s, t) : read_words(l, d, s, t));
}

bool simt_strips_part(const struct line *l, unsigned word, record me, const struct now *t, bool write)
{
    const struct strips *d = strips_of(l);
    if (l->kind == LINE_HALF) return true;
    if (l->kind & LINE_WHOLE) {
        record r = l->who + ((record)lanes_on(word, l->kind & LINE_SHIFT) << THREAD_AT);
        return (write || l->kind & LINE_WRITTEN) && !is_passed(r, me, t);
    }
    for (int k = 0; l->kind == LINE_STRIPS && k < STRIPS; k++) {
        bool counts = d->words[k] >> word & 1 && (write || d->stores >> k & 1);
        if (counts && !is_passed(at_word(d, k, word), me, t)) return true;
    }
    return false;
}

unsigned simt_strips_log(const struct strips *d, unsigned log)
{
    for (int k = 0; k < STRIPS; k++) {
        if (!d->words[k] || d->shift[k] < SHIFT_HALVES) continue;
        unsigned most = d->shift[k] == SHIFT_HALVES;
        if (most < log) log = most;
    }
    return log;
}

void simt_strips_spread(const struct strips *d, unsigned log, record *cells)
{
    unsigned n = LINE >> log, parts = 4u >> log;
    memset(cells, 0, RECORDS * n * sizeof *cells);
    for (int k = 0; k < STRIPS; k++) {
        EACH_LANE(word, d->words[k])
        {
            record r = at_word(d, k, word), *to = cells + word * parts;
            if (!(d->stores >> k & 1)) to += to[n] ? 2 * n : n;
            bool several = d->shift[k] >= SHIFT_HALVES, pairs = d->shift[k] == SHIFT_HALVES && !log;
            for (unsigned j = 0; j < parts; j++) to[j] = several ? r + ((record)(j >> pairs) << THREAD_AT) : r;
        }
    }
}
