/* Colours for a cell: which style each byte of Lua has. */
#ifndef SH_HIGHLIGHT_H
#define SH_HIGHLIGHT_H

#include <stddef.h>

/* Fills styles[0..length) with values of enum sh_style (repl/frame.h). Lines of magics stay plain. */
void sh_highlight(const char *code, size_t length, unsigned char *styles);

#endif
