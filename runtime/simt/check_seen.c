/* What threads have seen of others by atomics and volatile accesses: sets that do not change, so that threads, places
 * and host threads share them. An item says of a block, a warp or a thread before which time all that it did was seen;
 * of a thread and a place, before which time its strong accesses there.
 *
 * Most sets are asked but for what came to them last. So who comes to know some more, as who takes a lock does, gets
 * these few items as a set upon the one before; and of two large sets that are joined none is copied: the new one says
 * what both do. Where many sets are looked through, by depth or for one question, what they say is put in one list,
 * which is kept. */
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/check_order.h"
#include "runtime/simt/check_table.h"

#define TIME_MASK    ((UINT64_C(1) << TIME_BITS) - 1)
#define THREAD_SHIFT (TIME_BITS + SEEN_OBJECT_BITS)
#define BLOCK_SHIFT  (THREAD_SHIFT + SEEN_WHO_BITS)
#define KEY(item)    ((item) >> TIME_BITS)
#define FEW          8   /* items of a link, and of a set that needs none */
#define SMALL        32  /* items of sets that cost nothing to copy */
#define MOST_SMALL   64  /* likewise, if each may be there twice */
#define NEAR         3   /* sets that are looked at where an answer may be left open */
#define FAR          256 /* and where it may not */
#define DEEP         64  /* sets upon each other of which a list is made, if they and those joined are not more */
#define LEAST_DEEP   8   /* the same where the list below is short */
#define MOST_SETS    512 /* than these, */
#define FEW_SETS     128 /* or these, when that */
#define MOST_WIDE    8   /* has been so often in the launch */
#define MOST_WORK    (1u << 24) /* items that a launch may copy in larger sets */

struct seen_set {
    _Atomic uint32_t holders;
    uint32_t count, size;  /* of its own items; at most, of all */
    uint32_t rank;         /* of those that it is made of all have a lower one */
    uint32_t depth;        /* sets upon each other, down to lists */
    _Atomic uint32_t deep; /* the depth from which on a list is made of sets upon it, if that is not too much */
    uint32_t block;        /* that all it says is of; 0: of several */
    struct seen_set *base, *joined;   /* what these say, it says, too; NULL: there is none */
    _Atomic(struct seen_set *) whole; /* one that says the same by its own items; NULL: not made yet, or itself */
    struct seen_set *next;            /* of those that nobody holds any longer */
    uint64_t items[];                 /* by rising keys */
};

/* ---- holders ---- */
void simt_seen_hold(struct seen_set **at, struct seen_set *s)
{
    if (s) atomic_fetch_add_explicit(&s->holders, 1, memory_order_relaxed);
    simt_seen_let_go(at);
    *at = s;
}

static void drop(struct seen_set *s, uint32_t times, struct seen_set **gone)
{
    if (!s || atomic_fetch_sub_explicit(&s->holders, times, memory_order_acq_rel) != times) return;
    s->next = *gone;
    *gone = s;
}

static void let_go_of(struct seen_set *s, uint32_t times)
{
    struct seen_set *gone = NULL;
    if (times) drop(s, times, &gone);
    while (gone) {
        s = gone;
        gone = s->next;
        drop(s->base, 1, &gone);
        drop(s->joined, 1, &gone);
        drop(atomic_load_explicit(&s->whole, memory_order_relaxed), 1, &gone);
        free(s);
    }
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
    if (s) atomic_fetch_add_explicit(&s->holders, n, memory_order_relaxed);
    for (unsigned k = 0; k < n; k++, at = (struct seen_set **)(void *)((char *)at + apart)) {
        if (*at == s) continue;
        if (*at != was) let_go_of(was, gone), was = *at, gone = 0;
        gone++;
        new ++;
        *at = s;
    }
    let_go_of(was, gone);
    let_go_of(s, n - new);
}

/* ---- items in order ---- */
/* Does the item say something of all its block? */
static bool is_of_block(uint64_t item)
{
    return (item >> THREAD_SHIFT) % (1u << SEEN_WHO_BITS) == SEEN_BLOCK;
}

/* Is it said by an item before it: of its block, or of its thread? */
struct prior {
    uint64_t of_block, of_thread;
};
static bool is_said(struct prior *p, uint64_t item)
{
    if (item >> BLOCK_SHIFT == p->of_block >> BLOCK_SHIFT && (item & TIME_MASK) <= (p->of_block & TIME_MASK))
        return true;
    if (item >> THREAD_SHIFT == p->of_thread >> THREAD_SHIFT && (item & TIME_MASK) <= (p->of_thread & TIME_MASK))
        return true;
    if ((item >> TIME_BITS) % (1u << SEEN_OBJECT_BITS)) return false;
    p->of_thread = item;
    if (is_of_block(item)) p->of_block = item;
    return false;
}

/* Two lists become one; how many items it has. */
static uint32_t merge(const uint64_t *a, size_t n, const uint64_t *b, size_t m, uint64_t *to)
{
    struct prior p = {0};
    uint32_t count = 0;
    for (size_t i = 0, j = 0; i < n || j < m;) {
        uint64_t x = i < n ? a[i] : UINT64_MAX, y = j < m ? b[j] : UINT64_MAX, item = x < y ? x : y;
        if (i < n && j < m && KEY(x) == KEY(y)) {
            item = x < y ? y : x;
            i++, j++;
        } else if (item == x && i < n) {
            i++;
        } else {
            j++;
        }
        if (!is_said(&p, item)) to[count++] = item;
    }
    return count;
}

size_t simt_seen_sort(uint64_t *items, size_t n)
{
    static const unsigned gaps[] = {701, 301, 132, 57, 23, 10, 4, 1}; /* Ciura's, of Shell's sort */
    size_t kept = 0;
    for (unsigned g = 0; g < sizeof gaps / sizeof *gaps; g++)
        for (size_t k = gaps[g], at; k < n; k++) {
            uint64_t item = items[k];
            for (at = k; at >= gaps[g] && items[at - gaps[g]] > item; at -= gaps[g]) items[at] = items[at - gaps[g]];
            items[at] = item;
        }
    for (size_t k = 0; k < n; k++) {
        if (kept && KEY(items[kept - 1]) == KEY(items[k])) kept--;
        items[kept++] = items[k];
    }
    return kept;
}

/* The time that n items have for a key; 0: none. */
static uint32_t time_of(const uint64_t *items, size_t n, uint64_t key)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t k = (low + high) / 2;
        if (KEY(items[k]) < key)
            low = k + 1;
        else
            high = k;
    }
    return low < n && KEY(items[low]) == key ? (uint32_t)(items[low] & TIME_MASK) : 0;
}

/* ---- what a set says ---- */
struct sought { /* an item of one of the keys, of a later time */
    uint64_t keys[3];
    unsigned count;
    uint32_t time;
};

static bool says_itself(const struct seen_set *s, const struct sought *x)
{
    bool found = false;
    if (s->count > FEW) {
        for (unsigned k = 0; !found && k < x->count; k++) found = x->time < time_of(s->items, s->count, x->keys[k]);
        return found;
    }
    for (uint32_t n = 0; n < s->count; n++)
        for (unsigned k = 0; k < x->count; k++)
            found |= KEY(s->items[n]) == x->keys[k] && x->time < (s->items[n] & TIME_MASK);
    return found;
}

static struct seen_set *at_hand(struct seen_set *s)
{
    struct seen_set *whole = atomic_load_explicit(&s->whole, memory_order_acquire);
    return whole ? whole : s;
}

enum answer { ANSWER_NO, ANSWER_YES, ANSWER_OPEN };

/* By so many of the sets that it is made of, at most FAR: the latest first. */
static enum answer look(struct seen_set *s, const struct sought *x, unsigned most)
{
    struct seen_set *of[FAR + 2];
    unsigned n = 0;
    of[n++] = s;
    for (unsigned k = 0; k < n && k < most; k++) {
        s = at_hand(of[k]);
        if (says_itself(s, x)) return ANSWER_YES;
        if (s->joined && n < most + 1) of[n++] = s->joined;
        if (s->base && n < most + 1) of[n++] = s->base;
    }
    return n > most ? ANSWER_OPEN : ANSWER_NO;
}

/* Does it say what the item does: by that, by one of its thread or by one of its block? False: it may not. */
static bool says(struct seen_set *s, uint64_t item)
{
    uint64_t thread = item >> THREAD_SHIFT << SEEN_OBJECT_BITS, block = item >> BLOCK_SHIFT;
    const struct sought x = {
        {KEY(item), thread, KEY(seen_item((unsigned)block, SEEN_BLOCK, 0, 0))}, 3, (uint32_t)(item & TIME_MASK) - 1};
    return look(s, &x, NEAR) == ANSWER_YES;
}

/* Is it known that one says all that another does? */
static bool says_all(const struct seen_set *s, const struct seen_set *other)
{
    const struct seen_set *whole = atomic_load_explicit(&other->whole, memory_order_relaxed);
    for (unsigned k = 0; s && s->rank >= other->rank && k < NEAR; k++, s = s->base)
        if (s == other || s == whole || s->joined == other) return true;
    return false;
}

/* ---- new sets ---- */
static uint32_t block_of(const uint64_t *items, size_t n)
{
    uint32_t block = (uint32_t)(items[0] >> BLOCK_SHIFT);
    return items[n - 1] >> BLOCK_SHIFT == block ? block : 0;
}

static void set_upon(struct seen_set *s, const struct seen_set *other)
{
    if (!other) return;
    s->rank = later(s->rank, other->rank + 1);
    s->depth = later(s->depth, other->depth + 1);
    s->deep = later(s->deep, atomic_load_explicit(&other->deep, memory_order_relaxed));
    s->size = other->size < UINT32_MAX / 4 ? s->size + other->size : UINT32_MAX / 4;
}

/* A set that its maker holds, with room for n items, made of two others, each of which may be NULL; what its maker
 * holds of the first becomes its own. NULL: no memory. */
static struct seen_set *new_set(struct simt_check *c, size_t n, struct seen_set *base, struct seen_set *joined)
{
    struct seen_set *s = rt_alloc(sizeof *s + n * sizeof *s->items);
    if (!s) {
        atomic_store(&c->no_memory, true);
        return NULL;
    }
    atomic_init(&s->holders, 1);
    atomic_init(&s->whole, NULL);
    s->count = s->size = (uint32_t)n;
    s->rank = s->depth = s->block = 0;
    s->deep = LEAST_DEEP;
    s->base = base;
    s->joined = joined;
    set_upon(s, base);
    set_upon(s, joined);
    if (joined) atomic_fetch_add_explicit(&joined->holders, 1, memory_order_relaxed);
    return s;
}

/* The list takes the set's place, if there is one. */
static void settle(struct seen_set **at)
{
    struct seen_set *whole = at_hand(*at);
    if (whole != *at) simt_seen_hold(at, whole);
}

static void set_block(struct seen_set *s)
{
    s->block = s->count ? block_of(s->items, s->count) : (s->base ? s->base->block : 0);
    if (s->base && s->base->block != s->block) s->block = 0;
    if (s->joined && s->joined->block != s->block) s->block = 0;
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
    g->items += s->count;
    if (s->count > g->most) g->most = s->count;
    return true;
}

/* What another set was joined to may be come to by several ways. */
static bool meet(struct gathering *g, struct seen_set *s)
{
    if (!s || table_find(&g->met, sizeof(uint64_t), (uintptr_t)s)) return true;
    return take(g, s) && table_add(&g->met, sizeof(uint64_t), (uintptr_t)s);
}

/* All that a set is made of, if that is at most so many; false: it is more, or there is no memory. */
static bool gather_all(struct simt_check *c, struct gathering *g, struct seen_set *s, size_t most)
{
    bool ok = take(g, s), few = true;
    for (; ok && s->base && !s->joined; ok = take(g, s)) s = at_hand(s->base);
    for (size_t k = g->count - 1; ok && few && k < g->count; k++) {
        s = g->sets[k];
        few = g->count <= most && (g->items - g->most) / 2 <= most;
        ok = meet(g, s->joined ? at_hand(s->joined) : NULL) && meet(g, s->base ? at_hand(s->base) : NULL);
    }
    if (!ok) atomic_store(&c->no_memory, true);
    return ok && few;
}

/* Their items in one set. Most often one of them has most of these. */
static struct seen_set *list_of(struct simt_check *c, const struct gathering *g)
{
    const struct seen_set *most = g->sets[0];
    for (size_t k = 1; k < g->count; k++)
        if (g->sets[k]->count > most->count) most = g->sets[k];
    size_t all = g->items - most->count, n = 0;
    uint64_t few[4 * DEEP], *others = all <= 4 * DEEP ? few : rt_alloc(all * sizeof *others);
    struct seen_set *s = others ? new_set(c, g->items, NULL, NULL) : NULL;
    for (size_t k = 0; s && k < g->count; k++) {
        if (g->sets[k] == most) continue;
        memcpy(others + n, g->sets[k]->items, g->sets[k]->count * sizeof *others);
        n += g->sets[k]->count;
    }
    if (s) s->count = s->size = merge(most->items, most->count, others, simt_seen_sort(others, n), s->items);
    if (others != few) free(others);
    return s;
}

/* NULL: it is made of more sets than that, or there is no memory. */
static struct seen_set *whole_of(struct simt_check *c, struct seen_set *s, size_t most)
{
    struct gathering g;
    struct seen_set *whole = at_hand(s), *none = NULL, *made = NULL;
    if (!whole->base) return whole;
    memset(&g, 0, offsetof(struct gathering, few));
    g.sets = g.few;
    g.room = sizeof g.few / sizeof *g.few;
    if (gather_all(c, &g, s, most)) made = list_of(c, &g);
    if (g.count > FEW_SETS) atomic_fetch_add(&c->seen_wide, 1);
    count_work(c, made ? made->count : g.items);
    for (size_t k = 0; !made && k < g.count; k++) g.sets[k]->deep = later(g.sets[k]->deep, 2 * s->depth);
    if (g.sets != g.few) free(g.sets);
    free(g.met.items);
    if (!made) return NULL;
    made->deep = later(made->deep, made->count < 4 * DEEP ? made->count / 4 : DEEP);
    made->rank = s->rank;
    made->block = s->block;
    if (atomic_compare_exchange_strong(&s->whole, &none, made)) return made;
    let_go_of(made, 1);
    return none;
}

/* ---- more comes to be said ---- */
/* A new set, which has its items, takes the place of *to. */
static void put(struct simt_check *c, struct seen_set **to, struct seen_set *s)
{
    set_block(s);
    bool wide = atomic_load_explicit(&c->seen_wide, memory_order_relaxed) >= MOST_WIDE;
    if (s->depth >= s->deep) whole_of(c, s, wide ? FEW_SETS : MOST_SETS);
    if (!s->base) simt_seen_let_go(to); /* else that is its base now */
    *to = s;
}

/* Is it a list of at most so many? */
static bool is_list(const struct seen_set *s, size_t most)
{
    return !s->base && s->count <= most;
}

static bool is_same(const struct seen_set *s, const struct seen_set *list)
{
    return s->count == list->count && !memcmp(s->items, list->items, s->count * sizeof *s->items);
}

/* n items come to a list, or to nothing: those of another one, if that is not NULL. */
static void copy(struct simt_check *c, struct seen_set **to, const uint64_t *items, size_t n, struct seen_set *list)
{
    const struct seen_set *was = *to;
    struct seen_set *s = new_set(c, n + (was ? was->count : 0), NULL, NULL);
    if (!s) return;
    s->count = s->size = merge(was ? was->items : items, was ? was->count : 0, items, n, s->items);
    bool is_old = was && is_same(s, was), is_more = list && is_same(s, list);
    if (!is_old && !is_more) {
        put(c, to, s);
        return;
    }
    if (!is_old) simt_seen_hold(to, list);
    free(s);
}

void simt_seen_extend(struct simt_check *c, struct seen_set **to, const uint64_t *items, size_t n)
{
    if (!*to || is_list(*to, FEW)) {
        copy(c, to, items, n, NULL);
        return;
    }
    settle(to);
    struct seen_set *s = new_set(c, n, *to, NULL);
    if (!s) return;
    memcpy(s->items, items, n * sizeof *items);
    put(c, to, s);
}

/* Of at most FEW items, those that a set may not say; how many. */
static size_t find_new(struct seen_set *s, const uint64_t *items, size_t n, uint64_t *new)
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

/* Large sets, of which none is known to say all that the other does. */
static void join_large(struct simt_check *c, struct seen_set **to, struct seen_set *more)
{
    struct seen_set *s;
    if ((*to)->size + more->size <= MOST_SMALL) {
        struct seen_set *was = whole_of(c, *to, MOST_SETS), *list = whole_of(c, more, MOST_SETS);
        settle(to);
        if (was && list) copy(c, to, list->items, list->count, list);
        return;
    }
    settle(to);
    if (!(s = new_set(c, 0, *to, at_hand(more)))) return;
    put(c, to, s);
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
    size_t n = few ? find_new(was, more->items, more->count, new) : 0;
    if (few && !n) return;
    if (is_list(was, FEW)) {
        simt_seen_hold(&s, more);
        simt_seen_add(c, &s, was->items, was->count);
        simt_seen_let_go(to);
        *to = s;
    } else if (few) {
        simt_seen_extend(c, to, new, n);
    } else {
        join_large(c, to, more);
    }
}

/* ---- questions ---- */
bool simt_seen_has(struct simt_check *c, struct seen_set *s, record r, unsigned object, bool near)
{
    const unsigned block = record_block(r), thread = record_thread(r);
    const struct sought x = {{KEY(seen_item(block, SEEN_THREAD + thread, object, 0)),
                              KEY(seen_item(block, SEEN_BLOCK, 0, 0)),
                              KEY(seen_item(block, SEEN_WARP + thread / SIMT_WARP, 0, 0))},
                             object ? 1 : 3,
                             record_time(r)};
    enum answer found = look(s, &x, near ? NEAR : FAR);
    if (found != ANSWER_OPEN || near) return found == ANSWER_YES;
    s = whole_of(c, s, SIZE_MAX);
    return !s || says_itself(s, &x);
}

bool simt_seen_only(const struct seen_set *s, unsigned block)
{
    return !s || s->block == block;
}
