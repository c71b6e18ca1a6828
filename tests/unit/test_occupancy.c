/* Occupancy against figures of CUDA's own calculator, for compute capability 8.0. */
#include <limits.h>
#include "runtime/occupancy.h"
#include "tests/unit/test.h"

static const struct rt_multiprocessor a100 = {
    .threads = 2048, .blocks = 32, .registers = 65536, .shared = 167936, .shared_reserved = 1024, .warp_size = 32};

static void check(int threads, int registers, size_t shared, int blocks, int warps, enum rt_limiter limiter)
{
    struct rt_occupancy o = rt_occupancy_of(&a100, threads, registers, shared);
    CHECK_INT(o.blocks, blocks);
    CHECK_INT(o.warps, warps);
    CHECK_INT(o.max_warps, 64);
    CHECK_STR(rt_limiter_names[o.limiter], rt_limiter_names[limiter]);
}

TEST(what_limits_a_launch)
{
    check(256, 32, 0, 8, 64, RT_LIMIT_THREADS);
    check(1024, 16, 0, 2, 64, RT_LIMIT_THREADS);
    check(768, 16, 0, 2, 48, RT_LIMIT_THREADS);
    check(32, 16, 0, 32, 32, RT_LIMIT_BLOCKS);
    check(64, 32, 0, 32, 64, RT_LIMIT_THREADS); /* a tie with blocks */
    check(256, 64, 0, 4, 32, RT_LIMIT_REGISTERS);
    check(256, 65, 0, 3, 24, RT_LIMIT_REGISTERS); /* 72 a thread: 7 warps of a part, 28 of all */
    check(256, 255, 0, 1, 8, RT_LIMIT_REGISTERS);
    check(128, 32, 49152, 3, 12, RT_LIMIT_SHARED);
    check(128, 32, 1, 16, 64, RT_LIMIT_THREADS);
    check(33, 32, 0, 32, 64, RT_LIMIT_THREADS); /* two warps */
}

TEST(what_does_not_fit_or_does_not_matter)
{
    struct rt_multiprocessor small = a100;
    small.shared_reserved = 0;
    CHECK_INT(rt_occupancy_of(&small, 64, 0, 0).limits[RT_LIMIT_SHARED], INT_MAX);
    CHECK_INT(rt_occupancy_of(&small, 64, 0, 0).limits[RT_LIMIT_REGISTERS], INT_MAX);
    check(1024, 255, 0, 0, 0, RT_LIMIT_REGISTERS);
    check(64, 16, 200000, 0, 0, RT_LIMIT_SHARED);
}
