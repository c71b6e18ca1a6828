/* The software GPU's driver: allocations of device memory and of host memory that kernels may use. */
#include <stdlib.h>
#include "runtime/memory.h"
#include "runtime/simt/entries.h"

CUresult simt_MemGetInfo(size_t *free_bytes, size_t *total)
{
    CUresult r = simt_ready();
    if (r != CUDA_SUCCESS) return r;
    if (!free_bytes || !total) return CUDA_ERROR_INVALID_VALUE;
    simt_memory_info(free_bytes, total);
    return *total > 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static void *handle_of(CUdeviceptr pointer)
{
    return (void *)(uintptr_t)pointer;
}

CUresult simt_memory_new(CUdeviceptr *pointer, size_t bytes, CUmemoryPool pool)
{
    uint64_t address = 0;
    if (simt_alloc(bytes, &address, NULL) != RT_OK) return CUDA_ERROR_OUT_OF_MEMORY;
    if (!simt_handle_add(handle_of(address), SIMT_MEMORY)) {
        simt_free(address);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (pool) {
        simt_handle_set(handle_of(address), SIMT_MEMORY, pool);
        pool->used += bytes;
        if (pool->used > pool->high) pool->high = pool->used;
    }
    *pointer = address;
    return CUDA_SUCCESS;
}

bool simt_memory_free(CUdeviceptr pointer)
{
    struct simt_handle about;
    struct simt_block block = {0};
    if (!simt_handle_get(handle_of(pointer), SIMT_MEMORY, &about)) return false;
    simt_handle_remove(handle_of(pointer), SIMT_MEMORY);
    simt_find(pointer, &block);
    CUmemoryPool pool = about.extra;
    bool keeps = pool && pool->keeps;
    if (pool && (pool->used -= block.bytes) == 0 && pool->destroyed) free(pool);
    return keeps || simt_free(pointer);
}

CUresult simt_MemAlloc(CUdeviceptr *pointer, size_t bytes)
{
    CUresult r = simt_ready();
    if (r != CUDA_SUCCESS) return r;
    if (!pointer || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    TRY(simt_allowed());
    simt_lock();
    r = simt_memory_new(pointer, bytes, NULL);
    simt_unlock();
    return r;
}

/* A managed allocation is host memory, freed by its host address. */
static bool free_managed(CUdeviceptr pointer)
{
    struct simt_mapped m;
    if (!simt_mapped_find(pointer, &m) || m.start != pointer || m.kind != SIMT_MANAGED) return false;
    simt_unmap(pointer);
    free(handle_of(pointer));
    return true;
}

CUresult simt_MemFree(CUdeviceptr pointer)
{
    CUresult r = simt_check_device(0);
    if (r != CUDA_SUCCESS) return r;
    if (pointer == 0) return CUDA_SUCCESS;
    TRY(simt_allowed());
    simt_settle(true);
    simt_lock();
    bool freed = simt_memory_free(pointer) || free_managed(pointer);
    simt_unlock();
    return freed ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- Host memory ---- */

CUresult simt_host_new(void **pointer, size_t bytes, enum simt_mapped_kind kind, unsigned flags)
{
    static atomic_uint_least64_t made;
    void *p = NULL;
    TRY(simt_allowed());
    if (rt_allocation_fails() || posix_memalign(&p, 4096, bytes) != 0) return CUDA_ERROR_OUT_OF_MEMORY;
    simt_lock();
    bool mapped = simt_map(&(struct simt_mapped){.start = (uintptr_t)p,
                                                 .bytes = bytes,
                                                 .kind = kind,
                                                 .flags = flags,
                                                 .owner = simt_current(),
                                                 .id = 1ull << 32 | atomic_fetch_add(&made, 1)});
    simt_unlock();
    if (!mapped) {
        free(p);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *pointer = p;
    return CUDA_SUCCESS;
}

CUresult simt_MemHostAlloc(void **pointer, size_t bytes, unsigned int flags)
{
    CUresult r = simt_ready();
    if (r != CUDA_SUCCESS) return r;
    if (!pointer || bytes == 0 || flags > 7) return CUDA_ERROR_INVALID_VALUE;
    return simt_host_new(pointer, bytes, SIMT_PINNED, flags);
}

CUresult simt_MemFreeHost(void *pointer)
{
    CUresult r = simt_check_device(0);
    if (r != CUDA_SUCCESS) return r;
    struct simt_mapped m;
    TRY(simt_allowed());
    simt_settle(true);
    simt_lock();
    bool found = simt_mapped_find((uintptr_t)pointer, &m) && m.start == (uintptr_t)pointer && m.kind == SIMT_PINNED;
    if (found) simt_unmap(m.start);
    simt_unlock();
    if (!found) return CUDA_ERROR_INVALID_VALUE;
    free(pointer);
    return CUDA_SUCCESS;
}
