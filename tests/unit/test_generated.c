/* The generated CUDA C on the software GPU, against the native loops on the same arrays. Compiling is what takes time,
 * so many operations go into one program: where(which == 0, op0(x, y), where(which == 1, op1(x, y), ...)). */
#include "kernels/generate.h"
#include "runtime/library.h"
#include "tests/unit/reference.h"

static char cache[] = "/tmp/lunarray-test-XXXXXX";

static void remove_cache(void)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", cache);
    if (system(command) != 0) printf("# could not remove %s\n", cache);
}

/* Arrays made from here on are the software GPU's; skips where nothing can be compiled. */
static void start(void)
{
    if (!rt_library_find(RT_LIB_NVRTC)->path) SKIP("no NVRTC");
    if (!getenv("LUNARRAY_CACHE_DIR")) { /* else another build's tests may have compiled the same */
        if (!mkdtemp(cache)) FAIL("no temporary folder");
        setenv("LUNARRAY_CACHE_DIR", cache, 1);
        atexit(remove_cache);
    }
    kn_force_generated(true);
    test_device();
}

/* How far a function of the CUDA library may be from the host's, in units of the last place; 0 for what IEEE defines.
 */
static double distance_allowed(enum kn_op op)
{
    switch (op) {
    case KN_LGAMMA:
    case KN_GAMMA: return 40;
    case KN_POW: return 12;
    case KN_FMOD:
    case KN_REMAINDER:
    case KN_LOGB:
    case KN_SQRT:
    case KN_RSQRT:
    case KN_FLOOR:
    case KN_CEIL:
    case KN_ROUND:
    case KN_ROUND_AWAY:
    case KN_TRUNC: return 0;
    default: return op >= KN_CBRT && op <= KN_GAMMA && op != KN_RELU ? 6 : op == KN_HYPOT ? 4 : 0;
    }
}

/* How large the numbers are that a result is the sum of, which may itself be nearly 0. */
static double size_within(enum kn_op op)
{
    return op == KN_LOGADDEXP || op == KN_LOGADDEXP2 || op == KN_LOGIT || op == KN_DIGAMMA || op == KN_LGAMMA ? 16 : 0;
}

static double precision(enum rt_dtype t)
{
    switch (rt_real_of(t)) {
    case RT_FLOAT64: return 0x1p-52;
    case RT_FLOAT16: return 0x1p-10;
    case RT_BFLOAT16: return 0x1p-7;
    default: return 0x1p-23;
    }
}

/* The formulas for complex numbers are others than the C library's: both parts are compared together. What is so large
 * that it overflows one way may not the other. */
static bool close_enough(enum rt_dtype t, const struct rt_array *native, const struct rt_array *generated, int64_t i)
{
    struct rt_complex x = rt_load_complex(t, element(native, i)), y = rt_load_complex(t, element(generated, i));
    double size = hypot(x.re, x.im), most = rt_real_of(t) == RT_FLOAT64 ? 1e300 : 1e36;
    return !(size < most) || hypot(x.re - y.re, x.im - y.im) <= 256 * precision(t) * (1 + size);
}

static void same_within(const struct rt_array *native, const struct rt_array *generated, double ulps, double within,
                        const char *what)
{
    CHECK_INT(native->dtype, generated->dtype);
    CHECK(rt_array_same_shape(native, generated));
    int64_t n = rt_array_size(native);
    for (int64_t i = 0; i < n; i++) {
        double x = get(native, i), y = get(generated, i);
        if (rt_is_complex(native->dtype)) {
            if (close_enough(native->dtype, native, generated, i)) continue;
        } else if (rt_dtypes[native->dtype].kind != 'f') {
            if (get_int(native, i) == get_int(generated, i)) continue;
        } else {
            double unit =
                (fabs(x) + within) * precision(native->dtype) + (native->dtype == RT_FLOAT16 ? 0x1p-24 : 1e-38);
            if (isnan(x) ? isnan(y) : x == y || fabs(x - y) <= ulps * unit) continue;
        }
        FAIL("%s %s [%lld]: generated %.17g, native %.17g", what, rt_dtypes[native->dtype].name, (long long)i, y, x);
    }
}

static void same(const struct rt_array *native, const struct rt_array *generated, double ulps, const char *what)
{
    same_within(native, generated, ulps, 0, what);
}

#define ROWS 7

static void run_both(struct kn_program *p, struct rt_array *native, struct rt_array *generated)
{
    size_t before = kn_generated_count();
    kn_force_generated(false);
    OK(kn_program_run(p, native, e));
    CHECK_INT(kn_generated_count(), before);
    kn_force_generated(true);
    OK(kn_program_run(p, generated, e));
    CHECK(kn_generated_count() > 0);
}

/* Whether an operation on the dtype t gives `result`, or a bool where that is t itself. */
static bool gives(enum kn_op op, enum rt_dtype t, enum rt_dtype result)
{
    struct kn_type types[3] = {{.dtype = t}, {.dtype = t}, {.dtype = t}};
    struct kn_signature s;
    if (op == KN_WHERE || kn_infer(op, types, &s, NULL) != RT_OK) return false;
    if (t == result && (s.result == RT_BOOL || s.result == rt_real_of(t))) return true;
    return s.result == result;
}

/* Views of so many columns: transposed, reversed and stepped, a row for all of them. */
static void make_views(enum rt_dtype t, int64_t columns, struct rt_array *views)
{
    int64_t turned[] = {columns, ROWS}, longer[] = {ROWS, 2 * columns + 1};
    bool special = !rt_is_complex(t);
    ARRAYS first = test_array(t, 2, turned, 1, special), second = test_array(t, 2, longer, 2, special), half = {0};
    for (int i = 0; i < 3; i++) rt_array_release(&views[i]);
    OK(rt_array_permute(&first, (int[]){1, 0}, &views[0], e));
    OK(rt_array_slice(&second, 0, ROWS - 1, ROWS, -1, &half, e));
    OK(rt_array_slice(&half, 1, columns > 0, columns, 2, &views[1], e));
    views[2] = test_array(t, 1, &columns, 3, false);
}

/* Operations on the dtype t that give `result`, as many as one program holds, from number *next on; views of odd sizes
 * take turns in it, and compile nothing. */
static void check_ops(enum rt_dtype t, enum rt_dtype result, int *next)
{
    static const int64_t sizes[] = {5, 0, 7, 11, 13, 4097};
    size_t all = t == RT_FLOAT32 || t == RT_INT32 ? 6 : 5; /* long rows take long, and are the same for all */
    enum kn_op ops[KN_MAX_NODES];
    struct kn_program p;
    struct rt_array views[3] = {{0}};
    int count = 0, x, y, z, which, node = -1;
    size_t compiled = 0;
    ARRAYS w = {.dtype = RT_INT32};
    make_views(t, sizes[0], views);
    kn_program_start(&p);
    OK(kn_program_array(&p, &views[0], &x, e));
    OK(kn_program_array(&p, &views[1], &y, e));
    OK(kn_program_array(&p, &views[2], &z, e));
    OK(kn_program_array(&p, &w, &which, e));
    for (; *next < KN_OP_COUNT && p.count + 6 < KN_MAX_NODES; ++*next) {
        int value, number, mask;
        if (!gives((enum kn_op) * next, t, result)) continue;
        OK(kn_program_op(&p, (enum kn_op) * next, (int[]){x, y, z}, &value, e));
        OK(kn_program_convert(&p, value, result, &value, e));
        OK(kn_program_number(&p, &(struct kn_operand){.i = count}, &number, e));
        OK(kn_program_op(&p, KN_EQ, (int[]){which, number}, &mask, e));
        ops[count++] = (enum kn_op) * next;
        if (node < 0)
            node = value;
        else
            OK(kn_program_op(&p, KN_WHERE, (int[]){mask, value, node}, &node, e));
    }
    if (count > 0) OK(rt_array_new(test_device(), RT_INT32, 3, (int64_t[]){count, 1, 1}, &w, e));
    for (int i = 0; i < count; i++) rt_store_int(RT_INT32, element(&w, i), i);
    for (size_t s = 0; s < all && count > 0; s++) {
        ARRAYS native = {0}, generated = {0};
        make_views(t, sizes[s], views);
        run_both(&p, &native, &generated);
        if (s == 0) compiled = kn_generated_count();
        CHECK_INT(kn_generated_count(), compiled);
        for (int i = 0; i < count; i++) {
            ARRAYS from = {0}, to = {0};
            OK(rt_array_select(&native, 0, i, &from, e));
            OK(rt_array_select(&generated, 0, i, &to, e));
            same_within(&from, &to, distance_allowed(ops[i]), size_within(ops[i]), kn_ops[ops[i]].name);
        }
    }
    for (int i = 0; i < 3; i++) rt_array_release(&views[i]);
}

/* Bools and integers give int32 and floats, too. */
static void check_all_ops(enum rt_dtype t)
{
    static const enum rt_dtype others[] = {RT_INT32, RT_FLOAT32, RT_FLOAT64};
    start();
    for (int next = 0; next < KN_OP_COUNT;) check_ops(t, t, &next);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        for (int next = others[i] == t ? KN_OP_COUNT : 0; next < KN_OP_COUNT;) check_ops(t, others[i], &next);
}

#define EVERY_OP(name, dtype)                                                                                          \
    TEST(generated_##name)                                                                                             \
    {                                                                                                                  \
        check_all_ops(dtype);                                                                                          \
    }
EVERY_OP(bool, RT_BOOL)
EVERY_OP(int8, RT_INT8)
EVERY_OP(int16, RT_INT16)
EVERY_OP(int32, RT_INT32)
EVERY_OP(int64, RT_INT64)
EVERY_OP(uint8, RT_UINT8)
EVERY_OP(uint16, RT_UINT16)
EVERY_OP(uint32, RT_UINT32)
EVERY_OP(uint64, RT_UINT64)
EVERY_OP(float16, RT_FLOAT16)
EVERY_OP(bfloat16, RT_BFLOAT16)
EVERY_OP(float32, RT_FLOAT32)
EVERY_OP(float64, RT_FLOAT64)
EVERY_OP(complex64, RT_COMPLEX64)
EVERY_OP(complex128, RT_COMPLEX128)

#define ROW 150 /* elements of each conversion */

/* x converted to every dtype and then to float64, one row for each. */
static void check_conversions(enum rt_dtype from)
{
    struct kn_program p;
    int x, which, node = -1;
    int64_t columns = ROW, rows[] = {RT_COMPLEX64, 1};
    ARRAYS a = test_array(from, 1, &columns, 1, true), w = {0}, native = {0}, generated = {0};
    OK(rt_array_new(test_device(), RT_INT32, 2, rows, &w, e));
    kn_program_start(&p);
    OK(kn_program_array(&p, &a, &x, e));
    OK(kn_program_array(&p, &w, &which, e));
    for (int t = 0; t < RT_COMPLEX64; t++) {
        int value, number, mask;
        rt_store_int(RT_INT32, element(&w, t), t);
        OK(kn_program_convert(&p, x, (enum rt_dtype)t, &value, e));
        if (p.count + 4 > KN_MAX_NODES) break;
        OK(kn_program_convert(&p, value, RT_FLOAT64, &value, e));
        OK(kn_program_number(&p, &(struct kn_operand){.i = t}, &number, e));
        OK(kn_program_op(&p, KN_EQ, (int[]){which, number}, &mask, e));
        if (node < 0)
            node = value;
        else
            OK(kn_program_op(&p, KN_WHERE, (int[]){mask, value, node}, &node, e));
    }
    run_both(&p, &native, &generated);
    same(&native, &generated, 0, "conversions");
}

TEST(generated_conversions)
{
    static const enum rt_dtype from[] = {RT_FLOAT32, RT_FLOAT64,  RT_INT64, RT_UINT64,
                                         RT_FLOAT16, RT_BFLOAT16, RT_INT16};
    start();
    for (size_t i = 0; i < sizeof from / sizeof *from; i++) check_conversions(from[i]);
}

TEST(generated_stores)
{
    int64_t shape[] = {9, 40};
    start();
    for (int t = 0; t < RT_DTYPE_COUNT; t++) {
        ARRAYS a = test_array((enum rt_dtype)t, 2, shape, 3, true), p = {0}, out = {0};
        OK(rt_array_permute(&a, (int[]){1, 0}, &p, e));
        OK(kn_contiguous(&p, &out, e));
        for (int64_t i = 0; i < 360; i++)
            if (memcmp(element(&p, i), element(&out, i), rt_dtypes[t].size) != 0)
                FAIL("%s [%lld] is wrong", rt_dtypes[t].name, (long long)i);
    }
}

static struct rt_array new_like(const struct rt_array *a)
{
    struct rt_array out;
    OK(rt_array_new(test_device(), a->dtype, a->ndim, a->shape, &out, e));
    return out;
}

/* One kernel serves all sizes of a layout: the second half of this compiles nothing. */
TEST(generated_layouts)
{
    start();
    size_t count = 0;
    for (int64_t rows = 3; rows <= 403; rows += 400) {
        int64_t shape[] = {rows, 50}, row[] = {50}, turned[] = {50, rows};
        ARRAYS a = test_array(RT_FLOAT32, 2, shape, 1, false), b = test_array(RT_FLOAT32, 1, row, 2, false);
        ARRAYS c = test_array(RT_FLOAT32, 2, turned, 3, false), p = {0}, r = {0};
        OK(rt_array_permute(&c, (int[]){1, 0}, &p, e));
        OK(rt_array_slice(&p, 1, 49, 50, -1, &r, e));
        const struct rt_array *others[] = {&b, &p, &r};
        for (int i = 0; i < 3; i++) {
            ARRAYS native = {0}, generated = new_like(&a);
            struct kn_operand args[] = {of_array(&a), of_array(others[i])};
            OK(kn_apply(KN_SUB, args, &generated, e));
            kn_force_generated(false);
            OK(kn_apply(KN_SUB, args, &native, e));
            kn_force_generated(true);
            same(&native, &generated, 0, "layouts");
        }
        if (rows == 3)
            count = kn_generated_count();
        else
            CHECK_INT(kn_generated_count(), count);
    }
}

TEST(generated_scalars_fills_sequences)
{
    start();
    int64_t n = 5000;
    ARRAYS a = {0}, s = {0}, out = {0}, one = test_array(RT_FLOAT32, 0, NULL, 1, false);
    OK(rt_array_new(test_device(), RT_FLOAT32, 1, &n, &a, e));
    OK(kn_sequence(&a, &(struct kn_operand){.is_float = true, .f = 1}, &(struct kn_operand){.is_float = true, .f = 0.5},
                   e));
    OK(rt_array_slice(&a, 0, 1, 2000, 2, &s, e));
    OK(kn_fill(&s, &(struct kn_operand){.i = -1}, e));
    OK(kn_apply(KN_ADD, (struct kn_operand[]){of_array(&a), of_array(&one)}, &out, e));
    for (int64_t i = 0; i < n; i++) {
        float want = i < 4000 && i % 2 == 1 ? -1.0f : 1 + 0.5f * (float)i;
        CHECK(get(&a, i) == want);
        CHECK(get(&out, i) == want + (float)get(&one, 0));
    }
}

static void check_reduction(enum kn_reduction k, const struct rt_array *a, int axis, double ulps)
{
    ARRAYS native = {0}, generated = {0};
    OK(kn_reduce(k, a, axes_of(axis), false, &generated, e));
    kn_force_generated(false);
    OK(kn_reduce(k, a, axes_of(axis), false, &native, e));
    kn_force_generated(true);
    same(&native, &generated, ulps, kn_reductions[k].name);
}

TEST(generated_reductions)
{
    start();
    int64_t shape[] = {7, 300}, n = 70000;
    ARRAYS a = test_array(RT_INT32, 2, shape, 1, false), f = test_array(RT_FLOAT32, 1, &n, 2, true), p = {0};
    ARRAYS h = test_array(RT_FLOAT16, 2, shape, 1, false);
    check_reduction(KN_SUM, &a, -1, 0);
    check_reduction(KN_SUM, &a, 0, 0);
    check_reduction(KN_MEAN, &a, 1, 1);
    check_reduction(KN_ALL, &a, 1, 0);
    check_reduction(KN_MIN, &f, -1, 0);
    check_reduction(KN_ARGMAX, &f, -1, 0);
    check_reduction(KN_ARGMIN, &a, 0, 0);
    check_reduction(KN_MAX, &h, 1, 0);
    OK(rt_array_permute(&a, (int[]){1, 0}, &p, e));
    check_reduction(KN_ARGMAX, &p, -1, 0);
}

/* The sum of (a - b)^2 along an axis, b being a row: no difference is stored, and other shapes compile nothing. */
TEST(generated_reductions_of_programs)
{
    start();
    size_t count = 0;
    for (int rows = 4; rows < 8; rows++) {
        int64_t shape[] = {rows, 40 + rows}, row = 40 + rows;
        ARRAYS a = test_array(RT_INT32, 2, shape, 1, false), b = test_array(RT_INT64, 1, &row, 2, false), native = {0},
               generated = {0};
        struct kn_program p;
        int nodes[3];
        kn_program_start(&p);
        OK(kn_program_array(&p, &a, &nodes[0], e));
        OK(kn_program_array(&p, &b, &nodes[1], e));
        OK(kn_program_op(&p, KN_SUB, nodes, &nodes[0], e));
        OK(kn_program_op(&p, KN_SQUARE, nodes, &nodes[0], e));
        OK(kn_program_reduce(&p, KN_SUM, 2, false, &generated, e));
        kn_force_generated(false);
        OK(kn_program_reduce(&p, KN_SUM, 2, false, &native, e));
        kn_force_generated(true);
        same(&native, &generated, 0, "squared distances");
        if (rows == 4) count = kn_generated_count();
        CHECK_INT(kn_generated_count(), count);
    }
}

TEST(generated_matmul)
{
    start();
    int64_t left[] = {70, 33}, right[] = {65, 33};
    for (int i = 0; i < 2; i++) {
        enum rt_dtype t = i ? RT_INT64 : RT_FLOAT32;
        ARRAYS a = test_array(t, 2, left, 1, false), b = test_array(t, 2, right, 2, false), v = {0}, native = {0},
               generated = {0};
        OK(rt_array_permute(&b, (int[]){1, 0}, &v, e));
        OK(kn_matmul(&a, &v, &generated, e));
        kn_force_generated(false);
        OK(kn_matmul(&a, &v, &native, e));
        kn_force_generated(true);
        for (int64_t k = 0; k < 70 * 65; k++) CHECK_NEAR(get(&generated, k), get(&native, k), i ? 0 : 2e-2);
    }
}

TEST(generated_matmul_batches)
{
    start();
    int64_t left[] = {3, 1, 5, 4}, right[] = {2, 4, 67};
    ARRAYS a = test_array(RT_FLOAT64, 4, left, 1, false), b = test_array(RT_FLOAT64, 3, right, 2, false), v = {0},
           native = {0}, generated = {0};
    OK(rt_array_slice(&a, 0, 2, 3, -1, &v, e));
    OK(kn_matmul(&v, &b, &generated, e));
    kn_force_generated(false);
    OK(kn_matmul(&v, &b, &native, e));
    kn_force_generated(true);
    CHECK_INT(rt_array_size(&native), 3 * 2 * 5 * 67);
    for (int64_t k = 0; k < 3 * 2 * 5 * 67; k++) CHECK_NEAR(get(&generated, k), get(&native, k), 1e-12);
}

TEST(generated_allocations_fail)
{
    start();
    int64_t n = 300;
    ARRAYS x = test_array(RT_FLOAT32, 1, &n, 1, false), out = {0};
    struct rt_error error = {0};
    for (long nth = 1;; nth++) {
        rt_fail_allocation(nth);
        enum rt_status status = kn_apply(KN_NEG, (struct kn_operand[]){of_array(&x)}, &out, &error);
        rt_fail_allocation(0);
        if (status == RT_OK) break;
        CHECK(out.storage == NULL);
        CHECK(nth < 3000);
        rt_error_clear(&error);
    }
    for (int64_t i = 0; i < n; i++) CHECK(get(&out, i) == -get(&x, i));
}
