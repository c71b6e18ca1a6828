#include "runtime/texture.h"

#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"

struct rt_image {
    atomic_int references;
    struct rt_device *device;
    CUarray array;
    unsigned generation;
};

/* ---- what textures can hold ---- */

static const CUarray_format formats[RT_DTYPE_COUNT] = {
    [RT_UINT8] = CU_AD_FORMAT_UNSIGNED_INT8,   [RT_UINT16] = CU_AD_FORMAT_UNSIGNED_INT16,
    [RT_UINT32] = CU_AD_FORMAT_UNSIGNED_INT32, [RT_INT8] = CU_AD_FORMAT_SIGNED_INT8,
    [RT_INT16] = CU_AD_FORMAT_SIGNED_INT16,    [RT_INT32] = CU_AD_FORMAT_SIGNED_INT32,
    [RT_FLOAT16] = CU_AD_FORMAT_HALF,          [RT_FLOAT32] = CU_AD_FORMAT_FLOAT};

static enum rt_status check_channels(enum rt_dtype t, int channels, struct rt_error *e)
{
    if (!formats[t])
        return rt_fail(e, RT_INVALID,
                       "a texture cannot hold %s; convert it with :to(\"float32\"), or to float16 or an integer dtype "
                       "of at most 32 bits",
                       rt_dtypes[t].name);
    if (channels != 1 && channels != 2 && channels != 4)
        return rt_fail(e, RT_INVALID, "channels: expected 1, 2 or 4, got %d", channels);
    return RT_OK;
}

static enum rt_status check_array(const struct rt_array *a, struct rt_error *e)
{
    struct rt_device *d = rt_array_device(a);
    if (!rt_device_runs_kernels(d))
        return rt_fail(e, RT_INVALID, "the array is on %s, which runs no kernels; move it with x:to(\"gpu\")", d->name);
    if (!rt_array_contiguous(a))
        return rt_fail(e, RT_INVALID, "the array is a strided or broadcast view; pass x:contiguous()");
    return rt_array_alive(a, e);
}

/* Shape, dtype and device of a picture of the array, checked. */
static enum rt_status describe(const struct rt_array *a, const struct rt_picture *p, struct rt_texture *out,
                               struct rt_error *e)
{
    char text[160];
    *out = (struct rt_texture){.device = rt_array_device(a),
                               .dtype = a->dtype,
                               .channels = p->channels,
                               .layered = p->layered,
                               .generation = rt_array_device(a)->generation};
    enum rt_status status = check_array(a, e);
    if (status == RT_OK) status = check_channels(a->dtype, p->channels, e);
    if (status != RT_OK) return status;
    int axes = a->ndim - (p->channels > 1);
    if (axes < 1 + p->layered || axes > 3)
        return rt_fail(e, RT_INVALID, "the array's shape is %s; a %spicture has %s axes%s",
                       rt_shape_text(a->ndim, a->shape, text, sizeof text), p->layered ? "layered " : "",
                       p->layered ? "2 or 3" : "1 to 3", p->channels > 1 ? " and one more for the channels" : "");
    if (p->channels > 1 && a->shape[axes] != p->channels)
        return rt_fail(e, RT_INVALID, "the array's last axis has %lld elements, not the %d channels",
                       (long long)a->shape[axes], p->channels);
    if (rt_array_size(a) == 0) return rt_fail(e, RT_INVALID, "the array is empty");
    out->ndim = axes;
    memcpy(out->shape, a->shape, (size_t)axes * sizeof *a->shape);
    return RT_OK;
}

/* ---- images ---- */

static size_t element_bytes(const struct rt_texture *t)
{
    return (size_t)rt_dtypes[t->dtype].size * (size_t)t->channels;
}

/* Sizes along x, y and z as CUDA counts them: 0 where there is no such axis; layers are z. */
static void extent(const struct rt_texture *t, size_t size[3])
{
    int axes = t->ndim - t->layered;
    for (int i = 0; i < 3; i++) size[i] = i < axes ? (size_t)t->shape[t->ndim - 1 - i] : 0;
    if (t->layered) size[2] = (size_t)t->shape[0];
}

static void drop_image(struct rt_image *i)
{
    if (!i || atomic_fetch_sub(&i->references, 1) != 1) return;
    if (i->array && i->generation == i->device->generation && rt_device_enter(i->device, NULL) == RT_OK)
        i->device->driver->ArrayDestroy(i->array);
    free(i);
}

static enum rt_status new_image(struct rt_texture *t, bool surface, struct rt_error *e)
{
    struct rt_device *d = t->device;
    size_t size[3];
    struct rt_image *i = rt_calloc(1, sizeof *i);
    if (!i) return rt_fail(e, RT_NOMEM, "out of memory for a texture");
    atomic_init(&i->references, 1);
    i->device = d;
    i->generation = d->generation;
    extent(t, size);
    unsigned flags = (t->layered ? CUDA_ARRAY3D_LAYERED : 0) | (surface ? CUDA_ARRAY3D_SURFACE_LDST : 0);
    if (t->ndim == 2 && !t->layered) flags |= CUDA_ARRAY3D_TEXTURE_GATHER;
    CUDA_ARRAY3D_DESCRIPTOR shape = {.Width = size[0],
                                     .Height = size[1],
                                     .Depth = size[2],
                                     .Format = formats[t->dtype],
                                     .NumChannels = (unsigned)t->channels,
                                     .Flags = flags};
    enum rt_status status = rt_device_enter(d, e);
    if (status == RT_OK) {
        CUresult r = d->driver->Array3DCreate(&i->array, &shape);
        status = r == CUDA_ERROR_INVALID_VALUE
                     ? rt_fail(e, RT_INVALID, "a picture of %zu x %zu x %zu elements is more than %s's textures have",
                               size[0], size[1] ? size[1] : 1, size[2] ? size[2] : 1, d->name)
                     : rt_device_check(d, r, e, "making a texture's array");
    }
    if (status == RT_OK)
        t->image = i;
    else
        drop_image(i);
    return status;
}

static CUarray array_of(const struct rt_texture *t)
{
    return t->image ? t->image->array : NULL;
}

/* Between the picture and an array of its elements. */
static enum rt_status copy(const struct rt_texture *t, uint64_t memory, bool into, struct rt_error *e)
{
    size_t size[3], row;
    extent(t, size);
    row = size[0] * element_bytes(t);
    size_t rows = size[1] ? size[1] : 1;
    CUDA_MEMCPY3D c = {.WidthInBytes = row, .Height = rows, .Depth = size[2] ? size[2] : 1};
    if (into) {
        c.srcMemoryType = CU_MEMORYTYPE_DEVICE;
        c.srcDevice = memory;
        c.srcPitch = row;
        c.srcHeight = rows;
        c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
        c.dstArray = array_of(t);
    } else {
        c.srcMemoryType = CU_MEMORYTYPE_ARRAY;
        c.srcArray = array_of(t);
        c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
        c.dstDevice = memory;
        c.dstPitch = row;
        c.dstHeight = rows;
    }
    enum rt_status status = rt_device_synchronize(t->device, e);
    if (status == RT_OK) status = rt_device_check(t->device, t->device->driver->Memcpy3D(&c), e, "copying a texture");
    return status;
}

/* ---- objects ---- */

static CUDA_RESOURCE_DESC resource_of(const struct rt_texture *t)
{
    CUDA_RESOURCE_DESC r = {.resType = t->memory ? CU_RESOURCE_TYPE_LINEAR : CU_RESOURCE_TYPE_ARRAY};
    if (t->memory) {
        r.res.linear.devPtr = t->memory->address;
        r.res.linear.format = formats[t->dtype];
        r.res.linear.numChannels = (unsigned)t->channels;
        r.res.linear.sizeInBytes = (size_t)t->shape[0] * element_bytes(t);
    } else {
        r.res.array.hArray = array_of(t);
    }
    return r;
}

static enum rt_status check_sampling(const struct rt_texture *t, const struct rt_sampling *how, struct rt_error *e)
{
    char kind = rt_dtypes[t->dtype].kind;
    bool narrow = kind != 'f' && rt_dtypes[t->dtype].size < 4;
    if (how->floats && !narrow && kind != 'f')
        return rt_fail(e, RT_INVALID, "read = \"normalized\" is for integers of 8 and 16 bits, not for %s",
                       rt_dtypes[t->dtype].name);
    if (how->linear && kind != 'f' && !how->floats)
        return rt_fail(e, RT_INVALID, "filter = \"linear\" needs elements that are read as floats; %s",
                       narrow ? "add read = \"normalized\"" : "convert the array with :to(\"float32\")");
    if (how->srgb && (t->dtype != RT_UINT8 || !how->floats))
        return rt_fail(e, RT_INVALID, "srgb is for uint8 elements with read = \"normalized\"");
    for (int i = 0; i < 3; i++)
        if (!how->normalized && (how->address[i] == RT_ADDRESS_WRAP || how->address[i] == RT_ADDRESS_MIRROR))
            return rt_fail(e, RT_INVALID, "address = \"wrap\" and \"mirror\" need normalized = true");
    return RT_OK;
}

static enum rt_status new_texture_object(struct rt_texture *t, const struct rt_sampling *how, struct rt_error *e)
{
    static const CUaddress_mode modes[] = {[RT_ADDRESS_WRAP] = CU_TR_ADDRESS_MODE_WRAP,
                                           [RT_ADDRESS_CLAMP] = CU_TR_ADDRESS_MODE_CLAMP,
                                           [RT_ADDRESS_MIRROR] = CU_TR_ADDRESS_MODE_MIRROR,
                                           [RT_ADDRESS_BORDER] = CU_TR_ADDRESS_MODE_BORDER};
    const struct driver *driver = t->device->driver;
    CUDA_RESOURCE_DESC resource = resource_of(t);
    CUDA_TEXTURE_DESC d = {.filterMode = how->linear ? CU_TR_FILTER_MODE_LINEAR : CU_TR_FILTER_MODE_POINT,
                           .flags =
                               (how->normalized ? CU_TRSF_NORMALIZED_COORDINATES : 0) | (how->srgb ? CU_TRSF_SRGB : 0)};
    if (rt_dtypes[t->dtype].kind != 'f' && !how->floats) d.flags |= CU_TRSF_READ_AS_INTEGER;
    for (int i = 0; i < 3; i++) d.addressMode[i] = modes[how->address[i]];
    memcpy(d.borderColor, how->border, sizeof d.borderColor);
    CUtexObject handle = 0;
    enum rt_status status = rt_device_enter(t->device, e);
    if (status == RT_OK)
        status = rt_device_check(t->device, driver->TexObjectCreate(&handle, &resource, &d, NULL), e,
                                 "making a texture object");
    t->handle = handle;
    return status;
}

static enum rt_status finish(struct rt_texture *t, enum rt_status status, struct rt_texture *out)
{
    if (status == RT_OK)
        *out = *t;
    else
        rt_texture_release(t);
    return status;
}

enum rt_status rt_texture_new(const struct rt_array *a, const struct rt_picture *p, const struct rt_sampling *how,
                              struct rt_texture *out, struct rt_error *e)
{
    struct rt_texture t = {0};
    *out = t;
    enum rt_status status = describe(a, p, &t, e);
    if (status == RT_OK) status = check_sampling(&t, how, e);
    if (status != RT_OK) return status;
    status = new_image(&t, false, e);
    if (status == RT_OK) status = copy(&t, rt_array_address(a), true, e);
    if (status == RT_OK) status = new_texture_object(&t, how, e);
    return finish(&t, status, out);
}

enum rt_status rt_texture_linear(const struct rt_array *a, int channels, const struct rt_sampling *how,
                                 struct rt_texture *out, struct rt_error *e)
{
    struct rt_texture t = {0};
    *out = t;
    enum rt_status status = describe(a, &(struct rt_picture){.channels = channels}, &t, e);
    if (status == RT_OK && t.ndim != 1)
        status = rt_fail(e, RT_INVALID, "fetch is for arrays of one axis, not %d", t.ndim);
    if (status == RT_OK && (how->linear || how->normalized || how->srgb || how->address[0] != RT_ADDRESS_CLAMP))
        status = rt_fail(e, RT_INVALID, "fetch reads elements by their index: it goes with read and channels only");
    if (status == RT_OK) status = check_sampling(&t, how, e);
    if (status == RT_OK && a->offset != 0)
        status = rt_fail(e, RT_INVALID, "fetch needs an array that begins its own memory; pass x:clone()");
    if (status != RT_OK) return status;
    t.memory = rt_storage_retain(a->storage);
    return finish(&t, new_texture_object(&t, how, e), out);
}

enum rt_status rt_texture_of(const struct rt_texture *of, const struct rt_sampling *how, struct rt_texture *out,
                             struct rt_error *e)
{
    struct rt_texture t = *of;
    memset(out, 0, sizeof *out);
    t.surface = false;
    t.handle = 0;
    enum rt_status status = rt_texture_alive(of, e);
    if (status == RT_OK && !of->image)
        status = rt_fail(e, RT_INVALID, "a texture for fetch is of an array's memory; make another one of the array");
    if (status == RT_OK) status = check_sampling(&t, how, e);
    if (status != RT_OK) return status;
    atomic_fetch_add(&t.image->references, 1);
    return finish(&t, new_texture_object(&t, how, e), out);
}

enum rt_status rt_surface_new(const struct rt_array *a, const struct rt_picture *p, struct rt_texture *out,
                              struct rt_error *e)
{
    struct rt_texture t = {0};
    *out = t;
    enum rt_status status = describe(a, p, &t, e);
    if (status != RT_OK) return status;
    t.surface = true;
    status = new_image(&t, true, e);
    if (status == RT_OK) status = copy(&t, rt_array_address(a), true, e);
    if (status == RT_OK) {
        CUDA_RESOURCE_DESC resource = resource_of(&t);
        CUsurfObject handle = 0;
        status = rt_device_check(t.device, t.device->driver->SurfObjectCreate(&handle, &resource), e,
                                 "making a surface object");
        t.handle = handle;
    }
    return finish(&t, status, out);
}

void rt_texture_release(struct rt_texture *t)
{
    struct rt_device *d = t->device;
    if (t->handle && t->generation == d->generation && rt_device_enter(d, NULL) == RT_OK) {
        d->driver->CtxSynchronize();
        if (t->surface)
            d->driver->SurfObjectDestroy(t->handle);
        else
            d->driver->TexObjectDestroy(t->handle);
    }
    drop_image(t->image);
    rt_storage_release(t->memory);
    memset(t, 0, sizeof *t);
}

/* ---- reading and writing ---- */

int rt_texture_shape(const struct rt_texture *t, int64_t shape[4])
{
    memcpy(shape, t->shape, sizeof t->shape);
    if (t->channels > 1) shape[t->ndim] = t->channels;
    return t->ndim + (t->channels > 1);
}

enum rt_status rt_texture_alive(const struct rt_texture *t, struct rt_error *e)
{
    if (t->generation == t->device->generation) return RT_OK;
    return rt_fail(e, RT_DEVICE, "this %s was lost when a kernel on %s failed; make it anew",
                   t->surface ? "surface" : "texture", t->device->name);
}

static enum rt_status transfer(const struct rt_texture *t, const struct rt_array *a, bool into, struct rt_error *e)
{
    int64_t shape[4];
    char want[160], came[160];
    int ndim = rt_texture_shape(t, shape);
    enum rt_status status = rt_texture_alive(t, e);
    if (status == RT_OK && !t->image)
        status = rt_fail(e, RT_INVALID, "a texture for fetch has no picture of its own; use the array it was made of");
    if (status == RT_OK) status = check_array(a, e);
    if (status != RT_OK) return status;
    if (rt_array_device(a) != t->device)
        return rt_fail(e, RT_INVALID, "the array is on %s, and this on %s", rt_array_device(a)->name, t->device->name);
    if (a->dtype != t->dtype || a->ndim != ndim || memcmp(a->shape, shape, (size_t)ndim * sizeof *shape) != 0)
        return rt_fail(e, RT_INVALID, "expected %s elements of the shape %s, got %s of %s", rt_dtypes[t->dtype].name,
                       rt_shape_text(ndim, shape, want, sizeof want), rt_dtypes[a->dtype].name,
                       rt_shape_text(a->ndim, a->shape, came, sizeof came));
    return copy(t, rt_array_address(a), into, e);
}

enum rt_status rt_texture_read(const struct rt_texture *t, const struct rt_array *to, struct rt_error *e)
{
    return transfer(t, to, false, e);
}

enum rt_status rt_texture_write(const struct rt_texture *t, const struct rt_array *from, struct rt_error *e)
{
    return transfer(t, from, true, e);
}
