/* Memory: what is allocated how, what a pointer says of itself, fills. */
#include "runtime/simt/libcudart/libcudart.h"
#include <string.h>

/* Nothing is at NULL, and that is no error. */
cudaError_t cudart_malloc(void **pointer, size_t bytes)
{
    CUdeviceptr address = 0;
    if (!pointer) return cudaErrorInvalidValue;
    if (bytes > 0) TRY(cuMemAlloc(&address, bytes));
    *pointer = (void *)(uintptr_t)address;
    return cudaSuccess;
}

cudaError_t cudart_malloc_host(void **pointer, size_t bytes, unsigned flags)
{
    if (!pointer) return cudaErrorInvalidValue;
    *pointer = NULL;
    return bytes == 0 ? cudaSuccess : (cudaError_t)cuMemHostAlloc(pointer, bytes, flags);
}

cudaError_t cudart_free_host(void *pointer)
{
    return pointer ? (cudaError_t)cuMemFreeHost(pointer) : cudaSuccess;
}

cudaError_t cudart_malloc_pitch(void **pointer, size_t *pitch, size_t width, size_t height)
{
    CUdeviceptr address = 0;
    if (!pointer || !pitch) return cudaErrorInvalidValue;
    *pitch = 0;
    if (width > 0 && height > 0) TRY(cuMemAllocPitch(&address, pitch, width, height, 4));
    *pointer = (void *)(uintptr_t)address;
    return cudaSuccess;
}

cudaError_t cudart_malloc_3d(struct cudaPitchedPtr *p, struct cudaExtent extent)
{
    size_t rows;
    if (!p || __builtin_mul_overflow(extent.height, extent.depth, &rows)) return cudaErrorInvalidValue;
    TRY(cudart_malloc_pitch(&p->ptr, &p->pitch, extent.width, rows));
    p->xsize = extent.width;
    p->ysize = extent.height;
    return cudaSuccess;
}

cudaError_t cudart_pointer_attributes(struct cudaPointerAttributes *a, const void *pointer)
{
    unsigned type = 0, managed = 0;
    int device = -1;
    CUdeviceptr on_device = 0;
    void *on_host = NULL;
    CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                   CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                                   CU_POINTER_ATTRIBUTE_HOST_POINTER};
    void *values[] = {&type, &managed, &device, &on_device, &on_host};
    if (!a) return cudaErrorInvalidValue;
    TRY(cuPointerGetAttributes(5, names, values, cudart_address(pointer)));
    memset(a, 0, sizeof *a);
    a->type = managed                        ? cudaMemoryTypeManaged
              : type == CU_MEMORYTYPE_HOST   ? cudaMemoryTypeHost
              : type == CU_MEMORYTYPE_DEVICE ? cudaMemoryTypeDevice
                                             : cudaMemoryTypeUnregistered;
    bool known = a->type != cudaMemoryTypeUnregistered;
    a->device = known ? device : cudaInvalidDeviceId;
    a->devicePointer = known ? (void *)(uintptr_t)on_device : NULL;
    a->hostPointer = known ? on_host : (void *)(uintptr_t)pointer;
    return cudaSuccess;
}

/* ---- Fills. A box is filled slice by slice; `slice`: rows from one to the next ---- */

cudaError_t cudart_fill(void *to, size_t pitch, int value, size_t width, size_t height, size_t depth, size_t slice,
                        cudaStream_t stream)
{
    CUdeviceptr at = cudart_address(to);
    if (width == 0 || height == 0) return cudaSuccess;
    if (height == 1 && depth == 1) return (cudaError_t)cuMemsetD8Async(at, (unsigned char)value, width, stream);
    if (width > pitch) return cudaErrorInvalidPitchValue;
    for (size_t z = 0; z < depth; z++)
        TRY(cuMemsetD2D8Async(at + z * slice * pitch, pitch, (unsigned char)value, width, height, stream));
    return cudaSuccess;
}
