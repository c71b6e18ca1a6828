/* Which known name was meant by a misspelt one, for messages that say "did you mean". */
#ifndef LG_CLOSEST_H
#define LG_CLOSEST_H

#include <lua.h>
#include <stdbool.h>

/* The string key of the table at idx that is spelt nearly as `name`, when it is closer than `best` (an earlier answer
 * or NULL), else `best`. It belongs to the table. */
const char *lg_closest_key(lua_State *L, int table, const char *name, const char *best);

/* Raises "<what> '<name>'", and what may have been meant: NumPy's or PyTorch's name of something that the table
 * at idx or the one at other (0: none) has, or one of their keys that is spelt nearly so. [raises] */
int lg_raise_unknown(lua_State *L, const char *what, const char *name, int idx, int other);
/* How a name of NumPy, PyTorch, CuPy, Numba or PyCUDA is written here, pushed; NULL, and nothing pushed, for what is
 * not known. [raises] */
const char *lg_push_synonym(lua_State *L, const char *name);
/* The name of an option: the key that lua_next pushed below its value. [raises] where it is no string */
const char *lg_option_name(lua_State *L);
/* What an option of NumPy's or PyTorch's is called here, such as axis for dim; NULL: nothing is known of it. */
const char *lg_option_synonym(const char *name);
/* Gives the table at the top, a module such as "gpu.fft", a metatable by which a name that it lacks raises what
 * lg_raise_unknown says, and a call that it is no function, but `instead`. [raises] */
void lg_seal_module(lua_State *L, const char *name, const char *instead);
/* Whether the value at idx is such a module. [raises] */
bool lg_is_sealed(lua_State *L, int idx);
/* luaL_checkoption, whose message says what there is. [raises] */
int lg_check_option(lua_State *L, int idx, const char *fallback, const char *const names[]);

#endif
