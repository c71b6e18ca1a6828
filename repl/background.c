#define _GNU_SOURCE /* pipe2 */
#include "repl/background.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#include "repl/terminal.h"

static struct {
    bool on;
    int from, out, err; /* the pipe's end, and where the two led before */
} held;

static void flush_all(void)
{
    fflush(stdout);
    fflush(stderr);
}

static void close_all(void)
{
    int fds[] = {held.from, held.out, held.err};
    for (int i = 0; i < 3; i++)
        if (fds[i] >= 0) close(fds[i]);
}

void sh_background_begin(void)
{
    int ends[2];
    if (held.on || pipe2(ends, O_CLOEXEC) != 0) return;
    flush_all();
    held.from = ends[0];
    held.out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    /* Errors that go to a file stay there. */
    held.err = isatty(STDERR_FILENO) ? fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3) : -1;
    if (held.out < 0 || fcntl(held.from, F_SETFL, O_NONBLOCK) != 0) {
        close_all();
        close(ends[1]);
        return;
    }
    held.on = true;
    sh_terminal_output(held.out);
    sh_terminal_watch(held.from);
    dup2(ends[1], STDOUT_FILENO);
    if (held.err >= 0) dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
}

void sh_background_read(struct sh_text *out)
{
    char piece[4096];
    ssize_t n;
    if (!held.on) return;
    while ((n = read(held.from, piece, sizeof piece)) > 0 || (n < 0 && errno == EINTR))
        if (n > 0) sh_text_append(out, piece, (size_t)n);
}

void sh_background_end(struct sh_text *out)
{
    if (!held.on) return;
    flush_all();
    dup2(held.out, STDOUT_FILENO);
    if (held.err >= 0) dup2(held.err, STDERR_FILENO);
    sh_terminal_output(STDOUT_FILENO);
    sh_terminal_watch(-1);
    sh_background_read(out);
    held.on = false;
    close_all();
}
