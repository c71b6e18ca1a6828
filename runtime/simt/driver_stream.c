/* The software GPU's driver: streams, events, and the one place where work of a stream is done: in the issuing thread,
 * when it is issued, or by libcuda-simt.so's queue. */
#include <stdlib.h>
#include <time.h>
#include "runtime/memory.h"
#include "runtime/simt/entries.h"

/* ---- Work ---- */

struct simt_captures simt_captures;
struct simt_queue simt_queue;

CUresult simt_perform(const struct simt_work *work)
{
    switch (work->kind) {
    case SIMT_WORK_KERNEL: simt_run_kernel(&work->kernel); break;
    case SIMT_WORK_COPY: return simt_copy(&work->copy);
    case SIMT_WORK_FILL: return simt_fill(&work->fill);
    case SIMT_WORK_HOST: work->host.fn(work->host.userData); break;
    case SIMT_WORK_RECORD: clock_gettime(CLOCK_MONOTONIC, &work->event->time); break;
    case SIMT_WORK_CALL: return work->call.run(work->call.with);
    case SIMT_WORK_WAIT: break;
    }
    return CUDA_SUCCESS;
}

static CUresult issue(CUstream stream, const struct simt_work *work, bool wait)
{
    CUresult r = simt_stream_ready(stream);
    if (r != CUDA_SUCCESS) return r;
    if (atomic_load(&simt_captures.count) > 0 && simt_captures.issue(stream, work, &r)) return r;
    if (work->kind == SIMT_WORK_RECORD) {
        work->event->recorded = true;
        free(work->event->captured);
        work->event->captured = NULL;
    }
    return simt_queue.issue ? simt_queue.issue(stream, work, wait) : simt_perform(work);
}

CUresult simt_issue(CUstream stream, const struct simt_work *work)
{
    return issue(stream, work, false);
}

CUresult simt_issue_now(CUstream stream, const struct simt_work *work)
{
    return issue(stream, work, true);
}

CUresult simt_allowed(void)
{
    return atomic_load(&simt_captures.count) > 0 ? simt_captures.unsafe() : CUDA_SUCCESS;
}

void simt_settle(bool told)
{
    if (simt_queue.settle) simt_queue.settle(told);
}

/* ---- Streams ---- */

CUresult simt_stream_ready(CUstream stream)
{
    CUresult r = simt_ready();
    if (r != CUDA_SUCCESS) return r;
    if (!stream || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD) return CUDA_SUCCESS;
    return simt_handle_is(stream, SIMT_STREAM) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUcontext simt_stream_context(CUstream stream)
{
    bool own = stream && stream != CU_STREAM_LEGACY && stream != CU_STREAM_PER_THREAD;
    return own ? stream->context : simt_current();
}

CUresult simt_StreamCreate(CUstream *stream, unsigned int flags)
{
    CUresult r = simt_ready();
    if (r != CUDA_SUCCESS) return r;
    if (!stream || flags > CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
    CUstream s = rt_calloc(1, sizeof *s);
    struct simt_handle about;
    if (!s) return CUDA_ERROR_OUT_OF_MEMORY;
    s->flags = flags;
    s->context = simt_current();
    if (!simt_handle_add(s, SIMT_STREAM)) {
        free(s);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (simt_handle_get(s, SIMT_STREAM, &about)) s->id = about.id;
    *stream = s;
    return CUDA_SUCCESS;
}

CUresult simt_StreamDestroy(CUstream stream)
{
    CUresult r = simt_check_device(0);
    if (r != CUDA_SUCCESS) return r;
    if (simt_queue.idle && simt_handle_is(stream, SIMT_STREAM)) simt_queue.idle(stream, true);
    if (!simt_handle_remove(stream, SIMT_STREAM)) return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture) simt_captures.leave(stream);
    free(stream);
    return CUDA_SUCCESS;
}

/* A wait that ends before what it waits for is one of a function that a stream calls. */
static CUresult not_done(bool wait)
{
    return wait ? CUDA_ERROR_NOT_PERMITTED : CUDA_ERROR_NOT_READY;
}

static CUresult ask_stream(CUstream stream, bool wait)
{
    CUresult r = simt_stream_ready(stream);
    if (r == CUDA_SUCCESS && atomic_load(&simt_captures.count) > 0) r = simt_captures.wait(stream, false);
    if (r != CUDA_SUCCESS) return r;
    return simt_queue.idle && !simt_queue.idle(stream, wait) ? not_done(wait) : simt_pending();
}

CUresult simt_StreamQuery(CUstream stream)
{
    return ask_stream(stream, false);
}

CUresult simt_StreamSynchronize(CUstream stream)
{
    return ask_stream(stream, true);
}

/* ---- Events ---- */

static CUresult event_ready(CUevent event)
{
    CUresult r = simt_ready();
    if (r != CUDA_SUCCESS) return r;
    return simt_handle_is(event, SIMT_EVENT) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult simt_StreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
    CUresult r = simt_stream_ready(stream);
    if (r == CUDA_SUCCESS) r = event_ready(event);
    if (r != CUDA_SUCCESS) return r;
    if (flags > CU_EVENT_WAIT_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
    if (atomic_load(&simt_captures.count) > 0 && simt_captures.join(stream, event, flags, &r)) return r;
    if (event->captured) return CUDA_ERROR_CAPTURED_EVENT;
    if (flags == CU_EVENT_WAIT_EXTERNAL) return CUDA_ERROR_INVALID_VALUE; /* that is for captures */
    return simt_queue.after ? simt_queue.after(stream, event) : CUDA_SUCCESS;
}

CUresult simt_EventCreate(CUevent *event, unsigned int flags)
{
    CUresult r = simt_ready();
    if (r != CUDA_SUCCESS) return r;
    const unsigned known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    bool shared = flags & CU_EVENT_INTERPROCESS, timed = !(flags & CU_EVENT_DISABLE_TIMING);
    if (!event || flags & ~known || (shared && timed)) return CUDA_ERROR_INVALID_VALUE;
    CUevent v = rt_calloc(1, sizeof *v);
    if (!v) return CUDA_ERROR_OUT_OF_MEMORY;
    v->flags = flags;
    v->context = simt_current();
    if (!simt_handle_add(v, SIMT_EVENT)) {
        free(v);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *event = v;
    return CUDA_SUCCESS;
}

CUresult simt_EventDestroy(CUevent event)
{
    CUresult r = simt_check_device(0);
    if (r != CUDA_SUCCESS) return r;
    if (simt_queue.happened && simt_handle_is(event, SIMT_EVENT)) simt_queue.happened(event, true);
    if (!simt_handle_remove(event, SIMT_EVENT)) return CUDA_ERROR_INVALID_HANDLE;
    free(event->captured);
    free(event);
    return CUDA_SUCCESS;
}

CUresult simt_EventRecord(CUevent event, CUstream stream)
{
    CUresult r = simt_stream_ready(stream);
    if (r == CUDA_SUCCESS) r = event_ready(event);
    if (r == CUDA_SUCCESS && event->context != simt_stream_context(stream)) r = CUDA_ERROR_INVALID_HANDLE;
    if (r != CUDA_SUCCESS) return r;
    return simt_issue(stream, &(struct simt_work){.kind = SIMT_WORK_RECORD, .event = event});
}

static CUresult ask_event(CUevent event, bool wait)
{
    CUresult r = event_ready(event);
    if (r == CUDA_SUCCESS && event->captured) r = CUDA_ERROR_CAPTURED_EVENT;
    if (r == CUDA_SUCCESS) r = simt_allowed();
    if (r != CUDA_SUCCESS) return r;
    return simt_queue.happened && !simt_queue.happened(event, wait) ? not_done(wait) : simt_pending();
}

CUresult simt_EventQuery(CUevent event)
{
    return ask_event(event, false);
}

CUresult simt_EventSynchronize(CUevent event)
{
    return ask_event(event, true);
}

CUresult simt_EventElapsedTime(float *milliseconds, CUevent start, CUevent end)
{
    CUresult r = event_ready(start);
    if (r == CUDA_SUCCESS) r = event_ready(end);
    if (r != CUDA_SUCCESS) return r;
    if (!milliseconds) return CUDA_ERROR_INVALID_VALUE;
    if (!start->recorded || !end->recorded || (start->flags | end->flags) & CU_EVENT_DISABLE_TIMING)
        return CUDA_ERROR_INVALID_HANDLE;
    if (simt_queue.happened && !(simt_queue.happened(start, false) && simt_queue.happened(end, false)))
        return CUDA_ERROR_NOT_READY;
    double seconds = (double)(end->time.tv_sec - start->time.tv_sec);
    *milliseconds = (float)(seconds * 1e3 + (double)(end->time.tv_nsec - start->time.tv_nsec) * 1e-6);
    return CUDA_SUCCESS;
}
