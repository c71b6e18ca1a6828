/* Lanes that touch cells of global memory which are no neighbours, each one or some of its own: their lines get pairs
 * (check_pairs.c), a page of them at once where lanes are far apart, and all lanes' are fetched before one is wanted.
 */
#include <string.h>
#include "runtime/simt/check_pairs.h"

#define CROWD 8 /* lanes that touch one page */

/* ---- lines ---- */
/* The half for a record; false: there is none. */
static bool shorten(struct simt_check *c, record r, short_record *to)
{
    uint32_t moment = r ? simt_find_moment(c, r) : 0;
    *to = r ? shortened(r, moment) : 0;
    return moment != MOMENTS;
}

/* What strips say, by pairs. False: these can't. */
static bool leave_strips(struct simt_check *c, struct line *l, unsigned log, pair *p)
{
    unsigned n = LINE >> log;
    record cells[RECORDS * LINE];
    uint64_t v[LINE];
    if (l->kind & LINE_WHOLE) simt_strips_begin(l);
    if (l->kind != LINE_STRIPS || simt_strips_log(strips_of(l), log) < log) return false;
    simt_strips_spread(strips_of(l), log, cells);
    for (unsigned k = 0; k < n; k++) {
        record w = cells[k], a = cells[n + k], b = cells[2 * n + k];
        short_record low, high;
        if ((w && b) || !shorten(c, w ? w : a, &low) || !shorten(c, w ? a : b, &high)) return false;
        v[k] = low | (uint64_t)high << 32;
    }
    for (unsigned k = 0; k < n; k++) give(&p[k], v[k]); /* with the moments, to who takes it */
    return true;
}

/* The line gets pairs, of cells of at most 1 << log bytes, if it may. */
static bool make_pairs(struct simt_check *c, struct line *l, unsigned log)
{
    bool fresh = l->launch != c->number;
    if (!fresh && l->kind & LINE_PAIRS) return true;
    if (!fresh && log > 2) log = 2; /* what strips say is of words */
    pair *p = fresh || l->kind != LINE_CELLS ? simt_shadow_pairs(l, log) : NULL;
    if (!p) return false;
    if (fresh) {
        for (unsigned k = 0; k < (unsigned)LINE >> log; k++) atomic_store_explicit(&p[k], 0, memory_order_relaxed);
        atomic_signal_fence(memory_order_seq_cst);
        set_line(c, l, (unsigned)LINE_PAIRS | log);
        return true;
    }
    if (!leave_strips(c, l, log, p)) return false;
    l->settled = 0;
    atomic_signal_fence(memory_order_seq_cst);
    l->kind = (uint8_t)((unsigned)LINE_PAIRS | log);
    return true;
}

/* A line without pairs. */
static bool touch_line(const struct toucher *t, struct line *l, unsigned lane)
{
    const struct access *a = t->access;
    struct simt_check *c = a->check;
    bool write = a->kind == ACCESS_WRITE, words = a->bytes >= 4 && !replaces_none(a), done = false;
    unsigned log = log_of(a);
    const struct stretch s =
        stretch_at(a->at[lane], words ? a->bytes : 4, a->me + ((record)lane << THREAD_AT), ONE_LANE);
    if (a->kind == ACCESS_READ && words && is_settled(c, l, s.words)) return true;
    if (t->moment == MOMENTS) return false;
    lock_line(c, l);
    if (words && l->launch == c->number && !(l->kind & LINE_PAIRS)) done = touch_strips(c, l, &s, &t->now, write);
    if (done) store(a, lane);
    a->block->judged |= (uint32_t)done << lane;
    bool pairs = !done && make_pairs(c, l, log);
    unlock_line(c, l);
    if (!pairs) return done;
    log = pairs_log(c, l);
    return log < PAIR_SIZES && simt_pair_touch(t, pair_at(l, log, a->at[lane]), log, lane);
}

/* ---- many lanes ---- */
/* Where the records and bytes are of lanes that touch one chunk. */
struct place_of {
    uint64_t start; /* of the chunk */
    struct line *lines;
    pair *pairs;
    const _Atomic uint32_t *pages;
    char *host;
    const char *from; /* what lanes store, `step` bytes apart; NULL: it need not be stored here */
    unsigned step;
    uint64_t head; /* a line's that has these pairs */
    uint32_t launch;
    bool parallel;
};
/* *m: the lanes; of these, those that go to the chunk of the first one. */
static bool find_place(const struct access *a, uint32_t *m, unsigned log, struct place_of *x)
{
    const struct insn *i = a->insn;
    uint64_t chunk = (a->at[__builtin_ctz(*m)] - SIMT_GLOBAL_BASE) >> SHADOW_CHUNK;
    uint32_t here = 0;
    bool plain = i->count == 1 && !is_opaque(a), parallel = a->check->parallel;
    x->start = SIMT_GLOBAL_BASE + (chunk << SHADOW_CHUNK);
    EACH_LANE(l, *m) here |= (uint32_t)((a->at[l] - x->start) >> SHADOW_CHUNK == 0) << l;
    *m = here;
    if (a->bytes > 8 || (a->kind == ACCESS_WRITE && parallel && !plain)) return false;
    x->lines = global_line(a, x->start);
    x->pairs = x->lines ? simt_shadow_pairs(x->lines, log) : NULL;
    if (!x->pairs) return false;
    x->pages = chunk_of(x->lines)->pages[log];
    x->host = place_in_host(x->start);
    x->from = a->kind == ACCESS_WRITE && parallel ? stored_at(a, 0) : NULL;
    x->step = i->flags & F_WIDE ? 8 : 4;
    x->launch = a->check->number;
    x->head = pairs_head(a->check, log);
    x->parallel = parallel;
    return true;
}

static inline bool is_page(const struct place_of *x, uint64_t offset)
{
    return atomic_load_explicit(&x->pages[offset >> PAGE_LOG], memory_order_acquire) == x->launch;
}

/* No memset, which ThreadSanitizer would take for an access that others race with. */
static __attribute__((no_sanitize_thread)) void clear_pairs(pair *p, size_t count)
{
    typedef uint64_t eight __attribute__((vector_size(64), aligned(8), may_alias));
    eight *to = (eight *)(void *)p;
    for (size_t k = 0; k < count / 8; k++) {
        to[k] = (eight){0};
        __asm__ volatile("" ::: "memory");
    }
}

/* Will many lines of the page be touched? Those of some others tell. */
static __attribute__((no_sanitize_thread)) bool is_wanted(const struct place_of *x, uint64_t offset)
{
    static const uint8_t others[] = {2, 5, 9, 16, 22, 35, 44, 63};
    const struct line *l = x->lines + (offset >> PAGE_LOG) * PAGE_LINES;
    unsigned mine = (unsigned)(offset / LINE) % PAGE_LINES, there = 0;
    for (unsigned k = 0; k < sizeof others; k++) there += head_of(&l[mine ^ others[k]]) == x->head;
    return there >= 2;
}

/* Do lanes m touch the page by some lines? */
static bool is_crowded(const struct access *a, uint32_t m, uint64_t address)
{
    unsigned lanes = 0;
    EACH_LANE(l, m) lanes += (a->at[l] ^ address) >> PAGE_LOG == 0;
    return lanes >= CROWD;
}

/* Lines that nobody has touched get pairs, all those of a page. */
static void open_page(struct simt_check *c, const struct place_of *x, uint64_t offset, unsigned log)
{
    uint64_t page = offset >> PAGE_LOG;
    struct line *l = x->lines + page * PAGE_LINES;
    bool all = true;
    for (unsigned k = 0; k < PAGE_LINES; k += 2) {
        lock_line(c, l + k);
        for (unsigned j = k; j < k + 2; j++) {
            bool fresh = l[j].launch != c->number;
            all &= fresh || l[j].kind == ((unsigned)LINE_PAIRS | log);
            if (!fresh) continue;
            clear_pairs(x->pairs + (page << PAGE_LOG >> log) + (j * LINE >> log), LINE >> log);
            atomic_signal_fence(memory_order_seq_cst);
            set_line(c, &l[j], (unsigned)LINE_PAIRS | log);
        }
        unlock_line(c, l + k);
    }
    if (all) atomic_store_explicit(&chunk_of(x->lines)->pages[log][page], c->number, memory_order_release);
}

/* Into the cache, all that the lanes will want. */
static inline void fetch(const struct access *a, uint32_t m, const struct place_of *x, unsigned log)
{
    EACH_LANE(l, m)
    {
        uint64_t at = a->at[l] - x->start;
        __builtin_prefetch(&x->pairs[at >> log], 1);
        if (a->kind == ACCESS_WRITE) __builtin_prefetch(x->host + at, 1);
        if (!is_page(x, at)) __builtin_prefetch(&x->lines[at / LINE]);
    }
}

/* The first access to one cell. */
static inline __attribute__((always_inline)) bool claim(const struct place_of *x, pair *p, uint64_t mine, char *to,
                                                        unsigned lane, unsigned bytes)
{
    uint64_t none = 0;
    if (atomic_load_explicit(p, memory_order_relaxed)) return false;
    if (!x->parallel) {
        atomic_store_explicit(p, mine, memory_order_relaxed);
        return true;
    }
    uint64_t then = x->from ? PAIR_BUSY : mine;
    if (!atomic_compare_exchange_strong_explicit(p, &none, then, memory_order_acq_rel, memory_order_relaxed))
        return false;
    if (!x->from) return true;
    store_of_kernel(to, x->from + (size_t)x->step * lane, bytes);
    give(p, mine);
    return true;
}

/* Lanes whose element is one cell. Those that are still to be looked at. */
static inline __attribute__((always_inline)) uint32_t touch_lanes(const struct toucher *t, uint32_t m,
                                                                  const struct place_of *at, unsigned log)
{
    const struct place_of x = *at;
    const uint64_t *addresses = t->access->at;
    uint32_t left = 0, me = t->me;
    EACH_LANE(l, m)
    {
        uint64_t offset = addresses[l] - x.start;
        pair *p = &x.pairs[offset >> log];
        bool fine = is_page(&x, offset) || head_of(&x.lines[offset / LINE]) == x.head;
        if (!fine && (is_wanted(&x, offset) || is_crowded(t->access, m, addresses[l]))) {
            open_page(t->access->check, &x, offset, log);
            fine = head_of(&x.lines[offset / LINE]) == x.head;
        }
        if (fine && !claim(&x, p, me + (l << MOMENT_BITS), x.host + offset, l, 1u << log)) {
            t->access->block->judged |= m & ~left & ((1u << l) - 1);
            fine = simt_pair_touch(t, p, log, l);
        }
        left |= (uint32_t)!fine << l;
    }
    t->access->block->judged |= m & ~left;
    return left;
}

static uint32_t touch_chunk(const struct toucher *t, uint32_t m, const struct place_of *x, unsigned log)
{
    fetch(t->access, m, x, log);
    switch (log) {
    case 0: return touch_lanes(t, m, x, 0);
    case 1: return touch_lanes(t, m, x, 1);
    case 2: return touch_lanes(t, m, x, 2);
    default: return touch_lanes(t, m, x, 3);
    }
}

static uint32_t touch_together(const struct toucher *t, uint32_t m)
{
    unsigned log = log_of(t->access);
    uint32_t left = 0;
    struct place_of x;
    if (t->moment == MOMENTS) return m;
    for (uint32_t rest = m, here; rest; rest &= ~here) {
        here = rest;
        left |= find_place(t->access, &here, log, &x) ? touch_chunk(t, here, &x, log) : here;
    }
    return left;
}

void simt_race_words(const struct access *a, uint32_t m)
{
    const struct toucher t = simt_toucher_of(a);
    uint32_t left = 0;
    m = touch_together(&t, m);
    EACH_LANE(lane, m)
    {
        struct line *l = global_line(a, a->at[lane]);
        if (!made(a, l != NULL)) return;
        unsigned log = pairs_log(a->check, l);
        bool ok =
            log < PAIR_SIZES ? simt_pair_touch(&t, pair_at(l, log, a->at[lane]), log, lane) : touch_line(&t, l, lane);
        left |= (uint32_t)!ok << lane;
    }
    EACH_LANE(lane, left)
    if (a->kind != ACCESS_ATOMIC || !simt_race_counter(a, lane)) simt_race_lane(a, lane);
}
