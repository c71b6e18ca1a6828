/* Arrays whose elements may each be one thread's: check_once.c lists what a worker touched there, check_recall.c brings
 * it to the records. Part of check_inside.h. */
#ifndef SIMT_CHECK_ONCE_H
#define SIMT_CHECK_ONCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct access;
struct block;
struct insn;
struct simt_check;
struct warp;

#define MOST_ONCE   4
#define ONCE_LATEST 4
struct once_array { /* an array whose elements may each be one thread's (check_once.c) */
    uint64_t start, cells;
    unsigned log; /* of a cell's bytes: no load or store is of fewer */
    bool loads;   /* there are loads, too */
    bool shares;  /* several threads may load one */
    _Atomic bool over;
};
struct once { /* what a worker touched there */
    struct once_array *array;
    uint64_t *touched;                      /* cells, by bits, and what else is known of them; NULL: none */
    struct once_chunk *first, *last, *bits; /* the list; where the bits are, if there */
    unsigned chunks, turn;
    const char *latest[ONCE_LATEST]; /* of the list */
    uint64_t repeated;               /* so often lanes came again */
    bool left;                       /* it is in the records, as all that follows */
};

/* When a launch starts: an output, which it touches at places that are not known, `looked_up`, or that may be others'.
 */
void simt_once_add(struct simt_check *c, uint64_t allocation, bool looked_up);
/* For a span of the allocation; NULL: it is none of them, or is looked at in the other ways by now. */
struct once *simt_once_of(struct block *b, uint64_t allocation);
/* Lanes m load or store there, at what is in their registers, as most do: inside of it. False: nothing was done, look
 * closer. */
bool simt_once_lanes(const struct warp *w, const struct insn *i, unsigned site, uint32_t m);
/* The same of lanes of each half that are `step` bytes apart: lanes 0 and 16 would be at at[]. */
bool simt_once_rows(const struct warp *w, const struct insn *i, unsigned site, int64_t step, const uint64_t at[2],
                    uint32_t m);
/* Tells generated code, by the range of that number, what it need not ask of this instruction. */
void simt_once_window(const struct warp *w, const struct insn *i, uint32_t range);
/* Lanes m touch such a span. False: nothing was done, it is one no longer. */
bool simt_once_touch(const struct access *a, uint32_t m);
/* What the worker touched there goes to the records, from now on at once. */
void simt_once_leave(struct block *b, struct once *o);
void simt_once_end(struct simt_check *c); /* a launch ends */
/* The worker's store, of which it knows that nobody else has touched its places, is in memory soon; simt_noted_is_done
 * says when. It comes before the worker looks at who has. */
void simt_store_follows(struct block *b);
/* Waits until all such stores of other workers are there that found what is no longer so. */
void simt_let_stores_land(struct block *b);

#endif
