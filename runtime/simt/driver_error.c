/* The software GPU's driver: names and meanings of the error codes, all that CUDA 13.0 has. The numbers stand here too,
 * as older headers lack the newer names. */
#include "runtime/simt/entries.h"

#define ERRORS(X)                                                                                                      \
    X(CUDA_SUCCESS, 0, "no error")                                                                                     \
    X(CUDA_ERROR_INVALID_VALUE, 1, "an argument is out of its range")                                                  \
    X(CUDA_ERROR_OUT_OF_MEMORY, 2, "out of memory")                                                                    \
    X(CUDA_ERROR_NOT_INITIALIZED, 3, "cuInit was not called")                                                          \
    X(CUDA_ERROR_DEINITIALIZED, 4, "the driver is shutting down")                                                      \
    X(CUDA_ERROR_PROFILER_DISABLED, 5, "no profiler is there")                                                         \
    X(CUDA_ERROR_PROFILER_NOT_INITIALIZED, 6, "the profiler was not initialised")                                      \
    X(CUDA_ERROR_PROFILER_ALREADY_STARTED, 7, "the profiler runs already")                                             \
    X(CUDA_ERROR_PROFILER_ALREADY_STOPPED, 8, "the profiler does not run")                                             \
    X(CUDA_ERROR_STUB_LIBRARY, 34, "this is a stub library, for linking only")                                         \
    X(CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER, 36, "the call needs a newer driver")                                      \
    X(CUDA_ERROR_DEVICE_UNAVAILABLE, 46, "the device is busy or not to be used")                                       \
    X(CUDA_ERROR_NO_DEVICE, 100, "no device")                                                                          \
    X(CUDA_ERROR_INVALID_DEVICE, 101, "no such device")                                                                \
    X(CUDA_ERROR_DEVICE_NOT_LICENSED, 102, "the device has no licence for this")                                       \
    X(CUDA_ERROR_INVALID_IMAGE, 200, "the image is not PTX; the software GPU runs nothing else")                       \
    X(CUDA_ERROR_INVALID_CONTEXT, 201, "no context is current on this thread, or not a context")                       \
    X(CUDA_ERROR_CONTEXT_ALREADY_CURRENT, 202, "the context is current already")                                       \
    X(CUDA_ERROR_MAP_FAILED, 205, "mapping failed")                                                                    \
    X(CUDA_ERROR_UNMAP_FAILED, 206, "unmapping failed")                                                                \
    X(CUDA_ERROR_ARRAY_IS_MAPPED, 207, "the array is mapped")                                                          \
    X(CUDA_ERROR_ALREADY_MAPPED, 208, "the resource is mapped already")                                                \
    X(CUDA_ERROR_NO_BINARY_FOR_GPU, 209, "the image holds no code for this device; the software GPU needs PTX")        \
    X(CUDA_ERROR_ALREADY_ACQUIRED, 210, "the resource was acquired already")                                           \
    X(CUDA_ERROR_NOT_MAPPED, 211, "the resource is not mapped")                                                        \
    X(CUDA_ERROR_NOT_MAPPED_AS_ARRAY, 212, "the resource is not mapped as an array")                                   \
    X(CUDA_ERROR_NOT_MAPPED_AS_POINTER, 213, "the resource is not mapped as a pointer")                                \
    X(CUDA_ERROR_ECC_UNCORRECTABLE, 214, "a memory error that could not be corrected")                                 \
    X(CUDA_ERROR_UNSUPPORTED_LIMIT, 215, "the device has no such limit")                                               \
    X(CUDA_ERROR_CONTEXT_ALREADY_IN_USE, 216, "another thread uses the context")                                       \
    X(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, 217, "the devices cannot reach each other's memory")                         \
    X(CUDA_ERROR_INVALID_PTX, 218, "the PTX was refused")                                                              \
    X(CUDA_ERROR_INVALID_GRAPHICS_CONTEXT, 219, "not a graphics context")                                              \
    X(CUDA_ERROR_NVLINK_UNCORRECTABLE, 220, "a link error that could not be corrected")                                \
    X(CUDA_ERROR_JIT_COMPILER_NOT_FOUND, 221, "the PTX compiler was not found")                                        \
    X(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, 222, "the PTX is of a newer version")                                        \
    X(CUDA_ERROR_JIT_COMPILATION_DISABLED, 223, "compiling PTX is switched off")                                       \
    X(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, 224, "the device has no such execution affinity")                          \
    X(CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC, 225, "kernels cannot wait for kernels that they launched")                  \
    X(CUDA_ERROR_CONTAINED, 226, "an error that was contained to this process")                                        \
    X(CUDA_ERROR_INVALID_SOURCE, 300, "the source is not valid")                                                       \
    X(CUDA_ERROR_FILE_NOT_FOUND, 301, "no such file")                                                                  \
    X(CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND, 302, "a shared library lacks a symbol")                               \
    X(CUDA_ERROR_SHARED_OBJECT_INIT_FAILED, 303, "a shared library did not start")                                     \
    X(CUDA_ERROR_OPERATING_SYSTEM, 304, "the operating system refused")                                                \
    X(CUDA_ERROR_INVALID_HANDLE, 400, "not a live handle of its kind")                                                 \
    X(CUDA_ERROR_ILLEGAL_STATE, 401, "the object is not in a state for this")                                          \
    X(CUDA_ERROR_LOSSY_QUERY, 402, "the answer would lose information")                                                \
    X(CUDA_ERROR_NOT_FOUND, 500, "no such name")                                                                       \
    X(CUDA_ERROR_NOT_READY, 600, "not finished yet")                                                                   \
    X(CUDA_ERROR_ILLEGAL_ADDRESS, 700, "a kernel used an address outside of its memory")                               \
    X(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 701, "the block needs more registers than there are")                        \
    X(CUDA_ERROR_LAUNCH_TIMEOUT, 702, "a kernel waits for something that will never happen")                           \
    X(CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING, 703, "the kernel uses textures in another way")                        \
    X(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, 704, "access to the peer is on already")                                 \
    X(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, 705, "access to the peer is not on")                                         \
    X(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, 708, "the primary context is in use")                                         \
    X(CUDA_ERROR_CONTEXT_IS_DESTROYED, 709, "the context was destroyed")                                               \
    X(CUDA_ERROR_ASSERT, 710, "an assertion in a kernel failed")                                                       \
    X(CUDA_ERROR_TOO_MANY_PEERS, 711, "too many peers")                                                                \
    X(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, 712, "the host memory is registered already")                         \
    X(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, 713, "the host memory is not registered")                                 \
    X(CUDA_ERROR_HARDWARE_STACK_ERROR, 714, "a kernel's stack is damaged")                                             \
    X(CUDA_ERROR_ILLEGAL_INSTRUCTION, 715, "a kernel met an illegal instruction")                                      \
    X(CUDA_ERROR_MISALIGNED_ADDRESS, 716, "a kernel used an address that is not aligned")                              \
    X(CUDA_ERROR_INVALID_ADDRESS_SPACE, 717, "a kernel used an address of the wrong space")                            \
    X(CUDA_ERROR_INVALID_PC, 718, "a kernel jumped out of its code")                                                   \
    X(CUDA_ERROR_LAUNCH_FAILED, 719, "a kernel stopped")                                                               \
    X(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, 720,                                                                    \
      "the grid of a cooperative launch has more blocks than are resident together")                                   \
    X(CUDA_ERROR_TENSOR_MEMORY_LEAK, 721, "a kernel did not free its tensor memory")                                   \
    X(CUDA_ERROR_NOT_PERMITTED, 800, "not allowed here")                                                               \
    X(CUDA_ERROR_NOT_SUPPORTED, 801, "the software GPU does not have this")                                            \
    X(CUDA_ERROR_SYSTEM_NOT_READY, 802, "the system is not ready")                                                     \
    X(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, 803, "driver and system do not match")                                        \
    X(CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, 804, "the device has no compatibility mode")                          \
    X(CUDA_ERROR_MPS_CONNECTION_FAILED, 805, "no connection to the process service")                                   \
    X(CUDA_ERROR_MPS_RPC_FAILURE, 806, "a call to the process service failed")                                         \
    X(CUDA_ERROR_MPS_SERVER_NOT_READY, 807, "the process service is not ready")                                        \
    X(CUDA_ERROR_MPS_MAX_CLIENTS_REACHED, 808, "the process service has no room for a client")                         \
    X(CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED, 809, "the process service has no room for a connection")                 \
    X(CUDA_ERROR_MPS_CLIENT_TERMINATED, 810, "the process service ended this client")                                  \
    X(CUDA_ERROR_CDP_NOT_SUPPORTED, 811, "kernels cannot launch kernels here")                                         \
    X(CUDA_ERROR_CDP_VERSION_MISMATCH, 812, "kernels that launch kernels are of another version")                      \
    X(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, 900, "not allowed while a stream is captured")                            \
    X(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, 901, "the capture was spoiled by an earlier error")                       \
    X(CUDA_ERROR_STREAM_CAPTURE_MERGE, 902, "two captures would become one")                                           \
    X(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, 903, "the capture was begun on another stream")                             \
    X(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, 904, "a forked stream was not joined again")                                 \
    X(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, 905, "a dependency would leave the capture")                                \
    X(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, 906, "the default stream would wait for a captured stream")                  \
    X(CUDA_ERROR_CAPTURED_EVENT, 907, "the event was last recorded in a captured stream")                              \
    X(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, 908, "the capture was begun by another thread")                          \
    X(CUDA_ERROR_TIMEOUT, 909, "the time is over")                                                                     \
    X(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, 910, "the graph differs in more than an update can change")                \
    X(CUDA_ERROR_EXTERNAL_DEVICE, 911, "a device outside reported an error")                                           \
    X(CUDA_ERROR_INVALID_CLUSTER_SIZE, 912, "not a size for a cluster")                                                \
    X(CUDA_ERROR_FUNCTION_NOT_LOADED, 913, "the function is not loaded")                                               \
    X(CUDA_ERROR_INVALID_RESOURCE_TYPE, 914, "not a resource of this type")                                            \
    X(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, 915, "the resources do not fit together")                             \
    X(CUDA_ERROR_KEY_ROTATION, 916, "a key is being changed")                                                          \
    X(CUDA_ERROR_UNKNOWN, 999, "an error without a name")

static const struct error {
    int code;
    const char *name, *text;
} errors[] = {
#define X(name, code, text) {code, #name, text},
    ERRORS(X)
#undef X
};

static const struct error *find_error(CUresult code)
{
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        if (errors[i].code == (int)code) return &errors[i];
    }
    return NULL;
}

CUresult simt_GetErrorName(CUresult error, const char **text)
{
    if (!text) return CUDA_ERROR_INVALID_VALUE;
    const struct error *e = find_error(error);
    *text = e ? e->name : NULL;
    return e ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult simt_GetErrorString(CUresult error, const char **text)
{
    if (!text) return CUDA_ERROR_INVALID_VALUE;
    const struct error *e = find_error(error);
    *text = e ? e->text : NULL;
    return e ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
