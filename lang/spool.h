/* Texts that a session remembers but that its memory is not to hold: they lie in a file without a name, which is mapped
 * while somebody reads and let go when more come. What stays in memory is a number for every 64 of them. */
#ifndef LG_SPOOL_H
#define LG_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LG_SPOOL_BLOCK 64

struct lg_spool {
    int fd;            /* -1 before the first text */
    const char *named; /* a path: the file is made in its folder, if that can be; NULL: it is one of memory alone */
    size_t count, size, written;
    char *waiting;            /* what comes behind the first `written` bytes of `size` */
    size_t *blocks, capacity; /* where the texts 0, 64, 128, ... begin */
    const char *map;
    size_t mapped;
    size_t block, starts[LG_SPOOL_BLOCK]; /* where the texts of one block begin */
    bool known;                           /* those are filled in */
};

/* A text and the two numbers that go with it. */
struct lg_spooled {
    long session;
    int line;
    const char *text; /* NUL-terminated; until the spool is next added to or closed */
    size_t length;
};

void lg_spool_open(struct lg_spool *s, const char *named); /* the path is the caller's, and stays */
void lg_spool_close(struct lg_spool *s);
/* False when there is no room for it in memory or on the disk: it is left out. */
bool lg_spool_add(struct lg_spool *s, const struct lg_spooled *text);
/* Text i, from 0; false when there is none, or it cannot be read. */
bool lg_spool_get(struct lg_spool *s, size_t i, struct lg_spooled *out);

#endif
