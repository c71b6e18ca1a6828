/* Memory beyond plain allocations: pitched, registered and managed memory, and what a pointer says of itself. Advice on
 * managed memory is taken and has no effect: host and device share it anyway. */
#include "runtime/simt/libcuda/libcuda.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PITCH 256 /* rows begin at multiples of it */

CUresult cuMemAllocPitch_v2(CUdeviceptr *pointer, size_t *pitch, size_t width, size_t height, unsigned int element)
{
    size_t row, bytes;
    TRY(simt_ready());
    if (!pointer || !pitch || width == 0 || height == 0) return CUDA_ERROR_INVALID_VALUE;
    if (element != 4 && element != 8 && element != 16) return CUDA_ERROR_INVALID_VALUE;
    if (__builtin_add_overflow(width, PITCH - 1, &row)) return CUDA_ERROR_INVALID_VALUE;
    row = row / PITCH * PITCH;
    if (__builtin_mul_overflow(row, height, &bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
    TRY(simt_MemAlloc(pointer, bytes));
    *pitch = row;
    return CUDA_SUCCESS;
}

CUresult cuMemAllocHost_v2(void **pointer, size_t bytes)
{
    return simt_MemHostAlloc(pointer, bytes, 0);
}

CUresult cuMemAllocManaged(CUdeviceptr *pointer, size_t bytes, unsigned int flags)
{
    void *p;
    TRY(simt_ready());
    if (!pointer || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST) return CUDA_ERROR_INVALID_VALUE;
    TRY(simt_host_new(&p, bytes, SIMT_MANAGED, flags));
    memset(p, 0, bytes);
    *pointer = (uintptr_t)p;
    return CUDA_SUCCESS;
}

/* ---- Host memory that a program has from elsewhere ---- */

static bool any_mapped(uintptr_t start, size_t bytes)
{
    struct simt_mapped m;
    return simt_mapped_find(start, &m) || (simt_mapped_next(start, NULL, &m) && m.start - start < bytes);
}

/* Asks the system whether the pages are there: a wrong range would otherwise crash a kernel's host thread. */
static bool is_there(uintptr_t start, size_t bytes)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = start / page * page;
    return msync((void *)first, start + bytes - first, MS_ASYNC) == 0;
}

CUresult cuMemHostRegister_v2(void *pointer, size_t bytes, unsigned int flags)
{
    uintptr_t start = (uintptr_t)pointer;
    TRY(simt_ready());
    if (!pointer || bytes == 0 || flags > 15 || start + bytes < start) return CUDA_ERROR_INVALID_VALUE;
    if (!is_there(start, bytes)) return CUDA_ERROR_INVALID_VALUE;
    simt_lock();
    CUresult r = any_mapped(start, bytes) ? CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED : CUDA_SUCCESS;
    struct simt_mapped m = {
        .start = start, .bytes = bytes, .kind = SIMT_REGISTERED, .flags = flags, .owner = simt_current()};
    if (r == CUDA_SUCCESS && !simt_map(&m)) r = CUDA_ERROR_OUT_OF_MEMORY;
    simt_unlock();
    return r;
}

CUresult cuMemHostUnregister(void *pointer)
{
    struct simt_mapped m;
    TRY(simt_check_device(0));
    if (!pointer) return CUDA_ERROR_INVALID_VALUE;
    simt_settle(false);
    simt_lock();
    bool found = simt_mapped_find((uintptr_t)pointer, &m) && m.start == (uintptr_t)pointer && m.kind == SIMT_REGISTERED;
    if (found) simt_unmap(m.start);
    simt_unlock();
    return found ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}

static bool on_host(enum simt_mapped_kind kind)
{
    return kind == SIMT_PINNED || kind == SIMT_REGISTERED;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *address, void *pointer, unsigned int flags)
{
    struct simt_mapped m;
    TRY(simt_ready());
    if (!address || flags != 0 || !simt_mapped_look((uintptr_t)pointer, &m)) return CUDA_ERROR_INVALID_VALUE;
    *address = (uintptr_t)pointer;
    return CUDA_SUCCESS;
}

CUresult cuMemHostGetFlags(unsigned int *flags, void *pointer)
{
    struct simt_mapped m;
    TRY(simt_ready());
    if (!flags || !simt_mapped_look((uintptr_t)pointer, &m) || !on_host(m.kind)) return CUDA_ERROR_INVALID_VALUE;
    *flags = m.flags | CU_MEMHOSTALLOC_DEVICEMAP;
    return CUDA_SUCCESS;
}

/* ---- What lies at an address ---- */

struct place {
    CUdeviceptr start;
    size_t bytes;
    bool on_host, managed;
    CUcontext context;
    CUmemoryPool pool;
    uint64_t id;
    void *host;
};

static bool find_place(CUdeviceptr address, struct place *out)
{
    struct simt_block b;
    struct simt_mapped m;
    struct simt_handle h = {0};
    *out = (struct place){0};
    bool found = simt_look(address, &b), mapped = !found && simt_mapped_look(address, &m);
    if (found) {
        simt_handle_get((void *)(uintptr_t)b.address, SIMT_MEMORY, &h);
        *out = (struct place){.start = b.address, .bytes = b.bytes, .context = h.owner, .pool = h.extra, .id = h.id};
    } else if (mapped) {
        *out = (struct place){.start = m.start,
                              .bytes = m.bytes,
                              .on_host = on_host(m.kind),
                              .managed = m.kind == SIMT_MANAGED || m.kind == SIMT_MANAGED_VARIABLE,
                              .context = m.owner,
                              .id = m.id,
                              .host = m.kind == SIMT_VIRTUAL ? NULL : (void *)(uintptr_t)address};
    }
    return found || mapped;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr address)
{
    struct place p;
    TRY(simt_ready());
    if (!find_place(address, &p)) return CUDA_ERROR_NOT_FOUND;
    if (base) *base = p.start;
    if (bytes) *bytes = p.bytes;
    return CUDA_SUCCESS;
}

#define SET(type, value) (*(type *)data = (type)(value), CUDA_SUCCESS)

static CUresult pointer_attribute(void *data, CUpointer_attribute attribute, CUdeviceptr address, const struct place *p)
{
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: return SET(CUcontext, p->context);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: return SET(unsigned, p->on_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: return SET(CUdeviceptr, address);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER: return p->host ? SET(void *, p->host) : CUDA_ERROR_INVALID_VALUE;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: return SET(unsigned, 1);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID: return SET(unsigned long long, p->id);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: return SET(unsigned, p->managed);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: return SET(int, 0);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE: return SET(unsigned, 0);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR: return SET(CUdeviceptr, p->start);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE: return SET(size_t, p->bytes);
    case CU_POINTER_ATTRIBUTE_MAPPED: return SET(unsigned, 1);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES: return SET(unsigned long long, 0);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS: return SET(unsigned, CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: return SET(CUmemoryPool, p->pool);
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr address)
{
    struct place p;
    TRY(simt_ready());
    if (!data || !find_place(address, &p)) return CUDA_ERROR_INVALID_VALUE;
    return pointer_attribute(data, attribute, address, &p);
}

/* The attributes of a pointer that is not the driver's are zeros, and that is no error. */
CUresult cuPointerGetAttributes(unsigned int count, CUpointer_attribute *attributes, void **data, CUdeviceptr address)
{
    struct place p;
    TRY(simt_ready());
    if (count == 0 || !attributes || !data) return CUDA_ERROR_INVALID_VALUE;
    bool found = find_place(address, &p);
    for (unsigned i = 0; i < count; i++) {
        if (!data[i]) return CUDA_ERROR_INVALID_VALUE;
        CUresult r = pointer_attribute(data[i], attributes[i], found ? address : 0, &p);
        if (r != CUDA_SUCCESS && attributes[i] != CU_POINTER_ATTRIBUTE_HOST_POINTER) return r;
        if (!found && attributes[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE) *(unsigned *)data[i] = 0;
        if (!found && attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) *(int *)data[i] = CU_DEVICE_INVALID;
        if (!p.host && attributes[i] == CU_POINTER_ATTRIBUTE_HOST_POINTER) *(void **)data[i] = NULL;
    }
    return CUDA_SUCCESS;
}

CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr address)
{
    struct place p;
    TRY(simt_ready());
    bool good = value && attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS && find_place(address, &p);
    return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; /* all are synchronous */
}

/* ---- Advice ---- */

static CUresult check_managed(CUdeviceptr address, size_t count)
{
    struct place p;
    TRY(simt_ready());
    bool good = count > 0 && find_place(address, &p) && p.managed && count <= p.bytes - (address - p.start);
    return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult check_location(CUmemLocation location)
{
    bool device = location.type == CU_MEM_LOCATION_TYPE_DEVICE;
    if (location.type > CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT) return CUDA_ERROR_INVALID_VALUE;
    return device && location.id != 0 ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t count, CUmemLocation location, unsigned int flags,
                               CUstream stream)
{
    TRY(simt_stream_ready(stream));
    TRY(check_managed(address, count));
    return flags != 0 ? CUDA_ERROR_INVALID_VALUE : check_location(location);
}

static CUmemLocation location_of(CUdevice device)
{
    bool host = device == CU_DEVICE_CPU;
    return (CUmemLocation){.type = host ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE,
                           .id = host ? 0 : device};
}

CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t count, CUdevice device, CUstream stream)
{
    return cuMemPrefetchAsync_v2(address, count, location_of(device), 0, stream);
}

CUresult cuMemAdvise_v2(CUdeviceptr address, size_t count, CUmem_advise advice, CUmemLocation location)
{
    TRY(check_managed(address, count));
    if (advice < CU_MEM_ADVISE_SET_READ_MOSTLY || advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY)
        return CUDA_ERROR_INVALID_VALUE;
    return check_location(location);
}

CUresult cuMemAdvise(CUdeviceptr address, size_t count, CUmem_advise advice, CUdevice device)
{
    return cuMemAdvise_v2(address, count, advice, location_of(device));
}

CUresult cuStreamAttachMemAsync(CUstream stream, CUdeviceptr address, size_t length, unsigned int flags)
{
    struct place p;
    TRY(simt_stream_ready(stream));
    if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST && flags != CU_MEM_ATTACH_SINGLE)
        return CUDA_ERROR_INVALID_VALUE;
    bool null = !stream || stream == CU_STREAM_LEGACY; /* which is of all streams */
    bool good = find_place(address, &p) && p.managed && (length == 0 || length == p.bytes) &&
                !(null && flags == CU_MEM_ATTACH_SINGLE);
    return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
