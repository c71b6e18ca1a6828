#define _GNU_SOURCE /* environ */
#include "lang/gnuplot.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lang/session_state.h"

#define MOST_COMPLAINT 500

/* Files in place of pipes: whoever reads or writes first, nobody waits for the other. */
struct run {
    FILE *script, *out, *complaint;
};

static int start(const char *program, const struct run *r, pid_t *pid)
{
    char *argv[] = {(char *)program, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGINT);
    sigaddset(&defaults, SIGPIPE);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fileno(r->script), 0);
    posix_spawn_file_actions_adddup2(&actions, fileno(r->out), 1);
    posix_spawn_file_actions_adddup2(&actions, fileno(r->complaint), 2);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    int failed = posix_spawnp(pid, program, &actions, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return failed;
}

static void read_all(FILE *file, struct lg_buffer *to)
{
    char piece[4096];
    size_t n;
    rewind(file);
    while ((n = fread(piece, 1, sizeof piece, file)) > 0) lg_buffer_add(to, piece, n);
}

/* The errno of what failed, 0 when it ran; *status is how it ended. Never raises. */
static int run(const char *program, struct run *r, const struct lg_buffer *script, struct lg_buffer *out,
               struct lg_buffer *complaint, int *status)
{
    pid_t pid;
    if (!r->script || !r->out || !r->complaint) return errno ? errno : EIO;
    if (fwrite(script->data, 1, script->length, r->script) != script->length || fflush(r->script)) return errno;
    rewind(r->script);
    int failed = start(program, r, &pid);
    if (failed) return failed;
    while (waitpid(pid, status, 0) < 0)
        if (errno != EINTR) return errno;
    read_all(r->out, out);
    read_all(r->complaint, complaint);
    return 0;
}

void lg_push_gnuplot(lua_State *L, const struct lg_buffer *script)
{
    const char *named = getenv("LUNARRAY_GNUPLOT"), *program = named && *named ? named : "gnuplot";
    struct lg_buffer *out = lg_push_buffer(L), *complaint = lg_push_buffer(L);
    if (script->failed) luaL_error(L, "not enough memory for the plot");
    errno = 0;
    struct run r = {.script = tmpfile(), .out = tmpfile(), .complaint = tmpfile()};
    int status = 0, failed = run(program, &r, script, out, complaint, &status);
    if (r.script) fclose(r.script);
    if (r.out) fclose(r.out);
    if (r.complaint) fclose(r.complaint);
    /* Where spawning is a fork, a program that is not there shows as this status. */
    if (failed == ENOENT || (WIFEXITED(status) && WEXITSTATUS(status) == 127))
        luaL_error(L,
                   "plots are drawn by gnuplot, and there is no '%s'; `apt-get install gnuplot-nox` installs it on "
                   "Debian and Ubuntu, and LUNARRAY_GNUPLOT says where it is elsewhere",
                   program);
    if (failed) luaL_error(L, "%s could not be run: %s", program, strerror(failed));
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || out->length == 0) {
        if (complaint->length > MOST_COMPLAINT) complaint->length = MOST_COMPLAINT;
        lg_push_buffer_text(L, complaint);
        luaL_error(L, "%s could not draw the plot:%s", program, lua_tostring(L, -1));
    }
    lg_push_buffer_text(L, out);
    lua_replace(L, -3);
    lua_pop(L, 1);
}

void lg_add_gnuplot_string(struct lg_buffer *b, const char *text)
{
    lg_buffer_puts(b, "'");
    for (; *text; text++) {
        char c = *text;
        if (c == '\'') lg_buffer_puts(b, "'");
        if ((unsigned char)c < ' ' || c == 127) c = ' ';
        lg_buffer_add(b, &c, 1);
    }
    lg_buffer_puts(b, "'");
}
