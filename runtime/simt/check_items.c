/* Items of what threads have seen of others, in the order of their keys: check_seen.c makes sets of them. */
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/check_links.h"

enum { MANY = 1000 }; /* so many items are sorted in memory of their own */

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
    if (item >> BLOCK_SHIFT == p->of_block >> BLOCK_SHIFT && (item & SEEN_TIMES) <= (p->of_block & SEEN_TIMES))
        return true;
    if (item >> THREAD_SHIFT == p->of_thread >> THREAD_SHIFT && (item & SEEN_TIMES) <= (p->of_thread & SEEN_TIMES))
        return true;
    if ((item >> TIME_BITS) % (1u << SEEN_OBJECT_BITS)) return false;
    p->of_thread = item;
    if (is_of_block(item)) p->of_block = item;
    return false;
}

uint32_t simt_items_merge(const uint64_t *a, size_t n, const uint64_t *b, size_t m, uint64_t *to)
{
    struct prior p = {0};
    uint32_t count = 0;
    for (size_t i = 0, j = 0; i < n || j < m;) {
        uint64_t x = i < n ? a[i] : UINT64_MAX, y = j < m ? b[j] : UINT64_MAX, item = x < y ? x : y;
        if (i < n && j < m && SEEN_KEY(x) == SEEN_KEY(y)) {
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

/* Ciura's gaps, of Shell's sort: best for a few. */
static void sort_few(uint64_t *items, size_t n)
{
    static const unsigned gaps[] = {701, 301, 132, 57, 23, 10, 4, 1};
    for (unsigned g = 0; g < sizeof gaps / sizeof *gaps; g++)
        for (size_t k = gaps[g], at; k < n; k++) {
            uint64_t item = items[k];
            for (at = k; at >= gaps[g] && items[at - gaps[g]] > item; at -= gaps[g]) items[at] = items[at - gaps[g]];
            items[at] = item;
        }
}

/* Where what begins there is in order no longer. */
static size_t end_of_run(const uint64_t *items, size_t n, size_t at)
{
    if (at == n) return n;
    for (at++; at < n && items[at - 1] <= items[at];) at++;
    return at;
}

/* From there on two runs become one; where the second ends. */
static size_t join_runs(const uint64_t *from, size_t n, size_t at, uint64_t *to)
{
    const size_t middle = end_of_run(from, n, at), end = end_of_run(from, n, middle);
    size_t i = at, j = middle;
    while (i < middle && j < end) { /* without a jump that nobody can foresee */
        uint64_t a = from[i], b = from[j];
        bool first = a <= b;
        to[at++] = first ? a : b;
        i += first;
        j += !first;
    }
    memcpy(to + at, from + (i < middle ? i : j), (end - at) * sizeof *to);
    return end;
}

/* Many are most often those of many sets, each in order already. False: no memory. */
static bool sort_runs(uint64_t *items, size_t n)
{
    uint64_t *room = rt_alloc(n * sizeof *room), *from = items, *to = room;
    if (!room) return false;
    while (end_of_run(from, n, 0) < n) {
        for (size_t at = 0; at < n;) at = join_runs(from, n, at, to);
        uint64_t *joined = to;
        to = from;
        from = joined;
    }
    if (from == room) memcpy(items, room, n * sizeof *items);
    free(room);
    return true;
}

size_t simt_items_sort(uint64_t *items, size_t n)
{
    size_t kept = 0;
    if (n < MANY || !sort_runs(items, n)) sort_few(items, n);
    for (size_t k = 0; k < n; k++) {
        if (kept && SEEN_KEY(items[kept - 1]) == SEEN_KEY(items[k])) kept--;
        items[kept++] = items[k];
    }
    return kept;
}

uint32_t simt_items_time(const uint64_t *items, size_t n, uint64_t key)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t k = (low + high) / 2;
        if (SEEN_KEY(items[k]) < key)
            low = k + 1;
        else
            high = k;
    }
    return low < n && SEEN_KEY(items[low]) == key ? (uint32_t)(items[low] & SEEN_TIMES) : 0;
}
