/* What is known of arrays, and of texture and surface objects. driver_texture.c makes them. */
#include "runtime/simt/libcuda/libcuda.h"

/* ---- Arrays ---- */

CUresult cuArrayCreate_v2(CUarray *array, const CUDA_ARRAY_DESCRIPTOR *d)
{
    TRY(simt_ready());
    if (!d) return CUDA_ERROR_INVALID_VALUE;
    CUDA_ARRAY3D_DESCRIPTOR all = {
        .Width = d->Width, .Height = d->Height, .Format = d->Format, .NumChannels = d->NumChannels};
    return simt_Array3DCreate(array, &all);
}

CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *d, CUarray array)
{
    TRY(simt_find_array(array));
    if (!d) return CUDA_ERROR_INVALID_VALUE;
    *d = array->shape;
    return CUDA_SUCCESS;
}

CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *d, CUarray array)
{
    TRY(simt_find_array(array));
    const CUDA_ARRAY3D_DESCRIPTOR *a = &array->shape;
    if (!d || a->Depth > 0) return CUDA_ERROR_INVALID_VALUE;
    *d = (CUDA_ARRAY_DESCRIPTOR){
        .Width = a->Width, .Height = a->Height, .Format = a->Format, .NumChannels = a->NumChannels};
    return CUDA_SUCCESS;
}

CUresult cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *needs, CUarray array, CUdevice device)
{
    TRY(simt_find_array(array));
    TRY(simt_check_device(device));
    if (!needs) return CUDA_ERROR_INVALID_VALUE;
    size_t depth = array->shape.Depth ? array->shape.Depth : 1;
    *needs = (CUDA_ARRAY_MEMORY_REQUIREMENTS){.size = array->slice * depth, .alignment = SIMT_TEXTURE_ALIGN};
    return CUDA_SUCCESS;
}

/* ---- Objects ---- */

CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *resource, CUtexObject object)
{
    struct simt_description *d;
    TRY(simt_find_object(object, false, &d));
    if (!resource) return CUDA_ERROR_INVALID_VALUE;
    *resource = d->resource;
    return CUDA_SUCCESS;
}

CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *texture, CUtexObject object)
{
    struct simt_description *d;
    TRY(simt_find_object(object, false, &d));
    if (!texture) return CUDA_ERROR_INVALID_VALUE;
    *texture = d->texture;
    return CUDA_SUCCESS;
}

/* No object has a view. */
CUresult cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC *view, CUtexObject object)
{
    struct simt_description *d;
    TRY(simt_find_object(object, false, &d));
    if (!view || d->view.format == CU_RES_VIEW_FORMAT_NONE) return CUDA_ERROR_INVALID_VALUE;
    *view = d->view;
    return CUDA_SUCCESS;
}

CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *resource, CUsurfObject object)
{
    struct simt_description *d;
    TRY(simt_find_object(object, true, &d));
    if (!resource) return CUDA_ERROR_INVALID_VALUE;
    *resource = d->resource;
    return CUDA_SUCCESS;
}
