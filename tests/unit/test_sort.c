/* Sorting, and what rests on it, where memory runs out or the user loses patience. What is computed is tested in
 * tests/lua/sort.lua and order.lua. */
#include "kernels/order.h"
#include "kernels/statistics.h"
#include "kernels/quicksort.h"
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

TEST(row_allocations_fail)
{
    int64_t n = 100;
    ARRAYS a = test_array(RT_FLOAT32, 1, &n, 3, false), out = {0}, places = {0};
    struct rt_error error = {0};
    for (int i = 0; i < 2; i++)
        for (long nth = 1;; nth++) {
            rt_fail_allocation(nth);
            enum rt_status status =
                i == 0 ? kn_topk(&a, 5, 0, true, &out, &places, &error) : kn_unique(&a, &out, NULL, NULL, &error);
            rt_fail_allocation(0);
            CHECK((status == RT_OK) == (out.storage != NULL));
            CHECK((status == RT_OK && i == 0) == (places.storage != NULL));
            rt_array_release(&out);
            rt_array_release(&places);
            if (status == RT_OK) break;
            CHECK_INT(status, RT_NOMEM);
            CHECK(nth < 100);
            rt_error_clear(&error);
        }
}

static enum rt_status statistic(const struct rt_array *a, enum kn_statistic_kind kind, unsigned axes, double number,
                                struct rt_array *out, struct rt_error *e)
{
    struct kn_expression *x = NULL;
    const struct kn_source from = {.operand = {.array = a}};
    enum rt_status status =
        kn_expression_statistic(&(struct kn_statistic){.kind = kind, .axes = axes, .number = number}, &from, &x, e);
    if (status == RT_OK) status = kn_expression_evaluate(x, e);
    if (status == RT_OK) rt_array_share(kn_expression_value(x), out);
    kn_expression_release(x);
    return status;
}

/* Everything of order.h once, and statistics; out has what was made. */
static enum rt_status call(int which, const struct rt_array *a, struct rt_array out[3], struct rt_error *e)
{
    static const double q[] = {0.25, 1};
    switch (which) {
    case 0: return kn_topk(a, 2, 1, true, &out[0], &out[1], e);
    case 1: return kn_search(&out[2], a, true, &out[0], e);
    case 2: return kn_unique(a, &out[0], &out[1], NULL, e);
    case 3: return kn_unique(a, &out[0], NULL, &out[1], e);
    case 4: return kn_bincount(a, 5, &out[0], e);
    case 5: return kn_histogram(a, &out[2], &out[0], e);
    case 6: return kn_quantile(a, &(struct kn_quantiles){"quantile", q, 2, true, KN_LINEAR}, 2, true, &out[0], e);
    case 7: return statistic(a, KN_DEVIATION, 2, 1, &out[0], e);
    case 8: return statistic(a, KN_NORM, 1, 3, &out[0], e);
    default: return statistic(a, KN_LOGSUMEXP, KN_ALL_AXES, 0, &out[0], e);
    }
}

TEST(order_allocations_fail)
{
    int64_t shape[] = {30, 40}, edges = 4;
    ARRAYS a = test_array(RT_UINT16, 2, shape, 3, false), turned = {0}, sorted = {0};
    struct rt_error error = {0};
    OK(rt_array_permute(&a, (int[]){1, 0}, &turned, e));
    OK(rt_array_new(test_device(), RT_FLOAT64, 1, &edges, &sorted, e));
    OK(kn_sequence(&sorted, &(struct kn_operand){.i = 0}, &(struct kn_operand){.i = 5}, e));
    for (int i = 0; i < 10; i++)
        for (long nth = 1;; nth++) {
            struct rt_array out[3] = {{0}, {0}, sorted};
            rt_fail_allocation(nth);
            enum rt_status status = call(i, &turned, out, &error);
            rt_fail_allocation(0);
            CHECK((status == RT_OK) == (out[0].storage != NULL));
            rt_array_release(&out[0]);
            rt_array_release(&out[1]);
            if (status == RT_OK) break;
            CHECK_INT(status, RT_NOMEM);
            CHECK(nth < 100);
            rt_error_clear(&error);
        }
}

TEST(order_interrupted)
{
    int64_t n = 300000, edges = 4;
    ARRAYS a = test_array(RT_UINT16, 1, &n, 3, false), sorted = {0};
    OK(rt_array_new(test_device(), RT_FLOAT64, 1, &edges, &sorted, e));
    OK(kn_sequence(&sorted, &(struct kn_operand){.i = 0}, &(struct kn_operand){.i = 5}, e));
    rt_interrupt();
    for (int i = 1; i < 6; i++) {
        struct rt_array out[3] = {{0}, {0}, sorted};
        FAILS(RT_INTERRUPTED, "interrupted", call(i, &a, out, e));
        CHECK(out[0].storage == NULL && out[1].storage == NULL);
    }
    rt_interrupt_clear();
}

static int compare_32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}
static int compare_64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* What is not made for few values among many points, and where a key's number has no room. */
TEST(interp_of_few_values_makes_no_keys)
{
    const int64_t one = 1, many = 1 << 14, short_ = 1 << 13;
    ARRAYS x = test_array(RT_FLOAT64, 1, &many, 3, false), y = test_array(RT_FLOAT64, 1, &many, 4, false);
    ARRAYS value = test_array(RT_FLOAT64, 1, &one, 5, false), point = test_array(RT_FLOAT64, 1, &one, 6, false);
    ARRAYS few = test_array(RT_FLOAT64, 1, &short_, 3, false), out = {0};
    FAILS(RT_UNSUPPORTED, "too many points", kn_interp(&value, &x, &y, 0, 0, &out, e));
    CHECK_INT(kn_interp(&x, &x, &y, 0, 0, &out, NULL), RT_OK);
    rt_array_release(&out);
    CHECK_INT(kn_interp(&value, &few, &few, 0, 0, &out, NULL), RT_OK);
    rt_array_release(&out);
    point.shape[0] = (int64_t)INT32_MAX + 1;
    point.strides[0] = 0;
    FAILS(RT_UNSUPPORTED, "too many points", kn_interp(&point, &point, &point, 0, 0, &out, e));
    CHECK(out.storage == NULL);
}

/* Truth values take a byte each of the room for what a small array's statistic computes, and NaN is looked for once. */
TEST(variance_without_nan_of_a_small_array)
{
    const int64_t n = 1024;
    const struct kn_statistic s = {KN_NANDEVIATION, KN_SUM, KN_ALL_AXES, 1};
    ARRAYS a = test_array(RT_FLOAT64, 1, &n, 3, false);
    enum rt_dtype t;
    double value;
    CHECK(kn_small_statistic(&s, &a, &t, &value));
    CHECK_INT(t, RT_FLOAT64);
}

#define MOST 4097
/* All lengths that are sorted in registers, and longer ones; few and many different keys, the greatest among them, and
 * keys that rise or fall already. */
TEST(sort_in_place_by_vectors)
{
    static const uint32_t masks[] = {0xffffffff, 0xff, 3, 0};
    static uint32_t a[MOST], want_a[MOST];
    static uint64_t b[MOST], want_b[MOST];
    uint32_t state = 5;
    if (!kn_quick_available()) SKIP("the processor has no AVX2");
    for (size_t n = 0; n <= MOST; n += n < 300 ? 1 : n < 4095 ? 11 : 1)
        for (int m = 0; m < 6; m++) {
            for (size_t i = 0; i < n; i++) {
                uint32_t bits = random_bits(&state) * 2654435761u;
                a[i] = (uint32_t)(m == 4 ? i : n - i);
                if (m < 4) a[i] = bits & 64 ? bits & masks[m] : ~(bits & masks[m]);
                b[i] = (uint64_t)a[i] << 32 | (m < 4 ? bits >> 7 & masks[m] : 0);
                want_a[i] = a[i];
                want_b[i] = b[i];
            }
            qsort(want_a, n, sizeof *a, compare_32);
            qsort(want_b, n, sizeof *b, compare_64);
            if (n > KN_QUICK_FEW) {
                size_t small_a = kn_quick_split_32(a, n), small_b = kn_quick_split_64(b, n);
                kn_quick_sort_32(a, small_a);
                kn_quick_sort_32(a + small_a, n - small_a);
                kn_quick_sort_64(b, small_b);
                kn_quick_sort_64(b + small_b, n - small_b);
            } else {
                kn_quick_sort_32(a, n);
                kn_quick_sort_64(b, n);
            }
            if (memcmp(a, want_a, n * sizeof *a) != 0) FAIL("%zu keys of 32 bits are not in order", n);
            if (memcmp(b, want_b, n * sizeof *b) != 0) FAIL("%zu keys of 64 bits are not in order", n);
        }
}

/* What the two functions of a width do with n keys about these bounds; one key more than they may write is there. */
#define CHECK_DEALT(BITS, keys, n, bounds)                                                                             \
    do {                                                                                                               \
        static uint##BITS##_t dealt[MOST + 1], want[MOST + 1];                                                         \
        uint##BITS##_t *to[KN_QUICK_PARTS], *behind[KN_QUICK_PARTS];                                                   \
        size_t counts[KN_QUICK_PARTS] = {0}, all = 0;                                                                  \
        memset(dealt, 0x5a, sizeof dealt);                                                                             \
        memcpy(want, dealt, sizeof want);                                                                              \
        kn_quick_count_##BITS(keys, n, bounds, counts);                                                                \
        for (size_t part = 0, at = 0; part < KN_QUICK_PARTS; part++) {                                                 \
            const size_t first = at;                                                                                   \
            for (size_t i = 0; i < n; i++)                                                                             \
                if ((part == 0 || (keys)[i] > (bounds)[part - 1]) &&                                                   \
                    (part == KN_QUICK_PARTS - 1 || (keys)[i] <= (bounds)[part]))                                       \
                    want[at++] = (keys)[i];                                                                            \
            CHECK_INT((long long)counts[part], (long long)(at - first));                                               \
            to[part] = dealt + all;                                                                                    \
            all += counts[part];                                                                                       \
            behind[part] = dealt + all;                                                                                \
        }                                                                                                              \
        CHECK_INT((long long)all, (long long)(n));                                                                     \
        kn_quick_deal_##BITS(keys, n, bounds, to, behind);                                                             \
        CHECK(memcmp(dealt, want, sizeof dealt) == 0);                                                                 \
        for (size_t part = 0, at = 0; part < KN_QUICK_PARTS; part++) CHECK(to[part] == dealt + (at += counts[part]));  \
    } while (0)

/* Keys stay in their order in each part; equal bounds leave parts empty. */
TEST(keys_dealt_to_parts_by_vectors)
{
    static const uint32_t ends[][KN_QUICK_PARTS - 1] = {
        {0x40000000, 0x80000000, 0xc0000000}, {7, 7, 0x90000000}, {0, 0, 0}, {0, 0xfffffffe, 0xffffffff}};
    static uint32_t a[MOST];
    static uint64_t b[MOST], wide[KN_QUICK_PARTS - 1];
    uint32_t state = 9;
    if (!kn_quick_available()) SKIP("the processor has no AVX2");
    for (size_t n = 0; n <= MOST; n += n < 70 ? 1 : 671)
        for (int m = 0; m < 8; m++) {
            for (size_t i = 0; i < n; i++) {
                const uint32_t bits = random_bits(&state) * 2654435761u;
                a[i] = m % 2 == 0 ? bits : ends[m / 2][bits % (KN_QUICK_PARTS - 1)] + (bits >> 8) % 3 - 1;
                b[i] = (uint64_t)a[i] << 32 | (m % 2 == 0 ? bits >> 3 : a[i]);
            }
            for (int k = 0; k < KN_QUICK_PARTS - 1; k++) wide[k] = (uint64_t)ends[m / 2][k] << 32 | ends[m / 2][k];
            CHECK_DEALT(32, a, n, ends[m / 2]);
            CHECK_DEALT(64, b, n, wide);
        }
}
