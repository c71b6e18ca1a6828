/* Plots, between the files that read their options (plot_options.c), fetch points (plot_points.c), and draw: series
 * (plot.c) and grids of values (plot_grid.c) by gnuplot (plot_draw.c) or as Vega-Lite, which front ends draw themselves
 * (plot_vega.c). All functions raise. */
#ifndef LG_PLOT_H
#define LG_PLOT_H

#include "lang/array.h"
#include "lang/buffer.h"
#include "lang/session.h"

#define LG_MOST_SERIES  32
#define LG_PLOT_COLORS  7
#define LG_PLOT_NEUTRAL "#808080" /* text, axes and grids: it is read on dark and on light pages */
extern const char *const lg_plot_colors[LG_PLOT_COLORS];

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

/* Values over a plane: row i, column j of `values`, each the mean of a block of the array's elements. */
struct lg_plot_grid {
    int64_t rows, columns;
    const double *values;
    double from[2], step[2]; /* x and y of the first element, and from each to the next */
    double low, high;        /* low > high when none is finite */
};

enum lg_plot_format { LG_PLOT_SVG, LG_PLOT_PNG, LG_PLOT_VEGA };

struct lg_plot {
    struct lg_series series[LG_MOST_SERIES];
    int count;
    int options; /* stack index, or 0 */
    const char *title, *xlabel, *ylabel, *zlabel, *label, *cmap;
    bool logx, logy, logz;
    enum lg_plot_format format;
    double xrange[2], yrange[2], zrange[2];
    bool has_xrange, has_yrange, has_zrange;
    int width, height;
    int into;
};

/* Reads the options at p->options, or sets what they are without. Of a grid they are others than of series. */
void lg_plot_options(lua_State *L, struct lg_plot *p, bool grid);

/* The string in a field of the table, which stays on the stack; NULL when there is none. */
const char *lg_plot_text_option(lua_State *L, int table, const char *name);

/* Adds the points of the series as lines of text. Where a line has many more than there are pixels across, the least
 * and the greatest of each stretch are found on its device and only they cross to the host; of points that are not in
 * order every nth is taken. */
void lg_add_points(lua_State *L, struct lg_series *s, bool logarithmic, struct lg_buffer *to);

/* lang/plot_draw.c: whether plots are pictures where they go, which of a terminal are PNG; else *t says what letters
 * may look like. */
bool lg_plot_pictures(lua_State *L, struct lg_plot *p, struct lg_terminal *t);
/* What scripts for gnuplot begin with, and the settings of axes. */
void lg_plot_begin(const struct lg_plot *p, bool pictures, const struct lg_terminal *t, struct lg_buffer *b);
void lg_plot_setting(struct lg_buffer *b, const char *name, const char *text);
void lg_plot_range(struct lg_buffer *b, const char *name, const double range[2], bool given);
/* Shows what gnuplot makes of the script, with the text on top of the stack as what it is in words; pushes the handle.
 */
void lg_plot_show(lua_State *L, const struct lg_plot *p, bool pictures, struct lg_buffer *script);
/* Shows a Vega-Lite specification, likewise. */
void lg_plot_show_vega(lua_State *L, const struct lg_plot *p, const struct lg_buffer *specification);

/* lang/plot_vega.c: adds the specification. */
void lg_vega_series(lua_State *L, struct lg_plot *p, struct lg_buffer *b);
void lg_vega_grid(lua_State *L, const struct lg_plot *p, const struct lg_plot_grid *g, struct lg_buffer *b);

/* lang/plot_grid.c: adds its functions to the gpu table. */
void lg_open_plot_grid(lua_State *L);

/* lang/image.c: replaces the array on top by means over blocks of k along an axis from 0; of a part that is left over
 * the mean counts as one, too. */
void lg_shrink_axis(lua_State *L, int axis, int64_t k);

#endif
