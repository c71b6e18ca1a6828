/* The vector ops for any machine. */
#define VECTOR_TABLE  simt_ops_base
#define CHECK_VECTORS simt_check_base
#define FETCH_LANES   simt_fetch_base
#include "runtime/host.h"
#include "runtime/simt/vector_ops.h"
#include "runtime/simt/vector_cells.h"
#include "runtime/simt/vector_texels.h"

const struct op_table *simt_vector_ops(void)
{
#ifdef __x86_64__
    const enum rt_level level = rt_host_level();
    if (level >= RT_V3) return level == RT_V4 ? &simt_ops_avx512 : &simt_ops_avx2;
#endif
    return &simt_ops_base;
}

const struct check_vectors *simt_check_vectors(void)
{
#ifdef __x86_64__
    if (simt_vector_ops() == &simt_ops_avx512) return &simt_check_avx512;
    if (simt_vector_ops() == &simt_ops_avx2) return &simt_check_avx2;
#endif
    return &simt_check_base;
}

simt_fetch_function simt_fetch_lanes(void)
{
#ifdef __x86_64__
    if (simt_vector_ops() == &simt_ops_avx512) return simt_fetch_avx512;
    if (simt_vector_ops() == &simt_ops_avx2) return simt_fetch_avx2;
#endif
    return simt_fetch_base;
}
