/* What C code, libraries and child processes write to the descriptors 1 and 2, led into pipes, so that it can reach the
 * cell that caused it. The log goes to the stderr that the process was started with. */
#ifndef JP_CAPTURE_H
#define JP_CAPTURE_H

#include <stddef.h>
#include <sys/types.h>
#include "runtime/status.h"

/* Redirects both. read_ends[0] and [1] get what goes to stdout and stderr; they do not block. */
enum rt_status jp_capture_begin(int read_ends[2], struct rt_error *e);
/* Puts the original descriptors back and closes the pipes. */
void jp_capture_end(int read_ends[2]);
/* A line for whoever started the kernel. Any thread. */
void jp_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
