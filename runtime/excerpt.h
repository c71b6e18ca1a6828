/* A line of source as errors show it: with its number in front and a mark below the place that they are about. */
#ifndef RT_EXCERPT_H
#define RT_EXCERPT_H

#include <stddef.h>

#define RT_EXCERPT_TEXT 1024 /* bytes that hold every excerpt */

/* A line that is wider than the terminal would wrap and leave the mark behind: lines of source are cut so that excerpts
 * fit into `columns`, 48 to 168. 0: there is no terminal; then 108, as at first. */
void rt_excerpt_fit(int columns);

/* Writes "   12 | x = y[1]" without a newline at its end; where column > 0, below it a line with "^~~~" under the
 * `width` bytes from byte `column` of the line on, from 1, at most its length + 1. Of a longer line the part around
 * that place is shown, "..." where it is cut. Tabs stay in both lines; every other character counts as wide as a space.
 * Returns the length; size: RT_EXCERPT_TEXT, or the text is cut. */
size_t rt_write_excerpt(int number, const char *line, size_t length, int column, size_t width, char *out, size_t size);

#endif
