/* mbarrier and asynchronous copies, between decode_async.c and ops_async.c. */
#ifndef SIMT_ASYNC_H
#define SIMT_ASYNC_H

#include "runtime/simt/exec.h"

/* The mode of "+mbarrier": slot b counts arrivals, or bytes. */
enum {
    MBARRIER_INIT,
    MBARRIER_INVAL,
    MBARRIER_EXPECT,
    MBARRIER_COMPLETE,
    MBARRIER_ARRIVE,
    MBARRIER_ARRIVE_EXPECT,
    MBARRIER_DROP,
    MBARRIER_DROP_EXPECT
};
#define SLOT_NOWHERE UINT32_MAX /* for d: the state is not wanted */

/* What program->extra holds of a bulk copy. Slots a and b are whole addresses, c the number of bytes. */
struct async_bulk {
    uint32_t destination, source; /* enum ptx_space: shared or global */
    uint32_t barrier;             /* slot of the mbarrier's address; 0 when there is none */
};

#endif
