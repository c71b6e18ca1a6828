/* Copies: lines, rectangles and boxes, of memory and of arrays. Each becomes a box for the driver. */
#include "runtime/simt/libcudart/libcudart.h"

/* ---- Sides ---- */

/* NULL when the driver knows nothing of the address: then it is ordinary host memory. */
static bool is_known(const void *pointer, bool *device_only)
{
    unsigned type, managed;
    CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED};
    void *values[] = {&type, &managed};
    *device_only = false;
    if (cuPointerGetAttributes(2, names, values, cudart_address(pointer)) != CUDA_SUCCESS || type == 0) return false;
    *device_only = type == CU_MEMORYTYPE_DEVICE && !managed;
    return true;
}

/* Memory of the device where the host's is said to be would be read by the host, and the other way round. */
cudaError_t cudart_check_kind(const void *to, const void *from, enum cudaMemcpyKind kind)
{
    bool to_device, from_device;
    if ((unsigned)kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
    if (kind == cudaMemcpyDefault) return cudaSuccess;
    bool to_known = !to || is_known(to, &to_device), from_known = !from || is_known(from, &from_device);
    bool into = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    bool out_of = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if (into ? !to_known : to && to_device) return cudaErrorInvalidValue;
    if (out_of ? !from_known : from && from_device) return cudaErrorInvalidValue;
    return cudaSuccess;
}

static void from_pointer(CUDA_MEMCPY3D *c, const void *p, size_t pitch, size_t rows)
{
    c->srcMemoryType = CU_MEMORYTYPE_UNIFIED;
    c->srcDevice = cudart_address(p);
    c->srcPitch = pitch;
    c->srcHeight = rows;
}

static void to_pointer(CUDA_MEMCPY3D *c, const void *p, size_t pitch, size_t rows)
{
    c->dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    c->dstDevice = cudart_address(p);
    c->dstPitch = pitch;
    c->dstHeight = rows;
}

static void from_array(CUDA_MEMCPY3D *c, cudaArray_const_t a, size_t x, size_t y)
{
    c->srcMemoryType = CU_MEMORYTYPE_ARRAY;
    c->srcArray = (CUarray)(uintptr_t)a;
    c->srcXInBytes = x;
    c->srcY = y;
}

static void to_array(CUDA_MEMCPY3D *c, cudaArray_t a, size_t x, size_t y)
{
    c->dstMemoryType = CU_MEMORYTYPE_ARRAY;
    c->dstArray = (CUarray)a;
    c->dstXInBytes = x;
    c->dstY = y;
}

static CUDA_MEMCPY3D rectangle(size_t width, size_t height)
{
    return (CUDA_MEMCPY3D){.WidthInBytes = width, .Height = height, .Depth = 1};
}

static cudaError_t run(const CUDA_MEMCPY3D *c, struct cudart_way way)
{
    return (cudaError_t)(way.async ? cuMemcpy3DAsync(c, way.stream) : cuMemcpy3D(c));
}

/* ---- Memory ---- */

cudaError_t cudart_copy(void *to, const void *from, size_t bytes, struct cudart_way way)
{
    if (bytes == 0) return cudaSuccess;
    TRY(cudart_check_kind(to, from, way.kind));
    CUdeviceptr t = cudart_address(to), f = cudart_address(from);
    return (cudaError_t)(way.async ? cuMemcpyAsync(t, f, bytes, way.stream) : cuMemcpy(t, f, bytes));
}

CUDA_MEMCPY3D cudart_line(void *to, const void *from, size_t bytes)
{
    CUDA_MEMCPY3D c = rectangle(bytes, 1);
    to_pointer(&c, to, bytes, 1);
    from_pointer(&c, from, bytes, 1);
    return c;
}

cudaError_t cudart_copy_2d(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                           struct cudart_way way)
{
    if (width > to_pitch || width > from_pitch) return cudaErrorInvalidPitchValue;
    if (width == 0 || height == 0) return cudaSuccess;
    TRY(cudart_check_kind(to, from, way.kind));
    CUDA_MEMCPY3D c = rectangle(width, height);
    to_pointer(&c, to, to_pitch, height);
    from_pointer(&c, from, from_pitch, height);
    return run(&c, way);
}

/* ---- Arrays ---- */

/* Rows lie a pitch apart; a single one may have none, as NVIDIA's samples fill tables. */
static bool is_pitch(size_t pitch, size_t width, size_t height)
{
    return width <= pitch || (pitch == 0 && height <= 1);
}

cudaError_t cudart_copy_to_array(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch, size_t width,
                                 size_t height, struct cudart_way way)
{
    if (!is_pitch(pitch, width, height)) return cudaErrorInvalidPitchValue;
    TRY(cudart_check_kind(NULL, from, way.kind));
    CUDA_MEMCPY3D c = rectangle(width, height);
    to_array(&c, to, x, y);
    from_pointer(&c, from, pitch, height);
    return run(&c, way);
}

cudaError_t cudart_copy_from_array(void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width,
                                   size_t height, struct cudart_way way)
{
    if (!is_pitch(pitch, width, height)) return cudaErrorInvalidPitchValue;
    TRY(cudart_check_kind(to, NULL, way.kind));
    CUDA_MEMCPY3D c = rectangle(width, height);
    to_pointer(&c, to, pitch, height);
    from_array(&c, from, x, y);
    return run(&c, way);
}

cudaError_t cudart_copy_arrays(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from, size_t from_x,
                               size_t from_y, size_t width, size_t height, enum cudaMemcpyKind kind)
{
    if (kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
    CUDA_MEMCPY3D c = rectangle(width, height);
    to_array(&c, to, to_x, to_y);
    from_array(&c, from, from_x, from_y);
    return run(&c, NOW(kind));
}

/* ---- Bytes that go on in the next row ---- */

static cudaError_t row_bytes(size_t *bytes, cudaArray_const_t array)
{
    struct cudaExtent extent;
    size_t element;
    TRY(cudart_element_bytes(&element, array));
    TRY(cudart_array_info(NULL, &extent, NULL, array));
    *bytes = extent.width * element;
    return cudaSuccess;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

cudaError_t cudart_flow_to_array(cudaArray_t to, size_t x, size_t y, const void *from, size_t bytes,
                                 struct cudart_way way)
{
    size_t row;
    TRY(row_bytes(&row, to));
    if (x >= row) return cudaErrorInvalidValue;
    for (const char *at = from; bytes > 0; x = 0, y++) {
        size_t n = least(row - x, bytes);
        TRY(cudart_copy_to_array(to, x, y, at, n, n, 1, way));
        at += n;
        bytes -= n;
    }
    return cudaSuccess;
}

cudaError_t cudart_flow_from_array(void *to, cudaArray_const_t from, size_t x, size_t y, size_t bytes,
                                   struct cudart_way way)
{
    size_t row;
    TRY(row_bytes(&row, from));
    if (x >= row) return cudaErrorInvalidValue;
    for (char *at = to; bytes > 0; x = 0, y++) {
        size_t n = least(row - x, bytes);
        TRY(cudart_copy_from_array(at, n, from, x, y, n, 1, way));
        at += n;
        bytes -= n;
    }
    return cudaSuccess;
}

cudaError_t cudart_flow_arrays(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from, size_t from_x,
                               size_t from_y, size_t bytes)
{
    size_t to_row, from_row;
    TRY(row_bytes(&to_row, to));
    TRY(row_bytes(&from_row, from));
    if (to_x >= to_row || from_x >= from_row) return cudaErrorInvalidValue;
    while (bytes > 0) {
        size_t n = least(bytes, least(to_row - to_x, from_row - from_x));
        TRY(cudart_copy_arrays(to, to_x, to_y, from, from_x, from_y, n, 1, cudaMemcpyDeviceToDevice));
        bytes -= n;
        to_y += (to_x += n) == to_row;
        from_y += (from_x += n) == from_row;
        to_x %= to_row;
        from_x %= from_row;
    }
    return cudaSuccess;
}

/* ---- Boxes ---- */

/* What is counted in elements is so where an array takes part: those of the array. */
cudaError_t cudart_read_box(const struct cudaMemcpy3DParms *p, CUDA_MEMCPY3D *c)
{
    size_t to = 1, from = 1;
    if (!p || !p->srcArray == !p->srcPtr.ptr || !p->dstArray == !p->dstPtr.ptr) return cudaErrorInvalidValue;
    if (p->srcArray) TRY(cudart_element_bytes(&from, p->srcArray));
    if (p->dstArray) TRY(cudart_element_bytes(&to, p->dstArray));
    *c = (CUDA_MEMCPY3D){.WidthInBytes = p->extent.width * (p->srcArray ? from : to),
                         .Height = p->extent.height,
                         .Depth = p->extent.depth};
    if (p->srcArray)
        from_array(c, p->srcArray, p->srcPos.x * from, p->srcPos.y);
    else
        from_pointer(c, p->srcPtr.ptr, p->srcPtr.pitch, p->srcPtr.ysize);
    if (p->dstArray)
        to_array(c, p->dstArray, p->dstPos.x * to, p->dstPos.y);
    else
        to_pointer(c, p->dstPtr.ptr, p->dstPtr.pitch, p->dstPtr.ysize);
    if (!p->srcArray) c->srcXInBytes = p->srcPos.x, c->srcY = p->srcPos.y;
    if (!p->dstArray) c->dstXInBytes = p->dstPos.x, c->dstY = p->dstPos.y;
    c->srcZ = p->srcPos.z;
    c->dstZ = p->dstPos.z;
    return cudart_check_kind(p->dstPtr.ptr, p->srcPtr.ptr, p->kind);
}

cudaError_t cudart_copy_3d(const struct cudaMemcpy3DParms *p, struct cudart_way way)
{
    CUDA_MEMCPY3D c;
    TRY(cudart_read_box(p, &c));
    return run(&c, way);
}

cudaError_t cudart_copy_3d_peer(const struct cudaMemcpy3DPeerParms *p, bool async, cudaStream_t stream)
{
    if (!p) return cudaErrorInvalidValue;
    struct cudaMemcpy3DParms all = {.srcArray = p->srcArray,
                                    .srcPos = p->srcPos,
                                    .srcPtr = p->srcPtr,
                                    .dstArray = p->dstArray,
                                    .dstPos = p->dstPos,
                                    .dstPtr = p->dstPtr,
                                    .extent = p->extent,
                                    .kind = cudaMemcpyDeviceToDevice};
    TRY(cudart_check_devices((int[]){p->srcDevice, p->dstDevice}, 2));
    return cudart_copy_3d(&all, (struct cudart_way){all.kind, async, stream});
}

/* ---- Variables ---- */

cudaError_t cudart_to_symbol(const void *symbol, const void *from, size_t bytes, size_t offset, struct cudart_way way)
{
    void *to;
    if (way.kind == cudaMemcpyDeviceToHost || way.kind == cudaMemcpyHostToHost) return cudaErrorInvalidMemcpyDirection;
    TRY(cudart_find_part(&to, symbol, offset, bytes));
    return cudart_copy(to, from, bytes, way);
}

cudaError_t cudart_from_symbol(void *to, const void *symbol, size_t bytes, size_t offset, struct cudart_way way)
{
    void *from;
    if (way.kind == cudaMemcpyHostToDevice || way.kind == cudaMemcpyHostToHost) return cudaErrorInvalidMemcpyDirection;
    TRY(cudart_find_part(&from, symbol, offset, bytes));
    return cudart_copy(to, from, bytes, way);
}
