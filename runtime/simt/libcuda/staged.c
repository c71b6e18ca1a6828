/* Launches as before CUDA 4, which PyCUDA still makes in part: a function keeps the shape of its blocks, its dynamic
 * shared memory and its parameters, each set by a call of its own, until a launch gives the grid. */
#include "runtime/simt/libcuda/libcuda.h"
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"

#define MOST 4096 /* bytes of parameters */

struct simt_staged {
    unsigned block[3], shared;
    size_t size; /* of the parameters */
    char parameters[MOST];
};

static CUresult staged_of(CUfunction function, struct simt_staged **out)
{
    TRY(simt_check_function(function));
    if (!function->staged) function->staged = rt_calloc(1, sizeof *function->staged);
    *out = function->staged;
    return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuFuncSetBlockShape(CUfunction function, int x, int y, int z)
{
    struct simt_staged *s;
    TRY(staged_of(function, &s));
    if (x <= 0 || y <= 0 || z <= 0) return CUDA_ERROR_INVALID_VALUE;
    s->block[0] = (unsigned)x;
    s->block[1] = (unsigned)y;
    s->block[2] = (unsigned)z;
    return CUDA_SUCCESS;
}

CUresult cuFuncSetSharedSize(CUfunction function, unsigned int bytes)
{
    struct simt_staged *s;
    TRY(staged_of(function, &s));
    s->shared = bytes;
    return CUDA_SUCCESS;
}

CUresult cuParamSetSize(CUfunction function, unsigned int bytes)
{
    struct simt_staged *s;
    TRY(staged_of(function, &s));
    if (bytes > MOST) return CUDA_ERROR_INVALID_VALUE;
    s->size = bytes;
    return CUDA_SUCCESS;
}

CUresult cuParamSetv(CUfunction function, int offset, void *value, unsigned int bytes)
{
    struct simt_staged *s;
    TRY(staged_of(function, &s));
    if (!value || offset < 0 || offset > MOST || bytes > MOST - (unsigned)offset) return CUDA_ERROR_INVALID_VALUE;
    memcpy(s->parameters + offset, value, bytes);
    return CUDA_SUCCESS;
}

CUresult cuParamSeti(CUfunction function, int offset, unsigned int value)
{
    return cuParamSetv(function, offset, &value, sizeof value);
}

CUresult cuParamSetf(CUfunction function, int offset, float value)
{
    return cuParamSetv(function, offset, &value, sizeof value);
}

CUresult cuLaunchGridAsync(CUfunction function, int width, int height, CUstream stream)
{
    struct simt_staged *s;
    TRY(staged_of(function, &s));
    if (width <= 0 || height <= 0) return CUDA_ERROR_INVALID_VALUE;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, s->parameters, CU_LAUNCH_PARAM_BUFFER_SIZE, &s->size,
                     CU_LAUNCH_PARAM_END};
    return cuLaunchKernel(function, (unsigned)width, (unsigned)height, 1, s->block[0], s->block[1], s->block[2],
                          s->shared, stream, NULL, extra);
}

CUresult cuLaunchGrid(CUfunction function, int width, int height)
{
    return cuLaunchGridAsync(function, width, height, NULL);
}

CUresult cuLaunch(CUfunction function)
{
    return cuLaunchGrid(function, 1, 1);
}
