/* Atomics and volatile accesses where some release what others come to know (check_order.c): what comes with the values
 * of places, and what becomes of it.
 *
 * So that no more and no less comes with a value than was released with it, the instruction is done here, while the
 * places that it touches are locked. */
#include <stdlib.h>
#include "runtime/simt/check_access.h"
#include "runtime/simt/check_links.h"
#include "runtime/simt/check_shared.h"
#include "runtime/simt/check_table.h"
#include "runtime/simt/tally.h"

#define MOST_PLACES  4096 /* of a stripe, and of a block's shared memory */
#define STRIPE_LOG   5    /* of places that share a lock */
#define SHARED_SPOT  (UINT64_C(1) << 63)
#define NEAR_OBJECTS 16 /* numbers that are tried for one */
#define FEW_STRIPES  4  /* that are fetched one after the other */

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

unsigned simt_order_object(const struct simt_check *c, uint64_t spot, unsigned bytes, bool make)
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

/* NULL: nothing comes from there. */
static inline struct order_place *find(const struct table *t, uint64_t key)
{
    return table_find(t, sizeof(struct order_place), key);
}

/* One that is not there. NULL: there is no room. */
static __attribute__((noinline)) struct order_place *make(struct simt_check *c, struct table *t, uint64_t key)
{
    if (t->count >= MOST_PLACES) {
        atomic_store(&c->coarse, true);
        return NULL;
    }
    struct order_place *p = table_add(t, sizeof *p, key);
    if (!p) atomic_store(&c->no_memory, true);
    return p;
}

void simt_places_empty(struct table *t)
{
    if (!t->room) return;
    for (size_t k = 0; k < t->room; k++) simt_seen_let_go(&((struct order_place *)(void *)t->items)[k].comes);
    free(t->items);
    *t = (struct table){0};
}

/* ---- what a thread releases ---- */
static inline bool is_fence(struct fence f)
{
    return f.time || f.block_time;
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

/* All that this fence of its orders. */
static struct seen_set *releases_of(struct block *b, unsigned thread, unsigned reach, struct fence f)
{
    struct behind *x = &b->order[thread].behind[reach - 1];
    uint64_t items[3];
    if (x->releases && simt_same_fence(&x->fence, &f)) return x->releases;
    size_t n = fence_items(b, thread, f, items);
    simt_seen_hold(&x->releases, simt_order_fenced(&b->order[thread], reach));
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

static inline void add_spot(struct strong *s, unsigned lane)
{
    const uint64_t at = s->access->at[lane];
    const unsigned stripe = (unsigned)(mixed(at >> (s->log + STRIPE_LOG)) >> 58);
    s->spot[lane] = at;
    s->table[lane] = &s->access->check->order[stripe].places;
    s->stripes |= UINT64_C(1) << stripe;
}

static void find_spots(struct strong *s, uint32_t m)
{
    const struct access *a = s->access;
    s->lanes = m;
    if (a->insn->space == PTX_GLOBAL) {
        EACH_LANE(l, m) add_spot(s, l);
        return;
    }
    EACH_LANE(l, m)
    {
        uint64_t at = a->at[l];
        if (is_global(a->insn, at)) {
            add_spot(s, l);
            continue;
        }
        at = (uint32_t)at;
        const struct worker *owner = is_shared(a->insn, a->at[l]) ? simt_cluster_owner(a->block->worker, &at) : NULL;
        if (!owner || owner->ended) {
            s->lanes &= ~(1u << l);
            continue;
        }
        struct block *o = owner->observed;
        s->spot[l] = simt_order_spot(o, at);
        s->table[l] = &o->places;
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

/* Places, and what is there, which are many. */
static void fetch_places(const struct strong *s)
{
    EACH_LANE(l, s->lanes)
    {
        const struct table *t = s->table[l];
        if (s->spot[l] < SHARED_SPOT) fetch_to_write(place_in_host(s->spot[l]));
        if (t->room) fetch_to_write(table_home(t, sizeof(struct order_place), (s->spot[l] >> s->log) + 1));
    }
}

/* And the sets that come with them, and what the lanes know. */
static void fetch_sets(const struct strong *s)
{
    const struct access *a = s->access;
    const struct order *of = a->block->order ? a->block->order + a->warp->index * SIMT_WARP : NULL;
    EACH_LANE(l, s->lanes)
    {
        const struct order_place *p = find(s->table[l], (s->spot[l] >> s->log) + 1);
        if (p && p->comes) simt_seen_fetch(p->comes);
        if (of && of[l].knows) simt_seen_fetch(of[l].knows);
    }
}

static void forget_same(struct strong *s)
{
    simt_seen_let_go(&s->same.knew);
    simt_seen_let_go(&s->same.comes);
    simt_seen_let_go(&s->same.then);
}

/* The thread read what is there, of which it may not know all. */
static void learn(struct strong *s, unsigned lane, struct order_place *p)
{
    struct block *b = s->access->block;
    unsigned thread = (unsigned)s->access->warp->index * SIMT_WARP + lane;
    struct order *o = simt_order_of(b, thread);
    if (!o) return;
    if (p->last) simt_seen_add(b->check, &p->comes, &p->last, 1);
    p->last = 0;
    struct seen_set *knew = o->knows;
    if (knew == p->comes) return;
    if (!b->tags.slow) simt_shared_flush(b);
    b->learned = true;
    simt_order_keep_fenced(o);
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

/* The thread wrote what is there; if it updated that, behind a fence, what came with it still does. Reach: of the
 * fences that count there; f: its last one. */
static inline void release(struct strong *s, unsigned lane, struct order_place *p, unsigned reach, struct fence f)
{
    struct block *b = s->access->block;
    unsigned thread = (unsigned)s->access->warp->index * SIMT_WARP + lane;
    bool updates = s->access->kind == ACCESS_ATOMIC;
    if (!is_fence(f)) {
        simt_seen_let_go(&p->comes);
        p->last = 0;
        return;
    }
    uint32_t now = b->now < LAST_TIME ? b->now + 1 : LAST_TIME;
    if (p->bytes != s->access->bytes) {
        p->bytes = s->access->bytes;
        p->object = simt_order_object(b->check, s->spot[lane], p->bytes, true);
    }
    const uint64_t itself = seen_item(record_block(b->id), SEEN_THREAD + thread, p->object, now);
    if (!updates) {
        simt_seen_hold(&p->comes, releases_of(b, thread, reach, f));
        p->last = itself;
        return;
    }
    if (p->comes == simt_order_fenced(&b->order[thread], reach)) { /* as where it lets go of a lock: no item of after
                                                              its fence is there */
        uint64_t items[4];
        size_t n = fence_items(b, thread, f, items);
        items[n++] = itself;
        simt_seen_extend(b->check, &p->comes, items, n);
        return;
    }
    simt_seen_join(b->check, &p->comes, releases_of(b, thread, reach, f)); /* which most often says what came already */
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

/* Of lanes m, those whose compare-and-swap found another value: it has only read. */
static uint32_t failed(const struct strong *s, uint32_t m)
{
    const struct access *a = s->access;
    const uint64_t mask = a->insn->size < 8 ? (UINT64_C(1) << 8 * a->insn->size) - 1 : UINT64_MAX;
    uint32_t others = 0;
    if (!s->swaps || a->insn->extra) return s->failing;
    EACH_LANE(l, m) others |= (uint32_t)(((value_at(a, a->insn->d, l) ^ s->expected[l]) & mask) != 0) << l;
    return others;
}

static inline __attribute__((always_inline)) void pass_on(struct strong *s, unsigned lane, uint64_t key, unsigned reach,
                                                          bool writes)
{
    const struct access *a = s->access;
    const unsigned thread = (unsigned)a->warp->index * SIMT_WARP + lane;
    struct fence f = {0};
    if (writes) f = simt_check_fence_of(a->block, thread, reach);
    const bool fenced = is_fence(f) && simt_order_of(a->block, thread);
    struct order_place *p = find(s->table[lane], key);
    if (!fenced) f = (struct fence){0};
    if (!p && fenced) p = make(a->check, s->table[lane], key);
    if (!p) return;
    if (a->kind != ACCESS_WRITE && p->comes && (p->last || p->comes != simt_order_knows(a->block, thread)))
        learn(s, lane, p);
    if (writes && (fenced || a->kind == ACCESS_WRITE)) release(s, lane, p, reach, f);
}

/* Where fences of a block come with a value for its own threads. */
static uint64_t place_of_block(const struct block *b, uint64_t key)
{
    return mixed(key ^ ((uint64_t)record_block(b->id) + 1) << 44) | 1;
}

static __attribute__((noinline)) void pass_on_to_block(struct strong *s, unsigned lane, uint64_t key, bool writes)
{
    pass_on(s, lane, place_of_block(s->access->block, key), 1, writes);
}

static void follow(struct strong *s, uint32_t m)
{
    const struct access *a = s->access;
    const uint32_t writing = a->kind == ACCESS_READ ? 0 : m & ~failed(s, m);
    EACH_LANE(lane, m)
    {
        const bool writes = writing >> lane & 1;
        const unsigned reach = s->spot[lane] & SHARED_SPOT ? 1 : a->check->reaches;
        for (unsigned k = 0; k < s->places; k++) {
            uint64_t key = (s->spot[lane] >> s->log) + k + 1;
            pass_on(s, lane, key, reach, writes);
            if (reach > 1) pass_on_to_block(s, lane, key, writes);
        }
    }
}

static void look_for(const struct access *a, uint64_t at, int cost)
{
    a->warp->budget -= cost;
    simt_looks_at(a->warp, at, cost);
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
    if (again && was.me == last->me && was.lanes == m) look_for(a, last->at, LOOK_COST);
}

/* A lane that reads once more what it read there before, without a fence since then. Nothing tells this from having
 * read again what was there at that time: so it learns nothing, and its record is there. */
static bool sees_no_more(const struct access *a, uint32_t m)
{
    const struct insn *i = a->insn;
    const struct glance *last = &a->block->glances[a->warp->index];
    const bool wide = i->flags & F_WIDE;
    uint64_t at = last->at, there = 0;
    if (last->insn != i || last->lanes != m || m & (m - 1) || last->me != a->me) return false;
    if (a->at[__builtin_ctz(m)] != at || i->size != (wide ? 8 : 4) || !is_global(i, at)) return false;
    if (!inside(&a->block->spans[i->d2], at, i->size)) return false;
    if (may_meet_copies(a->block, ACCESS_READ)) return false;
    simt_tally_settle(a->warp->worker);
    load_of_kernel(&there, place_in_host(at), i->size);
    if (there != last->value) return false;
    fill_lanes(a->regs, i->d, wide, m, there);
    look_for(a, at, SPIN_COST + LOOK_COST);
    return true;
}

enum event simt_order_strong(struct access *a, uint32_t *m)
{
    struct simt_check *c = a->check;
    if (sees_no_more(a, *m)) {
        *m = 0;
        return EV_NEXT;
    }
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
    bool coarse = atomic_load(&c->coarse);
    if (coarse)
        simt_releases_find(a, *m, objects);
    else
        find_spots(&s, *m);
    if (coarse && a->kind != ACCESS_READ) simt_releases_write(a, *m, objects);
    const bool fetches = __builtin_popcountll(s.stripes) > FEW_STRIPES;
    /* The look at a compare-and-swap depends on what that finds, and the one at a store does it: both while all is
     * locked. */
    const bool first = a->kind == ACCESS_READ || (a->kind == ACCESS_ATOMIC && !simt_is_swap(a->insn));
    if (first) *m = simt_check_lanes(a, *m, (enum ptx_space)a->insn->space);
    lock(&s, true);
    if (fetches) fetch_places(&s);
    if (!first) *m = simt_check_lanes(a, *m, (enum ptx_space)a->insn->space);
    note_expected(&s, *m);
    if (fetches) fetch_sets(&s);
    enum event ev = *m ? a->insn->run(a->regs, a->insn, *m, a->warp) : EV_NEXT;
    follow(&s, s.lanes & *m);
    lock(&s, false);
    look_again(a, *m);
    forget_same(&s);
    if (atomic_load(&c->coarse) && a->kind != ACCESS_WRITE) {
        if (!coarse) simt_releases_find(a, *m, objects);
        simt_releases_read(a, *m, objects);
    }
    *m = 0;
    return ev;
}
