/* The Fourier loops for any processor. */
#define KN_FFT_LEVEL kn_fft_base
#include "kernels/loops_fft.c"
