/* What the files of gpu.random share. [raises] as in lang.h. */
#ifndef LG_RANDOM_H
#define LG_RANDOM_H

#include "lang/array.h"

/* The distributions that are made of others (lang/distributions.c): functions of gpu.random and methods of generators.
 */
extern const struct lg_function lg_distributions[];

/* Whether the value at idx is a generator: the session's own stands for one that is not there. Never raises. */
bool lg_is_generator(lua_State *L, int idx);
/* A parameter of a distribution, called `what`: a finite number. */
double lg_check_parameter(lua_State *L, int idx, const char *what);

#define LG_SHAPED "Then comes the shape, as for gpu.zeros, with dtype and device behind it."

#endif
