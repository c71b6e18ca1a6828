/* What the files of signals in lang/ share. [raises] as in lang.h. */
#ifndef LG_SIGNAL_H
#define LG_SIGNAL_H

#include "lang/lang.h"

#define LG_PI 3.14159265358979323846

/* The names that users give windows by, in the order of the enum; ended by NULL. */
enum lg_window { LG_HANN, LG_HAMMING, LG_BLACKMAN, LG_BOXCAR };
extern const char *const lg_windows[];

/* Element i of a window whose ends lie at 0 and at `span`. Never raises. */
double lg_window_at(enum lg_window window, double i, double span);

/* The coefficients at idx, a number, list or array of one axis with one or more, called `name` in messages, on the host
 * in float64; pushed. */
const double *lg_push_coefficients(lua_State *L, const char *what, int idx, const char *name, int64_t *count);

/* b and a of each section of second order over its a[1]. */
struct lg_sections {
    int64_t count;
    double (*rows)[6];
};
/* Those of the array or list at 1, pushed. */
struct lg_sections lg_push_sections(lua_State *L, const char *what);

#endif
