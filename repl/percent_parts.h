/* What the files of the percent format share: marks (percent_mark.c), cells' texts (percent_body.c), and the reader and
 * writer of scripts. */
#ifndef SH_PERCENT_PARTS_H
#define SH_PERCENT_PARTS_H

#include "repl/percent.h"

struct sh_line { /* without its newline */
    const char *s;
    size_t n;
};

/* The line at *at, which goes behind its newline; false at the text's end. */
bool sh_next_line(const char *text, size_t length, size_t *at, struct sh_line *line);

/* What a mark says. */
struct sh_mark {
    const char *type; /* of the cell */
    json_t *metadata; /* an object, the title in it; released with sh_mark_release */
    const char *id;   /* NULL: none is given. It belongs to `members`, as attachments do. */
    json_t *attachments;
    long lines; /* -1: none are given */
    json_t *members;
};

bool sh_is_mark(struct sh_line line);
/* Fills *m; false when memory is lacking. The line is a mark, or empty: then it stands for code without a mark. */
bool sh_mark_read(struct sh_line line, struct sh_mark *m);
void sh_mark_release(struct sh_mark *m);
/* The mark of a cell, its newline included; with its id, where that is to be written, and its lines unless -1. */
void sh_mark_put(const json_t *cell, bool id, long lines, struct lg_buffer *out);

/* Whether notebooks allow these metadata of a cell of that type, or of the notebook (type NULL); else `why` says what
 * they should be. */
bool sh_metadata_check(const json_t *metadata, const char *type, char *why, size_t size);
/* Whether these can be the attachments of a cell: data by type by name. */
bool sh_attachments_check(const json_t *attachments);

/* A cell's source from the lines of a script, and back. The latter ends in a newline, unless there are no lines. */
void sh_body_read(const char *type, const char *text, size_t length, struct lg_buffer *source);
void sh_body_put(const char *type, const char *source, size_t length, struct lg_buffer *text);

/* Where a cell lies in a script: offsets of its body, of its end, and behind the blank lines that follow. */
struct sh_piece {
    size_t body, end, behind, gap;
};
/* The cell at the start of the text, with its mark or without; NULL when memory is lacking. */
json_t *sh_piece_read(const char *text, size_t length, bool marked, struct sh_piece *piece);
/* Whether the cell's id is not the one that the cell of that number gets by itself. */
bool sh_has_own_id(const json_t *cell, size_t number);
/* Its mark and body, as they are written without notes. */
void sh_piece_put(const json_t *cell, bool id, struct lg_buffer *out);

/* What stands before the first cell: #!, a header in comments, blank lines. */
#define SH_HEADER_FENCE    "-- ---"
#define SH_HEADER_METADATA "-- jupyter: "
#define SH_HEADER_FORMAT   "-- nbformat: 4."
struct sh_header {
    json_t *metadata; /* of the notebook; to be released */
    int minor;        /* nbformat_minor */
    size_t length;
};
/* False when memory is lacking. */
bool sh_header_read(const char *text, size_t length, struct sh_header *h);
void sh_header_put(const json_t *metadata, int minor, struct lg_buffer *out);

/* Where notes are in metadata, of what a script would otherwise lose: mark and text of cells; header, newline and end
 * of the notebook. */
#define SH_NOTES    "lunarray"
#define SH_GAP      "lines_to_next_cell" /* Jupytext's name for it */
#define SH_USUAL_ID "cell-%zu"           /* by the cell's number */

#endif
