/* The vector ops for machines with AVX2 and FMA. */
#ifdef __x86_64__
#define VECTOR_TABLE  simt_ops_avx2
#define CHECK_VECTORS simt_check_avx2
#define FETCH_LANES   simt_fetch_avx2
#include "runtime/simt/vector_ops.h"
#include "runtime/simt/vector_cells.h"
#include "runtime/simt/vector_texels.h"
#endif
