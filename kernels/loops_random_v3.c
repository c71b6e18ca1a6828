/* Blocks of random numbers for x86-64-v3 (AVX2). */
#if defined __x86_64__
#define KN_DRAW_LEVEL kn_draw_v3
#include "kernels/loops_random.c"
#endif
