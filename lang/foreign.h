/* Words of other libraries and languages, for who looks them up. */
#ifndef LG_FOREIGN_H
#define LG_FOREIGN_H

#include <lua.h>
#include <stdbool.h>

/* Pushes a line on the word, as "arange is written gpu.range(...)"; false: nothing is known, and nothing is pushed.
 * [raises] */
bool lg_push_foreign(lua_State *L, const char *word);

#endif
