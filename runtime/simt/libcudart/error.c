/* Errors: their names and meanings, the last one of each thread, and those that stay. The texts of those that the
 * driver has, too, are the driver's. */
#include "runtime/simt/libcudart/libcudart.h"
#include <stdatomic.h>

/* The errors whose code only the runtime has; text NULL: the driver has it. */
#define ERRORS(X)                                                                                                      \
    X(cudaSuccess, NULL)                                                                                               \
    X(cudaErrorInvalidValue, NULL)                                                                                     \
    X(cudaErrorMemoryAllocation, NULL)                                                                                 \
    X(cudaErrorInitializationError, "the driver did not start")                                                        \
    X(cudaErrorCudartUnloading, NULL)                                                                                  \
    X(cudaErrorProfilerDisabled, NULL)                                                                                 \
    X(cudaErrorProfilerNotInitialized, NULL)                                                                           \
    X(cudaErrorProfilerAlreadyStarted, NULL)                                                                           \
    X(cudaErrorProfilerAlreadyStopped, NULL)                                                                           \
    X(cudaErrorInvalidConfiguration, "the grid or the block has no threads, or more than the device allows")           \
    X(cudaErrorInvalidPitchValue, "the pitch is less than the width")                                                  \
    X(cudaErrorInvalidSymbol, "not a __device__, __constant__ or __managed__ variable of the program")                 \
    X(cudaErrorInvalidHostPointer, "not a pointer of the host")                                                        \
    X(cudaErrorInvalidDevicePointer, "not a pointer of the device")                                                    \
    X(cudaErrorInvalidTexture, "not a texture")                                                                        \
    X(cudaErrorInvalidTextureBinding, "the texture is not bound")                                                      \
    X(cudaErrorInvalidChannelDescriptor, "not a format of elements that the device has")                               \
    X(cudaErrorInvalidMemcpyDirection, "not a cudaMemcpyKind")                                                         \
    X(cudaErrorAddressOfConstant, "the address of a constant was taken")                                               \
    X(cudaErrorTextureFetchFailed, "a texture could not be read")                                                      \
    X(cudaErrorTextureNotBound, "the texture is not bound")                                                            \
    X(cudaErrorSynchronizationError, "waiting failed")                                                                 \
    X(cudaErrorInvalidFilterSetting, "elements of this kind are not filtered")                                         \
    X(cudaErrorInvalidNormSetting, "elements of this kind are not normalised")                                         \
    X(cudaErrorMixedDeviceExecution, "device code and emulation are mixed")                                            \
    X(cudaErrorNotYetImplemented, "not written yet")                                                                   \
    X(cudaErrorMemoryValueTooLarge, "too much memory")                                                                 \
    X(cudaErrorStubLibrary, NULL)                                                                                      \
    X(cudaErrorInsufficientDriver, "the driver is older than the runtime")                                             \
    X(cudaErrorCallRequiresNewerDriver, NULL)                                                                          \
    X(cudaErrorInvalidSurface, "not a surface")                                                                        \
    X(cudaErrorDuplicateVariableName, "two variables have the same name")                                              \
    X(cudaErrorDuplicateTextureName, "two textures have the same name")                                                \
    X(cudaErrorDuplicateSurfaceName, "two surfaces have the same name")                                                \
    X(cudaErrorDevicesUnavailable, NULL)                                                                               \
    X(cudaErrorIncompatibleDriverContext, "the current context cannot be used by the runtime")                         \
    X(cudaErrorMissingConfiguration, "a kernel was called without <<<grid, block>>>")                                  \
    X(cudaErrorPriorLaunchFailure, "an earlier launch failed")                                                         \
    X(cudaErrorLaunchMaxDepthExceeded, "kernels launched kernels too deeply")                                          \
    X(cudaErrorLaunchFileScopedTex, "a kernel launched by a kernel uses a texture of the file")                        \
    X(cudaErrorLaunchFileScopedSurf, "a kernel launched by a kernel uses a surface of the file")                       \
    X(cudaErrorSyncDepthExceeded, "kernels wait for kernels too deeply")                                               \
    X(cudaErrorLaunchPendingCountExceeded, "too many launches by kernels are pending")                                 \
    X(cudaErrorInvalidDeviceFunction, "not a __global__ function of the program, or compiled for other devices")       \
    X(cudaErrorNoDevice, NULL)                                                                                         \
    X(cudaErrorInvalidDevice, NULL)                                                                                    \
    X(cudaErrorDeviceNotLicensed, NULL)                                                                                \
    X(cudaErrorSoftwareValidityNotEstablished, "the software's integrity is not known")                                \
    X(cudaErrorStartupFailure, "the runtime did not start")                                                            \
    X(cudaErrorInvalidKernelImage, NULL)                                                                               \
    X(cudaErrorDeviceUninitialized, NULL)                                                                              \
    X(cudaErrorMapBufferObjectFailed, NULL)                                                                            \
    X(cudaErrorUnmapBufferObjectFailed, NULL)                                                                          \
    X(cudaErrorArrayIsMapped, NULL)                                                                                    \
    X(cudaErrorAlreadyMapped, NULL)                                                                                    \
    X(cudaErrorNoKernelImageForDevice, NULL)                                                                           \
    X(cudaErrorAlreadyAcquired, NULL)                                                                                  \
    X(cudaErrorNotMapped, NULL)                                                                                        \
    X(cudaErrorNotMappedAsArray, NULL)                                                                                 \
    X(cudaErrorNotMappedAsPointer, NULL)                                                                               \
    X(cudaErrorECCUncorrectable, NULL)                                                                                 \
    X(cudaErrorUnsupportedLimit, NULL)                                                                                 \
    X(cudaErrorDeviceAlreadyInUse, NULL)                                                                               \
    X(cudaErrorPeerAccessUnsupported, NULL)                                                                            \
    X(cudaErrorInvalidPtx, NULL)                                                                                       \
    X(cudaErrorInvalidGraphicsContext, NULL)                                                                           \
    X(cudaErrorNvlinkUncorrectable, NULL)                                                                              \
    X(cudaErrorJitCompilerNotFound, NULL)                                                                              \
    X(cudaErrorUnsupportedPtxVersion, NULL)                                                                            \
    X(cudaErrorJitCompilationDisabled, NULL)                                                                           \
    X(cudaErrorUnsupportedExecAffinity, NULL)                                                                          \
    X(cudaErrorUnsupportedDevSideSync, NULL)                                                                           \
    X(cudaErrorContained, NULL)                                                                                        \
    X(cudaErrorInvalidSource, NULL)                                                                                    \
    X(cudaErrorFileNotFound, NULL)                                                                                     \
    X(cudaErrorSharedObjectSymbolNotFound, NULL)                                                                       \
    X(cudaErrorSharedObjectInitFailed, NULL)                                                                           \
    X(cudaErrorOperatingSystem, NULL)                                                                                  \
    X(cudaErrorInvalidResourceHandle, NULL)                                                                            \
    X(cudaErrorIllegalState, NULL)                                                                                     \
    X(cudaErrorLossyQuery, NULL)                                                                                       \
    X(cudaErrorSymbolNotFound, NULL)                                                                                   \
    X(cudaErrorNotReady, NULL)                                                                                         \
    X(cudaErrorIllegalAddress, NULL)                                                                                   \
    X(cudaErrorLaunchOutOfResources, NULL)                                                                             \
    X(cudaErrorLaunchTimeout, NULL)                                                                                    \
    X(cudaErrorLaunchIncompatibleTexturing, NULL)                                                                      \
    X(cudaErrorPeerAccessAlreadyEnabled, NULL)                                                                         \
    X(cudaErrorPeerAccessNotEnabled, NULL)                                                                             \
    X(cudaErrorSetOnActiveProcess, NULL)                                                                               \
    X(cudaErrorContextIsDestroyed, NULL)                                                                               \
    X(cudaErrorAssert, NULL)                                                                                           \
    X(cudaErrorTooManyPeers, NULL)                                                                                     \
    X(cudaErrorHostMemoryAlreadyRegistered, NULL)                                                                      \
    X(cudaErrorHostMemoryNotRegistered, NULL)                                                                          \
    X(cudaErrorHardwareStackError, NULL)                                                                               \
    X(cudaErrorIllegalInstruction, NULL)                                                                               \
    X(cudaErrorMisalignedAddress, NULL)                                                                                \
    X(cudaErrorInvalidAddressSpace, NULL)                                                                              \
    X(cudaErrorInvalidPc, NULL)                                                                                        \
    X(cudaErrorLaunchFailure, NULL)                                                                                    \
    X(cudaErrorCooperativeLaunchTooLarge, NULL)                                                                        \
    X(cudaErrorTensorMemoryLeak, NULL)                                                                                 \
    X(cudaErrorNotPermitted, NULL)                                                                                     \
    X(cudaErrorNotSupported, NULL)                                                                                     \
    X(cudaErrorSystemNotReady, NULL)                                                                                   \
    X(cudaErrorSystemDriverMismatch, NULL)                                                                             \
    X(cudaErrorCompatNotSupportedOnDevice, NULL)                                                                       \
    X(cudaErrorMpsConnectionFailed, NULL)                                                                              \
    X(cudaErrorMpsRpcFailure, NULL)                                                                                    \
    X(cudaErrorMpsServerNotReady, NULL)                                                                                \
    X(cudaErrorMpsMaxClientsReached, NULL)                                                                             \
    X(cudaErrorMpsMaxConnectionsReached, NULL)                                                                         \
    X(cudaErrorMpsClientTerminated, NULL)                                                                              \
    X(cudaErrorCdpNotSupported, NULL)                                                                                  \
    X(cudaErrorCdpVersionMismatch, NULL)                                                                               \
    X(cudaErrorStreamCaptureUnsupported, NULL)                                                                         \
    X(cudaErrorStreamCaptureInvalidated, NULL)                                                                         \
    X(cudaErrorStreamCaptureMerge, NULL)                                                                               \
    X(cudaErrorStreamCaptureUnmatched, NULL)                                                                           \
    X(cudaErrorStreamCaptureUnjoined, NULL)                                                                            \
    X(cudaErrorStreamCaptureIsolation, NULL)                                                                           \
    X(cudaErrorStreamCaptureImplicit, NULL)                                                                            \
    X(cudaErrorCapturedEvent, NULL)                                                                                    \
    X(cudaErrorStreamCaptureWrongThread, NULL)                                                                         \
    X(cudaErrorTimeout, NULL)                                                                                          \
    X(cudaErrorGraphExecUpdateFailure, NULL)                                                                           \
    X(cudaErrorExternalDevice, NULL)                                                                                   \
    X(cudaErrorInvalidClusterSize, NULL)                                                                               \
    X(cudaErrorFunctionNotLoaded, NULL)                                                                                \
    X(cudaErrorInvalidResourceType, NULL)                                                                              \
    X(cudaErrorInvalidResourceConfiguration, NULL)                                                                     \
    X(cudaErrorUnknown, NULL)                                                                                          \
    X(cudaErrorApiFailureBase, "an error of the runtime")

static const struct error {
    cudaError_t code;
    const char *name, *text;
} errors[] = {
#define X(code, text) {code, #code, text},
    ERRORS(X)
#undef X
};

static const struct error *find_error(cudaError_t code)
{
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
        if (errors[i].code == code) return &errors[i];
    return NULL;
}

const char *cudaGetErrorName(cudaError_t error)
{
    const struct error *e = find_error(error);
    return e ? e->name : "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error)
{
    const struct error *e = find_error(error);
    const char *text = e ? e->text : NULL;
    if (e && !text) cuGetErrorString((CUresult)error, &text);
    return text ? text : "unrecognized error code";
}

/* ---- The last error, and the one that stays ---- */

static _Thread_local cudaError_t last;
static atomic_int fatal; /* of a kernel that stopped: its context is of no more use */

static bool stays(cudaError_t error)
{
    switch (error) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure: return true;
    default: return false;
    }
}

cudaError_t cudart_begin(void)
{
    cudaError_t error = (cudaError_t)atomic_load(&fatal);
    return error != cudaSuccess ? error : cudart_use_context();
}

/* That work goes on is an answer and no error, of which the next launch's error handling must not hear. */
cudaError_t cudart_end(cudaError_t error)
{
    if (error == cudaSuccess || error == cudaErrorNotReady) return error;
    if (stays(error)) atomic_store(&fatal, (int)error);
    last = error;
    return error;
}

void cudart_forget_errors(void)
{
    atomic_store(&fatal, 0);
    last = cudaSuccess;
}

cudaError_t cudaPeekAtLastError(void)
{
    return last;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t error = last;
    last = (cudaError_t)atomic_load(&fatal);
    return error;
}
