/* Faults of libraries: who calls them goes on, and other faults end the process as ever. */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "runtime/guard.h"
#include "tests/unit/test.h"

static void nothing(void *context)
{
    ++*(int *)context;
}
static void read_nothing(void *context)
{
    ++*(int *)context;
    raise(SIGSEGV);
}
static void give_up(void *context)
{
    ++*(int *)context;
    abort();
}

TEST(a_fault_is_told)
{
    int calls = 0;
    for (int k = 0; k < 3; k++) {
        CHECK_INT(rt_guarded(nothing, &calls), 0);
        CHECK_INT(rt_guarded(read_nothing, &calls), SIGSEGV);
        CHECK_INT(rt_guarded(give_up, &calls), SIGABRT);
    }
    CHECK_INT(calls, 9);
}

static volatile sig_atomic_t seen;
static void see(int number)
{
    seen = number;
}

TEST(handlers_are_as_before)
{
    struct sigaction mine = {.sa_handler = see}, was, now;
    int calls = 0;
    CHECK_INT(sigaction(SIGSEGV, &mine, &was), 0);
    CHECK_INT(rt_guarded(read_nothing, &calls), SIGSEGV);
    CHECK_INT(sigaction(SIGSEGV, &was, &now), 0);
    CHECK(now.sa_handler == see && !seen);
}

static int end_of_child(void (*f)(void *), bool handles)
{
    const pid_t child = fork();
    if (child == 0) {
        int calls = 0;
        signal(SIGSEGV, handles ? see : SIG_DFL);
        rt_guarded(nothing, &calls);
        f(&calls);
        _exit(seen == SIGSEGV ? 3 : 4);
    }
    int status;
    CHECK_INT(waitpid(child, &status, 0), child);
    return status;
}

TEST(faults_outside_end_the_process)
{
    CHECK_INT(WTERMSIG(end_of_child(read_nothing, false)), SIGSEGV);
    CHECK_INT(WEXITSTATUS(end_of_child(read_nothing, true)), 3);
}

static void look(void *page)
{
    ++*(volatile char *)page;
}
static void *look_beside(void *page)
{
    sigset_t held;
    pthread_sigmask(SIG_SETMASK, NULL, &held);
    const bool others = sigismember(&held, SIGINT) && sigismember(&held, SIGTERM) && sigismember(&held, SIGURG);
    return (void *)(intptr_t)(others ? rt_guarded(look, page) : 0);
}

TEST(a_thread_that_no_signal_reaches_has_its_own_faults)
{
    void *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *fault = NULL;
    sigset_t before;
    pthread_t thread;
    rt_hold_signals(&before);
    CHECK_INT(pthread_create(&thread, NULL, look_beside, page), 0);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_join(thread, &fault);
    CHECK_INT((intptr_t)fault, SIGSEGV);
    munmap(page, 4096);
}
