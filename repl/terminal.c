#define _GNU_SOURCE /* ppoll */
#include "repl/terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include "repl/guardian.h"
#include "repl/text.h"

enum { ANSWER_WAIT_MS = 1000 };

static const char modes_on[] = "\033[?2004h", modes_off[] = SH_TERMINAL_OFF;

static struct sh_guarded own, *state = &own;
static volatile sig_atomic_t raw, resized, continued, output = STDOUT_FILENO;
static int watched = -1;
static bool alone; /* nobody above has job control, but for one process that waits for a stop */
static struct sh_text unread;

bool sh_terminal_usable(void)
{
    const char *term = getenv("TERM");
    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb") != 0;
}

void sh_terminal_guard(void)
{
    struct sh_guarded *shared = isatty(STDIN_FILENO) ? sh_guardian_start() : NULL;
    if (shared) state = shared;
}

/* Async-signal-safe. TCSADRAIN keeps what was typed ahead and lets output out first. */
void sh_terminal_restore(void)
{
    if (!raw) return;
    raw = 0;
    ssize_t ignored = write(output, modes_off, sizeof modes_off - 1);
    (void)ignored;
    tcsetattr(STDIN_FILENO, TCSADRAIN, &state->original);
    state->raw = 0; /* last: if this process is killed before, its guardian does that */
    sh_guardian_look();
}

static void on_fatal(int number)
{
    int error = errno;
    sh_terminal_restore();
    state->ended = 1;
    errno = error;
    /* SA_RESETHAND made the signal deadly again; it is delivered when this handler returns. */
    raise(number);
}

static void on_resize(int number)
{
    (void)number;
    resized = 1;
}

/* Whoever stopped us has set the terminal for others meanwhile. tcsetattr may be called here. */
static void on_continue(int number)
{
    int error = errno;
    (void)number;
    if (!raw) return;
    continued = 1;
    tcsetattr(STDIN_FILENO, TCSANOW, &state->wanted);
    ssize_t ignored = write(output, modes_on, sizeof modes_on - 1);
    (void)ignored;
    errno = error;
}

/* Once: whoever ends the process finds the terminal as it was. Signals that somebody handles or ignores stay so. */
static void guard(void)
{
    static const int fatal[] = {SIGTERM, SIGHUP, SIGQUIT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    static bool done;
    if (done) return;
    done = true;
    atexit(sh_terminal_restore);
    struct sigaction action = {.sa_handler = on_fatal, .sa_flags = (int)SA_RESETHAND | SA_ONSTACK}, was;
    /* Whose stack has overflowed has another one for the handler. */
    static char stack[16384];
    stack_t alternative = {.ss_sp = stack, .ss_size = sizeof stack}, there;
    if (sigaltstack(NULL, &there) == 0 && there.ss_flags & SS_DISABLE) sigaltstack(&alternative, NULL);
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        if (sigaction(fatal[i], NULL, &was) == 0 && !(was.sa_flags & SA_SIGINFO) && was.sa_handler == SIG_DFL)
            sigaction(fatal[i], &action, NULL);
    /* Restarting: what a cell waits for is not to end because a window changed its size. */
    struct sigaction size = {.sa_handler = on_resize, .sa_flags = SA_RESTART};
    sigemptyset(&size.sa_mask);
    sigaction(SIGWINCH, &size, NULL);
    struct sigaction on = {.sa_handler = on_continue, .sa_flags = SA_RESTART};
    sigemptyset(&on.sa_mask);
    sigaction(SIGCONT, &on, NULL);
}

/* What a killed program has left behind is not what cells are to run in. */
static void sanitize(struct termios *t)
{
    if (t->c_lflag & (ICANON | ECHO | ISIG)) return;
    t->c_iflag |= BRKINT | ICRNL | IXON;
    t->c_oflag |= OPOST | ONLCR;
    t->c_lflag |= ECHO | ECHOE | ECHOK | ICANON | IEXTEN | ISIG;
}

bool sh_terminal_raw(void)
{
    if (raw) return true;
    if (tcgetattr(STDIN_FILENO, &state->original) != 0) return false;
    sanitize(&state->original);
    guard();
    state->wanted = state->original;
    state->wanted.c_iflag &= ~(tcflag_t)(BRKINT | ICRNL | INLCR | IGNCR | INPCK | ISTRIP | IXON);
    state->wanted.c_lflag &= ~(tcflag_t)(ECHO | ICANON | IEXTEN | ISIG);
    state->wanted.c_cflag |= CS8;
    state->wanted.c_cc[VMIN] = 1;
    state->wanted.c_cc[VTIME] = 0;
    state->raw = 1;
    while (tcsetattr(STDIN_FILENO, TCSADRAIN, &state->wanted) != 0) {
        if (errno == EINTR) continue;
        state->raw = 0;
        return false;
    }
    raw = 1;
    sh_terminal_write(modes_on, sizeof modes_on - 1);
    return true;
}

void sh_terminal_output(int fd)
{
    output = fd;
}

void sh_terminal_watch(int fd)
{
    watched = fd;
}

void sh_terminal_size(int *columns, int *rows)
{
    struct winsize w;
    bool known = ioctl(output, TIOCGWINSZ, &w) == 0;
    *columns = known && w.ws_col > 0 ? w.ws_col : 80;
    *rows = known && w.ws_row > 0 ? w.ws_row : 24;
}

bool sh_terminal_cell(int *width, int *height)
{
    struct winsize w;
    if (ioctl(output, TIOCGWINSZ, &w) != 0 || !w.ws_col || !w.ws_row) return false;
    *width = w.ws_xpixel / w.ws_col;
    *height = w.ws_ypixel / w.ws_row;
    return *width > 0 && *height > 0;
}

/* The length of the answer that the bytes begin with: "\033[?62;4c", "\033_G...\033\\"; 0 when they are keys. *last: it
 * is the attributes. */
static size_t answer_length(const char *bytes, size_t length, bool *last)
{
    size_t n = 3;
    *last = false;
    if (length > 2 && memcmp(bytes, "\033[?", 3) == 0) {
        while (n < length && strchr("0123456789;", bytes[n])) n++;
        *last = n < length && bytes[n] == 'c';
        return *last ? n + 1 : 0;
    }
    if (length < 3 || memcmp(bytes, "\033_", 2) != 0) return 0;
    while (n < length && memcmp(bytes + n - 1, "\033\\", 2) != 0) n++;
    return n < length ? n + 1 : 0;
}

/* Moves the answers among the bytes to `answer`, keeps the others; true when the last of them is there. */
static bool take_answers(struct sh_text *bytes, char *answer, size_t size)
{
    size_t used = strlen(answer);
    for (size_t at = 0; at < bytes->length;) {
        bool last;
        size_t n = answer_length(bytes->bytes + at, bytes->length - at, &last);
        if (n && used + n < size) {
            memcpy(answer + used, bytes->bytes + at, n);
            answer[used += n] = '\0';
        }
        if (n)
            sh_text_delete(bytes, at, at + n);
        else
            at++;
        if (last) return true;
    }
    return false;
}

bool sh_terminal_ask(const char *question, char *answer, size_t size)
{
    struct termios before, t;
    struct sh_text bytes = {0};
    char piece[512];
    bool answered = false;
    *answer = '\0';
    if (!isatty(output) || tcgetattr(STDIN_FILENO, &before) != 0) return false;
    t = before;
    t.c_lflag &= ~(tcflag_t)(ECHO | ICANON);
    t.c_cc[VMIN] = 1;
    t.c_cc[VTIME] = 0;
    if (tcsetattr(STDIN_FILENO, TCSANOW, &t) != 0) return false;
    sh_terminal_write(question, strlen(question));
    while (!answered && poll(&(struct pollfd){.fd = STDIN_FILENO, .events = POLLIN}, 1, ANSWER_WAIT_MS) > 0) {
        ssize_t n = read(STDIN_FILENO, piece, sizeof piece);
        if (n <= 0 || !sh_text_append(&bytes, piece, (size_t)n)) break;
        answered = take_answers(&bytes, answer, size);
    }
    tcsetattr(STDIN_FILENO, TCSANOW, &before);
    if (bytes.length) sh_text_append(&unread, bytes.bytes, bytes.length);
    sh_text_free(&bytes);
    return answered;
}

enum sh_wait sh_terminal_wait(int milliseconds)
{
    /* Blocked between looking at the flags and waiting, so that no signal is lost there. */
    sigset_t block, before;
    if (unread.length) return SH_WAIT_INPUT;
    sigemptyset(&block);
    sigaddset(&block, SIGWINCH);
    sigaddset(&block, SIGCONT);
    sigprocmask(SIG_BLOCK, &block, &before);
    enum sh_wait result = SH_WAIT_RESIZED;
    if (!resized && !continued) {
        struct pollfd in[] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = watched, .events = POLLIN}};
        struct timespec limit = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
        int n = ppoll(in, 2, milliseconds < 0 ? NULL : &limit, &before);
        if (n > 0 && in[0].revents)
            result = in[0].revents & POLLIN ? SH_WAIT_INPUT : SH_WAIT_END;
        else if (n > 0)
            result = SH_WAIT_WATCHED;
        else if (n == 0)
            result = SH_WAIT_TIMEOUT;
        else
            result = resized || errno == EINTR ? SH_WAIT_RESIZED : SH_WAIT_END;
    }
    if (continued) result = SH_WAIT_CONTINUED;
    resized = continued = 0;
    sigprocmask(SIG_SETMASK, &before, NULL);
    return result;
}

bool sh_terminal_pending_within(int milliseconds)
{
    return unread.length || poll(&(struct pollfd){.fd = STDIN_FILENO, .events = POLLIN}, 1, milliseconds) > 0;
}

bool sh_terminal_pending(void)
{
    return sh_terminal_pending_within(0);
}

size_t sh_terminal_read(char *bytes, size_t size)
{
    if (unread.length) {
        size_t n = unread.length < size ? unread.length : size;
        memcpy(bytes, unread.bytes, n);
        sh_text_delete(&unread, 0, n);
        return n;
    }
    for (;;) {
        ssize_t n = read(STDIN_FILENO, bytes, size);
        if (n >= 0) return (size_t)n;
        if (errno != EINTR && errno != EAGAIN) return 0;
        if (errno == EAGAIN) poll(&(struct pollfd){.fd = STDIN_FILENO, .events = POLLIN}, 1, -1);
    }
}

void sh_terminal_unread(const char *bytes, size_t length)
{
    if (length) sh_text_insert(&unread, 0, bytes, length);
}

void sh_terminal_write(const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t n = write(output, bytes, length);
        if (n < 0 && errno == EAGAIN) poll(&(struct pollfd){.fd = output, .events = POLLOUT}, 1, -1);
        if (n < 0 && errno != EINTR && errno != EAGAIN) return;
        if (n > 0) {
            bytes += n;
            length -= (size_t)n;
        }
    }
}

void sh_terminal_start_row(void)
{
    int columns, rows;
    struct sh_text bytes = {0};
    sh_terminal_size(&columns, &rows);
    for (int i = 0; i < columns; i++) sh_text_append(&bytes, " ", 1);
    sh_text_append(&bytes, "\r\033[K", 4);
    if (bytes.bytes) sh_terminal_write(bytes.bytes, bytes.length);
    sh_text_free(&bytes);
}

void sh_terminal_suspend(void)
{
    /* The whole group, as the terminal would: a program that started us stops, too. */
    if (alone)
        raise(SIGSTOP);
    else
        kill(0, SIGTSTP);
}

void sh_terminal_suspend_alone(void)
{
    alone = true;
}

bool sh_terminal_continued(void)
{
    bool was = continued;
    continued = 0;
    return was;
}
