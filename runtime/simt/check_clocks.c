/* Clocks, by which mbarriers (check_phases.c), and barriers by number that threads arrive at without waiting or that
 * only some lanes of a warp wait at, order threads: who waits has seen what was done before the arrivals, and no more.
 * A clock says so of all threads of a cluster: of each up to which time, of each block up to which time all of it; a
 * thread has the clock of all that it waited for. Most threads have waited for the same, so clocks are shared and not
 * changed then.
 *
 * Where the threads of a block meet, their clocks become one; where that is the whole cluster, they say nothing new. */
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/check_clocks.h"
#include "runtime/simt/check_order.h"
#include "runtime/simt/check_shared.h"

void *simt_clocks_allocated(const struct block *b, void *p)
{
    if (!p) atomic_store(&b->check->no_memory, true);
    return p;
}

/* ---- clocks ---- */
void simt_clock_let_go(const struct block *b, struct clock **place)
{
    struct clock *c = *place;
    *place = NULL;
    if (!c || --c->holders) return;
    simt_seen_let_go(&c->others);
    simt_seen_let_go(&c->said);
    c->next = b->clocks->spare;
    b->clocks->spare = c;
}

void simt_clock_hold(const struct block *b, struct clock **place, struct clock *c)
{
    if (c) c->holders++;
    simt_clock_let_go(b, place);
    *place = c;
}

static size_t entries(const struct block *b)
{
    return (size_t)b->worker->cluster->size * b->worker->warp_count * SIMT_WARP;
}

static void raise_all(const struct block *b, struct clock *c, const struct clock *by)
{
    size_t n = entries(b);
    simt_seen_join(b->check, &c->others, by->others);
    if (by->acquired > c->acquired) c->acquired = by->acquired;
    for (unsigned k = 0; k < MAX_CLUSTER; k++) raise_to(&c->met[k], by->met[k]);
    b->check->vectors->raise(c->seen, by->seen, n);
}

/* A clock that nobody else holds, the same as *place, where it stands from then on. */
struct clock *simt_clock_own(const struct block *b, struct clock **place)
{
    struct clock *c = b->clocks->spare;
    if (*place && (*place)->holders == 1) {
        simt_seen_let_go(&(*place)->said);
        return *place;
    }
    if (c) {
        b->clocks->spare = c->next;
        memset(c, 0, sizeof *c + entries(b) * sizeof *c->seen);
    } else {
        c = simt_clocks_allocated(b, rt_calloc(1, sizeof *c + entries(b) * sizeof *c->seen));
    }
    if (!c) return NULL;
    if (*place) raise_all(b, c, *place);
    simt_clock_hold(b, place, c);
    return c;
}

/* Does it say all that the other does? */
static bool says(const struct block *b, const struct clock *c, const struct clock *other)
{
    size_t n = entries(b);
    uint32_t less = (uint32_t)(other->acquired > c->acquired) | (uint32_t)(other->others && other->others != c->others);
    for (unsigned k = 0; k < MAX_CLUSTER; k++) less |= (uint32_t)(c->met[k] < other->met[k]);
    for (size_t k = 0; k < n; k += SIMT_WARP)
        for (unsigned l = 0; l < SIMT_WARP; l++) less |= (uint32_t)(c->seen[k + l] < other->seen[k + l]);
    return !less;
}

/* *place comes to know what the other does. */
static void join(const struct block *b, struct clock **place, struct clock *more)
{
    struct clock **last = b->clocks->joined, *both = NULL;
    if (!more || *place == more) return;
    if (!*place) {
        simt_clock_hold(b, place, more);
        return;
    }
    if (last[0] != *place || last[1] != more) {
        bool all = says(b, more, *place);
        simt_clock_hold(b, &both, all ? more : *place);
        if (!all && !simt_clock_own(b, &both)) return;
        if (!all) raise_all(b, both, more);
        simt_clock_hold(b, &last[0], *place);
        simt_clock_hold(b, &last[1], more);
        simt_clock_hold(b, &last[2], both);
        simt_clock_let_go(b, &both);
    }
    simt_clock_hold(b, place, last[2]);
}

/* ---- of a block ---- */
struct clocks *simt_clocks_want(struct block *b)
{
    if (b->clocks) return b->clocks;
    struct clocks *c = rt_calloc(1, sizeof *c);
    if (c) c->threads = b->worker->warp_count * SIMT_WARP;
    if (c) c->knows = rt_calloc(c->threads, sizeof *c->knows);
    if (c) c->last = rt_calloc(c->threads, sizeof *c->last);
    if (!c || !c->knows || !c->last) {
        if (c) free(c->knows), free(c->last);
        free(c);
        return simt_clocks_allocated(b, NULL);
    }
    b->clocks = c;
    simt_sync_quiet(b);
    return c;
}

static void forget_kept(const struct block *b)
{
    struct clocks *c = b->clocks;
    while (c->kept_count) simt_clock_let_go(b, &c->kept[--c->kept_count]);
}

void simt_clocks_start(struct block *b)
{
    struct clocks *c = b->clocks;
    if (!c) return;
    simt_clocks_forget(b);
    simt_phases_leave(b);
    for (size_t k = 0; k < c->count; k++) simt_phases_forget(b, &c->items[k]);
    for (int k = 0; k < MAX_BARRIERS; k++) simt_clock_let_go(b, &c->barriers[k]);
    for (int k = 0; k < 3; k++) simt_clock_let_go(b, &c->joined[k]);
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

_Static_assert(sizeof(struct clock *) == sizeof(uint64_t), "pointers are compared as numbers");

uint32_t simt_clocks_who(const struct block *b, unsigned warp, const struct clock *c)
{
    struct clock *const *knows = b->clocks->knows + warp * SIMT_WARP;
    return b->check->vectors->alike((const uint64_t *)(const void *)knows, (uint64_t)(uintptr_t)c);
}

uint32_t simt_clocks_alike(const struct block *b, unsigned warp, unsigned lane)
{
    return b->clocks->aside ? FULL : simt_clocks_who(b, warp, b->clocks->knows[warp * SIMT_WARP + lane]);
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

static uint32_t keep(struct block *b, struct clock *of)
{
    struct clocks *c = b->clocks;
    if (c->kept_count && c->kept[c->kept_count - 1] == of) return c->kept_count - 1;
    if (c->kept_count == c->kept_room) {
        uint32_t room = c->kept_room ? 2 * c->kept_room : 64;
        struct clock **more = simt_clocks_allocated(b, rt_realloc(c->kept, room * sizeof *more));
        if (!more) return 0;
        c->kept = more;
        c->kept_room = room;
    }
    c->kept[c->kept_count] = NULL;
    simt_clock_hold(b, &c->kept[c->kept_count], of);
    return c->kept_count++;
}

uint32_t simt_clocks_keep(struct block *b, unsigned thread)
{
    return keep(b, b->clocks->knows[thread]);
}

void simt_clocks_keep_again(struct block *b, bool begins)
{
    struct clocks *c = b->clocks;
    if (begins) {
        c->before = c->kept, c->before_count = c->kept_count;
        c->kept = NULL, c->kept_count = c->kept_room = 0;
        return;
    }
    while (c->before_count) simt_clock_let_go(b, &c->before[--c->before_count]);
    free(c->before);
    c->before = NULL;
}

uint32_t simt_clocks_move(struct block *b, uint32_t kept)
{
    return kept < b->clocks->before_count ? keep(b, b->clocks->before[kept]) : 0;
}

void simt_clocks_know(struct block *b, unsigned thread, uint32_t kept)
{
    struct clocks *c = b->clocks;
    if (kept >= c->kept_count) return;
    simt_clock_hold(b, &c->knows[thread], c->kept[kept]);
    c->some |= c->kept[kept] != NULL;
}

void simt_clocks_forget(struct block *b)
{
    for (uint32_t t = 0; b->clocks->some && t < b->clocks->threads; t++) simt_clock_let_go(b, &b->clocks->knows[t]);
    b->clocks->some = false;
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
    struct clock *c = b->clocks->knows[thread];
    bool find = c && !c->said;
    uint64_t *items = find ? simt_clocks_allocated(b, rt_alloc((entries(b) + cluster->size) * sizeof *items)) : NULL;
    size_t n = 0;
    for (uint32_t rank = 0; items && rank < cluster->size; rank++) add_block(c, cluster->members[rank], items, &n);
    if (n) simt_seen_add(b->check, &c->said, items, simt_items_sort(items, n));
    if (c) simt_seen_join(b->check, to, c->said);
    free(items);
}

/* ---- where threads meet ---- */
/* Lanes m, all of which know the same, come to know c and no more. */
static void know_only(const struct block *b, struct clock **knows, uint32_t m, struct clock *c)
{
    struct clock *was = knows[__builtin_ctz(m)];
    uint32_t n = (uint32_t)__builtin_popcount(m);
    if (was == c) return;
    c->holders += n;
    if (was) was->holders -= n - 1;
    simt_clock_let_go(b, &was);
    EACH_LANE(l, m) knows[l] = c;
}

void simt_clocks_share(struct block *b, const uint32_t *from, const uint32_t *to)
{
    struct clocks *c = b->clocks;
    struct clock *all = NULL, *last = NULL; /* most know the same */
    if (!c) return;
    b->meets_partly = true;
    if (b->tags.parted) simt_groups_part(b, c->threads);
    for (uint32_t t = 0; t < c->threads; t += SIMT_WARP) EACH_LANE(l, from[t / SIMT_WARP])
        {
            if (c->knows[t + l] == last) continue;
            join(b, &all, c->knows[t + l]);
            last = c->knows[t + l];
        }
    for (uint32_t w = 0; all && w < c->threads / SIMT_WARP; w++)
        for (uint32_t left = to[w], same; left; left &= ~same) {
            struct clock **knows = c->knows + w * SIMT_WARP;
            same = left & simt_clocks_who(b, w, knows[__builtin_ctz(left)]);
            know_only(b, knows, same, all);
        }
    c->some |= all != NULL;
    if (all) simt_groups_note_clocks(b, to);
    simt_clock_let_go(b, &all);
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
    simt_phases_leave(b);
    for (size_t k = 0; k < c->count; k++) simt_phases_forget(b, &c->items[k]);
}

/* All that the block's barriers and those of its warps have ordered before what the warp does. */
void simt_clock_add_meetings(struct clock *c, const struct block *b, unsigned warp)
{
    const struct worker *k = b->worker;
    uint32_t *seen = c->seen + k->rank * b->clocks->threads;
    simt_reach_times(b, c->met);
    raise_to(&c->met[k->rank], b->met);
    raise_warp_to(seen + warp * SIMT_WARP, b->warp_met[warp]);
    for (uint32_t v = 0; b->warps && v < k->warp_count; v++)
        if (b->warps[warp][v]) raise_warp_to(seen + v * SIMT_WARP, b->warps[warp][v]);
}

/* What the lanes have seen goes with their arrival; most have seen the same. */
void simt_clock_add_known(struct clock *c, const struct block *b, unsigned warp, uint32_t m)
{
    struct clock *const *knows = b->clocks->knows + warp * SIMT_WARP, *last = NULL;
    EACH_LANE(l, m)
    {
        if (knows[l] && knows[l] != last) raise_all(b, c, knows[l]);
        last = knows[l];
    }
    EACH_LANE(l, b->acquires ? m : 0)
    if (b->acquired[warp * SIMT_WARP + l] > c->acquired) c->acquired = b->acquired[warp * SIMT_WARP + l];
    EACH_LANE(l, b->order ? m : 0)
    simt_seen_join(b->check, &c->others, simt_order_knows(b, warp * SIMT_WARP + l));
}

/* And what they did until now. */
void simt_clock_add_done(struct clock *c, const struct block *b, unsigned warp, uint32_t m)
{
    uint32_t *seen = c->seen + b->worker->rank * b->clocks->threads + warp * SIMT_WARP, now = b->now;
    for (unsigned l = 0; l < SIMT_WARP; l++) raise_to(&seen[l], now & -(m >> l & 1));
    EACH_LANE(l, b->lanes[warp] ? m : 0)
    {
        uint32_t row[SIMT_WARP];
        simt_lane_row((const uint32_t(*)[SIMT_WARP])b->lanes[warp], l, row);
        raise_warp(seen, row);
    }
}

/* The lanes have waited for it. */
void simt_clocks_take(struct block *b, unsigned warp, uint32_t m, struct clock *c)
{
    if (!c || !simt_clocks_want(b)) return;
    struct clock **knows = b->clocks->knows + warp * SIMT_WARP;
    m &= ~simt_clocks_who(b, warp, c);
    if (!m) return;
    EACH_LANE(l, c->others || c->acquired ? m : 0) /* first: with it the cells may come to hear of what was noted */
    {
        simt_order_learn(b, warp * SIMT_WARP + l, c->others);
        simt_releases_acquire(b, warp * SIMT_WARP + l, c->acquired);
    }
    b->clocks->some = b->meets_partly = true;
    for (uint32_t left = m, same; left; left &= ~same) {
        struct clock *both = NULL;
        unsigned one = (unsigned)__builtin_ctz(left);
        same = left & simt_clocks_who(b, warp, knows[one]);
        simt_clock_hold(b, &both, knows[one]);
        join(b, &both, c);
        if (both) know_only(b, knows, same, both);
        simt_clock_let_go(b, &both);
    }
}

/* ---- barriers by number ---- */
void simt_clocks_arrive(struct block *b, uint32_t id, unsigned warp, uint32_t m)
{
    struct clock *c = m && simt_clocks_want(b) ? simt_clock_own(b, &b->clocks->barriers[id]) : NULL;
    if (!c) return;
    simt_clock_add_meetings(c, b, warp);
    simt_clock_add_known(c, b, warp, m);
    simt_clock_add_done(c, b, warp, m);
}

void simt_clocks_wait(struct block *b, uint32_t id, const uint32_t *to)
{
    if (!b->clocks || !b->clocks->barriers[id]) return;
    simt_groups_part(b, b->clocks->threads);
    for (uint32_t t = 0; t < b->clocks->threads; t += SIMT_WARP)
        simt_clocks_take(b, t / SIMT_WARP, to[t / SIMT_WARP], b->clocks->barriers[id]);
    simt_groups_note_clocks(b, to);
    simt_clock_let_go(b, &b->clocks->barriers[id]);
}
