/* A cell that has a list (check_history.c), or needs one: what an access does to it, and when records tell all again.
 */
#include <limits.h>
#include "runtime/simt/check_cell.h"
#include "runtime/simt/tally.h"

#define MOST_ATOMICS 16 /* warps', that are kept of a cell which nothing else touched */
#define LATER        32 /* of so many accesses to a list that is full one looks through all of it */

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
    const char *p = x->shared ? a->warp->shared + at : (const char *)place_in_host(at);
    unsigned lane = is_of_this(x, last) ? record_thread(last) % SIMT_WARP : x->lane, size = a->insn->size;
    s.me.has_value = a->kind == ACCESS_WRITE && !is_opaque(a) && !a->check->strict;
    simt_tally_settle(a->block->worker);
    load_of_kernel((char *)&s.there, p, bytes);
    for (unsigned k = 0; s.me.has_value && k < bytes; k++) {
        unsigned element = (x->offset + k) / size, shift = (x->offset + k) % size * 8;
        s.me.value |= (uint32_t)(simt_cell_stored(a, x->lane, element) >> shift & 0xff) << 8 * k;
        if (lane == x->lane) continue;
        s.there &= ~((uint32_t)0xff << 8 * k);
        s.there |= (uint32_t)(simt_cell_stored(a, lane, element) >> shift & 0xff) << 8 * k;
    }
    return s;
}

/* Does whatever races with the older access race with the one at hand, if it comes behind neither? Volatile ones in
 * shared memory race with those of their own warp. */
static bool covers(const struct actor *x, record r)
{
    const struct site *s = x->access->site, *old = site_of(x, r);
    bool of_warp = record_thread(r) / SIMT_WARP == (unsigned)x->access->warp->index;
    if (x->shared && old->is_volatile && s->strong && !of_warp) return false;
    if (site_writes(old) && !site_writes(s)) return false;
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
    bool conflict = site_writes(mine) || site_writes(theirs), drops = !h->raced && covers(x, p->who);
    bool stores =
        site_writes(mine) && site_writes(theirs) && !(mine->access == ACCESS_ATOMIC && theirs->access == ACCESS_ATOMIC);
    uint32_t left = p->lanes;
    bool must = h->room == MOST_PARTIES; /* more are lost */
    if (conflict && excused(x, p->who)) {
        conflict = false;
        h->apart |= stores;
    }
    must |= conflict;
    EACH_LANE(l, conflict || full ? p->lanes : 0)
    {
        record r = p->who + ((record)l << THREAD_AT);
        bool alike = !conflict && a->alike >> l & 1 && record_thread(r) / SIMT_WARP == (unsigned)a->warp->index;
        if (is_over(x, r, must) || (alike && record_block(r) == record_block(x->me))) {
            if (drops) left &= ~(1u << l);
            continue;
        }
        if (!conflict) continue;
        h->apart |= stores;
        x->access->block->excused |= stores;
        if (!p->has_value || !me->has_value || p->value != me->value) simt_cell_race(x, r);
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

bool simt_history_stands_for(const struct history *h, const struct access *a, record me)
{
    const struct block *b = a->block;
    uint32_t since = b->readers.since > b->met ? b->readers.since : b->met;
    unsigned other = UINT_MAX; /* none yet */
    const struct readers *r = &b->readers;
    if (r->parting || r->unnoted || r->at_once || a->kind != ACCESS_READ || a->site->strong) return false;
    for (uint32_t k = 0; k < h->count; k++) {
        const struct past *p = &h->parties[k];
        const struct site *s = &a->check->sites[record_site(p->who)];
        if (record_block(p->who) != record_block(me) || record_time(p->who) < since || site_writes(s) || s->strong)
            continue;
        bool mine = record_thread(p->who) / SIMT_WARP == record_thread(me) / SIMT_WARP;
        EACH_LANE(l, p->lanes & ~((uint32_t)mine << record_thread(me) % SIMT_WARP))
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
    if (!x->shared && simt_history_stands_for(h, x->access, x->me)) return;
    struct past *p = find_alike(h, me);
    if (p) {
        p->lanes |= me->lanes;
        return;
    }
    if (simt_history_room(x->access->check, h)) {
        h->parties[h->count++] = *me;
        return;
    }
    for (uint32_t k = h->count; k-- > 0 && site_writes(x->access->site);) {
        if (k && site_writes(&x->access->check->sites[record_site(h->parties[k].who)])) continue;
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

/* Is there nothing in it but what does not race with atomics? */
static bool spares_atomics(const struct simt_check *c, const struct history *h)
{
    for (uint32_t k = 0; k < h->count; k++) {
        const struct site *s = &c->sites[record_site(h->parties[k].who)];
        if (site_writes(s) ? s->access != ACCESS_ATOMIC : !s->strong && !s->guesses) return false;
    }
    return !h->raced;
}

/* And are two of that by blocks that nothing orders? Then whoever races with one more of them races with one of the
 * two. */
static bool is_settled(const struct simt_check *c, const struct history *h)
{
    const struct past *first = NULL;
    bool two = false;
    for (uint32_t k = 0; k < h->count; k++) {
        const struct past *p = &h->parties[k];
        if (!site_writes(&c->sites[record_site(p->who)])) continue;
        two |= first && record_block(first->who) != record_block(p->who);
        if (!first) first = p;
    }
    return two && !c->releases_some;
}

bool simt_history_settled(const struct history *h, unsigned site)
{
    bool known = !site;
    for (uint32_t k = 0; h->settled && !known && k < h->count; k++) known = record_site(h->parties[k].who) == site;
    return h->settled && known;
}

/* What the list has of a store as a record beside that of a later write, `last`; false: a record can't say it. */
static bool set_aside(const struct actor *x, const struct past *p, const struct past *last, record *r)
{
    const struct site *sites = x->access->check->sites;
    if (!p->has_value) return true;
    if (!is_write(x->access->check, last->who)) return false; /* an atomic has changed what it left there */
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
        bool stores = site_writes(&x->access->check->sites[record_site(p->who)]);
        EACH_LANE(l, p->lanes)
        {
            record r = p->who + ((record)l << THREAD_AT), moved = r;
            const struct past *was = last;
            if (stores && (!written++ || record_special(r) || !record_special(write))) {
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

static void mark_listed(const struct actor *x, struct history *h, record *to)
{
    record id = x->access->block->shared_id;
    bool written = false;
    for (uint32_t k = 0; k < h->count; k++)
        written |= site_writes(&x->access->check->sites[record_site(h->parties[k].who)]);
    to[0] = !x->shared ? LISTED : id | (written ? SHARED_LISTED : SHARED_ONLY);
    to[1] = x->shared ? id | SHARED_READERS : (record)(uintptr_t)h;
    to[2] = x->shared ? id | SHARED_READERS : 0;
}

static struct history *list_of(const struct actor *x, const record *was, uint64_t cell, unsigned bytes)
{
    struct history *h = x->shared ? NULL : simt_history_here(was[1], cell, bytes);
    return h ? h : simt_history_find(x->access->check, x->shared ? x->access->block : NULL, cell, bytes);
}

/* 0: it is none. */
static unsigned site_of_atomic(const struct access *a)
{
    return a->kind == ACCESS_ATOMIC ? record_site(a->me) : 0;
}

/* Where nothing in the list races with a strong read, as in a loop that waits: the thread's last one takes the place of
 * one before it by the same line. */
static bool reads_again(const struct actor *x, struct history *h)
{
    const record who = x->me & ~((record)(SIMT_WARP - 1) << THREAD_AT), times = (record)LAST_TIME << TIME_AT;
    struct past *room = NULL;
    if (!h->spares || x->access->alike || x->access->kind != ACCESS_READ || !x->access->site->strong) return false;
    for (uint32_t k = 0; k < h->count && !(room && room->who == who); k++) {
        struct past *p = &h->parties[k];
        if ((p->who ^ who) & ~times) continue;
        p->lanes &= ~(1u << x->lane);
        if (p->who == who || !p->lanes) room = p;
    }
    if (!room) return false;
    room->who = who;
    room->lanes |= 1u << x->lane;
    return true;
}

void simt_cell_follow(struct actor *x, record *was, unsigned bytes, bool raced)
{
    const struct access *a = x->access;
    uint64_t cell = a->at[x->lane] + x->offset;
    bool listed = is_listed(x, was[0]);
    struct block *owner = x->shared ? a->block : NULL;
    struct history *h = listed ? list_of(x, was, cell, bytes) : NULL;
    if (h && !x->shared && simt_spares_atomics(a) && simt_history_settled(h, site_of_atomic(a))) return;
    if (h && reads_again(x, h)) return;
    struct shown s = show(x, was[0], bytes);
    struct past few[RECORDS + 1];
    struct history some = {.parties = few, .room = RECORDS + 1, .fixed = true, .raced = raced};
    if (!h) {
        h = &some;
        if (!listed) recall(x, was, &s, h);
    }
    meet_all(x, h, &s.me);
    if (x->hits && !h->raced) h->raced = simt_cell_keeps_races(x, cell);
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
    if (h) h->spares = !x->shared && !a->block->reach && spares_atomics(a->check, h);
    if (h) h->settled = h->spares && is_settled(a->check, h);
    if (h)
        mark_listed(x, h, was);
    else if (listed)
        fits(x, &some, was);
    else
        simt_cell_keep(x, was);
}

bool simt_race_list_read(const struct access *a, unsigned lane, unsigned offset, record *w, uint32_t all)
{
    const struct actor x = {.access = a, .lane = lane, .me = a->me + ((record)lane << THREAD_AT), .offset = offset};
    const record was[RECORDS] = {w[0], w[all], w[2 * all]};
    const struct shown s = show(&x, was[0], 4);
    struct past few[RECORDS + 1];
    struct history some = {.parties = few, .room = RECORDS + 1, .fixed = true};
    record to[RECORDS];
    recall(&x, was, &s, &some);
    if (simt_history_stands_for(&some, a, x.me)) return false;
    some.parties[some.count++] = s.me;
    struct history *h = simt_history_new(a->check, NULL, a->at[lane] + offset, 4, &some);
    if (!h) return false;
    mark_listed(&x, h, to);
    w[0] = to[0], w[all] = to[1], w[2 * all] = to[2];
    return true;
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
