/* Cells of global memory that lanes touch which are no neighbours. Each has a pair of records, which a host thread
 * takes for a moment and gives back changed: no lock is held for a line, and a record and what was stored go together.
 * What two records can't say is left to the line's cells, which have three; the pairs are closed then. */
#include <string.h>
#include "runtime/simt/check_pairs.h"
#include "runtime/simt/tally.h"

/* ---- moments ---- */
uint32_t simt_find_moment(struct simt_check *c, record r)
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

uint32_t simt_moment_of(struct block *b, record me)
{
    unsigned place = record_site(me) % MOMENT_PLACES;
    record r = me & WITHIN & ~((((record)1 << THREAD_BITS) - 1) << THREAD_AT);
    if (r != b->moments[place]) {
        b->moment_index[place] = simt_find_moment(b->check, r);
        b->moments[place] = r;
    }
    return b->moment_index[place];
}

struct toucher simt_toucher_of(const struct access *a)
{
    uint32_t moment = simt_moment_of(a->block, a->me);
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
    if (v == PAIR_LISTED) return (struct three){LISTED, 0, 0};
    record low = (uint32_t)v ? lengthened(c, (short_record)v) : 0, high = v >> 32 ? lengthened(c, v >> 32) : 0;
    if (!low || !has_written(c, low)) return (struct three){0, low, high};
    bool beside = !c->exact || is_write(c, low);
    record kept = beside ? kept_record(c->sites, high, true) : 0; /* a store that stays beside the last write */
    return (struct three){low, kept ? kept : high, 0};
}

/* Host threads that wait hold no pair that comes later, in a lane's element. */
static inline uint64_t take(const struct simt_check *c, pair *p)
{
    if (!c->parallel) return atomic_load_explicit(p, memory_order_relaxed);
    uint64_t v = atomic_exchange_explicit(p, PAIR_BUSY, memory_order_acquire);
    for (int tries = 0; v == PAIR_BUSY; tries++) {
        simt_check_pause(tries);
        if (atomic_load_explicit(p, memory_order_relaxed) != PAIR_BUSY)
            v = atomic_exchange_explicit(p, PAIR_BUSY, memory_order_acquire);
    }
    return v;
}

/* Of 64 bits from records that the cell had, or the lane's. False: two halves are too few. */
static bool joined(const struct simt_check *c, const struct three *x, uint64_t was, record me, short_record mine,
                   uint64_t *to)
{
    const record all[RECORDS] = {x->write, x->first, x->second};
    const short_record old[2] = {(short_record)was, (short_record)(was >> 32)};
    short_record halves[RECORDS] = {0};
    unsigned n = 0;
    *to = PAIR_LISTED;
    if (x->write == LISTED) return true;
    for (int k = 0; k < RECORDS; k++) {
        record r = as_made(c->sites, all[k]);
        if (!r) continue;
        if (is_kept_other(c->sites, all[k])) return false;
        if (r == me)
            halves[n++] = mine;
        else
            halves[n++] = old[0] && lengthened(c, old[0]) == r ? old[0] : old[1];
    }
    *to = halves[0] | (uint64_t)halves[1] << 32;
    return n <= 2;
}

static bool is_addition(const struct simt_check *c, record r)
{
    return record_atomic(c->sites, r) && !c->sites[record_site(r)].fails;
}

/* Is it of the thread, and over as soon as it goes on to an atomic or tries one: a guess, or a compare-and-swap that
 * failed? */
static bool is_own_try(const struct toucher *t, record r, record me)
{
    const struct site *s = &t->access->check->sites[record_site(r)];
    return ((r ^ me) & WHO_MASK) == 0 && access_of(s) == ACCESS_READ && (s->guesses || s->fails);
}

/* Two atomics of different blocks: whoever races with one more races with one of them. */
static bool are_two_blocks(const struct toucher *t, record low, record high)
{
    const struct access *a = t->access;
    if (a->check->releases_some || a->block->reach || (low ^ high) < BLOCK_SPAN) return false;
    return is_addition(a->check, low) && is_addition(a->check, high);
}

/* A guess, or a compare-and-swap that fails, where there were only atomics and the thread's own tries before. */
static bool add_try(const struct toucher *t, uint64_t v, record me, short_record mine, uint64_t *to)
{
    const struct simt_check *c = t->access->check;
    record low = lengthened(c, (short_record)v), high = v >> 32 ? lengthened(c, v >> 32) : 0;
    if (!t->access->site->guesses && !t->access->site->fails) return false;
    *to = v;
    if (high && are_two_blocks(t, low, high)) return true;
    if (high && !is_own_try(t, high, me)) return false;
    *to = !high && is_own_try(t, low, me) ? mine : (uint32_t)v | (uint64_t)mine << 32;
    return (uint32_t)*to == mine || is_addition(c, low);
}

/* An atomic where there were only atomics. Of three two will do, of different blocks where there are some: what races
 * with the third races with one of them. */
static bool add_atomic(const struct toucher *t, uint64_t v, record me, short_record mine, uint64_t *to)
{
    const struct simt_check *c = t->access->check;
    short_record halves[2] = {(short_record)v, (short_record)(v >> 32)};
    record low = lengthened(c, halves[0]), high = halves[1] ? lengthened(c, halves[1]) : 0;
    *to = mine;
    if (!high && is_own_try(t, low, me)) return true;
    if (high && is_own_try(t, high, me)) high = halves[1] = 0;
    if (t->access->site->fails || !is_addition(c, low) || (high && !is_addition(c, high))) return false;
    bool past_low = cell_gone(low, me, &t->now, false), past_high = cell_gone(high, me, &t->now, false);
    if (!past_low && !past_high) {
        bool alike = record_site(low) == record_site(me) && record_site(high) == record_site(me);
        if (!alike || orders_some(c)) return false;
        past_low = record_block(low) == record_block(me) && record_block(high) != record_block(me);
    }
    *to = mine | (uint64_t)(past_low ? past_high ? 0 : halves[1] : halves[0]) << 32;
    return true;
}

/* A compare-and-swap that finds another value, where others did. */
static bool add_failing(const struct toucher *t, uint64_t v, record me, short_record mine, uint64_t *to)
{
    const struct simt_check *c = t->access->check;
    if (!(v >> 32) || orders_some(c)) return false;
    record low = lengthened(c, (short_record)v), high = lengthened(c, v >> 32);
    if (!record_atomic(c->sites, low) || !record_atomic(c->sites, high)) return false;
    if (record_block(low) != record_block(high)) { /* one of them is of another block than whoever comes */
        *to = v;
        return record_block(low) != record_block(me) && record_block(high) != record_block(me);
    }
    if (!is_addition(c, low) || record_block(low) == record_block(me)) return false;
    *to = (uint32_t)v | (uint64_t)mine << 32;
    return true;
}

/* As add_reader, for a cell that nobody but the thread touched. False: look at it as at others. */
static inline bool reads_own(const struct toucher *t, uint64_t v, short_record mine, uint64_t *to)
{
    const struct simt_check *c = t->access->check;
    short_record low = (short_record)v, high = (short_record)(v >> 32);
    if ((low ^ mine) >> MOMENT_BITS || (high && (high ^ mine) >> MOMENT_BITS)) return false;
    record first = c->moments[low % (1u << MOMENT_BITS)], last = high ? c->moments[high % (1u << MOMENT_BITS)] : first;
    bool written = has_written(c, first), reads = !written || high;
    *to = reads ? v : low | (uint64_t)mine << 32;
    return !reads ||
           (written == (high != 0) && !record_special(last) && !(high && is_write(c, last)) && last >= t->now.seen);
}

static bool add_reader(const struct toucher *t, uint64_t v, record me, short_record mine, uint64_t *to)
{
    if (reads_own(t, v, mine, to)) return true;
    struct three was = opened(t->access->check, v);
    struct cells c;
    c.w[0] = was.write, c.a[0] = was.first, c.b[0] = was.second, c.me[0] = me;
    uint64_t flags = judge_read(&c, 0, &t->now, false);
    *to = v;
    if (flags & CELLS_BAD) return false;
    const struct three is = {c.w[0], c.a[0], c.b[0]};
    return !(flags & CELLS_CHANGED) || joined(t->access->check, &is, v, me, mine, to);
}

static inline bool is_there(const char *p, const char *q, unsigned bytes)
{
    char there[16];
    if (bytes == 4)
        load_of_kernel(there, p, 4);
    else if (bytes == 1)
        load_of_kernel(there, p, 1);
    else
        load_of_kernel(there, p, bytes);
    return bytes == 4 ? memcmp(there, q, 4) == 0 : bytes == 1 ? *there == *q : memcmp(there, q, bytes) == 0;
}

static inline bool is_store(const struct simt_check *c, short_record r)
{
    const struct site *s = &c->sites[record_site(lengthened(c, r))];
    return s->access == ACCESS_WRITE && !s->strong;
}

/* Which of the stores before, of the same value, is to stay beside the lane's? As in check_cell.c. */
static inline short_record beside(const struct toucher *t, uint64_t v, record me, short_record mine)
{
    const struct simt_check *c = t->access->check;
    const unsigned block = MOMENT_BITS + THREAD_BITS, warp = MOMENT_BITS + 5;
    short_record low = (short_record)v, high = (short_record)(v >> 32);
    if ((low ^ mine) >> block) return low;
    if (high && (high ^ mine) >> block) return high;
    if (cell_gone(lengthened(c, low), me, &t->now, false)) low = 0;
    if (high && cell_gone(lengthened(c, high), me, &t->now, false)) high = 0;
    return low && ((low ^ mine) >> warp || !high) ? low : high;
}

/* Does a lane store what another thread's store left there, or leaves there by this very instruction? */
static inline bool is_same(const struct toucher *t, short_record other, unsigned lane)
{
    const struct access *a = t->access;
    const short_record lanes = ((1u << 5) - 1) << MOMENT_BITS;
    unsigned l = (other & lanes) >> MOMENT_BITS;
    bool of_this = a->block->judged >> l & 1 && !((other ^ t->me) & ~lanes) && l != lane && a->at[l] == a->at[lane];
    return is_there(of_this ? stored_at(a, l) : place_in_host(a->at[lane]), stored_at(a, lane), a->bytes);
}

/* Is it a store of what all those before stored that nothing orders before it? */
static bool stores_again(const struct toucher *t, uint64_t v, unsigned lane, uint64_t *to)
{
    const struct access *a = t->access;
    const struct simt_check *c = a->check;
    const short_record low = (short_record)v, high = (short_record)(v >> 32), mine = t->me + (lane << MOMENT_BITS);
    if (a->insn->count != 1 || is_opaque(a) || a->site->strong || c->strict) return false;
    if (!is_store(c, low) || (high && !is_store(c, high))) return false;
    simt_tally_settle(a->block->worker);
    simt_let_stores_land(a->block);
    if (!is_same(t, low, lane) || (high && !is_same(t, high, lane))) return false;
    *to = mine | (uint64_t)beside(t, v, a->me + ((record)lane << THREAD_AT), mine) << 32;
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
    if (v == PAIR_LISTED) return false;
    if (a->kind == ACCESS_READ && (t->now.exact || a->site->guesses) && add_try(t, v, me, mine, to)) return true;
    bool adds = a->kind == ACCESS_ATOMIC || (a->site->fails && !t->now.exact);
    if (!adds && replaces_none(a)) return false;
    if (a->kind == ACCESS_WRITE) {
        uint32_t others = ((uint32_t)v ^ mine) >> MOMENT_BITS;
        if (v >> 32) others |= (uint32_t)(v >> 32 ^ mine) >> MOMENT_BITS;
        if (!others) return true;
        if (!t->now.exact && stores_again(t, v, lane, to)) return true;
        struct three was = opened(a->check, v);
        return cell_gone(was.write, me, &t->now, false) & cell_gone(was.first, me, &t->now, false) &
               cell_gone(was.second, me, &t->now, false);
    }
    if (a->kind == ACCESS_ATOMIC) return add_atomic(t, v, me, mine, to);
    return a->site->fails ? add_failing(t, v, me, mine, to) : add_reader(t, v, me, mine, to);
}

#define MOST_CELLS LINE

/* May a cell need a third record, or one that pairs can't have? */
static bool may_overflow(const struct toucher *t, uint64_t v, record me)
{
    if (!(v >> 32) || v == PAIR_LISTED) return false;
    if (t->now.exact && replaces_none(t->access)) return true;
    if (t->access->kind == ACCESS_WRITE) return !t->now.exact && t->access->site->strong;
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
    simt_let_stores_land(a->block);
    simt_race_cells(a, lane, false, &table, 0, all);
    for (unsigned k = 0; k < n; k++) { /* the words of a cell are alike, but that one may have a list */
        unsigned at = k * each, last = at + each - 1, one = cells[last] == LISTED ? last : at;
        if (cells[one] == LISTED && cells[at] != cells[last])
            simt_race_list(a, lane, &table, one == at ? last : at, all);
        const struct three is = {cells[one], cells[all + one], cells[2 * all + one]};
        ok &= joined(a->check, &is, v[k], me, t->me + (lane << MOMENT_BITS), &to[k]);
    }
    return ok;
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

/* Atomics of two blocks, by this line or the like: one more changes nothing, and no other thread need hear of it. */
static bool is_one_of_many(const struct toucher *t, uint64_t v)
{
    const struct access *a = t->access;
    if (v >= PAIR_LISTED || !(v >> 32) || !(uint32_t)v) return false;
    record one = lengthened(a->check, (uint32_t)v), other = lengthened(a->check, v >> 32);
    bool known = record_site(one) == record_site(a->me) || record_site(other) == record_site(a->me);
    return known && are_two_blocks(t, one, other);
}

bool simt_pair_touch(const struct toucher *t, pair *p, unsigned log, unsigned lane)
{
    const struct access *a = t->access;
    unsigned n = a->bytes >> log;
    uint64_t v, to;
    if (t->moment == MOMENTS || n == 0) return false;
    if (n > 1) {
        bool done = touch_several(t, p, n, log, lane);
        a->block->judged |= (uint32_t)done << lane;
        return done;
    }
    if (a->kind == ACCESS_READ) { /* most often there is nothing to change */
        v = atomic_load_explicit(p, memory_order_acquire);
        if (v && v < PAIR_BUSY && follow(t, v, lane, &to) && to == v) return true;
    }
    if (a->kind == ACCESS_ATOMIC && is_one_of_many(t, atomic_load_explicit(p, memory_order_acquire))) return true;
    v = take(a->check, p);
    bool ok = v != PAIR_CLOSED && (follow(t, v, lane, &to) || look_closer(t, &v, 1, log, lane, &to));
    if (ok) store(a, lane);
    give(p, ok ? to : v);
    if (a->kind == ACCESS_WRITE) a->block->judged |= (uint32_t)ok << lane;
    return ok;
}

/* ---- accesses that change nothing ---- */
static bool is_settled_pair(const struct toucher *t, pair *p, uint64_t address, unsigned bytes, unsigned site)
{
    const struct simt_check *c = t->access->check;
    uint64_t v = atomic_load_explicit(p, memory_order_acquire);
    if (v < PAIR_LISTED) {
        record low = lengthened(c, (short_record)v), high = lengthened(c, v >> 32);
        bool known = !site || record_site(low) == site || record_site(high) == site;
        return (uint32_t)v && v >> 32 && known && are_two_blocks(t, low, high);
    }
    v = take(c, p);
    const struct history *h = v == PAIR_LISTED ? simt_history_find(t->access->check, NULL, address, bytes) : NULL;
    bool settled = h && simt_history_settled(h, site);
    give(p, v);
    return settled;
}

/* Of a line whose cells have three records. */
static bool are_settled_cells(struct simt_check *c, struct line *l, uint64_t address, unsigned bytes, unsigned site)
{
    lock_line(c, l);
    const struct cell_table *t = &strips_of(l)->cells;
    bool settled = l->launch == c->number && l->kind == LINE_CELLS && bytes >> t->log;
    for (unsigned k = 0; settled && k < bytes; k += 1u << t->log) {
        bool listed = t->writes[(address + k) % LINE >> t->log] == LISTED;
        const struct history *h = listed ? simt_history_find(c, NULL, address + k, 1u << t->log) : NULL;
        settled = h && simt_history_settled(h, site);
    }
    unlock_line(c, l);
    return settled;
}

static bool is_settled_place(const struct toucher *t, uint64_t address, unsigned site)
{
    const struct access *a = t->access;
    struct line *l = global_line(a, address);
    unsigned log = l ? pairs_log(a->check, l) : 0;
    if (!l || log == PAIR_SIZES) return l && are_settled_cells(a->check, l, address, a->bytes, site);
    bool settled = a->bytes >> log;
    for (unsigned k = 0; settled && k < a->bytes; k += 1u << log)
        settled = is_settled_pair(t, pair_at(l, log, address + k), address + k, 1u << log, site);
    return settled;
}

bool simt_swaps_again(const struct warp *w, const struct insn *i, const uint64_t *from, uint32_t m)
{
    struct block *b = w->worker->observed;
    const struct span *s = &b->spans[i->d2];
    const struct access a = {.check = b->check, .block = b, .insn = i, .bytes = i->size};
    const struct toucher t = {.access = &a};
    unsigned site = i->memory == MEMORY_ATOMIC ? b->check->site_of[w->pc] : 0;
    uint64_t room = s->high - s->low, last = 0, imm = (uint64_t)i->imm;
    if (b->check->releases_some || b->reach || s->quiet || room < a.bytes || imm % a.bytes) return false;
    if (!b->check->vectors->within(from, m, s->low - imm, room - a.bytes, a.bytes - 1)) return false;
    EACH_LANE(l, m)
    {
        uint64_t address = from[l] + imm;
        if (address != last && !is_settled_place(&t, address, site)) return false;
        last = address;
    }
    return true;
}

/* ---- lines ---- */
bool simt_has_pairs(const struct simt_check *c, struct line *l, uint32_t bytes)
{
    unsigned log = pairs_log(c, l);
    return log < PAIR_SIZES && bytes >> log;
}

bool simt_pairs_touch(const struct access *a, struct line *l, unsigned lane)
{
    unsigned log = pairs_log(a->check, l);
    if (log == PAIR_SIZES) return false;
    const struct toucher t = simt_toucher_of(a);
    return simt_pair_touch(&t, pair_at(l, log, a->at[lane]), log, lane);
}

bool simt_pairs_count(const struct access *a, struct line *l, unsigned lane)
{
    unsigned log = pairs_log(a->check, l);
    if (log == PAIR_SIZES || a->bytes >> log != 1) return false;
    const struct toucher t = simt_toucher_of(a);
    pair *p = pair_at(l, log, a->at[lane]);
    uint64_t v = take(a->check, p), to = v;
    bool counts = !t.now.exact && t.moment != MOMENTS && v < PAIR_LISTED && v >> 32 &&
                  record_special(lengthened(a->check, v >> 32)) &&
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
