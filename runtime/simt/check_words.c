/* Cells of global memory that lanes touch which are no neighbours. Each has a pair of records, which a host thread
 * takes for a moment and gives back changed: no lock is held for a line, and a record and what was stored go together.
 * What two records can't say is left to the line's cells, which have three; the pairs are closed then. */
#include <string.h>
#include "runtime/simt/check_lines.h"
#include "runtime/simt/tally.h"

struct toucher { /* lanes of an access */
    const struct access *access;
    struct now now;
    uint32_t moment; /* which the access has */
    short_record me; /* lane 0's */
};

/* ---- moments ---- */
/* Which of the launch's moments a record has; MOMENTS: there are too many. */
static uint32_t find_moment(struct simt_check *c, record r)
{
    uint32_t k = 0, count = atomic_load_explicit(&c->moment_count, memory_order_acquire);
    r &= WITHIN & ~((((record)1 << THREAD_BITS) - 1) << THREAD_AT);
    while (k < count && c->moments[k] != r) k++;
    if (k < count || count == MOMENTS) return k;
    pthread_mutex_lock(&c->lock);
    count = atomic_load_explicit(&c->moment_count, memory_order_relaxed);
    while (k < count && c->moments[k] != r) k++;
    if (k == count && count < MOMENTS) {
        c->moments[k] = r;
        atomic_store_explicit(&c->moment_count, count + 1, memory_order_release);
    }
    pthread_mutex_unlock(&c->lock);
    return k;
}

static struct toucher toucher_of(const struct access *a)
{
    struct block *b = a->block;
    unsigned place = record_site(a->me) % MOMENT_PLACES;
    record r = a->me & WITHIN & ~((((record)1 << THREAD_BITS) - 1) << THREAD_AT);
    if (r != b->moments[place]) {
        b->moment_index[place] = find_moment(a->check, r);
        b->moments[place] = r;
    }
    uint32_t moment = b->moment_index[place];
    return (struct toucher){a, now_of(a, false), moment, shortened(a->me, moment)};
}

/* ---- pairs ---- */
struct three { /* a cell's records */
    record write, first, second;
};

static inline bool has_written(const struct simt_check *c, record r)
{
    return access_of(&c->sites[record_site(r)]) != ACCESS_READ;
}

static inline struct three opened(const struct simt_check *c, uint64_t v)
{
    if (v == PAIR_RACED) return (struct three){RACED, 0, 0};
    record low = (uint32_t)v ? lengthened(c, (short_record)v) : 0, high = v >> 32 ? lengthened(c, v >> 32) : 0;
    return low && has_written(c, low) ? (struct three){low, high, 0} : (struct three){0, low, high};
}

/* Host threads that wait hold no pair that comes later, in a lane's element. */
static inline uint64_t take(const struct simt_check *c, pair *p)
{
    if (!c->parallel) return atomic_load_explicit(p, memory_order_relaxed);
    uint64_t v = atomic_exchange_explicit(p, PAIR_BUSY, memory_order_acquire);
    for (int tries = 0; v == PAIR_BUSY; tries++) {
        if (tries > 100) sched_yield();
        if (atomic_load_explicit(p, memory_order_relaxed) != PAIR_BUSY)
            v = atomic_exchange_explicit(p, PAIR_BUSY, memory_order_acquire);
    }
    return v;
}

static inline void give(pair *p, uint64_t v)
{
    atomic_store_explicit(p, v, memory_order_release);
}

/* Of 64 bits from records that the cell had, or the lane's. False: two halves are too few. */
static bool joined(const struct simt_check *c, const struct three *x, uint64_t was, record me, short_record mine,
                   uint64_t *to)
{
    const record all[RECORDS] = {x->write, x->first, x->second};
    const short_record old[2] = {(short_record)was, (short_record)(was >> 32)};
    short_record halves[RECORDS] = {0};
    unsigned n = 0;
    *to = PAIR_RACED;
    if (x->write == RACED) return true;
    for (int k = 0; k < RECORDS; k++) {
        if (!all[k]) continue;
        if (all[k] == me)
            halves[n++] = mine;
        else
            halves[n++] = old[0] && lengthened(c, old[0]) == all[k] ? old[0] : old[1];
    }
    *to = halves[0] | (uint64_t)halves[1] << 32;
    return n <= 2;
}

static bool is_addition(const struct simt_check *c, record r)
{
    return record_atomic(r) && !c->sites[record_site(r)].fails;
}

/* An atomic where there were only atomics. Of three two will do, of different blocks where there are some: what races
 * with the third races with one of them. */
static bool add_atomic(const struct toucher *t, uint64_t v, record me, short_record mine, uint64_t *to)
{
    const struct simt_check *c = t->access->check;
    short_record halves[2] = {(short_record)v, (short_record)(v >> 32)};
    record low = lengthened(c, halves[0]), high = halves[1] ? lengthened(c, halves[1]) : 0;
    if (t->access->site->fails || !is_addition(c, low) || (high && !is_addition(c, high))) return false;
    bool past_low = cell_gone(low, me, &t->now, false), past_high = cell_gone(high, me, &t->now, false);
    if (!past_low && !past_high) {
        bool alike = record_site(low) == record_site(me) && record_site(high) == record_site(me);
        if (!alike || c->releases_some) return false;
        past_low = record_block(low) == record_block(me) && record_block(high) != record_block(me);
    }
    *to = mine | (uint64_t)(past_low ? past_high ? 0 : halves[1] : halves[0]) << 32;
    return true;
}

/* A compare-and-swap that finds another value, where others did. */
static bool add_failing(const struct toucher *t, uint64_t v, record me, short_record mine, uint64_t *to)
{
    const struct simt_check *c = t->access->check;
    if (!(v >> 32) || c->releases_some) return false;
    record low = lengthened(c, (short_record)v), high = lengthened(c, v >> 32);
    if (!record_atomic(low) || !record_atomic(high)) return false;
    if (record_block(low) != record_block(high)) { /* one of them is of another block than whoever comes */
        *to = v;
        return record_block(low) != record_block(me) && record_block(high) != record_block(me);
    }
    if (!is_addition(c, low) || record_block(low) == record_block(me)) return false;
    *to = (uint32_t)v | (uint64_t)mine << 32;
    return true;
}

static bool add_reader(const struct toucher *t, uint64_t v, record me, short_record mine, uint64_t *to)
{
    struct three was = opened(t->access->check, v);
    struct cells c;
    c.w[0] = was.write, c.a[0] = was.first, c.b[0] = was.second, c.me[0] = me;
    uint64_t flags = judge_read(&c, 0, &t->now, false);
    *to = v;
    if (flags & CELLS_BAD) return false;
    const struct three is = {c.w[0], c.a[0], c.b[0]};
    return !(flags & CELLS_CHANGED) || joined(t->access->check, &is, v, me, mine, to);
}

static inline const char *stored_at(const struct access *a, unsigned lane)
{
    return a->regs + a->insn->d + (size_t)lane * (a->insn->flags & F_WIDE ? 8 : 4);
}

static inline bool same_bytes(const char *p, const char *q, unsigned bytes)
{
    return bytes == 4 ? memcmp(p, q, 4) == 0 : bytes == 1 ? *p == *q : memcmp(p, q, bytes) == 0;
}

/* Does a lane store what another thread's store left there, or leaves there by this very instruction? */
static bool stores_again(const struct toucher *t, uint64_t v, unsigned lane)
{
    const struct access *a = t->access;
    const short_record lanes = ((1u << 5) - 1) << MOMENT_BITS, other = (short_record)v;
    const char *there = simt_host(a->at[lane]);
    if (v >> 32 || a->insn->count != 1 || is_opaque(a) || !has_written(a->check, lengthened(a->check, other)))
        return false;
    unsigned l = (other & lanes) >> MOMENT_BITS;
    simt_tally_settle(a->block->worker);
    if (!((other ^ t->me) & ~lanes) && a->at[l] == a->at[lane]) there = stored_at(a, l);
    if (!same_bytes(there, stored_at(a, lane), a->bytes)) return false;
    return a->block->excused = true;
}

/* What becomes of a cell that nothing is to be said of. False: look closer. */
static inline bool follow(const struct toucher *t, uint64_t v, unsigned lane, uint64_t *to)
{
    const struct access *a = t->access;
    record me = a->me + ((record)lane << THREAD_AT);
    short_record mine = t->me + (lane << MOMENT_BITS);
    *to = mine;
    if (!v) return true;
    if (v == PAIR_RACED) return false;
    if (a->kind == ACCESS_WRITE) {
        uint32_t others = ((uint32_t)v ^ mine) >> MOMENT_BITS;
        if (v >> 32) others |= (uint32_t)(v >> 32 ^ mine) >> MOMENT_BITS;
        if (!others) return true;
        if (stores_again(t, v, lane)) return true;
        struct three was = opened(a->check, v);
        return cell_gone(was.write, me, &t->now, false) & cell_gone(was.first, me, &t->now, false) &
               cell_gone(was.second, me, &t->now, false);
    }
    if (a->kind == ACCESS_ATOMIC) return add_atomic(t, v, me, mine, to);
    return a->site->fails ? add_failing(t, v, me, mine, to) : add_reader(t, v, me, mine, to);
}

#define MOST_CELLS LINE

/* May a cell need a third record? */
static bool may_overflow(const struct toucher *t, uint64_t v, record me)
{
    if (t->access->kind == ACCESS_WRITE || !(v >> 32)) return false;
    struct three was = opened(t->access->check, v);
    return was.write && !cell_gone(was.first, me, &t->now, false);
}

/* The rule itself (check_cell.c), for n cells of a lane; it knows cells of 4 bytes at most. False: nothing was done. */
static bool look_closer(const struct toucher *t, const uint64_t *v, unsigned n, unsigned log, unsigned lane,
                        uint64_t *to)
{
    const struct access *a = t->access;
    record cells[RECORDS * MOST_CELLS], me = a->me + ((record)lane << THREAD_AT);
    unsigned fine = log > 2 ? 2 : log, each = 1u << (log - fine), all = n * each;
    struct cell_table table = {.writes = cells, .log = (uint8_t)fine};
    bool ok = true;
    for (unsigned k = 0; k < all; k++) {
        struct three was = opened(a->check, v[k / each]);
        cells[k] = was.write, cells[all + k] = was.first, cells[2 * all + k] = was.second;
        if (may_overflow(t, v[k / each], me)) return false;
    }
    simt_race_cells(a, lane, false, &table, 0, all);
    for (unsigned k = 0; k < n; k++) { /* the words of a cell are alike, but that one may have been raced for */
        unsigned at = k * each, last = at + each - 1, one = cells[last] == RACED ? last : at;
        const struct three is = {cells[one], cells[all + one], cells[2 * all + one]};
        ok &= joined(a->check, &is, v[k], me, t->me + (lane << MOMENT_BITS), &to[k]);
    }
    return ok;
}

static inline void store(const struct access *a, unsigned lane)
{
    if (a->kind == ACCESS_WRITE && a->check->parallel) simt_race_store(a, a->at[lane], a->bytes, lane);
}

/* An element of several cells. */
static bool touch_several(const struct toucher *t, pair *p, unsigned n, unsigned log, unsigned lane)
{
    uint64_t v[MOST_CELLS], to[MOST_CELLS];
    bool ok = true, closed = false;
    for (unsigned k = 0; k < n; k++) {
        v[k] = take(t->access->check, &p[k]);
        closed |= v[k] == PAIR_CLOSED;
    }
    for (unsigned k = 0; k < n && !closed; k++) ok = ok && follow(t, v[k], lane, &to[k]);
    ok = !closed && (ok || look_closer(t, v, n, log, lane, to));
    if (ok) store(t->access, lane);
    for (unsigned k = 0; k < n; k++) give(&p[k], ok ? to[k] : v[k]);
    return ok;
}

/* The pairs stand at `p`, of cells of 1 << log bytes. False, and nothing was done: they can't say it. */
static bool touch_pair(const struct toucher *t, pair *p, unsigned log, unsigned lane)
{
    const struct access *a = t->access;
    unsigned n = a->bytes >> log;
    uint64_t v, to;
    if (t->moment == MOMENTS || n == 0) return false;
    if (n > 1) return touch_several(t, p, n, log, lane);
    if (a->kind == ACCESS_READ) { /* most often there is nothing to change */
        v = atomic_load_explicit(p, memory_order_acquire);
        if (v && v < PAIR_BUSY && follow(t, v, lane, &to) && to == v) return true;
    }
    v = take(a->check, p);
    bool ok = v != PAIR_CLOSED && (follow(t, v, lane, &to) || look_closer(t, &v, 1, log, lane, &to));
    if (ok) store(a, lane);
    give(p, ok ? to : v);
    return ok;
}

/* ---- lines ---- */
static inline unsigned log_of(const struct access *a)
{
    return a->bytes >= 8 ? 3 : (unsigned)__builtin_ctz(a->bytes);
}

/* The log of the cells that the line's pairs are for; PAIR_SIZES: it has none. Others may close them meanwhile, who
 * touches one will see. */
static inline __attribute__((no_sanitize_thread)) unsigned pairs_log(const struct simt_check *c, const struct line *l)
{
    if (*(const volatile uint32_t *)&l->launch != c->number) return PAIR_SIZES;
    atomic_signal_fence(memory_order_seq_cst);
    unsigned kind = *(const volatile uint8_t *)&l->kind;
    return kind & LINE_PAIRS ? kind & ~(unsigned)LINE_PAIRS : PAIR_SIZES;
}

static inline pair *pair_at(struct line *l, unsigned log, uint64_t address)
{
    return pairs_of(l, log) + (address % LINE >> log);
}

bool simt_has_pairs(const struct simt_check *c, struct line *l, uint32_t bytes)
{
    unsigned log = pairs_log(c, l);
    return log < PAIR_SIZES && bytes >> log;
}

bool simt_pairs_touch(const struct access *a, struct line *l, unsigned lane)
{
    unsigned log = pairs_log(a->check, l);
    if (log == PAIR_SIZES) return false;
    const struct toucher t = toucher_of(a);
    return touch_pair(&t, pair_at(l, log, a->at[lane]), log, lane);
}

bool simt_pairs_count(const struct access *a, struct line *l, unsigned lane)
{
    unsigned log = pairs_log(a->check, l);
    if (log == PAIR_SIZES || a->bytes >> log != 1) return false;
    const struct toucher t = toucher_of(a);
    pair *p = pair_at(l, log, a->at[lane]);
    uint64_t v = take(a->check, p), to = v;
    bool counts = t.moment != MOMENTS && v < PAIR_RACED && v >> 32 && record_atomic(lengthened(a->check, v >> 32)) &&
                  (((uint32_t)v ^ v >> 32) >> (THREAD_BITS + MOMENT_BITS)) != 0 &&
                  add_atomic(&t, v, a->me + ((record)lane << THREAD_AT), t.me + (lane << MOMENT_BITS), &to);
    counts = counts && (((uint32_t)to ^ to >> 32) >> (THREAD_BITS + MOMENT_BITS)) != 0;
    give(p, counts ? to : v);
    return counts;
}

void simt_pairs_forget(const struct simt_check *c, struct line *l, uint32_t words)
{
    unsigned log = l->kind & ~(unsigned)LINE_PAIRS;
    pair *p = pairs_of(l, log);
    for (unsigned k = 0; k < (unsigned)LINE >> log; k++, p++) {
        if (!(words >> (k << log) / 4 & 1)) continue;
        take(c, p);
        give(p, 0);
    }
}

void simt_pairs_spread(const struct simt_check *c, struct line *l, unsigned log, record *cells)
{
    unsigned from = l->kind & ~(unsigned)LINE_PAIRS, n = LINE >> log, each = 1u << (from - log);
    pair *p = pairs_of(l, from);
    for (unsigned k = 0; k < n; k += each, p++) {
        struct three is = opened(c, take(c, p));
        for (unsigned j = k; j < k + each; j++)
            cells[j] = is.write, cells[n + j] = is.first, cells[2 * n + j] = is.second;
        give(p, PAIR_CLOSED);
    }
}

/* The half for a record; false: there is none. */
static bool shorten(struct simt_check *c, record r, short_record *to)
{
    uint32_t moment = r ? find_moment(c, r) : 0;
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
    for (unsigned k = 0; k < n; k++) atomic_store_explicit(&p[k], v[k], memory_order_relaxed);
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
    bool write = a->kind == ACCESS_WRITE, words = a->bytes >= 4 && a->kind != ACCESS_ATOMIC, done = false;
    unsigned log = log_of(a);
    const struct stretch s =
        stretch_at(a->at[lane], words ? a->bytes : 4, a->me + ((record)lane << THREAD_AT), ONE_LANE);
    if (a->kind == ACCESS_READ && words && is_settled(c, l, s.words)) return true;
    if (t->moment == MOMENTS) return false;
    lock_line(c, l);
    if (words && l->launch == c->number && !(l->kind & LINE_PAIRS)) done = touch_strips(c, l, &s, &t->now, write);
    if (done) store(a, lane);
    bool pairs = !done && make_pairs(c, l, log);
    unlock_line(c, l);
    if (!pairs) return done;
    log = pairs_log(c, l);
    return log < PAIR_SIZES && touch_pair(t, pair_at(l, log, a->at[lane]), log, lane);
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
    uint64_t head; /* the first 8 bytes of a line with these pairs, under the mask */
    uint32_t launch;
    bool parallel;
};
#define HEAD_MASK UINT64_C(0x00ff0000ffffffff) /* launch and kind */
_Static_assert(offsetof(struct line, kind) == 6 && offsetof(struct line, launch) == 0, "as the mask has them");

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
    x->host = simt_host(x->start);
    x->from = a->kind == ACCESS_WRITE && parallel ? stored_at(a, 0) : NULL;
    x->step = i->flags & F_WIDE ? 8 : 4;
    x->launch = a->check->number;
    x->head = x->launch | (uint64_t)((unsigned)LINE_PAIRS | log) << 48;
    x->parallel = parallel;
    return true;
}

static inline __attribute__((no_sanitize_thread)) uint64_t head_of(const struct line *l)
{
    uint64_t head;
    memcpy(&head, l, sizeof head);
    return head & HEAD_MASK;
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
                                                        const char *from, unsigned bytes)
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
    memcpy(to, from, bytes);
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
        if (!fine && is_wanted(&x, offset)) {
            open_page(t->access->check, &x, offset, log);
            fine = head_of(&x.lines[offset / LINE]) == x.head;
        }
        if (fine && !claim(&x, p, me + (l << MOMENT_BITS), x.host + offset, x.from + (size_t)x.step * l, 1u << log))
            fine = touch_pair(t, p, log, l);
        left |= (uint32_t)!fine << l;
    }
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
    const struct toucher t = toucher_of(a);
    uint32_t left = 0;
    m = touch_together(&t, m);
    EACH_LANE(lane, m)
    {
        struct line *l = global_line(a, a->at[lane]);
        if (!made(a, l != NULL)) return;
        unsigned log = pairs_log(a->check, l);
        bool ok = log < PAIR_SIZES ? touch_pair(&t, pair_at(l, log, a->at[lane]), log, lane) : touch_line(&t, l, lane);
        left |= (uint32_t)!ok << lane;
    }
    EACH_LANE(lane, left)
    if (a->kind != ACCESS_ATOMIC || !simt_race_counter(a, lane)) simt_race_lane(a, lane);
}
