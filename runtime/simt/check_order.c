/* Order by atomics and volatile accesses, as the PTX memory model has it: a thread that reads what another one wrote
 * behind a fence, there or by updates of it, has seen all that the other one had seen or done before the fence. Each
 * place keeps what comes with its value (check_strong.c); each thread what it has seen, and what it had seen at its
 * last fence. In doubt more counts as seen: a read needs no fence behind it, and where all threads of a block meet
 * behind fences those are everybody's. What comes behind a fence of block scope alone is kept apart, for the block's
 * own threads.
 *
 * Large launches may exhaust what such sets may take. From then on (`coarse`) order goes by the numbers of
 * check_releases.c, which are kept all the time. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/simt/check_links.h"
#include "runtime/simt/check_shared.h"

/* ---- what threads know ---- */
/* A fence of that reach, and no other. */
static inline void set_fenced(struct block *b, struct order *o, struct seen_set *s, unsigned reach)
{
    struct behind *x = &o->behind[reach - 1];
    if (simt_order_fenced(o, reach) == s) return;
    b->fences_apart = true;
    if (x->releases) simt_seen_let_go(&x->releases);
    if (s == o->knows) {
        o->as_known |= 1u << (reach - 1);
        return;
    }
    o->as_known &= ~(1u << (reach - 1));
    simt_seen_hold(&x->fenced, s);
}

/* What barriers of some warps or lanes have ordered before what the thread does, since all met. */
static void add_meetings(struct block *b, unsigned thread, struct seen_set **to)
{
    unsigned warp = thread / SIMT_WARP, block = record_block(b->id);
    uint32_t lanes[SIMT_WARP] = {0};
    uint64_t items[2 * SIMT_WARP];
    size_t n = 0;
    for (unsigned v = 0; b->warps && v < b->worker->warp_count; v++)
        if (b->warps[warp][v] > b->met) items[n++] = seen_item(block, SEEN_WARP + v, 0, b->warps[warp][v]);
    if (b->lanes[warp]) simt_lane_row((const uint32_t(*)[SIMT_WARP])b->lanes[warp], thread % SIMT_WARP, lanes);
    for (unsigned l = 0; l < SIMT_WARP; l++)
        if (lanes[l] > b->met) items[n++] = seen_item(block, SEEN_THREAD + warp * SIMT_WARP + l, 0, lanes[l]);
    simt_seen_add(b->check, to, items, n);
}

/* What comes before a fence of the thread's. */
static void find_seen(struct block *b, unsigned thread, struct seen_set **to)
{
    simt_seen_hold(to, simt_order_knows(b, thread));
    if (b->meets_partly) add_meetings(b, thread, to);
    if (b->reach) simt_reach_seen(b, to);
    if (b->clocks) simt_clocks_seen(b, thread, to);
}

void simt_order_fence(struct block *b, unsigned warp, uint32_t m, unsigned reach)
{
    struct seen_set *s = NULL;
    unsigned last = UINT_MAX; /* whose that is */
    if (!b->check->hands_on || (!b->order && !b->meets_partly && !b->reach)) return;
    if (!b->meets_partly && !b->reach && !b->clocks) {
        struct order *of = b->order + warp * SIMT_WARP;
        for (unsigned r = 1; r <= reach; r++) EACH_LANE(l, m) set_fenced(b, &of[l], of[l].knows, r);
        return;
    }
    EACH_LANE(l, m)
    {
        if (last == UINT_MAX || simt_check_lanes_differ(b, warp, l, last)) find_seen(b, warp * SIMT_WARP + l, &s);
        last = l;
        struct order *o = s || b->order ? simt_order_of(b, warp * SIMT_WARP + l) : NULL;
        for (unsigned r = 1; o && r <= reach; r++) set_fenced(b, o, s, r);
    }
    simt_seen_let_go(&s);
}

bool simt_order_seen(const struct block *b, record r, unsigned thread, uint64_t spot, bool near)
{
    const struct site *s = &b->check->sites[record_site(r)];
    struct seen_set *knows = b->order ? b->order[thread].knows : NULL;
    if (!knows) return false;
    if (simt_seen_has(b->check, knows, r, 0, near)) return true;
    for (unsigned bytes = 4; spot && s->strong && !s->bulk && bytes <= 16; bytes *= 2) {
        unsigned object = simt_order_object(b->check, spot, bytes, false);
        if (object && simt_seen_has(b->check, knows, r, object, near)) return true;
    }
    return false;
}

bool simt_order_passed(struct block *b, record r)
{
    struct passed *p = &b->passed;
    const uint64_t moment = r >> TIME_AT, span = BLOCK_SPAN >> TIME_AT;
    for (unsigned k = 0; k < PASSED; k++) /* of the same block, and no later */
        if (p->moments[k] - moment < span - moment % span) return true;
    if (!simt_seen_block(b->order->knows, r)) return false;
    p->moments[p->turn++ % PASSED] = moment;
    return true;
}

void simt_order_pass(const struct block *b, struct block *to)
{
    struct seen_set *s = b->order ? b->order[0].knows : NULL;
    for (unsigned t = 0; s && t < to->worker->warp_count * SIMT_WARP; t++) simt_order_learn(to, t, s);
}

void simt_order_learn(struct block *b, unsigned thread, struct seen_set *s)
{
    struct order *o = s ? simt_order_of(b, thread) : NULL;
    if (!o || o->knows == s) return;
    struct seen_set *was = o->knows;
    if (!b->tags.slow) simt_shared_flush(b);
    b->learned = true;
    simt_order_keep_fenced(o);
    simt_seen_join(b->check, &o->knows, s);
    b->order_apart |= o->knows != was;
}

void simt_order_share(struct block *b, const uint32_t *from, const uint32_t *to)
{
    unsigned threads = b->worker->warp_count * SIMT_WARP;
    struct seen_set *all = NULL, *last = NULL; /* most know the same */
    if (!b->order) return;
    for (unsigned t = 0; t < threads; t++) {
        struct seen_set *knows = b->order[t].knows;
        if (!(from[t / SIMT_WARP] >> t % SIMT_WARP & 1) || knows == last) continue;
        simt_seen_join(b->check, &all, knows);
        last = knows;
    }
    for (unsigned t = 0; all && t < threads; t += SIMT_WARP) {
        uint32_t m = to[t / SIMT_WARP];
        EACH_LANE(l, m) simt_order_keep_fenced(&b->order[t + l]);
        if (m == FULL)
            simt_seen_hold_all(&b->order[t].knows, sizeof *b->order, SIMT_WARP, all);
        else
            EACH_LANE(l, m) simt_seen_hold(&b->order[t + l].knows, all);
    }
    simt_seen_let_go(&all);
    b->order_apart = true;
}

void simt_order_share_lanes(struct block *b, const struct warp *w, uint32_t m)
{
    uint32_t lanes[32] = {0};
    lanes[w->index] = m;
    if (b->order) simt_order_share(b, lanes, lanes);
}

/* All come to know what any of them does, but for what they did themselves. `fenced`: they come to stand behind other
 * fences, of all reaches. */
static void share_all(struct block *b, bool fenced)
{
    const unsigned threads = b->worker->warp_count * SIMT_WARP, block = record_block(b->id);
    struct seen_set *all = NULL;
    const struct seen_set *last = NULL; /* most know the same */
    for (unsigned t = 0; t < threads; t++) {
        struct seen_set *knows = b->order[t].knows;
        if (knows == last || simt_seen_only(knows, block)) continue;
        simt_seen_join(b->check, &all, knows);
        last = knows;
    }
    for (unsigned t = 0; t < threads; t++) {
        if (fenced)
            b->order[t].as_known = 0;
        else
            simt_order_keep_fenced(&b->order[t]);
    }
    simt_seen_hold_all(&b->order->knows, sizeof *b->order, threads, all);
    simt_seen_let_go(&all);
}

/* What thread 0 stands behind, they all do. */
static void share_fence(struct block *b, unsigned reach)
{
    struct order *first = b->order;
    struct seen_set *fenced = simt_order_fenced(first, reach);
    for (unsigned t = 1; t < b->worker->warp_count * SIMT_WARP; t++) set_fenced(b, &first[t], fenced, reach);
}

void simt_order_meet(struct block *b, unsigned reach)
{
    const bool more = b->meets_partly || b->reach || b->clocks; /* comes before fences than threads know */
    const bool all = reach == b->check->reaches;
    if (!b->order) return;
    if (b->order_apart) {
        share_all(b, all);
        b->fences_apart = true;
    }
    b->order_apart = false;
    if (!reach || !(b->fences_apart || more)) return;
    simt_order_fence(b, 0, 1, reach); /* all have seen the same */
    for (unsigned r = 1; r <= reach; r++) share_fence(b, r);
    b->fences_apart = b->fences_apart && (more || !all);
}

void simt_order_start(struct block *b)
{
    if (b->order) {
        unsigned threads = b->worker->warp_count * SIMT_WARP;
        for (unsigned t = 0; t < threads; t++) b->order[t].behind_it = 0;
        simt_seen_hold_all(&b->order->knows, sizeof *b->order, threads, NULL);
        for (unsigned r = 0; r < b->check->reaches; r++) {
            simt_seen_hold_all(&b->order->behind[r].fenced, sizeof *b->order, threads, NULL);
            simt_seen_hold_all(&b->order->behind[r].releases, sizeof *b->order, threads, NULL);
        }
    }
    if (b->worker->block_index >= BLOCK_IDS) memset(b->glances, 0, sizeof b->glances); /* its number is used again */
    simt_places_empty(&b->places);
    b->passed = (struct passed){0};
    b->order_apart = b->fences_apart = b->learned = false;
    b->meets_partly = false;
}

void simt_order_free(struct block *b)
{
    simt_order_start(b);
    free(b->order);
}

void simt_order_end(struct simt_check *c)
{
    for (int k = 0; k < LOG_STRIPES; k++) free(c->order[k].places.items);
    simt_pool_end(c); /* and with it what comes with their values */
}
