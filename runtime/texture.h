/* Textures and surfaces: pictures in a device's own layout, which kernels read through texture objects and write
 * through surface objects. A struct rt_texture is a value that owns what it names; all zeros is "none" and may be
 * released. */
#ifndef RT_TEXTURE_H
#define RT_TEXTURE_H

#include "runtime/array.h"

struct rt_image; /* a CUarray, counted */

enum rt_address { RT_ADDRESS_WRAP, RT_ADDRESS_CLAMP, RT_ADDRESS_MIRROR, RT_ADDRESS_BORDER };
struct rt_sampling {
    bool linear;                /* the mean of neighbours, not the nearest element */
    bool normalized;            /* coordinates run from 0 to 1 */
    bool floats;                /* 8 and 16 bit integers are read as floats of 0..1 or -1..1 */
    bool srgb;                  /* and those of uint8 as sRGB */
    enum rt_address address[3]; /* outside of the picture, for x, y and z */
    float border[4];
};

struct rt_texture {
    struct rt_device *device;
    uint64_t handle; /* what a kernel gets */
    bool surface;
    enum rt_dtype dtype;
    int channels;     /* 1, 2 or 4 elements side by side */
    int ndim;         /* of shape: 1 to 3, layers counted, channels not */
    int64_t shape[3]; /* as of the array: x is the last */
    bool layered;     /* the first axis counts layers */
    struct rt_image *image;
    struct rt_storage *memory; /* in place of an image: linear memory, that of the array it was made of */
    unsigned generation;
};

/* How an array becomes a picture: its last axis is x. With channels above 1 one more axis behind it, of that size. */
struct rt_picture {
    int channels;
    bool layered;
};

/* A texture over a copy of a contiguous array on a device that runs kernels. RT_INVALID in the user's terms for dtypes,
 * shapes and ways of reading that textures do not have. */
enum rt_status rt_texture_new(const struct rt_array *a, const struct rt_picture *p, const struct rt_sampling *how,
                              struct rt_texture *out, struct rt_error *e);
/* A texture for tex1Dfetch over a one-axis array's own memory, which it keeps. */
enum rt_status rt_texture_linear(const struct rt_array *a, int channels, const struct rt_sampling *how,
                                 struct rt_texture *out, struct rt_error *e);
/* A texture over the picture of another texture or surface, which they then share. */
enum rt_status rt_texture_of(const struct rt_texture *t, const struct rt_sampling *how, struct rt_texture *out,
                             struct rt_error *e);
enum rt_status rt_surface_new(const struct rt_array *a, const struct rt_picture *p, struct rt_texture *out,
                              struct rt_error *e);
void rt_texture_release(struct rt_texture *t); /* waits for kernels that may use it */

/* The shape of the array that it was made of, channels included; returns ndim. */
int rt_texture_shape(const struct rt_texture *t, int64_t shape[4]);
/* Copies the picture into, or from, a contiguous array of its dtype and shape on its device. */
enum rt_status rt_texture_read(const struct rt_texture *t, const struct rt_array *to, struct rt_error *e);
enum rt_status rt_texture_write(const struct rt_texture *t, const struct rt_array *from, struct rt_error *e);
/* RT_DEVICE when it was lost in a GPU fault. */
enum rt_status rt_texture_alive(const struct rt_texture *t, struct rt_error *e);

#endif
