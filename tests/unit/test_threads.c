/* The host's threads: each item of a piece of work once, works beside each other, after a fork. */
#include <pthread.h>
#include <stdatomic.h>
#include "runtime/interrupt.h"
#include "runtime/threads.h"
#include "tests/unit/test.h"

struct cover {
    atomic_uchar *seen;
    size_t n, grain;
    atomic_int wrong;
    atomic_int at_once[256];
};

static void touch(void *context, size_t begin, size_t end, int worker)
{
    struct cover *c = context;
    if (begin >= end || end > c->n || (end - begin != c->grain && end != c->n)) atomic_fetch_add(&c->wrong, 1);
    if (worker < 0 || worker >= rt_thread_count()) atomic_fetch_add(&c->wrong, 1);
    if (atomic_fetch_add(&c->at_once[worker], 1) != 0) atomic_fetch_add(&c->wrong, 1);
    for (size_t i = begin; i < end; i++) atomic_fetch_add(&c->seen[i], 1);
    atomic_fetch_sub(&c->at_once[worker], 1);
}

static void check_cover(size_t n, size_t grain)
{
    struct cover c = {.seen = calloc(n + 1, sizeof(atomic_uchar)), .n = n, .grain = grain};
    rt_parallel_for(n, grain, touch, &c);
    for (size_t i = 0; i < n; i++) {
        if (c.seen[i] != 1) FAIL("item %zu of %zu by %zu was done %d times", i, n, grain, c.seen[i]);
    }
    CHECK_INT(c.wrong, 0);
    free(c.seen);
}

TEST(each_item_once)
{
    setenv("LUNARRAY_THREADS", "4", 1);
    CHECK_INT(rt_thread_count(), 4);
    static const size_t sizes[] = {0, 1, 5, 7, 64, 1000, 4099}, grains[] = {1, 3, 64, 1000, 100000};
    for (int round = 0; round < 20; round++) {
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            for (size_t k = 0; k < sizeof grains / sizeof grains[0]; k++) check_cover(sizes[i], grains[k]);
        }
    }
}

static void wait_for_another(void *context, size_t begin, size_t end, int worker)
{
    atomic_int *arrived = context;
    (void)begin, (void)end, (void)worker;
    atomic_fetch_add(arrived, 1);
    while (atomic_load(arrived) < 2) usleep(100);
}

TEST(two_threads_at_once)
{
    setenv("LUNARRAY_THREADS", "2", 1);
    atomic_int arrived = 0;
    rt_parallel_for(2, 1, wait_for_another, &arrived);
    CHECK_INT(arrived, 2);
}

static void nested(void *context, size_t begin, size_t end, int worker)
{
    (void)worker;
    for (size_t i = begin; i < end; i++) {
        struct cover c = {.seen = (atomic_uchar *)context + i * 100, .n = 100, .grain = 7};
        rt_parallel_for(100, 7, touch, &c);
    }
}

TEST(nesting_is_serial)
{
    setenv("LUNARRAY_THREADS", "3", 1);
    atomic_uchar *seen = calloc(30, 100);
    rt_parallel_for(30, 1, nested, seen);
    for (int i = 0; i < 3000; i++) CHECK_INT(seen[i], 1);
    free(seen);
}

static void *run_covers(void *unused)
{
    for (int i = 0; i < 50; i++) check_cover(1000, 10);
    return unused;
}

TEST(callers_on_several_threads)
{
    setenv("LUNARRAY_THREADS", "3", 1);
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) CHECK_INT(pthread_create(&threads[i], NULL, run_covers, NULL), 0);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
}

TEST(works_again_in_a_forked_child)
{
#ifdef __SANITIZE_THREAD__
    SKIP("ThreadSanitizer starts no threads after a fork");
#endif
#ifdef __SANITIZE_ADDRESS__
    SKIP("AddressSanitizer's allocator may be locked by another thread during a fork, and stays so in the child");
#endif
    setenv("LUNARRAY_THREADS", "2", 1);
    check_cover(100, 1);
    pid_t child = fork();
    if (child == 0) {
        alarm(TEST_SECONDS);
        atomic_int arrived = 0;
        rt_parallel_for(2, 1, wait_for_another, &arrived);
        _exit(arrived == 2 ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    CHECK_INT(status, 0);
}

TEST(thread_count_follows_the_environment)
{
    setenv("LUNARRAY_THREADS", "100000", 1);
    CHECK_INT(rt_thread_count(), 256);
}

TEST(thread_count_ignores_nonsense)
{
    setenv("LUNARRAY_THREADS", "two", 1);
    CHECK(rt_thread_count() >= 1);
    CHECK(rt_thread_count() <= 256);
}

TEST(interrupt_flag)
{
    CHECK(!rt_interrupted());
    rt_interrupt();
    CHECK(rt_interrupted());
    rt_interrupt_clear();
    CHECK(!rt_interrupted());
}
