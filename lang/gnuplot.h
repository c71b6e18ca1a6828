/* gnuplot, which draws the plots: a program that is looked for when the first one is drawn. */
#ifndef LG_GNUPLOT_H
#define LG_GNUPLOT_H

#include "lang/buffer.h"
#include "lang/lang.h"

/* Runs a script and pushes what it writes to standard output. LUNARRAY_GNUPLOT names another program than gnuplot.
 * Raises when there is none, with the way to get it, and what it complains about. */
void lg_push_gnuplot(lua_State *L, const struct lg_buffer *script);
/* Adds text as a string of gnuplot's, in which nothing is special. */
void lg_add_gnuplot_string(struct lg_buffer *b, const char *text);

#endif
