/* Libraries: modules that belong to no context. A kernel of one is its function, so the two kinds of handle are one. */
#include "runtime/simt/libcuda/libcuda.h"
#include <stdlib.h>
#include "runtime/memory.h"

struct CUlib_st {
    CUmodule module;
};

static CUresult check_library(CUlibrary library)
{
    TRY(simt_check_device(0));
    return simt_handle_is(library, SIMT_LIBRARY) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* The module belongs to no context, so none takes it along when it dies; but loading needs one. */
static CUresult load_module(CUmodule *module, const void *image, unsigned count, CUjit_option *options, void **values)
{
    CUcontext before = NULL, lent = NULL;
    TRY(simt_CtxGetCurrent(&before));
    if (!before) {
        TRY(simt_DevicePrimaryCtxRetain(&lent, 0));
        TRY(simt_CtxSetCurrent(lent));
    }
    CUresult r = simt_ModuleLoadDataEx(module, image, count, options, values);
    if (r == CUDA_SUCCESS) simt_handle_disown(*module, SIMT_MODULE);
    if (!before) {
        simt_CtxSetCurrent(NULL);
        simt_DevicePrimaryCtxRelease(0);
    }
    return r;
}

CUresult cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *options, void **values,
                           unsigned int option_count, CUlibraryOption *library_options, void **library_values,
                           unsigned int library_option_count)
{
    TRY(simt_check_device(0));
    if (!library || !code) return CUDA_ERROR_INVALID_VALUE;
    if (library_option_count > 0 && (!library_options || !library_values)) return CUDA_ERROR_INVALID_VALUE;
    CUlibrary l = rt_calloc(1, sizeof *l);
    if (!l) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = load_module(&l->module, code, option_count, options, values);
    if (r == CUDA_SUCCESS && !simt_handle_add(l, SIMT_LIBRARY)) {
        r = CUDA_ERROR_OUT_OF_MEMORY;
        simt_handle_remove(l->module, SIMT_MODULE);
        simt_drop_module(l->module);
    }
    if (r == CUDA_SUCCESS) {
        simt_handle_disown(l, SIMT_LIBRARY);
        l->module->library = l;
        l->module->context = NULL;
        *library = l;
    } else {
        free(l);
    }
    return r;
}

CUresult cuLibraryLoadFromFile(CUlibrary *library, const char *path, CUjit_option *options, void **values,
                               unsigned int option_count, CUlibraryOption *library_options, void **library_values,
                               unsigned int library_option_count)
{
    char *text;
    TRY(simt_check_device(0));
    TRY(libcuda_read_file(path, &text, NULL));
    CUresult r = cuLibraryLoadData(library, text, options, values, option_count, library_options, library_values,
                                   library_option_count);
    free(text);
    return r;
}

CUresult cuLibraryUnload(CUlibrary library)
{
    TRY(simt_check_device(0));
    simt_settle(false);
    if (!simt_handle_remove(library, SIMT_LIBRARY)) return CUDA_ERROR_INVALID_HANDLE;
    simt_handle_remove(library->module, SIMT_MODULE);
    simt_drop_module(library->module);
    free(library);
    return CUDA_SUCCESS;
}

CUresult cuLibraryGetModule(CUmodule *module, CUlibrary library)
{
    TRY(check_library(library));
    TRY(simt_ready());
    if (!module) return CUDA_ERROR_INVALID_VALUE;
    *module = library->module;
    return CUDA_SUCCESS;
}

CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
    TRY(check_library(library));
    if (!kernel || !name) return CUDA_ERROR_INVALID_VALUE;
    return simt_function_of((CUfunction *)kernel, library->module,
                            simt_program_function(library->module->program, name));
}

CUresult cuLibraryGetKernelCount(unsigned int *count, CUlibrary library)
{
    TRY(check_library(library));
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    *count = libcuda_count_functions(library->module);
    return CUDA_SUCCESS;
}

CUresult cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int count, CUlibrary library)
{
    TRY(check_library(library));
    return kernels ? libcuda_enumerate((CUfunction *)kernels, count, library->module) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuLibraryGetGlobal(CUdeviceptr *pointer, size_t *bytes, CUlibrary library, const char *name)
{
    TRY(check_library(library));
    return simt_ModuleGetGlobal(pointer, bytes, library->module, name); /* with a context, as CUDA has it */
}

CUresult cuLibraryGetManaged(CUdeviceptr *pointer, size_t *bytes, CUlibrary library, const char *name)
{
    uint64_t address;
    size_t size;
    TRY(check_library(library));
    if (!name || (!pointer && !bytes)) return CUDA_ERROR_INVALID_VALUE;
    bool found = simt_program_global(library->module->program, name, &address, &size);
    if (!found || address >= SIMT_GLOBAL_BASE) return CUDA_ERROR_NOT_FOUND; /* what is managed has a host address */
    if (pointer) *pointer = address;
    if (bytes) *bytes = size;
    return CUDA_SUCCESS;
}

/* There is no function that host and device share. */
CUresult cuLibraryGetUnifiedFunction(void **function, CUlibrary library, const char *name)
{
    TRY(check_library(library));
    return function && name ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_INVALID_VALUE;
}

/* ---- Kernels ---- */

static CUresult check_kernel(CUkernel kernel)
{
    TRY(simt_check_device(0));
    bool good = simt_handle_is(kernel, SIMT_FUNCTION) && ((CUfunction)kernel)->module->library;
    return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuKernelGetFunction(CUfunction *function, CUkernel kernel)
{
    TRY(check_kernel(kernel));
    TRY(simt_ready());
    if (!function) return CUDA_ERROR_INVALID_VALUE;
    *function = (CUfunction)kernel;
    return CUDA_SUCCESS;
}

CUresult cuKernelGetLibrary(CUlibrary *library, CUkernel kernel)
{
    TRY(check_kernel(kernel));
    if (!library) return CUDA_ERROR_INVALID_VALUE;
    *library = ((CUfunction)kernel)->module->library;
    return CUDA_SUCCESS;
}

CUresult cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel kernel, CUdevice device)
{
    TRY(check_kernel(kernel));
    TRY(simt_check_device(device));
    return simt_get_attribute(value, attribute, (CUfunction)kernel);
}

CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice device)
{
    TRY(check_kernel(kernel));
    TRY(simt_check_device(device));
    return simt_set_attribute((CUfunction)kernel, attribute, value);
}

CUresult cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice device)
{
    TRY(check_kernel(kernel));
    TRY(simt_check_device(device));
    return config > CU_FUNC_CACHE_PREFER_EQUAL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuKernelGetName(const char **name, CUkernel kernel)
{
    TRY(check_kernel(kernel));
    if (!name) return CUDA_ERROR_INVALID_VALUE;
    *name = ((CUfunction)kernel)->name;
    return CUDA_SUCCESS;
}

CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t *offset, size_t *size)
{
    TRY(check_kernel(kernel));
    return libcuda_param_info((CUfunction)kernel, index, offset, size);
}
