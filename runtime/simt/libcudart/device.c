/* The device that a thread uses, and what it says of itself. */
#include "runtime/simt/libcudart/libcudart.h"
#include <pthread.h>
#include <string.h>

#define MOST_DEVICES 64

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CUcontext contexts[MOST_DEVICES]; /* the primary ones that are held */
static _Thread_local int chosen;

/* A device that was reset lost its context to all threads; it is held anew. */
static cudaError_t hold_context(int device, CUcontext *context)
{
    unsigned flags;
    int active = 0;
    cudaError_t r = cudaSuccess;
    if (device < 0 || device >= MOST_DEVICES) return cudaErrorInvalidDevice;
    pthread_mutex_lock(&lock);
    if (contexts[device] && cuDevicePrimaryCtxGetState(device, &flags, &active) == CUDA_SUCCESS && !active)
        contexts[device] = NULL;
    if (!contexts[device]) r = (cudaError_t)cuDevicePrimaryCtxRetain(&contexts[device], device);
    *context = contexts[device];
    pthread_mutex_unlock(&lock);
    return r;
}

static cudaError_t start(void)
{
    int version;
    CUresult r = cuInit(0);
    if (r != CUDA_SUCCESS) return (cudaError_t)r;
    TRY(cuDriverGetVersion(&version));
    return version / 1000 < CUDART_VERSION / 1000 ? cudaErrorInsufficientDriver : cudaSuccess;
}

cudaError_t cudart_use_context(void)
{
    CUcontext context = NULL;
    unsigned version;
    CUresult r = cuCtxGetCurrent(&context);
    if (r == CUDA_ERROR_NOT_INITIALIZED) TRY(start());
    if (context && cuCtxGetApiVersion(context, &version) == CUDA_SUCCESS) return cudaSuccess;
    TRY(hold_context(chosen, &context));
    return (cudaError_t)cuCtxSetCurrent(context);
}

cudaError_t cudart_count_devices(int *count)
{
    return (cudaError_t)cuDeviceGetCount(count);
}

cudaError_t cudart_set_device(int device)
{
    CUdevice d;
    CUcontext context;
    TRY(cuDeviceGet(&d, device));
    TRY(hold_context(device, &context));
    chosen = device;
    return (cudaError_t)cuCtxSetCurrent(context);
}

cudaError_t cudart_get_device(int *device)
{
    return device ? (cudaError_t)cuCtxGetDevice(device) : cudaErrorInvalidValue;
}

/* The first that is as capable as was asked for, else the first. */
cudaError_t cudart_choose_device(int *device, const struct cudaDeviceProp *wanted)
{
    int count;
    struct cudaDeviceProp p;
    if (!device || !wanted) return cudaErrorInvalidValue;
    TRY(cuDeviceGetCount(&count));
    *device = 0;
    for (int d = 0; d < count; d++) {
        TRY(cudart_get_properties(&p, d));
        bool newer = p.major > wanted->major || (p.major == wanted->major && p.minor >= wanted->minor);
        if (!newer || p.totalGlobalMem < wanted->totalGlobalMem) continue;
        *device = d;
        break;
    }
    return cudaSuccess;
}

cudaError_t cudart_check_devices(const int *devices, int count)
{
    CUdevice d;
    if (count < 0 || (count > 0 && !devices)) return cudaErrorInvalidValue;
    for (int i = 0; i < count; i++) TRY(cuDeviceGet(&d, devices[i]));
    return cudaSuccess;
}

cudaError_t cudart_reset_device(void)
{
    int device = chosen;
    CUcontext context;
    cuCtxGetDevice(&device);
    cudart_unload_program();
    TRY(cuDevicePrimaryCtxReset(device));
    pthread_mutex_lock(&lock);
    if (device < MOST_DEVICES) contexts[device] = NULL;
    pthread_mutex_unlock(&lock);
    cudart_forget_errors();
    TRY(hold_context(device, &context));
    return (cudaError_t)cuCtxSetCurrent(context);
}

cudaError_t cudart_set_flags(unsigned flags)
{
    CUdevice device;
    TRY(cuCtxGetDevice(&device));
    return (cudaError_t)cuDevicePrimaryCtxSetFlags(device, flags & ~(unsigned)cudaDeviceSyncMemops);
}

cudaError_t cudart_get_flags(unsigned *flags)
{
    if (!flags) return cudaErrorInvalidValue;
    TRY(cuCtxGetFlags(flags));
    *flags |= cudaDeviceMapHost;
    return cudaSuccess;
}

/* ---- Properties ---- */

/* A member and the attribute that it is. */
#define PROPERTIES(X)                                                                                                  \
    X(sharedMemPerBlock, MAX_SHARED_MEMORY_PER_BLOCK)                                                                  \
    X(regsPerBlock, MAX_REGISTERS_PER_BLOCK)                                                                           \
    X(warpSize, WARP_SIZE)                                                                                             \
    X(memPitch, MAX_PITCH)                                                                                             \
    X(maxThreadsPerBlock, MAX_THREADS_PER_BLOCK)                                                                       \
    X(maxThreadsDim[0], MAX_BLOCK_DIM_X)                                                                               \
    X(maxThreadsDim[1], MAX_BLOCK_DIM_Y)                                                                               \
    X(maxThreadsDim[2], MAX_BLOCK_DIM_Z)                                                                               \
    X(maxGridSize[0], MAX_GRID_DIM_X)                                                                                  \
    X(maxGridSize[1], MAX_GRID_DIM_Y)                                                                                  \
    X(maxGridSize[2], MAX_GRID_DIM_Z)                                                                                  \
    X(totalConstMem, TOTAL_CONSTANT_MEMORY)                                                                            \
    X(major, COMPUTE_CAPABILITY_MAJOR)                                                                                 \
    X(minor, COMPUTE_CAPABILITY_MINOR)                                                                                 \
    X(textureAlignment, TEXTURE_ALIGNMENT)                                                                             \
    X(texturePitchAlignment, TEXTURE_PITCH_ALIGNMENT)                                                                  \
    X(multiProcessorCount, MULTIPROCESSOR_COUNT)                                                                       \
    X(integrated, INTEGRATED)                                                                                          \
    X(canMapHostMemory, CAN_MAP_HOST_MEMORY)                                                                           \
    X(maxTexture1D, MAXIMUM_TEXTURE1D_WIDTH)                                                                           \
    X(maxTexture1DMipmap, MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH)                                                           \
    X(maxTexture2D[0], MAXIMUM_TEXTURE2D_WIDTH)                                                                        \
    X(maxTexture2D[1], MAXIMUM_TEXTURE2D_HEIGHT)                                                                       \
    X(maxTexture2DMipmap[0], MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH)                                                        \
    X(maxTexture2DMipmap[1], MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT)                                                       \
    X(maxTexture2DLinear[0], MAXIMUM_TEXTURE2D_LINEAR_WIDTH)                                                           \
    X(maxTexture2DLinear[1], MAXIMUM_TEXTURE2D_LINEAR_HEIGHT)                                                          \
    X(maxTexture2DLinear[2], MAXIMUM_TEXTURE2D_LINEAR_PITCH)                                                           \
    X(maxTexture2DGather[0], MAXIMUM_TEXTURE2D_GATHER_WIDTH)                                                           \
    X(maxTexture2DGather[1], MAXIMUM_TEXTURE2D_GATHER_HEIGHT)                                                          \
    X(maxTexture3D[0], MAXIMUM_TEXTURE3D_WIDTH)                                                                        \
    X(maxTexture3D[1], MAXIMUM_TEXTURE3D_HEIGHT)                                                                       \
    X(maxTexture3D[2], MAXIMUM_TEXTURE3D_DEPTH)                                                                        \
    X(maxTexture3DAlt[0], MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE)                                                           \
    X(maxTexture3DAlt[1], MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE)                                                          \
    X(maxTexture3DAlt[2], MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE)                                                           \
    X(maxTextureCubemap, MAXIMUM_TEXTURECUBEMAP_WIDTH)                                                                 \
    X(maxTexture1DLayered[0], MAXIMUM_TEXTURE1D_LAYERED_WIDTH)                                                         \
    X(maxTexture1DLayered[1], MAXIMUM_TEXTURE1D_LAYERED_LAYERS)                                                        \
    X(maxTexture2DLayered[0], MAXIMUM_TEXTURE2D_LAYERED_WIDTH)                                                         \
    X(maxTexture2DLayered[1], MAXIMUM_TEXTURE2D_LAYERED_HEIGHT)                                                        \
    X(maxTexture2DLayered[2], MAXIMUM_TEXTURE2D_LAYERED_LAYERS)                                                        \
    X(maxTextureCubemapLayered[0], MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH)                                               \
    X(maxTextureCubemapLayered[1], MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS)                                              \
    X(maxSurface1D, MAXIMUM_SURFACE1D_WIDTH)                                                                           \
    X(maxSurface2D[0], MAXIMUM_SURFACE2D_WIDTH)                                                                        \
    X(maxSurface2D[1], MAXIMUM_SURFACE2D_HEIGHT)                                                                       \
    X(maxSurface3D[0], MAXIMUM_SURFACE3D_WIDTH)                                                                        \
    X(maxSurface3D[1], MAXIMUM_SURFACE3D_HEIGHT)                                                                       \
    X(maxSurface3D[2], MAXIMUM_SURFACE3D_DEPTH)                                                                        \
    X(maxSurface1DLayered[0], MAXIMUM_SURFACE1D_LAYERED_WIDTH)                                                         \
    X(maxSurface1DLayered[1], MAXIMUM_SURFACE1D_LAYERED_LAYERS)                                                        \
    X(maxSurface2DLayered[0], MAXIMUM_SURFACE2D_LAYERED_WIDTH)                                                         \
    X(maxSurface2DLayered[1], MAXIMUM_SURFACE2D_LAYERED_HEIGHT)                                                        \
    X(maxSurface2DLayered[2], MAXIMUM_SURFACE2D_LAYERED_LAYERS)                                                        \
    X(maxSurfaceCubemap, MAXIMUM_SURFACECUBEMAP_WIDTH)                                                                 \
    X(maxSurfaceCubemapLayered[0], MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH)                                               \
    X(maxSurfaceCubemapLayered[1], MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS)                                              \
    X(surfaceAlignment, SURFACE_ALIGNMENT)                                                                             \
    X(concurrentKernels, CONCURRENT_KERNELS)                                                                           \
    X(ECCEnabled, ECC_ENABLED)                                                                                         \
    X(pciBusID, PCI_BUS_ID)                                                                                            \
    X(pciDeviceID, PCI_DEVICE_ID)                                                                                      \
    X(pciDomainID, PCI_DOMAIN_ID)                                                                                      \
    X(tccDriver, TCC_DRIVER)                                                                                           \
    X(asyncEngineCount, ASYNC_ENGINE_COUNT)                                                                            \
    X(unifiedAddressing, UNIFIED_ADDRESSING)                                                                           \
    X(memoryBusWidth, GLOBAL_MEMORY_BUS_WIDTH)                                                                         \
    X(l2CacheSize, L2_CACHE_SIZE)                                                                                      \
    X(persistingL2CacheMaxSize, MAX_PERSISTING_L2_CACHE_SIZE)                                                          \
    X(maxThreadsPerMultiProcessor, MAX_THREADS_PER_MULTIPROCESSOR)                                                     \
    X(streamPrioritiesSupported, STREAM_PRIORITIES_SUPPORTED)                                                          \
    X(globalL1CacheSupported, GLOBAL_L1_CACHE_SUPPORTED)                                                               \
    X(localL1CacheSupported, LOCAL_L1_CACHE_SUPPORTED)                                                                 \
    X(sharedMemPerMultiprocessor, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)                                                \
    X(regsPerMultiprocessor, MAX_REGISTERS_PER_MULTIPROCESSOR)                                                         \
    X(managedMemory, MANAGED_MEMORY)                                                                                   \
    X(isMultiGpuBoard, MULTI_GPU_BOARD)                                                                                \
    X(multiGpuBoardGroupID, MULTI_GPU_BOARD_GROUP_ID)                                                                  \
    X(hostNativeAtomicSupported, HOST_NATIVE_ATOMIC_SUPPORTED)                                                         \
    X(pageableMemoryAccess, PAGEABLE_MEMORY_ACCESS)                                                                    \
    X(concurrentManagedAccess, CONCURRENT_MANAGED_ACCESS)                                                              \
    X(computePreemptionSupported, COMPUTE_PREEMPTION_SUPPORTED)                                                        \
    X(canUseHostPointerForRegisteredMem, CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM)                                      \
    X(cooperativeLaunch, COOPERATIVE_LAUNCH)                                                                           \
    X(sharedMemPerBlockOptin, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)                                                       \
    X(pageableMemoryAccessUsesHostPageTables, PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES)                            \
    X(directManagedMemAccessFromHost, DIRECT_MANAGED_MEM_ACCESS_FROM_HOST)                                             \
    X(maxBlocksPerMultiProcessor, MAX_BLOCKS_PER_MULTIPROCESSOR)                                                       \
    X(accessPolicyMaxWindowSize, MAX_ACCESS_POLICY_WINDOW_SIZE)                                                        \
    X(reservedSharedMemPerBlock, RESERVED_SHARED_MEMORY_PER_BLOCK)                                                     \
    X(hostRegisterSupported, HOST_REGISTER_SUPPORTED)                                                                  \
    X(sparseCudaArraySupported, SPARSE_CUDA_ARRAY_SUPPORTED)                                                           \
    X(hostRegisterReadOnlySupported, READ_ONLY_HOST_REGISTER_SUPPORTED)                                                \
    X(timelineSemaphoreInteropSupported, TIMELINE_SEMAPHORE_INTEROP_SUPPORTED)                                         \
    X(memoryPoolsSupported, MEMORY_POOLS_SUPPORTED)                                                                    \
    X(gpuDirectRDMASupported, GPU_DIRECT_RDMA_SUPPORTED)                                                               \
    X(gpuDirectRDMAFlushWritesOptions, GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS)                                           \
    X(gpuDirectRDMAWritesOrdering, GPU_DIRECT_RDMA_WRITES_ORDERING)                                                    \
    X(memoryPoolSupportedHandleTypes, MEMPOOL_SUPPORTED_HANDLE_TYPES)                                                  \
    X(deferredMappingCudaArraySupported, DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED)                                        \
    X(ipcEventSupported, IPC_EVENT_SUPPORTED)                                                                          \
    X(clusterLaunch, CLUSTER_LAUNCH)                                                                                   \
    X(unifiedFunctionPointers, UNIFIED_FUNCTION_POINTERS)                                                              \
    X(deviceNumaConfig, NUMA_CONFIG)                                                                                   \
    X(deviceNumaId, NUMA_ID)                                                                                           \
    X(mpsEnabled, MPS_ENABLED)                                                                                         \
    X(hostNumaId, HOST_NUMA_ID)

cudaError_t cudart_get_properties(struct cudaDeviceProp *p, int device)
{
    int value;
    if (!p) return cudaErrorInvalidValue;
    memset(p, 0, sizeof *p);
    TRY(cuDeviceGetName(p->name, sizeof p->name, device));
    TRY(cuDeviceGetUuid((CUuuid *)&p->uuid, device));
    TRY(cuDeviceTotalMem(&p->totalGlobalMem, device));
#define X(member, attribute)                                                                                           \
    TRY(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_##attribute, device));                                        \
    p->member = (__typeof__(p->member))value;
    PROPERTIES(X)
#undef X
    return cudaSuccess;
}

/* ---- Peers ---- */

static cudaError_t peer(int device, CUcontext *context)
{
    CUdevice d, mine;
    TRY(cuDeviceGet(&d, device));
    TRY(cuCtxGetDevice(&mine));
    return d == mine ? cudaErrorInvalidDevice : hold_context(device, context);
}

cudaError_t cudart_enable_peer(int device, unsigned flags)
{
    CUcontext context;
    TRY(peer(device, &context));
    return (cudaError_t)cuCtxEnablePeerAccess(context, flags);
}

cudaError_t cudart_disable_peer(int device)
{
    CUcontext context;
    TRY(peer(device, &context));
    return (cudaError_t)cuCtxDisablePeerAccess(context);
}

/* ---- The driver's functions; that there is none of the name is no error for who asks for the status ---- */

cudaError_t cudart_entry_point(const char *symbol, void **function, unsigned version, unsigned long long flags,
                               enum cudaDriverEntryPointQueryResult *status)
{
    CUdriverProcAddressQueryResult result;
    CUresult r = cuGetProcAddress(symbol, function, (int)version, flags, &result);
    if (r != CUDA_SUCCESS && r != CUDA_ERROR_NOT_FOUND) return (cudaError_t)r;
    if (status) *status = (enum cudaDriverEntryPointQueryResult)result;
    return status ? cudaSuccess : (cudaError_t)r;
}
