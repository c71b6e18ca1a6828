#define _GNU_SOURCE /* pipe2, syscall, __WALL */
#include "repl/guardian.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "repl/terminal.h"

enum { LOOK_MS = 250, PATIENCE_MS = 10000, STEP_MS = 20 };

static struct {
    pid_t owner, pid; /* of whom it is, and itself; 0: there is none */
    int pipe;         /* ends when the owner does */
} guardian;

/* In the guardian: async-signal-safe functions alone, since it is a copy of a process that may have threads. */

enum { PIPE = STDERR_FILENO };

static bool sane(const struct termios *t)
{
    const tcflag_t needed = ICANON | ECHO | ISIG;
    return (t->c_lflag & needed) == needed;
}

static bool same(const struct termios *a, const struct termios *b)
{
    const tcflag_t local = ICANON | ECHO | ISIG | IEXTEN, in = ICRNL | IXON | INLCR | IGNCR;
    return !((a->c_lflag ^ b->c_lflag) & local) && !((a->c_iflag ^ b->c_iflag) & in) &&
           a->c_cc[VMIN] == b->c_cc[VMIN] && a->c_cc[VTIME] == b->c_cc[VTIME];
}

static void put_back(const struct sh_guarded *g)
{
    static const char modes[] = SH_TERMINAL_OFF "\033[m\r\n\033[J"; /* below what is left of a frame */
    tcsetattr(STDIN_FILENO, TCSANOW, &g->original);
    ssize_t ignored = write(STDOUT_FILENO, modes, sizeof modes - 1);
    (void)ignored;
}

/* A program that ran in front, a pager for instance, can no longer put the terminal back: it has lost it to whoever
 * takes over, and would not notice before it reads again. The terminal is put back once it is gone, if nobody else has
 * set anything since. */
static void put_back_after(const struct sh_guarded *g, const struct termios *seen, pid_t group)
{
    struct termios now;
    if (group == guardian.owner) kill(-group, SIGHUP); /* else there are others in it */
    for (int waited = 0; waited < PATIENCE_MS; waited += STEP_MS) {
        if (tcgetattr(STDIN_FILENO, &now) != 0 || !same(&now, seen)) return;
        if (kill(-group, 0) != 0 && errno == ESRCH) {
            put_back(g);
            return;
        }
        poll(NULL, 0, STEP_MS);
    }
}

static void watch(const struct sh_guarded *g, pid_t group)
{
    struct termios seen = {.c_lflag = ICANON | ECHO | ISIG}, now;
    char byte;
    for (;;) {
        struct pollfd in = {.fd = PIPE, .events = POLLIN};
        int n = poll(&in, 1, g->raw ? -1 : LOOK_MS);
        if (n > 0 && read(PIPE, &byte, 1) == 0) break;
        if (!g->raw && tcgetattr(STDIN_FILENO, &now) == 0) seen = now;
    }
    if (g->ended) return;
    if (!g->raw) {
        if (!sane(&seen)) put_back_after(g, &seen, group);
    } else if (tcgetattr(STDIN_FILENO, &now) == 0 && same(&now, &g->wanted)) {
        put_back(g);
    }
}

static void become_guardian(const struct sh_guarded *g, int from, pid_t group)
{
    static const int ignored[] = {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTSTP, SIGTTIN, SIGTTOU};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) sigaction(ignored[i], &ignore, NULL);
    setsid();
    prctl(PR_SET_NAME, "lunarray-tty");
    dup2(from, PIPE);
    if (syscall(SYS_close_range, PIPE + 1, ~0U, 0) != 0)
        for (int fd = PIPE + 1; fd < 1024; fd++) close(fd);
    if (chdir("/") == 0) watch(g, group);
    _exit(0);
}

/* At the end of the process that it guards. */
static void dismiss(void)
{
    if (!guardian.pid || guardian.owner != getpid()) return;
    kill(guardian.pid, SIGKILL);
    while (waitpid(guardian.pid, NULL, __WALL) < 0 && errno == EINTR) continue;
    guardian.pid = 0;
}

struct sh_guarded *sh_guardian_start(void)
{
    int ends[2];
    struct sh_guarded *g = mmap(NULL, sizeof *g, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (g == MAP_FAILED) return NULL;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        munmap(g, sizeof *g);
        return NULL;
    }
    g->original.c_lflag = ICANON | ECHO | ISIG;
    pid_t group = getpgrp();
    guardian.owner = getpid();
    /* As fork, but for the signal at its end, of which there is none. */
    long pid = syscall(SYS_clone, 0L, 0L, 0L, 0L, 0L);
    if (pid == 0) become_guardian(g, ends[0], group);
    close(ends[0]);
    if (pid < 0) {
        close(ends[1]);
        munmap(g, sizeof *g);
        return NULL;
    }
    guardian.pid = (pid_t)pid;
    guardian.pipe = ends[1];
    atexit(dismiss);
    return g;
}

void sh_guardian_look(void)
{
    if (!guardian.pid || guardian.owner != getpid()) return;
    ssize_t ignored = write(guardian.pipe, "", 1);
    (void)ignored;
}
