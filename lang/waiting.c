/* Calls of Lua's own library that wait for others: reads and writes of pipes and FIFOs, programs that os.execute runs.
 * In a session whose face has other requests meanwhile these wait here, in a poll, and whatever comes is served on the
 * session's own thread as between two instructions of the cell: functions for comms and cells of subshells, too.
 *
 * A file handle of such a kind has a stream of ours, whose reads and writes wait so, in front of the C library's. The
 * rest of the file library is the stock one and does not know.
 *
 * In the shell programs are also kept from writing to the terminal while its user types. */
#define _GNU_SOURCE /* fopencookie, ppoll */
#include "lang/waiting.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "lang/spawn.h"
#include "runtime/guard.h"
#include "runtime/lend.h"

#define RETRY_MS  20 /* between two looks for a FIFO's reader, which nothing tells of */
#define LINGER_MS 50
#define PATIENCE  50 /* of those after an interrupt until a program is killed */

static bool is_asked(struct lg_session *s)
{
    return atomic_load(&s->attention) && s->running && !s->attending && s->sink.attend;
}

int lg_wait_for(struct lg_session *s, struct pollfd *fds, nfds_t count, int timeout_ms)
{
    const struct timespec timeout = {timeout_ms / 1000, timeout_ms % 1000 * 1000000L};
    sigset_t before;
    int ready = -1;
    do {
        if (is_asked(s)) lg_session_meanwhile(s);
        rt_hold_signals(&before); /* those that tell of requests and interrupts come in the poll alone, none in vain */
        errno = EINTR;
        bool stops = atomic_load(&s->evaluating) && atomic_load(&s->interrupted);
        if (!stops && !is_asked(s)) ready = ppoll(fds, count, timeout_ms < 0 ? NULL : &timeout, &before);
        int error = errno;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        errno = error;
        if (stops) return -1;
    } while (ready < 0 && errno == EINTR);
    return ready;
}

/* ---- streams ---- */

struct handle {
    luaL_Stream stream; /* the first member: what the stock library sees */
    struct lg_session *session;
    int fd;
    pid_t program; /* that has the pipe's other end; 0: none */
    int shown;     /* tells that its errors have been passed on (lg_pass_on); -1: they are not */
    bool busy, refused;
};

static ssize_t transfer(struct handle *h, char *data, size_t size, bool writes)
{
    struct pollfd p = {.fd = h->fd, .events = writes ? POLLOUT : POLLIN};
    if (h->busy) { /* a function for a comm, in the middle of a read of the cell's */
        h->refused = true;
        errno = EBUSY;
        return -1;
    }
    h->busy = true;
    ssize_t n = -1;
    if (lg_wait_for(h->session, &p, 1, -1) >= 0) n = writes ? write(p.fd, data, size) : read(p.fd, data, size);
    int error = errno;
    if (h->refused) clearerr(h->stream.f); /* that failure was the other's */
    h->busy = h->refused = false;
    errno = error;
    return n;
}

static ssize_t stream_read(void *cookie, char *data, size_t size)
{
    return transfer(cookie, data, size, false);
}

static ssize_t stream_write(void *cookie, const char *data, size_t size)
{
    size_t all = 0;
    while (all < size) {
        /* A pipe that says that it takes some takes this much. */
        size_t piece = size - all < PIPE_BUF ? size - all : PIPE_BUF;
        ssize_t n = transfer(cookie, (char *)data + all, piece, true);
        if (n <= 0) break;
        all += (size_t)n;
    }
    return (ssize_t)all;
}

static int stream_seek(void *cookie, off64_t *at, int whence)
{
    (void)cookie, (void)at, (void)whence;
    errno = ESPIPE;
    return -1;
}

/* What a program has written before its end is to be seen before what comes next; what it left running may go on. */
static void wait_shown(int *shown)
{
    if (*shown < 0) return;
    poll(&(struct pollfd){.fd = *shown, .events = POLLIN}, 1, LINGER_MS);
    close(*shown);
    *shown = -1;
}

/* Waits for a program; what waitpid says. An interrupt ends the program first. */
static int wait_program(struct lg_session *s, pid_t pid)
{
    int status = -1, interrupted = 0;
    struct pollfd p = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
    while (p.fd >= 0 && interrupted < PATIENCE && lg_wait_for(s, &p, 1, -1) < 0) {
        if (errno != EINTR) break;
        if (interrupted++ == 0) kill(pid, SIGINT);
        if (poll(&p, 1, RETRY_MS) > 0) break;
    }
    if (interrupted == PATIENCE) kill(pid, SIGKILL);
    if (p.fd >= 0) close(p.fd);
    rt_lend(); /* where the system has no such descriptors */
    pid_t ended;
    while ((ended = waitpid(pid, &status, 0)) < 0 && errno == EINTR) continue;
    rt_lend_end();
    if (ended == pid) errno = 0; /* or luaL_execresult takes what is left there for the reason */
    return status;
}

static int close_handle(lua_State *L)
{
    struct handle *h = luaL_checkudata(L, 1, LUA_FILEHANDLE);
    if (h->busy) {
        h->stream.closef = close_handle;
        errno = EBUSY;
        return luaL_fileresult(L, 0, NULL);
    }
    bool good = fclose(h->stream.f) == 0;
    int error = errno;
    close(h->fd);
    if (h->program) {
        int status = wait_program(h->session, h->program);
        error = errno;
        wait_shown(&h->shown);
        errno = error;
        return luaL_execresult(L, status);
    }
    errno = error;
    return luaL_fileresult(L, good, NULL);
}

static struct handle *push_handle(lua_State *L, struct lg_session *s)
{
    struct handle *h = lua_newuserdatauv(L, sizeof *h, 0);
    *h = (struct handle){.session = s, .shown = -1};
    luaL_setmetatable(L, LUA_FILEHANDLE); /* closed until it has a stream */
    return h;
}

/* Takes the descriptor; false, with it closed, when there is no memory for a stream. */
static bool open_stream(struct handle *h, int fd, const char *mode)
{
    static const cookie_io_functions_t functions = {.read = stream_read, .write = stream_write, .seek = stream_seek};
    h->fd = fd;
    h->stream.f = fopencookie(h, mode, functions);
    if (h->stream.f)
        h->stream.closef = close_handle;
    else
        close(fd);
    return h->stream.f != NULL;
}

/* ---- what replaces functions of io and os; upvalues: the session, the stock function ---- */

static int wait_execute(lua_State *L)
{
    pid_t pid;
    const char *command = luaL_optstring(L, 1, NULL);
    if (!command) return lg_call_stock(L);
    fflush(stdout);
    int failed = lg_spawn_shell(command, NULL, (int[]){LG_AS_HERE, LG_AS_HERE, LG_AS_HERE}, &pid);
    errno = failed;
    return luaL_execresult(L, failed ? -1 : wait_program(lg_upvalue_session(L), pid));
}

bool lg_goes_on(const char *command)
{
    char quote = '\0';
    for (const char *p = command; *p; p++) {
        bool escaped = *p == '\\' && quote != '\'' && p[1];
        if (escaped) {
            p++;
        } else if (quote ? *p == quote : *p == '"' || *p == '\'') {
            quote = quote ? '\0' : *p;
        } else if (*p == '&' && !quote) {
            bool again = p[1] == '&', redirects = p[1] == '>' || (p > command && strchr("<>", p[-1]));
            if (!again && !redirects) return true;
            p += again;
        }
    }
    return false;
}

/* The C library keeps Ctrl-C from the session while it waits for a program: one that this has ended takes the cell with
 * it, or a loop of such calls could not be left. */
static int execute_stock(lua_State *L)
{
    int n = lg_call_stock(L);
    bool signalled = n == 3 && lua_isstring(L, 2) && strcmp(lua_tostring(L, 2), "signal") == 0;
    if (signalled && lua_tointeger(L, 3) == SIGINT) lg_session_interrupt(lg_upvalue_session(L));
    return n;
}

/* Where the terminal is a line editor's, what goes on in the background is not to write to it by itself. */
static int background_execute(lua_State *L)
{
    pid_t pid;
    int out[2], err[2], status = 0;
    const char *command = luaL_optstring(L, 1, NULL);
    if (!command || !lg_goes_on(command) || pipe2(out, O_CLOEXEC) != 0) return execute_stock(L);
    if (pipe2(err, O_CLOEXEC) != 0) {
        close(out[0]);
        close(out[1]);
        return execute_stock(L);
    }
    fflush(stdout);
    int failed = lg_spawn_shell(command, NULL, (int[]){LG_AS_HERE, out[1], err[1]}, &pid);
    close(out[1]);
    close(err[1]);
    lg_pass_on(out[0], STDOUT_FILENO, NULL);
    lg_pass_on(err[0], STDERR_FILENO, NULL);
    while (!failed && waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    errno = failed;
    return luaL_execresult(L, failed ? -1 : status);
}

/* The same for what a program that is read writes to standard error: its descriptor for that. One that is written to
 * may be a pager, which looks there for the terminal. */
static int errors_of(struct handle *h)
{
    int ends[2];
    if (h->session->sink.attend || !isatty(STDERR_FILENO) || pipe2(ends, O_CLOEXEC) != 0) return LG_AS_HERE;
    lg_pass_on(ends[0], STDERR_FILENO, &h->shown);
    return ends[1];
}

static int wait_popen(lua_State *L)
{
    const char *command = luaL_checkstring(L, 1), *mode = luaL_optstring(L, 2, "r");
    int ends[2], reads = *mode == 'r';
    luaL_argcheck(L, strcmp(mode, "r") == 0 || strcmp(mode, "w") == 0, 2, "invalid mode");
    struct handle *h = push_handle(L, lg_upvalue_session(L));
    fflush(NULL);
    if (pipe2(ends, O_CLOEXEC) != 0) return luaL_fileresult(L, 0, command);
    int program_ends[] = {LG_AS_HERE, LG_AS_HERE, reads ? errors_of(h) : LG_AS_HERE};
    program_ends[reads] = ends[reads];
    int failed = lg_spawn_shell(command, NULL, program_ends, &h->program);
    close(ends[reads]);
    if (program_ends[2] >= 0) close(program_ends[2]);
    if (failed) close(ends[!reads]);
    errno = failed;
    if (!failed && open_stream(h, ends[!reads], mode)) return 1;
    int error = errno;
    wait_shown(&h->shown);
    errno = error;
    return luaL_fileresult(L, 0, command);
}

static bool is_fifo(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISFIFO(st.st_mode);
}

/* As liolib.c has it. */
static bool is_mode(const char *mode)
{
    if (!*mode || !strchr("rwa", *mode++)) return false;
    if (*mode == '+') mode++;
    return strspn(mode, "b") == strlen(mode);
}

/* The descriptor; -1 and errno when it cannot be opened. A FIFO opens for reading at once, and the first read waits for
 * who writes. */
static int open_fifo(struct lg_session *s, const char *path, const char *mode)
{
    int flags = (strchr(mode, '+') ? O_RDWR : *mode == 'r' ? O_RDONLY : O_WRONLY) | O_CLOEXEC | O_NONBLOCK;
    int fd;
    while ((fd = open(path, flags)) < 0 && errno == ENXIO)
        if (lg_wait_for(s, NULL, 0, RETRY_MS) < 0) return -1;
    if (fd >= 0) fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    return fd;
}

/* Pushes the file, or nil, the reason and its number; how many these are. */
static int push_fifo(lua_State *L, const char *path, const char *mode)
{
    struct lg_session *s = lg_upvalue_session(L);
    struct handle *h = push_handle(L, s);
    int fd = open_fifo(s, path, mode);
    return fd >= 0 && open_stream(h, fd, mode) ? 1 : luaL_fileresult(L, 0, path);
}

static int wait_open(lua_State *L)
{
    const char *path = luaL_checkstring(L, 1), *mode = luaL_optstring(L, 2, "r");
    luaL_argcheck(L, is_mode(mode), 2, "invalid mode");
    return is_fifo(path) ? push_fifo(L, path, mode) : lg_call_stock(L);
}

/* Puts the open file in place of its name, the first argument; raises when it cannot be opened. */
static void open_argument(lua_State *L, const char *mode)
{
    if (push_fifo(L, lua_tostring(L, 1), mode) != 1) luaL_error(L, "%s", lua_tostring(L, -2));
    lua_replace(L, 1);
}

static int wait_lines(lua_State *L)
{
    if (lua_type(L, 1) != LUA_TSTRING || !is_fifo(lua_tostring(L, 1))) return lg_call_stock(L);
    open_argument(L, "r");
    lua_pushvalue(L, 1); /* kept for the loop, which closes it at its end */
    lua_insert(L, 1);
    lua_getfield(L, 1, "lines");
    lua_insert(L, 2);
    lua_call(L, lua_gettop(L) - 2, 1);
    lua_pushnil(L);
    lua_pushnil(L);
    lua_pushvalue(L, 1);
    return 4;
}

static int wait_input(lua_State *L)
{
    if (lua_type(L, 1) == LUA_TSTRING && is_fifo(lua_tostring(L, 1))) open_argument(L, "r");
    return lg_call_stock(L);
}

static int wait_output(lua_State *L)
{
    if (lua_type(L, 1) == LUA_TSTRING && is_fifo(lua_tostring(L, 1))) open_argument(L, "w");
    return lg_call_stock(L);
}

static void replace(lua_State *L, struct lg_session *s, const char *table, const char *name, lua_CFunction f)
{
    lua_getglobal(L, table);
    lua_pushlightuserdata(L, s);
    lua_getfield(L, -2, name);
    lua_pushcclosure(L, f, 2);
    lua_setfield(L, -2, name);
    lua_pop(L, 1);
}

void lg_open_waiting(lua_State *L, struct lg_session *s)
{
    static const struct {
        const char *table, *name;
        lua_CFunction f;
    } all[] = {{"io", "popen", wait_popen}, {"io", "open", wait_open},     {"io", "lines", wait_lines},
               {"io", "input", wait_input}, {"io", "output", wait_output}, {"os", "execute", wait_execute}};
    if (!s->sink.attend && s->interactive) {
        replace(L, s, "os", "execute", background_execute);
        replace(L, s, "io", "popen", wait_popen);
    }
    for (size_t i = 0; s->sink.attend && i < sizeof all / sizeof *all; i++)
        replace(L, s, all[i].table, all[i].name, all[i].f);
}
