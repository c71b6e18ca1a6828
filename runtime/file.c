#define _GNU_SOURCE /* realpath */
#include "runtime/file.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "runtime/interrupt.h"
#include "runtime/lend.h"
#include "runtime/memory.h"

#define PIECE     ((size_t)16 << 20) /* read or written at once; then somebody may interrupt */
#define BUFFER    ((size_t)1 << 16)
#define MAX_NAMES 100 /* tried for a new file */

/* ---- reading ---- */
enum rt_status rt_file_open(const char *path, struct rt_file *f, struct rt_error *e)
{
    struct stat s;
    const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
    *f = (struct rt_file){.handle = open(path, flags)};
    if (f->handle < 0 && errno == EMFILE) { /* archives that are garbage keep theirs open */
        rt_memory_collect(0);
        f->handle = open(path, flags);
    }
    if (f->handle < 0)
        return rt_fail(e, errno == ENOENT ? RT_MISSING : RT_IO, "cannot open %s: %s", path, strerror(errno));
    if (fstat(f->handle, &s) != 0 || !S_ISREG(s.st_mode)) {
        close(f->handle);
        return rt_fail(e, RT_INVALID, "%s is not a file that can be read", path);
    }
    f->path = path;
    f->size = (uint64_t)s.st_size;
    return RT_OK;
}

void rt_file_close(struct rt_file *f)
{
    if (f->path) close(f->handle);
    f->path = NULL;
}

enum rt_status rt_file_read(const struct rt_file *f, uint64_t offset, void *to, size_t n, struct rt_error *e)
{
    uint64_t start = offset;
    for (char *at = to; n;) {
        if (rt_interrupted()) return rt_fail(e, RT_INTERRUPTED, "interrupted");
        rt_lend();
        ssize_t got = pread(f->handle, at, n < PIECE ? n : PIECE, (off_t)offset);
        rt_lend_end();
        if (got < 0 && errno == EINTR) continue;
        if (got < 0)
            return rt_fail(e, RT_IO, "%s, byte %llu: %s", f->path, (unsigned long long)offset, strerror(errno));
        if (got == 0)
            return rt_fail(e, RT_INVALID,
                           "%s ends at byte %" PRIu64 "; %" PRIu64 " bytes were expected from byte %" PRIu64 " on",
                           f->path, offset, offset + n - start, start);
        at += got;
        offset += (uint64_t)got;
        n -= (size_t)got;
    }
    return RT_OK;
}

char *rt_file_load(const char *path, size_t *size, struct rt_error *e)
{
    struct rt_file f;
    if (rt_file_open(path, &f, e) != RT_OK) return NULL;
    char *text = rt_alloc(f.size + 1);
    if (!text) rt_fail(e, RT_NOMEM, "out of memory for the %llu bytes of %s", (unsigned long long)f.size, path);
    if (text && rt_file_read(&f, 0, text, f.size, e) != RT_OK) {
        free(text);
        text = NULL;
    }
    if (text) text[f.size] = '\0';
    *size = f.size;
    rt_file_close(&f);
    return text;
}

/* ---- writing ---- */

/* The file that a symbolic link stands for is replaced, not the link. */
static char *real_path(const char *path)
{
    char *real = realpath(path, NULL);
    return real ? real : rt_strdup(path);
}

int rt_file_beside(const char *path, mode_t mode, char **name)
{
    const size_t room = strlen(path) + sizeof ".part-12345678";
    int handle = -1;
    *name = rt_alloc(room);
    if (!*name) return errno = ENOMEM, -1;
    for (int i = 0; handle < 0 && i < MAX_NAMES; i++) {
        snprintf(*name, room, "%s.part-%08" PRIx32, path, randombytes_random());
        handle = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
        if (handle < 0 && errno != EEXIST) break;
    }
    if (handle < 0) {
        free(*name);
        *name = NULL;
    }
    return handle;
}

enum rt_status rt_writer_open(const char *path, struct rt_writer *w, struct rt_error *e)
{
    struct stat s;
    *w = (struct rt_writer){.handle = -1, .path = real_path(path), .buffer = rt_alloc(BUFFER)};
    if (!w->path || !w->buffer) {
        rt_writer_finish(w, false, NULL);
        return rt_fail(e, RT_NOMEM, "out of memory for writing %s", path);
    }
    bool exists = stat(w->path, &s) == 0;
    if (exists && !S_ISREG(s.st_mode)) {
        rt_writer_finish(w, false, NULL);
        return rt_fail(e, RT_INVALID, "%s exists and is no file that could be replaced", path);
    }
    w->handle = rt_file_beside(w->path, 0666, &w->temporary);
    if (w->handle < 0) {
        int why = errno;
        rt_writer_finish(w, false, NULL);
        return why == ENOMEM ? rt_fail(e, RT_NOMEM, "out of memory for writing %s", path)
                             : rt_fail(e, RT_IO, "cannot write %s: %s", path, strerror(why));
    }
    if (exists && fchmod(w->handle, s.st_mode & 0777) != 0) w->failure = errno;
    return RT_OK;
}

static void write_out(struct rt_writer *w, const char *data, size_t n)
{
    while (n && !w->failure) {
        if (rt_interrupted()) {
            w->failure = EINTR;
            return;
        }
        const size_t piece = n < PIECE ? n : PIECE;
        rt_lend();
        /* Blocks of the disk, which ext4 would else look for, and write, when the file is renamed over another one:
         * that takes longer than all the rest. What it costs is that flush: after a power cut within seconds of the
         * rename, old and new content may both be gone, as where a file is overwritten in place. What cannot reserve
         * just writes. */
        (void)fallocate(w->handle, FALLOC_FL_KEEP_SIZE, (off_t)w->written, (off_t)piece);
        ssize_t done = write(w->handle, data, piece);
        rt_lend_end();
        if (done < 0 && errno != EINTR) w->failure = errno;
        if (done <= 0) continue;
        w->written += (uint64_t)done;
        data += done;
        n -= (size_t)done;
    }
}

static void flush(struct rt_writer *w)
{
    write_out(w, w->buffer, w->used);
    w->used = 0;
}

void rt_writer_put(struct rt_writer *w, const void *data, size_t n)
{
    w->at += n;
    if (n >= BUFFER || w->used + n > BUFFER) flush(w);
    if (n >= BUFFER) {
        write_out(w, data, n);
        return;
    }
    if (n) memcpy(w->buffer + w->used, data, n);
    w->used += n;
}

void rt_writer_print(struct rt_writer *w, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    rt_writer_put(w, text, n > 0 ? (size_t)n < sizeof text ? (size_t)n : sizeof text - 1 : 0);
}

void rt_writer_patch(struct rt_writer *w, uint64_t offset, const void *data, size_t n)
{
    flush(w);
    if (!w->failure && pwrite(w->handle, data, n, (off_t)offset) != (ssize_t)n) w->failure = errno ? errno : EIO;
}

enum rt_status rt_writer_finish(struct rt_writer *w, bool keep, struct rt_error *e)
{
    enum rt_status status = RT_OK;
    if (w->handle >= 0) {
        if (keep) flush(w);
        if (close(w->handle) != 0 && !w->failure) w->failure = errno;
        if (keep && !w->failure && rename(w->temporary, w->path) != 0) w->failure = errno;
        if (w->temporary && (!keep || w->failure)) unlink(w->temporary);
        if (keep && w->failure)
            status = w->failure == EINTR ? rt_fail(e, RT_INTERRUPTED, "interrupted")
                                         : rt_fail(e, RT_IO, "cannot write %s: %s", w->path, strerror(w->failure));
    }
    free(w->buffer);
    free(w->temporary);
    free(w->path);
    *w = (struct rt_writer){.handle = -1};
    return status;
}
