/* Expressions while their kernels are compiled in the background: other kernels serve, to the same bits. */
#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>
#include "kernels/expression.h"
#include "kernels/generate.h"
#include "kernels/order.h"
#include "runtime/background.h"
#include "runtime/library.h"
#include "tests/unit/reference.h"

static char cache[] = "/tmp/lunarray-test-XXXXXX";
static pid_t owner;

static void remove_cache(void)
{
    char command[64];
    if (getpid() != owner) return;
    snprintf(command, sizeof command, "rm -rf %s", cache);
    if (system(command) != 0) printf("# could not remove %s\n", cache);
}

static void start(void)
{
    if (!rt_library_find(RT_LIB_NVRTC)->path) SKIP("no NVRTC");
    if (!mkdtemp(cache)) FAIL("no temporary folder");
    owner = getpid();
    atexit(remove_cache);
    setenv("LUNARRAY_CACHE_DIR", cache, 1);
    kn_force_generated(true);
    kn_force_background(1);
}

#define LEAVES 4

struct leaves {
    struct rt_array array[LEAVES];
};

/* A matrix, a row, a transposed matrix that is reversed, and one number. */
static struct leaves make_leaves(void)
{
    static const int64_t shape[] = {5, 7}, turned[] = {7, 5}, row = 7;
    struct leaves l;
    ARRAYS t = test_array(RT_FLOAT16, 2, turned, 3, false), p = {0};
    l.array[0] = test_array(RT_FLOAT32, 2, shape, 1, true);
    l.array[1] = test_array(RT_INT32, 1, &row, 2, false);
    OK(rt_array_permute(&t, (int[]){1, 0}, &p, e));
    OK(rt_array_slice(&p, 1, 6, 7, -1, &l.array[2], e));
    l.array[3] = test_array(RT_FLOAT32, 0, NULL, 4, false);
    return l;
}

static void release_leaves(struct leaves *l)
{
    for (int i = 0; i < LEAVES; i++) rt_array_release(&l->array[i]);
}

/* A random program of `steps` operations: the first four nodes are the leaves, the fifth a number. */
static void make_program(const struct leaves *l, uint32_t seed, int steps, struct kn_program *p)
{
    static const enum kn_op ops[] = {KN_ADD, KN_MUL, KN_SUB, KN_DIV, KN_MAXIMUM, KN_ABS, KN_WHERE};
    int nodes[32], count = 0;
    kn_program_start(p);
    for (int i = 0; i < LEAVES; i++) OK(kn_program_array(p, &l->array[i], &nodes[count++], e));
    struct kn_operand number = {.is_float = true, .f = 0.7};
    OK(kn_program_number(p, &number, &nodes[count++], e));
    for (int i = 0; i < steps; i++) {
        enum kn_op op = ops[random_bits(&seed) % (sizeof ops / sizeof *ops)];
        int args[3], to;
        args[0] = i == 0 ? nodes[0] : nodes[count - 1]; /* so that nearly all of it is used */
        for (int k = 1; k < 3; k++) args[k] = nodes[random_bits(&seed) % (unsigned)count];
        OK(kn_program_op(p, op, args, &to, e));
        nodes[count++] = to;
    }
}

static void same_bits(const struct rt_array *a, const struct rt_array *b, const char *what)
{
    CHECK_INT(a->dtype, b->dtype);
    CHECK(rt_array_same_shape(a, b));
    for (int64_t i = 0; i < rt_array_size(a); i++)
        if (memcmp(element(a, i), element(b, i), rt_dtypes[a->dtype].size) != 0)
            FAIL("%s [%lld]: %.17g and %.17g", what, (long long)i, get(a, i), get(b, i));
}

/* Where nothing is there what is waited for is compiled in a hurry, and serves to the same bits. */
TEST(background_hurries)
{
    start();
    struct leaves l = make_leaves();
    struct kn_program p;
    ARRAYS served = {0}, own = {0};
    make_program(&l, 54321, 20, &p);
    OK(kn_program_run(&p, &served, e));
    CHECK_INT(kn_hurried_count(), 1);
    CHECK_INT(kn_apart_count(), 0);
    rt_background_wait();
    OK(kn_program_run(&p, &own, e));
    CHECK_INT(kn_hurried_count(), 1);
    CHECK(kn_generated_count() > 1); /* those for other programs, too */
    same_bits(&served, &own, "in a hurry");
    release_leaves(&l);
    rt_background_pause();
}

/* What an operation launches is compiled at once; what is made for other processes, or waited for, not in a hurry. */
TEST(background_hurries_together)
{
    start();
    static const int64_t n = 5000;
    ARRAYS a = test_array(RT_FLOAT32, 1, &n, 1, false), b = test_array(RT_INT16, 1, &n, 2, false);
    struct rt_device *d = rt_array_device(&a);
    for (int i = 0; i < 3; i++) {
        ARRAYS values = {0}, order = {0};
        size_t before = kn_hurried_count(), launched = kn_launched_count();
        d->compiles_for = i == 2 ? 80 : 0;
        OK(kn_sort(i == 2 ? &b : &a, 0, false, &values, &order, e));
        CHECK_INT(kn_hurried_count(), before + (i == 0));
        CHECK(kn_launched_count() > launched + 5);
        for (int64_t k = 1; k < n; k++) CHECK(get(&values, k - 1) <= get(&values, k));
        rt_background_wait();
    }
    d->compiles_for = 0;
    rt_background_pause();
}

/* Operation by operation while the whole is being compiled, then the whole. */
TEST(background_random_programs)
{
    start();
    struct leaves l = make_leaves();
    for (uint32_t seed = 1; seed <= 5; seed++) {
        struct kn_program p;
        ARRAYS form = {0}, apart = {0}, whole = {0};
        make_program(&l, seed * 12345, 8, &p);
        OK(kn_program_form(&p, &form, e));
        form.storage = rt_storage_retain(l.array[0].storage); /* for its device alone */
        kn_apart_make_ready(&p, &form);
        rt_background_wait();
        size_t before = kn_apart_count();
        OK(kn_program_run(&p, &apart, e));
        CHECK_INT(kn_apart_count(), before + 1);
        rt_background_wait();
        OK(kn_program_run(&p, &whole, e));
        CHECK_INT(kn_apart_count(), before + 1);
        same_bits(&apart, &whole, "a program");
    }
    release_leaves(&l);
    rt_background_pause(); /* as all who are about to exit */
}

/* In place, where what is written is read, too; and copies. */
TEST(background_in_place)
{
    start();
    static const int64_t n = 100;
    ARRAYS a = test_array(RT_FLOAT32, 1, &n, 1, false), b = test_array(RT_FLOAT32, 1, &n, 1, false), half = {0},
           copy = {0};
    OK(rt_array_slice(&a, 0, 99, 50, -2, &half, e));
    OK(kn_apply(KN_ADD, (struct kn_operand[]){of_array(&half), of_array(&half)}, &half, e)); /* waits */
    rt_background_wait();
    size_t before = kn_apart_count();
    OK(kn_apply(KN_ADD, (struct kn_operand[]){of_array(&b), of_array(&b)}, &b, e));
    CHECK_INT(kn_apart_count(), before + 1);
    for (int64_t i = 1; i < n; i += 2) CHECK(get(&a, i) == get(&b, i));
    OK(kn_contiguous(&half, &copy, e));
    for (int64_t i = 0; i < 50; i++) CHECK(get(&copy, i) == get(&b, 99 - 2 * i));
    rt_background_pause();
}

/* The reduction of (a - b)^2 along the second axis; a `new` one names b first, so that its kernel is another. */
static void distances(const struct rt_array *a, const struct rt_array *b, enum kn_reduction k, bool new,
                      struct rt_array *out)
{
    struct kn_program p;
    int nodes[2], last;
    kn_program_start(&p);
    if (new) OK(kn_program_array(&p, b, &last, e));
    OK(kn_program_array(&p, a, &nodes[0], e));
    OK(kn_program_array(&p, b, &nodes[1], e));
    OK(kn_program_op(&p, KN_SUB, nodes, &last, e));
    OK(kn_program_op(&p, KN_SQUARE, &last, &last, e));
    OK(kn_program_reduce(&p, k, 2, false, out, e));
}

/* What is reduced is stored while the kernel that need not store it is being compiled. */
TEST(background_reductions)
{
    start();
    static const int64_t shape[] = {6, 20000}, column[] = {6, 1};
    static const enum kn_reduction reductions[] = {KN_SUM, KN_ARGMAX, KN_MEAN};
    ARRAYS a = test_array(RT_FLOAT32, 2, shape, 1, false), b = test_array(RT_FLOAT32, 2, column, 2, false);
    for (int i = 0; i < 3; i++) {
        ARRAYS first = {0}, served = {0}, fused = {0};
        distances(&a, &b, reductions[i], false, &first); /* waits; what can serve is made ready */
        rt_background_wait();
        size_t before = kn_apart_count();
        distances(&a, &b, reductions[i], true, &served);
        if (i == 0) CHECK_INT(kn_apart_count(), before + 1);
        rt_background_wait();
        before = kn_apart_count();
        distances(&a, &b, reductions[i], true, &fused);
        CHECK_INT(kn_apart_count(), before);
        same_bits(&served, &fused, kn_reductions[reductions[i]].name);
        same_bits(&served, &first, kn_reductions[reductions[i]].name);
    }
    rt_background_pause();
}

/* What is stored has no gaps, though what it is computed of has some: else it would be written where others have
 * theirs, whose elements here would be seen to change. */
TEST(background_reductions_of_strided)
{
    start();
    static const int64_t shape[] = {64, 300};
    for (int i = 0; i < 2; i++) {
        ARRAYS a = test_array(RT_INT16, 2, shape, 1, false), thin = {0}, most = {0};
        struct rt_array next[20];
        struct kn_program p;
        int node;
        OK(rt_array_slice(&a, 1, 299, 100, -3, &thin, e));
        for (int k = 0; k < 20; k++) next[k] = test_array(RT_INT16, 1, (const int64_t[]){64 * 100}, k, false);
        for (int k = 0; k < 20; k += 2) rt_array_release(&next[k]); /* room among them */
        kn_program_start(&p);
        OK(kn_program_array(&p, &thin, &node, e));
        for (int k = 0; k < 2 * i; k++) OK(kn_program_op(&p, KN_NEG, &node, &node, e)); /* another kernel */
        OK(kn_program_op(&p, KN_NEG, &node, &node, e));
        OK(kn_program_reduce(&p, KN_MAX, 2, false, &most, e));
        CHECK_INT(kn_apart_count(), i);
        for (int64_t row = 0; row < 64; row++) {
            double expected = -1e9;
            for (int64_t k = 0; k < 100; k++) expected = fmax(expected, -get(&thin, row * 100 + k));
            CHECK(get(&most, row) == expected);
        }
        for (int k = 1; k < 20; k += 2) {
            ARRAYS same = test_array(RT_INT16, 1, (const int64_t[]){64 * 100}, k, false);
            same_bits(&next[k], &same, "a neighbour");
            rt_array_release(&next[k]);
        }
        rt_background_wait();
    }
    rt_background_pause();
}

/* The rows of `a` less an extreme over a sum: theirs or, `late`, of what is left. */
static void normalize(const struct rt_array *a, enum kn_reduction extreme, bool late, struct rt_array *out)
{
    struct kn_source x = {.operand = of_array(a)}, most = {0}, shifted = {0}, total = {0}, result = {0};
    OK(kn_expression_reduce(&x, extreme, 2, &most.expression, e));
    OK(kn_expression_new(KN_SUB, (struct kn_source[]){x, most}, &shifted.expression, e));
    OK(kn_expression_reduce(late ? &shifted : &x, KN_SUM, 2, &total.expression, e));
    OK(kn_expression_new(KN_DIV, (struct kn_source[]){shifted, total}, &result.expression, e));
    OK(kn_expression_evaluate(result.expression, e));
    OK(kn_contiguous(kn_expression_value(result.expression), out, e));
    kn_expression_release(most.expression);
    kn_expression_release(shifted.expression);
    kn_expression_release(total.expression);
    kn_expression_release(result.expression);
}

/* Stages over rows are one kernel at once where those of the stages are new, too: one is waited for instead of many.
 * Where they are there they serve, to the same bits. */
TEST(background_rows)
{
    start();
    static const int64_t shape[] = {6, 200};
    ARRAYS a = test_array(RT_FLOAT32, 2, shape, 1, false), first = {0}, served = {0}, whole = {0};
    size_t before = kn_launched_count(), apart = kn_apart_count();
    normalize(&a, KN_MAX, false, &first);
    CHECK_INT(kn_launched_count(), before + 1);
    rt_background_wait();
    normalize(&a, KN_MIN, true, &served);
    CHECK(kn_launched_count() > before + 2);
    CHECK(kn_apart_count() > apart);
    rt_background_wait();
    before = kn_launched_count();
    normalize(&a, KN_MIN, true, &whole);
    CHECK_INT(kn_launched_count(), before + 1);
    same_bits(&served, &whole, "rows");
    rt_background_pause();
}

/* What another process has compiled is taken at once. */
TEST(background_takes_from_the_disk)
{
    start();
    pid_t child = fork();
    struct leaves l = make_leaves();
    struct kn_program p;
    ARRAYS out = {0};
    make_program(&l, 7, 4, &p);
    if (child == 0) kn_force_background(0);
    if (child > 0) {
        int status;
        CHECK(waitpid(child, &status, 0) == child && status == 0);
        CHECK_INT(kn_generated_count(), 0);
    }
    OK(kn_program_run(&p, &out, e));
    if (child == 0) _exit(0);
    CHECK_INT(kn_apart_count(), 0);
    CHECK_INT(kn_generated_count(), 1);
    release_leaves(&l);
}

struct nothing {
    struct rt_job job;
    int order;
};

static int ran;

static void take_number(struct rt_job *job)
{
    ((struct nothing *)job)->order = ++ran;
}

TEST(background_jobs_in_order)
{
    struct nothing jobs[20] = {0};
    for (int i = 0; i < 20; i++) {
        jobs[i].job.run = take_number;
        CHECK(rt_background(&jobs[i].job));
    }
    rt_background_wait();
    for (int i = 0; i < 20; i++) CHECK_INT(jobs[i].order, i + 1);
}

static atomic_bool holds = true;

static void hold(struct rt_job *job)
{
    while (atomic_load(&holds)) sched_yield();
    take_number(job);
}

/* What runs is awaited, what waits is run with the next. */
TEST(background_pauses)
{
    struct nothing jobs[3] = {{.job.run = hold}, {.job.run = take_number}, {.job.run = take_number}};
    for (int round = 0; round < 2; round++) {
        rt_background_pause();
        CHECK(rt_background(&jobs[2 * round].job));
        if (round == 0) CHECK(rt_background(&jobs[1].job));
        atomic_store(&holds, false);
        rt_background_wait();
    }
    for (int i = 0; i < 3; i++) CHECK_INT(jobs[i].order, i + 1);
    rt_background_pause();
    rt_background_pause();
}
