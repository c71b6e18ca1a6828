/* What threads have seen of others by atomics and volatile accesses: sets that do not change, so that threads, places
 * and host threads share them. An item says of a block, a warp or a thread before which time all that it did was seen;
 * of a thread and a place, before which time its strong accesses there. */
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/check_order.h"

#define TIME_MASK    ((UINT64_C(1) << TIME_BITS) - 1)
#define THREAD_SHIFT (TIME_BITS + SEEN_OBJECT_BITS)
#define BLOCK_SHIFT  (THREAD_SHIFT + SEEN_WHO_BITS)
#define KEY(item)    ((item) >> TIME_BITS)
#define KEPT         4
#define FREE_WORK    32         /* items of a set that costs nothing */
#define MOST_WORK    (1u << 24) /* items that a launch may copy in larger ones */

struct seen_set {
    _Atomic uint32_t holders;
    uint32_t count;
    uint64_t number;       /* no other set of the launch has it */
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
    if (s && times && atomic_fetch_sub_explicit(&s->holders, times, memory_order_acq_rel) == times) free(s);
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
    for (int k = 0; k < KEPT; k++) all |= s->within[k] == other->number;
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

static bool is_same(const struct seen_set *s, const struct seen_set *other)
{
    return s && s->count == other->count && !memcmp(s->items, other->items, s->count * sizeof *s->items);
}

static void add(struct simt_check *c, struct seen_set **to, const uint64_t *items, size_t n, struct seen_set *whole)
{
    const struct seen_set *was = *to;
    size_t had = was ? was->count : 0;
    struct seen_set *s = rt_alloc(sizeof *s + (had + n) * sizeof *items);
    if (!s) {
        atomic_store(&c->no_memory, true);
        return;
    }
    atomic_init(&s->holders, 0);
    s->number = atomic_fetch_add_explicit(&c->seen_sets, 1, memory_order_relaxed) + 1;
    note_within(s, was, whole);
    if (had && had < n)
        s->count = merge_some(items, n, was->items, had, s->items);
    else
        s->count = merge_some(had ? was->items : items, had, items, n, s->items);
    if (had + n > FREE_WORK && atomic_fetch_add(&c->seen_work, (uint32_t)(had + n)) > MOST_WORK)
        atomic_store(&c->coarse, true);
    if (!is_same(whole, s) && !is_same(*to, s)) {
        simt_seen_hold(to, s);
        return;
    }
    if (is_same(whole, s)) simt_seen_hold(to, whole);
    free(s);
}

void simt_seen_add(struct simt_check *c, struct seen_set **to, const uint64_t *items, size_t n)
{
    if (n) add(c, to, items, n, NULL);
}

void simt_seen_join(struct simt_check *c, struct seen_set **to, struct seen_set *more)
{
    if (!more || *to == more || (*to && says_all(*to, more))) return;
    if (*to && !says_all(more, *to))
        add(c, to, more->items, more->count, more);
    else
        simt_seen_hold(to, more);
}

bool simt_seen_only(const struct seen_set *s, unsigned block)
{
    return s->items[0] >> BLOCK_SHIFT == block && s->items[s->count - 1] >> BLOCK_SHIFT == block;
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
    if (rising < n) qsort(items, n, sizeof *items, by_key);
    for (size_t k = 0; k < n; k++) {
        if (kept && KEY(items[kept - 1]) == KEY(items[k])) kept--;
        items[kept++] = items[k];
    }
    return kept;
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

bool simt_seen_has(const struct seen_set *s, record r, unsigned object)
{
    unsigned block = record_block(r), thread = record_thread(r);
    uint32_t time = record_time(r);
    size_t first = first_of(s->items, s->count, BLOCK_SHIFT, block), n = s->count - first;
    const uint64_t *items = s->items + first;
    if (!n || *items >> BLOCK_SHIFT != block) return false;
    if (time < time_of(items, n, KEY(seen_item(block, SEEN_THREAD + thread, object, 0)))) return true;
    return !object && (time < time_of(items, n, KEY(seen_item(block, SEEN_BLOCK, 0, 0))) ||
                       time < time_of(items, n, KEY(seen_item(block, SEEN_WARP + thread / SIMT_WARP, 0, 0))));
}
