/* Inside of check_clocks.c and check_phases.c. */
#ifndef SIMT_CHECK_CLOCKS_H
#define SIMT_CHECK_CLOCKS_H

#include "runtime/simt/check_inside.h"

#define PHASES 4 /* that an mbarrier tells apart */

struct clock {
    uint32_t holders;
    struct clock *next;        /* of those that nobody holds */
    struct seen_set *others;   /* what those that arrived had seen: check_order.c */
    struct seen_set *said;     /* what `met` and `seen` say; NULL: it is to be made */
    uint64_t acquired;         /* releases up to this number are seen, too: check_releases.c */
    uint32_t met[MAX_CLUSTER]; /* by block: what its threads did before */
    uint32_t seen[];           /* by thread of the cluster, likewise */
};
struct phases { /* of an mbarrier */
    uint32_t at;
    uint32_t now;               /* the phase when it was seen last */
    bool coarse;                /* an instruction may end more phases than can be told apart */
    struct clock *arrived;      /* before what all arrivals did, NULL: nothing */
    struct clock *over[PHASES]; /* the same when the phase ended */
};
struct clocks {           /* of a block */
    uint32_t threads;     /* of the block; each of the cluster has as many */
    struct clock **knows; /* by thread; NULL: nothing */
    struct phases *items; /* mbarriers in the block's shared memory */
    size_t count, room;
    struct clock *barriers[MAX_BARRIERS]; /* as `arrived` of an mbarrier, by number */
    struct clock *joined[3];              /* the last two that were joined, and what came of it */
    struct clock **kept;                  /* those that notes of shared memory mean: check_groups.c */
    uint32_t kept_count, kept_room;
    struct clock **before; /* the same, while some of them are kept anew */
    uint32_t before_count;
    struct clock *spare; /* to be used again */
    bool some;           /* a thread knows something, */
    bool aside;          /* which it did not when what is gone through was done */
    /* Since all threads met, in a block without a cluster: */
    uint32_t arrived[32];         /* lanes that arrived at mbarriers, by warp */
    uint32_t *last;               /* by thread of a warp with such lanes: when it touched memory last, since then */
    uint32_t home;                /* the mbarrier where one arrived last, */
    const struct insn *tests[32]; /* and by warp the last wait there, which is no such touch; NULL: none */
};

static inline void raise_to(uint32_t *v, uint32_t least)
{
    *v = *v < least ? least : *v;
}

/* Of a warp's threads: loops whose length is known become vector code. */
static inline void raise_warp(uint32_t *restrict v, const uint32_t *restrict least)
{
    for (unsigned l = 0; l < SIMT_WARP; l++) v[l] = v[l] < least[l] ? least[l] : v[l];
}

static inline void raise_warp_to(uint32_t *v, uint32_t least)
{
    for (unsigned l = 0; l < SIMT_WARP; l++) v[l] = v[l] < least ? least : v[l];
}

/* ---- check_clocks.c ---- */
void *simt_clocks_allocated(const struct block *b, void *p); /* p; NULL is noted: there is no memory */
struct clocks *simt_clocks_want(struct block *b);            /* NULL: no memory */
void simt_clock_let_go(const struct block *b, struct clock **place);
void simt_clock_hold(const struct block *b, struct clock **place, struct clock *c);
/* A clock that nobody else holds, the same as *place, where it stands from then on. */
struct clock *simt_clock_own(const struct block *b, struct clock **place);
uint32_t simt_clocks_who(const struct block *b, unsigned warp, const struct clock *c); /* the lanes that know it */
/* All that the block's barriers and those of its warps have ordered before what the warp does. */
void simt_clock_add_meetings(struct clock *c, const struct block *b, unsigned warp);
/* What the lanes have seen goes with their arrival. */
void simt_clock_add_known(struct clock *c, const struct block *b, unsigned warp, uint32_t m);
/* And what they did until now. */
void simt_clock_add_done(struct clock *c, const struct block *b, unsigned warp, uint32_t m);
void simt_clocks_take(struct block *b, unsigned warp, uint32_t m, struct clock *c); /* they have waited for it */

/* ---- check_phases.c ---- */
void simt_phases_forget(const struct block *b, struct phases *x); /* nobody has arrived there */
void simt_phases_leave(struct block *b);                          /* all threads met */

#endif
