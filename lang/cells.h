/* The elements of an array that its text or HTML form shows: the edges of large arrays, fetched from the device in one
 * transfer, and one number format for all of them. */
#ifndef LG_CELLS_H
#define LG_CELLS_H

#include "lang/lang.h"

#define LG_SHOWN_WHOLE 300 /* arrays of more elements show their edges, unless told otherwise */

/* lang/printoptions.c: what gpu.printoptions was told. */
enum lg_print_choice { LG_NEVER, LG_ALWAYS, LG_AUTOMATIC };
struct lg_print_options {
    int64_t precision, threshold, edgeitems, linewidth; /* -1: nobody said */
    enum lg_print_choice scientific;
};
const struct lg_print_options *lg_print_options(lua_State *L);

enum lg_cell_style { LG_CELL_BOOL, LG_CELL_INTEGER, LG_CELL_FIXED, LG_CELL_SCIENTIFIC };

struct lg_cells {
    enum rt_dtype dtype;
    int ndim;
    int64_t count[RT_MAX_DIMS]; /* shown along each axis */
    int64_t front[RT_MAX_DIMS]; /* of them in front of the gap; all of them when nothing is left out */
    int64_t shape[RT_MAX_DIMS]; /* of the array */
    const char *data;           /* the shown elements, contiguous, in row-major order */
    int64_t size;               /* how many */
    enum lg_cell_style style;
    int decimals;
    int width;     /* of the longest text */
    int imaginary; /* of the longest imaginary part, its sign counted and its i not */
};
/* Pushes one value that keeps the elements. Arrays of up to `threshold` elements, or of the option's, are shown whole;
 * 0: none is. [raises] */
void lg_push_cells(lua_State *L, const struct rt_array *a, int64_t threshold, struct lg_cells *c);
/* Whether there is a gap along the axis. */
static inline bool lg_has_gap(const struct lg_cells *c, int axis)
{
    return c->count[axis] < c->shape[axis];
}
/* The index (from 1) in the array of the i-th shown (from 0) along an axis. */
int64_t lg_cell_index(const struct lg_cells *c, int axis, int64_t i);
#define LG_CELL_TEXT 80
/* The text of shown element i, not padded; returns its length. */
int lg_cell_text(const struct lg_cells *c, int64_t i, char text[LG_CELL_TEXT]);
/* "array float32 (3, 4) on simt" */
void lg_push_array_title(lua_State *L, const struct rt_array *a);

#endif
