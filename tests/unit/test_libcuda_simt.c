/* libcuda-simt.so as a program sees it: opened, asked for the driver's real names, used. */
#include <cuda.h>
#include "runtime/driver.h"
#include "tests/unit/built.h"
#include "tests/unit/driver_ptx.h"

static void *library;

static void *symbol(const char *name)
{
    void *p = dlsym(library, name);
    if (!p) FAIL("no %s: %s", name, dlerror());
    return p;
}

TEST(every_entry_is_exported)
{
    library = built_library("libcuda-simt.so");
#define X(member, name, parameters) symbol(#name);
    RT_DRIVER_ENTRIES(X)
    RT_DRIVER_NEWER_ENTRIES(X)
#undef X
    CHECK(dlsym(library, "simt_Init") == NULL);
    CHECK(dlsym(library, "rt_alloc") == NULL);
}

TEST(saxpy_through_the_real_names)
{
    library = built_library("libcuda-simt.so");
    CUresult (*init)(unsigned) = symbol("cuInit");
    CUresult (*create)(CUcontext *, unsigned, CUdevice) = symbol("cuCtxCreate_v2");
    CUresult (*load)(CUmodule *, const void *) = symbol("cuModuleLoadData");
    CUresult (*get)(CUfunction *, CUmodule, const char *) = symbol("cuModuleGetFunction");
    CUresult (*allocate)(CUdeviceptr *, size_t) = symbol("cuMemAlloc_v2");
    CUresult (*in)(CUdeviceptr, const void *, size_t) = symbol("cuMemcpyHtoD_v2");
    CUresult (*copy)(CUdeviceptr, CUdeviceptr, size_t) = symbol("cuMemcpy");
    CUresult (*launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
                       void **, void **) = symbol("cuLaunchKernel");
    CUresult (*wait)(void) = symbol("cuCtxSynchronize");
    CUresult (*destroy)(CUcontext) = symbol("cuCtxDestroy_v2");

    CUcontext context;
    CUmodule module;
    CUfunction saxpy;
    CUdeviceptr x, y;
    int n = 1000;
    float a = 2, host[1000];
    for (int i = 0; i < n; i++) host[i] = (float)i;
    CHECK_INT(init(0), CUDA_SUCCESS);
    CHECK_INT(create(&context, 0, 0), CUDA_SUCCESS);
    CHECK_INT(load(&module, saxpy_ptx), CUDA_SUCCESS);
    CHECK_INT(get(&saxpy, module, "saxpy"), CUDA_SUCCESS);
    CHECK_INT(allocate(&x, sizeof host), CUDA_SUCCESS);
    CHECK_INT(allocate(&y, sizeof host), CUDA_SUCCESS);
    CHECK_INT(in(x, host, sizeof host), CUDA_SUCCESS);
    CHECK_INT(copy(y, x, sizeof host), CUDA_SUCCESS);
    void *parameters[] = {&n, &a, &x, &y};
    CHECK_INT(launch(saxpy, 8, 1, 1, 128, 1, 1, 0, NULL, parameters, NULL), CUDA_SUCCESS);
    CHECK_INT(wait(), CUDA_SUCCESS);
    CHECK_INT(copy((CUdeviceptr)(uintptr_t)host, y, sizeof host), CUDA_SUCCESS);
    for (int i = 0; i < n; i++) CHECK_NEAR(host[i], 3.0 * i, 0);
    CHECK_INT(destroy(context), CUDA_SUCCESS);
    CHECK_INT(wait(), CUDA_ERROR_INVALID_CONTEXT);
}

TEST(looking_up_by_name)
{
    library = built_library("libcuda-simt.so");
    CUresult (*look)(const char *, void **, int, cuuint64_t, int *) = symbol("cuGetProcAddress_v2");
    void *f;
    int status;
    CHECK_INT(look("cuMemAlloc", &f, 12000, 0, &status), CUDA_SUCCESS);
    CHECK(f == symbol("cuMemAlloc_v2") && status == 0);
    CHECK_INT(look("cuInit", &f, 12000, 0, NULL), CUDA_SUCCESS);
    CHECK(f == symbol("cuInit"));
    CHECK_INT(look("cuCtxCreate", &f, 12000, 0, NULL), CUDA_SUCCESS);
    CHECK(f == symbol("cuCtxCreate_v3"));
    CHECK_INT(look("cuCtxCreate", &f, 11000, 0, NULL), CUDA_SUCCESS);
    CHECK(f == symbol("cuCtxCreate_v2"));
    CHECK_INT(look("cuCtxGetId", &f, 11000, 0, &status), CUDA_ERROR_NOT_FOUND);
    CHECK(f == NULL && status == 2);
    CHECK_INT(look("cuCtxCreate", &f, 13000, 0, NULL), CUDA_SUCCESS);
    CHECK(f == symbol("cuCtxCreate_v4"));
    CHECK_INT(look("cuNoSuchThing", &f, 12000, 0, &status), CUDA_ERROR_NOT_FOUND);
    CHECK(f == NULL && status == 1);
    CHECK_INT(look("cuMem", &f, 12000, 0, NULL), CUDA_ERROR_NOT_FOUND);
}

TEST(context_stack)
{
    library = built_library("libcuda-simt.so");
    CUresult (*init)(unsigned) = symbol("cuInit");
    CUresult (*retain)(CUcontext *, CUdevice) = symbol("cuDevicePrimaryCtxRetain");
    CUresult (*push)(CUcontext) = symbol("cuCtxPushCurrent_v2");
    CUresult (*pop)(CUcontext *) = symbol("cuCtxPopCurrent_v2");
    CUresult (*current)(CUcontext *) = symbol("cuCtxGetCurrent");
    CUcontext c, now;
    CHECK_INT(init(0), CUDA_SUCCESS);
    CHECK_INT(pop(&now), CUDA_ERROR_INVALID_CONTEXT);
    CHECK_INT(retain(&c, 0), CUDA_SUCCESS);
    CHECK_INT(push(c), CUDA_SUCCESS);
    CHECK_INT(push(NULL), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(current(&now), CUDA_SUCCESS);
    CHECK(now == c);
    CHECK_INT(pop(&now), CUDA_SUCCESS);
    CHECK(now == c);
    CHECK_INT(current(&now), CUDA_SUCCESS);
    CHECK(now == NULL);
}
