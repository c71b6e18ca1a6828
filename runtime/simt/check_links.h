/* How sets of what threads have seen lie in memory, and the question that is asked most of them: check_seen.c has the
 * others. */
#ifndef SIMT_CHECK_LINKS_H
#define SIMT_CHECK_LINKS_H

#include "runtime/simt/check_order.h"

#define THREAD_SHIFT   (TIME_BITS + SEEN_OBJECT_BITS)
#define BLOCK_SHIFT    (THREAD_SHIFT + SEEN_WHO_BITS)
#define SEEN_KEY(item) ((item) >> TIME_BITS)
#define SEEN_TIMES     ((UINT64_C(1) << TIME_BITS) - 1)

/* ---- check_items.c; items in order, as simt_items_sort puts them ---- */
/* Two lists become one, without what it says otherwise; how many items it has. */
uint32_t simt_items_merge(const uint64_t *a, size_t n, const uint64_t *b, size_t m, uint64_t *to);
/* The time that n items have for a key; 0: none. */
uint32_t simt_items_time(const uint64_t *items, size_t n, uint64_t key);

#define LINK_BYTES 64 /* that links begin at multiples of, and more than the items that come to one */
struct link { /* items to which others may come: a set is its address and, in that's lowest bits, how many count */
    _Atomic uint32_t holders;
    _Atomic uint32_t used; /* items that are there */
    uint32_t room;
    uint32_t count;                   /* of one that stays as it is; 0: others may come */
    uint32_t size;                    /* of what it is upon: items, at most */
    uint32_t rank;                    /* of those that it is made of all have a lower one */
    uint32_t depth;                   /* links upon each other, down to lists; one that is full counts as several */
    _Atomic uint32_t deep;            /* the depth from which on a list is made of what links upon it are upon */
    uint32_t block;                   /* that all it says is of; 0: of several */
    uint32_t stands_for;              /* of a list, see whole: how many items */
    bool shared;                      /* by host threads */
    struct seen_set *base, *joined;   /* what these say, it says, too; NULL: there is none */
    _Atomic(struct seen_set *) below; /* a list that says what those two do; NULL: not made yet */
    _Atomic(struct seen_set *) whole; /* a list that says at least what it does with some of its items; NULL: none */
    struct link *next;                /* of those that nobody holds any longer */
    struct links_pool *pool;          /* check_pool.c: that it is of, */
    struct links_chunk *alone;        /* if it is large, its own part of that, */
    uint16_t part, piece;             /* and which size */
    uint64_t items[];                 /* of one that stays as it is by rising keys */
};

/* ---- check_pool.c ---- */
/* Room of `bytes` bytes for a link, of which only what tells where it lies is set. NULL: no memory. */
struct link *simt_pool_take(struct simt_check *c, size_t bytes);
void simt_pool_give(struct link *k);
void simt_pool_end(struct simt_check *c); /* all links, whoever holds them */

static inline struct link *link_of(const struct seen_set *s)
{
    return (struct link *)((uintptr_t)s & ~(uintptr_t)(LINK_BYTES - 1));
}

/* A set's own items. */
static inline uint32_t count_of(const struct seen_set *s)
{
    uint32_t count = (uintptr_t)s % LINK_BYTES;
    return count ? count : link_of(s)->count;
}

/* It is held, or more is said, soon. */
static inline void simt_seen_fetch(const struct seen_set *s)
{
    const struct link *k = link_of(s);
    fetch_to_write(k);
    fetch_to_write(k->items + (uintptr_t)s % LINK_BYTES);
}

/* It is asked soon. */
static inline void simt_seen_fetch_last(const struct seen_set *s)
{
    const struct link *k = link_of(s);
    const uint64_t *last = k->items + (uintptr_t)s % LINK_BYTES - 1;
    __builtin_prefetch(&k->joined);
    __builtin_prefetch(last);
}

/* The first so many items of a link, or a link that stays as it is. */
static inline struct seen_set *set_of(struct link *k, uint32_t count)
{
    return (struct seen_set *)((uintptr_t)k + (k->count ? 0 : count));
}

/* So many more hold it. */
static inline void add_holders(struct seen_set *s, uint32_t n)
{
    struct link *k = link_of(s);
    if (k->shared)
        atomic_fetch_add_explicit(&k->holders, n, memory_order_relaxed);
    else
        atomic_store_explicit(&k->holders, atomic_load_explicit(&k->holders, memory_order_relaxed) + n,
                              memory_order_relaxed);
}

/* Are none left? */
static inline bool remove_holders(struct link *k, uint32_t n)
{
    if (k->shared) return atomic_fetch_sub_explicit(&k->holders, n, memory_order_acq_rel) == n;
    uint32_t left = atomic_load_explicit(&k->holders, memory_order_relaxed) - n;
    atomic_store_explicit(&k->holders, left, memory_order_relaxed);
    return !left;
}

/* Does it tell of this block alone? */
static inline bool simt_seen_only(const struct seen_set *s, unsigned block)
{
    return !s || link_of(s)->block == block;
}

#define LATELY 3
/* Do the last items say so of what the record tells? */
static inline bool says_at_last(const struct seen_set *s, record r)
{
    const struct link *k = link_of(s);
    const uint64_t key = SEEN_KEY(seen_item(record_block(r), SEEN_THREAD + record_thread(r), 0, 0));
    const uint32_t n = count_of(s), time = record_time(r);
    bool found = false;
    for (uint32_t j = n > LATELY ? n - LATELY : 0; j < n; j++)
        found |= SEEN_KEY(k->items[j]) == key && time < (k->items[j] & SEEN_TIMES);
    return found;
}

/* Does what came last? As where a lock guards a place: its last holder let go of it; or by a set that it was joined to,
 * as where a thread awaits several. */
static inline bool seen_lately(const struct seen_set *s, record r)
{
    const struct seen_set *joined = link_of(s)->joined;
    return says_at_last(s, r) || (joined && says_at_last(joined, r));
}

#endif
