/* The inner loops of 8 and 16 bits for x86-64-v4 (AVX-512). */
#if defined __x86_64__
#define KN_NARROW_LEVEL kn_narrow_v4
#include "kernels/loops_narrow.c"
#endif
