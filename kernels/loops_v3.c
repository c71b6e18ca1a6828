/* The inner loops for x86-64-v3 (AVX2). */
#if defined __x86_64__
#define KN_LEVEL   kn_loops_v3
#define KN_NARROW  kn_narrow_v3
#define KN_PRODUCT kn_product_v3
#include "kernels/loops.c"
#endif
