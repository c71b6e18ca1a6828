/* The Fourier loops for x86-64-v4 (AVX-512). */
#if defined __x86_64__
#define KN_FFT_LEVEL kn_fft_v4
#include "kernels/loops_fft.c"
#endif
