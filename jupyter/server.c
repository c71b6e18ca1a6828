/* The I/O thread. */
#include "jupyter/server_state.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "jupyter/capture.h"
#include "jupyter/usage.h"
#include "runtime/guard.h"
#include "runtime/host.h"
#include "runtime/memory.h"

#define TICK_MS     100
#define LATE_MS     10
#define GATHER_MS   5
#define END_SECONDS 3  /* how long a shutdown waits for the main thread */
#define BATCH       64 /* messages read from one socket before the others get their turn */

struct jp_wire *jp_server_wire(struct jp_server *s)
{
    return &s->wire;
}

static struct jp_message *parse(struct jp_server *s, enum jp_channel channel, const struct jp_parts *p)
{
    struct jp_message *m = NULL;
    enum jp_wire_status status = jp_wire_parse(&s->wire, p->frames, p->count, &m);
    if (status != JP_WIRE_OK) {
        jp_log(JP_WARNING, "dropped a message on %s: %s", jp_channel_name(channel), jp_wire_status_text(status));
        return NULL;
    }
    m->channel = channel;
    m->arrived = rt_now_ns();
    jp_log(JP_DEBUG, "%s: received %.100s, %.100s", jp_channel_name(channel), m->type, m->id);
    return m;
}

static void begin_shutdown(struct jp_server *s)
{
    if (s->deadline) return;
    s->deadline = rt_now_ns() + (int64_t)END_SECONDS * 1000000000;
    pthread_mutex_lock(&s->lock);
    s->quitting = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    s->hooks.interrupt(s->hooks.context);
}

static void handle_here(struct jp_server *s, struct jp_message *m)
{
    const struct jp_frame *parent = &m->header_text;
    const char *type;
    json_t *answer = jp_subshells_answer(&s->subshells, m, &type);
    jp_server_begin(s, m);
    if (strcmp(m->type, "kernel_info_request") == 0) {
        jp_server_reply(s, m, "kernel_info_reply", s->hooks.kernel_info());
    } else if (strcmp(m->type, "is_complete_request") == 0 && m->channel == JP_SHELL) {
        jp_server_reply(s, m, "is_complete_reply", s->hooks.is_complete(m));
    } else if (strcmp(m->type, "usage_request") == 0) {
        jp_server_reply(s, m, "usage_reply", jp_usage());
    } else if (strcmp(m->type, "interrupt_request") == 0) {
        s->hooks.interrupt(s->hooks.context);
        jp_server_reply(s, m, "interrupt_reply", json_pack("{s:s}", "status", "ok"));
    } else if (strcmp(m->type, "shutdown_request") == 0) {
        bool restart = json_is_true(json_object_get(m->content, "restart"));
        json_t *content = json_pack("{s:s, s:b}", "status", "ok", "restart", restart);
        jp_server_publish(s, "shutdown_reply", parent, json_incref(content));
        jp_server_reply(s, m, "shutdown_reply", content);
        begin_shutdown(s);
    } else if (answer) {
        jp_server_reply(s, m, type, answer);
    } else {
        jp_server_reply_unknown(s, m);
    }
    jp_server_end(s, m);
}

/* A request for a subshell that was deleted, or never was. */
static void refuse(struct jp_server *s, struct jp_message *m)
{
    char type[128];
    jp_server_begin(s, m);
    if (jp_reply_type(m, type, sizeof type)) jp_server_reply(s, m, type, jp_subshells_unknown(m->subshell));
    jp_server_end(s, m);
}

/* Whether the main thread waits for requests: nothing but this thread can give it anything to do. */
static bool main_rests(struct jp_server *s)
{
    pthread_mutex_lock(&s->lock);
    bool rests = s->resting && !s->inbox && !s->quitting;
    pthread_mutex_unlock(&s->lock);
    return rests;
}

/* A client is told at once, before a thread has woken, and has taken that in when there is more. */
static void begin(struct jp_server *s, struct jp_message *m)
{
    jp_server_begin(s, m);
    jp_server_flush(s);
}

static void gather(struct jp_server *s)
{
    s->gathers_until = rt_now_ns() + (int64_t)GATHER_MS * 1000000;
    pthread_mutex_lock(&s->lock);
    s->gathers = true;
    pthread_mutex_unlock(&s->lock);
}

static void queue_request(struct jp_server *s, struct jp_message *m)
{
    bool early = s->hooks.urgent(m); /* once it is queued it is the main thread's */
    if (!m->begun && main_rests(s)) begin(s, m);
    if (m->begun) gather(s);
    m->number = atomic_load(&s->numbered) + 1;
    if (m->number == 0) m->number = 1;
    atomic_store(&s->numbered, m->number);
    atomic_fetch_add(&s->requests, 1);
    pthread_mutex_lock(&s->lock);
    *s->inbox_end = m;
    s->inbox_end = &m->next;
    s->queued++;
    s->queued_bytes += m->size;
    s->arrived = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    s->asked |= early;
    if (early) s->hooks.attend(s->hooks.context);
}

/* What would wake the main thread only to look names up is answered here while that rests. */
static bool complete_here(struct jp_server *s, struct jp_message *m)
{
    if (!main_rests(s)) return false;
    begin(s, m);
    json_t *content = s->hooks.complete(s->hooks.context, m);
    if (!content) return false;
    jp_server_reply(s, m, "complete_reply", content);
    jp_server_flush(s);
    jp_server_end(s, m);
    return true;
}

static void handle_shell(struct jp_server *s, struct jp_message *m)
{
    bool shutdown = strcmp(m->type, "shutdown_request") == 0;
    if (m->subshell && !shutdown && !jp_subshells_has(&s->subshells, m->subshell)) {
        refuse(s, m);
        jp_message_free(m);
        return;
    }
    /* A shutdown must not wait for the cell that it is to end; what needs nothing of the session, for no call that
     * takes long, nor for a thread to wake. */
    if (shutdown || strcmp(m->type, "kernel_info_request") == 0 || strcmp(m->type, "is_complete_request") == 0) {
        handle_here(s, m);
        jp_message_free(m);
        return;
    }
    if (strcmp(m->type, "complete_request") == 0 && complete_here(s, m)) {
        jp_message_free(m);
        return;
    }
    queue_request(s, m);
}

static void handle_stdin(struct jp_server *s, struct jp_message *m)
{
    if (strcmp(m->type, "input_reply") != 0) {
        jp_log(JP_WARNING, "a message of unknown type on stdin: %.100s", m->type);
        jp_message_free(m);
        return;
    }
    pthread_mutex_lock(&s->lock);
    *s->inputs_end = m;
    s->inputs_end = &m->next;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

/* XPUB reports each subscription as a frame: 1, then the topic. */
static void handle_subscription(struct jp_server *s, const struct jp_parts *p)
{
    const unsigned char *data = p->count ? p->frames[0].data : NULL;
    if (p->count != 1 || p->frames[0].size == 0 || data[0] != 1) return;
    const struct jp_frame topic = {data + 1, p->frames[0].size - 1};
    json_t *name = json_stringn((const char *)topic.data, topic.size);
    struct jp_outgoing o = {.channel = JP_IOPUB, .type = "iopub_welcome", .addresses = &topic, .address_count = 1};
    jp_server_send(s, &o, json_pack("{s:o}", "subscription", name ? name : json_string("")));
    /* Earlier nobody would have heard it. */
    if (!s->started) jp_server_status(s, NULL, "starting");
    s->started = true;
}

static bool has_room(struct jp_server *s)
{
    pthread_mutex_lock(&s->lock);
    bool room = jp_server_has_room(s);
    pthread_mutex_unlock(&s->lock);
    return room;
}

static bool receive(struct jp_server *s, enum jp_channel channel, struct jp_parts *p)
{
    pthread_mutex_lock(&s->sockets);
    bool received = jp_channels_receive(&s->channels, channel, p);
    jp_server_leave(s);
    return received;
}

static void send_back(struct jp_server *s, enum jp_channel channel, const struct jp_parts *p)
{
    pthread_mutex_lock(&s->sockets);
    jp_channels_send_back(&s->channels, channel, p);
    jp_server_leave(s);
}

static void read_channel(struct jp_server *s, enum jp_channel channel)
{
    static struct jp_parts p; /* only the I/O thread comes here */
    for (int i = 0; i < BATCH && (channel != JP_SHELL || has_room(s)) && receive(s, channel, &p); i++) {
        struct jp_message *m = NULL;
        if (channel == JP_HEARTBEAT)
            send_back(s, channel, &p);
        else if (channel == JP_IOPUB)
            handle_subscription(s, &p);
        else
            m = parse(s, channel, &p);
        jp_parts_close(&s->channels, &p);
        if (!m) continue;
        if (channel == JP_CONTROL && strcmp(m->type, "debug_request") == 0) {
            queue_request(s, m);
        } else if (channel == JP_CONTROL) {
            handle_here(s, m);
            jp_message_free(m);
        } else if (channel == JP_STDIN) {
            handle_stdin(s, m);
        } else {
            handle_shell(s, m);
        }
        jp_server_flush(s);
    }
}

static void handle_wakes(struct jp_server *s)
{
    uint64_t count;
    ssize_t got = read(s->wake, &count, sizeof count);
    (void)got;
    if (atomic_exchange(&s->cancel_wanted, false)) {
        pthread_mutex_lock(&s->sockets);
        jp_packet_release(s->kept);
        s->kept = NULL;
        jp_server_leave(s);
        pthread_mutex_lock(&s->lock);
        s->cancelled = true;
        pthread_cond_broadcast(&s->changed);
        pthread_mutex_unlock(&s->lock);
    }
    if (atomic_exchange(&s->attend_wanted, false)) s->hooks.attend(s->hooks.context);
    if (atomic_exchange(&s->quit_wanted, false)) begin_shutdown(s);
}

static void give_up(struct jp_server *s)
{
    jp_log(JP_ERROR, "the running cell did not stop within %d seconds; ending without it", END_SECONDS);
    jp_server_flush(s);
    jp_channels_close(&s->channels);
    _exit(1);
}

/* The order of the sockets is the order of urgency. */
static void read_channels(struct jp_server *s, bool shell)
{
    static const enum jp_channel order[] = {JP_CONTROL, JP_STDIN, JP_HEARTBEAT, JP_IOPUB, JP_SHELL};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (s->channels.ready[order[i]] && (shell || order[i] != JP_SHELL)) read_channel(s, order[i]);
}

/* One turn: read what is there and send what is to be sent, then wait. */
static void turn(struct jp_server *s)
{
    enum { WAKE, CAPTURED, OTHERS = 3 };
    struct pollfd fds[OTHERS + JP_CHANNELS] = {[WAKE] = {.fd = s->wake, .events = POLLIN}};
    for (int i = 0; i < 2; i++) fds[CAPTURED + i] = (struct pollfd){.fd = s->hooks.captured[i], .events = POLLIN};
    bool room = has_room(s);
    pthread_mutex_lock(&s->sockets);
    bool missed = s->missed.count > 0;
    jp_server_leave(s);
    read_channels(s, room);
    jp_server_flush(s); /* or it would wait, too */
    bool ticks = jp_server_pending(s) || s->deadline || s->output_waits;
    int timeout = s->gathers_until ? GATHER_MS
                  : s->asked       ? LATE_MS
                  : ticks          ? TICK_MS
                  : missed         ? 500
                  : s->parent.pid  ? 1000
                                   : -1;
    jp_channels_wait(&s->channels, fds, OTHERS, room, timeout);
    if (fds[WAKE].revents) handle_wakes(s);
    if (fds[CAPTURED].revents || fds[CAPTURED + 1].revents) s->output_waits = s->hooks.readable(s->hooks.context);
    jp_server_flush(s);
}

/* What asks the main thread for its attention in the middle of a cell may, rarely, be lost (lang/interrupt.c), so it is
 * asked again as long as such requests wait. */
static void attend_again(struct jp_server *s)
{
    bool waits = false;
    pthread_mutex_lock(&s->lock);
    for (const struct jp_message *m = s->inbox; m && !waits; m = m->next) waits = s->hooks.urgent(m);
    pthread_mutex_unlock(&s->lock);
    if (waits) s->hooks.attend(s->hooks.context);
}

static void send_missed(struct jp_server *s, int64_t time)
{
    pthread_mutex_lock(&s->sockets);
    jp_missed_send(&s->missed, time, &s->channels, &s->wire);
    jp_server_leave(s);
}

static void *io_thread(void *argument)
{
    struct jp_server *s = argument;
    int64_t next_tick = rt_now_ns(), next_look = next_tick;
    for (;;) {
        turn(s);
        int64_t time = rt_now_ns();
        if (s->gathers_until && time >= s->gathers_until) {
            s->gathers_until = 0;
            jp_server_flush_all(s);
        }
        if (s->asked && time >= next_look) {
            next_look = time + (int64_t)LATE_MS * 1000000;
            s->asked = s->hooks.late(s->hooks.context);
            jp_server_flush(s);
        }
        if (time >= next_tick) {
            next_tick = time + (int64_t)TICK_MS * 1000000;
            s->output_waits = s->hooks.tick(s->hooks.context);
            jp_server_send_kept(s);
            jp_server_flush(s);
            /* Between cells, or they would seem to tell of the one that runs. */
            if (jp_server_pending(s) == 0) send_missed(s, time);
            attend_again(s);
            if (jp_parent_died(&s->parent)) begin_shutdown(s);
        }
        if (!s->deadline) continue;
        pthread_mutex_lock(&s->lock);
        bool done = s->main_done;
        pthread_mutex_unlock(&s->lock);
        if (done) break;
        if (time > s->deadline) give_up(s);
    }
    jp_server_flush(s);
    return NULL;
}

/* Opening and closing. */

static void release(struct jp_server *s)
{
    jp_channels_close(&s->channels);
    jp_free_messages(s->inbox);
    jp_free_messages(s->inputs);
    while (s->outbox) {
        struct jp_packet *next = s->outbox->next;
        jp_packet_release(s->outbox);
        s->outbox = next;
    }
    jp_packet_release(s->kept);
    jp_missed_close(&s->missed);
    if (s->wake >= 0) close(s->wake);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->sockets);
    pthread_mutex_destroy(&s->states);
    pthread_mutex_destroy(&s->lock);
    jp_subshells_close(&s->subshells);
    jp_wire_close(&s->wire);
    free(s);
}

static enum rt_status open_all(struct jp_server *s, struct jp_connection *c, struct rt_error *e)
{
    if (!jp_wire_open(&s->wire, c->key, c->key_length)) return rt_fail(e, RT_NOMEM, "out of memory");
    if (s->wake < 0) return rt_fail(e, RT_IO, "cannot make an eventfd: %s", strerror(errno));
    return jp_channels_open(&s->channels, c, e);
}

struct jp_server *jp_server_open(struct jp_connection *c, const struct jp_server_hooks *hooks, struct rt_error *e)
{
    struct jp_server *s = rt_calloc(1, sizeof *s);
    if (!s) {
        rt_fail(e, RT_NOMEM, "out of memory");
        return NULL;
    }
    s->hooks = *hooks;
    pthread_mutex_init(&s->lock, NULL);
    pthread_mutex_init(&s->sockets, NULL);
    pthread_mutex_init(&s->states, NULL);
    pthread_cond_init(&s->changed, NULL);
    s->inbox_end = &s->inbox;
    s->inputs_end = &s->inputs;
    s->outbox_end = &s->outbox;
    s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    s->parent = jp_parent_find();
    if (open_all(s, c, e) == RT_OK) return s;
    release(s);
    return NULL;
}

enum rt_status jp_server_start(struct jp_server *s, struct rt_error *e)
{
    /* Signals belong to the main thread. */
    sigset_t before;
    rt_hold_signals(&before);
    int failed = pthread_create(&s->thread, NULL, io_thread, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) return rt_fail(e, RT_IO, "cannot start a thread: %s", strerror(failed));
    s->running = true;
    return RT_OK;
}

void jp_server_close(struct jp_server *s)
{
    if (s->running) {
        pthread_mutex_lock(&s->lock);
        s->main_done = true;
        pthread_mutex_unlock(&s->lock);
        jp_server_quit(s);
        pthread_join(s->thread, NULL);
    }
    release(s);
}
