/* What the files of gpu.ndimage share. [raises] as in lang.h. */
#ifndef LG_NDIMAGE_H
#define LG_NDIMAGE_H

#include "lang/steps.h"

extern const struct lg_function lg_ndimage_filters[], lg_ndimage_ranks[], lg_ndimage_shapes[], lg_ndimage_splines[],
    lg_ndimage_measures[];

/* The modes of what lies beyond the edges, by SciPy's names. */
struct lg_border {
    const char *pad; /* the mode of x:pad */
    double value;    /* of "constant" */
};
/* Reads the mode at idx and the value behind it; "reflect" unless given. */
void lg_check_border(lua_State *L, int idx, const char *fallback, struct lg_border *out);
/* Pushes the array at x with so many elements more before and behind an axis (from 0). */
int lg_push_padded(lua_State *L, int x, int axis, int64_t before, int64_t after, const struct lg_border *b);
/* Pushes the array at x padded for windows of the sizes: before the element half of them, or with `turned` less. */
int lg_push_padded_all(lua_State *L, int x, const int64_t *sizes, bool turned, const struct lg_border *b);
/* Weights along an axis; the window of an element begins `before` elements before it. */
struct lg_weights {
    const double *of;
    int count, before;
};
/* Pushes the sums of products of the array at x, of floats, with the weights. */
int lg_push_weighed(lua_State *L, int x, int axis, const struct lg_weights *w, const struct lg_border *b);
/* Numbers from `least` to `most`, one for each axis: the argument `name` of the function `what`. */
struct lg_each {
    const char *what, *name;
    double least, most;
};
/* Reads them from the number or list of numbers at idx. */
void lg_check_each(lua_State *L, int idx, int ndim, const struct lg_each *each, double *out);
/* Likewise the size of a window along each axis, a whole number. */
void lg_check_sizes(lua_State *L, int idx, int ndim, const char *what, double *out);
#define LG_MOST_REACH 4096 /* elements that a window or a filter has along an axis, or to one side */
/* The array at 1 with axes, real, as floats; `what` is the function. */
const struct rt_array *lg_check_image(lua_State *L, const char *what);

#define LG_BORDER_DOC                                                                                                  \
    "The mode says what lies beyond the edges: \"reflect\", the elements mirrored with the last one, unless told "     \
    "otherwise; \"mirror\" without it, \"nearest\" the last one, \"wrap\" those of the other end, \"constant\" "       \
    "cval, 0 unless told otherwise."

#endif
