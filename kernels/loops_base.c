/* The inner loops for any processor. */
#define KN_LEVEL   kn_loops_base
#define KN_NARROW  kn_narrow_base
#define KN_PRODUCT kn_product_base
#include "kernels/loops.c"
