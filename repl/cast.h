/* Recordings of a terminal in asciinema's format, version 2: a header line, then a line of JSON for each event. Pure:
 * bytes go into a text, the caller writes them. Times are microseconds since the start. */
#ifndef SH_CAST_H
#define SH_CAST_H

#include "repl/text.h"

struct sh_cast {  /* starts as all zeros */
    char tail[4]; /* the beginning of a character whose end has not come yet */
    size_t tail_length;
};

/* All of these append whole lines to `out`; false when memory is lacking. `title` and `term` may be NULL. */
bool sh_cast_header(int columns, int rows, long timestamp, const char *title, const char *term, struct sh_text *out);
/* What the program wrote. A character that is cut at the end waits for its rest; bytes that are no UTF-8 become U+FFFD.
 */
bool sh_cast_output(struct sh_cast *c, long long time, const char *bytes, size_t length, struct sh_text *out);
bool sh_cast_resize(long long time, int columns, int rows, struct sh_text *out);
/* What is left of a cut character. */
bool sh_cast_end(struct sh_cast *c, long long time, struct sh_text *out);

#endif
