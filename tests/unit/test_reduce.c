/* Reductions over every dtype, axis and layout, against a plain reference. */
#include "runtime/interrupt.h"
#include "tests/unit/levels.h"
#include "tests/unit/rows_reference.h"

static void check(enum kn_reduction k, const struct rt_array *a, int axis)
{
    check_reductions(1u << k, a, axis);
}

#define BUT_PRODUCTS (((1u << KN_REDUCTION_COUNT) - 1) & ~(1u << KN_PROD)) /* which overflow */

static void check_all(const struct rt_array *a)
{
    for (int axis = -1; axis < a->ndim; axis++) check_reductions(BUT_PRODUCTS, a, axis);
}

TEST(reduce_every_dtype)
{
    int64_t shape[] = {7, 70, 3};
    for (int t = 0; t < RT_COMPLEX64; t++) { /* complex ones: tests/numpy/test_complex.py */
        ARRAYS a = test_array((enum rt_dtype)t, 3, shape, 3, false);
        check_all(&a);
        rt_array_release(&a);
    }
}

TEST(reduce_special_values)
{
    int64_t shape[] = {40, 90};
    static const enum rt_dtype dtypes[] = {RT_FLOAT32, RT_FLOAT64, RT_FLOAT16, RT_INT8, RT_INT64, RT_UINT32};
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        ARRAYS a = test_array(dtypes[i], 2, shape, 9, true);
        for (int axis = -1; axis < 2; axis++) {
            check(KN_MIN, &a, axis);
            check(KN_MAX, &a, axis);
            check(KN_ARGMIN, &a, axis);
            check(KN_ARGMAX, &a, axis);
            check(KN_ANY, &a, axis);
            check(KN_ALL, &a, axis);
        }
        rt_array_release(&a);
    }
}

TEST(reduce_products)
{
    static const enum rt_dtype dtypes[] = {RT_FLOAT32, RT_FLOAT64, RT_FLOAT16, RT_BFLOAT16};
    int64_t shape[] = {20, 70};
    for (int i = 0; i < 4; i++) {
        ARRAYS a = test_array(dtypes[i], 2, shape, 9, false);
        for (int64_t k = 0; k < 1400; k++) rt_store_double(dtypes[i], element(&a, k), 1 + get(&a, k) / 256);
        for (int axis = -1; axis < 2; axis++) check(KN_PROD, &a, axis);
        rt_array_release(&a);
    }
}

TEST(reduce_integer_products)
{
    int64_t shape[] = {5, 80};
    ARRAYS a = test_array(RT_INT32, 2, shape, 3, false), small = {0}, out = {0};
    OK(rt_array_slice(&a, 1, 3, 4, 7, &small, e));
    check(KN_PROD, &small, 0);
    check(KN_PROD, &small, 1);
    OK(kn_reduce(KN_PROD, &a, KN_ALL_AXES, false, &out, e)); /* wraps: compare all 64 bits */
    uint64_t want = 1;
    for (int64_t i = 0; i < 400; i++) want *= (uint64_t)get_int(&a, i);
    CHECK_INT(get_int(&out, 0), (int64_t)want);
}

TEST(reduce_views)
{
    int64_t shape[] = {90, 6, 75};
    ARRAYS a = test_array(RT_FLOAT32, 3, shape, 3, false), p = {0}, s = {0}, b = {0};
    OK(rt_array_permute(&a, (int[]){2, 0, 1}, &p, e));
    check_all(&p);
    OK(rt_array_slice(&p, 0, 74, 37, -2, &s, e));
    check_all(&s);
    OK(rt_array_select(&s, 2, 3, &b, e));
    check_all(&b);
    rt_array_release(&b);
    int64_t row[] = {5}, wide[] = {80, 5};
    ARRAYS r = test_array(RT_INT16, 1, row, 3, false);
    OK(rt_array_broadcast(&r, 2, wide, &b, e));
    check_all(&b);
}

/* Backwards, every other one, and both, of so many rows, or elements of each, that those between them are combined,
 * too, and of fewer. */
TEST(reduce_rows_that_lie_apart)
{
    static const int64_t shapes[][3] = {{17, 3, 67}, {3, 5, 64}, {2, 8, 8}, {16, 1, 7}, {40, 2, 9}, {7, 1, 65}};
    for (int t = 0; t < RT_COMPLEX64; t++)
        for (int i = 0; i < 18; i++) {
            const int64_t *shape = shapes[i / 3], step = i % 3 == 0 ? -1 : i % 3 == 1 ? 2 : -2, n = shape[2];
            int64_t whole[] = {shape[0], shape[1], (n - 1) * (step == -1 ? 1 : 2) + 1};
            ARRAYS a = test_array((enum rt_dtype)t, 3, whole, 3, false), s = {0}, p = {0};
            OK(rt_array_slice(&a, 2, step < 0 ? whole[2] - 1 : 0, n, step, &s, e));
            check_all(&s);
            OK(rt_array_permute(&s, (int[]){2, 0, 1}, &p, e));
            check_all(&p);
        }
}

TEST(reduce_rows_that_lie_apart_in_their_places)
{
    int64_t shape[] = {20, 5, 30, 70};
    ARRAYS a = test_array(RT_FLOAT64, 4, shape, 3, false), s = {0}, out = {0}, kept = {0};
    OK(rt_array_slice(&a, 3, 69, 35, -2, &s, e));
    OK(kn_reduce(KN_SUM, &s, 1u << 0 | 1u << 2, false, &out, e));
    OK(kn_reduce(KN_SUM, &s, 1u << 0 | 1u << 2, true, &kept, e));
    CHECK_INT(kept.ndim, 4);
    for (int i = 0; i < 4; i++) CHECK_INT(kept.shape[i], ((int[]){1, 5, 1, 35})[i]);
    for (int64_t k = 0; k < 5 * 35; k++) {
        double want = 0;
        for (int64_t i = 0; i < 20 * 30; i++) want += get(&s, ((i / 30 * 5 + k / 35) * 30 + i % 30) * 35 + k % 35);
        CHECK(fabs(get(&out, k) - want) <= 1e-12 * 600 && get(&kept, k) == get(&out, k));
    }
    struct rt_array none;
    FAILS(RT_INVALID, "axis", kn_reduce(KN_SUM, &s, 1u << 4, false, &none, e));
}

/* Of columns that lie backwards the bits are those of columns that lie in a wider array, which are not combined as more
 * of them. */
TEST(reduce_rows_that_lie_apart_to_the_same_bits)
{
    int64_t shape[] = {400, 300}, wide[] = {400, 301};
    ARRAYS a = test_array(RT_FLOAT64, 2, shape, 3, false), b = test_array(RT_FLOAT64, 2, wide, 3, false);
    ARRAYS flipped = {0}, part = {0}, got = {0}, want = {0};
    for (int64_t i = 0; i < 400 * 300; i++) {
        const double v = sin((double)i);
        rt_store_double(RT_FLOAT64, element(&a, i), v);
        rt_store_double(RT_FLOAT64, element(&b, i / 300 * 301 + i % 300), v);
    }
    OK(rt_array_slice(&a, 1, 299, 300, -1, &flipped, e));
    OK(rt_array_slice(&b, 1, 0, 300, 1, &part, e));
    OK(kn_reduce(KN_SUM, &flipped, 1, false, &got, e));
    OK(kn_reduce(KN_SUM, &part, 1, false, &want, e));
    for (int64_t i = 0; i < 300; i++) CHECK(get(&got, i) == get(&want, 299 - i));
}

TEST(reduce_long_rows)
{
    int64_t n = 3 * 65536 + 17, shape[] = {2, 150001}, turned[] = {150001, 2}, sides[] = {300, 301};
    ARRAYS a = test_array(RT_FLOAT32, 1, &n, 3, false), b = test_array(RT_FLOAT64, 2, shape, 4, true);
    ARRAYS c = test_array(RT_INT8, 2, turned, 5, true), d = test_array(RT_FLOAT32, 2, sides, 6, false);
    check_all(&a);
    check(KN_ARGMAX, &b, 1);
    check(KN_ARGMIN, &b, -1);
    check(KN_MAX, &b, 0);
    check(KN_SUM, &c, 0);
    check(KN_ARGMIN, &c, 0);
    check(KN_ARGMIN, &c, 1);
    check(KN_ARGMAX, &c, -1);
    check_all(&d);
}

/* Of numbers on both sides of 2^63, in rows of all short lengths and long ones. */
TEST(reduce_unsigned_extremes)
{
    for (int64_t n = 1; n < 9000; n += n < 100 ? 1 : 1111) {
        const int64_t shape[] = {5, n};
        ARRAYS a = test_array(RT_UINT64, 2, shape, 1, false), least = {0}, most = {0}, at = {0};
        uint64_t *values = rt_array_host(&a), state = (uint64_t)n;
        for (int64_t i = 0; i < 5 * n; i++) values[i] = state = state * 6364136223846793005u + 1442695040888963407u;
        OK(kn_reduce(KN_MIN, &a, axes_of(1), false, &least, e));
        OK(kn_reduce(KN_MAX, &a, axes_of(1), false, &most, e));
        OK(kn_reduce(KN_ARGMAX, &a, axes_of(1), false, &at, e));
        for (int64_t row = 0; row < 5; row++, values += n) {
            int64_t low = 0, high = 0;
            for (int64_t i = 1; i < n; i++) {
                if (values[i] < values[low]) low = i;
                if (values[i] > values[high]) high = i;
            }
            CHECK(((uint64_t *)rt_array_host(&least))[row] == values[low]);
            CHECK(((uint64_t *)rt_array_host(&most))[row] == values[high]);
            CHECK_INT(((int64_t *)rt_array_host(&at))[row], high + 1);
        }
    }
}

TEST(reduce_accurately)
{
    /* One million times 0.1 in float32: adding one after the other is off by hundreds. */
    int64_t shape[] = {1000, 1000};
    ARRAYS a = {0}, out = {0};
    OK(rt_array_new(test_device(), RT_FLOAT32, 2, shape, &a, e));
    OK(kn_fill(&a, &(struct kn_operand){.is_float = true, .f = 0.1}, e));
    OK(kn_reduce(KN_SUM, &a, KN_ALL_AXES, false, &out, e));
    CHECK_NEAR(get(&out, 0), 100000.00149, 0.004); /* one rounding of the result */
    rt_array_release(&out);
    OK(kn_reduce(KN_SUM, &a, axes_of(1), false, &out, e));
    CHECK_NEAR(get(&out, 999), 100.00000149, 4e-6);
    rt_array_release(&out);
    OK(kn_fill(&a, &(struct kn_operand){.is_float = true, .f = -0.0}, e));
    OK(kn_reduce(KN_SUM, &a, axes_of(1), false, &out, e));
    CHECK(signbit(get(&out, 0)));
    rt_array_release(&out);
    OK(kn_fill(&a, &(struct kn_operand){.is_float = true, .f = 0.1}, e));
    OK(kn_reduce(KN_MEAN, &a, axes_of(0), false, &out, e));
    CHECK_NEAR(get(&out, 999), 0.1f, 1e-7);
    rt_array_release(&out);
    rt_array_release(&a);
    OK(rt_array_new(test_device(), RT_FLOAT64, 2, shape, &a, e));
    OK(kn_fill(&a, &(struct kn_operand){.is_float = true, .f = 0.1}, e));
    OK(kn_reduce(KN_SUM, &a, KN_ALL_AXES, false, &out, e));
    CHECK_NEAR(get(&out, 0), 100000, 2e-10); /* one after the other: off by a millionth */
}

/* The bits of sums over rows that are read side by side, one by one, by parts and far apart. */
static uint64_t bits_of_sums(void)
{
    static const enum rt_dtype dtypes[] = {RT_FLOAT32, RT_FLOAT64, RT_COMPLEX64, RT_FLOAT16};
    int64_t shape[] = {9, 5003}, whole = 70001;
    uint64_t sum = 0;
    for (int i = 0; i < 4; i++) {
        ARRAYS a = test_array(dtypes[i], 2, shape, 3, false), b = test_array(dtypes[i], 1, &whole, 4, true);
        const struct rt_array *of[] = {&a, &a, &b};
        for (int k = 0; k < 3; k++) {
            ARRAYS out = {0};
            if (kn_reduce(KN_MEAN, of[k], k == 2 ? KN_ALL_AXES : 1u << k, false, &out, NULL) != RT_OK) return 0;
            const unsigned char *p = rt_array_host(&out);
            size_t bytes = (size_t)rt_array_size(&out) * rt_dtypes[out.dtype].size;
            for (size_t j = 0; j < bytes; j++) sum = (sum ^ p[j]) * 0x100000001b3u;
        }
    }
    return sum;
}

TEST(every_instruction_set_gives_the_same_sums)
{
    check_levels(bits_of_sums);
}

TEST(reduce_shapes)
{
    int64_t shape[] = {2, 3, 4};
    ARRAYS a = test_array(RT_FLOAT32, 3, shape, 3, false), out = {0};
    char text[64];
    OK(kn_reduce(KN_SUM, &a, axes_of(1), true, &out, e));
    CHECK_STR(rt_shape_text(out.ndim, out.shape, text, sizeof text), "(2, 1, 4)");
    rt_array_release(&out);
    OK(kn_reduce(KN_SUM, &a, KN_ALL_AXES, true, &out, e));
    CHECK_STR(rt_shape_text(out.ndim, out.shape, text, sizeof text), "(1, 1, 1)");
    rt_array_release(&out);
    OK(kn_reduce(KN_ARGMAX, &a, axes_of(2), false, &out, e));
    CHECK_STR(rt_shape_text(out.ndim, out.shape, text, sizeof text), "(2, 3)");
    rt_array_release(&out);
    FAILS(RT_INVALID, "axis", kn_reduce(KN_SUM, &a, axes_of(3), false, &out, e));
}

TEST(reduce_nothing)
{
    int64_t shape[] = {3, 0};
    ARRAYS a = {0}, out = {0};
    OK(rt_array_new(test_device(), RT_FLOAT32, 2, shape, &a, e));
    static const double sum_prod_any_all[][2] = {{KN_SUM, 0}, {KN_PROD, 1}, {KN_ANY, 0}, {KN_ALL, 1}};
    for (int i = 0; i < 4; i++) {
        OK(kn_reduce((enum kn_reduction)sum_prod_any_all[i][0], &a, axes_of(1), false, &out, e));
        CHECK_INT(rt_array_size(&out), 3);
        CHECK_NEAR(get(&out, 2), sum_prod_any_all[i][1], 0);
        rt_array_release(&out);
        OK(kn_reduce((enum kn_reduction)sum_prod_any_all[i][0], &a, KN_ALL_AXES, false, &out, e));
        CHECK_NEAR(get(&out, 0), sum_prod_any_all[i][1], 0);
        rt_array_release(&out);
    }
    OK(kn_reduce(KN_MIN, &a, axes_of(0), false, &out, e)); /* no rows, so nothing is without a value */
    CHECK_INT(rt_array_size(&out), 0);
    rt_array_release(&out);
    FAILS(RT_INVALID, "(3, 0)", kn_reduce(KN_MIN, &a, axes_of(1), false, &out, e));
    FAILS(RT_INVALID, "mean", kn_reduce(KN_MEAN, &a, KN_ALL_AXES, false, &out, e));
    FAILS(RT_INVALID, "argmax", kn_reduce(KN_ARGMAX, &a, KN_ALL_AXES, false, &out, e));
    CHECK(out.storage == NULL);
}

TEST(reduce_scalars)
{
    ARRAYS a = test_array(RT_INT16, 0, NULL, 3, false);
    check_reductions(BUT_PRODUCTS | 1u << KN_PROD, &a, -1);
}

TEST(reduce_interrupted)
{
    int64_t n = 1 << 20;
    ARRAYS a = test_array(RT_FLOAT32, 1, &n, 3, false), out = {0};
    rt_interrupt();
    FAILS(RT_INTERRUPTED, "interrupted", kn_reduce(KN_SUM, &a, KN_ALL_AXES, false, &out, e));
    rt_interrupt_clear();
    CHECK(out.storage == NULL);
}

TEST(reduce_allocations_fail)
{
    int64_t shape[] = {70, 300};
    ARRAYS a = test_array(RT_INT16, 2, shape, 3, false), flipped = {0}, out = {0};
    struct rt_error error = {0};
    static const enum kn_reduction kinds[] = {KN_SUM, KN_ARGMAX, KN_MEAN};
    OK(rt_array_slice(&a, 1, 299, 300, -1, &flipped, e));
    for (int i = 0; i < 18; i++)
        for (long nth = 1;; nth++) {
            rt_fail_allocation(nth);
            enum rt_status status =
                kn_reduce(kinds[i % 3], i < 9 ? &a : &flipped, axes_of(i / 3 % 3 - 1), false, &out, &error);
            rt_fail_allocation(0);
            rt_array_release(&out);
            if (status == RT_OK) break;
            CHECK_INT(status, RT_NOMEM);
            CHECK(nth < 100);
            rt_error_clear(&error);
        }
}
