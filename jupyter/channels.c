#include "jupyter/channels.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/environment.h"

#define LINGER_MS 1000
/* Messages that wait for one client at most, unless LUNARRAY_UNREAD_LIMIT says otherwise; ten times
 * as many replies: it has asked for each, and may well read them when it has asked for all. */
#define UNREAD  20000
#define REPLIES 10
/* Requests of one client that ZeroMQ reads ahead; the others wait on the client's side. */
#define AHEAD 16
/* Bytes that wait for all clients together, unless LUNARRAY_UNREAD_BYTES says otherwise: in what is published, and as
 * many in replies. ZeroMQ counts messages and does not weigh them, so the frames of more than HELD bytes are weighed
 * here; the others are few bytes by their number alone. What comes when so much waits is left out, but for messages of
 * up to LIGHT bytes, of which as much again may wait: statuses and short texts still come through. */
#define UNREAD_BYTES ((size_t)512 << 20)
#define HELD         1024
#define LIGHT        ((size_t)16 << 10)

static long long set_or(enum rt_variable v, long long most, long long fallback)
{
    long long n = rt_variable_number(v);
    return n == 0 ? fallback : n < most ? n : most;
}

static int type_of(enum jp_channel channel)
{
    return channel == JP_IOPUB ? ZMQ_XPUB : ZMQ_ROUTER;
}

/* Before it is bound. */
static void set_options(const struct jp_zmq *z, void *socket, enum jp_channel channel)
{
    /* A lost idle status hangs the client, so the high-water mark is high; what a cell may print is limited elsewhere.
     */
    const int limit = (int)set_or(RT_VAR_UNREAD_LIMIT, INT_MAX, UNREAD),
              replies = limit < INT_MAX / REPLIES ? REPLIES * limit : INT_MAX;
    const int one = 1, ahead = AHEAD, most = channel == JP_IOPUB ? limit : replies, linger = LINGER_MS;
    const int64_t largest = (int64_t)JP_MAX_MESSAGE;
    z->setsockopt_(socket, ZMQ_LINGER, &linger, sizeof linger);
    z->setsockopt_(socket, ZMQ_SNDHWM, &most, sizeof most);
    z->setsockopt_(socket, ZMQ_MAXMSGSIZE, &largest, sizeof largest);
    if (type_of(channel) == ZMQ_ROUTER) {
        z->setsockopt_(socket, ZMQ_ROUTER_HANDOVER, &one, sizeof one);
        z->setsockopt_(socket, ZMQ_RCVHWM, &ahead, sizeof ahead);
    } else {
        z->setsockopt_(socket, ZMQ_XPUB_VERBOSE, &one, sizeof one);
    }
    /* Or what is not delivered would be lost without a word. */
    z->setsockopt_(socket, channel == JP_IOPUB ? ZMQ_XPUB_NODROP : ZMQ_ROUTER_MANDATORY, &one, sizeof one);
}

static enum rt_status encrypt(const struct jp_zmq *z, void *socket, const char *secret, struct rt_error *e)
{
    const int one = 1;
    if (z->setsockopt_(socket, ZMQ_CURVE_SERVER, &one, sizeof one) == 0 &&
        z->setsockopt_(socket, ZMQ_CURVE_SECRETKEY, secret, JP_CURVE_KEY + 1) == 0)
        return RT_OK;
    return rt_fail(e, RT_UNSUPPORTED, "cannot encrypt with the connection file's curve_secretkey: %s",
                   z->strerror_(z->errno_()));
}

static enum rt_status bind_channel(struct jp_channels *c, struct jp_connection *to, enum jp_channel channel,
                                   struct rt_error *e)
{
    const struct jp_zmq *z = &c->zmq;
    const int one = 1;
    char endpoint[300];
    void *socket = c->sockets[channel] = z->socket_(c->context, type_of(channel));
    if (!socket) return rt_fail(e, RT_IO, "cannot make a ZeroMQ socket: %s", z->strerror_(z->errno_()));
    set_options(z, socket, channel);
    if (strchr(to->ip, ':')) z->setsockopt_(socket, ZMQ_IPV6, &one, sizeof one);
    enum rt_status status = to->curve_secret ? encrypt(z, socket, to->curve_secret, e) : RT_OK;
    if (status != RT_OK) return status;
    jp_connection_endpoint(to, channel, endpoint, sizeof endpoint);
    if (z->bind_(socket, endpoint) != 0)
        return rt_fail(e, RT_IO, "cannot listen on %s: %s", endpoint, z->strerror_(z->errno_()));
    if (to->ports[channel] == 0) {
        size_t size = sizeof endpoint;
        z->getsockopt_(socket, ZMQ_LAST_ENDPOINT, endpoint, &size);
        to->ports[channel] = atoi(strrchr(endpoint, ':') + 1);
    }
    size_t size = sizeof c->descriptors[channel];
    z->getsockopt_(socket, ZMQ_FD, &c->descriptors[channel], &size);
    c->ready[channel] = true;
    return RT_OK;
}

enum rt_status jp_channels_open(struct jp_channels *c, struct jp_connection *to, struct rt_error *e)
{
    enum rt_status status = jp_zmq_open(&c->zmq, e);
    if (status != RT_OK) return status;
    c->most_unread = (size_t)set_or(RT_VAR_UNREAD_BYTES, LONG_MAX, UNREAD_BYTES);
    c->context = c->zmq.ctx_new_();
    if (!c->context) return rt_fail(e, RT_IO, "cannot make a ZeroMQ context: %s", jp_channels_error(c));
    for (int i = 0; i < JP_CHANNELS && status == RT_OK; i++) status = bind_channel(c, to, i, e);
    return status;
}

void jp_channels_close(struct jp_channels *c)
{
    for (int i = 0; i < JP_CHANNELS; i++)
        if (c->sockets[i]) c->zmq.close_(c->sockets[i]);
    if (c->context) c->zmq.ctx_term_(c->context);
}

const char *jp_channels_error(const struct jp_channels *c)
{
    return c->zmq.strerror_(c->zmq.errno_());
}

static void sent_frame(void *data, void *packet)
{
    (void)data;
    jp_packet_release(packet);
}

/* What zmq_send says. Long frames are not copied: the packet is held until they are sent. */
static int send_frame(struct jp_channels *c, struct jp_packet *p, size_t i, int flags)
{
    const struct jp_frame *f = &p->frames[i];
    void *socket = c->sockets[p->channel];
    if (f->size <= HELD) return c->zmq.send_(socket, f->data, f->size, flags);
    zmq_msg_t m;
    if (c->zmq.msg_init_data_(&m, (void *)(uintptr_t)f->data, f->size, sent_frame, p) != 0) return -1;
    atomic_fetch_add(&p->holders, 1);
    if (!p->unread) {
        p->unread = &c->unread[p->channel != JP_IOPUB];
        atomic_fetch_add(p->unread, p->size);
    }
    int rc = c->zmq.msg_send_(&m, socket, flags);
    int error = errno;
    if (rc < 0) c->zmq.msg_close_(&m);
    errno = error;
    return rc;
}

static enum jp_sent send_frames(struct jp_channels *c, struct jp_packet *p)
{
    atomic_store(&c->ready[p->channel], true);
    for (size_t i = 0; i < p->count; i++) {
        int flags = ZMQ_DONTWAIT | (i + 1 < p->count ? ZMQ_SNDMORE : 0);
        int rc;
        do rc = send_frame(c, p, i, flags);
        while (rc < 0 && c->zmq.errno_() == EINTR);
        int error = c->zmq.errno_();
        if (rc < 0) return error == EHOSTUNREACH ? JP_NOBODY : error == EAGAIN ? JP_FULL : JP_NOT_SENT;
    }
    return JP_SENT;
}

enum jp_sent jp_channels_send(struct jp_channels *c, struct jp_packet *p)
{
    size_t most = p->size > LIGHT ? c->most_unread : 2 * c->most_unread;
    return atomic_load(&c->unread[p->channel != JP_IOPUB]) > most ? JP_HEAVY : send_frames(c, p);
}

enum jp_sent jp_channels_send_to_readers(struct jp_channels *c, struct jp_packet *p)
{
    int flag = 0;
    if (p->channel != JP_IOPUB) return JP_FULL; /* the one client that it is for */
    c->zmq.setsockopt_(c->sockets[JP_IOPUB], ZMQ_XPUB_NODROP, &flag, sizeof flag);
    enum jp_sent sent = send_frames(c, p);
    flag = 1;
    c->zmq.setsockopt_(c->sockets[JP_IOPUB], ZMQ_XPUB_NODROP, &flag, sizeof flag);
    return sent;
}

/* zmq_poll asks every socket before and after it waits, by two calls of the system each. Here the sockets are asked, by
 * receiving, whose descriptors tell of something, and those that have sent, which takes away what theirs would tell. */
void jp_channels_wait(struct jp_channels *c, struct pollfd *fds, nfds_t count, bool shell, int timeout)
{
    for (int i = 0; i < JP_CHANNELS; i++) {
        bool wanted = i != JP_SHELL || shell;
        fds[count + i] = (struct pollfd){.fd = wanted ? c->descriptors[i] : -1, .events = POLLIN};
        if (wanted && atomic_load(&c->ready[i])) timeout = 0;
    }
    poll(fds, count + JP_CHANNELS, timeout);
    for (int i = 0; i < JP_CHANNELS; i++)
        if (fds[count + i].revents) atomic_store(&c->ready[i], true);
}

bool jp_channels_look(struct jp_channels *c, enum jp_channel channel)
{
    int events = 0;
    size_t size = sizeof events;
    c->zmq.getsockopt_(c->sockets[channel], ZMQ_EVENTS, &events, &size);
    atomic_store(&c->ready[channel], (events & ZMQ_POLLIN) != 0);
    return events & ZMQ_POLLIN;
}

void jp_parts_close(const struct jp_channels *c, struct jp_parts *p)
{
    for (size_t i = 0; i < p->count && i < JP_MAX_FRAMES; i++) c->zmq.msg_close_(&p->messages[i]);
    p->count = 0;
}

bool jp_channels_receive(struct jp_channels *c, enum jp_channel channel, struct jp_parts *p)
{
    p->count = 0;
    for (bool more = true; more;) {
        zmq_msg_t spare, *m = p->count < JP_MAX_FRAMES ? &p->messages[p->count] : &spare;
        c->zmq.msg_init_(m);
        int rc;
        do rc = c->zmq.msg_recv_(m, c->sockets[channel], ZMQ_DONTWAIT);
        while (rc < 0 && c->zmq.errno_() == EINTR);
        if (rc < 0) {
            c->zmq.msg_close_(m);
            jp_parts_close(c, p);
            atomic_store(&c->ready[channel], false);
            return false;
        }
        more = c->zmq.msg_more_(m);
        if (m == &spare) {
            c->zmq.msg_close_(m);
            p->count = JP_MAX_FRAMES + 1;
        } else {
            p->frames[p->count++] = (struct jp_frame){c->zmq.msg_data_(m), c->zmq.msg_size_(m)};
        }
    }
    return true;
}

void jp_channels_send_back(struct jp_channels *c, enum jp_channel channel, const struct jp_parts *p)
{
    atomic_store(&c->ready[channel], true);
    for (size_t i = 0; i < p->count && i < JP_MAX_FRAMES; i++)
        c->zmq.send_(c->sockets[channel], p->frames[i].data, p->frames[i].size,
                     ZMQ_DONTWAIT | (i + 1 < p->count ? ZMQ_SNDMORE : 0));
}
