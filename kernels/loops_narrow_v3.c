/* The inner loops of 8 and 16 bits for x86-64-v3 (AVX2). */
#if defined __x86_64__
#define KN_NARROW_LEVEL kn_narrow_v3
#include "kernels/loops_narrow.c"
#endif
