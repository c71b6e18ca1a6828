#define _GNU_SOURCE /* environ */
#include "lang/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <unistd.h>

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
