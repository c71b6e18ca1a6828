/* Signals while a session runs: Ctrl-C, and programs that went away. The handler only raises the session's flag;
 * whatever runs polls it. */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>
#include "repl/repl.h"

static struct lg_session *volatile running;
static volatile sig_atomic_t seen;

/* Lua runs a finalizer, LAPACK a factorization, and NVRTC a compilation, to the end: who asks three times is told why
 * nothing happens. */
static void explain_wait(void)
{
    static const char text[] =
        "\nlunarray: what runs now does not stop before its end, as LAPACK, NVRTC and finalizers (__gc) "
        "don't; Ctrl-\\ ends lunarray\n";
    int error = errno;
    ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);
    (void)ignored;
    errno = error;
}

static void on_interrupt(int signal)
{
    static volatile sig_atomic_t more; /* of those that came while one was on its way */
    (void)signal;
    seen = 1;
    if (!running) return;
    more = lg_session_stopping(running) ? more + 1 : 0;
    lg_session_interrupt(running);
    if (more == 2) explain_wait();
}

void sh_interrupts(struct lg_session *s, bool again)
{
    running = s;
    struct sigaction action = {.sa_handler = s ? on_interrupt : SIG_DFL};
    sigemptyset(&action.sa_mask);
    /* No SA_RESTART: a read that waits must return, so that the interrupt is noticed. */
    action.sa_flags = again && s ? (int)SA_RESETHAND : 0;
    sigaction(SIGINT, &action, NULL);
}

bool sh_interrupted(void)
{
    bool was = seen;
    seen = 0;
    return was;
}

static void on_broken_pipe(int number)
{
    (void)number;
}

void sh_survive_broken_pipes(void)
{
    struct sigaction action = {.sa_handler = on_broken_pipe};
    sigemptyset(&action.sa_mask);
    sigaction(SIGPIPE, &action, NULL);
}
