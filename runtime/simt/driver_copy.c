/* The software GPU's driver: copies and fills. All copies are one, that of a box from one side to the other; every
 * range on the device is checked against the live allocations, every array against its shape. */
#include <string.h>
#include "runtime/simt/entries.h"
#include "runtime/threads.h"

void *simt_range(CUdeviceptr address, size_t bytes)
{
    struct simt_block block;
    struct simt_mapped m;
    if (simt_look(address, &block)) return bytes <= block.bytes - (address - block.address) ? simt_host(address) : NULL;
    if (simt_mapped_look(address, &m) && bytes <= m.bytes - (address - m.start)) return (void *)(uintptr_t)address;
    return NULL;
}

void simt_lock_against_checks(void)
{
    if (!simt_queue.issue || simt_watch.begin) simt_lock();
}

void simt_unlock_against_checks(void)
{
    if (!simt_queue.issue || simt_watch.begin) simt_unlock();
}

/* ---- Copies ---- */

/* One side of a copy: what the caller said of it, and where that lies. */
struct side {
    CUmemorytype type;
    size_t x, y, z, lod, pitch, height;
    const void *host;
    CUdeviceptr device;
    CUarray array;
    char *base; /* found: the box's first byte, and the distance of its rows and slices */
    size_t row, slice;
    CUdeviceptr at; /* of memory that is not the host's: the range that it lies in */
    size_t bytes;
    bool pageable; /* the driver does not know the host memory */
};

/* Bytes from a box's first to past its last; false when that is too large a number. */
static bool extent(const struct side *s, const CUDA_MEMCPY3D *c, size_t *bytes)
{
    size_t rows, planes;
    return !__builtin_mul_overflow(c->Depth - 1, s->slice, &planes) &&
           !__builtin_mul_overflow(c->Height - 1, s->row, &rows) && !__builtin_add_overflow(rows, planes, bytes) &&
           !__builtin_add_overflow(*bytes, c->WidthInBytes, bytes);
}

static CUresult find_in_array(struct side *s, const CUDA_MEMCPY3D *c)
{
    CUarray a = s->array;
    if (!simt_handle_is(a, SIMT_ARRAY)) return CUDA_ERROR_INVALID_HANDLE;
    size_t height = a->shape.Height ? a->shape.Height : 1, depth = a->shape.Depth ? a->shape.Depth : 1;
    bool within = s->x <= a->row && c->WidthInBytes <= a->row - s->x && s->y <= height && c->Height <= height - s->y &&
                  s->z <= depth && c->Depth <= depth - s->z;
    if (!within || s->x % a->element || c->WidthInBytes % a->element) return CUDA_ERROR_INVALID_VALUE;
    s->row = a->pitch;
    s->slice = a->slice;
    s->base = (char *)simt_host(a->memory) + s->z * a->slice + s->y * a->pitch + s->x;
    return CUDA_SUCCESS;
}

/* Unified addresses are of the device when no host pointer can have them. */
static CUresult find_side(struct side *s, const CUDA_MEMCPY3D *c)
{
    if (s->lod != 0) return CUDA_ERROR_INVALID_VALUE;
    if (s->type == CU_MEMORYTYPE_ARRAY) return find_in_array(s, c);
    bool rows = c->Height > 1 || c->Depth > 1 || s->y > 0 || s->z > 0;
    if (rows && s->pitch != 0 && (s->pitch < c->WidthInBytes || s->pitch - c->WidthInBytes < s->x))
        return CUDA_ERROR_INVALID_VALUE;
    s->row = s->pitch ? s->pitch : s->x + c->WidthInBytes;
    if (__builtin_mul_overflow(s->row, s->height ? s->height : s->y + c->Height, &s->slice))
        return CUDA_ERROR_INVALID_VALUE;
    size_t offset = s->z * s->slice + s->y * s->row + s->x, bytes;
    if (!extent(s, c, &bytes)) return CUDA_ERROR_INVALID_VALUE;
    bool on_host = s->type == CU_MEMORYTYPE_HOST || (s->type == CU_MEMORYTYPE_UNIFIED && s->device < SIMT_GLOBAL_BASE);
    if (on_host) {
        const void *host = s->type == CU_MEMORYTYPE_HOST ? s->host : (const void *)(uintptr_t)s->device;
        struct simt_mapped m;
        if (host) s->base = (char *)(uintptr_t)host + offset;
        s->pageable = !simt_mapped_look((uintptr_t)s->base, &m);
    } else if (s->type == CU_MEMORYTYPE_DEVICE || s->type == CU_MEMORYTYPE_UNIFIED) {
        s->at = s->device + offset;
        s->bytes = bytes;
        s->base = simt_range(s->at, bytes);
    }
    return s->base ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static void copy_box(const struct side *to, const struct side *from, const CUDA_MEMCPY3D *c)
{
    if (c->Height == 1 && c->Depth == 1) {
        rt_parallel_copy(to->base, from->base, c->WidthInBytes);
        return;
    }
    for (size_t z = 0; z < c->Depth; z++) {
        for (size_t y = 0; y < c->Height; y++)
            memmove(to->base + z * to->slice + y * to->row, from->base + z * from->slice + y * from->row,
                    c->WidthInBytes);
    }
}

static bool is_empty(const CUDA_MEMCPY3D *c)
{
    return c->WidthInBytes == 0 || c->Height == 0 || c->Depth == 0;
}

static CUresult find_sides(const CUDA_MEMCPY3D *c, struct side *from, struct side *to)
{
    *from = (struct side){.type = c->srcMemoryType, .x = c->srcXInBytes, .y = c->srcY, .z = c->srcZ, .lod = c->srcLOD};
    *to = (struct side){.type = c->dstMemoryType, .x = c->dstXInBytes, .y = c->dstY, .z = c->dstZ, .lod = c->dstLOD};
    from->host = c->srcHost, from->device = c->srcDevice, from->array = c->srcArray;
    from->pitch = c->srcPitch, from->height = c->srcHeight;
    to->host = c->dstHost, to->device = c->dstDevice, to->array = c->dstArray;
    to->pitch = c->dstPitch, to->height = c->dstHeight;
    CUresult r = find_side(from, c);
    return r == CUDA_SUCCESS ? find_side(to, c) : r;
}

CUresult simt_look_at_copy(const CUDA_MEMCPY3D *c, bool *pageable)
{
    struct side from, to;
    *pageable = false;
    if (is_empty(c)) return CUDA_SUCCESS;
    CUresult r = find_sides(c, &from, &to);
    *pageable = from.pageable || to.pageable;
    return r;
}

CUresult simt_copy(const CUDA_MEMCPY3D *c)
{
    struct side from, to;
    if (is_empty(c)) return CUDA_SUCCESS;
    simt_lock_against_checks();
    CUresult r = find_sides(c, &from, &to);
    if (r == CUDA_SUCCESS) {
        simt_wrote(from.at, from.bytes); /* what host code looks at counts as written */
        simt_wrote(to.at, to.bytes);
        copy_box(&to, &from, c);
    }
    simt_unlock_against_checks();
    return r;
}

struct simt_work simt_line_copy(CUmemorytype to_type, CUdeviceptr to, CUmemorytype from_type, CUdeviceptr from,
                                size_t bytes)
{
    return (struct simt_work){.kind = SIMT_WORK_COPY,
                              .copy = {.srcMemoryType = from_type,
                                       .srcHost = (const void *)(uintptr_t)from,
                                       .srcDevice = from,
                                       .dstMemoryType = to_type,
                                       .dstHost = (void *)(uintptr_t)to,
                                       .dstDevice = to,
                                       .WidthInBytes = bytes,
                                       .Height = 1,
                                       .Depth = 1}};
}

CUresult simt_finished(void)
{
    CUresult r = simt_ready();
    if (r == CUDA_SUCCESS && simt_queue.idle) simt_queue.idle(NULL, true);
    return r == CUDA_SUCCESS ? simt_pending() : r;
}

#define HOST   CU_MEMORYTYPE_HOST
#define DEVICE CU_MEMORYTYPE_DEVICE

/* What waits for its copy also gives the result of the work before it. */
static CUresult copy_now(struct simt_work work)
{
    CUresult r = simt_finished();
    return r == CUDA_SUCCESS ? simt_issue_now(NULL, &work) : r;
}

CUresult simt_MemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes)
{
    return copy_now(simt_line_copy(DEVICE, to, HOST, (uintptr_t)from, bytes));
}

CUresult simt_MemcpyDtoH(void *to, CUdeviceptr from, size_t bytes)
{
    return copy_now(simt_line_copy(HOST, (uintptr_t)to, DEVICE, from, bytes));
}

CUresult simt_MemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    return copy_now(simt_line_copy(DEVICE, to, DEVICE, from, bytes));
}

CUresult simt_MemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    struct simt_work work = simt_line_copy(DEVICE, to, HOST, (uintptr_t)from, bytes);
    return simt_issue(stream, &work);
}

CUresult simt_MemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    struct simt_work work = simt_line_copy(HOST, (uintptr_t)to, DEVICE, from, bytes);
    return simt_issue(stream, &work);
}

CUresult simt_MemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    struct simt_work work = simt_line_copy(DEVICE, to, DEVICE, from, bytes);
    return simt_issue(stream, &work);
}

/* ---- Filling ---- */

#define FILL_PIECE ((size_t)2 << 20) /* bytes that a thread takes at a time: a huge page */

CUresult simt_check_fill(const CUDA_MEMSET_NODE_PARAMS *f)
{
    size_t bytes, all;
    bool sizes = f->elementSize == 1 || f->elementSize == 2 || f->elementSize == 4;
    if (!sizes || f->dst % f->elementSize || __builtin_mul_overflow(f->width, f->elementSize, &bytes))
        return CUDA_ERROR_INVALID_VALUE;
    if (f->height > 1 && (f->pitch < bytes || f->pitch % f->elementSize)) return CUDA_ERROR_INVALID_VALUE;
    return __builtin_mul_overflow(f->pitch, f->height, &all) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

struct fill {
    char *row;
    unsigned value, size; /* of an element */
};

static void fill_piece(void *context, size_t begin, size_t end, int worker)
{
    const struct fill *f = context;
    bool bytes = f->size == 1 || (uint8_t)f->value * 0x01010101u >> (32 - 8 * f->size) == f->value;
    (void)worker;
    if (bytes) {
        memset(f->row + begin * f->size, (int)f->value, (end - begin) * f->size);
    } else if (f->size == 2) {
        for (size_t i = begin; i < end; i++) ((uint16_t *)(void *)f->row)[i] = (uint16_t)f->value;
    } else {
        for (size_t i = begin; i < end; i++) ((uint32_t *)(void *)f->row)[i] = f->value;
    }
}

/* Host threads share a long row: also the work of getting its pages, when it is touched for the first time. */
static void fill_row(void *row, const CUDA_MEMSET_NODE_PARAMS *f)
{
    struct fill fill = {row, f->value, f->elementSize};
    if (f->elementSize == 2) fill.value &= 0xffff;
    rt_parallel_for(f->width, FILL_PIECE / f->elementSize, fill_piece, &fill);
}

static size_t bytes_of_fill(const CUDA_MEMSET_NODE_PARAMS *f)
{
    if (f->width == 0 || f->height == 0) return 0;
    return f->width * f->elementSize + (f->height > 1 ? (f->height - 1) * f->pitch : 0);
}

CUresult simt_look_at_fill(const CUDA_MEMSET_NODE_PARAMS *f, bool *on_host)
{
    size_t bytes = bytes_of_fill(f);
    *on_host = bytes && f->dst < SIMT_GLOBAL_BASE;
    return !bytes || simt_range(f->dst, bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult simt_fill(const CUDA_MEMSET_NODE_PARAMS *f)
{
    size_t bytes = bytes_of_fill(f);
    if (!bytes) return CUDA_SUCCESS;
    simt_lock_against_checks();
    char *target = simt_range(f->dst, bytes);
    if (target) simt_wrote(f->dst, bytes);
    for (size_t y = 0; target && y < f->height; y++) fill_row(target + y * f->pitch, f);
    simt_unlock_against_checks();
    return target ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult simt_issue_fill(CUdeviceptr to, unsigned value, unsigned size, size_t pitch, size_t width, size_t height,
                         CUstream stream)
{
    struct simt_work work = {.kind = SIMT_WORK_FILL, .fill = {to, pitch, value, size, width, height}};
    CUresult r = simt_stream_ready(stream);
    if (r == CUDA_SUCCESS) r = simt_check_fill(&work.fill);
    return r == CUDA_SUCCESS ? simt_issue(stream, &work) : r;
}

CUresult simt_MemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream)
{
    return simt_issue_fill(to, value, sizeof value, 0, count, 1, stream);
}

CUresult simt_MemsetD32Async(CUdeviceptr to, unsigned int value, size_t count, CUstream stream)
{
    return simt_issue_fill(to, value, sizeof value, 0, count, 1, stream);
}

CUresult simt_Memcpy3D(const CUDA_MEMCPY3D *copy)
{
    if (!copy) return CUDA_ERROR_INVALID_VALUE;
    TRY(simt_finished());
    return simt_issue_now(NULL, &(struct simt_work){.kind = SIMT_WORK_COPY, .copy = *copy});
}
