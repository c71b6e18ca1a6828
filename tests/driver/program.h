/* For programs written to the CUDA driver API and NVRTC alone. They are linked with -lcuda, which here is the software
 * GPU, and include nothing of lunarray but the tests' harness. */
#ifndef PROGRAM_H
#define PROGRAM_H

#define CUDA_ENABLE_DEPRECATED /* old functions are called without a warning */
#include <cuda.h>
#include <cudaProfiler.h>
#include <nvrtc.h>
#include "tests/unit/test.h"

#define OK(call)    CHECK_INT(call, CUDA_SUCCESS)
#define COUNT(list) (sizeof(list) / sizeof(list)[0])

static inline CUcontext start(void)
{
    CUdevice device;
    CUcontext context;
    OK(cuInit(0));
    OK(cuDeviceGet(&device, 0));
    OK(cuDevicePrimaryCtxRetain(&context, device));
    OK(cuCtxSetCurrent(context));
    return context;
}

static inline void stop(void)
{
    OK(cuDevicePrimaryCtxRelease(0));
}

/* The PTX of CUDA C++ for an architecture; with `separate` its extern functions may be elsewhere. The caller frees it.
 */
static inline char *compile_for(const char *source, const char *architecture, bool separate)
{
    char arch[32];
    snprintf(arch, sizeof arch, "-arch=%s", architecture);
    const char *options[] = {arch, "-rdc=true"};
    nvrtcProgram program;
    size_t size;
    CHECK_INT(nvrtcCreateProgram(&program, source, "program.cu", 0, NULL, NULL), NVRTC_SUCCESS);
    if (nvrtcCompileProgram(program, separate ? 2 : 1, options) != NVRTC_SUCCESS) {
        char log[4000] = "";
        nvrtcGetProgramLogSize(program, &size);
        if (size < sizeof log) nvrtcGetProgramLog(program, log);
        FAIL("%s", log);
    }
    CHECK_INT(nvrtcGetPTXSize(program, &size), NVRTC_SUCCESS);
    char *ptx = malloc(size);
    CHECK_INT(nvrtcGetPTX(program, ptx), NVRTC_SUCCESS);
    nvrtcDestroyProgram(&program);
    return ptx;
}

static inline char *compile(const char *source, bool separate)
{
    return compile_for(source, "compute_80", separate);
}

static inline CUmodule load_for(const char *source, const char *architecture)
{
    CUmodule module;
    char *ptx = compile_for(source, architecture, false);
    OK(cuModuleLoadData(&module, ptx));
    free(ptx);
    return module;
}

static inline CUmodule load(const char *source)
{
    return load_for(source, "compute_80");
}

static inline CUfunction function_of(CUmodule module, const char *name)
{
    CUfunction f;
    OK(cuModuleGetFunction(&f, module, name));
    return f;
}

#endif
