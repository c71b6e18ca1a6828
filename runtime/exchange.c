/* Arrays to and from DLPack tensors. */
#include "runtime/exchange.h"
#include <inttypes.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

/* ---- out ---- */

/* What a tensor of ours is: its struct comes first, so that the deleter finds the rest. */
struct exported {
    union {
        struct rt_dl_versioned versioned;
        struct rt_dl_unversioned unversioned;
    } form;
    struct rt_array array; /* keeps the memory */
};

static void release(struct exported *x)
{
    rt_array_release(&x->array);
    free(x);
}

static void delete_versioned(struct rt_dl_versioned *self)
{
    release((struct exported *)self);
}

static void delete_unversioned(struct rt_dl_unversioned *self)
{
    release((struct exported *)self);
}

static uint8_t code_of(enum rt_dtype t)
{
    if (t == RT_BFLOAT16) return RT_DL_BFLOAT;
    switch (rt_dtypes[t].kind) {
    case 'b': return RT_DL_BOOL;
    case 'i': return RT_DL_INT;
    case 'u': return RT_DL_UINT;
    case 'f': return RT_DL_FLOAT;
    default: return RT_DL_COMPLEX;
    }
}

enum rt_status rt_dlpack_export(const struct rt_array *a, bool versioned, struct rt_dl_managed *out, struct rt_error *e)
{
    struct rt_device *d = rt_array_device(a);
    out->pointer = NULL;
    if (d->kind == RT_SIMT)
        return rt_fail(e, RT_UNSUPPORTED,
                       "the memory of the software GPU cannot be handed out: x:to(\"cpu\"):dlpack() hands out a copy");
    enum rt_status status = rt_array_alive(a, e);
    if (status == RT_OK) status = rt_device_synchronize(d, e);
    if (status != RT_OK) return status;
    struct exported *x = rt_calloc(1, sizeof *x);
    if (!x) return rt_fail(e, RT_NOMEM, "out of memory for a DLPack tensor");
    rt_array_share(a, &x->array);
    a->storage->foreign = true;
    struct rt_dl_tensor *t = versioned ? &x->form.versioned.tensor : &x->form.unversioned.tensor;
    *t = (struct rt_dl_tensor){.data = (void *)(uintptr_t)rt_array_address(a),
                               .device = d->kind == RT_CUDA ? RT_DL_CUDA : RT_DL_CPU,
                               .device_id = d->ordinal,
                               .ndim = a->ndim,
                               .code = code_of(a->dtype),
                               .bits = (uint8_t)(8 * rt_dtypes[a->dtype].size),
                               .lanes = 1,
                               .shape = x->array.shape,
                               .strides = x->array.strides};
    if (versioned) {
        x->form.versioned.major = 1;
        x->form.versioned.deleter = delete_versioned;
    } else {
        x->form.unversioned.deleter = delete_unversioned;
    }
    out->pointer = x;
    out->versioned = versioned;
    return RT_OK;
}

/* ---- in ---- */

static enum rt_status find_dtype(const struct rt_dl_tensor *t, enum rt_dtype *out, struct rt_error *e)
{
    for (int i = 0; i < RT_DTYPE_COUNT && t->lanes == 1; i++)
        if (code_of((enum rt_dtype)i) == t->code && rt_dtypes[i].size * 8 == t->bits) {
            *out = (enum rt_dtype)i;
            return RT_OK;
        }
    return rt_fail(e, RT_UNSUPPORTED,
                   "a DLPack tensor of the type code %d with %d bits and %d lanes is of no dtype that there is",
                   t->code, t->bits, t->lanes);
}

static enum rt_status find_device(const struct rt_dl_tensor *t, struct rt_device **out, struct rt_error *e)
{
    char name[32] = "cpu";
    if (t->device == RT_DL_CUDA || t->device == RT_DL_CUDA_MANAGED)
        snprintf(name, sizeof name, "cuda:%d", t->device_id);
    else if (t->device != RT_DL_CPU && t->device != RT_DL_CUDA_HOST)
        return rt_fail(e, RT_UNSUPPORTED, "a DLPack tensor is on a device of type %d; 1 (CPU) and 2 (CUDA) can be used",
                       t->device);
    *out = rt_device_open(name, e);
    return *out ? RT_OK : RT_MISSING;
}

/* Shape and strides, and which bytes the elements take from the address on: from *low on so many. */
static enum rt_status read_form(const struct rt_dl_tensor *t, struct rt_array *a, int64_t *low, size_t *bytes,
                                struct rt_error *e)
{
    int64_t first = 0, last = 0, product = 1, size = rt_dtypes[a->dtype].size;
    bool fits = true, empty = false;
    if (t->ndim < 0 || t->ndim > RT_MAX_DIMS || (t->ndim > 0 && !t->shape))
        return rt_fail(e, RT_INVALID, "a DLPack tensor has %d axes; 0 to %d can be used", t->ndim, RT_MAX_DIMS);
    a->ndim = t->ndim;
    for (int i = t->ndim - 1; i >= 0; i--) {
        int64_t reach;
        a->shape[i] = t->shape[i];
        a->strides[i] = t->strides ? t->strides[i] : product;
        if (t->shape[i] < 0)
            return rt_fail(e, RT_INVALID, "axis %d of a DLPack tensor has %" PRId64 " elements", i + 1, t->shape[i]);
        empty |= t->shape[i] == 0;
        fits &= !__builtin_mul_overflow(product, t->shape[i] ? t->shape[i] : 1, &product);
        fits &= !__builtin_mul_overflow(a->strides[i], t->shape[i] ? t->shape[i] - 1 : 0, &reach);
        fits &= !__builtin_add_overflow(reach < 0 ? first : last, reach, reach < 0 ? &first : &last);
    }
    if (!fits || first < -(INT64_MAX / 64) || last > INT64_MAX / 64)
        return rt_fail(e, RT_INVALID, "the shape and strides of a DLPack tensor are larger than any memory");
    *low = empty ? 0 : first;
    *bytes = empty ? 0 : (size_t)((last - first + 1) * size);
    a->offset = -*low;
    return RT_OK;
}

/* The owner of an imported array's memory. */
struct imported {
    struct rt_dl_managed managed;
};

static void delete_imported(void *owner)
{
    struct imported *o = owner;
    rt_dl_delete(&o->managed);
    free(o);
}

enum rt_status rt_dlpack_import(struct rt_dl_managed *m, struct rt_array *out, struct rt_error *e)
{
    struct rt_array a = {0};
    struct rt_device *d = NULL;
    int64_t low = 0;
    size_t bytes = 0;
    memset(out, 0, sizeof *out);
    if (m->versioned && ((const struct rt_dl_versioned *)m->pointer)->major != 1)
        return rt_fail(e, RT_UNSUPPORTED, "a DLPack tensor of version %u.%u; versions 1.x can be read",
                       ((const struct rt_dl_versioned *)m->pointer)->major,
                       ((const struct rt_dl_versioned *)m->pointer)->minor);
    const struct rt_dl_tensor *t = rt_dl_tensor_of(m);
    enum rt_status status = find_dtype(t, &a.dtype, e);
    if (status == RT_OK) status = find_device(t, &d, e);
    if (status == RT_OK) status = read_form(t, &a, &low, &bytes, e);
    if (status != RT_OK) return status;
    uint64_t address = (uint64_t)(uintptr_t)t->data + t->byte_offset;
    if (address % rt_dtypes[a.dtype].size)
        return rt_fail(e, RT_UNSUPPORTED, "a DLPack tensor of %s begins at an address that is no multiple of %d",
                       rt_dtypes[a.dtype].name, rt_dtypes[a.dtype].size);
    if (bytes > 0 && !t->data) return rt_fail(e, RT_INVALID, "a DLPack tensor with elements has no address");
    struct imported *owner = rt_alloc(sizeof *owner);
    if (!owner) return rt_fail(e, RT_NOMEM, "out of memory for an array over a DLPack tensor");
    address += (uint64_t)(low * rt_dtypes[a.dtype].size);
    a.storage = rt_storage_over(d, bytes ? address : 0, bytes, owner, delete_imported, e);
    if (!a.storage) {
        free(owner);
        return RT_NOMEM;
    }
    owner->managed = *m;
    m->pointer = NULL;
    *out = a;
    return RT_OK;
}
