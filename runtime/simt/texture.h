/* Texture and surface objects of the software GPU: what the tex, tld4, txq, suld, sust and suq instructions read.
 *
 * The driver makes an object when a program creates one (cuTexObjectCreate, cuSurfObjectCreate); kernels get its 64-bit
 * handle as a parameter and the engine finds the object by it. Objects are created and destroyed under the device's
 * lock, which a launch holds too, so the table never changes while a kernel runs and looking up takes no lock.
 *
 * Element (x, y, z) of the memory behind an object lies at base + z * slice + y * pitch + x * element bytes; z counts
 * the layers of a layered object. */
#ifndef SIMT_TEXTURE_H
#define SIMT_TEXTURE_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "runtime/status.h"

enum simt_texture_kind {
    SIMT_TEXTURE_LINEAR, /* device memory read by tex.1d with integer coordinates; no filter, no address mode */
    SIMT_TEXTURE_PITCH,  /* device memory with a pitch, 2-D */
    SIMT_TEXTURE_1D,     /* the rest: arrays */
    SIMT_TEXTURE_2D,
    SIMT_TEXTURE_3D,
    SIMT_TEXTURE_1D_LAYERED,
    SIMT_TEXTURE_2D_LAYERED,
    SIMT_TEXTURE_CUBE, /* layers are the faces, six of each cube */
    SIMT_TEXTURE_CUBE_LAYERED
};

struct simt_texture {
    enum simt_texture_kind kind;
    bool surface;              /* made for suld and sust; the sampling members are then unused */
    CUarray_format format;     /* of a channel: CU_AD_FORMAT_UNSIGNED_INT8 ... CU_AD_FORMAT_FLOAT */
    unsigned channels;         /* 1, 2 or 4 */
    unsigned element;          /* bytes of all channels together */
    size_t width;              /* in elements */
    size_t height;             /* 1 where there is no such axis */
    size_t depth;              /* slices, or layers; 1 where there are none */
    size_t pitch, slice;       /* bytes from row to row, and from slice to slice or layer to layer */
    char *base;                /* host pointer; pitch and array memory outlive the object by the program's duty */
    uint64_t memory;           /* device address of base */
    CUaddress_mode address[3]; /* wrap and mirror count as clamp where coordinates are not normalized */
    CUfilter_mode filter;      /* CU_TR_FILTER_MODE_POINT or LINEAR */
    bool normalized;           /* coordinates run from 0 to 1 */
    bool raw; /* CU_TRSF_READ_AS_INTEGER: integers stay; else 8 and 16 bits become floats of 0..1, -1..1 */
    bool srgb;
    float border[4]; /* what CU_TR_ADDRESS_MODE_BORDER gives */
};

/* The live object with this handle, or NULL. Valid until the object is destroyed. */
const struct simt_texture *simt_texture_find(uint64_t handle);

/* Is there a live object over memory of which some lies there, no array? */
bool simt_texture_over(uint64_t memory, uint64_t bytes);

/* ---- For the driver, under the device's lock ---- */
/* Copies *t into the table; RT_NOMEM when there is no room. Handles are not 0 and are not used twice soon. */
enum rt_status simt_texture_add(const struct simt_texture *t, uint64_t *handle);
bool simt_texture_remove(uint64_t handle); /* false: no such object */

/* Bytes of one channel of a format; 0 for a format that textures here cannot have. */
unsigned simt_format_bytes(CUarray_format format);

#endif
