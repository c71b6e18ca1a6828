/* Files of array data: read from any place, and written to a temporary name that becomes the file's own when all is
 * there, so nobody ever sees half of one. Messages name the file and the byte. */
#ifndef RT_FILE_H
#define RT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "runtime/status.h"

/* Do numbers of several bytes lie in memory with the lowest first? */
#define RT_LITTLE (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

/* An open file; `path` is borrowed. One without a path is closed. */
struct rt_file {
    const char *path;
    int handle;
    uint64_t size;
};
/* Opens a regular file to read. RT_MISSING when it is not there, RT_INVALID for a folder and the like, RT_IO. */
enum rt_status rt_file_open(const char *path, struct rt_file *f, struct rt_error *e);
void rt_file_close(struct rt_file *f);
/* Exactly n bytes from an offset on; RT_INVALID tells where the file ends when it does too early. */
enum rt_status rt_file_read(const struct rt_file *f, uint64_t offset, void *to, size_t n, struct rt_error *e);
/* The whole file, with a NUL behind its size bytes; release with free(). NULL on failure. */
char *rt_file_load(const char *path, size_t *size, struct rt_error *e);

/* A new, empty file beside `path` under a name that nobody has, ".part-" and a number behind the path's: to be renamed
 * to `path` when all is written. A handle to write to, and the name in *name, for free(); -1 and errno when there can
 * be none. */
int rt_file_beside(const char *path, mode_t mode, char **name);

/* A file being written. Failures are kept and reported by rt_writer_finish. */
struct rt_writer {
    char *path, *temporary;
    char *buffer;
    size_t used;
    uint64_t at, written; /* bytes put so far, and of them those in the file */
    int handle;
    int failure; /* errno of the first failure */
};
enum rt_status rt_writer_open(const char *path, struct rt_writer *w, struct rt_error *e);
void rt_writer_put(struct rt_writer *w, const void *data, size_t n);
void rt_writer_print(struct rt_writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Replaces bytes that were put already. */
void rt_writer_patch(struct rt_writer *w, uint64_t offset, const void *data, size_t n);
/* Gives the file its name when all was well and `keep` is set, else removes it. *w is all zeros then. */
enum rt_status rt_writer_finish(struct rt_writer *w, bool keep, struct rt_error *e);

#endif
