/* Tables that find what is kept of a place, of global memory or of a block's shared memory. Their items are of one
 * size, `bytes`, and begin with a key of 64 bits, 0 where there is none. */
#ifndef SIMT_CHECK_TABLE_H
#define SIMT_CHECK_TABLE_H

#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/check_record.h"

#define TABLE_ROOM 16 /* at first; a power of two, as later */

static inline uint64_t table_key(const struct table *t, size_t bytes, size_t k)
{
    uint64_t key;
    memcpy(&key, t->items + k * bytes, sizeof key);
    return key;
}

/* Where a key is looked for first; there is room. */
static inline char *table_home(const struct table *t, size_t bytes, uint64_t key)
{
    return t->items + (mixed(key) >> 32 & (t->room - 1)) * bytes;
}

/* Where the key is or would go; there is room. */
static inline void *table_slot(const struct table *t, size_t bytes, uint64_t key)
{
    uint64_t at = mixed(key) >> 32 & (t->room - 1);
    for (uint64_t k; (k = table_key(t, bytes, at)) && k != key;) at = (at + 1) & (t->room - 1);
    return t->items + at * bytes;
}

/* NULL: there is none. */
static inline void *table_find(const struct table *t, size_t bytes, uint64_t key)
{
    char *item = t->room ? table_slot(t, bytes, key) : NULL;
    return item && table_key(t, bytes, (size_t)(item - t->items) / bytes) ? item : NULL;
}

static inline bool table_grow(struct table *t, size_t bytes)
{
    struct table more = {.room = t->room ? 2 * t->room : TABLE_ROOM, .count = t->count};
    more.items = rt_calloc(more.room, bytes);
    if (!more.items) return false;
    for (size_t k = 0; k < t->room; k++) {
        uint64_t key = table_key(t, bytes, k);
        if (key) memcpy(table_slot(&more, bytes, key), t->items + k * bytes, bytes);
    }
    free(t->items);
    *t = more;
    return true;
}

/* One for a key that has none, with zeros but for that. NULL: no memory. It stays where it is until another is added.
 */
static inline void *table_add(struct table *t, size_t bytes, uint64_t key)
{
    if (4 * t->count >= 3 * t->room && !table_grow(t, bytes)) return NULL;
    t->count++;
    return memcpy(table_slot(t, bytes, key), &key, sizeof key);
}

#endif
