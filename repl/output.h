/* Where a session's output goes when there is a terminal, a pipe or a file: streams as they come, results and displays
 * as their plain text, errors on standard error. A display is changed in place while it is the last that was written.
 */
#ifndef SH_OUTPUT_H
#define SH_OUTPUT_H

#include "lang/session.h"
#include "repl/text.h"

struct sh_output {
    bool shell;          /* a user sits at a terminal: long texts go to a pager, and there is a next cell */
    struct sh_text next; /* the text of that, where a magic has one: of the editor's, or (run_next) to be run at once */
    bool run_next;
    bool color;          /* escape codes may be written to standard error */
    bool flush;          /* somebody watches: unfinished lines are shown at once */
    bool open_line;      /* the last byte written was not a newline */
    bool errors_out;     /* errors go to standard output too (a notebook's expected ones) */
    const char *program; /* put before error messages, or NULL */
    char shown[64];      /* the id of the display that was written last, "" after anything else */
    int shown_rows;      /* of the terminal, that it takes; 0 when that is not known */
    bool shown_picture;  /* it is one */
    bool clear;          /* before the next output */
};

/* A sink that writes to standard output and standard error. `o` must outlive the session. */
struct lg_sink sh_output_sink(struct sh_output *o);

/* A page of documentation on a terminal: its lines are broken at words, and it goes through the pager when it is long.
 */
void sh_output_page(struct sh_output *o, const char *text, size_t length);

/* Ends an unfinished line, so that what follows starts at column 0. */
void sh_output_newline(struct sh_output *o);

/* The end of a cell: what was displayed stays from here on. */
void sh_output_end(struct sh_output *o);

/* The error with its traceback. */
void sh_output_error(struct sh_output *o, const struct lg_error *error);

/* True when the descriptor is a terminal that takes escape codes: not TERM=dumb, and NO_COLOR is not set. */
bool sh_takes_color(int fd);

/* Flushes standard output; false (with a line on standard error) when what was written could not be delivered. */
bool sh_output_finish(void);

#endif
