/* Matrix products of all shapes, dtypes and layouts, against sums in long double. */
#include "kernels/loops.h"
#include "tests/unit/guarded.h"
#include "tests/unit/levels.h"
#include "tests/unit/reference.h"

static double at(const struct rt_array *a, int64_t row, int64_t column)
{
    return rt_load_double(a->dtype, (char *)rt_array_host(a) +
                                        (row * a->strides[0] + (a->ndim == 2 ? column * a->strides[1] : 0)) *
                                            rt_dtypes[a->dtype].size);
}

static void check_product(const struct rt_array *a, const struct rt_array *b, enum rt_dtype want_dtype, double unit)
{
    ARRAYS c = {0};
    OK(kn_matmul(a, b, &c, e));
    CHECK_INT(c.dtype, want_dtype);
    CHECK_INT(c.ndim, a->ndim + b->ndim - 2);
    int64_t rows = a->ndim == 2 ? a->shape[0] : 1, inner = b->shape[0], columns = b->ndim == 2 ? b->shape[1] : 1;
    CHECK_INT(rt_array_size(&c), rows * columns);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            long double sum = 0, sizes = 0;
            for (int64_t k = 0; k < inner; k++) {
                long double term = (long double)(a->ndim == 2 ? at(a, i, k) : at(a, k, 0)) * at(b, k, j);
                sum += term;
                sizes += fabsl(term);
            }
            double got = get(&c, i * columns + j);
            if (!(fabsl(got - sum) <= sizes * unit))
                FAIL("(%lld, %lld) is %g, expected %Lg", (long long)i, (long long)j, got, sum);
        }
    rt_array_release(&c);
}

static struct rt_array matrix(enum rt_dtype t, int64_t rows, int64_t columns, bool turned, uint32_t seed)
{
    int64_t shape[] = {turned ? columns : rows, turned ? rows : columns};
    struct rt_array m = test_array(t, 2, shape, seed, false), v;
    if (!turned) return m;
    OK(rt_array_permute(&m, (int[]){1, 0}, &v, e));
    rt_array_release(&m);
    return v;
}

static void check_sizes(enum rt_dtype t, int64_t m, int64_t k, int64_t n, double unit)
{
    for (int turned = 0; turned < 4; turned++) {
        ARRAYS a = matrix(t, m, k, turned & 1, 1), b = matrix(t, k, n, turned & 2, 2);
        check_product(&a, &b, t, unit);
        rt_array_release(&a);
        rt_array_release(&b);
    }
}

TEST(matmul_small)
{
    check_sizes(RT_FLOAT32, 1, 1, 1, 1e-6);
    check_sizes(RT_FLOAT32, 3, 5, 2, 1e-6);
    check_sizes(RT_FLOAT64, 17, 1, 9, 1e-14);
    check_sizes(RT_INT32, 17, 13, 9, 0);
    check_sizes(RT_INT8, 2, 3, 2, 1e9); /* wraps: only that it runs */
    check_sizes(RT_FLOAT16, 9, 8, 7, 1e-2);
    check_sizes(RT_UINT64, 5, 6, 7, 0);
}

TEST(matmul_large)
{
    check_sizes(RT_FLOAT32, 65, 100, 67, 1e-5);
    check_sizes(RT_FLOAT64, 130, 33, 65, 1e-13);
    check_sizes(RT_INT64, 33, 65, 40, 0);
}

TEST(matmul_many_columns)
{
    check_sizes(RT_INT32, 2, 3, 1100, 0);
    check_sizes(RT_FLOAT32, 40, 40, 600, 1e-5);
}

TEST(matmul_vectors)
{
    int64_t n = 70, shape[] = {70, 30};
    ARRAYS x = test_array(RT_FLOAT32, 1, &n, 1, false), m = test_array(RT_FLOAT32, 2, shape, 2, false), t = {0},
           r = {0};
    check_product(&x, &x, RT_FLOAT32, 1e-5);
    check_product(&x, &m, RT_FLOAT32, 1e-5);
    OK(rt_array_permute(&m, (int[]){1, 0}, &t, e));
    check_product(&t, &x, RT_FLOAT32, 1e-5);
    OK(rt_array_slice(&x, 0, 69, 35, -2, &r, e));
    check_product(&r, &r, RT_FLOAT32, 1e-5);
}

/* Rows that lie apart, one behind the other, in the other direction and on one another, times vectors of which the
 * products are sums of few columns, and lines times vectors. */
static void check_narrow(enum rt_dtype t, int64_t rows, int64_t columns, double unit)
{
    const int64_t wide[] = {rows, columns + 3}, close[] = {rows, columns};
    ARRAYS m = test_array(t, 2, wide, 1, false), dense = test_array(t, 2, close, 2, false), v = {0}, back = {0};
    ARRAYS left = test_array(t, 1, &rows, 3, false), right = test_array(t, 1, &columns, 4, false), row = {0},
           same = {0};
    OK(rt_array_slice(&m, 1, 1, columns, 1, &v, e));
    OK(rt_array_slice(&v, 0, rows - 1, rows, -1, &back, e));
    OK(rt_array_select(&v, 0, 0, &row, e));
    OK(rt_array_broadcast(&row, 2, close, &same, e));
    const struct rt_array *const matrices[] = {&dense, &v, &back, &same};
    for (int i = 0; i < 4; i++) {
        check_product(&left, matrices[i], t, unit);
        check_product(matrices[i], &right, t, unit);
    }
}

TEST(matmul_narrow)
{
    static const int64_t rows[] = {1, 2, 3, 4, 5, 7, 8, 9, 12, 260, 600};
    for (int i = 0; i < (int)(sizeof rows / sizeof *rows); i++)
        for (int64_t columns = 1; columns < 70; columns += columns < 36 ? 1 : 3) {
            check_narrow(RT_FLOAT32, rows[i], columns, 1e-5);
            check_narrow(RT_FLOAT64, rows[i], columns, 1e-14);
        }
    for (int64_t columns = 1; columns < 6; columns++) {
        check_narrow(RT_INT8, 9, columns, 1e9);
        check_narrow(RT_INT64, 70, columns, 0);
        check_narrow(RT_UINT32, 33, columns, 0);
    }
}

TEST(matmul_pairs_of_rows)
{
    for (int64_t n = 1; n < 6; n++) {
        const int64_t left[] = {50, 1, n}, right[] = {50, n, 1};
        ARRAYS a = test_array(RT_FLOAT32, 3, left, 1, false), b = test_array(RT_FLOAT32, 3, right, 2, false), c = {0};
        OK(kn_matmul(&a, &b, &c, e));
        for (int64_t i = 0; i < 50; i++) {
            double sum = 0;
            for (int64_t k = 0; k < n; k++) sum += get(&a, i * n + k) * get(&b, i * n + k);
            CHECK_NEAR(get(&c, i), sum, 1e-3);
        }
    }
}

/* However rows lie: sums begin with 0, to which -0 adds nothing. */
TEST(sums_of_negative_zeros_are_zero)
{
    for (int64_t n = 1; n < 7; n++)
        for (int64_t more = 0; more < 2; more++) {
            const int64_t shape[] = {40, n + more};
            ARRAYS m = test_array(RT_FLOAT32, 2, shape, 1, false), v = test_array(RT_FLOAT32, 1, &n, 2, false);
            ARRAYS part = {0}, c = {0};
            for (int64_t i = 0; i < 40 * (n + more); i++) ((float *)rt_array_host(&m))[i] = -0.0f;
            for (int64_t i = 0; i < n; i++) ((float *)rt_array_host(&v))[i] = 1;
            OK(rt_array_slice(&m, 1, 0, n, 1, &part, e));
            OK(kn_matmul(&part, &v, &c, e));
            for (int64_t i = 0; i < 40; i++) CHECK(get(&c, i) == 0 && !signbit(get(&c, i)));
        }
}

/* Sums of few columns read more than these, but nothing behind the last row, and keep to the columns' own sums. */
TEST(narrow_matrices_end_where_they_end)
{
    const struct kn_product_loops *loops = kn_host_loops()->product;
    for (int wide = 0; wide < 2; wide++)
        for (int64_t columns = 1; columns < 40; columns++)
            for (int64_t rows = 1; rows < 14; rows++)
                for (int64_t stride = columns; stride < columns + 18; stride += 1 + stride % 3) {
                    const int64_t size = wide ? 8 : 4, between = (rows - 1) * stride + columns;
                    char *matrix = guarded_end(0) - between * size, *factors = guarded_end(1) - rows * size;
                    double *sums = (double *)(void *)guarded_end(2) - columns;
                    for (int64_t i = 0; i < between; i++) {
                        const double value = i % stride < columns ? (double)(i % 7) : NAN;
                        wide ? (void)(((double *)(void *)matrix)[i] = value)
                             : (void)(((float *)(void *)matrix)[i] = (float)value);
                    }
                    for (int64_t i = 0; i < rows; i++)
                        wide ? (void)(((double *)(void *)factors)[i] = (double)(i + 1))
                             : (void)(((float *)(void *)factors)[i] = (float)(i + 1));
                    for (int64_t j = -1; j < columns; j++) sums[j] = (double)(j + 100);
                    loops->add_rows[wide](sums, matrix, stride, factors, (size_t)rows, (size_t)columns);
                    CHECK(sums[-1] == 99);
                    for (int64_t j = 0; j < columns; j++) {
                        double want = (double)(j + 100);
                        for (int64_t i = 0; i < rows; i++) want += (double)((i + 1) * ((i * stride + j) % 7));
                        CHECK(sums[j] == want);
                    }
                }
}

/* The bits of products of vectors of all short lengths, and of some long ones. */
static uint64_t bits_of_dots(void)
{
    static const enum rt_dtype dtypes[] = {RT_FLOAT32, RT_FLOAT64};
    uint64_t sum = 0;
    for (int i = 0; i < 2; i++)
        for (int64_t n = 1; n < 50000; n += n < 600 ? 1 : 7001) {
            ARRAYS a = test_array(dtypes[i], 1, &n, 3, false), b = test_array(dtypes[i], 1, &n, 4, false), out = {0};
            if (kn_matmul(&a, &b, &out, NULL) != RT_OK) return 0;
            const unsigned char *p = rt_array_host(&out);
            for (size_t j = 0; j < rt_dtypes[out.dtype].size; j++) sum = (sum ^ p[j]) * 0x100000001b3u;
            rt_array_release(&a);
            rt_array_release(&b);
            rt_array_release(&out);
        }
    return sum;
}

/* The same of matrices with few rows and with few columns. */
static uint64_t bits_of_narrow_products(void)
{
    uint64_t sum = 0;
    for (int i = 0; i < 140; i++) {
        const int64_t rows = i / 2 + 1, shape[] = {i % 2 ? rows : 301, i % 2 ? 301 : rows};
        for (enum rt_dtype t = RT_FLOAT32; t <= RT_FLOAT64; t++) {
            ARRAYS m = test_array(t, 2, shape, 1, false), left = test_array(t, 1, shape, 2, false);
            ARRAYS right = test_array(t, 1, shape + 1, 3, false);
            struct rt_array out[2] = {{0}};
            if (kn_matmul(&left, &m, out, NULL) != RT_OK || kn_matmul(&m, &right, out + 1, NULL) != RT_OK) return 0;
            for (int k = 0; k < 2; k++) {
                const unsigned char *p = rt_array_host(out + k);
                const size_t bytes = (size_t)rt_array_size(out + k) * rt_dtypes[t].size;
                for (size_t j = 0; j < bytes; j++) sum = (sum ^ p[j]) * 0x100000001b3u;
                rt_array_release(out + k);
            }
        }
    }
    return sum;
}

TEST(every_instruction_set_gives_the_same_products)
{
    check_levels(bits_of_dots);
    check_levels(bits_of_narrow_products);
}

TEST(matmul_views)
{
    int64_t shape[] = {120, 90}, row[] = {90}, square[] = {90, 90};
    ARRAYS m = test_array(RT_FLOAT32, 2, shape, 1, false), s = {0}, half = {0}, v = {0}, b = {0};
    OK(rt_array_slice(&m, 0, 1, 59, 2, &half, e));
    OK(rt_array_slice(&half, 1, 0, 45, 2, &s, e)); /* no stride is 1 */
    OK(rt_array_slice(&m, 0, 40, 45, 1, &v, e));
    check_product(&s, &v, RT_FLOAT32, 1e-5);
    ARRAYS r = test_array(RT_FLOAT32, 1, row, 1, false);
    OK(rt_array_broadcast(&r, 2, square, &b, e));
    check_product(&m, &b, RT_FLOAT32, 1e-5);
    check_product(&b, &b, RT_FLOAT32, 1e-5);
    rt_array_release(&half);
    OK(rt_array_slice(&m, 0, 119, 60, -1, &half, e));
    ARRAYS t = {0};
    OK(rt_array_permute(&m, (int[]){1, 0}, &t, e));
    check_product(&half, &t, RT_FLOAT32, 1e-5);
}

TEST(matmul_mixed)
{
    ARRAYS a = matrix(RT_INT32, 20, 30, false, 1), b = matrix(RT_FLOAT64, 30, 10, true, 2);
    ARRAYS c = matrix(RT_BOOL, 30, 10, false, 2);
    check_product(&a, &b, RT_FLOAT64, 1e-14);
    check_product(&a, &c, RT_INT32, 0);
}

/* Every product of a batch is what it is alone, whatever the strides of the batch axes. */
static void check_batches(enum rt_dtype t, int64_t m, int64_t k, int64_t n, double unit)
{
    int64_t sa[] = {2, 3, m, k}, sb[] = {3, k, n, 2}, wide[] = {2, 3, k, n};
    int64_t alone[] = {k, n};
    ARRAYS a = test_array(t, 4, sa, 1, false), last = test_array(t, 4, sb, 2, false), b = {0}, c = {0}, v = {0};
    ARRAYS one = test_array(t, 2, alone, 3, false), spread = {0};
    OK(rt_array_permute(&last, (int[]){3, 0, 1, 2}, &b, e));
    OK(rt_array_slice(&b, 1, 2, 3, -1, &v, e));
    OK(rt_array_broadcast(&one, 4, wide, &spread, e));
    const struct rt_array *others[] = {&b, &v, &spread};
    for (int which = 0; which < 3; which++) {
        OK(kn_matmul(&a, others[which], &c, e));
        CHECK_INT(c.ndim, 4);
        for (int64_t i = 0; i < 6; i++) {
            ARRAYS x = {0}, y = {0}, z = {0}, x2 = {0}, y2 = {0}, z2 = {0}, product = {0};
            OK(rt_array_select(&a, 0, i / 3, &x, e));
            OK(rt_array_select(&x, 0, i % 3, &x2, e));
            OK(rt_array_select(others[which], 0, i / 3, &y, e));
            OK(rt_array_select(&y, 0, i % 3, &y2, e));
            OK(rt_array_select(&c, 0, i / 3, &z, e));
            OK(rt_array_select(&z, 0, i % 3, &z2, e));
            OK(kn_matmul(&x2, &y2, &product, e));
            for (int64_t q = 0; q < m * n; q++) CHECK_NEAR(get(&z2, q), get(&product, q), unit * 225 * (double)k);
        }
        rt_array_release(&c);
    }
}

TEST(matmul_batches)
{
    check_batches(RT_FLOAT32, 3, 4, 5, 1e-6);
    check_batches(RT_FLOAT32, 1, 7, 1, 1e-6);
    check_batches(RT_FLOAT64, 33, 20, 40, 1e-15);
    check_batches(RT_INT32, 5, 6, 600, 0);
    check_batches(RT_BFLOAT16, 5, 6, 7, 1e-2);
    check_batches(RT_FLOAT64, 260, 257, 270, 1e-15);
}

TEST(matmul_nothing)
{
    ARRAYS a = matrix(RT_FLOAT32, 3, 0, false, 1), b = matrix(RT_FLOAT32, 0, 4, false, 2);
    check_product(&a, &b, RT_FLOAT32, 0);
    check_product(&b, &(struct rt_array){.storage = b.storage, .dtype = RT_FLOAT32, .ndim = 2, .shape = {4, 0}},
                  RT_FLOAT32, 0);
}

TEST(matmul_refusals)
{
    ARRAYS a = matrix(RT_FLOAT32, 3, 4, false, 1), b = matrix(RT_FLOAT32, 3, 4, false, 2), c = {0};
    FAILS(RT_INVALID, "(3, 4) and (3, 4)", kn_matmul(&a, &b, &c, e));
    int64_t shape[] = {2, 4, 3}, other[] = {3, 3, 5};
    ARRAYS d = test_array(RT_FLOAT32, 3, shape, 1, false), f = test_array(RT_FLOAT32, 3, other, 1, false);
    FAILS(RT_INVALID, "before the last two", kn_matmul(&d, &f, &c, e));
    ARRAYS none = test_array(RT_FLOAT32, 0, NULL, 1, false);
    FAILS(RT_INVALID, "second array has no axes", kn_matmul(&a, &none, &c, e));
    CHECK(c.storage == NULL);
}

TEST(matmul_allocations_fail)
{
    ARRAYS a = matrix(RT_INT32, 5, 30, false, 1), b = matrix(RT_FLOAT64, 30, 10, true, 2), c = {0};
    struct rt_error error = {0};
    for (long nth = 1;; nth++) {
        rt_fail_allocation(nth);
        enum rt_status status = kn_matmul(&a, &b, &c, &error);
        rt_fail_allocation(0);
        if (status == RT_OK) break;
        CHECK_INT(status, RT_NOMEM);
        CHECK(c.storage == NULL);
        CHECK(nth < 100);
        rt_error_clear(&error);
    }
}
