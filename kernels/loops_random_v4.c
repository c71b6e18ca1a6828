/* Blocks of random numbers for x86-64-v4 (AVX-512). */
#if defined __x86_64__
#define KN_DRAW_LEVEL kn_draw_v4
#include "kernels/loops_random.c"
#endif
