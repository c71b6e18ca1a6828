/* The Fourier loops for x86-64-v3 (AVX2). */
#if defined __x86_64__
#define KN_FFT_LEVEL kn_fft_v3
#include "kernels/loops_fft.c"
#endif
