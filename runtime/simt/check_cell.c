/* One cell, or the few of one lane, looked at closely: what is a race, which records stay, what is told. */
#include <string.h>
#include "runtime/simt/check_order.h"
#include "runtime/simt/tally.h"

#define MOST_RACES 32

struct actor {
    const struct access *access;
    unsigned lane;
    record me;
    bool shared;
    unsigned offset;          /* of the cell in what the lane touches */
    record raced[MOST_RACES]; /* with what; once for an access and a line */
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
    const struct block *b = x->access->block;
    if (absent(x, r)) return true;
    uint64_t at = x->access->at[x->lane] + x->offset, spot = x->shared ? simt_order_spot(b, at) : at;
    return simt_check_ordered(b, as_global(x, r), (unsigned)x->access->warp->index, x->lane, spot);
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
static bool same_value_at(const struct actor *x, record r, const char *p)
{
    const struct access *a = x->access;
    if (a->kind != ACCESS_WRITE || is_opaque(a)) return false;
    bool lanes = is_of_this(x, r);
    simt_tally_settle(a->block->worker);
    for (unsigned k = 0; k < a->insn->count; k++) {
        uint64_t there = 0, v = stored_value(a, x->lane, k);
        if (lanes)
            there = stored_value(a, record_thread(r) % SIMT_WARP, k);
        else
            load_of_kernel(&there, p + k * a->insn->size, a->insn->size);
        if (there != v) return false;
    }
    return true;
}

static bool same_value(const struct actor *x, record r)
{
    const struct access *a = x->access;
    return same_value_at(x, r, x->shared ? a->warp->shared + a->at[x->lane] : (const char *)simt_host(a->at[x->lane]));
}

/* Does it go on behind its instruction? Bulk copies do in shared memory, and what a cp.async reads. */
static bool goes_on(const struct site *s, bool shared)
{
    return shared ? s->bulk : s->fetches;
}

void simt_tell_copy(const struct simt_check *c, struct simt_report *r, record me, record other, bool shared)
{
    const struct site *mine = &c->sites[record_site(me)], *others = &c->sites[record_site(other)];
    if (goes_on(mine, shared) == goes_on(others, shared)) return;
    if (goes_on(others, shared)) {
        struct simt_party t = r->first;
        r->first = r->other;
        r->other = t;
    }
    r->under_way = !shared ? UNDER_WAY_FETCH : r->first.access == ACCESS_READ ? UNDER_WAY_SOURCE : UNDER_WAY_BULK;
}

static bool is_of_groups(const struct simt_check *c, record r)
{
    return c->program->places[c->sites[record_site(r)].pc].of_groups;
}

static void report_race(struct actor *x, record other)
{
    const struct access *a = x->access;
    struct simt_check *c = a->check;
    /* Cooperative groups take shfl.sync for an order of memory within the warp, which it is not by the PTX manual. Who
     * wrote the kernel could not mend that, and NVIDIA knows what its devices do. */
    if (is_of_groups(c, x->me) && is_of_groups(c, other)) return;
    for (unsigned k = 0; k < x->races; k++)
        if (record_site(x->raced[k]) == record_site(other)) return;
    if (x->races == MOST_RACES) return;
    x->raced[x->races++] = other;
    struct simt_report r = {.kind = CHECK_RACE,
                            .space = x->shared ? PTX_SHARED : PTX_GLOBAL,
                            .address = a->at[x->lane] + x->offset, /* of wide accesses, what both touched */
                            .size = a->bytes - x->offset,
                            .has_other = true,
                            .first = simt_party_of(c, a->block, as_global(x, x->me)),
                            .other = simt_party_of(c, a->block, as_global(x, other))};
    simt_tell_copy(c, &r, x->me, other, x->shared);
    simt_check_name(c, &r);
    if (a->texture) simt_texels_name(a, &r);
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
    if (apart && !fine) {
        x->access->block->excused = true;
        if (!same_value(x, *w)) report_race(x, *w);
    }
    if (atomic)
        keep_past(x, *w, a, b);
    else
        *a = *b = 0;
    *w = x->me;
}

/* ---- cells of global memory that were raced for ---- */
/* What the access does to the cell of so many bytes that lies `offset` into what the lane touches. */
static struct shown show(const struct actor *x, record last, unsigned offset, unsigned bytes)
{
    const struct access *a = x->access;
    struct shown s = {.me = x->me, .stores = a->kind == ACCESS_WRITE && !is_opaque(a)};
    const char *p = (const char *)simt_host(a->at[x->lane]) + offset;
    unsigned lane = is_of_this(x, last) ? record_thread(last) % SIMT_WARP : x->lane, size = a->insn->size;
    simt_tally_settle(a->block->worker);
    load_of_kernel(&s.there, p, bytes);
    for (unsigned k = 0; s.stores && k < bytes; k++) {
        unsigned element = (offset + k) / size, shift = (offset + k) % size * 8;
        s.value |= (uint32_t)(stored_value(a, x->lane, element) >> shift & 0xff) << 8 * k;
        if (lane == x->lane) continue;
        s.there &= ~((uint32_t)0xff << 8 * k);
        s.there |= (uint32_t)(stored_value(a, lane, element) >> shift & 0xff) << 8 * k;
    }
    return s;
}

static bool both_read(const struct actor *x, record r)
{
    return x->access->kind == ACCESS_READ && access_of(&x->access->check->sites[record_site(r)]) == ACCESS_READ;
}

static void meet_all(struct actor *x, uint64_t cell, const struct shown *s)
{
    record others[MOST_RACES];
    size_t count = simt_history_meet(x->access->check, cell, s, others, MOST_RACES);
    for (size_t k = 0; k < count; k++)
        if (!both_read(x, others[k]) && !gone(x, others[k]) && !excused(x, others[k])) report_race(x, others[k]);
}

static void touch(struct actor *x, record *w, uint32_t all, unsigned n, unsigned log)
{
    for (unsigned k = 0; k < n; k++, w++) {
        uint64_t cell = x->access->at[x->lane] + ((uint64_t)k << log);
        record was[RECORDS] = {w[0], w[all], w[2 * all]};
        unsigned races = x->races;
        x->offset = k << log;
        if (w[0] != RACED && x->access->kind == ACCESS_READ)
            read_cell(x, w, w + all, w + 2 * all);
        else if (w[0] != RACED)
            write_cell(x, w, w + all, w + 2 * all);
        bool begins = !x->shared && x->races > races;
        if (!begins && w[0] != RACED) continue;
        struct shown s = show(x, was[0], k << log, 1u << log);
        if (begins && !simt_history_begin(x->access->check, cell, &s, was)) continue;
        meet_all(x, cell, &s);
        w[0] = RACED, w[all] = w[2 * all] = 0;
    }
}

bool simt_race_same_value(const struct access *a, unsigned lane, record me, record other, const char *place)
{
    const struct actor x = {.access = a, .lane = lane, .me = me};
    return same_value_at(&x, other, place);
}

void simt_race_cells(const struct access *a, unsigned lane, bool shared, const struct cell_table *t, uint32_t first,
                     uint32_t all)
{
    struct actor x = {
        .access = a, .lane = lane, .me = record_of(a, shared) + ((uint64_t)lane << THREAD_AT), .shared = shared};
    touch(&x, t->writes + first, all, a->bytes >> t->log, t->log);
}

void simt_race_store(const struct access *a, uint64_t address, unsigned bytes, unsigned lane)
{
    const struct insn *i = a->insn;
    char *p = simt_host(address);
    if (is_opaque(a)) return;
    if (i->count == 1 && i->size == (i->flags & F_WIDE ? 8 : 4)) {
        store_of_kernel(p, a->regs + i->d + (size_t)lane * i->size, bytes);
        return;
    }
    for (const char *end = p + bytes; p < end; lane++)
        for (unsigned k = 0; k < i->count; k++, p += i->size) {
            uint64_t v = stored_value(a, lane, k);
            store_of_kernel(p, &v, i->size);
        }
}
