#include "lang/gnuplot.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include "lang/session_state.h"
#include "lang/spawn.h"
#include "runtime/interrupt.h"
#include "runtime/lend.h"

#define MOST_COMPLAINT 500
#define POLL_MS        2

/* Files in place of pipes: whoever reads or writes first, nobody waits for the other. */
struct run {
    FILE *script, *out, *complaint;
};

/* Until it has ended; an interrupt ends it. */
static int wait_for(pid_t pid, int *status)
{
    pid_t ended;
    rt_lend();
    while ((ended = waitpid(pid, status, WNOHANG)) == 0 || (ended < 0 && errno == EINTR)) {
        if (rt_interrupted()) kill(-pid, SIGKILL);
        poll(NULL, 0, POLL_MS);
    }
    rt_lend_end();
    return ended < 0 ? errno : 0;
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
    char *argv[] = {(char *)program, NULL};
    const int ends[] = {fileno(r->script), fileno(r->out), fileno(r->complaint)};
    int failed = lg_spawn(program, argv, ends, true, &pid);
    if (!failed) failed = wait_for(pid, status);
    if (failed) return failed;
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
        luaL_error(
            L,
            "plots are drawn by gnuplot, and there is no '%s'; `apt-get install gnuplot-nox` installs it on "
            "Debian and Ubuntu, and LUNARRAY_GNUPLOT says where it is elsewhere; with {format = \"vega\"} a notebook "
            "draws all but surfaces by itself",
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
