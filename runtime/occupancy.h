/* How many blocks of a launch a multiprocessor holds at once, and what keeps it from holding more. */
#ifndef RT_OCCUPANCY_H
#define RT_OCCUPANCY_H

#include <limits.h>
#include "runtime/device.h"

/* What a multiprocessor has room for. */
struct rt_multiprocessor {
    int threads, blocks, registers;
    size_t shared;          /* bytes */
    size_t shared_reserved; /* bytes of it that each block costs besides its own */
    int warp_size;
};
enum rt_status rt_multiprocessor_read(struct rt_device *d, struct rt_multiprocessor *out, struct rt_error *e);

/* In the order in which a tie is decided. */
enum rt_limiter { RT_LIMIT_THREADS, RT_LIMIT_REGISTERS, RT_LIMIT_SHARED, RT_LIMIT_BLOCKS, RT_LIMITER_COUNT };
extern const char *const rt_limiter_names[RT_LIMITER_COUNT]; /* "threads", "registers", "shared memory", "blocks" */

struct rt_occupancy {
    int limits[RT_LIMITER_COUNT]; /* blocks that each would allow; INT_MAX where it does not matter */
    enum rt_limiter limiter;      /* the smallest of them */
    int blocks, warps;            /* of the launch that a multiprocessor holds */
    int max_warps;                /* that it has room for */
};
/* Warps whose registers fit a multiprocessor: they are handed out to whole warps in units of 256, from four parts of
 * the register file that share nothing. INT_MAX when a thread uses none. */
static inline int rt_warps_by_registers(int all, int registers, int warp_size)
{
    int of_warp = (registers * warp_size + 255) / 256 * 256, parts = 4;
    return of_warp ? all / parts / of_warp * parts : INT_MAX;
}
/* `threads` and `shared` (bytes, static and dynamic) are of a block, `registers` of a thread. */
struct rt_occupancy rt_occupancy_of(const struct rt_multiprocessor *m, int threads, int registers, size_t shared);

#endif
