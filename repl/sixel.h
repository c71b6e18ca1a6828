/* Pictures as sixels, the way to give pixels to terminals in VT340's footsteps. Pure: pixels in, bytes out. */
#ifndef SH_SIXEL_H
#define SH_SIXEL_H

#include "repl/text.h"

/* Appends rows of pixels (red, green, blue, opacity); those of less than half opacity stay what is behind them. With up
 * to 256 colours they are exact to 1%, more become the nearest of 252. False when memory is lacking. */
bool sh_sixel(const unsigned char *pixels, int rows, int columns, struct sh_text *out);

#endif
