/* Parts of files as memory, read when they are looked at; what is written there stays in memory. Who cuts such a file
 * shorter takes pages away, and the system ends a process that looks at them, unless it has asked for zeros. */
#ifndef RT_MAPPED_H
#define RT_MAPPED_H

#include "runtime/file.h"

struct rt_mapped;

/* `bytes` > 0 of a file from an offset on, of which *data is the first. Fails where the file ends before them. They
 * stay when the file is closed, until rt_mapped_free(m). */
enum rt_status rt_mapped_new(const struct rt_file *f, uint64_t offset, size_t bytes, struct rt_mapped **m, void **data,
                             struct rt_error *e);
void rt_mapped_free(void *m);

/* From now on what has gone from a file is zeros for the process, which asks rt_mapped_check whether that happened. */
void rt_mapped_survive(void);
/* RT_IO, once, when zeros were read in place of a file's bytes since the last call. */
enum rt_status rt_mapped_check(struct rt_error *e);

#endif
