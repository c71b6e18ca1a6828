/* The unit tests' harness: TEST(name) { ... } blocks, each run in a forked child with a time limit, so a crash fails
 * one test and not the rest. Prints one line a test for the runner: "ok NAME", "not ok NAME: why", "skip NAME: why". */
#ifndef TEST_H
#define TEST_H

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEST_SKIPPED 77
#define TEST_SECONDS 600

struct test {
    const char *name;
    void (*run)(void);
    struct test *next;
};
static struct test *test_first, **test_end = &test_first;

#define TEST(id)                                                                                                       \
    static void test_##id(void);                                                                                       \
    __attribute__((constructor)) static void test_add_##id(void)                                                       \
    {                                                                                                                  \
        static struct test t = {#id, test_##id, NULL};                                                                 \
        *test_end = &t;                                                                                                \
        test_end = &t.next;                                                                                            \
    }                                                                                                                  \
    static void test_##id(void)

#define FAIL(...) (printf("# %s:%d: ", __FILE__, __LINE__), printf(__VA_ARGS__), printf("\n"), fflush(stdout), exit(1))
#define SKIP(...) (printf("# skip: " __VA_ARGS__), printf("\n"), fflush(stdout), exit(TEST_SKIPPED))
#define CHECK(cond)                                                                                                    \
    do {                                                                                                               \
        if (!(cond)) FAIL("%s is false", #cond);                                                                       \
    } while (0)
#define CHECK_INT(got, want)                                                                                           \
    do {                                                                                                               \
        long long got_ = (long long)(got), want_ = (long long)(want);                                                  \
        if (got_ != want_) FAIL("%s is %lld, expected %lld", #got, got_, want_);                                       \
    } while (0)
#define CHECK_NEAR(got, want, tolerance)                                                                               \
    do {                                                                                                               \
        double got_ = (got), want_ = (want);                                                                           \
        if (!(fabs(got_ - want_) <= (tolerance))) FAIL("%s is %.17g, expected %.17g", #got, got_, want_);              \
    } while (0)
#define CHECK_STR(got, want)                                                                                           \
    do {                                                                                                               \
        const char *got_ = (got), *want_ = (want);                                                                     \
        if (!got_ || strcmp(got_, want_) != 0)                                                                         \
            FAIL("%s is \"%s\", expected \"%s\"", #got, got_ ? got_ : "(null)", want_);                                \
    } while (0)
/* The text contains the part. */
#define CHECK_HAS(got, part)                                                                                           \
    do {                                                                                                               \
        const char *got_ = (got), *part_ = (part);                                                                     \
        if (!got_ || !strstr(got_, part_))                                                                             \
            FAIL("%s is \"%s\", expected \"%s\" in it", #got, got_ ? got_ : "(null)", part_);                          \
    } while (0)

/* Waits until a kernel that runs beside this thread writes the word. */
__attribute__((unused, no_sanitize_thread)) static void wait_for_word(const volatile uint32_t *word)
{
    while (!*word) usleep(1000);
}

void rt_background_pause(void) __attribute__((weak));

int main(int argc, char **argv)
{
    int failed = 0;
    for (struct test *t = test_first; t; t = t->next) {
        if (argc > 1 && !strstr(t->name, argv[1])) continue;
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            alarm(TEST_SECONDS);
            t->run();
            fflush(stdout);
            if (rt_background_pause) rt_background_pause(); /* as all who are about to exit */
            exit(0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
            printf("ok %s\n", t->name);
        } else if (WIFEXITED(status) && WEXITSTATUS(status) == TEST_SKIPPED) {
            printf("skip %s\n", t->name);
        } else {
            if (WIFSIGNALED(status)) printf("# signal %d\n", WTERMSIG(status));
            printf("not ok %s\n", t->name);
            failed++;
        }
    }
    return failed ? 1 : 0;
}

#endif
