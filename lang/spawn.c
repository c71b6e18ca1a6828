#define _GNU_SOURCE /* environ, pipe2 */
#include "lang/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>
#include "runtime/guard.h"

static void set_ends(posix_spawn_file_actions_t *actions, const int ends[3])
{
    for (int i = 0; i < 3; i++) {
        if (ends[i] == LG_NOTHING)
            posix_spawn_file_actions_addopen(actions, i, "/dev/null", i ? O_WRONLY : O_RDONLY, 0);
        else if (ends[i] >= 0)
            posix_spawn_file_actions_adddup2(actions, ends[i], i);
    }
}

static void set_signals(posix_spawnattr_t *attributes, bool own_group)
{
    sigset_t none, defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGINT);
    sigaddset(&defaults, SIGQUIT);
    sigaddset(&defaults, SIGPIPE);
    int flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | (own_group ? POSIX_SPAWN_SETPGROUP : 0);
    posix_spawnattr_setflags(attributes, (short)flags);
    posix_spawnattr_setpgroup(attributes, 0);
    posix_spawnattr_setsigmask(attributes, &none);
    posix_spawnattr_setsigdefault(attributes, &defaults);
}

int lg_spawn(const char *program, char *const argv[], const int ends[3], bool own_group, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    set_ends(&actions, ends);
    set_signals(&attributes, own_group);
    int failed = posix_spawnp(pid, program, &actions, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return failed;
}

int lg_spawn_shell(const char *command, const char *argument, const int ends[3], pid_t *pid)
{
    char *argv[] = {"sh", "-c", (char *)command, argument ? "sh" : NULL, (char *)argument, NULL};
    return lg_spawn("/bin/sh", argv, ends, false, pid);
}

struct passing {
    int from, to, tells; /* tells: closed at the end, unless -1 */
};

static void *pass_on(void *job)
{
    struct passing p = *(struct passing *)job;
    char piece[4096];
    ssize_t n;
    free(job);
    while ((n = read(p.from, piece, sizeof piece)) > 0 || (n < 0 && errno == EINTR))
        for (ssize_t at = 0, written; at<n; at += written> 0 ? written : 0)
            if ((written = write(p.to, piece + at, (size_t)(n - at))) < 0 && errno != EINTR) n = 0;
    close(p.from);
    if (p.tells >= 0) close(p.tells);
    return NULL;
}

void lg_pass_on(int from, int to, int *ended)
{
    pthread_t thread;
    sigset_t before;
    int ends[2] = {-1, -1};
    struct passing *job = malloc(sizeof *job);
    if (ended && pipe2(ends, O_CLOEXEC) != 0) ends[0] = ends[1] = -1;
    if (ended) *ended = ends[0];
    if (job) *job = (struct passing){from, to, ends[1]};
    rt_hold_signals(&before);
    bool started = job && pthread_create(&thread, NULL, pass_on, job) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started) {
        pthread_detach(thread);
    } else {
        free(job);
        close(from);
        if (ends[1] >= 0) close(ends[1]);
    }
}
