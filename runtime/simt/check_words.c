/* Words of global memory that lanes touch which are no neighbours. */
#include <string.h>
#include "runtime/simt/check_lines.h"

/* A word of a line that cells stand for. False: look closer. Records that are none for sure are not even looked at, as
 * cells are seldom in the cache. */
static inline bool touch_word(struct strips *l, unsigned word, record me, const struct now *t, bool write)
{
    record *w = l->cells.writes + word, *a = w + LINE / 4, *b = a + LINE / 4;
    uint16_t bit = (uint16_t)(1u << word);
    unsigned there = l->words[0] | l->words[1] | l->words[2];
    if (!(there & bit)) {
        *(write ? w : a) = me;
        l->words[!write] |= bit;
        return true;
    }
    struct cells c;
    c.w[0] = *w, c.a[0] = *a, c.b[0] = *b, c.me[0] = me;
    uint64_t flags = write ? judge_write(&c, 0, t, false) : judge_read(&c, 0, t, false);
    if (flags & CELLS_BAD) return false;
    *w = c.w[0], *a = c.a[0], *b = c.b[0];
    return true;
}

/* Which of the launch's moments the access has; MOMENTS: there are too many. */
static uint32_t moment_of(const struct access *a)
{
    struct simt_check *c = a->check;
    struct block *b = a->block;
    record r = a->me & WITHIN & ~((((record)1 << THREAD_BITS) - 1) << THREAD_AT);
    if (r == b->moment) return b->moment_index;
    pthread_mutex_lock(&c->lock);
    uint32_t k = 0, count = atomic_load_explicit(&c->moment_count, memory_order_relaxed);
    while (k < count && c->moments[k] != r) k++;
    if (k == count && count < MOMENTS) {
        c->moments[k] = r;
        atomic_store_explicit(&c->moment_count, count + 1, memory_order_release);
    }
    pthread_mutex_unlock(&c->lock);
    if (k == MOMENTS) return MOMENTS;
    b->moment = r;
    return b->moment_index = k;
}

/* A word with one record, which gives way to what is ordered behind it; but a write stays beside a reader. False: one
 * record can't say it, or something is wrong. */
static inline bool touch_single(const struct simt_check *c, short_record *word, record me, uint32_t moment,
                                const struct now *t, bool write)
{
    record was = lengthened(c, *word);
    if (!cell_gone(was, me, t, false) || (!write && is_write(c, was))) return false;
    if (write || (was ^ me) & WHO_MASK || (was & WITHIN) < t->seen) *word = shortened(me, moment);
    return true;
}

/* A line of which many lanes touch words of their own. False: as above. */
static inline bool touch_singles(const struct access *a, struct line *l, const struct stretch *s, const struct now *t,
                                 uint32_t moment)
{
    bool write = a->kind == ACCESS_WRITE, fresh = l->launch != a->check->number;
    if (moment == MOMENTS || (!fresh && l->kind != LINE_WORDS)) return false;
    short_record *words = words_of(l);
    if (!words) words = simt_shadow_words(l);
    if (!made(a, words != NULL)) return true;
    if (fresh) {
        l->who = 0;
        set_line(a->check, l, LINE_WORDS);
    }
    EACH_LANE(word, s->words & (uint32_t)l->who)
    if (!touch_single(a->check, &words[word], s->me, moment, t, write)) return false;
    EACH_LANE(word, s->words & ~(uint32_t)l->who) words[word] = shortened(s->me, moment);
    l->who |= s->words;
    return true;
}

static inline bool touch_words(const struct access *a, struct line *l, const struct stretch *s, const struct now *t,
                               uint32_t moment)
{
    bool write = a->kind == ACCESS_WRITE, ok = true;
    if (touch_singles(a, l, s, t, moment)) return true;
    if ((l->launch != a->check->number || l->kind != LINE_CELLS) && touch_strips(a->check, l, s, t, write)) return true;
    struct strips *d = strips_of(l);
    if (!made(a, simt_shadow_line(a->check, l, 2)) || d->cells.log != 2) return false;
    EACH_LANE(word, s->words) ok = ok && touch_word(d, word, s->me, t, write);
    return ok;
}

/* ---- many words ---- */
/* Records of this launch's words, of one chunk, where lanes touch words of 4 bytes. */
struct words {
    uint64_t start; /* of the chunk */
    struct line *lines;
    short_record *records;
    uint64_t fresh; /* the head of a line with LINE_WORDS and no lock */
};

/* False: the lanes go to other chunks, too, or nobody has touched words in this one. */
static bool find_words(const struct access *a, struct words *w)
{
    uint64_t chunk = (a->at[0] - SIMT_GLOBAL_BASE) >> SHADOW_CHUNK, apart = 0;
    w->start = SIMT_GLOBAL_BASE + (chunk << SHADOW_CHUNK);
    for (unsigned l = 0; l < SIMT_WARP; l++) apart |= (a->at[l] - w->start) >> SHADOW_CHUNK;
    if (apart || a->bytes != 4) return false;
    w->lines = global_line(a, w->start);
    w->records = w->lines ? words_of(w->lines) : NULL;
    return w->records != NULL;
}

/* Into the cache, all that the lanes will want. */
static void fetch_words(const struct access *a, const struct words *w, const char *host)
{
    for (unsigned l = 0; l < SIMT_WARP; l++) {
        uint64_t at = a->at[l] - w->start;
        __builtin_prefetch(&w->lines[at / LINE], 1);
        __builtin_prefetch(&w->records[at / 4], 1);
        if (host) __builtin_prefetch(host + at, 1);
    }
}

/* All lanes touch words that nobody has touched, in lines of such words. The lanes for which that is not so. */
static uint32_t touch_new_words(const struct access *a, uint32_t moment)
{
    const struct simt_check *c = a->check;
    const uint32_t head[2] = {c->number, (uint32_t)LINE_WORDS << 16};
    bool write = a->kind == ACCESS_WRITE, parallel = c->parallel, plain = a->insn->count == 1 && !is_opaque(a);
    struct words w;
    uint32_t left = 0;
    if (moment == MOMENTS || (write && (!plain || a->insn->size != 4 || a->insn->flags & F_WIDE)) || !find_words(a, &w))
        return FULL;
    char *host = write ? simt_host(w.start) : NULL;
    const char *from = a->regs + a->insn->d;
    short_record me = shortened(a->me, moment);
    fetch_words(a, &w, host);
    for (unsigned l = 0; l < SIMT_WARP; l++) {
        uint64_t at = a->at[l] - w.start;
        struct line *line = &w.lines[at / LINE];
        uint32_t word = at % LINE / 4;
        lock_line(c, line);
        bool fine = line->launch == head[0] && line->kind == LINE_WORDS && !(line->who >> word & 1);
        if (fine) {
            line->who |= (record)1 << word;
            w.records[at / 4] = me + (l << MOMENT_BITS);
            if (parallel && write) memcpy(host + at, from + (size_t)4 * l, 4);
        }
        unlock_line(c, line);
        left |= (uint32_t)!fine << l;
    }
    return left;
}

/* Into the cache, all that a lane will want. */
static inline void fetch_word(const struct access *a, uint64_t at)
{
    struct line *l = global_line(a, at);
    if (!l) return;
    const short_record *words = words_of(l);
    __builtin_prefetch(l, 1);
    if (words) __builtin_prefetch(words + at % LINE / 4, 1);
    if (a->kind == ACCESS_WRITE) __builtin_prefetch(simt_host(at), 1);
}

void simt_race_words(const struct access *a, uint32_t m)
{
    struct now t = now_of(a, false);
    bool write = a->kind == ACCESS_WRITE;
    uint32_t moment = lane_count(m) > FEW ? moment_of(a) : MOMENTS;
    if (m == FULL) m = touch_new_words(a, moment);
    EACH_LANE(lane, m) fetch_word(a, a->at[lane]);
    EACH_LANE(lane, m)
    {
        uint64_t at = a->at[lane];
        struct stretch s = stretch_at(at, a->bytes, a->me + ((record)lane << THREAD_AT), ONE_LANE);
        struct line *l = global_line(a, at);
        if (!made(a, l != NULL)) return;
        if (!write && is_settled(a->check, l, s.words)) continue;
        lock_line(a->check, l);
        bool ok = touch_words(a, l, &s, &t, moment);
        if (ok && write && a->check->parallel) simt_race_store(a, at, a->bytes, lane);
        unlock_line(a->check, l);
        if (!ok) simt_race_lane(a, lane);
    }
}
