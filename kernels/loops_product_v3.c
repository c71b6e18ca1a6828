/* The loops of matrix products for x86-64-v3 (AVX2). */
#if defined __x86_64__
#define KN_PRODUCT_LEVEL kn_product_v3
#include "kernels/loops_product.c"
#endif
