/* One cell, or the few of one lane, looked at closely: what is a race, which records stay, what is told. */
#include <limits.h>
#include <string.h>
#include "runtime/simt/check_order.h"
#include "runtime/simt/heap.h"
#include "runtime/simt/tally.h"

#define MOST_RACES   32
#define MOST_ATOMICS 16   /* warps', that are kept of a cell which nothing else touched */
#define MOST_RACED   1024 /* cells that are kept in mind as raced for */
#define LATER        32   /* of so many accesses to a list that is full one looks through all of it */

struct actor {
    const struct access *access;
    unsigned lane;
    record me;
    bool shared;
    unsigned offset;          /* of the cell in what the lane touches */
    record raced[MOST_RACES]; /* with what; once for an access and a line */
    unsigned races;
    bool hits; /* it races for the cell at hand */
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
    return ((r ^ x->me) & ~(UINT64_C(31) << THREAD_AT)) == 0 && other != x->lane && a->at[other] == a->at[x->lane];
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
    other = as_made(c->sites, other);
    /* Cooperative groups take shfl.sync for an order of memory within the warp, which it is not by the PTX manual. Who
     * wrote the kernel could not mend that, and NVIDIA knows what its devices do. */
    if (is_of_groups(c, x->me) && is_of_groups(c, other)) return;
    if (!x->shared && a->block->readers.parting) return; /* what it raced with was told when it came */
    x->hits = true;
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

static bool writes(const struct site *s)
{
    return access_of(s) != ACCESS_READ;
}

static const struct site *site_of(const struct actor *x, record r)
{
    return &x->access->check->sites[record_site(r)];
}

static bool is_atomic(const struct actor *x, record r)
{
    return record_atomic(r) && !site_of(x, r)->kept_of;
}

/* Strong reads race with less than atomics and kept stores do, plain ones with more than atomics. */
static void note_reader(const struct actor *x, record *a, record *b)
{
    if (gone(x, *a)) {
        *a = x->me;
        if (gone(x, *b)) *b = 0;
    } else if (gone(x, *b)) {
        *b = x->me;
    } else if (record_atomic(*b) ? is_atomic(x, *b) && !x->access->site->strong
                                 : record_block(*a) == record_block(*b) && record_block(*a) != record_block(x->me)) {
        *b = x->me;
    }
}

static bool is_writing_atomic(const struct actor *x, record r)
{
    return is_atomic(x, r) && !site_of(x, r)->fails;
}

static bool has_stored(const struct actor *x, record r)
{
    return record_atomic(r) && !site_of(x, r)->fails;
}

static void read_cell(struct actor *x, record *w, record *a, record *b)
{
    const record past[RECORDS] = {*w, has_stored(x, *a) ? *a : 0, has_stored(x, *b) ? *b : 0};
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
    return is_past(x, past) || (is_atomic(x, past) && (((past ^ r) & WHO_MASK) == 0 || gone(x, past)));
}

/* An atomic follows the write or atomic r. */
static void keep_past(const struct actor *x, record r, record *a, record *b)
{
    const struct simt_check *c = x->access->check;
    if (is_past(x, r) || (record_atomic(r) && gone(x, r))) return;
    record kept = c->exact ? 0 : kept_record(c->sites, r, true);
    if (kept) r = kept;
    bool one_block = record_block(*a) == record_block(*b);
    if (gives_way(x, *a, r))
        *a = r;
    else if (gives_way(x, *b, r) || (one_block && gone(x, *b)))
        *b = r;
    else if (is_atomic(x, *b) && (!is_atomic(x, r) || (one_block && record_block(*a) != record_block(r))))
        *b = r;
}

/* Tells of a race with a record that nothing orders, unless there is none: then it is what is to be kept of it, else 0.
 * `last`: it is the cell's last write. */
static record meet(struct actor *x, record r, bool last)
{
    const struct site *sites = x->access->check->sites;
    bool stored = site_of(x, r)->access == ACCESS_WRITE, fine = excused(x, r);
    bool same = stored && !is_kept_other(sites, r) && same_value(x, as_made(sites, r));
    if (!fine && (last || stored)) x->access->block->excused = true;
    if (!fine && !same) {
        report_race(x, r);
        return 0;
    }
    return stored ? kept_record(sites, as_made(sites, r), same) : r;
}

/* Of two records, which that one of must stay that nothing orders before the access? What is ordered behind the access
 * is best not so behind that: in another block, or warp. Then what races with more. 0 is the worst. */
static record better(const struct actor *x, record r, record s, bool most)
{
    const record *of[2] = {&r, &s};
    unsigned rank[2];
    for (int k = 0; k < 2; k++) {
        const struct site *site = site_of(x, *of[k]);
        unsigned far = record_block(*of[k]) != record_block(x->me)                             ? 2
                       : record_thread(*of[k]) / SIMT_WARP != (unsigned)x->access->warp->index ? 1
                                                                                               : 0;
        unsigned kind = !writes(site) ? 0 : !site->strong ? 3 : 1 + is_kept_other(x->access->check->sites, *of[k]);
        rank[k] = !*of[k] ? 0 : 1 + (most ? kind * 4 + far : far * 4 + kind);
    }
    return rank[0] >= rank[1] ? r : s;
}

/* What a store stays beside: two, or one where all of them are plain stores. */
static void keep_stores(const struct actor *x, const record *left, record *a, record *b)
{
    bool strong = x->access->site->strong;
    *a = better(x, better(x, left[0], left[1], false), left[2], false);
    *b = 0;
    for (int k = 0; k < RECORDS; k++) {
        strong |= left[k] && site_of(x, left[k])->strong;
        if (left[k] != *a) *b = better(x, *b, left[k], true);
    }
    if (!strong) *b = 0;
}

static void write_cell(struct actor *x, record *w, record *a, record *b)
{
    record left[RECORDS] = {0};
    if (!gone(x, *a)) left[1] = meet(x, *a, false);
    if (!gone(x, *b)) left[2] = meet(x, *b, false);
    if (!gone(x, *w)) left[0] = meet(x, *w, true);
    if (x->access->kind == ACCESS_ATOMIC)
        keep_past(x, *w, a, b);
    else if (left[0] | left[1] | left[2])
        keep_stores(x, left, a, b);
    else
        *a = *b = 0;
    *w = x->me;
}

/* ---- cells with lists ---- */
/* What the access does to the cell of so many bytes that lies x->offset into what the lane touches. */
struct shown {
    struct past me;
    uint32_t there; /* in memory before */
};
static struct shown show(const struct actor *x, record last, unsigned bytes)
{
    const struct access *a = x->access;
    const record lanes = (record)(SIMT_WARP - 1) << THREAD_AT;
    struct shown s = {.me = {.who = x->me & ~lanes, .lanes = 1u << x->lane | a->alike}};
    uint64_t at = a->at[x->lane] + x->offset;
    const char *p = x->shared ? a->warp->shared + at : (const char *)simt_host(at);
    unsigned lane = is_of_this(x, last) ? record_thread(last) % SIMT_WARP : x->lane, size = a->insn->size;
    s.me.has_value = a->kind == ACCESS_WRITE && !is_opaque(a);
    simt_tally_settle(a->block->worker);
    load_of_kernel((char *)&s.there, p, bytes);
    for (unsigned k = 0; s.me.has_value && k < bytes; k++) {
        unsigned element = (x->offset + k) / size, shift = (x->offset + k) % size * 8;
        s.me.value |= (uint32_t)(stored_value(a, x->lane, element) >> shift & 0xff) << 8 * k;
        if (lane == x->lane) continue;
        s.there &= ~((uint32_t)0xff << 8 * k);
        s.there |= (uint32_t)(stored_value(a, lane, element) >> shift & 0xff) << 8 * k;
    }
    return s;
}

static bool is_listed(const struct actor *x, record w)
{
    if (!x->shared) return w == LISTED;
    return ((w - x->access->block->shared_id) | SHARED_WRITTEN) == SHARED_LISTED;
}

/* Does whatever races with the older access race with the one at hand, if it comes behind neither? */
static bool covers(const struct actor *x, const struct site *old)
{
    const struct site *s = x->access->site;
    if (writes(old) && !writes(s)) return false;
    if (!s->strong && !s->guesses) return true;
    return (old->strong || old->guesses) && (s->is_volatile || !old->is_volatile);
}

/* What records stand for; of a write that is the cell's last, or stored the same, the value is still there. */
static void recall(const struct actor *x, const record *was, const struct shown *s, struct history *h)
{
    const record lanes = (record)(SIMT_WARP - 1) << THREAD_AT;
    for (int k = 1; k <= RECORDS; k++) {
        record r = was[k % RECORDS];
        if (absent(x, r)) continue;
        const struct site *sites = x->access->check->sites, *site = site_of(x, r);
        struct past p = {.who = as_made(sites, r) & ~lanes, .lanes = 1u << record_thread(r) % SIMT_WARP};
        bool stays = k == RECORDS || (site->kept_of && !is_kept_other(sites, r));
        p.has_value = s && stays && site->access == ACCESS_WRITE && !site->copies && !site->bulk;
        if (p.has_value) p.value = s->there;
        h->parties[h->count++] = p;
    }
}

/* Those of the lanes that it stands for which are still of interest; full: of those that do not race, too. */
static uint32_t meet_one(struct actor *x, struct history *h, const struct past *p, const struct past *me, bool full)
{
    const struct access *a = x->access;
    const struct site *mine = a->site, *theirs = &a->check->sites[record_site(p->who)];
    bool conflict = writes(mine) || writes(theirs), drops = !h->raced && covers(x, theirs);
    bool stores = writes(mine) && writes(theirs) && !(mine->access == ACCESS_ATOMIC && theirs->access == ACCESS_ATOMIC);
    uint32_t left = p->lanes;
    if (conflict && excused(x, p->who)) {
        conflict = false;
        h->apart |= stores;
    }
    EACH_LANE(l, conflict || full ? p->lanes : 0)
    {
        record r = p->who + ((record)l << THREAD_AT);
        bool alike = !conflict && a->alike >> l & 1 && record_thread(r) / SIMT_WARP == (unsigned)a->warp->index;
        if (gone(x, r) || (alike && record_block(r) == record_block(x->me))) {
            if (drops) left &= ~(1u << l);
            continue;
        }
        if (!conflict) continue;
        h->apart |= stores;
        x->access->block->excused |= stores;
        if (!p->has_value || !me->has_value || p->value != me->value) report_race(x, r);
    }
    return left;
}

/* What the access is part of; NULL: it is the first of its kind. */
static struct past *find_alike(const struct history *h, const struct past *me)
{
    for (uint32_t k = 0; k < h->count; k++) {
        struct past *p = &h->parties[k];
        if (p->who == me->who && p->has_value == me->has_value && p->value == me->value) return p;
    }
    return NULL;
}

/* Is room wanted? */
static bool is_full(struct history *h, const struct past *me)
{
    if (h->fixed || h->count < h->room) return h->fixed;
    return (h->room < MOST_PARTIES || ++h->turns % LATER == 0) && !find_alike(h, me);
}

static void meet_all(struct actor *x, struct history *h, const struct past *me)
{
    uint32_t count = 0;
    bool full = is_full(h, me);
    for (uint32_t k = 0; k < h->count; k++) {
        struct past p = h->parties[k];
        p.lanes = meet_one(x, h, &p, me, full);
        if (p.lanes) h->parties[count++] = p;
    }
    h->count = count;
}

/* A read of global memory for which two others of the block stand: check_readers.c. */
static bool is_stood_for(const struct actor *x, const struct history *h)
{
    const struct block *b = x->access->block;
    uint32_t since = b->readers.since > b->met ? b->readers.since : b->met;
    unsigned other = UINT_MAX; /* none yet */
    if (x->shared || b->readers.parting || b->readers.unnoted || x->access->kind != ACCESS_READ ||
        x->access->site->strong)
        return false;
    for (uint32_t k = 0; k < h->count; k++) {
        const struct past *p = &h->parties[k];
        const struct site *s = &x->access->check->sites[record_site(p->who)];
        if (record_block(p->who) != record_block(x->me) || record_time(p->who) < since || writes(s) || s->strong)
            continue;
        bool mine = record_thread(p->who) / SIMT_WARP == record_thread(x->me) / SIMT_WARP;
        EACH_LANE(l, p->lanes & ~((uint32_t)mine << x->lane))
        {
            unsigned thread = record_thread(p->who) + l;
            if (other != UINT_MAX && other != thread) return true;
            other = thread;
        }
    }
    return false;
}

/* Where there is no room, writes take that of others. */
static void add(const struct actor *x, struct history *h, const struct past *me)
{
    if (is_stood_for(x, h)) return;
    struct past *p = find_alike(h, me);
    if (p) {
        p->lanes |= me->lanes;
        return;
    }
    if (simt_history_room(x->access->check, h)) {
        h->parties[h->count++] = *me;
        return;
    }
    for (uint32_t k = h->count; k-- > 0 && writes(x->access->site);) {
        if (k && writes(&x->access->check->sites[record_site(h->parties[k].who)])) continue;
        h->parties[k] = *me;
        return;
    }
}

/* Is it an atomic where there are so many that more are not kept? A thread behind all of those that are, but not behind
 * another one, is not told of that. */
static bool has_counted(const struct actor *x, const struct history *h)
{
    if (h->count < MOST_ATOMICS || !is_writing_atomic(x, x->me)) return false;
    for (uint32_t k = 0; k < h->count; k++)
        if (!is_writing_atomic(x, h->parties[k].who)) return false;
    return true;
}

/* May all that races for the cell be kept? */
static bool may_keep_races(struct actor *x, uint64_t cell)
{
    struct simt_check *c = x->access->check;
    struct simt_heap_block given;
    if (x->shared || simt_heap_look(cell, &given)) return false; /* malloc's is given again */
    return atomic_load_explicit(&c->raced, memory_order_relaxed) < MOST_RACED &&
           atomic_fetch_add(&c->raced, 1) < MOST_RACED;
}

/* What the list has of a store as a record beside that of a later write, `last`; false: a record can't say it. */
static bool set_aside(const struct actor *x, const struct past *p, const struct past *last, record *r)
{
    const struct site *sites = x->access->check->sites;
    if (!p->has_value || !is_write(x->access->check, last->who)) return true;
    *r = kept_record(sites, *r, true);
    return *r && last->has_value && last->value == p->value;
}

/* The records of a cell whose list has this in it. False: three are too few. */
static bool fits(const struct actor *x, struct history *h, record *to)
{
    unsigned readers = 0, written = 0;
    record write = 0, others[RECORDS] = {0};
    const struct past *last = NULL; /* the write's */
    for (uint32_t k = 0; k < h->count; k++) {
        const struct past *p = &h->parties[k];
        bool stores = writes(&x->access->check->sites[record_site(p->who)]);
        EACH_LANE(l, p->lanes)
        {
            record r = p->who + ((record)l << THREAD_AT), moved = r;
            const struct past *was = last;
            if (stores && (!written++ || record_atomic(r) || !record_atomic(write))) {
                moved = write, write = r, last = p;
                if (moved && !set_aside(x, was, p, &moved)) return false;
            } else if (stores && !set_aside(x, p, last, &moved)) {
                return false;
            }
            if (!moved) continue;
            if (readers == 2) return false;
            others[readers++] = moved;
        }
    }
    if (written > 1 && h->apart) return false;
    h->apart = false;
    to[0] = write, to[1] = others[0], to[2] = others[1];
    return true;
}

/* As it is done without a list. */
static void keep_some(struct actor *x, record *was)
{
    if (x->access->kind == ACCESS_READ) {
        note_reader(x, &was[1], &was[2]);
        return;
    }
    if (x->access->kind == ACCESS_ATOMIC)
        keep_past(x, was[0], &was[1], &was[2]);
    else
        was[1] = was[2] = 0;
    was[0] = x->me;
}

static void mark_listed(const struct actor *x, const struct history *h, record *to)
{
    record id = x->access->block->shared_id;
    bool written = false;
    for (uint32_t k = 0; k < h->count; k++) written |= writes(&x->access->check->sites[record_site(h->parties[k].who)]);
    to[0] = !x->shared ? LISTED : id | (written ? SHARED_LISTED : SHARED_ONLY);
    to[1] = to[2] = x->shared ? id | SHARED_READERS : 0;
}

/* `was`: the cell's records, which become what they are behind the access. */
static void follow(struct actor *x, record *was, unsigned bytes, bool raced)
{
    const struct access *a = x->access;
    uint64_t cell = a->at[x->lane] + x->offset;
    bool listed = is_listed(x, was[0]);
    struct block *owner = x->shared ? a->block : NULL;
    struct shown s = show(x, was[0], bytes);
    struct past few[RECORDS + 1];
    struct history some = {.parties = few, .room = RECORDS + 1, .fixed = true, .raced = raced};
    struct history *h = listed ? simt_history_find(a->check, owner, cell, bytes) : NULL;
    if (!h) {
        h = &some;
        if (!listed) recall(x, was, &s, h);
    }
    meet_all(x, h, &s.me);
    if (x->hits && !h->raced) h->raced = may_keep_races(x, cell);
    if (h->raced)
        simt_history_add_raced(a->check, h, &s.me);
    else if (!(h->counter = has_counted(x, h)))
        add(x, h, &s.me);
    bool alone = h->count == 1 && h->parties[0].lanes == s.me.lanes && h->parties[0].who == s.me.who;
    if (!h->raced && (!listed || alone) && fits(x, h, was)) {
        h->live = false;
        return;
    }
    if (h == &some) h = simt_history_new(a->check, owner, cell, bytes, &some);
    if (h)
        mark_listed(x, h, was);
    else if (listed)
        fits(x, &some, was);
    else
        keep_some(x, was);
}

static void touch(struct actor *x, record *w, uint32_t all, unsigned n, unsigned log)
{
    bool exact = x->access->check->exact;
    for (unsigned k = 0; k < n; k++, w++) {
        record was[RECORDS] = {w[0], w[all], w[2 * all]};
        x->offset = k << log;
        x->hits = false;
        if (!exact && !is_listed(x, w[0])) {
            if (x->access->kind == ACCESS_READ)
                read_cell(x, w, w + all, w + 2 * all);
            else
                write_cell(x, w, w + all, w + 2 * all);
            if (!x->hits || x->shared || !may_keep_races(x, x->access->at[x->lane] + x->offset)) continue;
        }
        follow(x, was, 1u << log, !exact && x->hits);
        w[0] = was[0], w[all] = was[1], w[2 * all] = was[2];
    }
}

void simt_race_list(const struct access *a, unsigned lane, const struct cell_table *t, uint32_t cell, uint32_t all)
{
    struct actor x = {.access = a, .lane = lane, .offset = cell << t->log};
    const record *w = t->writes + cell, was[RECORDS] = {w[0], w[all], w[2 * all]};
    struct past few[RECORDS];
    struct history some = {.parties = few, .room = RECORDS, .fixed = true, .apart = true};
    recall(&x, was, NULL, &some);
    simt_history_new(a->check, NULL, a->at[lane] + x.offset, 1u << t->log, &some);
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
