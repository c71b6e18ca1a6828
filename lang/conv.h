/* What functions of windows over images share: how their options are read. All may raise a Lua error that begins with
 * `what`, the function's name. */
#ifndef LG_CONV_H
#define LG_CONV_H

#include "lang/lang.h"

/* Of max_pool and avg_pool; what padding counts as comes behind it. */
#define LG_POOL_DOC                                                                                                    \
    "The stride is the window's size unless told otherwise; the dilation, which is how far apart the elements of a "   \
    "window lie, 1; padding, half a window at most, "

/* The value at the top, popped: an integer from `min` on for all of up to three axes, or a list of one for each. */
void lg_conv_sizes(lua_State *L, const char *what, int dims, const char *name, int64_t min, int64_t *out);
/* Raises for a key of the table at idx that is none of the names, which are parted by blanks. */
void lg_conv_keys(lua_State *L, int idx, const char *what, const char *names);
/* The option `groups` of the table at idx, 1 where it has none. */
int64_t lg_conv_groups(lua_State *L, int idx, const char *what);
/* The array at idx, which must have one number for each filter. */
const struct rt_array *lg_conv_bias(lua_State *L, int idx, const char *what, int64_t filters);
/* Pushes the shape as text. */
const char *lg_push_shape_text(lua_State *L, const struct rt_array *a);

#endif
