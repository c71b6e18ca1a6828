/* Accesses that race with less than plain ones do, and whether a launch has such and plain ones of the same memory:
 * then one of a thread does not stand for another of it, and cells keep both. They are volatile ones, relaxed ones and
 * the like, and guesses. Atomics are kept apart in any case. */
#ifndef SIMT_CHECK_MIXED_H
#define SIMT_CHECK_MIXED_H

#include "runtime/simt/check_inside.h"

/* When a launch starts: are there both, of memory that may be the same? */
bool simt_check_mixes(const struct simt_check *c);

#endif
