/* Machine code for chains of operations, beside the same computed one element and one operation at a time; and programs
 * with it, beside the same by loops. */
#include "tests/unit/chains.h"
#include "tests/unit/guarded.h"

#define MOST 150 /* elements */

static double any_number(void)
{
    static const double odd[] = {0, -0.0, 1, -1, INFINITY, -INFINITY, NAN, 0.5, -2.5, 1e-42, 3e38, 1.5, 2.5};
    return below(3) ? (below(2000001) - 1000000.0) / (1 + below(100000)) : odd[below(sizeof odd / sizeof *odd)];
}

/* ---- chains ---- */

static const enum kn_op of_numbers[] = {KN_ADD,        KN_SUB,    KN_MUL,     KN_DIV,     KN_SQRT,       KN_RSQRT,
                                        KN_RECIPROCAL, KN_SQUARE, KN_NEG,     KN_ABS,     KN_ROUND,      KN_FLOOR,
                                        KN_CEIL,       KN_TRUNC,  KN_MINIMUM, KN_MAXIMUM, KN_FMIN,       KN_FMAX,
                                        KN_CLIP,       KN_LERP,   KN_FMA,     KN_RELU,    KN_LEAKY_RELU, KN_WHERE};
static const enum kn_op of_truth[] = {KN_EQ,    KN_NE,          KN_LT,         KN_LE,          KN_GT,         KN_GE,
                                      KN_ISNAN, KN_LOGICAL_AND, KN_LOGICAL_OR, KN_LOGICAL_XOR, KN_LOGICAL_NOT};

/* What an operation gives, in the type T. */
#define COMPUTE(name, T, ROOT, RINT, FLOOR, CEIL, TRUNC, FMA)                                                          \
    static T name(enum kn_op op, T a, T b, T c, bool truth, bool other)                                                \
    {                                                                                                                  \
        volatile T t;                                                                                                  \
        switch (op) {                                                                                                  \
        case KN_ADD: return a + b;                                                                                     \
        case KN_SUB: return a - b;                                                                                     \
        case KN_MUL: return a * b;                                                                                     \
        case KN_DIV: return a / b;                                                                                     \
        case KN_SQRT: return ROOT(a);                                                                                  \
        case KN_RSQRT: t = ROOT(a); return 1 / t;                                                                      \
        case KN_RECIPROCAL: return 1 / a;                                                                              \
        case KN_SQUARE: return a * a;                                                                                  \
        case KN_NEG: return -a;                                                                                        \
        case KN_ABS: return signbit(a) ? -a : a;                                                                       \
        case KN_ROUND: return RINT(a);                                                                                 \
        case KN_FLOOR: return FLOOR(a);                                                                                \
        case KN_CEIL: return CEIL(a);                                                                                  \
        case KN_TRUNC: return TRUNC(a);                                                                                \
        case KN_MINIMUM: return isnan(a) || a < b ? a : b;                                                             \
        case KN_MAXIMUM: return isnan(a) || a > b ? a : b;                                                             \
        case KN_FMIN: return isnan(b) || a < b ? a : b;                                                                \
        case KN_FMAX: return isnan(b) || a > b ? a : b;                                                                \
        case KN_CLIP: t = a < b ? b : a; return t > c ? c : t;                                                         \
        case KN_LERP:                                                                                                  \
            t = b - a;                                                                                                 \
            t = c * t;                                                                                                 \
            return a + t;                                                                                              \
        case KN_FMA: return FMA(a, b, c);                                                                              \
        case KN_RELU: return a < 0 ? 0 : a;                                                                            \
        case KN_LEAKY_RELU: return a < 0 ? a * b : a;                                                                  \
        case KN_WHERE: return truth ? b : c;                                                                           \
        case KN_EQ: return a == b;                                                                                     \
        case KN_NE: return a != b;                                                                                     \
        case KN_LT: return a < b;                                                                                      \
        case KN_LE: return a <= b;                                                                                     \
        case KN_GT: return a > b;                                                                                      \
        case KN_GE: return a >= b;                                                                                     \
        case KN_ISNAN: return isnan(a);                                                                                \
        case KN_LOGICAL_AND: return truth && other;                                                                    \
        case KN_LOGICAL_OR: return truth || other;                                                                     \
        case KN_LOGICAL_XOR: return truth != other;                                                                    \
        case KN_LOGICAL_NOT: return !truth;                                                                            \
        default: FAIL("operation %d", (int)op);                                                                        \
        }                                                                                                              \
    }
COMPUTE(compute_float, float, sqrtf, rintf, floorf, ceilf, truncf, fmaf)
COMPUTE(compute_double, double, sqrt, rint, floor, ceil, trunc, fma)

static bool is_wide(const struct kn_chain *c)
{
    return c->type == RT_FLOAT64;
}

enum { NUMBER, TRUTH, INTEGER };
static int kind_of(const struct kn_chain *c, int arg)
{
    if (arg >= KN_CHAIN_INPUT) {
        const int input = c->input[arg - KN_CHAIN_INPUT];
        return input >= KN_CHAIN_INT8 ? INTEGER : input == KN_CHAIN_TRUTHS ? TRUTH : NUMBER;
    }
    if (c->item[arg].op == KN_CHAIN_NUMBER) return NUMBER;
    const enum kn_chain_kind kind = kn_chain_kind(c->item[arg].op, c->type);
    return kind == KN_CHAIN_COMPARES || kind == KN_CHAIN_LOGIC ? TRUTH : NUMBER;
}

/* An operand of a kind, most often one of the last. */
static uint8_t pick(const struct kn_chain *c, int kind)
{
    for (int tries = 0;; tries++) {
        const int from = tries < 20 ? (int)below(4) : (int)below(c->count + c->inputs);
        const int arg = from < c->count && below(3) ? c->count - 1 - from : KN_CHAIN_INPUT + (int)below(c->inputs);
        if (kind_of(c, arg) == kind) return (uint8_t)arg;
    }
}

static struct kn_chain any_chain(int most_inputs, int most_items)
{
    struct kn_chain c = {.type = below(2) ? RT_FLOAT64 : RT_FLOAT32,
                         .inputs = (uint8_t)(2 + below((unsigned)most_inputs - 1))};
    for (int k = 0; k < c.inputs; k++) {
        const unsigned other = 1 + below(is_wide(&c) ? KN_CHAIN_SAME : KN_CHAIN_INT32);
        c.input[k] = (uint8_t)(k < 2 ? (unsigned)k : k == 2 && !is_wide(&c) ? KN_CHAIN_UINT8 : below(4) ? 0 : other);
    }
    const int items = 2 + (int)below((unsigned)most_items - 1);
    while (c.count < items) {
        struct kn_chain_item n = {0};
        const unsigned kind = below(8);
        if (kind == 0) {
            const bool integer = !is_wide(&c) && c.inputs > 2 && below(2);
            n = (struct kn_chain_item){KN_CHAIN_NUMBER, {pick(&c, integer ? INTEGER : TRUTH)}};
        } else {
            n.op = (uint8_t)(kind < 6 ? of_numbers[below(sizeof of_numbers / sizeof *of_numbers)]
                                      : of_truth[below(sizeof of_truth / sizeof *of_truth)]);
            for (int k = 0; k < kn_ops[n.op].arity; k++)
                n.arg[k] = pick(
                    &c, kn_chain_kind(n.op, c.type) == KN_CHAIN_LOGIC || (n.op == KN_WHERE && k == 0) ? TRUTH : NUMBER);
        }
        c.item[c.count++] = n;
    }
    return c;
}

struct data {
    _Alignas(64) char bytes[KN_CODE_INPUTS][(MOST + 8) * 8];
    const void *at[KN_CODE_INPUTS];
};

static void fill(struct data *d, const struct kn_chain *c)
{
    for (int k = 0; k < c->inputs; k++) {
        char *at = d->bytes[k] + below(9) * (kind_of(c, KN_CHAIN_INPUT + k) == NUMBER ? 4u << is_wide(c) : 4u);
        d->at[k] = at;
        for (int i = 0; i < MOST; i++) {
            const double f = any_number();
            if (c->input[k] == KN_CHAIN_TRUTHS)
                at[i] = (char)below(2);
            else if (c->input[k] >= KN_CHAIN_INT8)
                memcpy(at + 4 * i, &(uint32_t){below(1u << 31) * 2}, 4);
            else if (is_wide(c))
                ((double *)(void *)at)[i] = f;
            else
                ((float *)(void *)at)[i] = (float)f;
        }
    }
}

/* Moves the first n elements of each input to where the last one ends at such an end. */
static void move_to_ends(struct data *d, const struct kn_chain *c, size_t n)
{
    for (int k = 0; k < c->inputs; k++) {
        static const uint8_t small[] = {[KN_CHAIN_TRUTHS] = 1, [KN_CHAIN_INT8] = 1,   [KN_CHAIN_UINT8] = 1,
                                        [KN_CHAIN_INT16] = 2,  [KN_CHAIN_UINT16] = 2, [KN_CHAIN_INT32] = 4};
        const uint8_t what = c->input[k];
        const size_t other = what < sizeof small ? small[what] : 0, element = other ? other : is_wide(c) ? 8 : 4;
        const size_t bytes = (what == KN_CHAIN_SAME ? 1 : n) * element;
        d->at[k] = memcpy(guarded_end(k) - bytes, d->at[k], bytes);
    }
}

/* The number or truth of an operand at an element. */
static double operand(const struct kn_chain *c, const struct data *d, const double *items, int arg, int i)
{
    if (arg < KN_CHAIN_INPUT) return items[arg];
    const int k = arg - KN_CHAIN_INPUT, at = c->input[k] == KN_CHAIN_SAME ? 0 : i;
    switch (c->input[k]) {
    case KN_CHAIN_TRUTHS:
    case KN_CHAIN_INT8: return ((const int8_t *)d->at[k])[at];
    case KN_CHAIN_UINT8: return ((const uint8_t *)d->at[k])[at];
    case KN_CHAIN_INT16: return ((const int16_t *)d->at[k])[at];
    case KN_CHAIN_UINT16: return ((const uint16_t *)d->at[k])[at];
    case KN_CHAIN_INT32: return ((const int32_t *)d->at[k])[at];
    default: break;
    }
    return is_wide(c) ? ((const double *)d->at[k])[at] : (double)((const float *)d->at[k])[at];
}

static double expected(const struct kn_chain *c, const struct data *d, int i)
{
    double items[KN_CODE_NODES], v[3] = {0};
    for (int k = 0; k < c->count; k++) {
        const struct kn_chain_item *n = &c->item[k];
        const bool number = n->op == KN_CHAIN_NUMBER;
        for (int m = 0; m < (number ? 1 : kn_ops[n->op].arity); m++) v[m] = operand(c, d, items, n->arg[m], i);
        const bool truth = v[0] != 0, other = v[1] != 0;
        if (number)
            items[k] = is_wide(c) ? v[0] : (double)(float)v[0];
        else if (is_wide(c))
            items[k] = compute_double(n->op, v[0], v[1], v[2], truth, other);
        else
            items[k] = (double)compute_float(n->op, (float)v[0], (float)v[1], (float)v[2], truth, other);
    }
    return items[c->count - 1];
}

static bool same(double a, double b)
{
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

static void check_chain(const struct kn_chain *c, kn_code_loop *run, int bits, uint64_t seed)
{
    static struct data d;
    _Alignas(64) char out[(MOST + 9) * 8];
    fill(&d, c);
    const int n = (int)below(MOST + 1);
    const bool truths = kind_of(c, c->count - 1) == TRUTH;
    const size_t element = truths ? 1 : is_wide(c) ? 8 : 4;
    char *at = out + element * below(8);
    memset(out, 0x55, sizeof out);
    move_to_ends(&d, c, (size_t)n);
    run(d.at, at, (size_t)n);
    for (int i = 0; i < n; i++) {
        const double want = expected(c, &d, i), got = truths       ? at[i]
                                                      : is_wide(c) ? ((double *)(void *)at)[i]
                                                                   : (double)((float *)(void *)at)[i];
        if (!same(want, got))
            FAIL("seed %llu, %d bits, element %d of %d: %.17g, expected %.17g", (unsigned long long)seed, bits, i, n,
                 got, want);
    }
    for (char *p = out; p < out + sizeof out; p++) /* nothing beside it was written */
        if ((p < at || p >= at + element * (size_t)n) && *p != 0x55)
            FAIL("seed %llu: written outside", (unsigned long long)seed);
}

TEST(chains_by_avx2)
{
    start();
    check_chains(256, 6, 8, 2000, 1900);
    check_chains(256, KN_CODE_INPUTS, KN_CODE_NODES, 1000, 300);
}

TEST(chains_by_avx512)
{
    start();
    if (rt_host_level() < RT_V4) SKIP("a processor without AVX-512");
    check_chains(512, 6, 8, 2000, 1900);
    check_chains(512, KN_CODE_INPUTS, KN_CODE_NODES, 1000, 300);
}

/* ---- programs ---- */

/* (x + row) * 2 - exp(x - y) * 2, where it is above y, else the square root of |y|: groups with and without others
 * between them, a row that is repeated, a number that two have, and values that are wanted twice. */
static void evaluate(const struct rt_array *x, const struct rt_array *y, const struct rt_array *row,
                     struct rt_array *out)
{
    struct kn_program p;
    int nx, ny, nrow, two;
    struct kn_operand number = float_number(2);
    kn_program_start(&p);
    OK(kn_program_array(&p, x, &nx, e));
    OK(kn_program_array(&p, y, &ny, e));
    OK(kn_program_array(&p, row, &nrow, e));
    OK(kn_program_number(&p, &number, &two, e));
    const int sum = node_of(&p, KN_MUL, node_of(&p, KN_ADD, nx, nrow, 0), two, 0);
    const int power =
        node_of(&p, KN_EXP, node_of(&p, KN_NEG, node_of(&p, KN_ABS, node_of(&p, KN_SUB, nx, ny, 0), 0, 0), 0, 0), 0, 0);
    const int z = node_of(&p, KN_SUB, sum, node_of(&p, KN_MUL, power, two, 0), 0);
    node_of(&p, KN_WHERE, node_of(&p, KN_GT, z, ny, 0), z, node_of(&p, KN_SQRT, node_of(&p, KN_ABS, ny, 0, 0), 0, 0));
    OK(kn_program_run(&p, out, e));
}

TEST(programs_have_the_bits_of_loops)
{
    start();
    static const int64_t shapes[][2] = {{1, 1}, {1, 7}, {3, 50}, {5, 129}, {70, 33}, {2, 5000}, {64, 2048}, {0, 4}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int k = 0; k < 4; k++) {
            const enum rt_dtype t = k % 2 ? RT_FLOAT64 : RT_FLOAT32;
            ARRAYS x = test_array(t, 2, shapes[i], 1, k / 2), y = test_array(t, 2, shapes[i], 2, false);
            ARRAYS row = test_array(t, 1, shapes[i] + 1, 3, false), want = {0}, got = {0};
            const size_t before = kn_force_code(0);
            evaluate(&x, &y, &row, &want);
            CHECK_INT(kn_force_code(1), before);
            evaluate(&x, &y, &row, &got);
            if (i == 1) CHECK(kn_force_code(-1) > before || k >= 2); /* code was made, and once for a chain */
            if (i > 1) CHECK_INT(kn_force_code(-1), before);
            const size_t bytes = (size_t)rt_array_size(&want) * rt_dtypes[t].size;
            CHECK(bytes == 0 || memcmp(rt_array_host(&want), rt_array_host(&got), bytes) == 0);
        }
}

/* Bytes and words as numbers: read as they lie, and where a reduction takes what is computed, in wider blocks. */
static void of_integers(const struct rt_array *x, const struct rt_array *y, struct rt_array *out, struct rt_array *sums)
{
    struct kn_program p;
    int nx, ny, half;
    struct kn_operand number = float_number(0.5);
    kn_program_start(&p);
    OK(kn_program_array(&p, x, &nx, e));
    OK(kn_program_array(&p, y, &ny, e));
    OK(kn_program_number(&p, &number, &half, e));
    OK(kn_program_convert(&p, nx, RT_FLOAT32, &nx, e));
    OK(kn_program_convert(&p, ny, RT_FLOAT32, &ny, e));
    node_of(&p, KN_ADD, node_of(&p, KN_MUL, nx, half, 0), ny, 0);
    OK(kn_program_run(&p, out, e));
    OK(kn_program_reduce(&p, KN_SUM, 2, false, sums, e));
}

TEST(integers_become_numbers)
{
    start();
    static const enum rt_dtype types[][2] = {{RT_UINT8, RT_INT16}, {RT_INT8, RT_UINT16}, {RT_INT32, RT_UINT8}};
    const int64_t shape[] = {3, 1001};
    for (int k = 0; k < 3; k++) {
        ARRAYS x = test_array(types[k][0], 2, shape, 5, false), y = test_array(types[k][1], 2, shape, 6, false);
        ARRAYS want = {0}, got = {0}, want_sums = {0}, sums = {0};
        const size_t before = kn_force_code(0);
        of_integers(&x, &y, &want, &want_sums);
        kn_force_code(1);
        of_integers(&x, &y, &got, &sums);
        CHECK(kn_force_code(-1) > before);
        CHECK(memcmp(rt_array_host(&want), rt_array_host(&got), 3003 * 4) == 0);
        CHECK(memcmp(rt_array_host(&want_sums), rt_array_host(&sums), 3 * 4) == 0);
    }
}

static void keep(void *memory)
{
    (void)memory;
}

/* The first n elements of x, which end where no memory may be read behind them. */
static struct rt_array at_end(int k, const struct rt_array *x, int64_t n)
{
    struct rt_array a = {0};
    const size_t bytes = (size_t)n * rt_dtypes[x->dtype].size;
    char *at = memcpy(guarded_end(k) - bytes, rt_array_host(x), bytes);
    struct rt_error error;
    struct rt_storage *s = rt_storage_over(test_device(), (uint64_t)(uintptr_t)at, bytes, at, keep, &error);
    CHECK(s);
    rt_array_over(s, x->dtype, 1, &n, &a);
    return a;
}

/* x * x - y, or x where that is more; or whether it is not: a bool. */
static void square_less(const struct rt_array *x, const struct rt_array *y, const struct rt_array *out)
{
    struct kn_program p;
    int nx, ny;
    kn_program_start(&p);
    OK(kn_program_array(&p, x, &nx, e));
    OK(kn_program_array(&p, y, &ny, e));
    const int less = node_of(&p, KN_SUB, node_of(&p, KN_MUL, nx, nx, 0), ny, 0);
    node_of(&p, out->dtype == RT_BOOL ? KN_GE : KN_MAXIMUM, less, nx, 0);
    OK(kn_program_evaluate(&p, out, e));
}

TEST(integers_have_no_part_in_what_lies_behind_them)
{
    start();
    static const enum rt_dtype types[] = {RT_INT8, RT_UINT8, RT_INT16, RT_UINT16, RT_INT32, RT_UINT32};
    const int64_t most = 200;
    for (size_t k = 0; k < 2 * (sizeof types / sizeof *types); k++)
        for (int64_t n = 1; n <= most; n++) {
            const enum rt_dtype t = types[k / 2], of = k % 2 ? RT_BOOL : t;
            ARRAYS x = test_array(t, 1, &most, 7, false), y = test_array(t, 1, &most, 8, false);
            ARRAYS room = test_array(of, 1, &most, 9, false), want = {0};
            ARRAYS a = at_end(0, &x, n), b = at_end(1, &y, n), got = at_end(2, &room, n);
            OK(rt_array_new(test_device(), of, 1, &n, &want, e));
            kn_force_code(0);
            square_less(&a, &b, &want);
            kn_force_code(1);
            square_less(&a, &b, &got);
            CHECK(kn_force_code(-1) > 0);
            CHECK(memcmp(rt_array_host(&want), rt_array_host(&got), (size_t)n * rt_dtypes[of].size) == 0);
        }
}
