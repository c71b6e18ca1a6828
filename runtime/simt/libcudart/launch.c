/* Launches, and what is known of kernels. */
#include "runtime/simt/libcudart/libcudart.h"
#include <string.h>

/* ---- <<<grid, block, shared, stream>>>: pushed before a kernel's arguments are evaluated, popped by its stub ---- */

#define EXPORT __attribute__((visibility("default")))
EXPORT unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st *stream);
EXPORT cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);

#define MOST_CALLS 8 /* launches among the arguments of launches */
static _Thread_local struct call {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
} calls[MOST_CALLS];
static _Thread_local int pending;

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st *stream)
{
    if (pending == MOST_CALLS) return (unsigned)cudart_end(cudaErrorInvalidConfiguration);
    calls[pending++] = (struct call){grid, block, shared, stream};
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
    if (pending == 0) return cudart_end(cudaErrorMissingConfiguration);
    const struct call *c = &calls[--pending];
    *grid = c->grid;
    *block = c->block;
    *shared = c->shared;
    *(cudaStream_t *)stream = c->stream;
    return cudaSuccess;
}

/* ---- Launches ---- */

static bool within(unsigned size, CUdevice_attribute limit)
{
    int most = 0;
    CUdevice device;
    if (cuCtxGetDevice(&device) == CUDA_SUCCESS) cuDeviceGetAttribute(&most, limit, device);
    return size > 0 && size <= (unsigned)most;
}

/* The driver has one error for all of its arguments; here a wrong shape has one of its own. */
static bool has_shape(dim3 g, dim3 b)
{
    return within(g.x, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X) && within(g.y, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y) &&
           within(g.z, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z) && within(b.x, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X) &&
           within(b.y, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y) && within(b.z, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z) &&
           within(b.x * b.y * b.z, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
}

static cudaError_t result_of(CUresult r, dim3 grid, dim3 block)
{
    if (r == CUDA_ERROR_INVALID_VALUE && !has_shape(grid, block)) return cudaErrorInvalidConfiguration;
    return (cudaError_t)r;
}

cudaError_t cudart_launch(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared,
                          cudaStream_t stream, bool cooperative)
{
    CUfunction f;
    TRY(cudart_find_function(&f, function));
    if (shared > UINT32_MAX) return cudaErrorInvalidValue;
    CUresult r = cooperative ? cuLaunchCooperativeKernel(f, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                                         (unsigned)shared, stream, arguments)
                             : cuLaunchKernel(f, grid.x, grid.y, grid.z, block.x, block.y, block.z, (unsigned)shared,
                                              stream, arguments, NULL);
    return result_of(r, grid, block);
}

static CUlaunchConfig config_of(const cudaLaunchConfig_t *c)
{
    return (CUlaunchConfig){.gridDimX = c->gridDim.x,
                            .gridDimY = c->gridDim.y,
                            .gridDimZ = c->gridDim.z,
                            .blockDimX = c->blockDim.x,
                            .blockDimY = c->blockDim.y,
                            .blockDimZ = c->blockDim.z,
                            .sharedMemBytes = (unsigned)c->dynamicSmemBytes,
                            .hStream = c->stream,
                            .attrs = (CUlaunchAttribute *)c->attrs,
                            .numAttrs = c->numAttrs};
}

cudaError_t cudart_launch_ex(const cudaLaunchConfig_t *config, const void *function, void **arguments)
{
    CUfunction f;
    if (!config) return cudaErrorInvalidValue;
    TRY(cudart_find_function(&f, function));
    CUlaunchConfig c = config_of(config);
    return result_of(cuLaunchKernelEx(&c, f, arguments, NULL), config->gridDim, config->blockDim);
}

/* ---- Kernels ---- */

/* Attributes that a driver does not know are 0. */
static int attribute(CUfunction f, CUfunction_attribute attribute)
{
    int value = 0;
    return cuFuncGetAttribute(&value, attribute, f) == CUDA_SUCCESS ? value : 0;
}

cudaError_t cudart_get_function(struct cudaFuncAttributes *a, const void *function)
{
    CUfunction f;
    if (!a) return cudaErrorInvalidValue;
    TRY(cudart_find_function(&f, function));
    memset(a, 0, sizeof *a);
    a->sharedSizeBytes = (size_t)attribute(f, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
    a->constSizeBytes = (size_t)attribute(f, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
    a->localSizeBytes = (size_t)attribute(f, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
    a->maxThreadsPerBlock = attribute(f, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    a->numRegs = attribute(f, CU_FUNC_ATTRIBUTE_NUM_REGS);
    a->ptxVersion = attribute(f, CU_FUNC_ATTRIBUTE_PTX_VERSION);
    a->binaryVersion = attribute(f, CU_FUNC_ATTRIBUTE_BINARY_VERSION);
    a->cacheModeCA = attribute(f, CU_FUNC_ATTRIBUTE_CACHE_MODE_CA);
    a->maxDynamicSharedSizeBytes = attribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
    a->preferredShmemCarveout = attribute(f, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
    a->clusterDimMustBeSet = attribute(f, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET);
    a->requiredClusterWidth = attribute(f, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH);
    a->requiredClusterHeight = attribute(f, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT);
    a->requiredClusterDepth = attribute(f, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH);
    a->clusterSchedulingPolicyPreference = attribute(f, CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE);
    a->nonPortableClusterSizeAllowed = attribute(f, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
    return cudaSuccess;
}

cudaError_t cudart_set_function(const void *function, enum cudaFuncAttribute attribute, int value)
{
    CUfunction f;
    TRY(cudart_find_function(&f, function));
    return (cudaError_t)cuFuncSetAttribute(f, (CUfunction_attribute)attribute, value);
}

cudaError_t cudart_cache_config(const void *function, enum cudaFuncCache config)
{
    CUfunction f;
    TRY(cudart_find_function(&f, function));
    return (cudaError_t)cuFuncSetCacheConfig(f, (CUfunc_cache)config);
}

cudaError_t cudart_function_name(const char **name, const void *function)
{
    CUkernel kernel;
    TRY(cudart_find_kernel(&kernel, function));
    return (cudaError_t)cuKernelGetName(name, kernel);
}

cudaError_t cudart_param_info(const void *function, size_t index, size_t *offset, size_t *size)
{
    CUkernel kernel;
    TRY(cudart_find_kernel(&kernel, function));
    return (cudaError_t)cuKernelGetParamInfo(kernel, index, offset, size);
}

cudaError_t cudart_active_blocks(int *blocks, const void *function, int block_size, size_t shared, unsigned flags)
{
    CUfunction f;
    TRY(cudart_find_function(&f, function));
    return (cudaError_t)cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, f, block_size, shared, flags);
}

cudaError_t cudart_available_shared(size_t *bytes, const void *function, int blocks, int block_size)
{
    CUfunction f;
    TRY(cudart_find_function(&f, function));
    return (cudaError_t)cuOccupancyAvailableDynamicSMemPerBlock(bytes, f, blocks, block_size);
}

cudaError_t cudart_cluster_size(int *size, const void *function, const cudaLaunchConfig_t *config)
{
    CUfunction f;
    if (!config) return cudaErrorInvalidValue;
    TRY(cudart_find_function(&f, function));
    CUlaunchConfig c = config_of(config);
    return (cudaError_t)cuOccupancyMaxPotentialClusterSize(size, f, &c);
}

cudaError_t cudart_active_clusters(int *clusters, const void *function, const cudaLaunchConfig_t *config)
{
    CUfunction f;
    if (!config) return cudaErrorInvalidValue;
    TRY(cudart_find_function(&f, function));
    CUlaunchConfig c = config_of(config);
    return (cudaError_t)cuOccupancyMaxActiveClusters(clusters, f, &c);
}

/* Banks of 4 bytes are what there is on all devices since 2014. */
cudaError_t cudart_bank_size(enum cudaSharedMemConfig *config)
{
    if (!config) return cudaErrorInvalidValue;
    *config = cudaSharedMemBankSizeFourByte;
    return cudaSuccess;
}
