/* The sockets of the kernel, all read on one thread that never runs user code, so heartbeat, control and interrupts are
 * answered whatever a cell does.
 *
 * Requests on the shell channel are verified, parsed and queued for the main thread, which takes them with
 * jp_server_next; what it wants sent it sends itself by jp_server_post, for a thread that must wake first takes longer
 * than all the rest of a short cell. So are those of the debugger on the control channel; the others there and shutdown
 * are handled here. */
#ifndef JP_SERVER_H
#define JP_SERVER_H

#include "jupyter/connection.h"
#include "jupyter/wire.h"

struct jp_server;

/* Called on the I/O thread. */
struct jp_server_hooks {
    void *context;
    void (*interrupt)(void *context); /* a client asked to stop what runs */
    /* Both return whether output waits for the next tick. */
    bool (*tick)(void *context);                /* every 100 ms while requests are unanswered or output waits */
    bool (*readable)(void *context);            /* something is in captured[] */
    bool (*urgent)(const struct jp_message *m); /* whether a shell request is answered while a cell runs */
    void (*attend)(void *context);              /* such a one was queued */
    /* Every 10 ms while such wait: answers those that the main thread does not come to. False when none waits. */
    bool (*late)(void *context);
    json_t *(*kernel_info)(void);                       /* content of kernel_info_reply; NULL when out of memory */
    json_t *(*is_complete)(const struct jp_message *m); /* likewise */
    /* Of complete_reply, while the main thread waits in jp_server_next; NULL when it is to be asked. */
    json_t *(*complete)(void *context, const struct jp_message *m);
    int captured[2]; /* descriptors to wait for, -1 for none */
};

/* Loads ZeroMQ and binds all sockets (filling in ports that are 0). NULL with a reason. */
struct jp_server *jp_server_open(struct jp_connection *c, const struct jp_server_hooks *hooks, struct rt_error *e);
/* Starts the thread. */
enum rt_status jp_server_start(struct jp_server *s, struct rt_error *e);
/* Sends what is queued, ends the thread if it runs, closes everything and releases the server. */
void jp_server_close(struct jp_server *s);

struct jp_wire *jp_server_wire(struct jp_server *s);

/* The next shell request, to be released by the caller and then counted by jp_server_done; waits for one. NULL when
 * the kernel is to end. */
struct jp_message *jp_server_next(struct jp_server *s);
/* The first queued request that is wanted, likewise; NULL when there is none. Does not wait. */
struct jp_message *jp_server_take(struct jp_server *s, bool (*wanted)(const struct jp_message *m));
/* Puts back what was taken, at the front. */
void jp_server_put_back(struct jp_server *s, struct jp_message *m);
bool jp_server_has(struct jp_server *s, bool (*wanted)(const struct jp_message *m));
/* Has the I/O thread call the hook `attend` again. */
void jp_server_attend(struct jp_server *s);
/* One request was answered to the end. */
void jp_server_done(struct jp_server *s);
/* Requests that were received and not yet done, the one being worked on included. Async-signal-safe, as the rest. */
unsigned jp_server_pending(const struct jp_server *s);

/* An interrupt is for the requests that are pending as it comes: it is wanted until it has met one that runs, or until
 * they are done or a later one is next. False while there are none. */
bool jp_server_want_interrupt(struct jp_server *s);
bool jp_server_interrupt_wanted(const struct jp_server *s);
void jp_server_interrupt_met(struct jp_server *s);

/* Queues a packet for sending and owns it from then on. What the main thread posts within 5 ms of the beginning of a
 * request waits for more until then, or the request's end. NULL (out of memory while building) is dropped and logged.
 * Any thread. */
void jp_server_post(struct jp_server *s, struct jp_packet *packet);
/* Drops stale input replies, posts the packet and waits for an input_reply, which the caller releases. NULL when the
 * wait was cancelled. `meanwhile` is called on this thread when requests were queued. */
struct jp_message *jp_server_input(struct jp_server *s, struct jp_packet *packet, void (*meanwhile)(void *context));

/* Waits in the middle of a request, until others were queued: true; false when the wait was cancelled since
 * jp_server_listen, or the kernel is to end. */
void jp_server_listen(struct jp_server *s);
bool jp_server_wait(struct jp_server *s);

/* From signal handlers: ends a wait for input or requests; ends the kernel. */
void jp_server_cancel_input(struct jp_server *s);
void jp_server_quit(struct jp_server *s);

/* send.c. Builds and posts a message, whose content is given apart. */
void jp_server_send(struct jp_server *s, struct jp_outgoing *o, json_t *content);
/* A NULL parent means {}. */
void jp_server_status(struct jp_server *s, const struct jp_frame *parent, const char *state);
/* What every request begins and ends with: its status "busy", unless it has begun already, and "idle". Behind the
 * "idle" of one that was answered while a cell runs that cell is "busy" once more: front ends show the last status that
 * came. Any thread. */
void jp_server_begin(struct jp_server *s, struct jp_message *m);
void jp_server_end(struct jp_server *s, struct jp_message *m);
/* The same for the usual ones. Content is a new reference that is taken; NULL is dropped and logged. */
void jp_server_publish(struct jp_server *s, const char *type, const struct jp_frame *parent, json_t *content);
void jp_server_reply(struct jp_server *s, const struct jp_message *request, const char *type, json_t *content);
/* "x_reply" for "x_request"; false for messages that are not requests. */
bool jp_reply_type(const struct jp_message *m, char *type, size_t size);
/* An error reply to a request of a type that nobody knows; nothing for messages that are not requests. */
void jp_server_reply_unknown(struct jp_server *s, const struct jp_message *m);

#endif
