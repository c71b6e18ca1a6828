/* What an access of up to 32 lanes means for the records of what they touch (check_race.c): compiled for each
 * instruction set by the file that includes this, which sets JUDGE_CELLS to the function's name. */
#include "runtime/simt/check_cells.h"

uint64_t JUDGE_CELLS(struct cells *c, const struct now *t, bool write)
{
    uint64_t flags = 0;
    if (write && t->shared)
        for (int k = 0; k < SIMT_WARP; k++) flags |= judge_write(c, k, t, true);
    else if (write)
        for (int k = 0; k < SIMT_WARP; k++) flags |= judge_write(c, k, t, false);
    else if (t->shared)
        for (int k = 0; k < SIMT_WARP; k++) flags |= judge_read(c, k, t, true);
    else
        for (int k = 0; k < SIMT_WARP; k++) flags |= judge_read(c, k, t, false);
    return flags;
}
