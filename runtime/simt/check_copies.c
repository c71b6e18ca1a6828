/* cp.async: copies to shared memory that are under way until their thread has waited for them. They are done at once
 * here, so the checks keep in mind what may still be written, and what in global memory may still be read, where
 * anybody writes to that. A copy counts as done twice, when it is begun and when it is waited for; who touches its
 * words in between races with it, the thread that began it included.
 *
 * Words under way have the tag TAG_MIXED, which makes every access to them come to simt_shared_touch. */
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/async.h"
#include "runtime/simt/check_cells.h"
#include "runtime/simt/check_copies.h"
#include "runtime/simt/check_shared.h"
#include "runtime/simt/jit.h"

struct copy { /* one instruction of a warp: what it writes, or its source */
    struct warp *warp;
    record me;            /* lane 0's */
    uint32_t mask, bytes; /* lanes whose copy is under way */
    bool source;
    uint64_t at[SIMT_WARP];    /* in shared memory; of a source, in global memory */
    uint32_t group[SIMT_WARP]; /* by lane: groups that its thread had committed before */
};
struct copies {
    struct copy *items;
    size_t count, room;
    uint32_t *committed; /* groups, by thread */
};

static struct copies *want(struct block *b)
{
    if (b->copies) return b->copies;
    struct copies *c = rt_calloc(1, sizeof *c);
    if (c) c->committed = rt_calloc((size_t)b->worker->warp_count * SIMT_WARP, sizeof *c->committed);
    if (!c || !c->committed) {
        free(c);
        atomic_store(&b->check->no_memory, true);
        return NULL;
    }
    return b->copies = c;
}

void simt_copies_free(struct block *b)
{
    if (!b->copies) return;
    free(b->copies->items);
    free(b->copies->committed);
    free(b->copies);
}

void simt_copies_start(struct block *b)
{
    if (!b->copies) return;
    b->fetching = (struct moving){.low = 0};
    b->copies->count = 0;
    memset(b->copies->committed, 0, (size_t)b->worker->warp_count * SIMT_WARP * sizeof *b->copies->committed);
}

static struct copy *add(const struct access *a, uint32_t m)
{
    struct copies *c = m ? want(a->block) : NULL;
    if (!c) return NULL;
    if (c->count == c->room) {
        size_t room = c->room ? 2 * c->room : 64;
        struct copy *more = rt_realloc(c->items, room * sizeof *more);
        if (!more) {
            atomic_store(&a->check->no_memory, true);
            return NULL;
        }
        c->items = more;
        c->room = room;
    }
    struct copy *x = &c->items[c->count++];
    *x = (struct copy){.warp = a->warp, .me = a->me, .mask = m, .bytes = a->bytes};
    memcpy(x->at, a->at, sizeof x->at);
    memcpy(x->group, c->committed + (size_t)a->warp->index * SIMT_WARP, sizeof x->group);
    return x;
}

void simt_copies_begin(const struct access *a, uint32_t m)
{
    const struct copy *x = add(a, m);
    if (!x) return;
    EACH_LANE(l, m)
    for (uint64_t word = x->at[l] / 4; word < (x->at[l] + x->bytes + 3) / 4; word++)
        a->block->tags.written[word] = TAG_MIXED;
}

/* Where the sources lie that are left. */
static void find_sources(struct block *b)
{
    struct moving m = {.low = UINT64_MAX};
    for (size_t k = 0; k < b->copies->count; k++) {
        const struct copy *x = &b->copies->items[k];
        if (x->source) EACH_LANE(l, x->mask)
            {
                if (x->at[l] < m.low) m.low = x->at[l];
                if (x->at[l] + x->bytes > m.high) m.high = x->at[l] + x->bytes;
            }
    }
    b->fetching = m;
}

void simt_copies_fetch(const struct access *a, uint32_t m)
{
    struct worker *k = a->block->worker;
    const struct span *s = &a->block->spans[a->insn->d2];
    uint32_t open = 0;
    EACH_LANE(l, m) open |= (uint32_t)(!s->quiet || a->at[l] - s->low >= s->high - s->low) << l;
    struct copy *x = add(a, open);
    if (!x) return;
    x->source = true;
    find_sources(a->block);
    memset(k->jit_ranges, 0, simt_jit_ranges(&k->jit) * sizeof *k->jit_ranges); /* all stores are asked for */
}

/* Lanes of a copy are there: it is as if they wrote, or read, now. */
static void finish(struct block *b, struct copy *x, uint32_t m)
{
    struct access a = {.check = b->check,
                       .block = b,
                       .warp = x->warp,
                       .insn = &b->check->unseen, /* notes keep it */
                       .regs = x->warp->frame ? x->warp->frame->regs : NULL,
                       .kind = x->source ? ACCESS_READ : ACCESS_WRITE,
                       .site = &b->check->sites[record_site(x->me)],
                       .origin = -1,
                       .bytes = x->bytes};
    record now = (record)b->now << TIME_AT, time = (record)LAST_TIME << TIME_AT;
    bool again = record_time(x->me) != b->now; /* else nobody can have been told of it meanwhile */
    a.me = (x->me & ~time) | now;
    x->mask &= ~m;
    memcpy(a.at, x->at, sizeof a.at);
    if (x->source) {
        uint32_t piece = x->bytes & (x->bytes - 1) ? 1 : x->bytes;
        a.bytes = piece;
        for (uint32_t k = 0; again && k < x->bytes; k += piece) {
            simt_race_touch(&a, m, false);
            EACH_LANE(l, m) a.at[l] += piece;
        }
        return;
    }
    EACH_LANE(l, m)
    for (uint64_t word = x->at[l] / 4; word < (x->at[l] + x->bytes + 3) / 4; word++)
        b->tags.written[word] = b->tags.now | ((uint32_t)x->warp->index * SIMT_WARP + l);
    simt_shared_touch(&a, m);
}

void simt_copies_wait(struct block *b, const struct warp *w, const struct insn *i, uint32_t m)
{
    struct copies *c = b->copies;
    if (!c) return;
    uint32_t *committed = c->committed + (unsigned)w->index * SIMT_WARP;
    if (simt_copy_mode(i) == COPY_COMMIT) EACH_LANE(l, m) committed[l]++;
    if (simt_copy_mode(i) == COPY_COMMIT) return;
    bool all = simt_copy_mode(i) == COPY_WAIT_ALL;
    size_t kept = 0;
    for (size_t k = 0; k < c->count; k++) {
        struct copy *x = &c->items[k];
        uint32_t done = 0;
        if (x->warp == w)
            EACH_LANE(l, x->mask & m) done |= (uint32_t)(all || x->group[l] + i->extra < committed[l]) << l;
        if (done) finish(b, x, done);
        if (x->mask) c->items[kept++] = *x;
    }
    c->count = kept;
    if (b->fetching.high) find_sources(b);
}

void simt_copies_end(struct block *b)
{
    for (size_t k = 0; b->fetching.high && k < b->copies->count; k++)
        if (b->copies->items[k].source) finish(b, &b->copies->items[k], b->copies->items[k].mask);
}

/* The copy under way that writes into what a lane touches, or has its source there; NULL: none. */
static const struct copy *find(const struct copies *c, uint64_t at, uint32_t bytes, bool source, unsigned *lane)
{
    for (size_t k = 0; k < c->count; k++) EACH_LANE(l, c->items[k].mask)
        {
            const struct copy *x = &c->items[k];
            if (x->source != source) break;
            if (at >= x->at[l] + x->bytes || at + bytes <= x->at[l]) continue;
            *lane = l;
            return x;
        }
    return NULL;
}

static void report(const struct access *a, unsigned lane, const struct copy *x, unsigned other)
{
    struct simt_report r = {.kind = CHECK_RACE,
                            .space = x->source ? PTX_GLOBAL : PTX_SHARED,
                            .address = a->at[lane],
                            .size = a->bytes,
                            .has_other = true,
                            .under_way = x->source ? UNDER_WAY_FETCH : UNDER_WAY_COPY,
                            .first = simt_party_of(a->check, a->block, x->me + ((record)other << THREAD_AT)),
                            .other = simt_party_of(a->check, a->block, a->me + ((record)lane << THREAD_AT))};
    simt_check_name(a->check, &r);
    simt_check_report(a->check, &r);
}

uint32_t simt_copies_meet(const struct access *a, uint32_t m)
{
    const struct copies *c = a->block->copies;
    const struct tags *t = &a->block->tags;
    uint32_t met = 0;
    if (!c || !c->count) return 0;
    EACH_LANE(l, m)
    {
        unsigned other;
        if (t->written[a->at[l] / 4] != TAG_MIXED && t->written[(a->at[l] + a->bytes - 1) / 4] != TAG_MIXED) continue;
        const struct copy *x = find(c, a->at[l], a->bytes, false, &other);
        if (!x) continue;
        report(a, l, x, other);
        met |= 1u << l;
    }
    return met;
}

uint32_t simt_copies_meet_source(const struct access *a, uint32_t m)
{
    const struct moving *f = &a->block->fetching;
    uint32_t met = 0;
    EACH_LANE(l, m)
    {
        unsigned other;
        if (a->at[l] >= f->high || a->at[l] + a->bytes <= f->low) continue;
        const struct copy *x = find(a->block->copies, a->at[l], a->bytes, true, &other);
        /* Of what nothing orders check_race.c tells. */
        record begun = x ? x->me + ((record)other << THREAD_AT) : 0;
        if (!x || !simt_check_ordered(a->block, begun, (unsigned)a->warp->index, l, 0)) continue;
        report(a, l, x, other);
        met |= 1u << l;
    }
    return met;
}
