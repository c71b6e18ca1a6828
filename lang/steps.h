/* Functions that are put together from others: each step calls a method of arrays, or a function of gpu, by its name,
 * so elementwise steps wait and become one pass, and all run wherever the parts do. Everything here may raise. */
#ifndef LG_STEPS_H
#define LG_STEPS_H

#include "lang/array.h"

/* Calls the method, or the function where the name begins with "gpu.", leaves its one result at the top and returns
 * where that is. `kinds` has a letter for each argument: v the value at a stack index (int), i an integer (int64_t), n
 * a number (double), b a boolean (int), s a string, - nil. Arguments of users are checked before the first step: what a
 * step raises all the same is told with the place of the user's call. */
int lg_step(lua_State *L, const char *name, const char *kinds, ...);

/* The form of the array at a stack index that a step has left. Never raises. */
static inline const struct rt_array *lg_form(lua_State *L, int idx)
{
    return lua_touserdata(L, idx);
}

/* Replaces a table at idx by an array of its numbers, of the dtype or, for RT_DTYPE_COUNT, as gpu.array makes it, on
 * the device of `beside`; raises for what is neither that nor an array, which may wait. */
const struct rt_array *lg_step_array(lua_State *L, int idx, const struct rt_array *beside, enum rt_dtype dtype);
/* The same for an argument that may also be a number: false then. */
bool lg_step_operand(lua_State *L, int idx, const struct rt_array *beside);

/* The arguments from idx on, which are called by the names, up to NULL: a table of named options behind those that are
 * given becomes the others. The top is behind the last of them. `what` is the function in messages. */
void lg_spread(lua_State *L, int idx, const char *what, const char *const names[]);
/* The same where the first argument may be a list, of nothing, too: an empty table there is that, not one of options.
 */
void lg_spread_list(lua_State *L, int idx, const char *what, const char *const names[]);

/* An argument that may come by its name, and in messages goes by it: what is at idx, or `otherwise` for nil. Raise for
 * what is no number, or no integer. */
double lg_number_option(lua_State *L, int idx, const char *what, const char *name, double otherwise);
lua_Integer lg_integer_option(lua_State *L, int idx, const char *what, const char *name, lua_Integer otherwise);

/* Pushes the axes of a set (bit i for axis i, from 0) of ndim axes as a list from 1; all of them where the set has them
 * all. */
int lg_push_axes(lua_State *L, unsigned axes, int ndim);

/* A floating dtype: the array's own, or what integers become by division. Never raises. */
enum rt_dtype lg_floating(const struct rt_array *a);

/* Pushes the result of a reduction of `a` over r's axes from the array at idx, where these have stayed with size 1: as
 * r says, and where it is to be one value that. Returns 1. */
struct lg_reduction;
int lg_end_reduction(lua_State *L, int idx, const struct rt_array *a, const struct lg_reduction *r);

/* Pushes the array at a stack index with another shape of as many elements, and returns where that is. */
int lg_push_reshaped(lua_State *L, int idx, int ndim, const int64_t *shape);

/* Pushes `count` elements of an axis (from 0) of the array at idx, from `start`, from 0 too; returns where these are.
 */
int lg_push_narrowed(lua_State *L, int idx, int axis, int64_t start, int64_t count);

/* Pushes the list of the values at so many stack indices, and then what gpu.concatenate makes of it along the axis
 * (from 0) in its place. Returns where that is. */
int lg_push_joined(lua_State *L, int axis, int count, const int *parts);

#endif
