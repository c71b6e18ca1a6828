/* Cells of global memory that threads were found to race for: which lines did. A cell's three records tell that there
 * is a race, but of three lines they name those two that came one after the other, which depends on what ran when. From
 * the first race on the cell's record is RACED, which nothing is ordered behind, and what touches it is compared with
 * one access or more of each line before. */
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/check_inside.h"
#include "runtime/simt/heap.h"

#define HISTORIES 1024 /* cells; of more the records alone tell */
#define PARTIES   32
#define ALIKE     2 /* of a site: by one block, of one value */

struct past { /* an access */
    record who;
    bool has_value;
    uint32_t value; /* that was stored */
};
struct history {
    uint64_t cell; /* its address; 0: free */
    uint32_t count;
    struct past parties[PARTIES];
};

static struct history *slot_of(struct simt_check *c, uint64_t cell)
{
    uint64_t at = cell * UINT64_C(0x9E3779B97F4A7C15) >> 40;
    for (uint32_t k = 0; k < HISTORIES / 4; k++) {
        struct history *h = &c->histories[(at + k) % HISTORIES];
        if (h->cell == cell || !h->cell) return h;
    }
    return NULL;
}

/* NULL: there are too many already. The lock of the cell's line keeps others from it. */
static struct history *find(struct simt_check *c, uint64_t cell)
{
    pthread_mutex_lock(&c->lock);
    if (!c->histories) c->histories = rt_calloc(HISTORIES, sizeof *c->histories);
    if (!c->histories) atomic_store(&c->no_memory, true);
    struct history *h = c->histories ? slot_of(c, cell) : NULL;
    if (h) h->cell = cell;
    pthread_mutex_unlock(&c->lock);
    return h;
}

static bool same_value(const struct past *a, const struct past *b)
{
    return a->has_value && b->has_value && a->value == b->value;
}

static void add(struct history *h, const struct past *p)
{
    uint32_t by_block = 0, of_value = 0;
    for (uint32_t k = 0; k < h->count; k++) {
        const struct past *o = &h->parties[k];
        if (record_site(o->who) != record_site(p->who)) continue;
        bool block = record_block(o->who) == record_block(p->who), value = same_value(o, p);
        if (block && (value || !p->has_value)) return;
        by_block += block;
        of_value += value || !p->has_value;
    }
    if (by_block < ALIKE && of_value < ALIKE && h->count < PARTIES) h->parties[h->count++] = *p;
}

/* What a record stands for. Of a write that is the cell's last the value is still there. */
static struct past past_of(const struct simt_check *c, record who, const struct shown *s, bool last)
{
    const struct site *site = &c->sites[record_site(who)];
    struct past p = {.who = who};
    p.has_value = last && site->access == ACCESS_WRITE && !site->copies && !site->bulk;
    if (p.has_value) p.value = s->there;
    return p;
}

bool simt_history_begin(struct simt_check *c, uint64_t cell, const struct shown *s, const record *records)
{
    struct simt_heap_block given;
    struct history *h = simt_heap_look(cell, &given) ? NULL : find(c, cell); /* malloc's is given again */
    if (!h) return false;
    for (int k = 0; k < RECORDS; k++) {
        struct past p = past_of(c, records[k], s, !k);
        if (records[k]) add(h, &p);
    }
    return true;
}

size_t simt_history_meet(struct simt_check *c, uint64_t cell, const struct shown *s, record *others, size_t most)
{
    struct history *h = find(c, cell);
    const struct past me = {s->me, s->stores, s->value};
    size_t count = 0;
    for (uint32_t k = 0; h && k < h->count && count < most; k++)
        if (!same_value(&h->parties[k], &me)) others[count++] = h->parties[k].who;
    if (h) add(h, &me);
    return count;
}
