/* What is done with tensor maps that are there. driver_tensor.c makes them. */
#include <string.h>
#include "runtime/simt/libcuda/libcuda.h"
#include "runtime/simt/tensor_map.h"

CUresult cuTensorMapReplaceAddress(CUtensorMap *map, void *address)
{
    struct simt_tensor_map m;
    TRY(simt_ready());
    if (!map || (uintptr_t)map % 64 || !address || (uintptr_t)address % 16) return CUDA_ERROR_INVALID_VALUE;
    memcpy(&m, map, sizeof m);
    if (!simt_tensor_valid(&m)) return CUDA_ERROR_INVALID_VALUE;
    m.address = (uint64_t)(uintptr_t)address;
    memcpy(map, &m, sizeof m);
    return CUDA_SUCCESS;
}
