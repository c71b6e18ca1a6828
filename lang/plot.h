/* What a plot shows, between the files that read it (plot.c) and fetch its points (plot_points.c). */
#ifndef LG_PLOT_H
#define LG_PLOT_H

#include "lang/array.h"
#include "lang/buffer.h"

enum lg_plot_kind { LG_PLOT_LINES, LG_PLOT_POINTS, LG_PLOT_BARS };

struct lg_series {
    enum lg_plot_kind kind;
    int x, y;          /* stack indices of arrays of one axis; x may be 0: elements are numbered from 1 */
    int names;         /* stack index of a table of strings in place of x, or 0 */
    const char *label; /* or NULL */
    /* What was found when the points were written. */
    int64_t count, step; /* elements, and every how manyth is drawn */
    bool ranges;         /* least and greatest of a stretch are drawn in place of its elements */
    double low, high;    /* of y; low > high when no element is finite */
};

/* Adds the points of the series as lines of text. Where a line has many more than there are pixels across, the least
 * and the greatest of each stretch are found on its device and only they cross to the host; of points that are not in
 * order every nth is taken. [raises] */
void lg_add_points(lua_State *L, struct lg_series *s, bool logarithmic, struct lg_buffer *to);

#endif
