/* When threads met: barriers, __syncwarp (but no shuffle or vote: those order no memory), and atomics or volatile
 * accesses behind a fence. In doubt something counts as ordered: no report is better than a false one. */
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/check_inside.h"

#define MOST_ALIKE 4    /* releases of a thread by one fence that are told apart by their objects */
#define LOG_SEARCH 4096 /* releases of a block that are looked through; behind that all counts as ordered */

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* Time goes on. At its end, far away, it stands still, and everything counts as ordered. */
static uint32_t tick(struct block *b)
{
    if (b->counters.used) simt_counters_tick(b);
    if (b->now < LAST_TIME) b->now++;
    b->worker->quiet.me = b->id | (record)b->now << TIME_AT;
    return b->worker->quiet.time = b->now;
}

void simt_sync_start(struct block *b)
{
    uint32_t warps = b->worker->warp_count, threads = warps * SIMT_WARP;
    b->now = b->met = b->worker->quiet.time = 1;
    b->worker->quiet.me = b->id | (record)b->now << TIME_AT;
    b->fence_before_barrier = false;
    b->fenced = 0;
    memset(b->warp_met, 0, warps * sizeof *b->warp_met);
    memset(b->warp_seen, 0, warps * sizeof *b->warp_seen);
    if (b->arrives) memset(b->arrived, 0, sizeof b->arrived);
    b->arrives = false;
    memset(b->pending_lanes, 0, warps * sizeof *b->pending_lanes);
    if (b->warps) memset(b->warps, 0, 32 * sizeof *b->warps);
    for (int w = 0; w < 32; w++)
        if (b->lanes[w]) memset(b->lanes[w], 0, 32 * sizeof *b->lanes[w]);
    if (b->fences) memset(b->fence, 0, threads * sizeof *b->fence);
    if (b->released) memset(b->released, 0, threads * sizeof *b->released);
    if (b->acquires) memset(b->acquired, 0, threads * sizeof *b->acquired);
    b->fences = b->acquires = false;
}

void simt_sync_free(struct block *b)
{
    free(b->warps);
    for (int w = 0; w < 32; w++) free(b->lanes[w]);
    free(b->fence);
    free(b->released);
    free(b->acquired);
    free(b->pending);
}

/* An array of the block, made when it is needed first. */
static bool want(struct block *b, void *array, size_t count, size_t size)
{
    void **p = array;
    if (!*p) *p = rt_calloc(count, size);
    if (!*p) atomic_store(&b->check->no_memory, true);
    return *p != NULL;
}

/* ---- releases: what a thread did before a fence goes with the next atomic or volatile write ---- */
static struct release_log *find_log(struct simt_check *c, unsigned block)
{
    struct release_log *l = c->stripes[block % LOG_STRIPES].logs;
    while (l && l->block != block) l = l->next;
    return l;
}

static bool append(struct simt_check *c, unsigned block, struct release r)
{
    struct release_log *l = find_log(c, block);
    if (!l) {
        l = rt_calloc(1, sizeof *l);
        if (!l) return false;
        l->block = block;
        l->next = c->stripes[block % LOG_STRIPES].logs;
        c->stripes[block % LOG_STRIPES].logs = l;
    }
    if (l->count == l->capacity) {
        size_t capacity = l->capacity ? 2 * l->capacity : 4;
        struct release *more = rt_realloc(l->items, capacity * sizeof *more);
        if (!more) return false;
        l->items = more;
        l->capacity = capacity;
    }
    l->items[l->count++] = r;
    return true;
}

void simt_releases_free(struct simt_check *c)
{
    for (int k = 0; k < LOG_STRIPES; k++) {
        while (c->stripes[k].logs) {
            struct release_log *next = c->stripes[k].logs->next;
            free(c->stripes[k].logs->items);
            free(c->stripes[k].logs);
            c->stripes[k].logs = next;
        }
        pthread_mutex_destroy(&c->stripes[k].lock);
    }
}

/* The atomic of a release is behind the fence, as others may be that nobody has read. */
static bool is_itself(const struct simt_check *c, const struct release *r, record e)
{
    if (r->object == ANY_OBJECT) return true;
    return record_site(e) == r->site && r->number <= atomic_load(&c->observed[r->object]);
}

static bool covers(const struct simt_check *c, const struct release *r, record e)
{
    uint32_t time = record_time(e);
    unsigned thread = record_thread(e);
    bool bulk = c->sites[record_site(e)].bulk; /* releases nothing */
    bool releases = record_atomic(e) && !bulk && time <= r->time && is_itself(c, r, e);
    return time < r->fence.block_time || (thread == r->thread && (time < r->fence.time || releases)) ||
           (thread / SIMT_WARP == r->thread / SIMT_WARP && time < r->fence.warp_time);
}

/* Was it released by its block before what the thread has seen? */
static bool released(const struct block *b, record e, unsigned thread)
{
    struct simt_check *c = b->check;
    unsigned block = record_block(e);
    if (!b->acquires || !b->acquired[thread]) return false;
    bool found = false;
    pthread_mutex_lock(&c->stripes[block % LOG_STRIPES].lock);
    const struct release_log *l = find_log(c, block);
    size_t tries = 0;
    for (size_t k = l ? l->count : 0; k > 0 && !found; k--) {
        if (l->items[k - 1].number > b->acquired[thread]) continue;
        found = covers(c, &l->items[k - 1], e) || ++tries > LOG_SEARCH;
    }
    pthread_mutex_unlock(&c->stripes[block % LOG_STRIPES].lock);
    return found;
}

bool simt_check_ordered(const struct block *b, record r, unsigned warp, unsigned lane)
{
    unsigned thread = record_thread(r), me = warp * SIMT_WARP + lane;
    uint32_t time = record_time(r);
    if (record_block(r) == record_block(b->id)) {
        unsigned other = thread / SIMT_WARP;
        if (thread == me || time < b->met || b->now == LAST_TIME) return true;
        if (other == warp && time < b->warp_met[warp]) return true;
        if (other == warp && b->lanes[warp] && time < b->lanes[warp][lane][thread % SIMT_WARP]) return true;
        if (other != warp && b->warps && time < b->warps[warp][other]) return true;
    }
    return (b->reach && simt_reach_ordered(b, r)) || (b->clocks && simt_clocks_ordered(b, r, me)) || released(b, r, me);
}

/* Shared memory and global memory use the same names for threads of the block at hand. */

/* What a thread releases when it writes: what its last fence ordered. False: it has none. */
static bool fence_of(const struct block *b, unsigned thread, struct fence *out)
{
    *out = (struct fence){0};
    if (b->fences) *out = b->fence[thread];
    out->block_time = larger(out->block_time, b->fenced);
    return out->time || out->block_time;
}

struct fence simt_check_fence_of(const struct block *b, unsigned thread)
{
    struct fence f;
    fence_of(b, thread, &f);
    return f;
}

static unsigned object_of(const struct access *a, unsigned lane)
{
    uint64_t at = a->at[lane], key = at >> 2;
    bool shared = at < SIMT_SHARED_BASE || at >> 48 == SIMT_SHARED_BASE >> 48;
    if (shared) {
        at = (uint32_t)at;
        const struct worker *owner = simt_cluster_owner(a->block->worker, &at);
        key = at >> 2 ^ (owner ? ((const struct block *)owner->observed)->id : a->block->id);
    }
    return (unsigned)(key * UINT64_C(0x9E3779B97F4A7C15) >> 52) % OBJECTS;
}

static void raise_to(_Atomic uint64_t *least, uint64_t number)
{
    uint64_t last = atomic_load(least);
    while (last < number && !atomic_compare_exchange_weak(least, &last, number)) {
    }
}

/* The number of the release in the log; 0: there was no fence. */
static uint64_t note_release(const struct access *a, unsigned lane, unsigned object)
{
    struct block *b = a->block;
    struct simt_check *c = a->check;
    unsigned thread = (unsigned)a->warp->index * SIMT_WARP + lane, block = record_block(b->id);
    struct release r = {.thread = thread, .time = b->now, .site = record_site(a->me), .object = object};
    if (!fence_of(b, thread, &r.fence)) return 0;
    if (!want(b, &b->released, b->worker->warp_count * SIMT_WARP, sizeof *b->released)) return 0;
    struct released *before = &b->released[thread];
    bool alike = before->number && before->time == r.time && !memcmp(&before->fence, &r.fence, sizeof r.fence);
    if (alike && (before->object == ANY_OBJECT || (before->site == r.site && before->object == r.object)))
        return before->number;
    uint32_t count = alike ? before->alike + 1 : 1;
    if (count == MOST_ALIKE) r.object = ANY_OBJECT;
    pthread_mutex_lock(&c->stripes[block % LOG_STRIPES].lock);
    r.number = atomic_fetch_add(&c->releases, 1) + 1;
    if (!append(c, block, r)) atomic_store(&c->no_memory, true);
    pthread_mutex_unlock(&c->stripes[block % LOG_STRIPES].lock);
    *before = (struct released){r.fence, r.time, r.site, r.object, count, r.number};
    return r.number;
}

static void release(const struct access *a, unsigned lane)
{
    struct simt_check *c = a->check;
    unsigned object = object_of(a, lane);
    uint64_t number = note_release(a, lane, object);
    if (!number) return;
    if (a->kind == ACCESS_ATOMIC) raise_to(&c->observed[object], atomic_load(&c->objects[object]));
    raise_to(&c->objects[object], number);
}

void simt_check_release(const struct access *a, unsigned lane)
{
    note_release(a, lane, ANY_OBJECT);
}

void simt_check_acquire(struct block *b, unsigned thread, uint64_t number)
{
    if (!number || !want(b, &b->acquired, b->worker->warp_count * SIMT_WARP, sizeof *b->acquired)) return;
    b->acquires = true;
    if (number <= b->acquired[thread]) return;
    simt_shared_flush(b);
    b->acquired[thread] = number;
}

void simt_check_strong(const struct access *a, uint32_t m)
{
    struct block *b = a->block;
    if (a->insn->flags & F_RELEASE) simt_check_fence(b, a->warp, m);
    if (a->kind != ACCESS_READ && (b->fences || b->fenced)) EACH_LANE(l, m) release(a, l);
    bool reads = a->kind != ACCESS_WRITE;
    if (!reads || !want(b, &b->pending, 32, sizeof *b->pending)) return;
    EACH_LANE(l, m) b->pending[a->warp->index][l] = (uint16_t)object_of(a, l);
    b->pending_lanes[a->warp->index] = m;
}

void simt_check_settle(struct block *b, struct warp *w)
{
    uint32_t m = b->pending_lanes[w->index];
    b->pending_lanes[w->index] = 0;
    if (!m || !atomic_load_explicit(&b->check->releases, memory_order_relaxed)) return;
    EACH_LANE(l, m)
    {
        unsigned object = b->pending[w->index][l], thread = (unsigned)w->index * SIMT_WARP + l;
        uint64_t seen = atomic_load(&b->check->objects[object]);
        if (seen && !(b->released && b->released[thread].number == seen)) raise_to(&b->check->observed[object], seen);
        simt_check_acquire(b, thread, seen);
    }
}

void simt_check_fence(struct block *b, struct warp *w, uint32_t m)
{
    uint32_t threads = b->worker->warp_count * SIMT_WARP;
    if (!want(b, &b->fence, threads, sizeof *b->fence)) return;
    b->fences = b->fence_before_barrier = true;
    struct fence f = {tick(b), b->met, b->warp_met[w->index]};
    EACH_LANE(l, m) b->fence[(unsigned)w->index * SIMT_WARP + l] = f;
    b->warp_seen[w->index] = b->now;
}

/* ---- barriers ---- */
/* Everyone knows what any of the lanes has seen. */
static void share_acquired(struct block *b, unsigned warp, uint32_t m, uint64_t *most)
{
    EACH_LANE(l, m)
    {
        uint64_t seen = b->acquired[warp * SIMT_WARP + l];
        if (seen > *most) *most = seen;
    }
}

static void set_acquired(struct block *b, unsigned warp, uint32_t m, uint64_t most)
{
    EACH_LANE(l, m) b->acquired[warp * SIMT_WARP + l] = most;
}

/* All threads of the block met. */
static void meet(struct block *b)
{
    struct worker *k = b->worker;
    b->met = tick(b);
    simt_shared_meet(b);
    simt_bulk_met(b);
    simt_clocks_meet(b);
    for (uint32_t w = 0; w < k->warp_count; w++) b->warp_seen[w] = b->now;
    if (b->fence_before_barrier) b->fenced = b->met;
    b->fence_before_barrier = false;
    if (!b->acquires) return;
    uint64_t most = 0;
    for (uint32_t w = 0; w < k->warp_count; w++) share_acquired(b, w, FULL, &most);
    for (uint32_t w = 0; w < k->warp_count; w++) set_acquired(b, w, FULL, most);
}

/* Some warps met: those at the barrier have seen what those that came did before, and what those had seen. */
static void meet_some(struct block *b, uint32_t id, const uint32_t *here, const uint32_t *waiting)
{
    struct worker *k = b->worker;
    uint32_t known[32] = {0}, now = tick(b);
    uint64_t most = 0;
    if (!want(b, &b->warps, 32, sizeof *b->warps)) return;
    simt_shared_flush(b);
    for (uint32_t w = 0; w < k->warp_count; w++) {
        if (!here[w]) continue;
        for (uint32_t v = 0; v < 32; v++) known[v] = larger(known[v], b->warps[w][v]);
        known[w] = larger(known[w], b->arrived[id][w] ? b->arrived[id][w] : now);
        if (b->acquires) share_acquired(b, w, here[w], &most);
    }
    for (uint32_t w = 0; w < k->warp_count; w++) {
        if (!waiting[w]) continue;
        memcpy(b->warps[w], known, sizeof known);
        b->warp_met[w] = b->warp_seen[w] = now;
        if (b->acquires) set_acquired(b, w, waiting[w], most);
    }
    simt_clocks_share(b, here, waiting);
}

void simt_check_arrive(struct block *b, struct warp *w, const struct insn *i, uint32_t m)
{
    uint32_t id = u32_at(w->frame->regs, i->a)[__builtin_ctz(m)];
    if (i->mode != 1 || id >= MAX_BARRIERS) return;
    b->arrived[id][w->index] = tick(b);
    b->arrives = true;
}

static const struct split *split_of(const struct warp *w, unsigned lane)
{
    for (uint32_t n = 0; n < w->split_count; n++)
        if (w->splits[n].mask >> lane & 1) return &w->splits[n];
    return NULL;
}

/* Did threads come to the barrier by different lines, or have some ended? */
static bool is_divergent(const struct worker *k, uint32_t id)
{
    const struct place *places = k->program->places, *first = NULL;
    for (uint32_t j = 0; j < k->warp_count; j++) {
        const struct warp *w = &k->warps[j];
        if (w->exists & ~w->alive) return true;
        for (uint32_t n = 0; n < w->split_count; n++) {
            const struct split *s = &w->splits[n];
            if (s->state != SPLIT_BARRIER || s->barrier != id) continue;
            const struct place *p = &places[s->pc];
            if (first && (p->line != first->line || p->file != first->file)) return true;
            first = p;
        }
    }
    return false;
}

/* Threads that came by different lines, or that never come: one report for a barrier. */
static void report_divergence(struct block *b, uint32_t id)
{
    struct worker *k = b->worker;
    const struct barrier *bar = &k->barriers[id];
    const struct place *places = k->program->places, *first = NULL;
    struct simt_report r = {.kind = CHECK_BARRIER, .space = PTX_SHARED};
    for (uint32_t j = 0; j < k->warp_count && !r.has_other; j++) {
        struct warp *w = &k->warps[j];
        for (unsigned lane = 0; lane < SIMT_WARP && !r.has_other;
             lane++) { /* in this order whatever branch ran first */
            const struct split *s = split_of(w, lane);
            if (!s || s->state != SPLIT_BARRIER || s->barrier != id || lane != (unsigned)__builtin_ctz(s->mask))
                continue;
            const struct place *p = &places[s->pc];
            struct simt_party party = simt_party_at(w, s->pc, lane, ACCESS_NONE);
            if (!first) {
                first = p;
                r.first = party;
            } else if (p->line != first->line || p->file != first->file) {
                r.other = party;
                r.has_other = true;
            }
        }
    }
    for (uint32_t j = 0; j < k->warp_count && first && !r.has_other && !bar->expected; j++) {
        struct warp *w = &k->warps[j];
        uint32_t gone = w->exists & ~w->alive;
        if (!gone) continue;
        unsigned lane = (unsigned)__builtin_ctz(gone);
        r.other = simt_party_at(w, b->exit_pc[j * SIMT_WARP + lane], lane, ACCESS_NONE);
        r.has_other = r.exited = true;
    }
    if (r.has_other) simt_check_report(b->check, &r);
}

void simt_check_barrier(struct simt_observer *o, struct worker *k, uint32_t id)
{
    struct block *b = k->observed;
    const struct barrier *bar = &k->barriers[id];
    uint32_t waiting[32] = {0}, count = 0;
    (void)o;
    for (uint32_t j = 0; j < k->warp_count; j++) {
        struct warp *w = &k->warps[j];
        simt_check_settle(b, w);
        for (uint32_t n = 0; n < w->split_count; n++)
            if (w->splits[n].state == SPLIT_BARRIER && w->splits[n].barrier == id) waiting[j] |= w->splits[n].mask;
        count += (uint32_t)__builtin_popcount(waiting[j]);
    }
    if (id == CLUSTER_BARRIER) {
        meet(b);
        simt_reach_met(b);
        return;
    }
    if (is_divergent(k, id)) report_divergence(b, id);
    if (count == k->live)
        meet(b);
    else
        meet_some(b, id, bar->arrived, waiting);
    memset(b->arrived[id], 0, sizeof b->arrived[id]);
}

void simt_check_met(struct simt_observer *o, struct worker *k)
{
    struct block *b = k->observed;
    (void)o;
    for (uint32_t j = 0; j < k->warp_count; j++)
        if (b->pending_lanes[j]) simt_check_settle(b, &k->warps[j]);
    meet(b);
}

/* ---- deadlocks ---- */
/* Lanes that wait for others of their warp which are elsewhere. */
static bool report_absent_lanes(struct block *b, struct warp *w, const struct split *s)
{
    const struct insn *i = &w->code[s->pc];
    unsigned lane = (unsigned)__builtin_ctz(s->mask);
    bool plain = b->check->watch[s->pc] == WATCH_WARP_SYNC;
    uint32_t mask = u32_at(s->frame->regs, plain ? i->a : i->extra)[lane], absent = mask & w->alive & ~s->mask;
    if (!absent) return false;
    unsigned other = (unsigned)__builtin_ctz(absent);
    const struct split *there = split_of(w, other);
    struct simt_report r = {.kind = CHECK_LANE, .lanes = mask, .first = simt_party_at(w, s->pc, lane, ACCESS_NONE)};
    if (there) {
        r.has_other = true;
        r.other = simt_party_at(w, there->pc, other, ACCESS_NONE);
    }
    simt_check_report(b->check, &r);
    return true;
}

/* Threads that wait at a barrier while others wait at another one. */
static bool report_apart(struct block *b, struct warp *w, const struct split *s)
{
    struct worker *k = b->worker;
    for (uint32_t j = 0; j < k->warp_count; j++)
        for (uint32_t n = 0; n < k->warps[j].split_count; n++) {
            const struct split *o = &k->warps[j].splits[n];
            if (!o->mask || o->state != SPLIT_BARRIER || o->barrier == s->barrier) continue;
            struct simt_report r = {
                .kind = CHECK_BARRIER,
                .has_other = true,
                .first = simt_party_at(w, s->pc, (unsigned)__builtin_ctz(s->mask), ACCESS_NONE),
                .other = simt_party_at(&k->warps[j], o->pc, (unsigned)__builtin_ctz(o->mask), ACCESS_NONE)};
            simt_check_report(b->check, &r);
            return true;
        }
    return false;
}

bool simt_check_deadlock(struct simt_observer *o, struct worker *k)
{
    struct block *b = k->observed;
    bool lanes = false, apart = false;
    (void)o;
    for (uint32_t j = 0; j < k->warp_count; j++)
        for (uint32_t n = 0; n < k->warps[j].split_count && !lanes; n++) {
            const struct split *s = &k->warps[j].splits[n];
            if (s->mask && s->state == SPLIT_SYNC) lanes = report_absent_lanes(b, &k->warps[j], s);
        }
    for (uint32_t j = 0; j < k->warp_count && !lanes; j++)
        for (uint32_t n = 0; n < k->warps[j].split_count && !apart; n++) {
            const struct split *s = &k->warps[j].splits[n];
            if (s->mask && s->state == SPLIT_BARRIER) apart = report_apart(b, &k->warps[j], s);
        }
    return lanes || apart;
}

/* ---- lanes of a warp ---- */
static void meet_lanes(struct block *b, struct warp *w, uint32_t group, uint32_t now)
{
    uint32_t known[32] = {0};
    if (!want(b, &b->lanes[w->index], 32, sizeof *b->lanes[0])) return;
    simt_shared_flush(b);
    uint32_t(*lanes)[32] = b->lanes[w->index];
    EACH_LANE(l, group)
    {
        for (int j = 0; j < 32; j++) known[j] = larger(known[j], lanes[l][j]);
        known[l] = now;
    }
    EACH_LANE(l, group) memcpy(lanes[l], known, sizeof known);
}

/* Every lane had a fence since the warp met last: each releases what all did, as behind a barrier of the block. */
static void share_fences(struct block *b, const struct warp *w, uint32_t group, uint32_t now)
{
    struct fence *f = b->fence + (unsigned)w->index * SIMT_WARP;
    uint32_t since = larger(b->met, b->warp_met[w->index]);
    EACH_LANE(l, group)
    if (f[l].time < since) return;
    EACH_LANE(l, group) f[l].warp_time = now;
}

static void meet_warp(struct block *b, struct warp *w, uint32_t now)
{
    if (b->fences) share_fences(b, w, w->alive, now);
    b->warp_met[w->index] = now;
    simt_shared_warp_met(b, w);
}

void simt_check_warp_sync(struct simt_observer *o, struct warp *w, const uint32_t *masks, uint32_t m, bool orders)
{
    struct block *b = w->worker->observed;
    (void)o;
    if (!orders) return;
    uint32_t now = tick(b);
    if (b->pending_lanes[w->index]) simt_check_settle(b, w);
    b->warp_seen[w->index] = now;
    while (m) {
        uint32_t named = masks ? masks[__builtin_ctz(m)] : m, group = masks ? 0 : m;
        if (masks) EACH_LANE(l, m) group |= (uint32_t)(masks[l] == named) << l;
        m &= ~group;
        if (b->acquires) {
            uint64_t most = 0;
            share_acquired(b, (unsigned)w->index, group, &most);
            set_acquired(b, (unsigned)w->index, group, most);
        }
        if (b->clocks) simt_clocks_share_lanes(b, w, group);
        if ((group & w->alive) == w->alive)
            meet_warp(b, w, now);
        else
            meet_lanes(b, w, group, now);
    }
}
