/* The history of cells, kept in a file that all sessions of a user share.
 *
 * The file is text, one line a cell: session number, tab, execution count, tab, the code with backslash, newline and
 * carriage return escaped. Lines that do not read so are skipped, so damage costs one cell. A cell is appended by one
 * write under a lock; a file that has grown too long is shortened under it, by a new file that takes its name. It is
 * read when somebody first asks, or when the first cell is added, never at start-up. Consecutive equal cells are
 * written once. Trouble with the file is never an error: the session then remembers for itself.
 *
 * What has been read of it, and the session's own cells, lie in a spool, so memory does not grow by the text of each
 * cell. A session's second one (lang/apart.c) shares all that, and reads it while the first may add to it: under a
 * lock, each giving its own copies away. */
#include "lang/session_state.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "lang/spool.h"
#include "runtime/file.h"
#include "runtime/memory.h"

#define MAX_FILE    (4 << 20)   /* bytes; a longer file is cut to its newer half */
#define MAX_CELL    (256 << 10) /* bytes of a cell that goes to the file */
#define MAX_TRIES   8           /* to open a file that others replace meanwhile */
#define WAIT_MS     500         /* for others that have it locked */
#define MAX_SESSION 999999999   /* the number that all later ones share: what parse reads */

struct lg_history {
    pthread_mutex_t lock;
    int users;  /* sessions */
    char *path; /* NULL: nothing on disk */
    bool loaded;
    long session; /* the number of this one in the file, 0 until it has written */
    char *last;   /* the code last written, to leave out its repetition */
    struct lg_spool cells;
    off_t read;   /* how much of the file has been read */
    dev_t device; /* of the file that was read, as its name may be given to another */
    ino_t inode;
    bool vain; /* the lock did not come in WAIT_MS: it is not waited for again before it is there */
};

/* The path from the root, malloc'd: cells may go to another folder. */
static char *absolute(const char *path)
{
    char folder[4096];
    if (!getcwd(folder, sizeof folder)) return rt_strdup(path);
    size_t n = strlen(folder) + strlen(path) + 2;
    char *whole = rt_alloc(n);
    if (whole) snprintf(whole, n, "%s/%s", folder, path);
    return whole;
}

/* The file's path, malloc'd; NULL where there is to be none. Makes its folder, for the user alone. */
static char *find_path(const char *option)
{
    char path[4096];
    const char *set = option ? option : getenv("LUNARRAY_HISTORY");
    if (set && (*set == '/' || !*set)) return *set ? rt_strdup(set) : NULL;
    if (set) return absolute(set);
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int n = -1;
    if (state && *state == '/')
        n = snprintf(path, sizeof path, "%s/lunarray/history", state);
    else if (home && *home)
        n = snprintf(path, sizeof path, "%s/.local/state/lunarray/history", home);
    if (n < 0 || (size_t)n >= sizeof path) return NULL;
    return rt_strdup(path);
}

static void make_folders(const char *path)
{
    char folder[4096];
    for (const char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
        if ((size_t)(p - path) >= sizeof folder) return;
        memcpy(folder, path, (size_t)(p - path));
        folder[p - path] = '\0';
        mkdir(folder, 0700);
    }
}

struct lg_history *lg_history_new(const char *path)
{
    struct lg_history *h = rt_calloc(1, sizeof *h);
    if (!h) return NULL;
    pthread_mutex_init(&h->lock, NULL);
    h->users = 1;
    h->path = find_path(path);
    lg_spool_open(&h->cells, h->path);
    return h;
}

struct lg_history *lg_history_share(struct lg_history *h)
{
    if (h) h->users++;
    return h;
}

void lg_history_free(struct lg_history *h)
{
    if (!h || --h->users > 0) return;
    pthread_mutex_destroy(&h->lock);
    lg_spool_close(&h->cells);
    free(h->path);
    free(h->last);
    free(h);
}

/* The record of a cell. */
static void escape(struct lg_buffer *b, long session, int line, const char *code, size_t length)
{
    lg_buffer_printf(b, "%ld\t%d\t", session, line);
    for (size_t i = 0; i < length; i++) {
        switch (code[i]) {
        case '\\': lg_buffer_puts(b, "\\\\"); break;
        case '\n': lg_buffer_puts(b, "\\n"); break;
        case '\r': lg_buffer_puts(b, "\\r"); break;
        case '\0': lg_buffer_puts(b, "\\0"); break;
        default: lg_buffer_add(b, code + i, 1);
        }
    }
    lg_buffer_puts(b, "\n");
}

/* In place. The length of what it gives. */
static size_t unescape(char *text, size_t length)
{
    char *out = text;
    for (size_t i = 0; i < length; i++) {
        if (text[i] != '\\' || i + 1 == length) {
            *out++ = text[i];
            continue;
        }
        char c = text[++i];
        *out++ = (char)(c == 'n' ? '\n' : c == 'r' ? '\r' : c == '0' ? ' ' : c);
    }
    return (size_t)(out - text);
}

/* Reads one record; false when the line is none. */
static bool parse(const char *text, size_t length, long *session, int *line, const char **code)
{
    char head[48];
    int used = 0;
    size_t n = length < sizeof head - 1 ? length : sizeof head - 1;
    memcpy(head, text, n);
    head[n] = '\0';
    if (sscanf(head, "%9ld\t%9d%n", session, line, &used) != 2 || head[used] != '\t') return false;
    *code = text + used + 1;
    return *session > 0 && *line > 0 && *code <= text + length;
}

/* What is no file of bytes, such as a pipe, is no history, and is not waited for. */
static int open_file(const char *path, int flags)
{
    struct stat st;
    int fd = open(path, flags | O_NONBLOCK | O_CLOEXEC, 0600);
    if (fd < 0 || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))) return fd;
    close(fd);
    return -1;
}

/* Others hold it for as long as they write a cell, unless they are stopped in the middle of that: then cells are not
 * kept waiting. */
static bool lock(struct lg_history *h, int fd)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    int left = h->vain ? 0 : WAIT_MS;
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        h->vain = left-- <= 0;
        if (h->vain || (errno != EWOULDBLOCK && errno != EINTR)) return false;
        nanosleep(&pause, NULL);
    }
    h->vain = false;
    return true;
}

/* The whole file, malloc'd; NULL when there is none. */
static char *read_whole(int fd, size_t *length)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > 16 * (off_t)MAX_FILE) return NULL;
    char *text = rt_alloc((size_t)st.st_size + 1);
    size_t n = 0;
    for (ssize_t got = 1; text && got > 0 && n<(size_t)st.st_size; n += got> 0 ? (size_t)got : 0)
        got = read(fd, text + n, (size_t)st.st_size - n);
    *length = n;
    return text;
}

/* Shortens a file to its newer half, if it is too long: the rest goes to a new file that replaces it. `text` is its
 * contents, the exclusive lock is held. */
static void shorten(const struct lg_history *h, const char *text, size_t length)
{
    char path[PATH_MAX], *temporary;
    if (length <= MAX_FILE || !realpath(h->path, path)) return; /* where it is a link, that stays */
    const char *from = memchr(text + length / 2, '\n', length - length / 2);
    if (!from++) return;
    int fd = rt_file_beside(path, 0600, &temporary);
    if (fd < 0) return;
    size_t n = (size_t)(text + length - from);
    bool good = write(fd, from, n) == (ssize_t)n;
    good = close(fd) == 0 && good;
    if (!good || rename(temporary, path) != 0) unlink(temporary);
    free(temporary);
}

/* Opens the file for appending, locked, being sure that it still has its name. -1 when that cannot be. */
static int open_locked(struct lg_history *h)
{
    for (int i = 0; i < MAX_TRIES; i++) {
        struct stat opened, named;
        int fd = open_file(h->path, O_RDWR | O_APPEND | O_CREAT);
        if (fd < 0 && i == 0) {
            make_folders(h->path);
            continue;
        }
        if (fd < 0) return -1;
        const bool locked = lock(h, fd);
        if (locked && fstat(fd, &opened) == 0 && stat(h->path, &named) == 0 && opened.st_ino == named.st_ino &&
            opened.st_dev == named.st_dev)
            return fd;
        close(fd);
        if (!locked) return -1;
    }
    return -1;
}

/* Takes the records of a text over but those of this session. The text is changed. */
static void take_records(struct lg_history *h, char *text, size_t length)
{
    for (char *p = text, *end; p < text + length; p = end + 1) {
        long session;
        int line;
        const char *code;
        end = memchr(p, '\n', (size_t)(text + length - p));
        if (!end) end = text + length;
        if (!parse(p, (size_t)(end - p), &session, &line, &code) || session == h->session) continue;
        size_t n = unescape(p + (code - p), (size_t)(end - code));
        lg_spool_add(&h->cells, &(struct lg_spooled){session, line, code, n});
    }
}

/* Reads the cells of earlier sessions: those in the file now. */
static void load(struct lg_history *h)
{
    struct stat st;
    if (h->loaded) return;
    h->loaded = true;
    int fd = h->path ? open_file(h->path, O_RDONLY) : -1;
    if (fd < 0) return;
    size_t length = 0;
    char *text = read_whole(fd, &length);
    if (text) take_records(h, text, length);
    h->read = text ? (off_t)length : 0;
    if (fstat(fd, &st) == 0) {
        h->device = st.st_dev;
        h->inode = st.st_ino;
    }
    free(text);
    close(fd);
}

/* Takes in what others have written since. */
static void read_on(struct lg_history *h)
{
    struct stat st;
    if (!h->loaded || !h->path || stat(h->path, &st) != 0) return;
    bool same = st.st_dev == h->device && st.st_ino == h->inode;
    if (same && st.st_size <= h->read) return;
    int fd = open_file(h->path, O_RDONLY);
    size_t length = st.st_size > h->read ? (size_t)(st.st_size - h->read) : 0;
    /* A file that was shortened has another place in it for what was read: it is gone on with from its end. One that
     * was not there before is new as a whole. */
    bool new = h->inode == 0;
    char *text = fd >= 0 && (same || new) && length <= 2 * (size_t)MAX_FILE ? rt_alloc(length) : NULL;
    ssize_t got = text ? pread(fd, text, length, h->read) : 0;
    if (got > 0) take_records(h, text, (size_t)got);
    if (got > 0) h->read += got;
    if (!same && !new) h->read = st.st_size;
    h->device = st.st_dev;
    h->inode = st.st_ino;
    free(text);
    if (fd >= 0) close(fd);
}

void lg_history_refresh(struct lg_session *s)
{
    if (!s->history) return;
    pthread_mutex_lock(&s->history->lock);
    read_on(s->history);
    pthread_mutex_unlock(&s->history->lock);
}

/* The number after the highest session in the file, which is open and locked. */
static long next_session(const struct lg_history *h, int fd)
{
    size_t length = 0;
    long highest = 0;
    char *text = read_whole(fd, &length);
    for (char *p = text, *end; p && p < text + length; p = end + 1) {
        long session;
        int line;
        const char *code;
        end = memchr(p, '\n', (size_t)(text + length - p));
        if (!end) end = text + length;
        if (parse(p, (size_t)(end - p), &session, &line, &code) && session > highest) highest = session;
    }
    if (text) shorten(h, text, length);
    free(text);
    return highest < MAX_SESSION ? highest + 1 : MAX_SESSION;
}

static void append(struct lg_history *h, int line, const char *code, size_t length)
{
    struct lg_buffer record = {0};
    int fd = open_locked(h);
    if (fd >= 0 && !h->session) {
        h->session = next_session(h, fd);
        /* Shortening has given the name to another file. */
        close(fd);
        fd = open_locked(h);
    }
    if (fd < 0) return;
    escape(&record, h->session, line, code, length);
    if (!record.failed) {
        char last = '\n';
        off_t size = lseek(fd, 0, SEEK_END);
        /* A line that was cut off must not swallow this one. */
        if (size > 0 && pread(fd, &last, 1, size - 1) == 1 && last != '\n') {
            if (write(fd, "\n", 1) != 1) last = '\n';
        }
        ssize_t written = write(fd, record.data, record.length);
        (void)written; /* a full disk costs the cell its place in the file */
    }
    close(fd);
    lg_buffer_release(&record);
}

void lg_history_add(struct lg_history *h, int line, const char *code, size_t length)
{
    while (length && strchr(" \t\r\n", code[length - 1])) length--;
    if (!h || !length) return;
    char *copy = rt_copy_bytes(code, length);
    if (!copy) return;
    pthread_mutex_lock(&h->lock);
    bool repeated = h->last && strcmp(h->last, copy) == 0;
    load(h);
    if (!repeated && h->path && length <= MAX_CELL) append(h, line, code, length);
    lg_spool_add(&h->cells, &(struct lg_spooled){0, line, copy, length});
    free(h->last);
    h->last = copy;
    pthread_mutex_unlock(&h->lock);
}

size_t lg_history_count(struct lg_session *s)
{
    if (!s->history) return 0;
    pthread_mutex_lock(&s->history->lock);
    load(s->history);
    size_t count = s->history->cells.count;
    pthread_mutex_unlock(&s->history->lock);
    return count;
}

bool lg_history_get(struct lg_session *s, size_t i, struct lg_history_entry *out)
{
    struct lg_spooled cell;
    if (i >= lg_history_count(s)) return false;
    pthread_mutex_lock(&s->history->lock);
    bool found = lg_spool_get(&s->history->cells, i, &cell);
    s->recalled.length = 0;
    s->recalled.failed = false;
    if (found) lg_buffer_add(&s->recalled, cell.text, cell.length);
    pthread_mutex_unlock(&s->history->lock);
    if (!found || s->recalled.failed) return false;
    *out = (struct lg_history_entry){cell.session, cell.line, s->recalled.data};
    return true;
}
