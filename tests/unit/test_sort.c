/* Sorting where memory runs out, or the user loses patience. What it computes is tested in tests/lua/sort.lua. */
#include "kernels/order.h"
#include "runtime/interrupt.h"
#include "tests/unit/reference.h"

TEST(sort_allocations_fail)
{
    int64_t shape[] = {3, 70000};
    ARRAYS a = test_array(RT_INT16, 2, shape, 3, false), values = {0}, indices = {0};
    struct rt_error error = {0};
    for (int i = 0; i < 6; i++)
        for (long nth = 1;; nth++) {
            rt_fail_allocation(nth);
            enum rt_status status = kn_sort(&a, i % 2, false, i < 4 ? &values : NULL, i > 1 ? &indices : NULL, &error);
            rt_fail_allocation(0);
            CHECK((status == RT_OK && i < 4) == (values.storage != NULL));
            CHECK((status == RT_OK && i > 1) == (indices.storage != NULL));
            rt_array_release(&values);
            rt_array_release(&indices);
            if (status == RT_OK) break;
            CHECK_INT(status, RT_NOMEM);
            CHECK(nth < 100);
            rt_error_clear(&error);
        }
}

TEST(sort_interrupted)
{
    int64_t shape[] = {300, 1000}, n = 300000;
    ARRAYS a = test_array(RT_FLOAT32, 2, shape, 3, false), b = test_array(RT_FLOAT64, 1, &n, 3, false), out = {0};
    rt_interrupt();
    FAILS(RT_INTERRUPTED, "interrupted", kn_sort(&a, 1, false, &out, NULL, e));
    FAILS(RT_INTERRUPTED, "interrupted", kn_sort(&b, 0, false, NULL, &out, e));
    rt_interrupt_clear();
    CHECK(out.storage == NULL);
    FAILS(RT_INVALID, "no axis 3", kn_sort(&a, 2, false, &out, NULL, e));
}
