/* `!command` and what else a cell starts: a program whose output is the cell's, and that Ctrl-C reaches. */
#define _GNU_SOURCE /* pipe2 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lang/magic.h"
#include "lang/spawn.h"
#include "lang/waiting.h"
#include "runtime/interrupt.h"

#define POLL_MS      50
#define PATIENCE     20 /* polls after an interrupt until the process is killed */
#define LINGER_POLLS 2  /* polls for output after its end: what it left running may hold the pipes for ever */

/* Passes on what there is to read. False when the pipe has ended. */
static bool forward(struct lg_session *s, enum lg_stream which, int fd)
{
    char piece[8192];
    ssize_t n = read(fd, piece, sizeof piece);
    if (n > 0) lg_output(s, which, piece, (size_t)n);
    return n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN));
}

/* Forwards until the process has ended and its output is read. Its wait status. */
static int attend(struct lg_session *s, pid_t pid, struct pollfd fds[2])
{
    int status = 0, interrupted = 0, quiet = 0;
    bool ended = false;
    while (fds[0].fd >= 0 || fds[1].fd >= 0 || !ended) {
        int ready = interrupted ? poll(fds, 2, POLL_MS) : lg_wait_for(s, fds, 2, POLL_MS);
        for (int i = 0; ready > 0 && i < 2; i++)
            if (fds[i].fd >= 0 && fds[i].revents && !forward(s, i == 0 ? LG_STDOUT : LG_STDERR, fds[i].fd)) {
                close(fds[i].fd);
                fds[i].fd = -1;
            }
        if (rt_interrupted() && !ended) {
            if (interrupted == 0) kill(-pid, SIGINT);
            if (++interrupted == PATIENCE) kill(-pid, SIGKILL);
        }
        if (!ended) ended = waitpid(pid, &status, WNOHANG) == pid;
        quiet = ended && ready <= 0 ? quiet + 1 : 0;
        if (quiet > LINGER_POLLS) break;
    }
    for (int i = 0; i < 2; i++)
        if (fds[i].fd >= 0) lg_pass_on(fds[i].fd, i == 0 ? STDOUT_FILENO : STDERR_FILENO, NULL);
    return status;
}

int lg_run_command(struct lg_session *s, char *const argv[])
{
    int out[2], err[2];
    pid_t pid;
    if (pipe2(out, O_CLOEXEC) != 0) return -1;
    if (pipe2(err, O_CLOEXEC) != 0) {
        close(out[0]);
        close(out[1]);
        return -1;
    }
    int failed = lg_spawn(argv[0], argv, (int[]){LG_NOTHING, out[1], err[1]}, true, &pid);
    close(out[1]);
    close(err[1]);
    if (failed) {
        close(out[0]);
        close(err[0]);
        errno = failed;
        return -1;
    }
    struct pollfd fds[2] = {{.fd = out[0], .events = POLLIN}, {.fd = err[0], .events = POLLIN}};
    int status = attend(s, pid, fds);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
