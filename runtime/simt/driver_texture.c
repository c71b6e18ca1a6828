/* The software GPU's driver: arrays, and texture and surface objects over them and over plain memory. The engine
 * samples; here they are made. Arrays lie in device memory row by row, slice by slice. */
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/entries.h"
#include "runtime/simt/texture.h"

#define ROW_ALIGN  32 /* CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT */
#define CUBE_FACES 6
#define ARRAY_FLAGS                                                                                                    \
    (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_TEXTURE_GATHER | CUDA_ARRAY3D_CUBEMAP)
#define OTHER_FLAGS (CUDA_ARRAY3D_DEPTH_TEXTURE | CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING)

static bool channels_good(unsigned n)
{
    return n == 1 || n == 2 || n == 4;
}

/* ---- Arrays ---- */

static CUresult check_limits(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    bool layered = d->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);
    const struct {
        size_t size;
        CUdevice_attribute limit;
    } one[] = {{d->Width, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH}},
      two[] = {{d->Width, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH},
               {d->Height, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT}},
      three[] = {{d->Width, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH},
                 {d->Height, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT},
                 {d->Depth, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH}},
      layers[] = {{d->Width, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH},
                  {d->Height, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT},
                  {d->Depth, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS}},
      *rows = layered     ? layers
              : d->Depth  ? three
              : d->Height ? two
                          : one;
    size_t count = layered || d->Depth ? 3 : d->Height ? 2 : 1;
    for (size_t i = 0; i < count; i++) {
        int most;
        TRY(simt_DeviceGetAttribute(&most, rows[i].limit, 0));
        if (rows[i].size > (size_t)most) return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

static CUresult check_array(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    if (d->Flags & ~(unsigned)(ARRAY_FLAGS | OTHER_FLAGS) || d->Width == 0 || !channels_good(d->NumChannels))
        return CUDA_ERROR_INVALID_VALUE;
    if (d->Flags & OTHER_FLAGS || simt_format_bytes(d->Format) == 0) return CUDA_ERROR_NOT_SUPPORTED;
    bool layered = d->Flags & CUDA_ARRAY3D_LAYERED, cube = d->Flags & CUDA_ARRAY3D_CUBEMAP;
    if (cube && (d->Width != d->Height || d->Depth % CUBE_FACES || (!layered && d->Depth != CUBE_FACES)))
        return CUDA_ERROR_INVALID_VALUE;
    if (layered ? d->Depth == 0 : d->Depth > 0 && d->Height == 0) return CUDA_ERROR_INVALID_VALUE;
    return check_limits(d);
}

static CUresult new_array(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    CUarray a = rt_calloc(1, sizeof *a);
    if (!a) return CUDA_ERROR_OUT_OF_MEMORY;
    a->shape = *d;
    a->element = simt_format_bytes(d->Format) * d->NumChannels;
    a->row = d->Width * a->element;
    a->pitch = (a->row + ROW_ALIGN - 1) / ROW_ALIGN * ROW_ALIGN;
    a->slice = a->pitch * (d->Height ? d->Height : 1);
    uint64_t memory = 0;
    simt_lock();
    bool room = simt_alloc(a->slice * (d->Depth ? d->Depth : 1), &memory, NULL) == RT_OK;
    a->memory = memory;
    if (room && !simt_handle_add(a, SIMT_ARRAY)) {
        simt_free(memory);
        room = false;
    }
    simt_unlock();
    if (room) {
        *array = a;
    } else {
        free(a);
    }
    return room ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult simt_Array3DCreate(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    TRY(simt_ready());
    if (!array || !d) return CUDA_ERROR_INVALID_VALUE;
    TRY(check_array(d));
    return new_array(array, d);
}

CUresult simt_find_array(CUarray array)
{
    TRY(simt_ready());
    return simt_handle_is(array, SIMT_ARRAY) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult simt_ArrayDestroy(CUarray array)
{
    TRY(simt_find_array(array));
    simt_settle(false);
    simt_lock();
    simt_handle_remove(array, SIMT_ARRAY);
    simt_free(array->memory);
    simt_unlock();
    free(array);
    return CUDA_SUCCESS;
}

/* ---- Objects ---- */

static CUresult over_array(CUarray a, struct simt_texture *t)
{
    if (!simt_handle_is(a, SIMT_ARRAY)) return CUDA_ERROR_INVALID_HANDLE;
    const CUDA_ARRAY3D_DESCRIPTOR *d = &a->shape;
    bool layered = d->Flags & CUDA_ARRAY3D_LAYERED;
    bool cube = d->Flags & CUDA_ARRAY3D_CUBEMAP;
    *t = (struct simt_texture){.kind = cube        ? layered ? SIMT_TEXTURE_CUBE_LAYERED : SIMT_TEXTURE_CUBE
                                       : layered   ? d->Height ? SIMT_TEXTURE_2D_LAYERED : SIMT_TEXTURE_1D_LAYERED
                                       : d->Depth  ? SIMT_TEXTURE_3D
                                       : d->Height ? SIMT_TEXTURE_2D
                                                   : SIMT_TEXTURE_1D,
                               .format = d->Format,
                               .channels = d->NumChannels,
                               .element = a->element,
                               .width = d->Width,
                               .height = d->Height ? d->Height : 1,
                               .depth = d->Depth ? d->Depth : 1,
                               .pitch = a->pitch,
                               .slice = a->slice,
                               .memory = a->memory};
    return CUDA_SUCCESS;
}

/* Plain memory, in one row or in rows a pitch apart. The range is checked by the caller. */
static CUresult over_memory(const CUDA_RESOURCE_DESC *r, struct simt_texture *t)
{
    bool rows = r->resType == CU_RESOURCE_TYPE_PITCH2D;
    CUarray_format format = rows ? r->res.pitch2D.format : r->res.linear.format;
    unsigned channels = rows ? r->res.pitch2D.numChannels : r->res.linear.numChannels;
    unsigned element = simt_format_bytes(format) * channels;
    if (element == 0 || !channels_good(channels)) return CUDA_ERROR_INVALID_VALUE;
    *t = (struct simt_texture){.kind = rows ? SIMT_TEXTURE_PITCH : SIMT_TEXTURE_LINEAR,
                               .format = format,
                               .channels = channels,
                               .element = element,
                               .width = rows ? r->res.pitch2D.width : r->res.linear.sizeInBytes / element,
                               .height = rows ? r->res.pitch2D.height : 1,
                               .depth = 1,
                               .pitch = rows ? r->res.pitch2D.pitchInBytes : r->res.linear.sizeInBytes,
                               .memory = rows ? r->res.pitch2D.devPtr : r->res.linear.devPtr};
    size_t bytes;
    if (t->memory % SIMT_TEXTURE_ALIGN || t->width == 0 || t->height == 0) return CUDA_ERROR_INVALID_VALUE;
    if (rows && (t->pitch % ROW_ALIGN || t->pitch / element < t->width)) return CUDA_ERROR_INVALID_VALUE;
    if (__builtin_mul_overflow(t->pitch, t->height, &bytes)) return CUDA_ERROR_INVALID_VALUE;
    t->slice = bytes;
    return CUDA_SUCCESS;
}

static CUresult find_resource(const CUDA_RESOURCE_DESC *r, struct simt_texture *t)
{
    switch (r->resType) {
    case CU_RESOURCE_TYPE_ARRAY: return over_array(r->res.array.hArray, t);
    case CU_RESOURCE_TYPE_LINEAR:
    case CU_RESOURCE_TYPE_PITCH2D: return over_memory(r, t);
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY: return CUDA_ERROR_NOT_SUPPORTED;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

static bool is_float(CUarray_format f)
{
    return f == CU_AD_FORMAT_HALF || f == CU_AD_FORMAT_FLOAT;
}

static CUresult set_sampling(const CUDA_TEXTURE_DESC *d, struct simt_texture *t)
{
    const unsigned known = CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB |
                           CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION | CU_TRSF_SEAMLESS_CUBEMAP;
    if (d->flags & ~known || d->filterMode > CU_TR_FILTER_MODE_LINEAR) return CUDA_ERROR_INVALID_VALUE;
    for (int i = 0; i < 3; i++) {
        if (d->addressMode[i] > CU_TR_ADDRESS_MODE_BORDER) return CUDA_ERROR_INVALID_VALUE;
        t->address[i] = d->addressMode[i];
    }
    t->filter = d->filterMode;
    t->normalized = d->flags & CU_TRSF_NORMALIZED_COORDINATES;
    t->srgb = d->flags & CU_TRSF_SRGB;
    t->raw = d->flags & CU_TRSF_READ_AS_INTEGER;
    memcpy(t->border, d->borderColor, sizeof t->border);
    if (t->kind == SIMT_TEXTURE_CUBE || t->kind == SIMT_TEXTURE_CUBE_LAYERED) { /* a filter stays on its face */
        if (d->flags & CU_TRSF_SEAMLESS_CUBEMAP && t->filter == CU_TR_FILTER_MODE_LINEAR)
            return CUDA_ERROR_NOT_SUPPORTED;
        t->normalized = true;
        t->address[0] = t->address[1] = CU_TR_ADDRESS_MODE_CLAMP;
    }
    if (!is_float(t->format) && (t->raw || simt_format_bytes(t->format) == 4))
        t->filter = CU_TR_FILTER_MODE_POINT; /* integers are not filtered; FFmpeg's scaler asks for it all the same */
    return CUDA_SUCCESS;
}

/* Texels of an array read in another format of their size. Its axes stay as they are. */
static CUresult set_view(const CUDA_RESOURCE_DESC *r, const CUDA_RESOURCE_VIEW_DESC *v, struct simt_texture *t)
{
    static const CUarray_format formats[] = {
        CU_AD_FORMAT_UNSIGNED_INT8,  CU_AD_FORMAT_SIGNED_INT8,  CU_AD_FORMAT_UNSIGNED_INT16, CU_AD_FORMAT_SIGNED_INT16,
        CU_AD_FORMAT_UNSIGNED_INT32, CU_AD_FORMAT_SIGNED_INT32, CU_AD_FORMAT_HALF,           CU_AD_FORMAT_FLOAT};
    if (!v || v->format == CU_RES_VIEW_FORMAT_NONE) return CUDA_SUCCESS;
    if (v->format >= CU_RES_VIEW_FORMAT_UNSIGNED_BC1) return CUDA_ERROR_NOT_SUPPORTED;
    unsigned k = (unsigned)v->format - 1, channels = 1u << k % 3;
    if (r->resType != CU_RESOURCE_TYPE_ARRAY || simt_format_bytes(formats[k / 3]) * channels != t->element)
        return CUDA_ERROR_INVALID_VALUE;
    const CUDA_ARRAY3D_DESCRIPTOR *a = &r->res.array.hArray->shape;
    if (v->width != a->Width || v->height != a->Height || v->depth != a->Depth) return CUDA_ERROR_INVALID_VALUE;
    if (v->firstMipmapLevel || v->lastMipmapLevel || v->firstLayer || v->lastLayer) return CUDA_ERROR_NOT_SUPPORTED;
    t->format = formats[k / 3];
    t->channels = channels;
    return CUDA_SUCCESS;
}

static CUresult new_object(unsigned long long *object, struct simt_texture *t, const struct simt_description *d)
{
    struct simt_description *kept = rt_alloc(sizeof *kept);
    uint64_t handle = 0;
    if (!kept) return CUDA_ERROR_OUT_OF_MEMORY;
    *kept = *d;
    simt_lock();
    t->base = d->resource.resType == CU_RESOURCE_TYPE_ARRAY ? simt_host(t->memory) : simt_range(t->memory, t->slice);
    if (d->resource.resType != CU_RESOURCE_TYPE_ARRAY) simt_wrote(t->memory, t->slice);
    CUresult r = !t->base                                       ? CUDA_ERROR_INVALID_VALUE
                 : simt_texture_add(t, &handle) != RT_OK        ? CUDA_ERROR_OUT_OF_MEMORY
                 : simt_handle_add((void *)handle, SIMT_OBJECT) ? CUDA_SUCCESS
                                                                : CUDA_ERROR_OUT_OF_MEMORY;
    if (r == CUDA_SUCCESS) {
        simt_handle_set((void *)handle, SIMT_OBJECT, kept);
        *object = handle;
    } else if (handle) {
        simt_texture_remove(handle);
    }
    simt_unlock();
    if (r != CUDA_SUCCESS) free(kept);
    return r;
}

CUresult simt_TexObjectCreate(CUtexObject *object, const CUDA_RESOURCE_DESC *resource, const CUDA_TEXTURE_DESC *texture,
                              const CUDA_RESOURCE_VIEW_DESC *view)
{
    struct simt_texture t;
    TRY(simt_ready());
    if (!object || !resource || !texture) return CUDA_ERROR_INVALID_VALUE;
    TRY(find_resource(resource, &t));
    TRY(set_view(resource, view, &t));
    TRY(set_sampling(texture, &t));
    struct simt_description d = {.resource = *resource, .texture = *texture};
    if (view) d.view = *view;
    return new_object(object, &t, &d);
}

/* CUDA_ARRAY3D_SURFACE_LDST is not asked for: NVIDIA's driver wants it for surface references alone, and Slang and
 * oneAPI make arrays without. */
CUresult simt_SurfObjectCreate(CUsurfObject *object, const CUDA_RESOURCE_DESC *resource)
{
    struct simt_texture t;
    TRY(simt_ready());
    if (!object || !resource || resource->resType != CU_RESOURCE_TYPE_ARRAY) return CUDA_ERROR_INVALID_VALUE;
    TRY(find_resource(resource, &t));
    t.surface = true;
    if (t.kind == SIMT_TEXTURE_CUBE || t.kind == SIMT_TEXTURE_CUBE_LAYERED) t.kind = SIMT_TEXTURE_2D_LAYERED;
    return new_object(object, &t, &(struct simt_description){.resource = *resource, .surface = true});
}

CUresult simt_find_object(unsigned long long object, bool surface, struct simt_description **out)
{
    struct simt_handle h;
    TRY(simt_ready());
    if (!simt_handle_get((void *)object, SIMT_OBJECT, &h)) return CUDA_ERROR_INVALID_HANDLE;
    *out = h.extra;
    return (*out)->surface == surface ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult destroy_object(unsigned long long object, bool surface)
{
    struct simt_description *d;
    TRY(simt_find_object(object, surface, &d));
    simt_settle(false);
    simt_lock();
    simt_handle_remove((void *)object, SIMT_OBJECT);
    simt_texture_remove(object);
    simt_unlock();
    free(d);
    return CUDA_SUCCESS;
}

CUresult simt_TexObjectDestroy(CUtexObject object)
{
    return destroy_object(object, false);
}

CUresult simt_SurfObjectDestroy(CUsurfObject object)
{
    return destroy_object(object, true);
}
