/* Modules from files and with fewer options; what a function says of itself; occupancy. */
#include "runtime/simt/libcuda/libcuda.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "runtime/memory.h"
#include "runtime/threads.h"

CUresult libcuda_read_file(const char *path, char **text, size_t *bytes)
{
    if (!path) return CUDA_ERROR_INVALID_VALUE;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0) return CUDA_ERROR_FILE_NOT_FOUND;
    size_t size = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? (size_t)st.st_size : 0, done = 0;
    char *p = size > 0 ? rt_alloc(size + 1) : NULL;
    while (p && done < size) {
        ssize_t n = read(fd, p + done, size - done);
        if (n <= 0) break;
        done += (size_t)n;
    }
    close(fd);
    if (!p) return size > 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_IMAGE;
    p[done] = '\0';
    *text = p;
    if (bytes) *bytes = done;
    return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    return simt_ModuleLoadDataEx(module, image, 0, NULL, NULL);
}

CUresult cuModuleLoadFatBinary(CUmodule *module, const void *image)
{
    return simt_ModuleLoadDataEx(module, image, 0, NULL, NULL);
}

CUresult cuModuleLoad(CUmodule *module, const char *path)
{
    char *text;
    TRY(simt_ready());
    TRY(libcuda_read_file(path, &text, NULL));
    CUresult r = simt_ModuleLoadDataEx(module, text, 0, NULL, NULL);
    free(text);
    return r;
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
    if (!mode) return CUDA_ERROR_INVALID_VALUE;
    *mode = CU_MODULE_EAGER_LOADING;
    return CUDA_SUCCESS;
}

static CUresult check_module(CUmodule module)
{
    TRY(simt_ready());
    return simt_handle_is(module, SIMT_MODULE) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

unsigned libcuda_count_functions(CUmodule module)
{
    unsigned n = 0;
    while (simt_program_entry(module->program, n)) n++;
    return n;
}

CUresult libcuda_enumerate(CUfunction *functions, unsigned count, CUmodule module)
{
    const struct simt_function *f;
    for (unsigned i = 0; i < count && (f = simt_program_entry(module->program, i)); i++)
        TRY(simt_function_of(&functions[i], module, f));
    return CUDA_SUCCESS;
}

CUresult cuModuleGetFunctionCount(unsigned int *count, CUmodule module)
{
    TRY(check_module(module));
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    *count = libcuda_count_functions(module);
    return CUDA_SUCCESS;
}

CUresult cuModuleEnumerateFunctions(CUfunction *functions, unsigned int count, CUmodule module)
{
    TRY(check_module(module));
    return functions ? libcuda_enumerate(functions, count, module) : CUDA_ERROR_INVALID_VALUE;
}

/* References to textures went with CUDA 12; compilers make none. */
CUresult cuModuleGetTexRef(CUtexref *reference, CUmodule module, const char *name)
{
    TRY(check_module(module));
    return reference && name ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuModuleGetSurfRef(CUsurfref *reference, CUmodule module, const char *name)
{
    TRY(check_module(module));
    return reference && name ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_INVALID_VALUE;
}

/* ---- Functions ---- */

CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache config)
{
    TRY(simt_check_function(function));
    return config > CU_FUNC_CACHE_PREFER_EQUAL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS; /* there is no such cache */
}

CUresult cuFuncSetSharedMemConfig(CUfunction function, CUsharedconfig config)
{
    TRY(simt_check_function(function));
    return config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuFuncGetModule(CUmodule *module, CUfunction function)
{
    TRY(simt_check_function(function));
    if (!module) return CUDA_ERROR_INVALID_VALUE;
    *module = function->module;
    return CUDA_SUCCESS;
}

CUresult cuFuncGetName(const char **name, CUfunction function)
{
    TRY(simt_check_function(function));
    if (!name) return CUDA_ERROR_INVALID_VALUE;
    *name = function->name;
    return CUDA_SUCCESS;
}

CUresult libcuda_param_info(CUfunction function, size_t index, size_t *offset, size_t *size)
{
    const struct simt_function_info *info = simt_function_info(function->function);
    if (!offset || index >= info->param_count) return CUDA_ERROR_INVALID_VALUE;
    *offset = info->params[index].offset;
    if (size) *size = info->params[index].size;
    return CUDA_SUCCESS;
}

CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset, size_t *size)
{
    TRY(simt_check_function(function));
    return libcuda_param_info(function, index, offset, size);
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction function)
{
    TRY(simt_check_function(function));
    if (!state) return CUDA_ERROR_INVALID_VALUE;
    *state = CU_FUNCTION_LOADING_STATE_LOADED;
    return CUDA_SUCCESS;
}

CUresult cuFuncLoad(CUfunction function)
{
    return simt_check_function(function);
}

/* ---- Occupancy ---- */

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction function, int block_size,
                                                              size_t dynamic_shared, unsigned int flags)
{
    if (flags > CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE) return CUDA_ERROR_INVALID_VALUE;
    return simt_OccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, block_size, dynamic_shared);
}

CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, CUfunction function,
                                                   CUoccupancyB2DSize shared_of_block, size_t dynamic_shared,
                                                   int block_limit, unsigned int flags)
{
    if (flags > CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE) return CUDA_ERROR_INVALID_VALUE;
    return simt_OccupancyMaxPotentialBlockSize(grid, block, function, shared_of_block, dynamic_shared, block_limit);
}

/* The most with which so many blocks still fit. */
CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, CUfunction function, int blocks, int block_size)
{
    TRY(simt_check_function(function));
    if (!bytes || blocks <= 0 || block_size <= 0) return CUDA_ERROR_INVALID_VALUE;
    size_t fixed = simt_function_info(function->function)->shared_bytes;
    size_t share = (SIMT_SHARED_OPTIN + 1024) / (size_t)blocks;
    if (simt_active_blocks(function, block_size, 0) < blocks) return CUDA_ERROR_INVALID_VALUE;
    size_t most = share > fixed ? share - fixed : 0;
    *bytes = most < (size_t)function->max_dynamic ? most : (size_t)function->max_dynamic;
    return CUDA_SUCCESS;
}
