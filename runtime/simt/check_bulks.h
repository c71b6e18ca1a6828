/* What is under way in a block, between check_bulk.c, which follows copies, and check_products.c, which follows what
 * tcgen05.mma reads and writes. */
#ifndef SIMT_CHECK_BULKS_H
#define SIMT_CHECK_BULKS_H

#include "runtime/simt/check_access.h"
#include "runtime/simt/check_copies.h"

struct bulk { /* a copy of one thread, or what is followed as such */
    record me;
    uint64_t at, pitch;             /* of boxes of tensors: rows are `pitch` bytes apart */
    uint32_t rows;                  /* 0: one */
    uint32_t bytes, element;        /* of a row; of an element of a reduction or a box */
    bool global;                    /* there; else in shared memory */
    bool source;                    /* it is read there; else it is written */
    bool reduces;                   /* it is an atomic where it writes */
    bool product;                   /* of a tcgen05.mma, done when one of its thread's commits behind it is */
    bool sums;                      /* of it, in tensor memory: columns of 4 bytes, written */
    bool commit;                    /* of no bytes: a tcgen05.commit */
    bool counted;                   /* at an mbarrier */
    uint32_t barrier;               /* counted: where */
    uint32_t seen, passed;          /* the phase there when it was seen last, modulo 4, and how many are over since */
    bool recorded;                  /* once more: the thread has waited for it */
    uint32_t group;                 /* else: groups that its thread had committed before; or products */
    uint32_t waited[32], since[32]; /* by warp: lanes that have waited for it, and the time of the first */
};
struct bulks {
    struct bulk *items;
    size_t count, room;
    size_t sources;      /* items that are read in global memory */
    uint32_t *committed; /* groups, by thread */
    uint32_t commits;    /* of products, by all threads */
};

/* The end of the last of its rows. */
static inline uint64_t end_of(const struct bulk *x)
{
    return x->at + (x->rows ? (x->rows - 1) * x->pitch : 0) + x->bytes;
}

static inline bool overlaps(const struct bulk *x, uint64_t at, uint32_t bytes)
{
    if (at >= end_of(x) || at + bytes <= x->at) return false;
    if (x->rows < 2 || at < x->at) return true;
    uint64_t into = (at - x->at) % x->pitch; /* of a row and the gap behind it */
    return into < x->bytes || into + bytes > x->pitch;
}

/* Is x, or each of its rows, within n? */
static inline bool is_within(const struct bulk *x, const struct bulk *n)
{
    if (x->at < n->at || end_of(x) > end_of(n)) return false;
    if (n->rows < 2) return true;
    uint64_t into = (x->at - n->at) % n->pitch;
    return into + x->bytes <= n->bytes && (x->rows < 2 || x->pitch == n->pitch);
}

static inline bool anyone_waited(const struct block *b, const struct bulk *x)
{
    uint32_t any = 0;
    for (uint32_t w = 0; w < b->worker->warp_count; w++) any |= x->waited[w];
    return any != 0;
}

/* ---- check_bulk.c ---- */
struct bulks *simt_bulks_want(struct block *b); /* NULL: no memory, which is noted */
/* Something is under way in block b, begun by a thread of block `by`. */
void simt_bulks_add(struct block *b, const struct bulk *n, const struct block *by);
void simt_bulks_set_count(struct block *b, struct bulks *c, size_t count); /* so many of the items are left */
void simt_bulks_mark(struct block *b, const struct bulk *x, uint32_t from, uint32_t to); /* the tags of its words */
/* Has the thread of block `by`, which may be another one of the cluster, waited, or comes it behind one that has? */
bool simt_bulks_waited(const struct block *b, const struct bulk *x, const struct block *by, unsigned warp,
                       unsigned lane);
void simt_bulks_report(const struct access *a, unsigned lane, const struct bulk *x);

/* ---- check_products.c ---- */
/* The same as simt_bulks_waited, of a product by a commit of it. */
bool simt_bulks_knows(const struct block *b, const struct bulk *x, const struct block *by, unsigned warp,
                      unsigned lane);
/* What is done goes, or the products that a commit covers, with it. How many are left. */
size_t simt_bulks_forget_done(struct block *b, const struct bulk *commit);
/* A tcgen05.commit of the lane's that arrives there. */
void simt_products_commit(const struct access *a, unsigned lane, uint64_t at);

#endif
