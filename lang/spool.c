#define _GNU_SOURCE /* memfd_create, mkostemp */
#include "lang/spool.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "runtime/memory.h"

#define GATHERED (16 << 10) /* bytes that are written together */

struct head {
    long session;
    int line;
    size_t length;
};

void lg_spool_open(struct lg_spool *s, const char *named)
{
    *s = (struct lg_spool){.fd = -1, .named = named};
}

static void unmap(struct lg_spool *s)
{
    if (s->map) munmap((void *)s->map, s->mapped);
    s->map = NULL;
    s->known = false;
}

void lg_spool_close(struct lg_spool *s)
{
    unmap(s);
    if (s->fd >= 0) close(s->fd);
    free(s->waiting);
    free(s->blocks);
    lg_spool_open(s, s->named);
}

static int in_memory(void)
{
    return memfd_create("lunarray history", MFD_CLOEXEC);
}

static int make_file(const char *named)
{
    char path[4200];
    if (named && (size_t)snprintf(path, sizeof path, "%s.XXXXXX", named) < sizeof path) {
        int fd = mkostemp(path, O_CLOEXEC);
        if (fd >= 0) {
            unlink(path);
            return fd;
        }
    }
    return in_memory();
}

static bool write_all(int fd, const char *data, size_t length, size_t at)
{
    while (length) {
        ssize_t n = pwrite(fd, data, length, (off_t)at);
        if (n <= 0) return false;
        data += n;
        length -= (size_t)n;
        at += (size_t)n;
    }
    return true;
}

/* A full disk: what is on it goes to memory, where the rest has room. */
static bool move_to_memory(struct lg_spool *s)
{
    char piece[8192];
    int fd = in_memory();
    bool good = fd >= 0;
    for (size_t at = 0; good && at < s->written;) {
        ssize_t n = pread(s->fd, piece, sizeof piece, (off_t)at);
        good = n > 0 && write_all(fd, piece, (size_t)n, at);
        at += n > 0 ? (size_t)n : 0;
    }
    if (!good) {
        if (fd >= 0) close(fd);
        return false;
    }
    close(s->fd);
    s->fd = fd;
    s->named = NULL;
    return true;
}

/* Writes behind what is written. */
static bool put(struct lg_spool *s, const char *data, size_t length)
{
    if (s->fd < 0) s->fd = make_file(s->named);
    if (s->fd < 0) return false;
    if (!write_all(s->fd, data, length, s->written) &&
        (!s->named || !move_to_memory(s) || !write_all(s->fd, data, length, s->written)))
        return false;
    s->written += length;
    return true;
}

/* Writes what waits. */
static bool settle(struct lg_spool *s)
{
    return s->size == s->written || put(s, s->waiting, s->size - s->written);
}

static bool grow_blocks(struct lg_spool *s)
{
    size_t block = s->count / LG_SPOOL_BLOCK;
    if (s->count % LG_SPOOL_BLOCK) return true;
    if (block == s->capacity) {
        size_t wanted = s->capacity ? 2 * s->capacity : 16;
        size_t *blocks = rt_realloc(s->blocks, wanted * sizeof *blocks);
        if (!blocks) return false;
        s->blocks = blocks;
        s->capacity = wanted;
    }
    s->blocks[block] = s->size;
    return true;
}

/* Room for that many bytes behind what waits; false when they are to be written at once. */
static bool make_room(struct lg_spool *s, size_t bytes)
{
    if (!s->waiting) s->waiting = rt_alloc(GATHERED);
    return s->waiting && s->size - s->written + bytes <= GATHERED;
}

/* As a whole or not at all. */
static bool add_record(struct lg_spool *s, const struct head *head, const char *text, size_t bytes)
{
    if (!make_room(s, bytes) && !settle(s)) return false;
    char *to = make_room(s, bytes) ? s->waiting + (s->size - s->written) : rt_alloc(bytes);
    if (!to) return false;
    memcpy(to, head, sizeof *head);
    memcpy(to + sizeof *head, text, head->length);
    to[bytes - 1] = '\0';
    bool inside = s->waiting && to >= s->waiting && to < s->waiting + GATHERED;
    bool good = inside || put(s, to, bytes);
    if (!inside) free(to);
    return good;
}

bool lg_spool_add(struct lg_spool *s, const struct lg_spooled *text)
{
    const struct head head = {text->session, text->line, text->length};
    size_t bytes = sizeof head + text->length + 1;
    unmap(s);
    if (!grow_blocks(s) || !add_record(s, &head, text->text, bytes)) return false;
    s->size += bytes;
    s->count++;
    return true;
}

static bool map(struct lg_spool *s)
{
    if (s->map) return true;
    if (!settle(s)) return false;
    void *at = mmap(NULL, s->size, PROT_READ, MAP_SHARED, s->fd, 0);
    if (at == MAP_FAILED) return false;
    s->map = at;
    s->mapped = s->size;
    return true;
}

/* The head of the record at this place: nothing there is aligned. */
static struct head head_at(const struct lg_spool *s, size_t at)
{
    struct head head;
    memcpy(&head, s->map + at, sizeof head);
    return head;
}

static void know(struct lg_spool *s, size_t block)
{
    size_t at = s->blocks[block], first = block * LG_SPOOL_BLOCK;
    for (size_t i = 0; i < LG_SPOOL_BLOCK && first + i < s->count; i++) {
        s->starts[i] = at;
        at += sizeof(struct head) + head_at(s, at).length + 1;
    }
    s->block = block;
    s->known = true;
}

bool lg_spool_get(struct lg_spool *s, size_t i, struct lg_spooled *out)
{
    size_t block = i / LG_SPOOL_BLOCK;
    if (i >= s->count || !map(s)) return false;
    if (!s->known || s->block != block) know(s, block);
    size_t at = s->starts[i % LG_SPOOL_BLOCK];
    struct head head = head_at(s, at);
    *out = (struct lg_spooled){head.session, head.line, s->map + at + sizeof head, head.length};
    return true;
}
