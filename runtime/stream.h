/* Streams and events, and what is ordered before what.
 *
 * A device's work goes to its current stream: the default one unless another was entered. Work of one stream runs in
 * its order; work of two may overlap unless an event, a wait or the host puts one before the other. The default stream
 * is CUDA's legacy one: its work comes behind everything that was given to the device before, and everything later
 * comes behind it. On the cpu and the software GPU work has run when it was issued; streams there order as on a GPU, so
 * that a program which forgets to is found out (runtime/uses.h).
 *
 * The order is kept in vector clocks: each stream counts how often it was recorded, and knows of every other up to
 * which count it waits for. One lock holds all of it. Until the first stream is made none of this costs more than a
 * look at rt_streams_on. */
#ifndef RT_STREAM_H
#define RT_STREAM_H

#include <stdatomic.h>
#include "runtime/device.h"

#define RT_STREAMS 64 /* that live at a time, on all devices together */

struct rt_order { /* what is done or waited for: of each stream, the work up to that count */
    uint32_t upto[RT_STREAMS];
};

struct rt_stream {
    struct rt_device *device;
    CUstream handle; /* NULL on the cpu */
    unsigned number; /* "stream 3" in messages */
    unsigned generation;
    int slot;
    struct rt_order after; /* what its next work comes behind, besides what the host has waited for */
};

struct rt_event {
    struct rt_device *device;
    CUevent handle; /* NULL on the cpu */
    unsigned generation;
    bool recorded;
    bool in_graph;  /* recorded while a graph was, whose work keeps its order */
    double host_ms; /* on the cpu: when */
    struct rt_order after;
};

extern atomic_bool rt_streams_on; /* some stream was made */
static inline bool rt_has_streams(void)
{
    return atomic_load_explicit(&rt_streams_on, memory_order_relaxed);
}

/* NULL with RT_UNSUPPORTED when RT_STREAMS live, with RT_NOMEM, or as the driver says. */
struct rt_stream *rt_stream_new(struct rt_device *d, struct rt_error *e);
/* Gives it up; NULL is fine. Work that is under way goes on. A stream that is current is left first. */
void rt_stream_release(struct rt_stream *s);
/* RT_DEVICE when a GPU's fault took it. Every function here that takes streams or events looks. */
enum rt_status rt_stream_alive(const struct rt_stream *s, struct rt_error *e);
/* Makes it the device's current one, NULL the default one; returns the former. One that was lost
 * or released meanwhile stands for the default one, too. */
struct rt_stream *rt_stream_enter(struct rt_device *d, struct rt_stream *s);

/* In the following, s NULL stands for the default stream of d. Waiting polls rt_interrupted, as
 * rt_device_synchronize does, and reports faults of earlier kernels. */
enum rt_status rt_stream_synchronize(struct rt_device *d, struct rt_stream *s, struct rt_error *e);
enum rt_status rt_stream_done(struct rt_device *d, struct rt_stream *s, bool *done, struct rt_error *e);
/* What s is given from now on comes behind the event; nothing, when it was never recorded. RT_INVALID when a graph
 * recorded it and none is being recorded: no launch of the graph is what it stands for. While a graph is recorded,
 * which keeps the order of the calls, it does nothing. */
enum rt_status rt_stream_wait(struct rt_device *d, struct rt_stream *s, const struct rt_event *v, struct rt_error *e);

/* An event of the device that is not recorded yet; all zeros after an error. */
enum rt_status rt_event_new(struct rt_device *d, struct rt_event *v, struct rt_error *e);
void rt_event_release(struct rt_event *v); /* all zeros are fine */
/* Marks the end of what was given to s so far; s is a stream of the event's device. While a graph is recorded the event
 * becomes the graph's: until it is recorded anew, what waits for it outside, or asks for it, is RT_INVALID. */
enum rt_status rt_event_record(struct rt_event *v, struct rt_stream *s, struct rt_error *e);
/* Never recorded, an event is done. */
enum rt_status rt_event_done(const struct rt_event *v, bool *done, struct rt_error *e);
enum rt_status rt_event_synchronize(const struct rt_event *v, struct rt_error *e);
/* Milliseconds between two events of one device, which are waited for. RT_INVALID when one was never recorded. */
enum rt_status rt_event_elapsed(const struct rt_event *from, const struct rt_event *to, double *ms, struct rt_error *e);

/* ---- for the rest of runtime/ ---- */

/* Looks again and again until the look says no more CUDA_ERROR_NOT_READY, or somebody interrupts; the driver's answer.
 */
CUresult rt_poll(CUresult (*look)(void *context), void *context);
/* CUDA_ERROR_NOT_READY while a stream of the device has work to do. */
CUresult rt_streams_query(struct rt_device *d);
/* The host has waited for all of the device's work. */
void rt_streams_synchronized(struct rt_device *d);
/* The device's context is gone, and its streams with it. */
void rt_streams_lost(struct rt_device *d);
/* Work is given to the device's current stream. */
void rt_streams_worked(struct rt_device *d);

/* Under the lock: */
void rt_streams_lock(void);
void rt_streams_unlock(void);
/* Notes work for the device's current stream and returns the count that stands for it; 0 for the default stream's,
 * which is in order with all else of the device. */
uint32_t rt_streams_stamp(struct rt_device *d);
/* Is the work of that slot up to the count done, or ordered before what s (NULL: only what is done) is given now? */
bool rt_streams_ordered(int slot, uint32_t count, const struct rt_stream *s);
/* From now on it counts as ordered before what s is given. */
void rt_streams_assume(struct rt_stream *s, int slot, uint32_t count);
/* The stream in that slot, which may have been released; NULL when its work is done. */
struct rt_stream *rt_streams_at(int slot);

#endif
