/* The option out of functions that make a result first and then write it. [raises] as in lang.h. */
#ifndef LG_OUT_H
#define LG_OUT_H

#include "lang/lang.h"

/* Where the last argument is a table with out, {out = y} by itself or among other options: calls the running function
 * again without it, writes the result into y, pushes y and returns 1; else does nothing and returns 0. As the result is
 * whole before, an operand may be the target; it has the result's shape, and keeps its dtype. */
int lg_out(lua_State *L, const char *name);

#define LG_OUT_DOC "With {out = y} as the last argument the result is written into y, which is returned."

#endif
