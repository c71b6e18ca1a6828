/* Tensor maps by the driver API. */
#include <string.h>
#include "runtime/simt/entries.h"
#include "runtime/simt/tensor_map.h"

_Static_assert(sizeof(CUtensorMap) == TENSOR_MAP_BYTES, "the driver's size");

CUresult simt_TensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                   const cuuint64_t *dims, const cuuint64_t *strides, const cuuint32_t *box,
                                   const cuuint32_t *steps, CUtensorMapInterleave interleave,
                                   CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                   CUtensorMapFloatOOBfill fill)
{
    struct simt_tensor_map made;
    const struct simt_tensor_spec spec = {.type = (unsigned)type,
                                          .rank = rank,
                                          .address = (uint64_t)(uintptr_t)address,
                                          .dims = dims,
                                          .strides = strides,
                                          .box = box,
                                          .steps = steps,
                                          .interleave = (unsigned)interleave,
                                          .swizzle = (unsigned)swizzle,
                                          .promotion = (unsigned)promotion,
                                          .fill = (unsigned)fill};
    TRY(simt_ready());
    if (!map || (uintptr_t)map % 64 || !address || !dims || !box || !steps || (rank > 1 && !strides))
        return CUDA_ERROR_INVALID_VALUE;
    enum simt_tensor_verdict v = simt_tensor_encode(&made, &spec);
    if (v != TENSOR_OK) return v == TENSOR_UNSUPPORTED ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
    memset(map, 0, sizeof *map);
    memcpy(map, &made, sizeof made);
    return CUDA_SUCCESS;
}
