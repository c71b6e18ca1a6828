/* Sums of windows where they overlap, which is what undoes x:unfold. [raises] as in lang.h. */
#ifndef LG_OVERLAP_H
#define LG_OVERLAP_H

#include "lang/steps.h"

/* Pushes the sum of the segments at idx, (batch, count, n), each `step` behind the one before: (batch, (count - 1) step
 * + n). There is one segment at least. */
int lg_push_overlapped(lua_State *L, int idx, int64_t step);

#endif
