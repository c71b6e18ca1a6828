#define _GNU_SOURCE /* pipe2, mkostemps */
#include "repl/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lang/spawn.h"
#include "repl/repl.h"
#include "repl/settings.h"

/* Runs the command; Ctrl-C is its own meanwhile. Its exit status, -1 when it could not be started. */
static int run(const char *command, const char *argument, const char *input, size_t length)
{
    int fds[2] = {-1, -1}, status = -1;
    pid_t pid;
    struct sigaction ignore = {.sa_handler = SIG_IGN}, interrupt, quit;
    if (input && pipe2(fds, O_CLOEXEC) != 0) return -1;
    fflush(stdout);
    sigaction(SIGINT, &ignore, &interrupt);
    sigaction(SIGQUIT, &ignore, &quit);
    int failed = lg_spawn_shell(command, argument, (int[]){fds[0], LG_AS_HERE, LG_AS_HERE}, &pid);
    if (input) close(fds[0]);
    while (!failed && length > 0) {
        ssize_t n = write(fds[1], input, length);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break; /* it has seen enough */
        input += n;
        length -= (size_t)n;
    }
    if (fds[1] >= 0) close(fds[1]);
    while (!failed && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    sigaction(SIGINT, &interrupt, NULL);
    sigaction(SIGQUIT, &quit, NULL);
    errno = failed;
    if (failed) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int sh_run_command(const char *command)
{
    return run(command, NULL, NULL, 0);
}

bool sh_page(const char *text, size_t length)
{
    const char *command = sh_settings->pager, *set = getenv("PAGER");
    if (strcmp(command, "auto") == 0) command = set && *set ? set : "less -RFX";
    if (!*command || strcmp(command, "cat") == 0) return false;
    int status = run(command, "", text, length);
    return status >= 0 && status != 126 && status != 127; /* the shell did not find it */
}

static bool write_all(int fd, const char *text, size_t length)
{
    while (length > 0) {
        ssize_t n = write(fd, text, length);
        if (n <= 0) return false;
        text += n;
        length -= (size_t)n;
    }
    return true;
}

/* The editor, on a file that is there already. */
static bool edit_file(const char *path, struct sh_text *text, char *why, size_t size)
{
    const char *editor = getenv("VISUAL");
    char command[512];
    size_t length;
    if (!editor || !*editor) editor = getenv("EDITOR");
    if (!editor || !*editor) editor = "$(command -v sensible-editor || command -v nano || echo vi)";
    snprintf(command, sizeof command, "%s \"$1\"", editor);
    int status = run(command, path, NULL, 0);
    if (status != 0) {
        snprintf(why, size, status == 127 ? "there is no editor '%s'; EDITOR names yours" : "%s ended with status %d",
                 editor, status);
        return false;
    }
    char *left = sh_read_file(path, &length);
    bool ok = left && sh_text_set(text, left, length);
    if (!ok) snprintf(why, size, "cannot read %s: %s", path, strerror(errno));
    free(left);
    return ok;
}

bool sh_run_editor(struct sh_text *text, char *why, size_t size)
{
    char path[4096];
    const char *folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/lunarray-XXXXXX.lua", folder && *folder ? folder : "/tmp");
    int fd = mkostemps(path, 4, O_CLOEXEC);
    bool ok = fd >= 0 && write_all(fd, text->bytes ? text->bytes : "", text->length) && write_all(fd, "\n", 1);
    if (fd >= 0) ok = close(fd) == 0 && ok;
    if (!ok) snprintf(why, size, "cannot write %s: %s", path, strerror(errno));
    ok = ok && edit_file(path, text, why, size);
    if (fd >= 0) unlink(path);
    return ok;
}
