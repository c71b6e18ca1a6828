/* The rules for one cell of shadow memory and for one tag: may a thread touch it, and what is recorded. Written without
 * branches, so that loops over them become vector code. */
#ifndef SIMT_CHECK_CELLS_H
#define SIMT_CHECK_CELLS_H

#include "runtime/simt/check_inside.h"

#define WARP_MASK (~(BLOCK_SPAN - 1) | (UINT64_C(31) << (THREAD_AT + 5)))
#define WITHIN    (BLOCK_SPAN - 1)

enum { CELLS_BAD = 1, CELLS_CHANGED = 2, CELLS_FAR = 4, CELLS_ONE = 8 };

struct cells { /* those that 32 lanes touch; changed to what they are afterwards */
    _Alignas(64) record w[SIMT_WARP], a[SIMT_WARP], b[SIMT_WARP], me[SIMT_WARP];
};

struct now { /* what tells an ordered record from others, for a warp */
    record id;
    uint64_t before;      /* records of the block below it are ordered */
    uint64_t warp_before; /* the same of the warp, without the block's number */
    uint64_t seen;        /* when the warp met others last, likewise */
    bool shared;
    uint64_t recent;     /* of records of the block from then on two stand for all */
    bool exact;          /* there may be lists, as check_history.c has them */
    bool parting;        /* all readers are to be kept, */
    bool by_warps;       /* but for those beside readers of two warps, as struct simt_check has it */
    struct block *alike; /* whose threads have all seen the same of others by what they read; NULL: there is none */
};

/* All of these answer with 0 or 1 in 64 bits, as vectors of records do. */
static inline uint64_t cell_none(record r, const struct now *t, bool shared)
{
    return shared ? (uint64_t)(r - t->id >= BLOCK_SPAN) : (uint64_t)(r == 0);
}
/* The lanes of both halves, 0, or of one, 1 or 2. */
static inline uint32_t lanes_of_halves(unsigned halves)
{
    return halves == 1 ? 0xffff : halves == 2 ? 0xffff0000 : FULL;
}

/* Nothing there, or ordered because block or warp met, or by the same thread. */
static inline uint64_t cell_gone(record r, record me, const struct now *t, bool shared)
{
    uint64_t block = r - t->id < t->before, thread = ((r ^ me) & WHO_MASK) == 0;
    uint64_t warp = ((r ^ me) & WARP_MASK) == 0, early = (r & WITHIN) < t->warp_before;
    return cell_none(r, t, shared) | block | thread | (warp & early);
}
/* Of the block since its threads met; of the warp since that met others. */
static inline uint64_t cell_recent(record r, record me, const struct now *t)
{
    uint64_t block = r - t->id - t->recent < BLOCK_SPAN - t->recent;
    uint64_t other_warp = ((r ^ me) & WARP_MASK) != 0, late = (r & WITHIN) >= t->seen;
    return block & (other_warp | late);
}

static inline __attribute__((always_inline)) uint64_t judge_write(struct cells *c, int k, const struct now *t,
                                                                  bool shared)
{
    record me = c->me[k];
    uint64_t good =
        cell_gone(c->w[k], me, t, shared) & cell_gone(c->a[k], me, t, shared) & cell_gone(c->b[k], me, t, shared);
    c->w[k] = me;
    c->a[k] = 0;
    c->b[k] = 0;
    return (good ^ 1) * CELLS_BAD | CELLS_CHANGED;
}

/* Of the block since its threads met. */
static inline uint64_t cell_late(record r, const struct now *t)
{
    return r - t->id - t->before < BLOCK_SPAN - t->before;
}
/* Two readers of which no thread is behind both: whoever comes to be ordered behind one of them is of its warp. */
static inline uint64_t cells_apart(record a, record b, const struct now *t)
{
    uint64_t there = (uint64_t)(a != 0) & (uint64_t)(b != 0), warps = ((a ^ b) & WARP_MASK) != 0;
    return there & ((uint64_t)((a ^ b) >= BLOCK_SPAN) | (warps & cell_late(a, t) & cell_late(b, t)));
}

/* Readers that are ordered before the new one give way to it. Of two that are not both stay, except when both are of
 * one block and the new one is of another; atomics that only read want a closer look. */
static inline __attribute__((always_inline)) uint64_t judge_read(struct cells *c, int k, const struct now *t,
                                                                 bool shared)
{
    record me = c->me[k], w = c->w[k], a = c->a[k], b = c->b[k];
    uint64_t old_a = cell_gone(a, me, t, shared), old_b = cell_gone(b, me, t, shared);
    uint64_t bad = (cell_gone(w, me, t, shared) ^ 1) | ((a | b) / (MAX_SITES / 2) & 1);
    uint64_t same = (uint64_t)(((a ^ me) & WHO_MASK) == 0) & (uint64_t)((a & WITHIN) >= t->seen);
    uint64_t settled = cell_recent(a, me, t) & cell_recent(b, me, t);
    uint64_t one_block = (a ^ b) < BLOCK_SPAN, mine = (a ^ me) < BLOCK_SPAN;
    settled &= (uint64_t)!t->parting;
    if (!shared) settled |= (uint64_t)!t->exact & (one_block ^ 1) & (uint64_t)(a != 0) & (uint64_t)(b != 0);
    uint64_t by_warps = shared ? 0 : (uint64_t)t->by_warps, one_warp = ((a ^ b) & WARP_MASK) == 0;
    settled |= by_warps & cells_apart(a, b, t);
    uint64_t replaces = (one_block & (mine ^ 1)) | (by_warps & one_warp & (uint64_t)(((a ^ me) & WARP_MASK) != 0));
    uint64_t keep = same | settled, third = (keep ^ 1) & (old_a ^ 1) & (old_b ^ 1);
    uint64_t first = (keep ^ 1) & old_a, second = (keep ^ 1) & (old_a ^ 1) & (old_b | replaces);
    bad |= third & (uint64_t)t->exact & ((by_warps & replaces) ^ 1);
    c->a[k] = a ^ ((a ^ me) & -first);
    c->b[k] = (b & ~-(first & old_b) & ~-second) | (me & -second);
    return bad * CELLS_BAD | (first | second) * CELLS_CHANGED;
}

/* ---- tags (check_shared.c) ---- */
#define TAG_BITS   12 /* who; above them the epoch */
#define EPOCH      (1u << TAG_BITS)
#define LAST_EPOCH (UINT32_MAX - 4 * EPOCH)
#define TAG_ATOMIC 1024u      /* of writes, and the thread: an atomic of it */
#define TAG_WARP   1024u      /* of reads, and a thread: several of its warp */
#define TAG_MANY   2048u      /* several threads read it */
#define TAG_ATOMS  2049u      /* several threads' atomics */
#define TAG_BEHIND 3072u      /* of writes, and a warp's first thread: atomics of it behind a plain write of it */
#define TAG_MIXED  UINT32_MAX /* some of its bytes were written: look at the cells */
#define TAG_OTHERS 0xbe0u     /* bits by which tags differ that are not of one warp */

struct tag_rule {
    uint32_t base, now; /* the block's first epoch, and this one */
    uint32_t warp;      /* that of the warp at hand since its lanes met; `now` if they have not */
};

/* Is it from before the warp's lanes met, by one of them? Only asked where some warp's did: `met`. */
static inline uint32_t tag_before(uint32_t tag, uint32_t me, const struct tag_rule *t, bool met)
{
    if (!met) return 0;
    uint32_t behind = (uint32_t)((tag & TAG_BEHIND) == TAG_BEHIND), others = (tag ^ me) & TAG_OTHERS;
    return (uint32_t)(others == behind * TAG_MANY) & (uint32_t)(tag - t->now < t->warp - t->now);
}
static inline uint32_t tag_read_bad(uint32_t written, uint32_t me, const struct tag_rule *t, bool met)
{
    uint32_t late = (uint32_t)(written - t->base >= t->now - t->base) & (uint32_t)(written != me);
    return late & (tag_before(written, me, t, met) ^ 1);
}
static inline uint32_t tag_reader(uint32_t read, uint32_t me, const struct tag_rule *t, bool met)
{
    uint32_t mine = -((uint32_t)(read < t->now) | (uint32_t)(read == me) | tag_before(read, me, t, met));
    uint32_t ours = met ? -(uint32_t)(((read ^ me) & TAG_OTHERS) == 0) : 0;
    uint32_t several = ((t->warp | TAG_WARP | (me & 0x3e0)) & ours) | ((t->now | TAG_MANY) & ~ours);
    return (me & mine) | (several & ~mine);
}
static inline uint32_t tag_write_bad(uint32_t written, uint32_t read, uint32_t me, const struct tag_rule *t, bool met)
{
    uint32_t w = (uint32_t)(written >= t->now) & (uint32_t)(written != me) & (tag_before(written, me, t, met) ^ 1);
    uint32_t r = (uint32_t)(read >= t->now) & (uint32_t)(read != me) & (tag_before(read, me, t, met) ^ 1);
    return w | r;
}

/* ---- loops over lanes, for each instruction set ---- */
/* What 16 lanes touch: neighbours, one place, places by equal steps. */
enum { ROW_UNIT = 1, ROW_UNIFORM = 2, ROW_STEPS = 3, ROW_MASK = 3, ROW_BITS = 2, ROW_FLIP = 16 };

struct offsets { /* in shared memory, of 32 lanes: from[l] + on, at most `room` from `low` on, without bits of `odd` */
    const uint32_t *from;
    uint32_t on, low, room, odd, log; /* of elements of 1 << log bytes, which have tags */
};

struct elements { /* of 1 << log bytes, counted from `start` on, that addresses mean: at most `room` from `low` on,
                     without bits of `odd` */
    uint64_t start, low, room, odd;
    unsigned log;
};
#define MORE_CELLS 8

struct group_rule {                     /* of tags whose epochs are times: check_groups.c */
    uint32_t base, now, met;            /* the block's first epoch, and the one that began at the time `met` */
    uint32_t warp, me;                  /* lane 0's tag */
    const uint32_t *known;              /* by thread: before when all is ordered before what the warp does, */
    const uint32_t (*lanes)[SIMT_WARP]; /* as struct block has them: before what a lane does, too */
};

struct met_rule {  /* lanes of a warp that have met: times are as records of the block have them, without its number */
    record id, me; /* me: lane 0 */
    uint64_t before, warp_before; /* all that the block, or the warp, did before is ordered; */
    uint64_t met;                 /* and what the lanes of `group` did before that; */
    uint32_t group;
    uint64_t seen; /* since when the warp has met nobody */
};

struct own_cells {        /* of pairs (check_pairs.h) of one chunk, that lanes touch */
    const uint64_t *from; /* by lane; `more` is added: bytes from the chunk's start on, */
    uint64_t more;
    uint64_t low, room; /* at most `room` from `low` on, without bits of `odd` */
    uint64_t odd;
    pair *pairs; /* of cells of 1 << log bytes, */
    unsigned log;
    const _Atomic uint32_t *pages; /* where the page has this, */
    uint32_t launch;
    const struct line *lines; /* or the line this, of HEAD_MASK */
    uint64_t head;
    short_record me; /* of lane 0 */
    const struct moments_of *moments;
    bool parallel;
};

struct check_vectors {
    /* For n cells, 16 or 32: what came of it, by flags. With CELLS_BAD one must look closer; the cells are of no use
     * then. */
    uint64_t (*judge)(struct cells *c, unsigned n, const struct now *t, bool write);
    /* n words side by side (a multiple of 16), word k touched by the thread `me` + (k >> shift), by the same flags.
     * With CELLS_BAD the tags are of no use but for who wrote. */
    unsigned (*tags)(uint32_t *written, uint32_t *read, unsigned n, unsigned shift, const struct tag_rule *t,
                     uint32_t me, bool write);
    /* 32 words, each another one, touched by the threads from `me` on, likewise: 16 from each of at[] on, `step` words
     * apart. */
    unsigned (*words)(uint32_t *written, uint32_t *read, const uint32_t at[2], uint32_t step, const struct tag_rule *t,
                      uint32_t me, bool write);
    /* Words of lanes m, any, likewise: that of lane l by the thread me + l. */
    unsigned (*lanes)(uint32_t *written, uint32_t *read, const uint32_t *at, uint32_t m, const struct tag_rule *t,
                      uint32_t me, bool write);
    /* The same where no two lanes touch one word. */
    unsigned (*apart)(uint32_t *written, uint32_t *read, const uint32_t *at, uint32_t m, const struct tag_rule *t,
                      uint32_t me, bool write);
    /* The same of elements that lanes m mean by offsets. The arrays begin where lines do. CELLS_FAR, and nothing was
     * done: some are outside or lie oddly, or lanes of a warp met, or others are better at this, as with AVX-512 where
     * some are the same, unless lanes one behind the other read them. CELLS_ONE: several lanes load one element. */
    unsigned (*near)(uint32_t *written, uint32_t *read, const struct offsets *o, uint32_t m, const struct tag_rule *t,
                     uint32_t me, bool write);
    /* Do lanes m mean elements that were read last by several threads, as the tag `many` says, or by themselves? */
    bool (*again)(const uint32_t *read, const struct offsets *o, uint32_t m, uint32_t many, uint32_t me);
    /* Words 1 << shift apart, 0 or 1, of which lanes m touch theirs, likewise; that of lane 0 is the first. */
    unsigned (*row)(uint32_t *written, uint32_t *read, uint32_t m, unsigned shift, const struct tag_rule *t,
                    uint32_t me, bool write);
    /* Lanes but the first that are in another piece of 1 << log bytes than the lane before them. */
    uint32_t (*parts)(const uint64_t *at, unsigned log);
    /* Are offsets of lanes m, any of them, equal steps apart, from that of lane 0 on? That may be outside of m, and
     * below 0. One lane has steps of `size`. */
    bool (*steps)(const uint32_t *from, uint32_t m, uint32_t size, uint32_t *first, int32_t *step);
    /* How many bytes are elements of lanes m of 16 apart, those of a lane and the next? 0: they differ. */
    int64_t (*stride)(const uint64_t *at, uint32_t m, uint32_t bytes);
    /* The same of lanes m of both halves, whose steps are equal; from: where lanes 0 and 16 are, or would be. -1: they
     * differ. */
    int64_t (*halves)(const uint64_t *at, uint32_t m, uint32_t bytes, uint64_t from[2]);
    /* Which elements lanes m mean: of these lanes, in order. MORE_CELLS behind them may be written, too. False: some
     * are elsewhere. */
    bool (*cells)(const uint64_t *at, uint32_t m, const struct elements *e, uint32_t *cells);
    /* Sets `ones` from each of n bits on, none of which goes on in the next word. Were some set? */
    bool (*mark)(uint64_t *bits, const uint32_t *at, unsigned n, uint64_t ones);
    /* Is each of 32 offsets larger than the one before? */
    bool (*rising)(const uint32_t *from);
    /* 32 words side by side, word l of which lane l ^ flip touches. False, and nothing was done: some of them were
     * touched in this epoch, and not by the warp before its lanes met. */
    bool (*warp)(uint32_t *written, uint32_t *read, unsigned flip, const struct tag_rule *t, uint32_t me, bool write);
    /* Have the words that 32 offsets mean, `on` further and then up to `room`, these tags: `atoms` written, `past` or
     * lower read? */
    bool (*atoms)(const uint32_t *written, const uint32_t *read, const uint32_t *from, int64_t on, uint64_t room,
                  uint32_t atoms, uint32_t past);
    /* n words that several threads read, `me` and others of its warp, likewise. */
    unsigned (*spots)(const uint32_t *written, uint32_t *read, unsigned n, const struct tag_rule *t, uint32_t me);
    /* Of 32 addresses: what each half is, the upper half ROW_BITS up. */
    unsigned (*rows32)(const uint32_t *a, uint32_t bytes);
    unsigned (*rows64)(const uint64_t *a, uint32_t bytes);
    /* Are 32 offsets those of words side by side from *low on, lane l's being word l ^ flip? That; else 32. */
    unsigned (*butterfly)(const uint32_t *a, uint32_t *low);
    /* The elements of 1 << log bytes that 32 offsets mean, `on` further. False: some of lanes m are not within `room`
     * of 0, or have bits of `odd`. */
    bool (*find)(uint32_t *at, const uint32_t *from, uint32_t m, uint32_t on, uint32_t room, uint32_t odd,
                 uint32_t log);
    /* Are all cells of 4 bytes that 32 addresses mean, from `low` on, in `last` with at least `known`? Then they are
     * the lanes', from `mine` on. */
    bool (*count)(uint32_t *last, uint32_t cells, const uint64_t *a, uint64_t low, uint32_t known, uint32_t mine);
    /* Lanes m touch cells whose records, if there are any, are all theirs: these become what they are behind that.
     * False: look closer at all of them; nothing is lost. What nobody has touched is not to be written. */
    bool (*own)(const struct own_cells *x, uint32_t m, bool write);
    /* Words of lanes m, each another one, that at most one thread touched, and each behind what that did. Those lanes
     * of which that can't be said, and to whose words nothing is done; of a write all or none. */
    uint32_t (*groups)(uint32_t *written, uint32_t *read, const uint32_t *at, uint32_t m, const struct group_rule *g,
                       bool write);
    /* Lie those of 32 addresses that lanes m have within `room` of `low`, without the bits of `odd`? */
    bool (*within)(const uint64_t *a, uint32_t m, uint64_t low, uint64_t room, uint64_t odd);
    /* Lanes m of a warp, whose `lanes` struct block has, meet now. `known`: what each has seen from then on. False:
     * they are those that met last. */
    bool (*meet)(uint32_t (*lanes)[SIMT_WARP], uint32_t m, uint32_t now, uint32_t *known);
    /* Which of 32 are the value? */
    uint32_t (*equal)(const uint32_t *values, uint32_t value);
    uint32_t (*alike)(const uint64_t *values, uint64_t value);
    /* Each of n times becomes that in `by`, if that is later. */
    void (*raise)(uint32_t *times, const uint32_t *by, size_t n);
    /* By thread of a warp, the later of two times; the earliest of those comes back. */
    uint32_t (*times)(uint32_t *times, const uint32_t *by, uint32_t time);
    /* Which of lanes m have addresses in so many bytes from `low` on? */
    uint32_t (*inside)(const uint64_t *at, uint32_t m, uint64_t low, uint64_t bytes);
    /* Lanes m, of a group, touch words of a line that has cells of words. False, and nothing was done: not all that was
     * done to these is ordered before, or two lanes touch one. */
    bool (*met)(record *cells, const uint64_t *at, uint32_t m, const struct met_rule *x, bool write);
    /* Do HALF_LANES addresses mean each another word of one line? Which: `words` is of use only then. */
    bool (*whole)(const uint64_t *at, uint8_t *words);
};
extern const struct check_vectors simt_check_base, simt_check_avx2, simt_check_avx512;
const struct check_vectors *simt_check_vectors(void); /* the best for this machine */

#endif
