/* The inner loops for any processor. */
#define KN_LEVEL kn_loops_base
#include "kernels/loops.c"
