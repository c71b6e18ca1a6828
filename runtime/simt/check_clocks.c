/* mbarriers, and barriers by number that threads arrive at without waiting or that only some lanes of a warp wait at:
 * who waits for a phase has seen what was done before the arrivals in it and in those before, and no more. A clock says
 * so of all threads of a cluster: of each up to which time, of each block up to which time all of it. An mbarrier keeps
 * that of the arrivals so far and those of the last phases that are over; a thread has the clock of all that it waited
 * for. Most threads have waited for the same, so clocks are shared and not changed then.
 *
 * Where the threads of a block meet, their clocks become one; where that is the whole cluster, they say nothing new. So
 * it is, too, where all threads of a block have waited for a phase that all arrived in, and none has touched memory
 * between its arrival and its wait. To see that, warps are watched closely from an arrival on, and who has waited for
 * such a phase lets the others have their turn first. */
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/async.h"
#include "runtime/simt/check_order.h"
#include "runtime/simt/check_shared.h"

#define PHASES 4 /* that an mbarrier tells apart */

struct clock {
    uint32_t holders;
    struct clock *next;        /* of those that nobody holds */
    struct seen_set *others;   /* what those that arrived had seen: check_order.c */
    uint64_t acquired;         /* releases up to this number are seen, too: check_releases.c */
    uint32_t met[MAX_CLUSTER]; /* by block: what its threads did before */
    uint32_t seen[];           /* by thread of the cluster, likewise */
};
struct phases { /* of an mbarrier */
    uint32_t at;
    uint32_t now;               /* the phase when it was seen last */
    bool coarse;                /* an instruction may end more phases than can be told apart */
    struct clock *arrived;      /* before what all arrivals did, NULL: nothing */
    struct clock *over[PHASES]; /* the same when the phase ended */
};
struct clocks {           /* of a block */
    uint32_t threads;     /* of the block; each of the cluster has as many */
    struct clock **knows; /* by thread; NULL: nothing */
    struct phases *items; /* mbarriers in the block's shared memory */
    size_t count, room;
    struct clock *barriers[MAX_BARRIERS]; /* as `arrived` of an mbarrier, by number */
    struct clock *joined[3];              /* the last two that were joined, and what came of it */
    struct clock **kept;                  /* those that notes of shared memory mean: check_groups.c */
    uint32_t kept_count, kept_room;
    struct clock *spare; /* to be used again */
    bool some;           /* a thread knows something, */
    bool aside;          /* which it did not when what is gone through was done */
    /* Since all threads met, in a block without a cluster: */
    uint32_t arrived[32];         /* lanes that arrived at mbarriers, by warp */
    uint32_t *last;               /* by thread of a warp with such lanes: when it touched memory last, since then */
    uint32_t home;                /* the mbarrier where one arrived last, */
    const struct insn *tests[32]; /* and by warp the last wait there, which is no such touch; NULL: none */
};

static void *allocated(const struct block *b, void *p)
{
    if (!p) atomic_store(&b->check->no_memory, true);
    return p;
}

/* ---- clocks ---- */
static void let_go(const struct block *b, struct clock **place)
{
    struct clock *c = *place;
    *place = NULL;
    if (!c || --c->holders) return;
    simt_seen_let_go(&c->others);
    c->next = b->clocks->spare;
    b->clocks->spare = c;
}

static void hold(const struct block *b, struct clock **place, struct clock *c)
{
    if (c) c->holders++;
    let_go(b, place);
    *place = c;
}

static size_t entries(const struct block *b)
{
    return (size_t)b->worker->cluster->size * b->worker->warp_count * SIMT_WARP;
}

static inline void raise_to(uint32_t *v, uint32_t least)
{
    *v = *v < least ? least : *v;
}

static void raise_all(const struct block *b, struct clock *c, const struct clock *by)
{
    size_t n = entries(b);
    simt_seen_join(b->check, &c->others, by->others);
    if (by->acquired > c->acquired) c->acquired = by->acquired;
    for (unsigned k = 0; k < MAX_CLUSTER; k++) raise_to(&c->met[k], by->met[k]);
    for (size_t k = 0; k < n; k++) raise_to(&c->seen[k], by->seen[k]);
}

/* A clock that nobody else holds, the same as *place, where it stands from then on. */
static struct clock *own(const struct block *b, struct clock **place)
{
    struct clock *c = b->clocks->spare;
    if (*place && (*place)->holders == 1) return *place;
    if (c) {
        b->clocks->spare = c->next;
        memset(c, 0, sizeof *c + entries(b) * sizeof *c->seen);
    } else {
        c = allocated(b, rt_calloc(1, sizeof *c + entries(b) * sizeof *c->seen));
    }
    if (!c) return NULL;
    if (*place) raise_all(b, c, *place);
    hold(b, place, c);
    return c;
}

/* *place comes to know what the other does. */
static void join(const struct block *b, struct clock **place, struct clock *more)
{
    struct clock **last = b->clocks->joined, *both = NULL;
    if (!more || *place == more) return;
    if (!*place) {
        hold(b, place, more);
        return;
    }
    if (last[0] != *place || last[1] != more) {
        hold(b, &both, *place);
        if (!own(b, &both)) return;
        raise_all(b, both, more);
        hold(b, &last[0], *place);
        hold(b, &last[1], more);
        hold(b, &last[2], both);
        let_go(b, &both);
    }
    hold(b, place, last[2]);
}

/* ---- of a block ---- */
static struct clocks *want(struct block *b)
{
    if (b->clocks) return b->clocks;
    struct clocks *c = rt_calloc(1, sizeof *c);
    if (c) c->threads = b->worker->warp_count * SIMT_WARP;
    if (c) c->knows = rt_calloc(c->threads, sizeof *c->knows);
    if (c) c->last = rt_calloc(c->threads, sizeof *c->last);
    if (!c || !c->knows || !c->last) {
        if (c) free(c->knows), free(c->last);
        free(c);
        return allocated(b, NULL);
    }
    b->clocks = c;
    simt_sync_quiet(b);
    return c;
}

static void forget_kept(const struct block *b)
{
    struct clocks *c = b->clocks;
    while (c->kept_count) let_go(b, &c->kept[--c->kept_count]);
}

static void forget_arrivals(const struct block *b, struct phases *x)
{
    let_go(b, &x->arrived);
    for (int k = 0; k < PHASES; k++) let_go(b, &x->over[k]);
}

/* All threads met. */
static void leave_phases(struct block *b)
{
    struct clocks *c = b->clocks;
    for (uint32_t w = 0; w < c->threads / SIMT_WARP; w++) {
        if (c->arrived[w]) memset(c->last + w * SIMT_WARP, 0, SIMT_WARP * sizeof *c->last);
        c->arrived[w] = 0;
        c->tests[w] = NULL;
        b->worker->warps[w].closely = false;
    }
}

void simt_clocks_start(struct block *b)
{
    struct clocks *c = b->clocks;
    if (!c) return;
    simt_clocks_forget(b);
    leave_phases(b);
    for (size_t k = 0; k < c->count; k++) forget_arrivals(b, &c->items[k]);
    for (int k = 0; k < MAX_BARRIERS; k++) let_go(b, &c->barriers[k]);
    for (int k = 0; k < 3; k++) let_go(b, &c->joined[k]);
    forget_kept(b);
    c->count = 0;
}

void simt_clocks_free(struct block *b)
{
    if (!b->clocks) return;
    simt_clocks_start(b);
    for (struct clock *c = b->clocks->spare, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    free(b->clocks->kept);
    free(b->clocks->last);
    free(b->clocks->knows);
    free(b->clocks->items);
    free(b->clocks);
}

bool simt_clocks_ordered(const struct block *b, record r, unsigned thread)
{
    const struct cluster *cluster = b->worker->cluster;
    const struct clock *c = b->clocks->aside ? NULL : b->clocks->knows[thread];
    for (uint32_t rank = 0; c && rank < cluster->size; rank++) {
        const struct block *o = cluster->members[rank]->observed;
        if (record_block(r) != record_block(o->id)) continue;
        return record_time(r) < c->met[rank] || record_time(r) < c->seen[rank * b->clocks->threads + record_thread(r)];
    }
    return false;
}

bool simt_clocks_differ(const struct block *b, unsigned thread, unsigned other)
{
    return !b->clocks->aside && b->clocks->knows[thread] != b->clocks->knows[other];
}

bool simt_clocks_known(const struct block *b)
{
    return b->clocks && b->clocks->some && !b->clocks->aside;
}

void simt_clocks_aside(struct block *b, bool aside)
{
    if (b->clocks) b->clocks->aside = aside;
}

/* ---- for check_groups.c ---- */
const uint32_t *simt_clocks_times(const struct block *b, unsigned thread)
{
    const struct clock *c = b->clocks->knows[thread];
    return c ? c->seen : NULL;
}

uint32_t simt_clocks_keep(struct block *b, unsigned thread)
{
    struct clocks *c = b->clocks;
    struct clock *of = c->knows[thread];
    if (c->kept_count && c->kept[c->kept_count - 1] == of) return c->kept_count - 1;
    if (c->kept_count == c->kept_room) {
        uint32_t room = c->kept_room ? 2 * c->kept_room : 64;
        struct clock **more = allocated(b, rt_realloc(c->kept, room * sizeof *more));
        if (!more) return 0;
        c->kept = more;
        c->kept_room = room;
    }
    c->kept[c->kept_count] = NULL;
    hold(b, &c->kept[c->kept_count], of);
    return c->kept_count++;
}

void simt_clocks_know(struct block *b, unsigned thread, uint32_t kept)
{
    struct clocks *c = b->clocks;
    if (kept >= c->kept_count) return;
    hold(b, &c->knows[thread], c->kept[kept]);
    c->some |= c->kept[kept] != NULL;
}

void simt_clocks_forget(struct block *b)
{
    for (uint32_t t = 0; b->clocks->some && t < b->clocks->threads; t++) let_go(b, &b->clocks->knows[t]);
    b->clocks->some = false;
}

/* Has the clock, of the thread's accesses since all met, all or nothing? */
static bool covers(const struct block *b, const struct clock *k, uint32_t thread)
{
    const struct clocks *c = b->clocks;
    bool arrived = c->arrived[thread / SIMT_WARP] >> thread % SIMT_WARP & 1;
    return !arrived || k->seen[thread] <= b->met || k->seen[thread] > c->last[thread];
}

static bool covers_all(const struct block *b, const struct clock *k)
{
    for (uint32_t t = 0; k && t < b->clocks->threads; t++)
        if (!covers(b, k, t)) return false;
    return true;
}

bool simt_clocks_cover(const struct block *b)
{
    const struct clocks *c = b->clocks;
    const struct clock *one = NULL;
    bool all = true;
    for (uint32_t t = 0; all && t < c->threads; t++) {
        if (c->knows[t] != one) all = covers_all(b, c->knows[t]);
        one = c->knows[t];
    }
    for (size_t n = 0; all && n < c->count; n++) {
        const struct phases *x = &c->items[n];
        all = covers_all(b, x->arrived);
        for (int k = 0; all && k < PHASES; k++) all = covers_all(b, x->over[k]);
    }
    return all;
}

static void add_block(const struct clock *c, const struct worker *k, uint64_t *items, size_t *n)
{
    unsigned block = record_block(((const struct block *)k->observed)->id);
    const uint32_t met = c->met[k->rank], threads = k->warp_count * SIMT_WARP;
    if (met) items[(*n)++] = seen_item(block, SEEN_BLOCK, 0, met);
    for (uint32_t t = 0; t < threads; t++) {
        uint32_t time = c->seen[k->rank * threads + t];
        if (time > met) items[(*n)++] = seen_item(block, SEEN_THREAD + t, 0, time);
    }
}

void simt_clocks_seen(const struct block *b, unsigned thread, struct seen_set **to)
{
    const struct cluster *cluster = b->worker->cluster;
    const struct clock *c = b->clocks->knows[thread];
    uint64_t *items = c ? allocated(b, rt_alloc((entries(b) + cluster->size) * sizeof *items)) : NULL;
    size_t n = 0;
    if (!items) return;
    for (uint32_t rank = 0; rank < cluster->size; rank++) add_block(c, cluster->members[rank], items, &n);
    simt_seen_add(b->check, to, items, simt_seen_sort(items, n));
    free(items);
}

/* ---- where threads meet ---- */
void simt_clocks_share(struct block *b, const uint32_t *from, const uint32_t *to)
{
    struct clocks *c = b->clocks;
    struct clock *all = NULL;
    if (!c) return;
    b->meets_partly = true;
    if (b->tags.parted) simt_groups_part(b, c->threads);
    for (uint32_t t = 0; t < c->threads; t++)
        if (from[t / SIMT_WARP] >> t % SIMT_WARP & 1) join(b, &all, c->knows[t]);
    for (uint32_t t = 0; all && t < c->threads; t++)
        if (to[t / SIMT_WARP] >> t % SIMT_WARP & 1) hold(b, &c->knows[t], all);
    c->some |= all != NULL;
    if (all) simt_groups_note_clocks(b, to);
    let_go(b, &all);
}

void simt_clocks_share_lanes(struct block *b, const struct warp *w, uint32_t m)
{
    uint32_t lanes[32] = {0};
    lanes[w->index] = m;
    simt_clocks_share(b, lanes, lanes);
}

void simt_clocks_meet(struct block *b)
{
    struct clocks *c = b->clocks;
    uint32_t all[32];
    if (!c) return;
    memset(all, 0xff, sizeof all);
    if (b->worker->cluster->size > 1) { /* notes mean none then */
        simt_clocks_share(b, all, all);
        return;
    }
    simt_clocks_forget(b);
    forget_kept(b);
    leave_phases(b);
    for (size_t k = 0; k < c->count; k++) forget_arrivals(b, &c->items[k]);
}

/* ---- mbarriers ---- */
/* The mbarrier of `o` there; NULL: there is none, or no memory. */
static struct phases *phases_at(struct block *o, uint64_t at)
{
    struct clocks *c = want(o);
    if (!c || at % 8 || at > o->worker->shared_bytes - 8u) return NULL;
    for (size_t k = 0; k < c->count; k++)
        if (c->items[k].at == at) return &c->items[k];
    if (c->count == c->room) {
        size_t room = c->room ? 2 * c->room : 8;
        struct phases *more = allocated(o, rt_realloc(c->items, room * sizeof *more));
        if (!more) return NULL;
        c->items = more;
        c->room = room;
    }
    struct phases *x = &c->items[c->count++];
    *x = (struct phases){.at = (uint32_t)at, .now = simt_phase_of(o->worker->shared + at)};
    return x;
}

/* What the last instruction on it brought to an end. */
static void follow(struct phases *x, const struct block *b)
{
    uint32_t now = simt_phase_of(b->worker->shared + x->at);
    for (; x->now != now; x->now = (x->now + 1) % PHASES) hold(b, &x->over[x->now], x->arrived);
    for (int k = 0; x->coarse && k < PHASES; k++) hold(b, &x->over[k], x->arrived);
}

/* What the thread's last fence ordered, as an arrival without one of its own releases it. */
static void raise_by_fence(struct clock *c, const struct block *b, unsigned thread)
{
    uint32_t rank = b->worker->rank, *seen = c->seen + rank * b->clocks->threads;
    const struct fence f = simt_check_fence_of(b, thread);
    raise_to(&c->met[rank], f.block_time);
    raise_to(&seen[thread], f.time);
    for (unsigned l = 0; l < SIMT_WARP; l++) raise_to(&seen[thread / SIMT_WARP * SIMT_WARP + l], f.warp_time);
}

/* All that the block's barriers and those of its warps have ordered before what the warp does. */
static void raise_by_meetings(struct clock *c, const struct block *b, unsigned warp)
{
    const struct worker *k = b->worker;
    uint32_t *seen = c->seen + k->rank * b->clocks->threads;
    simt_reach_times(b, c->met);
    raise_to(&c->met[k->rank], b->met);
    for (unsigned l = 0; l < SIMT_WARP; l++) raise_to(&seen[warp * SIMT_WARP + l], b->warp_met[warp]);
    for (uint32_t v = 0; b->warps && v < k->warp_count; v++)
        for (unsigned l = 0; b->warps[warp][v] && l < SIMT_WARP; l++)
            raise_to(&seen[v * SIMT_WARP + l], b->warps[warp][v]);
}

/* What the thread has seen goes with its arrival; *last: the clock of the one before. */
static void add_known(struct clock *c, const struct block *b, unsigned thread, const struct clock **last)
{
    const struct clock *knows = b->clocks->knows[thread];
    if (knows && knows != *last) raise_all(b, c, knows);
    *last = knows;
    if (b->acquires && b->acquired[thread] > c->acquired) c->acquired = b->acquired[thread];
    simt_seen_join(b->check, &c->others, simt_order_knows(b, thread));
}

/* And what it did until now. */
static void add_done(struct clock *c, const struct block *b, unsigned warp, unsigned lane)
{
    uint32_t *seen = c->seen + b->worker->rank * b->clocks->threads + warp * SIMT_WARP;
    raise_to(&seen[lane], b->now);
    for (unsigned l = 0; b->lanes[warp] && l < SIMT_WARP; l++) raise_to(&seen[l], b->lanes[warp][lane][l]);
}

/* Lanes m arrive at x, which is of `o`: who waits for the phase has seen what they did. */
static void arrive(const struct access *a, uint32_t m, struct block *o, struct phases *x, bool releases)
{
    struct block *b = a->block;
    struct clock *c = want(b) ? own(o, &x->arrived) : NULL;
    const struct clock *last = NULL;
    unsigned warp = (unsigned)a->warp->index;
    if (!c) return;
    if (releases) raise_by_meetings(c, b, warp);
    EACH_LANE(l, m)
    {
        unsigned thread = warp * SIMT_WARP + l;
        simt_releases_arrive(a, l);
        add_known(c, b, thread, &last);
        raise_by_fence(c, b, thread);
        if (releases) add_done(c, b, warp, l);
    }
    x->coarse |= simt_ends_many(a->insn, a->regs, m, o->worker->shared + x->at);
}

/* The thread has waited for a phase. */
static void take(struct block *b, unsigned thread, struct clock *c)
{
    if (!c || !want(b) || b->clocks->knows[thread] == c) return;
    join(b, &b->clocks->knows[thread], c);
    b->clocks->some = b->meets_partly = true;
    simt_order_learn(b, thread, c->others);
    simt_releases_acquire(b, thread, c->acquired);
}

/* ---- barriers by number ---- */
void simt_clocks_arrive(struct block *b, uint32_t id, unsigned warp, uint32_t m)
{
    struct clock *c = want(b) ? own(b, &b->clocks->barriers[id]) : NULL;
    const struct clock *last = NULL;
    if (c && m) raise_by_meetings(c, b, warp);
    EACH_LANE(l, c ? m : 0)
    {
        add_known(c, b, warp * SIMT_WARP + l, &last);
        add_done(c, b, warp, l);
    }
}

void simt_clocks_wait(struct block *b, uint32_t id, const uint32_t *to)
{
    if (!b->clocks || !b->clocks->barriers[id]) return;
    simt_groups_part(b, b->clocks->threads);
    for (uint32_t t = 0; t < b->clocks->threads; t++)
        if (to[t / SIMT_WARP] >> t % SIMT_WARP & 1) take(b, t, b->clocks->barriers[id]);
    simt_groups_note_clocks(b, to);
    let_go(b, &b->clocks->barriers[id]);
}

/* ---- phases that all wait for ---- */
static bool is_alone(const struct block *b)
{
    return b->worker->cluster->size == 1;
}

static void set_last(struct clocks *c, unsigned warp, uint32_t m, uint32_t time)
{
    EACH_LANE(l, m) c->last[warp * SIMT_WARP + l] = time;
}

void simt_clocks_accessed(struct block *b, const struct warp *w, uint32_t m)
{
    struct clocks *c = b->clocks;
    set_last(c, (unsigned)w->index, m, b->now);
    if (c->some && !b->tags.slow && !b->tags.parted) simt_groups_part(b, 0);
}

/* Lanes arrived at x, behind what they did up to a time. */
static void note_arrivals(struct block *b, struct warp *w, uint32_t m, const struct phases *x, uint32_t time)
{
    struct clocks *c = b->clocks;
    unsigned warp = (unsigned)w->index;
    b->worker->leaves |= !w->closely;
    w->closely = true;
    c->arrived[warp] |= m;
    set_last(c, warp, m, time);
    if (c->home == x->at) return;
    for (unsigned v = 0; v < c->threads / SIMT_WARP; v++) {
        if (c->tests[v]) set_last(c, v, FULL, time);
        c->tests[v] = NULL;
    }
    c->home = x->at;
}

/* Has the clock all that the block's threads have done, and nothing of what they have seen is seen by them alone?
 * *waited: do all have it? */
static bool is_full(const struct block *b, const struct clock *k, bool *waited)
{
    const struct clocks *c = b->clocks;
    if (b->bulks || b->acquires || b->learned || b->reach) return false;
    *waited = true;
    for (unsigned w = 0; w < c->threads / SIMT_WARP; w++) {
        const struct warp *v = &b->worker->warps[w];
        if (v->alive != v->exists || v->exists & ~c->arrived[w]) return false;
        EACH_LANE(l, v->exists)
        {
            unsigned t = w * SIMT_WARP + l;
            if (k->seen[t] <= c->last[t]) return false;
            *waited &= c->knows[t] == k;
        }
    }
    return true;
}

/* Waits count as accesses to the mbarrier, which come behind the meeting. */
static void wait_again(const struct access *a, const struct insn *const *tests, const struct phases *x)
{
    struct block *b = a->block;
    for (uint32_t w = 0; w < b->worker->warp_count; w++) {
        struct access again = *a;
        again.warp = &b->worker->warps[w];
        again.insn = tests[w];
        again.regs = again.warp->entry_frame->regs;
        uint32_t site = a->check->site_of[again.insn - again.warp->code];
        again.site = &a->check->sites[site];
        again.me = lane_0_of(b, again.warp, site);
        for (int l = 0; l < SIMT_WARP; l++) again.at[l] = x->at;
        simt_shared_touch(&again, again.warp->exists);
    }
}

/* Lanes came to have the clock, of a phase of x. */
static void settle(const struct access *a, const struct phases *x, const struct clock *k)
{
    struct block *b = a->block;
    const struct insn *tests[32];
    bool waited, home = b->clocks->home == x->at;
    if (!home || !is_full(b, k, &waited)) return;
    b->worker->leaves = b->worker->yields = true;
    memcpy(tests, b->clocks->tests, sizeof tests);
    if (!waited) return;
    simt_check_phase_met(b);
    wait_again(a, tests, x);
}

/* ---- mbarriers, by instruction ---- */
static void begin_phases(struct block *o, struct phases *x)
{
    forget_arrivals(o, x);
    x->now = 0;
    x->coarse = false;
}

/* Lanes that test x know what comes with the phases which are over. */
static void test(const struct access *a, uint32_t m, struct block *o, struct phases *x)
{
    struct block *b = a->block;
    struct clock *of[SIMT_WARP] = {NULL}, *last = NULL;
    uint32_t lanes[32] = {0}, phase, *took = &lanes[a->warp->index];
    bool alone = is_alone(b), home = alone && b->clocks->home == x->at;
    if (home) b->clocks->tests[a->warp->index] = a->insn;
    if (alone && !home) simt_clocks_accessed(b, a->warp, m);
    EACH_LANE(l, m)
    {
        if (!simt_phase_over(a->insn, a->regs, l, o->worker->shared + x->at, &phase)) continue;
        of[l] = last = x->over[phase % PHASES];
        *took |= (uint32_t)(of[l] != NULL) << l;
    }
    if (!*took) return;
    if (!alone && !b->tags.slow) simt_shared_flush(b);
    if (b->tags.parted) simt_groups_part(b, b->clocks->threads);
    EACH_LANE(l, *took) take(b, (unsigned)a->warp->index * SIMT_WARP + l, of[l]);
    if (b->tags.parted) simt_groups_note_clocks(b, lanes);
    if (alone && last) settle(a, x, last);
}

void simt_clocks_touch(const struct access *a, uint32_t m)
{
    struct block *b = a->block;
    bool arrives = simt_arrives(a->insn), releases = a->insn->flags & F_RELEASE || !simt_is_mbarrier(a->insn);
    uint32_t before = releases ? b->now : LAST_TIME; /* what comes with the arrival is all up to its time, or not */
    if (arrives && releases) simt_check_fence(b, a->warp, m);
    while (m) {
        uint64_t first = a->at[__builtin_ctz(m)], at = (uint32_t)first;
        uint32_t same = 0;
        EACH_LANE(l, m) same |= (uint32_t)(a->at[l] == first) << l;
        m &= ~same;
        const struct worker *owner = simt_cluster_owner(b->worker, &at);
        struct block *o = owner ? owner->observed : NULL;
        struct phases *x = o && !owner->ended ? phases_at(o, at) : NULL;
        if (!x || !want(b)) continue; /* a fault, or no memory */
        follow(x, o);
        if (arrives) arrive(a, same, o, x, releases);
        if (arrives && is_alone(b)) note_arrivals(b, a->warp, same, x, before);
        if (simt_is_barrier_init(a->insn)) begin_phases(o, x);
        if (!arrives && simt_is_barrier_test(a->insn))
            test(a, same, o, x);
        else if (!arrives && is_alone(b))
            simt_clocks_accessed(b, a->warp, same);
    }
}
