/* Items of what threads have seen of others, in the order of their keys: check_seen.c makes sets of them. */
#include "runtime/simt/check_links.h"

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

size_t simt_items_sort(uint64_t *items, size_t n)
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
