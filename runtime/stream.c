#include "runtime/stream.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include "runtime/interrupt.h"
#include "runtime/kernel.h"
#include "runtime/lend.h"
#include "runtime/memory.h"

atomic_bool rt_streams_on;

/* Of each slot: its stream, what its next work counts as, the last count that was given to work, and up to which the
 * work is done or behind us for all later work. A slot's counts go on when it gets another stream. */
static struct {
    pthread_mutex_t lock;
    struct slot {
        struct rt_stream *stream;
        bool released;
        uint32_t next, last, done;
    } slots[RT_STREAMS];
    unsigned made;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

void rt_streams_lock(void)
{
    pthread_mutex_lock(&all.lock);
}

void rt_streams_unlock(void)
{
    pthread_mutex_unlock(&all.lock);
}

/* ---- the order; all under the lock ---- */

/* What is given from now on counts as later than what was. */
static uint32_t close_count(struct slot *s)
{
    if (s->last == s->next) s->next++;
    return s->last;
}

static void done_upto(int i, uint32_t count)
{
    if (count > all.slots[i].done) all.slots[i].done = count;
}

static void join(struct rt_order *to, const struct rt_order *from)
{
    for (int i = 0; i < RT_STREAMS; i++)
        if (from->upto[i] > to->upto[i]) to->upto[i] = from->upto[i];
}

static void host_joins(const struct rt_order *from)
{
    for (int i = 0; i < RT_STREAMS; i++) done_upto(i, from->upto[i]);
}

/* Everything of the device so far is before everything later. */
static void barrier(struct rt_device *d)
{
    for (int i = 0; i < RT_STREAMS; i++)
        if (all.slots[i].stream && all.slots[i].stream->device == d) done_upto(i, close_count(&all.slots[i]));
    d->streams_busy = false;
}

uint32_t rt_streams_stamp(struct rt_device *d)
{
    if (!d->current) {
        if (d->streams_busy) barrier(d);
        return 0;
    }
    struct slot *s = &all.slots[d->current->slot];
    d->streams_busy = true;
    return s->last = s->next;
}

bool rt_streams_ordered(int slot, uint32_t count, const struct rt_stream *s)
{
    return count <= all.slots[slot].done || (s && (s->slot == slot || count <= s->after.upto[slot]));
}

void rt_streams_assume(struct rt_stream *s, int slot, uint32_t count)
{
    if (count > s->after.upto[slot]) s->after.upto[slot] = count;
    close_count(&all.slots[slot]); /* its later work is not meant */
}

struct rt_stream *rt_streams_at(int slot)
{
    return all.slots[slot].stream;
}

void rt_streams_worked(struct rt_device *d)
{
    if (d->instantiates) return;
    rt_streams_lock();
    rt_streams_stamp(d);
    rt_streams_unlock();
}

/* What the end of all work given to s (NULL: the default stream of d) so far is ordered behind. */
static void take_order(struct rt_device *d, const struct rt_stream *s, struct rt_order *out)
{
    if (!s) barrier(d);
    *out = s ? s->after : (struct rt_order){{0}};
    for (int i = 0; i < RT_STREAMS; i++)
        if (all.slots[i].done > out->upto[i]) out->upto[i] = all.slots[i].done;
    if (s) out->upto[s->slot] = close_count(&all.slots[s->slot]);
}

/* ---- waiting ---- */

/* Microseconds to sleep after that many failed looks: none at first, then growing to a millisecond. */
static void wait_a_little(unsigned *microseconds, double started)
{
    if (rt_now_ms() - started < 0.1) return;
    *microseconds = *microseconds == 0 ? 20 : *microseconds * 3 / 2;
    if (*microseconds > 1000) *microseconds = 1000;
    struct timespec pause = {0, (long)*microseconds * 1000};
    nanosleep(&pause, NULL);
}

CUresult rt_poll(CUresult (*look)(void *context), void *context)
{
    double started = rt_now_ms();
    unsigned pause = 0;
    CUresult r;
    rt_lend();
    while ((r = look(context)) == CUDA_ERROR_NOT_READY && !rt_interrupted()) wait_a_little(&pause, started);
    rt_lend_end();
    return r;
}

static CUresult look_at_stream(void *context)
{
    const struct rt_stream *s = context;
    return s->device->driver->StreamQuery(s->handle);
}

static CUresult look_at_event(void *context)
{
    const struct rt_event *v = context;
    return v->device->driver->EventQuery(v->handle);
}

CUresult rt_streams_query(struct rt_device *d)
{
    CUresult r = CUDA_SUCCESS;
    rt_streams_lock();
    for (int i = 0; i < RT_STREAMS && r == CUDA_SUCCESS; i++) {
        const struct rt_stream *s = all.slots[i].stream;
        if (s && s->device == d && s->handle && s->generation == d->generation) r = d->driver->StreamQuery(s->handle);
    }
    rt_streams_unlock();
    return r;
}

static enum rt_status waited(struct rt_device *d, CUresult r, struct rt_error *e, const char *what)
{
    if (r == CUDA_ERROR_NOT_READY) return rt_fail(e, RT_INTERRUPTED, "interrupted; work goes on on %s", d->name);
    return rt_device_check(d, r, e, what);
}

/* ---- streams ---- */

/* Under the lock: the slot is free again. */
static void drop(struct slot *s)
{
    struct rt_stream *stream = s->stream;
    struct rt_device *d = stream->device;
    if (stream->handle && stream->generation == d->generation && rt_device_enter(d, NULL) == RT_OK)
        d->driver->StreamDestroy(stream->handle);
    s->stream = NULL;
    s->released = false;
    free(stream);
}

/* Under the lock: frees the slots of released streams whose work is known to be done; `ask`: by asking the driver. */
static void drop_released(bool ask)
{
    for (int i = 0; i < RT_STREAMS; i++) {
        struct slot *s = &all.slots[i];
        if (!s->stream || !s->released) continue;
        struct rt_device *d = s->stream->device;
        bool idle = s->done >= s->last;
        if (!idle && ask)
            idle =
                !s->stream->handle || (rt_device_enter(d, NULL) == RT_OK && look_at_stream(s->stream) == CUDA_SUCCESS);
        if (!idle) continue;
        done_upto(i, s->last);
        drop(s);
    }
}

static int free_slot(void)
{
    for (int round = 0; round < 2; round++) {
        drop_released(round > 0);
        for (int i = 0; i < RT_STREAMS; i++)
            if (!all.slots[i].stream) return i;
    }
    return -1;
}

/* CUDA_ERROR_NOT_READY while all slots are taken, some by released streams whose work is not done. */
static CUresult look_for_slot(void *unused)
{
    bool busy = false;
    (void)unused;
    rt_streams_lock();
    bool there = free_slot() >= 0;
    for (int i = 0; i < RT_STREAMS; i++) busy |= all.slots[i].released;
    rt_streams_unlock();
    return !there && busy ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

/* Under the lock. */
static enum rt_status take_slot(struct rt_stream *s, struct rt_error *e)
{
    s->slot = free_slot();
    if (s->slot < 0)
        return rt_fail(e, RT_UNSUPPORTED, "there are %d streams already, which is the most; release some by s:free()",
                       RT_STREAMS);
    struct slot *slot = &all.slots[s->slot];
    slot->stream = s;
    if (!slot->next) slot->next = 1;
    s->number = ++all.made;
    return RT_OK;
}

struct rt_stream *rt_stream_new(struct rt_device *d, struct rt_error *e)
{
    struct rt_stream *s = rt_calloc(1, sizeof *s);
    if (!s) {
        rt_fail(e, RT_NOMEM, "out of memory for a stream");
        return NULL;
    }
    enum rt_status status = rt_device_enter(d, e);
    if (status == RT_OK && d->driver) /* one that the default stream waits for, and that waits for it */
        status = rt_device_check(d, d->driver->StreamCreate(&s->handle, CU_STREAM_DEFAULT), e, "creating a stream");
    if (status == RT_OK) {
        s->device = d;
        s->generation = d->generation;
        status = waited(d, rt_poll(look_for_slot, NULL), e, "waiting for a stream that was freed");
        rt_streams_lock();
        if (status == RT_OK) status = take_slot(s, e);
        rt_streams_unlock();
        if (status != RT_OK && s->handle) d->driver->StreamDestroy(s->handle);
    }
    if (status != RT_OK) {
        free(s);
        return NULL;
    }
    atomic_store(&rt_streams_on, true);
    return s;
}

void rt_stream_release(struct rt_stream *s)
{
    if (!s) return;
    if (s->device->current == s) rt_stream_enter(s->device, NULL);
    rt_streams_lock();
    all.slots[s->slot].released = true;
    drop_released(false);
    rt_streams_unlock();
}

enum rt_status rt_stream_alive(const struct rt_stream *s, struct rt_error *e)
{
    if (!s || s->generation == s->device->generation) return RT_OK;
    return rt_fail(e, RT_DEVICE, "stream %u was lost when a kernel's fault reset %s; make it anew", s->number,
                   s->device->name);
}

/* A pointer that somebody kept may lead to nothing by now. */
static bool is_live(const struct rt_stream *s)
{
    bool live = false;
    rt_streams_lock();
    for (int i = 0; i < RT_STREAMS; i++) live |= all.slots[i].stream == s && !all.slots[i].released;
    rt_streams_unlock();
    return live;
}

struct rt_stream *rt_stream_enter(struct rt_device *d, struct rt_stream *s)
{
    struct rt_stream *former = d->current;
    if (s && (!is_live(s) || s->generation != d->generation)) s = NULL; /* somebody freed it, or a fault took it */
    d->current = s;
    d->stream = s ? s->handle : NULL;
    return former;
}

enum rt_status rt_stream_synchronize(struct rt_device *d, struct rt_stream *s, struct rt_error *e)
{
    if (!s) return rt_device_synchronize(d, e); /* what is in the default stream waits for all others */
    enum rt_status status = rt_stream_alive(s, e);
    if (status == RT_OK) status = rt_device_enter(d, e);
    if (status == RT_OK && d->driver) {
        CUresult r = rt_poll(look_at_stream, s);
        if (r == CUDA_SUCCESS) r = d->driver->StreamSynchronize(s->handle); /* lets out what kernels printed */
        status = waited(d, r, e, "waiting for a stream");
    }
    if (status != RT_OK) return status;
    struct rt_order order;
    rt_streams_lock();
    take_order(d, s, &order);
    host_joins(&order);
    rt_streams_unlock();
    return RT_OK;
}

enum rt_status rt_stream_done(struct rt_device *d, struct rt_stream *s, bool *done, struct rt_error *e)
{
    *done = true;
    enum rt_status status = rt_stream_alive(s, e);
    if (status == RT_OK) status = rt_device_enter(d, e);
    if (status != RT_OK || !d->driver) return status;
    CUresult r = d->driver->StreamQuery(s ? s->handle : NULL);
    *done = r != CUDA_ERROR_NOT_READY;
    return *done ? rt_device_check(d, r, e, "looking at a stream") : RT_OK;
}

static enum rt_status event_alive(const struct rt_event *v, struct rt_error *e)
{
    if (v->generation == v->device->generation) return rt_device_enter(v->device, e);
    return rt_fail(e, RT_DEVICE, "the event was lost when a kernel's fault reset %s; make it anew", v->device->name);
}

/* Whether the event is something to wait for. */
static enum rt_status event_waits(const struct rt_event *v, struct rt_error *e)
{
    if (!v->in_graph) return event_alive(v, e);
    return rt_fail(
        e, RT_INVALID,
        "the event was recorded in a graph, where it orders the graph's work; what waits for a launch of the "
        "graph is an event behind g:launch()");
}

enum rt_status rt_stream_wait(struct rt_device *d, struct rt_stream *s, const struct rt_event *v, struct rt_error *e)
{
    enum rt_status status = rt_stream_alive(s, e);
    if (status == RT_OK && (v->device->kind != d->kind))
        return rt_fail(e, RT_INVALID,
                       "a stream of %s cannot wait for an event of %s; let the host wait by e:synchronize()", d->name,
                       v->device->name);
    if (status == RT_OK && v->generation != v->device->generation)
        status = rt_fail(e, RT_DEVICE, "the event was lost when a kernel's fault reset %s", v->device->name);
    if (status == RT_OK && !d->recording && v->in_graph) return event_waits(v, e);
    if (status == RT_OK) status = rt_device_enter(d, e);
    if (status != RT_OK || !v->recorded) return status;
    if (d->driver)
        status = rt_device_check(d, d->driver->StreamWaitEvent(s ? s->handle : NULL, v->handle, CU_EVENT_WAIT_DEFAULT),
                                 e, "waiting for an event");
    if (status != RT_OK || !s) return status;
    rt_streams_lock();
    join(&s->after, &v->after);
    rt_streams_unlock();
    return RT_OK;
}

/* ---- events ---- */

enum rt_status rt_event_new(struct rt_device *d, struct rt_event *v, struct rt_error *e)
{
    *v = (struct rt_event){.device = d, .generation = d->generation};
    enum rt_status status = rt_device_enter(d, e);
    if (status == RT_OK && d->driver)
        status = rt_device_check(d, d->driver->EventCreate(&v->handle, CU_EVENT_DEFAULT), e, "creating an event");
    if (status != RT_OK) *v = (struct rt_event){0};
    return status;
}

void rt_event_release(struct rt_event *v)
{
    struct rt_device *d = v->device;
    if (v->handle && v->generation == d->generation && rt_device_enter(d, NULL) == RT_OK)
        d->driver->EventDestroy(v->handle);
    *v = (struct rt_event){0};
}

enum rt_status rt_event_record(struct rt_event *v, struct rt_stream *s, struct rt_error *e)
{
    struct rt_device *d = v->device;
    enum rt_status status = event_alive(v, e);
    if (status == RT_OK) status = rt_stream_alive(s, e);
    if (status != RT_OK) return status;
    v->in_graph = d->recording != NULL;
    if (v->in_graph) v->recorded = false;
    if (v->in_graph) return RT_OK;
    if (d->driver)
        status = rt_device_check(d, d->driver->EventRecord(v->handle, s ? s->handle : NULL), e, "recording an event");
    if (status != RT_OK) return status;
    v->recorded = true;
    v->host_ms = rt_now_ms();
    rt_streams_lock();
    take_order(d, s, &v->after);
    rt_streams_unlock();
    return RT_OK;
}

static void event_is_done(const struct rt_event *v)
{
    rt_streams_lock();
    host_joins(&v->after);
    rt_streams_unlock();
}

enum rt_status rt_event_done(const struct rt_event *v, bool *done, struct rt_error *e)
{
    *done = true;
    enum rt_status status = event_waits(v, e);
    if (status != RT_OK || !v->recorded) return status;
    CUresult r = v->handle ? look_at_event((void *)(uintptr_t)v) : CUDA_SUCCESS;
    *done = r != CUDA_ERROR_NOT_READY;
    if (*done) status = rt_device_check(v->device, r, e, "looking at an event");
    if (*done && status == RT_OK) event_is_done(v);
    return status;
}

enum rt_status rt_event_synchronize(const struct rt_event *v, struct rt_error *e)
{
    enum rt_status status = event_waits(v, e);
    if (status != RT_OK || !v->recorded) return status;
    if (v->handle) {
        CUresult r = rt_poll(look_at_event, (void *)(uintptr_t)v);
        if (r == CUDA_SUCCESS) r = v->device->driver->EventSynchronize(v->handle); /* lets out what kernels printed */
        status = waited(v->device, r, e, "waiting for an event");
    }
    if (status == RT_OK) event_is_done(v);
    return status;
}

enum rt_status rt_event_elapsed(const struct rt_event *from, const struct rt_event *to, double *ms, struct rt_error *e)
{
    struct rt_device *d = from->device;
    float elapsed = 0;
    if (to->device != d)
        return rt_fail(e, RT_INVALID, "the events are of two devices, %s and %s", d->name, to->device->name);
    if (from->in_graph || to->in_graph) return event_waits(from->in_graph ? from : to, e);
    if (!from->recorded || !to->recorded)
        return rt_fail(e, RT_INVALID, "the %s event was never recorded; e:record() does",
                       from->recorded ? "later" : "earlier");
    enum rt_status status = rt_event_synchronize(from, e);
    if (status == RT_OK) status = rt_event_synchronize(to, e);
    if (status == RT_OK && d->driver)
        status =
            rt_device_check(d, d->driver->EventElapsedTime(&elapsed, from->handle, to->handle), e, "reading events");
    *ms = d->driver ? (double)elapsed : to->host_ms - from->host_ms;
    return status;
}

/* ---- devices ---- */

void rt_streams_synchronized(struct rt_device *d)
{
    rt_streams_lock();
    barrier(d);
    drop_released(false);
    rt_streams_unlock();
}

void rt_streams_lost(struct rt_device *d)
{
    rt_stream_enter(d, NULL);
    if (!rt_has_streams()) return;
    rt_streams_lock();
    for (int i = 0; i < RT_STREAMS; i++)
        if (all.slots[i].stream && all.slots[i].stream->device == d) all.slots[i].stream->handle = NULL;
    barrier(d);
    drop_released(false);
    rt_streams_unlock();
}
