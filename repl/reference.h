/* The whole reference as pages of HTML that link to each other: one for each module or kind of object, and the list of
 * all that there is, with search. */
#ifndef SH_REFERENCE_H
#define SH_REFERENCE_H

#include <lua.h>
#include "repl/document.h"

/* Writes the pages of all that a session knows into a folder; false with `why`. [raises] */
bool sh_reference_write(lua_State *L, const char *folder, char why[SH_WHY]);

#endif
