/* Sums of products over windows of any number of axes. [raises] as in lang.h. */
#ifndef LG_CONVOLVE_H
#define LG_CONVOLVE_H

#include "lang/steps.h"

/* Pushes the sums of products of the weights at w with each window of the array at x that lies inside it whole; both
 * have as many axes. */
int lg_push_window_sums(lua_State *L, int x, int w);

#endif
