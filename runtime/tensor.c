#include "runtime/tensor.h"
#include <inttypes.h>
#include <string.h>
#include "runtime/device.h"

#define MOST_BOX      256
#define MOST_STEP     8
#define UNIT          16 /* bytes: what addresses, strides and lines of boxes are multiples of */
#define MOST_ELEMENTS (INT64_C(1) << 32)
#define MOST_STRIDE   (INT64_C(1) << 40) /* bytes */

_Static_assert(sizeof(CUtensorMap) == RT_TENSOR_BYTES, "what kernels get");

static CUtensorMapDataType type_of(enum rt_dtype t)
{
    switch (t) {
    case RT_UINT16:
    case RT_INT16: return CU_TENSOR_MAP_DATA_TYPE_UINT16;
    case RT_UINT32: return CU_TENSOR_MAP_DATA_TYPE_UINT32;
    case RT_INT32: return CU_TENSOR_MAP_DATA_TYPE_INT32;
    case RT_COMPLEX64:
    case RT_UINT64: return CU_TENSOR_MAP_DATA_TYPE_UINT64;
    case RT_INT64: return CU_TENSOR_MAP_DATA_TYPE_INT64;
    case RT_FLOAT16: return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case RT_BFLOAT16: return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case RT_FLOAT32: return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    case RT_FLOAT64: return CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
    default: return CU_TENSOR_MAP_DATA_TYPE_UINT8; /* the bytes of others are copied just so */
    }
}

int64_t rt_tensor_extent(const struct rt_tensor_box *box, int axis)
{
    return (box->shape[axis] + box->steps[axis] - 1) / box->steps[axis];
}

static enum rt_status check_axis(const struct rt_array *a, const struct rt_tensor_box *b, int i, struct rt_error *e)
{
    int size = rt_dtypes[a->dtype].size, last = a->ndim - 1;
    int64_t stride = a->strides[i] * size;
    if (a->shape[i] < 1 || a->shape[i] > MOST_ELEMENTS)
        return rt_fail(e, RT_INVALID, "axis %d has %" PRId64 " elements, a tensor map takes 1 to 2^32", i + 1,
                       a->shape[i]);
    if (b->shape[i] < 1 || b->shape[i] > MOST_BOX)
        return rt_fail(e, RT_INVALID, "the box has %" PRId64 " elements along axis %d, expected 1 to %d", b->shape[i],
                       i + 1, MOST_BOX);
    if (b->steps[i] < 1 || b->steps[i] > (i == last ? 1 : MOST_STEP))
        return rt_fail(e, RT_INVALID, "the step along axis %d is %" PRId64 ", expected %s", i + 1, b->steps[i],
                       i == last ? "1 along the last axis" : "1 to 8");
    if (i == last && a->shape[i] > 1 && a->strides[i] != 1)
        return rt_fail(e, RT_INVALID,
                       "the elements of the last axis are not neighbours in memory; take x:contiguous()");
    if (i < last && a->shape[i] > 1 && (stride < 0 || stride >= MOST_STRIDE || stride % UNIT))
        return rt_fail(e, RT_INVALID,
                       "axis %d goes on by %" PRId64 " bytes, but the accelerator needs a multiple of %d; make rows "
                       "longer, as by x:pad, and take a view of them",
                       i + 1, stride, UNIT);
    return RT_OK;
}

static enum rt_status check(const struct rt_array *a, const struct rt_tensor_box *b, struct rt_error *e)
{
    int size = rt_dtypes[a->dtype].size;
    if (a->dtype == RT_COMPLEX128)
        return rt_fail(e, RT_INVALID, "the accelerator has no elements of 16 bytes; view them as float64");
    if (a->ndim < 1 || a->ndim > RT_TENSOR_DIMS)
        return rt_fail(e, RT_INVALID, "the array has %d axes, a tensor map takes 1 to %d", a->ndim, RT_TENSOR_DIMS);
    if (b->ndim != a->ndim)
        return rt_fail(e, RT_INVALID, "the box has %d sizes, and the array %d axes", b->ndim, a->ndim);
    for (int i = 0; i < a->ndim; i++) {
        enum rt_status status = check_axis(a, b, i, e);
        if (status != RT_OK) return status;
    }
    int64_t line = b->shape[a->ndim - 1] * size;
    if (line % UNIT)
        return rt_fail(e, RT_INVALID, "a line of the box is %" PRId64 " bytes long, expected a multiple of %d", line,
                       UNIT);
    if (b->swizzle && line > UNIT << b->swizzle)
        return rt_fail(e, RT_INVALID,
                       "a line of the box is %" PRId64 " bytes long, which is more than the swizzle's %d; take smaller "
                       "boxes",
                       line, UNIT << b->swizzle);
    if (b->swizzle && line < UNIT << b->swizzle && rt_array_device(a)->kind == RT_SIMT)
        return rt_fail(
            e, RT_UNSUPPORTED,
            "a line of the box is %" PRId64 " bytes long, and the swizzle mixes within %d; where such boxes lie "
            "in shared memory CUDA leaves open, so that the software GPU has only lines as long as the swizzle",
            line, UNIT << b->swizzle);
    if (b->nan && rt_dtypes[a->dtype].kind != 'f')
        return rt_fail(e, RT_INVALID, "only floating-point numbers can be NaN, and the array has %s",
                       rt_dtypes[a->dtype].name);
    if (rt_array_address(a) % UNIT)
        return rt_fail(e, RT_INVALID, "the array's first element is not at a multiple of %d bytes; take x:clone()",
                       UNIT);
    return RT_OK;
}

/* The driver's order of axes is the other way round. */
static CUresult encode(const struct rt_array *a, const struct rt_tensor_box *b, CUtensorMap *map)
{
    cuuint64_t dims[RT_TENSOR_DIMS], strides[RT_TENSOR_DIMS] = {0};
    cuuint32_t box[RT_TENSOR_DIMS], steps[RT_TENSOR_DIMS];
    const uint64_t size = rt_dtypes[a->dtype].size;
    for (int i = 0; i < a->ndim; i++) {
        int d = a->ndim - 1 - i;
        dims[d] = (cuuint64_t)a->shape[i];
        box[d] = (cuuint32_t)b->shape[i];
        steps[d] = (cuuint32_t)b->steps[i];
        /* An axis of one element may have any stride, which nobody uses. */
        if (d) strides[d - 1] = a->shape[i] > 1 ? (cuuint64_t)a->strides[i] * size : UNIT;
    }
    return rt_array_device(a)->driver->TensorMapEncodeTiled(
        map, type_of(a->dtype), (cuuint32_t)a->ndim, (void *)(uintptr_t)rt_array_address(a), dims, strides, box, steps,
        CU_TENSOR_MAP_INTERLEAVE_NONE, (CUtensorMapSwizzle)b->swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
        b->nan ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

enum rt_status rt_tensor_map_new(const struct rt_array *a, const struct rt_tensor_box *box, struct rt_tensor_map *out,
                                 struct rt_error *e)
{
    struct rt_device *d = rt_array_device(a);
    CUtensorMap map;
    memset(out, 0, sizeof *out);
    if (!rt_device_runs_kernels(d))
        return rt_fail(e, RT_INVALID, "the array is on %s, which runs no kernels; move it with x:to(\"simt\")",
                       d->name);
    if (d->kind == RT_CUDA && d->compute_major < 9)
        return rt_fail(e, RT_UNSUPPORTED,
                       "%s (%s) has compute capability %d.%d, and the tensor memory accelerator came with 9.0; the "
                       "software GPU has it, too: x:to(\"simt\")",
                       d->name, d->model, d->compute_major, d->compute_minor);
    if (!d->driver->TensorMapEncodeTiled)
        return rt_fail(e, RT_UNSUPPORTED, "the driver of %s makes no tensor maps; CUDA 12's does", d->name);
    enum rt_status status = check(a, box, e);
    if (status == RT_OK) status = rt_array_there(a, e);
    if (status == RT_OK) status = rt_device_enter(d, e);
    if (status == RT_OK) status = rt_device_check(d, encode(a, box, &map), e, "making a tensor map");
    if (status != RT_OK) return status;
    memcpy(out->bytes, &map, sizeof out->bytes);
    out->box = *box;
    rt_array_share(a, &out->array);
    return RT_OK;
}

void rt_tensor_map_release(struct rt_tensor_map *m)
{
    rt_array_release(&m->array);
    memset(m, 0, sizeof *m);
}
