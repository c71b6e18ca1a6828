/* The inner loops for x86-64-v4 (AVX-512). */
#if defined __x86_64__
#define KN_LEVEL   kn_loops_v4
#define KN_NARROW  kn_narrow_v4
#define KN_PRODUCT kn_product_v4
#include "kernels/loops.c"
#endif
