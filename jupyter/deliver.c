/* Packets on their way out: whichever thread queued some sends them, and those of others. */
#include <pthread.h>
#include <stdio.h>

#include "jupyter/capture.h"
#include "jupyter/server_state.h"
#include "runtime/host.h"

#define TELL_EVERY_NS ((int64_t)60000000000) /* between two words in the log about clients that do not read */

/* The functions from here to the next comment are called with the sockets' lock held. */

static void tell_log(struct jp_server *s, enum jp_channel channel)
{
    if (s->told && rt_now_ns() - s->told < TELL_EVERY_NS) return;
    s->told = rt_now_ns();
    jp_log(JP_WARNING, "a client does not read %s: what does not fit into its queue any more, it misses",
           jp_channel_name(channel));
}

/* In the place of the first message that everybody misses. */
static void tell_cell(struct jp_server *s, const struct jp_packet *p)
{
    char line[200];
    if (s->leaves_out || p->channel != JP_IOPUB) return;
    s->leaves_out = true;
    snprintf(line, sizeof line,
             "[output of %zu bytes is left out, and what else is large: a client has not read %zu bytes of earlier "
             "output]\n",
             p->size, atomic_load(&s->channels.unread[0]));
    jp_server_publish(s, "stream", jp_packet_parent(p), json_pack("{s:s, s:s}", "name", "stderr", "text", line));
}

/* False when the packet should be tried again: the client that it is for has not connected this socket yet. */
static bool send_packet(struct jp_server *s, struct jp_packet *p)
{
    enum jp_sent sent = jp_channels_send(&s->channels, p);
    if (sent == JP_FULL || sent == JP_HEAVY) {
        tell_log(s, p->channel);
        if (p->channel == JP_IOPUB) jp_missed_begin(&s->missed, rt_now_ns());
    }
    if (sent == JP_FULL) sent = jp_channels_send_to_readers(&s->channels, p);
    switch (sent) {
    case JP_SENT:
        if (p->unread == &s->channels.unread[0]) s->leaves_out = false;
        break;
    case JP_FULL: break;
    case JP_HEAVY: tell_cell(s, p); break;
    case JP_NOBODY: return p->channel != JP_STDIN;
    case JP_NOT_SENT:
        jp_log(JP_ERROR, "cannot send on %s: %s", jp_channel_name(p->channel), jp_channels_error(&s->channels));
    }
    return true;
}

/* Only an input request is ever kept, and the next one takes its place. */
static void send_or_keep(struct jp_server *s, struct jp_packet *p)
{
    if (p->channel == JP_STDIN) {
        jp_packet_release(s->kept);
        s->kept = NULL;
    }
    if (!send_packet(s, p))
        s->kept = p;
    else if (!jp_missed_take(&s->missed, p))
        jp_packet_release(p);
}

static struct jp_packet *take_all(struct jp_server *s)
{
    pthread_mutex_lock(&s->lock);
    struct jp_packet *first = s->outbox;
    s->outbox = NULL;
    s->outbox_end = &s->outbox;
    pthread_mutex_unlock(&s->lock);
    return first;
}

/* A bit for each channel. */
static unsigned send_all(struct jp_server *s)
{
    unsigned used = 0;
    for (struct jp_packet *p = take_all(s), *next; p; p = next) {
        next = p->next;
        used |= 1U << p->channel;
        send_or_keep(s, p);
    }
    return used;
}

/* Sending takes in what ZeroMQ has to tell of a socket, of which its descriptor tells nobody else any more. */
static bool look(struct jp_server *s, unsigned used)
{
    bool found = false;
    for (int i = 0; i < JP_CHANNELS; i++)
        if (used >> i & 1U) found |= jp_channels_look(&s->channels, i);
    return found;
}

/* Any thread. */

static bool has_some(struct jp_server *s)
{
    pthread_mutex_lock(&s->lock);
    bool some = s->outbox != NULL;
    pthread_mutex_unlock(&s->lock);
    return some;
}

void jp_server_flush(struct jp_server *s)
{
    bool reads = pthread_equal(pthread_self(), s->thread), found = false;
    while (has_some(s) && pthread_mutex_trylock(&s->sockets) == 0) {
        unsigned used = send_all(s);
        if (!reads) found |= look(s, used);
        pthread_mutex_unlock(&s->sockets);
    }
    if (found) jp_server_wake(s);
}

void jp_server_flush_all(struct jp_server *s)
{
    pthread_mutex_lock(&s->lock);
    s->gathers = false;
    pthread_mutex_unlock(&s->lock);
    jp_server_flush(s);
}

void jp_server_leave(struct jp_server *s)
{
    pthread_mutex_unlock(&s->sockets);
    jp_server_flush(s);
}

void jp_server_send_kept(struct jp_server *s)
{
    pthread_mutex_lock(&s->sockets);
    if (s->kept && send_packet(s, s->kept)) {
        jp_packet_release(s->kept);
        s->kept = NULL;
    }
    jp_server_leave(s);
}
