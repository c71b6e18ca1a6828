/* The sockets of the kernel: made and bound as the connection file says, and messages as frames in and out of them.
 * One thread at a time; jp_channels_wait may go on beside another. */
#ifndef JP_CHANNELS_H
#define JP_CHANNELS_H

#include <poll.h>
#include "jupyter/connection.h"
#include "jupyter/wire.h"
#include "jupyter/zmq.h"

struct jp_channels {
    struct jp_zmq zmq;
    void *context, *sockets[JP_CHANNELS];
    int descriptors[JP_CHANNELS]; /* readable when something happened to the socket */
    atomic_bool
        ready[JP_CHANNELS];  /* something may be there to be received, which the descriptor does not tell any more */
    atomic_size_t unread[2]; /* bytes that clients have not read: published, and in replies */
    size_t most_unread;
};

/* Loads ZeroMQ and binds all sockets, filling in ports of the connection that are 0. What a failure leaves is released
 * by jp_channels_close. */
enum rt_status jp_channels_open(struct jp_channels *c, struct jp_connection *to, struct rt_error *e);
void jp_channels_close(struct jp_channels *c);

/* ZeroMQ's words for what failed last. */
const char *jp_channels_error(const struct jp_channels *c);

/* JP_NOBODY: the client that it is for has not connected this socket. JP_FULL: a client that it is for has not read
 * what was sent before, and nobody got it. JP_HEAVY: the same, for all that clients have not read is more than is to be
 * kept for them. */
enum jp_sent { JP_SENT, JP_NOBODY, JP_FULL, JP_HEAVY, JP_NOT_SENT };
enum jp_sent jp_channels_send(struct jp_channels *c, struct jp_packet *p);
/* After JP_FULL: to all others. */
enum jp_sent jp_channels_send_to_readers(struct jp_channels *c, struct jp_packet *p);

/* The frames of one received message. */
struct jp_parts {
    zmq_msg_t messages[JP_MAX_FRAMES];
    struct jp_frame frames[JP_MAX_FRAMES];
    size_t count; /* one more than JP_MAX_FRAMES when there were too many */
};
/* False when nothing is there to be read. */
bool jp_channels_receive(struct jp_channels *c, enum jp_channel channel, struct jp_parts *p);
/* Whether there is something to be received on a channel on which another thread sends than the one that waits. */
bool jp_channels_look(struct jp_channels *c, enum jp_channel channel);
/* Waits until a message may be there on a channel (the shell's only if `shell`) or one of the first `count` descriptors
 * of fds[] is ready, or for `timeout` milliseconds; -1: for ever. fds[] has room for the channels behind those. */
void jp_channels_wait(struct jp_channels *c, struct pollfd *fds, nfds_t count, bool shell, int timeout);
void jp_parts_close(const struct jp_channels *c, struct jp_parts *p);
/* Sends them back as they came. */
void jp_channels_send_back(struct jp_channels *c, enum jp_channel channel, const struct jp_parts *p);

#endif
