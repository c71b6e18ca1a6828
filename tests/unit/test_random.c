/* Random numbers: the generator against its published answers, every distribution against the C library's functions on
 * the same words, and the generated CUDA C against the native loops, bit for bit. */
#include "kernels/random.h"
#include "tests/unit/generated.h"
#include "tests/unit/levels.h"

static void check_words(const uint32_t counter[4], const uint32_t key[2], const uint32_t want[4])
{
    uint32_t got[4];
    kn_philox(counter, key, got);
    for (int i = 0; i < 4; i++) CHECK_INT(got[i], want[i]);
}

/* From Random123's kat_vectors. */
TEST(known_answers)
{
    check_words((uint32_t[4]){0}, (uint32_t[2]){0}, (uint32_t[]){0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
    const uint32_t ones = 0xffffffff;
    check_words((uint32_t[]){ones, ones, ones, ones}, (uint32_t[]){ones, ones},
                (uint32_t[]){0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
    check_words((uint32_t[]){0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, (uint32_t[]){0xa4093822, 0x299f31d0},
                (uint32_t[]){0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

static struct rt_array drawn(const struct kn_draw *d, enum rt_dtype t, int64_t n)
{
    struct rt_array a = {0};
    OK(rt_array_new(test_device(), t, 1, &n, &a, e));
    OK(kn_random(d, &a, e));
    return a;
}

static void words_of(const struct kn_draw *d, int64_t block, uint32_t w[4])
{
    const uint32_t counter[] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)d->stream,
                                (uint32_t)(d->stream >> 32)};
    const uint32_t key[] = {(uint32_t)d->seed, (uint32_t)(d->seed >> 32)};
    kn_philox(counter, key, w);
}

#define SEED   0x123456789abcdefu
#define STREAM 0x4567890123u
#define COUNT  10007 /* no multiple of anything */

TEST(uniform_numbers)
{
    struct kn_draw d = {.distribution = KN_DRAW_UNIFORM, .seed = SEED, .stream = STREAM, .y = 1};
    ARRAYS f = drawn(&d, RT_FLOAT32, COUNT), h = drawn(&d, RT_FLOAT16, COUNT), wide = drawn(&d, RT_FLOAT64, COUNT);
    for (int64_t i = 0; i < COUNT; i++) {
        uint32_t w[4];
        words_of(&d, i / 4, w);
        CHECK_NEAR(get(&f, i), floor(ldexp(w[i % 4], -8)) / 16777216, 0);
        CHECK_NEAR(get(&h, i), floor(ldexp(w[i % 4], -21)) / 2048, 0);
        words_of(&d, i / 2, w);
        uint64_t both = (uint64_t)w[i % 2 * 2] << 32 | w[i % 2 * 2 + 1];
        CHECK_NEAR(get(&wide, i), ldexp((double)(both >> 11), -53), 0);
    }
}

TEST(bounds_of_uniform_numbers)
{
    /* Between neighbours a sum rounds up often. */
    struct kn_draw d = {.distribution = KN_DRAW_UNIFORM, .seed = 1, .x = 1, .y = 1 + 0x1p-23};
    ARRAYS a = drawn(&d, RT_FLOAT32, 1000);
    for (int64_t i = 0; i < 1000; i++) CHECK_NEAR(get(&a, i), 1, 0);
    d.y = d.x = -3;
    ARRAYS b = drawn(&d, RT_FLOAT64, 3);
    CHECK_NEAR(get(&b, 2), -3, 0);
}

TEST(normal_and_exponential_numbers)
{
    struct kn_draw d = {.distribution = KN_DRAW_NORMAL, .seed = SEED, .stream = STREAM, .x = 2, .y = 3};
    ARRAYS f = drawn(&d, RT_FLOAT32, COUNT), wide = drawn(&d, RT_FLOAT64, COUNT);
    d.distribution = KN_DRAW_EXPONENTIAL;
    ARRAYS x = drawn(&d, RT_FLOAT32, COUNT), wide_x = drawn(&d, RT_FLOAT64, COUNT);
    const double turn = 2 * acos(-1);
    for (int64_t i = 0; i < COUNT; i++) {
        uint32_t w[4];
        words_of(&d, i / 4, w);
        double u = (w[i % 4 / 2 * 2] >> 1) * 0x1p-31 + 0x1p-32, angle = turn * (w[i % 4 / 2 * 2 + 1] * 0x1p-32);
        CHECK_NEAR(get(&f, i), 2 + 3 * sqrt(-2 * log((float)u)) * (i % 2 ? sin(angle) : cos(angle)), 4e-6);
        CHECK_NEAR(get(&x, i), -2 * log((float)((w[i % 4] >> 1) * 0x1p-31 + 0x1p-32)), 8e-6);
        words_of(&d, i / 2, w);
        uint64_t first = (uint64_t)w[0] << 32 | w[1], second = (uint64_t)w[2] << 32 | w[3];
        u = 1 - (double)(first >> 12) * 0x1p-52;
        angle = turn * ((double)(second >> 10) * 0x1p-54);
        CHECK_NEAR(get(&wide, i), 2 + 3 * sqrt(-2 * log(u)) * (i % 2 ? sin(angle) : cos(angle)), 2e-14);
        CHECK_NEAR(get(&wide_x, i), -2 * log(1 - (double)((i % 2 ? second : first) >> 12) * 0x1p-52), 1e-14);
    }
}

TEST(integers)
{
    struct kn_draw d = {.distribution = KN_DRAW_INTEGERS, .seed = SEED, .stream = STREAM, .low = -5, .high = 94};
    ARRAYS a = drawn(&d, RT_INT32, COUNT);
    d.low = INT64_MIN / 2;
    d.high = INT64_MAX / 3;
    ARRAYS wide = drawn(&d, RT_INT64, COUNT);
    uint64_t range = (uint64_t)d.high - (uint64_t)d.low + 1;
    d.low = INT64_MIN;
    d.high = INT64_MAX;
    ARRAYS all = drawn(&d, RT_INT64, COUNT);
    for (int64_t i = 0; i < COUNT; i++) {
        uint32_t w[4];
        words_of(&d, i / 2, w);
        unsigned __int128 both = (uint64_t)w[i % 2 * 2] << 32 | w[i % 2 * 2 + 1];
        CHECK_INT(get_int(&a, i), (int64_t)(both * 100 >> 64) - 5);
        words_of(&d, i, w);
        uint64_t high = (uint64_t)w[0] << 32 | w[1], low = (uint64_t)w[2] << 32 | w[3];
        /* (high * 2^64 + low) * range / 2^128 by long division of the sum */
        unsigned __int128 sum = (unsigned __int128)high * range + ((unsigned __int128)low * range >> 64);
        CHECK_INT(get_int(&wide, i), INT64_MIN / 2 + (int64_t)(sum >> 64));
        CHECK_INT(get_int(&all, i), (int64_t)((uint64_t)INT64_MIN + high));
    }
}

TEST(bernoulli)
{
    struct kn_draw d = {.distribution = KN_DRAW_BERNOULLI, .seed = SEED, .stream = STREAM, .x = 0.25};
    ARRAYS a = drawn(&d, RT_BOOL, COUNT), f = drawn(&d, RT_FLOAT32, COUNT);
    d.x = 1;
    ARRAYS always = drawn(&d, RT_BOOL, COUNT);
    d.x = 0;
    ARRAYS never = drawn(&d, RT_INT8, COUNT);
    for (int64_t i = 0; i < COUNT; i++) {
        uint32_t w[4];
        words_of(&d, i / 4, w);
        CHECK_INT(get_int(&a, i), w[i % 4] < 0x40000000);
        CHECK_INT(get_int(&f, i), w[i % 4] < 0x40000000);
        CHECK_INT(get_int(&always, i), 1);
        CHECK_INT(get_int(&never, i), 0);
    }
}

/* What an element is depends on nothing but its number: a longer array begins with a shorter one. */
TEST(elements_do_not_depend_on_the_size)
{
    for (int k = KN_DRAW_UNIFORM; k <= KN_DRAW_BERNOULLI; k++) {
        struct kn_draw d = {.distribution = (enum kn_distribution)k, .seed = 3, .x = 0.75, .y = 2, .high = 1000};
        if (k == KN_DRAW_HYPERGEOMETRIC) d.x = 40, d.y = 30, d.z = 20;
        enum rt_dtype t = k == KN_DRAW_INTEGERS ? RT_INT32 : RT_FLOAT32;
        ARRAYS a = drawn(&d, t, 300001), b = drawn(&d, t, 70003);
        CHECK(memcmp(rt_array_host(&a), rt_array_host(&b), 70003 * 4) == 0);
        d.stream++;
        ARRAYS c = drawn(&d, t, 70003);
        CHECK(memcmp(rt_array_host(&b), rt_array_host(&c), 70003 * 4) != 0);
    }
}

static uint64_t bits_of_draws(void)
{
    struct kn_draw d = {.distribution = KN_DRAW_NORMAL, .seed = 9, .y = 1};
    uint64_t sum = 0;
    for (int k = KN_DRAW_UNIFORM; k < KN_DRAW_INTEGERS; k++) {
        d.distribution = (enum kn_distribution)k;
        d.x = k == KN_DRAW_HYPERGEOMETRIC ? 40 : 0.5;
        d.y = k == KN_DRAW_HYPERGEOMETRIC ? 30 : 1;
        d.z = 20;
        ARRAYS f = drawn(&d, RT_FLOAT32, 5003), wide = drawn(&d, RT_FLOAT64, 5003);
        const uint32_t *p = rt_array_host(&f);
        const uint64_t *q = rt_array_host(&wide);
        for (int j = 0; j < 5003; j++) sum = (sum ^ p[j] ^ q[j]) * 0x100000001b3u;
    }
    return sum;
}

TEST(every_instruction_set_gives_the_same_bits)
{
    check_levels(bits_of_draws);
}

/* By a kernel of its own, or one that was there for other numbers. */
static void compare_kernel(struct kn_draw d, enum rt_dtype t, bool own)
{
    const int64_t n = 4099;
    size_t before = kn_generated_count();
    kn_force_generated(false);
    ARRAYS native = drawn(&d, t, n);
    CHECK_INT(kn_generated_count(), before);
    kn_force_generated(true);
    ARRAYS generated = drawn(&d, t, n);
    CHECK_INT(kn_generated_count(), before + own);
    for (int64_t i = 0; i < n; i++)
        if (memcmp(element(&native, i), element(&generated, i), rt_dtypes[t].size) != 0)
            FAIL("distribution %d (%g, %g) %s [%lld]: generated %.17g, native %.17g", (int)d.distribution, d.x, d.y,
                 rt_dtypes[t].name, (long long)i, get(&generated, i), get(&native, i));
}

static void compare_generated(struct kn_draw d, enum rt_dtype t)
{
    compare_kernel(d, t, true);
}

TEST(generated_code_gives_the_same_bits)
{
    start_generated();
    for (int k = 0; k < RT_COMPLEX64; k++) {
        enum rt_dtype t = (enum rt_dtype)k;
        struct kn_draw d = {.seed = SEED, .stream = STREAM, .x = -2.25, .y = 7.5};
        for (int i = KN_DRAW_UNIFORM; i <= KN_DRAW_EXPONENTIAL && rt_dtypes[t].kind == 'f'; i++, d.x = 0.3) {
            d.distribution = (enum kn_distribution)i;
            compare_generated(d, t);
        }
        compare_generated((struct kn_draw){.distribution = KN_DRAW_BERNOULLI, .x = 0.4}, t);
        if (t == RT_BOOL) continue;
        compare_generated((struct kn_draw){.distribution = KN_DRAW_INTEGERS, .low = 0, .high = 99}, t);
        compare_generated((struct kn_draw){.distribution = KN_DRAW_POISSON, .x = 4.5}, t);
        compare_generated((struct kn_draw){.distribution = KN_DRAW_BINOMIAL, .x = 0.3, .y = 20}, t);
        if (rt_dtypes[t].kind == 'f')
            compare_generated((struct kn_draw){.distribution = KN_DRAW_GAMMA, .x = 0.3, .y = 2}, t);
    }
    compare_generated((struct kn_draw){.distribution = KN_DRAW_INTEGERS, .low = 0, .high = INT64_MAX}, RT_UINT64);
    compare_generated((struct kn_draw){.distribution = KN_DRAW_INTEGERS, .low = -3, .high = INT64_MAX}, RT_INT64);
    compare_kernel((struct kn_draw){.distribution = KN_DRAW_INTEGERS, .low = -3, .high = 99}, RT_INT8, false);
    compare_kernel((struct kn_draw){.distribution = KN_DRAW_GAMMA, .x = 5.5, .y = 1}, RT_FLOAT32, false);
    compare_kernel((struct kn_draw){.distribution = KN_DRAW_POISSON, .x = 1e6}, RT_FLOAT64, false);
    compare_kernel((struct kn_draw){.distribution = KN_DRAW_BINOMIAL, .x = 0.9, .y = 1e6}, RT_FLOAT64, false);
    /* Each of the two ways that they have. */
    const struct kn_draw others[][2] = {
        {{.distribution = KN_DRAW_NEGATIVE_BINOMIAL, .x = 0.5, .y = 9}, {.x = 40, .y = 2}},
        {{.distribution = KN_DRAW_HYPERGEOMETRIC, .x = 40, .y = 300, .z = 9}, {.x = 1e6, .y = 1e9, .z = 1e5}},
        {{.distribution = KN_DRAW_ZIPF, .x = 0.1}, {.x = 3}},
        {{.distribution = KN_DRAW_LOGSERIES, .x = 0.999}, {.x = 0.1}},
        {{.distribution = KN_DRAW_NONCENTRAL_CHISQUARE, .x = 0.5, .y = 1}, {.x = 9, .y = 50}},
        {{.distribution = KN_DRAW_VONMISES, .x = 1, .y = 2}, {.x = -3, .y = 1e7}},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct kn_draw d = others[i][1];
        d.distribution = others[i][0].distribution;
        compare_generated(others[i][0], RT_FLOAT64);
        compare_kernel(d, RT_FLOAT64, false);
        if (d.distribution < KN_DRAW_NONCENTRAL_CHISQUARE) compare_generated(d, RT_INT16);
    }
}

TEST(permutations)
{
    enum { N = 1000 };
    int64_t p[N];
    bool seen[N] = {false};
    kn_shuffle(1, 2, 1, N, N, p);
    int moved = 0;
    for (int i = 0; i < N; i++) {
        CHECK(p[i] >= 1 && p[i] <= N && !seen[p[i] - 1]);
        seen[p[i] - 1] = true;
        moved += p[i] != i + 1;
    }
    CHECK(moved > N - 10);
    /* All orders of three are equally likely: 6000 of them, each 1000 times but for chance. */
    int counts[27] = {0};
    for (uint64_t s = 0; s < 6000; s++) {
        kn_shuffle(5, s, 0, 3, 3, p);
        counts[p[0] * 9 + p[1] * 3 + p[2]]++;
    }
    int orders = 0;
    for (int i = 0; i < 27; i++) {
        orders += counts[i] > 0;
        CHECK(counts[i] == 0 || (counts[i] > 880 && counts[i] < 1120));
    }
    CHECK_INT(orders, 6);
}
