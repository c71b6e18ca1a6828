/* The vector ops for machines with AVX-512 (F, BW, DQ, VL). */
#ifdef __x86_64__
#pragma GCC optimize("O3", "fp-contract=off", "no-trapping-math", "no-math-errno")
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi,bmi2,lzcnt,popcnt,prefer-vector-width=512")
#define VECTOR_TABLE  simt_ops_avx512
#define CHECK_VECTORS simt_check_avx512
#include "runtime/simt/vector_ops.h"
#include "runtime/simt/vector_cells.h"
#endif
