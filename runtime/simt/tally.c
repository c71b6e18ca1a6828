/* Tallies: when one begins, pours out and ends. */
#include "runtime/simt/tally.h"
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/jit.h"

#define TALLY_BYTES 65536 /* larger allocations have none: their cells are seldom wanted by two threads at once */
#define PATIENCE    32    /* additions of warps in memory before the first tally */
#define MAX_STRIKES 16

/* It did not pay: the next one is to be tried later. */
static void strike(struct tally *t)
{
    if (t->strikes < MAX_STRIKES) t->strikes++;
}

static bool has_room(struct tally *t, size_t bytes)
{
    if (bytes <= t->capacity) return true;
    void *cells = rt_calloc(1, bytes);
    if (!cells) return false;
    free(t->cells);
    t->cells = cells;
    t->capacity = bytes;
    return true;
}

void simt_tally_try(struct warp *w, const struct insn *i, uint64_t address)
{
    struct worker *k = w->worker;
    if (i->extra < 2) return;
    struct tally *t = &k->tallies[i->extra - 2];
    struct simt_block b;
    if (t->bytes || ++t->tries < (uint32_t)PATIENCE << t->strikes) return;
    t->tries = 0;
    size_t bytes = simt_find(address, &b) ? b.bytes / i->size * i->size : 0;
    if ((k->observer && !k->observer->quick) || k->program->uses_heap || !bytes || bytes > TALLY_BYTES ||
        !has_room(t, bytes)) {
        strike(t);
        return;
    }
    t->owner = i;
    t->low = b.address;
    t->bytes = bytes;
    t->size = i->size;
    t->added = 0;
    memset(k->ranges, 0, (k->program->cache_count + 1) * sizeof *k->ranges);
    memset(k->jit_ranges, 0, simt_jit_ranges(&k->jit) * sizeof *k->jit_ranges);
}

#define POUR(type)                                                                                                     \
    for (size_t n = 0; n < t->bytes / sizeof(type); n++) {                                                             \
        type *sum = (type *)t->cells + n;                                                                              \
        if (!*sum) continue;                                                                                           \
        __atomic_fetch_add((type *)(void *)host + n, *sum, __ATOMIC_RELAXED);                                          \
        *sum = 0;                                                                                                      \
    }

static void pour(struct worker *k, struct tally *t)
{
    char *host = (char *)t->low + k->bias;
    if (t->size == 4) {
        POUR(uint32_t)
    } else {
        POUR(uint64_t)
    }
    if (t->added * SIMT_WARP < 2 * t->bytes / t->size) {
        strike(t);
        t->bytes = 0;
        t->owner = NULL;
    }
    t->added = 0;
}

void simt_tally_pour(struct worker *k)
{
    EACH_LANE(n, k->tallied)
    if (k->tallies[n].added) pour(k, &k->tallies[n]);
    k->tallied = 0;
}

void simt_tally_found(struct worker *k, const struct simt_block *b)
{
    for (int n = 0; n < TALLIES; n++) {
        struct tally *t = &k->tallies[n];
        if (!t->bytes || t->low != b->address) continue;
        pour(k, t);
        t->bytes = 0;
        t->owner = NULL;
    }
}

void simt_tally_reach(struct worker *k, uint64_t low, uint64_t high)
{
    EACH_LANE(n, k->tallied)
    {
        const struct tally *t = &k->tallies[n];
        struct simt_block b = {t->low, t->bytes};
        if (t->added && low < t->low + t->bytes && high > t->low) simt_tally_found(k, &b);
    }
}

void simt_tally_free(struct worker *k)
{
    for (int n = 0; n < TALLIES; n++) free(k->tallies[n].cells);
}
