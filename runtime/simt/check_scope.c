/* Atomics of block scope (atomicAdd_block, .cta): those of one block are in order with each other, but not with what
 * other blocks do there, atomically or not (PTX ISA, "Memory Consistency Model": such operations are not morally
 * strong). What is not atomic at all is judged as everywhere; here, atomic and volatile accesses of global memory are
 * compared where one of the two is of block scope. That needs a record of those by word and line, which launches
 * without such instructions do not keep.
 *
 * Of each line that one touches a word by, two records tell: of the lowest threads, so that what is reported is the
 * same whatever ran first, and of the last, which other threads are the least likely to be behind; and of both the same
 * again of another block. */
#include <stdlib.h>
#include "runtime/memory.h"
#include "runtime/simt/check_cell.h"
#include "runtime/simt/check_table.h"

#define MOST_WORDS (1u << 16) /* beyond that nothing is said */

enum { LOWEST, LOWEST_ELSEWHERE, LAST, LAST_ELSEWHERE, KEPT };

struct by_line {
    struct by_line *next;
    unsigned site;
    record who[KEPT];
};
struct scoped_word { /* an item of a table */
    uint64_t key;
    struct by_line *lines;
};

static bool is_lower(record a, record b)
{
    return a >> THREAD_AT < b >> THREAD_AT; /* by block, time and thread */
}

static bool is_elsewhere(record a, record b)
{
    return record_block(a) != record_block(b);
}

static void note(record *kept, record *elsewhere, record r)
{
    if (*kept && is_elsewhere(*kept, r)) *elsewhere = *kept;
    *kept = r;
}

static void add(struct by_line *l, record r)
{
    record *who = l->who;
    if (!who[LOWEST] || is_lower(r, who[LOWEST]))
        note(&who[LOWEST], &who[LOWEST_ELSEWHERE], r);
    else if (is_elsewhere(who[LOWEST], r) && (!who[LOWEST_ELSEWHERE] || is_lower(r, who[LOWEST_ELSEWHERE])))
        who[LOWEST_ELSEWHERE] = r;
    note(&who[LAST], &who[LAST_ELSEWHERE], r);
}

static struct by_line *line_of(struct simt_check *c, struct scoped_word *w, unsigned site)
{
    struct by_line *l = w->lines;
    while (l && l->site != site) l = l->next;
    if (l) return l;
    if (!(l = rt_calloc(1, sizeof *l))) {
        atomic_store(&c->no_memory, true);
        return NULL;
    }
    l->site = site;
    l->next = w->lines;
    return w->lines = l;
}

/* NULL: no memory, or there are too many. */
static struct scoped_word *word_of(struct simt_check *c, uint64_t key)
{
    struct scoped_word *w = table_find(&c->scoped_words, sizeof *w, key);
    if (w || c->scoped_words.count == MOST_WORDS) return w;
    if (!(w = table_add(&c->scoped_words, sizeof *w, key))) atomic_store(&c->no_memory, true);
    return w;
}

static void tell(struct actor *x, record other)
{
    const struct access *a = x->access;
    struct simt_report r = {.kind = CHECK_RACE,
                            .space = PTX_GLOBAL,
                            .address = a->at[x->lane] + x->offset,
                            .size = a->bytes - x->offset,
                            .has_other = true,
                            .of_block = true,
                            .first = simt_party_of(a->check, a->block, x->me),
                            .other = simt_party_of(a->check, a->block, other)};
    simt_check_name(a->check, &r);
    simt_check_report(a->check, &r);
}

/* The lane of x beside those that touched the word by a line. */
static void compare(struct actor *x, const struct by_line *l)
{
    const struct access *a = x->access;
    const struct site *mine = a->site, *theirs = &a->check->sites[l->site];
    record found = 0;
    if (!mine->of_block && !theirs->of_block) return;
    if (!site_writes(mine) && !site_writes(theirs)) return;
    for (int k = 0; k < KEPT; k++) {
        record r = l->who[k];
        bool apart = r && is_elsewhere(r, x->me) && (!found || is_lower(r, found));
        if (apart && !simt_check_ordered(a->block, r, (unsigned)a->warp->index, x->lane, 0)) found = r;
    }
    if (found) tell(x, found);
}

/* The memory's lock is held. */
static void touch_word(struct actor *x, uint64_t key)
{
    struct simt_check *c = x->access->check;
    struct scoped_word *w = word_of(c, key);
    for (const struct by_line *l = w ? w->lines : NULL; l; l = l->next) compare(x, l);
    struct by_line *own = w ? line_of(c, w, record_site(x->me)) : NULL;
    if (own) add(own, x->me);
}

void simt_scope_touch(const struct access *a, uint32_t m)
{
    struct simt_check *c = a->check;
    unsigned step = a->bytes < 4 ? a->bytes : 4;
    pthread_mutex_lock(&c->scoped_lock);
    EACH_LANE(l, m)
    {
        struct actor x = {.access = a, .lane = l, .me = a->me + ((record)l << THREAD_AT)};
        for (x.offset = 0; x.offset < a->bytes; x.offset += step)
            touch_word(&x, (a->at[l] + x.offset) << 3 | step); /* those of other sizes are taken for other places */
    }
    pthread_mutex_unlock(&c->scoped_lock);
}

void simt_scope_free(struct simt_check *c)
{
    struct table *t = &c->scoped_words;
    for (size_t k = 0; k < t->room; k++)
        for (struct by_line *l = ((struct scoped_word *)(void *)t->items)[k].lines, *next; l; l = next) {
            next = l->next;
            free(l);
        }
    free(t->items);
    pthread_mutex_destroy(&c->scoped_lock);
}
