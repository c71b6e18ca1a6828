/* Machine code for chains of integers, beside the same computed one element and one operation at a time; and programs
 * with it, beside the same by loops. */
#include "tests/unit/chains.h"

#define MOST 300 /* elements */

static const enum rt_dtype types[] = {RT_INT8, RT_UINT8, RT_INT16, RT_UINT16, RT_INT32, RT_UINT32};
static const enum kn_op of_numbers[] = {KN_ADD,  KN_SUB,  KN_MUL,    KN_BITWISE_AND, KN_BITWISE_OR, KN_BITWISE_XOR,
                                        KN_NEG,  KN_ABS,  KN_SQUARE, KN_BITWISE_NOT, KN_MINIMUM,    KN_MAXIMUM,
                                        KN_FMIN, KN_FMAX, KN_CLIP,   KN_WHERE};
static const enum kn_op of_truth[] = {KN_EQ, KN_NE,          KN_LT,         KN_LE,          KN_GT,
                                      KN_GE, KN_LOGICAL_AND, KN_LOGICAL_OR, KN_LOGICAL_XOR, KN_LOGICAL_NOT};

static int64_t wrapped(enum rt_dtype t, int64_t v)
{
    switch (t) {
    case RT_INT8: return (int8_t)v;
    case RT_UINT8: return (uint8_t)v;
    case RT_INT16: return (int16_t)v;
    case RT_UINT16: return (uint16_t)v;
    case RT_INT32: return (int32_t)v;
    default: return (uint32_t)v;
    }
}

static int64_t compute(enum kn_op op, int64_t a, int64_t b, int64_t c)
{
    switch (op) {
    case KN_ADD: return a + b;
    case KN_SUB: return a - b;
    case KN_MUL: return (int64_t)((uint64_t)a * (uint64_t)b);
    case KN_SQUARE: return (int64_t)((uint64_t)a * (uint64_t)a);
    case KN_BITWISE_AND: return a & b;
    case KN_BITWISE_OR: return a | b;
    case KN_BITWISE_XOR: return a ^ b;
    case KN_BITWISE_NOT: return ~a;
    case KN_NEG: return -a;
    case KN_ABS: return a < 0 ? -a : a;
    case KN_MINIMUM:
    case KN_FMIN: return a < b ? a : b;
    case KN_MAXIMUM:
    case KN_FMAX: return a > b ? a : b;
    case KN_CLIP: a = a < b ? b : a; return a > c ? c : a;
    case KN_WHERE: return a ? b : c;
    case KN_EQ: return a == b;
    case KN_NE: return a != b;
    case KN_LT: return a < b;
    case KN_LE: return a <= b;
    case KN_GT: return a > b;
    case KN_GE: return a >= b;
    case KN_LOGICAL_AND: return a && b;
    case KN_LOGICAL_OR: return a || b;
    case KN_LOGICAL_XOR: return a != b;
    case KN_LOGICAL_NOT: return !a;
    default: FAIL("operation %d", (int)op);
    }
}

static bool is_truth(const struct kn_chain *c, int arg)
{
    if (arg >= KN_CHAIN_INPUT) return c->input[arg - KN_CHAIN_INPUT] == KN_CHAIN_TRUTHS;
    if (c->item[arg].op == KN_CHAIN_NUMBER) return false;
    const enum kn_chain_kind kind = kn_chain_kind(c->item[arg].op, c->type);
    return kind == KN_CHAIN_COMPARES || kind == KN_CHAIN_LOGIC;
}

/* An operand, most often one of the last. */
static uint8_t pick(const struct kn_chain *c, bool truth)
{
    for (int tries = 0;; tries++) {
        const int from = tries < 20 ? (int)below(4) : (int)below(c->count + c->inputs);
        const int arg = from < c->count && below(3) ? c->count - 1 - from : KN_CHAIN_INPUT + (int)below(c->inputs);
        if (is_truth(c, arg) == truth) return (uint8_t)arg;
    }
}

static struct kn_chain any_chain(int most_inputs, int most_items)
{
    struct kn_chain c = {.type = types[below(6)], .inputs = (uint8_t)(2 + below((unsigned)most_inputs - 1))};
    for (int k = 0; k < c.inputs; k++) /* numbers and truths there are always */
        c.input[k] = (uint8_t)(k < 2 ? (unsigned)k : below(4) ? 0 : 1 + below(2));
    const int items = 2 + (int)below((unsigned)most_items - 1);
    while (c.count < items) {
        struct kn_chain_item n = {KN_CHAIN_NUMBER, {pick(&c, true)}};
        const unsigned kind = below(8);
        if (kind > 0) {
            n.op = (uint8_t)(kind < 6 ? of_numbers[below(sizeof of_numbers / sizeof *of_numbers)]
                                      : of_truth[below(sizeof of_truth / sizeof *of_truth)]);
            const enum kn_chain_kind is = kn_chain_kind(n.op, c.type);
            if (is == KN_CHAIN_NONE) continue;
            for (int k = 0; k < kn_ops[n.op].arity; k++)
                n.arg[k] = pick(&c, is == KN_CHAIN_LOGIC || (n.op == KN_WHERE && k == 0));
        }
        c.item[c.count++] = n;
    }
    return c;
}

struct data {
    _Alignas(64) char bytes[KN_CODE_INPUTS][(MOST + 8) * 4];
    const void *at[KN_CODE_INPUTS];
};

static void fill(struct data *d, const struct kn_chain *c)
{
    const size_t size = rt_dtypes[c->type].size;
    for (int k = 0; k < c->inputs; k++) {
        char *at = d->bytes[k] + below(9) * size;
        d->at[k] = at;
        for (int i = 0; i < MOST; i++) {
            const uint32_t odd[] = {0, 1, UINT32_MAX, 0x80808080, 0x7f7f7f7f, 0x80000000, 0x80008000, 0x7fff7fff};
            const uint32_t v = below(2) ? odd[below(8)] : below(2) ? below(8) : below(1u << 31) * 2 + below(2);
            if (c->input[k] == KN_CHAIN_TRUTHS)
                at[i] = (char)below(2);
            else
                memcpy(at + (size_t)i * size, &v, size);
        }
    }
}

static int64_t number(enum rt_dtype t, const void *from, int i)
{
    uint32_t v = 0;
    memcpy(&v, (const char *)from + (size_t)i * rt_dtypes[t].size, rt_dtypes[t].size);
    return wrapped(t, v);
}

static int64_t operand(const struct kn_chain *c, const struct data *d, const int64_t *items, int arg, int i)
{
    if (arg < KN_CHAIN_INPUT) return items[arg];
    const int k = arg - KN_CHAIN_INPUT;
    if (c->input[k] == KN_CHAIN_TRUTHS) return ((const char *)d->at[k])[i];
    return number(c->type, d->at[k], c->input[k] == KN_CHAIN_SAME ? 0 : i);
}

static int64_t expected(const struct kn_chain *c, const struct data *d, int i)
{
    int64_t items[KN_CODE_NODES], v[3] = {0};
    for (int k = 0; k < c->count; k++) {
        const struct kn_chain_item *n = &c->item[k];
        const bool made = n->op == KN_CHAIN_NUMBER;
        for (int m = 0; m < (made ? 1 : kn_ops[n->op].arity); m++) v[m] = operand(c, d, items, n->arg[m], i);
        items[k] = made ? v[0] : compute(n->op, v[0], v[1], v[2]);
        if (!is_truth(c, k)) items[k] = wrapped(c->type, items[k]);
    }
    return items[c->count - 1];
}

static void check_chain(const struct kn_chain *c, kn_code_loop *run, int bits, uint64_t seed)
{
    static struct data d;
    _Alignas(64) char out[(MOST + 9) * 4];
    fill(&d, c);
    const int n = (int)below(MOST + 1);
    const enum rt_dtype t = is_truth(c, c->count - 1) ? RT_UINT8 : c->type;
    char *at = out + rt_dtypes[t].size * below(8), *end = at + rt_dtypes[t].size * (size_t)n;
    memset(out, 0x55, sizeof out);
    run(d.at, at, (size_t)n);
    for (int i = 0; i < n; i++) {
        const int64_t want = expected(c, &d, i), got = number(t, at, i);
        if (want != got)
            FAIL("seed %llu, %s, %d bits, element %d of %d: %lld, expected %lld", (unsigned long long)seed,
                 rt_dtypes[c->type].name, bits, i, n, (long long)got, (long long)want);
    }
    for (char *p = out; p < out + sizeof out; p++) /* nothing beside it was written */
        if ((p < at || p >= end) && *p != 0x55) FAIL("seed %llu: written outside", (unsigned long long)seed);
}

TEST(chains_by_avx2)
{
    start();
    check_chains(256, 6, 8, 3000, 2900);
    check_chains(256, KN_CODE_INPUTS, KN_CODE_NODES, 1000, 300);
}

TEST(chains_by_avx512)
{
    start();
    if (rt_host_level() < RT_V4) SKIP("a processor without AVX-512");
    check_chains(512, 6, 8, 3000, 2900);
    check_chains(512, KN_CODE_INPUTS, KN_CODE_NODES, 1000, 300);
}

/* ---- programs ---- */

/* What becomes of a game of life's cells, and where x is above y, |x - row| * 2 in float32: groups of two types, a row
 * that is repeated, a truth made a number, and reductions, in whose blocks integers are wider. */
static void evaluate(const struct rt_array *x, const struct rt_array *y, const struct rt_array *row,
                     struct rt_array *out, struct rt_array *sums)
{
    struct kn_program p;
    int nx, ny, nrow, two, node;
    struct kn_operand number = int_number(2);
    kn_program_start(&p);
    OK(kn_program_array(&p, x, &nx, e));
    OK(kn_program_array(&p, y, &ny, e));
    OK(kn_program_array(&p, row, &nrow, e));
    OK(kn_program_number(&p, &number, &two, e));
    const int sum = node_of(&p, KN_ADD, node_of(&p, KN_ADD, nx, ny, 0), nrow, 0),
              even = node_of(&p, KN_EQ, sum, two, 0);
    const int lives =
        node_of(&p, KN_BITWISE_OR, even,
                node_of(&p, KN_BITWISE_AND, node_of(&p, KN_LT, sum, nx, 0), node_of(&p, KN_NE, nx, two, 0), 0), 0);
    OK(kn_program_convert(&p, lives, x->dtype, &node, e));
    node = node_of(&p, KN_BITWISE_XOR, node_of(&p, KN_SUB, node, nrow, 0), node_of(&p, KN_CLIP, nx, nrow, ny), 0);
    node = node_of(&p, KN_WHERE, node_of(&p, KN_BITWISE_NOT, lives, 0, 0), node, node_of(&p, KN_MAXIMUM, nx, ny, 0));
    OK(kn_program_run(&p, out, e));
    OK(kn_program_reduce(&p, KN_SUM, 2, false, sums, e));
}

TEST(programs_have_the_bits_of_loops)
{
    start();
    static const int64_t shapes[][2] = {{1, 1}, {1, 7}, {3, 50}, {5, 129}, {70, 33}, {2, 5000}, {64, 2048}, {0, 4}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int k = 0; k < 12; k++) {
            const enum rt_dtype t = types[k % 6];
            ARRAYS x = test_array(t, 2, shapes[i], 1, k / 6), y = test_array(t, 2, shapes[i], 2, false);
            ARRAYS row = test_array(t, 1, shapes[i] + 1, 3, false), want = {0}, got = {0};
            struct rt_array sums[2] = {{0}};
            const size_t before = kn_force_code(0);
            evaluate(&x, &y, &row, &want, &sums[0]);
            CHECK_INT(kn_force_code(1), before);
            evaluate(&x, &y, &row, &got, &sums[1]);
            if (i == 1 && k < 6) CHECK(kn_force_code(-1) > before); /* code was made */
            kn_force_code(-1);
            const size_t bytes = (size_t)rt_array_size(&want) * rt_dtypes[t].size;
            CHECK(bytes == 0 || memcmp(rt_array_host(&want), rt_array_host(&got), bytes) == 0);
            const size_t of_sums = (size_t)rt_array_size(&sums[0]) * rt_dtypes[sums[0].dtype].size;
            CHECK(bytes == 0 || memcmp(rt_array_host(&sums[0]), rt_array_host(&sums[1]), of_sums) == 0);
            rt_array_release(&sums[0]);
            rt_array_release(&sums[1]);
        }
}
