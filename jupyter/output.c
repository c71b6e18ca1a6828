#include "jupyter/output.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jupyter/text.h"
#include "runtime/environment.h"
#include "runtime/host.h"
#include "runtime/memory.h"

#define WAIT_NS  ((int64_t)80000000) /* the I/O thread looks every 100 ms */
#define SLOWER   ((size_t)128 << 10) /* bytes printed for each of which text waits so much longer ... */
#define SLOWEST  10                  /* ... up to so many times */
#define SMALLEST ((size_t)4096)
#define CAPACITY 65536 /* of a pipe: once so much was read, all that was in it before is out */

static const char *const stream_names[] = {"stdout", "stderr"};

void jp_output_open(struct jp_output *o, const int captured[2])
{
    memset(o, 0, sizeof *o);
    pthread_mutex_init(&o->lock, NULL);
    memcpy(o->captured, captured, sizeof o->captured);
    long long limit = rt_variable_number(RT_VAR_OUTPUT_LIMIT);
    o->limit = limit ? (size_t)limit : JP_OUTPUT_LIMIT;
}

void jp_output_close(struct jp_output *o)
{
    free((char *)o->parent.data);
    free(o->text);
    pthread_mutex_destroy(&o->lock);
}

/* The functions from here to the next comment are called with the lock held. */

static void publish(struct jp_output *o, const char *type, json_t *content, int64_t time)
{
    jp_held_sent(&o->held, type, content, time);
    jp_server_publish(o->server, type, o->parent.data ? &o->parent : NULL, content);
}

static void send_held(struct jp_output *o, size_t count, int64_t time)
{
    struct jp_held *h = &o->held;
    for (size_t i = 0; i < count; i++) publish(o, h->messages[i].type, h->messages[i].content, time);
    h->count -= count;
    memmove(h->messages, h->messages + count, h->count * sizeof *h->messages);
}

static void send(struct jp_output *o, const char *type, json_t *content)
{
    int64_t time = rt_now_ns();
    bool taken = jp_held_take(&o->held, type, content, time);
    if (strcmp(type, "error") == 0) jp_held_keep_shown(&o->held);
    if (!taken || jp_held_due(&o->held, time)) send_held(o, taken ? jp_held_ready(&o->held) : o->held.count, time);
    if (!taken) publish(o, type, content, time);
}

static void send_text(struct jp_output *o, int stream, const char *text, size_t length)
{
    if (length == 0) return;
    send(o, "stream", json_pack("{s:s, s:o}", "name", stream_names[stream], "text", jp_text_json(text, length)));
}

/* Sends what is waiting; a code point that is not yet complete stays, unless it is the last chance. */
static void flush(struct jp_output *o, bool all)
{
    size_t whole = all ? o->waiting : jp_text_whole(o->text, o->waiting);
    send_text(o, o->stream, o->text, whole);
    o->waiting -= whole;
    if (o->waiting) memmove(o->text, o->text + whole, o->waiting);
}

static void flush_all(struct jp_output *o)
{
    flush(o, true);
    send_held(o, o->held.count, rt_now_ns());
}

static void note(struct jp_output *o, const char *text)
{
    flush(o, true);
    send_text(o, 1, text, strlen(text));
}

/* How many of n more bytes can wait, too. A front end draws a cell's whole text again for every message: what is
 * printed at once is sent at once. */
static size_t make_room(struct jp_output *o, size_t n)
{
    size_t capacity = o->capacity ? o->capacity : SMALLEST;
    while (capacity < JP_OUTPUT_BATCH && capacity - o->waiting < n) capacity *= 2;
    char *text = capacity > o->capacity ? rt_realloc(o->text, capacity) : NULL;
    if (text) {
        o->text = text;
        o->capacity = capacity;
    }
    size_t room = o->capacity - o->waiting;
    return n < room ? n : room;
}

static void add(struct jp_output *o, int stream, const char *text, size_t length)
{
    if (o->silent) return;
    if (o->waiting && o->stream != stream) flush(o, true);
    o->stream = stream;
    size_t room = o->limit - o->printed, taken = length < room ? length : room;
    o->printed += taken;
    for (size_t at = 0; at < taken;) {
        if (o->waiting == 0) o->since = rt_now_ns();
        size_t n = make_room(o, taken - at);
        if (o->capacity == 0) { /* no memory to gather it in */
            send_text(o, stream, text + at, taken - at);
            break;
        }
        memcpy(o->text + o->waiting, text + at, n);
        o->waiting += n;
        at += n;
        if (at < taken) flush(o, false);
    }
    if (taken == length) return;
    if (o->left_out == 0) {
        char line[300];
        snprintf(line, sizeof line,
                 "\n[this cell printed %zu bytes, the limit for one cell; what it prints from here on is left out. "
                 "%%%%capture NAME as its first line keeps everything in a variable; the environment variable "
                 "LUNARRAY_OUTPUT_LIMIT, in bytes, is the limit of a kernel]\n",
                 o->limit);
        note(o, line);
    }
    o->left_out += length - taken;
}

static void read_captured(struct jp_output *o, int stream)
{
    static char bytes[CAPACITY]; /* the lock guards it */
    for (size_t all = 0; all < CAPACITY;) {
        ssize_t n = read(o->captured[stream], bytes, sizeof bytes);
        if (n <= 0) return;
        add(o, stream, bytes, (size_t)n);
        all += (size_t)n;
    }
}

static void drain(struct jp_output *o)
{
    struct pollfd fds[2] = {{.fd = o->captured[0], .events = POLLIN}, {.fd = o->captured[1], .events = POLLIN}};
    if (poll(fds, 2, 0) <= 0) return;
    for (int i = 0; i < 2; i++)
        if (fds[i].revents & POLLIN) read_captured(o, i);
}

/* The main thread. stdio is flushed before the lock is taken: it may have to wait until the I/O thread, which needs
 * the lock, has emptied the pipe. */

static void lock_and_drain(struct jp_output *o)
{
    fflush(stdout);
    pthread_mutex_lock(&o->lock);
    drain(o);
}

void jp_output_begin(struct jp_output *o, const struct jp_frame *header, bool silent)
{
    char *copy = rt_alloc(header->size);
    if (copy) memcpy(copy, header->data, header->size);
    lock_and_drain(o);
    flush_all(o);
    jp_held_begin(&o->held);
    free((char *)o->parent.data);
    o->parent = (struct jp_frame){copy, copy ? header->size : 0};
    o->silent = silent;
    o->printed = o->left_out = 0;
    pthread_mutex_unlock(&o->lock);
}

struct jp_output_place jp_output_enter(struct jp_output *o, const struct jp_frame *header, bool silent)
{
    lock_and_drain(o);
    flush_all(o);
    struct jp_output_place place = {o->parent, o->silent, o->printed, o->left_out};
    o->parent = (struct jp_frame){NULL, 0};
    pthread_mutex_unlock(&o->lock);
    jp_output_begin(o, header, silent);
    return place;
}

void jp_output_leave(struct jp_output *o, const struct jp_output_place *place)
{
    jp_output_end(o);
    pthread_mutex_lock(&o->lock);
    free((char *)o->parent.data);
    o->parent = place->parent;
    o->silent = place->silent;
    o->printed = place->printed;
    o->left_out = place->left_out;
    pthread_mutex_unlock(&o->lock);
}

void jp_output_print(struct jp_output *o, int stream, const char *text, size_t length)
{
    lock_and_drain(o);
    add(o, stream, text, length);
    pthread_mutex_unlock(&o->lock);
}

void jp_output_publish(struct jp_output *o, const char *type, json_t *content)
{
    lock_and_drain(o);
    flush(o, true);
    if (o->silent)
        json_decref(content);
    else
        send(o, type, content);
    pthread_mutex_unlock(&o->lock);
}

void jp_output_send(struct jp_output *o, struct jp_outgoing *message, json_t *content)
{
    const struct jp_frame topic = {message->type, strlen(message->type)};
    lock_and_drain(o);
    flush_all(o);
    message->channel = JP_IOPUB;
    message->addresses = &topic;
    message->address_count = 1;
    message->parent = o->parent.data ? &o->parent : NULL;
    jp_server_send(o->server, message, content);
    pthread_mutex_unlock(&o->lock);
}

void jp_output_flush(struct jp_output *o)
{
    lock_and_drain(o);
    flush_all(o);
    pthread_mutex_unlock(&o->lock);
}

void jp_output_end(struct jp_output *o)
{
    lock_and_drain(o);
    if (o->left_out) {
        char line[200];
        snprintf(line, sizeof line, "[%zu more bytes were left out]\n", o->left_out);
        note(o, line);
    }
    flush_all(o);
    pthread_mutex_unlock(&o->lock);
}

/* The I/O thread. */

/* Drawing again what a cell has printed takes a front end the longer the more that is. */
static int64_t wait_of(const struct jp_output *o)
{
    size_t times = 1 + o->printed / SLOWER;
    return WAIT_NS * (int64_t)(times < SLOWEST ? times : SLOWEST);
}

bool jp_output_tick(struct jp_output *o)
{
    pthread_mutex_lock(&o->lock);
    int64_t time = rt_now_ns();
    if (o->waiting && time - o->since > wait_of(o)) flush(o, false);
    if (jp_held_due(&o->held, time)) send_held(o, jp_held_ready(&o->held), time);
    bool waits = o->waiting > 0 || jp_held_ready(&o->held) > 0;
    pthread_mutex_unlock(&o->lock);
    return waits;
}

void jp_output_note(struct jp_output *o, const char *line)
{
    pthread_mutex_lock(&o->lock);
    note(o, line);
    send_held(o, jp_held_ready(&o->held), rt_now_ns());
    pthread_mutex_unlock(&o->lock);
}

bool jp_output_readable(struct jp_output *o)
{
    pthread_mutex_lock(&o->lock);
    drain(o);
    /* Between cells nothing else will flush it. */
    if (jp_server_pending(o->server) == 0) flush(o, false);
    bool waits = o->waiting > 0;
    pthread_mutex_unlock(&o->lock);
    return waits;
}
