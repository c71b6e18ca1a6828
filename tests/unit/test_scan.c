/* Scans where memory runs out, or the user loses patience. What they compute is tested in tests/lua/scan.lua. */
#include "runtime/interrupt.h"
#include "tests/unit/reference.h"

TEST(scan_allocations_fail)
{
    int64_t shape[] = {2, 70000};
    ARRAYS a = test_array(RT_INT16, 2, shape, 3, false), turned = {0}, out = {0};
    struct rt_error error = {0};
    OK(rt_array_permute(&a, (int[]){1, 0}, &turned, e));
    for (int i = 0; i < 4; i++)
        for (long nth = 1;; nth++) {
            rt_fail_allocation(nth);
            enum rt_status status = kn_scan((enum kn_scan)i, i % 2 ? &a : &turned, i / 2, &out, &error);
            rt_fail_allocation(0);
            if (status == RT_OK) {
                rt_array_release(&out);
                break;
            }
            CHECK(out.storage == NULL);
            CHECK_INT(status, RT_NOMEM);
            CHECK(nth < 100);
            rt_error_clear(&error);
        }
}

TEST(scan_interrupted)
{
    int64_t shape[] = {3, 200000};
    ARRAYS a = test_array(RT_FLOAT32, 2, shape, 3, false), out = {0};
    rt_interrupt();
    for (int axis = -1; axis < 2; axis++) FAILS(RT_INTERRUPTED, "interrupted", kn_scan(KN_CUMSUM, &a, axis, &out, e));
    rt_interrupt_clear();
    CHECK(out.storage == NULL);
    FAILS(RT_INVALID, "no axis 3", kn_scan(KN_CUMSUM, &a, 2, &out, e));
    OK(kn_scan(KN_CUMSUM, &a, 0, &out, e));
    for (int64_t i = 0; i < 200000; i++) CHECK_NEAR(get(&out, i + 200000), get(&a, i) + get(&a, i + 200000), 1e-5);
}
