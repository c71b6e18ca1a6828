/* The software GPU's driver: streams, events, and the one place where work of a stream is done. Work runs when it is
 * issued, in the issuing thread, so streams and events are always done; they exist to be valid or invalid, and events
 * carry the time. */
#include <stdlib.h>
#include <time.h>
#include "runtime/memory.h"
#include "runtime/simt/entries.h"

/* ---- Work ---- */

struct simt_captures simt_captures;

CUresult simt_perform(const struct simt_work *work)
{
    switch (work->kind) {
    case SIMT_WORK_KERNEL: simt_run_kernel(&work->kernel); break;
    case SIMT_WORK_COPY: return simt_copy(&work->copy);
    case SIMT_WORK_FILL: return simt_fill(&work->fill);
    case SIMT_WORK_HOST: work->host.fn(work->host.userData); break;
    case SIMT_WORK_RECORD:
        clock_gettime(CLOCK_MONOTONIC, &work->event->time);
        work->event->recorded = true;
        free(work->event->captured);
        work->event->captured = NULL;
        break;
    }
    return CUDA_SUCCESS;
}

CUresult simt_issue(CUstream stream, const struct simt_work *work)
{
    CUresult r = simt_stream_ready(stream);
    if (r != CUDA_SUCCESS) return r;
    return atomic_load(&simt_captures.count) > 0 ? simt_captures.issue(stream, work) : simt_perform(work);
}

/* ---- Streams ---- */

CUresult simt_stream_ready(CUstream stream)
{
    CUresult r = simt_ready();
    if (r != CUDA_SUCCESS) return r;
    if (!stream || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD) return CUDA_SUCCESS;
    return simt_handle_is(stream, SIMT_STREAM) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
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
    if (!simt_handle_remove(stream, SIMT_STREAM)) return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture) simt_captures.leave(stream);
    free(stream);
    return CUDA_SUCCESS;
}

CUresult simt_StreamQuery(CUstream stream)
{
    CUresult r = simt_stream_ready(stream);
    if (r == CUDA_SUCCESS && atomic_load(&simt_captures.count) > 0) r = simt_captures.wait(stream, false);
    return r == CUDA_SUCCESS ? simt_pending() : r;
}

CUresult simt_StreamSynchronize(CUstream stream)
{
    return simt_StreamQuery(stream);
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
    if (atomic_load(&simt_captures.count) > 0) return simt_captures.join(stream, event, flags);
    return event->captured ? CUDA_ERROR_CAPTURED_EVENT : CUDA_SUCCESS;
}

CUresult simt_EventCreate(CUevent *event, unsigned int flags)
{
    CUresult r = simt_ready();
    if (r != CUDA_SUCCESS) return r;
    if (!event || flags > (CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING)) return CUDA_ERROR_INVALID_VALUE;
    CUevent v = rt_calloc(1, sizeof *v);
    if (!v) return CUDA_ERROR_OUT_OF_MEMORY;
    v->flags = flags;
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
    if (!simt_handle_remove(event, SIMT_EVENT)) return CUDA_ERROR_INVALID_HANDLE;
    free(event->captured);
    free(event);
    return CUDA_SUCCESS;
}

CUresult simt_EventRecord(CUevent event, CUstream stream)
{
    CUresult r = simt_stream_ready(stream);
    if (r == CUDA_SUCCESS) r = event_ready(event);
    if (r != CUDA_SUCCESS) return r;
    return simt_issue(stream, &(struct simt_work){.kind = SIMT_WORK_RECORD, .event = event});
}

CUresult simt_EventQuery(CUevent event)
{
    CUresult r = event_ready(event);
    if (r == CUDA_SUCCESS && event->captured) r = CUDA_ERROR_CAPTURED_EVENT;
    return r == CUDA_SUCCESS ? simt_pending() : r;
}

CUresult simt_EventSynchronize(CUevent event)
{
    return simt_EventQuery(event);
}

CUresult simt_EventElapsedTime(float *milliseconds, CUevent start, CUevent end)
{
    CUresult r = event_ready(start);
    if (r == CUDA_SUCCESS) r = event_ready(end);
    if (r != CUDA_SUCCESS) return r;
    if (!milliseconds) return CUDA_ERROR_INVALID_VALUE;
    if (!start->recorded || !end->recorded || (start->flags | end->flags) & CU_EVENT_DISABLE_TIMING)
        return CUDA_ERROR_INVALID_HANDLE;
    double seconds = (double)(end->time.tv_sec - start->time.tv_sec);
    *milliseconds = (float)(seconds * 1e3 + (double)(end->time.tv_nsec - start->time.tv_nsec) * 1e-6);
    return CUDA_SUCCESS;
}
