/* When threads met: barriers, __syncwarp (but no shuffle or vote: those order no memory), and fences. In doubt
 * something counts as ordered: no report is better than a false one. */
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/check_cells.h"
#include "runtime/simt/check_copies.h"
#include "runtime/simt/check_order.h"
#include "runtime/simt/check_shared.h"
#include "runtime/simt/decode.h"

/* Time goes on. At its end, far away, it stands still, and everything counts as ordered. */
static uint32_t tick(struct block *b)
{
    if (b->counting) simt_counters_tick(b);
    if (b->now < LAST_TIME) b->now++;
    b->worker->quiet.me = b->id | (record)b->now << TIME_AT;
    return b->worker->quiet.time = b->now;
}

static void forget_meetings(struct block *b)
{
    memset(b->warp_met, 0, sizeof b->warp_met);
    memset(b->warp_seen, 0, sizeof b->warp_seen);
    if (!b->meets_partly) return;
    if (b->warps) memset(b->warps, 0, 32 * sizeof *b->warps);
    for (int w = 0; w < 32; w++) {
        if (!b->lanes[w]) continue;
        memset(b->lanes[w][MET_TIME], 0, sizeof *b->lanes[w]);
        if (b->lanes_parted >> w & 1) memset(b->lanes[w], 0, LAST_MET * sizeof *b->lanes[w]);
    }
    b->lanes_parted = 0;
}

void simt_sync_start(struct block *b)
{
    uint32_t threads = b->worker->warp_count * SIMT_WARP;
    if (b->now > FIRST_TIME) forget_meetings(b); /* in the block before, time went on when threads met */
    b->now = b->met = b->worker->quiet.time = FIRST_TIME;
    b->worker->quiet.me = b->id | (record)b->now << TIME_AT;
    for (struct fences *f = b->fences; f < b->fences + MOST_REACHES; f++) {
        if (f->some) memset(f->last, 0, threads * sizeof *f->last);
        *f = (struct fences){.last = f->last};
    }
    if (b->released) memset(b->released, 0, threads * sizeof *b->released);
    if (b->acquires) memset(b->acquired, 0, threads * sizeof *b->acquired);
    b->acquires = false;
    simt_readers_meet(b);
    simt_order_start(b);
    simt_releases_start(b);
}

void simt_sync_quiet(struct block *b)
{
    bool shares = !b->steady || b->check->launch->function->code->loose; /* what was put off there is done */
    b->worker->quiet.meets = shares || b->check->exact || b->counting || b->clocks ? 0 : LAST_TIME;
}

void simt_sync_free(struct block *b)
{
    free(b->warps);
    for (int w = 0; w < 32; w++) free(b->lanes[w]);
    for (int r = 0; r < MOST_REACHES; r++) free(b->fences[r].last);
    free(b->released);
    free(b->acquired);
    simt_readers_free(b);
    simt_order_free(b);
}

/* An array of the block, made when it is needed first. */
bool simt_check_want(struct block *b, void *array, size_t count, size_t size)
{
    void **p = array;
    if (!*p) *p = rt_calloc(count, size);
    if (!*p) atomic_store(&b->check->no_memory, true);
    return *p != NULL;
}

static bool is_ordered(const struct block *b, record r, unsigned warp, unsigned lane, uint64_t spot, bool near)
{
    unsigned thread = record_thread(r), me = warp * SIMT_WARP + lane;
    uint32_t time = record_time(r);
    if (time == LAST_TIME) return true;
    if (record_block(r) == record_block(b->id)) {
        unsigned other = thread / SIMT_WARP;
        if (thread == me || time < b->met || b->now == LAST_TIME) return true;
        if (other == warp && time < b->warp_met[warp]) return true;
        const uint32_t(*lanes)[SIMT_WARP] = (const uint32_t(*)[SIMT_WARP])b->lanes[warp];
        if (other == warp && lanes && time < simt_lane_seen(lanes, lane, thread % SIMT_WARP)) return true;
        if (other != warp && b->warps && time < b->warps[warp][other]) return true;
    }
    return (b->reach && simt_reach_ordered(b, r)) || (b->clocks && simt_clocks_ordered(b, r, me)) ||
           simt_order_seen(b, r, me, spot, near) || (b->acquires && simt_releases_seen(b, r, me));
}

bool simt_check_ordered(const struct block *b, record r, unsigned warp, unsigned lane, uint64_t spot)
{
    return is_ordered(b, r, warp, lane, spot, false);
}

bool simt_check_surely_ordered(const struct block *b, record r, unsigned warp, unsigned lane, uint64_t spot)
{
    return is_ordered(b, r, warp, lane, spot, true);
}

bool simt_check_differ(const struct block *b, unsigned warp)
{
    return b->order_apart || b->acquires || simt_clocks_known(b) || b->lanes[warp];
}

bool simt_check_lanes_differ(const struct block *b, unsigned warp, unsigned lane, unsigned other)
{
    unsigned one = warp * SIMT_WARP + lane, two = warp * SIMT_WARP + other;
    const uint32_t(*lanes)[SIMT_WARP] = (const uint32_t(*)[SIMT_WARP])b->lanes[warp];
    uint32_t row[2][SIMT_WARP] = {0};
    if (lanes) simt_lane_row(lanes, lane, row[0]), simt_lane_row(lanes, other, row[1]);
    return simt_order_knows(b, one) != simt_order_knows(b, two) || (b->clocks && simt_clocks_differ(b, one, two)) ||
           (b->acquires && b->acquired[one] != b->acquired[two]) || memcmp(row[0], row[1], sizeof *row) != 0;
}

void simt_check_fence(struct block *b, struct warp *w, uint32_t m, unsigned reach)
{
    uint32_t threads = b->worker->warp_count * SIMT_WARP;
    for (unsigned r = 0; r < reach; r++)
        if (!simt_check_want(b, &b->fences[r].last, threads, sizeof *b->fences[r].last)) return;
    simt_readers_part(b);
    struct fence f = {tick(b), b->met, b->warp_met[w->index]};
    b->readers.since = b->now;
    for (struct fences *of = b->fences; of < b->fences + reach; of++) {
        of->some = of->before_barrier = true;
        EACH_LANE(l, m) of->last[(unsigned)w->index * SIMT_WARP + l] = f;
    }
    simt_order_fence(b, (unsigned)w->index, m, reach);
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

/* All threads of the block met; reach: how far fences reach that they all stand behind; 0: there were none. */
static void meet(struct block *b, unsigned reach)
{
    struct worker *k = b->worker;
    b->met = tick(b);
    simt_readers_meet(b);
    simt_steady_leave(b);
    simt_shared_meet(b);
    simt_steady_met(b);
    simt_bulk_met(b);
    simt_clocks_meet(b);
    for (uint32_t w = 0; w < k->warp_count; w++) b->warp_seen[w] = b->now;
    for (unsigned r = 0; r < reach; r++) b->fences[r].met = b->met;
    simt_order_meet(b, reach);
    if (!b->acquires) return;
    uint64_t most = 0;
    for (uint32_t w = 0; w < k->warp_count; w++) share_acquired(b, w, FULL, &most);
    for (uint32_t w = 0; w < k->warp_count; w++) set_acquired(b, w, FULL, most);
}

/* At a barrier, a fence of any thread before it stands for all. */
static void meet_at_barrier(struct block *b)
{
    unsigned reach = 0;
    for (; reach < b->check->reaches && b->fences[reach].before_barrier; reach++)
        b->fences[reach].before_barrier = false;
    meet(b, reach);
}

void simt_check_phase_met(struct block *b)
{
    b->patterned = false;
    meet(b, 0);
}

static bool have_all(const struct fences *f, const struct block *b, unsigned warp, uint32_t m)
{
    uint32_t since = later(b->met, b->warp_met[warp]);
    EACH_LANE(l, f->some ? m : 0)
    if (f->last[warp * SIMT_WARP + l].time < since) return false;
    return f->some;
}

/* Had each of the lanes a fence since the warp met last? Then each releases what all did, as behind a barrier of the
 * block. How far those reach; 0: not all had one. */
static unsigned are_fenced(const struct block *b, unsigned warp, uint32_t m)
{
    unsigned reach = 0;
    while (reach < b->check->reaches && have_all(&b->fences[reach], b, warp, m)) reach++;
    return reach;
}

/* The lanes that go with those: others of the warp that have ended. */
static uint32_t with_ended(const struct block *b, unsigned warp, uint32_t m)
{
    const struct warp *w = &b->worker->warps[warp];
    return m ? m | (w->threads & ~w->alive) : 0;
}

/* Warps that wait met: they have seen what each of them did before, and what they had seen. */
static void meet_warps(struct block *b, uint32_t now, const uint32_t *waiting)
{
    struct worker *k = b->worker;
    uint32_t known[32] = {0}, met = 0;
    uint64_t most = 0;
    if (!simt_check_want(b, &b->warps, 32, sizeof *b->warps)) return;
    for (uint32_t w = 0; w < k->warp_count; w++) {
        if (!waiting[w]) continue;
        for (uint32_t v = 0; v < 32; v++) known[v] = later(known[v], b->warps[w][v]);
        known[w] = now;
        if (b->acquires) share_acquired(b, w, waiting[w], &most);
    }
    for (uint32_t w = 0; w < k->warp_count; w++) {
        if (!waiting[w]) continue;
        met |= 1u << w;
        memcpy(b->warps[w], known, sizeof known);
        b->warp_met[w] = now;
        if (b->acquires) set_acquired(b, w, waiting[w], most);
    }
    simt_groups_note_warps(b, met, known);
    simt_clocks_share(b, waiting, waiting);
    simt_order_share(b, waiting, waiting);
}

/* Some threads met: those at the barrier have seen what those that came did before, and what those had seen. `here`:
 * those that came, of whom some may have gone on. */
static void meet_some(struct block *b, uint32_t id, const uint32_t *here, const uint32_t *waiting)
{
    struct worker *k = b->worker;
    bool whole = true;
    unsigned reach = b->check->reaches;
    simt_readers_part(b);
    simt_steady_leave(b);
    uint32_t now = b->readers.since = tick(b);
    simt_groups_part(b, 1);
    for (uint32_t w = 0; w < k->warp_count; w++) {
        unsigned fenced = here[w] ? are_fenced(b, w, here[w]) : reach;
        if (fenced < reach) reach = fenced;
        if (waiting[w]) b->warp_seen[w] = now;
        whole = whole && (!waiting[w] || waiting[w] == k->warps[w].alive);
    }
    if (whole)
        meet_warps(b, now, waiting);
    else
        for (uint32_t w = 0; w < k->warp_count; w++) simt_clocks_arrive(b, id, w, with_ended(b, w, waiting[w]));
    simt_clocks_wait(b, id, waiting);
    b->meets_partly = true;
    for (uint32_t w = 0; reach && w < k->warp_count; w++) simt_order_fence(b, w, waiting[w], reach);
}

void simt_check_arrive(struct block *b, struct warp *w, const struct insn *i, uint32_t m)
{
    const uint32_t *ids = u32_at(w->frame->regs, i->a);
    uint32_t id = i->mode == BARRIER_ARRIVE ? ids[__builtin_ctz(m)] : MAX_BARRIERS, here = 0;
    if (id >= MAX_BARRIERS) return;
    if (i->flags & F_UNIFORM)
        here = m;
    else
        EACH_LANE(l, m) here |= (uint32_t)(ids[l] == id) << l; /* those at others come again */
    simt_readers_part(b);
    b->readers.since = b->warp_seen[w->index] = tick(b);
    simt_groups_part(b, 0);
    simt_clocks_arrive(b, id, (unsigned)w->index, with_ended(b, (unsigned)w->index, here));
}

static const struct split *split_of(const struct warp *w, unsigned lane)
{
    for (uint32_t n = 0; n < w->split_count; n++)
        if (w->splits[n].mask >> lane & 1) return &w->splits[n];
    return NULL;
}

/* Are two barriers in different lines, where one of them is for threads that are together? */
static bool are_apart(const struct simt_program *p, uint32_t a, uint32_t b)
{
    const struct place *x = &p->places[a], *y = &p->places[b];
    if (p->code[a].flags & p->code[b].flags & F_UNALIGNED) return false;
    return x->line != y->line || x->file != y->file;
}

/* Did threads come to the barrier by different lines, or have some ended? */
static bool is_divergent(const struct worker *k, uint32_t id)
{
    const struct split *first = NULL;
    for (uint32_t j = 0; j < k->warp_count; j++) {
        const struct warp *w = &k->warps[j];
        if (w->threads & ~w->alive) return true;
        for (uint32_t n = 0; n < w->split_count; n++) {
            const struct split *s = &w->splits[n];
            if (s->state != SPLIT_BARRIER || s->barrier != id || !(s->mask & w->threads)) continue;
            if (!first) first = s;
            if (are_apart(k->program, first->pc, s->pc)) return true;
        }
    }
    return false;
}

/* The one line whose branches lead round the barrier or out of the loop that it is in: how threads come to their end
 * without it. Compilers join all ways to return in one place, whose line tells nothing. False: there are several lines,
 * or none; then *at stays. */
static bool way_round(const struct simt_program *p, uint32_t pc, uint32_t *at)
{
    const struct place *line = NULL;
    uint32_t found = 0;
    for (uint32_t n = 0; n < p->code_count; n++) {
        const struct insn *i = &p->code[n];
        bool round = i->run == simt_op_bra && (n < pc ? i->target > pc : i->target <= pc && i->guard != SLOT_TRUE);
        if (!round) continue;
        const struct place *here = &p->places[n];
        if (line && (here->line != line->line || here->file != line->file)) return false;
        if (!line) found = n;
        line = here;
    }
    if (line) *at = found;
    return line != NULL;
}

/* Threads that came by different lines, or that never come: one report for a barrier. */
static void report_divergence(struct block *b, uint32_t id)
{
    struct worker *k = b->worker;
    const struct barrier *bar = &k->barriers[id];
    const struct split *first = NULL;
    struct simt_report r = {.kind = CHECK_BARRIER, .space = PTX_SHARED};
    for (uint32_t j = 0; j < k->warp_count && !r.has_other; j++) {
        struct warp *w = &k->warps[j];
        for (unsigned lane = 0; lane < SIMT_WARP && !r.has_other;
             lane++) { /* in this order whatever branch ran first */
            const struct split *s = w->threads >> lane & 1 ? split_of(w, lane) : NULL;
            if (!s || s->state != SPLIT_BARRIER || s->barrier != id || lane != (unsigned)__builtin_ctz(s->mask))
                continue;
            struct simt_party party = simt_party_at(w, s->pc, lane, ACCESS_NONE);
            if (!first) {
                first = s;
                r.first = party;
            } else if (are_apart(k->program, first->pc, s->pc)) {
                r.other = party;
                r.has_other = true;
            }
        }
    }
    for (uint32_t j = 0; j < k->warp_count && first && !r.has_other && !bar->expected; j++) {
        struct warp *w = &k->warps[j];
        uint32_t gone = w->threads & ~w->alive;
        if (!gone) continue;
        unsigned lane = (unsigned)__builtin_ctz(gone);
        uint32_t at = b->exit_pc[j * SIMT_WARP + lane];
        r.by_way = way_round(k->program, first->pc, &at);
        r.other = simt_party_at(w, at, lane, ACCESS_NONE);
        r.has_other = r.exited = true;
    }
    if (r.has_other) simt_check_report(b->check, &r);
}

void simt_check_barrier(struct simt_observer *o, struct worker *k, uint32_t id)
{
    struct block *b = k->observed;
    const struct barrier *bar = &k->barriers[id];
    uint32_t waiting[32] = {0}, count = 0, threads = 0;
    (void)o;
    for (uint32_t j = 0; j < k->warp_count; j++) {
        struct warp *w = &k->warps[j];
        threads += (uint32_t)__builtin_popcount(w->exists);
        for (uint32_t n = 0; n < w->split_count; n++)
            if (w->splits[n].state == SPLIT_BARRIER && w->splits[n].barrier == id) waiting[j] |= w->splits[n].mask;
        count += (uint32_t)__builtin_popcount(waiting[j]);
    }
    if (id == CLUSTER_BARRIER) {
        meet_at_barrier(b);
        simt_reach_met(b);
        return;
    }
    if (is_divergent(k, id)) report_divergence(b, id);
    bool all = count == k->live && (!bar->expected || count == threads); /* others that ended were not waited for */
    if (all)
        meet_at_barrier(b);
    else
        meet_some(b, id, bar->arrived, waiting);
}

void simt_check_met(struct simt_observer *o, struct worker *k)
{
    (void)o;
    meet_at_barrier(k->observed);
}

/* ---- deadlocks ---- */
/* Lanes that wait for others of their warp which are elsewhere. */
static bool report_absent_lanes(struct block *b, struct warp *w, const struct split *s)
{
    const struct insn *i = &w->code[s->pc];
    unsigned lane = (unsigned)__builtin_ctz(s->mask);
    bool plain = b->check->watch[s->pc] == WATCH_WARP_SYNC;
    uint32_t mask = u32_at(s->frame->regs, plain ? i->a : i->extra)[lane],
             absent = mask & w->alive & w->threads & ~s->mask;
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
    uint32_t known[32];
    if (!simt_check_want(b, &b->lanes[w->index], LANE_ROWS, sizeof *b->lanes[0])) return;
    simt_groups_part(b, 1);
    if (b->check->vectors->meet(b->lanes[w->index], group, now, known)) b->lanes_parted |= 1u << w->index;
    simt_groups_note_lanes(b, (unsigned)w->index, group, known);
    b->meets_partly = true;
    unsigned reach = are_fenced(b, (unsigned)w->index, group);
    if (reach) simt_order_fence(b, (unsigned)w->index, group, reach);
}

static void meet_warp(struct block *b, struct warp *w, uint32_t alive, uint32_t now)
{
    unsigned warp = (unsigned)w->index;
    unsigned reach = are_fenced(b, warp, alive);
    for (unsigned r = 0; r < reach; r++) EACH_LANE(l, alive) b->fences[r].last[warp * SIMT_WARP + l].warp_time = now;
    if (reach) simt_order_fence(b, warp, alive, reach);
    b->warp_met[w->index] = now;
    simt_shared_warp_met(b, w);
}

/* Is there no more to keep of meetings than that lanes of the block meet? */
static bool meets_simply(const struct block *b)
{
    return !b->acquires && !b->clocks && !b->order && !b->fences[0].some;
}

bool simt_check_meets_again(struct warp *w, const uint32_t *masks)
{
    struct block *b = w->worker->observed;
    uint32_t(*lanes)[SIMT_WARP] = b->lanes[w->index], others = ~(w->threads & w->alive);
    for (unsigned l = 0; lanes && l < SIMT_WARP; l++) others |= lanes[LAST_MET][l] ^ masks[l];
    if (!lanes || others || !meets_simply(b)) return false;
    if (b->readers.used) simt_readers_part(b);
    simt_steady_leave(b);
    uint32_t now = b->readers.since = b->warp_seen[w->index] = tick(b);
    simt_groups_part(b, 1);
    for (unsigned l = 0; l < SIMT_WARP; l++) lanes[MET_TIME][l] = now;
    simt_groups_note_again(b, (unsigned)w->index, masks);
    b->meets_partly = true;
    return true;
}

/* Shuffles that read a lane which takes no part get what is undefined. Those that count up or down are passed over:
 * reductions and scans over fewer lanes than 32 read past their end, in lanes whose result nobody uses. */
static void check_reads(struct simt_check *c, const struct warp *w, const uint32_t *masks, uint32_t m)
{
    uint32_t from[SIMT_WARP], inside, here = w->alive & w->threads;
    if ((!masks && here == FULL) || !simt_shuffle_reads(w, &w->code[w->pc], from, &inside)) return;
    EACH_LANE(l, m & inside)
    {
        uint32_t mask = masks ? masks[l] : FULL;
        if (mask & here & 1u << from[l]) continue;
        struct simt_report r = {.kind = CHECK_LANE,
                                .lanes = mask,
                                .reads = 1 + from[l],
                                .exited = w->threads >> from[l] & 1,
                                .first = simt_party_at(w, w->pc, l, ACCESS_NONE)};
        simt_check_report(c, &r);
    }
}

void simt_check_warp_sync(struct simt_observer *o, struct warp *w, const uint32_t *masks, uint32_t m, bool orders)
{
    struct block *b = w->worker->observed;
    if (!orders) check_reads((struct simt_check *)o, w, masks, m);
    if (!orders || (masks && m == FULL && simt_check_meets_again(w, masks))) return;
    simt_readers_part(b);
    simt_steady_leave(b);
    uint32_t now = b->readers.since = tick(b);
    b->warp_seen[w->index] = now;
    while (m) {
        uint32_t named = masks ? masks[__builtin_ctz(m)] : m,
                 group = masks ? m & b->check->vectors->equal(masks, named) : m;
        m &= ~group;
        if (b->acquires) {
            uint64_t most = 0;
            share_acquired(b, (unsigned)w->index, group, &most);
            set_acquired(b, (unsigned)w->index, group, most);
        }
        if (b->clocks) simt_clocks_share_lanes(b, w, group);
        if (b->order) simt_order_share_lanes(b, w, group);
        uint32_t here = w->alive & w->threads;
        bool all = !masks || ((group & here) == here && !(w->threads & ~named)); /* without, all are here */
        if (all)
            meet_warp(b, w, group, now);
        else
            meet_lanes(b, w, group, now);
    }
}
