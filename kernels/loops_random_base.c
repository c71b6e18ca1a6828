/* Blocks of random numbers for any processor. */
#define KN_DRAW_LEVEL kn_draw_base
#define KN_DRAW_PLAIN
#include "kernels/loops_random.c"
