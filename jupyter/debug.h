/* The Debug Adapter Protocol as Jupyter carries it: debug_request on the control channel, answered by debug_reply, and
 * debug_event on iopub. What it asks is asked of lang/debugger.h.
 *
 * A cell is known to front ends by a path, which they make of its text by themselves: a prefix, the text's hash, a
 * suffix. No file is there. */
#ifndef JP_DEBUG_H
#define JP_DEBUG_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include "jupyter/wire.h"
#include "lang/session.h"

struct jp_kernel;

struct jp_debug {
    bool started;
    bool resumed;        /* what is stopped is to go on */
    json_t *sources;     /* texts by path */
    json_t *breakpoints; /* lists of {line} by path */
    json_int_t sent;     /* responses and events */
    json_t *message;     /* of the last error of evaluated code */
};

void jp_debug_close(struct jp_debug *d);
/* Of the kernel's requests. */
void jp_debug_request(struct jp_kernel *k, const struct jp_message *m);
/* Of the session's sink: tells clients, and serves them until one wants to go on, or the cell is interrupted. */
void jp_debug_stopped(void *kernel, enum lg_stop why, const char *message);

/* jupyter/debug_source.c */
#define JP_DEBUG_SEED   0xc70f6907u
#define JP_DEBUG_SUFFIX ".lua"
/* "/tmp/lunarray_123/": two kernels name their cells differently. */
json_t *jp_debug_prefix(void);
/* Remembers a cell's text, or that of a file, and returns its path: a new reference, NULL without memory. */
json_t *jp_debug_cell(struct jp_debug *d, const char *text, size_t length);
json_t *jp_debug_file(struct jp_debug *d, const char *path, const char *text, size_t length);
/* Whether a path is that of a cell. */
bool jp_debug_is_cell(const char *path);

#endif
