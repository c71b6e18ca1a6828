/* The functions of keys.h as CUDA C text, for generated kernels that begin with kn_put_keys. */
#ifndef KN_KEYS_CUDA_H
#define KN_KEYS_CUDA_H

#include "kernels/generate.h"
#include "kernels/keys.h"

/* typedef U for the bits of a dtype, its KIND and INF, and the functions key_of(U, KIND, INF, flip) and same_of(U,
 * KIND, INF). */
void kn_put_keys(struct kn_text *t, enum rt_dtype dtype);

#endif
