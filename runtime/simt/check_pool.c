/* The memory of links (check_seen.c), of which a launch with locks or flags makes and lets go of millions: pieces of a
 * few sizes out of large ones, which all go at once when the launch's check ends, whatever is held then. A host thread
 * has a part of it nearly to itself. */
#include <stdalign.h>
#include <stdlib.h>
#include "runtime/memory.h"
#include "runtime/simt/check_links.h"

#define PARTS      16
#define CHUNK      (1 << 16)
#define MOST_PIECE (12 * LINK_BYTES) /* larger ones have a chunk of their own */
#define CLASSES    (MOST_PIECE / LINK_BYTES)
#ifdef __SANITIZE_ADDRESS__ /* it sees what is used behind its end then */
#define ALONE(bytes) true
#else
#define ALONE(bytes) ((bytes) > MOST_PIECE)
#endif
#define CLASS(bytes) (((bytes) + LINK_BYTES - 1) / LINK_BYTES - 1)

struct links_chunk {
    struct links_chunk *next, *before;
};
struct pool_part {
    _Atomic bool locked;
    struct link *free[CLASSES]; /* by size */
    char *at, *end;             /* of the last chunk: what nobody had yet */
    struct links_chunk *chunks;
};
struct links_pool {
    struct pool_part parts[PARTS];
};

static struct pool_part *lock_part(struct links_pool *p, unsigned number)
{
    struct pool_part *x = &p->parts[number];
    for (int tries = 0; atomic_exchange_explicit(&x->locked, true, memory_order_acquire);) simt_check_pause(tries++);
    return x;
}

static void unlock_part(struct pool_part *x)
{
    atomic_store_explicit(&x->locked, false, memory_order_release);
}

/* The calling thread's. */
static unsigned own_part(void)
{
    static _Atomic unsigned threads;
    static _Thread_local unsigned number; /* 0: it has none yet */
    if (!number) number = 1 + atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) % PARTS;
    return number - 1;
}

/* Room for so many bytes, from a multiple of LINK_BYTES on. */
static char *add_chunk(struct pool_part *x, size_t bytes, struct links_chunk **made)
{
    struct links_chunk *c = rt_alloc(sizeof *c + bytes + LINK_BYTES - alignof(max_align_t));
    if (!c) return NULL;
    *c = (struct links_chunk){.next = x->chunks};
    if (c->next) c->next->before = c;
    x->chunks = c;
    *made = c;
    return (char *)(((uintptr_t)(c + 1) + LINK_BYTES - 1) & ~(uintptr_t)(LINK_BYTES - 1));
}

static void free_chunk(struct pool_part *x, struct links_chunk *c)
{
    if (c->next) c->next->before = c->before;
    if (c->before)
        c->before->next = c->next;
    else
        x->chunks = c->next;
    free(c);
}

static struct link *new_piece(struct pool_part *x, size_t bytes)
{
    struct link *k = x->free[CLASS(bytes)];
    struct links_chunk *made;
    if (k) {
        x->free[CLASS(bytes)] = k->next;
        return k;
    }
    const size_t piece = (CLASS(bytes) + 1) * LINK_BYTES;
    if ((size_t)(x->end - x->at) < piece) {
        char *room = add_chunk(x, CHUNK, &made);
        if (!room) return NULL;
        x->at = room;
        x->end = room + CHUNK;
    }
    k = (struct link *)(void *)x->at;
    x->at += piece;
    return k;
}

struct link *simt_pool_take(struct simt_check *c, size_t bytes)
{
    struct links_pool *p = atomic_load_explicit(&c->links, memory_order_acquire);
    if (!p) {
        struct links_pool *new = rt_calloc(1, sizeof *new);
        if (!new) return NULL;
        if (!atomic_compare_exchange_strong(&c->links, &p, new))
            free(new);
        else
            p = new;
    }
    const unsigned number = own_part();
    struct pool_part *x = lock_part(p, number);
    struct links_chunk *alone = NULL;
    struct link *k = ALONE(bytes) ? (struct link *)(void *)add_chunk(x, bytes, &alone) : new_piece(x, bytes);
    unlock_part(x);
    if (!k) return NULL;
    k->pool = p;
    k->alone = alone;
    k->part = (uint16_t)number;
    k->piece = alone ? CLASSES : (uint16_t)CLASS(bytes);
    return k;
}

void simt_pool_give(struct link *k)
{
    if (k->alone) { /* which is in its part's list */
        struct pool_part *of = lock_part(k->pool, k->part);
        free_chunk(of, k->alone);
        unlock_part(of);
        return;
    }
    struct pool_part *x = lock_part(k->pool, own_part());
    k->next = x->free[k->piece];
    x->free[k->piece] = k;
    unlock_part(x);
}

void simt_pool_end(struct simt_check *c)
{
    struct links_pool *p = atomic_load(&c->links);
    for (unsigned k = 0; p && k < PARTS; k++) {
        for (struct links_chunk *one = p->parts[k].chunks, *next; one; one = next) {
            next = one->next;
            free(one);
        }
    }
    free(p);
    atomic_store(&c->links, NULL);
}
