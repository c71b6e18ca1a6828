/* Cells of which three records can't tell all that matters: who did what to them, in lists. A cell has one
 *
 * - where order goes by atomics and three threads or more touched it whom nothing orders: who comes later may be behind
 *   some of them and not behind others. What is ordered before a later access that races with whatever it does is left
 *   out, so that the list is as short as it can be;
 * - in global memory, once threads were found to race for it: the records tell that there is a race, but of three lines
 *   they name those two that came one after the other, which depends on what ran when. Whoever touches it is compared
 *   with one access or more of each line before.
 *
 * In the cell's records stands then that it is LISTED, which nothing is ordered behind, and most often where the list
 * is. */
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/check_inside.h"
#include "runtime/simt/check_table.h"

#define MOST_LISTS 4096 /* of a stripe, and of a block's shared memory */
#define ALIKE      2    /* of a site in cells that were raced for: by one block, of one value */

struct listed { /* an item of a table: what a cell has at most once */
    uint64_t key;
    struct history *list;
};

static uint64_t key_of(uint64_t cell)
{
    return cell + 1; /* shared memory begins at 0 */
}

/* What rt_calloc or rt_realloc gave. */
static void *given(struct simt_check *c, void *p)
{
    if (!p) atomic_store(&c->no_memory, true);
    return p;
}

static struct history *look(const struct table *t, uint64_t cell)
{
    const struct listed *at = table_find(t, sizeof *at, key_of(cell));
    return at && at->list->live ? at->list : NULL;
}

/* The one that the cell had, or a new one; NULL: no memory, or there are too many. */
static struct history *list_of(struct simt_check *c, struct table *t, uint64_t cell)
{
    struct listed *at = table_find(t, sizeof *at, key_of(cell));
    if (at || t->count == MOST_LISTS) return at ? at->list : NULL;
    struct history *h = given(c, rt_alloc(sizeof *h + FIRST_PARTIES * sizeof *h->first));
    if (!h || !(at = given(c, table_add(t, sizeof *at, key_of(cell))))) {
        free(h);
        return NULL;
    }
    *h = (struct history){.cell = cell, .room = FIRST_PARTIES, .parties = h->first};
    return at->list = h;
}

static void free_parties(struct history *h)
{
    if (h->parties != h->first) free(h->parties);
}

/* One without parties; NULL: no memory, or there are too many. */
static struct history *make(struct simt_check *c, struct table *t, uint64_t cell, unsigned bytes)
{
    struct history *h = list_of(c, t, cell);
    if (!h) return NULL;
    h->bytes = (uint8_t)bytes;
    h->live = true;
    h->raced = h->apart = h->counter = h->spares = h->settled = false;
    h->count = 0;
    return h;
}

bool simt_history_room(struct simt_check *c, struct history *h)
{
    if (h->count < h->room) return true;
    const uint32_t room = 2 * h->room;
    if (room > MOST_PARTIES || h->fixed) return false;
    struct past *more = given(c, rt_alloc(room * sizeof *more));
    if (!more) return false;
    memcpy(more, h->parties, h->count * sizeof *more);
    free_parties(h);
    h->parties = more;
    h->room = room;
    return true;
}

static void copy(struct simt_check *c, struct history *to, const struct history *from)
{
    to->raced = from->raced;
    to->apart = from->apart;
    for (uint32_t k = 0; k < from->count && simt_history_room(c, to); k++) to->parties[to->count++] = from->parties[k];
}

/* The list of a larger cell becomes that of each of its parts. */
static void split(struct simt_check *c, struct table *t, struct history *h, unsigned bytes)
{
    unsigned parts = h->bytes / bytes;
    h->bytes = (uint8_t)bytes;
    for (unsigned n = parts; n-- > 0;) {
        struct history *part = n ? make(c, t, h->cell + n * bytes, bytes) : h;
        if (n && part) copy(c, part, h);
        for (uint32_t k = 0; part && k < part->count; k++)
            part->parties[k].value = part->parties[k].value >> 8 * n * bytes & ((1u << 8 * bytes) - 1);
    }
}

static struct history *find(struct simt_check *c, struct table *t, uint64_t cell, unsigned bytes)
{
    for (unsigned size = 4; size > bytes; size /= 2) {
        struct history *h = look(t, cell & ~(uint64_t)(size - 1));
        if (h && h->bytes == size) split(c, t, h, bytes);
    }
    return look(t, cell);
}

/* Those that the cell belongs to, locked. */
static struct table *table_of(struct simt_check *c, struct block *owner, uint64_t cell, bool on)
{
    if (owner) return &owner->histories;
    unsigned stripe = (unsigned)(mixed(cell >> 5) >> 58);
    if (c->parallel && on) pthread_mutex_lock(&c->listed[stripe].lock);
    if (c->parallel && !on) pthread_mutex_unlock(&c->listed[stripe].lock);
    return &c->listed[stripe].of;
}

struct history *simt_history_find(struct simt_check *c, struct block *owner, uint64_t cell, unsigned bytes)
{
    struct history *h = find(c, table_of(c, owner, cell, true), cell, bytes);
    table_of(c, owner, cell, false);
    return h;
}

struct history *simt_history_new(struct simt_check *c, struct block *owner, uint64_t cell, unsigned bytes,
                                 const struct history *like)
{
    struct history *h = make(c, table_of(c, owner, cell, true), cell, bytes);
    table_of(c, owner, cell, false);
    if (!h) return NULL;
    copy(c, h, like);
    return h;
}

void simt_histories_clear(struct table *t)
{
    const struct listed *all = (const struct listed *)(const void *)t->items;
    if (!t->room) return;
    for (size_t k = 0; t->count && k < t->room; k++) {
        if (!all[k].key) continue;
        free_parties(all[k].list);
        free(all[k].list);
    }
    free(t->items);
    *t = (struct table){0};
}

/* ---- cells that were raced for ---- */
static bool same_value(const struct past *a, const struct past *b)
{
    return a->has_value && b->has_value && a->value == b->value;
}

void simt_history_add_raced(struct simt_check *c, struct history *h, const struct past *p)
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
    if (by_block < ALIKE && of_value < ALIKE && simt_history_room(c, h)) h->parties[h->count++] = *p;
}
