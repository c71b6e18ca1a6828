/* The loops of matrix products for any processor. */
#define KN_PRODUCT_LEVEL kn_product_base
#include "kernels/loops_product.c"
