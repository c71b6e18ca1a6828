/* Tensor maps: what the tensor memory accelerator knows of a tensor in global memory, and of the boxes of it that
 * cp.async.bulk.tensor copies between there and shared memory. The driver API makes them (cuTensorMapEncodeTiled), and
 * what their 128 bytes mean is left to the implementation.
 *
 * Dimensions are counted from the one whose elements are neighbours in memory, as CUDA counts them here. */
#ifndef SIMT_TENSOR_MAP_H
#define SIMT_TENSOR_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "runtime/simt/ptx.h"

#define TENSOR_RANK      5   /* most dimensions */
#define TENSOR_MAP_BYTES 128 /* of a map */
#define TENSOR_MARK      UINT64_C(0x54656e736f724d31)
#define TENSOR_UNIT      16u /* bytes that stay together in shared memory, whatever the swizzle */
#define TENSOR_ALIGNMENT 128 /* bytes: of a box in shared memory */

/* What a map is made of; the numbers are those of the driver's enumerations. */
struct simt_tensor_spec {
    unsigned type, rank;          /* CUtensorMapDataType */
    uint64_t address;             /* of the first element */
    const uint64_t *dims;         /* elements, `rank` numbers */
    const uint64_t *strides;      /* bytes, of the second dimension on */
    const uint32_t *box, *steps;  /* elements that a box goes over, and by how many at once */
    unsigned interleave, swizzle; /* CUtensorMapInterleave, CUtensorMapSwizzle */
    unsigned promotion, fill;     /* CUtensorMapL2promotion, CUtensorMapFloatOOBfill */
};

/* Each member is what PTX's tensormap.replace writes, just so, so that a plain store stands for it. */
struct simt_tensor_map {
    uint64_t mark; /* tells a map from other bytes */
    uint64_t address;
    uint64_t strides[TENSOR_RANK - 1]; /* bytes, of the second dimension on */
    uint32_t dims[TENSOR_RANK];        /* elements; 0 for 2^32 */
    uint32_t box[TENSOR_RANK];         /* elements that a box goes over, and by how many at once */
    uint32_t steps[TENSOR_RANK];
    uint8_t type, rank; /* CUtensorMapDataType; one less than the number of dimensions */
    uint8_t interleave, swizzle, fill;
};

enum simt_tensor_verdict { TENSOR_OK, TENSOR_INVALID, TENSOR_UNSUPPORTED };
/* Makes a map. The requirements are those of cuTensorMapEncodeTiled. Not supported are interleaved layouts, packed
 * types, swizzles of more than 16 bytes at once, and lines that are shorter than the swizzle is wide, whose place in
 * shared memory the manuals leave open. */
enum simt_tensor_verdict simt_tensor_encode(struct simt_tensor_map *out, const struct simt_tensor_spec *spec);
/* Does it meet the requirements? Kernels may change maps. */
bool simt_tensor_valid(const struct simt_tensor_map *m);
enum ptx_type simt_tensor_type(const struct simt_tensor_map *m); /* of its elements */
static inline uint32_t simt_tensor_rank(const struct simt_tensor_map *m)
{
    return m->rank + 1u;
}
uint32_t simt_tensor_element(const struct simt_tensor_map *m);       /* bytes of an element */
uint32_t simt_tensor_rows(const struct simt_tensor_map *m);          /* of a box: lines along the first dimension */
uint32_t simt_tensor_row_bytes(const struct simt_tensor_map *m);     /* of one, a multiple of TENSOR_UNIT */
void simt_tensor_outside(const struct simt_tensor_map *m, void *to); /* a unit of what lies outside of the tensor */

/* Row r of the box whose first element has these coordinates: where its first element would be, and which of its
 * elements are inside of the tensor, none when first == end. */
struct simt_tensor_row {
    uint64_t at;
    uint32_t first, end;
};
struct simt_tensor_row simt_tensor_row(const struct simt_tensor_map *m, const int32_t *coords, uint32_t r);

/* Where in shared memory a swizzle of 16 << bits bytes puts what is at an address without it: units of 16 bytes change
 * places within so many bytes, by the address's bits from 7 on. wgmma's operands are mixed so, too. */
static inline uint32_t simt_swizzled(uint32_t address, uint32_t bits)
{
    return address ^ ((address >> 7 & ((1u << bits) - 1)) << 4);
}

/* What a box covers of global memory, in parts of `rows` lines of `bytes` bytes each, `pitch` bytes apart. */
struct simt_tensor_slab {
    uint64_t at, pitch;
    uint32_t bytes, rows; /* 0: nothing of it is inside */
};
uint32_t simt_tensor_slabs(const struct simt_tensor_map *m); /* how many parts */
struct simt_tensor_slab simt_tensor_slab(const struct simt_tensor_map *m, const int32_t *coords, uint32_t k);

#endif
