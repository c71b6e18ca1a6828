/* Order by atomics and volatile accesses, as the PTX memory model has it: a thread that reads what another one wrote
 * behind a fence, there or by updates of it, has seen all that the other one had seen or done before the fence. Each
 * place keeps what comes with its value; each thread what it has seen, and what it had seen at its last fence. In doubt
 * more counts as seen: a read needs no fence behind it, and where all threads of a block meet behind fences those are
 * everybody's. What comes behind a fence of block scope alone is kept apart, for the block's own threads.
 *
 * So that no more and no less comes with a value than was released with it, the instruction is done here, while the
 * places that it touches are locked.
 *
 * Large launches may exhaust what such sets may take. From then on (`coarse`) order goes by the numbers of
 * check_releases.c, which are kept all the time. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/check_access.h"
#include "runtime/simt/check_order.h"
#include "runtime/simt/check_shared.h"
#include "runtime/simt/check_table.h"

#define MOST_PLACES  4096 /* of a stripe, and of a block's shared memory */
#define STRIPE_LOG   5    /* of places that share a lock */
#define SHARED_SPOT  (UINT64_C(1) << 63)
#define NEAR_OBJECTS 16 /* numbers that are tried for one */

/* ---- places: words, or bytes where strong accesses are smaller ---- */
struct order_place {
    uint64_t key;           /* 0: free */
    struct seen_set *comes; /* with the value */
    uint64_t last;          /* an item: the last strong access that released, which comes, too; 0: none */
    uint32_t object, bytes; /* the number of accesses of so many bytes; 0: not found out yet */
};

uint64_t simt_order_spot(const struct block *owner, uint64_t offset)
{
    return SHARED_SPOT | (uint64_t)record_block(owner->id) << 32 | (uint32_t)offset;
}

/* The number of what a strong access to so many bytes goes to, made when something is released there; 0: nothing was.
 * In a table with little room left some share one. */
static unsigned object_of(const struct simt_check *c, uint64_t spot, unsigned bytes, bool make)
{
    unsigned log = bytes >= 16 ? 4 : bytes >= 8 ? 3 : 2;
    uint64_t key = spot >> log << 2 | (log - 2);
    unsigned home = (unsigned)((mixed(spot >> log) + log) >> 52) % SEEN_OBJECTS;
    for (unsigned k = home; c->spots && k < home + NEAR_OBJECTS; k++) {
        _Atomic uint64_t *at = &c->spots[k % SEEN_OBJECTS];
        uint64_t there = atomic_load_explicit(at, memory_order_relaxed);
        if (!there && !make) return 0;
        if (!there && atomic_compare_exchange_strong(at, &there, key)) there = key;
        if (there == key) return 1 + k % SEEN_OBJECTS;
    }
    return 1 + home;
}

/* NULL: nothing comes from there; to be made: there is no room. */
static struct order_place *find(struct simt_check *c, struct table *t, uint64_t key, bool make)
{
    struct order_place *p = table_find(t, sizeof *p, key);
    if (p || !make) return p;
    if (t->count >= MOST_PLACES) {
        atomic_store(&c->coarse, true);
        return NULL;
    }
    if (!(p = table_add(t, sizeof *p, key))) atomic_store(&c->no_memory, true);
    return p;
}

static void empty(struct table *t)
{
    if (!t->room) return;
    for (size_t k = 0; k < t->room; k++) simt_seen_let_go(&((struct order_place *)(void *)t->items)[k].comes);
    free(t->items);
    *t = (struct table){0};
}

/* ---- what threads know ---- */
static struct order *order_of(struct block *b, unsigned thread)
{
    if (!b->order) b->order = rt_calloc(b->worker->warp_count * SIMT_WARP, sizeof *b->order);
    if (!b->order) atomic_store(&b->check->no_memory, true);
    return b->order ? &b->order[thread] : NULL;
}

static void set_fenced(struct order *o, struct seen_set *s, unsigned reach)
{
    for (struct behind *x = o->behind; x < o->behind + reach; x++) {
        if (x->fenced == s) continue;
        simt_seen_hold(&x->fenced, s);
        simt_seen_let_go(&x->releases);
    }
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
        EACH_LANE(l, m) set_fenced(&of[l], of[l].knows, reach);
        return;
    }
    EACH_LANE(l, m)
    {
        if (last == UINT_MAX || simt_check_lanes_differ(b, warp, l, last)) find_seen(b, warp * SIMT_WARP + l, &s);
        last = l;
        struct order *o = s || b->order ? order_of(b, warp * SIMT_WARP + l) : NULL;
        if (o) set_fenced(o, s, reach);
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
        unsigned object = object_of(b->check, spot, bytes, false);
        if (object && simt_seen_has(b->check, knows, r, object, near)) return true;
    }
    return false;
}

void simt_order_pass(const struct block *b, struct block *to)
{
    struct seen_set *s = b->order ? b->order[0].knows : NULL;
    for (unsigned t = 0; s && t < to->worker->warp_count * SIMT_WARP; t++) simt_order_learn(to, t, s);
}

struct seen_set *simt_order_knows(const struct block *b, unsigned thread)
{
    return b->order ? b->order[thread].knows : NULL;
}

void simt_order_learn(struct block *b, unsigned thread, struct seen_set *s)
{
    struct order *o = s ? order_of(b, thread) : NULL;
    if (!o || o->knows == s) return;
    struct seen_set *was = o->knows;
    if (!b->tags.slow) simt_shared_flush(b);
    b->learned = true;
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

/* What they did themselves, all know. */
static void forget_own(struct block *b)
{
    const struct seen_set *last = NULL; /* not only of it; most know the same */
    for (unsigned t = 0; t < b->worker->warp_count * SIMT_WARP; t++) {
        struct seen_set **knows = &b->order[t].knows;
        if (*knows == last) continue;
        if (simt_seen_only(*knows, record_block(b->id)))
            simt_seen_let_go(knows);
        else
            last = *knows;
    }
}

/* What thread 0 stands behind, they all do. */
static void share_fence(struct block *b, unsigned r)
{
    unsigned others = b->worker->warp_count * SIMT_WARP - 1;
    struct seen_set *fenced = b->order[0].behind[r].fenced;
    for (unsigned t = 1; t <= others; t++)
        if (b->order[t].behind[r].fenced != fenced) simt_seen_let_go(&b->order[t].behind[r].releases);
    simt_seen_hold_all(&b->order[1].behind[r].fenced, sizeof *b->order, others, fenced);
}

void simt_order_meet(struct block *b, unsigned reach)
{
    uint32_t all[32];
    if (!b->order) return;
    memset(all, 0xff, sizeof all);
    if (b->order_apart) {
        forget_own(b);
        simt_order_share(b, all, all);
    }
    b->order_apart = false;
    if (!reach) return;
    simt_order_fence(b, 0, 1, reach); /* all have seen the same */
    for (unsigned r = 0; r < reach; r++) share_fence(b, r);
}

void simt_order_start(struct block *b)
{
    if (b->order) {
        unsigned threads = b->worker->warp_count * SIMT_WARP;
        simt_seen_hold_all(&b->order->knows, sizeof *b->order, threads, NULL);
        for (unsigned r = 0; r < b->check->reaches; r++) {
            simt_seen_hold_all(&b->order->behind[r].fenced, sizeof *b->order, threads, NULL);
            simt_seen_hold_all(&b->order->behind[r].releases, sizeof *b->order, threads, NULL);
        }
    }
    empty(&b->places);
    b->order_apart = b->learned = false;
    b->meets_partly = false;
}

void simt_order_free(struct block *b)
{
    simt_order_start(b);
    free(b->order);
}

void simt_order_end(struct simt_check *c)
{
    for (int k = 0; k < LOG_STRIPES; k++) {
        empty(&c->order[k].places);
    }
}

/* ---- what a thread releases ---- */
static bool has_fence(struct block *b, unsigned thread, unsigned reach)
{
    struct fence f = simt_check_fence_of(b, thread, reach);
    return (f.time || f.block_time) && order_of(b, thread);
}

/* What its last fence itself ordered; how many items. */
static inline size_t fence_items(const struct block *b, unsigned thread, struct fence f, uint64_t items[3])
{
    unsigned block = record_block(b->id);
    size_t n = 0;
    if (f.block_time > FIRST_TIME) items[n++] = seen_item(block, SEEN_BLOCK, 0, f.block_time);
    if (f.warp_time) items[n++] = seen_item(block, SEEN_WARP + thread / SIMT_WARP, 0, f.warp_time);
    if (f.time) items[n++] = seen_item(block, SEEN_THREAD + thread, 0, f.time);
    return n;
}

/* There was one. */
static struct seen_set *releases_of(struct block *b, unsigned thread, unsigned reach)
{
    struct fence f = simt_check_fence_of(b, thread, reach);
    struct behind *x = &b->order[thread].behind[reach - 1];
    uint64_t items[3];
    if (x->releases && simt_same_fence(&x->fence, &f)) return x->releases;
    size_t n = fence_items(b, thread, f, items);
    simt_seen_hold(&x->releases, x->fenced);
    simt_seen_add(b->check, &x->releases, items, n);
    x->fence = f;
    return x->releases;
}

/* ---- strong accesses ---- */
struct strong {
    struct access *access;
    uint32_t lanes;                 /* those in global or shared memory */
    uint64_t spot[SIMT_WARP];       /* of each */
    struct table *table[SIMT_WARP]; /* where it is kept */
    uint64_t stripes;               /* that are locked, by bits */
    uint64_t expected[SIMT_WARP];   /* of compare-and-swaps */
    uint32_t failing;               /* likewise, without results */
    bool swaps, alone;              /* alone: one lane */
    unsigned log, places;           /* of a place's bytes; of a lane's places */
    const struct order_place *last; /* where a lane came to know something; */
    struct {                        /* the last that one came to know where another had, and what from */
        struct seen_set *knew, *comes, *then;
    } same;
};

static bool is_shared(const struct insn *i, uint64_t at)
{
    return i->space == PTX_SHARED || (i->space == PTX_GENERIC && at >> 48 == SIMT_SHARED_BASE >> 48);
}

static bool is_global(const struct insn *i, uint64_t at)
{
    uint64_t window = at >> 48;
    return i->space == PTX_GLOBAL || (i->space == PTX_GENERIC && (window < 1 || window > 3));
}

static void find_spots(struct strong *s, uint32_t m)
{
    const struct access *a = s->access;
    struct simt_check *c = a->check;
    EACH_LANE(l, m)
    {
        uint64_t at = a->at[l];
        if (is_shared(a->insn, at)) {
            at = (uint32_t)at;
            const struct worker *owner = simt_cluster_owner(a->block->worker, &at);
            if (!owner || owner->ended) continue;
            struct block *o = owner->observed;
            s->spot[l] = simt_order_spot(o, at);
            s->table[l] = &o->places;
        } else if (is_global(a->insn, at)) {
            unsigned stripe = (unsigned)(mixed(at >> (s->log + STRIPE_LOG)) >> 58);
            s->spot[l] = at;
            s->table[l] = &c->order[stripe].places;
            s->stripes |= UINT64_C(1) << stripe;
        } else {
            continue;
        }
        s->lanes |= 1u << l;
    }
}

static void lock(struct strong *s, bool on)
{
    struct simt_check *c = s->access->check;
    for (uint64_t left = c->parallel ? s->stripes : 0; left; left &= left - 1) {
        _Atomic bool *one = &c->order[__builtin_ctzll(left)].locked;
        if (!on) atomic_store_explicit(one, false, memory_order_release);
        while (on && atomic_exchange_explicit(one, true, memory_order_acquire))
            for (int tries = 0; atomic_load_explicit(one, memory_order_relaxed); tries++) simt_check_pause(tries);
    }
}

static void forget_same(struct strong *s)
{
    simt_seen_let_go(&s->same.knew);
    simt_seen_let_go(&s->same.comes);
    simt_seen_let_go(&s->same.then);
}

/* The thread read what is there. */
static void learn(struct strong *s, unsigned lane, struct order_place *p)
{
    struct block *b = s->access->block;
    unsigned thread = (unsigned)s->access->warp->index * SIMT_WARP + lane;
    struct order *o = p->comes ? order_of(b, thread) : NULL;
    if (!o) return;
    if (p->last) simt_seen_add(b->check, &p->comes, &p->last, 1);
    p->last = 0;
    struct seen_set *knew = o->knows;
    if (knew == p->comes) return;
    if (!b->tags.slow) simt_shared_flush(b);
    b->learned = true;
    if (s->alone) {
        simt_seen_join(b->check, &o->knows, p->comes);
        b->order_apart |= o->knows != knew;
        return;
    }
    if (s->same.then && s->same.knew == knew && s->same.comes == p->comes) {
        simt_seen_hold(&o->knows, s->same.then);
    } else {
        bool kept = s->last == p; /* lanes go to one place */
        if (kept) simt_seen_hold(&s->same.knew, knew);
        if (kept) simt_seen_hold(&s->same.comes, p->comes);
        simt_seen_join(b->check, &o->knows, p->comes);
        if (kept) simt_seen_hold(&s->same.then, o->knows);
    }
    s->last = p;
    b->order_apart |= o->knows != knew;
}

/* The thread wrote what is there; if it updated that, what came with it still does. Reach: of the fences that count
 * there; `fenced`: it had one. */
static void release(struct strong *s, unsigned lane, struct order_place *p, unsigned reach, bool fenced)
{
    struct block *b = s->access->block;
    unsigned thread = (unsigned)s->access->warp->index * SIMT_WARP + lane;
    bool updates = s->access->kind == ACCESS_ATOMIC;
    if (!fenced) {
        if (updates) return;
        simt_seen_let_go(&p->comes);
        p->last = 0;
        return;
    }
    uint32_t now = b->now < LAST_TIME ? b->now + 1 : LAST_TIME;
    if (p->bytes != s->access->bytes) {
        p->bytes = s->access->bytes;
        p->object = object_of(b->check, s->spot[lane], p->bytes, true);
    }
    const uint64_t itself = seen_item(record_block(b->id), SEEN_THREAD + thread, p->object, now);
    if (!updates) {
        simt_seen_hold(&p->comes, releases_of(b, thread, reach));
        p->last = itself;
        return;
    }
    if (p->comes == b->order[thread]
                        .behind[reach - 1]
                        .fenced) { /* as where it lets go of a lock: no item of after its fence is there */
        uint64_t items[4];
        size_t n = fence_items(b, thread, simt_check_fence_of(b, thread, reach), items);
        items[n++] = itself;
        simt_seen_extend(b->check, &p->comes, items, n);
        return;
    }
    simt_seen_join(b->check, &p->comes, releases_of(b, thread, reach)); /* which most often says what came already */
    simt_seen_add(b->check, &p->comes, &itself, 1);
}

static uint64_t value_at(const struct access *a, uint32_t slot, unsigned lane)
{
    return a->insn->size == 8 ? u64_at(a->regs, slot)[lane] : u32_at(a->regs, slot)[lane];
}

/* Will a compare-and-swap without a result find another value? False if that can't be told, as when a lane before it
 * goes there, too. */
static bool finds_other(const struct strong *s, unsigned lane)
{
    const struct access *a = s->access;
    uint64_t at = s->spot[lane];
    EACH_LANE(l, s->lanes & ((1u << lane) - 1))
    if (s->spot[l] == at) return false;
    if (s->table[lane] == &a->block->places)
        return simt_swap_fails(a->insn, a->regs, lane, a->warp->shared + (uint32_t)at);
    return at < SHARED_SPOT && simt_swap_fails(a->insn, a->regs, lane, place_in_host(at));
}

/* Before a compare-and-swap of lanes m, which may go where they do: what it expects, whose place what it finds may
 * take. */
static void note_expected(struct strong *s, uint32_t m)
{
    const struct access *a = s->access;
    s->swaps = simt_is_swap(a->insn) && a->insn->size <= 8;
    EACH_LANE(l, s->swaps ? s->lanes & m : 0)
    {
        s->expected[l] = value_at(a, a->insn->b, l);
        if (a->insn->extra) s->failing |= (uint32_t)finds_other(s, l) << l;
    }
}

/* A compare-and-swap that found another value has only read. */
static bool has_failed(const struct strong *s, unsigned lane)
{
    const struct access *a = s->access;
    uint64_t mask = a->insn->size < 8 ? (UINT64_C(1) << 8 * a->insn->size) - 1 : UINT64_MAX;
    if (!s->swaps || a->insn->extra) return s->failing >> lane & 1;
    return ((value_at(a, a->insn->d, lane) ^ s->expected[lane]) & mask) != 0;
}

static void pass_on(struct strong *s, unsigned lane, uint64_t key, unsigned reach, bool writes)
{
    const struct access *a = s->access;
    bool fenced = writes && has_fence(a->block, (unsigned)a->warp->index * SIMT_WARP + lane, reach);
    struct order_place *p = find(a->check, s->table[lane], key, fenced);
    if (p && a->kind != ACCESS_WRITE) learn(s, lane, p);
    if (p && writes) release(s, lane, p, reach, fenced);
}

/* Where fences of a block come with a value for its own threads. */
static uint64_t place_of_block(const struct block *b, uint64_t key)
{
    return mixed(key ^ ((uint64_t)record_block(b->id) + 1) << 44) | 1;
}

static void follow(struct strong *s, unsigned lane)
{
    const struct access *a = s->access;
    bool writes = a->kind != ACCESS_READ && !has_failed(s, lane);
    unsigned reach = s->spot[lane] & SHARED_SPOT ? 1 : a->check->reaches;
    for (unsigned k = 0; k < s->places; k++) {
        uint64_t key = (s->spot[lane] >> s->log) + k + 1;
        pass_on(s, lane, key, reach, writes);
        if (reach > 1) pass_on(s, lane, place_of_block(a->block, key), 1, writes);
    }
}

/* A warp that reads once more what it read there before waits: each look costs more here than elsewhere, so that others
 * have their turn sooner. */
static void look_again(const struct access *a, uint32_t m)
{
    const struct insn *i = a->insn;
    if (!m || a->kind != ACCESS_READ || i->size > 8 || i->count > 1) return;
    unsigned first = (unsigned)__builtin_ctz(m);
    struct glance *last = &a->block->glances[a->warp->index], was = *last;
    *last = (struct glance){i, a->at[first], value_at(a, i->d, first), a->me, m};
    bool again = was.insn == i && was.at == last->at && was.value == last->value;
    if (again && was.me == last->me && was.lanes == m) simt_waits(a->warp, LOOK_COST);
}

enum event simt_order_strong(struct access *a, uint32_t *m)
{
    struct simt_check *c = a->check;
    struct strong s; /* what it has of lanes is made for some */
    s.access = a;
    s.alone = !(*m & (*m - 1));
    s.lanes = s.failing = 0;
    s.stripes = 0;
    s.log = c->narrow_strong ? 0 : 2;
    s.last = NULL;
    s.same.knew = s.same.comes = s.same.then = NULL;
    uint16_t objects[SIMT_WARP];
    s.places = a->bytes >> s.log ? a->bytes >> s.log : 1;
    if (a->insn->flags & F_RELEASE) { /* what it does itself comes behind its fence */
        simt_check_fence(a->block, a->warp, *m, a->site->of_block ? 1 : c->reaches);
        a->me += (record)(a->block->now - record_time(a->me)) << TIME_AT;
    }
    simt_releases_find(a, *m, objects);
    bool coarse = atomic_load(&c->coarse);
    if (!coarse) find_spots(&s, *m);
    if (coarse && a->kind != ACCESS_READ) simt_releases_write(a, *m, objects);
    lock(&s, true);
    *m = simt_check_lanes(a, *m, (enum ptx_space)a->insn->space);
    note_expected(&s, *m);
    enum event ev = *m ? a->insn->run(a->regs, a->insn, *m, a->warp) : EV_NEXT;
    EACH_LANE(l, s.lanes & *m) follow(&s, l);
    lock(&s, false);
    look_again(a, *m);
    forget_same(&s);
    if (atomic_load(&c->coarse) && a->kind != ACCESS_WRITE) simt_releases_read(a, *m, objects);
    *m = 0;
    return ev;
}
