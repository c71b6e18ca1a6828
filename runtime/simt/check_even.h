/* Arrays of global memory to which all blocks of a launch do the same, each in a stretch of its own: check_even.c. */
#ifndef SIMT_CHECK_EVEN_H
#define SIMT_CHECK_EVEN_H

#include "runtime/simt/check_sums.h"

/* When a launch starts: nothing but these instructions can touch the allocation. Is it such an array? */
bool simt_even_add(const struct simt_sums *l, struct simt_check *c, uint64_t allocation, const uint32_t *pcs,
                   size_t count);
/* Then, with what check_steady.c knows: do ways of threads depend on the block, and how far does that matter? */
void simt_even_begin(struct simt_check *c);
void simt_even_start(struct block *b); /* a block begins: fills b->even */
void simt_even_end(struct block *b);
/* Was one right there that did the same? */
bool simt_even_quiet(const struct block *b, uint64_t allocation);
/* Leaves of the span, where that is one of these arrays and none was right yet, the block's stretch, or notes that the
 * block goes elsewhere. */
void simt_even_narrow(const struct access *a, uint64_t allocation, uint64_t address, struct span *s);

#endif
