/* Virtual memory management: addresses that are reserved, memory that is made, and the one mapped at the other. The
 * addresses are the host's, as those of managed memory are; the memory is a file without a name, so that it may lie at
 * several addresses and go to another process. Kernels and copies see what a run of neighbouring mappings has as one.
 */
#define _GNU_SOURCE /* memfd_create */
#include "runtime/simt/libcuda/libcuda.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "runtime/memory.h"

#define GRANULE ((size_t)2 << 20) /* all sizes and addresses are multiples of it */

struct memory {
    int fd;
    size_t bytes;
    size_t uses; /* handles not yet released, and mappings */
    CUmemAllocationProp properties;
};
struct mapping {
    uintptr_t start;
    size_t bytes;
    struct memory *memory;
    bool access;
    struct mapping *next; /* by address */
};
struct reservation {
    uintptr_t start;
    size_t bytes;
    struct mapping *mappings;
    struct reservation *next;
};

/* All under the device's lock. */
static struct reservation *reservations;
static size_t created; /* bytes of memory */

static bool granular(size_t bytes)
{
    return bytes > 0 && bytes % GRANULE == 0;
}

/* ---- memory ---- */

static struct memory *memory_of(CUmemGenericAllocationHandle handle)
{
    void *object = (void *)(uintptr_t)handle;
    return simt_handle_is(object, SIMT_PHYSICAL) ? object : NULL;
}

static void drop(struct memory *m)
{
    if (--m->uses > 0) return;
    simt_handle_remove(m, SIMT_PHYSICAL);
    created -= m->bytes;
    close(m->fd);
    free(m);
}

/* Takes the file over. */
static CUresult adopt(CUmemGenericAllocationHandle *handle, int fd, size_t bytes, const CUmemAllocationProp *properties)
{
    struct memory *m = fd < 0 ? NULL : rt_calloc(1, sizeof *m);
    if (!m || !simt_handle_add(m, SIMT_PHYSICAL)) {
        if (fd >= 0) close(fd);
        free(m);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    simt_handle_disown(m, SIMT_PHYSICAL);
    *m = (struct memory){fd, bytes, 1, *properties};
    simt_lock();
    created += bytes;
    simt_unlock();
    *handle = (uintptr_t)m;
    return CUDA_SUCCESS;
}

static CUresult check_location(const CUmemLocation *location)
{
    if (location->type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
    return location->id == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

static CUresult check_properties(const CUmemAllocationProp *p)
{
    TRY(simt_check_device(0));
    if (!p || p->type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
    if (p->requestedHandleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
    return check_location(&p->location);
}

CUresult cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *properties,
                                       CUmemAllocationGranularity_flags option)
{
    TRY(check_properties(properties));
    if (!granularity || option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED) return CUDA_ERROR_INVALID_VALUE;
    *granularity = GRANULE;
    return CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes, const CUmemAllocationProp *properties,
                     unsigned long long flags)
{
    size_t rest, total;
    TRY(check_properties(properties));
    if (!handle || !granular(bytes) || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    simt_memory_info(&rest, &total);
    simt_lock();
    bool room = created < total && bytes <= total - created;
    simt_unlock();
    if (!room) return CUDA_ERROR_OUT_OF_MEMORY;
    int fd = memfd_create("device memory", MFD_CLOEXEC);
    if (fd >= 0 && ftruncate(fd, (off_t)bytes) != 0) {
        close(fd);
        fd = -1;
    }
    return adopt(handle, fd, bytes, properties);
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    TRY(simt_check_device(0));
    simt_lock();
    struct memory *m = memory_of(handle);
    if (m) drop(m);
    simt_unlock();
    return m ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *properties, CUmemGenericAllocationHandle handle)
{
    TRY(simt_check_device(0));
    const struct memory *m = memory_of(handle);
    if (!m || !properties) return CUDA_ERROR_INVALID_VALUE;
    *properties = m->properties;
    return CUDA_SUCCESS;
}

CUresult cuMemExportToShareableHandle(void *shareable, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type, unsigned long long flags)
{
    TRY(simt_check_device(0));
    const struct memory *m = memory_of(handle);
    if (!m || !shareable || flags != 0 || !(m->properties.requestedHandleTypes & type)) return CUDA_ERROR_INVALID_VALUE;
    int fd = fcntl(m->fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0) return CUDA_ERROR_OPERATING_SYSTEM;
    memcpy(shareable, &fd, sizeof fd);
    return CUDA_SUCCESS;
}

/* The descriptor stays the caller's. */
CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *shareable,
                                        CUmemAllocationHandleType type)
{
    struct stat about;
    CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .requestedHandleTypes = type,
                                      .location.type = CU_MEM_LOCATION_TYPE_DEVICE};
    TRY(simt_check_device(0));
    if (!handle) return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
    int fd = fcntl((int)(intptr_t)shareable, F_DUPFD_CLOEXEC, 0);
    bool good = fd >= 0 && fstat(fd, &about) == 0 && granular((size_t)about.st_size);
    if (good) return adopt(handle, fd, (size_t)about.st_size, &properties);
    if (fd >= 0) close(fd);
    return CUDA_ERROR_INVALID_VALUE;
}

/* ---- addresses ---- */

CUresult cuMemAddressReserve(CUdeviceptr *pointer, size_t bytes, size_t alignment, CUdeviceptr wish,
                             unsigned long long flags)
{
    size_t room;
    (void)wish; /* a hint */
    TRY(simt_check_device(0));
    if (!pointer || !granular(bytes) || flags != 0 || (alignment & (alignment - 1))) return CUDA_ERROR_INVALID_VALUE;
    if (alignment < GRANULE) alignment = GRANULE;
    if (__builtin_add_overflow(bytes, alignment, &room)) return CUDA_ERROR_OUT_OF_MEMORY;
    struct reservation *r = rt_calloc(1, sizeof *r);
    char *p = r ? mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) : MAP_FAILED;
    if (p == MAP_FAILED) {
        free(r);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    size_t before = (alignment - (uintptr_t)p % alignment) % alignment;
    if (before > 0) munmap(p, before);
    if (before < alignment) munmap(p + before + bytes, alignment - before);
    simt_lock();
    *r = (struct reservation){(uintptr_t)p + before, bytes, NULL, reservations};
    reservations = r;
    simt_unlock();
    *pointer = r->start;
    return CUDA_SUCCESS;
}

/* The reservation that holds a range; NULL: none does. */
static struct reservation *reservation_of(uintptr_t start, size_t bytes)
{
    struct reservation *r = reservations;
    while (r && (start - r->start >= r->bytes || bytes > r->bytes - (start - r->start))) r = r->next;
    return granular(bytes) && start % GRANULE == 0 ? r : NULL;
}

CUresult cuMemAddressFree(CUdeviceptr pointer, size_t bytes)
{
    TRY(simt_check_device(0));
    simt_lock();
    struct reservation **link = &reservations;
    while (*link && (*link)->start != pointer) link = &(*link)->next;
    struct reservation *r = *link;
    bool good = r && r->bytes == bytes && !r->mappings;
    if (good) *link = r->next;
    simt_unlock();
    if (!good) return CUDA_ERROR_INVALID_VALUE;
    munmap((void *)r->start, r->bytes);
    free(r);
    return CUDA_SUCCESS;
}

/* ---- the one at the other ---- */

/* Tells the device which runs of mappings kernels may use; false without memory. */
static bool publish(const struct reservation *r)
{
    struct simt_mapped old;
    while (simt_mapped_next(r->start, NULL, &old) && old.start - r->start < r->bytes) simt_unmap(old.start);
    for (const struct mapping *m = r->mappings; m; m = m->next) {
        if (!m->access) continue;
        struct simt_mapped run = {.start = m->start, .bytes = m->bytes, .kind = SIMT_VIRTUAL, .id = m->start};
        while (m->next && m->next->access && m->next->start == run.start + run.bytes) {
            m = m->next;
            run.bytes += m->bytes;
        }
        if (!simt_map(&run)) return false;
    }
    return true;
}

/* The link to the first mapping that ends above the address. */
static struct mapping **mapping_above(struct reservation *r, uintptr_t address)
{
    struct mapping **link = &r->mappings;
    while (*link && (*link)->start + (*link)->bytes <= address) link = &(*link)->next;
    return link;
}

/* The first of the mappings that make up a range, each whole and none missing; NULL when they don't. */
static struct mapping **mappings_in(uintptr_t start, size_t bytes)
{
    struct reservation *r = reservation_of(start, bytes);
    struct mapping **first = r ? mapping_above(r, start) : NULL;
    uintptr_t end = start;
    for (const struct mapping *m = r ? *first : NULL; m && m->start == end && end - start < bytes; m = m->next)
        end += m->bytes;
    return r && end - start == bytes ? first : NULL;
}

CUresult cuMemMap(CUdeviceptr pointer, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags)
{
    TRY(simt_check_device(0));
    struct mapping *new = rt_calloc(1, sizeof *new);
    if (!new) return CUDA_ERROR_OUT_OF_MEMORY;
    simt_lock();
    struct memory *m = memory_of(handle);
    struct reservation *r = reservation_of(pointer, bytes);
    struct mapping **link = r ? mapping_above(r, pointer) : NULL;
    bool good = r && m && flags == 0 && offset % GRANULE == 0 && offset < m->bytes && bytes <= m->bytes - offset &&
                (!*link || (*link)->start >= pointer + bytes);
    CUresult result = good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    if (good && mmap((void *)(uintptr_t)pointer, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, m->fd,
                     (off_t)offset) == MAP_FAILED)
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS) {
        m->uses++;
        *new = (struct mapping){pointer, bytes, m, false, *link};
        *link = new;
    }
    simt_unlock();
    if (result != CUDA_SUCCESS) free(new);
    return result;
}

/* Of all mappings in a range at once, or of none. */
static CUresult set_access(uintptr_t start, size_t bytes, bool access)
{
    struct mapping **first = mappings_in(start, bytes);
    if (!first) return CUDA_ERROR_INVALID_VALUE;
    const struct reservation *r = reservation_of(start, bytes);
    for (struct mapping *m = *first; m && m->start - start < bytes; m = m->next) {
        bool before = m->access;
        m->access = access;
        if (publish(r)) continue;
        m->access = before;
        publish(r); /* there is room for what was there before */
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}

CUresult cuMemSetAccess(CUdeviceptr pointer, size_t bytes, const CUmemAccessDesc *access, size_t count)
{
    TRY(simt_check_device(0));
    if (!access || count == 0) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        TRY(check_location(&access[i].location));
        if (access[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READ) return CUDA_ERROR_NOT_SUPPORTED;
        if (access[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE && access[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
            return CUDA_ERROR_INVALID_VALUE;
    }
    simt_lock();
    CUresult r = set_access(pointer, bytes, access[count - 1].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    simt_unlock();
    return r;
}

static struct mapping *mapping_at(uintptr_t address)
{
    struct reservation *r = reservation_of(address / GRANULE * GRANULE, GRANULE);
    struct mapping *m = r ? *mapping_above(r, address) : NULL;
    return m && m->start <= address ? m : NULL;
}

CUresult cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr pointer)
{
    TRY(simt_check_device(0));
    if (!flags || !location) return CUDA_ERROR_INVALID_VALUE;
    TRY(check_location(location));
    simt_lock();
    const struct mapping *m = mapping_at(pointer);
    if (m) *flags = m->access ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    simt_unlock();
    return m ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *address)
{
    TRY(simt_check_device(0));
    if (!handle) return CUDA_ERROR_INVALID_VALUE;
    simt_lock();
    const struct mapping *m = mapping_at((uintptr_t)address);
    if (m) m->memory->uses++;
    if (m) *handle = (uintptr_t)m->memory;
    simt_unlock();
    return m ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemUnmap(CUdeviceptr pointer, size_t bytes)
{
    TRY(simt_check_device(0));
    simt_settle(false);
    simt_lock();
    CUresult r = set_access(pointer, bytes, false);
    if (r == CUDA_SUCCESS && mmap((void *)(uintptr_t)pointer, bytes, PROT_NONE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
        r = CUDA_ERROR_OUT_OF_MEMORY;
    struct mapping **link = r == CUDA_SUCCESS ? mappings_in(pointer, bytes) : NULL;
    while (link && *link && (*link)->start - pointer < bytes) {
        struct mapping *gone = *link;
        *link = gone->next;
        drop(gone->memory);
        free(gone);
    }
    simt_unlock();
    return r;
}
