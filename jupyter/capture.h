/* What C code, libraries and child processes write to the descriptors 1 and 2, led into pipes, so that it can reach the
 * cell that caused it. The log goes to the stderr that the process was started with. */
#ifndef JP_CAPTURE_H
#define JP_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "runtime/status.h"

/* Redirects both. read_ends[0] and [1] get what goes to stdout and stderr; they do not block. */
enum rt_status jp_capture_begin(int read_ends[2], struct rt_error *e);
/* Puts the original descriptors back and closes the pipes. */
void jp_capture_end(int read_ends[2]);

/* A line for whoever started the kernel, if the level asks for it. Any thread. */
enum jp_level { JP_ERROR, JP_WARNING, JP_INFO, JP_DEBUG };
void jp_log(enum jp_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The level up to which lines are written, JP_INFO at first; "error", "warning", "info" or "debug". False for any other
 * name, which changes nothing. */
bool jp_log_level(const char *name);

#endif
