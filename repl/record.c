/* Recording a run of the program: it goes on in a pseudo-terminal of its own, so that whatever it, its kernels and the
 * programs that it starts write is seen, and this process passes keys in and what is shown out. */
#define _GNU_SOURCE /* ppoll, posix_openpt */
#include "repl/record.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "repl/cast.h"
#include "repl/terminal.h"
#include "runtime/host.h"

struct recorder {
    FILE *file;
    int pty;
    pid_t child;
    bool ended; /* the child has, with `status` */
    int status;
    bool keys; /* there is a terminal to pass keys from */
    int columns, rows;
    int64_t start_ns;
    struct sh_cast cast;
    struct sh_text lines;
    bool failed;
};

static long long microseconds(const struct recorder *r)
{
    return (rt_now_ns() - r->start_ns) / 1000;
}

/* A recording that is cut short is still one: each event is in the file at once. */
static void write_lines(struct recorder *r, bool ok)
{
    ok = ok && fwrite(r->lines.bytes ? r->lines.bytes : "", 1, r->lines.length, r->file) == r->lines.length;
    if (!ok || fflush(r->file) != 0) r->failed = true;
    r->lines.length = 0;
}

static void set_size(int pty, int columns, int rows)
{
    struct winsize size = {.ws_col = (unsigned short)columns, .ws_row = (unsigned short)rows};
    ioctl(pty, TIOCSWINSZ, &size);
}

static void follow_size(struct recorder *r)
{
    int columns, rows;
    if (!r->keys) return;
    sh_terminal_size(&columns, &rows);
    if (columns == r->columns && rows == r->rows) return;
    r->columns = columns;
    r->rows = rows;
    write_lines(r, sh_cast_resize(microseconds(r), columns, rows, &r->lines));
    set_size(r->pty, columns, rows);
}

static void pass_keys(const struct recorder *r)
{
    char bytes[4096];
    size_t n = sh_terminal_read(bytes, sizeof bytes), done = 0;
    while (done < n) {
        ssize_t written = write(r->pty, bytes + done, n - done);
        if (written < 0 && errno != EINTR) return;
        if (written > 0) done += (size_t)written;
    }
}

/* False at the end: nobody has the pseudo-terminal open any more. */
static bool pass_output(struct recorder *r)
{
    char bytes[65536];
    ssize_t n = read(r->pty, bytes, sizeof bytes);
    if (n < 0 && errno == EINTR) return true;
    if (n <= 0) return false;
    sh_terminal_write(bytes, (size_t)n);
    write_lines(r, sh_cast_output(&r->cast, microseconds(r), bytes, (size_t)n, &r->lines));
    return true;
}

/* Ctrl-Z: the recorded process has put its terminal back and stopped, and so does this one. The time until they go on
 * is not in the recording. */
static void suspend(struct recorder *r)
{
    struct pollfd left = {.fd = r->pty, .events = POLLIN};
    while (poll(&left, 1, 0) > 0 && pass_output(r)) continue;
    const int64_t from = rt_now_ns();
    sigset_t on;
    sigemptyset(&on);
    sigaddset(&on, SIGCONT);
    if (r->keys) sh_terminal_restore();
    sigprocmask(SIG_UNBLOCK, &on, NULL); /* it is answered while the terminal is not raw, so that it means no more */
    sh_terminal_suspend();
    sigprocmask(SIG_BLOCK, &on, NULL);
    if (r->keys) sh_terminal_raw();
    r->start_ns += rt_now_ns() - from;
    kill(r->child, SIGCONT);
}

static void look_at_child(struct recorder *r)
{
    int status;
    if (r->ended || waitpid(r->child, &status, WUNTRACED | WNOHANG) != r->child) return;
    r->ended = !WIFSTOPPED(status);
    r->status = status;
    if (!r->ended) suspend(r);
}

static void on_child(int number)
{
    (void)number;
}

static void relay(struct recorder *r)
{
    /* Signals are let in only while waiting, so that none is lost before it. */
    sigset_t block, before;
    struct sigaction child = {.sa_handler = on_child};
    sigemptyset(&child.sa_mask);
    sigaction(SIGCHLD, &child, NULL);
    sigemptyset(&block);
    sigaddset(&block, SIGWINCH);
    sigaddset(&block, SIGCONT);
    sigaddset(&block, SIGCHLD);
    sigprocmask(SIG_BLOCK, &block, &before);
    for (;;) {
        struct pollfd fds[] = {{.fd = r->pty, .events = POLLIN}, {.fd = r->keys ? STDIN_FILENO : -1, .events = POLLIN}};
        follow_size(r);
        look_at_child(r);
        if (sh_terminal_continued()) kill(r->child, SIGCONT); /* it draws again */
        if (ppoll(fds, 2, NULL, &before) < 0) {
            if (errno != EINTR) break;
            continue;
        }
        if (fds[0].revents && !pass_output(r)) break;
        if (fds[1].revents & POLLIN)
            pass_keys(r);
        else if (fds[1].revents)
            r->keys = false;
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
}

/* The program goes on here, in the pseudo-terminal. */
static bool become_recorded(const struct recorder *r, const char *name)
{
    const char *term = getenv("TERM");
    if (!r->keys || !term) setenv("TERM", "xterm-256color", 1);
    close(r->pty);
    fclose(r->file);
    setsid();
    int fd = open(name, O_RDWR);
    if (fd < 0) return false;
    ioctl(fd, TIOCSCTTY, 0);
    for (int i = 0; i <= 2; i++) dup2(fd, i);
    if (fd > 2) close(fd);
    sh_terminal_suspend_alone();
    return true;
}

static int exit_status(const struct recorder *r)
{
    int status = r->status;
    while (!r->ended && waitpid(r->child, &status, 0) < 0)
        if (errno != EINTR) return 1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int fail(const char *what, const char *path)
{
    fprintf(stderr, "lunarray: --record %s: %s: %s\n", path, what, strerror(errno));
    return 1;
}

static int record(struct recorder *r, const char *path, const char *title)
{
    const char *term = getenv("TERM");
    r->start_ns = rt_now_ns();
    write_lines(r, sh_cast_header(r->columns, r->rows, (long)time(NULL), title,
                                  r->keys && term ? term : "xterm-256color", &r->lines));
    if (r->keys) sh_terminal_raw();
    relay(r);
    write_lines(r, sh_cast_end(&r->cast, microseconds(r), &r->lines));
    sh_terminal_restore();
    int status = exit_status(r);
    if (fclose(r->file) != 0) r->failed = true;
    sh_text_free(&r->lines);
    close(r->pty);
    if (r->failed) return fail("the recording is not complete", path);
    return status;
}

bool sh_record(const char *path, const char *title, int *status)
{
    static struct recorder r;
    r = (struct recorder){.keys = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO), .columns = 80, .rows = 24};
    if (r.keys) sh_terminal_size(&r.columns, &r.rows);
    *status = 1;
    r.pty = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (r.pty < 0 || grantpt(r.pty) != 0 || unlockpt(r.pty) != 0) return fail("no pseudo-terminal", path) < 0;
    const char *name = ptsname(r.pty);
    r.file = name ? fopen(path, "we") : NULL;
    if (!r.file) {
        fail("cannot be written", path);
        close(r.pty);
        return false;
    }
    set_size(r.pty, r.columns, r.rows);
    fflush(stdout);
    r.child = fork();
    if (r.child > 0 && r.keys) sh_terminal_guard();
    if (r.child == 0) {
        if (become_recorded(&r, name)) return true;
        _exit(fail("no pseudo-terminal", path));
    }
    if (r.child < 0)
        fail("no second process", path);
    else
        *status = record(&r, path, title);
    return false;
}
