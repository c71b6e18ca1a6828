/* The kernel: one session, driven by the requests that come from the server. */
#ifndef JP_KERNEL_H
#define JP_KERNEL_H

#include <pthread.h>
#include <stdatomic.h>
#include "jupyter/debug.h"
#include "jupyter/jupyter.h"
#include "jupyter/output.h"
#include "jupyter/server.h"
#include "lang/session.h"

/* The execute request being worked on. */
struct jp_running {
    const struct jp_message *request; /* NULL while there is none */
    bool allow_stdin;
    json_t *payload;   /* pager texts */
    json_t **captured; /* while an expression is evaluated: where its result goes in place of iopub */
};

struct jp_kernel {
    struct jp_server *server;
    struct jp_output output;
    struct lg_session *session; /* NULL while it is being closed */
    pthread_mutex_t session_lock;
    int vain_ticks;        /* for how long an interrupt was wanted; the I/O thread's */
    pthread_t main_thread; /* that of the session */
    struct jp_waited {     /* on the I/O thread: while a request for the session waits */
        bool waits;
        int64_t since, worked; /* when it was first seen, and what the session's thread had worked until then; ns */
    } waited;
    struct jp_running running;
    struct jp_debug debug;
    bool said;   /* what is wrong with the environment's variables */
    bool nested; /* in the middle of what else runs, requests that do not wait for it are answered */
    /* After an error: execute requests that were queued then, or that arrive soon and were sent before it, are not run.
     * Nanoseconds of the monotonic clock, but abort_sent_before: microseconds of the real-time clock. */
    int64_t abort_queued_before, abort_arrived_before, abort_sent_before;
};

/* Runs a kernel on this connection until it is told to end; the exit status. `path` is where the connection is written
 * when its ports are 0, else NULL. */
struct jp_connection;
int jp_kernel_run(struct jp_connection *c, const char *path, const char *device);

/* Of the session's sink: answers what is queued and does not wait for the running cell. */
void jp_kernel_attend(void *kernel);
/* The same on the I/O thread; and what calls it there. */
bool jp_kernel_attend_beside(void *kernel);
void jp_kernel_beside(void *kernel);

/* execute.c: the session's sink, and execute_request. */
struct lg_sink jp_execute_sink(struct jp_kernel *k);
void jp_execute(struct jp_kernel *k, const struct jp_message *m);
/* The result of an expression as user_expressions show it. */
json_t *jp_evaluate_expression(struct jp_kernel *k, const char *code);

/* requests.c: the other requests, each answered with its reply. */
void jp_request_complete(struct jp_kernel *k, const struct jp_message *m);
void jp_request_inspect(struct jp_kernel *k, const struct jp_message *m);
void jp_request_history(struct jp_kernel *k, const struct jp_message *m);

/* comm.c: comms both ways. */
/* Of the session's sink. */
void jp_comm_send(void *kernel, const struct lg_comm_message *m);
void jp_comm_request(void *kernel, char id[LG_REQUEST_ID]);
void jp_request_comm_info(struct jp_kernel *k, const struct jp_message *m);
void jp_comm_receive(struct jp_kernel *k, const struct jp_message *m);
/* widgets.c: the comm by which a page that is opened anew asks for the states of all controls at once. Whether this is
 * a message of such a comm, on any thread; and its answer. */
bool jp_widgets_wants(const struct jp_message *m);
void jp_widgets_receive(struct jp_kernel *k, const struct jp_message *m);
/* The content of complete_reply. */
json_t *jp_complete(struct jp_kernel *k, const struct jp_message *m);
/* The content of is_complete_reply, which needs nothing of the session; jp_kernel_info is in jupyter.h. */
json_t *jp_is_complete(const struct jp_message *m);

/* Parts of contents. All return new references, NULL when out of memory. */
json_t *jp_bundle_json(const struct lg_bundle *bundle);
json_t *jp_error_json(const struct lg_error *error); /* ename, evalue, traceback */
/* A string of the content, "" when it is missing or not a string. */
const char *jp_content_string(const struct jp_message *m, const char *name, size_t *length);
/* A boolean of the content. */
bool jp_content_flag(const struct jp_message *m, const char *name, bool fallback);

#endif
