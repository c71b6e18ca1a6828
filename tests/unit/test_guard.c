/* Faults of libraries: who calls them goes on, and other faults end the process as ever. */
#include <signal.h>
#include <stdlib.h>
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
