/* The generated CUDA C on the software GPU, against the native loops on the same arrays. Compiling is what takes time,
 * so many operations go into one program: where(which == 0, op0(x, y), where(which == 1, op1(x, y), ...)). */
#include "tests/unit/generated.h"
#include "tests/unit/ops_views.h"

/* How far a function of the CUDA library may be from the host's, in units of the last place; 0 for what IEEE defines.
 */
static double distance_allowed(enum kn_op op)
{
    switch (op) {
    case KN_LGAMMA:
    case KN_GAMMAINC:
    case KN_GAMMAINCC:
    case KN_BETALN:
    case KN_ZETA:
    case KN_POLYGAMMA:
    case KN_ELLIPE:
    case KN_FACTORIAL:
    case KN_GAMMA: return 40;
    case KN_BETA:
    case KN_BETAINC:
    case KN_GAMMAINCINV:
    case KN_GAMMAINCCINV:
    case KN_BETAINCINV:
    case KN_COMB: return 2000; /* powers of e up to the largest number */
    case KN_ELLIPKINC:
    case KN_ELLIPEINC:
    case KN_COSINT:
    case KN_POW: return 12;
    case KN_SPH_LEGENDRE: return 100; /* sines and cosines are multiplied as often as the degree says */
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
    case KN_JV:
    case KN_YV:
    case KN_IV:
    case KN_IVE:
    case KN_KV:
    case KN_KVE: return 1000; /* so large exponents have orders beyond 60, and sums beside their zeros */
    default: return op >= KN_CBRT && op <= KN_K1E && op != KN_RELU ? 6 : op == KN_HYPOT ? 4 : 0;
    }
}

/* How large the numbers are that a result is the sum of, which may itself be nearly 0. */
static double size_within_result(enum kn_op op, enum rt_dtype t)
{
    if (op >= KN_J0 && op <= KN_Y1) return t == RT_FLOAT64 ? 0x1p12 : 1; /* CUDA promises 5e-12 */
    if (op == KN_COSINT || op == KN_SPH_LEGENDRE) return 1;
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
static bool close_enough(enum rt_dtype t, const void *native, const void *generated)
{
    struct rt_complex x = rt_load_complex(t, native), y = rt_load_complex(t, generated);
    double size = hypot(x.re, x.im), most = rt_real_of(t) == RT_FLOAT64 ? 1e300 : 1e36;
    return !(size < most) || hypot(x.re - y.re, x.im - y.im) <= 256 * precision(t) * (1 + size);
}

static bool near_enough(enum rt_dtype t, const void *native, const void *generated, double ulps, double within)
{
    if (rt_is_complex(t)) return close_enough(t, native, generated);
    if (rt_dtypes[t].kind != 'f') return rt_load_int(t, native) == rt_load_int(t, generated);
    double x = rt_load_double(t, native), y = rt_load_double(t, generated);
    double unit = (fabs(x) + within) * precision(t) + (t == RT_FLOAT16 ? 0x1p-24 : 1e-38);
    return isnan(x) ? isnan(y) : x == y || fabs(x - y) <= ulps * unit;
}

#define DIFFERS(what, t, i, native, generated)                                                                         \
    FAIL("%s %s [%lld]: generated %.17g, native %.17g", what, rt_dtypes[t].name, (long long)(i),                       \
         rt_load_double(t, generated), rt_load_double(t, native))

static void same(const struct rt_array *native, const struct rt_array *generated, double ulps, const char *what)
{
    enum rt_dtype t = native->dtype;
    CHECK_INT(t, generated->dtype);
    CHECK(rt_array_same_shape(native, generated));
    int64_t n = rt_array_size(native);
    for (int64_t i = 0; i < n; i++)
        if (!near_enough(t, element(native, i), element(generated, i), ulps, 0))
            DIFFERS(what, t, i, element(native, i), element(generated, i));
}

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

/* Every operation, over views of all layouts and shapes, beside what the same values give natively, which is compared
 * with the reference. */

/* Operations of a program, each of which may compute all of them. */
#define FEW 8

/* Those whose functions have loops would run them for each other's elements: they are alone. */
static bool takes_long(enum kn_op op)
{
    return (op >= KN_GAMMAINC && op <= KN_LAMBERTW) || (op >= KN_JV && op <= KN_KVE);
}

/* Operations that turn integers and bools into floating-point numbers have the same text for all that become one dtype
 * but for the conversion, which generated_conversions has of every dtype: two of them stand for the others. */
static bool stands_for_itself(enum kn_op op, enum rt_dtype t)
{
    bool floating = rt_dtypes[t].kind == 'f' || rt_is_complex(t);
    return floating || t == RT_INT32 || t == RT_UINT64 || kn_op_texts[op].rule != KN_RULE_FLOAT;
}

/* Operations on a dtype with so many operands whose results are of one dtype. */
struct group {
    enum rt_dtype t, result;
    int arity, count;
    enum kn_op ops[KN_MAX_NODES];
    const struct rt_array *known[KN_MAX_NODES];
};

/* The program of a group and the array that says which operation's result is wanted: a plane for each. That one is not
 * the same for neighbouring rows and columns, so nothing of layouts and sizes but 1 is in the program's text. */
static void make_program(const struct group *g, const struct rt_array *views, const struct rt_array *w,
                         struct kn_program *p)
{
    int args[3], which, node = -1;
    kn_program_start(p);
    for (int k = 0; k < g->arity; k++) OK(kn_program_array(p, &views[k], &args[k], e));
    OK(kn_program_array(p, w, &which, e));
    for (int i = 0; i < g->count; i++) {
        int value, number, mask;
        OK(kn_program_op(p, g->ops[i], args, &value, e));
        OK(kn_program_convert(p, value, g->result, &value, e));
        OK(kn_program_number(p, &(struct kn_operand){.i = i}, &number, e));
        OK(kn_program_op(p, KN_EQ, (int[]){which, number}, &mask, e));
        OK(kn_program_op(p, KN_WHERE, (int[]){mask, value, node < 0 ? value : node}, &node, e));
    }
}

static void make_planes(int count, const int64_t *shape, struct rt_array *w)
{
    ARRAYS whole = {0}, rows = {0};
    int64_t wider[] = {count > 1 ? count : 2, shape[0] + 1, shape[1] + 1}, n = wider[1] * wider[2];
    OK(rt_array_new(test_device(), RT_INT32, 3, wider, &whole, e));
    for (int64_t i = 0; i < wider[0] * n; i++) ((int32_t *)rt_array_host(&whole))[i] = (int32_t)(i / n);
    OK(rt_array_slice(&whole, 1, 0, shape[0], 1, &rows, e));
    OK(rt_array_slice(&rows, 2, 0, shape[1], 1, w, e));
}

static void check_element(enum kn_op op, const struct rt_array *known, int place, const struct rt_array *out, int64_t i)
{
    const void *native = element(known, place), *generated = element(out, i);
    if (!near_enough(known->dtype, native, generated, distance_allowed(op), size_within_result(op, known->dtype)))
        DIFFERS(kn_ops[op].name, known->dtype, i, native, generated);
}

static void check_planes(const struct group *g, const struct rt_array *out, const uint16_t *places)
{
    CHECK_INT(out->dtype, g->result);
    for (int i = 0; i < g->count; i++) {
        ARRAYS plane = {0};
        OK(rt_array_select(out, 0, i, &plane, e));
        int64_t n = rt_array_size(&plane), at = 0;
        for (; (at = first_difference(g->known[i], rt_array_host(&plane), places, at, n)) < n; at++)
            check_element(g->ops[i], g->known[i], places[at], &plane, at);
    }
}

/* Over one shape: every operand is there in every layout but that of a single number, which has a text of its own, each
 * beside others of another; over the shape that takes long in one of those that are not as memory is, another one for
 * each group. */
static void check_group(const struct group *g, const int64_t *shape, int number)
{
    static uint16_t places[2 * 4097];
    struct rt_array views[3] = {{0}};
    ARRAYS w = {0};
    size_t compiled = 0;
    make_planes(g->count, shape, &w);
    bool longer = shape[1] > 100;
    int first = longer ? STEPPED : PLAIN, all = ONE - first;
    for (int l = 0; l < (longer ? 1 : all); l++) {
        enum layout layouts[3];
        ARRAYS out = {0};
        struct kn_program p;
        for (int k = 0; k < g->arity; k++) {
            layouts[k] = (enum layout)(first + (number + l + k) % all);
            views[k] = filled_view(layouts[k], g->t, k, g->arity, shape);
        }
        make_program(g, views, &w, &p);
        OK(kn_program_run(&p, &out, e));
        places_of(layouts, g->arity, shape, &(struct rt_array){.ndim = 2, .shape = {shape[0], shape[1]}}, places);
        check_planes(g, &out, places);
        if (l > 0) CHECK_INT(kn_generated_count(), compiled);
        compiled = kn_generated_count();
        for (int k = 0; k < g->arity; k++) rt_array_release(&views[k]);
    }
}

/* All operations on the dtype, over all shapes. Of one column they are in another text, which differs by the places of
 * elements alone: a few dtypes have it. */
static void check_groups(enum rt_dtype t, const struct rt_array *known)
{
    const bool columns = t == RT_BOOL || t == RT_FLOAT32 || t == RT_COMPLEX128;
    int number = 0;
    for (int kind = 0; kind < 6 * RT_DTYPE_COUNT; kind++) {
        struct group g = {.t = t, .result = (enum rt_dtype)(kind / 6), .arity = kind % 3 + 1};
        const bool slow = kind / 3 % 2;
        const int most = slow ? 1 : FEW;
        for (int op = 0; op <= KN_OP_COUNT; op++) {
            bool last = op == KN_OP_COUNT;
            if (!last && kn_ops[op].arity == g.arity && known[op].storage && known[op].dtype == g.result &&
                takes_long((enum kn_op)op) == slow && stands_for_itself((enum kn_op)op, t)) {
                g.known[g.count] = &known[op];
                g.ops[g.count++] = (enum kn_op)op;
            }
            if (g.count == 0 || (g.count < most && !last)) continue;
            for (size_t s = 0; s < VIEW_SHAPES; s++)
                if (view_shapes[s][1] != 1 || columns) check_group(&g, view_shapes[s], number);
            g.count = 0;
            number++;
        }
    }
}

static void check_all_ops(enum rt_dtype t)
{
    static struct rt_array known[KN_OP_COUNT];
    kn_force_generated(false);
    for (int op = 0; op < KN_OP_COUNT; op++) known[op] = known_results((enum kn_op)op, t);
    start_generated();
    check_groups(t, known);
    for (int op = 0; op < KN_OP_COUNT; op++) rt_array_release(&known[op]);
}

#define EVERY_OP(name, dtype)                                                                                          \
    TEST(generated_##name)                                                                                             \
    {                                                                                                                  \
        check_all_ops(dtype);                                                                                          \
    }
EVERY_OP(bool, RT_BOOL)
EVERY_OP(int32, RT_INT32)
EVERY_OP(float16, RT_FLOAT16)
EVERY_OP(complex64, RT_COMPLEX64)
#ifndef __SANITIZE_ADDRESS__ /* the host's code, which it sees, is the same for these */
EVERY_OP(float32, RT_FLOAT32)
EVERY_OP(uint64, RT_UINT64)
EVERY_OP(int8, RT_INT8)
EVERY_OP(int16, RT_INT16)
EVERY_OP(int64, RT_INT64)
EVERY_OP(uint8, RT_UINT8)
EVERY_OP(uint16, RT_UINT16)
EVERY_OP(uint32, RT_UINT32)
EVERY_OP(bfloat16, RT_BFLOAT16)
EVERY_OP(float64, RT_FLOAT64)
EVERY_OP(complex128, RT_COMPLEX128)
#endif

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
    start_generated();
    for (int t = 0; t < RT_COMPLEX64; t++) check_conversions((enum rt_dtype)t);
}

TEST(generated_stores)
{
    int64_t shape[] = {9, 40};
    start_generated();
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

/* One kernel serves all sizes of a layout, but that large turned ones go through tiles: each second size compiles
 * nothing.
 */
TEST(generated_layouts)
{
    start_generated();
    static const int64_t sizes[] = {3, 7, 20, 403};
    size_t count = 0;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        int64_t rows = sizes[s], shape[] = {rows, 50}, row[] = {50}, turned[] = {50, rows};
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
        if (s % 2 == 0)
            count = kn_generated_count();
        else
            CHECK_INT(kn_generated_count(), count);
    }
}

TEST(generated_scalars_fills_sequences)
{
    start_generated();
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
    start_generated();
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
    /* Columns so long that several threads have parts of each. */
    int64_t tall[] = {700, 260};
    ARRAYS c = test_array(RT_INT32, 2, tall, 1, false), g = test_array(RT_FLOAT32, 2, tall, 1, true);
    check_reduction(KN_SUM, &c, 0, 0);
    check_reduction(KN_ARGMIN, &c, 0, 0);
    check_reduction(KN_MAX, &g, 0, 0);
    check_reduction(KN_ARGMAX, &g, 0, 0);
}

/* The sum of (a - b)^2 along an axis, b being a row: no difference is stored, and other shapes compile nothing. */
TEST(generated_reductions_of_programs)
{
    start_generated();
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
    start_generated();
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
    start_generated();
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
    start_generated();
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
