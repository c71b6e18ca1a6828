/* The functions that generated CUDA C calls: written once for both languages in functions.h, or here for what a host's
 * compiler has of itself. A text gets those that it calls and no others, since NVRTC takes longer over all of them than
 * over a short kernel. */
#ifndef KN_CALLED_H
#define KN_CALLED_H

#include "kernels/generate.h"

/* Writes to t the functions that `body` calls, directly or through each other, and then the body. */
void kn_put_with_called(struct kn_text *t, const char *body);

#endif
