/* Tallies: additions to global memory whose results nobody looks at, as a histogram makes them. Host threads that add
 * to the same cells pass their cache lines to and fro; so a worker that has done some of them counts the next for
 * itself, in a tally of the allocation, and adds the sums to memory later.
 *
 * Such additions are relaxed: others may see them late, in any order. What others must see comes first: a fence, a
 * volatile access and every other atomic pour the tallies out, and so do the end of a slice, a block that waits for
 * others, and a thread that has no more blocks. The worker itself sees its additions at once: while an allocation has a
 * tally, none of the worker's caches of allocations (ranges, jit_ranges) holds it, so that any other access to it looks
 * the allocation up, and that pours the tally out and ends it (simt_tally_found).
 *
 * Generated code checks an address once for a stretch of code without jumps. A tally begins with an addition that is
 * still made in memory, belongs to one instruction, and is filled by the next run of it: so none is filled between the
 * check and an access that relies on it. */
#ifndef SIMT_TALLY_H
#define SIMT_TALLY_H

#include "runtime/simt/exec.h"

/* Maybe begins a tally for the instruction, which has just added to the allocation that holds the address. */
void simt_tally_try(struct warp *w, const struct insn *i, uint64_t address);
/* The worker is about to touch an allocation that it did not know: ends its tallies. */
void simt_tally_found(struct worker *k, const struct simt_block *b);
/* The same when it knows the allocation, and touches addresses from low to below high. */
void simt_tally_reach(struct worker *k, uint64_t low, uint64_t high);
/* Adds everything to memory. */
void simt_tally_pour(struct worker *k);
void simt_tally_free(struct worker *k);

static inline void simt_tally_settle(struct worker *k)
{
    if (__builtin_expect(k->tallied, 0)) simt_tally_pour(k);
}

#endif
