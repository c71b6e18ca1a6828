/* Complex numbers in generated CUDA C: what the host's compiler has of itself. */
#ifndef KN_COMPLEX_CUDA_H
#define KN_COMPLEX_CUDA_H

/* The type complex_<float or double>, its operators and what of <complex.h> the functions of functions.h and ops.def
 * call. + - * / are the operations in the order that the host's loops have, and so give the same bits; the functions do
 * within a few roundings.
 */
extern const char kn_complex_text[];

#endif
