/* The inner loops of 8 and 16 bits for any processor. */
#define KN_NARROW_LEVEL kn_narrow_base
#include "kernels/loops_narrow.c"
