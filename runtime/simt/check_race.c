/* Who touched which bytes of shared and global memory, and the rule for what is a race.
 *
 * Each cell of a line (4 bytes, or fewer where bytes are written one by one) has three records: the last write, and two
 * readers since. Two are enough to find out whether any reader races with a later write: readers that are ordered
 * before a new one give way to it, and of readers in one block one gives way to a reader in another. Atomics do not
 * race with each other: the write before an atomic, and another thread's atomic, stay beside the readers, since what
 * follows may race with them though not with the last one. The common case, a
 * warp that touches neighbours and races with nobody, compares and updates all cells of a line in one loop that the
 * compiler makes vector code of. */
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/check_lines.h"
#include "runtime/simt/tally.h"

#define FEW 4 /* cells that are better looked at one by one */

/* ---- lines ---- */
static inline struct line *global_line(const struct access *a, uint64_t address)
{
    return line_at(&a->block->spans[a->insn->d2], address);
}

/* Records of earlier launches are as none. */
static void refresh(const struct simt_check *c, struct line *l)
{
    if (l->launch == c->number) return;
    set_line(c, l, LINE_STRIPS);
    memset(strips_of(l)->words, 0, sizeof strips_of(l)->words);
}

static struct now now_of(const struct access *a, bool shared)
{
    return now_of_warp(a->block, a->warp, shared);
}

/* ---- one cell ---- */
struct actor {
    const struct access *access;
    unsigned lane;
    record me;
    bool shared;
    record raced[RECORDS]; /* with what; once for an access and a line */
    unsigned races;
};

/* With the number that the block has in global memory's records. */
static record as_global(const struct actor *x, record r)
{
    return x->shared ? (r & (BLOCK_SPAN - 1)) | x->access->block->id : r;
}

static bool absent(const struct actor *x, record r)
{
    return x->shared ? r - x->access->block->shared_id >= BLOCK_SPAN : r == 0;
}

static bool gone(const struct actor *x, record r)
{
    return absent(x, r) ||
           simt_check_ordered(x->access->block, as_global(x, r), (unsigned)x->access->warp->index, x->lane);
}

/* Atomic and volatile accesses, and reads that guess, don't race with each other; but lanes of one warp that pass
 * values through volatile shared memory rely on being in step. */
static bool excused(const struct actor *x, record r)
{
    const struct site *mine = x->access->site, *theirs = &x->access->check->sites[record_site(r)];
    if (!(mine->strong || mine->guesses) || !(theirs->strong || theirs->guesses)) return false;
    bool in_step = x->shared && record_thread(r) / SIMT_WARP == (unsigned)x->access->warp->index;
    return !in_step || !mine->is_volatile || !theirs->is_volatile;
}

static uint64_t stored_value(const struct access *a, unsigned lane, unsigned element)
{
    const uint32_t *slots = a->insn->count == 1 ? &a->insn->d : a->block->worker->program->extra + a->insn->extra;
    uint64_t v =
        a->insn->flags & F_WIDE ? u64_at(a->regs, slots[element])[lane] : u32_at(a->regs, slots[element])[lane];
    return a->insn->size < 8 ? v & ((UINT64_C(1) << 8 * a->insn->size) - 1) : v;
}

/* Did another lane of this very instruction make the record? */
static bool is_of_this(const struct actor *x, record r)
{
    const struct access *a = x->access;
    unsigned other = record_thread(r) % SIMT_WARP;
    return ((r ^ x->me) & ~(UINT64_C(31) << THREAD_AT)) == 0 && a->at[other] == a->at[x->lane];
}

/* Would the store leave memory as it is, or as the other lane's store leaves it? */
static bool same_value(const struct actor *x, record r)
{
    const struct access *a = x->access;
    if (a->kind != ACCESS_WRITE || is_opaque(a)) return false;
    bool lanes = is_of_this(x, r);
    simt_tally_settle(a->block->worker);
    const char *p = x->shared ? a->warp->shared + a->at[x->lane] : (const char *)simt_host(a->at[x->lane]);
    for (unsigned k = 0; k < a->insn->count; k++) {
        uint64_t there = 0, v = stored_value(a, x->lane, k);
        if (lanes)
            there = stored_value(a, record_thread(r) % SIMT_WARP, k);
        else
            memcpy(&there, p + k * a->insn->size, a->insn->size);
        if (there != v) return false;
    }
    return true;
}

/* A bulk copy in shared memory goes on behind its instruction, which is then the first. */
static void tell_bulk(const struct simt_check *c, struct simt_report *r, record me, record other)
{
    const struct site *mine = &c->sites[record_site(me)], *others = &c->sites[record_site(other)];
    if (mine->bulk == others->bulk) return;
    if (others->bulk) {
        struct simt_party t = r->first;
        r->first = r->other;
        r->other = t;
    }
    r->under_way = r->first.access == ACCESS_READ ? UNDER_WAY_SOURCE : UNDER_WAY_BULK;
}

static void report_race(struct actor *x, record other)
{
    const struct access *a = x->access;
    struct simt_check *c = a->check;
    for (unsigned k = 0; k < x->races; k++)
        if (record_site(x->raced[k]) == record_site(other)) return;
    if (x->races == RECORDS) return;
    x->raced[x->races++] = other;
    struct simt_report r = {.kind = CHECK_RACE,
                            .space = x->shared ? PTX_SHARED : PTX_GLOBAL,
                            .address = a->at[x->lane],
                            .size = a->bytes,
                            .has_other = true,
                            .first = simt_party_of(c, a->block, as_global(x, x->me)),
                            .other = simt_party_of(c, a->block, as_global(x, other))};
    if (x->shared) tell_bulk(c, &r, x->me, other);
    simt_check_name(c, &r);
    simt_check_report(c, &r);
}

static void note_reader(const struct actor *x, record *a, record *b)
{
    if (gone(x, *a)) {
        *a = x->me;
        if (gone(x, *b)) *b = 0;
    } else if (gone(x, *b)) {
        *b = x->me;
    } else if (record_atomic(*b) ? !record_atomic(x->me)
                                 : record_block(*a) == record_block(*b) && record_block(*a) != record_block(x->me)) {
        *b = x->me; /* atomics race with less than others do */
    }
}

static bool is_writing_atomic(const struct actor *x, record r)
{
    return record_atomic(r) && !x->access->check->sites[record_site(r)].fails;
}

static void read_cell(struct actor *x, record *w, record *a, record *b)
{
    const record past[RECORDS] = {*w, is_writing_atomic(x, *a) ? *a : 0, is_writing_atomic(x, *b) ? *b : 0};
    for (int k = 0; k < RECORDS; k++)
        if (!gone(x, past[k]) && !excused(x, past[k])) report_race(x, past[k]);
    note_reader(x, a, b);
}

/* Is it over for all threads that can touch the cell? */
static bool is_past(const struct actor *x, record r)
{
    return absent(x, r) || (x->shared && record_time(r) < x->access->block->met);
}

/* May r, which the atomic at hand follows, take the place of a record? Of the same thread, or of an atomic before. */
static bool gives_way(const struct actor *x, record past, record r)
{
    return is_past(x, past) || (record_atomic(past) && (((past ^ r) & WHO_MASK) == 0 || gone(x, past)));
}

/* An atomic follows the write or atomic r. */
static void keep_past(const struct actor *x, record r, record *a, record *b)
{
    if (is_past(x, r) || (record_atomic(r) && gone(x, r))) return;
    bool one_block = record_block(*a) == record_block(*b);
    if (gives_way(x, *a, r))
        *a = r;
    else if (gives_way(x, *b, r) || (one_block && gone(x, *b)))
        *b = r;
    else if (record_atomic(*b) && (!record_atomic(r) || (one_block && record_block(*a) != record_block(r))))
        *b = r;
}

static void write_cell(struct actor *x, record *w, record *a, record *b)
{
    bool atomic = x->access->kind == ACCESS_ATOMIC;
    if (!gone(x, *a) && !excused(x, *a)) report_race(x, *a);
    if (!gone(x, *b) && !excused(x, *b)) report_race(x, *b);
    bool apart = !gone(x, *w), fine = apart && excused(x, *w);
    if (apart && !fine && !same_value(x, *w)) report_race(x, *w);
    if (atomic)
        keep_past(x, *w, a, b);
    else
        *a = *b = 0;
    *w = x->me;
}

static void touch(struct actor *x, record *w, uint32_t all, unsigned n)
{
    record *a = w + all, *b = a + all;
    for (unsigned k = 0; k < n; k++) {
        if (x->access->kind == ACCESS_READ)
            read_cell(x, w + k, a + k, b + k);
        else
            write_cell(x, w + k, a + k, b + k);
    }
}

/* ---- accesses ---- */
static record me_of(const struct access *a, bool shared)
{
    return shared ? (a->me & WITHIN) | a->block->shared_id : a->me;
}

static unsigned log_of(uint32_t bytes)
{
    return bytes >= 4 ? 2 : bytes >= 2 ? 1 : 0;
}

static bool made(const struct access *a, bool ok)
{
    if (!ok) atomic_store(&a->check->no_memory, true);
    return ok;
}

static void touch_lane(const struct access *a, unsigned lane, bool shared, const struct cell_table *t, uint32_t first,
                       uint32_t all)
{
    struct actor x = {
        .access = a, .lane = lane, .me = me_of(a, shared) + ((uint64_t)lane << THREAD_AT), .shared = shared};
    touch(&x, t->writes + first, all, a->bytes >> t->log);
}

/* n <= 32 cells side by side; cell k is touched by lane first + ((skip + k) >> shift). False: look closer. */
static bool touch_cells(const struct access *a, record *w, uint32_t all, unsigned n, unsigned first, unsigned skip,
                        unsigned shift, const struct now *t)
{
    struct cells c;
    record me = me_of(a, t->shared) + ((uint64_t)first << THREAD_AT), *x = w + all, *y = x + all;
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

/* Neighbours from lane `first` on; `bytes` of them from cell on, `offset` bytes behind what the first lane touches. */
static void touch_run(const struct access *a, const struct cell_table *l, uint32_t all, uint32_t cell, unsigned bytes,
                      unsigned first, unsigned offset, bool shared)
{
    unsigned n = bytes >> l->log, shift = (unsigned)__builtin_ctz(a->bytes) - l->log, skip = offset >> l->log;
    struct now t = now_of(a, shared);
    for (unsigned k = 0, part; k < n; k += part) {
        part = n - k < SIMT_WARP ? n - k : SIMT_WARP;
        if (a->kind != ACCESS_ATOMIC && part > FEW &&
            touch_cells(a, l->writes + cell + k, all, part, first, skip + k, shift, &t))
            continue;
        unsigned step = a->bytes >> l->log;
        for (unsigned j = 0; j < part; j += step)
            touch_lane(a, first + ((skip + k + j) >> shift), shared, l, cell + k + j, all);
    }
}

/* Stores `bytes` bytes at an address, those of the lanes from `lane` on, before the instruction does: who finds the
 * record of a write, on another host thread, finds its value too, and can tell that it would write the same. */
static void store_now(const struct access *a, uint64_t address, unsigned bytes, unsigned lane)
{
    const struct insn *i = a->insn;
    char *p = simt_host(address);
    if (is_opaque(a)) return;
    if (i->count == 1 && i->size == (i->flags & F_WIDE ? 8 : 4)) {
        memcpy(p, a->regs + i->d + (size_t)lane * i->size, bytes);
        return;
    }
    for (const char *end = p + bytes; p < end; lane++)
        for (unsigned k = 0; k < i->count; k++, p += i->size) {
            uint64_t v = stored_value(a, lane, k);
            memcpy(p, &v, i->size);
        }
}

bool simt_race_row(const struct access *a, uint64_t address, unsigned first, unsigned lanes)
{
    const struct counters *t = &a->block->counters;
    unsigned step = LINE / a->bytes, shift = (unsigned)__builtin_ctz(a->bytes) - 2;
    bool ok = true, write = a->kind == ACCESS_WRITE;
    struct now now = now_of(a, false);
    struct line *l = NULL;
    if (t->used && address - t->low + lanes * a->bytes < 4 * (uint64_t)t->cells + lanes * a->bytes)
        simt_counters_pour(a->block);
    for (unsigned lane = first; ok && lane < first + lanes; lane += step, address += LINE) {
        struct stretch s = stretch_at(address, LINE, a->me + ((uint64_t)lane << THREAD_AT), shift);
        l = l && address % (1u << SHADOW_CHUNK) ? l + 1 : global_line(a, address);
        if (!made(a, l != NULL)) return true;
        __builtin_prefetch(l + AHEAD, 1);
        if (!write && is_settled(a->check, l, s.words)) continue;
        lock_line(a->check, l);
        ok = touch_strips(a->check, l, &s, &now, write);
        if (ok && write && a->check->parallel) store_now(a, address, LINE, lane);
        unlock_line(a->check, l);
    }
    return ok;
}

/* Neighbours from a lane on, of one line. */
static bool run_in_strips(const struct access *a, struct line *l, uint64_t at, unsigned bytes, unsigned lane)
{
    if (a->kind == ACCESS_ATOMIC || a->bytes < 4 || l->kind == LINE_CELLS) return false;
    bool alone = bytes <= a->bytes;
    unsigned shift = alone ? ONE_LANE : (unsigned)__builtin_ctz(a->bytes) - 2;
    struct stretch s = stretch_at(at, bytes, a->me + ((uint64_t)lane << THREAD_AT), shift);
    struct now t = now_of(a, false);
    return simt_strips_touch(l, &s, &t, a->kind == ACCESS_WRITE);
}

static void global_run(const struct access *a, unsigned first, unsigned n)
{
    uint64_t start = a->at[first], end = start + (uint64_t)n * a->bytes;
    for (uint64_t at = start, next; at < end; at = next) {
        next = (at / LINE + 1) * LINE;
        if (next > end) next = end;
        unsigned offset = (unsigned)(at - start), bytes = (unsigned)(next - at);
        struct line *l = global_line(a, at);
        if (!made(a, l != NULL)) return;
        lock_line(a->check, l);
        refresh(a->check, l);
        if (!run_in_strips(a, l, at, bytes, first + offset / a->bytes) &&
            made(a, simt_shadow_line(a->check, l, log_of(a->bytes)))) {
            struct strips *d = strips_of(l);
            memset(d->words, 0xff, sizeof d->words);
            touch_run(a, &d->cells, LINE >> d->cells.log, (uint32_t)(at % LINE) >> d->cells.log, bytes, first, offset,
                      false);
        }
        if (a->kind == ACCESS_WRITE && a->check->parallel) store_now(a, at, bytes, first + offset / a->bytes);
        unlock_line(a->check, l);
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
    EACH_LANE_OF(lane, overtaken(cells, c, first, offset))
    {
        if (write)
            touch_lane(a, lane, true, line, (uint32_t)(cells[lane] - line->writes), all);
        else
            cells[lane][2 * all] = c->me[lane];
    }
}

/* Shared memory: looks at the lanes' cells all at once. */
static bool touch_scattered(const struct access *a, uint32_t m)
{
    if (a->kind == ACCESS_ATOMIC || a->bytes > 4) return false;
    const uint64_t *at = a->at;
    uint64_t filled[SIMT_WARP];
    unsigned one = (unsigned)__builtin_ctz(m);
    if (m != FULL) { /* the others do as one of them does */
        for (unsigned l = 0; l < SIMT_WARP; l++) filled[l] = at[m >> l & 1 ? l : one];
        at = filled;
    }
    record *cells[SIMT_WARP], me = me_of(a, true);
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

/* Global memory: lane by lane. */
static void touch_alone(const struct access *a, uint32_t m)
{
    struct now t = now_of(a, false);
    bool write = a->kind == ACCESS_WRITE;
    uint32_t moment = lane_count(m) > FEW ? moment_of(a) : MOMENTS;
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
        if (ok && write && a->check->parallel) store_now(a, at, a->bytes, lane);
        unlock_line(a->check, l);
        if (!ok) run_of(a, lane, 1, false);
    }
}

static bool neighbours(const struct access *a, unsigned first, unsigned n)
{
    uint64_t apart = 0;
    for (unsigned k = 0; k < n; k++) apart |= a->at[first + k] ^ (a->at[first] + (uint64_t)k * a->bytes);
    return !apart;
}

uint32_t simt_race_distinct(const struct access *a, uint32_t m)
{
    uint32_t kept = 0;
    uint64_t last = 0, before = 0;
    EACH_LANE(l, m)
    {
        bool repeats = kept && a->at[l] == last && a->at[l] == before;
        kept |= (uint32_t)!repeats << l;
        before = last;
        last = a->at[l];
    }
    return kept;
}

/* Do two atomics of a cell race with whatever any atomic races with? Those of two blocks, or of this one's threads. */
static bool stand_for_all(const struct access *a, record one, record other)
{
    const struct site *sites = a->check->sites;
    if (!record_atomic(one) || !record_atomic(other)) return false;
    if (sites[record_site(one)].fails || sites[record_site(other)].fails) return false;
    if ((one ^ other) >= BLOCK_SPAN) return true;
    uint32_t met = a->block->met;
    return record_block(one) == record_block(a->me) && record_thread(one) != record_thread(other) &&
           record_time(one) >= met && record_time(other) >= met;
}

bool simt_race_counter(const struct access *a, unsigned lane)
{
    struct line *l = global_line(a, a->at[lane]);
    if (!l) return false;
    lock_line(a->check, l);
    const struct cell_table *t = &strips_of(l)->cells;
    bool counts = l->launch == a->check->number && l->kind == LINE_CELLS && a->bytes >> t->log == 1;
    if (counts) {
        unsigned n = LINE >> t->log;
        record *w = t->writes + (a->at[lane] % LINE >> t->log);
        counts = record_atomic(w[0]) && stand_for_all(a, w[n], w[2 * n]);
        if (counts) w[0] = a->me + ((uint64_t)lane << THREAD_AT);
    }
    unlock_line(a->check, l);
    return counts;
}

void simt_race_lane(const struct access *a, unsigned lane)
{
    run_of(a, lane, 1, false);
}

/* Memory of counters is touched in another way. */
static void leave_counters(const struct access *a, uint32_t m)
{
    const struct counters *t = &a->block->counters;
    bool within = false;
    EACH_LANE(l, t->used ? m : 0) within |= a->at[l] - t->low + a->bytes < 4 * (uint64_t)t->cells + a->bytes;
    if (within) simt_counters_pour(a->block);
}

void simt_race_touch(const struct access *a, uint32_t m, bool shared)
{
    if (!shared && a->kind == ACCESS_ATOMIC && a->bytes == 4) {
        m = simt_counters_touch(a, m);
        if (!m) return;
    } else if (!shared) {
        leave_counters(a, m);
    }
    unsigned first = (unsigned)__builtin_ctz(m), n = lane_count(m);
    bool side_by_side = m >> first == (n == 32 ? FULL : (1u << n) - 1);
    if (side_by_side && neighbours(a, first, n)) {
        run_of(a, first, n, shared);
        return;
    }
    bool rows = n == SIMT_WARP && a->at[0] == a->at[15] && a->at[16] == a->at[31]; /* a value for each half */
    if (a->kind == ACCESS_READ && rows) m = simt_race_distinct(a, m);
    if (shared && lane_count(m) > FEW && touch_scattered(a, m)) return;
    if (m == FULL && neighbours(a, 0, 16) && neighbours(a, 16, 16)) {
        run_of(a, 0, 16, shared);
        run_of(a, 16, 16, shared);
        return;
    }
    if (a->kind == ACCESS_READ) m = simt_race_distinct(a, m);
    bool atomic = a->kind == ACCESS_ATOMIC && !shared;
    if (!shared && !atomic && a->bytes >= 4) {
        touch_alone(a, m);
        return;
    }
    EACH_LANE(l, m)
    if (!atomic || !simt_race_counter(a, l)) run_of(a, l, 1, shared);
}
