/* Host memory that kernels may use by its host address, as a table of ranges that do not overlap. */
#include <pthread.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/simt.h"

/* Who changes it holds the device's lock and this one, who reads it one of them. */
static struct {
    pthread_mutex_t lock;
    struct simt_mapped *ranges; /* by address, none overlaps another */
    size_t count, room;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The first range that ends above the address. */
static size_t index_of(uint64_t address)
{
    size_t low = 0, high = table.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table.ranges[middle].start + table.ranges[middle].bytes <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool insert(const struct simt_mapped *m)
{
    if (table.count == table.room) {
        size_t room = table.room ? 2 * table.room : 16;
        struct simt_mapped *more = rt_realloc(table.ranges, room * sizeof *more);
        if (!more) return false;
        table.ranges = more;
        table.room = room;
    }
    size_t i = index_of(m->start);
    memmove(table.ranges + i + 1, table.ranges + i, (table.count - i) * sizeof *table.ranges);
    table.ranges[i] = *m;
    table.count++;
    return true;
}

bool simt_map(const struct simt_mapped *m)
{
    pthread_mutex_lock(&table.lock);
    bool inserted = insert(m);
    pthread_mutex_unlock(&table.lock);
    return inserted;
}

static bool take_out(uint64_t start)
{
    size_t i = index_of(start);
    if (i == table.count || table.ranges[i].start != start) return false;
    table.count--;
    memmove(table.ranges + i, table.ranges + i + 1, (table.count - i) * sizeof *table.ranges);
    return true;
}

bool simt_unmap(uint64_t start)
{
    pthread_mutex_lock(&table.lock);
    bool taken = take_out(start);
    pthread_mutex_unlock(&table.lock);
    return taken;
}

bool simt_mapped_any(void)
{
    return table.count > 0;
}

bool simt_mapped_find(uint64_t address, struct simt_mapped *out)
{
    size_t i = index_of(address);
    if (i == table.count || address < table.ranges[i].start) return false;
    *out = table.ranges[i];
    return true;
}

bool simt_mapped_look(uint64_t address, struct simt_mapped *out)
{
    pthread_mutex_lock(&table.lock);
    bool found = simt_mapped_find(address, out);
    pthread_mutex_unlock(&table.lock);
    return found;
}

bool simt_mapped_next(uint64_t from, const void *owner, struct simt_mapped *out)
{
    size_t i = index_of(from);
    while (i < table.count && (table.ranges[i].start < from || (owner && table.ranges[i].owner != owner))) i++;
    if (i == table.count) return false;
    *out = table.ranges[i];
    return true;
}
