/* Lists of who touched a cell, where its records are too few: check_history.c. */
#ifndef SIMT_CHECK_HISTORY_H
#define SIMT_CHECK_HISTORY_H

#include "runtime/simt/check_record.h"

struct past {   /* an access, or one of each of some lanes of a warp, to a cell */
    record who; /* without a lane */
    uint32_t lanes;
    uint32_t value; /* that was stored */
    bool has_value;
};
#define FIRST_PARTIES 8
#define MOST_PARTIES  64
struct history { /* of a cell that is listed: check_history.c */
    uint64_t cell;
    uint8_t bytes;
    bool live, fixed; /* fixed: the room is the holder's */
    bool raced;       /* threads raced for it */
    bool counter;     /* only atomics, and so many that more are not kept */
    bool apart;       /* there are writes that nothing orders: atomics and stores, or two stores of the same value */
    bool spares;      /* only what does not race with atomics */
    bool settled;     /* and of that two are by different blocks */
    uint32_t count, room, turns;
    struct past *parties; /* `first`, or in memory of their own; the holder's, who has no `first` */
    struct past first[];  /* FIRST_PARTIES */
};

struct simt_check;
struct block;
/* The list of a cell of so many bytes, at an address or, where a block is given, an offset in its shared memory; NULL:
 * it has none. */
struct history *simt_history_find(struct simt_check *c, struct block *owner, uint64_t cell, unsigned bytes);
/* One with the same in it as another; NULL: there are too many. */
struct history *simt_history_new(struct simt_check *c, struct block *owner, uint64_t cell, unsigned bytes,
                                 const struct history *like);
/* The same of a cell of global memory, by the first reader's record, in whose place stands where a list is; NULL: that
 * is not known to be the cell's. */
static inline struct history *simt_history_here(record first, uint64_t cell, unsigned bytes)
{
    struct history *h = (struct history *)(uintptr_t)first;
    return h && h->cell == cell && h->bytes == bytes ? h : NULL;
}
bool simt_history_room(struct simt_check *c, struct history *h); /* for one more; false: there is none */
/* Adds an access to a cell that was raced for, if those that are there do not stand for it. */
void simt_history_add_raced(struct simt_check *c, struct history *h, const struct past *p);
void simt_histories_clear(struct table *t);

#endif
