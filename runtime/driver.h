/* The one way to a device: a table of CUDA driver API entry points, with the driver API's own types and error codes.
 *
 * driver_cuda() fills it from the machine's libcuda.so.1; driver_simt() points into runtime/simt/, the software GPU.
 * Everything above speaks through the table and so is the same code, tested on machines without a GPU. A row holds the
 * member's name, the exported symbol (with its ABI version) and the parameters. */
#ifndef RT_DRIVER_H
#define RT_DRIVER_H

#include <cuda.h>
#include "runtime/status.h"

#define RT_DRIVER_ENTRIES(X)                                                                                           \
    X(Init, cuInit, (unsigned int flags))                                                                              \
    X(DriverGetVersion, cuDriverGetVersion, (int *version))                                                            \
    X(GetErrorName, cuGetErrorName, (CUresult error, const char **text))                                               \
    X(GetErrorString, cuGetErrorString, (CUresult error, const char **text))                                           \
    X(DeviceGetCount, cuDeviceGetCount, (int *count))                                                                  \
    X(DeviceGet, cuDeviceGet, (CUdevice * device, int ordinal))                                                        \
    X(DeviceGetName, cuDeviceGetName, (char *name, int length, CUdevice device))                                       \
    X(DeviceGetAttribute, cuDeviceGetAttribute, (int *value, CUdevice_attribute attribute, CUdevice device))           \
    X(DeviceTotalMem, cuDeviceTotalMem_v2, (size_t * bytes, CUdevice device))                                          \
    X(DevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device))                        \
    X(DevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (CUdevice device))                                        \
    X(DevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2, (CUdevice device))                                            \
    X(CtxSetCurrent, cuCtxSetCurrent, (CUcontext context))                                                             \
    X(CtxGetCurrent, cuCtxGetCurrent, (CUcontext * context))                                                           \
    X(CtxSynchronize, cuCtxSynchronize, (void))                                                                        \
    X(MemGetInfo, cuMemGetInfo_v2, (size_t * free, size_t * total))                                                    \
    X(MemAlloc, cuMemAlloc_v2, (CUdeviceptr * pointer, size_t bytes))                                                  \
    X(MemFree, cuMemFree_v2, (CUdeviceptr pointer))                                                                    \
    X(MemHostAlloc, cuMemHostAlloc, (void **pointer, size_t bytes, unsigned int flags))                                \
    X(MemFreeHost, cuMemFreeHost, (void *pointer))                                                                     \
    X(MemcpyHtoD, cuMemcpyHtoD_v2, (CUdeviceptr to, const void *from, size_t bytes))                                   \
    X(MemcpyDtoH, cuMemcpyDtoH_v2, (void *to, CUdeviceptr from, size_t bytes))                                         \
    X(MemcpyDtoD, cuMemcpyDtoD_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes))                                   \
    X(MemcpyHtoDAsync, cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void *from, size_t bytes, CUstream stream))        \
    X(MemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t bytes, CUstream stream))              \
    X(MemcpyDtoDAsync, cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream))        \
    X(MemsetD8Async, cuMemsetD8Async, (CUdeviceptr to, unsigned char value, size_t count, CUstream stream))            \
    X(MemsetD32Async, cuMemsetD32Async, (CUdeviceptr to, unsigned int value, size_t count, CUstream stream))           \
    X(StreamCreate, cuStreamCreate, (CUstream * stream, unsigned int flags))                                           \
    X(StreamDestroy, cuStreamDestroy_v2, (CUstream stream))                                                            \
    X(StreamQuery, cuStreamQuery, (CUstream stream))                                                                   \
    X(StreamSynchronize, cuStreamSynchronize, (CUstream stream))                                                       \
    X(StreamWaitEvent, cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned int flags))                        \
    X(EventCreate, cuEventCreate, (CUevent * event, unsigned int flags))                                               \
    X(EventDestroy, cuEventDestroy_v2, (CUevent event))                                                                \
    X(EventRecord, cuEventRecord, (CUevent event, CUstream stream))                                                    \
    X(EventQuery, cuEventQuery, (CUevent event))                                                                       \
    X(EventSynchronize, cuEventSynchronize, (CUevent event))                                                           \
    X(EventElapsedTime, cuEventElapsedTime, (float *milliseconds, CUevent start, CUevent end))                         \
    X(ModuleLoadDataEx, cuModuleLoadDataEx,                                                                            \
      (CUmodule * module, const void *image, unsigned int count, CUjit_option *options, void **values))                \
    X(ModuleUnload, cuModuleUnload, (CUmodule module))                                                                 \
    X(ModuleGetFunction, cuModuleGetFunction, (CUfunction * function, CUmodule module, const char *name))              \
    X(ModuleGetGlobal, cuModuleGetGlobal_v2,                                                                           \
      (CUdeviceptr * pointer, size_t * bytes, CUmodule module, const char *name))                                      \
    X(FuncGetAttribute, cuFuncGetAttribute, (int *value, CUfunction_attribute attribute, CUfunction function))         \
    X(FuncSetAttribute, cuFuncSetAttribute, (CUfunction function, CUfunction_attribute attribute, int value))          \
    X(OccupancyMaxActiveBlocksPerMultiprocessor, cuOccupancyMaxActiveBlocksPerMultiprocessor,                          \
      (int *blocks, CUfunction function, int block_size, size_t dynamic_shared))                                       \
    X(OccupancyMaxPotentialBlockSize, cuOccupancyMaxPotentialBlockSize,                                                \
      (int *grid, int *block, CUfunction function, CUoccupancyB2DSize shared_of_block, size_t dynamic_shared,          \
       int block_limit))                                                                                               \
    X(LaunchKernel, cuLaunchKernel,                                                                                    \
      (CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z, unsigned int block_x,       \
       unsigned int block_y, unsigned int block_z, unsigned int shared, CUstream stream, void **parameters,            \
       void **extra))                                                                                                  \
    X(LaunchCooperativeKernel, cuLaunchCooperativeKernel,                                                              \
      (CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z, unsigned int block_x,       \
       unsigned int block_y, unsigned int block_z, unsigned int shared, CUstream stream, void **parameters))           \
    X(CtxSetLimit, cuCtxSetLimit, (CUlimit limit, size_t value))                                                       \
    X(CtxGetLimit, cuCtxGetLimit, (size_t * value, CUlimit limit))                                                     \
    X(Array3DCreate, cuArray3DCreate_v2, (CUarray * array, const CUDA_ARRAY3D_DESCRIPTOR *shape))                      \
    X(ArrayDestroy, cuArrayDestroy, (CUarray array))                                                                   \
    X(Memcpy3D, cuMemcpy3D_v2, (const CUDA_MEMCPY3D *copy))                                                            \
    X(TexObjectCreate, cuTexObjectCreate,                                                                              \
      (CUtexObject * object, const CUDA_RESOURCE_DESC *resource, const CUDA_TEXTURE_DESC *texture,                     \
       const CUDA_RESOURCE_VIEW_DESC *view))                                                                           \
    X(TexObjectDestroy, cuTexObjectDestroy, (CUtexObject object))                                                      \
    X(SurfObjectCreate, cuSurfObjectCreate, (CUsurfObject * object, const CUDA_RESOURCE_DESC *resource))               \
    X(SurfObjectDestroy, cuSurfObjectDestroy, (CUsurfObject object))

/* Those that only a GPU's driver is asked for. Older ones lack some of them; then all are NULL, as on the software GPU.
 */
#define RT_DRIVER_GPU_ENTRIES(X)                                                                                       \
    X(StreamBeginCapture, cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode))                        \
    X(StreamEndCapture, cuStreamEndCapture, (CUstream stream, CUgraph * graph))                                        \
    X(GraphInstantiate, cuGraphInstantiateWithFlags, (CUgraphExec * exec, CUgraph graph, unsigned long long flags))    \
    X(GraphDestroy, cuGraphDestroy, (CUgraph graph))                                                                   \
    X(GraphExecDestroy, cuGraphExecDestroy, (CUgraphExec exec))                                                        \
    X(GraphLaunch, cuGraphLaunch, (CUgraphExec exec, CUstream stream))                                                 \
    X(MemHostRegister, cuMemHostRegister_v2, (void *pointer, size_t bytes, unsigned int flags))                        \
    X(MemHostUnregister, cuMemHostUnregister, (void *pointer))

/* What older drivers lack; then it is NULL. */
#define RT_DRIVER_NEWER_ENTRIES(X)                                                                                     \
    X(LaunchKernelEx, cuLaunchKernelEx,                                                                                \
      (const CUlaunchConfig *config, CUfunction function, void **parameters, void **extra))                            \
    X(OccupancyMaxPotentialClusterSize, cuOccupancyMaxPotentialClusterSize,                                            \
      (int *size, CUfunction function, const CUlaunchConfig *config))                                                  \
    X(OccupancyMaxActiveClusters, cuOccupancyMaxActiveClusters,                                                        \
      (int *clusters, CUfunction function, const CUlaunchConfig *config))                                              \
    X(TensorMapEncodeTiled, cuTensorMapEncodeTiled,                                                                    \
      (CUtensorMap * map, CUtensorMapDataType type, cuuint32_t rank, void *address, const cuuint64_t *dims,            \
       const cuuint64_t *strides, const cuuint32_t *box, const cuuint32_t *steps, CUtensorMapInterleave interleave,    \
       CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill))

struct driver {
    const char *name; /* "cuda" or "simt" */
    const char *path; /* the library file the entries came from; "" for the software GPU */
#define X(member, symbol, parameters) CUresult(CUDAAPI *member) parameters;
    RT_DRIVER_ENTRIES(X)
    RT_DRIVER_NEWER_ENTRIES(X)
    struct {
        RT_DRIVER_GPU_ENTRIES(X)
    } gpu;
#undef X
};

/* The NVIDIA driver's table, opened and initialised at the first call. NULL when there is none that works, with what
 * was looked for and what to do about it in `e` (RT_MISSING). The answer is remembered, thread-safe. */
const struct driver *driver_cuda(struct rt_error *e);

/* The software GPU's table. Always there, costs nothing before its first call. */
const struct driver *driver_simt(void);

/* Turns a driver result into a status: RT_OK, or fills `e` with "WHAT: CUDA_ERROR_NAME (its explanation)".
 * CUDA_ERROR_OUT_OF_MEMORY becomes RT_NOMEM; kernel faults (illegal address, assert, trap, misaligned) become RT_FAULT
 * and, on the software GPU, carry its full report (simt_take_fault). */
enum rt_status driver_check(const struct driver *d, CUresult result, struct rt_error *e, const char *what);

#endif
