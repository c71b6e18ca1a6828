/* Every operation of ops.def in every dtype, against a plain reference, into layouts of all kinds. */
#include "kernels/program.h"
#include "runtime/interrupt.h"
#include "tests/unit/ops_views.h"

static void check_op(enum kn_op op, enum rt_dtype t, int ndim, const int64_t *shape, bool special)
{
    struct rt_array a[3] = {{0}};
    for (int k = 0; k < kn_ops[op].arity; k++)
        a[k] = test_array(t, ndim, shape, (uint32_t)(k + 1) * 77 + (uint32_t)op, special);
    ARRAYS out = {0};
    checked_result(op, t, a, &out);
    for (int k = 0; k < kn_ops[op].arity; k++) rt_array_release(&a[k]);
}

static void check_all(bool special)
{
    static const int64_t shape[] = {3, 117};
    for (int op = 0; op < KN_OP_COUNT; op++)
        for (int t = 0; t < RT_COMPLEX64; t++) check_op((enum kn_op)op, (enum rt_dtype)t, 2, shape, special);
}

TEST(ops_every_dtype)
{
    check_all(false);
}

TEST(ops_special_values)
{
    check_all(true);
}

TEST(ops_sizes)
{
    static const int64_t sizes[] = {0, 1, 2, 15, 64, 2047, 2048, 2049, 5000, 70001};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        check_op(KN_ADD, RT_FLOAT32, 1, &sizes[i], false);
        check_op(KN_MUL, RT_INT8, 1, &sizes[i], true);
        check_op(KN_LT, RT_FLOAT64, 1, &sizes[i], true);
        check_op(KN_WHERE, RT_FLOAT16, 1, &sizes[i], false);
    }
}

TEST(ops_scalar_arrays)
{
    check_op(KN_SUB, RT_FLOAT32, 0, NULL, false);
    check_op(KN_NEG, RT_INT64, 0, NULL, true);
}

/* Results written into views. */

static void check_layouts(int64_t rows, int64_t columns)
{
    static const enum rt_dtype dtypes[] = {RT_FLOAT32, RT_INT16, RT_FLOAT64};
    int64_t shape[] = {rows, columns};
    for (int x = 0; x < LAYOUTS; x++)
        for (int y = 0; y < LAYOUTS; y++)
            for (int z = PLAIN; z <= TRANSPOSED; z++) {
                enum rt_dtype t = dtypes[(x + y + z) % 3];
                struct rt_array a[] = {filled_view((enum layout)x, t, 0, 1, shape),
                                       filled_view((enum layout)y, t, 1, 1, shape)};
                ARRAYS out = view_of((enum layout)z, t, rows, columns);
                CHECK(checked_result(KN_SUB, t, a, &out));
                CHECK(rt_array_same_shape(&out, &(struct rt_array){.ndim = 2, .shape = {rows, columns}}));
                rt_array_release(&a[0]);
                rt_array_release(&a[1]);
            }
}

TEST(ops_layouts_small_rows)
{
    check_layouts(31, 5);
}

TEST(ops_layouts_long_rows)
{
    check_layouts(3, 2500);
}

TEST(ops_many_axes)
{
    int64_t shape[] = {2, 3, 1, 2, 5, 3}, small[] = {3, 1, 2, 1, 3};
    ARRAYS a = test_array(RT_FLOAT32, 6, shape, 1, false), b = test_array(RT_FLOAT32, 5, small, 2, false), p = {0},
           out = {0};
    OK(rt_array_permute(&a, (int[]){5, 1, 2, 3, 4, 0}, &p, e));
    int64_t other[] = {3, 3, 1, 2, 5, 2};
    ARRAYS c = test_array(RT_FLOAT32, 6, other, 3, false);
    OK(kn_apply(KN_MUL, (struct kn_operand[]){of_array(&p), of_array(&c)}, &out, e));
    check_result(KN_MUL, RT_FLOAT32, (const struct rt_array *const[]){&p, &c}, &out);
    rt_array_release(&out);
    OK(kn_apply(KN_ADD, (struct kn_operand[]){of_array(&a), of_array(&b)}, &out, e));
    check_result(KN_ADD, RT_FLOAT32, (const struct rt_array *const[]){&a, &b}, &out);
}

/* In place, and into views that overlap the operands. */

TEST(ops_in_place)
{
    int64_t n = 5000;
    ARRAYS x = test_array(RT_FLOAT32, 1, &n, 3, false), was = {0};
    OK(kn_convert(&x, RT_FLOAT32, test_device(), &was, e));
    OK(kn_apply(KN_MUL, (struct kn_operand[]){of_array(&x), of_array(&x)}, &x, e));
    check_result(KN_MUL, RT_FLOAT32, (const struct rt_array *const[]){&was, &was}, &x);
    OK(kn_apply(KN_ADD, (struct kn_operand[]){of_array(&was), int_number(1)}, &was, e));
    CHECK_INT(rt_array_size(&was), n);
}

static void check_overlap(int64_t from, int64_t from_step, int64_t to, int64_t to_step, enum rt_dtype t)
{
    int64_t n = 3000, whole_size = 9001;
    ARRAYS whole = test_array(t, 1, &whole_size, 4, false), copy = {0}, a = {0}, b = {0}, out = {0};
    OK(kn_convert(&whole, t, test_device(), &copy, e));
    OK(rt_array_slice(&whole, 0, from, n, from_step, &a, e));
    OK(rt_array_slice(&copy, 0, from, n, from_step, &b, e));
    OK(rt_array_slice(&whole, 0, to, n, to_step, &out, e));
    OK(kn_apply(KN_ADD, (struct kn_operand[]){of_array(&a), of_array(&b)}, &out, e));
    check_result(KN_ADD, t, (const struct rt_array *const[]){&b, &b}, &out);
    OK(kn_copy(&out, &a, e));
    rt_array_release(&whole), rt_array_release(&copy), rt_array_release(&a), rt_array_release(&b),
        rt_array_release(&out);
}

TEST(ops_overlap)
{
    check_overlap(0, 1, 1, 1, RT_FLOAT32);
    check_overlap(1, 1, 0, 1, RT_FLOAT32);
    check_overlap(2999, -1, 0, 1, RT_FLOAT64);
    check_overlap(0, 2, 0, 3, RT_INT8);
}

TEST(ops_converts_into_output)
{
    int64_t n = 300;
    ARRAYS x = test_array(RT_FLOAT64, 1, &n, 3, false), out = {0};
    OK(rt_array_new(test_device(), RT_INT16, 1, &n, &out, e));
    OK(kn_apply(KN_MUL, (struct kn_operand[]){of_array(&x), int_number(100)}, &out, e));
    for (int64_t i = 0; i < n; i++) CHECK_INT(get_int(&out, i), (int64_t)(get(&x, i) * 100));
}

/* Numbers are weak. */

static void check_weak(enum kn_op op, enum rt_dtype array, struct kn_operand number, enum rt_dtype want)
{
    int64_t n = 3;
    ARRAYS x = test_array(array, 1, &n, 1, false), out = {0};
    OK(kn_apply(op, (struct kn_operand[]){of_array(&x), number}, &out, e));
    if (out.dtype != want)
        FAIL("%s of %s: %s, expected %s", kn_ops[op].name, rt_dtypes[array].name, rt_dtypes[out.dtype].name,
             rt_dtypes[want].name);
    rt_array_release(&out);
    rt_array_release(&x);
}

TEST(ops_weak_numbers)
{
    check_weak(KN_MUL, RT_INT32, int_number(2), RT_INT32);
    check_weak(KN_MUL, RT_INT8, int_number(2), RT_INT8);
    check_weak(KN_MUL, RT_UINT64, int_number(2), RT_UINT64);
    check_weak(KN_MUL, RT_FLOAT32, float_number(2.5), RT_FLOAT32);
    check_weak(KN_MUL, RT_FLOAT16, float_number(2.5), RT_FLOAT16);
    check_weak(KN_MUL, RT_FLOAT32, int_number(2), RT_FLOAT32);
    check_weak(KN_MUL, RT_INT32, float_number(2.5), RT_FLOAT32);
    check_weak(KN_MUL, RT_INT64, float_number(2.5), RT_FLOAT64);
    check_weak(KN_MUL, RT_BOOL, int_number(2), RT_INT32);
    check_weak(KN_MUL, RT_BOOL, float_number(2), RT_FLOAT32);
    check_weak(KN_DIV, RT_INT32, int_number(2), RT_FLOAT32);
    check_weak(KN_DIV, RT_INT64, int_number(2), RT_FLOAT64);
    check_weak(KN_POW, RT_INT64, int_number(2), RT_FLOAT64);
    check_weak(KN_GT, RT_INT64, float_number(2.5), RT_BOOL);
    check_weak(KN_BITWISE_AND, RT_BOOL, int_number(1), RT_INT32);
}

TEST(ops_where_of_numbers)
{
    int64_t n = 200;
    ARRAYS x = test_array(RT_FLOAT32, 1, &n, 1, false), mask = {0}, out = {0};
    OK(kn_apply(KN_GT, (struct kn_operand[]){of_array(&x), float_number(0.25)}, &mask, e));
    OK(kn_apply(KN_WHERE, (struct kn_operand[]){of_array(&mask), int_number(7), int_number(-7)}, &out, e));
    CHECK_INT(out.dtype, RT_INT32);
    for (int64_t i = 0; i < n; i++) CHECK_INT(get_int(&out, i), get(&x, i) > 0.25 ? 7 : -7);
    rt_array_release(&out);
    OK(kn_apply(KN_WHERE, (struct kn_operand[]){of_array(&mask), of_array(&x), float_number(0.1)}, &out, e));
    CHECK_INT(out.dtype, RT_FLOAT32);
    for (int64_t i = 0; i < n; i++) CHECK(get(&out, i) == (get(&x, i) > 0.25 ? get(&x, i) : 0.1f));
}

TEST(ops_promotion)
{
    static const struct {
        enum rt_dtype a, b, want;
    } rows[] = {
        {RT_BOOL, RT_INT8, RT_INT8},           {RT_INT32, RT_INT64, RT_INT64},     {RT_INT32, RT_FLOAT32, RT_FLOAT32},
        {RT_INT64, RT_FLOAT32, RT_FLOAT64},    {RT_INT64, RT_FLOAT64, RT_FLOAT64}, {RT_FLOAT32, RT_FLOAT64, RT_FLOAT64},
        {RT_FLOAT16, RT_BFLOAT16, RT_FLOAT32}, {RT_INT8, RT_UINT8, RT_INT16},      {RT_INT64, RT_UINT8, RT_INT64},
        {RT_UINT32, RT_INT32, RT_INT64},       {RT_UINT64, RT_INT8, RT_INT64},     {RT_FLOAT16, RT_INT16, RT_FLOAT32},
        {RT_FLOAT16, RT_INT32, RT_FLOAT32},    {RT_BOOL, RT_FLOAT16, RT_FLOAT16},  {RT_FLOAT16, RT_UINT8, RT_FLOAT16},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CHECK_INT(kn_promote(rows[i].a, rows[i].b), rows[i].want);
        CHECK_INT(kn_promote(rows[i].b, rows[i].a), rows[i].want);
    }
    int64_t n = 50;
    ARRAYS a = test_array(RT_INT32, 1, &n, 1, false), b = test_array(RT_FLOAT32, 1, &n, 2, false), out = {0};
    OK(kn_apply(KN_ADD, (struct kn_operand[]){of_array(&a), of_array(&b)}, &out, e));
    check_result(KN_ADD, RT_FLOAT32, (const struct rt_array *const[]){&a, &b}, &out);
}

TEST(ops_compare_exactly)
{
    /* 16777217 is no float32; comparing in float64 still tells it from its neighbour. */
    int64_t n = 2;
    ARRAYS a = {0}, out = {0};
    OK(rt_array_new(test_device(), RT_INT32, 1, &n, &a, e));
    ((int32_t *)rt_array_host(&a))[0] = 16777216;
    ((int32_t *)rt_array_host(&a))[1] = 16777217;
    OK(kn_apply(KN_GT, (struct kn_operand[]){of_array(&a), float_number(16777216.5)}, &out, e));
    CHECK_INT(get_int(&out, 0), 0);
    CHECK_INT(get_int(&out, 1), 1);
}

TEST(ops_refusals)
{
    int64_t three = 3, four = 4;
    ARRAYS a = test_array(RT_INT8, 1, &three, 1, false), b = test_array(RT_INT8, 1, &four, 1, false), out = {0};
    FAILS(RT_INVALID, "300", kn_apply(KN_ADD, (struct kn_operand[]){of_array(&a), int_number(300)}, &out, e));
    FAILS(RT_INVALID, "(4,)", kn_apply(KN_ADD, (struct kn_operand[]){of_array(&a), of_array(&b)}, &out, e));
    FAILS(RT_INVALID, "array", kn_apply(KN_ADD, (struct kn_operand[]){int_number(1), int_number(2)}, &out, e));
    FAILS(RT_INVALID, "integers",
          kn_apply(KN_BITWISE_AND, (struct kn_operand[]){of_array(&a), float_number(1.5)}, &out, e));
    FAILS(RT_INVALID, "fit", kn_fill(&a, &(struct kn_operand){.i = 128}, e));
    CHECK(out.storage == NULL);
    /* into an array of a shape that cannot be had */
    OK(rt_array_new(test_device(), RT_INT8, 1, &three, &out, e));
    FAILS(RT_INVALID, "", kn_apply(KN_NEG, (struct kn_operand[]){of_array(&b)}, &out, e));
}

TEST(ops_devices)
{
    struct rt_error error = {0};
    struct rt_device *cpu = rt_device_open("cpu", &error), *simt = rt_device_open("simt", &error);
    int64_t n = 3;
    ARRAYS a = {0}, b = {0}, out = {0};
    if (!simt) SKIP("no software GPU");
    OK(rt_array_new(cpu, RT_FLOAT32, 1, &n, &a, e));
    OK(rt_array_new(simt, RT_FLOAT32, 1, &n, &b, e));
    FAILS(RT_INVALID, "simt", kn_apply(KN_ADD, (struct kn_operand[]){of_array(&a), of_array(&b)}, &out, e));
}

/* Programs of several operations. */

static void build_chain(struct kn_program *p, const struct rt_array *x, const struct rt_array *y)
{
    /* sqrt(x * x + y * y) / (1 + abs(x - y)) */
    int nx, ny, one, xx, yy, sum, root, difference, size, below, result;
    kn_program_start(p);
    OK(kn_program_array(p, x, &nx, e));
    OK(kn_program_array(p, y, &ny, e));
    OK(kn_program_number(p, &(struct kn_operand){.i = 1}, &one, e));
    OK(kn_program_op(p, KN_MUL, (int[]){nx, nx}, &xx, e));
    OK(kn_program_op(p, KN_MUL, (int[]){ny, ny}, &yy, e));
    OK(kn_program_op(p, KN_ADD, (int[]){xx, yy}, &sum, e));
    OK(kn_program_op(p, KN_SQRT, &sum, &root, e));
    OK(kn_program_op(p, KN_SUB, (int[]){nx, ny}, &difference, e));
    OK(kn_program_op(p, KN_ABS, &difference, &size, e));
    OK(kn_program_op(p, KN_ADD, (int[]){one, size}, &below, e));
    OK(kn_program_op(p, KN_DIV, (int[]){root, below}, &result, e));
}

TEST(program_chain)
{
    int64_t n = 100003;
    ARRAYS x = test_array(RT_FLOAT32, 1, &n, 1, false), y = test_array(RT_FLOAT32, 1, &n, 2, false), out = {0};
    struct kn_program p;
    build_chain(&p, &x, &y);
    OK(kn_program_run(&p, &out, e));
    for (int64_t i = 0; i < n; i++) {
        float a = (float)get(&x, i), b = (float)get(&y, i);
        float aa = a * a, bb = b * b, root = sqrtf(aa + bb), want = root / (1 + fabsf(a - b));
        if (get(&out, i) != want) FAIL("[%lld] is %.9g, expected %.9g", (long long)i, get(&out, i), want);
    }
    /* into one of the operands, and again */
    OK(kn_program_run(&p, &x, e));
    for (int64_t i = 0; i < n; i += 97) CHECK(get(&x, i) == get(&out, i));
}

TEST(program_rounds_in_between)
{
    /* 100 + 100 wraps in int8 before it is halved; a fused evaluation must not keep the wider sum. */
    int64_t n = 5;
    ARRAYS x = {0}, h = {0}, out = {0};
    struct kn_program p;
    int node, number, sum, result;
    OK(rt_array_new(test_device(), RT_INT8, 1, &n, &x, e));
    OK(kn_fill(&x, &(struct kn_operand){.i = 100}, e));
    kn_program_start(&p);
    OK(kn_program_array(&p, &x, &node, e));
    OK(kn_program_number(&p, &(struct kn_operand){.i = 2}, &number, e));
    OK(kn_program_op(&p, KN_ADD, (int[]){node, node}, &sum, e));
    OK(kn_program_op(&p, KN_FLOORDIV, (int[]){sum, number}, &result, e));
    OK(kn_program_run(&p, &out, e));
    CHECK_INT(get_int(&out, 4), -28);
    /* 2048 + 1 rounds to 2048 in float16 */
    OK(rt_array_new(test_device(), RT_FLOAT16, 1, &n, &h, e));
    OK(kn_fill(&h, &(struct kn_operand){.i = 2048}, e));
    kn_program_start(&p);
    OK(kn_program_array(&p, &h, &node, e));
    OK(kn_program_number(&p, &(struct kn_operand){.i = 1}, &number, e));
    OK(kn_program_op(&p, KN_ADD, (int[]){node, number}, &sum, e));
    OK(kn_program_op(&p, KN_SUB, (int[]){sum, node}, &result, e));
    rt_array_release(&out);
    OK(kn_program_run(&p, &out, e));
    CHECK_NEAR(get(&out, 0), 0, 0);
}

TEST(program_limits)
{
    int64_t n = 5;
    ARRAYS x = test_array(RT_FLOAT32, 1, &n, 1, false);
    struct kn_program p;
    struct rt_error error = {0};
    int node;
    kn_program_start(&p);
    OK(kn_program_array(&p, &x, &node, e));
    enum rt_status status = RT_OK;
    for (int i = 0; i < 2 * KN_MAX_NODES && status == RT_OK; i++)
        status = kn_program_op(&p, KN_ADD, (int[]){node, node}, &node, &error);
    CHECK_INT(status, RT_UNSUPPORTED);
    CHECK_HAS(error.text, "operations");
}

TEST(program_interrupted)
{
    int64_t n = 1 << 20;
    ARRAYS x = test_array(RT_FLOAT32, 1, &n, 1, false), out = {0};
    rt_interrupt();
    FAILS(RT_INTERRUPTED, "interrupted", kn_apply(KN_SIN, (struct kn_operand[]){of_array(&x)}, &out, e));
    CHECK(out.storage == NULL);
    rt_interrupt_clear();
    OK(kn_apply(KN_SIN, (struct kn_operand[]){of_array(&x)}, &out, e));
}

TEST(ops_allocations_fail)
{
    int64_t n = 100000;
    ARRAYS x = test_array(RT_INT16, 1, &n, 1, false), y = {0}, out = {0};
    struct rt_error error = {0};
    OK(rt_array_slice(&x, 0, n - 1, n, -1, &y, e));
    for (long nth = 1;; nth++) {
        rt_fail_allocation(nth);
        enum rt_status status = kn_apply(KN_DIV, (struct kn_operand[]){of_array(&x), of_array(&y)}, &out, &error);
        rt_fail_allocation(0);
        if (status == RT_OK) break;
        CHECK_INT(status, RT_NOMEM);
        CHECK(out.storage == NULL);
        CHECK(nth < 100);
        rt_error_clear(&error);
    }
    check_result(KN_DIV, RT_FLOAT32, (const struct rt_array *const[]){&x, &y}, &out);
}
