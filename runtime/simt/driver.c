/* The software GPU's driver: start and contexts. Wrong calls return the codes that NVIDIA's driver returns. */
#include <pthread.h>
#include <stdlib.h>
#include "runtime/memory.h"
#include "runtime/simt/entries.h"
#include "runtime/simt/heap.h"
#include "runtime/simt/texture.h"

static atomic_bool initialised;

const struct driver *driver_simt(void)
{
    static const struct driver table = {.name = "simt",
                                        .path = "",
#define X(member, symbol, parameters) .member = simt_##member,
                                        RT_DRIVER_ENTRIES(X) RT_DRIVER_NEWER_ENTRIES(X)
#undef X
    };
    return &table;
}

CUresult simt_Init(unsigned int flags)
{
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
#ifdef SIMT_EXPORT
    simt_share_managed();
#endif
    atomic_store(&initialised, true);
    return CUDA_SUCCESS;
}

CUresult simt_DriverGetVersion(int *version)
{
    if (!version) return CUDA_ERROR_INVALID_VALUE;
    *version = CUDA_VERSION;
    return CUDA_SUCCESS;
}

CUresult simt_check_device(CUdevice device)
{
    if (!atomic_load(&initialised)) return CUDA_ERROR_NOT_INITIALIZED;
    return device == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

/* ---- Contexts: the primary one, which all threads share, and those that programs create ---- */

static pthread_mutex_t context_lock = PTHREAD_MUTEX_INITIALIZER;
static CUcontext primary;
static unsigned primary_flags;
static uint64_t made;
static int alive;
static _Thread_local CUcontext current;

CUcontext simt_current(void)
{
    return current && simt_handle_is(current, SIMT_CONTEXT) ? current : NULL;
}

CUresult simt_ready(void)
{
    if (!atomic_load(&initialised)) return CUDA_ERROR_NOT_INITIALIZED;
    return simt_current() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

static void free_memory(CUcontext c)
{
    struct simt_mapped m;
    void *object;
    simt_lock();
    while ((object = simt_handle_any(SIMT_MEMORY, c))) simt_memory_free((CUdeviceptr)(uintptr_t)object);
    while (simt_mapped_next(0, c, &m)) {
        simt_unmap(m.start);
        if (m.kind != SIMT_REGISTERED) free((void *)(uintptr_t)m.start);
    }
    simt_unlock();
}

/* What dies with the context: everything that was made in it. */
static void destroy_contents(CUcontext c)
{
    void *object;
    while ((object = simt_handle_any(SIMT_MODULE, c))) {
        simt_handle_remove(object, SIMT_MODULE);
        simt_drop_module(object);
    }
    while ((object = simt_handle_any(SIMT_STREAM, c))) {
        simt_handle_remove(object, SIMT_STREAM);
        if (((CUstream)object)->capture) simt_captures.leave(object);
        free(object);
    }
    while ((object = simt_handle_any(SIMT_EVENT, c))) {
        simt_handle_remove(object, SIMT_EVENT);
        free(((CUevent)object)->captured);
        free(object);
    }
    simt_lock();
    while ((object = simt_handle_any(SIMT_OBJECT, c))) {
        struct simt_handle about = {0};
        simt_handle_get(object, SIMT_OBJECT, &about);
        simt_handle_remove(object, SIMT_OBJECT);
        simt_texture_remove((uint64_t)(uintptr_t)object);
        free(about.extra);
    }
    while ((object = simt_handle_any(SIMT_ARRAY, c))) {
        simt_handle_remove(object, SIMT_ARRAY);
        simt_free(((CUarray)object)->memory);
        free(object);
    }
    simt_unlock();
    free_memory(c);
    simt_forget_fault();
}

/* Under the context lock. */
static CUcontext new_context(unsigned flags)
{
    CUcontext c = rt_calloc(1, sizeof *c);
    if (!c) return NULL;
    c->flags = flags;
    if (!simt_handle_add(c, SIMT_CONTEXT)) {
        free(c);
        return NULL;
    }
    c->id = ++made;
    alive++;
    return c;
}

CUcontext simt_context_new(unsigned flags)
{
    pthread_mutex_lock(&context_lock);
    CUcontext c = new_context(flags);
    pthread_mutex_unlock(&context_lock);
    return c;
}

/* Under the context lock. */
static void free_context(CUcontext c)
{
    destroy_contents(c);
    simt_handle_remove(c, SIMT_CONTEXT);
    free(c);
    if (--alive > 0 || simt_handle_any(SIMT_MODULE, NULL)) return;
    simt_lock();
    simt_memory_reset(); /* also what kernels allocated themselves */
    simt_unlock();
}

void simt_context_free(CUcontext c)
{
    simt_settle(false);
    pthread_mutex_lock(&context_lock);
    free_context(c);
    pthread_mutex_unlock(&context_lock);
}

CUresult simt_DevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    CUresult r = simt_check_device(device);
    if (r != CUDA_SUCCESS) return r;
    if (!context) return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&context_lock);
    if (!primary) primary = new_context(primary_flags);
    if (primary) primary->primary = true, primary->uses++;
    *context = primary;
    pthread_mutex_unlock(&context_lock);
    return *context ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult simt_DevicePrimaryCtxRelease(CUdevice device)
{
    CUresult r = simt_check_device(device);
    if (r != CUDA_SUCCESS) return r;
    simt_settle(false);
    pthread_mutex_lock(&context_lock);
    if (!primary) {
        r = CUDA_ERROR_INVALID_CONTEXT;
    } else if (--primary->uses == 0) {
        free_context(primary);
        primary = NULL;
    }
    pthread_mutex_unlock(&context_lock);
    return r;
}

CUresult simt_DevicePrimaryCtxReset(CUdevice device)
{
    CUresult r = simt_check_device(device);
    if (r != CUDA_SUCCESS) return r;
    simt_settle(false);
    pthread_mutex_lock(&context_lock);
    if (primary) destroy_contents(primary);
    pthread_mutex_unlock(&context_lock);
    return CUDA_SUCCESS;
}

CUresult simt_primary_state(unsigned *flags, bool *active)
{
    CUresult r = simt_check_device(0);
    if (r != CUDA_SUCCESS) return r;
    pthread_mutex_lock(&context_lock);
    *flags = primary_flags;
    *active = primary != NULL;
    pthread_mutex_unlock(&context_lock);
    return CUDA_SUCCESS;
}

CUresult simt_primary_set_flags(unsigned flags)
{
    CUresult r = simt_check_device(0);
    if (r != CUDA_SUCCESS) return r;
    pthread_mutex_lock(&context_lock);
    primary_flags = flags;
    if (primary) primary->flags = flags;
    pthread_mutex_unlock(&context_lock);
    return CUDA_SUCCESS;
}

CUresult simt_CtxSetCurrent(CUcontext context)
{
    if (!atomic_load(&initialised)) return CUDA_ERROR_NOT_INITIALIZED;
    if (context && !simt_handle_is(context, SIMT_CONTEXT)) return CUDA_ERROR_INVALID_CONTEXT;
    current = context;
    return CUDA_SUCCESS;
}

CUresult simt_CtxGetCurrent(CUcontext *context)
{
    if (!atomic_load(&initialised)) return CUDA_ERROR_NOT_INITIALIZED;
    if (!context) return CUDA_ERROR_INVALID_VALUE;
    *context = simt_current();
    return CUDA_SUCCESS;
}

CUresult simt_CtxSynchronize(void)
{
    CUresult r = simt_ready();
    if (r == CUDA_SUCCESS && atomic_load(&simt_captures.count) > 0) r = simt_captures.wait(NULL, true);
    if (r == CUDA_SUCCESS) simt_settle(true);
    return r == CUDA_SUCCESS ? simt_pending() : r;
}

/* ---- Limits: kept and given back. Only what engine and driver have anyway is bounded, and the heap of malloc. ---- */

static const size_t first_limits[SIMT_LIMITS] = {[CU_LIMIT_STACK_SIZE] = 1024,
                                                 [CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20,
                                                 [CU_LIMIT_MALLOC_HEAP_SIZE] = SIMT_HEAP_SIZE,
                                                 [CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64};

static CUresult check_limit(CUlimit limit)
{
    TRY(simt_ready());
    if (limit >= CU_LIMIT_MAX) return CUDA_ERROR_INVALID_VALUE;
    return limit < SIMT_LIMITS && first_limits[limit] ? CUDA_SUCCESS : CUDA_ERROR_UNSUPPORTED_LIMIT;
}

CUresult simt_CtxSetLimit(CUlimit limit, size_t value)
{
    TRY(check_limit(limit));
    if (limit == CU_LIMIT_MAX_L2_FETCH_GRANULARITY && value > 128) return CUDA_ERROR_INVALID_VALUE;
    if (limit == CU_LIMIT_MALLOC_HEAP_SIZE) {
        simt_lock();
        bool set = simt_heap_set_size(value);
        simt_unlock();
        return set ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; /* kernels use it already */
    }
    simt_current()->limits[limit] = value;
    return CUDA_SUCCESS;
}

CUresult simt_CtxGetLimit(size_t *value, CUlimit limit)
{
    TRY(check_limit(limit));
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    size_t set = limit == CU_LIMIT_MALLOC_HEAP_SIZE ? simt_heap_size() : simt_current()->limits[limit];
    *value = set ? set : first_limits[limit];
    return CUDA_SUCCESS;
}
