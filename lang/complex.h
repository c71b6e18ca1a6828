/* Complex numbers as Lua values: small userdata with the fields re and im, which compute with numbers, each other and
 * arrays. Elements of complex arrays come to Lua as these. */
#ifndef LG_COMPLEX_H
#define LG_COMPLEX_H

#include "lang/lang.h"

#define LG_COMPLEX "lunarray.complex"

/* gpu.complex and what arrays have of it: x:angle(). */
extern const struct lg_function lg_complex_functions[], lg_complex_methods[];

void lg_push_complex(lua_State *L, struct rt_complex v); /* [raises] */
/* Puts elements first + 1 to last of those at p, which have a complex dtype, into the table on top. [raises] */
void lg_put_complex(lua_State *L, enum rt_dtype dtype, const char *p, int64_t first, int64_t last);
/* NULL for other values. */
const struct rt_complex *lg_test_complex(lua_State *L, int idx);
/* x.real and x.imag: pushes the view of an array's parts, of its elements evaluated; a real array is its own real part
 * and has new zeros for the other. [raises] */
void lg_push_part(lua_State *L, int idx, bool imaginary);

#endif
