/* Streams, events and launches beyond the plain ones. */
#include "runtime/simt/libcuda/libcuda.h"
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/threads.h"

static bool is_own(CUstream stream)
{
    return stream && stream != CU_STREAM_LEGACY && stream != CU_STREAM_PER_THREAD;
}

/* ---- Streams ---- */

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority)
{
    TRY(simt_StreamCreate(stream, flags));
    (*stream)->priority = priority > 0 ? 0 : priority < SIMT_HIGHEST_PRIORITY ? SIMT_HIGHEST_PRIORITY : priority;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetPriority(CUstream stream, int *priority)
{
    TRY(simt_stream_ready(stream));
    if (!priority) return CUDA_ERROR_INVALID_VALUE;
    *priority = is_own(stream) ? stream->priority : 0;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetFlags(CUstream stream, unsigned int *flags)
{
    TRY(simt_stream_ready(stream));
    if (!flags) return CUDA_ERROR_INVALID_VALUE;
    *flags = is_own(stream) ? stream->flags : 0;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetId(CUstream stream, unsigned long long *id)
{
    TRY(simt_stream_ready(stream));
    if (!id) return CUDA_ERROR_INVALID_VALUE;
    *id = is_own(stream) ? stream->id : stream == CU_STREAM_PER_THREAD ? 2 : 1;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetDevice(CUstream stream, CUdevice *device)
{
    TRY(simt_stream_ready(stream));
    if (!device) return CUDA_ERROR_INVALID_VALUE;
    *device = 0;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx(CUstream stream, CUcontext *context)
{
    TRY(simt_stream_ready(stream));
    if (!context) return CUDA_ERROR_INVALID_VALUE;
    *context = simt_stream_context(stream);
    return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx_v2(CUstream stream, CUcontext *context, CUgreenCtx *green)
{
    if (green) *green = NULL;
    return cuStreamGetCtx(stream, context);
}

/* Attributes are hints that are kept by nobody, but for the priority. */
CUresult cuStreamGetAttribute(CUstream stream, CUstreamAttrID attribute, CUstreamAttrValue *value)
{
    TRY(simt_stream_ready(stream));
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    memset(value, 0, sizeof *value);
    switch (attribute) {
    case CU_LAUNCH_ATTRIBUTE_PRIORITY: return cuStreamGetPriority(stream, &value->priority);
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY: value->syncPolicy = CU_SYNC_POLICY_AUTO; return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP: return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult cuStreamSetAttribute(CUstream stream, CUstreamAttrID attribute, const CUstreamAttrValue *value)
{
    CUstreamAttrValue now;
    TRY(cuStreamGetAttribute(stream, attribute, &now));
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    if (attribute == CU_LAUNCH_ATTRIBUTE_PRIORITY && is_own(stream)) stream->priority = value->priority;
    return CUDA_SUCCESS;
}

CUresult cuStreamCopyAttributes(CUstream to, CUstream from)
{
    TRY(simt_stream_ready(to));
    TRY(simt_stream_ready(from));
    if (is_own(to) && is_own(from)) to->priority = from->priority;
    return CUDA_SUCCESS;
}

struct callback {
    CUstream stream;
    CUstreamCallback function;
    void *data;
};

static void call_back(void *context)
{
    struct callback c = *(struct callback *)context;
    free(context);
    c.function(c.stream, CUDA_SUCCESS, c.data);
}

CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void *data, unsigned int flags)
{
    TRY(simt_stream_ready(stream));
    if (!callback || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    if (libcuda_capturing(stream)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    struct callback *c = rt_alloc(sizeof *c);
    if (!c) return CUDA_ERROR_OUT_OF_MEMORY;
    *c = (struct callback){stream, callback, data};
    CUresult r = libcuda_enqueue(stream, &(struct simt_work){.kind = SIMT_WORK_HOST, .host = {call_back, c}});
    if (r != CUDA_SUCCESS) free(c);
    return r;
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data)
{
    TRY(simt_stream_ready(stream));
    if (!function) return CUDA_ERROR_INVALID_VALUE;
    return simt_issue(stream, &(struct simt_work){.kind = SIMT_WORK_HOST, .host = {function, data}});
}

/* ---- A stream's own writes and waits, which are in its order ---- */

static CUresult word_of(CUstream stream, CUdeviceptr address, size_t bytes, void **word)
{
    TRY(simt_stream_ready(stream));
    if (libcuda_capturing(stream)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    *word = address % bytes == 0 ? simt_range(address, bytes) : NULL;
    return *word ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* What such work is told of: where, of a wait in the host's memory, in how many bytes, and the value. */
enum { WORD, BYTES, VALUE, HOW };

static CUresult write_word(const uint64_t *with)
{
    simt_lock_against_checks();
    void *word = simt_range(with[WORD], with[BYTES]);
    if (word) simt_wrote(with[WORD], with[BYTES]);
    if (word && with[BYTES] == 4)
        __atomic_store_n((uint32_t *)word, (uint32_t)with[VALUE], __ATOMIC_RELEASE);
    else if (word)
        __atomic_store_n((uint64_t *)word, with[VALUE], __ATOMIC_RELEASE);
    simt_unlock_against_checks();
    return word ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult write_value(CUstream stream, CUdeviceptr address, uint64_t value, size_t bytes, unsigned flags)
{
    void *word;
    if (flags > CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER) return CUDA_ERROR_INVALID_VALUE;
    TRY(word_of(stream, address, bytes, &word));
    struct simt_work work = {.kind = SIMT_WORK_CALL, .call = {.run = write_word, .with = {address, bytes, value}}};
    return libcuda_enqueue(stream, &work);
}

static bool holds(const uint64_t *with)
{
    size_t bytes = with[BYTES];
    uint64_t mask = bytes == 4 ? UINT32_MAX : UINT64_MAX, value = with[VALUE];
    uint64_t now = bytes == 4 ? __atomic_load_n((const uint32_t *)(uintptr_t)with[WORD], __ATOMIC_ACQUIRE)
                              : __atomic_load_n((const uint64_t *)(uintptr_t)with[WORD], __ATOMIC_ACQUIRE);
    switch (with[HOW]) {
    case CU_STREAM_WAIT_VALUE_GEQ: return bytes == 4 ? (int32_t)(now - value) >= 0 : (int64_t)(now - value) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ: return now == value;
    case CU_STREAM_WAIT_VALUE_AND: return (now & value) != 0;
    default: return (~(now | value) & mask) != 0;
    }
}

static CUresult wait_value(CUstream stream, CUdeviceptr address, uint64_t value, size_t bytes, unsigned flags)
{
    void *word;
    if ((flags & ~(unsigned)CU_STREAM_WAIT_VALUE_FLUSH) > CU_STREAM_WAIT_VALUE_NOR) return CUDA_ERROR_INVALID_VALUE;
    TRY(word_of(stream, address, bytes, &word));
    struct simt_work work = {.kind = SIMT_WORK_WAIT,
                             .call = {.over = holds, .with = {(uintptr_t)word, bytes, value, flags & 3}}};
    return libcuda_enqueue(stream, &work);
}

CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned int flags)
{
    return write_value(stream, address, value, sizeof value, flags);
}

CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned int flags)
{
    return write_value(stream, address, value, sizeof value, flags);
}

CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned int flags)
{
    return wait_value(stream, address, value, sizeof value, flags);
}

CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned int flags)
{
    return wait_value(stream, address, value, sizeof value, flags);
}

static CUresult one_operation(CUstream stream, const CUstreamBatchMemOpParams *p)
{
    CUdeviceptr to = p->writeValue.address, at = p->waitValue.address;
    switch (p->operation) {
    case CU_STREAM_MEM_OP_WRITE_VALUE_32: return write_value(stream, to, p->writeValue.value, 4, p->writeValue.flags);
    case CU_STREAM_MEM_OP_WRITE_VALUE_64: return write_value(stream, to, p->writeValue.value64, 8, p->writeValue.flags);
    case CU_STREAM_MEM_OP_WAIT_VALUE_32: return wait_value(stream, at, p->waitValue.value, 4, p->waitValue.flags);
    case CU_STREAM_MEM_OP_WAIT_VALUE_64: return wait_value(stream, at, p->waitValue.value64, 8, p->waitValue.flags);
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
    case CU_STREAM_MEM_OP_BARRIER: return CUDA_SUCCESS; /* all is in order */
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned int count, CUstreamBatchMemOpParams *list, unsigned int flags)
{
    TRY(simt_stream_ready(stream));
    if (count == 0 || count > 256 || !list || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++) TRY(one_operation(stream, &list[i]));
    return CUDA_SUCCESS;
}

/* ---- Events ---- */

CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned int flags)
{
    if (flags > CU_EVENT_RECORD_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
    return flags == CU_EVENT_RECORD_EXTERNAL ? libcuda_record_external(event, stream) : simt_EventRecord(event, stream);
}

CUresult cuEventElapsedTime_v2(float *milliseconds, CUevent start, CUevent end)
{
    return simt_EventElapsedTime(milliseconds, start, end);
}
