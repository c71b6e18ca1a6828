/* Plain loads and stores of global memory by threads that have met some others of their block, or have seen what others
 * released: most often what they touch was touched before that. Then a look at a cell's records, each beside what the
 * thread has seen of who made it, tells that nothing is wrong, and what becomes of them: a store takes the place of all
 * of them, a load that of a reader. So it is of a cell's list, which a load comes to. A reader that is recorded here
 * needs no note in check_readers.c, since it gives way only to what comes behind it. */
#include "runtime/simt/check_cell.h"
#include "runtime/simt/check_half.h"
#include "runtime/simt/check_lines.h"
#include "runtime/simt/check_links.h"
#include "runtime/simt/check_pairs.h"

struct knower { /* lanes of a warp */
    const struct access *access;
    record id, seen; /* the block's; when the warp met others last */
    uint64_t at;     /* of the cell at hand */
    unsigned warp, lane;
    uint32_t met, warp_met;
    const uint32_t *warps;       /* by warp: before when all is ordered before what this one does */
    const uint32_t (*lanes)[32]; /* likewise, by lane and lane */
    bool knows_more;             /* than these say */
    struct order *order;         /* the lane: what is among that; NULL: nothing */
};

bool simt_knows_some(const struct block *b, unsigned warp)
{
    return b->warps || b->lanes[warp] || simt_clocks_known(b) || b->order || b->acquires || b->reach;
}

/* `must`: it is to be found out. Else false may mean that this takes longer. */
static __attribute__((noinline)) bool find_behind(const struct knower *x, record r, bool must)
{
    const struct block *b = x->access->block;
    const unsigned thread = record_thread(r), lane = thread % SIMT_WARP, warp = thread / SIMT_WARP;
    const uint32_t time = record_time(r);
    if ((r ^ x->id) < BLOCK_SPAN) {
        if (warp != x->warp ? time < x->warps[warp] : time < x->warp_met) return true;
        if (warp == x->warp && time < simt_lane_seen(x->lanes, x->lane, lane)) return true;
    }
    if (!x->knows_more) return false;
    bool found = x->order && x->order->knows && seen_lately(x->order->knows, r);
    if (!found)
        found = must ? simt_check_ordered(b, r, x->warp, x->lane, x->at)
                     : simt_check_surely_ordered(b, r, x->warp, x->lane, x->at);
    /* Of strong accesses not all that have the record may be: it may have been found so where this one is. */
    if (found && x->order && !b->check->sites[record_site(r)].strong) x->order->behind_it = r;
    return found;
}

static inline __attribute__((always_inline)) bool is_behind(const struct knower *x, record r, record me, bool must)
{
    if (!r || !((r ^ me) & WHO_MASK) || (x->order && x->order->behind_it == r)) return true;
    if ((r ^ x->id) < BLOCK_SPAN && record_time(r) < x->met) return true; /* all met since then */
    return find_behind(x, r, must);
}

/* As the thread's own since it met others last. */
static inline bool is_mine(record r, record me, record seen)
{
    return !((r ^ me) & WHO_MASK) && (r & WITHIN) >= seen;
}

static bool are_behind(const struct knower *x, const struct past *p, record me)
{
    bool all = true;
    for (uint32_t m = p->lanes; all && m; m &= m - 1)
        all = is_behind(x, p->who + ((record)__builtin_ctz(m) << THREAD_AT), me, true);
    return all;
}

/* The list of the cell, whose first reader's record that is; NULL: look closer. */
static struct history *list_of(const struct knower *x, record first)
{
    struct history *h = simt_history_here(first, x->at, 4);
    return h && !h->raced ? h : NULL;
}

/* The lane comes to the readers of a list, behind all that wrote. */
static bool read_listed(const struct knower *x, struct history *h, record me)
{
    const struct site *sites = x->access->check->sites;
    const struct past new = {.who = me & ~((record)(SIMT_WARP - 1) << THREAD_AT), .lanes = 1u << x->lane};
    struct past *alike = NULL;
    for (uint32_t k = 0; k < h->count; k++) {
        struct past *p = &h->parties[k];
        if (site_writes(&sites[record_site(p->who)])) {
            if (!are_behind(x, p, me)) return false;
        } else if (p->who == new.who) {
            alike = p;
        }
    }
    if (alike) {
        alike->lanes |= new.lanes;
        return true;
    }
    if (h->count == h->room || simt_history_stands_for(h, x->access, me)) return false;
    h->parties[h->count++] = new;
    h->spares = h->settled = h->counter = false;
    return true;
}

static bool may_end(const struct knower *x, const struct history *h, record me)
{
    bool all = h != NULL;
    for (uint32_t k = 0; all && k < h->count; k++) all = are_behind(x, &h->parties[k], me);
    return all;
}

/* w, w + n and w + 2 * n: a cell's last write and two readers. False: look closer. */
static inline bool read_cell(const struct knower *x, record *w, unsigned n, record me)
{
    record *first = w + n, *second = first + n;
    if (*w == LISTED) {
        struct history *h = list_of(x, *first);
        return h && read_listed(x, h, me);
    }
    if (record_special(*first | *second) || !is_behind(x, *w, me, true)) return false;
    if (is_mine(*first, me, x->seen) || is_mine(*second, me, x->seen)) return true;
    if (is_behind(x, *first, me, false)) {
        *first = me;
        if (is_behind(x, *second, me, false)) *second = 0;
        return true;
    }
    if (!is_behind(x, *second, me, false))
        return simt_race_list_read(x->access, x->lane, (unsigned)(x->at - x->access->at[x->lane]), w, n);
    *second = me;
    return true;
}

static inline bool may_write(const struct knower *x, const record *w, unsigned n, record me)
{
    if (*w == LISTED) return may_end(x, list_of(x, w[n]), me);
    return is_behind(x, *w, me, true) && is_behind(x, w[n], me, true) && is_behind(x, w[2 * n], me, true);
}

/* A store takes the place of all that the cell has. */
static inline void write_cell(record *w, unsigned n, record me)
{
    if (*w == LISTED) ((struct history *)(uintptr_t)w[n])->live = false;
    w[0] = me, w[n] = w[2 * n] = 0;
}

/* The lane touches cells of words, from that one on. */
static inline bool touch_lane(struct knower *x, record *w)
{
    const struct access *a = x->access;
    const unsigned all = LINE / 4, n = a->bytes / 4;
    const uint64_t at = x->at;
    record me = a->me + ((record)x->lane << THREAD_AT);
    bool ok = true;
    for (unsigned k = 0; ok && k < n; k++, x->at += 4)
        ok = a->kind == ACCESS_READ ? read_cell(x, w + k, all, me) : may_write(x, w + k, all, me);
    if (!ok || a->kind == ACCESS_READ) return ok;
    for (unsigned k = 0; k < n; k++) write_cell(w + k, all, me);
    if (a->check->parallel) simt_race_store(a, at, a->bytes, x->lane);
    return true;
}

/* Its cells of words; NULL: it has none. */
static inline record *words_of_line(const struct simt_check *c, const struct line *l)
{
    const struct cell_table *t = &strips_of(l)->cells;
    return l->launch == c->number && l->kind == LINE_CELLS && t->log == 2 ? t->writes : NULL;
}

static bool is_plain(const struct access *a)
{
    const struct site *s = a->site;
    bool special = s->strong || s->guesses || s->fails || s->copies || s->fetches || s->bulk;
    return a->kind != ACCESS_ATOMIC && !special && !a->alike && !a->texture && !is_opaque(a) && a->bytes % 4 == 0;
}

/* Has somebody else touched the lane's cell, which has a pair? Then pairs will not do for long. */
static bool leaves_pairs(const struct access *a, struct line *l, unsigned lane)
{
    const unsigned log = pairs_log(a->check, l);
    if (log == PAIR_SIZES) return false;
    uint64_t v = atomic_load_explicit(pair_at(l, log, a->at[lane]), memory_order_relaxed);
    short_record me = shortened(a->me + ((record)lane << THREAD_AT), 0);
    bool first = ((short_record)v ^ me) >> MOMENT_BITS, second = v >> 32 && ((v >> 32) ^ me) >> MOMENT_BITS;
    return v && (first || second);
}

/* Has the line anything instead of cells of words that may not do for some lane? */
static bool may_get_cells(const struct access *a, struct line *l)
{
    return pairs_log(a->check, l) != PAIR_SIZES || (a->block->meets_partly && l->launch == a->check->number);
}

/* The line's cells of words, where what it has instead will not do; NULL: it may, or there is no memory. Whoever meets
 * whole blocks and warps alone finds out by trying, which most often does. */
static record *cells_for(const struct access *a, struct line *l, unsigned lane, const struct now *now)
{
    const record me = a->me + ((record)lane << THREAD_AT);
    const unsigned word = (unsigned)(a->at[lane] % LINE) / 4;
    const bool pairs = leaves_pairs(a, l, lane);
    const bool strips = !pairs && a->block->meets_partly && l->launch == a->check->number;
    if (!pairs && !(strips && simt_strips_part(l, word, me, now, a->kind == ACCESS_WRITE))) return NULL;
    if (!made(a, simt_shadow_line(a->check, l, 2))) return NULL;
    if (pairs) simt_let_stores_land(a->block); /* by lanes that found the pairs */
    return words_of_line(a->check, l);
}

static struct knower knower_of(const struct access *a)
{
    static const uint32_t nothing[LANE_ROWS][32];
    const struct block *b = a->block;
    unsigned warp = (unsigned)a->warp->index;
    uint32_t met = b->met, warp_met = b->warp_met[warp];
    return (struct knower){.access = a,
                           .id = b->id,
                           .seen = (record)b->warp_seen[warp] << TIME_AT,
                           .warp = warp,
                           .met = met,
                           .warp_met = warp_met > met ? warp_met : met,
                           .warps = b->warps ? b->warps[warp] : *nothing,
                           .lanes = b->lanes[warp] ? (const uint32_t(*)[32])b->lanes[warp] : nothing,
                           .knows_more = b->reach || b->clocks || b->order || b->acquires};
}

/* Lanes of a group, the only ones in the line. False: look closer, at all of them. */
static bool touch_group(const struct access *a, struct line *l, uint32_t m, const struct met_rule *rule,
                        const struct now *now)
{
    record *words = words_of_line(a->check, l);
    if (!words && may_get_cells(a, l)) words = cells_for(a, l, (unsigned)__builtin_ctz(m), now);
    return words && a->check->vectors->met(words, a->at, m, rule, a->kind == ACCESS_WRITE);
}

/* Has nobody touched the line, and is whoever writes all of it likely to come again? */
static inline bool may_begin(const struct access *a, const struct line *l)
{
    return a->check->by_lanes && l->launch != a->check->number;
}

/* Likewise, half of the warp, which touches all of the line. */
static bool touch_half(const struct access *a, struct line *l, uint32_t m, const struct half *half,
                       const struct met_rule *rule, const struct now *now)
{
    const bool write = a->kind == ACCESS_WRITE, first = write && may_begin(a, l);
    if (!first && simt_half_touch(a->check, l, half, rule, write)) return true;
    bool done = first || touch_group(a, l, m, rule, now);
    if (done && write) simt_half_begin(a->check, l, half);
    return done;
}

/* Lines that lanes touch which met each other last, and no others: most often all that was done there was done before
 * that, by them. Those lanes for which it is not so. */
static uint32_t touch_groups(const struct knower *x, uint32_t m)
{
    const struct access *a = x->access;
    const struct now now = now_of(a, false);
    uint32_t left = m;
    for (uint32_t rest = m, here; rest; rest &= ~here) {
        unsigned lane = (unsigned)__builtin_ctz(rest);
        const struct met_rule rule = {.id = x->id,
                                      .me = a->me,
                                      .before = (uint64_t)x->met << TIME_AT,
                                      .warp_before = (uint64_t)x->warp_met << TIME_AT,
                                      .met = (uint64_t)x->lanes[MET_TIME][lane] << TIME_AT,
                                      .group = x->lanes[LAST_MET][lane],
                                      .seen = x->seen};
        uint64_t low = a->at[lane] / LINE * LINE;
        struct half half;
        here = a->check->vectors->inside(a->at, rest, low, LINE);
        struct line *l = here & ~rule.group ? NULL : global_line(a, low);
        if (!l) continue;
        lock_line(a->check, l);
        bool whole = simt_half_find(a, here, lane, &half);
        bool done = whole ? touch_half(a, l, here, &half, &rule, &now) : touch_group(a, l, here, &rule, &now);
        if (done && a->kind == ACCESS_WRITE && a->check->parallel) simt_race_store_lanes(a, here);
        if (done) left &= ~here;
        unlock_line(a->check, l);
    }
    return left;
}

/* The same of a warp whose lanes have not met yet, where halves of it write whole lines that nobody has touched. */
static uint32_t begin_halves(const struct access *a, uint32_t m)
{
    uint32_t left = m;
    for (unsigned lane = 0; lane < SIMT_WARP; lane += HALF_LANES) {
        const uint32_t here = m & ((1u << HALF_LANES) - 1) << lane;
        struct half half;
        if (!here || !simt_half_find(a, here, (unsigned)__builtin_ctz(here), &half)) continue;
        struct line *l = global_line(a, a->at[lane]);
        if (!l) continue;
        lock_line(a->check, l);
        const bool first = may_begin(a, l);
        if (first) simt_half_begin(a->check, l, &half);
        if (first && a->check->parallel) simt_race_store_lanes(a, here);
        if (first) left &= ~here;
        unlock_line(a->check, l);
    }
    return left;
}

uint32_t simt_race_met(const struct access *a, uint32_t m)
{
    const struct block *b = a->block;
    const bool met = b->lanes[a->warp->index], begins = a->check->by_lanes && a->kind == ACCESS_WRITE;
    if (a->bytes != 4 || !(met || begins) || b->counting || b->now == LAST_TIME || !is_plain(a)) return m;
    if (!met) return begin_halves(a, m);
    const struct knower x = knower_of(a);
    return touch_groups(&x, m);
}

/* The lists of cells in lanes' lines, that no other host thread changes. */
static void fetch_lists(const struct access *a, uint32_t m)
{
    const struct history *lists[SIMT_WARP];
    unsigned n = 0;
    EACH_LANE(lane, m)
    {
        const record *words = words_of_line(a->check, global_line(a, a->at[lane]));
        if (words) words += a->at[lane] % LINE / 4;
        if (!words || *words != LISTED || !words[LINE / 4]) continue;
        lists[n] = (const struct history *)(uintptr_t)words[LINE / 4];
        __builtin_prefetch(lists[n++]);
    }
    for (unsigned k = 0; k < n; k++) __builtin_prefetch(lists[k]->parties);
}

/* Of lanes m, those that begin in another line than the one before them does. */
static uint32_t begin_lines(const struct access *a, uint32_t m)
{
    uint32_t apart = 0;
    uint64_t last = UINT64_MAX;
    if (m == FULL) return a->check->vectors->parts(a->at, (unsigned)__builtin_ctz(LINE)) | 1;
    EACH_LANE(l, m)
    {
        apart |= (uint32_t)(a->at[l] / LINE != last) << l;
        last = a->at[l] / LINE;
    }
    return apart;
}

/* What is looked at and changed of the lines where lanes m begin, `apart`, and what those know; one after the other it
 * would take long, for it is much, and other host threads may have touched it last. One of those may change a line just
 * now: this changes nothing. */
static __attribute__((no_sanitize_thread)) void fetch_words(const struct access *a, const struct order *of, uint32_t m,
                                                            uint32_t apart)
{
    if (lane_count(apart) <= FEW) return;
    EACH_LANE(lane, of ? m : 0) if (of[lane].knows) simt_seen_fetch_last(of[lane].knows);
    EACH_LANE(lane, apart)
    {
        struct line *l = global_line(a, a->at[lane]);
        if (!l) return;
        fetch_to_write(lock_of(l));
        __builtin_prefetch(&strips_of(l)->cells);
    }
    EACH_LANE(lane, apart)
    {
        const record *words = strips_of(global_line(a, a->at[lane]))->cells.writes;
        if (!words) continue;
        words += a->at[lane] % LINE / 4;
        fetch_to_write(words);
        fetch_to_write(words + LINE / 4);
        fetch_to_write(words + 2 * (LINE / 4));
    }
    if (!a->check->parallel) fetch_lists(a, apart);
}

/* Lanes here begin in one line. Those for which it is not so, or that look closer. */
static uint32_t touch_line(struct knower *x, struct order *of, uint32_t here, const struct now *now)
{
    const struct access *a = x->access;
    struct line *l = global_line(a, a->at[__builtin_ctz(here)]);
    uint32_t left = here;
    if (!made(a, l != NULL)) return left;
    lock_line(a->check, l);
    record *words = words_of_line(a->check, l);
    if (a->kind == ACCESS_WRITE) l->settled = 0;
    const bool looks = words || may_get_cells(a, l);
    EACH_LANE(lane, looks ? here : 0)
    {
        x->at = a->at[lane];
        x->lane = lane;
        if (of) x->order = &of[lane];
        if (!words) words = cells_for(a, l, lane, now);
        if (words && touch_lane(x, words + x->at % LINE / 4)) left &= ~(1u << lane);
    }
    unlock_line(a->check, l);
    return left;
}

uint32_t simt_race_known(const struct access *a, uint32_t m)
{
    uint32_t left = 0;
    if (!is_plain(a) || a->block->now == LAST_TIME) return m;
    struct knower x = knower_of(a);
    struct order *of = a->block->order ? a->block->order + x.warp * SIMT_WARP : NULL;
    const struct now now = now_of(a, false);
    const uint32_t apart = begin_lines(a, m);
    fetch_words(a, of, m, apart);
    EACH_LANE(lane, apart)
    {
        const uint32_t next = apart & (UINT32_MAX << lane) & ~(1u << lane), end = next & -next;
        left |= touch_line(&x, of, m & (UINT32_MAX << lane) & (end - 1), &now);
    }
    return left;
}
