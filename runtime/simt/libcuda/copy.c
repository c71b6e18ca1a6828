/* All the other names of copies and fills. Each is a box that goes to simt_issue; a copy without a stream waits for the
 * work before it, gives its result, and is done when the call returns. */
#include "runtime/simt/libcuda/libcuda.h"

#define HOST    CU_MEMORYTYPE_HOST
#define DEVICE  CU_MEMORYTYPE_DEVICE
#define UNIFIED CU_MEMORYTYPE_UNIFIED

static CUresult now(const struct simt_work *work)
{
    TRY(simt_finished());
    return simt_issue_now(NULL, work);
}

/* ---- One line ---- */

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    struct simt_work w = simt_line_copy(UNIFIED, to, UNIFIED, from, bytes);
    return now(&w);
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    struct simt_work w = simt_line_copy(UNIFIED, to, UNIFIED, from, bytes);
    return simt_issue(stream, &w);
}

static CUresult check_contexts(CUcontext to, CUcontext from)
{
    TRY(simt_ready());
    bool good = simt_handle_is(to, SIMT_CONTEXT) && simt_handle_is(from, SIMT_CONTEXT);
    return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes)
{
    TRY(check_contexts(to_context, from_context));
    return simt_MemcpyDtoD(to, from, bytes);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes,
                           CUstream stream)
{
    TRY(check_contexts(to_context, from_context));
    return simt_MemcpyDtoDAsync(to, from, bytes, stream);
}

/* ---- One line of an array ---- */

static struct simt_work into_array(CUarray to, size_t offset, CUmemorytype type, CUdeviceptr from, size_t bytes)
{
    struct simt_work w = simt_line_copy(CU_MEMORYTYPE_ARRAY, 0, type, from, bytes);
    w.copy.dstArray = to;
    w.copy.dstXInBytes = offset;
    return w;
}

static struct simt_work from_array(CUmemorytype type, CUdeviceptr to, CUarray from, size_t offset, size_t bytes)
{
    struct simt_work w = simt_line_copy(type, to, CU_MEMORYTYPE_ARRAY, 0, bytes);
    w.copy.srcArray = from;
    w.copy.srcXInBytes = offset;
    return w;
}

CUresult cuMemcpyDtoA_v2(CUarray to, size_t offset, CUdeviceptr from, size_t bytes)
{
    struct simt_work w = into_array(to, offset, DEVICE, from, bytes);
    return now(&w);
}

CUresult cuMemcpyHtoA_v2(CUarray to, size_t offset, const void *from, size_t bytes)
{
    struct simt_work w = into_array(to, offset, HOST, (uintptr_t)from, bytes);
    return now(&w);
}

CUresult cuMemcpyHtoAAsync_v2(CUarray to, size_t offset, const void *from, size_t bytes, CUstream stream)
{
    struct simt_work w = into_array(to, offset, HOST, (uintptr_t)from, bytes);
    return simt_issue(stream, &w);
}

CUresult cuMemcpyAtoD_v2(CUdeviceptr to, CUarray from, size_t offset, size_t bytes)
{
    struct simt_work w = from_array(DEVICE, to, from, offset, bytes);
    return now(&w);
}

CUresult cuMemcpyAtoH_v2(void *to, CUarray from, size_t offset, size_t bytes)
{
    struct simt_work w = from_array(HOST, (uintptr_t)to, from, offset, bytes);
    return now(&w);
}

CUresult cuMemcpyAtoHAsync_v2(void *to, CUarray from, size_t offset, size_t bytes, CUstream stream)
{
    struct simt_work w = from_array(HOST, (uintptr_t)to, from, offset, bytes);
    return simt_issue(stream, &w);
}

CUresult cuMemcpyAtoA_v2(CUarray to, size_t to_offset, CUarray from, size_t from_offset, size_t bytes)
{
    struct simt_work w = from_array(CU_MEMORYTYPE_ARRAY, 0, from, from_offset, bytes);
    w.copy.dstArray = to;
    w.copy.dstXInBytes = to_offset;
    return now(&w);
}

/* ---- Rectangles and boxes ---- */

static struct simt_work rectangle(const CUDA_MEMCPY2D *c)
{
    return (struct simt_work){.kind = SIMT_WORK_COPY,
                              .copy = {.srcXInBytes = c->srcXInBytes,
                                       .srcY = c->srcY,
                                       .srcMemoryType = c->srcMemoryType,
                                       .srcHost = c->srcHost,
                                       .srcDevice = c->srcDevice,
                                       .srcArray = c->srcArray,
                                       .srcPitch = c->srcPitch,
                                       .dstXInBytes = c->dstXInBytes,
                                       .dstY = c->dstY,
                                       .dstMemoryType = c->dstMemoryType,
                                       .dstHost = c->dstHost,
                                       .dstDevice = c->dstDevice,
                                       .dstArray = c->dstArray,
                                       .dstPitch = c->dstPitch,
                                       .WidthInBytes = c->WidthInBytes,
                                       .Height = c->Height,
                                       .Depth = 1}};
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *c)
{
    if (!c) return CUDA_ERROR_INVALID_VALUE;
    struct simt_work w = rectangle(c);
    return now(&w);
}

CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *c)
{
    return cuMemcpy2D_v2(c);
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *c, CUstream stream)
{
    if (!c) return CUDA_ERROR_INVALID_VALUE;
    struct simt_work w = rectangle(c);
    return simt_issue(stream, &w);
}

CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *c, CUstream stream)
{
    if (!c) return CUDA_ERROR_INVALID_VALUE;
    return simt_issue(stream, &(struct simt_work){.kind = SIMT_WORK_COPY, .copy = *c});
}

static CUresult between_contexts(const CUDA_MEMCPY3D_PEER *c, struct simt_work *w)
{
    if (!c) return CUDA_ERROR_INVALID_VALUE;
    TRY(check_contexts(c->dstContext, c->srcContext));
    *w = (struct simt_work){.kind = SIMT_WORK_COPY,
                            .copy = {.srcXInBytes = c->srcXInBytes,
                                     .srcY = c->srcY,
                                     .srcZ = c->srcZ,
                                     .srcLOD = c->srcLOD,
                                     .srcMemoryType = c->srcMemoryType,
                                     .srcHost = c->srcHost,
                                     .srcDevice = c->srcDevice,
                                     .srcArray = c->srcArray,
                                     .srcPitch = c->srcPitch,
                                     .srcHeight = c->srcHeight,
                                     .dstXInBytes = c->dstXInBytes,
                                     .dstY = c->dstY,
                                     .dstZ = c->dstZ,
                                     .dstLOD = c->dstLOD,
                                     .dstMemoryType = c->dstMemoryType,
                                     .dstHost = c->dstHost,
                                     .dstDevice = c->dstDevice,
                                     .dstArray = c->dstArray,
                                     .dstPitch = c->dstPitch,
                                     .dstHeight = c->dstHeight,
                                     .WidthInBytes = c->WidthInBytes,
                                     .Height = c->Height,
                                     .Depth = c->Depth}};
    return CUDA_SUCCESS;
}

CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *c)
{
    struct simt_work w;
    TRY(between_contexts(c, &w));
    return now(&w);
}

CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *c, CUstream stream)
{
    struct simt_work w;
    TRY(between_contexts(c, &w));
    return simt_issue(stream, &w);
}

/* Many copies of lines in one call; the attributes say which memory is meant and when it is read: in the
 * stream's order, or before the call returns. */
CUresult cuMemcpyBatchAsync_v2(CUdeviceptr *to, CUdeviceptr *from, size_t *bytes, size_t count, CUmemcpyAttributes *how,
                               size_t *first, size_t kinds, CUstream stream)
{
    TRY(simt_stream_ready(stream));
    bool good = stream && stream != CU_STREAM_LEGACY && to && from && bytes && count > 0 && how && first && kinds > 0;
    if (!good || kinds > count || first[0] != 0) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < kinds; i++) {
        bool ordered = i == 0 || (first[i] > first[i - 1] && first[i] < count);
        unsigned order = how[i].srcAccessOrder;
        if (!ordered || order < CU_MEMCPY_SRC_ACCESS_ORDER_STREAM || order > CU_MEMCPY_SRC_ACCESS_ORDER_ANY)
            return CUDA_ERROR_INVALID_VALUE;
    }
    bool at_once = false;
    for (size_t i = 0; i < kinds; i++) at_once |= how[i].srcAccessOrder == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
    for (size_t i = 0; i < count; i++) {
        struct simt_work w = simt_line_copy(UNIFIED, to[i], UNIFIED, from[i], bytes[i]);
        TRY(at_once ? simt_issue_now(stream, &w) : simt_issue(stream, &w));
    }
    return CUDA_SUCCESS;
}

CUresult cuMemcpyBatchAsync(CUdeviceptr *to, CUdeviceptr *from, size_t *bytes, size_t count, CUmemcpyAttributes *how,
                            size_t *first, size_t kinds, size_t *failed, CUstream stream)
{
    if (failed) *failed = SIZE_MAX; /* no single one */
    return cuMemcpyBatchAsync_v2(to, from, bytes, count, how, first, kinds, stream);
}

/* ---- Fills: of a line, and of rows that are a pitch apart ---- */

#define FILLS(suffix, type)                                                                                            \
    CUresult cuMemset##suffix##_v2(CUdeviceptr to, type value, size_t count)                                           \
    {                                                                                                                  \
        return simt_issue_fill(to, value, sizeof value, 0, count, 1, NULL);                                            \
    }                                                                                                                  \
    CUresult cuMemsetD2##suffix##_v2(CUdeviceptr to, size_t pitch, type value, size_t width, size_t height)            \
    {                                                                                                                  \
        return simt_issue_fill(to, value, sizeof value, pitch, width, height, NULL);                                   \
    }                                                                                                                  \
    CUresult cuMemsetD2##suffix##Async(CUdeviceptr to, size_t pitch, type value, size_t width, size_t height,          \
                                       CUstream stream)                                                                \
    {                                                                                                                  \
        return simt_issue_fill(to, value, sizeof value, pitch, width, height, stream);                                 \
    }

FILLS(D8, unsigned char)
FILLS(D16, unsigned short)
FILLS(D32, unsigned int)

CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream)
{
    return simt_issue_fill(to, value, sizeof value, 0, count, 1, stream);
}
