/* What a cell shows, on its way to iopub: text is gathered into few messages, limited per cell, and always sent before
 * anything that comes after it.
 *
 * The session prints on the main thread, C code and children write into the captured descriptors, and the I/O thread
 * flushes what has waited long enough; a lock makes one stream of it. */
#ifndef JP_OUTPUT_H
#define JP_OUTPUT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "jupyter/held.h"
#include "jupyter/server.h"

#define JP_OUTPUT_BATCH ((size_t)1 << 20) /* bytes of text in one message at most */
/* Bytes of text that one cell may print; LUNARRAY_OUTPUT_LIMIT overrides. Jupyter's server drops whatever comes, errors
 * and results too, when more than 3 MB were sent within 3 s. */
#define JP_OUTPUT_LIMIT ((size_t)2 << 20)

struct jp_output {
    struct jp_server *server;
    int captured[2]; /* read ends for stdout and stderr */
    pthread_mutex_t lock;
    struct jp_frame parent; /* header of the request that output belongs to, an own copy; data is NULL before any */
    bool silent;            /* that request wants to see nothing */
    int stream;             /* 0 stdout, 1 stderr: whose text is waiting */
    size_t waiting;         /* bytes in text */
    size_t capacity;        /* of text */
    int64_t since;          /* when the first of them came, nanoseconds */
    size_t limit, printed, left_out; /* bytes of this cell */
    char *text;
    struct jp_held held;
};

/* `captured` is remembered, not owned. The server is set before anything else is called. */
void jp_output_open(struct jp_output *o, const int captured[2]);
void jp_output_close(struct jp_output *o);

/* The main thread: what follows belongs to the request whose header is given. */
void jp_output_begin(struct jp_output *o, const struct jp_frame *header, bool silent);
/* The same for a request that is answered in the middle of another one or between cells: jp_output_leave goes back to
 * what belonged to the other. */
struct jp_output_place {
    struct jp_frame parent;
    bool silent;
    size_t printed, left_out;
};
struct jp_output_place jp_output_enter(struct jp_output *o, const struct jp_frame *header, bool silent);
void jp_output_leave(struct jp_output *o, const struct jp_output_place *place);
/* Text of the session, 0 stdout, 1 stderr. */
void jp_output_print(struct jp_output *o, int stream, const char *text, size_t length);
/* Any other message, after all text before it. Takes the reference to content. */
void jp_output_publish(struct jp_output *o, const char *type, json_t *content);
/* A message to iopub that silent requests send, too. Channel, topic and parent are filled in. Takes the reference. */
void jp_output_send(struct jp_output *o, struct jp_outgoing *message, json_t *content);
/* Sends everything that was written until now. */
void jp_output_flush(struct jp_output *o);
/* The same at the end of the cell, with a line about what was left out. */
void jp_output_end(struct jp_output *o);

/* The I/O thread: sends text that waited for 100 ms, longer once the cell has printed much; reads what was captured. */
/* Both return whether output waits for the next tick. */
bool jp_output_tick(struct jp_output *o);
/* A line on stderr about what runs. */
void jp_output_note(struct jp_output *o, const char *line);
bool jp_output_readable(struct jp_output *o);

#endif
