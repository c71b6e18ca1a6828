/* What cells put out, kept as text: what a notebook would store of it, as a terminal shows it. Displays that are
 * changed later are changed here. */
#ifndef SH_TRANSCRIPT_H
#define SH_TRANSCRIPT_H

#include "lang/session.h"
#include "repl/text.h"

struct sh_output_item {
    char *id;   /* of a display; NULL of others */
    bool block; /* on rows of its own; else it follows what is there */
    struct sh_text text;
};

struct sh_transcript { /* starts as all zeros */
    struct sh_output_item *items;
    size_t count;
    bool failed; /* memory was lacking: something is missing */
};

/* A sink that fills it. `t` must outlive the session. */
struct lg_sink sh_transcript_sink(struct sh_transcript *t);
/* The error with its traceback, as the last output. */
void sh_transcript_error(struct sh_transcript *t, const struct lg_error *error);
/* All of it in `out`, without escape codes; then it is empty. False when memory was lacking. */
bool sh_transcript_take(struct sh_transcript *t, struct sh_text *out);

#endif
