/* Text that fits into the terminal it is shown in, broken at words. */
#ifndef LG_FOLD_H
#define LG_FOLD_H

#include "lang/lang.h"

#define LG_WIDE 120 /* columns of a listing where there is no terminal to ask, and the most anywhere */

/* Columns of the terminal that shows what the session puts out, 20 at least; 0 for a pipe, a file or a notebook. Never
 * raises. */
int lg_columns(lua_State *L);

/* Adds so many bytes of a text of one line or more, broken at blanks so that no line is longer than `columns` (0:
 * nothing is broken); a word that is longer stays whole. `column`: where its first line begins; the lines that follow
 * begin with `hang` blanks. Blanks at the begin of its lines stay. [raises] */
void lg_add_folded(luaL_Buffer *b, const char *text, size_t length, int column, int hang, int columns);

#endif
