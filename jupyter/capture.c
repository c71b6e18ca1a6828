#define _GNU_SOURCE /* pipe2 */
#include "jupyter/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "runtime/environment.h"

static int original[2] = {-1, -1};

#define LEVELS (rt_variables[RT_VAR_LOG_LEVEL].words)
static atomic_int written_level = JP_INFO;

bool jp_log_level(const char *name)
{
    for (int i = JP_ERROR; i <= JP_DEBUG; i++) {
        if (strcmp(name, LEVELS[i]) != 0) continue;
        atomic_store(&written_level, i);
        return true;
    }
    return false;
}

void jp_log(enum jp_level level, const char *format, ...)
{
    if ((int)level > atomic_load(&written_level)) return;
    char line[1000];
    size_t start = (size_t)snprintf(line, sizeof line, "[lunarray] %s: ", LEVELS[level]);
    va_list args;
    va_start(args, format);
    int length = vsnprintf(line + start, sizeof line - start - 1, format, args);
    va_end(args);
    if (length < 0) return;
    size_t end = start + (size_t)length;
    if (end > sizeof line - 2) end = sizeof line - 2;
    line[end++] = '\n';
    /* One write, so that lines of several threads stay whole. There is nowhere to report a failure to. */
    ssize_t written = write(original[1] >= 0 ? original[1] : STDERR_FILENO, line, end);
    (void)written;
}

static int redirect(int fd, int *read_end)
{
    int ends[2];
    original[fd - 1] = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (pipe2(ends, O_CLOEXEC) != 0) return -1;
    *read_end = ends[0];
    int failed = fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0 || dup2(ends[1], fd) < 0;
    close(ends[1]);
    return failed ? -1 : 0;
}

enum rt_status jp_capture_begin(int read_ends[2], struct rt_error *e)
{
    read_ends[0] = read_ends[1] = -1;
    fflush(NULL);
    for (int i = 0; i < 2; i++) {
        if (redirect(1 + i, &read_ends[i]) == 0) continue;
        enum rt_status status = rt_fail(e, RT_IO, "cannot redirect descriptor %d: %s", 1 + i, strerror(errno));
        jp_capture_end(read_ends);
        return status;
    }
    /* Whole lines at once keep their place among what the session prints. */
    setvbuf(stdout, NULL, _IOLBF, 0);
    return RT_OK;
}

void jp_capture_end(int read_ends[2])
{
    fflush(NULL);
    for (int i = 0; i < 2; i++) {
        if (original[i] >= 0) {
            dup2(original[i], 1 + i);
            close(original[i]);
            original[i] = -1;
        }
        if (read_ends[i] >= 0) close(read_ends[i]);
        read_ends[i] = -1;
    }
}
