/* What a device says of itself, beyond its attributes; peers, of which there are none; the profiler's switch. */
#include "runtime/simt/libcuda/libcuda.h"
#include <stdio.h>
#include <string.h>
#include "runtime/host.h"
#include "runtime/simt/texture.h"

#define BUS_ID "0000:00:00.0"

CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice device)
{
    TRY(simt_DeviceGetAttribute(major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
    return simt_DeviceGetAttribute(minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
    TRY(simt_check_device(device));
    if (!uuid) return CUDA_ERROR_INVALID_VALUE;
    memcpy(uuid->bytes, "lunarray-simt-0", sizeof uuid->bytes);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char *id, int length, CUdevice device)
{
    TRY(simt_check_device(device));
    if (!id || length < (int)sizeof BUS_ID) return CUDA_ERROR_INVALID_VALUE;
    memcpy(id, BUS_ID, sizeof BUS_ID);
    return CUDA_SUCCESS;
}

/* The domain may be left out, and the function. */
CUresult cuDeviceGetByPCIBusId(CUdevice *device, const char *id)
{
    unsigned domain = 0, bus, slot, function = 0;
    TRY(simt_check_device(0));
    if (!device || !id) return CUDA_ERROR_INVALID_VALUE;
    if (sscanf(id, "%x:%x:%x.%x", &domain, &bus, &slot, &function) < 3) {
        domain = 0;
        if (sscanf(id, "%x:%x.%x", &bus, &slot, &function) < 2) return CUDA_ERROR_INVALID_VALUE;
    }
    if (domain || bus || slot || function) return CUDA_ERROR_INVALID_DEVICE;
    *device = 0;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetProperties(CUdevprop *p, CUdevice device)
{
    TRY(simt_check_device(device));
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    const struct {
        int *to;
        CUdevice_attribute from;
    } rows[] = {{&p->maxThreadsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK},
                {&p->maxThreadsDim[0], CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X},
                {&p->maxThreadsDim[1], CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y},
                {&p->maxThreadsDim[2], CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z},
                {&p->maxGridSize[0], CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X},
                {&p->maxGridSize[1], CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y},
                {&p->maxGridSize[2], CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z},
                {&p->sharedMemPerBlock, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK},
                {&p->totalConstantMemory, CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY},
                {&p->SIMDWidth, CU_DEVICE_ATTRIBUTE_WARP_SIZE},
                {&p->memPitch, CU_DEVICE_ATTRIBUTE_MAX_PITCH},
                {&p->regsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK},
                {&p->clockRate, CU_DEVICE_ATTRIBUTE_CLOCK_RATE},
                {&p->textureAlign, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        TRY(simt_DeviceGetAttribute(rows[i].to, rows[i].from, device));
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetTexture1DLinearMaxWidth(size_t *width, CUarray_format format, unsigned channels, CUdevice device)
{
    int elements;
    TRY(simt_DeviceGetAttribute(&elements, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH, device));
    bool good = channels == 1 || channels == 2 || channels == 4;
    if (!width || !good || simt_format_bytes(format) == 0) return CUDA_ERROR_INVALID_VALUE;
    *width = (size_t)elements;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetExecAffinitySupport(int *supported, CUexecAffinityType type, CUdevice device)
{
    TRY(simt_check_device(device));
    if (!supported || type >= CU_EXEC_AFFINITY_TYPE_MAX) return CUDA_ERROR_INVALID_VALUE;
    *supported = 0;
    return CUDA_SUCCESS;
}

/* ---- Peers ---- */

CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
    TRY(simt_check_device(device));
    TRY(simt_check_device(peer));
    if (!can) return CUDA_ERROR_INVALID_VALUE;
    *can = 0; /* a device is not its own peer */
    return CUDA_SUCCESS;
}

/* The two devices must differ, and there is one. */
CUresult cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attribute, CUdevice source, CUdevice target)
{
    TRY(simt_check_device(source));
    TRY(simt_check_device(target));
    if (!value || attribute < CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK) return CUDA_ERROR_INVALID_VALUE;
    return CUDA_ERROR_INVALID_DEVICE;
}

static CUresult check_peer(CUcontext peer)
{
    TRY(simt_ready());
    return simt_handle_is(peer, SIMT_CONTEXT) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags)
{
    TRY(check_peer(peer));
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    return peer == simt_current() ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
}

CUresult cuCtxDisablePeerAccess(CUcontext peer)
{
    TRY(check_peer(peer));
    return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}

/* ---- The profiler: a program may bracket what it wants to be measured; nobody listens ---- */

CUresult cuProfilerStart(void)
{
    return simt_ready();
}

CUresult cuProfilerStop(void)
{
    return simt_ready();
}
