/* What threads have seen of others by atomics and volatile accesses: sets that do not change, so that threads, places
 * and host threads share them. An item says of a block, a warp or a thread before which time all that it did was seen;
 * of a thread and a place, before which time its strong accesses there. Who comes to know some more, as who takes a
 * lock does, gets these few items as a set upon the one before; after some such links all is copied into one. */
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/check_order.h"

#define TIME_MASK    ((UINT64_C(1) << TIME_BITS) - 1)
#define THREAD_SHIFT (TIME_BITS + SEEN_OBJECT_BITS)
#define BLOCK_SHIFT  (THREAD_SHIFT + SEEN_WHO_BITS)
#define KEY(item)    ((item) >> TIME_BITS)
#define KEPT         4
#define FEW          8 /* items of a link, and of a set that needs none */
#define MOST_LINKS   8
#define NUMBERS      1024
#define FREE_WORK    32         /* items of a set that costs nothing */
#define MOST_WORK    (1u << 24) /* items that a launch may copy in larger ones */

struct seen_set {
    _Atomic uint32_t holders;
    uint32_t count, links; /* items; sets below */
    struct seen_set *base; /* what that says, this one does, too; NULL: the items are all */
    uint64_t number;       /* no other set has it */
    uint64_t within[KEPT]; /* numbers of sets all of which it says, too: some that it was made of; 0: none */
    uint64_t items[];      /* by rising keys */
};

void simt_seen_hold(struct seen_set **at, struct seen_set *s)
{
    if (s) atomic_fetch_add_explicit(&s->holders, 1, memory_order_relaxed);
    simt_seen_let_go(at);
    *at = s;
}

static void let_go_of(struct seen_set *s, uint32_t times)
{
    while (s && times && atomic_fetch_sub_explicit(&s->holders, times, memory_order_acq_rel) == times) {
        struct seen_set *base = s->base;
        free(s);
        s = base;
        times = 1;
    }
}

void simt_seen_let_go(struct seen_set **at)
{
    struct seen_set *s = *at;
    *at = NULL;
    let_go_of(s, 1);
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

static size_t merge(struct prior p, const uint64_t *a, size_t n, const uint64_t *b, size_t m, uint64_t *to)
{
    size_t count = 0;
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

/* Where items begin whose number from the bit `shift` on is that one or a higher one. */
static size_t first_of(const uint64_t *items, size_t n, unsigned shift, uint64_t number)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t k = (low + high) / 2;
        if (items[k] >> shift < number)
            low = k + 1;
        else
            high = k;
    }
    return low;
}

/* Of sets of which the second has items of few threads: what lies outside of these is as it was, unless the last has
 * one of its block, too. */
static uint32_t merge_some(const uint64_t *a, size_t n, const uint64_t *b, size_t m, uint64_t *to)
{
    uint64_t low = b[0] >> BLOCK_SHIFT, high = b[m - 1] >> BLOCK_SHIFT;
    unsigned shift = is_of_block(b[first_of(b, m, BLOCK_SHIFT, high)]) ? BLOCK_SHIFT : THREAD_SHIFT;
    size_t first = first_of(a, n, THREAD_SHIFT, b[0] >> THREAD_SHIFT), block = first_of(a, first, BLOCK_SHIFT, low);
    size_t past = first + first_of(a + first, n - first, shift, (b[m - 1] >> shift) + 1);
    struct prior p = {0};
    if (block < first && is_of_block(a[block])) p.of_block = a[block];
    if (first) memcpy(to, a, first * sizeof *a);
    size_t count = first + merge(p, a + first, past - first, b, m, to + first);
    if (n > past) memcpy(to + count, a + past, (n - past) * sizeof *a);
    return (uint32_t)(count + n - past);
}

/* Is it known that one says all that another does? */
static bool says_all(const struct seen_set *s, const struct seen_set *other)
{
    bool all = false;
    for (; s && !all; s = s->base) {
        all = s == other;
        for (int k = 0; k < KEPT; k++) all |= s->within[k] == other->number;
    }
    return all;
}

static void note_within(struct seen_set *s, const struct seen_set *was, const struct seen_set *whole)
{
    const struct seen_set *of[2] = {whole ? whole : was, whole ? was : NULL};
    unsigned n = 0;
    memset(s->within, 0, sizeof s->within);
    for (int k = 0; k < 2; k++)
        if (of[k]) s->within[n++] = of[k]->number;
    for (int k = 0; n < KEPT && k < KEPT; k++)
        if (of[0] && of[0]->within[k]) s->within[n++] = of[0]->within[k];
}

static int by_key(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return a < b ? -1 : a > b;
}

size_t simt_seen_sort(uint64_t *items, size_t n)
{
    size_t kept = 0, rising = 1;
    while (rising < n && items[rising - 1] <= items[rising]) rising++;
    if (rising < n && n > FEW * MOST_LINKS) qsort(items, n, sizeof *items, by_key);
    for (size_t k = rising; k < n && n <= FEW * MOST_LINKS; k++) {
        uint64_t item = items[k];
        size_t at = k;
        for (; at && items[at - 1] > item; at--) items[at] = items[at - 1];
        items[at] = item;
    }
    for (size_t k = 0; k < n; k++) {
        if (kept && KEY(items[kept - 1]) == KEY(items[k])) kept--;
        items[kept++] = items[k];
    }
    return kept;
}

/* All items of a set, in order; `made`: they are a copy. */
struct view {
    const uint64_t *items;
    size_t n;
    uint64_t *made;
};

static bool view_of(const struct seen_set *s, struct view *v)
{
    uint64_t few[MOST_LINKS * FEW];
    size_t n = 0;
    for (; s->base; s = s->base) {
        memcpy(few + n, s->items, s->count * sizeof *few);
        n += s->count;
    }
    *v = (struct view){s->items, s->count, NULL};
    if (!n) return true;
    n = simt_seen_sort(few, n);
    uint64_t *all = rt_alloc((v->n + n) * sizeof *all);
    if (all) *v = (struct view){all, merge_some(s->items, s->count, few, n, all), all};
    return all != NULL;
}

static bool is_same(struct view v, const struct seen_set *s)
{
    return s->count == v.n && !memcmp(s->items, v.items, v.n * sizeof *v.items);
}

/* Those of a host thread are taken many at once, since each atomic costs as much as a small set. */
static uint64_t new_number(void)
{
    static _Atomic uint64_t given;
    static _Thread_local uint64_t next;
    if (next % NUMBERS == 0) next = atomic_fetch_add_explicit(&given, NUMBERS, memory_order_relaxed);
    return ++next;
}

/* A set that its maker holds, with room for n items; it says all that the others do. NULL: no memory. */
static struct seen_set *new_set(struct simt_check *c, size_t n, const struct seen_set *was,
                                const struct seen_set *whole)
{
    struct seen_set *s = rt_alloc(sizeof *s + n * sizeof *s->items);
    if (!s) {
        atomic_store(&c->no_memory, true);
        return NULL;
    }
    atomic_init(&s->holders, 1);
    s->count = (uint32_t)n;
    s->links = 0;
    s->base = NULL;
    s->number = new_number();
    note_within(s, was, whole);
    return s;
}

/* n items come to what v has, which is *to's. */
static void merge_all(struct simt_check *c, struct seen_set **to, struct view v, struct view more,
                      struct seen_set *whole)
{
    struct seen_set *s = new_set(c, v.n + more.n, *to, whole);
    if (!s) return;
    if (v.n && v.n < more.n)
        s->count = merge_some(more.items, more.n, v.items, v.n, s->items);
    else
        s->count = merge_some(v.n ? v.items : more.items, v.n, more.items, more.n, s->items);
    if (v.n + more.n > FREE_WORK && atomic_fetch_add(&c->seen_work, (uint32_t)(v.n + more.n)) > MOST_WORK)
        atomic_store(&c->coarse, true);
    bool is_whole = whole && is_same(more, s), is_old = is_same(v, s);
    if (!is_whole && !is_old) {
        simt_seen_let_go(to);
        *to = s;
        return;
    }
    if (is_whole) simt_seen_hold(to, whole);
    free(s);
}

/* `more`: the items of `whole`, if that is not NULL. */
static void add(struct simt_check *c, struct seen_set **to, struct view more, struct seen_set *whole)
{
    struct view v = {0};
    if (!*to || view_of(*to, &v))
        merge_all(c, to, v, more, whole);
    else
        atomic_store(&c->no_memory, true);
    free(v.made);
}

/* The time that n items have for a key, which most often is near the first; 0: none. */
static uint32_t time_of(const uint64_t *items, size_t n, uint64_t key)
{
    size_t low = 0, high = 1;
    while (high < n && KEY(items[high]) < key) low = high, high *= 2;
    if (high > n) high = n;
    while (low < high) {
        size_t k = (low + high) / 2;
        if (KEY(items[k]) < key)
            low = k + 1;
        else
            high = k;
    }
    return low < n && KEY(items[low]) == key ? (uint32_t)(items[low] & TIME_MASK) : 0;
}

/* Where the items of a block begin, which are n; 0: there are none. */
static const uint64_t *of_block(const struct seen_set *s, unsigned block, size_t *n)
{
    size_t first = first_of(s->items, s->count, BLOCK_SHIFT, block);
    *n = s->count - first;
    if (*n && s->items[first] >> BLOCK_SHIFT != block) *n = 0;
    return s->items + first;
}

bool simt_seen_has(const struct seen_set *s, record r, unsigned object)
{
    unsigned block = record_block(r), thread = record_thread(r);
    uint32_t time = record_time(r);
    for (size_t n; s; s = s->base) {
        const uint64_t *items = of_block(s, block, &n);
        if (!n) continue;
        if (time < time_of(items, n, KEY(seen_item(block, SEEN_THREAD + thread, object, 0)))) return true;
        if (object) continue;
        if (time < time_of(items, n, KEY(seen_item(block, SEEN_BLOCK, 0, 0)))) return true;
        if (time < time_of(items, n, KEY(seen_item(block, SEEN_WARP + thread / SIMT_WARP, 0, 0)))) return true;
    }
    return false;
}

/* Does it say what the item does: by that, by one of its thread or by one of its block? */
static bool says(const struct seen_set *s, uint64_t item)
{
    uint64_t block = item >> BLOCK_SHIFT, time = item & TIME_MASK;
    uint64_t of_thread = item >> THREAD_SHIFT << SEEN_OBJECT_BITS;
    for (size_t n; s; s = s->base) {
        const uint64_t *items = of_block(s, (unsigned)block, &n);
        if (!n) continue;
        if (time <= time_of(items, n, KEY(item)) || time <= time_of(items, n, of_thread)) return true;
        if (time <= time_of(items, n, KEY(seen_item((unsigned)block, SEEN_BLOCK, 0, 0)))) return true;
    }
    return false;
}

/* n items come to a set as a link. False: they are better copied with it. */
static bool link_few(struct simt_check *c, struct seen_set **to, const uint64_t *items, size_t n,
                     const struct seen_set *whole)
{
    struct seen_set *was = *to, *s;
    if (!was || n > FEW || (!was->base && was->count <= FEW) || was->links == MOST_LINKS) return false;
    if (!(s = new_set(c, n, NULL, whole))) return true;
    memcpy(s->items, items, n * sizeof *items);
    s->base = was; /* held by it instead of by *to */
    s->links = was->links + 1;
    *to = s;
    return true;
}

/* The same, but for items that it says already. */
static bool add_few(struct simt_check *c, struct seen_set **to, const uint64_t *items, size_t n,
                    const struct seen_set *whole)
{
    uint64_t new[FEW];
    size_t count = 0;
    if (!*to || n > FEW) return false;
    for (size_t k = 0; k < n; k++)
        if (!says(*to, items[k])) new[count++] = items[k];
    return !count || link_few(c, to, new, count, whole);
}

void simt_seen_extend(struct simt_check *c, struct seen_set **to, const uint64_t *items, size_t n)
{
    if (!link_few(c, to, items, n, NULL)) add(c, to, (struct view){items, n, NULL}, NULL);
}

void simt_seen_add(struct simt_check *c, struct seen_set **to, const uint64_t *items, size_t n)
{
    if (n && !add_few(c, to, items, n, NULL)) add(c, to, (struct view){items, n, NULL}, NULL);
}

/* What a set says that another does not, where it is known to be few items; they are put in order. Else 0. */
static size_t few_beyond(const struct seen_set *s, const struct seen_set *other, uint64_t *items)
{
    size_t n = 0;
    for (; s && !says_all(other, s); s = s->base) {
        if (n + s->count > FEW) return 0;
        memcpy(items + n, s->items, s->count * sizeof *items);
        n += s->count;
    }
    return simt_seen_sort(items, n);
}

void simt_seen_join(struct simt_check *c, struct seen_set **to, struct seen_set *more)
{
    uint64_t few[FEW];
    struct view v;
    if (!more || *to == more || (*to && says_all(*to, more))) return;
    if (!*to || says_all(more, *to)) {
        simt_seen_hold(to, more);
        return;
    }
    size_t n = few_beyond(more, *to, few);
    if (n && add_few(c, to, few, n, more)) return;
    if (!view_of(more, &v)) {
        atomic_store(&c->no_memory, true);
        return;
    }
    add(c, to, v, more);
    free(v.made);
}

bool simt_seen_only(const struct seen_set *s, unsigned block)
{
    bool only = true;
    for (; s && only; s = s->base)
        only = s->items[0] >> BLOCK_SHIFT == block && s->items[s->count - 1] >> BLOCK_SHIFT == block;
    return only;
}
