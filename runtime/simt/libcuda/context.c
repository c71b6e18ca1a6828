/* Contexts: those that programs create, the stack of current ones, and what a context keeps. */
#include "runtime/simt/libcuda/libcuda.h"
#include <stdlib.h>

#define STACK_DEPTH 64
#define FLAGS       (CU_CTX_SCHED_MASK | CU_CTX_MAP_HOST | CU_CTX_LMEM_RESIZE_TO_MAX | CU_CTX_SYNC_MEMOPS)

static _Thread_local CUcontext stack[STACK_DEPTH]; /* below the current one */
static _Thread_local int depth;

/* NULL stands for the current one. */
static CUresult check_context(CUcontext *context)
{
    if (!*context) {
        TRY(simt_ready());
        *context = simt_current();
    }
    return simt_handle_is(*context, SIMT_CONTEXT) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuCtxPushCurrent_v2(CUcontext context)
{
    CUcontext before = NULL;
    TRY(simt_CtxGetCurrent(&before));
    if (depth == STACK_DEPTH || !context) return CUDA_ERROR_INVALID_VALUE;
    TRY(simt_CtxSetCurrent(context));
    stack[depth++] = before;
    return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent_v2(CUcontext *context)
{
    CUcontext before = NULL;
    TRY(simt_CtxGetCurrent(&before));
    if (!before) return CUDA_ERROR_INVALID_CONTEXT;
    CUcontext below = depth > 0 ? stack[--depth] : NULL;
    if (simt_CtxSetCurrent(below) != CUDA_SUCCESS) simt_CtxSetCurrent(NULL); /* it was destroyed in the meantime */
    if (context) *context = before;
    return CUDA_SUCCESS;
}

CUresult cuCtxCreate_v2(CUcontext *context, unsigned int flags, CUdevice device)
{
    TRY(simt_check_device(device));
    if (!context || flags & ~(unsigned)FLAGS) return CUDA_ERROR_INVALID_VALUE;
    CUcontext c = simt_context_new(flags);
    if (!c) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = cuCtxPushCurrent_v2(c);
    if (r == CUDA_SUCCESS) {
        *context = c;
    } else {
        simt_context_free(c);
    }
    return r;
}

CUresult cuCtxCreate_v3(CUcontext *context, CUexecAffinityParam *affinity, int count, unsigned int flags,
                        CUdevice device)
{
    TRY(simt_check_device(device));
    if (count < 0 || (count > 0 && !affinity)) return CUDA_ERROR_INVALID_VALUE;
    return count > 0 ? CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY : cuCtxCreate_v2(context, flags, device);
}

CUresult cuCtxCreate_v4(CUcontext *context, CUctxCreateParams *params, unsigned int flags, CUdevice device)
{
    if (params && params->cigParams) return CUDA_ERROR_NOT_SUPPORTED;
    return cuCtxCreate_v3(context, params ? params->execAffinityParams : NULL,
                          params ? params->numExecAffinityParams : 0, flags, device);
}

CUresult cuCtxDestroy_v2(CUcontext context)
{
    CUcontext now = NULL;
    TRY(simt_CtxGetCurrent(&now));
    if (!simt_handle_is(context, SIMT_CONTEXT)) return CUDA_ERROR_INVALID_CONTEXT;
    if (context->primary) return CUDA_ERROR_INVALID_CONTEXT; /* that is released */
    if (now == context) TRY(cuCtxPopCurrent_v2(NULL));
    simt_context_free(context);
    return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice_v2(CUdevice *device, CUcontext context)
{
    TRY(check_context(&context));
    if (!device) return CUDA_ERROR_INVALID_VALUE;
    *device = 0;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device)
{
    return cuCtxGetDevice_v2(device, NULL);
}

CUresult cuCtxSynchronize_v2(CUcontext context)
{
    TRY(check_context(&context));
    return context == simt_current() ? simt_CtxSynchronize() : simt_pending();
}

CUresult cuCtxGetApiVersion(CUcontext context, unsigned int *version)
{
    TRY(check_context(&context));
    if (!version) return CUDA_ERROR_INVALID_VALUE;
    *version = 3020;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetId(CUcontext context, unsigned long long *id)
{
    TRY(check_context(&context));
    if (!id) return CUDA_ERROR_INVALID_VALUE;
    *id = context->id;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetFlags(unsigned int *flags)
{
    TRY(simt_ready());
    if (!flags) return CUDA_ERROR_INVALID_VALUE;
    *flags = simt_current()->flags;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetFlags(unsigned int flags)
{
    TRY(simt_ready());
    if (flags & ~(unsigned)FLAGS) return CUDA_ERROR_INVALID_VALUE;
    simt_current()->flags = flags;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int *flags, int *active)
{
    bool is_active;
    TRY(simt_check_device(device));
    if (!flags || !active) return CUDA_ERROR_INVALID_VALUE;
    TRY(simt_primary_state(flags, &is_active));
    *active = is_active;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned int flags)
{
    TRY(simt_check_device(device));
    return flags & ~(unsigned)FLAGS ? CUDA_ERROR_INVALID_VALUE : simt_primary_set_flags(flags);
}

/* A second way to count a context's users; the last one destroys it. */
CUresult cuCtxAttach(CUcontext *context, unsigned int flags)
{
    TRY(simt_ready());
    if (!context || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    *context = simt_current();
    (*context)->attached++;
    return CUDA_SUCCESS;
}

CUresult cuCtxDetach(CUcontext context)
{
    TRY(simt_ready());
    if (!simt_handle_is(context, SIMT_CONTEXT) || context != simt_current()) return CUDA_ERROR_INVALID_CONTEXT;
    if (context->attached > 0) {
        context->attached--;
        return CUDA_SUCCESS;
    }
    return cuCtxDestroy_v2(context);
}

/* ---- Hints: kept and given back ---- */

CUresult cuCtxSetCacheConfig(CUfunc_cache config)
{
    TRY(simt_ready());
    if (config > CU_FUNC_CACHE_PREFER_EQUAL) return CUDA_ERROR_INVALID_VALUE;
    simt_current()->cache = config;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCacheConfig(CUfunc_cache *config)
{
    TRY(simt_ready());
    if (!config) return CUDA_ERROR_INVALID_VALUE;
    *config = simt_current()->cache;
    return CUDA_SUCCESS;
}

/* Banks of 4 bytes are what there is, as on all devices since 2014. */
CUresult cuCtxSetSharedMemConfig(CUsharedconfig config)
{
    TRY(simt_ready());
    return config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuCtxGetSharedMemConfig(CUsharedconfig *config)
{
    TRY(simt_ready());
    if (!config) return CUDA_ERROR_INVALID_VALUE;
    *config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    TRY(simt_ready());
    if (least) *least = 0;
    if (greatest) *greatest = SIMT_HIGHEST_PRIORITY;
    return CUDA_SUCCESS;
}

CUresult cuCtxResetPersistingL2Cache(void)
{
    return simt_ready();
}

CUresult cuCtxGetExecAffinity(CUexecAffinityParam *affinity, CUexecAffinityType type)
{
    TRY(simt_ready());
    if (!affinity || type >= CU_EXEC_AFFINITY_TYPE_MAX) return CUDA_ERROR_INVALID_VALUE;
    return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
}

CUresult cuCtxRecordEvent(CUcontext context, CUevent event)
{
    TRY(check_context(&context));
    return context == simt_current() ? simt_EventRecord(event, NULL) : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuCtxWaitEvent(CUcontext context, CUevent event)
{
    TRY(check_context(&context));
    return simt_handle_is(event, SIMT_EVENT) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
