/* The vector ops for machines with AVX-512 (F, BW, DQ, VL). */
#ifdef __x86_64__
#define VECTOR_TABLE  simt_ops_avx512
#define CHECK_VECTORS simt_check_avx512
#define FETCH_LANES   simt_fetch_avx512
#include "runtime/simt/vector_ops.h"
#include "runtime/simt/vector_cells.h"
#include "runtime/simt/vector_texels.h"
#endif
