/* The vector ops for machines with AVX2 and FMA. */
#ifdef __x86_64__
#pragma GCC optimize("O3", "fp-contract=off", "no-trapping-math", "no-math-errno")
#pragma GCC target("avx2,fma,bmi,bmi2,lzcnt,popcnt")
#define VECTOR_TABLE  simt_ops_avx2
#define CHECK_VECTORS simt_check_avx2
#include "runtime/simt/vector_ops.h"
#include "runtime/simt/vector_cells.h"
#endif
