/* The vector ops for any machine. */
#define VECTOR_TABLE simt_ops_base
#include <stdlib.h>
#define CHECK_VECTORS simt_check_base
#include "runtime/simt/vector_ops.h"
#include "runtime/simt/vector_cells.h"

const struct op_table *simt_vector_ops(void)
{
#ifdef __x86_64__
    const char *most = getenv("LUNARRAY_ISA");
    bool base = most && !strcmp(most, "base"), v3 = most && (!strcmp(most, "v3") || !strcmp(most, "avx2"));
    __builtin_cpu_init();
    if (!base && !v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return &simt_ops_avx512;
    if (!base && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &simt_ops_avx2;
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
