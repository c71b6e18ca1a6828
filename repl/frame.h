/* What the screen shall show for one prompt: rows of text with a style for each byte, and where the cursor is. Built by
 * the editor, drawn by render.c, compared as text by the tests. */
#ifndef SH_FRAME_H
#define SH_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include "repl/text.h"

enum sh_style {
    SH_PLAIN,
    SH_PROMPT,
    SH_DIM,
    SH_SELECTED,
    SH_MATCH,
    SH_KEYWORD,
    SH_STRING,
    SH_NUMBER,
    SH_COMMENT,
    SH_FUNCTION,
    SH_PAIR,    /* a bracket at the cursor, and its partner */
    SH_WRONG,   /* where the parser stopped */
    SH_GHOST,   /* what history suggests */
    SH_MODE,    /* the prompt in vi's normal mode */
    SH_HEADING, /* of Markdown, from here on */
    SH_STRONG,
    SH_EMPHASIS,
    SH_STRIKE,
    SH_CODE,
    SH_LINK,
    SH_STYLE_COUNT
};

struct sh_row {
    size_t start, end; /* bytes of the frame's text */
    int width;         /* columns */
};

struct sh_frame { /* starts as all zeros; may be built again and again */
    int columns;
    struct sh_text text, styles; /* as many styles as bytes; no control characters in the text */
    struct sh_row *rows;
    size_t count, capacity;
    size_t cursor_row;
    int cursor_column;
    bool failed; /* memory was lacking: rows are missing */
};

void sh_frame_begin(struct sh_frame *f, int columns);
void sh_frame_free(struct sh_frame *f);
/* Ends the row. */
void sh_frame_newline(struct sh_frame *f);
/* Adds a grapheme of the given width, on a new row when it does not fit on this one. Control characters are shown as
 * ^X and broken bytes as U+FFFD. */
void sh_frame_put(struct sh_frame *f, const char *grapheme, size_t size, enum sh_style style);
/* Adds text, grapheme by grapheme. Tabs become spaces. */
void sh_frame_text(struct sh_frame *f, const char *text, size_t length, enum sh_style style);
/* Adds as much of the text as fits into `columns` more columns, with an ellipsis when something is left out; control
 * characters end it. */
void sh_frame_clipped(struct sh_frame *f, const char *text, size_t length, int columns, enum sh_style style);
/* The cursor stands before what is put next. */
void sh_frame_cursor(struct sh_frame *f);
/* Keeps only `rows` rows: of the first `of` those around the cursor, which is in them, and what is behind them. */
void sh_frame_crop(struct sh_frame *f, size_t of, int rows);
/* The column that the next grapheme goes to. */
int sh_frame_column(const struct sh_frame *f);

#endif
