/* Arrays, and texture and surface objects: the runtime's descriptions of them and the driver's. */
#include "runtime/simt/libcudart/libcudart.h"
#include <string.h>

/* ---- Formats ---- */

static const struct format {
    CUarray_format format;
    enum cudaChannelFormatKind kind;
    int bits;
} formats[] = {
    {CU_AD_FORMAT_UNSIGNED_INT8, cudaChannelFormatKindUnsigned, 8},
    {CU_AD_FORMAT_UNSIGNED_INT16, cudaChannelFormatKindUnsigned, 16},
    {CU_AD_FORMAT_UNSIGNED_INT32, cudaChannelFormatKindUnsigned, 32},
    {CU_AD_FORMAT_SIGNED_INT8, cudaChannelFormatKindSigned, 8},
    {CU_AD_FORMAT_SIGNED_INT16, cudaChannelFormatKindSigned, 16},
    {CU_AD_FORMAT_SIGNED_INT32, cudaChannelFormatKindSigned, 32},
    {CU_AD_FORMAT_HALF, cudaChannelFormatKindFloat, 16},
    {CU_AD_FORMAT_FLOAT, cudaChannelFormatKindFloat, 32},
};

static cudaError_t read_format(const struct cudaChannelFormatDesc *d, CUarray_format *format, unsigned *channels)
{
    const int bits[] = {d->x, d->y, d->z, d->w};
    unsigned n = 0;
    while (n < 4 && bits[n] == d->x) n++;
    for (unsigned i = n; i < 4; i++)
        if (bits[i] != 0) return cudaErrorInvalidChannelDescriptor;
    if (n == 3) return cudaErrorInvalidChannelDescriptor;
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        if (formats[i].kind != d->f || formats[i].bits != d->x) continue;
        *format = formats[i].format;
        *channels = n;
        return cudaSuccess;
    }
    return cudaErrorInvalidChannelDescriptor;
}

static struct cudaChannelFormatDesc describe(CUarray_format format, unsigned channels)
{
    struct cudaChannelFormatDesc d = {.f = cudaChannelFormatKindNone};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        if (formats[i].format != format) continue;
        int b = formats[i].bits;
        d = (struct cudaChannelFormatDesc){b, channels > 1 ? b : 0, channels > 2 ? b : 0, channels > 3 ? b : 0,
                                           formats[i].kind};
    }
    return d;
}

struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, enum cudaChannelFormatKind f)
{
    return (struct cudaChannelFormatDesc){x, y, z, w, f};
}

/* ---- Arrays ---- */

cudaError_t cudart_malloc_array(cudaArray_t *array, const struct cudaChannelFormatDesc *d, struct cudaExtent extent,
                                unsigned flags)
{
    CUDA_ARRAY3D_DESCRIPTOR a = {.Width = extent.width, .Height = extent.height, .Depth = extent.depth, .Flags = flags};
    if (!array || !d) return cudaErrorInvalidValue;
    TRY(read_format(d, &a.Format, &a.NumChannels));
    return (cudaError_t)cuArray3DCreate((CUarray *)array, &a);
}

cudaError_t cudart_array_info(struct cudaChannelFormatDesc *d, struct cudaExtent *extent, unsigned *flags,
                              cudaArray_const_t array)
{
    CUDA_ARRAY3D_DESCRIPTOR a;
    TRY(cuArray3DGetDescriptor(&a, (CUarray)(uintptr_t)array));
    if (d) *d = describe(a.Format, a.NumChannels);
    if (extent) *extent = (struct cudaExtent){a.Width, a.Height, a.Depth};
    if (flags) *flags = a.Flags;
    return cudaSuccess;
}

cudaError_t cudart_element_bytes(size_t *bytes, cudaArray_const_t array)
{
    struct cudaChannelFormatDesc d;
    TRY(cudart_array_info(&d, NULL, NULL, array));
    *bytes = (size_t)(d.x + d.y + d.z + d.w) / 8;
    return cudaSuccess;
}

/* ---- Objects ---- */

static cudaError_t read_resource(const struct cudaResourceDesc *from, CUDA_RESOURCE_DESC *to)
{
    if (!from) return cudaErrorInvalidValue;
    memset(to, 0, sizeof *to);
    to->resType = (CUresourcetype)from->resType;
    to->flags = from->flags;
    switch (from->resType) {
    case cudaResourceTypeArray: to->res.array.hArray = (CUarray)from->res.array.array; return cudaSuccess;
    case cudaResourceTypeMipmappedArray:
        to->res.mipmap.hMipmappedArray = (CUmipmappedArray)from->res.mipmap.mipmap;
        return cudaSuccess;
    case cudaResourceTypeLinear:
        to->res.linear.devPtr = cudart_address(from->res.linear.devPtr);
        to->res.linear.sizeInBytes = from->res.linear.sizeInBytes;
        return read_format(&from->res.linear.desc, &to->res.linear.format, &to->res.linear.numChannels);
    case cudaResourceTypePitch2D:
        to->res.pitch2D.devPtr = cudart_address(from->res.pitch2D.devPtr);
        to->res.pitch2D.width = from->res.pitch2D.width;
        to->res.pitch2D.height = from->res.pitch2D.height;
        to->res.pitch2D.pitchInBytes = from->res.pitch2D.pitchInBytes;
        return read_format(&from->res.pitch2D.desc, &to->res.pitch2D.format, &to->res.pitch2D.numChannels);
    }
    return cudaErrorInvalidValue;
}

static void write_resource(const CUDA_RESOURCE_DESC *from, struct cudaResourceDesc *to)
{
    memset(to, 0, sizeof *to);
    to->resType = (enum cudaResourceType)from->resType;
    to->flags = from->flags;
    if (from->resType == CU_RESOURCE_TYPE_ARRAY) {
        to->res.array.array = (cudaArray_t)from->res.array.hArray;
    } else if (from->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY) {
        to->res.mipmap.mipmap = (cudaMipmappedArray_t)from->res.mipmap.hMipmappedArray;
    } else if (from->resType == CU_RESOURCE_TYPE_LINEAR) {
        to->res.linear.devPtr = (void *)(uintptr_t)from->res.linear.devPtr;
        to->res.linear.desc = describe(from->res.linear.format, from->res.linear.numChannels);
        to->res.linear.sizeInBytes = from->res.linear.sizeInBytes;
    } else {
        to->res.pitch2D.devPtr = (void *)(uintptr_t)from->res.pitch2D.devPtr;
        to->res.pitch2D.desc = describe(from->res.pitch2D.format, from->res.pitch2D.numChannels);
        to->res.pitch2D.width = from->res.pitch2D.width;
        to->res.pitch2D.height = from->res.pitch2D.height;
        to->res.pitch2D.pitchInBytes = from->res.pitch2D.pitchInBytes;
    }
}

/* What is a member here and a flag there. */
#define FLAGS(X)                                                                                                       \
    X(normalizedCoords, CU_TRSF_NORMALIZED_COORDINATES)                                                                \
    X(sRGB, CU_TRSF_SRGB)                                                                                              \
    X(disableTrilinearOptimization, CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION)                                            \
    X(seamlessCubemap, CU_TRSF_SEAMLESS_CUBEMAP)

/* The driver takes a filter over integers for none, the runtime refuses it. */
static cudaError_t check_filter(const CUDA_RESOURCE_DESC *r, const struct cudaTextureDesc *texture)
{
    CUarray_format format = r->resType == CU_RESOURCE_TYPE_LINEAR ? r->res.linear.format : r->res.pitch2D.format;
    CUDA_ARRAY3D_DESCRIPTOR array;
    if (texture->filterMode != cudaFilterModeLinear) return cudaSuccess;
    if (r->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY) return cudaSuccess; /* refused as such */
    if (r->resType == CU_RESOURCE_TYPE_ARRAY) {
        TRY((cudaError_t)cuArray3DGetDescriptor(&array, r->res.array.hArray));
        format = array.Format;
    }
    bool words = format == CU_AD_FORMAT_UNSIGNED_INT32 || format == CU_AD_FORMAT_SIGNED_INT32,
         floats = format == CU_AD_FORMAT_HALF || format == CU_AD_FORMAT_FLOAT;
    bool integers = !floats && (words || texture->readMode == cudaReadModeElementType);
    return integers ? cudaErrorInvalidFilterSetting : cudaSuccess;
}

cudaError_t cudart_new_texture(cudaTextureObject_t *object, const struct cudaResourceDesc *resource,
                               const struct cudaTextureDesc *texture, const struct cudaResourceViewDesc *view)
{
    CUDA_RESOURCE_DESC r;
    CUDA_TEXTURE_DESC t = {0};
    if (!texture) return cudaErrorInvalidValue;
    TRY(read_resource(resource, &r));
    TRY(check_filter(&r, texture));
    for (int i = 0; i < 3; i++) t.addressMode[i] = (CUaddress_mode)texture->addressMode[i];
    t.filterMode = (CUfilter_mode)texture->filterMode;
    if (texture->readMode == cudaReadModeElementType) t.flags |= CU_TRSF_READ_AS_INTEGER;
#define X(member, flag)                                                                                                \
    if (texture->member) t.flags |= flag;
    FLAGS(X)
#undef X
    t.maxAnisotropy = texture->maxAnisotropy;
    t.mipmapFilterMode = (CUfilter_mode)texture->mipmapFilterMode;
    t.mipmapLevelBias = texture->mipmapLevelBias;
    t.minMipmapLevelClamp = texture->minMipmapLevelClamp;
    t.maxMipmapLevelClamp = texture->maxMipmapLevelClamp;
    memcpy(t.borderColor, texture->borderColor, sizeof t.borderColor);
    return (cudaError_t)cuTexObjectCreate(object, &r, &t, (const CUDA_RESOURCE_VIEW_DESC *)view);
}

cudaError_t cudart_texture_texture(struct cudaTextureDesc *texture, cudaTextureObject_t object)
{
    CUDA_TEXTURE_DESC t;
    if (!texture) return cudaErrorInvalidValue;
    TRY(cuTexObjectGetTextureDesc(&t, object));
    memset(texture, 0, sizeof *texture);
    for (int i = 0; i < 3; i++) texture->addressMode[i] = (enum cudaTextureAddressMode)t.addressMode[i];
    texture->filterMode = (enum cudaTextureFilterMode)t.filterMode;
    texture->readMode = t.flags & CU_TRSF_READ_AS_INTEGER ? cudaReadModeElementType : cudaReadModeNormalizedFloat;
#define X(member, flag) texture->member = (t.flags & flag) != 0;
    FLAGS(X)
#undef X
    texture->maxAnisotropy = t.maxAnisotropy;
    texture->mipmapFilterMode = (enum cudaTextureFilterMode)t.mipmapFilterMode;
    texture->mipmapLevelBias = t.mipmapLevelBias;
    texture->minMipmapLevelClamp = t.minMipmapLevelClamp;
    texture->maxMipmapLevelClamp = t.maxMipmapLevelClamp;
    memcpy(texture->borderColor, t.borderColor, sizeof t.borderColor);
    return cudaSuccess;
}

cudaError_t cudart_new_surface(cudaSurfaceObject_t *object, const struct cudaResourceDesc *resource)
{
    CUDA_RESOURCE_DESC r;
    TRY(read_resource(resource, &r));
    return (cudaError_t)cuSurfObjectCreate(object, &r);
}

cudaError_t cudart_texture_resource(struct cudaResourceDesc *resource, unsigned long long object, bool surface)
{
    CUDA_RESOURCE_DESC r;
    if (!resource) return cudaErrorInvalidValue;
    TRY(surface ? cuSurfObjectGetResourceDesc(&r, object) : cuTexObjectGetResourceDesc(&r, object));
    write_resource(&r, resource);
    return cudaSuccess;
}

cudaError_t cudart_linear_width(size_t *elements, const struct cudaChannelFormatDesc *d, int device)
{
    CUarray_format format;
    unsigned channels;
    if (!d) return cudaErrorInvalidValue;
    TRY(read_format(d, &format, &channels));
    return (cudaError_t)cuDeviceGetTexture1DLinearMaxWidth(elements, format, channels, device);
}
