/* Factoring matrices in C: products give back what was factored, allocations fail in turn, nothing is left behind. What
 * the functions of Lua check is in tests/lua/linalg.lua. */
#include "kernels/linalg.h"
#include "runtime/library.h"
#include "tests/unit/reference.h"

static void release_all(struct rt_array *out)
{
    for (int i = 0; i < KN_FACTORS; i++) rt_array_release(&out[i]);
}

static struct rt_array random_batch(enum rt_dtype t, int64_t count, int64_t rows, int64_t columns, uint32_t seed)
{
    int64_t shape[] = {count, rows, columns};
    struct rt_array a = test_array(t, 3, shape, seed, false);
    for (int64_t i = 0; i < count * rows * columns; i++) /* a strong diagonal keeps them regular */
        if (i / columns % rows == i % columns) rt_store_double(t, element(&a, i), get(&a, i) + 40);
    return a;
}

static void start(void)
{
    if (!rt_library_find(RT_LIB_OPENBLAS)->path) SKIP("no OpenBLAS");
}

TEST(linalg_solve)
{
    start();
    for (int t = 0; t < 2; t++) {
        enum rt_dtype dtype = t ? RT_FLOAT64 : RT_FLOAT32;
        ARRAYS a = random_batch(dtype, 7, 6, 6, 1), b = random_batch(dtype, 7, 6, 2, 2), back = {0};
        struct rt_array out[KN_FACTORS];
        OK(kn_factor(KN_SOLVE, &a, &b, NULL, out, e));
        CHECK(out[1].storage == NULL);
        OK(kn_matmul(&a, &out[0], &back, e));
        for (int64_t i = 0; i < 7 * 6 * 2; i++) CHECK_NEAR(get(&back, i), get(&b, i), t ? 1e-12 : 1e-3);
        release_all(out);
    }
}

TEST(linalg_16_bit_floats)
{
    start();
    ARRAYS a = random_batch(RT_BFLOAT16, 1, 3, 3, 1), wide = {0}, back = {0};
    struct rt_array out[KN_FACTORS];
    OK(kn_convert(&a, RT_FLOAT32, test_device(), &wide, e));
    OK(kn_factor(KN_INV, &wide, NULL, NULL, out, e));
    OK(kn_convert(&out[0], RT_BFLOAT16, test_device(), &back, e));
    release_all(out);
    OK(kn_factor(KN_INV, &a, NULL, NULL, out, e));
    CHECK_INT(out[0].dtype, RT_BFLOAT16);
    for (int64_t i = 0; i < 9; i++) CHECK(get(&out[0], i) == get(&back, i));
    release_all(out);
}

TEST(linalg_failures_leave_nothing)
{
    start();
    int64_t shape[] = {2, 2};
    struct rt_array out[KN_FACTORS];
    ARRAYS zero = {0}, integers = test_array(RT_INT32, 2, shape, 1, false);
    OK(rt_array_new(test_device(), RT_FLOAT64, 2, shape, &zero, e));
    OK(kn_fill(&zero, &(struct kn_operand){0}, e));
    FAILS(RT_INVALID, "pivot 1 of 2", kn_factor(KN_INV, &zero, NULL, NULL, out, e));
    for (int i = 0; i < KN_FACTORS; i++) CHECK(out[i].storage == NULL);
    OK(kn_factor(KN_SVD, &integers, NULL, NULL, out, e));
    CHECK_INT(out[1].dtype, RT_FLOAT32);
    release_all(out);
}

TEST(linalg_without_openblas)
{
    setenv("LUNARRAY_OPENBLAS", "/no/such/place", 1);
    struct rt_array out[KN_FACTORS];
    ARRAYS a = random_batch(RT_FLOAT64, 1, 3, 3, 1);
    FAILS(RT_MISSING, "OpenBLAS was not found", kn_factor(KN_INV, &a, NULL, NULL, out, e));
    CHECK(out[0].storage == NULL);
}

TEST(linalg_allocations_fail)
{
    start();
    ARRAYS a = random_batch(RT_INT16, 3, 5, 4, 1), b = random_batch(RT_FLOAT64, 3, 5, 2, 2);
    struct rt_array out[KN_FACTORS];
    struct rt_error error = {0};
    OK(kn_factor(KN_LSTSQ, &a, &b, NULL, out, e)); /* opens the library */
    release_all(out);
    for (int what = 0; what < KN_FACTORING_COUNT; what++) {
        bool rectangular = what == KN_LSTSQ || what == KN_QR || what == KN_SVD;
        ARRAYS square = random_batch(RT_FLOAT32, 3, 4, 4, 1), right = random_batch(RT_FLOAT32, 3, 4, 1, 2);
        bool two = what == KN_SOLVE || what == KN_TRIANGULAR || what == KN_LSTSQ;
        for (long nth = 1;; nth++) {
            rt_fail_allocation(nth);
            enum rt_status status = kn_factor((enum kn_factoring)what, rectangular ? &a : &square,
                                              two ? (what == KN_LSTSQ ? &b : &right) : NULL, NULL, out, &error);
            rt_fail_allocation(0);
            if (status == RT_OK) break;
            if (status == RT_INVALID && what == KN_CHOLESKY) break; /* they need not be positive definite */
            CHECK_INT(status, RT_NOMEM);
            for (int i = 0; i < KN_FACTORS; i++) CHECK(out[i].storage == NULL);
            CHECK(nth < 100);
            rt_error_clear(&error);
        }
        rt_error_clear(&error);
        release_all(out);
    }
}
