/* DLPack: a tensor as libraries of any kind hand it to each other, described by structs whose layout the DLPack
 * specification fixes. These are its facts under names of our own, so that this header goes beside dlpack.h. */
#ifndef RT_DLPACK_H
#define RT_DLPACK_H

#include <stdint.h>

enum rt_dl_device { RT_DL_CPU = 1, RT_DL_CUDA = 2, RT_DL_CUDA_HOST = 3, RT_DL_CUDA_MANAGED = 13 };
enum rt_dl_code { RT_DL_INT, RT_DL_UINT, RT_DL_FLOAT, RT_DL_HANDLE, RT_DL_BFLOAT, RT_DL_COMPLEX, RT_DL_BOOL };
#define RT_DL_READ_ONLY 1u /* a flag */

struct rt_dl_tensor {
    void *data; /* a host or device address, to which byte_offset is added */
    int32_t device, device_id;
    int32_t ndim;
    uint8_t code, bits; /* of an element */
    uint16_t lanes;
    int64_t *shape, *strides; /* in elements; strides NULL: row-major */
    uint64_t byte_offset;
};
/* Who gets one calls its deleter exactly once, from any thread; the deleter may be NULL. The first form is DLPack's
 * from 1.0 on, the second the one before. */
struct rt_dl_versioned {
    uint32_t major, minor;
    void *manager;
    void (*deleter)(struct rt_dl_versioned *self);
    uint64_t flags;
    struct rt_dl_tensor tensor;
};
struct rt_dl_unversioned {
    struct rt_dl_tensor tensor;
    void *manager;
    void (*deleter)(struct rt_dl_unversioned *self);
};

/* Whichever of the two a pointer is to. */
struct rt_dl_managed {
    void *pointer; /* NULL: none */
    int versioned;
};
static inline struct rt_dl_tensor *rt_dl_tensor_of(const struct rt_dl_managed *m)
{
    return m->versioned ? &((struct rt_dl_versioned *)m->pointer)->tensor
                        : &((struct rt_dl_unversioned *)m->pointer)->tensor;
}
/* Calls the deleter, once: m is none afterwards. None is fine. */
static inline void rt_dl_delete(struct rt_dl_managed *m)
{
    struct rt_dl_versioned *v = m->versioned ? (struct rt_dl_versioned *)m->pointer : 0; /* cast for C++ */
    struct rt_dl_unversioned *u = m->versioned ? 0 : (struct rt_dl_unversioned *)m->pointer;
    m->pointer = 0;
    if (v && v->deleter) v->deleter(v);
    if (u && u->deleter) u->deleter(u);
}

#endif
