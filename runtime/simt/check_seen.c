/* What threads have seen of others by atomics and volatile accesses: sets that do not change, so that threads, places
 * and host threads share them. An item says of a block, a warp or a thread before which time all that it did was seen;
 * of a thread and a place, before which time its strong accesses there.
 *
 * Most sets are asked but for what came to them last. So who comes to know some more, as who takes a lock does, has
 * these few items put behind those of the set before, in the same memory: a set is such a memory and how many of its
 * items count. Only where that is full, or somebody else has put items there, a new one is begun upon the set before;
 * and of two large sets that are joined none is copied, unless they mostly say something of the same threads: the new
 * one says what both do. Where many are looked through, by depth or for one question, what they say is put in one list,
 * which is kept. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/check_links.h"
#include "runtime/simt/check_table.h"

#define FEW        8          /* items of a set that needs no link */
#define SMALL      32         /* items of sets that cost nothing to copy */
#define MOST_SMALL 64         /* likewise, if each may be there twice */
#define MOST_ALIKE 1200       /* items of sets that are copied, too, in launches */
#define MOST_APART 64         /* where fewer than so many of these said something of others each */
#define NEAR       3          /* links that are looked at where an answer may be left open */
#define FAR        256        /* and where it may not */
#define DEEP       64         /* links upon each other of which a list is made, if they and those joined are not more */
#define LEAST_DEEP 24         /* the same where the list below is short */
#define MOST_SETS  512        /* than these, */
#define FEW_SETS   128        /* or these, when that */
#define MOST_WIDE  8          /* has been so often in the launch */
#define MOST_WORK  (1u << 24) /* items that a launch may copy in larger sets */
#define MOST_ROOM  62
#define LEAST_ROOM 4

/* ---- holders ---- */
static void drop(struct seen_set *s, struct link **gone)
{
    struct link *k = link_of(s);
    if (!s || !remove_holders(k, 1)) return;
    k->next = *gone;
    *gone = k;
}

static void free_all(struct link *gone)
{
    while (gone) {
        struct link *k = gone;
        gone = k->next;
        drop(k->base, &gone);
        drop(k->joined, &gone);
        drop(atomic_load_explicit(&k->below, memory_order_relaxed), &gone);
        drop(atomic_load_explicit(&k->whole, memory_order_relaxed), &gone);
        simt_pool_give(k);
    }
}

static inline void let_go_of(struct seen_set *s, uint32_t times)
{
    struct link *k = link_of(s);
    if (!times || !remove_holders(k, times)) return;
    k->next = NULL;
    free_all(k);
}

void simt_seen_hold(struct seen_set **at, struct seen_set *s)
{
    if (s) add_holders(s, 1);
    simt_seen_let_go(at);
    *at = s;
}

void simt_seen_let_go(struct seen_set **at)
{
    struct seen_set *s = *at;
    *at = NULL;
    if (s) let_go_of(s, 1);
}

void simt_seen_hold_all(struct seen_set **at, size_t apart, unsigned n, struct seen_set *s)
{
    struct seen_set *was = NULL;
    uint32_t gone = 0, new = 0; /* of `was`, of s */
    if (s) add_holders(s, n);
    for (unsigned k = 0; k < n; k++, at = (struct seen_set **)(void *)((char *)at + apart)) {
        if (*at == s) continue;
        if (link_of(*at) != link_of(was)) let_go_of(was, gone), was = *at, gone = 0;
        gone += was != NULL;
        new ++;
        *at = s;
    }
    let_go_of(was, gone);
    if (s) let_go_of(s, n - new);
}

/* ---- what a set says ---- */
struct sought { /* an item of one of the keys, of a later time */
    uint64_t keys[3];
    unsigned count;
    uint32_t time;
};

static bool says_itself(const struct seen_set *s, const struct sought *x)
{
    const struct link *k = link_of(s);
    uint32_t n = count_of(s);
    bool found = false;
    if (k->count > FEW) {
        for (unsigned j = 0; !found && j < x->count; j++) found = x->time < simt_items_time(k->items, n, x->keys[j]);
        return found;
    }
    while (!found && n-- > 0) {
        const uint64_t item = k->items[n];
        for (unsigned j = 0; j < x->count; j++) found |= SEEN_KEY(item) == x->keys[j] && x->time < (item & SEEN_TIMES);
    }
    return found;
}

enum answer { ANSWER_NO, ANSWER_YES, ANSWER_OPEN };

/* By so many of those that it is made of, at most FAR: the latest first. */
static enum answer look(const struct seen_set *s, const struct sought *x, unsigned most)
{
    const struct seen_set *of[FAR + 2];
    unsigned n = 0;
    of[n++] = s;
    for (unsigned k = 0; k < n && k < most; k++) {
        if (says_itself(of[k], x)) return ANSWER_YES;
        const struct link *at = link_of(of[k]);
        const struct seen_set *below = atomic_load_explicit(&at->below, memory_order_acquire);
        if (!below && at->joined && n < most + 1) of[n++] = at->joined;
        if (!below) below = at->base;
        if (below && n < most + 1) of[n++] = below;
    }
    return n > most ? ANSWER_OPEN : ANSWER_NO;
}

/* Does it say what the item does: by that, by one of its thread or by one of its block? False: it may not. */
static bool says(const struct seen_set *s, uint64_t item)
{
    uint64_t thread = item >> THREAD_SHIFT << SEEN_OBJECT_BITS, block = item >> BLOCK_SHIFT;
    const struct sought x = {{SEEN_KEY(item), thread, SEEN_KEY(seen_item((unsigned)block, SEEN_BLOCK, 0, 0))},
                             3,
                             (uint32_t)(item & SEEN_TIMES) - 1};
    return look(s, &x, NEAR) == ANSWER_YES;
}

/* Are its items some of the other's, in the same link? */
static bool is_part(const struct seen_set *s, const struct seen_set *other)
{
    return link_of(s) == link_of(other) && count_of(s) <= count_of(other);
}

/* Is it known that one says all that another does? */
static bool says_all(const struct seen_set *s, const struct seen_set *other)
{
    const struct link *o = link_of(other);
    const struct seen_set *whole = atomic_load_explicit(&o->whole, memory_order_acquire);
    if (whole && count_of(other) > link_of(whole)->stands_for) whole = NULL;
    for (unsigned n = 0; s && link_of(s)->rank >= o->rank && n < NEAR; n++, s = link_of(s)->base) {
        const struct seen_set *joined = link_of(s)->joined;
        if (is_part(other, s) || (whole && s == whole) || (joined && is_part(other, joined))) return true;
    }
    return false;
}

/* ---- new links ---- */
static uint32_t block_of(const uint64_t *items, size_t n)
{
    uint32_t block = (uint32_t)(items[0] >> BLOCK_SHIFT);
    return items[n - 1] >> BLOCK_SHIFT == block ? block : 0;
}

/* Items, at most. */
static uint32_t size_of(const struct seen_set *s)
{
    return link_of(s)->size + count_of(s);
}

static void set_upon(struct link *k, const struct seen_set *other)
{
    if (!other) return;
    const struct link *o = link_of(other);
    uint32_t size = size_of(other);
    k->rank = later(k->rank, o->rank + 1);
    if (!o->count || o->base) k->depth = later(k->depth, o->depth + 1 + count_of(other) / FEW);
    k->deep = later(k->deep, atomic_load_explicit(&o->deep, memory_order_relaxed));
    k->size = size < UINT32_MAX / 4 ? k->size + size : UINT32_MAX / 4;
}

/* A link that its maker holds, with room for n items, made of two sets, each of which may be NULL; what its maker
 * holds of the first becomes its own. NULL: no memory. */
static struct link *new_link(struct simt_check *c, size_t n, struct seen_set *base, struct seen_set *joined)
{
    struct link *k = simt_pool_take(c, sizeof *k + n * sizeof *k->items);
    if (!k) {
        atomic_store(&c->no_memory, true);
        return NULL;
    }
    memset(k, 0, offsetof(struct link, pool));
    atomic_init(&k->holders, 1);
    k->shared = c->parallel;
    k->room = (uint32_t)n;
    k->deep = LEAST_DEEP;
    k->base = base;
    k->joined = joined;
    set_upon(k, base);
    set_upon(k, joined);
    if (joined) add_holders(joined, 1);
    return k;
}

static void set_block(struct link *k, const uint64_t *items, size_t n)
{
    k->block = n ? block_of(items, n) : link_of(k->base)->block;
    if (k->base && link_of(k->base)->block != k->block) k->block = 0;
    if (k->joined && link_of(k->joined)->block != k->block) k->block = 0;
}

static void count_work(struct simt_check *c, size_t items)
{
    if (items > SMALL && atomic_fetch_add(&c->seen_work, (uint32_t)items) > MOST_WORK) atomic_store(&c->coarse, true);
}

/* ---- lists ---- */
struct gathering {
    struct table met; /* sets, by address */
    struct seen_set **sets;
    size_t count, room, items, most; /* most: items of one */
    struct seen_set *few[DEEP + 1];  /* room at first */
};

static bool take(struct gathering *g, struct seen_set *s)
{
    if (g->count == g->room) {
        struct seen_set **more = rt_realloc(g->sets == g->few ? NULL : g->sets, 2 * g->room * sizeof(*more));
        if (!more) return false;
        if (g->sets == g->few) memcpy(more, g->few, sizeof g->few);
        g->sets = more;
        g->room *= 2;
    }
    g->sets[g->count++] = s;
    g->items += count_of(s);
    if (count_of(s) > g->most) g->most = count_of(s);
    return true;
}
/* What another set was joined to may be come to by several ways. */
static bool meet(struct gathering *g, struct seen_set *s)
{
    if (!s || table_find(&g->met, sizeof(uint64_t), (uintptr_t)s)) return true;
    return take(g, s) && table_add(&g->met, sizeof(uint64_t), (uintptr_t)s);
}

static struct seen_set *base_of(const struct link *k)
{
    struct seen_set *below = atomic_load_explicit(&k->below, memory_order_acquire);
    return below ? below : k->base;
}

static struct seen_set *joined_of(const struct link *k)
{
    return atomic_load_explicit(&k->below, memory_order_acquire) ? NULL : k->joined;
}

static bool is_within(const struct gathering *g, size_t most)
{
    return g->count <= most && (g->items - g->most) / 2 <= most;
}

/* All that a link is upon, if that is at most so many; false: it is more, or there is no memory. */
static bool gather(struct simt_check *c, struct gathering *g, const struct link *k, size_t most)
{
    bool ok = true;
    for (struct seen_set *s; ok && !joined_of(k) && (s = base_of(k)); k = link_of(s)) ok = take(g, s);
    size_t next = g->count;
    ok = ok && meet(g, joined_of(k)) && meet(g, base_of(k));
    for (; ok && next < g->count && is_within(g, most); next++) {
        k = link_of(g->sets[next]);
        ok = meet(g, joined_of(k)) && meet(g, base_of(k));
    }
    if (!ok) atomic_store(&c->no_memory, true);
    return ok && is_within(g, most);
}

/* Their items in one set, which its maker holds. Most often one of them has most of these. */
static struct link *list_of(struct simt_check *c, const struct gathering *g)
{
    const struct seen_set *most = g->sets[0];
    for (size_t k = 1; k < g->count; k++)
        if (link_of(g->sets[k])->count > link_of(most)->count) most = g->sets[k];
    const uint32_t in_order = link_of(most)->count;
    size_t all = g->items - in_order, n = 0;
    uint64_t few[4 * DEEP], *others = all <= 4 * DEEP ? few : rt_alloc(all * sizeof *others);
    struct link *list = others ? new_link(c, g->items, NULL, NULL) : NULL;
    for (size_t k = 0; list && k < g->count; k++) {
        if (in_order && g->sets[k] == most) continue;
        memcpy(others + n, link_of(g->sets[k])->items, count_of(g->sets[k]) * sizeof *others);
        n += count_of(g->sets[k]);
    }
    if (list)
        list->count = simt_items_merge(link_of(most)->items, in_order, others, simt_items_sort(others, n), list->items);
    if (others != few) free(others);
    return list;
}

/* A list, which its maker holds, of what a link is upon. NULL: it is made of more than that, or there is no memory. */
static struct link *make_list(struct simt_check *c, struct link *k, size_t most)
{
    struct gathering g;
    struct link *list = NULL;
    memset(&g, 0, offsetof(struct gathering, few));
    g.sets = g.few;
    g.room = sizeof g.few / sizeof *g.few;
    if (gather(c, &g, k, most)) list = list_of(c, &g);
    if (g.count > FEW_SETS) atomic_fetch_add(&c->seen_wide, 1);
    count_work(c, list ? list->count : g.items);
    if (!list) k->deep = later(k->deep, 2 * k->depth);
    for (size_t n = 0; !list && n < g.count; n++) {
        struct link *of = link_of(g.sets[n]);
        of->deep = later(of->deep, 2 * k->depth);
    }
    if (g.sets != g.few) free(g.sets);
    free(g.met.items);
    if (!list) return NULL;
    list->deep = later(list->deep, list->count < 4 * DEEP ? list->count / 4 : DEEP);
    list->rank = k->rank - 1;
    list->block = block_of(list->items, list->count);
    return list;
}

/* For questions. NULL: no memory. */
static struct seen_set *list_below(struct simt_check *c, struct link *k)
{
    struct seen_set *below = atomic_load_explicit(&k->below, memory_order_acquire);
    struct link *list = below ? NULL : make_list(c, k, SIZE_MAX);
    if (!list) return below;
    if (atomic_compare_exchange_strong(&k->below, &below, set_of(list, 0))) return set_of(list, 0);
    let_go_of(set_of(list, 0), 1);
    return below;
}

/* A link that nobody else knows yet comes to be upon a list, unless that is too much. */
static void flatten(struct simt_check *c, struct link *k)
{
    bool wide = atomic_load_explicit(&c->seen_wide, memory_order_relaxed) >= MOST_WIDE;
    struct link *list = make_list(c, k, wide ? FEW_SETS : MOST_SETS), *base = link_of(k->base);
    struct seen_set *none = NULL, *all = list ? set_of(list, 0) : NULL;
    if (!list) return;
    list->stands_for = count_of(k->base);
    if (atomic_compare_exchange_strong(&base->whole, &none, all)) add_holders(all, 1);
    simt_seen_let_go(&k->base);
    simt_seen_let_go(&k->joined);
    k->base = all;
    k->size = k->depth = 0;
    set_upon(k, all);
}

/* ---- more comes to be said ---- */
/* A new link, with its first items, takes the place of *to. */
static void put(struct simt_check *c, struct seen_set **to, struct link *k, const uint64_t *items, size_t n)
{
    if (n) memcpy(k->items, items, n * sizeof *items);
    atomic_store_explicit(&k->used, (uint32_t)n, memory_order_relaxed);
    if (n > MOST_ROOM) k->count = (uint32_t)n;
    set_block(k, items, n);
    if (k->depth >= k->deep) flatten(c, k);
    *to = set_of(k, (uint32_t)n); /* what it was is the base now */
}

/* Is it a list of at most so many? */
static bool is_list(const struct seen_set *s, size_t most)
{
    const struct link *k = link_of(s);
    return k->count && !k->base && k->count <= most;
}

/* n items come to a list, or to nothing. */
static void copy(struct simt_check *c, struct seen_set **to, const uint64_t *items, size_t n)
{
    const struct link *was = link_of(*to);
    struct link *k = new_link(c, n + (was ? was->count : 0), NULL, NULL);
    if (!k) return;
    k->count = simt_items_merge(was ? was->items : items, was ? was->count : 0, items, n, k->items);
    if (was && k->count == was->count && !memcmp(k->items, was->items, k->count * sizeof *k->items)) {
        simt_pool_give(k);
        return;
    }
    set_block(k, k->items, k->count);
    simt_seen_let_go(to);
    *to = set_of(k, 0);
}

/* Is it one to whose items n more can come, of nothing but its block? Then they have their place behind them. */
static bool claim(struct link *k, uint32_t count, const uint64_t *items, size_t n)
{
    if (k->count || n > k->room - count || (k->block && k->block != block_of(items, n))) return false;
    uint32_t used = atomic_load_explicit(&k->used, memory_order_relaxed), all = count + (uint32_t)n;
    if (used != count) return false;
    if (k->shared)
        return atomic_compare_exchange_strong_explicit(&k->used, &used, all, memory_order_relaxed,
                                                       memory_order_relaxed);
    atomic_store_explicit(&k->used, all, memory_order_relaxed);
    return true;
}

void simt_seen_extend(struct simt_check *c, struct seen_set **to, const uint64_t *items, size_t n)
{
    if (!*to || is_list(*to, FEW)) {
        copy(c, to, items, n);
        return;
    }
    struct link *k = link_of(*to);
    uint32_t count = count_of(*to), room = LEAST_ROOM;
    if (claim(k, count, items, n)) {
        for (size_t j = 0; j < n; j++) k->items[count + j] = items[j]; /* they are few */
        *to = set_of(k, count + (uint32_t)n);
        return;
    }
    bool is_last = !k->count && atomic_load_explicit(&k->used, memory_order_relaxed) == count;
    if (is_last) room = 2 * k->room < MOST_ROOM ? 2 * k->room : MOST_ROOM; /* as more may follow */
    if ((k = new_link(c, n < room ? room : n, *to, NULL))) put(c, to, k, items, n);
}

/* Of at most FEW items, those that a set may not say; how many. */
static size_t find_new(const struct seen_set *s, const uint64_t *items, size_t n, uint64_t *new)
{
    size_t count = 0;
    for (size_t k = 0; k < n; k++)
        if (!says(s, items[k])) new[count++] = items[k];
    return count;
}

void simt_seen_add(struct simt_check *c, struct seen_set **to, const uint64_t *items, size_t n)
{
    uint64_t new[FEW];
    bool few = *to && n <= FEW;
    size_t count = few ? find_new(*to, items, n, new) : n;
    if (count) simt_seen_extend(c, to, few ? new : items, count);
}

/* All that a set of at most MOST_ALIKE items says, in order; how many. It is upon no two others: those come to be only
 * where sets of their size are no longer copied. */
static uint32_t collect(const struct seen_set *s, uint64_t to[MOST_ALIKE])
{
    const struct link *list = NULL;
    uint64_t others[MOST_ALIKE];
    size_t n = 0;
    for (const struct link *k; s; s = base_of(k)) {
        k = link_of(s);
        if (k->count && !list)
            list = k;
        else
            for (uint32_t j = 0; j < count_of(s); j++) others[n++] = k->items[j];
    }
    return simt_items_merge(list ? list->items : others, list ? list->count : 0, others, simt_items_sort(others, n),
                            to);
}

/* What is copied of larger sets is worth it where they say something of the same threads, as those do that come to a
 * barrier of the grid again and again: else they would come to be made of ever more links, each of which says the same.
 * Sets of which each says something of others, as where a thread awaits several, are better joined by a link. */
static bool is_worth_copying(const struct simt_check *c, const struct seen_set *s, const struct seen_set *more)
{
    uint32_t size = size_of(s) + size_of(more);
    return size <= MOST_SMALL ||
           (size <= MOST_ALIKE && atomic_load_explicit(&c->seen_apart, memory_order_relaxed) < MOST_APART);
}

static void join_by_copy(struct simt_check *c, struct seen_set **to, struct seen_set *more)
{
    uint64_t was[MOST_ALIKE], new[MOST_ALIKE], both[2 * MOST_ALIKE];
    uint32_t n = collect(*to, was), m = collect(more, new), count = simt_items_merge(was, n, new, m, both);
    if (n + m > MOST_SMALL && count > later(n, m)) atomic_fetch_add(&c->seen_apart, 1);
    if (count == n && !memcmp(both, was, n * sizeof *was)) return;
    const bool near = is_list(more, SIZE_MAX) || link_of(more)->depth <= 1; /* as many ask it */
    const bool all = near && count == m && !memcmp(both, new, m * sizeof *new);
    if (all) simt_seen_hold(to, more);
    struct link *k = all ? NULL : new_link(c, count, NULL, NULL);
    if (!k) return;
    memcpy(k->items, both, count * sizeof *both);
    k->count = count;
    set_block(k, both, count);
    simt_seen_let_go(to);
    *to = set_of(k, 0);
}

/* Of large sets none is known to say all that the other does. */
static void join_both(struct simt_check *c, struct seen_set **to, struct seen_set *more)
{
    if (is_worth_copying(c, *to, more)) {
        join_by_copy(c, to, more);
        return;
    }
    struct link *k = new_link(c, LEAST_ROOM, *to, more);
    if (!k) return;
    put(c, to, k, NULL, 0);
    if (atomic_load_explicit(&c->seen_wide, memory_order_relaxed) >= MOST_WIDE) count_work(c, SMALL + 1);
}

void simt_seen_join(struct simt_check *c, struct seen_set **to, struct seen_set *more)
{
    struct seen_set *was = *to, *s = NULL;
    uint64_t new[FEW];
    if (!more || was == more || (was && says_all(was, more))) return;
    if (!was || says_all(more, was)) {
        simt_seen_hold(to, more);
        return;
    }
    bool few = is_list(more, FEW);
    size_t n = few ? find_new(was, link_of(more)->items, count_of(more), new) : 0;
    if (few && !n) return;
    if (is_list(was, FEW)) {
        simt_seen_hold(&s, more);
        simt_seen_add(c, &s, link_of(was)->items, count_of(was));
        simt_seen_let_go(to);
        *to = s;
    } else if (few) {
        simt_seen_extend(c, to, new, n);
    } else {
        join_both(c, to, more);
    }
}

/* ---- questions ---- */
bool simt_seen_block(const struct seen_set *s, record r)
{
    const struct sought x = {{SEEN_KEY(seen_item(record_block(r), SEEN_BLOCK, 0, 0))}, 1, record_time(r)};
    return look(s, &x, NEAR) == ANSWER_YES;
}

bool simt_seen_has(struct simt_check *c, struct seen_set *s, record r, unsigned object, bool near)
{
    const unsigned block = record_block(r), thread = record_thread(r);
    if (!object && seen_lately(s, r)) return true;
    const struct sought x = {{SEEN_KEY(seen_item(block, SEEN_THREAD + thread, object, 0)),
                              SEEN_KEY(seen_item(block, SEEN_BLOCK, 0, 0)),
                              SEEN_KEY(seen_item(block, SEEN_WARP + thread / SIMT_WARP, 0, 0))},
                             object ? 1 : 3,
                             record_time(r)};
    enum answer found = look(s, &x, near ? NEAR : FAR);
    if (found != ANSWER_OPEN || near) return found == ANSWER_YES;
    s = list_below(c, link_of(s));
    return !s || says_itself(s, &x);
}
