/* Lines that half a warp touches as a whole: check_half.c. */
#ifndef SIMT_CHECK_HALF_H
#define SIMT_CHECK_HALF_H

#include "runtime/simt/check_cells.h"

struct half { /* of a warp, at an access */
    record first;
    uint8_t words[HALF_LANES];
};

/* Are lanes m, of which that one is the first, half a warp side by side, and touch all words of a line? */
bool simt_half_find(const struct access *a, uint32_t m, unsigned lane, struct half *out);
/* They do, and met each other last. False, and nothing was done: the line has something else, or not all of that is
 * ordered before. */
bool simt_half_touch(const struct simt_check *c, struct line *l, const struct half *x, const struct met_rule *rule,
                     bool write);
/* They wrote it, behind all else, and that is all there is to know from now on. */
void simt_half_begin(const struct simt_check *c, struct line *l, const struct half *x);
/* The records of all cells of 1 << log bytes. */
void simt_half_spread(const struct half_line *h, unsigned log, record *cells);

#endif
