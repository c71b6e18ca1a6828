/* cp.async: copies to shared memory that are under way until their thread has waited for them. They are done at once
 * here, so the checks keep in mind what may still be written. A copy counts as written twice, when it is begun and when
 * it is waited for; who touches its words in between races with it, the thread that began it included.
 *
 * Words under way have the tag TAG_MIXED, which makes every access to them come to simt_shared_touch. */
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/async.h"
#include "runtime/simt/check_cells.h"

struct copy { /* one instruction of a warp */
    struct warp *warp;
    record me;                 /* lane 0's */
    uint32_t mask, bytes;      /* lanes whose copy is under way */
    uint32_t at[SIMT_WARP];    /* in shared memory */
    uint32_t group[SIMT_WARP]; /* by lane: groups that its thread had committed before */
};
struct copies {
    struct copy *items;
    size_t count, room;
    uint32_t *committed; /* groups, by thread */
};

static const struct insn nothing; /* what the second writing is done by: its values are not known */

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
    b->copies->count = 0;
    memset(b->copies->committed, 0, (size_t)b->worker->warp_count * SIMT_WARP * sizeof *b->copies->committed);
}

void simt_copies_begin(const struct access *a, uint32_t m)
{
    struct copies *c = want(a->block);
    if (!c || !m) return;
    if (c->count == c->room) {
        size_t room = c->room ? 2 * c->room : 64;
        struct copy *more = rt_realloc(c->items, room * sizeof *more);
        if (!more) {
            atomic_store(&a->check->no_memory, true);
            return;
        }
        c->items = more;
        c->room = room;
    }
    struct copy *x = &c->items[c->count++];
    *x = (struct copy){.warp = a->warp, .me = a->me, .mask = m, .bytes = a->bytes};
    EACH_LANE(l, m)
    {
        x->at[l] = (uint32_t)a->at[l];
        x->group[l] = c->committed[(unsigned)a->warp->index * SIMT_WARP + l];
        for (uint32_t word = x->at[l] / 4; word < (x->at[l] + x->bytes + 3) / 4; word++)
            a->block->tags.written[word] = TAG_MIXED;
    }
}

/* Lanes of a copy are there: it is as if they wrote now. */
static void finish(struct block *b, struct copy *x, uint32_t m)
{
    struct access a = {.check = b->check,
                       .block = b,
                       .warp = x->warp,
                       .insn = &nothing,
                       .regs = x->warp->frame->regs,
                       .kind = ACCESS_WRITE,
                       .site = &b->check->sites[record_site(x->me)],
                       .origin = -1,
                       .bytes = x->bytes};
    record now = (record)b->now << TIME_AT, time = (record)LAST_TIME << TIME_AT;
    a.me = (x->me & ~time) | now;
    x->mask &= ~m;
    EACH_LANE(l, m)
    {
        a.at[l] = x->at[l];
        for (uint32_t word = x->at[l] / 4; word < (x->at[l] + x->bytes + 3) / 4; word++)
            b->tags.written[word] = b->tags.now | ((uint32_t)x->warp->index * SIMT_WARP + l);
    }
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
}

/* The copy under way that writes into what a lane touches; NULL: none. */
static const struct copy *find(const struct copies *c, uint64_t at, uint32_t bytes, unsigned *lane)
{
    for (size_t k = 0; k < c->count; k++) EACH_LANE(l, c->items[k].mask)
        {
            const struct copy *x = &c->items[k];
            if (at >= x->at[l] + x->bytes || at + bytes <= x->at[l]) continue;
            *lane = l;
            return x;
        }
    return NULL;
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
        const struct copy *x = find(c, a->at[l], a->bytes, &other);
        if (!x) continue;
        struct simt_report r = {.kind = CHECK_RACE,
                                .space = PTX_SHARED,
                                .address = a->at[l],
                                .size = a->bytes,
                                .has_other = true,
                                .under_way = UNDER_WAY_COPY,
                                .first = simt_party_of(a->check, a->block, x->me + ((record)other << THREAD_AT)),
                                .other = simt_party_of(a->check, a->block, a->me + ((record)l << THREAD_AT))};
        simt_check_name(a->check, &r);
        simt_check_report(a->check, &r);
        met |= 1u << l;
    }
    return met;
}
