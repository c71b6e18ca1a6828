/* Memory pools and allocation in a stream's order. Memory is allocated by the call and freed when the stream comes to
 * that; where there is none, once more when all that is to be freed has been. A pool keeps nothing back, so its
 * thresholds are kept and given back only. */
#include "runtime/simt/libcuda/libcuda.h"
#include <pthread.h>
#include <stdlib.h>
#include "runtime/memory.h"

static struct CUmemPoolHandle_st default_pool;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CUmemoryPool current_pool = &default_pool; /* of the device */

static CUresult check_pool(CUmemoryPool pool)
{
    TRY(simt_check_device(0));
    return pool == &default_pool || simt_handle_is(pool, SIMT_POOL) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *p)
{
    TRY(simt_check_device(0));
    if (!pool || !p || p->allocType != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
    if (p->location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
    if (p->location.id != 0) return CUDA_ERROR_INVALID_DEVICE;
    if (p->handleTypes != CU_MEM_HANDLE_TYPE_NONE) return CUDA_ERROR_NOT_SUPPORTED; /* for other processes */
    CUmemoryPool m = rt_calloc(1, sizeof *m);
    if (!m || !simt_handle_add(m, SIMT_POOL)) {
        free(m);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    m->most = p->maxSize;
    *pool = m;
    return CUDA_SUCCESS;
}

/* What was allocated from it stays, and takes the rest of the pool along when it goes. */
CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
    TRY(check_pool(pool));
    if (pool == &default_pool) return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    if (current_pool == pool) current_pool = &default_pool;
    pthread_mutex_unlock(&lock);
    simt_handle_remove(pool, SIMT_POOL);
    simt_lock();
    pool->destroyed = true;
    bool empty = pool->used == 0;
    simt_unlock();
    if (empty) free(pool);
    return CUDA_SUCCESS;
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep)
{
    (void)keep;
    return check_pool(pool);
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
    TRY(check_pool(pool));
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        pool->no_reuse[attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES] = *(int *)value == 0;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: pool->threshold = *(cuuint64_t *)value; return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: /* can be reset only */
        if (*(cuuint64_t *)value != 0) return CUDA_ERROR_INVALID_VALUE;
        simt_lock();
        pool->high = pool->used;
        simt_unlock();
        return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
    TRY(check_pool(pool));
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = CUDA_SUCCESS;
    simt_lock();
    switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        *(int *)value = !pool->no_reuse[attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES];
        break;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: *(cuuint64_t *)value = pool->threshold; break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: *(cuuint64_t *)value = pool->used; break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: *(cuuint64_t *)value = pool->high; break;
    default: r = CUDA_ERROR_INVALID_VALUE; break;
    }
    simt_unlock();
    return r;
}

static CUresult check_location(const CUmemLocation *location)
{
    if (!location) return CUDA_ERROR_INVALID_VALUE;
    if (location->type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
    return location->id == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

/* The one device may always read and write, and that cannot be changed. */
CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *access, size_t count)
{
    TRY(check_pool(pool));
    if (count > 0 && !access) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        TRY(check_location(&access[i].location));
        if (access[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool pool, CUmemLocation *location)
{
    TRY(check_pool(pool));
    TRY(check_location(location));
    if (!flags) return CUDA_ERROR_INVALID_VALUE;
    *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device)
{
    TRY(simt_check_device(device));
    if (!pool) return CUDA_ERROR_INVALID_VALUE;
    *pool = &default_pool;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice device)
{
    TRY(simt_check_device(device));
    if (!pool) return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    *pool = current_pool;
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool)
{
    TRY(simt_check_device(device));
    TRY(check_pool(pool));
    pthread_mutex_lock(&lock);
    current_pool = pool;
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

CUresult cuMemGetDefaultMemPool(CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type)
{
    TRY(simt_check_device(0));
    TRY(check_location(location));
    return type == CU_MEM_ALLOCATION_TYPE_PINNED ? cuDeviceGetDefaultMemPool(pool, 0) : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuMemGetMemPool(CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type)
{
    TRY(simt_check_device(0));
    TRY(check_location(location));
    return type == CU_MEM_ALLOCATION_TYPE_PINNED ? cuDeviceGetMemPool(pool, 0) : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool)
{
    TRY(simt_check_device(0));
    TRY(check_location(location));
    return type == CU_MEM_ALLOCATION_TYPE_PINNED ? cuDeviceSetMemPool(0, pool) : CUDA_ERROR_NOT_SUPPORTED;
}

/* ---- Allocating ---- */

/* A captured allocation is a graph's. */
static CUresult capture(CUdeviceptr *pointer, size_t bytes, CUstream stream)
{
    struct libcuda_params p;
    bool captured;
    CUDA_MEM_ALLOC_NODE_PARAMS wish = {
        .poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location.type = CU_MEM_LOCATION_TYPE_DEVICE},
        .bytesize = bytes};
    TRY(libcuda_new_allocation(&wish, &p));
    CUresult r = libcuda_capture_node(stream, &p, &captured);
    libcuda_let_go(p.allocation);
    if (r == CUDA_SUCCESS) *pointer = wish.dptr;
    return r;
}

static CUresult allocate(CUdeviceptr *pointer, size_t bytes, CUmemoryPool pool)
{
    simt_lock();
    bool full = pool->most > 0 && bytes > pool->most - pool->used;
    CUresult r = full ? CUDA_ERROR_OUT_OF_MEMORY : simt_memory_new(pointer, bytes, pool);
    simt_unlock();
    return r;
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *pointer, size_t bytes, CUmemoryPool pool, CUstream stream)
{
    TRY(simt_stream_ready(stream));
    TRY(check_pool(pool));
    if (!pointer) return CUDA_ERROR_INVALID_VALUE;
    if (bytes == 0) *pointer = 0; /* nothing, as far as pools are concerned; cuMemAlloc refuses it */
    if (bytes == 0) return CUDA_SUCCESS;
    if (libcuda_capturing(stream)) return capture(pointer, bytes, stream);
    CUresult r = allocate(pointer, bytes, pool);
    if (r != CUDA_ERROR_OUT_OF_MEMORY) return r;
    simt_settle(false);
    return allocate(pointer, bytes, pool);
}

CUresult cuMemAllocAsync(CUdeviceptr *pointer, size_t bytes, CUstream stream)
{
    CUmemoryPool pool;
    TRY(cuDeviceGetMemPool(&pool, 0));
    return cuMemAllocFromPoolAsync(pointer, bytes, pool, stream);
}

static CUresult free_now(const uint64_t *with)
{
    simt_lock();
    bool freed = simt_memory_free(with[0]);
    simt_unlock();
    return freed ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult free_in_order(CUdeviceptr pointer, CUstream stream)
{
    struct simt_work work = {.kind = SIMT_WORK_CALL, .call = {.run = free_now, .with = {pointer}, .on_device = true}};
    if (pointer == 0) return CUDA_SUCCESS;
    if (!simt_handle_is((void *)(uintptr_t)pointer, SIMT_MEMORY)) return CUDA_ERROR_INVALID_VALUE;
    return libcuda_enqueue(stream, &work);
}

/* Captured, it can free what graphs allocate and nothing else. */
CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream stream)
{
    bool captured;
    TRY(simt_stream_ready(stream));
    if (!libcuda_capturing(stream)) return free_in_order(pointer, stream);
    if (!libcuda_is_graphs(pointer)) return CUDA_ERROR_INVALID_VALUE;
    struct libcuda_params p = {.type = CU_GRAPH_NODE_TYPE_MEM_FREE, .freed = pointer};
    return libcuda_capture_node(stream, &p, &captured);
}
