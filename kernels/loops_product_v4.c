/* The loops of matrix products for x86-64-v4 (AVX-512). */
#if defined __x86_64__
#define KN_PRODUCT_LEVEL kn_product_v4
#include "kernels/loops_product.c"
#endif
