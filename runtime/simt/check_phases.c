/* mbarriers: who waits for a phase has seen what was done before the arrivals in it and in those before. An mbarrier
 * keeps the clock of the arrivals so far and those of the last phases that are over.
 *
 * Where all threads of a block have waited for a phase that all arrived in, and none has touched memory between its
 * arrival and its wait, they have met. To see that, warps are watched closely from an arrival on, and who has waited
 * for such a phase lets the others have their turn first. Before one of them touches memory behind an arrival, or knows
 * something without having arrived, the tags of shared memory come to tell of times: check_groups.c. */
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/async.h"
#include "runtime/simt/check_clocks.h"
#include "runtime/simt/check_order.h"
#include "runtime/simt/check_shared.h"

/* ---- mbarriers ---- */
void simt_phases_forget(const struct block *b, struct phases *x)
{
    simt_clock_let_go(b, &x->arrived);
    for (int k = 0; k < PHASES; k++) simt_clock_let_go(b, &x->over[k]);
}

/* The mbarrier of `o` there; NULL: there is none, or no memory. */
static struct phases *phases_at(struct block *o, uint64_t at)
{
    struct clocks *c = simt_clocks_want(o);
    if (!c || at % 8 || at > o->worker->shared_bytes - 8u) return NULL;
    for (size_t k = 0; k < c->count; k++)
        if (c->items[k].at == at) return &c->items[k];
    if (c->count == c->room) {
        size_t room = c->room ? 2 * c->room : 8;
        struct phases *more = simt_clocks_allocated(o, rt_realloc(c->items, room * sizeof *more));
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
    for (; x->now != now; x->now = (x->now + 1) % PHASES) simt_clock_hold(b, &x->over[x->now], x->arrived);
    for (int k = 0; x->coarse && k < PHASES; k++) simt_clock_hold(b, &x->over[k], x->arrived);
}

/* What the last fence of each lane ordered, as an arrival without one of its own releases it. */
static void raise_by_fences(struct clock *c, const struct block *b, unsigned warp, uint32_t m)
{
    uint32_t rank = b->worker->rank, *seen = c->seen + rank * b->clocks->threads + warp * SIMT_WARP, warp_time = 0;
    EACH_LANE(l, m)
    {
        const struct fence f = simt_check_fence_of(b, warp * SIMT_WARP + l, 1);
        raise_to(&c->met[rank], f.block_time);
        raise_to(&seen[l], f.time);
        if (f.warp_time != warp_time) raise_warp_to(seen, f.warp_time);
        warp_time = f.warp_time;
    }
}

/* Lanes m arrive at x, which is of `o`: who waits for the phase has seen what they did. Where that is a release, they
 * have just had a fence, all of them the same. */
static void arrive(const struct access *a, uint32_t m, struct block *o, struct phases *x, bool releases)
{
    struct block *b = a->block;
    struct clock *c = simt_clocks_want(b) ? simt_clock_own(o, &x->arrived) : NULL;
    unsigned warp = (unsigned)a->warp->index;
    if (!c) return;
    if (releases) simt_clock_add_meetings(c, b, warp);
    EACH_LANE(l, m) simt_releases_arrive(a, l);
    simt_clock_add_known(c, b, warp, m);
    raise_by_fences(c, b, warp, releases ? m & -m : m);
    if (releases) simt_clock_add_done(c, b, warp, m);
    x->coarse |= simt_ends_many(a->insn, a->regs, m, o->worker->shared + x->at);
}

void simt_phases_leave(struct block *b)
{
    struct clocks *c = b->clocks;
    for (uint32_t w = 0; w < c->threads / SIMT_WARP; w++) {
        if (c->arrived[w]) memset(c->last + w * SIMT_WARP, 0, SIMT_WARP * sizeof *c->last);
        c->arrived[w] = 0;
        c->tests[w] = NULL;
        b->worker->warps[w].closely = false;
    }
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

bool simt_phases_cover(const struct block *b)
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

/* ---- phases that all wait for ---- */
static bool is_alone(const struct block *b)
{
    return b->worker->cluster->size == 1;
}

static void set_last(struct clocks *c, unsigned warp, uint32_t m, uint32_t time)
{
    uint32_t *last = c->last + warp * SIMT_WARP;
    for (unsigned l = 0; l < SIMT_WARP; l++) last[l] = m >> l & 1 ? time : last[l];
}

void simt_phases_accessed(struct block *b, const struct warp *w, uint32_t m)
{
    if (!b->tags.slow && !b->tags.parted) simt_groups_part(b, 0);
    set_last(b->clocks, (unsigned)w->index, m, b->now);
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
        const uint32_t *seen = k->seen + w * SIMT_WARP, *last = c->last + w * SIMT_WARP;
        uint32_t behind = 0;
        for (unsigned l = 0; l < SIMT_WARP; l++) behind |= (uint32_t)(seen[l] <= last[l]) << l;
        if (behind & v->exists) return false;
        *waited = *waited && !(v->exists & ~simt_clocks_who(b, w, k));
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
    simt_phases_forget(o, x);
    x->now = 0;
    x->coarse = false;
}

/* Lanes that test x know what comes with the phases which are over. */
static void test(const struct access *a, uint32_t m, struct block *o, struct phases *x)
{
    struct block *b = a->block;
    unsigned warp = (unsigned)a->warp->index;
    uint32_t over[PHASES], lanes[32] = {0}, *took = &lanes[warp], latest = 0;
    struct clock *last = NULL; /* of the last lane */
    bool alone = is_alone(b), home = alone && b->clocks->home == x->at;
    if (home) b->clocks->tests[warp] = a->insn;
    if (alone && !home) simt_phases_accessed(b, a->warp, m);
    simt_phases_over(a->insn, a->regs, m, o->worker->shared + x->at, over);
    for (int k = 0; k < PHASES; k++) {
        if (over[k] > latest) latest = over[k], last = x->over[k];
        *took |= x->over[k] ? over[k] : 0;
    }
    if (!*took) return;
    if (!alone && !b->tags.slow) simt_shared_flush(b);
    bool apart = alone && *took & ~b->clocks->arrived[warp]; /* not all wait and arrive */
    if (b->tags.parted || apart) simt_groups_part(b, b->clocks->threads);
    for (int k = 0; k < PHASES; k++) simt_clocks_take(b, warp, over[k], x->over[k]);
    if (b->tags.parted) simt_groups_note_clocks(b, lanes);
    if (alone && last) settle(a, x, last);
}

void simt_phases_touch(const struct access *a, uint32_t m)
{
    struct block *b = a->block;
    bool arrives = simt_arrives(a->insn), releases = a->insn->flags & F_RELEASE || !simt_is_mbarrier(a->insn);
    uint32_t before = releases ? b->now : LAST_TIME; /* what comes with the arrival is all up to its time, or not */
    if (arrives && releases) simt_check_fence(b, a->warp, m, a->check->reaches);
    while (m) {
        uint64_t first = a->at[__builtin_ctz(m)], at = (uint32_t)first;
        uint32_t same = m & a->check->vectors->alike(a->at, first);
        m &= ~same;
        const struct worker *owner = simt_cluster_owner(b->worker, &at);
        struct block *o = owner ? owner->observed : NULL;
        struct phases *x = o && !owner->ended ? phases_at(o, at) : NULL;
        if (!x || !simt_clocks_want(b)) continue; /* a fault, or no memory */
        follow(x, o);
        if (arrives) arrive(a, same, o, x, releases);
        if (arrives && is_alone(b)) note_arrivals(b, a->warp, same, x, before);
        if (simt_is_barrier_init(a->insn)) begin_phases(o, x);
        if (!arrives && simt_is_barrier_test(a->insn))
            test(a, same, o, x);
        else if (!arrives && is_alone(b))
            simt_phases_accessed(b, a->warp, same);
    }
}
