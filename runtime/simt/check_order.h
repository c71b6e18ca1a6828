/* Order by atomics and volatile accesses, and the sets of what threads have seen by them. */
#ifndef SIMT_CHECK_ORDER_H
#define SIMT_CHECK_ORDER_H

#include "runtime/simt/check_inside.h"

/* ---- check_seen.c: sets, counted by their holders; NULL is an empty one; how they are kept: check_links.h ---- */
#define SEEN_WHO_BITS    11
#define SEEN_OBJECT_BITS 12
#define SEEN_OBJECTS     ((1u << SEEN_OBJECT_BITS) - 1)
enum { SEEN_BLOCK = 0, SEEN_WARP = 32, SEEN_THREAD = 1024 }; /* who, and which warp or thread is added */
_Static_assert(BLOCK_BITS + SEEN_WHO_BITS + SEEN_OBJECT_BITS + TIME_BITS == 64, "an item has 64 bits");

/* What was done before the time; object 0: anything, others: strong accesses to it. */
static inline uint64_t seen_item(unsigned block, unsigned who, unsigned object, uint32_t time)
{
    return ((((uint64_t)block << SEEN_WHO_BITS | who) << SEEN_OBJECT_BITS | object) << TIME_BITS) | time;
}

/* *at becomes s; what it was is freed when nobody else holds it. */
void simt_seen_hold(struct seen_set **at, struct seen_set *s);
void simt_seen_let_go(struct seen_set **at);
/* The same of n, `apart` bytes from one to the next: fewer atomics for those that held one set. NULL: none. */
void simt_seen_hold_all(struct seen_set **at, size_t apart, unsigned n, struct seen_set *s);
/* *to comes to say what n items say, or another set; those are in order, as simt_items_sort puts them. */
void simt_seen_add(struct simt_check *c, struct seen_set **to, const uint64_t *items, size_t n);
/* The same of at least one item, none of which it says. */
void simt_seen_extend(struct simt_check *c, struct seen_set **to, const uint64_t *items, size_t n);
void simt_seen_join(struct simt_check *c, struct seen_set **to, struct seen_set *more);
/* Does it say so of what the record tells: in general, or as a strong access to the object? 0: in general. `near`:
 * false may mean that this takes longer to find out. */
bool simt_seen_has(struct simt_check *c, struct seen_set *s, record r, unsigned object, bool near);
/* Of all that the record's block did until then? False: it may. */
bool simt_seen_block(const struct seen_set *s, record r);

/* ---- check_items.c ---- */
/* By keys, the latest of each; how many are left. */
size_t simt_items_sort(uint64_t *items, size_t n);

/* ---- check_order.c ---- */
struct behind {                /* its last fence, of a reach */
    struct seen_set *fenced;   /* what came before, but for what the block's barriers ordered */
    struct seen_set *releases; /* `fenced` and what the fence itself ordered; NULL: it is to be made */
    struct fence fence;        /* of `releases` */
};
struct order { /* of a thread */
    struct seen_set *knows;
    record behind_it;  /* what was found to be ordered before what it does, as it stays; 0: nothing yet */
    uint32_t as_known; /* reaches, from bit 0 on, of which `fenced` is what it knows, and need not be held, too */
    struct behind behind[MOST_REACHES];
};

/* Has the thread seen, by what it read, what the record says? */
bool simt_order_seen(const struct block *b, record r, unsigned thread, uint64_t spot, bool near);
/* Have all threads of the block, which know the same, seen all that the record's block did until then? False: they may
 * have. */
bool simt_order_passed(struct block *b, record r);
void simt_order_learn(struct block *b, unsigned thread, struct seen_set *s);
/* Theirs come behind what they have seen so far. */
void simt_order_fence(struct block *b, unsigned warp, uint32_t m, unsigned reach);
/* By warp: lanes `to` come to know what any of `from` know; the same within a warp; all threads met; to a block of the
 * cluster. */
void simt_order_share(struct block *b, const uint32_t *from, const uint32_t *to);
void simt_order_share_lanes(struct block *b, const struct warp *w, uint32_t m);
void simt_order_meet(struct block *b, unsigned reach);
void simt_order_pass(const struct block *b, struct block *to);
void simt_order_start(struct block *b); /* a block begins */
void simt_order_free(struct block *b);
void simt_order_end(struct simt_check *c);

static inline struct seen_set *simt_order_knows(const struct block *b, unsigned thread)
{
    return b->order ? b->order[thread].knows : NULL;
}

/* NULL: no memory. */
static inline struct order *simt_order_of(struct block *b, unsigned thread)
{
    if (!b->order) simt_check_want(b, &b->order, b->worker->warp_count * SIMT_WARP, sizeof *b->order);
    return b->order ? &b->order[thread] : NULL;
}

static inline struct seen_set *simt_order_fenced(const struct order *o, unsigned reach)
{
    return o->as_known >> (reach - 1) & 1 ? o->knows : o->behind[reach - 1].fenced;
}

/* Before it comes to know something else. */
static inline void simt_order_keep_fenced(struct order *o)
{
    for (unsigned r = 0; o->as_known; r++, o->as_known >>= 1)
        if (o->as_known & 1) simt_seen_hold(&o->behind[r].fenced, o->knows);
}

/* ---- check_strong.c ---- */
/* Of global memory the spot is the address; of a block's shared memory this; 0: none. */
uint64_t simt_order_spot(const struct block *owner, uint64_t offset);
/* A strong access of lanes m, which are taken out: it is looked at and done. */
enum event simt_order_strong(struct access *a, uint32_t *m);
/* The number of what a strong access to so many bytes goes to, made when something is released there; 0: nothing was.
 * In a table with little room left some share one. */
unsigned simt_order_object(const struct simt_check *c, uint64_t spot, unsigned bytes, bool make);
void simt_places_empty(struct table *t); /* nothing comes from any place */

/* ---- check_releases.c ---- */
/* What lanes m of a strong access touch. */
void simt_releases_find(const struct access *a, uint32_t m, uint16_t *objects);
/* What the lanes released goes with what they write; what they read comes with what was released. */
void simt_releases_write(const struct access *a, uint32_t m, const uint16_t *objects);
void simt_releases_read(const struct access *a, uint32_t m, const uint16_t *objects);
/* The lane releases what its last fence ordered, to whoever comes to know of a later release. */
void simt_releases_arrive(const struct access *a, unsigned lane);
/* The thread has seen the releases up to this number. Has it seen what the record says? */
void simt_releases_acquire(struct block *b, unsigned thread, uint64_t number);
bool simt_releases_seen(const struct block *b, record e, unsigned thread);
void simt_releases_start(struct block *b);    /* a block begins */
bool simt_releases_new(struct simt_check *c); /* when a launch starts in which some release; false: no memory */
void simt_releases_free(struct simt_check *c);

#endif
