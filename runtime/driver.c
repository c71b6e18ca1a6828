#include "runtime/driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/signature.h"
#include "runtime/simt/simt.h"

static enum rt_status status_of(CUresult r)
{
    switch (r) {
    case CUDA_SUCCESS: return RT_OK;
    case CUDA_ERROR_OUT_OF_MEMORY: return RT_NOMEM;
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_LAUNCH_FAILED: return RT_FAULT;
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_INVALID_IMAGE: return RT_COMPILE;
    case CUDA_ERROR_NOT_SUPPORTED: return RT_UNSUPPORTED;
    case CUDA_ERROR_NO_DEVICE:
    case CUDA_ERROR_INVALID_DEVICE:
    case CUDA_ERROR_DEVICE_UNAVAILABLE: return RT_MISSING;
    default: return RT_DEVICE;
    }
}

/* "saxpy.cu:4: write of 4 bytes ...", then where: kernel, block, thread. */
static enum rt_status report_fault(const struct simt_fault *f, struct rt_error *e)
{
    char kernel[sizeof f->kernel];
    rt_function_name(f->kernel, false, kernel, sizeof kernel);
    if (f->kind == SIMT_FAULT_INTERRUPTED) return rt_fail(e, RT_INTERRUPTED, "interrupted in kernel %s", kernel);
    char place[200] = "";
    if (f->line > 0) snprintf(place, sizeof place, "%s:%d: ", f->file[0] ? f->file : "line", f->line);
    enum rt_status status = f->kind == SIMT_FAULT_NOMEM ? RT_NOMEM : RT_FAULT;
    return rt_fail(e, status, "%s%s\nin kernel %s, block (%u,%u,%u), thread (%u,%u,%u)", place, f->text, kernel,
                   f->block[0], f->block[1], f->block[2], f->thread[0], f->thread[1], f->thread[2]);
}

enum rt_status driver_check(const struct driver *d, CUresult result, struct rt_error *e, const char *what)
{
    enum rt_status status = status_of(result);
    if (status == RT_OK) return RT_OK;
    struct simt_fault fault;
    if (strcmp(d->name, "simt") == 0 && simt_take_fault(&fault)) return report_fault(&fault, e);
    const char *name = NULL, *text = NULL;
    if (d->GetErrorName(result, &name) != CUDA_SUCCESS || !name) name = "unknown error";
    if (d->GetErrorString(result, &text) != CUDA_SUCCESS || !text) text = "no explanation";
    return rt_fail(e, status, "%s: %s, error %d (%s)", what, name, (int)result, text);
}
