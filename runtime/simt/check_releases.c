/* Releases by numbers, for what is left of a launch when the sets of check_order.c take too much: what a thread did
 * before a fence goes with its next atomic or volatile write, and who reads there has seen all releases up to that
 * one's number, of whatever thread and place. Number 1 stands for all that blocks did which began before. */
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/check_order.h"
#include "runtime/simt/check_shared.h"

#define MOST_ALIKE 4    /* releases of a thread by one fence that are told apart by their objects */
#define LOG_SEARCH 4096 /* releases of a warp that are looked through; behind that all counts as ordered */

static struct release_log *find_log(struct simt_check *c, unsigned block)
{
    struct release_log *l = c->stripes[block % LOG_STRIPES].logs;
    while (l && l->block != block) l = l->next;
    return l;
}

static bool append(struct release_log *l, struct release r)
{
    if (l->count == l->capacity) {
        size_t capacity = l->capacity ? 2 * l->capacity : 4;
        struct release *more = rt_realloc(l->items, capacity * sizeof *more);
        if (!more) return false;
        l->items = more;
        l->capacity = capacity;
    }
    uint32_t *last = &l->last[r.thread / SIMT_WARP];
    const struct release none = {0}, *before = l->count ? &l->items[l->count - 1] : &none;
    const struct release *of_warp = *last ? &l->items[*last - 1] : &none;
    r.most_block = later(before->most_block, r.fence.block_time);
    r.most_partly = later(before->most_partly, r.partly ? r.time + 1 : 0);
    r.most_warp = later(of_warp->most_warp, r.fence.warp_time);
    r.before = *last;
    l->items[l->count++] = r;
    *last = (uint32_t)l->count;
    return true;
}

void simt_releases_start(struct block *b)
{
    struct simt_check *c = b->check;
    unsigned block = record_block(b->id), stripe = block % LOG_STRIPES;
    b->log = NULL;
    if (!atomic_load(&c->coarse)) return;
    pthread_mutex_lock(&c->stripes[stripe].lock);
    if (b->worker->block_index >= BLOCK_IDS) b->log = find_log(c, block); /* a number that is used again */
    if (!b->log && (b->log = rt_calloc(1, sizeof *b->log))) {
        b->log->block = block;
        b->log->next = c->stripes[stripe].logs;
        c->stripes[stripe].logs = b->log;
    }
    pthread_mutex_unlock(&c->stripes[stripe].lock);
    if (!b->log) atomic_store(&c->no_memory, true);
}

bool simt_releases_new(struct simt_check *c)
{
    c->objects = rt_calloc(OBJECTS, sizeof *c->objects);
    c->observed = rt_calloc(OBJECTS, sizeof *c->observed);
    c->stripes = rt_calloc(LOG_STRIPES, sizeof *c->stripes);
    for (int k = 0; k < LOG_STRIPES && c->stripes; k++) pthread_mutex_init(&c->stripes[k].lock, NULL);
    return c->objects && c->observed && c->stripes;
}

void simt_releases_free(struct simt_check *c)
{
    for (int k = 0; k < LOG_STRIPES && c->stripes; k++) {
        while (c->stripes[k].logs) {
            struct release_log *next = c->stripes[k].logs->next;
            free(c->stripes[k].logs->items);
            free(c->stripes[k].logs);
            c->stripes[k].logs = next;
        }
        pthread_mutex_destroy(&c->stripes[k].lock);
    }
    free(c->stripes);
    free(c->objects);
    free(c->observed);
}

/* The atomic of a release is behind the fence, as others may be that nobody has read. */
static bool is_itself(const struct simt_check *c, const struct release *r, record e)
{
    if (r->object == ANY_OBJECT) return true;
    return record_site(e) == r->site && r->number <= atomic_load(&c->observed[r->object]);
}

/* Does a release of the warp say so of what one of its threads did? */
static bool covers(const struct simt_check *c, const struct release *r, record e)
{
    uint32_t time = record_time(e);
    bool bulk = c->sites[record_site(e)].bulk; /* releases nothing */
    if (time < r->most_warp) return true;
    if (record_thread(e) != r->thread) return false;
    return time < r->fence.time || (record_special(e) && !bulk && time <= r->time && is_itself(c, r, e));
}

/* How many of its releases have at most that number. */
static size_t known_of(const struct release_log *l, uint64_t number)
{
    size_t low = 0, high = l->count;
    while (low < high) {
        size_t k = (low + high) / 2;
        if (l->items[k].number <= number)
            low = k + 1;
        else
            high = k;
    }
    return low;
}

static bool log_covers(const struct simt_check *c, const struct release_log *l, record e, uint64_t number)
{
    size_t known = known_of(l, number), tries = 0;
    const struct release *last = known ? &l->items[known - 1] : NULL;
    if (!last) return false;
    if (record_time(e) < last->most_block || record_time(e) < last->most_partly) return true;
    for (uint32_t k = l->last[record_thread(e) / SIMT_WARP]; k; k = l->items[k - 1].before) {
        if (k > known) continue;
        if (covers(c, &l->items[k - 1], e) || ++tries > LOG_SEARCH) return true;
    }
    return false;
}

bool simt_releases_seen(const struct block *b, record e, unsigned thread)
{
    struct simt_check *c = b->check;
    unsigned block = record_block(e);
    if (!b->acquired[thread]) return false;
    pthread_mutex_lock(&c->stripes[block % LOG_STRIPES].lock);
    const struct release_log *l = find_log(c, block); /* NULL: it began before */
    bool found = !l || log_covers(c, l, e, b->acquired[thread]);
    pthread_mutex_unlock(&c->stripes[block % LOG_STRIPES].lock);
    return found;
}

static unsigned object_of(const struct access *a, unsigned lane)
{
    uint64_t at = a->at[lane], key = at >> 2;
    bool shared = at < SIMT_SHARED_BASE || at >> 48 == SIMT_SHARED_BASE >> 48;
    if (shared) {
        at = (uint32_t)at;
        const struct worker *owner = simt_cluster_owner(a->block->worker, &at);
        key = at >> 2 ^ (owner ? ((const struct block *)owner->observed)->id : a->block->id);
    }
    return (unsigned)(key * UINT64_C(0x9E3779B97F4A7C15) >> 52) % OBJECTS;
}

static void raise_to(_Atomic uint64_t *least, uint64_t number)
{
    uint64_t last = atomic_load(least);
    while (last < number && !atomic_compare_exchange_weak(least, &last, number)) {
    }
}

/* The release's number; 0: there was no fence. */
static uint64_t note_release(const struct access *a, unsigned lane, unsigned object)
{
    struct block *b = a->block;
    struct simt_check *c = a->check;
    unsigned thread = (unsigned)a->warp->index * SIMT_WARP + lane, block = record_block(b->id);
    struct release r = {.thread = thread, .time = b->now, .site = record_site(a->me), .object = object};
    r.partly = b->meets_partly;
    r.fence = simt_check_fence_of(b, thread, 1);
    if (!r.fence.time && !r.fence.block_time) return 0;
    if (!b->log) return atomic_fetch_add(&c->releases, 1) + 1;
    if (!simt_check_want(b, &b->released, b->worker->warp_count * SIMT_WARP, sizeof *b->released)) return 0;
    struct released *before = &b->released[thread];
    bool alike = before->number && before->time == r.time && simt_same_fence(&before->fence, &r.fence);
    if (alike && (before->object == ANY_OBJECT || (before->site == r.site && before->object == r.object)))
        return before->number;
    uint32_t count = alike ? before->alike + 1 : 1;
    if (count == MOST_ALIKE) r.object = ANY_OBJECT;
    pthread_mutex_lock(&c->stripes[block % LOG_STRIPES].lock);
    r.number = atomic_fetch_add(&c->releases, 1) + 1;
    if (!append(b->log, r)) atomic_store(&c->no_memory, true);
    pthread_mutex_unlock(&c->stripes[block % LOG_STRIPES].lock);
    *before = (struct released){r.fence, r.time, r.site, r.object, count, r.number};
    return r.number;
}

static void release(const struct access *a, unsigned lane, unsigned object)
{
    struct simt_check *c = a->check;
    uint64_t number = note_release(a, lane, object);
    if (!number) return;
    if (a->kind == ACCESS_ATOMIC) raise_to(&c->observed[object], atomic_load(&c->objects[object]));
    raise_to(&c->objects[object], number);
}

void simt_releases_arrive(const struct access *a, unsigned lane)
{
    if (atomic_load_explicit(&a->check->coarse, memory_order_relaxed)) note_release(a, lane, ANY_OBJECT);
}

void simt_releases_acquire(struct block *b, unsigned thread, uint64_t number)
{
    if (!number || !simt_check_want(b, &b->acquired, b->worker->warp_count * SIMT_WARP, sizeof *b->acquired)) return;
    b->acquires = true;
    if (number <= b->acquired[thread]) return;
    simt_shared_flush(b);
    b->acquired[thread] = number;
}

void simt_releases_find(const struct access *a, uint32_t m, uint16_t *objects)
{
    EACH_LANE(l, m) objects[l] = (uint16_t)object_of(a, l);
}

void simt_releases_write(const struct access *a, uint32_t m, const uint16_t *objects)
{
    if (simt_check_fenced(a->block)) EACH_LANE(l, m) release(a, l, objects[l]);
}

void simt_releases_read(const struct access *a, uint32_t m, const uint16_t *objects)
{
    struct block *b = a->block;
    EACH_LANE(l, m)
    {
        unsigned object = objects[l], thread = (unsigned)a->warp->index * SIMT_WARP + l;
        uint64_t seen = atomic_load(&b->check->objects[object]);
        if (seen && !(b->released && b->released[thread].number == seen)) raise_to(&b->check->observed[object], seen);
        simt_releases_acquire(b, thread, seen ? seen : 1);
    }
}
