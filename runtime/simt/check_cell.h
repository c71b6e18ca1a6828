/* One lane of an access at a cell: what check_cell.c, which has the rule where three records tell all, and
 * check_listed.c, for cells with lists, know of it together. */
#ifndef SIMT_CHECK_CELL_H
#define SIMT_CHECK_CELL_H

#include "runtime/simt/check_order.h"

#define MOST_RACES 32

struct actor {
    const struct access *access;
    unsigned lane;
    record me;
    bool shared;
    unsigned offset;          /* of the cell in what the lane touches */
    record raced[MOST_RACES]; /* with what; once for an access and a line */
    unsigned races;
    bool hits; /* it races for the cell at hand */
};

static inline bool absent(const struct actor *x, record r)
{
    return x->shared ? r - x->access->block->shared_id >= BLOCK_SPAN : r == 0;
}

static inline bool site_writes(const struct site *s)
{
    return access_of(s) != ACCESS_READ;
}

static inline const struct site *site_of(const struct actor *x, record r)
{
    return &x->access->check->sites[record_site(r)];
}

static inline bool is_atomic(const struct actor *x, record r)
{
    return site_of(x, r)->access == ACCESS_ATOMIC;
}

static inline bool is_writing_atomic(const struct actor *x, record r)
{
    return is_atomic(x, r) && !site_of(x, r)->fails;
}

/* With the number that the block has in global memory's records. */
static inline record as_global(const struct actor *x, record r)
{
    return x->shared ? (r & (BLOCK_SPAN - 1)) | x->access->block->id : r;
}

/* Is it ordered before the access? `must`: that is to be found out, else false may mean that it takes longer. */
static inline bool is_over(const struct actor *x, record r, bool must)
{
    const struct block *b = x->access->block;
    unsigned warp = (unsigned)x->access->warp->index;
    if (absent(x, r)) return true;
    uint64_t at = x->access->at[x->lane] + x->offset, spot = x->shared ? simt_order_spot(b, at) : at;
    return must ? simt_check_ordered(b, as_global(x, r), warp, x->lane, spot)
                : simt_check_surely_ordered(b, as_global(x, r), warp, x->lane, spot);
}

static inline bool gone(const struct actor *x, record r)
{
    return is_over(x, r, true);
}

/* Atomic and volatile accesses, and reads that guess, don't race with each other; but lanes of one warp that pass
 * values through volatile shared memory rely on being in step. */
static inline bool excused(const struct actor *x, record r)
{
    const struct site *mine = x->access->site, *theirs = &x->access->check->sites[record_site(r)];
    if (!(mine->strong || mine->guesses) || !(theirs->strong || theirs->guesses)) return false;
    bool in_step = x->shared && record_thread(r) / SIMT_WARP == (unsigned)x->access->warp->index;
    return !in_step || !mine->is_volatile || !theirs->is_volatile;
}

/* Did another lane of this very instruction make the record? Not so if the lane has none of it yet: then it is of a
 * round before. */
static inline bool is_of_this(const struct actor *x, record r)
{
    const struct access *a = x->access;
    unsigned other = record_thread(r) % SIMT_WARP;
    if (!(a->block->judged >> other & 1)) return false;
    return ((r ^ x->me) & ~(UINT64_C(31) << THREAD_AT)) == 0 && other != x->lane && a->at[other] == a->at[x->lane];
}

static inline bool is_listed(const struct actor *x, record w)
{
    if (!x->shared) return w == LISTED;
    return ((w - x->access->block->shared_id) | SHARED_WRITTEN) == SHARED_LISTED;
}

/* ---- check_cell.c ---- */
/* What a lane stores in its element of that number. */
uint64_t simt_cell_stored(const struct access *a, unsigned lane, unsigned element);
/* Tells of a race with a record's access, unless it is told already. */
void simt_cell_race(struct actor *x, record other);
/* May all that races for the cell be kept? */
bool simt_cell_keeps_races(struct actor *x, uint64_t cell);
/* Makes three records what they are behind the access, of which no race is told. */
void simt_cell_keep(struct actor *x, record *was);

/* ---- check_listed.c ---- */
/* A read of global memory, `me`, for which two others of the block stand: check_readers.c. */
bool simt_history_stands_for(const struct history *h, const struct access *a, record me);
/* A word of global memory, `offset` bytes into what a lane reads, whose records at w, w + all and w + 2 * all stay
 * beside the read, gets a list. False: look closer. */
bool simt_race_list_read(const struct access *a, unsigned lane, unsigned offset, record *w, uint32_t all);
/* Looks at a cell of so many bytes that has, or may need, a list: `was` has its records, which become what they are
 * behind the access. `raced`: threads have raced for it. */
void simt_cell_follow(struct actor *x, record *was, unsigned bytes, bool raced);

#endif
