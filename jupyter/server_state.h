/* What the two sides of a server share: server.c, the I/O thread, and queues.c, what the main thread and signal
 * handlers say to it. */
#ifndef JP_SERVER_STATE_H
#define JP_SERVER_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include "jupyter/channels.h"
#include "jupyter/missed.h"
#include "jupyter/parent.h"
#include "jupyter/server.h"
#include "jupyter/subshells.h"

/* When so many requests wait, or so many bytes, the shell socket is left unread. */
#define JP_MAX_QUEUED       1000
#define JP_MAX_QUEUED_BYTES ((size_t)64 << 20)

/* What changes in one step: how many requests are not done, and the number of the last one that an interrupt is for. */
#define JP_PENDING(state)  ((uint32_t)(state))
#define JP_LAST_FOR(state) ((uint32_t)((state) >> 32)) /* 0: none is wanted */

struct jp_server {
    struct jp_wire wire;
    struct jp_server_hooks hooks;
    pthread_t thread;
    bool running; /* the thread was started */
    int wake;     /* eventfd */
    struct jp_parent parent;

    pthread_mutex_t sockets; /* of who receives or sends: on any thread, and nobody waits with it */
    struct jp_channels channels;
    int64_t told;            /* when the log was told of a client that does not read */
    bool leaves_out;         /* and front ends were, for what is published is left out */
    struct jp_packet *kept;  /* an input request for a client that has not connected its stdin yet */
    struct jp_missed missed; /* for a client that does not read */

    int64_t gathers_until;     /* the I/O thread's */
    int64_t deadline;          /* when a shutdown stops waiting, 0 while none is under way */
    bool started;              /* the status "starting" was published */
    bool output_waits;         /* for a tick */
    bool asked;                /* a request waits that may become late */
    _Atomic uint64_t requests; /* JP_PENDING, JP_LAST_FOR */
    _Atomic uint32_t numbered; /* the number of the request that came last, never 0 */
    atomic_bool quit_wanted;   /* set by signal handlers, seen by the I/O thread */
    atomic_bool cancel_wanted, attend_wanted;
    struct jp_subshells subshells;

    pthread_mutex_t states;       /* of who says that a request has begun or ended; none of the others is waited with */
    struct jp_message *executing; /* the innermost cell that has begun */

    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct jp_message *inbox, **inbox_end;
    unsigned queued; /* messages in inbox, and their bytes */
    size_t queued_bytes;
    bool arrived; /* one was added since `meanwhile` was last called */
    struct jp_message *inputs, **inputs_end;
    struct jp_packet *outbox, **outbox_end;
    bool gathers; /* what the main thread says of a request that has just begun, for it may have ended soon */
    bool quitting, cancelled, main_done;
    bool resting; /* the main thread waits for requests */
};

/* deliver.c, any thread. Sends what is queued, unless another thread has the sockets, which does so when it leaves
 * them. */
void jp_server_flush(struct jp_server *s);
/* The same, and what is queued from now on is sent at once. */
void jp_server_flush_all(struct jp_server *s);
/* Unlocks the sockets. */
void jp_server_leave(struct jp_server *s);
/* Tries to send the input request that is kept. */
void jp_server_send_kept(struct jp_server *s);
/* queues.c: has the I/O thread look around. */
void jp_server_wake(struct jp_server *s);
/* Whether there is for another request; with the lock. */
bool jp_server_has_room(const struct jp_server *s);
/* Releases all of a list. */
void jp_free_messages(struct jp_message *m);

#endif
