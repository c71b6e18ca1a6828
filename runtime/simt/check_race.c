/* Who touched which bytes of shared and global memory, and the rule for what is a race.
 *
 * Each cell of a line (4 bytes, or fewer where bytes are written one by one) has three records: the last write, and two
 * readers since. Two are enough to find out whether any reader races with a later write: readers that are ordered
 * before a new one give way to it, and of readers in one block one gives way to a reader in another. Atomics do not
 * race with each other: the write before an atomic, and another thread's atomic, stay beside the readers, since what
 * follows may race with them though not with the last one. So does a store that does not race with the next one, which
 * stores the same or is volatile as it is; by its site it is told from readers. Where threads are ordered one by one,
 * by atomics, three records may be too few: such a cell gets a list (check_history.c). The common case, a warp that
 * touches neighbours and races with nobody, compares and updates all cells of a line in one loop that the compiler
 * makes vector code of.
 */
#include <string.h>
#include "runtime/simt/check_lines.h"

/* ---- lines ---- */
/* Records of earlier launches are as none. */
static void refresh(const struct simt_check *c, struct line *l)
{
    if (l->launch == c->number) return;
    set_line(c, l, LINE_STRIPS);
    memset(strips_of(l)->words, 0, sizeof strips_of(l)->words);
}

/* ---- accesses ---- */
static unsigned log_of(uint32_t bytes)
{
    return bytes >= 4 ? 2 : bytes >= 2 ? 1 : 0;
}

/* n <= 32 cells side by side; cell k is touched by lane first + ((skip + k) >> shift). False: look closer. */
static bool touch_cells(const struct access *a, record *w, uint32_t all, unsigned n, unsigned first, unsigned skip,
                        unsigned shift, const struct now *t)
{
    struct cells c;
    record me = record_of(a, t->shared) + ((uint64_t)first << THREAD_AT), *x = w + all, *y = x + all;
    memcpy(c.w, w, n * sizeof *w);
    memcpy(c.a, x, n * sizeof *w);
    memcpy(c.b, y, n * sizeof *w);
    unsigned judged = n > 16 ? SIMT_WARP : 16;
    for (unsigned k = 0; k < judged; k++) c.me[k] = me + ((uint64_t)((skip + k) >> shift) << THREAD_AT);
    for (unsigned k = n; k < judged; k++) { /* as the first */
        c.w[k] = c.w[0], c.a[k] = c.a[0], c.b[k] = c.b[0], c.me[k] = c.me[0];
    }
    bool write = a->kind == ACCESS_WRITE;
    uint64_t flags = a->check->vectors->judge(&c, judged, t, write);
    if (flags & CELLS_BAD) return false;
    if (!(flags & CELLS_CHANGED)) return true;
    if (write) memcpy(w, c.w, n * sizeof *w);
    memcpy(x, c.a, n * sizeof *w);
    memcpy(y, c.b, n * sizeof *w);
    return true;
}

/* n lanes from `first` on have left their records. */
static void note_judged(const struct access *a, unsigned first, unsigned n)
{
    a->block->judged |= (uint32_t)(((UINT64_C(1) << n) - 1) << first);
}

/* Neighbours from lane `first` on; `bytes` of them from cell on, `offset` bytes behind what the first lane touches. */
static void touch_run(const struct access *a, const struct cell_table *l, uint32_t all, uint32_t cell, unsigned bytes,
                      unsigned first, unsigned offset, bool shared)
{
    unsigned n = bytes >> l->log, shift = (unsigned)__builtin_ctz(a->bytes) - l->log, skip = offset >> l->log;
    struct now t = now_of(a, shared);
    for (unsigned k = 0, part; k < n; k += part) {
        part = n - k < SIMT_WARP ? n - k : SIMT_WARP;
        if (!replaces_none(a) && !a->alike && part > FEW &&
            touch_cells(a, l->writes + cell + k, all, part, first, skip + k, shift, &t)) {
            note_judged(a, first + ((skip + k) >> shift), (part + (1u << shift) - 1) >> shift);
            continue;
        }
        unsigned step = a->bytes >> l->log;
        for (unsigned j = 0; j < part; j += step)
            simt_race_cells(a, first + ((skip + k + j) >> shift), shared, l, cell + k + j, all);
    }
}
bool simt_race_row(const struct access *a, uint64_t address, unsigned first, unsigned lanes)
{
    unsigned step = LINE / a->bytes, shift = (unsigned)__builtin_ctz(a->bytes) - 2;
    bool ok = true, write = a->kind == ACCESS_WRITE;
    struct line *l = NULL;
    if (simt_counters_hold(a->block, address, lanes * a->bytes)) simt_counters_pour(a->block);
    if (a->check->exact && !write) {
        const uint64_t at[2] = {address, address + (first ? 0 : 16 * a->bytes)};
        simt_readers_note_rows(a->block, a->insn, a->me, at, a->bytes, lanes == 32 ? FULL : (uint32_t)0xffff << first);
    }
    const struct now now = now_of(a, false);
    for (unsigned lane = first; ok && lane < first + lanes; lane += step, address += LINE) {
        struct stretch s = stretch_at(address, LINE, a->me + ((uint64_t)lane << THREAD_AT), shift);
        l = l && address % (1u << SHADOW_CHUNK) ? l + 1 : global_line(a, address);
        if (!made(a, l != NULL)) return true;
        __builtin_prefetch(l + AHEAD, 1);
        if (!write && is_settled(a->check, l, s.words)) continue;
        lock_line(a->check, l);
        ok = touch_strips(a->check, l, &s, &now, write);
        if (ok && write && a->check->parallel) simt_race_store(a, address, LINE, lane);
        unlock_line(a->check, l);
    }
    return ok;
}

/* Neighbours from a lane on, of one line. */
static bool run_in_strips(const struct access *a, struct line *l, uint64_t at, unsigned bytes, unsigned lane)
{
    if (replaces_none(a) || a->alike || (at | bytes) % 4) return false;
    bool alone = bytes <= a->bytes, write = a->kind == ACCESS_WRITE;
    unsigned shift = alone ? ONE_LANE : shift_of(a->bytes);
    struct stretch s = stretch_at(at, bytes, a->me + ((uint64_t)lane << THREAD_AT), shift);
    struct now t = now_of(a, false);
    if (!alone) return touch_strips(a->check, l, &s, &t, write);
    refresh(a->check, l);
    return simt_strips_touch(l, &s, &t, write);
}

/* Which words of a line's cells of 4 bytes nobody needs to hear of who reads: those of two blocks that nobody has
 * written. */
static void settle(struct line *l, const struct cell_table *t, uint64_t at, unsigned bytes)
{
    const record *w = t->writes;
    const unsigned n = LINE / 4, first = (unsigned)(at % LINE) / 4;
    for (unsigned k = first; t->log == 2 && k < first + bytes / 4; k++) {
        bool special = (w[n + k] | w[2 * n + k]) / (MAX_SITES / 2) & 1;
        bool both = !w[k] && w[n + k] && w[2 * n + k] && (w[n + k] ^ w[2 * n + k]) >= BLOCK_SPAN;
        if (both && !special) l->settled |= (uint16_t)(1u << k);
    }
}

/* Lanes from `first` on touch neighbours from `start` on, of which `bytes` from an address on are in the line. */
static void run_in_line(const struct access *a, struct line *l, uint64_t start, uint64_t at, unsigned bytes,
                        unsigned first)
{
    unsigned offset = (unsigned)(at - start), lane = first + offset / a->bytes;
    lock_line(a->check, l);
    bool fits = run_in_strips(a, l, at, bytes, lane);
    if (fits) note_judged(a, lane, (bytes + a->bytes - 1) / a->bytes);
    if (!fits) refresh(a->check, l);
    bool pairs = !fits && l->kind & LINE_PAIRS;
    if (!fits && made(a, simt_shadow_line(a->check, l, log_of(a->bytes)))) {
        if (pairs) simt_let_stores_land(a->block); /* by lanes that found the pairs */
        const struct cell_table *t = &strips_of(l)->cells;
        if (a->kind != ACCESS_READ) l->settled = 0;
        touch_run(a, t, LINE >> t->log, (uint32_t)(at % LINE) >> t->log, bytes, first, offset, false);
        if (a->kind == ACCESS_READ && a->check->by_warps && !replaces_none(a)) settle(l, t, at, bytes);
    }
    if (a->kind == ACCESS_WRITE && a->check->parallel) simt_race_store(a, at, bytes, lane);
    unlock_line(a->check, l);
}

/* Lane by lane; those that pairs can't say anything of go the other way. */
static void run_in_pairs(const struct access *a, struct line *l, uint64_t at, unsigned bytes, unsigned lane)
{
    for (uint64_t end = at + bytes; at < end; at += a->bytes, lane++)
        if (a->alike || !simt_pairs_touch(a, l, lane)) run_in_line(a, l, at, at, a->bytes, lane);
}

static void global_run(const struct access *a, unsigned first, unsigned n)
{
    uint64_t start = a->at[first], end = start + (uint64_t)n * a->bytes;
    for (uint64_t at = start, next; at < end; at = next) {
        next = (at / LINE + 1) * LINE;
        if (next > end) next = end;
        struct line *l = global_line(a, at);
        if (!made(a, l != NULL)) return;
        if (simt_has_pairs(a->check, l, a->bytes))
            run_in_pairs(a, l, at, (unsigned)(next - at), first + (unsigned)(at - start) / a->bytes);
        else
            run_in_line(a, l, start, at, (unsigned)(next - at), first);
    }
}

static void shared_run(const struct access *a, unsigned first, unsigned n)
{
    struct cell_table *l = &a->block->shared;
    uint32_t bytes = (a->block->worker->shared_bytes + 31) & ~31u;
    if (!made(a, simt_shadow_shared(l, bytes, log_of(a->bytes)))) return;
    touch_run(a, l, bytes >> l->log, (uint32_t)a->at[first] >> l->log, n * a->bytes, first, 0, true);
}

static void run_of(const struct access *a, unsigned first, unsigned n, bool shared)
{
    if (shared)
        shared_run(a, first, n);
    else
        global_run(a, first, n);
}

/* ---- lanes that are no neighbours ---- */
/* Where the records of the cells stand that lanes touch. False: some have none of this size. */
static bool shared_cells(const struct access *a, const uint64_t *at, record **cells, uint32_t *all)
{
    struct cell_table *l = &a->block->shared;
    unsigned log = log_of(a->bytes);
    uint32_t bytes = (a->block->worker->shared_bytes + 31) & ~31u;
    if (!made(a, simt_shadow_shared(l, bytes, log)) || l->log != log) return false;
    *all = bytes >> log;
    for (int k = 0; k < SIMT_WARP; k++) cells[k] = l->writes + (at[k] >> log);
    return true;
}

/* Lanes whose cell another lane of the instruction recorded itself for. */
static uint32_t overtaken(record *const *cells, const struct cells *c, uint32_t m, uint32_t offset)
{
    uint32_t lost = 0;
    EACH_LANE(l, m) lost |= (uint32_t)(cells[l][offset] != c->me[l]) << l;
    return lost;
}

/* Shared memory: stores what was judged. What several lanes of a read touch has two readers; what several lanes write
 * is looked at more closely. */
static void store_cells(const struct access *a, record *const *cells, const struct cells *c, uint32_t m, uint32_t all)
{
    const struct cell_table *line = &a->block->shared;
    bool write = a->kind == ACCESS_WRITE;
    uint32_t offset = write ? 0 : all, first = 0;
    EACH_LANE(l, m)
    {
        bool mine = (write ? c->w[l] : c->a[l]) == c->me[l];
        first |= (uint32_t)mine << l;
        if (write) cells[l][0] = c->w[l];
        if (write || mine) cells[l][all] = c->a[l];
        if (write || mine || c->b[l] == c->me[l]) cells[l][2 * all] = c->b[l];
    }
    uint32_t lost = overtaken(cells, c, first, offset);
    if (write) a->block->judged |= m & ~lost;
    EACH_LANE_OF(lane, lost)
    {
        if (write)
            simt_race_cells(a, lane, true, line, (uint32_t)(cells[lane] - line->writes), all);
        else
            cells[lane][2 * all] = c->me[lane];
    }
}

/* Shared memory: looks at the lanes' cells all at once. */
static bool touch_scattered(const struct access *a, uint32_t m)
{
    if (replaces_none(a) || a->bytes > 4) return false;
    const uint64_t *at = a->at;
    uint64_t filled[SIMT_WARP];
    unsigned one = (unsigned)__builtin_ctz(m);
    if (m != FULL) { /* the others do as one of them does */
        for (unsigned l = 0; l < SIMT_WARP; l++) filled[l] = at[m >> l & 1 ? l : one];
        at = filled;
    }
    record *cells[SIMT_WARP], me = record_of(a, true);
    struct now t = now_of(a, true);
    struct cells c;
    uint32_t all;
    if (!shared_cells(a, at, cells, &all)) return false;
    for (unsigned l = 0; l < SIMT_WARP; l++) {
        c.w[l] = cells[l][0], c.a[l] = cells[l][all], c.b[l] = cells[l][2 * all];
        c.me[l] = me + ((uint64_t)l << THREAD_AT);
    }
    EACH_LANE(l, ~m) c.me[l] = c.me[one];
    uint64_t flags = a->check->vectors->judge(&c, SIMT_WARP, &t, a->kind == ACCESS_WRITE);
    if (flags & CELLS_BAD) return false;
    if (flags & CELLS_CHANGED) store_cells(a, cells, &c, m, all);
    return true;
}
static bool neighbours(const struct access *a, unsigned first, unsigned n)
{
    uint64_t apart = 0;
    for (unsigned k = 0; k < n; k++) apart |= a->at[first + k] ^ (a->at[first] + (uint64_t)k * a->bytes);
    return !apart;
}

/* The lanes of m that begin runs of neighbours. */
static uint32_t runs_of(const struct access *a, uint32_t m)
{
    uint32_t same = 0;
    for (unsigned l = 1; l < SIMT_WARP; l++) same |= (uint32_t)(a->at[l] == a->at[l - 1] + a->bytes) << l;
    return m & ~(same & m << 1);
}

uint32_t simt_race_distinct(const struct access *a, uint32_t m)
{
    uint32_t kept = 0;
    uint64_t last = UINT64_MAX, before = UINT64_MAX; /* where no lane is: shared memory begins at 0 */
    unsigned warp = (unsigned)a->warp->index, one = 0, other = 0;
    bool apart = simt_check_differ(a->block, warp);
    EACH_LANE(l, m)
    {
        bool repeats = kept && a->at[l] == last && a->at[l] == before;
        if (apart && repeats)
            repeats =
                !simt_check_lanes_differ(a->block, warp, l, one) && !simt_check_lanes_differ(a->block, warp, l, other);
        kept |= (uint32_t)!repeats << l;
        before = last;
        last = a->at[l];
        other = one;
        one = l;
    }
    return kept;
}

/* Where every reader is kept: of lanes that read one place, before which the same is ordered, the second stands for
 * those behind it. The others. */
static uint32_t touch_alike(const struct access *a, uint32_t m, bool shared)
{
    struct access one = *a;
    uint32_t others = 0;
    unsigned warp = (unsigned)a->warp->index;
    bool apart = simt_check_differ(a->block, warp);
    for (uint32_t left = m, same; left; left &= ~same) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        same = 0;
        for (unsigned l = 0; l < SIMT_WARP; l++) same |= (uint32_t)(a->at[l] == a->at[lane]) << l;
        same &= left;
        EACH_LANE(l, apart ? same : 0) same &= ~((uint32_t)simt_check_lanes_differ(a->block, warp, l, lane) << l);
        uint32_t behind = same & (same - 1);
        if (!behind) {
            others |= same;
            continue;
        }
        run_of(&one, lane, 1, shared);
        one.alike = behind & (behind - 1);
        run_of(&one, (unsigned)__builtin_ctz(behind), 1, shared);
        one.alike = 0;
    }
    return others;
}

bool simt_race_stand_for_all(const struct access *a, record one, record other)
{
    const struct site *sites = a->check->sites;
    if (!record_atomic(sites, one) || !record_atomic(sites, other)) return false;
    if (sites[record_site(one)].fails || sites[record_site(other)].fails) return false;
    if (sites[record_site(one)].kept_of || sites[record_site(other)].kept_of) return false;
    if ((one ^ other) >= BLOCK_SPAN) return true;
    uint32_t met = a->block->met;
    return record_block(one) == record_block(a->me) && record_thread(one) != record_thread(other) &&
           record_time(one) >= met && record_time(other) >= met;
}

bool simt_race_counter(const struct access *a, unsigned lane)
{
    struct line *l = global_line(a, a->at[lane]);
    if (!l) return false;
    if (simt_has_pairs(a->check, l, a->bytes)) return simt_pairs_count(a, l, lane);
    lock_line(a->check, l);
    const struct cell_table *t = &strips_of(l)->cells;
    bool counts = l->launch == a->check->number && l->kind == LINE_CELLS && a->bytes >> t->log == 1;
    if (counts) {
        unsigned n = LINE >> t->log;
        record *w = t->writes + (a->at[lane] % LINE >> t->log);
        const struct history *h =
            a->check->exact && w[0] == LISTED ? simt_history_find(a->check, NULL, a->at[lane], a->bytes) : NULL;
        counts = h && h->counter;
        if (!a->check->exact) counts = record_special(w[0]) && simt_race_stand_for_all(a, w[n], w[2 * n]);
        if (counts && !h) w[0] = a->me + ((uint64_t)lane << THREAD_AT);
    }
    unlock_line(a->check, l);
    return counts;
}

void simt_race_lane(const struct access *a, unsigned lane)
{
    run_in_line(a, global_line(a, a->at[lane]), a->at[lane], a->at[lane], a->bytes, lane);
}

/* Is it a read that check_readers.c is to know of? */
static bool is_reader(const struct access *a, bool shared)
{
    return !shared && a->check->exact && a->kind == ACCESS_READ && !a->site->strong;
}

/* Memory of counters is touched in another way. */
static void leave_counters(const struct access *a, uint32_t m)
{
    bool within = false;
    EACH_LANE(l, a->block->counting ? m : 0) within |= simt_counters_hold(a->block, a->at[l], a->bytes);
    if (within) simt_counters_pour(a->block);
}

/* Of lanes m that read, those that somebody is to hear of. */
static uint32_t unsettled(const struct access *a, uint32_t m)
{
    uint32_t left = m;
    EACH_LANE(l, m)
    {
        struct line *x = global_line(a, a->at[l]);
        uint32_t words = ((1u << (a->bytes + 3) / 4) - 1) << a->at[l] % LINE / 4;
        if (x && is_settled(a->check, x, words)) left &= ~(1u << l);
    }
    return left;
}

static void touch(const struct access *a, uint32_t m, bool shared)
{
    if (!shared && a->block->spans[a->insn->d2].once && simt_once_touch(a, m)) return;
    if (!shared && (a->block->meets_partly || a->check->by_lanes)) {
        uint32_t left = simt_race_met(a, m);
        a->block->judged |= m & ~left;
        if (!(m = left)) return;
    }
    /* What may release something is recorded at once: who reads it may store there before the counters are poured. */
    bool releases = simt_check_fenced(a->block);
    if (!shared && a->kind == ACCESS_ATOMIC && a->bytes == 4 && !releases) {
        m = simt_counters_touch(a, m);
        if (!m) return;
    } else if (!shared) {
        leave_counters(a, m);
    }
    if (a->check->by_warps && is_reader(a, shared) && !(m = unsettled(a, m))) return;
    if (!shared && a->check->exact && simt_knows_some(a->block, (unsigned)a->warp->index)) {
        uint32_t left = simt_race_known(a, m);
        a->block->judged |= m & ~left;
        if (!(m = left)) return;
    }
    unsigned first = (unsigned)__builtin_ctz(m), n = lane_count(m);
    if (is_reader(a, shared) && !a->block->readers.unnoted) simt_readers_note(a, m);
    if (!shared && replaces_none(a)) {
        simt_race_words(a, m);
        return;
    }
    bool side_by_side = m >> first == (n == 32 ? FULL : (1u << n) - 1);
    if (side_by_side && neighbours(a, first, n)) {
        run_of(a, first, n, shared);
        return;
    }
    if (a->kind == ACCESS_READ && a->check->exact && now_of(a, shared).parting) m = touch_alike(a, m, shared);
    if (!m) return;
    uint32_t all = m;
    if (!shared) m = simt_race_own(a, m);
    a->block->judged |= all & ~m;
    if (!m) return;
    if (!shared) m = simt_race_some(a, m);
    a->block->judged |= all & ~m;
    if (!m) return;
    bool rows = n == SIMT_WARP && a->at[0] == a->at[15] && a->at[16] == a->at[31]; /* a value for each half */
    if (a->kind == ACCESS_READ && rows) m = simt_race_distinct(a, m);
    if (shared && lane_count(m) > FEW && touch_scattered(a, m)) return;
    uint32_t runs = runs_of(a, m);
    if (4 * lane_count(runs) <= lane_count(m)) {
        EACH_LANE(l, runs)
        {
            uint32_t behind = ~m | (runs & ~(1u << l)); /* lanes at which the run is over */
            uint32_t past = behind & (UINT32_MAX << l);
            run_of(a, l, past ? (unsigned)__builtin_ctz(past) - l : SIMT_WARP - l, shared);
        }
        return;
    }
    if (a->kind == ACCESS_READ) m = simt_race_distinct(a, m);
    if (!shared) {
        simt_race_words(a, m);
        return;
    }
    EACH_LANE(l, m) run_of(a, l, 1, shared);
}

void simt_race_touch(const struct access *a, uint32_t m, bool shared)
{
    const struct insn *code = a->check->program->code;
    bool *unnoted = &a->block->readers.unnoted, was = *unnoted; /* what is kept elsewhere may be touched in between */
    if (a->check->scoped && a->site->strong && !shared) simt_scope_touch(a, m);
    a->block->judged = 0;
    bool noted = a->insn >= code && a->insn < code + a->check->program->code_count && !a->block->readers.at_once;
    *unnoted = is_reader(a, shared) && !noted;
    touch(a, m, shared);
    *unnoted = was;
}
