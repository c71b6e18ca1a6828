/* What the files of signals in lang/ share. */
#ifndef LG_SIGNAL_H
#define LG_SIGNAL_H

#define LG_PI 3.14159265358979323846

/* The names that users give windows by, in the order of the enum; ended by NULL. */
enum lg_window { LG_HANN, LG_HAMMING, LG_BLACKMAN, LG_BOXCAR };
extern const char *const lg_windows[];

/* Element i of a window whose ends lie at 0 and at `span`. Never raises. */
double lg_window_at(enum lg_window window, double i, double span);

#endif
