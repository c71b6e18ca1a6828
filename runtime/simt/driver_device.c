/* The software GPU's driver: what the device says of itself. */
#include <stdio.h>
#include "runtime/host.h"
#include "runtime/simt/entries.h"
#include "runtime/threads.h"

#define TEXTURE_SIDE  32768 /* elements along x and y of textures and surfaces with two axes */
#define TEXTURE_CUBE  16384 /* along each of three axes */
#define TEXTURE_LINE  131072
#define TEXTURE_LAYER 2048

CUresult simt_DeviceGetCount(int *count)
{
    CUresult r = simt_check_device(0);
    if (r != CUDA_SUCCESS) return r;
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    *count = 1;
    return CUDA_SUCCESS;
}

CUresult simt_DeviceGet(CUdevice *device, int ordinal)
{
    CUresult r = simt_check_device(ordinal);
    if (r != CUDA_SUCCESS) return r;
    if (!device) return CUDA_ERROR_INVALID_VALUE;
    *device = 0;
    return CUDA_SUCCESS;
}

CUresult simt_DeviceGetName(char *name, int length, CUdevice device)
{
    CUresult r = simt_check_device(device);
    if (r != CUDA_SUCCESS) return r;
    if (!name || length <= 0) return CUDA_ERROR_INVALID_VALUE;
    char model[96];
    rt_cpu_model(model, sizeof model);
    snprintf(name, (size_t)length, "lunarray software GPU (%s)", model);
    return CUDA_SUCCESS;
}

/* Attributes that are not here are 0: features and limits of what is not there. */
#define ATTRIBUTES(X)                                                                                                  \
    X(COMPUTE_CAPABILITY_MAJOR, 8)                                                                                     \
    X(COMPUTE_CAPABILITY_MINOR, 0)                                                                                     \
    X(WARP_SIZE, SIMT_WARP)                                                                                            \
    X(MULTIPROCESSOR_COUNT, rt_thread_count())                                                                         \
    X(MAX_THREADS_PER_BLOCK, SIMT_MAX_THREADS)                                                                         \
    X(MAX_BLOCK_DIM_X, SIMT_MAX_THREADS)                                                                               \
    X(MAX_BLOCK_DIM_Y, SIMT_MAX_THREADS)                                                                               \
    X(MAX_BLOCK_DIM_Z, SIMT_MAX_BLOCK_Z)                                                                               \
    X(MAX_GRID_DIM_X, SIMT_MAX_GRID_X)                                                                                 \
    X(MAX_GRID_DIM_Y, SIMT_MAX_GRID_YZ)                                                                                \
    X(MAX_GRID_DIM_Z, SIMT_MAX_GRID_YZ)                                                                                \
    X(MAX_SHARED_MEMORY_PER_BLOCK, SIMT_SHARED)                                                                        \
    X(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, SIMT_SHARED_OPTIN)                                                            \
    X(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, SIMT_SHARED_OPTIN + 1024)                                                  \
    X(RESERVED_SHARED_MEMORY_PER_BLOCK, 0)                                                                             \
    X(MAX_THREADS_PER_MULTIPROCESSOR, 2 * SIMT_MAX_THREADS)                                                            \
    X(MAX_BLOCKS_PER_MULTIPROCESSOR, SIMT_MAX_BLOCKS)                                                                  \
    X(MAX_REGISTERS_PER_BLOCK, SIMT_REGISTERS)                                                                         \
    X(MAX_REGISTERS_PER_MULTIPROCESSOR, SIMT_REGISTERS)                                                                \
    X(TOTAL_CONSTANT_MEMORY, 65536)                                                                                    \
    X(MAX_PITCH, 0x7FFFFFFF)                                                                                           \
    X(TEXTURE_ALIGNMENT, 256)                                                                                          \
    X(TEXTURE_PITCH_ALIGNMENT, 32)                                                                                     \
    X(SURFACE_ALIGNMENT, 256)                                                                                          \
    X(CLOCK_RATE, 1000000) /* kHz, nominal, as the clock instructions count nanoseconds */                             \
    X(MEMORY_CLOCK_RATE, 1000000)                                                                                      \
    X(GLOBAL_MEMORY_BUS_WIDTH, 64)                                                                                     \
    X(L2_CACHE_SIZE, 1 << 20)                                                                                          \
    X(CLUSTER_LAUNCH, 1)                                                                                               \
    X(COOPERATIVE_LAUNCH, 1)                                                                                           \
    X(UNIFIED_ADDRESSING, 1)                                                                                           \
    X(INTEGRATED, 1) /* its memory is the host's */                                                                    \
    X(CAN_MAP_HOST_MEMORY, 1)                                                                                          \
    X(HOST_REGISTER_SUPPORTED, 1)                                                                                      \
    X(CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1)                                                                      \
    X(MANAGED_MEMORY, 1)                                                                                               \
    X(VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1)                                                                          \
    X(HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 1)                                                                  \
    X(MEMORY_POOLS_SUPPORTED, 1)                                                                                       \
    X(STREAM_PRIORITIES_SUPPORTED, 1)                                                                                  \
    X(COMPUTE_PREEMPTION_SUPPORTED, 1)                                                                                 \
    X(SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, 2)                                                                        \
    X(PCI_BUS_ID, 0)                                                                                                   \
    X(HOST_NUMA_ID, -1)                                                                                                \
    X(NUMA_ID, -1)                                                                                                     \
    X(MAXIMUM_TEXTURE1D_WIDTH, TEXTURE_LINE)                                                                           \
    X(MAXIMUM_TEXTURE1D_LINEAR_WIDTH, 1 << 28)                                                                         \
    X(MAXIMUM_TEXTURE1D_LAYERED_WIDTH, TEXTURE_SIDE)                                                                   \
    X(MAXIMUM_TEXTURE1D_LAYERED_LAYERS, TEXTURE_LAYER)                                                                 \
    X(MAXIMUM_TEXTURE2D_WIDTH, TEXTURE_LINE)                                                                           \
    X(MAXIMUM_TEXTURE2D_HEIGHT, TEXTURE_LINE)                                                                          \
    X(MAXIMUM_TEXTURE2D_LINEAR_WIDTH, TEXTURE_LINE)                                                                    \
    X(MAXIMUM_TEXTURE2D_LINEAR_HEIGHT, TEXTURE_LINE)                                                                   \
    X(MAXIMUM_TEXTURE2D_LINEAR_PITCH, 1 << 21)                                                                         \
    X(MAXIMUM_TEXTURE2D_GATHER_WIDTH, TEXTURE_SIDE)                                                                    \
    X(MAXIMUM_TEXTURE2D_GATHER_HEIGHT, TEXTURE_SIDE)                                                                   \
    X(CAN_TEX2D_GATHER, 1)                                                                                             \
    X(MAXIMUM_TEXTURE2D_LAYERED_WIDTH, TEXTURE_SIDE)                                                                   \
    X(MAXIMUM_TEXTURE2D_LAYERED_HEIGHT, TEXTURE_SIDE)                                                                  \
    X(MAXIMUM_TEXTURE2D_LAYERED_LAYERS, TEXTURE_LAYER)                                                                 \
    X(MAXIMUM_TEXTURECUBEMAP_WIDTH, TEXTURE_SIDE)                                                                      \
    X(MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH, TEXTURE_SIDE)                                                              \
    X(MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS, TEXTURE_LAYER)                                                            \
    X(MAXIMUM_SURFACECUBEMAP_WIDTH, TEXTURE_SIDE)                                                                      \
    X(MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH, TEXTURE_SIDE)                                                              \
    X(MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS, TEXTURE_LAYER)                                                            \
    X(MAXIMUM_TEXTURE3D_WIDTH, TEXTURE_CUBE)                                                                           \
    X(MAXIMUM_TEXTURE3D_HEIGHT, TEXTURE_CUBE)                                                                          \
    X(MAXIMUM_TEXTURE3D_DEPTH, TEXTURE_CUBE)                                                                           \
    X(MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE, TEXTURE_CUBE)                                                                 \
    X(MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE, TEXTURE_CUBE)                                                                \
    X(MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE, TEXTURE_CUBE)                                                                 \
    X(MAXIMUM_SURFACE1D_WIDTH, TEXTURE_LINE)                                                                           \
    X(MAXIMUM_SURFACE1D_LAYERED_WIDTH, TEXTURE_SIDE)                                                                   \
    X(MAXIMUM_SURFACE1D_LAYERED_LAYERS, TEXTURE_LAYER)                                                                 \
    X(MAXIMUM_SURFACE2D_WIDTH, TEXTURE_LINE)                                                                           \
    X(MAXIMUM_SURFACE2D_HEIGHT, TEXTURE_LINE)                                                                          \
    X(MAXIMUM_SURFACE2D_LAYERED_WIDTH, TEXTURE_SIDE)                                                                   \
    X(MAXIMUM_SURFACE2D_LAYERED_HEIGHT, TEXTURE_SIDE)                                                                  \
    X(MAXIMUM_SURFACE2D_LAYERED_LAYERS, TEXTURE_LAYER)                                                                 \
    X(MAXIMUM_SURFACE3D_WIDTH, TEXTURE_CUBE)                                                                           \
    X(MAXIMUM_SURFACE3D_HEIGHT, TEXTURE_CUBE)                                                                          \
    X(MAXIMUM_SURFACE3D_DEPTH, TEXTURE_CUBE)

CUresult simt_DeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    CUresult r = simt_check_device(device);
    if (r != CUDA_SUCCESS) return r;
    if (!value || attribute < 1 || attribute >= CU_DEVICE_ATTRIBUTE_MAX) return CUDA_ERROR_INVALID_VALUE;
    switch (attribute) {
#define X(name, number)                                                                                                \
    case CU_DEVICE_ATTRIBUTE_##name: *value = (number); break;
        ATTRIBUTES(X)
#undef X
    default: *value = 0; break;
    }
    return CUDA_SUCCESS;
}

CUresult simt_DeviceTotalMem(size_t *bytes, CUdevice device)
{
    CUresult r = simt_check_device(device);
    if (r != CUDA_SUCCESS) return r;
    if (!bytes) return CUDA_ERROR_INVALID_VALUE;
    size_t free_bytes;
    simt_memory_info(&free_bytes, bytes);
    return *bytes > 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY; /* no address space to reserve */
}
